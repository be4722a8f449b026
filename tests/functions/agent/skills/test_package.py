"""A package keeps its files as they are, within bounds, and within its own folder."""

from __future__ import annotations

import pytest

from functions.agent.skills.package import FILE_BYTES, SkillPackage
from sigil.errors import UsageError
from tests.functions.agent.skills.examples import REPORT
from tests.tables import each_row

BODY = REPORT.encode()


@each_row(
    "path",
    [
        "../secrets.md",
        "references/../../secrets.md",
        "/etc/passwd",
        "a//b",
        "a/",
        ".",
        "",
        "a\\b",
        "C:evil",
        "nul\0byte",
        "line\nbreak",
        "turned\u202etxt",
        "half\ud800",
        "dot./file",
        "space /file",
        "x" * 201,
    ],
)
def test_a_path_that_may_lead_elsewhere_is_refused(path: str) -> None:
    with pytest.raises(UsageError, match="no path of a skill's file"):
        SkillPackage(BODY, {path: b""}).parse()


@pytest.mark.parametrize("twins", [("a.md", "A.md"), ("caf\u00e9", "cafe\u0301"), ("skill.md",)])
def test_files_that_are_one_on_some_systems_are_refused(twins: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match="one file on many systems"):
        SkillPackage(BODY, dict.fromkeys(twins, b"")).parse()


@pytest.mark.parametrize(
    "package",
    [
        SkillPackage(BODY + b"x" * FILE_BYTES),
        SkillPackage(BODY, {"a": b"x" * (FILE_BYTES + 1)}),
        SkillPackage(BODY, {f"{number}": b"" for number in range(100)}),
        SkillPackage(BODY, {f"{number}": b"x" * FILE_BYTES for number in range(17)}),
    ],
)
def test_a_package_has_bounds(package: SkillPackage) -> None:
    with pytest.raises(UsageError) as problem:
        package.parse()
    assert problem.value.code == "ETOOBIG"


def test_a_package_as_large_as_allowed_is_read() -> None:
    files = {"references/a.md": b"x" * FILE_BYTES, "assets/logo.png": b"\x89PNG\xff"}
    assert SkillPackage(BODY, files).parse().name == "quarterly-report"


def test_a_text_that_is_no_utf_8_is_refused() -> None:
    with pytest.raises(UsageError, match="not UTF-8"):
        SkillPackage(b"---\nname: tea\xff").parse()
