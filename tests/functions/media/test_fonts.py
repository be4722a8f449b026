"""The shipped fonts have the letters that they claim, and are what their sources make."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from functions.media.fonts import SHIPPED, choose_fonts
from tests.project.tree import ROOT

SOURCE = Path("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf")


def test_the_shipped_fonts_have_the_letters_of_europe() -> None:
    words = "Füße für 5 €, Žluťoučký, Ελλάδα, Київ, Việt → ✓ ≥ “x”\n"
    assert choose_fonts(words) == (SHIPPED, "")
    assert choose_fonts("a\u0e01b\u0e01")[1] == "\u0e01"
    assert sum(path.stat().st_size for path in SHIPPED) < 400_000


@pytest.mark.thorough
@pytest.mark.skipif(not SOURCE.is_file(), reason="the fonts that they are parts of are not here")
def test_the_shipped_fonts_are_what_their_sources_make(tmp_path: Path) -> None:
    script = ROOT / "scripts" / "build-fonts"
    subprocess.run([script, tmp_path], check=True, capture_output=True)
    for made in tmp_path.iterdir():
        assert made.read_bytes() == SHIPPED[0].with_name(made.name).read_bytes()
