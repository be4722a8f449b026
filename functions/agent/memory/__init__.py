"""What stays of a chat when its messages leave the prompt: HISTORY and memory, and the things that
it remembers.
"""
