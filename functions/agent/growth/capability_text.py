"""The text of a capability as an agent changes it: its fields as JSON, as `sigil_deploy` takes
them, then a line of `---`, then its code.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

import orjson

from sigil import strict_json
from sigil.errors import SigilError, UsageError, one_line
from sigil.json_fields import as_mapping, as_sequence
from sigil.protocol import Json

LINE: Final = "---"
CODE: Final = ("code", "execute", "wasm")
_OTHERS: Final = ("tags", "aliases", "examples", "requires", "public", "idempotent")
HINT: Final = f'such as {{"description": "…", "schema": {{…}}}}, a line of {LINE}, and the code'


def write_capability(row: Mapping[str, Json]) -> str:
    """Return the text of a version as a registry shows it; `UsageError` without a source."""
    source = row["source"]
    if not isinstance(source, str) or row["kind"] != "wasm" or row.get("members"):
        raise UsageError("EINVAL", f"{row['capability']} has no source that could be changed")
    spec: dict[str, Json] = {"name": row["capability"], "description": row["description"]}
    spec |= {name: row[name] for name in _OTHERS if row[name]}
    usual = {"lang": ("lang", "js"), "type": ("lifetime", "normal"), "on_degraded": (None, "wait")}
    for name, (field, value) in usual.items():
        if row[field or name] != value:
            spec[name] = row[field or name]
    spec["schema"] = row["schema"]
    if row.get("output_schema") is not None:
        spec["output_schema"] = row["output_schema"]
    asked = as_mapping(row["permissions"])
    if any(asked.values()):
        spec["permissions"] = {name: value for name, value in asked.items() if value}
    spec["limits"] = row["limits"]
    if row["tests"]:
        spec["tests"] = [_shorten_test(as_mapping(test)) for test in as_sequence(row["tests"])]
    fields = orjson.dumps(spec, option=orjson.OPT_INDENT_2).decode()
    return f"{fields}\n{LINE}\n{source.strip()}"


def read_capability(name: str, text: str) -> dict[str, Json]:
    """Return the fields that `deploy` takes; `UsageError` EINVAL for a text that has none."""
    lines = text.splitlines()
    end = next((number for number, line in enumerate(lines) if line.rstrip() == LINE), -1)
    code = "\n".join(lines[end + 1 :]).strip()
    if end < 0 or not code:
        raise _fault(name, f"it has no code behind a line of {LINE}")
    try:
        spec = strict_json.read_object("\n".join(lines[:end]).encode(), source=name)
    except SigilError as problem:
        raise _fault(name, one_line(problem.message, 200)) from None
    _require_distinct(name, "\n".join(lines[:end]))
    if any(field in spec for field in CODE):
        raise _fault(name, f"its code stands below the line of {LINE}, and nowhere else")
    if spec.get("name", name) != name:
        raise _fault(name, "its fields have another name")
    field = "execute" if spec.get("lang", "js") == "js" else "code"
    return {**spec, "name": name, field: code}


def says_same(text: str, other: str, name: str) -> bool:
    """Return whether a stored capability's text says all that another one says."""
    try:
        stored, wanted = read_capability(name, text), read_capability(name, other)
    except UsageError:
        return False
    return all(stored.get(field) == value for field, value in wanted.items() if value)


def _require_distinct(name: str, fields: str) -> None:
    """Raise `UsageError` where a name stands twice in one object: its reader sees the first, and a
    parser takes the last.
    """

    def build(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        if len(dict(pairs)) < len(pairs):
            raise _fault(name, "a name stands twice in its fields")
        return dict(pairs)

    json.loads(fields, object_pairs_hook=build)


def _shorten_test(test: Mapping[str, Json]) -> dict[str, Json]:
    """Return a golden test without the fields that say nothing."""
    is_error = test.get("error") is not None
    return {
        name: value
        for name, value in test.items()
        if value or name == "input" or (name == "output" and not is_error)
    }


def _fault(name: str, what: str) -> UsageError:
    return UsageError("EINVAL", f"capability {name}: {what}", suggestion=HINT)
