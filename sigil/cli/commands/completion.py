"""`sigil completion`: the scripts that bash, zsh and fish load, and the answers to them."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sigil.cli.options import VALUES, hoist_options
from sigil.cli.shell import shell_of
from sigil.errors import SigilError, one_line

if TYPE_CHECKING:
    from sigil.cli.printing import Printer


_BASH_END = "    return 0\n}"
_NO_SPACE = "[[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2> /dev/null  # a value follows"


class ShellName(StrEnum):
    """A shell that has a completion script."""

    bash = "bash"
    zsh = "zsh"
    fish = "fish"


ShellArgument = Annotated[ShellName, typer.Argument(metavar="bash|zsh|fish", help="Your shell.")]


def completion(context: typer.Context, shell: ShellArgument) -> None:
    """Print what your shell needs to complete on Tab.

    Commands, options, and the names of the capabilities in this machine's own store.

    \b
    bash, in ~/.bashrc:              source <(sigil completion bash)
    zsh, in ~/.zshrc after compinit: source <(sigil completion zsh)
    fish, once:
      sigil completion fish > ~/.config/fish/completions/sigil.fish
    """
    show_script(shell_of(context).printer, "sigil", shell.value)


def show_script(printer: Printer, program: str, shell: str) -> None:
    """Print the script that a shell loads once."""
    text = make_script(program, shell)
    if printer.json:
        printer.document({"shell": shell, "script": text})
    else:
        printer.text(text)


def make_script(program: str, shell: str) -> str:
    """Return the script that a shell loads once."""
    from typer._completion_shared import get_completion_script

    text = str(
        get_completion_script(
            prog_name=program, complete_var=completion_variable(program), shell=shell
        )
    )
    return (
        text.replace(_BASH_END, f"    {_NO_SPACE}\n{_BASH_END}", 1)
        if shell == ShellName.bash.value
        else text
    )


def completion_variable(program: str) -> str:
    """Return the name of the variable in which a shell asks for completions."""
    return f"_{program.upper()}_COMPLETE"


def read_instruction(program: str) -> str:
    """Return what a shell's script asks for, such as `complete_bash`; empty in an ordinary run."""
    from sigil.settings import variable

    return variable(completion_variable(program))


def _is_printable(item: Any) -> bool:
    """Return whether a shell may show the item: a line without control characters."""
    return all(
        one_line(text, 10_000) == text.strip()
        for text in (item.value, item.help or "")
        if isinstance(text, str)
    )


def complete(app: typer.Typer, program: str, instruction: str) -> int:
    """Answer a shell's request for completions and return the exit code. It prints nothing else."""
    from typer._click.shell_completion import get_completion_class
    from typer._completion_classes import completion_init

    completion_init()
    kind = get_completion_class(instruction.removeprefix("complete_"))
    if kind is None or not instruction.startswith("complete_"):
        return 1
    command = typer.main.get_command(app)

    class Ours(kind):  # type: ignore[valid-type,misc]
        """Typer's, for command lines whose shared options stand anywhere."""

        def get_completion_args(self) -> tuple[list[str], str]:
            words, incomplete = super().get_completion_args()
            if self.name == ShellName.bash:
                *words, incomplete = _join_at_equals([*words, incomplete])
            shared, rest = hoist_options(words)
            if shared and shared[-1] in VALUES:
                return shared, incomplete
            return [*shared, *rest], incomplete

        def get_completions(self, args: list[str], incomplete: str) -> list[Any]:
            try:
                found: list[Any] = [
                    item
                    for item in super().get_completions(args, incomplete)
                    if _is_printable(item)
                ]
            except (SigilError, OSError, ValueError, LookupError, TypeError, AttributeError):
                return []  # what a store holds that nobody of ours wrote
            if incomplete.startswith("-"):
                have = {item.value for item in found}
                found += [
                    item
                    for item in super().get_completions([], incomplete)
                    if item.value not in have
                ]
            if self.name == ShellName.bash:
                for item in found:
                    item.value = shlex.quote(item.value) if " " in item.value else item.value
            return found

    said = Ours(command, {}, program, completion_variable(program)).complete()
    sys.stdout.write(said + "\n" if said else "")
    return 0


def _join_at_equals(parts: Sequence[str]) -> list[str]:
    """Return the words of a command line that bash has split at each `=`."""
    words: list[str] = []
    for part, before in zip(parts, ["", *parts], strict=False):
        if words and (part == "=" or before == "=") and words[-1] != "--":
            words[-1] += part
        else:
            words.append(part)
    return words
