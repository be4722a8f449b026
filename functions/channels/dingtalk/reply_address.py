"""Where an answer to a message goes: to the address that came with the message as long as it lives,
and else by the robot's API to the chat.

An address is an URL in a body that its signature does not cover. So only the session that it names
is kept, and only when it is one of DingTalk's own addresses; the request goes to the configured
one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

from sigil.json_fields import as_integer, as_string
from sigil.protocol import Json

MARGIN_SECONDS: Final = 60
"""An address is not used in its last seconds."""
LIFE_SECONDS: Final = 86_400
"""What claims to live longer is held to that; DingTalk's live for 90 minutes."""
MESSAGE_ID: Final = re.compile(r"[A-Za-z0-9+/=_-]{1,128}", re.ASCII)
CONVERSATION: Final = re.compile(r"[!-~]{1,200}", re.ASCII)
"""DingTalk's ids are `cid` and base64, and it promises no form of them."""
_URL = re.compile(
    r"https://o?api\.dingtalk\.(?:com|io)/robot/sendBySession\?session=([A-Za-z0-9_-]{1,200})",
    re.ASCII,
)
_WRITTEN = re.compile(
    rf"({MESSAGE_ID.pattern}) ({CONVERSATION.pattern})?"
    r"(?: ([0-9]{1,12}) ([A-Za-z0-9_-]{1,200}))?",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class DingTalkReplyAddress:
    """The message that is answered and its conversation. `session` takes answers until the time
    `ends` (seconds since 1970).
    """

    message: str = ""
    conversation: str = ""
    session: str = ""
    ends: int = 0

    @classmethod
    def read(cls, message: Mapping[str, Json], at: float) -> Self:
        """Return the address of a message as DingTalk sends it; what is odd is left out."""
        id = as_string(message.get("msgId"))
        conversation = as_string(message.get("conversationId"))
        conversation = conversation if CONVERSATION.fullmatch(conversation) else ""
        url = _URL.fullmatch(as_string(message.get("sessionWebhook")))
        milliseconds = as_integer(message.get("sessionWebhookExpiredTime"), 0)
        if url is None or not milliseconds:
            return cls(id, conversation)
        ends = min(milliseconds // 1000, int(at) + LIFE_SECONDS)
        return cls(id, conversation, url[1], ends)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the address that `write` wrote; an empty one for any other text."""
        match = _WRITTEN.fullmatch(text)
        if match is None:
            return cls()
        return cls(match[1], match[2] or "", match[4] or "", int(match[3] or 0))

    def write(self) -> str:
        """Return the address as one text."""
        text = f"{self.message} {self.conversation}"
        return f"{text} {self.ends} {self.session}" if self.session else text

    def find_session(self, now: float) -> str:
        """Return the session that takes answers, empty when there is none any more."""
        return self.session if now < self.ends - MARGIN_SECONDS else ""
