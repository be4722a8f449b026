"""Checks that stand as long as the files that they rest on are the same.

A check by a big tool (`sam`, `checkov`, `schemathesis`) takes as long as hundreds of other tests,
and says the same of the same files. `@pytest.mark.rests_on("template.yaml")` names them, as files,
folders or patterns of the checkout. When such a test has passed, the digest of its files and of its
own module is kept in build/proofs, and it is skipped while that digest stays the same. Where `CI`
is set, it always runs.

With `recorded=True`, the digest is kept in tests/data/proofs, and committed with the change that
made the test run: so the tool is neither started nor installed anywhere, until one of
the files changes. That is for a check which sees nothing but these files and its pinned tool.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from hashlib import sha256
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NOTES = ROOT / "build" / "proofs"
RECORDS = ROOT / "tests" / "data" / "proofs"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "rests_on(*patterns, recorded=False): skipped while these files are as they were when it"
        " passed, on this machine or as recorded",
    )


def pytest_runtest_setup(item: pytest.Item) -> None:
    marker = item.get_closest_marker("rests_on")
    if marker is None or ("CI" in os.environ and not is_recorded(marker)):
        return
    note = note_of(item, marker)
    if note.is_file() and note.read_text().strip() == digest_of(item, marker.args):
        pytest.skip("it passed with the same files")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    marker = item.get_closest_marker("rests_on")
    if marker and report.when == "call" and report.passed:
        note = note_of(item, marker)
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(digest_of(item, marker.args) + "\n")
    return report


def is_recorded(marker: pytest.Mark) -> bool:
    return bool(marker.kwargs.get("recorded"))


def note_of(item: pytest.Item, marker: pytest.Mark) -> Path:
    """The file that keeps the digest with which the test has passed."""
    name = f"{item.path.stem}.{item.name}"
    return (RECORDS if is_recorded(marker) else NOTES) / name


def digest_of(item: pytest.Item, patterns: tuple[str, ...]) -> str:
    """The SHA-256 of the names and the bytes of the test's own module and of the files."""
    whole = sha256()
    for path in sorted({item.path, *_files(patterns)}):
        body = path.read_bytes()
        whole.update(f"{path.relative_to(ROOT)}\0{len(body)}\0".encode() + body)
    return whole.hexdigest()


def _files(patterns: tuple[str, ...]) -> Iterator[Path]:
    for pattern in patterns:
        found = sorted(ROOT.glob(pattern))
        assert found, f"nothing stands at {pattern}"
        for path in found:
            if path.is_file():
                yield path
            for inner in path.rglob("*"):
                if inner.is_file() and "__pycache__" not in inner.parts:
                    yield inner
