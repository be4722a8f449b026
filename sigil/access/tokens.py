"""Access tokens are shown once and stored as a hash, with a kind, scopes, an end and a last use.

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
PREFIX = "sgl_"
SECRET_CHARACTERS = 32
CHECK_CHARACTERS = 6
"""190 bits of a token are random; the rest is a checksum that shows a mistyped one."""
USE_SECONDS = 60.0
KEEP_SECONDS = 30 * 86_400.0
"""How long a token that ended is still listed."""
LIFE_SECONDS = 10 * 365 * 86_400.0
NAME_CHARACTERS = 80
MOST = 1_000
HELP = "ask an administrator of the registry for a new one (`sigil keys create`)"
_SCOPE_HELP = "such as run:*, run:alice/*, run:alice/encode or deploy:alice/*"
_LETTERS = string.digits + string.ascii_uppercase + string.ascii_lowercase

Kind = Literal["admin", "deploy", "invoke"]


@dataclass(frozen=True, slots=True)
class Scope:
    """`VERB:TARGET`, where the target is `*`, `NAMESPACE/*` or `NAMESPACE/NAME`.

    What a token may deploy, it may run.
    """

    verb: str
    target: str

    @classmethod
    def parse(cls, text: str) -> Scope:
        """Return the scope of a text; `UsageError` for one that does not mean exactly one thing."""
        verb, colon, target = text.partition(":")
        namespace, slash, name = target.partition("/")
        is_whole = target == EVERYTHING and verb == "run"
        is_part = bool(slash) and is_name(namespace) and (name == EVERYTHING or is_name(name))
        if not colon or verb not in ("run", "deploy") or not (is_whole or is_part):
            raise UsageError(
                "EINVAL",
                f"{one_line(text, 80)!r} is not a scope",
                source="keys",
                suggestion=_SCOPE_HELP,
            )
        if verb == "deploy" and namespace == LIBRARY:
            raise UsageError(
                "EINVAL",
                "no token may deploy to the library",
                source="keys",
                suggestion=_SCOPE_HELP,
            )
        return cls(verb, target)

    @property
    def text(self) -> str:
        return f"{self.verb}:{self.target}"

    @property
    def namespace(self) -> str:
        """The namespace that it covers, empty for all."""
        return "" if self.target == EVERYTHING else self.target.partition("/")[0]

    def covers(self, namespace: str, name: str) -> bool:
        """Return whether it covers this capability; the name `*` means all of them."""
        return self.target in (EVERYTHING, f"{namespace}/{EVERYTHING}", f"{namespace}/{name}")


def default_scopes(kind: str, namespace: str) -> tuple[str, ...]:
    """Return the scopes of a token that is made without any.

    It may run all that its namespace sees, and as a deploy token deploy all that is its own.
    """
    return (f"deploy:{namespace}/*", "run:*") if kind == "deploy" else ("run:*",)


def namespace_of(scopes: Sequence[str], requested: str, agent: str) -> str:
    """Return the namespace of a token with these scopes.

    It is the one that is requested, else the only one that it may deploy to, else the only one that
    its scopes are about, else the agent's.
    """
    if len(scopes) > SCOPES_MOST:
        raise UsageError("EINVAL", f"at most {SCOPES_MOST} scopes", source="keys")
    parsed = [Scope.parse(scope) for scope in scopes]
    if requested:
        if not is_name(requested):
            raise UsageError(
                "EINVAL",
                f"{one_line(requested, 80)!r} is not a namespace",
                source="keys",
                suggestion="lower-case words joined by hyphens",
            )
        return requested
    deploys = [scope for scope in parsed if scope.verb == "deploy"]
    named = {scope.namespace for scope in deploys or parsed} - {LIBRARY}
    only = named.pop() if len(named) == 1 else ""
    return only or agent


@dataclass(frozen=True, slots=True)
class TokenHolder:
    """The holder of a good token. `scopes` are as they were given; the admin reaches everything."""

    id: str
    kind: Kind
    namespace: str
    name: str = ""
    scopes: tuple[str, ...] = ()
    created: float = 0.0
    expires: float | None = None

    def may_deploy(self, name: str) -> bool:
        """Return whether it may change the capability `name` of its own namespace.

        The name `*` asks about all of them.
        """
        if self.kind == ADMIN:
            return True
        scopes = [Scope.parse(scope) for scope in self.scopes]
        return any(
            scope.verb == "deploy" and scope.covers(self.namespace, name) for scope in scopes
        )

    def to_caller(self) -> Caller:
        """Return the holder as a registry's caller.

        That is a person without an owner's rights, in the token's own namespace. Tokens of one
        namespace with the same name have the same deployer, so that a renewed one goes on where the
        one before it ended.
        """
        targets = tuple(dict.fromkeys(Scope.parse(scope).target for scope in self.scopes))
        only = None if EVERYTHING in targets else targets
        deployer = ""
        if self.kind == "deploy":
            deployer = f"name:{self.name}" if self.name else f"id:{self.id}"
        return Caller(self.namespace, token=self.id, only=only, deployer=deployer)

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
    """Finds the holders of tokens."""

    def find_holder(self, value: str) -> TokenHolder:
        """Return a token's holder; `Refused` EAUTH when it has none."""


@dataclass(frozen=True, slots=True)
class TokenRequest:
    """A token that somebody asks for. `seconds`: until it ends, None for never."""

    kind: str
    name: str = ""
    scopes: tuple[str, ...] = ()
    namespace: str = ""
    seconds: float | None = None


class Tokens:
    """The tokens of a store.

    It keeps their plain SHA-256: they are random, so there is nothing for a slow hash to protect.
    """

    def __init__(self, kv: KV, clock: Callable[[], float] = time.time) -> None:
        self._kv = kv
        self._clock = clock

    def create(self, request: TokenRequest, agent: str) -> tuple[str, TokenHolder]:
        """Make a token; return its value, which is shown this once, and its holder.

        `agent` is its namespace when neither the request nor its scopes name one. Raises
        `UsageError` EINVAL for a request that makes no sense, `Refused` EQUOTA for too many tokens.
        """
        holder = self._check_request(request, agent)
        if sum(1 for _ in self._scan_holders()) >= MOST:
            raise Refused(
                "EQUOTA",
                f"there are {MOST:,} tokens already",
                source="keys",
                suggestion="`sigil keys revoke ID`",
            )
        ttl = None
        if holder.expires is not None:
            ttl = holder.expires - self._clock() + KEEP_SECONDS
        value = new_token()
        digest = _digest(value)
        body = orjson.dumps(asdict(holder) | {"id": digest[:12]})
        self._kv.put(keys.token(digest), body, expect=ABSENT, ttl=ttl)
        return value, read_holder(digest, self._kv.get(keys.token(digest)))

    def find_holder(self, value: str) -> TokenHolder:
        """Return a token's holder, and note its use, at most once a minute.

        Raises `Refused` EAUTH when the token is unknown, was revoked or has ended.
        """
        digest = _digest(value)
        item = self._kv.get(keys.token(digest))
        if item is None:
            raise Refused(
                "EAUTH", "the token is unknown or was revoked", source="keys", suggestion=HELP
            )
        holder = read_holder(digest, item)
        now = self._clock()
        if holder.expires is not None and holder.expires <= now:
            raise Refused("EAUTH", "the token has expired", source="keys", suggestion=HELP)
        last_use = _read_seconds(self._kv.get(keys.token_use(digest)))
        if now - (last_use or 0.0) >= USE_SECONDS:
            self._kv.put(keys.token_use(digest), b"%.3f" % now, ttl=LIFE_SECONDS)
            if self._kv.get(keys.token(digest)) is None:
                # it was revoked at this moment: nothing of it stays
                self._kv.delete(keys.token_use(digest))
        return holder

    def find_by_digest(self, digest: str) -> TokenHolder | None:
        """Return the holder of the token with this SHA-256; None for one that has ended, or that
        nobody has.
        """
        item = self._kv.get(keys.token(digest))
        if item is None:
            return None
        holder = read_holder(digest, item)
        is_over = holder.expires is not None and holder.expires <= self._clock()
        return None if is_over else holder

    def list(self, after: str = "") -> Iterator[TokenUseRow]:
        """Yield a row for each token, by id and from beyond the id `after` on, never its value."""
        for digest, holder in self._scan_holders(f"{after}~" if after else ""):
            last_use = _read_seconds(self._kv.get(keys.token_use(digest)))
            is_expired = holder.expires is not None and holder.expires <= self._clock()
            yield {**holder.row(), "last_use": last_use, "expired": is_expired}

    def revoke(self, id: str) -> TokenHolder:
        """End the token of an id, or of a name that only one has, and return its holder.

        Raises `UsageError` ENOENT when there is none, EINVAL when several have the name.
        """
        # a record that cannot be read is found by its id, before one of them stops the reading
        for digest, item in self._scan():
            if digest[:12] == id:
                try:
                    read_holder(digest, item)
                except BackendError:
                    self._delete(digest)
                    return TokenHolder(id, "invoke", "", "(damaged)")
        holders = list(self._scan_holders())
        found = [(digest, holder) for digest, holder in holders if holder.id == id]
        if not found and id:
            found = [(digest, holder) for digest, holder in holders if holder.name == id]
        if not found:
            raise UsageError(
                "ENOENT",
                "no such token",
                source="keys",
                suggestion="`sigil keys list` shows the ids",
            )
        if len(found) > 1:
            raise UsageError(
                "EINVAL",
                f"{len(found)} tokens are called {one_line(id, 40)!r}: say which by its id",
                source="keys",
                suggestion="`sigil keys list` shows the ids",
            )
        digest, holder = found[0]
        self._delete(digest)
        return holder

    def _delete(self, digest: str) -> None:
        self._kv.delete(keys.token(digest))
        self._kv.delete(keys.token_use(digest))

    def _check_request(self, request: TokenRequest, agent: str) -> TokenHolder:
        """Return the holder of the token that is asked for, without an id."""
        if request.kind not in ("deploy", "invoke"):
            raise _invalid("kind is deploy or invoke; the admin token is UNCAGED_TOKEN")
        if request.seconds is not None and not 0 < request.seconds <= LIFE_SECONDS:
            raise _invalid("a token ends within ten years, or never")
        if len(request.name) > NAME_CHARACTERS or one_line(request.name) != request.name:
            raise _invalid(f"a token's name is one line of at most {NAME_CHARACTERS} characters")
        kind: Kind = "deploy" if request.kind == "deploy" else "invoke"
        namespace = namespace_of(request.scopes, request.namespace, agent)
        if namespace == LIBRARY:
            raise _invalid("no token may act for the library")
        scopes = request.scopes or default_scopes(kind, namespace)
        for scope in map(Scope.parse, scopes):
            if scope.verb != "deploy":
                continue
            if kind != "deploy":
                raise _invalid(f"an invoke token cannot have {scope.text}: make a deploy token")
            if scope.namespace != namespace:
                raise _invalid(f"{scope.text} is outside the token's own namespace, {namespace}")
        now = self._clock()
        return TokenHolder(
            id="",
            kind=kind,
            namespace=namespace,
            name=request.name,
            scopes=tuple(dict.fromkeys(scopes)),
            created=now,
            expires=now + request.seconds if request.seconds else None,
        )

    def _scan_holders(self, after: str = "") -> Iterator[tuple[str, TokenHolder]]:
        return ((digest, read_holder(digest, item)) for digest, item in self._scan(after))

    def _scan(self, after: str = "") -> Iterator[tuple[str, Item]]:
        return scan_all(self._kv, keys.token("").partition, after=after)


def new_token() -> str:
    """Return a token that nobody has yet."""
    secret = "".join(secrets.choice(_LETTERS) for _ in range(SECRET_CHARACTERS))
    return f"{PREFIX}{secret}{_checksum(secret)}"


def is_well_typed(value: str) -> bool:
    """Return whether `value` has the form of a token of ours, its checksum included."""
    if not value.startswith(PREFIX):
        return False
    secret = value[len(PREFIX) : -CHECK_CHARACTERS]
    if len(secret) != SECRET_CHARACTERS or set(secret) - set(_LETTERS):
        return False
    return value[-CHECK_CHARACTERS:] == _checksum(secret)


def mistyped_token() -> Refused:
    """Return the error for a token that begins like ours and cannot be one."""
    return Refused(
        "EAUTH",
        "the token is mistyped: its checksum does not fit",
        source="keys",
        suggestion="copy it again, in full",
    )


def _checksum(secret: str) -> str:
    number = zlib.crc32(secret.encode())
    text = ""
    for _ in range(CHECK_CHARACTERS):
        number, rest = divmod(number, len(_LETTERS))
        text = _LETTERS[rest] + text
    return text


def _digest(value: str) -> str:
    return hashlib.sha256(value.encode("utf-8", "replace")).hexdigest()


def _read_seconds(item: Item | None) -> float | None:
    """Return seconds since 1970; None when there are none, or none that can be read."""
    with suppress(ValueError):
        return float(item.value) if item else None
    return None


def read_holder(digest: str, item: Item | None) -> TokenHolder:
    """Return the holder of the token with this SHA-256, as `item` says.

    Raises `BackendError` EDAMAGED when it cannot be read.
    """
    try:
        return replace(_HOLDER.read(item.value if item else b""), id=digest[:12])
    except ValueError:
        raise damaged(
            f"the record of the token {digest[:12]} cannot be read",
            source="keys",
            suggestion=f"`sigil keys revoke {digest[:12]}` ends it; make another one",
        ) from None


def _invalid(message: str) -> UsageError:
    return UsageError("EINVAL", message, source="keys", suggestion="`sigil keys create --help`")
