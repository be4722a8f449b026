"""The step of `uncaged setup` that runs the server in the background, with a systemd that records
what it is told.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from functions.events import Event, Sender, order_of
from functions.settings import Settings
from functions.wiring import open_runtime
from tests.fakes.bot_api import TOKEN, BotApi
from tests.functions.cli.setup.conftest import Setup
from tests.servers.programs import ProgramForker, command_of
from tests.terminal import Terminal

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
    # what is changed later counts at once, unless somebody says when
    done = setup("language", "--yes", "--language", "de")
    assert "the service was restarted" in done.stderr
    assert (systemd / "calls").read_text().count("restart") == 3
    setup("undo")
    assert (systemd / "calls").read_text().count("restart") == 4
    done = setup("language", "--yes", "--language", "zh", "--no-start")
    assert "systemctl --user restart uncaged" in done.stderr
    assert (systemd / "calls").read_text().count("restart") == 4
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


def test_who_sends_the_code_to_the_bot_of_the_service_is_the_owner(
    systemd: Path, config: Path, bot: BotApi, forked: ProgramForker, tmp_path: Path
) -> None:
    (systemd / "active").touch()
    bot.webhook = {"url": "https://bot.example.com/webhook/telegram"}
    environment = {
        "PATH": f"{systemd}:/usr/bin:/bin",
        "HOME": str(tmp_path),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "XDG_DATA_HOME": str(tmp_path / "data"),
        "TELEGRAM_API": bot.url,
        "TELEGRAM_BOT_TOKEN": TOKEN,
        **forked.environment,
    }
    terminal = Terminal([*command_of("functions.cli"), "setup", "telegram"], environment)
    terminal.wait_for("Use the token in TELEGRAM_BOT_TOKEN? [Y/n]")
    terminal.type("\n")
    terminal.wait_for("to https://bot.example.com/webhook/telegram. Take that webhook away?")
    terminal.type("y\n")
    code = re.search(r"/pair ([0-9A-Z-]+)`", terminal.wait_for("you are its owner"))
    terminal.wait_for_end()
    assert terminal.process.returncode == 0
    terminal.close()
    assert code
    assert not bot.webhook
    runtime = open_runtime(Settings(data=str(tmp_path / "data" / "uncaged"), library="none"))
    event = Event(
        id="telegram:4242:1",
        kind="message",
        agent="main",
        session="telegram:42",
        sender=Sender("telegram:42", "Ada"),
        text="",
        at=0.0,
        order=order_of(0.0, 1),
        private=True,
    )
    assert runtime.app.claim.try_code(code[1], event)
    assert runtime.app.people.has_owner()
    runtime.close()


def test_a_unit_of_any_path_is_what_systemd_understands(
    setup: Setup, systemd: Path, config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unit = config.parents[1] / "systemd" / "user" / "uncaged.service"
    units = []
    for name, command in {
        "plain": "{}/plain/uncaged serve",
        "50%n": "{}/50%%n/uncaged serve",
        "with space": '"{}/with space/uncaged" serve',
        "it's": '/bin/sh -c "exec \\"$$0\\" \\"$$@\\"" "{}/it\'s/uncaged" serve',
        "a$HOME b": '/bin/sh -c "exec \\"$$0\\" \\"$$@\\"" "{}/a$$HOME b/uncaged" serve',
        'q"\\x': '/bin/sh -c "exec \\"$$0\\" \\"$$@\\"" "{}/q\\"\\\\x/uncaged" serve',
        "a=b;c": '"{}/a=b;c/uncaged" serve',
    }.items():
        folder = tmp_path / name
        folder.mkdir()
        (folder / "uncaged").write_text("#!/bin/sh\n")
        (folder / "uncaged").chmod(0o755)
        monkeypatch.chdir(folder)
        monkeypatch.setattr("sys.executable", str(folder / "python"))
        port = find_free_port()
        done = setup("service", "--here", "--yes", "--no-start", "--port", port)
        assert done.returncode == 0, done.stderr
        lines = unit.read_text().splitlines()
        assert f"ExecStart={command.format(tmp_path)} --port {port}" in lines
        assert f"WorkingDirectory={folder}".replace("%", "%%") in lines
        units.append(unit.rename(tmp_path / f"u{len(units)}.service"))
    if shutil.which("systemd-analyze"):
        words = ["systemd-analyze", "verify", "--user", "--man=no", *map(str, units)]
        (tmp_path / "run").mkdir()
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
        verified = subprocess.run(words, capture_output=True, text=True, check=False)
        assert (verified.returncode, verified.stderr) == (0, "")


def read_runs(docker: Path) -> list[list[str]]:
    """The words of each container that was run."""
    calls = [line.split("\x1f")[:-1] for line in (docker / "calls").read_text().split("\n")[:-1]]
    return [call for call in calls if call[0] == "run"]


def test_a_container_runs_as_the_user_with_the_settings_by_file_and_the_data_folder(
    setup: Setup, docker: Path, config: Path, tmp_path: Path
) -> None:
    container = ("service", "--yes", "--service", "container")
    assert setup("language", "--yes").returncode == 0
    port = find_free_port()
    done = setup(*container, "--port", port)
    assert done.returncode == 0, done.stderr
    (run,) = read_runs(docker)
    data = tmp_path / "data" / "uncaged"
    for word in (
        f"--user={os.getuid()}:{os.getgid()}",
        f"--mount=type=bind,source={data},target={data}",
        f"--mount=type=bind,source={config},target={config},readonly",
        f"--env=XDG_CONFIG_HOME={config.parents[1]}",
        f"--publish=127.0.0.1:{port}:8000",
        "--read-only",
        "--cap-drop=ALL",
    ):
        assert word in run
    assert run[run.index("uncaged") :] == "uncaged serve --host 0.0.0.0 --port 8000".split()
    # what is printed is the same command, for a shell
    printed = done.stderr[done.stderr.index("docker run") : done.stderr.index("to remove it")]
    assert shlex.split(printed.replace("\\\n", " ")) == ["docker", *run]
    assert "the container runs" in done.stderr

    # what is changed later counts at once; beside a bot that is polled the page has a port of this
    # machine alone, what is on this machine needs its network, and no secret is in the command
    config.write_text('TELEGRAM_TOKEN = "4:secret"\nUNCAGED_PROXIES = "127.0.0.1"\n')
    config.chmod(0o600)
    assert "the container was restarted" in setup("language", "--yes", "--language", "de").stderr
    assert setup(*container).returncode == 0
    run = read_runs(docker)[-1]
    assert run[run.index("uncaged") :][1:3] == ["serve", "--poll"]
    assert not [word for word in run if re.search("secret|network", word)]
    assert [word for word in run if "publish" in word] == ["--publish=127.0.0.1:8000:8000"]
    config.write_text('UNCAGED_LLM_URL = "http://localhost:11434/v1"\n')
    assert setup(*container, "--port", "8123").returncode == 0
    run = read_runs(docker)[-1]
    assert {"--network=host", "--no-healthcheck"} <= {*run}
    assert run[-4:] == ["--host", "127.0.0.1", "--port", "8123"]
    # the one before is removed each time, and the last one when nobody wants it any more
    done = setup("service", "--yes", "--service", "none")
    assert (done.returncode, (docker / "mine").read_text()) == (0, ""), done.stderr
    assert "stopped and removed" in done.stderr


def test_what_prevents_a_container_is_told_and_the_command_can_be_had_without_one(
    setup: Setup, docker: Path, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    container = ("service", "--yes", "--service", "container", "--port", find_free_port())
    (docker / "image").write_text("no such image")
    done = setup(*container)
    assert (done.returncode, "docker build --tag uncaged ." in done.stderr) == (3, True)
    (docker / "version").write_text("the daemon does not run")
    done = setup(*container)
    assert (done.returncode, "the daemon does not run" in done.stderr) == (7, True)
    for name in ("image", "version"):
        (docker / name).unlink()
    (docker / "foreign").touch()
    done = setup(*container)
    assert (done.returncode, "that setup did not make" in done.stderr) == (6, True)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = setup(*container[:-1], str(taken.getsockname()[1]))
    assert (done.returncode, "another program has port" in done.stderr) == (7, True)
    assert not read_runs(docker)
    assert setup("service", "--yes", "--service", "none").returncode == 0
    assert (docker / "foreign").exists()
    monkeypatch.setenv("PATH", "/nonexistent")
    done = setup(*container)
    assert (done.returncode, "neither docker nor podman" in done.stderr) == (2, True)
    done = setup(*container, "--no-start")
    assert (done.returncode, "docker run --detach" in done.stderr) == (0, True)


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
