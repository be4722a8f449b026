"""A failure reaches the host as a code and one line that helps its author."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sigil.sandbox.engine.driver import Call, Failed, Host, failure, run
from tests.tables import each_row

SYNTAX = {
    'return "a" +* 2': "unexpected token in expression: '*' (1:13)",
    "let a = 1;\n\n  let a = 2": "(3:",
    "return [1, 2": "unexpected end of the source, or a brace too many (1:13)",
    "if (x) {\n  y()": "unexpected end of the source, or a brace too many (2:6)",
    "}": "unexpected end of the source, or a brace too many (1:2)",
    "}; globalThis.pwned = 1; async () => {": "the body closes more braces than it opens",
    "}, async (input, env) => {": "the body closes more braces than it opens",
    "}); globalThis.pwned = 1; (async () => {": "(1:2)",
    "} + async () => {": "(1:3)",
    "import fs from 'fs'": (
        "there is nothing to import here: one file holds all that it needs (1:8)"
    ),
    "const a = 1;\nimport fs from 'fs';\nexport default () => a": (
        "there is nothing to import here: one file holds all that it needs (2:8)"
    ),
    "export * from './other.js'": (
        "there is nothing to import here: one file holds all that it needs (1:1)"
    ),
    "\nexport const a = 1": (
        "the module has no default export: export default { async fetch(request, env, ctx) { … } }"
    ),
    "export default {\n  async fetch() { return 1 +* 2 }\n}": (
        "unexpected token in expression: '*' (2:29)"
    ),
    "export default 1;\nreturn 2": "return not in a function (2:1)",
    "export default {\n": "(2:1)",
    "return 'export default {}' +* 1": "unexpected token in expression: '*' (1:29)",
}
THROWN = {
    "null.x": ("ETHROWN", "TypeError: cannot read property 'x' of null (line 1)"),
    "\n\n\nlet a = 1;\n a()": ("ETHROWN", "TypeError: not a function (line 5)"),
    "const f = () => {\n  throw new RangeError('too far') };\nf()": (
        "ETHROWN",
        "RangeError: too far (line 2)",
    ),
    "throw 'words'": ("ETHROWN", "words"),
    "throw null": ("ETHROWN", "null"),
    "throw { a: 1 }": ("ETHROWN", "{ a: 1 }"),
    "throw Object.assign(new Error('no such unit'), { code: 'EINVAL' })": (
        "EINVAL",
        "no such unit",
    ),
    "throw { code: 'ENOENT', message: 'gone' }": ("ENOENT", "gone"),
    "throw Object.assign(new Error('x'), { code: 'enoent' })": ("ETHROWN", "Error: x (line 1)"),
    "throw Object.assign(new Error('x'), { code: 'E' })": ("ETHROWN", "Error: x (line 1)"),
    "throw Object.assign(new Error('x'), { code: 'E' + 'X'.repeat(16) })": (
        "ETHROWN",
        "Error: x (line 1)",
    ),
    "class Mine extends Error { name = 'Mine' }; throw new Mine('m')": (
        "ETHROWN",
        "Mine: m (line 1)",
    ),
    "await Promise.reject(new Error('later'))": ("ETHROWN", "Error: later (line 1)"),
    "queueMicrotask(() => { throw new Error('aside') }); await null": (
        "ETHROWN",
        "Error: aside (line 1)",
    ),
    "throw { get message() { throw 1 } }": ("ETHROWN", "what was thrown cannot be read"),
    "throw new Proxy({}, { get() { throw 1 } })": ("ETHROWN", "what was thrown cannot be read"),
    "throw { code: 'EINVAL', message: 'a\\nb\\u202e\\u0000c\\ud800' }": ("EINVAL", "a b c\ufffd"),
    "return await import('os')": ("ETHROWN", "ReferenceError: could not load module 'os'"),
    "await new Promise(() => {})": ("EPENDING", "the promise never settles"),
    "return () => () => 1": ("EOUTPUT", "result is a function: return what it gives"),
    "const a = {}; a.a = a; return a": ("EOUTPUT", "result.a contains itself"),
    "return { toJSON() { throw { code: 'EMINE', message: 'm' } } }": ("EMINE", "m"),
}


@each_row("source", SYNTAX)
def test_a_syntax_error_names_its_place_in_the_authors_source(source: str) -> None:
    code, message = failure(source)
    assert code == "ESYNTAX"
    assert SYNTAX[source] in message


def test_nothing_runs_of_a_source_that_is_more_than_a_body() -> None:
    host = Host({"log": lambda arg: None})
    with pytest.raises(Failed, match="ESYNTAX"):
        run("}; console.log('ran'); async () => {", host=host)
    assert host.requests == []


@each_row(
    "source",
    [
        "return 1 // end",
        "return 1 /* end */",
        "return 1;",
        '"use strict"; return 1',
        "{ return 1 }",
        "return '}'.length",
        "\ufeffreturn 1",
    ],
)
def test_every_whole_body_is_taken(source: str) -> None:
    assert run(source) == 1


@each_row("source", THROWN)
def test_what_is_thrown_is_told_in_one_line(source: str) -> None:
    assert failure(source) == THROWN[source]


@pytest.mark.parametrize("source", ["return", "return undefined", "return null", "await null"])
def test_no_result_is_null(source: str) -> None:
    assert run(source) is None


def test_a_body_that_returns_nothing_has_acted_or_fails() -> None:
    kv: dict[str, Any] = {"kv.put": lambda arg: None}
    assert run("await env.KV.put('a', input)", "b", **kv) is None
    assert run("const put = () => env.KV.put('a', input);\nawait put()", "b", **kv) is None
    assert run("async ({ a }, env) => { await env.KV.put('a', a) }", {"a": "b"}, **kv) is None
    logged = failure("console.log(input.a)", {"a": 1}, log=lambda arg: None)
    assert logged == ("EOUTPUT", "nothing was returned: end the body with return and the value")


def test_a_long_message_is_cut() -> None:
    _, message = failure("throw new Error('😀'.repeat(1000))")
    assert len(message.encode("utf-16-le")) // 2 <= 300
    assert message.endswith("…")


def test_an_author_who_breaks_the_words_of_javascript_still_gets_a_failure() -> None:
    source = (
        "JSON.stringify = Array.prototype.join = String.prototype.slice = RegExp.prototype.exec ="
        " () => { throw 1 }; return null.x"
    )
    assert failure(source)[0] == "ETHROWN"


def test_the_functions_of_the_prelude_stay_out_of_reach() -> None:
    source = """
        const seen = [];
        Error.prepareStackTrace = (error, sites) => { seen.push(...sites.map(site => site.getFunction())) };
        try { Date.now() } catch (error) { seen.push(error.stack) }
        Function.prototype.call = Function.prototype.apply = Reflect.apply = function () { seen.push(this) };
        try { Math.random() } catch {}
        return [typeof seen[0], seen.length]
    """
    assert run(source) == ["string", 1]


@each_row("text", ["", "{", "[1,]", "NaN", "'x'", "1 2", "\x00"])
def test_an_input_that_is_no_json_is_refused(text: str) -> None:
    call = Call("return 1")
    call.load()
    with pytest.raises(Failed, match="EINPUT: the input is no JSON"):
        call.run(text.encode())


def test_a_host_that_knows_no_such_operation_is_told_about() -> None:
    class Deaf(Call):
        def _ask(self, address: int, length: int) -> int:
            return -1

    call = Deaf("return Date.now()")
    call.load()
    with pytest.raises(Failed, match="EHOST: the host knows no clock"):
        call.run(b"null")
    call = Deaf("return env.call('x', 'y'.repeat(2000))")
    call.load()
    with pytest.raises(
        Failed, match="ELIMIT: the request for call is too large or nested too deep"
    ):
        call.run(b"null")
