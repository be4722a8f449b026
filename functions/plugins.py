"""What a setting names: one of ours, or what an installed package registered under an entry
point.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import TypeVar

from sigil.errors import UsageError, one_line

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Choice:
    """A setting that names something. `kind`: what people call it; `group`: the entry points'
    group; `verbs` of what is registered.
    """

    kind: str
    setting: str
    group: str
    verbs: tuple[str, ...]


def chosen(name: str, builtin: Mapping[str, _T], choice: Choice) -> _T:
    """What the setting's value names; `UsageError` names the known ones, or says why a package's
    own cannot be used.
    """
    if name in builtin:
        return builtin[name]
    others = entry_points(group=choice.group)
    if name not in others.names:
        known = ", ".join([*builtin, *sorted(others.names)])
        raise UsageError(
            "ESETTING",
            f"there is no {choice.kind} {one_line(name, 40)!r}",
            suggestion=f"{choice.setting} is one of {known}",
        )
    try:
        made: _T = others[name].load()
    except Exception as problem:  # noqa: BLE001  a door: a stranger's package
        why = one_line(f"{type(problem).__name__}: {problem}")
        raise UsageError(
            "ESETTING",
            f"the {choice.kind} {name!r} does not load: {why}",
            suggestion="mend or remove its package",
        ) from None
    missing = [verb for verb in choice.verbs if not callable(getattr(made, verb, None))]
    if missing or isinstance(made, type):
        what = (
            "is a class, not an object" if isinstance(made, type) else f"lacks {', '.join(missing)}"
        )
        raise UsageError(
            "ESETTING",
            f"the {choice.kind} {name!r} {what}",
            suggestion=f"see {choice.group} in docs/pain.md",
        )
    return made


def sendable(text: object, most: int) -> str:
    """What a stranger's verb gave, as text that can be stored and sent: bounded, and without lone
    surrogates.
    """
    return str(text)[:most].encode("utf-8", "replace").decode()
