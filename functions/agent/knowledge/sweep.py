"""Earlier versions of documents go when they are kept no longer."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from functions.agent.knowledge.knowledge_base import KnowledgeBase
from functions.agent.memory.helpers import NoRanker
from sigil.storage.kv import KV, keys


def sweep_knowledge(kv: KV, root: str, agents: Iterable[str], now: Callable[[], float]) -> int:
    """Sweep the knowledge bases of these agents and of the team of their root, and return how many
    versions went. It searches nothing: the scheduler's package on AWS has no ranker.
    """
    scopes = [*map(keys.escape, agents), keys.team_of(root)]
    return sum(KnowledgeBase(kv, scope, NoRanker(), now).drop_surplus() for scope in scopes)
