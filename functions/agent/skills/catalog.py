"""The catalog has what a search reads of all skills of an agent: one item, however many they are.

Beside it stands its head, which every turn reads with all else that it has to know: how many skills
there are, of which catalog, and the texts of those that are pinned.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

from msgspec import Meta

from sigil.storage.kv import Item
from sigil.storage.stored import Shape, Stored

SKILLS_MOST: Final = 200
CATALOG_BYTES: Final = 300_000
"""An item of every store takes so many bytes."""
PINNED_MOST: Final = 8
PINNED_CHARACTERS: Final = 20_000
"""The pinned skills together have at most so many characters: each request carries them."""
_Count = Annotated[int, Meta(ge=0, lt=10**12)]


@dataclass(frozen=True, slots=True)
class SkillEntry(Stored):
    """What the catalog has of a skill: what it is found by, and what people want to see of it.

    `size` are the characters of its instructions, `files` is how many files it has beside them.
    """

    name: str
    description: str
    version: _Count
    tools: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    size: _Count = 0
    files: _Count = 0
    at: float = 0.0
    by: str = ""
    pinned: bool = False


@dataclass(frozen=True, slots=True)
class Catalog(Stored):
    """The skills of an agent, by name. `generation` grows with every change."""

    generation: _Count = 0
    skills: tuple[SkillEntry, ...] = ()

    def find(self, name: str) -> SkillEntry | None:
        """Return the entry of a skill, None when there is none of this name."""
        return next((each for each in self.skills if each.name == name), None)


@dataclass(frozen=True, slots=True)
class PinnedSkill(Stored):
    """A skill that stands in the system message."""

    name: str
    version: _Count
    text: str
    tools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SkillsHead(Stored):
    """What a turn knows of an agent's skills before it asks for one."""

    generation: _Count = 0
    count: _Count = 0
    pinned: tuple[PinnedSkill, ...] = ()


NO_SKILLS: Final = SkillsHead()
CATALOG: Final = Shape[Catalog](Catalog)
HEAD: Final = Shape[SkillsHead](SkillsHead)


def decode_head(item: Item | None) -> SkillsHead:
    """Return the head that is stored; without one, or when it is damaged, that of no skills."""
    try:
        return HEAD.read(item.value) if item else NO_SKILLS
    except ValueError:
        return NO_SKILLS
