"""The JavaScript engine: QuickJS-ng as one WebAssembly module that has already started.

`engine.wasm` speaks the capability ABI `sigil/1` and is what the modules of
`sigil.sandbox.javascript_module` are linked to. `scripts/build-engine` makes it; wheels carry it.
"""

from __future__ import annotations

from pathlib import Path

ENGINE = Path(__file__).with_name("engine.wasm")
"""The path of the module, which is there once the engine was built."""

DESCRIPTION = Path(__file__).with_name("engine.json")
"""The path of its description: `{"engine", "quickjs-ng", "ziglang", "inputs", "sha256"}`."""

MODULE_BYTES = 64 << 20
"""The most bytes of a module that is read as an engine."""
