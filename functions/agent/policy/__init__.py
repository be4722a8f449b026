"""The policy says what an agent may do, for whom, and for what it asks an owner first."""
