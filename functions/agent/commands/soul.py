"""/soul shows who the agent is, and lets the model rewrite that from an owner's words.

The model does so in a request of its own, beside the conversation.
"""

from __future__ import annotations

import re
from typing import Final

from functions.agent.commands.command import Command, CommandCall, CommandResult, Commands
from functions.agent.commands.document_versions import SHOWN, format_versions, roll_back
from functions.agent.memory.documents import CAPS, FIRST_SOUL
from functions.agent.model.base import ModelReply
from functions.agent.offline_signature import sign_text
from functions.agent.sanitize import clean_text, delimit_text, is_visible, strip_code_fence
from functions.agent.side_request import SideRequests, explain_error
from functions.texts.en import Texts
from sigil.errors import Conflict

PROMPT: Final = (
    "You are a personality editor for an AI assistant. "
    "Given the current SOUL.md and user instructions, produce an updated SOUL.md. "
    "Output ONLY the new SOUL.md content in markdown, nothing else. "
    "Keep sections: Personality, Values, Communication Style. "
    "Merge new traits with existing ones. Do not wrap in code fences."
)
"""Taken word for word from seed 002."""
LEAST = 10
"""An answer of fewer characters is no soul."""
_ROLLBACK = re.compile(r"rollback(?:\s+(\S+))?", re.IGNORECASE | re.ASCII)
_VERSION = re.compile(r"[0-9]{1,8}", re.ASCII)


def run_soul(call: CommandCall) -> CommandResult:
    """Show the soul or its history, go back to an earlier version, or let the model rewrite it."""
    documents = call.app.documents
    texts = call.texts
    if not call.text:
        return call.reply(documents.read(call.scope, "soul").text or FIRST_SOUL)
    if call.text.lower() == "history":
        rows = format_versions(documents.list_versions(call.scope, "soul"), texts)
        if not rows:
            return call.reply(texts.soul_never_changed)
        if len(rows) < SHOWN:
            rows.append(texts.soul_began)
        return call.reply("\n".join(rows))
    rollback = _ROLLBACK.fullmatch(call.text)
    if rollback is None:
        return _rewrite_soul(call)
    version = rollback[1] or ""
    if not _VERSION.fullmatch(version):
        return call.reply(f"{texts.soul_kept} {texts.soul_which}")
    problem = roll_back(call, call.scope, "soul", int(version))
    if problem:
        return call.reply(f"{texts.soul_kept} {problem}")
    return call.reply(texts.soul_back.format(version=version))


def is_for_owners(words: str) -> bool:
    """Return whether only owners may do it: all but showing the soul.

    The history tells who changed it, and with which words.
    """
    return bool(words)


def _rewrite_soul(call: CommandCall) -> CommandResult:
    documents = call.app.documents
    texts = call.texts
    before = documents.read(call.scope, "soul")
    aside = SideRequests(call.session, call.app, call.document, event=call.event)
    current = delimit_text("SOUL.md", before.text or FIRST_SOUL)
    reply = aside.ask(PROMPT, f"{current}\n\n{delimit_text('USER INSTRUCTIONS', call.text)}")
    text = strip_code_fence(clean_text(reply.text))
    problem = _explain_rejection(reply, text, texts)
    if not problem:
        by = call.event.sender.id
        try:
            documents.write(call.scope, "soul", text, by=by, why=call.text, expect=before.version)
        except Conflict:
            problem = texts.soul_meanwhile
    if problem:
        answer = f"{problem} {texts.soul_kept}"
    else:
        model = call.app.model.name
        answer = sign_text(texts.soul_updated, model, call.event.platform, texts)
    return CommandResult(answer, aside.document, trace=aside.trace)


def _explain_rejection(reply: ModelReply, text: str, texts: Texts) -> str:
    """Return why the model's answer cannot become the soul; empty when it can."""
    if reply.finish == "error":
        return texts.could_not_answer.format(why=explain_error(reply, texts).rstrip(".。"))
    if reply.finish in ("length", "filtered", "refused"):
        return texts.soul_unfinished
    if reply.finish != "stop" or len(text) < LEAST or not is_visible(text):
        return texts.soul_none
    if len(text) > CAPS["soul"]:
        return texts.soul_too_long.format(count=len(text), most=CAPS["soul"])
    return ""


COMMANDS: Final[Commands] = {
    "soul": Command(
        run_soul,
        arguments="[words | history | rollback N]",
        changes_agent=is_for_owners,
    )
}
