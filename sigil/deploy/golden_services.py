"""What services stand on in a golden test: the test's own fixtures for the web, an empty store, and
everything declared granted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import orjson

from sigil.errors import Refused, SigilError, UsageError
from sigil.manifest.permission_rules import CallRule, parse_call_rule
from sigil.manifest.permissions import requested_permissions
from sigil.network.exchange import Answer, Hop
from sigil.network.headers import Headers
from sigil.network.urls import Target
from sigil.protocol import Json
from sigil.run import dependencies
from sigil.run.host_calls.context import Facilities, Part
from sigil.run.host_calls.kv_service import Store
from sigil.storage.kv import KV
from sigil.storage.kv.memory import MemoryKV


class WebFixture(Protocol):
    """What the web answers in a test."""

    @property
    def url(self) -> str: ...
    @property
    def method(self) -> str: ...
    @property
    def status(self) -> int: ...
    @property
    def headers(self) -> dict[str, str]: ...
    @property
    def body(self) -> Json: ...


@dataclass(frozen=True, slots=True)
class FixtureWeb:
    """A web that knows these answers alone."""

    known: Sequence[WebFixture]
    loopback: bool = False

    def send(self, hop: Hop, seconds: float) -> Answer:
        """The answer that the test states for this very method and address."""
        for fixture in self.known:
            if fixture.method.upper() == hop.method and _url(fixture.url) == hop.target.url:
                return _answer(fixture)
        what = f"{hop.method} {hop.target.url}"
        raise Refused(
            "ENET",
            f"a test reaches no network: state what {what} answers in the test's http",
            source="http",
        )

    def close(self) -> None:
        """Nothing is held."""


@dataclass(frozen=True, slots=True)
class TestServices:
    """The `Facilities` of one test. `others`: where the capabilities that it calls are; they are
    rehearsed with it.
    """

    fixtures: FixtureWeb
    others: Facilities | None = None
    kv: KV = field(default_factory=MemoryKV)

    def web(self) -> FixtureWeb:
        return self.fixtures

    def store(self, part: Part, home: str) -> Store:
        return Store(self.kv, (home, *part.identity))

    def granted(self, part: Part, home: str) -> frozenset[str]:
        return frozenset(requested_permissions(part.manifest))

    def secret(self, namespace: str, name: str) -> str | None:
        """The placeholder stays what it is: tests know no secrets."""
        return f"{{{{{name}}}}}"

    def find(self, rule: CallRule, view: str, over: Part | None = None) -> Part | None:
        return self.others.find(rule, view, over) if self.others else None

    def pins(self, part: Part) -> Mapping[str, str]:
        if self.others and _is_decided(part):
            return self.others.pins(part)
        return (
            dependencies.resolve(part.manifest, part.namespace, self)
            if part.pins is None
            else part.pins
        )

    def callee(self, part: Part, call: str) -> Part:
        if self.others and _is_decided(part):
            return self.others.callee(part, call)
        rule = parse_call_rule(call)
        found = self.find(rule, part.namespace)
        if found is None:
            raise UsageError("ENOENT", f"there is no {rule.shown} to call")
        return found


def _is_decided(part: Part) -> bool:
    """Whether it is settled which versions it calls: it is deployed, or about to be."""
    return part.pins is not None or part.version > 0


def _url(text: str) -> str:
    try:
        return Target.parse(text).url
    except SigilError:
        return text


def _answer(fixture: WebFixture) -> Answer:
    headers: Headers = tuple((name.lower(), value) for name, value in fixture.headers.items())
    if isinstance(fixture.body, str):
        return Answer(fixture.status, "", headers, fixture.body.encode("utf-8", "replace"))
    kind: Headers = (
        () if "content-type" in dict(headers) else (("content-type", "application/json"),)
    )
    return Answer(fixture.status, "", (*headers, *kind), orjson.dumps(fixture.body))
