"""Builds the product's own image from its `Dockerfile` and a finished wheel, and runs it as
`docs/deploy.md` does.

Debian's Python stands in for the base image, as no registry of images is needed here.
"""

from __future__ import annotations

import re
import socket
import sys
import time
from pathlib import Path

from scripts.docker.daemon import Docker
from scripts.docker.debian import pack_debian
from scripts.docker.shell import ROOT, Progress, run

IMAGE = "uncaged-check"
QUESTION = ("chat", "--quiet", "encode hello world in base64")
ANSWER = "aGVsbG8gd29ybGQ="
_CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
_PACKAGES = ("python3-venv", "python-is-python3", "libstdc++6", "passwd")
_HARDENED = (
    "--read-only",
    "--tmpfs=/tmp",
    "--cap-drop=ALL",
    "--security-opt=no-new-privileges:true",
    "--stop-timeout=45",
)
_PATIENCE = 120.0


def build_product(docker: Docker, folder: Path, progress: Progress) -> None:
    """Build the product's image from a new wheel."""
    base = re.search(r"^FROM (\S+)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    if not base:
        sys.exit("error: the Dockerfile names no base image")
    with progress.step("building the wheel"):
        run(ROOT / "scripts" / "package")
    with progress.step("making a Debian for the image"):
        archive = pack_debian(folder, docker.environment["PATH"], _PACKAGES)
    context = folder / "base"
    context.mkdir()
    # the machine's own certificates, as its package index may need one of them
    (context / "certificates.crt").write_bytes(_CERTIFICATES.read_bytes())
    (context / "Dockerfile").write_text(
        f"FROM {IMAGE}-rootfs\nCOPY certificates.crt {_CERTIFICATES}\n"
        f"ENV SSL_CERT_FILE={_CERTIFICATES} PIP_CERT={_CERTIFICATES}\n"
    )
    docker.run("import", archive, f"{IMAGE}-rootfs")
    docker.run("build", "--quiet", "--tag", base[1], context)
    with progress.step("building the image of the Dockerfile"):
        # the bridge of this check reaches nothing; the index is asked from the machine's own network
        docker.run("build", "--quiet", "--network", "host", "--tag", IMAGE, ROOT)
    docker.run("tag", IMAGE, "uncaged")  # as setup and docker-compose.yml call it
    size = docker.run("images", "--format", "{{.Size}}", IMAGE).strip()
    progress.report(f"the product's image is {size}")


def check_product(docker: Docker) -> str:
    """Run the image as a hardened server, ask it, and end it; return how long each took."""
    begun = time.monotonic()
    server = docker.run("run", "--detach", "--volume", "uncaged:/data", *_HARDENED, IMAGE).strip()
    wait_until_healthy(docker, server)
    healthy = time.monotonic() - begun
    answer = docker.run("exec", server, "uncaged", *QUESTION)
    answered = time.monotonic() - begun
    docker.run("stop", server)
    ended = inspect_container(docker, server, "{{.State.ExitCode}}")
    if ANSWER not in answer or ended != "0":
        sys.exit(f"error: the container answers {answer!r}, and ends with {ended}")
    return (
        f"healthy after {healthy:.1f} s, {answer.split()[0]} after {answered:.1f} s, ended with 0"
    )


def check_setup(docker: Docker, folder: Path) -> str:
    """Let `uncaged setup` run the image as a service, ask inside and outside over the one data
    folder, and remove it; return how that went.
    """
    program = ROOT / ".venv" / "bin" / "uncaged"
    environment = {
        **docker.environment,
        "XDG_CONFIG_HOME": str(folder / "config"),
        "XDG_DATA_HOME": str(folder / "data"),
    }
    words = ("setup", "service", "--yes", "--service")
    run(program, "setup", "language", "--yes", "--language", "de", environment=environment)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])
    run(program, *words, "container", "--port", port, environment=environment)
    state = inspect_container(docker, "uncaged", "{{.State.Health.Status}}")
    inside = docker.run("exec", "uncaged", "uncaged", *QUESTION)
    outside = run(program, *QUESTION, environment=environment)
    # a later setup replaces the file, and the container that it restarts has the new one
    run(program, "setup", "language", "--yes", "--language", "zh", environment=environment)
    read = docker.run("exec", "uncaged", "cat", str(folder / "config/uncaged/uncaged.toml"))
    if 'LANGUAGE = "zh"' not in read:
        sys.exit(f"error: setup's container reads {read!r}")
    run(program, *words, "none", environment=environment)
    left = docker.run("ps", "--all", "--quiet", "--filter", "name=^uncaged$").strip()
    if (state, ANSWER in inside, ANSWER in outside, left) != ("healthy", True, True, ""):
        sys.exit(f"error: setup's container is {state}, answers {inside!r}; left: {left!r}")
    return f"{state}, answers inside and outside, and was removed"


def wait_until_healthy(docker: Docker, container: str) -> None:
    """Wait until a container's health check passes; exit with its log when it fails."""
    end = time.monotonic() + _PATIENCE
    while True:
        health = inspect_container(docker, container, "{{.State.Health.Status}}")
        if health == "healthy":
            return
        if health == "unhealthy" or time.monotonic() > end:
            sys.exit(f"error: the container is {health}\n{docker.run('logs', container)[-4000:]}")
        time.sleep(0.5)


def inspect_container(docker: Docker, container: str, form: str) -> str:
    """Return what `docker inspect` tells of a container in a form of its template language."""
    return docker.run("inspect", "--format", form, container).strip()
