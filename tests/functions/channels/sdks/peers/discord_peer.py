"""Discord's own verifier of interactions, and discord.py, a client of its API and its gateway."""

from __future__ import annotations

import asyncio
import io
import traceback
from typing import Any

from discord_interactions import verify_key
from loopback import answer, read_body, verdicts


def verify(requests: list[dict[str, Any]], key: str) -> list[bool]:
    """Return which requests the verifier takes for Discord's, whenever they were signed."""

    def is_signed(request: dict[str, Any]) -> bool:
        headers = request["headers"]
        signature, time = headers["x-signature-ed25519"], headers["x-signature-timestamp"]
        return verify_key(read_body(request), signature, time, key)

    return verdicts(is_signed, requests)


def converse(base: str, token: str, count: int, text: str) -> list[dict[str, Any]]:
    """Return what the client reads of the next messages and interactions; each of them is answered
    with a text.
    """
    return asyncio.run(_converse(base, token, count, text))


async def _converse(base: str, token: str, count: int, text: str) -> list[dict[str, Any]]:
    import discord
    from discord.gateway import DiscordWebSocket
    from discord.http import Route
    from yarl import URL

    Route.BASE = base
    open_socket = DiscordWebSocket.from_client.__func__

    async def open_plain(cls: Any, client: Any, **given: Any) -> Any:
        _, url, _ = await client.http.get_bot_gateway()
        return await open_socket(cls, client, compress=False, **{**given, "gateway": URL(url)})

    DiscordWebSocket.from_client = classmethod(open_plain)
    intents = discord.Intents(guilds=True, messages=True, message_content=True)
    nobody = discord.AllowedMentions.none()
    client = discord.Client(intents=intents)
    heard: list[dict[str, Any]] = []
    problems: list[str] = []

    def make_buttons() -> discord.ui.View:
        view = discord.ui.View()
        for label, command in (("Yes", "/approve 0123abcd"), ("No", "/deny 0123abcd")):
            view.add_item(discord.ui.Button(label=label, custom_id=command))
        return view

    async def note(row: dict[str, Any]) -> None:
        heard.append(row)
        if len(heard) == count:
            await client.close()

    @client.event
    async def on_message(message: discord.Message) -> None:
        await client.get_partial_messageable(message.channel.id).send(
            text,
            allowed_mentions=nobody,
            suppress_embeds=True,
            nonce="0123456789abcdef0123-0",
            reference=message.to_reference(fail_if_not_exists=False),
            view=make_buttons(),
        )
        await note(
            {
                "id": message.id,
                "text": message.content,
                "sender": message.author.id,
                "name": message.author.display_name,
                "chat": message.channel.id,
                "private": message.guild is None,
                "named": [user.id for user in message.mentions],
                "at": message.created_at.timestamp(),
            }
        )

    @client.event
    async def on_interaction(interaction: discord.Interaction[Any]) -> None:
        await interaction.response.defer(thinking=True)
        await interaction.edit_original_response(content=text, allowed_mentions=nobody, view=None)
        file = discord.File(io.BytesIO(b"# Notes"), "notes.md")
        await interaction.followup.send(
            file=file, allowed_mentions=nobody, suppress_embeds=True, wait=True
        )
        options = (interaction.data or {}).get("options", [])
        await note(
            {
                "id": interaction.id,
                "text": options[0]["value"],
                "sender": interaction.user.id,
                "name": interaction.user.display_name,
                "chat": interaction.channel_id,
                "private": interaction.guild_id is None,
                "named": [],
                "at": interaction.created_at.timestamp(),
            }
        )

    @client.event
    async def on_error(event: str, *_: Any) -> None:
        problems.append(f"{event}: {traceback.format_exc()}")
        await client.close()

    async with client:
        await client.start(token)
    assert not problems, problems[0]
    return heard


if __name__ == "__main__":
    answer(verify, converse)
