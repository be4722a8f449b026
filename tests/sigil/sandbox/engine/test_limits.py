"""A hostile or careless body can end in a clean failure or in a trap, and does nothing to the next
call.
"""

from __future__ import annotations

import json
import threading

import pytest
from wasmtime import Trap, TrapCode

from tests.sigil.sandbox.engine import driver
from tests.sigil.sandbox.engine.driver import Call, compiled, failure, run
from tests.tables import each_row

RECURSIONS = (
    "(function f() { f() })()",
    "const f = (...a) => f(...a, 1); f()",
    "const f = () => [1].map(f); f()",
    "const f = () => [2, 1].sort(f); f()",
    "const f = () => 'x'.replace(/x/, f); f()",
    "const o = { toString: () => `${o}` }; `${o}`",
    "const o = { get a() { return this.a } }; o.a",
    "const p = new Proxy({}, { get: (t, k, r) => r[k] }); p.x",
    "class A { constructor() { new A() } } new A()",
    "function f() { return f.apply(this, arguments) } f()",
    "async function f() { await f() } await f()",
    "function* g() { yield* g() } [...g()]",
    "const f = () => eval('f()'); f()",
    "const f = () => JSON.stringify({ toJSON: f }); f()",
)
BOMBS = (
    "const a = []; for (;;) a.push(new Array(1000).fill(1.5))",
    "const a = []; for (let i = 0; ; i++) a.push(i)",
    "const m = new Map(); for (let i = 0; ; i++) m.set(i, `${i}`)",
    "return new ArrayBuffer(2 ** 30).byteLength",
    "return new Uint8Array(100e6).length",
    "return 'x'.repeat(5e8).split('').length",
    "let f = () => 1; for (;;) f = f.bind(null)",
    "throw 'x'.repeat(60e6)",
)


@each_row("source", RECURSIONS)
def test_a_deep_recursion_is_an_error_that_the_author_can_catch(source: str) -> None:
    caught = (
        f"const deep = async () => {{ {source} }}; try {{ await deep() }} catch (error) {{ return"
        " `${error.name}: ${error.message}` }"
    )
    assert run(caught) == "RangeError: Maximum call stack size exceeded"


def test_an_ordinary_depth_is_there() -> None:
    assert run("const sum = n => n ? n + sum(n - 1) : 0; return sum(500)") == 125_250
    assert run("return input", json.loads("[" * 400 + "]" * 400)) == json.loads(
        "[" * 400 + "]" * 400
    )


@pytest.mark.parametrize(
    "source",
    [
        "JSON.parse('['.repeat(1e5))",
        "eval('('.repeat(1e5))",
        "let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return JSON.stringify(a)",
    ],
)
def test_what_recurses_inside_the_engine_ends_in_a_trap(source: str) -> None:
    with pytest.raises(Trap) as caught:
        run(source)
    assert caught.value.trap_code == TrapCode.STACK_OVERFLOW


def test_a_result_that_is_nested_too_deep_is_an_error() -> None:
    source = "let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return a"
    assert failure(source) == ("ETHROWN", "RangeError: Maximum call stack size exceeded")


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A quarter of the memory, which is full sooner."""
    monkeypatch.setattr(driver, "MEMORY", driver.MEMORY // 4)


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("source", BOMBS)
def test_memory_ends_in_a_clean_error(source: str) -> None:
    assert failure(source) == ("ENOMEM", "out of memory")


@pytest.mark.usefixtures("little_memory")
def test_after_memory_ran_out_the_author_can_go_on() -> None:
    assert (
        run(
            "let a = []; try { for (;;) a.push(new Array(1000).fill(1)) } catch { a = null } return"
            " 'x'.repeat(1e6).length"
        )
        == 1_000_000
    )


@pytest.mark.parametrize(
    "source",
    [
        "for (;;);",
        "for (;;) { try { for (;;); } catch {} }",
        "return /^(a+)+$/.test('a'.repeat(50) + 'b')",
        "for (;;) await null",
    ],
)
def test_what_never_ends_is_stopped_from_outside(source: str) -> None:
    call = Call(source)
    call.load()
    timer = threading.Timer(0.05, compiled()[0].increment_epoch)
    timer.start()
    with pytest.raises(Trap) as caught:
        call.run(b"null")
    timer.join()
    assert caught.value.trap_code == TrapCode.INTERRUPT


def test_no_room_for_the_input_is_told() -> None:
    call = Call("return 1")
    for size in (64 << 20, 2**31 - 1, 2**32 - 1):
        assert call.export("sigil_alloc", size - 2**32 if size >= 2**31 else size) == 0


def test_a_big_input_and_a_big_output_go_through() -> None:
    texts = ["ä" * 200_000, "x" * 3_000_000]
    assert run("return input.map(text => text + text)", texts) == [text * 2 for text in texts]


def test_text_of_any_script_goes_both_ways() -> None:
    text = "aé日本😀\u2028\u0000\x7f\ud800"
    assert run("return [input, input.length, [...input].length]", text) == [text, 10, 9]


def test_one_instance_can_run_often() -> None:
    call = Call("return globalThis.n = (globalThis.n ?? 0) + input")
    call.load()
    assert [call.run(b"2") for _ in range(200)] == list(range(2, 402, 2))


def test_long_use_of_an_instance_does_not_eat_its_memory() -> None:
    call = Call(
        "const all = []; for (let i = 0; i < 300; i++) all.push('x'.repeat(i * 7), new Uint8Array(i"
        " * 31), { i, all }); return all.length"
    )
    call.load()
    sizes = [(call.run(b"null"), call.memory.size(call.store))[1] for _ in range(120)]
    assert sizes[-1] <= 2 * 24 * 16 + sizes[0]  # cycles are collected from 24 MiB on


def test_what_is_kept_stays_as_it_is_while_memory_is_used_and_freed() -> None:
    source = """
        let seed = input;
        const random = n => (seed = (seed * 1103515245 + 12345) & 0x7fffffff) % n;
        const size = () => random([64, 64, 3000, 60000, 300000][random(5)]);
        const filled = (n, v) => ({ bytes: new Uint8Array(n).fill(v), v });
        const broken = ({ bytes, v }) => bytes.some(byte => byte !== v);
        const kept = [];
        for (let i = 0; i < 1200; i++) {
            if (kept.length < 40) kept.push(filled(size(), i & 255));
            const place = random(kept.length), one = kept[place];
            if (random(2)) kept[place] = filled(size(), i & 255);
            else if (broken({ ...one, bytes: new Uint8Array(one.bytes = one.bytes.slice(0, random(one.bytes.length + 1))) })) return i;
            const grown = [];
            while (grown.length < random(900)) grown.push(grown.length);
            if (grown.some((n, at) => n !== at)) return i;
        }
        return kept.findIndex(broken);
    """
    assert [run(source, seed) for seed in (1, 22, 333)] == [-1, -1, -1]


def test_a_call_leaves_no_trace_in_the_next() -> None:
    run(
        "globalThis.trace = 1; Array.prototype.map = null; Object.prototype.x = 1; JSON.parse ="
        " null; env.KV = null; Date.now = () => 0; return 1"
    )
    assert run(
        "return [typeof trace, [1].map(n => n + 1), ({}).x === undefined, typeof env.KV.get]"
    ) == [
        "undefined",
        [2],
        True,
        "function",
    ]


def test_two_fresh_instances_end_with_the_same_memory() -> None:
    source = (
        "return [input, [3, 1, 2].sort(), new Map([[{}, 1]]).size, Object.keys({ b: 1, a: 2 }),"
        " `${Symbol('s').description}`]"
    )
    ends = []
    for _ in range(2):
        call = Call(source)
        call.load()
        call.run(b'{"a":[1,2,3]}')
        ends.append(call.read(0, call.memory.data_len(call.store)))
    assert ends[0] == ends[1]
