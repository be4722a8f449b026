"""TypeScript without its types: what runs afterwards, where errors point, and what a hostile source
costs.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sigil
from sigil.compile.compiler import build
from sigil.compile.typescript import strip_types
from sigil.errors import Refused, ToolError, one_line
from sigil.manifest.model import Manifest
from sigil.manifest.package import SOURCE_BYTES, Package
from sigil.sandbox.pool import Sandbox
from sigil.sandbox.program import Program
from tests.selection import in_full

ENGINE = Path(sigil.__file__).parent / "sandbox" / "engine" / "engine.wasm"


def run(sandbox: Sandbox, source: str, value: object = None) -> object:
    package = Package(Manifest(name="typed", description="Typed.", lang="ts"), source.encode())
    built = build(package, sandbox)
    assert built.kind == "js"
    program = Program(built.digest, built.kind, lambda: built.wasm)
    return json.loads(sandbox.run(program, json.dumps(value or {}).encode()).output)


def refusal(sandbox: Sandbox, source: str) -> str:
    with pytest.raises(Refused) as caught:
        strip_types(source, "typed", sandbox)
    assert (caught.value.code, caught.value.source) == ("EMODULE", "typed")
    assert caught.value.message == one_line(caught.value.message)
    return caught.value.message


EVERYTHING = """\
interface Shape { readonly kind: "circle" | "square"; size?: number }
type Maybe<T> = T extends string ? T : undefined;
enum Colour { Red, Green = "g", Blue = 1 << 2 }
const enum Flag { On = 1 }
declare const unused: unique symbol;
declare namespace Gone { const x: number }
abstract class Base<T> {
  abstract area(): T;
  protected constructor(public readonly name: string, private n = 2) {}
  get twice() { return this.n * 2 }
}
class Circle extends Base<number> implements Shape {
  kind = "circle" as const; size!: number; declare ghost: string;
  constructor() { super("c") }
  override area(): number { return 3 }
}
function over(a: string): string;
function over(a: number): number;
function over(this: void, a: any): any { return a }
const id = <T,>(value: T): T => value, shout = async <T extends string>(text: T): Promise<string> => text.toUpperCase();
const table = { a: 1, b: [2, 3] as const } satisfies Record<string, unknown>;
const [first, ...rest]: number[] = [1, 2, 3];
let label: string | undefined = (input as { text?: string }).text!;
const test = (x: unknown): x is string => typeof x === "string";
return [Colour.Green, Colour[4], Flag.On, new Circle().area(), new Circle().twice, new Circle().name, over(5), id<number>(7),
  await shout("x"), table.b[1], rest?.length ?? 0, label, test(label), 1 < 2 && 2 > 1, `${id<string>("t")}`];
"""


def test_types_go_and_what_they_stand_on_works(sandbox: Sandbox) -> None:
    assert run(sandbox, EVERYTHING, {"text": "hey"}) == [
        "g",
        "Blue",
        1,
        3,
        4,
        "c",
        5,
        7,
        "X",
        3,
        2,
        "hey",
        True,
        True,
        "t",
    ]


def test_what_only_looks_like_what_is_refused_works(sandbox: Sandbox) -> None:
    source = "enum E { A = 'a', B = 'abc'.length }\n"
    source += (
        "const o = { import: 1, export: 2, enum: { a: `b` } }, { enum: { a } } = o; let E2 = `x` +"
        " 'y';\n"
    )
    source += "return [E.A, E[3], Object.keys(E), o.import = 4, o.export = 3, o.enum.a, a, E2];"
    assert run(sandbox, source) == ["a", "B", ["3", "A", "B"], 4, 3, "b", "b", "xy"]


def test_a_module_in_the_form_of_workers_works(sandbox: Sandbox) -> None:
    source = (
        "type Body = { n: number };\nexport default { async fetch(request: Request):"
        " Promise<Response> {\n"
    )
    source += "const { n } = await request.json() as Body;\nreturn Response.json(n * 2) } };\n"
    assert run(sandbox, source, {"n": 4}) == 8


def test_every_line_stays_where_it_was(sandbox: Sandbox) -> None:
    code = strip_types(EVERYTHING, "typed", sandbox)
    assert len(code.split("\n")) == len(EVERYTHING.split("\n"))
    with pytest.raises(ToolError, match=r"too small \(line 6\)"):
        run(
            sandbox,
            "interface A {\n  a: string;\n}\nenum E {\n  X }\nif (E.X < 1) throw new Error('too"
            " small');\n",
        )


def test_plain_javascript_passes_as_it_is(sandbox: Sandbox) -> None:
    source = (
        "const a = { b: [1, 2] }; // a comment\nconst re = /<T>(x): y/g;\nreturn `a ${a.b[0] < 2}"
        " </script>` + re.source;\n"
    )
    assert strip_types(source, "typed", sandbox) == source


def test_the_digest_is_of_the_typescript(sandbox: Sandbox) -> None:
    one, two = (
        Package(Manifest(name="t", description="T.", lang="ts"), code)
        for code in (b"return 1 as any", b"return 1 as 1")
    )
    assert one.digest != two.digest
    assert build(one, sandbox).digest == build(one, sandbox).digest


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("const a: = 1;", "line 1, column 10: unexpected token"),
        ("let a: number = 1;\nreturn a + (b as );", "line 2, column 18: unexpected token"),
        (
            "let a: number = 1;\n\nlet b: string; let a: number;",
            "line 3, column 29: invalid redefinition",
        ),
        (
            "type A = {\n  b: 1;\n};\nreturn ((1 as number) + ;",
            "line 4, column 25: unexpected token",
        ),
        (
            "let a = 1;\nnamespace N { export const q = 1 }\n",
            "line 2, column 1: a namespace with values",
        ),
        ("export module A.B { export const q = 1 }", "line 1, column 8: a namespace with values"),
        ("let a = 1;\n export = a;", "line 2, column 2: export = is no TypeScript of ours"),
        (
            "let a = 1;\nimport fs = require('fs');",
            "line 2, column 1: import = require is no TypeScript of ours",
        ),
        (
            "import type fs = require('fs');",
            "line 1, column 1: import = require is no TypeScript of ours",
        ),
        (
            "export import fs = require('fs');",
            "line 1, column 8: import = require is no TypeScript of ours",
        ),
        ("enum E { A = 1, B = `b` }", "line 1, column 21: the text of an enum is one literal"),
        (
            "const enum E {\n A = (1 + 2), B = 'a' + 'b',\n}",
            "line 2, column 19: the text of an enum is one literal",
        ),
        ("const s = 'unterminated", "line 1, column"),
        ("@decorated class A { b: number }", "line 1, column"),
        ("\0", "line 1, column 1: unexpected character"),
    ],
    ids=range(15),
)
def test_what_cannot_be_read_is_told_with_line_and_column(
    source: str, said: str, sandbox: Sandbox
) -> None:
    assert refusal(sandbox, source).startswith(said)


@pytest.mark.parametrize(
    "source",
    [
        "(" * 100_000,
        "`${" * 20_000,
        "a<" * 50_000,
        "x as " * 40_000,
        "a?(b)=>" * 20_000,
        "async <" * 30_000,
        "f(a<b<" * 20_000,
        "let a: " + "{a:" * 50_000,
        "type A<T> = " + "T extends string ? " * 10_000,
        "enum A {" + "a," * 60_000,
        "class A {" * 20_000,
        "a?(b):" * 25,
        "(a?(b)=>(c):" * 18,
        "}; (async () => {",
    ],
    ids=lambda source: source[:12],
)
def test_a_hostile_source_ends_as_a_refusal_within_the_limits(
    source: str, sandbox: Sandbox
) -> None:
    assert len(source) <= SOURCE_BYTES
    refusal(sandbox, source)
    assert strip_types("let a: number", "typed", sandbox) == "let a"


def test_the_largest_source_is_read(sandbox: Sandbox) -> None:
    """In the suite three quarters of it are a comment, which is read sooner."""
    unit = (
        "const f%d = (text: string, more: { strict?: boolean } = {}): string[] => [text,"
        " `${more!.strict}`] as string[];\n"
    )
    source = ""
    while len(source) < (SOURCE_BYTES - 400 if in_full() else SOURCE_BYTES // 4):
        source += unit % len(source)
    source += f"// {'x' * (SOURCE_BYTES - 100 - len(source))}\n"
    source += "return f0('x') as unknown;"
    assert run(sandbox, source) == ["x", "undefined"]


def test_a_lone_surrogate_is_told(sandbox: Sandbox) -> None:
    assert "lone surrogate" in refusal(sandbox, "'\ud800'")
