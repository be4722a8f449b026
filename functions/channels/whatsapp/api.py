"""Requests to Meta's Graph API for one phone number
(https://developers.facebook.com/docs/whatsapp/cloud-api/reference); only this module speaks HTTP to
it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

import orjson

from functions.channels.base import Busy, ChatClosed, Rejected
from functions.channels.platform_api.http_client import (
    TIMEOUT,
    UPLOAD_TIMEOUT,
    FormFile,
    HttpClient,
    Transport,
    make_form,
)
from functions.channels.whatsapp.events import WINDOW_CLOSED
from functions.http_connection import HttpAnswer
from sigil.errors import BackendError, UsageError, one_line
from sigil.json_fields import as_integer, as_mapping, as_string
from sigil.protocol import Json

_SOURCE: Final = "whatsapp"
FILE_HOST: Final = "lookaside.fbsbx.com"
"""Where files are; the token goes to no other host than this and the API's own."""
_BUSY: Final = frozenset((4, 80007, 130429, 131048, 131056, 133016))
_TOKEN: Final = frozenset((0, 10, 102, 190, 200))
"""The access token has ended, or has not the right: nothing that is about a message."""


class WhatsAppRejected(Rejected):
    """WhatsApp will never take this request as it is; `number` says why."""

    def __init__(self, number: int, description: str) -> None:
        super().__init__("WhatsApp", description, number, source=_SOURCE)
        self.number = number


class WhatsAppApi:
    """The Graph API at `base`, its version included. Safe to share between threads; connections are
    kept until `close`.
    """

    def __init__(self, base: str, token: str, transport: Transport | None = None) -> None:
        self._headers = {"authorization": f"Bearer {token}"}
        self._base = base
        self._transport = transport
        self._http = HttpClient(base, "WhatsApp", _SOURCE, transport)

    def call(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | None = None,
        query: Mapping[str, str] | None = None,
        *,
        timeout: float = TIMEOUT,
    ) -> Mapping[str, Json]:
        """Call the API and return its answer, within `timeout` seconds.

        `BackendError` (EUNAVAILABLE): no answer, or none that helps; `Busy`: too many requests;
        `ChatClosed`: not before the person writes; `WhatsAppRejected`: never.
        """
        answer = self._http.request(
            method,
            path,
            headers={**self._headers, "content-type": "application/json"},
            query=query,
            content=b"" if body is None else orjson.dumps(body),
            timeout=timeout,
        )
        return _read_answer(answer)

    def upload(self, path: str, fields: Mapping[str, str], file: FormFile) -> Mapping[str, Json]:
        """Upload a file and return the answer; errors as `call`."""
        kind, content = make_form(fields, "file", file)
        answer = self._http.request(
            "POST",
            path,
            headers={**self._headers, "content-type": kind},
            content=content,
            timeout=UPLOAD_TIMEOUT,
        )
        return _read_answer(answer)

    def download(self, id: str, most: int) -> bytes:
        """Return a file by its id. `UsageError` ETOOBIG for more than `most` bytes, `BackendError`
        when it does not come.
        """
        found = self.call("GET", f"/{id}")
        if (as_integer(found.get("file_size"), 0) or 0) > most:
            raise UsageError("ETOOBIG", "the file is too large", source=_SOURCE)
        try:
            address = urlsplit(as_string(found.get("url")))
        except ValueError:
            raise BackendError("EUNAVAILABLE", "WhatsApp names no file", source=_SOURCE) from None
        own = urlsplit(self._base)
        here = (address.scheme, address.netloc) == (own.scheme, own.netloc)
        if not here and (address.scheme, address.netloc) != ("https", FILE_HOST):
            raise BackendError("EUNAVAILABLE", "WhatsApp names no file of its own", source=_SOURCE)
        path = f"{address.path}?{address.query}" if address.query else address.path
        client = HttpClient(
            f"{address.scheme}://{address.netloc}", "WhatsApp", _SOURCE, self._transport
        )
        try:
            answer = client.request("GET", path, headers=self._headers, most=most)
        finally:
            client.close()
        if answer.status != 200:
            raise BackendError(
                "EUNAVAILABLE", f"WhatsApp answered with status {answer.status}", source=_SOURCE
            )
        return answer.body

    def close(self) -> None:
        """Close the connections."""
        self._http.close()


def _read_answer(answer: HttpAnswer) -> Mapping[str, Json]:
    try:
        fields = as_mapping(orjson.loads(answer.body))
    except orjson.JSONDecodeError:
        fields = {}
    problem = as_mapping(fields.get("error"))
    if answer.status == 200 and fields and not problem:
        return fields
    number = as_integer(problem.get("code"), 0) or 0
    if answer.status == 429 or number in _BUSY:
        wait = answer.headers.get("retry-after", "")
        seconds = float(wait) if wait.isascii() and wait.isdigit() and len(wait) < 6 else None
        raise Busy("WhatsApp asks to slow down", source=_SOURCE, retry_after=seconds)
    details = as_string(as_mapping(problem.get("error_data")).get("details"))
    description = details or as_string(problem.get("message"))
    if answer.status == 401 or (problem and number in _TOKEN):
        raise BackendError(
            "EUNAVAILABLE",
            one_line(f"WhatsApp does not take the access token: {description}"),
            source=_SOURCE,
            suggestion="check WHATSAPP_TOKEN: it is that of a system user, which does not end",
        )
    if number == WINDOW_CLOSED:
        raise ChatClosed(
            one_line(f"the person has not written lately: {description}"), source=_SOURCE
        )
    if problem and answer.status < 500:
        raise WhatsAppRejected(number, description)
    raise BackendError(
        "EUNAVAILABLE", f"WhatsApp answered with status {answer.status}", source=_SOURCE
    )
