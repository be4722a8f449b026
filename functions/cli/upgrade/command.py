"""`uncaged upgrade`: backup, installation, trial, exchange; or everything as it was."""

from __future__ import annotations

import re
import shlex
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import orjson  # noqa: F401  later imports would find the other version's files

from functions.cli.setup.container import find_containers
from functions.cli.setup.questions import Questions
from functions.cli.setup.service import UNIT, UserServices, find_user_services, wait_for_server
from functions.cli.upgrade.backup import Backup, forget_old_backups, make_backup
from functions.cli.upgrade.confinement import find_gaps
from functions.cli.upgrade.formats import Formats, require_readable
from functions.cli.upgrade.installation import (
    CheckoutUpgrade,
    EnvironmentUpgrade,
    Installation,
    find_installation,
    plan_upgrade,
)
from functions.cli.upgrade.trial import require_start
from functions.cli.upgrade.wheels import Wheel
from functions.settings import Settings
from sigil.cli.printing import Printer
from sigil.cli.times import format_count
from sigil.errors import BackendError, SigilError
from sigil.settings import installed_version, without_userinfo
from sigil.storage.files import lock_folder
from sigil.storage.kv.sqlite_backup import read_formats, read_schema, restore_store
from sigil.storage.kv.sqlite_file import SCHEMA
from sigil.wiring import sqlite_path

_PORT = re.compile(r"^ExecStart=.* --port (\d{1,5})$", re.MULTILINE)
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run_upgrade(
    printer: Printer,
    *,
    wheel: Path | None = None,
    dry_run: bool = False,
    yes: bool = False,
    has_backup: bool = False,
    installation: Installation | None = None,
) -> int:
    """Put another version in the place of this one. `wheel`: that one; `dry_run`: only tell; `yes`:
    the person is not asked about what will be installed; `has_backup`: the person has a backup of a
    store that is not in a file, so that none is made.
    """
    settings = Settings.read()
    installation = installation or find_installation()
    way = installation.way.value
    printer.note(f"installed: uncaged {installed_version()}, {way}, in {installation.folder}")
    _print_store(printer, settings)
    upgrade = plan_upgrade(installation, wheel)
    for command in upgrade.commands:
        printer.note(f"{'would run' if dry_run else 'runs'}: {shlex.join(command)}")
    if isinstance(upgrade, CheckoutUpgrade):
        printer.note(
            "no release is published: it takes what the checkout's branch has at its origin"
        )
    for gap in find_gaps():
        printer.note(f"while it is tried, this machine cannot keep {gap} from the new version")
    services = _find_running_service()
    if services:
        printer.note(f"the service {UNIT} is stopped meanwhile, and started again")
    containers = find_containers()
    if containers and containers.state:
        printer.note(
            "the container has the version of its image: make that anew, then"
            " uncaged setup service --service container"
        )
    if dry_run:
        row = {"version": installed_version(), "way": installation.way.value, "changed": False}
        commands = [shlex.join(command) for command in upgrade.commands]
        printer.result({**row, "commands": commands}, "nothing was changed")
        return 0
    makes_backup = sqlite_path(settings) is not None or not has_backup
    folder = installation.folder
    others = lock_folder(folder, f"another upgrade of {folder} runs", "wait until it has ended")
    with others, _interrupt_once():
        try:
            with printer.progress("downloading"):
                wheels = upgrade.download()
            if wheels:
                _require_consent(printer, wheels, yes=yes)
        except BaseException:
            with _ignore_interrupts():
                upgrade.discard()
            raise
        return _upgrade(printer, settings, upgrade, services, wheels, makes_backup=makes_backup)


def _require_consent(printer: Printer, wheels: Sequence[Wheel], *, yes: bool) -> None:
    """Show what will be installed, and ask a person at a terminal; `SigilError` EDECLINED for a no,
    and `UsageError` where nobody can be asked.
    """
    for wheel in wheels:
        printer.note(f"will be installed: {wheel.line}")
    questions = Questions(printer, yes=yes)
    if not yes and not questions.confirm("Install exactly these files?", default=False):
        raise SigilError("EDECLINED", "nothing was installed")


def _upgrade(
    printer: Printer,
    settings: Settings,
    upgrade: EnvironmentUpgrade | CheckoutUpgrade,
    services: UserServices | None,
    wheels: Sequence[Wheel],
    *,
    makes_backup: bool,
) -> int:
    with printer.progress("making a backup"):
        backup = make_backup(settings) if makes_backup else None
    if backup:
        printer.note(f"backup: {backup.folder}")
    if isinstance(upgrade, CheckoutUpgrade):
        printer.note(f"the checkout is at {upgrade.before}")
    before = installed_version()
    is_active = False
    try:
        if services and upgrade.works_in_place:
            services.run("stop", UNIT)
        with printer.progress("installing"):
            is_other = upgrade.install(wheels)
        if not is_other:
            with _ignore_interrupts():
                upgrade.discard()
                if backup:
                    backup.drop()
                if services and upgrade.works_in_place:
                    services.run("start", UNIT)
            printer.result(
                {"version": before, "changed": False},
                f"uncaged {before} is installed already, and there is nothing newer",
            )
            return 0
        after = upgrade.read_version()
        if backup:
            require_readable(upgrade.python, after, Formats.of_backup(backup))
        with printer.progress(f"trying {after} with a copy of the store"):
            require_start(upgrade.python, settings, backup)
        printer.note(f"{after} starts with a copy of the store")
        if services and not upgrade.works_in_place:
            services.run("stop", UNIT)
        with _ignore_interrupts():
            upgrade.activate()
            is_active = True
        if services:
            with printer.progress("starting the service"):
                _start(services)
    except BaseException as problem:
        with _ignore_interrupts():
            _roll_back(printer, settings, upgrade, backup, services, is_active=is_active)
        if isinstance(problem, SigilError) and not problem.suggestion:
            problem.suggestion = f"uncaged {before} is in its place, as before"
        raise
    with _ignore_interrupts():
        if backup:
            backup.note_success(after)
        upgrade.discard()
        forget_old_backups(settings)
    if services is None:
        printer.note("a server that runs has the old version until you start it again")
    row: dict[str, object] = {"version": after, "before": before, "changed": True}
    printer.result(
        {**row, "backup": str(backup.folder) if backup else ""}, f"uncaged {before} became {after}"
    )
    return 0


def _roll_back(
    printer: Printer,
    settings: Settings,
    upgrade: EnvironmentUpgrade | CheckoutUpgrade,
    backup: Backup | None,
    services: UserServices | None,
    *,
    is_active: bool,
) -> None:
    """Put the old version back, its service too; and the store when the new version wrote what the
    old one cannot open. Otherwise it stays, with what came in meanwhile.
    """
    if services and is_active:
        services.run("stop", UNIT)
    try:
        upgrade.roll_back(is_active=is_active)
        path = sqlite_path(settings)
        if is_active and backup and path and read_schema(path) > max(SCHEMA, backup.schema):
            restore_store(backup.store, path)
            printer.note(f"the store is as it was, from {backup.folder}")
        forget_old_backups(settings)
        printer.note(f"rolled back: uncaged {installed_version()} is in its place")
    finally:
        if services:
            services.run("start", UNIT)


def _start(services: UserServices) -> None:
    """Start the service, and wait until it answers; `BackendError` when it ends."""
    services.require("start", UNIT)
    port = _PORT.search(services.unit.read_text(errors="replace"))
    if port:
        wait_for_server(services, int(port[1]))
    elif not services.is_active:
        raise BackendError("EUNAVAILABLE", "the service does not run")


def _find_running_service() -> UserServices | None:
    services = find_user_services()
    if services is None or not services.unit.is_file() or not services.is_active:
        return None
    return services


def _print_store(printer: Printer, settings: Settings) -> None:
    """Print in which formats the store is written, above all what this version cannot read."""
    path = sqlite_path(settings)
    if path is None:
        printer.note(f"store: {without_userinfo(settings.store)}")
        return
    if not path.is_file():
        printer.note(f"store: none yet at {path}")
        return
    formats = read_formats(path)
    if not formats.is_readable:
        printer.note(
            f"store: {path}, made by a newer version (schema {formats.schema}, this one reads up"
            f" to {SCHEMA}); only such a version can open it"
        )
        return
    printer.note(f"store: {path}, schema {formats.schema}, {format_count(formats.items, 'record')}")
    if formats.newer:
        printer.note(
            f"{format_count(formats.newer, 'record')} of a newer version, which this one cannot"
            " read and leaves as they are"
        )


@contextmanager
def _interrupt_once() -> Iterator[None]:
    """Let the end of the session or a supervisor's stop be what Ctrl-C is: a reason to go back. A
    second one, which would disturb that, counts no more; nor does one that was ignored before.
    """
    before = {number: signal.getsignal(number) for number in _ENDING}
    counting = [number for number, handler in before.items() if handler is not signal.SIG_IGN]

    def interrupt(*_: object) -> NoReturn:
        for number in counting:
            signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    for number in counting:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _ignore_interrupts() -> Iterator[None]:
    """Ignore the signals that end a program, for steps that belong together."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in _ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
