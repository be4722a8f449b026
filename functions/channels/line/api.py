"""Requests to LINE's Messaging API for one channel
(https://developers.line.biz/en/reference/messaging-api/); only this module speaks HTTP to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import orjson

from functions.channels.base import Busy, MessagesUsedUp, Rejected
from functions.channels.platform_api.http_client import TIMEOUT, HttpClient, Transport
from functions.http_connection import HttpAnswer
from sigil.errors import BackendError, UsageError, one_line
from sigil.json_fields import as_mapping, as_sequence, as_string
from sigil.protocol import Json

_SOURCE: Final = "line"
_USED_TOKEN: Final = "invalid reply token"
_MONTHLY: Final = "monthly limit"
"""Words of LINE's messages, which have no codes
(https://developers.line.biz/en/reference/messaging-api/#error-messages).
"""


class LineRejected(Rejected):
    """LINE will never take this request as it is. `properties` are what it does not like."""

    def __init__(self, status: int, description: str, properties: tuple[str, ...] = ()) -> None:
        super().__init__("LINE", description, status, source=_SOURCE)
        self.status = status
        self.properties = properties


class ReplyTokenRefused(LineRejected):
    """The reply token was used before, or is too old."""


class LineApi:
    """The API at `base`, and files at `files`. Safe to share between threads; connections are kept
    until `close`.
    """

    def __init__(
        self, base: str, files: str, token: str, transport: Transport | None = None
    ) -> None:
        self._headers = {"authorization": f"Bearer {token}"}
        self._http = HttpClient(base, "LINE", _SOURCE, transport)
        self._files = HttpClient(files, "LINE", _SOURCE, transport)

    def call(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        timeout: float = TIMEOUT,
    ) -> Mapping[str, Json]:
        """Call the API and return its answer, within `timeout` seconds.

        `BackendError` (EUNAVAILABLE): no answer, or none that helps; `Busy`: too many requests;
        `MessagesUsedUp`: no more in this month; `LineRejected`: never.
        """
        answer = self._http.request(
            method,
            path,
            headers={**self._headers, "content-type": "application/json", **(headers or {})},
            content=b"" if body is None else orjson.dumps(body),
            timeout=timeout,
        )
        return _read_answer(answer)

    def push(self, body: Mapping[str, object], retry_key: str) -> Mapping[str, Json]:
        """Push messages, once however often this is called with the same `retry_key`; errors as
        `call`.
        """
        headers = {"x-line-retry-key": retry_key} if retry_key else {}
        try:
            return self.call("POST", "/v2/bot/message/push", body, headers=headers)
        except LineRejected as problem:
            if problem.status == 409:
                return {}
            raise

    def download(self, id: str, most: int) -> bytes:
        """Return the file of a message by the message's id. `UsageError` ETOOBIG for more than
        `most` bytes and ENOENT for one that is gone, `BackendError` when it does not come.
        """
        path = f"/v2/bot/message/{id}/content"
        answer = self._files.request("GET", path, headers=self._headers, most=most)
        if answer.status == 200:
            return answer.body
        if answer.status in (404, 410):
            raise UsageError("ENOENT", "LINE no longer has the file", source=_SOURCE)
        # 202 for a video or a recording that LINE still prepares
        raise BackendError(
            "EUNAVAILABLE", f"LINE answered with status {answer.status}", source=_SOURCE
        )

    def close(self) -> None:
        """Close the connections."""
        self._http.close()
        self._files.close()


def _read_answer(answer: HttpAnswer) -> Mapping[str, Json]:
    try:
        fields = as_mapping(orjson.loads(answer.body or b"{}"))
    except orjson.JSONDecodeError:
        fields = {}
    if 200 <= answer.status < 300:
        return fields
    details = [as_mapping(each) for each in as_sequence(fields.get("details"))[:5]]
    properties = tuple(as_string(each.get("property")) for each in details)
    words = [as_string(fields.get("message"))]
    words += [f"{each.get('property')}: {each.get('message')}" for each in details]
    description = "; ".join(words)
    match answer.status:
        case 429 if _MONTHLY in description.lower():
            raise MessagesUsedUp(
                "LINE takes no more messages from this account in this month", source=_SOURCE
            )
        case 429:
            raise Busy("LINE asks to slow down", source=_SOURCE, retry_after=_read_wait(answer))
        case 401:
            raise BackendError(
                "EUNAVAILABLE",
                one_line(f"LINE does not take the access token: {description}"),
                source=_SOURCE,
                suggestion="check LINE_TOKEN: issue it anew in the console's Messaging API tab",
            )
        case 400 if _USED_TOKEN in description.lower():
            raise ReplyTokenRefused(400, description, properties)
        case status if 400 <= status < 500:
            raise LineRejected(status, description, properties)
    raise BackendError("EUNAVAILABLE", f"LINE answered with status {answer.status}", source=_SOURCE)


def _read_wait(answer: HttpAnswer) -> float | None:
    wait = answer.headers.get("retry-after", "")
    return float(wait) if wait.isascii() and wait.isdigit() and len(wait) < 6 else None
