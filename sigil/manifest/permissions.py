"""What a capability may do: declared is not granted, and what is not declared does not exist."""

from __future__ import annotations

from sigil.errors import UsageError
from sigil.manifest.model import Manifest
from sigil.manifest.permission_rules import call_rule, http_rule, secret_rule

HTTP, SECRET, CALL, MCP = "http:", "secret:", "call:", "mcp:"


def demand(manifest: Manifest) -> None:
    """`UsageError` EMANIFEST that names the permission unless every one of them makes sense."""
    permissions = manifest.permissions
    for field, read, texts in (
        ("http", http_rule, permissions.http),
        ("secrets", secret_rule, permissions.secrets),
        ("call", call_rule, permissions.call),
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


def asked(manifest: Manifest) -> tuple[str, ...]:
    """The permissions that an owner has to grant, as they are asked for.

    `http:GET host/`, `secret:NAME@host`, `call:namespace/other`, `mcp:name command`.
    """
    permissions = manifest.permissions
    return (
        *(f"{HTTP}{target}" for target in permissions.http),
        *(f"{SECRET}{target}" for target in permissions.secrets),
        *(f"{CALL}{target}" for target in permissions.call if "/" in target),
        *(f"{MCP}{target}" for target in permissions.mcp),
    )


def waiting(manifest: Manifest, granted: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """Those of them that are not `granted`."""
    return tuple(text for text in asked(manifest) if text not in granted)


def calls(manifest: Manifest) -> tuple[str, ...]:
    """The capabilities that it declares to call, as declared, those that it requires first."""
    return tuple(dict.fromkeys((*manifest.requires, *manifest.permissions.call)))
