"""Arguments for a tool, filled from a person's words by the tool's schema.

The offline model has this instead of understanding.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from functions.agent.conversation.prompt import FunctionDefinition
from functions.agent.model.offline_coverage import find_unread_number
from sigil.json_fields import as_mapping, as_sequence, as_string
from sigil.protocol import Json, is_name

_FENCE = re.compile(r"```(\w*)[ \t]*\n(.*?)```", re.DOTALL)
_QUOTED = re.compile(r"\"([^\"]+)\"|“([^”]+)”|「([^」]+)」|(?<!\w)'([^']+)'(?!\w)|`([^`]+)`")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_CJK = re.compile(r"[\u3400-\u9fff\u3000-\u303f\uff00-\uffef]")
_LATIN = re.compile(r"[^\u3400-\u9fff\u3000-\u303f\uff00-\uffef]+")
_SLUG = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)+")
_AFTER = re.compile(r"(?:\b(?:to|into|in|as)\s+|[成为到]\s*)([^\s,?.!，。？！]+)", re.IGNORECASE)
_UNIT = re.compile(r"\d\s*([^\W\d][^\s换转变等是成为到]*)")
_OBJECT = re.compile(r"[把将]\s*(.+?)\s*(?:用|编码|解码|转|换算|变成|加密|哈希|反转)")
_COLON = re.compile(r": |：")
_INPUT = re.compile(r"\binput\.([A-Za-z_]\w*)|\binput\[['\"](\w+)['\"]\]")
_DESTRUCTURED = re.compile(r"\{([^}]*)\}\s*=\s*input\b")
EDGE_WORDS = frozenset(
    """
    a an the please can could would you me my i we of for in to into as with using by from on at and this that it its
    what whats what's is are was how many much do does tell give show compute calculate convert encode decode hash find
    get make create count the result value text string number word words out use evaluate extract query run work
    """.split()
)


def find_deploy(words: str) -> dict[str, Json] | None:
    """Return the deploy that a message with JavaScript in a code fence asks for; None without."""
    fences = _FENCE.findall(words)
    source = next((body for lang, body in fences if lang.lower() in ("", "js", "javascript")), None)
    if source is None:
        return None
    prose = _FENCE.sub(" ", words).strip()
    name = _guess_name(prose)
    schema: Json = next((body for lang, body in fences if lang.lower() == "json"), None)
    if not schema:
        # every `input.NAME` of the source is a required string
        fields = [first or second for first, second in _INPUT.findall(source)]
        for pattern in _DESTRUCTURED.findall(source):
            for part in pattern.split(","):
                fields.append(part.split("=")[0].split(":")[0].strip())
        properties = {field: {"type": "string"} for field in dict.fromkeys(fields) if field}
        schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {
        "name": name,
        "description": " ".join(prose.split())[:300] or f"The capability {name}.",
        "schema": schema,
        "execute": source.strip(),
    }


def _guess_name(prose: str) -> str:
    named = re.search(
        r"(?:named|called|name:|capability|能力)\s*[`\"“]?([A-Za-z][A-Za-z0-9-]*)",
        prose,
        re.IGNORECASE,
    )
    candidates = [
        *_SLUG.findall(prose),
        *_SLUG.findall(prose.lower()),
        *([named[1].lower()] if named else []),
    ]
    words = [
        word
        for word in re.findall(r"[a-z0-9]+", prose.lower())
        if word not in EDGE_WORDS and word not in ("capability", "new", "that")
    ]
    guess = "-".join(words[:3])
    return next((name for name in [*candidates, guess] if is_name(name)), "my-capability")


def is_mentioned(text: str, function: FunctionDefinition) -> bool:
    """Return whether the words have a part of the tool's name, or one of its enumerated values."""
    words = set(re.findall(r"[a-z0-9]+", text.lower()))
    if words & _list_names(function):
        return True
    return any(value.lower() in words for value in _list_values(function))


def is_named(text: str, function: FunctionDefinition) -> bool:
    """Return whether the words have the capability's whole name, such as `art-draw`."""
    name = "[-_ ]".join(map(re.escape, function["name"].removeprefix("cap_").split("_")))
    return re.search(rf"(?<![a-z0-9_-]){name}(?![a-z0-9_-])", text.lower()) is not None


def fill_arguments(text: str, function: FunctionDefinition) -> dict[str, Json] | None:
    """Return the tool's arguments that the words give; None when a required one is missing."""
    schema = function["parameters"]
    properties = as_mapping(schema.get("properties"))
    numbers = _assign_numbers(text, properties)
    taken = {value for value in _list_values(function) if _mentions(text, value)}
    arguments: dict[str, Json] = {}
    for name, part in properties.items():
        value = _pick_value(name, as_mapping(part), text) if name not in numbers else numbers[name]
        if value is not None:
            arguments[name] = value
    _fill_text_parameters(text, function, arguments, taken)
    for name in map(as_string, as_sequence(schema.get("required"))):
        if name not in arguments and "default" not in as_mapping(properties.get(name)):
            return None
    return None if find_unread_number(text, arguments) else arguments


def _assign_numbers(text: str, properties: Mapping[str, Json]) -> dict[str, Json]:
    """Return the numbers of several parameters: the one beside a parameter's name, or each in its
    place where there are as many numbers as parameters. A single parameter has the first number.
    """
    names = []
    for name, part in properties.items():
        fields = as_mapping(part)
        is_number = fields.get("type") in ("number", "integer")
        if is_number and "default" not in fields and "enum" not in fields:
            names.append(name)
    if len(names) < 2:
        return {}
    given: dict[str, Json] = {}
    for name in names:
        said = "[ _-]?".join(map(re.escape, name.split("_")))
        found = re.search(
            rf"(?<![a-z]){said}(?:\s+(?:of|is|=|:))?[\s=:]*({_NUMBER.pattern})", text, re.IGNORECASE
        )
        if found:
            given[name] = _to_number(found[1], as_mapping(properties[name]))
    if given:
        return {name: given.get(name) for name in names}
    numbers = _NUMBER.findall(text)
    if len(numbers) != len(names):
        return dict.fromkeys(names)
    return {
        name: _to_number(number, as_mapping(properties[name]))
        for name, number in zip(names, numbers, strict=True)
    }


def _to_number(written: str, part: Mapping[str, Json]) -> Json:
    number = float(written)
    return int(number) if part.get("type") == "integer" or number.is_integer() else number


def _pick_value(name: str, part: Mapping[str, Json], text: str) -> Json:
    """Return the value of one parameter that the words give; None when they give none."""
    if "enum" in part:
        longest_first = sorted(map(str, as_sequence(part["enum"])), key=len, reverse=True)
        return next((value for value in longest_first if _mentions(text, value)), None)
    kind = part.get("type")
    if kind in ("number", "integer") and "default" not in part:
        numbers = _NUMBER.findall(text)
        if numbers:
            return _to_number(numbers[0], part)
    if kind == "string" and name in ("to", "target"):
        after = _AFTER.findall(text)
        return after[-1] if after else None
    if kind == "string" and name in ("from", "unit", "source"):
        unit = _UNIT.search(text)
        return str(unit[1]) if unit else None
    return None


def _fill_text_parameters(
    text: str, function: FunctionDefinition, arguments: dict[str, Json], taken: Iterable[str]
) -> None:
    """Give quoted texts, or what is left of the words, to the text parameters that are still
    empty.
    """
    properties = as_mapping(function["parameters"].get("properties"))
    empty = []
    for name in map(as_string, as_sequence(function["parameters"].get("required"))):
        part = as_mapping(properties.get(name))
        takes_text = part.get("type", "string") in ("string", ["string", "null"])
        if name not in arguments and takes_text and "enum" not in part:
            empty.append(name)
    quoted = [next(filter(None, groups)) for groups in _QUOTED.findall(text)]
    if quoted:
        arguments.update(zip(empty, quoted, strict=False))
    elif len(empty) == 1:
        rest = _strip_question(text, {word.lower() for word in taken} | _list_names(function))
        if rest:
            arguments[empty[0]] = rest


def _strip_question(text: str, names: set[str]) -> str:
    """Return the words without those that only ask.

    They are after a colon, or are left when both ends are trimmed.
    """
    head, *tail = _COLON.split(text, maxsplit=1)
    if tail and tail[0].strip() and len(head.split()) <= 12:
        return tail[0].strip()
    if _CJK.search(text):
        found = _OBJECT.search(text)
        if found:
            return found[1]
        runs = [run.strip(" ,.?!:") for run in _LATIN.findall(text)]
        foreign = [run for run in runs if run and run.lower() not in names]
        if foreign:
            longest = str(max(foreign, key=len))
            return text if _NUMBER.fullmatch(longest) else longest
    words = text.rstrip("?!. ").split()
    while words and _only_asks(words[0], names):
        words.pop(0)
    while words and _only_asks(words[-1], names):
        words.pop()
    return " ".join(words)


def _only_asks(word: str, names: set[str]) -> bool:
    plain = word.lower().strip(",.:;?!")
    return plain in EDGE_WORDS or plain in names or plain.replace("-", "") in names


def _list_names(function: FunctionDefinition) -> set[str]:
    name = function["name"].removeprefix("cap_")
    return {*name.split("_"), name.replace("_", "-")} - {"text", "date", "to"}


def _list_values(function: FunctionDefinition) -> list[str]:
    values: list[str] = []
    for part in as_mapping(function["parameters"].get("properties")).values():
        values.extend(map(str, as_sequence(as_mapping(part).get("enum"))))
    return values


def _mentions(text: str, value: str) -> bool:
    word = re.escape(value.lower())
    if re.search(rf"(?<![a-z0-9]){word}(?![a-z0-9])", text.lower()):
        return True
    squeezed = re.sub(r"[-_ ]", "", text.lower())
    return len(value) > 3 and value.lower() in squeezed
