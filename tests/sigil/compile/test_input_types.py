"""The types that an editor gets say what the schema says."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from sigil.compile.input_types import write_types
from sigil.manifest.model import Manifest
from tests.servers.npm import node, packages


def types_of(schema: dict[str, Any], lang: str = "ts", **more: Any) -> str:
    manifest = Manifest.model_validate(
        {"name": "x", "description": "X.", "lang": lang, "input": schema, **more}
    )
    return write_types(manifest).partition("\n")[2]


SHAPES = [
    ({"type": "string"}, "string"),
    ({"type": ["integer", "null"]}, "number | null"),
    ({"enum": ["a", 'b"|', 1, None, True]}, '"a" | "b\\"|" | 1 | null | true'),
    ({"const": "a"}, '"a"'),
    ({"type": "array", "items": {"enum": ["a", "b"]}}, '("a" | "b")[]'),
    ({"type": "array", "items": {"type": "string"}}, "string[]"),
    ({"type": "array", "prefixItems": [{"type": "number"}], "items": False}, "[number]"),
    ({"type": "array", "prefixItems": [{"type": "number"}]}, "[number, ...Json[]]"),
    ({"anyOf": [{"type": "string"}, {"type": "number"}]}, "string | number"),
    (
        {"allOf": [{"$ref": "#/$defs/a-b"}, {"type": "object"}]},
        "Input_a_b & { [name: string]: Json }",
    ),
    ({"type": "object", "additionalProperties": {"type": "number"}}, "{ [name: string]: number }"),
    ({"type": "object", "additionalProperties": False}, "{}"),
    ({"$ref": "#/$defs/a-b"}, "Input_a_b"),
    ({}, "Json"),
]


def test_each_kind_of_schema_has_its_type() -> None:
    definitions = {"a-b": {"type": "object", "properties": {"n": {"type": "integer"}}}}
    for schema, expected in SHAPES:
        written = types_of(
            {
                "type": "object",
                "properties": {"it": schema},
                "required": ["it"],
                "$defs": definitions,
            }
        )
        assert f"  it: {expected};\n" in written, schema
    assert "type Input_a_b = {\n  n?: number;\n};\n" in written


def test_an_input_has_its_descriptions_defaults_and_strange_names() -> None:
    schema = {
        "type": "object",
        "required": ["text"],
        "properties": {
            "text": {"type": "string", "description": "What to\nsay. */"},
            "times": {"type": "integer", "default": 1},
            "im-port": {"type": "boolean"},
        },
    }
    assert types_of(schema, "js", output={"type": "string"}) == (
        "interface Input {\n  /** What to say. * / */\n  text: string;\n  times: number;\n"
        '  "im-port"?: boolean;\n}\n'
        "\ntype Output = string;\n"
        "\n// What the body of the function in main.js finds.\n"
        "declare const input: Input;\ndeclare const env: Env;\n"
    )


def test_the_compiler_of_typescript_takes_them(tmp_path: Path) -> None:
    starters = Path(__file__).parents[3] / "sigil" / "cli" / "starters"
    (tmp_path / "sigil.d.ts").write_bytes((starters / "sigil.d.ts").read_bytes())
    properties = {f"p{number}": schema for number, (schema, _) in enumerate(SHAPES)}
    definitions = {"a-b": {"type": "object", "properties": {"n": {"type": "integer"}}}}
    schema = {"type": "object", "properties": properties, "$defs": definitions, "required": ["p0"]}
    (tmp_path / "input.d.ts").write_text(types_of(schema))
    (tmp_path / "main.ts").write_text("export default (input: Input): number => input.p0.length;\n")
    tsc = packages() / "node_modules" / "typescript" / "bin" / "tsc"
    check = [node(), tsc, "--strict", "--noEmit", "--lib", "es2024", "--module", "preserve"]
    done = subprocess.run(
        [*check, "--ignoreConfig", "--types", "", "sigil.d.ts", "input.d.ts", "main.ts"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == ""
