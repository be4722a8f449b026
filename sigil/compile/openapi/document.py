"""An OpenAPI document as it was read: JSON or YAML, within limits, and its references.

The document comes from strangers. References lead only into the document itself, and whatever
follows them is bounded by its caller.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

from sigil.errors import UsageError, one_line
from sigil.json_fields import as_mapping, as_string
from sigil.protocol import Json
from sigil.strict_json import DEPTH_LIMIT, read_object

DOCUMENT_BYTES = 10 << 20
NODES_MOST = 1_000_000
"""The most values of a YAML document, those that an alias repeats included."""
REFERENCES_MOST = 20
"""The most references that lead from one to the next."""
TITLE_CHARACTERS = 60
_INTEGER = re.compile(r"[-+]?[0-9]{1,18}", re.ASCII)
_NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]{1,3})?", re.ASCII)
_CONSTANTS: Mapping[str, Json] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_YAML_TEXT = "tag:yaml.org,2002:str"


class DocumentProblem(Exception):
    """Something in a document that cannot be used; `place`: where, such as `#/paths/~1pets`."""

    def __init__(self, place: str, message: str) -> None:
        super().__init__(f"{one_line(place, 160)}: {message}")


@dataclass(frozen=True, slots=True)
class ApiDocument:
    """An OpenAPI document. `source`: the file or address that it came from."""

    root: Mapping[str, Json]
    source: str

    @property
    def title(self) -> str:
        """Return the API's name, on one line."""
        title = as_string(as_mapping(self.root.get("info")).get("title"))
        return one_line(title, TITLE_CHARACTERS) or "the API"

    def follow(self, node: Json, place: str) -> tuple[Mapping[str, Json], str]:
        """Return the object that `node` is or refers to, and its place; `DocumentProblem` when it
        is no object or leads nowhere.
        """
        for _ in range(REFERENCES_MOST):
            if not isinstance(node, dict):
                raise DocumentProblem(place, "this has to be an object")
            reference = node.get("$ref")
            if not isinstance(reference, str):
                return node, place
            node, place = self._find(reference, place), reference
        raise DocumentProblem(place, "its references lead in a circle")

    def _find(self, reference: str, place: str) -> Json:
        if not reference.startswith("#/"):
            raise DocumentProblem(
                place,
                f"it refers to another document, {one_line(reference, 80)!r}, which is not read",
            )
        node: Json = dict(self.root)
        for part in reference[2:].split("/"):
            key = unquote(part).replace("~1", "/").replace("~0", "~")
            if isinstance(node, dict) and key in node:
                node = node[key]
            elif isinstance(node, list) and key.isdecimal() and int(key[:6]) < len(node):
                node = node[int(key[:6])]
            else:
                raise DocumentProblem(place, f"{one_line(reference, 80)!r} leads nowhere")
        return node


def join_place(place: str, *keys: str | int) -> str:
    """Return the place below `place`, as a JSON pointer in a fragment."""
    parts = [str(key).replace("~", "~0").replace("/", "~1") for key in keys]
    return "/".join((place, *parts))


def read_document(body: bytes, source: str) -> ApiDocument:
    """Return the OpenAPI document in `body`; `UsageError` with the reason when it is none."""
    if len(body) > DOCUMENT_BYTES:
        raise UsageError(
            "ETOOBIG", f"a document has at most {DOCUMENT_BYTES >> 20} MiB", source=source
        )
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError("EINVAL", "the document is not UTF-8", source=source) from None
    if text.lstrip()[:1] == "{":
        root = read_object(text, source=source)
    else:
        root = _read_yaml(text, source)
    version = root.get("openapi")
    if "swagger" in root:
        raise UsageError(
            "EINVAL",
            "this is a document of Swagger 2.0; OpenAPI 3.0 and 3.1 can be read",
            source=source,
            suggestion="convert it: npx swagger2openapi FILE -o openapi.json",
        )
    if not isinstance(version, str) or not version.startswith("3."):
        raise UsageError(
            "EINVAL",
            'this is no OpenAPI document: its "openapi" has to be 3.0 or 3.1',
            source=source,
            suggestion="give the document itself (openapi.json, openapi.yaml), not a page about it",
        )
    if not isinstance(root.get("paths"), dict):
        raise UsageError("EINVAL", '#: it has no "paths", so no operations', source=source)
    return ApiDocument(root, source)


@dataclass(slots=True)
class _OpenNode:
    """A list or a mapping of a YAML document that has not ended yet. `begin`: the number of values
    before it; `key`: the key that waits for its value.
    """

    node: dict[str, Json] | list[Json]
    anchor: str | None
    begin: int
    key: str | None = None


@dataclass(slots=True)
class _YamlTree:
    """The tree of a YAML document, built event by event, so that a limit ends it in time.

    Built by hand, because YAML's own types turn a version into a number, a date into an object
    and `no` into false, where OpenAPI has JSON's types.
    """

    source: str
    root: Json = None
    count: int = 0
    open_nodes: list[_OpenNode] = field(default_factory=list)
    anchors: dict[str, tuple[Json, int]] = field(default_factory=dict)

    def add(self, value: Json, line: int, size: int = 1) -> None:
        """Put a value where it belongs: into the innermost open node."""
        self.count += size
        if self.count > NODES_MOST:
            self.refuse(f"more than {NODES_MOST:,} values", line)
        if not self.open_nodes:
            self.root = value
            return
        parent = self.open_nodes[-1]
        if isinstance(parent.node, list):
            parent.node.append(value)
        elif parent.key is None:
            if not isinstance(value, str):
                self.refuse("a key has to be a text", line)
            parent.key = str(value)
        else:
            parent.node[parent.key] = value
            parent.key = None

    def expects_key(self) -> bool:
        """Return whether the next value is a key of a mapping."""
        if not self.open_nodes:
            return False
        parent = self.open_nodes[-1]
        return isinstance(parent.node, dict) and parent.key is None

    def open(self, node: dict[str, Json] | list[Json], anchor: str | None, line: int) -> None:
        """Begin a list or a mapping."""
        if len(self.open_nodes) >= DEPTH_LIMIT:
            self.refuse(f"nested deeper than {DEPTH_LIMIT}", line)
        begin = self.count
        self.add(node, line)
        self.open_nodes.append(_OpenNode(node, anchor, begin))

    def close(self) -> None:
        """End the innermost list or mapping."""
        ended = self.open_nodes.pop()
        if ended.anchor:
            self.anchors[ended.anchor] = (ended.node, self.count - ended.begin)

    def refuse(self, why: str, line: int) -> None:
        """Raise `UsageError` for the line."""
        raise UsageError("EINVAL", f"line {line}: {why}", source=self.source)


def _read_yaml(text: str, source: str) -> dict[str, Json]:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    tree = _YamlTree(source)
    try:
        for event in yaml.parse(text, Loader=loader):
            line = event.start_mark.line + 1
            if isinstance(event, yaml.ScalarEvent):
                is_text = tree.expects_key() or not event.implicit[0] or event.tag == _YAML_TEXT
                value = event.value if is_text else _read_scalar(event.value)
                if event.anchor:
                    tree.anchors[event.anchor] = (value, 1)
                tree.add(value, line)
            elif isinstance(event, yaml.AliasEvent):
                if event.anchor not in tree.anchors:
                    tree.refuse("an alias of what is not there or not complete", line)
                value, size = tree.anchors[event.anchor]
                tree.add(value, line, size)
            elif isinstance(event, yaml.MappingStartEvent):
                tree.open({}, event.anchor, line)
            elif isinstance(event, yaml.SequenceStartEvent):
                tree.open([], event.anchor, line)
            elif isinstance(event, yaml.CollectionEndEvent):
                tree.close()
            elif isinstance(event, yaml.DocumentEndEvent):
                break
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        place = f"line {mark.line + 1}: " if mark else ""
        why = one_line(str(getattr(problem, "problem", "") or "not YAML"), 120)
        raise UsageError("EINVAL", f"{place}neither JSON nor YAML: {why}", source=source) from None
    if not isinstance(tree.root, dict):
        raise UsageError(
            "EINVAL",
            "this is no OpenAPI document: it has to be an object",
            source=source,
            suggestion="give the document itself (openapi.json, openapi.yaml), not a page about it",
        )
    return tree.root


def _read_scalar(text: str) -> Json:
    """Return the value of a plain scalar as JSON's types know it."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    if _NUMBER.fullmatch(text):
        return float(text)
    return text
