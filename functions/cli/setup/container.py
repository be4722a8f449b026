"""A container that runs the server: as its user, with the user's own settings and data folder."""

from __future__ import annotations

import csv
import io
import os
import shlex
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from functions.cli.setup.programs import run_program
from functions.cli.setup.settings_file import SettingsFile
from functions.settings import Settings
from sigil.cli.printing import Printer
from sigil.errors import BackendError, Refused, UsageError, one_line
from sigil.wiring import data_folder

NAME = "uncaged"
"""The name of the container, and of the image that it is made from."""
LABEL = "uncaged.setup"
"""Marks the container that setup made."""
PROGRAMS = ("docker", "podman")
PORT_INSIDE = 8000
STOP_SECONDS = 45
START_SECONDS = 60.0
"""The image's health check asks every 15 s."""
LOOK_SECONDS = 0.5
_HARDENED = (
    *("--read-only", "--tmpfs=/tmp:mode=1777,size=64m", "--cap-drop=ALL"),
    *("--security-opt=no-new-privileges:true", "--pids-limit=256"),
    *("--restart=unless-stopped", f"--stop-timeout={STOP_SECONDS}"),
)


@dataclass(frozen=True, slots=True)
class Containers:
    """The program that runs containers on this machine."""

    program: str

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run the program with these words."""
        return run_program(self.program, *words)

    def require(self, *words: str) -> str:
        """Return what the program prints with these words; `BackendError` when it fails."""
        done = self.run(*words)
        if done.returncode:
            name = Path(self.program).name
            raise BackendError(
                "EUNAVAILABLE", one_line(f"{name} {words[0]}: {done.stderr.strip()}", 500)
            )
        return done.stdout

    @property
    def state(self) -> str:
        """Return the state of the container that setup made, such as `running`; empty for none."""
        form = '{{.State.Status}} {{index .Config.Labels "' + LABEL + '"}}'
        status, _, mark = (
            self.run("container", "inspect", "--format", form, NAME).stdout.strip().partition(" ")
        )
        return status if mark == "yes" else ""

    @property
    def has_image(self) -> bool:
        """Return whether the image of the container is here."""
        return self.run("image", "inspect", NAME).returncode == 0

    def restart(self) -> None:
        """Start the container again with the settings as they are now."""
        self.require("restart", f"--time={STOP_SECONDS}", NAME)

    def remove(self, printer: Printer) -> None:
        """Stop and remove the container that setup made, where there is one."""
        if self.state:
            self.run("stop", NAME)
            self.require("rm", "--force", NAME)
            printer.note("the container was stopped and removed")


def find_containers() -> Containers | None:
    """Return what runs containers here; None on a machine without it."""
    found = filter(None, map(shutil.which, PROGRAMS))
    return next(map(Containers, found), None)


def list_run_words(
    program: str, file: SettingsFile, settings: Settings, port: int, *, poll: bool
) -> list[str]:
    """Return the words after `docker` or `podman` that run the server in a container.

    It runs as this user, who may read the settings, and sees nothing else of this machine's files
    than them and the data folder, each under its own path.
    """
    folder = data_folder(settings).absolute()
    words = ["run", "--detach", f"--name={NAME}", f"--label={LABEL}=yes", *_HARDENED]
    words += [f"--user={os.getuid()}:{os.getgid()}", _mount(folder, is_readonly=False)]
    if program == "podman" and os.getuid():
        words.append("--userns=keep-id")
    words += [f"--env=UNCAGED_DATA={folder}", f"--env=HOME={folder}"]
    if file.path.exists():
        words.append(_mount(file.path.absolute(), is_readonly=True))
    if file.path == Settings.find_own_file():
        words.append(f"--env=XDG_CONFIG_HOME={file.path.parents[1]}")
    else:
        words.append(f"--workdir={file.path.parent}")
    serve = ["serve", *(["--poll"] if poll else [])]
    if any(map(_names_this_machine, file.values.values())):
        # a model or a store of this machine has an address that only the machine itself reaches
        words += ["--network=host"]
        words += ["--no-healthcheck"] if port != PORT_INSIDE else []
        return [*words, NAME, *serve, "--host", "127.0.0.1", "--port", str(port)]
    words.append(f"--publish=127.0.0.1:{port}:{PORT_INSIDE}")  # also for the page alone
    return [*words, NAME, *serve, "--host", "0.0.0.0", "--port", str(PORT_INSIDE)]


def describe_command(program: str, words: list[str]) -> list[str]:
    """Return the lines of a command for a shell."""
    quoted = [shlex.quote(word) for word in words]
    first = quoted.index(NAME)
    head = f"{program} {' '.join(quoted[:4])}"
    lines = [head, *(f"    {word}" for word in quoted[4:first]), f"    {' '.join(quoted[first:])}"]
    return [*(f"{line} \\" for line in lines[:-1]), lines[-1]]


def start_container(printer: Printer, containers: Containers, words: list[str]) -> None:
    """Run the container in the place of the one that setup made before, and wait until it serves.

    `Refused` for a container of somebody else with its name; `BackendError` when it ends.
    """
    program = Path(containers.program).name
    if not containers.has_image:
        why = containers.run("version").stderr.strip()
        if why:
            raise BackendError("EUNAVAILABLE", one_line(f"{program} does not work: {why}", 500))
        raise UsageError(
            "ENOENT",
            f"{program} has no image {NAME}",
            suggestion=f"in a checkout: {program} build --tag {NAME} . (docs/deploy.md)",
        )
    if not containers.state and not containers.run("container", "inspect", NAME).returncode:
        raise Refused(
            "EEXIST",
            f"there is a container {NAME} that setup did not make",
            suggestion=f"{program} rename {NAME} another-name, or remove it",
        )
    containers.remove(printer)
    try:
        containers.require(*words)
    except BackendError:
        containers.run("rm", "--force", NAME)  # it may be there, and never have started
        raise
    with printer.progress("waiting for the container"):
        is_up = _wait_until_healthy(containers)
    printer.note(f"the container {'runs' if is_up else 'still starts'}; its log:")
    printer.note(f"  {program} logs --follow {NAME}")


def _wait_until_healthy(containers: Containers) -> bool:
    form = "{{.State.Status}} {{if .State.Health}}{{.State.Health.Status}}{{end}}"
    end = time.monotonic() + START_SECONDS
    while True:
        found = containers.run("container", "inspect", "--format", form, NAME).stdout
        status, _, health = found.partition(" ")
        if status.strip() != "running":
            last = containers.run("logs", "--tail", "3", NAME)
            raise BackendError(
                "EUNAVAILABLE", one_line(f"the container does not run: {last.stderr.strip()}", 500)
            )
        if health.strip() in ("healthy", ""):
            return True
        if time.monotonic() > end:
            return False
        time.sleep(LOOK_SECONDS)


def _names_this_machine(value: str) -> bool:
    """Return whether a setting is an address that only this machine itself reaches."""
    try:
        host = urlsplit(value).hostname or ""
    except ValueError:
        return False
    return host in ("localhost", "::1") or host.startswith("127.")


def _mount(path: Path, *, is_readonly: bool) -> str:
    """Return the option that gives the container a file or folder, under its own path."""
    fields = ["type=bind", f"source={path}", f"target={path}", *(["readonly"] * is_readonly)]
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(fields)
    return f"--mount={line.getvalue()}"
