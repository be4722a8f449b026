"""Runs a Docker daemon with programs, a folder, a bridge and a socket of its own, all of which are
removed at the end.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from scripts.docker.shell import run, run_daemon

GATEWAY = "172.29.77.1"
"""The address of this machine for the containers, which can reach nothing else."""
_BRIDGE = "lambda-check"
_PACKAGES = ("docker.io", "containerd", "runc", "mmdebstrap")
_PATIENCE = 60.0


@dataclass(frozen=True, slots=True)
class Docker:
    """A running daemon and the environment that its clients need."""

    environment: dict[str, str]

    def run(self, *arguments: str | Path) -> str:
        """Run `docker` and return its output."""
        return run("docker", *arguments, environment=self.environment)


def unpack_programs(folder: Path) -> str:
    """Unpack Debian's programs into `folder`, so that nothing is installed on this machine; return a
    search path with them.
    """
    packages = folder / "packages"
    packages.mkdir()
    run("apt-get", "--quiet", "download", *_PACKAGES, folder=packages)
    for package in packages.glob("*.deb"):
        run("dpkg", "--extract", package, folder / "programs")
        package.unlink()
    return f"{folder}/programs/usr/sbin:{folder}/programs/usr/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@contextmanager
def run_docker(folder: Path, path: str) -> Iterator[Docker]:
    """Run a daemon; yield it when it answers. It changes no firewall rule and no setting of the
    kernel.
    """
    socket = f"unix://{folder}/docker.sock"
    environment = {"PATH": path, "DOCKER_HOST": socket, "HOME": str(folder), "DOCKER_BUILDKIT": "0"}
    command = [
        shutil.which("dockerd", path=path) or "dockerd",
        f"--data-root={folder / 'root'}",
        f"--exec-root={folder / 'exec'}",
        f"--pidfile={folder / 'dockerd.pid'}",
        f"--host={socket}",
        "--iptables=false",
        "--ip6tables=false",
        "--ip-masq=false",
        "--ip-forward=false",
        f"--bridge={_BRIDGE}",
        "--storage-driver=overlay2",
    ]
    docker = Docker(environment)
    log = folder / "dockerd.log"
    with _add_bridge(), run_daemon(command, environment, log) as process:
        end = time.monotonic() + _PATIENCE
        while subprocess.run(
            ["docker", "info"], env=environment, capture_output=True, check=False
        ).returncode:
            if process.poll() is not None or time.monotonic() > end:
                output = log.read_text(errors="replace")[-4000:]
                sys.exit(f"error: dockerd does not start\n{output}")
            time.sleep(0.2)
        try:
            yield docker
        finally:
            for container in docker.run("ps", "--all", "--quiet").split():
                docker.run("rm", "--force", container)


@contextmanager
def _add_bridge() -> Iterator[None]:
    # A check that was killed may have left one.
    subprocess.run(["ip", "link", "delete", _BRIDGE], capture_output=True, check=False)
    run("ip", "link", "add", "name", _BRIDGE, "type", "bridge")
    try:
        run("ip", "address", "add", f"{GATEWAY}/24", "dev", _BRIDGE)
        run("ip", "link", "set", _BRIDGE, "up")
        yield
    finally:
        run("ip", "link", "delete", _BRIDGE)
