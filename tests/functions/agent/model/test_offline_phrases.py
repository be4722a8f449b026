"""Requests in German and Chinese, asked of the offline model as people write them."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

from functions.agent.model.offline import READ_CHARACTERS
from functions.agent.model.offline_phrases import find_meaning
from functions.texts.de import TEXTS as GERMAN
from functions.texts.zh import TEXTS as CHINESE
from functions.wiring import AgentRuntime
from tests.functions.agent.model.plain_requests import REFUSED
from tests.functions.agent.talk import tell
from tests.machine import within

ANSWERS = {
    # units
    "wie viel Grad Celsius sind 100 Fahrenheit": r"^100 Grad Fahrenheit = 37,7\d+ Grad Celsius$",
    "10 Meilen in km": "^10 Meilen = 16,09344 Kilometer$",
    "rechne 5 kg in Pfund um": r"^5 Kilogramm = 11,02\d+ angloamerikanische Pfund$",
    "was sind 1.500 Meter in km": "^1500 Meter = 1,5 Kilometer$",
    "anderthalb Stunden in Minuten": "^1,5 Stunden = 90 Minuten$",
    "wie viele Minuten hat eine Stunde?": "^1 Stunde = 60 Minuten$",
    "20 Grad in Fahrenheit": "^20 Grad Celsius = 68 Grad Fahrenheit$",
    "两个半小时是多少分钟": "^2.5 小时 = 150 分钟$",
    # sums
    "was ergibt 3,5 mal 2": "^7$",
    "was ist 3,500 + 2": "^5,5$",
    "3,500 + 2": "^3502$",
    "what is 3,500 + 2": "^3502$",
    "Wurzel aus 144": "^12$",
    "wie viel ist 1/3 von 90": "^30$",
    "2 hoch 10": "^1024$",
    "三乘以七等于多少": "^21$",
    "2的10次方": "^1024$",
    # dates
    "welcher Wochentag ist der 24.12.2026?": "^Das ist Donnerstag, der 24. Dezember 2026",
    "was ist der 3. Mai 2027 für ein Wochentag?": "^Das ist Montag",
    "ist der 25.12.2026 ein Werktag?": "^Ja, wenn es kein Feiertag ist. Das ist Freitag",
    "ist der 26.12.2026 ein Werktag?": "^Ja, wenn",
    "ist der 26.12.2026 ein Arbeitstag?": "^Nein. Das ist Samstag",
    "ist heute ein Wochentag": "^(?:Ja|Nein). Das ist ",
    "is 2026-12-26 a weekday?": r"^No\. This is Saturday",
    "is 2026-12-25 a working day?": r"^Yes, unless it is a holiday\. This is Friday",
    "2026年12月26日是周末吗": "^是，那天是 2026年12月26日，星期六",
    "今天是工作日吗": "^(?:是，除非放假|否)，那天是 ",
    "wann ist Ostern 2027?": "^Das ist Sonntag, der 28. März 2027",
    "wann ist Karfreitag 2027?": "^Das ist Freitag, der 26. März 2027",
    "when is good friday in 2027": "^This is Friday, 26 March 2027",
    "2027年复活节是哪天": "^那天是 2027年3月28日，星期日",
    "wie viele Tage sind es vom 1.1.2027 bis zum 25.12.2027": "^358 Tage$",
    "wie viele Tage noch bis Weihnachten": r"^\d+ Tage?$",
    "离圣诞节还有多少天": r"^\d+ 天$",
    "how many days until easter": r"^\d+ days?$",
    "wie spät ist es in Tokio?": r"^Es ist \d\d:\d\d Uhr \(Asia/Tokyo\)",
    # numbers
    "ist 97 eine Primzahl?": "^97 ist eine Primzahl",
    "2026 in römischen Zahlen": "^MMXXVI$",
    "255 in binär": "^11111111$",
    "runde 3,14159 auf 2 Stellen": r"^3\.14$",
    "Mittelwert von 3, 5, 8": "^Mittelwert: 5,33",
    "rechne 19% Mehrwertsteuer auf 250": "^47,5$",
    "ist 2028 ein Schaltjahr?": r"^Ja\.$",
    "20% Rabatt auf 80 Euro": "^64$",
    "zufallszahl zwischen 1 und 6": "^[1-6]$",
    "ist 9780306406157 eine gültige ISBN": "^Ja, 9780306406157",
    "9780306406157 是有效的 ISBN 吗": "^是的，9780306406157",
    # texts
    "sortiere absteigend: Birne, Apfel, Kirsche": "^Kirsche\nBirne\nApfel$",
    "schreibe hallo welt in Großbuchstaben": "^HALLO WELT$",
    "sha256 von hallo": "^d3751d33f9cd5049c4af2b462735457e4d3baf130bcbb87f389e349fbaeb20b9$",
    "md5 von hallo!": "^9b1529ddfd06b2046b2615f58ad2829f$",
    # as groups address it, and as /start suggests
    "@Sigil_Bot was ist 2 hoch 10": "^1024$",
    "@Sigil_Bot, hallo!": f"^{GERMAN.offline_talk['hello']}",
    "三乘以四 @Sigil_Bot": "^12$",
    GERMAN.examples["unit-convert"]: "^10 Kilometer = 6,21",
    GERMAN.examples["date-math"]: "^358 Tage$",
    GERMAN.examples["encode"]: "^aGFsbG8gd2VsdA==$",
    # small talk, and what it cannot do
    "moin, wie geht's?": f"^{GERMAN.offline_talk['how']}",
    "你好，你好吗": f"^{CHINESE.offline_talk['how']}",
    "提醒我明天三点开会": "^你是指 .* 03:00，还是 .* 15:00",
    "帮我订一个酒店": f"^{re.escape(CHINESE.offline_cannot)}",
    "ist heute ein Feiertag?": REFUSED,
    "was ist di": REFUSED,
    "was bedeutet Liebe?": f"^{re.escape(GERMAN.offline_not_found)}",
}


def test_plain_requests_in_german_and_chinese_are_answered_or_refused_in_the_language(
    runtime: Callable[..., AgentRuntime],
) -> None:
    home = runtime(library="builtin", tokens_per_day=0)
    wrong = []
    for place, (words, wanted) in enumerate(ANSWERS.items()):
        reply = tell(home, words, session=f"telegram:{1_000 + place}")[0]
        answer = re.split(r"\n\n[—(（]", reply)[0]
        if not re.search(wanted, answer):
            wrong.append((words, answer[:160]))

    assert not wrong, "\n".join(map(str, wrong))


def test_a_phrase_takes_all_of_the_words_or_none() -> None:
    for words in (
        "10 Meilen in km und dann nach Hause",
        "ist der 30.2.2027 ein Werktag",
        "what is 15% of 80",
        "verschlüssele hallo",
        "",
    ):
        assert find_meaning(words) == words


def test_long_messages_are_read_in_a_moment() -> None:
    began = time.process_time()
    for part in ("1", " ", "ein ", "1 m in ", "ist ", "schreibe ", "一"):
        find_meaning(f"was ist {part * READ_CHARACTERS}"[:READ_CHARACTERS] + "\nx")
        find_meaning((part * READ_CHARACTERS)[:READ_CHARACTERS] + "\nx")

    # what goes back and forth in such a text takes minutes
    assert time.process_time() - began < within(5)
