"""Values on a command line: the text itself, `@file`, `-` for stdin, or `key=value`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from sigil.errors import UsageError

if TYPE_CHECKING:
    from sigil.protocol import Json

TEXT_BYTES = 4 << 20


def read_value(value: str) -> str:
    """Return `value`, the content of `@file`, or stdin for `-`; UTF-8, at most 4 MiB."""
    if value == "-":
        return _read_text(sys.stdin.buffer, "stdin")
    if not value.startswith("@"):
        return _require_utf8(value)
    path = value[1:]
    try:
        with Path(path).open("rb") as file:
            return _read_text(file, path)
    except (OSError, ValueError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else "not a file's name"
        raise UsageError(
            "ENOENT",
            f"cannot read {path}: {reason}",
            suggestion="check the name: @ is followed by a path, relative to the current folder",
        ) from None


def read_arguments(text: str | None, pairs: Sequence[str]) -> dict[str, Json]:
    """Return the arguments of a run: a JSON object, and `key=value` pairs over it; a repeated key
    makes a list.
    """
    from sigil.strict_json import read_object

    try:
        arguments = read_object(read_value(text), source="input") if text is not None else {}
    except UsageError as problem:
        problem.suggestion = problem.suggestion or (
            """give an object, such as '{"text": "hello"}', or --arg text=hello"""
        )
        raise
    by_key: dict[str, list[str]] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise UsageError("EUSAGE", f"--arg {pair!r} is not key=value")
        by_key.setdefault(_require_utf8(key), []).append(_require_utf8(value))
    for key, values in by_key.items():
        arguments[key] = values if len(values) > 1 else values[0]
    return arguments


def _require_utf8(text: str) -> str:
    """Return a text of the command line, where a byte that is no UTF-8 comes as a lone surrogate;
    `UsageError` for such a byte.
    """
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise UsageError(
            "EUSAGE",
            "an argument is not UTF-8",
            suggestion="write it in UTF-8, or put it into a file and give @FILE",
        )
    return text


def _read_text(stream: BinaryIO, name: str) -> str:
    body = stream.read(TEXT_BYTES + 1)
    if len(body) > TEXT_BYTES:
        raise UsageError("ETOOBIG", f"{name} is over {TEXT_BYTES >> 20} MiB")
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError("EUSAGE", f"{name} is not UTF-8") from None
