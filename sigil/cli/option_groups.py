"""Many options as one value: a command's last parameter is a dataclass, and each of its fields
becomes an option.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from inspect import Parameter, Signature, signature
from typing import Any, get_type_hints


def spread(command: Callable[..., None]) -> Callable[..., None]:
    """`command` with the fields of its last parameter's dataclass as parameters of their own."""
    *own, last = signature(command, eval_str=True).parameters.values()
    hints = get_type_hints(last.annotation, include_extras=True)
    options = [
        Parameter(
            part.name, Parameter.KEYWORD_ONLY, default=part.default, annotation=hints[part.name]
        )
        for part in fields(last.annotation)
    ]

    def spreading(**given: Any) -> None:
        value = last.annotation(**{option.name: given.pop(option.name) for option in options})
        command(**given, **{last.name: value})

    spreading.__name__, spreading.__doc__ = command.__name__, command.__doc__
    spreading.__annotations__ = {
        parameter.name: parameter.annotation for parameter in (*own, *options)
    }
    spreading.__signature__ = Signature([*own, *options])  # type: ignore[attr-defined]
    return spreading
