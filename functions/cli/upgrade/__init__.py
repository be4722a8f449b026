"""`uncaged upgrade`: another version in place of this one, or everything as it was."""
