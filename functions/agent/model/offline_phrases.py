"""Requests in German and Chinese, each with the English request that means the same.

The readers of the offline model's library know English best. A whole sentence has to fit a phrase,
so that nothing of what somebody wrote is left out; what fits none is read as it was written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import Final

from functions.agent.model.offline_units import names_unit
from functions.agent.model.offline_values import read_chinese_numbers
from functions.texts.de import TEXTS as GERMAN

Reader = Callable[[str], str]
"""Returns a value of a phrase as English writes it; empty when it is none."""


@dataclass(frozen=True, slots=True)
class _Phrase:
    """A pattern, the readers of its groups, and what it means; `{0}` is the first group."""

    pattern: re.Pattern[str]
    readers: tuple[Reader, ...]
    meaning: str


def find_meaning(words: str) -> str:
    """Return the English request that a German or Chinese one means; the words where it is none."""
    plain = words.strip()
    for phrase in _compile_phrases():
        found = phrase.pattern.fullmatch(plain)
        if found is None:
            continue
        values = [
            read(value or "") for read, value in zip(phrase.readers, found.groups(), strict=True)
        ]
        if all(values):
            return phrase.meaning.format(*values)
    return words


_COUNTS: Final = {
    **dict.fromkeys(("ein", "eine", "einen", "einem", "einer", "eines"), "1"),
    **dict.fromkeys(("anderthalb", "eineinhalb"), "1.5"),
    "zweieinhalb": "2.5",
    **{
        word: str(count)
        for count, word in enumerate(
            "zwei drei vier fünf sechs sieben acht neun zehn elf zwölf".split(), 2
        )
    },
}
_DIGITS: Final = r"[-−]?(?:\d{1,3}(?:\.\d{3})+(?!\d)|\d+)(?:,\d+|\.\d+)?"
_MONTHS: Final = (
    ("januar", "jänner", "jan"),
    ("februar", "feber", "feb"),
    ("märz", "maerz", "mär"),
    ("april", "apr"),
    ("mai",),
    ("juni", "jun"),
    ("juli", "jul"),
    ("august", "aug"),
    ("september", "sept", "sep"),
    ("oktober", "okt"),
    ("november", "nov"),
    ("dezember", "dez"),
)
_DAYS: Final = {
    "heute": "today",
    "morgen": "tomorrow",
    "gestern": "yesterday",
    "übermorgen": "day after tomorrow",
    "vorgestern": "day before yesterday",
    "weihnachten": "christmas",
    "heiligabend": "christmas eve",
    "silvester": "new year's eve",
    "neujahr": "new year",
    "ostern": "easter",
    "今天": "today",
    "明天": "tomorrow",
    "昨天": "yesterday",
    "后天": "day after tomorrow",
    "前天": "day before yesterday",
    "圣诞节": "christmas",
    "圣诞": "christmas",
    "平安夜": "christmas eve",
    "元旦": "new year",
    "复活节": "easter",
    "春节": "",
}
_UNITS: Final = {
    name.casefold(): symbol
    for symbol, names in GERMAN.unit_names.items()
    for name in names.split("|")
} | {
    "pfund": "lb",
    "kilo": "kg",
    "kilos": "kg",
    "celsius": "C",
    "°c": "C",
    "fahrenheit": "F",
    "°f": "F",
    "kelvin": "K",
    "fuss": "ft",
    "unze": "oz",
    "gramm": "g",
    "stundenkilometer": "km/h",
    "tagen": "d",
    "monaten": "month",
    "jahren": "year",
    "el": "tbsp",
    "tl": "tsp",
    "qm": "m2",
    "quadratmeter": "m2",
    "tasse": "cup",
    "tassen": "cup",
    "morgen": "",
}
_SPOKEN: Final = (
    (r"\bzum quadrat\b", "^2"),
    (r"\bhoch\b", "^"),
    (r"\bmal\b|[×·]", "*"),
    (r"\b(?:geteilt|dividiert) durch\b|\bdurch\b|÷|(?<=\d) ?: ?(?=\d)", "/"),
    (r"\bminus\b|−", "-"),
    (r"\bplus\b|\bund\b", "+"),
    (r"\bprozent\b", "%"),
    (rf"\bdie hälfte (?:von|aus)\b|\bein halb(?:es)?(?: von)?(?= {_DIGITS})", "1/2 *"),
    (r"\b(?:ein|das) drittel von\b", "1/3 *"),
    (r"\b(?:ein|das) viertel von\b", "1/4 *"),
    (r"\bdas doppelte von\b", "2 *"),
    (r"% (?:von|auf)\b", "% of"),
    (r"(?<=\d) von\b", " *"),
    (rf"\b(?:die )?(?:quadrat)?wurzel (?:aus|von) ({_DIGITS})", r"sqrt(\1)"),
    (rf"\b(?:die )?fakultät von ({_DIGITS})", r"factorial(\1)"),
)


_ONLY_GERMAN: Final = (
    r"\d mal |\d hoch |durch |prozent von|% von|wurzel |hälfte|drittel|viertel|quadrat"
)
"""Words of a sum by which it is German, and a comma in its numbers the decimal one."""


def _read_number(text: str) -> str:
    """Return a number such as `1.234,5` or `zwei`."""
    plain = text.casefold().strip()
    if plain in _COUNTS:
        return _COUNTS[plain]
    if not re.fullmatch(_DIGITS, plain):
        return ""
    if re.fullmatch(r"[-−]?\d{1,3}(?:\.\d{3})+(?:,\d+)?", plain):
        plain = plain.replace(".", "")
    return plain.replace(",", ".")


def _read_chinese_number(text: str) -> str:
    plain = text.strip().replace(",", "")
    half = plain.endswith("半")
    digits = read_chinese_numbers(plain.removesuffix("半").removesuffix("个"))
    return f"{digits}.5" if half and digits.isdecimal() else digits


def _read_discount(text: str) -> str:
    """Return what is left of a price: 八折 and 8折 are 0.8, 八五折 and 85折 are 0.85."""
    digits = read_chinese_numbers(text.strip())
    if not digits:
        return ""
    return digits if "." in digits and digits.startswith("0") else f"0.{digits.replace('.', '')}"


def _read_unit(text: str) -> str:
    plain = " ".join(text.split())
    known = _UNITS.get(plain.casefold())
    return known if known is not None else plain if names_unit(plain) else ""


def _read_sum(text: str) -> str:
    """Return a sum in signs, such as `3.5 * 2`; empty where a word is left or no sign."""
    plain = text
    for pattern, sign in _SPOKEN:
        plain = re.sub(pattern, sign, plain, flags=re.IGNORECASE)
    plain = re.sub(_DIGITS, lambda found: _read_number(found[0]) or found[0], plain).strip()
    left = re.sub(r"\b(?:sqrt|factorial)\(|(?<=%) of\b", "", plain)
    computes = re.search(r"\d\s*[-+*/^%]|\(", plain)
    return plain if computes and re.fullmatch(r"[\d\s.+\-*/^%()]+", left) else ""


def _read_date(text: str) -> str:
    """Return a day as a date, or as its English name; empty for none."""
    plain = " ".join(text.casefold().split())
    if plain in _DAYS:
        return _DAYS[plain]
    if re.fullmatch(r"\d{4}-\d{1,2}-\d{1,2}|\d{4} ?年 ?\d{1,2} ?月 ?\d{1,2} ?[日号]", plain):
        return plain
    found = re.fullmatch(r"(\d{1,2})\. ?(\d{1,2})\. ?(\d{4})", plain)
    if found:
        return _write_date(int(found[3]), int(found[2]), int(found[1]))
    found = re.fullmatch(r"(\d{1,2})\. ?([a-zäöü]+)\.? (\d{4})", plain)
    month = next((n for n, names in enumerate(_MONTHS, 1) if found and found[2] in names), 0)
    return _write_date(int(found[3]), month, int(found[1])) if found and month else ""


def _write_date(year: int, month: int, day: int) -> str:
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return ""


def _read_list(text: str) -> str:
    """Return numbers with decimal commas as English writes them; other lists as they are."""
    if re.search(r",\s|;|\sund\s", text) and re.fullmatch(r"(?:[\d\s.,;-]|und)+", text):
        text = re.sub(r"(\d),(\d)", r"\1.\2", text)
    return re.sub(r"\s+und\s+|;\s*", ", ", text)


def _keep(text: str) -> str:
    return text.strip()


def _choose(**meanings: str) -> Reader:
    """Return a reader of words that each begin like a key."""

    def read(text: str) -> str:
        plain = text.casefold().strip()
        return next((value for key, value in meanings.items() if plain.startswith(key)), "")

    return read


_read_base = _choose(
    bin="binary", dual="binary", hex="hexadecimal", okt="octal", dez="decimal", dezimal="decimal"
)
_read_case = _choose(gro="upper case", kle="lower case")
_read_counted = _choose(
    w="words", ze="characters", zeichen="characters", b="letters", s="sentences"
)
_read_span = _choose(tag="days", woche="weeks", monat="months", jahr="years", stunde="hours")
_read_day_kind = _choose(
    wochene="weekend",
    am="weekend",
    wochent="weekday",
    werk="workday",
    arbeits="workday",
    工作="workday",
    周末="weekend",
)
_read_feast = _choose(
    ostersonntag="easter",
    ostermontag="easter monday",
    ostern="easter",
    karfreitag="good friday",
    pfingst="pentecost",
    himmelfahrt="ascension",
    christi="ascension",
    aschermittwoch="ash wednesday",
)
_read_identifier = _choose(
    isbn="isbn",
    iban="iban",
    e="email",
    mail="email",
    uuid="uuid",
    ean="ean",
    kredit="card",
    karten="card",
    邮="email",
    信用卡="card",
    银行卡="card",
    身份证="chinese id",
)

_KINDS: Final[dict[str, tuple[str, Reader]]] = {
    "number": (rf"({_DIGITS}|{'|'.join(sorted(_COUNTS, key=len, reverse=True))})", _read_number),
    "percent": (rf"({_DIGITS}) ?(?:%|prozent)", _read_number),
    "money": (rf"({_DIGITS})(?: euro| €)?", _read_number),
    "count": (r"([零一二三四五六七八九两十百千万亿\d.,]+个?半?)", _read_chinese_number),
    "discount": (r"([一二三四五六七八九]{1,2}|\d(?:\.\d)?|\d\d)", _read_discount),
    "unit": (
        r"((?:grad|britische[sn]?|amerikanische|astronomische) [^\W\d_]+|[^\W\d_]+ pro [^\W\d_]+"
        r"|l/100 ?km|liter auf 100 km|[^\W\d_]+/[^\W\d_]+|°\s?[CFK]|[^\W\d_]+[²³\d]?)",
        _read_unit,
    ),
    "sum": (r"(?=[^?!\n]*\d)([^?!\n]+?)", _read_sum),
    "spoken": (rf"(?=[^?!\n]*(?:{_ONLY_GERMAN}))([^?!\n]+?)", _read_sum),
    "date": (r"([^?!\n]{2,30}?)", _read_date),
    "text": (r"(.+)", _keep),
    "list": (r"(.+?)", _read_list),
    "raw": (r"(0x[0-9a-f]+|0b[01]+|0o[0-7]+|\d+)", _keep),
    "base": (r"(?:ins? |als )?((?:bin|dual|hex|okt|dez)[a-zäöü]*)", _read_base),
    "case": (r"((?:groß|gross|klein)buchstaben|(?:groß|klein)geschrieben)", _read_case),
    "counted": (r"(wörter|worte|zeichen|buchstaben|sätze)", _read_counted),
    "span": (r"(tage?n?|wochen?|monate?n?|jahre?n?|stunden?)", _read_span),
    "kind": (
        r"((?:am )?wochenende|wochentag|werktag|arbeitstag|工作日|周末)",
        _read_day_kind,
    ),
    "feast": (
        r"(ostersonntag|ostermontag|ostern|karfreitag|pfingst(?:en|sonntag)"
        r"|(?:christi )?himmelfahrt|aschermittwoch)",
        _read_feast,
    ),
    "year": (r"(\d{4})", _keep),
    "identifier": (
        r"(isbn|iban|e-?mail(?:-?adresse)?|mailadresse|uuid|ean|kreditkarten?nummer|kartennummer"
        r"|邮箱(?:地址)?|信用卡号?|银行卡号?|身份证号?)",
        _read_identifier,
    ),
    "algorithm": (r"(md5|sha-?\d{1,3})", _keep),
    "roman": (r"([MDCLXVI]+)", _keep),
}
"""The kinds of values in the phrases: the pattern of each, and its reader."""

_COMPUTE: Final = (
    r"(?:(?:was|wie ?viel) (?:ist|sind|ergibt|ergeben|macht|gibt) |(?:be)?rechne(?: mal)? )"
)
_TO: Final = r"(?:in|nach|zu|als)"
_MAKE: Final = r"(?:(?:gib|mach|mache|erzeuge|erstelle|generiere|zeig|zeige|nenn)(?: mir)? )?"
_LATIN_PHRASES: Final = (
    # units
    (
        r"(?:(?:was|wie ?viel) (?:sind|ist) )?<number> grad (?:in|nach) (?:grad )?fahrenheit",
        "{0} C to F",
    ),
    (r"wie ?viel grad (?:sind|ist) <number> (?:grad )?fahrenheit", "{0} F to C"),
    (
        r"wie ?viele? <unit> (?:sind|ist|ergeben|entsprechen|hat|haben) <number> <unit>",
        "{1} {2} to {0}",
    ),
    (
        r"(?:(?:was|wie ?viel) (?:sind|ist) |rechne |wandl?e(?:le)? |konvertiere )?"
        rf"<number> ?<unit> {_TO} <unit>(?: um)?",
        "{0} {1} to {2}",
    ),
    # dates
    (
        r"(?:welche[rn]?|was für ein(?:en)?) (?:wochen)?tag (?:ist|war|wird|haben wir)(?: am| der)?"
        r" <date>",
        "what weekday is {0}",
    ),
    (r"was (?:ist|war|wird)(?: der)? <date> für ein (?:wochen)?tag", "what weekday is {0}"),
    (r"welches datum (?:ist|haben wir|war) <date>", "what date is {0}"),
    (r"(?:ist|war|fällt)(?: der)? <date> (?:ein |auf ein )?<kind>", "is {0} a {1}"),
    (
        r"wie (?:viele (?:tage|wochen)|lange)(?: sind| ist| dauert| noch| es)* bis(?: zum?)?"
        r"(?: dem)? <date>",
        "how many days until {0}",
    ),
    (
        r"wie viele (?:tage|wochen) (?:sind es |sind |liegen )?(?:zwischen|vom|von)(?: dem)? <date>"
        r" (?:und|bis)(?: zum| dem)? <date>",
        "how many days are between {0} and {1}",
    ),
    (r"wann (?:ist|war)(?: das)?(?: nächste[sn]?)? <feast>", "when is next {0}"),
    (r"wann (?:ist|war)(?: im jahr)? <feast>(?: im jahr| in)? <year>", "when is {0} {1}"),
    (
        r"(?:was|welches datum|welcher tag) (?:ist|haben wir)(?: heute)? in <number> <span>",
        "what date is it in {0} {1}",
    ),
    (r"addiere <number> <span> zu[mr]? <date>", "add {0} {1} to {2}"),
    (r"<date> plus <number> <span>", "add {1} {2} to {0}"),
    (r"(?:wie viele )?tage (?:noch )?bis(?: zum?)? <date>", "how many days until {0}"),
    (
        r"(?:wie viele )?tage (?:vom|von|zwischen)(?: dem)? <date> (?:bis|und)(?: zum"
        r"| dem)? <date>",
        "how many days are between {0} and {1}",
    ),
    (r"wie alt bin ich,? (?:wenn ich )?(?:am )?geboren(?: am)? <date>", "how old am I, born {0}"),
    (
        r"wie alt bin ich,? wenn ich am <date> geboren (?:bin|wurde)",
        "how old am I, born {0}",
    ),
    (
        r"(?:in )?welche[r]? (?:kw|kalenderwoche) (?:ist|liegt|war) (?:der |am )?<date>",
        "what week is {0}",
    ),
    (r"wie ist das wetter(?: heute| gerade| jetzt)? in <text>", "what is the weather in {0}"),
    (r"wie wird das wetter morgen in <text>", "what is the weather tomorrow in {0}"),
    (r"wie (?:spät|viel uhr) ist es(?: jetzt| gerade)? in <text>", "what time is it in {0}"),
    # numbers
    (
        r"(?:schreibe? |was ist |wie schreibt man )?<number> (?:in|als) römische[nr]?"
        r" (?:zahl(?:en)?|ziffern?)",
        "write {0} in roman numerals",
    ),
    (r"(?:was ist )?<roman> als (?:arabische )?zahl", "what number is the roman numeral {0}"),
    (r"(?:die )?römische zahl(?: für| von)? <number>", "write {0} in roman numerals"),
    (
        r"(?:welche zahl|was) ist die römische zahl <roman>",
        "what number is the roman numeral {0}",
    ),
    (r"ist <number> (?:eine )?(?:prim|primzahl)", "is {0} prime"),
    (r"primzahl <number>", "is {0} prime"),
    (
        r"(?:(?:die )?primfaktor(?:en|zerlegung) (?:von|der)|zerlege) <number>"
        r"(?: in primfaktoren)?",
        "prime factors of {0}",
    ),
    (r"(?:was ist |wandle |konvertiere )?<raw> <base>(?: um)?", "convert {0} to {1}"),
    (r"(?:was ist )?(?:binär|dual) ([01]+) (?:in|als) dezimal\w*", "convert 0b{0} to decimal"),
    (r"(?:was ist )?<base>(?:zahl)? von <raw>", "convert {1} to {0}"),
    (r"runde <number> auf <number> (?:nachkomma)?stellen", "format {0} with {1} decimals"),
    (
        r"(?:wie viel )?zinsen (?:auf|für) <money> (?:bei|zu|mit) <percent>"
        r" (?:in|nach|über|für) <number> jahren?",
        "what becomes of {0} at {1}% compound interest in {2} years",
    ),
    (r"<percent> rabatt auf <money>", "{0}% off {1}"),
    (r"trinkgeld (?:von )?<percent> (?:auf|von|für) <money>", "{0}% of {1}"),
    (
        r"netto (?:von|aus) <money>(?: brutto)? (?:bei|mit) <percent>(?: mwst)?",
        "{0} / (1 + {1} / 100)",
    ),
    (r"wie ?viel prozent (?:sind|ist) <number> von <number>", "{0} / {1} * 100"),
    (r"(?:teile )?<money> durch <number> (?:leute|personen|freunde|köpfe)", "{0} / {1}"),
    (
        r"kredit (?:von |über )?<number>(?: euro| €)?,? <percent> (?:im"
        r"|pro) monat,? <number> monate"
        r"(?:,? (?:monatliche )?rate)?",
        "loan of {0} at {1}% a month over {2} months",
    ),
    (
        r"<number>(?: euro| €)?,? (?:zu |mit )?<percent> (?:im|pro) jahr,? <number> jahre"
        r" (?:mit zinseszins|zinseszins)",
        "what becomes of {0} at {1}% compound interest in {2} years",
    ),
    (
        r"(?:(?:rechne|was sind|wie ?viel sind) )?<percent>"
        r" (?:trinkgeld|mehrwertsteuer|mwst) (?:auf|von|für) <money>",
        "{0}% of {1}",
    ),
    (
        r"(?:was wird aus|wie viel werden) <money> (?:bei|zu|mit) <percent>"
        r"(?: zins(?:en|eszins)?)? (?:in|nach|über) <number> jahren?",
        "what becomes of {0} at {1}% compound interest in {2} years",
    ),
    (
        r"(?:(?:monatliche )?rate (?:für|bei) )?(?:ein(?:en|em)? )?kredit (?:über|von) <number>"
        r"(?: euro| €)? (?:bei|zu|mit) <percent>(?: zinsen)? (?:für|über|auf) <number>"
        r" jahre",
        "monthly payment of a loan of {0} at {1}% over {2} years",
    ),
    (
        r"(?:was ist )?(?:der |den )?(?:mittelwert|durchschnitt)(?: von| aus|:)? <list>",
        "the average of: {0}",
    ),
    (r"(?:was ist )?(?:der |den )?median(?: von| aus|:)? <list>", "the median of: {0}"),
    (
        r"(?:die )?fläche eines kreises mit(?: dem)? radius <number>",
        "area of a circle with radius {0}",
    ),
    (
        r"(?:das )?volumen einer kugel mit(?: dem)? radius <number>",
        "volume of a sphere with radius {0}",
    ),
    # chance
    (r"(?:würfle|würfel|würfele)(?: mal)?(?: bitte)?", "roll a dice"),
    (r"wirf <number> würfel", "roll {0} dice"),
    (r"(?:wirf (?:eine )?münze|münzwurf|kopf oder zahl)", "flip a coin"),
    (
        rf"{_MAKE}(?:eine )?(?:zufallszahl|zufällige zahl|zahl) (?:zwischen|von) <number>"
        r" (?:und|bis) <number>",
        "random number between {0} and {1}",
    ),
    (rf"{_MAKE}(?:eine )?(?:neue )?uuid", "generate a uuid"),
    (
        rf"{_MAKE}(?:ein )?(?:neues |sicheres |zufälliges )?(?:passwort|kennwort)",
        "generate a random password",
    ),
    (
        rf"{_MAKE}(?:ein )?(?:neues |sicheres |zufälliges )?passwort mit <number>"
        r" (?:zeichen|stellen)",
        "make a strong random password of {0} characters",
    ),
    (
        r"(?:wähle?|nimm|such)(?: mir)? (?:eins|einen|eine|etwas) (?:aus|von)[: ] ?<list>",
        "pick one from: {0}",
    ),
    # lists and texts
    (r"sortiere? absteigend:? <list>", "sort descending: {0}"),
    (r"sortiere?:? <list>", "sort: {0}"),
    (r"sortiere? <list>,? absteigend", "sort descending: {0}"),
    (r"misch(?:e|le)?:? <list>", "shuffle: {0}"),
    (
        r"(?:entferne|lösche) (?:doppelte|duplikate)(?: einträge)?(?: aus| in)?:? <list>",
        "remove duplicates from: {0}",
    ),
    (r"(?:schreibe?|setze?|wandle) (.+?) (?:in|mit) <case>(?: um)?", "write in {1}: {0}"),
    (r"<case>: <text>", "write in {0}: {1}"),
    (
        r"wie viele <counted> (?:hat|haben|sind in|stehen in|enthält):? <text>",
        "how many {0} are in: {1}",
    ),
    (
        r"(?:berechne |was ist )?(?:den |die |der )?<algorithm>(?:-?(?:hash|summe|prüfsumme))?"
        r" (?:von|für|aus) <text>",
        "{0} of: {1}",
    ),
    (r"(?:was ist )?(base ?64|hex|url)(?:-?kodierung)? (?:von|für) <text>", "encode in {0}: {1}"),
    (
        r"(?:mach|mache|erstelle|erzeuge|zeig)?(?: mir)? ?(?:einen )?qr[- ]?code (?:für|aus|mit"
        r"|von)"
        r"(?: (?:dem )?text)? <text>",
        "make a qr code for {0}",
    ),
    (
        r"ist (.+?) (?:eine? )?(?:gültige?r?s?|korrekte?r?s?|richtige?r?s?) <identifier>",
        "is {0} a valid {1}",
    ),
    (r"(?:über)?prüfe?(?: die)? <identifier>:? (.+?)", "is {1} a valid {0}"),
    (r"ist die <identifier> (.+?) (?:gültig|korrekt|richtig)", "is {1} a valid {0}"),
    # sums
    (rf"{_COMPUTE}<sum>(?: aus)?", "{0}"),
    (r"<spoken>", "{0}"),
)
_CHINESE_PHRASES: Final = (
    (r"<date>(?:是|又是)?(?:星期|周|礼拜)几", "what weekday is {0}"),
    (r"<date>(?:是)?(?:几号|几月几号|什么日子)", "what date is {0}"),
    (r"<date>是(?:不是)?<kind>[吗么]?", "is {0} a {1}"),
    (r"(?:现在|今天)?(?:离|距离?|到)<date>还?(?:有|剩)?(?:多少|几)天", "how many days until {0}"),
    (r"<count> ?乘以?<count>(?:等于|是|得)?(?:多少|几)?", "{0} * {1}"),
    (r"<count> ?加上?<count>(?:等于|是|得)?(?:多少|几)?", "{0} + {1}"),
    (r"<count> ?减去?<count>(?:等于|是|得)?(?:多少|几)?", "{0} - {1}"),
    (r"<count> ?除以<count>(?:等于|是|得)?(?:多少|几)?", "{0} / {1}"),
    (r"<count> ?的 ?<count> ?次方(?:等于|是)?(?:多少|几)?", "{0} ^ {1}"),
    (
        r"<count>(小时|分钟|天|周|星期|月|年|公里|公斤)(?:是|等于|有)(?:多少|几)个?([一-鿿]{1,4})",
        "{0}{1}等于多少{2}",
    ),
    (r"<date>(?:出生|生)的?[，, ]*(?:我)?今年(?:多大|几岁)(?:了)?", "how old am I, born {0}"),
    (r"<count>天[之以]?后是?(?:几月几号|几号|哪天|哪一天)", "what date is it in {0} days"),
    (r"原价 ?<count> ?[元块]? ?打 ?<discount>折(?:后)?(?:是|要)?(?:多少钱?)?", "{0} * {1}"),
    (r"从 ?<count> ?涨到 ?<count> ?涨了?百分之(?:几|多少)", "({1} - {0}) / {0} * 100"),
    (r"从 ?<count> ?[降跌]到 ?<count> ?[降跌]了?百分之(?:几|多少)", "({0} - {1}) / {0} * 100"),
    (r"<count>个?人 ?aa ?<count>[元块]?[，, ]*(?:每人|一人|人均)?(?:多少钱?)?", "{1} / {0}"),
    (
        r"<count>[元块]? ?加 ?<percent> ?(?:服务费|小费|税)[，, ]*<count>个?人(?:平分|均分|平摊|aa)"
        r"(?:[，, ]*每人(?:多少钱?)?)?",
        "{0} * (1 + {1} / 100) / {2}",
    ),
    (
        r"(\S+) ?是(?:不是)?(?:一个)?(?:有效|正确|合法)的 ?<identifier> ?[吗么]?",
        "is {0} a valid {1}",
    ),
    (r"<identifier> ?(\S+?) ?(?:有效|正确|对|合法) ?[吗么]?", "is {1} a valid {0}"),
)


def _compile(phrases: Sequence[tuple[str, str]]) -> list[_Phrase]:
    compiled = []
    for pattern, meaning in phrases:
        readers: list[Reader] = []
        parts = re.split(r"<(\w+)>|(\((?!\?))", pattern)
        written = ""
        for plain, kind, group in zip(
            parts[::3], [*parts[1::3], ""], [*parts[2::3], ""], strict=True
        ):
            written += plain or ""
            if kind:
                value, reader = _KINDS[kind]
                written += value
                readers.append(reader)
            elif group:
                written += group
                readers.append(_keep)
        end = "" if pattern.endswith("<text>") else r"[\s?!.？！。]*"
        compiled.append(
            _Phrase(re.compile(written + end, re.IGNORECASE | re.DOTALL), tuple(readers), meaning)
        )
    return compiled


@cache
def _compile_phrases() -> tuple[_Phrase, ...]:
    """Return all phrases; to compile them takes longer than to answer a request."""
    return (*_compile(_LATIN_PHRASES), *_compile(_CHINESE_PHRASES))
