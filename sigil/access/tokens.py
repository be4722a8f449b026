"""Access tokens are shown once and kept as a hash, with a kind, scopes, an end and a last use.

A scope says what a token is good for: `run:*`, `run:alice/encode` or `deploy:alice/*`.
"""

from __future__ import annotations

import hashlib
import secrets
import string
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, Protocol

import orjson

from sigil.catalog.owner import ADMIN
from sigil.errors import BackendError, Refused, UsageError, one_line
from sigil.protocol import LIBRARY, Caller, is_name
from sigil.storage.kv import ABSENT, KV, Item, keys
from sigil.storage.kv.update import scan_all
from sigil.storage.stored import Shape, damaged

if TYPE_CHECKING:
    from sigil.rows import TokenRow, TokenUseRow

SCOPES_MOST = 50
EVERYTHING = "*"
_HELP = "such as run:*, run:alice/*, run:alice/encode or deploy:alice/*"


@dataclass(frozen=True, slots=True)
class Scope:
    """`VERB:TARGET`. `target`: `*`, `NAMESPACE/*` or `NAMESPACE/NAME`. What a token may deploy, it
    may run.
    """

    verb: str
    target: str

    @classmethod
    def parse(cls, text: str) -> Scope:
        """Read one scope; `UsageError` for anything that does not mean exactly one thing."""
        verb, colon, target = text.partition(":")
        namespace, slash, name = target.partition("/")
        whole = target == EVERYTHING and verb == "run"
        part = bool(slash) and is_name(namespace) and (name == EVERYTHING or is_name(name))
        if not colon or verb not in ("run", "deploy") or not (whole or part):
            raise UsageError(
                "EINVAL", f"no scope: {one_line(text, 80)!r}", source="keys", suggestion=_HELP
            )
        if verb == "deploy" and namespace == LIBRARY:
            raise UsageError(
                "EINVAL", "nobody deploys to the library", source="keys", suggestion=_HELP
            )
        return cls(verb, target)

    @property
    def text(self) -> str:
        return f"{self.verb}:{self.target}"

    @property
    def namespace(self) -> str:
        """The namespace that it is about, empty for all."""
        return "" if self.target == EVERYTHING else self.target.partition("/")[0]

    def covers(self, namespace: str, name: str) -> bool:
        """Return whether it is about this capability; the name `*` asks about all of them."""
        return self.target in (EVERYTHING, f"{namespace}/{EVERYTHING}", f"{namespace}/{name}")


def default_scopes(kind: str, namespace: str) -> tuple[str, ...]:
    """The scopes of a token that was asked for without any: all that its namespace sees, and for a
    deploy token all that is its own.
    """
    return (f"deploy:{namespace}/*", "run:*") if kind == "deploy" else ("run:*",)


def namespace_of(scopes: Sequence[str], given: str, agent: str) -> str:
    """The namespace of a token: the one given, else the one that it may deploy to or that all its
    scopes are about, else the agent's.
    """
    if len(scopes) > SCOPES_MOST:
        raise UsageError("EINVAL", f"at most {SCOPES_MOST} scopes", source="keys")
    read = [Scope.parse(scope) for scope in scopes]
    deploys = [scope for scope in read if scope.verb == "deploy"]
    named = {scope.namespace for scope in deploys or read} - {LIBRARY}
    namespace = given or (named.pop() if len(named) == 1 else "") or agent
    if given and not is_name(given):
        raise UsageError(
            "EINVAL",
            f"no namespace: {one_line(given, 80)!r}",
            source="keys",
            suggestion="lower-case words joined by hyphens",
        )
    return namespace


PREFIX = "sgl_"
SECRET_CHARACTERS, CHECK_CHARACTERS = 32, 6
"""190 bits of a token are random; the rest tells a mistyped one."""
USE_SECONDS = 60.0
KEEP_SECONDS = 30 * 86_400.0
"""How long a token that ended is still listed."""
LIFE_SECONDS = 10 * 365 * 86_400.0
NAME_CHARACTERS = 80
MOST = 1_000

Kind = Literal["admin", "deploy", "invoke"]
_LETTERS = string.digits + string.ascii_uppercase + string.ascii_lowercase


@dataclass(frozen=True, slots=True)
class TokenHolder:
    """Whoever shows a good token. `scopes` as they were given; the admin's reach everything."""

    id: str
    kind: Kind
    namespace: str
    name: str = ""
    scopes: tuple[str, ...] = ()
    created: float = 0.0
    expires: float | None = None

    def may_deploy(self, name: str) -> bool:
        """Return whether it may change the capability `name` of its own namespace; `*` asks about
        all of them.
        """
        reach = [Scope.parse(scope) for scope in self.scopes]
        return self.kind == ADMIN or any(
            scope.verb == "deploy" and scope.covers(self.namespace, name) for scope in reach
        )

    def to_caller(self) -> Caller:
        """Its holder as a registry sees them: a person without an owner's rights, in the token's
        own namespace.
        """
        only = tuple(dict.fromkeys(Scope.parse(scope).target for scope in self.scopes))
        return Caller(self.namespace, token=self.id, only=None if "*" in only else only)

    def row(self) -> TokenRow:
        """Return its row in a list of tokens."""
        return {
            "id": self.id,
            "kind": self.kind,
            "namespace": self.namespace,
            "name": self.name,
            "scopes": list(self.scopes),
            "created": self.created,
            "expires": self.expires,
        }


_HOLDER: Final = Shape[TokenHolder](TokenHolder)


class TokenResolver(Protocol):
    """Knows whose token is whose."""

    def find_holder(self, value: str) -> TokenHolder:
        """Return whose token it is; `Refused` with EAUTH when it is nobody's."""


@dataclass(frozen=True, slots=True)
class TokenRequest:
    """A token that somebody asks for. `seconds`: until it ends, None for never."""

    kind: str
    name: str = ""
    scopes: tuple[str, ...] = ()
    namespace: str = ""
    seconds: float | None = None


class Tokens:
    """The tokens of a store. A plain SHA-256 keeps them: they are random, so there is nothing that
    a slow hash would protect.
    """

    def __init__(self, kv: KV, clock: Callable[[], float] = time.time) -> None:
        self._kv = kv
        self._clock = clock

    def create(self, wish: TokenRequest, agent: str) -> tuple[str, TokenHolder]:
        """A new token, told this once, and its record. `agent`: the namespace when neither the wish
        nor its scopes name one.
        """
        holder, value = self._wanted(wish, agent), new_token()
        if sum(1 for _ in self._rows()) >= MOST:
            raise Refused(
                "EQUOTA",
                f"there are {MOST:,} tokens already",
                source="keys",
                suggestion="`sigil keys revoke ID`",
            )
        ttl = None if holder.expires is None else holder.expires - self._clock() + KEEP_SECONDS
        digest = _digest(value)
        self._kv.put(
            keys.token(digest),
            orjson.dumps(asdict(holder) | {"id": digest[:12]}),
            expect=ABSENT,
            ttl=ttl,
        )
        return value, read_holder(digest, self._kv.get(keys.token(digest)))

    def find_holder(self, value: str) -> TokenHolder:
        """Return whose token it is; `Refused` with EAUTH when it is unknown, revoked or has ended.
        Its use is noted at most once a minute.
        """
        digest = _digest(value)
        item = self._kv.get(keys.token(digest))
        if item is None:
            raise Refused(
                "EAUTH", "the token is unknown or was revoked", source="keys", suggestion=HELP
            )
        holder = read_holder(digest, item)
        if holder.expires is not None and holder.expires <= self._clock():
            raise Refused("EAUTH", "the token has expired", source="keys", suggestion=HELP)
        self._used(digest)
        return holder

    def list(self, after: str = "") -> Iterator[TokenUseRow]:
        """A row for each token, by id and from beyond the id `after` on: its id, never its
        value.
        """
        for digest, holder in self._rows(f"{after}~" if after else ""):
            used = self._kv.get(keys.token_use(digest))
            ended = holder.expires is not None and holder.expires <= self._clock()
            yield {**holder.row(), "last_use": _number(used), "expired": ended}

    def revoke(self, id: str) -> TokenHolder:
        """End a token at once; `UsageError` with ENOENT when there is none of this id (or name,
        when only one has it).
        """
        broken = self._broken(id)
        if broken:
            self._delete(broken)
            return TokenHolder(id, "invoke", "", "(damaged)")
        rows = [*self._rows()]
        found = [row for row in rows if row[1].id == id] or [
            row for row in rows if id and row[1].name == id
        ]
        if len(found) != 1:
            what = (
                f"{len(found)} tokens are called {one_line(id, 40)!r}: say which by its id"
                if found
                else "no such token"
            )
            raise UsageError(
                "EINVAL" if found else "ENOENT",
                what,
                source="keys",
                suggestion="`sigil keys list` shows the ids",
            )
        digest, holder = found[0]
        self._delete(digest)
        return holder

    def _broken(self, id: str) -> str:
        """The digest of the token of this id, when its record cannot be read; else empty."""
        for digest, item in self._items():
            if digest[:12] == id:
                try:
                    read_holder(digest, item)
                except BackendError:
                    return digest
        return ""

    def _delete(self, digest: str) -> None:
        self._kv.delete(keys.token(digest))
        self._kv.delete(keys.token_use(digest))

    def _wanted(self, wish: TokenRequest, agent: str) -> TokenHolder:
        if wish.kind not in ("deploy", "invoke"):
            raise _wrong("kind is deploy or invoke; the admin token is UNCAGED_TOKEN")
        if wish.seconds is not None and not 0 < wish.seconds <= LIFE_SECONDS:
            raise _wrong("a token ends within ten years, or never")
        if len(wish.name) > NAME_CHARACTERS or one_line(wish.name) != wish.name:
            raise _wrong(f"a token's name is one line of at most {NAME_CHARACTERS} characters")
        kind: Kind = "deploy" if wish.kind == "deploy" else "invoke"
        namespace = namespace_of(wish.scopes, wish.namespace, agent)
        if namespace == LIBRARY:
            raise _wrong("nobody deploys to the library or asks in its name")
        scopes = wish.scopes or default_scopes(kind, namespace)
        _fitting(kind, namespace, [Scope.parse(scope) for scope in scopes])
        now = self._clock()
        return TokenHolder(
            "",
            kind,
            namespace,
            wish.name,
            tuple(dict.fromkeys(scopes)),
            now,
            now + wish.seconds if wish.seconds else None,
        )

    def _rows(self, after: str = "") -> Iterator[tuple[str, TokenHolder]]:
        return ((digest, read_holder(digest, item)) for digest, item in self._items(after))

    def _items(self, after: str = "") -> Iterator[tuple[str, Item]]:
        return scan_all(self._kv, keys.token("").partition, after=after)

    def _used(self, digest: str) -> None:
        now = self._clock()
        last = self._kv.get(keys.token_use(digest))
        if now - (_number(last) or 0.0) >= USE_SECONDS:
            self._kv.put(keys.token_use(digest), b"%.3f" % now, ttl=LIFE_SECONDS)
            if (
                self._kv.get(keys.token(digest)) is None
            ):  # revoked at this moment: nothing of it stays
                self._kv.delete(keys.token_use(digest))


def new_token() -> str:
    """A token that nobody has yet."""
    secret = "".join(secrets.choice(_LETTERS) for _ in range(SECRET_CHARACTERS))
    return f"{PREFIX}{secret}{_check(secret)}"


def is_well_typed(value: str) -> bool:
    """Return whether `value` has the form of a token of ours, its checksum included."""
    secret, check = value[len(PREFIX) : -CHECK_CHARACTERS], value[-CHECK_CHARACTERS:]
    good = (
        value.startswith(PREFIX)
        and len(secret) == SECRET_CHARACTERS
        and not set(secret) - set(_LETTERS)
    )
    return good and check == _check(secret)


def mistyped_token() -> Refused:
    """For a token that begins like ours and cannot be one."""
    return Refused(
        "EAUTH",
        "the token is mistyped: its checksum does not fit",
        source="keys",
        suggestion="copy it again, in full",
    )


HELP = "ask whoever keeps the registry for a new one (`sigil keys create`)"


def _check(secret: str) -> str:
    number, text = zlib.crc32(secret.encode()), ""
    for _ in range(CHECK_CHARACTERS):
        number, rest = divmod(number, len(_LETTERS))
        text = _LETTERS[rest] + text
    return text


def _digest(value: str) -> str:
    return hashlib.sha256(value.encode("utf-8", "replace")).hexdigest()


def _number(item: Item | None) -> float | None:
    """Seconds since the epoch; None when there is nothing, or nothing to read."""
    with suppress(ValueError):
        return float(item.value) if item else None
    return None


def read_holder(digest: str, item: Item | None) -> TokenHolder:
    """The holder of the token with this SHA-256, as `item` says; `BackendError` EDAMAGED when it
    says nothing.
    """
    try:
        return replace(_HOLDER.read(item.value if item else b""), id=digest[:12])
    except ValueError:
        help = f"`sigil keys revoke {digest[:12]}` ends it; make another one"
        raise damaged(
            f"the record of the token {digest[:12]} cannot be read", source="keys", suggestion=help
        ) from None


def _fitting(kind: Kind, namespace: str, scopes: list[Scope]) -> None:
    for scope in scopes:
        if scope.verb == "deploy" and kind != "deploy":
            raise _wrong(f"an invoke token cannot have {scope.text}: make a deploy token")
        if scope.verb == "deploy" and scope.namespace != namespace:
            raise _wrong(f"{scope.text} is not about the token's own namespace, {namespace}")


def _wrong(message: str) -> UsageError:
    return UsageError("EINVAL", message, source="keys", suggestion="`sigil keys create --help`")
