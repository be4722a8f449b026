"""How this program is installed, and the installer that can put another version in its place."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from sigil.errors import BackendError, UsageError, one_line
from sigil.settings import installed_version
from sigil.storage.files import exchange_names, make_write_error

PACKAGE = "uncaged"
_HAS_PIP = "from importlib.util import find_spec; raise SystemExit(find_spec('pip') is None)"
SCRIPT_BYTES = 1 << 20


class Way(StrEnum):
    """A way of installing this program."""

    checkout = "a checkout"
    venv = "pip in a virtual environment"
    uv_tool = "uv tool"
    uvx = "uvx"
    other = "pip outside of a virtual environment"


@dataclass(frozen=True, slots=True)
class Installation:
    """Where this program is (its checkout, or its environment), and how it came there."""

    way: Way
    folder: Path

    @property
    def removal(self) -> str:
        """Return what removes the package itself."""
        return {
            Way.checkout: f"rm -r {self.folder}",
            Way.venv: f"{self.folder}/bin/python -m pip uninstall {PACKAGE}, or remove"
            f" {self.folder}",
            Way.uv_tool: f"uv tool uninstall {PACKAGE}",
            Way.uvx: f"uv cache clean {PACKAGE}",
            Way.other: f"{sys.executable} -m pip uninstall {PACKAGE}",
        }[self.way]


def find_installation(prefix: Path | None = None, source: Path | None = None) -> Installation:
    """Return how this program is installed: `source` has its packages, `prefix` is its
    environment.
    """
    prefix = prefix or Path(sys.prefix)
    source = source or Path(__file__).absolute().parents[3]
    if (source / "scripts" / "install").is_file():
        return Installation(Way.checkout, source)
    if (prefix / "uv-receipt.toml").is_file():
        return Installation(Way.uv_tool, prefix)
    if any(part.startswith("archive-v") for part in prefix.parts):
        return Installation(Way.uvx, prefix)
    if (prefix / "pyvenv.cfg").is_file():
        return Installation(Way.venv, prefix)
    return Installation(Way.other, prefix)


@dataclass(frozen=True, slots=True)
class EnvironmentUpgrade:
    """Another version in a copy of the environment, which then takes its place.

    Until that moment the environment is not touched, whatever happens to this process.
    """

    prefix: Path
    wanted: str
    """What the installer gets: the package's name, or a wheel."""
    works_in_place: bool = field(default=False, init=False)

    @property
    def copy(self) -> Path:
        """Return the place of the copy, on the same disk."""
        return self.prefix.with_name(f".{self.prefix.name}.upgrade")

    @property
    def python(self) -> Path:
        """Return the interpreter that runs the new version."""
        return self.copy / "bin" / "python"

    @property
    def commands(self) -> list[list[str]]:
        """Return the commands that install the new version."""
        if self._has_pip():
            words = [str(self.python), "-m", "pip", "install", "--disable-pip-version-check"]
            return [[*words, "--upgrade", self.wanted]]
        uv = shutil.which("uv")
        if uv is None:
            raise UsageError(
                "EUSAGE",
                f"neither pip in {self.prefix} nor uv is there to install with",
                suggestion=f"{self.prefix}/bin/python -m ensurepip, or install uv",
            )
        words = [uv, "pip", "install", "--python", str(self.python)]
        return [[*words, "--upgrade-package", PACKAGE, self.wanted]]

    def install(self) -> bool:
        """Install the new version into a copy; False when it is the one that is installed."""
        try:
            self.discard()
            shutil.copytree(self.prefix, self.copy, symlinks=True)
        except OSError as problem:
            raise make_write_error(self.copy, problem) from None
        except shutil.Error as problem:
            raise BackendError("EUNAVAILABLE", one_line(f"cannot copy: {problem}")) from None
        for command in self.commands:
            run_command(command)
        self._name_own_place()
        return self.read_version() != installed_version_of(self.prefix)

    def read_version(self) -> str:
        """Return the version that was installed."""
        return installed_version_of(self.copy)

    def activate(self) -> None:
        """Let the two environments exchange their places, at one moment."""
        exchange_names(self.prefix, self.copy)

    def roll_back(self, *, is_active: bool) -> None:
        """Have the old version as it was."""
        if is_active:
            exchange_names(self.prefix, self.copy)
        self.discard()

    def discard(self) -> None:
        """Remove the environment that is not used."""
        if self.copy.is_dir() and not self.copy.is_symlink():
            # what cannot be removed is no reason to call the upgrade failed
            shutil.rmtree(self.copy, ignore_errors=True)

    def _has_pip(self) -> bool:
        for folder in (self.copy, self.prefix):
            python = folder / "bin" / "python"
            if python.exists():
                words = [str(python), "-P", "-c", _HAS_PIP]
                return subprocess.run(words, capture_output=True, check=False).returncode == 0
        return False

    def _name_own_place(self) -> None:
        """Let the scripts of the copy name the place that it is going to have."""
        for path in (self.copy / "bin").iterdir():
            if path.is_symlink() or not path.is_file() or path.stat().st_size > SCRIPT_BYTES:
                continue
            body = path.read_bytes()
            if body.startswith(b"#!") and bytes(self.copy) in body:
                path.write_bytes(body.replace(bytes(self.copy), bytes(self.prefix)))


@dataclass(frozen=True, slots=True)
class CheckoutUpgrade:
    """The newest commit of the branch that the checkout follows, installed by its own script."""

    root: Path
    before: str
    """The commit that the checkout has."""
    works_in_place: bool = field(default=True, init=False)

    @property
    def python(self) -> Path:
        """Return the interpreter that runs the new version."""
        return self.root / ".venv" / "bin" / "python"

    @property
    def commands(self) -> list[list[str]]:
        """Return the commands that install the new version."""
        return [[*self._git, "pull", "--quiet", "--ff-only"], [str(self._script)]]

    def install(self) -> bool:
        """Get the newest commit and install it; False when there is none."""
        pull, install = self.commands
        run_command(pull)
        if read_commit(self.root) == self.before:
            return False
        run_command(install)
        return True

    def read_version(self) -> str:
        """Return the version that was installed."""
        found = _ask_version(self.python)
        return f"{found} at {read_commit(self.root)[:12]}"

    def activate(self) -> None:
        """Do nothing: it is in place already."""

    def roll_back(self, *, is_active: bool) -> None:
        """Have the old version as it was."""
        if read_commit(self.root) != self.before:
            run_command([*self._git, "reset", "--quiet", "--keep", self.before])
            run_command([str(self._script)])

    def discard(self) -> None:
        """Do nothing: there is no copy."""

    @property
    def _git(self) -> tuple[str, ...]:
        return ("git", "-C", str(self.root))

    @property
    def _script(self) -> Path:
        return self.root / "scripts" / "install"


def plan_upgrade(
    installation: Installation, wheel: Path | None
) -> EnvironmentUpgrade | CheckoutUpgrade:
    """Return how another version takes the place of this one; `UsageError` when it has to be done
    by hand.
    """
    folder = installation.folder
    if installation.way is Way.checkout:
        return _plan_checkout(folder, wheel)
    by_hand = {
        Way.uvx: ("uvx runs this once, and there is nothing to upgrade", "uvx uncaged@latest …"),
        Way.other: (
            f"{folder} is no virtual environment, so it may hold other programs",
            f"{sys.executable} -m pip install --upgrade {PACKAGE}",
        ),
    }
    if installation.way in by_hand:
        message, suggestion = by_hand[installation.way]
        raise UsageError("EUSAGE", message, suggestion=suggestion)
    if not os.access(folder.parent, os.W_OK | os.X_OK):
        raise UsageError(
            "EUSAGE",
            f"{folder} cannot be replaced: you may not write to {folder.parent}",
            suggestion="run this as its owner; a container gets a new image instead",
        )
    if wheel is not None and not wheel.is_file():
        raise UsageError("ENOENT", f"there is no file {wheel}")
    return EnvironmentUpgrade(folder.resolve(), str(wheel.absolute()) if wheel else PACKAGE)


def _plan_checkout(root: Path, wheel: Path | None) -> CheckoutUpgrade:
    if wheel is not None:
        raise UsageError(
            "EUSAGE",
            "a checkout takes no wheel",
            suggestion=f"git -C {root} switch … and scripts/install choose a version",
        )
    if Path(sys.prefix) != root / ".venv":
        raise UsageError(
            "EUSAGE",
            f"{root} was installed into {sys.prefix}, not by its scripts/install",
            suggestion=f"git -C {root} pull, and install it again as you did before",
        )
    status = ["git", "-C", str(root), "status", "--porcelain", "--untracked-files=no"]
    if run_command(status).strip():
        raise UsageError(
            "EUSAGE",
            f"the checkout {root} has changes that are not committed",
            suggestion="commit them, or take them back",
        )
    return CheckoutUpgrade(root, read_commit(root))


def read_commit(root: Path) -> str:
    """Return the commit that a checkout has."""
    return run_command(["git", "-C", str(root), "rev-parse", "HEAD"]).strip()


def installed_version_of(prefix: Path) -> str:
    """Return the version in an environment, which runs nothing of it."""
    if prefix == Path(sys.prefix):
        return installed_version()
    return _ask_version(prefix / "bin" / "python")


def _ask_version(python: Path) -> str:
    program = f"from importlib.metadata import version; print(version({PACKAGE!r}))"
    return run_command([str(python), "-I", "-c", program]).strip()


def run_command(words: Sequence[str]) -> str:
    """Return what a command prints; `BackendError` with its last line when it fails."""
    try:
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        )
    except OSError as problem:
        raise BackendError(
            "EUNAVAILABLE", one_line(f"cannot run {words[0]}: {problem.strerror}")
        ) from None
    with process:
        try:
            output, complaint = process.communicate()
        except BaseException:
            process.kill()
            process.wait()  # nothing is taken back while it still works
            raise
    if process.returncode:
        last = (complaint.strip() or output.strip()).rpartition("\n")[2]
        raise BackendError(
            "EUNAVAILABLE",
            one_line(f"{' '.join(words)} failed ({process.returncode}): {last}", 1_000),
        )
    return output
