"""Access: who may talk to the agent, the codes that let people in, and their daily limits."""
