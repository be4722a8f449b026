"""Tells from a question whether its answer has a figure or a time in it, and whether a text has it.

"When" asks for a day or an hour, "how much" for a number: a text without any is a worse answer.
"""

from __future__ import annotations

import re
from typing import Final

_ASKS_WHEN: Final = re.compile(
    r"\b(?:when|what (?:day|date|time)|which (?:day|date|month|year)|wann|wie spät|um wie ?viel uhr"
    r"|welche[rmns]? (?:tag|datum|monat|jahr))\b|什么时候|几点|哪天|哪一天|几号|何时|星期几|周几",
    re.IGNORECASE,
)
_ASKS_HOW_MUCH: Final = re.compile(
    r"\b(?:how (?:much|many|old|tall|often|long|big)|what(?:'s| is| was)? (?:the |my |our )?"
    r"(?:\w+ ){0,3}(?:number|code|pin|size)|wie ?viele?|wie (?:alt|groß|oft|lange|hoch)"
    r"|welche (?:nummer|größe|\w+nummer))\b|多少|几个|几天|几岁|多大|多高|多重|多久",
    re.IGNORECASE,
)
_ASKS_WHERE: Final = re.compile(r"\b(?:where|wo|wohin)\b|哪里|哪儿|在哪", re.IGNORECASE)
_COUNTS: Final = (
    r"(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|sixty"
    r"|seventy|eighty|ninety|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|zwanzig"
    r"|dreißig|vierzig|fünfzig|sechzig|siebzig|achtzig|neunzig)"
)
_FIGURE: Final = re.compile(
    rf"\d|\b(?:{_COUNTS}|once|twice|dozen|hundred|thousand|million|einmal|zweimal|dutzend|hundert"
    r"|tausend|million(?:en)?)\b|[一二两三四五六七八九十百千万半]",
    re.IGNORECASE,
)
_TIME: Final = re.compile(
    r"(?<!\d)(?:\d{1,2}|(?:19|20)\d\d)(?!\d)|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\b(?:daily|weekly|monthly|yearly|every"
    r"|weekends?|spring|summer|autumn|winter|morning|evening|noon|midnight|easter|christmas"
    r"|january|february|march|april|may|june|july|august|september|october|november|december"
    r"|januar|februar|märz|mai|juni|juli|oktober|dezember|jeden?|jede[rs]?|täglich|wöchentlich"
    r"|monatlich|wochenende|frühling|sommer|herbst|morgens|mittags|abends|nachts|ostern"
    r"|weihnachten|today|tomorrow|yesterday|week|month|year|woche|monat|jahr)\b"
    r"|(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch|\b(?:o['’]clock|uhr)\b"
    r"|\b(?:at|by|until|till|from|around|um|gegen|bis|ab)"
    r" (?:half |quarter |past |to |halb |viertel |vor |nach ){0,2}"
    rf"(?:one|eins?|{_COUNTS})\b"
    r"|[一二两三四五六七八九十]|周|星期|年|月|日|天|早|晚|春|夏|秋|冬",
    re.IGNORECASE,
)
_WORD: Final = re.compile(r"[^\W\d_]{3,}|[\u3400-\u9fff]{2,}")
MISFIT: Final = 0.5
"""How much a text scores whose kind is not the one that is asked for."""


def measure_fit(question: str, answer: str) -> float:
    """Return 1.0 for a text that can be the answer, less for one of another kind."""
    if _ASKS_WHEN.search(question):
        return 1.0 if _TIME.search(answer) else MISFIT
    if _ASKS_HOW_MUCH.search(question):
        return 1.0 if _FIGURE.search(answer) else MISFIT
    if _ASKS_WHERE.search(question):
        return 1.0 if _WORD.search(answer) else MISFIT
    return 1.0
