"""The packages of the functions, run through everything they do on a table that has been used."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from functions.settings import Settings
from sigil import wiring
from sigil.catalog.expiry import IDLE_SECONDS
from sigil.catalog.usage import ALL
from sigil.http.app import ROUTES
from sigil.protocol import LIBRARY, Caller
from sigil.registry import LocalRegistry
from sigil.storage.kv import keys
from tests.deploy.requests import batch, failures, happened, registry, request
from tests.deploy.runtime import Deployment
from tests.fakes.model import call, say
from tests.fakes.server import RecordingServer
from tests.library import copy_capabilities
from tests.selection import in_full
from tests.servers.lambda_runtime import Invoked, LambdaFunction

pytestmark = pytest.mark.thorough  # test_runtime.py has the functions on a fresh table

OWNER = Caller("main", owner=True)
LONG_AGO = IDLE_SECONDS + 86_400
SOME = ("calculate", "encode", "statistics")
TRACES = ("Traceback", "No module named")
"""What a function writes that lacks a part of itself."""


@contextmanager
def registry_of(deployed: Deployment, ago: float) -> Iterator[LocalRegistry]:
    """A registry on the deployed table, whose clock is `ago` seconds late."""
    settings = Settings.read({**deployed.settings, "UNCAGED_LIBRARY": "none"}, deployed.folder)
    stores, sandbox = wiring.open_stores(settings), wiring.open_sandbox(settings)
    made = LocalRegistry(stores.kv, stores.artifacts, sandbox, lambda: time.time() - ago)
    try:
        yield made
    finally:
        made.close()


def use(deployed: Deployment) -> None:
    """Use the table 31 days ago: capabilities that were called, one of them public, one that has
    expired since.
    """
    with registry_of(deployed, LONG_AGO) as then:
        for name, more in (
            ("unused", {}),
            ("shared", {"public": True}),
            ("lasting", {"type": "persistent"}),
        ):
            then.deploy(
                {"name": name, "description": "Answers.", "execute": "return 1", **more}, OWNER
            )
            then.run(name, {}, OWNER)
        brief = {
            "name": "brief",
            "description": "Answers.",
            "execute": "return 1",
            "type": "ephemeral",
            "ttl": 60,
        }
        then.deploy(brief, OWNER)
    with registry_of(deployed, 0) as now:
        now.deploy(
            {"name": "fresh", "description": "Answers.", "execute": "return 1", "public": True},
            OWNER,
        )


@dataclass(frozen=True, slots=True)
class Used:
    """A deployment on a used table, whose worker has stocked the library when CloudFormation asked:
    `created` is what it answered, `told` what CloudFormation heard.
    """

    deployed: Deployment
    worker: LambdaFunction
    created: Invoked
    told: list[dict[str, Any]]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The library's setting: all of it where everything runs, else what these tests ask for."""
    if in_full():
        return "builtin"
    return str(copy_capabilities(tmp_path_factory.mktemp("library"), *SOME))


@pytest.fixture(scope="module")
def used(running: Deployment, library: str) -> Used:
    """One that the tests of this file share, with a person who owns it."""
    use(running)
    settings = {"UNCAGED_LIBRARY": library, "UNCAGED_OWNERS": "telegram:77001"}
    worker = running.function("worker", timeout=60, **{**running.with_model(), **settings})
    with RecordingServer() as cloud:
        created = worker.invoke(asked_by(cloud, "Create"))
        return Used(running, worker, created, [request.json() for request in cloud.requests])


def test_the_scheduler_does_its_whole_day_on_a_used_table(deployed: Deployment) -> None:
    use(deployed)
    kv = deployed.runtime().stores.kv
    kv.delete(keys.public_mark("main", "fresh"))  # as a process left it that died in between

    first = deployed.function("scheduler").invoke(request("scheduler"))
    second = deployed.function("scheduler").invoke(request("scheduler"))

    assert (first.failed, first.payload) == ("", {"swept": 1, "queued": 0})
    assert (second.failed, second.payload) == ("", {"swept": 0, "queued": 0})
    assert kv.get(keys.call_counts("main", "lasting", ALL)) is not None
    assert kv.get(keys.public_mark("main", "fresh")) is not None
    assert kv.get(keys.public_mark("main", "shared")) is None
    with registry_of(deployed, 0) as now:
        states = {str(row["capability"]): row["state"] for row in now.list(OWNER)}
    assert states == {"unused": "inactive", "shared": "inactive", "lasting": "ok", "fresh": "ok"}


def test_a_failure_of_the_daily_work_is_told_until_it_is_mended(deployed: Deployment) -> None:
    use(deployed)
    kv = deployed.runtime().stores.kv
    key = keys.capability("main", "lasting")
    whole = kv.get(key)
    assert whole is not None
    kv.put(key, b"damaged")

    told = [deployed.function("scheduler").invoke(request("scheduler")).failed for _ in range(2)]
    kv.put(key, whole.value)
    mended = deployed.function("scheduler").invoke(request("scheduler"))

    assert told == ["BackendError", "BackendError"]
    assert (mended.failed, mended.payload) == ("", {"swept": 0, "queued": 0})
    assert kv.get(keys.call_counts("main", "lasting", ALL)) is not None


def test_the_worker_does_what_chats_ask_for_on_a_used_table(used: Used) -> None:
    """Capabilities of every kind, one that the model makes, memory, documents, what is too long for
    a message, commands.
    """
    made = {
        "name": "long",
        "description": "Answers at length.",
        "execute": "return 'x'.repeat(200_000)",
        "schema": {"type": "object"},
    }
    used.deployed.model.then(
        call(
            ("sigil_query", {"query": "statistics of a list of numbers"}),
            ("sigil_query", {"query": "remember something"}),
        ),
        call(
            ("cap_statistics", {"x": [1, 2, 3]}),
            ("cap_remember", {"key": "a", "value": "b", "source": "user"}),
        ),
        call(("sigil_deploy", made)),
        call(("cap_long", {})),
        say("**it is done** " + "and more " * 900),
        say("# Soul\n\n## Personality\nDry."),
        say("{}"),
    )
    texts = (
        "work",
        "/soul be dry",
        "/mem",
        "/recall",
        "/forget a",
        "/status",
        "/usage",
        "/tools",
        "/help",
        "/whoami",
        "/new",
    )
    answers = [
        used.worker.invoke(batch(happened(number, text))) for number, text in enumerate(texts, 1)
    ]

    assert [failures(answer.payload) for answer in answers] == [[]] * len(texts)
    assert len(used.deployed.texts(77001)) >= len(texts)
    assert not [trace for trace in TRACES if trace in used.worker.said()]


def test_every_route_of_the_registry_answers_on_a_used_table(used: Used, library: str) -> None:
    function = used.deployed.function("registry", timeout=60, UNCAGED_LIBRARY=library)
    secret, text = {"value": "v"}, {"text": "hello"}
    made = {
        "name": "made",
        "description": "Answers.",
        "execute": "return input.text",
        "permissions": {"http": ["GET a.example/"]},
    }
    asked: tuple[tuple[str, str, object], ...] = (
        ("POST", "/_api/deploy", made),
        ("POST", "/_api/deploy", {**made, "execute": "return input.text + 1"}),
        ("POST", "/run/fresh", text),
        ("POST", "/run/library/statistics", {"x": [1, 2, 3]}),
        ("POST", "/run/library/calculate", {"expression": "1 + 1"}),
        ("POST", "/_api/rollback", {"name": "made"}),
        ("POST", "/_api/yank", {"name": "made", "version": 2}),
        ("POST", "/_api/publish", {"name": "made"}),
        ("POST", "/_api/export", {"names": ["fresh"]}),
        ("POST", "/_api/grant", {"name": "made", "permissions": ["http:GET a.example/"]}),
        ("POST", "/_api/revoke", {"name": "made"}),
        ("POST", "/_api/mcp/tools", {"server": "https://127.0.0.1:9/mcp"}),
        ("PUT", "/_api/secrets/A_SECRET", secret),
        ("DELETE", "/_api/secrets/A_SECRET", None),
        ("POST", "/_api/keys", {"kind": "deploy", "name": "laptop", "namespace": "ada"}),
        ("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}),
        *(
            ("GET", route.path.replace("{ref:path}", "fresh").replace("{ref}", "fresh"), None)
            for route in ROUTES
            if route.method == "GET"
        ),
        ("DELETE", "/_api/remove", None),
    )
    answers = [function.invoke(registry(method, path, body)) for method, path, body in asked]

    assert not [
        (each[:2], one.payload)
        for each, one in zip(asked, answers, strict=True)
        if one.failed or one.status >= 500
    ]
    assert [answer.status for answer in answers[:5]] == [201, 201, 200, 200, 200]
    assert not [trace for trace in TRACES if trace in function.said()]


def test_the_worker_stocks_the_library_when_cloudformation_asks(used: Used) -> None:
    kv = used.deployed.runtime().stores.kv
    noted = kv.get(keys.library_state())
    assert noted is not None
    kv.delete(keys.library_state())  # as it is when the library or the program is another
    with RecordingServer() as cloud:
        updated = used.worker.invoke(asked_by(cloud, "Update"))
        told = [*used.told, *(request.json() for request in cloud.requests)]

    assert [used.created.payload, updated.payload] == [{"status": "SUCCESS"}] * 2
    assert [(each["Status"], each["PhysicalResourceId"], each["RequestId"]) for each in told] == [
        ("SUCCESS", "library", "r")
    ] * 2
    rows = kv.scan(keys.capability(LIBRARY, "").partition)
    stocked = {row for row, _ in rows if "#" not in row}
    assert len(stocked) > 50 if in_full() else stocked == set(SOME), stocked
    again = kv.get(keys.library_state())
    assert again is not None
    assert again.value == noted.value
    used.deployed.model.then(say("Hello."))
    used.worker.invoke(batch(happened(51, "hello", chat=86)))
    assert used.deployed.texts(86) == ["Hello."]
    assert kv.get(keys.library_state()) == again  # a person's message finds it as it is
    assert not [trace for trace in TRACES if trace in used.worker.said()]


def test_a_stack_that_goes_is_let_go_and_a_library_that_cannot_be_is_told(
    deployed: Deployment,
) -> None:
    with RecordingServer() as cloud:
        function = deployed.function("worker", timeout=60, UNCAGED_LIBRARY="/nowhere")
        answers = [function.invoke(asked_by(cloud, kind)).payload for kind in ("Delete", "Create")]
        told = [request.json() for request in cloud.requests]

    assert answers == [{"status": "SUCCESS"}, {"status": "FAILED"}]
    assert "UNCAGED_LIBRARY" in told[1]["Reason"]


def asked_by(cloud: RecordingServer, kind: str) -> dict[str, object]:
    """What CloudFormation asks of a custom resource."""
    known = {
        "StackId": "s",
        "RequestId": "r",
        "LogicalResourceId": "LibraryStocked",
        "ResourceType": "Custom::Library",
    }
    return {
        "RequestType": kind,
        "ResponseURL": f"{cloud.url}/answer?signed=1",
        "ResourceProperties": {"Version": "1"},
        **known,
    }
