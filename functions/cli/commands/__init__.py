"""The commands of `uncaged`, a file each."""
