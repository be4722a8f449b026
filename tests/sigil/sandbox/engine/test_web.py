"""The rest of the web's names: time, console, structuredClone; and that nothing else is there."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.project.tree import ROOT
from tests.sigil.sandbox.engine.driver import Host, evaluate, failure, run
from tests.tables import each_row

NAMES = set(
    """
    AbortController AbortSignal AggregateError Array ArrayBuffer AsyncDisposableStack BigInt BigInt64Array BigUint64Array Boolean
    CryptoKey DOMException DataView Date DisposableStack Error EvalError FinalizationRegistry Float16Array
    Float32Array Float64Array Function Headers Infinity Int16Array Int32Array Int8Array Iterator JSON Map Math
    NaN Number Object Promise Proxy RangeError ReadableStream ReferenceError Reflect RegExp Request Response Set String
    SuppressedError Symbol SyntaxError TextDecoder TextEncoder TypeError URIError URL URLSearchParams
    Uint16Array Uint32Array Uint8Array Uint8ClampedArray WeakMap WeakRef WeakSet atob btoa console crypto
    decodeURI decodeURIComponent encodeURI encodeURIComponent escape eval fetch globalThis isFinite isNaN
    parseFloat parseInt performance queueMicrotask setImmediate setInterval setTimeout structuredClone
    undefined unescape
    """.split()
)
NOW = 1_763_772_000_123.75
DENIED = {
    "Date.now()": "clock",
    "new Date()": "clock",
    "Date()": "clock",
    "Reflect.construct(Date, [])": "clock",
    "new (class extends Date {})()": "clock",
    "new (new Date(0).constructor)()": "clock",
    "new (structuredClone(new Date(0)).constructor)()": "clock",
    "performance.now()": "clock",
    "Math.random()": "random",
    "crypto.randomUUID()": "random",
    "crypto.getRandomValues(new Uint8Array(1))": "random",
    "crypto.subtle.generateKey({ name: 'HMAC', hash: 'SHA-1' }, true, ['sign'])": "random",
    "console.log(1)": "log",
    "fetch('https://example.com')": "http.fetch",
    "env.KV.get('a')": "kv.get",
    "env.KV.getWithMetadata('a')": "kv.get",
    "env.KV.put('a', '1')": "kv.put",
    "env.KV.list()": "kv.list",
    "env.KV.delete('a')": "kv.delete",
    "env.call('other', {})": "call",
}


def test_there_are_the_webs_names_and_no_others() -> None:
    assert set(evaluate("Object.getOwnPropertyNames(globalThis)")) == NAMES


def test_the_guide_names_what_throws_and_what_is_missing() -> None:
    guide = (ROOT / "docs" / "javascript.md").read_text("utf-8")
    throws = re.search(r"(`setTimeout`[^.]*) throw `ENOSYS`", guide)
    missing = re.search(r"These names do not exist:([^.]*)\.", guide)
    assert throws
    assert missing
    assert set(re.findall(r"`(\w+)`", throws[1])) <= NAMES
    assert set(re.findall(r"`(\w+)`", missing[1])).isdisjoint(NAMES)


@each_row("expression", DENIED)
def test_what_is_not_granted_throws_a_clear_error(expression: str) -> None:
    assert failure(f"return {expression}") == ("EPERM", f"{DENIED[expression]} is not granted")


def test_a_denial_can_be_caught_and_has_its_code() -> None:
    assert run(
        "try { Date.now() } catch (error) { return [error instanceof Error, error.code,"
        " error.message] }"
    ) == [
        True,
        "EPERM",
        "clock is not granted",
    ]


def test_the_clock_shows_what_the_host_says() -> None:
    expression = "[Date.now(), new Date().getTime(), performance.now(), Date(), typeof Date.now()]"
    assert evaluate(expression, clock=lambda arg: NOW) == [
        int(NOW),
        int(NOW),
        NOW,
        "Sat Nov 22 2025 00:40:00 GMT+0000",
        "number",
    ]


def test_dates_that_are_given_need_no_clock() -> None:
    expression = "[Date.parse('2020-01-01'), Date.UTC(2020, 1), new Date(2020, 5).toISOString()]"
    assert evaluate(expression) == [1577836800000, 1580515200000, "2020-06-01T00:00:00.000Z"]
    assert evaluate("[new Date(5) instanceof Date, Date.length, Date.name]") == [True, 7, "Date"]
    assert evaluate("new Date('2020-01-01T00:00').getTimezoneOffset()") == 0


@pytest.mark.parametrize("name", ["setTimeout", "setInterval", "setImmediate"])
def test_timers_say_that_they_do_not_exist(name: str) -> None:
    code, message = failure(f"{name}(() => 1, 5)")
    assert code == "ENOSYS"
    assert message.startswith(f"{name} does not exist here")


@each_row(
    ("arguments", "text"),
    [
        ("'a', 1, 'b'", "a 1 b"),
        (
            "{ a: [1, 'x', { b: null }], f() {}, 'c-d': undefined }",
            '{ a: [ 1, "x", { b: null } ], f: [Function: f], "c-d": undefined }',
        ),
        ("new Map([[1, new Set([2])]])", "Map { 1 => Set { 2 } }"),
        (
            "new TypeError('no'), /x/g, 10n, Symbol('q'), new Date(0)",
            "TypeError: no /x/g 10n Symbol(q) 1970-01-01T00:00:00.000Z",
        ),
        (
            "(o => { o.o = o; return o })({}), new Uint8Array([1, 2])",
            "{ o: [Circular] } Uint8Array [ 1, 2 ]",
        ),
        ("'\\ud800'", "\ufffd"),
        ("new Proxy({}, { ownKeys() { throw 1 } })", "[what cannot be shown]"),
    ],
)
def test_the_console_writes_for_people(arguments: str, text: str) -> None:
    host = Host({"log": lambda arg: None})
    run(f"console.log({arguments}); return 1", host=host)
    assert host.requests == [{"op": "log", "arg": {"level": "log", "text": text}}]


def test_each_level_of_the_console_is_told() -> None:
    host = Host({"log": lambda arg: None})
    run(
        "for (const level of ['debug', 'log', 'info', 'warn', 'error']) console[level](level);"
        " console.assert(false, 'x'); return 1",
        host=host,
    )
    assert [request["arg"]["level"] for request in host.requests] == [
        "debug",
        "log",
        "info",
        "warn",
        "error",
        "error",
    ]


@each_row(
    ("expression", "expected"),
    [
        ("structuredClone({ a: [1, null], b: undefined })", {"a": [1, None]}),
        (
            (
                "(a => { a.self = a; const b = structuredClone(a); return b.self === b && b !== a"
                " })({})"
            ),
            True,
        ),
        ("structuredClone(new Map([[{ k: 1 }, new Set([1])]])).keys().next().value", {"k": 1}),
        (
            (
                "(b => (c => c.x.buffer === c.y.buffer)(structuredClone({ x: new DataView(b), y:"
                " new Uint8Array(b) })))(new ArrayBuffer(8))"
            ),
            True,
        ),
        (
            "(e => [e instanceof RangeError, e.message])(structuredClone(new RangeError('m')))",
            [True, "m"],
        ),
        ("structuredClone(new Date(5)).getTime() + structuredClone(/x/g).flags", "5g"),
    ],
)
def test_values_are_cloned(expression: str, expected: Any) -> None:
    assert evaluate(expression) == expected


@pytest.mark.parametrize(
    "value", ["() => 1", "Symbol()", "new WeakMap()", "Promise.resolve()", "{ a: [() => 1] }"]
)
def test_what_cannot_be_cloned_is_refused(value: str) -> None:
    assert failure(f"structuredClone({value})")[1].startswith("DataCloneError")


def test_microtasks_run_in_order() -> None:
    source = (
        "const seen = []; queueMicrotask(() => seen.push(2)); seen.push(1); await null;"
        " seen.push(3); return seen"
    )
    assert run(source) == [1, 2, 3]
