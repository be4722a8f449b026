"""The request that an operation sends: where it goes, what each input becomes in it, and which
secrets it needs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urljoin

import regex

from sigil.compile.openapi.document import ApiDocument, DocumentProblem, join_place
from sigil.compile.openapi.operations import Operation
from sigil.compile.openapi.schemas import (
    DEPTHS,
    SchemaReader,
    SchemaTooLarge,
    clean_text,
    refuse_schema,
)
from sigil.errors import SigilError, UsageError, one_line
from sigil.json_fields import as_mapping, as_sequence, as_string
from sigil.manifest import schema
from sigil.network.headers import CREDENTIALS, check_outgoing
from sigil.network.urls import Target
from sigil.protocol import Json

FIELDS_MOST = 100
JSON, FORM, TEXT = "application/json", "application/x-www-form-urlencoded", "text/plain"
_IGNORED_HEADERS = ("accept", "content-type", "authorization")
"""Header parameters that OpenAPI itself says are ignored."""
_VARIABLE = re.compile(r"\{([^{}]{1,200})\}")
_UNFIT = regex.compile(r"[^\p{L}\p{M}\p{N}_.-]+")
_NOT_SECRET = re.compile(r"[^A-Z0-9]+")

Part = Literal["path", "query", "header", "member", "body"]
Style = Literal["plain", "repeat", "comma", "space", "pipe", "deep", "spread", "json"]
Body = Literal["", "json", "form", "text"]


@dataclass(frozen=True, slots=True)
class Field:
    """One property of the input. `wire`: its name in the request; `part`: where it goes; `style`:
    how a list or an object is written; `example`: a one-element tuple with the document's own.
    """

    name: str
    wire: str
    part: Part
    style: Style
    is_required: bool
    schema: dict[str, Json]
    example: tuple[Json, ...] = ()


@dataclass(frozen=True, slots=True)
class Request:
    """The request of one operation. `base`: the server's address, without a slash at its end;
    `path`: the document's, with its variables; `headers` and `query`: what carries secrets;
    `secrets`: their names; `body`: how the body is written.
    """

    method: str
    base: str
    path: str
    fields: tuple[Field, ...]
    body: Body
    headers: tuple[tuple[str, str], ...]
    query: tuple[tuple[str, str], ...]
    secrets: tuple[str, ...]
    schema: dict[str, Json]

    @property
    def host(self) -> str:
        """Return the server's host as permissions write it."""
        return Target.parse(self.base).authority

    @property
    def permission(self) -> str:
        """Return the permission that the request needs: its method, and the path up to its first
        variable.
        """
        fixed = self.path.partition("{")[0]
        target = Target.parse(self.base + (fixed if fixed == self.path else f"{fixed}x"))
        path = target.path if fixed == self.path else target.path[: target.path.rfind("/") + 1]
        rule = f"{self.method} {self.host}{path}"
        return rule if len(rule) <= 200 and rule.isascii() else f"{self.method} {self.host}/"


def plan_request(document: ApiDocument, operation: Operation, prefix: str, server: str) -> Request:
    """Return the request of an operation; `DocumentProblem` when no capability can send it."""
    if operation.problem:
        raise DocumentProblem(operation.place, operation.problem)
    base = _find_server(document, operation, server)
    headers, query, secrets = _find_sign_in(document, operation, prefix)
    if secrets and not base.startswith("https:"):
        raise DocumentProblem(
            operation.place, "it needs a secret, and secrets are sent over https alone"
        )
    last = DocumentProblem(operation.place, "its input has too many parts")
    for depth in DEPTHS:
        reader = SchemaReader(document, depth)
        try:
            fields = _read_parameters(document, operation, reader)
            body, members = _read_body(document, operation, reader, {one.name for one in fields})
        except SchemaTooLarge:
            continue
        fields += members
        if len(fields) > FIELDS_MOST:
            raise DocumentProblem(
                operation.place, f"more than {FIELDS_MOST} parameters are not supported"
            )
        try:
            checked = schema.check(_write_schema(fields))
        except UsageError as problem:
            last = refuse_schema(operation.place, problem)
            continue
        return Request(
            operation.method,
            base,
            operation.path,
            tuple(fields),
            body,
            headers,
            query,
            secrets,
            checked,
        )
    raise last


def _write_schema(fields: list[Field]) -> dict[str, Json]:
    required: list[Json] = [each.name for each in fields if each.is_required]
    properties: dict[str, Json] = {}
    for each in fields:
        properties[each.name] = each.schema
    written: dict[str, Json] = {
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }
    if required:
        written["required"] = required
    return written


# -- where it goes, and with which secrets


def _find_server(document: ApiDocument, operation: Operation, server: str) -> str:
    """Return the address that a request's path is put behind."""
    place = "#/servers/0"
    address = server
    for node, at in (
        (as_mapping(operation.node), operation.place),
        (as_mapping(operation.shared), operation.shared_place),
        (document.root, "#"),
    ):
        listed = as_sequence(node.get("servers"))
        if listed and not address:
            place = join_place(at, "servers", 0)
            address = _fill_variables(as_mapping(listed[0]))
    if not address or not re.match(r"[a-z]+://", address):
        if not re.match(r"https?://", document.source):
            raise DocumentProblem(place, "it does not say where the API is: add --server https://…")
        address = urljoin(document.source, address or "/")
    try:
        target = Target.parse(address)
    except SigilError as problem:
        raise DocumentProblem(place, f"its address cannot be used: {problem.message}") from None
    if target.scheme != "https" and not target.is_local:
        raise DocumentProblem(place, "the API is not reached over https")
    if target.query:
        raise DocumentProblem(place, "an address with a query cannot be used")
    return target.url.rstrip("/")


def _fill_variables(server: Mapping[str, Json]) -> str:
    variables = as_mapping(server.get("variables"))

    def fill(found: re.Match[str]) -> str:
        return as_string(as_mapping(variables.get(found[1])).get("default"))

    return _VARIABLE.sub(fill, as_string(server.get("url")))


Pairs = tuple[tuple[str, str], ...]


def _find_sign_in(
    document: ApiDocument, operation: Operation, prefix: str
) -> tuple[Pairs, Pairs, tuple[str, ...]]:
    """Return the headers and the query that carry secrets, and the names of these: those of the
    first way to sign in that a capability can have.
    """
    node = as_mapping(operation.node)
    ways = as_sequence(node.get("security", document.root.get("security")))
    problem = ""
    for way in ways:
        headers: list[tuple[str, str]] = []
        query: list[tuple[str, str]] = []
        secrets: list[str] = []
        problem = ""
        for name in as_mapping(way):
            place = join_place("#/components/securitySchemes", name)
            schemes = as_mapping(as_mapping(document.root.get("components")).get("securitySchemes"))
            scheme, _ = document.follow(schemes.get(name), place)
            secret = _name_secret(prefix, name)
            kind = as_string(scheme.get("type"))
            wire = as_string(scheme.get("name"))
            spoken = as_string(scheme.get("scheme")).lower()
            if kind == "apiKey" and scheme.get("in") == "query" and wire:
                query.append((wire, f"{{{{{secret}}}}}"))
            elif kind == "apiKey" and scheme.get("in") == "header" and _is_settable(wire):
                headers.append((wire.lower(), f"{{{{{secret}}}}}"))
            elif kind in ("oauth2", "openIdConnect") or (kind == "http" and spoken == "bearer"):
                headers.append(("authorization", f"Bearer {{{{{secret}}}}}"))
            elif kind == "http" and spoken == "basic":
                headers.append(("authorization", f"Basic {{{{{secret}}}}}"))
            else:
                problem = f"{place}: a sign-in of this kind is not supported"
            secrets.append(secret)
        if not problem:
            return tuple(headers), tuple(query), tuple(secrets)
    if problem:
        raise DocumentProblem(operation.place, problem)
    return (), (), ()


def _name_secret(prefix: str, scheme: str) -> str:
    words = _NOT_SECRET.sub(
        "_", re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", f"{prefix}_{scheme}").upper()
    )
    return words.strip("_")[:60]


def _is_settable(header: str) -> bool:
    try:
        fields = check_outgoing([[header, "x"]])
    except SigilError:
        return False
    return bool(fields)


# -- parameters


def _read_parameters(
    document: ApiDocument, operation: Operation, reader: SchemaReader
) -> list[Field]:
    """Return the fields of the operation's parameters and of those that its path shares."""
    nodes: dict[tuple[str, str], tuple[Mapping[str, Json], str]] = {}
    for owner, at in (
        (as_mapping(operation.shared), operation.shared_place),
        (as_mapping(operation.node), operation.place),
    ):
        for number, node in enumerate(as_sequence(owner.get("parameters"))):
            place = join_place(at, "parameters", number)
            found, place = document.follow(node, place)
            wire = as_string(found.get("name"))
            if not wire:
                raise DocumentProblem(place, "a parameter without a name")
            nodes[(as_string(found.get("in")), wire)] = (found, place)
    fields: list[Field] = []
    names: set[str] = set()
    for (part, wire), (node, place) in nodes.items():
        parameter = _read_parameter(document, part, wire, node, place, reader=reader, names=names)
        if parameter:
            names.add(parameter.name)
            fields.append(parameter)
    listed = {each.wire for each in fields if each.part == "path"}
    for variable in dict.fromkeys(_VARIABLE.findall(operation.path)):
        if variable not in listed:
            raise DocumentProblem(
                operation.place, f"the path's {{{one_line(variable, 40)}}} is no parameter"
            )
    return fields


def _read_parameter(
    document: ApiDocument,
    part: str,
    wire: str,
    node: Mapping[str, Json],
    place: str,
    *,
    reader: SchemaReader,
    names: set[str],
) -> Field | None:
    """Return a parameter's field; None for one that is left out because it need not be given."""
    is_required = node.get("required") is True or part == "path"
    problem = ""
    if part == "header" and wire.lower() in _IGNORED_HEADERS:
        return None
    if part not in ("path", "query", "header"):
        problem = "a cookie cannot be sent" if part == "cookie" else "it has to say where it goes"
    elif part == "header" and (not _is_settable(wire) or wire.lower() in CREDENTIALS):
        problem = f"the header {one_line(wire, 40)!r} cannot be set"
    style: Style = "plain"
    content = as_mapping(node.get("content"))
    if content:
        media, schema_place = content.get(JSON), join_place(place, "content", JSON, "schema")
        if not isinstance(media, dict):
            problem = problem or f"only {JSON} is supported"
        converted = reader.convert(as_mapping(media).get("schema", True), schema_place)
        style = "json"
    else:
        converted = reader.convert(node.get("schema", True), join_place(place, "schema"))
        chosen = _choose_style(part, node, converted)
        if chosen is None:
            problem = problem or "its style is not supported"
        else:
            style = chosen
    if problem:
        if is_required:
            raise DocumentProblem(place, problem)
        return None
    description = clean_text(as_string(node.get("description")), 200)
    if description:
        converted = {**converted, "description": description}
    name = _name_field(wire, names)
    example = find_example(node, as_mapping(node.get("schema")))
    return Field(
        name,
        wire,
        "path" if part == "path" else "query" if part == "query" else "header",
        style,
        is_required,
        converted,
        example,
    )


def _choose_style(
    part: str, node: Mapping[str, Json], converted: Mapping[str, Json]
) -> Style | None:
    """Return how a parameter is written; None when that is not supported."""
    kind = converted.get("type")
    is_list = kind == "array" or "items" in converted
    is_object = kind == "object" or "properties" in converted
    style = as_string(node.get("style")) or ("form" if part == "query" else "simple")
    explode = node.get("explode", style == "form")
    if part != "query":
        if style != "simple" or is_object:
            return None
        return "comma" if is_list else "plain"
    if style == "deepObject":
        return "deep" if is_object else None
    if is_object:
        return "spread" if style == "form" and explode else None
    if not is_list:
        return "plain"
    if explode:
        return "repeat"
    delimiters: Mapping[str, Style] = {
        "form": "comma",
        "spaceDelimited": "space",
        "pipeDelimited": "pipe",
    }
    return delimiters.get(style)


def _name_field(wire: str, taken: set[str]) -> str:
    """Return the property that stands for a name of the request: `filter_name` for
    `filter[name]`.
    """
    name = _UNFIT.sub("_", wire).strip("_")[:60] if _UNFIT.search(wire) else wire[:60]
    if not name or name == "__proto__":
        name = "value"
    for candidate in (name, *(f"{name}_{number}" for number in range(2, FIELDS_MOST + 2))):
        if candidate not in taken:
            return candidate
    return name


def find_example(*nodes: Mapping[str, Json]) -> tuple[Json, ...]:
    """Return the first example that the document gives, in a tuple; an empty one without any."""
    for node in nodes:
        if "example" in node:
            return (node["example"],)
        examples = node.get("examples")
        if isinstance(examples, list) and examples:
            return (examples[0],)
        for example in as_mapping(examples).values():
            if isinstance(example, dict) and "value" in example:
                return (example["value"],)
    return ()


# -- the body


def _read_body(
    document: ApiDocument, operation: Operation, reader: SchemaReader, names: set[str]
) -> tuple[Body, list[Field]]:
    """Return how the body is written, and its fields: a JSON object's own properties, or `body`."""
    node = as_mapping(operation.node).get("requestBody")
    if node is None or operation.method in ("GET", "HEAD"):
        return "", []
    body, place = document.follow(node, join_place(operation.place, "requestBody"))
    content = as_mapping(body.get("content"))
    is_required = body.get("required") is True
    for media_type, media in content.items():
        plain = media_type.partition(";")[0].strip().lower()
        kind: Body = ""
        if plain == JSON or plain.endswith("+json") or plain == "*/*":
            kind = "json"
        elif plain == FORM:
            kind = "form"
        elif plain == TEXT:
            kind = "text"
        if not kind:
            continue
        below = join_place(place, "content", media_type, "schema")
        described = as_mapping(media)
        source = described.get("schema", True)
        converted = reader.convert(source, below)
        examples = [described]
        if isinstance(source, dict):
            examples.append(document.follow(source, below)[0])
        example = find_example(*examples)
        description = clean_text(as_string(body.get("description")), 200)
        if description and "description" not in converted:
            converted = {**converted, "description": description}
        members = _split_members(
            document,
            source,
            below,
            converted,
            example=example,
            is_required=is_required,
            names=names,
        )
        if members is not None and kind != "text":
            return kind, members
        if kind == "form":
            break
        name = _name_field("body", names)
        return kind, [Field(name, "", "body", "json", is_required, converted, example)]
    if not is_required:
        return "", []
    kinds = ", ".join(one_line(name, 40) for name in list(content)[:3]) or "nothing"
    raise DocumentProblem(place, f"a body of {kinds} is not supported")


def _split_members(
    document: ApiDocument,
    source: Json,
    place: str,
    converted: Mapping[str, Json],
    *,
    example: tuple[Json, ...],
    is_required: bool,
    names: set[str],
) -> list[Field] | None:
    """Return the properties of a JSON object as fields; None for a body that is no plain object, or
    one of whose properties is named like a parameter.
    """
    properties = as_mapping(converted.get("properties"))
    is_plain = converted.get("type") == "object" and not converted.keys() & {"oneOf", "anyOf"}
    if not properties or not is_plain or isinstance(converted.get("additionalProperties"), dict):
        return None
    if any(name in names or _UNFIT.search(name) or len(name) > 60 for name in properties):
        return None
    required = as_sequence(converted.get("required")) if is_required else ()
    whole = as_mapping(example[0]) if example else {}
    described = as_mapping(document.follow(source, place)[0].get("properties"))
    fields = []
    for name, part in properties.items():
        known: tuple[Json, ...] = (whole[name],) if name in whole else ()
        if not whole and isinstance(described.get(name), dict):
            known = find_example(as_mapping(described[name]))
        fields.append(
            Field(name, name, "member", "json", name in required, dict(as_mapping(part)), known)
        )
    return fields
