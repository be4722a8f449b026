"""The weather where the agent is, as the machine of its owner tells it.

A stamp can show it (`functions/time/stamp.py`). The agent never asks for it by itself: a program
of the owner does, and tells it with `uncaged agent weather`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from functions.time.stamp import clean_value
from sigil.storage.kv import KV, keys
from sigil.storage.kv.update import update
from sigil.storage.stored import Shape, Stored, dumps

CHARACTERS: Final = 60
KEPT: Final = 48
"""So many reports are kept, so that the stamps of a conversation stay as they were."""
VALID_SECONDS: Final = 6 * 3_600.0
"""What was told longer before a message says nothing about its time."""


@dataclass(frozen=True, slots=True)
class WeatherReport(Stored):
    """What the weather is from a time on."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class WeatherReports(Stored):
    """The last reports of an agent, the newest last."""

    reports: tuple[WeatherReport, ...] = ()


_REPORTS: Final[Shape[WeatherReports]] = Shape(WeatherReports)


def tell_weather(kv: KV, agent: str, text: str, now: float) -> str:
    """Keep what the weather is from now on, and return it as stamps show it."""
    told = clean_value(text, CHARACTERS)

    def decide(value: bytes | None) -> tuple[bytes | None, None]:
        known = _read(value)
        reports = (*known.reports, WeatherReport(now, told))[-KEPT:]
        return dumps(replace(known, reports=reports)), None

    update(kv, keys.weather(agent), decide)
    return told


def read_reports(kv: KV, agent: str) -> tuple[WeatherReport, ...]:
    """Return what was told of the weather lately, the newest last."""
    item = kv.get(keys.weather(agent))
    return _read(item.value if item else None).reports


def find_weather(reports: Iterable[WeatherReport], at: float) -> str:
    """Return what the weather was at a time; empty when nobody told it.

    Stamps have minutes and no seconds, so what was told in the same minute counts.
    """
    minute = at // 60
    told = [report for report in reports if minute - VALID_SECONDS / 60 < report.at // 60 <= minute]
    return max(told, key=lambda report: report.at).text if told else ""


def _read(value: bytes | None) -> WeatherReports:
    if value is None:
        return WeatherReports()
    try:
        return _REPORTS.read(value)
    except ValueError:  # the weather is no reason to fail
        return WeatherReports()
