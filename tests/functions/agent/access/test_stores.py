"""Several processes change the same people at once, on every kind of store: each has a connection
of its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from functions.agent.access.daily_limits import Allowances
from functions.agent.access.first_owner import OwnerClaim
from functions.agent.access.members import People
from functions.agent.access.pairing import CodeUsed, Pairing
from functions.agent.access.roles import Allowance, Rules
from functions.events import Sender
from functions.settings import Settings
from functions.wiring import Closable
from sigil.storage.kv import KV
from sigil.storage.kv.dynamodb_table import create_table
from sigil.wiring import open_stores
from tests.functions.agent.talk import event
from tests.selection import thorough
from tests.servers.ministack import unique
from tests.servers.valkey import shared

PROCESSES = 6
RULES = Rules(guest=Allowance(turns=4))
KINDS = ("memory", "sqlite", *thorough("redis", "dynamodb"))


@pytest.fixture(params=KINDS)
def views(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[list[KV]]:
    """The same store, as each process sees it."""
    with ExitStack() as stack:
        open_one = _opener(request, tmp_path)
        views = [open_one() for _ in range(PROCESSES)]
        for view in views:
            if isinstance(view, Closable):
                stack.callback(view.close)
        yield views


def _opener(request: pytest.FixtureRequest, folder: Path) -> Callable[[], KV]:
    match request.param:
        case "memory":
            kv = open_stores(Settings(store="memory://")).kv
            return lambda: kv
        case "sqlite":
            name = f"sqlite:///{folder / 'people.db'}"
        case "redis":
            shared().do("FLUSHALL")
            name = shared().url
        case _:
            request.getfixturevalue("aws_here")
            table = unique("people")
            create_table(table)
            name = f"dynamodb://{table}"
    return lambda: open_stores(Settings(data=str(folder), store=name)).kv


def at_once(act: Callable[[KV], str], views: list[KV]) -> list[str]:
    with ThreadPoolExecutor(PROCESSES) as pool:
        return sorted(pool.map(act, views))


def test_one_takes_a_code_one_is_the_owner_and_no_turn_is_given_twice(views: list[KV]) -> None:
    stranger = replace(
        event("hi", session="telegram:66", sender="telegram:66"),
        sender=Sender("telegram:66", "Ada"),
    )

    def people(kv: KV) -> People:
        return People(kv, "main", RULES, time.time)

    def accepted(kv: KV) -> str:
        try:
            return (
                Pairing(kv, "main", people(kv), time.time)
                .accept_code(code or "", "telegram:1", event("").id)
                .id
            )
        except CodeUsed:
            return "used"

    def claimed(kv: KV) -> str:
        # one who tries it more often than five times is told so
        person = f"telegram:5{next(numbers)}"
        tried = OwnerClaim(kv, "main", people(kv), time.time).try_code(
            secret, event("", session=person, sender=person)
        )
        return str(tried and tried.right)

    def begun(kv: KV) -> str:
        return str(
            Allowances(kv, "main", RULES, time.time).begin_turn(
                event("hi", sender="telegram:7"), "guest"
            )
            is None
        )

    numbers = count()
    code = Pairing(views[0], "main", people(views[0]), time.time).offer_code(stranger)
    assert at_once(accepted, views) == ["telegram:66", *["used"] * (PROCESSES - 1)]
    secret = OwnerClaim(views[0], "main", people(views[0]), time.time).offer_code()
    assert at_once(claimed, views) == [*["None"] * (PROCESSES - 1), "True"]
    assert at_once(begun, views) == ["False"] * 2 + ["True"] * 4
    owner, member = people(views[-1]).list_members()
    assert (owner.id[:-1], owner.role) == ("telegram:5", "owner")
    assert (member.id, member.role) == ("telegram:66", "member")
