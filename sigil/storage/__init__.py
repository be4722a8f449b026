"""Storage of bytes: key-value stores, artifacts, files and AWS."""
