"""DingTalk's own SDK: its client of stream mode, and its parser of messages."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from loopback import answer


def listen(base: str, app: str, secret: str, count: int, webhook: str, file: str) -> dict[str, Any]:
    """Return what the SDK reads of the next messages, and the address of a file; each message is
    answered at `webhook`.
    """
    os.environ["DINGTALK_OPENAPI_ENDPOINT"] = base
    import dingtalk_stream
    from dingtalk_stream import AckMessage, ChatbotHandler, ChatbotMessage, Credential

    heard: list[dict[str, Any]] = []
    answers: list[Any] = []

    class Handler(ChatbotHandler):
        async def process(self, callback: Any) -> tuple[int, str]:
            message = ChatbotMessage.from_dict(callback.data)
            heard.append(
                {
                    "id": message.message_id,
                    "texts": message.get_text_list(),
                    "images": message.get_image_list(),
                    "sender": message.sender_staff_id,
                    "name": message.sender_nick,
                    "chat": message.conversation_id,
                    "private": message.conversation_type == "1",
                    "named": bool(message.is_in_at_list),
                    "at": message.create_at / 1000,
                }
            )
            message.session_webhook = webhook
            answers.append(self.reply_markdown("Answer", "Hello **you**", message))
            return AckMessage.STATUS_OK, "OK"

    client = dingtalk_stream.DingTalkStreamClient(Credential(app, secret))
    handler = Handler()
    client.register_callback_handler(ChatbotMessage.TOPIC, handler)

    async def run() -> None:
        running = asyncio.create_task(client.start())
        while len(heard) < count:
            await asyncio.sleep(0.01)
        running.cancel()
        await client.websocket.close()

    asyncio.run(run())
    return {"heard": heard, "answers": answers, "file": handler.get_image_download_url(file)}


if __name__ == "__main__":
    answer(listen)
