"""Says in words what a schema demands by keywords that an endpoint does not take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sigil.errors import one_line
from sigil.json_fields import as_mapping, as_sequence, as_string
from sigil.protocol import Json
from sigil.strict_json import dumps

WORDS_CHARACTERS = 400
"""The most characters of a sentence about a schema's alternatives, or about values."""
PATTERN_CHARACTERS = 200
VALUE_CHARACTERS = 120


def add_words(form: dict[str, Json], sentences: Iterable[str]) -> None:
    """Put sentences behind the description of a schema, those alone that it does not have yet."""
    description = as_string(form.get("description")).strip()
    for sentence in sentences:
        if not sentence or sentence in description:
            continue
        if description and description[-1] not in ".!?…。！？":
            description += "."
        description = f"{description} {sentence}".strip()
    if description:
        form["description"] = description


def write_value(value: Json) -> str:
    """Return a value as short JSON."""
    return one_line(dumps(value).decode("utf-8", "replace"), VALUE_CHARACTERS)


def write_count(number: Json) -> str:
    """Return a number with commas between thousands: `100,000`."""
    if isinstance(number, int | float) and not isinstance(number, bool):
        return f"{number:,}"
    return write_value(number)


def list_values(values: Sequence[Json]) -> str:
    """Return a sentence that names the values that are allowed."""
    if len(values) == 1:
        return f"Always {write_value(values[0])}."
    return one_line(f"One of: {', '.join(map(write_value, values))}", WORDS_CHARACTERS - 1) + "."


def describe_branch(branch: Mapping[str, Json]) -> str:
    """Return what an alternative of an object asks for, such as `kind "file", path`; empty when it
    asks for nothing.
    """
    properties = as_mapping(branch.get("properties"))
    required = [name for name in as_sequence(branch.get("required")) if isinstance(name, str)]
    asked: list[str] = []
    for name, part in properties.items():
        fixed = as_mapping(part)
        values = [fixed["const"]] if "const" in fixed else as_sequence(fixed.get("enum"))
        if len(values) == 1:
            asked.append(f"{name} {write_value(values[0])}")
        elif name in required:
            asked.append(name)
    asked += [name for name in dict.fromkeys(required) if name not in properties]
    return ", ".join(asked)


def describe_choice(branches: Sequence[Mapping[str, Json]]) -> str:
    """Return a sentence with the alternatives of an object; empty when they ask for nothing."""
    asked = [describe_branch(branch) for branch in branches]
    if not any(asked):
        return ""
    texts = dict.fromkeys(text or "none of these" for text in asked)
    return one_line(f"Give {'; or '.join(texts)}", WORDS_CHARACTERS - 1) + "."


def describe_condition(node: Mapping[str, Json]) -> str:
    """Return a sentence for `if`, `then` and `else`; empty when there is nothing to say."""
    condition = describe_branch(as_mapping(node.get("if")))
    then = describe_branch(as_mapping(node.get("then")))
    otherwise = describe_branch(as_mapping(node.get("else")))
    if not condition or not (then or otherwise):
        return ""
    texts = [f"with {condition} give {then}"] if then else []
    if otherwise:
        texts.append(f"without {condition} give {otherwise}")
    text = "; ".join(texts)
    return one_line(text[0].upper() + text[1:], WORDS_CHARACTERS - 1) + "."


def describe_keywords(node: Mapping[str, Json]) -> list[str]:
    """Return a sentence for each keyword of a schema that tells a model something and that not
    every endpoint takes.
    """
    sentences: list[str] = []
    pattern = node.get("pattern")
    if isinstance(pattern, str):
        sentences.append(f"Pattern: `{one_line(pattern, PATTERN_CHARACTERS)}`.")
    for key, what in _SAID_AS_IT_IS.items():
        if isinstance(node.get(key), str):
            sentences.append(f"{what}: {one_line(as_string(node[key]), VALUE_CHARACTERS)}.")
    for key, phrase in _SAID_WITH_NUMBER.items():
        number = node.get(key)
        if isinstance(number, int | float) and not isinstance(number, bool):
            sentences.append(phrase.format(write_count(number)))
    if node.get("uniqueItems") is True:
        sentences.append("No element twice.")
    sentences += _describe_fields(node)
    for key, what in _SAID_AS_SCHEMA.items():
        part = node.get(key)
        if isinstance(part, dict) and part:
            sentences.append(f"{what}: {write_value(part)}.")
    return sentences


_SAID_AS_IT_IS: Mapping[str, str] = {
    "format": "Format",
    "contentEncoding": "Encoding",
    "contentMediaType": "Media type",
}
_SAID_WITH_NUMBER: Mapping[str, str] = {
    "exclusiveMinimum": "More than {}.",
    "exclusiveMaximum": "Less than {}.",
    "multipleOf": "A multiple of {}.",
    "minimum": "At least {}.",
    "maximum": "At most {}.",
    "minLength": "At least {} characters.",
    "maxLength": "At most {} characters.",
    "minItems": "At least {} elements.",
    "maxItems": "At most {} elements.",
    "minProperties": "At least {} fields.",
    "maxProperties": "At most {} fields.",
}
_SAID_AS_SCHEMA: Mapping[str, str] = {
    "contains": "One element at least is",
    "propertyNames": "Each field's name is",
    "not": "Never",
}


def _describe_fields(node: Mapping[str, Json]) -> list[str]:
    """Return the sentences about fields that have no name of their own, or that ask for others."""
    sentences = []
    for pattern, part in as_mapping(node.get("patternProperties")).items():
        name = one_line(pattern, PATTERN_CHARACTERS)
        sentences.append(f"Fields whose names match `{name}`: {write_value(part)}.")
    free = node.get("additionalProperties")
    if isinstance(free, dict) and free:
        which = "Further fields" if node.get("properties") else "Fields of any name"
        sentences.append(f"{which}: {write_value(free)}.")
    for name, others in as_mapping(node.get("dependentRequired")).items():
        asked = [other for other in as_sequence(others) if isinstance(other, str)]
        if asked:
            sentences.append(f"With {name} give {', '.join(asked)}.")
    return sentences
