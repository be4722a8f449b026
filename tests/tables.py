"""Tables of rows that one test walks, each as a subtest.

A row of `pytest.mark.parametrize` is a test of its own, with fixtures and reports of its own, which
cost two milliseconds and more. Where a row itself takes not much longer, `each_row` runs the body
of one test for all of them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

import pytest

MAX_SHOWN = 60
"""Characters of a value in the name of its subtest."""


def each_row(
    names: str | tuple[str, ...], rows: Iterable[Any]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test's body for each of the rows, which `pytest.mark.parametrize` would take as well.

    One that fails hides no other. All rows share the test's fixtures.
    """
    parameters = [name.strip() for name in names.split(",")] if isinstance(names, str) else names
    table = [row if len(parameters) > 1 else (row,) for row in rows]

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @wraps(test)
        def walk(*own: object, subtests: pytest.Subtests, **fixtures: object) -> None:
            for row in table:
                values = dict(zip(parameters, row, strict=True))
                shown = {name: repr(value)[:MAX_SHOWN] for name, value in values.items()}
                with subtests.test(**shown):
                    test(*own, **fixtures, **values)

        signature = inspect.signature(test)
        kept = [each for name, each in signature.parameters.items() if name not in parameters]
        added = inspect.Parameter("subtests", inspect.Parameter.KEYWORD_ONLY)
        vars(walk)["__signature__"] = signature.replace(parameters=[*kept, added])
        return walk

    return decorate
