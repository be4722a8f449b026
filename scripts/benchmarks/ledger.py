"""Measures the check of a ledger that has 100,000 entries.

The store is SQLite. The floor is hashing the same rows once, without the store.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from functions.agent.ledger.chain import LedgerChain, Row, find_root, hash_row
from functions.agent.ledger.entry import Entry
from functions.agent.ledger.ledger import Ledger
from functions.events import Event, Sender
from scripts.benchmarks.measuring import time_call
from scripts.benchmarks.rows import Row as Measured
from sigil.storage.kv.sqlite import SqliteKV

ENTRIES: Final = 100_000
OF_A_TURN: Final = 5
"""So many entries stand in one item, as a turn with two requests and three calls has them."""
CHAINS: Final = 50
ROUNDS: Final = 3
TARGET_SECONDS: Final = 2.0
RATIO_MOST: Final = 5.0
AGENT: Final = "main"
BEGAN: Final = 1_800_000_000.0
CALL: Final = Entry("call", {"tool": "cap_web_search", "ms": 120, "error": ""})
REQUEST: Final = Entry(
    "request",
    {"model": "model", "prompt": 5_000, "cached": 4_000, "completion": 100, "cost": 0.0021},
)


def run(data: Path | None) -> Iterator[Measured]:
    """Measure in seconds, the best of three rounds."""
    with tempfile.TemporaryDirectory() as folder:
        kv = SqliteKV(Path(folder) / "store.db")
        ledger = Ledger(kv, AGENT)
        ends = dict(_fill(ledger, number) for number in range(CHAINS))
        chains: dict[str, list[Row]] = {}
        for chain, row in ledger.scan():
            chains.setdefault(chain, []).append(row)

        def verify() -> None:
            check = ledger.verify(ends)
            assert (check.entries, check.problem) == (ENTRIES, "")

        def hash_rows() -> None:
            for name, rows in chains.items():
                tip = find_root(name)
                for row in rows:
                    tip = hash_row(row, tip)
                assert tip == ends[name].tip

        times = [(time_call(verify), time_call(hash_rows)) for _ in range(ROUNDS)]
        ours, least = (min(each) / 1e3 for each in zip(*times, strict=True))
        yield Measured(
            f"the check of {ENTRIES:,} entries",
            ours,
            "s",
            target=TARGET_SECONDS,
            floor=least,
            ratio_target=RATIO_MOST,
        )
        kv.close()


def _fill(ledger: Ledger, number: int) -> tuple[str, LedgerChain]:
    """Write the chain of a session, and return its name and its end."""
    chain = LedgerChain()
    entries = [REQUEST, CALL, CALL, CALL, REQUEST]
    for turn in range(ENTRIES // CHAINS // OF_A_TURN):
        who = f"telegram:{number}"
        event = Event(f"{who}:{turn}", "message", AGENT, who, Sender(who), "", BEGAN, "")
        chain = ledger.flush(chain.add(entries, event, BEGAN + turn))
    return chain.name, chain
