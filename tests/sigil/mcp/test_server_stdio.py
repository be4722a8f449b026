"""`sigil mcp`: the registry on a pipe, seen by the official SDK's client and by whoever writes to
it by hand.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sigil.http import app
from tests.machine import within
from tests.project.tree import ROOT
from tests.selection import thorough
from tests.servers import mcp_sdk
from tests.servers.programs import ProgramForker, command_of
from tests.sigil.mcp.messages import SHOUT, ask, call
from tests.sigil.serving import served
from tests.sigil.tool_importer import OWNER, ToolImporter

START = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}},
}
COMMAND = [*command_of("sigil.cli"), "mcp"]


@pytest.fixture
def surroundings(tmp_path: Path, compiled: Path, forked: ProgramForker) -> dict[str, str]:
    """The environment of a client's program: a data folder of its own, an empty registry. What
    it starts is forked.
    """
    compiled.mkdir(exist_ok=True)
    own = {
        "UNCAGED_DATA": str(tmp_path / "data"),
        "UNCAGED_CACHE": str(compiled),
        "UNCAGED_LIBRARY": "none",
        "SIGIL_RUNNERS": "1",
    }
    system = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    return {**own, **system, **forked.environment}


@pytest.fixture
def pipe(
    surroundings: dict[str, str], tmp_path: Path
) -> Callable[..., tuple[list[Any], subprocess.CompletedProcess[bytes]]]:
    """Writes lines to `sigil mcp`, closes the pipe, and reads what it said: `pipe({…}, b"…",
    options=["--read-only"])`.
    """

    def said(
        *lines: Any, options: tuple[str, ...] = ()
    ) -> tuple[list[Any], subprocess.CompletedProcess[bytes]]:
        data = b"".join(
            line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in lines
        )
        done = subprocess.run(
            [*COMMAND, *options],
            input=data,
            env=surroundings,
            cwd=tmp_path,
            capture_output=True,
            check=False,
            timeout=60,
        )
        return [json.loads(line) for line in done.stdout.splitlines()], done

    return said


def text(result: dict[str, Any]) -> Any:
    return json.loads(result["text"])


@pytest.mark.parametrize("mode", ["legacy", *thorough("auto")])
def test_what_a_session_makes_and_finds_becomes_its_tools(
    surroundings: dict[str, str], mode: str
) -> None:
    told = (
        [["changes", "sigil_deploy", SHOUT]]
        if mode == "auto"
        else [["call", "sigil_deploy", SHOUT], ["ping"]]
    )
    seen = mcp_sdk.client(
        ["list"],
        *told,
        ["list"],
        ["call", "cap_shout", {"text": "hi"}],
        ["call", "cap_shout", {}],
        ["call", "sigil_query", {"query": "say something in capital letters"}],
        ["call", "sigil_run", {"capability": "shout", "input": {"text": "ho"}}],
        ["call", "sigil_run", {"capability": "nothing"}],
        ["call", "cap_nothing", {}],
        command=COMMAND,
        environment=surroundings,
        mode=mode,
    )
    results = seen["results"]
    first, made, then = results[0], results[1], results[-7]

    assert seen["revision"] == ("2026-07-28" if mode == "auto" else "2025-11-25")
    assert (first, then) == (
        ["sigil_query", "sigil_deploy", "sigil_run"],
        ["sigil_query", "sigil_deploy", "sigil_run", "cap_shout"],
    )
    if mode == "auto":
        assert made == "ToolsListChanged"
    else:
        assert text(made)["tool"] == "cap_shout"
        assert seen["heard"] == ["notifications/tools/list_changed"]
    assert results[-6] == {
        "error": False,
        "text": "HI",
        "more": 0,
        "structured": {"output": "HI"},
    }
    assert results[-5]["error"]
    assert text(results[-5])["error"] == {
        "source": "shout",
        "code": "EINVAL",
        "message": "'text' is a required property",
        "suggestion": "give text; ask rather than guess",
    }
    found = text(results[-4])["items"][0]
    assert (found["capability"], found["tool"], found["schema"]["required"]) == (
        "shout",
        "cap_shout",
        ["text"],
    )
    assert results[-3] == {
        "error": False,
        "text": "HO",
        "more": 0,
        "structured": {"output": "HO"},
    }
    assert text(results[-2])["error"]["code"] == "ENOENT"
    assert results[-1] == {"code": -32602, "message": "there is no tool 'cap_nothing'"}


def test_a_client_sees_the_registry_elsewhere_too(
    pipe: Any, importer: ToolImporter, surroundings: dict[str, str]
) -> None:
    with served(app.build_registry_app(importer.registry, "admin-token-of-this-test")) as url:
        surroundings |= {"SIGIL_URL": url, "SIGIL_TOKEN": "admin-token-of-this-test"}
        pipe(START, call(1, "sigil_deploy", **SHOUT))
        said, _ = pipe(START, call(2, "cap_shout", text="hi"), options=("--preload", "shout"))

    (answer,) = [each["result"] for each in said if each["id"] == 2]
    assert answer["content"][0]["text"] == "HI"
    assert importer.registry.inspect("shout", OWNER)["author"] == "model"


def test_a_tool_runs_the_digest_that_was_offered(
    pipe: Any, importer: ToolImporter, surroundings: dict[str, str]
) -> None:
    from sigil.mcp.tools import Toolbox
    from sigil.mcp.working_set import ResidentTools

    toolbox = Toolbox(importer.registry, OWNER, ResidentTools(), lambda name: None)
    toolbox.call("sigil_deploy", SHOUT)
    importer.registry.deploy({**SHOUT, "execute": "return 'something else'"}, OWNER)

    assert toolbox.call("cap_shout", {"text": "hi"})["content"][0]["text"] == "HI"
    toolbox.call("sigil_query", {"query": "capital letters"})
    assert toolbox.call("cap_shout", {"text": "hi"})["content"][0]["text"] == "something else"


def test_a_parameter_of_another_script_is_listed_under_a_name_that_clients_models_take(
    importer: ToolImporter,
) -> None:
    from sigil.mcp.tools import Toolbox
    from sigil.mcp.working_set import ResidentTools

    toolbox = Toolbox(importer.registry, OWNER, ResidentTools(), lambda name: None)
    schema = {"type": "object", "required": ["城市"], "properties": {"城市": {"type": "string"}}}
    toolbox.call("sigil_deploy", {**SHOUT, "schema": schema, "execute": "return input['城市']"})
    listed = toolbox.list_tools()[-1]
    assert (listed["title"], listed["annotations"]) == ("Shout", {"idempotentHint": True})
    assert listed["outputSchema"]["required"] == ["output"]
    told = listed["inputSchema"]
    (name,) = told["properties"]

    assert name.isascii()
    assert (told["required"], told["properties"][name]["description"]) == ([name], "城市")
    for given in (name, "城市"):
        assert toolbox.call("cap_shout", {given: "北京"})["content"][0]["text"] == "北京"


def test_the_working_set_is_bounded_and_says_what_fell_out(importer: ToolImporter) -> None:
    from sigil.mcp.tools import Toolbox
    from sigil.mcp.working_set import ResidentTools

    changes: list[bool] = []
    toolbox = Toolbox(
        importer.registry, OWNER, ResidentTools(2), lambda name: None, lambda: changes.append(True)
    )
    for name in ("one", "two", "three"):
        made = toolbox.call("sigil_deploy", {**SHOUT, "name": name, "execute": f"return '{name}'"})
    tools = [tool["name"] for tool in toolbox.list_tools()]

    assert json.loads(made["content"][0]["text"])["no_longer_listed"] == ["cap_one"]
    assert tools[3:] == ["cap_two", "cap_three"]
    assert len(changes) == 3
    absent = json.loads(toolbox.call("cap_one", {})["content"][0]["text"])["error"]
    assert (absent["code"], absent["suggestion"]) == (
        "ENOTRESIDENT",
        'call sigil_query with "one", or sigil_run with capability "one"',
    )


def test_a_model_replaces_nothing_that_a_person_made(importer: ToolImporter) -> None:
    from dataclasses import replace

    from sigil.mcp.tools import Toolbox

    importer.registry.deploy(SHOUT, OWNER)
    model = replace(OWNER, author="model", session="mcp")
    refused = Toolbox(importer.registry, model, require_deploy=lambda name: None).call(
        "sigil_deploy", {**SHOUT, "execute": "return 1"}
    )

    assert refused["isError"]
    assert "belongs to a person" in refused["content"][0]["text"]


def test_options_say_what_is_served(
    pipe: Any, surroundings: dict[str, str], tmp_path: Path
) -> None:
    pipe(START, call(1, "sigil_deploy", **SHOUT))
    said, done = pipe(
        START,
        ask(1, "tools/list"),
        call(2, "sigil_deploy", **SHOUT),
        options=("--read-only", "--preload", "shout"),
    )
    by_id = {each["id"]: each for each in said}

    assert [tool["name"] for tool in by_id[1]["result"]["tools"]] == [
        "sigil_query",
        "sigil_run",
        "cap_shout",
    ]
    assert by_id[2]["error"]["code"] == -32602
    assert done.returncode == 0
    _, absent = pipe(START, options=("--preload", "nothing"))
    assert (absent.returncode, absent.stdout) == (3, b"")


def test_hostile_lines_are_answered_and_the_next_one_works(pipe: Any) -> None:
    lines = [
        b"not json\n",
        b"\xff\xfe\n",
        b"[" * 5_000 + b"\n",
        b"[]\n",
        b"7\n",
        b'{"jsonrpc":"1.0","id":1,"method":"ping"}\n',
        b'{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}\n',
        b'{"jsonrpc":"2.0","id":2,"method":7}\n',
        b'{"jsonrpc":"2.0","id":3,"method":"ping","params":[]}\n',
        b'{"jsonrpc":"2.0","id":4,"method":"\xed\xa0\x80"}\n',
        b'{"jsonrpc":"2.0","id":"x","result":1}\n',
        b"x" * (5 << 20) + b"\n",
        ask(5, "nothing/here"),
        ask(6, "tools/call", name=["sigil_query"]),
        ask(7, "tools/call", name="sigil_query", arguments="text"),
        ask(8, "tools/list", cursor="2"),
        ask(9, "initialize"),
        ask(
            10,
            "tools/list",
            _meta={
                "io.modelcontextprotocol/protocolVersion": "2099-01-01",
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        ),
        ask(11, "tools/list", _meta={"io.modelcontextprotocol/protocolVersion": "2026-07-28"}),
        ask("last", "ping"),
    ]
    said, done = pipe(*lines)
    codes = {
        each["id"]: each["error"]["code"]
        for each in said
        if "error" in each and each["id"] is not None
    }

    assert [each["error"]["code"] for each in said if each.get("id", 0) is None] == [
        -32700,
        -32700,
        -32700,
        -32600,
        -32600,
        -32600,
        -32700,
        -32700,
    ]
    assert codes == {
        1: -32600,
        2: -32600,
        3: -32600,
        5: -32601,
        6: -32602,
        7: -32602,
        8: -32602,
        9: -32602,
        10: -32022,
        11: -32602,
    }
    assert next(each for each in said if each.get("id") == "last") == {
        "jsonrpc": "2.0",
        "id": "last",
        "result": {},
    }
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr


def test_a_list_of_messages_is_answered_one_by_one(pipe: Any) -> None:
    said, _ = pipe(
        [START, {"jsonrpc": "2.0", "method": "notifications/initialized"}, ask(1, "ping")]
    )

    assert {each["id"] for each in said} == {0, 1}


def test_a_request_whose_id_is_under_way_is_refused_and_a_cancelled_one_is_not_answered(
    pipe: Any,
) -> None:
    slow = {**SHOUT, "name": "slow", "execute": "for (let i = 0; i < 5e6; i++); return 'done'"}
    cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}
    pipe(START, call(1, "sigil_deploy", **slow))
    run = call(2, "sigil_run", capability="slow", input={"text": ""})
    said, _ = pipe(START, run, run, cancelled, ask(3, "ping"))

    assert [each["error"]["message"] for each in said if each.get("id") == 2] == [
        "a request with this id is running already"
    ]
    assert {each["id"] for each in said} == {0, 2, 3}


def test_stdout_holds_the_protocol_alone(
    pipe: Any, surroundings: dict[str, str], tmp_path: Path
) -> None:
    library = tmp_path / "library"
    shutil.copytree(ROOT / "capabilities" / "hash", library / "hash")
    surroundings["UNCAGED_LIBRARY"] = str(library)
    surroundings["TESTS_FORKER"] = ""  # Python starts it itself, which shall be as silent
    said, done = pipe(START, options=("--json",))

    assert [each["id"] for each in said] == [0]
    assert b"library: " in done.stderr


def test_ctrl_c_ends_it(surroundings: dict[str, str], tmp_path: Path) -> None:
    with subprocess.Popen(
        COMMAND,
        env=surroundings,
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(json.dumps(START).encode() + b"\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["id"] == 0
        process.send_signal(signal.SIGINT)
        assert process.wait(within(20)) == 130
