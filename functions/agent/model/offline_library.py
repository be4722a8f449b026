"""Reads which capability of the library people ask for, and the arguments in their words.

The offline model has this instead of understanding: a topic that the words must name, a reader of
the arguments, and what to ask for when the arguments are not there.
"""

from __future__ import annotations

import calendar
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal

from functions.agent.model.offline_coverage import find_unread
from functions.agent.model.offline_json import JSON_TOPIC, WHOLE, read_json_form
from functions.agent.model.offline_measures import read_body_mass, read_fuel
from functions.agent.model.offline_phrases import find_meaning
from functions.agent.model.offline_regex import REGEX_TOPIC, read_regex
from functions.agent.model.offline_talk import strip_opening
from functions.agent.model.offline_units import asks_twice, find_conversion
from functions.agent.model.offline_values import (
    DATE,
    EASTER_DAYS,
    MONTH,
    MONTHS,
    NUMBER,
    WEEKDAYS,
    count_of,
    drop_stand_in,
    find_after_colon,
    find_base64,
    find_dates,
    find_documents,
    find_easter,
    find_number,
    find_numbers,
    find_pair,
    find_quoted,
    find_text,
    has_only_numbers,
    name_days,
    read_chinese_numbers,
    share_year,
    split_list,
    to_number,
)
from functions.agent.model.offline_web import PAGE_TOPIC, SEARCH_TOPIC, find_page, find_search
from functions.time.time_zone import find_zone
from sigil.protocol import Json, tool_of

Arguments = dict[str, Json]


@dataclass(frozen=True, slots=True)
class Request:
    """A person's words, the time at which they were said and the zone of its clock; None and empty
    when these are not known.
    """

    words: str
    now: datetime | None = None
    zone: str = ""

    @property
    def today(self) -> date | None:
        return self.now.date() if self.now else None

    def has(self, pattern: str) -> bool:
        """Return whether the words have this pattern, in whatever case."""
        return bool(re.search(pattern, self.words, re.IGNORECASE))

    def find(self, pattern: str) -> str:
        """Return the first group of a pattern, empty when the words do not have it."""
        found = re.search(pattern, self.words, re.IGNORECASE)
        return (found[1] or "").strip() if found else ""


@dataclass(frozen=True, slots=True)
class Reading:
    """A request to a capability, read from words: its arguments, or, without them, a whole request
    to show as an example. `unread` is what of the words is in none of its arguments.
    """

    capability: str
    arguments: Arguments | None
    example: str
    unread: str = ""

    @property
    def tool(self) -> str:
        return tool_of(self.capability)


@dataclass(frozen=True, slots=True)
class _Skill:
    """A skill; one without an example has no topic of its own, and nothing to ask for."""

    capability: str
    topic: str
    read: Callable[[Request], Arguments | None]
    example: str


def read_request(request: Request) -> list[Reading]:
    """Return what the words ask of the library, what has its arguments first."""
    asked = replace(request, words=find_meaning(strip_opening(request.words)))
    if asks_twice(asked.words) or asked.has(_NOT_KNOWN):
        return []
    readings = []
    partly = False
    for skill in _SKILLS:
        if not asked.has(skill.topic):
            continue
        arguments = skill.read(asked)
        unread = ""
        if arguments is not None:
            unread = find_unread(asked.words, skill.capability, arguments)
        if partly and arguments is not None and not unread:
            continue  # words that fit a skill but for one of them seldom mean another skill
        if unread:
            partly = partly or bool(skill.example)
            readings.append(Reading(skill.capability, None, skill.example, unread))
        elif arguments is not None or skill.example:
            readings.append(Reading(skill.capability, arguments, skill.example))
    return sorted(readings, key=lambda reading: reading.arguments is None)


_NOT_KNOWN = (
    r"\b(?:public |bank |school )?holiday\b|\bfeiertag\b|节假日|放假"
    r"|\bwhat(?:'s| is) (?:happening|on) (?:today|tomorrow)\b"
)
"""What no capability knows, beside words that one would answer."""
_FUNCTIONS = (
    "sqrt|cbrt|sin|cos|tan|asin|acos|atan|log2|log|ln|exp|abs|sign|round|floor|ceil|min|max|sum|avg"
    "|gcd|lcm|pow|mod|factorial"
)
_EXPRESSION = re.compile(
    rf"(?:[\d\s.,+\-*/%^()!°]|(?<=\d)[eE][-+]?\d+|\b(?:{_FUNCTIONS})\b(?=\s*\()|\bpi\b"
    r"|\be\b|\bof\b)+"
)
_SPOKEN_SUMS = (
    (r"[×x](?=\s*\d)|\btimes\b|\bmultiplied by\b|乘以?", "*"),
    (r"\bplus\b|加上?", "+"),
    (r"−|\bminus\b|减去?", "-"),
    (r"÷|\bdivided by\b|除以", "/"),
    (r"\bto the power (?:of )?|的次方", "^"),
    (r"\bsquared\b", "^2"),
    (r"\bcubed\b", "^3"),
    (r"\bmod(?:ulo)?\b(?!\s*\()", "%"),
    (r"\bper ?cent\b|％", "%"),
    (rf"\b(?:square root|sqrt) of ({NUMBER})", r"sqrt(\1)"),
    (rf"\bcube root of ({NUMBER})", r"cbrt(\1)"),
    (rf"\bfactorial of ({NUMBER})|({NUMBER}) factorial\b", r"factorial(\1\2)"),
    (rf"({NUMBER})\s*的平方根", r"sqrt(\1)"),
    (rf"({NUMBER})\s*的阶乘", r"factorial(\1)"),
    (rf"({NUMBER})\s*的\s*({NUMBER})\s*%", r"\2% of \1"),
    (rf"\b(?:greatest common (?:divisor|factor)|gcd) of ({NUMBER}) and ({NUMBER})", r"gcd(\1, \2)"),
    (rf"\b(?:least common multiple|lcm) of ({NUMBER}) and ({NUMBER})", r"lcm(\1, \2)"),
    (rf"\bsum of ({NUMBER}(?:(?:,? and |, ?){NUMBER})+)", r"sum(\1)"),
    (rf"\b(?:add|sum) (?=(({NUMBER}) (?:and|to) ({NUMBER}))$)\1", r"\2 + \3"),
    (rf"\bmultiply ({NUMBER}) (?:by|and|with) ({NUMBER})", r"\1 * \2"),
    (rf"\bdivide ({NUMBER}) by ({NUMBER})", r"\1 / \2"),
    (rf"({NUMBER})\s*% off(?: of)? ({NUMBER})", r"\2 * (1 - \1 / 100)"),
    (rf"(?:an? )?tip of ({NUMBER})\s*% (?:on|for) ({NUMBER})", r"\2 * \1 / 100"),
    (rf"({NUMBER})\s*% (?:tip|vat|tax|sales tax) (?:on|of|for) ({NUMBER})", r"\2 * \1 / 100"),
    (rf"(?:an? )?tip (?:of )?({NUMBER})\s*% (?:on|for) ({NUMBER})", r"\2 * \1 / 100"),
    (
        rf"\bsplit ({NUMBER}) (?:between|among|by) ({NUMBER})(?: people| persons| of us)?",
        r"\1 / \2",
    ),
    (rf"({NUMBER})\s*% von ({NUMBER})", r"\1% of \2"),
    (rf"\bsubtract ({NUMBER}) from ({NUMBER})", r"\2 - \1"),
)
_SUM_EDGES = re.compile(
    r"^(?:what(?:'s| is| are)|whats|how much(?: is| are)?|calculate|compute|evaluate|work out|solve"
    r"|tell me|give me|the|result of|value of|was ist|was sind|wie ?viel ist|rechne|berechne"
    r"|请?计算(?:一下)?|算(?:一下)?"
    r"|[\s:])+"
    # tried at the first of many spaces alone: at each of them, it would read all the others
    r"|(?<![\s=])(?:\s|=|equals?|等于(?:多少|几)?|是(?:多少|几)|等於多少)+$",
    re.IGNORECASE,
)


def _read_sum(request: Request) -> Arguments | None:
    words = _write_points(unicodedata.normalize("NFKC", request.words).rstrip("?!？！。. "))
    factorial = request.find(r"^(?:(?:what(?:'s| is)|was ist) )?(\d{1,3})!$")
    if factorial:
        return {"expression": f"factorial({factorial})"}
    for candidate in (find_after_colon(words), *find_quoted(words), words):
        spoken = _SUM_EDGES.sub("", candidate.strip())
        if "%" in spoken:
            spoken = re.sub(r"[$€£](?=\d)|(?<=\d)\s*(?:dollars?|euros?|€)(?!\w)", "", spoken)
        for pattern, sign in _SPOKEN_SUMS:
            spoken = re.sub(pattern, sign, spoken, flags=re.IGNORECASE)
        spoken = re.sub(r"(?<=\d)\s+and\s+(?=\d)", ", ", _SUM_EDGES.sub("", spoken)).strip()
        computes = re.search(r"\d\s*[-+*/^%!]|[a-z]\(", spoken) and re.search(r"\d|pi", spoken)
        plain = re.search(rf"{DATE}|\d+\.\d+\.\d+|^[\d\s-]+-[\d\s-]+-", spoken) is None
        if computes and plain and _EXPRESSION.fullmatch(spoken):
            return {"expression": spoken.strip()}
    return None


def _write_points(words: str) -> str:
    """Return a sum with points in place of decimal commas, where its numbers can have no others."""
    if re.search(r"\d\.\d{3},\d", words):
        words = re.sub(r"(?<=\d)\.(?=\d{3}\b)", "", words)
    elif not re.search(r"\d,\d{1,2}(?!\d)", words) or re.search(r",\s|,\d{3}(?!\d)|[(:\"']", words):
        return words
    return re.sub(r"(?<=\d),(?=\d)", ".", words)


def _read_units(request: Request) -> Arguments | None:
    found = find_conversion(request.words)
    if found is None or find_numbers(request.words.replace(found.words, " ", 1)):
        return None
    return {"value": found.value, "from": found.unit, "to": found.wanted}


_CURRENCIES = {
    "USD": r"usd|us\$|\$|(?:us |american )?dollars?|bucks|美元|美金",
    "EUR": r"eur|€|euros?|欧元",
    "GBP": r"gbp|£|(?:british )?pounds?(?: sterling)?|quid|英镑",
    "JPY": r"jpy|¥|yen|日元",
    "CNY": r"cny|rmb|yuan|renminbi|人民币|元",
    "CHF": r"chf|(?:swiss )?francs?|瑞士法郎",
    "INR": r"inr|rupees?|卢比",
    "KRW": r"krw|korean won|韩元",
    "CAD": r"cad|canadian dollars?|加元",
    "AUD": r"aud|australian dollars?|澳元",
    "SEK": r"sek",
    "NOK": r"nok",
    "DKK": r"dkk",
    "PLN": r"pln|zloty",
    "HKD": r"hkd|港币",
}


def _read_money(request: Request) -> Arguments | None:
    found: dict[str, int] = {}
    for code in ("CAD", "AUD", *_CURRENCIES):
        for match in re.finditer(
            rf"(?<![a-z])(?:{_CURRENCIES[code]})(?![a-z])", request.words, re.IGNORECASE
        ):
            if match.start() not in found.values():
                found.setdefault(code, match.start())
    codes = sorted(found, key=lambda code: found[code])
    if not codes or (len(codes) < 2 and not request.has(r"rate|汇率")):
        return None
    wanted = request.find(r"how many (\w+)")
    if len(codes) > 1 and wanted and re.fullmatch(_CURRENCIES[codes[0]], wanted, re.IGNORECASE):
        codes.reverse()
    arguments: Arguments = {"from": codes[0]}
    if len(codes) > 1:
        arguments["to"] = codes[1]
    dates = find_dates(request.words)
    without = request.words
    for each in dates:
        without = without.replace(each, " ")
    numbers = find_numbers(without)
    if numbers:
        arguments["amount"] = numbers[0]
    if dates and re.fullmatch(r"\d{4}-\d{2}-\d{2}", dates[0]):
        arguments["date"] = dates[0]
    return arguments


_DURATION = (
    r"(?:(?:\d+(?:\.\d+)?|an?|one|two|three|four|five|six|seven|eight|nine|ten)\s+"
    r"(?:year|month|week|day|hour|minute)s?\b(?:(?:,|\s|and)+(?=\d))?)+"
)


def _read_date(request: Request) -> Arguments | None:
    words = share_year(name_days(request.words, request.today))
    dates = find_dates(words)
    leap = request.find(r"\b(\d{4})\b.*(?:leap year|schaltjahr|闰年)") or request.find(
        r"(\d{4}) ?年.*闰"
    )
    if leap and not dates:
        return {"date": f"{leap}-01-01"}
    if request.has(_AGE):
        if len(dates) != 1 or request.today is None:
            return None
        return {"date": dates[0], "until": request.today.isoformat()}
    ahead = re.search(rf"\bin ({_DURATION})", words, re.IGNORECASE)
    if request.has(r"\bis\b.*\b(?:week ?day|weekend|work(?:ing)? ?day)\b") and len(dates) == 1:
        return {"date": dates[0]}
    if not dates and ahead and request.today:
        return {"date": request.today.isoformat(), "add": _write_duration(ahead[1])}
    if not dates:
        return None
    first = dates[0]
    length = re.search(_DURATION, words, re.IGNORECASE)
    if length:
        duration = _write_duration(length[0])
        before = re.search(r"\b(?:before|subtract|minus|ago|earlier)\b", words, re.IGNORECASE)
        return {"date": first, "subtract" if before else "add": duration}
    sample = re.search(rf"({DATE})\s+(?:as|like)\s+(.+)$", words, re.IGNORECASE)
    if sample and re.search(r"\d", sample[2]):
        return {"date": first, "format": _write_format(sample[2])}
    if len(dates) > 1:
        return {"date": first, "until": dates[1]}
    ends = re.search(r"\b(?:until|till|to|before)\b|还有", words)
    if ends and request.today and re.search(r"how (?:many|long)|多少天", words, re.IGNORECASE):
        return {"date": request.today.isoformat(), "until": first}
    return {"date": first}


_AGE = r"\bhow old\b.*\bborn\b|\bborn\b.*\bhow old\b|\bwie alt\b.*\bgeboren\b"


def _write_duration(words: str) -> str:
    parts = []
    for count, unit in re.findall(
        r"(\w+(?:\.\d+)?)\s+((?:year|month|week|day|hour|minute)s?)", words
    ):
        number = count if re.fullmatch(r"\d+(?:\.\d+)?", count) else str(count_of(count))
        parts.append(f"{number} {unit}")
    return " ".join(parts)


def _write_format(sample: str) -> str:
    """Return the format of a date that is written as an example."""
    sample = re.sub("|".join(WEEKDAYS), "dddd", sample, flags=re.IGNORECASE)
    sample = re.sub("|".join(MONTHS), "MMMM", sample, flags=re.IGNORECASE)
    sample = re.sub(r"\d{4}", "YYYY", sample)
    sample = re.sub(r"(?<!\d)\d{2}(?!\d)", "DD", sample)
    return re.sub(r"(?<!\d)\d(?!\d)", "D", sample)


_ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "last": -1}


def _read_calendar(request: Request) -> Arguments | None:
    year = find_number(request.words, r"\b((?:19|20|21)\d\d)\b")
    if year is None:
        year = find_number(request.words, r"((?:19|20|21)\d\d) ?年")
    month = _find_month(request)
    if request.has(_EASTER_DAYS):
        return None if request.has(_DAYS_UNTIL) else _read_easter(request, year)
    if request.has("business|work(?:ing)? ?days?|工作日"):
        return _read_business_days(request, year, month)
    weekday = next((day for day in WEEKDAYS if request.has(day)), "")
    nth = next((count for word, count in _ORDINALS.items() if request.has(rf"\b{word}\b")), 0)
    if nth and weekday and year and month:
        return {"show": "nth-weekday", "year": year, "month": month, "weekday": weekday, "nth": nth}
    week = find_number(request.words, r"\bweek (\d{1,2})\b")
    if week and year:
        return {"show": "week", "year": year, "week": week}
    if year and month:
        return {"show": "month", "year": year, "month": month}
    return None


_EASTER_DAYS = "|".join(pattern for pattern, _, _ in EASTER_DAYS)
_DAYS_UNTIL = r"\bhow (?:many|long)\b|\bwie (?:viele|lange)\b|多少天|几天"


def _read_easter(request: Request, year: int | float | None) -> Arguments | None:
    """Return the request for the days around Easter: of a year, else of the next ones to come."""
    if year is None and request.today:
        ahead = next(days for pattern, _, days in EASTER_DAYS if request.has(pattern))
        this_year = request.today.year
        day = find_easter(this_year).toordinal() + ahead
        passed = request.today.toordinal() > day and not request.has("this year|dieses jahr|今年")
        year = this_year + passed
    return {"show": "easter", "year": year} if year else None


def _read_business_days(request: Request, year: int | float | None, month: int) -> Arguments | None:
    dates = find_dates(name_days(request.words, request.today))
    if len(dates) == 1 and request.today and request.has(r"\b(?:until|till)\b"):
        dates.insert(0, request.today.isoformat())
    if len(dates) > 1:
        return {"show": "business-days", "date": dates[0], "until": dates[1]}
    days = find_number(request.words, r"(\d+) (?:business|work)")
    if dates and days:
        return {"show": "business-days", "date": dates[0], "days": days}
    if year and month:
        last = calendar.monthrange(int(year), month)[1]
        began = f"{int(year)}-{month:02}-01"
        return {"show": "business-days", "date": began, "until": f"{int(year)}-{month:02}-{last}"}
    return None


def _find_month(request: Request) -> int:
    named = request.find(rf"\b({MONTH})\b").lower()
    if named:
        return next(n for n, name in enumerate(MONTHS, 1) if name.startswith(named[:3]))
    number = request.find(r"(\d{1,2}) ?月")
    return int(number) if number and 1 <= int(number) <= 12 else 0


_FORMATS = r"(?:base ?64 ?url|base ?64|hex(?:adecimal)?|url)"


def _read_encoding(request: Request) -> Arguments | None:
    if request.has(r"^(?:rgb|hsl)\b"):
        return None
    named = request.find(rf"({_FORMATS})").lower().replace(" ", "")
    if request.has(r"percent[- ]encod"):
        named = "url"
    form = "hex" if named.startswith("hex") else named
    mode = "decode" if request.has(r"de[ck]od|解码|unescape|\bfrom base") else "encode"
    text = find_text(
        request.words,
        r"[把将]\s*(.+?)\s*(?:用|编码|解码|转|从|变)",
        rf"(?:encode|decode|convert|write|turn|put)\s+(.+?)\s+(?:in|into|to|as|from|with|using)\s+{_FORMATS}\b",
        r"(?:kodiere?|codiere?|dekodiere?|decodiere?|schreibe?)\s+(.+?)\s+(?:in|nach|als|aus|mit|von)"
        rf"\s+{_FORMATS}\b",
        rf"{_FORMATS}[- ]?(?:encode|decode|encoding of|of|for)\s+(.+)",
        rf"(?:encode|decode|dekodiere?|decodiere?|kodiere?)\s+(?:the |this |in |as "
        rf"|from )?{_FORMATS}"
        r"\s+(?!of\b|for\b|encoded\b)(.+)",
        rf"{_FORMATS}\s*(?:编码|解码)\s*(.+)",
        rf"(?:what is|what's)\s+(.+?)\s+in\s+{_FORMATS}\b",
        rf"^(.+?)\s*的\s*{_FORMATS}",
        rf"^(?:encode|decode)\s+(.+?)\s+{_FORMATS}$",
        rf"^(.+?)\s+(?:in|to|as)\s+{_FORMATS}$",
    )
    if not text or not form or (form == "hex" and re.fullmatch(r"(?:0x)?[\d,]+|#\w+", text)):
        return None
    return {"format": form, "mode": mode, "text": text}


def _read_hash(request: Request) -> Arguments | None:
    named = request.find(r"(md5|sha-?(?:1|256|384|512))").lower().replace("-", "")
    algorithms = r"(?:hmac-)?(?:md5|sha-?\d+)"
    text = find_text(
        request.words,
        rf"hash(?: of)?\s+(.+?)\s+(?:with|using|by|in|as)\s+{algorithms}",
        rf"{algorithms}(?:[- ](?:hash|checksum|sum|digest))?\s+(?:of|for)\s+(.+?)"
        r"(?: with (?:the )?(?:secret )?key .+)?$",
        rf"(?:请?计算)?\s*(.+?)\s*的\s*{algorithms}",
        rf"{algorithms}\s+(.+)",
        r"hash(?: of| for)?\s+(.+)",
    )
    key = request.find(r"\bkey\s+(\S+)$")
    if not text or (request.has("hmac") and not key):
        return None
    arguments: Arguments = {"text": text}
    if named:
        arguments["algorithm"] = named
    if key:
        arguments["key"] = key
    return arguments


_CHECKS = (
    ("modbus", "crc16-modbus"),
    ("xmodem", "crc16-xmodem"),
    ("kermit", "crc16-kermit"),
    ("ccitt", "crc16-ccitt-false"),
    ("crc-?32-?c", "crc32c"),
    ("bzip2", "crc32-bzip2"),
    ("crc-?16", "crc16-arc"),
    ("crc-?8", "crc8"),
    ("crc-?64", "crc64-xz"),
    ("adler", "adler32"),
)


def _read_check(request: Request) -> Arguments | None:
    algorithm = next((name for word, name in _CHECKS if request.has(word)), "crc32")
    data = find_text(
        request.words,
        r"\bbytes\s+(.+)",
        r"\b(?:of|for|von|für)\s+(.+)",
        r"^(.+?)\s*的\s*CRC",
        r"^(?:crc-?\d+|adler-?32)(?:[- ](?:hash|checksum|sum|prüfsumme))?\s+(\S+)$",
    )
    if not data or re.search("这段", data):
        return None
    arguments: Arguments = {"data": data, "algorithm": algorithm}
    if request.has(r"\bbytes\b") and re.fullmatch(r"[0-9A-Fa-f\s]+", data):
        arguments["encoding"] = "hex"
    return arguments


def _read_cron(request: Request) -> Arguments | None:
    field = r"(?:[\d*]|mon|tue|wed|thu|fri|sat|sun|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"
    cron = request.find(rf"((?<![\w*])[\d*][\d*/,-]*(?: {field}[\w*/,-]*){{4}}|@\w+ly)")
    dates = find_dates(request.words)
    began = dates[0] if dates else f"{request.now:%Y-%m-%dT%H:%M}" if request.now else ""
    if not cron or not began:
        return None
    arguments: Arguments = {"cron": cron, "from": began}
    count = count_of(request.find(r"next (\w+) runs?"))
    return {**arguments, "count": count} if count else arguments


def _read_table(request: Request) -> Arguments | None:
    documents = find_documents(request.words)
    writes = request.has(r"(?:to|into|as)\s+(?:an? )?csv|转(?:成|为)?\s*csv")
    text = find_text(request.words)
    if writes:
        return {"data": documents[0], "to": "csv"} if documents else None
    return {"data": text, "to": "json"} if re.search(r"[,;\t|]", text) else None


def _read_color(request: Request) -> Arguments | None:
    one = (
        r"(#[0-9a-f]{3,8}\b|(?:rgb|hsl|oklch)a?\([^)]*\)|(?:rebecca|dark|light|medium)?(?:tomato|red"
        r"|green|blue|white|black|yellow|orange|purple|pink|gr[ae]y|brown|cyan|magenta|gold|silver"
        r"|navy|teal|lime|maroon|olive|coral|salmon|violet|indigo|turquoise|khaki|crimson|orchid)\b)"
    )
    bare = re.search(r"\brgb:? (\d{1,3})[ ,]+(\d{1,3})[ ,]+(\d{1,3})\b", request.words, re.I)
    if bare:
        return {"color": f"rgb({bare[1]} {bare[2]} {bare[3]})"}
    found = [match[1] for match in re.finditer(one, request.words, re.IGNORECASE)]
    if not found:
        return None
    if len(found) > 1 and request.has("contrast|对比|readable| on "):
        return {"color": found[0], "against": found[1]}
    return {"color": found[0]}


def _read_places(request: Request) -> Arguments | None:
    angle = r"-?\d{1,3}(?:\.\d+)?\s*°?"
    points = re.findall(rf"{angle}\s*[NS]?[,\s]\s*{angle}\s*[EW]?\b", request.words)
    if not points:
        return None
    unit = "mi" if request.has("miles") else "km"
    if len(points) > 1:
        return {"from": points[0].strip(), "to": points[1].strip(), "unit": unit}
    distance = find_number(request.words, r"(NUMBER) ?(?:km|miles|m)\b")
    bearing = find_number(request.words, r"bearing (NUMBER)")
    if distance is None or bearing is None:
        return None
    point = points[-1].strip()
    return {"from": point, "distance": distance, "bearing": bearing, "unit": unit}


def _read_html(request: Request) -> Arguments | None:
    html = re.search(r"<.*>", request.words, re.DOTALL)
    if html:
        return {"html": html[0]}
    entities = re.search(r"(&[#\w]+;.*)", request.words)
    return {"html": entities[1]} if entities else None


_COMPOUNDS = (
    (r"compound(?:ed|ing|s)? (?:monthly|(?:every|each) month)", 12),
    (r"compound(?:ed|ing|s)? (?:quarterly|(?:every|each) quarter)", 4),
    (r"compound(?:ed|ing|s)? daily", 365),
)
"""How often interest is added, and how many times a year that is."""


def _read_investment(request: Request) -> Arguments | None:
    words = read_chinese_numbers(request.words)
    rate = find_number(words, r"(NUMBER) ?(?:%|per ?cent)")
    years = find_number(words, r"(NUMBER)(?: ?years?|\s*年(?!利))")
    flows = re.search(rf"flows?:? ({NUMBER}(?:, ?{NUMBER})+)", words, re.IGNORECASE)
    if flows:
        amounts: list[Json] = list(find_numbers(flows[1]))
        if request.has(r"\birr\b|internal rate"):
            return {"calculate": "irr", "flows": amounts}
        return {"calculate": "npv", "flows": amounts, "rate": rate} if rate is not None else None
    if rate is None or years is None:
        return None
    if _RATE_OF_A_MONTH.search(words):
        return None
    monthly = find_number(words, r"(NUMBER) (?:a|per|each|every) month")
    growth: Arguments = {"calculate": "growth", "rate": rate, "years": years}
    compounds = next((n for pattern, n in _COMPOUNDS if request.has(pattern)), 0)
    if compounds:
        growth["per_year"] = compounds
    if monthly is not None:
        return {**growth, "contribution": monthly, "per_year": 12}
    rest = [number for number in find_numbers(words) if number not in (rate, years)]
    return {"per_year": 1, **growth, "principal": rest[0]} if rest else None


_ADDRESS = r"\d{1,3}(?:\.\d{1,3}){3}(?:/\d{1,2})?|[0-9a-f]{1,4}(?::[0-9a-f]{0,4}){2,7}(?:/\d{1,3})?"


def _read_subnet(request: Request) -> Arguments | None:
    found = re.findall(_ADDRESS, request.words, re.IGNORECASE)
    if not found:
        return None
    if len(found) > 1:
        network = next((each for each in found if "/" in each), found[1])
        other = next((each for each in found if each != network), network)
        return {"address": network, "contains": other}
    parts = find_number(request.words, r"\binto /(\d+)")
    return {"address": found[0], "split": parts} if parts else {"address": found[0]}


def _read_json_change(request: Request) -> Arguments | None:
    documents = find_documents(request.words)
    if len(documents) < 2:
        return None
    if request.has(r"\bapply\b"):
        patch = next((each for each in documents if isinstance(each, list)), None)
        other = next((each for each in documents if each is not patch), None)
        return {"a": other, "patch": patch} if patch else None
    return {"a": documents[0], "b": documents[1]}


def _read_json_form(request: Request) -> Arguments | None:
    document = read_json_form(request.words)
    return None if document is None else {"json": document, "path": WHOLE}


def _read_body_mass(request: Request) -> Arguments | None:
    expression = read_body_mass(request.words)
    return {"expression": expression} if expression else None


def _read_fuel(request: Request) -> Arguments | None:
    expression = read_fuel(request.words)
    return {"expression": expression} if expression else None


def _read_json_path(request: Request) -> Arguments | None:
    documents = find_documents(request.words)
    paths = [
        text for text in find_quoted(request.words) if not text.lstrip().startswith(("{", "["))
    ]
    path = paths[-1] if paths else request.find(r"(\$[.\[]\S+)")
    if request.has(r"`(\$[^`]*)`"):
        path = request.find(r"`(\$[^`]*)`")
    return {"json": documents[0], "path": path} if documents and path else None


def _read_json_schema(request: Request) -> Arguments | None:
    documents = find_documents(request.words)
    return {"json": documents[0], "schema": documents[1]} if len(documents) > 1 else None


def _read_token(request: Request) -> Arguments | None:
    token = request.find(r"(eyJ[\w-]*\.[\w-]*(?:\.[\w-]*)?)")
    return {"token": token} if token else None


def _read_two_texts(request: Request) -> Arguments | None:
    pair = find_pair(
        request.words,
        r"\b(?:between|match|compare|of)\s+(\S+)\s+(?:and|with|to)\s+(\S+)$",
        r"(?:计算|比较)?\s*(\S+?)\s*[和与]\s*(\S+?)\s*的",
    )
    return {"a": pair[0], "b": pair[1]} if pair else None


_RATE_OF_A_MONTH = re.compile(
    r"(?:%|per ?cent|prozent)\s*(?:(?:interest )?(?:a|per|each|every|im|pro|je) mon(?:th|at)\b"
    r"|monthly"
    r"|monatlich)|monthly (?:interest )?rate of|monthly interest|monatszins|月利率|月息",
    re.IGNORECASE,
)


def _read_loan(request: Request) -> Arguments | None:
    words = read_chinese_numbers(request.words)
    rate = find_number(words, r"(NUMBER) ?(?:%|per ?cent)")
    years = find_number(words, r"(NUMBER)[ -]?(?:years?|yrs?|\s*年(?!利))")
    months = find_number(words, r"(NUMBER)[ -]?(?:months?\b|个月)")
    payment = find_number(words, r"(NUMBER) (?:a|per|each|every) month")
    rest = [each for each in find_numbers(words) if each not in (rate, years, months, payment)]
    if rate is None or not rest:
        return None
    arguments: Arguments = {"amount": max(rest), "rate": rate}
    if payment is not None:
        return {**arguments, "payment": payment}
    if _RATE_OF_A_MONTH.search(words):
        arguments["rate"] = float(
            Decimal(str(rate)) * 12
        )  # it is the rate of a year that is asked for
    length = years * 12 if years is not None else months
    return {**arguments, "months": int(length)} if length else None


def _read_rows(request: Request) -> Arguments | None:
    documents = find_documents(request.words)
    return {"rows": documents[0]} if documents and isinstance(documents[0], list) else None


_OPERATIONS = {
    "determinant": "determinant|行列式",
    "inverse": "invers|invert|逆矩阵",
    "multiply": "multipl|product|乘",
    "transpose": "transpos|转置",
    "rank": r"\brank\b|秩",
    "add": r"\badd\b|\bsum\b",
    "subtract": "subtract",
    "solve": r"\bsolve\b",
}


def _read_matrix(request: Request) -> Arguments | None:
    documents = [each for each in find_documents(request.words) if isinstance(each, list)]
    operation = next((name for name, word in _OPERATIONS.items() if request.has(word)), "")
    if not documents or not operation:
        return None
    arguments: Arguments = {"operation": operation, "a": documents[0]}
    if operation in ("multiply", "add", "subtract", "solve"):
        return {**arguments, "b": documents[1]} if len(documents) > 1 else None
    return arguments


_BASES = {
    2: "binary|二进制",
    8: "octal|八进制",
    10: "decimal|十进制",
    16: r"hex(?:adecimal)?\b|十六进制",
}
_ANY_BASE = "|".join(_BASES.values())


def _read_base(request: Request) -> Arguments | None:
    if request.has(r"\brgb\b|\bhsl\b|colou?r|farbe|颜色"):
        return None
    request = replace(
        request,
        words=re.sub(
            r"(?i)\bhex(?:adecimal)? ([0-9a-f]+)(?= (?:to|in|as)\b)", r"0x\1", request.words
        ),
    )
    bits = find_number(request.words, r"(\d+)[- ]bit")
    spelled = request.find(r"二进制\s*(?:数)?\s*([01]+)")
    if spelled:
        request = replace(request, words=request.words.replace(spelled, f" 0b{spelled} ", 1))
    value = request.find(
        r"(?<![\w.#])(-?(?:0x[0-9a-f]+|0b[01]+|0o[0-7]+|\d[\d,]*))(?![\w.]*[-.]?bit|\w)"
    )
    if not value:
        return None
    if bits:
        return {"value": int(value.replace(",", "")), "to": 2, "bits": bits}
    named = re.findall(
        rf"(from\s+|从|把)?({_ANY_BASE})(?:\s+number)?", request.words, re.IGNORECASE
    )
    bases = [int(base) for base in re.findall(r"\bbase (\d{1,2})\b", request.words)]
    order = []
    for _, word in named:
        order.append(next(b for b, p in _BASES.items() if re.fullmatch(p, word, re.IGNORECASE)))
    order += bases
    if not order or len(order) > 2:
        return None
    arguments: Arguments = {"value": value.replace(",", "")}
    if len(order) > 1:
        reverse = request.has(r"to .+ from ")
        source, target = (order[1], order[0]) if reverse else (order[0], order[1])
        return {**arguments, "from": source, "to": target}
    if named and re.match("from|从", named[0][0] or "", re.IGNORECASE):
        return {**arguments, "from": order[0], "to": 10}
    return {**arguments, "to": order[0]}


def _read_number_style(request: Request) -> Arguments | None:
    numbers = find_numbers(request.words)
    if not numbers:
        return None
    arguments: Arguments = {"number": numbers[0]}
    decimals = request.find(r"(\w+) decimals?\b")
    if count_of(decimals) or decimals == "zero":
        arguments["decimals"] = count_of(decimals)
    for style, pattern in (
        ("percent", "per ?cent|百分"),
        ("bytes", "bytes"),
        ("scientific", "scientific|科学计数"),
        ("engineering", "engineering"),
        ("compact", "compact|short form"),
    ):
        if request.has(pattern):
            return {**arguments, "style": style}
    return arguments


def _read_number_words(request: Request) -> Arguments | None:
    numbers = find_numbers(request.words)
    if not numbers:
        text = request.find(r"which number is (.+)")
        return {"value": text} if text else None
    arguments: Arguments = {"value": numbers[0]}
    for form, pattern in (
        ("cny", "人民币"),
        ("usd", r"dollars?|\$"),
        ("eur", "euros?|€"),
        ("gbp", "pounds?|£"),
        ("ordinal", r"\bordinal"),
        ("chinese", "中文|汉字|in chinese"),
    ):
        if request.has(pattern):
            return {**arguments, "form": form}
    return arguments


def _read_prime(request: Request) -> Arguments | None:
    number = request.find(r"(?<![\d.,-])(\d[\d,]*)(?!\.\d)").replace(",", "")
    if not number:
        return None
    return {"number": int(number) if len(number) < 16 else number}


def _read_qr(request: Request) -> Arguments | None:
    url = request.find(r"(https?://\S+|www\.\S+)")
    text = url or find_text(
        request.words,
        r"\b(?:for|of|saying|that says|containing)\s+(.+)$",
        r"\b(?:with|from)\s+(.+)$",
        r"二维码\s+(.+)$",
    )
    if not text or re.fullmatch(r"a wifi password", text):
        return None
    level = "H" if request.has("high error") else ""
    return {"text": text, "level": level} if level else {"text": text}


def _read_random(request: Request) -> Arguments | None:
    dice = request.find(r"\b(\d*d\d+(?:\s*[+-]\s*\d+)?)")
    numbers = [int(number) for number in find_numbers(request.words) if float(number).is_integer()]
    between = request.find(rf"\b(?:between|from)\s+({NUMBER}\s+(?:and|to)\s+{NUMBER})")
    many = count_of(
        request.find(
            r"\b(\w+) (?:random |different |strong |secure |new )*"
            r"(?:uuids|passwords|numbers|winners|names|dice|times)\b"
        )
    )
    count: Arguments = {"count": many} if many > 1 else {}
    if request.has("coin|抛硬币"):
        return {"kind": "pick", "items": ["heads", "tails"]}
    if request.has(r"\bdice?\b|\broll|骰子") or dice:
        sides = many if many > 1 else 1
        return {"kind": "dice", "dice": dice.replace(" ", "") or f"{sides}d6"}
    if request.has("uuid"):
        return {"kind": "uuid", **count}
    if request.has("password|密码"):
        length: Arguments = {"length": numbers[0]} if numbers and numbers[0] >= 8 else {}
        return {"kind": "password", **count, **length}
    if request.has(r"\bhex\b|\bkey\b"):
        return {"kind": "hex"}
    listed = (
        find_after_colon(request.words)
        or request.find(r"\b(?:from|between)\s+(.+)$")
        or request.find(r"\b(?:choose|pick) (?:one|any|something) (?:of|among|out of)\s+(.+)$")
        or request.find(r"\b(?:shuffle|choose|pick)\s+(.+)$")
    )
    items = split_list(re.sub(r"\s+or\s+", ", ", listed)) if listed else []
    if between:
        numbers = [int(each) for each in find_numbers(between) if float(each).is_integer()]
    if len(numbers) > 1 and (has_only_numbers(items) or request.has("number|随机数|到")):
        return {"kind": "integer", "min": min(numbers[:2]), "max": max(numbers[:2]), **count}
    if len(items) > 1:
        kind = "shuffle" if request.has("shuffle|打乱") else "pick"
        picked = items
        return {"kind": kind, "items": list(picked), **(count if kind == "pick" else {})}
    return {"kind": "integer", **count} if request.has("number|随机数") else None


def _read_recall(request: Request) -> Arguments | None:
    words = request.words.rstrip("?？ ")
    about = request.find(r"(?:about|memory:|recall|remember)\s+(?:the facts about\s+)?(.+)$")
    if re.fullmatch(r"(?:me|myself)\W*", about) or request.has(
        r"know about me|(?:anything|everything|all) about me"
        r"|wei(?:ß|ss)t du (?:alles )?(?:über|von) mi[cr]h?"
        r"|^what (?:do you (?:still )?(?:remember|know)|(?:did|have) I (?:tell|told) you)\W*$"
        r"|记得我吗|知道.{0,4}我.{0,4}(?:什么|哪些|多少)|^你?关于我|记得.{0,3}什么\W*$"
    ):
        return {}
    return {"query": (about or words).rstrip("?？ ")}


def _read_history(request: Request) -> Arguments | None:
    query = request.find(r"(?:about|for|in which we talked about)\s+(.+)$") or request.find(
        r"(?:查找|搜索)(.+)$"
    )
    return {"query": query.rstrip("?？ ")} if query else None


def _read_roman(request: Request) -> Arguments | None:
    numbers = find_numbers(request.words)
    if numbers and float(numbers[0]).is_integer():
        return {"value": int(numbers[0])}
    found = re.search(
        r"(?<![A-Za-z])([MDCLXVI]+)(?![A-Za-z])(?!\s+(?:have|want|need))", request.words
    )
    return {"value": found[1]} if found else None


_SHAPES = (
    ("regular-polygon", "regular|pentagon|hexagon|octagon"),
    ("circle", "circle|圆形?的|圆的"),
    ("sphere", r"sphere|\bball\b|球"),
    ("cylinder", "cylinder|圆柱"),
    ("cone", r"\bcone\b|圆锥"),
    ("cube", r"\bcube\b|立方体"),
    ("square", r"\bsquare\b(?! (?:met|f|in|km))|正方形"),
    ("rectangle", "rectangle|长方形|矩形"),
    ("triangle", "triangle|三角形"),
    ("ellipse", "ellipse|椭圆"),
    ("box", r"\bbox\b|cuboid|长方体"),
    ("torus", "torus"),
    ("trapezoid", "trapez"),
    ("pyramid", "pyramid"),
)


def _read_shape(request: Request) -> Arguments | None:
    shape = next((name for name, pattern in _SHAPES if request.has(pattern)), "")
    radius = find_number(request.words, r"(?:radius|半径)(?: of| is| =|为|是)?\s*(NUMBER)")
    diameter = find_number(request.words, r"(?:diameter|直径)(?: of| is| =|为|是)?\s*(NUMBER)")
    height = find_number(request.words, r"(?:height|高度?)(?: of| is| =|为|是)?\s*(NUMBER)")
    if radius is None and diameter is not None:
        radius = diameter / 2
    numbers = find_numbers(request.words)
    if not shape or not numbers:
        return None
    arguments: Arguments = {"shape": shape}
    if shape in ("circle", "sphere"):
        return {**arguments, "radius": radius if radius is not None else numbers[0]}
    if shape in ("cylinder", "cone"):
        if radius is None or height is None:
            return None
        return {**arguments, "radius": radius, "height": height}
    if shape in ("cube", "square"):
        return {**arguments, "a": numbers[0]}
    sides = dict(zip("abc", numbers, strict=False))
    needed = {"rectangle": 2, "triangle": 3, "box": 3}.get(shape, 0)
    if shape == "triangle" and height is not None:
        return {**arguments, "a": numbers[0], "height": height}
    if shape == "ellipse" and len(numbers) > 1:
        return {**arguments, "radius": numbers[0], "radius2": numbers[1]}
    return {**arguments, **sides} if needed and len(sides) == needed else None


def _read_slug(request: Request) -> Arguments | None:
    text = find_text(
        request.words,
        r"slug\s+(?:from|of|for|out of|von|für|aus)\s+(.+)$",
        r"slugify\s+(?:the )?(?:title |heading |headline )?(.+)$",
        r"[把将]\s*(.+?)\s*(?:变成|转成|转为|变为)",
    )
    if not text or re.search("标题", text):
        return None
    if request.has(r"\bslug (?:von|für|aus)\b"):
        return {"text": text.replace(" & ", " und "), "german": True}
    return {"text": text}


_ORDER_AT_END = re.compile(
    r"[\s,，]+(?:in )?(?:(?:alphabetically|ascending|descending|numerically|alphabetisch"
    r"|aufsteigend"
    r"|absteigend)(?: order)?(?: sortieren)?|(?:larg|bigg|high|small|low)est (?:one )?first"
    r"|(?:größte|kleinste)[nrs]? zuerst|从大到小|从小到大|[升降倒]序)\W*$",
    re.IGNORECASE,
)
"""The order that is asked for behind a list."""


def _read_list(request: Request) -> Arguments | None:
    listed = find_after_colon(request.words) or request.find(r"(?:排序|去重)\s*[:：]?\s*(.+)$")
    if re.search(r"[\u4e00-\u9fff]", request.words) and not re.search(r"[,，、;；\n]", listed):
        listed = ", ".join(listed.split())
    listed = listed or request.find(
        r"(?:sort|order|alphabetize|duplicates (?:from|in))\s+(?:the |these |this |list )*(.+?)"
        r"(?:\s+(?:alphabetically|in .+ order|descending|ascending)|,? (?:the )?\w+ first)?\W*$"
    )
    if re.search(r"\bby\b", listed):
        listed = ""
    documents = find_documents(request.words)
    listed = _ORDER_AT_END.sub("", listed)
    items: list[Json] = list(split_list(listed))
    if documents and isinstance(documents[0], list):
        items = documents[0]
    elif len(items) < 2:
        return None
    elif has_only_numbers([str(item) for item in items]):
        items = [to_number(str(item)) for item in items]
    elif has_only_numbers([str(items[0])]) or all(re.match(NUMBER, str(item)) for item in items):
        return None  # numbers with words: kilograms with grams, or how they are to be sorted
    arguments: Arguments = {"items": items}
    if request.has("duplicate|unique|去重"):
        arguments["unique"] = True
        if not request.has("sort|排序"):
            arguments["order"] = "keep"
    elif request.has("revers|backwards|倒"):
        arguments["order"] = "reverse"
    elif request.has(
        "descend|(?:larg|bigg|high)est first|absteigend|größte[nrs]? zuerst|从大到小|降序|倒序"
    ):
        arguments["order"] = "descending"
    by = request.find(r"\bby (?:the )?(\w+)")
    return {**arguments, "by": by} if by and documents else arguments


def _read_figures(request: Request) -> Arguments | None:
    documents = [each for each in find_documents(request.words) if isinstance(each, list)]
    if request.has("correlat|regression|y on x"):
        return {"x": documents[0], "y": documents[1]} if len(documents) > 1 else None
    if documents:
        return {"x": documents[0]}
    listed: list[Json] = list(find_numbers(find_after_colon(request.words) or request.words))
    return {"x": listed} if len(listed) > 1 else None


def _read_template(request: Request) -> Arguments | None:
    template = request.find(r"template\s+(.+?)\s+with\b") or (find_quoted(request.words) or [""])[0]
    if "{{" not in template:
        return None
    documents = [each for each in find_documents(request.words) if isinstance(each, dict)]
    if documents:
        return {"template": template, "data": documents[-1]}
    data: dict[str, Json] = {}
    for name in re.findall(r"\{\{\s*(\w+)\s*\}\}", template):
        value = request.find(rf"\bwith\b.*?\b{name}\s*(?:=|:|is)?\s*([^\s,]+)")
        if value:
            data[name] = value
    return {"template": template, "data": data} if data else None


def _read_versions(request: Request) -> Arguments | None:
    quoted = find_quoted(request.words)
    return {"old": quoted[0], "new": quoted[1]} if len(quoted) > 1 else None


def _read_replacement(request: Request) -> Arguments | None:
    after = find_after_colon(request.words)
    quoted = find_quoted(request.words)
    regex: Arguments = {"regex": True} if request.has(r"\bregex|正则") else {}
    if after and not quoted:
        head = request.words.partition(":")[0]
        found = re.search(
            r"replace\s+(?:every |all )?(.+?)\s+(?:with|by)\s+(\S+)", head, re.IGNORECASE
        )
        return {"text": after, "find": found[1], "replace": found[2], **regex} if found else None
    found = re.search(
        r"replace\s+(?:every |all )?(.+?)\s+(?:with|by)\s+(.+?)\s+in\s+(.+)$",
        request.words,
        re.IGNORECASE,
    )
    if len(quoted) > 2:
        return {"text": quoted[2], "find": quoted[0], "replace": quoted[1], **regex}
    if found and drop_stand_in(found[3]):
        parts = [part.strip("\"'`“”") for part in found.groups()]
        return {"text": parts[2], "find": parts[0], "replace": parts[1], **regex}
    return None


def _read_counted(request: Request) -> Arguments | None:
    text = find_text(
        request.words,
        r"(?:words|characters|letters|sentences|lines)\s+(?:are |is )?(?:there )?(?:in|of)\s+(.+)$",
        r"(?:word|character|letter) count (?:in|of|for)\s+(.+)$",
        r"how long is\s+(.+)$",
        r"字数\s+(.+)$",
        r"^(.+?)\s*(?:一?共有|有|是)?(?:几|多少)个?字$",
    )
    return {"text": text} if text else None


def _read_wrapped(request: Request) -> Arguments | None:
    text = find_text(request.words, r"\bwrap\s+(.+?)\s+(?:at|to)\s+\d+")
    width = find_number(request.words, r"(\d+) ?(?:columns|characters|列)")
    if not text:
        return None
    return {"text": text, "width": width} if width else {"text": text}


_ZONE = r"(?:[A-Za-z][A-Za-z/_]+(?: [A-Z][a-z]+)?|[A-Z]{2,4}|[\u4e00-\u9fff]{2,4})"


_TIME_NOW = re.compile(
    r"(?:what time is it|what(?:'s| is) the time|current time)(?: right)?(?: now)?,?"
    rf" in ((?-i:{_ZONE}))(?: right)?(?: now)?"
    r"|([\u4e00-\u9fff]{2,4}?)(?:现在|目前)(?:是)?几点(?:了|钟)?",
    re.IGNORECASE,
)


def _read_zone(request: Request) -> Arguments | None:
    elsewhere = _TIME_NOW.fullmatch(request.words.strip(" ?？!.。"))
    if elsewhere and request.now and request.zone:
        now = f"{request.now:%Y-%m-%dT%H:%M}"
        return {
            "time": now,
            "from": request.zone.removeprefix("Etc/"),
            "to": find_zone(elsewhere[1] or elsewhere[2]) or elsewhere[1] or elsewhere[2],
        }
    words = _write_chinese_times(name_days(request.words, request.today))
    stamp = re.search(r"\b(\d{9,13})\b", words)
    if stamp and request.has("timestamp|epoch|unix|时间戳"):
        return {"time": stamp[1]}
    dates = find_dates(words)
    clock = re.search(
        r"(?<![\d:-])(\d{1,2})(?::(\d{2}))?\s*(am|pm|点|o'clock)?(?![\d-])", _without_dates(words)
    )
    day = dates[0] if dates else request.today.isoformat() if request.today else ""
    if clock is None or not day or not (clock[2] or clock[3]):
        return None
    hour = (
        int(clock[1]) % 12 + 12 * (clock[3] == "pm") if clock[3] in ("am", "pm") else int(clock[1])
    )
    time = f"{day}T{hour:02}:{clock[2] or '00'}"
    rest = _without_dates(words).replace(clock[0], " ", 1)
    target = re.search(rf"\b(?:in|to)\s+({_ZONE}(?: and (?:{_ZONE}))?)(?: time)?\W*$", rest)
    before = rest[: target.start()] if target else rest
    source = re.search(rf"({_ZONE})\s+time\b", before)
    if re.search(r"时间|几点", rest):
        source = re.search(r"([\u4e00-\u9fff]{2,4}?)时间", rest)
        target = re.search(r"是([\u4e00-\u9fff]{2,4}?)(?:时间)?几点", rest)
    source = source or re.search(rf"\b(?:in|from)\s+({_ZONE})\b", before)
    here = request.zone if target and re.match(r"to\b", target[0]) else ""
    if target is None or not (source or here):
        return None
    wanted = [re.sub(r" time$", "", each) for each in split_list(target[1])]
    found: Json = [*wanted] if len(wanted) > 1 else wanted[0]
    return {"time": time, "from": source[1] if source else here, "to": found}


def _write_chinese_times(words: str) -> str:
    """Return the words with 2026年12月2号 as a date, and 下午3点 as an hour of the 24."""

    def write_hour(found: re.Match[str]) -> str:
        hour = int(found[2])
        later = found[1] in ("下午", "晚上", "傍晚") and hour < 12
        midnight = found[1] in ("凌晨", "半夜") and hour == 12
        return f" {hour + 12 * later - 12 * midnight}{found[3]}"

    words = re.sub(
        r"(\d{4}) ?年 ?(\d{1,2}) ?月 ?(\d{1,2}) ?[日号]",
        lambda found: f" {found[1]}-{int(found[2]):02}-{int(found[3]):02} ",
        words,
    )
    return re.sub(
        r"(上午|早上|凌晨|半夜|中午|下午|傍晚|晚上)\s*(\d{1,2})\s*(点|:\d{2})", write_hour, words
    )


def _without_dates(words: str) -> str:
    for each in find_dates(words):
        words = words.replace(each, " ")
    return re.sub(r"\b(?:what|which)(?:'s| is| time is)?\b|\bon\b|\bconvert\b|T(?=\d)", " ", words)


def _read_url(request: Request) -> Arguments | None:
    url = request.find(r"(https?://\S+)").rstrip(".,")
    if not url:
        return None
    parameter = re.search(r"parameter (\w+)=(\S+)", request.words)
    return {"url": url, "query": {parameter[1]: parameter[2]}} if parameter else {"url": url}


_IDENTIFIERS = (
    ("iban", r"\biban\b", r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{2,4}){3,8}\b"),
    ("isbn", r"\bisbn", r"\b(?:97[89][- ]?)?(?:\d[- ]?){9}[\dXx]\b"),
    ("email", r"e-?mail|邮箱", r"[^\s@]+@[^\s@?]+"),
    ("uuid", r"\buuid", r"\b[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}\b"),
    ("isin", r"\bisin\b", r"\b[A-Z]{2}[A-Z0-9]{9}\d\b"),
    ("cn-company", "信用代码", r"\b[0-9A-Z]{18}\b"),
    ("cn-id", "身份证|chinese id", r"\d{17}[\dXx]"),
    ("ean", r"\bean\b|\bupc\b|barcode|\bgtin\b|条形码", r"\b\d{8,14}\b"),
    ("luhn", r"card|luhn|信用卡|银行卡", r"\d(?:[ -]?\d){11,18}"),
)


def _read_identifier(request: Request) -> Arguments | None:
    for kind, topic, pattern in _IDENTIFIERS:
        if request.has(topic):
            found = re.search(pattern, request.words)
            found = found or re.search(pattern, request.words, re.IGNORECASE)
            written = find_quoted(request.words)
            value = found[0] if found else written[0] if written else ""
            return {"kind": kind, "value": value.strip()} if value else None
    return None


def _read_weather(request: Request) -> Arguments | None:
    place = request.find(
        r"\b(?:in|for|at)\s+((?!the\b|fahrenheit|celsius)[A-Z][\w'.-]+(?:[ ,]+[A-Z][\w'.-]+)*)"
    ) or request.find(r"^(.{2,8}?)(?:今天|明天|现在|的)?(?:天气|气温|会下雨)")
    if not place:
        return None
    arguments: Arguments = {"place": place}
    if request.has(r"tomorrow|forecast|明天|预报"):
        arguments["days"] = 2
    if request.has("fahrenheit"):
        arguments["units"] = "imperial"
    return arguments


def _read_page(request: Request) -> Arguments | None:
    return find_page(request.words)


def _read_search(request: Request) -> Arguments | None:
    return find_search(request.words)


_CASES = (
    ("snake", r"snake[_ -]?case|下划线"),
    ("camel", r"camel[_ -]?case|驼峰"),
    ("pascal", r"pascal[_ -]?case"),
    ("kebab", r"kebab[_ -]?case"),
    ("constant", r"constant[_ -]?case"),
    ("title", r"title[_ -]?case|capitali[sz]e|首字母大写"),
    ("sentence", r"sentence[_ -]?case"),
    ("upper", r"upper[_ -]?case|all caps|capital letters|大写"),
    ("lower", r"lower[_ -]?case|small letters|小写"),
)


def _read_case(request: Request) -> Arguments | None:
    case, pattern = next((case, word) for case, word in _CASES if request.has(word))
    text = find_text(
        request.words,
        r"[把将]\s*(.+?)\s*(?:转|变|改)",
        rf"(?:convert|write|turn|change|make|put|rename)\s+(.+?)\s+(?:in|into|to|as)?\s*(?:{pattern})",
        rf"^(?:{pattern})\s+(?:of |for |von |für |aus )?(.+)$",
        rf"^转(?:换)?(?:成|为|换)?(?:{pattern})\s+(.+)$",
        rf"^(.+?)\s+(?:in|to|as|into)\s+(?:{pattern})",
    )
    return {"text": text, "to": case} if text else None


def _read_chart(request: Request) -> Arguments | None:
    kind = next((k for k, p in _CHARTS if request.has(p)), "bar")
    after = find_after_colon(request.words) or request.find(r"\b(?:of|with|for|aus|mit)\s+(.+)$")
    pairs = re.findall(rf"([^\W\d][\w ]*?)[ :=]+({NUMBER})", after or request.words)
    labels: list[Json] = []
    values: list[Json] = []
    for words, value in pairs if after else ():
        label = _CONJUNCTION.sub("", words).strip()
        if label:
            labels.append(label)
            values.append(to_number(value))
    if len(labels) < 2:
        # the one label is what all the values are of: "the shares 40, 35 and 25"
        values = list(find_numbers(after if labels else request.words))
        labels = [str(place) for place in range(1, len(values) + 1)]
    if len(values) < 2:
        return None
    return {"kind": kind, "labels": labels, "series": [{"values": values}]}


_CONJUNCTION = re.compile(r"^(?:and|und)\b\s*", re.IGNORECASE)
_CHARTS = (("pie", r"\bpie\b|饼图"), ("line", r"\bline\b|折线"), ("bar", r"\bbar\b|柱状"))
_ANY_CASE = "|".join(pattern for _, pattern in _CASES)
_ANY_CURRENCY = "|".join(pattern for pattern in _CURRENCIES.values())
_IDENTIFIER_TOPIC = "|".join(topic for _, topic, _ in _IDENTIFIERS)


_ENCODED = r"(?<![\w+/=])([A-Za-z0-9+/_-]{6,}={0,2})(?![\w+/=])"
"""What may be Base64."""
_ASKS_WHAT_IS_SAID = (
    r"^(?:what(?:'s| is| does| do)?|was|decode|read|dekodiere?|entziffere?|解码|读)\b.*"
    r"|(?:是什么|什么意思|说什么|写的什么)\W*$"
)


def _read_base64(request: Request) -> Arguments | None:
    """Return the decoding of what looks like Base64: sent alone, or asked what it says."""
    text = request.find(_ENCODED)
    rest = request.words.replace(text, " ", 1).strip(" ?？.!:\"'“”`")
    asked = not rest or re.search(_ASKS_WHAT_IS_SAID, rest, re.IGNORECASE)
    if not text or not asked or len(rest.split()) > 6 or find_base64(text) == "":
        return None
    return {
        "format": "base64url" if re.search("[-_]", text) else "base64",
        "mode": "decode",
        "text": text,
    }


_FUEL = r"\b(?:fuel|petrol|gas|gasoline|diesel|sprit\w*|benzin\w*|mpg)\b|油费|油钱|油耗"
_SKILLS: tuple[_Skill, ...] = (
    _Skill("encode", _ENCODED, _read_base64, ""),
    _Skill("read-page", PAGE_TOPIC, _read_page, "read https://example.com and sum it up"),
    _Skill(
        "json-query",
        JSON_TOPIC,
        _read_json_form,
        'format the json {"b": 1, "a": [2, 3]}',
    ),
    _Skill(
        "calculate",
        r"(?<![a-z])bmi(?![a-z])|body[- ]mass|体重指数",
        _read_body_mass,
        "bmi of 80 kg and 1.80 m",
    ),
    _Skill(
        "calculate",
        rf"^(?=.*\d).*(?:{_FUEL})",
        _read_fuel,
        "fuel cost of 300 km at 7 l/100km and 1.80 per litre",
    ),
    _Skill(
        "jwt-decode",
        r"\bjwt\b|json web token|bearer token|令牌",
        _read_token,
        "decode this jwt: eyJ… (the whole token)",
    ),
    _Skill(
        "text-replace",
        r"\breplace\b|\bremove all\b|替换",
        _read_replacement,
        'replace "colour" with "color" in "the colour of money"',
    ),
    _Skill(
        "number-format",
        r"thousands separator|decimals?\b.*(?:format|percent)|format.*\d|\d.*as a percent"
        r"|human readable"
        r"|scientific notation|千分位",
        _read_number_style,
        "format 1234567.891 with thousands separators and two decimals",
    ),
    _Skill(
        "date-calendar",
        rf"{_EASTER_DAYS}|business days?|working days?|workdays?|工作日|calendar|月历|日历"
        r"|(?:first|second|third|fourth|fifth|last) \w+day of|\bweek \d+ of\b",
        _read_calendar,
        "how many business days are between 2024-03-01 and 2024-03-31",
    ),
    _Skill(
        "date-math",
        rf"{_AGE}|leap year|schaltjahr|闰年"
        r"|^(?:(?:when|what (?:day|date)) is |wann ist )?(?:next|nächster?) \w+(?:day|tag|woch)\W*$"
        r"|(?:days|long|tage).*(?:until|till|to|bis)"
        r" (?:christmas|xmas|new year|weihnachten|heiligabend|silvester|neujahr|easter|ostern)"
        r"|\bday (?:after|before) (?:tomorrow|yesterday)\b"
        rf"|(?:{DATE}|\b(?:today|tomorrow|yesterday|now)\b|今天|\bin {_DURATION}).*(?:day|week"
        rf"|month|year|date|\bas\b|天(?!气)|星期|周)|(?:day|week|month|year|date|天(?!气)|星期|周).*(?:{DATE}|today"
        rf"|tomorrow|yesterday|\bnow\b|今天|\bin {_DURATION})",
        _read_date,
        "how many days are between 2024-01-01 and 2024-03-01",
    ),
    _Skill(
        "time-zone",
        r"\btime\b.*\bin\b|\bin\b.*\btime\b|\d:\d\d to .*\btime\b|time ?zone|timestamp"
        r"|\bepoch\b|\butc\b|时间戳|几点|时区|时差",
        _read_zone,
        "what is 2024-03-05 10:30 New York time in Tokyo",
    ),
    _Skill(
        "validate-id",
        rf"(?:{_IDENTIFIER_TOPIC}).*(?:valid|correct|check|right|ok\b|well formed)"
        rf"|(?:valid|check|verify|correct|校验|验证).*(?:{_IDENTIFIER_TOPIC})",
        _read_identifier,
        "is 978-0-306-40615-7 a correct isbn",
    ),
    _Skill("unit-convert", r".", _read_units, ""),
    _Skill(
        "currency-rates",
        rf"exchange rate|汇率|(?<![a-z])(?:{_ANY_CURRENCY})(?![a-z])"
        r".*(?:\bin(?:to)?\b|\bto\b|多少|换)",
        _read_money,
        "how much are 250 dollars in euros",
    ),
    _Skill(
        "number-base",
        rf"(?:{_ANY_BASE}|two's complement|\bbase \d+\b)",
        _read_base,
        "what is 0xff in decimal",
    ),
    _Skill(
        "encode",
        r"base ?64|url[- ]?(?:en|de)cod|url ?(?:编码|解码)|percent[- ]encod|(?<![a-z])hex(?![a-z]"
        r"| code)"
        r"|(?:en|de)code",
        _read_encoding,
        "encode hello world in base64",
    ),
    _Skill(
        "hash",
        r"(?<![a-z0-9])(?:md5(?!\d)|sha-?\d+|hash(?![a-z])|hmac)|哈希",
        _read_hash,
        "hash hello world with sha256",
    ),
    _Skill("crc-checksum", r"\bcrc|modbus|adler|循环冗余", _read_check, "crc32 of 123456789"),
    _Skill(
        "cron-next",
        r"\bcron",
        _read_cron,
        "when does the cron expression 0 9 * * 1 run next after 2024-03-05",
    ),
    _Skill(
        "csv-convert",
        r"\bcsv\b|\btsv\b|separated values|逗号分隔",
        _read_table,
        "convert this csv to json: name,age (with a line for each row below it)",
    ),
    _Skill(
        "color-convert",
        r"colou?r|颜色|#[0-9a-f]{3,8}\b|\brgb\b|\bhsl\b|contrast",
        _read_color,
        "convert the color #663399 to rgb",
    ),
    _Skill(
        "geo-distance",
        r"how far|(?<!edit )distance|bearing|经纬度|crow flies|\bkm (?:north|south|east|west)",
        _read_places,
        "how far is 48.8566, 2.3522 from 51.5074, -0.1278 (latitude and longitude)",
    ),
    _Skill(
        "html-to-text",
        r"\bhtml\b|\btags\b|web page source|entit(?:y|ies)",
        _read_html,
        "strip the tags from this html: <p>Hello <b>you</b></p>",
    ),
    _Skill(
        "loan-plan",
        r"\bloan|mortgage|贷款|月供|amortization",
        _read_loan,
        "monthly payment of a mortgage of 200000 at 6% over 30 years",
    ),
    _Skill(
        "invest-value",
        r"interest|compound(?:ed|ing)|\bnpv\b|present value|\birr\b|\bsav(?:e|ing)\b.*month|复利"
        r"|invest",
        _read_investment,
        "what becomes of 1000 at 5% compound interest in 10 years",
    ),
    _Skill(
        "ip-subnet",
        rf"subnet|\bip\b|netmask|子网|(?<![\d.])(?:{_ADDRESS})",
        _read_subnet,
        "subnet mask and host range of 192.168.1.10/24",
    ),
    _Skill(
        "json-validate",
        r"schema",
        _read_json_schema,
        'does `{"age": "x"}` fit the json schema `{"properties": {"age": {"type": "integer"}}}`',
    ),
    _Skill(
        "json-diff",
        r"json patch|(?:changed|diff\w*|compare|差异|比较).*json|json.*(?:changed|diff|差异)",
        _read_json_change,
        'what changed between the json `{"a": 1}` and `{"a": 2}`',
    ),
    _Skill(
        "json-query",
        r"json.*(?:\bget\b|query|path|路径)|query.*json|jsonpath|路径.*json|`\s*[\[{].*`.*\bby\b",
        _read_json_path,
        'from the json `{"user": {"name": "Ann"}}` get `user.name`',
    ),
    _Skill(
        "levenshtein",
        r"edit distance|levenshtein|\bedits\b|fuzzy match|编辑距离",
        _read_two_texts,
        "how many edits between kitten and sitting",
    ),
    _Skill(
        "text-similarity",
        r"jaro|similar|common subsequence|bigram|trigram|\bduplicate$|子序列|相似",
        _read_two_texts,
        "jaro-winkler score of MARTHA and MARHTA",
    ),
    _Skill(
        "markdown-table",
        r"markdown|table for github",
        _read_rows,
        'make a markdown table of `[{"name": "Ann", "age": 7}]`',
    ),
    _Skill(
        "matrix",
        r"matri|determinant|linear equations|矩阵|行列式",
        _read_matrix,
        "determinant of the matrix [[1, 2], [3, 4]]",
    ),
    _Skill(
        "number-words",
        r"spell out|\bin (?:english )?words\b|which number is"
        r"|英文写法|人民币大写|(?<!罗马)数字.*写",
        _read_number_words,
        "spell out 1234567 in english words",
    ),
    _Skill(
        "prime-factors",
        r"\bprime|factori[sz]e|质数|素数|质因数",
        _read_prime,
        "prime factors of 360",
    ),
    _Skill("qr-svg", r"\bqr\b|二维码", _read_qr, "make a qr code for https://example.com"),
    _Skill(
        "chart-svg",
        r"\b(?:bar|line|pie) chart|\bplot\b|柱状图|折线图|饼图|\bchart of\b",
        _read_chart,
        "draw a bar chart of: January 3, February 5, March 4",
    ),
    _Skill(
        "random-values",
        r"\buuid\b(?!.*valid)|random|\broll\b|\bdice\b|\bcoin\b|\bpick (?:an?|one|any)\b"
        r"|(?:generate|make|new) .*password|^(?:an? )?password (?:with|of) \d"
        r"|shuffle|随机|抛硬币|掷.{0,2}骰子",
        _read_random,
        "pick two winners at random from Ann, Bob, Cleo and Dan",
    ),
    _Skill(
        "search-history",
        r"what did (?:I|we|you) say|chat history|find the message|聊天记录",
        _read_history,
        "search the chat history for the address of the hotel",
    ),
    _Skill(
        "recall",
        r"\brecall\b|do you (?:still )?(?:know about|remember)|look up memory"
        r"|do you (?:still )?know\b.*\b(?:my|our|I)\b"
        r"|^(?:what|when|where|who|which|how)\b(?!.*\d).*\bagain\W*$"
        r"|^(?:w\w+|an welche\w|in welche\w|auf welche\w|bei welche\w)\b(?!.*\d)"
        r".*\b(?:nochmal|noch mal|noch gleich|noch einmal)\b"
        r"|来着\W*$"
        r"|\bdid I (?:tell|ask) you"
        r"|记得|^(?!how (?:do|can|could|should) I (?:change|set|use|make|install|delete)\b)"
        r"(?:(?:on|in|at|to|from|for|with|by) )?"
        r"(?:what|when|where|who|which|how)(?:'?s|'re)?\b(?!.*\d).*\b(?:my|I|me|our)\b"
        r"|^what(?:'?s| is| was) the (?:wi-?fi|password|code|name)|我的?.*(?:是什么|是啥|叫啥|是哪"
        r"|是谁|在哪|几号)"
        r"|^我(?![想要]|们要).{0,30}(?:什么|哪|谁|几[号点岁月]|多少|多大|吗)|^(?:谁|哪).{0,30}我"
        r"|^(?:(?:an|in|auf|bei|mit|zu|für|von) )?(?:was|wie|wo|wann|wer|wen|wem|woher|wohin"
        r"|wogegen|welche[rsnm]?)\b(?!.*\d)"
        r".*\b(?:mein(?:e[rnms]?)?|ich|mir|mich|unsere?)\b"
        r"|^(?:wie (?:lautet|ist|hei(?:ß|ss)t)|wo (?:ist|liegt)) (?:das|der|die)"
        r" [\w-]*(?:passwort|kennwort|code|pin|wlan|schlüssel|nummer|adresse)\b"
        r"|\bwei(?:ß|ss)t du (?:noch|über|von)|erinnerst du dich"
        r"|知道.{0,4}我.{0,4}(?:什么|哪些|多少)|关于我",
        _read_recall,
        "what do you know about me",
    ),
    _Skill(
        "regex-extract",
        REGEX_TOPIC,
        lambda request: read_regex(request.words),
        r"extract `\d+` from `order 66 of 2024`",
    ),
    _Skill("roman-numerals", r"\broman\b|罗马", _read_roman, "write 1994 in roman numerals"),
    _Skill(
        "shape-area",
        r"\barea\b|volume of|perimeter|circumference|surface|angles of|体积|面积|周长",
        _read_shape,
        "area of a circle with radius 2",
    ),
    _Skill(
        "slugify",
        r"slug|safe file name",
        _read_slug,
        "slugify the title Hello, World!",
    ),
    _Skill(
        "sort-list",
        r"\bsort\b|alphabeti|duplicates|in both lists|reverse the (?:order|list)|去重|排序",
        _read_list,
        "sort pear, apple, fig",
    ),
    _Skill(
        "statistics",
        r"\baverage\b|\bmean\b|median|standard deviation|correlation|regression|平均|标准差|中位数",
        _read_figures,
        "the average of these numbers: 3, 7, 11",
    ),
    _Skill(
        "template-render",
        r"template|模板",
        _read_template,
        "render the template Hello {{name}} with name Ann",
    ),
    _Skill(
        "text-diff",
        r"\bdiff\b|what changed|两个版本",
        _read_versions,
        'make a diff of "one old line" and "one new line"',
    ),
    _Skill(
        "text-stats",
        r"(?:how many|count (?:the )?|number of) ?(?:words|characters|letters|sentences|lines)"
        r"|(?:word|character|letter) count|frequent words|long does it take to read|how long is"
        r"|字数|(?:多少|几)个?字|词频",
        _read_counted,
        "how many words are in: to be or not to be",
    ),
    _Skill(
        "text-wrap",
        r"\bwrap\b|\breflow\b|long lines|折行|换行",
        _read_wrapped,
        "wrap this text at 40 columns: (the text)",
    ),
    _Skill("web-search", SEARCH_TOPIC, _read_search, "search the web for tea harbours"),
    _Skill(
        "url-parts",
        r"\burl\b(?! slug|[- ]?(?:en|de)code)|query parameter|网址",
        _read_url,
        "parse the url https://example.com:8080/a/b?x=1",
    ),
    _Skill(
        "weather-now",
        r"weather|\brain\b|temperature in|天气|气温|下雨",
        _read_weather,
        "what is the weather in Bern",
    ),
    _Skill("case-convert", _ANY_CASE, _read_case, "write hello world in camelCase"),
    _Skill(
        "calculate",
        r"\d|\bpi\b",
        _read_sum,
        "",
    ),
)
LIBRARY_TOOLS = frozenset(
    tool_of(name) for name in (*(skill.capability for skill in _SKILLS), "remember", "forget")
)
"""The tools that only this module calls: their arguments are never guessed by their schema."""
