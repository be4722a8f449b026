"""Code in the forms in which models write it: it runs as it was meant, or is refused with the form
that is right. No form gives a wrong value.
"""

from __future__ import annotations

import json

from sigil.compile.compiler import build
from sigil.deploy.golden_tests import require_loadable
from sigil.errors import SigilError
from sigil.manifest.package import parse_flat
from sigil.protocol import Json
from sigil.sandbox.pool import Sandbox
from sigil.sandbox.program import Program

INPUT = b'{"a": 2, "b": 3, "name": "Ada"}'
SUMS = (
    "return input.a + input.b",
    "const { a, b } = input;\nreturn a + b;",
    "async (input, env) => { return input.a + input.b }",
    "async ({ a, b }) => a + b",
    "(input) => input.a + input.b;",
    "args => args.a + args.b",
    "(a, b) => a + b",
    "function add(a, b = 0) { return a + b; }",
    "function add(input) { return input.a + input.b }",
    "async function execute(input, env) {\n  const { a, b } = input;\n  return a + b;\n}",
    "(function () { return arguments[0].a + arguments[0].b })",
    "const add = ({a, b}) => a + b",
    "let add = function (input) { return input.a + input.b };",
    "add = (input) => input.a + input.b",
    "const ONE = 1;\nconst add = ({ a, b }) => a + b - ONE + 1;\n// it adds",
    "function half(n) { return n / 2 }\nfunction main(input) { return half(2 * input.a) + input.b }",
    "const execute = async (input) => input.a + input.b;\nreturn execute;",
    "return (input) => input.a + input.b",
    "// adds\ninput.a + input.b // the sum",
    "input.a + input.b;\n",
    "await Promise.resolve(input.a + input.b)",
    "(async () => input.a + input.b)();",
    "(() => { const { a, b } = input; return a + b })()",
    "module.exports = async (input) => input.a + input.b;",
    "module.exports = { execute(input) { return input.a + input.b } };",
    "const add = ({ a, b }) => a + b;\nmodule.exports = { add };",
    "exports.handler = async (event) => event.a + event.b;",
    "export default async ({ a, b }) => a + b",
    "export default function (a, b) { return a + b }",
    "const run = (input) => input.a + input.b;\nexport default run;",
    "export default { execute(input) { return input.a + input.b } }",
    "export default { async fetch(r) { const { a, b } = await r.json(); return Response.json(a + b) } }",
    "export async function add({ a, b }) { return a + b }",
    "export const add = async (input) => input.a + input.b;",
    "return (input.a as number) + input.b",
    "const a: number = input.a;\nreturn a + input.b;",
    "interface Input { a: number; b: number }\nasync (input: Input): Promise<number> => input.a + input.b",
    "export default async function run(input: { a: number, b: number }): Promise<number> { return input.a + input.b }",
    "type Pair = [number, number];\nconst pair: Pair = [input.a, input.b!];\nreturn pair[0] + pair[1]",
    "const sum = <T extends number>(x: T, y: T): number => x + y;\nreturn sum(input.a, input.b)",
)
"""Forms that give 5."""
NOTHING = "nothing was returned: end the body with return and the value"
REFUSED = {
    "const sum = input.a + input.b": "it returns nothing: it is the body of a function",
    "const sum = Math.max(input.a, input.b);": NOTHING,
    "const add = (i) => i.a + i.b;\nadd(input)": NOTHING,
    "const double = x => x * 2;\nconst out = double(input.a)": NOTHING,
    "let n = 0;\nfor (const each of [input.a, input.b]) n += each;": NOTHING,
    "if (input.a > 9) throw new Error('too large')": NOTHING,
    "(input) => { input.a + input.b }": NOTHING,
    "const half = n => n / 2;\nconst twice = n => n * 2;": (
        "it declares several functions and calls none: end it with return NAME(input)"
    ),
    "class Adder { execute(input) { return input.a + input.b } }": "class constructors must be invoked",
    "(x, y) => x + y": "the function takes (x, y), and the input has none of these",
    "`Hello ${input}`": "input is an object, and no text or number",
    "return 'Hello ' + input": "input is an object, and no text or number",
    "who => `Hello ${who}`": "input is an object, and no text or number",
    "export const sum = 5": "the module has no default export",
    "export default { sum: 5 }": "what is exported is neither a function nor an object",
    "import { add } from 'math';\nadd(input.a, input.b)": "there is nothing to import here",
    "const math = require('math'); return math.add(input.a, input.b)": "require is not defined",
    "return input.a +": "unexpected",
}
RESULTS: dict[str, Json] = {
    "{ sum: input.a + input.b }": {"sum": 5},
    "({ sum: input.a + input.b })": {"sum": 5},
    "return { files: [1, 2].map(async n => n * 2) }": {"files": [2, 4]},
    "return { now: Promise.resolve({ later: Promise.resolve(1) }) }": {"now": {"later": 1}},
    "return new Map([['a', new Set([1, 2])], [2, null]])": {"a": [1, 2], "2": None},
    "return new Map([['a', 1]]).keys()": ["a"],
    "return [...'abab'.matchAll(/a/g)].length": 2,
    "return Promise.allSettled([Promise.reject(new RangeError('no'))])": [
        {"status": "rejected", "reason": {"name": "RangeError", "message": "no"}}
    ],
    "return { big: 12345678901234567890n, small: 1n }": {
        "big": "12345678901234567890",
        "small": "1",
    },
    "return { at: new Date(0) }": {"at": "1970-01-01T00:00:00.000Z"},
    "return { a: undefined, b: 1 }": {"b": 1},
    "return { bytes: new Uint8Array([1, 2]) }": {"bytes": [1, 2]},
    "return new (class Point { x = 1; #y = 2; get z() { return 3 } })()": {"x": 1},
    "return new URL('https://x.org/a?b=1')": "https://x.org/a?b=1",
    "return { query: new URLSearchParams({ a: 1 }), head: new Headers({ A: '1' }) }": {
        "query": "a=1",
        "head": {"a": "1"},
    },
    "return Response.json({ at: new Date(0), of: new Map([['a', 1]]) })": {
        "at": "1970-01-01T00:00:00.000Z",
        "of": {"a": 1},
    },
    "return { missing: input.missing ?? null }": {"missing": None},
    "return (1234567.5).toLocaleString()": "1,234,567.5",
    "return (1.005).toLocaleString('en-US', { maximumFractionDigits: 2 })": "1.01",
    "return (1234.5).toLocaleString('en-US', { style: 'currency', currency: 'USD' })": "$1,234.50",
    "return (0.256).toLocaleString('en-US', { style: 'percent' })": "26%",
    "return new Date(0).toLocaleString()": "1/1/1970, 12:00:00 AM",
    "return new Date(0).toLocaleDateString('en-US', { weekday: 'long' })": "Thursday",
    "return new Date(0).toLocaleDateString('en-US', { year: 'numeric', month: 'long', day: 'numeric' })": (
        "January 1, 1970"
    ),
    "return ['Zoe', 'adam', 'Émile', 'eve', 'Eve'].sort((x, y) => x.localeCompare(y))": [
        "adam",
        "Émile",
        "eve",
        "Eve",
        "Zoe",
    ],
    "return ['a10', 'a9'].sort((x, y) => x.localeCompare(y, undefined, { numeric: true }))": [
        "a9",
        "a10",
    ],
}
LOST = {
    "return { total: { n: NaN } }": "result.total.n is NaN",
    "return [1, -Infinity]": "result[1] is -Infinity",
    "return [1, 2].map(n => { n * 2 })": "result[0] is undefined",
    "return { list: new Array(2) }": "result.list[0] is undefined",
    "return { sum() { return 1 } }": "result.sum is a function",
    "return { 'a b': Symbol('x') }": 'result["a b"] is a symbol',
    "return { d: new Date('soon') }": "result.d is no valid date",
    "return { pattern: /a/ }": "result.pattern is a RegExp",
    "return { bytes: new ArrayBuffer(2) }": "result.bytes holds bytes",
    "return new Map([[{}, 1]])": "result is a Map with keys that are no texts",
    "const a = { b: [] }; a.b.push(a); return a": "result.b[0] contains itself",
    "async function* each() { yield 1 } return { all: each() }": "result.all is an asynchronous iterator",
    "return { late: [Promise.resolve(NaN)] }": "result.late[0] is NaN",
    "return { late: Promise.reject(new Error('no line')) }": "no line",
    "return Response.json({ n: NaN })": "result.n is NaN",
    "return Response.json([Promise.resolve(1)])": "has a promise in the body of its response",
    "return new Error('no answer')": "no answer",
    "return new Date(0).toLocaleString('de-DE', { timeZone: 'Asia/Tokyo' })": 'the locale "de-DE"',
    "return new Date(0).toLocaleTimeString('en-US', { timeZone: 'Asia/Tokyo' })": "the time zone",
    "return (1234567.5).toLocaleString('de-DE')": 'the locale "de-DE"',
    "return (5).toLocaleString('en-US', { notation: 'compact' })": "the option notation",
    "return 'a'.localeCompare('b', 'sv')": 'the locale "sv"',
    "return 'i'.toLocaleUpperCase('tr')": 'the locale "tr"',
    "return new Intl.NumberFormat('en-US').format(5)": "Intl is not defined",
}


def outcome(sandbox: Sandbox, source: str) -> Json:
    """Return what a deployed source gives for `INPUT`, or `CODE: message` of its refusal."""
    package = parse_flat({"name": "form", "execute": source})
    try:
        built = build(package, sandbox)
        program = Program(built.digest, built.kind, lambda: built.wasm)
        require_loadable(sandbox, package.manifest, program)
        answer: Json = json.loads(sandbox.run(program, INPUT).output)
    except SigilError as problem:
        return f"{problem.code}: {problem.message}"
    return answer


def test_every_form_of_a_sum_gives_the_sum(sandbox: Sandbox) -> None:
    assert len(SUMS) == 40
    assert {source: outcome(sandbox, source) for source in SUMS} == dict.fromkeys(SUMS, 5)


def test_what_is_no_form_is_refused_with_the_form_that_is_right(sandbox: Sandbox) -> None:
    for source, words in REFUSED.items():
        answer = outcome(sandbox, source)
        assert isinstance(answer, str), source
        assert words in answer, (source, answer)


def test_results_come_out_as_they_were_meant(sandbox: Sandbox) -> None:
    assert {source: outcome(sandbox, source) for source in RESULTS} == RESULTS


def test_what_json_would_lose_is_refused_with_its_place(sandbox: Sandbox) -> None:
    for source, words in LOST.items():
        answer = outcome(sandbox, source)
        assert isinstance(answer, str), source
        assert answer.startswith(("EOUTPUT: ", "ETHROWN: ", "ENOSYS: ")), (source, answer)
        assert words in answer, (source, answer)
