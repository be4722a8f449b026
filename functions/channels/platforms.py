"""The platforms, and their channels as the settings describe them."""

from __future__ import annotations

from functions.channels.base import Channel
from functions.channels.webhooks import SetupRecipe
from functions.settings import Settings
from sigil.storage.setting_secrets import reveal


def write_recipe(platform: str, url: str) -> SetupRecipe:
    """Return how an owner sets up a platform that registers no webhook from here; `url` is ours."""
    if platform == "feishu":
        from functions.channels.feishu.recipe import write_scopes, write_steps

        return SetupRecipe(write_scopes(), write_steps(url))
    if platform == "whatsapp":
        from functions.channels.whatsapp.recipe import STEPS, write_webhook

        return SetupRecipe(write_webhook(url), STEPS)
    from functions.channels.slack import manifest

    return SetupRecipe(manifest.write_manifest(url), manifest.STEPS)


def open_channels(settings: Settings) -> dict[str, Channel]:
    """Open the platforms whose settings are there, by name."""
    channels: dict[str, Channel] = {}
    if settings.telegram_token or settings.telegram_bot:
        from functions.channels.telegram import Telegram

        channels["telegram"] = Telegram(
            reveal(settings.telegram_token),
            reveal(settings.telegram_secret),
            settings.telegram_api,
            settings.agent,
            settings.telegram_username or None,
            bot=settings.telegram_bot,
        )
    if settings.slack_token or settings.slack_secret:
        from functions.channels.slack import Slack

        channels["slack"] = Slack(
            reveal(settings.slack_token),
            reveal(settings.slack_secret),
            settings.slack_api,
            settings.agent,
        )
    if settings.feishu_app_id:
        from functions.channels.feishu import Feishu
        from functions.channels.feishu.signature import WebhookSecrets

        channels["feishu"] = Feishu(
            settings.feishu_app_id,
            reveal(settings.feishu_app_secret),
            WebhookSecrets(
                reveal(settings.feishu_encrypt_key), reveal(settings.feishu_verification_token)
            ),
            settings.feishu_api,
            agent=settings.agent,
        )
    if settings.whatsapp_number:
        from functions.channels.whatsapp import WhatsApp

        channels["whatsapp"] = WhatsApp(
            settings.whatsapp_number,
            reveal(settings.whatsapp_token),
            reveal(settings.whatsapp_secret),
            reveal(settings.whatsapp_verify_token),
            api=settings.whatsapp_api,
            agent=settings.agent,
        )
    if settings.discord_token or settings.discord_public_key:
        from functions.channels.discord import Discord

        channels["discord"] = Discord(
            reveal(settings.discord_token),
            settings.discord_public_key,
            settings.discord_api,
            settings.agent,
        )
    return channels
