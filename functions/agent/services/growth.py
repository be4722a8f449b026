"""`propose-change` asks to change the document in which an agent says who it is.

The policy asks an owner first, unless it has a rule that says otherwise. What an owner reads is the
difference to the version that the change was made from, and no other version is ever overwritten.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from functions.agent.behaviours.pins import SELF
from functions.agent.memory.documents import check_document_text
from functions.agent.posts import ServiceAnswer
from functions.agent.sanitize import clean_text
from functions.agent.services.call_context import Arguments, CallContext, read_text
from sigil.errors import Conflict, Refused, UsageError, one_line

EXPLANATION: Final = ("goal", "risk", "benefit")
"""What every change has to be explained with."""
EXPLAINED_CHARACTERS: Final = 200


@dataclass(frozen=True, slots=True)
class Change:
    """A new text for the document, the version that it was made from, and what it is good for."""

    base: int
    text: str
    goal: str


def propose_change(context: CallContext, arguments: Arguments) -> ServiceAnswer:
    """Write the new version, and note in the run that it was written and why.

    Doing it again after a crash finds what was written. `UsageError` for a change that was made
    from another version, or is not explained.
    """
    change = _read_change(context, arguments)
    documents = context.app.documents
    try:
        if not _is_written(context, change):
            context.notes.take()
            documents.write(
                documents.agent,
                SELF,
                change.text,
                by=context.app.name,
                why=change.goal,
                expect=change.base,
            )
    except Conflict:
        raise _refuse_base(context) from None
    version = change.base + 1
    note = f"{SELF} is at version {version}: {change.goal}"
    return ServiceAnswer({"target": SELF, "version": version}, note=context.app.redact(note))


def check_change(context: CallContext, arguments: Arguments) -> None:
    """Raise the error of a change that could not be made, before an owner is asked about it."""
    change = _read_change(context, arguments)
    if _is_written(context, change):
        return
    documents = context.app.documents
    before = documents.read(documents.agent, SELF)
    if before.version != change.base:
        raise _refuse_base(context)
    if before.text == change.text:
        raise UsageError("EINVAL", f"{SELF} says exactly this already")


def name_target(arguments: Arguments) -> str:
    """Return the document that a change is about."""
    return read_text(arguments, "target")


def _read_change(context: CallContext, arguments: Arguments) -> Change:
    if name_target(arguments) != SELF:
        raise Refused(
            "EPERM",
            f"{SELF} is all that can be changed so",
            suggestion="tell an owner what else should change: people write it",
        )
    base = arguments.get("base")
    if type(base) is not int or base < 0:
        raise UsageError("EINVAL", "base is the version that the text was made from")
    for name in EXPLANATION:
        if not _explain(arguments, name):
            raise UsageError(
                "EINVAL",
                f"a change is not proposed without its {name}",
                suggestion=f"say {', '.join(EXPLANATION)}, each in a sentence",
            )
    text = check_document_text(SELF, read_text(arguments, "text"))
    if not text:
        raise UsageError("EINVAL", "text is the whole document as it should be")
    goal = _explain(arguments, "goal")
    # every chat reads the document, and an owner approves exactly what they were shown
    if any(context.app.redact(context.gate.redact(each)) != each for each in (text, goal)):
        raise Refused(
            "EPERM",
            "the change holds something that may not leave this chat",
            suggestion="propose it without secrets and personal data",
        )
    return Change(base, text, goal)


def _is_written(context: CallContext, change: Change) -> bool:
    """Return whether the newest version is this very change."""
    documents = context.app.documents
    doc = documents.read(documents.agent, SELF)
    made = (doc.version, doc.text, doc.by, doc.why)
    return made == (change.base + 1, change.text, context.app.name, change.goal)


def _refuse_base(context: CallContext) -> UsageError:
    documents = context.app.documents
    version = documents.read(documents.agent, SELF).version
    return UsageError(
        "EINVAL",
        f"{SELF} is at version {version}: the change was made from another one",
        suggestion=f"propose it anew from the text as it is now, with base {version}",
    )


def _explain(arguments: Arguments, name: str) -> str:
    return one_line(clean_text(read_text(arguments, name)), EXPLAINED_CHARACTERS)
