"""Finds a Python of the functions' minor version: this one, one of the machine, or, for root, that
of a small Debian which is kept in .venv.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from scripts.staging.contents import PYTHON, StagingError

ROOT = Path(__file__).parents[2]
DEBIAN = "trixie"
"""The Debian whose own Python is of the functions' minor version: Debian 13."""
NAME = f"python{PYTHON[0]}.{PYTHON[1]}"
PACKAGES = (
    "python3-minimal",
    f"{NAME}-minimal",
    f"lib{NAME}-stdlib",
    "libstdc++6",
    "libsqlite3-0",
    "libffi8",
    "ca-certificates",
)
"""What the functions need of a system: Lambda's own image has it as well."""
_BULK = ("/usr/share/man/*", "/usr/share/locale/*", "/usr/share/doc/*")
_KEPT = ROOT / ".venv" / f"debian-{DEBIAN}"
_ENTER = """
root=$1
shift
for folder in %s; do
  [ -d "$folder" ] || continue
  mkdir -p "$root$folder"
  mount --rbind "$folder" "$root$folder"
done
exec %s "$root" /usr/bin/env --chdir="$PWD" "$@"
"""


@cache
def find_interpreter() -> tuple[str, ...]:
    """Return the command that runs a Python of the functions' minor version; it finds the checkout
    and temporary files where they are. `StagingError` when there is none.
    """
    if sys.version_info[:2] == PYTHON:
        return (sys.executable,)
    found = shutil.which(NAME)
    if found and _is_right(found):
        return (found,)
    if os.geteuid() == 0 and all(map(_find_program, ("apt-get", "dpkg", "unshare", "chroot"))):
        return _enter(_make_debian(), f"/usr/bin/{NAME}")
    ours = ".".join(map(str, sys.version_info[:2]))
    raise StagingError(
        f"the functions run on Python {PYTHON[0]}.{PYTHON[1]}, and .venv has {ours}: its byte"
        " code does not fit",
        f"install {NAME}; on a Debian, root needs nothing",
    )


def bootstrap_debian(
    packages: Sequence[str], target: Path, environment: dict[str, str] | None = None
) -> None:
    """Make a minimal Debian with packages: in a folder, or in the file of a name that ends in
    `.tar`. `StagingError` when that fails. It needs `mmdebstrap` on the path.
    """
    done = subprocess.run(
        [
            "mmdebstrap",
            "--quiet",
            "--variant=essential",
            f"--include={','.join(packages)}",
            *(f"--dpkgopt=path-exclude={pattern}" for pattern in _BULK),
            DEBIAN,
            str(target),
        ],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise StagingError(
            f"no Debian can be made: {done.stderr.strip()[-2000:]}", "check the network"
        )


def _search_path() -> str:
    """Return the path that programs are searched on: `sam build` may be run without the folders of
    root's programs.
    """
    return f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"


def _find_program(name: str) -> str | None:
    return shutil.which(name, path=_search_path())


def _is_right(python: str) -> bool:
    """Return whether a program is that Python; what has its name may only choose one of several."""
    asked = "import sys; print(*sys.version_info[:2])"
    done = subprocess.run([python, "-I", "-c", asked], capture_output=True, text=True, check=False)
    return done.stdout.split() == [str(number) for number in PYTHON]


def _make_debian() -> Path:
    """Return the folder of the Debian, made if it is not there yet."""
    if _KEPT.is_dir():
        return _KEPT
    _KEPT.parent.mkdir(parents=True, exist_ok=True)
    with open(_KEPT.with_suffix(".lock"), "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # who comes second finds what the first one has made
        if not _KEPT.is_dir():
            print(f"note: {NAME} comes from a Debian in {_KEPT}: a minute, once", file=sys.stderr)
            _bootstrap()
    return _KEPT


def _bootstrap() -> None:
    with tempfile.TemporaryDirectory(dir=_KEPT.parent, prefix=".debian-") as temporary:
        folder = Path(temporary)
        packages = folder / "packages"
        packages.mkdir()
        for command in (
            ("apt-get", "--quiet", "download", "mmdebstrap"),
            ("sh", "-c", f"dpkg --extract mmdebstrap_*.deb '{folder}/programs'"),
        ):
            done = subprocess.run(
                command, cwd=packages, capture_output=True, text=True, check=False
            )
            if done.returncode:
                raise StagingError(
                    f"mmdebstrap cannot be fetched: {done.stderr.strip()[-2000:]}",
                    f"install {NAME}",
                )
        path = f"{folder}/programs/usr/bin:{_search_path()}"
        bootstrap_debian(PACKAGES, folder / "root", {**os.environ, "PATH": path})
        (folder / "root" / "etc" / "hosts").write_text("127.0.0.1 localhost\n")
        (folder / "root").rename(_KEPT)


def _enter(root: Path, *command: str) -> tuple[str, ...]:
    """Return the command that runs another one in a root file system, in the same working folder;
    what it mounts there ends with it.
    """
    folders = dict.fromkeys((ROOT, Path(tempfile.gettempdir()), Path("/proc"), Path("/dev")))
    script = _ENTER % (" ".join(f"'{folder}'" for folder in folders), _find_program("chroot"))
    return (
        str(_find_program("unshare")),
        "--mount",
        "sh",
        "-euc",
        script,
        "sh",
        str(root),
        *command,
    )
