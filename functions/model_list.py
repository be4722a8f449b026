"""What an endpoint's server tells of its models with `GET /models`, and on other paths."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Final

import httpx
import orjson

from functions.http_connection import open_transport
from functions.settings import Settings
from sigil.json_fields import as_integer, as_mapping, as_sequence, as_string
from sigil.protocol import Json
from sigil.storage.setting_secrets import reveal

LIST_SECONDS: Final = 10.0
LIST_BYTES: Final = 4 << 20
DAY_MOST: Final = 253_402_300_799
"""The last second of the year 9999, in seconds since 1970."""


def list_models(settings: Settings) -> dict[str, Json]:
    """Return what the endpoint tells of each of its models; nothing when it tells nothing."""
    found = fetch_json(settings, settings.endpoint.rstrip("/") + "/models")
    rows = as_sequence(as_mapping(found).get("data"))
    return {as_string(as_mapping(row).get("id")).removeprefix("models/"): row for row in rows}


def read_end(models: Mapping[str, Json], name: str) -> date | None:
    """Return the day on which a model ends by the endpoint's list; None where it tells none.

    `shutdown_date` is a day such as `2026-12-11`, or seconds since 1970.
    """
    told = as_mapping(models.get(name.removeprefix("models/"))).get("shutdown_date")
    seconds = as_integer(told, 1)
    if seconds:
        return datetime.fromtimestamp(seconds, UTC).date() if seconds <= DAY_MOST else None
    try:
        return date.fromisoformat(as_string(told)[:10])
    except ValueError:
        return None


def fetch_json(settings: Settings, url: str, question: Json = None) -> Json:
    """Return what the endpoint's server answers with the key of its model; None for nothing.

    A `question` is sent as JSON.
    """
    key = reveal(settings.llm_key)
    headers = {"authorization": f"Bearer {key}"} if key else {}
    body = bytearray()
    end = time.monotonic() + LIST_SECONDS
    try:
        with (
            httpx.Client(
                transport=open_transport(settings.endpoint), timeout=LIST_SECONDS / 2
            ) as client,
            client.stream(
                "POST" if question else "GET", url, headers=headers, json=question
            ) as answer,
        ):
            for chunk in answer.iter_bytes():
                body += chunk
                if len(body) > LIST_BYTES or time.monotonic() > end:
                    return None
        found: Json = orjson.loads(bytes(body)) if answer.status_code == 200 else None
    except (httpx.HTTPError, httpx.InvalidURL, ValueError):
        return None
    return found
