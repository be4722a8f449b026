"""A base image such as Lambda's for Python: Debian's Python, AWS's runtime client, and nothing of a
registry.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from scripts.docker.daemon import Docker
from scripts.docker.shell import run, tool

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


def rootfs(folder: Path, path: str) -> Path:
    """A minimal Debian 12 with Python 3.11, as a tar file."""
    made = folder / "rootfs.tar"
    left_out = [f"--dpkgopt=path-exclude={bulk}" for bulk in _BULK]
    program = shutil.which("mmdebstrap", path=path) or "mmdebstrap"
    how = ("--quiet", "--variant=essential", f"--include={_PACKAGES}", *left_out)
    run(program, *how, "bookworm", made, environment={"PATH": path, "HOME": str(folder)})
    return made


def build(docker: Docker, folder: Path, base: Path) -> str:
    """The image; what it was made of is gone afterwards. Its size as Docker tells it."""
    context = folder / "image"
    context.mkdir()
    client = next(tool("ric").parent.glob("lib/python3*/site-packages"))
    shutil.copytree(
        client, context / "ric", ignore=shutil.ignore_patterns("__pycache__", "_virtualenv*")
    )
    (context / "bootstrap").write_text(_BOOTSTRAP)
    (context / "bootstrap").chmod(0o755)
    (context / "Dockerfile").write_text(_DOCKERFILE)
    docker.run("import", base, _ROOTFS)
    docker.run("build", "--quiet", "--network", "none", "--tag", IMAGE, context)
    return docker.run("images", "--format", "{{.Size}}", IMAGE).strip()
