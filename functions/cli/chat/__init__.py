"""`uncaged chat`: a conversation in the terminal."""
