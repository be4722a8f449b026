"""`uncaged agent create`, `bind` and so on, as a person at the shell sees them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from functions.agent.safety.hp import HpRecord
from functions.cli.app import cli
from functions.wiring import AgentRuntime
from sigil.errors import SigilError
from sigil.storage.kv import keys
from sigil.storage.stored import dumps
from tests.fakes.bot_api import BotApi
from tests.fakes.model import ScriptedModel, say
from tests.functions.agent.agents.test_agents import list_texts, message, task, work
from tests.functions.people import platform

Run = Callable[..., str]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.setenv("UNCAGED_DATA", str(tmp_path))

    def command(*words: str) -> str:
        done = CliRunner().invoke(cli, words, catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.stdout

    return command


def refusal(*words: str) -> str:
    """Return the error of a command that is refused."""
    with pytest.raises(SigilError) as refused:
        CliRunner().invoke(cli, words, catch_exceptions=False)
    return f"{refused.value.code} {refused.value.message}; {refused.value.suggestion}"


def test_an_agent_from_its_beginning_to_its_end(
    runtime: Callable[..., AgentRuntime],
    bot: BotApi,
    model: ScriptedModel,
    run: Run,
    tmp_path: Path,
) -> None:
    home = runtime(llm_url=model.url, **platform(bot))
    assert "there is none yet" in CliRunner().invoke(cli, ["agent", "list"]).output
    made = json.loads(run("agent", "create", "alice", "--tokens", "90", "--ticks", "7", "--json"))
    assert (made["created"], made["agent"]) == ("alice", "main.alice")
    assert made["did"] == "did:uncaged:main.alice"
    (row,) = json.loads(run("agent", "list", "--json"))
    assert (row["name"], row["state"], row["tokens"], row["ticks"]) == ("alice", "enabled", 90, 7)
    assert "alice  sleeping  agent" in run("agent", "list", "--kind", "agent")
    assert json.loads(run("agent", "list", "--kind", "teammate", "--json")) == []
    assert (row["hp"]["hp"], row["hp"]["state"]) == (100_000, "ok")
    gone = dumps(HpRecord(0, time.time(), disabled=True))
    for name in ("main", "main.alice"):
        home.stores.kv.put(keys.hp(name), gone)
    assert "0 (disabled)" in run("agent", "list")
    assert "I do nothing by myself until an owner" in run("agent", "status")
    for name in ("main", "alice"):
        assert json.loads(run("agent", "enable", name, "--json"))["hp"] == 11_000
    report = json.loads(run("agent", "status", "--json"))["hp"]
    assert 11_000 <= report["hp"] < 11_100
    assert report["full_at"] > time.time() + 80_000

    assert run("agent", "bind", "telegram:42", "alice") == "alice answers in telegram:42\n"
    assert json.loads(run("agent", "bindings", "--json")) == [
        {"session": "telegram:42", "agent": "alice", "by": "terminal:local"}
    ]
    soul = tmp_path / "soul.md"
    soul.write_text("I am Alice of the hens.")
    run("agent", "doc", "write", "soul", str(soul), "--agent", "alice")
    assert "hens" in run("agent", "doc", "show", "soul", "--agent", "alice")
    assert "hens" not in run("agent", "doc", "show", "soul")
    assert "hens" in run("agent", "prompt", "telegram:42")
    model.then(say("cluck"), say("root"), say("root again"))
    handled = message("hello", 44)
    work(home, message("hello"), handled)
    assert "hens" in str(model.bodies[0])
    assert "hens" not in str(model.bodies[1])
    shown = json.loads(run("agent", "status", "--session", "telegram:42", "--json"))
    assert (shown["agent"], shown["agent_state"]) == ("main.alice", "enabled")
    assert shown["agent_spent"] > 0
    assert "Agent: alice of main (enabled)" in run("agent", "status", "--agent", "alice")

    run("agent", "halt", "alice")
    asked = len(model.bodies)
    work(home, message("hello"), task("main.alice"))
    assert len(model.bodies) == asked
    run("agent", "unlock", "alice")
    run("halt", "--session", "telegram:42")
    status = ("agent", "status", "--agent", "alice", "--session", "telegram:42")
    assert "SAFETY_LOCKOUT" in run(*status)
    run("unlock", "--session", "telegram:42")
    assert "SAFETY_LOCKOUT" not in run(*status)

    run("agent", "bind", "telegram:44", "alice")
    work(home, handled)  # it was answered by the root before
    assert len(model.bodies) == asked
    run("agent", "unbind", "telegram:44")

    run("agent", "disable", "alice")
    assert "EINVAL alice is disabled and cannot become archived; it can become enabled" in refusal(
        "agent", "archive", "alice"
    )
    assert "not enabled" in refusal("agent", "bind", "telegram:44", "alice")
    run("agent", "enable", "alice")
    run("agent", "archive", "alice")
    assert "it can become purged" in refusal("agent", "enable", "alice")
    work(home, message("hello"))
    assert list_texts(bot)[-1].startswith("root again")
    assert run("agent", "unbind", "telegram:42") == "main answers in telegram:42\n"
    assert json.loads(run("agent", "bindings", "--json")) == []


def test_what_is_no_agent_is_refused(run: Run) -> None:
    run("agent", "create", "alice")
    for words, why in (
        (("create", "alice"), "EEXIST"),
        (("create", "Alice"), "EINVAL"),
        (("create", "main"), "EINVAL"),
        (("create", "bob", "--access", "nobody"), "EINVAL access is open, members, owners"),
        (("create", "bob", "--guide", "nobodys"), "ESETTING"),
        (("create", "bob", "--tokens=-1"), "EINVAL"),
        (("halt", "bob"), "ENOENT"),
        (("disable", "main"), "EINVAL"),
        (("status", "--agent", "main.alice"), "EINVAL"),
        (("bind", "telegram:42", "bob"), "ENOENT"),
        (("bind", "telegram", "alice"), "EUSAGE"),
        (("unbind", ""), "EUSAGE"),
    ):
        assert refusal("agent", *words).startswith(why), words


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("cafe\u0301",), "EINVAL 'cafe\u0301' is no name of an agent"),
        (("a" * 256,), "is no name of an agent"),
        (("a\nb\u202e",), "EINVAL 'a b' is no name of an agent"),
        (("../al",), "is no name of an agent"),
        (("owner",), "EINVAL owner is what somebody or something else is called"),
        (("al", "--tokens", "-5"), "EINVAL tokens is a whole number from 0 to 999,999,999,999,999"),
        (("al", "--ticks", "9" * 30), "EINVAL ticks is a whole number from 0 to "),
        (("al", "--model", "m" * 201), "ETOOBIG model has at most 200 characters"),
        (("al", "--role", "binary"), "is no text in UTF-8"),
        (("al", "--self", "large"), "is too large for a document"),
        (("al", "--role", "nowhere"), "cannot be read"),
        (("al", "--role", "hidden"), "EINVAL role has an invisible character in line 1"),
    ],
    ids=lambda value: str(value)[:30].encode("ascii", "replace").decode(),
)
def test_what_can_be_no_agent_is_refused_with_the_reason(
    run: Run, tmp_path: Path, words: tuple[str, ...], why: str
) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00role")
    (tmp_path / "large").write_text("x" * 10_000_000)
    (tmp_path / "hidden").write_text("a\u202eb")
    files = [str(tmp_path / word) if word.isalpha() and len(word) > 2 else word for word in words]
    with_paths = files if "--role" in words or "--self" in words else words
    assert why in refusal("agent", "create", *with_paths)
    assert json.loads(run("agent", "list", "--json")) == []
