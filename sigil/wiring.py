"""Open the back-ends that the settings choose, and build a registry on them.

`LazyRegistry` opens one at its first verb, so that a start waits for nothing and loads nothing.
"""

from __future__ import annotations

import os
import re
import secrets
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

import sigil
from sigil.errors import BackendError, UsageError
from sigil.protocol import Caller, Deployed, Found, Json, Ran, Registry
from sigil.settings import Settings, without_userinfo
from sigil.storage import files
from sigil.storage.artifacts import Artifacts, FolderArtifacts, MemoryArtifacts
from sigil.storage.kv import KV
from sigil.storage.setting_secrets import reveal

if TYPE_CHECKING:
    from sigil.registry import LocalRegistry
    from sigil.rows import ChangedVersionRow, DetailRow
    from sigil.sandbox.pool import Sandbox
    from sigil.search.dense import Encoder

SCHEMES = "sqlite:///path, redis://host:port/0, dynamodb://TABLE or memory://"
IN_STORE = "store:"
TOKEN_BYTES = 4_096
_TOKEN = re.compile(r"[\x21-\x7e]+", re.ASCII)
_LIBRARIES = "use builtin, none, or a folder of capabilities"


def ignore_progress(line: str) -> None:
    """Drop a line of progress."""


@dataclass(frozen=True, slots=True)
class Stores:
    """The store and the artifacts beside it."""

    kv: KV
    artifacts: Artifacts


def open_stores(settings: Settings) -> Stores:
    """Return the store that `UNCAGED_STORE` names and the artifacts that `UNCAGED_ARTIFACTS` names;
    no request is sent yet.
    """
    kv = _open_kv(settings)
    return Stores(kv, _open_artifacts(settings, kv))


def _open_kv(settings: Settings) -> KV:
    scheme, _, rest = settings.store.partition("://")
    path = sqlite_path(settings)
    if path:
        from sigil.storage.kv.sqlite import SqliteKV

        return SqliteKV(path)
    if scheme in ("redis", "rediss", "unix") and rest:
        from sigil.storage.kv.redis import RedisKV

        return RedisKV(settings.store)
    if scheme == "dynamodb" and rest:
        from sigil.storage.kv.dynamodb import DynamoKV

        table, endpoint = _split_endpoint(rest)
        return DynamoKV(table, endpoint=endpoint)
    if scheme == "memory" and not rest:
        from sigil.storage.kv.memory import MemoryKV

        return MemoryKV()
    raise UsageError(
        "ESETTING",
        f"UNCAGED_STORE={without_userinfo(settings.store)!r} names no store",
        suggestion=f"use {SCHEMES}",
    )


def sqlite_path(settings: Settings) -> Path | None:
    """Return the file of an SQLite store, None for another store."""
    if not settings.store:
        return data_folder(settings) / "uncaged.db"
    scheme, _, rest = settings.store.partition("://")
    if scheme != "sqlite" or not rest.startswith("/") or len(rest) == 1:
        return None
    return Path(rest[1:] if rest.startswith("//") else rest).expanduser()


def _open_artifacts(settings: Settings, kv: KV) -> Artifacts:
    """Return a folder, a bucket or the store itself; by default the one that is as durable, and as
    shared, as the store.
    """
    where = settings.artifacts
    if where.startswith("s3://"):
        from sigil.storage.artifacts.s3 import S3Artifacts

        place, endpoint = _split_endpoint(where.removeprefix("s3://"))
        bucket, _, prefix = place.partition("/")
        return S3Artifacts(bucket, prefix, endpoint=endpoint)
    folder = artifacts_folder(settings)
    if folder:
        return FolderArtifacts(folder)
    if settings.store == "memory://":
        return MemoryArtifacts()
    from sigil.storage.artifacts.stored import StoredArtifacts

    return StoredArtifacts(kv)


def artifacts_folder(settings: Settings) -> Path | None:
    """Return the folder of the large bodies, None where they are in a bucket or in the store."""
    where = settings.artifacts
    if where == IN_STORE or where.startswith("s3://"):
        return None
    if where:
        return Path(where).expanduser()
    path = sqlite_path(settings)
    return path.parent / "artifacts" if path else None


def _split_endpoint(rest: str) -> tuple[str, str]:
    """Return the two parts of `NAME?endpoint=URL`; an empty endpoint is AWS's own."""
    name, _, query = rest.partition("?")
    fields = parse_qs(query)
    if set(fields) - {"endpoint"}:
        raise UsageError(
            "ESETTING", f"unknown option in {rest!r}", suggestion="?endpoint=URL is the only one"
        )
    return name, fields.get("endpoint", [""])[0]


def data_folder(settings: Settings) -> Path:
    """Return the data folder, which is created if need be (0700)."""
    folder = settings.data_folder
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as problem:
        message = f"cannot make the data folder {folder}: {problem.strerror}"
        raise UsageError(
            "ESETTING", message, suggestion="set UNCAGED_DATA to a folder that you can write"
        ) from None
    return folder


def admin_token(settings: Settings) -> str:
    """Return `UNCAGED_TOKEN`, or the token that the first start put into the data folder (0600)."""
    if settings.token:
        return reveal(settings.token)
    path = data_folder(settings) / "token"
    if not path.exists():
        handle, temporary = tempfile.mkstemp(dir=path.parent)  # 0600
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(32))
        with suppress(FileExistsError):  # another process was first: its token counts
            os.link(temporary, path)
        Path(temporary).unlink()
    return _read_token(path)


def _read_token(path: Path) -> str:
    """Return the token in a file, which may have come with the folder."""
    try:
        token = files.read_bounded(path, TOKEN_BYTES).decode("ascii").strip()
    except (OSError, ValueError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else "it is no token"
    else:
        if not token or _TOKEN.fullmatch(token):
            return token
        reason = "it is no token"
    raise UsageError(
        "ESETTING", f"{path}: {reason}", suggestion="remove it; the next start makes another one"
    )


def engine_path(settings: Settings) -> Path:
    """Return where the JavaScript engine is, or should be."""
    if settings.engine:
        return Path(settings.engine)
    return Path(sigil.__file__).parent / "sandbox" / "engine" / "engine.wasm"


def open_sandbox(settings: Settings) -> Sandbox:
    """Return the sandbox with this package's engine; compiled code is kept in the data folder."""
    from sigil.sandbox.pool import Sandbox

    engine = engine_path(settings)
    if not engine.exists():
        raise BackendError(
            "EUNAVAILABLE",
            "the JavaScript engine is not built",
            suggestion="run scripts/build-engine",
        )
    return Sandbox(
        engine=engine,
        cache=cache_folder(settings),
        children=settings.runners,
        mode=settings.sandbox,
    )


def cache_folder(settings: Settings) -> Path | None:
    """Return where compiled code is kept; None where nothing can be."""
    if settings.cache:
        return Path(settings.cache).expanduser()
    try:
        return data_folder(settings) / "compiled"
    except UsageError:
        return None


def open_registry(
    settings: Settings, stores: Stores, progress: Callable[[str], None] = ignore_progress
) -> Registry:
    """Return the registry that `SIGIL_URL` names, or one in this process with its library."""
    if settings.registry_url:
        from sigil.client.registry import RemoteRegistry

        return RemoteRegistry(settings.registry_url, reveal(settings.registry_token))
    return local_registry(settings, stores, progress)


def local_registry(
    settings: Settings, stores: Stores, progress: Callable[[str], None] = ignore_progress
) -> LocalRegistry:
    """Return a registry in this process, its library deployed when it is new or changed."""
    from sigil.catalog.quotas import Quotas
    from sigil.deploy.library import LibraryFolder
    from sigil.network.searxng import parse_searxng_address
    from sigil.registry import LocalRegistry, RegistryRules
    from sigil.run.live_services import open_network
    from sigil.run.mcp_client.servers import Servers

    quotas = Quotas(
        settings.capabilities,
        settings.artifact_mib << 20,
        settings.session_capabilities,
        settings.ephemeral,
    )
    if settings.searxng:
        parse_searxng_address(settings.searxng)
    rules = RegistryRules(
        quotas,
        settings.deploy_cooldown,
        encoder=open_encoder(settings),
        web_requests_per_day=settings.web_requests_per_day,
    )
    web = partial(open_network, loopback=settings.loopback, searxng=settings.searxng)
    servers = Servers(settings.surroundings if settings.programs else None)
    registry = LocalRegistry(
        stores.kv, stores.artifacts, open_sandbox(settings), rules=rules, web=web, servers=servers
    )
    if folder := library_folder(settings):
        LibraryFolder(stores.kv, folder).update(registry, progress)
    return registry


def open_encoder(settings: Settings) -> Encoder | None:
    """Return the encoder of meanings for `SIGIL_RANKER=dense`, None where words decide."""
    if settings.ranker == "words":
        return None
    if settings.ranker != "dense":
        raise UsageError(
            "ESETTING",
            f"SIGIL_RANKER={settings.ranker!r} is no ranker",
            suggestion="use words or dense",
        )
    from sigil.search.dense import UniversalEncoder

    return UniversalEncoder()


def library_folder(settings: Settings) -> Path | None:
    """Return the folder whose capabilities an empty registry starts with, None for none."""
    if settings.library == "none":
        return None
    package = Path(sigil.__file__).parent
    shipped = next(
        (
            folder
            for folder in (package / "capabilities", package.parent / "capabilities")
            if folder.is_dir()
        ),
        None,
    )
    folder = shipped if settings.library == "builtin" else Path(settings.library).expanduser()
    if folder is None or not folder.is_dir():
        raise UsageError(
            "ESETTING", f"UNCAGED_LIBRARY={settings.library!r} is no folder", suggestion=_LIBRARIES
        )
    if not any(folder.glob("*/sigil.toml")):
        raise UsageError(
            "ESETTING",
            f"there is no capability in UNCAGED_LIBRARY={settings.library!r}",
            suggestion=_LIBRARIES,
        )
    return folder


class LazyOpener:
    """An opener that calls `open` once, and returns the same registry then."""

    def __init__(self, open: Callable[[], LocalRegistry]) -> None:
        self._open = open
        self._lock = threading.Lock()
        self._registry: LocalRegistry | None = None

    def __call__(self) -> LocalRegistry:
        """Return the registry; `BackendError` when it cannot be opened, and the next call tries
        again.
        """
        with self._lock:
            try:
                self._registry = self._registry or self._open()
            except UsageError as problem:
                # a wrong setting is the server's mistake, not the caller's
                raise BackendError(
                    "EUNAVAILABLE",
                    problem.message,
                    source="registry",
                    suggestion=problem.suggestion,
                ) from None
            return self._registry

    def close(self) -> None:
        """Close the registry if it was opened."""
        with self._lock:
            if self._registry:
                self._registry.close()
            self._registry = None


class LazyRegistry:
    """A `Registry` whose first verb opens it."""

    def __init__(self, open: Callable[[], LocalRegistry]) -> None:
        self._opener = LazyOpener(open)

    def query(self, text: str, caller: Caller, *, limit: int = 3) -> Found:
        return self._opener().query(text, caller, limit=limit)

    def query_each(self, texts: Sequence[str], caller: Caller, *, limit: int = 3) -> list[Found]:
        return self._opener().query_each(texts, caller, limit=limit)

    def inspect(self, ref: str, caller: Caller) -> DetailRow:
        return self._opener().inspect(ref, caller)

    def deploy(
        self, spec: Mapping[str, Json], caller: Caller, *, replace: bool = False
    ) -> Deployed:
        return self._opener().deploy(spec, caller, replace=replace)

    def run(self, ref: str, arguments: Mapping[str, Json], caller: Caller) -> Ran:
        return self._opener().run(ref, arguments, caller)

    def read_file(self, id: str, caller: Caller) -> bytes:
        return self._opener().read_file(id, caller)

    def rollback(self, name: str, caller: Caller, version: int | None = None) -> ChangedVersionRow:
        return self._opener().rollback(name, caller, version)

    def remove(self, name: str, caller: Caller) -> None:
        self._opener().remove(name, caller)

    def close(self) -> None:
        self._opener.close()
