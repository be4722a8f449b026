"""A test call to a model: whether it answers, calls tools, and what its endpoint tells of it."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Final

import httpx
import orjson

from functions.agent.conversation.prompt import ToolDefinition
from functions.agent.model.base import Failure, FailureKind, ModelReply, ModelRequest
from functions.cli.setup.providers import Provider
from functions.http_connection import open_transport
from functions.settings import LEAST_WINDOW, Settings
from functions.wiring import Closable, open_model
from sigil.errors import BackendError, one_line
from sigil.json_fields import as_integer, as_mapping, as_sequence, as_string
from sigil.protocol import Json
from sigil.storage.setting_secrets import reveal

ANSWER_SECONDS: Final = 60.0
"""A model of this machine may have to be loaded first."""
LIST_SECONDS: Final = 10.0
LIST_BYTES: Final = 4 << 20
SHOWN: Final = 5
_TOOL: Final[ToolDefinition] = {
    "type": "function",
    "function": {
        "name": "report_ready",
        "description": "Report that you are ready.",
        "parameters": {
            "type": "object",
            "properties": {"ready": {"type": "boolean"}},
            "required": ["ready"],
        },
    },
}
_QUESTION: Final = "[setup]\nCall the tool report_ready with ready = true. Write nothing else."
_WINDOW_FIELDS: Final = (
    "context_length",
    "max_model_len",
    "context_window",
    "max_context_length",
    "n_ctx",
)
"""The names under which endpoints tell a model's window."""


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What was found out about a model that answers.

    `window` in tokens, 0 when the endpoint does not tell it; `pictures` None likewise.
    """

    seconds: float
    calls_tools: bool
    takes_tools: bool
    window: int = 0
    pictures: bool | None = None

    def describe(self, name: str) -> str:
        """Return all of it in one line."""
        tools = "calls tools" if self.calls_tools else "did not call the tool"
        if not self.takes_tools:
            tools = "refuses tools"
        window = f"{self.window:,} tokens" if self.window else "not told"
        pictures = {True: "yes", False: "no", None: "not told"}[self.pictures]
        told = f"window: {window}; pictures: {pictures}"
        return f"{name} answers in {self.seconds:.1f} s, {tools}; {told}"


def check_model(settings: Settings, provider: Provider) -> ModelFacts:
    """Ask the model of the settings once, and its endpoint what it tells of it.

    `BackendError` says in one sentence why there was no answer, and what to do.
    """
    began = time.monotonic()
    reply = _ask(settings, (_TOOL,))
    takes_tools = True
    if reply.failure and reply.failure.kind in ("other", "refused"):
        plain = _ask(settings, ())
        if not plain.failure:
            reply = plain
            takes_tools = False
    seconds = time.monotonic() - began
    models = _list_models(settings)
    if reply.failure:
        raise _explain_failure(settings, provider, reply.failure, models)
    entry = as_mapping(models.get(settings.llm_model))
    facts = ModelFacts(
        seconds,
        calls_tools=any(call.name == "report_ready" for call in reply.calls),
        takes_tools=takes_tools,
        window=_find_window(entry),
        pictures=_find_pictures(entry),
    )
    if provider.name == "ollama" or entry.get("owned_by") == "library":
        return _ask_ollama(settings, facts)
    if provider.name == "llamacpp" or entry.get("owned_by") == "llamacpp":
        return _ask_llamacpp(settings, facts)
    return facts


def _ask_ollama(settings: Settings, facts: ModelFacts) -> ModelFacts:
    """Return the facts with what Ollama tells in its own way: whether the model reads pictures, and
    the window with which it is loaded, by default much smaller than what the model could have.
    """
    root = _find_root(settings)
    shown = as_mapping(_fetch_json(settings, f"{root}/api/show", {"model": settings.llm_model}))
    abilities = shown.get("capabilities")
    if isinstance(abilities, list):  # older ones do not tell
        facts = replace(facts, pictures="vision" in abilities)
    for row in as_sequence(as_mapping(_fetch_json(settings, f"{root}/api/ps")).get("models")):
        model = as_mapping(row)
        if settings.llm_model in (model.get("name"), model.get("model")):
            return replace(facts, window=_find_window(model) or facts.window)
    return facts


def _ask_llamacpp(settings: Settings, facts: ModelFacts) -> ModelFacts:
    """Return the facts with the window with which llama.cpp was started."""
    told = as_mapping(_fetch_json(settings, f"{_find_root(settings)}/props"))
    window = _find_window(told.get("default_generation_settings"))
    vision = as_mapping(told.get("modalities")).get("vision")
    return replace(
        facts,
        window=window or facts.window,
        pictures=vision if isinstance(vision, bool) else facts.pictures,
    )


def _find_root(settings: Settings) -> str:
    """Return the address of a model server of this machine itself, which has more than OpenAI's."""
    return settings.endpoint.rstrip("/").removesuffix("/v1")


def _ask(settings: Settings, tools: tuple[ToolDefinition, ...]) -> ModelReply:
    model = open_model(settings)
    try:
        return model.chat(
            ModelRequest(
                [{"role": "user", "content": _QUESTION}],
                tools,
                deadline=time.monotonic() + ANSWER_SECONDS,
                tries=2,
                pause_most=5.0,
            )
        )
    finally:
        if isinstance(model, Closable):
            model.close()


def _list_models(settings: Settings) -> dict[str, Json]:
    """Return what the endpoint tells of each of its models; nothing when it tells nothing."""
    found = _fetch_json(settings, settings.endpoint.rstrip("/") + "/models")
    rows = as_sequence(as_mapping(found).get("data"))
    return {as_string(as_mapping(row).get("id")).removeprefix("models/"): row for row in rows}


def _fetch_json(settings: Settings, url: str, question: Json = None) -> Json:
    """Return what the endpoint's server answers with the key of its model; None for nothing.

    A `question` is sent as JSON.
    """
    key = reveal(settings.llm_key)
    headers = {"authorization": f"Bearer {key}"} if key else {}
    body = bytearray()
    end = time.monotonic() + LIST_SECONDS
    try:
        with (
            httpx.Client(
                transport=open_transport(settings.endpoint), timeout=LIST_SECONDS / 2
            ) as client,
            client.stream(
                "POST" if question else "GET", url, headers=headers, json=question
            ) as answer,
        ):
            for chunk in answer.iter_bytes():
                body += chunk
                if len(body) > LIST_BYTES or time.monotonic() > end:
                    return None
        found: Json = orjson.loads(bytes(body)) if answer.status_code == 200 else None
    except (httpx.HTTPError, httpx.InvalidURL, ValueError):
        return None
    return found


def _find_window(entry: Json) -> int:
    row = as_mapping(entry)
    for part in (row, as_mapping(row.get("top_provider")), as_mapping(row.get("meta"))):
        for field in _WINDOW_FIELDS:
            window = as_integer(part.get(field), LEAST_WINDOW)
            if window:
                return window
    return 0


def _find_pictures(entry: Json) -> bool | None:
    row = as_mapping(entry)
    modalities = as_mapping(row.get("architecture")).get("input_modalities")
    if isinstance(modalities, list):
        return "image" in modalities
    for told in (row.get("supports_image_in"), as_mapping(row.get("capabilities")).get("vision")):
        if isinstance(told, bool):
            return told
    return None


def _explain_failure(
    settings: Settings, provider: Provider, failure: Failure, models: dict[str, Json]
) -> BackendError:
    """Return why the model gave no answer, in a sentence, and what to do."""
    url = settings.endpoint
    name = one_line(settings.llm_model, 60)
    page = f"; see {provider.help}" if provider.help else ""
    is_missing = models and settings.llm_model not in models
    if failure.kind == "other" and (is_missing or " 404" in failure.detail):
        near = get_close_matches(name, models, SHOWN, 0.4) or sorted(models)[:SHOWN]
        offered = ", ".join(one_line(one, 60) for one in near)
        suggestion = f"it has {offered}" if offered else f"choose another one with --model{page}"
        if not models:
            suggestion += "; or the address is wrong: most end with /v1"
        return BackendError(
            "EUNAVAILABLE", f"there is no model {name} at {url}", suggestion=suggestion
        )
    start = provider.start or "check the address and this machine's network or proxy"
    told: dict[FailureKind, tuple[str, str]] = {
        "key": (f"{url} refuses the key", f"give another one{page}"),
        "money": (f"{url} has no credit left for this key", f"top it up{page}"),
        "rate": (f"{url} asks to slow down", "try again in a minute"),
        "unreachable": (f"nothing answers at {url}", start),
        "late": (f"{name} did not answer within {ANSWER_SECONDS:.0f} s", "try again: it may load"),
        "empty": (f"{url} sent no answer that can be read", "most addresses end with /v1"),
        "down": (f"{url} is out of order", "try again later"),
    }
    sentence, suggestion = told.get(
        failure.kind, (f"{url} refuses the request", f"choose another model{page}")
    )
    message = f"{sentence} ({failure.detail})"
    return BackendError("EUNAVAILABLE", one_line(message), suggestion=suggestion)
