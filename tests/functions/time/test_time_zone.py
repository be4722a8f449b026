"""Time zones as people name them, and the time that their clocks show."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.time import time_zone
from functions.time.time_zone import (
    available_zones,
    find_first_day,
    find_midnight,
    find_tomorrow,
    find_zone,
    format_clock,
    format_stamp,
    suggest_for_language,
    suggest_zones,
    to_local,
)
from tests.tables import each_row

pytestmark = pytest.mark.skipif(
    "Europe/Berlin" not in available_zones(), reason="this machine has no time zone database"
)

WINTER = datetime(2026, 1, 15, 12, tzinfo=UTC).timestamp()
SUMMER = datetime(2026, 7, 15, 12, tzinfo=UTC).timestamp()


def at(text: str) -> float:
    """A moment in UTC, in seconds since 1970."""
    return datetime.fromisoformat(f"{text}+00:00").timestamp()


@each_row(
    ("words", "zone"),
    [
        ("Europe/Berlin", "Europe/Berlin"),
        ("europe/berlin", "Europe/Berlin"),
        ("AMERICA/NEW_YORK", "America/New_York"),
        (" new york ", "America/New_York"),
        ("Zürich", "Europe/Zurich"),
        ("são paulo", "America/Sao_Paulo"),
        ("Ho Chi Minh", "Asia/Ho_Chi_Minh"),
        ("北京", "Asia/Shanghai"),
        ("Mumbai", "Asia/Kolkata"),
        ("utc", "UTC"),
        ("Asia/Kathmandu", "Asia/Kathmandu"),
    ],
)
def test_a_zone_is_known_by_its_name_or_its_city_however_it_is_written(
    words: str, zone: str
) -> None:
    assert find_zone(words) == zone


@each_row(
    ("words", "near"),
    [
        ("Berlni", "Europe/Berlin"),
        ("Los Angles", "America/Los_Angeles"),
        ("PST", "America/Los_Angeles"),
        ("est", "America/New_York"),
        ("CST", "Asia/Shanghai"),
        ("san juan", "America/Puerto_Rico"),
        ("UTC+8", "Asia/Singapore"),
        ("gmt -3", "America/Sao_Paulo"),
        ("+05:30", "Asia/Kolkata"),
        ("Germany", "Europe/Berlin"),
    ],
)
def test_what_is_no_plain_zone_is_answered_with_those_that_may_be_meant(
    words: str, near: str
) -> None:
    assert find_zone(words) == ""
    assert near in suggest_zones(words, WINTER)


def test_an_offset_means_other_zones_in_summer() -> None:
    assert "Europe/London" in suggest_zones("+0", WINTER)
    assert "Europe/London" in suggest_zones("UTC+1", SUMMER)
    assert suggest_zones("+99", WINTER) == ()


HOSTILE = [
    "",
    " ",
    "../../etc/passwd",
    "/usr/share/zoneinfo/UTC",
    "Europe/Berlin\x00",
    "\u202ereporuE/nilreB",
    "x" * 100_000,
    "Europe/" * 20,
    "🌍",
    "+" * 60,
    "posix/Europe/Berlin",
    "localtime",
]


@each_row("words", HOSTILE)
def test_hostile_names_are_none_and_bounded(words: str) -> None:
    assert find_zone(words) == ""
    assert len(suggest_zones(words, WINTER)) <= 3


@given(st.text(max_size=80))
def test_no_name_raises_and_what_is_found_can_be_loaded(words: str) -> None:
    zone = find_zone(words)
    assert not zone or zone in time_zone.available_zones()
    assert set(suggest_zones(words, WINTER)) <= time_zone.available_zones()


def test_a_zone_that_this_machine_does_not_know_is_utc() -> None:
    assert format_stamp(WINTER, "Mars/Olympus") == "2026-01-15 12:00"
    assert format_stamp(WINTER, "../../etc/passwd") == "2026-01-15 12:00"


@pytest.mark.parametrize(
    ("zone", "before", "after"),
    [
        # the clocks go on: 01:00 UTC is an hour later
        ("Europe/Berlin", ("2026-03-29T00:59", "01:59"), ("2026-03-29T01:00", "03:00")),
        ("America/New_York", ("2026-03-08T06:59", "01:59"), ("2026-03-08T07:00", "03:00")),
        ("Australia/Lord_Howe", ("2026-10-03T15:29", "01:59"), ("2026-10-03T15:30", "02:30")),
        # and back: the hour comes twice
        ("Europe/Berlin", ("2026-10-25T00:59", "02:59"), ("2026-10-25T01:00", "02:00")),
        ("America/New_York", ("2026-11-01T05:59", "01:59"), ("2026-11-01T06:00", "01:00")),
    ],
)
def test_clocks_are_set_forward_and_back(
    zone: str, before: tuple[str, str], after: tuple[str, str]
) -> None:
    for moment, shown in (before, after):
        assert f"{to_local(at(moment), zone):%H:%M}" == shown


@each_row(
    ("zone", "now", "tomorrow"),
    [
        ("Europe/Berlin", "2026-03-29T10:00", "2026-03-29T22:00"),
        ("Europe/Berlin", "2026-03-28T23:30", "2026-03-29T22:00"),  # a day of 23 hours
        ("Europe/Berlin", "2026-10-24T22:30", "2026-10-25T23:00"),  # and one of 25
        ("Africa/Cairo", "2026-04-23T12:00", "2026-04-23T22:00"),  # a midnight that is skipped
        ("America/New_York", "2026-03-08T12:00", "2026-03-09T04:00"),
        ("Asia/Kathmandu", "2026-05-01T12:00", "2026-05-01T18:15"),
        ("UTC", "2026-05-01T12:00", "2026-05-02T00:00"),
    ],
)
def test_a_day_ends_at_the_next_midnight(zone: str, now: str, tomorrow: str) -> None:
    assert find_tomorrow(at(now), zone) == at(tomorrow)


def test_periods_of_days_begin_at_midnight_there() -> None:
    late = at("2026-05-01T22:30")
    assert find_first_day(late, 1, "Europe/Berlin").isoformat() == "2026-05-02"
    assert find_first_day(late, 1, "UTC").isoformat() == "2026-05-01"
    for day in range(40):
        now = at("2026-03-20T12:00") + day * 86_400
        first = find_first_day(now, 7, "Europe/Berlin")
        assert find_midnight(first, "Europe/Berlin") <= now


def test_times_are_told_with_their_zone() -> None:
    assert format_clock(WINTER, "UTC", WINTER) == "12:00 UTC"
    assert format_clock(WINTER, "Asia/Tokyo", WINTER) == "21:00 (Asia/Tokyo)"
    assert format_clock(WINTER + 200_000, "UTC", WINTER) == "2026-01-17 19:33 UTC"


def test_a_clock_that_is_far_off_breaks_nothing() -> None:
    for moment in (-1e12, 0.0, 1e12, 1e300):
        assert format_stamp(moment, "Europe/Berlin")
        assert find_tomorrow(min(max(moment, 0.0), 4e9), "Europe/Berlin")


@each_row(
    ("tag", "zone"),
    [
        ("de", "Europe/Berlin"),
        ("zh-hans", "Asia/Shanghai"),
        ("zh-TW", "Asia/Taipei"),
        ("pt_BR", "America/Sao_Paulo"),
        ("xx", "Europe/London"),
        ("", "Europe/London"),
        ("../..", "Europe/London"),
    ],
)
def test_a_language_suggests_an_example(tag: str, zone: str) -> None:
    assert suggest_for_language(tag, "Europe/London") == zone


def test_every_zone_that_we_name_is_one() -> None:
    named = {*time_zone.COMMON, *time_zone.PLACES.values(), *time_zone.OF_LANGUAGES.values()}
    named |= {zone for zones in time_zone.SPOKEN.values() for zone in zones}
    assert named <= time_zone.available_zones()
