"""/model shows which model answers in a chat, and lets owners choose another one.

It has to be a model of the same endpoint.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from functions.agent.commands.command import Command, CommandCall, CommandResult, Commands
from functions.agent.model.base import Learner
from functions.agent.offline_signature import NAME as OFFLINE
from functions.agent.side_request import PROBE, PROBE_SYSTEM, SideRequests, explain_error
from sigil.errors import one_line

SECONDS: Final = 30.0
"""The chosen model has so long for its answer."""
WORDS_CHARACTERS: Final = 300
"""The most characters of what its endpoint says about a failure."""
AUTOMATIC: Final = "auto"
RESET: Final = "reset"
_NAME = re.compile(r"[!-_a-~]{1,100}", re.ASCII)
"""A model's name: visible ASCII without a backquote."""


def run_model(call: CommandCall) -> CommandResult:
    """Show the model of the chat, choose another one that answers, or go back."""
    texts = call.texts
    app = call.app
    if not call.text:
        name = call.document.model or app.model.name
        how = texts.model_only if app.model.name == OFFLINE else texts.model_how
        return call.reply(f"{texts.model_now.format(name=name)}{_tell_lessons(call)} {how}")
    if app.model.name == OFFLINE:
        return call.reply(texts.model_only)
    if call.text.lower() == AUTOMATIC:
        document = replace(call.document, model="")
        return CommandResult(texts.model_back.format(name=app.model.name), document)
    if call.text.lower() == RESET:
        if isinstance(app.model, Learner):
            app.model.forget_lessons(call.document.model)
        return call.reply(texts.model_forgot)
    if not _NAME.fullmatch(call.text):
        return call.reply(texts.model_bad)
    chosen = replace(call.document, model=call.text)
    # no other command needs it
    from functions.agent.tool_check import TOOLS

    until = app.clock.monotonic() + SECONDS
    aside = SideRequests(call.session, app, chosen, until=until, event=call.event)
    # the tools show whether the model is one that takes some
    reply = aside.ask(PROBE_SYSTEM, PROBE, TOOLS)
    # a second model may have answered in its place
    is_adapted = reply.failure is not None and reply.failure.kind == "adapted"
    if reply.finish == "error" or (reply.failure and not is_adapted):
        document = replace(aside.document, model=call.document.model)
        if reply.failure and reply.failure.kind == "model":
            text = texts.model_missing.format(name=call.text)
        else:
            text = texts.model_refused.format(name=call.text, why=explain_error(reply, texts))
        # only an owner who is alone with the agent reads the endpoint's own words
        if reply.failure and call.role == "owner" and call.event.private:
            detail = app.redact(one_line(reply.failure.detail, WORDS_CHARACTERS))
            text = f"{text}\n{texts.model_words.format(detail=detail)}"
        return CommandResult(text, document, trace=aside.trace)
    text = texts.model_set.format(name=call.text)
    return CommandResult(text, aside.document, trace=aside.trace)


def _tell_lessons(call: CommandCall) -> str:
    """Return what the model's endpoint has taught, with how to forget it; empty for nothing."""
    model = call.app.model
    said = model.list_lessons(call.document.model) if isinstance(model, Learner) else ()
    if not said:
        return ""
    lines = "\n".join(f"- {each}" for each in said)
    return f" {call.texts.model_learnt}\n{lines}\n"


COMMANDS: Final[Commands] = {
    "model": Command(
        run_model,
        arguments=f"[NAME | {AUTOMATIC} | {RESET}]",
        changes_agent=bool,
        asks_model=True,
        needs_no_model=lambda words: words.lower() in ("", AUTOMATIC, RESET),
        for_owners=True,
        works_for=lambda reader: reader.has_model,
    )
}
