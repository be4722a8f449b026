"""Prices of language models: what their tokens cost, and how much of a cached token counts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

MILLION: Final = 1_000_000
DOLLARS: Final = "USD"
_AMOUNT: Final = r"(\d{1,6}(?:\.\d{1,9})?)"
_PRICES: Final = re.compile(
    rf"(?:([!-<>-~]{{1,100}})=)?{_AMOUNT}\s*,\s*{_AMOUNT}\s*,\s*{_AMOUNT}", re.ASCII
)
"""Four groups: the model's name, if there is one, and its three prices."""
_CURRENCY: Final = re.compile(r"(.*\d)\s+([A-Z]{3})", re.ASCII | re.DOTALL)
MODELS_MOST: Final = 100
CACHED_SHARES: Final[Mapping[str, float]] = {
    "dashscope.aliyuncs.com": 0.2,
    "dashscope-intl.aliyuncs.com": 0.2,
    "api.deepseek.com": 0.26,
    "api.openai.com": 0.5,
}
"""What a cached token of a prompt costs as a share of one that is not cached, by the host of the
endpoint: the highest that its provider's documentation tells of a model (implicit context cache of
Model Studio; prices of deepseek-chat at $0.07 and $0.27; prompt caching of the OpenAI API).
"""


@dataclass(frozen=True, slots=True)
class ModelPrices:
    """The prices of a million tokens of a model: of prompts, of cached prompts, and of answers."""

    prompt: float
    cached: float
    completion: float

    @property
    def cached_share(self) -> float:
        """Return what a cached token costs, as a share of one that is not cached."""
        return min(self.cached / self.prompt, 1.0) if self.prompt else 1.0

    def as_setting(self) -> str:
        """Return the prices as `UNCAGED_LLM_PRICES` takes them, such as `2,0.2,10`."""
        return f"{self.prompt:g},{self.cached:g},{self.completion:g}"

    def count_cost(self, prompt: int, cached: int, completion: int) -> float:
        """Return what so many tokens cost; `cached` are a part of those of the prompt."""
        fresh = prompt - cached
        total = fresh * self.prompt + cached * self.cached + completion * self.completion
        return total / MILLION


@dataclass(frozen=True, slots=True)
class PriceList:
    """The prices of models in one currency, by name; "" is the one of `UNCAGED_LLM_MODEL`."""

    models: Mapping[str, ModelPrices] = field(default_factory=dict)
    currency: str = DOLLARS

    def name_model(self, model: str) -> PriceList:
        """Return the prices with those of the model of the settings under its name."""
        named = {name or model: prices for name, prices in self.models.items()}
        return replace(self, models=named)


def parse_prices(text: str) -> PriceList:
    """Return the prices in a setting such as `0.4,0.08,1.2`, `2,0.4,8 CNY` or
    `0.4,0.08,1.2; qwen-max=1.6,0.32,6.4`.

    Raises `ValueError` for anything else.
    """
    text = text.strip()
    if not text:
        return PriceList()
    named = _CURRENCY.fullmatch(text)
    currency = named[2] if named else DOLLARS
    parts = (named[1] if named else text).split(";")
    models: dict[str, ModelPrices] = {}
    for part in parts:
        found = _PRICES.fullmatch(part.strip())
        if found is None or len(parts) > MODELS_MOST:
            raise ValueError(text)
        models[found[1] or ""] = ModelPrices(float(found[2]), float(found[3]), float(found[4]))
    return PriceList(models, currency)


def format_money(amount: float, currency: str) -> str:
    """Return an amount for people: `$0.0123`, `$12.30`, `0.0123 CNY`."""
    number = f"{amount:,.2f}" if amount >= 1 or not amount else f"{amount:.4f}"
    return f"${number}" if currency == DOLLARS else f"{number} {currency}"
