"""The audit: nothing is lost, nothing can be changed unseen, and two writers cannot fork it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from sigil.audit import ROOT, Audit
from sigil.errors import Conflict
from sigil.kv import ABSENT, KV, keys
from sigil.kv.base import Expect, Key
from sigil.kv.memory import MemoryKV
from sigil.kv.sqlite import SqliteKV
from sigil.protocol import Caller


@pytest.fixture(params=["memory", "sqlite"])
def kv(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[KV]:
    if request.param == "memory":
        yield MemoryKV()
    else:
        store = SqliteKV(tmp_path / "audit.db")
        yield store
        store.close()


def test_an_entry_says_who_did_what_when(kv: KV) -> None:
    audit = Audit(kv, lambda: 12.3456)
    caller = Caller("main", "telegram:1", author="model", token="admin")
    audit.note("main", "deploy", caller=caller, name="shout", version=3, digest="sha256:1", session_of=None)
    row = audit.entries("main")[0].row
    assert row.pop("hash")
    what = {"number": 1, "at": 12.346, "namespace": "main", "action": "deploy", "previous": ROOT, "name": "shout", "version": 3}
    assert row == what | {"digest": "sha256:1", "author": "model", "session": "telegram:1", "token": "admin", "owner": False}


def test_each_entry_carries_the_hash_of_the_one_before(kv: KV) -> None:
    audit = Audit(kv)
    hashes = [audit.note("main", "deploy", name=f"n{number}") for number in range(5)]
    entries = audit.entries("main")
    assert [entry.hash for entry in entries] == hashes
    assert [entry.fields["previous"] for entry in entries] == [ROOT, *hashes[:-1]]
    assert audit.verify("main").tip == hashes[-1]
    assert [entry.fields["number"] for entry in audit.latest("main", 2)] == [4, 5]
    assert [entry.fields["number"] for entry in audit.entries("main", after=1, limit=2)] == [2, 3]


def test_each_namespace_has_a_chain_of_its_own(kv: KV) -> None:
    audit = Audit(kv)
    for namespace in ("main", "main~telegram:1", "a#b", "main"):
        audit.note(namespace, "deploy")
    assert sorted(audit.namespaces()) == ["a#b", "main", "main~telegram:1"]
    assert audit.verify("main").entries == 2
    assert audit.verify("nobody").entries == 0


def test_writers_at_the_same_time_make_one_chain(kv: KV) -> None:
    audits = [Audit(kv) for _ in range(4)]

    def write(audit: Audit, number: int) -> None:
        for step in range(8):
            audit.note("main", "deploy", writer=number, step=step)

    threads = [threading.Thread(target=write, args=(audit, number)) for number, audit in enumerate(audits)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = audits[0].verify("main")
    assert (found.entries, found.problem) == (32, "")
    rows = [entry.fields for entry in audits[0].entries("main")]
    assert [[row["step"] for row in rows if row["writer"] == number] for number in range(4)] == [[*range(8)]] * 4


class Deaf(MemoryKV):
    """A store whose replies to writes without a predecessor are lost: the client repeats, and finds its own."""

    def put(self, key: Key, value: bytes, *, expect: Expect = None, ttl: float | None = None) -> str:
        written = super().put(key, value, expect=expect, ttl=ttl)
        if expect is ABSENT:
            raise Conflict
        return written


def test_an_entry_whose_reply_was_lost_is_not_written_twice() -> None:
    audit = Audit(Deaf())
    for name in ("one", "two"):
        audit.note("main", "deploy", name=name)
    assert [entry.fields["name"] for entry in audit.entries("main")] == ["one", "two"]
    assert audit.verify("main").problem == ""


def three(kv: KV) -> Audit:
    audit = Audit(kv)
    for number in range(3):
        audit.note("main", "deploy", name=f"n{number}")
    return audit


def test_a_changed_entry_is_found(kv: KV) -> None:
    audit = three(kv)
    item = kv.get(keys.audit("main", 2))
    assert item
    kv.put(keys.audit("main", 2), item.value.replace(b"n1", b"n7"))
    assert audit.verify("main").problem == "entry 2 was changed"


def test_an_entry_that_was_changed_with_its_hash_is_found_by_the_next(kv: KV) -> None:
    import hashlib

    audit = three(kv)
    body = audit.entries("main")[0].body.replace(b"n0", b"n7")
    kv.put(keys.audit("main", 1), json.dumps({"body": body.decode(), "hash": hashlib.sha256(body).hexdigest()}).encode())
    assert audit.verify("main").problem == "entry 2 is missing, or does not follow the one before it"


@pytest.mark.parametrize("number", [1, 2])
def test_a_missing_entry_is_found(kv: KV, number: int) -> None:
    audit = three(kv)
    kv.delete(keys.audit("main", number))
    assert f"entry {number} is missing" in audit.verify("main").problem


def test_a_missing_end_is_found_and_the_audit_goes_on(kv: KV) -> None:
    audit = three(kv)
    kv.delete(keys.audit("main", 3))
    assert audit.verify("main").problem == "the end is missing: there were 3 entries"
    audit.note("main", "deploy", name="later")
    assert audit.verify("main").problem


@pytest.mark.parametrize("damage", [b"", b"{}", b"[]", b"null", b'{"body": 1}', b'{"body": "[]", "hash": ""}', b"\xff"])
def test_damage_is_told_and_stops_nobody(kv: KV, damage: bytes) -> None:
    audit = three(kv)
    kv.put(keys.audit("main", 3), damage)
    kv.put(keys.audit_tip("main"), damage)
    audit.note("main", "deploy", name="later")
    found = audit.verify("main")
    assert (found.entries, found.problem) == (2, "entry 3 was changed") or found.problem.startswith("entry 3")
    assert len(audit.entries("main")) == 4
    assert [entry.row for entry in audit.entries("main")]


def test_facts_are_bounded_and_clean(kv: KV) -> None:
    audit = Audit(kv)
    audit.note("main", "deploy", name="x\n\u202ey" * 500, many=["z" * 900] * 100, deep=[["no"]], **{"odd\nname": {"a": 1}})
    fields = audit.entries("main")[0].fields
    assert len(fields["name"]) == 500
    assert "\n" not in fields["name"]
    assert len(fields["many"]) == 50
    assert fields["odd name"] == "{'a': 1}"
    assert audit.verify("main").problem == ""
