"""`completion`: what bash, zsh and fish need to know, and the answer when they ask."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sigil.cli.options import VALUES, hoisted
from sigil.cli.shell import shell_of
from sigil.errors import SigilError, one_line

if TYPE_CHECKING:
    from sigil.cli.printing import Printer


_BASH_END = "    return 0\n}"
_NO_SPACE = "[[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2> /dev/null  # a value follows"


class Kind(StrEnum):
    """The shells that can be told."""

    bash = "bash"
    zsh = "zsh"
    fish = "fish"


Shells = Annotated[Kind, typer.Argument(metavar="bash|zsh|fish", help="Your shell.")]


def completion(context: typer.Context, shell: Shells) -> None:
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
    """Print what a shell has to read once."""
    text = script(program, shell)
    if printer.json:
        printer.document({"shell": shell, "script": text})
    else:
        printer.text(text)


def script(program: str, shell: str) -> str:
    """What a shell has to read once."""
    from typer._completion_shared import get_completion_script

    text = str(
        get_completion_script(prog_name=program, complete_var=variable_of(program), shell=shell)
    )
    return (
        text.replace(_BASH_END, f"    {_NO_SPACE}\n{_BASH_END}", 1)
        if shell == Kind.bash.value
        else text
    )


def variable_of(program: str) -> str:
    """The variable in which a shell says that it wants something completed."""
    return f"_{program.upper()}_COMPLETE"


def wanted(program: str) -> str:
    """What a shell's script asks of this process, such as `complete_bash`; empty for everybody
    else.
    """
    from sigil.settings import variable

    return variable(variable_of(program))


def _plain(item: Any) -> bool:
    """Whether a shell may show it: one line without control characters."""
    return all(
        one_line(text, 10_000) == text.strip()
        for text in (item.value, item.help or "")
        if isinstance(text, str)
    )


def complete(app: typer.Typer, program: str, instruction: str) -> int:
    """Answer a shell; the exit code. Nothing is said but what completes."""
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
            if self.name == Kind.bash:
                *words, incomplete = _joined([*words, incomplete])
            shared, rest = hoisted(words)
            if shared and shared[-1] in VALUES:
                return shared, incomplete
            return [*shared, *rest], incomplete

        def get_completions(self, args: list[str], incomplete: str) -> list[Any]:
            try:
                found: list[Any] = [
                    item for item in super().get_completions(args, incomplete) if _plain(item)
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
            if self.name == Kind.bash:
                for item in found:
                    item.value = shlex.quote(item.value) if " " in item.value else item.value
            return found

    said = Ours(command, {}, program, variable_of(program)).complete()
    sys.stdout.write(said + "\n" if said else "")
    return 0


def _joined(parts: Sequence[str]) -> list[str]:
    """The words of a command line that bash has parted at each `=`."""
    words: list[str] = []
    for part, before in zip(parts, ["", *parts], strict=False):
        if words and (part == "=" or before == "=") and words[-1] != "--":
            words[-1] += part
        else:
            words.append(part)
    return words
