"""A registry behind HTTP, with the verbs, values and errors of one in this process."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from sigil import wire
from sigil.errors import BackendError, UsageError
from sigil.protocol import Caller, Deployed, Found, Json, Ran, Ref
from sigil.statuses import error_of
from sigil.strict import dumps, loads

if TYPE_CHECKING:
    import httpx

QUERY_CHARACTERS, QUERY_MOST = 2_000, 50
ANSWER_BYTES = 64 << 20
CONNECT_SECONDS, READ_SECONDS, RUN_SECONDS, DEPLOY_SECONDS = 5.0, 15.0, 40.0, 180.0


class RemoteRegistry:
    """Sigil over its HTTP API (docs/sigil.md). Every verb raises what the registry in this process would.

    `url`: where the API lives, with a path when it is mounted under one. `token`: its bearer token, sent to that place alone:
    redirects are not followed. `client`: an httpx client to use instead of an own one.
    """

    def __init__(self, url: str, token: str, *, client: httpx.Client | None = None) -> None:
        self._base = _base(url)
        self._headers = {"Authorization": f"Bearer {_token(token)}"}
        self._client = client or _client()

    def query(self, text: str, caller: Caller, *, limit: int = 3) -> Found:
        """See `Registry.query`."""
        query = {"q": _sendable(text[:QUERY_CHARACTERS]), "mode": "find", "limit": str(min(max(limit, 1), QUERY_MOST))}
        return wire.read_found(self._send(_Request("GET", "/_api/query", query=query), caller).body)

    def inspect(self, ref: str, caller: Caller) -> dict[str, Json]:
        """See `Registry.inspect`."""
        return _object(self._send(_Request("GET", f"/_api/inspect/{_path(ref)}"), caller).body)

    def deploy(self, spec: Mapping[str, Json], caller: Caller) -> Deployed:
        """See `Registry.deploy`."""
        answer = self._send(_Request("POST", "/_api/deploy", body=dumps(dict(spec)), seconds=DEPLOY_SECONDS), caller)
        return wire.read_deployed(answer.body, created=answer.status == 201)

    def run(self, ref: str, arguments: Mapping[str, Json], caller: Caller) -> Ran:
        """See `Registry.run`."""
        path, body = f"/run/{_path(ref)}", dumps(dict(arguments), source=ref)
        return wire.read_ran(self._send(_Request("POST", path, body=body, seconds=RUN_SECONDS, accept=wire.REPORT), caller).body)

    def list(self, caller: Caller) -> Iterator[dict[str, Json]]:
        """See `Keeper.list`."""
        return iter(wire.read_rows(self._send(_Request("GET", "/_api/list"), caller).body))

    def remove(self, name: str, caller: Caller) -> None:
        """See `Keeper.remove`."""
        self._send(_Request("DELETE", "/_api/remove", query={"name": _sendable(name)}), caller)

    def health(self) -> dict[str, Json]:
        """What the registry says of itself; no token is sent."""
        return _object(self._send(_Request("GET", "/_health"), None).body)

    def close(self) -> None:
        """Give the connections back."""
        self._client.close()

    def _send(self, request: _Request, caller: Caller | None) -> _Answer:
        """A good answer; the failure that a bad one carries is raised."""
        answer = self._exchange(request, {**self._headers, **wire.headers_of(caller)} if caller else {})
        if 200 <= answer.status < 300:
            return answer
        if 300 <= answer.status < 400:
            raise self._unavailable("answers with a redirect, which is not followed", "set SIGIL_URL to the final address")
        fields = wire.read_failure(answer.body)
        if fields is None:
            raise self._unavailable(f"answers {answer.status}, and not as Sigil does", wire.ELSEWHERE)
        raise error_of(answer.status, fields)

    def _exchange(self, request: _Request, headers: Mapping[str, str]) -> _Answer:
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
                return _Answer(response.status_code, _bounded(response))
        except httpx.TimeoutException:
            raise self._unavailable("did not answer in time") from None
        except httpx.HTTPError:
            # The exception's own text may quote headers, and with them the token.
            raise self._unavailable("cannot be reached") from None

    def _unavailable(self, what: str, suggestion: str = "check SIGIL_URL, and that `uncaged serve` runs there") -> BackendError:
        return BackendError("EUNAVAILABLE", f"the registry at {self._base} {what}", suggestion=suggestion)


@dataclass(frozen=True, slots=True)
class _Request:
    method: str
    path: str
    query: Mapping[str, str] | None = None
    body: bytes | None = None
    seconds: float = READ_SECONDS
    accept: str = "application/json"


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    body: bytes


def _client() -> httpx.Client:
    import httpx

    return httpx.Client()


def _base(url: str) -> str:
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


def _path(ref: str) -> str:
    """`ref` as a part of a path; `UsageError` for what can be no capability's name."""
    Ref.parse(ref)
    return quote(ref, safe="@:")


def _sendable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _object(body: bytes) -> dict[str, Json]:
    value = loads(body)
    if not isinstance(value, dict):
        raise wire.strange()
    return value


def _bounded(response: httpx.Response) -> bytes:
    body = bytearray()
    for chunk in response.iter_bytes():
        body += chunk
        if len(body) > ANSWER_BYTES:
            raise wire.strange()
    return bytes(body)
