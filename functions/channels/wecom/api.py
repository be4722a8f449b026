"""Requests to WeCom's API (https://developer.work.weixin.qq.com/document/path/90664); only this
module speaks HTTP to it. It answers errors with the status 200 and an `errcode`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import orjson

from functions.channels.base import Busy, NotAllowed, Rejected
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

BUSY_SECONDS: Final = 60.0
"""WeCom counts by the minute, and does not say how long to wait."""
_SOURCE: Final = "wecom"
_JSON: Final = {"content-type": "application/json; charset=utf-8"}
_BUSY: Final = frozenset((-1, 6000, 45009, 45011, 45033))
_TOKEN_ENDED: Final = frozenset((40014, 41001, 42001))
_ABOUT_CONTENT: Final = frozenset(
    (40004, 40008, 40033, 40035, 40058, 44004, 45001, 45002, 45008, 45028)
)
_REMEDIES: Final = {
    60020: "add this machine's address to the app's trusted addresses in WeCom's console",
    48002: "let the app use this API in WeCom's console",
    60011: "let the app see the person in WeCom's console",
    301002: "let the app see the person in WeCom's console",
    40056: "check WECOM_AGENT_ID",
    40001: "check WECOM_CORP_ID and WECOM_SECRET",
    40013: "check WECOM_CORP_ID and WECOM_SECRET",
}
"""What an owner can mend, by code."""


class WeComRejected(Rejected):
    """WeCom will never take this request as it is. `is_about_content`: another text may help."""

    def __init__(self, code: int, description: str) -> None:
        super().__init__("WeCom", description, code, source=_SOURCE)
        self.is_about_content = code in _ABOUT_CONTENT


class WeComApi:
    """One app's API at `base`. Safe to share between threads; its connections stay open."""

    def __init__(
        self, base: str, corp_id: str, secret: str, transport: Transport | None = None
    ) -> None:
        self._http = HttpClient(base, "WeCom", _SOURCE, transport)
        self._corp_id = corp_id
        self._secret = secret
        self._token = AccessToken(
            self._fetch_token, "WeCom", _SOURCE, "check WECOM_CORP_ID and WECOM_SECRET"
        )

    def call(
        self,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, object] | None = None,
        *,
        timeout: float = TIMEOUT,
    ) -> Mapping[str, Json]:
        """Call the API and return its answer, within `timeout` seconds; with a `body` by POST.

        `BackendError` (EUNAVAILABLE): no answer, or none that helps; `Busy`: too many requests;
        `WeComRejected`: never.
        """
        content = b"" if body is None else orjson.dumps(body)

        def send(token: str) -> Mapping[str, Json]:
            answer = self._http.request(
                "GET" if body is None else "POST",
                f"/cgi-bin{path}",
                headers=_JSON,
                query={"access_token": token, **(query or {})},
                content=content,
                timeout=timeout,
            )
            return _read_answer(answer)

        return self._token.use(send)

    def upload(self, kind: str, file: FormFile) -> str:
        """Upload a file of a kind, `image` or `file`, and return its id; errors as `call`."""
        content_type, content = make_form({}, "media", file)

        def send(token: str) -> str:
            answer = self._http.request(
                "POST",
                "/cgi-bin/media/upload",
                headers={"content-type": content_type},
                query={"access_token": token, "type": kind},
                content=content,
                timeout=UPLOAD_TIMEOUT,
            )
            return as_string(_read_answer(answer).get("media_id"))

        return self._token.use(send)

    def download(self, media: str, most: int) -> bytes:
        """Return a file. `UsageError` ETOOBIG for more than `most` bytes; errors as `call`."""

        def send(token: str) -> bytes:
            answer = self._http.request(
                "GET",
                "/cgi-bin/media/get",
                query={"access_token": token, "media_id": media},
                most=most,
            )
            kind = answer.headers.get("content-type", "")
            is_file = "content-disposition" in answer.headers
            if answer.status == 200 and (
                is_file or not kind.startswith(("application/json", "text/plain"))
            ):
                return answer.body
            _read_answer(answer)
            raise BackendError("EUNAVAILABLE", "WeCom sent no file", source=_SOURCE)

        return self._token.use(send)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def _fetch_token(self) -> tuple[str, float]:
        """Return an access token of the app and for how many seconds it is valid; an empty one when
        there is none.
        """
        query = {"corpid": self._corp_id, "corpsecret": self._secret}
        try:
            fields = _read_answer(self._http.request("GET", "/cgi-bin/gettoken", query=query))
        except (WeComRejected, TokenEnded):
            fields = {}
        return as_string(fields.get("access_token")), as_integer(fields.get("expires_in"), 0) or 0


def _read_answer(answer: HttpAnswer) -> Mapping[str, Json]:
    try:
        fields = as_mapping(orjson.loads(answer.body))
    except orjson.JSONDecodeError:
        fields = {}
    code = as_integer(fields.get("errcode"), -1)
    description = as_string(fields.get("errmsg"))
    if answer.status == 200 and code == 0:
        if as_string(fields.get("invaliduser")):
            raise WeComRejected(81013, "the person is not there, or the app may not see them")
        return fields
    if answer.status == 429 or code in _BUSY:
        raise Busy("WeCom asks to slow down", source=_SOURCE, retry_after=BUSY_SECONDS)
    if code in _TOKEN_ENDED:
        raise TokenEnded
    if code in _REMEDIES:
        raise NotAllowed(
            "EUNAVAILABLE",
            one_line(f"WeCom does not let the app do this ({code}): {description}"),
            source=_SOURCE,
            suggestion=_REMEDIES[code],
        )
    if code and answer.status < 500:
        raise WeComRejected(code, description)
    raise BackendError(
        "EUNAVAILABLE", f"WeCom answered with status {answer.status}", source=_SOURCE
    )
