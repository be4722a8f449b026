"""Read TOML that another user may have written.

The file is a plain one of bounded size with keys of bounded length; nothing waits for a pipe or a
device.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from sigil.storage import files

FILE_BYTES = 1 << 20
PARTS_MOST = 64
"""Parts of a dotted key; reading one takes time with the square of them."""
_PART = r"""(?>[\w-]++|"(?:[^"\\\n]|\\.){0,200}+"|'[^'\n]{0,200}+')"""
_LONG_KEY = re.compile(rf"(?<![\w-]){_PART}(?:[ \t]*+\.[ \t]*+{_PART}){{{PARTS_MOST}}}", re.ASCII)


def read_text(path: Path) -> str:
    """Return the text of a file.

    `OSError` also for what is no file or has more than `FILE_BYTES`, `ValueError` for what is not
    UTF-8.
    """
    return files.read_bounded(path, FILE_BYTES).decode("utf-8").replace("\r\n", "\n")


def parse_table(text: str) -> dict[str, Any]:
    """Return the table in `text`; `ValueError` says what is wrong with it."""
    import tomllib  # a function of AWS has no such file

    found = _LONG_KEY.search(text)
    if found:
        line = text.count("\n", 0, found.start()) + 1
        raise ValueError(f"a key of more than {PARTS_MOST} parts (at line {line})")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def quote_text(value: str) -> str:
    """Return a value as a basic string of TOML."""
    text = value.encode("utf-8", "replace").decode()
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
