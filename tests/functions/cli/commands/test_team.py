"""`uncaged team`, as a person types it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from functions import worker
from functions.agent.team.template import find_example, parse_template
from functions.cli.app import cli
from functions.wiring import AgentRuntime
from sigil.errors import SigilError
from tests.fakes.model import ScriptedModel, say


def run(*arguments: str) -> str:
    done = CliRunner().invoke(cli, ["team", *arguments])
    if isinstance(done.exception, SigilError):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.output


def test_a_teammate_is_spawned_from_a_file_written_to_listed_saved_and_stopped(
    runtime: Callable[..., AgentRuntime],
    model: ScriptedModel,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    home = runtime(llm_url=model.url, library="builtin")
    monkeypatch.setenv("UNCAGED_DATA", str(tmp_path))

    def work_off() -> None:
        for queue in filter(None, (home.queue, home.work)):
            while delivery := queue.take(0.0):
                worker.process(delivery, replace(home, queue=queue))

    assert "No teammates." in run("list")
    model.then(say("[SILENT]"), say("well"), say("I stop"))
    assert "Spawned 'alice' (role: coder)" in run("spawn", "alice", "--file", "coder", "--stay")
    work_off()
    assert "You write and repair code" in str(model.bodies[0])
    assert "Sent message to alice" in run("mail", "alice", "look at the tests")
    work_off()
    assert "look at the tests" in str(model.bodies[1])
    (row,) = json.loads(run("list", "--json"))["items"]
    assert (row["name"], row["role"], row["status"], row["stay"]) == (
        "alice",
        "coder",
        "idle",
        True,
    )

    example = find_example("coder")
    assert example is not None
    saved = tmp_path / "alice.md"
    run("save", "alice", str(saved))
    assert parse_template(saved.read_text()) == replace(example, stay=True)
    spawned = run("spawn", "bob", "--file", str(saved), "--role", "tester")
    assert "no model is connected, so bob does" in spawned

    assert "sent to 'alice'" in run("stop", "alice")
    work_off()
    assert [row["status"] for row in json.loads(run("list", "--json"))["items"]] == [
        "shutdown",
        "idle",
    ]
    for words, problem in (
        (("stop", "carol"), "no teammate 'carol'"),
        (("mail", "alice", "x"), "was stopped by a person"),
        (("mail", "carol", "x"), "no teammate 'carol'"),
        (("spawn", "Al ice", "--prompt", "x"), "no name"),
        (("spawn", "alice"), "say what they are to do"),
        (("spawn", "alice", "--file", "nowhere.md"), "cannot be read"),
    ):
        with pytest.raises(SigilError, match=problem):
            run(*words)
