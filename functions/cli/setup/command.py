"""`uncaged setup`: the steps, one after the other or one alone."""

from __future__ import annotations

from collections.abc import Callable

from functions.cli.setup.flags import SetupFlags, SetupStep
from functions.cli.setup.language import choose_language
from functions.cli.setup.model import choose_model
from functions.cli.setup.questions import Questions
from functions.cli.setup.settings_file import SettingsFile, open_settings_file
from sigil.cli.printing import Printer
from sigil.settings import describe_settings

Step = Callable[[Questions, SetupFlags, SettingsFile], list[str]]


STEPS: dict[SetupStep, Step] = {
    SetupStep.language: choose_language,
    SetupStep.model: choose_model,
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
            return 0
        changed: list[str] = []
        for name in [step] if step else STEPS:
            changed += STEPS[name](questions, flags, file)
        _print_outcome(questions.printer, file, changed)
    return 0


def _print_outcome(printer: Printer, file: SettingsFile, changed: list[str]) -> None:
    """Print which settings changed, where, and how to take them back."""
    overruled = file.list_overruled(changed)
    if printer.json:
        printer.document({"file": str(file.path), "changed": changed, "overruled": overruled})
        return
    values = {name: value for name, value, _ in describe_settings(file.preview({}))}
    for name in changed:
        printer.note(f"  {name} = {values[name] or '(default)'}")
    if not changed:
        printer.note("nothing changed")
        return
    printer.note(f"written to {file.path}; to take it back: uncaged setup undo")
    for name in overruled:
        printer.note(f"warning: {name} in the environment has another value, which counts")
