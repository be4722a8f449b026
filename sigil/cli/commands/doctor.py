"""`sigil doctor`: find what is wrong on this machine or with a remote registry."""

from __future__ import annotations

import typer

from sigil.cli.shell import get_shell


def doctor(context: typer.Context) -> None:
    """Find what is wrong, and how to fix it.

    Checks the engine, the runners and the compilers; also the store, the token and the library of
    this machine, or the remote registry and its token. Exit code 1 when something does not work; a
    warning is about something that works now and should be changed.
    """
    from sigil.cli.doctor import local_registry, machine, remote_registry
    from sigil.cli.doctor.report import run_doctor
    from sigil.settings import Settings

    shell = get_shell(context)
    settings = shell.read_settings(require_token=False)
    registry = (
        remote_registry.registry_checks(settings)
        if settings.registry_url
        else local_registry.registry_checks(settings)
    )
    checks = {
        **machine.machine_checks(settings),
        **registry,
        "logins": lambda: local_registry.check_logins(settings),
    }
    code = run_doctor(shell.printer, checks, Settings.read())
    raise typer.Exit(code)
