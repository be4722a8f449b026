"""The `sigil` command: its options, its commands, and how it reports a failure."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence

import typer

from sigil.cli import output
from sigil.cli.commands import (
    audit,
    build,
    bundle,
    check,
    deploy,
    dev,
    doctor,
    grant,
    init,
    inspect,
    keys,
    login,
    mcp_servers,
    profiles,
    run,
    serve,
    test,
    version,
    versions,
)
from sigil.cli.commands import completion as completing
from sigil.cli.commands.completion import completion
from sigil.cli.destination import RegistryChoice
from sigil.cli.exit_codes import FAILED, INTERRUPTED, UNAVAILABLE, USAGE, describe_bug, exit_code
from sigil.cli.help import TOPIC_REST, ByTopic, find_help_words, format_examples, show_help
from sigil.cli.options import NO_OPTIONS, SharedOptions, hoist_options, read_timeout, spread_options
from sigil.cli.printing import Printer
from sigil.cli.shell import Interrupted, Shell
from sigil.cli.timeout import Deadline
from sigil.errors import SigilError

app = typer.Typer(
    cls=ByTopic,
    context_settings={"help_option_names": ["-h", "--help"]},
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
)


@app.callback(
    epilog=(
        "The options above may stand anywhere in a command. `sigil help COMMAND` tells more about"
        " one."
    )
)
@spread_options
def root(context: typer.Context, options: SharedOptions = NO_OPTIONS) -> None:
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
_TOPICS: dict[str, tuple[Command | typer.Typer, ...]] = {
    "Write a capability": (
        ("init", init.init, "sigil init greet"),
        ("check", check.check, "sigil check greet"),
        ("test", test.run_tests, "sigil test greet"),
        ("dev", dev.dev, """sigil dev greet\nsigil dev greet --run '{"text": "Ada"}' --deploy"""),
        ("build", build.build, "sigil build greet\nsigil build greet -o greet.wasm"),
        ("schema", version.schema, "sigil schema > sigil.schema.json"),
    ),
    "Find and run": (
        ("query", run.query, "sigil query 'encode hello world in base64'"),
        (
            "run",
            run.run,
            """sigil run encode '{"text": "hello", "format": "base64"}'\n"""
            "sigil run encode -a text=hello -a format=hex",
        ),
        ("list", inspect.list_capabilities, "sigil list\nsigil list json --limit 5"),
        ("inspect", inspect.inspect, "sigil inspect encode"),
    ),
    "Deploy and look after": (
        ("deploy", deploy.deploy, deploy.EXAMPLES),
        ("versions", versions.versions, "sigil versions shout"),
        ("diff", versions.diff, "sigil diff shout 1 2"),
        ("rollback", versions.rollback, "sigil rollback shout"),
        ("yank", versions.yank, "sigil yank shout@2"),
        ("remove", inspect.remove, "sigil remove shout --yes"),
        ("publish", versions.publish, "sigil publish shout --session telegram:1"),
        ("export", bundle.export_bundle, "sigil export shout encode -o both.sigil"),
        ("import", bundle.import_bundle, "sigil import both.sigil"),
    ),
    "Permissions": (
        ("grant", grant.grant, "sigil grant weather"),
        ("grants", grant.grants, "sigil grants --json"),
        (
            "revoke",
            grant.revoke,
            "sigil revoke weather\nsigil revoke weather 'http:GET api.example.com/'",
        ),
        grant.secret,
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
        ("whoami", keys.whoami, "sigil whoami"),
        profiles.profiles,
        keys.keys,
        ("serve", serve.serve, "sigil serve\nsigil serve --port 9000"),
        mcp_servers.group,
    ),
    "See what goes on": (
        ("status", audit.status, "sigil status"),
        ("logs", audit.logs, "sigil logs shout"),
        ("audit", audit.audit, "sigil audit --verify"),
        ("doctor", doctor.doctor, "sigil doctor"),
    ),
    TOPIC_REST: (
        ("help", show_help, "sigil help deploy"),
        ("completion", completion, "source <(sigil completion bash)"),
        ("version", version.version, "sigil version"),
    ),
}
for _topic, _entries in _TOPICS.items():
    for _entry in _entries:
        if isinstance(_entry, typer.Typer):
            app.add_typer(_entry, rich_help_panel=_topic)
        else:
            app.command(
                _entry[0], epilog=format_examples("sigil", _entry[2]), rich_help_panel=_topic
            )(_entry[1])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. Every failure is reported in lines for people, or
    in one line of JSON, never as a traceback.
    """
    options, rest = hoist_options(sys.argv[1:] if arguments is None else arguments)
    printer = Printer(json="--json" in options, verbose="--verbose" in options or "-v" in options)
    deadline, began = Deadline(read_timeout(options)), time.perf_counter()
    try:
        with output.guard_output(), deadline.kept():
            return _run(options, rest)
    except SigilError as problem:
        printer.error(output.add_suggestion(problem, "sigil", rest))
        return exit_code(problem)
    except typer.TyperException as problem:
        printer.error(output.explain_usage_error(problem, "sigil"))
        return USAGE
    except typer.Exit as ended:
        return ended.exit_code
    except (typer.Abort, KeyboardInterrupt) as problem:
        printer.error(_interrupted(problem, deadline))
        return UNAVAILABLE if deadline.over else INTERRUPTED
    except Exception as problem:  # noqa: BLE001  entry point: anything else is our own mistake, reported in one line
        printer.error(describe_bug(problem, "sigil"))
        printer.traceback(problem)
        return FAILED
    finally:
        printer.detail(f"took {(time.perf_counter() - began) * 1000:,.0f} ms")


def _interrupted(problem: BaseException, deadline: Deadline) -> SigilError:
    said = str(problem) if isinstance(problem, Interrupted) else "interrupted; nothing was changed"
    if deadline.over:
        return SigilError(
            "ETIMEDOUT",
            said.replace("interrupted", f"not done after {deadline.seconds:g} s", 1),
            suggestion="give a longer --timeout",
        )
    return SigilError("EINTERRUPTED", said)


def _run(shared: list[str], rest: list[str]) -> int:
    wanted = completing.read_instruction("sigil")
    if wanted:
        return completing.complete(app, "sigil", wanted)
    words = ["version"] if rest == ["--version"] else rest
    help = find_help_words(app, words, json="--json" in shared)
    return output.run_command(
        app,
        "sigil",
        ([*shared, *words] or ["--help"]) if help is None else [*shared, "help", *help],
    )
