"""Runs a Docker daemon with programs, a folder, a bridge and a socket of its own, all of which are
removed at the end.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from scripts.docker.shell import run, run_daemon

_BRIDGES = 256
_PATIENCE = 60.0


@dataclass(frozen=True, slots=True)
class Docker:
    """A running daemon and the environment that its clients need.

    `gateway` is the address of this machine for the containers, which can reach nothing else.
    """

    environment: dict[str, str]
    gateway: str

    def run(self, *arguments: str | Path) -> str:
        """Run `docker` and return its output."""
        return run("docker", *arguments, environment=self.environment)


@contextmanager
def run_docker(folder: Path, path: str) -> Iterator[Docker]:
    """Run a daemon; yield it when it answers. It changes no firewall rule and no setting of the
    kernel.
    """
    address = f"unix://{folder}/docker.sock"
    environment = {
        "PATH": path,
        "DOCKER_HOST": address,
        "HOME": str(folder),
        "DOCKER_BUILDKIT": "0",
    }
    command = (
        # what it mounts ends with it
        "unshare",
        "--mount",
        shutil.which("dockerd", path=path) or "dockerd",
        f"--data-root={folder / 'root'}",
        f"--exec-root={folder / 'exec'}",
        f"--pidfile={folder / 'dockerd.pid'}",
        f"--host={address}",
        "--iptables=false",
        "--ip6tables=false",
        "--ip-masq=false",
        "--ip-forward=false",
        "--storage-driver=overlay2",
    )
    log = folder / "dockerd.log"
    with (
        _add_bridge() as bridge,
        run_daemon([*command, *bridge.options], environment, log) as process,
    ):
        docker = Docker(environment, bridge.gateway)
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
            docker.run("network", "prune", "--force")  # their bridges would stay


@dataclass(frozen=True, slots=True)
class _Bridge:
    """One of the bridges that checks may have, each with a network of its own."""

    number: int

    @property
    def name(self) -> str:
        return f"lambda-check{self.number}"

    @property
    def gateway(self) -> str:
        return f"172.29.{self.number}.1"

    @property
    def options(self) -> tuple[str, ...]:
        """Return the daemon's options for this bridge, and for the networks that it adds itself."""
        pool = f"base=172.30.{self.number}.0/24,size=28"
        return (f"--bridge={self.name}", f"--default-address-pool={pool}")

    def claim(self) -> socket.socket | None:
        """Return what holds the bridge for this process as long as it lives; None when another check
        holds it.
        """
        # An abstract name of a socket: it is nobody's file, and the kernel frees it with the process.
        held = socket.socket(socket.AF_UNIX)
        try:
            held.bind(f"\0{self.name}")
        except OSError:
            held.close()
            return None
        return held


@contextmanager
def _add_bridge() -> Iterator[_Bridge]:
    """Yield a bridge of this check's own, so that several may run at once."""
    for number in range(_BRIDGES):
        bridge = _Bridge(number)
        held = bridge.claim()
        if held:
            break
    else:
        sys.exit(f"error: {_BRIDGES} checks are running")
    with held:
        # A check that was killed may have left one.
        subprocess.run(["ip", "link", "delete", bridge.name], capture_output=True, check=False)
        run("ip", "link", "add", "name", bridge.name, "type", "bridge")
        try:
            run("ip", "address", "add", f"{bridge.gateway}/24", "dev", bridge.name)
            run("ip", "link", "set", bridge.name, "up")
            yield bridge
        finally:
            run("ip", "link", "delete", bridge.name)
