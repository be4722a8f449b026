"""Servers behind an address, and the ways in which they can be wrong: nothing of it stops, fills or
leads the host astray.
"""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from sigil.errors import Refused, SigilError, ToolError, UsageError
from sigil.network.http_transport import GuardedTransport
from sigil.run.mcp_client import document
from sigil.run.mcp_client.web import WebServer
from sigil.running_call import CallProgress, RunningCall
from tests.fakes.calls import ReportedCall, running
from tests.fakes.mcp import FakeMcp, tool
from tests.fakes.server import Answer, Recorded, json_answer
from tests.machine import within
from tests.servers.certificates import Authority, authority
from tests.sigil.tool_importer import OWNER, ToolImporter


def at(fake: FakeMcp, **more: Any) -> dict[str, Any]:
    return {"name": "tracker", "url": fake.address, **more}


def rpc(
    message: dict[str, Any], result: Any, kind: str = "application/json", **more: Any
) -> Answer:
    return Answer(
        200,
        json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result, **more}).encode(),
        {"content-type": kind},
    )


def test_a_tool_waits_for_a_grant_of_its_servers_address(
    importer: ToolImporter, fake: FakeMcp
) -> None:
    importer.import_tools(at(fake), grant=False)
    asked = importer.registry.granting.find_request("tracker-greet", OWNER)
    assert asked["new"] == [f"http:POST {fake.address.removeprefix('http://')}"]

    with pytest.raises(
        ToolError, match="waits for an owner's grant: `sigil grant tracker-greet`"
    ) as early:
        importer.run("tracker-greet", name="Ada")
    assert early.value.code == "EPERM"
    assert "tools/call" not in fake.methods

    importer.registry.granting.grant("tracker-greet", OWNER)
    assert importer.run("tracker-greet", name="Ada") == 'called with {"name": "Ada"}'


def test_a_conversation_begins_once_and_goes_on(importer: ToolImporter, fake: FakeMcp) -> None:
    importer.import_tools(at(fake))
    importer.run("tracker-greet", name="Ada")
    importer.run("tracker-greet", name="Bob")

    assert fake.methods == [
        "server/discover",
        "initialize",
        "notifications/initialized",
        "tools/list",
        "tools/call",
        "tools/call",
    ]
    assert {request.headers.get("mcp-session-id") for request in fake.requests[2:]} == {"session-1"}
    assert {request.headers.get("mcp-protocol-version") for request in fake.requests[2:]} == {
        "2025-11-25"
    }


def test_a_server_that_forgot_the_session_is_greeted_anew(
    importer: ToolImporter, fake: FakeMcp
) -> None:
    importer.import_tools(at(fake))
    importer.run("tracker-greet", name="Ada")
    fake.session = "session-2"

    assert importer.run("tracker-greet", name="Bob") == 'called with {"name": "Bob"}'
    assert fake.methods[-4:] == [
        "server/discover",
        "initialize",
        "notifications/initialized",
        "tools/call",
    ]


@pytest.mark.parametrize(
    "error",
    [
        {"code": -32001, "message": "Not here"},
        {"code": -32000, "message": "Bad Request: No valid session ID provided"},
        {"code": -32000, "message": "Bad Request: Server not initialized"},
    ],
)
def test_a_server_may_say_with_400_that_it_forgot_the_session(
    importer: ToolImporter, fake: FakeMcp, error: dict[str, Any]
) -> None:
    importer.import_tools(at(fake))

    def call_tool(request: Recorded, message: dict[str, Any]) -> Answer:
        if request.headers["mcp-session-id"] != "session-2":
            fake.session = "session-2"
            return json_answer({"jsonrpc": "2.0", "id": message["id"], "error": error}, 400)
        return rpc(message, {"content": [{"type": "text", "text": "greeted"}]})

    fake.answers["tools/call"] = call_tool

    assert importer.run("tracker-greet", name="Ada") == "greeted"
    assert fake.methods.count("tools/call") == 2


def test_a_tool_with_names_of_another_script_and_a_schema_within_itself_is_called(
    importer: ToolImporter, fake: FakeMcp
) -> None:
    fake.session = ""
    fake.answers["server/discover"] = lambda request, message: rpc(
        message, {"supportedVersions": ["2026-07-28"]}
    )
    area = {
        "type": "object",
        "properties": {"城市": {"type": "string"}, "内": {"type": "array", "items": {"$ref": "#"}}},
        "anyOf": [{"required": ["城市"]}, {"required": ["内"]}],
    }
    fake.tools = [{"name": "查询天气", "inputSchema": area}]
    (name,) = importer.import_tools(at(fake))
    given = {"内": [{"城市": "北京"}]}
    wrong: dict[str, Any] = {"内": [{}]}

    assert json.loads(importer.run(name, **given).removeprefix("called with ")) == given
    assert fake.requests[-1].headers["mcp-name"] == "=?base64?5p+l6K+i5aSp5rCU?="
    with pytest.raises(UsageError, match="EINVAL"):
        importer.run(name, **wrong)


def test_an_answer_may_come_as_a_stream_of_events(importer: ToolImporter, fake: FakeMcp) -> None:
    note = {
        "jsonrpc": "2.0",
        "method": "notifications/progress",
        "params": {"progressToken": 1, "progress": 1},
    }

    def streamed(request: Recorded, message: dict[str, Any]) -> Answer:
        said = {
            "jsonrpc": "2.0",
            "id": message["id"],
            "result": {"content": [{"type": "text", "text": "at last"}]},
        }
        lines = json.dumps(said).replace(", ", ",\ndata: ")
        body = (
            f": hello\r\n\r\nid: 1\ndata:\n\nevent: message\ndata: {json.dumps(note)}\n\nevent:"
            f" other\ndata: x\n\ndata: {lines}\n\n"
        )
        return Answer(200, body.encode(), {"content-type": "text/event-stream; charset=utf-8"})

    importer.import_tools(at(fake))
    fake.answers["tools/call"] = streamed

    assert importer.run("tracker-greet", name="Ada") == "at last"


def test_progress_is_read_as_it_comes_and_a_cancelled_call_is_told_to_the_server(
    open_importer: Callable[..., ToolImporter], secure: FakeMcp, trust: Authority
) -> None:
    context = ssl.create_default_context(cafile=str(trust.certificate))
    importer = open_importer(web=lambda: GuardedTransport(loopback=True, context=context))
    importer.registry.secrets.set("TOKEN", "correct-horse-battery", OWNER)

    def tell(request: Recorded, message: dict[str, Any]) -> Answer:
        token = message["params"]["_meta"]["progressToken"]
        assert token == message["id"]

        def note(number: Any, **params: Any) -> bytes:
            said = {"progressToken": token, "progress": number, "total": 8, **params}
            told = {"jsonrpc": "2.0", "method": "notifications/progress", "params": said}
            return f"event: message\r\ndata: {json.dumps(told)}\r\n\r\n".encode()

        def stream() -> Iterator[bytes]:
            yield b": hello\n\n" + note(99, progressToken=token + 1) + note("99")
            yield (
                b"data: " + b"x" * 50_000 + b"\n\n" + note(2, message="with correct-horse-battery")
            )
            last = note(3, message="halfway")
            for at in range(len(last)):
                yield last[at : at + 1]
            secure.closing.wait(within(20))

        return Answer(200, stream(), {"content-type": "text/event-stream"})

    importer.import_tools(at(secure, headers={"authorization": "Bearer {{TOKEN}}"}))
    secure.answers["tools/call"] = tell
    call = ReportedCall()
    with running(call, lambda: importer.run("tracker-greet", name="Ada")) as ran:
        call.wait_for_reports(2)
        call.cancel()
        with pytest.raises(ToolError, match="EINTERRUPTED"):
            ran.result(within(10))

    assert call.told == [CallProgress(2, 8, "with {{TOKEN}}"), CallProgress(3, 8, "halfway")]
    cancelled = secure.requests[-1].json()
    asked = next(each for each in secure.requests if each.json()["method"] == "tools/call").json()
    assert cancelled["method"] == "notifications/cancelled"
    assert cancelled["params"] == {"requestId": asked["id"]}
    assert secure.requests[-1].headers["mcp-session-id"] == secure.session


def test_calls_that_are_cancelled_count_against_no_tool(
    importer: ToolImporter, fake: FakeMcp
) -> None:
    importer.import_tools(at(fake), timeout=30_000)
    does = fake.does.copy()
    begun = threading.Semaphore(0)

    def hang(given: dict[str, Any]) -> Answer:
        begun.release()
        return Answer(hang=True)

    fake.does["greet"] = hang
    for _ in range(6):
        call = RunningCall()
        with running(call, lambda: importer.run("tracker-greet", name="Ada")) as ran:
            assert begun.acquire(timeout=within(10))
            call.cancel()
            with pytest.raises(ToolError, match="EINTERRUPTED"):
                ran.result(within(10))
    fake.does = does

    assert importer.run("tracker-greet", name="Ada") == 'called with {"name": "Ada"}'


@pytest.mark.parametrize(
    ("result", "output"),
    [
        ({"content": [], "structuredContent": {"rows": [1, 2]}}, {"rows": [1, 2]}),
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "a\nb"),
        (
            {"content": [{"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}]},
            "[a sound, audio/wav: left out, none of the types that are kept]",
        ),
        (
            {"content": [{"type": "resource", "resource": {"uri": "x:y", "text": "inside"}}]},
            "inside",
        ),
        (
            {"content": [{"type": "resource", "resource": {"uri": "x:y", "blob": "AAAA"}}]},
            "[a file, of an unknown type: left out, none of the types that are kept]",
        ),
        (
            {"content": [{"type": "resource_link", "uri": "file:///x", "name": "x"}]},
            "[a link to file:///x]",
        ),
        (
            {"content": [7, {"type": "new\u202ething"}]},
            "[something that is no content]\n[new thing, which is not known here: left out]",
        ),
        ({"content": []}, ""),
        ({"content": [{"type": ["image"]}]}, "[something that is no content]"),
        ({"content": [{"type": "resource_link", "uri": {"a": 1}}]}, "[a link to nowhere]"),
    ],
)
def test_what_a_tool_returns_is_text_or_json(
    importer: ToolImporter, fake: FakeMcp, result: dict[str, Any], output: Any
) -> None:
    importer.import_tools(at(fake))
    fake.does["greet"] = lambda given: result

    assert importer.run("tracker-greet") == output


EVENTS = "text/event-stream"


def nest(depth: int) -> Any:
    """A value within a value within a value."""
    value: Any = 1
    for _ in range(depth):
        value = {"a": value}
    return value


WRONG: dict[str, tuple[Callable[[Recorded, dict[str, Any]], Answer], str]] = {
    "another's id": (
        lambda request, message: rpc({"id": 999}, {"content": []}),
        "EREMOTE: .*does not answer this request",
    ),
    "no JSON": (
        lambda request, message: Answer(200, b"<html>", {"content-type": "application/json"}),
        "EREMOTE: .*not one of MCP",
    ),
    "no JSON-RPC": (
        lambda request, message: json_answer({"ok": True}),
        "EREMOTE: .*not one of MCP",
    ),
    "a page": (
        lambda request, message: Answer(200, b"<html>", {"content-type": "text/html"}),
        "EREMOTE: .*it is text/html",
    ),
    "nothing": (lambda request, message: Answer(200, b""), "EREMOTE: .*status 200"),
    "an empty stream": (
        lambda request, message: Answer(200, b"\n\n", {"content-type": "text/event-stream"}),
        "EREMOTE: .*does not answer this",
    ),
    "deep": (
        lambda request, message: Answer(200, b"[" * 5000, {"content-type": "application/json"}),
        "EREMOTE: .*not one of MCP",
    ),
    "too much": (
        lambda request, message: rpc(message, {"content": [], "more": "x" * (5 << 20)}),
        "ETOOBIG: .*more than 5,242,880 bytes",
    ),
    "many values": (
        lambda request, message: rpc(message, {"content": [], "structuredContent": [[]] * 300_001}),
        "EREMOTE: .*it has more than 300,000 values",
    ),
    "nested values": (
        lambda request, message: rpc(message, {"structuredContent": nest(300)}),
        "EREMOTE: .*nested too deep, or no JSON",
    ),
    "many lines": (
        lambda request, message: Answer(200, b"\n" * 300_000, {"content-type": EVENTS}),
        "EREMOTE: .*it has more than 200,000 lines",
    ),
    "accepted": (lambda request, message: Answer(202), "EREMOTE: .*status 202"),
    "a failure": (lambda request, message: Answer(500, b"secret trace"), "EREMOTE: .*status 500$"),
    "no credentials": (
        lambda request, message: Answer(401),
        "EPERM: the server wants a sign-in: `sigil mcp login tracker http",
    ),
    "an error": (
        lambda request, message: json_answer(
            {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -1, "message": "a\nb\u202e"}}
        ),
        "EREMOTE: the server refuses: a b$",
    ),
    "asks back": (
        lambda request, message: rpc(
            message, {"resultType": "input_required", "inputRequests": {}}
        ),
        "EREMOTE: .*asks a question back",
    ),
    "a list": (
        lambda request, message: rpc(message, [1]),
        "EREMOTE: .*its result is not an object",
    ),
    "much content": (
        lambda request, message: rpc(message, {"content": [1] * 2000}),
        "EREMOTE: .*its content is not a list",
    ),
    "its error": (
        lambda request, message: rpc(
            message,
            {"isError": True, "content": [{"type": "text", "text": "no\nway\u202e" + "x" * 400}]},
        ),
        "EREMOTE: no way xxx.{280,290}…$",
    ),
    "a redirect": (
        lambda request, message: Answer(307, b"", {"location": "http://169.254.169.254/latest"}),
        "ENET: 127.0.0.1 redirects",
    ),
    "a hang-up": (lambda request, message: Answer(cut=True), "ENET: .*the connection failed"),
}


@pytest.mark.parametrize("name", list(WRONG))
def test_a_server_that_answers_wrongly_fails_with_one_clean_line(
    importer: ToolImporter, fake: FakeMcp, name: str
) -> None:
    importer.import_tools(at(fake))
    fake.answers["tools/call"], wanted = WRONG[name]

    with pytest.raises(SigilError, match=wanted):
        importer.run("tracker-greet", name="Ada")

    del fake.answers["tools/call"]
    assert importer.run("tracker-greet", name="Bob") == 'called with {"name": "Bob"}'


def test_a_server_that_never_answers_is_left(importer: ToolImporter, fake: FakeMcp) -> None:
    importer.import_tools(at(fake), timeout=700)
    fake.answers["tools/call"] = lambda request, message: Answer(hang=True)

    with pytest.raises(ToolError, match="did not answer in time") as late:
        importer.run("tracker-greet", name="Ada")
    assert late.value.code == "ETIMEDOUT"


def test_five_calls_that_never_end_let_the_tool_rest(importer: ToolImporter, fake: FakeMcp) -> None:
    importer.import_tools(at(fake), timeout=300)
    fake.answers["tools/call"] = lambda request, message: Answer(hang=True)
    for _ in range(5):
        with pytest.raises(ToolError):
            importer.run("tracker-greet")

    with pytest.raises(Refused, match="EDEGRADED"):
        importer.run("tracker-greet")


@pytest.mark.parametrize(
    "url", ["http://10.0.0.1/mcp", "https://169.254.169.254/mcp", "https://[::ffff:10.0.0.1]/mcp"]
)
def test_a_server_inside_is_not_reached(importer: ToolImporter, url: str) -> None:
    with pytest.raises(SigilError) as refused:
        importer.list_tools({"name": "inside", "url": url})
    assert refused.value.code == "EPERM"


@pytest.mark.parametrize(
    ("server", "why"),
    [
        ({"name": "Bad Name", "url": "https://example.com"}, "has a name"),
        ({"name": "x", "url": "ftp://example.com"}, "is not https"),
        ({"name": "x", "url": "https://user:pw@example.com/"}, "no user or password"),
        (
            {"name": "x", "url": "https://example.com/", "headers": {"Mcp-Session-Id": "1"}},
            "the protocol's own",
        ),
        (
            {"name": "x", "url": "https://example.com/", "headers": {"Host": "inside"}},
            "is set by the host alone",
        ),
        (
            {"name": "x", "url": "https://example.com/", "headers": {"a": "b\r\nc: d"}},
            "more than visible ASCII",
        ),
        ({"name": "x", "url": "https://example.com/{{KEY}}"}, "not into the path"),
        (
            {"name": "x", "url": "https://example.com/", "command": ["ls"]},
            "is {name, url, headers}",
        ),
        ({"name": "x", "command": []}, "a list of at most"),
        ({"name": "x", "command": ["a\nb"]}, "one line"),
        ({"name": "x", "command": ["ls"], "env": {"A=B": "c"}}, "variables"),
        ({"name": "x", "command": ["ls"], "env": {"A": "secret:low"}}, "no secret"),
        ({"name": "x"}, "a url or a command"),
        ([], "has a name"),
    ],
)
def test_a_server_that_makes_no_sense_is_refused(
    importer: ToolImporter, server: Any, why: str
) -> None:
    with pytest.raises(UsageError, match=why):
        importer.list_tools(server)


def test_nobody_but_an_owner_asks_a_server(importer: ToolImporter, fake: FakeMcp) -> None:
    for caller in (replace(OWNER, owner=False), replace(OWNER, author="model")):
        with pytest.raises(Refused, match="only an owner"):
            importer.registry.importing.tools(at(fake), caller)
    assert not fake.requests


@pytest.fixture(scope="module")
def trust(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def secure(trust: Authority) -> Iterator[FakeMcp]:
    with FakeMcp(trust.server("127.0.0.1")) as server:
        yield server


def test_a_secret_goes_to_its_server_alone_and_is_never_told(
    open_importer: Callable[..., ToolImporter], secure: FakeMcp, trust: Authority
) -> None:
    context = ssl.create_default_context(cafile=str(trust.certificate))
    importer = open_importer(web=lambda: GuardedTransport(loopback=True, context=context))
    place = at(secure, headers={"Authorization": "Bearer {{TRACKER_KEY}}"})
    with pytest.raises(Refused, match="the secret TRACKER_KEY is not set"):
        importer.list_tools(place)
    importer.registry.secrets.set("TRACKER_KEY", "correct-horse-battery", OWNER)
    secure.does["greet"] = lambda given: f"your key is correct-horse-battery, {given['name']}"

    importer.import_tools(place)
    assert {request.headers["authorization"] for request in secure.requests} == {
        "Bearer correct-horse-battery"
    }
    said = importer.run("tracker-greet", name="Ada")
    assert said.startswith("your key is ")
    assert "correct-horse-battery" not in said
    assert "correct-horse-battery" not in str(importer.registry.inspect("tracker-greet", OWNER))
    assert importer.registry.granting.find_request("tracker-greet", OWNER)["asked"][1].startswith(
        "secret:TRACKER_KEY@127.0.0.1:"
    )

    importer.registry.granting.revoke("tracker-greet", OWNER)
    with pytest.raises(ToolError, match="waits for an owner"):
        importer.run("tracker-greet", name="Bob")


def test_a_secrets_name_in_anybodys_words_stays_a_name(
    open_importer: Callable[..., ToolImporter], secure: FakeMcp, trust: Authority
) -> None:
    context = ssl.create_default_context(cafile=str(trust.certificate))
    importer = open_importer(web=lambda: GuardedTransport(loopback=True, context=context))
    importer.registry.secrets.set("TRACKER_KEY", "correct-horse-battery", OWNER)
    secure.session = "{{TRACKER_KEY}}"  # a server's words are somebody else's too
    importer.import_tools(at(secure, headers={"Authorization": "Bearer {{TRACKER_KEY}}"}))
    seen: list[Any] = []
    secure.does["greet"] = lambda given: str(seen.append(given))

    importer.registry.run(
        "tracker-greet",
        {"name": "{{TRACKER_KEY}}"},
        replace(OWNER, owner=False, author="model", session="guest"),
    )
    assert seen == [{"name": "{{TRACKER_KEY}}"}]
    called = secure.requests[-1]
    assert (called.headers["authorization"], called.headers["mcp-session-id"]) == (
        "Bearer correct-horse-battery",
        "{{TRACKER_KEY}}",
    )
    assert not any(b"correct-horse" in request.body for request in secure.requests)


def test_a_call_waits_for_anothers_handshake_no_longer_than_it_may_take() -> None:
    server = WebServer(document.WebAddress("tracker", "https://tracker.example/mcp"))
    begun, ended = threading.Event(), threading.Event()

    def hangs(argument: Any, follow: object = None) -> Any:
        begun.set()
        assert ended.wait(10)
        raise ToolError("ENET", "it never answered")

    with ThreadPoolExecutor(2) as threads:
        slow = threads.submit(server.ask, hangs, "tools/list", {}, 10.0)
        assert begun.wait(10)
        quick = threads.submit(server.ask, hangs, "tools/list", {}, 0.05)
        late, still = quick.exception(5), not slow.done()
        ended.set()
    assert still
    assert isinstance(late, ToolError)
    assert (late.code, late.message) == ("ETIMEDOUT", "the server did not answer in time")


def test_what_a_document_asks_for_has_to_be_declared(importer: ToolImporter, fake: FakeMcp) -> None:
    from tests.sigil.tool_importer import spec

    row = importer.list_tools(at(fake))[0]
    good = spec(document.parse_server(at(fake)), row)
    for wrong in (
        {"http": []},
        {**good["permissions"], "kv": True},
        {**good["permissions"], "http": ["POST example.com/"]},
    ):
        with pytest.raises(UsageError, match="permissions"):
            importer.registry.deploy({**good, "permissions": wrong}, OWNER)
    for code in (
        "{}",
        "[]",
        '{"server": {"name": "x", "url": "https://e.com/"}, "tool": "a b"}',
        "not json",
    ):
        with pytest.raises(UsageError):
            importer.registry.deploy({**good, "code": code}, OWNER)


def test_a_server_of_many_tools_says_which_are_wanted(
    importer: ToolImporter, fake: FakeMcp
) -> None:
    fake.tools = [tool(f"tool_{number}") for number in range(10_000)]
    fake.page = 1_000
    with pytest.raises(UsageError, match="more than 200 tools"):
        importer.list_tools(at(fake))
    assert [row["capability"] for row in importer.list_tools(at(fake), "tool_9998", "tool_7")] == [
        "tracker-tool-7",
        "tracker-tool-9998",
    ]
    with pytest.raises(UsageError, match="has no tool 'nothing'"):
        importer.list_tools(at(fake), "nothing")


def test_an_empty_cursor_is_one_where_it_leads_on(importer: ToolImporter, fake: FakeMcp) -> None:
    pages = {"none": [tool("first")], "": [tool("second")]}

    def list_page(request: Recorded, message: dict[str, Any]) -> Answer:
        cursor = message.get("params", {}).get("cursor", "none")
        return rpc(message, {"tools": pages[cursor], "nextCursor": ""})

    def refuse_cursor(request: Recorded, message: dict[str, Any]) -> Answer:
        if "cursor" not in message.get("params", {}):
            return list_page(request, message)
        error = {"code": -32602, "message": "Invalid cursor"}
        return json_answer({"jsonrpc": "2.0", "id": message["id"], "error": error})

    fake.answers["tools/list"] = list_page
    listed = [row["tool"] for row in importer.list_tools(at(fake))]
    fake.answers["tools/list"] = refuse_cursor

    assert listed == ["first", "second"]
    assert [row["tool"] for row in importer.list_tools(at(fake))] == ["first"]


def test_a_list_without_an_end_is_left(importer: ToolImporter, fake: FakeMcp) -> None:
    fake.answers["tools/list"] = lambda request, message: rpc(
        message, {"tools": [], "nextCursor": "again"}
    )
    with pytest.raises(ToolError, match="does not go on"):
        importer.list_tools(at(fake))
