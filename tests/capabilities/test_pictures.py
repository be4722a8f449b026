"""The capabilities that draw: a QR code says what it was given, and a chart is a document with
every number in it.
"""

from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sigil.protocol import Json
from tests.capabilities import qr
from tests.capabilities.conftest import Library
from tests.selection import examples, in_full

SVG = "{http://www.w3.org/2000/svg}"
# of the standard's tables 7 and 9, and annex E: data codewords, blocks and error correction
# codewords of a block; alignment patterns
STRUCTURE = {
    (1, "L"): (19, 1, 7, []),
    (1, "M"): (16, 1, 10, []),
    (1, "Q"): (13, 1, 13, []),
    (1, "H"): (9, 1, 17, []),
    (2, "M"): (28, 1, 16, [6, 18]),
    (5, "Q"): (62, 4, 18, [6, 30]),
    (7, "H"): (66, 5, 26, [6, 22, 38]),
    (9, "M"): (182, 5, 22, [6, 26, 46]),
    (10, "L"): (274, 4, 18, [6, 28, 50]),
    (10, "H"): (122, 8, 28, [6, 28, 50]),
    (27, "M"): (1128, 25, 28, [6, 34, 62, 90, 118]),
    (32, "H"): (845, 54, 30, [6, 34, 60, 86, 112, 138]),
    (40, "L"): (2956, 25, 30, [6, 30, 58, 86, 114, 142, 170]),
}
LARGE = {(27, "M"), (27, "H"), (32, "H")}
"""Those that are made like the largest of all; the suite has that one."""
# what holds at most: digits, letters, bytes (table 7)
MOST = {
    (1, "L"): (41, 25, 17),
    (1, "H"): (17, 10, 7),
    (4, "Q"): (111, 67, 46),
    (10, "M"): (513, 311, 213),
    (27, "H"): (1501, 910, 625),
    (40, "H"): (3057, 1852, 1273),
}


def modules_of(told: Json, border: int = 4) -> list[list[bool]]:
    size = told["modules"]
    modules = [[False] * size for _ in range(size)]
    path = ElementTree.fromstring(told["svg"]).find(f"{SVG}path")
    assert path is not None
    for x, y, run in re.findall(r"M(\d+) (\d+)h(\d+)v1h-\3z", path.get("d", "")):
        for i in range(int(run)):
            modules[int(y) - border][int(x) - border + i] = True
    return modules


def read(told: Json) -> str:
    data, count, check, marks = STRUCTURE[told["version"], told["level"]]
    modules = modules_of(told)
    assert qr.format_of(modules) == (told["level"], told["mask"])
    blocks = qr.blocks(qr.codewords(modules, marks)[: data + count * check], count, check)
    assert all(qr.is_word(block, check) for block in blocks)
    return qr.text_of(b"".join(block[:-check] for block in blocks), told["version"])


@pytest.mark.parametrize(
    ("version", "level"), [each for each in STRUCTURE if in_full() or each not in LARGE]
)
def test_a_code_of_each_kind_says_its_text(library: Library, version: int, level: str) -> None:
    room = STRUCTURE[version, level][0] * 8 - 4
    texts = (
        "q" * ((room - (16 if version > 9 else 8)) // 8),
        "A:" * ((room - 13) // 11),
        "703" * ((room - 14) // 10),
    )
    for text in texts if version < 20 else texts[:1]:
        told = library("qr-svg", text=text, level=level)
        assert (told["version"], read(told)) == (version, text)


@settings(max_examples=examples(30), deadline=None)
@given(
    text=st.text("0123456789", min_size=1, max_size=41)
    | st.text(qr.ALPHANUMERIC, min_size=1, max_size=25)
    | st.text("aé中👍", min_size=1, max_size=4)
)
def test_any_small_text_comes_back(library: Library, text: str) -> None:
    told = library("qr-svg", text=text, level="L")
    assert (told["version"], read(told)) == (1, text)


@pytest.mark.parametrize(
    ("version", "level"), [each for each in MOST if in_full() or each not in LARGE]
)
def test_a_version_holds_what_the_standard_says_and_no_more(
    library: Library, version: int, level: str
) -> None:
    for most, character in list(zip(MOST[version, level], "1Ax", strict=True))[
        : 1 if version > 10 else 3
    ]:
        assert library("qr-svg", text=character * most, level=level)["version"] == version
        if version < 40:
            assert (
                library("qr-svg", text=character * (most + 1), level=level)["version"]
                == version + 1
            )


@pytest.mark.parametrize(
    ("level", "most"),
    [
        ("L", (7089, 4296, 2953)),
        ("M", (5596, 3391, 2331)),
        ("Q", (3993, 2420, 1663)),
        ("H", (3057, 1852, 1273)),
    ],
)
def test_what_no_version_holds_is_refused(
    library: Library, level: str, most: tuple[int, ...]
) -> None:
    for length, character in zip(most, "1Ax", strict=True):
        assert library.code_of("qr-svg", text=character * (length + 1), level=level) == "EINVAL"


# The version information is printed in the standard's table D.1.
@pytest.mark.parametrize(
    ("version", "text", "word"), [(7, "q" * 64, 0x07C94), (10, "q" * 119, 0x0A4D3)]
)
def test_large_codes_tell_their_version_twice(
    library: Library, version: int, text: str, word: int
) -> None:
    told = library("qr-svg", text=text, level="H")
    modules, size = modules_of(told), told["modules"]
    for turned in (False, True):
        places = [(size - 11 + i % 3, i // 3)[:: -1 if turned else 1] for i in range(18)]
        assert sum(modules[y][x] << i for i, (x, y) in enumerate(places)) == word
    assert told["version"] == version


names = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


@settings(max_examples=examples(20), deadline=None)
@given(
    kind=st.sampled_from(["bar", "line", "pie"]),
    title=names,
    rows=st.lists(
        st.tuples(names, st.floats(0, 1e14), st.floats(-1e15, 1e15)), min_size=1, max_size=6
    ),
)
def test_a_chart_is_xml_with_every_mark_in_it(
    library: Library, kind: str, title: str, rows: list[tuple[str, float, float]]
) -> None:
    labels, shares, others = (list(column) for column in zip(*rows, strict=True))
    shares[0] += 1
    series = [{"values": shares}] + ([] if kind == "pie" else [{"name": title, "values": others}])
    svg = ElementTree.fromstring(
        library("chart-svg", kind=kind, title=title, labels=labels, series=series)
    )
    assert (svg.get("role"), svg.get("aria-labelledby")) == ("img", "chart-title chart-desc")
    named = {one.get("id"): one.text or "" for one in svg if one.get("id")}
    assert named["chart-title"] == (_as_xml(title) or f"{kind} chart")
    assert all(_as_xml(label) in named["chart-desc"] for label in labels)
    marks = [one for one in svg.iter() if one.find(f"{SVG}title") is not None and one is not svg]
    assert len(marks) == (sum(value > 0 for value in shares) if kind == "pie" else len(rows) * 2)
    places = [
        value
        for one in svg.iter()
        for key, value in one.items()
        if key not in ("role", "id", "fill")
    ]
    assert not re.search("NaN|Infinity|undefined", " ".join(places))


def _as_xml(text: str) -> str:
    """As an XML reader gives it back: what XML cannot say is replaced, and line ends are one."""
    said = re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]", "\ufffd", text)
    return said.replace("\r\n", "\n").replace("\r", "\n")


def test_bars_stand_on_zero_and_slices_are_as_wide_as_their_share(library: Library) -> None:
    svg = ElementTree.fromstring(
        library("chart-svg", kind="bar", labels=["a", "b", "c"], series=[{"values": [4, -2, 8]}])
    )
    bars = [one for one in svg.iter(f"{SVG}rect") if one.find(f"{SVG}title") is not None]
    heights = [float(one.get("height", "")) for one in bars]
    assert [height / heights[0] for height in heights] == pytest.approx([1, 0.5, 2], rel=1e-3)
    tops = [float(one.get("y", "")) for one in bars]
    assert tops[0] + heights[0] == pytest.approx(tops[1], abs=0.02)
    ticks = [
        float(one.text or "") for one in svg.iter(f"{SVG}text") if one.get("text-anchor") == "end"
    ]
    assert len({round(b - a, 9) for a, b in pairwise(ticks)}) == 1
    pie = library("chart-svg", kind="pie", labels=["a", "b"], series=[{"values": [1, 3]}])
    assert "25 %" in pie
    assert re.findall(r"A[\d.]+ [\d.]+ 0 ([01]) 1", pie) == ["0", "1"]


LONG = "A rather long label that nobody shortened", "北京市朝阳区建国门外大街一号院", "x", ""


def _width(text: str) -> float:
    """At least as wide as a browser draws it: 7 pixels a character, 12 those of East Asia."""
    return sum(12 if ord(one) > 0x2E80 else 7 for one in text)


@settings(max_examples=examples(20), deadline=None)
@given(
    kind=st.sampled_from(["bar", "line", "pie"]),
    count=st.sampled_from([1, 2, 5, 12, 40, 100]),
    values=st.lists(st.floats(-9e14, 9e14), min_size=1, max_size=3),
    names=st.lists(st.sampled_from(LONG), min_size=1, max_size=8),
    size=st.sampled_from([(240, 200), (640, 400), (2000, 900)]),
)
def test_every_text_of_a_chart_stands_within_the_picture(
    library: Library,
    kind: str,
    count: int,
    values: list[float],
    names: list[str],
    size: tuple[int, int],
) -> None:
    row = [
        abs(values[i % len(values)]) + 1 if kind == "pie" else values[i % len(values)]
        for i in range(count)
    ]
    series = [{"name": name, "values": row} for name in (names[:1] if kind == "pie" else names)]
    labels = [f"{LONG[i % len(LONG)]} {i}" for i in range(count)]
    width, height = size
    svg = ElementTree.fromstring(
        library(
            "chart-svg",
            kind=kind,
            title=LONG[0],
            labels=labels,
            series=series,
            width=width,
            height=height,
        )
    )
    for text in svg.iter(f"{SVG}text"):
        words, x, y = text.text or "", float(text.get("x", "")), float(text.get("y", ""))
        left = {"end": 1.0, "middle": 0.5}.get(text.get("text-anchor", ""), 0.0)
        wide = _width(words) * (0.71 if text.get("transform") else 1)
        assert x - wide * left >= -8
        assert x + wide * (1 - left) <= width + 16
        assert 0 <= y + (wide if text.get("transform") else 0) <= height + 8


def test_labels_that_have_room_are_all_there_and_whole(library: Library) -> None:
    months = "January February March April May June July August September October November December".split()
    svg = library("chart-svg", kind="bar", labels=months, series=[{"values": list(range(12))}])
    assert re.findall(r"rotate[^>]*>(\w+)<", svg) == months
    years = [str(year) for year in range(1990, 2030)]
    shown = re.findall(
        r'text-anchor="middle">(\d{4})<',
        library("chart-svg", kind="line", labels=years, series=[{"values": [1] * 40}]),
    )
    assert shown == years[:: len(years) // len(shown) + (len(years) % len(shown) > 0)]
    assert len(shown) >= 10


def test_series_without_a_name_keep_their_color_in_the_legend(library: Library) -> None:
    svg = ElementTree.fromstring(
        library(
            "chart-svg",
            kind="line",
            labels=["a"],
            series=[{"name": "", "values": [1]}, {"name": "second", "values": [2]}],
        )
    )
    colors = [one.get("fill") for one in svg.iter(f"{SVG}rect")][1:]
    words = [one.text for one in svg.iter(f"{SVG}text")][-2:]
    assert words == ["series 1", "second"]
    assert colors == [one.get("fill") for one in svg.iter(f"{SVG}circle")]


@pytest.mark.parametrize(
    ("dark", "light"),
    [("#fff", "#000"), ("#777777", "#888888"), ("#000", "#333"), ("#ffff00", "#ffffff")],
)
def test_colors_that_no_reader_tells_apart_are_refused(
    library: Library, dark: str, light: str
) -> None:
    assert library.code_of("qr-svg", text="x", dark=dark, light=light) == "EINVAL"
    assert library.code_of("qr-svg", text="x", dark="#003366", light="#ffe") == ""
