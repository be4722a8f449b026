"""A caller finds what it may see, however much it may not; nobody fills the answers alone."""

from __future__ import annotations

import pytest

from sigil.protocol import Caller
from sigil.registry import LocalRegistry
from sigil.search import catalog_search
from sigil.search.words import Tokenizer
from sigil.storage.artifacts import MemoryArtifacts
from sigil.storage.kv.memory import MemoryKV
from tests.sigil.registries import PERSON, spec
from tests.sigil.searching import MAIN, Garden, names

CAROL = Caller("carol")


@pytest.fixture
def garden() -> Garden:
    return Garden(MemoryKV())


def test_a_token_for_one_capability_finds_it_behind_a_hundred_others(garden: Garden) -> None:
    for number in range(100):
        garden.deploy(f"plant-{number}", "Plant a carrot.", aliases=("plant a carrot",))
    garden.deploy("zz-carrot", "Plant a carrot in a pot.")
    finder, only = garden.finder(), Caller("main", only=("main/zz-carrot",))
    assert names(finder, "plant a carrot", only) == ["zz-carrot"]
    assert [each.name for each in finder.explore("plant a carrot", only, 5)] == ["zz-carrot"]


def test_a_token_for_one_capability_looks_around_at_it_among_a_thousand(garden: Garden) -> None:
    for number in range(450):
        garden.deploy(f"plant-{number}", f"Plant number {number}.")
    finder = garden.finder()
    for number in (0, 151, 449):
        assert [
            each.name
            for each in finder.explore("", Caller("main", only=(f"main/plant-{number}",)), 5)
        ] == [f"plant-{number}"]


def test_what_one_has_made_public_oneself_hides_nothing_that_others_have(garden: Garden) -> None:
    for number in range(60):
        garden.deploy(f"plant-{number}", "Plant a carrot.", "carol", public=True)
        garden.idle(f"plant-{number}", "carol") if number % 2 else None
    garden.deploy("planter", "Plant a carrot or so.", "alice", public=True)
    only = Caller("carol", only=("alice/*",))
    assert names(garden.finder(), "plant a carrot", only) == ["alice/planter"]


def test_a_namespace_that_is_full_of_the_same_does_not_crowd_the_others_out(garden: Garden) -> None:
    for number in range(120):
        garden.deploy(
            f"x{number}",
            "invoice pdf make",
            "mallory",
            public=True,
            aliases=("make an invoice pdf", "make invoice"),
        )
    garden.deploy("invoice", "Make an invoice as a PDF file from items.", "alice", public=True)
    finder = garden.finder()
    found = names(finder, "make an invoice pdf", CAROL, 3)
    assert found[2] == "alice/invoice"
    assert len(names(finder, "make an invoice pdf", CAROL, 50)) == 11
    assert "alice/invoice" in [
        each.name for each in finder.explore("make an invoice pdf", CAROL, 3)
    ]


def test_looking_around_shows_every_process_the_same(garden: Garden) -> None:
    for number in range(450):
        garden.deploy(
            f"plant-{number * 7919 % 1000}", f"Plant number {number % 13} of row {number % 7}."
        )
    running = garden.finder()
    names(running, "plant")
    for number in range(30):
        garden.deploy(f"sow-{number}", f"Sow number {number}.")
        garden.remove(f"plant-{number * 7919 % 1000}")
    garden.deploy("plant-7", "Plant once more.")
    blind = Garden(garden.kv, artifacts=MemoryArtifacts())
    shown = [
        [each.name for each in finder.explore("", MAIN, 20)]
        for finder in (running, garden.finder(), blind.finder())
    ]
    assert shown[0] == shown[1] == shown[2]


def test_an_alias_is_read_once_however_many_ask() -> None:
    words = Tokenizer()
    assert words.content_terms("make the invoices") is words.content_terms("make the invoices")
    assert words.content_terms("make the invoices") == {"make", "invoic"}


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


def test_what_fits_too_little_is_named_and_a_query_for_its_name_finds_it(garden: Garden) -> None:
    for crop in ("carrot", "radish"):
        garden.deploy(
            f"plant-{crop}", f"Plant a {crop}.", aliases=tuple(f"{crop} {n}" for n in "abcde")
        )
    finder = garden.finder()
    found = finder.find("how do I cook a radish with cream and vinegar", MAIN, 3)
    assert found.hits == ()
    assert found.total == 0
    assert [(weak.name, weak.description) for weak in found.weak] == [
        ("plant-radish", "Plant a radish.")
    ]
    (hit,) = finder.find("plant-radish", MAIN, 1).hits
    assert hit.offer.name == "plant-radish"
