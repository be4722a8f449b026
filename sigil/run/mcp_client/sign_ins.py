"""The access tokens of MCP servers, renewed before they end and after a server refused one.

A refresh token may be good for one use only, and its second use may end the whole sign-in. So a
process writes into the secret that it renews it, by compare-and-set, before it asks; all others
wait for the token that it writes, or for the end of its time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from sigil.access.secret_store import SecretStore, StoredSecret, reveal_value
from sigil.access.sign_in import SignIn, ended_sign_in
from sigil.errors import BackendError, Refused, SigilError
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


@dataclass(frozen=True, slots=True)
class _Claim:
    """The outcome of an attempt to be the one who renews: a good token, or the sign-in that is to
    be renewed; neither while another process renews it.
    """

    token: str = ""
    sign_in: SignIn | None = None


class SignIns:
    """The secrets of a store, those that a sign-in renews among them."""

    def __init__(
        self,
        secret_store: SecretStore,
        web: Callable[[], WebTransport],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._secrets = secret_store
        self._web = web
        self._clock = clock

    def read_value(self, namespace: str, name: str, rules: Iterable[SecretRule] = ()) -> str | None:
        """Return a secret's value, None when it is not set; an access token that is about to end is
        renewed first.

        `rules` say where it may go. Raises `Refused` EPERM when an access token may go to another
        host than the one that it is for, whatever an owner granted; when the sign-in has ended,
        with the command; and what `reveal_value` raises.
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
        return self._renew(namespace, name, "")

    def replace_rejected(self, namespace: str, name: str, rejected: str) -> str | None:
        """Return another access token than the one that a server rejected, None for a secret that
        no sign-in renews. Errors as `read_value`.
        """
        secret = self._secrets.find(namespace, name)
        if secret is None or secret.sign_in is None:
            return None
        return self._renew(namespace, name, rejected)

    def _is_due(self, sign_in: SignIn) -> bool:
        return bool(sign_in.renew_at) and sign_in.renew_at <= self._clock()

    def _is_usable(self, secret: StoredSecret, rejected: str) -> bool:
        """Return whether the token may still be sent, renewed or not."""
        sign_in = secret.sign_in
        if sign_in is None or secret.value == rejected:
            return False
        return not sign_in.expires_at or sign_in.expires_at > self._clock()

    def _renew(self, namespace: str, name: str, rejected: str) -> str:
        """Return a token that is not `rejected`, and that is not about to end."""
        while True:
            claim = self._claim_renewal(namespace, name, rejected)
            if claim.token:
                return claim.token
            if claim.sign_in:
                return self._ask_for_token(namespace, name, rejected, claim.sign_in)
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
            claim = _Claim(sign_in=claimed)
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
