"""The `uncaged` command: serve the agent, chat with it, look after it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from functions.cli.commands import (
    agent,
    agent_tree,
    agents,
    board,
    channel,
    documents,
    files,
    hook,
    inbox,
    kb,
    memory,
    people,
    policy,
    proposals,
    skill,
    team,
    wake,
)
from functions.cli.local_agent import Json, Whose
from functions.cli.setup.flags import SetupStep
from sigil.cli.commands import completion as completing
from sigil.cli.exit_codes import FAILED, INTERRUPTED, USAGE, describe_bug, exit_code
from sigil.cli.help import TopicGroup
from sigil.cli.output import add_suggestion, explain_usage_error, guard_output, run_command
from sigil.cli.printing import Printer
from sigil.errors import SigilError
from sigil.settings import installed_version

if TYPE_CHECKING:
    from functions.settings import Settings
    from sigil.cli.doctor import Finding


class ImportedProgram(StrEnum):
    """The programs whose agents `uncaged import` takes over."""

    openclaw = "openclaw"
    nanobot = "nanobot"
    letta = "letta"


class LedgerAction(StrEnum):
    """What `uncaged ledger` does beside showing it."""

    VERIFY = "verify"
    EXPORT = "export"


class UsageGroup(StrEnum):
    """By what `uncaged usage` sums up."""

    DAY = "day"
    AGENT = "agent"
    PERSON = "person"
    MODEL = "model"
    WORK = "work"
    SESSION = "session"
    TOOL = "tool"


TALK = "Talk and serve"
CARE = "Manage the agent"
REST = "More"
cli = typer.Typer(
    cls=TopicGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help=(
        "A chat agent whose tools are a function of its chat history. `uncaged chat`"
        " starts a conversation here, `uncaged serve` connects platforms."
    ),
)
cli.add_typer(inbox.cli, name="inbox", rich_help_panel=CARE)
cli.add_typer(wake.cli, name="wake", rich_help_panel=CARE)
cli.add_typer(hook.cli, name="hook", rich_help_panel=CARE)
cli.add_typer(team.cli, name="team", rich_help_panel=CARE)
cli.add_typer(channel.cli, name="channel", rich_help_panel=CARE)
cli.add_typer(agent.cli, name="agent", rich_help_panel=CARE)
cli.add_typer(kb.cli, name="kb", rich_help_panel=CARE)
cli.add_typer(board.cli, name="board", rich_help_panel=CARE)
cli.add_typer(people.cli, name="people", rich_help_panel=CARE)
cli.add_typer(policy.cli, name="policy", rich_help_panel=CARE)
cli.add_typer(skill.cli, name="skill", rich_help_panel=CARE)
agent.cli.add_typer(agents.cli)
agent.cli.add_typer(agent_tree.cli)
agent.cli.add_typer(documents.cli, name="doc")
agent.cli.add_typer(files.cli, name="files")
agent.cli.add_typer(memory.cli, name="memory")
cli.add_typer(proposals.cli, name="proposals", rich_help_panel=CARE)
cli.command(rich_help_panel=CARE)(proposals.approve)
cli.command(rich_help_panel=CARE)(proposals.deny)
cli.command(rich_help_panel=CARE)(agent.stop)
cli.command(rich_help_panel=CARE)(agent.halt)
cli.command(rich_help_panel=CARE)(agent.unlock)


def _print_version(is_set: bool) -> None:
    if is_set:
        version()
        raise typer.Exit


@cli.callback()
def root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    # it only has the option; the help is the one above
    ...


@cli.command(rich_help_panel=TALK)
def chat(
    text: Annotated[
        list[str] | None, typer.Argument(help="The message; without it a conversation starts.")
    ] = None,
    session: Annotated[str, typer.Option(help="The conversation to continue.")] = "main",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only the answer.")] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print the answer as JSON, for programs.")
    ] = False,
    file: Annotated[
        list[str] | None,
        typer.Option(
            "--file",
            metavar="PATH",
            help="A file that goes with the message; it may be said again, for up to six.",
            show_default=False,
        ),
    ] = None,
    *,
    files: Annotated[
        str,
        typer.Option(
            "--files",
            metavar="FOLDER",
            help="Where the files of answers are saved, instead of UNCAGED_DOWNLOADS or a new"
            " temporary folder.",
            show_default=False,
        ),
    ] = "",
) -> None:
    """Talk to the agent in this terminal.

    Example: uncaged chat "encode hello world in base64"

    Example: uncaged chat --file invoice.pdf "sum it up"
    """
    from functions.cli.chat.chat import Style, run_chat

    style = Style(quiet=quiet, json=json)
    raise typer.Exit(run_chat(" ".join(text or []), session, style, file or [], files))


@cli.command(rich_help_panel=TALK)
def serve(
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option("--port", min=0, max=65_535, help="The port to listen on; 0 for a free one."),
    ] = 8000,
    bots: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[BOT]...",
            help="With --poll: these bots alone, such as telegram discord-shop. Without a name, all"
            " that can be polled and have no webhook.",
            show_default=False,
        ),
    ] = None,
    *,
    poll: Annotated[
        bool,
        typer.Option(
            "--poll",
            help="Fetch Telegram's and Matrix's messages, and listen for Discord's, Slack's,"
            " Feishu's and DingTalk's: no public address is needed.",
        ),
    ] = False,
    take_webhook: Annotated[
        bool,
        typer.Option("--take-webhook", help="With --poll: take away a webhook that is set."),
    ] = False,
    no_ui: Annotated[bool, typer.Option("--no-ui", help="Serve no page for browsers.")] = False,
) -> None:
    """Run everything in one process.

    It serves webhooks, POST /chat, Sigil's API and the page, and runs the queue's workers.

    Example: uncaged serve --port 8000
    """
    from functions.cli.commands.serve import run_server

    names = [name for word in bots or () for name in word.split(",") if name]
    code = run_server(
        host,
        port,
        poll=poll,
        bots=names,
        take_webhook=take_webhook,
        has_page=not no_ui,
        check=_check,
    )
    raise typer.Exit(code)


def _check(settings: Settings) -> list[Finding]:
    """Return what the checks of the doctor find, for the page that shows them."""
    from functions.cli.doctor import list_findings

    return list_findings(settings)


@cli.command(rich_help_panel=TALK)
def web(
    person: Annotated[
        str,
        typer.Argument(
            help="The id of whom it is for, such as telegram:42; without it, you on this machine.",
            show_default=False,
        ),
    ] = "",
    *,
    reader: Annotated[
        bool, typer.Option("--reader", help="A code that shows numbers, and no texts.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Print a code that opens the page in a browser.

    It is valid for ten minutes, and once. It opens what the person may see: an owner the agent, a
    member their own chats.

    Example: uncaged web

    Example: uncaged web telegram:42
    """
    from functions.cli.commands.web import print_code

    print_code(person, Printer(json=json), reader=reader)


@cli.command(rich_help_panel=TALK)
def setup(  # each question is a flag as well
    step: Annotated[
        SetupStep | None, typer.Argument(help="Set up this alone.", show_default=False)
    ] = None,
    *,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Ask nothing: take the flags and the defaults.")
    ] = False,
    here: Annotated[
        bool,
        typer.Option(
            "--here", help="Write into the current folder, for a store of its own in data/."
        ),
    ] = False,
    name: Annotated[str, typer.Option(help="The agent's name, such as ada.")] = "",
    language: Annotated[str, typer.Option(help="The language: en, zh or de.")] = "",
    timezone: Annotated[str, typer.Option(help="The time zone or city, such as Berlin.")] = "",
    provider: Annotated[
        str, typer.Option(help="Whose model: openai, ollama … (the questions list them).")
    ] = "",
    url: Annotated[str, typer.Option(help="The address of an OpenAI-compatible endpoint.")] = "",
    model: Annotated[str, typer.Option(help="The model's name there.")] = "",
    key_from: Annotated[
        str, typer.Option("--key-from", help="The environment variable that has the key.")
    ] = "",
    window: Annotated[
        int, typer.Option(help="Tokens of its window, where the endpoint does not tell.")
    ] = 0,
    untested: Annotated[
        bool, typer.Option("--untested", help="Write it down without a test call.")
    ] = False,
    web: Annotated[
        bool | None,
        typer.Option("--web/--no-web", help="Let it search the web and read public pages."),
    ] = None,
    token_from: Annotated[
        str,
        typer.Option("--token-from", help="The environment variable that has the bot's token."),
    ] = "",
    take_webhook: Annotated[
        bool, typer.Option("--take-webhook", help="Take away a webhook that the bot has.")
    ] = False,
    owner: Annotated[str, typer.Option(help="Who owns the agent, such as telegram:123.")] = "",
    service: Annotated[
        str, typer.Option(help="In the background by systemd, or in a container; none: no more.")
    ] = "",
    start: Annotated[
        bool, typer.Option("--start/--no-start", help="Start the service as well.")
    ] = True,
    port: Annotated[int, typer.Option(help="The service's port on this machine.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print what changed as JSON.")] = False,
) -> None:
    """Set up the agent: a few questions, each answer tried.

    Run it again to change something. `uncaged setup undo` takes the last setup back.

    Example: uncaged setup model
    """
    from functions.cli.setup.command import run_setup
    from functions.cli.setup.flags import SetupFlags
    from functions.cli.setup.questions import Questions

    flags = SetupFlags(
        name=name,
        language=language,
        timezone=timezone,
        provider=provider,
        url=url,
        model=model,
        key_from=key_from,
        window=window,
        untested=untested,
        web=web,
        token_from=token_from,
        take_webhook=take_webhook,
        owner=owner,
        service=service,
        start=start,
        port=port,
        is_alone=step is not None,
    )
    raise typer.Exit(run_setup(step, flags, Questions(Printer(json=json), yes), here))


@cli.command(rich_help_panel=CARE)
def doctor(
    json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show every setting with its meaning.")
    ] = False,
) -> None:
    """Find what does not work, and say how to repair it.

    Checks the store, the engine, the runners, the model and the platforms. Exit code 1 when
    something does not work.

    Example: uncaged doctor
    """
    from functions.cli.doctor import run_checks_and_print

    raise typer.Exit(run_checks_and_print(Printer(json=json, verbose=verbose)))


PassphraseFile = Annotated[
    Path | None,
    typer.Option("--passphrase-file", help="The file whose first line is the passphrase."),
]
PassphraseFrom = Annotated[
    str,
    typer.Option("--passphrase-from", help="The environment variable that has the passphrase."),
]


@cli.command(rich_help_panel=CARE)
def backup(
    file: Annotated[Path, typer.Argument(help="The new file, such as uncaged.zip.")],
    *,
    secrets: Annotated[
        bool, typer.Option("--secrets", help="Also the secrets, encrypted with a passphrase.")
    ] = False,
    passphrase_file: PassphraseFile = None,
    passphrase_from: PassphraseFrom = "",
    json: Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")] = False,
) -> None:
    """Save everything in one file, while it serves.

    It has the store, the large bodies and the settings; secrets only with --secrets. It can be
    restored into a store of another kind.

    Example: uncaged backup uncaged.zip
    """
    from functions.cli.commands.backup import PassphraseSource, run_backup

    passphrase = PassphraseSource(passphrase_file, passphrase_from)
    raise typer.Exit(run_backup(Printer(json=json), file, secrets=secrets, passphrase=passphrase))


@cli.command(rich_help_panel=CARE)
def restore(
    file: Annotated[Path, typer.Argument(help="A file that `uncaged backup` made.")],
    *,
    replace: Annotated[
        bool, typer.Option("--replace", help="Remove what is in the store; it need not be empty.")
    ] = False,
    secrets: Annotated[
        bool, typer.Option("--secrets", help="Also the secrets; asks for their passphrase.")
    ] = False,
    passphrase_file: PassphraseFile = None,
    passphrase_from: PassphraseFrom = "",
    settings: Annotated[
        Path | None,
        typer.Option("--settings", help="Write its settings into this new file."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only check the whole file; needs no store.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")] = False,
) -> None:
    """Put a backup into the store of the settings.

    The file is checked from end to end before anything is changed. It decides who is an owner and
    what is granted: restore only what you trust. Stop the servers of the store first.

    Example: uncaged restore uncaged.zip --dry-run
    """
    from functions.cli.commands.backup import PassphraseSource, run_restore

    code = run_restore(
        Printer(json=json),
        file,
        replace=replace,
        secrets=secrets,
        dry_run=dry_run,
        settings_file=settings,
        passphrase=PassphraseSource(passphrase_file, passphrase_from),
    )
    raise typer.Exit(code)


@cli.command("import", rich_help_panel=CARE)
def import_program(
    program: Annotated[ImportedProgram, typer.Argument(help="Whose agent it is.")],
    path: Annotated[
        Path, typer.Argument(help="Its folder, such as ~/.openclaw; of Letta an .af file.")
    ],
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would change, and change nothing.")
    ] = False,
    replace: Annotated[
        bool,
        typer.Option("--replace", help="Replace documents and skills that are here already."),
    ] = False,
    session: Annotated[
        str | None,
        typer.Option("--session", help="Only this chat gets the user, memory and notes."),
    ] = None,
    mcp: Annotated[
        bool,
        typer.Option("--mcp", help="Add the MCP servers: starts their programs, and asks them."),
    ] = False,
    name: Annotated[str, typer.Option(help="The agent, where a Letta file has several.")] = "",
    agent: Whose = None,
    json: Json = False,
) -> None:
    """Take over an agent of OpenClaw, nanobot or Letta.

    Takes its soul, memory, history, skills and MCP servers, and never a secret: it says what it
    left out, and why. What is here stays, unless --replace is given.

    Example: uncaged import openclaw ~/.openclaw --dry-run
    """
    from functions.cli.moving.command import ImportOptions, run_import

    options = ImportOptions(agent, session, name, dry_run, replace, mcp)
    run_import(Printer(json=json), program.value, path, options)


@cli.command(rich_help_panel=CARE)
def upgrade(
    to: Annotated[
        Path | None, typer.Option("--to", help="The wheel to install; a checkout takes none.")
    ] = None,
    *,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Do not ask whether to install what is shown.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only print what is installed and what would run.")
    ] = False,
    has_backup: Annotated[
        bool,
        typer.Option("--has-backup", help="Make no backup of Redis or DynamoDB: you have one."),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")] = False,
) -> None:
    """Install another version, after a backup: a wheel, or the newest commit of a checkout.

    What will be installed is shown with its digests first. The new version is tried with a copy of
    the store. When it does not start, everything stays as it was, also after Ctrl-C.

    Example: uncaged upgrade --to uncaged-0.2.0-py3-none-any.whl
    """
    from functions.cli.upgrade.command import run_upgrade

    printer = Printer(json=json)
    raise typer.Exit(
        run_upgrade(printer, wheel=to, dry_run=dry_run, yes=yes, has_backup=has_backup)
    )


@cli.command(rich_help_panel=CARE)
def uninstall(
    data: Annotated[
        bool, typer.Option("--data", help="Also remove what it stored in the data folder.")
    ] = False,
    *,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only print what would be removed.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")] = False,
) -> None:
    """Remove the service, and with --data all chats.

    It says how the package itself is removed. Files in the data folder that it did not make stay.

    Example: uncaged uninstall --data --dry-run
    """
    from functions.cli.setup.questions import Questions
    from functions.cli.uninstall import run_uninstall

    questions = Questions(Printer(json=json), yes)
    raise typer.Exit(run_uninstall(questions, data=data, dry_run=dry_run))


@cli.command(rich_help_panel=CARE)
def trace(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[EVENT|AGENT]",
            help="An event's id, or an agent; without it, the latest of all agents are listed.",
        ),
    ] = None,
    *,
    follow: Annotated[
        bool,
        typer.Option("--follow", "-f", help="Show what comes; of an event until its turn ends."),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the trace as JSON.")] = False,
) -> None:
    """Show what an event's turn did, or is doing.

    Its rounds, requests, calls and checkpoints, and the runs that it set off, without any text.

    Example: uncaged trace telegram:42:1007
    """
    from functions.cli.commands.trace import show_runs

    show_runs(name, follow=follow, json=json)


@cli.command(rich_help_panel=CARE)
def sessions(
    agent: Whose = None,
    days: Annotated[int, typer.Option(help="How many days, today included.")] = 30,
    json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """List the sessions of all agents: who writes there, when last, and what they cost.

    Example: uncaged sessions --days 7
    """
    from functions.cli.commands.sessions import show_sessions

    show_sessions(agent, days=days, json=json)


@cli.command(rich_help_panel=CARE)
def usage(
    agent: Whose = None,
    days: Annotated[int, typer.Option(help="How many days, today included.")] = 7,
    by: Annotated[UsageGroup, typer.Option(help="What it is summed up by.")] = UsageGroup.DAY,
    json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Show what the last days cost, of all agents or of one.

    Example: uncaged usage --by person --days 30
    """
    from functions.cli.commands.usage import show_usage

    show_usage(agent, days=days, by=by.value, json=json)


@cli.command(rich_help_panel=CARE)
def ledger(
    action: Annotated[
        LedgerAction | None,
        typer.Argument(
            help="verify: check that nothing was changed; export: print all as lines of JSON.",
            show_default=False,
        ),
    ] = None,
    *,
    agent: Whose = None,
    since: Annotated[
        str, typer.Option(metavar="DAYS|DATE", help="From so many days ago, or from this date on.")
    ] = "",
    json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Show what began, what it cost and what was allowed.

    Each entry carries a hash that covers the one before it; exit code 1 when one does not hold.

    Example: uncaged ledger verify
    """
    from functions.cli.commands.ledger import run_ledger

    run_ledger(action.value if action else None, agent=agent, since=since, json=json)


@cli.command(rich_help_panel=REST)
def completion(
    shell: completing.ShellArgument,
    json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> None:
    """Print your shell's script for completion with Tab.

    \b
    bash, in ~/.bashrc:              source <(uncaged completion bash)
    zsh, in ~/.zshrc after compinit: source <(uncaged completion zsh)
    fish, once:
      uncaged completion fish > ~/.config/fish/completions/uncaged.fish

    Example: uncaged completion bash
    """
    completing.print_script(Printer(json=json), "uncaged", shell.value)


@cli.command(rich_help_panel=REST)
def version(
    json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> None:
    """Print the version.

    Example: uncaged version
    """
    if json:
        Printer().document({"version": installed_version()})
    else:
        sys.stdout.write(f"uncaged {installed_version()}\n")


def main() -> None:
    """Run the command, with errors in the same form and the same exit codes as `sigil`."""
    words = sys.argv[1:]
    if "--version" in words and {*words} <= {"--version", "--json"}:
        words = ["version", *(word for word in words if word == "--json")]
    options = words[: words.index("--")] if "--" in words else words
    raise SystemExit(run_words(words, Printer(json="--json" in options)))


def run_words(words: Sequence[str], printer: Printer) -> int:
    """Run the command with these words, print its error if it fails, and return its exit code."""
    try:
        with guard_output():
            instruction = completing.read_instruction("uncaged")
            if instruction:
                return completing.complete(cli, "uncaged", instruction)
            return run_command(cli, "uncaged", words)
    except SigilError as problem:
        printer.error(add_suggestion(problem, "uncaged", words))
        return exit_code(problem)
    except typer.TyperException as problem:
        printer.error(explain_usage_error(problem, "uncaged"))
        return USAGE
    except typer.Exit as ended:
        return ended.exit_code
    except (typer.Abort, KeyboardInterrupt):
        printer.error(SigilError("EINTERRUPTED", "interrupted"))
        return INTERRUPTED
    except Exception as problem:  # noqa: BLE001  entry point: anything else is our own mistake, reported in one line
        printer.error(describe_bug(problem, "uncaged"))
        return FAILED
