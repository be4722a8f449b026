"""Help: the commands by topic, examples a line each, and `sigil help COMMAND`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from sigil.cli import completions
from sigil.cli.shell import Shell, shell_of

if TYPE_CHECKING:
    from sigil.protocol import Json

TOPIC_REST = "More"


class ByTopic(TyperGroup):
    """A command group whose help has a section for each topic (`rich_help_panel`), in the order in
    which they first appear.
    """

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        shown = [(name, command) for name, command in self.commands.items() if not command.hidden]
        width = max(len(name) for name, _ in shown)
        limit = formatter.width - 6 - width
        topics: dict[str, list[tuple[str, str]]] = {}
        for name, command in shown:
            topics.setdefault(topic_of(command), []).append(
                (name.ljust(width), command.get_short_help_str(limit))
            )
        for topic, rows in topics.items():
            with formatter.section(topic):
                formatter.write_dl(rows)


def topic_of(command: object) -> str:
    """Return the topic of a command, by which the help is grouped."""
    topic = getattr(command, "rich_help_panel", None)
    return topic if isinstance(topic, str) else TOPIC_REST


def format_examples(program: str, lines: str) -> str:
    """Return an epilog with an example a line, which no formatter wraps."""
    given = [f"  $ {line}" for line in lines.splitlines() if line]
    return "\b\n" + "\n".join(("Examples:" if given[1:] else "Example:", *given))


def show_help(
    context: typer.Context,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="COMMAND…",
            help="The command, such as `deploy` or `keys create`.",
            autocompletion=completions.subcommands,
        ),
    ] = None,
) -> None:
    """Show the help of a command.

    With --json and no command: every command with its topic and its first line. After `run` and a
    name also what that capability takes.
    """
    shell, root = shell_of(context), context.find_root()
    if shell.printer.json and not words:
        shell.printer.document({"commands": _command_rows(root.command)})
        return
    place: Any = root
    command: Any = root.command
    rest = [*(words or ())]
    while rest and hasattr(command, "commands"):
        word = rest.pop(0)
        inner = command.commands.get(word)
        if inner is None:
            command.resolve_command(place, [word])  # says what is near
            return
        place, command = type(place)(inner, info_name=word, parent=place), inner
    ref = rest[0] if rest and words and words[0] == "run" else ""
    if shell.printer.json:
        told = {"input": _read_input_schema(shell, ref)} if ref else {}
        shell.printer.document(
            {"command": place.command_path, "help": command.get_help(place), **told}
        )
        return
    shell.printer.text(command.get_help(place))
    if ref:
        fields = _read_input_schema(shell, ref)
        shell.printer.text(f"\nInput of {ref}:")
        _show_fields(shell, fields)


def find_help_words(app: typer.Typer, words: Sequence[str], *, json: bool) -> list[str] | None:
    """Return the words after `help` that a command line with `--help` stands for; None for one that
    typer answers itself (in text, about a command alone).
    """
    before = [*words[: words.index("--")]] if "--" in words else [*words]
    group: Any = typer.main.get_command(app)
    path: list[str] = []
    while before and not before[0].startswith("-") and hasattr(group, "commands"):
        path.append(before.pop(0))
        group = group.commands.get(path[-1])
    if "--help" not in before and "-h" not in before and (path or before or not json):
        return None
    if path == ["run"] and before and not before[0].startswith("-"):
        return [*path, before[0]]
    return path if json else None


def _read_input_schema(shell: Shell, ref: str) -> dict[str, Json]:
    """Return the JSON Schema of a capability's input."""
    from sigil.cli.names import suggest_names

    with shell.registry() as opened, suggest_names(opened, ref):
        found = opened.registry.inspect(ref, opened.caller)["schema"]
    return found if isinstance(found, dict) else {}


def _show_fields(shell: Shell, schema: dict[str, Json]) -> None:
    fields = schema.get("properties") or {}
    if not isinstance(fields, dict) or not fields:
        shell.printer.text("  nothing that its schema names")
        return
    required = schema.get("required")
    must = required if isinstance(required, list) else []
    rows = [
        (f"{name}=", *_describe_field(field if isinstance(field, dict) else {}, must=name in must))
        for name, field in fields.items()
    ]
    shell.printer.table(("--arg", "type", "", "meaning"), rows)


def _describe_field(field: dict[str, Json], *, must: bool) -> tuple[str, str, str]:
    """Return a field's type or choices, whether it is required, and what it means."""
    from sigil.strict_json import dumps

    kinds = field.get("enum") or field.get("type") or "any"
    usual = f"default {dumps(field['default']).decode()}" if "default" in field else ""
    kind = " | ".join(map(str, kinds)) if isinstance(kinds, list) else str(kinds)
    return kind, "required" if must else usual, str(field.get("description", ""))


def _command_rows(group: object, before: str = "", topic: str = "") -> list[dict[str, Json]]:
    rows: list[dict[str, Json]] = []
    for name, command in getattr(group, "commands", {}).items():
        under = topic or topic_of(command)
        if getattr(command, "commands", None):
            rows += _command_rows(command, f"{before}{name} ", under)
        else:
            rows.append(
                {
                    "command": f"{before}{name}",
                    "topic": under,
                    "help": command.get_short_help_str(200),
                }
            )
    return rows
