"""Requests to Feishu's API (https://open.feishu.cn/document/server-docs/api-call-guide/calling-process/overview);
only this module speaks HTTP to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import orjson

from functions.channels.base import Busy, NotAllowed, Rejected
from functions.channels.listening.sockets import CannotListen
from functions.channels.platform_api.access_token import AccessToken, TokenEnded
from functions.channels.platform_api.http_client import (
    TIMEOUT,
    UPLOAD_TIMEOUT,
    FormFile,
    HttpClient,
    Transport,
    make_form,
)
from functions.http_connection import HttpAnswer
from sigil.errors import BackendError, one_line
from sigil.json_fields import as_integer, as_mapping, as_string
from sigil.protocol import Json

_SOURCE: Final = "feishu"
_TOKEN_PATH: Final = "/open-apis/auth/v3/tenant_access_token/internal"
_CONNECTION_PATH: Final = "/callback/ws/endpoint"
_NOT_LISTENING: Final = (403, 514, 1000040344)
"""Forbidden, a wrong secret, no such app."""
_TOKEN_ENDED: Final = frozenset((99991661, 99991663, 99991664, 99991668, 99991671, 99991677))
_BUSY: Final = frozenset((99991400, 11232, 11247, 230020, 230049))
"""Too many requests; 230049: the same message is on its way from a request before."""
_GONE: Final = (230011, 230110)
_GATEWAY: Final = range(99991000, 99992000)
"""The codes that are about the app and its rights, never about a message."""
_NO_SCOPE: Final = (99991672, 99991679)
_RESET_HEADER: Final = "x-ogw-ratelimit-reset"


class FeishuRejected(Rejected):
    """Feishu will never take this request as it is; `code` says why."""

    def __init__(self, code: int, description: str) -> None:
        super().__init__("Feishu", description, code, source=_SOURCE)
        self.number = code
        self.description = description

    @property
    def is_about_gone(self) -> bool:
        """Return whether the message is not there any more."""
        return self.number in _GONE


class FeishuApi:
    """One app's API at `base`. Safe to share between threads; its connections stay open."""

    def __init__(
        self, base: str, app_id: str, app_secret: str, transport: Transport | None = None
    ) -> None:
        self._http = HttpClient(base, "Feishu", _SOURCE, transport)
        self._app_id = app_id
        self._app_secret = app_secret
        advice = "check FEISHU_APP_ID and FEISHU_APP_SECRET, and FEISHU_API for Lark"
        self._token = AccessToken(self._fetch_token, "Feishu", _SOURCE, advice)

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
        `FeishuRejected`: never.
        """
        content = b"" if body is None else orjson.dumps(body)
        headers = {"content-type": "application/json; charset=utf-8"}

        def send(token: str) -> Mapping[str, Json]:
            answer = self._http.request(
                method,
                f"/open-apis{path}",
                headers={**headers, "authorization": f"Bearer {token}"},
                query=query,
                content=content,
                timeout=timeout,
            )
            return _read_answer(answer)

        return self._token.use(send)

    def upload(
        self, path: str, fields: Mapping[str, str], field: str, file: FormFile
    ) -> Mapping[str, Json]:
        """Upload a file, in `field` of a form, and return the answer; errors as `call`."""
        kind, content = make_form(fields, field, file)

        def send(token: str) -> Mapping[str, Json]:
            answer = self._http.request(
                "POST",
                f"/open-apis{path}",
                headers={"content-type": kind, "authorization": f"Bearer {token}"},
                content=content,
                timeout=UPLOAD_TIMEOUT,
            )
            return _read_answer(answer)

        return self._token.use(send)

    def download(self, path: str, query: Mapping[str, str], most: int) -> bytes:
        """Return a file. `UsageError` ETOOBIG for more than `most` bytes; errors as `call`."""

        def send(token: str) -> bytes:
            answer = self._http.request(
                "GET",
                f"/open-apis{path}",
                headers={"authorization": f"Bearer {token}"},
                query=query,
                most=most,
            )
            is_json = answer.headers.get("content-type", "").startswith("application/json")
            if answer.status == 200 and not (is_json and _is_error(answer.body)):
                return answer.body
            _read_answer(answer)
            raise BackendError("EUNAVAILABLE", "Feishu sent no file", source=_SOURCE)

        return self._token.use(send)

    def open_connection(self) -> Mapping[str, Json]:
        """Return where to listen: the address, by a ticket, and how often to ping.

        `CannotListen`: Feishu does not know the app, or lets it not listen.
        """
        answer = self._http.request(
            "POST",
            _CONNECTION_PATH,
            headers={"content-type": "application/json; charset=utf-8", "locale": "en"},
            content=orjson.dumps({"AppID": self._app_id, "AppSecret": self._app_secret}),
        )
        try:
            fields = as_mapping(orjson.loads(answer.body))
        except orjson.JSONDecodeError:
            fields = {}
        code = as_integer(fields.get("code"), 0)
        if answer.status == 200 and code == 0:
            return as_mapping(fields.get("data"))
        said = one_line(as_string(fields.get("msg")), 200) or f"status {answer.status}"
        if code in _NOT_LISTENING:
            raise CannotListen(
                f"Feishu does not let the app listen ({code}): {said}",
                source=_SOURCE,
                suggestion="check FEISHU_APP_ID and FEISHU_APP_SECRET, and FEISHU_API for Lark",
            )
        raise BackendError("EUNAVAILABLE", f"Feishu opens no connection: {said}", source=_SOURCE)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def _fetch_token(self) -> tuple[str, float]:
        """Return an access token of the app and for how many seconds it is valid; an empty one when
        there is none.
        """
        answer = self._http.request(
            "POST",
            _TOKEN_PATH,
            headers={"content-type": "application/json; charset=utf-8"},
            content=orjson.dumps({"app_id": self._app_id, "app_secret": self._app_secret}),
        )
        try:
            fields = _read_answer(answer)
        except (FeishuRejected, TokenEnded):
            fields = {}
        seconds = as_integer(fields.get("expire"), 0) or 0
        return as_string(fields.get("tenant_access_token")), seconds


def _read_answer(answer: HttpAnswer) -> Mapping[str, Json]:
    try:
        fields = as_mapping(orjson.loads(answer.body))
    except orjson.JSONDecodeError:
        fields = {}
    code = as_integer(fields.get("code"), 0)
    if answer.status == 200 and code == 0:
        return fields
    if answer.status == 429 or code in _BUSY:
        wait = answer.headers.get(_RESET_HEADER, "")
        seconds = float(wait) if wait.isascii() and wait.isdigit() and len(wait) < 6 else None
        raise Busy("Feishu asks to slow down", source=_SOURCE, retry_after=seconds)
    description = as_string(fields.get("msg"))
    if code in _TOKEN_ENDED:
        raise TokenEnded
    if code in _GATEWAY:
        hint = "check the app's state in the developer console"
        if code in _NO_SCOPE:
            hint = "give the app the permission in the developer console, and publish a version"
        raise NotAllowed(
            "EUNAVAILABLE",
            one_line(f"Feishu does not let the app do this ({code}): {description}"),
            source=_SOURCE,
            suggestion=hint,
        )
    if code and answer.status < 500:
        raise FeishuRejected(code, description)
    raise BackendError(
        "EUNAVAILABLE", f"Feishu answered with status {answer.status}", source=_SOURCE
    )


def _is_error(body: bytes) -> bool:
    """Return whether a file's answer says that there is none: a file may be JSON as well."""
    if len(body) > 10_000:
        return False
    try:
        fields = as_mapping(orjson.loads(body))
    except orjson.JSONDecodeError:
        return False
    return bool(as_integer(fields.get("code"), 1)) and "msg" in fields
