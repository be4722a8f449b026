"""Capabilities that use the server's services, from the outside: deployed, granted, run, revoked,
removed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sigil.errors import Conflict, Refused, SigilError, UsageError
from sigil.network.http_transport import GuardedTransport
from sigil.protocol import LIBRARY, Caller
from sigil.registry import LocalRegistry
from sigil.sandbox.pool import Sandbox
from sigil.storage.artifacts import FolderArtifacts
from sigil.storage.kv.sqlite import SqliteKV
from tests.fakes.server import Answer, json_answer
from tests.sigil.conftest import Scripted

PERSON = Caller("main", owner=True)
MODEL = Caller("main", "telegram:1", owner=True, author="model")
GUEST = Caller("main", "telegram:9", author="model")
SHELF = Caller(LIBRARY, author="library")
BOB = Caller("bob", owner=True)
VALUE = "s3cret+value/42"


@pytest.fixture
def registry(
    tmp_path: Path, sandbox: Sandbox, lines: Callable[..., GuardedTransport]
) -> Iterator[LocalRegistry]:
    kv = SqliteKV(tmp_path / "store.db")
    yield LocalRegistry(kv, FolderArtifacts(tmp_path / "artifacts"), sandbox, web=lines)
    kv.close()


def deploy(
    registry: LocalRegistry, name: str, execute: str, caller: Caller = PERSON, **more: Any
) -> str:
    spec = {"name": name, "description": f"The capability {name}.", "execute": execute, **more}
    return registry.deploy(spec, caller).offer.digest


def run(registry: LocalRegistry, ref: str, caller: Caller = PERSON, **arguments: Any) -> Any:
    return json.loads(registry.run(ref, arguments, caller).output)


def failure(
    registry: LocalRegistry, ref: str, caller: Caller = PERSON, **arguments: Any
) -> SigilError:
    with pytest.raises(SigilError) as caught:
        registry.run(ref, arguments, caller)
    return caught.value


def asking(server: Scripted, path: str = "/", **more: Any) -> dict[str, Any]:
    return {"permissions": {"http": [f"GET 127.0.0.1:{server.port}{path}"], **more}}


FETCH = "const r = await fetch(input.url); return {status: r.status, body: await r.text()}"


def test_a_request_waits_for_an_owner_and_is_made_when_it_is_granted(
    registry: LocalRegistry, server: Scripted
) -> None:
    server.says["/x"] = json_answer({"a": 1})
    deploy(registry, "far", FETCH, MODEL, **asking(server))

    waits = failure(registry, "far", MODEL, url=f"{server.url}/x")
    assert (waits.source, "waits for an owner's grant: `sigil grant far`" in waits.message) == (
        "far",
        True,
    )
    undeclared = failure(registry, "far", MODEL, url="https://example.com/")
    assert "not declared: add permissions.http to the manifest" in undeclared.message
    assert not server.requests
    registry.granting.grant("far", PERSON)
    assert run(registry, "far", MODEL, url=f"{server.url}/x") == {"status": 200, "body": '{"a": 1}'}
    registry.granting.revoke("far", PERSON)
    assert "waits for an owner" in failure(registry, "far", MODEL, url=f"{server.url}/x").message
    assert len(server.requests) == 1


def test_only_an_owner_grants(registry: LocalRegistry, server: Scripted) -> None:
    deploy(registry, "far", FETCH, MODEL, **asking(server))
    for caller in (MODEL, GUEST, Caller("main", "telegram:9")):
        for act in (
            lambda caller=caller: registry.granting.grant("far", caller),
            lambda caller=caller: registry.granting.revoke("far", caller),
            lambda caller=caller: registry.granting.rows(caller),
            lambda caller=caller: registry.granting.find_request("far", caller),
            lambda caller=caller: registry.secrets.set("KEY", VALUE, caller),
            lambda caller=caller: registry.secrets.rows(caller),
            lambda caller=caller: registry.secrets.remove("KEY", caller),
        ):
            with pytest.raises(Refused, match="only an owner"):
                act()
    with pytest.raises(UsageError, match="ENOENT"):
        registry.granting.grant("far", BOB)


def test_a_grant_is_for_one_version_and_an_owners_redeploy_that_widens_nothing_keeps_it(
    registry: LocalRegistry, server: Scripted
) -> None:
    url = f"{server.url}/v1/x"
    first = deploy(registry, "far", FETCH, PERSON, **asking(server, "/v1/"))
    registry.granting.grant("far", PERSON)
    second = deploy(registry, "far", FETCH + ";", PERSON, **asking(server, "/v1/"))
    assert run(registry, "far", url=url)["status"] == 200
    assert run(registry, f"far@{first}", url=url)["status"] == 200

    deploy(registry, "far", FETCH + ";;", PERSON, **asking(server, "/"))
    assert "waits for an owner" in failure(registry, "far", url=url).message
    assert run(registry, f"far@{second}", url=url)["status"] == 200
    row = registry.granting.find_request("far", PERSON)
    assert (row["before"], row["new"], row["widened"]) == (second, row["asked"], row["asked"])
    registry.granting.revoke("far", PERSON)
    for ref in (f"far@{first}", f"far@{second}"):
        assert "waits for an owner" in failure(registry, ref, url=url).message


def test_a_models_redeploy_keeps_no_grant(registry: LocalRegistry, server: Scripted) -> None:
    deploy(registry, "far", FETCH, MODEL, **asking(server))
    registry.granting.grant("far", PERSON)
    deploy(registry, "far", FETCH + ";", MODEL, **asking(server))
    assert "waits for an owner" in failure(registry, "far", MODEL, url=server.url).message


def test_what_was_changed_while_the_owner_looked_is_not_granted(
    registry: LocalRegistry, server: Scripted
) -> None:
    deploy(registry, "far", FETCH, MODEL, **asking(server))
    seen = registry.granting.find_request("far", PERSON)["digest"]
    deploy(registry, "far", FETCH + ";", MODEL, **asking(server))
    with pytest.raises(Conflict, match="changed while you looked"):
        registry.granting.grant("far", PERSON, seen)
    assert next(registry.granting.rows(PERSON))["state"] == "waits"


def test_remove_stops_a_resident_digest_and_forgets_grants_and_store(
    registry: LocalRegistry, server: Scripted
) -> None:
    keeps = (
        "if (input.put) await env.KV.put('k', 'v'); const r = await fetch(input.url); return"
        " [r.status, await env.KV.get('k')]"
    )
    more = asking(server, "/", kv=True)
    digest = deploy(registry, "far", keeps, PERSON, **more)
    registry.granting.grant("far", PERSON)
    assert run(registry, "far", url=server.url, put=True) == [200, "v"]
    registry.remove("far", PERSON)
    assert failure(registry, f"far@{digest}", url=server.url).code == "ENOENT"

    assert deploy(registry, "far", keeps, PERSON, **more) == digest
    assert "waits for an owner" in failure(registry, "far", url=server.url).message
    registry.granting.grant("far", PERSON)
    assert run(registry, "far", url=server.url) == [200, None]


def test_a_secret_is_used_and_never_seen(
    registry: LocalRegistry, secure: Callable[..., Scripted]
) -> None:
    api = secure("api.example.test")
    api.says["/"] = lambda request: Answer(
        200, f"you sent {request.headers['authorization']} {VALUE[::-1]}".encode()
    )
    place = f"api.example.test:{api.port}"
    execute = f"""console.log('before'); const r = await fetch('https://{place}/', {{headers: {{authorization: 'Bearer {{{{KEY}}}}'}}}});
const text = await r.text(); console.log(text); const turned = [...text].reverse().join('');
if (input.fail) throw new Error(turned); console.log(turned); return [text, turned];"""
    digest = deploy(
        registry,
        "far",
        execute,
        PERSON,
        permissions={"http": [f"GET {place}/"], "secrets": [f"KEY@{place}"], "log": True},
    )
    assert registry.granting.grant("far", PERSON)["secrets_missing"] == ["KEY"]
    assert "the secret KEY is not set" in failure(registry, "far").message
    registry.secrets.set("KEY", VALUE, PERSON)

    ran = registry.run(f"far@{digest}", {}, PERSON)
    failed = failure(registry, "far", fail=True)

    assert api.requests[0].headers["authorization"] == f"Bearer {VALUE}"
    text, turned = json.loads(ran.output)
    assert (
        text == f"you sent Bearer {{{{KEY}}}} {VALUE[::-1]}"
    )  # turned around it is another text, until somebody turns it back
    assert "{{KEY}}" in turned
    assert (
        VALUE not in f"{ran.output!r} {ran.logs} {failed} {failed.message} {failed.logs}"
        f" {registry.inspect('far', PERSON)}"
    )
    assert next(registry.secrets.rows(PERSON)).keys() == {"secret", "at", "by"}
    registry.secrets.remove("KEY", PERSON)
    assert "the secret KEY is not set" in failure(registry, "far").message


ESCAPED = [
    "{{KEY}}",
    "%7B%7BKEY%7D%7D",
    "{%7bKEY%7D}",
    "\\u007b\\u007bKEY\\u007d}",
    "&#123;&lbrace;KEY}}",
    "%257B%257BKEY%7D%7D",
    "e3tLRVl9fQ==",
]
"""A secret's mark, as a capability that undoes escapes would read it."""


@pytest.mark.parametrize("mark", [*ESCAPED, {"deep": ["about {{KEY}} and more"]}])
def test_an_input_that_holds_a_secrets_mark_goes_nowhere(
    registry: LocalRegistry, secure: Callable[..., Scripted], mark: object
) -> None:
    api = secure("api.example.test")
    place = f"api.example.test:{api.port}"
    execute = (
        f"await fetch('https://{place}/', {{method: 'POST', body: JSON.stringify(input)}}); return"
        " 'sent'"
    )
    deploy(
        registry,
        "post",
        execute,
        PERSON,
        permissions={"http": [f"POST {place}/"], "secrets": [f"KEY@{place}"]},
    )
    registry.granting.grant("post", PERSON)
    registry.secrets.set("KEY", VALUE, PERSON)

    assert failure(registry, "post", title=mark).code == "EINVAL"
    assert api.requests == []
    assert run(registry, "post", title="{{OTHER}} KEY {KEY}") == "sent"
    assert VALUE not in repr(api.requests)


POSTS = """const text = await TEXT; let plain = text; try { plain = JSON.parse(`"${text}"`) } catch {}
for (const body of [text, plain, decodeURIComponent(text), decodeURIComponent(decodeURIComponent(text))])
  await fetch('https://PLACE/', {method: 'POST', body, headers: {'x-key': '{{KEY}}'}}); return 'sent'"""
"""Posts what somebody else wrote, as it is and with its escapes undone, beside its own secret."""


def posting(registry: LocalRegistry, api: Scripted, text: str, **more: object) -> None:
    place = f"api.example.test:{api.port}"
    permissions = {"http": [f"POST {place}/", f"GET {place}/"], "secrets": [f"KEY@{place}"], **more}
    deploy(
        registry,
        "post",
        POSTS.replace("TEXT", text).replace("PLACE", place),
        PERSON,
        permissions=permissions,
    )
    registry.granting.grant("post", PERSON)
    registry.secrets.set("KEY", VALUE, PERSON)


@pytest.mark.parametrize("mark", ESCAPED)
def test_a_secrets_mark_in_what_a_server_says_is_no_mark(
    registry: LocalRegistry, secure: Callable[..., Scripted], mark: str
) -> None:
    api = secure("api.example.test")
    api.says["/issue"] = Answer(200, f"my issue is {mark}".encode())
    posting(registry, api, f"(await fetch('https://api.example.test:{api.port}/issue')).text()")

    assert run(registry, "post") == "sent"
    sent = [request for request in api.requests if request.method == "POST"]
    assert [request.headers["x-key"] for request in sent] == [VALUE] * 4
    assert not any(VALUE.encode() in request.body for request in sent)
    assert all(request.body.startswith(b"my issue is ") for request in sent)


@pytest.mark.parametrize("mark", ESCAPED)
def test_a_secrets_mark_in_what_another_capability_says_is_no_mark(
    registry: LocalRegistry, secure: Callable[..., Scripted], mark: str
) -> None:
    api = secure("api.example.test")
    deploy(registry, "quotes", f"return {json.dumps(mark)}", PERSON)
    posting(registry, api, "env.call('quotes', {})", call=["quotes"])

    assert run(registry, "post") == "sent"
    assert [request.headers["x-key"] for request in api.requests] == [VALUE] * 4
    assert not any(VALUE.encode() in request.body for request in api.requests)


def test_a_secrets_mark_in_a_redirect_or_a_failure_is_no_mark(
    registry: LocalRegistry, secure: Callable[..., Scripted]
) -> None:
    api = secure("api.example.test")
    api.says["/go"] = Answer(302, b"", {"location": "/there?a={{KEY}}&b=%7B%7BKEY%7D%7D"})
    place = f"https://api.example.test:{api.port}"
    posting(registry, api, f"(async () => (await fetch('{place}/go')).url)()")
    assert run(registry, "post") == "sent"
    posting(
        registry,
        api,
        f"(async () => (await fetch('{place}/go', {{redirect:"
        " 'manual'})).headers.get('location'))()",
    )
    assert run(registry, "post") == "sent"
    deploy(registry, "fails", "throw new Error('{{KEY}} %7B%7BKEY%7D%7D')", PERSON)
    posting(
        registry, api, "env.call('fails', {}).catch((problem) => problem.message)", call=["fails"]
    )
    assert run(registry, "post") == "sent"
    assert len([request for request in api.requests if request.method == "POST"]) == 12
    assert not any(VALUE in request.path + repr(request.body) for request in api.requests)


def test_what_was_a_secret_in_an_answer_is_one_again_when_it_is_sent_back(
    registry: LocalRegistry, secure: Callable[..., Scripted]
) -> None:
    api = secure("api.example.test")
    api.says["/issue"] = Answer(200, f"the key is {VALUE}".encode())
    posting(registry, api, f"(await fetch('https://api.example.test:{api.port}/issue')).text()")
    assert run(registry, "post") == "sent"
    assert api.requests[-1].body == f"the key is {VALUE}".encode()


@pytest.mark.parametrize(
    "value", ["", "short", "two\nlines of it", "x" * 8193, "nul\0nul\0nul", "lone \ud800 surrogate"]
)
def test_a_secret_that_could_not_be_scrubbed_or_sent_is_refused(
    registry: LocalRegistry, value: str
) -> None:
    with pytest.raises(UsageError, match="EINVAL"):
        registry.secrets.set("KEY", value, PERSON)
    assert list(registry.secrets.rows(PERSON)) == []


KEEP = "if ('put' in input) await env.KV.put('k', input.put); return await env.KV.get('k')"


def test_each_capability_and_each_agent_has_a_store_of_its_own(registry: LocalRegistry) -> None:
    for name, caller in (("one", PERSON), ("two", PERSON), ("shared", SHELF), ("mine", GUEST)):
        deploy(registry, name, KEEP, caller, permissions={"kv": True})
    assert run(registry, "one", put="1") == "1"
    assert run(registry, "one", MODEL) == "1"
    assert run(registry, "two") is None
    assert run(registry, "shared", put="main's") == "main's"
    assert run(registry, "shared", BOB) is None
    assert run(registry, "mine", GUEST, put="guest's") == "guest's"
    assert failure(registry, "mine", MODEL).code == "ENOENT"


def test_a_store_that_is_not_declared_does_not_exist(registry: LocalRegistry) -> None:
    deploy(registry, "none", KEEP)
    assert "permissions.kv" in failure(registry, "none", put="x").message


def test_a_quota_is_an_error_that_the_code_can_read(registry: LocalRegistry) -> None:
    execute = (
        "try { for (let i = 0; i < 40; i++) await env.KV.put('k' + i, 'x'.repeat(65536)); return"
        " 'all' } catch (e) { return e.code }"
    )
    deploy(registry, "full", execute, permissions={"kv": True})
    assert run(registry, "full") == "EQUOTA"


def test_capabilities_call_each_other_with_their_own_grants(
    registry: LocalRegistry, server: Scripted
) -> None:
    server.says["/"] = Answer(200, b"answer")
    deploy(registry, "inner", "console.log('inside'); const r = await fetch(input.url); return [await r.text(), await env.KV.get('k')]",
           **asking(server, "/", log=True, kv=True))  # fmt: skip
    registry.granting.grant("inner", PERSON)
    outer = """let own; try { own = await fetch(input.url) } catch (e) { own = e.message }
return [own, await env.call('inner', {url: input.url})]"""
    deploy(registry, "outer", outer, requires=["inner"])

    ran = registry.run("outer", {"url": server.url}, PERSON)

    own, inner = json.loads(ran.output)
    assert "permissions.http" in own
    assert inner == ["answer", None]
    assert ran.logs == ("inner: inside",)
    assert len(server.requests) == 1


def test_a_call_that_is_not_declared_or_not_there_is_told(registry: LocalRegistry) -> None:
    deploy(registry, "leaf", "return 1")
    deploy(
        registry,
        "calls",
        "return await env.call(input.name, {})",
        permissions={"call": ["leaf", "later", "bob/leaf"]},
    )
    assert run(registry, "calls", name="leaf") == 1
    assert (
        "is not declared: add permissions.call" in failure(registry, "calls", name="other").message
    )
    assert "there is no later" in failure(registry, "calls", name="later").message
    assert "waits for an owner's grant" in failure(registry, "calls", name="bob/leaf").message
    assert registry.inspect("calls", PERSON)["pending"] == ["call:bob/leaf"]


def test_another_namespaces_capability_is_called_when_it_is_public_and_granted(
    registry: LocalRegistry,
) -> None:
    deploy(registry, "leaf", "return 'private'", BOB)
    deploy(
        registry,
        "calls",
        "return await env.call('bob/leaf', {})",
        permissions={"call": ["bob/leaf"]},
    )
    registry.granting.grant("calls", PERSON)
    assert "there is no bob/leaf" in failure(registry, "calls").message
    deploy(registry, "leaf", "return 'public'", BOB, public=True)
    assert "there is no bob/leaf" in failure(registry, "calls").message
    deploy(
        registry,
        "calls",
        "return await env.call('bob/leaf', {})",
        permissions={"call": ["bob/leaf"]},
    )
    registry.granting.grant("calls", PERSON)
    assert run(registry, "calls") == "public"


def test_another_namespaces_grants_and_secrets_are_its_owners(
    registry: LocalRegistry, server: Scripted
) -> None:
    deploy(registry, "far", FETCH, BOB, public=True, **asking(server))
    for act in (registry.granting.grant, registry.granting.find_request):
        with pytest.raises(Refused, match="only the owners of bob can grant"):
            act("bob/far", PERSON)
    assert "waits" in failure(registry, "bob/far", url=server.url).message
    registry.granting.grant("far", BOB)
    assert run(registry, "bob/far", url=server.url)["status"] == 200


def test_a_chats_capability_never_stands_in_for_the_agents(registry: LocalRegistry) -> None:
    deploy(
        registry, "outer", "return await env.call('helper', {})", permissions={"call": ["helper"]}
    )
    deploy(registry, "helper", "return 'a guest was here'", GUEST)
    assert "there is no helper" in failure(registry, "outer", GUEST).message


def test_a_failure_within_is_the_callers_to_catch(registry: LocalRegistry) -> None:
    deploy(registry, "leaf", "throw Object.assign(new Error('bad'), {code: 'EODD'})")
    deploy(
        registry,
        "catches",
        "try { await env.call('leaf', {}) } catch (e) { return [e.code, e.message] }",
        requires=["leaf"],
    )
    assert run(registry, "catches") == ["EODD", "leaf: bad"]


def test_a_circle_is_refused_at_deploy_with_the_whole_path(registry: LocalRegistry) -> None:
    deploy(registry, "c", "return 1")
    deploy(registry, "b", "return 1", requires=["c"])
    deploy(registry, "a", "return 1", requires=["b"])
    with pytest.raises(Refused) as caught:
        deploy(registry, "c", "return 2", requires=["a"])
    assert (caught.value.code, caught.value.message) == (
        "ECYCLE",
        "Circular dependency detected: c -> a -> b -> c",
    )
    with pytest.raises(Refused, match="Circular dependency detected: d -> d"):
        deploy(registry, "d", "return 1", permissions={"call": ["d"]})
    assert run(registry, "c") == 1


def test_no_circle_closes_after_the_deploys(registry: LocalRegistry) -> None:
    deploy(registry, "ping", "return 1")
    deploy(registry, "pong", "return await env.call('ping', {})", permissions={"call": ["ping"]})
    deploy(registry, "pong", "return 2")
    deploy(registry, "ping", "return await env.call('pong', {})", permissions={"call": ["pong"]})
    registry.rollback("pong", PERSON, 1)
    assert (run(registry, "ping"), run(registry, "pong")) == (2, 1)


def test_what_is_required_has_to_be_there(registry: LocalRegistry) -> None:
    with pytest.raises(Refused, match="EREQUIRES"):
        deploy(registry, "needs", "return 1", requires=["missing"])
    assert list(registry.list(PERSON)) == []


def test_calls_share_depth_number_and_time(registry: LocalRegistry) -> None:
    deploy(registry, "n0", "return 0")
    for number in range(1, 8):
        deploy(
            registry,
            f"n{number}",
            f"return 1 + await env.call('n{number - 1}', {{}})",
            requires=[f"n{number - 1}"],
        )
    assert run(registry, "n7") == 7
    deploy(registry, "n8", "return 1 + await env.call('n7', {})", permissions={"call": ["n7"]})
    assert "at most 8 deep" in failure(registry, "n8").message
    deploy(
        registry,
        "many",
        "let n = 0; for (let i = 0; i < 40; i++) n += 1 + await env.call('n0', {}); return n",
        requires=["n0"],
    )
    assert "at most 32" in failure(registry, "many").message
    deploy(registry, "spins", "for (;;) {}", limits={"timeout_ms": 30_000})
    deploy(
        registry,
        "waits",
        "return await env.call('spins', {})",
        requires=["spins"],
        limits={"timeout_ms": 100},
    )
    assert failure(registry, "waits").code in ("ETIMEDOUT", "EGUEST")
    assert run(registry, "n1") == 1


def test_golden_tests_reach_no_network_and_state_what_it_answers(
    registry: LocalRegistry, server: Scripted
) -> None:
    place = f"https://127.0.0.1:{server.port}/v1/x"
    url = f"{place}?k=%7B%7BKEY%7D%7D"
    fetches = "const r = await fetch(`${input.url}?k={{KEY}}`);"
    execute = (
        f"{fetches} await env.KV.put('k', (await r.json()).word); return [r.status, await"
        " env.KV.get('k')]"
    )
    permissions = {
        "http": [f"GET 127.0.0.1:{server.port}/v1/"],
        "secrets": [f"KEY@127.0.0.1:{server.port}"],
        "kv": True,
    }
    test = {
        "input": {"url": place},
        "output": [201, "hello"],
        "http": [{"url": url, "status": 201, "body": {"word": "hello"}}],
    }
    done = registry.deploy(
        {"name": "far", "execute": execute, "permissions": permissions, "tests": [test, test]},
        MODEL,
    )
    assert (done.passed, len(done.pending)) == (2, 2)
    silent = {"input": {"url": place}, "output": 1}
    with pytest.raises(Refused, match="a test reaches no network"):
        registry.deploy(
            {"name": "other", "execute": execute, "permissions": permissions, "tests": [silent]},
            MODEL,
        )
    assert not server.requests


def test_golden_tests_rehearse_what_they_call(registry: LocalRegistry) -> None:
    deploy(registry, "keeps", KEEP, permissions={"kv": True})
    deploy(
        registry,
        "outer",
        "return await env.call('keeps', {put: 'test'})",
        requires=["keeps"],
        tests=[{"input": {}, "output": "test"}],
    )
    assert run(registry, "keeps") is None


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("http", "api.example.com"),
        ("http", "GET *.example.com/"),
        ("secrets", "key@host"),
        ("call", "a/b/c"),
        ("call", "No Name"),
    ],
)
def test_a_permission_that_makes_no_sense_is_refused_at_deploy(
    registry: LocalRegistry, field: str, text: str
) -> None:
    with pytest.raises(UsageError, match=f"EMANIFEST: permissions.{field}: not a permission"):
        deploy(registry, "odd", "return 1", permissions={field: [text]})


def test_what_waits_and_what_stands_is_listed(registry: LocalRegistry, server: Scripted) -> None:
    deploy(registry, "far", FETCH, MODEL, **asking(server))
    deploy(registry, "shelf", FETCH, SHELF, **asking(server))
    deploy(registry, "plain", "return 1")
    assert [(row["capability"], row["state"]) for row in registry.granting.rows(PERSON)] == [
        ("far", "waits"),
        ("shelf", "waits"),
    ]
    registry.granting.grant("far", PERSON)
    registry.granting.grant("shelf", PERSON)
    rows = registry.granting.rows(PERSON)
    shown = [(row["capability"], row["namespace"], row["state"]) for row in rows]
    assert shown == [("far", "main", "stands"), ("shelf", "library", "stands")]
    assert run(registry, "shelf", url=server.url)["status"] == 200
    assert "waits" in failure(registry, "shelf", BOB, url=server.url).message
    with pytest.raises(UsageError, match="asks for no permission"):
        registry.granting.grant("plain", PERSON)
    with pytest.raises(UsageError, match="ENOENT"):
        registry.granting.revoke("plain", PERSON)
