"""The index over the catalog is bounded, and forgets what the library no longer has."""

from __future__ import annotations

from pathlib import Path

import pytest

from sigil.deploy.library import update_library
from sigil.protocol import LIBRARY, Caller
from sigil.registry import LocalRegistry
from sigil.search import catalog_search
from tests.sigil.catalog.conftest import PERSON, spec, text

SHELF = Caller(LIBRARY, author="library")


def test_the_index_keeps_those_chats_that_asked_last(
    registry: LocalRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog_search, "NAMESPACES", 4)
    chats = [Caller("main", f"telegram:{number}", author="model") for number in range(8)]
    for chat in chats:
        registry.deploy(spec(f"shout-{chat.session[-1]}"), chat)
        assert [hit.offer.name for hit in registry.query("shout a text", chat).hits] == [
            f"shout-{chat.session[-1]}"
        ]

    assert len(registry._search._followers) <= 4
    assert len(registry._search._index) <= 4
    for chat in chats:
        assert [hit.offer.name for hit in registry.query("shout a text", chat).hits] == [
            f"shout-{chat.session[-1]}"
        ]


def test_chats_without_capabilities_leave_nothing_behind(registry: LocalRegistry) -> None:
    registry.deploy(spec(), PERSON)
    for number in range(50):
        registry.query("shout a text", Caller("main", f"telegram:{number}", author="model"))
    assert list(registry._search._followers) == ["main"]


def test_what_leaves_the_librarys_folder_leaves_the_store(
    registry: LocalRegistry, tmp_path: Path
) -> None:
    said: list[str] = []
    for name in ("one", "two"):
        (tmp_path / "shelf" / name).mkdir(parents=True)
        (tmp_path / "shelf" / name / "sigil.toml").write_text(
            f'[capability]\nname = "{name}"\ndescription = "Shout {name}."\n'
        )
        (tmp_path / "shelf" / name / "main.js").write_text(f"return '{name}'")
    update_library(registry, tmp_path / "shelf", SHELF, said.append)
    registry.deploy(spec("three"), PERSON)
    (tmp_path / "shelf" / "two" / "sigil.toml").unlink()

    update_library(registry, None, SHELF, said.append)
    assert text(registry, "two") == "two"
    update_library(registry, tmp_path / "shelf", SHELF, said.append)

    assert sorted(row["capability"] for row in registry.list(PERSON)) == ["one", "three"]
    assert said == ["library: one, two", "library: two is gone"]


ORDER = {
    "type": "object",
    "$defs": {
        "parcel": {
            "type": "object",
            "properties": {"wingspan": {"type": "number", "description": "How wide the glider is"}},
        }
    },
    "properties": {
        "customer": {
            "type": "object",
            "properties": {
                "loyalty_card": {"type": "string"},
                "address": {"type": "object", "properties": {"postcode": {"type": "string"}}},
            },
        },
        "lines": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "barcode": {"type": "string", "description": "The EAN printed on it"}
                },
            },
        },
        "payment": {
            "oneOf": [
                {"type": "object", "properties": {"iban": {"type": "string"}}},
                {
                    "type": "object",
                    "title": "Voucher",
                    "properties": {"coupon": {"const": "springtime"}},
                },
            ]
        },
        "delivery": {"anyOf": [{"enum": ["courier", "bicycle"]}, {"$ref": "#/$defs/parcel"}]},
        "colour": {"enum": ["turquoise", "vermilion"]},
    },
}


@pytest.mark.parametrize(
    "asked",
    [
        "loyalty card",
        "postcode",
        "barcode",
        "EAN printed",
        "iban",
        "voucher",
        "springtime coupon",
        "bicycle courier",
        "turquoise",
        "glider wingspan",
    ],
)
def test_a_query_finds_what_stands_deep_in_a_schema(registry: LocalRegistry, asked: str) -> None:
    registry.deploy(spec("place-order", schema=ORDER), PERSON)
    for number in range(5):
        registry.deploy(spec(f"other-{number}"), PERSON)
    assert [hit.offer.name for hit in registry.query(asked, PERSON).hits] == ["place-order"]


def test_a_huge_schema_is_read_in_part_and_hides_nothing_of_what_the_capability_says(
    registry: LocalRegistry,
) -> None:
    many = {
        f"field{number}": {"type": "object", "properties": {f"inner{number}": {"type": "string"}}}
        for number in range(150)
    }
    schema = {
        "type": "object",
        "properties": {"kind": {"enum": [f"value{number}" for number in range(400)]}, **many},
    }
    registry.deploy(spec("vast", schema=schema), PERSON)
    registry.deploy(spec("plain", description="Shout about herring."), PERSON)

    assert [hit.offer.name for hit in registry.query("vast", PERSON).hits] == ["vast"]
    assert [hit.offer.name for hit in registry.query("value7", PERSON).hits] == ["vast"]
    assert registry.query("value399", PERSON).hits == ()
    assert [hit.offer.name for hit in registry.query("herring", PERSON).hits] == ["plain"]
