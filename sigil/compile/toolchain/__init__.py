"""Compilers of other languages, in children of their own. Imports nothing but Python's library, so
that a wheel's build can use it.
"""
