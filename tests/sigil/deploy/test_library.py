"""The library's folder and the registry that it fills: gone through when something changed, and not
otherwise.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from sigil.deploy import library
from sigil.deploy.library import LibraryFolder, update_library
from sigil.protocol import LIBRARY, Caller
from sigil.registry import LocalRegistry
from sigil.settings import Settings
from sigil.wiring import local_registry, open_stores
from tests.project.tree import ROOT
from tests.sigil.registries import PERSON, spec, text

READER = Caller("main")


class Starts:
    """Registries over one store and one folder, each as after a start; how often the folder was
    gone through.
    """

    def __init__(self, place: Path, compiled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = place / "library"
        self._settings = Settings(
            data=str(place / "data"), cache=str(compiled), library=str(self.folder)
        )
        self.stores = open_stores(self._settings)
        self.gone_through = 0
        monkeypatch.setattr(library, "read_packages", self._packages)

    def _packages(self, folder: Path) -> list[library.Package]:
        self.gone_through += 1
        return [library.read_folder(path.parent) for path in sorted(folder.glob("*/sigil.toml"))]

    def shelve(self, name: str) -> None:
        shutil.copytree(ROOT / "capabilities" / name, self.folder / name)

    def start(self) -> list[str]:
        """What a start says."""
        said: list[str] = []
        local_registry(self._settings, self.stores, said.append).close()
        return said

    def registry(self) -> LocalRegistry:
        return local_registry(self._settings, self.stores)


@pytest.fixture
def starts(tmp_path: Path, compiled: Path, monkeypatch: pytest.MonkeyPatch) -> Starts:
    made = Starts(tmp_path, compiled, monkeypatch)
    made.shelve("encode")
    made.shelve("roman-numerals")
    assert made.start() == ["library: encode, roman-numerals"]
    assert made.start() == []
    made.gone_through = 0
    return made


def test_a_start_with_nothing_to_do_reads_no_manifest(starts: Starts) -> None:
    assert starts.start() == []
    assert starts.gone_through == 0


@pytest.mark.parametrize("file", ["sigil.toml", "main.js"])
def test_a_changed_file_is_seen(starts: Starts, file: str) -> None:
    path = starts.folder / "roman-numerals" / file
    path.write_text(path.read_text() + ("\n# more\n" if file.endswith("toml") else "\n// more\n"))

    said = starts.start()

    assert starts.gone_through == 1
    assert said == ([] if file.endswith("toml") else ["library: roman-numerals"])


def test_what_is_new_and_what_has_gone_is_told(starts: Starts) -> None:
    starts.shelve("slugify")
    shutil.rmtree(starts.folder / "roman-numerals")

    said = starts.start()

    assert said[1:] == ["library: roman-numerals is gone"]
    assert starts.start() == []


def test_what_changed_in_the_store_is_put_right(starts: Starts) -> None:
    registry = starts.registry()
    registry.remove_others({"encode"}, Caller(LIBRARY, author="library"))
    registry.close()

    assert starts.start() == ["library: roman-numerals"]


def test_another_versions_mark_does_not_count(
    starts: Starts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library, "installed_version", lambda: "another")

    starts.start()

    assert starts.gone_through == 1


def test_two_folders_over_one_store_each_see_the_others_change(
    starts: Starts, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    shutil.copytree(ROOT / "capabilities" / "encode", other / "encode")
    registry = starts.registry()
    LibraryFolder(starts.stores.kv, other).update(registry, lambda line: None)
    registry.close()

    assert starts.start() == ["library: roman-numerals"]


LIBRARIAN = Caller(LIBRARY, author="library")


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
    update_library(registry, tmp_path / "shelf", LIBRARIAN, said.append)
    registry.deploy(spec("three"), PERSON)
    (tmp_path / "shelf" / "two" / "sigil.toml").unlink()

    update_library(registry, None, LIBRARIAN, said.append)
    assert text(registry, "two") == "two"
    update_library(registry, tmp_path / "shelf", LIBRARIAN, said.append)

    assert sorted(row["capability"] for row in registry.list(PERSON)) == ["one", "three"]
    assert said == ["library: one, two", "library: two is gone"]
