"""The capabilities that count, calculate and convert, against Python's own arithmetic and calendar."""

from __future__ import annotations

import calendar
import math
from datetime import date, datetime, timedelta
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sigil.errors import SigilError
from sigil.protocol import Json
from tests.capabilities.conftest import Library
from tests.selection import examples
from tests.tables import each_row

quick = settings(max_examples=examples(30), deadline=None)
dates = st.dates(date(1, 1, 1), date(9999, 12, 31))


# ---- calculate

Counted = tuple[str, Fraction]


def _binary(pair: tuple[Counted, str, Counted]) -> Counted:
    (left, a), sign, (right, b) = pair
    if sign in ("/", "%") and b == 0:
        sign = "-"
    value = {"+": a + b, "-": a - b, "*": a * b, "/": a / b if b else a, "%": a % b if b else a}[
        sign
    ]
    return f"({left}) {sign} ({right})", value


numbers = st.one_of(
    st.integers(0, 10**25).map(lambda n: (str(n), Fraction(n))),
    st.decimals(0, 10**6, places=3).map(lambda d: (str(d), Fraction(d))),
)
expressions = st.recursive(
    numbers,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*/%"), inner).map(_binary),
        inner.map(lambda one: (f"-({one[0]})", -one[1])),
        st.tuples(inner, st.integers(0, 5)).map(
            lambda one: (f"({one[0][0]})^{one[1]}", one[0][1] ** one[1])
        ),
    ),
    max_leaves=8,
)


def _as_answered(value: Fraction) -> Json:
    if value.denominator == 1:
        return int(value) if abs(value) < 2**53 else str(int(value))
    return float(value)


@settings(max_examples=examples(75), deadline=None)
@given(expression=expressions)
def test_arithmetic_is_exact(library: Library, expression: Counted) -> None:
    text, value = expression
    assume(len(text) <= 2000 and max(abs(value.numerator), value.denominator) < 2**1000)
    answer, expected = library("calculate", expression=text), _as_answered(value)
    assert (float(answer) if isinstance(expected, float) else answer) == expected


@each_row(
    ("text", "value"),
    [
        ("3 - 4 - 5", 3 - 4 - 5),
        ("-3^2 + 2^-2", -(3**2) + 2**-2),
        ("2**3**2", 2**3**2),
        ("10 % 4 * 3", 10 % 4 * 3),
        ("(-7) mod 3", -7 % 3),
        ("200 - 15% + 10%", 200 - 30 + 17),
        ("50% * 50%", 0.25),
        ("5! / 3!", math.factorial(5) / math.factorial(3)),
        ("√16 + square root of 9", 7),
        ("3² × 2 ÷ 6 − 1", 2),
        ("min(3, -1, 2) + max(4, 5)", 4),
        ("12 加 3 乘以 4 等于", None),
        ("0xff + 0b11", 0xFF + 0b11),
        ("1.5e3 / 1e-2", 1.5e5),
        ("round(-2.5) + floor(-0.5) + ceil(0.5)", -3),
    ],
)
def test_signs_bind_as_in_mathematics(library: Library, text: str, value: float | None) -> None:
    if value is None:
        with pytest.raises(SigilError, match="unexpected"):
            library("calculate", expression=text)
    else:
        assert library("calculate", expression=text) == pytest.approx(value, abs=0)


@quick
@given(
    x=st.floats(-1e6, 1e6, allow_subnormal=False),
    name=st.sampled_from(["sin", "cos", "atan", "exp", "ln", "log2", "sqrt", "cbrt", "log"]),
)
def test_functions_are_near_python_s(library: Library, x: float, name: str) -> None:
    call = {"ln": math.log, "log": math.log10}.get(name) or getattr(math, name)
    try:
        expected = call(x)
    except (ValueError, OverflowError):
        with pytest.raises(SigilError, match=r"real number|too large|logarithm"):
            library("calculate", expression=f"{name}({x!r})")
        return
    assert float(library("calculate", expression=f"{name}({x!r})")) == pytest.approx(
        expected, rel=1e-12, abs=1e-12
    )


@quick
@given(text=st.text("0123456789.+-*/%^()!, piesqrtax", max_size=30))
def test_any_expression_is_answered_or_refused_with_a_reason(library: Library, text: str) -> None:
    assert library.code_of("calculate", expression=text) in ("", "EINVAL")


# ---- date-math

FORMS = [
    "{0:%d} {1} {0.year:04d}",
    "{1} {0.day}, {0.year:04d}",
    "{0.year:04d}年{0.month}月{0.day}日",
    "{0.year:04d}/{0.month}/{0.day}",
]


def _month_later(day: date, months: int) -> date | None:
    total = day.year * 12 + day.month - 1 + months
    year, month = divmod(total, 12)
    return (
        date(year, month + 1, min(day.day, calendar.monthrange(year, month + 1)[1]))
        if 1 <= year <= 9999
        else None
    )


@quick
@given(day=dates)
def test_a_date_is_described_as_python_does(library: Library, day: date) -> None:
    year, week, _ = day.isocalendar()
    assert library("date-math", date=day.isoformat()) == {
        "date": day.isoformat(),
        "weekday": calendar.day_name[day.weekday()],
        "iso_week": f"{year:04d}-W{week:02d}",
        "day_of_year": day.timetuple().tm_yday,
        "quarter": (day.month + 2) // 3,
        "days_in_month": calendar.monthrange(day.year, day.month)[1],
        "leap_year": calendar.isleap(day.year),
    }


@quick
@given(day=dates, months=st.integers(-5000, 5000), days=st.integers(-5000, 5000))
def test_months_go_before_days_and_end_on_the_last_day(
    library: Library, day: date, months: int, days: int
) -> None:
    later = _month_later(day, months)
    assume(later is not None and 1 <= later.toordinal() + days <= date.max.toordinal())
    assert later is not None
    assert (
        library("date-math", date=day.isoformat(), add=f"{days:+} days {months:+} months")
        == (later + timedelta(days)).isoformat()
    )


@quick
@given(first=st.datetimes(), second=st.datetimes())
def test_what_lies_between_two_times_leads_from_one_to_the_other(
    library: Library, first: datetime, second: datetime
) -> None:
    first, second = sorted((first.replace(microsecond=0), second.replace(microsecond=0)))
    between = library("date-math", date=first.isoformat(), until=second.isoformat())
    assert between["days"] == pytest.approx((second - first) / timedelta(1), abs=1e-6)
    assert library("date-math", date=first.isoformat(), add=between["text"]) == second.isoformat()
    back = library("date-math", date=second.isoformat(), until=first.isoformat())
    assert back["days"] == -between["days"]


@quick
@given(day=dates, form=st.sampled_from(FORMS))
def test_a_date_is_read_however_it_is_written(library: Library, day: date, form: str) -> None:
    assert (
        library("date-math", date=form.format(day, calendar.month_name[day.month]))["date"]
        == day.isoformat()
    )


# ---- unit-convert

UNITS = {
    "length": ["m", "km", "miles", "feet", "英寸", "nmi"],
    "mass": ["kg", "lb", "ounces", "斤", "short ton"],
    "temperature": ["C", "fahrenheit", "K", "摄氏度"],
    "data": ["B", "GB", "GiB", "Mbit"],
    "speed": ["m/s", "km/h", "mph", "knots"],
    "energy": ["J", "kWh", "kcal", "BTU"],
}


@quick
@given(value=st.floats(1e-3, 1e9), data=st.data())
def test_a_conversion_leads_back(library: Library, value: float, data: st.DataObject) -> None:
    quantity = data.draw(st.sampled_from(sorted(UNITS)))
    first, second = data.draw(
        st.tuples(st.sampled_from(UNITS[quantity]), st.sampled_from(UNITS[quantity]))
    )
    there = library("unit-convert", value=value, **{"from": first, "to": second})["value"]
    back = library("unit-convert", value=there, **{"from": second, "to": first})["value"]
    assert back == pytest.approx(value, rel=1e-9, abs=1e-9)


def test_units_of_different_quantities_do_not_mix(library: Library) -> None:
    some = [units[0] for units in UNITS.values()]
    for first in some:
        for second in set(some) - {first}:
            with pytest.raises(SigilError, match="do not convert"):
                library("unit-convert", value=1, **{"from": first, "to": second})
