"""The settings of a backup as an `uncaged.toml` for the machine that it is restored on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from functions.settings import Settings
from sigil.errors import one_line
from sigil.storage.toml_files import quote_text

OF_A_MACHINE: Final = frozenset(
    "UNCAGED_DATA UNCAGED_STORE UNCAGED_ARTIFACTS UNCAGED_QUEUE UNCAGED_CACHE SIGIL_ENGINE"
    " SIGIL_PROFILE".split()
)
"""What says where things are: another place is why one restores."""


def format_settings(settings: Mapping[str, str], secrets: Mapping[str, str]) -> str:
    """Return the lines of a settings file. What has to be decided anew, is unknown here, or may
    stand in no file is a comment; so is a secret that is not among `secrets`.
    """
    known = {facts.name: facts for facts in Settings.list_facts(settings)}
    lines = ["# settings of a backup; the lines that begin with # are for you to decide"]
    for name in sorted({*settings, *secrets}):
        facts = known.get(name)
        shown = one_line(settings.get(name, ""), 2_000)
        if facts is None or facts.outside or name in OF_A_MACHINE:
            lines.append(f"# {one_line(name, 100)} was {quote_text(shown)}")
        elif facts.secret and name not in secrets:
            lines.append(f"# {name} was set")
        else:
            lines.append(f"{name} = {quote_text(secrets.get(name, settings.get(name, '')))}")
    return "\n".join(lines) + "\n"
