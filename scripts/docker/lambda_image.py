"""Builds a base image like Lambda's for Python, of Debian's Python and AWS's runtime client, without a
registry of images.
"""

from __future__ import annotations

from pathlib import Path

from scripts.docker.daemon import Docker
from scripts.docker.debian import pack_debian
from scripts.docker.shell import ROOT
from scripts.staging.interpreter import DEBIAN, NAME, PACKAGES
from scripts.staging.packages import install_tool

IMAGE = f"lambda-check:{NAME}"
_ROOTFS = f"lambda-check-rootfs:{DEBIAN}"
_BOOTSTRAP = f"""#!/bin/sh
# The path as Lambda sets it: the function's own code, then layers, then the runtime.
export PYTHONPATH="$LAMBDA_TASK_ROOT:/opt/python/lib/{NAME}/site-packages:/opt/python:/var/runtime"
cd "$LAMBDA_TASK_ROOT"
exec python3 -m awslambdaric "${{_HANDLER:-$1}}"
"""
_DOCKERFILE = f"""FROM {_ROOTFS}
COPY ric/ /var/runtime/
COPY bootstrap /var/runtime/bootstrap
ENV LAMBDA_TASK_ROOT=/var/task LAMBDA_RUNTIME_DIR=/var/runtime TZ=:UTC LANG=C.UTF-8
RUN mkdir -p /var/task /var/rapid /opt && ln -sf {NAME} /usr/bin/python3
WORKDIR /var/task
"""


def build_image(docker: Docker, folder: Path) -> str:
    """Build the image, with what it is made of in `folder`; return its size as Docker writes it."""
    context = folder / "lambda-image"
    context.mkdir()
    install_tool(ROOT, "ric", context / "ric")
    (context / "bootstrap").write_text(_BOOTSTRAP)
    (context / "bootstrap").chmod(0o755)
    (context / "Dockerfile").write_text(_DOCKERFILE)
    docker.run("import", pack_debian(folder, docker.environment["PATH"], PACKAGES), _ROOTFS)
    docker.run("build", "--quiet", "--network", "none", "--tag", IMAGE, context)
    return docker.run("images", "--format", "{{.Size}}", IMAGE).strip()
