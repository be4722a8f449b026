"""What a person types in place of a value: the text itself, `@file`, `-`, or `key=value`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from sigil.errors import UsageError
from sigil.protocol import Json

TEXT_BYTES = 4 << 20


def text_of(value: str) -> str:
    """`value`, or what `@file` holds, or what stands on stdin for `-`; UTF-8, at most 4 MiB."""
    if value == "-":
        return _decoded(_bounded(sys.stdin.buffer, "stdin"), "stdin")
    if not value.startswith("@"):
        return value
    try:
        with Path(value[1:]).open("rb") as file:
            return _decoded(_bounded(file, value[1:]), value[1:])
    except (OSError, ValueError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else "not a file's name"
        raise UsageError("ENOENT", f"cannot read {value[1:]}: {reason}") from None


def arguments_of(text: str | None, pairs: Sequence[str]) -> dict[str, Json]:
    """The arguments of a run: a JSON object, and `key=value` pairs over it; a key that is repeated makes a list."""
    from sigil.wire import read_object

    arguments = read_object(text_of(text), source="input") if text is not None else {}
    given: dict[str, list[str]] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise UsageError("EUSAGE", f"--arg {pair!r} is not key=value")
        given.setdefault(key, []).append(value)
    return {**arguments, **{key: values if len(values) > 1 else values[0] for key, values in given.items()}}


def _bounded(stream: BinaryIO, place: str) -> bytes:
    body = stream.read(TEXT_BYTES + 1)
    if len(body) > TEXT_BYTES:
        raise UsageError("ETOOBIG", f"{place} is over {TEXT_BYTES >> 20} MiB")
    return body


def _decoded(body: bytes, place: str) -> str:
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError("EUSAGE", f"{place} is not UTF-8") from None
