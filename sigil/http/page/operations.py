"""Lists, cards and forms that are made the same way for whatever there is to see and to do.

A list is a page of sections with tables, a card is one thing with its facts, and a form is one
thing that can be done: made of a JSON Schema, with what was typed kept, what is wrong beside its
field, and *before → after* in front of what cannot be taken back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from starlette.responses import Response

from sigil.errors import Refused, SigilError, ToolError, UsageError, one_line
from sigil.http.page import figures
from sigil.http.page.capability_words import CapabilityWords, load_words
from sigil.http.page.frame import PageRequest, answer_json, redirect, render
from sigil.http.page.schema_form import Field, blame, make_fields, read_form
from sigil.http.status_codes import status_of
from sigil.protocol import Json

CellKind = Literal["text", "figure", "time", "code", "bad", "long", "short"]
"""`short` is a word of ours, which is never broken."""
SURE: Final = "sure"
"""The field of a form by which somebody confirms it."""
TAG: Final = "tag"
"""The field of a form that names the version that it was made from."""
CELL_CHARACTERS: Final = 240
LONG_CHARACTERS: Final = 2_000
CHANGED: Final = ("EPRECONDITION", "ECONFLICT")
"""The codes of a form that was made from a version which is not the newest any more."""


@dataclass(frozen=True, slots=True)
class Act:
    """A button of a row or a card that leads to a form."""

    label: str
    path: str
    is_danger: bool = False


@dataclass(frozen=True, slots=True)
class Cell:
    """What stands in one place of a table: a text, a number or a time, perhaps with a link below
    the pages' own.
    """

    value: object = ""
    kind: CellKind = "text"
    path: str = ""
    chips: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Return it as people read it; a time is written by the template."""
        if self.kind == "figure":
            return figures.count(self.value)
        if self.value is None:
            return ""
        if self.kind == "long":
            return figures.clean(self.value, LONG_CHARACTERS)
        return figures.line(self.value, CELL_CHARACTERS)

    @property
    def is_plain(self) -> bool:
        """Return whether it is its text and nothing else, which most are."""
        return not (self.path or self.chips) and self.kind in ("text", "figure", "long", "short")

    @property
    def is_void(self) -> bool:
        """Return whether it says nothing, so that it needs no line of its own on a phone."""
        if self.kind == "time":
            return not self.value
        if self.kind == "figure":
            return self.value is None
        return not self.chips and self.text in ("", "–")


@dataclass(frozen=True, slots=True)
class TableRow:
    cells: tuple[Cell, ...]
    acts: tuple[Act, ...] = ()
    depth: int = 0


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a page: a table with the names of its columns, or facts, or a text; and what is
    said where there is nothing, with the next thing to type.
    """

    title: str = ""
    columns: tuple[tuple[str, CellKind], ...] = ()
    rows: tuple[TableRow, ...] = ()
    facts: tuple[tuple[str, Cell], ...] = ()
    text: str = ""
    is_difference: bool = False
    bars: Bars | None = None
    nothing: str = ""
    type: str = ""
    acts: tuple[Act, ...] = ()
    note: str = ""
    form: Operation | None = None
    is_folded: bool = False
    problem: str = ""

    @property
    def has_acts(self) -> bool:
        """Return whether any of its rows has a button."""
        return any(row.acts for row in self.rows)

    @property
    def is_empty(self) -> bool:
        """Return whether nothing is in it."""
        return not (self.rows or self.facts or self.text or self.form or self.bars or self.problem)


@dataclass(frozen=True, slots=True)
class Bars:
    """Figures of days in a row, drawn by the server."""

    values: tuple[tuple[str, float], ...]
    label: str

    @property
    def rects(self) -> list[tuple[float, float, float, str]]:
        """Return the x, y and height of each bar in a picture of 100 by 30 per day, with what it
        says.
        """
        most = max((value for _, value in self.values), default=0.0) or 1.0
        made = []
        for number, (name, value) in enumerate(self.values):
            height = max(round(value / most * 100, 1), 1.5 if value else 0.5)
            made.append((number * 10.0, round(100 - height, 1), height, f"{name}: {value:,.0f}"))
        return made

    @property
    def width(self) -> int:
        """Return the width of the picture."""
        return max(len(self.values), 1) * 10


@dataclass(frozen=True, slots=True)
class View:
    """A page of sections. `twin` are the same values as programs get them. `crumb` leads back: its
    name and its path. `filters` are names with their choices: (label, path, chosen).
    """

    title: str
    sections: tuple[Section, ...]
    twin: object
    crumb: tuple[str, str] | None = None
    acts: tuple[Act, ...] = ()
    facts: tuple[tuple[str, Cell], ...] = ()
    lead: str = ""
    done: str = ""
    filters: tuple[tuple[str, tuple[tuple[str, str, bool], ...]], ...] = ()
    more: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing that can be done: the path of its form, its title, and the word on its button.

    `schema` describes what is typed and `values` what stands now; `tag` names the version that
    these are of. `is_danger` says that it is confirmed first, with `changes` before it: names with
    what is there before and after. `back` is where it leads when it is left. `labels` are the names
    of fields for people, and `choices` the words for the values that a field may have.
    """

    path: str
    title: str
    verb: str
    schema: Mapping[str, Json] | None = None
    values: Mapping[str, Json] | None = None
    tag: str = ""
    is_danger: bool = False
    changes: tuple[tuple[str, str, str], ...] = ()
    back: str = "/"
    lead: str = ""
    kinds: Mapping[str, Mapping[str, object]] | None = None
    labels: Mapping[str, str] | None = None
    choices: Mapping[str, Mapping[str, str]] | None = None

    @property
    def fields(self) -> tuple[Field, ...]:
        """Return its fields with what stands now."""
        if not self.schema:
            return ()
        return make_fields(self.schema, self.values)

    def label(self, field: Field) -> str:
        """Return how people read the name of a field."""
        return (self.labels or {}).get(field.name, field.name)

    def name_choices(self, field: Field) -> Mapping[str, str]:
        """Return the words for the values of a field; a value without one is shown as it is."""
        return (self.choices or {}).get(field.name, {})

    def write(self, field: Field) -> str:
        """Return the value of a field as people read it."""
        return self.name_choices(field).get(field.value, field.value)


VERSION_DIGITS: Final = 9
Perform = Callable[[dict[str, Json], str], str]
"""Does it with what was typed and the version that it was made from, and returns the path of the
page that shows what came of it."""


def show_view(page: PageRequest[Any], view: View, template: str = "view.html") -> Response:
    """Answer with a page of sections, or with its values as JSON."""
    if page.wants_json:
        return answer_json(page, view.twin)
    return render(
        page,
        template,
        title=view.title,
        view=view,
        show=figures,
        say=words_of(page),
        twin=_twin_address(page),
        kinds_of_input=INPUTS,
    )


def show_form(page: PageRequest[Any], operation: Operation) -> Response:
    """Answer with the form of an operation."""
    if page.wants_json:
        return answer_json(page, {"schema": operation.schema or {}, "values": operation.values})
    return _render_form(page, operation, operation.fields)


def take_form(page: PageRequest[Any], operation: Operation, perform: Perform) -> Response:
    """Do what a form asks for and lead on; or show the form again, with all that was typed, where
    something is wrong, where it has to be confirmed, or where somebody else was faster.
    """
    words = words_of(page)
    typed = read_form(operation.fields, page.form, words)
    if not typed.is_good:
        return _render_form(page, operation, typed.fields, problem=words.wrong, status=400)
    if operation.is_danger and page.form.get(SURE) != "yes":
        return _render_form(page, operation, typed.fields, is_asked=True)
    tag = page.form.get(TAG, "")[:200]
    try:
        path = perform(typed.arguments, tag)
    except (UsageError, Refused, ToolError) as problem:
        return _render_problem(page, operation, typed.fields, problem)
    except SigilError as problem:
        if problem.code not in CHANGED:
            raise
        return _render_problem(page, operation, typed.fields, problem)
    if page.wants_json:
        return answer_json(page, {"done": operation.path})
    return redirect(page, path)


def read_version(text: str) -> int:
    """Return the number of a version, such as that from which a form was made; `UsageError` EINVAL
    for what is none.
    """
    if not (text.isascii() and text.isdecimal()) or len(text) > VERSION_DIGITS:
        raise UsageError(
            "EINVAL", "version is the number of one", source="page", suggestion="such as 3"
        )
    return int(text)


def words_of(page: PageRequest[Any]) -> CapabilityWords:
    """Return the words of these pages in the viewer's language."""
    return load_words(page.language)


def _render_problem(
    page: PageRequest[Any], operation: Operation, fields: Sequence[Field], problem: SigilError
) -> Response:
    """Show a form again that was refused. Where another version stands by now, both are shown, and
    the form is of the new one.
    """
    if page.wants_json:
        raise problem
    said = one_line(problem.message)
    if problem.suggestion:
        said = f"{said}. {one_line(problem.suggestion)}"
    blamed = blame(fields, problem.message) if isinstance(problem, UsageError) else tuple(fields)
    is_changed = problem.code in CHANGED
    return _render_form(
        page,
        operation,
        blamed,
        problem=said,
        status=status_of(problem),
        stands=list_differences(operation, fields) if is_changed else (),
        is_changed=is_changed,
    )


def list_differences(
    operation: Operation, fields: Sequence[Field]
) -> tuple[tuple[str, str, str], ...]:
    """Return the fields whose typed value is another than what stands now: name, now, typed."""
    now = {field.name: field for field in operation.fields}
    return tuple(
        (operation.label(field), operation.write(now[field.name]), operation.write(field))
        for field in fields
        if field.value.strip() != now[field.name].value.strip()
    )


def _render_form(
    page: PageRequest[Any],
    operation: Operation,
    fields: Sequence[Field],
    *,
    problem: str = "",
    status: int = 200,
    is_asked: bool = False,
    stands: Sequence[tuple[str, str, str]] = (),
    is_changed: bool = False,
) -> Response:
    changes = operation.changes
    if is_asked and operation.schema:
        changes = (*changes, *list_differences(operation, fields))
    return render(
        page,
        "form.html",
        title=operation.title,
        status=status,
        say=words_of(page),
        show=figures,
        operation=operation,
        fields=fields,
        problem=problem,
        is_asked=is_asked or (operation.is_danger and not operation.schema and not problem),
        changes=changes,
        stands=stands,
        is_changed=is_changed,
        kinds_of_input=INPUTS,
    )


def _twin_address(page: PageRequest[Any]) -> str:
    query = {name: text for name, text in page.query.items() if name not in ("as", "done")}
    url = page.request.url.include_query_params(**{**query, "as": "json"})
    return f"{page.base}{url.path}?{url.query}"


def with_values(operation: Operation, values: Mapping[str, Json], tag: str) -> Operation:
    """Return an operation with what stands now."""
    return replace(operation, values=values, tag=tag)


INPUTS: Final[Mapping[str, str]] = {
    "text": "text",
    "number": "number",
    "date": "date",
    "time": "text",
}
"""The types of an input by the kinds of fields that are one."""
