"""`sigil export` and `import`: capabilities in one file."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sigil.cli.conftest import Sigil


def test_capabilities_travel_in_one_file(two_versions: Sigil, place: Path) -> None:
    assert two_versions("export", "word", "word@1", "-o", "both.sigil").code == 2
    assert two_versions("export", "word", "-o", "one.sigil").code == 0
    digest = two_versions("inspect", "word", "--json").document["digest"]
    two_versions("remove", "word", "--yes")
    (row,) = two_versions("import", "one.sigil", "--json").document["items"]
    assert (row["digest"], row["version"], row["created"]) == (digest, 3, True)
    assert two_versions("import", "one.sigil").err.startswith(
        "this very digest was deployed already"
    )
    (place / "bad.sigil").write_bytes((place / "one.sigil").read_bytes().replace(b"'v2'", b"'v3'"))
    assert two_versions("import", "bad.sigil").code == 2
    assert two_versions("import", "nowhere.sigil").code == 3
    assert (
        two_versions("export", "word", "-o", "no/such/folder", "--json").error["code"] == "EWRITE"
    )


def test_an_export_that_cannot_be_written_leaves_the_file_as_it_was(
    two_versions: Sigil, place: Path
) -> None:
    (place / "old.sigil").write_bytes(b"as it was")
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[4])}
    full = (
        "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        " resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))"
    )
    script = (
        f"from pathlib import Path; from sigil.storage import files; {full};"
        " files.write_whole(Path('old.sigil'), b'x' * 1000)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=place,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "EWRITE" in done.stderr
    assert (place / "old.sigil").read_bytes() == b"as it was"
    assert [path.name for path in place.iterdir() if path.name.startswith(".old")] == []


def test_an_import_says_that_tests_did_not_run_and_what_of_the_library_it_hides(
    run_sigil: Sigil, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_sigil("init", "greet", "--folder", "library/greet")
    monkeypatch.setenv("UNCAGED_LIBRARY", str(place / "library"))
    run_sigil("export", "greet", "-o", "greet.sigil")
    refused = run_sigil("import", "greet.sigil", "--json")
    assert (refused.code, refused.error["code"]) == (6, "EEXIST")
    assert "--replace" in refused.error["suggestion"]
    said = run_sigil("import", "greet.sigil", "--replace").err
    assert "2 tests, not run" in said
    assert "it hides the library's own greet" in said
    assert "no tests" not in said
