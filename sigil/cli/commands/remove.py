"""`sigil remove`: take a capability away."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sigil.cli.completions import capability_names
from sigil.cli.names import Namespace, resolve_name
from sigil.cli.shell import confirm, get_shell, require_answerer, unsure_message
from sigil.errors import SigilError
from sigil.protocol import LIBRARY

if TYPE_CHECKING:
    from sigil.admin_protocol import AdminRegistry
    from sigil.protocol import Caller

INSPECTED_MOST = 100
"""A namespace with more capabilities than this is not searched for those that call one: each costs
a request of its own.
"""


def remove(
    context: typer.Context,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="The capability.", autocompletion=capability_names)
    ],
    namespace: Namespace = "",
) -> None:
    """Remove a capability of your own.

    Removes all its versions, grants and data. First shows which others call it, and asks; --yes
    answers.
    """
    shell = get_shell(context)
    require_answerer(shell, name)
    with shell.open_registry(unsure_message(f"sigil audit {name}")) as opened:
        plain, caller = resolve_name(opened.caller, name, namespace)
        callers = find_callers(opened.registry, plain, caller)
        if callers:
            verb = "call" if len(callers) > 1 else "calls"
            shell.printer.note(f"{', '.join(callers)} {verb} {plain}, and will fail without it")
        confirm(shell, f"Remove {name}?", "removed")
        opened.registry.remove(plain, caller)
    shell.printer.result({"removed": name, "needed_by": callers}, f"removed {name}")


def find_callers(registry: AdminRegistry, name: str, caller: Caller) -> list[str]:
    """Return the capabilities of the same namespace that declare a call to this one."""
    rows = [row for row in registry.list(caller) if row["namespace"] != LIBRARY]
    # the namespace is the caller's, or that of the token which a remote registry is shown
    here = {row["namespace"] for row in rows if row["capability"] == name}
    names = [row["capability"] for row in rows if row["namespace"] in here]
    if not names or len(names) > INSPECTED_MOST:
        return []
    callers = []
    for other in names:
        if other == name:
            continue
        try:
            row = registry.inspect(other, caller)
        except SigilError:
            continue  # it is gone, or about to go
        calls = (row.get("permissions") or {}).get("call")
        called = [*row.get("requires", ()), *(calls if isinstance(calls, list) else ())]
        if name in called:
            callers.append(other)
    return sorted(callers)
