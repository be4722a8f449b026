"""A version's digest covers what it calls, which is recorded when it is deployed and run so."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sigil.catalog import changes
from sigil.catalog.catalog import Catalog, Record
from sigil.catalog.expiry import Sweeper
from sigil.errors import Refused, SigilError
from sigil.http import app as sigil_http
from sigil.protocol import LIBRARY, Caller
from sigil.registry import LocalRegistry
from sigil.storage.kv import Key, keys
from sigil.storage.kv.sqlite import SqliteKV
from tests.fakes.clock import Clock
from tests.sigil.registries import GUEST, MODEL, PERSON, Open, spec, text
from tests.sigil.serving import served

BOB = Caller("bob", owner=True)
KEY = Caller("main", token="0123456789ab")
SHELF = Caller(LIBRARY, author="library")
CALLS_PART = "return await env.call('part', {})"
OLDER = Path(__file__).parent / "store_of_0_1_0.json"


@pytest.fixture
def registry(opened: Open, kv: SqliteKV) -> LocalRegistry:
    return opened(kv, pause=0)


def deploy(
    registry: LocalRegistry, name: str, execute: str, caller: Caller = PERSON, **more: Any
) -> str:
    return registry.deploy(spec(name, execute, **more), caller).offer.digest


def failure(
    registry: LocalRegistry, ref: str, caller: Caller = PERSON, **arguments: Any
) -> SigilError:
    with pytest.raises(SigilError) as caught:
        registry.run(ref, arguments, caller)
    return caught.value


def pins(registry: LocalRegistry, ref: str, caller: Caller = PERSON) -> dict[str, tuple[Any, str]]:
    """Call → the version that is recorded for it, and how that stands."""
    return {
        row["call"]: (row["version"], row["state"]) for row in registry.inspect(ref, caller)["pins"]
    }


def granted_whole(registry: LocalRegistry, caller: Caller = MODEL) -> str:
    """`whole`, to which an owner granted a call of a stranger's, with what the part says; its
    digest.
    """
    deploy(registry, "say", "return 'said ' + input.what", BOB, public=True)
    deploy(registry, "part", "return 'first'", caller)
    execute = "return await env.call('bob/say', {what: await env.call('part', {})})"
    digest = deploy(
        registry, "whole", execute, PERSON, requires=["part"], permissions={"call": ["bob/say"]}
    )
    registry.granting.grant("whole", PERSON)
    return digest


def test_a_new_version_of_a_callee_changes_nothing_for_a_granted_caller(
    registry: LocalRegistry,
) -> None:
    digest = granted_whole(registry)
    assert text(registry, "whole") == "said first"

    deploy(registry, "part", "return 'another'", MODEL)

    assert text(registry, "part") == "another"
    assert text(registry, "whole") == "said first"
    assert text(registry, f"whole@{digest}") == "said first"


def test_a_callee_of_a_callee_is_recorded_too(registry: LocalRegistry) -> None:
    deploy(registry, "leaf", "return 'first'", MODEL)
    deploy(registry, "part", "return await env.call('leaf', {})", MODEL, requires=["leaf"])
    deploy(registry, "whole", CALLS_PART, requires=["part"])

    deploy(registry, "leaf", "return 'another'", MODEL)
    deploy(registry, "part", "return await env.call('leaf', {})", MODEL, requires=["leaf"])

    assert (text(registry, "part"), text(registry, "whole")) == ("another", "first")


def test_the_digest_of_a_caller_covers_what_it_calls_all_the_way_down(
    registry: LocalRegistry,
) -> None:
    def whole() -> str:
        deploy(registry, "part", "return await env.call('leaf', {})", requires=["leaf"])
        return deploy(registry, "whole", CALLS_PART, requires=["part"])

    deploy(registry, "leaf", "return 1")
    first, again = whole(), whole()
    deploy(registry, "leaf", "return 2")
    other = whole()
    deploy(registry, "leaf", "return 1")

    assert first == again == whole()
    assert other != first
    assert [row["version"] for row in registry.versions("whole", PERSON)] == [2, 1]


def test_a_caller_moves_to_a_new_version_by_a_deploy_of_its_own(registry: LocalRegistry) -> None:
    deploy(registry, "part", "return 'first'")
    first = registry.deploy(spec("whole", CALLS_PART, requires=["part"]), PERSON)
    same = registry.deploy(spec("whole", CALLS_PART, requires=["part"]), PERSON)
    deploy(registry, "part", "return 'second'")
    moved = registry.deploy(spec("whole", CALLS_PART, requires=["part"]), PERSON)

    assert (first.created, same.created, moved.created) == (True, False, True)
    assert (text(registry, "whole"), text(registry, "whole@1")) == ("second", "first")
    assert pins(registry, "whole") == {"part": (2, "ok")}
    assert pins(registry, "whole@1") == {"part": (1, "ok")}


def test_what_calls_nothing_has_the_digest_that_it_always_had(registry: LocalRegistry) -> None:
    from sigil.manifest.package import parse_flat

    assert deploy(registry, "part", "return 1") == parse_flat(spec("part", "return 1")).digest


def test_a_callee_that_comes_after_its_caller_is_called_by_nobody_until_the_caller_is_deployed_again(
    registry: LocalRegistry,
) -> None:
    deploy(registry, "whole", CALLS_PART, permissions={"call": ["part"]})
    assert pins(registry, "whole") == {"part": (None, "absent")}
    deploy(registry, "part", "return 'a model was here'", MODEL)

    told = (
        "there is no part for whole to call: it was not there when whole was deployed. Deploy whole"
        " again"
    )
    assert told in failure(registry, "whole").message

    deploy(registry, "whole", CALLS_PART, permissions={"call": ["part"]})
    assert text(registry, "whole") == "a model was here"


def test_a_rollback_of_a_callee_changes_nothing_for_its_caller(registry: LocalRegistry) -> None:
    for number in (1, 2):
        deploy(registry, "part", f"return 'v{number}'")
    deploy(registry, "whole", CALLS_PART, requires=["part"])

    registry.rollback("part", PERSON)

    assert (text(registry, "part"), text(registry, "whole")) == ("v1", "v2")


def test_a_callee_that_was_withdrawn_or_removed_fails_its_caller_and_says_what_to_do(
    registry: LocalRegistry,
) -> None:
    first = deploy(registry, "part", "return 'v1'")
    digest = deploy(registry, "part", "return 'v2'")
    deploy(registry, "whole", CALLS_PART, requires=["part"])
    registry.yank("part@2", PERSON)
    problem = failure(registry, "whole")
    assert (
        f"part@{digest[:19]}…, which whole was deployed with, was withdrawn: deploy whole again, or"
        " take that back" in problem.message
    )
    assert pins(registry, "whole") == {"part": (2, "yanked")}

    registry.yank("part@2", PERSON, undo=True)
    assert text(registry, "whole") == "v2"
    registry.yank("part@2", PERSON)
    deploy(registry, "whole", CALLS_PART, requires=["part"])
    assert text(registry, "whole") == "v1"

    registry.remove("part", PERSON)
    assert (
        f"there is no part@{first[:19]}… any more, which whole was deployed with: deploy whole"
        " again" in failure(registry, "whole").message
    )
    assert pins(registry, "whole") == {"part": (None, "gone")}
    deploy(registry, "part", "return 'somebody else'", MODEL)
    assert "any more" in failure(registry, "whole").message


def test_a_callee_whose_time_runs_out_fails_its_caller_and_nothing_takes_its_place(
    registry: LocalRegistry, kv: SqliteKV, clock: Clock
) -> None:
    deploy(registry, "part", "return 'lasts'", MODEL)
    deploy(registry, "part", "return 'ends'", type="ephemeral", ttl=60)
    deploy(registry, "whole", CALLS_PART, requires=["part"])
    assert text(registry, "whole") == "ends"

    clock.now += 61
    Sweeper(kv, clock).sweep()

    assert text(registry, "part") == "lasts"
    assert "any more, which whole was deployed with" in failure(registry, "whole").message


def test_a_chain_of_requires_that_cannot_run_is_refused_at_deploy(registry: LocalRegistry) -> None:
    deploy(registry, "n1", "return 1")
    for number in range(2, 9):
        deploy(
            registry,
            f"n{number}",
            f"return 1 + await env.call('n{number - 1}', {{}})",
            requires=[f"n{number - 1}"],
        )
    assert text(registry, "n8") == "8"

    with pytest.raises(Refused) as caught:
        deploy(registry, "n9", "return await env.call('n8', {})", requires=["n8"])
    assert caught.value.code == "ELIMIT"
    assert (
        caught.value.message
        == "calls go at most 8 deep: n9 -> n8 -> n7 -> n6 -> n5 -> n4 -> n3 -> n2 -> n1"
    )
    assert "n9" not in [row["capability"] for row in registry.list(PERSON)]


def test_an_owners_redeploy_that_widens_nothing_keeps_its_grant_when_what_it_calls_is_the_owners_own(
    registry: LocalRegistry,
) -> None:
    granted_whole(registry, PERSON)
    deploy(registry, "part", "return 'second'", PERSON)
    done = registry.deploy(
        spec(
            "whole",
            "return await env.call('bob/say', {what: await env.call('part', {})})",
            requires=["part"],
            permissions={"call": ["bob/say"]},
        ),
        PERSON,
    )
    assert (done.created, done.pending) == (True, ())
    assert text(registry, "whole") == "said second"


@pytest.mark.parametrize("caller", [MODEL, KEY])
def test_what_somebody_else_made_of_a_callee_waits_for_an_owner_again(
    registry: LocalRegistry, caller: Caller
) -> None:
    granted_whole(registry, PERSON)
    deploy(registry, "leaf", "return 'another'", caller)
    deploy(registry, "part", "return await env.call('leaf', {})", PERSON, requires=["leaf"])
    execute = "return await env.call('bob/say', {what: await env.call('part', {})})"
    done = registry.deploy(
        spec("whole", execute, requires=["part"], permissions={"call": ["bob/say"]}), PERSON
    )

    assert done.pending == ("call:bob/say",)
    assert "waits for an owner's grant" in failure(registry, "whole").message
    assert text(registry, "whole@1") == "said first"
    registry.granting.grant("whole", PERSON)
    assert text(registry, "whole") == "said another"


def test_what_was_imported_waits_for_an_owner_again(registry: LocalRegistry) -> None:
    granted_whole(registry, PERSON)
    deploy(registry, "part", "return 'of a stranger'", Caller("stranger", owner=True))
    body = registry.export(["part"], Caller("stranger", owner=True))
    registry.import_bundle(body, PERSON)
    execute = "return await env.call('bob/say', {what: await env.call('part', {})})"
    whole = spec("whole", execute, requires=["part"], permissions={"call": ["bob/say"]})

    assert registry.deploy(whole, PERSON).pending == ("call:bob/say",)
    assert "waits for an owner's grant" in failure(registry, "whole").message


def test_a_strangers_new_version_is_called_after_a_deploy_and_a_grant_alone(
    registry: LocalRegistry,
) -> None:
    granted_whole(registry, PERSON)
    deploy(registry, "say", "return 'another ' + input.what", BOB, public=True)
    assert text(registry, "whole") == "said first"

    execute = "return await env.call('bob/say', {what: await env.call('part', {})})"
    done = registry.deploy(
        spec("whole", execute, requires=["part"], permissions={"call": ["bob/say"]}), PERSON
    )
    assert (done.created, done.pending) == (True, ("call:bob/say",))


def test_a_version_that_a_caller_names_outlives_those_that_nobody_names(
    registry: LocalRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sigil.catalog.catalog.VERSIONS_KEPT", 3)
    deploy(registry, "part", "return 'v1'")
    deploy(registry, "whole", CALLS_PART, requires=["part"])
    for number in range(2, 8):
        deploy(registry, "part", f"return 'v{number}'")

    assert text(registry, "whole") == "v1"
    assert [row["version"] for row in registry.versions("part", PERSON)] == [7, 6, 5, 1]

    registry.remove("whole", PERSON)
    size = registry.status(PERSON)["bytes"]
    deploy(registry, "part", "return 'v8'")
    assert [row["version"] for row in registry.versions("part", PERSON)] == [8, 7, 6]
    assert registry.status(PERSON)["bytes"] < size


def test_a_stranger_that_names_a_version_does_not_keep_it(
    registry: LocalRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sigil.catalog.catalog.VERSIONS_KEPT", 2)
    deploy(registry, "part", "return 'v1'", public=True)
    deploy(
        registry,
        "theirs",
        "return await env.call('main/part', {})",
        BOB,
        permissions={"call": ["main/part"]},
    )
    registry.granting.grant("theirs", BOB)
    for number in range(2, 5):
        deploy(registry, "part", f"return 'v{number}'", public=True)

    assert [row["version"] for row in registry.versions("part", PERSON)] == [4, 3]
    assert "main/part" in failure(registry, "theirs", BOB).message


def test_what_is_published_goes_on_with_what_it_calls_or_is_refused(
    registry: LocalRegistry,
) -> None:
    deploy(registry, "part", "return 'of the chat'", GUEST)
    digest = deploy(registry, "whole", CALLS_PART, GUEST, requires=["part"])

    with pytest.raises(Refused, match="only the chat has the version") as caught:
        registry.publish("whole", PERSON)
    assert (caught.value.code, caught.value.suggestion) == ("EREQUIRES", "publish part first")
    registry.publish("part", PERSON)
    assert text(registry, "whole", GUEST) == "of the chat"
    assert registry.publish("whole", PERSON).offer.digest == digest
    assert text(registry, "whole") == "of the chat"


def test_a_bundle_records_its_calls_where_it_comes_to_stand(
    opened: Open, registry: LocalRegistry
) -> None:
    deploy(registry, "part", "return 'exported'")
    digest = deploy(registry, "whole", CALLS_PART, requires=["part"])
    body = registry.export(["whole", "part"], PERSON)

    made = {each.offer.name: each for each in registry.import_bundle(body, BOB)}

    assert made["whole"].offer.digest == digest
    assert text(registry, "whole", BOB) == "exported"
    assert not any(each.created for each in registry.import_bundle(body, BOB))
    deploy(registry, "part", "return 'changed there'", BOB)
    assert text(registry, "whole", BOB) == "exported"


def test_what_is_imported_alone_calls_what_stands_there(registry: LocalRegistry) -> None:
    deploy(registry, "part", "return 'here'")
    digest = deploy(registry, "whole", CALLS_PART, requires=["part"])
    deploy(registry, "part", "return 'there'", BOB)
    imported = registry.import_bundle(registry.export(["whole"], PERSON), BOB)[0]
    assert imported.offer.digest != digest
    assert text(registry, "whole", BOB) == "there"


def test_a_library_in_any_order_calls_its_own(tmp_path: Path, registry: LocalRegistry) -> None:
    from sigil.deploy.library import update_library

    def folder(word: str) -> Path:
        for name, code, needs in (
            ("first", "return await env.call('second', {})", 'requires = ["second"]'),
            ("second", f"return '{word}'", ""),
        ):
            place = tmp_path / name
            place.mkdir(exist_ok=True)
            (place / "sigil.toml").write_text(
                f'[capability]\nname = "{name}"\ndescription = "A {name} one."\n{needs}\n'
            )
            (place / "main.js").write_text(code)
        return tmp_path

    for word in ("one", "two"):
        assert update_library(registry, folder(word), SHELF, lambda line: None)
        assert text(registry, "first") == word
        assert not update_library(registry, folder(word), SHELF, lambda line: None)


def test_what_a_version_calls_is_part_of_the_difference_to_another(registry: LocalRegistry) -> None:
    for number in (1, 2):
        deploy(registry, "part", f"return {number}")
        deploy(registry, "whole", CALLS_PART, requires=["part"])
    row = registry.diff("whole", PERSON)
    assert row["same"] is False
    assert [each["field"] for each in row["manifest"]] == ["pins"]
    assert row["manifest"][0]["old"] != row["manifest"][0]["new"]


def test_a_granted_digest_requests_the_same_address_over_http_after_its_callee_was_redeployed(
    registry: LocalRegistry,
) -> None:
    import httpx

    digest = granted_whole(registry)
    as_model = {"X-Sigil-Session": "telegram:1", "X-Sigil-Author": "model", "X-Sigil-Owner": "1"}
    admin = {"Authorization": "Bearer t0ken"}
    with (
        served(sigil_http.build_registry_app(registry, "t0ken")) as address,
        httpx.Client(base_url=address, headers=admin) as client,
    ):
        before = client.post(f"/run/whole@{digest}", json={}).text
        done = client.post(
            "/_api/deploy", json=spec("part", "return 'elsewhere'"), headers=as_model
        )
        after = client.post(f"/run/whole@{digest}", json={})

    assert done.status_code == 201
    assert (before, after.text, after.headers["x-sigil-digest"]) == (
        "said first",
        "said first",
        digest,
    )


Write = Callable[[str], None]


@pytest.fixture
def write_older(tmp_path: Path, kv: SqliteKV, clock: Clock) -> Write:
    """Writes what 0.1.0 itself wrote: of a name, or of all of them."""
    told: dict[str, Any] = json.loads(OLDER.read_text())

    def write(name: str) -> None:
        for partition, sort, value in told["items"]:
            if name == "" or sort.lstrip("#").partition("#")[0] == name:
                kv.put(Key(partition, sort), base64.b64decode(value))
        for path, body in told["artifacts"].items():
            (tmp_path / "artifacts" / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "artifacts" / path).write_bytes(base64.b64decode(body))
        clock.now = told["at"] + 60

    return write


@pytest.fixture
def older(write_older: Write) -> dict[str, str]:
    """What 0.1.0 itself wrote stands in the store; the digests of some of it."""
    write_older("")
    return dict(json.loads(OLDER.read_text())["digests"])


def grant_earlier(kv: SqliteKV, at: float) -> None:
    """Have `whole` of the older store granted at another time."""
    key = keys.grants("main", "main", "whole")
    item = kv.get(key)
    assert item
    kv.put(key, json.dumps([{**grant, "at": at} for grant in json.loads(item.value)]).encode())


@pytest.mark.parametrize("anew", [False, True])
def test_what_an_older_release_stores_after_this_one_changed_something_keeps_what_it_calls(
    registry: LocalRegistry, write_older: Write, opened: Open, anew: bool
) -> None:
    deploy(registry, "first-ever", "return 1")
    write_older("")
    registry = opened(pause=0) if anew else registry
    deploy(registry, "base", "return 'another base'", KEY)
    deploy(registry, "leaf", "return 'another leaf'", BOB, public=True)
    assert json.loads(registry.run("whole", {}, PERSON).output) == ["first base", "of bob"]


@pytest.mark.parametrize("anew", [False, True])
def test_what_an_older_release_adds_beside_this_one_keeps_what_it_calls(
    registry: LocalRegistry,
    write_older: Write,
    opened: Open,
    kv: SqliteKV,
    clock: Clock,
    anew: bool,
) -> None:
    for name in ("base", "part", "leaf"):
        write_older(name)
        with changes.announced_change(kv, "bob" if name == "leaf" else "main", name, clock()):
            pass
    deploy(registry, "first-ever", "return 1")
    write_older("whole")
    with changes.announced_change(kv, "main", "whole", clock()):
        pass

    registry = opened(pause=0) if anew else registry
    deploy(registry, "part", "return 'another'", MODEL)
    deploy(registry, "base", "return 'another base'", KEY)
    assert json.loads(registry.run("whole", {}, PERSON).output) == ["first base", "of bob"]


def test_a_change_reads_again_only_what_changed_since_the_last_one(
    older: dict[str, str], registry: LocalRegistry, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[tuple[str, str]] = []
    every = Catalog.list_stored_versions

    def noted(self: Catalog, namespace: str, name: str = "") -> Iterator[Record]:
        read.append((namespace, name))
        return every(self, namespace, name)

    monkeypatch.setattr(Catalog, "list_stored_versions", noted)
    deploy(registry, "one", "return 1")
    assert ("main", "") in read
    read.clear()
    deploy(opened(pause=0), "two", "return 2")
    assert read == [("main", "one")]


@pytest.mark.parametrize("change", [False, True])
def test_a_callee_that_is_newer_than_an_older_release_s_grant_waits_for_an_owner(
    older: dict[str, str], registry: LocalRegistry, kv: SqliteKV, opened: Open, change: bool
) -> None:
    grant_earlier(kv, 1.0)
    if change:
        deploy(registry, "first-ever", "return 1")
    told = failure(registry, "whole")
    assert told.code == "EPERM"
    assert (
        "is newer than what whole was granted, so it waits for an owner: deploy whole again, or"
        " `sigil grant whole`" in told.message
    )
    assert pins(registry, "whole") == {"part": (None, "waiting"), "bob/leaf": (None, "waiting")}

    registry.granting.grant("whole", PERSON)
    deploy(opened(pause=0), "base", "return 'another base'", KEY)
    assert json.loads(registry.run("whole", {}, PERSON).output) == ["first base", "of bob"]


def test_a_callee_of_a_callee_that_is_newer_than_an_older_release_s_grant_waits_too(
    older: dict[str, str], registry: LocalRegistry, kv: SqliteKV
) -> None:
    key = keys.capability("main", "base")
    item = kv.get(key)
    assert item
    head = json.loads(item.value)
    head["history"][-1][1] = 4_000_000_041.0  # it began to stand again after the grant
    kv.put(key, json.dumps(head).encode())
    told = failure(registry, "whole")
    assert (told.code, "part, or what it calls, is newer" in told.message) == ("EPERM", True)
    assert pins(registry, "whole") == {"part": (None, "waiting"), "bob/leaf": (1, "ok")}


def test_a_deploy_ends_the_wait_for_an_owner(
    older: dict[str, str], registry: LocalRegistry, kv: SqliteKV
) -> None:
    grant_earlier(kv, 1.0)
    execute = "return [await env.call('part', {}), await env.call('bob/leaf', {})]"
    done = registry.deploy(
        spec("whole", execute, requires=["part"], permissions={"call": ["bob/leaf"]}), PERSON
    )
    assert (done.created, done.pending) == (True, ("call:bob/leaf",))
    registry.granting.grant("whole", PERSON)
    assert json.loads(registry.run("whole", {}, PERSON).output) == ["first base", "of bob"]


def test_what_an_older_release_stored_keeps_its_digest_and_its_grant_and_calls_what_it_called_then(
    older: dict[str, str], registry: LocalRegistry
) -> None:
    deploy(registry, "part", "return 'another'", MODEL)
    deploy(registry, "base", "return 'another base'", PERSON)

    assert json.loads(registry.run(f"whole@{older['whole']}", {}, PERSON).output) == [
        "first base",
        "of bob",
    ]
    assert registry.inspect("whole", PERSON)["digest"] == older["whole"]
    assert pins(registry, "whole") == {"part": (1, "ok"), "bob/leaf": (1, "ok")}


def test_what_an_older_release_stored_is_recorded_at_its_first_use_in_another_process_too(
    older: dict[str, str], registry: LocalRegistry, opened: Open
) -> None:
    assert json.loads(registry.run("whole", {}, PERSON).output) == ["first base", "of bob"]
    other = opened(pause=0)
    deploy(other, "part", "return 'another'", MODEL)
    deploy(other, "leaf", "return 'changed by bob'", BOB, public=True)
    for each in (registry, other):
        assert json.loads(each.run("whole", {}, PERSON).output) == ["first base", "of bob"]


@pytest.mark.parametrize("change", ["rollback", "yank", "remove", "import"])
def test_no_change_of_a_callee_comes_before_the_record_of_what_an_older_release_called(
    older: dict[str, str], registry: LocalRegistry, change: str
) -> None:
    match change:
        case "rollback":
            registry.rollback("pong", PERSON, 2)
        case "yank":
            registry.yank("pong@1", PERSON)
        case "remove":
            registry.remove("pong", PERSON)
        case "import":
            deploy(registry, "pong", "return 4", BOB)
            registry.import_bundle(registry.export(["pong"], BOB), PERSON)
    recorded = {"yank": "yanked", "remove": "gone"}.get(change, "ok")
    assert pins(registry, "ping") == {"pong": (None if change == "remove" else 1, recorded)}


def test_an_older_release_s_call_of_what_did_not_exist_stays_a_call_of_nothing(
    older: dict[str, str], registry: LocalRegistry
) -> None:
    deploy(registry, "later", "return 'a model was here'", MODEL)
    assert "there is no later for early to call" in failure(registry, "early").message


def test_a_circle_that_an_older_release_let_close_is_refused_at_run(
    older: dict[str, str], registry: LocalRegistry
) -> None:
    assert "Circular dependency detected: ping -> pong -> ping" in failure(registry, "ping").message


def test_the_same_source_over_what_an_older_release_stored_is_no_second_deploy_until_a_callee_changed(
    older: dict[str, str], registry: LocalRegistry
) -> None:
    whole = spec(
        "whole",
        "return [await env.call('part', {}), await env.call('bob/leaf', {})]",
        requires=["part"],
        permissions={"call": ["bob/leaf"]},
    )
    same = registry.deploy(whole, PERSON)
    assert (same.created, same.offer.digest, same.pending) == (False, older["whole"], ())
    deploy(registry, "part", "return 'another'", MODEL)
    moved = registry.deploy(whole, PERSON)
    assert (moved.created, moved.pending) == (True, ("call:bob/leaf",))
