"""Reservations of room for the tests of quotas, and for the processes that these start: it imports
nothing of pytest, which would take a process longer than its work.
"""

from __future__ import annotations

from sigil.catalog.catalog import Catalog
from sigil.catalog.quotas import QuotaReservations, Quotas
from sigil.catalog.records import Record
from sigil.manifest.package import parse_flat
from sigil.storage.kv import KV
from tests.fakes.clock import Clock
from tests.sigil.registries import spec


def record(name: str, lifetime: str = "normal", size: int = 100) -> Record:
    """A version of a capability that nobody is going to run."""
    package = parse_flat(spec(name, type=lifetime))
    return Record(
        "main",
        name,
        1,
        package.digest,
        "js",
        "w",
        "s",
        package.manifest,
        "person",
        "",
        0.0,
        size=size,
    )


def open_reservations(
    kv: KV, quotas: Quotas, clock: Clock | None = None
) -> tuple[Catalog, QuotaReservations]:
    given = (clock,) if clock else ()
    catalog = Catalog(kv, *given)
    return catalog, QuotaReservations(kv, catalog, quotas, *given)
