"""Answer with a page of a list: the shape that all lists share, and the link to the next page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import TypeVar
from urllib.parse import urlencode

from starlette.responses import Response

from sigil.http.request import PAGE_MOST, AuthorizedRequest
from sigil.http.response import json_response
from sigil.protocol import Json

RowT = TypeVar("RowT")


def respond_page(
    request: AuthorizedRequest, rows: Iterable[RowT], cursor_of: Callable[[RowT], str]
) -> Response:
    """Answer with the first of the rows, as many as `?limit=` says.

    When there are more, `next` and the header `Link` give the cursor of the last of them, which is
    the `after` of the next page: a row that is always there is listed once, whatever comes and goes
    between two pages.
    """
    limit = request.read_number("limit", PAGE_MOST, PAGE_MOST)
    return respond_rows(request, list(islice(rows, limit + 1)), limit, cursor_of)


def respond_rows(
    request: AuthorizedRequest,
    rows: Sequence[RowT],
    limit: int,
    cursor_of: Callable[[RowT], str],
    **fields: Json,
) -> Response:
    """Answer with a page of `rows`, which has one more than `limit` when there are more.

    `fields` are further fields of the answer.
    """
    body = {"items": rows[:limit], **fields}
    if len(rows) <= limit:
        return json_response(body)
    after = cursor_of(rows[limit - 1])
    parameters = []
    for name, values in request.query.items():
        if name != "after":
            parameters += [(name, value) for value in values]
    parameters.append(("after", after))
    link = f'<{request.url}?{urlencode(parameters)}>; rel="next"'
    return json_response({**body, "next": after}, headers={"Link": link})
