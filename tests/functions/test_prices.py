"""Prices of models, as an owner writes them."""

from __future__ import annotations

import pytest

from functions.prices import ModelPrices, PriceList, format_money, parse_prices
from functions.settings import Settings
from sigil.errors import UsageError
from tests.tables import each_row


def test_prices_are_read_with_their_currency_and_other_models() -> None:
    assert parse_prices("0.4, 0.08 ,1.2") == PriceList({"": ModelPrices(0.4, 0.08, 1.2)})
    several = parse_prices(" 2,0.4,8; qwen-max=6,1.2,24 CNY ")
    assert several.currency == "CNY"
    assert several.name_model("qwen-plus").models == {
        "qwen-plus": ModelPrices(2, 0.4, 8),
        "qwen-max": ModelPrices(6, 1.2, 24),
    }
    assert parse_prices("  ") == PriceList()


@each_row(
    "text",
    [
        "0.4",
        "1,2",
        "1,2,3,4",
        "-1,2,3",
        "1e9,1,1",
        "nan,1,1",
        "1,2,3 dollars",
        "1,2,3 usd",
        "a b=1,2,3",
        "١,٢,٣",
        "1,2,3;",
        "1234567,1,1",
        ";".join(["x=1,2,3"] * 101),
    ],
)
def test_what_is_no_price_is_refused_before_the_agent_starts(text: str) -> None:
    with pytest.raises(UsageError, match="UNCAGED_LLM_PRICES") as refused:
        Settings(llm_prices=text)
    assert "0.4,0.08,1.2" in refused.value.suggestion


def test_a_cached_token_counts_as_its_price_says() -> None:
    assert parse_prices("2,0.5,8").models[""].cached_share == 0.25
    assert parse_prices("1,2,8").models[""].cached_share == 1.0
    assert parse_prices("0,0,0").models[""].cached_share == 1.0


@pytest.mark.parametrize(
    ("amount", "currency", "shown"),
    [
        (0.01234, "USD", "$0.0123"),
        (12.3, "USD", "$12.30"),
        (1234.5, "CNY", "1,234.50 CNY"),
        (0.00001, "CNY", "0.0000 CNY"),
        (0.0, "USD", "$0.00"),
    ],
)
def test_money_is_shown_for_people(amount: float, currency: str, shown: str) -> None:
    assert format_money(amount, currency) == shown
