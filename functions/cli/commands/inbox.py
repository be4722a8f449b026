"""`uncaged inbox`: waiting events and dead letters."""

from __future__ import annotations

import sys
from typing import Annotated, Final, NotRequired, Protocol, TypedDict, runtime_checkable

import orjson
import typer

from functions.cli.local_agent import Whose
from functions.events import Event
from functions.queues import dead_letters
from functions.queues.waiting_events import decode_waiting
from functions.settings import Settings
from functions.wiring import open_ingress_queue, open_queue
from sigil.cli.times import format_time
from sigil.errors import UsageError, one_line
from sigil.storage.kv import KV, keys
from sigil.storage.kv.update import scan_all
from sigil.wiring import open_stores

cli = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Show waiting events and dead letters.",
)
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
TEXT_CHARACTERS = 60


@runtime_checkable
class CountsEvents(Protocol):
    """A queue that can count its events, if not list them."""

    def count_waiting(self) -> int:
        """Return about how many events are in it."""


@cli.command("list")
def list_waiting(agent: Whose = None, json: Json = False) -> None:
    """Show the events that wait, session by session, in their order.

    Example: uncaged inbox list --agent alice
    """
    settings = Settings.read()
    if settings.queue:
        queue = open_ingress_queue(settings)
        count = queue.count_waiting() if isinstance(queue, CountsEvents) else 0
        raise UsageError(
            "ENOLIST",
            f"SQS cannot list its events; it holds about {count}",
            source="queue",
            suggestion="`uncaged inbox dead` shows the dead letters",
        )
    kv = open_stores(settings).kv
    rows = []
    for index in (keys.READY_CONTROL, keys.READY, keys.READY_WORK):
        for session, _ in scan_all(kv, index):
            for sort, item in scan_all(kv, keys.inbox_event(session, "").partition):
                waiting = decode_waiting(sort, item)
                rows.append(_make_row(waiting.event, waiting.due))
    _print_rows(_choose(rows, agent, kv, settings.agent), json, "no event waits")


@cli.command()
def dead(agent: Whose = None, json: Json = False) -> None:
    """Show the events that were given up, and why.

    Example: uncaged inbox dead --agent alice
    """
    settings = Settings.read()
    kv = open_stores(settings).kv
    rows: list[InboxRow] = []
    for letter in dead_letters.scan_dead_letters(kv):
        if letter.event:
            row = _make_row(letter.event, 0.0)
        else:
            row = {**_NOTHING_KNOWN, "event": letter.id, "at": letter.at}
        row["reason"] = letter.reason
        rows.append(row)
    _print_rows(_choose(rows, agent, kv, settings.agent), json, "no dead letters")


@cli.command()
def retry(
    event: Annotated[str, typer.Argument(help="The id that `uncaged inbox dead` shows.")],
) -> None:
    """Put the event of a dead letter back into the queue, under a new id.

    Example: uncaged inbox retry telegram:42:1007
    """
    settings = Settings.read()
    stores = open_stores(settings)
    sides = open_queue(settings, stores)
    letter = dead_letters.find(stores.kv, event)
    retried = dead_letters.retry(stores.kv, sides.chats.put, letter)
    sys.stdout.write(f"{retried.id}\n")


@cli.command()
def drop(
    event: Annotated[str, typer.Argument(help="The id that `uncaged inbox dead` shows.")],
) -> None:
    """Delete a dead letter.

    Example: uncaged inbox drop telegram:42:1007
    """
    kv = open_stores(Settings.read()).kv
    dead_letters.drop(kv, dead_letters.find(kv, event))
    sys.stderr.write("dropped\n")


class InboxRow(TypedDict):
    """An event that waits, or was given up; times are in seconds since 1970."""

    event: str
    agent: str
    session: str
    sender: str
    at: float
    due: NotRequired[float]
    text: str
    reason: NotRequired[str]


_NOTHING_KNOWN: Final[InboxRow] = {
    "event": "",
    "agent": "",
    "session": "",
    "sender": "",
    "at": 0.0,
    "text": "",
}


def _choose(rows: list[InboxRow], agent: str | None, kv: KV, root: str) -> list[InboxRow]:
    """Return the rows of the agent below the root that is named, or of the root; all without one.

    `UsageError` ENOENT for one that is not there and of which nothing is.
    """
    from functions.agent.agents.record import join_name, read_agent

    if agent is None:
        return rows
    full = root if agent == root else join_name(root, agent)
    found = [row for row in rows if row["agent"] == full]
    if not found and full != root:
        read_agent(kv, root, agent)
    return found


def _make_row(event: Event, due: float) -> InboxRow:
    return {
        "event": event.id,
        "agent": event.agent,
        "session": event.session,
        "sender": event.sender.id,
        "at": event.at,
        "due": due,
        "text": event.text,
    }


def _print_rows(rows: list[InboxRow], json: bool, nothing: str) -> None:
    """Print the rows as JSON or as lines, or on stderr that there is `nothing`."""
    if json:
        sys.stdout.write(orjson.dumps(rows).decode() + "\n")
        return
    if not rows:
        sys.stderr.write(nothing + "\n")
    for row in rows:
        at = format_time(row["at"])
        text = one_line(row["text"], TEXT_CHARACTERS)
        reason = f"  ({row['reason']})" if "reason" in row else ""
        # an agent below the root has sessions of the same names as the root
        whose = f"{row['agent']} " if "." in row["agent"] else ""
        sys.stdout.write(f"{row['event']}  {at}  {whose}{row['session']}  {text!r}{reason}\n")
