"""The connection to a registry elsewhere: it sends a request, reads the answer, and raises the
failure that a bad answer carries.
"""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from sigil.client.responses import CHECK_ADDRESS, foreign_answer, read_failure
from sigil.errors import BackendError, Refused, UsageError, one_line
from sigil.http.caller_headers import write_caller
from sigil.http.status_codes import error_of
from sigil.protocol import Caller

if TYPE_CHECKING:
    import httpx

ANSWER_BYTES = 64 << 20
CONNECT_SECONDS, READ_SECONDS = 5.0, 15.0
_CHECK_SERVER = "check the address, and that `sigil serve` or `uncaged serve` runs there"


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """One request. `seconds`: how long its answer may take. `content_type`: of the body."""

    method: str
    path: str
    query: Mapping[str, str] | None = None
    body: bytes | None = None
    seconds: float = READ_SECONDS
    accept: str = "application/json"
    content_type: str = "application/json"


@dataclass(frozen=True, slots=True)
class ApiResponse:
    """An answer. `retry_after`: after how many seconds asking again makes sense."""

    status: int
    body: bytes
    retry_after: float = 0.0


class ApiTransport:
    """Sends requests to one address, and its token to that address alone: redirects are not
    followed.
    """

    def __init__(self, url: str, token: str, client: httpx.Client | None = None) -> None:
        self._base = base_of(url)
        self._headers = {"Authorization": f"Bearer {_require_token(token, self._base)}"}
        self._client = client or _new_client()

    def get(self, path: str, caller: Caller, query: Mapping[str, str] | None = None) -> ApiResponse:
        """Send a GET; see `send`."""
        return self.send(ApiRequest("GET", path, query=query), caller)

    def post(
        self,
        path: str,
        body: bytes,
        caller: Caller,
        *,
        seconds: float = READ_SECONDS,
        accept: str = "application/json",
    ) -> ApiResponse:
        """Send a POST with a JSON body; see `send`."""
        request = ApiRequest("POST", path, body=body, seconds=seconds, accept=accept)
        return self.send(request, caller)

    def delete(
        self, path: str, caller: Caller, query: Mapping[str, str] | None = None
    ) -> ApiResponse:
        """Send a DELETE; see `send`."""
        return self.send(ApiRequest("DELETE", path, query=query), caller)

    def send(self, request: ApiRequest, caller: Caller | None) -> ApiResponse:
        """Return a good answer, or raise the failure that a bad one carries. Without a caller no
        token is sent.
        """
        headers = {**self._headers, **write_caller(caller)} if caller else {}
        answer = self._exchange(request, headers)
        if 200 <= answer.status < 300:
            return answer
        if 300 <= answer.status < 400:
            raise self._unavailable(
                "answers with a redirect, which is not followed", "use the final address"
            )
        failure = read_failure(answer.body)
        if failure is None:
            raise self._unavailable(
                f"answers {answer.status}, and not as Sigil does", CHECK_ADDRESS
            )
        fields, logs = failure
        problem = error_of(answer.status, fields)
        problem.logs = logs
        problem.retry_after = answer.retry_after
        if isinstance(problem, Refused) and problem.code == "EAUTH":
            # what helps against a token that is not known is this side's to say
            problem.suggestion = _login(self._base)
        raise problem

    def close(self) -> None:
        """Give the connections back."""
        self._client.close()

    def _exchange(self, request: ApiRequest, headers: Mapping[str, str]) -> ApiResponse:
        import httpx

        sent = {**headers, "Accept": request.accept}
        if request.body:
            sent["Content-Type"] = request.content_type
        built = self._client.build_request(
            request.method,
            self._base + request.path,
            params=request.query,
            content=request.body,
            headers=sent,
            timeout=httpx.Timeout(request.seconds, connect=CONNECT_SECONDS),
        )
        try:
            with closing(self._client.send(built, stream=True, follow_redirects=False)) as response:
                return ApiResponse(
                    response.status_code,
                    _read_body(response),
                    _read_seconds(response.headers.get("Retry-After", "")),
                )
        except httpx.TimeoutException:
            raise self._unavailable("did not answer in time") from None
        except httpx.HTTPError as problem:
            raise self._unavailable(*_explain(problem)) from None

    def _unavailable(self, what: str, suggestion: str = _CHECK_SERVER) -> BackendError:
        return BackendError(
            "EUNAVAILABLE", f"the registry at {self._base} {what}", suggestion=suggestion
        )


def _new_client() -> httpx.Client:
    import httpx

    return httpx.Client()


def _explain(problem: Exception) -> tuple[str, str]:
    """Return what kept a request from its answer, and what helps. An exception's own text may quote
    headers, and with them the token.
    """
    import httpx

    causes = [*_causes(problem)]
    certificate = next(
        (cause for cause in causes if isinstance(cause, ssl.SSLCertVerificationError)), None
    )
    if certificate:
        reason = one_line(str(certificate.verify_message), 120)
        return (
            f"shows a certificate that is not trusted: {reason}",
            "SSL_CERT_FILE names a file of certificates that you trust",
        )
    if any(isinstance(cause, ssl.SSLError) for cause in causes):
        return (
            "does not speak TLS as it should",
            "check whether the address begins with http: or https:, and its port",
        )
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        return "has a name that nobody knows", "check the address"
    if isinstance(problem, httpx.RemoteProtocolError):
        return (
            "hangs up, or does not speak HTTP",
            "check whether the address begins with http: or https:, and its port",
        )
    return "cannot be reached", _CHECK_SERVER


def _causes(problem: BaseException | None) -> Iterator[BaseException]:
    while problem:
        yield problem
        problem = problem.__cause__ or problem.__context__


def _login(base: str) -> str:
    return (
        f"`sigil login --url {base}` asks for a token and keeps it for `sigil`; SIGIL_TOKEN gives"
        " one to every program"
    )


def _read_seconds(header: str) -> float:
    return float(header) if re.fullmatch("[0-9]{1,5}", header) else 0.0


def base_of(url: str) -> str:
    """Return the address without a slash at its end; `UsageError` when it is none."""
    try:
        parts = urlsplit(url)
        good = (
            parts.scheme in ("http", "https")
            and parts.hostname
            and parts.username is None
            and not parts.query
            and not parts.fragment
        )
    except ValueError:
        good = False
    if not good or not re.fullmatch(r"[!-~]+", url):
        message = "the registry's address is no http or https address"
        raise UsageError(
            "ESETTING",
            message,
            suggestion="give one such as https://sigil.example.com as --url or SIGIL_URL",
        )
    return url.rstrip("/")


def _require_token(token: str, base: str) -> str:
    if not token:
        raise Refused("EAUTH", f"there is no token for {base}", suggestion=_login(base))
    if not re.fullmatch(r"[!-~]{1,4096}", token):
        raise Refused(
            "EAUTH",
            f"what is given as the token for {base} is none: it has no spaces and only ASCII",
            suggestion=_login(base),
        )
    return token


def _read_body(response: httpx.Response) -> bytes:
    body = bytearray()
    for chunk in response.iter_bytes():
        body += chunk
        if len(body) > ANSWER_BYTES:
            raise foreign_answer()
    return bytes(body)
