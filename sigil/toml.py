"""TOML that somebody else may have written: a plain file of bounded size, keys of bounded length, and no waiting for a pipe or a device."""

from __future__ import annotations

import errno
import os
import re
import stat
import tomllib
from pathlib import Path
from typing import Any

FILE_BYTES = 1 << 20
PARTS_MOST = 64
"""Parts of a dotted key; reading one takes time with the square of them."""
_PART = r"""(?>[\w-]++|"(?:[^"\\\n]|\\.){0,200}+"|'[^'\n]{0,200}+')"""
_LONG_KEY = re.compile(rf"(?<![\w-]){_PART}(?:[ \t]*+\.[ \t]*+{_PART}){{{PARTS_MOST}}}", re.ASCII)


def text_of(path: Path) -> str:
    """What stands in a file; `OSError` also for what is no file or has more than `FILE_BYTES`, `ValueError` for what is not UTF-8."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "it is no file")
    except BaseException:
        os.close(handle)
        raise
    with os.fdopen(handle, "rb") as file:
        body = file.read(FILE_BYTES + 1)
    if len(body) > FILE_BYTES:
        raise OSError(errno.EFBIG, f"it has more than {FILE_BYTES >> 10:,} KiB")
    return body.decode("utf-8").replace("\r\n", "\n")


def table_of(text: str) -> dict[str, Any]:
    """The table in `text`; `ValueError` says what is wrong with it."""
    if found := _LONG_KEY.search(text):
        raise ValueError(f"a key of more than {PARTS_MOST} parts (at line {text.count(chr(10), 0, found.start()) + 1})")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
