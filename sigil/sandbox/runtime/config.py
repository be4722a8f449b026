"""The settings of the runtime. Runners and compilers use the same ones, and stored code fits as
long as they stay the same.
"""

from __future__ import annotations

STACK_BYTES = 512 << 10
MEMORY_BYTES = 64 << 20
TABLE_ELEMENTS = 10_000
TABLES = 4
OFF = (
    "wasm_threads",
    "shared_memory",
    "wasm_tail_call",
    "wasm_function_references",
    "wasm_gc",
    "gc_support",
    "wasm_relaxed_simd",
    "wasm_multi_memory",
    "wasm_memory64",
    "wasm_wide_arithmetic",
    "wasm_exceptions",
    "wasm_custom_page_sizes",
    "wasm_stack_switching",
    "wasm_branch_hinting",
    "wasm_compact_imports",
    "wasm_component_model",
    "concurrency_support",
    "parallel_compilation",
)
ON = ("epoch_interruption", "cranelift_nan_canonicalization")
