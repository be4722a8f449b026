"""LINE's own SDK: its validator of signatures, its parser of webhooks, its client."""

from __future__ import annotations

import json
from typing import Any

from linebot.v3.models.events import UnknownEvent
from linebot.v3.webhook import SignatureValidator, WebhookParser
from loopback import answer, read_body, verdicts


def receive(requests: list[dict[str, Any]], secret: str) -> dict[str, Any]:
    """Return which requests the SDK takes for LINE's, and what the events of these are."""
    validator = SignatureValidator(secret)
    taken = verdicts(
        lambda one: validator.validate(read_body(one).decode(), one["headers"]["x-line-signature"]),
        requests,
    )
    parser = WebhookParser(secret)
    found = []
    for request, is_taken in zip(requests, taken, strict=True):
        if is_taken:
            for event in parser.parse(
                read_body(request).decode(), request["headers"]["x-line-signature"]
            ):
                found.append(_describe(event))
    return {"taken": taken, "events": found}


def _describe(event: Any) -> dict[str, Any]:
    if isinstance(event, UnknownEvent):
        raise ValueError(f"the SDK does not know an event like this: {event}")
    source = event.source
    message = getattr(event, "message", None)
    mention = getattr(message, "mention", None)
    return {
        "type": event.type,
        "id": message.id if message else event.webhook_event_id,
        "text": getattr(message, "text", ""),
        "sender": source.user_id,
        "chat": getattr(source, "group_id", None) or source.user_id,
        "at": event.timestamp / 1000,
        "token": event.reply_token,
        "names us": bool(mention and any(each.is_self for each in mention.mentionees)),
    }


def call(base: str, token: str, requests: list[list[Any]]) -> list[dict[str, Any]]:
    """Send requests as the SDK does, each given as its method, path, body and key of repetition,
    and return what the SDK has read of the answers.
    """
    from linebot.v3.messaging import (
        ApiClient,
        ApiException,
        Configuration,
        MessagingApi,
        MessagingApiBlob,
        PushMessageRequest,
        ReplyMessageRequest,
        SetWebhookEndpointRequest,
        ShowLoadingAnimationRequest,
        TestWebhookEndpointRequest,
    )

    client = ApiClient(Configuration(host=base, access_token=token))
    api = MessagingApi(client)
    files = MessagingApiBlob(ApiClient(Configuration(host=base, access_token=token)))

    def send(method: str, path: str, body: Any, key: str | None) -> Any:
        parts = path.split("/")
        match method, *parts[3:]:
            case "POST", "message", "reply":
                return api.reply_message(ReplyMessageRequest.from_dict(body))
            case "POST", "message", "push":
                return api.push_message(PushMessageRequest.from_dict(body), x_line_retry_key=key)
            case "POST", "chat", "loading", "start":
                return api.show_loading_animation(ShowLoadingAnimationRequest.from_dict(body))
            case "GET", "info":
                return api.get_bot_info()
            case "GET", "profile", person:
                return api.get_profile(person)
            case "GET", "group", chat, "member", person:
                return api.get_group_member_profile(chat, person)
            case "GET", "message", id, "content":
                return {"bytes": files.get_message_content(id).decode()}
            case "PUT", "channel", "webhook", "endpoint":
                return api.set_webhook_endpoint(SetWebhookEndpointRequest.from_dict(body))
            case "GET", "channel", "webhook", "endpoint":
                return api.get_webhook_endpoint()
            case "POST", "channel", "webhook", "test":
                return api.test_webhook_endpoint(TestWebhookEndpointRequest.from_dict(body))
        raise ValueError(f"{method} {path}")

    answers = []
    for request in requests:
        try:
            answered = send(*request)
        except ApiException as problem:
            answered = {"refused": problem.status}
        answers.append(answered.to_dict() if hasattr(answered, "to_dict") else answered)
    return [json.loads(json.dumps(each, default=str)) for each in answers]


if __name__ == "__main__":
    answer(receive, call)
