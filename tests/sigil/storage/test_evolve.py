"""A changed copy of a value is what `dataclasses.replace` makes, with its checks."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, dataclass, replace

import pytest

from functions.agent.conversation.messages import Message
from functions.agent.session.document import Document
from sigil.storage.evolve import evolve
from sigil.storage.stored import Stored, later


@dataclass(frozen=True, slots=True)
class Checked(Stored):
    least: int
    most: int = 9
    name: str = later("")

    def __post_init__(self) -> None:
        if self.least > self.most:
            raise ValueError("the least is more than the most")


@pytest.mark.parametrize(
    ("value", "changes"),
    [
        (Checked(1), {"least": 2}),
        (Checked(1), {"name": "a", "most": 3, "_rest": {"x": 1}}),
        (Checked(1), {}),
        (Message("user", "hi"), {"seq": 4, "tokens": 2.0}),
        (Document(), {"messages": (Message("user", "hi"),), "next_seq": 2}),
    ],
)
def test_a_copy_is_what_replace_makes(value: Stored, changes: dict[str, object]) -> None:
    copied = evolve(value, **changes)

    assert copied == replace(value, **changes)
    assert copied is not value
    assert copied._rest == changes.get("_rest")
    with pytest.raises(FrozenInstanceError):
        copied._rest = {}  # type: ignore[misc]


def test_what_a_class_checks_is_checked_and_strange_names_are_refused() -> None:
    with pytest.raises(ValueError, match="more than the most"):
        evolve(Checked(1), least=10)
    with pytest.raises(TypeError, match="Checked has no field colour"):
        evolve(Checked(1), colour="red")
