"""A line to a registry elsewhere: one request, one answer, and the failure that a bad answer carries."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from sigil import wire
from sigil.errors import BackendError, UsageError
from sigil.protocol import Caller, Json
from sigil.statuses import error_of
from sigil.strict import loads

if TYPE_CHECKING:
    import httpx

ANSWER_BYTES = 64 << 20
CONNECT_SECONDS, READ_SECONDS = 5.0, 15.0


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked. `seconds`: how long the answer may take."""

    method: str
    path: str
    query: Mapping[str, str] | None = None
    body: bytes | None = None
    seconds: float = READ_SECONDS
    accept: str = "application/json"


@dataclass(frozen=True, slots=True)
class Answer:
    """A good answer."""

    status: int
    body: bytes

    @property
    def object(self) -> dict[str, Json]:
        """The JSON object in it; `BackendError` when it holds none."""
        value = loads(self.body)
        if not isinstance(value, dict):
            raise wire.strange()
        return value


class Line:
    """Sends requests to one address, and its token to that address alone: redirects are not followed."""

    def __init__(self, url: str, token: str, client: httpx.Client | None = None) -> None:
        self._base = base_of(url)
        self._headers = {"Authorization": f"Bearer {_token(token)}"}
        self._client = client or _client()

    def send(self, request: Request, caller: Caller | None) -> Answer:
        """A good answer; the failure that a bad one carries is raised. Without a caller no token is sent."""
        answer = self._exchange(request, {**self._headers, **wire.headers_of(caller)} if caller else {})
        if 200 <= answer.status < 300:
            return answer
        if 300 <= answer.status < 400:
            raise self._unavailable("answers with a redirect, which is not followed", "set SIGIL_URL to the final address")
        failure = wire.read_failure(answer.body)
        if failure is None:
            raise self._unavailable(f"answers {answer.status}, and not as Sigil does", wire.ELSEWHERE)
        problem = error_of(answer.status, failure[0])
        problem.logs = failure[1]
        raise problem

    def close(self) -> None:
        """Give the connections back."""
        self._client.close()

    def _exchange(self, request: Request, headers: Mapping[str, str]) -> Answer:
        import httpx

        given = {**headers, "Accept": request.accept, "Content-Type": "application/json"}
        built = self._client.build_request(
            request.method,
            self._base + request.path,
            params=request.query,
            content=request.body,
            headers=given,
            timeout=httpx.Timeout(request.seconds, connect=CONNECT_SECONDS),
        )
        try:
            with closing(self._client.send(built, stream=True, follow_redirects=False)) as response:
                return Answer(response.status_code, _bounded(response))
        except httpx.TimeoutException:
            raise self._unavailable("did not answer in time") from None
        except httpx.HTTPError:
            # The exception's own text may quote headers, and with them the token.
            raise self._unavailable("cannot be reached") from None

    def _unavailable(self, what: str, suggestion: str = "check SIGIL_URL, and that `uncaged serve` runs there") -> BackendError:
        return BackendError("EUNAVAILABLE", f"the registry at {self._base} {what}", suggestion=suggestion)


def _client() -> httpx.Client:
    import httpx

    return httpx.Client()


def base_of(url: str) -> str:
    """The address as it is asked, without a slash at its end; `UsageError` when it is none."""
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and parts.hostname and parts.username is None and not parts.query and not parts.fragment
    except ValueError:
        good = False
    if not good or not re.fullmatch(r"[!-~]+", url):
        raise UsageError("ESETTING", "SIGIL_URL is no http or https address", suggestion="such as https://sigil.example.com")
    return url.rstrip("/")


def _token(token: str) -> str:
    if not re.fullmatch(r"[!-~]{1,4096}", token):
        raise UsageError("ESETTING", "SIGIL_TOKEN is missing or no bearer token", suggestion="set SIGIL_TOKEN to the registry's token")
    return token


def _bounded(response: httpx.Response) -> bytes:
    body = bytearray()
    for chunk in response.iter_bytes():
        body += chunk
        if len(body) > ANSWER_BYTES:
            raise wire.strange()
    return bytes(body)
