"""A chat session: its document, its store, and its overflow."""
