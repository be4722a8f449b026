"""Backups: a whole deployment in one file, and back into a store of any kind.

`format` says what the file is, `archive` writes and reads it, `contents` what goes into it and in
which order; `saving` and `restoring` are what the two commands do.
"""
