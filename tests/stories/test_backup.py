"""A backup that is made while people talk: restored elsewhere, every conversation is whole, and says
what it said where it came from.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from functions import worker
from functions.agent.conversation.messages import Message
from functions.agent.session.store import LAST, Sessions
from functions.backup.archive import ArchiveReader
from functions.backup.restoring import NO_SECRETS, restore_backup, verify_backup
from functions.backup.saving import save_backup
from functions.events import Event
from functions.queues.waiting_events import decode_waiting
from functions.settings import Settings
from functions.wiring import AgentRuntime
from sigil.storage.kv import keys
from sigil.storage.kv.update import scan_all
from sigil.wiring import Stores, open_stores
from tests.fakes.model import ScriptedModel, say
from tests.fakes.server import Answer, Recorded, json_answer
from tests.functions.agent.talk import event
from tests.functions.backup.places import open_place
from tests.functions.people import OWNER, Live, post_update, update
from tests.machine import times, until
from tests.selection import in_full, thorough

CHATS = [f"telegram:{number}" for number in range(4 if in_full() else 3)]
TURNS = times(24 if in_full() else 12)
AHEAD = 2
"""So many events of a chat wait at most, so that one turn does not answer them all."""
WORKERS = 4


UNLIMITED: dict[str, Any] = {"guest_turns": 0, "guest_tokens": 0, "tokens_per_day": 0}


class Echo(ScriptedModel):
    """A model that answers with the last words that it reads."""

    def answer(self, request: Recorded) -> Answer:
        said = request.json()["messages"][-1]["content"]
        text = said if isinstance(said, str) else json.dumps(said)
        choice = {"message": {"role": "assistant", "content": f"I heard {text[-300:]}"}}
        return json_answer({"choices": [{**choice, "finish_reason": "stop"}], "usage": {}})


def ignore(text: str) -> None:
    """Nobody watches."""


@contextmanager
def working(runtime: AgentRuntime) -> Iterator[None]:
    """Work on the queue until the block ends."""
    ended = threading.Event()

    def work() -> None:
        while not ended.is_set():
            delivery = runtime.queue.take(0.05)
            if delivery:
                worker.process(delivery, runtime)

    threads = [threading.Thread(target=work) for _ in range(WORKERS)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join()


def wait_for_fewer(home: AgentRuntime, chat: str, most: int) -> None:
    """Wait until fewer events of a chat wait."""
    partition = keys.inbox_event(keys.session_of("main", chat), "").partition
    until(
        lambda: len(home.stores.kv.scan(partition, limit=most)) < most,
        "somebody works on the events",
    )


def messages_of(stores: Stores, chat: str) -> dict[int, Message]:
    """Every message of a chat by its number, those of its archive too."""
    sessions = Sessions(stores.kv, stores.artifacts)
    key = keys.session_of("main", chat)
    archived = [chunk for _, chunk in sessions.scan_archive(key, 0, LAST)]
    document = sessions.open(key).document
    assert all(archived), "an archived chunk cannot be read"
    return {each.seq: each for part in (*archived, document.messages) for each in part}


@pytest.mark.parametrize("kind", ["sqlite", "redis", *thorough("dynamodb")])
def test_a_backup_made_while_people_talk_has_every_conversation_whole(
    kind: str,
    tmp_path: Path,
    runtime: Callable[..., AgentRuntime],
    request: pytest.FixtureRequest,
) -> None:
    place = open_place(kind, tmp_path, request)
    chats = CHATS[:2] if kind == "dynamodb" else CHATS
    put: list[Event] = []
    backups: list[tuple[Path, int]] = []
    with Echo() as model:
        fields: dict[str, Any] = {"store": place.store, "artifacts": place.artifacts}
        home = runtime(llm_url=model.url, llm_window=16_000, access="open", **UNLIMITED, **fields)
        with working(home):
            for turn in range(TURNS):
                for chat in chats:
                    # a long one now and then, so that the history is compacted
                    text = f"{chat} {turn} " + "long words " * (1_000 if turn % 2 else 1)
                    wait_for_fewer(home, chat, AHEAD)
                    put.append(event(text, session=chat, sender=chat))
                    home.queue.put(put[-1])
                if turn % (TURNS // 4) == AHEAD:
                    known = len(put)
                    path = tmp_path / f"{turn}.zip"
                    save_backup(home.settings, home.stores, path, ignore)
                    backups.append((path, known))
        source = {chat: messages_of(home.stores, chat) for chat in chats}

    cut = 0
    for number, (path, known) in enumerate(backups):
        elsewhere = Settings(data=str(tmp_path / f"restored-{number}"))
        with ArchiveReader(path) as reader:
            verify_backup(reader, ignore)
            restore_backup(elsewhere, reader, NO_SECRETS, ignore)
        stores = open_stores(elsewhere)
        for chat in chats:
            found = messages_of(stores, chat)
            assert sorted(found) == list(range(1, len(found) + 1)), "a message is missing"
            for seq in found.keys() & source[chat].keys():
                assert (found[seq].role, found[seq].content) == (
                    source[chat][seq].role,
                    source[chat][seq].content,
                )
            require_nothing_lost(stores, chat, found, put[:known])
            cut += len(source[chat]) > len(found)
    assert cut, "no backup was made while somebody talked"
    assert any(
        list(
            scan_all(
                home.stores.kv,
                keys.session_head(keys.session_of("main", chat)).partition,
                "archive#",
            )
        )
        for chat in chats
    ), "nothing was archived"


def require_nothing_lost(
    stores: Stores, chat: str, found: dict[int, Message], accepted: list[Event]
) -> None:
    """Fail unless each event that was accepted before the backup is in the conversation or waits,
    and each in the conversation has its answer, but for the last.
    """
    key = keys.session_of("main", chat)
    document = Sessions(stores.kv, stores.artifacts).open(key).document
    partition = keys.inbox_event(key, "").partition
    waiting = [decode_waiting(sort, item).event.id for sort, item in scan_all(stores.kv, partition)]
    if waiting:
        assert stores.kv.get(keys.ready_session(key))
    asked = [each.content for each in found.values() if each.role == "user"]
    in_turn = document.turn.event.id if document.turn else ""
    for each in accepted:
        if each.session == chat and each.id not in (*waiting, in_turn):
            assert any(each.text[:40].strip() in text for text in asked), each.text[:40]
    answers = [each for each in found.values() if each.role == "assistant"]
    assert len(answers) >= len(asked) - 1 - (document.turn is not None)


def test_what_was_sent_before_a_backup_is_not_sent_again_after_it(
    live: Callable[..., AbstractContextManager[Live]], model: ScriptedModel, tmp_path: Path
) -> None:
    model.then(say("good morning"), say("good evening"))
    path = tmp_path / "b.zip"
    with live() as agent:
        first = update(7_001, "hello", OWNER)
        assert post_update(agent.server, first).status_code == 200
        assert agent.replies(OWNER, 1) == ["good morning"]
        runtime = agent.server.runtime
        wait_for_fewer(runtime, f"telegram:{OWNER}", 1)
        save_backup(runtime.settings, runtime.stores, path, ignore)
    elsewhere = Settings(data=str(tmp_path / "elsewhere"))
    with ArchiveReader(path) as reader:
        restore_backup(elsewhere, reader, NO_SECRETS, ignore)
    with live(data=elsewhere.data) as agent:
        assert post_update(agent.server, first).status_code == 200
        assert agent.ask("and now?") == "good evening"
        assert agent.list_texts(OWNER) == ["good morning", "good evening"]
