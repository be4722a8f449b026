"""What differs between two manifests, a line for each thing that came or went."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import orjson

from sigil.cli.details import test_line
from sigil.protocol import Json


def changes(rows: Iterable[Mapping[str, Json]]) -> Iterator[str]:
    """`field: old → new`; of a list what went (`-`) and what came (`+`), of a table each of its
    fields.
    """
    for row in rows:
        yield from _field(str(row["field"]), row["old"], row["new"])


def _field(name: str, old: Json, new: Json) -> Iterator[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        for part in dict.fromkeys((*old, *new)):
            if old.get(part) != new.get(part):
                yield from _field(f"{name}.{part}", old.get(part), new.get(part))
    elif isinstance(old, list) and isinstance(new, list):
        lines = [*(f"- {_item(name, item)}" for item in old if item not in new)]
        lines += [f"+ {_item(name, item)}" for item in new if item not in old]
        yield from (f"{name}:", *(lines or ["in another order"]))
    else:
        yield f"{name}: {orjson.dumps(old).decode()} → {orjson.dumps(new).decode()}"


def _item(name: str, item: Json) -> str:
    return (
        test_line(item)
        if name == "tests"
        else item
        if isinstance(item, str)
        else orjson.dumps(item).decode()
    )
