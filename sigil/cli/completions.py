"""What Tab fills in beside the names of capabilities, from this machine's own store: servers,
secrets, tokens, permissions, arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import typer

from sigil.cli.names import NAMES_MOST, heads, own_store

if TYPE_CHECKING:
    from sigil.settings import Settings
    from sigil.storage.kv import KV

Found = Callable[["KV", "Settings"], Iterator[str]]


def servers(incomplete: str) -> list[str]:
    """The MCP servers whose tools stand here."""

    def found(kv: KV, settings: Settings) -> Iterator[str]:
        for _, record in heads(kv, settings.agent, ""):
            manifest = record["manifest"]
            if manifest.get("lang") == "mcp":
                yield from manifest["tags"][1:2]

    return _beginning(incomplete, found)


def secrets(incomplete: str) -> list[str]:
    """The names of the secrets that are set."""

    def found(kv: KV, settings: Settings) -> Iterator[str]:
        from sigil.storage.kv import keys

        return (
            name
            for name, _ in kv.scan(
                keys.secret(settings.agent, "").partition, incomplete, limit=NAMES_MOST
            )
        )

    return _beginning(incomplete, found)


def tokens(incomplete: str) -> list[str]:
    """The ids of the access tokens."""

    def found(kv: KV, _: Settings) -> Iterator[str]:
        import orjson

        from sigil.storage.kv import keys

        return (
            orjson.loads(item.value)["id"]
            for _, item in kv.scan(keys.token("").partition, incomplete, limit=NAMES_MOST)
        )

    return _beginning(incomplete, found)


def permissions(context: typer.Context, incomplete: str) -> list[str]:
    """What was granted to the capability that the command names."""
    name = _name(context)

    def found(kv: KV, settings: Settings) -> Iterator[str]:
        from sigil.access.grants import GrantStore
        from sigil.protocol import LIBRARY

        for namespace in (settings.agent, LIBRARY):
            for grant in GrantStore(kv).grants(namespace, name, settings.agent):
                yield from grant.permissions

    return _beginning(incomplete, found) if name else []


def arguments(context: typer.Context, incomplete: str) -> list[str]:
    """`KEY=` of each field in the input of the capability that the command names."""
    name = _name(context)

    def found(kv: KV, settings: Settings) -> Iterator[str]:
        from sigil.protocol import LIBRARY

        for namespace in (settings.agent, LIBRARY):
            for known, record in heads(kv, namespace, name):
                if known == name:
                    yield from (
                        f"{field}=" for field in record["manifest"]["input"].get("properties", {})
                    )
                    return

    return _beginning(incomplete, found) if name else []


def commands(context: typer.Context, incomplete: str) -> list[str]:
    """The commands of the group that the words before name."""
    group: Any = context.find_root().command
    for word in context.params.get("words") or ():
        group = getattr(group, "commands", {}).get(word)
    return [
        name
        for name, command in getattr(group, "commands", {}).items()
        if name.startswith(incomplete) and not command.hidden
    ]


def _name(context: typer.Context) -> str:
    """The capability that the command line names, without its version; an option without its value
    keeps it from being parsed.
    """
    said = context.params.get("name") or next(iter(context.args), "")
    return str(said).partition("@")[0].rpartition("/")[2]


def _beginning(incomplete: str, found: Found) -> list[str]:
    from sigil.errors import SigilError
    from sigil.settings import Settings

    try:
        settings = Settings.read()
        kv = own_store(settings)
        return (
            sorted({text for text in found(kv, settings) if text.startswith(incomplete)})
            if kv
            else []
        )
    except (SigilError, OSError):
        return []
