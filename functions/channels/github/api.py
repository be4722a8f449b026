"""Requests to GitHub's REST API (https://docs.github.com/en/rest); only this module speaks HTTP to
it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Final

import orjson

from functions.channels.base import Busy, NotAllowed, Rejected
from functions.channels.platform_api.http_client import TIMEOUT, HttpClient, Transport
from functions.http_connection import HttpAnswer
from sigil.errors import BackendError, one_line
from sigil.json_fields import as_mapping, as_string
from sigil.protocol import Json

_SOURCE: Final = "github"
_SLOWLY: Final = "rate limit"
_NO_PERMISSION: Final = "not accessible by"
SLOW_SECONDS: Final = 60.0
"""GitHub's advice where it names no time."""


class GitHubRejected(Rejected):
    """GitHub will never take this request as it is."""

    def __init__(self, status: int, description: str) -> None:
        super().__init__("GitHub", description, status, source=_SOURCE)
        self.status = status


class GitHubApi:
    """The API at `base`. Safe to share between threads; connections are kept until `close`."""

    def __init__(self, base: str, token: str, transport: Transport | None = None) -> None:
        self._headers = {
            "authorization": f"Bearer {token}",
            "accept": "application/vnd.github+json",
            "x-github-api-version": "2022-11-28",
            "user-agent": "uncaged",
        }
        self._http = HttpClient(base, "GitHub", _SOURCE, transport)

    def call(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | None = None,
        query: Mapping[str, str] | None = None,
        *,
        timeout: float = TIMEOUT,
    ) -> Json:
        """Call the API and return its answer, within `timeout` seconds.

        `BackendError` (EUNAVAILABLE): no answer, or none that helps; `Busy`: too many requests;
        `GitHubRejected`: never.
        """
        headers = self._headers
        if body is not None:
            headers = headers | {"content-type": "application/json"}
        answer = self._http.request(
            method,
            path,
            headers=headers,
            query=query,
            content=b"" if body is None else orjson.dumps(body),
            timeout=timeout,
        )
        return _read_answer(answer)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()


def _read_answer(answer: HttpAnswer) -> Json:
    try:
        read: Json = orjson.loads(answer.body or b"null")
    except orjson.JSONDecodeError:
        read = None
    if 200 <= answer.status < 300:
        return read
    description = as_string(as_mapping(read).get("message"))
    is_limit = "retry-after" in answer.headers or _SLOWLY in description.lower()
    is_empty = answer.headers.get("x-ratelimit-remaining") == "0"
    match answer.status:
        case 429:
            raise _ask_to_wait(answer)
        case 403 if is_limit or is_empty:
            raise _ask_to_wait(answer)
        case 401:
            raise BackendError(
                "EUNAVAILABLE",
                one_line(f"GitHub does not take the access token: {description}"),
                source=_SOURCE,
                suggestion="check GITHUB_TOKEN: it may have ended",
            )
        case 403 if _NO_PERMISSION in description:
            raise NotAllowed(
                "EUNAVAILABLE",
                one_line(f"GitHub does not let the access token do this: {description}"),
                source=_SOURCE,
                suggestion="give GITHUB_TOKEN the permissions of docs/channels/github.md",
            )
        case status if 400 <= status < 500:
            raise GitHubRejected(status, description)
    raise BackendError(
        "EUNAVAILABLE", f"GitHub answered with status {answer.status}", source=_SOURCE
    )


def _ask_to_wait(answer: HttpAnswer) -> Busy:
    seconds = _read_number(answer, "retry-after")
    if seconds is None and answer.headers.get("x-ratelimit-remaining") == "0":
        resets = _read_number(answer, "x-ratelimit-reset")
        seconds = None if resets is None else max(resets - time.time(), 1.0)
    return Busy("GitHub asks to slow down", source=_SOURCE, retry_after=seconds or SLOW_SECONDS)


def _read_number(answer: HttpAnswer, name: str) -> float | None:
    text = answer.headers.get(name, "")
    return float(text) if text.isascii() and text.isdigit() and len(text) < 12 else None
