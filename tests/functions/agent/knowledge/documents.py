"""Documents of a knowledge base, as the tests add them."""

from __future__ import annotations

import time
from typing import Any

from functions.agent.knowledge.knowledge_base import KnowledgeBase
from functions.agent.knowledge.record import Draft, make_draft
from functions.wiring import make_helpers
from sigil.storage.kv import KV

RANKER = make_helpers().ranker
AGENT, TEAM = "main", "main?team"
HANDBOOK = """\
# Handbook

Welcome to the shop.

## Refunds

Whoever brings goods back within 30 days gets the money back. The receipt has to be there, and the
goods have to be as they were sold. This holds for everything but gift cards, food and whatever was
made to order. The money comes the way it was paid, within a week after the goods have arrived, and
the customer gets a message about it.

## Holidays

Everybody has 28 days of vacation a year, and asks for them four weeks ahead. Who is ill meanwhile
gets the days back with a letter of the doctor. What is left at the end of March is gone, unless the
work of the company was the reason for it.
"""


def draft(title: str = "Handbook", text: str = HANDBOOK, **more: Any) -> Draft:
    fields: dict[str, Any] = {"source": "people/handbook.md", "by": "telegram:42", "time": 1e9}
    return make_draft(**{**fields, "title": title, "text": text, **more})


def open_base(kv: KV, scope: str = AGENT, now: Any = time.time) -> KnowledgeBase:
    return KnowledgeBase(kv, scope, RANKER, now)


def find_titles(base: KnowledgeBase, question: str, limit: int = 5) -> list[str]:
    return [found.record.title for found in base.find(question, limit)]
