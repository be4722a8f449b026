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
    """Ctrl-C in the middle of a command, with the line to print about what was done by then."""


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
    choice: RegistryChoice = NO_CHOICE
    yes: bool = False
    seconds: float = 0.0

    def read_settings(self, *, require_token: bool = True) -> Settings:
        """Return the settings with the chosen registry and its token. Without `require_token`, a
        token that is missing or cannot be read is empty instead of an error.
        """
        from sigil.settings import Settings

        settings = Settings.read()
        try:
            destination = resolve_destination(self.choice, settings)
        except SigilError:
            if require_token:
                raise
            destination = resolve_address(self.choice, settings)
        return replace(settings, registry_url=destination.url, registry_token=destination.token)

    def find_destination(self) -> Destination:
        """Return the chosen registry, without its token, and what chose it. No credentials are
        read.
        """
        from sigil.settings import Settings

        return resolve_address(self.choice, Settings.read())

    def is_remote(self) -> bool:
        """Return whether the command talks to a remote registry. No credentials are read."""
        return bool(self.find_destination().url)

    @contextmanager
    def open_registry(self, interrupted: str = "") -> Iterator[OpenRegistry]:
        """Open the remote registry, or one in this process over the store that the agent uses too.

        `interrupted`: what Ctrl-C prints from then on, for a command that changes something.
        """
        from sigil.protocol import Caller

        settings = self.read_settings()
        with self.printer.progress("opening the registry"):
            registry: AdminRegistry
            if settings.registry_url:
                from sigil.client.registry import RemoteRegistry

                client = open_logging_client(self.printer) if self.printer.verbose else None
                url, token = settings.registry_url, settings.registry_token
                registry = RemoteRegistry(url, token, client=client)
            else:
                from sigil.settings import without_userinfo
                from sigil.wiring import local_registry, open_stores

                store = without_userinfo(settings.store) or settings.data_folder / "uncaged.db"
                self.printer.detail(f"registry: in this process, {store}")
                registry = local_registry(settings, open_stores(settings), self.printer.note)
        try:
            yield OpenRegistry(registry, Caller(settings.agent, owner=True, author="person"))
        except Interrupted:
            raise
        except KeyboardInterrupt:
            if interrupted:
                raise Interrupted(interrupted) from None
            raise
        finally:
            registry.close()

    @contextmanager
    def open_sandbox(self) -> Iterator[Sandbox]:
        """Open a sandbox in this process."""
        from sigil.wiring import open_sandbox

        sandbox = open_sandbox(self.read_settings())
        try:
            yield sandbox
        finally:
            sandbox.close()


def get_shell(context: typer.Context) -> Shell:
    """Return the shell that the root command made."""
    shell = context.obj
    if not isinstance(shell, Shell):
        raise TypeError("the root command has not run")
    return shell


def open_logging_client(printer: Printer) -> httpx.Client:
    """Return an HTTP client that prints each request and its status; never a header, so never the
    token.
    """
    import httpx

    def print_response(response: httpx.Response) -> None:
        request = response.request
        request_id = response.headers.get("x-request-id", "without an id")
        printer.detail(
            f"{request.method} {request.url} → {response.status_code}, request {request_id}"
        )

    return httpx.Client(event_hooks={"response": [print_response]})


def unsure_message(command: str) -> str:
    """Return what Ctrl-C prints while something is being changed; `command` shows the outcome."""
    return f"interrupted; `{command}` shows whether the change was made"


def require_answerer(shell: Shell, name: str) -> None:
    """Raise `UsageError` when a question has to be asked and nobody could answer it: no `--yes`,
    and stdin is no terminal.
    """
    if not shell.yes and not sys.stdin.isatty():
        raise UsageError(
            "EUSAGE",
            "this asks for a confirmation, and stdin is no terminal",
            source=name,
            suggestion="add --yes",
        )


def confirm(shell: Shell, question: str, change: str) -> None:
    """Ask, unless `--yes` answered already; a no raises `SigilError` with EDECLINED. `change`: the
    participle of what was not done, such as `removed`.
    """
    if not shell.yes and not typer.confirm(question, err=True):
        raise SigilError("EDECLINED", f"nothing was {change}")
