"""Reads compiled time zones (TZif, RFC 9636) and writes their rules since 2010 into the capability
`time-zone`.
"""

from __future__ import annotations

import string
import struct
import sys
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

START = int(datetime(2010, 1, 1, tzinfo=UTC).timestamp())
QUARTER, MINUTE = 900, 60
LEFT_OUT = ("Etc/", "SystemV/", "US/", "Canada/", "Brazil/", "Mexico/", "Chile/", "Factory")
MARK = "const ZONES = `\\\n"
_DIGITS = string.digits + string.ascii_lowercase
_HEADER = struct.Struct(">4sc15x6l")


class ZoneRules(NamedTuple):
    """The rules of a zone. `base`: its offset at the start, in seconds; `changes`: (time, new
    offset) since then; `rule`: the rule after the last change, as POSIX writes it.
    """

    base: int
    changes: tuple[tuple[int, int], ...]
    rule: str


def read_rules(data: bytes) -> ZoneRules:
    """Read the rules in the 64-bit part of a TZif file."""
    isut, isstd, leaps, times, types, chars = _HEADER.unpack_from(data)[2:]
    start = _HEADER.size + times * 5 + types * 6 + chars + leaps * 8 + isstd + isut
    isut, isstd, leaps, times, types, chars = _HEADER.unpack_from(data, start)[2:]
    start += _HEADER.size
    moments = struct.unpack_from(f">{times}q", data, start)
    kinds = data[start + times * 8 : start + times * 9]
    types_start = start + times * 9
    offsets = [struct.unpack_from(">l", data, types_start + kind * 6)[0] for kind in range(types)]
    rule_start = types_start + types * 6 + chars + leaps * 12 + isstd + isut
    base = offsets[0]
    changes = []
    for moment, kind in zip(moments, kinds, strict=True):
        if moment <= START:
            base = offsets[kind]
        else:
            changes.append((moment, offsets[kind]))
    return ZoneRules(base, tuple(changes), data[rule_start:].strip().decode("ascii"))


def to_base_36(number: int) -> str:
    higher, digit = divmod(number, 36)
    return (to_base_36(higher) if higher else "") + _DIGITS[digit]


def format_zone(names: list[str], rules: ZoneRules) -> str:
    """Return the line of one zone, as the capability reads it."""
    odd = [change for change in rules.changes if change[0] % MINUTE or change[1] % QUARTER]
    if odd or rules.base % QUARTER:
        raise ValueError(
            f"{names[0]} has changes between the minutes, or offsets between the quarters of an"
            " hour"
        )
    changes = []
    before = START
    for moment, offset in rules.changes:
        sign = "-" if offset < 0 else "+"
        step = to_base_36((moment - before) // MINUTE)
        changes.append(f"{step}{sign}{to_base_36(abs(offset) // QUARTER)}")
        before = moment
    return "|".join([" ".join(names), str(rules.base // QUARTER), " ".join(changes), rules.rule])


def format_zones(folder: Path) -> str:
    """Return one line for each zone of the folder, with all its names."""
    groups: dict[ZoneRules, list[str]] = defaultdict(list)
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if not path.is_file() or not name[0].isupper() or name.startswith(LEFT_OUT):
            continue
        data = path.read_bytes()
        if data[:4] == b"TZif":
            groups[read_rules(data)].append(name)
    return "\n".join(sorted(format_zone(names, rules) for rules, names in groups.items()))


def main() -> int:
    """Run the command: the arguments are the file to write into and the folder of compiled
    zones.
    """
    if len(sys.argv) != 3:
        sys.stderr.write(
            "usage: scripts/time-zones FOLDER\nFOLDER has the compiled files of the IANA time zone"
            " database, as in the tzdata package.\n"
        )
        return 2
    path, folder = map(Path, sys.argv[1:])
    head = path.read_text("utf-8").partition(MARK)[0]
    path.write_text(f"{head}{MARK}{format_zones(folder)}`;\n\nreturn answer();\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
