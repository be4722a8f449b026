"""Builds a base image like Lambda's for Python, of Debian's Python and AWS's runtime client, without a
registry of images.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from scripts.docker.daemon import Docker
from scripts.docker.shell import find_tool, run

IMAGE = "lambda-check:3.11"
_ROOTFS = "lambda-check-rootfs:bookworm"
_PACKAGES = "python3-minimal,python3.11-minimal,libpython3.11-stdlib,libstdc++6,libsqlite3-0,libffi8,ca-certificates"
_BULK = ("/usr/share/man/*", "/usr/share/locale/*", "/usr/share/doc/*")
_BOOTSTRAP = """#!/bin/sh
# The path as Lambda sets it: the function's own code, then layers, then the runtime.
export PYTHONPATH="$LAMBDA_TASK_ROOT:/opt/python/lib/python3.11/site-packages:/opt/python:/var/runtime"
cd "$LAMBDA_TASK_ROOT"
exec python3 -m awslambdaric "${_HANDLER:-$1}"
"""
_DOCKERFILE = f"""FROM {_ROOTFS}
COPY ric/ /var/runtime/
COPY bootstrap /var/runtime/bootstrap
ENV LAMBDA_TASK_ROOT=/var/task LAMBDA_RUNTIME_DIR=/var/runtime TZ=:UTC LANG=C.UTF-8
RUN mkdir -p /var/task /var/rapid /opt && ln -sf python3.11 /usr/bin/python3
WORKDIR /var/task
"""


def make_root_filesystem(folder: Path, path: str) -> Path:
    """Make a minimal Debian 12 with Python 3.11; return its tar file."""
    return pack_debian(folder, path, _PACKAGES)


def pack_debian(folder: Path, path: str, packages: str) -> Path:
    """Make a minimal Debian 12 with these packages; return its tar file."""
    archive = folder / "rootfs.tar"
    run(
        shutil.which("mmdebstrap", path=path) or "mmdebstrap",
        "--quiet",
        "--variant=essential",
        f"--include={packages}",
        *(f"--dpkgopt=path-exclude={pattern}" for pattern in _BULK),
        "bookworm",
        archive,
        environment={"PATH": path, "HOME": str(folder)},
    )
    return archive


def build_image(docker: Docker, folder: Path, base: Path) -> str:
    """Build the image from the tar file `base`; return its size as Docker writes it."""
    context = folder / "image"
    context.mkdir()
    client = next(find_tool("ric").parent.glob("lib/python3*/site-packages"))
    shutil.copytree(
        client, context / "ric", ignore=shutil.ignore_patterns("__pycache__", "_virtualenv*")
    )
    (context / "bootstrap").write_text(_BOOTSTRAP)
    (context / "bootstrap").chmod(0o755)
    (context / "Dockerfile").write_text(_DOCKERFILE)
    docker.run("import", base, _ROOTFS)
    docker.run("build", "--quiet", "--network", "none", "--tag", IMAGE, context)
    return docker.run("images", "--format", "{{.Size}}", IMAGE).strip()
