"""fetch and what goes with it, as the web has them; env.KV and env.call; and what each of them asks
of the host.
"""

from __future__ import annotations

import base64
from typing import Any

import pytest

from tests.sigil.sandbox.engine.driver import Failed, Host, evaluate, failure, run
from tests.tables import each_row

ANSWER = {
    "url": "https://h/x",
    "status": 200,
    "statusText": "OK",
    "headers": [],
    "body": "",
    "redirected": False,
}


def coded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def serving(**answer: Any) -> Host:
    return Host({"http.fetch": lambda arg: {**ANSWER, **answer}})


def asked(source: str) -> Any:
    """Return the requests of `http.fetch` that a body makes."""
    host = serving()
    run(source, host=host)
    return host.requests[0]["arg"]


def test_a_request_goes_through_the_host_and_its_answer_comes_back() -> None:
    host = serving(
        status=404,
        statusText="Not Found",
        headers=[["Content-Type", "text/plain"]],
        body=coded("é"),
        redirected=True,
    )
    source = """
        const r = await fetch("https://H/a b", { method: "post", headers: { "X-A": "1" }, body: JSON.stringify(input) });
        return [r.ok, r.status, r.statusText, r.headers.get("content-type"), r.url, r.redirected, await r.text()]
    """
    assert run(source, {"q": "ü"}, host=host) == [
        False,
        404,
        "Not Found",
        "text/plain",
        "https://h/x",
        True,
        "é",
    ]
    headers = [["content-type", "text/plain;charset=UTF-8"], ["x-a", "1"]]
    body = coded('{"q":"ü"}')
    assert host.requests[0]["arg"] == {
        "url": "https://h/a%20b",
        "method": "POST",
        "headers": headers,
        "body": body,
        "redirect": "follow",
    }


@each_row(
    ("call", "part"),
    [
        (
            "fetch(new URL('https://h/?q=1'))",
            {"url": "https://h/?q=1", "method": "GET", "body": None},
        ),
        (
            (
                "fetch(new Request('https://h', { method: 'PUT', body: 'b' }), { headers: { a: '1'"
                " } })"
            ),
            {"method": "PUT", "body": coded("b")},
        ),
        (
            "fetch(new Request('https://h', { method: 'PUT', body: 'b' }), { body: 'c' })",
            {"method": "PUT", "body": coded("c")},
        ),
        ("fetch('https://h', { redirect: 'manual' })", {"redirect": "manual"}),
        (
            "fetch('https://h', { method: 'POST', body: new Uint8Array([0, 255]) })",
            {"body": "AP8="},
        ),
        (
            "fetch('https://h', { method: 'POST', body: new URLSearchParams({ a: 'b c' }) })",
            {"body": coded("a=b+c")},
        ),
        (
            "fetch('https://h', { method: 'POST', body: new Response('stream').body })",
            {"body": coded("stream")},
        ),
        ("fetch('https://h', { signal: AbortSignal.timeout(5000) })", {"method": "GET"}),
    ],
)
def test_every_way_to_ask_is_understood(call: str, part: dict[str, Any]) -> None:
    assert asked(f"await {call}").items() >= part.items()


@each_row(
    ("read", "expected"),
    [
        ("await r.json()", {"a": "é"}),
        ("new Uint8Array(await r.arrayBuffer()).length", 10),
        ("[...(await r.bytes()).slice(0, 2)]", [123, 34]),
        (
            (
                "await (async () => { let t = ''; for await (const c of r.body) t += new"
                " TextDecoder().decode(c); return t })()"
            ),
            '{"a":"é"}',
        ),
        (
            "[await r.clone().text(), r.bodyUsed, await r.text(), r.bodyUsed]",
            ['{"a":"é"}', False, '{"a":"é"}', True],
        ),
        ("await new Response(r.body, r).json()", {"a": "é"}),
        ("[r.type, r.body.locked, r.headers.get('x')]", ["basic", False, "1"]),
    ],
)
def test_a_body_can_be_read_in_every_way_of_the_web(read: str, expected: Any) -> None:
    host = serving(body=coded('{"a":"é"}'), headers=[["X", "1"]])
    assert run(f"const r = await fetch('https://h'); return {read}", host=host) == expected


@pytest.mark.parametrize(
    "read",
    [
        "await r.text(); return r.text()",
        "await r.text(); return r.clone()",
        "r.body.getReader(); r.body.getReader()",
    ],
)
def test_a_body_is_read_once(read: str) -> None:
    code, message = failure(f"const r = new Response('x'); {read}")
    assert code == "ETHROWN"
    assert message.startswith(
        ("TypeError: the body was read already", "TypeError: the stream is locked")
    )


@each_row(
    "init",
    [
        "{ body: 'x' }",
        "{ method: 'a b' }",
        "{ headers: { 'a b': '1' } }",
        "{ headers: { a: '1\\n2' } }",
        "{ redirect: 'sometimes' }",
        "{ signal: AbortSignal.abort() }",
        "{ signal: AbortSignal.any([AbortSignal.abort(new TypeError('enough'))]) }",
    ],
)
def test_a_request_that_is_none_never_leaves(init: str) -> None:
    host = serving()
    with pytest.raises(Failed, match=r"TypeError|AbortError"):
        run(f"return fetch('https://h', {init})", host=host)
    assert host.requests == []


def test_a_refusal_is_a_type_error_with_the_hosts_words_and_code() -> None:
    source = (
        "try { await fetch('https://h') } catch (e) { return [e instanceof TypeError, e.code,"
        " e.message] }"
    )
    assert run(source) == [True, "EPERM", "http.fetch is not granted"]
    assert failure("await fetch('https://h')") == ("EPERM", "http.fetch is not granted")
    assert run("return await fetch('https://h').catch(() => 'caught')") == "caught"


@pytest.mark.parametrize("status", [204, 304, 418, 599, 999])
def test_any_status_of_a_server_arrives(status: int) -> None:
    assert run(
        "const r = await fetch('https://h'); return [r.status, r.ok]", host=serving(status=status)
    ) == [status, status == 204]


def test_requests_at_once_are_all_answered() -> None:
    host = Host({"http.fetch": lambda arg: {**ANSWER, "body": coded(arg["url"])}})
    source = (
        "return Promise.all(['a', 'b', 'c'].map(async (p) => (await"
        " fetch(`https://h/${p}`)).text()))"
    )
    assert run(source, host=host) == ["https://h/a", "https://h/b", "https://h/c"]


@each_row(
    ("expression", "expected"),
    [
        (
            "new Response('{\"a\": 1}', { headers: { 'content-type': 'application/json' } })",
            {"a": 1},
        ),
        ("new Response('text')", "text"),
        ("new Response(null, { status: 204 })", None),
        ("new Response('')", ""),
        ("Response.json([1])", [1]),
        (
            "Response.json({ a: 'ü' }, { headers: { 'content-type': 'application/geo+json' } })",
            {"a": "ü"},
        ),
        ("(h => Response.json(1, { headers: h }).headers.get('x'))(new Headers({ x: '1' }))", "1"),
        ("(() => { try { Response.json(undefined) } catch (e) { return e.name } })()", "TypeError"),
        ("Response.redirect('https://h/', 301).headers.get('location')", "https://h/"),
        ("await new Response('é').text()", "é"),
        ("(r => Promise.all([r.clone().text(), r.json()]))(new Response('5'))", ["5", 5]),
        (
            "[...new Headers([['set-cookie', 'a=1'], ['set-cookie', 'b=2'], ['B', ' x ']])]",
            [["b", "x"], ["set-cookie", "a=1"], ["set-cookie", "b=2"]],
        ),
        (
            (
                "(r => [r.url, r.method, r.redirect, r.signal.aborted, r.body])(new"
                " Request('https://H'))"
            ),
            ["https://h/", "GET", "follow", False, None],
        ),
        ("await new Request('https://h', { method: 'POST', body: '{}' }).clone().json()", {}),
        (
            (
                "(c => { let n = 0; c.signal.onabort = () => n++; c.abort(); c.abort(); return [n,"
                " c.signal.aborted] })(new AbortController())"
            ),
            [1, True],
        ),
    ],
)
def test_requests_responses_and_signals_are_the_webs(expression: str, expected: Any) -> None:
    assert evaluate(expression) == expected


@each_row(
    ("response", "code", "message"),
    [
        ("new Response('no such page', { status: 404 })", "ENOENT", "no such page"),
        ("new Response('no', { status: 403 })", "EACCES", "no"),
        ("new Response(new Uint8Array([255, 254]), { status: 422 })", "EINVAL", "\ufffd\ufffd"),
        (
            "new Response(new Uint8Array([255, 254]))",
            "EOUTPUT",
            "the response is not text: return bytes as text, with their toBase64()",
        ),
        ("new Response(null, { status: 500 })", "EGUEST", "answered with status 500"),
        ("Response.json({ error: 'broken' }, { status: 400 })", "EINVAL", "broken"),
        (
            "Response.json({ error: { code: 'EINVAL', message: 'wrong' } }, { status: 400 })",
            "EINVAL",
            "wrong",
        ),
        ("Response.json({ message: 'sorry' }, { status: 503 })", "EGUEST", "sorry"),
        ("Response.redirect('https://h/')", "EGUEST", "answered with status 302"),
    ],
)
def test_a_response_with_an_error_status_is_a_failure(
    response: str, code: str, message: str
) -> None:
    assert failure(f"return {response}") == (code, message)


@each_row(
    ("call", "operation", "argument", "answer", "expected"),
    [
        ("env.KV.get('k')", "kv.get", {"key": "k"}, {"value": "v"}, "v"),
        ("env.KV.get('k')", "kv.get", {"key": "k"}, {"value": None}, None),
        ("env.KV.get('k', 'json')", "kv.get", {"key": "k"}, {"value": '{"a":1}'}, {"a": 1}),
        ("env.KV.get('k', { type: 'json' })", "kv.get", {"key": "k"}, {"value": None}, None),
        ("env.KV.put('k', 'v')", "kv.put", {"key": "k", "value": "v"}, None, None),
        (
            "env.KV.put('k', 'v', { expirationTtl: 60 })",
            "kv.put",
            {"key": "k", "value": "v", "ttl": 60},
            None,
            None,
        ),
        ("env.KV.delete('k')", "kv.delete", {"key": "k"}, None, None),
        (
            "env.KV.list()",
            "kv.list",
            {},
            {"keys": [{"name": "a"}], "cursor": None},
            {"keys": [{"name": "a"}], "list_complete": True},
        ),
        (
            "env.KV.list({ prefix: 'p', limit: 1, cursor: 'c' })",
            "kv.list",
            {"prefix": "p", "limit": 1, "cursor": "c"},
            {"keys": [], "cursor": "d"},
            {"keys": [], "list_complete": False, "cursor": "d"},
        ),
        ("env.call('other', { a: 1 })", "call", {"name": "other", "input": {"a": 1}}, [2], [2]),
        ("env.call('other')", "call", {"name": "other", "input": {}}, "x", "x"),
    ],
)
def test_what_env_offers_asks_the_host(
    call: str, operation: str, argument: Any, answer: Any, expected: Any
) -> None:
    host = Host({operation: lambda arg: answer})
    assert run(f"return await {call}", host=host) == expected
    assert host.requests == [{"op": operation, "arg": argument}]


@pytest.mark.parametrize(
    "call",
    [
        "env.KV.put('k', 1)",
        "env.KV.put('k', {})",
        "env.KV.put('k', '', { expiration: 5 })",
        "env.KV.get('k', 'stream')",
    ],
)
def test_what_the_store_cannot_do_is_said_in_words(call: str) -> None:
    code, message = failure(f"await {call}", **{"kv.get": lambda arg: {"value": "x"}})
    assert (code, message.split()[:2]) == ("ETHROWN", ["TypeError:", f"{call[4:10]}"])


def test_env_cannot_be_changed() -> None:
    source = (
        "'use strict'; const out = []; for (const f of [() => env.x = 1, () => env.KV.get = 1, ()"
        " => delete env.call]) "
    )
    assert run(source + "try { f(); out.push(0) } catch { out.push(1) } return out") == [1, 1, 1]
