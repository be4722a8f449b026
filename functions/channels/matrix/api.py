"""Requests to the client-server API of a homeserver
(https://spec.matrix.org/latest/client-server-api/); only this module speaks HTTP to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Final
from urllib.parse import quote

import orjson

from functions.channels.base import Busy, Rejected
from functions.channels.platform_api.http_client import (
    ANSWER_BYTES,
    TIMEOUT,
    UPLOAD_TIMEOUT,
    FormFile,
    HttpClient,
    Transport,
)
from functions.http_connection import HttpAnswer
from sigil.errors import BackendError, UsageError, one_line
from sigil.json_fields import as_integer, as_mapping, as_string
from sigil.protocol import Json

_SOURCE: Final = "matrix"
_CLIENT: Final = "/_matrix/client/v3"
_TOKEN: Final = frozenset(("M_UNKNOWN_TOKEN", "M_MISSING_TOKEN", "M_USER_DEACTIVATED"))
_OWNERS: Final = frozenset(("M_CONSENT_NOT_GIVEN", "M_RESOURCE_LIMIT_EXCEEDED", "M_USER_LOCKED"))
"""The owner, or that of the homeserver, can mend these, and then the same request is taken."""
_UNREACHABLE: Final = (
    "M_URL_NOT_SET",
    "M_BAD_STATUS",
    "M_CONNECTION_TIMEOUT",
    "M_CONNECTION_FAILED",
)
"""Why a homeserver does not reach an application service."""
_REFUSAL_BYTES: Final = 1_000
_OLDER_MEDIA: Final = "/_matrix/media/v3/download"


class MatrixRejected(Rejected):
    """The homeserver will never take this request as it is; `error` is its own word for why."""

    def __init__(self, error: str, description: str) -> None:
        super().__init__("the homeserver", description, error, source=_SOURCE)
        self.error = error


class MatrixApi:
    """One account at the homeserver `base`. Safe to share between threads; connections are kept
    until `close`.
    """

    def __init__(self, base: str, token: str, transport: Transport | None = None) -> None:
        self._authorization = {"authorization": f"Bearer {token}"}
        self._http = HttpClient(base, "the homeserver", _SOURCE, transport)

    def call(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | None = None,
        query: Mapping[str, str] | None = None,
        *,
        timeout: float = TIMEOUT,
        most: int = ANSWER_BYTES,
    ) -> Mapping[str, Json]:
        """Call the API and return its answer, within `timeout` seconds.

        `BackendError` (EUNAVAILABLE): no answer, or none that helps; `Busy`: too many requests;
        `MatrixRejected`: never; `UsageError` ETOOBIG for an answer of more than `most` bytes.
        """
        answer = self._http.request(
            method,
            f"{_CLIENT}{path}",
            headers={**self._authorization, "content-type": "application/json"},
            query=query,
            content=b"" if body is None else orjson.dumps(body),
            timeout=timeout,
            most=most,
        )
        return _read_answer(answer)

    def ping_service(self, service: str) -> str:
        """Let the homeserver reach an application service, and return why it does not; empty when
        it does, or cannot be asked to.
        """
        path = f"/_matrix/client/v1/appservice/{quote_id(service)}/ping"
        answer = self._http.request(
            "POST",
            path,
            headers={**self._authorization, "content-type": "application/json"},
            content=b"{}",
            timeout=UPLOAD_TIMEOUT,
        )
        error = ""
        with suppress(orjson.JSONDecodeError):
            error = as_string(as_mapping(orjson.loads(answer.body)).get("errcode"))
        return one_line(error, 100) if error in _UNREACHABLE else ""

    def upload(self, file: FormFile) -> str:
        """Upload a file and return its address; errors as `call`."""
        answer = self._http.request(
            "POST",
            "/_matrix/media/v3/upload",
            headers={**self._authorization, "content-type": file.kind},
            query={"filename": file.name},
            content=file.content,
            timeout=UPLOAD_TIMEOUT,
        )
        return as_string(_read_answer(answer).get("content_uri"))

    def download(self, server: str, id: str, most: int) -> bytes:
        """Return a file by its server and its id there. `UsageError` ETOOBIG for more than `most`
        bytes, `BackendError` when it does not come.
        """
        place = f"{quote(server, safe='')}/{quote(id, safe='')}"
        answer = self._get_file(f"/_matrix/client/v1/media/download/{place}", most)
        if answer.status == 404 and b"M_UNRECOGNIZED" in answer.body[:_REFUSAL_BYTES]:
            # a homeserver from before the middle of 2024
            answer = self._get_file(f"{_OLDER_MEDIA}/{place}", most)
        if answer.status != 200:
            raise BackendError(
                "EUNAVAILABLE",
                f"the homeserver answered with status {answer.status} for a file",
                source=_SOURCE,
            )
        if len(answer.body) > most:
            raise UsageError("ETOOBIG", "the file is too large", source=_SOURCE)
        return answer.body

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def _get_file(self, path: str, most: int) -> HttpAnswer:
        # what says that there is none may be larger than a small file
        most = max(most, _REFUSAL_BYTES)
        return self._http.request(
            "GET", path, headers=self._authorization, timeout=UPLOAD_TIMEOUT, most=most
        )


def quote_id(id: str) -> str:
    """Return an id as a part of a path."""
    return quote(id, safe="")


def _read_answer(answer: HttpAnswer) -> Mapping[str, Json]:
    fields: Mapping[str, Json] | None = None
    try:
        parsed = orjson.loads(answer.body)
        fields = parsed if isinstance(parsed, dict) else None
    except orjson.JSONDecodeError:
        pass
    if answer.status == 200 and fields is not None:
        return fields
    problem = as_mapping(fields)
    error = one_line(as_string(problem.get("errcode")), 100)
    description = as_string(problem.get("error"))
    if answer.status == 429 or error == "M_LIMIT_EXCEEDED":
        raise Busy(
            "the homeserver asks to slow down",
            source=_SOURCE,
            retry_after=_read_pause(problem, answer.headers.get("retry-after", "")),
        )
    if error in _TOKEN or answer.status == 401:
        raise BackendError(
            "EUNAVAILABLE",
            one_line(f"the homeserver does not take our token: {error or answer.status}"),
            source=_SOURCE,
            suggestion="check MATRIX_TOKEN, and that it is one of MATRIX_HOMESERVER",
        )
    if error in _OWNERS:
        raise BackendError(
            "EUNAVAILABLE",
            one_line(f"the homeserver does not serve our account ({error}): {description}"),
            source=_SOURCE,
        )
    if error and answer.status < 500 and error != "M_UNRECOGNIZED":
        raise MatrixRejected(error, description)
    raise BackendError(
        "EUNAVAILABLE",
        f"the homeserver answered with status {answer.status}",
        source=_SOURCE,
        suggestion="check MATRIX_HOMESERVER: it is the address of the client-server API, as"
        " https://SERVER/.well-known/matrix/client tells it"
        if answer.status in (200, 404, 405)
        else "",
    )


def _read_pause(problem: Mapping[str, Json], header: str) -> float | None:
    """Return how many seconds to wait; None when that is not told."""
    if header.isascii() and header.isdigit() and len(header) < 7:
        return float(header)
    milliseconds = as_integer(problem.get("retry_after_ms"), 0)
    return None if milliseconds is None else milliseconds / 1000
