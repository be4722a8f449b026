"""Results of tools in a person's words, where the offline model answers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime

import orjson

from functions.agent.model.offline_corrections import write_sentence
from functions.agent.model.offline_json import WHOLE, shortens_json
from functions.agent.model.offline_knowledge import describe_added, describe_found
from functions.agent.model.offline_units import say_unit
from functions.agent.model.offline_values import EASTER_DAYS
from functions.agent.model.offline_web import describe_page, describe_search
from functions.texts.en import Texts
from sigil.json_fields import as_mapping, as_sequence, as_string
from sigil.protocol import Json, tool_of

LISTED_MOST = 10
"""A longer list of values is not shown in one line."""
_SMALL = {"2": "²", "3": "³", "4": "⁴", "5": "⁵", "6": "⁶", "7": "⁷", "8": "⁸", "9": "⁹"}
_SMALL |= {"0": "⁰", "1": "¹"}


DAY = len("2026-11-22")
_MORE_OF_A_DAY = re.compile(
    r"week(?!day|end)|\bkw\b|quarter|days in|day of the year|which day of|woche(?!ntag|nende)|"
    r"quartal|周数|季|第几",
    re.IGNORECASE,
)
_IN_WEEKS = re.compile(
    r"how many (?:full )?weeks|wie viele wochen|多少(?:个)?(?:周|星期)", re.IGNORECASE
)
_IN_DAYS = re.compile(r"how many days|^days\b|wie ?viele tage|^tage\b|多少天|几天", re.IGNORECASE)
_WHAT_TIME = re.compile(r"what(?:'s| is)? (?:the )?time|几点|wie spät", re.IGNORECASE)
_ONE_FIGURE = (("mean", "average|mean|durchschnitt|mittelwert|平均"), ("median", "median|中位"))


def answer_question(
    words: str, tool: str, arguments: Mapping[str, Json], result: Json, texts: Texts
) -> str:
    """Return the one thing of a result that the words ask for; empty where they ask for more."""
    fields = as_mapping(result)
    if tool == tool_of("date-math") and "leap_year" in fields:
        if re.search("leap|schaltjahr|闰", words, re.IGNORECASE):
            return f"{_show(fields['leap_year'], texts).capitalize()}."
        with suppress(ValueError):
            day = datetime.fromisoformat(as_string(fields.get("date")))
            verdict = _judge_day(words, day, texts)
            if verdict:
                return texts.offline_judged.format(verdict=verdict, day=texts.tell_date(day))
            return "" if _MORE_OF_A_DAY.search(words) else texts.tell_date(day)
    if tool == tool_of("date-calendar") and arguments.get("show") == "easter":
        named = _name_feast(words)
        with suppress(ValueError):
            return texts.tell_date(datetime.fromisoformat(as_string(fields.get(named))))
    if tool == tool_of("encode") and arguments.get("mode") == "decode" and isinstance(result, str):
        is_named = re.search(r"base ?64|decod|dekod|解码|url|hex", words, re.IGNORECASE)
        return "" if is_named else texts.offline_base64.format(text=result)
    if tool == tool_of("json-query") and arguments.get("path") == WHOLE:
        if shortens_json(words):
            return orjson.dumps(result).decode()
        return f"```json\n{orjson.dumps(result, option=orjson.OPT_INDENT_2).decode()}\n```"
    days = fields.get("days")
    if isinstance(days, int) and "until" in arguments and _IN_DAYS.search(words):
        return say_unit(str(abs(days)), "d", "", texts)
    if isinstance(days, int) and "until" in arguments and _IN_WEEKS.search(words):
        return texts.offline_weeks.format(weeks=abs(days) // 7, days=abs(days) % 7)
    if tool == tool_of("time-zone") and _WHAT_TIME.search(words):
        wanted = fields.get("to")
        there = as_mapping(wanted[0] if isinstance(wanted, list) and wanted else wanted)
        with suppress(ValueError):
            now = datetime.fromisoformat(as_string(there.get("time")))
            if not re.search(r"\d", words):
                return texts.tell_time(now, as_string(there.get("zone")))
    if tool == tool_of("statistics"):
        asked = [key for key, pattern in _ONE_FIGURE if re.search(pattern, words, re.IGNORECASE)]
        others = re.search("and|und|和|range|deviation|sum|min|max|stat|quart|varia", words, re.I)
        if len(asked) == 1 and asked[0] in fields and not others:
            return f"{texts.offline_figures[asked[0]]}: {_show(fields[asked[0]], texts)}"
    return ""


def _name_feast(words: str) -> str:
    """Return the library's name of the day that words name of those around Easter."""
    found = (name for pattern, name, _ in EASTER_DAYS if re.search(pattern, words, re.IGNORECASE))
    return next(found, "easter")


_DAY_KINDS = (
    ("week ?end|周末|wochenende", range(5, 7), False),
    ("werktag", range(6), True),  # a Saturday is one
    ("work(?:ing)? ?day|business day|arbeitstag|工作日", range(5), True),
    ("week ?day|wochentag", range(5), False),
)
"""Words for a kind of day, the weekdays that are of it, and whether a holiday is none."""
_JUDGES = re.compile(
    r"^\W*(?:is|was(?! ist| war| wird| für)|will|ist|war|fällt)\b|是(?:不是)?(?:工作日|周末)",
    re.IGNORECASE,
)


def _judge_day(words: str, day: datetime, texts: Texts) -> str:
    """Return yes or no where the words ask whether a day is a weekday or of a weekend."""
    if not _JUDGES.search(words):
        return ""
    for pattern, days, for_work in _DAY_KINDS:
        if re.search(pattern, words, re.IGNORECASE):
            if day.weekday() not in days:
                return texts.offline_no.capitalize()
            return texts.offline_if_no_holiday if for_work else texts.offline_yes.capitalize()
    return ""


def describe_result(tool: str, arguments: Mapping[str, Json], result: Json, texts: Texts) -> str:
    """Return a tool's result as a person would say it."""
    fields = as_mapping(result)
    if tool == tool_of("unit-convert") and "value" in fields:
        wanted = as_string(arguments.get("to"))
        source = as_string(arguments.get("from"))
        given = say_unit(_show(arguments.get("value"), texts), source, "", texts)
        unit = as_string(fields.get("unit"))
        return f"{given} = {say_unit(_show(fields['value'], texts), wanted, unit, texts)}"
    if tool == tool_of("validate-id") and "valid" in fields:
        return _describe_check(arguments, fields, texts)
    if tool == tool_of("prime-factors") and "prime" in fields:
        return _describe_factors(fields, texts)
    if tool == tool_of("remember"):
        return _describe_remembered(arguments, fields, texts)
    if tool in (tool_of("recall"), tool_of("search-history")) and "items" in fields:
        return _describe_things(as_sequence(fields["items"]), texts)
    if tool == tool_of("forget"):
        return texts.offline_forgotten if fields.get("forgotten") else texts.offline_nothing_known
    if tool == tool_of("kb-search"):
        return describe_found(result, texts)
    if tool == tool_of("kb-ingest"):
        return describe_added(result, texts)
    if tool == tool_of("sort-list") and "items" in fields:
        return _list_lines(as_sequence(fields["items"]), texts)
    if tool == tool_of("calculate") and isinstance(result, str):
        return _write_number(result, texts)
    if tool == tool_of("read-page") and "text" in fields:
        return describe_page(fields, texts)
    if tool == tool_of("web-search") and "results" in fields:
        return describe_search(fields, texts)
    svg = result if isinstance(result, str) else fields.get("svg")
    if isinstance(svg, str) and svg.startswith("<svg"):
        return f"{texts.offline_svg}\n```svg\n{svg}\n```"
    return _describe_json(result, texts)


def _describe_json(result: Json, texts: Texts) -> str:
    if isinstance(result, str):
        return f"```\n{result}\n```" if "\n" in result else result or texts.offline_empty
    if isinstance(result, dict) and result and all(map(_is_plain, result.values())):
        return "\n".join(f"{_name(key)}: {_show(value, texts)}" for key, value in result.items())
    if isinstance(result, list) and result and all(map(_is_plain, result)):
        return _list_lines(result, texts)
    if isinstance(result, dict | list):
        return f"```json\n{orjson.dumps(result, option=orjson.OPT_INDENT_2).decode()}\n```"
    return _show(result, texts)


def _list_lines(items: Sequence[Json], texts: Texts) -> str:
    if not all(map(_is_plain, items)):
        return f"```json\n{orjson.dumps(items, option=orjson.OPT_INDENT_2).decode()}\n```"
    return "\n".join(_show(item, texts) for item in items) or texts.offline_nothing


def _is_plain(value: Json) -> bool:
    """Return whether a value reads well in a line: no object, and of lists only short plain
    ones.
    """
    if isinstance(value, list):
        return len(value) <= LISTED_MOST and all(map(_is_short, value))
    return _is_short(value)


def _is_short(value: Json) -> bool:
    """Return whether a value is a text of one line, a number, or some of them under names."""
    if isinstance(value, dict):
        return all(not isinstance(each, dict | list) and _is_short(each) for each in value.values())
    return not isinstance(value, list) and not (isinstance(value, str) and "\n" in value)


def _name(key: str) -> str:
    plain = key.replace("_", " ")
    return plain[:1].upper() + plain[1:]


def _show(value: Json, texts: Texts) -> str:
    if isinstance(value, bool):
        return texts.offline_yes if value else texts.offline_no
    if value is None:
        return texts.offline_none
    if isinstance(value, list):
        return "; ".join(_show(each, texts) for each in value) or texts.offline_none
    if isinstance(value, dict):
        return ", ".join(
            f"{key.replace('_', ' ')} {_show(each, texts)}" for key, each in value.items()
        )
    return value if isinstance(value, str) else _write_number(orjson.dumps(value).decode(), texts)


def _write_number(number: str, texts: Texts) -> str:
    """Return a number as it is written in a language; one in scientific notation as it is."""
    plain = re.fullmatch(r"-?\d+\.\d+", number)
    return number.replace(".", texts.decimal_mark) if plain else number


def _describe_check(arguments: Mapping[str, Json], fields: Mapping[str, Json], texts: Texts) -> str:
    named = f"{arguments.get('value')} ({arguments.get('kind')})"
    if not fields["valid"]:
        why = fields.get("reason", texts.offline_wrong_form)
        return texts.offline_invalid.format(what=named, why=why)
    others = {key: value for key, value in fields.items() if key != "valid"}
    lines = [f"{_name(key)}: {_show(value, texts)}" for key, value in others.items()]
    return "\n".join([texts.offline_valid.format(what=named), *lines])


def _describe_factors(fields: Mapping[str, Json], texts: Texts) -> str:
    number = fields.get("number")
    if fields["prime"]:
        return texts.offline_prime.format(number=number)
    parts = []
    for each in as_sequence(fields.get("factors")):
        factor = as_mapping(each)
        power = str(factor.get("power"))
        small = "" if power == "1" else "".join(_SMALL[digit] for digit in power)
        parts.append(f"{factor.get('prime')}{small}")
    if not parts:
        return texts.offline_no_factors.format(number=number)
    return texts.offline_factors.format(number=number, factors=" × ".join(parts))


def _describe_remembered(
    arguments: Mapping[str, Json], fields: Mapping[str, Json], texts: Texts
) -> str:
    """Return what is remembered now, and what is no longer true."""
    words = arguments.get("payload") or write_sentence(arguments)
    lines = [texts.offline_remembered.format(words=words)]
    for each in as_sequence(fields.get("ended")):
        thing = as_mapping(each)
        before = thing.get("payload") or write_sentence(thing)
        lines.append(texts.offline_over.format(words=before))
    return "\n".join(lines)


def _describe_things(items: Sequence[Json], texts: Texts) -> str:
    lines = []
    for item in items:
        thing = as_mapping(item)
        if "payload" in thing:
            lines.append(f"- {thing['payload']}")
        elif "predicate" in thing:
            lines.append(f"- {write_sentence(thing)}")
        elif "key" in thing:
            lines.append(f"- {thing['key']}: {thing.get('value')}")
        else:
            lines.append(f"- {_show(thing.get('text') or thing.get('excerpt') or '', texts)}")
        for each in as_sequence(thing.get("no_longer_true")):
            before = as_mapping(each)
            day = as_string(before.get("ended"))[:DAY]
            words = as_string(before.get("was")).removeprefix("note: ")
            over = texts.offline_over.format(words=f"{words} ({day})" if day else words)
            lines.append(f"  {over}")
    return "\n".join([texts.offline_recalled, *lines]) if lines else texts.offline_nothing_known
