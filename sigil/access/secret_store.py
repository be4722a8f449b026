"""Owners set and remove the secrets of a namespace; only the host sees and uses them."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import orjson

from sigil.catalog.cursors import invalid_cursor
from sigil.catalog.owner import require_owner
from sigil.errors import Refused, UsageError
from sigil.protocol import Caller
from sigil.storage.kv import KV, Item, keys
from sigil.storage.kv.update import scan_all
from sigil.storage.setting_secrets import reveal
from sigil.storage.stored import Shape, damaged

if TYPE_CHECKING:
    from sigil.rows import SecretRow, StoredSecretRow

SHORTEST = 8
LONGEST = 8_192

_NAME = re.compile(r"[A-Z][A-Z0-9_]{0,62}", re.ASCII)
_VALUE = re.compile(r"[^\x00-\x1f\x7f-\x9f\ud800-\udfff]+")


@dataclass(frozen=True, slots=True)
class _StoredSecret:
    """A secret as it is stored. `at`: seconds since the epoch."""

    value: str
    at: float
    by: str


_SECRET: Final = Shape[_StoredSecret](_StoredSecret)
Note = Callable[..., object]


def note_nowhere(*_facts: object, **_more: object) -> None:
    """Do nothing: there is no audit."""


class SecretStore:
    """The secrets of a store.

    A value is the secret itself, or a place in AWS (`ssm:NAME`, `secretsmanager:NAME[#KEY]`) from
    which it is read when it is needed.
    """

    def __init__(
        self, kv: KV, clock: Callable[[], float] = time.time, note: Note = note_nowhere
    ) -> None:
        self._kv = kv
        self._clock = clock
        self._note = note

    def set(self, name: str, value: str, caller: Caller) -> StoredSecretRow:
        """Store a value under a name such as `API_KEY`; only an owner may.

        A value has 8 to 8,192 characters, none of them a control character. Raises `UsageError`
        ENAME or EINVAL for another name or value.
        """
        require_owner(caller)
        if not _NAME.fullmatch(name):
            raise UsageError(
                "ENAME",
                "not a secret's name",
                suggestion="capital letters, digits and _, such as API_KEY",
            )
        if not SHORTEST <= len(value) <= LONGEST or not _VALUE.fullmatch(value):
            raise UsageError(
                "EINVAL",
                f"a secret has {SHORTEST} to {LONGEST:,} characters on one line",
                source=name,
                suggestion="a shorter one would be mistaken for other text in an answer",
            )
        at = self._clock()
        self._kv.put(
            keys.secret(caller.namespace, name),
            orjson.dumps({"value": value, "at": at, "by": author_of(caller)}),
        )
        self._note(caller.namespace, "secret-set", caller=caller, name=name)
        return {"secret": name, "at": at}

    def remove(self, name: str, caller: Caller) -> None:
        """Remove a secret; only an owner may. Raises `UsageError` ENOENT when there is none."""
        require_owner(caller)
        key = keys.secret(caller.namespace, name)
        if not _NAME.fullmatch(name) or self._kv.get(key) is None:
            raise UsageError(
                "ENOENT",
                "no such secret",
                source=name[:63],
                suggestion="`sigil secret list` shows their names",
            )
        self._kv.delete(key)
        self._note(caller.namespace, "secret-remove", caller=caller, name=name)

    def rows(self, caller: Caller, after: str = "") -> Iterator[SecretRow]:
        """Yield the secrets by name, from beyond the name `after` on; only an owner may.

        A row says when a secret was set and by whom, never its value.
        """
        require_owner(caller)
        if after and not _NAME.fullmatch(after):
            raise invalid_cursor()
        partition = keys.secret(caller.namespace, "").partition
        secrets = (
            (name, read_secret(name, item))
            for name, item in scan_all(self._kv, partition, after=after)
        )
        return ({"secret": name, "at": each.at, "by": each.by} for name, each in secrets)

    def has_secret(self, namespace: str, name: str) -> bool:
        """Return whether a secret is set."""
        return self._kv.get(keys.secret(namespace, name)) is not None

    def read_value(self, namespace: str, name: str) -> str | None:
        """Return the value that the host puts into a request, None when it is not set.

        Raises `BackendError` when it cannot be read, `Refused` EPERM for a value from elsewhere
        that is too short or has several lines.
        """
        item = self._kv.get(keys.secret(namespace, name))
        if item is None:
            return None
        value = reveal(read_secret(name, item).value)
        if len(value) < SHORTEST or not _VALUE.fullmatch(value):
            raise Refused(
                "EPERM",
                f"the secret {name} has fewer than {SHORTEST} characters, or more than one line",
            )
        return value


def read_secret(name: str, item: Item) -> _StoredSecret:
    """Return a secret as it is stored; `BackendError` EDAMAGED when it cannot be read."""
    try:
        return _SECRET.read(item.value)
    except ValueError:
        raise damaged(
            "the secret cannot be read",
            source=name,
            suggestion=f"set it again: `sigil secret set {name}`",
        ) from None


def author_of(caller: Caller) -> str:
    """Return the author of a change, as the rows show it."""
    return caller.session or "an owner"
