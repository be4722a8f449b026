"""Opening a registry: what is printed about it, the token never, and its library."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sigil.cli.conftest import REMOTE_TOKEN, Sigil


def test_the_first_start_shows_its_progress_on_stderr(
    run_sigil: Sigil, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_sigil("init", "greet", "--folder", "library/greet")
    monkeypatch.setenv("UNCAGED_LIBRARY", str(place / "library"))
    first = run_sigil("list", "--json")
    assert [row["namespace"] for row in first.document["items"]] == ["library"]
    assert first.err == "library: greet\n"
    assert run_sigil("list").err == ""
    assert run_sigil("remove", "greet", "--yes", "--json").error["code"] == "EPERM"
    assert run_sigil("remove", "greet", "--yes").code == 5


def test_a_library_without_a_capability_is_a_wrong_setting(
    run_sigil: Sigil, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in (place, place / "nowhere"):
        monkeypatch.setenv("UNCAGED_LIBRARY", str(folder))
        result = run_sigil("list", "--json")
        assert (result.code, result.out, result.error["code"]) == (2, "", "ESETTING")


def test_verbose_prints_each_request_and_never_the_token(run_sigil: Sigil, remote_url: str) -> None:
    result = run_sigil("list", "--url", remote_url, "--token", REMOTE_TOKEN, "-v")
    assert f"# GET {remote_url}/_api/list" in result.err
    assert "# took " in result.err
    assert REMOTE_TOKEN not in result.err + result.out
    assert "# registry: in this process" in run_sigil("list", "--verbose").err
