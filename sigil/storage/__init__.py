"""Where bytes are kept: key-value stores, artifacts, files and AWS."""
