"""The audit: nothing is lost, nothing can be changed unseen, and two writers cannot fork it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable

import pytest

from sigil.catalog.audit import ROOT, Audit
from sigil.errors import Conflict
from sigil.protocol import Caller
from sigil.storage.kv import ABSENT, KV, Item, keys
from sigil.storage.kv.base import Expect, Key
from sigil.storage.kv.memory import MemoryKV
from tests.sigil.storage.kv.processes import finish, start
from tests.sigil.stores import SHARED, Place, place, pytest_generate_tests
from tests.threads import in_parallel

__all__ = ["place", "pytest_generate_tests"]


@pytest.fixture
def kv(place: Place) -> KV:
    return place.open()


def test_an_entry_says_who_did_what_when(kv: KV) -> None:
    audit = Audit(kv, lambda: 12.3456)
    caller = Caller("main", "telegram:1", author="model", token="admin")
    audit.note(
        "main", "deploy", caller=caller, name="shout", version=3, digest="sha256:1", session_of=None
    )
    row = audit.read_entries("main")[0].row
    assert row.pop("hash")
    what = {
        "number": 1,
        "at": 12.346,
        "namespace": "main",
        "action": "deploy",
        "previous": ROOT,
        "name": "shout",
        "version": 3,
    }
    assert row == what | {
        "digest": "sha256:1",
        "author": "model",
        "session": "telegram:1",
        "token": "admin",
        "owner": False,
    }


def test_each_entry_carries_the_hash_of_the_one_before(kv: KV) -> None:
    audit = Audit(kv)
    hashes = [audit.note("main", "deploy", name=f"n{number}") for number in range(5)]
    entries = audit.read_entries("main")
    assert [entry.hash for entry in entries] == hashes
    assert [entry.fields["previous"] for entry in entries] == [ROOT, *hashes[:-1]]
    assert audit.verify("main").tip == hashes[-1]
    assert [entry.fields["number"] for entry in audit.read_latest("main", 2)] == [4, 5]
    assert [entry.fields["number"] for entry in audit.read_entries("main", after=1, limit=2)] == [
        2,
        3,
    ]


def test_each_namespace_has_a_chain_of_its_own(kv: KV) -> None:
    audit = Audit(kv)
    for namespace in ("main", "main~telegram:1", "a#b", "main"):
        audit.note(namespace, "deploy")
    assert sorted(audit.list_namespaces()) == ["a#b", "main", "main~telegram:1"]
    assert audit.verify("main").entries == 3  # what happened in a chat of its own too
    assert audit.verify("nobody").entries == 0


def test_writers_at_the_same_time_make_one_chain(place: Place) -> None:
    audits = [Audit(place.open()) for _ in range(4)]

    def write(number: int) -> list[str]:
        return [
            audits[number].note("main", "deploy", writer=number, step=step) for step in range(8)
        ]

    hashes = in_parallel(4, write)
    found = audits[0].verify("main")
    assert (found.entries, found.problem) == (32, "")
    entries = audits[0].read_entries("main")
    for number in range(4):
        mine = [entry for entry in entries if entry.fields["writer"] == number]
        assert [entry.fields["step"] for entry in mine] == [*range(8)]
        assert [entry.hash for entry in mine] == hashes[number]


WRITES = """
from sigil.catalog.audit import Audit
from sigil.settings import Settings
from sigil.wiring import open_stores
url, writer = sys.argv[1:]
audit = Audit(open_stores(Settings(store=url)).kv)
for step in range(12):
    audit.note("main", "deploy", writer=writer, step=step)
    assert not audit.verify("main").problem
"""


@pytest.mark.usefixtures("fork_commands")
@pytest.mark.parametrize("place", SHARED, indirect=True)
def test_two_processes_write_one_chain_and_never_take_the_other_for_damage(place: Place) -> None:
    finish([start(WRITES, place.url, writer) for writer in ("one", "other")])
    audit = Audit(place.open())
    found = audit.verify("main")
    assert (found.entries, found.problem) == (24, "")
    rows = [entry.fields for entry in audit.read_entries("main")]
    assert [
        [row["step"] for row in rows if row["writer"] == writer] for writer in ("one", "other")
    ] == [[*range(12)]] * 2


class Busy(MemoryKV):
    """A store in which something happens as soon as a chain was read to its end."""

    then: Callable[[], object] | None = None

    def scan(
        self, partition: str, prefix: str = "", after: str = "", limit: int = 100
    ) -> list[tuple[str, Item]]:
        found = super().scan(partition, prefix, after, limit)
        if len(found) < limit and self.then:
            then, self.then = self.then, None
            then()
        return found


def test_what_is_written_while_a_chain_is_verified_is_no_damage() -> None:
    kv = Busy()
    audit = three(kv)
    kv.then = lambda: audit.note("main", "deploy", name="n3")
    found = audit.verify("main")
    assert (found.entries, found.problem) == (3, "")
    assert audit.verify("main").entries == 4


class Deaf(MemoryKV):
    """A store whose replies to writes without a predecessor are lost: the client repeats, and finds
    its own.
    """

    def put(
        self, key: Key, value: bytes, *, expect: Expect = None, ttl: float | None = None
    ) -> str:
        written = super().put(key, value, expect=expect, ttl=ttl)
        if expect is ABSENT:
            raise Conflict
        return written


def test_an_entry_whose_reply_was_lost_is_not_written_twice() -> None:
    audit = Audit(Deaf())
    for name in ("one", "two"):
        audit.note("main", "deploy", name=name)
    assert [entry.fields["name"] for entry in audit.read_entries("main")] == ["one", "two"]
    assert audit.verify("main").problem == ""


def three(kv: KV) -> Audit:
    audit = Audit(kv)
    for number in range(3):
        audit.note("main", "deploy", name=f"n{number}")
    return audit


def test_a_changed_entry_is_found(kv: KV) -> None:
    audit = three(kv)
    item = kv.get(keys.audit_entry("main", 2))
    assert item
    kv.put(keys.audit_entry("main", 2), item.value.replace(b"n1", b"n7"))
    assert audit.verify("main").problem == "entry 2 was changed"


def test_an_entry_that_was_changed_with_its_hash_is_found_by_the_next(kv: KV) -> None:
    audit = three(kv)
    body = audit.read_entries("main")[0].body.replace(b"n0", b"n7")
    kv.put(
        keys.audit_entry("main", 1),
        json.dumps({"body": body.decode(), "hash": hashlib.sha256(body).hexdigest()}).encode(),
    )
    assert (
        audit.verify("main").problem == "entry 2 is missing, or does not follow the one before it"
    )


@pytest.mark.parametrize("number", [1, 2])
def test_a_missing_entry_is_found(kv: KV, number: int) -> None:
    audit = three(kv)
    kv.delete(keys.audit_entry("main", number))
    assert f"entry {number} is missing" in audit.verify("main").problem


def test_a_missing_end_is_found_and_the_audit_goes_on(kv: KV) -> None:
    audit = three(kv)
    kv.delete(keys.audit_entry("main", 3))
    assert audit.verify("main").problem == "the end is missing: there were 3 entries"
    audit.note("main", "deploy", name="later")
    assert audit.verify("main").problem


def forged(kv: KV, number: int, previous: str, **facts: str) -> str:
    """Write an entry anew with other facts, its hash made to fit; the hash."""
    item = kv.get(keys.audit_entry("main", number))
    assert item
    fields = {**json.loads(json.loads(item.value)["body"]), "previous": previous, **facts}
    body = json.dumps(fields, sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(body.encode()).hexdigest()
    kv.put(keys.audit_entry("main", number), json.dumps({"body": body, "hash": digest}).encode())
    return digest


def test_a_last_entry_or_a_whole_chain_that_was_written_anew_is_found(kv: KV) -> None:
    audit = three(kv)
    forged(kv, 3, audit.read_entries("main")[1].hash, name="harmless")
    assert audit.verify("main").problem == "entry 3 is not the one that was written"
    previous = ROOT
    for number in (1, 2, 3):
        previous = forged(kv, number, previous, name="harmless")
    assert audit.verify("main").problem == "entry 3 is not the one that was written"
    audit.note("main", "deploy", name="later")
    assert (
        audit.verify("main").problem == "entry 4 is missing, or does not follow the one before it"
    )


def test_what_happens_in_a_chat_is_found_in_the_agents_audit(kv: KV) -> None:
    audit = Audit(kv)
    audit.note(
        "main~telegram:1", "deploy", caller=Caller("main", "telegram:1", author="model"), name="sw"
    )
    audit.note("main~telegram:1", "expire", name="sw")
    rows = [entry.row for entry in audit.read_entries("main")]
    assert [(row["action"], row["chat"], row["namespace"]) for row in rows] == [
        ("deploy", "telegram:1", "main"),
        ("expire", "telegram:1", "main"),
    ]
    assert [audit.verify(namespace).problem for namespace in ("main", "main~telegram:1")] == [
        "",
        "",
    ]
    assert all("chat" not in entry.row for entry in audit.read_entries("main~telegram:1"))


def test_every_permission_that_was_granted_stands_there(kv: KV) -> None:
    asked = [f"http:GET h{number}.example/" for number in range(60)]
    Audit(kv).note("main", "grant", name="many", permissions=asked)
    assert Audit(kv).read_entries("main")[0].fields["permissions"] == asked


@pytest.mark.parametrize(
    "damage", [b"", b"{}", b"[]", b"null", b'{"body": 1}', b'{"body": "[]", "hash": ""}', b"\xff"]
)
def test_damage_is_told_and_stops_nobody(kv: KV, damage: bytes) -> None:
    audit = three(kv)
    kv.put(keys.audit_entry("main", 3), damage)
    kv.put(keys.audit_tip("main"), damage)
    audit.note("main", "deploy", name="later")
    found = audit.verify("main")
    assert (found.entries, found.problem) == (2, "entry 3 was changed") or found.problem.startswith(
        "entry 3"
    )
    assert len(audit.read_entries("main")) == 4
    assert [entry.row for entry in audit.read_entries("main")]


@pytest.mark.parametrize("sort", ["x", "1", "00000000000x", "9" * 13, "٣"])
def test_what_stands_under_no_number_stops_nobody_and_is_seen(kv: KV, sort: str) -> None:
    audit = Audit(kv)
    audit.note("main", "deploy", name="one")
    kv.put(Key(keys.audit_entry("main", 0).partition, sort), b"{}")
    audit.note("main", "deploy", name="two")
    assert {entry.row.get("name") for entry in audit.read_entries("main")} >= {"one", "two"}
    assert audit.read_latest("main")
    assert audit.verify("main").problem


def test_facts_are_bounded_and_clean(kv: KV) -> None:
    audit = Audit(kv)
    audit.note(
        "main",
        "deploy",
        name="x\n\u202ey" * 500,
        many=["z" * 900] * 105,
        deep=[["no"]],
        **{"odd\nname": {"a": 1}},
    )
    fields = audit.read_entries("main")[0].fields
    assert len(fields["name"]) == 500
    assert "\n" not in fields["name"]
    assert (len(fields["many"]), fields["many"][-1]) == (100, "and 6 more")
    assert fields["odd name"] == "{'a': 1}"
    assert audit.verify("main").problem == ""
