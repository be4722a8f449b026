"""The context of every command: its printer, its settings, and the registry that it talks to."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import typer

from sigil.cli.destination import Destination, RegistryChoice, resolve_address, resolve_destination
from sigil.cli.printing import Printer
from sigil.errors import SigilError, UsageError

if TYPE_CHECKING:
    import httpx

    from sigil.admin_protocol import AdminRegistry
    from sigil.protocol import Caller
    from sigil.sandbox.pool import Sandbox
    from sigil.settings import Settings


NO_CHOICE = RegistryChoice()


class Interrupted(KeyboardInterrupt):
    """Ctrl-C in the middle of a command, with one line about what took place."""


def unsure_message(command: str) -> str:
    """Return what Ctrl-C prints while something is being changed; `command` shows the outcome."""
    return f"interrupted; whether it took place, `{command}` tells"


@dataclass(frozen=True, slots=True)
class OpenRegistry:
    """An open registry and the person at the shell as its caller."""

    registry: AdminRegistry
    caller: Caller


@dataclass(frozen=True, slots=True)
class Shell:
    """The shared options of a command. `yes`: every question is answered with yes; `seconds`: the
    command's timeout, 0 for none.
    """

    printer: Printer
    asked: RegistryChoice = NO_CHOICE
    yes: bool = False
    seconds: float = 0.0

    def settings(self) -> Settings:
        """Return the settings with the chosen registry and its token."""
        from sigil.settings import Settings

        given = Settings.read()
        place = resolve_destination(self.asked, given)
        return replace(given, registry_url=place.url, registry_token=place.token)

    def settings_alone(self) -> Settings:
        """Return `settings`, with an empty token when there is none, or none that can be read."""
        try:
            return self.settings()
        except SigilError:
            from sigil.settings import Settings

            return replace(Settings.read(), registry_url=self.place().url, registry_token="")

    def place(self) -> Destination:
        """Return the chosen registry and what chose it. Reads no credentials."""
        from sigil.settings import Settings

        return resolve_address(self.asked, Settings.read())

    def address(self) -> str:
        """Return the address of the registry elsewhere; empty for this process. Reads no
        credentials.
        """
        return self.place().url

    @contextmanager
    def registry(self, interrupted: str = "") -> Iterator[OpenRegistry]:
        """Open the remote registry, or one in this process over the store that the agent uses too.

        `interrupted`: what Ctrl-C prints from then on, for a command that changes something.
        """
        from sigil.protocol import Caller

        settings = self.settings()
        with self.printer.working("opening the registry"):
            registry = _open_registry(settings, self.printer)
        try:
            yield OpenRegistry(registry, Caller(settings.agent, owner=True, author="person"))
        except KeyboardInterrupt as problem:
            raise (
                Interrupted(interrupted)
                if interrupted and not isinstance(problem, Interrupted)
                else problem
            ) from None
        finally:
            registry.close()

    @contextmanager
    def sandbox(self) -> Iterator[Sandbox]:
        """Open a sandbox in this process."""
        from sigil.wiring import open_sandbox

        sandbox = open_sandbox(self.settings())
        try:
            yield sandbox
        finally:
            sandbox.close()


def shell_of(context: typer.Context) -> Shell:
    """Return the shell that the root command made."""
    shell = context.obj
    if not isinstance(shell, Shell):
        raise TypeError("the root command has not run")
    return shell


def _open_registry(settings: Settings, printer: Printer) -> AdminRegistry:
    if settings.registry_url:
        from sigil.client.registry import RemoteRegistry

        client = open_logging_client(printer) if printer.verbose else None
        return RemoteRegistry(settings.registry_url, settings.registry_token, client=client)
    from sigil.settings import without_userinfo
    from sigil.wiring import local_registry, open_stores

    printer.detail(
        "registry: in this process,"
        f" {without_userinfo(settings.store) or settings.data_folder / 'uncaged.db'}"
    )
    return local_registry(settings, open_stores(settings), printer.note)


def open_logging_client(printer: Printer) -> httpx.Client:
    """Return an HTTP client that prints each request and its status; never a header, so never the
    token.
    """
    import httpx

    def answered(response: httpx.Response) -> None:
        sent = response.request
        printer.detail(
            f"{sent.method} {sent.url} → {response.status_code}, request"
            f" {response.headers.get('x-request-id', 'without an id')}"
        )

    return httpx.Client(event_hooks={"response": [answered]})


def require_answerer(shell: Shell, name: str) -> None:
    """`UsageError` when something has to be asked, and nobody is there who could answer."""
    if not shell.yes and not sys.stdin.isatty():
        raise UsageError("EUSAGE", "there is nobody to ask", source=name, suggestion="add --yes")


def confirm(shell: Shell, question: str, what: str) -> None:
    """Ask, unless `--yes` answered already; `SigilError` with EDECLINED for a no: nothing was
    `what`.
    """
    if not shell.yes and not typer.confirm(question, err=True):
        raise SigilError("EDECLINED", f"nothing was {what}")
