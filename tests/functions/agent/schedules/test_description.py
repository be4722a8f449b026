import re
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from functions.agent.schedules.description import describe_next, describe_when
from functions.agent.schedules.phrase import Question, parse_when
from functions.agent.schedules.when import When, list_next
from functions.texts.languages import load_texts
from tests.functions.agent.schedules import known_phrases, start_phrases, unseen_phrases
from tests.tables import each_row

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 25, 14, 20, tzinfo=BERLIN).timestamp()
ENGLISH = load_texts("en")


@each_row(
    ("words", "english", "chinese", "german"),
    [
        ("tomorrow at nine", "Thursday, 26 November 2026 at 09:00 (Europe/Berlin)", "2026年11月26日，星期四 09:00（Europe/Berlin）", "Donnerstag, der 26. November 2026, um 09:00 Uhr (Europe/Berlin)"),
        ("every weekday at 8", "every Monday to Friday at 08:00 (Europe/Berlin)", "每周一到周五 08:00（Europe/Berlin）", "montags bis freitags um 08:00 Uhr (Europe/Berlin)"),
        ("every other Friday at 5pm", "every 2 weeks on Friday at 17:00 (Europe/Berlin)", "每 2 周星期五 17:00（Europe/Berlin）", "alle 2 Wochen am Freitag um 17:00 Uhr (Europe/Berlin)"),
        ("every day at 7 until Friday", "every day at 07:00 (Europe/Berlin), until Friday, 27 November 2026 23:59", "每天 07:00（Europe/Berlin），到 2026年11月27日，星期五 23:59 为止", "jeden Tag um 07:00 Uhr (Europe/Berlin), Ende: Freitag, der 27. November 2026 23:59"),
        ("every 90 minutes 5 times", "every 90 minutes (Europe/Berlin), 5 times", "每 90 分钟（Europe/Berlin），共 5 次", "jeweils nach 90 Minuten (Europe/Berlin), 5-mal"),
        ("every day at 9:00, 13:00 and 18:00", "every day at 09:00, 13:00 and 18:00 (Europe/Berlin)", "每天 09:00、13:00和18:00（Europe/Berlin）", "jeden Tag um 09:00, 13:00 und 18:00 Uhr (Europe/Berlin)"),
        ("on the last day of every month at noon", "on the last day of every month at 12:00 (Europe/Berlin)", "每月最后一天 12:00（Europe/Berlin）", "am letzten Tag jedes Monats um 12:00 Uhr (Europe/Berlin)"),
        ("quarterly on the 1st at 9am", "on day 1 of January, April, July and October at 09:00 (Europe/Berlin)", "1月、4月、7月和10月的1日 09:00（Europe/Berlin）", "am 1. im Januar, April, Juli und Oktober um 09:00 Uhr (Europe/Berlin)"),
        ("0 9 L 2,5,8,11 *", "on the last day of February, May, August and November at 09:00 (Europe/Berlin)", "2月、5月、8月和11月的最后一天 09:00（Europe/Berlin）", "am letzten Tag im Februar, Mai, August und November um 09:00 Uhr (Europe/Berlin)"),
        ("every first monday in march and june at 9am", "every first Monday in March and June at 09:00 (Europe/Berlin)", "3月和6月每月第一个星期一 09:00（Europe/Berlin）", "jeden ersten Montag im März und Juni um 09:00 Uhr (Europe/Berlin)"),
        ("every day at 9:00 and 17:30", "every day at 09:00 and 17:30 (Europe/Berlin)", "每天 09:00和17:30（Europe/Berlin）", "jeden Tag um 09:00 und 17:30 Uhr (Europe/Berlin)"),
        ("from Monday every weekday at 8", "every Monday to Friday at 08:00 (Europe/Berlin), from Monday, 30 November 2026", "从 2026年11月30日，星期一 起，每周一到周五 08:00（Europe/Berlin）", "montags bis freitags um 08:00 Uhr (Europe/Berlin), Beginn: Montag, der 30. November 2026"),
        ("starting tomorrow at 9 every 2 hours", "every 2 hours (Europe/Berlin), from Thursday, 26 November 2026 09:00", "从 2026年11月26日，星期四 09:00 起，每 2 小时（Europe/Berlin）", "jeweils nach 2 Stunden (Europe/Berlin), Beginn: Donnerstag, der 26. November 2026 09:00"),
        ("*/5 * * * mon", "whenever `*/5 * * * MON` says (Europe/Berlin)", "按 `*/5 * * * MON`（Europe/Berlin）", "so oft `*/5 * * * MON` es sagt (Europe/Berlin)"),
        ("0 8 * * tue,thu", "every Tuesday and Thursday at 08:00 (Europe/Berlin)", "每星期二和星期四 08:00（Europe/Berlin）", "jeden Dienstag und Donnerstag um 08:00 Uhr (Europe/Berlin)"),
    ],
)  # fmt: skip
def test_a_time_is_said_in_the_chats_language_with_its_zone(words, english, chinese, german):
    when, _ = parse_when(words, NOW, "Europe/Berlin", ENGLISH)
    said = [describe_when(when, load_texts(code), NOW) for code in ("en", "zh", "de")]
    assert said == [english, chinese, german]


@pytest.mark.parametrize("code", ["en", "zh", "de"])
def test_what_is_said_means_the_same_when_it_is_written_again(code):
    texts = load_texts(code)
    read = 0
    for table in (known_phrases, unseen_phrases, start_phrases):
        for words, _, _ in (*table.ENGLISH, *table.CHINESE):
            try:
                when, _ = parse_when(words, NOW, "Europe/Berlin", texts)
            except Question:
                continue
            if re.search(r" \d+(?:,\d+)+ \*$", when.cron):
                continue  # certain months have no words yet
            said = describe_when(when, texts, NOW)
            if "`" in said:
                continue  # the expression is shown instead
            again, rest = parse_when(said, NOW, "UTC", texts)
            assert (again, rest) == (when, ""), said
            read += 1
    assert read > 90


def test_the_next_times_are_told_with_the_zone():
    when = When(kind="cron", cron="30 2 * * *", zone="Europe/Berlin")
    after = datetime(2027, 3, 27, 12, tzinfo=BERLIN).timestamp()
    told = describe_next(list_next(when, after, began=after, count=2), when.zone, ENGLISH)
    assert told == "Next: Sunday, 28 March 2027 03:00; Monday, 29 March 2027 02:30 (Europe/Berlin)."


@each_row(
    "cron", ["0 0 1 1 1", "59 23 L * *", "0 9 * * 5L", "* * * * *", "0 9 29 2 *", "0 1-3,5 * * *"]
)
def test_every_cron_expression_can_be_described(cron):
    for code in ("en", "zh", "de"):
        said = describe_when(When(kind="cron", cron=cron, zone="UTC"), load_texts(code), NOW)
        assert "UTC" in said
        assert "{" not in said
