"""The capabilities that write numbers, colors, addresses and times in another way, against Python's
own arithmetic and libraries.
"""

from __future__ import annotations

import base64
import colorsys
import json
import uuid
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, ROUND_UP, Decimal
from urllib.parse import parse_qs, urlencode, urljoin, urlsplit

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sigil.protocol import Json
from tests.capabilities.conftest import Library
from tests.selection import examples
from tests.tables import each_row

quick = settings(max_examples=examples(20), deadline=None)
whole = st.integers(-(10**40), 10**40)

# ---- number-base, roman-numerals, number-words, number-format


@quick
@given(number=whole, first=st.integers(2, 36), second=st.integers(2, 36))
def test_a_number_is_the_same_in_every_base(
    library: Library, number: int, first: int, second: int
) -> None:
    there = library("number-base", value=str(number), to=first)
    assert int(there, first) == number
    assert int(library("number-base", value=there, **{"from": first}, to=second), second) == number


@quick
@given(number=st.integers(-300, 300), bits=st.sampled_from([8, 9, 16, 64]))
def test_two_s_complement_is_what_the_low_bits_are(
    library: Library, number: int, bits: int
) -> None:
    fits = -(2 ** (bits - 1)) <= number < 2**bits
    assert library.code_of("number-base", value=number, to=2, bits=bits) == (
        "" if fits else "EINVAL"
    )
    assume(fits)
    written = library("number-base", value=number, to=2, bits=bits)
    assert written == f"{number & (2**bits - 1):0{bits}b}"
    back = int(library("number-base", value=written, **{"from": 2}, to=10, bits=bits, signed=True))
    assert (back - number) % 2**bits == 0
    assert -(2 ** (bits - 1)) <= back < 2 ** (bits - 1)


@quick
@given(number=st.integers(1, 3999))
def test_roman_numerals_are_written_digit_by_digit(library: Library, number: int) -> None:
    digits = [
        "",
        "{0}",
        "{0}{0}",
        "{0}{0}{0}",
        "{0}{1}",
        "{1}",
        "{1}{0}",
        "{1}{0}{0}",
        "{1}{0}{0}{0}",
        "{0}{2}",
    ]
    signs = ["IVX", "XLC", "CDM", "M  "]
    roman = "".join(
        digits[int(digit)].format(*signs[place])
        for place, digit in reversed(list(enumerate(reversed(str(number)))))
    )
    assert library("roman-numerals", value=number) == roman
    assert library("roman-numerals", value=roman.lower()) == number


@quick
@given(
    number=st.one_of(st.integers(-3000, 3000), st.integers(-(10**36) + 1, 10**36 - 1)),
    british=st.booleans(),
)
def test_number_words_lead_back(library: Library, number: int, british: bool) -> None:
    expected = number if abs(number) < 2**53 and len(str(number)) <= 16 else str(number)
    for form in ("cardinal", "ordinal"):
        words = library("number-words", value=str(number), form=form, **{"and": british})
        assert library("number-words", value=words) == expected


@quick
@given(
    words=st.lists(
        st.sampled_from(
            "one two twenty forty hundred thousand million and point minus zero third a x".split()
        ),
        max_size=7,
    )
)
def test_any_words_are_read_or_refused_with_a_reason(library: Library, words: list[str]) -> None:
    assert library.code_of("number-words", value=" ".join(words) or "-") in ("", "EINVAL")


ROUNDINGS = {
    "half_up": ROUND_HALF_UP,
    "half_even": ROUND_HALF_EVEN,
    "down": ROUND_DOWN,
    "up": ROUND_UP,
}


@quick
@given(
    number=st.decimals(-(10**12), 10**12, places=4),
    decimals=st.integers(0, 6),
    rounding=st.sampled_from(sorted(ROUNDINGS)),
)
def test_a_number_is_rounded_and_grouped_as_python_s_decimals_are(
    library: Library, number: Decimal, decimals: int, rounding: str
) -> None:
    rounded = number.quantize(Decimal(1).scaleb(-decimals), ROUNDINGS[rounding])
    expected = f"{rounded + 0 if rounded else abs(rounded):,}"
    assert (
        library("number-format", number=str(number), decimals=decimals, rounding=rounding)
        == expected
    )
    percent = library("number-format", number=str(number), style="percent", grouping="none")
    assert Decimal(percent.removesuffix("%")) == number * 100


@quick
@given(number=st.floats(1e-300, 1e300), decimals=st.integers(0, 12))
def test_scientific_notation_is_python_s(library: Library, number: float, decimals: int) -> None:
    digits, _, exponent = f"{Decimal(repr(number)):.{decimals}e}".partition("e")
    written = library(
        "number-format",
        number=repr(number),
        style="scientific",
        decimals=decimals,
        rounding="half_even",
    )
    assert written == f"{digits}e{int(exponent)}"
    exact = library("number-format", number=repr(number), style="engineering")
    assert float(exact) == number
    assert int(exact.partition("e")[2]) % 3 == 0


@quick
@given(text=st.text("0123.,e-+% kx", min_size=1, max_size=12))
def test_any_number_is_formatted_or_refused_with_a_reason(library: Library, text: str) -> None:
    for name in ("number-format", "number-words"):
        assert library.code_of(
            name, **{"number" if name == "number-format" else "value": text}
        ) in ("", "EINVAL")


# ---- validate-id


@quick
@given(digits=st.from_regex(r"[0-9]{12}", fullmatch=True), wrong=st.integers(1, 9))
def test_one_wrong_digit_never_passes(library: Library, digits: str, wrong: int) -> None:
    for kind, start in (("ean", ""), ("luhn", ""), ("isbn", "978")):
        stem = (start + digits)[:12]
        right = [
            end
            for end in "0123456789"
            if library("validate-id", kind=kind, value=stem + end)["valid"]
        ]
        assert len(right) == 1
        other = stem[:5] + str((int(stem[5]) + wrong) % 10) + stem[6:] + right[0]
        assert not library("validate-id", kind=kind, value=other)["valid"]


@quick
@given(account=st.from_regex(r"[0-9]{18}", fullmatch=True))
def test_an_iban_passes_with_its_own_check_digits_alone(library: Library, account: str) -> None:
    check = f"{98 - int(account + '131400') % 97:02d}"  # D is 13, E is 14
    assert library("validate-id", kind="iban", value=f"de{check}{account}")["valid"]
    assert not library(
        "validate-id", kind="iban", value=f"DE{(int(check) + 1) % 97 + 2:02d}{account}"
    )["valid"]


@quick
@given(value=st.uuids(version=4), form=st.sampled_from(["{}", "{{{}}}", "urn:uuid:{}"]))
def test_uuids_are_python_s(library: Library, value: uuid.UUID, form: str) -> None:
    assert library("validate-id", kind="uuid", value=form.format(value).upper()) == {
        "valid": True,
        "value": str(value),
        "version": 4,
    }
    assert library("validate-id", kind="uuid", value=value.hex)["value"] == str(value)


# ---- color-convert


@quick
@given(rgb=st.tuples(*[st.integers(0, 255)] * 3))
def test_a_color_is_the_same_in_every_notation(library: Library, rgb: tuple[int, int, int]) -> None:
    code = "#{:02x}{:02x}{:02x}".format(*rgb)
    color = library("color-convert", color=code, against="white")
    assert color["hex"] == code
    h, lightness, s = colorsys.rgb_to_hls(*(channel / 255 for channel in rgb))
    shown = [float(part.rstrip("%")) for part in color["hsl"][4:-1].split()]
    assert shown == pytest.approx([h * 360, s * 100, lightness * 100], abs=0.006)
    for notation in ("rgb", "hsl", "oklch"):
        again = library("color-convert", color=color[notation])["rgb"][4:-1].split()
        assert [int(part) for part in again] == pytest.approx(
            rgb, abs=0 if notation == "rgb" else 1
        )


@quick
@given(text=st.text("#0af9rgbhsl(),/% .deg", min_size=1, max_size=14))
def test_any_color_is_read_or_refused_with_a_reason(library: Library, text: str) -> None:
    assert library.code_of("color-convert", color=text) in ("", "EINVAL")


# ---- url-parts, jwt-decode

names = st.text("abc é&=+%", min_size=1, max_size=5)


@quick
@given(
    pairs=st.lists(st.tuples(names, names), max_size=5),
    path=st.from_regex(r"(/[a-z]{1,4}){0,3}", fullmatch=True),
    port=st.integers(1, 65535),
)
def test_a_url_comes_apart_as_python_takes_it(
    library: Library, pairs: list[tuple[str, str]], path: str, port: int
) -> None:
    url = f"http://example.com:{port}{path or '/'}?{urlencode(pairs)}#end"
    parts, expected = library("url-parts", url=url), urlsplit(url)
    assert (parts["host"], parts["port"], parts["path"]) == (expected.hostname, port, expected.path)
    found = {
        name: value if isinstance(value, list) else [value]
        for name, value in parts["query"].items()
    }
    assert found == parse_qs(expected.query, keep_blank_values=True)
    built = library("url-parts", url="http://example.com/", query=parts["query"])["url"]
    assert parse_qs(urlsplit(built).query, keep_blank_values=True) == found


@each_row(
    "relative",
    ["b", "./b", "../b", "/b", "//other.example/b", "?x=1", "#top", "b/../c", "http://x.example/"],
)
def test_a_relative_url_is_resolved_as_python_does(library: Library, relative: str) -> None:
    base = "https://example.com/docs/a/index.html?q=1"
    assert library("url-parts", url=relative, base=base)["url"] == urljoin(base, relative)


@quick
@given(
    payload=st.dictionaries(
        names, st.one_of(st.integers(-(10**6), 10**6), names, st.none()), max_size=4
    ),
    signature=st.binary(max_size=40),
)
def test_a_token_is_read_and_never_called_verified(
    library: Library, payload: dict[str, Json], signature: bytes
) -> None:
    parts = [json.dumps({"alg": "HS256"}).encode(), json.dumps(payload).encode(), signature]
    token = ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts)
    answer = library("jwt-decode", token=token)
    assert (answer["verified"], answer["payload"], answer["signature"]) == (
        False,
        payload,
        signature.hex(),
    )
    assert "NOT checked" in answer["note"] or not signature


# ---- cron-next


def as_field(values: set[int], every: bool) -> str:
    return "*" if every else ",".join(map(str, sorted(values)))


@settings(max_examples=examples(30), deadline=None)
@given(
    start=st.datetimes(datetime(1999, 1, 1), datetime(2040, 1, 1)),
    fields=st.tuples(
        *(
            st.tuples(st.sets(st.integers(low, high), min_size=1, max_size=3), st.booleans())
            for low, high in [(0, 59), (0, 23), (1, 28), (1, 12), (0, 6)]
        )
    ),
)
def test_runs_are_those_that_looking_at_every_day_finds(
    library: Library, start: datetime, fields: tuple[tuple[set[int], bool], ...]
) -> None:
    (minutes, m), (hours, h), (days, d), (months, mo), (weekdays, w) = fields

    def runs_on(day: date) -> bool:
        on_day, on_weekday = d or day.day in days, w or (day.weekday() + 1) % 7 in weekdays
        return (mo or day.month in months) and (
            on_day or on_weekday if not d and not w else on_day and on_weekday
        )

    found: list[str] = []
    for offset in range(366 * 30):
        day = start.date() + timedelta(offset)
        for hour in range(24) if runs_on(day) else ():
            times = (
                [
                    datetime(day.year, day.month, day.day, hour, minute)
                    for minute in range(60)
                    if m or minute in minutes
                ]
                if h or hour in hours
                else []
            )
            found += [
                time.isoformat(timespec="minutes")
                for time in times
                if time > start.replace(second=0, microsecond=0)
            ]
        if len(found) >= 3:
            break
    cron = " ".join(as_field(values, every) for values, every in fields)
    answer = library(
        "cron-next", cron=cron, **{"from": start.isoformat(timespec="minutes")}, count=3
    )
    assert answer == found[:3]


@quick
@given(text=st.text("*/,-0123456789 monja@", min_size=1, max_size=20))
def test_any_cron_expression_is_read_or_refused_with_a_reason(library: Library, text: str) -> None:
    assert library.code_of(
        "cron-next", cron=text, **{"from": datetime(2024, 1, 1, tzinfo=UTC).isoformat()}
    ) in ("", "EINVAL")
