"""A chat session: its document, its store, its overflow and its trace."""
