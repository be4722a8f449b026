"""`sigil logs`: the last runs of a capability, for its owner."""

from __future__ import annotations

import pytest

from sigil.cli.commands import logs
from sigil.protocol import Caller
from tests.sigil.cli.conftest import (
    REMOTE_TOKEN,
    CommandResult,
    Sigil,
    place,
    remote_url,
    run_sigil,
)

__all__ = ["place", "remote_url", "run_sigil"]
TALKS = "console.log(`saw ${input.text}`); if (!input.text) throw new Error('no'); return 1"
DEPLOY = ("deploy", "--name", "talks", "--execute", TALKS, "--permission", "log")


def codes(result: CommandResult) -> list[tuple[int, str, list[str]]]:
    """Return each run's version, end and lines."""
    assert result.code == 0, result.err
    rows = result.document["items"]
    return [(row["version"], row["code"], row["logs"]) for row in rows]


def test_the_last_runs_are_shown_with_size_end_time_and_lines(run_sigil: Sigil) -> None:
    assert run_sigil(*DEPLOY).code == 0
    assert "no run is known" in run_sigil("logs", "talks").err
    run_sigil("run", "talks", "--arg", "text=Ada")
    run_sigil("run", "talks", "--arg", "text=")
    shown = run_sigil("logs", "talks", "--json")
    assert codes(shown) == [(1, "ok", ["saw Ada"]), (1, "ETHROWN", ["saw"])]
    first = shown.document["items"][0]
    assert (first["input_bytes"], first["chat"], first["lines"]) == (14, "", 1)
    assert first["ms"] > 0
    table = run_sigil("logs", "talks").out
    assert "14 B" in table
    assert "saw Ada" in table
    assert len(run_sigil("logs", "talks", "--limit", "1", "--json").document["items"]) == 1
    assert run_sigil("logs", "talk").code == 3


def test_a_remote_registry_shows_runs_to_its_owner_alone(run_sigil: Sigil, remote_url: str) -> None:
    def far(*words: str, token: str = REMOTE_TOKEN) -> CommandResult:
        return run_sigil(*words, "--url", remote_url, "--token", token)

    assert far(*DEPLOY).code == 0
    far("run", "talks", "--arg", "text=Ada")
    far("run", "talks", "--arg", "text=Bo")
    assert [row[2] for row in codes(far("logs", "talks", "--json"))] == [["saw Ada"], ["saw Bo"]]
    token = far("keys", "create", "--json").document["token"]
    deployer = far("keys", "create", "--kind", "deploy", "--json").document["token"]
    for other in (token, deployer):
        refused = far("logs", "talks", token=other)
        assert "only an owner sees a capability's runs" in refused.err
    # its own version's runs, whoever called it, and not those of the owner's version
    code = ("--execute", TALKS.replace("saw", "met"), "--permission", "log")
    assert far("deploy", "--name", "talks", *code, token=deployer).code == 0
    far("run", "talks", "--arg", "text=Cy")
    assert codes(far("logs", "talks", "--json", token=deployer)) == [(2, "ok", ["met Cy"])]


def test_of_a_run_in_a_chat_no_line_and_no_name_is_kept(run_sigil: Sigil, place: object) -> None:

    from sigil import wiring
    from sigil.settings import Settings

    assert run_sigil(*DEPLOY).code == 0
    settings = Settings.read()
    registry = wiring.local_registry(settings, wiring.open_stores(settings))
    registry.run("talks", {"text": "private"}, Caller("main", "telegram:77"))
    registry.close()
    assert codes(run_sigil("logs", "talks", "--session", "telegram:77", "--json")) == [
        (1, "ok", [])
    ]
    assert codes(run_sigil("logs", "talks", "--session", "telegram:78", "--json")) == []
    assert "ok (in a chat)" in run_sigil("logs", "talks").out
    assert "(1 line not kept)" in run_sigil("logs", "talks").out


def test_new_runs_are_followed_until_ctrl_c(
    run_sigil: Sigil, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run_sigil(*DEPLOY).code == 0
    run_sigil("run", "talks", "--arg", "text=Ada")
    pauses = iter([0.0])

    def wait(seconds: float) -> None:
        if next(pauses, None) is None:
            raise KeyboardInterrupt

    monkeypatch.setattr(logs.time, "sleep", wait)
    followed = run_sigil("logs", "talks", "--follow", "--json")
    assert followed.code == 130
    assert followed.out.count("saw Ada") == 1
