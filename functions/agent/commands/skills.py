"""/skills shows an owner the skills in a private chat, and lets them pin, unpin or remove one.

A skill is added on the machine or over HTTP: a chat is no place for files.
"""

from __future__ import annotations

import re
from typing import Final

from functions.agent.commands.command import Command, CommandCall, CommandResult, Commands, always
from functions.agent.safety.failure_codes import describe_refusal
from functions.agent.skills.catalog import SkillEntry
from functions.agent.skills.skill import split_front
from sigil.errors import UsageError, one_line

_CHANGE: Final = re.compile(r"(pin|unpin|remove)\s+(\S+)", re.IGNORECASE)
_ROLLBACK: Final = re.compile(r"rollback\s+(\S+)\s+([0-9]{1,8})", re.IGNORECASE | re.ASCII)
DESCRIPTION_CHARACTERS: Final = 160
SHOWN_CHARACTERS: Final = 3_000


def run_skills(call: CommandCall) -> CommandResult:
    """Show the skills or one of them, or change one thing of it."""
    texts = call.texts
    if not call.event.private:
        return call.reply(texts.skills_private)
    try:
        return call.reply(_answer(call))
    except UsageError as problem:
        name = one_line(call.text.split()[-1], 64).replace("`", "")
        if problem.code in ("ENOENT", "EINVAL"):
            return call.reply(texts.skill_unknown.format(name=name))
        return call.reply(f"{describe_refusal(problem, texts)}.")


def _answer(call: CommandCall) -> str:
    texts = call.texts
    skills = call.app.skills
    by = call.event.sender.id
    if not call.text:
        entries = skills.read_catalog().skills
        if not entries:
            return texts.skills_none
        return "\n".join([*(_describe(each, call) for each in entries), "", texts.skills_how])
    rollback = _ROLLBACK.fullmatch(call.text)
    if rollback:
        name = rollback[1].lower()
        doc = skills.roll_back(name, int(rollback[2]), by=by)
        return texts.skill_back.format(name=name, version=doc.version)
    change = _CHANGE.fullmatch(call.text)
    if change is None:
        doc = skills.read(call.text.lower())
        return split_front(doc.text)[1][:SHOWN_CHARACTERS]
    verb, name = change[1].lower(), change[2].lower()
    if verb == "remove":
        doc = skills.remove(name, by=by)
        return texts.skill_removed.format(name=name, version=doc.version - 1)
    skills.pin(name, pinned=verb == "pin")
    return (texts.skill_pinned if verb == "pin" else texts.skill_unpinned).format(name=name)


def _describe(entry: SkillEntry, call: CommandCall) -> str:
    pin = f" ({call.texts.skill_is_pinned})" if entry.pinned else ""
    return f"- `{entry.name}`{pin}: {one_line(entry.description, DESCRIPTION_CHARACTERS)}"


COMMANDS: Final[Commands] = {
    "skills": Command(
        run_skills,
        arguments="[NAME | pin NAME | unpin NAME | remove NAME | rollback NAME N]",
        changes_agent=always,
        for_owners=True,
        works_for=lambda reader: reader.private,
    ),
}
