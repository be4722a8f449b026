"""Memory from outside on the stores that several machines share: what is kept there is found there
by the next process.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from functions.texts.en import TEXTS as ENGLISH
from functions.wiring import AgentRuntime
from sigil.storage.kv.dynamodb_table import create_table
from tests.fakes.model import ScriptedModel, call, results, say
from tests.functions.agent.talk import tell
from tests.library import copy_capabilities
from tests.servers.ministack import unique
from tests.servers.valkey import shared

Open = Callable[..., AgentRuntime]
NUTS = {"subject": "Ada", "predicate": "is allergic to", "object": "nuts", "source": "user"}


@pytest.fixture
def services(tmp_path: Path) -> Path:
    names = ("remember", "recall", "forget", "search-history")
    return copy_capabilities(tmp_path / "services", *names)


@pytest.fixture(params=["redis", "dynamodb"])
def store(request: pytest.FixtureRequest) -> str:
    """Return the name of a fresh store, as settings have it."""
    if request.param == "redis":
        shared().do("FLUSHALL")
        return shared().url
    request.getfixturevalue("aws_here")
    create_table(table := unique("memory"))
    return f"dynamodb://{table}"


def test_what_was_said_and_remembered_is_found_by_the_next_process(
    runtime: Open, model: ScriptedModel, services: Path, store: str, tmp_path: Path
) -> None:
    def process(number: int) -> AgentRuntime:
        return runtime(
            llm_url=model.url,
            library=str(services),
            store=store,
            data=str(tmp_path / str(number)),
            tokens_per_day=0,
        )

    def does(home: AgentRuntime, tool: str, given: dict[str, object]) -> dict[str, object]:
        model.then(
            call(("sigil_query", {"query": tool})),
            call((f"cap_{tool.replace('-', '_')}", given)),
            say("done"),
        )
        assert tell(home, "please") == ["done"]
        answer: dict[str, object] = json.loads(results(model.bodies[-1])[-1].partition("\n")[0])[
            "ok"
        ]
        return answer

    first = process(1)
    model.then(say("Good to know."))
    tell(first, "The boat is called Zephyr.")
    does(first, "remember", NUTS)
    model.then(
        call(
            (
                "save_memory",
                {
                    "history_entry": "[2026-11-22 01:30] Ada told of a boat.",
                    "memory_update": "- Ada has a boat.",
                },
            )
        )
    )
    assert tell(first, "/mem") == [ENGLISH.mem_triggered]
    tell(first, "/new")
    documents = first.app.documents
    for text in ("You sell tea.", "You sell boats."):
        documents.write(documents.agent, "role", text, by="test")
    documents.roll_back(documents.agent, "role", 1, "test")

    second = process(2)
    assert [item["object"] for item in does(second, "recall", {"query": "allergic"})["items"]] == [
        "nuts"
    ]  # type: ignore[attr-defined]
    system = model.bodies[-1]["messages"][0]["content"]
    assert "You sell tea." in system
    assert "- Ada has a boat." in system
    found = does(second, "search-history", {"query": "what is the boat called"})
    assert "The boat is called Zephyr." in str(found["items"])
    assert "Ada told of a boat." in str(found["items"])
    assert found["complete"] is True
    assert does(second, "forget", {"subject": "ada"}) == {"forgotten": 1, "left": 0}
    assert "Zephyr" in tell(second, "/recall boat")[0]
    assert does(first, "recall", {"query": "allergic"})["items"] == []
    assert [doc.version for doc in second.app.documents.list_versions(documents.agent, "role")] == [
        3,
        2,
        1,
    ]
    model.then(
        call(
            (
                "save_memory",
                {
                    "history_entry": "[2026-11-22 01:40] They forgot.",
                    "memory_update": "- Ada has a boat.",
                },
            )
        )
    )
    assert tell(second, "/mem") == [ENGLISH.mem_triggered]
    assert tell(first, "/mem") == [ENGLISH.mem_nothing_new]
