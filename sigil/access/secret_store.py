"""Owners set and remove the secrets of a namespace; only the host sees and uses them."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sigil.access.sign_in import SignIn
from sigil.catalog.cursors import invalid_cursor
from sigil.catalog.owner import require_owner
from sigil.errors import Refused, UsageError
from sigil.protocol import Caller
from sigil.storage.kv import KV, Item, keys
from sigil.storage.kv.update import scan_all, update
from sigil.storage.setting_secrets import reveal
from sigil.storage.stored import Shape, Stored, damaged, dumps, later

if TYPE_CHECKING:
    from sigil.rows import SecretRow, StoredSecretRow

SHORTEST = 8
LONGEST = 8_192

_NAME = re.compile(r"[A-Z][A-Z0-9_]{0,62}", re.ASCII)
_VALUE = re.compile(r"[^\x00-\x1f\x7f-\x9f\ud800-\udfff]+")


@dataclass(frozen=True, slots=True)
class StoredSecret(Stored):
    """A secret as it is stored. `at`: seconds since the epoch; `sign_in`: what renews it, when it
    is the access token of an MCP server.
    """

    value: str
    at: float
    by: str
    sign_in: SignIn | None = later(None)


_SECRET: Final = Shape[StoredSecret](StoredSecret)
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

    def set(
        self, name: str, value: str, caller: Caller, sign_in: SignIn | None = None
    ) -> StoredSecretRow:
        """Store a value under a name such as `API_KEY`; only an owner may.

        A value has 8 to 8,192 characters, none of them a control character. With a `sign_in` it is
        an access token, which takes the place of another sign-in alone. Raises `UsageError` ENAME
        or EINVAL for another name or value, EEXIST for a secret that somebody set.
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
        secret = StoredSecret(value, at, author_of(caller), sign_in=sign_in)
        key = keys.secret(caller.namespace, name)
        if sign_in is None:
            self._kv.put(key, dumps(secret))
        else:

            def replace_sign_in(body: bytes | None) -> tuple[bytes, None]:
                if body is not None and parse_secret(name, body).sign_in is None:
                    raise UsageError(
                        "EEXIST",
                        f"the secret {name} was set by hand",
                        source=name,
                        suggestion=f"sigil secret remove {name}, then sign in again",
                    )
                return dumps(secret), None

            update(self._kv, key, replace_sign_in)
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
        return (_make_row(name, each) for name, each in secrets)

    def has_secret(self, namespace: str, name: str) -> bool:
        """Return whether a secret is set."""
        return self._kv.get(keys.secret(namespace, name)) is not None

    def find(self, namespace: str, name: str) -> StoredSecret | None:
        """Return a secret as it is stored, None when it is not set."""
        item = self._kv.get(keys.secret(namespace, name))
        return read_secret(name, item) if item else None

    def read_value(self, namespace: str, name: str) -> str | None:
        """Return the value that the host puts into a request, None when it is not set.

        An access token is returned as it is, whether it has ended or not. Errors as `reveal_value`.
        """
        secret = self.find(namespace, name)
        return reveal_value(name, secret) if secret else None

    def change_sign_in(
        self, namespace: str, name: str, decide: Callable[[StoredSecret], StoredSecret | None]
    ) -> StoredSecret | None:
        """Change a secret that has a sign-in, by compare-and-set, and return it as it is then.

        `decide` returns what it becomes, None for no change. None when there is no such secret.
        """

        def change(body: bytes | None) -> tuple[bytes | None, StoredSecret | None]:
            if body is None:
                return None, None
            known = parse_secret(name, body)
            if known.sign_in is None:
                return None, None
            changed = decide(known)
            if changed is None:
                return None, known
            return dumps(changed), changed

        return update(self._kv, keys.secret(namespace, name), change)


def reveal_value(name: str, secret: StoredSecret) -> str:
    """Return the value that the host puts into a request.

    Raises `BackendError` when it cannot be read, `Refused` EPERM for a value from elsewhere that is
    too short or has several lines. An authorization server wrote an access token, so it names no
    place in AWS, whatever it looks like.
    """
    value = secret.value if secret.sign_in else reveal(secret.value)
    if len(value) < SHORTEST or not _VALUE.fullmatch(value):
        raise Refused(
            "EPERM",
            f"the secret {name} has fewer than {SHORTEST} characters, or more than one line",
        )
    return value


def read_secret(name: str, item: Item) -> StoredSecret:
    """Return a secret as it is stored; `BackendError` EDAMAGED when it cannot be read."""
    return parse_secret(name, item.value)


def parse_secret(name: str, body: bytes) -> StoredSecret:
    """Return the secret that was stored as `body`; errors as `read_secret`."""
    try:
        return _SECRET.read(body)
    except ValueError:
        raise damaged(
            "the secret cannot be read",
            source=name,
            suggestion=f"set it again: `sigil secret set {name}`",
        ) from None


def _make_row(name: str, secret: StoredSecret) -> SecretRow:
    row: SecretRow = {"secret": name, "at": secret.at, "by": secret.by}
    if secret.sign_in:
        row["server"] = secret.sign_in.server
        row["renews"] = bool(secret.sign_in.refresh_token)
        if secret.sign_in.expires_at:
            row["ends"] = secret.sign_in.expires_at
    return row


def author_of(caller: Caller) -> str:
    """Return the author of a change, as the rows show it."""
    if caller.deployer:
        return f"the token {caller.token}"
    return caller.session or "an owner"
