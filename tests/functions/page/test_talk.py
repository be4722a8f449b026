"""The talk and the working set of a chat, made of a history and what has left it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from functions.agent.context import VERIFY
from functions.agent.conversation.messages import (
    MAIL_ORIGIN,
    RUNTIME_ORIGIN,
    Message,
    ToolCall,
    make_inbox,
)
from functions.agent.management.preview import preview_prompt
from functions.agent.runs.run import Run
from functions.agent.session.document import Document
from functions.agent.session.store import Sessions
from functions.page.chat.talk import SHOWN_MOST, Said, load_talk, read_talk
from functions.page.chat.working_set import read_working_set
from functions.wiring import AgentRuntime
from sigil.protocol import KeptFile, Offer
from sigil.storage.kv import keys
from sigil.storage.kv.memory import MemoryKV

KEY = keys.session_of("main", "web:http:admin:main")
SVG = '<svg xmlns="http://www.w3.org/2000/svg"><rect width="4" height="4"/></svg>'


def offer(name: str, words: int = 4) -> Offer:
    return Offer(name, 1, "sha256:0", "It can do that. " * words, {"type": "object"})


def user(text: str, **more: object) -> Message:
    return Message("user", text, at=10.0, origin="web", **more)  # type: ignore[arg-type]


def call(id: str, name: str, **arguments: object) -> ToolCall:
    return ToolCall(id, name, json.dumps(arguments))


def calling(*calls: ToolCall, text: str = "") -> Message:
    return Message("assistant", text, at=11.0, calls=calls)


def result(id: str, content: str = '{"ok":1}', *loads: Offer, **more: object) -> Message:
    return Message("tool", content, at=12.0, call_id=id, loads=loads, **more)  # type: ignore[arg-type]


def say(text: str, at: float = 13.0) -> Message:
    return Message("assistant", text, at=at)


def read(*messages: Message, runs: tuple[Run, ...] = ()) -> list[Said]:
    document = Document().add(*messages)
    return read_talk(document.messages, range(1, 100), runs)


def describe(items: list[Said]) -> list[str]:
    """What people see of the items, a line each."""
    lines = []
    for item in items:
        marks = [name for name in ("is_draft", "is_aside", "is_gone") if getattr(item, name)]
        text = item.text
        if item.call:
            shown = item.call
            text = f"{shown.name} {shown.state} {shown.error} +{','.join(shown.loads)}"
        lines.append(
            " ".join([item.id, item.kind, *marks, item.who, text]).replace("  ", " ").strip()
        )
    return lines


@pytest.mark.parametrize(
    ("messages", "shown"),
    [
        ([user("hi"), say("hello")], ["m1 own hi", "m2 answer hello"]),
        (
            [user("find"), calling(call("a", "sigil_query", query="x"), text="I look.")],
            ["m1 own find", "m2 answer is_aside I look.", "c2-0 call sigil_query running +"],
        ),
        (
            [
                calling(call("a", "sigil_query", query="x"), call("b", "cap_x")),
                result("b", '{"error":{"code":"ENOENT","message":"no"}}'),
                result("a", '{"ok":1}', offer("encode")),
            ],
            ["c1-0 call sigil_query done +cap_encode", "c1-1 call cap_x failed ENOENT +"],
        ),
        (
            # providers without ids give the same ones in every round
            [
                calling(call("a", "one")),
                result("a", '{"error":{"code":"EINTERRUPTED"}}'),
                calling(call("a", "two")),
            ],
            ["c1-0 call one stopped EINTERRUPTED +", "c3-0 call two running +"],
        ),
        (
            [say("It is done."), Message("user", VERIFY, origin=RUNTIME_ORIGIN), say("It failed.")],
            ["m1 answer is_draft It is done.", "m3 answer It failed."],
        ),
        (
            [Message("user", "a note", origin=RUNTIME_ORIGIN)],
            ["m1 note a note"],
        ),
        ([Message("user", "wake up", origin="wakeup")], ["m1 note wakeup wake up"]),
        (
            [make_inbox([{"from": "Bob", "content": "<b>hi</b>"}], 1.0)],
            ["m1-0 said Bob <b>hi</b>"],
        ),
        ([Message("user", "broken", origin=MAIL_ORIGIN)], []),
        (
            [Message("user", "hi all", origin="telegram 42 member · Alice")],
            ["m1 own Alice hi all"],
        ),
        (
            [user('look\n[photo: "a.png", kept as received/a.png]')],
            ["m1 own look"],
        ),
        ([user('[file: "a.csv", which you cannot open]')], ["m1 own"]),
    ],
)
def test_people_read_what_was_said_and_done(messages: list[Message], shown: list[str]) -> None:
    assert describe(read(*messages)) == shown


def test_files_and_pictures_stand_with_their_messages() -> None:
    picture = KeptFile("received/a.png", "", "image/png", 0, 0.0)
    made = KeptFile("0" * 64, "table.csv", "text/csv", 20, 0.0)
    items = read(
        user(
            'look\n[photo: "a.png", kept as received/a.png: read-file shows it again with look]',
            files=(picture,),
        ),
        calling(call("a", "cap_chart")),
        result("a", json.dumps({"ok": SVG}), files=(made,)),
        say("Here it is."),
    )

    [own] = items[0].files
    assert (own.name, own.path, own.is_picture) == ("a.png", "received/a.png", True)
    [file] = items[-1].files
    assert (file.name, file.id) == ("table.csv", "0" * 64)
    assert SVG in items[-1].text, "what a capability drew stands with the answer"


def test_an_answer_and_its_calls_know_their_run() -> None:
    step = {"kind": "call", "id": "a", "seq": 3, "ms": 48.0, "error": "ETIMEDOUT"}
    run = Run("web:1", "s", "main", "message", "message", "said", 10.0, 5.0, steps=(step,))
    items = read(user("x"), calling(call("a", "t")), result("a"), say("y", at=15.0), runs=(run,))

    assert items[-1].run is run
    made = items[1].call
    assert made is not None
    assert (made.ms, made.error) == (48.0, "ETIMEDOUT")
    assert read(user("x"), say("y", at=99.0), runs=(run,))[-1].run is None


def test_secrets_are_taken_out_of_everything_that_is_shown() -> None:
    document = Document().add(
        user("my key is HUSH"),
        calling(call("a", "t", key="HUSH"), text="HUSH?"),
        result("a", '{"ok":"HUSH"}'),
        Message("user", "HUSH", origin=RUNTIME_ORIGIN),
        make_inbox([{"from": "x", "content": "HUSH"}], 1.0),
    )
    items = read_talk(document.messages, (), (), lambda text: text.replace("HUSH", "…"))

    assert "HUSH" not in repr(items)
    assert len(items) == 5


def test_what_left_stands_where_it_was_said_and_keeps_its_name() -> None:
    """A history keeps its first message when it is shortened."""
    sessions = Sessions(MemoryKV())
    whole = Document().add(
        user("first"),
        calling(call("a", "sigil_query", query="x")),
        result("a", '{"ok":1}', offer("encode"), offer("hash")),
        say("two"),
        user("third"),
        calling(call("b", "sigil_query", query="y")),
        result("b", '{"ok":1}', offer("hash")),
        say("four"),
    )
    before = load_talk(sessions, KEY, whole)
    dropped = whole.messages[1:4]
    sessions.archive(KEY, dropped)
    short = replace(whole, messages=(whole.messages[0], *whole.messages[4:]))
    after = load_talk(sessions, KEY, short)

    assert [item.id for item in after.items] == [item.id for item in before.items]
    assert [item.id for item in after.items if item.is_gone] == ["c2-0", "m4"]
    assert not any(item.is_gone for item in before.items)
    assert [each.tool for each in after.left] == ["cap_encode"], "the other one was found again"
    assert not after.has_earlier


def test_a_long_talk_is_shown_in_parts_that_meet() -> None:
    sessions = Sessions(MemoryKV())
    turns = [each for number in range(150) for each in (user(f"ask {number}"), say(f"{number}"))]
    whole = Document().add(*turns)
    sessions.archive(KEY, whole.messages[1:140])
    sessions.archive(KEY, whole.messages[140:280])
    short = replace(whole, messages=(whole.messages[0], *whole.messages[280:]))

    seen: list[str] = []
    before = 0
    for _ in range(10):
        talk = load_talk(sessions, KEY, short, before=before)
        assert len(talk.items) <= SHOWN_MOST * 2
        seen = [*(item.id for item in talk.items), *seen]
        before = talk.first
        if not talk.has_earlier:
            break
    assert seen == [f"m{seq}" for seq in range(1, 301)]


def test_the_working_set_agrees_with_the_next_prompt(
    runtime: Callable[..., AgentRuntime],
) -> None:
    app = runtime().app
    whole = Document().add(
        user("first"),
        calling(call("a", "sigil_query", query="encode it")),
        result("a", '{"ok":1}', offer("encode")),
        calling(call("b", "cap_encode"), call("c", "cap_encode")),
        result("b"),
        result("c"),
        *(each for number in range(20) for each in (user(f"{number}"), say(f"{number}"))),
        user("last"),
        calling(call("d", "sigil_query", query="hash it")),
        result("d", '{"ok":1}', offer("hash", 40)),
        say("done"),
    )
    found = read_working_set(KEY, whole, app, left=(offer("old"),))
    preview = preview_prompt(KEY, whole, app)

    assert found.used == preview.tokens == sum(size for _, size in found.parts)
    assert found.window == app.model.window
    tools = [(tool.name, tool.query, tool.calls, tool.leaves) for tool in found.tools]
    assert tools == [("hash", "hash it", 0, False), ("encode", "encode it", 2, True)]
    paged = dict(found.parts)["tool"]
    assert paged == found.tools[0].tokens, "what leaves is in no figure of the next request"
    assert [tool.name for tool in found.left] == ["old"]
    assert found.always == ("sigil_query", "sigil_deploy")
