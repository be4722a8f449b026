"""An environment of its own with this program in it, and wheels of it with other versions."""

from __future__ import annotations

import ensurepip
import os
import struct
import sys
import zipfile
from collections.abc import Mapping
from importlib.metadata import distribution
from importlib.util import cache_from_source
from pathlib import Path

from tests.project.tree import ROOT

SITE = Path("lib") / f"python3.{sys.version_info.minor}" / "site-packages"
NONE = "-none-any"


def make_environment(folder: Path, *paths: Path) -> Path:
    """Make a virtual environment whose Python also finds what is in `paths`; return its packages'
    folder.
    """
    site = folder / SITE
    site.mkdir(parents=True)
    (folder / "bin").mkdir()
    base = Path(sys.base_prefix) / "bin"
    (folder / "bin" / "python").symlink_to(base / f"python3.{sys.version_info.minor}")
    (folder / "pyvenv.cfg").write_text(f"home = {base}\ninclude-system-site-packages = false\n")
    (site / "others.pth").write_text("".join(f"{path}\n" for path in paths))
    return site


def find_pip() -> Path:
    """Return where the pip of this machine's Python is, or the wheel of it that comes with Python."""
    installed = Path(sys.base_prefix) / SITE
    if (installed / "pip").is_dir():
        return installed
    (found,) = (Path(ensurepip.__file__).parent / "_bundled").glob("pip-*.whl")
    return found


def make_wheel(folder: Path, version: str, changed: Mapping[str, str] | None = None) -> Path:
    """Write a wheel of this tree with another version number and some other modules."""
    info = f"uncaged-{version}.dist-info"
    wheel = folder / f"uncaged-{version}-py3{NONE}.whl"
    installed = distribution("uncaged")
    metadata = installed.read_text("METADATA") or ""
    names = []
    with zipfile.ZipFile(wheel, "w") as archive:
        for source, target in (
            ("functions", "functions"),
            ("sigil", "sigil"),
            ("capabilities", "sigil/capabilities"),
        ):
            for path, inner, files in os.walk(ROOT / source):
                inner[:] = [name for name in inner if name != "__pycache__"]
                for name in files:
                    found = Path(path) / name
                    place = f"{target}/{found.relative_to(ROOT / source)}"
                    if place in (changed or {}):
                        continue
                    archive.write(found, place)
                    names.append(place)
                    code = read_code(found)
                    if code:
                        cached = cache_from_source(place)
                        archive.writestr(cached, code)
                        names.append(cached)
        texts = {
            **(changed or {}),
            f"{info}/METADATA": metadata.replace(
                f"\nVersion: {installed.version}\n", f"\nVersion: {version}\n"
            ),
            f"{info}/WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3{NONE}\n",
            f"{info}/entry_points.txt": "[console_scripts]\nuncaged = functions.cli:main\n",
        }
        for place, text in texts.items():
            archive.writestr(place, text)
        names += [*texts, f"{info}/RECORD"]
        archive.writestr(f"{info}/RECORD", "".join(f"{name},,\n" for name in names))
    return wheel


def read_code(source: Path) -> bytes:
    """Return a module's compiled code, to be used without a look at its source; empty where it was
    not compiled yet. To compile everything anew takes seconds.
    """
    cached = Path(cache_from_source(source))
    if source.suffix != ".py" or not cached.is_file():
        return b""
    code = cached.read_bytes()
    facts = source.stat()
    stamp = struct.pack("<II", int(facts.st_mtime), facts.st_size & 0xFFFFFFFF)
    if code[4:16] != bytes(4) + stamp:
        return b""
    unchecked = struct.pack("<I", 1) + bytes(8)
    return code[:4] + unchecked + code[16:]


def unpack_wheel(wheel: Path, environment: Path) -> None:
    """Install a wheel without an installer."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(environment / SITE)
    script = environment / "bin" / "uncaged"
    python = environment / "bin" / "python"
    # as pip and uv write it for a path with a space
    begin = f"#!/bin/sh\n'''exec' '{python}' \"$0\" \"$@\"\n' '''\n"
    script.write_text(f"{begin}from functions.cli import main\nmain()\n")
    script.chmod(0o755)
