"""Time zones: the one that somebody names, and the time that its clocks show.

The names and rules are those of the IANA database that the machine has, or of the package `tzdata`
where it has none.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from difflib import get_close_matches
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

DEFAULT: Final = "UTC"
DAY_SECONDS: Final = 86_400
LATEST: Final = 253_000_000_000.0
"""A time of the year 9987: later than any that a clock shows."""
SKIPPED_MOST: Final = 2 * 24 * 60
"""Clocks skip so many minutes at most: a zone at the date line has skipped a day."""
EPOCH: Final = date(1970, 1, 1).toordinal()
NAME_CHARACTERS: Final = 60
"""A longer name is no zone."""
SUGGESTED: Final = 3
"""So many zones are suggested for a name that is none."""
NEAR: Final = 0.72
"""A name has to be so similar to be suggested (difflib's ratio)."""
AREAS: Final = (
    "Africa America Antarctica Arctic Asia Atlantic Australia Europe Indian Pacific".split()
)
"""The parts of the world whose zones are called after a city."""
PLACES: Final[Mapping[str, str]] = {
    "beijing": "Asia/Shanghai",
    "peking": "Asia/Shanghai",
    "shenzhen": "Asia/Shanghai",
    "guangzhou": "Asia/Shanghai",
    "北京": "Asia/Shanghai",
    "上海": "Asia/Shanghai",
    "深圳": "Asia/Shanghai",
    "广州": "Asia/Shanghai",
    "中国": "Asia/Shanghai",
    "香港": "Asia/Hong_Kong",
    "台北": "Asia/Taipei",
    "东京": "Asia/Tokyo",
    "首尔": "Asia/Seoul",
    "新加坡": "Asia/Singapore",
    "新德里": "Asia/Kolkata",
    "孟买": "Asia/Kolkata",
    "迪拜": "Asia/Dubai",
    "曼谷": "Asia/Bangkok",
    "悉尼": "Australia/Sydney",
    "伦敦": "Europe/London",
    "柏林": "Europe/Berlin",
    "巴黎": "Europe/Paris",
    "莫斯科": "Europe/Moscow",
    "纽约": "America/New_York",
    "洛杉矶": "America/Los_Angeles",
    "旧金山": "America/Los_Angeles",
    "芝加哥": "America/Chicago",
    "多伦多": "America/Toronto",
    "温哥华": "America/Vancouver",
    "san francisco": "America/Los_Angeles",
    "seattle": "America/Los_Angeles",
    "washington": "America/New_York",
    "boston": "America/New_York",
    "miami": "America/New_York",
    "houston": "America/Chicago",
    "dallas": "America/Chicago",
    "munich": "Europe/Berlin",
    "munchen": "Europe/Berlin",
    "hamburg": "Europe/Berlin",
    "frankfurt": "Europe/Berlin",
    "cologne": "Europe/Berlin",
    "koln": "Europe/Berlin",
    "wien": "Europe/Vienna",
    "tokio": "Asia/Tokyo",
    "moskau": "Europe/Moscow",
    "mailand": "Europe/Rome",
    "rom": "Europe/Rome",
    "lissabon": "Europe/Lisbon",
    "kopenhagen": "Europe/Copenhagen",
    "warschau": "Europe/Warsaw",
    "prag": "Europe/Prague",
    "brüssel": "Europe/Brussels",
    "athen": "Europe/Athens",
    "kairo": "Africa/Cairo",
    "genf": "Europe/Zurich",
    "geneva": "Europe/Zurich",
    "bern": "Europe/Zurich",
    "milan": "Europe/Rome",
    "barcelona": "Europe/Madrid",
    "edinburgh": "Europe/London",
    "mumbai": "Asia/Kolkata",
    "delhi": "Asia/Kolkata",
    "new delhi": "Asia/Kolkata",
    "bangalore": "Asia/Kolkata",
    "rio de janeiro": "America/Sao_Paulo",
    "gmt": DEFAULT,
    "z": DEFAULT,
}
"""Places that the database has under another name."""
SPOKEN: Final[Mapping[str, tuple[str, ...]]] = {
    "san juan": ("America/Puerto_Rico", "America/Argentina/San_Juan"),
    "pst": ("America/Los_Angeles",),
    "pdt": ("America/Los_Angeles",),
    "est": ("America/New_York",),
    "edt": ("America/New_York",),
    "cst": ("America/Chicago", "Asia/Shanghai"),
    "cdt": ("America/Chicago",),
    "mst": ("America/Denver",),
    "mdt": ("America/Denver",),
    "hst": ("Pacific/Honolulu",),
    "bst": ("Europe/London",),
    "cest": ("Europe/Berlin", "Europe/Paris"),
    "ist": ("Asia/Kolkata", "Asia/Jerusalem", "Europe/Dublin"),
    "jst": ("Asia/Tokyo",),
    "kst": ("Asia/Seoul",),
    "aest": ("Australia/Sydney", "Australia/Brisbane"),
    "india": ("Asia/Kolkata",),
    "germany": ("Europe/Berlin",),
    "deutschland": ("Europe/Berlin",),
    "france": ("Europe/Paris",),
    "spain": ("Europe/Madrid",),
    "italy": ("Europe/Rome",),
    "china": ("Asia/Shanghai",),
    "uk": ("Europe/London",),
    "england": ("Europe/London",),
    "usa": ("America/New_York", "America/Chicago", "America/Los_Angeles"),
    "california": ("America/Los_Angeles",),
    "texas": ("America/Chicago",),
    "canada": ("America/Toronto", "America/Vancouver"),
    "brazil": ("America/Sao_Paulo",),
    "australia": ("Australia/Sydney", "Australia/Perth"),
    "russia": ("Europe/Moscow",),
}
"""What people say instead of a zone, and what they may mean. `EST` is a zone of the database whose
clocks never change, which is hardly what anybody means.
"""
COMMON: Final = (
    "Europe/London",
    "Europe/Berlin",
    "Europe/Athens",
    "Europe/Moscow",
    "Asia/Dubai",
    "Asia/Karachi",
    "Asia/Kolkata",
    "Asia/Kathmandu",
    "Asia/Dhaka",
    "Asia/Bangkok",
    "Asia/Shanghai",
    "Asia/Singapore",
    "Asia/Tokyo",
    "Australia/Adelaide",
    "Australia/Sydney",
    "Pacific/Auckland",
    "Pacific/Honolulu",
    "America/Anchorage",
    "America/Los_Angeles",
    "America/Denver",
    "America/Chicago",
    "America/New_York",
    "America/Halifax",
    "America/St_Johns",
    "America/Sao_Paulo",
    "Atlantic/Azores",
)
"""Zones to suggest for an offset."""
OF_LANGUAGES: Final[Mapping[str, str]] = {
    "cs": "Europe/Prague",
    "da": "Europe/Copenhagen",
    "de": "Europe/Berlin",
    "el": "Europe/Athens",
    "en-gb": "Europe/London",
    "fi": "Europe/Helsinki",
    "fr": "Europe/Paris",
    "he": "Asia/Jerusalem",
    "hi": "Asia/Kolkata",
    "hu": "Europe/Budapest",
    "it": "Europe/Rome",
    "ja": "Asia/Tokyo",
    "ko": "Asia/Seoul",
    "nl": "Europe/Amsterdam",
    "pl": "Europe/Warsaw",
    "pt": "Europe/Lisbon",
    "pt-br": "America/Sao_Paulo",
    "ro": "Europe/Bucharest",
    "ru": "Europe/Moscow",
    "sv": "Europe/Stockholm",
    "th": "Asia/Bangkok",
    "tr": "Europe/Istanbul",
    "uk": "Europe/Kyiv",
    "vi": "Asia/Ho_Chi_Minh",
    "zh": "Asia/Shanghai",
    "zh-hant": "Asia/Taipei",
    "zh-hk": "Asia/Hong_Kong",
    "zh-tw": "Asia/Taipei",
}
"""A zone in which many people speak a language: an example for them, and never more."""
NO_ZONES: Final = frozenset({"localtime", "posixrules", "Factory"})
"""Files of the database that are no zone: what a machine was set to, and a form for it."""
_OFFSET: Final = re.compile(
    r"(?:utc|gmt)?\s*([+\-\u2212])\s*(\d{1,2})(?::?([0-5]\d))?", re.IGNORECASE | re.ASCII
)
_GAPS: Final = re.compile(r"[\s_-]+")


def find_zone(words: str) -> str:
    """Return the zone that somebody names, by its name in the database; empty for none.

    The name may be written in any case (`europe/berlin`), and a city alone (`New York`) is enough
    where it is plain which one is meant.
    """
    if len(words) > NAME_CHARACTERS:
        return ""
    return _list_names().get(_fold(words), "")


def suggest_zones(words: str, now: float) -> tuple[str, ...]:
    """Return the zones that somebody may have meant who named none."""
    folded = _fold(words[:NAME_CHARACTERS])
    known = available_zones()
    found: list[str]
    offset = _OFFSET.fullmatch(words.strip())
    if offset:
        minutes = int(offset[2]) * 60 + int(offset[3] or 0)
        wanted = timedelta(minutes=minutes if offset[1] == "+" else -minutes)
        found = [zone for zone in COMMON if zone in known and _offset(zone, now) == wanted]
    elif folded in SPOKEN:
        found = [zone for zone in SPOKEN[folded] if zone in known]
    else:
        found = [zone for zone in known if _fold(zone.rpartition("/")[2]) == folded]
    if not found and folded:
        names = _list_names()
        close = get_close_matches(folded, names, n=2 * SUGGESTED, cutoff=NEAR)
        found = [names[name] for name in close]
    return tuple(dict.fromkeys(found))[:SUGGESTED]


def suggest_for_language(tag: str, otherwise: str) -> str:
    """Return a zone as an example for somebody whose app has this language, such as `pt-br`."""
    parts = tag.lower().replace("_", "-").split("-")
    for name in ("-".join(parts[:2]), parts[0]):
        if name in OF_LANGUAGES:
            return OF_LANGUAGES[name]
    return otherwise


@lru_cache(maxsize=1)
def available_zones() -> frozenset[str]:
    """Return the names of all zones that this machine knows."""
    return frozenset({DEFAULT, *available_timezones()} - NO_ZONES)


@lru_cache(maxsize=64)
def load_zone(name: str) -> tzinfo:
    """Return the zone of a stored name; UTC for one that this machine does not know."""
    if name == DEFAULT or name in NO_ZONES:
        return UTC
    try:
        return ZoneInfo(name)
    except (KeyError, OSError, ValueError):
        return UTC


def is_known(name: str) -> bool:
    """Return whether this machine knows a zone, without a look at all the others."""
    return name == DEFAULT or load_zone(name) is not UTC


def to_local(at: float, zone: str) -> datetime:
    """Return seconds since 1970 as the time that clocks show in a zone."""
    return datetime.fromtimestamp(min(max(at, 0.0), LATEST), load_zone(zone))


def from_local(clock: datetime, zone: str) -> float:
    """Return when the clocks of a zone show a time, the first time where they do so twice; of one
    that they skip the first minute after the gap.
    """
    moment = clock.replace(tzinfo=load_zone(zone))
    at = moment.timestamp()
    for _ in range(SKIPPED_MOST):
        if to_local(at, zone).replace(tzinfo=None) == moment.replace(tzinfo=None):
            break
        moment += timedelta(minutes=1)
        at = moment.timestamp()
    return at


def find_first_day(now: float, days: int, zone: str) -> date:
    """Return the first date of the period of so many days that `now` is in.

    The periods are counted from 1970-01-01 on.
    """
    today = to_local(now, zone).toordinal() - EPOCH
    return date.fromordinal(EPOCH + today // days * days)


def find_midnight(day: date, zone: str) -> float:
    """Return the moment at which a date begins in a zone, in seconds since 1970.

    Where the clock skips midnight, that is the moment at which it skips it.
    """
    return datetime.combine(day, time(), load_zone(zone)).timestamp()


def find_tomorrow(now: float, zone: str) -> float:
    """Return the moment at which the next date begins in a zone."""
    return find_midnight(to_local(now, zone).date() + timedelta(days=1), zone)


def format_clock(at: float, zone: str, now: float) -> str:
    """Return a moment for people: `00:00 UTC`, `01:00 (Europe/Berlin)`.

    The date stands before it when the moment is more than a day away.
    """
    moment = to_local(at, zone)
    shown = f"{moment:%H:%M} {zone}" if zone == DEFAULT else f"{moment:%H:%M} ({zone})"
    return f"{moment:%Y-%m-%d} {shown}" if abs(at - now) > DAY_SECONDS else shown


def format_stamp(at: float, zone: str = DEFAULT) -> str:
    """Return seconds since 1970 as `2026-11-22 01:30`, the time in a zone."""
    return f"{to_local(at, zone):%Y-%m-%d %H:%M}"


def format_offset(at: float, zone: str) -> str:
    """Return how far a zone's clocks are ahead of UTC at a moment: `+01:00`."""
    return to_local(at, zone).isoformat()[-6:]


def name_city(zone: str) -> str:
    """Return the city of a zone, empty for one that is called after none."""
    area, _, _ = zone.partition("/")
    return zone.rpartition("/")[2].replace("_", " ") if area in AREAS else ""


def _offset(zone: str, at: float) -> timedelta | None:
    return to_local(at, zone).utcoffset()


def _fold(words: str) -> str:
    """Return a name without case, accents and the difference between spaces and underscores."""
    plain = unicodedata.normalize("NFKD", words.strip().casefold())
    bare = "".join(each for each in plain if not unicodedata.combining(each))
    return _GAPS.sub(" ", bare)


@lru_cache(maxsize=1)
def _list_names() -> dict[str, str]:
    """Return the zones by what people call them, folded: the whole name, or its city where all
    zones with it show the same time.
    """
    known = sorted(available_zones())
    cities: dict[str, list[str]] = {}
    for zone in known:
        if name_city(zone):
            cities.setdefault(_fold(name_city(zone)), []).append(zone)
    names = {city: zones[0] for city, zones in cities.items() if _show_the_same(zones)}
    names.update((place, zone) for place, zone in PLACES.items() if zone in available_zones())
    names.update((_fold(zone), zone) for zone in known)
    return {name: zone for name, zone in names.items() if name not in SPOKEN}


def _show_the_same(zones: Sequence[str]) -> bool:
    """Return whether clocks show the same time in these zones, in winter and in summer."""
    moments = (datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 7, 1, tzinfo=UTC))
    shown = {
        tuple(moment.astimezone(load_zone(zone)).utcoffset() for moment in moments)
        for zone in zones
    }
    return len(shown) == 1
