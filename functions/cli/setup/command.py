"""`uncaged setup`: the steps, one after the other or one alone."""

from __future__ import annotations

import sys
from collections.abc import Callable

from functions.cli.commands.web import list_addresses
from functions.cli.local_agent import open_agent
from functions.cli.setup.container import NAME, find_containers
from functions.cli.setup.first_message import say_first_message
from functions.cli.setup.flags import SetupFlags, SetupStep
from functions.cli.setup.language import choose_language
from functions.cli.setup.model import choose_model
from functions.cli.setup.name import choose_name
from functions.cli.setup.owner import choose_owner
from functions.cli.setup.questions import Questions
from functions.cli.setup.service import PORT, UNIT, find_user_services, install_service
from functions.cli.setup.settings_file import SettingsFile, open_settings_file
from functions.cli.setup.telegram import connect_telegram
from functions.cli.setup.web import allow_web
from functions.settings import Settings
from sigil.cli.printing import Printer
from sigil.settings import describe_settings
from sigil.wiring import sqlite_path

Step = Callable[[Questions, SetupFlags, SettingsFile], list[str]]


STEPS: dict[SetupStep, Step] = {
    SetupStep.name: choose_name,
    SetupStep.language: choose_language,
    SetupStep.model: choose_model,
    SetupStep.web: allow_web,
    SetupStep.telegram: connect_telegram,
    SetupStep.owner: choose_owner,
    SetupStep.service: install_service,
}
"""The steps in the order in which they are asked."""


def run_setup(step: SetupStep | None, flags: SetupFlags, questions: Questions, here: bool) -> int:
    """Ask the questions of a step, or of all; each writes down its answers when they are complete,
    so whatever interrupts the next one loses none.
    """
    with open_settings_file(here=here) as file:
        if step is SetupStep.undo:
            file.undo()
            questions.printer.result(
                {"file": str(file.path), "undone": True}, f"{file.path} is as it was before"
            )
            _restart_service(questions.printer, flags)
            return 0
        file.refuse_unknown_names()
        changed: list[str] = []
        for name in [step] if step else STEPS:
            changed += STEPS[name](questions, flags, file)
        _print_outcome(questions.printer, file, changed)
        settings = file.preview({})
    # the step for the service comes last, and starts it with what the others have written
    has_started = step is None and (flags.service or not questions.yes)
    if changed and not has_started:
        _restart_service(questions.printer, flags)
    if (
        step in (SetupStep.name, SetupStep.language, SetupStep.model, SetupStep.web)
        or questions.printer.json
    ):
        return 0
    code = 0
    if step is None and not questions.yes:
        code = say_first_message(questions, is_served=_is_served())
    _print_next_steps(questions.printer, settings)
    _print_page(questions.printer, settings, flags)
    return code


def _restart_service(printer: Printer, flags: SetupFlags) -> None:
    """Let a service that runs read the new settings; it ends its running turns first."""
    services = find_user_services()
    if services and services.is_active:
        if flags.start:
            services.require("restart", UNIT)
            printer.note("the service was restarted with it")
        else:
            printer.note("the service reads it after: systemctl --user restart uncaged")
    containers = find_containers()
    if containers and containers.state == "running":
        if flags.start:
            containers.restart()
            printer.note("the container was restarted with it")
        else:
            printer.note(f"the container reads it after: {containers.program} restart {NAME}")


def _is_served() -> bool:
    """Return whether a service of ours runs."""
    services = find_user_services()
    if services and services.is_active:
        return True
    containers = find_containers()
    return containers is not None and containers.state == "running"


def _print_next_steps(printer: Printer, settings: Settings) -> None:
    """Print how to talk to the agent, and how to become its owner on a platform."""
    printer.note("talk to it here: uncaged chat")
    if not settings.declared.get("TELEGRAM_TOKEN"):
        return
    if not _is_served():
        printer.note("let Telegram talk to it: uncaged serve --poll")
        if not settings.owners and not _has_owner():
            printer.note("  that prints a code; who sends it to the bot is the owner")
        return
    if settings.owners or not sys.stderr.isatty():
        return
    with open_agent() as (app, _):
        code = app.claim.offer_code()
    if code:
        printer.note(f"send `/pair {code}` to the bot in the next 10 minutes: you are its owner")


def _print_page(printer: Printer, settings: Settings, flags: SetupFlags) -> None:
    """Print how to open the page: the last thing that a setup says."""
    address = " or ".join(list_addresses(settings, flags.port or PORT))
    if _is_served():
        printer.note(f"open {address} in a browser, with the code that `uncaged web` prints")
    else:
        printer.note(f"see it in a browser: uncaged serve, then open {address}")


def _has_owner() -> bool:
    """Return whether somebody became an owner by a code; a store is not made for this question."""
    path = sqlite_path(Settings.read())
    if path is None or not path.is_file():
        return False
    with open_agent() as (app, _):
        return app.people.has_owner()


def _print_outcome(printer: Printer, file: SettingsFile, changed: list[str]) -> None:
    """Print which settings changed, where, and how to take them back."""
    overruled = file.list_overruled(changed)
    if printer.json:
        printer.document({"file": str(file.path), "changed": changed, "overruled": overruled})
        return
    values = {name: value for name, value, _ in describe_settings(file.preview({}))}
    for name in changed:
        value = values[name]
        if not file.values.get(name):
            value = f"(default: {value})" if value else "(default)"
        printer.note(f"  {name} = {value}")
    if not changed:
        printer.note("nothing changed")
        return
    printer.note(f"written to {file.path}; to take it back: uncaged setup undo")
    for name in overruled:
        printer.note(f"warning: {name} in the environment has another value, which counts")
