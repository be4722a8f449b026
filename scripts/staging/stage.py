"""Makes one function's package: everything in its place, compiled, and with the same bytes whenever
its inputs are the same.
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
from scripts.staging.contents import PYTHON, SOURCELESS, TASK_ROOT, Stage, StagingError

_PACKAGES = ("functions", "sigil")
_SUFFIXES = (".py", ".wasm", ".json", ".js", ".css")
_COMPILE_NATIVE = """
import sys
sys.path.insert(0, sys.argv[1])
from sigil.compile.toolchain.native_code import compile_package
compile_package()
"""
_CHANGED = 315_619_200  # 1980-01-02: an archive's first year, the same time for every file


def make_stage(stage: Stage, root: Path, folder: Path) -> None:
    """Make the stage in the new folder `folder`, from the checkout `root`."""
    folder.mkdir(parents=True)
    packages.install(stage, root, folder)
    _copy_ours(stage, root, folder)
    if stage.runs:
        _compile_native(folder)
    _compile_byte_code(folder)
    for path in folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    for path in (folder, *folder.rglob("*")):
        os.utime(path, (_CHANGED, _CHANGED))


def list_inputs(root: Path) -> Iterator[Path]:
    """Yield the files that a stage is made from."""
    yield from (
        *(root / name for name in ("LICENSE", "NOTICE", "pyproject.toml", "uv.lock")),
        *sorted((root / "scripts" / "staging").glob("*.py")),
    )
    for package in _PACKAGES:
        yield from (
            path for path in sorted((root / package).rglob("*")) if path.suffix in _SUFFIXES
        )
    yield from (path for path in sorted((root / "capabilities").rglob("*")) if path.is_file())


def _copy_ours(stage: Stage, root: Path, folder: Path) -> None:
    """Copy our own packages, capabilities and licences."""
    for package in _PACKAGES:
        for path in sorted((root / package).rglob("*")):
            name = path.relative_to(root).as_posix()
            is_left_out = any(name == out or name.startswith(f"{out}/") for out in stage.left_out)
            if path.suffix in _SUFFIXES and not is_left_out:
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


def _compile_native(folder: Path) -> None:
    """Compile the engine and the library for any x86-64 with the stage's own code, so that the
    result is the code that a function looks for.
    """
    if sys.platform != "linux" or os.uname().machine != "x86_64":
        print(
            "note: not on x86-64 Linux, so each function compiles the engine when it starts, in"
            " about a second",
            file=sys.stderr,
        )
        return
    _run_python("-I", "-S", "-B", "-c", _COMPILE_NATIVE, str(folder))
    if not list(folder.glob("sigil/sandbox/shipped/*.code")):
        raise StagingError("the engine's native code was not made", "free some space and try again")


def _compile_byte_code(folder: Path) -> None:
    """Write byte code that is never compared with its source, because the folder is read-only where
    it runs: byte code could not be written there.
    """
    options = [
        "-q",
        "-f",
        *("-s", str(folder)),
        *("-p", TASK_ROOT),
        "--invalidation-mode=unchecked-hash",
    ]
    # The order of sets in byte code follows from their hashes.
    environment = {"PYTHONHASHSEED": "0"}
    _run_python("-m", "compileall", *options, str(folder), environment=environment)
    for package in [folder / name for name in SOURCELESS if (folder / name).is_dir()]:
        _run_python("-m", "compileall", "-b", *options, str(package), environment=environment)
        for path in [*package.rglob("*.py"), *package.rglob("__pycache__")]:
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def _run_python(*arguments: str, environment: dict[str, str] | None = None) -> None:
    """Run a Python of the functions' minor version."""
    done = subprocess.run(
        [find_interpreter(), *arguments],
        env=environment or {},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        output = (done.stderr or done.stdout).strip()[-2000:]
        raise StagingError(
            f"python ended with {done.returncode}: {output}", "this is a fault of this script"
        )


def find_interpreter() -> str:
    """Return a Python of the functions' minor version; `StagingError` when there is none."""
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
