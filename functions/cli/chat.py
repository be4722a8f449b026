"""`uncaged chat`: a conversation in the terminal that shows what the agent does: queries, page
faults, calls, and what stays resident.
"""

from __future__ import annotations

import fcntl
import re
import sys
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import orjson

from functions.agent import compaction, context
from functions.agent.app import ignore_step
from functions.agent.commands import table
from functions.agent.commands.control import handle_control
from functions.agent.consolidation import consolidate_owed
from functions.agent.language import choose_texts_for, choose_texts_of
from functions.agent.messages import RUNTIME_ORIGIN
from functions.agent.model.offline_signature import NAME as OFFLINE
from functions.agent.session.document import Document, Outgoing
from functions.agent.session.store import SessionHandle
from functions.agent.toolset import in_scope
from functions.agent.turn import run_turn, stop_turn
from functions.cli.pairing import send_reply
from functions.cli.screen import Screen
from functions.events import TEXT_LIMIT, Event, Sender, order_of
from functions.settings import Settings
from functions.wiring import AgentRuntime, open_runtime
from sigil.cli.exit_codes import INTERRUPTED
from sigil.cli.saved_files import save_files
from sigil.errors import BackendError, SigilError, UsageError, one_line
from sigil.protocol import Caller, KeptFile, file_row
from sigil.settings import find_unknown_variables
from sigil.storage.kv import keys
from sigil.wiring import data_folder, ignore_progress

OWN = Sender("terminal:local", "you")
LEAVING = ("exit", "quit", "/exit", "/quit", "/bye")
"""The words that end a conversation, where a person types them."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Style:
    """The amount of output: `quiet` prints the answer alone, `json` one object for programs."""

    quiet: bool = False
    json: bool = False

    @property
    def shows_steps(self) -> bool:
        """Return whether it shows more than the answer."""
        return not (self.quiet or self.json)


def run_chat(text: str, session: str, style: Style) -> int:
    """Answer one question, or hold a conversation until Ctrl-D; return the exit code."""
    if not _NAME.fullmatch(session):
        raise UsageError(
            "ESESSION",
            f"{one_line(session, 40)!r} cannot be the name of a conversation",
            suggestion="use letters, digits, dot, hyphen and underscore",
        )
    settings = Settings.read()
    screen = Screen()
    if style.shows_steps:
        for unknown in find_unknown_variables(Settings):
            screen.progress(f"warning: no setting: {unknown}")
    runtime = open_runtime(settings, screen.progress if style.shows_steps else ignore_progress)
    chat = _Conversation(runtime, f"terminal:{session}", style, screen, data_folder(settings))
    try:
        return chat.answer(text) if text else chat.converse()
    finally:
        runtime.close()


@dataclass(frozen=True, slots=True)
class _Conversation:
    """One conversation in this terminal."""

    runtime: AgentRuntime
    session: str
    style: Style
    screen: Screen
    folder: Path

    def converse(self) -> int:
        """Answer line by line until the end of the input.

        Returns the last answer's exit code, or 0 when a person typed.
        """
        app = self.runtime.app
        if self.style.shows_steps:
            document = app.sessions.open(keys.session_of(app.name, self.session)).document
            name = self.session.partition(":")[2]
            self.screen.greet(app.model.name, name, len(document.messages))
        code = 0
        while True:
            leaves = False
            text = ""
            try:
                try:
                    text = self.screen.ask()
                except EOFError:
                    leaves = True
                    self.screen.end()
                except KeyboardInterrupt:
                    self.screen.hint("Ctrl-D leaves")
            except KeyboardInterrupt:  # a second one, or one that readline held back until now
                pass
            if leaves:
                return 0 if sys.stdin.isatty() else code
            if text.strip().lower() in LEAVING and sys.stdin.isatty():
                return 0
            if text.strip():
                try:
                    code = self.answer(text)
                except SigilError as problem:
                    self.screen.show_error(problem)
                    code = 1

    def answer(self, text: str) -> int:
        """Run one turn, print it in the chosen style, and return the exit code."""
        app = self.runtime.app
        if len(text) > TEXT_LIMIT:
            raise UsageError(
                "EINVAL",
                f"a message has at most {TEXT_LIMIT:,} characters",
                suggestion="send it in parts",
            )
        now = time.time()
        event = Event(
            id=f"terminal:{uuid.uuid4().hex}",
            kind="message",
            agent=app.name,
            session=self.session,
            sender=OWN,
            text=text.encode("utf-8", "surrogateescape").decode("utf-8", "replace"),
            at=now,
            order=order_of(now, 0),
            private=True,
            language=self.runtime.settings.language,
        )
        if event.is_inquiry:  # waits for no turn of another terminal
            opened = app.sessions.open(keys.session_of(app.name, self.session))
            reply = Outgoing(event.id, self.session, table.answer_inquiry(event, app))
            self._show_answer(opened, (reply,))
            return 0
        if event.is_control:
            return self._obey_control(event)
        with _hold_conversation(self.folder, self.session, self.screen):
            try:
                watch = self.screen.show_step if self.style.shows_steps else ignore_step
                opened = run_turn(event, app, watch)
                code = int(any(reply.failed for reply in opened.document.outbox))
            except KeyboardInterrupt:
                opened = stop_turn(self.session, app)
                code = INTERRUPTED
            own = []
            for reply in opened.document.outbox:
                if reply.session == self.session:
                    own.append(reply)
                elif not send_reply(self.runtime.channels, reply):
                    self.screen.hint(f"a reply to {reply.session} could not be sent from here")
            app.sessions.clear_outbox(opened)
        self._show_answer(opened, tuple(own))
        if opened.document.owes_memory and code != INTERRUPTED:
            self._consolidate(opened.key)
        return code

    def _obey_control(self, event: Event) -> int:
        """Stop, halt or unlock at once, also while another terminal is in the middle of a turn."""
        app = self.runtime.app
        answer = handle_control(event, app)
        opened = app.sessions.open(keys.session_of(app.name, self.session))
        text = answer.text or choose_texts_for(event, opened.document).told_to_stop
        self._show_answer(opened, (Outgoing(event.id, self.session, text),))
        return 0

    def _consolidate(self, session: str) -> None:
        """Let memory hear of what left the conversation (S of the keys), after the answer.

        Interrupted, or when it fails, it goes on after the next answer.
        """
        app = self.runtime.app
        sys.stdout.flush()  # who reads the answer through a pipe has it now
        if self.style.shows_steps:
            document = app.sessions.open(session).document
            self.screen.hint(choose_texts_of(document).noting)
        try:
            consolidate_owed(session, app, until=app.clock.monotonic() + app.turn_seconds)
        except (KeyboardInterrupt, BackendError):
            return

    def _show_answer(self, opened: SessionHandle, replies: tuple[Outgoing, ...]) -> None:
        document = opened.document
        texts = [reply.text for reply in replies]
        files = [file for reply in replies for file in reply.files]
        paths = self._save_files(files)
        resident = [offer.tool for offer in in_scope(document.messages)]
        if self.style.json:
            row = _make_row(replies, resident)
            if files:
                row["files"] = [
                    {**file_row(file), "path": str(path)}
                    for file, path in zip(files, paths, strict=True)
                ]
            sys.stdout.write(orjson.dumps(row).decode() + "\n")
            sys.stdout.flush()
        elif self.style.quiet:
            sys.stdout.write("\n\n".join(texts) + "\n")
            for path in paths:
                sys.stdout.write(f"{path}\n")
        else:
            app = self.runtime.app
            preamble = app.build_preamble(opened.memory)
            tokens = compaction.estimate_size(document.messages)
            tokens += context.count_overhead(preamble)
            self.screen.show_replies(texts)
            for path, file in zip(paths, files, strict=True):
                self.screen.show_file(path, file)
            if app.model.name == OFFLINE and _is_first_answer(document, replies):
                self.screen.show_signature(choose_texts_of(document).offline_signature)
            if any(reply.rounds for reply in replies):
                self.screen.show_footer(resident, round(tokens * document.ratio), app.model.window)

    def _save_files(self, files: Sequence[KeptFile]) -> list[Path]:
        """Save the files of the answers in a new folder of their own, and return their paths."""
        caller = Caller(self.runtime.app.name, self.session)
        try:
            read = self.runtime.app.registry.read_file
            return save_files(files, [read(file.id, caller) for file in files])
        except SigilError as problem:
            self.screen.hint(f"the files of the answer cannot be saved: {problem.message}")
            return [Path(file.name) for file in files]


def _is_first_answer(document: Document, replies: Sequence[Outgoing]) -> bool:
    """Return whether the model has answered the first message of a conversation."""
    said = [
        message
        for message in document.messages
        if message.role == "user" and message.origin != RUNTIME_ORIGIN
    ]
    return len(said) == 1 and bool(replies) and replies[-1].rounds > 0


@contextmanager
def _hold_conversation(folder: Path, session: str, screen: Screen) -> Iterator[None]:
    """Hold the conversation for one turn; while another terminal has it, say so and wait.

    The lock ends when its holder dies.
    """
    locks = folder / "locks"
    locks.mkdir(mode=0o700, exist_ok=True)
    with (locks / sha256(session.encode()).hexdigest()[:32]).open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            screen.hint(
                "another terminal is in the middle of a turn here; waiting for it, Ctrl-C leaves"
            )
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _make_row(replies: tuple[Outgoing, ...], resident: list[str]) -> dict[str, object]:
    """Return what `--json` prints: the replies of a turn and what the last one took."""
    row: dict[str, object] = {
        "reply": "\n\n".join(reply.text for reply in replies),
        "rounds": 0,
        "tools": [],
        "resident": resident,
    }
    usage: dict[str, object] = {}
    if replies:
        last = replies[-1]
        row["rounds"] = last.rounds
        row["tools"] = list(last.tools)
        if last.failed:
            row["failed"] = True
        usage = {
            "prompt_tokens": last.usage.prompt,
            "completion_tokens": last.usage.completion,
            "estimated": last.usage.estimated,
        }
    return row | {"usage": usage}
