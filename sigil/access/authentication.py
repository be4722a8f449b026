"""Every server checks bearer tokens here, and how often a token may ask and an address may guess.

Rates are token buckets in this process's memory, one for each key.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from sigil.access.tokens import (
    PREFIX,
    TokenHolder,
    TokenResolver,
    is_well_typed,
    mistyped_token,
)
from sigil.catalog.owner import ADMIN
from sigil.errors import Refused

RATE, TRIES = 600, 60
"""Requests a minute for each token but the admin's; wrong tokens a minute from each address."""
GOOD_MOST = 4_096
"""Tokens that were good the last time, by their hash: an address that has used up its tries is
asked for no others.
"""
GUESSABLE_CHARACTERS = 20
"""An admin token shorter than this could be guessed, so an address that has used up its tries is
not even compared with it.
"""


class Authenticator:
    """Tells who may enter. `admin`: the admin token; with an empty one nobody enters. `tokens`:
    opens the other tokens, None for none.

    An address that has used up its tries is let in with tokens alone that were good in this process
    before: no other is looked up.

    `agent`: the admin's namespace. `rate`: requests a minute for each other token. Counts are this
    process's own.
    """

    def __init__(
        self,
        admin: str,
        tokens: Callable[[], TokenResolver] | None = None,
        agent: str = "main",
        rate: float = RATE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._closed = not admin
        self._guessable = len(admin) < GUESSABLE_CHARACTERS
        self._admin = _hash(admin.encode())
        self._holder = TokenHolder(ADMIN, "admin", agent)
        self._tokens = tokens
        self._rates = RateLimiter(rate, clock)
        self._tries = RateLimiter(TRIES, clock)
        self._good: OrderedDict[bytes, None] = OrderedDict()
        self._lock = threading.Lock()

    def find_admin(self, authorization: str, address: str) -> TokenHolder | None:
        """The admin, when this header shows the admin token; asks no store, so that it may be
        called anywhere.
        """
        given = _bearer(authorization)
        if (
            self._closed
            or not given
            or (self._guessable and self._tries.is_exhausted(_place(address)))
        ):
            return None
        return self._holder if hmac.compare_digest(_hash(given), self._admin) else None

    def admit(self, authorization: str, address: str) -> TokenHolder:
        """Return whose token the header `Authorization` shows; `address` is the client's.

        `Refused` EAUTH (missing, wrong, mistyped, revoked, expired) or ERATE with the seconds to
        wait.
        """
        admin = self.find_admin(authorization, address)
        if admin:
            return admin
        given = _bearer(authorization)
        if self._closed or not given:
            raise self._missing()
        holder = self._other(given.decode("latin-1"), _place(address))
        wait = self._rates.take(holder.id)
        if wait:
            raise Refused(
                "ERATE",
                "this token asks too often",
                source="http",
                suggestion="wait, and ask less often",
                retry_after=wait,
            )
        return holder

    def rate_left(self, holder: TokenHolder) -> RateLeft | None:
        """Return how much of its rate a token has left; None for the admin, who has none."""
        return None if holder.kind == ADMIN else self._rates.left(holder.id)

    def _other(self, given: str, place: str) -> TokenHolder:
        known = _hash(given.encode("utf-8", "replace"))
        if self._tries.is_exhausted(place) and known not in self._good:
            raise self._guessing(self._tries.take(place))  # without a look into the store
        try:
            holder = self._asked(given)
        except Refused:
            self._remember(known, good=False)
            wait = self._tries.take(place)
            if wait:
                raise self._guessing(wait) from None
            raise
        self._remember(known, good=True)
        return holder

    def _asked(self, given: str) -> TokenHolder:
        if is_well_typed(given) and self._tokens:
            return self._tokens().find_holder(given)
        raise (
            mistyped_token()
            if given.startswith(PREFIX) and not is_well_typed(given)
            else self._missing()
        )

    def _remember(self, known: bytes, *, good: bool) -> None:
        with self._lock:
            self._good.pop(known, None)
            if good:
                self._good[known] = None
            if len(self._good) > GOOD_MOST:
                self._good.popitem(last=False)

    def _guessing(self, wait: float) -> Refused:
        message = "too many wrong tokens from this address"
        return Refused(
            "ERATE",
            message,
            source="http",
            suggestion="check the token, and wait",
            retry_after=max(wait, 0.001),
        )

    def _missing(self) -> Refused:
        if self._closed:
            return Refused(
                "EAUTH",
                "no token is set, so the API is closed",
                source="http",
                suggestion="set UNCAGED_TOKEN",
            )
        message = "the bearer token is missing or wrong"
        return Refused(
            "EAUTH", message, source="http", suggestion="send `Authorization: Bearer TOKEN`"
        )


def require_admin(holder: TokenHolder, what: str) -> None:
    """`Refused` with EPERM unless it is the admin."""
    if holder.kind != "admin":
        raise Refused(
            "EPERM",
            f"only the admin token {what}",
            source="http",
            suggestion="ask whoever keeps the registry",
        )


def _bearer(authorization: str) -> bytes:
    """The token of the header, as the bytes that came: ASGI hands them over as Latin-1."""
    scheme, _, given = authorization.partition(" ")
    return given.strip().encode("latin-1", "replace") if scheme.lower() == "bearer" else b""


def _hash(value: bytes) -> bytes:
    return hashlib.sha256(value).digest()


def _place(address: str) -> str:
    """Return whose tries they are: an IPv4 address, or the /64 that one subscriber has of IPv6."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return ""
    return (
        str(parsed)
        if parsed.version == 4
        else str(ipaddress.ip_network(f"{parsed}/64", strict=False))
        if not parsed.scope_id
        else ""
    )


BUCKETS_MOST = 10_000


class RateLeft(NamedTuple):
    """What a key may still do: `most` a minute, `left` of them at once, and the whole of it again
    in `seconds`.
    """

    most: int
    left: int
    seconds: int


class RateLimiter:
    """At most `per_minute` a minute for each key, and as many at once after a quiet minute. Each
    process counts for itself.

    The bucket of the key that was asked about longest ago makes room for a new one; by then it is
    mostly full again. Thread-safe.
    """

    def __init__(self, per_minute: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = per_minute
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, key: str) -> float:
        """Take one: 0 when there was one, else the seconds until there is."""
        with self._lock:
            left, now = self._left(key)
            missing = 1.0 - left
            self._buckets[key] = (left if missing > 0 else left - 1.0, now)
            self._buckets.move_to_end(key)
            if len(self._buckets) > BUCKETS_MOST:
                self._buckets.popitem(last=False)
        return missing * 60.0 / self._most if missing > 0 else 0.0

    def is_exhausted(self, key: str) -> bool:
        """Return whether `take` would have to wait; takes nothing."""
        with self._lock:
            return self._left(key)[0] < 1.0

    def left(self, key: str) -> RateLeft:
        """Return how much there is for a key; takes nothing."""
        with self._lock:
            left, _ = self._left(key)
        return RateLeft(
            int(self._most), int(left), math.ceil((self._most - left) * 60.0 / self._most)
        )

    def _left(self, key: str) -> tuple[float, float]:
        now = self._clock()
        left, then = self._buckets.get(key, (self._most, now))
        return min(self._most, left + (now - then) * self._most / 60.0), now
