"""The access tokens of MCP servers, renewed before they end and after a server refused one.

A refresh token may be good for one use only, and its second use may end the whole sign-in. So a
process writes into the secret that it renews it, by compare-and-set, before it asks; all others
wait for the token that it writes, or for the end of their own time.

A request for a new token goes on when the time of the call that began it is over: the answer that
nobody waits for would have been the only one that holds the next refresh token.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from math import inf

from sigil.access.secret_store import SecretStore, StoredSecret, reveal_value
from sigil.access.sign_in import SignIn, ended_sign_in, server_of_secret
from sigil.errors import BackendError, Refused, SigilError, ToolError
from sigil.manifest.permission_rules import SecretRule
from sigil.network.exchange import WebTransport
from sigil.network.urls import Target
from sigil.run.mcp_client.oauth import (
    OAuthExchange,
    SignInRefused,
    Tokens,
    refresh_tokens,
    schedule_renewal,
)

REQUEST_SECONDS = 8.0
CLAIM_SECONDS = 12.0
"""A process that has not written a new token by then has ended, or will not."""
LOOK_SECONDS = 0.1
STORE_TRIES = 20
EARLY_SECONDS = 2.0
"""A call waits so long for a renewal while the token that it has is still good."""
RENEWALS_MOST = 8
"""Renewals of one process at a time."""


@dataclass(frozen=True, slots=True)
class _Claim:
    """The outcome of an attempt to be the one who renews: a good token, or the sign-in that is to
    be renewed; neither while another process renews it. `usable` is the token that may be sent
    meanwhile, empty when there is none.
    """

    token: str = ""
    sign_in: SignIn | None = None
    usable: str = ""


class Renewals:
    """The renewals that are under way in this process, each in a thread of its own."""

    def __init__(self) -> None:
        self._pool = _open_pool()

    def run(self, renew: Callable[[], str], end: float) -> str | None:
        """Return what a renewal returns; None when that takes longer than until `end`.

        Then it goes on.
        """
        future = self._pool.submit(renew)
        try:
            return future.result(max(end - time.monotonic(), 0.0))
        except TimeoutError:
            if future.done():
                return future.result()
            return None

    def close(self) -> None:
        """Wait for the renewals that are under way: each is bounded. A later one may begin."""
        pool = self._pool
        self._pool = _open_pool()
        pool.shutdown()


def _open_pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(RENEWALS_MOST, thread_name_prefix="renewal")


class SignIns:
    """The secrets of a store, those that a sign-in renews among them."""

    def __init__(
        self,
        secret_store: SecretStore,
        web: Callable[[], WebTransport],
        clock: Callable[[], float] = time.time,
        renewals: Renewals | None = None,
    ) -> None:
        self._secrets = secret_store
        self._web = web
        self._clock = clock
        self._renewals = renewals or Renewals()

    def read_value(
        self, namespace: str, name: str, rules: Iterable[SecretRule] = (), end: float = inf
    ) -> str | None:
        """Return a secret's value, None when it is not set; an access token that is about to end is
        renewed first.

        `rules` say where it may go, `end` until when its caller waits, a time of the monotonic
        clock. Raises `ToolError` ETIMEDOUT when that is over and there is no token to be sent,
        `Refused` EPERM when an access token may go to another host than the one that it is for,
        whatever an owner granted; when the sign-in has ended, with the command; and what
        `reveal_value` raises.
        """
        secret = self._secrets.find(namespace, name)
        if secret is None:
            return None
        if secret.sign_in:
            target = Target.parse(secret.sign_in.server)
            if not all(rule.fits(target) for rule in rules):
                message = f"the secret {name} is a token for {target.authority} alone"
                raise Refused("EPERM", message, source=name)
        if secret.sign_in is None or not self._is_due(secret.sign_in):
            return reveal_value(name, secret)
        return self._renew(namespace, name, "", end)

    def replace_rejected(
        self, namespace: str, name: str, rejected: str, end: float = inf
    ) -> str | None:
        """Return another access token than the one that a server rejected, None for a secret that
        no sign-in renews. Errors as `read_value`.
        """
        secret = self._secrets.find(namespace, name)
        if secret is None or secret.sign_in is None:
            return None
        return self._renew(namespace, name, rejected, end)

    def _is_due(self, sign_in: SignIn) -> bool:
        return bool(sign_in.renew_at) and sign_in.renew_at <= self._clock()

    def _is_usable(self, secret: StoredSecret, rejected: str) -> bool:
        """Return whether the token may still be sent, renewed or not."""
        sign_in = secret.sign_in
        if sign_in is None or secret.value == rejected:
            return False
        return not sign_in.expires_at or sign_in.expires_at > self._clock()

    def _renew(self, namespace: str, name: str, rejected: str, end: float) -> str:
        """Return a token that is not `rejected`, and that is not about to end."""
        end = min(end, time.monotonic() + CLAIM_SECONDS + REQUEST_SECONDS)
        while True:
            claim = self._claim_renewal(namespace, name, rejected)
            if claim.token:
                return claim.token
            if claim.sign_in:
                until = min(end, time.monotonic() + EARLY_SECONDS) if claim.usable else end
                ask = partial(self._ask_for_token, namespace, name, rejected, claim.sign_in)
                token = self._renewals.run(ask, until) or claim.usable
                if token:
                    return token
            if time.monotonic() >= end:
                message = "the sign-in is being renewed, and that takes longer than this call may"
                raise ToolError(
                    "ETIMEDOUT",
                    message,
                    source=server_of_secret(name),
                    suggestion="try again in a moment",
                )
            time.sleep(LOOK_SECONDS)

    def _claim_renewal(self, namespace: str, name: str, rejected: str) -> _Claim:
        claim = _Claim()

        def decide(secret: StoredSecret) -> StoredSecret | None:
            nonlocal claim
            sign_in = secret.sign_in
            now = self._clock()
            claim = _Claim()
            if sign_in is None:
                return None
            is_usable = self._is_usable(secret, rejected)
            is_busy = sign_in.renewing_until > now
            # A claim that reaches further than any does is of a clock that was wrong.
            is_busy = is_busy and sign_in.renewing_until <= now + CLAIM_SECONDS
            if is_usable and (is_busy or not sign_in.refresh_token or not self._is_due(sign_in)):
                claim = _Claim(secret.value)
                return None
            if not sign_in.refresh_token:
                raise ended_sign_in(name, sign_in)
            if is_busy:
                return None
            claimed = replace(sign_in, renewing_until=now + CLAIM_SECONDS)
            claim = _Claim(sign_in=claimed, usable=secret.value if is_usable else "")
            return replace(secret, sign_in=claimed)

        if self._secrets.change_sign_in(namespace, name, decide) is None:
            raise ended_sign_in(name, None)
        return claim

    def _ask_for_token(self, namespace: str, name: str, rejected: str, sign_in: SignIn) -> str:
        """Return the token that the authorization server gives now, and store it."""
        try:
            exchange = OAuthExchange(self._web(), time.monotonic() + REQUEST_SECONDS)
            tokens = refresh_tokens(exchange, sign_in)
        except SigilError as problem:
            is_over = isinstance(problem, SignInRefused)
            released = replace(sign_in, renewing_until=0.0)
            if is_over:
                now = self._clock()
                ends = min(sign_in.expires_at or now, now) if rejected else sign_in.expires_at
                released = replace(released, refresh_token="", expires_at=ends)
            secret = self._store(namespace, name, sign_in, None, released)
            if secret and self._is_usable(secret, rejected):
                return secret.value
            if is_over:
                raise ended_sign_in(name, sign_in) from None
            problem.message = f"the sign-in cannot be renewed: {problem.message}"
            problem.args = (f"{problem.code}: {problem.message}",)
            raise
        for tried in range(1, STORE_TRIES + 1):
            try:
                secret = self._store(namespace, name, sign_in, tokens, sign_in)
                break
            except BackendError:
                # the refresh token that was used may be good no more: the new one must not be lost
                if tried == STORE_TRIES:
                    raise
                time.sleep(LOOK_SECONDS)
        return secret.value if secret else tokens.access

    def _store(
        self, namespace: str, name: str, used: SignIn, tokens: Tokens | None, after: SignIn
    ) -> StoredSecret | None:
        """Store the outcome of a renewal, unless somebody signed in anew meanwhile; return the
        secret as it is then.
        """
        if tokens:
            renew_at, expires_at = schedule_renewal(tokens, self._clock())
            after = replace(
                after,
                refresh_token=tokens.refresh or used.refresh_token,
                renew_at=renew_at,
                expires_at=expires_at,
                renewing_until=0.0,
            )

        def decide(secret: StoredSecret) -> StoredSecret | None:
            known = secret.sign_in
            if known is None or known.refresh_token != used.refresh_token:
                return None
            return replace(secret, value=tokens.access if tokens else secret.value, sign_in=after)

        return self._secrets.change_sign_in(namespace, name, decide)
