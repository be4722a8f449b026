"""Parse the address of a Redis server; nothing of a password ever gets into a message."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote, urlsplit

from sigil.errors import UsageError

FORMS = "redis://[USER:PASSWORD@]HOST[:PORT][/DB], rediss://… (TLS) or unix:///PATH[?db=DB]"
_ESCAPED = "write / ? # @ and % in a user or password as %2F %3F %23 %40 %25"


def _parse_seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds < 3600:
        raise ValueError
    return seconds


def _parse_flag(text: str) -> bool:
    if text.lower() in ("1", "true", "yes"):
        return True
    if text.lower() in ("0", "false", "no"):
        return False
    raise ValueError


def _parse_certificate_checks(text: str) -> str:
    if text not in {"required", "none"}:
        raise ValueError
    return text


def _parse_number(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,5}", text):
        raise ValueError
    return int(text)


_OPTIONS: Mapping[str, Callable[[str], object]] = {
    "cluster": _parse_flag,
    "db": _parse_number,
    "socket_connect_timeout": _parse_seconds,
    "socket_timeout": _parse_seconds,
    "ssl_ca_certs": str,
    "ssl_ca_path": str,
    "ssl_cert_reqs": _parse_certificate_checks,
    "ssl_certfile": str,
    "ssl_check_hostname": _parse_flag,
    "ssl_keyfile": str,
}
"""The options behind the `?` and their parsers; all but `cluster` have redis-py's names."""


@dataclass(frozen=True, slots=True)
class RedisAddress:
    """The address of a server.

    `kind`: `redis`, `rediss` or `unix`; `name` is for messages; `options` are redis-py's, with the
    password.
    """

    kind: str
    name: str
    cluster: bool
    options: Mapping[str, object] = field(repr=False)


def parse_redis_url(url: str) -> RedisAddress:
    """Return the address in `url`; `UsageError` ESETTING when it has none of `FORMS`, or an option
    that is not known.
    """
    try:
        parts = urlsplit(url)
        host = parts.hostname or "localhost"
        port = parts.port or 6379
    except ValueError:
        raise _make_invalid("its host or port cannot be read", _ESCAPED) from None
    if parts.scheme not in {"redis", "rediss", "unix"}:
        raise _make_invalid("its beginning is unknown", f"use {FORMS}")
    options: dict[str, object] = {}
    for option, text in parse_qsl(parts.query, keep_blank_values=True):
        if option not in _OPTIONS:
            raise _make_invalid(
                "it has an unknown option", f"the options are {', '.join(_OPTIONS)}; {_ESCAPED}"
            )
        try:
            options[option] = _OPTIONS[option](text)
        except ValueError:
            raise _make_invalid(f"its option {option} has a value that cannot be used") from None
    cluster = bool(options.pop("cluster", False))
    if parts.username:
        options["username"] = unquote(parts.username)
    if parts.password:
        options["password"] = unquote(parts.password)
    if parts.scheme == "unix":
        options["path"] = unquote(parts.path)
        name = f"unix://{options['path']}"
    else:
        options["host"] = host
        options["port"] = port
        if not re.fullmatch(r"/?|/[0-9]{1,5}", parts.path):
            raise _make_invalid("its path is not the number of a database", _ESCAPED)
        if parts.path[1:]:
            options["db"] = int(parts.path[1:])
        shown_host = f"[{host}]" if ":" in host else host
        name = f"{parts.scheme}://{shown_host}:{port}"
    if parts.fragment:
        raise _make_invalid("it holds a #", _ESCAPED)
    if parts.scheme != "rediss" and any(option.startswith("ssl_") for option in options):
        raise _make_invalid("its ssl_ options need TLS", "begin it with rediss://")
    if parts.scheme == "unix" and (cluster or not options["path"]):
        raise _make_invalid("a socket's path is needed, and a cluster has none", f"use {FORMS}")
    if cluster and options.get("db"):
        raise _make_invalid("a cluster has no databases", "leave the number out")
    return RedisAddress(parts.scheme, name, cluster, options)


def _make_invalid(what: str, suggestion: str = "") -> UsageError:
    return UsageError(
        "ESETTING", f"the address of the Redis store cannot be used: {what}", suggestion=suggestion
    )
