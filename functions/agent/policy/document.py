"""The policy is a document of the agent, versioned as its others, and apart from them.

Only people write it: on the machine, or an owner in a private chat. A policy that cannot be read
allows nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from functions.agent.memory.documents import Doc, Documents, decode_version
from functions.agent.policy.rules import (
    FIRST_TEXT,
    TEXT_CHARACTERS,
    Policy,
    close_policy,
    make_row,
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
    done; an agent below the root need not have one of its own.
    """
    first, *others = items
    return (_read_policy(first), *(_read_policy(item) for item in others if item))


def _read_policy(item: Item | None) -> Policy:
    if item is None:
        return parse_policy(FIRST_TEXT)
    try:
        doc = decode_version("", NAME, item.value)
        return parse_policy(doc.text) if doc else close_policy(DAMAGED)
    except (UsageError, BackendError) as problem:
        return close_policy(f"the policy cannot be read, so nothing is allowed: {problem.message}")


def write_policy(
    versions: Documents, text: str, *, by: str, why: str = "", expect: int | None = None
) -> Doc:
    """Write the next version of a policy and return it; the same text again writes nothing.

    `UsageError` with the line of what is wrong in it; `Conflict` when `expect` is not its version.
    """
    parse_policy(text.strip())
    return versions.write(versions.agent, NAME, text, by=by, why=why, expect=expect)


def roll_back_policy(versions: Documents, version: int, by: str) -> Doc:
    """Write an earlier version again, as a new one. Version 0 is the policy before the first."""
    if version == 0:
        why = "rolled back to version 0"
        return write_policy(versions, FIRST_TEXT, by=by, why=why)
    parse_policy(versions.read_version(versions.agent, NAME, version).text)
    return versions.roll_back(versions.agent, NAME, version, by)


def read_policy_text(versions: Documents) -> Doc:
    """Return the newest version of a policy; one that was never written has the first text."""
    doc = versions.read(versions.agent, NAME)
    return doc if doc.version else replace(doc, text=FIRST_TEXT.strip())


def describe_policy(versions: Documents) -> dict[str, object]:
    """Return the newest version of a policy with what it says, for programs."""
    doc = read_policy_text(versions)
    policy = read_policies([versions.read_stored(versions.agent, NAME)])[0]
    return {
        "version": doc.version,
        "at": doc.at,
        "by": doc.by,
        "text": doc.text,
        **make_row(policy),
    }
