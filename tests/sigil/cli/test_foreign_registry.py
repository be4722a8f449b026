"""A remote server that does not answer as Sigil does: every command says so, and every list
ends.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.fakes.server import Answer, Recorded, RecordingServer, json_answer
from tests.selection import sample
from tests.sigil.cli.conftest import Sigil

COMMANDS = (
    *(
        "list",
        "inspect foo",
        "status",
        "versions foo",
        "diff foo",
        "rollback foo",
        "yank foo@1",
        "remove foo --yes",
        "grants",
    ),
    *(
        "grant foo --yes",
        "revoke foo",
        "secret list",
        "keys list",
        "keys create",
        "keys revoke x",
        "audit",
        "audit --verify",
        "logs foo",
    ),
    *(
        "whoami",
        "mcp list",
        "mcp add https://x.example/mcp --name t",
        "query foo",
        "query",
        "run foo",
    ),
)
FIELDS = (
    *(
        "capability",
        "namespace",
        "version",
        "digest",
        "description",
        "schema",
        "tool",
        "tags",
        "kind",
        "permissions",
        "asked",
        "granted",
    ),
    *(
        "new",
        "widened",
        "before",
        "secrets_missing",
        "name",
        "at",
        "by",
        "id",
        "scopes",
        "expires",
        "source",
        "pending",
        "limits",
        "state",
    ),
    *(
        "action",
        "token",
        "changed",
        "same",
        "manifest",
        "active",
        "yanked",
        "health",
        "author",
        "secret",
        "last_use",
        "expired",
        "number",
    ),
    *(
        "ok",
        "entries",
        "tip",
        "problem",
        "sandbox",
        "field",
        "old",
        "tests",
        "requires",
        "revoked",
        "score",
        "total",
        "next",
    ),
)


class ForeignServer(RecordingServer):
    """Answers everything with one JSON value."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = json_answer(value)

    def answer(self, request: Recorded) -> Answer:
        return self.value


def fill_fields(value: Any) -> dict[str, Any]:
    """An answer with every field that any of ours has, all of them this value, and a list of two
    such rows.
    """
    row = dict.fromkeys(FIELDS, value)
    return {**row, "next": "", "items": [row, row], "history": [row]}


def nest(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"a": value}
    return value


FOREIGN_ANSWERS: dict[str, Any] = {
    "nothing": {},
    "rows of nothing": {"items": [{}], "history": [{}], "manifest": [{}]},
    "nulls": fill_fields(None),
    "numbers": fill_fields(1e308),
    "objects": fill_fields({"a": [1e308]}),
    "no rows": {"items": None, "history": 1, "next": 2},
    "deep": {**fill_fields(nest(900)), "sandbox": {}, "items": []},
}


@pytest.mark.parametrize("name", FOREIGN_ANSWERS)
def test_what_no_registry_says_is_told_as_that_by_every_command(
    run_sigil: Sigil, name: str
) -> None:
    # each command reads a deep answer for as long as all others together take
    commands = sample(COMMANDS, 8) if name == "deep" else COMMANDS
    with ForeignServer(FOREIGN_ANSWERS[name]) as server:
        for command in commands:
            result = run_sigil(*command.split(), "--url", server.url, "--token", "x")
            assert result.code == 0 or "(E" in result.err, (command, result)
            assert "EBUG" not in result.err + result.out, (command, result.err)


@pytest.mark.parametrize(
    "command",
    [
        "diff foo",
        "rollback foo",
        "yank foo@1",
        "grant foo --yes",
        "keys create",
        "whoami",
        "revoke foo",
    ],
)
def test_a_half_answer_is_none(run_sigil: Sigil, command: str) -> None:
    with ForeignServer({"capability": "foo", "kind": "admin"}) as server:
        result = run_sigil(*command.split(), "--url", server.url, "--token", "x", "--json")
        assert (result.code, result.error["message"]) == (
            7,
            "the registry's answer is not one of Sigil's",
        )


class EndlessList(RecordingServer):
    """A list whose next page begins where the last one did, or at one of two places in turn."""

    def __init__(self, *places: str) -> None:
        super().__init__()
        self.places = places

    def answer(self, request: Recorded) -> Answer:
        after = parse_qs(urlsplit(request.path).query).get("after", [""])[0]
        place = (
            self.places[(self.places.index(after) + 1) % len(self.places)]
            if after in self.places
            else self.places[0]
        )
        row = {
            "capability": "a",
            "version": 1,
            "digest": "",
            "namespace": "main",
            "tags": [],
            "description": "A.",
        }
        return Answer(
            200,
            json.dumps({"items": [row], "next": place}).encode(),
            {"content-type": "application/json"},
        )


@pytest.mark.parametrize(
    "places", [("0:a",), ("0:a", "0:b", "0:c"), ("x" * 5_000,)], ids=["still", "round", "long"]
)
def test_a_list_that_does_not_go_on_ends(run_sigil: Sigil, places: tuple[str, ...]) -> None:
    with EndlessList(*places) as server:
        result = run_sigil("list", "--url", server.url, "--token", "x", "--json")
        assert (result.code, result.error["message"]) == (
            7,
            "the registry's answer is not one of Sigil's",
        )
        assert len(server.requests) <= 1 + len(places)
