"""/soul: shows who the agent is, and lets the model write it anew from an owner's words, in a
request of its own.
"""

from __future__ import annotations

import re
from typing import Final

from functions.agent.commands.command import Asked, Command, Commands, Effect
from functions.agent.commands.document_versions import SHOWN, roll_back, version_lines
from functions.agent.memory.documents import CAPS, FIRST_SOUL
from functions.agent.model.base import Reply
from functions.agent.model.offline import signed
from functions.agent.sanitize import clean, fenced, unfenced
from functions.agent.side_request import Aside
from functions.agent.visibility import is_visible
from sigil.errors import Conflict

PROMPT: Final = (
    "You are a personality editor for an AI assistant. "
    "Given the current SOUL.md and user instructions, produce an updated SOUL.md. "
    "Output ONLY the new SOUL.md content in markdown, nothing else. "
    "Keep sections: Personality, Values, Communication Style. "
    "Merge new traits with existing ones. Do not wrap in code fences."
)
"""As seed 002 gives it."""
UPDATED = "Soul updated."
LEAST = 10
"""Characters below which an answer is no soul."""
KEPT = "The soul is as it was."
_ROLLBACK = re.compile(r"rollback(?:\s+(\S+))?", re.IGNORECASE | re.ASCII)
_VERSION = re.compile(r"[0-9]{1,8}", re.ASCII)
BEGAN = "as it was before anybody changed it"
WHICH = "Say which version: `/soul rollback N`; `/soul history` shows them."


def run(asked: Asked) -> Effect:
    """Show it, its history, an earlier version again, or write it anew."""
    if not asked.text:
        return asked.says(_soul(asked))
    if asked.text.lower() == "history":
        return asked.says(_history(asked))
    back = _ROLLBACK.fullmatch(asked.text)
    return asked.says(_rolled_back(asked, back[1] or "")) if back else _written(asked)


def of_owners(words: str) -> bool:
    """Whether only owners do it: change the soul, or read in its history who changed it, and with
    which words.
    """
    return bool(words)


def _soul(asked: Asked) -> str:
    return asked.app.documents.read(asked.scope, "soul").text or FIRST_SOUL


def _history(asked: Asked) -> str:
    rows = version_lines(asked.app.documents.versions(asked.scope, "soul"))
    began = [f"- 0: {BEGAN}"] if len(rows) < SHOWN else []
    return "\n".join([*rows, *began]) if rows else "The soul was never changed."


def _rolled_back(asked: Asked, version: str) -> str:
    if not _VERSION.fullmatch(version):
        return f"{KEPT} {WHICH}"
    problem = roll_back(asked, asked.scope, "soul", int(version))
    return f"{KEPT} {problem}" if problem else f"The soul is as in version {version} again."


def _written(asked: Asked) -> Effect:
    documents = asked.app.documents
    before = documents.read(asked.scope, "soul")
    aside = Aside(asked.session, asked.app, asked.document)
    reply = aside.ask(
        PROMPT,
        f"{fenced('SOUL.md', before.text or FIRST_SOUL)}\n\n"
        f"{fenced('USER INSTRUCTIONS', asked.text)}",
    )
    text = unfenced(clean(reply.text))
    problem = _refused(reply, text)
    if not problem:
        try:
            documents.write(
                asked.scope,
                "soul",
                text,
                by=asked.event.sender.id,
                why=asked.text,
                expect=before.version,
            )
        except Conflict:
            problem = "Somebody else changed it meanwhile; send it again."
    return Effect(
        f"{problem} {KEPT}" if problem else signed(UPDATED, asked.app.model.name),
        aside.document,
        trace=aside.trace,
    )


def _refused(reply: Reply, text: str) -> str:
    """Why an answer is no soul; empty when it is one."""
    if reply.finish == "error":
        return f"I could not get an answer: {reply.text.rstrip('.')}."
    if reply.finish in ("length", "filtered", "refused"):
        return "The model gave no whole soul."
    if reply.finish != "stop" or len(text) < LEAST or not is_visible(text):
        return "The model gave no soul."
    return (
        f"The model wrote {len(text):,} characters; at most {CAPS['soul']:,} are kept."
        if len(text) > CAPS["soul"]
        else ""
    )


COMMANDS: Final[Commands] = {
    "soul": Command(
        "shows who I am; owners change it with words",
        run,
        takes="[words | history | rollback N]",
        owners=of_owners,
    )
}
