"""`uncaged agent create`, `list`, `bind` and so on: the agents below the root, and the chats in
which they answer.
"""

from __future__ import annotations

import sys
import uuid
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from functions.cli.local_agent import (
    BY,
    Json,
    open_agent,
    print_result,
    put_resumed,
    require_chat,
    session_key,
)
from sigil.cli.printing import Printer
from sigil.errors import SigilError, UsageError, one_line

if TYPE_CHECKING:
    from functions.agent.agents.record import AgentRecord, State
    from functions.agent.app import App
    from functions.settings import Settings
    from functions.turns_in_progress import TurnsInProgress

DOCUMENT_BYTES = 1 << 18
"""A larger file is not even read: a document has a few thousand characters."""
KEPT = "Its ledger and its part of the budget stay."
cli = typer.Typer(rich_markup_mode=None)
AgentName = Annotated[str, typer.Argument(help="Its name, such as `alice`.", metavar="NAME")]
ChatName = Annotated[
    str, typer.Argument(help="The chat, such as `telegram:42`.", metavar="SESSION")
]


class AgentKind(StrEnum):
    """The kinds of agents, as the option `--kind` has them."""

    agent = "agent"
    subagent = "subagent"
    teammate = "teammate"


@cli.command()
def create(
    name: AgentName,
    *,
    role: Annotated[
        Path | None,
        typer.Option(help="A file with its document `role`: what it is, and how it works."),
    ] = None,
    self_file: Annotated[
        Path | None,
        typer.Option("--self", help="A file with its document `self`: who it is, and its goals."),
    ] = None,
    prompt: Annotated[
        str, typer.Option(help="What it is to do whenever it wakes up by itself.")
    ] = "",
    heartbeat: Annotated[
        str, typer.Option(help="The shortest time between two looks at what is new, or `off`.")
    ] = "30m",
    session: Annotated[
        str, typer.Option(help="The chat in which it says what comes of that.", metavar="SESSION")
    ] = "terminal:main",
    model: Annotated[
        str, typer.Option(help="Its model at the same endpoint; else that of the settings.")
    ] = "",
    guide: Annotated[str, typer.Option(help="Its guide; else that of the settings.")] = "",
    context: Annotated[
        str, typer.Option(help="How its history is shortened; else as the settings say.")
    ] = "",
    access: Annotated[str, typer.Option(help="Who may talk to it: open, members or owners.")] = "",
    tokens: Annotated[
        int, typer.Option(help="Tokens that it may use a period, beside the root's own budget.")
    ] = 0,
    session_tokens: Annotated[
        int | None, typer.Option(help="Tokens that each of its chats may use in a period.")
    ] = None,
    ticks: Annotated[int | None, typer.Option(help="Requests to the model for one task.")] = None,
    temporary: Annotated[
        bool, typer.Option("--temporary", help="Archive it when it was idle for 30 days.")
    ] = False,
    json: Json = False,
) -> None:
    """Create an agent below the one of the settings.

    It has documents, memory and sessions of its own, and shares the people, the channels and the
    budget. What is not said here is as in the settings.

    Example: uncaged agent create alice --role role.md --self self.md
    """
    from functions.agent.management.agents import make_agent, read_new_agent
    from functions.texts.languages import load_texts

    fields: dict[str, object] = {
        "name": name,
        "role": _read_document(role),
        "self": _read_document(self_file),
        "prompt": prompt,
        "heartbeat": heartbeat,
        "session": require_chat(session),
        "model": model,
        "guide": guide,
        "context": context,
        "access": access,
        "tokens": tokens,
        "session_tokens": session_tokens,
        "ticks": ticks,
        "temporary": temporary,
    }
    with open_agent(switch=True) as (app, settings):
        new = read_new_agent(fields, BY, app.clock.now(), session)
        made = make_agent(app, new, load_texts(settings.language))
    text = f"created: {name}, {made['did']}; `/agent {name}` in a chat lets it answer there"
    print_result({"created": name, **made}, text, json)


def _read_document(path: Path | None) -> str:
    if path is None:
        return ""
    try:
        if path.stat().st_size > DOCUMENT_BYTES:
            raise UsageError("ETOOBIG", f"{path} is too large for a document")
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise UsageError("EINVAL", f"{path} is no text in UTF-8") from None
    except OSError as problem:
        raise UsageError("ENOENT", f"{path} cannot be read: {one_line(str(problem), 80)}") from None


@cli.command("list")
def list_agents(
    all: Annotated[bool, typer.Option("--all", help="Show the archived ones as well.")] = False,
    kind: Annotated[
        AgentKind | None, typer.Option(help="Only agents, subagents or teammates.")
    ] = None,
    json: Json = False,
) -> None:
    """List the agents below the one of the settings.

    Example: uncaged agent list --kind teammate
    """
    from functions.agent.agents.record import scan_agents
    from functions.agent.management.agents import make_row
    from sigil.cli.times import format_time

    with open_agent(switch=True) as (app, settings):
        running = _find_turns(app, settings).list_working()
        found = list(scan_agents(app.kv, app.root))
        if kind:
            found = [row for row in found if row[1] and row[1].kind == kind.value]
        shown = [(name, record) for name, record in found if all or not _is_archived(record)]
        rows = [make_row(app, name, record, running) for name, record in shown]
    printer = Printer(json=json)
    left_out = len(found) - len(shown)
    if json:
        printer.document(rows)
        return
    if rows:
        printer.table(
            ("name", "state", "kind", "since", "model", "tokens", "hp", "did"),
            [
                (
                    str(each["name"]),
                    "cannot be read" if record is None else str(each["status"]),
                    record.kind if record else "",
                    format_time(record.since) if record else "",
                    record.model if record else "",
                    f"{record.tokens:,}" if record and record.tokens else "",
                    _format_hp(each["hp"]),
                    str(each["did"]),
                )
                for each, (_, record) in zip(rows, shown, strict=True)
            ],
        )
    elif kind and not left_out:
        printer.note(f"there is no {kind.value}")
    elif not left_out:
        printer.note("there is none yet; `uncaged agent create NAME` makes one")
    if left_out:
        printer.note(f"{left_out:,} archived; --all shows them")


def _is_archived(record: AgentRecord | None) -> bool:
    return record is not None and record.state == "archived"


def _find_turns(app: App, settings: Settings) -> TurnsInProgress:
    from functions.turns_in_progress import open_turns

    return open_turns(app.sessions, settings, app.kv)


@cli.command("show")
def show_agent(name: AgentName, json: Json = False) -> None:
    """Show what an agent is, what it is doing, and which steps are possible.

    Example: uncaged agent show alice
    """
    from functions.agent.agents.record import read_agent
    from functions.agent.management.agents import list_steps, make_row
    from functions.time.time_zone import format_clock
    from sigil.cli.times import format_time

    with open_agent(switch=True) as (app, settings):
        record = read_agent(app.kv, app.root, name)
        row = make_row(app, name, record, _find_turns(app, settings).list_working())
        now = app.clock.now()
        zone = app.zone
    steps = list_steps(record.state)
    if json:
        Printer(json=True).document({**row, "steps": steps})
        return
    due = row["next"]
    limits = record.task
    facts = {
        "agent": row["agent"],
        "did": row["did"],
        "state": row["status"],
        "kind": f"{record.kind}{', temporary' if record.temporary else ''}",
        "role": record.role,
        "created": f"{format_time(record.since)} by {record.by}",
        "next": format_clock(due, zone, now) if isinstance(due, float) else "",
        "model": record.model,
        "bundle": ", ".join(record.bundle),
        "task": f"{limits.steps:,} requests, {limits.tokens:,} tokens, {limits.seconds:,} s"
        if limits
        else "",
        "files": record.files,
        "tokens": f"{record.tokens:,} a period" if record.tokens else "",
        "hp": _format_hp(row["hp"]),
        "steps": ", ".join(steps),
    }
    lines = [f"{fact + ':':<10}{one_line(str(text), 400)}" for fact, text in facts.items() if text]
    Printer().text("\n".join(lines))


def _format_hp(report: object) -> str:
    """Return the HP of an agent for the table."""
    if not isinstance(report, dict):
        return ""
    state = "" if report["state"] == "ok" else f" ({report['state']})"
    return f"{report['hp']:,.0f}{state}"


@cli.command()
def enable(name: AgentName, json: Json = False) -> None:
    """Let a disabled agent work again, the one of the settings too when it has no HP left.

    It then has a tenth of all HP above the floor at least.

    Example: uncaged agent enable alice
    """
    from functions.agent.agents.record import change_state, join_name
    from functions.agent.safety.hp import enable_work
    from functions.agent.team.resuming import wake_by_hand

    with open_agent(switch=True) as (app, settings):
        agent = app.root
        if name != app.root:
            change_state(app.kv, app.root, name, "enabled", app.clock.now())
            agent = join_name(app.root, name)
        hp = enable_work(app.kv, agent, app.hp, app.clock.now())
        resumed = wake_by_hand(app, [name], by=BY, cause=f"cli:{uuid.uuid4().hex[:12]}")
        told = put_resumed(resumed, settings)
    woken = {"woken": list(resumed.names)} if resumed.names else {}
    print_result(
        {"agent": name, "state": "enabled", "hp": hp, **woken}, f"enabled: {name}{told}", json
    )


@cli.command()
def disable(name: AgentName, json: Json = False) -> None:
    """Let an agent work on nothing until it is enabled.

    Everything that it has stays, and what it is doing ends before its next step. In the chats that
    are bound to it, the root answers.

    Example: uncaged agent disable alice
    """
    _change_state(name, "disabled", json)


@cli.command()
def archive(name: AgentName, json: Json = False) -> None:
    """End an agent for good, and keep all that it has.

    In the chats that are bound to it, the root answers.

    Example: uncaged agent archive alice
    """
    _change_state(name, "archived", json)


def _change_state(name: str, state: State, json: bool) -> None:
    from functions.agent.agents.record import change_state

    with open_agent(switch=True) as (app, _):
        change_state(app.kv, app.root, name, state, app.clock.now())
    print_result({"agent": name, "state": state}, f"{state}: {name}", json)


@cli.command()
def purge(
    name: AgentName,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Purge without asking.")] = False,
    json: Json = False,
) -> None:
    """Remove an agent with all that it has: documents, memory, chats, files, schedules and mail.

    Its ledger stays, and so does what its work counted for the budget. It can be interrupted, and
    given again until nothing is left.

    Example: uncaged agent purge alice
    """
    from functions.agent.agents.record import NEXT_STATES, change_state, read_agent
    from functions.agent_data import AgentData

    if not yes and not sys.stdin.isatty():
        raise UsageError(
            "EUSAGE",
            "this asks for a confirmation, and stdin is no terminal",
            source=name,
            suggestion="add --yes",
        )
    with open_agent(switch=True) as (app, settings):
        record = read_agent(app.kv, app.root, name)
        if record.state != "purged" and "purged" not in NEXT_STATES[record.state]:
            change_state(app.kv, app.root, name, "purged")  # it says what is possible
        question = f"Remove {name} with its chats, memory and files? {KEPT} This is final."
        if not yes and not typer.confirm(question, err=True):
            raise SigilError("EDECLINED", "nothing was removed")
        data = AgentData(app.kv, app.artifacts, app.root, name, app.clock)
        removed = data.purge(_find_turns(app, settings).is_working)
    text = f"purged: {name}; {removed:,} items removed. {KEPT}"
    print_result({"agent": name, "state": "purged", "removed": removed}, text, json)


@cli.command("halt")
def halt_agent(name: AgentName, json: Json = False) -> None:
    """Halt one agent in all of its sessions, and no other.

    Example: uncaged agent halt alice
    """
    from functions.agent.commands import control
    from functions.alerts import halt_alert, send_alert
    from functions.wiring import open_notifier

    with open_agent(switch=True, name=name) as (app, settings):
        control.halt("", app, BY)
        send_alert(halt_alert(app.name, "", app.clock.now()), open_notifier(settings))
    print_result({"halted": name}, f"halted: {name}; `uncaged agent unlock {name}` ends it", json)


@cli.command("unlock")
def unlock_agent(name: AgentName, json: Json = False) -> None:
    """Unlock one agent in all of its sessions.

    Example: uncaged agent unlock alice
    """
    from functions.agent.commands import control
    from functions.agent.team.resuming import resume_team

    with open_agent(switch=True, name=name) as (app, settings):
        control.unlock("", app, BY)
        resumed = resume_team(app, by=BY, cause=f"unlock:{uuid.uuid4().hex[:12]}")
        told = put_resumed(resumed, settings)
    woken = {"woken": list(resumed.names)} if resumed.names else {}
    print_result({"unlocked": name, **woken}, f"unlocked: {name}{told}", json)


@cli.command()
def bind(chat: ChatName, name: AgentName, json: Json = False) -> None:
    """Let an agent answer in a chat from now on.

    Example: uncaged agent bind telegram:42 alice
    """
    from functions.agent.agents.record import read_agent

    with open_agent(switch=True) as (app, _):
        if name != app.root and read_agent(app.kv, app.root, name).state != "enabled":
            raise UsageError(
                "EINVAL",
                f"{name} is not enabled",
                suggestion="`uncaged agent list` shows what state each agent is in",
            )
        _bind_chat(chat, "" if name == app.root else name)
    print_result({"session": chat, "agent": name}, f"{name} answers in {chat}", json)


@cli.command()
def unbind(chat: ChatName, json: Json = False) -> None:
    """Let the agent of the settings answer in a chat again.

    Example: uncaged agent unbind telegram:42
    """
    root = _bind_chat(chat, "")
    print_result({"session": chat, "agent": root}, f"{root} answers in {chat}", json)


def _bind_chat(chat: str, agent: str) -> str:
    """Bind a chat to an agent, empty for the root; the name of the root."""
    from functions.agent.agents import bindings
    from functions.agent.session.document import find_last_order

    with open_agent(switch=True, session=chat) as (app, _):
        document = app.sessions.open(session_key(app, chat)).document
        order = find_last_order(document)
        bindings.bind(app.kv, app.root, chat, agent, order=order, by=BY)
        return app.root


@cli.command("bindings")
def list_bindings(json: Json = False) -> None:
    """List the chats in which another agent than that of the settings answers.

    Example: uncaged agent bindings
    """
    from functions.agent.agents.bindings import scan_bindings

    with open_agent(switch=True) as (app, _):
        found = list(scan_bindings(app.kv, app.root))
    printer = Printer(json=json)
    if json:
        printer.document(
            [{"session": chat, "agent": each.agent, "by": each.by} for chat, each in found]
        )
    elif found:
        printer.table(
            ("session", "agent", "by"), [(chat, each.agent, each.by) for chat, each in found]
        )
    else:
        printer.note("no chat is bound; `uncaged agent bind SESSION NAME` binds one")
