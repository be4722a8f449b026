"""Checks what runs in containers, in the parts that are named (`scripts/check-docker`)."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from typing import NoReturn

from scripts.docker.compose import build_valkey, check_compose
from scripts.docker.daemon import Docker, run_docker
from scripts.docker.debian import unpack_programs
from scripts.docker.functions import check_functions
from scripts.docker.product import build_product, check_product, check_setup
from scripts.docker.shell import Progress, measure_folder
from scripts.staging.contents import StagingError

PARTS = ("invoke", "image", "setup", "compose")


def main() -> None:
    """Check the parts in a new folder, which is removed at the end."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    parts = sys.argv[1:] or PARTS
    progress = Progress()
    folder = Path(tempfile.mkdtemp(prefix="docker-check-"))
    try:
        with progress.step("unpacking Docker and mmdebstrap"):
            path = unpack_programs(folder)
        progress.report(f"Docker and mmdebstrap are unpacked: {measure_folder(folder)}")
        with run_docker(folder, path) as docker:
            check_parts(parts, docker, folder, progress)
    except KeyboardInterrupt:
        print("interrupted: the daemon, its bridge and its folder are gone", file=sys.stderr)
        sys.exit(130)
    except StagingError as problem:
        sys.exit(f"error: {problem.args[0]}\nhelp: {problem.args[1]}")
    finally:
        shutil.rmtree(folder)


def check_parts(
    parts: tuple[str, ...] | list[str], docker: Docker, folder: Path, progress: Progress
) -> None:
    """Check the parts one after another; exit with an error at the first that fails."""
    if "invoke" in parts:
        faults = check_functions(docker, folder, progress)
        if faults:
            sys.exit(f"error: not as expected: {faults}")
    if {"image", "setup", "compose"}.intersection(parts):
        build_product(docker, folder, progress)
    if "image" in parts:
        with progress.step("running the image as a hardened server"):
            outcome = check_product(docker)
        progress.report(f"it is {outcome}")
    if "setup" in parts:
        with progress.step("running the image as a service of setup"):
            outcome = check_setup(docker, folder)
        progress.report(f"as a service of setup it is {outcome}")
    if "compose" in parts:
        with progress.step("running docker-compose.yml"):
            build_valkey(docker, folder)
            outcome = check_compose(docker, folder)
        progress.report(f"with docker compose it is {outcome}")
    progress.report(f"passed: {', '.join(part for part in PARTS if part in parts)}")


def _interrupt(*_: object) -> NoReturn:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # a second signal must not disturb the cleaning up
    raise KeyboardInterrupt


if __name__ == "__main__":
    os.umask(0o022)
    main()
