"""Golden tests answer for this machine where capabilities may ask it."""

from __future__ import annotations

from functools import partial

import pytest

from sigil.deploy import golden_tests
from sigil.errors import BackendError, Refused
from sigil.protocol import Caller
from sigil.registry import LocalRegistry, RegistryRules
from sigil.run.live_services import open_network
from sigil.sandbox.pool import Sandbox
from sigil.storage.artifacts import MemoryArtifacts
from sigil.storage.kv.memory import MemoryKV

URL = "http://127.0.0.1:18777/v1/x"
PERSON = Caller("main", owner=True)


def deployed(sandbox: Sandbox, url: str = URL, *, loopback: bool) -> int:
    place = url.partition("://")[2].partition("/")[0]
    spec = {
        "name": "far",
        "description": "It asks.",
        "execute": "return await (await fetch(input.url)).json()",
        "permissions": {"http": [f"GET {place}/v1/"]},
        "tests": [{"input": {"url": url}, "output": 7, "http": [{"url": url, "body": 7}]}],
    }
    registry = LocalRegistry(
        MemoryKV(),
        MemoryArtifacts(),
        sandbox,
        rules=RegistryRules(pause=0),
        web=partial(open_network, loopback=loopback),
    )
    return registry.deploy(spec, PERSON).passed


def test_a_test_answers_for_this_machine_where_it_may_be_asked(sandbox: Sandbox) -> None:
    assert deployed(sandbox, loopback=True) == 1


def test_a_test_is_told_that_this_machine_may_not_be_asked(sandbox: Sandbox) -> None:
    with pytest.raises(Refused, match="only https is allowed"):
        deployed(sandbox, loopback=False)
    with pytest.raises(Refused, match="only https is allowed"):
        deployed(sandbox, url="http://api.example.com:80/v1/x", loopback=True)


def deploy_slow(sandbox: Sandbox, code: str, milliseconds: int) -> int:
    spec = {
        "name": "slow",
        "description": "It counts.",
        "execute": code,
        "limits": {"timeout_ms": milliseconds},
        "tests": [{"input": {}, "output": 7}],
    }
    rules = RegistryRules(pause=0)
    registry = LocalRegistry(MemoryKV(), MemoryArtifacts(), sandbox, rules=rules)
    return registry.deploy(spec, PERSON).passed


def test_a_test_that_has_all_of_its_time_is_too_slow(sandbox: Sandbox) -> None:
    with pytest.raises(Refused, match=r"ETESTS: 1 of 1 test failed: .* gave ETIMEDOUT"):
        deploy_slow(sandbox, "for (;;);", 50)


def test_a_busy_machine_is_no_fault_of_a_test(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Sandbox, "count_processor_seconds", lambda self: 0.0)
    work = "let n = 0; while (n < 2e6) n++; return 7"
    assert deploy_slow(sandbox, work, 20) == 1, "it gets more time"

    monkeypatch.setattr(golden_tests, "BUDGET_SECONDS", 0.3)
    with pytest.raises(
        BackendError, match="EBUSY: this machine is too busy: test 1 gets too little"
    ):
        deploy_slow(sandbox, "for (;;);", 20)
