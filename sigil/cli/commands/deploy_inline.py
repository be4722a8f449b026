"""The options of `sigil deploy --execute`: a capability in one line, and its flat form, which a
registry takes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from sigil.cli.values import read_value
from sigil.errors import UsageError

if TYPE_CHECKING:
    from sigil.protocol import Json

SERVICES = ("kv", "clock", "random", "log", "web")
FIELDS_WITH_TARGET = {"http": "http", "secret": "secrets", "call": "call"}


class Lifetime(StrEnum):
    """The lifetimes that --type takes."""

    persistent = "persistent"
    normal = "normal"
    ephemeral = "ephemeral"


Texts = list[str] | None


@dataclass(frozen=True, slots=True)
class InlineCapability:
    """A capability given in one line."""

    name: Annotated[
        str | None,
        typer.Option("--name", metavar="NAME", help="Its name (default: t- and six digits)."),
    ] = None
    execute: Annotated[
        str | None,
        typer.Option(
            "--execute", metavar="JS|@FILE|-", help="The body of `async (input, env) => {…}`."
        ),
    ] = None
    schema: Annotated[
        str | None, typer.Option("--schema", metavar="JSON|@FILE", help="The input's JSON Schema.")
    ] = None
    description: Annotated[
        str | None,
        typer.Option("--description", metavar="TEXT", help="What it does, in one sentence."),
    ] = None
    tag: Annotated[Texts, typer.Option("--tag", metavar="WORD", help="A tag; may be repeated.")] = (
        None
    )
    alias: Annotated[
        Texts,
        typer.Option(
            "--alias", metavar="WORDS", help="Another name to be found by; may be repeated."
        ),
    ] = None
    example: Annotated[
        Texts,
        typer.Option("--example", metavar="TEXT", help="What a user would say; may be repeated."),
    ] = None
    type: Annotated[
        Lifetime | None, typer.Option("--type", help="How long it stays (default: normal).")
    ] = None
    output_schema: Annotated[
        str | None,
        typer.Option("--output-schema", metavar="JSON|@FILE", help="The output's JSON Schema."),
    ] = None
    permission: Annotated[
        Texts,
        typer.Option(
            "--permission",
            metavar="WHAT",
            help=(
                "kv, clock, random, log, web, http:GET HOST/, secret:NAME@HOST or call:NAME; may be"
                " repeated."
            ),
        ),
    ] = None
    requires: Annotated[
        Texts,
        typer.Option(
            "--requires",
            metavar="NAME",
            help="A capability that it cannot work without; may be repeated.",
        ),
    ] = None
    test: Annotated[
        Texts,
        typer.Option(
            "--test",
            metavar="INPUT=OUTPUT",
            help="""A golden test, such as '{"n": 1}=2'; or one as JSON. May be repeated.""",
        ),
    ] = None
    public: Annotated[bool, typer.Option("--public", help="Let every namespace run it.")] = False
    idempotent: Annotated[
        bool, typer.Option("--idempotent", help="Run a call again when its answer was lost.")
    ] = False
    ttl: Annotated[
        int | None,
        typer.Option(
            "--ttl", metavar="SECONDS", help="How long an ephemeral one lives (default: 3600)."
        ),
    ] = None

    def flat_spec(self) -> dict[str, Json]:
        """Return the flat form that a registry takes."""
        fields = {
            "name": self.name,
            "execute": read_value(self.execute or ""),
            "schema": _read_schema(self.schema, "--schema"),
            "description": self.description,
            "tags": self.tag,
            "aliases": self.alias,
            "examples": self.example,
            "type": self.type.value if self.type else None,
            "ttl": self.ttl,
            "output_schema": _read_schema(self.output_schema, "--output-schema"),
            "permissions": _parse_permissions(self.permission or ()) or None,
            "requires": self.requires,
            "tests": [_parse_test(text) for text in self.test] if self.test else None,
            "public": self.public or None,
            "idempotent": self.idempotent or None,
        }
        return {name: value for name, value in fields.items() if value is not None}

    def list_bare_hosts(self) -> list[tuple[str, str]]:
        """Return each permission that names a host without a dot or a port, with that host.

        Most such hosts are a slip: `evil` for `evil.example.com`.
        """
        found = []
        for text in self.permission or ():
            kind, _, target = text.partition(":")
            place = {"http": target.partition(" ")[2], "secret": target.partition("@")[2]}
            host = place.get(kind, "").partition("/")[0]
            if host and not {".", ":"} & set(host) and host.lower() != "localhost":
                found.append((text, host))
        return found


NO_INLINE = InlineCapability()


def _read_schema(text: str | None, option: str) -> dict[str, Json] | None:
    from sigil.strict_json import read_object

    return read_object(read_value(text), source=option) if text else None


def _parse_permissions(texts: Sequence[str]) -> dict[str, Json]:
    """Return the permissions as a manifest has them, from the words that `sigil grants` prints."""
    services: dict[str, bool] = {}
    targets: dict[str, list[str]] = {}
    for text in texts:
        kind, colon, target = text.partition(":")
        if text in SERVICES:
            services[text] = True
        elif colon and target and kind in FIELDS_WITH_TARGET:
            targets.setdefault(FIELDS_WITH_TARGET[kind], []).append(target)
        else:
            raise UsageError(
                "EUSAGE",
                f"--permission {text!r} is not a permission",
                suggestion=(
                    "one of kv, clock, random, log, web, http:GET api.example.com/v1/,"
                    " secret:API_KEY@api.example.com or call:hash"
                ),
            )
    return {**services, **targets}


def _parse_test(text: str) -> Json:
    """Return the golden test in `INPUT=OUTPUT` (an output that is no JSON is a string), or in a
    whole test as JSON.
    """
    from sigil.strict_json import loads, read_object

    source = read_value(text) if text.startswith("@") else text
    try:
        _, end = json.JSONDecoder().raw_decode(source)
    except (ValueError, RecursionError):
        raise _make_test_error(text) from None
    rest = source[end:].strip()
    if not rest:
        test = read_object(source, source="--test")
        if "input" not in test:
            raise _make_test_error(text)
        return test
    if not rest.startswith("="):
        raise _make_test_error(text)
    output = rest[1:].strip()
    try:
        expected = loads(output)
    except UsageError:
        expected = output
    return {"input": read_object(source[:end], source="--test"), "output": expected}


def _make_test_error(text: str) -> UsageError:
    return UsageError(
        "EUSAGE",
        f"--test {text!r} is not a test",
        suggestion="""such as '{"n": 1}=2', or '{"input": {"n": "x"}, "error": "EINVAL"}'""",
    )
