"""`uncaged agent memory`, as a person types it: what is remembered, and forgetting it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from functions.wiring import AgentRuntime
from sigil.errors import SigilError, UsageError
from tests.fakes.model import ScriptedModel, call, results, say
from tests.functions.agent.services.conftest import services
from tests.functions.agent.talk import tell
from tests.functions.cli.commands.test_documents import Run, run

__all__ = ["run", "services"]
Open = Callable[..., AgentRuntime]
FACT = {"subject": "Ada", "predicate": "is allergic to", "object": "nuts", "source": "user"}
VALUE = {"key": "rate", "value": "1 EUR = 1.1 USD", "source": "https://rates.example/"}
EVENT = {
    "type": "outage",
    "payload": "the site was down",
    "source": "https://status.example/1",
    "when": "2026-05-01",
}
SHOP = {"key": "shop", "value": "opens at nine", "source": "user", "shared": True}


@pytest.fixture
def run_with_memory(
    runtime: Open, model: ScriptedModel, tmp_path: Path, run: Run, services: Path
) -> Run:
    """The command, of an agent that remembers a fact, a value and an event in one chat, and one
    thing in all.
    """
    home = runtime(llm_url=model.url, data=str(tmp_path / "data"), library=str(services))
    model.then(
        call(("sigil_query", {"query": "remember this"})),
        call(*(("cap_remember", each) for each in (FACT, VALUE, EVENT, SHOP))),
        say("ok"),
    )
    assert tell(home, "keep that in mind") == ["ok"]
    return run


def rows(run: Run, *words: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(run("memory", *words, "--json").stdout)
    return found


def test_what_a_chat_remembers_is_shown_the_newest_first_with_its_source(
    run_with_memory: Run,
) -> None:
    found = rows(run_with_memory, "--session", "telegram:7")

    assert [row["kind"] for row in found][-1] == "event", "which happened in May"
    fact = next(row for row in found if row["kind"] == "fact")
    assert {name: fact[name] for name in FACT} == FACT
    assert (fact["confidence"], fact["by"], len(fact["id"])) == (1.0, "terminal:local", 16)
    people = run_with_memory("memory", "--session", "telegram:7").stdout
    assert people.splitlines()[0].split() == [
        "id",
        "kind",
        "what",
        "when",
        "source",
        "confidence",
        "by",
    ]
    assert "Ada is allergic to nuts" in people
    assert "rate: 1 EUR = 1.1 USD" in people


@pytest.mark.parametrize(
    ("kind", "about"), [("facts", "subject"), ("kv", "key"), ("events", "type")]
)
def test_one_kind_alone_is_shown(run_with_memory: Run, kind: str, about: str) -> None:
    (row,) = rows(run_with_memory, "--session", "telegram:7", "--kind", kind)
    assert about in row


def test_without_a_chat_there_is_what_all_chats_share(run_with_memory: Run) -> None:
    assert [row["value"] for row in rows(run_with_memory)] == ["opens at nine"]
    assert rows(run_with_memory, "--session", "telegram:8") == []


def test_a_thing_is_forgotten_by_its_id(
    run_with_memory: Run, runtime: Open, model: ScriptedModel, tmp_path: Path
) -> None:
    (fact,) = rows(run_with_memory, "--session", "telegram:7", "--kind", "facts")

    assert (
        run_with_memory("memory", "forget", fact["id"], "--session", "telegram:7").stderr
        == "forgotten: Ada is allergic to nuts\n"
    )

    assert rows(run_with_memory, "--session", "telegram:7", "--kind", "facts") == []
    home = runtime(llm_url=model.url, data=str(tmp_path / "data"))
    model.then(
        call(("sigil_query", {"query": "what do you remember"})),
        call(("cap_recall", {"query": "nuts"})),
        say("nothing"),
    )
    tell(home, "what am I allergic to?")
    assert '"items":[]' in results(model.bodies[-1])[-1]


def test_a_chats_things_are_forgotten_in_that_chat_alone(run_with_memory: Run) -> None:
    (shared,) = rows(run_with_memory)
    with pytest.raises(UsageError, match="ENOENT"):
        run_with_memory("memory", "forget", shared["id"], "--session", "telegram:7")
    assert json.loads(run_with_memory("memory", "forget", shared["id"], "--json").stdout) == {
        "forgotten": shared["id"]
    }
    assert len(rows(run_with_memory, "--session", "telegram:7")) == 3


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("forget 12", "EINVAL"),
        ("forget 0f3a5c1e9b7d246x", "EINVAL"),
        ("forget 0f3a5c1e9b7d2468", "ENOENT"),
        ("--session nowhere", "EUSAGE"),
        ("forget 0f3a5c1e9b7d2468 --session nowhere", "EUSAGE"),
    ],
)
def test_what_cannot_be_is_said_to_be_wrong(run: Run, words: str, code: str) -> None:
    with pytest.raises(SigilError, match=code):
        run("memory", *words.split())


def test_nothing_remembered_is_said_to_be_nothing(run: Run) -> None:
    assert run("memory").stderr.startswith("nothing is shared by all chats;")
    assert (
        run("memory", "--session", "telegram:7", "--kind", "facts").stderr
        == "no facts are remembered in telegram:7\n"
    )


def test_a_chat_that_shares_its_memory_shows_the_shared_one(
    runtime: Open, tmp_path: Path, run_with_memory: Run
) -> None:
    home = runtime(data=str(tmp_path / "data"), access="open")
    other = {"session": "telegram:9"}
    code = tell(home, "/link")[0].partition("`/link ")[2].partition("`")[0]
    tell(home, f"/link {code}", **other)
    own = run_with_memory("memory", "--session", "telegram:7", "--json").stdout
    assert json.loads(own)
    assert run_with_memory("memory", "--session", "telegram:9", "--json").stdout == own


def test_what_is_true_no_longer_is_shown_with_when_it_ended(
    run_with_memory: Run, tmp_path: Path, runtime: Open, model: ScriptedModel, services: Path
) -> None:
    home = runtime(llm_url=model.url, data=str(tmp_path / "data"), library=str(services))
    model.then(call(("cap_remember", FACT | {"object": "milk", "replaces": "nuts"})), say("ok"))
    tell(home, "it was milk")

    shown = rows(run_with_memory, "--session", "telegram:7", "--kind", "facts")
    assert [(row["object"], "ended" in row) for row in shown] == [("milk", False), ("nuts", True)]
    table = run_with_memory("memory", "--session", "telegram:7").stdout
    assert "ended" in table.partition("\n")[0]
