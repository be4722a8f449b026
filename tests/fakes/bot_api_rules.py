"""What Telegram accepts: the documented rules, read strictly
(https://core.telegram.org/bots/api#sendmessage, …#setwebhook).
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any
from urllib.parse import urlsplit

Entities = Sequence[Mapping[str, Any]]
LIMIT = 4096
TYPES = {
    "bold",
    "italic",
    "underline",
    "strikethrough",
    "spoiler",
    "blockquote",
    "code",
    "pre",
    "text_link",
    "text_mention",
}
STYLES = {"bold", "italic", "underline", "strikethrough", "spoiler"}
CODE = {"code", "pre"}
PORTS = (80, 88, 443, 8443)
UPDATES = {
    "message",
    "edited_message",
    "channel_post",
    "callback_query",
    "my_chat_member",
    "inline_query",
}


def message_problem(text: object, entities: Entities = ()) -> str:
    """Why Telegram refuses the message, empty when it takes it."""
    if not isinstance(text, str) or not text.strip():
        return "message text is empty"
    encoded = text.encode("utf-16-le")
    if len(encoded) // 2 > LIMIT:
        return "message is too long"
    if len(entities) > 100:
        return "too many entities"
    problems = [
        *(_entity_problem(entity, encoded) for entity in entities),
        _order_problem(entities),
    ]
    problems += [_pair_problem(*pair) for pair in combinations(entities, 2)]
    return next(filter(None, problems), "")


def draft_problem(params: Mapping[str, Any]) -> str:
    """Why Telegram refuses the draft of a message, empty when it takes it."""
    if params["chat_id"] < 0:
        return "TEXTDRAFT_PEER_INVALID"
    if type(params.get("draft_id")) is not int or not params["draft_id"]:
        return "draft_id is invalid"
    unknown = params.keys() - {"chat_id", "message_thread_id", "draft_id", "text", "entities"}
    if unknown:
        return f"unknown parameters {sorted(unknown)}"
    if params.get("text") == "":  # it shows that the bot thinks
        return ""
    return message_problem(params.get("text"), params.get("entities", ()))


def webhook_problem(params: Mapping[str, Any]) -> str:
    """Why Telegram refuses the webhook, in its words where they are known; empty when it takes
    it.
    """
    url, secret, connections = (
        params.get("url", ""),
        params.get("secret_token", ""),
        params.get("max_connections", 40),
    )
    if not isinstance(secret, str) or len(secret) > 256:
        return "secret token is too long"
    if not re.fullmatch(r"[A-Za-z0-9_-]*", secret):
        return "secret token contains unallowed characters"
    if type(connections) is not int or not 1 <= connections <= 100:
        return "max_connections must be between 1 and 100"
    kinds = params.get("allowed_updates", [])
    if not isinstance(kinds, list) or not set(kinds) <= UPDATES:
        return "can't parse allowed updates"
    return f"bad webhook: {problem}" if url and (problem := _address_problem(urlsplit(url))) else ""


def _address_problem(url: Any) -> str:
    if url.scheme != "https" or not url.hostname:
        return "An HTTPS URL must be provided for webhook"
    if (url.port or 443) not in PORTS:
        return "Webhook can be set up only on ports 80, 88, 443 or 8443"
    try:
        address = ipaddress.ip_address("127.0.0.1" if url.hostname == "localhost" else url.hostname)
    except ValueError:
        # a name that nobody can have (RFC 6761)
        return (
            "Failed to resolve host: Name or service not known"
            if url.hostname.endswith(".invalid")
            else ""
        )
    return "" if address.is_global else f"IP address {address} is reserved"


def _entity_problem(entity: Mapping[str, Any], encoded: bytes) -> str:
    start, length = entity.get("offset"), entity.get("length")
    if entity.get("type") not in TYPES or type(start) is not int or type(length) is not int:
        return "can't parse entities: a field is missing or odd"
    if start < 0 or length < 1 or 2 * (start + length) > len(encoded):
        return "entity is out of range"
    try:
        inside = encoded[2 * start : 2 * (start + length)].decode("utf-16-le")
    except UnicodeDecodeError:
        return "entity begins or ends in the middle of a symbol"
    if not inside.strip():
        return "entity holds nothing"
    if entity["type"] == "text_link" and not str(entity.get("url", "")).lower().startswith(
        ("http://", "https://")
    ):
        return "entity has an invalid url"
    known = {"type", "offset", "length"} | {"text_link": {"url"}, "pre": {"language"}}.get(
        entity["type"], set()
    )
    return "" if set(entity) <= known else "entity has an unknown field"


def _order_problem(entities: Entities) -> str:
    keys = [(entity["offset"], -entity["length"]) for entity in entities]
    return "" if keys == sorted(keys) else "entities are not in order"


def _pair_problem(outer: Mapping[str, Any], inner: Mapping[str, Any]) -> str:
    if inner["offset"] >= outer["offset"] + outer["length"]:
        return ""
    if inner["offset"] + inner["length"] > outer["offset"] + outer["length"]:
        return "entities cross"
    kinds = {outer["type"], inner["type"]}
    if outer["type"] == inner["type"]:
        return "entity of a kind inside its own kind"
    if outer["type"] in CODE or (kinds & CODE and kinds & (STYLES | {"text_link"})):
        return "entity shares text with code"
    return ""


def photo_problem(content: str | bytes) -> str:
    """Why a file is no photo (https://core.telegram.org/bots/api#sendphoto), empty for one that is."""
    body = content.encode() if isinstance(content, str) else content
    if len(body) > 10 * 1024 * 1024:
        return "file is too big"
    if body.startswith(b"\x89PNG"):
        width, height = (int.from_bytes(body[at : at + 4], "big") for at in (16, 20))
        if width + height > 10_000 or max(width, height) > 20 * min(width, height):
            return "PHOTO_INVALID_DIMENSIONS"
        return ""
    return "" if body.startswith((b"\xff\xd8\xff", b"RIFF")) else "IMAGE_PROCESS_FAILED"
