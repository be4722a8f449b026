"""The options that every command takes, wherever they are on its line, and options grouped in a
dataclass.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, get_type_hints

import typer

from sigil.cli.completions import profile_names

FLAGS = ("--json", "--quiet", "-q", "--verbose", "-v", "--no-color", "--yes", "-y")
TIMEOUT_MOST = 86_400.0
VALUES = ("--url", "--token", "--profile", "--timeout")
RUN_OPTIONS = {"--arg": True, "-a": True, "--output": True, "-o": True, "--help": False}
"""The own options of `sigil run`, each with whether it takes a value."""
ARGUMENT = "--argument"
"""The hidden option under which `sigil run` gets an argument that was written as an option."""
_KEY = re.compile(r"[^\W\d][\w.-]*")


@dataclass(frozen=True, slots=True)
class SharedOptions:
    """The options that every command takes."""

    url: Annotated[
        str,
        typer.Option(
            "--url",
            metavar="URL",
            help=(
                "The address of a remote registry (default: SIGIL_URL, else the registry in this"
                " process)."
            ),
        ),
    ] = ""
    token: Annotated[
        str,
        typer.Option("--token", metavar="TOKEN", help="The token for it (default: SIGIL_TOKEN)."),
    ] = ""
    profile: Annotated[
        str,
        typer.Option(
            "--profile",
            metavar="NAME",
            help=(
                "A registry and its token by name (default: SIGIL_PROFILE); `here` is this process."
            ),
            autocompletion=profile_names,
        ),
    ] = ""
    timeout: Annotated[
        float | None,
        typer.Option(
            "--timeout",
            metavar="SECONDS",
            min=0.001,
            max=TIMEOUT_MOST,
            help="Stop waiting after this many seconds.",
        ),
    ] = None
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Answer every question with yes.")] = (
        False
    )
    json: Annotated[
        bool, typer.Option("--json", help="Print exactly one JSON document on stdout.")
    ] = False
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print nothing but errors on stderr.")
    ] = False
    verbose: Annotated[
        bool,
        typer.Option("--verbose", "-v", help="Print the registry and each request on stderr."),
    ] = False
    no_color: Annotated[
        bool, typer.Option("--no-color", help="Print no colours; NO_COLOR does the same.")
    ] = False


NO_OPTIONS = SharedOptions()


def hoist_options(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the shared options, wherever they are before `--`, and the remaining words."""
    with_value = tuple(f"{name}=" for name in VALUES)
    options: list[str] = []
    rest: list[str] = []
    words = iter(arguments)
    for word in words:
        if word == "--":
            rest += [word, *words]
        elif word in FLAGS or word.startswith(with_value):
            options.append(word)
        elif word in VALUES:
            options.append(word)
            value = next(words, None)
            if value is not None:
                options.append(value)
        else:
            rest.append(word)
    return options, rest


def spell_arguments(words: Sequence[str]) -> list[str]:
    """Return the words of a command line, with the arguments of a run that look like options.

    `sigil run shout --text hi` means the argument `text`. A word that looks like one of the
    command's own options is left as it is, to be refused.
    """
    if not words or words[0] != "run":
        return [*words]
    from difflib import get_close_matches

    own = [name for name in (*FLAGS, *VALUES, *RUN_OPTIONS) if name.startswith("--")]
    spelt: list[str] = []
    left = list(words)
    while left:
        word = left.pop(0)
        key, equals, value = word.removeprefix("--").partition("=")
        if word == "--":
            return [*spelt, word, *left]
        if RUN_OPTIONS.get(word) and left:
            spelt += [word, left.pop(0)]
        elif (
            not word.startswith("--")
            or not _KEY.fullmatch(key)
            or get_close_matches(f"--{key}", own, n=1, cutoff=0.8)
        ):
            spelt.append(word)
        else:
            if not equals:
                is_switch = not left or left[0].startswith("--") or left[0] in RUN_OPTIONS
                value = "true" if is_switch else left.pop(0)
            spelt += [ARGUMENT, f"{key}={value}"]
    return spelt


def read_timeout(options: Sequence[str]) -> float:
    """Return the seconds of `--timeout`, the last of several; 0 without one, or for one that typer
    will refuse.
    """
    pairs = zip(options, [*options[1:], ""], strict=False)
    values = [value for name, value in pairs if name == "--timeout"]
    values += [word.partition("=")[2] for word in options if word.startswith("--timeout=")]
    try:
        seconds = float(values[-1]) if values else 0.0
    except ValueError:
        return 0.0
    return seconds if 0 < seconds <= TIMEOUT_MOST else 0.0


def spread_options(command: Callable[..., None]) -> Callable[..., None]:
    """Replace the last parameter of `command`, a dataclass, by an option for each of its fields."""
    *own, last = signature(command, eval_str=True).parameters.values()
    hints = get_type_hints(last.annotation, include_extras=True)
    options = [
        Parameter(
            part.name, Parameter.KEYWORD_ONLY, default=part.default, annotation=hints[part.name]
        )
        for part in fields(last.annotation)
    ]

    def call_with_dataclass(**arguments: Any) -> None:
        values = {option.name: arguments.pop(option.name) for option in options}
        command(**arguments, **{last.name: last.annotation(**values)})

    parameters = [*own, *options]
    call_with_dataclass.__name__ = command.__name__
    call_with_dataclass.__doc__ = command.__doc__
    call_with_dataclass.__annotations__ = {part.name: part.annotation for part in parameters}
    call_with_dataclass.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return call_with_dataclass
