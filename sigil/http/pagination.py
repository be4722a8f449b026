"""Lists in pages: the shape that all of them share, and the way to the next page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import TypeVar
from urllib.parse import urlencode

from fastapi import Response

from sigil.http.request import PAGE_MOST, AuthorizedRequest, json_response
from sigil.protocol import Json

RowT = TypeVar("RowT")


def respond_page(
    ask: AuthorizedRequest,
    rows: Iterable[RowT],
    place: Callable[[RowT], str],
    *,
    most: int = PAGE_MOST,
    default: int = PAGE_MOST,
) -> Response:
    """Answer with the first of the rows, as many as `?limit=` says.

    When there are more, `next` and the header `Link` tell the place of the last of them, which is
    the `after` of the next page: what stands all the while is told once, whatever comes and goes
    between two pages.
    """
    limit = ask.whole("limit", default, most)
    return respond_rows(ask, list(islice(rows, limit + 1)), limit, place)


def respond_rows(
    ask: AuthorizedRequest,
    rows: Sequence[RowT],
    limit: int,
    place: Callable[[RowT], str],
    **beside: Json,
) -> Response:
    """Answer with a page of `rows`, which has one more than `limit` when there are more; `beside`:
    what else the answer has.
    """
    after = place(rows[limit - 1]) if len(rows) > limit else ""
    body = {"items": rows[:limit], **beside, **({"next": after} if after else {})}
    return json_response(body, headers={"Link": _link(ask, after)} if after else {})


def _link(ask: AuthorizedRequest, after: str) -> str:
    query = [
        (name, value) for name, values in ask.query.items() if name != "after" for value in values
    ]
    return f'<{ask.url}?{urlencode([*query, ("after", after)])}>; rel="next"'
