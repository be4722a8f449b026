"""The flags of `uncaged setup`: each answers one question."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class SetupStep(StrEnum):
    """What may be set up alone."""

    name = "name"
    language = "language"
    model = "model"
    web = "web"
    telegram = "telegram"
    owner = "owner"
    service = "service"
    undo = "undo"


@dataclass(frozen=True, slots=True)
class SetupFlags:
    """What was given on the command line; empty for what was not."""

    name: str = ""
    language: str = ""
    timezone: str = ""
    provider: str = ""
    url: str = ""
    model: str = ""
    key_from: str = ""
    window: int = 0
    untested: bool = False
    web: bool | None = None
    token_from: str = ""
    take_webhook: bool = False
    owner: str = ""
    service: str = ""
    start: bool = True
    port: int = 0
    is_alone: bool = False
    """One thing is set up alone, so what is missing for it is an error."""
