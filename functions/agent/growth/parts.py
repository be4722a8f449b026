"""The parts of an agent that it may propose to change: each is read, checked, written as a new
version, and brought back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Protocol, runtime_checkable

from functions.agent.app import App
from functions.agent.behaviours.behaviour import PREFIX as BEHAVIOUR
from functions.agent.behaviours.pins import SELF
from functions.agent.growth.capability_text import read_capability, says_same, write_capability
from functions.agent.growth.change import CAPABILITY, SCHEDULE, Change
from functions.agent.growth.schedule_text import read_schedule, write_schedule
from functions.agent.memory.documents import check_document_text
from functions.agent.sanitize import find_unseen
from functions.agent.schedules.schedule import Schedule
from functions.agent.skills.package import SkillPackage
from functions.agent.skills.skill import PREFIX as SKILL
from sigil.errors import Conflict, Refused, UsageError
from sigil.json_fields import as_integer, as_string
from sigil.protocol import Caller, Json

CODE_CHARACTERS: Final = 12_000
"""A capability with a longer text is changed by people."""


@dataclass(frozen=True, slots=True)
class PartVersion:
    """One version of a part: its number, 0 where there is none, and its text. `by` and `why` say
    who wrote it and for what, where the part keeps that.
    """

    version: int = 0
    text: str = ""
    by: str = ""
    why: str = ""


class Part(Protocol):
    """A part of an agent: a document, a skill, a schedule or a capability."""

    def read(self) -> PartVersion:
        """Return the newest version."""

    def check(self, text: str) -> str:
        """Return a text as it is kept; raise what refuses it."""

    def is_made(self, current: PartVersion, change: Change, by: str) -> bool:
        """Return whether the newest version is a change that `by` made."""

    def write(self, change: Change, by: str) -> int:
        """Write the next version, all of it or nothing, and return its number.

        `Conflict` when another version than the change's base is there by now.
        """

    def restore(self, change: Change, before: str, version: int, *, by: str, why: str) -> int:
        """Bring back what was there before a change, whose version is the newest, and return the
        number of what is there then, 0 for nothing.
        """


def open_part(app: App, target: str, person: str = "", *, approved: bool = False) -> Part:
    """Return the part of an agent that a change is about.

    `person` is on whose behalf it is: a schedule is changed for nobody else. Empty for an owner.
    `approved` says that an owner has read the change: what people have made is changed by nobody
    else.
    """
    name = target.partition("/")[2]
    if target.startswith(SKILL):
        return _SkillPart(app, name)
    if target.startswith(SCHEDULE):
        return _SchedulePart(app, name, person)
    if target.startswith(CAPABILITY):
        return _CapabilityPart(app, name, approved)
    return _DocumentPart(app, target)


def list_targets(app: App, person: str) -> list[str]:
    """Return what may be changed of an agent, beside capabilities, on behalf of a person."""
    schedules = [each.id for each in app.schedules.list_of_chat() if each.by == person]
    return [
        SELF,
        *(f"{BEHAVIOUR}{name}" for name in app.list_behaviours()),
        *(f"{SKILL}{each.name}" for each in app.skills.read_catalog().skills),
        *(f"{SCHEDULE}{id}" for id in schedules),
    ]


@dataclass(frozen=True, slots=True)
class _DocumentPart:
    """The document `self`, or that of a behaviour."""

    app: App
    name: str

    def read(self) -> PartVersion:
        documents = self.app.documents
        doc = documents.read(documents.agent, self.name)
        return PartVersion(doc.version, doc.text, doc.by, doc.why)

    def check(self, text: str) -> str:
        text = check_document_text(self.name, text)
        if not text and self.name == SELF:
            raise UsageError("EINVAL", "text is the whole document as it should be")
        return text

    def is_made(self, current: PartVersion, change: Change, by: str) -> bool:
        made = PartVersion(change.base + 1, change.text, by, change.goal)
        return current == made

    def write(self, change: Change, by: str) -> int:
        documents = self.app.documents
        doc = documents.write(
            documents.agent, self.name, change.text, by=by, why=change.goal, expect=change.base
        )
        return doc.version

    def restore(self, change: Change, before: str, version: int, *, by: str, why: str) -> int:
        documents = self.app.documents
        doc = documents.write(documents.agent, self.name, before, by=by, why=why, expect=version)
        return doc.version


@dataclass(frozen=True, slots=True)
class _SkillPart:
    """A skill: its `SKILL.md`. The files beside it stay as they are."""

    app: App
    name: str

    def read(self) -> PartVersion:
        doc = next(self.app.skills.list_versions(self.name), None)
        return PartVersion(doc.version, doc.text, doc.by, doc.why) if doc else PartVersion()

    def check(self, text: str) -> str:
        if text:
            package = self._pack(text)
            named = package.parse().name
            if named != self.name:
                raise UsageError("EINVAL", f"its name is {named!r}, and not {self.name!r}")
            self.app.skills.require_room({self.name: package})
        else:
            self.app.skills.read(self.name)
        return text

    def is_made(self, current: PartVersion, change: Change, by: str) -> bool:
        return current == PartVersion(change.base + 1, change.text, by, change.goal)

    def write(self, change: Change, by: str) -> int:
        skills = self.app.skills
        how = {"by": by, "why": change.goal}
        if not change.text:
            return skills.remove(self.name, **how, expect=change.base).version
        return skills.write(self._pack(change.text), **how, expect=change.base).version

    def restore(self, change: Change, before: str, version: int, *, by: str, why: str) -> int:
        skills = self.app.skills
        if not before:
            return skills.remove(self.name, by=by, why=why, expect=version).version
        package = skills.pack(skills.read_version(self.name, change.base))
        return skills.write(package, by=by, why=why, expect=version).version

    def _pack(self, text: str) -> SkillPackage:
        """Return the skill with another text and the files that it has."""
        skills = self.app.skills
        doc = next(skills.list_versions(self.name), None)
        files = skills.pack(doc).files if doc and doc.text else {}
        return SkillPackage(f"{text}\n".encode(), files)


@dataclass(frozen=True, slots=True)
class _SchedulePart:
    """A schedule of one person's, or of anybody's where no person is named."""

    app: App
    id: str
    person: str

    def read(self) -> PartVersion:
        schedule = self._find()
        return PartVersion(schedule.version, write_schedule(schedule, self.app.clock.now()))

    def check(self, text: str) -> str:
        place = find_unseen(text)
        if place is not None:
            line = text.count("\n", 0, place) + 1
            raise UsageError("EINVAL", f"it has an invisible character in line {line}")
        edited = read_schedule(self._find(), text, self.app.clock.now())
        if edited.behaviour:
            if edited.say:
                raise UsageError("EINVAL", "a reminder is said as it is: it has no behaviour")
            self.app.require_behaviour(edited.behaviour)
        return text

    def is_made(self, current: PartVersion, change: Change, by: str) -> bool:
        known = self._find()
        made = read_schedule(known, change.text, self.app.clock.now())
        return current.version == change.base + 1 and made.words == known.words

    def write(self, change: Change, by: str) -> int:
        now = self.app.clock.now()
        known = self._find()
        if known.version != change.base:
            raise Conflict(f"it is at version {known.version}")
        words = read_schedule(known, change.text, now).words
        return self.app.schedules.edit(self.id, words, change.base, now).version

    def restore(self, change: Change, before: str, version: int, *, by: str, why: str) -> int:
        return self.app.schedules.undo_edit(self.id, version, self.app.clock.now()).version

    def _find(self) -> Schedule:
        found = self.app.schedules.find(self.id)
        is_theirs = found and (not self.person or found.by == self.person)
        if found is None or found.is_over or found.collects or not is_theirs:
            raise UsageError("ENOENT", "there is no such schedule", source="schedule")
        return found


@runtime_checkable
class VersionedRegistry(Protocol):
    """A registry that can bring back what was there before a deploy."""

    def rollback(self, name: str, caller: Caller, version: int | None = None) -> object:
        """Make an older version the active one."""

    def remove(self, name: str, caller: Caller) -> None:
        """Remove a capability."""


@dataclass(frozen=True, slots=True)
class _CapabilityPart:
    """A capability of the root's, which all chats and the agents below it use."""

    app: App
    name: str
    approved: bool

    @property
    def _owner(self) -> Caller:
        return Caller(self.app.root, owner=True)

    def read(self) -> PartVersion:
        try:
            row: Mapping[str, Json] = self.app.registry.inspect(self.name, self._owner)
        except UsageError as problem:
            if problem.code != "ENOENT":
                raise
            return PartVersion()
        if row["namespace"] != self.app.root:
            # one of the library is nobody's to change, and one of its own goes before it
            return PartVersion()
        version = as_integer(row["version"], 1) or 0
        return PartVersion(version, write_capability(row), as_string(row["author"]))

    def check(self, text: str) -> str:
        if self.app.rules.deploy == "none":
            raise Refused("EPERM", "nobody may have capabilities made here")
        if len(text) > CODE_CHARACTERS:
            raise UsageError(
                "ETOOBIG",
                f"it has {len(text):,} characters",
                suggestion=f"at most {CODE_CHARACTERS:,}",
            )
        read_capability(self.name, text)
        return text

    def is_made(self, current: PartVersion, change: Change, by: str) -> bool:
        # a text that was there before is the version that it was then
        return current.version != change.base and says_same(current.text, change.text, self.name)

    def write(self, change: Change, by: str) -> int:
        current = self.read()
        if current.version != change.base:
            raise Conflict(f"it is at version {current.version}")
        is_persons = self.approved and current.by == "person"
        caller = replace(self._owner, author="person" if is_persons else "model")
        # nothing is activated unless its golden tests pass
        deployed = self.app.registry.deploy(read_capability(self.name, change.text), caller)
        return deployed.offer.version

    def restore(self, change: Change, before: str, version: int, *, by: str, why: str) -> int:
        registry = self.app.registry
        if not isinstance(registry, VersionedRegistry):
            raise UsageError(
                "EINVAL",
                "a capability cannot be brought back through here",
                suggestion="write /proposals rollback ID in a chat, or use `sigil rollback`",
            )
        if self.read().version != version:
            raise Conflict(f"it is at version {self.read().version}")
        if not change.base:
            registry.remove(self.name, self._owner)
            return 0
        registry.rollback(self.name, self._owner, change.base)
        return self.read().version
