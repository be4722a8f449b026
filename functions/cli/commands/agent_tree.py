"""`uncaged agent export` and `uncaged agent import`: an agent as a folder of files."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from functions.cli.local_agent import (
    BY,
    Json,
    Whose,
    make_opener,
    note_disabled,
    open_agent,
    print_result,
    require_model,
)
from sigil.cli.printing import Printer
from sigil.cli.times import format_count
from sigil.errors import UsageError

if TYPE_CHECKING:
    from functions.agent.management.agent_tree import TreeReport

cli = typer.Typer(rich_markup_mode=None)


@cli.command("export")
def export_agent(
    folder: Annotated[Path, typer.Argument(help="A folder that is not there yet, or is empty.")],
    whose: Whose = None,
    json: Json = False,
) -> None:
    """Write the agent into a folder, as a git repository with a commit for each write.

    It has the documents, behaviours, skills and files of the agent, what all its chats remember,
    and the agents below it, and nothing of single chats. Secrets of the settings are replaced by
    their names. A file that some program would obey there, such as .envrc, gets the suffix
    .disabled. Git need not be installed.

    Example: uncaged agent export my-agent
    """
    from functions.agent.management.agent_tree import list_commits, list_disabled
    from functions.agent.management.git_repository import write_repository
    from sigil.storage.files import make_write_error

    is_link = folder.is_symlink()
    if is_link or (folder.exists() and not (folder.is_dir() and not any(folder.iterdir()))):
        raise UsageError(
            "EEXIST",
            f"{folder} is there already",
            suggestion="name another folder, or an empty one",
        )
    with open_agent(name=whose) as (app, settings):
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            made = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
            try:
                commits = write_repository(
                    made, list_commits(app, app.redact, make_opener(app, settings))
                )
                disabled = list_disabled(made)
                os.replace(made, folder)  # so there is all of it, or nothing
            except BaseException:
                shutil.rmtree(made, ignore_errors=True)
                raise
        except OSError as problem:
            raise make_write_error(folder, problem) from None
        row: dict[str, object] = {"agent": app.name, "folder": str(folder), "commits": commits}
        row["disabled"] = disabled
    note_disabled(disabled, json)
    print_result(row, f"{format_count(commits, 'commit')} in {folder}", json)


@cli.command("import")
def import_agent(
    folder: Annotated[Path, typer.Argument(help="A folder that `uncaged agent export` wrote.")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be written, and write nothing.")
    ] = False,
    whose: Whose = None,
    json: Json = False,
) -> None:
    """Write an agent's documents, behaviours, skills, files and work from a folder.

    All of it is checked first. What is the same already is not written again, what the folder does
    not have stays, and what is replaced stays as an earlier version.

    Example: uncaged agent import my-agent --dry-run
    """
    from functions.agent.behaviours.behaviour import PREFIX, parse_behaviour
    from functions.agent.management.agent_tree import (
        list_changes,
        plan_tree,
        read_tree,
        write_tree,
    )

    tree = read_tree(folder)
    with open_agent(name=whose) as (app, settings):
        if tree.below and not app.is_root:
            raise UsageError("EINVAL", "no agent is below one that is below the root")
        opener = make_opener(app, settings)
        changes = list_changes(app, tree, opener, BY, f"imported from {folder}")
        models = {inner.record.model for inner in tree.below.values()}
        for each in (tree, *tree.below.values()):
            for name, text in each.documents.items():
                if name.startswith(PREFIX) and text:
                    models.add(parse_behaviour(name.removeprefix(PREFIX), text).model)
        for model in sorted(filter(None, models)):
            if not dry_run:
                require_model(app, model)
        report = plan_tree(changes) if dry_run else write_tree(changes)
        agent = app.name
    printer = Printer(json=json)
    if json:
        row: dict[str, object] = {"agent": agent, "dry_run": dry_run, "written": report.written}
        row |= {"left": list(tree.other), "refused": report.refused, "failed": report.failed}
        printer.document(row)
    else:
        _print_report(printer, report, tree.other, dry_run=dry_run)
    if report.problem:
        raise report.problem


def _print_report(
    printer: Printer, report: TreeReport, other: Sequence[str], *, dry_run: bool
) -> None:
    """Print what became of an import; `other` are the files that it did not read."""
    verb = "would be written" if dry_run else "written"
    for path in report.written:
        printer.line(f"{verb}: {path}")
    for path in other:
        printer.note(f"left: {path} is nothing of an agent")
    for left in report.refused:
        printer.note(f"left: {left}")
    for missing in report.failed:
        printer.note(f"not written: {missing}")
    if report.failed:
        printer.note("the same import again writes what is missing")
    if any("; paused" in path for path in report.written):
        printer.note("schedules are paused; `uncaged wake list`, `uncaged wake resume ID`")
    if not (report.written or report.failed):
        printer.note("nothing to write: all of it is there already")
