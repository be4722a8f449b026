"""Help: the commands by topic, the examples of each, and `sigil help COMMAND`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from sigil.cli import completions
from sigil.cli.output import build_command
from sigil.cli.shell import Shell, get_shell

if TYPE_CHECKING:
    from sigil.protocol import Json

TOPIC_REST = "More"


class TopicGroup(TyperGroup):
    """A command group whose help has a section for each topic (`rich_help_panel`), in the order in
    which they first appear.
    """

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        visible = {name: command for name, command in self.commands.items() if not command.hidden}
        width = max(map(len, visible))
        limit = formatter.width - 6 - width
        topics: dict[str, list[tuple[str, str]]] = {}
        for name, command in visible.items():
            row = (name.ljust(width), command.get_short_help_str(limit))
            topics.setdefault(_topic_of(command), []).append(row)
        for topic, rows in topics.items():
            with formatter.section(topic):
                formatter.write_dl(rows)


def _topic_of(command: object) -> str:
    """Return the topic of a command, by which the help is grouped."""
    topic = getattr(command, "rich_help_panel", None)
    return topic if isinstance(topic, str) else TOPIC_REST


def format_examples(program: str, lines: str) -> str:
    """Return an epilog with an example a line, which no formatter wraps."""
    examples = [f"  $ {line}" for line in lines.splitlines() if line]
    title = "Examples:" if len(examples) > 1 else "Example:"
    return "\b\n" + "\n".join((title, *examples))


def show_help(
    context: typer.Context,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="COMMAND…",
            help="The command, such as `deploy` or `keys create`.",
            autocompletion=completions.subcommand_names,
        ),
    ] = None,
) -> None:
    """Show the help of a command.

    With --json and no command: every command with its topic and its first line. After `run` and a
    name also the input that this capability takes.
    """
    shell = get_shell(context)
    root = context.find_root()
    if shell.printer.json and not words:
        shell.printer.document({"commands": _list_commands(root.command)})
        return
    command_context: Any = root
    command: Any = root.command
    rest = [*(words or ())]
    while rest and hasattr(command, "commands"):
        word = rest.pop(0)
        inner = command.commands.get(word)
        if inner is None:
            command.resolve_command(command_context, [word])  # fails, with similar names
            return
        command_context = type(command_context)(inner, info_name=word, parent=command_context)
        command = inner
    ref = rest[0] if rest and words and words[0] == "run" else ""
    text = command.get_help(command_context)
    if shell.printer.json:
        document = {"command": command_context.command_path, "help": text}
        if ref:
            document["input"] = _read_input_schema(shell, ref)
        shell.printer.document(document)
        return
    shell.printer.text(text)
    if ref:
        schema = _read_input_schema(shell, ref)
        shell.printer.text(f"\nInput of {ref}:")
        _print_input_fields(shell, schema)


def find_help_words(app: typer.Typer, words: Sequence[str], *, json: bool) -> list[str] | None:
    """Return the words after `help` that a command line with `--help` stands for; None for one that
    typer answers itself (in text, about a command alone).
    """
    rest = [*words[: words.index("--")]] if "--" in words else [*words]
    is_bare_json = json and not rest
    if "--help" not in rest and "-h" not in rest and not is_bare_json:
        return None
    group = build_command(app)
    path: list[str] = []
    while rest and not rest[0].startswith("-") and hasattr(group, "commands"):
        path.append(rest.pop(0))
        group = group.commands.get(path[-1])
    if path == ["run"] and rest and not rest[0].startswith("-"):
        return [*path, rest[0]]
    return path if json else None


def _read_input_schema(shell: Shell, ref: str) -> dict[str, Json]:
    """Return the JSON Schema of a capability's input."""
    from sigil.cli.names import suggest_names

    with shell.open_registry() as opened, suggest_names(opened, ref):
        schema = opened.registry.inspect(ref, opened.caller)["schema"]
    return schema if isinstance(schema, dict) else {}


def _print_input_fields(shell: Shell, schema: dict[str, Json]) -> None:
    """Print each input field: its type or choices, whether it is required, and what it means."""
    from sigil.strict_json import dumps

    fields = schema.get("properties") or {}
    if not isinstance(fields, dict) or not fields:
        shell.printer.text("  its schema names no fields")
        return
    required = schema.get("required")
    if not isinstance(required, list):
        required = []
    rows = []
    for name, value in fields.items():
        field = value if isinstance(value, dict) else {}
        kind = field.get("enum") or field.get("type") or "any"
        if isinstance(kind, list):
            kind = " | ".join(map(str, kind))
        note = ""
        if name in required:
            note = "required"
        elif "default" in field:
            note = f"default {dumps(field['default']).decode()}"
        rows.append((f"{name}=", kind, note, field.get("description", "")))
    shell.printer.table(("--arg", "type", "", "meaning"), rows)


def _list_commands(group: object, before: str = "", topic: str = "") -> list[dict[str, Json]]:
    rows: list[dict[str, Json]] = []
    for name, command in getattr(group, "commands", {}).items():
        under = topic or _topic_of(command)
        if getattr(command, "commands", None):
            rows += _list_commands(command, f"{before}{name} ", under)
        else:
            row = {
                "command": f"{before}{name}",
                "topic": under,
                "help": command.get_short_help_str(200),
            }
            rows.append(row)
    return rows
