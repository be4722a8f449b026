"""Capabilities in one file: the same bytes for the same capabilities, and nothing in it is
believed.
"""

from __future__ import annotations

import io
import json
import re
import struct
import zipfile
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sigil.catalog.bundle import CAPABILITIES_MOST, unpack
from sigil.errors import Refused, SigilError, UsageError
from sigil.protocol import Caller
from sigil.registry import LocalRegistry
from sigil.sandbox.pool import Sandbox
from sigil.storage.artifacts import MemoryArtifacts
from sigil.storage.kv.memory import MemoryKV
from tests.selection import examples
from tests.sigil.registries import PERSON, spec, text

ELSEWHERE = Caller("other", owner=True)
Files = dict[str, bytes]


@pytest.fixture
def away(sandbox: Sandbox) -> LocalRegistry:
    return LocalRegistry(MemoryKV(), MemoryArtifacts(), sandbox)


@pytest.fixture
def body(registry: LocalRegistry) -> bytes:
    registry.deploy(spec(tests=[{"input": {}, "output": "one"}]), PERSON)
    return registry.export(["shout"], PERSON)


def files(body: bytes) -> Files:
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(content: Files, compression: int = zipfile.ZIP_STORED) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", compression) as archive:
        for name, data in content.items():
            archive.writestr(name, data)
    return target.getvalue()


def test_what_is_exported_is_imported_with_its_digest_elsewhere(
    registry: LocalRegistry, away: LocalRegistry
) -> None:
    made = [
        registry.deploy(spec(name, f"return '{name}'", tags=["t"]), PERSON)
        for name in ("one", "two")
    ]
    body = registry.export(["two", "one"], PERSON)

    done = away.import_bundle(body, ELSEWHERE)

    assert [(each.offer.digest, each.created) for each in done] == [
        (each.offer.digest, True) for each in made
    ]
    assert text(away, "two", ELSEWHERE) == "two"
    assert away.inspect("one", ELSEWHERE)["author"] == "person"
    assert [each.created for each in away.import_bundle(body, ELSEWHERE)] == [False, False]


def test_the_same_capabilities_give_the_same_bytes(registry: LocalRegistry) -> None:
    for name in ("one", "two"):
        registry.deploy(spec(name), PERSON)
    first = registry.export(["one", "two"], PERSON)
    registry.deploy(spec("one", "return 'newer'"), PERSON)
    assert registry.export(["two", "one@1"], PERSON) == first


def test_nothing_of_a_bundle_runs_when_it_comes_in(
    registry: LocalRegistry, away: LocalRegistry
) -> None:
    registry.deploy(spec("spins", "for (;;);"), PERSON)
    body = registry.export(["spins"], PERSON)
    before = away._sandbox.stats()["calls"]
    assert away.import_bundle(body, ELSEWHERE)[0].created
    assert away._sandbox.stats()["calls"] == before


def test_a_module_travels_too(registry: LocalRegistry, away: LocalRegistry) -> None:
    from tests.sigil.test_registry import ECHO_WAT

    registry.deploy(
        {
            "name": "echo",
            "description": "The input again.",
            "schema": {},
            "lang": "wat",
            "code": ECHO_WAT,
        },
        PERSON,
    )
    done = away.import_bundle(registry.export(["echo"], PERSON), ELSEWHERE)
    assert done[0].offer.digest == registry.inspect("echo", PERSON)["digest"]
    assert away.run("echo", {"a": 1}, ELSEWHERE).output == b'{"a":1}'


def test_what_cannot_be_exported_is_said(registry: LocalRegistry) -> None:
    registry.deploy(spec(), PERSON)
    registry.deploy(spec(execute="return 'two'"), PERSON)
    for refs in ([], ["nothing"], ["shout@1", "shout@2"], ["shout@7"], ["../shout"]):
        with pytest.raises(UsageError):
            registry.export(refs, PERSON)


def test_what_comes_in_gets_no_grant_of_what_it_replaces(
    registry: LocalRegistry, away: LocalRegistry
) -> None:
    far = {"http": ["GET api.example.com/v1/"]}
    registry.deploy(spec("far", permissions=far), PERSON)
    registry.granting.grant("far", PERSON)
    assert registry.inspect("far", PERSON)["pending"] == []
    away.deploy(spec("far", "return 'another'", permissions=far), ELSEWHERE)

    (done,) = registry.import_bundle(away.export(["far"], ELSEWHERE), PERSON)

    assert done.pending == ("http:GET api.example.com/v1/",)
    registry.rollback("far", PERSON)
    assert registry.inspect("far", PERSON)["pending"] == []


def test_what_is_public_in_a_bundle_is_its_new_owners_alone_unless_asked_for(
    registry: LocalRegistry, away: LocalRegistry
) -> None:
    digest = away.deploy(spec(public=True), ELSEWHERE).offer.digest
    body = away.export(["shout"], ELSEWHERE)
    for _ in range(2):
        (done,) = registry.import_bundle(body, PERSON)
        assert registry.inspect("shout", PERSON)["public"] is False
    assert done.created is False
    with pytest.raises(UsageError, match="ENOENT"):
        text(registry, "main/shout", ELSEWHERE)
    (done,) = registry.import_bundle(body, PERSON, public=True)
    assert done.offer.digest == digest
    assert text(registry, "main/shout", ELSEWHERE) == "one"


def test_what_comes_in_reads_nothing_that_another_of_its_name_has_stored(
    registry: LocalRegistry, away: LocalRegistry
) -> None:
    kept = {"permissions": {"kv": True}}
    registry.deploy(spec("notes", "await env.KV.put('k', 'private')", **kept), PERSON)
    text(registry, "notes")
    away.deploy(spec("notes", "return await env.KV.get('k')", **kept), ELSEWHERE)
    away.deploy(spec("fresh"), ELSEWHERE)
    body = away.export(["fresh", "notes"], ELSEWHERE)

    with pytest.raises(Refused, match="the values that notes has stored"):
        registry.import_bundle(body, PERSON)
    assert [row["capability"] for row in registry.list(PERSON)] == ["notes"]
    registry.import_bundle(body, PERSON, replace=True)
    assert text(registry, "notes") == "private"
    registry.import_bundle(body, PERSON)
    registry.remove("notes", PERSON)
    registry.import_bundle(body, PERSON)
    assert text(registry, "notes") == "null"


def test_nobody_exports_what_is_another_namespaces(registry: LocalRegistry) -> None:
    registry.deploy(spec(public=True), ELSEWHERE)
    assert text(registry, "other/shout") == "one"
    with pytest.raises(Refused, match="only its owners can export it"):
        registry.export(["other/shout"], PERSON)
    assert registry.export(["other/shout"], ELSEWHERE)


Change = Callable[[Files], object]


def _index(content: Files, **row: Any) -> None:
    index = json.loads(content["sigil.json"])
    index["capabilities"][0].update(row)
    content["sigil.json"] = json.dumps(index).encode()


CHANGES: dict[str, Change] = {
    "another code": lambda content: content.update({"shout/code": b"return 'evil'"}),
    "another manifest": lambda content: content.update(
        {"shout/sigil.json": content["shout/sigil.json"].replace(b"shouts", b"hushes")}
    ),
    "another digest": lambda content: _index(content, digest=f"sha256:{'0' * 64}"),
    "no digest": lambda content: _index(content, digest=None),
    "another name": lambda content: _index(content, name="other"),
    "no name": lambda content: _index(content, name="../shout"),
    "a way out": lambda content: content.update({"../../etc/passwd": b"x"}),
    "an absolute way out": lambda content: content.update({"/etc/passwd": b"x"}),
    "a file too many": lambda content: content.update({"other/code": b"x"}),
    "a deeper file": lambda content: content.update({"shout/code/deeper": b"x"}),
    "no code": lambda content: content.pop("shout/code"),
    "no manifest": lambda content: content.pop("shout/sigil.json"),
    "no list": lambda content: content.pop("sigil.json"),
    "a list that is none": lambda content: content.update({"sigil.json": b"[]"}),
    "an empty list": lambda content: content.update(
        {"sigil.json": b'{"format":1,"capabilities":[]}'}
    ),
    "another format": lambda content: content.update(
        {"sigil.json": content["sigil.json"].replace(b'"format":1', b'"format":2')}
    ),
    "NaN": lambda content: content.update({"shout/sigil.json": b'{"name":NaN}'}),
    "nested": lambda content: content.update(
        {"shout/sigil.json": b'{"a":' * 900 + b"1" + b"}" * 900}
    ),
    "no text": lambda content: content.update({"shout/code": b"\xff\xfe"}),
    "too large": lambda content: content.update({"shout/code": b"x" * (3 << 20)}),
    "too many": lambda content: content.update(
        {f"n{number}/code": b"" for number in range(2 * CAPABILITIES_MOST + 2)}
    ),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_bundle_that_was_changed_is_refused_whole(
    body: bytes, away: LocalRegistry, what: str
) -> None:
    content = files(body)
    CHANGES[what](content)
    with pytest.raises(SigilError):
        away.import_bundle(packed(content), ELSEWHERE)
    assert list(away.list(ELSEWHERE)) == []


def test_one_bad_capability_keeps_all_out(registry: LocalRegistry, away: LocalRegistry) -> None:
    for name in ("one", "two"):
        registry.deploy(spec(name), PERSON)
    content = files(registry.export(["one", "two"], PERSON))
    content["two/code"] += b" "
    with pytest.raises(UsageError, match="digest of two"):
        away.import_bundle(packed(content), ELSEWHERE)
    assert list(away.list(ELSEWHERE)) == []


def test_a_compressed_or_doubled_archive_is_none_of_ours(body: bytes) -> None:
    content = files(body)
    bomb = packed({**content, "shout/code": b"\0" * (50 << 20)}, zipfile.ZIP_DEFLATED)
    assert len(bomb) < 1 << 20
    target = io.BytesIO(body)
    with zipfile.ZipFile(target, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("shout/code", b"another")
    for wrong in (
        bomb,
        packed(content, zipfile.ZIP_DEFLATED),
        target.getvalue(),
        b"",
        b"PK",
        b"x" * 1000,
    ):
        with pytest.raises(UsageError):
            unpack(wrong)


def test_files_that_lie_in_each_other_are_refused_before_they_are_read(body: bytes) -> None:
    content = {f"n{number}/code": b"x" * 10_000 for number in range(100)}
    archive = bytearray(packed({**files(body), **content}))
    places = [found.start() for found in re.finditer(b"PK\x01\x02", archive)]
    for place in places[-100:]:  # every one of them is the first one's bytes
        archive[place + 42 : place + 46] = archive[places[-100] + 42 : places[-100] + 46]
    short = packed({**files(body), "n0/code": b"x" * 10_000})
    assert len(short) < 20_000
    first = re.search(b"PK\x01\x02", bytes(short))
    assert first
    nested = bytearray(short[: first.start()] + archive[places[0] : -22])
    count, size = len(places), len(archive) - 22 - places[0]
    nested += struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, count, count, size, first.start(), 0)
    with pytest.raises(UsageError, match="overlap"):
        unpack(bytes(nested))


@settings(
    max_examples=examples(75),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_damaged_archives_are_refused_in_our_own_words_or_hold_what_they_held(
    body: bytes, data: st.DataObject
) -> None:
    damaged = bytearray(body)
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    try:
        packages = unpack(bytes(damaged[: data.draw(st.integers(len(body) // 2, len(body)))]))
    except UsageError:
        return
    assert [package.digest for package in packages] == [package.digest for package in unpack(body)]
