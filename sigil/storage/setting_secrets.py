"""Secrets that a setting only names: read from AWS when needed, kept for five minutes, never
shown.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from functools import cache

from sigil.errors import BackendError, UsageError
from sigil.storage import aws

KEEP_SECONDS = 300.0
"""A rotated secret is known after that long."""


def reveal(value: str) -> str:
    """What a setting's value stands for, remembered by this process.

    `ssm:NAME` is a parameter of the Parameter Store (decrypted), `secretsmanager:NAME` a secret,
    `secretsmanager:NAME#KEY` a field of one that is a JSON object; anything else is itself.
    `BackendError` names what cannot be read, never its value.
    """
    return _shared().reveal(value)


def known(value: str) -> str:
    """What a setting's value stands for, as far as this process knows already: nothing is asked,
    and empty is not known.
    """
    return _shared().known(value)


class SecretReferences:
    """Remembers what it has read for `KEEP_SECONDS` of `clock`, which gives seconds from
    anywhere.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._known: dict[str, tuple[str, float]] = {}

    def reveal(self, value: str) -> str:
        """As the function `reveal`."""
        kind, colon, name = value.partition(":")
        reader = _READERS.get(kind) if colon else None
        if reader is None:
            return value
        if not name:
            raise UsageError(
                "ESETTING", f"{kind}: names no secret", suggestion=f"write {kind}:NAME"
            )
        with self._lock:  # many threads ask at once when it is due; one of them reads
            found, until = self._known.get(value, ("", 0.0))
            if self._clock() >= until:
                found = reader(name)
                self._known[value] = found, self._clock() + KEEP_SECONDS
            return found

    def known(self, value: str) -> str:
        """As the function `known`."""
        kind, colon, _ = value.partition(":")
        if not colon or kind not in _READERS:
            return value
        with self._lock:
            return self._known.get(value, ("", 0.0))[0]


def _parameter(name: str) -> str:
    with aws.plainly(f"parameter {name}"):
        return str(
            aws.client("ssm").get_parameter(Name=name, WithDecryption=True)["Parameter"]["Value"]
        )


def _secret(name: str) -> str:
    identity, _, key = name.partition("#")
    with aws.plainly(f"secret {identity}"):
        text = aws.client("secretsmanager").get_secret_value(SecretId=identity).get("SecretString")
    if text is None:
        raise _unfit(identity, "it is binary", "store it as text")
    return _field(identity, str(text), key) if key else str(text)


def _field(identity: str, text: str, key: str) -> str:
    try:
        table = json.loads(text)
    except (ValueError, RecursionError):
        table = None
    if not isinstance(table, dict):
        raise _unfit(
            identity, "it is no JSON object", f"name it without #{key}, or store an object"
        )
    if not isinstance(table.get(key), str):
        raise _unfit(identity, f"it has no text under {key!r}", "check the name after #")
    return str(table[key])


def _unfit(identity: str, why: str, help_: str) -> BackendError:
    return BackendError("EUNAVAILABLE", f"secret {identity}: {why}", source="aws", suggestion=help_)


_READERS = {"ssm": _parameter, "secretsmanager": _secret}


@cache
def _shared() -> SecretReferences:
    return SecretReferences()
