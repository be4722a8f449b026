"""Write and read the headers that say on whose behalf an agent asks.

Their values are percent-encoded UTF-8.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote, unquote

from sigil.errors import UsageError
from sigil.protocol import LIBRARY, Caller

NAMESPACE = "X-Sigil-Namespace"
SESSION = "X-Sigil-Session"
AUTHOR = "X-Sigil-Author"
OWNER = "X-Sigil-Owner"
VALUE_CHARACTERS = 500


def write_caller(caller: Caller) -> dict[str, str]:
    """Return the headers that describe `caller`."""
    values = {
        NAMESPACE: caller.namespace,
        SESSION: caller.session,
        AUTHOR: caller.author,
        OWNER: "1" if caller.owner else "0",
    }
    return {name: quote(value, safe="", errors="replace") for name, value in values.items()}


def read_caller(headers: Mapping[str, str], agent: str) -> Caller:
    """Return the caller that the headers name; without any, an owner at a shell in `agent`.

    Raises `UsageError` ECALLER when the headers make no sense.
    """
    namespace = _read_value(headers, NAMESPACE) or agent
    if namespace == LIBRARY or "~" in namespace:
        raise UsageError(
            "ECALLER", f"{NAMESPACE}: no caller may deploy to {namespace!r} or ask in its name"
        )
    author = _read_value(headers, AUTHOR, "person")
    if author not in ("person", "model"):
        raise UsageError("ECALLER", f"{AUTHOR} is person or model")
    model = author == "model"
    owner = not model
    if OWNER in headers:
        flag = _read_value(headers, OWNER)
        if flag not in ("0", "1"):
            raise UsageError("ECALLER", f"{OWNER} is 0 or 1")
        owner = flag == "1"
    session = _read_value(headers, SESSION)
    return Caller(namespace, session, owner, "model" if model else "person")


def _read_value(headers: Mapping[str, str], name: str, default: str = "") -> str:
    value = unquote(headers.get(name, default), errors="replace")
    if len(value) > VALUE_CHARACTERS:
        raise UsageError("ECALLER", f"{name}: at most {VALUE_CHARACTERS} characters")
    return value
