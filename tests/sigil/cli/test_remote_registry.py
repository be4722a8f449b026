"""A remote registry: commands work there, and each way in which it cannot be used is explained."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.fakes.server import ScriptedServer
from tests.servers.certificates import authority
from tests.sigil.cli.conftest import REMOTE_TOKEN, Sigil, error_answer
from tests.sigil.conftest import Scripted


def test_every_command_works_on_a_remote_registry(
    run_sigil: Sigil, remote_url: str, place: Path
) -> None:
    run_sigil("init", "greet")

    def run_remotely(*words: str) -> Any:
        return run_sigil(*words, "--url", remote_url, "--token", REMOTE_TOKEN)

    assert run_remotely("deploy", "greet").out.startswith("greet@1 sha256:")
    assert run_remotely("run", "greet", "-a", "text=Ada").out == "Hello, Ada!\n"
    assert run_remotely("query", "greet somebody").out.splitlines()[1].startswith("greet ")
    assert run_remotely("inspect", "greet", "--json").document["capability"] == "greet"
    assert run_remotely("list", "--json").document["items"][0]["capability"] == "greet"
    assert run_remotely("list", "--json").document["sandbox"]["cold"] >= 1
    assert run_remotely("list").err.startswith("sandbox: ")
    assert {"registry", "clock", "token"} <= {
        check["name"] for check in run_remotely("doctor", "--json").document["checks"]
    }
    assert run_remotely("run", "greet").code == 2
    assert run_remotely("run", "nothing").code == 3
    assert run_remotely("remove", "greet", "--yes").code == 0
    assert run_remotely("list", "--json").document["items"] == []
    assert run_sigil("list", "--json").document == {"items": []}
    assert not (place.parent / "data" / "uncaged.db").exists() or run_sigil("list").out == ""


def test_settings_may_name_the_remote_registry(
    run_sigil: Sigil, remote_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIGIL_URL", remote_url)
    assert run_sigil("list").code == 4
    monkeypatch.setenv("SIGIL_TOKEN", "wrong")
    refused = run_sigil("list")
    assert refused.code == 4
    assert "wrong or" not in refused.out + refused.err.replace("missing or wrong", "")
    doctor = run_sigil("doctor", "--json")
    assert (
        doctor.code,
        [check["name"] for check in doctor.document["checks"] if check["state"] == "fail"],
    ) == (1, ["token"])
    monkeypatch.setenv("SIGIL_TOKEN", REMOTE_TOKEN)
    assert run_sigil("list").code == 0


def test_a_registry_that_is_not_there_ends_with_7(run_sigil: Sigil) -> None:
    result = run_sigil("list", "--url", "http://127.0.0.1:9", "--token", "t")
    assert result.code == 7
    assert "cannot be reached" in result.err


@pytest.mark.parametrize("command", ["list", "whoami"])
def test_without_a_token_the_way_to_one_is_told(run_sigil: Sigil, command: str) -> None:
    result = run_sigil(command, "--url", "http://127.0.0.1:9/there/")
    assert result.code == 4
    assert result.err.startswith("error: there is no token for http://127.0.0.1:9/there (EAUTH)\n")
    assert "`sigil login --url http://127.0.0.1:9/there`" in result.err


def test_a_wrong_token_is_told_in_words_for_this_command(run_sigil: Sigil) -> None:
    with ScriptedServer(error_answer(401, "EAUTH")) as server:
        result = run_sigil("list", "--url", server.url, "--token", "wrong")
    assert result.code == 4
    assert f"`sigil login --url {server.url}`" in result.err
    assert "Authorization" not in result.err


def test_a_certificate_that_is_not_trusted_is_told_as_that(
    run_sigil: Sigil, tmp_path: Path
) -> None:
    with Scripted(authority(tmp_path / "authority").server("127.0.0.1")) as server:
        result = run_sigil("list", "--url", server.url, "--token", "x")
    assert result.code == 7
    assert f"{server.url} shows a certificate that is not trusted: " in result.err
    assert "SSL_CERT_FILE" in result.err


def test_the_wrong_kind_of_address_is_told_as_that(run_sigil: Sigil, tmp_path: Path) -> None:
    with Scripted() as server:
        result = run_sigil("list", "--url", server.url.replace("http:", "https:"), "--token", "x")
    assert (result.code, "does not speak TLS" in result.err, "begins with http:" in result.err) == (
        7,
        True,
        True,
    )
    with Scripted(authority(tmp_path / "authority").server("127.0.0.1")) as server:
        result = run_sigil("list", "--url", server.url.replace("https:", "http:"), "--token", "x")
    assert (result.code, "begins with http:" in result.err) == (7, True)


def test_what_is_not_there_is_not_blamed_on_a_setting_that_nobody_made(run_sigil: Sigil) -> None:
    result = run_sigil("list", "--url", "http://127.0.0.1:9", "--token", "x")
    assert (result.code, "SIGIL_URL" in result.err) == (7, False)
    result = run_sigil("list", "--url", "http://nowhere.invalid", "--token", "x")
    assert (result.code, "has an unknown host name" in result.err) == (7, True)
