"""What the owner of a homeserver does: it takes the registration of an application service as a
file (https://spec.matrix.org/latest/application-service-api/#registration).
"""

from __future__ import annotations

import re
import secrets
from typing import Final

from functions.channels.about import ChannelSettings, name_variable
from functions.channels.matrix.identifiers import USER, find_id
from functions.channels.webhooks import SetupRecipe
from sigil.errors import UsageError

_TOKEN_BYTES: Final = 32
_STEPS: Final = """\
1. Save what is printed here as registration.yaml where the homeserver can read it. New tokens are
   printed here; those that are set already stay good.
2. Tell the homeserver of it, and restart it. Synapse: a line in app_service_config_files of
   homeserver.yaml. Dendrite: app_service_api.config_files. Conduit and its kin: send the file to
   the admin room, with `register-appservice`.
3. Set MATRIX_HOMESERVER to the address of the homeserver, MATRIX_USER to {id},
   MATRIX_TOKEN to the as_token and MATRIX_SECRET to the hs_token. Then start the agent.
4. uncaged channel status {channel}: the homeserver is asked to reach the agent.
5. Invite {id} into a room without encryption.
"""


def write_recipe(channel: ChannelSettings, url: str) -> SetupRecipe:
    """Return the registration of the channel's account, whose events go to `url`.

    `UsageError` ESETTING while the account is not set.
    """
    id = find_id(USER, channel["user"])
    if not id:
        variable = name_variable(channel.name, "user")
        raise UsageError(
            "ESETTING",
            f"{variable} is not set to an account's id",
            source=channel.name,
            suggestion=f"export {variable}=@sigil:example.org, with your homeserver's name:"
            " the account is made by the registration",
        )
    return SetupRecipe(
        write_registration(
            id,
            url,
            channel.reveal("token") or secrets.token_urlsafe(_TOKEN_BYTES),
            channel.reveal("secret") or secrets.token_urlsafe(_TOKEN_BYTES),
        ),
        _STEPS.format(channel=channel.name, id=id),
    )


def name_service(user: str) -> str:
    """Return the id of the application service whose account this is."""
    return f"uncaged-{user[1:].partition(':')[0]}"


def write_registration(user: str, url: str, token: str, secret: str) -> str:
    """Return the registration of an application service with one account."""
    localpart = user[1:].partition(":")[0]
    regex = _quote(re.escape(user))
    lines = (
        f"id: {_quote(name_service(user))}",
        f"url: {_quote(url)}",
        f"as_token: {_quote(token)}",
        f"hs_token: {_quote(secret)}",
        f"sender_localpart: {_quote(localpart)}",
        "rate_limited: false",
        # on one line, since what is printed has no indentation
        f"namespaces: {{users: [{{exclusive: true, regex: {regex}}}], aliases: [], rooms: []}}",
    )
    return "\n".join(lines)


def _quote(text: str) -> str:
    doubled = text.replace("'", "''")
    return f"'{doubled}'"
