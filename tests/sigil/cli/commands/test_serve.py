"""`sigil serve`: Sigil alone as a server."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from sigil.cli.commands import serve as serving
from sigil.cli.printing import Printer
from sigil.cli.shell import Shell
from sigil.settings import Settings
from tests.machine import until, within
from tests.sigil.cli.conftest import Sigil
from tests.sigil.cli.processes import ROOT, start_sigil

BUSY = "const end = 3e6; let x = 0; for (let i = 0; i < end; i++) x = (x * 31 + i) | 0; return x;"


@contextmanager
def serve(place: Path, *words: str) -> Iterator[tuple[subprocess.Popen[bytes], httpx.Client]]:
    """`sigil serve` on a free port, and a client with its token."""
    with (place.parent / "log").open("wb") as log:
        process = start_sigil("serve", "--port", "0", *words, cwd=place, stderr=log)
    try:
        assert process.stdout
        line = process.stdout.readline().decode()
        url = json.loads(line)["url"] if "--json" in words else line.strip()
        token = (place.parent / "data" / "token").read_text()
        with httpx.Client(
            base_url=url, headers={"authorization": f"Bearer {token}"}, timeout=within(30)
        ) as client:
            yield process, client
    finally:
        process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()


def read_log(place: Path) -> str:
    return (place.parent / "log").read_text()


def test_it_serves_the_api_tells_who_asked_and_ends_at_sigterm(
    shout: Sigil, place: Path, fork_commands: None
) -> None:
    with serve(place) as (process, client):
        assert client.get("/health").json()["ok"] is True
        assert client.get("/_api/list").json()["items"][0]["capability"] == "shout"
        assert client.post("/run/shout", json={"text": "secret words"}).text == "SECRET WORDS"
        assert (
            client.get("/_api/list", headers={"authorization": "Bearer wrong"}).status_code == 401
        )
        process.send_signal(signal.SIGTERM)
        assert process.wait(within(30)) == 0
    said = read_log(place)
    assert f"token: in {place.parent / 'data' / 'token'}" in said
    assert "capability=shout" in said
    assert "turned away" in said
    assert said.endswith("stopped\n")
    assert "secret words" not in said
    assert (place.parent / "data" / "token").read_text() not in said


def test_a_run_that_is_at_work_is_answered_before_it_ends(
    run_sigil: Sigil, place: Path, fork_commands: None
) -> None:
    assert (
        run_sigil("deploy", "--name", "busy", "--description", "Be busy.", "--execute", BUSY).code
        == 0
    )
    with serve(place, "--json") as (process, client), ThreadPoolExecutor(1) as pool:
        client.get("/_api/list")
        answer = pool.submit(client.post, "/run/busy", json={})
        until(
            lambda: '"busy":1' in client.get("/_api/status").text.replace(" ", "") or answer.done(),
            "the run is at work",
        )
        process.send_signal(signal.SIGTERM)
        assert answer.result().status_code == 200
        assert process.wait(within(30)) == 0
    lines = [json.loads(line) for line in read_log(place).splitlines() if line.startswith("{")]
    assert next(line for line in lines if line["step"] == "run")["capability"] == "busy"


def test_ctrl_c_ends_it_with_130(place: Path, fork_commands: None) -> None:
    with serve(place) as (process, client):
        client.get("/health")
        process.send_signal(signal.SIGINT)
        assert process.wait(within(30)) == 130
    assert read_log(place).endswith("stopped\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_that_comes_right_after_the_address_ends_it(number: signal.Signals) -> None:
    script = (
        "import os, signal, sys, sigil.http.server as serving\n"
        "async def app(scope, receive, send): pass\n"
        f"greet = lambda: os.kill(os.getpid(), {int(number)})\n"
        "sys.exit(serving.serve(app, serving.listen('127.0.0.1', 0), 5, greet))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=within(30),
        check=False,
    )
    assert done.returncode == number


def test_an_address_that_is_not_this_machines_is_what_is_wrong(run_sigil: Sigil) -> None:
    for host in ("203.0.113.1", "nowhere.invalid", "a..b"):
        result = run_sigil("serve", "--host", host)
        assert (result.code, "help: --host is an address of this machine" in result.err) == (
            7,
            True,
        ), result.err


def test_a_port_in_use_says_what_to_do(run_sigil: Sigil) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        result = run_sigil("serve", "--port", str(taken.getsockname()[1]))
    assert result.code == 7
    assert "help: choose another --port" in result.err
    assert run_sigil("serve", "--host", "nowhere.invalid").code == 7
    assert run_sigil("serve", "--port", "70000").code == 2


@pytest.mark.parametrize(
    "words", [("--timeout", "5"), ("--url", "http://127.0.0.1:9"), ("--profile", "here")]
)
def test_what_makes_no_sense_with_it_is_refused(run_sigil: Sigil, words: tuple[str, ...]) -> None:
    assert run_sigil("serve", *words).code == 2


def test_an_address_that_others_reach_is_warned_of(capsys: pytest.CaptureFixture[str]) -> None:
    class Listener:
        def __init__(self, host: str) -> None:
            self._host = host

        def getsockname(self) -> tuple[str, int]:
            return self._host, 8000

    def print_notes(host: str, token: str) -> str:
        listener: Any = Listener(host)
        serving.print_address(Shell(Printer()), Settings(data="/x", token=token), listener, token)
        return capsys.readouterr().err

    assert "plain HTTP" in print_notes("0.0.0.0", "x" * 40)
    assert "could be guessed" in print_notes("::", "short")
    assert "plain HTTP" not in print_notes("127.0.0.1", "short")
    assert "short" not in print_notes("127.0.0.1", "short")
