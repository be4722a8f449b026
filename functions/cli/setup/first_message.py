"""The first message: at the end of setup a person writes something and sees the agent's answer."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from functions.agent.runs.run import load_run
from functions.channels.platforms import write_pairing
from functions.cli.setup.questions import Questions
from functions.cli.setup.service import is_polled
from functions.settings import Settings
from functions.texts.languages import load_texts
from sigil.cli.printing import Printer
from sigil.errors import one_line
from sigil.storage.kv import keys

if TYPE_CHECKING:
    from functions.agent.app import App

WAIT_SECONDS = 300.0
"""For the first message to a bot; the code of its owner is good for twice as long."""
LOOK_SECONDS = 0.5
PLATFORM = "telegram"
_SHOWN = 300


def say_first_message(questions: Questions, *, is_served: bool) -> int:
    """Let a person write the first message and see the answer; return the exit code.

    `is_served`: a service of ours runs, and answers a bot's messages.
    """
    settings = Settings.read()
    if is_polled(settings):
        if not questions.confirm("Write to the bot now, and see it answer?", default=True):
            return 0
        with _open_agent(questions.printer, settings, is_served=is_served) as app:
            return _wait_for_answer(questions.printer, settings, app)
    if not questions.confirm("Say something to it now?", default=True):
        return 0
    from functions.cli.chat.chat import Style, run_chat

    text = load_texts(settings.language).setup_first_message
    return run_chat(questions.ask("Your message", text, "--yes"), "main", Style())


@contextmanager
def _open_agent(printer: Printer, settings: Settings, *, is_served: bool) -> Iterator[App]:
    """Open the agent; without a service its workers and receivers run for as long as the block."""
    from functions.cli.commands.serve import list_receivers
    from functions.cli.local_agent import open_agent
    from functions.ingress.poller import Poller
    from functions.ingress.socket_listener import SocketListener
    from functions.local import QueueWorkers
    from functions.wiring import open_runtime

    if is_served:
        with open_agent() as (app, _):
            yield app
        return
    runtime = open_runtime(settings, printer.note)
    try:
        polled, listened = list_receivers(runtime, take_webhook=False)
        receivers: list[Poller | SocketListener] = [
            *(Poller(bot, runtime) for bot in polled),
            *(SocketListener(bot, runtime) for bot in listened),
        ]
        workers = QueueWorkers(runtime)
        workers.start()
        for receiver in receivers:
            receiver.start()
        try:
            yield runtime.app
        finally:
            for receiver in receivers:
                receiver.stop()
            workers.stop()
    finally:
        runtime.close()


def _wait_for_answer(printer: Printer, settings: Settings, app: App) -> int:
    """Wait until an owner's message to the bot was answered, and print the answer."""
    before = {key: app.sessions.open(key).document.next_seq for key in _list_chats(settings, app)}
    code = app.claim.offer_code()
    minutes = round(WAIT_SECONDS / 60)
    if code:
        names = [each.name for each in settings.channels if each.is_polled]
        printer.note(f"send {write_pairing(code, names)} to the bot: you are its owner then")
    else:
        printer.note("write something to the bot")
    end = time.monotonic() + WAIT_SECONDS
    try:
        printer.note(f"waiting for it, {minutes} minutes at most; Ctrl-C goes on without")
        with printer.progress("waiting for a message to the bot"):
            while time.monotonic() < end:
                if code and app.people.has_owner():
                    code = ""
                    printer.note("you are its owner; now write something to it")
                for key in _list_chats(settings, app):
                    answer = _find_answer(app, key, before.get(key, 1))
                    if answer is None:
                        continue
                    if answer.text:
                        printer.note(f"it answered: {one_line(answer.text, _SHOWN)}")
                    if answer.is_the_models:
                        return 0
                    printer.note("the model failed; `uncaged doctor` tells why")
                    return 1
                time.sleep(LOOK_SECONDS)
    except KeyboardInterrupt:
        printer.note("not waiting any longer")
        return 0
    printer.note(
        "no message came; `uncaged channel status telegram` tells what Telegram says, and"
        " `uncaged serve --poll` what the server does"
    )
    return 1


def _list_chats(settings: Settings, app: App) -> list[str]:
    """Return the private chats of the owners, by the S of their keys."""
    owners = [
        *settings.owners,
        *(one.id for one in app.people.list_members() if one.role == "owner"),
    ]
    found = [who for who in owners if who.startswith(f"{PLATFORM}:")]
    return [keys.session_of(app.name, who) for who in found]


@dataclass(frozen=True, slots=True)
class _Answer:
    """What was answered to a message; `is_the_models` is not set when the model failed."""

    text: str
    is_the_models: bool


def _find_answer(app: App, key: str, first: int) -> _Answer | None:
    """Return the answer to the messages from `first` on; None while none was sent."""
    document = app.sessions.open(key).document
    if document.turn and document.turn.waiting:  # it is tried again later, which may take an hour
        return _Answer("", is_the_models=False)
    if document.turn or document.outbox or document.next_seq <= first:
        return None
    said = [each for each in document.messages if each.seq >= first and each.role == "assistant"]
    run = load_run(app.kv, app.name, document.runs[-1]) if document.runs else None
    steps = run.steps if run else ()
    has_failed = bool(steps) and steps[-1].get("finish") == "error"
    return _Answer(said[-1].content if said else "", bool(said) and not has_failed)
