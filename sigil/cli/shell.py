"""What every command stands on: its printer, its settings, and the registry that it talks to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sigil.cli.printing import Printer

if TYPE_CHECKING:
    import typer

    from sigil.keeper import Keeper
    from sigil.protocol import Caller
    from sigil.sandbox.pool import Sandbox
    from sigil.settings import Settings


class Interrupted(KeyboardInterrupt):
    """Ctrl-C in the middle of a command, with one line about what took place."""


def perhaps(command: str) -> str:
    """What Ctrl-C says while something is being changed; `command` shows what became of it."""
    return f"interrupted; whether it took place, `{command}` tells"


@dataclass(frozen=True, slots=True)
class Opened:
    """A registry and the person at the shell."""

    registry: Keeper
    caller: Caller


@dataclass(frozen=True, slots=True)
class Shell:
    """The shared options of a command. `url`, `token`: over the settings when they are given."""

    printer: Printer
    url: str = ""
    token: str = ""

    def settings(self) -> Settings:
        """The settings, with this command's options over them; without a token the one kept for that very address, if there is one."""
        from sigil.settings import Settings

        given = Settings.read()
        url, token = self.url or given.registry_url, self.token or given.registry_token
        return replace(given, registry_url=url, registry_token=token or self._kept(url, given))

    def address(self) -> str:
        """Where the registry elsewhere is; empty for the one in this process. Reads no credentials."""
        from sigil.settings import Settings

        return self.url or Settings.read().registry_url

    def _kept(self, url: str, settings: Settings) -> str:
        if not url:
            return ""
        from sigil.credentials import Credentials

        return Credentials(settings.credentials).token(url)

    @contextmanager
    def registry(self, interrupted: str = "") -> Iterator[Opened]:
        """The remote registry, or one in this process over the store that the agent uses too.

        `interrupted`: what Ctrl-C says from then on, of a command that changes something.
        """
        from sigil.protocol import Caller

        settings = self.settings()
        registry = _open(settings, self.printer)
        try:
            yield Opened(registry, Caller(settings.agent, owner=True, author="person"))
        except KeyboardInterrupt as problem:
            raise Interrupted(interrupted) if interrupted and not isinstance(problem, Interrupted) else problem from None
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


def _open(settings: Settings, printer: Printer) -> Keeper:
    if settings.registry_url:
        from sigil.client import RemoteRegistry

        return RemoteRegistry(settings.registry_url, settings.registry_token)
    from sigil.wiring import local_registry, open_stores

    return local_registry(settings, open_stores(settings), printer.note)
