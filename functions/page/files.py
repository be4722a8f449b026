"""The pages of the files in the agent's own workspace, with their versions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, urlencode

from starlette.responses import Response

from functions.agent.management import files
from functions.agent.management.files import FileEditor
from functions.agent.memory.documents import Doc
from functions.agent.workspace.file import FileConflict, FileVersion
from functions.agent.workspace.path import parse_path
from functions.agent.workspace.scope import find_scopes_of_agent, scan_scopes
from functions.page import versions
from functions.page.access.viewer import OWNERS
from functions.page.frame import PageRequest, PageRoute, plain
from functions.page.versions import ListedVersion, VersionedText
from functions.page.words.run_words import words_of
from sigil.errors import UsageError
from sigil.http.page import figures
from sigil.http.page.operations import (
    Cell,
    Section,
    TableRow,
    View,
    show_view,
)

SHOWN: Final = 500
EDITED_CHARACTERS: Final = 100_000


def show_files(page: PageRequest) -> Response:
    """Show the files of the agent's own workspace."""
    app = page.deps.app
    words = words_of(page)
    heads = scan_scopes(find_scopes_of_agent(app.name), app.open_workspace)
    twin = plain(files.list_files(heads, page.query.get("prefix", "")))
    rows = tuple(
        TableRow(
            (
                Cell(each["path"], path=f"/files/{quote(each['path'])}"),
                Cell(figures.size(each["bytes"])),
                Cell(each["version"], "figure"),
                Cell(each["by"]),
                Cell(each.get("at"), "time"),
            )
        )
        for each in twin["items"][:SHOWN]
    )
    section = Section(
        columns=(
            (words.path, "text"),
            (words.size, "text"),
            (words.version, "figure"),
            (words.by, "text"),
            (words.when, "time"),
        ),
        rows=rows,
        nothing=words.no_files,
        type=words.no_files_type,
    )
    crumb = (words.knowledge, "/knowledge")
    return show_view(page, View(words.files, (section,), twin, crumb=crumb))


@dataclass(frozen=True, slots=True)
class VersionedFile(VersionedText):
    """A file with its versions; a path may end like the name of a form, so it is a parameter of
    these.
    """

    def find_path(self, verb: str = "", **more: object) -> str:
        """Return the path of its page, or of one of its forms, with parameters."""
        if verb:
            return f"/{verb}?{urlencode({'path': self.name, **more})}"
        return f"{self.path}?{urlencode(more)}" if more else self.path


def _open_file(page: PageRequest, path: str) -> tuple[VersionedFile, FileVersion]:
    """Return the file of a path, also of one that was removed, and the record of its newest
    version; `UsageError` ENOENT for none.
    """
    app = page.deps.app
    words = words_of(page)
    path = parse_path(path)
    there = app.open_workspace(find_scopes_of_agent(app.name).choose(path))
    listed = there.list_versions(path)
    if not listed:
        there.require(path)
    editor = FileEditor(app.kv, there, page.by)

    def read_version(version: int) -> Doc:
        content = there.read(path, _require_number(version))
        return _as_document(content.version, content.text or "")

    def write(text: str, why: str, expect: int) -> None:
        try:
            editor.write(path, text.encode("utf-8", "replace"), base=expect, why=why)
        except FileConflict as conflict:
            raise files.fail_condition(conflict) from None

    newest = listed[0]
    text = None if newest.removed else there.read(path).text
    shown = VersionedFile(
        name=path,
        path=f"/files/{quote(path)}",
        crumb=(words.files, "/files"),
        newest=_as_document(newest, text or ""),
        list_versions=lambda: [
            ListedVersion(each.version, each.size, each.at, each.by, each.why) for each in listed
        ],
        read_version=read_version,
        write=write,
        roll_back=lambda version: editor.roll_back(path, version),
        most=EDITED_CHARACTERS,
        parameters={},
        is_fixed=text is None,
    )
    return shown, newest


def _require_number(version: int) -> int:
    if not version:
        raise UsageError("ENOENT", "there is no version 0", source="files")
    return version


def _as_document(version: FileVersion, text: str) -> Doc:
    return Doc("", version.path, version.version, text, version.at, version.by, version.why)


def show_file(page: PageRequest) -> Response:
    """Show a file, its versions, and what changed between two of them."""
    words = words_of(page)
    shown, newest = _open_file(page, page.path["path"])
    facts = ((words.size, Cell(figures.size(newest.size))),)
    twin = {"path": shown.name, **files.describe_version(newest)}
    return versions.show_versions(page, shown, facts=facts, twin=twin)


def _open_named_file(page: PageRequest) -> VersionedFile:
    shown, _ = _open_file(page, page.query.get("path", ""))
    return shown


ROUTES: tuple[PageRoute, ...] = (
    PageRoute("/files", "GET", show_files, OWNERS),
    *versions.build_routes("", _open_named_file),
    PageRoute("/files/{path:path}", "GET", show_file, OWNERS),
)
