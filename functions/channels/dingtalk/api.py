"""Requests to DingTalk's API (https://open.dingtalk.com/document/orgapp/server-api-overview); only
this module speaks HTTP to it.

It has two halves: the new one answers errors with a status and a code of words, and the old one
with the status 200 and an `errcode`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import closing
from typing import Final
from urllib.parse import urlsplit

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
from sigil.json_fields import as_integer, as_mapping, as_sequence, as_string
from sigil.protocol import Json

BUSY_SECONDS: Final = 60.0
"""A robot may send 20 messages a minute, and waits for a minute when there were more."""
CARD_BUSY_SECONDS: Final = 2.0
_SOURCE: Final = "dingtalk"
_HINT: Final = "check DINGTALK_APP_KEY and DINGTALK_APP_SECRET"
_JSON: Final = {"content-type": "application/json; charset=utf-8"}
_BUSY: Final = frozenset((-1, 130101, 410100, 90002, 90004, 90005, 90006, 90018, 90030))
_TOKEN_ENDED: Final = frozenset((40001, 40014, 42001))
_TOKEN_CODES: Final = ("InvalidAuthentication", "Forbidden.AccessDenied.IllegalAccessToken")
_ABOUT_CONTENT: Final = re.compile(
    r"invalidParameter\.(?:msg|param)|sensitive|content|4301[0-9]{2}|460101|101002", re.IGNORECASE
)
"""A text that is too long, or that a filter refuses."""
_FILE_HOSTS: Final = (".dingtalk.com", ".dingtalk.io", ".aliyuncs.com", ".alicdn.com")
"""Where DingTalk keeps the files that people send."""


class DingTalkRejected(Rejected):
    """DingTalk will never take this request as it is. `is_about_content`: another text may help."""

    def __init__(self, code: str, description: str) -> None:
        super().__init__("DingTalk", description, code, source=_SOURCE)
        self.is_about_content = bool(_ABOUT_CONTENT.search(code))


class DingTalkApi:
    """The API of one app and its robot: the new one at `base`, the old one at `old_base`.

    Safe to share between threads; its connections stay open.
    """

    def __init__(
        self,
        base: str,
        old_base: str,
        *,
        app_key: str,
        app_secret: str,
        robot_code: str,
        transport: Transport | None = None,
    ) -> None:
        self._http = HttpClient(base, "DingTalk", _SOURCE, transport)
        self._old = HttpClient(old_base, "DingTalk", _SOURCE, transport)
        self._base = base
        self._app_key = app_key
        self._app_secret = app_secret
        self._robot_code = robot_code
        self._transport = transport
        self._token = AccessToken(self._fetch_token, "DingTalk", _SOURCE, _HINT)

    def call(
        self, path: str, body: Mapping[str, object], *, timeout: float = TIMEOUT
    ) -> Mapping[str, Json]:
        """Call the API on behalf of the robot and return its answer, within `timeout` seconds.

        `BackendError` (EUNAVAILABLE): no answer, or none that helps; `Busy`: too many requests;
        `DingTalkRejected`: never.
        """
        return self._request("POST", path, {"robotCode": self._robot_code, **body}, timeout)

    def change_card(
        self, method: str, path: str, body: Mapping[str, object], *, timeout: float = TIMEOUT
    ) -> Mapping[str, Json]:
        """Make, send or change a card, and return the answer; errors as `call`. Those limits are
        counted by the second.
        """
        try:
            return self._request(method, path, body, timeout)
        except Busy as problem:
            raise Busy(problem.message, source=_SOURCE, retry_after=CARD_BUSY_SECONDS) from None

    def _request(
        self, method: str, path: str, body: Mapping[str, object], timeout: float
    ) -> Mapping[str, Json]:
        content = orjson.dumps(body)

        def send(token: str) -> Mapping[str, Json]:
            headers = {**_JSON, "x-acs-dingtalk-access-token": token}
            answer = self._http.request(
                method, path, headers=headers, content=content, timeout=timeout
            )
            return _read_answer(answer)

        return self._token.use(send)

    def answer(self, session: str, body: Mapping[str, object]) -> None:
        """Send a message to the session that came with another one; errors as `call`."""
        answer = self._old.request(
            "POST",
            "/robot/sendBySession",
            headers=_JSON,
            query={"session": session},
            content=orjson.dumps(body),
        )
        _read_old_answer(answer)

    def upload(self, kind: str, file: FormFile) -> str:
        """Upload a file of a kind, `image` or `file`, and return its id; errors as `call`."""
        content_type, content = make_form({}, "media", file)

        def send(token: str) -> str:
            answer = self._old.request(
                "POST",
                "/media/upload",
                headers={"content-type": content_type},
                query={"access_token": token, "type": kind},
                content=content,
                timeout=UPLOAD_TIMEOUT,
            )
            return as_string(_read_old_answer(answer).get("media_id"))

        return self._token.use(send)

    def download(self, code: str, most: int) -> bytes:
        """Return a file that somebody sent. `UsageError` ETOOBIG for more than `most` bytes; errors
        as `call`.
        """
        found = self.call("/v1.0/robot/messageFiles/download", {"downloadCode": code})
        url = self._check_file_url(as_string(found.get("downloadUrl")))
        with closing(HttpClient(url, "DingTalk", _SOURCE, self._transport)) as client:
            # the address is signed as it is written
            answer = client.request("GET", url, most=most)
        if answer.status != 200:
            raise BackendError(
                "EUNAVAILABLE",
                f"DingTalk answered with status {answer.status} for a file",
                source=_SOURCE,
            )
        return answer.body

    def open_stream(self, topic: str) -> tuple[str, str]:
        """Return where messages of a topic can be listened for, and a ticket that counts once.

        `CannotListen` when DingTalk does not take the app's secret; `BackendError` without an
        answer.
        """
        body = {
            "clientId": self._app_key,
            "clientSecret": self._app_secret,
            "subscriptions": [{"type": "CALLBACK", "topic": topic}],
        }
        answer = self._http.request(
            "POST",
            "/v1.0/gateway/connections/open",
            headers={**_JSON, "accept": "application/json"},
            content=orjson.dumps(body),
        )
        try:
            fields = _read_answer(answer)
        except (NotAllowed, DingTalkRejected, TokenEnded):
            raise CannotListen(
                "DingTalk lets the app not listen", source=_SOURCE, suggestion=_HINT
            ) from None
        return as_string(fields.get("endpoint")), as_string(fields.get("ticket"))

    def check_app(self) -> None:
        """Get an access token; `BackendError` when DingTalk gives none."""
        self._token.use(lambda token: token)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()
        self._old.close()

    def _fetch_token(self) -> tuple[str, float]:
        """Return an access token of the app and for how many seconds it is valid; an empty one when
        there is none.
        """
        answer = self._http.request(
            "POST",
            "/v1.0/oauth2/accessToken",
            headers=_JSON,
            content=orjson.dumps({"appKey": self._app_key, "appSecret": self._app_secret}),
        )
        try:
            fields = _read_answer(answer)
        except (NotAllowed, DingTalkRejected, TokenEnded):
            fields = {}
        return as_string(fields.get("accessToken")), as_integer(fields.get("expireIn"), 0) or 0

    def _check_file_url(self, url: str) -> str:
        """Return the address of a file, by https, if it is one of DingTalk's own."""
        try:
            parts = urlsplit(url)
            own = urlsplit(self._base)
            host = parts.hostname or ""
            if (parts.scheme, parts.netloc) == (own.scheme, own.netloc):
                return url
            if parts.port is None and not parts.username and host.endswith(_FILE_HOSTS):
                return parts._replace(scheme="https").geturl()
        except ValueError:
            pass
        raise BackendError(
            "EUNAVAILABLE", "DingTalk told no address of a file that is its own", source=_SOURCE
        )


def _read_answer(answer: HttpAnswer) -> Mapping[str, Json]:
    """Return what the new API answered, or raise what its error means."""
    fields = _parse(answer)
    if answer.status == 200:
        if as_sequence(fields.get("flowControlledStaffIdList")):
            raise Busy("DingTalk asks to slow down", source=_SOURCE, retry_after=BUSY_SECONDS)
        if as_sequence(fields.get("invalidStaffIdList")):
            raise DingTalkRejected("invalidStaffIdList", "the person is not in the organization")
        return fields
    code = as_string(fields.get("code"))
    description = as_string(fields.get("message"))
    if answer.status == 429 or "QpsLimit" in code or "Throttling" in code:
        raise Busy("DingTalk asks to slow down", source=_SOURCE, retry_after=BUSY_SECONDS)
    if code in _TOKEN_CODES or answer.status == 401:
        raise TokenEnded
    if answer.status == 403:
        raise NotAllowed(
            "EUNAVAILABLE",
            one_line(f"DingTalk does not let the app do this ({code}): {description}"),
            source=_SOURCE,
            suggestion="give the app the permission in DingTalk's console, and publish a version",
        )
    if code and answer.status < 500:
        raise DingTalkRejected(code, description)
    raise BackendError(
        "EUNAVAILABLE", f"DingTalk answered with status {answer.status}", source=_SOURCE
    )


def _read_old_answer(answer: HttpAnswer) -> Mapping[str, Json]:
    """Return what the old API answered, or raise what its error means."""
    fields = _parse(answer)
    code = as_integer(fields.get("errcode"), -1)
    if answer.status == 200 and code == 0:
        return fields
    if answer.status == 429 or code in _BUSY:
        raise Busy("DingTalk asks to slow down", source=_SOURCE, retry_after=BUSY_SECONDS)
    if code in _TOKEN_ENDED:
        raise TokenEnded
    if code and answer.status < 500:
        raise DingTalkRejected(str(code), as_string(fields.get("errmsg")))
    raise BackendError(
        "EUNAVAILABLE", f"DingTalk answered with status {answer.status}", source=_SOURCE
    )


def _parse(answer: HttpAnswer) -> Mapping[str, Json]:
    try:
        return as_mapping(orjson.loads(answer.body))
    except orjson.JSONDecodeError:
        return {}
