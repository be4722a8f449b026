"""The WebAssembly runtime: wasmtime through its C library, and what a guest sees of it."""
