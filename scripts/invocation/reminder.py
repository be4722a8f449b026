"""Stores a reminder that is due. Usage: python -m scripts.invocation.reminder TABLE ENDPOINT"""

from __future__ import annotations

import sys
import time

from functions.agent.schedules.schedule import Schedule, Schedules
from functions.agent.schedules.when import When
from functions.settings import Settings
from sigil.storage.kv.dynamodb import DynamoKV


def add_reminder(table: str, endpoint: str) -> None:
    """Let a chat be reminded a second ago."""
    now = time.time()
    chat = "telegram:1"
    when = When(kind="at", at=now - 1.0, zone="UTC")
    reminder = Schedule(id="", when=when, session=chat, by=chat, since=now - 2.0, say="drink water")
    Schedules(DynamoKV(table, endpoint=endpoint), Settings().agent).add(reminder)


if __name__ == "__main__":
    add_reminder(*sys.argv[1:])
