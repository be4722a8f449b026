"""The pages of capabilities: what there is, what fits a wish, and one with all that is known of it.

A server gives them its registry and says who asks; they know nothing of agents, so that a registry
alone can show them.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, Generic, TypeVar, cast
from urllib.parse import quote, urlencode

import orjson
from starlette.responses import Response

from sigil.admin_protocol import AdminRegistry
from sigil.errors import Refused, SigilError, ToolError, UsageError, one_line
from sigil.http.page import figures
from sigil.http.page.capability_words import CapabilityWords
from sigil.http.page.frame import (
    Page,
    PageRequest,
    PageRoute,
    answer_json,
    plain,
    redirect,
    render,
)
from sigil.http.page.operations import (
    INPUTS,
    Act,
    Bars,
    Cell,
    Operation,
    Section,
    TableRow,
    View,
    show_form,
    show_view,
    take_form,
    words_of,
)
from sigil.http.page.schema_form import blame, make_fields, read_form
from sigil.http.page.viewer import OWNERS, PEOPLE, VIEWERS
from sigil.http.status_codes import status_of
from sigil.json_fields import as_mapping, as_sequence, as_string
from sigil.protocol import LIBRARY, Caller, Json, Ran, query_page

PAGE: Final = 25
FOUND_MOST: Final = 20
OUTPUT_CHARACTERS: Final = 60_000
SOURCE_CHARACTERS: Final = 60_000
AUDIT_SCANNED: Final = 500
AUDIT_SHOWN: Final = 20
TESTS_SHOWN: Final = 20
PICTURE_BYTES: Final = 256 << 10
Row = Mapping[str, Any]
D = TypeVar("D")


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks: the registry and the caller on whose behalf, whether they change things, whether
    they see each capability that the caller does, and which of them they run: all, or what is pure.

    `use` are the calls of a capability's tool by day, where somebody counts them.
    """

    registry: AdminRegistry
    caller: Caller
    may_change: bool = False
    sees_all: bool = False
    runs_pure: bool = False
    runs_all: bool = False
    use: Callable[[str], Mapping[str, int]] | None = None

    def may_see(self, row: Row) -> bool:
        """Return whether a capability with this row is there for them."""
        return self.sees_all or is_harmless(row)

    def may_run(self, row: Row) -> bool:
        """Return whether they may run a capability from its page."""
        if row.get("kind") in ("host", "bundle"):
            return False
        is_free = self.may_change or self.runs_all
        return is_free or (self.runs_pure and is_harmless(row))


def is_harmless(row: Row) -> bool:
    """Return whether a capability only computes: it reaches nothing outside, and keeps nothing."""
    permissions = as_mapping(row.get("permissions"))
    keeps = permissions.get("kv") or as_sequence(permissions.get("call"))
    return bool(row.get("pure")) and row.get("kind") == "wasm" and not (_asked(row) or keeps)


Ask = Callable[[PageRequest[D]], Asker]
"""Returns who sent a request."""


class CapabilityPages(Generic[D]):
    """The pages of the capabilities of a registry; `ask` tells who asks."""

    def __init__(self, ask: Ask[D]) -> None:
        self._ask = ask

    @property
    def routes(self) -> tuple[PageRoute[D], ...]:
        """Return the routes of the pages, below `/capabilities`."""
        card = "/capabilities/{namespace}/{name}"
        return (
            PageRoute("/capabilities", "GET", self.show_list, VIEWERS),
            PageRoute(card, "GET", self.show_card, VIEWERS),
            PageRoute(f"{card}/run", "POST", self.run, PEOPLE, reads_form=True),
            PageRoute(f"{card}/secret", "POST", self.set_secret, OWNERS, reads_form=True),
            PageRoute(f"{card}/{{verb}}", "GET", self.ask_change, OWNERS),
            PageRoute(f"{card}/{{verb}}", "POST", self.change, OWNERS, reads_form=True),
        )

    def show_list(self, page: PageRequest[D]) -> Response:
        """Show what there is, or with `?q=` what the ranker finds for a wish, with its scores."""
        asker = self._ask(page)
        words = words_of(page)
        text = page.query.get("q", "").strip()
        if text:
            return self._show_found(page, asker, text[:2_000], words)
        after = page.query.get("after", "")
        rows = _list_rows(asker, after)
        shown = rows[:PAGE]
        twin: dict[str, object] = {"items": shown}
        more = None
        if len(rows) > PAGE:
            twin["next"] = _place(shown[-1])
            more = (words.more, f"/capabilities?{urlencode({'after': _place(shown[-1])})}")
        section = Section(
            columns=(
                (words.capability, "text"),
                (words.description, "text"),
                (words.calls, "figure"),
                (words.errors, "figure"),
                (words.state, "text"),
            ),
            rows=tuple(_make_row(each, words) for each in shown),
            nothing=words.none,
            type=words.none_type,
        )
        return show_view(page, View(words.capabilities, (section,), twin, more=more), TEMPLATE)

    def _show_found(
        self, page: PageRequest[D], asker: Asker, text: str, words: CapabilityWords
    ) -> Response:
        found = asker.registry.query(text, asker.caller, limit=FOUND_MOST)
        twin = plain(query_page(found, asker.registry, asker.caller))
        if not asker.sees_all:
            twin["items"] = [each for each in twin["items"] if _is_seen(asker, each["capability"])]
            twin["total"] = len(twin["items"])
            twin.pop("weak", None)
        rows = tuple(
            TableRow(
                (
                    Cell(each["score"], "figure"),
                    Cell(each["capability"], path=f"/capabilities/-/{each['capability']}"),
                    Cell(each["summary"], "long"),
                )
            )
            for each in twin["items"]
        )
        weak = twin.get("weak", [])
        sections = [
            Section(
                words.found.format(shown=len(rows), total=twin["total"]) if rows else "",
                (
                    (words.score, "figure"),
                    (words.capability, "text"),
                    (words.description, "text"),
                ),
                rows,
                nothing=f"{words.none_found.format(query=one_line(text, 80))} {words.none_next}",
            )
        ]
        if weak:
            sections.append(
                Section(
                    words.weak,
                    ((words.capability, "text"), (words.description, "text")),
                    tuple(
                        TableRow(
                            (
                                Cell(
                                    each["capability"],
                                    path=f"/capabilities/-/{each['capability']}",
                                ),
                                Cell(each["description"], "long"),
                            )
                        )
                        for each in weak
                    ),
                )
            )
        return show_view(page, View(words.capabilities, tuple(sections), twin), TEMPLATE)

    def show_card(self, page: PageRequest[D]) -> Response:
        """Show all that is known of one capability."""
        asker = self._ask(page)
        row = _inspect(page, asker)
        if page.wants_json:
            return answer_json(page, _make_twin(asker, row))
        return _render_card(page, asker, row)

    def run(self, page: PageRequest[D]) -> Response:
        """Run a capability on what was typed, and show what came of it."""
        asker = self._ask(page)
        row = _inspect(page, asker)
        words = words_of(page)
        if not asker.may_run(row):
            raise Refused("EPERM", "this capability is not run from its page", source="page")
        typed = read_form(make_fields(as_mapping(row["schema"])), page.form, words)
        if not typed.is_good:
            return _render_card(
                page, asker, row, fields=typed.fields, problem=words.wrong, status=400
            )
        try:
            ran = asker.registry.run(_ref(row), typed.arguments, asker.caller)
        except SigilError as problem:
            if page.wants_json or not isinstance(problem, UsageError | ToolError | Refused):
                raise
            said = f"{problem.code}: {one_line(problem.message)}"
            if problem.suggestion:
                said = f"{said}. {one_line(problem.suggestion)}"
            fields = blame(typed.fields, problem.message)
            status = status_of(problem)
            logs = problem.logs if asker.may_change else ()
            return _render_card(
                page, asker, row, fields=fields, problem=said, status=status, logs=logs
            )
        if page.wants_json:
            return answer_json(page, _describe_run(ran, with_logs=asker.may_change))
        return _render_card(page, asker, row, fields=typed.fields, ran=ran)

    def set_secret(self, page: PageRequest[D]) -> Response:
        """Store the value of a secret, which no page shows again."""
        asker = self._ask(page)
        row = _inspect(page, asker)
        name = page.form.get("name", "")
        if name not in {secret for secret, _ in _list_secrets(asker, row)}:
            raise UsageError("ENOENT", "the capability asks for no such secret", source="page")
        asker.registry.secrets.set(name, page.form.get("value", ""), asker.caller)
        return redirect(page, f"{_path(row)}#secrets")

    def ask_change(self, page: PageRequest[D]) -> Response:
        """Ask whether something about a capability is to be changed."""
        asker = self._ask(page)
        return show_form(page, _make_change(page, asker, _inspect(page, asker)))

    def change(self, page: PageRequest[D]) -> Response:
        """Make another version active, or grant or take back permissions."""
        asker = self._ask(page)
        row = _inspect(page, asker)
        operation = _make_change(page, asker, row)
        registry = asker.registry

        def perform(_: dict[str, Json], tag: str) -> str:
            name = row["capability"]
            verb = page.path["verb"]
            if verb == "rollback":
                registry.rollback(name, asker.caller, int(page.query["version"]))
            elif verb == "grant":
                registry.granting.grant(_ref(row), asker.caller, tag)
            elif verb == "forget":
                registry.secrets.remove(page.query["secret"], asker.caller)
            else:
                registry.granting.revoke(name, asker.caller, page.query.get("permission", ""))
            return _path(row)

        return take_form(page, operation, perform)


TEMPLATE: Final = "capabilities.html"


def _list_rows(asker: Asker, after: str) -> list[Row]:
    """Return the rows of one page of the list and the next one, nearest namespace first."""
    rows: list[Row] = []
    is_before = bool(after)
    for each in asker.registry.list(asker.caller):
        row = cast("Row", each)
        if is_before:
            is_before = _place(row) != after
            continue
        is_listed = asker.sees_all or (row["kind"] == "wasm" and _is_seen(asker, _ref(row)))
        if not is_listed:
            continue
        rows.append(row)
        if len(rows) > PAGE:
            break
    return rows


def _is_seen(asker: Asker, ref: str) -> bool:
    return asker.may_see(cast("Row", asker.registry.inspect(ref, asker.caller)))


def _place(row: Row) -> str:
    return f"{row['namespace']}/{row['capability']}"


def _ref(row: Row) -> str:
    """Return how the registry names the capability of a row."""
    return f"{row['namespace']}/{row['capability']}"


def _path(row: Row) -> str:
    """Return the path of the page of a capability."""
    namespace = quote(str(row["namespace"]), safe="")
    return f"/capabilities/{namespace}/{quote(str(row['capability']), safe='')}"


def _make_row(row: Row, words: CapabilityWords) -> TableRow:
    state = str(row["state"])
    chips = () if row["namespace"] == LIBRARY else (str(row["namespace"]),)
    return TableRow(
        (
            Cell(row["capability"], path=_path(row), chips=chips),
            Cell(_first_sentence(str(row["description"]))),
            Cell(row["calls"], "figure"),
            Cell(row["errors"], "figure"),
            Cell(words.states.get(state, state), "bad" if state == "degraded" else "text"),
        )
    )


def _first_sentence(text: str) -> str:
    line = one_line(text, 400)
    end = line.find(". ")
    return line[: end + 1] if 0 < end < 200 else line[:200]


def _inspect(page: PageRequest[Any], asker: Asker) -> dict[str, Any]:
    """Return everything about the capability that a path names; `UsageError` ENOENT for none that
    the asker sees. The namespace `-` stands for the nearest one.
    """
    namespace = page.path["namespace"]
    name = page.path["name"]
    version = page.query.get("version", "") if page.request.method == "GET" else ""
    ref = name if namespace == "-" else f"{namespace}/{name}"
    if version and version.isdecimal() and "verb" not in page.path:
        ref = f"{ref}@{version}"
    row = plain(asker.registry.inspect(ref, asker.caller))
    if not asker.may_see(row):
        raise UsageError("ENOENT", f"there is no capability {one_line(name, 80)}", source="page")
    return row


def _make_twin(asker: Asker, row: Row) -> dict[str, object]:
    """Return a capability as programs get it: without its source for whoever sees no texts."""
    if asker.may_change:
        return dict(row)
    hidden = ("source", "tests", "runs", "pins", "session")
    return {name: value for name, value in row.items() if name not in hidden}


def _describe_run(ran: Ran, *, with_logs: bool) -> dict[str, object]:
    return {
        "output": orjson.loads(ran.output),
        "version": ran.version,
        "duration_ms": round(ran.duration_ms, 3),
        "cold": ran.cold,
        "logs": list(ran.logs) if with_logs else [],
    }


@dataclass(frozen=True, slots=True)
class ShownOutput:
    """What a run came to, for the page: its text, and a picture where it is one."""

    text: str
    picture: str
    note: str
    logs: tuple[str, ...]


def _show_output(ran: Ran, words: CapabilityWords, *, with_logs: bool) -> ShownOutput:
    value = orjson.loads(ran.output)
    text = value if isinstance(value, str) else ran.output.decode()
    drawn = value.get("svg") if isinstance(value, dict) else value
    picture = ""
    if isinstance(drawn, str) and drawn.lstrip()[:4] == "<svg" and len(drawn) <= PICTURE_BYTES:
        # as a picture it runs nothing and loads nothing
        encoded = base64.b64encode(drawn.encode("utf-8", "replace")).decode()
        picture = f"data:image/svg+xml;base64,{encoded}"
    shown = figures.clean(
        text if isinstance(value, str) else figures.pretty(text), OUTPUT_CHARACTERS
    )
    note = words.took.format(span=figures.span(ran.duration_ms), version=ran.version)
    if ran.cold:
        note = f"{note}, {words.cold}"
    logs = tuple(figures.line(line, 1_000) for line in ran.logs) if with_logs else ()
    return ShownOutput(shown, picture, note, logs)


def _render_card(
    page: PageRequest[Any],
    asker: Asker,
    row: Row,
    *,
    fields: Iterable[Any] | None = None,
    problem: str = "",
    ran: Ran | None = None,
    status: int = 200,
    logs: Iterable[str] = (),
) -> Response:
    words = words_of(page)
    made = tuple(fields) if fields is not None else make_fields(as_mapping(row["schema"]))
    result = _show_output(ran, words, with_logs=asker.may_change) if ran else None
    refusal = ""
    if not asker.may_run(row):
        refusal = {"host": words.not_run_here, "bundle": words.of_members}.get(
            str(row["kind"]), words.only_pure
        )
    sections = list(_list_sections(page, asker, row, words))
    twin = page.url(_path(row)) + "?as=json"
    return render(
        page,
        "capability.html",
        title=str(row["capability"]),
        status=status,
        say=words,
        show=figures,
        row=row,
        path=_path(row),
        facts=_list_facts(row, words),
        fields=made,
        refusal=refusal,
        members=[str(each) for each in as_sequence(row.get("members"))],
        problem=problem,
        result=result,
        logs=tuple(logs),
        schema_rows=_list_parameters(row),
        permissions=_list_permissions(asker, row, words),
        secrets=_list_secrets(asker, row) if asker.may_change else [],
        may_change=asker.may_change,
        sections=sections,
        twin=twin,
        kinds_of_input=INPUTS,
    )


def _list_facts(row: Row, words: CapabilityWords) -> tuple[tuple[str, Cell], ...]:
    state = str(row["state"])
    facts = [
        (words.version, Cell(row["version"], "figure")),
        (
            words.state,
            Cell(words.states.get(state, state), "bad" if state == "degraded" else "text"),
        ),
        (words.namespace, Cell(row["namespace"])),
        (words.kind, Cell(row["kind"])),
        (words.author, Cell(row["author"])),
        (words.made, Cell(row["at"], "time")),
    ]
    if row.get("expires_at"):
        facts.append((words.expires, Cell(row["expires_at"], "time")))
    if "calls" in row:
        facts.append((words.calls, Cell(row["calls"], "figure")))
        facts.append((words.errors, Cell(row["errors"], "figure")))
    return tuple(facts)


def _list_parameters(row: Row) -> list[tuple[str, str, str, bool]]:
    """Return the arguments of a capability: name, type, description, and whether it is needed."""
    schema = as_mapping(row["schema"])
    required = set(map(str, as_sequence(schema.get("required"))))
    made = []
    for name, described in as_mapping(schema.get("properties")).items():
        fields = as_mapping(described)
        types = fields.get("type")
        kind = types if isinstance(types, str) else " | ".join(map(str, as_sequence(types)))
        choices = as_sequence(fields.get("enum"))
        if choices:
            kind = " | ".join(map(str, choices))
        made.append((name, kind, as_string(fields.get("description")), name in required))
    return made


def _list_permissions(
    asker: Asker, row: Row, words: CapabilityWords
) -> list[tuple[str, str, bool]]:
    """Return what a capability asks for as sentences, each with its permission and whether it is
    granted.
    """
    pending = set(map(str, as_sequence(row.get("pending"))))
    return [(describe_permission(each, words), each, each not in pending) for each in _asked(row)]


def _asked(row: Row) -> list[str]:
    """Return the permissions that a manifest asks for, as grants name them."""
    permissions = as_mapping(row.get("permissions"))
    asked = ["web"] if permissions.get("web") else []
    for kind, field in (("http", "http"), ("secret", "secrets"), ("call", "call"), ("mcp", "mcp")):
        asked += [
            f"{kind}:{target}"
            for target in map(str, as_sequence(permissions.get(field)))
            if kind != "call" or "/" in target
        ]
    return asked


def describe_permission(permission: str, words: CapabilityWords) -> str:
    """Return a permission as a sentence: `http:GET host/`, `secret:NAME@host`, `web`."""
    kind, _, target = permission.partition(":")
    sentence = words.permission.get(kind, "{target}")
    return sentence.replace("{target}", figures.line(target or kind, 200))


def _list_secrets(asker: Asker, row: Row) -> list[tuple[str, float | None]]:
    """Return the secrets that a capability asks for, each with when it was set."""
    asked = [
        each.partition(":")[2].partition("@")[0]
        for each in _asked(row)
        if each.startswith("secret:")
    ]
    if not asked:
        return []
    known = {each["secret"]: each["at"] for each in asker.registry.secrets.rows(asker.caller)}
    return [(name, known.get(name)) for name in dict.fromkeys(asked)]


def _list_sections(
    page: PageRequest[Any], asker: Asker, row: Row, words: CapabilityWords
) -> Iterable[Section]:
    yield from _make_use(asker, row, words)
    if not asker.may_change:
        return
    yield from _make_versions(page, asker, row, words)
    tests = as_sequence(row.get("tests"))
    yield Section(
        words.tests,
        ((words.input, "code"), (words.expected, "code")),
        tuple(
            TableRow(
                (
                    Cell(_write_json(as_mapping(each).get("input")), "code"),
                    Cell(_write_json(_find_expected(as_mapping(each))), "code"),
                )
            )
            for each in tests[:TESTS_SHOWN]
        ),
        nothing="–",
        is_folded=True,
    )
    source = row.get("source")
    shown = figures.clean(source, SOURCE_CHARACTERS) if isinstance(source, str) else ""
    yield Section(words.source, text=shown, nothing=words.no_source, is_folded=True)
    yield _make_audit(asker, row, words)


def _find_expected(test: Mapping[str, Json]) -> Json:
    return test.get("output", test.get("error", test.get("expect")))


def _write_json(value: object) -> str:
    return orjson.dumps(value).decode()[:400]


def _make_use(asker: Asker, row: Row, words: CapabilityWords) -> Iterable[Section]:
    days = asker.use(str(row["tool"])) if asker.use else {}
    rows = []
    for each in reversed(as_sequence(row.get("runs"))[-10:]) if asker.may_change else ():
        run = as_mapping(each)
        code = as_string(run.get("code"))
        rows.append(
            TableRow(
                (
                    Cell(run.get("at"), "time"),
                    Cell(code, "text" if code == "ok" else "bad"),
                    Cell(figures.span(run.get("ms"))),
                    Cell(run.get("version"), "figure"),
                )
            )
        )
    bars = None
    if any(days.values()):
        label = words.use_days.format(days=len(days))
        bars = Bars(tuple((day, float(count)) for day, count in days.items()), label)
    facts: tuple[tuple[str, Cell], ...] = ()
    if row.get("calls"):
        facts = (
            (words.mean, Cell(figures.span(row.get("mean_ms")))),
            (words.p95, Cell(figures.span(row.get("p95_ms")))),
            (words.last_call, Cell(row.get("last"), "time")),
        )
    yield Section(
        words.use,
        (
            (words.at, "time"),
            (words.state, "text"),
            (words.mean, "text"),
            (words.version, "figure"),
        ),
        tuple(rows),
        facts=facts,
        bars=bars,
        nothing=words.never_run,
        note=words.use_days.format(days=len(days)) if bars else "",
    )


def _make_versions(
    page: PageRequest[Any], asker: Asker, row: Row, words: CapabilityWords
) -> Iterable[Section]:
    if row["namespace"] != asker.caller.namespace:
        return
    name = str(row["capability"])
    versions = asker.registry.versions(name, asker.caller)
    rows = []
    for each in versions[:PAGE]:
        number = each["version"]
        acts = []
        if number > 1:
            acts.append(Act(words.compare, f"{_path(row)}?diff={number}"))
        if not each["active"] and not each["yanked"]:
            path = f"{_path(row)}/rollback?version={number}"
            acts.append(Act(words.roll_back, path, is_danger=True))
        state = words.active if each["active"] else words.yanked if each["yanked"] else ""
        rows.append(
            TableRow(
                (
                    Cell(number, "figure", f"{_path(row)}?version={number}"),
                    Cell(state),
                    Cell(each["author"]),
                    Cell(each["health"], "bad" if each["health"] == "degraded" else "text"),
                    Cell(each["at"], "time"),
                ),
                tuple(acts),
            )
        )
    columns = (
        (words.version, "figure"),
        (words.state, "text"),
        (words.author, "text"),
        (words.health, "text"),
        (words.made, "time"),
    )
    yield Section(words.versions, columns, tuple(rows))  # type: ignore[arg-type]
    wanted = page.query.get("diff", "")
    if wanted.isdecimal() and int(wanted[:8]) > 1:
        newer = int(wanted[:8])
        known = sorted(each["version"] for each in versions)
        older = max((each for each in known if each < newer), default=newer - 1)
        found = asker.registry.diff(name, asker.caller, older, newer)
        changed = "\n".join(
            f"{sign}{each['field']}: {_write_json(value)}"
            for each in found["manifest"]
            for sign, value in (("-", each["old"]), ("+", each["new"]))
        )
        text = "\n".join(filter(None, (changed, found["schema"], found["source"])))
        yield Section(
            words.differences.format(older=older, newer=newer),
            text=figures.clean(text, SOURCE_CHARACTERS),
            is_difference=True,
            nothing=words.same,
        )


def _make_audit(asker: Asker, row: Row, words: CapabilityWords) -> Section:
    namespace = str(row["namespace"])
    try:
        entries = asker.registry.log.rows(asker.caller, namespace=namespace, limit=AUDIT_SCANNED)
    except (UsageError, Refused):
        entries = []
    mine = [each for each in map(dict, entries) if each.get("name") == row["capability"]]
    rows = tuple(
        TableRow(
            (
                Cell(each["at"], "time"),
                Cell(each["action"]),
                Cell(each.get("version"), "figure"),
                Cell(each.get("by") or each.get("caller") or ""),
            )
        )
        for each in islice(reversed(mine), AUDIT_SHOWN)
    )
    return Section(
        words.audit,
        ((words.at, "time"), (words.what, "text"), (words.version, "figure"), (words.by, "text")),
        rows,
        nothing=words.no_audit,
        is_folded=True,
    )


def _make_change(page: PageRequest[Any], asker: Asker, row: Row) -> Operation:
    """Return what a path's verb does to a capability."""
    words = words_of(page)
    name = str(row["capability"])
    verb = page.path["verb"]
    back = _path(row)
    asked = page.request.url.query
    path = f"{back}/{verb}" + (f"?{asked}" if asked else "")
    if verb == "rollback":
        version = page.query.get("version", "")
        if not version.isdecimal() or len(version) > 8:
            raise UsageError("EINVAL", "version is the number of a version", source="page")
        return Operation(
            path,
            words.roll_back_title.format(version=version, name=name),
            words.roll_back,
            is_danger=True,
            changes=((words.version, str(row["version"]), version),),
            back=back,
        )
    if verb == "grant":
        request = asker.registry.granting.find_request(_ref(row), asker.caller)
        changes = tuple(
            (describe_permission(each, words), words.waits, words.granted)
            for each in request["new"]
        )
        return Operation(
            path,
            words.grant_title.format(name=name),
            words.grant,
            tag=request["digest"],
            is_danger=True,
            changes=changes,
            back=back,
        )
    if verb == "forget":
        secret = page.query.get("secret", "")
        if secret not in {each for each, _ in _list_secrets(asker, row)}:
            raise UsageError("ENOENT", "the capability asks for no such secret", source="page")
        title = words.secret_forget_title.format(name=secret)
        return Operation(path, title, words.secret_forget, is_danger=True, back=back)
    if verb != "revoke":
        raise UsageError("EROUTE", "there is no such page", source="page")
    permission = page.query.get("permission", "")
    taken = [permission] if permission else _asked(row)
    return Operation(
        path,
        words.refuse_title.format(name=name),
        words.refuse,
        is_danger=True,
        changes=tuple((describe_permission(each, words), words.granted, "–") for each in taken),
        back=back,
    )


PAGES: Final = (
    Page("Capabilities", "/capabilities", VIEWERS, {"de": "Fähigkeiten", "zh": "能力"}),
)
