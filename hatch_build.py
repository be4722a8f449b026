"""Builds the JavaScript engine, the library's C and the library's search index when a wheel is
built, and checks the library's schemas, in editable ones too: what is installed needs no compiler.
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class EngineHook(BuildHookInterface):  # type: ignore[type-arg]
    """Puts `sigil/sandbox/engine/engine.wasm`, its description, the library's modules of C, its
    index and the digests of its schemas into the wheel.
    """

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before the files are gathered."""
        if self.target_name != "wheel":
            return
        sys.path.insert(0, self.root)
        try:
            from sigil.compile.toolchain.library_build import prebuild
            from sigil.manifest import library_schemas
            from sigil.sandbox.engine.build import build
            from sigil.search import library_index

            # side by side, as each is mostly the work of one processor
            with ThreadPoolExecutor(max_workers=1) as pool:
                library = pool.submit(prebuild)
                build()
                library.result()
            library_index.build()
            library_schemas.build()
        finally:
            sys.path.remove(self.root)
        build_data["artifacts"] += [
            "/sigil/sandbox/engine/engine.wasm",
            "/sigil/sandbox/engine/engine.json",
            "/sigil/compile/toolchain/built/*",
            "/sigil/manifest/checked.schemas",
            "/sigil/search/library.index",
        ]
