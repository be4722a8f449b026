"""One message of a chat shows how the work of its team goes, where a platform can change messages.

Whoever runs a teammate's turn looks after it beside the turn, so that the turn waits for nothing of
it. It is sent once work takes a while, changed at most once in `PAUSE_SECONDS` by all processes
together, and says at the end that nobody is at work. A crash between the message and its record
makes a second one, on platforms that cannot tell that they have had it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import Final

from functions import log
from functions.agent.app import App
from functions.agent.language import choose_texts_for
from functions.agent.sanitize import clean_text
from functions.agent.schedules.quiet_hours import is_quiet
from functions.agent.team.board import Board
from functions.agent.team.chat_notices import (
    TeamChat,
    change_team_chat,
    forget_message,
    read_team_chat,
    scan_team_chats,
)
from functions.agent.team.leg import is_look
from functions.agent.team.progress import read_progress
from functions.agent.team.report import find_home
from functions.agent.team.roster import format_progress, list_team
from functions.agent.team.task import Task
from functions.channels.base import Channel, EditsMessages
from functions.events import Event
from functions.texts.en import Texts
from functions.wiring import AgentRuntime
from sigil.errors import Refused, SigilError, one_line
from sigil.storage.evolve import evolve
from sigil.storage.kv import keys

FIRST_SECONDS: Final = 5.0
"""Work that ends sooner shows nothing."""
PAUSE_SECONDS: Final = 10.0
"""Between two changes of a chat's message."""
SENDING_SECONDS: Final = 120.0
"""While one is being sent, nobody sends another; a crash meanwhile holds that up for so long."""
JOIN_SECONDS: Final = 15.0
"""The end of a turn waits so long for a change that is under way."""
NAMES_MOST: Final = 20
SUBJECT_CHARACTERS: Final = 60


@dataclass(frozen=True, slots=True)
class ProgressMessage:
    """The messages that show how the work of a team goes, as the turn of an event of one of its
    members looks after them.
    """

    event: Event
    app: App
    channels: Mapping[str, Channel]

    @contextmanager
    def keep_shown(self) -> Iterator[None]:
        """Show in the chat that wants the work how it goes, until the turn ends."""
        home = find_home(self.event, self.app.record)
        channel = self._find_channel(home)
        if channel is None or is_look(self.event):
            yield
            return
        over = threading.Event()

        def keep_showing() -> None:
            seconds = FIRST_SECONDS
            while not over.wait(seconds):
                self._try(lambda: self._show(home, channel))
                seconds = PAUSE_SECONDS

        thread = threading.Thread(target=keep_showing, name="progress message", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join(JOIN_SECONDS)

    def end(self) -> None:
        """Say where a message is shown that nobody is at work for its chat, where that is so."""
        self._try(self._end_all)

    def _end_all(self) -> None:
        for home, shown in list(scan_team_chats(self.app.kv, self.app.root)):
            channel = self._find_channel(home)
            if channel:
                self._try(partial(self._end, home, shown, channel))

    def _find_channel(self, home: str) -> EditsMessages | None:
        channel = self.channels.get(home.partition(":")[0])
        return channel if isinstance(channel, EditsMessages) else None

    def _try(self, action: Callable[[], None]) -> None:
        """Do what no turn is to fail for."""
        try:
            action()
        except SigilError as problem:
            log.trouble("progress message not shown", self.event, code=problem.code)

    def _show(self, home: str, channel: EditsMessages) -> None:
        app = self.app
        now = app.clock.now()
        claimed: list[TeamChat] = []

        def claim(found: TeamChat) -> TeamChat | None:
            claimed.clear()
            # another process, or one that was faster, may have a later time
            if abs(now - found.at) < PAUSE_SECONDS:
                return None
            if found.message:  # also in a muted chat: what is there goes on to its end, silently
                claimed.append(evolve(found, at=now))
            elif not (found.is_muted or abs(now - found.sending) < SENDING_SECONDS):
                claimed.append(evolve(found, at=now, sending=now))
            return claimed[0] if claimed else None

        change_team_chat(app.kv, app.root, home, claim)
        if not claimed:
            return
        [shown] = claimed
        text, is_at_work = write_progress(app, home, choose_texts_for(self.event), now)
        if not shown.message:
            self._send(home, channel, shown, text if is_at_work and self._may_send(home) else "")
        elif is_at_work:
            self._change(home, channel, shown, text)

    def _change(self, home: str, channel: EditsMessages, shown: TeamChat, text: str) -> None:
        app = self.app
        try:
            channel.edit(home, shown.message, text)
            if read_team_chat(app.kv, app.root, home).message != shown.message:
                # meanwhile somebody has said there that nobody is at work
                channel.edit(home, shown.message, choose_texts_for(self.event).team_progress_ended)
        except Refused:  # somebody has deleted it
            forget_message(app.kv, app.root, home, shown)

    def _send(self, home: str, channel: EditsMessages, shown: TeamChat, text: str) -> None:
        """Send a text as the message of a chat, unless it is empty; then others may send one."""
        app = self.app
        message = ""
        try:
            if text:
                name = f"{app.root}\0{home}\0{shown.count}"
                key = sha256(name.encode(errors="replace")).hexdigest()[:32]
                message = channel.send_editable(home, text, key)
        finally:
            change_team_chat(
                app.kv, app.root, home, lambda found: evolve(found, message=message, sending=0.0)
            )

    def _end(self, home: str, shown: TeamChat, channel: EditsMessages) -> None:
        app = self.app
        text, is_at_work = write_progress(app, home, choose_texts_for(self.event), app.clock.now())
        if is_at_work:
            return
        with suppress(Refused):  # somebody has deleted it
            channel.edit(home, shown.message, text)
        forget_message(app.kv, app.root, home, shown)
        with suppress(Refused):  # a change that was under way may have come between the two
            channel.edit(home, shown.message, text)

    def _may_send(self, home: str) -> bool:
        """Return whether something may be said in a chat now: not in its quiet hours, nor where
        the policy denies it.
        """
        app = self.app
        session = keys.session_of(app.root, home)
        head = app.kv.get(keys.session_head(session))
        document = app.sessions.decode_head(session, head).document
        if is_quiet(document.quiet, app.clock.now(), app.find_zone(document)):
            return False
        role = app.people.find_role(self.event)
        gate = app.make_gate(app.load_policies(), role, private=self.event.private)
        return not gate.denies("say", home)


def open_progress_message(event: Event, runtime: AgentRuntime) -> ProgressMessage | None:
    """Return what looks after the messages of a team; None where no channel can change one."""
    channels = runtime.channels
    if not any(isinstance(channel, EditsMessages) for channel in channels.values()):
        return None
    return ProgressMessage(event, runtime.app, channels)


def write_progress(app: App, home: str, texts: Texts, now: float) -> tuple[str, bool]:
    """Return what a chat sees of its team, and whether anybody is at work for it.

    Of work for other chats it says no more than that there is some.
    """
    team = list_team(app.kv, app.root, now, app.team_idle)
    progress = read_progress(app, [each.name for each in team if each.status == "working"])
    board = Board(app.kv, app.root, app.clock.now)
    lines = []
    is_at_work = False
    for each in team:
        found = progress.get(each.name)
        # before its turn is opened only the task tells which chat wanted it
        task = board.find(each.task) if each.task else None
        place = task.home if task else (found.home if found else "")
        if each.status == "working" and (place or each.home) == home:
            parts = [_name_task(task, app)] if task else []
            if each.plan:  # it is at work again when somebody has answered
                parts.append(texts.team_waits.format(id=each.plan))
            else:
                is_at_work = True
                parts += [] if task else [texts.team_at_work]
                parts.append(format_progress(each, found, now, texts))
            lines.append(f"{each.name}: {', '.join(parts)}")
        elif each.home == home:
            state = texts.agent_states.get(each.status, each.status)
            if each.status == "working":
                state = texts.team_elsewhere
            lines.append(f"{each.name}: {state}")
    head = texts.team_head.format(name=app.root) if is_at_work else texts.team_progress_ended
    more = ["…"] if len(lines) > NAMES_MOST else []
    return app.redact("\n".join((head, *lines[:NAMES_MOST], *more))), is_at_work


def _name_task(task: Task, app: App) -> str:
    """Return the number and the subject of a task; what is not to be said is gone before the rest
    is cut, which could not be told from other words then.
    """
    subject = app.redact(clean_text(task.subject))
    return f"#{task.id} {one_line(subject, SUBJECT_CHARACTERS)}"
