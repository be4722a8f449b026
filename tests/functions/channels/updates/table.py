"""What becomes of each kind of update that a platform sends: the rows of `tests/data/updates`, and
docs/channels/updates.md, which is made of them.

`python -m tests.functions.channels.updates.table` writes the page anew.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

from functions.channels.platforms import PLATFORMS
from tests.project.tree import ROOT

FOLDER: Final = ROOT / "tests" / "data" / "updates"
PAGE: Final = ROOT / "docs" / "channels" / "updates.md"
HAPPENS: Final = {
    "answered": "the agent reads it and answers",
    "told": "its sender is told that it cannot be opened",
    "acted": "a command, a button, an arrival, a change or a deletion, and something is done",
    "overheard": "kept where an owner said `/listen on`, and nowhere else",
    "ignored": "nothing",
}
"""What may happen to an update, in words for the page."""
NOTHING: Final = "nothing"
LINES: Final = ("enqueued", "ignored", "not understood", "unreadable", "undelivered", NOTHING)
"""The lines of the log that say that an update came."""
_NUMBERS: Final = count(1_000_001)


@dataclass(frozen=True, slots=True)
class Row:
    """What becomes of an update.

    `kind` is the platform's own name of it, and stands in the log when it is `ignored` there.
    `where` tells rows of one kind apart. `reads` is what its sender reads, in English; one that
    ends with `…` is the beginning of it. `log` is the line in the log, and `why` tells why there is
    none. `heard` is what the agent reads of it. `sample` is as the platform sends it, without what
    stands around it each time, and `before` is a sample that is sent and worked on first.
    """

    kind: str
    happens: str
    reads: str
    log: str
    sample: Any
    where: str = ""
    why: str = ""
    heard: str = ""
    before: Any = None

    @property
    def name(self) -> str:
        """Return the kind, and which of its rows it is."""
        return f"{self.kind} ({self.where})" if self.where else self.kind

    def fill(self) -> tuple[Any, Any]:
        """Return the sample, and the one before it, with ids and times of now."""
        filled = _fill([self.sample, self.before], str(next(_NUMBERS)), time.time())
        return filled[0], filled[1]


def list_platforms() -> list[str]:
    """Return the platforms that have a table, in the order of the settings."""
    return [name for name in PLATFORMS if (FOLDER / f"{name}.json").exists()]


def load_rows(platform: str) -> list[Row]:
    """Return the rows of a platform."""
    return [Row(**row) for row in json.loads((FOLDER / f"{platform}.json").read_text("utf-8"))]


def list_problems(rows: list[Row]) -> Iterator[str]:
    """Yield what is wrong with rows, whatever the agent does."""
    names = [row.name for row in rows]
    for row in rows:
        if row.happens not in HAPPENS or row.log not in LINES or not row.reads:
            yield f"{row.name}: it has to say what happens, what is read, and what is logged"
        if names.count(row.name) > 1:
            yield f"{row.name}: it stands there twice"
        if row.happens == "ignored" and row.log == NOTHING and not row.why:
            yield f"{row.name}: nothing is said and nothing logged, and not why"
        if row.happens in ("answered", "told") and row.reads == NOTHING:
            yield f"{row.name}: who is answered reads something"


def _fill(value: Any, number: str, now: float) -> Any:
    """Return a value with what its placeholders stand for. `UNIQUE_NUMBER`, `NOW_SECONDS` and
    `NOW_MS` that stand alone are numbers, and texts within a text; `NOW_SECONDS_TEXT` is always a
    text.
    """
    if isinstance(value, dict):
        return {name: _fill(each, number, now) for name, each in value.items()}
    if isinstance(value, list):
        return [_fill(each, number, now) for each in value]
    if not isinstance(value, str):
        return value
    numbers = {
        "UNIQUE_NUMBER": int(number),
        "NOW_SECONDS": int(now),
        "NOW_MS": int(now * 1000),
    }
    if value in numbers:
        return numbers[value]
    value = value.replace("NOW_SECONDS_TEXT", str(int(now)))
    for name, made in numbers.items():
        value = value.replace(name, str(made))
    return value.replace("UNIQUE", number)


def write_page() -> str:
    """Return the page."""
    words = "\n".join(f"- **{name}**: {meaning}" for name, meaning in HAPPENS.items())
    parts = [_HEAD.format(words=words)]
    for platform in list_platforms():
        title = PLATFORMS[platform].title
        lines = [f"## {title}", "", "| kind | what happens | its sender reads | the log | why |"]
        lines.append("|---|---|---|---|---|")
        lines += map(_write_row, load_rows(platform))
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def _write_row(row: Row) -> str:
    place = f", {row.where}" if row.where else ""
    log = "–" if row.log == NOTHING else f"`{row.log}`"
    reads = "–" if row.reads == NOTHING else row.reads
    cells = (f"`{row.kind}`{place}", row.happens, reads, log, row.why)
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


_HEAD: Final = """\
# What becomes of each kind of update

Each platform sends more than messages. This page has every kind that its documentation knows: what happens, what its
sender reads in English, and what the log says. A test sends a sample of each row and compares. What happens is one of
these:

{words}

Who is answered reads what the agent says, which is *an answer* here. A row with `ignored` leaves a line in the log,
`{{"step": "ignored", "channel": …, "kind": …}}`, with the name of the kind that stands here; a kind that came into being
after this version leaves one as well. Each kind is logged once a minute at most. Kinds that nobody expects an answer to
leave none, and the last column says why.

The files of the samples are not there to be fetched. Those that are
[are opened, and voice messages heard](../files.md#what-people-send)."""


if __name__ == "__main__":
    PAGE.write_text(write_page(), "utf-8")
