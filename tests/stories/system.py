"""A system under test: a store of its own, a platform, a model that plans by what it reads, and
servers over them.
"""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from functions.agent.session.document import Document
from functions.agent.session.store import Sessions
from functions.queues.dead_letters import DeadLetter, scan_dead_letters
from functions.wiring import Closable
from sigil.storage.kv import KV, keys
from sigil.wiring import open_stores
from tests.channel_settings import make_settings
from tests.fakes.bot_api import TOKEN, BotApi
from tests.fakes.model import ScriptedModel, call, say
from tests.fakes.server import Answer, Recorded, json_answer
from tests.machine import within
from tests.stories.backends import Backend
from tests.stories.servers import PATIENCE, SECRET, Server, ServerForker
from tests.stories.switch import Order

OWNER = 42
LONG = "long " * 1000
"""Goes out in two parts."""
Listener = Callable[[str, str], None]


class Gate:
    """Holds back what passes it until it is opened, or the story ends."""

    def __init__(self, model: Planner) -> None:
        self._opened = threading.Event()
        self._model = model

    def open(self) -> None:
        self._opened.set()

    def wait(self) -> None:
        while not self._opened.wait(0.05) and not self._model.closing.is_set():
            pass

    def held(self, text: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
        """A reply of the model that comes when the gate is open."""

        def reply(body: dict[str, Any]) -> dict[str, Any]:
            self.wait()
            return say(text)

        return reply


def ignore(server: str, point: str) -> None:
    """Nobody listens."""


class Planner(ScriptedModel):
    """A model whose replies depend on what it reads alone: whoever asks again is told the same.

    `task N` takes it three rounds: a query, a call of both capabilities side by side, a long
    answer. `hop` goes on with another behaviour where it wakes the agent, and `child` searches
    twice. Anything else is answered at once. `spin`: how long each of the two works. What `then` was given comes first.
    """

    def __init__(self) -> None:
        super().__init__()
        self.on_event: Listener = ignore
        self.spin = 0

    def answer(self, request: Recorded) -> Answer:
        self.on_event(request.path.split("/")[1], f"request {len(self.requests)} received")
        if self._script:
            return super().answer(request)
        usage = {"prompt_tokens": len(request.body) // 4, "completion_tokens": 10}
        return json_answer({"usage": usage, **plan(request.json()["messages"], self.spin)})

    def asked(self) -> list[str]:
        """What the person had said before each request, in order: often one message."""
        chats = [
            body["messages"]
            for body in self.bodies
            if body["messages"][0]["content"].startswith("<<IDENTITY>>")
        ]
        return [text for messages in chats for text in list_row(messages)]


def plan(messages: list[dict[str, Any]], spin: int) -> dict[str, Any]:
    """What a model that has read `messages` says next."""
    place = find_newest(messages)
    asked = text_of(messages[place])
    task = re.fullmatch(r"task (\d+)", asked)
    step = sum(message["role"] == "assistant" for message in messages[place:])
    if "\nhop\n" in messages[place]["content"] and "## on_wakeup" in messages[place - 1]["content"]:
        return call(("cap_next_behavior", {"name": "on_self_improve"}))
    if "\nchild\n" in messages[place]["content"] and step < 2:
        return call(("sigil_query", {"query": f"number {step}"}))
    if task is None:
        return say("\n".join(f"answer to {text}" for text in list_row(messages)))
    if step > 1:
        return say(f"{LONG}answer to {asked}")
    calls = (
        [("sigil_query", {"query": "number", "limit": 10})],
        [("cap_note", {"spin": spin}), ("cap_double", {"spin": spin})],
    )
    made = call(*calls[step])
    for each in made["choices"][0]["message"]["tool_calls"]:
        each["id"] = f"{each['function']['name']}-of-{task[1]}"
    return made


def find_newest(messages: list[dict[str, Any]]) -> int:
    """Where the find_newest user message stands."""
    return max(position for position, message in enumerate(messages) if message["role"] == "user")


def list_row(messages: list[dict[str, Any]]) -> list[str]:
    """The newest message, with those that the same turn answers, which stand around a note."""
    row: list[str] = []
    for message in reversed(messages[: find_newest(messages) + 1]):
        if message["role"] != "user":
            break
        row.insert(0, text_of(message))
    note = next((at for at, text in enumerate(row) if text.startswith("Before you could")), 0)
    return [*row[note - 1 : note], *row[note + 1 :]] if note else row[-1:]


def text_of(message: dict[str, Any]) -> str:
    """What a person wrote, without the stamp that the prompt adds."""
    return str(message["content"]).splitlines()[-1]


class Platform(BotApi):
    """A Bot API that says when a message has arrived, before its sender hears of it."""

    def __init__(self) -> None:
        super().__init__()
        self.on_event: Listener = ignore

    def answer(self, request: Recorded) -> Answer:
        answer = super().answer(request)
        if request.path.endswith("/sendMessage") and answer.status == 200:
            self.on_event(request.path.split("/")[1], f"message {len(self.messages)} received")
        return answer

    @property
    def texts(self) -> list[str]:
        """What was sent, in order, without the padding of long answers; what answers several
        messages as if it were sent one by one.
        """
        with self.changed:
            sent = [message["text"] for message in self.messages]
        together = re.compile(r"answer to .+(?:\nanswer to .+)*")
        return [
            shorten(text)
            for whole in sent
            for text in (whole.split("\n") if together.fullmatch(whole) else [whole])
        ]

    def wait_for_texts(self, *texts: str) -> None:
        """Wait until each of them has been sent."""
        with self.changed:
            found = self.changed.wait_for(lambda: set(texts) <= set(self.texts), PATIENCE)
        assert found, f"{texts} are not among {self.texts}"


def shorten(text: str) -> str:
    return re.sub(r"(long ?)+", "… ", text).strip()


def update(number: int, text: str, sender: int = OWNER) -> dict[str, Any]:
    """A private message as Telegram delivers it; the higher its number, the later it was
    written.
    """
    return {
        "update_id": number,
        "message": {
            "message_id": number,
            "date": 1_780_000_000 + number,
            "from": {"id": sender, "is_bot": False, "first_name": "Ada"},
            "chat": {"id": sender, "type": "private"},
            "text": text,
        },
    }


@dataclass(slots=True)
class System:
    """What a story plays on. `settings` are those of every server; `folder` holds the store and the
    notes of the switches.
    """

    forker: ServerForker
    folder: Path
    platform: Platform
    model: Planner
    settings: dict[str, Any]
    store: KV
    backend: Backend
    servers: list[Server] = field(default_factory=list)

    def start(self, at: str = "", number: int = signal.SIGKILL, once: str = "fired") -> Server:
        """One more server. The first to get to the point `at`, of all with the same `once`, is
        killed there or gets the signal `number`.
        """
        server = self.forker.start(self.settings, Order(str(self.folder), at, number, once))
        self.servers.append(server)
        return server

    def deliver(self, server: Server, happened: dict[str, Any]) -> None:
        """Deliver an update to a server that may stall or die before it answers."""
        threading.Thread(target=server.post_update, args=(happened,), daemon=True).start()

    def named(self, name: str) -> Server:
        """The server of this name."""
        return next(server for server in self.servers if server.name == name)

    def document(self, chat: int = OWNER) -> Document:
        """The session's document as it stands in the store."""
        return Sessions(self.store).open(keys.session_of("main", f"telegram:{chat}")).document

    def notes(self, file: str) -> list[str]:
        """What the switches noted: the `journal` of all points, the `runs` of capabilities."""
        path = self.folder / file
        return path.read_text().splitlines() if path.exists() else []

    def fired(self, once: str = "fired") -> bool:
        """Whether a server got to its point."""
        return (self.folder / once).exists()

    def dead_letters(self) -> list[DeadLetter]:
        """The dead letters."""
        return list(scan_dead_letters(self.store))

    def is_idle(self, chat: int = OWNER, *, claims: bool = True) -> bool:
        """Whether nothing waits, and nobody works; the latter by the `claims` that are there."""
        inbox = keys.inbox_event(keys.session_of("main", f"telegram:{chat}"), "").partition
        looked_at = [inbox, "ready", "ready!", "ready~work"]
        if claims:
            looked_at.append("claim")
        waits = any(map(self.store.scan, looked_at))
        return not waits and self.backend.is_idle(self.settings)


@contextmanager
def start_system(
    forker: ServerForker, backend: Backend, compiled: Path, folder: Path, **settings: Any
) -> Iterator[System]:
    """Yield a system in the new `folder`, on a fresh store of the backend."""
    folder.mkdir()
    (folder / "compiled").symlink_to(compiled, target_is_directory=True)
    with backend.prepare(folder) as store_settings, Platform() as platform, Planner() as model:
        given = {
            "data": str(folder),
            "library": "none",
            "runners": 1,
            "workers": 1,
            "lease": within(1.0),
            "owners": [f"telegram:{OWNER}"],
            "access": "open",
            "llm_url": model.url,
            "telegram_token": TOKEN,
            "telegram_secret": SECRET,
            "telegram_api": platform.url,
            **store_settings,
            **settings,
        }
        store = open_stores(make_settings(**store_settings)).kv
        system = System(forker, folder, platform, model, given, store, backend)
        try:
            yield system
        finally:
            forker.kill(*system.servers)
            if isinstance(store, Closable):
                store.close()
