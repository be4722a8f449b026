"""The `sigil` command: its options, its commands, and what becomes of a failure."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Annotated

import typer

from sigil.cli import about, access, folders, granting, keeping, output, using, versions, watching
from sigil.cli.printing import Printer
from sigil.cli.shell import Interrupted, Shell
from sigil.errors import SigilError
from sigil.exits import FAILED, INTERRUPTED, USAGE, exit_code, mistake

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False, no_args_is_help=True)
_FLAGS = ("--json", "--quiet", "-q", "--no-color")
_VALUES = ("--url", "--token")


@app.callback(epilog="The options above may stand anywhere in a command. Example: sigil query 'encode text' --json")
def root(
    context: typer.Context,
    *,
    url: Annotated[str, typer.Option("--url", metavar="URL", help="A remote registry (default: SIGIL_URL, else in this process).")] = "",
    token: Annotated[str, typer.Option("--token", metavar="TOKEN", help="Its bearer token (default: SIGIL_TOKEN).")] = "",
    json: Annotated[bool, typer.Option("--json", help="Print exactly one JSON document on stdout.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Nothing on stderr but errors.")] = False,
    no_color: Annotated[bool, typer.Option("--no-color", help="No colours (NO_COLOR does the same).")] = False,
) -> None:
    """Store, find and run capabilities: small sandboxed WebAssembly modules."""
    context.obj = Shell(Printer(json=json, quiet=quiet, color=not no_color), url, token)


_COMMANDS: tuple[tuple[str, Callable[..., None], str], ...] = (
    ("init", folders.init, "sigil init greet"),
    ("check", folders.check, "sigil check greet"),
    ("test", folders.prove, "sigil test greet"),
    ("deploy", keeping.deploy, "sigil deploy greet, or sigil deploy --name shout --execute 'return input.text.toUpperCase()'"),
    ("query", using.query, "sigil query 'encode hello world in base64'"),
    ("inspect", keeping.inspect, "sigil inspect encode"),
    ("run", using.run, """sigil run encode '{"text": "hello", "format": "base64"}', or sigil run encode -a text=hello -a format=hex"""),
    ("list", keeping.everything, "sigil list --json"),
    ("remove", keeping.remove, "sigil remove shout --yes"),
    ("versions", versions.versions, "sigil versions shout"),
    ("diff", versions.diff, "sigil diff shout 1 2"),
    ("rollback", versions.rollback, "sigil rollback shout"),
    ("yank", versions.yank, "sigil yank shout@2"),
    ("publish", versions.publish, "sigil publish shout --session telegram:1"),
    ("export", versions.export, "sigil export shout encode -o both.sigil"),
    ("import", versions.bring, "sigil import both.sigil"),
    ("grant", granting.grant, "sigil grant weather"),
    ("grants", granting.grants, "sigil grants --json"),
    ("revoke", granting.revoke, "sigil revoke weather, or sigil revoke weather 'http:GET api.example.com/'"),
    ("login", access.login, "sigil login --url https://sigil.example.com"),
    ("logout", access.logout, "sigil logout --url https://sigil.example.com"),
    ("whoami", access.whoami, "sigil whoami"),
    ("audit", watching.audit, "sigil audit --verify"),
    ("logs", watching.logs, "sigil logs shout"),
    ("status", watching.status, "sigil status"),
    ("doctor", about.doctor, "sigil doctor"),
    ("version", about.version, "sigil version"),
)
for _name, _command, _example in _COMMANDS:
    app.command(_name, epilog=f"Example: {_example}")(_command)
app.add_typer(access.keys, name="keys")
app.add_typer(granting.secret, name="secret")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; every failure ends in lines for people (or one of JSON), never in a traceback."""
    options, rest = hoisted(sys.argv[1:] if arguments is None else arguments)
    printer = Printer(json="--json" in options)
    try:
        with output.guarded():
            return _run([*options, *rest])
    except SigilError as problem:
        printer.error(problem)
        return exit_code(problem)
    except typer.TyperException as problem:
        printer.error(output.misused(problem, "sigil"))
        return USAGE
    except typer.Exit as ended:
        return ended.exit_code
    except (typer.Abort, KeyboardInterrupt) as problem:
        printer.error(SigilError("EINTERRUPTED", str(problem) if isinstance(problem, Interrupted) else "interrupted; nothing was changed"))
        return INTERRUPTED
    except Exception as problem:  # noqa: BLE001 - the last door: whatever else happened is our own mistake, told in one line
        printer.error(mistake(problem, "sigil"))
        return FAILED


def hoisted(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """The options that every command shares, wherever they stand before `--`, and what remains."""
    options: list[str] = []
    rest: list[str] = []
    words = iter(arguments)
    for word in words:
        if word == "--":
            rest += [word, *words]
        elif word in _FLAGS or word.startswith(tuple(f"{name}=" for name in _VALUES)):
            options.append(word)
        elif word in _VALUES:
            options += [word, *([value] if (value := next(words, None)) is not None else [])]
        else:
            rest.append(word)
    return options, rest


def _run(arguments: list[str]) -> int:
    return output.invoked(app, "sigil", ["version"] if arguments == ["--version"] else arguments or ["--help"])
