"""`uncaged chat`: a conversation in the terminal that shows what the agent does: queries, page-ins, calls, and what stays resident."""

from __future__ import annotations

import sys
import time
import uuid
from contextlib import suppress
from dataclasses import dataclass

import orjson

from functions.agent import compaction, loop
from functions.agent.app import App, Watch, unwatched
from functions.agent.session import Opened, Outgoing
from functions.agent.toolset import in_scope
from functions.agent.turn import handle, stop
from functions.cli.screen import Screen
from functions.events import Event, Sender, order_of
from functions.settings import Settings
from functions.wiring import House, open_house
from sigil.errors import SigilError
from sigil.kv import keys
from sigil.wiring import unheard

OWN = Sender("terminal:local", "you")


@dataclass(frozen=True, slots=True)
class Style:
    """How much is shown: `quiet` the answer alone, `json` one object for programs."""

    quiet: bool = False
    json: bool = False


def run(text: str, session: str, style: Style) -> int:
    """One question, or a conversation until Ctrl-D; the exit code."""
    house = open_house(Settings.read(), unheard if style.quiet or style.json else _progress)
    try:
        return _once(text, f"terminal:{session}", style, house) if text else _converse(f"terminal:{session}", style, house)
    finally:
        house.close()


def _progress(line: str) -> None:
    sys.stderr.write(line + "\n")


def _once(text: str, session: str, style: Style, house: House) -> int:
    screen = Screen()
    try:
        opened = _say(text, session, house.app, screen.step if not (style.quiet or style.json) else None)
    except KeyboardInterrupt:
        stop(session, house.app)
        return 130
    replies = opened.document.outbox
    house.app.sessions.delivered(opened)
    if style.json:
        sys.stdout.write(orjson.dumps(_summary(replies, opened)).decode() + "\n")
    elif style.quiet:
        sys.stdout.write("\n\n".join(reply.text for reply in replies) + "\n")
    else:
        screen.replies([reply.text for reply in replies])
        screen.footer(*_meter(opened, house.app))
    return 0


def _converse(session: str, style: Style, house: House) -> int:
    screen = Screen()
    opened = house.app.sessions.open(keys.session_of(house.app.name, session))
    screen.greet(house.app.model.name, session.partition(":")[2], len(opened.document.messages))
    while True:
        try:
            text = screen.ask()
        except EOFError:
            screen.bye()
            return 0
        except KeyboardInterrupt:
            screen.hint("Ctrl-D leaves")
            continue
        if text.strip():
            _turn(text, session, house, screen, style)


def _turn(text: str, session: str, house: House, screen: Screen, style: Style) -> None:
    try:
        opened = _say(text, session, house.app, None if style.quiet else screen.step)
    except KeyboardInterrupt:
        opened = stop(session, house.app)
    except SigilError as problem:
        screen.failure(problem)
        return
    screen.replies([reply.text for reply in opened.document.outbox])
    with suppress(SigilError):
        house.app.sessions.delivered(opened)
    screen.footer(*_meter(opened, house.app))


def _say(text: str, session: str, app: App, watch: Watch | None) -> Opened:
    now = time.time()
    event = Event(f"terminal:{uuid.uuid4().hex}", "message", app.name, session, OWN, text, now, order_of(now, 0), private=True)
    return handle(event, app, watch or unwatched)


def _meter(opened: Opened, app: App) -> tuple[list[str], int, int]:
    """The resident tools, the estimated tokens of the next request, and the window."""
    document = opened.document
    used = (compaction.size(document.messages) + loop.overhead(app.name)) * document.ratio
    return [offer.tool for offer in in_scope(document.messages)], round(used), app.model.window


def _summary(replies: tuple[Outgoing, ...], opened: Opened) -> dict[str, object]:
    last = replies[-1] if replies else None
    usage = last.usage if last else None
    return {
        "reply": "\n\n".join(reply.text for reply in replies),
        "rounds": last.rounds if last else 0,
        "tools": list(last.tools) if last else [],
        "resident": [offer.tool for offer in in_scope(opened.document.messages)],
        "usage": {"prompt_tokens": usage.prompt, "completion_tokens": usage.completion, "estimated": usage.estimated} if usage else {},
    }
