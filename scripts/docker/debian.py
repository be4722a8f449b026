"""Makes minimal Debians as tar files for images, and unpacks programs of Debian packages, without
installing anything on this machine.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from scripts.docker.shell import ROOT, run
from scripts.staging.interpreter import DEBIAN, bootstrap_debian

KEPT = ROOT / "build" / "debian"
"""The folder of the minimal Debians that stay for the next run."""
_PROGRAMS = ("docker.io", "containerd", "runc", "tini", "mmdebstrap")
_PLUGIN = Path("usr/libexec/docker/cli-plugins/docker-compose")
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def unpack_programs(folder: Path) -> str:
    """Unpack Docker and mmdebstrap into `folder`; return a search path with them."""
    packages = folder / "packages"
    packages.mkdir()
    done = subprocess.run(
        ["apt-get", "--quiet", "download", *_PROGRAMS],
        cwd=packages,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(
            f"error: Debian's packages cannot be fetched: {done.stderr.strip()[-2000:]}\n"
            "help: run apt-get update, and check the network"
        )
    for package in packages.glob("*.deb"):
        run("dpkg", "--extract", package, folder / "programs")
        package.unlink()
    return f"{folder}/programs/usr/sbin:{folder}/programs/usr/bin:{_PATH}"


def unpack_compose(folder: Path, path: str) -> None:
    """Unpack the plugin `docker compose`, where a Docker client with the home `folder` finds it."""
    extracted = folder / "compose"
    # an older Debian has another program of this name
    run(
        "mmdebstrap",
        "--quiet",
        "--variant=extract",
        "--include=docker-compose",
        DEBIAN,
        extracted,
        environment={"PATH": path, "HOME": str(folder)},
    )
    plugin = folder / ".docker" / "cli-plugins" / _PLUGIN.name
    plugin.parent.mkdir(parents=True)
    (extracted / _PLUGIN).rename(plugin)


def pack_debian(folder: Path, path: str, packages: Sequence[str]) -> Path:
    """Return the tar file of a minimal Debian with these packages, made if it is not there yet; what
    is unfinished is in `folder`.
    """
    name = sha256(" ".join((DEBIAN, *sorted(packages))).encode()).hexdigest()[:12]
    kept = KEPT / f"{DEBIAN}-{name}.tar"
    if not kept.is_file():
        archive = folder / kept.name
        bootstrap_debian(packages, archive, {"PATH": path, "HOME": str(folder)})
        KEPT.mkdir(parents=True, exist_ok=True)
        partial = KEPT / f".{kept.name}.{os.getpid()}"
        run("mv", archive, partial)  # perhaps from another file system
        partial.rename(kept)
    return kept
