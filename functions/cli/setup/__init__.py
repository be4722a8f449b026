"""`uncaged setup` asks a few questions, tries the answers, and writes them into `uncaged.toml`."""
