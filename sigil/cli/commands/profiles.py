"""`sigil profiles`: registries by name."""

from __future__ import annotations

from typing import Annotated

import typer

from sigil.cli.completions import profile_names
from sigil.cli.help import format_examples
from sigil.cli.shell import Shell, shell_of

profiles = typer.Typer(
    name="profiles",
    help="List, choose and remove profiles: registries by name.",
    epilog=format_examples(
        "sigil",
        "sigil login --profile work --url https://sigil.example.com\nsigil profiles use work",
    ),
    no_args_is_help=True,
    rich_markup_mode=None,
)

Name = Annotated[
    str, typer.Argument(metavar="NAME", help="The profile.", autocompletion=profile_names)
]


@profiles.command(
    "list", epilog=format_examples("sigil", "sigil profiles list\nsigil profiles list --json")
)
def list_profiles(context: typer.Context) -> None:
    """List the profiles, and which one commands use.

    A command goes where --url says, else --profile, else SIGIL_URL, else SIGIL_PROFILE, else the
    profile in use, else to this process.
    """
    from sigil.client.profiles import HERE, Profiles
    from sigil.settings import Settings

    shell, settings = shell_of(context), Settings.read()
    book = Profiles(settings.profiles).book()
    place = shell.place()
    rows = [
        {"profile": HERE, "url": "", "token": "", "usual": not book.usual, "now": not place.url}
    ]
    for name, profile in book.profiles.items():
        row = {
            "profile": name,
            "url": profile.url,
            "token": profile.token,
            "usual": name == book.usual,
            "now": name == place.profile,
        }
        rows.append(row)
    if shell.printer.json:
        shell.printer.document({"items": rows, "now": {"url": place.url, "how": place.how}})
        return
    cells = [
        ("*" if row["now"] else "", row["profile"], row["url"] or "in this process", row["token"])
        for row in rows
    ]
    shell.printer.table(("", "profile", "registry", "token"), cells)
    shell.printer.note(
        "commands go to"
        f" {place.url or 'the registry in this process'}{f' ({place.how})' if place.how else ''}"
    )


@profiles.command(
    "use", epilog=format_examples("sigil", "sigil profiles use work\nsigil profiles use here")
)
def use_profile(context: typer.Context, name: Name) -> None:
    """Let commands use a profile from now on.

    `here` is the registry in this process.
    """
    from sigil.client.profiles import Profiles
    from sigil.settings import Settings

    profile = Profiles(Settings.read().profiles).use(name)
    shell = shell_of(context)
    _say(
        shell,
        {"profile": name, "url": profile.url},
        f"commands use {name} now: {profile.url or 'the registry in this process'}",
    )


@profiles.command("remove", epilog=format_examples("sigil", "sigil profiles remove work"))
def remove_profile(context: typer.Context, name: Name) -> None:
    """Remove a profile, and forget its token.

    The token itself goes on working until it ends or is revoked.
    """
    from sigil.client.credentials import Credentials
    from sigil.client.profiles import Profiles
    from sigil.settings import Settings

    settings = Settings.read()
    gone = Profiles(settings.profiles).forget(name)
    forgotten = Credentials(settings.credentials).forget(gone.url, name)
    note = f"removed {name}{', and forgot its token' if forgotten else ''}"
    _say(shell_of(context), {"removed": name, "forgotten": forgotten}, note)


def _say(shell: Shell, row: dict[str, object], line: str) -> None:
    if shell.printer.json:
        shell.printer.document(row)
    else:
        shell.printer.note(line)
