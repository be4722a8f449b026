"""The packages that a function stands on, as uv.lock pins them, without what only people and other
machines need.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from email.parser import HeaderParser
from gzip import open as unzipped
from pathlib import Path
from typing import Any

from scripts.staging.contents import PLATFORM, PYTHON, SERVICES, USED, Stage
from scripts.staging.trouble import StagingError

_UV = ".venv/uv/bin/uv"
_LEFT_OUT = (
    *(
        "**/tests",
        "**/*.pyi",
        "**/py.typed",
        "bin",
        ".lock",
        "fastapi/.agents",
        "jsonschema/benchmarks",
    ),
    *(
        "anyio/_backends/_trio.py",
        "boto3/data",
        "boto3/examples",
        "dateutil/zoneinfo/*.gz",
        "pydantic/mypy.py",
        "urllib3/contrib/emscripten",
    ),
    "pydantic/v1",  # FastAPI asks for it and does without: 20 ms of a cold start
)
_ONLY = {
    "wasmtime": ("linux-x86_64",),
    "snowballstemmer": ("__init__.py", "among.py", "basestemmer.py", "english_stemmer.py"),
}
_DATA = ("_retry.json", "endpoints.json", "partitions.json", "sdk-default-configuration.json")
_COMMANDS = ("console_scripts", "gui_scripts", "pytest11")
_SECTION = re.compile(r"^\[(.+)\]$", re.MULTILINE)
_UNREAD = ("examples-1.json", "waiters-2.json")


def install(stage: Stage, root: Path, folder: Path) -> None:
    """Put the stage's distributions into `folder`; `root` is the checkout with its uv.lock."""
    pins = folder.with_name(f"{folder.name}.pins")
    _uv(
        root,
        "export",
        "--frozen",
        "--no-default-groups",
        "--no-emit-project",
        "--no-hashes",
        "--output-file",
        str(pins),
    )
    place = (
        "--target",
        str(folder),
        "--constraint",
        str(pins),
        "--only-binary",
        ":all:",
        "--link-mode",
        "copy",
    )
    version = ".".join(map(str, PYTHON))
    _uv(
        root,
        "pip",
        "install",
        *place,
        "--python-platform",
        PLATFORM,
        "--python-version",
        version,
        *stage.distributions,
    )
    pins.unlink()
    _prune(folder)
    for name in stage.spare:
        for path in (folder / name, *folder.glob(f"{name}-*.dist-info")):
            _remove(path)
    _prune_botocore(folder / "botocore" / "data")
    for about in folder.glob("*.dist-info"):
        _shorten(about)


def _uv(root: Path, *arguments: str) -> None:
    done = subprocess.run(
        [root / _UV, *arguments, "--quiet"], cwd=root, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise StagingError(
            f"the packages cannot be fetched: {done.stderr.strip()[-2000:]}",
            "check the network, or try again",
        )


def _prune(folder: Path) -> None:
    for path in [found for pattern in _LEFT_OUT for found in folder.glob(pattern)]:
        _remove(path)
    for package, kept in _ONLY.items():
        for path in (folder / package).glob("*"):
            if path.name not in kept:
                _remove(path)
    if (folder / "wasmtime").is_dir():
        (folder / "wasmtime" / "__init__.py").write_text(
            '"""The library alone: the sandbox drives it without the bindings."""\n'
        )


def _prune_botocore(data: Path) -> None:
    """Keep the services in use, and of their descriptions what a machine reads: parsing the prose
    costs a cold start most of its time.
    """
    for path in list(data.iterdir()):
        if path.name not in (*SERVICES, *_DATA):
            _remove(path)
    for path in [*data.rglob("*.json.gz"), *data.rglob("*.json")]:
        if path.name in _UNREAD:
            path.unlink()
        elif path.suffix == ".gz":
            with unzipped(path) as file:
                _write(path.with_suffix(""), _without_prose(json.load(file)))
            path.unlink()
        else:
            _write(path, _without_prose(json.loads(path.read_bytes())))
    for service, operations in USED.items():
        for path in (data / service).rglob("service-2.json"):
            _write(path, _with_operations(json.loads(path.read_bytes()), operations))
    endpoints = data / "endpoints.json"
    _write(endpoints, _known_services(json.loads(endpoints.read_bytes())))


def _write(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, separators=(",", ":")), encoding="utf-8")


def _without_prose(value: Any) -> Any:
    """The same with empty documentation: a few of the texts must be there."""
    if isinstance(value, dict):
        return {
            name: ""
            if name == "documentation" and isinstance(inner, str)
            else _without_prose(inner)
            for name, inner in value.items()
        }
    return [_without_prose(inner) for inner in value] if isinstance(value, list) else value


def _with_operations(service: dict[str, Any], operations: frozenset[str]) -> dict[str, Any]:
    """The description of a service with these operations alone, and the shapes that they speak
    of.
    """
    service["operations"] = {
        name: inner for name, inner in service["operations"].items() if name in operations
    }
    wanted, found = set(_shapes(service["operations"])), set[str]()
    while wanted:
        found |= wanted
        wanted = {name for shape in wanted for name in _shapes(service["shapes"][shape])} - found
    service["shapes"] = {name: inner for name, inner in service["shapes"].items() if name in found}
    return service


def _shapes(value: Any) -> Iterator[str]:
    """The names of the shapes that a description refers to."""
    if isinstance(value, dict):
        if isinstance(value.get("shape"), str):
            yield value["shape"]
        for inner in value.values():
            yield from _shapes(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _shapes(inner)


def _known_services(endpoints: dict[str, Any]) -> dict[str, Any]:
    for partition in endpoints["partitions"]:
        partition["services"] = {
            name: inner for name, inner in partition["services"].items() if name in SERVICES
        }
    return endpoints


def _shorten(about: Path) -> None:
    """Of a distribution's description keep its licences, and its name and version for whoever scans
    the package for known faults.
    """
    for path in _files(about):
        if path.name == "METADATA":
            path.write_text(_headers(path.read_text(encoding="utf-8")), encoding="utf-8")
        elif not _is_licence(path) and not _is_read(path):
            path.unlink()


def _headers(text: str) -> str:
    message = HeaderParser().parsestr(text)
    kept = [
        f"{name}: {message[name]}"
        for name in ("Metadata-Version", "Name", "Version", "License-Expression")
        if name in message
    ]
    return "\n".join(kept) + "\n"


def _is_read(path: Path) -> bool:
    """Return whether a package looks its own parts up in it (OpenTelemetry does)."""
    return path.name == "entry_points.txt" and any(
        group not in _COMMANDS for group in _SECTION.findall(path.read_text(encoding="utf-8"))
    )


def _is_licence(path: Path) -> bool:
    return (
        path.name.upper().startswith(("LICEN", "NOTICE", "COPYING", "AUTHORS"))
        or "licenses" in path.parts[-3:-1]
    )


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file())


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
