"""The library's index, made with the package, answers as if the store's own records were read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import pytest

from sigil.deploy.library import read_packages
from sigil.manifest.model import Manifest
from sigil.protocol import LIBRARY
from sigil.search import Index, library_index
from sigil.search.catalog_search import CatalogSearch
from sigil.storage.kv.memory import MemoryKV
from tests.sigil.searching import MAIN, Garden

QUERIES = (
    "encode hello world in base64",
    "how many kilometres are 26.2 miles?",
    "华氏100度是摄氏多少度",
    "Wie viele Tage sind es bis Weihnachten?",
    "remember that I am allergic to peanuts",
    "hash",
    "sing a song",
)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("index") / "library.index"
    library_index.build(file=path)
    return path


@pytest.fixture(scope="module")
def manifests() -> list[Manifest]:
    return [package.manifest for package in read_packages(library_index.CAPABILITIES)]


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the documents whose words are read."""
    names: list[str] = []
    add = Index.add

    def noting(index: Index, document: library_index.IndexDocument) -> None:
        names.append(document.name)
        add(index, document)

    monkeypatch.setattr(Index, "add", noting)
    return names


def plant(manifests: Iterable[Manifest]) -> Garden:
    garden = Garden(MemoryKV())
    for manifest in manifests:
        garden.save(manifest, LIBRARY)
    return garden


def answers(finder: CatalogSearch) -> list[object]:
    return [finder.find(query, MAIN, 5) for query in QUERIES]


def open_finder(
    garden: Garden, monkeypatch: pytest.MonkeyPatch, load: Callable[[], bytes | None]
) -> CatalogSearch:
    monkeypatch.setattr(library_index, "load", load)
    return garden.finder()


def test_the_first_search_over_the_library_reads_no_words_and_finds_the_same(
    file: Path, manifests: list[Manifest], read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    garden = plant(manifests)
    shipped = answers(open_finder(garden, monkeypatch, partial(library_index.load, file)))
    assert read == []
    # the next process goes on with the snapshot that the first one wrote
    later = answers(open_finder(garden, monkeypatch, lambda: None))
    assert read == []
    fresh = answers(open_finder(plant(manifests), monkeypatch, lambda: None))
    assert sorted(read) == [manifest.name for manifest in manifests]
    assert shipped == later == fresh


def test_what_differs_from_the_shipped_library_is_read_and_what_is_missing_is_not_found(
    file: Path, manifests: list[Manifest], read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    gone, changed, *rest = reversed(manifests)
    garden = plant([changed.model_copy(update={"description": "Grow pumpkins"}), *rest])
    finder = open_finder(garden, monkeypatch, partial(library_index.load, file))
    (hit,) = finder.find("grow pumpkins", MAIN, 5).hits
    assert hit.offer.name == changed.name
    found = finder.find(gone.name, MAIN, 5)
    assert gone.name not in [each.offer.name for each in found.hits]
    assert gone.name not in [each.name for each in found.weak]
    assert read == [changed.name]
    finder.close()


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda body: b"", id="empty"),
        pytest.param(lambda body: body[:40], id="cut"),
        pytest.param(lambda body: body[:-1], id="one byte short"),
        pytest.param(lambda body: body[:5000] + bytes([body[5000] ^ 1]) + body[5001:], id="a bit"),
        pytest.param(None, id="missing"),
    ],
)
def test_a_damaged_index_is_none(
    damage: Callable[[bytes], bytes] | None, file: Path, tmp_path: Path
) -> None:
    path = tmp_path / "library.index"
    if damage:
        path.write_bytes(damage(file.read_bytes()))
    assert library_index.load(file) is not None
    assert library_index.load(path) is None


def test_the_index_of_another_program_is_none(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library_index, "_digest_program", lambda: b"another")
    assert library_index.load(file) is None


def test_an_index_of_another_ranker_is_not_used(
    file: Path, manifests: list[Manifest], read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Index, "rules", "other")
    garden = plant(manifests[:3])
    open_finder(garden, monkeypatch, partial(library_index.load, file)).find("hash", MAIN, 1)
    assert read == [manifest.name for manifest in manifests[:3]]
