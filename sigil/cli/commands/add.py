"""`sigil add`: capabilities made of what others describe; now of the operations of an API."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from sigil.cli.help import format_examples
from sigil.cli.options import spread_options
from sigil.cli.shell import Shell, confirm, get_shell, require_answerer, unsure_message
from sigil.cli.times import format_count
from sigil.errors import UsageError

if TYPE_CHECKING:
    from sigil.cli.commands.openapi_operations import ApiOperations, OperationState
    from sigil.compile.openapi.document import ApiDocument
    from sigil.compile.openapi.operations import Operation

SECONDS = 30
_WORD = re.compile(r"[a-z0-9]+")
_COMMON_WORDS = frozenset(
    "the a an of for and api apis rest http openapi swagger open spec specification service v1 v2"
    " v3 web public version".split()
)
"""Words of an API's title that do not name it."""
_RANGE = re.compile(r"([0-9]{1,4})(?:-([0-9]{1,4}))?")

add = typer.Typer(
    name="add",
    help="Add capabilities that call an API.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@add.callback(
    epilog=format_examples("sigil", "sigil add openapi https://petstore.example.com/openapi.json")
)
def describe_add() -> None:
    """Add capabilities that call an API."""


Words = list[str] | None


@dataclass(frozen=True, slots=True)
class OpenApiOptions:
    """The options of `sigil add openapi`."""

    only: Annotated[
        Words,
        typer.Option(
            "--only",
            metavar="OPERATION",
            help="Add only these: operationId, or 'GET /pets'. Commas separate; may be repeated.",
        ),
    ] = None
    tag: Annotated[
        Words,
        typer.Option(
            "--tag", metavar="TAG", help="Add the operations with this tag; may be repeated."
        ),
    ] = None
    every: Annotated[bool, typer.Option("--all", help="Add all operations.")] = False
    name: Annotated[
        str,
        typer.Option(
            "--name", metavar="NAME", help="How their names begin (default: the API's title)."
        ),
    ] = ""
    server: Annotated[
        str,
        typer.Option(
            "--server", metavar="URL", help="Where the API is (default: as the document says)."
        ),
    ] = ""
    seconds: Annotated[
        int,
        typer.Option("--seconds", min=1, max=30, help="The longest time of a call, in seconds."),
    ] = SECONDS
    grant: Annotated[
        bool,
        typer.Option("--grant", help="Show what they ask for, and grant it."),
    ] = False
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be added, and change nothing.")
    ] = False


DEFAULTS = OpenApiOptions()


@add.command(
    "openapi",
    epilog=format_examples(
        "sigil",
        "sigil add openapi petstore.yaml --dry-run\n"
        "sigil add openapi https://petstore.example.com/openapi.json --only getPet",
    ),
)
@spread_options
def add_openapi(
    context: typer.Context,
    place: Annotated[
        str,
        typer.Argument(
            metavar="FILE|URL", help="An OpenAPI 3.0 or 3.1 document, JSON or YAML; - for stdin."
        ),
    ],
    options: OpenApiOptions = DEFAULTS,
) -> None:
    """Add operations of an API as capabilities, one each.

    Each waits for a grant (--grant, `sigil grant NAME`) before it may send its request. The same
    command again deploys only what has changed.
    """
    from sigil.cli.commands.openapi_operations import ApiOperations
    from sigil.cli.commands.openapi_source import read_source
    from sigil.compile.openapi.capability import import_operation
    from sigil.compile.openapi.document import read_document
    from sigil.compile.openapi.examples import ExampleBudget
    from sigil.compile.openapi.operations import list_operations

    shell = get_shell(context)
    if options.grant and not options.dry_run:
        require_answerer(shell, place)
    with shell.printer.progress(f"reading {place}"):
        document = read_document(read_source(place), place)
    prefix = _choose_prefix(options.name, document)
    chosen = _choose_operations(shell, list_operations(document, prefix), options, place)
    unsure = unsure_message(f"sigil list {prefix}")
    with shell.open_registry("" if options.dry_run else unsure) as opened:
        api = ApiOperations(shell, opened, prefix)
        budget = ExampleBudget()
        states = []
        for number, operation in enumerate(chosen, start=1):
            with shell.printer.progress(f"{number} of {len(chosen)}: {operation.title}"):
                imported = import_operation(
                    document,
                    operation,
                    prefix=prefix,
                    server=options.server,
                    seconds=options.seconds,
                    budget=budget,
                )
                state = api.compare(imported)
                if not options.dry_run:
                    state = api.deploy(state)
            states.append(state)
        if options.grant and not options.dry_run:
            states = _grant(shell, api, states)
        missing = api.find_missing_secrets(states)
    _report(shell, states, missing, options, place)


def _grant(
    shell: Shell, api: ApiOperations, states: Sequence[OperationState]
) -> list[OperationState]:
    """Show what the operations ask for, and grant it when the person agrees: a document chooses the
    names of its secrets and the host that they go to.
    """
    asked = sorted({permission for state in states for permission in state.waits})
    for permission in asked:
        shell.printer.note(f"+ {permission}")
    if asked:
        count = format_count(sum(bool(state.waits) for state in states), "capability")
        confirm(shell, f"Grant this to {count}?", "granted")
    return [api.grant(state) for state in states]


def _choose_prefix(name: str, document: ApiDocument) -> str:
    """Return how the capabilities' names begin: as chosen, or with the words of the API's title."""
    from sigil.protocol import is_name

    if name and not is_name(name):
        raise UsageError(
            "EUSAGE",
            f"{name!r} cannot begin a capability's name",
            suggestion="--name NAME: lower-case words joined by hyphens",
        )
    words = [word for word in _WORD.findall(document.title.lower()) if word not in _COMMON_WORDS]
    prefix = name or "-".join(words[:2])
    if not is_name(prefix) or len(prefix) > 30:
        raise UsageError(
            "EUSAGE",
            "the API needs a short name",
            source=document.source,
            suggestion="add --name NAME: lower-case words joined by hyphens, such as petstore",
        )
    return prefix


def _choose_operations(
    shell: Shell, operations: Sequence[Operation], options: OpenApiOptions, place: str
) -> list[Operation]:
    """Return the operations that the options or a person choose."""
    from sigil.compile.openapi.operations import choose_operations

    only = [word.strip() for text in options.only or () for word in text.split(",")]
    only = [word for word in only if word]
    tags = tuple(options.tag or ())
    if only or tags or options.every or options.dry_run or shell.yes or len(operations) <= 1:
        return choose_operations(operations, only, tags, place)
    if place == "-" or not sys.stdin.isatty():
        raise UsageError(
            "EUSAGE",
            f"the document has {format_count(len(operations), 'operation')}: say which",
            source=place,
            suggestion="--only getPet,addPet, --tag TAG or --all; --dry-run lists them",
        )
    cells = [
        (number, each.title, each.id, each.summary) for number, each in enumerate(operations, 1)
    ]
    shell.printer.table(("", "operation", "id", "summary"), cells)
    answer = str(typer.prompt("Which ones? Numbers such as 1,3-5, or all", err=True))
    return choose_operations(_pick_numbers(operations, answer), (), (), place)


def _pick_numbers(operations: Sequence[Operation], answer: str) -> list[Operation]:
    """Return the operations of an answer such as `1,3-5`, or `all`."""
    if answer.strip().lower() == "all":
        return list(operations)
    numbers: set[int] = set()
    for word in re.split(r"[,\s]+", answer.strip()):
        found = _RANGE.fullmatch(word)
        first = int(found[1]) if found else 0
        last = int(found[2] or found[1]) if found else 0
        if not 1 <= first <= last <= len(operations):
            raise UsageError(
                "EUSAGE",
                f"{word!r} is none of the numbers 1 to {len(operations)}",
                suggestion="numbers such as 1,3-5, or all",
            )
        numbers.update(range(first, last + 1))
    return [operations[number - 1] for number in sorted(numbers)]


def _report(
    shell: Shell,
    states: Sequence[OperationState],
    missing: Sequence[str],
    options: OpenApiOptions,
    place: str,
) -> None:
    """Print what became of each operation, and what is left to do."""
    printer = shell.printer
    if printer.json:
        rows = [state.to_row() for state in states]
        printer.document({"items": rows, "secrets_missing": missing, "dry_run": options.dry_run})
    else:
        cells = [
            (state.imported.operation.title, state.capability, state.describe()) for state in states
        ]
        printer.table(("operation", "capability", "state"), cells)
    for state in states:
        for change in state.changes:
            printer.note(f"{state.capability}: {change}")
    if options.dry_run:
        asked = {text for state in states for text in state.imported.permissions}
        for permission in sorted(asked):
            printer.note(f"asks an owner for: {permission}")
    waiting = [state.capability for state in states if state.waits]
    if len(waiting) == 1:
        printer.note(f"{waiting[0]} may not send its request yet: sigil grant {waiting[0]}")
    elif waiting:
        count = format_count(len(waiting), "capability")
        printer.note(f"{count} may not send requests yet: the same command with --grant")
    for name in missing:
        printer.note(f"the secret {name} is not set: sigil secret set {name}")
    if options.dry_run:
        printer.note("nothing was changed")
    if not states:
        raise UsageError("ENOENT", "the document has no operations", source=place)
    if all(state.problem for state in states):
        raise UsageError(
            "EINVAL",
            "none of its operations can be a capability",
            source=place,
            suggestion="the table says why",
        )
