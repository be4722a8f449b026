"""Skills are ranked as the library's capabilities are, and displace none of them."""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from functions.agent.skills.catalog import SKILLS_MOST, SkillEntry, decode_head
from functions.agent.skills.search import FoundSkills, SkillSearch
from functions.agent.skills.skills import Skills
from functions.skill_ranking import LibraryRanking
from sigil.search import library_index
from sigil.storage.kv import keys
from sigil.storage.kv.memory import MemoryKV
from tests.functions.agent.skills.examples import make_text, pack
from tests.project.tree import ROOT
from tests.selection import sample
from tests.stories.test_store_operations import CountingKV

BY = "terminal:local"
PLACES = ("", "school", "clinic", "berlin office")


def read_rows() -> list[dict[str, str]]:
    with (ROOT / "tests/data/skills.tsv").open(newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def list_examples() -> list[str]:
    """Return the examples of all capabilities of the library."""
    examples: list[str] = []
    for path in sorted((ROOT / "capabilities").glob("*/sigil.toml")):
        examples += tomllib.loads(path.read_text("utf-8"))["capability"].get("examples", [])
    return examples


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The index of the library as it is built into the package."""
    file = tmp_path_factory.mktemp("index") / "library.index"
    library_index.build(file=file)
    return file


@pytest.fixture
def kv() -> CountingKV:
    return CountingKV(MemoryKV())


@pytest.fixture(scope="module")
def filled(library: Path) -> tuple[CountingKV, Callable[[str], FoundSkills]]:
    """A store with 200 skills, and what finds among them as a worker does that has found something
    before; nothing that these tests ask for changes it.
    """
    kv = CountingKV(MemoryKV())
    skills = Skills(kv, "main", lambda: 0.0)
    for place in PLACES:
        for row in read_rows():
            name = f"{row['name']}-{place}".replace(" ", "-").strip("-")
            about = f"For the {place}: {row['description']}" if place else row["description"]
            skills.write(pack(make_text(name, f'"{about}"')), by=BY)
    search = SkillSearch(LibraryRanking)
    head = decode_head(kv.get(keys.skill_head("main")))
    assert head.count == SKILLS_MOST
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(library_index, "load", partial(library_index.load, library))
        search.find(skills, head, "tea", 0.0)
    return kv, lambda query: search.find(skills, head, query, 0.0)


@pytest.fixture
def many(filled: tuple[CountingKV, Callable[[str], FoundSkills]]) -> CountingKV:
    """The store with 200 skills, of which nothing is noted yet."""
    filled[0].operations.clear()
    return filled[0]


@pytest.fixture
def find(
    filled: tuple[CountingKV, Callable[[str], FoundSkills]], many: CountingKV
) -> Callable[[str], FoundSkills]:
    """Finds among 200 skills."""
    return filled[1]


def test_no_example_of_the_library_pages_in_a_skill(
    find: Callable[[str], FoundSkills], many: CountingKV
) -> None:
    examples = list_examples()
    assert len(examples) > 200
    assert [each for each in sample(examples, 100) if find(each).entry] == []
    # what finds no skill reads nothing of the store
    assert many.operations == []


def test_plain_requests_find_their_skill_among_200(
    find: Callable[[str], FoundSkills], many: CountingKV
) -> None:
    asked = {row["request"]: row["name"] for row in read_rows() if row["request"]}
    assert len(asked) == 20
    found = {request: find(request) for request in asked}
    paged = [name for request, name in asked.items() if _name(found[request].entry) == name]
    # the library has words of its own for some of them: then the skill is named beside it
    listed = [name for request, name in asked.items() if name in _list_names(found[request])]
    assert len(paged) >= 15, sorted(set(asked.values()) - set(paged))
    assert len(listed) >= 18, sorted(set(asked.values()) - set(listed))
    # a query that finds one reads its text, and nothing else
    assert len(many.operations) == sum(each.entry is not None for each in found.values())


def _list_names(found: FoundSkills) -> list[str]:
    """Return the skill that is paged in and those that are named."""
    return [each.name for each in (found.entry, *found.others) if each]


def _name(entry: SkillEntry | None) -> str:
    return entry.name if entry else ""


def test_a_skill_is_found_by_its_name_alone(find: Callable[[str], FoundSkills]) -> None:
    for name in ("dunning-letters", "dunning letters", "sql-style-school"):
        assert _name(find(name).entry) == name.replace(" ", "-")


def test_a_skill_that_fits_worse_than_a_capability_is_named_at_most(
    find: Callable[[str], FoundSkills],
) -> None:
    found = find("convert a csv file with sales into json")
    assert found.entry is None


def test_a_catalog_is_read_once_until_it_changes(
    library: Path, kv: CountingKV, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library_index, "load", partial(library_index.load, library))
    skills = Skills(kv, "main", lambda: 0.0)
    search = SkillSearch(LibraryRanking)

    def find(query: str) -> tuple[str, int]:
        head = decode_head(kv.get(keys.skill_head("main")))
        kv.operations.clear()
        return _name(search.find(skills, head, query, 0.0).entry), len(kv.operations)

    skills.write(pack(make_text("tea-time", "How tea is made.")), by=BY)
    assert find("make tea") == ("tea-time", 2)
    assert find("make tea") == ("tea-time", 1)
    skills.write(pack(make_text("coffee-time", "How coffee is made.")), by=BY)
    assert find("make coffee") == ("coffee-time", 2)
    skills.remove("coffee-time", by=BY)
    assert find("make coffee")[0] == ""


def test_a_skill_that_is_removed_meanwhile_is_not_found(
    library: Path, kv: CountingKV, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library_index, "load", partial(library_index.load, library))
    skills = Skills(kv, "main", lambda: 0.0)
    search = SkillSearch(LibraryRanking)
    skills.write(pack(make_text("tea-time", "How tea is made.")), by=BY)
    head = decode_head(kv.get(keys.skill_head("main")))
    assert _name(search.find(skills, head, "make tea", 0.0).entry) == "tea-time"
    skills.remove("tea-time", by=BY)
    assert search.find(skills, head, "make tea", 0.0) == FoundSkills()


def test_agents_of_one_process_do_not_find_each_others_skills(
    library: Path, kv: CountingKV, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library_index, "load", partial(library_index.load, library))
    search = SkillSearch(LibraryRanking)
    for agent, drink in (("main", "tea"), ("main.alice", "coffee")):
        skills = Skills(kv, agent, lambda: 0.0)
        skills.write(pack(make_text(f"{drink}-time", f"How {drink} is made.")), by=BY)
        for query in ("tea", "coffee"):
            head = decode_head(kv.get(keys.skill_head(agent)))
            found = _name(search.find(skills, head, f"make {query}", 0.0).entry)
            assert found == (f"{drink}-time" if query == drink else "")
