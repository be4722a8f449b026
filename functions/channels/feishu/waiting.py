"""A reaction below a person's message shows that an answer to it is on its way
(https://open.feishu.cn/document/server-docs/im-v1/message-reaction/create).
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Final

from functions.channels.feishu.api import FeishuApi
from sigil.errors import SigilError
from sigil.json_fields import as_mapping, as_string

EMOJI: Final = "Typing"
TIMEOUT: Final = 5.0
KEPT_MOST: Final = 1_000


class WaitingSigns:
    """The reactions of one app, by the message below which they stand. Best effort: nothing here
    raises.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # empty: asked for, and not there yet; None: not wanted any more
        self._reactions: dict[str, str | None] = {}

    def show(self, api: FeishuApi, message: str) -> None:
        """Put the reaction there, once; not below a message that was answered meanwhile."""
        with self._lock:
            if message in self._reactions:
                return
            while len(self._reactions) >= KEPT_MOST:
                del self._reactions[next(iter(self._reactions))]
            self._reactions[message] = ""
        try:
            body = {"reaction_type": {"emoji_type": EMOJI}}
            path = f"/im/v1/messages/{message}/reactions"
            answer = api.call("POST", path, body, timeout=TIMEOUT)
        except SigilError:
            return
        reaction = as_string(as_mapping(answer.get("data")).get("reaction_id"))
        with self._lock:
            is_wanted = self._reactions.get(message) is not None
            if is_wanted:
                self._reactions[message] = reaction
        if not is_wanted:
            _delete(api, message, reaction)

    def take_away(self, api: FeishuApi, message: str) -> None:
        """Take the reaction away, if this process has put it there."""
        with self._lock:
            reaction = self._reactions.get(message)
            if message in self._reactions:
                self._reactions[message] = None
        if reaction:
            _delete(api, message, reaction)


def _delete(api: FeishuApi, message: str, reaction: str) -> None:
    with suppress(SigilError):
        path = f"/im/v1/messages/{message}/reactions/{reaction}"
        api.call("DELETE", path, timeout=TIMEOUT)
