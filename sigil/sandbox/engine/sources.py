"""Downloads the C sources of QuickJS-ng: the pinned sdist, checked by its hash, from the package
index that pip is set up for.

pip needs a package's metadata even when it only downloads, and would run the sdist's own build for
it, after fetching the tools for that. A substitute backend answers instead, so nothing of the sdist
is executed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
from hashlib import sha256
from pathlib import Path

VERSION = "0.17.0.2"
SHA256 = "43d2e48272208721a7aaea8e3f02d4b9318f12ef20cc4f5421b59d9a470706ef"

FILE = f"quickjs_ng-{VERSION}.tar.gz"
_FOLDER = f"quickjs_ng-{VERSION}/upstream-quickjs/"
_LARGEST = 4 << 20

_BACKEND = f"""
def prepare_metadata_for_build_wheel(folder, settings=None):
    import os
    name = "quickjs_ng-{VERSION}.dist-info"
    os.makedirs(os.path.join(folder, name))
    with open(os.path.join(folder, name, "METADATA"), "w") as file:
        file.write("Metadata-Version: 2.1\\nName: quickjs-ng\\nVersion: {VERSION}\\n")
    return name
"""
# pip passes its environment on to the backend, which is how the substitute is found; pip itself is
# started with -E and ignores it.
_PIP = (
    "import os, runpy, sys; os.environ['PYTHONPATH'] = sys.argv.pop(1); runpy.run_module('pip',"
    " run_name='__main__', alter_sys=True)"
)


class BuildError(Exception):
    """The engine cannot be built here; the message says what to do."""


def fetch_sdist(folder: Path) -> Path:
    """Return the path of the checked sdist in `folder`, after downloading it when it is not there.
    `BuildError` when that fails.
    """
    path = folder / FILE
    if not path.is_file() or _hash(path) != SHA256:
        with tempfile.TemporaryDirectory() as temporary:
            downloaded = _download(Path(temporary))
            folder.mkdir(parents=True, exist_ok=True)
            draft = path.with_suffix(f".{os.getpid()}")
            draft.write_bytes(downloaded.read_bytes())
            draft.replace(path)
    return path


def extract(archive: Path, folder: Path) -> None:
    """Extract the C sources and headers of QuickJS, and nothing else, flat into `folder`."""
    with tarfile.open(archive) as tar:
        for member in tar:
            name = member.name.removeprefix(_FOLDER)
            if member.name == _FOLDER + name and "/" not in name and name.endswith((".c", ".h")):
                content = tar.extractfile(member)
                if content is None or member.size > _LARGEST:
                    raise BuildError(f"{member.name} in the sdist is not a file of a likely size")
                (folder / name).write_bytes(content.read())


def _hash(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


def _download(folder: Path) -> Path:
    """Download the sdist with pip into `folder`; return its path, checked."""
    backend = folder / "backend"
    (backend / "setuptools").mkdir(parents=True)
    (backend / "setuptools" / "__init__.py").touch()
    (backend / "setuptools" / "build_meta.py").write_text(_BACKEND)
    requirements = folder / "requirements.txt"
    requirements.write_text(f"quickjs-ng=={VERSION} --hash=sha256:{SHA256}\n")
    command = [
        "download",
        "--no-deps",
        "--no-binary=:all:",
        "--no-build-isolation",
        "--require-hashes",
        "--no-input",
        "--quiet",
        "--disable-pip-version-check",
        f"--dest={folder}",
        f"--requirement={requirements}",
    ]
    run = subprocess.run(
        [_find_python_with_pip(folder), "-E", "-c", _PIP, str(backend), *command],
        capture_output=True,
        text=True,
        check=False,
    )
    path = folder / FILE
    if run.returncode or not path.is_file() or _hash(path) != SHA256:
        raise BuildError(
            f"quickjs-ng {VERSION} could not be downloaded with pip: is a package index"
            f" reachable?\n{run.stderr.strip()}"
        )
    return path


def _find_python_with_pip(folder: Path) -> str:
    """Return an interpreter that has pip: this one, the one that its virtual environment was made
    of, or that of a new environment.
    """
    interpreters = [sys.executable]
    base = str(getattr(sys, "_base_executable", "") or "")
    if base and base != sys.executable:
        interpreters.append(base)
    for python in interpreters:
        if _succeeds(python, "-E", "-c", "import pip"):
            return python
    environment = folder / "environment"
    if not any(_succeeds(each, "-m", "venv", str(environment)) for each in interpreters):
        raise BuildError(
            "no pip was found to download quickjs-ng with: install pip (Debian: python3-pip or"
            " python3-venv)"
        )
    return str(environment / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python"))


def _succeeds(*command: str) -> bool:
    return subprocess.run(command, capture_output=True, check=False).returncode == 0
