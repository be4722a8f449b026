"""What a compiler made: its module, or the refusal that says why there is none."""

from __future__ import annotations

from pathlib import Path

from sigil.errors import Refused
from sigil.sandbox.module_scan import MODULE_BYTES


def module(path: Path, ending: int, why: str, name: str) -> bytes:
    """The module at `path`, when the compiler of the capability `name` ended well (0); else
    `Refused` EMODULE with `why`.
    """
    if ending or not path.is_file():
        raise refused(why, name)
    if path.stat().st_size > MODULE_BYTES:
        raise refused(
            f"the module is larger than {MODULE_BYTES} bytes", name, "let it hold less data"
        )
    return path.read_bytes()


def refused(
    message: str, name: str, suggestion: str = "mend the source and deploy again"
) -> Refused:
    """The refusal of a source."""
    return Refused("EMODULE", message, source=name, suggestion=suggestion)
