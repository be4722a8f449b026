"""A dialect is how an endpoint wants the requests to a model, of which no two want the same.

The table has what is known of families of endpoints and models, as their documentation and their
refusals said on 2026-11-28. What is not in it is sent in the standard form, and learnt from what
the endpoint refuses.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal
from urllib.parse import urlsplit

from functions.agent.model.base import IMAGES_LEFT_OUT
from sigil.errors import UsageError
from sigil.storage.stored import Stored

Wire = Literal["chat", "responses", "messages"]
"""The form of requests and replies: chat completions, OpenAI's Responses, Anthropic's Messages."""
Schemas = Literal["clean", "portable"]
Choices = Literal["named", "words", "auto", "omitted"]
"""What a tool choice may be: a tool by its name, one of the words `none`, `auto` and `required`,
`auto` alone, or nothing at all.
"""

REASONING: Final = "reasoning_content"
SIGNATURE: Final = "thought_signature"
DETAILS: Final = "reasoning_details"
"""The fields that some endpoints want beside every call of the history."""
STREAM: Final = "stream"
STREAM_OPTIONS: Final = "stream_options"
"""The fields that ask for a stream, and for what it cost."""


@dataclass(frozen=True, slots=True)
class Dialect(Stored):
    """How one endpoint wants the requests to one model.

    `streams`: it answers only as a stream. `schemas` is the form of all tools' parameters, and
    `portable_tools`, `bare_tools` and `without_tools` name those that need the strictest form, that
    have their parameters told in words, and that are left out. `effort` is how much it is to reason
    beside tools, empty for its own. `needs` are the fields that must stand beside each call, also
    where nothing was kept; with `returns`, what it sent beside its messages comes back to it.
    `has_tags`: thoughts come back inside the text. `short_ids`: the ids of calls have nine letters
    and digits. `bridges`: a message of the assistant stands between a result and what a user says.
    `alternates`: no two messages of one role follow each other. `names_results`: a result names its
    tool. `marks_cache`: the prefix to keep is marked. `without` are fields that are left out
    wherever they are. `without_images`: a line of text stands for each. `is_plain`: calls of
    earlier turns are told as text; `is_toolless`: all calls are, and no tool is offered.
    """

    wire: Wire = "chat"
    streams: bool = False
    schemas: Schemas = "clean"
    choices: Choices = "named"
    effort: str = ""
    needs: tuple[str, ...] = ()
    returns: bool = True
    has_tags: bool = False
    short_ids: bool = False
    bridges: bool = False
    alternates: bool = False
    names_results: bool = False
    marks_cache: bool = False
    without: tuple[str, ...] = ()
    portable_tools: tuple[str, ...] = ()
    bare_tools: tuple[str, ...] = ()
    without_tools: tuple[str, ...] = ()
    without_images: bool = False
    is_plain: bool = False
    is_toolless: bool = False


_WORDS: Final = {
    "wire": "requests have the form of {}",
    "streams": "answers come as a stream",
    "schemas": "all tools are told in the strictest form",
    "choices": "a choice of tools is {}",
    "effort": "beside tools the effort to reason is {}",
    "needs": "beside each call stands {}",
    "returns": "what came beside messages is not sent back",
    "has_tags": "thoughts come back in tags",
    "short_ids": "the ids of calls are short",
    "bridges": "a message stands between a result and the next words",
    "alternates": "messages of one role are joined",
    "names_results": "results have their tool's name",
    "marks_cache": "the prefix to keep is marked",
    "without": "left out: {}",
    "portable_tools": "told in the strictest form: {}",
    "bare_tools": "arguments told in words: {}",
    "without_tools": "not offered: {}",
    "without_images": IMAGES_LEFT_OUT,
    "is_plain": "calls of earlier turns are told as text",
    "is_toolless": "no tools are offered",
}
"""What a field says that differs from the table, for owners."""


def list_differences(known: Dialect, learnt: Dialect) -> list[str]:
    """Return in what a dialect that was learnt differs from the known one, a phrase each."""
    said = []
    for name, words in _WORDS.items():
        value = getattr(learnt, name)
        if value != getattr(known, name):
            said.append(words.format(", ".join(value) if isinstance(value, tuple) else value))
    return said


@dataclass(frozen=True, slots=True)
class Family:
    """Endpoints and models with one dialect. The patterns are searched in the address's host (with
    its port) and in the model's name; an empty one finds all.
    """

    name: str
    hosts: str
    models: str
    dialect: Dialect


STANDARD: Final = Dialect()
_OPENAI: Final = r"(^|\.)openai\.com$"
_QWEN: Final = r"aliyuncs\.com$|modelscope\.cn$"
FAMILIES: Final = (
    Family("openai", _OPENAI, r"^(gpt-[5-9]|o\d|codex)", Dialect(wire="responses")),
    Family("openai", _OPENAI, "", STANDARD),
    Family("azure", r"\.azure\.com$", "", STANDARD),
    Family("gemini", r"(^|\.)googleapis\.com$", "", Dialect(needs=(SIGNATURE,))),
    Family("anthropic", r"(^|\.)anthropic\.com$", "", Dialect(wire="messages", marks_cache=True)),
    Family("deepseek", r"(^|\.)deepseek\.com$", "", Dialect(needs=(REASONING,), choices="auto")),
    Family(
        "kimi",
        r"(^|\.)(moonshot\.(ai|cn)|kimi\.com)$",
        "",
        Dialect(needs=(REASONING,), choices="auto", schemas="portable"),
    ),
    Family(
        "qwen",
        _QWEN,
        r"thinking|(^|/)(qwq|qvq|qwen3-\d)|omni",
        Dialect(streams=True, choices="auto"),
    ),
    Family("qwen", _QWEN, "", STANDARD),
    Family("glm", r"(^|\.)(bigmodel\.cn|z\.ai)$", "", Dialect(choices="auto")),
    Family("minimax", r"(^|\.)minimaxi?\.(io|com|chat)$", "", Dialect(has_tags=True)),
    Family("mistral", r"(^|\.)mistral\.ai$", "", Dialect(short_ids=True, bridges=True)),
    Family("groq", r"(^|\.)groq\.com$", "", STANDARD),
    Family("xai", r"(^|\.)x\.ai$", "", STANDARD),
    Family("openrouter", r"(^|\.)openrouter\.ai$", r"^google/gemini", Dialect(needs=(DETAILS,))),
    Family("openrouter", r"(^|\.)openrouter\.ai$", r"^anthropic/", Dialect(marks_cache=True)),
    Family("openrouter", r"(^|\.)openrouter\.ai$", "", STANDARD),
    Family("bedrock", r"\.amazonaws\.com$", "", STANDARD),
    Family("ollama", r"(^|\.)ollama\.com$|:11434$", "", Dialect(choices="auto")),
    Family("lmstudio", r":1234$", "", Dialect(choices="words")),
    # behind a gateway the name of the model says the most
    Family("gemini", "", r"(^|/)gemini-([3-9]|\d\d)", Dialect(needs=(SIGNATURE,))),
    Family("deepseek", "", r"(^|/)deepseek-v[4-9]", Dialect(needs=(REASONING,))),
    Family("kimi", "", r"(^|/)kimi-k([3-9]|2\.[5-9])", Dialect(needs=(REASONING,))),
    Family(
        "mistral",
        "",
        r"(^|/)(mistral|ministral|codestral|devstral|magistral)",
        Dialect(short_ids=True, bridges=True),
    ),
    Family("standard", "", "", STANDARD),
)
"""The first one that fits counts."""
NAMES: Final = tuple(dict.fromkeys(family.name for family in FAMILIES))
"""The names that `UNCAGED_LLM_DIALECT` takes."""


def require_known(name: str) -> None:
    """Raise `UsageError` ESETTING unless a name is empty or that of a family."""
    if name and name not in NAMES:
        raise UsageError(
            "ESETTING",
            f"UNCAGED_LLM_DIALECT={name!r:.60} is no family that is known",
            suggestion=f"use one of {', '.join(NAMES)}, or leave it out",
        )


@lru_cache(maxsize=256)
def choose_dialect(endpoint: str, model: str, name: str = "") -> Dialect:
    """Return the dialect of a model at an address, or the one with this name for such a model."""
    host = urlsplit(endpoint).netloc.rpartition("@")[2].lower()
    for family in FAMILIES:
        at_home = family.name == name if name else re.search(family.hosts, host) is not None
        if at_home and re.search(family.models, model.lower()):
            return family.dialect
    return STANDARD
