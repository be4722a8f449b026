"""Requests to the Bot API (https://core.telegram.org/bots/api#making-requests); only this module
speaks HTTP to it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

import httpx
import orjson

from functions.channels.base import Busy, Rejected
from functions.channels.http_client import (
    TIMEOUT,
    UPLOAD_TIMEOUT,
    FormFile,
    Transport,
    make_form,
)
from functions.channels.updates import ReceivedElsewhere
from functions.http_connection import open_transport
from sigil.errors import BackendError, UsageError
from sigil.json_fields import as_integer, as_mapping, as_string
from sigil.protocol import Json

MOST_BYTES = 8 * 1024 * 1024
"""Bytes of an answer; a hundred updates stay far below."""
_SOURCE = "telegram"
_FILE = "telegram-file"
"""Marks the request for a file, whose address has the token elsewhere."""
_JSON = "application/json"


class TelegramRejected(Rejected):
    """Telegram will never take this request as it is. `moved_to`: the chat's new id, 0 when it has
    none.

    `status`: 400 may be about what the request says, 403 is about the chat. `description`:
    Telegram's own words.
    """

    def __init__(self, description: str, moved_to: int = 0, status: int = 400) -> None:
        super().__init__("Telegram", description, source=_SOURCE)
        self.description = description
        self.moved_to = moved_to
        self.status = status


class TelegramApi:
    """One bot's Bot API at `base`. Safe to share between threads; connections are kept until
    `close`.
    """

    def __init__(self, base: str, token: str, transport: Transport | None = None) -> None:
        headers = {"accept-encoding": "identity"}
        try:
            inner = transport() if transport else open_transport(base)
            self._client = httpx.Client(
                base_url=base, headers=headers, transport=_TokenTransport(inner, f"/bot{token}")
            )
        except (httpx.InvalidURL, ValueError) as problem:
            raise UsageError(
                "EINVAL",
                f"the Bot API's address or the proxy's: {type(problem).__name__}",
                source=_SOURCE,
            ) from None

    def call(self, method: str, params: Mapping[str, object], *, timeout: float = TIMEOUT) -> Json:
        """Call `method` and return its result, within `timeout` seconds.

        `BackendError` (EUNAVAILABLE): no answer, or none that helps; `Busy`: too many requests;
        `TelegramRejected`: never.
        """
        return self._request(method, orjson.dumps(params), _JSON, timeout)

    def upload(
        self,
        method: str,
        params: Mapping[str, object],
        field: str,
        file: FormFile,
        *,
        timeout: float = UPLOAD_TIMEOUT,
    ) -> Json:
        """Call a method that takes a file, in `field`, as multipart/form-data
        (https://www.rfc-editor.org/rfc/rfc7578).

        A parameter that is no text travels as JSON.
        """
        fields = {
            name: value if isinstance(value, str) else orjson.dumps(value).decode()
            for name, value in params.items()
        }
        kind, body = make_form(fields, field, file)
        return self._request(method, body, kind, timeout)

    def download(self, path: str, most: int, *, timeout: float = TIMEOUT) -> bytes:
        """Return the file at a path that `getFile` told, within `timeout` seconds.

        `UsageError` ETOOBIG for more than `most` bytes, `BackendError` when it does not come.
        """
        deadline = time.monotonic() + timeout
        body = bytearray()
        try:
            with self._client.stream(
                "GET", f"/file/{path}", timeout=timeout * 0.5, extensions={_FILE: True}
            ) as response:
                if response.status_code != 200:
                    raise BackendError(
                        "EUNAVAILABLE",
                        f"Telegram answered with status {response.status_code}",
                        source=_SOURCE,
                    )
                for chunk in response.iter_raw():
                    body += chunk
                    if len(body) > most:
                        raise UsageError("ETOOBIG", "the file is too large", source=_SOURCE)
                    if time.monotonic() > deadline:
                        raise httpx.ReadError("the file comes too slowly")
        except httpx.HTTPError as problem:
            raise BackendError(
                "EUNAVAILABLE",
                f"Telegram did not answer ({type(problem).__name__})",
                source=_SOURCE,
            ) from None
        return bytes(body)

    def _request(self, method: str, content: bytes, kind: str, timeout: float) -> Json:
        # httpx bounds each wait, not their sum: a body that arrives too slowly is cut off here
        deadline = time.monotonic() + timeout
        waits = httpx.Timeout(timeout * 0.2, read=timeout * 0.5, pool=timeout * 0.1)
        headers = {"content-type": kind}
        body = bytearray()
        try:
            with self._client.stream(
                "POST", f"/{method}", content=content, headers=headers, timeout=waits
            ) as response:
                for chunk in response.iter_raw():
                    body += chunk
                    if len(body) > MOST_BYTES or time.monotonic() > deadline:
                        raise httpx.ReadError("the answer is too long")
        except httpx.HTTPError as problem:
            # its text may name the address
            raise BackendError(
                "EUNAVAILABLE",
                f"Telegram did not answer ({type(problem).__name__})",
                source=_SOURCE,
            ) from None
        return _read_result(response.status_code, bytes(body))

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


class _TokenTransport(httpx.BaseTransport):
    """Puts the token into the address on its way out: httpx logs the address that it was given."""

    def __init__(self, inner: httpx.BaseTransport, prefix: str) -> None:
        self._inner = inner
        self._prefix = prefix.encode()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        url = request.url
        if _FILE in request.extensions:
            base, _, file = url.raw_path.partition(b"/file/")
            path = base + b"/file" + self._prefix + b"/" + file
        else:
            base, _, method = url.raw_path.rpartition(b"/")
            path = base + self._prefix + b"/" + method
        signed = url.copy_with(raw_path=path)
        return self._inner.handle_request(
            httpx.Request(
                request.method,
                signed,
                headers=request.headers,
                stream=request.stream,
                extensions=request.extensions,
            )
        )

    def close(self) -> None:
        self._inner.close()


def _read_result(status: int, body: bytes) -> Json:
    try:
        answer = as_mapping(orjson.loads(body))
    except orjson.JSONDecodeError:
        answer = {}
    if status == 200 and answer.get("ok") is True:
        return answer.get("result")
    parameters = as_mapping(answer.get("parameters"))
    description = as_string(answer.get("description"))
    if status == 429:
        wait = as_integer(parameters.get("retry_after"), 0)
        raise Busy(
            "Telegram asks to slow down",
            source=_SOURCE,
            retry_after=None if wait is None else float(wait),
        )
    if status in (400, 403, 413):
        moved_to = as_integer(parameters.get("migrate_to_chat_id"), -(2**63)) or 0
        raise TelegramRejected(description or f"status {status}", moved_to, status)
    if status == 409:
        raise _explain_conflict(description)
    hint = "check the bot token" if status in (401, 404) else ""
    raise BackendError(
        "EUNAVAILABLE", f"Telegram answered with status {status}", source=_SOURCE, suggestion=hint
    )


def _explain_conflict(description: str) -> ReceivedElsewhere:
    """Return who has the updates instead of us (https://core.telegram.org/bots/api#getupdates)."""
    if "webhook" in description:
        return ReceivedElsewhere(
            "EUNAVAILABLE",
            "Telegram gives no updates while a webhook is set",
            source=_SOURCE,
            suggestion="take it away: uncaged channel unset telegram",
        )
    return ReceivedElsewhere(
        "EUNAVAILABLE",
        "another program polls this bot",
        source=_SOURCE,
        suggestion="end that program, or give each its own bot: TELEGRAM_TOKEN",
    )
