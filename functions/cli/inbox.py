"""`uncaged inbox` and `uncaged trace`: waiting events, dead letters, and what an event did."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Annotated, Any, Protocol, runtime_checkable

import orjson
import typer

from functions.agent.session import trace
from functions.events import Event
from functions.queues import dead_letters
from functions.queues.waiting_events import decode_waiting
from functions.settings import Settings
from functions.wiring import open_ingress_queue, open_queue
from sigil.cli.times import format_time
from sigil.errors import UsageError, one_line
from sigil.storage.kv import KV, keys
from sigil.storage.kv.update import scan_all
from sigil.wiring import Stores, open_stores

cli = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Events on their way: what waits, and the dead letters.",
)
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
SHOWN = 60


@runtime_checkable
class Counts(Protocol):
    """A queue that can count its events, if not list them."""

    def count_waiting(self) -> int:
        """Return about how many events are in it."""


@cli.command("list")
def waiting(json: Json = False) -> None:
    """Show the events that wait, session by session, in their order.

    Example: uncaged inbox list
    """
    settings = Settings.read()
    if settings.queue:
        queue = open_ingress_queue(settings)
        held = queue.count_waiting() if isinstance(queue, Counts) else 0
        message = f"SQS lists no events; about {held} are in the queue"
        raise UsageError(
            "ENOLIST",
            message,
            source="queue",
            suggestion="`uncaged inbox dead` shows the dead letters",
        )
    rows = [_event_row(event, due) for event, due in _scan_waiting(_open_stores().kv)]
    _print_rows(rows, json, "nothing waits")


@cli.command()
def dead(json: Json = False) -> None:
    """Show the events that were given up, and why.

    Example: uncaged inbox dead
    """
    found = [_letter_row(letter) for letter in dead_letters.scan_dead_letters(_open_stores().kv)]
    _print_rows(found, json, "no dead letters")


@cli.command()
def retry(
    event: Annotated[str, typer.Argument(help="The id that `uncaged inbox dead` shows.")],
) -> None:
    """Enqueue a dead letter again, under a new id.

    Example: uncaged inbox retry telegram:42:1007
    """
    stores, settings = _open_stores(), Settings.read()
    again = dead_letters.retry(
        stores.kv, open_queue(settings, stores)[0].put, dead_letters.find(stores.kv, event)
    )
    sys.stdout.write(f"{again.id}\n")


@cli.command()
def drop(
    event: Annotated[str, typer.Argument(help="The id that `uncaged inbox dead` shows.")],
) -> None:
    """Forget a dead letter.

    Example: uncaged inbox drop telegram:42:1007
    """
    stores = _open_stores()
    dead_letters.drop(stores.kv, dead_letters.find(stores.kv, event))
    sys.stderr.write("dropped\n")


def show_trace(event: str, json: bool) -> None:
    """Print what an event did; `UsageError` with ENOENT when nothing is known of it."""
    record = trace.load_trace(_open_stores().kv, event)
    if record is None:
        raise UsageError(
            "ENOENT",
            "no trace of this event",
            source=event,
            suggestion="traces are kept for 8 days; the log names the events",
        )
    sys.stdout.write(
        orjson.dumps(record).decode() + "\n"
        if json
        else "\n".join(trace.format_trace(record)) + "\n"
    )


def _open_stores() -> Stores:
    return open_stores(Settings.read())


def _scan_waiting(kv: KV) -> Iterator[tuple[Event, float]]:
    """Yield the waiting events with the time when they are due, session by session."""
    for index in (keys.READY_CONTROL, keys.READY):
        for session, _ in scan_all(kv, index):
            for sort, item in scan_all(kv, keys.inbox_event(session, "").partition):
                found = decode_waiting(sort, item)
                yield found.event, found.due


def _event_row(event: Event, due: float) -> dict[str, Any]:
    return {
        "event": event.id,
        "session": event.session,
        "sender": event.sender.id,
        "at": event.at,
        "due": due,
        "text": event.text,
    }


def _letter_row(letter: dead_letters.DeadLetter) -> dict[str, Any]:
    known = (
        _event_row(letter.event, 0.0)
        if letter.event
        else {"event": letter.id, "session": "", "sender": "", "at": letter.at, "text": ""}
    )
    return {**known, "reason": letter.reason}


def _print_rows(rows: list[dict[str, Any]], json: bool, nothing: str) -> None:
    if json:
        sys.stdout.write(orjson.dumps(rows).decode() + "\n")
    elif not rows:
        sys.stderr.write(nothing + "\n")
    for row in [] if json else rows:
        extra = f"  ({row['reason']})" if "reason" in row else ""
        sys.stdout.write(
            f"{row['event']}  {format_time(row['at'])}  {row['session']} "
            f" {one_line(row['text'], SHOWN)!r}{extra}\n"
        )
