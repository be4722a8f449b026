import itertools
import tomllib
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from hypothesis import given, settings
from hypothesis import strategies as st

from functions.agent.schedules.when import When, expand_cron, find_next, list_next
from tests.selection import examples
from tests.tables import each_row

ZONES = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "UTC")


def at(local, zone, fold=0):
    return datetime.fromisoformat(local).replace(tzinfo=ZoneInfo(zone), fold=fold).timestamp()


def show(moment, zone):
    return datetime.fromtimestamp(moment, ZoneInfo(zone)).strftime("%Y-%m-%d %H:%M%z")


@each_row(
    ("zone", "cron", "after", "shown"),
    [
        # the clocks go forward: the first minute after the gap, and once
        ("Europe/Berlin", "30 2 * * *", "2027-03-27 12:00", ["03-28 03:00+0200", "03-29 02:30+0200"]),
        ("Europe/Berlin", "*/15 2 * * *", "2027-03-27 12:00", ["03-28 03:00+0200", "03-29 02:00+0200"]),
        ("America/New_York", "30 2 * * *", "2027-03-13 12:00", ["03-14 03:00-0400", "03-15 02:30-0400"]),
        ("Australia/Lord_Howe", "15 2 * * *", "2027-10-02 12:00", ["10-03 02:30+1100", "10-04 02:15+1100"]),
        # the clocks go back: once
        ("Europe/Berlin", "30 2 * * *", "2027-10-30 12:00", ["10-31 02:30+0200", "11-01 02:30+0100"]),
        ("Europe/Berlin", "*/30 2 * * *", "2027-10-30 12:00", ["10-31 02:00+0200", "10-31 02:30+0200", "11-01 02:00+0100"]),
        ("America/New_York", "30 1 * * *", "2027-11-06 12:00", ["11-07 01:30-0400", "11-08 01:30-0500"]),
        ("Australia/Lord_Howe", "45 1 * * *", "2027-04-03 12:00", ["04-04 01:45+1100", "04-05 01:45+1030"]),
        # what is of every hour goes by the time that passes
        ("Europe/Berlin", "0 * * * *", "2027-10-31 01:30", ["10-31 02:00+0200", "10-31 02:00+0100", "10-31 03:00+0100"]),
        # leap days, ends of months, the last and the first of a kind
        ("UTC", "0 9 29 2 *", "2026-11-25 00:00", ["2028-02-29 09:00+0000", "2032-02-29 09:00+0000"]),
        ("UTC", "0 9 31 * *", "2027-01-31 10:00", ["03-31 09:00+0000", "05-31 09:00+0000"]),
        ("UTC", "0 9 L * *", "2028-01-31 10:00", ["2028-02-29 09:00+0000", "2028-03-31 09:00+0000"]),
        ("UTC", "0 9 * * 1#1", "2027-01-01 00:00", ["01-04 09:00+0000", "02-01 09:00+0000"]),
        # a day of the month or a day of the week, as cron has it
        ("UTC", "30 4 1,15 * 5", "2027-03-01 05:00", ["03-05 04:30+0000", "03-12 04:30+0000", "03-15 04:30+0000"]),
    ],
)  # fmt: skip
def test_a_calendar_runs_once_a_time_however_the_clocks_change(zone, cron, after, shown):
    when = When(kind="cron", cron=cron, zone=zone)
    found = list_next(when, at(after, zone), began=0.0, count=len(shown))
    assert [
        show(each, zone)[-len(text) :] for each, text in zip(found, shown, strict=True)
    ] == shown


def test_every_other_week_stays_in_its_weeks_and_every_few_days_on_its_days():
    zone = "Europe/Berlin"
    friday = When(kind="cron", cron="0 17 * * 1,5", zone=zone, cycle=14, anchor="2027-03-15")
    found = list_next(friday, at("2027-03-14 00:00", zone), began=0.0, count=4)
    assert [show(each, zone)[5:16] for each in found] == [
        "03-15 17:00", "03-19 17:00", "03-29 17:00", "04-02 17:00",
    ]  # fmt: skip
    days = When(kind="cron", cron="0 8 * * *", zone=zone, cycle=3, anchor="2027-03-26")
    found = list_next(days, at("2027-03-26 08:00", zone), began=0.0, count=3)
    assert [show(each, zone)[5:16] for each in found] == [
        "03-29 08:00",
        "04-01 08:00",
        "04-04 08:00",
    ]


def test_once_happens_once_and_the_end_ends_it():
    once = When(kind="at", at=1000.0, zone="UTC")
    assert find_next(once, 999.0, began=0.0) == 1000.0
    assert find_next(once, 1000.0, began=0.0) is None
    every = When(kind="every", every=600.0, until=2000.0, zone="UTC")
    assert list_next(every, 500.0, began=500.0) == (1100.0, 1700.0)
    assert list_next(When(kind="every", every=600.0, times=2, zone="UTC"), 0.0, began=0.0) == (600.0, 1200.0)  # fmt: skip
    assert find_next(every, 100.0, began=500.0) == 1100.0  # the clock was set back
    assert find_next(When(kind="cron", cron="* * * * *", zone="UTC"), 2.5e11, began=0.0) is None


@each_row(
    ("cron", "expanded"),
    [
        ("@daily", "0 0 * * *"),
        ("0 8 * * mon-fri", "0 8 * * MON-FRI"),
        ("60 * * * *", ""),
        ("0 0 30 2 *", ""),
        ("0 0 * * * *", ""),
        ("* * * *", ""),
        ("0 5 * * 9", ""),
        ("0 8 * * tomorrow", ""),
        ("1-9999999999 * * * *", ""),
        ("*/0 * * * *", ""),
        (",".join(["1"] * 99) + " * * * *", ""),
    ],
)
def test_an_impossible_cron_expression_is_none(cron, expanded):
    assert expand_cron(cron) == expanded


FIELDS = st.tuples(
    st.sampled_from(["0", "30", "*/20", "59", "5,35"]),
    st.sampled_from(["*", "2", "1,3", "0-4/2", "23"]),
    st.sampled_from(["*", "1", "31", "L", "*/5"]),
    st.sampled_from(["*", "3,10", "4", "11"]),
    st.sampled_from(["*", "0", "1-5", "5#2"]),
)


@given(FIELDS, st.sampled_from(ZONES), st.floats(1.7e9, 2.2e9), st.sampled_from([0, 2, 3, 14]))
@settings(max_examples=examples(60), deadline=None)
def test_no_time_is_skipped_and_none_comes_twice_wherever_the_search_begins(
    fields, zone, after, cycle
):
    when = When(kind="cron", cron=" ".join(fields), zone=zone, cycle=cycle, anchor="2026-11-23")
    found = list_next(when, after, began=0.0, count=4)
    assert all(each > after for each in found)
    assert list(found) == sorted(set(found))
    local = [datetime.fromtimestamp(each, ZoneInfo(zone)).replace(tzinfo=None) for each in found]
    hourly = fields[1] == "*"
    assert hourly or local == sorted(set(local))
    for earlier, later in itertools.pairwise(found):
        middle = (earlier + later) / 2
        assert find_next(when, middle, began=0.0) == later
        assert find_next(when, later - 1, began=0.0) == later


@given(st.integers(60, 10**7), st.floats(0, 1e10), st.floats(0, 1e10))
@settings(max_examples=examples(60), deadline=None)
def test_equal_steps_stay_on_their_grid(every, began, after):
    when = When(kind="every", every=float(every), zone="UTC")
    found = find_next(when, after, began=began)
    assert found > after
    assert found >= began + every
    steps = (found - began) / every
    assert abs(steps - round(steps)) < 1e-4
    assert timedelta(seconds=found - max(after, began)).total_seconds() <= every + 1e-3


def test_the_librarys_capability_for_cron_gives_the_same_times():
    path = Path(__file__).parents[4] / "capabilities" / "cron-next" / "sigil.toml"
    cases = [case for case in tomllib.loads(path.read_text("utf-8"))["test"] if "output" in case]
    assert len(cases) > 5
    for case in cases:
        asked = case["input"]
        start = datetime.fromisoformat(asked["from"].replace("Z", "+00:00"))
        shift = start.utcoffset() or timedelta()  # it keeps the offset of `from` for ever
        after = start.replace(tzinfo=ZoneInfo("UTC")).timestamp()
        when = When(kind="cron", cron=expand_cron(asked["cron"]), zone="UTC")
        found = list_next(when, after, began=0.0, count=asked["count"])
        wanted = [datetime.fromisoformat(each.replace("Z", "+00:00")) for each in case["output"]]
        assert [each - shift.total_seconds() for each in found] == [
            (each if each.tzinfo else each.replace(tzinfo=ZoneInfo("UTC"))).timestamp()
            for each in wanted
        ]
