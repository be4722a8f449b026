"""`uncaged ledger` shows, exports and checks what an agent began and spent."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from functions.agent.management import ledger
from functions.cli.app import cli
from functions.wiring import AgentRuntime
from sigil.storage.kv import Key, keys
from tests.fakes.model import ScriptedModel, call, say
from tests.functions.agent.talk import tell


def test_what_is_decided_on_the_machine_is_in_a_chain_of_its_own(
    runtime: Callable[..., AgentRuntime], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("UNCAGED_DATA", str(tmp_path))
    home = runtime()
    file = tmp_path / "policy.toml"
    for rule in ("deny guest call a", "deny guest call b", "deny guest call c"):
        file.write_text(f'format = 1\npreset = "standard"\nrules = ["{rule}"]\n')
        done = CliRunner().invoke(cli, ["policy", "set", str(file)])
        assert done.exit_code == 0, done.output
    entries = list(ledger.scan_entries(home.app, "main", 0.0))
    assert [(row["what"], row["by"], row["kind"]) for row in entries] == [
        ("policy", "terminal:local", "machine")
    ] * 3
    assert [row["facts"] for row in entries] == [{"version": number} for number in (1, 2, 3)]
    assert ledger.verify(home.app, "main").entries == 3
    partition = keys.ledger_entries("main", "", 0).partition
    _, (second, _), _ = home.stores.kv.scan(partition)
    home.stores.kv.delete(Key(partition, second))
    assert "entry 2" in ledger.verify(home.app, "main").problem


def test_a_changed_entry_is_named_and_nothing_else_is_shown_of_a_chat(
    runtime: Callable[..., AgentRuntime],
    model: ScriptedModel,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("UNCAGED_DATA", str(tmp_path))

    def run(*words: str) -> tuple[int, str]:
        done = CliRunner().invoke(cli, ["ledger", *words])
        return done.exit_code, done.output

    assert run("--json") == (0, '{"items":[]}\n')
    home = runtime(llm_url=model.url)
    model.then(call(("sigil_query", {"query": "a secret"})), say("a secret"))
    tell(home, "a secret")

    code, shown = run()
    assert (code, "secret" in shown) == (0, False)
    for part in ("request", "call", "name=sigil_query", "terminal:local", "prompt="):
        assert part in shown
    exported = [json.loads(line) for line in run("export")[1].splitlines()]
    assert [row["what"] for row in exported] == ["request", "call", "request"]
    assert [row["seq"] for row in exported] == [1, 2, 3]
    assert run("export", "--since", "2999-01-01") == (0, "")
    assert run("verify") == (0, "main: 3 entries in 1 chain hold\n")
    assert json.loads(run("verify", "--json")[1])["ok"]

    partition = keys.ledger_entries("main", "", 0).partition
    ((sort, item),) = home.stores.kv.scan(partition)
    value = item.value.replace(b'"sigil_query"', b'"sigil_queri"')
    home.stores.kv.put(Key(partition, sort), value)
    code, told = run("verify")
    assert code == 1
    assert "entry 2 of chain" in told
    assert not json.loads(run("verify", "--json")[1])["ok"]
