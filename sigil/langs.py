"""The languages that a capability can be written in."""

from __future__ import annotations

from typing import Final, Literal, get_args

Lang = Literal["js", "wat", "wasm", "wasi", "c"]
LANGS: Final[tuple[str, ...]] = get_args(Lang)
BINARY: Final = ("wasm", "wasi")
"""Languages whose code is a finished module."""
SOURCES: Final = {"js": "main.js", "wat": "main.wat", "wasm": "main.wasm", "wasi": "main.wasm", "c": "main.c"}
"""Language → the file that holds its source unless the manifest names another."""
