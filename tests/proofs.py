"""Checks that stand as long as the files that they rest on are the same.

A check by a big tool (`sam`, `checkov`, `schemathesis`) takes as long as hundreds of other tests,
and says the same of the same files. `@pytest.mark.rests_on("template.yaml")` names them, as files,
folders or patterns of the checkout. When such a test has passed, the digest of its files and of its
own module is kept in build/proofs, and it is skipped while that digest stays the same. Where `CI`
is set, it always runs.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from hashlib import sha256
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NOTES = ROOT / "build" / "proofs"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "rests_on(*patterns): skipped while these files are as they were when it passed"
    )


def pytest_runtest_setup(item: pytest.Item) -> None:
    marker = item.get_closest_marker("rests_on")
    if marker is None or "CI" in os.environ:
        return
    note = note_of(item)
    if note.is_file() and note.read_text() == digest_of(item, marker.args):
        pytest.skip("it passed with the same files")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    marker = item.get_closest_marker("rests_on")
    if marker and report.when == "call" and report.passed:
        NOTES.mkdir(parents=True, exist_ok=True)
        note_of(item).write_text(digest_of(item, marker.args))
    return report


def note_of(item: pytest.Item) -> Path:
    """The file that keeps the digest with which the test has passed."""
    return NOTES / sha256(item.nodeid.encode()).hexdigest()


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
