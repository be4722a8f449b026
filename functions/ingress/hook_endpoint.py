"""Takes what programs outside post to hooks.

A post becomes one event, which is all that is stored of it: its id comes from the sender's own name
of the delivery, so that the queue and the session know one that they have had.
"""

from __future__ import annotations

import hmac
import re
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from itertools import count
from typing import Final

from functions.events import HOOK_SENDER, Event, Sender, order_of
from functions.hooks import NOBODY, Hook, Hooks, digest_token
from sigil.access.authentication import RateLimiter, find_network
from sigil.errors import Refused, UsageError, one_line
from sigil.protocol import Json

BODY_BYTES: Final = 64 * 1024
TYPE_CHARACTERS: Final = 100
PER_MINUTE: Final = 120
"""The posts that a hook takes in a minute, and at once after a quiet minute."""
TRIES: Final = 60
"""Wrong tokens a minute from each address."""
NO_DIGEST: Final = "0" * 64
_DELIVERY: Final = re.compile(r"[!-~]{1,200}", re.ASCII)
_BINARY: Final = re.compile("[\x00-\x06\x0e-\x1a\x1c-\x1f\x7f]")
_NUMBERS = count()


@dataclass(frozen=True, slots=True)
class HookPost:
    """What was posted: its text and media type, and its sender's own name of the delivery, empty
    for none.
    """

    text: str
    type: str = ""
    delivery: str = ""


@dataclass(frozen=True, slots=True)
class Proof:
    """What a sender shows: a token, or without one the signature of the body, as GitHub makes it
    (`sha256=` and hexadecimal digits).
    """

    token: str = ""
    signature: str = ""
    body: bytes = b""

    @property
    def is_shown(self) -> bool:
        """Return whether there is anything to check."""
        return bool(self.token or self.signature)

    @property
    def is_signature(self) -> bool:
        """Return whether the body has to be read before anything is known of its sender."""
        return not self.token and bool(self.signature)

    def make_digest(self, key: str) -> bytes:
        """Return what is compared: the digest of the token, or of the body under a key."""
        if self.is_signature:
            return hmac.new(key.encode(), self.body, "sha256").hexdigest().encode()
        return digest_token(self.token).encode()

    def find_expected(self, digest: str) -> bytes:
        """Return what that has to be, where the hook has this digest."""
        if not self.is_signature:
            return digest.encode()
        return self.signature.removeprefix("sha256=").encode(errors="replace")


class HookEndpoint:
    """Takes what is posted to the hooks of a root; `put` puts an event into the queue.

    `may_work` says whether an event may be worked on for the person on whose behalf it is. The
    counts of posts and of wrong tokens are this process's own. From an address that has shown too
    many wrong ones, only tokens are looked up that were good in this process before.
    """

    def __init__(
        self,
        hooks: Hooks,
        put: Callable[[Event], None],
        now: Callable[[], float],
        may_work: Callable[[Event], bool] = lambda _: True,
    ) -> None:
        self._hooks = hooks
        self._put = put
        self._now = now
        self._may_work = may_work
        self._rates = RateLimiter(PER_MINUTE)
        self._tries = RateLimiter(TRIES)
        self._good: set[str] = set()

    def admit(self, name: str, proof: Proof, address: str) -> Hook:
        """Return the hook whose token or signature this is.

        `Refused` EAUTH for a wrong one and for a name that does not exist, which nobody can tell
        apart; ERATE for too many posts; `UsageError` EGONE for a hook that takes nothing.
        """
        network = find_network(address)
        if self._tries.is_exhausted(network) and digest_token(proof.token) not in self._good:
            raise _too_many("wrong tokens from this address", self._tries.take(network))
        hook = self._hooks.find(name) if proof.is_shown else None
        expected = hook.digest if hook else NO_DIGEST
        # how long it takes to compare digests tells nothing of the token
        is_right = hmac.compare_digest(proof.make_digest(expected), proof.find_expected(expected))
        if not (hook and is_right and hook.signed == proof.is_signature):
            self._tries.take(network)
            raise Refused(
                "EAUTH",
                "the hook's token is missing or wrong",
                source="hook",
                suggestion="send `Authorization: Bearer TOKEN` or `X-Hook-Token: TOKEN`",
            )
        if proof.token:
            self._good.add(digest_token(proof.token))
        if hook.paused:
            raise _gone(hook.paused)
        wait = self._rates.take(hook.id)
        if wait:
            raise _too_many("posts to this hook", wait)
        return hook

    def accept(self, hook: Hook, post: HookPost) -> Event:
        """Put the event of a post into the queue; it is durable when this returns."""
        event = make_event(hook, post, self._now())
        if not self._may_work(event):
            self._hooks.pause(hook.name, NOBODY)
            raise _gone(NOBODY)
        self._put(event)
        return event


def make_event(hook: Hook, post: HookPost, now: float) -> Event:
    """Return the event of a post: the same delivery makes the same id."""
    digest = sha256(post.delivery.encode()).hexdigest()[:32] if post.delivery else uuid.uuid4().hex
    data: dict[str, Json] = {"hook": hook.name, "from": f"hook {hook.name}", "type": post.type}
    if hook.text:
        data["note"] = hook.text
    if hook.session:
        data["home"] = hook.session
    return Event(
        id=f"mail:{hook.agent}:hook-{hook.id}:{digest}",
        kind="mail",
        agent=hook.agent,
        session=hook.own_session,
        sender=Sender(f"{HOOK_SENDER}{hook.name}", hook.name),
        text=post.text,
        at=now,
        order=order_of(now, next(_NUMBERS)),
        private=True,
        language=hook.language,
        by=hook.by,
        data=data,
    )


def read_proof(headers: Mapping[str, str]) -> Proof:
    """Return what a request shows: the token in `Authorization` or `X-Hook-Token`, none when they
    differ; or the signature in `X-Hub-Signature-256`.
    """
    scheme, _, bearer = headers.get("authorization", "").partition(" ")
    shown = {bearer.strip()} if scheme.lower() == "bearer" else set()
    if "x-hook-token" in headers:
        shown.add(headers["x-hook-token"].strip())
    if shown:
        return Proof(shown.pop() if len(shown) == 1 else "")
    return Proof(signature=headers.get("x-hub-signature-256", ""))


def require_text_type(headers: Mapping[str, str]) -> None:
    """Raise `UsageError` EMEDIA for a body that says that it is no text, or packed, before it is
    read.
    """
    kind, _, parameters = headers.get("content-type", "").lower().partition(";")
    charset = re.search(r"charset=\"?([^\s;\"]*)", parameters)
    packed = headers.get("content-encoding", "identity").strip().lower()
    is_binary = kind.strip().startswith(("image/", "audio/", "video/", "font/"))
    is_other = charset and charset[1] not in ("utf-8", "utf8", "us-ascii")
    if is_binary or is_other or packed not in ("", "identity"):
        raise _not_text()


def read_post(headers: Mapping[str, str], body: bytes) -> HookPost:
    """Return what was posted; `UsageError` EMEDIA for what is no text."""
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _not_text() from None
    if _BINARY.search(text):
        raise _not_text()
    delivery = headers.get("x-github-delivery") or headers.get("idempotency-key") or ""
    if delivery and not _DELIVERY.fullmatch(delivery):
        raise UsageError(
            "EINVAL", "the name of a delivery has 1 to 200 visible ASCII characters", source="hook"
        )
    kind = headers.get("x-github-event") or headers.get("content-type", "").partition(";")[0]
    return HookPost(text, one_line(kind.strip(), TYPE_CHARACTERS) or "post", delivery)


def _gone(why: str) -> UsageError:
    return UsageError(
        "EGONE",
        f"this hook takes nothing any more: {why}",
        source="hook",
        suggestion="its owner can give it a new token",
    )


def _not_text() -> UsageError:
    return UsageError("EMEDIA", "a hook takes text or JSON in UTF-8, not compressed", source="hook")


def _too_many(what: str, wait: float) -> Refused:
    return Refused(
        "ERATE",
        f"too many {what}",
        source="hook",
        suggestion="wait, and send it again",
        retry_after=max(wait, 0.001),
    )
