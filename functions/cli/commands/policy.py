"""`uncaged policy`: what the agent may do, for whom, and for what it asks an owner first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from functions.cli.commands.documents import (
    edit_in_editor,
    print_diff,
    print_versions,
    read_text_file,
    report_version,
)
from functions.cli.local_agent import BY, Json, Whose, open_agent, print_result
from sigil.cli.printing import Printer
from sigil.errors import Conflict, UsageError

if TYPE_CHECKING:
    from functions.agent.app import App
    from functions.agent.memory.documents import Doc, Documents

NAME = "policy"
cli = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Show and change what the agent may do.",
)
File = Annotated[str, typer.Argument(help="A TOML file, or - for standard input.")]
Version = Annotated[int | None, typer.Option("--version", help="An earlier version.")]


@cli.command()
def show(version: Version = None, agent: Whose = None, json: Json = False) -> None:
    """Print the policy.

    Example: uncaged policy show > policy.toml
    """
    from functions.agent.policy.document import describe_policy
    from functions.agent.policy.rules import make_row, parse_policy

    with open_agent(switch=True, name=agent) as (app, _):
        versions = app.policy_versions
        if version is None:
            row = describe_policy(versions)
        else:
            doc = versions.read_version(versions.agent, NAME, version)
            fields = {"version": doc.version, "at": doc.at, "by": doc.by, "text": doc.text}
            row = {**fields, **make_row(parse_policy(doc.text))}
    if json:
        Printer(json=True).document(row)
        return
    if agent is not None and not row["version"]:
        Printer().note(f"{agent} has no policy of its own yet: that of the root holds alone")
    Printer().text(str(row["text"]))
    if row["closed"]:
        hint = "`uncaged policy rollback N` brings back an earlier version"
        Printer().note(f"{row['closed']}; {hint}")
        return


@cli.command("set")
def set_policy(file: File, agent: Whose = None, json: Json = False) -> None:
    """Write the policy from a file; one with a mistake changes nothing.

    Example: uncaged policy set policy.toml
    """
    from functions.agent.policy.document import write_policy

    text = read_text_file(file)
    with open_agent(switch=True, name=agent) as (app, _):
        why = f"from {file}" if file != "-" else ""
        doc = write_policy(app.policy_versions, text, by=BY, why=why)
        _note_version(app, doc)
    report_version(doc, json)


@cli.command()
def edit(agent: Whose = None) -> None:
    """Write the policy in your editor (EDITOR).

    Nothing is changed when it has a mistake, or when somebody else changed it meanwhile.

    Example: uncaged policy edit
    """
    from functions.agent.policy.document import read_policy_text, write_policy

    with open_agent(switch=True, name=agent) as (app, settings):
        before = read_policy_text(app.policy_versions)
        file = edit_in_editor(before, settings.editor)
        try:
            text = read_text_file(str(file))
            if text.strip() == before.text:
                Printer().note("nothing was changed")
            else:
                doc = write_policy(
                    app.policy_versions, text, by=BY, why="edited", expect=before.version
                )
                _note_version(app, doc)
                report_version(doc, json=False)
        except (UsageError, Conflict) as problem:  # the file stays, so that no work is lost
            problem.suggestion = (
                f"{problem.suggestion}; your text is in {file}: `uncaged policy set {file}`"
            ).lstrip("; ")
            raise
        file.unlink()


@cli.command()
def check(
    file: Annotated[
        str | None,
        typer.Argument(help="A TOML file, or - for standard input; else the policy itself."),
    ] = None,
    agent: Whose = None,
    json: Json = False,
) -> None:
    """Say if a policy can be read, and what is wrong with it.

    Example: uncaged policy check policy.toml
    """
    from functions.agent.policy.rules import make_row, parse_policy

    if file is None:
        with open_agent(switch=True, name=agent) as (app, _):
            policies = app.load_policies()
        closed = next((each.closed for each in policies if each.closed), "")
        if closed:
            hint = (
                "`uncaged policy history` and `uncaged policy rollback` bring back an earlier one"
            )
            raise UsageError("EINVAL", closed, suggestion=hint)
        policy = policies[-1]
    else:
        policy = parse_policy(read_text_file(file).strip())
    own = sum(rule.line > 0 for rule in policy.rules)
    rules = "1 rule" if own == 1 else f"{own} rules"
    print_result(make_row(policy), f"the policy is well: {policy.preset} with {rules}", json)


@cli.command()
def explain(
    actor: Annotated[
        str, typer.Argument(metavar="WHO", help="Words of the policy, such as guest,groups.")
    ],
    act: Annotated[str, typer.Argument(help="A kind of act, such as call.")],
    target: Annotated[str, typer.Argument(help="What it is about, such as web-search.")] = "",
    agent: Whose = None,
    json: Json = False,
) -> None:
    """Say what becomes of an act, and which rule says so.

    Example: uncaged policy explain guest call web-search
    """
    from functions.agent.policy.act import ACTS, parse_actor
    from functions.agent.policy.gate import Gate

    if act not in ACTS:
        raise UsageError("EINVAL", f"{act} is no act", suggestion=f"one of {', '.join(ACTS)}")
    with open_agent(switch=True, name=agent) as (app, _):
        decision = Gate(app.load_policies(), parse_actor(actor)).decide(act, target)
    row: dict[str, object] = {"effect": decision.effect, "rule": decision.rule}
    print_result(row, f"{decision.effect}: {decision.rule}", json)


@cli.command()
def history(agent: Whose = None, json: Json = False) -> None:
    """Show the versions of the policy, the newest first.

    Example: uncaged policy history
    """
    with open_agent(switch=True, name=agent) as (app, _):
        versions = app.policy_versions
        docs = list(versions.list_versions(versions.agent, NAME))
    print_versions(docs, "the policy was never changed", json)


@cli.command()
def diff(
    old: Annotated[int | None, typer.Argument(help="A version; else the one before.")] = None,
    new: Annotated[int | None, typer.Argument(help="A later version; else the newest.")] = None,
    agent: Whose = None,
    json: Json = False,
) -> None:
    """Show what changed between two versions of the policy.

    Example: uncaged policy diff 1 3
    """
    with open_agent(switch=True, name=agent) as (app, _):
        versions = app.policy_versions
        newest = versions.read(versions.agent, NAME).version
        last = newest if new is None else new
        first = max(last - 1, 0) if old is None else old
        before = _read_text(versions, first)
        after = _read_text(versions, last)
    print_diff(first, last, before, after, json)


@cli.command()
def rollback(
    version: Annotated[int, typer.Argument(help="The version to go back to; 0 is the first.")],
    agent: Whose = None,
    json: Json = False,
) -> None:
    """Make an earlier version the policy again, as a new version.

    Example: uncaged policy rollback 2
    """
    from functions.agent.policy.document import roll_back_policy

    with open_agent(switch=True, name=agent) as (app, _):
        doc: Doc = roll_back_policy(app.policy_versions, version, BY)
        _note_version(app, doc)
    report_version(doc, json)


def _note_version(app: App, doc: Doc) -> None:
    """Add to the ledger that the policy has a new version."""
    from functions.agent.ledger.entry import Entry
    from functions.agent.management.ledger import add_entries

    add_entries(app, [Entry("policy", {"version": doc.version})], BY)


def _read_text(versions: Documents, number: int) -> str:
    from functions.agent.policy.rules import FIRST_TEXT

    if number == 0:
        return FIRST_TEXT
    return versions.read_version(versions.agent, NAME, number).text
