"""`sigil query`: find capabilities by a description of what one needs, or look at what there is."""

from __future__ import annotations

from typing import Annotated

import typer

from sigil.cli.shell import Shell, get_shell

QUERY_LIMIT = 10
EXPLORE_LIMIT = 20


def query(
    context: typer.Context,
    text: Annotated[
        str, typer.Argument(metavar="TEXT", help="What you need, in your own words.")
    ] = "",
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", min=1, max=50, help="Show at most this many.")
    ] = None,
    explore: Annotated[
        bool,
        typer.Option(
            "--explore",
            help="Show capabilities that differ from each other. The default without TEXT.",
        ),
    ] = False,
) -> None:
    """Find capabilities by what you need, or explore them.

    Shows only what is relevant, which may be nothing.
    """
    shell = get_shell(context)
    if explore or not text.strip():
        _explore(shell, text, limit or EXPLORE_LIMIT)
    else:
        _search(shell, text, limit or QUERY_LIMIT)


def _explore(shell: Shell, text: str, limit: int) -> None:
    from sigil.protocol import glimpse_row

    with shell.open_registry() as opened:
        found = opened.registry.explore(text, opened.caller, limit=limit)
    if shell.printer.json:
        shell.printer.document({"items": [glimpse_row(each) for each in found]})
    elif found:
        rows = [(each.name, f"{each.score:.3f}", each.description) for each in found]
        shell.printer.table(("capability", "score", "description"), rows)
    else:
        shell.printer.note("nothing found")


def _search(shell: Shell, text: str, limit: int) -> None:
    from sigil.protocol import query_page

    with shell.open_registry() as opened:
        found = opened.registry.query(text, opened.caller, limit=limit)
        page = query_page(found, opened.registry, opened.caller) if shell.printer.json else None
    if page is not None:
        shell.printer.document(page)
        return
    names = ", ".join(each.name for each in found.weak)
    if not found.hits:
        shell.printer.note(f"nothing found; nearest: {names}" if names else "nothing found")
        return
    rows = []
    for hit in found.hits:
        offer = hit.offer
        members = ", ".join(each.name for each in hit.offers)
        told = f"{offer.description} Members: {members}." if members else offer.description
        rows.append((offer.name, offer.version, offer.kind, f"{hit.score:.3f}", told))
    shell.printer.table(("capability", "version", "kind", "score", "description"), rows)
