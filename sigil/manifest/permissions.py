"""The permissions that a capability declares, and those of them that wait for an owner's grant."""

from __future__ import annotations

from sigil.errors import UsageError
from sigil.manifest.model import Manifest
from sigil.manifest.permission_rules import parse_call_rule, parse_http_rule, parse_secret_rule

HTTP, SECRET, CALL, MCP = "http:", "secret:", "call:", "mcp:"
WEB = "web"
"""The permission to read any public page, which has no target."""


def require_valid_permissions(manifest: Manifest) -> None:
    """Raise `UsageError` EMANIFEST, which names the permission, unless all of them can be read."""
    permissions = manifest.permissions
    for field, read, texts in (
        ("http", parse_http_rule, permissions.http),
        ("secrets", parse_secret_rule, permissions.secrets),
        ("call", parse_call_rule, permissions.call),
    ):
        for text in texts:
            try:
                read(text)
            except UsageError as problem:
                message = f"permissions.{field}: {problem.message}"
                raise UsageError(
                    problem.code, message, source=manifest.name, suggestion=problem.suggestion
                ) from None
    if permissions.mcp and manifest.lang != "mcp":
        message = "permissions.mcp is for the tools of MCP servers alone"
        raise UsageError(
            "EMANIFEST",
            message,
            source=manifest.name,
            suggestion="`sigil mcp add -- COMMAND` brings them in",
        )


def requested_permissions(manifest: Manifest) -> tuple[str, ...]:
    """Return the permissions that an owner has to grant, as the manifest writes them.

    `web`, `http:GET host/`, `secret:NAME@host`, `call:namespace/other`, `mcp:name command`.
    """
    permissions = manifest.permissions
    return (
        *((WEB,) if permissions.web else ()),
        *(f"{HTTP}{target}" for target in permissions.http),
        *(f"{SECRET}{target}" for target in permissions.secrets),
        *(f"{CALL}{target}" for target in permissions.call if "/" in target),
        *(f"{MCP}{target}" for target in permissions.mcp),
    )


def ungranted_permissions(
    manifest: Manifest, granted: frozenset[str] = frozenset()
) -> tuple[str, ...]:
    """Return the requested permissions that are not `granted`."""
    return tuple(text for text in requested_permissions(manifest) if text not in granted)


def declared_calls(manifest: Manifest) -> tuple[str, ...]:
    """Return the capabilities that it declares to call, as declared; those that it requires come
    first.
    """
    return tuple(dict.fromkeys((*manifest.requires, *manifest.permissions.call)))
