"""What takes the types out of TypeScript is what its sources make."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from sigil.compile.typescript import STRIPPER
from tests.project.tree import ROOT


@pytest.mark.rests_on(
    "scripts/build-typescript",
    "scripts/npm",
    "scripts/tools/node.txt",
    "scripts/tools/npm",
    "scripts/typescript",
    "sigil/compile/typescript.js",
    recorded=True,
)
def test_the_stripper_is_what_its_sources_make(tmp_path: Path) -> None:
    assert STRIPPER.read_text("utf-8").startswith(
        "// sucrase (MIT licence, see NOTICE), made by scripts/build-typescript"
    )
    script = ROOT / "scripts" / "build-typescript"
    subprocess.run([script, tmp_path / "made.js"], check=True, capture_output=True)
    assert (tmp_path / "made.js").read_bytes() == STRIPPER.read_bytes()
