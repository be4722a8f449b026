"""Installs the packages that a function depends on, as uv.lock pins them, without the parts that
only people and other machines need.
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

from scripts.staging.contents import PLATFORM, PYTHON, SERVICES, USED, Stage, StagingError

_UV = ".venv/uv/bin/uv"
_LEFT_OUT = (
    "**/tests",
    "**/*.pyi",
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
    "snowballstemmer": ("__init__.py", "among.py", "basestemmer.py", "english_stemmer.py"),
}
_DATA = ("_retry.json", "endpoints.json", "partitions.json", "sdk-default-configuration.json")
_COMMANDS = ("console_scripts", "gui_scripts", "pytest11")
_SECTION = re.compile(r"^\[(.+)\]$", re.MULTILINE)
_HEADERS = ("Metadata-Version", "Name", "Version", "License-Expression")
_UNREAD = ("examples-1.json", "waiters-2.json")


def install(stage: Stage, root: Path, folder: Path) -> None:
    """Install the stage's distributions into `folder`; `root` is the checkout with its uv.lock."""
    pins = folder.with_name(f"{folder.name}.pins")
    _run_uv(
        root,
        "export",
        "--frozen",
        "--no-default-groups",
        "--no-emit-project",
        "--no-hashes",
        f"--output-file={pins}",
    )
    _run_uv(
        root,
        "pip",
        "install",
        f"--target={folder}",
        f"--constraint={pins}",
        "--only-binary=:all:",
        "--link-mode=copy",
        f"--python-platform={PLATFORM}",
        f"--python-version={'.'.join(map(str, PYTHON))}",
        *stage.distributions,
    )
    pins.unlink()
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
    for name in stage.spare:
        for path in (folder / name, *folder.glob(f"{name}-*.dist-info")):
            _remove(path)
    _prune_botocore(folder / "botocore" / "data")
    for about in folder.glob("*.dist-info"):
        _shorten_metadata(about)


def _run_uv(root: Path, *arguments: str) -> None:
    done = subprocess.run(
        [root / _UV, *arguments, "--quiet"], cwd=root, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise StagingError(
            f"the packages cannot be fetched: {done.stderr.strip()[-2000:]}",
            "check the network, or try again",
        )


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
