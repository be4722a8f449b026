"""Whose capability is meant: `--namespace`, or a name that says it, as `alice/weather` does."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from sigil.errors import UsageError

if TYPE_CHECKING:
    from sigil.protocol import Caller

Namespace = Annotated[
    str,
    typer.Option("--namespace", metavar="NS", help="Of another namespace (default: the agent's)."),
]


def within(caller: Caller, namespace: str) -> Caller:
    """The caller in this namespace; in their own when it is empty."""
    return replace(caller, namespace=namespace) if namespace else caller


def meant(caller: Caller, name: str, namespace: str = "") -> tuple[str, Caller]:
    """The name alone, and the caller in the namespace that the name or `--namespace` says;
    `UsageError` when those are two.
    """
    from sigil.protocol import LIBRARY

    place, slash, rest = name.partition("/")
    if (
        not slash or not place or place == LIBRARY
    ):  # the library's capabilities have their grants in each namespace
        return name, within(caller, namespace)
    if namespace not in ("", place):
        raise UsageError(
            "EUSAGE",
            f"{name} is not of {namespace}",
            suggestion=f"leave out --namespace, or write {rest}",
        )
    return rest, within(caller, place)


def flag(caller: Caller, usual: str) -> str:
    """What a command for this caller's namespace needs beside its name, when that is not the
    `usual` one.
    """
    return "" if caller.namespace == usual else f" --namespace {caller.namespace}"
