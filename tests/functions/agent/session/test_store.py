"""A session's document over a turn: what is saved when, who may save, and how a turn goes on that
somebody left.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import orjson
import pytest

from functions.agent.conversation.messages import Message, ToolCall
from functions.agent.memory.history import History, HistoryEntry
from functions.agent.session import document as record
from functions.agent.session.document import Document, Outgoing, Turn
from functions.agent.session.overflow import LIMIT
from functions.agent.session.store import SessionHandle, Sessions
from functions.agent.turn.turn import ATTEMPTS, run_turn, stop_turn
from functions.events import Event
from functions.texts.en import TEXTS as ENGLISH
from functions.wiring import AgentRuntime
from sigil.errors import BackendError, Conflict
from sigil.protocol import Caller
from sigil.storage.kv import KV, Expect, Item, Key, keys
from sigil.storage.kv.memory import MemoryKV
from tests.fakes.model import ScriptedModel, call, results, say
from tests.functions.agent.memory.memories import saves
from tests.functions.agent.talk import event, run_event, tell
from tests.functions.people import sentence
from tests.tables import each_row

OWNER = Caller("main", owner=True)
KEY = keys.session_of("main", "telegram:7")


class Counting:
    """A store that counts the writes of session documents, and can fail at one of them."""

    def __init__(self, kv: KV) -> None:
        self.kv = kv
        self.heads = 0
        self.fail_at = 0

    def get(self, key: Key) -> Item | None:
        return self.kv.get(key)

    def put(
        self, key: Key, value: bytes, *, expect: Expect = None, ttl: float | None = None
    ) -> str:
        if key.sort == "head":
            self.heads += 1
            if self.heads == self.fail_at:
                raise KeyboardInterrupt
        return self.kv.put(key, value, expect=expect, ttl=ttl)

    def delete(self, key: Key, *, expect: Expect = None) -> None:
        self.kv.delete(key, expect=expect)

    def scan(self, *given: Any, **more: Any) -> list[tuple[str, Item]]:
        return self.kv.scan(*given, **more)


class Away:
    """A shelf that cannot be reached."""

    def put(self, body: bytes) -> str:
        raise BackendError("ESTORE", "the shelf is away")

    def get(self, name: str) -> bytes:
        raise BackendError("ESTORE", "the shelf is away")


def watched(home: AgentRuntime) -> tuple[AgentRuntime, Counting]:
    kv = Counting(home.stores.kv)
    return replace(home, app=replace(home.app, kv=kv, sessions=Sessions(kv))), kv


@pytest.fixture
def home(runtime: Callable[..., AgentRuntime], model: ScriptedModel) -> AgentRuntime:
    opened = runtime(llm_url=model.url)
    deploy = opened.app.registry.deploy
    deploy(
        {"name": "pure", "description": "A pure thing.", "schema": {}, "execute": "return 'again'"},
        OWNER,
    )
    deploy(
        {
            "name": "told",
            "description": "A thing with effects.",
            "schema": {},
            "execute": "return 1",
            "permissions": {"log": True},
        },
        OWNER,
    )
    return opened


def test_a_turn_without_tools_writes_its_document_three_times(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    counted, kv = watched(home)
    model.then(say("hello"))

    run_event(counted, event("hi"))

    assert kv.heads == 3


def test_a_search_writes_when_it_has_answered_and_a_call_before_it_runs_as_well(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    counted, kv = watched(home)
    model.then(call(("sigil_query", {"query": "pure"})), say("found"))
    run_event(counted, event("hi"))
    assert kv.heads == 4

    model.then(call(("cap_pure", {})), say("done"))
    run_event(counted, event("again"))
    assert kv.heads == 4 + 5


def test_a_worker_that_lost_its_place_cannot_save(home: AgentRuntime, model: ScriptedModel) -> None:
    def steal(body: dict[str, Any]) -> dict[str, Any]:
        other = home.app.sessions.open(KEY)
        home.app.sessions.save(other, other.document)
        return say("too late")

    model.then(steal)
    with pytest.raises(Conflict):
        run_turn(event("hi"), home.app)

    assert home.app.sessions.open(KEY).document.outbox == ()


@pytest.mark.parametrize("write", [2, 3, 4])
def test_a_turn_that_is_cut_at_any_write_goes_on_and_answers_once(
    home: AgentRuntime, model: ScriptedModel, write: int
) -> None:
    counted, kv = watched(home)
    script = [call(("sigil_query", {"query": "pure"})), call(("cap_pure", {})), say("done")]
    model.then(*script)
    kv.fail_at = write
    happened = event("hi")
    with pytest.raises(KeyboardInterrupt):
        run_turn(happened, counted.app)
    repeated = {2: 0, 3: 1, 4: 2}[write]
    model._script[:] = script[repeated:]

    opened = run_event(home, happened)

    assert [reply.text for reply in opened.document.outbox] == ["done"]
    assert [message.role for message in opened.document.messages] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
        "assistant",
    ]
    assert [message.content for message in opened.document.messages if message.role == "tool"][
        1
    ] == '{"ok":"again"}'
    assert opened.document.turn is None


def left_with(home: AgentRuntime, *names: str) -> Event:
    """A session whose turn was cut off after its assistant message was recorded, its calls
    unanswered.
    """
    happened = event("hi")
    offers = tuple(hit.offer for hit in home.app.registry.query("thing", OWNER, limit=5).hits)
    document = Document().add(
        Message("user", "hi"),
        Message("assistant", "", calls=(ToolCall("q", "sigil_query", "{}"),)),
        Message("tool", "{}", call_id="q", loads=offers),
        Message("assistant", "", calls=tuple(ToolCall(name, name, "{}") for name in names)),
    )
    home.app.sessions.save(
        SessionHandle(KEY, Document(), None),
        replace(document, turn=Turn(happened, attempts=0, rounds=2)),
    )
    return happened


def test_a_call_that_was_in_flight_runs_again_only_when_it_is_safe(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    happened = left_with(home, "cap_pure", "cap_told", "cap_unknown")
    model.then(say("I see"))

    run_event(home, happened)

    again, interrupted, unknown = results(model.bodies[0])[1:]
    assert again == '{"ok":"again"}'
    assert [json.loads(answer)["error"]["code"] for answer in (interrupted, unknown)] == [
        "EINTERRUPTED",
        "EINTERRUPTED",
    ]
    assert model.bodies[0]["messages"][-1]["tool_call_id"] == "cap_unknown"


def test_whoever_comes_next_finishes_the_turn_in_progress_first(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    left_with(home, "cap_pure")
    model.then(say("the old answer"), say("the new answer"))

    assert tell(home, "and now?") == ["the old answer", "the new answer"]


def test_a_turn_that_fails_at_every_try_is_given_up_and_the_chat_goes_on(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    happened = event("poison")
    counted, kv = watched(home)
    for attempt in range(1, ATTEMPTS + 1):
        model.then(say("never saved"))
        kv.fail_at = kv.heads + 2
        with pytest.raises(KeyboardInterrupt):
            run_turn(happened, counted.app)
        assert home.app.sessions.open(KEY).document.turn.attempts == attempt  # type: ignore[union-attr]
    asked = len(model.bodies)

    opened = run_event(home, happened)

    assert [reply.text for reply in opened.document.outbox] == [ENGLISH.gave_up]
    assert len(model.bodies) == asked
    dead = home.stores.kv.get(keys.dead_letter(happened.id))
    assert dead is not None
    assert orjson.loads(dead.value)["event"]["text"] == "poison"
    model._script[:] = [say("still here")]
    assert tell(home, "hello?") == ["still here"]


def test_a_stopped_turn_leaves_a_whole_history(home: AgentRuntime, model: ScriptedModel) -> None:
    left_with(home, "cap_pure", "cap_told")

    opened = stop_turn("telegram:7", home.app)

    assert [reply.text for reply in opened.document.outbox] == ["Stopped."]
    assert [message.role for message in opened.document.messages][-4:] == [
        "assistant",
        "tool",
        "tool",
        "assistant",
    ]
    model.then(say("fine"))
    assert tell(home, "go on")[-1] == "fine"


def test_ids_leave_the_document_only_after_their_records_stand(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    happened = [event("/help") for _ in range(record.SEEN_MOST + 5)]
    for each in happened:
        run_event(home, each)

    opened = home.app.sessions.open(KEY)
    assert len(opened.document.seen) <= record.SEEN_MOST
    for each in happened:
        assert home.app.sessions.was_seen(opened, each)
        assert run_event(home, each).document.outbox == ()


def test_a_large_document_is_compressed_and_read_back(home: AgentRuntime) -> None:
    document = Document().add(
        *[Message("user", f"{number} " + "long text " * 500) for number in range(40)]
    )

    body = record.encode_document(document)

    assert len(body) < 64 * 1024
    assert record.decode_document(body) == document


@each_row("body", [b"", b"{}", b"[]", b"nonsense", b'{"messages": 5}', b"\x78\x01broken"])
def test_a_damaged_document_is_said_and_not_guessed(body: bytes) -> None:
    with pytest.raises(BackendError, match="EDAMAGED"):
        record.decode_document(body)


@pytest.mark.parametrize(
    ("place", "wrong"),
    [
        *((("messages", 0, field), None) for field in ("content", "seq", "at", "origin", "tokens")),
        *((("messages", 0), wrong) for wrong in ("x", [5])),
        *(
            ((field,), "x")
            for field in ("messages", "next_seq", "consolidated", "ratio", "noted", "unheard")
        ),
        (("seen",), [5]),
        (("usage", "prompt"), "x"),
        (("next_seq",), -1),
        (("outbox", 0, "text"), 5),
    ],
)
def test_a_field_that_is_not_what_it_was_is_damage(
    home: AgentRuntime, place: tuple[str | int, ...], wrong: Any
) -> None:
    run_turn(event("hello"), home.app)
    item = home.app.kv.get(keys.session_head(KEY))
    assert item
    fields = at = json.loads(item.value)
    for part in place[:-1]:
        at = at[part]
    at[place[-1]] = wrong
    home.app.kv.put(keys.session_head(KEY), orjson.dumps(fields))
    assert tell(home, "hello") == [sentence("damaged")]
    home.app.sessions.archive(KEY, [Message("user", "tea", seq=4, at=1.0)])
    home.app.kv.put(
        keys.archive_chunk(KEY, 4), b'[{"role": "user", "content": 5, "seq": 4, "at": 1.0}]'
    )
    assert tell(home, "/recall tea") == [ENGLISH.nothing_found]


def test_an_overtaken_worker_that_archives_a_shorter_cut_takes_nothing_away(
    home: AgentRuntime,
) -> None:
    messages = [Message("user", f"message {seq}", seq=seq, at=1.0) for seq in range(4, 9)]
    home.app.sessions.archive(KEY, messages)
    home.app.sessions.archive(KEY, messages[:2])
    assert home.app.sessions.load_archived(KEY, 4) == tuple(messages)


def test_a_longer_cut_is_archived_over_that_of_an_overtaken_worker(home: AgentRuntime) -> None:
    messages = [Message("user", f"message {seq}", seq=seq, at=1.0) for seq in range(4, 9)]
    home.app.sessions.archive(KEY, messages[:2])
    home.app.sessions.archive(KEY, messages)
    assert home.app.sessions.load_archived(KEY, 4) == tuple(messages)


@pytest.mark.parametrize("body", [b"", b"nonsense", b'{"messages": 5}', b"\x78\x01broken"])
def test_a_chat_whose_document_is_damaged_is_locked_and_goes_on_from_its_archive(
    home: AgentRuntime, model: ScriptedModel, body: bytes
) -> None:
    model.then(say("hello Ada"), say("noted"))
    run_event(home, event("I am Ada"))
    run_event(home, event("/new"))
    run_event(home, event("the shop is closed on Mondays"))
    home.app.kv.put(keys.session_head(KEY), body)

    locked = [tell(home, "hello") for _ in range(2)]
    assert locked == [[sentence("damaged")]] * 2
    assert len(model.bodies) == 2
    assert [
        item.value for _, item in home.app.kv.scan(keys.unreadable_session(KEY, "").partition)
    ] == [body]

    assert tell(home, "/unlock") == [ENGLISH.unlocked]
    model.then(saves(), say("welcome back"))
    assert tell(home, "/mem") == [ENGLISH.mem_triggered]
    assert "I am Ada" in model.bodies[2]["messages"][1]["content"]
    assert tell(home, "hello") == ["welcome back"]
    after = home.app.sessions.open(KEY).document
    assert [message.content for message in after.messages] == ["hello", "welcome back"]
    assert after.consolidated == 2


def test_a_damaged_document_is_put_aside_whatever_is_written_first(home: AgentRuntime) -> None:
    home.app.kv.put(keys.session_head(KEY), b"damaged")
    assert tell(home, "/mem I like tea") == [ENGLISH.mem_failed]
    assert [
        item.value for _, item in home.app.kv.scan(keys.unreadable_session(KEY, "").partition)
    ] == [b"damaged"]
    assert home.app.sessions.open(KEY).document.unheard == (1,)


def test_an_unlock_opens_a_damaged_chat_that_only_a_command_has_met(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    home.app.kv.put(keys.session_head(KEY), b"damaged")
    model.then(say("welcome back"))
    assert ENGLISH.reasons["damaged"] in tell(home, "/status")[0]
    assert tell(home, "/unlock") == [ENGLISH.unlocked]
    assert tell(home, "hello") == ["welcome back"]


def test_a_damaged_chat_never_takes_the_numbers_of_what_its_archive_holds(
    home: AgentRuntime,
) -> None:
    lost = (
        Message("user", secrets.token_hex(LIMIT), seq=4, at=1.0),
        Message("user", "more", seq=5, at=1.0),
    )
    home.app.sessions.archive(KEY, lost)
    home.app.kv.put(keys.session_head(KEY), b"damaged")

    with pytest.raises(BackendError, match="ESTORE"):
        Sessions(home.app.kv, Away()).open(KEY)
    assert home.app.sessions.open(KEY).document.next_seq == 6
    home.app.kv.put(keys.archive_chunk(KEY, 4), b"damaged as well")
    assert home.app.sessions.open(KEY).document.next_seq == 5


def test_after_damage_memory_hears_of_the_rest_of_a_chunk_and_of_nothing_twice(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    model.then(say("hello Ada"), saves())
    tell(home, "I am Ada")
    tell(home, "/mem")
    item = home.app.kv.get(keys.session_head(KEY))
    assert item
    home.app.kv.put(keys.session_head(KEY), b"damaged")
    fresh = home.app.sessions.open(KEY).document
    assert (fresh.next_seq, fresh.consolidated) == (3, 2), (
        "no number twice, or memory would never hear of it"
    )
    home.app.kv.put(keys.session_head(KEY), item.value)
    tell(home, "/new")
    item = home.app.kv.get(keys.session_head(KEY))
    assert item
    home.app.kv.put(keys.session_head(KEY), b"damaged")
    assert home.app.sessions.open(KEY).document.unheard == ()
    home.app.kv.put(keys.session_head(KEY), item.value)

    model.then(say("noted"), saves(), say("noted too"))
    tell(home, "I like tea")
    tell(home, "/mem")
    tell(home, "I like cake")
    tell(home, "/new")
    home.app.kv.put(keys.session_head(KEY), b"damaged")
    tell(home, "hello")
    tell(home, "/unlock")
    model.then(saves())
    assert tell(home, "/mem") == [ENGLISH.mem_triggered]
    asked = model.bodies[-1]["messages"][1]["content"]
    assert "I like cake" in asked
    assert "I like tea" not in asked


def test_a_document_is_never_put_aside_by_whoever_only_looks(home: AgentRuntime) -> None:
    home.app.kv.put(keys.session_head(KEY), b"damaged")
    assert home.app.sessions.open(KEY).document.safety.reason == "damaged"
    item = home.app.kv.get(keys.session_head(KEY))
    assert item is not None
    assert item.value == b"damaged"
    assert not home.app.kv.scan(keys.unreadable_session(KEY, "").partition)


def test_replies_leave_one_after_the_other_and_only_whoever_saved_last_holds_them(
    home: AgentRuntime,
) -> None:
    sessions = Sessions(home.stores.kv)
    waiting = tuple(Outgoing(text, "telegram:7", text) for text in ("one", "two"))
    first = sessions.save(sessions.open(KEY), replace(Document(), outbox=waiting))
    assert sessions.still_holds(first)
    second = sessions.mark_sent(first, 3)
    assert [(reply.text, reply.sent) for reply in sessions.open(KEY).document.outbox] == [
        ("one", 3),
        ("two", 0),
    ]
    assert (sessions.still_holds(first), sessions.still_holds(second)) == (False, True)
    sessions.remove_first_reply(second)
    assert [reply.text for reply in sessions.open(KEY).document.outbox] == ["two"]


def test_after_damage_all_of_a_long_archive_is_counted(home: AgentRuntime) -> None:
    for number in range(25):
        home.app.sessions.archive(
            KEY,
            (
                Message("user", "said", seq=number * 2 + 1, at=1.0),
                Message("user", "more", seq=number * 2 + 2, at=1.0),
            ),
        )
    History(home.app.kv, KEY).add(HistoryEntry(1, 10**15, 1.0, "an entry of everything"))
    home.app.kv.put(keys.session_head(KEY), b"damaged")

    fresh = home.app.sessions.open(KEY).document
    assert (fresh.next_seq, fresh.consolidated, len(fresh.unheard)) == (51, 0, 25)


def test_a_process_reads_a_document_again_only_where_it_has_not_saved_it_itself() -> None:
    kv = MemoryKV()
    ours, theirs = Sessions(kv), Sessions(kv)
    saved = ours.save(ours.open(KEY), Document(zone="Europe/Berlin"))
    assert ours.open(KEY).document is saved.document
    assert theirs.open(KEY).document == saved.document

    theirs.save(theirs.open(KEY), Document(zone="Asia/Tokyo"))
    assert ours.open(KEY).document.zone == "Asia/Tokyo"

    kv.delete(keys.session_head(KEY))
    assert ours.open(KEY).document == Document()


def test_the_documents_that_a_process_keeps_are_bounded() -> None:
    sessions = Sessions(MemoryKV())
    names = [keys.session_of("main", f"telegram:{number}") for number in range(200)]
    saved = []
    for name in names:
        text = secrets.token_hex(15_000)
        saved.append(sessions.save(sessions.open(name), Document().add(Message("user", text))))
    kept = [
        sessions.open(name).document is each.document
        for name, each in zip(reversed(names), reversed(saved), strict=True)
    ]

    assert all(kept[:100])
    assert not any(kept[150:])
