"""Runs `docker-compose.yml` as it stands, with the product's image and Debian's Valkey in place of the
image that the file names.
"""

from __future__ import annotations

import re
import shutil
import sys
from http.client import HTTPConnection
from pathlib import Path

from scripts.docker.daemon import Docker
from scripts.docker.debian import pack_debian, unpack_compose
from scripts.docker.product import ANSWER, QUESTION, inspect_container
from scripts.docker.shell import ROOT

_FILE = ROOT / "docker-compose.yml"
_VALKEY_PACKAGES = ("valkey-server", "valkey-tools")
_VALKEY_DOCKERFILE = """FROM uncaged-check-valkey-rootfs
RUN mkdir -p /data && chown 999:999 /data
WORKDIR /data
"""
_OVERRIDE = """
services:
  uncaged:
    extra_hosts: ["valkey:{address}"]
  valkey:
    networks:
      back: {{ipv4_address: {address}}}
networks:
  back:
    ipam: {{config: [{{subnet: "{subnet}"}}]}}
"""
"""The names of a network need a firewall rule, which the daemon of this check may not make."""


def build_valkey(docker: Docker, folder: Path) -> None:
    """Build the image that the file names for Valkey, of Debian's packages."""
    named = re.search(r"^ +image: (valkey/\S+)$", _FILE.read_text(), re.MULTILINE)
    if not named:
        sys.exit("error: docker-compose.yml names no image of Valkey")
    context = folder / "valkey"
    context.mkdir()
    (context / "Dockerfile").write_text(_VALKEY_DOCKERFILE)
    archive = pack_debian(folder, docker.environment["PATH"], _VALKEY_PACKAGES)
    docker.run("import", archive, "uncaged-check-valkey-rootfs")
    docker.run("build", "--quiet", "--network", "none", "--tag", named[1], context)


def check_compose(docker: Docker, folder: Path) -> str:
    """Start both services, ask the agent, restart the store and end both; return how that went. The
    image `uncaged` is there.
    """
    unpack_compose(folder, docker.environment["PATH"])
    project = folder / "project"
    project.mkdir()
    shutil.copy(_FILE, project)
    (project / "uncaged.env").write_text("UNCAGED_TOKEN=a-token-of-this-check\n")
    network = docker.gateway.replace("172.29.", "172.30.").rpartition(".")[0]
    override = _OVERRIDE.format(address=f"{network}.250", subnet=f"{network}.240/28")
    (project / "docker-compose.override.yml").write_text(override)

    def compose(*words: str) -> str:
        return docker.run("compose", f"--project-directory={project}", *words).strip()

    polls = project / ".env"
    polls.write_text("POLL=1\n")
    if "--poll" not in compose("config"):
        sys.exit("error: with POLL=1 in .env, docker-compose.yml does not poll")
    polls.unlink()
    compose("up", "--detach", "--no-build", "--wait", "--wait-timeout=180")
    host, _, port = compose("port", "uncaged", "8000").partition(":")
    connection = HTTPConnection(host, int(port), timeout=10)
    connection.request("GET", "/health")
    health = connection.getresponse().status
    connection.close()
    answer = compose("exec", "-T", "uncaged", "uncaged", *QUESTION)
    stored = compose("exec", "-T", "valkey", "valkey-cli", "dbsize")
    compose("restart", "valkey")
    compose("up", "--detach", "--no-build", "--wait", "--wait-timeout=60")
    kept = compose("exec", "-T", "valkey", "valkey-cli", "dbsize")
    container = compose("ps", "--quiet", "uncaged")
    compose("stop")
    ended = inspect_container(docker, container, "{{.State.ExitCode}}")
    compose("down", "--volumes")
    if (health, ANSWER in answer, ended) != (200, True, "0"):
        sys.exit(f"error: compose's agent is {health}, answers {answer!r}, ends with {ended}")
    if int(kept) < int(stored) or int(stored) == 0:
        sys.exit(f"error: Valkey had {stored} keys, and {kept} after it was restarted")
    return f"healthy, answers, keeps {kept} keys when the store restarts, and ended with 0"
