"""`uncaged chat`: a conversation in the terminal that shows what the agent does: queries, page
faults, calls, and what stays resident.
"""

from __future__ import annotations

import re
import sys
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

import orjson

from functions.agent import compaction, context
from functions.agent.app import App, ignore_step
from functions.agent.commands import table
from functions.agent.session.document import Outgoing
from functions.agent.session.store import SessionHandle
from functions.agent.toolset import in_scope
from functions.agent.turn import run_turn, stop_turn
from functions.cli.pairing import send_reply
from functions.cli.screen import Screen
from functions.cli.terminal_lock import alone
from functions.events import TEXT_LIMIT, Event, Sender, order_of
from functions.settings import Settings
from functions.wiring import AgentRuntime, open_runtime
from sigil.cli.exit_codes import INTERRUPTED
from sigil.errors import SigilError, UsageError, one_line
from sigil.storage.kv import keys
from sigil.wiring import data_folder, ignore_progress

OWN = Sender("terminal:local", "you")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Style:
    """The amount of output: `quiet` prints the answer alone, `json` one object for programs."""

    quiet: bool = False
    json: bool = False


def run(text: str, session: str, style: Style) -> int:
    """Answer one question, or hold a conversation until Ctrl-D; return the exit code."""
    if not _NAME.fullmatch(session):
        raise UsageError(
            "ESESSION",
            f"{one_line(session, 40)!r} names no session",
            suggestion="letters, digits, dot, hyphen and underscore",
        )
    settings = Settings.read()
    runtime = open_runtime(settings, ignore_progress if style.quiet or style.json else _progress)
    talk = _Conversation(runtime, f"terminal:{session}", style, Screen(), data_folder(settings))
    try:
        return talk.answer(text) if text else talk.go_on()
    finally:
        runtime.close()


def _progress(line: str) -> None:
    sys.stderr.write(line + "\n")


@dataclass(frozen=True, slots=True)
class _Conversation:
    """One conversation in this terminal."""

    runtime: AgentRuntime
    session: str
    style: Style
    screen: Screen
    folder: Path

    def go_on(self) -> int:
        """Answer line by line until the end of the input. Return the last answer's exit code, or 0
        when a person typed.
        """
        app, shown = self.runtime.app, not (self.style.quiet or self.style.json)
        if shown:
            kept = app.sessions.open(keys.session_of(app.name, self.session)).document.messages
            self.screen.greet(app.model.name, self.session.partition(":")[2], len(kept))
        code = 0
        while True:
            try:
                text = self.screen.ask()
            except EOFError:
                self.screen.bye()
                return 0 if sys.stdin.isatty() else code
            except KeyboardInterrupt:
                self.screen.hint("Ctrl-D leaves")
                continue
            if text.strip():
                code = self._try_to_answer(text)

    def answer(self, text: str) -> int:
        """Run one turn, print it in the chosen style, and return the exit code."""
        if len(text) > TEXT_LIMIT:
            raise UsageError(
                "EINVAL",
                f"a message has at most {TEXT_LIMIT:,} characters",
                suggestion="send it in parts",
            )
        app, event = self.runtime.app, self._make_event(text)
        if event.is_inquiry:  # waits for no turn of another terminal
            opened = app.sessions.open(keys.session_of(app.name, self.session))
            self._show_answer(
                opened, (Outgoing(event.id, self.session, table.answer_inquiry(event, app)),)
            )
            return 0
        with alone(self.folder, self.session, self.screen.hint):
            try:
                opened = run_turn(
                    event,
                    app,
                    ignore_step if self.style.quiet or self.style.json else self.screen.step,
                )
                code = int(any(reply.failed for reply in opened.document.outbox))
            except KeyboardInterrupt:
                opened, code = stop_turn(self.session, app), INTERRUPTED
            replies = tuple(
                reply for reply in opened.document.outbox if reply.session == self.session
            )
            for reply in opened.document.outbox:
                if reply not in replies and not send_reply(self.runtime.channels, reply):
                    self.screen.hint(f"{reply.session} could not be told from here")
            app.sessions.clear_outbox(opened)
        self._show_answer(opened, replies)
        return code

    def _try_to_answer(self, text: str) -> int:
        try:
            return self.answer(text)
        except SigilError as problem:
            self.screen.failure(problem)
            return 1

    def _make_event(self, text: str) -> Event:
        now = time.time()
        said = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        name = f"terminal:{uuid.uuid4().hex}"
        return Event(
            name,
            "message",
            self.runtime.app.name,
            self.session,
            OWN,
            said,
            now,
            order_of(now, 0),
            private=True,
        )

    def _show_answer(self, opened: SessionHandle, replies: tuple[Outgoing, ...]) -> None:
        texts = [reply.text for reply in replies]
        if self.style.json:
            sys.stdout.write(orjson.dumps(_summarize(replies, opened)).decode() + "\n")
            sys.stdout.flush()
        elif self.style.quiet:
            sys.stdout.write("\n\n".join(texts) + "\n")
        else:
            self.screen.replies(texts)
            self.screen.footer(*_measure_context(opened, self.runtime.app))


def _measure_context(opened: SessionHandle, app: App) -> tuple[list[str], int, int]:
    """Return the resident tools, the estimated tokens of the next request, and the window."""
    document = opened.document
    used = (
        compaction.estimate_size(document.messages)
        + context.count_overhead(app.build_preamble(opened.key))
    ) * document.ratio
    return [offer.tool for offer in in_scope(document.messages)], round(used), app.model.window


def _summarize(replies: tuple[Outgoing, ...], opened: SessionHandle) -> dict[str, object]:
    last = replies[-1] if replies else None
    usage = last.usage if last else None
    return {
        "reply": "\n\n".join(reply.text for reply in replies),
        "rounds": last.rounds if last else 0,
        "tools": list(last.tools) if last else [],
        "resident": [offer.tool for offer in in_scope(opened.document.messages)],
        **({"failed": True} if last and last.failed else {}),
        "usage": {
            "prompt_tokens": usage.prompt,
            "completion_tokens": usage.completion,
            "estimated": usage.estimated,
        }
        if usage
        else {},
    }
