"""SQS as the queue, over the real requests of its client and an emulator's server."""

from __future__ import annotations

import signal
import subprocess
import time
from base64 import b64decode
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import orjson
import pytest

from functions.events import CONSOLIDATION, Event
from functions.queues import dead_letters, sqs_receiver
from functions.queues.base import Queue
from functions.queues.sqs import PATIENT_RECEIVES, SqsQueue, TriesCounter
from functions.queues.sqs_client import POLL_SECONDS, SqsClient
from functions.queues.sqs_message import SqsMessage, group_id
from functions.queues.sqs_receiver import AHEAD, InFlightMessages
from functions.time.clock import SYSTEM
from functions.worker import TRIES_MOST
from sigil.errors import BackendError, UsageError
from sigil.storage import aws
from sigil.storage.kv import KV
from sigil.storage.kv.memory import MemoryKV
from sigil.storage.kv.sqlite import SqliteKV
from tests.fakes.server import Answer, Recorded, RecordingServer
from tests.functions.queues.contract import QueueContract
from tests.functions.queues.invoked import make_queue
from tests.functions.queues.watched import WatchedKV
from tests.functions.queues.workers import PATIENCE, OwnWork, event, handle_all, taken, together
from tests.servers.ministack import Ministack
from tests.servers.proxy import DROP_REPLY, PASS, REFUSE, Proxy
from tests.sigil.storage.kv.processes import finish, start

VISIBILITY = 2.0
Opens = Callable[..., SqsQueue]


class Passing:
    """Time for a server whose clock is the machine's: it has to pass."""

    def advance(self, seconds: float) -> None:
        time.sleep(seconds * 1.08)  # the server cannot be told another time


@pytest.fixture
def clock() -> Passing:
    return Passing()


@pytest.fixture
def url(aws_here: Ministack) -> str:
    """A new queue."""
    return make_queue(aws_here)


@pytest.fixture
def kv() -> KV:
    return MemoryKV()


@pytest.fixture
def opens(url: str, kv: KV) -> Iterator[Opens]:
    """Opens the queue as one process sees it."""
    with ExitStack() as stack:

        def opened(**options: Any) -> SqsQueue:
            return stack.enter_context(
                closing(
                    SqsQueue(
                        url,
                        **{"kv": kv, "visibility": VISIBILITY, "hold": 2 * VISIBILITY, **options},
                    )
                )
            )

        yield opened


@pytest.fixture
def queue(opens: Opens) -> SqsQueue:
    return opens()


@pytest.fixture
def other(opens: Opens) -> SqsQueue:
    return opens()


class TestSqs(QueueContract):
    lease = VISIBILITY
    hold = 2 * VISIBILITY
    delay = 2.0
    many = 2 * AHEAD + 4
    rounds = 6
    sessions = 10

    @pytest.fixture
    def control(self, queue: SqsQueue) -> Queue:
        return queue.control


@pytest.mark.thorough
class TestOwnWorkOnSqs(QueueContract):
    """The second queue, in which each agent's own work is a session of the contract: the same code
    as the first, which waits real seconds for the server once more.
    """

    lease = VISIBILITY
    hold = 1.5 * VISIBILITY
    delay = 2.0
    many = 12
    rounds = 3
    sessions = 6

    @pytest.fixture
    def work_url(self, aws_here: Ministack) -> str:
        return make_queue(aws_here)

    @pytest.fixture
    def queue(self, opens: Opens, work_url: str) -> Queue:
        work = opens(work_url=work_url).work
        assert work
        return OwnWork(work)

    @pytest.fixture
    def other(self, opens: Opens, work_url: str) -> Queue:
        work = opens(work_url=work_url).work
        assert work
        return OwnWork(work)

    @pytest.fixture
    def control(self, opens: Opens, work_url: str) -> Queue:
        return opens(work_url=work_url).control


def test_background_work_goes_into_the_second_queue_whichever_side_it_is_put_into(
    opens: Opens, aws_here: Ministack
) -> None:
    queue = opens(work_url=make_queue(aws_here))
    work = queue.work
    assert work
    own = replace(event(2, "own:main"), kind="wakeup")
    hear = replace(event(3), kind="continue", id=f"{CONSOLIDATION}3")
    for side in (queue, queue.control, work):
        for each in (event(1), own, hear, replace(event(4), text="/stop")):
            side.put(each)
    assert queue.count_waiting() == work.count_waiting() == 4
    assert {each.id for each in handle_all(work)} == {own.id, hear.id}
    assert {each.id for each in handle_all(queue)} == {event(1).id}
    assert {each.id for each in handle_all(queue.control)} == {event(4).id}
    work.close()


def test_what_stands_in_the_wrong_queue_is_handed_out_all_the_same(
    opens: Opens, url: str, aws_here: Ministack
) -> None:
    own = replace(event(2, "own:main"), kind="wakeup")
    work_url = make_queue(aws_here)
    opens().put(own)  # a version that knows one queue
    opens().put(event(1))
    opens(work_url=work_url).put(own)
    queue = opens(work_url=work_url)
    assert {each.id for each in handle_all(queue)} == {own.id, event(1).id}
    work = queue.work
    assert work
    assert [each.id for each in handle_all(work)] == [own.id]


def raw(url: str, body: str, name: str, group: str = group_id(event(1))) -> None:
    """Put a message past the product."""
    aws.client("sqs", endpoint=endpoint(url)).send_message(
        QueueUrl=url, MessageBody=body, MessageGroupId=group, MessageDeduplicationId=name
    )


def endpoint(url: str) -> str:
    return "/".join(url.split("/")[:3])


@pytest.fixture
def proxy(aws_here: Ministack) -> Iterator[Proxy]:
    with Proxy(f"127.0.0.1:{aws_here.port}") as between:
        yield between


@pytest.fixture
def far(opens: Opens, proxy: Proxy) -> SqsQueue:
    """The queue through a wire that breaks when a test wants it to."""
    return opens(endpoint=f"http://{proxy.address}")


def test_an_event_whose_confirmation_is_lost_is_handled_once(
    far: SqsQueue, other: SqsQueue, proxy: Proxy
) -> None:
    proxy.arm(DROP_REPLY, b"SendMessage")
    far.put(event(1))
    assert proxy.hits == 1
    assert handle_all(other) == [event(1)]


def test_an_event_is_not_put_when_sqs_is_away(far: SqsQueue, other: SqsQueue, proxy: Proxy) -> None:
    proxy.mode = REFUSE
    with pytest.raises(BackendError, match="cannot be reached"):
        far.put(event(1))
    assert other.take(0) is None


def test_an_end_whose_confirmation_is_lost_is_an_end(far: SqsQueue, proxy: Proxy) -> None:
    for number in (1, 2):
        far.put(event(number))
    first = taken(far)
    proxy.arm(DROP_REPLY, b"DeleteMessage")
    far.done(first)
    assert handle_all(far) == [event(2)]


def test_a_message_that_is_lost_on_its_way_to_a_worker_comes_again(
    far: SqsQueue, proxy: Proxy
) -> None:
    """At once from AWS, which knows the attempt by its id; the emulator hands it out again after
    its visibility.
    """
    far.put(event(1))
    proxy.arm(DROP_REPLY, b"ReceiveMessage")
    found = far.take(0) or far.take(PATIENCE)
    assert found is not None
    assert found.event == event(1)


def test_a_waiting_worker_hears_that_sqs_is_away_and_works_on_when_it_is_back(
    far: SqsQueue, other: SqsQueue, proxy: Proxy
) -> None:
    proxy.mode = REFUSE
    with pytest.raises(BackendError, match="cannot be reached"):
        far.take(PATIENCE)
    other.put(event(1))
    proxy.mode = PASS
    assert in_the_end(far) == event(1)
    assert in_the_end(far) is None


def in_the_end(queue: SqsQueue) -> Event | None:
    """Return what a worker gets that asks again whenever it hears of trouble."""
    for _ in range(round(PATIENCE)):
        try:
            delivery = queue.take(1.0)
        except BackendError:
            time.sleep(0.1)  # the trouble of one request may be over with the next one
            continue
        return delivery.event if delivery else None
    raise AssertionError("the trouble never ends")


class Expired(RecordingServer):
    """The answer of AWS to a handle whose visibility has ended, which the emulator takes:
    https://github.com/aws/aws-sdk-js/issues/1750
    """

    HEADERS: ClassVar = {"content-type": "application/x-amz-json-1.0", "x-amzn-requestid": "1"}

    def answer(self, request: Recorded) -> Answer:
        if request.headers["x-amz-target"].endswith("Batch"):
            entries = request.json()["Entries"]
            failed = [
                {"Id": each["Id"], "Code": "ReceiptHandleIsInvalid", "SenderFault": True}
                for each in entries
            ]
            return Answer(200, orjson.dumps({"Failed": failed}), self.HEADERS)
        said = (
            "Value AQEB for parameter ReceiptHandle is invalid. Reason: The receipt handle has"
            " expired."
        )
        body = orjson.dumps(
            {"__type": "com.amazonaws.sqs#InvalidParameterValueException", "message": said}
        )
        return Answer(
            400, body, {**self.HEADERS, "x-amzn-query-error": "InvalidParameterValue;Sender"}
        )


def test_a_worker_whose_event_others_may_have_by_now_hears_no_complaint(
    queue: SqsQueue, opens: Opens
) -> None:
    queue.put(event(1))
    delivery = taken(queue)
    with Expired() as server:
        late = opens(endpoint=server.url)
        late.done(delivery)
        late.retry(delivery, 5.0)
        in_flight = InFlightMessages(
            SqsClient("http://sqs/0/events.fifo", server.url), SYSTEM, 30.0, 300.0
        )
        in_flight.add("AQEB", time.monotonic())
        in_flight.renew()
        assert not in_flight.is_hidden("AQEB")


def test_a_queue_that_does_not_exist_is_named(opens: Opens, url: str) -> None:
    with pytest.raises(BackendError, match=r"queue nowhere\.fifo: it does not exist"):
        SqsQueue(url.rpartition("/")[0] + "/nowhere.fifo").put(event(1))


def test_a_queue_without_a_store_only_puts(url: str, other: SqsQueue) -> None:
    inlet = SqsQueue(url)
    inlet.put(event(1))
    with pytest.raises(UsageError, match="only puts"):
        inlet.take(0)
    assert handle_all(other) == [event(1)]


@pytest.mark.parametrize(
    "body", ["?", "{}", "[1]", "null", "zlib:", "zlib:!!", '{"id":"x"}', "[" * 100_000]
)
def test_a_body_that_is_no_event_becomes_a_dead_letter_and_its_session_goes_on(
    queue: SqsQueue, url: str, kv: KV, body: str
) -> None:
    raw(url, body, "first")
    raw(url, body, "second")
    queue.put(event(1))
    assert handle_all(queue) == [event(1)]
    found = list(dead_letters.scan_dead_letters(kv))
    assert [letter.event for letter in found] == [None, None]
    assert {b64decode(orjson.loads(item.value)["raw"]).decode() for _, item in kv.scan("dead")} == {
        body.encode(errors="replace")[: dead_letters.RAW_MOST].decode(errors="replace")
    }


def test_a_body_that_is_no_event_stays_until_its_dead_letter_stands(
    opens: Opens, url: str, kv: KV, clock: Passing
) -> None:
    away = WatchedKV(kv)
    away.allowed = 0
    raw(url, "?", "poison")
    with pytest.raises(BackendError):
        opens(kv=away).take(0)
    clock.advance(VISIBILITY)
    assert opens().take(0) is None
    assert len(kv.scan("dead")) == 1


def test_a_large_event_travels_whole(queue: SqsQueue, other: SqsQueue) -> None:
    large = event(1, text="".join(map(chr, range(0x4E00, 0x4E00 + 20_000))) * 5)
    queue.put(large)
    assert taken(other).event == large


def test_what_no_worker_took_is_given_back_when_the_process_ends(
    queue: SqsQueue, other: SqsQueue
) -> None:
    def fill(side: Queue) -> None:
        queue.put(event(1, "b"))
        assert side.take(0) is None  # a look of the control side brings in what is for the others

    fill(queue.control)
    assert other.take(0) is None
    queue.close()
    assert taken(other).event == event(1, "b")


def test_what_waited_here_for_too_long_is_left_to_others(
    queue: SqsQueue, other: SqsQueue, clock: Passing
) -> None:
    queue.put(event(1, "b"))
    assert queue.control.take(0) is None
    clock.advance(VISIBILITY)
    delivery = taken(other)
    assert queue.take(0) is None
    other.retry(delivery, 0.0)
    assert taken(queue).event == event(1, "b")


def test_what_waits_here_is_kept_like_what_is_worked_on(
    queue: SqsQueue, other: SqsQueue, clock: Passing
) -> None:
    queue.put(event(1, "b"))
    assert queue.control.take(0) is None
    clock.advance(VISIBILITY / 2)
    queue.renew()
    clock.advance(VISIBILITY * 0.6)
    assert other.take(0) is None
    assert taken(queue).event == event(1, "b")


def test_an_event_that_waited_often_waits_for_longer(queue: SqsQueue, other: SqsQueue) -> None:
    """A store that is away for hours does not use up the receives after which SQS takes a message
    out of the queue.
    """
    queue.put(event(1))
    delivery = taken(queue)
    receipt = {**orjson.loads(delivery.receipt), "receives": PATIENT_RECEIVES + 1}
    queue.retry(replace(delivery, receipt=orjson.dumps(receipt).decode()), 0.0)
    assert other.take(0.5) is None


def test_a_control_event_comes_past_more_waiting_sessions_than_fit_here(
    opens: Opens, other: SqsQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqs_receiver, "LOOKS", 2 * AHEAD)
    queue = opens(visibility=60.0)
    control = queue.control
    for number in range(2 * AHEAD + 4):
        other.put(event(1, f"chat-{number}"))
    other.put(event(2, "chat-0", "/stop"))
    found = control.take(PATIENCE)
    assert found is not None
    assert found.event.text == "/stop"


def test_a_process_keeps_only_a_short_line_for_its_busy_workers(
    opens: Opens, other: SqsQueue
) -> None:
    queue = opens(visibility=60.0)
    control = queue.control
    for number in range(AHEAD + 5):
        other.put(event(1, f"chat-{number}"))
    assert control.take(0) is None
    assert len(handle_all(queue)) == AHEAD


@pytest.fixture
def receive_waits(url: str) -> Iterator[list[int]]:
    """Return how long each request for a message was ready to wait, in seconds."""
    waits: list[int] = []

    def note(params: dict[str, Any], **_: object) -> None:
        if params["QueueUrl"] == url:
            waits.append(params["WaitTimeSeconds"])

    clients = [
        aws.client("sqs", endpoint=endpoint(url), **options)
        for options in ({}, {"read_seconds": POLL_SECONDS + aws.READ_SECONDS})
    ]
    with ExitStack() as stack:
        for client in clients:
            client.meta.events.register("provide-client-params.sqs.ReceiveMessage", note)
            stack.callback(
                client.meta.events.unregister, "provide-client-params.sqs.ReceiveMessage", note
            )
        yield waits


def test_idle_workers_share_one_long_request(queue: SqsQueue, receive_waits: list[int]) -> None:
    def work() -> None:
        for _ in range(3):
            assert queue.take(0.3) is None

    together(*[work] * 8)
    assert receive_waits.count(20) == 1
    assert len(receive_waits) <= 3


def test_a_process_that_is_busy_looks_for_control_events_once_a_second(
    queue: SqsQueue, receive_waits: list[int]
) -> None:
    control, began = queue.control, time.monotonic()
    for _ in range(8):
        assert control.take(0.2) is None
    assert set(receive_waits) == {0}
    # however long the looks have taken here, there is one a second at most
    assert len(receive_waits) <= time.monotonic() - began + 1


def test_crashes_are_counted_as_they_happen_and_planned_waits_are_not() -> None:
    tries, crashing, waiting = (
        TriesCounter(MemoryKV()),
        SqsMessage("crashing", "", "", "", 1),
        SqsMessage("waiting", "", "", "", 1),
    )
    assert [
        tries.count_receive(replace(crashing, receives=number)) for number in range(1, 13)
    ] == list(range(12))
    for number in range(1, 50):
        seen = tries.count_receive(replace(waiting, receives=number))
        tries.take_back("waiting", number, seen)
        assert seen < TRIES_MOST / 2 + 1
    assert [tries.count_receive(replace(waiting, receives=number)) for number in range(50, 53)] == [
        seen,
        seen + 1,
        seen + 2,
    ]


def test_a_store_that_is_away_counts_no_tries() -> None:
    kv = WatchedKV(MemoryKV())
    tries, message = TriesCounter(kv), SqsMessage("m", "", "", "", 400)
    assert tries.count_receive(message) < TRIES_MOST
    kv.allowed = 0
    assert tries.count_receive(message) < TRIES_MOST
    tries.take_back("m", 400, 3)


HEAD = """
from functions.queues.sqs import PATIENT_RECEIVES, SqsQueue
kv = SqliteKV(sys.argv[1])
queue = SqsQueue(sys.argv[2], kv=kv, visibility=float(sys.argv[3]))
"""


def process(
    code: str, path: Path, url: str, visibility: float = VISIBILITY
) -> subprocess.Popen[str]:
    return start(HEAD + code, path, url, visibility)


def test_an_event_of_a_killed_process_goes_to_another(
    queue: SqsQueue, url: str, tmp_path: Path
) -> None:
    for number in (1, 2):
        queue.put(event(number))
    victim = process(
        "print(queue.take(0).event.id, flush=True)\nsys.stdin.readline()",
        tmp_path / "store.db",
        url,
    )
    assert victim.stdin is not None
    assert victim.stdout is not None
    victim.stdin.write("\n")
    victim.stdin.flush()
    assert victim.stdout.readline().strip() == event(1).id
    assert queue.take(0) is None
    victim.send_signal(signal.SIGKILL)
    victim.communicate()
    found = queue.take(PATIENCE)
    assert found is not None
    assert (found.event, found.tries) == (event(1), 1)


@pytest.mark.usefixtures("fork_commands")
@pytest.mark.thorough  # several queues of one process prove the same in the contract
def test_several_processes_handle_every_session_in_order(
    queue: SqsQueue, url: str, tmp_path: Path
) -> None:
    code = """
while sum(len(item.value.split()) for _, item in kv.scan("log")) < 60:
    delivery = queue.take(0.1)
    if delivery is None:
        continue
    key = Key("log", delivery.event.session)
    item = kv.get(key)
    said = str(int(delivery.event.at) - 1_700_000_000)
    kv.put(key, (item.value if item else b"") + b" " + said.encode(), expect=item.version if item else ABSENT)
    queue.done(delivery)
    print(said)
"""
    path = tmp_path / "store.db"
    for number in range(5):
        for session in range(12):
            queue.put(event(number, f"chat-{session}"))
    with closing(SqliteKV(path)) as kv:
        outputs = finish([process(code, path, url, 30.0) for _ in range(3)])
        logs = {sort: item.value for sort, item in kv.scan("log")}
    assert sum(len(output.split()) for output in outputs) == 60
    assert len(logs) == 12
    assert {len(set(log.split())) for log in logs.values()} == {5}
    assert all(log.split() == sorted(log.split()) for log in logs.values())
