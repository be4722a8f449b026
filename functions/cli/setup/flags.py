"""The flags of `uncaged setup`: each answers one question."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class SetupStep(StrEnum):
    """What may be set up alone."""

    language = "language"
    model = "model"
    undo = "undo"


@dataclass(frozen=True, slots=True)
class SetupFlags:
    """What was given on the command line; empty for what was not."""

    language: str = ""
    timezone: str = ""
    provider: str = ""
    url: str = ""
    model: str = ""
    key_from: str = ""
    window: int = 0
    untested: bool = False
