"""Requests to Discord's API (https://discord.com/developers/docs/reference); only this module
speaks HTTP to it.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence

import httpx
import orjson

from functions.channels.base import Busy, Rejected
from functions.channels.discord.reply_address import InteractionAddress
from functions.channels.platform_api.http_client import (
    TIMEOUT,
    UPLOAD_TIMEOUT,
    FormFile,
    HttpClient,
    Transport,
)
from functions.http_connection import HttpAnswer, open_transport
from sigil.errors import BackendError
from sigil.json_fields import as_integer, as_mapping, as_number, as_string
from sigil.protocol import Json

_SOURCE = "discord"
_AGENT = "DiscordBot (https://uncaged.invalid, 1)"
"""Discord refuses another form of it than this one, of an address and a version."""
_TOKEN_PLACE = "(token)"
_TOKEN_HEADER = "x-token-of-path"
_OVER = (10015, 10062, 50027)
"""Unknown webhook, unknown interaction, invalid webhook token."""
UNKNOWN_MESSAGE = 10008
FIRST_ANSWER_SECONDS = 3.0
SETTLING_SECONDS = 10.0
"""So long after a command Discord may not know yet that we have answered it with `THINKING`."""


class DiscordRejected(Rejected):
    """Discord will never take this request as it is. `number` is its own one for why."""

    def __init__(self, status: int, number: int, words: str) -> None:
        said = f"{words} ({number})" if number else words or f"status {status}"
        super().__init__("Discord", said, source=_SOURCE)
        self.status = status
        self.number = number


class InteractionOver(Exception):
    """The interaction can be answered no more, or Discord does not know it yet (`may_begin`)."""

    def __init__(self, *, may_begin: bool = False) -> None:
        super().__init__()
        self.may_begin = may_begin


class DiscordApi:
    """The API at `base` for the bot with `token`, and the files at `files`.

    Safe to share between threads; connections are kept until `close`. `pauses`: the seconds to wait
    before each new try, while Discord does not know an interaction yet.
    """

    def __init__(
        self,
        base: str,
        files: str,
        token: str,
        transport: Transport | None = None,
        pauses: Sequence[float] = (0.5, 1.0, 2.0),
    ) -> None:
        def open_hiding() -> httpx.BaseTransport:
            return _PathTokenTransport(transport() if transport else open_transport(base))

        self._headers = {
            "user-agent": _AGENT,
            "authorization": f"Bot {token}",
        }
        self._client = HttpClient(base, "Discord", _SOURCE, open_hiding)
        self._files = HttpClient(files, "Discord", _SOURCE, transport)
        self._pauses = tuple(pauses)

    def call(
        self, method: str, path: str, fields: object = None, *, timeout: float = TIMEOUT
    ) -> Json:
        """Make a request as the bot, and return what Discord answers.

        `BackendError` (EUNAVAILABLE): no answer, or none that helps; `Busy`: too many requests;
        `DiscordRejected`: never.
        """
        return self._send(method, path, fields, (), self._headers, timeout=timeout)

    def upload(self, path: str, fields: Mapping[str, object], files: Sequence[FormFile]) -> Json:
        """Post a message with files as the bot."""
        return self._send("POST", path, fields, files, self._headers)

    def answer_first(self, address: InteractionAddress, fields: object) -> None:
        """Answer an interaction that came over the gateway; errors as `call`.

        Discord waits for three seconds.
        """
        headers = {"user-agent": _AGENT, _TOKEN_HEADER: address.token}
        place = f"/interactions/{address.interaction.number}/{_TOKEN_PLACE}/callback"
        self._send("POST", place, fields, (), headers, timeout=FIRST_ANSWER_SECONDS)

    def answer(
        self,
        address: InteractionAddress,
        method: str,
        path: str = "",
        fields: object = None,
        files: Sequence[FormFile] = (),
    ) -> Json:
        """Make a request about an answer to an interaction; errors as `call`, and
        `InteractionOver`.
        """
        for pause in (*self._pauses, None):
            try:
                return self.answer_once(address, method, path, fields, files)
            except InteractionOver as over:
                age = time.time() - address.interaction.seconds
                if pause is None or not over.may_begin or age > SETTLING_SECONDS:
                    raise
                time.sleep(pause)
        raise InteractionOver

    def answer_once(
        self,
        address: InteractionAddress,
        method: str,
        path: str = "",
        fields: object = None,
        files: Sequence[FormFile] = (),
        *,
        timeout: float = TIMEOUT,
    ) -> Json:
        """Make a request as `answer`, which is not tried again where Discord does not know the
        interaction yet.
        """
        headers = {
            "user-agent": _AGENT,
            _TOKEN_HEADER: address.token,
        }
        place = f"/webhooks/{address.application}/{_TOKEN_PLACE}{path}"
        try:
            return self._send(method, place, fields, files, headers, timeout=timeout)
        except DiscordRejected as problem:
            if problem.number not in _OVER:
                raise
            raise InteractionOver(may_begin=problem.status == 404) from None

    def download(self, path: str, most: int) -> bytes:
        """Return a file that Discord keeps; `UsageError` ETOOBIG for more than `most` bytes,
        `BackendError` when it does not come.
        """
        agent = {"user-agent": _AGENT}
        answer = self._files.request("GET", f"/{path}", headers=agent, most=most)
        if answer.status != 200:
            raise BackendError(
                "EUNAVAILABLE",
                f"Discord answered with status {answer.status} instead of a file",
                source=_SOURCE,
            )
        return answer.body

    def close(self) -> None:
        """Close the connections."""
        self._client.close()
        self._files.close()

    def _send(
        self,
        method: str,
        path: str,
        fields: object,
        files: Sequence[FormFile],
        headers: Mapping[str, str],
        *,
        timeout: float = TIMEOUT,
    ) -> Json:
        content = b"" if fields is None else orjson.dumps(fields)
        kind = "application/json"
        if files:
            kind, content = _make_form(content, files)
        answer = self._client.request(
            method,
            path,
            headers={**headers, "content-type": kind} if content else headers,
            content=content,
            timeout=UPLOAD_TIMEOUT if files else timeout,
        )
        return _read_answer(answer)


class _PathTokenTransport(httpx.BaseTransport):
    """Puts an interaction's token into the address on its way out: httpx logs the address that it
    was given.
    """

    def __init__(self, inner: httpx.BaseTransport) -> None:
        self._inner = inner

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        token = request.headers.pop(_TOKEN_HEADER, "")
        if token:
            place = httpx.URL(path=f"/{_TOKEN_PLACE}").raw_path[1:]
            path = request.url.raw_path.replace(place, token.encode(), 1)
            request = httpx.Request(
                request.method,
                request.url.copy_with(raw_path=path),
                headers=request.headers,
                stream=request.stream,
                extensions=request.extensions,
            )
        return self._inner.handle_request(request)

    def close(self) -> None:
        self._inner.close()


def _make_form(fields: bytes, files: Sequence[FormFile]) -> tuple[str, bytes]:
    """Return the content type and the body of a form with files
    (https://discord.com/developers/docs/reference#uploading-files).
    """
    boundary = uuid.uuid4().hex
    head = f"--{boundary}\r\ncontent-disposition: form-data; name="
    body = bytearray(f'{head}"payload_json"\r\ncontent-type: application/json\r\n\r\n'.encode())
    body += fields + b"\r\n"
    for number, file in enumerate(files):
        body += f'{head}"files[{number}]"; filename="{file.name}"\r\n'.encode()
        body += f"content-type: {file.kind}\r\n\r\n".encode()
        body += file.content + b"\r\n"
    body += f"--{boundary}--\r\n".encode()
    return f"multipart/form-data; boundary={boundary}", bytes(body)


def _read_answer(answer: HttpAnswer) -> Json:
    try:
        parsed: Json = orjson.loads(answer.body) if answer.body else None
    except orjson.JSONDecodeError:
        parsed = None
    if 200 <= answer.status < 300:
        return parsed
    fields = as_mapping(parsed)
    reason = as_integer(fields.get("code"), 0) or 0
    words = as_string(fields.get("message"))
    if answer.status == 429:
        # whoever is banned for a while gets no JSON, but a header
        told = as_number(fields.get("retry_after")) or _read_seconds(answer)
        raise Busy("Discord asks to slow down", source=_SOURCE, retry_after=told)
    if answer.status in (400, 403, 404, 413) or reason in _OVER:
        raise DiscordRejected(answer.status, reason, words)
    hint = "check DISCORD_TOKEN: the developer portal, Bot, Reset Token"
    raise BackendError(
        "EUNAVAILABLE",
        f"Discord answered with status {answer.status}",
        source=_SOURCE,
        suggestion=hint if answer.status == 401 else "",
    )


def _read_seconds(answer: HttpAnswer) -> float | None:
    text = answer.headers.get("retry-after", "")
    return float(text) if text.isascii() and text.isdigit() and len(text) < 8 else None
