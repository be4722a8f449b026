"""The page of settings: the checks of the doctor, what is set and where, channels, access keys,
sign-ins, hooks and the last backup. Nothing here changes a setting, and no secret is shown.
"""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlencode

from starlette.responses import Response

from functions.agent.management import sessions
from functions.channels.about import name_variable
from functions.channels.webhooks import PATH
from functions.hooks import Hooks
from functions.page.access.viewer import OWNERS
from functions.page.access.visitors import open_logins
from functions.page.frame import Page, PageRequest, PageRoute, plain
from functions.page.words.owner_words import OwnerWords, load_words
from functions.page.words.run_words import words_of
from functions.settings import Settings
from sigil.errors import SigilError, UsageError
from sigil.http.page import figures
from sigil.http.page.operations import (
    Act,
    Cell,
    Operation,
    Section,
    TableRow,
    View,
    show_form,
    show_view,
    take_form,
)
from sigil.protocol import Caller, Json

if TYPE_CHECKING:
    from sigil.admin_protocol import AdminRegistry
    from sigil.cli.doctor import Finding

SHOWN: Final = 200
DEFAULTS: Final = "defaults"
"""The parameter by which the settings that stand as they come are shown as well."""
ENVIRONMENT: Final = "environment"
START: Final = "start"
"""Where a setting comes from that no variable and no file has: whoever started the process."""


def show_settings(page: PageRequest) -> Response:
    """Show what is set, and what else belongs to how the agent is kept."""
    return _show(page, None)


def run_checks(page: PageRequest) -> Response:
    """Run the checks of the doctor, and show what they found above everything else.

    They ask the model and the platforms, so that only a form begins them.
    """
    if page.deps.check is None:
        own = load_words(page.language)
        raise UsageError("EUSAGE", own.checks_away, source="page")
    return _show(page, page.deps.check())


def _show(page: PageRequest, findings: list[Finding] | None) -> Response:
    own = load_words(page.language)
    words = words_of(page)
    twin: dict[str, Any] = {}
    sections = [_make_checks(page, findings, twin)]
    sections += _make_settings(page, own, twin)
    sections.append(_make_channels(page, own, twin))
    sections.append(_make_tokens(page, own, twin))
    sections.append(_make_sign_ins(page, own, twin))
    sections.append(_make_hooks(page, own, twin))
    sections.append(_make_backup(page, own, twin))
    acts = [Act(words.usage, "/usage"), Act(words.safety, "/safety")]
    if not _shows_defaults(page):
        acts.append(Act(own.defaults, f"/settings?{DEFAULTS}=1"))
    view = View(
        own.settings, tuple(sections), plain(twin), lead=own.nothing_changes, acts=tuple(acts)
    )
    return show_view(page, view)


def _make_checks(
    page: PageRequest, findings: list[Finding] | None, twin: dict[str, Any]
) -> Section:
    own = load_words(page.language)
    if page.deps.check is None:
        return Section(own.checks, note=own.checks_away, nothing="")
    form = Operation("/settings/checks", own.checks, own.run_checks)
    if findings is None:
        return Section(own.checks, note=own.checks_lead, form=form)
    twin["checks"] = [
        {"name": each.name, "state": str(each.state), "found": each.found, "mend": each.mend}
        for each in findings
    ]
    rows = tuple(
        TableRow(
            (
                Cell(each.name),
                Cell(
                    own.check_states.get(str(each.state), str(each.state)),
                    "bad" if str(each.state) == "fail" else "text",
                ),
                Cell(each.found, "long"),
                Cell(each.mend, "long"),
            )
        )
        for each in findings
    )
    columns = (
        (own.checks, "text"),
        (own.state, "text"),
        (own.finding, "text"),
        (own.remedy, "text"),
    )
    return Section(own.checks, columns, rows, form=form)  # type: ignore[arg-type]


def _shows_defaults(page: PageRequest) -> bool:
    """Return whether the settings that stand as they come are wanted: they are many."""
    return page.query.get(DEFAULTS) == "1"


def _make_settings(page: PageRequest, own: OwnerWords, twin: dict[str, Any]) -> list[Section]:
    """Return the settings that differ from how they come, and the others where they are wanted; of
    a secret only that it is set.
    """
    settings = page.deps.settings
    try:
        sources = Settings.find_sources()
    except UsageError:  # a file was changed since, and is none that counts
        sources = {}
    rows = [
        {
            "name": facts.name,
            "value": facts.format_value(value),
            "set": value != facts.default,
            "source": sources.get(facts.name, START) if value != facts.default else "",
            "secret": facts.secret,
            "meaning": facts.meaning,
        }
        for facts, value in settings.list_values()
    ]
    twin["settings"] = rows
    columns = (
        (own.setting, "code"),
        (own.value, "text"),
        (own.source, "text"),
        (own.meaning, "text"),
    )
    found = []
    wanted = ((own.set_ones, True), (own.defaults, False))
    for title, is_set in wanted if _shows_defaults(page) else wanted[:1]:
        shown = tuple(
            TableRow(
                (
                    Cell(row["name"], "code"),
                    Cell(own.is_secret if row["secret"] and is_set else row["value"]),
                    _name_source(str(row["source"]), own),
                    Cell(row["meaning"], "long"),
                )
            )
            for row in rows
            if row["set"] == is_set
        )
        found.append(
            Section(
                title,
                columns,  # type: ignore[arg-type]
                shown,
                nothing=own.nothing_set,
                type=own.nothing_set_type,
            )
        )
    return found


def _name_source(source: str, own: OwnerWords) -> Cell:
    """Return where a setting comes from: a word of ours, or the path of a file."""
    names = {ENVIRONMENT: own.from_environment, START: own.from_start}
    return Cell(names[source], "short") if source in names else Cell(source)


def _make_channels(page: PageRequest, own: OwnerWords, twin: dict[str, Any]) -> Section:
    """Return the channels that are set, with what they lack and when a turn was last at work in a
    chat of theirs.
    """
    last: dict[str, float] = {}
    for each in sessions.scan_sessions(page.deps.app):
        last[each.platform] = max(each.at, last.get(each.platform, 0.0))
    rows = []
    for channel in page.deps.settings.load_separate_channels(by_worker=True).channels:
        lacks = [name_variable(channel.name, each.field) for each in channel.list_missing()]
        if not (channel.is_open or channel.is_wanted):
            continue
        state = "open"
        if channel.list_missing(by_worker=True):
            state = "not-set"
        elif lacks:
            state = "polled" if channel.is_polled else "no-webhook"
        rows.append(
            {
                "name": channel.name,
                "state": state,
                "missing": lacks,
                "path": PATH.format(channel=channel.name),
                "last": last.get(channel.name),
            }
        )
    twin["channels"] = rows
    shown = tuple(
        TableRow(
            (
                Cell(row["name"], path=f"/chats?{urlencode({'platform': row['name']})}"),
                Cell(own.channel_states[str(row["state"])]),
                Cell(", ".join(cast("list[str]", row["missing"])) or "–"),
                Cell(row["path"], "code"),
                Cell(row["last"], "time"),
            )
        )
        for row in rows
    )
    return Section(
        own.channels,
        (
            (own.channel, "text"),
            (own.state, "text"),
            (own.lacks, "text"),
            (own.address, "code"),
            (own.last_turn, "time"),
        ),
        shown,
        nothing=own.no_channels,
        type=own.no_channels_type,
    )


def _make_tokens(page: PageRequest, own: OwnerWords, twin: dict[str, Any]) -> Section:
    words = words_of(page)
    try:
        found = plain({"items": list(islice(_registry(page).keys.rows(_caller(page)), SHOWN))})
    except SigilError as problem:  # another one's registry may not tell
        return Section(own.tokens, problem=problem.message)
    twin["tokens"] = found["items"]
    rows = tuple(
        TableRow(
            (
                Cell(row["name"] or row["id"]),
                Cell(own.token_kinds.get(row["kind"], row["kind"])),
                Cell("", chips=tuple(row["scopes"])),
                Cell(row["created"], "time"),
                Cell(row["expires"], "time"),
                Cell(row["last_use"], "time"),
            ),
            (
                Act(
                    own.revoke,
                    f"/settings/revoke?{urlencode({'id': row['id']})}",
                    is_danger=True,
                ),
            )
            if not row["expired"]
            else (),
        )
        for row in found["items"]
    )
    return Section(
        own.tokens,
        (
            (words.name, "text"),
            (own.kind, "text"),
            (own.scopes, "text"),
            (words.since, "time"),
            (own.expires, "time"),
            (own.last_use, "time"),
        ),
        rows,
        nothing=own.no_tokens,
        type=own.no_tokens_type,
    )


def _registry(page: PageRequest) -> AdminRegistry:
    return cast("AdminRegistry", page.deps.app.registry)


def _caller(page: PageRequest) -> Caller:
    return Caller(page.deps.app.root, owner=True)


def _make_sign_ins(page: PageRequest, own: OwnerWords, twin: dict[str, Any]) -> Section:
    words = words_of(page)
    found = [
        {"person": each.who, "role": each.role, "by": each.by, "at": each.at, "seen": each.seen}
        for _, each in open_logins(page.deps).scan()
    ]
    found.sort(key=lambda each: -float(str(each["seen"])))
    twin["sign_ins"] = found
    rows = tuple(
        TableRow(
            (
                Cell(row["person"], "code"),
                Cell(own.name_role(str(row["role"]))),
                Cell(own.ways.get(str(row["by"]), str(row["by"]))),
                Cell(row["at"], "time"),
                Cell(row["seen"], "time"),
            ),
            (
                Act(
                    own.sign_out,
                    f"/settings/sign-out?{urlencode({'person': row['person']})}",
                    is_danger=True,
                ),
            ),
        )
        for row in found[:SHOWN]
    )
    return Section(
        own.sign_ins,
        (
            (own.person_id, "code"),
            (words.role, "text"),
            (own.way, "text"),
            (words.since, "time"),
            (own.last_use, "time"),
        ),
        rows,
    )


def _make_hooks(page: PageRequest, own: OwnerWords, twin: dict[str, Any]) -> Section:
    app = page.deps.app
    words = words_of(page)
    found = Hooks(app.kv, app.root).list_all()
    twin["hooks"] = [
        {
            "name": each.name,
            "agent": each.agent,
            "session": each.session,
            "by": each.by,
            "signed": each.signed,
            "paused": each.paused,
            "runs": each.runs,
            "ended": each.ended or None,
            "outcome": each.outcome,
        }
        for each in found
    ]
    rows = tuple(
        TableRow(
            (
                Cell(each.name),
                Cell(own.paused.format(why=each.paused) if each.paused else own.takes),
                Cell(each.agent),
                Cell(each.session or "–", "code"),
                Cell(each.by, "code"),
                Cell(each.runs, "figure"),
                Cell(words.name_outcome(each.outcome)),
                Cell(each.ended or None, "time"),
            )
        )
        for each in found[:SHOWN]
    )
    return Section(
        own.hooks,
        (
            (words.name, "text"),
            (own.state, "text"),
            (words.agent, "text"),
            (words.chat, "code"),
            (own.works_for, "code"),
            (own.runs, "figure"),
            (words.outcome, "text"),
            (words.last, "time"),
        ),
        rows,
        nothing=own.no_hooks,
        type=own.no_hooks_type,
    )


def _make_backup(page: PageRequest, own: OwnerWords, twin: dict[str, Any]) -> Section:
    from functions.backup.saving import read_last_backup

    last = read_last_backup(page.deps.kv)
    if last is None:
        twin["backup"] = None
        return Section(own.backup, nothing=own.no_backup, type=own.no_backup_type)
    twin["backup"] = {"file": last.file, "at": last.at, "items": last.items}
    said = own.last_backup.format(
        file=figures.line(last.file, 120), items=figures.count(last.items)
    )
    return Section(own.backup, facts=((said, Cell(last.at, "time")),))


def ask_revoking(page: PageRequest) -> Response:
    """Ask whether an access key is to end."""
    return show_form(page, _make_revoking(page))


def revoke_token(page: PageRequest) -> Response:
    """End an access key at once."""
    operation = _make_revoking(page)

    def perform(_: dict[str, Json], __: str) -> str:
        _registry(page).keys.revoke(page.query["id"], _caller(page))
        return "/settings"

    return take_form(page, operation, perform)


def _make_revoking(page: PageRequest) -> Operation:
    own = load_words(page.language)
    id = page.query.get("id", "")
    found = next(
        (each for each in _registry(page).keys.rows(_caller(page)) if each["id"] == id), None
    )
    if found is None:
        raise UsageError("ENOENT", "there is no such key", source="page")
    name = figures.line(found["name"] or id, 80)
    scopes = ", ".join(found["scopes"]) or own.token_kinds.get(found["kind"], found["kind"])
    return Operation(
        f"/settings/revoke?{urlencode({'id': id})}",
        own.revoke_title.format(name=name),
        own.revoke,
        is_danger=True,
        changes=((own.scopes, scopes, ""),),
        back="/settings",
    )


def ask_signing_out(page: PageRequest) -> Response:
    """Ask whether all sign-ins of a person are to end."""
    return show_form(page, _make_signing_out(page))


def sign_out(page: PageRequest) -> Response:
    """End all sign-ins of a person."""
    operation = _make_signing_out(page)

    def perform(_: dict[str, Json], __: str) -> str:
        open_logins(page.deps).end_all(page.query["person"])
        return "/settings"

    return take_form(page, operation, perform)


def _make_signing_out(page: PageRequest) -> Operation:
    own = load_words(page.language)
    who = page.query.get("person", "")
    count = Counter(each.who for _, each in open_logins(page.deps).scan())[who]
    if not count:
        raise UsageError("ENOENT", "nobody of this id has signed in", source="page")
    return Operation(
        f"/settings/sign-out?{urlencode({'person': who})}",
        own.sign_out_title.format(count=count, name=figures.line(who, 80)),
        own.sign_out,
        is_danger=True,
        changes=((own.sign_ins, str(count), "0"),),
        back="/settings",
    )


ROUTES: tuple[PageRoute, ...] = (
    PageRoute("/settings", "GET", show_settings, OWNERS),
    PageRoute("/settings/checks", "POST", run_checks, OWNERS, reads_form=True),
    PageRoute("/settings/revoke", "GET", ask_revoking, OWNERS),
    PageRoute("/settings/revoke", "POST", revoke_token, OWNERS, reads_form=True),
    PageRoute("/settings/sign-out", "GET", ask_signing_out, OWNERS),
    PageRoute("/settings/sign-out", "POST", sign_out, OWNERS, reads_form=True),
)
PAGES: tuple[Page, ...] = (
    Page("Settings", "/settings", OWNERS, {"de": "Einstellungen", "zh": "设置"}),
)
