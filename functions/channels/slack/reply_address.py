"""Where an answer goes beside its session: the message that it answers, or the address that a slash
command came with.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_URL = re.compile(r"https?://[!-~]{1,400}")
RESPONSE_SECONDS = 1_700.0
"""A response address lives for half an hour, and an answer may take a while."""
_ENCODED = re.compile(
    r"([CDG][A-Z0-9]{1,30})?(?:/([0-9]{1,12}\.[0-9]{1,9}))?(?: ([0-9]{1,12}) (https?://[!-~]{1,400}))?",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class SlackReplyAddress:
    """The `channel` and the `time` of the message that is answered. `url` takes up to five answers
    to a slash command until the time `ends`, also where the bot is no member.
    """

    channel: str = ""
    time: str = ""
    url: str = ""
    ends: int = 0

    @classmethod
    def of_url(cls, channel: str, url: str, at: float) -> SlackReplyAddress:
        """Return the address of a slash command's answers; an odd one is left out."""
        if not _URL.fullmatch(url):
            return cls(channel)
        return cls(channel, url=url, ends=int(at + RESPONSE_SECONDS))

    @classmethod
    def decode(cls, text: str) -> SlackReplyAddress:
        """Return what `encode` wrote; an empty address for anything else."""
        match = _ENCODED.fullmatch(text)
        if match is None:
            return cls()
        return cls(match[1] or "", match[2] or "", match[4] or "", int(match[3] or 0))

    def encode(self) -> str:
        """Return the address as the text that an event carries."""
        text = self.channel
        if self.time:
            text += f"/{self.time}"
        if self.url:
            text += f" {self.ends} {self.url}"
        return text
