"""Answers of a registry elsewhere, as the client reads them."""

from __future__ import annotations

from typing import Any

import pytest

from sigil.client.responses import VERSION
from sigil.errors import BackendError

ROW: dict[str, Any] = {
    "capability": "main/one",
    "version": 1,
    "digest": f"sha256:{'0' * 64}",
    "author": "person",
    "at": 1.0,
    "active": True,
    "yanked": False,
    "health": "closed",
}


def test_a_row_with_words_and_fields_of_a_newer_registry_is_understood() -> None:
    newer = {**ROW, "author": "teammate", "health": "half-open", "mood": ["calm"]}
    assert VERSION.check(newer) == newer


@pytest.mark.parametrize(
    "change", [{"author": 1}, {"health": None}, {"version": "1"}, {"active": "yes"}]
)
def test_a_row_whose_fields_have_other_types_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(BackendError):
        VERSION.check({**ROW, **change})
