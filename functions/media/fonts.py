"""The fonts that drawings are drawn with: two that are shipped, and the system's own for characters
that these have not.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

_FOLDER: Final = Path(__file__).with_name("shipped_fonts")
SHIPPED: Final = (_FOLDER / "DejaVuSans.ttf", _FOLDER / "DejaVuSans-Bold.ttf")
"""Parts of DejaVu Sans, made by scripts/build-fonts."""
_COVERED: Final = _FOLDER / "covered.txt"
"""The characters that the first of them has: a range of code points a line, in hexadecimal."""
_SYSTEM_FOLDERS: Final = ("/usr/share/fonts", "/usr/local/share/fonts", "/System/Library/Fonts")
_WIDE_NAMES: Final = (
    "notosanscjk",
    "notosanssc",
    "sourcehansans",
    "wqy",
    "droidsansfallback",
    "pingfang",
    "hiragino",
    "applesdgothic",
)
"""The beginnings of the names of fonts with Chinese, Japanese and Korean characters."""
_ENDINGS: Final = (".ttf", ".ttc", ".otf")
_MAX_SYSTEM_FONTS: Final = 2


def choose_fonts(text: str) -> tuple[tuple[Path, ...], str]:
    """Return the files that a text needs, and its characters that none of them has.

    A system font for Chinese, Japanese and Korean is taken to have all of them.
    """
    covered = _read_covered()
    missing = "".join(dict.fromkeys(sign for sign in text if sign not in covered))
    if not missing:
        return SHIPPED, ""
    found = _find_wide_fonts() if any(map(_is_wide, missing)) else ()
    left = "".join(sign for sign in missing if not (found and _is_wide(sign)))
    return (*SHIPPED, *found), left


def _is_wide(sign: str) -> bool:
    return 0x1100 <= ord(sign) <= 0x11FF or 0x2E80 <= ord(sign) <= 0xFFEF or ord(sign) >= 0x20000


@cache
def _read_covered() -> frozenset[str]:
    covered = set("\t\n\r")
    for line in _COVERED.read_text("ascii").splitlines():
        first, _, last = line.partition("-")
        covered.update(map(chr, range(int(first, 16), int(last or first, 16) + 1)))
    return frozenset(covered)


@cache
def _find_wide_fonts() -> tuple[Path, ...]:
    """Return the system's fonts for Chinese, Japanese and Korean, as they are named."""
    found = []
    for folder in map(Path, _SYSTEM_FOLDERS):
        for path in sorted(folder.rglob("*")) if folder.is_dir() else ():
            name = path.name.lower().replace("-", "").replace(" ", "")
            if name.startswith(_WIDE_NAMES) and name.endswith(_ENDINGS):
                found.append(path)
    return tuple(found[:_MAX_SYSTEM_FONTS])
