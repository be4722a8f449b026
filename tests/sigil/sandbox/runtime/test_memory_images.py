"""Memory images: the same answers as a fresh load, and no trace of any call, on every path."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256

import pytest

from sigil.errors import ToolError, UsageError
from sigil.sandbox import spawn
from sigil.sandbox.code_store import open_shipped
from sigil.sandbox.pool import Sandbox
from sigil.sandbox.program import Grants, SandboxLimits
from sigil.sandbox.runtime import memory_images
from sigil.sandbox.runtime.driver import Driver
from sigil.sandbox.runtime.memory_images import LoadedSource, MemoryImages
from tests.machine import within
from tests.selection import in_full, thorough
from tests.sigil.sandbox.conftest import ENGINE
from tests.sigil.sandbox.modules import program, script, wasm
from tests.tables import each_row

LIMITS = (64 << 20, 256 << 10)
PROBE = script("""
    const seen = [globalThis.n ?? 0, [].trace ?? 0, {}.trace ?? 0, typeof Object.prototype.leak, JSON.stringify([1]), Math.max(1, 2)];
    globalThis.n = 1; Array.prototype.trace = 1; Object.prototype.leak = 1; return seen;
""")
CLEAN = b'[0,0,0,"undefined","[1]",2]'
MISCHIEF = {
    "counts": "globalThis.n = (globalThis.n ?? 0) + 1; return globalThis.n",
    "pollutes": (
        "Object.prototype.trace = Array.prototype.trace = 1; JSON.stringify = () => 'x'; Math.max ="
        " () => 9; return 0"
    ),
    "freezes": "Object.freeze(Array.prototype); Object.freeze(globalThis); return 0",
    "grows": "globalThis.n = new Uint8Array(40 << 20).fill(255); return n.length",
    "throws": "globalThis.n = 7; throw new Error('no')",
    "loops": "globalThis.n = 7; for (;;);",
    "recurses": "globalThis.n = 7; const f = () => f() + 1; return f()",
    "bombs": "let a = ['x'.repeat(1024)]; for (;;) a = a.concat(a); ",
    "says too much": "return 'x'.repeat(1 << 20)",
    "waits for ever": "await new Promise(() => 0)",
}


@pytest.fixture(scope="module")
def driven() -> tuple[Driver, MemoryImages]:
    driver, shipped = Driver(spawn.library()), open_shipped()
    assert shipped is not None, "scripts/install compiles it"
    code = shipped.read(sha256(ENGINE.read_bytes()).hexdigest())
    assert code is not None
    module = driver.load_copy(code.descriptor, code.size)
    return driver, MemoryImages(driver, driver.prepare(module))


def refuse(_request: bytes) -> bytes | None:
    return None


@pytest.mark.parametrize("mode", [*thorough("plain"), "auto"])
def test_no_call_leaves_a_trace(mode: str, opened: Callable[..., Sandbox]) -> None:
    sandbox = opened(mode=mode)
    milliseconds = round(within(200))  # a child that is late by more than that is killed
    for body in MISCHIEF.values():
        mischief = script(body)
        for _ in range(2):
            with suppress(ToolError):
                assert sandbox.run(
                    mischief, b"{}", limits=SandboxLimits(timeout_ms=milliseconds)
                ).output in (
                    b"1",
                    b"0",
                    b"41943040",
                )
            assert sandbox.run(PROBE, b"{}").output == CLEAN
    assert {sandbox.run(PROBE, b"{}").output for _ in range(2_000 if in_full() else 300)} == {CLEAN}
    assert sandbox.stats()["killed"] == 0


def test_memory_is_as_new_after_a_guest_has_filled_it(driven: tuple[Driver, MemoryImages]) -> None:
    driver, engine = driven
    filler = engine.take(
        b"globalThis.n = new Uint8Array(8 << 20).fill(165); return n.length", LIMITS[0]
    )
    probe = engine.take(b"return 1", LIMITS[0])
    for _ in range(2):
        assert engine.call(filler, b"{}", LIMITS, refuse) == (True, b"8388608")
        assert engine._read_fresh_memory() == engine._base
        store = driver.open(LIMITS[0], refuse)
        driver.enter(engine._engine)
        assert probe.image
        driver.grow_memory(10 << 20)  # what was never given to this instance must be zero as well
        engine._write_image(probe.image)
        expected = bytearray(engine._base) + bytes((10 << 20) - len(engine._base))
        for address, content in probe.image.pages:
            expected[address : address + len(content)] = content
        assert engine._read_memory() == expected
        driver.close(store)


def test_an_image_holds_what_loading_changed_and_nothing_dead(
    driven: tuple[Driver, MemoryImages],
) -> None:
    _, engine = driven
    small = engine.take(b"return input", LIMITS[0]).image
    assert small
    assert small.weight <= 64 << 10
    source = (
        "".join(
            f"function f{n}(a) {{ /* {'x' * 400} */ return a + {n}; }}\n" for n in range(100)
        ).encode()
        + b"return f7(1)"
    )
    large = engine.take(source, LIMITS[0]).image
    assert large
    assert len(source) > 40_000
    assert large.weight <= 10 * len(source) + (48 << 10)


def test_an_image_that_is_too_large_is_not_kept(
    driven: tuple[Driver, MemoryImages], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, engine = driven
    monkeypatch.setattr(memory_images, "IMAGE_BYTES", 4096)
    loaded = engine.take(b"return 5", LIMITS[0])
    assert loaded.image is None
    assert engine.call(loaded, b"{}", LIMITS, refuse) == (True, b"5")


def test_a_source_that_does_not_load_says_so_each_time(opened: Callable[..., Sandbox]) -> None:
    sandbox = opened()
    said = set()
    for _ in range(3):
        with pytest.raises(ToolError) as caught:
            sandbox.run(script("return ("), b"{}")
        said.add(caught.value.message)
    assert len(said) == 1
    assert "(1:9)" in said.pop()


def test_random_numbers_are_not_frozen_in_an_image(opened: Callable[..., Sandbox]) -> None:
    sandbox = opened()
    drawn = {
        sandbox.run(script("return Math.random()"), b"{}", Grants(random=True)).output
        for _ in range(20)
    }
    assert len(drawn) == 20


def test_what_a_module_asks_while_it_is_loaded_is_not_frozen(
    opened: Callable[..., Sandbox],
) -> None:
    sandbox = opened()
    module = script(
        "const drawn = Math.random(); let calls = 0; export default { fetch() { return"
        " Response.json([drawn, ++calls]) } }"
    )
    answers = {sandbox.run(module, b"{}", Grants(random=True)).output for _ in range(5)}
    assert len(answers) == 5
    assert all(answer.endswith(b",1]") for answer in answers)


def test_an_image_larger_than_the_memory_of_a_run_is_loaded_anew(
    opened: Callable[..., Sandbox],
) -> None:
    sandbox = opened()
    source = (
        "".join(
            f"function f{n}(a) {{ return [a, {n}].map((x) => x + {n}); }}\n" for n in range(500)
        )
        + "return f7(1).length"
    )
    assert sandbox.run(script(source), b"{}").output == b"2"
    with pytest.raises(ToolError, match="ENOMEM"):
        sandbox.run(script(source), b"{}", limits=SandboxLimits(memory_bytes=900 << 10))
    assert sandbox.run(script(source), b"{}").output == b"2"


def test_a_source_that_needs_too_long_to_load_ends_at_the_deadline(
    opened: Callable[..., Sandbox],
) -> None:
    sandbox = opened()
    slow = script("/* */" * 50_000 + "return 1")
    with suppress(ToolError):
        assert sandbox.run(slow, b"{}", limits=SandboxLimits(timeout_ms=1)).output == b"1"
    assert sandbox.run(slow, b"{}").output == b"1"


def test_a_linked_module_of_another_making_runs_as_code(opened: Callable[..., Sandbox]) -> None:
    ours = wasm(
        """(module (import "sigil_js_v1" "memory" (memory 0))
        (import "sigil_js_v1" "sigil_alloc" (func $alloc (param i32) (result i32)))
        (func (export "sigil_alloc") (param i32) (result i32) (call $alloc (local.get 0)))
        (func (export "sigil_run") (param i32 i32) (result i32) (i32.const 0)) (export "memory" (memory 0))
        (func (export "sigil_out_ptr") (result i32) (i32.const 0)) (func (export "sigil_out_len") (result i32) (i32.const 0)))"""
    )
    sandbox = opened()
    with pytest.raises(ToolError, match="EOUTPUT"):
        sandbox.run(program(ours, "js"), b"1")
    assert sandbox.run(script("return 1"), b"1").output == b"1"


def test_an_unknown_way_is_refused(opened: Callable[..., Sandbox]) -> None:
    with pytest.raises(UsageError, match="ESETTING"):
        opened(mode="quick")


@each_row("length", [2, 2046, 2047, 2048, 2049, 100_000])
def test_an_input_goes_in_whole_whether_the_buffer_is_large_enough_or_not(
    length: int, driven: tuple[Driver, MemoryImages]
) -> None:
    _, images = driven
    echo = images.take(b"return input", LIMITS[0])
    text = b'"' + b"x" * (length - 2) + b'"'
    for _ in range(2):
        assert images.call(echo, text, LIMITS, refuse) == (True, text)
    assert echo.image
    assert echo.image.buffers.capacity == 2047


FORMS = """
class Point { #x = 1n << 70n; static at = new Point(); get x() { return `${this.#x}`; }
  *walk() { yield* [this.#x, /a+(?<n>b)/gu.exec("xaab").groups.n] } }
const tag = (parts, ...rest) => parts.raw.join("|") + rest;
async function* later() { for await (const each of [1, Promise.resolve(2)]) yield each ** 2; }
label: for (const a of [1, 2]) { for (const b of [3]) { if (a === 2) break label; } }
const [first, { deep = 5, ...others } = {}] = [input.a, { more: [1.5, -0, `${NaN}`, "é编👍"] }];
const all = []; for await (const each of later()) all.push(each);
try { null.x } catch ({ message, stack }) { all.push(message, /:(\\d+):/.exec(stack)[1]) }
const answer = [Point.at.x, [...Point.at.walk()].map(String), tag`a\\n${first}b`, all, deep, others, tag.toString(),
  Point.toString().length, (() => { "use strict"; return typeof this })(), eval("1 + first")];
"""


@pytest.mark.parametrize(
    "source",
    [
        FORMS + "return answer",
        f"export default async (input, env) => {{ {FORMS} return answer }}",
        FORMS + "\n\nreturn input.nothing.at.all",
        FORMS + "const e = new TypeError('odd'); e.code = 'EODD'; throw e",
        "globalThis.count = 1; return [count, typeof answer]",
    ],
)
def test_a_source_that_is_loaded_of_bytecode_does_what_it_does_otherwise(
    source: str, driven: tuple[Driver, MemoryImages], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, taker = driven
    data = b'{"a": 7}'
    plain = taker.take(source.encode(), LIMITS[0])
    monkeypatch.setattr(memory_images, "PACKED_BYTES", 0)
    packed = taker.take(source.encode(), LIMITS[0])
    answers = {
        taker.call(script, data, LIMITS, refuse)
        for script in (plain, packed, packed, LoadedSource(plain.source, None))
    }
    assert len(answers) == 1, answers
    assert answers.pop()[0] == ("return answer" in source or "return [" in source)
    assert plain.image
    assert packed.image


def test_a_large_source_has_a_dense_image(driven: tuple[Driver, MemoryImages]) -> None:
    _, taker = driven
    source = (
        "".join(
            f"function f{n}(a, b) {{ const c = a * {n} + b; return c > 7 ? `${{c}}` : [c, a, b];"
            " }\n"
            for n in range(600)
        )
        + "return f599(1, 2)"
    )
    script = taker.take(source.encode(), LIMITS[0])
    assert script.image
    assert script.image.weight < 8 * len(source)
    assert taker.call(script, b"{}", LIMITS, refuse) == (True, b'"601"')
