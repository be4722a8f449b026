"""Requests to the Bot API (https://core.telegram.org/bots/api#making-requests); only this module
speaks HTTP to it.
"""

from __future__ import annotations

from collections.abc import Mapping

import httpx
import orjson

from functions.channels.base import Busy, Rejected
from functions.channels.listening.updates import ReceivedElsewhere
from functions.channels.platform_api.http_client import (
    TIMEOUT,
    UPLOAD_TIMEOUT,
    FormFile,
    HttpClient,
    Transport,
    make_form,
)
from functions.http_connection import open_transport
from sigil.errors import BackendError, UsageError
from sigil.json_fields import as_integer, as_mapping, as_string
from sigil.protocol import Json

MOST_BYTES = 8 * 1024 * 1024
"""Bytes of an answer; a hundred updates stay far below."""
_SOURCE = "telegram"
_FILE_HEADER = "x-file-of-bot"
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


class UnknownMethod(BackendError):
    """The server of the Bot API has no such method, or none for this token."""


class TelegramApi:
    """One bot's Bot API at `base`. Safe to share between threads; connections are kept until
    `close`.
    """

    def __init__(self, base: str, token: str, transport: Transport | None = None) -> None:
        def open_hiding() -> httpx.BaseTransport:
            inner = transport() if transport else open_transport(base)
            return _TokenTransport(inner, f"/bot{token}")

        self._http = HttpClient(base, "Telegram", _SOURCE, open_hiding)

    def call(self, method: str, params: Mapping[str, object], *, timeout: float = TIMEOUT) -> Json:
        """Call `method` and return its result, within `timeout` seconds.

        `BackendError` (EUNAVAILABLE): no answer, or none that helps, `UnknownMethod` among them;
        `Busy`: too many requests; `TelegramRejected`: never.
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
        answer = self._http.request(
            "GET", f"/file/{path}", headers={_FILE_HEADER: "1"}, timeout=timeout, most=most
        )
        if answer.status != 200:
            raise BackendError(
                "EUNAVAILABLE", f"Telegram answered with status {answer.status}", source=_SOURCE
            )
        return answer.body

    def _request(self, method: str, content: bytes, kind: str, timeout: float) -> Json:
        try:
            answer = self._http.request(
                "POST",
                f"/{method}",
                headers={"content-type": kind},
                content=content,
                timeout=timeout,
                most=MOST_BYTES,
            )
        except UsageError as problem:
            raise BackendError("EUNAVAILABLE", problem.message, source=_SOURCE) from None
        return _read_result(answer.status, answer.body)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()


class _TokenTransport(httpx.BaseTransport):
    """Puts the token into the address on its way out: httpx logs the address that it was given."""

    def __init__(self, inner: httpx.BaseTransport, prefix: str) -> None:
        self._inner = inner
        self._prefix = prefix.encode()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        url = request.url
        if request.headers.pop(_FILE_HEADER, ""):
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
    error = UnknownMethod if status == 404 else BackendError
    raise error(
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
