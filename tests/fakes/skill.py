"""A small program that the scripted author can write, and how it reads a person's words for it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Skill:
    """One thing that it knows. `asked`: how a wish for it sounds; `fills`: patterns whose groups
    are the arguments.

    `says`: its answer around the result; for a truth value the two answers, no first.
    """

    name: str
    description: str
    properties: dict[str, Any]
    code: str
    tests: tuple[tuple[dict[str, Any], Any], ...]
    asked: str
    fills: tuple[str, ...]
    says: tuple[str, ...] = ("The answer is {}.",)

    @property
    def spec(self) -> dict[str, Any]:
        """The arguments of its `sigil_deploy`."""
        return {
            "name": self.name,
            "description": self.description,
            "schema": {
                "type": "object",
                "properties": self.properties,
                "required": list(self.properties),
            },
            "execute": self.code,
            "tests": [{"input": given, "output": output} for given, output in self.tests],
        }

    def arguments(self, said: str) -> dict[str, Any]:
        """What a person's words give to call it with."""
        found = next(
            match for pattern in self.fills if (match := re.search(pattern, said, re.DOTALL))
        )
        return {
            name: _read(text, kind["type"])
            for (name, kind), text in zip(self.properties.items(), found.groups(), strict=True)
        }

    def answer(self, result: Any) -> str:
        """A sentence around the result of a call."""
        return self.says[int(result)] if isinstance(result, bool) else self.says[0].format(result)


def _read(text: str, kind: str) -> Any:
    if kind == "array":
        return [_read(part, "array") for part in re.findall(r"\[([^\[\]]*)\]", text)] or [
            float(part) for part in text.split(",")
        ]
    return {"string": str, "integer": int, "number": float}[kind](text.strip())
