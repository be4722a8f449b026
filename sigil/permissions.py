"""What a capability may do: declared is not granted, and what is not declared does not exist."""

from __future__ import annotations

from sigil.manifest import Manifest
from sigil.sandbox.program import Grants


def waiting(manifest: Manifest) -> tuple[str, ...]:
    """The permissions that wait for an owner, as they are asked for: `http:GET host/`, `secret:NAME@host`, `call:other`, `kv`."""
    permissions = manifest.permissions
    calls = dict.fromkeys((*permissions.call, *manifest.requires))
    return (
        *(f"http:{target}" for target in permissions.http),
        *(f"secret:{target}" for target in permissions.secrets),
        *(f"call:{target}" for target in calls),
        *(("kv",) if permissions.kv else ()),
    )


def granted(manifest: Manifest) -> Grants:
    """What a run may use: clock, random and log as declared; nothing that leaves the sandbox."""
    permissions = manifest.permissions
    pending = tuple(dict.fromkeys(entry.partition(":")[0] for entry in waiting(manifest)))
    return Grants(clock=permissions.clock, random=permissions.random, log=permissions.log, pending=pending)
