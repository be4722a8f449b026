"""Values in a person's words: numbers, dates, lists, pairs, JSON, quoted texts."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Sequence
from datetime import date
from decimal import Decimal

from sigil.protocol import Json

NUMBER = r"(?<![A-Za-z0-9_.])[-−]?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?"
MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTH = rf"(?:{'|'.join(f'{name[:3]}(?:{name[3:]})?' for name in MONTHS)})\.?"
DATE = (
    r"(?:\d{4}-\d{1,2}-\d{1,2}"
    rf"|\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {MONTH},? \d{{4}}"
    rf"|{MONTH} \d{{1,2}}(?:st|nd|rd|th)?,? \d{{4}}"
    r"|\d{4} ?年 ?\d{1,2} ?月 ?\d{1,2} ?[日号])"
)
_QUOTED = re.compile(r"\"([^\"]+)\"|“([^”]+)”|「([^」]+)」|(?<!\w)'([^']+)'(?!\w)|`([^`]+)`")
_FENCED = re.compile(r"```\w*[ \t]*\n(.*?)```", re.DOTALL)
_COLON = re.compile(r":(?:[ \t]+|[ \t]*\n)|：\s*")
_AND = re.compile(r"(?:,\s*(?:and|or)?|，|、|;|\n|\s(?:and|or|und)\s|和)", re.IGNORECASE)
_STAND_INS = frozenset(
    """
    a an the this that these those my your our some it its two of from following above long text
    texts string strings word words sentence paragraph heading headline title link url website page
    web webpage mail email address message data list lists line lines file files document documents
    html source number numbers value values token jwt here json csv schema template file name names
    for to in into with safe and article post
    """.split()
)
STAND_IN_WORDS = 6
"""A longer text is taken as it is, whatever its words are."""
_CHINESE_DIGITS = {sign: value for value, sign in enumerate("零一二三四五六七八九")} | {"两": 2}
_CHINESE_UNITS = {"十": 10, "百": 100, "千": 1_000}
_CHINESE_NUMBER = re.compile(
    r"(?:(?<![\d.])\d+(?:\.\d+)?(?=[十百千万亿])|[零一二三四五六七八九两十百千万亿])"
    r"(?:(?<=[十百千万亿])\d+(?:\.\d+)?|[零一二三四五六七八九两十百千万亿])*"
)
_WORD_NUMBERS = {
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "a": 1,
    "an": 1,
}


def to_number(text: str) -> int | float:
    """Return a number as people write it, `1,234.5`."""
    plain = text.replace(",", "").replace("−", "-")
    number = float(plain)
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def find_numbers(words: str) -> list[int | float]:
    """Return the numbers in the words, in order."""
    return [to_number(found) for found in re.findall(NUMBER, words)]


def find_number(words: str, pattern: str) -> int | float | None:
    """Return the number that a pattern's first group finds; None for none."""
    found = re.search(pattern.replace("NUMBER", NUMBER), words, re.IGNORECASE)
    return to_number(found[1]) if found else None


def count_of(word: str) -> int:
    """Return what `two` or `2` counts; 0 for no number."""
    return int(word) if word.isascii() and word.isdigit() else _WORD_NUMBERS.get(word.lower(), 0)


def read_chinese_numbers(words: str) -> str:
    """Return the words with numbers such as 一百万 and 三十 in digits."""

    return _CHINESE_NUMBER.sub(lambda found: _read_chinese_number(found[0]), words)


def _read_chinese_number(number: str) -> str:
    """Return a Chinese number in digits. Digits may stand in it, as in `1万2千` and `1.5亿`."""
    parts = re.findall(r"\d+(?:\.\d+)?|\D", number)
    if not any(part in _CHINESE_UNITS or part in "万亿" for part in parts):
        return "".join(str(_CHINESE_DIGITS.get(part, part)) for part in parts)
    total = section = digit = Decimal(0)
    last = Decimal(1)
    for part in parts:
        if part == "零":
            last = Decimal(10)
        elif part in _CHINESE_DIGITS:
            digit = Decimal(_CHINESE_DIGITS[part])
        elif part in _CHINESE_UNITS:
            last = Decimal(_CHINESE_UNITS[part])
            section += (digit or 1) * last
            digit = Decimal(0)
        elif part in "万亿":
            last = Decimal(10_000 if part == "万" else 100_000_000)
            total = (
                (total + section + digit or 1) * last
                if part == "亿"
                else (total + (section + digit or 1) * last)
            )
            section = digit = Decimal(0)
        else:
            digit = Decimal(part)
    if 0 < digit < 10 and last > 10:
        digit *= last / 10  # 一万二 is 12,000, and 一万零二 is 10,002
    value = total + section + digit
    return f"{value.normalize():f}"


def find_dates(words: str) -> list[str]:
    """Return the dates in the words, as they are written."""
    return re.findall(DATE, words, re.IGNORECASE)


def name_days(words: str, today: date | None) -> str:
    """Return the words with the date in place of today, tomorrow and yesterday."""
    if today is None:
        return words
    for pattern, ahead in _NAMED_DAYS:
        day = date.fromordinal(today.toordinal() + ahead)
        words = re.sub(rf"(?<![a-z])(?:{pattern})(?![a-z])", day.isoformat(), words, flags=re.I)
    for feast, month, number in _FEASTS:
        if re.search(rf"{feast}(?! \d)", words, re.IGNORECASE):
            year = today.year + ((today.month, today.day) > (month, number))
            named = date(year, month, number).isoformat()
            words = re.sub(rf"{feast}(?! \d)", named, words, flags=re.I)
    if re.search(_EASTER, words, re.IGNORECASE):
        easter = find_easter(today.year)
        if easter < today:
            easter = find_easter(today.year + 1)
        words = re.sub(_EASTER, easter.isoformat(), words, flags=re.I)
    return re.sub(
        rf"\b(?:next|nächsten?) ({'|'.join((*WEEKDAYS, *_WOCHENTAGE))})\b",
        lambda found: _find_next(found[1], today).isoformat(),
        words,
        flags=re.I,
    )


def find_easter(year: int) -> date:
    """Return the Sunday of Easter, by the rule of Gauss for the Gregorian calendar."""
    century = year // 100
    moon = (19 * (year % 19) + century - century // 4 - (8 * century + 13) // 25 + 15) % 30
    moon -= moon // 28 * (1 - moon // 28 * (29 // (moon + 1)) * ((21 - year % 19) // 11))
    weekday = (year + year // 4 + moon + 2 - century + century // 4) % 7
    after = moon - weekday
    month = 3 + (after + 40) // 44
    return date(year, month, after + 28 - 31 * (month // 4))


_NAMED_DAYS = (
    (r"(?:the )?day after tomorrow|übermorgen|后天", 2),
    (r"(?:the )?day before yesterday|vorgestern|前天", -2),
    (r"today|now|今天", 0),
    (r"tomorrow|明天", 1),
    (r"yesterday|昨天", -1),
)
_EASTER = r"\b(?:easter|ostern)\b(?! (?:monday|\d))|复活节"
EASTER_DAYS = (
    (r"\beaster monday\b|\bostermontag\b|复活节星期一", "easter_monday", 1),
    (r"\bgood friday\b|\bkarfreitag\b|耶稣受难日", "good_friday", -2),
    (r"\bash wednesday\b|\baschermittwoch\b", "ash_wednesday", -46),
    (r"\bpentecost\b|\bwhit sunday\b|\bpfingst(?:en|sonntag)\b", "pentecost", 49),
    (r"\bascension\b|\bhimmelfahrt\b", "ascension", 39),
    (r"\borthodox easter\b", "orthodox_easter", 0),
    (r"\beaster\b|\boster(?:n|sonntag)\b|复活节", "easter", 0),
)
"""The days that move with Easter: words for each, its name in the library, the days after it."""
_FEASTS = (
    (r"\b(?:christmas eve|heiligabend)\b", 12, 24),
    (r"\b(?:christmas(?: day)?|xmas|weihnachten)\b|圣诞节?", 12, 25),
    (r"\b(?:new year'?s eve|silvester)\b", 12, 31),
    (r"\b(?:new year(?:'?s day)?|neujahr)\b|元旦", 1, 1),
)
_WOCHENTAGE = tuple("Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag".split())


def _find_next(weekday: str, today: date) -> date:
    """Return the next day after today that is this weekday."""
    names = _WOCHENTAGE if weekday.title() in _WOCHENTAGE else WEEKDAYS
    ahead = (names.index(weekday.title()) - today.weekday() - 1) % 7 + 1
    return date.fromordinal(today.toordinal() + ahead)


def share_year(words: str) -> str:
    """Return the words with the year of `March 1 and April 15 2027` at both dates."""
    for day in (
        rf"{MONTH} \d{{1,2}}(?:st|nd|rd|th)?",
        rf"\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {MONTH}",
    ):
        words = re.sub(
            rf"\b({day})(?= (?:and|to|until|till|-) {day},? (\d{{4}}))", r"\1 \2", words, flags=re.I
        )
    return words


def find_quoted(words: str) -> list[str]:
    """Return what is in quotes, in order."""
    return [next(filter(None, groups)) for groups in _QUOTED.findall(words)]


_LONG_GAP = re.compile(r"\s{9}")
"""The patterns try each part of a gap in each place: in a long one they would be busy for hours."""


def find_text(words: str, *patterns: str) -> str:
    """Return the text that the words are about: fenced, quoted, after a colon, or where one of the
    patterns has its first group. Empty when there is none, or only words that refer to one.

    Text with a long gap has to stand in a fence, in quotes or after a colon.
    """
    fenced = _FENCED.search(words)
    if fenced:
        return fenced[1].rstrip("\n")
    quoted = find_quoted(words)
    if quoted:
        return quoted[0]
    after = find_after_colon(words)
    if after:
        return after
    if _LONG_GAP.search(words):
        return ""
    for pattern in patterns:
        found = re.search(pattern, words, re.IGNORECASE | re.DOTALL)
        if found:
            return drop_stand_in(found[1])
    return ""


def find_after_colon(words: str) -> str:
    """Return what is after a colon, or below the first line; empty for nothing."""
    parts = _COLON.split(words, maxsplit=1)
    if len(parts) > 1 and parts[1].strip() and len(parts[0].split()) <= 12:
        return parts[1].strip()
    return words.partition("\n")[2].strip()


def drop_stand_in(text: str) -> str:
    """Return a text; empty for one such as `this text` that only refers to it."""
    plain = _COURTESY.sub("", text.strip().strip("?？。").strip()).strip("?？。").strip()
    plain = _INTRODUCED.sub("", plain)
    words = plain.split()
    stands_in = all(word.lower().strip(".,") in _STAND_INS for word in words)
    if stands_in and len(words) <= STAND_IN_WORDS:
        return ""
    return plain


def find_base64(text: str) -> str:
    """Return what a text says that looks like Base64; empty where it does not look so.

    Eight letters may be a word. So what is decoded has to be text, and the code has to have what
    words do not: padding, digits, or capitals between small letters.
    """
    plain = text.replace("-", "+").replace("_", "/")
    if len(plain.rstrip("=")) % 4 == 1 or not re.search(r"=$|\d|[a-z][A-Z]", plain):
        return ""
    try:
        said = base64.b64decode(plain.rstrip("=") + "=" * (-len(plain.rstrip("=")) % 4)).decode()
    except ValueError:
        return ""
    return said if all(each.isprintable() or each in "\t\r\n" for each in said) else ""


def refers_only(text: str) -> bool:
    """Return whether a text refers to one that only the person knows: `my wifi`."""
    return _REFERS.fullmatch(text.strip()) is not None


_COURTESY = re.compile(
    r"^(?:for me |für mich |mir |me )(?:of |for |von |für )?|[\s,]+(?:please|pls|thanks|thank you"
    r"|bitte"
    r"|danke|for me|für mich)$|^(?:请|帮我|麻烦你?|给我|替我|我想|我要|知道|计算|算出?|求出?|一下"
    r"|看看|把|将)+",
    re.IGNORECASE,
)
"""What people say around a text that they ask something about."""
_INTRODUCED = re.compile(
    r"^(?:(?:the|this|den|das|der|die|dem|diesen?|dieses) )(?:following |whole |folgenden? )?"
    r"(?:text|string|words?|sentence|phrase|title|wort|wortes|text(?:es|s)|satz(?:es)?|zeichenkette"
    r"|string) (?=\S)"
    r"|^(?:文本|文字|字符串|这句话|单词|句子|内容)(?:为|是)?\s*(?=\S)",
    re.IGNORECASE,
)
"""What names a text before it: `the word hello`."""
_REFERS = re.compile(
    r"(?:my|our|your|his|her|their|this|that|these|those|mein(?:e[nmrs]?)?|unser(?:e[nmrs]?)?"
    r"|dein(?:e[nmrs]?)?|dies(?:e[nmrs]?)?|jene[nmrs]?)\s+(?:(?!is\b|are\b|am\b|was\b|has\b|ist\b"
    r"|sind\b|war\b|hat\b)\S+\s*){1,5}"
    r"|(?:我|我们|你|你们)的\S{1,10}|[这那](?:个|段|句|篇|些)\S{0,4}|上面\S{0,8}|下面\S{0,8}"
    r"|(?:the |a |an |das |mein )?(?:home |guest )?(?:wi-?fi|wlan|network|netzwerk|contact|kontakt"
    r"|vcard|visitenkarte|menu|speisekarte)(?: (?:network|password|passwort|access|login|card))?",
    re.IGNORECASE,
)


def find_pair(words: str, *patterns: str) -> tuple[str, str] | None:
    """Return two texts: quoted, or where one of the patterns has its two groups."""
    quoted = find_quoted(words)
    if len(quoted) > 1:
        return quoted[0], quoted[1]
    for pattern in patterns:
        found = re.search(pattern, words, re.IGNORECASE | re.DOTALL)
        if found and drop_stand_in(found[1]) and drop_stand_in(found[2]):
            return found[1].strip(), found[2].strip().rstrip("?？")
    return None


def split_list(text: str) -> list[str]:
    """Return the items of a list that people write: `a, b and c`, or a line each."""
    if "\n" in text.strip():
        items = [re.sub(r"^\s*(?:[-*•]|\d+[.)])\s+", "", line) for line in text.split("\n")]
    else:
        items = _AND.split(text)
    return [item.strip() for item in items if item.strip()]


def find_documents(words: str) -> list[Json]:
    """Return the JSON objects and lists in the words, in order."""
    decoder = json.JSONDecoder()
    found: list[Json] = []
    place = 0
    tries = 0
    while tries < 100:
        tries += 1
        starts = [at for at in (words.find("{", place), words.find("[", place)) if at >= 0]
        if not starts:
            break
        try:
            value, place = decoder.raw_decode(words, min(starts))
            found.append(value)
        except (ValueError, RecursionError):
            place = min(starts) + 1
    return found


def has_only_numbers(items: Sequence[str]) -> bool:
    """Return whether each of the items is a number."""
    return all(re.fullmatch(NUMBER, item) for item in items)
