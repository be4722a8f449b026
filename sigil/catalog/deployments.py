"""A deploy records beside the version itself which versions it calls, and whether an owner made it.

A version's own digest covers the digests of what it calls, and theirs cover what they call, so
anybody who grants or is offered a digest knows everything that runs. The record is written before
the version is and never changed; what a release before 0.2.0 stored has none until it is pinned,
and keeps the digest that it has.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

import orjson

from sigil.errors import Conflict
from sigil.storage.kv import ABSENT, KV, keys
from sigil.storage.kv.update import scan_all
from sigil.storage.stored import damaged
from sigil.strict_json import canonical

CACHED: Final = 1_024
"""Records that are cached; they never change."""

Pins = Mapping[str, str]
"""A call as the manifest declares it → the digest of the version that it means; empty for what did
not exist.
"""


def pinned_digest(package: str, pins: Pins) -> str:
    """Return the digest of a version, which covers the digests of what it calls.

    `package` is the digest of its manifest and code; it is the whole digest of a version that calls
    nothing.
    """
    if not pins:
        return package
    return "sha256:" + hashlib.sha256(package.encode() + b"\0" + canonical(dict(pins))).hexdigest()


class Dependent(NamedTuple):
    """A version that calls another one."""

    namespace: str
    name: str
    digest: str


@dataclass(frozen=True, slots=True)
class Deployment:
    """The record of a deploy. `owner`: an owner made it, who did not speak for a model.

    `deployer`: who made it with an access token, see `Caller`; empty for everybody else.
    """

    pins: Pins = field(default_factory=dict)
    owner: bool = False
    deployer: str = ""


class Deployments:
    """The deployments that a store records. Thread-safe."""

    def __init__(self, kv: KV) -> None:
        self._kv = kv
        self._cached: dict[Dependent, Deployment] = {}

    def read(self, namespace: str, name: str, digest: str) -> Deployment | None:
        """Return what was recorded of a version; None when nothing was."""
        version = Dependent(namespace, name, digest)
        deployment = self._cached.get(version)
        if deployment is None:
            item = self._kv.get(keys.deployment(*version))
            if item is None:
                return None
            deployment = _decode_deployment(item.value)
            self._cache(version, deployment)
        return deployment

    def write(
        self, version: Dependent, deployment: Deployment, ttl: float | None = None
    ) -> Deployment:
        """Record a deploy unless one is recorded already, and return the one that is recorded.

        `ttl` is in seconds, for a version that has an end itself.
        """
        for digest in filter(None, deployment.pins.values()):
            self._kv.put(keys.dependent(digest, *version), b"", ttl=ttl)
        try:
            body = _encode_deployment(deployment)
            self._kv.put(keys.deployment(*version), body, expect=ABSENT, ttl=ttl)
        except Conflict:
            return self._find_earlier(version, deployment, ttl)
        self._cache(version, deployment)
        return deployment

    def _find_earlier(
        self, version: Dependent, deployment: Deployment, ttl: float | None
    ) -> Deployment:
        """Return what was recorded before `deployment`, which is not recorded then.

        It may be left of a deploy that failed. So what two parties deployed is no deployer's own.
        """
        item = self._kv.get(keys.deployment(*version))
        if item is None:
            return deployment
        found = _decode_deployment(item.value)
        is_deploy = deployment.owner or bool(deployment.deployer)
        if is_deploy and found.deployer not in ("", deployment.deployer):
            found = replace(found, deployer="")
            self._kv.put(keys.deployment(*version), _encode_deployment(found), ttl=ttl)
        self._cache(version, found)
        return found

    def find_deployer(self, namespace: str, name: str, digest: str) -> str:
        """Return who deployed a version with an access token; empty when nobody did.

        It is read from the store: another process may have removed and deployed it again.
        """
        item = self._kv.get(keys.deployment(namespace, name, digest))
        return _decode_deployment(item.value).deployer if item else ""

    def extend(self, version: Dependent, ttl: float) -> None:
        """Let the record of a version that lives on for `ttl` seconds live on with it."""
        item = self._kv.get(keys.deployment(*version))
        if item is None:
            return
        for digest in filter(None, _decode_deployment(item.value).pins.values()):
            self._kv.put(keys.dependent(digest, *version), b"", ttl=ttl)
        with suppress(Conflict):  # another deploy of it, which sets its own time
            self._kv.put(keys.deployment(*version), item.value, expect=item.version, ttl=ttl)

    def forget(self, namespace: str, name: str, digest: str) -> None:
        """Forget what was recorded of a version that is gone."""
        version = Dependent(namespace, name, digest)
        deployment = self.read(*version)
        self._cached.pop(version, None)
        if deployment is None:
            return
        for callee in filter(None, deployment.pins.values()):
            self._kv.delete(keys.dependent(callee, *version))
        self._kv.delete(keys.deployment(*version))

    def list_dependents(self, digest: str) -> Iterator[Dependent]:
        """Yield the versions that were recorded to call this one; some may be gone by now."""
        for sort, _ in scan_all(self._kv, keys.dependent(digest, "", "", "").partition):
            namespace, name, caller = sort.split("#", 2)
            yield Dependent(keys.unescape(namespace), name, caller)

    def remove_dependent(self, digest: str, dependent: Dependent) -> None:
        """Forget that a version which is gone called this one."""
        self._kv.delete(keys.dependent(digest, *dependent))

    def _cache(self, version: Dependent, deployment: Deployment) -> None:
        while len(self._cached) >= CACHED:
            # another thread may drop one at this moment
            with suppress(KeyError, StopIteration, RuntimeError):
                self._cached.pop(next(iter(self._cached)))
        self._cached[version] = deployment


def _encode_deployment(deployment: Deployment) -> bytes:
    fields: dict[str, object] = {"pins": dict(deployment.pins), "owner": deployment.owner}
    if deployment.deployer:
        fields["deployer"] = deployment.deployer
    return orjson.dumps(fields)


def _decode_deployment(data: bytes) -> Deployment:
    """Return the record that `write` wrote; fields that a later release added are ignored."""
    try:
        fields = orjson.loads(data)
        pins, owner = fields["pins"], fields["owner"]
        deployer = fields.get("deployer", "")
    except (ValueError, TypeError, KeyError):
        raise damaged() from None
    if (
        not isinstance(pins, dict)
        or not all(isinstance(digest, str) for digest in pins.values())
        or not isinstance(owner, bool)
        or not isinstance(deployer, str)
    ):
        raise damaged()
    return Deployment(pins, owner, deployer)
