"""`uncaged inbox` over a store that a server filled."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from functions.agent.agents.record import AgentRecord, add_agent
from functions.cli.app import cli
from functions.queues import dead_letters
from functions.wiring import AgentRuntime
from functions.worker import process
from sigil.storage.kv import keys
from tests.fakes.model import ScriptedModel, say
from tests.functions.agent.talk import event


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., tuple[int, str]]:
    monkeypatch.setenv("UNCAGED_DATA", str(tmp_path))

    def command(*arguments: str) -> tuple[int, str]:
        done = CliRunner().invoke(cli, arguments)
        code = getattr(done.exception, "code", done.exit_code)
        return (1, str(code)) if isinstance(code, str) else (done.exit_code, done.output)

    return command


def test_what_waits_is_listed_in_its_order(
    runtime: Callable[..., AgentRuntime], run: Callable[..., tuple[int, str]]
) -> None:
    home = runtime()
    assert run("inbox", "list") == (0, "no event waits\n")
    for text in ("first", "second", "/stop"):
        home.queue.put(event(text))

    code, shown = run("inbox", "list", "--json")

    assert code == 0
    assert sorted(row["text"] for row in json.loads(shown)) == ["/stop", "first", "second"]
    assert [row["text"] for row in json.loads(shown) if row["text"] != "/stop"] == [
        "first",
        "second",
    ]
    assert "'first'" in run("inbox", "list")[1]


def test_a_dead_letter_is_shown_retried_and_dropped(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel, run: Callable[..., tuple[int, str]]
) -> None:
    home = runtime(llm_url=model.url)
    poison, other = event("poison\x1b[31m"), event("other")
    assert dead_letters.give_up(home.stores.kv, poison, "its turn failed at every try", 1.0) == 1.0
    assert dead_letters.give_up(home.stores.kv, poison, "again", 2.0) == 1.0
    dead_letters.note_sender_told(home.stores.kv, poison)
    assert dead_letters.give_up(home.stores.kv, poison, "again", 3.0) is None
    dead_letters.give_up(home.stores.kv, other, "why not", 1.0)
    assert "its turn failed at every try" in run("inbox", "dead")[1]
    assert "\x1b" not in run("inbox", "dead")[1]

    code, new = run("inbox", "retry", poison.id)
    assert code == 0
    assert new.strip() != poison.id
    delivery = home.queue.take(0)
    assert delivery is not None
    assert (delivery.event.id, delivery.event.text) == (new.strip(), poison.text)
    model.then(say("better now"))
    process(delivery, home)
    assert len(model.bodies) == 1

    assert run("inbox", "drop", other.id)[0] == 0
    assert json.loads(run("inbox", "dead", "--json")[1]) == []


def test_nobody_is_shown_the_address_of_a_reply_which_may_hold_a_token(
    runtime: Callable[..., AgentRuntime], run: Callable[..., tuple[int, str]]
) -> None:
    home = runtime()
    waiting, dead = (replace(event(text), reply_to="a-token") for text in ("waits", "is dead"))
    home.queue.put(waiting)
    dead_letters.give_up(home.stores.kv, dead, "its turn failed at every try", 1.0)
    for command in ("list", "dead"):
        for options in ((), ("--json",)):
            code, shown = run("inbox", command, *options)
            assert code == 0
            assert waiting.text in shown or dead.text in shown
            assert "a-token" not in shown
    assert "a-token" not in repr(waiting)


def test_bytes_that_are_no_event_can_be_seen_and_dropped_only(
    runtime: Callable[..., AgentRuntime], run: Callable[..., tuple[int, str]]
) -> None:
    home = runtime()
    session = keys.session_of("main", "telegram:7")
    home.stores.kv.put(keys.inbox_event(session, "1"), b"garbage")
    home.stores.kv.put(keys.ready_session(session), b"{}")
    assert home.queue.take(0) is None

    (row,) = json.loads(run("inbox", "dead", "--json")[1])

    assert run("inbox", "retry", row["event"])[0] == 1
    assert run("inbox", "drop", row["event"])[0] == 0
    assert json.loads(run("inbox", "dead", "--json")[1]) == []


def test_what_waits_for_an_agent_below_the_root_is_listed_apart(
    runtime: Callable[..., AgentRuntime], run: Callable[..., tuple[int, str]]
) -> None:
    home = runtime()
    add_agent(home.stores.kv, "main", "alice", AgentRecord("agent", "enabled", 1.0, "x"))
    home.queue.put(event("to the root"))
    own = replace(event("to alice"), agent="main.alice", kind="task", session="own:main")
    home.work.put(own)
    for lost in (event("lost"), replace(own, id="1:lost", agent="main.ghost", text="gone")):
        dead_letters.give_up(home.stores.kv, lost, "nobody is there", 1.0)

    def read(*arguments: str) -> list[tuple[str, str]]:
        rows = json.loads(run("inbox", *arguments, "--json")[1])
        return sorted((row["agent"], row["text"]) for row in rows)

    assert read("list") == [("main", "to the root"), ("main.alice", "to alice")]
    assert read("list", "--agent", "main") == [("main", "to the root")]
    assert read("list", "--agent", "alice") == [("main.alice", "to alice")]
    assert "  main.alice own:main  'to alice'" in run("inbox", "list", "--agent", "alice")[1]
    assert read("dead", "--agent", "alice") == []
    # also of one that is not there any more
    assert read("dead", "--agent", "ghost") == [("main.ghost", "gone")]
    for unknown in ("alicia", "../x"):
        code, said = run("inbox", "list", "--agent", unknown)
        assert code != 0
        assert "ENOENT" in said or "EINVAL" in said
