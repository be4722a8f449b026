"""The connection to a registry elsewhere: it sends a request, reads the answer, and raises the
failure that a bad answer carries.
"""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Mapping
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
CONNECT_SECONDS = 5.0
READ_SECONDS = 15.0
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
    """A transport that sends requests to one address, and its token to that address alone:
    redirects are not followed.
    """

    def __init__(self, url: str, token: str, client: httpx.Client | None = None) -> None:
        self._base = base_of(url)
        self._headers = {"Authorization": f"Bearer {_require_token(token, self._base)}"}
        if client is None:
            import httpx

            client = httpx.Client()
        self._client = client

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
        answer = self._send_and_read(request, headers)
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
            problem.suggestion = _suggest_login(self._base)
        raise problem

    def close(self) -> None:
        """Give the connections back."""
        self._client.close()

    def _send_and_read(self, request: ApiRequest, headers: Mapping[str, str]) -> ApiResponse:
        import httpx

        all_headers = {**headers, "Accept": request.accept}
        if request.body:
            all_headers["Content-Type"] = request.content_type
        built = self._client.build_request(
            request.method,
            self._base + request.path,
            params=request.query,
            content=request.body,
            headers=all_headers,
            timeout=httpx.Timeout(request.seconds, connect=CONNECT_SECONDS),
        )
        try:
            with closing(self._client.send(built, stream=True, follow_redirects=False)) as response:
                retry_after = response.headers.get("Retry-After", "")
                seconds = float(retry_after) if re.fullmatch("[0-9]{1,5}", retry_after) else 0.0
                body = bytearray()
                for chunk in response.iter_bytes():
                    body += chunk
                    if len(body) > ANSWER_BYTES:
                        raise foreign_answer()
                return ApiResponse(response.status_code, bytes(body), seconds)
        except httpx.TimeoutException:
            raise self._unavailable("did not answer in time") from None
        except httpx.HTTPError as problem:
            raise self._unavailable(*_explain_failure(problem)) from None

    def _unavailable(self, what: str, suggestion: str = _CHECK_SERVER) -> BackendError:
        return BackendError(
            "EUNAVAILABLE", f"the registry at {self._base} {what}", suggestion=suggestion
        )


def _explain_failure(problem: Exception) -> tuple[str, str]:
    """Return why a request got no answer, and a suggestion.

    An exception's own text may quote headers, and with them the token.
    """
    import httpx

    causes: list[BaseException] = []
    cause: BaseException | None = problem
    while cause:
        causes.append(cause)
        cause = cause.__cause__ or cause.__context__
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
        return "has an unknown host name", "check the address"
    if isinstance(problem, httpx.RemoteProtocolError):
        return (
            "hangs up, or does not speak HTTP",
            "check whether the address begins with http: or https:, and its port",
        )
    return "cannot be reached", _CHECK_SERVER


def _suggest_login(base: str) -> str:
    return (
        f"`sigil login --url {base}` asks for a token and keeps it for `sigil`; SIGIL_TOKEN gives"
        " one to every program"
    )


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
        message = "the registry's address is not a plain http or https address"
        raise UsageError(
            "ESETTING",
            message,
            suggestion="give one such as https://sigil.example.com as --url or SIGIL_URL",
        )
    return url.rstrip("/")


def _require_token(token: str, base: str) -> str:
    """Return `token`; `Refused` EAUTH when it is missing or cannot be one."""
    if not token:
        raise Refused("EAUTH", f"there is no token for {base}", suggestion=_suggest_login(base))
    if not re.fullmatch(r"[!-~]{1,4096}", token):
        raise Refused(
            "EAUTH",
            f"the token for {base} is not valid: it has no spaces and only ASCII",
            suggestion=_suggest_login(base),
        )
    return token
