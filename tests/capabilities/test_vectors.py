"""Facts that the library knows by heart, against lists and numbers that others made."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sigil.protocol import Json
from tests.capabilities.conftest import FOLDER, Library
from tests.selection import examples
from tests.tables import each_row

quick = settings(max_examples=examples(30), deadline=None)

# Examples of the IBAN registry (SWIFT), one of each length and more.
IBANS = (
    "AD1200012030200359100100 AE070331234567890123456 AL47212110090000000235698741 AT611904300234573201 BE68539007547034 "
    "BR1800360305000010009795493C1 CH9300762011623852957 CR05015202001026284066 CZ6508000000192000145399 DE89370400440532013000 "
    "DK5000400440116243 ES9121000418450200051332 FI2112345600000785 FR1420041010050500013M02606 GB29NWBK60161331926819 "
    "GI75NWBK000000007099453 HU42117730161111101800000000 IE29AIBK93115212345678 IT60X0542811101000000123456 "
    "KW81CBKU0000000000001234560101 LC55HEMM000100010012001200023015 MT84MALT011000012345MTLCAST001S "
    "MU17BOMM0101101030300200000MUR NL91ABNA0417164300 NO9386011117947 PL61109010140000071219812874 SA0380000000608010167519 "
    "SC18SSCB11010000000000001497USD SE4550000000058398257466 TR330006100519786457841326 UA213223130000026007233566001 "
    "XK051212012345678906"
).split()


@each_row("iban", IBANS)
def test_the_examples_of_the_registry_are_valid_and_one_sign_less_is_not(
    library: Library, iban: str
) -> None:
    assert library("validate-id", kind="iban", value=iban)["country"] == iban[:2]
    assert "characters" in library("validate-id", kind="iban", value=iban[:-1])["reason"]


# By python-stdnum 2.2, whose province and county lists are stricter.
@each_row(
    ("kind", "value", "valid"),
    [
        ("cn-id", "360426199101010071", True),
        ("cn-id", "11010519491231002X", True),
        ("cn-id", "11010519491231002Y", False),
        ("cn-id", "110105194912310020", False),
        ("cn-id", "990105194912310020", False),
        ("cn-company", "91110000600037341L", True),
        ("cn-company", "A1110000600037341L", False),
        ("cn-company", "91110000600037342L", False),
        ("isin", "US0378331005", True),
        ("isin", "DE0005140008", True),
        ("isin", "US0378331006", False),
        ("isin", "US037833100", False),
    ],
)
def test_numbers_of_people_companies_and_securities_are_checked(
    library: Library, kind: str, value: str, valid: bool
) -> None:
    assert library("validate-id", kind=kind, value=value)["valid"] is valid


# Of the CSS specification, by webcolors 25.10: a name from every letter, both spellings, and those
# that are easily mixed up.
COLORS = {
    "aqua": "#00ffff",
    "burlywood": "#deb887",
    "cadetblue": "#5f9ea0",
    "darkslategrey": "#2f4f4f",
    "darkslategray": "#2f4f4f",
    "floralwhite": "#fffaf0",
    "goldenrod": "#daa520",
    "honeydew": "#f0fff0",
    "indianred": "#cd5c5c",
    "khaki": "#f0e68c",
    "lightgoldenrodyellow": "#fafad2",
    "lightslategrey": "#778899",
    "magenta": "#ff00ff",
    "mediumspringgreen": "#00fa9a",
    "navajowhite": "#ffdead",
    "olivedrab": "#6b8e23",
    "palegoldenrod": "#eee8aa",
    "palevioletred": "#db7093",
    "rosybrown": "#bc8f8f",
    "seashell": "#fff5ee",
    "turquoise": "#40e0d0",
    "violet": "#ee82ee",
    "whitesmoke": "#f5f5f5",
    "yellowgreen": "#9acd32",
    "rebeccapurple": "#663399",
}


def test_css_names_are_the_colors_of_the_specification(library: Library) -> None:
    assert {name: library("color-convert", color=name)["hex"] for name in COLORS} == COLORS


def test_there_are_as_many_css_names_as_the_specification_has() -> None:
    source = (FOLDER / "color-convert" / "main.js").read_text(encoding="utf-8")
    names = re.findall(r"\b([a-z]{3,}) [0-9a-f]{6}\b", re.sub(r'" \+\s*"', "", source))
    assert len(set(names)) == 141  # 148 with the seven that are also spelt with grey


# ---- numbers in Chinese, by cn2an 0.5 and the rules of the People's Bank for cheques


@each_row(
    ("number", "words"),
    [
        ("0", "零"),
        ("10", "十"),
        ("11", "十一"),
        ("110", "一百一十"),
        ("1001", "一千零一"),
        ("1010", "一千零一十"),
        ("100000", "十万"),
        ("100010", "十万零一十"),
        ("10000001", "一千万零一"),
        ("100000000", "一亿"),
        ("101000000", "一亿零一百万"),
        ("1000002033", "十亿零二千零三十三"),
        ("3131013330111", "三万一千三百一十亿一千三百三十三万零一百一十一"),
        ("-3.05", "负三点零五"),
        ("20000500", "二千万零五百"),
    ],
)
def test_numbers_are_written_in_chinese(library: Library, number: str, words: str) -> None:
    assert library("number-words", value=number, form="chinese") == words


@each_row(
    ("amount", "words"),
    [
        ("1409.50", "壹仟肆佰零玖元伍角整"),
        ("6007.14", "陆仟零柒元壹角肆分"),
        ("1680.32", "壹仟陆佰捌拾元叁角贰分"),
        ("107000.53", "壹拾万柒仟元伍角叁分"),
        ("16409.02", "壹万陆仟肆佰零玖元零贰分"),
        ("325.04", "叁佰贰拾伍元零肆分"),
        ("0", "零元整"),
        ("0.50", "伍角整"),
        ("10", "壹拾元整"),
        ("-2", "负贰元整"),
    ],
)
def test_amounts_are_written_as_cheques_in_china_have_them(
    library: Library, amount: str, words: str
) -> None:
    assert library("number-words", value=amount, form="cny") == words


@pytest.mark.parametrize(
    ("name", "given_"),
    [
        ("number-base", {"value": 2**53 + 1, "to": 10}),
        ("number-format", {"number": 1234567890123456789}),
        ("number-words", {"value": 1234567890123456789}),
        (
            "number-words",
            {"value": "1234567890123456.00", "form": "chinese", "and": True}
            | {"value": "12345678901234567"},
        ),
    ],
)
def test_a_number_that_lost_digits_on_the_way_is_refused(
    library: Library, name: str, given_: dict[str, Json]
) -> None:
    assert library.code_of(name, **given_) == "EINVAL"


# ---- units, by Pint 0.25: a value of 7 in each


@each_row(
    ("unit", "to", "value"),
    [
        ("imp gal", "L", 31.82263),
        ("fl oz", "mL", 207.014706938),
        ("long ton", "kg", 7112.3282816),
        ("st", "kg", 44.4520541),
        ("oz", "g", 198.446661875),
        ("nmi", "km", 12.964),
        ("au", "km", 1047185094.9),
        ("inHg", "Pa", 23704.72),
        ("torr", "Pa", 933.256578947),
        ("BTU", "J", 7385.39098734),
        ("ft-lb", "J", 9.49072642804),
        ("kn", "m/s", 3.60111111111),
        ("grad", "deg", 6.3),
        ("MiB", "kB", 7340.032),
        ("hp", "W", 5219.89910098),
        ("lbf", "N", 31.1375506483),
        ("rpm", "Hz", 0.116666666667),
        ("mpg", "L/100km", 33.6020833333),
        ("imp mpg", "km/L", 2.47804332954),
    ],
)
def test_units_are_as_large_as_others_have_them(
    library: Library, unit: str, to: str, value: float
) -> None:
    assert library("unit-convert", value=7, **{"from": unit}, to=to)["value"] == pytest.approx(
        value, rel=1e-6
    )


# ---- html-to-text, as Python's html reads entities of the names that are known


@quick
@given(
    parts=st.lists(
        st.sampled_from(
            [
                "&amp",
                "&lt;",
                "&copy",
                "&notit;",
                "&#8364;",
                "&#x1f600",
                "&#0;",
                "&#99999999999;",
                "x",
                "1",
                ";",
                " &",
                "=",
            ]
        ),
        max_size=8,
    )
)
def test_entities_are_read_as_python_reads_them(library: Library, parts: list[str]) -> None:
    text = "".join(parts)
    assert (
        library("html-to-text", html=f"<p>{text}")
        == re.sub(r" +", " ", html.unescape(text)).strip()
    )


HOSTILE = [
    ("<script>alert(1)</script >a<SCRIPT>b</ScRiPt>c", "ac"),
    ("<img src=x onerror=alert(1)>a<svg/onload=alert(1)>x</svg>b", "ab"),
    ("a<!-- <p>b</p> --!>c<!--", "ac"),
    ("<style>a{}</style>b<style>c", "b"),
    ("<table><tr><td>a<table><tr><td>b</table><td>c</table>d", "a\n\nb\tc\n\nd"),
    ("<p>a<p>b</div></p>c", "a\n\nb\n\nc"),
    ("a\0b\x1bc\x7fd", "abcd"),
    ("<b title='>'>a</b title='>'>b", "ab"),
    ("<noscript><img src=x></noscript>a<iframe src=x>b</iframe>c", "ac"),
]


@each_row(("page", "text"), HOSTILE)
def test_hostile_html_leaves_its_text_alone(library: Library, page: str, text: str) -> None:
    assert library("html-to-text", html=page) == text
