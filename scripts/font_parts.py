"""Writes the parts of DejaVu Sans that drawings need: scripts/build-fonts runs it."""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont

BASIC = (
    *((0x20, 0x17F), (0x192, 0x192), (0x218, 0x21B), (0x2C6, 0x2C7), (0x2D8, 0x2DD)),
    *((0x300, 0x304), (0x306, 0x30C), (0x323, 0x323), (0x370, 0x3FF), (0x400, 0x45F)),
    *((0x490, 0x491), (0x2010, 0x2027), (0x2030, 0x203A), (0x2044, 0x2044), (0x2070, 0x209C)),
    *((0x20A0, 0x20BF), (0x2100, 0x214F), (0x2190, 0x2199), (0x2212, 0x2212)),
)
"""Latin, Greek and Cyrillic letters, digits, signs of sentences and of money."""
FURTHER = (
    *((0x18F, 0x18F), (0x1A0, 0x1A1), (0x1AF, 0x1B0), (0x1CD, 0x1DC), (0x259, 0x259)),
    *((0x2BB, 0x2BC), (0x2C9, 0x2CB), (0x1E00, 0x1EFF), (0x2150, 0x218B), (0x219A, 0x21FF)),
    *((0x2200, 0x22FF), (0x2300, 0x2335), (0x2460, 0x2473), (0x2500, 0x25FF), (0x2600, 0x26FF)),
    *((0x2700, 0x27BF), (0x27F5, 0x27FF)),
)
"""Letters of Vietnamese and Pinyin, arrows, signs of mathematics, boxes and symbols."""
FONTS = {"DejaVuSans": (*BASIC, *FURTHER), "DejaVuSans-Bold": BASIC}


def main(fonts: Path, output: Path) -> None:
    """Write each font, and what the first of them has."""
    for name, ranges in FONTS.items():
        font = TTFont(fonts / f"{name}.ttf", recalcTimestamp=False)
        if not font["name"].getDebugName(5).startswith("Version 2.37"):
            sys.exit(f"error: {fonts}/{name}.ttf is not of DejaVu 2.37\nhelp: set FONTS")
        options = Options(hinting=False, layout_features=["kern", "mark", "mkmk", "ccmp", "liga"])
        options.drop_tables += ["FFTM"]
        subsetter = Subsetter(options)
        subsetter.populate(unicodes=[point for a, b in ranges for point in range(a, b + 1)])
        subsetter.subset(font)
        font.save(output / f"{name}.ttf")
        if name == "DejaVuSans":
            lines = "".join(f"{line}\n" for line in join_ranges(sorted(font.getBestCmap())))
            (output / "covered.txt").write_text(lines, "ascii")


def join_ranges(points: list[int]) -> list[str]:
    """Return code points as ranges in hexadecimal, such as `20-7e`."""
    firsts = [points[0], *(after for before, after in pairwise(points) if after > before + 1)]
    lasts = [*(before for before, after in pairwise(points) if after > before + 1), points[-1]]
    return [f"{a:x}-{b:x}" if b > a else f"{a:x}" for a, b in zip(firsts, lasts, strict=True)]


main(Path(sys.argv[1]), Path(sys.argv[2]))
