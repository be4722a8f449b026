"""`sigil grant`, `grants` and `revoke`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.fakes.server import RecordingServer
from tests.sigil.cli.conftest import REMOTE_TOKEN, CommandResult, Sigil, remote_url

__all__ = ["remote_url"]

HTTP = ["GET api.example.com/v1/"]


FETCH = "return (await fetch('https://api.example.com/v1/x')).status"


@pytest.fixture
def weather(run_sigil: Sigil) -> Sigil:
    """Like `run_sigil`, with a capability `weather` that asks for the web and a secret."""
    deploy(run_sigil, FETCH, HTTP)
    return run_sigil


def deploy(run_sigil: Sigil, execute: str, http: list[str]) -> None:
    folder = Path("weather")
    folder.mkdir(exist_ok=True)
    text = '[capability]\nname = "weather"\ndescription = "The weather."\n[permissions]\n'
    (folder / "sigil.toml").write_text(
        f'{text}http = {json.dumps(http)}\nsecrets = ["API_KEY@api.example.com"]\n'
    )
    (folder / "main.js").write_text(execute)
    result = run_sigil("deploy", "weather")
    assert result.code == 0, result.err


def test_a_grant_is_shown_before_it_is_given(weather: Sigil) -> None:
    nobody = weather("grant", "weather")
    assert (nobody.code, "add --yes" in nobody.err) == (2, True)
    assert "+ http:GET api.example.com/v1/" in nobody.err

    given = weather("grant", "weather", "--yes")
    assert given.code == 0
    assert "+ secret:API_KEY@api.example.com" in given.err
    assert "the secret API_KEY is not set: sigil secret set API_KEY" in given.err
    assert "nothing to grant" in weather("grant", "weather").err


def test_what_is_more_than_before_is_marked(weather: Sigil) -> None:
    weather("grant", "weather", "--yes")
    deploy(weather, FETCH, [*HTTP, "POST api.example.com/v1/"])
    shown = weather("grant", "weather").err
    assert "+ http:GET api.example.com/v1/" in shown
    assert "! http:POST api.example.com/v1/" in shown
    assert "granted before: sha256:" in shown


def test_what_waits_and_what_stands_is_listed_and_taken_back(weather: Sigil) -> None:
    assert "waits" in weather("grants").out
    assert weather("--json", "grants").document["items"][0]["state"] == "waits"
    assert weather("--json", "grant", "weather", "--yes").document["new"] == []
    assert "stands" in weather("grants").out
    assert weather("--json", "revoke", "weather", "http:GET api.example.com/v1/").document[
        "revoked"
    ] == ["http:GET api.example.com/v1/"]
    assert {row["state"] for row in weather("--json", "grants").document["items"]} == {
        "waits",
        "stands",
    }
    assert weather("revoke", "weather").code == 0
    assert weather("revoke", "weather").code == 3
    assert weather("grant", "unknown", "--yes").code == 3


def test_another_namespaces_grants_are_reached_by_name_or_option(
    weather: Sigil, monkeypatch: pytest.MonkeyPatch
) -> None:
    weather("remove", "weather", "--yes")
    monkeypatch.setenv("UNCAGED_AGENT", "alice")
    deploy(weather, FETCH, HTTP)
    monkeypatch.delenv("UNCAGED_AGENT")

    assert weather("grant", "weather", "--yes").code == 3
    assert "nothing waits" in weather("grants").err
    assert "waits" in weather("grants", "--namespace", "alice").out
    granted = weather("grant", "alice/weather", "--yes")
    assert "(alice) asks for" in granted.err
    assert "sigil secret set API_KEY --namespace alice" in granted.err
    assert "nothing to grant" in weather("grant", "weather", "--namespace", "alice").err
    assert weather("grant", "alice/weather", "--namespace", "bob").code == 2
    assert (
        weather("versions", "alice/weather").out
        == weather("versions", "weather", "--namespace", "alice").out
    )
    assert weather("rollback", "alice/weather", "1").err == "was active already\n"
    assert "is withdrawn" in weather("yank", "alice/weather@1").err
    assert weather("yank", "weather@1", "--undo", "--namespace", "alice").code == 0
    assert weather("revoke", "weather", "--namespace", "alice").code == 0
    assert weather("revoke", "alice/weather").code == 3
    assert weather("remove", "alice/weather", "--yes").code == 0
    assert weather("grants", "--namespace", "alice", "--json").document == {"items": []}


def test_a_deploy_says_how_what_it_waits_for_is_granted(run_sigil: Sigil) -> None:
    folder = Path("weather")
    folder.mkdir()
    asks = '[permissions]\nhttp = ["GET api.example.com/"]\n'
    (folder / "sigil.toml").write_text(
        f'[capability]\nname = "weather"\ndescription = "W."\n{asks}'
    )
    (folder / "main.js").write_text("return 1")
    said = run_sigil("deploy", "weather").err
    assert said.endswith(
        "waits for an owner: http:GET api.example.com/\ngrant it: sigil grant weather\n"
    )
    assert "http:GET api.example.com/  waits for an owner" in run_sigil("inspect", "weather").out
    run_sigil("grant", "weather", "--yes")
    assert "http:GET api.example.com/  granted" in run_sigil("inspect", "weather").out


def test_a_granted_request_is_made(run_sigil: Sigil, monkeypatch: pytest.MonkeyPatch) -> None:
    with RecordingServer() as server:
        place = server.url.removeprefix("http://")
        deploy(run_sigil, f"return await (await fetch('{server.url}/x')).json()", [f"GET {place}/"])
        assert (
            "waits for an owner's grant: `sigil grant weather`" in run_sigil("run", "weather").err
        )
        run_sigil("grant", "weather", "--yes")
        assert "only https is allowed" in run_sigil("run", "weather").err
        monkeypatch.setenv("SIGIL_LOOPBACK", "yes")
        assert run_sigil("run", "weather").document == {"ok": True}
        assert len(server.requests) == 1


def test_a_deploy_token_grants_calls_and_is_told_what_waits_for_an_owner(
    run_sigil: Sigil, remote_url: str
) -> None:
    def far(token: str, *words: str) -> CommandResult:
        return run_sigil(*words, "--url", remote_url, "--token", token)

    def key(namespace: str) -> str:
        words = ("keys", "create", "--kind", "deploy", "--namespace", namespace, "--json")
        return str(far(REMOTE_TOKEN, *words).document["token"])

    bob, ada = key("bob"), key("ada")
    far(bob, "deploy", "--name", "open", "--execute", "return 1", "--public")
    asks = ("--permission", "call:bob/open", "--permission", "http:GET x.example/")
    far(ada, "deploy", "--name", "asks", "--execute", "return 1", *asks)
    given = far(ada, "grant", "asks", "--yes")
    assert (given.code, given.err.splitlines()[-1]) == (
        0,
        "waits for an owner: http:GET x.example/",
    )
    refused = far(ada, "grant", "asks")  # without a question: there is nothing to decide
    assert (refused.code, "only an owner grants http:GET x.example/" in refused.err) == (5, True)
    assert "`sigil grant ada/asks`" in refused.err
    rows = far(ada, "grants", "--json").document["items"]
    assert [(row["state"], row["permissions"]) for row in rows] == [
        ("waits", ["http:GET x.example/"]),
        ("stands", ["call:bob/open"]),
    ]
    assert far(ada, "revoke", "asks").code == 0
    assert far(bob, "revoke", "asks").code == 3
    assert far(ada, "yank", "asks@1").code == 0
    assert far(bob, "remove", "asks", "--yes").code == 3
    assert far(ada, "remove", "asks", "--yes").code == 0
