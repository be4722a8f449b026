"""`http.fetch` over real connections: grants, redirects, secrets, limits."""

from __future__ import annotations

import base64
import gzip
import json
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from sigil.errors import Refused, SigilError, ToolError
from sigil.manifest.permission_rules import parse_http_rule, parse_secret_rule
from sigil.network.exchange import REPLY_BYTES
from sigil.network.http_transport import GuardedTransport
from sigil.protocol import Json
from sigil.run.host_calls.fetch import NetworkRights, fetch
from tests.fakes.server import Answer, Recorded, json_answer
from tests.sigil.conftest import Scripted

VALUE = "s3cret+value/42"
Lines = Callable[..., GuardedTransport]


def rights(
    *http: str,
    waiting: tuple[str, ...] = (),
    secrets: tuple[str, ...] = (),
    secrets_waiting: tuple[str, ...] = (),
    **values: str,
) -> NetworkRights:
    return NetworkRights(
        "far",
        tuple(map(parse_http_rule, http)),
        tuple(map(parse_http_rule, waiting)),
        tuple(map(parse_secret_rule, secrets)),
        tuple(map(parse_secret_rule, secrets_waiting)),
        lambda: values,
    )


def anywhere(server: Scripted, *more: Scripted) -> NetworkRights:
    return rights(*(f"* 127.0.0.1:{each.port}/" for each in (server, *more)))


def body_of(answer: Json) -> bytes:
    return base64.b64decode(answer["body"])


def ask(
    line: GuardedTransport, right: NetworkRights, url: str, seconds: float = 5, **more: Any
) -> Any:
    return fetch(line, right, {"url": url, **more}, seconds)


def echo(request: Recorded) -> Answer:
    return json_answer(
        {
            "method": request.method,
            "path": request.path,
            "headers": dict(request.headers),
            "body": request.body.decode(),
        }
    )


def moved(status: int, location: str) -> Answer:
    return Answer(status, b"moved", {"location": location})


def test_an_answer_comes_back_whole(server: Scripted, lines: Lines) -> None:
    server.says["/v1/x"] = Answer(
        404, b"\x00\xffbytes", {"X-Kind": "odd", "Set-Cookie": "a=b", "Connection": "keep-alive"}
    )
    answer = ask(lines(), anywhere(server), f"{server.url}/v1/x?q=%C3%BC#part")
    assert (answer["status"], answer["statusText"], body_of(answer), answer["redirected"]) == (
        404,
        "Not Found",
        b"\x00\xffbytes",
        False,
    )
    assert answer["url"] == f"{server.url}/v1/x?q=%C3%BC"
    headers = dict(map(tuple, answer["headers"]))
    assert headers["x-kind"] == "odd"
    assert not {"set-cookie", "connection", "content-length"} & headers.keys()


def test_a_request_goes_out_as_it_was_written(server: Scripted, lines: Lines) -> None:
    server.says["/"] = echo
    body = base64.b64encode(b'{"a":1}').decode()
    answer = ask(
        lines(),
        anywhere(server),
        server.url,
        method="post",
        headers=[["Content-Type", "application/json"], ["x-a", "1"]],
        body=body,
    )
    seen = json.loads(body_of(answer))
    assert (seen["method"], seen["body"]) == ("POST", '{"a":1}')
    assert seen["headers"] == {
        "host": f"127.0.0.1:{server.port}", "accept-encoding": "identity", "content-length": "7",
        "content-type": "application/json", "x-a": "1",
    }  # fmt: skip


@pytest.mark.parametrize(
    "name",
    [
        "Host",
        "Content-Length",
        "Connection",
        "Cookie",
        "Proxy-Authorization",
        "Transfer-Encoding",
        "TE",
        "Upgrade",
        "X-Forwarded-For",
        "Sec-Fetch-Mode",
        "Expect",
        "Origin",
    ],
)
def test_a_header_that_is_not_the_guests_is_refused(
    server: Scripted, lines: Lines, name: str
) -> None:
    with pytest.raises(Refused, match="EPERM"):
        ask(lines(), anywhere(server), server.url, headers=[[name, "x"]])
    assert not server.requests


@pytest.mark.parametrize(
    "more",
    [
        {"headers": [["a b", "x"]]}, {"headers": [["a", "x\r\ny: z"]]}, {"headers": [["a", "ü"]]}, {"headers": [["a"]]},
        {"headers": {"a": "b"}}, {"headers": [["a", "b"]] * 65}, {"headers": [["a", "b" * 20_000]]}, {"method": "TRACE"},
        {"method": "CONNECT"}, {"method": "GET /x HTTP/1.1\r\n"}, {"method": 7}, {"body": 7}, {"body": "no base64"},
        {"body": "YQ=="}, {"redirect": "maybe"}, {"other": 1}, {"url": 7}, {"url": "/x"},
    ],
)  # fmt: skip
def test_a_request_that_makes_no_sense_is_refused(
    server: Scripted, lines: Lines, more: dict[str, Any]
) -> None:
    with pytest.raises(ToolError, match="EINVAL"):
        fetch(lines(), anywhere(server), {"url": server.url, **more}, 5)
    assert not server.requests


def test_what_is_not_granted_is_told_apart_from_what_waits(server: Scripted, lines: Lines) -> None:
    right = rights(
        f"GET 127.0.0.1:{server.port}/v1/", waiting=(f"POST 127.0.0.1:{server.port}/v1/",)
    )
    assert ask(lines(), right, f"{server.url}/v1/x")["status"] == 200
    with pytest.raises(Refused, match="waits for an owner's grant: `sigil grant far`"):
        ask(lines(), right, f"{server.url}/v1/x", method="POST")
    for url, method in (
        (f"{server.url}/v2/x", "GET"),
        (f"{server.url}/v1/../v2", "GET"),
        (f"{server.url}/v1/x", "PUT"),
        ("https://example.com/v1/", "GET"),
    ):
        with pytest.raises(
            Refused, match=r"is not declared: add permissions\.http to the manifest"
        ):
            ask(lines(), right, url, method=method)
    assert len(server.requests) == 1


def test_who_has_to_grant_it_is_told_where_it_is_not_the_agents_own(
    server: Scripted, lines: Lines
) -> None:
    place = f"127.0.0.1:{server.port}"
    carry: dict[str, Any] = {"headers": [["x-key", "{{KEY}}"]]}
    waiting = rights(waiting=(f"GET {place}/",))
    for namespace, where in (
        ("main", ""),
        ("alice", " --namespace alice"),
        ("alice~telegram:1", " --namespace alice"),
    ):
        way = (
            "publish it first: `sigil publish far --session telegram:1`"
            if "~" in namespace
            else f"`sigil grant far{where}`"
        )
        with pytest.raises(Refused, match=f"{way}$"):
            ask(lines(), replace(waiting, namespace=namespace), server.url)
        secret = replace(
            rights(f"GET {place}/", secrets_waiting=(f"KEY@{place}",)), namespace=namespace
        )
        with pytest.raises(Refused, match=f"{way}$"):
            ask(lines(), secret, f"https://{place}/", **carry)
        unset = replace(rights(f"GET {place}/", secrets=(f"KEY@{place}",)), namespace=namespace)
        with pytest.raises(Refused, match=f"`sigil secret set KEY{where}`$"):
            ask(lines(), unset, f"https://{place}/", **carry)
    assert not server.requests


def test_a_secret_is_not_sent_in_the_clear_to_this_machine_either(
    server: Scripted, lines: Lines
) -> None:
    place = f"127.0.0.1:{server.port}"
    right = rights(f"GET {place}/", secrets=(f"KEY@{place}",), KEY=VALUE)
    with pytest.raises(
        Refused, match=f"the secret KEY is not for http://{place}: secrets go by https alone"
    ):
        ask(lines(), right, server.url, headers=[["x-key", "{{KEY}}"]])
    assert not server.requests


def test_plain_http_is_for_this_machine_in_tests_alone(server: Scripted, lines: Lines) -> None:
    with pytest.raises(Refused, match="only https"):
        ask(lines(loopback=False), anywhere(server), server.url)
    with pytest.raises(Refused, match="only https"):
        ask(
            lines(),
            rights(f"GET api.example.test:{server.port}/"),
            f"http://api.example.test:{server.port}/",
        )
    assert not server.requests


def test_a_redirect_is_followed_within_the_grants(server: Scripted, lines: Lines) -> None:
    server.says["/a"] = moved(302, "/b/../c?x=1")
    server.says["/c"] = Answer(200, b"there")
    answer = ask(lines(), anywhere(server), f"{server.url}/a")
    assert (answer["url"], answer["redirected"], body_of(answer)) == (
        f"{server.url}/c?x=1",
        True,
        b"there",
    )
    narrow = rights(f"GET 127.0.0.1:{server.port}/a")
    with pytest.raises(Refused, match="not declared"):
        ask(lines(), narrow, f"{server.url}/a")
    manual = ask(lines(), narrow, f"{server.url}/a", redirect="manual")
    assert (manual["status"], dict(map(tuple, manual["headers"]))["location"]) == (
        302,
        "/b/../c?x=1",
    )
    with pytest.raises(ToolError, match="ENET"):
        ask(lines(), narrow, f"{server.url}/a", redirect="error")


@pytest.mark.parametrize(
    ("status", "method", "then", "kept"),
    [(301, "POST", "GET", False), (302, "POST", "GET", False), (303, "POST", "GET", False), (303, "PUT", "GET", False),
     (301, "PUT", "PUT", True), (307, "POST", "POST", True), (308, "PATCH", "PATCH", True)],
)  # fmt: skip
def test_a_redirect_changes_method_and_body_as_the_web_does(
    server: Scripted, lines: Lines, status: int, method: str, then: str, kept: bool
) -> None:
    server.says["/a"] = moved(status, "/b")
    headers = [["content-type", "text/plain"], ["x-a", "1"]]
    ask(
        lines(),
        anywhere(server),
        f"{server.url}/a",
        method=method,
        headers=headers,
        body="Ym9keQ==",
    )
    last = server.requests[-1]
    assert (last.method, last.body, "content-type" in last.headers, last.headers["x-a"]) == (
        then,
        b"body" if kept else b"",
        kept,
        "1",
    )


def test_five_redirects_are_followed_and_not_six(server: Scripted, lines: Lines) -> None:
    for number in range(7):
        server.says[f"/{number}"] = moved(302, f"/{number + 1}")
    assert ask(lines(), anywhere(server), f"{server.url}/2")["redirected"]
    with pytest.raises(ToolError, match="more than 5 redirects"):
        ask(lines(), anywhere(server), f"{server.url}/1")


@pytest.mark.parametrize(
    "location",
    [
        "http://169.254.169.254/latest/meta-data",
        "https://10.0.0.1/",
        "http://[::ffff:127.0.0.1]/",
        "file:///etc/passwd",
        "https://u:p@127.0.0.1/",
        "http://127.1/",
        "\\\\x",
    ],
)
def test_a_redirect_back_inside_is_refused(server: Scripted, lines: Lines, location: str) -> None:
    server.says["/a"] = moved(302, location)
    wide = rights(
        f"GET 127.0.0.1:{server.port}/",
        "GET 169.254.169.254:80/",
        "GET 169.254.169.254/",
        "GET 10.0.0.1/",
        "GET [::ffff:7f00:1]:80/",
    )
    with pytest.raises(SigilError) as caught:
        ask(lines(), wide, f"{server.url}/a")
    assert caught.value.code in ("EPERM", "EINVAL")


def test_a_redirect_from_tls_to_plain_is_refused(
    secure: Callable[..., Scripted], server: Scripted, lines: Lines
) -> None:
    api = secure("api.example.test")
    api.says["/"] = moved(302, server.url)
    with pytest.raises(Refused, match="from https to http"):
        ask(
            lines(),
            rights(f"GET api.example.test:{api.port}/", f"GET 127.0.0.1:{server.port}/"),
            f"https://api.example.test:{api.port}/",
        )
    assert not server.requests


def with_secret(api: Scripted, *more: str, **values: str) -> NetworkRights:
    return rights(
        f"* api.example.test:{api.port}/",
        *more,
        secrets=(f"KEY@api.example.test:{api.port}",),
        **({"KEY": VALUE} | values),
    )  # type: ignore[arg-type]


def test_a_secret_reaches_its_host_and_never_the_guest(
    secure: Callable[..., Scripted], lines: Lines
) -> None:
    api = secure("api.example.test")
    api.says["/"] = lambda request: Answer(
        200,
        json.dumps(
            {"headers": dict(request.headers), "body": request.body.decode(), "path": request.path}
        ).encode(),
        {"x-echo": request.headers["authorization"]},
    )
    body = base64.b64encode(b'{"k":"{{KEY}}"}').decode()
    answer = ask(
        lines(), with_secret(api), f"https://api.example.test:{api.port}/?k={{{{KEY}}}}", method="POST", body=body,
        headers=[["authorization", "Bearer {{KEY}}"], ["content-type", "application/json"]],
    )  # fmt: skip
    (request,) = api.requests
    assert request.headers["authorization"] == f"Bearer {VALUE}"
    assert request.headers["host"] == f"api.example.test:{api.port}"
    assert request.json() == {"k": VALUE}
    assert request.path == "/?k=s3cret%2Bvalue%2F42"
    told = json.dumps(answer) + body_of(answer).decode()
    assert VALUE not in told
    assert "s3cret%2Bvalue%2F42" not in told
    assert answer["url"] == f"https://api.example.test:{api.port}/?k={{{{KEY}}}}"
    assert dict(map(tuple, answer["headers"]))["x-echo"] == "Bearer {{KEY}}"
    assert json.loads(body_of(answer))["body"] == '{"k":"{{KEY}}"}'


def test_a_compressed_echo_does_not_hide_the_secret(
    secure: Callable[..., Scripted], lines: Lines
) -> None:
    api = secure("api.example.test")
    api.says["/"] = Answer(
        200, gzip.compress(f"the key is {VALUE}".encode()), {"content-encoding": "gzip"}
    )
    api.says["/br"] = Answer(200, b"\x0b\x02\x80abc\x03", {"content-encoding": "br"})
    answer = ask(
        lines(),
        with_secret(api),
        f"https://api.example.test:{api.port}/",
        headers=[["accept-encoding", "gzip"]],
    )
    assert body_of(answer) == b"the key is {{KEY}}"
    assert api.requests[0].headers["accept-encoding"] == "identity"
    with pytest.raises(ToolError, match="ENET"):
        ask(lines(), with_secret(api), f"https://api.example.test:{api.port}/br")


def test_two_codings_do_not_hide_the_secret(server: Scripted, lines: Lines) -> None:
    packed = gzip.compress(b"x")
    server.says["/after"] = Answer(
        200, packed, {"content-encoding": "identity", "Content-Encoding": "gzip"}
    )
    server.says["/twice"] = Answer(200, gzip.compress(packed), {"content-encoding": "gzip, gzip"})
    assert body_of(ask(lines(), anywhere(server), f"{server.url}/after")) == b"x"
    with pytest.raises(ToolError, match="an encoding that the request did not accept"):
        ask(lines(), anywhere(server), f"{server.url}/twice")


def test_a_secret_in_the_head_of_an_answer_is_taken_out_too(
    secure: Callable[..., Scripted], lines: Lines
) -> None:
    api = secure("api.example.test")
    value = "pässwörd-12"
    api.says["/"] = Answer(
        200,
        b"",
        {
            "x-echo": value.encode().decode("latin-1"),
            "x-other": value,
            f"X-{VALUE.replace('/', '_')}": "1",
        },
    )
    right = replace(
        with_secret(api, KEY=value),
        secrets=(*with_secret(api).secrets, parse_secret_rule("NAME@other.example")),
    )
    right = replace(right, values=lambda: {"KEY": value, "NAME": VALUE.replace("/", "_")})
    headers = dict(
        map(tuple, ask(lines(), right, f"https://api.example.test:{api.port}/")["headers"])
    )
    assert (headers["x-echo"], headers["x-other"], headers["x-{{NAME}}"]) == (
        "{{KEY}}",
        "{{KEY}}",
        "1",
    )


def test_a_secret_is_sent_nowhere_else(
    secure: Callable[..., Scripted], server: Scripted, lines: Lines
) -> None:
    api, other = secure("api.example.test"), secure("other.example.test")
    right = with_secret(api, f"* other.example.test:{other.port}/", f"* 127.0.0.1:{server.port}/")
    carry: dict[str, Any] = {"headers": [["authorization", "Bearer {{KEY}}"]]}
    for url in (f"https://other.example.test:{other.port}/", server.url):
        with pytest.raises(Refused, match="the secret KEY is not for"):
            ask(lines(), right, url, **carry)
        with pytest.raises(Refused, match="the secret KEY is not for"):
            ask(lines(), right, f"{url}?k=%7B%7BKEY%7D%7D")
        with pytest.raises(Refused, match="the secret KEY is not for"):
            ask(lines(), right, url, method="POST", body=base64.b64encode(b"k={{KEY}}").decode())
    assert not other.requests
    assert not server.requests


def test_a_redirect_to_another_host_leaves_secrets_behind(
    secure: Callable[..., Scripted], lines: Lines
) -> None:
    api, other = secure("api.example.test"), secure("other.example.test")
    right = with_secret(api, f"* other.example.test:{other.port}/")
    api.says["/away"] = moved(302, f"https://other.example.test:{other.port}/?k=%7B%7BKEY%7D%7D")
    api.says["/keep"] = moved(307, f"https://other.example.test:{other.port}/")
    api.says["/leak"] = lambda request: moved(
        302, f"https://other.example.test:{other.port}/?k={request.headers['x-key']}"
    )
    api.says["/same"] = moved(302, "/end?k={{KEY}}")
    line, base = lines(), f"https://api.example.test:{api.port}"
    headers = [["authorization", "Bearer {{KEY}}"], ["x-key", "{{KEY}}"], ["x-a", "1"]]

    ask(line, right, f"{base}/away", headers=headers)
    (seen,) = other.requests
    assert (
        seen.path,
        seen.headers.get("authorization"),
        seen.headers.get("x-key"),
        seen.headers["x-a"],
    ) == (
        "/?k=%7B%7BKEY%7D%7D",
        None,
        None,
        "1",
    )
    with pytest.raises(Refused, match="carry a secret to another host"):
        ask(line, right, f"{base}/keep", method="POST", body=base64.b64encode(b"{{KEY}}").decode())
    with pytest.raises(Refused, match="carry a secret to another host"):
        ask(line, right, f"{base}/leak", headers=headers)
    assert len(other.requests) == 1
    ask(line, right, f"{base}/same", headers=headers)
    assert (api.requests[-1].path, api.requests[-1].headers["x-key"]) == ("/end?k={{KEY}}", VALUE)


def test_what_stands_in_the_way_of_a_secret_is_told(
    secure: Callable[..., Scripted], lines: Lines
) -> None:
    api = secure("api.example.test")
    url, rule = f"https://api.example.test:{api.port}/", f"KEY@api.example.test:{api.port}"
    open_to = f"* api.example.test:{api.port}/"
    carry: dict[str, Any] = {"headers": [["authorization", "Bearer {{KEY}}"]]}
    with pytest.raises(Refused, match="the secret KEY is not set: `sigil secret set KEY`"):
        ask(lines(), rights(open_to, secrets=(rule,)), url, **carry)
    with pytest.raises(Refused, match="the secret KEY waits for an owner's grant"):
        ask(lines(), rights(open_to, secrets_waiting=(rule,)), url, **carry)
    with pytest.raises(Refused, match="authorization is set from a secret alone"):
        ask(lines(), with_secret(api), url, headers=[["authorization", "Bearer mine"]])
    with pytest.raises(Refused, match="authorization is set from a secret alone"):
        ask(lines(), rights(open_to), url, **carry)
    with pytest.raises(Refused, match="range could cut a secret in two"):
        ask(lines(), with_secret(api), url, headers=[["range", "bytes=0-3"]])
    with pytest.raises(Refused, match="not into the path"):
        ask(lines(), with_secret(api), f"{url}bot{{{{KEY}}}}/x")
    with pytest.raises(Refused, match="plain ASCII"):
        ask(lines(), with_secret(api, KEY="gehéimnis"), url, **carry)
    assert not api.requests


def test_an_answer_that_is_too_large_is_not_read_on(server: Scripted, lines: Lines) -> None:
    sent: list[int] = []

    def flood() -> Any:
        for number in range(10_000):
            sent.append(number)
            yield b"x" * 65_536

    server.says["/flood"] = Answer(200, flood())
    server.says["/bomb"] = Answer(
        200, gzip.compress(b"\0" * 50_000_000), {"content-encoding": "gzip"}
    )
    server.says["/full"] = Answer(200, b"x" * REPLY_BYTES)
    line = lines()
    for path in ("/flood", "/bomb"):
        with pytest.raises(Refused, match="ETOOBIG"):
            ask(line, anywhere(server), server.url + path)
    assert len(sent) < 1000
    assert len(json.dumps(ask(line, anywhere(server), f"{server.url}/full"))) < 1 << 20


def test_a_server_that_drips_does_not_prolong_a_run(server: Scripted, lines: Lines) -> None:
    def drip() -> Any:
        for _ in range(1_000):
            time.sleep(0.02)  # drops of twenty seconds
            yield b"x"

    server.says["/drip"] = Answer(200, drip())
    server.says["/hang"] = Answer(hang=True)
    line = lines()
    for path in ("/drip", "/hang"):
        started = time.monotonic()
        with pytest.raises(ToolError, match="did not answer in time"):
            ask(line, anywhere(server), server.url + path, seconds=0.2)
        assert time.monotonic() - started < 10  # long before the last drop
    assert ask(line, anywhere(server), server.url)["status"] == 200


def test_a_server_that_breaks_off_is_a_clean_failure(server: Scripted, lines: Lines) -> None:
    server.says["/cut"] = Answer(cut=True)
    with pytest.raises(ToolError, match="the connection failed"):
        ask(lines(), anywhere(server), f"{server.url}/cut")


def test_a_connection_is_used_again(server: Scripted, lines: Lines) -> None:
    line = lines()
    for _ in range(5):
        ask(line, anywhere(server), server.url)
    assert len(server._server.connections) == 1


def test_a_redirect_to_a_name_that_leads_inside_is_refused(
    secure: Callable[..., Scripted], lines: Lines
) -> None:
    api = secure("api.example.test")
    api.says["/"] = moved(302, "https://inside.example.test/")
    line = lines(
        resolve=lambda host, port: ["10.0.0.5"] if host.startswith("inside") else ["127.0.0.1"]
    )
    with pytest.raises(Refused, match="is not on the public internet"):
        ask(
            line,
            rights(f"GET api.example.test:{api.port}/", "GET inside.example.test/"),
            f"https://api.example.test:{api.port}/",
        )


def test_each_run_has_its_own_deadline_on_the_shared_connections(
    server: Scripted, lines: Lines
) -> None:
    server.says["/hang"] = Answer(hang=True)
    line, outcomes = lines(), []

    def work(path: str, seconds: float) -> None:
        try:
            outcomes.append(
                ask(line, anywhere(server), server.url + path, seconds=seconds)["status"]
            )
        except ToolError as problem:
            outcomes.append(problem.code)

    threads = [
        threading.Thread(target=work, args=given) for given in [("/hang", 0.3), ("/", 5.0)] * 4
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(str, outcomes)) == ["200"] * 4 + ["ENET"] * 4
