"""The access tokens of MCP servers: who renews them, when, and what becomes of a failure."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs

import pytest

from sigil.access.secret_store import SecretStore
from sigil.access.sign_in import SignIn
from sigil.errors import BackendError, Refused, ToolError, UsageError
from sigil.manifest.permission_rules import parse_secret_rule
from sigil.network.exchange import HttpAnswer, HttpRequest
from sigil.protocol import Caller
from sigil.run.mcp_client.sign_ins import CLAIM_SECONDS, Renewals, SignIns
from sigil.storage.kv import KV
from sigil.storage.kv.memory import MemoryKV
from sigil.strict_json import dumps
from tests.machine import within

OWNER = Caller("main", owner=True)
NOW = 1_800_000_000.0
SIGNED_IN = SignIn(
    "https://mail.example/mcp",
    "https://mail.example/mcp",
    "https://auth.example",
    "https://auth.example/token",
    "client-1",
    refresh_token="refresh-0",
    renew_at=NOW - 1,
    expires_at=NOW + 60,
)


class TokenServer:
    """The token endpoint: each refresh token is good once, `takes` seconds long."""

    loopback = False

    def __init__(self, takes: float = 0.0) -> None:
        self.takes = takes
        self.requests: list[HttpRequest] = []
        self.answer: Callable[[], HttpAnswer] | None = None

    def send(self, hop: HttpRequest, seconds: float) -> HttpAnswer:
        self.requests.append(hop)
        time.sleep(self.takes)  # a server that takes its time
        if self.answer:
            return self.answer()
        number = len(self.requests)
        row = {
            "access_token": f"access-token-{number}",
            "refresh_token": f"refresh-{number}",
            "token_type": "Bearer",
            "expires_in": 3600,
        }
        return HttpAnswer(200, "OK", (), dumps(row))

    def close(self) -> None:
        """There is nothing to close."""


def refusal(error: str, status: int = 400) -> Callable[[], HttpAnswer]:
    return lambda: HttpAnswer(status, "", (), dumps({"error": error}))


def signed_in(kv: KV, sign_in: SignIn = SIGNED_IN) -> SecretStore:
    store = SecretStore(kv, lambda: NOW)
    store.set("MCP_MAIL", "access-token-0", OWNER, sign_in)
    return store


def opened(kv: KV, web: TokenServer, now: float = NOW) -> SignIns:
    return SignIns(SecretStore(kv), lambda: web, lambda: now)


def test_many_processes_that_need_a_token_at_once_renew_it_once() -> None:
    kv, web = MemoryKV(), TokenServer(takes=0.2)
    signed_in(kv)
    found: list[str | None] = []

    def need_it() -> None:
        found.append(opened(kv, web).replace_rejected("main", "MCP_MAIL", "access-token-0"))

    threads = [threading.Thread(target=need_it) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(10)
    assert found == ["access-token-1"] * 4
    (request,) = web.requests
    assert request.target.url == "https://auth.example/token"
    assert parse_qs(request.body.decode()) == {
        "grant_type": ["refresh_token"],
        "refresh_token": ["refresh-0"],
        "resource": ["https://mail.example/mcp"],
        "client_id": ["client-1"],
    }
    assert opened(kv, web).read_value("main", "MCP_MAIL") == "access-token-1"
    assert len(web.requests) == 1


def test_a_call_waits_for_a_renewal_no_longer_than_it_may_take_and_the_new_token_is_kept() -> None:
    kv, web = MemoryKV(), TokenServer()
    signed_in(kv)
    begun, ended = threading.Event(), threading.Event()

    def hang() -> HttpAnswer:
        begun.set()
        assert ended.wait(within(20))
        row = {
            "access_token": "access-token-9",
            "refresh_token": "r-9-9-9-9",
            "token_type": "bearer",
        }
        return HttpAnswer(200, "OK", (), dumps(row))

    web.answer = hang
    renewals = Renewals()
    sign_ins = SignIns(SecretStore(kv), lambda: web, lambda: NOW, renewals)
    for _ in range(2):  # the one who asks, and one who waits for it
        with pytest.raises(ToolError, match="being renewed, and that takes longer") as late:
            sign_ins.replace_rejected("main", "MCP_MAIL", "access-token-0", time.monotonic() + 0.1)
        assert late.value.code == "ETIMEDOUT"
        assert begun.wait(within(20))
    ended.set()
    renewals.close()
    assert opened(kv, web).read_value("main", "MCP_MAIL") == "access-token-9"
    assert len(web.requests) == 1


def test_a_token_that_is_still_good_is_sent_while_its_renewal_takes_long() -> None:
    kv, web = MemoryKV(), TokenServer()
    signed_in(kv)
    ended = threading.Event()
    web.answer = lambda: HttpAnswer(503, "", (), str(ended.wait(within(20))).encode())
    renewals = Renewals()
    sign_ins = SignIns(SecretStore(kv), lambda: web, lambda: NOW, renewals)
    soon = time.monotonic() + 0.1
    assert sign_ins.read_value("main", "MCP_MAIL", (), soon) == "access-token-0"
    ended.set()
    renewals.close()


def test_a_process_that_ended_in_the_middle_of_a_renewal_holds_nobody_up_for_long() -> None:
    from dataclasses import replace

    kv, web = MemoryKV(), TokenServer()
    signed_in(kv, replace(SIGNED_IN, renewing_until=NOW + 5))
    assert opened(kv, web).read_value("main", "MCP_MAIL") == "access-token-0"
    assert web.requests == []
    later = NOW + CLAIM_SECONDS
    assert opened(kv, web, later).read_value("main", "MCP_MAIL") == "access-token-1"


def test_a_refresh_token_that_ended_is_not_sent_twice() -> None:
    kv, web = MemoryKV(), TokenServer()
    signed_in(kv)
    web.answer = refusal("invalid_grant")
    # The access token is good for a minute yet.
    assert opened(kv, web).read_value("main", "MCP_MAIL") == "access-token-0"
    for now in (NOW + 61, NOW + 62):
        with pytest.raises(Refused, match="has ended: `sigil mcp login mail`"):
            opened(kv, web, now).read_value("main", "MCP_MAIL")
    with pytest.raises(Refused, match="has ended"):
        opened(kv, web).replace_rejected("main", "MCP_MAIL", "access-token-0")
    assert len(web.requests) == 1


def test_a_server_that_is_down_ends_no_sign_in() -> None:
    kv, web = MemoryKV(), TokenServer()
    signed_in(kv)
    web.answer = refusal("temporarily_unavailable", 503)
    with pytest.raises(ToolError, match=r"cannot be renewed: .*temporarily_unavailable"):
        opened(kv, web).replace_rejected("main", "MCP_MAIL", "access-token-0")
    web.answer = None
    renewed = opened(kv, web).replace_rejected("main", "MCP_MAIL", "access-token-0")
    assert renewed == "access-token-2"


def test_a_store_that_is_away_for_a_moment_loses_no_refresh_token(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kv, web = MemoryKV(), TokenServer()
    signed_in(kv)
    put, failures = kv.put, [BackendError("EUNAVAILABLE", "the store is locked")] * 2

    def fail(*arguments: Any, **options: Any) -> str:
        if web.requests and failures:
            raise failures.pop()
        return put(*arguments, **options)

    monkeypatch.setattr(kv, "put", fail)
    monkeypatch.setattr("sigil.run.mcp_client.sign_ins.LOOK_SECONDS", 0.01)
    renewed = opened(kv, web).read_value("main", "MCP_MAIL")
    assert renewed == "access-token-1"
    again = opened(kv, web).replace_rejected("main", "MCP_MAIL", "access-token-1")
    assert again == "access-token-2"
    assert parse_qs(web.requests[1].body.decode())["refresh_token"] == ["refresh-1"]


def test_who_signs_in_anew_during_a_renewal_keeps_what_is_new() -> None:
    kv, web = MemoryKV(), TokenServer()
    store = signed_in(kv)

    def sign_in_meanwhile() -> HttpAnswer:
        from dataclasses import replace

        anew = replace(SIGNED_IN, refresh_token="refresh-anew", renew_at=NOW + 60)
        store.set("MCP_MAIL", "access-token-anew", OWNER, anew)
        return HttpAnswer(400, "", (), dumps({"error": "invalid_grant"}))

    web.answer = sign_in_meanwhile
    assert opened(kv, web).read_value("main", "MCP_MAIL") == "access-token-anew"
    found = store.find("main", "MCP_MAIL")
    assert found is not None
    assert found.sign_in is not None
    assert found.sign_in.refresh_token == "refresh-anew"


def test_a_token_goes_to_its_own_host_whatever_an_owner_granted() -> None:
    kv, web = MemoryKV(), TokenServer()
    signed_in(kv)
    own, other = (
        parse_secret_rule(f"MCP_MAIL@{host}") for host in ("mail.example", "evil.example")
    )
    sign_ins = opened(kv, web)
    for rules in ([other], [own, other]):
        with pytest.raises(Refused, match=r"a token for mail\.example alone"):
            sign_ins.read_value("main", "MCP_MAIL", rules)
    assert web.requests == []
    assert sign_ins.read_value("main", "MCP_MAIL", [own]) == "access-token-1"


def test_a_token_is_never_taken_for_a_place_in_aws_and_never_replaces_what_a_person_set() -> None:
    kv, web = MemoryKV(), TokenServer()
    store = SecretStore(kv)
    store.set(
        "MCP_MAIL",
        "ssm:/owners/other/secret",
        OWNER,
        SignIn("https://s.example/mcp", "r", "i", "t", "c"),
    )
    assert opened(kv, web).read_value("main", "MCP_MAIL") == "ssm:/owners/other/secret"
    store.set("MCP_OTHER", "set by hand", OWNER)
    with pytest.raises(UsageError, match="was set by hand"):
        store.set("MCP_OTHER", "access-token", OWNER, SIGNED_IN)
    assert opened(kv, web).replace_rejected("main", "MCP_OTHER", "set by hand") is None
