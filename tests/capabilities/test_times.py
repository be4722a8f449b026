"""The capabilities that know times: zones against Python's zoneinfo, and words that may not be
passed over.
"""

from __future__ import annotations

import zoneinfo
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sigil.protocol import Json
from tests.capabilities.conftest import Library
from tests.selection import examples
from tests.tables import each_row

quick = settings(max_examples=examples(40), deadline=None)
# Rules of every kind, long settled: both hemispheres, half and three quarter hours, changes by 30
# minutes, at midnight, and none.
ZONES = (
    "Africa/Johannesburg America/Caracas America/Havana America/Los_Angeles America/New_York America/Nuuk America/Phoenix "
    "America/Sao_Paulo America/St_Johns Asia/Dubai Asia/Hong_Kong Asia/Jerusalem Asia/Kathmandu Asia/Kolkata Asia/Pyongyang Asia/Seoul "
    "Asia/Shanghai Asia/Tokyo Atlantic/Azores Atlantic/Reykjavik Australia/Adelaide Australia/Lord_Howe Australia/Perth Australia/Sydney "
    "Europe/Berlin Europe/Dublin Europe/Istanbul Europe/Lisbon Europe/London Europe/Moscow Pacific/Apia Pacific/Auckland Pacific/Chatham "
    "Pacific/Honolulu"
).split()
FIRST, LAST = datetime(2010, 1, 2), datetime(2022, 12, 31)
known = pytest.mark.skipif(
    not set(ZONES) <= zoneinfo.available_timezones(),
    reason="this machine has no time zone database",
)


@known
@quick
@given(moment=st.datetimes(FIRST, LAST), name=st.sampled_from(ZONES))
def test_a_moment_is_told_in_a_zone_as_python_does(
    library: Library, moment: datetime, name: str
) -> None:
    there = moment.replace(microsecond=0, tzinfo=UTC).astimezone(zoneinfo.ZoneInfo(name))
    told = library("time-zone", time=moment.strftime("%Y-%m-%dT%H:%M:%SZ"), to=name)
    assert (told["unix"], told["to"][0]["time"]) == (int(there.timestamp()), there.isoformat())
    assert told["to"][0]["weekday"] == there.strftime("%A")


@known
@quick
@given(local=st.datetimes(FIRST, LAST), name=st.sampled_from(ZONES))
def test_a_wall_clock_is_read_as_python_does(library: Library, local: datetime, name: str) -> None:
    expected = local.replace(second=0, microsecond=0, tzinfo=zoneinfo.ZoneInfo(name)).astimezone(
        UTC
    )
    assert library("time-zone", time=local.strftime("%Y-%m-%d %H:%M"), **{"from": name})[
        "utc"
    ] == expected.strftime("%Y-%m-%dT%H:%M:%SZ")


@known
def test_clocks_that_go_forward_or_back_are_told_of(library: Library) -> None:
    for name in ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Auckland"):
        zone, day = zoneinfo.ZoneInfo(name), datetime(2023, 1, 1)
        for minutes in range(0, 365 * 24 * 60, 30):
            local = day + timedelta(minutes=minutes)
            first, second = (local.replace(tzinfo=zone, fold=fold).utcoffset() for fold in (0, 1))
            if first != second:
                note = library(
                    "time-zone", time=local.isoformat(timespec="minutes"), **{"from": name}
                )["note"]
                assert ("comes twice" if first > second else "does not exist") in note  # type: ignore[operator]


@each_row(
    ("said", "zone"),
    [
        ("new york", "America/New_York"),
        ("NEW_YORK", "America/New_York"),
        ("asia/calcutta", "Asia/Calcutta"),
        ("Port-au-Prince", "America/Port-au-Prince"),
        ("PST", "America/Los_Angeles"),
        ("北京", "Asia/Shanghai"),
        ("UTC+5:30", "+05:30"),
        ("GMT-3", "-03:00"),
        ("−0800", "-08:00"),
        ("z", "UTC"),
    ],
)
def test_a_zone_is_known_by_its_usual_names(library: Library, said: str, zone: str) -> None:
    assert library("time-zone", time="2024-03-05T10:30Z", to=said)["to"][0]["zone"] == zone


@quick
@given(time=st.text("0123456789-:TZ+ ", max_size=20), zone=st.text("abcZ/_+-0129 上", max_size=12))
def test_any_time_is_read_or_refused_with_a_reason(library: Library, time: str, zone: str) -> None:
    assert library.code_of("time-zone", time=time or "-", **{"from": zone}, to=zone) in (
        "",
        "EINVAL",
    )


# ---- date-math: what would change the meaning is understood or refused, never passed over


@each_row(
    ("words", "answer"),
    [
        ("fifteen days after 2024-01-01", "2024-01-16"),
        ("twenty one days after 2024-01-01", "2024-01-22"),
        ("ninety-nine days after 2024-01-01", "2024-04-09"),
        ("2024-01-01 之后 十五天", "2024-01-16"),
        ("2024-01-01 三十一天后", "2024-02-01"),
        ("十个月后 2024-01-01", "2024-11-01"),
        ("2024-03-05 11:30 pm + 1 hour", "2024-03-06T00:30:00"),
        ("2024-03-05 12:00 AM + 1 hour", "2024-03-05T01:00:00"),
        ("2024-03-05 12:00 p.m. + 1 hour", "2024-03-05T13:00:00"),
        ("2024-03-05T10:30 GMT + 1 hour", "2024-03-05T11:30:00Z"),
    ],
)
def test_numbers_and_times_in_words_are_understood(
    library: Library, words: str, answer: str
) -> None:
    assert library("date-math", date=words) == answer


@each_row(
    "words",
    [
        "half a year after 2024-01-01",
        "a hundred and five days after 2024-01-01",
        "3 business days after 2024-01-01",
        "two dozen days after 2024-01-01",
        "半年后 2024-01-01",
        "一百天后 2024-01-01",
        "二三天后 2024-01-01",
        "5个工作日后 2024-01-01",
        "2024-03-05 13:00 pm",
        "2024-03-05 下午5:30",
    ],
)
def test_words_that_would_be_passed_over_wrongly_are_refused(library: Library, words: str) -> None:
    assert library.code_of("date-math", date=words) == "EINVAL"


@pytest.mark.parametrize(
    ("form", "answer"),
    [
        ("YY/M/D h:mm A", "24/3/5 3:04 PM"),
        ("YYYY年M月D日", "2024年3月5日"),
        ("YYYY-MM-DDTHH:mm", "2024-03-05T15:04"),
        ("[at] H a", "at 15 pm"),
    ],
)
def test_a_date_is_written_in_the_form_asked_for(library: Library, form: str, answer: str) -> None:
    assert library("date-math", date="2024-03-05 15:04", format=form) == answer


@pytest.mark.parametrize("form", ["yyyy-MM-dd", "%Y-%m-%d", "D of MMMM", "DDDD", "YYYYY"])
def test_a_form_that_means_something_else_elsewhere_is_refused(library: Library, form: str) -> None:
    given_: dict[str, Json] = {"date": "2024-03-05", "format": form}
    assert library.code_of("date-math", **given_) == "EINVAL"
