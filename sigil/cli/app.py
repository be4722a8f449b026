"""The `sigil` command: its options, its commands, and how it reports a failure."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence

import typer

from sigil.cli import output
from sigil.cli.commands import (
    add,
    audit,
    build,
    bundle,
    check,
    completion,
    deploy,
    dev,
    doctor,
    grant,
    init,
    inspect,
    keys,
    login,
    logs,
    mcp,
    profiles,
    query,
    remove,
    run,
    schema,
    secret,
    serve,
    status,
    test,
    toolchain,
    types,
    version,
    versions,
    whoami,
)
from sigil.cli.commands import list as list_command
from sigil.cli.destination import RegistryChoice
from sigil.cli.exit_codes import FAILED, INTERRUPTED, UNAVAILABLE, USAGE, describe_bug, exit_code
from sigil.cli.help import TOPIC_REST, TopicGroup, find_help_words, format_examples, show_help
from sigil.cli.options import (
    NO_OPTIONS,
    SharedOptions,
    hoist_options,
    read_timeout,
    spell_arguments,
    spread_options,
)
from sigil.cli.printing import Printer
from sigil.cli.shell import Interrupted, Shell
from sigil.cli.timeout import Deadline
from sigil.errors import SigilError

app = typer.Typer(
    cls=TopicGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
)


@app.callback(
    epilog=("The options above may be anywhere in a command. `sigil help COMMAND` describes one.")
)
@spread_options
def prepare_shell(context: typer.Context, options: SharedOptions = NO_OPTIONS) -> None:
    """Store, find and run capabilities: small sandboxed WebAssembly modules."""
    printer = Printer(
        json=options.json, quiet=options.quiet, color=not options.no_color, verbose=options.verbose
    )
    context.obj = Shell(
        printer,
        RegistryChoice(options.url, options.token, options.profile),
        options.yes,
        options.timeout or 0.0,
    )


Command = tuple[str, Callable[..., None], str]
"""A command's name, its function, and its examples, a line each."""

_TOPICS: dict[str, tuple[Command | typer.Typer, ...]] = {
    "Write a capability": (
        ("init", init.init, "sigil init greet"),
        ("check", check.check, "sigil check greet"),
        ("test", test.run_tests, "sigil test greet"),
        ("dev", dev.dev, """sigil dev greet\nsigil dev greet --run '{"text": "Ada"}' --deploy"""),
        ("build", build.build, "sigil build greet\nsigil build greet -o greet.wasm"),
        ("schema", schema.schema, "sigil schema > sigil.schema.json"),
        ("types", types.types, "sigil types greet"),
        toolchain.toolchain,
    ),
    "Find and run": (
        ("query", query.query, "sigil query 'encode hello world in base64'"),
        (
            "run",
            run.run,
            """sigil run encode '{"text": "hello", "format": "base64"}'\n"""
            "sigil run encode -a text=hello -a format=hex",
        ),
        ("list", list_command.list_capabilities, "sigil list\nsigil list json --limit 5"),
        ("inspect", inspect.inspect, "sigil inspect encode"),
    ),
    "Deploy and manage": (
        ("deploy", deploy.deploy, deploy.EXAMPLES),
        ("versions", versions.versions, "sigil versions shout"),
        ("diff", versions.diff, "sigil diff shout 1 2"),
        ("rollback", versions.rollback, "sigil rollback shout"),
        ("yank", versions.yank, "sigil yank shout@2"),
        ("remove", remove.remove, "sigil remove shout --yes"),
        ("publish", versions.publish, "sigil publish shout --session telegram:1"),
        ("export", bundle.export_bundle, "sigil export shout encode -o both.sigil"),
        ("import", bundle.import_bundle, "sigil import both.sigil"),
        add.add,
    ),
    "Permissions": (
        ("grant", grant.grant, "sigil grant weather"),
        ("grants", grant.grants, "sigil grants --json"),
        (
            "revoke",
            grant.revoke,
            "sigil revoke weather\nsigil revoke weather 'http:GET api.example.com/'",
        ),
        secret.secret,
    ),
    "Registries and access": (
        (
            "login",
            login.login,
            (
                "sigil login --url https://sigil.example.com\nsigil login --profile work --url"
                " https://sigil.example.com"
            ),
        ),
        (
            "logout",
            login.logout,
            "sigil logout --url https://sigil.example.com\nsigil logout --profile work",
        ),
        ("whoami", whoami.whoami, "sigil whoami"),
        profiles.profiles,
        keys.keys,
        ("serve", serve.serve, "sigil serve\nsigil serve --port 9000"),
        mcp.mcp,
    ),
    "Monitor": (
        ("status", status.status, "sigil status"),
        ("logs", logs.logs, "sigil logs shout\nsigil logs shout --follow"),
        ("audit", audit.audit, "sigil audit shout\nsigil audit --verify"),
        ("doctor", doctor.doctor, "sigil doctor"),
    ),
    TOPIC_REST: (
        ("help", show_help, "sigil help deploy"),
        ("completion", completion.completion, "source <(sigil completion bash)"),
        ("version", version.version, "sigil version"),
    ),
}
for _topic, _entries in _TOPICS.items():
    for _entry in _entries:
        if isinstance(_entry, typer.Typer):
            app.add_typer(_entry, rich_help_panel=_topic)
        else:
            _name, _function, _examples = _entry
            _epilog = format_examples("sigil", _examples)
            app.command(_name, epilog=_epilog, rich_help_panel=_topic)(_function)
app.command("new", hidden=True)(init.init)  # as it is called elsewhere


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. Every failure is reported in lines for people, or
    in one line of JSON, never as a traceback.
    """
    options, words = hoist_options(sys.argv[1:] if arguments is None else arguments)
    printer = Printer(json="--json" in options, verbose="--verbose" in options or "-v" in options)
    deadline = Deadline(read_timeout(options))
    start = time.perf_counter()
    try:
        with output.guard_output(), deadline.enforce():
            return _run_line(options, words)
    except SigilError as problem:
        printer.error(output.add_suggestion(problem, "sigil", words))
        return exit_code(problem)
    except typer.TyperException as problem:
        printer.error(output.explain_usage_error(problem, "sigil"))
        return USAGE
    except typer.Exit as ended:
        return ended.exit_code
    except (typer.Abort, KeyboardInterrupt) as problem:
        message = "interrupted; nothing was changed"
        if isinstance(problem, Interrupted):
            message = str(problem)
        if not deadline.over:
            printer.error(SigilError("EINTERRUPTED", message))
            return INTERRUPTED
        late = f"not done after {deadline.seconds:g} s"
        printer.error(
            SigilError(
                "ETIMEDOUT",
                message.replace("interrupted", late, 1),
                suggestion="give a longer --timeout",
            )
        )
        return UNAVAILABLE
    except Exception as problem:  # noqa: BLE001  entry point: anything else is our own mistake, reported in one line
        printer.error(describe_bug(problem, "sigil"))
        printer.traceback(problem)
        return FAILED
    finally:
        printer.detail(f"took {(time.perf_counter() - start) * 1000:,.0f} ms")


def _run_line(options: list[str], words: list[str]) -> int:
    """Run the command of a line, its help, or the request of a shell that completes it."""
    instruction = completion.read_instruction("sigil")
    if instruction:
        return completion.complete(app, "sigil", instruction)
    if words == ["--version"]:
        words = ["version"]
    help_words = find_help_words(app, words, json="--json" in options)
    if help_words is not None:
        words = ["help", *help_words]
    return output.run_command(app, "sigil", [*options, *spell_arguments(words)] or ["--help"])
