"""Servers that are programs of this machine: kept while they are used, gone when we are, and never
able to stop or fill the host.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from sigil.errors import BackendError, Refused, ToolError
from sigil.mcp.jsonrpc import RpcError, RpcReply
from sigil.run.mcp_client import document
from sigil.run.mcp_client.program import ProgramServer
from sigil.run.mcp_client.servers import Servers
from sigil.running_call import CallProgress, run_as
from tests.fakes.calls import ReportedCall, running
from tests.machine import is_running, until, within
from tests.project.tree import ROOT
from tests.sigil.tool_importer import OWNER, ToolImporter

HOSTILE = str(ROOT / "tests" / "servers" / "mcp_hostile.py")


def program(kind: str = "plain", **more: Any) -> dict[str, Any]:
    return {"name": "local", "command": [sys.executable, "-I", "-S", HOSTILE, kind], **more}


def pid(said: str) -> int:
    return int(said.removeprefix("pid "))


def wait_for_end(number: int) -> None:
    """Wait until a process has ended."""
    until(lambda: not is_running(number), f"the end of {number}")


@pytest.fixture
def local(importer: ToolImporter) -> ToolImporter:
    """A registry with one tool of the program, `local-pid`; a test brings in what else it asks."""
    importer.import_tools(program(), "pid", timeout=20_000)
    return importer


def fails(importer: ToolImporter, tool: str) -> str:
    with pytest.raises(ToolError) as failed:
        importer.run(f"local-{tool}")
    return f"{failed.value.code}: {failed.value.message}"


def test_a_program_is_kept_from_call_to_call(local: ToolImporter) -> None:
    assert local.run("local-pid") == local.run("local-pid")


def test_a_program_that_died_says_its_last_words_and_is_started_again(local: ToolImporter) -> None:
    local.import_tools(program(), "die")
    first = local.run("local-pid")

    assert fails(local, "die") == "EREMOTE: the program ended: the disk [31m is full"
    assert local.run("local-pid") != first


def test_a_program_that_floods_is_ended(local: ToolImporter) -> None:
    local.import_tools(program(), "flood", timeout=20_000)
    assert fails(local, "flood") == "EREMOTE: the program ended: it wrote a line without an end"
    assert local.run("local-pid")


def test_a_program_that_is_silent_is_waited_for_no_longer_than_a_call_may_take(
    local: ToolImporter,
) -> None:
    local.import_tools(program(), "silence", timeout=200)
    assert fails(local, "silence") == "ETIMEDOUT: the program did not answer in time"


def test_what_a_program_prints_or_answers_to_nobody_harms_nothing(local: ToolImporter) -> None:
    local.import_tools(program(), "complain", "print", "misdirect", timeout=20_000)
    for tool in ("complain", "print", "misdirect", "pid"):
        assert local.run(f"local-{tool}").startswith("pid ")


def test_a_program_that_asks_back_is_refused(local: ToolImporter) -> None:
    local.import_tools(program(), "ask", timeout=20_000)
    refusal, pong = sorted(json.loads(local.run("local-ask")), key=lambda each: "result" in each)

    assert refusal["error"]["code"] == -32601
    assert pong["result"] == {}


def test_a_program_tells_how_far_its_call_has_come(importer: ToolImporter) -> None:
    importer.registry.secrets.set("LOCAL_KEY", "correct-horse-battery", OWNER)
    importer.import_tools(program(env={"KEY": "secret:LOCAL_KEY"}), "report", timeout=20_000)

    call = ReportedCall()
    with run_as(call):
        assert importer.run("local-report").startswith("pid ")

    first, without_text, without_total, last = call.told
    assert first == CallProgress(1, 4, "opening [31m the  disk")
    assert (without_text, without_total) == (CallProgress(2), CallProgress(2.5))
    assert (last.done, last.total, len(last.message)) == (3, 4, 200)
    assert last.message.startswith("the key is ")
    assert "battery" not in last.message


def test_a_call_that_is_cancelled_ends_and_the_program_is_told(local: ToolImporter) -> None:
    local.import_tools(program(), "listen", "heard", timeout=20_000)
    before = local.run("local-pid")
    call = ReportedCall()
    with running(call, lambda: local.run("local-listen")) as ran:
        call.wait_for_reports()
        call.cancel()
        with pytest.raises(ToolError, match="EINTERRUPTED: the call was interrupted"):
            ran.result(within(10))

    heard = local.run("local-heard")
    assert heard["method"] == "notifications/cancelled"
    assert type(heard["params"]["requestId"]) is int
    assert local.run("local-pid") == before


def test_a_program_has_its_own_variables_and_none_of_ours(
    open_importer: Callable[..., ToolImporter], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNCAGED_TOKEN", "not for programs")
    importer = open_importer()
    importer.registry.secrets.set("LOCAL_KEY", "correct-horse-battery", OWNER)
    variables = {"KEY": "secret:LOCAL_KEY", "MODE": "quick"}
    importer.import_tools(program(env=variables), "pid", "environment")
    asked = importer.registry.granting.find_request("local-pid", OWNER)["asked"]
    seen = importer.run("local-environment")

    assert asked == [
        f"mcp:local KEY=secret:LOCAL_KEY MODE=quick {sys.executable} -I -S {HOSTILE} plain"
    ]
    assert {*seen} - {"LC_CTYPE"} == {"PATH", "HOME", "KEY", "MODE"}
    assert "correct-horse-battery" not in str(seen)


def test_a_program_whose_secret_changed_is_started_anew(importer: ToolImporter) -> None:
    with pytest.raises(Refused, match="the secret LOCAL_KEY is not set"):
        importer.list_tools(program(env={"KEY": "secret:LOCAL_KEY"}))
    importer.registry.secrets.set("LOCAL_KEY", "correct-horse-battery", OWNER)
    importer.import_tools(program(env={"KEY": "secret:LOCAL_KEY"}), "pid")
    first = importer.run("local-pid")
    assert importer.run("local-pid") == first

    importer.registry.secrets.set("LOCAL_KEY", "another-horse-battery", OWNER)
    assert importer.run("local-pid") != first
    wait_for_end(pid(first))


def test_a_program_waits_for_a_grant_and_a_revoked_one_is_not_asked(importer: ToolImporter) -> None:
    importer.import_tools(program(), "pid", grant=False)
    assert (
        fails(importer, "pid")
        == "EPERM: the program of local waits for an owner's grant: `sigil grant local-pid`"
    )
    importer.registry.granting.grant("local-pid", OWNER)
    assert importer.run("local-pid")
    importer.registry.granting.revoke("local-pid", OWNER)
    assert fails(importer, "pid").startswith("EPERM: ")


def test_a_program_is_ended_when_nobody_has_needed_it_for_long(
    open_importer: Callable[..., ToolImporter], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sigil.run.mcp_client.child.LOOK_SECONDS", 0.05)
    importer = open_importer(servers=Servers({"PATH": os.environ["PATH"]}, idle=within(0.5)))
    importer.import_tools(program(), "pid")

    wait_for_end(pid(importer.run("local-pid")))
    assert importer.run("local-pid")


def test_closing_a_registry_ends_its_programs_and_what_they_started(
    open_importer: Callable[..., ToolImporter],
) -> None:
    servers = Servers({"PATH": os.environ["PATH"]})
    importer = open_importer(servers=servers)
    importer.import_tools(program(), "child", "pid")
    importer.run("local-child")
    number = pid(importer.run("local-pid"))
    children = [
        int(child) for child in Path(f"/proc/{number}/task/{number}/children").read_text().split()
    ]
    servers.close()

    assert len(children) == 1
    wait_for_end(number)
    wait_for_end(children[0])


def test_kill_9_of_the_registrys_process_ends_its_programs_too() -> None:
    code = """
import os, sys, time
from sigil.run.mcp_client.child import ServerProcess
child = ServerProcess(sys.argv[1:], {"PATH": os.environ["PATH"]})
said = child.ask("tools/call", {"name": "pid"}, 20).result["content"][0]["text"]
print(said, flush=True)
os.kill(os.getpid(), 9)
"""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code, *program()["command"]],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )

    assert done.returncode == -9
    wait_for_end(pid(done.stdout.strip()))


def test_a_program_whose_warden_is_killed_ends_too(local: ToolImporter) -> None:
    number = pid(local.run("local-pid"))
    warden = int(Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(warden, 9)

    wait_for_end(number)
    assert pid(local.run("local-pid")) != number


def test_no_program_is_ended_in_the_middle_of_a_call_to_make_room(
    importer: ToolImporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sigil.run.mcp_client.servers.PROGRAMS_MOST", 1)
    importer.import_tools(program(), "pid", "silence", timeout=30_000)
    importer.import_tools({**program(), "name": "other"}, "pid")
    number = pid(importer.run("local-pid"))
    servers = importer.registry._servers
    with ThreadPoolExecutor(1) as threads:
        silent = threads.submit(fails, importer, "silence")
        until(lambda: any(servers._busy.values()), "the silent call is at work")
        with pytest.raises(BackendError, match="EBUSY: 1 programs are at work") as busy:
            importer.run("other-pid")
        assert busy.value.retry_after
        assert not silent.done()
        os.kill(number, 9)
        assert silent.result().startswith("EREMOTE: ")
    assert importer.run("other-pid")
    assert len(servers._servers) == 1


def test_starting_and_asking_a_program_take_their_time_from_one_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given: list[float] = []

    class Slow:
        alive = True

        def __init__(self, *_: object) -> None:
            pass

        def ask(self, method: str, params: object, seconds: float, *_: object) -> RpcReply:
            given.append(seconds)
            time.sleep(0.02)  # the time of the call that this one takes
            if method == "initialize":
                return RpcReply(1, error=RpcError(-32601, "what?"))
            return RpcReply(1, {"supportedVersions": ["2026-07-28"]})

    monkeypatch.setattr("sigil.run.mcp_client.program.ServerProcess", Slow)
    ProgramServer(document.ProgramCommand("local", ("x",)), {}, 1.0).ask("tools/list", {}, {}, 5.0)

    assert len(given) == 3
    assert given == sorted({*given}, reverse=True)
    assert given[0] <= 5.0


@pytest.mark.parametrize("act", ["revoke", "remove"])
def test_a_program_that_nothing_may_ask_any_more_is_ended(
    importer: ToolImporter, monkeypatch: pytest.MonkeyPatch, act: str
) -> None:
    monkeypatch.setattr("sigil.run.mcp_client.child.LOOK_SECONDS", 0.05)
    importer.import_tools(program(), "pid", "environment")
    importer.import_tools({**program(), "name": "other"}, "pid")
    number, other = (pid(importer.run(f"{name}-pid")) for name in ("local", "other"))
    if act == "revoke":
        importer.registry.granting.revoke("local-pid", OWNER)
    else:
        importer.registry.remove("local-pid", OWNER)

    wait_for_end(number)
    assert pid(importer.run("other-pid")) == other
    assert importer.run("local-environment")  # which another tool of the server starts anew


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (program("dead")["command"], "EREMOTE: the program ended: no license"),
        (
            program("future")["command"],
            "EREMOTE: the program speaks a revision that is not known here",
        ),
        (
            ["/nowhere/at-all"],
            "EREMOTE: the program ended: /nowhere/at-all: No such file or directory",
        ),
        (["/bin/cat"], "EREMOTE: .*"),
    ],
)
def test_a_program_that_is_no_server_says_why(
    importer: ToolImporter, command: list[str], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sigil.run.mcp_client.discovery.LIST_SECONDS", 2.0)
    with pytest.raises(ToolError, match=why):
        importer.list_tools({"name": "local", "command": command})


def test_a_program_without_a_handshake_is_understood(importer: ToolImporter) -> None:
    importer.import_tools(program("stateless"), "pid")

    assert importer.run("local-pid").startswith("pid ")


def test_a_registry_that_starts_no_programs_refuses(
    open_importer: Callable[..., ToolImporter],
) -> None:
    with pytest.raises(Refused, match="this registry starts no programs"):
        open_importer(servers=Servers()).list_tools(program())


def test_a_token_never_has_a_program_started(importer: ToolImporter) -> None:
    from dataclasses import replace

    from tests.sigil.tool_importer import spec

    admin = replace(OWNER, token="admin")
    with pytest.raises(Refused, match="on this machine only"):
        importer.registry.importing.tools(program(), admin)
    row = importer.list_tools(program(), "pid")[0]
    with pytest.raises(Refused, match="on this machine only"):
        importer.registry.deploy(spec(document.parse_server(program()), row), admin)
    model = replace(OWNER, author="model", session="chat")
    with pytest.raises(Refused, match="JavaScript only"):
        importer.registry.deploy(spec(document.parse_server(program()), row), model)


def test_calls_go_side_by_side(local: ToolImporter) -> None:
    with ThreadPoolExecutor(4) as threads:
        assert len({*threads.map(lambda _: local.run("local-pid"), range(20))}) == 1
