"""`sigil profiles`: list, choose and remove registries by name."""

from __future__ import annotations

from typing import Annotated

import typer

from sigil.cli.completions import profile_names
from sigil.cli.help import format_examples
from sigil.cli.shell import get_shell

IN_THIS_PROCESS = "in this process"

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

    A command uses the registry of --url, else --profile, else SIGIL_URL, else SIGIL_PROFILE, else
    the profile in use, else the one in this process.
    """
    from sigil.client.profiles import HERE, Profiles
    from sigil.settings import Settings

    shell = get_shell(context)
    table = Profiles(Settings.read().profiles).load()
    now = shell.find_destination()
    rows = [
        {"profile": HERE, "url": "", "token": "", "usual": not table.default, "now": not now.url}
    ]
    for name, profile in table.profiles.items():
        rows.append(
            {
                "profile": name,
                "url": profile.url,
                "token": profile.token,
                "usual": name == table.default,
                "now": name == now.profile,
            }
        )
    if shell.printer.json:
        shell.printer.document({"items": rows, "now": {"url": now.url, "how": now.how}})
        return
    cells = []
    for row in rows:
        mark = "*" if row["now"] else ""
        cells.append((mark, row["profile"], row["url"] or IN_THIS_PROCESS, row["token"]))
    shell.printer.table(("", "profile", "registry", "token"), cells)
    reason = f" ({now.how})" if now.how else ""
    shell.printer.note(f"commands go to {now.url or f'the registry {IN_THIS_PROCESS}'}{reason}")


@profiles.command(
    "use", epilog=format_examples("sigil", "sigil profiles use work\nsigil profiles use here")
)
def use_profile(context: typer.Context, name: Name) -> None:
    """Make a profile the default.

    `here` is the registry in this process.
    """
    from sigil.client.profiles import Profiles
    from sigil.settings import Settings

    profile = Profiles(Settings.read().profiles).use(name)
    place = profile.url or f"the registry {IN_THIS_PROCESS}"
    get_shell(context).printer.result(
        {"profile": name, "url": profile.url}, f"commands use {name} now: {place}"
    )


@profiles.command("remove", epilog=format_examples("sigil", "sigil profiles remove work"))
def remove_profile(context: typer.Context, name: Name) -> None:
    """Remove a profile, and delete its token.

    The token itself stays valid until it expires or is revoked.
    """
    from sigil.client.credentials import Credentials
    from sigil.client.profiles import Profiles
    from sigil.settings import Settings

    settings = Settings.read()
    gone = Profiles(settings.profiles).forget(name)
    forgotten = Credentials(settings.credentials).forget(gone.url, name)
    note = f"removed {name}, and forgot its token" if forgotten else f"removed {name}"
    get_shell(context).printer.result({"removed": name, "forgotten": forgotten}, note)
