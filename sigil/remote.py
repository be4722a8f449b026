"""What keepers ask of a registry elsewhere: grants, secrets, keys and the audit, over HTTP."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from urllib.parse import quote

from sigil import wire
from sigil.line import Answer, Line, Request
from sigil.protocol import Caller, Json, Ref
from sigil.strict import dumps
from sigil.tokens import Wish

Row = dict[str, Json]
PAGES_MOST = 10_000


def post(line: Line, path: str, body: Mapping[str, Json], caller: Caller) -> Answer:
    """The answer to a JSON body."""
    return line.send(Request("POST", path, body=dumps(dict(body))), caller)


def pages(line: Line, path: str, caller: Caller, after: str = "") -> Iterator[Row]:
    """The rows of a list from beyond `after` on, page by page; the first page is asked for at once."""
    return _rest(line, path, caller, _page(line, path, caller, after))


def _rest(line: Line, path: str, caller: Caller, page: tuple[list[Row], str]) -> Iterator[Row]:
    for _ in range(PAGES_MOST):
        rows, after = page
        yield from rows
        if not after:
            return
        page = _page(line, path, caller, after)


def _page(line: Line, path: str, caller: Caller, after: str) -> tuple[list[Row], str]:
    return wire.read_page(line.send(Request("GET", path, query={"after": after} if after else {}), caller).body)


class Granting:
    """See `sigil.keeper.Granting`."""

    def __init__(self, line: Line) -> None:
        self._line = line

    def asked(self, ref: str, caller: Caller) -> Row:
        Ref.parse(ref)
        return self._line.send(Request("GET", f"/_api/grants/{quote(ref, safe='@:/')}"), caller).object

    def grant(self, ref: str, caller: Caller, digest: str = "") -> Row:
        return post(self._line, "/_api/grant", {"ref": ref, "digest": digest}, caller).object

    def revoke(self, name: str, caller: Caller, permission: str = "") -> Row:
        return post(self._line, "/_api/revoke", {"name": name, "permission": permission}, caller).object

    def rows(self, caller: Caller, after: str = "") -> Iterator[Row]:
        return pages(self._line, "/_api/grants", caller, after)


class Secrets:
    """See `sigil.keeper.Secrets`."""

    def __init__(self, line: Line) -> None:
        self._line = line

    def set(self, name: str, value: str, caller: Caller) -> Row:
        return self._line.send(Request("PUT", _secret(name), body=dumps({"value": value})), caller).object

    def remove(self, name: str, caller: Caller) -> None:
        self._line.send(Request("DELETE", _secret(name)), caller)

    def rows(self, caller: Caller, after: str = "") -> Iterator[Row]:
        return pages(self._line, "/_api/secrets", caller, after)


class Keys:
    """See `sigil.keeper.Keys`."""

    def __init__(self, line: Line) -> None:
        self._line = line

    def create(self, wish: Wish, caller: Caller) -> Row:
        return post(self._line, "/_api/keys", asdict(wish), caller).object

    def rows(self, caller: Caller, after: str = "") -> Iterator[Row]:
        return pages(self._line, "/_api/keys", caller, after)

    def revoke(self, id: str, caller: Caller) -> Row:
        return self._line.send(Request("DELETE", "/_api/keys", query={"id": id}), caller).object

    def whoami(self, caller: Caller) -> Row:
        return self._line.send(Request("GET", "/_api/whoami"), caller).object


class Log:
    """See `sigil.keeper.Log`."""

    def __init__(self, line: Line) -> None:
        self._line = line

    def rows(self, caller: Caller, *, namespace: str = "", after: int | None = None, limit: int = 100) -> list[Row]:
        query = {"namespace": namespace, "limit": str(limit), **({} if after is None else {"after": str(after)})}
        return wire.read_rows(self._line.send(Request("GET", "/_api/audit", query=query), caller).body)

    def verify(self, caller: Caller, *, namespace: str = "") -> Row:
        return self._line.send(Request("GET", "/_api/audit", query={"namespace": namespace, "verify": "1"}), caller).object


def _secret(name: str) -> str:
    return f"/_api/secrets/{quote(name, safe='')}"
