"""The messages of a conversation, and what a model is shown of them."""
