"""TOML that somebody else may have written: a plain file of bounded size, keys of bounded length,
and no waiting for a pipe or a device.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from sigil.storage import files

FILE_BYTES = 1 << 20
PARTS_MOST = 64
"""Parts of a dotted key; reading one takes time with the square of them."""
_PART = r"""(?>[\w-]++|"(?:[^"\\\n]|\\.){0,200}+"|'[^'\n]{0,200}+')"""
_LONG_KEY = re.compile(rf"(?<![\w-]){_PART}(?:[ \t]*+\.[ \t]*+{_PART}){{{PARTS_MOST}}}", re.ASCII)


def text_of(path: Path) -> str:
    """What stands in a file; `OSError` also for what is no file or has more than `FILE_BYTES`,
    `ValueError` for what is not UTF-8.
    """
    return files.read_bounded(path, FILE_BYTES).decode("utf-8").replace("\r\n", "\n")


def table_of(text: str) -> dict[str, Any]:
    """The table in `text`; `ValueError` says what is wrong with it."""
    if found := _LONG_KEY.search(text):
        raise ValueError(
            f"a key of more than {PARTS_MOST} parts (at line"
            f" {text.count(chr(10), 0, found.start()) + 1})"
        )
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
