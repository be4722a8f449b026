"""The question whether the agent may read the web: a grant in the store, not a setting."""

from __future__ import annotations

from contextlib import closing

from functions.cli.setup.flags import SetupFlags
from functions.cli.setup.questions import Questions
from functions.cli.setup.settings_file import SettingsFile
from functions.settings import Settings
from sigil.manifest.permissions import WEB
from sigil.protocol import LIBRARY, Caller
from sigil.wiring import local_registry, open_stores


def allow_web(questions: Questions, flags: SetupFlags, file: SettingsFile) -> list[str]:
    """Ask whether the library's capabilities for the web may read any public page, and grant that.
    No setting changes.
    """
    printer = questions.printer
    if flags.web is False or (flags.web is None and questions.yes):
        return []
    settings = Settings.read()
    if settings.registry_url:
        printer.note("the web: an owner of the registry grants it there, with `sigil grant`")
        return []
    question = "May it search the web, and read any public page that a chat leads to?"
    if flags.web is None and not questions.confirm(question, default=True):
        return []
    caller = Caller(settings.agent, owner=True, author="person")
    with closing(local_registry(settings, open_stores(settings), printer.note)) as registry:
        waiting = [
            row["capability"]
            for row in registry.granting.rows(caller)
            if row["state"] == "waits" and row["namespace"] == LIBRARY and WEB in row["permissions"]
        ]
        for name in waiting:
            request = registry.granting.find_request(name, caller)
            registry.granting.grant(name, caller, request["digest"])
            asked = ", ".join(request["asked"])
            printer.note(f"granted to {name}: {asked}; to take it back: sigil revoke {name}")
    if not waiting:
        printer.note("nothing waits for it: the library's capabilities have it, or are not there")
    return []
