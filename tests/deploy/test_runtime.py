"""The functions under Lambda's real runtime interface, with the events that AWS sends them."""

from __future__ import annotations

import os
import signal
import time
from base64 import b64decode, b64encode
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from functions.agent.schedules.schedule import Schedule, Schedules
from functions.agent.schedules.when import When
from functions.agent.turn.loop import ROUND_SECONDS
from functions.events import CONSOLIDATION
from functions.queues.dead_letters import scan_dead_letters
from functions.queues.sqs_message import unpack
from tests.deploy.requests import (
    BOT,
    admin,
    batch,
    elsewhere,
    failures,
    happened,
    registry,
    request,
    update,
    webhook,
)
from tests.deploy.runtime import Deployment, stages
from tests.fakes.model import call, say
from tests.fakes.server import Answer, RecordingServer
from tests.functions.hook_fixture import add_hook
from tests.functions.queues.invoked import Source
from tests.library import copy_capabilities
from tests.machine import is_running, within
from tests.servers.lambda_runtime import Invoked, LambdaFunction
from tests.servers.runtime_api import children

ENCODE = "encode hello world in base64"
ENCODED = "aGVsbG8gd29ybGQ="
DOUBLE = {
    "name": "double",
    "description": "Doubles a number.",
    "schema": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
    "execute": "return 2 * input.n",
    "tests": [{"input": {"n": 2}, "output": 4}],
}


# ---- the emulator itself


def test_a_function_has_the_environment_of_lambda_and_nothing_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNCAGED_ACCESS", "of the tests")
    (tmp_path / "probe.py").write_text(
        "import os\ndef handler(event, context): return dict(os.environ)\n"
    )
    with LambdaFunction("probe.handler", {"GIVEN": "1"}, tmp_path, sources=(tmp_path,)) as probe:
        seen = probe.invoke({}).payload

    assert seen["GIVEN"] == "1"
    assert seen["AWS_LAMBDA_FUNCTION_NAME"] == "probe"
    assert "UNCAGED_ACCESS" not in seen
    assert not os.path.isdir(seen["HOME"])


def test_a_function_that_ends_leaves_no_process_behind(tmp_path: Path) -> None:
    (tmp_path / "fork.py").write_text(
        "import os, subprocess\n"
        "def handler(event, context):\n"
        "    return [os.getpid(), subprocess.Popen(['sleep', '600'], start_new_session=True).pid]\n"
    )
    with LambdaFunction("fork.handler", {}, tmp_path, sources=(tmp_path,)) as fork:
        started = fork.invoke({}).payload

    assert not [pid for pid in started if Path(f"/proc/{pid}").exists()]


# ---- webhook


def test_an_update_is_answered_with_200_once_its_event_waits(running: Deployment) -> None:
    function = running.function("webhook")
    answers = [function.invoke(request(name)) for name in ("webhook_health", "webhook", "webhook")]
    waiting = running.waiting()

    assert [answer.status for answer in answers] == [200, 200, 200]
    assert [(event.id, event.text) for event in waiting] == [("telegram:123456:77001:11", ENCODE)]


def test_a_body_that_comes_in_base64_is_an_update_too(running: Deployment) -> None:
    body = b64decode(request("webhook_base64")["body"]).replace(
        b'"message_id":11', b'"message_id":13'
    )
    event = request("webhook_base64", body=b64encode(body).decode())
    answer = running.function("webhook").invoke(event)
    waiting = {event.id: event.text for event in running.waiting()}

    assert answer.status == 200
    assert waiting["telegram:123456:77001:13"] == ENCODE


def test_an_update_behind_a_mapping_or_a_stage_reaches_the_webhook_in_both_formats(
    running: Deployment,
) -> None:
    function = running.function("webhook")
    answers = [function.invoke(request(name)) for name in ("webhook_mapped", "webhook_rest")]
    forged = request("webhook_rest", headers={}, multiValueHeaders={})
    waiting = {event.id for event in running.waiting()}

    assert [answer.status for answer in answers] == [200, 200]
    assert function.invoke(forged).status == 401
    assert {f"telegram:{BOT}:77001:{number}" for number in (14, 15)} <= waiting


def test_what_is_forged_is_refused_and_nothing_odd_waits_or_comes_again(
    running: Deployment,
) -> None:
    function = running.function("webhook")
    before = running.waiting()
    forged = function.invoke(request("webhook_forged"))
    large = function.invoke(webhook(update(1, "x" * (1 << 20))))
    encoded = function.invoke(webhook(update(1, "x" * (1 << 20)), encoded=True))
    odd = function.invoke(request("webhook", body="{"))
    unknown = function.invoke(elsewhere("webhook", "POST", "/webhook/elsewhere"))

    assert [answer.status for answer in (forged, large, encoded, odd, unknown)] == [
        401,
        200,
        200,
        200,
        404,
    ]
    assert running.waiting() == before


def test_the_webhook_takes_every_kind_of_update(running: Deployment) -> None:
    function = running.function("webhook")
    odd = [
        {"update_id": 5, "callback_query": {}},
        {"update_id": 6, "message": {"photo": []}},
        update(7, "/stop", chat=83),
        update(8, "hello", chat=83),
    ]
    answers = [function.invoke(webhook(each)) for each in odd]

    assert [answer.status for answer in answers] == [200] * len(odd)
    assert "Traceback" not in function.said()


def test_what_is_posted_to_a_hook_waits_once_as_background_work(running: Deployment) -> None:
    hook, token = add_hook(running.runtime())
    function = running.function("webhook")
    before = running.waiting()
    head = request("webhook")["headers"] | {"x-github-delivery": "d-1"}

    def post(name: str, token: str, **changes: Any) -> Invoked:
        headers = {**head, "x-hook-token": token}
        return function.invoke(
            elsewhere("webhook", "POST", f"/hooks/{name}", headers=headers, **changes)
        )

    answers = [post("builds", token, body="failed") for _ in range(2)]
    forged = [post("builds", "x"), post("nobody", token)]
    large = post("builds", token, body="x" * 65_537)
    binary = post("builds", token, body="AAEC/w==", isBase64Encoded=True)
    (event,) = running.waiting("UNCAGED_WORK_QUEUE")

    assert [answer.status for answer in answers] == [202, 202]
    assert [answer.status for answer in forged] == [401, 401]
    assert (large.status, binary.status) == (413, 415)
    assert (event.session, event.text) == (hook.own_session, "failed")
    assert {answer.body["event"] for answer in answers} == {event.id}
    assert running.waiting() == before


# ---- worker


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker at work: its first call, and when that began."""

    function: LambdaFunction
    first: Invoked
    begun: float


def id_of(record: dict[str, Any]) -> str:
    """The id of the event in a message of SQS."""
    return unpack(record["body"]).id


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The setting of a small library, which is stocked in a moment: `tests/deploy/test_used.py` has
    all of it.
    """
    folder = tmp_path_factory.mktemp("library")
    names = ("encode", "hash", "number-base", "text-stats")
    return {"UNCAGED_LIBRARY": str(copy_capabilities(folder, *names))}


@pytest.fixture(scope="module")
def worker(running: Deployment, library: dict[str, str]) -> Worker:
    begun = time.time()
    function = running.function("worker", **library)
    return Worker(function, function.invoke(request("worker")), begun)


def test_a_turn_runs_its_capability_and_answers_and_the_next_call_is_warm(
    running: Deployment, worker: Worker
) -> None:
    process = worker.function.process()
    again = worker.function.invoke(request("worker"))
    warm = worker.function.invoke(batch(happened(900102, "encode hello there in base64")))

    assert [failures(each.payload) for each in (worker.first, again, warm)] == [[], [], []]
    assert running.texts(77001) == [ENCODED, "aGVsbG8gdGhlcmU="]
    assert worker.function.process() == process


def test_an_update_goes_through_the_webhook_the_queue_and_the_worker_to_its_answer(
    running: Deployment, worker: Worker
) -> None:
    queue = Source(running.queue(), running.store["AWS_ENDPOINT_URL"])
    posted = running.function("webhook").invoke(webhook(update(81, ENCODE, chat=82)))
    taken = [each for each in queue.receive()["Records"] if id_of(each) == f"telegram:{BOT}:82:81"]
    answer = worker.function.invoke({"Records": taken})
    queue.delete({"Records": taken})

    assert posted.status == 200
    assert len(taken) == 1
    assert failures(answer.payload) == []
    assert running.texts(82) == [ENCODED]


def test_a_capability_runs_in_a_child_of_the_function(worker: Worker) -> None:
    worker.function.invoke(batch(happened(51, ENCODE, chat=84)))

    named = [
        Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
        for pid in children(worker.function.process())
    ]

    assert any("sigil.sandbox" in line for line in named)


def test_an_event_that_fails_holds_back_its_own_chat_alone_until_it_comes_again(
    running: Deployment, worker: Worker
) -> None:
    running.platform.fail(503, "Service Unavailable")
    other = happened(23, "encode another in hex", chat=88)
    first = happened(21, ENCODE, chat=87)
    second = happened(22, "encode hello world in hex", chat=87)
    refused = worker.function.invoke(batch(first, second, other))
    again = worker.function.invoke(batch(first, second, received=2))

    assert failures(refused.payload) == ["m0", "m1"]
    assert failures(again.payload) == []
    assert running.texts(87, 88) == ["616e6f74686572", ENCODED, "68656c6c6f20776f726c64"]


def test_a_message_that_is_no_event_becomes_a_dead_letter_and_its_batch_goes_on(
    running: Deployment, worker: Worker
) -> None:
    answer = worker.function.invoke(batch("no event", happened(31, ENCODE, chat=86)))

    assert failures(answer.payload) == []
    assert running.texts(86) == [ENCODED]
    assert [letter.event for letter in scan_dead_letters(running.runtime().stores.kv)] == [None]


@pytest.mark.thorough
def test_a_function_writes_nothing_into_its_package(worker: Worker) -> None:
    assert not [
        path for path in (stages() / "worker").rglob("*") if path.lstat().st_mtime >= worker.begun
    ]


def test_a_turn_that_lambda_kills_is_taken_up_by_a_cold_start_and_answered_once(
    deployed: Deployment,
) -> None:
    seconds = round(within(8.0))
    function = deployed.function(
        "worker",
        timeout=seconds,
        UNCAGED_TURN_SECONDS=str(seconds - 1),
        **deployed.with_model(),
    )

    hung: list[int] = []

    def stall(body: dict[str, Any]) -> Answer:
        hung.append(function.process())
        # the whole process hangs: it hears no deadline of its own
        os.kill(hung[0], signal.SIGSTOP)
        function.expire()
        return Answer(hang=True)

    deployed.model.then(
        say("good morning"), call(("sigil_query", {"query": "anything"})), stall, say("here I am")
    )
    function.invoke(
        batch(happened(1, "hello"))
    )  # a warm function gets to its second request before its own deadline, however slow this is
    event = happened(2, "are you there?")
    killed = function.invoke(batch(event))
    answers = [function.invoke(batch(event, received=2 + again)) for again in range(2)]

    assert killed.failed == "Timeout"
    assert not is_running(hung[0])
    assert [failures(answer.payload) for answer in answers] == [[], []]
    assert deployed.texts() == ["good morning", "here I am"]
    assert len(deployed.model.requests) == 4


def test_a_turn_that_the_function_has_no_time_for_is_handed_on_and_goes_on_in_another_call(
    running: Deployment, worker: Worker, library: dict[str, str], tmp_path: Path
) -> None:
    # a cold start has time enough, and what it leaves is too short for a round
    with running.another_function(
        "worker", tmp_path, timeout=round(ROUND_SECONDS), **library
    ) as short:
        handed = short.invoke(batch(happened(41, ENCODE, chat=85)))
    waiting = [event for event in running.waiting() if event.session == "telegram:85"]
    answer = worker.function.invoke(batch(*waiting))

    assert (handed.failed, failures(handed.payload)) == ("", [])
    assert [event.kind for event in waiting] == ["continue"]
    assert failures(answer.payload) == []
    assert running.texts(85) == [ENCODED]


def test_background_work_is_enqueued_apart_and_answered_for_in_its_own_queue(
    running: Deployment, worker: Worker
) -> None:
    background = replace(happened(71, "", chat=89), kind="continue", id=f"{CONSOLIDATION}71")
    running.runtime().queue.put(background)
    source = Source(running.queue("UNCAGED_WORK_QUEUE"), running.store["AWS_ENDPOINT_URL"])
    taken = [each for each in source.receive()["Records"] if id_of(each) == background.id]
    answer = worker.function.invoke({"Records": taken})

    assert len(taken) == 1
    assert failures(answer.payload) == []


# ---- admin


def test_the_owners_switch_halts_a_chat_for_the_worker_and_tells_of_it(
    running: Deployment, worker: Worker, tmp_path: Path
) -> None:
    chat = {"session": "telegram:90"}
    with (
        RecordingServer() as heard,
        running.another_function(
            "admin", tmp_path, round(within(30)), UNCAGED_ALERTS=heard.url
        ) as function,
    ):
        halted = function.invoke(admin("POST", "/halt", chat))
        worker.function.invoke(batch(happened(61, ENCODE, chat=90)))
        status = function.invoke(admin("GET", "/status", query="session=telegram:90"))
        unlocked = function.invoke(admin("POST", "/unlock", chat))
        worker.function.invoke(batch(happened(62, ENCODE, chat=90)))
        alerts = [request.json()["event"] for request in heard.requests]

    assert (halted.status, halted.body) == (200, {"halted": "telegram:90"})
    assert (status.status, status.body["state"]) == (200, "SAFETY_LOCKOUT")
    assert (unlocked.status, unlocked.body) == (200, {"unlocked": "telegram:90"})
    assert alerts == ["SYSTEM_HALT"]
    assert running.texts(90)[1:] == [ENCODED]


def test_the_owners_switch_is_closed_to_everybody_else_and_stays_open_to_the_owner(
    running: Deployment,
) -> None:
    function = running.function("admin")
    wrong = {**request("admin_status")["headers"], "authorization": "Bearer wrong"}
    unsigned = function.invoke(request("admin_unsigned"))
    odd = function.invoke(admin("POST", "/halt", {"session": "telegram"}))
    guesses = [function.invoke(request("admin_halt", headers=wrong)).status]
    # an address has sixty tries, and another one each second
    while guesses[-1] == 401 and len(guesses) < 600:
        guesses.append(function.invoke(request("admin_halt", headers=wrong)).status)

    assert (unsigned.status, unsigned.body["error"]["code"]) == (401, "EAUTH")
    assert (odd.status, odd.body["error"]["code"]) == (400, "EINVAL")
    assert len(guesses) > 60
    assert guesses[-1] == 429
    assert function.invoke(request("admin_status")).status == 200


# ---- scheduler and registry


def test_a_reminder_that_is_due_goes_from_the_table_into_the_queue_and_is_said_once(
    running: Deployment, worker: Worker
) -> None:
    chat = "telegram:93"
    now = time.time() - 2
    when = When(kind="at", at=now + 1, zone="UTC")
    reminder = Schedule(id="", when=when, session=chat, by=chat, since=now, say="drink water")
    Schedules(running.runtime().stores.kv, "main").add(reminder)
    ticks = [running.function("scheduler").invoke(request("scheduler")) for _ in range(2)]
    waiting = [event for event in running.waiting() if event.session == chat]
    answers = [worker.function.invoke(batch(*waiting, received=1 + again)) for again in range(2)]

    assert [tick.payload["queued"] for tick in ticks] == [1, 0]
    assert [(event.kind, event.text) for event in waiting] == [("say", "drink water")]
    assert [failures(answer.payload) for answer in answers] == [[], []]
    assert running.texts(93) == ["drink water"]


def test_a_schedule_is_made_over_http_and_run_from_the_queue(running: Deployment) -> None:
    function = running.function("admin")
    fields = {"when": "every day at 7", "say": "drink water", "session": "http:admin:main"}
    made = function.invoke(admin("POST", "/wakeups", fields))
    run = function.invoke(admin("POST", f"/wakeups/{made.body['id']}/run"))
    listed = function.invoke(admin("GET", "/wakeups"))

    assert (made.status, run.status) == (201, 202)
    assert made.body["in_words"] == "every day at 07:00 (UTC)"
    assert [each["id"] for each in listed.body["items"]] == [made.body["id"]]
    assert run.body["event"] in [event.id for event in running.waiting()]


def test_a_document_is_added_over_http_found_and_dropped(running: Deployment) -> None:
    function = running.function("admin")
    fields = {"title": "Tea", "source": "a book", "text": "Green tea is brewed at 70 degrees."}
    made = function.invoke(admin("POST", "/kb", fields))
    found = function.invoke(admin("GET", "/kb/search", query="q=how+hot+for+green+tea"))
    path = f"/kb/{made.body['id']}"
    written = function.invoke(admin("PUT", path, {"source": "a book", "text": "At 80 degrees."}))
    back = function.invoke(admin("PUT", path, {"version": 1}))
    used = function.invoke(admin("GET", "/usage"))
    gone = function.invoke(admin("DELETE", path))

    assert (made.status, written.status, back.status, gone.status) == (201, 200, 200, 200)
    assert back.body["version"] == 3
    assert (used.status, "all_tools" in used.body) == (200, True)
    assert [(each["id"], each["source"]) for each in found.body["items"]] == [
        (made.body["id"], "a book")
    ]
    assert function.invoke(admin("GET", "/kb")).body["items"] == []


def test_the_registry_answers_who_has_its_token_and_runs_what_it_is_given(
    running: Deployment, library: dict[str, str]
) -> None:
    function = running.function("registry", **library)
    asked = [
        function.invoke(request(f"registry_{name}"))
        for name in ("health", "query", "run", "unsigned")
    ]
    made = function.invoke(registry("POST", "/_api/deploy", DOUBLE))
    run = function.invoke(registry("POST", "/run/double", {"n": 21}))

    assert [answer.status for answer in asked] == [200, 200, 200, 401]
    assert asked[1].body["items"][0]["capability"] == "encode"
    assert asked[2].payload["body"] == ENCODED
    assert (made.status, run.status, run.body) == (201, 200, 42)
