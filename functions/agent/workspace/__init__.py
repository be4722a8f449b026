"""The workspace: the files that an agent, or a chat with it, keeps, each with its versions."""
