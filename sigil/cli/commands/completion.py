"""`sigil completion`: the scripts that bash, zsh and fish load, and the answers to them."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Protocol

import typer

from sigil.cli.options import VALUES, hoist_options
from sigil.cli.output import build_command
from sigil.cli.shell import get_shell
from sigil.errors import SigilError, one_line

if TYPE_CHECKING:
    from sigil.cli.printing import Printer


ITEM_CHARACTERS = 10_000
_BASH_END = "    return 0\n}"
_NO_SPACE = "[[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2> /dev/null  # a value follows"


class ShellName(StrEnum):
    """A shell that has a completion script."""

    bash = "bash"
    zsh = "zsh"
    fish = "fish"


ShellArgument = Annotated[ShellName, typer.Argument(metavar="bash|zsh|fish", help="Your shell.")]


def completion(context: typer.Context, shell: ShellArgument) -> None:
    """Print your shell's script for completion with Tab.

    It completes commands, options, and the names in this machine's own store.

    \b
    bash, in ~/.bashrc:              source <(sigil completion bash)
    zsh, in ~/.zshrc after compinit: source <(sigil completion zsh)
    fish, once:
      sigil completion fish > ~/.config/fish/completions/sigil.fish
    """
    print_script(get_shell(context).printer, "sigil", shell.value)


def print_script(printer: Printer, program: str, shell: str) -> None:
    """Print the script that a shell loads once."""
    text = make_script(program, shell)
    if printer.json:
        printer.document({"shell": shell, "script": text})
    else:
        printer.text(text)


def make_script(program: str, shell: str) -> str:
    """Return the script that a shell loads once."""
    from typer._completion_shared import get_completion_script

    variable = completion_variable(program)
    script = str(get_completion_script(prog_name=program, complete_var=variable, shell=shell))
    if shell == ShellName.bash.value:
        script = script.replace(_BASH_END, f"    {_NO_SPACE}\n{_BASH_END}", 1)
    return script


def completion_variable(program: str) -> str:
    """Return the name of the variable in which a shell asks for completions."""
    return f"_{program.upper()}_COMPLETE"


def read_instruction(program: str) -> str:
    """Return what a shell's script asks for, such as `complete_bash`; empty in an ordinary run."""
    from sigil.settings import read_variable

    return read_variable(completion_variable(program))


def complete(app: typer.Typer, program: str, instruction: str) -> int:
    """Answer a shell's request for completions and return the exit code. It prints nothing else."""
    from typer._click.shell_completion import get_completion_class
    from typer._completion_classes import completion_init

    completion_init()
    kind = get_completion_class(instruction.removeprefix("complete_"))
    if kind is None or not instruction.startswith("complete_"):
        return 1
    command = build_command(app)

    class SharedOptionsCompletion(kind):  # type: ignore[valid-type,misc]
        """Typer's, for command lines whose shared options may be anywhere."""

        def get_completion_args(self) -> tuple[list[str], str]:
            words, incomplete = super().get_completion_args()
            if self.name == ShellName.bash:
                *words, incomplete = _join_at_equals([*words, incomplete])
            shared, rest = hoist_options(words)
            if shared and shared[-1] in VALUES:
                return shared, incomplete
            return [*shared, *rest], incomplete

        def get_completions(self, args: list[str], incomplete: str) -> list[_CompletionItem]:
            try:
                found: list[_CompletionItem] = [
                    item
                    for item in super().get_completions(args, incomplete)
                    if _is_printable(item)
                ]
            except (SigilError, OSError, ValueError, LookupError, TypeError, AttributeError):
                return []  # the store holds something that this program did not write
            if incomplete.startswith("-"):
                names = {item.value for item in found}
                shared = super().get_completions([], incomplete)
                found += [item for item in shared if item.value not in names]
            if self.name == ShellName.bash:
                for item in found:
                    if " " in item.value:
                        item.value = shlex.quote(item.value)
            return found

    variable = completion_variable(program)
    answer = SharedOptionsCompletion(command, {}, program, variable).complete()
    if answer:
        sys.stdout.write(answer + "\n")
    return 0


class _CompletionItem(Protocol):
    """An item that typer completes a word with, and its help."""

    value: str
    help: str | None


def _join_at_equals(parts: Sequence[str]) -> list[str]:
    """Return the words of a command line that bash has split at each `=`."""
    words: list[str] = []
    for part, before in zip(parts, ["", *parts], strict=False):
        if words and "=" in (part, before) and words[-1] != "--":
            words[-1] += part
        else:
            words.append(part)
    return words


def _is_printable(item: _CompletionItem) -> bool:
    """Return whether a shell may show the item: a line without control characters."""
    texts = [text for text in (item.value, item.help) if isinstance(text, str)]
    return all(one_line(text, ITEM_CHARACTERS) == text.strip() for text in texts)
