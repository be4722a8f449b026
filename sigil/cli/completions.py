"""The names that Tab completes, from this machine's own store: capabilities, servers, secrets,
tokens, permissions, arguments.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import typer

from sigil.errors import SigilError

if TYPE_CHECKING:
    from sigil.settings import Settings
    from sigil.storage.kv import KV

FindNames = Callable[["KV", "Settings"], Iterator[str]]


def server_names(incomplete: str) -> list[str]:
    """Return the MCP servers whose tools are deployed here."""

    def found(kv: KV, settings: Settings) -> Iterator[str]:
        for _, record in scan_active(kv, settings.agent, ""):
            manifest = record["manifest"]
            if manifest.get("lang") == "mcp":
                yield from manifest["tags"][1:2]

    return _complete_from_store(incomplete, found)


def secret_names(incomplete: str) -> list[str]:
    """Return the names of the secrets that are set."""

    def found(kv: KV, settings: Settings) -> Iterator[str]:
        from sigil.storage.kv import keys

        return (
            name
            for name, _ in kv.scan(
                keys.secret(settings.agent, "").partition, incomplete, limit=NAMES_MOST
            )
        )

    return _complete_from_store(incomplete, found)


def token_ids(incomplete: str) -> list[str]:
    """Return the ids of the access tokens."""

    def found(kv: KV, _: Settings) -> Iterator[str]:
        import orjson

        from sigil.storage.kv import keys

        return (
            orjson.loads(item.value)["id"]
            for _, item in kv.scan(keys.token("").partition, incomplete, limit=NAMES_MOST)
        )

    return _complete_from_store(incomplete, found)


def granted_permissions(context: typer.Context, incomplete: str) -> list[str]:
    """Return what was granted to the capability that the command names."""
    name = _named_capability(context)

    def found(kv: KV, settings: Settings) -> Iterator[str]:
        from sigil.access.grants import GrantStore
        from sigil.protocol import LIBRARY

        for namespace in (settings.agent, LIBRARY):
            for grant in GrantStore(kv).list_grants(namespace, name, settings.agent):
                yield from grant.permissions

    return _complete_from_store(incomplete, found) if name else []


def argument_keys(context: typer.Context, incomplete: str) -> list[str]:
    """Return `KEY=` for each input field of the capability that the command names."""
    name = _named_capability(context)

    def found(kv: KV, settings: Settings) -> Iterator[str]:
        from sigil.protocol import LIBRARY

        for namespace in (settings.agent, LIBRARY):
            for known, record in scan_active(kv, namespace, name):
                if known == name:
                    yield from (
                        f"{field}=" for field in record["manifest"]["input"].get("properties", {})
                    )
                    return

    return _complete_from_store(incomplete, found) if name else []


def subcommands(context: typer.Context, incomplete: str) -> list[str]:
    """Return the commands of the group that the words before name."""
    group: Any = context.find_root().command
    for word in context.params.get("words") or ():
        group = getattr(group, "commands", {}).get(word)
    return [
        name
        for name, command in getattr(group, "commands", {}).items()
        if name.startswith(incomplete) and not command.hidden
    ]


def _named_capability(context: typer.Context) -> str:
    """Return the capability that the command line names, without its version. Click parses nothing
    after an option without its value, so its leftover words are read too.
    """
    said = context.params.get("name") or next(iter(context.args), "")
    return str(said).partition("@")[0].rpartition("/")[2]


def _complete_from_store(incomplete: str, found: FindNames) -> list[str]:
    from sigil.settings import Settings

    try:
        settings = Settings.read()
        kv = open_local_store(settings)
        return (
            sorted({text for text in found(kv, settings) if text.startswith(incomplete)})
            if kv
            else []
        )
    except (SigilError, OSError):
        return []


NAMES_MOST = 1_000


def capability_names(incomplete: str) -> list[str]:
    """Return the capabilities of this machine's own store that begin with `incomplete`. A store
    that is not a file here is not asked.
    """
    from sigil.settings import Settings

    try:
        return _names(Settings.read(), incomplete)
    except (SigilError, OSError):
        return []


def profile_names(incomplete: str) -> list[str]:
    """Return the profiles that begin with `incomplete`."""
    from sigil.client.profiles import HERE, Profiles
    from sigil.settings import Settings

    try:
        known = Profiles(Settings.read().profiles).book().profiles
    except SigilError:
        return []
    return [name for name in (HERE, *known) if name.startswith(incomplete)]


def open_local_store(settings: Settings) -> KV | None:
    """Open this machine's store when it is an existing file; nothing is created, no network is
    used.
    """
    from sigil.wiring import open_stores, sqlite_path

    path = sqlite_path(settings)
    return open_stores(settings).kv if path and path.is_file() else None


def scan_active(kv: KV, namespace: str, beginning: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the active capabilities of a namespace that begin with `beginning`, with the fields of
    their records.
    """
    from sigil.catalog.heads import decode_head, is_expired
    from sigil.storage.kv import keys

    for name, item in kv.scan(
        keys.capability(namespace, "").partition, beginning, limit=NAMES_MOST
    ):
        standing, record = decode_head(item.value)
        if not standing.removed and not is_expired(record, time.time()):
            yield name, record


def _names(settings: Settings, incomplete: str) -> list[str]:
    from sigil.protocol import LIBRARY

    kv = open_local_store(settings)
    return (
        [
            *dict.fromkeys(
                name
                for namespace in (settings.agent, LIBRARY)
                for name, _ in scan_active(kv, namespace, incomplete)
            )
        ]
        if kv
        else []
    )
