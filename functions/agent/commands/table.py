"""The table of slash commands. They are answered at once and are never part of the history.

What they change enters through documents, on the very next turn.
"""

from __future__ import annotations

import re
from dataclasses import replace
from difflib import get_close_matches
from typing import Final

from functions import overheard
from functions.agent.app import App
from functions.agent.commands import (
    agents,
    conversation,
    files,
    groups,
    heartbeat,
    hooks,
    knowledge,
    links,
    memory,
    model_choice,
    pairing,
    policy,
    quiet,
    remind,
    skills,
    snooze,
    soul,
    spent,
    status,
    tasks,
    team,
    time_zone,
    wakeups,
)
from functions.agent.commands.command import (
    Command,
    CommandCall,
    CommandResult,
    Commands,
    Reader,
    always,
)
from functions.agent.conversation import unopened
from functions.agent.conversation.toolset import STATIC, in_scope
from functions.agent.language import choose_texts_for, load_texts_for
from functions.agent.offline_signature import NAME as OFFLINE
from functions.agent.safety.breakers import make_breakers
from functions.agent.safety.status import REASONS, NoticeReader, write_notice
from functions.agent.sanitize import clean_text
from functions.channels.platforms import find_room
from functions.events import Event
from functions.texts.en import Texts
from functions.texts.languages import find_by_name, list_codes, load_texts
from sigil.errors import SigilError, one_line
from sigil.protocol import remove_examples
from sigil.storage.kv import keys

_COMMAND = re.compile(
    r"([/\uff0f])([^\W\d_]\w*)(?:@[A-Za-z0-9_]+)?(?:\s+(.*)|([^\w\s/.-].*|[.-]+(?:\s.*)?))?",
    re.DOTALL,
)
"""Four groups: its slash, perhaps a full-width one; its name; the words; or what follows without a
space. A path is no command.
"""
AUTOMATIC: Final = "auto"
NAME_CHARACTERS: Final = 40
"""An unknown command's name is repeated up to so many characters."""
_SPACED = re.compile(r"[/\uff0f]\s+([A-Za-z]+)(?:\s.*)?", re.DOTALL)
"""A slash alone, with the word after it."""
ALIASES: Final = {"reset": "new", "clear": "new", "reject": "deny"}
"""Names that people know from elsewhere, and the command that they mean."""


def run_command(call: CommandCall) -> CommandResult | None:
    """Run the command in the event's text, or pass a reply on to the teammate that asked; return
    None when it is neither.

    Nothing that begins like a command reaches the model.
    """
    text = clean_text(call.event.text).strip()
    match = _COMMAND.fullmatch(text)
    if match is None:
        spaced = _SPACED.fullmatch(text)
        if spaced is None:
            if call.event.quotes:
                return team.answer_question(call)
            sent = pairing.SENT_CODE.fullmatch(text)
            return pairing.answer_code(call, sent) if sent else None
        meant = _find_command_name(spaced[1].lower())
        return call.reply(call.texts.without_space.format(name=meant)) if meant else None
    texts = call.texts
    name = match[2].lower()
    words = (match[3] or "").strip()
    attached = match[4]
    intended = _find_command_name(name)
    if attached and not intended:
        return None
    if intended and (attached or name != intended or match[1] != "/"):
        return call.reply(texts.with_space.format(name=intended))
    command = COMMANDS.get(ALIASES.get(name, name))
    if command is None:
        name = one_line(name, NAME_CHARACTERS)
        close = get_close_matches(name, COMMANDS, n=1, cutoff=0.5)
        hint = texts.did_you_mean.format(name=close[0]) if close else ""
        return call.reply(texts.unknown_command.format(name=name, hint=hint))
    if words and not command.arguments:
        return call.reply(texts.takes_no_argument.format(name=name))
    refusal = _find_refusal(command, call, words)
    if refusal is not None:
        return call.reply(refusal)
    result = command.run(replace(call, text=words))
    return replace(result, name=ALIASES.get(name, name))


def answer_inquiry(event: Event, app: App) -> str:
    """Answer a command that only reads (`/status`, `/help`, …) beside the chat's queue.

    It tells what holds at this moment, so it does not wait. The session's document is only read,
    even while a worker has the session. The answer is empty for silence.
    """
    standing = app.people.find_standing(event)
    role = standing.role
    if not app.rules.may_talk(role):
        return pairing.answer_stranger(event, app)
    opened = app.sessions.open(keys.session_of(app.name, event.session))
    if find_room(event.session) and not event.private:
        # the next turn leaves a memory that the chat shared while it was somebody's alone
        opened = opened.with_document(replace(opened.document, memory=""))
    call = CommandCall(app, opened, role, event, payer=standing.payer)
    result = run_command(call)
    if result is None:
        return ""
    text = unopened.mention([event], result.text, call.texts, opened.document.seen)
    return app.redact(text)


def _find_refusal(command: Command, call: CommandCall, words: str) -> str | None:
    """Return why this sender may not run the command now, perhaps empty; None when they may."""
    if call.role != "owner":
        if command.changes_agent and command.changes_agent(words):
            return call.texts.owners_only
        if not call.event.private and command.changes_chat and command.changes_chat(words):
            return call.texts.not_here
    if not command.counts_as_turn(words):
        return None
    return call.begin_turn()


def _find_command_name(name: str) -> str:
    """Return the command that a name is, or that it begins with where other letters follow.

    They do in a script that writes no spaces. Empty when there is none.
    """
    if name in COMMANDS or name in ALIASES:
        return name
    for known in (*COMMANDS, *ALIASES):
        if name.startswith(known) and name[len(known)] > "\x7f":
            return known
    return ""


def run_help(call: CommandCall) -> CommandResult:
    """Show the commands that the sender can use here, each with its line of help."""
    texts = call.texts
    for_all: list[str] = []
    for_owners: list[str] = []
    for name, command in COMMANDS.items():
        if not command.is_of_use(_find_reader(call)):
            continue
        arguments = texts.arguments.get(name, command.arguments)
        shown = f"{texts.command_sign}{name} {arguments}".rstrip()
        section = for_owners if command.for_owners else for_all
        section.append(f"- {shown}: {texts.meanings[name]}")
    lines = [texts.help_head, *for_all]
    if for_owners:
        lines += ["", texts.help_owner_head, *for_owners]
    notes = _describe_setup(call)
    if notes:
        lines += ["", *notes]
    return call.reply("\n".join(lines))


def _find_reader(call: CommandCall) -> Reader:
    app = call.app
    return Reader(call.role, call.event.private, app.model.name != OFFLINE, app.may_listen)


def _describe_setup(call: CommandCall) -> list[str]:
    """Return what the sender should know about how the agent is set up."""
    texts = call.texts
    notes = []
    if not call.event.private:
        notes.append(texts.help_group)
    hint = texts.help_hints.get(call.event.platform.partition("-")[0])
    if hint:
        notes.append(hint)
    if call.app.model.name == OFFLINE:
        notes.append(texts.help_offline)
    elif not call.app.rules.may_deploy(call.role):
        notes.append(texts.help_no_deploy)
    return notes


def run_start(call: CommandCall) -> CommandResult:
    """Say hello, with examples that work here."""
    texts = call.texts
    makes = call.app.rules.may_deploy(call.role)
    hello = texts.hello if makes else texts.hello_without_making
    lines = [hello.format(name=call.app.short_name)]
    examples = _list_examples(call)
    if examples:
        lines += ["", texts.try_examples, *(f"- {example}" for example in examples)]
    if call.app.model.name == OFFLINE:
        lines += ["", texts.help_offline]
    if not call.event.private:
        lines += ["", texts.help_group]
    return call.reply("\n".join([*lines, "", texts.more_help]))


def _list_examples(call: CommandCall) -> list[str]:
    """Return the examples whose capability is there."""
    caller = call.app.make_caller(call.event.session)
    examples = []
    for name, example in call.texts.examples.items():
        try:
            call.app.registry.inspect(name, caller)
        except SigilError:
            continue
        examples.append(example)
    return examples


def run_language(call: CommandCall) -> CommandResult:
    """Show or set the language of the agent's own texts in this chat."""
    known = ", ".join(f"{load_texts(code).name} (`{code}`)" for code in list_codes())
    texts = call.texts
    if not call.text:
        now = texts.language_now.format(name=texts.name, known=known)
        return call.reply(f"{now} {texts.language_how}")
    if call.text.lower() == AUTOMATIC:
        document = replace(call.document, language="")
        return CommandResult(choose_texts_for(call.event, document).language_auto, document)
    code = find_by_name(call.text)
    if not code:
        name = f"`{one_line(call.text, NAME_CHARACTERS).replace('`', '')}`"
        return call.reply(texts.language_unknown.format(name=name, known=known))
    chosen = load_texts_for(code, call.event.session)
    document = replace(call.document, language=code)
    return CommandResult(chosen.language_set.format(name=chosen.name), document)


def run_new(call: CommandCall) -> CommandResult:
    """Empty the history. What locked the chat stays, and is said again."""
    app = call.app
    app.kv.delete(keys.native_calls(call.session))
    breakers = make_breakers(call.session, app.kv, app.name, app.limits, app.clock)
    safety = breakers.reopen(call.document.safety, person=False)
    reason = status.find_reason(breakers, safety)
    texts = call.texts
    locked = ""
    if reason and REASONS[reason].unlocks:
        reader = NoticeReader(
            owner=call.role == "owner",
            alone=call.event.private,
            texts=texts,
            resets=app.describe_reset(call.document),
        )
        notice = write_notice(replace(safety, reason=reason), reader)
        locked = texts.stays_locked.format(notice=notice)
    if not call.event.private:
        # what people said to each other before is not part of the new session either
        overheard.pass_over(app.kv, app.name_chat(call.event.session), call.event.order)
    return CommandResult(f"{texts.new_session}{locked}", replace(call.document, messages=()))


def run_control(call: CommandCall) -> CommandResult:
    """Answer a control command that is not written as it should be.

    As it should be written it is a control event, and does not come here.
    """
    return call.reply(call.texts.send_alone)


def run_status(call: CommandCall) -> CommandResult:
    """Show how the agent is in a sentence, or with its model, its version and what it used."""
    if call.text and call.text.lower() != status.ALL:
        return call.reply(call.texts.status_how)
    return call.reply("\n".join(status.describe_status(call)))


def run_usage(call: CommandCall) -> CommandResult:
    """Show the tokens that were used."""
    return call.reply("\n".join(status.describe_usage(call)))


def run_tools(call: CommandCall) -> CommandResult:
    """Show the tools that are always there, and those that this conversation has found."""
    texts = call.texts
    names = ", ".join(tool["function"]["name"] for tool in STATIC)
    found = [
        f"- `{offer.tool}`: {remove_examples(offer.description)}"
        for offer in in_scope(call.document.messages)
    ]
    title = texts.tools_here if found else texts.tools_none
    return call.reply("\n".join([texts.tools_always.format(names=names), title, *found]))


COMMANDS: Final[Commands] = {
    "start": Command(run_start, arguments="[word]"),
    "help": Command(run_help),
    "new": Command(run_new, changes_chat=always),
    **memory.COMMANDS,
    **knowledge.COMMANDS,
    "btw": conversation.COMMANDS["btw"],
    "history": conversation.COMMANDS["history"],
    "compact": conversation.COMMANDS["compact"],
    "context": conversation.COMMANDS["context"],
    "export": conversation.COMMANDS["export"],
    "tools": Command(run_tools),
    "status": Command(run_status, arguments=f"[{status.ALL}]"),
    "usage": Command(run_usage),
    **spent.COMMANDS,
    "whoami": pairing.COMMANDS["whoami"],
    **links.COMMANDS,
    "language": Command(run_language, arguments=f"[CODE | {AUTOMATIC}]", changes_chat=bool),
    **time_zone.COMMANDS,
    **remind.COMMANDS,
    **snooze.COMMANDS,
    **tasks.COMMANDS,
    **wakeups.COMMANDS,
    **quiet.COMMANDS,
    **heartbeat.COMMANDS,
    **files.COMMANDS,
    **soul.COMMANDS,
    **policy.COMMANDS,
    **skills.COMMANDS,
    "proposals": team.COMMANDS["proposals"],
    "approve": team.COMMANDS["approve"],
    "deny": team.COMMANDS["deny"],
    **groups.COMMANDS,
    "stop": Command(run_control),
    "pair": pairing.COMMANDS["pair"],
    **model_choice.COMMANDS,
    **agents.COMMANDS,
    **team.COMMANDS,
    **hooks.COMMANDS,
    "halt": Command(run_control, arguments="[here]", for_owners=True),
    "unlock": Command(run_control, arguments="[here]", for_owners=True),
}


def make_menu(texts: Texts, reader: Reader) -> tuple[tuple[str, str], ...]:
    """Return the commands that are of use to somebody, each with its meaning, for the menu of a
    platform.
    """
    return tuple(
        (name, texts.meanings[name])
        for name, command in COMMANDS.items()
        if command.is_of_use(reader)
    )
