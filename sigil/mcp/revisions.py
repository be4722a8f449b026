"""Name the revisions of the Model Context Protocol that are known here, and what both sides send.

Up to 2025-11-25 a connection begins with a handshake (`initialize`); since 2026-07-28 every request
says for itself which revision it speaks, in `params._meta`, and there is none.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping

from sigil.mcp.jsonrpc import PARAMS, REVISION, RpcError
from sigil.protocol import Json
from sigil.settings import installed_version

HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
NEWEST_HANDSHAKE = HANDSHAKE[-1]
BATCHED = ("2024-11-05", "2025-03-26")
"""Revisions whose peers may send several messages as one list."""
UNSAID = "2025-03-26"
"""The revision of a request over HTTP that names none."""
STATELESS = "2026-07-28"
KNOWN = (*HANDSHAKE, STATELESS)

SPOKEN = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
CLIENT = "io.modelcontextprotocol/clientInfo"
SERVER = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"

VERSION_HEADER, METHOD_HEADER, NAME_HEADER, SESSION_HEADER = (
    "mcp-protocol-version",
    "mcp-method",
    "mcp-name",
    "mcp-session-id",
)

_PLAIN = re.compile(r"(?!=\?base64\?)[\x21-\x7e]+", re.ASCII)


def encode_name(name: str) -> str:
    """Return a tool's name as the value of the header `mcp-name`, which is of visible ASCII."""
    if _PLAIN.fullmatch(name):
        return name
    return f"=?base64?{base64.b64encode(name.encode()).decode('ascii')}?="


def server_info() -> dict[str, Json]:
    """Return our own name and version, as either side."""
    return {"name": "sigil", "version": installed_version()}


def request_envelope(capabilities: Mapping[str, Json]) -> dict[str, Json]:
    """Return the `_meta` of a request that needs no handshake."""
    return {SPOKEN: STATELESS, CLIENT: server_info(), CAPABILITIES: dict(capabilities)}


def is_stateless(params: Mapping[str, Json]) -> bool:
    """Tell if a request names its own revision; `RpcError` when it does so wrongly, or names one
    that is not known here.
    """
    meta = params.get("_meta")
    if not isinstance(meta, dict) or SPOKEN not in meta:
        return False
    spoken = meta[SPOKEN]
    if not isinstance(spoken, str) or not isinstance(meta.get(CAPABILITIES), dict):
        raise RpcError(
            PARAMS, f"params._meta has {SPOKEN}, a string, and {CAPABILITIES}, an object"
        )
    if spoken != STATELESS:
        raise unknown_revision(spoken, (STATELESS,))
    return True


def unknown_revision(requested: str, known: tuple[str, ...] = KNOWN) -> RpcError:
    """Return the error for a revision that is not known here."""
    return RpcError(
        REVISION,
        "this revision of the protocol is not known here",
        {"supported": list(known), "requested": requested[:40]},
    )
