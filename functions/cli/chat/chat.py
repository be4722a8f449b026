"""`uncaged chat`: a conversation in the terminal that shows what the agent does: queries, page
faults, calls, and what stays resident.
"""

from __future__ import annotations

import os
import re
import sys
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NoReturn

import orjson

from functions.agent import context
from functions.agent.app import App, ignore_step
from functions.agent.commands import table
from functions.agent.commands.control import handle_control
from functions.agent.commands.pairing import SENT_CODE
from functions.agent.conversation import compaction
from functions.agent.conversation.messages import RUNTIME_ORIGIN
from functions.agent.conversation.toolset import in_scope
from functions.agent.language import choose_texts_for, choose_texts_of
from functions.agent.offline_signature import NAME as OFFLINE
from functions.agent.session.document import Document, Outgoing
from functions.agent.team.work import resume_unlocked
from functions.channels.replies.unread_replies import MOST
from functions.channels.visible_text import clean_text
from functions.cli.chat import answer_files
from functions.cli.chat.answer_files import SavedFile
from functions.cli.chat.attached_files import COMMAND, AttachedFiles, find_pasted
from functions.cli.chat.line_editor import LineEditor
from functions.cli.chat.screen import Screen, ScreenListener
from functions.cli.chat.session_lock import SessionLock
from functions.cli.chat.terminal_pictures import TerminalPictures
from functions.cli.chat.terminal_turn import TerminalTurn, TerminalWorker
from functions.cli.chat.unread_watch import Unread, UnreadWatch
from functions.events import TEXT_LIMIT, Event, Sender, order_of
from functions.queues.queued_sessions import list_queued_sessions
from functions.reply_sender import make_reply_row, read_kept_file
from functions.settings import Settings
from functions.texts.en import Texts
from functions.time.time_zone import format_stamp
from functions.wiring import AgentRuntime, open_runtime
from sigil.cli.exit_codes import INTERRUPTED
from sigil.errors import SigilError, UsageError, one_line
from sigil.protocol import Json, KeptFile, file_row
from sigil.settings import find_unknown_variables
from sigil.storage.kv import keys
from sigil.wiring import data_folder, ignore_progress

OWN = Sender("terminal:local", "you")
LEAVING = ("exit", "quit", "/exit", "/quit", "/bye")
"""The words that end a conversation, where a person types them."""
RENEWALS = 4
"""A lease is renewed so many times before it would end."""
PROMPT_SECONDS = 0.5
"""A turn that takes longer to stop is spoken of."""
BEGINS_SECONDS = 2.0
"""A worker of another process has begun by then with what a turn set off."""
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


def run_chat(
    text: str, session: str, style: Style, files: Sequence[str] = (), folder: str = ""
) -> int:
    """Answer one question, or hold a conversation until Ctrl-D; return the exit code. The `files`
    go with the first message; those of answers are saved in the `folder`, by default that of the
    settings.
    """
    if not _NAME.fullmatch(session):
        raise UsageError(
            "ESESSION",
            f"{one_line(session, 40)!r} cannot be the name of a conversation",
            suggestion="use letters, digits, dot, hyphen and underscore",
        )
    attached = AttachedFiles(files)
    settings = Settings.read()
    screen = Screen()
    if style.shows_steps:
        for unknown in find_unknown_variables(settings):
            screen.progress(f"warning: no setting: {unknown}")
    runtime = open_runtime(settings, screen.progress if style.shows_steps else ignore_progress)
    folder = folder or settings.downloads
    chat = _Conversation(runtime, f"terminal:{session}", style, screen, attached, folder=folder)
    try:
        return chat.answer_once(text) if text else chat.converse()
    finally:
        runtime.close()


class _Conversation:
    """One conversation in this terminal."""

    def __init__(
        self,
        runtime: AgentRuntime,
        session: str,
        style: Style,
        screen: Screen,
        attached: AttachedFiles,
        *,
        folder: str,
    ) -> None:
        app = runtime.app
        self._runtime = runtime
        self._app = app
        self._session = session
        self._key = keys.session_of(app.name, session)
        self._style = style
        self._screen = screen
        self._attached = attached
        self._folder = folder
        self._pictures = TerminalPictures(app.helpers.reader)
        self._kv = runtime.stores.kv
        self._has_failed = False
        self._is_told = False
        self._document = Document()  # as it was with the last answer, if there was one
        self._worker = TerminalWorker(
            runtime,
            session,
            SessionLock(data_folder(runtime.settings), self._key),
            ScreenListener(screen) if style.shows_steps else ignore_step,
            self._show_answer,
        )
        unread = self._worker.replies.unread
        self._watch = UnreadWatch(unread, self._key, self._show_unread)

    def answer_once(self, text: str) -> int:
        """Answer one question, with what was said here before it, and return the exit code."""
        if self._style.shows_steps:
            self._watch.show_all()
        code = self.answer(text)
        if self._style.shows_steps and self._worker.replies.others:
            self._watch.show_all()  # answers to what an earlier terminal had left
        return code

    def converse(self) -> int:
        """Answer line by line until the end of the input.

        Returns the last answer's exit code, or 0 when a person typed.
        """
        app = self._app
        if self._style.shows_steps:
            document = app.sessions.open(self._key).document
            name = self._session.partition(":")[2]
            self._screen.greet(app.model.name, name, len(document.messages))
        if sys.stdin.isatty():
            self._finish_rest()
            folder = data_folder(self._runtime.settings)
            commands = (*table.COMMANDS, COMMAND)
            self._screen.edit_lines(LineEditor(folder, commands, self._is_secret))
        if self._style.shows_steps:
            self._watch.show_all()
            self._hint(self._attached.describe())
        try:
            return self._converse()
        finally:
            self._watch.close()

    def _converse(self) -> int:
        code = 0
        while True:
            leaves = False
            text = ""
            try:
                try:
                    text = self._ask()
                except EOFError:
                    leaves = True
                    self._screen.end()
                except KeyboardInterrupt:
                    self._screen.hint("Ctrl-D leaves")
            except KeyboardInterrupt:  # a second one, or one that readline held back until now
                pass
            if leaves:
                return self._leave(code)
            if text.strip().lower() in LEAVING and sys.stdin.isatty():
                return 0
            if text.strip():
                try:
                    if not self._takes_file(text):
                        code = self.answer(text)
                except SigilError as problem:
                    self._screen.show_error(problem)
                    code = 1

    def _leave(self, code: int) -> int:
        """Return the exit code at the end of the input, where files that go with no text are a
        message of their own. A person who leaves is told that they stay here.
        """
        if not sys.stdin.isatty():
            return self.answer("") if self._attached.describe() else code
        if self._attached.describe():
            self._hint("what was attached is not sent")
        return 0

    def _takes_file(self, text: str) -> bool:
        """Attach the files that a line names, and return whether it is no message."""
        told = self._attached.take_line(text)
        if told:
            self._hint(told)
            return True
        path = find_pasted(text) if self._screen.is_interactive else None
        if path is None or not self._screen.confirm(f"attach {path.name}?"):
            return False
        self._attached.add([str(path)])
        self._hint(self._attached.describe())
        return True

    def _hint(self, text: str) -> None:
        if text:
            self._screen.hint(text)

    def _is_secret(self, line: str) -> bool:
        """Return whether a typed line has a code of pairing, or what the settings or the policy
        take out of texts.
        """
        words = line.strip()
        if SENT_CODE.fullmatch(words):
            return True
        gate = self._app.make_gate(self._app.load_policies(), "owner", private=True)
        return self._app.redact(gate.redact(words)) != words

    def _ask(self) -> str:
        if not (self._style.shows_steps and self._screen.is_interactive):
            return self._screen.ask()
        with self._watch.asking():
            return self._screen.ask()

    def answer(self, text: str) -> int:
        """Run one turn, print it in the chosen style, and return the exit code."""
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
            agent=self._app.name,
            session=self._session,
            sender=OWN,
            text=text.encode("utf-8", "surrogateescape").decode("utf-8", "replace"),
            at=now,
            order=order_of(now, 0),
            private=True,
            language=self._runtime.settings.language,
        )
        if event.is_inquiry:  # waits for no turn of another terminal
            self._show_text(event, table.answer_inquiry(event, self._find_agent(event)))
            return 0
        if event.is_control:
            return self._obey_control(event)
        self._has_failed = False
        try:
            event = self._attached.attach_to(event, self._find_agent(event))
        except KeyboardInterrupt:  # a recording may take long to be heard
            self._screen.hint("taken back: nothing was sent")
            return INTERRUPTED
        turn = self._worker.open_turn(event, self._say_waiting)
        if self._style.shows_steps:
            self._screen.begin_turn(self._choose_texts(event))
        if self._wait_for(turn):
            if turn.is_withdrawn:
                self._screen.hint("taken back: nobody had begun to work on it")
            return INTERRUPTED
        if event.text.startswith("/approve"):
            # what was approved goes on in this conversation, by an event of its own
            self._finish_rest()
            self._watch.show_all()
        self._consolidate()
        self._tell_of_waiting_work()
        with suppress(SigilError):
            self._runtime.inputs.tell_heartbeats(self._runtime.stores.kv, time.time())
        return int(self._has_failed)

    def _tell_of_waiting_work(self) -> None:
        """Say once, to a person, how work beside the conversation begins where nobody does it."""
        is_told = self._is_told or not self._style.shows_steps or self._runtime.settings.queue
        if is_told or not sys.stdin.isatty():
            return
        until = time.monotonic() + BEGINS_SECONDS
        while time.monotonic() < until:
            work = [
                each
                for each in list_queued_sessions(self._kv, self._app.root, time.time())
                if keys.is_own_work(each.session)
            ]
            if not work or any(each.held for each in work):
                return
            time.sleep(PROMPT_SECONDS)
        self._is_told = True
        self._screen.hint(
            "work beside this conversation, such as that of teammates, waits for somebody who does"
            " it: run `uncaged serve` in another terminal, or `uncaged wake` for what waits now"
        )

    def _finish_rest(self) -> None:
        """Go on with what waits in the conversation, such as a turn that was interrupted."""
        try:
            turn = self._worker.open_rest()
            if turn:
                self._wait_for(turn)
        except SigilError as problem:
            self._screen.show_error(problem)

    def _wait_for(self, turn: TerminalTurn) -> bool:
        """Wait until a turn is over, and return whether Ctrl-C stopped it; a second one leaves.

        Raises what it failed with.
        """
        is_started = False
        is_stopped = False
        while not turn.over.is_set():
            try:
                if not is_started:
                    is_started = True
                    turn.start()
                if is_stopped and not turn.over.wait(PROMPT_SECONDS):
                    self._screen.hint("stopping; Ctrl-C again leaves at once")
                while not turn.over.wait(self._worker.lease_seconds / RENEWALS):
                    turn.renew()
            except KeyboardInterrupt:
                if is_stopped:
                    _leave()
                is_stopped = True
                try:
                    self._screen.stop_words()
                    turn.stop()
                except KeyboardInterrupt:
                    _leave()
        self._screen.end_turn()
        if turn.problem:
            if turn.is_kept and self._style.shows_steps:
                self._screen.hint("your message is kept, and goes on with the next one")
            raise turn.problem
        return is_stopped

    def _choose_texts(self, event: Event) -> Texts:
        """Return the texts for what is said while a message is answered."""
        if not self._document.messages:
            self._document = self._app.sessions.open(self._worker.find_session()).document
        return choose_texts_for(event, self._document)

    def _say_waiting(self) -> None:
        self._screen.hint(
            "another turn is under way here; waiting for it, Ctrl-C takes your message back"
        )

    def _find_agent(self, event: Event) -> App:
        """Return the agent that the conversation is bound to, or the root."""
        return self._runtime.agents.find_route(event, self._app).app

    def _obey_control(self, event: Event) -> int:
        """Stop, halt or unlock at once, also while another terminal is in the middle of a turn."""
        answer = handle_control(event, self._find_agent(event), resume=resume_unlocked)
        for each in answer.events:
            self._runtime.queue.put(each)
        document = self._app.sessions.open(self._key).document
        self._show_text(event, answer.text or choose_texts_for(event, document).told_to_stop)
        return 0

    def _consolidate(self) -> None:
        """Let memory hear of what left the conversation, after the answer.

        Interrupted, or when it fails, it goes on after the next answer.
        """
        if not self._document.owes_memory:
            return
        consolidation = self._worker.open_consolidation()
        if consolidation is None:
            return
        try:
            if self._style.shows_steps:
                self._screen.hint(choose_texts_of(self._document).noting)
            consolidation.run()
        except KeyboardInterrupt:
            consolidation.put_off()

    def _show_unread(self, unread: Unread, away: bool) -> None:
        """Print what was said to the conversation while nobody listened, or this very moment."""
        document = self._app.sessions.open(self._key).document
        texts = choose_texts_of(document)
        lost = sum(each.lost for _, each in unread)
        zone = self._app.find_zone(document)
        lines = []
        for _, each in unread:
            files = answer_files.read_files(each.reply)
            saved = self._save_files(files)
            text = answer_files.write_words(each.text, files)
            text = "\n".join((text, *(str(file.path) for file in saved)))
            lines.append((format_stamp(each.at, zone), text))
        with self._screen.above_prompt():
            if away:
                self._screen.hint(texts.while_away)
            if lost:
                self._screen.hint(texts.unread_lost.format(count=lost, most=MOST))
            self._screen.show_unread(lines)

    def _show_text(self, event: Event, text: str) -> None:
        """Print what is answered without a turn."""
        self._show_answer(make_reply_row(Outgoing(event.id, self._session, text)))

    def _show_answer(self, row: Mapping[str, Json]) -> None:
        """Print the reply to the message of this terminal."""
        app = self._worker.find_app()
        opened = app.sessions.open(self._worker.find_session())
        self._document = document = opened.document
        self._has_failed = bool(row.get("failed"))
        resident = [offer.tool for offer in in_scope(document.messages)]
        text = str(row["reply"])
        rounds = row["rounds"]
        files = answer_files.read_files(row)
        saved = self._save_files(files)
        if self._style.json:
            _print_for_programs(orjson.dumps(_sort_row(row, resident, saved)).decode())
        elif self._style.quiet:
            text = answer_files.point_at_paths(text, saved)
            _print_for_programs("\n".join((text, *(str(file.path) for file in saved))))
        else:
            preamble = app.build_preamble(opened.memory)
            tokens = compaction.estimate_size(document.messages)
            tokens += context.count_overhead(preamble)
            self._show_words(answer_files.write_words(text, files))
            for each in saved:
                self._screen.show_file(each.path, each.file)
                if each.file.type.startswith("image/"):
                    self._screen.show_picture(self._pictures.make(each.body))
            if app.model.name == OFFLINE and rounds and _is_first_answer(document):
                self._screen.show_signature(choose_texts_of(document).offline_signature)
            if rounds:
                self._screen.show_footer(resident, round(tokens * document.ratio), app.model.window)

    def _show_words(self, text: str) -> None:
        """Print an answer, and its drawings as pictures where the terminal shows some."""
        if "<svg" not in text or not self._pictures.form:
            self._screen.show_answer(text)
            return
        from functions.channels.render.pictures import take_pictures

        visible, drawings = take_pictures(text)
        pictures = [self._pictures.make(each.encode()) for each in drawings]
        if not all(pictures):
            visible = text
        self._screen.show_answer(text, visible)
        for picture in pictures:
            self._screen.show_picture(picture)

    def _save_files(self, files: Sequence[KeptFile]) -> list[SavedFile]:
        """Save the files of an answer, and return them; those that cannot be saved are told of."""
        agent = self._runtime.agents.find_current(self._session, self._app).app
        caller = agent.make_caller(self._session)
        read: dict[KeptFile, bytes] = {}
        for file in files:
            try:
                read[file] = read_kept_file(file.id, caller, self._app)
            except SigilError as problem:
                self._screen.hint(f"{file.name} cannot be saved: {problem.message}")
        try:
            return answer_files.save([*read], [*read.values()], self._folder)
        except SigilError as problem:
            self._screen.hint(f"the files of the answer cannot be saved: {problem.message}")
            return []


def _is_first_answer(document: Document) -> bool:
    """Return whether the model was asked once in a conversation so far."""
    said = [
        message
        for message in document.messages
        if message.role == "user" and message.origin != RUNTIME_ORIGIN
    ]
    return len(said) == 1


def _print_for_programs(text: str) -> None:
    """Print an answer as it is, and to a terminal without what would drive that."""
    sys.stdout.write((clean_text(text) if sys.stdout.isatty() else text) + "\n")
    sys.stdout.flush()


def _leave() -> NoReturn:
    """End the process at once: the turn waits for whoever comes next, as after a crash."""
    sys.stdout.flush()
    sys.stderr.write("\nleft; the turn goes on at the next start\n")
    sys.stderr.flush()
    os._exit(INTERRUPTED)


def _sort_row(
    row: Mapping[str, Json], resident: list[str], saved: Sequence[SavedFile]
) -> dict[str, object]:
    """Return what `--json` prints: a reply, what it took, and the tools that stay."""
    sorted_row: dict[str, object] = {
        "reply": answer_files.point_at_paths(str(row["reply"]), saved),
        "rounds": row["rounds"],
        "tools": row["tools"],
        "resident": resident,
    }
    if row.get("failed"):
        sorted_row["failed"] = True
    sorted_row["usage"] = row["usage"]
    if saved:
        sorted_row["files"] = [{**file_row(each.file), "path": str(each.path)} for each in saved]
    return sorted_row
