"""The schema of a tool's input as every model is offered it.

Endpoints validate all the tools of a request together, so one schema that an endpoint refuses
makes it refuse the whole chat. This form has what most of them demand and means what the
capability's own schema means, which alone decides whether a call's arguments are right.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final
from urllib.parse import unquote

from sigil.json_fields import as_mapping, as_sequence, as_string
from sigil.protocol import Json
from sigil.tool_schemas.keywords import SUBSCHEMAS
from sigil.tool_schemas.parameter_names import find_new_names, rename_parameters
from sigil.tool_schemas.words import (
    add_words,
    describe_choice,
    describe_condition,
    list_values,
    write_value,
)

PARTS_MOST: Final = 4_000
"""Behind so many schemas, references are no longer written out."""
DEPTH_MOST: Final = 48
REFERENCES_MOST: Final = 20
"""The most references that lead from one to the next."""
BRANCHES_MOST: Final = 8
"""A property that alternatives describe in more ways than these is told as these."""
_DROPPED: Final = frozenset(
    "$schema $id id $anchor $comment $defs definitions $vocabulary $dynamicAnchor dependencies"
    " additionalItems unevaluatedItems unevaluatedProperties".split()
)
"""Keywords that only a reader of references needs, and those that no stored schema has."""
_MAPS: Final = ("properties", "patternProperties", "dependentSchemas")
_LISTS: Final = ("anyOf", "oneOf", "allOf")
_COMBINING: Final = frozenset(("$ref", *_LISTS, "if", "then", "else", "dependentSchemas"))
"""Keywords by which an object gets properties besides its own."""

Form = dict[str, Json]
"""A schema that is being written, with nothing in it that another one shares."""


def clean(schema: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return a tool's schema as models are offered it.

    It is an object with `properties` and without alternatives at the top; references are written
    out, and one that leads to itself ends as an object; each list has `items`, `required` names
    nothing but properties, and the parameters have names that every endpoint takes. What has no
    place in this form is said in descriptions.
    """
    return rename_parameters(_Writer(schema).write_root())


def original_arguments(
    schema: Mapping[str, Json], arguments: Mapping[str, Json]
) -> dict[str, Json]:
    """Return the arguments of a call under the names that the capability knows.

    One that came under its original name stays as it is.
    """
    properties = as_mapping(schema.get("properties"))
    if not _COMBINING.isdisjoint(schema):
        properties = as_mapping(_Writer(schema).write_root()["properties"])
    originals = {new: original for original, new in find_new_names(properties).items()}
    return {originals.get(name, name): value for name, value in arguments.items()}


class _Writer:
    """Writes one schema in the form that is offered."""

    def __init__(self, root: Mapping[str, Json]) -> None:
        self._root = root
        self._parts = 0

    def write_root(self) -> Form:
        """Return the whole schema."""
        form = self._write(dict(self._root), 0, ("#",))
        sentences = []
        form.pop("allOf", None)
        if "enum" in form or "const" in form:
            values = as_sequence(form.pop("enum", [])) or [form.pop("const", None)]
            form.pop("const", None)
            sentences.append(list_values(values))
        if "not" in form:
            sentences.append(f"Never: {write_value(form.pop('not'))}.")
        sentences += _merge_branches(form)
        root: Form = {**form, "type": "object"}
        root["properties"] = form.get("properties", {})
        add_words(root, sentences)
        _cut_required(root)
        return root

    def _write(self, node: Json, depth: int, above: tuple[str, ...]) -> Form:
        """Return a schema; `above` are the references that lead to it."""
        if not isinstance(node, dict):
            return {"not": {}} if node is False else {}
        self._parts += 1
        reference = node.get("$ref")
        if isinstance(reference, str):
            return self._write_reference(node, reference, depth, above)
        if depth > DEPTH_MOST or self._parts > PARTS_MOST:
            return _cut(node)
        form: Form = {}
        below = depth + 1
        for key, value in node.items():
            if key in _MAPS and isinstance(value, dict):
                form[key] = {
                    name: self._write(part, below, above)
                    for name, part in value.items()
                    if part is not False
                }
            elif key in _LISTS and isinstance(value, list):
                form[key] = [self._write(part, below, above) for part in value]
            elif key in ("items", "prefixItems") and isinstance(value, list):
                form["prefixItems"] = [self._write(part, below, above) for part in value]
            elif key in SUBSCHEMAS and isinstance(value, dict):
                form[key] = self._write(value, below, above)
            elif key not in _DROPPED:
                form[key] = value
        _settle_items(form)
        _settle_branches(form)
        return form

    def _write_reference(
        self, node: Mapping[str, Json], reference: str, depth: int, above: tuple[str, ...]
    ) -> Form:
        """Return what a reference leads to, together with what stands beside it."""
        beside = {key: value for key, value in node.items() if key != "$ref"}
        target = self._find(reference)
        is_whole = reference == "#" or self._is_whole_input(as_mapping(target))
        if is_whole or reference in above or depth > DEPTH_MOST or self._parts > PARTS_MOST:
            form = _cut(target)
            name = unquote(reference.rpartition("/")[2])
            other = "the whole input" if is_whole else f"the {name} that contains it"
            add_words(form, [f"It has the same form as {other}."])
        else:
            form = self._write(target, depth + 1, (*above, reference))
        if beside:
            form = _join(self._write(beside, depth + 1, above), form)
            _settle_branches(form)
        return form

    def _is_whole_input(self, target: Mapping[str, Json]) -> bool:
        """Return whether a definition is that of the whole input, which stands at the top too."""
        properties = target.get("properties")
        return bool(properties) and properties == self._root.get("properties")

    def _find(self, reference: str) -> Json:
        """Return what a reference within the schema leads to; an empty schema for any other."""
        if not reference.startswith("#"):
            return {}
        node: Json = dict(self._root)
        for part in reference[1:].split("/")[1:]:
            key = unquote(part).replace("~1", "/").replace("~0", "~")
            if isinstance(node, dict) and key in node:
                node = node[key]
            elif isinstance(node, list) and key.isdecimal() and int(key[:6]) < len(node):
                node = node[int(key[:6])]
            else:
                return {}
        return node


def list_types(node: Mapping[str, Json]) -> list[str]:
    """Return the types that a schema names."""
    types = node.get("type")
    listed = types if isinstance(types, list) else [types]
    return [each for each in listed if isinstance(each, str)]


def _cut(node: Json) -> Form:
    """Return a schema without what is inside of it."""
    fields = as_mapping(node)
    types = list_types(fields)
    if not types and "properties" in fields:
        types = ["object"]
    if not types:
        return {}
    form: Form = {"type": types[0] if len(types) == 1 else list(types)}
    if "array" in types:
        form["items"] = {}
    return form


def _settle_items(form: Form) -> None:
    """Give a list `items`: those of its positions together, or free ones."""
    positions = [as_mapping(part) for part in as_sequence(form.pop("prefixItems", None))]
    rest = form.get("items")
    if positions:
        texts = [_describe_position(part) for part in positions]
        add_words(form, [f"Elements in this order: {', '.join(texts)}."])
        if rest is False:
            form.setdefault("maxItems", len(positions))
        elif isinstance(rest, dict) and rest:
            positions.append(rest)
        form["items"] = unite(positions)
    elif not isinstance(rest, dict):
        form.pop("items", None)
        if "array" in list_types(form):
            form["items"] = {}


def _describe_position(part: Mapping[str, Json]) -> str:
    title = as_string(part.get("description")) or as_string(part.get("title"))
    kind = " or ".join(list_types(part)) or "any value"
    return f"{kind} ({title.rstrip('.')})" if title else kind


# -- objects of several parts


def _settle_branches(form: Form) -> None:
    """Put into an object what its alternatives, parts and conditions add to it."""
    if _COMBINING.isdisjoint(form) and "not" not in form:
        return
    _join_parts(form)
    if _is_object_with_branches(form):
        add_words(form, _merge_branches(form))


def _join_parts(form: Form) -> None:
    """Put the parts of `allOf` into the schema itself when it is an object, or there is one."""
    parts = [as_mapping(part) for part in as_sequence(form.get("allOf"))]
    is_object = "properties" in form or any("properties" in part for part in parts)
    if len(parts) > 1 and not is_object:
        return
    form.pop("allOf", None)
    for part in parts:
        joined = _join(form, part)
        form.clear()
        form.update(joined)


def _is_object_with_branches(form: Mapping[str, Json]) -> bool:
    """Return whether the alternatives of a schema only add to an object: it has properties itself,
    or an alternative requires properties that stand elsewhere.
    """
    if "properties" in form:
        return True
    branches = [as_mapping(part) for key in _LISTS for part in as_sequence(form.get(key))]
    return any(branch.get("required") and "properties" not in branch for branch in branches)


def _merge_branches(form: Form) -> list[str]:
    """Put the properties of an object's alternatives and conditions into the object itself; return
    the sentences that say which of them belong together.
    """
    sentences: list[str] = []
    if "required" in as_mapping(form.get("not")):
        sentences.append(f"Never: {write_value(form.pop('not'))}.")
    for key in ("anyOf", "oneOf"):
        if key not in form:
            continue
        branches = [as_mapping(part) for part in as_sequence(form.pop(key))]
        branches = [branch for branch in branches if _adds_to_object(branch)]
        sentences.append(describe_choice(branches))
        _add_properties(form, branches)
        _require_common(form, branches)
    sentences.append(describe_condition(form))
    form.pop("if", None)
    optional = [as_mapping(form.pop(key, None)) for key in ("then", "else")]
    for name, part in as_mapping(form.pop("dependentSchemas", None)).items():
        branch = as_mapping(part)
        optional.append(branch)
        sentences.append(describe_condition({"if": {"required": [name]}, "then": branch}))
    _add_properties(form, optional)
    return sentences


def _adds_to_object(branch: Mapping[str, Json]) -> bool:
    types = list_types(branch)
    return not types or "object" in types


def _add_properties(form: Form, branches: Sequence[Mapping[str, Json]]) -> None:
    """Add the properties of alternatives to an object; its own ones come first."""
    found: dict[str, list[Mapping[str, Json]]] = {}
    for branch in branches:
        for name, part in as_mapping(branch.get("properties")).items():
            found.setdefault(name, []).append(as_mapping(part))
    if not found:
        return
    own = as_mapping(form.get("properties"))
    properties = dict(own)
    for name, parts in found.items():
        part = as_mapping(own.get(name))
        is_described = not {"type", "enum", "const", "anyOf", "oneOf"}.isdisjoint(part)
        properties[name] = part if is_described else {**unite(parts), **part}
    form["properties"] = properties


def _require_common(form: Form, branches: Sequence[Mapping[str, Json]]) -> None:
    """Require what every alternative requires."""
    if not branches:
        return
    first, *others = [as_sequence(branch.get("required")) for branch in branches]
    common = [name for name in first if all(name in names for names in others)]
    own = as_sequence(form.get("required"))
    required = [*own, *(name for name in common if name not in own)]
    if required:
        form["required"] = required


def _join(first: Mapping[str, Json], second: Mapping[str, Json]) -> Form:
    """Return a schema of what holds by two schemas at once; where both say something, the first
    counts.
    """
    joined: Form = {**second, **first}
    if first.get("items") == {} and "items" in second:
        joined["items"] = second["items"]
    for key in ("properties", "required"):
        ours, theirs = first.get(key), second.get(key)
        if isinstance(ours, dict) and isinstance(theirs, dict):
            properties: Form = {**theirs, **ours}
            for name in ours.keys() & theirs.keys():
                properties[name] = _join(as_mapping(ours[name]), as_mapping(theirs[name]))
            joined[key] = properties
        elif isinstance(ours, list) and isinstance(theirs, list):
            joined[key] = [*ours, *(name for name in theirs if name not in ours)]
    return joined


def unite(parts: Iterable[Mapping[str, Json]]) -> Form:
    """Return a schema of what any of the parts allows: choices together, and other parts that
    differ as alternatives.
    """
    different: list[Form] = []
    for part in parts:
        if part not in different:
            different.append(dict(part))
    if len(different) <= 1 or {} in different:
        return different[0] if len(different) == 1 else {}
    choices: list[Json] = []
    for part in different:
        listed = [part["const"]] if "const" in part else as_sequence(part.get("enum"))
        if not listed:
            return {"anyOf": list(different[:BRANCHES_MOST])}
        choices += [value for value in listed if value not in choices]
    types = list(dict.fromkeys(kind for part in different for kind in list_types(part)))
    form: Form = {"enum": choices}
    if types and all(list_types(part) for part in different):
        form = {"type": types[0] if len(types) == 1 else types, "enum": choices}
        if "array" in types:
            form["items"] = {}
    description = next((part["description"] for part in different if part.get("description")), "")
    return {**form, "description": description} if description else form


def _cut_required(node: Form) -> None:
    """Take out of `required`, in a schema and in all within it, what is no property; alternatives
    that ask for nothing else go.
    """
    for key, value in node.items():
        parts: Iterable[Json] = ()
        if key in _MAPS and isinstance(value, dict):
            parts = value.values()
        elif key in _LISTS and isinstance(value, list):
            parts = value
        elif key in SUBSCHEMAS:
            parts = (value,)
        for part in parts:
            if isinstance(part, dict):
                _cut_required(part)
    if "required" in node:
        properties = as_mapping(node.get("properties"))
        names = [name for name in as_sequence(node["required"]) if name in properties]
        node["required"] = names
        if not names:
            del node["required"]
    for key in ("anyOf", "oneOf"):
        branches = node.get(key)
        if isinstance(branches, list) and (not branches or {} in branches):
            del node[key]
    if node.get("not") == {}:
        del node["not"]
    if node.get("if") == {}:
        for key in ("if", "then", "else"):
            node.pop(key, None)
