"""A test of a model: whether it answers and calls tools, and what its endpoint tells of it."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from difflib import get_close_matches
from typing import Final

from functions.agent.model.base import Failure, FailureKind
from functions.agent.tool_check import ToolFacts, check_tools
from functions.cli.setup.providers import Provider
from functions.known_models import AS_OF, ModelEnd, find_model, find_near_end
from functions.model_list import fetch_json, list_models, read_end
from functions.settings import LEAST_WINDOW, Settings
from functions.wiring import Closable, open_model
from sigil.errors import BackendError, one_line
from sigil.json_fields import as_integer, as_mapping, as_sequence
from sigil.protocol import Json

ANSWER_SECONDS: Final = 60.0
"""A model of this machine may have to be loaded first."""
SHOWN: Final = 5
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

    `window` in tokens, 0 when the endpoint does not tell it; `pictures` None likewise. `known` is
    the window of the table of known models, 0 for others. `end` is there for a model that ended or
    soon ends. `is_listed` is False where the endpoint has a list of its models without this one.
    """

    seconds: float
    tools: ToolFacts
    window: int = 0
    pictures: bool | None = None
    known: int = 0
    end: ModelEnd | None = None
    is_listed: bool = True

    def describe(self, name: str) -> str:
        """Return all of it in one line."""
        window = f"{self.window:,} tokens" if self.window else "not told"
        if self.known and not self.window:
            window += f", {self.known:,} tokens as of {AS_OF}"
        pictures = {True: "yes", False: "no", None: "not told"}[self.pictures]
        told = f"window: {window}; pictures: {pictures}"
        if not self.is_listed:
            told += "; its endpoint's list does not name it"
        return f"{name} answers in {self.seconds:.1f} s, {self.tools.describe()}; {told}"


def check_model(
    settings: Settings, provider: Provider, seconds: float = ANSWER_SECONDS
) -> ModelFacts:
    """Ask the model of the settings for a call and for an answer, both within so many seconds, and
    its endpoint what it tells of the model.

    `BackendError` says in one sentence why there was no answer, and what to do.
    """
    began = time.monotonic()
    model = open_model(settings)
    try:
        tools = check_tools(model, began + seconds)
    finally:
        if isinstance(model, Closable):
            model.close()
    took = time.monotonic() - began
    models = list_models(settings)
    name = settings.llm_model
    end = find_near_end(settings.endpoint, name, today(), read_end(models, name))
    if tools.reply.failure and tools.outcome == "failed":
        raise _explain_failure(settings, provider, tools.reply.failure, models, end)
    entry = as_mapping(models.get(name.removeprefix("models/")))
    known = find_model(settings.endpoint, name)
    facts = ModelFacts(
        took,
        tools,
        window=_find_window(entry),
        pictures=_find_pictures(entry),
        known=known.window if known else 0,
        end=end,
        is_listed=bool(entry) or not models,
    )
    if provider.name == "ollama" or entry.get("owned_by") == "library":
        return _ask_ollama(settings, facts)
    if provider.name == "llamacpp" or entry.get("owned_by") == "llamacpp":
        return _ask_llamacpp(settings, facts)
    return facts


def today() -> date:
    """Return the day in UTC, by which the ends of models count."""
    return datetime.now(UTC).date()


def _ask_ollama(settings: Settings, facts: ModelFacts) -> ModelFacts:
    """Return the facts with what Ollama tells in its own way: whether the model reads pictures, and
    the window with which it is loaded, by default much smaller than what the model could have.
    """
    root = _find_root(settings)
    shown = as_mapping(fetch_json(settings, f"{root}/api/show", {"model": settings.llm_model}))
    abilities = shown.get("capabilities")
    if isinstance(abilities, list):  # older ones do not tell
        facts = replace(facts, pictures="vision" in abilities)
    for row in as_sequence(as_mapping(fetch_json(settings, f"{root}/api/ps")).get("models")):
        model = as_mapping(row)
        if settings.llm_model in (model.get("name"), model.get("model")):
            return replace(facts, window=_find_window(model) or facts.window)
    return facts


def _ask_llamacpp(settings: Settings, facts: ModelFacts) -> ModelFacts:
    """Return the facts with the window with which llama.cpp was started."""
    told = as_mapping(fetch_json(settings, f"{_find_root(settings)}/props"))
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
    settings: Settings,
    provider: Provider,
    failure: Failure,
    models: dict[str, Json],
    end: ModelEnd | None,
) -> BackendError:
    """Return why the model gave no answer, in a sentence, and what to do."""
    url = settings.endpoint
    name = one_line(settings.llm_model, 60)
    page = f"; see {provider.help}" if provider.help else ""
    if failure.kind in ("model", "other") and end and end.day <= today():
        return BackendError(
            "EUNAVAILABLE",
            f"{end.describe(today())} ({failure.detail})",
            suggestion=f"choose another one with --model{page}",
        )
    if failure.kind == "model" or (failure.kind == "other" and " 404" in failure.detail):
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
        "late": (f"{name} did not answer in time", "try again: it may load"),
        "empty": (f"{url} sent no answer that can be read", "most addresses end with /v1"),
        "down": (f"{url} is out of order", "try again later"),
    }
    sentence, suggestion = told.get(
        failure.kind, (f"{url} refuses the request", f"choose another model{page}")
    )
    message = f"{sentence} ({failure.detail})"
    return BackendError("EUNAVAILABLE", one_line(message), suggestion=suggestion)
