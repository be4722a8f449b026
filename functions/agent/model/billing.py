"""Billing says what the tokens of a request cost, and how many of them count for the limits."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from functions.agent.conversation.messages import Usage
from functions.prices import DOLLARS, PriceList


@dataclass(frozen=True, slots=True)
class Billing:
    """The way in which an endpoint bills its models.

    A cached token of a prompt counts as its price says. Without a price it counts `cached_share` of
    a token, which is what the provider's documentation says, and 1 where nobody knows.
    """

    prices: PriceList = field(default_factory=PriceList)
    cached_share: float = 1.0

    def bill(self, usage: Usage, model: str) -> Usage:
        """Return the usage of a request to this model with what it costs and what does not count.

        The prices of the settings go before what the provider says that it has cost.
        """
        if usage.estimated:
            return usage
        prices = self.prices.models.get(model)
        share = prices.cached_share if prices else self.cached_share
        cost = usage.cost if self.prices.currency == DOLLARS else 0.0
        if prices:
            cost = prices.count_cost(usage.prompt, usage.cached, usage.completion)
        return replace(usage, saved=int(usage.cached * (1.0 - share)), cost=cost)
