"""What requests would have cost with the definition of every capability in them, beside what the
tools took that were really in them.

The first is an estimate by the capabilities as they are today; the second stands in the rows of
runs. Both are estimated tokens of definitions, without the tools that are always there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from functions.agent.agents.record import read_agent
from functions.agent.app import App
from functions.agent.conversation import tokens
from functions.agent.management.usage import AllTools, DaySum
from sigil.catalog.definitions import read_generation, scan_definitions
from sigil.errors import SigilError
from sigil.protocol import LIBRARY
from sigil.storage.kv import KV

READ_MOST: Final = 2_000
"""How many capabilities of a namespace are read; of more it is only said that there are some."""
REMEMBERED: Final = 16
"""For how many namespaces and their generations a process keeps the sizes."""
DAY_SECONDS: Final = 86_400


@dataclass(frozen=True, slots=True)
class Definitions:
    """How many capabilities there are, and about how many tokens their definitions have as tools
    of a request. `is_whole` says that all were read.
    """

    capabilities: int
    tokens: float
    is_whole: bool


def compare_all_tools(app: App, sums: Iterable[DaySum]) -> AllTools | None:
    """Return the comparison for sums of a root and of agents below it; None where the store of the
    agent has no capabilities.

    Requests of an agent that reaches some capabilities alone count as not measured.
    """
    found = measure_definitions(app.kv, app.root, app.clock.now())
    if not found.capabilities:
        return None
    known: dict[str, bool] = {app.root: True}
    requests = measured = resident = 0
    for each in sums:
        requests += each.spent.requests
        if each.agent not in known:
            known[each.agent] = _reaches_all(app, each.agent)
        if known[each.agent]:
            measured += each.spent.measured
            resident += each.spent.resident
    size = round(found.tokens * tokens.MARGIN)
    return AllTools(found.capabilities, size, found.is_whole, requests, measured, resident)


def measure_definitions(kv: KV, root: str, now: float) -> Definitions:
    """Return the size of what a root and the agents below it reach: their own capabilities and
    those of the library, without what single chats have made. `now` is in seconds since 1970.
    """
    day = int(now // DAY_SECONDS)
    own, library = _measure(kv, root, day), _measure(kv, LIBRARY, day)
    sizes = {**library.sizes, **own.sizes}  # the nearest of a name is the one that counts
    return Definitions(len(sizes), sum(sizes.values()), own.is_whole and library.is_whole)


@dataclass(frozen=True, slots=True)
class _Sizes:
    sizes: dict[str, float]
    is_whole: bool


def _measure(kv: KV, namespace: str, day: int) -> _Sizes:
    generation = read_generation(kv, namespace)
    return _measure_namespace(kv, namespace, generation, day)  # type: ignore[arg-type]  # by identity


@lru_cache(maxsize=REMEMBERED)
def _measure_namespace(kv: KV, namespace: str, generation: str, day: int) -> _Sizes:
    """Return the tokens of the capabilities of a namespace by their names.

    They are read once a day, some of them having an end, and for each `generation`, which is
    another one whenever one of them has changed.
    """
    sizes: dict[str, float] = {}
    if not generation:
        return _Sizes(sizes, is_whole=True)
    for number, offer in enumerate(scan_definitions(kv, namespace, day * DAY_SECONDS)):
        if number >= READ_MOST:
            return _Sizes(sizes, is_whole=False)
        sizes[offer.name] = tokens.of_offer(offer)
    return _Sizes(sizes, is_whole=True)


def _reaches_all(app: App, agent: str) -> bool:
    """Return whether an agent is bound to no bundle; not for one that is gone."""
    try:
        return not read_agent(app.kv, app.root, agent.rpartition(".")[2]).bundle
    except SigilError:
        return False
