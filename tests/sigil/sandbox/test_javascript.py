"""JavaScript capabilities through the whole of it: plugin, engine, child, answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from sigil.errors import ToolError
from sigil.sandbox.pool import Sandbox
from sigil.sandbox.program import Grants, SandboxLimits
from tests.sigil.sandbox.modules import script
from tests.tables import each_row

LATE = "ETIMEDOUT: timed out after 150 ms"
HOSTILE = {
    "for (;;);": LATE,
    "while (true) { try { for (;;); } catch {} }": LATE,
    "for (;;) await 1": LATE,
    "return /^(a+)+$/.test('a'.repeat(40) + 'b')": LATE,
    "return JSON.stringify({ toJSON() { for (;;); } })": LATE,
    "await new Promise(() => {})": "EPENDING: the promise never settles",
    "return new ArrayBuffer(2 ** 30)": "ENOMEM: out of memory",
    "return 'x'.repeat(262143)": "ELIMIT: the output is larger than 262144 bytes",
    "return '\\ud800'": "EOUTPUT: the output is not one JSON value in UTF-8",
    "throw Object.assign(new Error('a\\n\\u202eb'), { code: 'EINVAL' })": "EINVAL: a b",
}
BOMBS = (
    "let a = []; for (;;) a.push(new Array(10000).fill(1))",
    "return 'x'.repeat(40e6)",
    "let s = 'x'; for (;;) s += s",
)
RECURSIONS = (
    "const f = () => f(); f()",
    "JSON.parse('['.repeat(1e5))",
    "let a = {}; for (let i = 0; i < 1e5; i++) a = { a }; return a",
    "return new RegExp('('.repeat(1e5))",
)
MACHINE = (
    "process",
    "require",
    "Deno",
    "Bun",
    "std",
    "os",
    "WebAssembly",
    "__host",
    "scriptArgs",
    "print",
    "load",
)
DENIED = {
    "return Date.now()": "clock is not declared: add permissions.clock to the manifest",
    "return new Date()": "clock is not declared: add permissions.clock to the manifest",
    "return Math.random()": "random is not declared: add permissions.random to the manifest",
    "console.log(1)": "log is not declared: add permissions.log to the manifest",
    "return fetch('https://example.com/')": (
        "http.fetch is not declared: add permissions.http to the manifest"
    ),
    "return env.KV.get('a')": "kv.get is not declared: add permissions.kv to the manifest",
    "return env.call('other', {})": "call is not declared: add permissions.call to the manifest",
}


@pytest.mark.parametrize("source", HOSTILE)
def test_a_hostile_script_ends_within_its_limits_and_the_next_works(
    source: str, sandbox: Sandbox, failure: Callable[..., str]
) -> None:
    assert " ".join(failure(script(source)).split()) == HOSTILE[source]
    assert sandbox.run(script("return input"), b'{"next":"works"}').output == b'{"next":"works"}'


@pytest.mark.parametrize("source", BOMBS)
def test_a_bomb_is_stopped(source: str, sandbox: Sandbox) -> None:
    with pytest.raises(ToolError, match=r"ENOMEM|ETIMEDOUT|string too long"):
        sandbox.run(script(source), b"{}")
    assert sandbox.run(script("return 1"), b"{}").output == b"1"


@pytest.mark.parametrize("source", RECURSIONS)
def test_deep_recursion_is_stopped(source: str, sandbox: Sandbox) -> None:
    with pytest.raises(ToolError, match=r"ESTACK|RangeError|SyntaxError|ENOMEM|EOUTPUT"):
        sandbox.run(script(source), b"{}")
    assert sandbox.run(script("return 1"), b"{}").output == b"1"


@each_row("name", MACHINE)
def test_nothing_of_the_machine_is_in_reach(name: str, sandbox: Sandbox) -> None:
    assert sandbox.run(script(f"return typeof {name}"), b"{}").output == b'"undefined"'


@each_row(
    "name", ["fs", "os", "std", "node:child_process", "https://example.com/x.js", "/etc/passwd"]
)
def test_there_is_no_module_to_import(name: str, sandbox: Sandbox) -> None:
    with pytest.raises(ToolError):
        sandbox.run(script(f"return await import('{name}')"), b"{}")


@pytest.mark.parametrize("source", DENIED)
def test_what_is_not_granted_throws_and_says_how_to_get_it(
    source: str, failure: Callable[..., str]
) -> None:
    assert failure(script(source)) == f"EPERM: {DENIED[source]}"


def test_what_is_granted_works(sandbox: Sandbox) -> None:
    source = (
        "console.log('hi', { a: 1 }); console.warn('there'); return [Date.now() > 1e12,"
        " Math.random() < 1]"
    )
    outcome = sandbox.run(script(source), b"{}", Grants(clock=True, random=True, log=True))
    assert outcome.output == b"[true,true]"
    assert outcome.logs == ("hi { a: 1 }", "warn: there")


def test_nothing_of_a_call_is_seen_by_the_next(sandbox: Sandbox) -> None:
    source = (
        "globalThis.n = (globalThis.n || 0) + 1; Object.prototype.p = ({}).p ? 2 : 1; return [n,"
        " ({}).p]"
    )
    assert {sandbox.run(script(source), b"{}").output for _ in range(20)} == {b"[1,1]"}


def test_a_syntax_error_is_found_at_load(failure: Callable[..., str]) -> None:
    assert failure(script("return 1;\nlet let = 2")).startswith("ESYNTAX: ")
    assert failure(script("return 1 })); hostile((() => {")).startswith("ESYNTAX: ")


def test_only_the_first_call_of_a_program_is_cold(sandbox: Sandbox) -> None:
    fresh = script("return 'only the first call of this is cold'")
    assert [sandbox.run(fresh, b"{}").cold for _ in range(3)] == [True, False, False]


def test_more_programs_than_a_child_keeps_all_run(sandbox: Sandbox) -> None:
    programs = [script(f"return {n}") for n in range(150)]
    for _ in range(2):
        assert [int(sandbox.run(each, b"{}").output) for each in programs] == list(range(150))


def test_many_callers_and_two_children_give_each_his_own_answer(
    opened: Callable[..., Sandbox],
) -> None:
    sandbox = opened(children=2)
    programs = [script(f"return [{n}, input.n]") for n in range(5)]
    with ThreadPoolExecutor(6) as pool:
        answers = list(
            pool.map(
                lambda n: json.loads(sandbox.run(programs[n % 5], b'{"n":%d}' % n).output),
                range(300),
            )
        )
    assert answers == [[n % 5, n] for n in range(300)]


def test_the_published_limits_are_the_defaults() -> None:
    assert SandboxLimits() == SandboxLimits(
        timeout_ms=5000, memory_bytes=64 * 1024 * 1024, output_bytes=256 * 1024
    )
