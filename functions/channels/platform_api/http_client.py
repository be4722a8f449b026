"""Requests to a chat platform's API: each ends at its deadline, and no answer is larger than its
caller allows.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import httpx

from functions.http_connection import HttpAnswer, open_transport
from sigil.errors import BackendError, UsageError

TIMEOUT = 20.0
UPLOAD_TIMEOUT = 60.0
ANSWER_BYTES = 8 * 1024 * 1024

Transport = Callable[[], httpx.BaseTransport]


@dataclass(frozen=True, slots=True)
class FormFile:
    """A file in a form: its name has no quotes and no line breaks."""

    name: str
    kind: str
    content: bytes


class HttpClient:
    """The API of a `platform` (its name for people) at `base`, whose errors are of `source`.

    Safe to share between threads; connections are kept until `close`. Redirects are not followed:
    what a request carries is for this address alone.
    """

    def __init__(
        self, base: str, platform: str, source: str, transport: Transport | None = None
    ) -> None:
        self._platform = platform
        self._source = source
        try:
            inner = transport() if transport else open_transport(base)
            self._client = httpx.Client(
                base_url=base, headers={"accept-encoding": "identity"}, transport=inner
            )
        except (httpx.InvalidURL, ValueError) as problem:
            raise UsageError(
                "EINVAL",
                f"the API's address or the proxy's: {type(problem).__name__}",
                source=source,
            ) from None

    def request(
        self,
        method: str,
        path: str,
        *,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
        content: bytes = b"",
        timeout: float = TIMEOUT,
        most: int = ANSWER_BYTES,
    ) -> HttpAnswer:
        """Return the answer, whatever its status.

        `BackendError` when none comes within `timeout` seconds; `UsageError` ETOOBIG for one of
        more than `most` bytes.
        """
        # httpx bounds each wait, not their sum: a body that arrives too slowly is cut off here
        deadline = time.monotonic() + timeout
        waits = httpx.Timeout(timeout * 0.2, read=timeout * 0.5, pool=timeout * 0.1)
        body = bytearray()
        try:
            with self._client.stream(
                method, path, params=query, content=content, headers=headers, timeout=waits
            ) as response:
                for chunk in response.iter_raw():
                    body += chunk
                    if len(body) > most:
                        raise UsageError("ETOOBIG", "the answer is too large", source=self._source)
                    if time.monotonic() > deadline:
                        raise httpx.ReadError("the answer comes too slowly")
                names = {name.lower(): value for name, value in response.headers.items()}
                return HttpAnswer(response.status_code, names, bytes(body))
        except httpx.HTTPError as problem:
            # its text may name the address
            raise BackendError(
                "EUNAVAILABLE",
                f"{self._platform} did not answer ({type(problem).__name__})",
                source=self._source,
            ) from None

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


def make_form(fields: Mapping[str, str], field: str, file: FormFile) -> tuple[str, bytes]:
    """Return the content type and the body of a form with a file in `field`
    (https://www.rfc-editor.org/rfc/rfc7578).
    """
    boundary = uuid.uuid4().hex
    head = f"--{boundary}\r\ncontent-disposition: form-data; name="
    body = bytearray()
    for name, value in fields.items():
        body += f'{head}"{name}"\r\n\r\n{value}\r\n'.encode()
    body += f'{head}"{field}"; filename="{file.name}"\r\n'.encode()
    body += f"content-type: {file.kind}\r\n\r\n".encode()
    body += file.content
    body += f"\r\n--{boundary}--\r\n".encode()
    return f"multipart/form-data; boundary={boundary}", bytes(body)
