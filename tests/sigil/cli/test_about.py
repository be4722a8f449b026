"""`sigil doctor` and `version`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sigil.cli.conftest import Sigil


def test_a_healthy_house_is_all_green(run_sigil: Sigil) -> None:
    ended = run_sigil("doctor", "--json")
    assert ended.code == 0
    assert [check["name"] for check in ended.document["checks"]] == ["engine", "store", "sandbox", "library"]
    assert all(check["ok"] for check in ended.document["checks"])
    assert {"name", "value", "meaning"} == set(ended.document["settings"][0])


def test_what_is_broken_is_red_and_the_rest_is_still_looked_at(run_sigil: Sigil, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGIL_ENGINE", str(place / "nothing.wasm"))
    monkeypatch.setenv("UNCAGED_STORE", "redis-on-the-moon://x")
    ended = run_sigil("doctor", "--json")
    assert ended.code == 1
    assert [check["ok"] for check in ended.document["checks"]] == [False, False, False, True]
    assert "FAIL" in run_sigil("doctor").out


def test_secrets_are_not_shown(run_sigil: Sigil, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNCAGED_TOKEN", "very-secret")
    ended = run_sigil("doctor")
    assert "very-secret" not in ended.out + ended.err
    assert "UNCAGED_TOKEN" in ended.out


def test_a_setting_that_is_wrong_is_a_usage_error(run_sigil: Sigil, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGIL_RUNNERS", "many")
    ended = run_sigil("doctor", "--json")
    assert (ended.code, ended.error["code"]) == (2, "ESETTING")


def test_the_version_is_told(run_sigil: Sigil) -> None:
    assert run_sigil("version").out.startswith("sigil ")
    assert run_sigil("--version").out == run_sigil("version").out
    assert set(run_sigil("version", "--json").document) == {"version"}
