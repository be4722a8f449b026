"""DingTalk's messages: a sample is what stands in a message of somebody's private chat, or in one
of a group, or a whole `body`, or what else comes over the stream.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any, cast

from functions.channels.base import PlatformRequest, Received
from functions.channels.dingtalk.channel import DingTalk
from functions.channels.listening.sockets import Listener
from functions.ingress.ingress import Ingress
from functions.wiring import AgentRuntime
from tests.fakes.dingtalk import ALICE, APP, SECRET, DingTalkServer, in_group, make_message, sign
from tests.fakes.server import json_answer
from tests.functions.channels.updates.platform import PICTURE, Door, WebhookPlatform

_NUMBERS = count(1)


class _OneFrame:
    """Listens to a stream that has one frame, and then ends."""

    def __init__(self, frame: dict[str, Any], enqueue: Callable[[Received], None]) -> None:
        self._frames = [frame, {"type": "SYSTEM", "headers": {"topic": "disconnect"}}]
        self._enqueue = enqueue

    @contextmanager
    def connect(self, url: str, most: int, *, pings: bool = False) -> Iterator[_OneFrame]:
        yield self

    def note_listening(self) -> None:
        pass

    def receive(self, seconds: float) -> str:
        return json.dumps(self._frames.pop(0))

    def send(self, message: str) -> None:
        assert json.loads(message)["code"] == 200

    def put(self, read: Callable[[], Received]) -> None:
        self._enqueue(read())


class DingTalkUpdates(WebhookPlatform):
    def __init__(self, server: DingTalkServer) -> None:
        self._server = server
        self.files = server.sent_files
        self.settings = {
            "dingtalk_app_key": APP,
            "dingtalk_app_secret": SECRET,
            "dingtalk_api": server.url,
            "dingtalk_old_api": server.url,
            "owners": (f"dingtalk:{ALICE}",),
        }
        endpoint = f"{server.url.replace('http', 'ws', 1)}/connect"
        server.open_stream = lambda body: json_answer({"endpoint": endpoint, "ticket": "t"})

    def deliver(self, sample: Any, door: Door, runtime: AgentRuntime) -> None:
        if "stream" not in sample:
            super().deliver(sample, door, runtime)
            return
        frame = sample["stream"]
        frame["headers"] = {"messageId": "m1", **frame["headers"]}
        channel = cast("DingTalk", runtime.channels["dingtalk"])
        ingress = Ingress(runtime.channels, runtime.queue, runtime.stores.kv)
        listener = _OneFrame(frame, lambda received: ingress.enqueue(received, "dingtalk"))
        channel.listen(cast("Listener", listener))

    def sign(self, sample: Any) -> PlatformRequest:
        now = time.time()
        body = sample.get("body")
        if body is None:
            fields = {"createAt": int(now * 1000), "sessionWebhookExpiredTime": 0}
            if sample.get("place") == "mention":
                fields |= in_group()
            elif sample.get("place") == "group":
                fields |= in_group(isInAtList=False)
            body = make_message(str(next(_NUMBERS)), {}, **(fields | sample["message"]))
        return sign(json.dumps(body).encode(), now)

    def list_said(self) -> list[str]:
        return self._server.texts()


@contextmanager
def open_platform() -> Iterator[DingTalkUpdates]:
    with DingTalkServer() as server:
        server.groups.add("chat:7/../x")
        server.sent_files |= {"notes": b"buy milk", "mIofN681": PICTURE}
        yield DingTalkUpdates(server)
