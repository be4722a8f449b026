"""python-telegram-bot, a library for Telegram's Bot API."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import telegram
from loopback import answer

PARTS = {
    "entities": telegram.MessageEntity,
    "link_preview_options": telegram.LinkPreviewOptions,
    "reply_parameters": telegram.ReplyParameters,
    "reply_markup": telegram.InlineKeyboardMarkup,
    "commands": telegram.BotCommand,
    "scope": telegram.BotCommandScope,
}


def read(updates: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what the library reads of updates."""
    rows = []
    for each in updates:
        update = telegram.Update.de_json(each, None)
        message = update.effective_message
        assert message
        assert update.effective_user
        press = update.callback_query
        thread = message.message_thread_id if message.is_topic_message else None
        rows.append(
            {
                "id": press.id if press else f"{message.chat.id}:{message.message_id}",
                "text": press.data if press else message.text or message.caption or "",
                "sender": update.effective_user.id,
                "name": update.effective_user.full_name,
                "chat": message.chat.id,
                "thread": thread,
                "private": message.chat.type == "private",
                "at": None if press else message.date.timestamp(),
            }
        )
    return rows


def call(base: str, token: str, calls: list[list[Any]]) -> None:
    """Call methods of the Bot API with parameters as they are sent."""
    asyncio.run(_call(base, token, calls))


async def _call(base: str, token: str, calls: list[list[Any]]) -> None:
    bot = telegram.Bot(token, base_url=f"{base}/bot", base_file_url=f"{base}/file/bot")
    async with bot:
        for method, params in calls:
            given = {name: _read(name, value) for name, value in params.items()}
            name = re.sub(r"(?=[A-Z])", "_", method).lower()
            answered = await getattr(bot, name)(**given)
            if method == "getFile":
                await answered.download_as_bytearray()


def _read(name: str, value: Any) -> Any:
    if name in ("document", "photo"):
        return telegram.InputFile(value["content"].encode(), filename=value["name"])
    if name not in PARTS:
        return value
    if isinstance(value, list):
        return [PARTS[name].de_json(each, None) for each in value]
    return PARTS[name].de_json(value, None)


if __name__ == "__main__":
    answer(read, call)
