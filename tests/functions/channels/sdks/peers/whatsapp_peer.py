"""PyWa, a library for WhatsApp's Cloud API (Meta has none of its own for Python)."""

from __future__ import annotations

from typing import Any

import httpx
from loopback import answer, read_body, verdicts
from pywa import WhatsApp, types
from pywa.handlers import CallbackButtonHandler, MessageHandler


def receive(requests: list[dict[str, Any]], secret: str, number: str) -> dict[str, list[Any]]:
    """Return which requests the library takes for Meta's, and the first message of each of these."""
    found: list[dict[str, Any]] = []

    def hear(_: WhatsApp, update: Any) -> None:
        found.append(
            {
                "id": update.id,
                "text": update.data if isinstance(update, types.CallbackButton) else update.text,
                "sender": update.from_user.wa_id or update.from_user.bsuid,
                "name": update.from_user.name,
                "number": update.metadata.phone_number_id,
                "at": update.timestamp.timestamp(),
                "file": update.media.id if getattr(update, "media", None) else "",
            }
        )

    client = WhatsApp(phone_id=number, token="x", server=None, app_secret=secret, verify_token="x")
    client.add_handlers(MessageHandler(hear), CallbackButtonHandler(hear))

    def verify(request: dict[str, Any]) -> bool:
        given = request["headers"].get("x-hub-signature-256")
        return client.webhook_update_validator(read_body(request), given) is None

    taken = verdicts(verify, requests)
    for request, is_taken in zip(requests, taken, strict=True):
        if is_taken:
            client.webhook_update_handler(read_body(request))
    return {"taken": taken, "messages": found}


def send(base: str, token: str, number: str, to: str, text: str, file: str) -> None:
    """Send what a channel sends: a text, buttons, a picture, a document, what shows that we
    write; and fetch a file.
    """
    session = httpx.Client()
    client = WhatsApp(phone_id=number, token=token, session=session)
    session.base_url = base
    buttons = [types.Button("Yes", "/approve 0123abcd"), types.Button("No", "/deny 0123abcd")]
    client.indicate_typing("wamid.TEST1")
    client.send_message(to, text)
    client.send_message(to, text, buttons=buttons)
    picture = client.upload_media(b"pixels", mime_type="image/png", filename="file")
    client.send_image(to, picture.id)
    document = client.upload_media(b"# Notes", mime_type="text/plain", filename="file")
    client.send_document(to, document.id, filename="notes.md.txt")
    address = client.get_media_url(file)
    assert client.get_media_bytes(address.url) == b"a file"


if __name__ == "__main__":
    answer(receive, send)
