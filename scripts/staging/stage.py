"""Makes one function's package: everything in its place, compiled, and with the same bytes whenever
its inputs are the same.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from threading import Lock
from tomllib import loads

from scripts.staging.contents import PYTHON, SOURCELESS, TASK_ROOT, Stage, StagingError
from scripts.staging.interpreter import find_interpreter
from scripts.staging.packages import Packages

_PACKAGES = ("functions", "sigil")
_SUFFIXES = (".py", ".wasm", ".json", ".js", ".css", ".html", ".svg", ".index", ".schemas", ".ttf")
_FONTS = "shipped_fonts"
"""The folder of which everything is staged: what its fonts have, and their licence."""
_COMPILE_NATIVE = """
import sys
sys.path.insert(0, sys.argv[1])
from sigil.compile.toolchain.native_code import compile_package
compile_package()
"""
_CHANGED = 315_619_200  # 1980-01-02: an archive's first year, the same time for every file


class CompiledCode:
    """Code that was compiled for one stage and that others use as well: most of their files are the
    same. It is kept in the new folder `folder`.
    """

    def __init__(self, folder: Path) -> None:
        self._byte_code = folder / "byte"
        self._native = folder / "native"
        self._lock = Lock()
        self._byte_code.mkdir(parents=True)

    def add_native(self, stage: Path) -> None:
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
        shipped = stage / "sigil" / "sandbox" / "shipped"
        with self._lock:
            if self._native.is_dir():
                shutil.copytree(self._native, shipped)
                return
            _run_python("-I", "-S", "-B", "-c", _COMPILE_NATIVE, str(stage))
            if not list(shipped.glob("*.code")):
                raise StagingError(
                    "the engine's native code was not made", "free some space and try again"
                )
            shutil.copytree(shipped, self._native)

    def add_byte_code(self, stage: Path) -> None:
        """Write byte code that is never compared with its source, because the folder is read-only
        where it runs: byte code could not be written there.
        """
        kept = {path: self._byte_code / _name_source(path, stage) for path in stage.rglob("*.py")}
        with self._lock:
            new = [path for path, code in kept.items() if not code.is_file()]
            if new:
                _compile_byte_code(sorted(new), stage)
            for path in new:
                shutil.copyfile(_find_byte_code(path), kept[path])
        for path, code in kept.items():
            is_sourceless = path.relative_to(stage).parts[0] in SOURCELESS
            target = path.with_suffix(".pyc") if is_sourceless else _find_byte_code(path)
            _copy(code, target)
            if is_sourceless:
                path.unlink()
        for package in SOURCELESS:
            for folder in list((stage / package).rglob("__pycache__")):
                shutil.rmtree(folder)


def make_stage(
    stage: Stage, root: Path, folder: Path, packages: Packages, compiled: CompiledCode
) -> None:
    """Make the stage in the new folder `folder`, from the checkout `root`."""
    folder.mkdir(parents=True)
    packages.copy(stage, folder)
    _copy_ours(stage, root, folder)
    if stage.runs:
        compiled.add_native(folder)
    compiled.add_byte_code(folder)
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
        yield from filter(_is_code, sorted((root / package).rglob("*")))
    yield from (path for path in sorted((root / "capabilities").rglob("*")) if path.is_file())


def _is_code(path: Path) -> bool:
    return path.suffix in _SUFFIXES or (path.parent.name == _FONTS and path.is_file())


def _copy_ours(stage: Stage, root: Path, folder: Path) -> None:
    """Copy our own packages, capabilities and licences."""
    for package in _PACKAGES:
        for path in sorted((root / package).rglob("*")):
            name = path.relative_to(root).as_posix()
            if _is_code(path) and stage.takes(name):
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


def _name_source(path: Path, stage: Path) -> str:
    """Return the digest of a source and of its place, which its byte code contains."""
    name = path.relative_to(stage).as_posix().encode()
    return sha256(name + b"\0" + path.read_bytes()).hexdigest()


def _find_byte_code(path: Path) -> Path:
    """Return the place where Python looks for the byte code of a source."""
    return path.parent / "__pycache__" / f"{path.stem}.cpython-{PYTHON[0]}{PYTHON[1]}.pyc"


def _compile_byte_code(paths: list[Path], stage: Path) -> None:
    """Compile sources of a stage as they are called where the function runs."""
    _run_python(
        *("-m", "compileall", "-q", "-f"),
        *("-s", str(stage)),
        *("-p", TASK_ROOT),
        "--invalidation-mode=unchecked-hash",
        *("-i", "-"),
        # The order of sets in byte code follows from their hashes.
        environment={"PYTHONHASHSEED": "0"},
        lines=[str(path) for path in paths],
    )


def _run_python(
    *arguments: str, environment: dict[str, str] | None = None, lines: list[str] | None = None
) -> None:
    """Run a Python of the functions' minor version; it can read `lines`."""
    done = subprocess.run(
        [*find_interpreter(), *arguments],
        env={"PATH": os.defpath, **(environment or {})},
        input="\n".join(lines or []),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        output = (done.stderr or done.stdout).strip()[-2000:]
        raise StagingError(
            f"python ended with {done.returncode}: {output}", "this is a fault of this script"
        )
