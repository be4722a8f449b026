"""What keepers ask of a registry elsewhere: grants, secrets, keys and the audit, over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from urllib.parse import quote

from sigil.access.tokens import Wish
from sigil.client import responses
from sigil.client.transport import Answer, Line, Request
from sigil.http import wire
from sigil.protocol import Caller, Json, Ref
from sigil.strict_json import dumps

Row = dict[str, Json]
PAGES_MOST, PLACE_MOST = 10_000, 4_000


def post(line: Line, path: str, body: Mapping[str, Json], caller: Caller) -> Answer:
    """The answer to a JSON body."""
    return line.send(Request("POST", path, body=dumps(dict(body))), caller)


def pages(line: Line, path: str, caller: Caller, shape: type, after: str = "") -> Iterator[Row]:
    """The rows of a list from beyond `after` on, page by page, each of that shape; the first page
    is asked for at once.
    """

    def page(after: str) -> tuple[list[Row], str]:
        return responses.page(
            shape,
            line.send(Request("GET", path, query={"after": after} if after else {}), caller).body,
        )

    return _rest(page, page(after), after)


def _rest(
    page: Callable[[str], tuple[list[Row], str]], found: tuple[list[Row], str], before: str
) -> Iterator[Row]:
    """Every page goes on from a place where none went on before, and none but the last is empty:
    else the list has no end.
    """
    seen = {before}
    for _ in range(PAGES_MOST):
        rows, after = found
        yield from rows
        if not after:
            return
        if after in seen or not rows or len(after) > PLACE_MOST:
            raise wire.strange()
        seen.add(after)
        found = page(after)
    raise wire.strange()


class Granting:
    """See `sigil.admin_protocol.Granting`."""

    def __init__(self, line: Line) -> None:
        self._line = line

    def asked(self, ref: str, caller: Caller) -> Row:
        Ref.parse(ref)
        return responses.one(
            responses.Asked,
            self._line.send(Request("GET", f"/_api/grants/{quote(ref, safe='@:/')}"), caller).body,
        )

    def grant(self, ref: str, caller: Caller, digest: str = "") -> Row:
        return responses.one(
            responses.Asked,
            post(self._line, "/_api/grant", {"ref": ref, "digest": digest}, caller).body,
        )

    def revoke(self, name: str, caller: Caller, permission: str = "") -> Row:
        return responses.one(
            responses.Revoked,
            post(self._line, "/_api/revoke", {"name": name, "permission": permission}, caller).body,
        )

    def rows(self, caller: Caller, after: str = "") -> Iterator[Row]:
        return pages(self._line, "/_api/grants", caller, responses.Grant, after)


class Secrets:
    """See `sigil.admin_protocol.Secrets`."""

    def __init__(self, line: Line) -> None:
        self._line = line

    def set(self, name: str, value: str, caller: Caller) -> Row:
        return responses.one(
            responses.Anything,
            self._line.send(
                Request("PUT", _secret(name), body=dumps({"value": value})), caller
            ).body,
        )

    def remove(self, name: str, caller: Caller) -> None:
        self._line.send(Request("DELETE", _secret(name)), caller)

    def rows(self, caller: Caller, after: str = "") -> Iterator[Row]:
        return pages(self._line, "/_api/secrets", caller, responses.Secret, after)


class Importing:
    """See `sigil.admin_protocol.Importing`."""

    def __init__(self, line: Line) -> None:
        self._line = line

    def tools(self, server: Json, caller: Caller, only: Sequence[str] = ()) -> list[Row]:
        body = dumps({"server": server, "only": [*only]})
        answer = self._line.send(
            Request("POST", "/_api/mcp/tools", body=body, seconds=40.0), caller
        )
        return responses.page(responses.Tool, answer.body)[0]


class Keys:
    """See `sigil.admin_protocol.Keys`."""

    def __init__(self, line: Line) -> None:
        self._line = line

    def create(self, wish: Wish, caller: Caller) -> Row:
        return responses.one(
            responses.NewKey, post(self._line, "/_api/keys", asdict(wish), caller).body
        )

    def rows(self, caller: Caller, after: str = "") -> Iterator[Row]:
        return pages(self._line, "/_api/keys", caller, responses.Key, after)

    def revoke(self, id: str, caller: Caller) -> Row:
        return responses.one(
            responses.Holder,
            self._line.send(Request("DELETE", "/_api/keys", query={"id": id}), caller).body,
        )

    def whoami(self, caller: Caller) -> Row:
        return responses.one(
            responses.Holder, self._line.send(Request("GET", "/_api/whoami"), caller).body
        )


class Log:
    """See `sigil.admin_protocol.Log`."""

    def __init__(self, line: Line) -> None:
        self._line = line

    def rows(
        self, caller: Caller, *, namespace: str = "", after: int | None = None, limit: int = 100
    ) -> list[Row]:
        query = {
            "namespace": namespace,
            "limit": str(limit),
            **({} if after is None else {"after": str(after)}),
        }
        return responses.page(
            responses.Entry,
            self._line.send(Request("GET", "/_api/audit", query=query), caller).body,
        )[0]

    def verify(self, caller: Caller, *, namespace: str = "") -> Row:
        query = {"namespace": namespace, "verify": "1"}
        return responses.one(
            responses.Verdict,
            self._line.send(Request("GET", "/_api/audit", query=query), caller).body,
        )


def _secret(name: str) -> str:
    return f"/_api/secrets/{quote(name, safe='')}"
