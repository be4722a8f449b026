"""Plain requests for bundles, those of the library and trial ones beside it, and what they find."""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sigil.manifest.model import Manifest
from sigil.manifest.package import Package
from sigil.protocol import LIBRARY, Caller
from sigil.registry import LocalRegistry

DATA: Final = Path(__file__).parents[1] / "data"
LIBRARY_CALLER: Final = Caller(LIBRARY, author="library")
MODEL: Final = Caller("main", session="s", author="model")
TUNING: Final = "bundle_requests.tsv"
KEPT: Final = "bundle_requests_later.tsv"
UNSEEN: Final = "bundle_requests_unseen.tsv"
STRANGER: Final = "bundle_requests_stranger.tsv"
FIRST: Final = 3


@dataclass(frozen=True, slots=True)
class PlainRequest:
    """What a person writes, in which language, and the bundle that can do it."""

    bundle: str
    language: str
    text: str


def read_requests(name: str = TUNING) -> list[PlainRequest]:
    """Return the requests of a file.

    Those of `TUNING` and `KEPT` were written before the aliases, by whoever wrote these, and were
    in sight then. Those of `UNSEEN` were written after them, in words as far away as may be; those of
    `STRANGER` after them as well, plainly and by somebody who knew one sentence about each bundle.
    Both are only measured.
    """
    with (DATA / name).open(encoding="utf-8") as lines:
        rows = list(csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [PlainRequest(*row) for row in rows[1:]]


def deploy_trials(registry: LocalRegistry) -> None:
    """Deploy the trial bundles beside the library, and the members that it does not have yet."""
    there = {row["capability"] for row in registry.list(LIBRARY_CALLER)}
    for package in list_trials():
        if package.manifest.name not in there:
            registry.deploy_package(package, LIBRARY_CALLER)


def list_trials() -> Iterator[Package]:
    """Yield the members of each trial bundle, and then the bundle."""
    trials = tomllib.loads((DATA / "trial_bundles.toml").read_text("utf-8"))
    for name, bundle in trials.items():
        for member, description in bundle["members"].items():
            fields = {"name": member, "description": description, "lang": "host", "public": True}
            yield Package(Manifest.model_validate(fields), b"")
        fields = {**bundle, "name": name, "lang": "bundle", "members": [*bundle["members"]]}
        yield Package(Manifest.model_validate({**fields, "public": True}), b"")


def find_rank(registry: LocalRegistry, request: PlainRequest) -> int:
    """Return the place of the right bundle among the first answers, 0 when it is not there."""
    hits = registry.query(request.text, MODEL, limit=FIRST).hits
    names = [hit.offer.name for hit in hits]
    return names.index(request.bundle) + 1 if request.bundle in names else 0
