"""`propose-change` asks to change a part of the agent, and `read-current` reads one before that.

The policy asks an owner first, unless it has a rule that says otherwise. What an owner reads is the
difference to the version that the change was made from, and no other version is ever overwritten.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import orjson

from functions.agent.behaviours.behaviour import PROPOSE
from functions.agent.behaviours.pins import PINNED_ONLY
from functions.agent.growth.change import (
    CAPABILITY,
    TOOL,
    Change,
    find_change,
    list_acts,
    read_change,
    require_target,
)
from functions.agent.growth.merging import merge_texts
from functions.agent.growth.parts import Part, PartVersion, list_targets, open_part
from functions.agent.policy.act import Act
from functions.agent.policy.gate import PolicyRefusal
from functions.agent.policy.proposals import AskedCall, Proposal
from functions.agent.posts import ServiceAnswer
from functions.agent.services.call_context import Arguments, CallContext, read_text
from functions.agent.skills.skill import PREFIX as SKILL
from sigil.errors import Conflict, Refused, UsageError
from sigil.protocol import Json

HINT: Final = f"leave target out to see them all; a capability is {CAPABILITY}NAME"


def propose_change(context: CallContext, arguments: Arguments) -> ServiceAnswer:
    """Write the new version, and note in the run that it was written and why.

    Doing it again after a crash finds what was written. What cannot be written changes nothing.
    """
    change, part = _open_change(context, arguments)
    app = context.app
    current = part.read()
    version = current.version
    if not part.is_made(current, change, app.name):
        context.notes.take()
        try:
            version = part.write(change, app.name)
        except Conflict:
            raise _refuse_base(change, part.read()) from None
    approved = _find_approved(context, arguments)
    if approved:
        app.proposals.note_version(approved, version)
    note = f"{change.target} is at version {version}: {change.goal}"
    return ServiceAnswer({"target": change.target, "version": version}, note=app.redact(note))


def check_change(context: CallContext, arguments: Arguments) -> None:
    """Raise the error of a change that could not be made, before an owner is asked about it.

    One that was approved while somebody changed the same part is proposed anew.
    """
    for act in name_acts(arguments):
        if context.gate.denies(act.kind, act.target):
            context.gate.require(act.kind, act.target)
    change, part = _open_change(context, arguments)
    current = part.read()
    if part.is_made(current, change, context.app.name):
        return
    if current.version != change.base:
        approved = _find_approved(context, arguments)
        if approved:
            _propose_anew(context, arguments, approved, current, part)
        raise _refuse_base(change, current)
    if current.text == change.text:
        raise UsageError("EINVAL", f"{change.target} says exactly this already")


def name_acts(arguments: Arguments) -> Sequence[Act]:
    """Return what a change does, as a policy names it."""
    return list_acts(require_target(read_text(arguments, "target")))


def read_current(context: CallContext, arguments: Arguments) -> Json:
    """Return the newest version of a part of the agent, or the names of all of them."""
    app = context.app
    target = read_text(arguments, "target")
    if not target:
        return {"targets": list_targets(app, context.by), "hint": HINT}
    require_target(target)
    if target.startswith(SKILL):
        context.gate.require("find", target)
    current = open_part(app, target, context.by).read()
    text = app.redact(context.gate.redact(current.text))
    return {"target": target, "version": current.version, "text": text}


def _open_change(context: CallContext, arguments: Arguments) -> tuple[Change, Part]:
    """Return a change with the part that it is about; raise what is wrong with it by itself."""
    change = read_change(arguments)
    is_approved = _find_approved(context, arguments) is not None
    part = open_part(context.app, change.target, context.by, approved=is_approved)
    change = replace(change, text=part.check(change.text))
    # every chat reads it, and an owner approves exactly what they were shown
    texts = (change.text, change.goal)
    if any(context.app.redact(context.gate.redact(each)) != each for each in texts):
        raise Refused(
            "EPERM",
            "the change holds something that may not leave this chat",
            suggestion="propose it without secrets and personal data",
            reason="private",
        )
    return change, part


def _find_approved(context: CallContext, arguments: Arguments) -> Proposal | None:
    """Return the proposal by which an owner has approved this very call; None without one."""
    approved = context.gate.approved
    is_same = approved is not None and find_change(approved) == read_change(arguments)
    return approved if is_same else None


def _propose_anew(
    context: CallContext,
    arguments: Arguments,
    approved: Proposal,
    current: PartVersion,
    part: Part,
) -> None:
    """Propose an approved change once more, made from what somebody has written meanwhile.

    Returns where both have changed the same lines, so that nobody but its author can.
    """
    merged = merge_texts(approved.before or "", current.text, read_text(arguments, "text"))
    if not merged or merged == current.text:
        return
    merged = part.check(merged)
    anew = {**arguments, "base": current.version, "text": merged}
    call = AskedCall(TOOL, orjson.dumps(anew).decode(), approved.offer or PINNED_ONLY[PROPOSE])
    acts = [Act(*act.split(" ", 1)) for act in approved.acts]
    try:
        context.gate.require_call(acts, call)
    except PolicyRefusal as refusal:
        target = read_text(arguments, "target")
        refusal.message = (
            f"{target} was changed meanwhile, to version {current.version}: {refusal.message}"
        )
        raise


def _refuse_base(change: Change, current: PartVersion) -> UsageError:
    version = current.version
    return UsageError(
        "EINVAL",
        f"{change.target} is at version {version}: the change was made from another one",
        suggestion=f"propose it anew from the text as it is now, with base {version}",
    )
