"""Results of tools in a person's words, where the offline model answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import orjson

from functions.agent.model.offline_units import say_unit
from sigil.json_fields import as_mapping, as_sequence, as_string
from sigil.protocol import Json, tool_of

SVG_NOTE = (
    "This is an SVG picture. Save the text between the lines as a file that ends in .svg, and open"
    " it in a browser:"
)
LISTED_MOST = 10
"""A longer list of values does not stand in one line."""
NOTHING_KNOWN = "I remember nothing about this."
_SMALL = {"2": "²", "3": "³", "4": "⁴", "5": "⁵", "6": "⁶", "7": "⁷", "8": "⁸", "9": "⁹"}
_SMALL |= {"0": "⁰", "1": "¹"}


def describe_result(tool: str, arguments: Mapping[str, Json], result: Json) -> str:
    """Return a tool's result as a person would say it."""
    fields = as_mapping(result)
    if tool == tool_of("unit-convert") and "value" in fields:
        unit = say_unit(as_string(fields.get("unit")), as_string(arguments.get("to")))
        source = as_string(arguments.get("from"))
        given = f"{arguments.get('value')} {say_unit(source, source)}"
        return f"{given} = {_show(fields['value'])} {unit}"
    if tool == tool_of("validate-id") and "valid" in fields:
        return _describe_check(arguments, fields)
    if tool == tool_of("prime-factors") and "prime" in fields:
        return _describe_factors(fields)
    if tool == tool_of("remember"):
        return f"Remembered: {arguments.get('payload')}"
    if tool in (tool_of("recall"), tool_of("search-history")) and "items" in fields:
        return _describe_things(as_sequence(fields["items"]))
    if tool == tool_of("forget"):
        return "Forgotten." if fields.get("forgotten") else NOTHING_KNOWN
    if tool == tool_of("sort-list") and "items" in fields:
        return _list_lines(as_sequence(fields["items"]))
    svg = result if isinstance(result, str) else fields.get("svg")
    if isinstance(svg, str) and svg.startswith("<svg"):
        return f"{SVG_NOTE}\n```svg\n{svg}\n```"
    return _describe_json(result)


def _describe_json(result: Json) -> str:
    if isinstance(result, str):
        return f"```\n{result}\n```" if "\n" in result else result or "(an empty text)"
    if isinstance(result, dict) and result and all(map(_is_plain, result.values())):
        return "\n".join(f"{_name(key)}: {_show(value)}" for key, value in result.items())
    if isinstance(result, list) and result and all(map(_is_plain, result)):
        return _list_lines(result)
    if isinstance(result, dict | list):
        return f"```json\n{orjson.dumps(result, option=orjson.OPT_INDENT_2).decode()}\n```"
    return _show(result)


def _list_lines(items: Sequence[Json]) -> str:
    if not all(map(_is_plain, items)):
        return f"```json\n{orjson.dumps(items, option=orjson.OPT_INDENT_2).decode()}\n```"
    return "\n".join(map(_show, items)) or "(nothing)"


def _is_plain(value: Json) -> bool:
    """Return whether a value stands well in a line: no object, and of lists only short plain
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


def _show(value: Json) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "none"
    if isinstance(value, list):
        return "; ".join(map(_show, value)) or "none"
    if isinstance(value, dict):
        return ", ".join(f"{key.replace('_', ' ')} {_show(each)}" for key, each in value.items())
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _describe_check(arguments: Mapping[str, Json], fields: Mapping[str, Json]) -> str:
    named = f"{arguments.get('value')} ({arguments.get('kind')})"
    if not fields["valid"]:
        return f"No, {named} is not valid: {fields.get('reason', 'its form is wrong')}."
    others = {key: value for key, value in fields.items() if key != "valid"}
    return "\n".join(
        [f"Yes, {named} is valid.", *(f"{_name(k)}: {_show(v)}" for k, v in others.items())]
    )


def _describe_factors(fields: Mapping[str, Json]) -> str:
    number = fields.get("number")
    if fields["prime"]:
        return f"{number} is a prime number."
    parts = []
    for each in as_sequence(fields.get("factors")):
        factor = as_mapping(each)
        power = str(factor.get("power"))
        small = "" if power == "1" else "".join(_SMALL[digit] for digit in power)
        parts.append(f"{factor.get('prime')}{small}")
    if not parts:
        return f"{number} is not a prime number, and has no prime factors."
    return f"{number} = {' × '.join(parts)}. It is not a prime number."


def _describe_things(items: Sequence[Json]) -> str:
    lines = []
    for each in items:
        thing = as_mapping(each)
        if "payload" in thing:
            lines.append(f"- {thing['payload']}")
        elif "predicate" in thing:
            lines.append(f"- {thing.get('subject')} {thing['predicate']} {thing.get('object')}")
        elif "key" in thing:
            lines.append(f"- {thing['key']}: {thing.get('value')}")
        else:
            lines.append(f"- {_show(thing.get('text') or thing.get('excerpt') or '')}")
    return "\n".join(["This is what I remember:", *lines]) if lines else NOTHING_KNOWN
