"""The question for a service that runs the server: a systemd unit of the user, or a container."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from functions.cli.setup.container import (
    Containers,
    describe_command,
    find_containers,
    list_run_words,
    start_container,
)
from functions.cli.setup.flags import SetupFlags
from functions.cli.setup.programs import run_program
from functions.cli.setup.questions import Questions, require_choice
from functions.cli.setup.settings_file import SettingsFile
from functions.settings import Settings
from sigil.cli.printing import Printer
from sigil.errors import BackendError, UsageError, one_line
from sigil.http.server import listen
from sigil.settings import describe_settings, read_variable
from sigil.storage.files import make_write_error, write_whole

UNIT = "uncaged.service"
PORT = 8000
SYSTEMD = "systemd"
CONTAINER = "container"
NONE = "none"
START_SECONDS = 30.0
"""The first start compiles the engine, and fills the registry."""
LOOK_SECONDS = 0.5
_PLAIN = re.compile(r"[\w@%+=:,./-]+", re.ASCII)
_UNFIT_FOR_PROGRAMS = re.compile(r"""['"\\$]""")
MARK = "# written by `uncaged setup service`"
"""The beginning of our unit."""
_TEMPLATE = (
    MARK
    + """; `uncaged setup service --service none` removes it
[Unit]
Description=Uncaged, a chat agent
Wants=network-online.target
After=network-online.target

[Service]
WorkingDirectory={folder}
ExecStart={command}
Restart=on-failure
RestartSec=5
# only the server gets the stop signal; it ends its sandboxes itself after the running turns
KillMode=mixed
TimeoutStopSec=45
UMask=0077
NoNewPrivileges=yes

[Install]
WantedBy=default.target
"""
)


@dataclass(frozen=True, slots=True)
class UserServices:
    """The systemd of the user, and the file of our unit."""

    program: str
    unit: Path

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run `systemctl --user` with these words."""
        return run_program(self.program, "--user", *words)

    def require(self, *words: str) -> None:
        """Run `systemctl --user` with these words; `BackendError` when it fails."""
        done = self.run(*words)
        if done.returncode:
            raise BackendError(
                "EUNAVAILABLE",
                one_line(f"systemctl --user {' '.join(words)}: {done.stderr.strip()}"),
                suggestion="journalctl --user --unit uncaged shows what it says",
            )

    @property
    def is_active(self) -> bool:
        """Return whether our unit runs."""
        return self.run("is-active", "--quiet", UNIT).returncode == 0


def find_user_services() -> UserServices | None:
    """Return the systemd of the user; None on a machine without one."""
    from platformdirs import user_config_path

    program = shutil.which("systemctl")
    if program is None:
        return None
    unit = user_config_path("systemd", appauthor=False) / "user" / UNIT
    services = UserServices(program, unit)
    return services if services.run("show-environment").returncode == 0 else None


def install_service(questions: Questions, flags: SetupFlags, file: SettingsFile) -> list[str]:
    """Ask whether a service runs the server, and write, start or remove its unit or its container.
    No setting changes.
    """
    if flags.service:
        require_choice("--service", flags.service, (SYSTEMD, CONTAINER, NONE))
    if flags.service == CONTAINER:
        _run_container(questions, flags, file)
        return []
    services = find_user_services()
    if flags.service == NONE:
        remove_service(questions.printer, services, find_containers())
        return []
    by_hand = (
        f"run it yourself: uncaged {' '.join(_list_words(file.preview({}), flags.port or PORT))};"
        " or in a container: uncaged setup service --service container"
    )
    if services is None:
        if flags.service or flags.is_alone:
            raise UsageError(
                "EUSAGE", "this machine has no systemd for its user", suggestion=by_hand
            )
        containers = None if questions.yes else find_containers()
        if containers and containers.has_image:
            if questions.confirm("Run it in a container?", default=True):
                _run_container(questions, flags, file)
            return []
        questions.printer.note(f"no service: this machine has no systemd for its user; {by_hand}")
        return []
    if not flags.service:
        if questions.yes and not flags.is_alone:
            return []
        if not questions.confirm("Run it in the background?", default=True):
            remove_service(questions.printer, services, None)
            return []
    _write_unit(questions, flags, file, services)
    return []


def _run_container(questions: Questions, flags: SetupFlags, file: SettingsFile) -> None:
    """Print the command that runs the server in a container, and run it."""
    printer = questions.printer
    containers = find_containers()
    if containers is None and flags.start:
        raise UsageError(
            "EUSAGE",
            "this machine has neither docker nor podman",
            suggestion="install one of them; --no-start only prints the command",
        )
    settings = file.preview({})
    poll = is_polled(settings)
    port = flags.port or PORT
    if containers and flags.start and containers.state != "running":
        port = _find_port(questions, flags, is_ours=False)
    program = Path(containers.program).name if containers else "docker"
    words = list_run_words(program, file, settings, port, poll=poll)
    for line in describe_command(program, words):
        printer.note(line)
    printer.note("to remove it: uncaged setup service --service none")
    for name in _list_shell_settings(file):
        printer.note(f"warning: {name} is set in this shell alone; the container does not have it")
    if containers and flags.start:
        start_container(printer, containers, words)


def _list_words(settings: Settings, port: int) -> list[str]:
    """Return the words of the command that serves."""
    return ["serve", *(["--poll"] if is_polled(settings) else []), "--port", str(port)]


def is_polled(settings: Settings) -> bool:
    """Return whether the server fetches the bot's messages.

    With a secret the bot has a webhook, which somebody set on purpose.
    """
    return any(channel.is_polled for channel in settings.channels)


def _write_unit(
    questions: Questions, flags: SetupFlags, file: SettingsFile, services: UserServices
) -> None:
    printer = questions.printer
    settings = file.preview({})
    port = _find_port(questions, flags, is_ours=services.is_active)
    program = Path(sys.executable).with_name("uncaged")
    start = [str(program)] if program.exists() else [sys.executable, "-m", "functions.cli"]
    command = _write_command([*start, *_list_words(settings, port)])
    own = file.path == Settings.find_own_file()
    folder = "%h" if own else str(file.path.parent).replace("%", "%%")
    text = _TEMPLATE.format(folder=folder, command=command)
    try:
        services.unit.parent.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise make_write_error(services.unit.parent, problem) from None
    write_whole(services.unit, text.encode("utf-8", "surrogateescape"), durable=True)
    printer.note(f"written to {services.unit}; to remove it: uncaged setup service --service none")
    for name in _list_shell_settings(file):
        printer.note(f"warning: {name} is set in this shell alone; the service does not have it")
    if not flags.start:
        printer.note("to start it: systemctl --user daemon-reload, then")
        printer.note("  systemctl --user enable --now uncaged")
        return
    services.require("daemon-reload")
    services.require("enable", UNIT)
    services.require("restart", UNIT)
    with printer.progress("waiting for the service"):
        is_up = wait_for_server(services, port)
    state = "runs" if is_up else "still starts"
    printer.note(f"the service {state} at http://127.0.0.1:{port}; its log:")
    printer.note("  journalctl --user --unit uncaged --follow")
    printer.note("it ends when you log out, unless once: loginctl enable-linger")


def wait_for_server(services: UserServices, port: int) -> bool:
    """Return whether the server answers within `START_SECONDS`; `BackendError` when it ended."""
    end = time.monotonic() + START_SECONDS
    while True:
        if not services.is_active:
            raise BackendError(
                "EUNAVAILABLE",
                "the service does not run",
                suggestion="journalctl --user --unit uncaged shows what it says",
            )
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1.0):
            return True
        if time.monotonic() > end:
            return False
        time.sleep(LOOK_SECONDS)


def remove_service(
    printer: Printer, services: UserServices | None, containers: Containers | None
) -> None:
    """Stop the service and remove its unit or its container, where there is one."""
    if containers:
        containers.remove(printer)
    if services is None or not services.unit.exists():
        return
    services.run("disable", "--now", UNIT)
    services.unit.unlink(missing_ok=True)
    services.run("daemon-reload")
    printer.note("the service was stopped and removed")


def _find_port(questions: Questions, flags: SetupFlags, *, is_ours: bool) -> int:
    """Return a port that is free. `is_ours`: our own service runs, and has it."""
    port = flags.port or PORT
    while True:
        try:
            if not is_ours:
                listen("127.0.0.1", port).close()
            return port
        except BackendError:
            problem = BackendError(
                "EUNAVAILABLE",
                f"another program has port {port} of this machine",
                suggestion=f"end it, or choose another one: --port {port + 1}",
            )
        if questions.yes:
            raise problem
        questions.printer.error(problem)
        answer = questions.ask("Port", str(port + 1), "--port")
        port = int(answer) if answer.isascii() and answer.isdigit() else port


def _list_shell_settings(file: SettingsFile) -> list[str]:
    """Return the settings that only the environment of this process has."""
    names = [name for name, _, _ in describe_settings(Settings()) if name != "EDITOR"]
    values = file.values
    return [name for name in names if read_variable(name) and name not in values]


def _write_command(words: list[str]) -> str:
    """Return a command as systemd reads it in ExecStart=.

    The path of a program may have none of these characters, so a shell runs such a one: what
    follows the program may have any.
    """
    if _UNFIT_FOR_PROGRAMS.search(words[0]):
        words = ["/bin/sh", "-c", 'exec "$0" "$@"', *words]
    return " ".join(map(_quote, words))


def _quote(word: str) -> str:
    """Return a word of ExecStart=, which a path of a program is as well when it has no `$`."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return escaped if _PLAIN.fullmatch(word) else f'"{escaped}"'
