"""The models of hosted providers that are known by name: windows, prices, when they end, and what
replaces them.

The table holds what the providers' own pages about models, prices and retirements said on `AS_OF`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Final
from urllib.parse import urlsplit

from functions.prices import ModelPrices

AS_OF: Final = date(2026, 11, 28)
"""The day of the table."""
WARNING_DAYS: Final = 30
"""A model that ends within so many days is told."""
OPENAI: Final = ("api.openai.com",)
ANTHROPIC: Final = ("api.anthropic.com",)
GOOGLE: Final = ("generativelanguage.googleapis.com",)
DEEPSEEK: Final = ("api.deepseek.com",)
MOONSHOT: Final = ("api.moonshot.ai", "api.moonshot.cn")
DASHSCOPE: Final = ("dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com")
OPENROUTER: Final = ("openrouter.ai",)


@dataclass(frozen=True, slots=True)
class KnownModel:
    """A model at the endpoints of its provider, which `hosts` names.

    `window` is in tokens, 0 where no page of the provider tells it. `prices` are dollars per
    million tokens, None where they are not known, or depend on the hour or the size of a request.
    `ends` is the first day without it.
    """

    hosts: tuple[str, ...]
    name: str
    window: int = 0
    prices: ModelPrices | None = None
    ends: date | None = None
    replacement: str = ""


@dataclass(frozen=True, slots=True)
class ModelEnd:
    """The end of a model: the first day without it, and the model that replaces it, if one is
    known.
    """

    name: str
    day: date
    replacement: str = ""

    def describe(self, today: date) -> str:
        """Return it as a sentence without a full stop."""
        if self.day <= today:
            sentence = f"{self.name} ended on {self.day}"
        else:
            sentence = f"{self.name} ends on {self.day}"
        return f"{sentence}; {self.replacement} replaces it" if self.replacement else sentence


_MODELS: Final = (
    KnownModel(OPENAI, "gpt-5.6-terra", 1_050_000),
    KnownModel(OPENAI, "gpt-5-mini", ends=date(2026, 12, 11), replacement="gpt-5.6-terra"),
    KnownModel(ANTHROPIC, "claude-sonnet-5-5", 1_000_000, ModelPrices(2.0, 0.2, 10.0)),
    KnownModel(ANTHROPIC, "claude-sonnet-5", 1_000_000, ModelPrices(2.0, 0.2, 10.0)),
    KnownModel(
        ANTHROPIC,
        "claude-sonnet-4-20250514",
        ends=date(2026, 6, 15),
        replacement="claude-sonnet-5-5",
    ),
    KnownModel(
        ANTHROPIC, "claude-opus-4-20250514", ends=date(2026, 6, 15), replacement="claude-sonnet-5-5"
    ),
    KnownModel(GOOGLE, "gemini-3.8-flash", 1_048_576),
    KnownModel(GOOGLE, "gemini-2.5-flash", ends=date(2026, 12, 1), replacement="gemini-3.8-flash"),
    KnownModel(GOOGLE, "gemini-2.5-pro", ends=date(2026, 12, 1), replacement="gemini-3.8-flash"),
    KnownModel(DEEPSEEK, "deepseek-v4-flash", 1_000_000),
    KnownModel(DEEPSEEK, "deepseek-chat", ends=date(2026, 7, 24), replacement="deepseek-v4-flash"),
    KnownModel(
        DEEPSEEK, "deepseek-reasoner", ends=date(2026, 7, 24), replacement="deepseek-v4-flash"
    ),
    KnownModel(MOONSHOT, "kimi-k2.6", 262_144),
    KnownModel(MOONSHOT, "kimi-latest", ends=date(2026, 1, 28), replacement="kimi-k2.6"),
    KnownModel(MOONSHOT, "kimi-k2.5", ends=date(2026, 8, 31), replacement="kimi-k2.6"),
    KnownModel(DASHSCOPE, "qwen-plus"),
    KnownModel(OPENROUTER, "deepseek/deepseek-chat"),
)


def find_model(url: str, name: str) -> KnownModel | None:
    """Return what is known of a model at an endpoint, None where it is in no row."""
    host = urlsplit(url).hostname or ""
    bare = name.removeprefix("models/")
    return next((row for row in _MODELS if row.name == bare and host in row.hosts), None)


def find_near_end(url: str, name: str, today: date, told: date | None = None) -> ModelEnd | None:
    """Return the end of a model that ended or ends within `WARNING_DAYS`, None for others and where
    it is not known.

    `told` is the day that the endpoint's own list tells, which counts before that of the table.
    """
    known = find_model(url, name)
    day = told or (known.ends if known else None)
    if day is None or (day - today).days > WARNING_DAYS:
        return None
    return ModelEnd(name, day, known.replacement if known else "")
