"""How this program is installed, and the installer that can put another version in its place."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from functions.cli.upgrade.programs import find_pip, run_command
from functions.cli.upgrade.wheels import (
    ONLY_WHEELS,
    PACKAGE,
    Wheel,
    download_wheels,
    list_downloads,
    make_install_command,
    require_own_wheel,
)
from sigil.errors import BackendError, UsageError, one_line
from sigil.settings import installed_version
from sigil.storage.files import exchange_names, make_write_error

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
    wheel: Wheel
    """The new version."""
    pip: Sequence[str]
    """The command of the environment's pip."""
    works_in_place: bool = field(default=False, init=False)

    @property
    def copy(self) -> Path:
        """Return the place of the copy, on the same disk."""
        return self.prefix.with_name(f".{self.prefix.name}.upgrade")

    @property
    def folder(self) -> Path:
        """Return where the wheels are put that are installed."""
        return self.prefix.with_name(f".{self.prefix.name}.wheels")

    @property
    def python(self) -> Path:
        """Return the interpreter that runs the new version."""
        return self.copy / "bin" / "python"

    @property
    def commands(self) -> list[list[str]]:
        """Return the commands that install the new version."""
        copied = Wheel(self.folder / self.wheel.path.name, self.wheel.name, self.wheel.version)
        install = make_install_command(self._pip_of_copy, [copied], self.folder)
        return [*list_downloads(self.pip, copied, self.folder), install]

    def download(self) -> list[Wheel]:
        """Download what will be installed, and return it; nothing when the version is the one that
        is installed.
        """
        if self.wheel.version == installed_version_of(self.prefix):
            return []
        return download_wheels(self.pip, self.wheel, self.folder)

    def install(self, wheels: Sequence[Wheel]) -> bool:
        """Install the wheels into a copy; False when there are none."""
        if not wheels:
            return False
        try:
            self._discard_copy()
            shutil.copytree(self.prefix, self.copy, symlinks=True)
        except OSError as problem:
            raise make_write_error(self.copy, problem) from None
        except shutil.Error as problem:
            raise BackendError("EUNAVAILABLE", one_line(f"cannot copy: {problem}")) from None
        run_command(make_install_command(self._pip_of_copy, wheels, self.folder))
        self._name_own_place()
        return True

    def read_version(self) -> str:
        """Return the version that was installed, without running anything of it."""
        return self.wheel.version

    def activate(self) -> None:
        """Let the two environments exchange their places, at one moment."""
        exchange_names(self.prefix, self.copy)

    def roll_back(self, *, is_active: bool) -> None:
        """Have the old version as it was."""
        if is_active:
            exchange_names(self.prefix, self.copy)
        self.discard()

    def discard(self) -> None:
        """Remove the environment that is not used, and the wheels."""
        self._discard_copy()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _discard_copy(self) -> None:
        if self.copy.is_dir() and not self.copy.is_symlink():
            # what cannot be removed is no reason to call the upgrade failed
            shutil.rmtree(self.copy, ignore_errors=True)

    @property
    def _pip_of_copy(self) -> list[str]:
        return [str(self.python), *self.pip[1:]]

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

    def download(self) -> list[Wheel]:
        """Return nothing: git and the checkout's own script get what is new."""
        return []

    def install(self, wheels: Sequence[Wheel]) -> bool:
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
        Way.uvx: (
            "uvx runs this once, and there is nothing to upgrade",
            "uvx --no-build --from FILE.whl uncaged …",
        ),
        Way.other: (
            f"{folder} is no virtual environment, so it may hold other programs",
            f"{sys.executable} -m pip install {ONLY_WHEELS} FILE.whl",
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
    if wheel is None:
        raise UsageError(
            "EUSAGE",
            f"no release of {PACKAGE} is published, so nothing is looked for by its name: whoever"
            " registers that somewhere would run code here",
            suggestion="uncaged upgrade --to FILE.whl; scripts/package in a checkout makes one",
        )
    prefix = folder.resolve()
    own = require_own_wheel(wheel.absolute())
    return EnvironmentUpgrade(prefix, own, find_pip(prefix / "bin" / "python"))


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
