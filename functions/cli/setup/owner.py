"""The question for the owner, who may change the agent from a chat."""

from __future__ import annotations

from functions.cli.setup.flags import SetupFlags
from functions.cli.setup.questions import Questions
from functions.cli.setup.settings_file import SettingsFile
from sigil.errors import UsageError

PAIRING = "pair"


def choose_owner(questions: Questions, flags: SetupFlags, file: SettingsFile) -> list[str]:
    """Ask who owns the agent and write it down; return the settings that changed.

    Nobody has to know their id: whoever sends the code that a server prints is the first owner.
    """
    known = file.values.get("UNCAGED_OWNERS", "")
    if flags.owner:
        return file.change({"UNCAGED_OWNERS": "" if flags.owner == PAIRING else flags.owner})
    has_platform = bool(file.values.get("TELEGRAM_TOKEN"))
    if not has_platform and not flags.is_alone:
        return []  # at the terminal this machine's own user is the owner
    while True:
        owner = questions.ask(
            f"Your id there, such as telegram:123, or `{PAIRING}` to send the bot a code",
            known or PAIRING,
            "--owner",
        )
        if owner == PAIRING:
            return file.change({"UNCAGED_OWNERS": ""})
        try:
            return file.change({"UNCAGED_OWNERS": owner})
        except UsageError as problem:
            if questions.yes:
                raise
            questions.printer.error(problem)
