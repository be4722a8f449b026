"""The policy is a document of the agent, versioned as its others, and apart from them.

Only people write it: on the machine, or an owner in a private chat. A policy that cannot be read
allows nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from functions.agent.memory.documents import Documents, decode_version
from functions.agent.policy.rules import (
    FIRST_TEXT,
    TEXT_CHARACTERS,
    Policy,
    close_policy,
    parse_policy,
)
from sigil.errors import BackendError, UsageError
from sigil.storage.kv import KV, Item, Key, keys

NAME: Final = "policy"
DAMAGED: Final = "the policy is damaged, so nothing is allowed"


def open_versions(kv: KV, agent: str, now: Callable[[], float]) -> Documents:
    """Return the versions of an agent's policy, as a document of the name `NAME`."""
    return Documents(kv, agent, now, caps={NAME: TEXT_CHARACTERS})


def list_policy_keys(agent: str) -> list[Key]:
    """Return the keys of what binds an agent: the root's policy, and its own below the root."""
    names = dict.fromkeys((keys.root_of(agent), agent))
    return [keys.document(keys.escape(name), NAME) for name in names]


def read_policies(items: Sequence[Item | None]) -> tuple[Policy, ...]:
    """Return the policies that were stored at `list_policy_keys`. All of them have to allow what is
    done.
    """
    return tuple(_read_policy(item) for item in items)


def _read_policy(item: Item | None) -> Policy:
    if item is None:
        return parse_policy(FIRST_TEXT)
    try:
        doc = decode_version("", NAME, item.value)
        return parse_policy(doc.text) if doc else close_policy(DAMAGED)
    except (UsageError, BackendError) as problem:
        return close_policy(f"the policy cannot be read, so nothing is allowed: {problem.message}")
