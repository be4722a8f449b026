"""Reads what else an agent of another program works with: lists of what is to be done become tasks
of the board, and texts to look things up in become documents of the knowledge base.
"""

from __future__ import annotations

import re
from typing import Final

from functions.agent.knowledge.record import TEXT_CHARACTERS, make_draft
from functions.agent.management.moved_work import MovedDocument, MovedTask
from functions.agent.sanitize import clean_text
from functions.agent.team.task import DESCRIPTION_CHARACTERS, SUBJECT_CHARACTERS
from functions.cli.local_agent import BY
from functions.cli.moving.foreign_agent import Collector, show_name
from functions.cli.moving.source_folder import SourceFolder
from sigil.errors import UsageError

LISTS: Final = ("TODO.md", "TODOS.md", "TASKS.md", "todo.md", "tasks.md")
FOLDERS: Final = ("knowledge", "kb")
TASKS_MOST: Final = 500
CONFIDENCE: Final = 0.8
_FILE_BYTES: Final = 8 * 1024 * 1024
_ITEM: Final = re.compile(r"[ \t]{0,20}[-*+][ \t]+\[([ xX>~-])\][ \t]+(\S[^\n]*)")
_SUFFIXES: Final = (".md", ".txt")


def read_lists(collector: Collector, workspace: SourceFolder) -> None:
    """Take what is open in the lists of a workspace: its lines `- [ ] WHAT`."""
    taken = 0
    folded = set()
    for place in LISTS:
        if place.lower() in folded:
            continue  # one file on many systems
        try:
            text = workspace.read_text(place)
        except UsageError as problem:
            collector.leave(place, f"cannot be read: {problem.message}", problem.suggestion)
            continue
        if text is None:
            continue
        folded.add(place.lower())
        items = [found for line in text.splitlines() if (found := _ITEM.fullmatch(line.rstrip()))]
        waiting = [found[2] for found in items if found[1] not in "xX"]
        if not waiting:
            collector.leave(place, "has nothing that is open (`- [ ] WHAT`)")
        for words in waiting:
            if taken >= TASKS_MOST:
                collector.leave(f"tasks of {place}", f"the first {TASKS_MOST} are taken")
                break
            taken += 1
            collector.add_task(_make_task(collector.hide(clean_text(words).strip(), place), place))


def _make_task(words: str, place: str) -> MovedTask:
    if len(words) <= SUBJECT_CHARACTERS:
        return MovedTask(subject=words, place=place)
    subject = f"{words[: SUBJECT_CHARACTERS - 1].rstrip()}…"
    return MovedTask(subject=subject, description=words[:DESCRIPTION_CHARACTERS], place=place)


def read_knowledge(collector: Collector, workspace: SourceFolder) -> None:
    """Take the texts in the folders of a workspace that are there to look things up in."""
    for folder in FOLDERS:
        try:
            names = workspace.list_names(folder)
        except UsageError as problem:
            collector.leave(folder, f"cannot be read: {problem.message}", problem.suggestion)
            continue
        for name in names:
            if not name.startswith("."):
                _read_document(collector, workspace, f"{folder}/{name}", name)


def _read_document(collector: Collector, workspace: SourceFolder, place: str, name: str) -> None:
    if not name.lower().endswith(_SUFFIXES) or workspace.is_folder(place):
        collector.leave(place, "is no text (.md, .txt)", "`uncaged kb add FILE` keeps one")
        return
    try:
        text = workspace.read_text(place, _FILE_BYTES) or ""
        at = workspace.read_time(place)
    except (UsageError, OSError) as problem:
        why = problem.message if isinstance(problem, UsageError) else str(problem.strerror)
        collector.leave(place, f"cannot be kept: {why}")
        return
    take_document(collector, text, name, place, at)


def take_document(collector: Collector, text: str, name: str, place: str, at: float) -> None:
    """Take a text for the knowledge base, which was written at a time in seconds since 1970."""
    try:
        if len(text) > TEXT_CHARACTERS:
            why = f"has {len(text):,} characters, and a document at most {TEXT_CHARACTERS:,}"
            raise UsageError("ETOOBIG", why)
        draft = make_draft(
            title=show_name(name),
            source=f"{collector.program}: {show_name(place)}",
            text=collector.hide(text, place),
            by=BY,
            time=max(at, 0.0),
            confidence=CONFIDENCE,
        )
    except UsageError as problem:
        collector.leave(place, f"cannot be kept: {problem.message}")
        return
    collector.add_knowledge(MovedDocument(draft=draft, place=show_name(place)))
