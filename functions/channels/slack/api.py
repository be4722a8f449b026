"""Requests to Slack's Web API (https://docs.slack.dev/apis/web-api); only this module speaks HTTP
to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from functools import partial
from urllib.parse import urlencode, urlsplit

import httpx
import orjson

from functions.channels.base import Busy, Rejected
from functions.channels.platform_api.http_client import (
    TIMEOUT,
    UPLOAD_TIMEOUT,
    HttpClient,
    Transport,
)
from functions.http_connection import HttpAnswer, open_transport
from sigil.errors import BackendError, one_line
from sigil.json_fields import as_mapping, as_string
from sigil.protocol import Json

_SOURCE = "slack"
HOSTS = (".slack.com", ".slack-gov.com")
"""Files and the answers to commands go to hosts of Slack's own, whatever a body says."""
_TOKEN_ERRORS = (
    "invalid_auth",
    "not_authed",
    "account_inactive",
    "token_revoked",
    "token_expired",
    "not_allowed_token_type",
    "missing_scope",
    "no_permission",
    "ekm_access_denied",
)
"""The owner can mend these, and then the same request is taken."""
_LATER_ERRORS = (
    "internal_error",
    "fatal_error",
    "service_unavailable",
    "request_timeout",
    "team_added_to_org",
    "org_login_required",
)


class SlackRejected(Rejected):
    """Slack will never take this request as it is; `error` is Slack's own word for why."""

    def __init__(self, error: str) -> None:
        super().__init__("Slack", error, source=_SOURCE)
        self.error = error


class SlackApi:
    """One bot's Web API at `base`. Safe to share between threads; connections are kept until
    `close`.
    """

    def __init__(self, base: str, token: str, transport: Transport | None = None) -> None:
        self._base = urlsplit(base)
        self._authorization = {"authorization": f"Bearer {token}"}
        self._transport = transport
        self._client = HttpClient(base, "Slack", _SOURCE, transport)

    def call(
        self, method: str, params: Mapping[str, object], *, timeout: float = TIMEOUT
    ) -> tuple[Mapping[str, Json], str]:
        """Call `method`, and return its answer and the scopes of our token.

        `BackendError` (EUNAVAILABLE): no answer, or none that helps; `Busy`: too many requests;
        `SlackRejected`: never.
        """
        # JSON is taken by the methods that write alone, a form by all of them
        form = {
            name: value if isinstance(value, str) else orjson.dumps(value).decode()
            for name, value in params.items()
        }
        headers = {"content-type": "application/x-www-form-urlencoded"} | self._authorization
        content = urlencode(form).encode()
        answer = self._client.request(
            "POST", f"/{method}", headers=headers, content=content, timeout=timeout
        )
        return _read_answer(answer), answer.headers.get("x-oauth-scopes", "")

    def respond(self, url: str, message: Mapping[str, object]) -> None:
        """Send a message to the address that a command came with; errors as `call`."""
        headers = {"content-type": "application/json"}
        with closing(self._open_client(url)) as client:
            answer = client.request("POST", "/", headers=headers, content=orjson.dumps(message))
        # it answers `ok`, or an error as plain text
        if answer.status == 429 or answer.status >= 500:
            _read_answer(answer)
        if answer.status != 200:
            error = answer.body[:100].decode("utf-8", "replace")
            raise SlackRejected(error or f"status {answer.status}")

    def upload(self, url: str, content: bytes) -> None:
        """Send the bytes of a file to the address that `files.getUploadURLExternal` told."""
        headers = {"content-type": "application/octet-stream"}
        with closing(self._open_client(url)) as client:
            answer = client.request(
                "POST", "/", headers=headers, content=content, timeout=UPLOAD_TIMEOUT
            )
        if answer.status != 200:
            _read_answer(answer)

    def download(self, url: str, mime: str, most: int) -> bytes:
        """Return the file at an address that `files.info` told, with its type; `UsageError` ETOOBIG
        for more than `most` bytes.
        """
        with closing(self._open_client(url)) as client:
            answer = client.request("GET", "/", headers=self._authorization, most=most)
        # without the scope, Slack answers with its page to sign in
        is_page = answer.headers.get("content-type", "").startswith("text/html")
        if answer.status != 200 or (is_page and mime != "text/html"):
            raise BackendError(
                "EUNAVAILABLE",
                f"Slack answered with status {answer.status} for a file",
                source=_SOURCE,
                suggestion="give the app the scope files:read",
            )
        return answer.body

    def trusts(self, url: str) -> bool:
        """Return whether an address is one of Slack's own, or of the server that stands for it."""
        try:
            parts = urlsplit(url)
            if parts.username is not None:
                return False
            host = parts.hostname or ""
            is_slack = parts.scheme == "https" and parts.port in (None, 443)
            return (is_slack and host.endswith(HOSTS)) or (
                (parts.scheme, parts.netloc) == (self._base.scheme, self._base.netloc)
            )
        except ValueError:
            return False

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _open_client(self, url: str) -> HttpClient:
        """Return a client all of whose requests go to one address."""
        if not self.trusts(url):
            raise BackendError("EUNAVAILABLE", "Slack names a foreign address", source=_SOURCE)
        parts = urlsplit(url)
        inner = self._transport or partial(open_transport, url)
        transport = partial(_open_address, inner, url)
        return HttpClient(f"{parts.scheme}://{parts.netloc}", "Slack", _SOURCE, transport)


def _open_address(inner: Transport, address: str) -> httpx.BaseTransport:
    return _AddressTransport(inner(), address)


class _AddressTransport(httpx.BaseTransport):
    """Sends requests to an address that is a secret of its own: httpx logs the one that it was
    given.
    """

    def __init__(self, inner: httpx.BaseTransport, address: str) -> None:
        self._inner = inner
        self._address = httpx.URL(address)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return self._inner.handle_request(
            httpx.Request(
                request.method,
                self._address,
                headers=request.headers,
                stream=request.stream,
                extensions=request.extensions,
            )
        )

    def close(self) -> None:
        self._inner.close()


def _read_answer(answered: HttpAnswer) -> Mapping[str, Json]:
    """Return an answer that says `ok`; errors as `SlackApi.call`."""
    status = answered.status
    try:
        answer = as_mapping(orjson.loads(answered.body))
    except orjson.JSONDecodeError:
        answer = {}
    if status == 200 and answer.get("ok") is True:
        return answer
    error = one_line(as_string(answer.get("error")), 100)
    if status == 429 or error in ("ratelimited", "rate_limited"):
        raise Busy(
            "Slack asks to slow down",
            source=_SOURCE,
            retry_after=_read_seconds(answered.headers.get("retry-after", "")),
        )
    if error in _TOKEN_ERRORS or status in (401, 403):
        needed = one_line(as_string(answer.get("needed")), 100)
        hint = f"give the app the scope {needed}" if needed else "check SLACK_TOKEN"
        raise BackendError(
            "EUNAVAILABLE",
            f"Slack does not take our token: {error or status}",
            source=_SOURCE,
            suggestion=hint,
        )
    if not error or status >= 500 or error in _LATER_ERRORS:
        raise BackendError(
            "EUNAVAILABLE", f"Slack answered with {error or f'status {status}'}", source=_SOURCE
        )
    raise SlackRejected(error)


def _read_seconds(text: str) -> float | None:
    return float(text) if text.isascii() and text.isdigit() and len(text) < 7 else None
