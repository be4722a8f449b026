"""The server answers the requests of guests that wait in a real child, also of guests that abuse
them.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from sigil.errors import BackendError, Refused, SigilError, ToolError
from sigil.protocol import Json
from sigil.sandbox.pool import Sandbox
from sigil.sandbox.program import Grants, LoadedProgram, LoadedPrograms, SandboxLimits
from sigil.sandbox.protocol import (
    ASK_LIMIT,
    ASKS,
    DeadlinePassed,
    FrameChannel,
    FrameKind,
    ProtocolBreach,
    RunOrder,
    pack_answer,
    pack_ask,
)
from sigil.sandbox.runner_process import LoadableCode, RunnerProcess
from sigil.sandbox.tenants import SOLE_TENANT, Tenant
from tests.machine import until, within
from tests.sigil.sandbox.modules import CALL, TAKE, asking, data, guest, program, script
from tests.tables import each_row

ALL = Grants(services=frozenset({"http", "kv", "call"}))
RESPONSE = {
    "url": "https://h/",
    "status": 200,
    "statusText": "OK",
    "headers": [],
    "body": "aGk=",
    "redirected": False,
}


class Serving:
    """Services that remember what they were asked for."""

    def __init__(
        self, answer: Callable[[str, Json], Json] = lambda operation, argument: argument
    ) -> None:
        self.asked: list[tuple[str, Json]] = []
        self.seconds: list[float] = []
        self.threads: set[int] = set()
        self._answer = answer

    def answer(self, operation: str, argument: Json, seconds: float) -> Json:
        self.asked.append((operation, argument))
        self.seconds.append(seconds)
        self.threads.add(threading.get_ident())
        return self._answer(operation, argument)


def run(
    sandbox: Sandbox,
    source: str,
    services: Any,
    grants: Grants = ALL,
    limits: SandboxLimits = SandboxLimits(),  # noqa: B008
    input: Any = None,
    tenant: Tenant = SOLE_TENANT,
) -> Any:
    return json.loads(
        sandbox.run(
            script(source),
            json.dumps(input or {}).encode(),
            grants,
            limits,
            services,
            tenant=tenant,
        ).output
    )


def raising(problem: BaseException) -> Callable[[str, Json], Json]:
    def answer(operation: str, argument: Json) -> Json:
        raise problem

    return answer


def test_a_guest_is_answered_in_the_callers_thread_with_what_is_left_of_its_time(
    sandbox: Sandbox,
) -> None:
    services = Serving()
    assert run(
        sandbox,
        "return [await env.call('a', { ü: '日' }), await env.call('b', 2)]",
        services,
        limits=SandboxLimits(timeout_ms=2000),
    ) == [
        {"name": "a", "input": {"ü": "日"}},
        {"name": "b", "input": 2},
    ]
    assert services.threads == {threading.get_ident()}
    assert 2 >= services.seconds[0] >= services.seconds[1] > 0


def test_the_web_and_the_store_go_through(sandbox: Sandbox) -> None:
    answers = {
        "http.fetch": RESPONSE,
        "kv.get": {"value": "v"},
        "kv.list": {"keys": [], "cursor": None},
    }
    services = Serving(lambda operation, argument: answers.get(operation))
    source = """export default { async fetch(request, env) {
        const text = await (await fetch("https://h")).text();
        await env.KV.put("k", text); await env.KV.delete("k");
        return Response.json([text, await env.KV.get("k"), await env.KV.list()]) } }"""
    assert run(sandbox, source, services) == ["hi", "v", {"keys": [], "list_complete": True}]
    assert [operation for operation, _ in services.asked] == [
        "http.fetch",
        "kv.put",
        "kv.delete",
        "kv.get",
        "kv.list",
    ]


def test_a_module_without_javascript_asks_as_well(sandbox: Sandbox) -> None:
    services = Serving(lambda operation, argument: {"value": argument["key"]})
    outcome = sandbox.run(
        program(asking('{"op":"kv.get","arg":{"key":"k"}}')), b"{}", ALL, services=services
    )
    assert json.loads(outcome.output) == {"ok": {"value": "k"}}


@pytest.mark.parametrize(
    ("problem", "code"),
    [
        (ToolError("ENOENT", "no such\nhost \u202e"), "ENOENT"),
        (Refused("EPERM", "no such\nhost"), "EPERM"),
        (BackendError("EUNAVAILABLE", "no such\nhost"), "EUNAVAILABLE"),
    ],
)
def test_a_failure_of_a_service_can_be_caught_and_says_its_code(
    problem: Exception, code: str, sandbox: Sandbox
) -> None:
    source = "try { await env.KV.get('k') } catch (e) { return [e.code, e.message] }"
    assert run(sandbox, source, Serving(raising(problem))) == [code, "no such host"]


def test_a_guest_that_passes_on_a_code_of_the_runtime_keeps_its_message_alone(
    sandbox: Sandbox,
) -> None:
    with pytest.raises(ToolError, match="EGUEST: it is down"):
        run(
            sandbox,
            "return env.KV.get('k')",
            Serving(raising(BackendError("EUNAVAILABLE", "it is down"))),
        )


def test_a_fault_of_a_service_ends_the_call_and_its_child_and_nothing_else(
    sandbox: Sandbox,
) -> None:
    with pytest.raises(ZeroDivisionError):
        run(
            sandbox,
            "try { await env.KV.get('k') } catch {} return 1",
            Serving(raising(ZeroDivisionError())),
        )
    assert run(sandbox, "return 2", None) == 2


@pytest.mark.parametrize(
    ("operation", "service"),
    [
        ("fetch('https://h')", "http.fetch"),
        ("env.KV.get('k')", "kv.get"),
        ("env.call('x')", "call"),
    ],
)
def test_what_is_not_granted_never_leaves_the_child(
    operation: str, service: str, sandbox: Sandbox
) -> None:
    name = service.partition(".")[0]
    services = Serving()
    with pytest.raises(ToolError) as caught:
        run(sandbox, f"return {operation}", services, Grants(services=ALL.services - {name}))
    assert (
        str(caught.value)
        == f"EPERM: {service} is not declared: add permissions.{name} to the manifest"
    )
    with pytest.raises(ToolError, match=f"EPERM: {service} is not served here"):
        run(sandbox, f"return {operation}", None)
    assert services.asked == []


def test_a_flood_of_requests_ends_at_its_limit(sandbox: Sandbox) -> None:
    services = Serving(lambda operation, argument: {"value": None})
    source = (
        "let n = 0, code; for (;;) try { await env.KV.get(`${n}`); n++ } catch (e) { return [n,"
        " e.code, e.message] }"
    )
    assert run(sandbox, source, services) == [
        ASKS,
        "ELIMIT",
        f"a run makes at most {ASKS} requests",
    ]
    assert len(services.asked) == ASKS
    assert (
        run(
            sandbox,
            "return (await Promise.allSettled(Array.from({ length: 200 }, () =>"
            " env.KV.get('a')))).filter(r => r.value === null).length",
            services,
        )
        == ASKS
    )


def test_a_huge_request_is_refused_in_the_child(sandbox: Sandbox) -> None:
    services = Serving()
    for source in (
        "return env.KV.put('k', 'x'.repeat(1 << 20))",
        "return env.call('x', 'ü'.repeat(1 << 19))",
        "return fetch('https://h', { method: 'POST', body: new Uint8Array(1 << 20) })",
    ):
        with pytest.raises(ToolError, match="ELIMIT"):
            run(sandbox, source, services)
    assert services.asked == []
    assert (
        run(sandbox, "return (await env.call('x', 'ü'.repeat(1 << 18))).input.length", services)
        == 1 << 18
    )


@pytest.mark.parametrize(
    "argument", ['{"name":"\\\\ud800"}', '{"name":1e400}', "[" * 400 + "]" * 400]
)
def test_an_argument_that_is_no_strict_json_is_refused(argument: str, sandbox: Sandbox) -> None:
    services = Serving(lambda operation, value: 1)
    answer = json.loads(
        sandbox.run(
            program(asking(f'{{"op":"call","arg":{argument}}}'.replace("\\\\", "\\"))),
            b"{}",
            ALL,
            services=services,
        ).output
    )
    assert answer is None or answer.get("ok") == 1 or answer["error"]["code"] in ("EINVAL", "EJSON")
    assert (
        sandbox.run(program(asking('{"op":"call","arg":1}')), b"{}", ALL, services=services).output
        == b'{"ok":1}'
    )


def test_an_answer_that_is_too_large_or_no_json_is_an_error_that_can_be_caught(
    sandbox: Sandbox,
) -> None:
    source = "try { return (await env.call('x')).length } catch (e) { return e.code }"
    assert (
        run(sandbox, source, Serving(lambda operation, argument: "x" * (ASK_LIMIT - 2)))
        == ASK_LIMIT - 2
    )
    for value in ("x" * ASK_LIMIT, "\ud800", {1, 2}, 2**70):
        assert run(sandbox, source, Serving(lambda operation, argument, value=value: value)) in (
            "ELIMIT",
            "EJSON",
        )


def test_answers_that_do_not_fit_into_the_memory_are_the_guests_failure(sandbox: Sandbox) -> None:
    services = Serving(lambda operation, argument: "x" * (ASK_LIMIT - 2))
    source = "const all = []; for (;;) all.push((await env.call('x')).split(''))"
    with pytest.raises(ToolError, match="ENOMEM"):
        run(sandbox, source, services, limits=SandboxLimits(memory_bytes=8 << 20))
    module = guest(
        "(global.set $n (call $call (i32.const 4096) (i32.const 13))) (call $take (i32.const"
        " 120000)) (i32.const 0)",
        imports=CALL + TAKE,
        more=data(4096, '{"op":"call"}'),
    )
    with pytest.raises(ToolError, match="ETRAP: memory access out of bounds"):
        sandbox.run(program(module), b"{}", ALL, services=services)
    assert run(sandbox, "return 1", None) == 1


def test_a_promise_of_a_service_that_nobody_awaits_ends_with_the_call(sandbox: Sandbox) -> None:
    services = Serving(lambda operation, argument: {"value": "late"})
    assert (
        run(
            sandbox,
            "env.KV.get('a').then(async (v) => { for (;;) await env.KV.get(v) }).catch(() => 0);"
            " return 1",
            services,
        )
        == 1
    )
    with pytest.raises(ToolError, match="EPENDING"):
        run(sandbox, "await env.KV.get('a'); await new Promise(() => {})", services)


class Slow:
    """Takes all the time that it is given, and `more` seconds."""

    def __init__(self, more: float = 0.0) -> None:
        self.more = more

    def answer(self, operation: str, argument: Json, seconds: float) -> Json:
        time.sleep(seconds + self.more)  # what the tests are about
        return {"value": None}


@pytest.mark.parametrize(
    "source",
    ["await env.KV.get('a'); for (;;);", "for (;;) try { await env.KV.get('a') } catch {}"],
)
def test_a_service_that_takes_all_the_time_leaves_none_for_the_guest(
    source: str, opened: Callable[..., Sandbox]
) -> None:
    sandbox = opened()
    run(sandbox, "return 1", None)
    before = sandbox.pids()
    with pytest.raises(ToolError, match="ETIMEDOUT: timed out after 100 ms"):
        run(sandbox, source, Slow(), limits=SandboxLimits(timeout_ms=100))
    assert sandbox.pids() == before


def test_a_service_that_is_much_too_late_costs_the_call_and_its_child(
    opened: Callable[..., Sandbox],
) -> None:
    sandbox = opened()
    run(sandbox, source := "return input.k && env.KV.get(input.k)", None)
    patience = round(within(50))
    with pytest.raises(ToolError, match=f"ETIMEDOUT: timed out after {patience} ms"):
        run(
            sandbox,
            source,
            Slow(6 * patience / 1000),
            limits=SandboxLimits(timeout_ms=patience),
            input={"k": "a"},
        )
    assert sandbox.stats()["killed"] == 1
    assert run(sandbox, "return 1", None) == 1


def test_a_child_killed_while_the_server_works_for_it_fails_that_call_alone(
    opened: Callable[..., Sandbox],
) -> None:
    sandbox = opened()
    asked: list[str] = []

    def kill(operation: str, argument: Json) -> Json:
        asked.append(operation)
        for child in list(sandbox._workers._parked):
            child._process.kill()
            child._process.wait()
        return {"value": "too late"}

    with pytest.raises(ToolError, match="ETRAP: the sandbox process ended unexpectedly"):
        run(sandbox, "return env.KV.get('k')", Serving(kill))
    assert asked == ["kv.get"]
    assert run(sandbox, "return 1", None) == 1


def test_a_call_within_a_call_needs_no_second_place(opened: Callable[..., Sandbox]) -> None:
    sandbox = opened(children=1)

    def answer(operation: str, argument: Json) -> Json:
        depth = argument["input"]
        return [
            depth,
            run(
                sandbox,
                "return input.n ? env.call('x', input.n - 1) : 'end'",
                services,
                input={"n": depth},
            ),
        ]

    services = Serving(answer)
    assert run(sandbox, "return env.call('x', 3)", services) == [3, [2, [1, [0, "end"]]]]
    assert sandbox.stats()["children"] == 1
    assert sandbox.stats()["busy"] == 0


def test_a_call_within_a_call_goes_before_those_that_only_come(
    opened: Callable[..., Sandbox],
) -> None:
    sandbox = opened(children=1)
    done: list[str] = []
    others: list[Future[None]] = []

    def work(name: str) -> None:
        run(sandbox, "for (let n = 0; n < 3e6; n++); return 1", None)
        done.append(name)

    def answer(operation: str, argument: Json) -> Json:
        others.extend(pool.submit(work, "another") for _ in range(3))
        until(lambda: sandbox.stats()["waiting"], "another waits")
        work("within")
        return {}

    with ThreadPoolExecutor(3) as pool:
        run(
            sandbox,
            "return env.call('x', 1)",
            Serving(answer),
            limits=SandboxLimits(timeout_ms=20_000),
        )
        for other in others:
            other.result()
    assert done.index("within") <= 1


def test_whoever_comes_first_is_served_first(opened: Callable[..., Sandbox]) -> None:
    sandbox, over = opened(children=1), threading.Event()

    def again() -> None:
        while not over.is_set():
            run(sandbox, "return 1", None)

    with ThreadPoolExecutor(2) as pool:
        others = [pool.submit(again) for _ in range(2)]
        try:
            for _ in range(20):
                assert run(sandbox, "return 2", None) == 2
        finally:
            over.set()
        for other in others:
            other.result()


def test_slow_services_keep_nobody_else_waiting(opened: Callable[..., Sandbox]) -> None:
    sandbox = opened(children=1)
    inside, done = threading.Event(), threading.Event()

    def wait(operation: str, argument: Json) -> Json:
        inside.set()
        assert done.wait(within(10))
        return {"value": "waited"}

    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(
            run,
            sandbox,
            "return env.KV.get('k')",
            Serving(wait),
            limits=SandboxLimits(timeout_ms=20_000),
        )
        assert inside.wait(within(10))
        assert run(sandbox, "return 1", None) == 1
        done.set()
        assert slow.result(timeout=within(20)) == "waited"


def test_who_cannot_wait_for_a_place_is_told(opened: Callable[..., Sandbox]) -> None:
    sandbox = opened(children=1)
    with ThreadPoolExecutor(1) as pool:
        busy = pool.submit(run, sandbox, "for (;;);", None, limits=SandboxLimits(timeout_ms=30_000))
        until(lambda: sandbox.stats()["busy"], "the only place is taken")
        with pytest.raises(BackendError, match="EBUSY"):
            run(sandbox, "return 1", None, limits=SandboxLimits(patience_ms=20))
        assert not busy.done()
        sandbox.close()
        with pytest.raises(BackendError, match="EUNAVAILABLE"):
            busy.result(timeout=within(20))


def test_closing_ends_a_call_that_waits_for_a_service(opened: Callable[..., Sandbox]) -> None:
    sandbox = opened(children=1)

    def close(operation: str, argument: Json) -> Json:
        sandbox.close()
        return {"value": None}

    with pytest.raises(BackendError, match="EUNAVAILABLE: the sandbox was closed"):
        run(sandbox, "return env.KV.get('k')", Serving(close))
    assert sandbox.pids() == frozenset()


def ask(
    operation: str = "kv.get", milliseconds: int = 1000, argument: bytes = b"{}"
) -> tuple[int, bytes]:
    return FrameKind.ASK, pack_ask(operation, milliseconds, argument)


FORGED: dict[str, list[tuple[int, bytes]]] = {
    "a request for what was not granted": [ask("http.fetch")],
    "an unknown operation": [(FrameKind.ASK, b"\x06\0\0\0\0{}")],
    "a request cut short": [(FrameKind.ASK, b"\x01\0\0")],
    "a huge request": [ask(argument=b'"' + b"x" * ASK_LIMIT + b'"')],
    "two requests at once": [ask(), ask()],
    "a request and an output at once": [ask(), (FrameKind.DONE, pack_answer(b"1", []))],
    "an answer of its own": [(FrameKind.ANSWER, b"{}")],
    "a need after a request": [ask(), (FrameKind.NEED, b"x")],
    "one request too many": [ask()] * (ASKS + 1),
}


@each_row("name", FORGED)
def test_a_forged_frame_of_a_runner_is_a_breach(name: str) -> None:
    ours, theirs = socket.socketpair()
    child = RunnerProcess.__new__(RunnerProcess)
    child._channel = FrameChannel(ours)
    child.programs = LoadedPrograms()
    child.programs = LoadedPrograms()
    served: list[bytes] = []

    def serve(operation: str, argument: bytes, seconds: float) -> bytes:
        served.append(argument)
        return b"{}"

    def forge() -> None:
        channel = FrameChannel(theirs)
        channel.receive(frozenset((FrameKind.RUN,)))
        if "at once" in name:
            theirs.sendall(
                b"".join(
                    bytes([kind]) + len(payload).to_bytes(4, "big") + payload
                    for kind, payload in FORGED[name]
                )
            )
            return
        for kind, payload in FORGED[name]:
            channel.send(kind, payload)
            if len(FORGED[name]) > 1 and kind is FrameKind.ASK:
                channel.receive(frozenset((FrameKind.ANSWER,)))

    with ours, theirs, ThreadPoolExecutor(1) as pool:
        forging = pool.submit(forge)
        order = RunOrder("x", False, frozenset({"kv"}), 5000, 1 << 20, 100, b"1")
        try:
            with pytest.raises(ProtocolBreach):
                child.run(order, lambda _: LoadableCode(b"wasm", LoadedProgram(0)), serve)
        finally:
            ours.close()
        forging.exception(timeout=within(10))
    assert len(served) <= ASKS


def test_a_runner_that_claims_more_time_than_it_has_gains_none() -> None:
    ours, theirs = socket.socketpair()
    child = RunnerProcess.__new__(RunnerProcess)
    child._channel = FrameChannel(ours)
    child.programs = LoadedPrograms()
    child.programs = LoadedPrograms()
    left: list[float] = []

    def serve(operation: str, argument: bytes, seconds: float) -> bytes:
        left.append(seconds)
        return b"{}"

    with ours, theirs:
        FrameChannel(theirs).send(*ask(milliseconds=2**32 - 1))
        with pytest.raises(DeadlinePassed):
            child.run(
                RunOrder("x", False, frozenset({"kv"}), 50, 1 << 20, 100, b"1"),
                lambda _: LoadableCode(b"wasm", LoadedProgram(0)),
                serve,
            )
    assert left[0] <= 0.05


def test_a_call_within_a_call_works_in_the_slot_of_the_outer_one(
    opened: Callable[..., Sandbox],
) -> None:
    sandbox, owner, alice = opened(children=1), Tenant("main"), Tenant("alice")
    done: list[str] = []
    others: list[Future[None]] = []

    def crowd() -> None:
        run(sandbox, "for (let n = 0; n < 3e6; n++); return 1", None, tenant=alice)
        done.append("alice")

    def answer(operation: str, argument: Json) -> Json:
        if argument["input"] == 3:
            others.extend(pool.submit(crowd) for _ in range(4))
            until(lambda: sandbox.stats()["waiting"] >= 4, "all others wait")
        depth = argument["input"]
        return run(
            sandbox,
            "return input.n ? env.call('x', input.n - 1) : 'end'",
            services,
            input={"n": depth},
            tenant=owner,
        )

    services = Serving(answer)
    with ThreadPoolExecutor(4) as pool:
        assert (
            run(
                sandbox,
                "return env.call('x', 3)",
                services,
                limits=SandboxLimits(timeout_ms=20_000),
                tenant=owner,
            )
            == "end"
        )
        assert done == []
        for other in others:
            other.result()


def test_calls_that_go_on_all_at_once_are_not_all_at_work_at_once(
    opened: Callable[..., Sandbox],
) -> None:
    sandbox, alice = opened(children=2), Tenant("alice")
    inside, go = threading.Semaphore(0), threading.Event()
    done: list[str] = []

    def wait(operation: str, argument: Json) -> Json:
        inside.release()
        assert go.wait(within(20))
        return {"value": 1}

    def crowd() -> None:
        with pytest.raises(SigilError):
            run(
                sandbox,
                "env.KV.get('k'); for (;;);",
                Serving(wait),
                limits=SandboxLimits(timeout_ms=20_000),
                tenant=alice,
            )
        done.append("alice")

    with ThreadPoolExecutor(12) as pool:
        for _ in range(12):
            pool.submit(crowd)
        for _ in range(12):
            assert inside.acquire(timeout=within(20))
        go.set()
        # twice her share goes on
        until(lambda: sandbox.stats()["waiting"] >= 8, "the others wait")
        assert [
            run(sandbox, "return input", None, input=n, tenant=Tenant("main")) for n in range(1, 5)
        ] == [1, 2, 3, 4]
        assert done == []
        sandbox.close()
