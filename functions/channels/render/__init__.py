"""Markdown for chat platforms: `markdown` parses it, `split` cuts it, and one file for each
platform writes it.
"""
