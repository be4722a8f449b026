"""Compiles C, Rust and AssemblyScript, each in a child process. It imports nothing but Python's
library, so that a wheel's build can use it.
"""
