"""Write the examples of an operation as shell commands."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote, urlencode

from sigil.http.openapi.examples import Example, load_examples
from sigil.protocol import Json

ANSWER_CHARACTERS = 4_000
LINE_CHARACTERS = 100


@dataclass(frozen=True, slots=True)
class CurlCall:
    """A command and its answer."""

    title: str
    command: str
    answer: str


def write_calls(path: str, method: str) -> Iterator[CurlCall]:
    """Yield the examples of one operation as commands with their answers."""
    for example in load_examples():
        verb, _, template = example.route.partition(" ")
        if (verb.lower(), template.replace(":path}", "}")) != (method, path):
            continue
        answer = ""
        if isinstance(example.answer, str):
            answer = example.answer
        elif example.answer is not None:
            answer = format_json(example.answer)
        if len(answer) > ANSWER_CHARACTERS:
            answer = f"{answer[:ANSWER_CHARACTERS]}\n…"
        title = f"{example.title} ({example.status})"
        yield CurlCall(title, write_command(example, path), answer)


def write_command(example: Example, path: str) -> str:
    """Return the curl command that sends an example."""
    method = example.route.partition(" ")[0]
    query = f"?{urlencode(example.query)}" if example.query else ""
    parts = [f'curl "$SIGIL_URL{path.replace("{ref}", quote(example.ref, safe="@:/"))}{query}"']
    if method not in ("GET", "POST"):
        parts.append(f"-X {method}")
    if example.token:
        parts.append('-H "Authorization: Bearer $SIGIL_TOKEN"')
    for name, value in example.headers.items():
        parts.append(f"-H {shlex.quote(f'{name}: {value}')}")
    if example.body is not None:
        parts.append(f"-d {shlex.quote(format_json(example.body))}")
    if example.kind == "application/zip":
        parts.append("-o bundle.zip")
    if method == "POST" and example.body is None:
        parts.append("-H 'Content-Type: application/zip' --data-binary @bundle.zip")
    return " \\\n  ".join(parts)


def format_json(value: Json, depth: int = 0) -> str:
    """Return JSON for people, on one line where it fits; `depth` counts levels of two spaces."""
    flat = json.dumps(value, ensure_ascii=False)
    if len(flat) + 2 * depth <= LINE_CHARACTERS or not isinstance(value, dict | list) or not value:
        return flat
    if isinstance(value, dict):
        brackets = "{}"
        lines = [
            f"{json.dumps(name, ensure_ascii=False)}: {format_json(each, depth + 1)}"
            for name, each in value.items()
        ]
    else:
        brackets = "[]"
        lines = [format_json(each, depth + 1) for each in value]
    indent = "  " * (depth + 1)
    inside = ",\n".join(f"{indent}{line}" for line in lines)
    return f"{brackets[0]}\n{inside}\n{'  ' * depth}{brackets[1]}"
