"""The channel's webhook: set it, test it, read its state
(https://developers.line.biz/en/reference/messaging-api/#set-webhook-endpoint-url).
"""

from __future__ import annotations

import time
from typing import Final

from functions.channels.line.api import LineApi
from functions.channels.webhooks import WebhookRegistration, WebhookState, require_registrable
from sigil.errors import Refused, one_line
from sigil.json_fields import as_integer, as_mapping, as_string

_SOURCE: Final = "line"
_ENDPOINT: Final = "/v2/bot/channel/webhook/endpoint"
_TEST: Final = "/v2/bot/channel/webhook/test"
URL_CHARACTERS: Final = 500
_CONSOLE: Final = "https://developers.line.biz/console/, the channel's tab Messaging API"
_SWITCHED_OFF: Final = "its use is switched off"
_ADVICE: Final = {
    "COULD_NOT_CONNECT": "nothing answers there: is the server running, and the address public?",
    "REQUEST_TIMEOUT": "nothing answers there in time: is the server running?",
    "ERROR_STATUS_CODE": (
        "the server refused LINE's test: it needs the same LINE_SECRET as the channel, and the"
        " path /webhook/line"
    ),
    "UNCLASSIFIED": "the certificate must be valid for the host and come with its whole chain",
}
"""What helps against the reasons for which LINE's test of an address fails."""


class LineWebhook:
    """One channel's webhook."""

    def __init__(self, api: LineApi) -> None:
        self._api = api

    def register(self, webhook: WebhookRegistration) -> None:
        """Set the address; LINE takes it without a request to it."""
        require_registrable(webhook, URL_CHARACTERS, "LINE", _SOURCE)
        self._api.call("PUT", _ENDPOINT, {"endpoint": webhook.url})

    def read_state(self) -> WebhookState:
        """Return the address, and how LINE's own test of it ends."""
        try:
            endpoint = self._api.call("GET", _ENDPOINT)
        except Refused:
            return WebhookState("")  # none was ever set
        url = one_line(as_string(endpoint.get("endpoint")), 500)
        if not url:
            return WebhookState("")
        now = int(time.time())
        if endpoint.get("active") is not True:
            advice = f"switch on 'Use webhook': {_CONSOLE}"
            return WebhookState(url, error=_SWITCHED_OFF, error_at=now, advice=advice, fails=True)
        test = as_mapping(self._api.call("POST", _TEST, {"endpoint": url}))
        if test.get("success") is True:
            return WebhookState(url)
        reason = as_string(test.get("reason"))
        status = as_integer(test.get("statusCode"), 100)
        words = [reason, str(status or ""), as_string(test.get("detail"))]
        error = one_line("LINE's test: " + " ".join(filter(None, words)))
        return WebhookState(
            url, error=error, error_at=now, advice=_ADVICE.get(reason, ""), fails=True
        )

    def remove(self, *, drop: bool = False) -> None:
        """Refuse with EBLOCKED: LINE has no call for it."""
        raise Refused(
            "EBLOCKED",
            "LINE's webhook can only be switched off by hand",
            source=_SOURCE,
            suggestion=f"switch off 'Use webhook': {_CONSOLE}",
        )
