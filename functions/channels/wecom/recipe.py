"""What an owner does in WeCom's console, which has no call for it."""

from __future__ import annotations

import json
import secrets
import string
from typing import Final

from functions.channels.about import ChannelSettings
from functions.channels.webhooks import SetupRecipe

STEPS: Final = """\
1. Open https://work.weixin.qq.com/wework_admin, "My enterprise": set WECOM_CORP_ID to the
   enterprise's id at the end of that page.
2. "App management": create a self-built app, and let it be visible for those who may use it. Set
   WECOM_AGENT_ID to its AgentId and WECOM_SECRET to its secret.
3. Set WECOM_TOKEN and WECOM_AES_KEY to the two secrets that are printed here. New ones are printed
   each time; those that are set already stay good. Then start the agent with the five settings.
4. In the app, "Receive messages", "Set API reception": enter the URL, the token and the
   EncodingAESKey that are printed here, and choose to receive the messages of people. WeCom asks
   the address a question when it is saved, so the agent has to run.
5. In the app, "Trusted company IPs": add the address from which the agent reaches the internet.
6. Write to the app in WeCom.
"""


def write_recipe(channel: ChannelSettings, url: str) -> SetupRecipe:
    """Return how an owner sets up an app whose messages go to `url`."""
    document = {
        "url": url,
        "token": _make_secret(32),
        "encoding_aes_key": _make_secret(43),
    }
    return SetupRecipe(json.dumps(document, indent=2), STEPS)


def _make_secret(length: int) -> str:
    """Return a new secret of letters and digits, as the console wants it."""
    return "".join(secrets.choice(string.ascii_letters + string.digits) for _ in range(length))
