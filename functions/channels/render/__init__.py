"""Markdown → a platform's dialect: `markdown` reads it once, `split` cuts it, one file a platform
writes it.
"""
