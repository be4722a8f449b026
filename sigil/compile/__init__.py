"""Source becomes WebAssembly: one file a language."""
