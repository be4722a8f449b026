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
        return _decoded(_bounded(sys.stdin.buffer, "stdin"), "stdin")
    if not value.startswith("@"):
        return _typed(value)
    try:
        with Path(value[1:]).open("rb") as file:
            return _decoded(_bounded(file, value[1:]), value[1:])
    except (OSError, ValueError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else "not a file's name"
        suggestion = "check the name: @ is followed by the path of a file, as seen from here"
        raise UsageError(
            "ENOENT", f"cannot read {value[1:]}: {reason}", suggestion=suggestion
        ) from None


def read_arguments(text: str | None, pairs: Sequence[str]) -> dict[str, Json]:
    """Return the arguments of a run: a JSON object, and `key=value` pairs over it; a repeated key
    makes a list.
    """
    from sigil.strict_json import read_object

    try:
        arguments = read_object(read_value(text), source="input") if text is not None else {}
    except UsageError as problem:
        problem.suggestion = (
            problem.suggestion or """an object, such as '{"text": "hello"}', or --arg text=hello"""
        )
        raise
    given: dict[str, list[str]] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise UsageError("EUSAGE", f"--arg {pair!r} is not key=value")
        given.setdefault(_typed(key), []).append(_typed(value))
    return {
        **arguments,
        **{key: values if len(values) > 1 else values[0] for key, values in given.items()},
    }


def _typed(text: str) -> str:
    """`text` of the command line, where a byte that is no UTF-8 comes as a lone surrogate."""
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise UsageError(
            "EUSAGE",
            "an argument is not UTF-8",
            suggestion="write it in UTF-8, or put it into a file and give @FILE",
        )
    return text


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
