"""`uncaged agent add`, `list`, `bind` and so on: the agents below the root, and the chats in which
they answer.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from functions.cli.local_agent import BY, Json, open_agent, print_result, session_key
from sigil.cli.printing import Printer
from sigil.errors import UsageError, one_line

if TYPE_CHECKING:
    from functions.agent.agents.record import State

cli = typer.Typer(rich_markup_mode=None)
AgentName = Annotated[str, typer.Argument(help="Its name, such as `alice`.", metavar="NAME")]
ChatName = Annotated[
    str, typer.Argument(help="The chat, such as `telegram:42`.", metavar="SESSION")
]


@cli.command()
def add(
    name: AgentName,
    *,
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
    json: Json = False,
) -> None:
    """Add an agent below the one of the settings.

    It has documents, memory and sessions of its own, and shares the people, the channels and the
    budget. What is not said here is as in the settings.

    Example: uncaged agent add alice --model qwen-max --tokens 200000
    """
    from functions.agent.agents.record import add_agent, make_record
    from functions.agent.compaction import load_strategy
    from functions.agent.safety.guides import load_guide
    from functions.settings import ACCESS

    if access and access not in ACCESS:
        raise UsageError("EINVAL", f"access is {', '.join(ACCESS)}, not {one_line(access, 40)!r}")
    if guide:
        load_guide(guide)
    if context:
        load_strategy(context)
    record = make_record(
        {
            "kind": "agent",
            "state": "enabled",
            "since": time.time(),
            "by": BY,
            "model": model,
            "guide": guide,
            "context": context,
            "access": access or None,
            "tokens": tokens,
            "session_tokens": session_tokens,
            "ticks": ticks,
        }
    )
    with open_agent(switch=True) as (app, _):
        add_agent(app.kv, app.root, name, record)
        text = f"added: {name}; `/agent {name}` in a chat lets it answer there"
        print_result({"added": name, "agent": f"{app.root}.{name}"}, text, json)


@cli.command("list")
def list_agents(json: Json = False) -> None:
    """List the agents below the one of the settings.

    Example: uncaged agent list
    """
    from functions.agent.agents.record import join_name, scan_agents
    from functions.agent.safety.hp import load_account
    from sigil.cli.times import format_time
    from sigil.storage.stored import row

    with open_agent(switch=True) as (app, _):
        found = list(scan_agents(app.kv, app.root))
        now = app.clock.now()
        hp = {}
        if app.hp.most > 0:
            for name, _record in found:
                account = load_account(app.kv, join_name(app.root, name), app.hp, now)
                hp[name] = row(account.report(now))
    printer = Printer(json=json)
    if json:
        printer.document(
            [
                {
                    "name": name,
                    **(row(record) if record else {"state": "damaged"}),
                    "hp": hp.get(name),
                }
                for name, record in found
            ]
        )
    elif found:
        printer.table(
            ("name", "state", "since", "model", "tokens", "hp"),
            [
                (
                    name,
                    record.state if record else "cannot be read",
                    format_time(record.since) if record else "",
                    record.model if record else "",
                    f"{record.tokens:,}" if record and record.tokens else "",
                    _format_hp(hp.get(name)),
                )
                for name, record in found
            ],
        )
    else:
        printer.note("there is none yet; `uncaged agent add NAME` adds one")


def _format_hp(report: dict[str, object] | None) -> str:
    """Return the HP of an agent for the table."""
    if report is None:
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

    with open_agent(switch=True) as (app, _):
        agent = app.root
        if name != app.root:
            change_state(app.kv, app.root, name, "enabled")
            agent = join_name(app.root, name)
        hp = enable_work(app.kv, agent, app.hp, app.clock.now())
    print_result({"agent": name, "state": "enabled", "hp": hp}, f"enabled: {name}", json)


@cli.command()
def disable(name: AgentName, json: Json = False) -> None:
    """Let an agent work on nothing until it is enabled.

    Everything that it has stays. In the chats that are bound to it, the root answers.

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
        change_state(app.kv, app.root, name, state)
    print_result({"agent": name, "state": state}, f"{state}: {name}", json)


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

    with open_agent(switch=True, name=name) as (app, _):
        control.unlock("", app, BY)
    print_result({"unlocked": name}, f"unlocked: {name}", json)


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
