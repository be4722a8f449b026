"""What every command stands on: its printer, its settings, and the registry that it talks to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sigil.cli.destination import Asked, Destination, address, destination
from sigil.cli.printing import Printer

if TYPE_CHECKING:
    import httpx
    import typer

    from sigil.admin_protocol import AdminRegistry
    from sigil.protocol import Caller
    from sigil.sandbox.pool import Sandbox
    from sigil.settings import Settings


NOWHERE = Asked()


class Interrupted(KeyboardInterrupt):
    """Ctrl-C in the middle of a command, with one line about what took place."""


def perhaps(command: str) -> str:
    """What Ctrl-C says while something is being changed; `command` shows what became of it."""
    return f"interrupted; whether it took place, `{command}` tells"


@dataclass(frozen=True, slots=True)
class Opened:
    """A registry and the person at the shell."""

    registry: AdminRegistry
    caller: Caller


@dataclass(frozen=True, slots=True)
class Shell:
    """The shared options of a command. `yes`: whatever would be asked is answered so. `seconds`:
    when it gives up, 0 for never.
    """

    printer: Printer
    asked: Asked = NOWHERE
    yes: bool = False
    seconds: float = 0.0

    def settings(self) -> Settings:
        """The settings, with the registry that is meant over them, and its token."""
        from sigil.settings import Settings

        given = Settings.read()
        place = destination(self.asked, given)
        return replace(given, registry_url=place.url, registry_token=place.token)

    def settings_alone(self) -> Settings:
        """As `settings`, also where there is no token, or none that can be read."""
        from sigil.errors import SigilError

        try:
            return self.settings()
        except SigilError:
            from sigil.settings import Settings

            return replace(Settings.read(), registry_url=self.place().url, registry_token="")

    def place(self) -> Destination:
        """Which registry is meant, and who said so. Reads no credentials."""
        from sigil.settings import Settings

        return address(self.asked, Settings.read())

    def address(self) -> str:
        """Where the registry elsewhere is; empty for the one in this process. Reads no
        credentials.
        """
        return self.place().url

    @contextmanager
    def registry(self, interrupted: str = "") -> Iterator[Opened]:
        """The remote registry, or one in this process over the store that the agent uses too.

        `interrupted`: what Ctrl-C says from then on, of a command that changes something.
        """
        from sigil.protocol import Caller

        settings = self.settings()
        with self.printer.working("opening the registry"):
            registry = _open(settings, self.printer)
        try:
            yield Opened(registry, Caller(settings.agent, owner=True, author="person"))
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
        """A sandbox in this process."""
        from sigil.wiring import open_sandbox

        sandbox = open_sandbox(self.settings())
        try:
            yield sandbox
        finally:
            sandbox.close()


def shell_of(context: typer.Context) -> Shell:
    """The shell that the root command made."""
    shell = context.obj
    if not isinstance(shell, Shell):
        raise TypeError("the root command has not run")
    return shell


def _open(settings: Settings, printer: Printer) -> AdminRegistry:
    if settings.registry_url:
        from sigil.client.registry import RemoteRegistry

        client = watched(printer) if printer.verbose else None
        return RemoteRegistry(settings.registry_url, settings.registry_token, client=client)
    from sigil.settings import without_userinfo
    from sigil.wiring import local_registry, open_stores

    printer.detail(
        "registry: in this process,"
        f" {without_userinfo(settings.store) or settings.data_folder / 'uncaged.db'}"
    )
    return local_registry(settings, open_stores(settings), printer.note)


def watched(printer: Printer) -> httpx.Client:
    """A client that says what it asks and how that was answered; never a header, and so never the
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
