"""Put a Redis server's failures in words: what happened, and what helps.

The client's and the server's own texts stay out.
"""

from __future__ import annotations

import re
import socket
import ssl

import redis

from sigil.errors import BackendError

_AGAIN = "try again in a moment"
_OR_TLS = "; a server that wants TLS is named rediss://, one that does not redis://"
_REACH = "check that it runs and that UNCAGED_STORE names the right host and port"
_TRUST = (
    "name the authority's certificate with ?ssl_ca_certs=FILE, or use the host name that the"
    " certificate was made for"
)

_KINDS: tuple[tuple[type[BaseException], str, str], ...] = (
    (ssl.SSLCertVerificationError, "its certificate is not trusted", _TRUST),
    (
        ssl.SSLError,
        "no TLS connection could be made",
        "check whether it speaks TLS (rediss://) or not (redis://)",
    ),
    (FileNotFoundError, "its socket or a certificate file does not exist", _REACH),
    (
        PermissionError,
        "its socket or a certificate file may not be used by this user",
        "check who may read and write it",
    ),
    (ConnectionRefusedError, "no server answers there", _REACH),
    (socket.gaierror, "its host is unknown", _REACH),
    (
        redis.AuthenticationError,
        "it refused the user or the password",
        "check both in UNCAGED_STORE",
    ),
    (
        redis.exceptions.NoPermissionError,
        "this user may not do what a store needs",
        "allow it ~uncaged:* and +@all -@dangerous +info",
    ),
    (redis.BusyLoadingError, "it is still loading its data", _AGAIN),
    (redis.ReadOnlyError, "it is a replica that only reads", "point UNCAGED_STORE at the primary"),
    (redis.OutOfMemoryError, "its memory is full", "raise its maxmemory, or free some"),
    (redis.exceptions.AskError, "it is one server of a cluster", "add ?cluster=1 to UNCAGED_STORE"),
    (redis.exceptions.MasterDownError, "its primary is down", _AGAIN),
    (redis.exceptions.ClusterDownError, "its cluster is down", _AGAIN),
    (redis.exceptions.SlotNotCoveredError, "a part of its cluster is missing", _AGAIN),
    (
        redis.exceptions.RedisClusterException,
        "its cluster cannot be used",
        "check that it runs in cluster mode, or leave ?cluster=1 away",
    ),
    (
        redis.TimeoutError,
        "it does not answer in time; the command may still have been run",
        _AGAIN + _OR_TLS,
    ),
    (
        redis.ConnectionError,
        "the connection broke; the command may still have been run",
        _AGAIN + _OR_TLS,
    ),
)
_ANSWERS = {
    "MISCONF": ("it cannot write to its disk", "check its disk and its log"),
    "NOREPLICAS": ("too few of its replicas are there", _AGAIN),
    "BUSY": ("a script keeps it busy", _AGAIN),
    "NOAUTH": ("it wants a password", "put it into UNCAGED_STORE: redis://:PASSWORD@HOST"),
    "CROSSSLOT": ("it is one server of a cluster", "add ?cluster=1 to UNCAGED_STORE"),
    "WRONGTYPE": ("another program uses the same keys", "give the store a database of its own"),
}
"""The meanings by the first word of the server's answer."""
_LACKING = re.compile(
    r"unknown (?:redis |server |valkey )?command|wrong number of arg", re.IGNORECASE
)
_UPPER = re.compile(r"[A-Z]{2,20}")
_PASSING = (
    redis.ConnectionError,
    redis.TimeoutError,
    redis.ReadOnlyError,
    redis.exceptions.TryAgainError,
    redis.exceptions.ClusterDownError,
    redis.exceptions.SlotNotCoveredError,
)
_LASTING = (redis.AuthenticationError, redis.exceptions.AuthorizationError)

Problem = redis.RedisError | redis.exceptions.RedisClusterException


def is_passing(problem: Problem) -> bool:
    """Tell if the same may work right after: a broken connection, a server that is starting or
    moving.
    """
    if not isinstance(problem, _PASSING) or isinstance(problem, _LASTING):
        return False
    causes = _causes_of(problem)
    return not any(isinstance(cause, ssl.SSLCertVerificationError) for cause in causes)


def make_backend_error(name: str, problem: Problem) -> BackendError:
    """Return a failure of the server `name` in words."""
    what, suggestion = _explain(problem)
    return BackendError("EUNAVAILABLE", f"the store {name}: {what}", suggestion=suggestion)


def _explain(problem: Problem) -> tuple[str, str]:
    """Return what happened, and what helps."""
    text = str(problem)
    found = _UPPER.match(text)
    word = found.group() if found else ""
    if word in _ANSWERS:
        return _ANSWERS[word]
    if isinstance(problem, redis.AuthenticationError) and "required" in text.lower():
        return _ANSWERS["NOAUTH"]
    if _LACKING.search(text):
        return (
            "it lacks a command that a store needs",
            "use Redis 5 or newer, or Valkey, with scripts and sorted sets allowed",
        )
    if "invalid db index" in text.lower() or "db index is out of range" in text.lower():
        return "it has no database of that number", "check the number at the end of UNCAGED_STORE"
    causes = _causes_of(problem)
    for kind, what, suggestion in _KINDS:
        if any(isinstance(cause, kind) for cause in causes):
            return what, suggestion
    return f"it answered with an error ({word or type(problem).__name__})", "look into its log"


def _causes_of(problem: BaseException) -> list[BaseException]:
    """Return the exception and those that led to it, at most 8."""
    causes: list[BaseException] = []
    cause: BaseException | None = problem
    while cause is not None and len(causes) < 8:
        causes.append(cause)
        cause = cause.__cause__ or cause.__context__
    return causes
