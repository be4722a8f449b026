"""Makes one function's package: everything in its place, compiled, and the same bytes whenever the
same things go in.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tomllib import loads

from scripts.staging import packages
from scripts.staging.contents import PYTHON, SOURCELESS, TASK_ROOT, Stage
from scripts.staging.trouble import StagingError

_PACKAGES = ("functions", "sigil")
_SUFFIXES = (".py", ".wasm", ".json", ".js", ".css")
_SHIP = """
import sys
sys.path.insert(0, sys.argv[1])
from sigil.compile.toolchain.native_code import compile_package
compile_package()
"""
_CHANGED = 315_619_200  # 1980-01-02: an archive's first year, the same time for every file


def make(stage: Stage, root: Path, folder: Path) -> None:
    """Fill the new folder `folder` from the checkout `root`."""
    folder.mkdir(parents=True)
    packages.install(stage, root, folder)
    _add_ours(stage, root, folder)
    if stage.runs:
        _compile_engine(folder)
    _compile(folder)
    for path in folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    for path in (folder, *folder.rglob("*")):
        os.utime(path, (_CHANGED, _CHANGED))


def inputs(root: Path) -> Iterator[Path]:
    """The files that a stage is made from."""
    yield from (
        *(root / name for name in ("LICENSE", "NOTICE", "pyproject.toml", "uv.lock")),
        *sorted((root / "scripts" / "staging").glob("*.py")),
    )
    for package in _PACKAGES:
        yield from (
            path for path in sorted((root / package).rglob("*")) if path.suffix in _SUFFIXES
        )
    yield from (path for path in sorted((root / "capabilities").rglob("*")) if path.is_file())


def _add_ours(stage: Stage, root: Path, folder: Path) -> None:
    for package in _PACKAGES:
        for path in sorted((root / package).rglob("*")):
            name = path.relative_to(root).as_posix()
            if path.suffix in _SUFFIXES and not any(
                name == out or name.startswith(f"{out}/") for out in stage.left_out
            ):
                _copy(path, folder / name)
    if stage.runs:
        for path in (root / "capabilities").rglob("*"):
            if path.is_file() and path.suffix != ".md":
                _copy(path, folder / "sigil" / path.relative_to(root))
    project = loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    about = folder / f"{project['name']}-{project['version']}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(
        f"Metadata-Version: 2.4\nName: {project['name']}\nVersion: {project['version']}\n",
        encoding="utf-8",
    )
    for name in project["license-files"]:
        _copy(root / name, about / "licenses" / name)


def _copy(path: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(path, target)


def _compile_engine(folder: Path) -> None:
    """Native code for any x86-64, made by the stage itself: what comes out is what a function will
    look for.
    """
    if sys.platform != "linux" or os.uname().machine != "x86_64":
        print(
            "note: not on x86-64 Linux, so each function compiles the engine when it starts, in"
            " about a second",
            file=sys.stderr,
        )
        return
    _python("-I", "-S", "-B", "-c", _SHIP, str(folder))
    if not list(folder.glob("sigil/sandbox/shipped/*.code")):
        raise StagingError("the engine's native code was not made", "free some space and try again")


def _compile(folder: Path) -> None:
    """Byte code that is never compared with its source: the folder is read-only where it runs, so
    it could not be written there.
    """
    options = (
        "-q",
        "-f",
        "-s",
        str(folder),
        "-p",
        TASK_ROOT,
        "--invalidation-mode",
        "unchecked-hash",
    )
    seeded = {"PYTHONHASHSEED": "0"}  # sets come in the order of their hashes
    _python("-m", "compileall", *options, str(folder), environment=seeded)
    for package in [folder / name for name in SOURCELESS if (folder / name).is_dir()]:
        _python("-m", "compileall", "-b", *options, str(package), environment=seeded)
        for path in [*package.rglob("*.py"), *package.rglob("__pycache__")]:
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def _python(*arguments: str, environment: dict[str, str] | None = None) -> None:
    """Run the Python whose minor version is the functions'."""
    done = subprocess.run(
        [interpreter(), *arguments],
        env=environment or {},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        said = (done.stderr or done.stdout).strip()[-2000:]
        raise StagingError(
            f"python ended with {done.returncode}: {said}", "this is a mistake of ours"
        )


def interpreter() -> str:
    """A Python of the functions' minor version; `StagingError` when there is none."""
    if sys.version_info[:2] == PYTHON:
        return sys.executable
    name = f"python{PYTHON[0]}.{PYTHON[1]}"
    found = shutil.which(name)
    if not found:
        ours = ".".join(map(str, sys.version_info[:2]))
        raise StagingError(
            f"the functions run on Python {PYTHON[0]}.{PYTHON[1]}, and .venv has {ours}: its byte"
            " code does not fit",
            f"install {name}",
        )
    return found
