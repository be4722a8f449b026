"""Change fields of a frozen dataclass, as `dataclasses.replace` does, at a third of its cost.

`replace` reads every field of the class and calls the constructor, which sets each of them by name.
A turn changes its values hundreds of times, so here each class gets one function, made at its first
use, that does no more than it must.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")
_Copier = Callable[[Any, dict[str, Any]], Any]


def evolve(value: T, **changes: Any) -> T:
    """Return a copy of a frozen dataclass with these fields changed; its `__post_init__` is called.

    `TypeError` for a name that is no field of it.
    """
    copied: T = _copier_of(type(value), tuple(changes))(value, changes)
    return copied


@cache
def _copier_of(kind: type[DataclassInstance], changed: tuple[str, ...]) -> _Copier:
    """Return the function that copies values of a class with these fields changed."""
    names = [each.name for each in fields(kind)]
    if not set(changed) <= set(names):
        strange = ", ".join(sorted(set(changed) - set(names)))
        raise TypeError(f"{kind.__name__} has no field {strange}")
    kept = [name for name in names if name not in changed]
    lines = [
        "def copy(old, changes):",
        "    new = make(kind)",
        *(f"    set_{name}(new, old.{name})" for name in kept),
        *(f"    set_{name}(new, changes[{name!r}])" for name in changed),
        *(["    new.__post_init__()"] if hasattr(kind, "__post_init__") else []),
        "    return new",
    ]
    scope: dict[str, Any] = {"make": object.__new__, "kind": kind}
    scope |= {f"set_{name}": getattr(kind, name).__set__ for name in names}
    exec("\n".join(lines), scope)
    made: _Copier = scope["copy"]
    return made
