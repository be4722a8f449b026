"""The step of `uncaged setup` that runs the server in the background, with a systemd that records
what it is told.
"""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tests.functions.cli.setup.conftest import Setup

SYSTEMCTL = """#!/bin/sh
echo "$*" >> "{folder}/calls"
case "$2" in
    restart) touch "{folder}/active" ;;
    disable) rm -f "{folder}/active" ;;
    is-active) test -e "{folder}/active" ;;
    *) exit "$(cat "{folder}/code" 2>/dev/null || echo 0)" ;;
esac
"""


@pytest.fixture
def systemd(tmp_path: Path, config: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a `systemctl`; `calls` has what it was told, `code` what it answers."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "systemctl").write_text(SYSTEMCTL.format(folder=folder))
    (folder / "systemctl").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setattr("functions.cli.setup.service.START_SECONDS", 0.0)
    return folder


def find_free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return str(listener.getsockname()[1])


def test_a_unit_is_written_started_and_removed(
    setup: Setup, systemd: Path, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config.parent.mkdir(parents=True)
    config.write_text('TELEGRAM_TOKEN = "4:x"\nUNCAGED_OWNERS = "telegram:1"\n')
    config.chmod(0o600)
    monkeypatch.setenv("UNCAGED_LLM_MODEL", "of-this-shell")
    port = find_free_port()
    done = setup("service", "--yes", "--port", port)
    assert done.returncode == 0, done.stderr
    unit = config.parents[1] / "systemd" / "user" / "uncaged.service"
    lines = unit.read_text().splitlines()
    command = next(line for line in lines if line.startswith("ExecStart="))
    assert command.endswith(f" serve --poll --port {port}")
    assert "WorkingDirectory=%h" in lines
    assert "4:x" not in unit.read_text()
    assert "warning: UNCAGED_LLM_MODEL is set in this shell alone" in done.stderr
    calls = (systemd / "calls").read_text()
    assert "--user enable uncaged.service" in calls
    assert "--user restart uncaged.service" in calls
    # again, while our own server has the port
    with socket.create_server(("127.0.0.1", int(port))):
        assert "the service runs at" in setup("service", "--yes", "--port", port).stderr
    done = setup("service", "--yes", "--service", "none")
    assert (done.returncode, unit.exists()) == (0, False)
    assert "--user disable --now uncaged.service" in (systemd / "calls").read_text()


def test_a_folders_own_file_is_served_from_that_folder_and_starting_may_be_left_to_people(
    setup: Setup, systemd: Path, config: Path
) -> None:
    setup("language", "--here", "--yes")
    done = setup("service", "--yes", "--no-start", "--port", find_free_port())
    assert done.returncode == 0, done.stderr
    unit = config.parents[1] / "systemd" / "user" / "uncaged.service"
    assert f"WorkingDirectory={Path.cwd()}" in unit.read_text()
    assert "--poll" not in unit.read_text()
    assert "systemctl --user enable --now uncaged" in done.stderr
    assert "enable" not in (systemd / "calls").read_text()


def test_what_prevents_a_service_is_told(setup: Setup, systemd: Path, config: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = setup("service", "--yes", "--port", str(port))
    assert done.returncode == 7
    assert f"another program has port {port}" in done.stderr
    assert f"--port {port + 1}" in done.stderr
    assert not (config.parents[1] / "systemd").exists()
    # a machine whose systemd has no manager for the user, such as a container
    (systemd / "code").write_text("1")
    done = setup("service", "--yes")
    assert (done.returncode, "no systemd" in done.stderr) == (2, True)
    assert "uncaged serve --port 8000" in done.stderr
    assert setup("--yes", "--provider", "offline").returncode == 0
