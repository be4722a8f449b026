"""Builds the JavaScript engine when a wheel is built, editable ones too, so that what is installed needs no compiler."""

from __future__ import annotations

import sys
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class EngineHook(BuildHookInterface):  # type: ignore[type-arg]
    """Puts `sigil/engine/engine.wasm` and its description into the wheel."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before the files are gathered."""
        if self.target_name != "wheel":
            return
        sys.path.insert(0, self.root)
        try:
            from sigil.engine.build import build

            build()
        finally:
            sys.path.remove(self.root)
        build_data["artifacts"] += ["/sigil/engine/engine.wasm", "/sigil/engine/engine.json"]
