"""A function's package made of links: to the parts of this checkout that its stage has, and to the
packages of this Python that the stage's distributions bring.

It is there at once, and lacks what the stage lacks; what only a real stage shows is proven by
test_stage.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement

from scripts.staging.contents import STAGES, Stage
from tests.servers.lambda_runtime import ROOT


def link_package(name: str, folder: Path) -> None:
    """Make the package of a function in the new folder `folder`."""
    (stage,) = (each for each in STAGES if each.name == name)
    folder.mkdir(parents=True)
    for found in _closure(stage):
        for path in _parts(found):
            _link(folder / path.name, path)
    about = distribution("uncaged")
    (folder / "uncaged-0.dist-info").mkdir()
    (folder / "uncaged-0.dist-info" / "METADATA").write_text(
        f"Metadata-Version: 2.4\nName: uncaged\nVersion: {about.version}\n", encoding="utf-8"
    )
    for package in ("functions", "sigil"):
        _link_ours(ROOT / package, folder / package, stage)
    if stage.runs:
        _link(folder / "sigil" / "capabilities", ROOT / "capabilities")


def _link_ours(source: Path, target: Path, stage: Stage) -> None:
    """Link a file or a folder of ours, or what of it is staged."""
    name = source.relative_to(ROOT).as_posix()
    inner = [part for part in (*stage.left_out, *stage.only) if part.startswith(f"{name}/")]
    if not inner:
        if stage.takes(name):
            _link(target, source)
        return
    target.mkdir()
    for path in source.iterdir():
        _link_ours(path, target / path.name, stage)


def _link(target: Path, source: Path) -> None:
    if not target.exists():  # several distributions may share a folder
        target.symlink_to(source, target_is_directory=source.is_dir())


def _closure(stage: Stage) -> Iterator[Distribution]:
    """Yield the distributions of a stage and all that they need, without the spare ones."""
    waiting, seen = [*stage.distributions], set(map(_normalize, stage.spare))
    while waiting:
        name = _normalize(waiting.pop())
        if name in seen:
            continue
        seen.add(name)
        found = distribution(name)
        yield found
        for text in found.requires or ():
            needed = Requirement(text)
            if needed.marker is None or needed.marker.evaluate({"extra": ""}):
                waiting.append(needed.name)


def _normalize(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@cache
def _names(name: str) -> frozenset[str]:
    """The names of the folders and files beside it that a distribution brought."""
    files = distribution(name).files or ()
    return frozenset(path.parts[0] for path in files) - {"..", "__pycache__"}


def _parts(found: Distribution) -> Iterator[Path]:
    for name in _names(found.name):
        yield Path(str(found.locate_file(name)))
