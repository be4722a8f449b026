"""Names of capabilities as people type them: the namespace they mean, and suggestions for a
misspelt one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer

from sigil.errors import SigilError, UsageError

if TYPE_CHECKING:
    from sigil.cli.shell import OpenRegistry
    from sigil.protocol import Caller

NAMES_MOST = 1_000
TOOLCHAIN = "sigil toolchain"
"""How a suggestion to install a compiler begins."""

Namespace = Annotated[
    str,
    typer.Option("--namespace", metavar="NS", help="The namespace to use (default: the agent's)."),
]


@contextmanager
def suggest_names(opened: OpenRegistry, ref: str) -> Iterator[None]:
    """Add similar names to the error when a capability is not found."""
    try:
        yield
    except UsageError as problem:
        if problem.code == "ENOENT" and problem.message == "no such capability":
            from difflib import get_close_matches

            plain = ref.partition("@")[0].rpartition("/")[2]
            similar: list[str] = []
            with suppress(SigilError):
                rows = islice(opened.registry.list(opened.caller), NAMES_MOST)
                known = {str(row["capability"]) for row in rows}
                similar = get_close_matches(plain, sorted(known), n=3, cutoff=0.6)
            if similar:
                problem.suggestion = f"did you mean {' or '.join(similar)}? {problem.suggestion}"
        raise


def name_own_command(suggestion: str) -> str:
    """Return a suggestion to install a compiler with the path of this installation's `sigil`.

    Where the search path leads to this one, as after `pip install`, its name is enough; that of a
    checkout or another environment would be another program, or none.
    """
    if TOOLCHAIN not in suggestion:
        return suggestion
    import shlex
    import shutil
    import sys
    from pathlib import Path

    script = Path(sys.executable).with_name("sigil")
    found = shutil.which("sigil")
    if found and Path(found).resolve() == script.resolve():
        return suggestion
    program = shlex.quote(str(script)) if script.is_file() else f"{sys.executable} -m sigil.cli"
    return suggestion.replace(TOOLCHAIN, f"{program} toolchain")


def in_namespace(caller: Caller, namespace: str) -> Caller:
    """Return the caller in this namespace, or in their own when it is empty."""
    return replace(caller, namespace=namespace) if namespace else caller


def resolve_name(caller: Caller, name: str, namespace: str = "") -> tuple[str, Caller]:
    """Return the plain name, and the caller in the namespace that the name or `--namespace` says;
    `UsageError` when they differ.
    """
    from sigil.protocol import LIBRARY

    prefix, slash, rest = name.partition("/")
    # the library's capabilities have their grants in each namespace
    if not slash or prefix in ("", LIBRARY):
        return name, in_namespace(caller, namespace)
    if namespace not in ("", prefix):
        raise UsageError(
            "EUSAGE",
            f"{name} is not of {namespace}",
            suggestion=f"leave out --namespace, or write {rest}",
        )
    return rest, in_namespace(caller, prefix)


def namespace_flag(caller: Caller, default: str) -> str:
    """Return the `--namespace` that a suggested command needs; empty in the `default` namespace."""
    return "" if caller.namespace == default else f" --namespace {caller.namespace}"
