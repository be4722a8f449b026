"""The examples of an operation as the commands of a shell."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote, urlencode

from sigil.http.openapi.examples import Example, examples
from sigil.protocol import Json

SHOWN_CHARACTERS, LINE_CHARACTERS = 4_000, 100


@dataclass(frozen=True, slots=True)
class Call:
    """A command, and what came back."""

    title: str
    command: str
    answer: str


def calls(path: str, method: str, operation: Json) -> Iterator[Call]:
    """The examples of one operation."""
    for example in examples():
        verb, _, place = example.route.partition(" ")
        if (verb.lower(), place.replace(":path}", "}")) == (method, path):
            yield Call(
                f"{example.title} ({example.status})", command(example, path), _answer(example)
            )


def command(example: Example, path: str) -> str:
    """What one types to send it."""
    method = example.route.partition(" ")[0]
    query = f"?{urlencode(example.query)}" if example.query else ""
    parts = [f'curl "$SIGIL_URL{path.replace("{ref}", quote(example.ref, safe="@:/"))}{query}"']
    parts += [] if method in ("GET", "POST") else [f"-X {method}"]
    parts += ['-H "Authorization: Bearer $SIGIL_TOKEN"'] if example.token else []
    parts += [f"-H {shlex.quote(f'{name}: {value}')}" for name, value in example.headers.items()]
    parts += [f"-d {shlex.quote(pretty(example.body))}"] if example.body is not None else []
    parts += ["-o bundle.zip"] if example.kind == "application/zip" else []
    parts += (
        ["-H 'Content-Type: application/zip' --data-binary @bundle.zip"]
        if method == "POST" and example.body is None
        else []
    )
    return " \\\n  ".join(parts)


def _answer(example: Example) -> str:
    if example.answer is None:
        return ""
    text = example.answer if isinstance(example.answer, str) else pretty(example.answer)
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}\n…"


def pretty(value: Json, depth: int = 0) -> str:
    """JSON for people: on one line what fits there."""
    flat = json.dumps(value, ensure_ascii=False)
    if len(flat) + 2 * depth <= LINE_CHARACTERS or not isinstance(value, dict | list) or not value:
        return flat
    named = value.items() if isinstance(value, dict) else ((None, each) for each in value)
    parts = [
        ("" if name is None else f"{json.dumps(name, ensure_ascii=False)}: ")
        + pretty(each, depth + 1)
        for name, each in named
    ]
    first, last = "{}" if isinstance(value, dict) else "[]"
    inside = ",\n".join(f"{'  ' * (depth + 1)}{part}" for part in parts)
    return f"{first}\n{inside}\n{'  ' * depth}{last}"
