"""Installs the packages that functions depend on, as uv.lock pins them, without the parts that only
people and other machines need.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from email.parser import HeaderParser
from gzip import open as unzipped
from pathlib import Path
from struct import Struct
from threading import Lock
from typing import Any

from scripts.staging.contents import PLATFORM, PYTHON, SERVICES, USED, Stage, StagingError

_UV = ".venv/uv/bin/uv"
_LEFT_OUT = (
    "**/tests",
    "**/*.pyi",
    "markupsafe/*.c",
    "**/py.typed",
    "bin",
    ".lock",
    "fastapi/.agents",
    "jsonschema/benchmarks",
    "anyio/_backends/_trio.py",
    "boto3/data",
    "boto3/examples",
    "dateutil/zoneinfo/*.gz",
    "pydantic/mypy.py",
    "urllib3/contrib/emscripten",
    "pydantic/v1",  # FastAPI imports it where it is, which takes 20 ms of a cold start
)
_ONLY = {
    "wasmtime": ("linux-x86_64",),
}
_ELF = b"\x7fELF\x02\x01"
_TABLE_START = Struct("<Q")
_TABLE_SIZE = Struct("<HH")
_SEGMENT = Struct("<8xQ16xQ")
"""Where a segment begins, and its length in the file."""
_DATA = ("_retry.json", "endpoints.json", "partitions.json", "sdk-default-configuration.json")
_COMMANDS = ("console_scripts", "gui_scripts", "pytest11")
_SECTION = re.compile(r"^\[(.+)\]$", re.MULTILINE)
_HEADERS = ("Metadata-Version", "Name", "Version", "License-Expression")
_UNREAD = ("examples-1.json", "waiters-2.json")


class Packages:
    """The distributions of all stages, installed once, in the new folder `folder`; each stage gets
    copies of its own. `root` is the checkout with its uv.lock.
    """

    def __init__(self, stages: Sequence[Stage], root: Path, folder: Path) -> None:
        self._stages = stages
        self._root = root
        self._folder = folder / "packages"
        self._pins = folder / "pins.txt"
        self._lock = Lock()
        self._names: dict[str, set[str]] = {}

    def copy(self, stage: Stage, folder: Path) -> None:
        """Copy the stage's distributions into `folder`, with what they depend on."""
        with self._lock:
            if not self._names:
                self._names = self._install()
        for distribution in self._resolve(stage):
            for name in self._names[distribution]:
                if (self._folder / name).is_dir():
                    shutil.copytree(self._folder / name, folder / name)
                elif (self._folder / name).is_file():
                    shutil.copyfile(self._folder / name, folder / name)
        if not stage.invokes:
            _remove(folder / "botocore" / "data" / "lambda")

    def _install(self) -> dict[str, set[str]]:
        """Install everything and remove what no stage needs; return the names of the folders and
        files that each distribution brought.
        """
        _run_uv(
            self._root,
            "export",
            "--frozen",
            "--no-default-groups",
            "--no-emit-project",
            "--no-hashes",
            f"--output-file={self._pins}",
        )
        _run_uv(
            self._root,
            "pip",
            "install",
            f"--target={self._folder}",
            "--link-mode=copy",
            *self._choose_wheels(),
            *sorted({name for stage in self._stages for name in stage.distributions}),
        )
        names = {
            _normalize(about.name.partition("-")[0]): _list_names(about)
            for about in self._folder.glob("*.dist-info")
        }
        for path in [found for pattern in _LEFT_OUT for found in self._folder.glob(pattern)]:
            _remove(path)
        for package, kept in _ONLY.items():
            for path in (self._folder / package).glob("*"):
                if path.name not in kept:
                    _remove(path)
        if (self._folder / "wasmtime").is_dir():
            (self._folder / "wasmtime" / "__init__.py").write_text(
                '"""The library alone: the sandbox drives it without the bindings."""\n'
            )
        for path in self._folder.rglob("*.so"):
            path.write_bytes(_strip_symbols(path.read_bytes()))
        _prune_botocore(self._folder / "botocore" / "data")
        for about in self._folder.glob("*.dist-info"):
            _shorten_metadata(about)
        return names

    def _resolve(self, stage: Stage) -> list[str]:
        """Return the names of the stage's distributions and of all that they depend on."""
        wanted = self._folder.with_name(f"{stage.name}.in")
        found = self._folder.with_name(f"{stage.name}.txt")
        wanted.write_text("\n".join(stage.distributions))
        _run_uv(
            self._root,
            "pip",
            "compile",
            "--no-header",
            "--no-annotate",
            f"--output-file={found}",
            *self._choose_wheels(),
            str(wanted),
        )
        names = [_normalize(line.partition("==")[0]) for line in found.read_text().splitlines()]
        return [name for name in names if name not in stage.spare]

    def _choose_wheels(self) -> Iterator[str]:
        """Yield the options that decide on the versions of packages."""
        yield f"--constraint={self._pins}"
        yield "--only-binary=:all:"
        yield f"--python-platform={PLATFORM}"
        yield f"--python-version={'.'.join(map(str, PYTHON))}"


def install_tool(root: Path, name: str, folder: Path) -> None:
    """Install a tool of `scripts/tools` into the new folder `folder`, for the functions' Python: as
    `ric`, AWS's client of the runtime API, which Lambda's own image has.
    """
    _install_for_functions(root, folder, root / "scripts" / "tools" / f"{name}.txt")


def install_test_packages(root: Path, folder: Path) -> None:
    """Install what the tests import, as uv.lock pins it, into the new folder `folder`, for the
    functions' Python.
    """
    pins = folder.with_name(f"{folder.name}.txt")
    _run_uv(
        root,
        "export",
        "--frozen",
        "--no-default-groups",
        "--group=dev",
        "--no-emit-project",
        "--no-hashes",
        f"--output-file={pins}",
    )
    _install_for_functions(root, folder, pins)


def _install_for_functions(root: Path, folder: Path, pins: Path) -> None:
    _run_uv(
        root,
        "pip",
        "install",
        f"--target={folder}",
        "--link-mode=copy",
        "--only-binary=:all:",
        f"--python-platform={PLATFORM}",
        f"--python-version={'.'.join(map(str, PYTHON))}",
        f"--requirements={pins}",
    )


def _normalize(name: str) -> str:
    """Return a distribution's name as uv writes it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _list_names(about: Path) -> set[str]:
    """Return the names of the folders and files beside `about` that its distribution brought."""
    lines = (about / "RECORD").read_text(encoding="utf-8").splitlines()
    return {line.partition(",")[0].partition("/")[0] for line in lines} - {"..", "bin"}


def _run_uv(root: Path, *arguments: str) -> None:
    done = subprocess.run(
        [root / _UV, *arguments, "--quiet"], cwd=root, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise StagingError(
            f"the packages cannot be fetched: {done.stderr.strip()[-2000:]}",
            "check the network, or try again",
        )


def _strip_symbols(library: bytes) -> bytes:
    """Return a shared library (ELF of 64 bits) without what follows its last segment: symbols and
    debugging information, a sixth of a stage. The loader reads segments alone.
    """
    if not library.startswith(_ELF):
        return library
    (start,) = _TABLE_START.unpack_from(library, 32)
    size, count = _TABLE_SIZE.unpack_from(library, 54)
    ends = []
    for place in range(start, start + size * count, size):
        offset, length = _SEGMENT.unpack_from(library, place)
        ends.append(offset + length)
    stripped = bytearray(library[: max(ends)])
    # the header names no table of sections any more
    stripped[40:48] = bytes(8)
    stripped[58:64] = bytes(6)
    return bytes(stripped)


def _prune_botocore(data: Path) -> None:
    """Keep the services in use, and their descriptions without documentation: parsing that takes
    most of a cold start.
    """
    for path in list(data.iterdir()):
        if path.name not in (*SERVICES, *_DATA):
            _remove(path)
    for path in [*data.rglob("*.json.gz"), *data.rglob("*.json")]:
        if path.name in _UNREAD:
            path.unlink()
        elif path.suffix == ".gz":
            with unzipped(path) as file:
                _write_json(path.with_suffix(""), _remove_documentation(json.load(file)))
            path.unlink()
        else:
            _write_json(path, _remove_documentation(json.loads(path.read_bytes())))
    for service, operations in USED.items():
        for path in (data / service).rglob("service-2.json"):
            _write_json(path, _select_operations(json.loads(path.read_bytes()), operations))
    path = data / "endpoints.json"
    endpoints = json.loads(path.read_bytes())
    for partition in endpoints["partitions"]:
        services = partition["services"].items()
        partition["services"] = {name: inner for name, inner in services if name in SERVICES}
    _write_json(path, endpoints)


def _write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, separators=(",", ":")), encoding="utf-8")


def _remove_documentation(value: object) -> object:
    """Return a description with empty documentation: some of the fields have to be there."""
    if isinstance(value, list):
        return [_remove_documentation(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    cleaned: dict[str, object] = {}
    for name, inner in value.items():
        if name == "documentation" and isinstance(inner, str):
            cleaned[name] = ""
        else:
            cleaned[name] = _remove_documentation(inner)
    return cleaned


def _select_operations(service: dict[str, Any], operations: frozenset[str]) -> dict[str, Any]:
    """Return the description of a service with these operations alone, and the shapes that they
    refer to.
    """
    service["operations"] = {
        name: inner for name, inner in service["operations"].items() if name in operations
    }
    new = set(_find_shapes(service["operations"]))
    found: set[str] = set()
    while new:
        found |= new
        new = {name for shape in new for name in _find_shapes(service["shapes"][shape])} - found
    service["shapes"] = {name: inner for name, inner in service["shapes"].items() if name in found}
    return service


def _find_shapes(value: object) -> Iterator[str]:
    """Yield the names of the shapes that a description refers to."""
    if isinstance(value, dict):
        if isinstance(value.get("shape"), str):
            yield value["shape"]
        for inner in value.values():
            yield from _find_shapes(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _find_shapes(inner)


def _shorten_metadata(about: Path) -> None:
    """Keep a distribution's licences, and its name and version, by which scanners look for known
    vulnerabilities.
    """
    for path in sorted(about.rglob("*")):
        if not path.is_file():
            continue
        if path.name == "METADATA":
            message = HeaderParser().parsestr(path.read_text(encoding="utf-8"))
            headers = [f"{name}: {message[name]}\n" for name in _HEADERS if name in message]
            path.write_text("".join(headers), encoding="utf-8")
            continue
        is_licence = (
            path.name.upper().startswith(("LICEN", "NOTICE", "COPYING", "AUTHORS"))
            or "licenses" in path.parts[-3:-1]
        )
        # a package may look its own parts up among its entry points (OpenTelemetry does)
        has_plugins = False
        if path.name == "entry_points.txt":
            groups = _SECTION.findall(path.read_text(encoding="utf-8"))
            has_plugins = any(group not in _COMMANDS for group in groups)
        if not is_licence and not has_plugins:
            path.unlink()


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
