"""Compiles a capability's source to WebAssembly: one file a language."""
