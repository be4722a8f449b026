"""What the store holds, read by its shape: damaged items are told of, and nothing half-read goes on."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import orjson

from sigil.errors import BackendError

if TYPE_CHECKING:
    from pydantic import TypeAdapter

T = TypeVar("T")
HELP = "`sigil doctor` says which; restore a backup, or use another store"


class Shape(Generic[T]):
    """Reads JSON that `orjson` wrote of values of one type; every field has to be of its type, and no number is infinite."""

    def __init__(self, kind: Any) -> None:
        self._kind = kind

    def read(self, data: bytes, context: Any = None) -> T:
        """The value in `data`; `ValueError` when it is of another shape. `context`: for models that ask for one."""
        orjson.loads(data)  # refuses NaN and what is beyond a double, which the reader of shapes takes
        return self._reader.validate_json(data, strict=True, context=context)

    @cached_property
    def _reader(self) -> TypeAdapter[T]:
        from pydantic import TypeAdapter

        return TypeAdapter(self._kind)


def damaged(what: str = "the store holds a record that cannot be read", *, source: str = "", suggestion: str = "") -> BackendError:
    """For what stands in a store and was not written by us so."""
    return BackendError("EDAMAGED", what, source=source, suggestion=suggestion or HELP)
