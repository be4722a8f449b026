"""The events that AWS hands to the functions: the files of `tests/events/lambda`, and variations of
them.
"""

from __future__ import annotations

import base64
import json
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

from functions import events
from functions.events import Event, Sender, order_of

FOLDER = Path(__file__).parents[1] / "events" / "lambda"
SECRET = "a-secret-of-the-tests"
TOKEN = "a-token-of-the-tests"
BOT = "123456"
AT = 1_795_000_000


@cache
def _file(name: str) -> Any:
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def request(name: str, **changes: Any) -> dict[str, Any]:
    """The event of a file, with other fields."""
    return {**deepcopy(_file(name)), **changes}


def webhook(update: object, *, encoded: bool = False) -> dict[str, Any]:
    """A webhook request with `update` as its body; `encoded` as API Gateway encodes what it takes
    for binary.
    """
    body = json.dumps(update)
    return request(
        "webhook",
        body=base64.b64encode(body.encode()).decode() if encoded else body,
        isBase64Encoded=encoded,
    )


def registry(method: str, path: str, body: object = None) -> dict[str, Any]:
    """A request to the registry under its token."""
    return elsewhere("registry_run", method, path, body=None if body is None else json.dumps(body))


def admin(method: str, path: str, body: object = None, query: str = "") -> dict[str, Any]:
    """A request to the owner's switch under its token."""
    return elsewhere(
        "admin_status",
        method,
        path,
        rawQueryString=query,
        body=None if body is None else json.dumps(body),
    )


def elsewhere(name: str, method: str, path: str, **changes: Any) -> dict[str, Any]:
    """The request of a file, sent to another path."""
    made = request(name, rawPath=path, **changes)
    made["requestContext"]["http"].update(method=method, path=path)
    return made


def update(number: int, text: str, chat: int = 77001) -> dict[str, Any]:
    """A private message as Telegram delivers it."""
    person = {"id": chat, "is_bot": False, "first_name": "Ana"}
    message = {
        "message_id": number,
        "date": AT + number,
        "from": person,
        "chat": {"id": chat, "type": "private"},
        "text": text,
    }
    return {"update_id": number, "message": message}


def happened(number: int, text: str, chat: int = 77001) -> Event:
    """The event that the webhook makes of `update`."""
    sender, at = Sender(f"telegram:{chat}", "Ana"), float(AT + number)
    return Event(
        f"telegram:{BOT}:{number}",
        "message",
        "main",
        f"telegram:{chat}",
        sender,
        text,
        at,
        order_of(at, number),
        private=True,
    )


def batch(*happenings: Event | str, received: int = 1) -> dict[str, Any]:
    """What SQS's event source hands to the worker; a string is a body as it is. Message ids count
    from `m0`.
    """
    return {"Records": [_record(number, each, received) for number, each in enumerate(happenings)]}


def _record(number: int, happening: Event | str, received: int) -> dict[str, Any]:
    record = deepcopy(_file("worker")["Records"][0])
    body, group = (
        (happening, "odd")
        if isinstance(happening, str)
        else (events.encode(happening).decode(), happening.session)
    )
    attributes = {
        **record["attributes"],
        "MessageGroupId": group,
        "ApproximateReceiveCount": str(received),
    }
    return {
        **record,
        "messageId": f"m{number}",
        "receiptHandle": f"receipt-{number}",
        "body": body,
        "attributes": attributes,
    }


def failures(payload: Any) -> list[str]:
    """The message ids that a worker's answer reports as failed."""
    return [each["itemIdentifier"] for each in payload["batchItemFailures"]]
