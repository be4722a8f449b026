"""Reminders as people type them on a phone, written by somebody who did not know the grammar: each
means a time that its row allows, or is asked about where the row has `?`.
"""

import json
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from functions.agent.schedules.phrase import Question, parse_when
from functions.agent.schedules.when import find_next
from functions.texts.languages import load_texts
from tests.tables import each_row

ZONES = {"en": "America/New_York", "de": "Europe/Berlin", "zh": "Asia/Shanghai"}
ROWS = [
    (row["lang"], row["phrase"], row["means"])
    for row in map(
        json.loads,
        (Path(__file__).parents[3] / "data" / "phone_phrases.jsonl")
        .read_text(encoding="utf-8")
        .splitlines(),
    )
]


def tell(phrase: str, language: str) -> str:
    """The time of a phrase, the first three of a repetition, or `?` for a question."""
    zone = ZoneInfo(ZONES[language])
    now = datetime(2026, 12, 2, 10, 15, tzinfo=zone).timestamp()
    try:
        when, _ = parse_when(phrase, now, ZONES[language], load_texts(language))
    except Question:
        return "?"
    times: list[float] = []
    while len(times) < 3 and (at := find_next(when, times[-1] if times else now, began=now)):
        times.append(at)
    shown = [datetime.fromtimestamp(at, zone).isoformat()[:16] for at in times]
    return " ".join(shown)


@each_row(("language", "phrase", "means"), ROWS)
def test_a_phrase_typed_on_a_phone_is_right_or_asked_about(language, phrase, means):
    assert tell(phrase, language) in means
