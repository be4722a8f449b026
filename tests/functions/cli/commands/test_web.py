"""`uncaged web`: a code for a browser, for whom it is, and where it is typed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from functions.agent.access.web_codes import CodeRefused, WebCodes
from functions.cli.app import cli
from functions.cli.local_agent import open_agent
from sigil.errors import UsageError


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNCAGED_DATA", str(tmp_path))
    monkeypatch.setenv("UNCAGED_LIBRARY", "none")
    monkeypatch.setenv("UNCAGED_OWNERS", "telegram:42")


def test_a_code_is_printed_for_whom_it_is_and_used_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with open_agent() as (app, _):
        app.people.let_in("telegram:66", "member", "Ada", "test")
    plain = CliRunner().invoke(cli, ["web"])
    assert re.fullmatch(r"(?:[0-9A-Z]{4}-){2}[0-9A-Z]{4}\n", plain.stdout)
    assert "http://localhost:8000/ui" in plain.stderr
    rows = [
        json.loads(CliRunner().invoke(cli, ["web", *words, "--json"]).stdout)
        for words in ([], ["telegram:42"], ["telegram:66"], ["telegram:66", "--reader"])
    ]
    assert [(row["person"], row["role"]) for row in rows] == [
        ("terminal:local", "owner"),
        ("telegram:42", "owner"),
        ("telegram:66", "member"),
        ("telegram:66", "reader"),
    ]
    assert {row["seconds"] for row in rows} == {600.0}
    with open_agent() as (app, _):
        codes = WebCodes(app.kv, "main", app.clock.now)
        assert codes.use(rows[2]["code"]).who == "telegram:66"
        with pytest.raises(CodeRefused) as used:
            codes.use(rows[2]["code"])
    assert used.value.reason == "used"
    monkeypatch.setenv("UNCAGED_WEB_NAMES", "agent.example.org")
    assert "https://agent.example.org/ui" in CliRunner().invoke(cli, ["web"]).stderr


def test_nobody_gets_a_code_who_was_not_let_in() -> None:
    for who in ("telegram:77", "nobody", "web:telegram:42"):
        refused = CliRunner().invoke(cli, ["web", who])
        assert isinstance(refused.exception, UsageError)
        assert "pair --list" in refused.exception.suggestion
