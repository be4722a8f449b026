"""Skills are kept with their versions and files, and one catalog tells of all of them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import orjson
import pytest

from functions.agent.skills.catalog import CATALOG_BYTES, PINNED_MOST, SKILLS_MOST, decode_head
from functions.agent.skills.package import SkillPackage
from functions.agent.skills.skills import Skills
from sigil.errors import UsageError
from sigil.storage.kv import KV, keys
from sigil.storage.kv.memory import MemoryKV
from tests.functions.agent.skills.examples import REPORT, make_text, pack

BY = "terminal:local"


@pytest.fixture
def kv() -> MemoryKV:
    return MemoryKV()


@pytest.fixture
def skills(kv: MemoryKV) -> Skills:
    return Skills(kv, "main", lambda: 1_000.0)


def names(skills: Skills) -> list[str]:
    return [each.name for each in skills.read_catalog().skills]


def test_what_was_added_comes_back_byte_for_byte(skills: Skills) -> None:
    packages = [
        SkillPackage(REPORT.encode(), {"references/a.md": b"a\r\n", "logo.png": b"\x89PNG\xff\0"}),
        SkillPackage(REPORT.replace("\n", "\r\n").encode()),
        SkillPackage(b"\xef\xbb\xbf" + REPORT.encode()),
        SkillPackage(REPORT.replace("the board.", "the board.\r\n").rstrip().encode()),
        SkillPackage(REPORT.encode() + b"\n\n \n"),
    ]
    for version, package in enumerate(packages, 1):
        doc = skills.write(package, by=BY)
        assert doc.version == version
        assert skills.pack(doc) == package
    assert skills.pack(skills.read_version("quarterly-report", 1)) == packages[0]


def test_the_same_again_is_no_version(skills: Skills, kv: MemoryKV) -> None:
    first = skills.write(pack(REPORT, a_md=b"a"), by=BY)
    generation = skills.read_catalog().generation
    assert skills.write(pack(REPORT, a_md=b"a"), by=BY) == first
    assert skills.read_catalog().generation == generation
    assert skills.write(pack(REPORT, a_md=b"b"), by=BY).version == 2


def test_the_catalog_tells_of_each_skill(skills: Skills) -> None:
    skills.write(pack(REPORT, a_md=b"a"), by=BY)
    (entry,) = skills.read_catalog().skills
    assert entry.name == "quarterly-report"
    assert (entry.version, entry.files, entry.by, entry.pinned) == (1, 1, BY, False)
    assert entry.tools == ("currency-rates", "text-diff", "Bash")
    assert entry.tags == ("finance", "board")


def test_a_skill_is_removed_and_comes_back_with_its_files(skills: Skills) -> None:
    package = pack(REPORT, references__a_md=b"a")
    skills.write(package, by=BY)
    skills.pin("quarterly-report")
    skills.remove("quarterly-report", by=BY)
    assert names(skills) == []
    with pytest.raises(UsageError, match="there is no skill"):
        skills.read("quarterly-report")
    with pytest.raises(UsageError, match="where it was removed"):
        skills.roll_back("quarterly-report", 2, by=BY)
    doc = skills.roll_back("quarterly-report", 1, by=BY)
    assert (doc.version, skills.pack(doc)) == (3, package)
    assert [each.pinned for each in skills.read_catalog().skills] == [False]
    assert [bool(each.text) for each in skills.list_versions("quarterly-report")] == [
        True,
        False,
        True,
    ]


def test_there_are_200_skills_at_most(skills: Skills) -> None:
    for number in range(SKILLS_MOST):
        skills.write(pack(make_text(f"tea-{number}", "How tea is made.")), by=BY)
    with pytest.raises(UsageError, match="200 skills already"):
        skills.write(pack(make_text("coffee", "How coffee is made.")), by=BY)
    assert skills.write(pack(make_text("tea-7", "Another way.")), by=BY).version == 2
    assert len(names(skills)) == SKILLS_MOST


def test_descriptions_that_are_too_long_together_are_refused(skills: Skills) -> None:
    for number in range(CATALOG_BYTES // 3_200):
        skills.write(pack(make_text(f"tea-{number}", "茶" * 1_024)), by=BY)
    added = len(names(skills))
    for number in range(20):
        with suppress(UsageError):
            skills.write(pack(make_text(f"more-{number}", "茶" * 1_024)), by=BY)
    more = [name for name in names(skills) if name.startswith("more-")]
    assert len(more) < 20
    assert len(names(skills)) == added + len(more)
    with pytest.raises(UsageError, match="too long together"):
        skills.write(pack(make_text("more-19", "茶" * 1_024)), by=BY)
    with pytest.raises(UsageError, match="there is no skill"):
        skills.read("more-19")


def test_what_is_pinned_is_bounded(skills: Skills) -> None:
    for number in range(PINNED_MOST + 1):
        skills.write(pack(make_text(f"tea-{number}", "How tea is made.")), by=BY)
    for number in range(PINNED_MOST):
        skills.pin(f"tea-{number}")
    with pytest.raises(UsageError, match="too much to pin"):
        skills.pin(f"tea-{PINNED_MOST}")
    with pytest.raises(UsageError, match="this version is too long"):
        skills.write(pack(make_text("tea-0", "Tea.", "x" * 20_001)), by=BY)
    skills.pin("tea-0", pinned=False)
    skills.write(pack(make_text("tea-0", "Tea.", "x" * 20_001)), by=BY)
    with pytest.raises(UsageError, match="too much to pin"):
        skills.pin("tea-0")


def test_the_head_has_the_number_of_skills_and_the_pinned_texts(skills: Skills, kv: KV) -> None:
    skills.write(pack(REPORT), by=BY)
    skills.write(pack(make_text("tea", "How tea is made.")), by=BY)
    skills.pin("tea")
    head = decode_head(kv.get(keys.skill_head("main")))
    assert (head.count, [each.text for each in head.pinned]) == (2, ["Do it well."])
    assert head.generation == skills.read_catalog().generation
    assert decode_head(None).count == 0


class CrashingKV(MemoryKV):
    """A store that stops before its `left`th write."""

    left = 10**9

    def put(self, *given: object, **more: object) -> str:
        if not self.left:
            raise KeyboardInterrupt
        self.left -= 1
        return super().put(*given, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "change",
    [
        lambda skills: skills.write(pack(REPORT, a_md=b"b"), by=BY),
        lambda skills: skills.remove("quarterly-report", by=BY),
        lambda skills: skills.pin("quarterly-report"),
        lambda skills: skills.roll_back("quarterly-report", 1, by=BY),
    ],
    ids=["write", "remove", "pin", "roll back"],
)
def test_a_change_that_a_crash_cut_off_is_finished_by_the_next_one(
    change: Callable[[Skills], object],
) -> None:
    for writes in range(6):
        kv = CrashingKV()
        skills = Skills(kv, "main", lambda: 1_000.0)
        skills.write(pack(REPORT, a_md=b"a"), by=BY)
        skills.write(pack(REPORT, a_md=b"c"), by=BY)
        kv.left = writes
        with suppress(KeyboardInterrupt):
            change(skills)
        kv.left = 10**9
        skills.write(pack(REPORT, a_md=b"d"), by=BY)
        (entry,) = skills.read_catalog().skills
        doc = skills.read("quarterly-report")
        assert entry.version == doc.version
        assert skills.pack(doc).files == {"a.md": b"d"}
        head = decode_head(kv.get(keys.skill_head("main")))
        assert (head.generation, head.count) == (skills.read_catalog().generation, 1)


def test_a_damaged_catalog_is_made_anew_of_the_skills(skills: Skills, kv: KV) -> None:
    skills.write(pack(REPORT), by=BY)
    skills.write(pack(make_text("tea", "How tea is made.")), by=BY)
    kv.put(keys.skill_catalog("main"), b"{damaged")
    assert names(skills) == ["quarterly-report", "tea"]
    skills.remove("tea", by=BY)
    assert names(skills) == ["quarterly-report"]


def test_what_a_newer_version_wrote_beside_its_fields_stays(skills: Skills, kv: KV) -> None:
    skills.write(pack(REPORT, a_md=b"a"), by=BY)
    for key in (keys.skill_catalog("main"), keys.document("main", "skill/quarterly-report")):
        item = kv.get(key)
        assert item is not None
        kv.put(key, orjson.dumps({**orjson.loads(item.value), "newer": 1}))
    skills.write(pack(REPORT, a_md=b"b"), by=BY)
    for key in (keys.skill_catalog("main"), keys.document("main", "skill/quarterly-report")):
        item = kv.get(key)
        assert item is not None
        assert orjson.loads(item.value)["newer"] == 1


def test_a_damaged_file_is_said_and_not_given_out(skills: Skills, kv: KV) -> None:
    doc = skills.write(pack(REPORT, a_md=b"a"), by=BY)
    kv.put(keys.skill_file("main", doc.files[0].digest), b"other")
    with pytest.raises(Exception, match="cannot be read"):
        skills.read_file(doc, "a.md")


def test_agents_have_their_own_skills(kv: KV) -> None:
    Skills(kv, "main", lambda: 0.0).write(pack(REPORT), by=BY)
    assert names(Skills(kv, "main.alice", lambda: 0.0)) == []
