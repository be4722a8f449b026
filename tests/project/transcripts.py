"""Pages that can be followed: the files that they show, the commands that they run, and what those
have to say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"`([\w./-]+)`[^`\n]*[:：]\n+$")
_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC")
_SOME = "…"


@dataclass(frozen=True, slots=True)
class File:
    """A file that the page shows: `path` stands in backticks in the sentence before it."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Step:
    """A command and what both of its streams say. In `said`, `…` is any text (alone on a line: any
    lines) and a time is any time.
    """

    command: str
    said: str

    def is_said_by(self, output: str) -> bool:
        lines = [_pattern(line) for line in self.said.rstrip("\n").split("\n")]
        return re.fullmatch("\n".join(lines), _TIME.sub("TIME", output.rstrip("\n"))) is not None


def steps(page: str) -> Iterator[File | Step]:
    """What there is to write and to run, in the page's order."""
    for block in _FENCE.finditer(page):
        lang, body = block.groups()
        shown = _FILE.search(page[: block.start()])
        if lang == "console":
            yield from _commands(body)
        elif shown:
            yield File(shown[1], body)


def _commands(body: str) -> Iterator[Step]:
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        command, _, said = part.partition("\n")
        yield Step(command, said)


def _pattern(line: str) -> str:
    if line == _SOME:
        return r"[\s\S]*"
    return ".*".join(map(re.escape, _TIME.sub("TIME", line).split(_SOME)))
