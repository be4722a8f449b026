"""The address of a Redis server, taken apart; nothing of a password ever gets into a message."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from sigil.errors import UsageError

FORMS = "redis://[USER:PASSWORD@]HOST[:PORT][/DB], rediss://… (TLS) or unix:///PATH[?db=DB]"
_ESCAPED = "write / ? # @ and % in a user or password as %2F %3F %23 %40 %25"


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds < 3600:
        raise ValueError
    return seconds


def _flag(text: str) -> bool:
    return {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}[
        text.lower()
    ]


def _checks(text: str) -> str:
    if text not in {"required", "none"}:
        raise ValueError
    return text


def _number(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,5}", text):
        raise ValueError
    return int(text)


_OPTIONS: Mapping[str, Callable[[str], Any]] = {
    "cluster": _flag,
    "db": _number,
    "socket_connect_timeout": _seconds,
    "socket_timeout": _seconds,
    "ssl_ca_certs": str,
    "ssl_ca_path": str,
    "ssl_cert_reqs": _checks,
    "ssl_certfile": str,
    "ssl_check_hostname": _flag,
    "ssl_keyfile": str,
}
"""What may stand behind the `?`; all but `cluster` as redis-py names it."""


@dataclass(frozen=True, slots=True)
class RedisAddress:
    """Where the server is. `kind`: `redis`, `rediss` or `unix`; `name` is for messages; `options`
    are redis-py's, with the password.
    """

    kind: str
    name: str
    cluster: bool
    options: Mapping[str, Any] = field(repr=False)


def parse_redis_url(url: str) -> RedisAddress:
    """`url` taken apart; `UsageError` when it is none of `FORMS`, or asks for what a store does not
    know.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "localhost", parts.port or 6379
    except ValueError:
        raise _wrong("its host or port cannot be read", _ESCAPED) from None
    if parts.scheme not in {"redis", "rediss", "unix"}:
        raise _wrong("its beginning is unknown", f"use {FORMS}")
    options = {**_login(parts), **_asked(parts)}
    cluster = options.pop("cluster", False)
    if parts.scheme == "unix":
        options["path"] = unquote(parts.path)
    else:
        options |= {"host": host, "port": port, **_database(parts)}
    _fits(parts, options, cluster)
    name = (
        f"unix://{options['path']}"
        if parts.scheme == "unix"
        else f"{parts.scheme}://{f'[{host}]' if ':' in host else host}:{port}"
    )
    return RedisAddress(parts.scheme, name, cluster, options)


def _login(parts: SplitResult) -> dict[str, str]:
    given = {"username": parts.username, "password": parts.password}
    return {name: unquote(value) for name, value in given.items() if value}


def _asked(parts: SplitResult) -> dict[str, Any]:
    options = {}
    for name, text in parse_qsl(parts.query, keep_blank_values=True):
        if name not in _OPTIONS:
            raise _wrong(
                "it has an unknown option", f"the options are {', '.join(_OPTIONS)}; {_ESCAPED}"
            )
        try:
            options[name] = _OPTIONS[name](text)
        except (ValueError, KeyError):
            raise _wrong(f"its option {name} has a value that cannot be used") from None
    return options


def _database(parts: SplitResult) -> dict[str, int]:
    if not re.fullmatch(r"/?|/[0-9]{1,5}", parts.path):
        raise _wrong("what follows the host is no number of a database", _ESCAPED)
    return {"db": int(parts.path[1:])} if parts.path[1:] else {}


def _fits(parts: SplitResult, options: Mapping[str, Any], cluster: bool) -> None:
    if parts.fragment:
        raise _wrong("it holds a #", _ESCAPED)
    if parts.scheme != "rediss" and any(name.startswith("ssl_") for name in options):
        raise _wrong("its ssl_ options need TLS", "begin it with rediss://")
    if parts.scheme == "unix" and (cluster or not options["path"]):
        raise _wrong("a socket's path is needed, and a cluster has none", f"use {FORMS}")
    if cluster and options.get("db"):
        raise _wrong("a cluster has no databases", "leave the number away")


def _wrong(what: str, suggestion: str = "") -> UsageError:
    return UsageError(
        "ESETTING", f"the address of the Redis store cannot be used: {what}", suggestion=suggestion
    )
