"""The full form: a module with a default export, in the way of Cloudflare's Workers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sigil.sandbox.engine.driver import Call, Host, failure, run
from tests.tables import each_row


def worker(body: str, before: str = "", **granted: Any) -> str:
    return f"{before}\nexport default {{ async fetch(request, env, ctx) {{ {body} }} }};"


def test_the_input_arrives_as_a_request() -> None:
    source = worker(
        "return Response.json([request.method, request.url, request.headers.get('content-type'),"
        " await request.json()])"
    )
    given = {
        "text": "a b",
        "n": 2,
        "deep": {"x": 1},
        "list": [1, "z"],
        "none": None,
        "yes": True,
        "long": "x" * 1001,
    }
    url = "https://capability/?text=a+b&n=2&list=1&list=z&yes=true"
    assert run(source, given) == ["POST", url, "application/json", given]


@each_row(
    ("body", "expected"),
    [
        (
            "return new Response(new URL(request.url).searchParams.get('text').toUpperCase())",
            "HELLO",
        ),
        (
            "const { text } = await request.json(); return Response.json({ text })",
            {"text": "hello"},
        ),
        (
            (
                "return new Response(request.body, { headers: { 'content-type': 'application/json'"
                " } })"
            ),
            {"text": "hello"},
        ),
        ("return new Response(null, { status: 204 })", None),
        ("return { plain: helper(2) }", {"plain": 4}),
        ("return new Response(String(this === exports_))", "true"),
    ],
)
def test_a_response_becomes_the_output(body: str, expected: Any) -> None:
    source = (
        "const helper = (n) => n * 2;\nconst exports_ = { async fetch(request, env, ctx) {"
        f" {body} }} }};\nexport default exports_;"
    )
    assert run(source, {"text": "hello"}) == expected


@each_row(
    ("source", "expected"),
    [
        ("export default function (input) { return input.n + 1 }", 2),
        ("export default async (input, env) => typeof env.call + input.n", "function1"),
        ("const a = 1; export { a as b, f as default }; function f() { return a }", 1),
        ("export const n = 5; export default { fetch: () => new Response(`${n}`) }", "5"),
        ("const n = await Promise.resolve(7);\nexport default () => n", 7),
        ("export default { fetch() { return Response.json(typeof this.fetch) } }", "function"),
        ("// export default\nreturn 'export default {}' + input.n", "export default {}1"),
        ("/* export */ const s = `export default { fetch() {} }`; return s.length", 29),
        ("#!/usr/bin/env node\nexport default () => 1", 1),
    ],
)
def test_every_form_is_told_by_its_syntax(source: str, expected: Any) -> None:
    assert run(source, {"n": 1}) == expected


def test_services_and_failures_are_those_of_a_body() -> None:
    host = Host({"kv.get": lambda arg: {"value": arg["key"] * 2}})
    assert run(worker("return new Response(await env.KV.get('k'))"), {}, host=host) == "kk"
    assert failure(worker("return new Response('gone', { status: 410 })"), {}) == ("ENOENT", "gone")
    assert failure(worker("return fetch('https://h')"), {}) == (
        "EPERM",
        "http.fetch is not granted",
    )
    assert failure("\n\nexport default {\n  fetch() { null.x }\n}", {}) == (
        "ETHROWN",
        "TypeError: cannot read property 'x' of null (line 4)",
    )
    assert failure("throw new RangeError('early');\nexport default {}", {}) == (
        "ETHROWN",
        "RangeError: early (line 1)",
    )


@pytest.mark.parametrize("value", ["{}", "null", "1", "{ fetch: 1 }"])
def test_a_default_export_that_cannot_be_called_is_refused(value: str) -> None:
    assert failure(f"export default {value}", {}) == (
        "EMODULE",
        "what is exported is neither a function nor an object with a fetch method",
    )


def test_what_the_response_need_not_wait_for_is_finished_before_the_call_ends() -> None:
    host = Host({"kv.put": lambda arg: None})
    source = worker(
        """const later = async (n) => { await null; await env.KV.put(`k${n}`, 'v'); if (n < 3) ctx.waitUntil(later(n + 1)) };
        ctx.waitUntil(later(1)); ctx.waitUntil(Promise.reject(new Error('nobody hears this'))); ctx.passThroughOnException();
        return new Response('done')"""
    )
    assert run(source, {}, host=host) == "done"
    assert [request["arg"]["key"] for request in host.requests] == ["k1", "k2", "k3"]


def test_what_never_settles_is_a_failure_and_no_hang() -> None:
    pending = ("EPENDING", "the promise never settles")
    assert (
        failure(worker("ctx.waitUntil(new Promise(() => {})); return new Response('x')"), {})
        == pending
    )
    assert failure("await new Promise(() => {});\nexport default () => 1", {}) == pending


def test_loading_a_module_runs_nothing_of_it() -> None:
    host = Host({"clock": lambda arg: 5.0})
    call = Call("const at = Date.now();\nexport default () => at", host)
    call.load()
    assert host.requests == []
    assert call.run(b"{}") == 5


def test_what_an_author_replaces_changes_nothing_for_the_way_in_and_out() -> None:
    before = (
        "Promise.allSettled = JSON.stringify = Object.entries = undefined; globalThis.Request ="
        " globalThis.Response_ = 1;"
    )
    assert (
        run(worker("return new Response(await request.text())", before), {"a": [1]}) == '{"a":[1]}'
    )
