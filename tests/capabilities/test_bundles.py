"""How many plain requests find the right bundle among the first three, and what bundles displace."""

from __future__ import annotations

import pytest

from sigil.deploy.library import read_packages, update_library
from sigil.registry import LocalRegistry
from sigil.storage.artifacts import MemoryArtifacts
from sigil.storage.kv.memory import MemoryKV
from tests.capabilities.conftest import FOLDER, Library
from tests.capabilities.trial_bundles import (
    KEPT,
    LIBRARY_CALLER,
    MODEL,
    STRANGER,
    TUNING,
    UNSEEN,
    deploy_trials,
    find_rank,
    read_requests,
)

FLOORS = {TUNING: 0.9, KEPT: 0.9, UNSEEN: 0.2, STRANGER: 0.9}
"""The least rates: the aliases were chosen with the first two files in sight."""


@pytest.fixture(scope="module")
def registry(library: Library) -> LocalRegistry:
    made = LocalRegistry(MemoryKV(), MemoryArtifacts(), library.sandbox)
    update_library(made, FOLDER, LIBRARY_CALLER, lambda line: None)
    return made


def list_first(registry: LocalRegistry) -> dict[str, str]:
    """Return what is found first for each example of the library."""
    first: dict[str, str] = {}
    for package in read_packages(FOLDER):
        for example in package.manifest.examples:
            hits = registry.query(example, MODEL, limit=1).hits
            first[example] = hits[0].loads[0].name if hits else ""
    return first


def test_plain_requests_find_their_bundle_and_no_example_is_displaced(
    registry: LocalRegistry,
) -> None:
    before = list_first(registry)
    assert "" not in before.values()
    deploy_trials(registry)

    assert list_first(registry) == before
    for name, floor in FLOORS.items():
        requests = read_requests(name)
        missed = [each.text for each in requests if not find_rank(registry, each)]
        share = 1 - len(missed) / len(requests)
        assert share >= floor, f"{share:.0%} of {name}; not so: {missed}"


def test_there_are_as_many_requests_in_each_language() -> None:
    counts = {}
    for name in FLOORS:
        languages = [each.language for each in read_requests(name)]
        counts[name] = (languages.count("en"), languages.count("zh"))
    assert counts == {TUNING: (75, 75), KEPT: (28, 28), UNSEEN: (28, 28), STRANGER: (75, 75)}
