"""The page of safety: what is halted, what waits for an owner's word, and what was given up."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final
from urllib.parse import quote

from starlette.responses import Response

from functions.agent import approvals
from functions.agent.app import App
from functions.agent.commands import control
from functions.agent.growth.undoing import roll_back
from functions.agent.management import ledger, team
from functions.agent.policy.document import describe_policy, open_versions
from functions.agent.runs.run import Run
from functions.agent.runs.tree import list_agents, scan_all_runs
from functions.agent.safety import locks
from functions.alerts import halt_alert, send_alert
from functions.page.access.reach import Work, require_work
from functions.page.access.viewer import OWNERS
from functions.page.agents import find_agent
from functions.page.frame import Page, PageRequest, PageRoute, plain
from functions.page.runs import run_path
from functions.page.words.owner_words import load_words
from functions.page.words.run_words import RunWords, words_of
from functions.queues import dead_letters
from functions.queues.dead_letters import DeadLetter
from sigil.errors import UsageError, one_line
from sigil.http.page.capabilities import describe_permission
from sigil.http.page.capability_words import CapabilityWords
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
from sigil.http.page.operations import words_of as capability_words
from sigil.json_fields import as_mapping, as_sequence, as_string
from sigil.protocol import Caller, Json
from sigil.storage.kv import keys

SHOWN: Final = 50
FAILURES: Final = 10
FAILED: Final = ("failed", "given-up")
SCANNED: Final = 500
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Waiting:
    """What waits for an owner: proposals and plans of teammates, permissions of capabilities, and
    dead letters, each as programs get it.
    """

    proposals: Sequence[Row]
    grants: Sequence[Row]
    letters: Sequence[Row]

    @property
    def count(self) -> int:
        """Return how many things wait."""
        return len(self.proposals) + len(self.grants) + len(self.letters)


def read_waiting(page: PageRequest) -> Waiting:
    """Return what waits for an owner now."""
    app = page.deps.app
    now = app.clock.now()
    found = [approvals.make_row(each, now) for each in app.proposals.list_open()]
    letters = [
        {
            "event": each.id,
            "reason": each.reason,
            "at": each.at,
            "session": each.event.session if each.event else "",
            "by": each.event.sender.id if each.event else "",
        }
        for each in islice(scan_letters(app), SHOWN)
    ]
    return Waiting(
        plain([*found, *team.list_plans(app)]),  # type: ignore[arg-type]
        list_waiting_grants(app),
        plain(letters),  # type: ignore[arg-type]
    )


def scan_letters(app: App) -> Iterator[DeadLetter]:
    """Yield the dead letters of a root and of those below it: other agents may have the store too.
    Of one that cannot be read nobody knows whose it is.
    """
    for letter in dead_letters.scan_dead_letters(app.kv):
        if letter.event is None or keys.root_of(letter.event.agent) == app.root:
            yield letter


def list_waiting_grants(app: App) -> Sequence[Row]:
    """Return the permissions of capabilities that wait for an owner."""
    granting = getattr(app.registry, "granting", None)
    if granting is None:
        return []
    rows = granting.rows(Caller(app.root, owner=True))
    return [dict(each) for each in islice(rows, 500) if each["state"] == "waits"][:SHOWN]


def list_halted(app: App) -> list[dict[str, object]]:
    """Return what is halted: the whole agent, agents below it and single chats."""
    root = keys.escape(app.root)
    whole = locks.read_lock(app.kv, root)
    found: list[dict[str, object]] = []
    if whole.closed:
        found.append({"agent": app.root, "session": "", "by": whole.by, "at": whole.halted})
    for whom in islice(locks.list_halted(app.kv, root), SHOWN):
        lock = locks.read_lock(app.kv, whom)
        agent, mark, session = whom.partition("#")
        found.append(
            {
                "agent": keys.unescape(agent),
                "session": keys.unescape(session) if mark else "",
                "by": lock.by,
                "at": lock.halted,
            }
        )
    return found


def list_failures(app: App) -> list[Run]:
    """Return the last runs that failed, of all agents."""
    found = islice(scan_all_runs(app.kv, list_agents(app.kv, app.root)), SCANNED)
    return list(islice((run for run in found if run.outcome in FAILED), FAILURES))


def show_safety(page: PageRequest) -> Response:
    """Show what keeps the agent from work, and what waits for an owner."""
    app = page.deps.app
    words = words_of(page)
    halted = list_halted(app)
    waiting = read_waiting(page)
    policy = describe_policy(open_versions(app.kv, app.name, app.clock.now))
    failures = list_failures(app)
    is_whole = any(not each["session"] and each["agent"] == app.root for each in halted)
    act = Act(words.halt, "/safety/halt", is_danger=True)
    if is_whole:
        act = Act(words.unlock, "/safety/unlock")
    sections = (
        Section(
            words.halted,
            ((words.agent, "text"), (words.chat, "code"), (words.by, "text"), (words.when, "time")),
            tuple(_make_halted_row(each, words) for each in halted),
            nothing=words.not_halted,
            type=words.not_halted_type,
        ),
        _make_proposals(waiting, words),
        _make_grants(waiting, words, capability_words(page)),
        _make_letters(waiting, words),
        make_failures(failures, words),
        Section(
            words.policy,
            text=as_string(policy.get("text")),
            note=words.policy_version.format(version=policy.get("version")),
            is_folded=True,
        ),
    )
    twin = plain(
        {
            "halted": halted,
            "proposals": waiting.proposals,
            "grants": waiting.grants,
            "dead_letters": waiting.letters,
            "failures": [run.id for run in failures],
            "policy": policy,
        }
    )
    own = load_words(page.language)
    acts = (act, Act(own.see_policy, "/policy"), Act(own.by_chat, "/safety/chats"))
    return show_view(page, View(words.safety, sections, twin, acts=acts))


def make_failures(runs: Sequence[Run], words: RunWords) -> Section:
    """Return the table of the last runs that failed."""
    rows = tuple(
        TableRow(
            (
                Cell(run.began, "time", run_path(run.id)),
                Cell(run.session, "code"),
                Cell(f"{words.name_outcome(run.outcome)} {run.why}".strip(), "bad"),
            )
        )
        for run in runs
    )
    columns = ((words.when, "time"), (words.chat, "code"), (words.outcome, "text"))
    return Section(words.last_failures, columns, rows, nothing=words.no_failures)  # type: ignore[arg-type]


def _make_halted_row(row: Row, words: RunWords) -> TableRow:
    path = "/safety/unlock"
    if row["session"]:
        path += f"?session={_quote(row['session'])}"
    elif "." in row["agent"]:
        path += f"?agent={_quote(row['agent'].rpartition('.')[2])}"
    return TableRow(
        (
            Cell(row["agent"]),
            Cell(row["session"] or "–", "code"),
            Cell(row["by"]),
            Cell(row["at"], "time"),
        ),
        (Act(words.unlock, path),),
    )


def _make_proposals(waiting: Waiting, words: RunWords) -> Section:
    rows = []
    for each in waiting.proposals:
        id = as_string(each.get("id"))
        acts = ", ".join(map(str, as_sequence(each.get("acts")))) or as_string(each.get("kind"))
        text = each.get("difference") or each.get("arguments") or each.get("text") or ""
        rows.append(
            TableRow(
                (
                    Cell(acts, chips=(as_string(each.get("tool")),) if each.get("tool") else ()),
                    Cell(text, "long"),
                    Cell(each.get("by") or each.get("agent")),
                    Cell(each.get("until"), "time"),
                ),
                (
                    Act(words.approve, f"/safety/proposals/{id}/approve"),
                    Act(words.deny, f"/safety/proposals/{id}/deny", is_danger=True),
                ),
            )
        )
    return Section(
        words.proposals,
        ((words.asks, "text"), (words.text, "text"), (words.by, "text"), (words.until, "time")),
        tuple(rows),
        nothing=words.no_proposals,
        type=words.no_proposals_type,
    )


def _make_grants(waiting: Waiting, words: RunWords, say: CapabilityWords) -> Section:
    rows = tuple(
        TableRow(
            (
                Cell(
                    each["capability"],
                    path=f"/capabilities/{each['namespace']}/{each['capability']}",
                ),
                Cell(" ".join(describe_permission(str(one), say) for one in each["permissions"])),
                Cell(each.get("chat") or "–", "code"),
            )
        )
        for each in waiting.grants
    )
    return Section(
        words.grants,
        ((words.name, "text"), (words.asks, "text"), (words.chat, "code")),
        rows,
        nothing=words.no_grants,
        type=words.no_grants_type,
    )


def _make_letters(waiting: Waiting, words: RunWords) -> Section:
    rows = tuple(
        TableRow(
            (
                Cell(each["event"], "code"),
                Cell(each["session"], "code"),
                Cell(each["reason"]),
                Cell(each["at"], "time"),
            ),
            (
                Act(words.retry, f"/safety/dead/retry?id={_quote(each['event'])}"),
                Act(words.drop, f"/safety/dead/drop?id={_quote(each['event'])}", is_danger=True),
            ),
        )
        for each in waiting.letters
    )
    return Section(
        words.dead_letters,
        ((words.name, "code"), (words.chat, "code"), (words.reason, "text"), (words.when, "time")),
        rows,
        nothing=words.no_dead_letters,
        type=words.no_dead_letters_type,
    )


def _quote(text: object) -> str:
    return quote(str(text).encode("utf-8", "replace"), safe="")


def ask_lock(page: PageRequest) -> Response:
    """Ask whether a chat, an agent or everything is to be halted or unlocked."""
    return show_form(page, _make_lock(page))


def change_lock(page: PageRequest) -> Response:
    """Halt or unlock a chat, an agent or everything."""
    operation = _make_lock(page)
    app, session, _ = _find_locked(page)

    def perform(_: dict[str, Json], __: str) -> str:
        key = keys.session_of(app.name, session) if session else ""
        if page.path["verb"] == "halt":
            control.halt(key, app, page.by)
            send_alert(halt_alert(app.name, session, app.clock.now()), page.deps.notifier)
            return "/safety"
        from functions.agent.team.resuming import resume_team

        control.unlock(key, app, page.by)
        resumed = resume_team(app, by=page.by, cause=f"unlock:{uuid.uuid4().hex[:12]}")
        for event in resumed.events:
            page.deps.put(event)
        return "/safety"

    return take_form(page, operation, perform)


def _find_locked(page: PageRequest) -> tuple[App, str, str]:
    """Return the agent and the chat that a request names, and its name for people."""
    app = page.deps.app
    session = page.query.get("session", "")
    short = page.query.get("agent", "")
    if session:
        if ":" not in session or len(session) > control.SESSION_CHARACTERS:
            raise UsageError("EINVAL", "session is PLATFORM:CHAT", source="page")
        return page.deps.agents.find_current(session, app).app, session, session
    if short:
        return find_agent(page, short), "", short
    return app, "", app.name


def _make_lock(page: PageRequest) -> Operation:
    words = words_of(page)
    verb = page.path["verb"]
    _, _, name = _find_locked(page)
    asked = page.request.url.query
    path = f"/safety/{verb}" + (f"?{asked}" if asked else "")
    shown = one_line(name, 80)
    if verb == "halt":
        return Operation(
            path, words.halt_title.format(name=shown), words.halt, is_danger=True, back="/safety"
        )
    if verb != "unlock":
        raise UsageError("EROUTE", "there is no such page", source="page")
    title = words.unlock_title.format(name=shown)
    return Operation(path, title, words.unlock, is_danger=True, back="/safety")


def ask_decision(page: PageRequest) -> Response:
    """Ask whether a proposal is to be approved or denied."""
    return show_form(page, _make_decision(page))


def decide(page: PageRequest) -> Response:
    """Approve, deny or roll back a proposal, or the plan of a teammate."""
    operation = _make_decision(page)
    deps = page.deps
    app = deps.app
    id = page.path["id"]
    verb = page.path["verb"]

    def perform(arguments: dict[str, Json], _: str) -> str:
        if verb in ("approve", "deny") and team.find_plan(app, id):
            words = as_string(arguments.get("words"))
            is_good = verb == "approve"
            made = team.answer_plan_by_hand(app, id, words, approve=is_good, by=page.by)
            for event in made.events:
                deps.put(event)
            return "/safety"
        proposal, event = DECISIONS[verb](app, id, page.by)
        if event:
            deps.put(event)
        approvals.settle(app, proposal)
        ledger.note_decision(app, proposal)
        return "/safety"

    return take_form(page, operation, perform)


DECISIONS: Final[Mapping[str, Callable[[App, str, str], tuple[Any, Any]]]] = {
    "approve": approvals.approve,
    "deny": approvals.deny,
    "rollback": roll_back,
}


def _make_decision(page: PageRequest) -> Operation:
    words = words_of(page)
    app = page.deps.app
    id = page.path["id"]
    verb = page.path["verb"]
    if verb not in DECISIONS:
        raise UsageError("EROUTE", "there is no such page", source="page")
    title, button = {
        "approve": (words.approve_title, words.approve),
        "deny": (words.deny_title, words.deny),
        "rollback": (words.roll_back_title, words.roll_back),
    }[verb]
    plan = team.find_plan(app, id)
    changes: tuple[tuple[str, str, str], ...] = ()
    schema: dict[str, Json] | None = None
    if plan:
        schema = {"type": "object", "properties": {"words": {"type": "string", "maxLength": 2000}}}
        changes = ((words.asks, "", str(as_mapping(plan).get("text", ""))),)
    else:
        found = app.proposals.find(id)
        if found is None:
            raise UsageError("ENOENT", "there is no such proposal", source="page")
        shown = approvals.make_row(found, app.clock.now())
        text = shown.get("difference") or shown.get("arguments") or ""
        changes = ((", ".join(found.acts), found.before or "", str(text)),)
        if verb != "approve":
            changes = ()
    return Operation(
        f"/safety/proposals/{id}/{verb}",
        title.format(id=id),
        button,
        schema=schema,
        is_danger=True,
        changes=changes,
        back="/safety",
        labels={"words": words.answer},
    )


def ask_letter(page: PageRequest) -> Response:
    """Ask whether a dead letter is to be retried or deleted."""
    return show_form(page, _make_letter(page))


def answer_letter(page: PageRequest) -> Response:
    """Put a dead letter back into the queue, or delete it."""
    operation = _make_letter(page)
    deps = page.deps
    letter = _find_letter(page)

    def perform(_: dict[str, Json], __: str) -> str:
        if page.path["verb"] == "retry":
            dead_letters.retry(deps.app.kv, deps.put, letter)
        else:
            dead_letters.drop(deps.app.kv, letter)
        return "/safety"

    return take_form(page, operation, perform)


def _find_letter(page: PageRequest) -> DeadLetter:
    """Return the dead letter that a request names; `UsageError` ENOENT for none."""
    id = page.query.get("id", "")
    found = next((each for each in scan_letters(page.deps.app) if each.id == id), None)
    if found is None:
        raise UsageError("ENOENT", "there is no such dead letter", source="page")
    return found


def _read_letter(page: PageRequest, letter: DeadLetter) -> str:
    """Return the words of a dead letter, as far as the viewer may read them."""
    if letter.event is None:
        return letter.reason
    if require_work(page, Work.of_event(letter.event)) != "texts":
        return words_of(page).private
    return one_line(letter.event.text, 400)


def _make_letter(page: PageRequest) -> Operation:
    words = words_of(page)
    verb = page.path["verb"]
    id = page.query.get("id", "")
    titles = {"retry": (words.retry_title, words.retry), "drop": (words.drop_title, words.drop)}
    if verb not in titles:
        raise UsageError("EROUTE", "there is no such page", source="page")
    letter = _find_letter(page)
    title, button = titles[verb]
    return Operation(
        f"/safety/dead/{verb}?id={_quote(id)}",
        title.format(id=one_line(id, 80)),
        button,
        is_danger=True,
        changes=((one_line(letter.reason, 120), _read_letter(page, letter), ""),)
        if verb == "drop"
        else (),
        back="/safety",
    )


ROUTES: tuple[PageRoute, ...] = (
    PageRoute("/safety", "GET", show_safety, OWNERS),
    PageRoute("/safety/proposals/{id}/{verb}", "GET", ask_decision, OWNERS),
    PageRoute("/safety/proposals/{id}/{verb}", "POST", decide, OWNERS, reads_form=True),
    PageRoute("/safety/dead/{verb}", "GET", ask_letter, OWNERS),
    PageRoute("/safety/dead/{verb}", "POST", answer_letter, OWNERS, reads_form=True),
    PageRoute("/safety/{verb}", "GET", ask_lock, OWNERS),
    PageRoute("/safety/{verb}", "POST", change_lock, OWNERS, reads_form=True),
)
PAGES: tuple[Page, ...] = (
    Page("Safety", "/safety", OWNERS, {"de": "Sicherheit", "zh": "安全"}, ("/policy",)),
)
