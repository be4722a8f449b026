"""Every hostile file ends in ten seconds and 256 MB, opened or refused for the reason that it has."""

from __future__ import annotations

from time import monotonic

import pytest

from functions.media.file_reader import FileReader
from functions.media.limits import CHILD_BYTES, CHILD_SECONDS
from functions.media.results import Reason, UnreadableFile
from tests.functions.media.hostile_files import HOSTILE, HostileFile
from tests.functions.media.watching import watch_children
from tests.selection import thorough

SAMPLE = (
    "an SVG with 200 blurs",
    "a docx of entities",
    "an xlsx with a cell in its last corner",
    "an SVG with 100,000 uses",
)
REST = tuple(name for name in HOSTILE if name not in SAMPLE)
STARTED = 2.0
"""Seconds for what is no work of the child: its start and its end."""


def open_file(hostile: HostileFile, data: bytes) -> Reason | None:
    try:
        hostile.open(FileReader(), data)
    except UnreadableFile as unreadable:
        return Reason(unreadable.reason)
    return None


@pytest.mark.parametrize("name", [*SAMPLE, *thorough(*REST)])
def test_a_hostile_file_costs_no_more_than_its_bounds(name: str) -> None:
    hostile = HOSTILE[name]
    data = hostile.make()
    since = monotonic()
    with watch_children() as used:
        reason = open_file(hostile, data)

    assert reason in hostile.reasons
    assert monotonic() - since < CHILD_SECONDS + STARTED  # the deadline is what is tested
    assert used.peak_bytes <= CHILD_BYTES
