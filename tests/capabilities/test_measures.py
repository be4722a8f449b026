"""The capabilities that measure places, shapes and money, against vectors, trigonometry and decimal
arithmetic.
"""

from __future__ import annotations

import math
from decimal import Decimal

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from sigil.protocol import Json
from tests.capabilities.conftest import Library
from tests.selection import examples

quick = settings(max_examples=examples(20), deadline=None)
few = settings(max_examples=examples(15), deadline=None)

# ---- geo-distance, shape-area


def _place(lat: float, lon: float) -> tuple[float, float, float]:
    phi, lamb = math.radians(lat), math.radians(lon)
    return math.cos(phi) * math.cos(lamb), math.cos(phi) * math.sin(lamb), math.sin(phi)


places = st.tuples(st.integers(-89_000, 89_000), st.integers(-180_000, 180_000)).map(
    lambda point: (point[0] / 1000, point[1] / 1000)
)


@quick
@given(a=places, b=places)
def test_a_distance_is_that_of_vectors_and_its_bearing_leads_there(
    library: Library, a: tuple[float, float], b: tuple[float, float]
) -> None:
    u, v = _place(*a), _place(*b)
    angle = 2 * math.asin(min(1.0, math.dist(u, v) / 2))
    assume(angle < 3.1)
    told = library(
        "geo-distance", **{"from": f"{a[0]:.3f}, {a[1]:.3f}", "to": f"{b[0]:.3f} {b[1]:.3f}"}
    )
    assert told["distance"] == pytest.approx(angle * 6371.0088, rel=1e-6, abs=1e-6)
    middle = _place(**told["midpoint"])
    assert math.dist(middle, u) == pytest.approx(math.dist(middle, v), abs=1e-7)
    reached = library(
        "geo-distance",
        **{
            "from": f"{a[0]:.3f}, {a[1]:.3f}",
            "bearing": told["bearing"],
            "distance": told["distance"],
        },
    )
    assert math.dist(_place(**reached["destination"]), v) < 2e-4


@quick
@given(a=st.integers(1, 50), b=st.integers(1, 50), angle=st.integers(1, 179))
def test_a_triangle_is_the_same_however_it_is_given(
    library: Library, a: int, b: int, angle: int
) -> None:
    told = library("shape-area", shape="triangle", a=a, b=b, angle=angle)
    assert told["area"] == pytest.approx(a * b * math.sin(math.radians(angle)) / 2, rel=1e-9)
    assert sum(told["angles"]) == pytest.approx(180)
    c = told["sides"][2]
    for given_ in (
        {"a": a, "b": b, "c": c},
        {"a": c, "angle": told["angles"][0], "angle2": told["angles"][1]},
    ):
        assert library("shape-area", shape="triangle", **given_)["area"] == pytest.approx(
            told["area"], rel=1e-6
        )


def test_shapes_agree_with_one_another(library: Library) -> None:
    def of(shape: str, **measures: Json) -> Json:
        return library("shape-area", shape=shape, **measures)

    assert of("ellipse", radius=3, radius2=3)["perimeter"] == of("circle", radius=3)["perimeter"]
    assert of("sector", radius=3, angle=360)["area"] == of("circle", radius=3)["area"]
    assert of("regular-polygon", a=2, sides=4)["area"] == pytest.approx(of("square", a=2)["area"])
    assert of("pyramid", a=3, height=4)["volume"] * 3 == pytest.approx(
        of("box", a=3, b=3, c=4)["volume"]
    )
    assert of("polygon", points=[[1e6, 1e6], [1e6 + 3, 1e6], [1e6, 1e6 + 4]]) == {
        "area": 6,
        "perimeter": 12,
    }
    assert of("trapezoid", a=3, b=3, height=2)["area"] == of("parallelogram", a=3, height=2)["area"]
    assert of("torus", radius=3, radius2=1)["volume"] == pytest.approx(6 * math.pi**2)


# ---- loan-plan, invest-value


@few
@example(amount=100_000, rate=299, months=362)
@example(amount=100_000, rate=299, months=326)
@given(amount=st.integers(100_000, 10**9), rate=st.integers(0, 300), months=st.integers(2, 480))
def test_a_loan_is_paid_back_to_the_cent(
    library: Library, amount: int, rate: int, months: int
) -> None:
    plan = library(
        "loan-plan", amount=amount / 100, rate=rate / 10, months=months, schedule="monthly"
    )
    rows = plan["schedule"]
    assert sum(round(row["principal"] * 100) for row in rows) == amount
    assert (
        round(plan["total_paid"] * 100)
        == amount + round(plan["total_interest"] * 100)
        == sum(round(row["payment"] * 100) for row in rows)
    )
    assert (rows[-1]["balance"], len(rows)) == (0, plan["months"])
    i = Decimal(rate) / 12000
    exact = (
        Decimal(amount) / 100 * i / (1 - (1 + i) ** -months)
        if rate
        else Decimal(amount) / 100 / months
    )
    assert plan["payment"] == pytest.approx(float(exact), abs=0.016)
    assert plan["last_payment"] <= 2 * plan["payment"] + 0.02
    years = library(
        "loan-plan", amount=amount / 100, rate=rate / 10, months=months, schedule="yearly"
    )["schedule"]
    assert sum(round(year["interest"] * 100) for year in years) == round(
        plan["total_interest"] * 100
    )


@few
@given(
    principal=st.integers(0, 10**6),
    contribution=st.integers(-50, 500),
    rate=st.integers(-50, 200),
    years=st.integers(1, 30),
)
def test_growth_is_what_a_bank_would_book(
    library: Library, principal: int, contribution: int, rate: int, years: int
) -> None:
    value = Decimal(principal)
    for _ in range(years * 4):
        value = value * (1 + Decimal(rate) / 4000) + contribution
    told = library(
        "invest-value",
        calculate="growth",
        principal=principal,
        contribution=contribution,
        rate=rate / 10,
        years=years,
        per_year=4,
    )
    assert told["value"] == pytest.approx(float(value), rel=1e-9, abs=0.011)


@few
@given(paid=st.integers(1, 10**6), back=st.lists(st.integers(1, 10**6), min_size=1, max_size=20))
def test_at_the_internal_rate_of_return_nothing_is_gained(
    library: Library, paid: int, back: list[int]
) -> None:
    if library.code_of("invest-value", calculate="irr", flows=[-paid, *back]):
        assert not 1e-3 < sum(back) / paid < 900
        return
    rate = library("invest-value", calculate="irr", flows=[-paid, *back])["irr"]
    assume(-99 < rate < 1000)
    worth = library("invest-value", calculate="npv", flows=[-paid, *back], rate=rate)["npv"]
    assert abs(worth) <= 0.01 + 1e-6 * (
        paid + sum(back) * len(back) * max(1, 1 / (1 + rate / 100)) ** (len(back) + 1)
    )
