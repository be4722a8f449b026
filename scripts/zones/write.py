"""Reads compiled time zones (TZif, RFC 9636) and writes their rules since 2010 into the capability
that knows them.
"""

from __future__ import annotations

import string
import struct
import sys
from collections import defaultdict
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

START = int(datetime(2010, 1, 1, tzinfo=UTC).timestamp())
QUARTER, MINUTE = 900, 60
LEFT_OUT = ("Etc/", "SystemV/", "US/", "Canada/", "Brazil/", "Mexico/", "Chile/", "Factory")
MARK = "const ZONES = `\\\n"
_DIGITS = string.digits + string.ascii_lowercase
_HEADER = struct.Struct(">4sc15x6l")


class Rules(NamedTuple):
    """Seconds: the offset at the start, (when, the new offset) since then; and what holds after the
    last change, as POSIX writes it.
    """

    base: int
    changes: tuple[tuple[int, int], ...]
    rule: str


def rules_of(data: bytes) -> Rules:
    """What the 64-bit part of a TZif file says."""
    isut, isstd, leaps, times, types, chars = _HEADER.unpack_from(data)[2:]
    start = _HEADER.size + times * 5 + types * 6 + chars + leaps * 8 + isstd + isut
    isut, isstd, leaps, times, types, chars = _HEADER.unpack_from(data, start)[2:]
    start += _HEADER.size
    moments = struct.unpack_from(f">{times}q", data, start)
    kinds = data[start + times * 8 : start + times * 9]
    offsets = [
        struct.unpack_from(">l", data, start + times * 9 + kind * 6)[0] for kind in range(types)
    ]
    rule = (
        data[start + times * 9 + types * 6 + chars + leaps * 12 + isstd + isut :]
        .strip()
        .decode("ascii")
    )
    changes = [(moment, offsets[kind]) for moment, kind in zip(moments, kinds, strict=True)]
    base = ([offsets[0]] + [offset for moment, offset in changes if moment <= START])[-1]
    return Rules(base, tuple(change for change in changes if change[0] > START), rule)


def in_base_36(number: int) -> str:
    higher, digit = divmod(number, 36)
    return (in_base_36(higher) if higher else "") + _DIGITS[digit]


def line_of(names: list[str], rules: Rules) -> str:
    """One zone, as the capability reads it."""
    if (
        any(moment % MINUTE or offset % QUARTER for moment, offset in rules.changes)
        or rules.base % QUARTER
    ):
        raise ValueError(
            f"{names[0]} has changes between the minutes, or offsets between the quarters of an"
            " hour"
        )
    moments = [START, *(moment for moment, _ in rules.changes)]
    steps = [in_base_36((after - before) // MINUTE) for before, after in pairwise(moments)]
    told = [
        f"{step}{'-' if offset < 0 else '+'}{in_base_36(abs(offset) // QUARTER)}"
        for step, (_, offset) in zip(steps, rules.changes, strict=True)
    ]
    return "|".join([" ".join(names), str(rules.base // QUARTER), " ".join(told), rules.rule])


def table(folder: Path) -> str:
    """Every zone of the folder once, with all its names."""
    groups: dict[Rules, list[str]] = defaultdict(list)
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if (
            path.is_file()
            and path.read_bytes()[:4] == b"TZif"
            and name[0].isupper()
            and not name.startswith(LEFT_OUT)
        ):
            groups[rules_of(path.read_bytes())].append(name)
    return "\n".join(sorted(line_of(names, rules) for rules, names in groups.items()))


def main() -> int:
    """The command: the file to write into, the folder of compiled zones."""
    if len(sys.argv) != 3:
        sys.stderr.write(
            "usage: scripts/time-zones FOLDER (the compiled files of the IANA time zone database,"
            " as in the tzdata package)\n"
        )
        return 2
    path, folder = map(Path, sys.argv[1:])
    head = path.read_text("utf-8").partition(MARK)[0]
    path.write_text(f"{head}{MARK}{table(folder)}`;\n\nreturn answer();\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
