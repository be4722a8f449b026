"""What an owner does in Meta's app dashboard, which registers a webhook by hand."""

from __future__ import annotations

import json
import secrets
from typing import Final

from functions.channels.about import ChannelSettings
from functions.channels.webhooks import SetupRecipe

STEPS: Final = """\
1. Open https://developers.facebook.com/apps, create an app of the type Business, and add the
   product WhatsApp.
2. "WhatsApp", "API Setup": set WHATSAPP_NUMBER to the phone number's id, and add yourself to the
   recipients of a test number.
3. "App settings", "Basic": set WHATSAPP_SECRET to the app secret.
4. "Business settings", "System users": generate a token with whatsapp_business_messaging and
   whatsapp_business_management, and set WHATSAPP_TOKEN.
5. Set WHATSAPP_VERIFY_TOKEN to a word of your own. A new one is printed here; one that is set
   already stays good. Then start the agent with the four settings.
6. "WhatsApp", "Configuration": give Meta the callback URL and the verify token that are printed
   here, and subscribe to the field "messages".
7. Write to the number in WhatsApp.
"""


def write_recipe(channel: ChannelSettings, url: str) -> SetupRecipe:
    """Return how an owner sets up an app whose requests go to `url`."""
    return SetupRecipe(write_webhook(url), STEPS)


def write_webhook(url: str) -> str:
    """Return what the dashboard asks for, with a new verify token."""
    fields = {"callback_url": url, "verify_token": secrets.token_urlsafe(24), "fields": "messages"}
    return json.dumps(fields, indent=2)
