"""A Docker daemon of its own: its programs, its folder, its bridge and its socket are nobody
else's, and go when the block ends.
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

from scripts.docker.shell import daemon, run

GATEWAY = "172.29.77.1"
"""Where containers find this machine; nothing else of it can be reached, and nothing beyond."""
_BRIDGE = "lambda-check"
_PACKAGES = ("docker.io", "containerd", "runc", "mmdebstrap")
_PATIENCE = 60.0


@dataclass(frozen=True, slots=True)
class Docker:
    """A running daemon and the environment that its clients need."""

    environment: dict[str, str]

    def run(self, *arguments: str | Path) -> str:
        """Run `docker` and return what it prints."""
        return run("docker", *arguments, environment=self.environment)


def programs(folder: Path) -> str:
    """A search path with Debian's programs unpacked into `folder`: nothing is installed on this
    machine.
    """
    packages = folder / "packages"
    packages.mkdir()
    run("apt-get", "--quiet", "download", *_PACKAGES, folder=packages)
    for package in packages.glob("*.deb"):
        run("dpkg", "--extract", package, folder / "programs")
        package.unlink()
    return f"{folder}/programs/usr/sbin:{folder}/programs/usr/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@contextmanager
def started(folder: Path, path: str) -> Iterator[Docker]:
    """A daemon that answers. It touches no firewall rule and no setting of the kernel."""
    socket = f"unix://{folder}/docker.sock"
    environment = {"PATH": path, "DOCKER_HOST": socket, "HOME": str(folder), "DOCKER_BUILDKIT": "0"}
    places = (
        "--data-root",
        folder / "root",
        "--exec-root",
        folder / "exec",
        "--pidfile",
        folder / "dockerd.pid",
        "--host",
        socket,
    )
    alone = ("--iptables=false", "--ip6tables=false", "--ip-masq=false", "--ip-forward=false")
    docker = Docker(environment)
    with _bridge():
        command = ("dockerd", *places, *alone, "--bridge", _BRIDGE, "--storage-driver", "overlay2")
        with daemon(
            [shutil.which("dockerd", path=path) or "dockerd", *command[1:]],
            environment,
            folder / "dockerd.log",
        ) as process:
            _await(docker, process, folder / "dockerd.log")
            try:
                yield docker
            finally:
                for container in docker.run("ps", "--all", "--quiet").split():
                    docker.run("rm", "--force", container)


@contextmanager
def _bridge() -> Iterator[None]:
    subprocess.run(
        ["ip", "link", "delete", _BRIDGE], capture_output=True, check=False
    )  # one that a killed check left
    run("ip", "link", "add", "name", _BRIDGE, "type", "bridge")
    try:
        run("ip", "address", "add", f"{GATEWAY}/24", "dev", _BRIDGE)
        run("ip", "link", "set", _BRIDGE, "up")
        yield
    finally:
        run("ip", "link", "delete", _BRIDGE)


def _await(docker: Docker, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + _PATIENCE
    while subprocess.run(
        ["docker", "info"], env=docker.environment, capture_output=True, check=False
    ).returncode:
        if process.poll() is not None or time.monotonic() > end:
            sys.exit(f"error: dockerd does not start\n{log.read_text(errors='replace')[-4000:]}")
        time.sleep(0.2)
