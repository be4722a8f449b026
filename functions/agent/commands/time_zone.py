"""/timezone shows and sets the time zone of a chat."""

from __future__ import annotations

import unicodedata
from dataclasses import replace
from typing import Final

from functions.agent.commands.command import Command, CommandCall, CommandResult, Commands
from functions.events import Event
from functions.texts.en import Texts
from functions.time.time_zone import (
    NAME_CHARACTERS,
    find_zone,
    format_offset,
    name_city,
    suggest_for_language,
    suggest_zones,
    to_local,
)
from sigil.errors import one_line

AUTOMATIC: Final = "auto"
BACKWARD: Final = ("R", "AL", "AN")
"""Classes of characters that are written from right to left: they turn a sentence around."""


def run_timezone(call: CommandCall) -> CommandResult:
    """Show the chat's time zone, set it, or go back to that of the settings."""
    texts = call.texts
    now = call.app.clock.now()
    if not call.text:
        zone = call.app.find_zone(call.document)
        shown = texts.zone_now if call.document.zone else texts.zone_of_settings
        how = texts.zone_how.format(city=suggest_city(call.event, texts))
        return call.reply(f"{_describe(shown, zone, now)} {how}")
    if call.text.casefold() == AUTOMATIC:
        zone = call.app.zone
        document = replace(call.document, zone="")
        return CommandResult(_describe(texts.zone_of_settings, zone, now), document)
    zone = find_zone(call.text)
    if not zone:
        return call.reply(_describe_unknown(call, now))
    document = replace(call.document, zone=zone)
    told = _describe(texts.zone_now, zone, now)
    scheduled = [each.schedule.when for each in call.schedules.list()]
    others = {when.zone for when in scheduled if when.kind != "every"} - {zone}
    if others:
        told += " " + texts.zone_kept.format(zones=", ".join(sorted(others)))
    return CommandResult(told, document)


def _describe(text: str, zone: str, now: float) -> str:
    """Return what a zone is, with the time there: whoever meant another one sees it."""
    time = f"{to_local(now, zone):%H:%M}"
    return text.format(zone=zone, time=time, offset=format_offset(now, zone))


def _describe_unknown(call: CommandCall, now: float) -> str:
    """Return that no zone has this name, and which may be meant."""
    texts = call.texts
    name = one_line(call.text, NAME_CHARACTERS).replace("`", "")
    if any(unicodedata.bidirectional(character) in BACKWARD for character in name):
        name = ""
    near = ", ".join(f"`{zone}`" for zone in suggest_zones(call.text, now))
    said = texts.zone_unknown.format(name=f" `{name}`" if name else "")
    hint = texts.zone_near.format(zones=near) if near else texts.zone_name_city
    return f"{said} {hint.format(city=suggest_city(call.event, texts))}"


def suggest_city(event: Event, texts: Texts) -> str:
    """Return a city as an example, where many people speak the language of the sender's app."""
    return name_city(suggest_for_language(event.language, texts.zone_example))


COMMANDS: Final[Commands] = {
    "timezone": Command(run_timezone, arguments=f"[CITY | {AUTOMATIC}]", changes_chat=bool)
}
