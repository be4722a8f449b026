import re
import time
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from functions.agent.schedules.phrase import Question, parse_when
from functions.agent.schedules.when import find_next, list_next
from functions.texts.languages import load_texts
from tests.functions.agent.schedules import (
    everyday_phrases,
    german_phrases,
    known_phrases,
    later_phrases,
    start_phrases,
    unseen_phrases,
)
from tests.machine import within
from tests.selection import examples
from tests.tables import each_row

BERLIN = ZoneInfo("Europe/Berlin")
NOW = "2026-11-25 14:20"
PHRASES = [
    (*row, zone, code)
    for table in (
        known_phrases,
        unseen_phrases,
        later_phrases,
        start_phrases,
        german_phrases,
        everyday_phrases,
    )
    for name, zone, code in (
        ("ENGLISH", "Europe/Berlin", "en"),
        ("CHINESE", "Asia/Shanghai", "zh"),
        ("GERMAN", "Europe/Berlin", "de"),
    )
    for row in getattr(table, name, ())
]


def read_time(shown, zone):
    return datetime.fromisoformat(shown if len(shown) > 11 else f"2026-{shown}").replace(
        tzinfo=zone
    )


def parse(words, zone="Europe/Berlin", code="en", now=NOW):
    return parse_when(words, datetime.fromisoformat(now).replace(tzinfo=ZoneInfo(zone)).timestamp(), zone, load_texts(code))  # fmt: skip


@each_row(("words", "expected", "rest", "zone", "code"), PHRASES)
def test_a_phrase_means_its_time_and_leaves_its_text_or_asks_one_question(
    words, expected, rest, zone, code
):
    tz = ZoneInfo(zone)
    now = datetime.fromisoformat(NOW).replace(tzinfo=tz).timestamp()
    if expected == "?":
        with pytest.raises(Question) as asked:
            parse(words, zone, code)
        assert "{" not in asked.value.message
        return
    when, said = parse(words, zone, code)
    assert said == rest
    found = list_next(when, now, began=now, count=4)
    wanted = expected.removesuffix(" ...").split(", ")
    assert len(found) == (4 if expected.endswith(" ...") else len(wanted)) or when.until
    for moment, each in zip(found, wanted, strict=False):
        first, _, last = each.partition("~")
        shown = datetime.fromtimestamp(moment, tz).replace(second=0)
        assert read_time(first, tz) <= shown <= read_time(last or first, tz)


@each_row(
    ("words", "key"),
    [
        ("call Bob", "when_no_time"),
        ("yesterday call Bob", "when_past"),
        ("today at 9am call Bob", "when_past_at"),
        ("2020-01-01 10:00", "when_past_at"),
        ("tomorrow at 5", "when_two_readings"),
        ("next Friday 5pm", "when_two_readings"),
        ("03/04/2027", "when_two_readings"),
        ("Feb 30 call", "when_no_such_date"),
        ("2027-02-29 10:00", "when_no_such_date"),
        ("1900-01-01 10:00", "when_no_such_date"),
        ("at 25:00 call", "when_no_such_clock"),
        ("every second call", "when_too_often"),
        ("tomorrow at 9 Mars/Phobos", "when_no_zone"),
        ("0 0 30 2 * call", "when_no_cron"),
        ("twice a day drink", "when_which_times"),
        ("today call Bob", "when_which_clock"),
        ("tomorrow 7 gym", "when_which_clock"),
        ("call Bob tomorrow 17", "when_which_clock"),
        ("tonight 10 movie", "when_which_clock"),
        ("every weekday 8 look at the rates", "when_which_clock"),
        ("montags 7 Sport", "when_which_clock"),
        ("明天7跑步", "when_which_clock"),
        ("twice daily pills", "when_which_times"),
        ("in 10", "when_unit"),
        ("tomorrow at 9am 5 times", "when_how_often"),
        ("tomorrow at 9:00 and 17:30", "when_two_readings"),
        ("every January at 9 budget", "when_which_day"),
        ("from tomorrow every 2 hours drink", "when_which_start"),
        (
            "every day at 9:01, 9:02, 9:03, 9:04, 9:05, 9:06, 9:07, 9:08, 9:09, 9:10, 9:11, 9:12, 9:13",
            "when_too_many",
        ),
        ("every day at 9 until today 3pm", "when_never"),
        ("every 5 months", "when_no_calendar"),
        ("from Monday walk", "when_how_often"),
        ("every day at 8 until Easter walk", "when_no_end"),
        ("every Monday at 8 and every Friday at 9 gym", "when_too_many"),
        ("sometime next week call the bank", "when_which_one"),
        ("下周找个时间理发", "when_which_one"),
        ("every year on my birthday call mum", "when_which_date"),
        ("call mum every year at Easter", "when_which_date"),
        ("every month on payday pay the rent", "when_which_day"),
        ("twice on Monday call", "when_which_times"),
        ("2026-13-26T09:00 call", "when_no_such_date"),
        ("2026-11-26T25:00 call", "when_no_such_date"),
        ("9999-12-31T23:59Z call", "when_no_such_date"),
        ("2026-11-20T09:00+01:00 call", "when_past_at"),
        ("2026-11-26T09:00 and 2026-11-27T09:00 call", "when_which_one"),
        ("2026-11-26T09:00Z at 10:00 call", "when_which_one"),
    ],
)
def test_what_is_impossible_or_may_be_two_times_is_asked_in_one_sentence(words, key):
    with pytest.raises(Question) as asked:
        parse(words)
    assert asked.value.key == key
    assert "\n" not in asked.value.message


@each_row(
    ("key", "english", "chinese", "german"),
    [
        ("when_no_time", "call Bob", "给鲍勃打电话", "Bob anrufen"),
        ("when_past", "yesterday call", "昨天打电话", "gestern anrufen"),
        ("when_past_at", "today at 9am call", "今天上午九点打电话", "heute um 9 Uhr morgens anrufen"),
        ("when_two_readings", "tomorrow at 5 call", "明天三点打电话", "morgen um 5 anrufen"),
        ("when_no_such_date", "Feb 30 call", "2月30日打电话", "am 30. Februar anrufen"),
        ("when_no_such_clock", "at 25:00 call", "25点打电话", "um 25 Uhr anrufen"),
        ("when_too_often", "every 30 seconds call", "每30秒打电话", "alle 30 Sekunden anrufen"),
        ("when_no_zone", "tomorrow at 9 Europe/Berln", "明天上午九点 Europe/Berln", "morgen um 9 Mars/Phobos"),
        ("when_no_cron", "99 * * * * call", "0 0 30 2 * 打电话", "99 * * * * anrufen"),
        ("when_which_clock", "today call", "今天打电话", "heute anrufen"),
        ("when_which_times", "twice a day call", "每天两次打电话", "zweimal am Tag anrufen"),
        ("when_how_often", "tomorrow at 9am 5 times", "从下周一开始跑步", "ab Montag laufen"),
        ("when_never", "every day at 9 until today 3pm", "每天上午九点直到今天下午三点", "jeden Tag um 9 bis heute 15 Uhr"),
        ("when_no_calendar", "every 5 months call", "每0天打电话", "alle 5 Monate anrufen"),
        ("when_which_start", "from tomorrow every 2 hours x", "从明天起每两小时喝水", "ab morgen alle 2 Stunden trinken"),
        ("when_which_day", "every January at 9 x", "每年一月上午九点做预算", "jeden Januar um 9 Uhr Budget"),
        ("when_which_date", "every year on Bob's birthday x", "每年妈妈生日上午九点打电话", "jedes Jahr an meinem Geburtstag anrufen"),
        ("when_which_times", "twice on Monday call", "每天两次打电话", "zweimal am Montag anrufen"),
        ("when_no_end", "every day at 8 until Easter x", "每天早上八点直到复活节跑步", "jeden Tag um 8 bis Ostern laufen"),
        ("when_no_workdays", "in 2 working days call", "三个工作日后打电话", "am nächsten Werktag um 21 Uhr anrufen"),
        ("when_too_many", "every Monday at 8 and every Friday at 9 x", "每周一早上八点和每周五早上九点健身", "jeden Montag um 8 und jeden Freitag um 9 Sport"),
    ],
)  # fmt: skip
def test_each_question_is_one_sentence_of_the_chats_language_with_an_example_that_works(
    key, english, chinese, german
):
    said = set()
    for code, words in (("en", english), ("zh", chinese), ("de", german)):
        with pytest.raises(Question) as asked:
            parse(words, code=code)
        assert asked.value.key == key
        message = asked.value.message
        said.add(message)
        assert len(message) < 200
        assert message[-1] in ".?。？"
        examples = re.findall("`(.+?)`", message)
        assert examples or "?" in message or "？" in message or key == "when_too_many"
        for example in examples:
            if key in ("when_no_zone", "when_no_end"):
                assert parse(f"every day at 9:00 {example}")[0].kind == "cron"
            elif key != "when_which_start":
                assert parse(example, code=code)[0].kind
    assert len(said) == 3


def test_a_question_names_both_readings_and_its_answer_is_understood():
    with pytest.raises(Question, match=r"Friday, 27 November 2026 or Friday, 4 December 2026"):
        parse("next Friday 5pm")
    when, _ = parse("Friday, 4 December 2026 5pm")
    assert datetime.fromtimestamp(when.at, BERLIN).isoformat() == "2026-12-04T17:00:00+01:00"


@each_row(
    ("words", "now", "shown"),
    [
        # the clocks skip 02:30 on this day and show it twice on that one
        ("tomorrow at 02:30", "2027-03-27 12:00", "2027-03-28T03:00:00+02:00"),
        ("tomorrow at 02:30", "2027-10-30 12:00", "2027-10-31T02:30:00+02:00"),
        ("in 1 day", "2027-03-27 12:00", "2027-03-28T12:00:00+02:00"),
        ("in 24 hours", "2027-03-27 12:00", "2027-03-28T13:00:00+02:00"),
        ("in 1 month", "2027-01-31 12:00", "2027-02-28T12:00:00+01:00"),
        ("on feb 29 at 9am", "2026-11-25 12:00", "2028-02-29T09:00:00+01:00"),
        ("at midnight", "2026-12-31 12:00", "2027-01-01T00:00:00+01:00"),
        ("friday at 9:00", "2026-11-27 12:00", "2026-12-04T09:00:00+01:00"),
    ],
)
def test_a_day_is_a_day_of_the_calendar_and_an_hour_has_sixty_minutes(words, now, shown):
    when, _ = parse(words, now=now)
    assert datetime.fromtimestamp(when.at, BERLIN).isoformat() == shown


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("北京时间明天上午九点开会", "2026-11-26T02:00:00+01:00"),
        ("tomorrow at 9 Tokyo time call", "2026-11-26T01:00:00+01:00"),
        ("call at 9am UTC", "2026-11-26T10:00:00+01:00"),
        ("Europe/London tomorrow at 9 call", "2026-11-26T10:00:00+01:00"),
    ],
)
def test_a_zone_may_stand_beside_the_time(words, shown):
    when, _ = parse(words)
    assert datetime.fromtimestamp(when.at, BERLIN).isoformat() == shown


PAGE = Path(__file__).parents[4] / "docs" / "schedules.md"
ROWS = [line.split("|")[1:4] for line in PAGE.read_text("utf-8").partition("## When it asks")[0].splitlines() if "`" in line and line.startswith("|")]  # fmt: skip
EXAMPLES = [each for row in ROWS for column in row for each in re.findall("`(.+?)`", column)]


@each_row("words", EXAMPLES)
def test_what_the_page_shows_is_understood(words):
    when, rest = parse(words, now="2026-11-25 06:20")
    assert not rest
    assert when.kind


WORDS = st.sampled_from(
    "every at in next the 5 30 99999 9:00 25:00 friday mondays day days week month of and until for"
    " times tomorrow noon half past 3 o'clock am pm 2026-12-24 31/12 feb 30 * */5 0 1-5 @daily"
    " UTC Europe/Berlin remind me to from jan bis ab morgen um jeden zweiten Freitag Ende Dezember halb vier Uhr nachts 每 周一 三点 半 从 起 年底 下 个 月 一百 号 后 到 天 隔 两 、 , . \x00 ２０ 🙂".split(
        " "
    )
)


@given(st.lists(WORDS, max_size=14), st.floats(0, 4e9), st.sampled_from(["", " "]))
@settings(max_examples=examples(150), deadline=None)
def test_whatever_is_written_is_a_time_to_come_or_a_question(words, now, joint):
    text = joint.join(words)
    try:
        when, rest = parse_when(text, now, "Australia/Lord_Howe", load_texts("zh"))
    except Question:
        return
    found = find_next(when, now, began=now)
    assert found is not None
    assert found > now
    assert len(rest) <= len(text)


def test_a_long_hostile_text_takes_no_time():
    begun = time.process_time()
    for words in ("every " * 700, "1" * 4000, "每" * 4000, "twenty-" * 600, "at 9 and " * 450, "周一、" * 1300, "1,2-3/4 " * 500, "from until " * 350, "从到起" * 1300, "bis ab vom 1. " * 300, "am 1. März und " * 280, "einund" * 700, "montag, " * 500, "Aa " * 1300, "jan and " * 500):  # fmt: skip
        with suppress(Question):
            parse(words)
    # what goes back and forth in such a text takes minutes
    assert time.process_time() - begun < within(6)
