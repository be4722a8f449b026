"""Work that nobody typed, for an agent on a platform: its events, and its own sessions."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from functions.events import Event, Sender, order_of
from sigil.storage.kv import keys
from tests.functions.chats import Chats
from tests.functions.people import OWNER

BY = f"telegram:{OWNER}"


def work(number: int = 1, text: str = "look at the mail", **fields: Any) -> Event:
    """Return the event of a wakeup whose outcome the owner's chat hears of."""
    now = time.time()
    made = Event(
        id=f"wakeup:{number}",
        kind="wakeup",
        agent="main",
        session="own:main",
        sender=Sender("runtime:scheduler"),
        text=text,
        at=now,
        order=order_of(now, number),
        private=True,
        by=BY,
        data={"home": BY, "from": "wakeup mail"},
    )
    return replace(made, **fields)


def run(chats: Chats, *events: Event) -> None:
    """Put events into the queue, and work on all that comes of them."""
    for each in events:
        chats.runtime.queue.put(each)
    chats.work_off()


def own(chats: Chats, session: str = "own:main") -> Any:
    """Return the document of a session of the agent's own."""
    return chats.runtime.app.sessions.open(keys.session_of("main", session)).document
