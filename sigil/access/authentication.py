"""Every server checks bearer tokens here, how often a token may ask, and an address may guess.

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

RATE = 600
"""Requests a minute for each token but the admin's."""
TRIES = 60
"""Wrong tokens a minute from each address."""
GOOD_MOST = 4_096
"""Tokens whose hashes are remembered because they were good the last time.

From an address that has used up its tries, no others are looked up.
"""
GUESSABLE_CHARACTERS = 20
"""An admin token shorter than this could be guessed.

So a token from an address that has used up its tries is not even compared with it.
"""
BUCKETS_MOST = 10_000


class Authenticator:
    """Finds the holder of the bearer token of a request. The counts are this process's own.

    `admin` is the admin token; with an empty one nobody enters. `tokens` opens the store of the
    other tokens, None for none. `agent` is the admin's namespace, and `rate` the requests a minute
    for each other token.

    From an address that has used up its tries, only tokens enter that were good in this process
    before: no other is looked up.
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

    @property
    def admin_proof(self) -> str:
        """Return what shows, without the admin token itself, that it was known; empty without a
        token. It changes with the token.
        """
        return "" if self._closed else _hash(b"proof:" + self._admin).hex()

    def is_admin_proof(self, proof: str) -> bool:
        """Return whether a proof is that of the admin token of now."""
        known = self.admin_proof
        return bool(known) and hmac.compare_digest(known, proof)

    def find_admin(self, authorization: str, address: str) -> TokenHolder | None:
        """Return the admin when the header shows the admin token, else None.

        It asks no store, so it may be called anywhere.
        """
        token = _bearer_token(authorization)
        if self._closed or not token:
            return None
        if self._guessable and self._tries.is_exhausted(find_network(address)):
            return None
        return self._holder if hmac.compare_digest(_hash(token), self._admin) else None

    def admit(self, authorization: str, address: str) -> TokenHolder:
        """Return the holder of the token in the header `Authorization`; `address` is the client's.

        Raises `Refused` EAUTH when the token is missing, wrong, mistyped, revoked or expired, and
        ERATE with the seconds to wait.
        """
        admin = self.find_admin(authorization, address)
        if admin:
            return admin
        token = _bearer_token(authorization)
        if self._closed or not token:
            raise self._missing_token()
        holder = self._find_holder(token.decode("latin-1"), find_network(address))
        wait = self._rates.take(holder.id)
        if wait:
            raise Refused(
                "ERATE",
                "too many requests with this token",
                source="http",
                suggestion="wait, and send fewer requests",
                retry_after=wait,
            )
        return holder

    def rate_left(self, holder: TokenHolder) -> RateLeft | None:
        """Return how much of its rate a token has left; None for the admin, who has none."""
        return None if holder.kind == ADMIN else self._rates.left(holder.id)

    def _find_holder(self, token: str, network: str) -> TokenHolder:
        """Return the holder of a token other than the admin's, and count a wrong one."""
        hash_ = _hash(token.encode("utf-8", "replace"))
        if self._tries.is_exhausted(network) and hash_ not in self._good:
            raise _too_many_tries(self._tries.take(network))  # without a look into the store
        try:
            if not is_well_typed(token) or not self._tokens:
                is_ours = token.startswith(PREFIX) and not is_well_typed(token)
                raise mistyped_token() if is_ours else self._missing_token()
            holder = self._tokens().find_holder(token)
        except Refused:
            self._remember(hash_, is_good=False)
            wait = self._tries.take(network)
            if wait:
                raise _too_many_tries(wait) from None
            raise
        self._remember(hash_, is_good=True)
        return holder

    def _remember(self, hash_: bytes, *, is_good: bool) -> None:
        """Remember a token that was good, and forget one that was not."""
        with self._lock:
            self._good.pop(hash_, None)
            if is_good:
                self._good[hash_] = None
            if len(self._good) > GOOD_MOST:
                self._good.popitem(last=False)

    def _missing_token(self) -> Refused:
        if self._closed:
            return Refused(
                "EAUTH",
                "no token is set, so the API is closed",
                source="http",
                suggestion="set UNCAGED_TOKEN",
            )
        return Refused(
            "EAUTH",
            "the bearer token is missing or wrong",
            source="http",
            suggestion="send `Authorization: Bearer TOKEN`",
        )


def require_admin(holder: TokenHolder, action: str) -> None:
    """Raise `Refused` EPERM unless the holder is the admin.

    `action` continues the sentence "only the admin token …".
    """
    if holder.kind != ADMIN:
        raise Refused(
            "EPERM",
            f"only the admin token {action}",
            source="http",
            suggestion="ask an administrator of the registry",
        )


def _too_many_tries(wait: float) -> Refused:
    return Refused(
        "ERATE",
        "too many wrong tokens from this address",
        source="http",
        suggestion="check the token, and wait",
        retry_after=max(wait, 0.001),
    )


def _bearer_token(authorization: str) -> bytes:
    """Return the token of the header as the bytes that came: ASGI decodes them as Latin-1."""
    scheme, _, token = authorization.partition(" ")
    return token.strip().encode("latin-1", "replace") if scheme.lower() == "bearer" else b""


def _hash(value: bytes) -> bytes:
    return hashlib.sha256(value).digest()


def find_network(address: str) -> str:
    """Return the network whose tries are counted together, empty for an unknown one.

    It is an IPv4 address, or the /64 that one subscriber has of IPv6.
    """
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return ""
    if parsed.version == 4:
        return str(parsed)
    if parsed.scope_id:
        return ""
    return str(ipaddress.ip_network(f"{parsed}/64", strict=False))


class RateLeft(NamedTuple):
    """The rate of a key: `most` a minute, `left` of them now, and all of them in `seconds`."""

    most: int
    left: int
    seconds: int


class RateLimiter:
    """Lets each key do `per_minute` things a minute, and as many at once after a quiet minute.

    Each process counts for itself. The bucket of the key that was asked about longest ago makes
    room for a new one; by then it is mostly full again. Thread-safe.
    """

    def __init__(self, per_minute: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = per_minute
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, key: str) -> float:
        """Take one, and return 0; when there is none, return the seconds until there is."""
        with self._lock:
            left, now = self._count_left(key)
            missing = 1.0 - left
            self._buckets[key] = (left if missing > 0 else left - 1.0, now)
            self._buckets.move_to_end(key)
            if len(self._buckets) > BUCKETS_MOST:
                self._buckets.popitem(last=False)
        return missing * 60.0 / self._most if missing > 0 else 0.0

    def is_exhausted(self, key: str) -> bool:
        """Return whether `take` would have to wait; nothing is taken."""
        with self._lock:
            return self._count_left(key)[0] < 1.0

    def left(self, key: str) -> RateLeft:
        """Return how much there is for a key; nothing is taken."""
        with self._lock:
            left, _ = self._count_left(key)
        seconds = math.ceil((self._most - left) * 60.0 / self._most)
        return RateLeft(int(self._most), int(left), seconds)

    def _count_left(self, key: str) -> tuple[float, float]:
        now = self._clock()
        left, then = self._buckets.get(key, (self._most, now))
        return min(self._most, left + (now - then) * self._most / 60.0), now
