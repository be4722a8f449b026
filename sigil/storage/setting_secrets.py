"""Read the secrets that a setting only names: from AWS when needed, remembered for five minutes."""

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
    """Return the secret that a setting's value names, remembered by this process.

    `ssm:NAME` is a parameter of the Parameter Store (decrypted), `secretsmanager:NAME` a secret,
    `secretsmanager:NAME#KEY` a field of one that is a JSON object; anything else is itself.
    `BackendError` names what cannot be read, never its value.
    """
    return _shared_references().reveal(value)


def find_known(value: str) -> str:
    """Return the secret that a setting's value names if this process knows it already, else an
    empty text; AWS is not asked.
    """
    return _shared_references().find_known(value)


class SecretReferences:
    """The secrets that were read, remembered for `KEEP_SECONDS` of `clock`, which gives seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._known: dict[str, tuple[str, float]] = {}

    def reveal(self, value: str) -> str:
        """Return the secret, as the function `reveal` does."""
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

    def find_known(self, value: str) -> str:
        """Return the secret if it is known, as the function `find_known` does."""
        kind, colon, _ = value.partition(":")
        if not colon or kind not in _READERS:
            return value
        with self._lock:
            return self._known.get(value, ("", 0.0))[0]


def _read_parameter(name: str) -> str:
    with aws.explain_errors(f"parameter {name}"):
        answer = aws.client("ssm").get_parameter(Name=name, WithDecryption=True)
        return str(answer["Parameter"]["Value"])


def _read_secret(name: str) -> str:
    identity, _, key = name.partition("#")
    with aws.explain_errors(f"secret {identity}"):
        text = aws.client("secretsmanager").get_secret_value(SecretId=identity).get("SecretString")
    if text is None:
        raise _make_unusable(identity, "it is binary", "store it as text")
    if not key:
        return str(text)
    try:
        table = json.loads(str(text))
    except (ValueError, RecursionError):
        table = None
    if not isinstance(table, dict):
        raise _make_unusable(
            identity, "it is not a JSON object", f"name it without #{key}, or store an object"
        )
    if not isinstance(table.get(key), str):
        raise _make_unusable(identity, f"it has no text under {key!r}", "check the name after #")
    return str(table[key])


def _make_unusable(identity: str, why: str, suggestion: str) -> BackendError:
    message = f"secret {identity}: {why}"
    return BackendError("EUNAVAILABLE", message, source="aws", suggestion=suggestion)


_READERS = {"ssm": _read_parameter, "secretsmanager": _read_secret}


@cache
def _shared_references() -> SecretReferences:
    return SecretReferences()
