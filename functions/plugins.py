"""Load the object that a setting names: one of ours, or one that an installed package registered
under an entry point.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from sigil.errors import UsageError, one_line

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class PluginSetting:
    """A setting that names a plugin.

    `kind` is the plugin's word for people, `group` its entry points' group, and `verbs` are the
    methods that it must have.
    """

    kind: str
    setting: str
    group: str
    verbs: tuple[str, ...]


def load_plugin(name: str, builtin: Mapping[str, _T], choice: PluginSetting) -> _T:
    """Return the object that the setting's value names.

    Raises `UsageError` that lists the known names, or says why a package's own cannot be used.
    """
    if name in builtin:
        return builtin[name]
    # a cold start spends more on this module than on most of ours, and seldom needs it
    from importlib.metadata import entry_points

    others = entry_points(group=choice.group)
    if name not in others.names:
        known = ", ".join([*builtin, *sorted(others.names)])
        raise UsageError(
            "ESETTING",
            f"there is no {choice.kind} {one_line(name, 40)!r}",
            suggestion=f"{choice.setting} is one of {known}",
        )
    try:
        loaded: _T = others[name].load()
    except Exception as problem:  # noqa: BLE001  entry point: a package may fail as it likes
        why = one_line(f"{type(problem).__name__}: {problem}")
        raise UsageError(
            "ESETTING",
            f"the {choice.kind} {name!r} does not load: {why}",
            suggestion="repair or remove its package",
        ) from None
    missing = [verb for verb in choice.verbs if not callable(getattr(loaded, verb, None))]
    defect = f"lacks {', '.join(missing)}" if missing else ""
    if isinstance(loaded, type):
        defect = "is a class, not an object"
    if defect:
        raise UsageError(
            "ESETTING",
            f"the {choice.kind} {name!r} {defect}",
            suggestion=f"see {choice.group} in docs/pain.md",
        )
    return loaded


def to_sendable(text: object, most: int) -> str:
    """Return what a plugin answered as text that can be stored and sent.

    It has at most `most` characters and no lone surrogates.
    """
    return str(text)[:most].encode("utf-8", "replace").decode()
