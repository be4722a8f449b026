"""An agent of another program, as far as it can be kept here: documents, notes, skills and MCP
servers, and all that is left out, with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from functions.agent.knowledge.chunking import split_text
from functions.agent.management.moved_work import (
    MovedDocument,
    MovedSchedule,
    MovedTask,
    MovedWork,
)
from functions.agent.memory.documents import CAPS
from functions.agent.memory.thing import TEXT_CHARACTERS
from functions.agent.sanitize import clean_text
from functions.agent.skills.folder import read_skills
from functions.agent.skills.package import SkillPackage
from functions.agent.skills.skill import FILE
from functions.cli.moving.mcp_entries import McpServer, parse_entries
from functions.cli.moving.secret_texts import HIDDEN, SecretTexts
from functions.cli.moving.source_folder import SourceFolder
from sigil.errors import UsageError, one_line
from sigil.protocol import Json

NOTES_MOST: Final = 5_000


@dataclass(frozen=True, slots=True)
class Note:
    """What was written down at a time, in seconds since 1970; it becomes an event in memory."""

    type: str
    text: str
    at: float
    place: str


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something that does not come along, why, and what can be done."""

    what: str
    why: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class ForeignAgent:
    """What was read of an agent: documents by name, each with the place that it was read from.

    `below` are the other agents of its team by their short names, each with its place.
    """

    program: str
    documents: Mapping[str, tuple[str, str]]
    notes: tuple[Note, ...]
    skills: Mapping[str, tuple[SkillPackage, str]]
    servers: tuple[McpServer, ...]
    left: tuple[LeftOut, ...]
    work: MovedWork = MovedWork()
    below: Mapping[str, tuple[ForeignAgent, str]] = field(default_factory=dict)


@dataclass(slots=True)
class Collector:
    """Takes what a reader finds, without its secrets, and notes what cannot be kept."""

    program: str
    secrets: SecretTexts = field(default_factory=SecretTexts)
    _documents: dict[str, tuple[str, str]] = field(default_factory=dict)
    _notes: list[Note] = field(default_factory=list)
    _skills: dict[str, tuple[SkillPackage, str]] = field(default_factory=dict)
    _servers: list[McpServer] = field(default_factory=list)
    _schedules: list[MovedSchedule] = field(default_factory=list)
    _tasks: list[MovedTask] = field(default_factory=list)
    _knowledge: list[MovedDocument] = field(default_factory=list)
    _below: dict[str, tuple[ForeignAgent, str]] = field(default_factory=dict)
    _left: list[LeftOut] = field(default_factory=list)

    def leave(self, what: str, why: str, hint: str = "") -> None:
        """Note that something does not come along."""
        self._left.append(LeftOut(show_name(what), show_name(why), show_name(hint)))

    def add_document(self, name: str, text: str | None, place: str) -> None:
        """Take a document; a memory that is too long for one becomes notes."""
        text = self.hide(clean_text(text or "").strip(), place)
        if not text:
            return
        if len(text) <= CAPS[name]:
            self._documents[name] = (text, place)
            return
        why = f"has {len(text):,} characters, and the document {name} at most {CAPS[name]:,}"
        self.leave(place, why, "shorten it there, and import again")

    def add_memory(self, text: str | None, place: str, at: float) -> None:
        """Take a memory as the document, or as notes when it is too long for it."""
        if text and len(text.strip()) > CAPS["memory"]:
            self.add_notes("memory", text, place, at)
        else:
            self.add_document("memory", text, place)

    def add_notes(self, type: str, text: str, place: str, at: float) -> None:
        """Take a text as one note, or as several when it is long."""
        text = self.hide(clean_text(text).strip(), place)
        if not text:
            return
        parts = [text]
        if len(text) > TEXT_CHARACTERS:
            parts = [chunk.text.strip() for chunk in split_text(text)]
        shown = show_name(place)
        self._notes.extend(Note(type, part, at, shown) for part in parts if part)

    def add_skills(self, folder: SourceFolder, path: str) -> None:
        """Take the skills of a folder; one that is there already stays."""
        for name in folder.list_names(path):
            place = f"{path}/{name}"
            if name.startswith(".") or FILE not in self._list_files(folder, place):
                continue
            try:
                packages = [found.package for found in read_skills(folder.root / place)]
            except UsageError as problem:
                self._refuse(place, problem)
                continue
            for package in packages:
                self.add_skill(package, place)

    def add_skill(self, package: SkillPackage, place: str) -> None:
        """Take a skill, unless it cannot be kept or there is one of its name."""
        files = {FILE: package.body, **package.files}
        hidden = {path: self._hide_bytes(body, f"{place}/{path}") for path, body in files.items()}
        package = SkillPackage(hidden.pop(FILE), hidden)
        try:
            name = package.parse().name
        except UsageError as problem:
            self._refuse(place, problem)
            return
        if name in self._skills:
            self.leave(place, f"has the same name as {self._skills[name][1]}, which is taken")
            return
        self._skills[name] = (package, show_name(place))

    def add_servers(self, entries: Json, place: str) -> None:
        """Take the MCP servers of the settings, by name."""
        for name, found in parse_entries(entries, place, self.secrets):
            if isinstance(found, McpServer):
                self._servers.append(found)
            else:
                self.leave(f"the MCP server {name}", *found)

    def add_schedule(self, schedule: MovedSchedule) -> None:
        """Take a schedule."""
        self._schedules.append(schedule)

    def add_task(self, task: MovedTask) -> None:
        """Take a task for the board."""
        self._tasks.append(task)

    def add_knowledge(self, document: MovedDocument) -> None:
        """Take a document for the knowledge base."""
        self._knowledge.append(document)

    def add_agent(self, name: str, found: ForeignAgent, place: str) -> None:
        """Take another agent of the team; what it leaves out is named with the place."""
        self._below[name] = (found, place)
        for left in found.left:
            self._left.append(replace(left, what=show_name(f"{place}: {left.what}")))

    def finish(self) -> ForeignAgent:
        """Return the agent; `UsageError` when there is nothing of one."""
        notes = sorted(self._notes, key=lambda note: note.at)
        if len(notes) > NOTES_MOST:
            self.leave(f"{len(notes) - NOTES_MOST:,} notes", f"the newest {NOTES_MOST:,} are taken")
            notes = notes[-NOTES_MOST:]
        work = MovedWork(tuple(self._schedules), tuple(self._tasks), tuple(self._knowledge))
        if not (self._documents or notes or self._skills or self._servers or work):
            raise UsageError("ENOENT", f"nothing of an agent of {self.program} is there")
        return ForeignAgent(
            self.program,
            self._documents,
            tuple(notes),
            self._skills,
            tuple(self._servers),
            tuple(self._left),
            work,
            self._below,
        )

    def _list_files(self, folder: SourceFolder, place: str) -> list[str]:
        try:
            return folder.list_names(place)
        except UsageError as problem:
            self._refuse(place, problem)
            return []

    def _refuse(self, place: str, problem: UsageError) -> None:
        self.leave(place, f"cannot be kept: {problem.message}", problem.suggestion)

    def hide(self, text: str, place: str, *, named: bool = True) -> str:
        """Return a text without its secrets; `place` is where the report says they were."""
        text, count = self.secrets.hide(text, named=named)
        if count:
            looks = "a text that looks" if count == 1 else f"{count} texts that look"
            hint = "`sigil secret set NAME` keeps one for tools"
            why = f"{looks} like a secret: {HIDDEN} stands there instead"
            self.leave(place, f"has {why}", hint)
        return text

    def _hide_bytes(self, body: bytes, place: str) -> bytes:
        try:
            return self.hide(body.decode(), place, named=False).encode()
        except UnicodeDecodeError:
            return body


def show_name(text: str) -> str:
    """Return a text with names from a disk as one line, without bytes that are no UTF-8."""
    return one_line(text.encode(errors="replace").decode(), 500)
