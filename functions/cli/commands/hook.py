"""`uncaged hook`: the addresses at which programs outside hand something to an agent."""

from __future__ import annotations

import time
import uuid
from typing import TYPE_CHECKING, Annotated

import typer

from functions.cli.local_agent import BY, Json, Whose, open_agent, print_result
from sigil.cli.printing import Printer
from sigil.cli.times import format_time
from sigil.errors import UsageError, one_line

if TYPE_CHECKING:
    from functions.hooks import Hook

TEXT_CHARACTERS = 60
HIDDEN = ("digest",)
Name = Annotated[str, typer.Argument(help="Its name, such as `builds`.", metavar="NAME")]
cli = typer.Typer(
    rich_markup_mode=None, help="Let programs outside hand something to an agent over HTTP."
)


@cli.command()
def add(
    name: Name,
    *,
    chat: Annotated[
        str,
        typer.Option(help="The chat in which the agent tells of it, such as `telegram:42`."),
    ] = "",
    text: Annotated[str, typer.Option(help="What the agent shall do when something comes.")] = "",
    by: Annotated[
        str, typer.Option(help="The person on whose behalf it works, such as `telegram:42`.")
    ] = BY,
    signed: Annotated[
        bool,
        typer.Option(
            "--signed", help="For senders that sign what they send, as GitHub does; no token."
        ),
    ] = False,
    agent: Whose = None,
    json: Json = False,
) -> None:
    """Make a hook, and print its token, or the secret of its signatures: the only time that it is
    shown.

    Without a chat nobody is told of what comes.

    Example: uncaged hook add builds --chat telegram:42 --text "tell me when a build fails"
    """
    from functions.agent.access.roles import LOCAL_OWNERS, PERSON
    from functions.agent.management.wakeups import require_chat
    from functions.events import WEB
    from functions.hooks import Hook, Hooks, make_token
    from functions.texts.languages import detect_language

    if by not in LOCAL_OWNERS and not PERSON.fullmatch(by):
        raise UsageError("EUSAGE", f"{one_line(by, TEXT_CHARACTERS)!r} is nobody's id")
    if chat.startswith(f"{WEB}:"):
        raise UsageError(
            "EUSAGE",
            "nothing but the page writes into the chats that are there",
            suggestion="take a chat on a platform, or http:admin:NAME",
        )
    token, digest = make_token()
    with open_agent(switch=True, name=agent) as (app, _):
        if chat:
            require_chat(app, chat)
        hook = Hook(
            id=uuid.uuid4().hex[:12],
            name=name,
            agent=app.name,
            digest=digest,
            by=by,
            since=time.time(),
            session=chat,
            text=text.strip(),
            language=detect_language(text),
            signed=signed,
        )
        Hooks(app.kv, app.root).add(hook)
    _print_token(hook, token, json)


@cli.command("list")
def list_hooks(json: Json = False) -> None:
    """List the hooks: their agents and chats, and what became of what came last.

    Example: uncaged hook list
    """
    from functions.hooks import Hooks

    with open_agent(switch=True) as (app, _):
        found = Hooks(app.kv, app.root).list_all()
    printer = Printer(json=json)
    if json:
        printer.document([_make_row(each) for each in found])
    elif not found:
        printer.note("there is none yet; `uncaged hook add NAME` makes one")
    else:
        printer.table(
            ("name", "agent", "chat", "runs", "last", "text"),
            [
                (
                    each.name,
                    each.agent,
                    each.session or "-",
                    f"paused ({each.paused})" if each.paused else f"{each.runs:,}",
                    f"{format_time(each.ended)} {each.outcome}" if each.last else "",
                    one_line(each.text, TEXT_CHARACTERS),
                )
                for each in found
            ],
        )


@cli.command()
def drop(name: Name, json: Json = False) -> None:
    """Delete a hook: from now on its token is wrong.

    Example: uncaged hook drop builds
    """
    from functions.hooks import Hooks

    with open_agent(switch=True) as (app, _):
        dropped = _require(Hooks(app.kv, app.root).drop(name), name)
    print_result(_make_row(dropped), f"dropped: {name}", json)


@cli.command()
def rotate(name: Name, json: Json = False) -> None:
    """Give a hook a new token, and print it; the old one is wrong from now on.

    A hook that was paused takes something again.

    Example: uncaged hook rotate builds
    """
    from functions.hooks import Hooks, make_token

    token, digest = make_token()
    with open_agent(switch=True) as (app, _):
        hook = _require(Hooks(app.kv, app.root).rotate(name, digest), name)
    _print_token(hook, token, json)


def _require(hook: Hook | None, name: str) -> Hook:
    if hook is None:
        raise UsageError(
            "ENOENT",
            f"there is no hook {one_line(name, TEXT_CHARACTERS)!r}",
            suggestion="`uncaged hook list` shows them",
        )
    return hook


def _print_token(hook: Hook, token: str, json: bool) -> None:
    """Print a token on stdout, or the secret of signatures, and what it is for on stderr."""
    kind = "secret" if hook.signed else "token"
    shown = hook.digest if hook.signed else token
    if json:
        Printer(json=True).document({**_make_row(hook), kind: shown})
        return
    printer = Printer()
    printer.line(shown)
    printer.note(f"the {kind} of POST /hooks/{hook.name}; this is the only time that it is shown")
    if not hook.session:
        printer.note("nobody is told of what comes: there is no --chat")


def _make_row(hook: Hook) -> dict[str, object]:
    from sigil.storage.stored import row

    return {name: value for name, value in row(hook).items() if name not in HIDDEN}
