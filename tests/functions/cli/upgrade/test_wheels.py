"""The wheels of an upgrade, with a real pip and an index on loopback."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from functions.cli.upgrade.programs import find_pip, run_command
from functions.cli.upgrade.wheels import (
    download_wheels,
    make_install_command,
    require_own_wheel,
)
from sigil.errors import BackendError, UsageError
from tests.fakes.server import Answer, Recorded, RecordingServer
from tests.functions.cli.upgrade.conftest import SITE, make_environment
from tests.functions.cli.upgrade.conftest import find_pip as find_pip_folder


def write_wheel(name: str, version: str, needs: str = "") -> bytes:
    """Return a wheel with one module of its name, which needs another package."""
    info = f"{name}-{version}.dist-info"
    required = f"Requires-Dist: {needs}\n" if needs else ""
    texts = {
        f"{name}.py": f"version = {version!r}\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{required}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    texts[f"{info}/RECORD"] = "".join(f"{place},,\n" for place in (*texts, f"{info}/RECORD"))
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w") as archive:
        for place, text in texts.items():
            archive.writestr(place, text)
    return body.getvalue()


def write_source(name: str, version: str, marker: Path) -> bytes:
    """Return a source package that leaves a marker when somebody builds it."""
    setup = f"open({str(marker)!r}, 'w')\nfrom setuptools import setup\nsetup()\n".encode()
    body = io.BytesIO()
    with tarfile.open(fileobj=body, mode="w:gz") as archive:
        about = tarfile.TarInfo(f"{name}-{version}/setup.py")
        about.size = len(setup)
        archive.addfile(about, io.BytesIO(setup))
    return body.getvalue()


class Index(RecordingServer):
    """A package index with the files that are put there."""

    def __init__(self) -> None:
        super().__init__()
        self.files: dict[str, bytes] = {}

    def answer(self, request: Recorded) -> Answer:
        name = request.path.rstrip("/").rpartition("/")[2]
        if name in self.files:
            return Answer(200, self.files[name])
        rows = [
            f'<a href="/files/{file}#sha256={sha256(body).hexdigest()}">{file}</a>'
            for file, body in self.files.items()
            if file.startswith(f"{name}-")
        ]
        return Answer(200, f"<html>{''.join(rows)}</html>".encode(), {"Content-Type": "text/html"})


@pytest.fixture
def index() -> Iterator[Index]:
    with Index() as server:
        yield server


@pytest.fixture
def pip(tmp_path: Path, index: Index, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The pip of an environment, which asks the index alone."""
    monkeypatch.setenv("PIP_INDEX_URL", f"{index.url}/simple")
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    monkeypatch.setenv("PIP_NO_COMPILE", "1")
    make_environment(tmp_path / "venv", find_pip_folder())
    return find_pip(tmp_path / "venv" / "bin" / "python")


def test_what_a_wheel_needs_is_downloaded_as_wheels_and_installed_from_these_files_alone(
    tmp_path: Path, index: Index, pip: list[str]
) -> None:
    index.files = {
        "hens-1.0-py3-none-any.whl": write_wheel("hens", "1.0"),
        "hens-2.0.tar.gz": write_source("hens", "2.0", tmp_path / "built"),
    }
    own = tmp_path / "uncaged-9.0-py3-none-any.whl"
    own.write_bytes(write_wheel("uncaged", "9.0", needs="hens"))
    folder = tmp_path / "wheels"
    wheels = download_wheels(pip, require_own_wheel(own), folder)
    hens = sha256(index.files["hens-1.0-py3-none-any.whl"]).hexdigest()
    assert [wheel.line for wheel in wheels] == [
        f"uncaged 9.0 sha256:{sha256(own.read_bytes()).hexdigest()}",
        f"hens 1.0 sha256:{hens}",
    ]
    assert not list((tmp_path / "venv" / SITE).glob("*.dist-info"))
    asked = len(index.requests)
    run_command(make_install_command(pip, wheels, folder))
    assert len(index.requests) == asked
    names = {path.name for path in (tmp_path / "venv" / SITE).glob("*.dist-info")}
    assert names == {"uncaged-9.0.dist-info", "hens-1.0.dist-info"}
    assert not (tmp_path / "built").exists()


def test_a_need_that_is_there_as_source_alone_is_refused_and_nothing_is_built(
    tmp_path: Path, index: Index, pip: list[str]
) -> None:
    index.files = {"hens-2.0.tar.gz": write_source("hens", "2.0", tmp_path / "built")}
    own = tmp_path / "uncaged-9.0-py3-none-any.whl"
    own.write_bytes(write_wheel("uncaged", "9.0", needs="hens"))
    with pytest.raises(BackendError, match="hens"):
        download_wheels(pip, require_own_wheel(own), tmp_path / "wheels")
    assert not (tmp_path / "built").exists()


def test_a_wheel_that_needs_what_is_at_an_address_is_refused_before_pip_builds_it(
    tmp_path: Path, pip: list[str]
) -> None:
    source = tmp_path / "hens-2.0.tar.gz"
    source.write_bytes(write_source("hens", "2.0", tmp_path / "built"))
    own = tmp_path / "uncaged-9.0-py3-none-any.whl"
    own.write_bytes(write_wheel("uncaged", "9.0", needs=f"hens @ {source.as_uri()}"))
    with pytest.raises(UsageError, match="needs hens @ file:"):
        download_wheels(pip, require_own_wheel(own), tmp_path / "wheels")
    assert not (tmp_path / "built").exists()
