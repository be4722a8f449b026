"""The names that Tab completes, from this machine's own store: capabilities, servers, secrets,
tokens, permissions, arguments.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import typer

from sigil.errors import SigilError
from sigil.json_fields import as_mapping, as_sequence

if TYPE_CHECKING:
    from sigil.catalog.heads import RecordFields
    from sigil.settings import Settings
    from sigil.storage.kv import KV

NAMES_MOST = 1_000

ListNames = Callable[["KV", "Settings"], Iterable[str]]


def capability_names(incomplete: str) -> list[str]:
    """Return the capabilities of this machine's own store that begin with `incomplete`, the agent's
    before the library's.
    """

    def list_capabilities(kv: KV, settings: Settings) -> Iterator[str]:
        from sigil.protocol import LIBRARY

        for namespace in (settings.agent, LIBRARY):
            for name, _ in _scan_active(kv, namespace, incomplete):
                yield name

    return _complete_from_store(incomplete, list_capabilities)


def server_names(incomplete: str) -> list[str]:
    """Return the MCP servers whose tools are deployed here."""

    def list_servers(kv: KV, settings: Settings) -> Iterator[str]:
        for _, record in _scan_active(kv, settings.agent, ""):
            manifest = record["manifest"]
            if manifest.get("lang") == "mcp":
                yield from map(str, as_sequence(manifest["tags"])[1:2])

    return sorted(_complete_from_store(incomplete, list_servers))


def secret_names(incomplete: str) -> list[str]:
    """Return the names of the secrets that are set."""

    def list_secrets(kv: KV, settings: Settings) -> Iterator[str]:
        from sigil.storage.kv import keys

        partition = keys.secret(settings.agent, "").partition
        for name, _ in kv.scan(partition, incomplete, limit=NAMES_MOST):
            yield name

    return sorted(_complete_from_store(incomplete, list_secrets))


def token_ids(incomplete: str) -> list[str]:
    """Return the ids of the access tokens."""

    def list_tokens(kv: KV, settings: Settings) -> Iterator[str]:
        import orjson

        from sigil.storage.kv import keys

        partition = keys.token("").partition
        for _, item in kv.scan(partition, incomplete, limit=NAMES_MOST):
            yield orjson.loads(item.value)["id"]

    return sorted(_complete_from_store(incomplete, list_tokens))


def granted_permissions(context: typer.Context, incomplete: str) -> list[str]:
    """Return what was granted to the capability that the command names."""
    name = _named_capability(context)

    def list_permissions(kv: KV, settings: Settings) -> Iterator[str]:
        from sigil.access.grants import GrantStore
        from sigil.protocol import LIBRARY

        for namespace in (settings.agent, LIBRARY):
            for grant in GrantStore(kv).list_grants(namespace, name, settings.agent):
                yield from grant.permissions

    return sorted(_complete_from_store(incomplete, list_permissions)) if name else []


def argument_keys(context: typer.Context, incomplete: str) -> list[str]:
    """Return `KEY=` for each input field of the capability that the command names."""
    name = _named_capability(context)

    def list_keys(kv: KV, settings: Settings) -> Iterator[str]:
        from sigil.protocol import LIBRARY

        for namespace in (settings.agent, LIBRARY):
            for found, record in _scan_active(kv, namespace, name):
                if found == name:
                    schema = as_mapping(record["manifest"]["input"])
                    for field in as_mapping(schema.get("properties")):
                        yield f"{field}="
                    return

    return sorted(_complete_from_store(incomplete, list_keys)) if name else []


def profile_names(incomplete: str) -> list[str]:
    """Return the profiles that begin with `incomplete`."""
    from sigil.client.profiles import HERE, Profiles
    from sigil.settings import Settings

    try:
        known = Profiles(Settings.read().profiles).load().profiles
    except SigilError:
        return []
    return [name for name in (HERE, *known) if name.startswith(incomplete)]


def subcommand_names(context: typer.Context, incomplete: str) -> list[str]:
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
    ref = context.params.get("name") or next(iter(context.args), "")
    return str(ref).partition("@")[0].rpartition("/")[2]


def _complete_from_store(incomplete: str, list_names: ListNames) -> list[str]:
    """Return the names that begin with `incomplete`, each once. Only a store that is a file of this
    machine, and exists, is read; nothing is created, and no network is used.
    """
    from sigil.settings import Settings
    from sigil.wiring import open_stores, sqlite_path

    try:
        settings = Settings.read()
        path = sqlite_path(settings)
        if not path or not path.is_file():
            return []
        names = list_names(open_stores(settings).kv, settings)
        return [name for name in dict.fromkeys(names) if name.startswith(incomplete)]
    except (SigilError, OSError):
        return []


def _scan_active(kv: KV, namespace: str, beginning: str) -> Iterator[tuple[str, RecordFields]]:
    """Yield the active capabilities of a namespace that begin with `beginning`, with the fields of
    their records.
    """
    from sigil.catalog.heads import decode_head, is_expired
    from sigil.storage.kv import keys

    partition = keys.capability(namespace, "").partition
    for name, item in kv.scan(partition, beginning, limit=NAMES_MOST):
        head, record = decode_head(item.value)
        if not head.removed and not is_expired(record, time.time()):
            yield name, record
