"""`doctor`, `schema` and `version`: what is installed, how it is set, whether it works."""

from __future__ import annotations

import typer

from sigil.cli.shell import shell_of


def version(context: typer.Context) -> None:
    """Print the version."""
    from sigil.version import version as installed

    shell = shell_of(context)
    if shell.printer.json:
        shell.printer.document({"version": installed()})
    else:
        shell.printer.line(f"sigil {installed()}")


def doctor(context: typer.Context) -> None:
    """Find what is wrong, and say how to mend it.

    Looks at the engine, the runners, the compilers, and at the store, the token and the library
    here, or at the registry elsewhere and its token. Exit code 1 when something does not work; a
    warning works today.
    """
    from sigil.cli.doctor import local_registry, machine, remote_registry
    from sigil.cli.doctor.report import diagnose
    from sigil.settings import Settings

    shell = shell_of(context)
    settings = shell.settings_alone()
    registry = (
        remote_registry.registry(settings)
        if settings.registry_url
        else local_registry.registry(settings)
    )
    checks = {
        **machine.sandbox(settings),
        **registry,
        "logins": lambda: local_registry.kept(settings),
    }
    code = diagnose(shell.printer, checks, Settings.read())
    raise typer.Exit(code)


def schema(context: typer.Context) -> None:
    """Print the JSON Schema of sigil.toml, for editors.

    An editor that knows TOML takes it from the first line of a sigil.toml: #:schema
    ./sigil.schema.json
    """
    from sigil.manifest.json_schema import manifest_json_schema

    shell_of(context).printer.document(manifest_json_schema())
