"""Settings for tests, in which a channel's own stand beside all others: `telegram_token`."""

from __future__ import annotations

from dataclasses import fields

from functions.settings import Settings

_FIELDS = {part.name for part in fields(Settings)}


def make_settings(**given: object) -> Settings:
    """Settings with these fields; what is no field is a variable of a channel."""
    values = {name: value for name, value in given.items() if name in _FIELDS}
    declared = dict(values.pop("declared", {}))  # type: ignore[call-overload]
    declared |= {name.upper(): str(value) for name, value in given.items() if name not in _FIELDS}
    names = {"UNCAGED_CHANNELS": ",".join(values.get("channel_names", ()))}  # type: ignore[arg-type]
    known = {facts.name for facts in Settings.list_facts(names)}
    assert set(declared) <= known, f"no settings: {set(declared) - known}"
    return Settings(**values, declared=declared)  # type: ignore[arg-type]
