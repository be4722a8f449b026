"""The pages of a text that has versions: the newest one, who wrote each and why, what changed
between two, how it is edited, and the way back to an earlier one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest
from typing import Any, Final
from urllib.parse import urlencode

from starlette.responses import Response

from functions.agent.management.files import read_range
from functions.agent.memory.documents import Doc
from functions.agent.workspace.difference import compare_texts
from functions.page.access.viewer import OWNERS
from functions.page.frame import PageRequest, PageRoute, plain
from functions.page.words.owner_words import OwnerWords, load_words
from functions.page.words.run_words import words_of
from sigil.errors import Conflict, UsageError
from sigil.http.page import figures
from sigil.http.page.operations import (
    Act,
    Cell,
    Operation,
    Section,
    TableRow,
    View,
    read_version,
    show_form,
    show_view,
    take_form,
)
from sigil.protocol import Json

SHOWN: Final = 50
TEXT_CHARACTERS: Final = 60_000
WHY_CHARACTERS: Final = 200


@dataclass(frozen=True, slots=True)
class ListedVersion:
    """A version of a text that is long, so that a list of versions does not read it."""

    version: int
    characters: int
    at: float
    by: str
    why: str


@dataclass(frozen=True, slots=True)
class VersionedText:
    """A text with versions, and what its pages do with it.

    `path` is that of its page, and `parameters` those that stand behind this and its forms' paths.
    `crumb` leads back. `write` takes the text, why it was written, and the version that it was made
    from, and raises `Conflict` where that is the newest no more. `most` is how many characters the
    text may have; one that has more, or `is_fixed`, has no form. `note` is said of all versions.
    """

    name: str
    path: str
    crumb: tuple[str, str]
    newest: Doc
    list_versions: Callable[[], Iterable[Doc | ListedVersion]]
    read_version: Callable[[int], Doc]
    write: Callable[[str, str, int], object]
    roll_back: Callable[[int], object]
    most: int
    parameters: Mapping[str, str]
    nothing: str = ""
    type: str = ""
    note: str = ""
    is_fixed: bool = False

    @property
    def has_form(self) -> bool:
        """Return whether it can be edited on the page."""
        return not self.is_fixed and len(self.newest.text) <= self.most

    def find_path(self, verb: str = "", **more: object) -> str:
        """Return the path of its page, or of one of its forms, with parameters."""
        asked = urlencode({**self.parameters, **more})
        path = f"{self.path}/{verb}" if verb else self.path
        return f"{path}?{asked}" if asked else path


def show_versions(
    page: PageRequest,
    shown: VersionedText,
    *,
    facts: tuple[tuple[str, Cell], ...] = (),
    acts: tuple[Act, ...] = (),
    sections: tuple[Section, ...] = (),
    twin: Mapping[str, Any] | None = None,
) -> Response:
    """Show the newest version of a text, or another one, or what changed between two (`diff=1..3`),
    and below it all of them.
    """
    words = words_of(page)
    own = load_words(page.language)
    versions = list(islice(shown.list_versions(), SHOWN + 1))
    newest = shown.newest
    values: dict[str, Any] = {
        **(twin or {}),
        **describe_version(newest),
        "text": newest.text,
        "versions": [describe_version(each) for each in versions[:SHOWN]],
    }
    parts: list[Section] = []
    if page.query.get("diff"):
        parts.append(_make_difference(page, shown, own, values))
    elif page.query.get("version"):
        doc = shown.read_version(read_version(page.query["version"]))
        values |= {**describe_version(doc), "text": doc.text}
        title = own.version_number.format(version=doc.version)
        parts.append(Section(title, text=figures.clean(doc.text, TEXT_CHARACTERS), nothing="–"))
    else:
        text = figures.clean(newest.text, TEXT_CHARACTERS)
        parts.append(Section(text=text, nothing=shown.nothing, type=shown.type))
    parts += sections
    if versions or newest.text:
        parts.append(_make_table(page, shown, versions))
    written: tuple[tuple[str, Cell], ...] = ()
    if newest.version:
        written = (
            (words.version, Cell(newest.version, "figure", shown.find_path())),
            (words.by, Cell(newest.by)),
            (words.when, Cell(newest.at, "time")),
            (own.characters, Cell(len(newest.text), "figure")),
        )
    edits: tuple[Act, ...] = ()
    if shown.has_form:
        edits = (Act(own.edit, shown.find_path("edit")),)
    return show_view(
        page,
        View(
            shown.name,
            tuple(parts),
            plain(values),
            crumb=shown.crumb,
            facts=(*written, *facts),
            acts=(*edits, *acts),
        ),
    )


def _count_characters(version: Doc | ListedVersion) -> int:
    return len(version.text) if isinstance(version, Doc) else version.characters


def describe_version(doc: Doc | ListedVersion) -> dict[str, Any]:
    """Return a version without its text, as programs get it."""
    return {
        "version": doc.version,
        "characters": _count_characters(doc),
        "at": doc.at,
        "by": doc.by,
        "why": doc.why,
    }


def _make_difference(
    page: PageRequest, shown: VersionedText, own: OwnerWords, values: dict[str, Any]
) -> Section:
    first, last = read_range(page.query["diff"])
    last = last or shown.newest.version
    first = first if ".." in page.query["diff"] else last - 1
    old, new = (
        own.version_number.format(version=each) if each else own.first_version
        for each in (first, last)
    )
    before = _read_text(shown, first)
    after = _read_text(shown, last)
    found = compare_texts(before, after, old, new)
    values["difference"] = {"from": first, "to": last, "diff": found.text}
    text = figures.clean(found.text, TEXT_CHARACTERS)
    return Section(f"{old} → {new}", text=text, is_difference=True, nothing=own.same_text)


def _read_text(shown: VersionedText, version: int) -> str:
    """Return the text of a version; that of version 0 is mostly empty."""
    try:
        return shown.read_version(version).text
    except UsageError:
        if version:
            raise
        return ""


def _make_table(
    page: PageRequest, shown: VersionedText, versions: Sequence[Doc | ListedVersion]
) -> Section:
    words = words_of(page)
    own = load_words(page.language)
    rows = []
    for each, before in zip_longest(versions[:SHOWN], versions[1:]):
        acts: list[Act] = []
        if before or each.version == 1:  # of the oldest that is kept the one before is gone
            between = f"{before.version if before else 0}..{each.version}"
            acts.append(Act(own.what_changed, shown.find_path(diff=between)))
        if each.version != shown.newest.version:
            acts.append(Act(own.go_back, shown.find_path("rollback", version=each.version)))
        rows.append(
            TableRow(
                (
                    Cell(each.version, "figure", shown.find_path(version=each.version)),
                    Cell(each.by),
                    Cell(each.why),
                    Cell(_count_characters(each), "figure"),
                    Cell(each.at, "time"),
                ),
                tuple(acts),
            )
        )
    return Section(
        words.versions,
        (
            (words.version, "figure"),
            (words.by, "text"),
            (own.why, "text"),
            (own.characters, "figure"),
            (words.when, "time"),
        ),
        tuple(rows),
        nothing=shown.nothing,
        type=shown.type,
        note=own.newest_only.format(count=SHOWN) if len(versions) > SHOWN else shown.note,
    )


def build_routes(
    path: str, open_text: Callable[[PageRequest], VersionedText]
) -> tuple[PageRoute, ...]:
    """Return the routes of the forms below a path: to edit the text that `open_text` returns for a
    request, and to go back to an earlier version of it.
    """

    def ask_edit(page: PageRequest) -> Response:
        return show_form(page, _make_edit(page, open_text(page)))

    def ask_rollback(page: PageRequest) -> Response:
        return show_form(page, _make_rollback(page, open_text(page)))

    def write(page: PageRequest) -> Response:
        return _take_edit(page, open_text(page))

    def roll_back(page: PageRequest) -> Response:
        return _take_rollback(page, open_text(page))

    edit, rollback = f"{path}/edit", f"{path}/rollback"
    return (
        PageRoute(edit, "GET", ask_edit, OWNERS),
        # most texts may have more than the 64 KiB of a usual form
        PageRoute(edit, "POST", write, OWNERS, reads_form=True, takes_files=True),
        PageRoute(rollback, "GET", ask_rollback, OWNERS),
        PageRoute(rollback, "POST", roll_back, OWNERS, reads_form=True),
    )


def _take_edit(page: PageRequest, shown: VersionedText) -> Response:
    """Write the next version of a text, from the one that the form was made from."""

    def perform(arguments: dict[str, Json], tag: str) -> str:
        text = str(arguments.get("text", ""))
        shown.write(text, str(arguments.get("why", "")), read_version(tag))
        return shown.find_path()

    return take_form(page, _make_edit(page, shown), perform)


def _make_edit(page: PageRequest, shown: VersionedText) -> Operation:
    if not shown.has_form:
        raise UsageError(
            "EINVAL",
            "this is no text, or too long to be edited here",
            source="page",
            suggestion="`uncaged files put` and `uncaged kb update` write any",
        )
    words = words_of(page)
    own = load_words(page.language)
    return Operation(
        shown.find_path("edit"),
        shown.name,
        words.save,
        schema={
            "type": "object",
            "properties": {
                "text": {"type": "string", "maxLength": shown.most},
                "why": {
                    "type": "string",
                    "maxLength": WHY_CHARACTERS,
                    "description": own.why_help,
                },
            },
        },
        values={"text": shown.newest.text},
        tag=str(shown.newest.version),
        back=shown.find_path(),
        labels={"text": own.text, "why": own.why},
    )


def _take_rollback(page: PageRequest, shown: VersionedText) -> Response:
    """Write an earlier version again, as a new one."""
    version = read_version(page.query.get("version", ""))

    def perform(_: dict[str, Json], tag: str) -> str:
        if tag and read_version(tag) != shown.newest.version:
            raise Conflict(
                f"{shown.name} was changed meanwhile: it is at version {shown.newest.version}"
            )
        shown.roll_back(version)
        return shown.find_path()

    return take_form(page, _make_rollback(page, shown), perform)


def _make_rollback(page: PageRequest, shown: VersionedText) -> Operation:
    own = load_words(page.language)
    version = read_version(page.query.get("version", ""))
    before = shown.read_version(version)
    return Operation(
        shown.find_path("rollback", version=version),
        own.go_back_title.format(version=version, name=shown.name),
        own.go_back,
        tag=str(shown.newest.version),
        is_danger=True,
        changes=((own.text, shown.newest.text, before.text),),
        back=shown.find_path(),
    )
