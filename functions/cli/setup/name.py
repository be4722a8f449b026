"""The question for the agent's name."""

from __future__ import annotations

from functions.cli.setup.flags import SetupFlags
from functions.cli.setup.questions import Questions
from functions.cli.setup.settings_file import SettingsFile
from functions.settings import Settings
from sigil.errors import UsageError, one_line
from sigil.protocol import is_name
from sigil.wiring import sqlite_path


def choose_name(questions: Questions, flags: SetupFlags, file: SettingsFile) -> list[str]:
    """Ask for the agent's name and write it down; return the settings that changed.

    An agent of another name knows nothing of what this one knows, so that is asked once more.
    """
    settings = file.preview({})
    known = settings.agent
    name = _read_name(flags.name) if flags.name else ""
    if not name and questions.yes:
        return []
    while not name:
        try:
            name = _read_name(questions.ask("The agent's name", known, "--name"))
        except UsageError as problem:
            questions.printer.error(problem)
    if name == known:
        return []
    if _has_store(settings):
        questions.printer.note(f"{name} begins anew: chats, memory and capabilities stay {known}'s")
        if not flags.name and not questions.confirm("Begin with another agent?", default=False):
            return []
    return file.change({"UNCAGED_AGENT": name})


def _read_name(words: str) -> str:
    """Return the name that a person writes as agents have it: `Ada Lovelace` is `ada-lovelace`."""
    name = "-".join(words.lower().split())
    if not is_name(name):
        raise UsageError(
            "EUSAGE",
            f"{one_line(words, 60)!r} cannot be the name of an agent",
            suggestion="use letters from a to z, digits and hyphens, such as ada",
        )
    return name


def _has_store(settings: Settings) -> bool:
    """Return whether an agent may have something to lose: there is a store, or one elsewhere."""
    path = sqlite_path(settings)
    return path is None or path.is_file()
