"""Memory keeps what stays of a chat when its messages leave the prompt.

That is HISTORY, the documents, and the things that the chat remembers.
"""
