"""Bundles: one hit pages in all members, whoever is found; who may make one, and of what."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from sigil.builtin_tools import found_row, without_tools
from sigil.catalog.records import Record, decode, encode
from sigil.client.responses import read_found
from sigil.errors import SigilError
from sigil.manifest.model import MEMBERS_MOST, Manifest
from sigil.manifest.package import flat_spec, parse_flat, parse_toml
from sigil.mcp.tools import Toolbox
from sigil.mcp.working_set import ResidentTools
from sigil.protocol import Caller, Hit, query_page
from sigil.registry import LocalRegistry
from tests.sigil.registries import MODEL, PERSON, spec

MEMBERS = ("water-plant", "list-plants", "drop-plant")
BUNDLE = {
    "name": "garden",
    "description": "Everything about a kitchen garden.",
    "lang": "bundle",
    "members": list(MEMBERS),
}


@pytest.fixture
def garden(registry: LocalRegistry) -> LocalRegistry:
    told = ("Pour something on a leaf.", "Count the pots.", "Throw a pot away.")
    for name, description in zip(MEMBERS, told, strict=True):
        registry.deploy({**spec(name), "description": description}, PERSON)
    registry.deploy({**spec("roof"), "description": "Mend tiles of a house."}, PERSON)
    registry.deploy(BUNDLE, PERSON)
    return registry


def find(registry: LocalRegistry, text: str, caller: Caller = PERSON, limit: int = 3) -> list[Hit]:
    return list(registry.query(text, caller, limit=limit).hits)


def names(hit: Hit) -> list[str]:
    return [offer.name for offer in hit.loads]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("kitchen garden", "water-plant"),
        ("garden", "water-plant"),
        ("throw a pot away", "drop-plant"),
        ("list-plants", "list-plants"),
    ],
)
def test_a_bundle_or_a_member_is_one_hit_with_all_members_the_best_first(
    garden: LocalRegistry, text: str, first: str
) -> None:
    found = garden.query(text, PERSON)
    (hit,) = found.hits
    assert (hit.offer.name, hit.offer.kind, found.total) == ("garden", "bundle", 1)
    assert names(hit)[0] == first
    assert sorted(names(hit)) == sorted(MEMBERS)
    assert {offer.kind for offer in hit.loads} == {"wasm"}


def test_it_counts_as_one_of_the_limit_and_leaves_others_alone(garden: LocalRegistry) -> None:
    (one,) = find(garden, "mend tiles of a house")
    assert (one.offers, names(one)) == ((), ["roof"])
    found = find(garden, "garden or mend tiles", limit=2)
    assert {hit.offer.name for hit in found} == {"garden", "roof"}


def test_a_member_that_is_gone_or_yanked_is_left_out(garden: LocalRegistry) -> None:
    garden.remove("drop-plant", PERSON)
    garden.yank("list-plants@1", PERSON)
    assert [names(hit) for hit in find(garden, "garden")] == [["water-plant"]]
    garden.remove("water-plant", PERSON)
    assert find(garden, "garden") == []
    garden.remove("garden", PERSON)
    assert find(garden, "garden") == []


def test_a_member_stays_alone_when_its_bundle_goes(garden: LocalRegistry) -> None:
    garden.remove("garden", PERSON)
    assert [names(hit) for hit in find(garden, "throw a pot away")] == [["drop-plant"]]


def test_a_token_reaches_those_members_that_it_names(garden: LocalRegistry) -> None:
    some = Caller("main", only=("main/garden", "main/list-plants"))
    assert [names(hit) for hit in find(garden, "garden", some)] == [["list-plants"]]
    one = Caller("main", only=("main/list-plants",))
    assert [(hit.offer.name, hit.offers) for hit in find(garden, "list-plants", one)] == [
        ("list-plants", ())
    ]


def test_another_namespace_finds_neither(garden: LocalRegistry) -> None:
    assert find(garden, "garden", Caller("other")) == []


REFUSED: tuple[tuple[dict[str, Any], str], ...] = (
    ({"members": ["water-plant", "nobody"]}, "ENOENT"),
    ({"members": ["water-plant", "garden"]}, "EINVAL"),
    ({"members": ["more"]}, "EMANIFEST"),
    ({"members": []}, "EMANIFEST"),
    ({"members": ["water-plant", "water-plant"]}, "EMANIFEST"),
    ({"members": [f"m{number}" for number in range(MEMBERS_MOST + 1)]}, "EMANIFEST"),
    ({"members": ["Water Plant"]}, "EMANIFEST"),
    ({"tests": [{"input": {}, "output": 1}]}, "EMANIFEST"),
    ({"permissions": {"kv": True}}, "EMANIFEST"),
    ({"requires": ["roof"]}, "EMANIFEST"),
    ({"public": True}, "EPERM"),
    ({"lang": "js", "code": "return 1"}, "EMANIFEST"),
)


def test_a_bundle_that_cannot_be_is_refused_and_nothing_is_stored(garden: LocalRegistry) -> None:
    for changes, code in REFUSED:
        with pytest.raises(SigilError) as caught:
            garden.deploy({**BUNDLE, "name": "more", **changes}, PERSON)
        assert (changes, caught.value.code) == (changes, code)
        with pytest.raises(SigilError, match="no such capability"):
            garden.inspect("more", PERSON)


def test_no_model_makes_one_and_nobody_runs_one(garden: LocalRegistry) -> None:
    with pytest.raises(SigilError, match="JavaScript only"):
        garden.deploy({**BUNDLE, "name": "mine"}, MODEL)
    with pytest.raises(SigilError, match="only the members run") as caught:
        garden.run("garden", {}, PERSON)
    assert caught.value.code == "EPERM"
    with pytest.raises(SigilError, match="only the members run"):
        garden.deploy(spec("calls", permissions={"call": ["garden"]}), PERSON)


def test_a_member_that_becomes_a_bundle_is_left_out(garden: LocalRegistry) -> None:
    garden.remove("drop-plant", PERSON)
    garden.deploy({**BUNDLE, "name": "drop-plant", "members": ["roof"]}, PERSON)
    assert [names(hit) for hit in find(garden, "garden", limit=1)] == [
        ["water-plant", "list-plants"]
    ]


def test_an_inspection_tells_the_members_and_a_page_tells_their_tools(
    garden: LocalRegistry,
) -> None:
    assert garden.inspect("garden", PERSON)["members"] == list(MEMBERS)
    assert "members" not in garden.inspect("roof", PERSON)
    found = garden.query("garden", PERSON)
    page = orjson.dumps(query_page(found, garden, PERSON))
    assert read_found(page) == found
    row: Any = found_row(found)
    tools = row["items"][0]["tools"]
    assert tools == [offer.tool for offer in found.hits[0].loads]
    assert row["next"].startswith(f"now call {tools[0]}, or whichever")
    less: Any = without_tools(row, {tools[0]})
    assert less["items"][0]["tools"] == tools[1:]
    assert without_tools(row, set(tools))["items"] == [{"capability": "garden"}]


def test_it_is_stored_so_that_version_0_1_0_reads_the_record() -> None:
    manifest = parse_flat(BUNDLE).manifest
    record = Record("main", "garden", 1, "sha256:1", "sigil", "", "", manifest, "person", "", 1.0)
    stored = orjson.loads(encode(record))["manifest"]
    assert (stored["lang"], stored["requires"]) == ("host", list(MEMBERS))
    assert "members" not in stored
    read = decode(encode(record)).manifest
    assert (read.lang, read.members, read.requires) == ("bundle", MEMBERS, ())
    assert read == manifest


def test_a_folder_and_a_request_say_the_same_bundle() -> None:
    listed = ", ".join(f'"{name}"' for name in MEMBERS)
    manifest, _ = parse_toml(
        '[capability]\nname = "garden"\ndescription = "Everything about a kitchen garden."\n'
        f'[build]\nlang = "bundle"\n[bundle]\nmembers = [{listed}]\n'
    )
    package = parse_flat(BUNDLE)
    assert manifest == package.manifest
    assert parse_flat(flat_spec(package)).digest == package.digest
    assert "members" not in Manifest(name="a", description="b").model_dump()


def test_a_client_of_mcp_gets_the_members_that_run_outside_an_agent(garden: LocalRegistry) -> None:
    toolbox = Toolbox(garden, PERSON, ResidentTools(), lambda name: None)
    answer = toolbox.call("sigil_query", {"query": "garden"})
    (item,) = answer["structuredContent"]["items"]
    assert [each["capability"] for each in item["members"]] == list(MEMBERS)
    assert all(each["schema"] and each["description"] for each in item["members"])
    listed = {tool["name"] for tool in toolbox.list_tools()}
    assert {f"cap_{name.replace('-', '_')}" for name in MEMBERS} <= listed
    assert "cap_garden" not in listed
