"""What every queue must do. A back-end's test module inherits `QueueContract` and gives it `queue` and `other`, which read `clock`."""

from __future__ import annotations

import threading

import pytest

from functions.events import Event
from functions.queues.base import Delivery, Queue
from sigil.errors import UsageError
from tests.functions.queues.workers import LEASE, PATIENCE, Ledger, event, handle_all, taken, together
from tests.sigil.kv.model import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


class QueueContract:
    """Needs fixtures `queue: Queue` and `other: Queue`, the same queue as another worker sees it, with leases of `LEASE` s."""

    def test_an_event_is_handed_out_as_it_was_put(self, queue: Queue, other: Queue) -> None:
        sent = Event(
            **{name: getattr(event(1), name) for name in ("id", "kind", "agent", "session", "sender", "text", "at", "order")},
            attachments=({"kind": "photo", "size": 3},),
            reply_to="7",
            addressed=("bot",),
        )
        queue.put(sent)
        assert taken(other).event == sent

    def test_an_empty_queue_hands_out_nothing(self, queue: Queue) -> None:
        assert queue.take(0) is None
        assert queue.take(0.01) is None

    def test_a_handled_event_never_comes_again(self, queue: Queue, other: Queue, clock: Clock) -> None:
        queue.put(event(1))
        queue.done(taken(queue))
        clock.advance(LEASE * 2)
        assert other.take(0) is None
        assert queue.take(0) is None

    def test_a_session_is_in_one_hand_at_a_time(self, queue: Queue, other: Queue) -> None:
        queue.put(event(1))
        queue.put(event(2))
        first = taken(queue)
        assert queue.take(0) is None
        assert other.take(0) is None
        queue.done(first)
        assert taken(other).event == event(2)

    def test_sessions_go_side_by_side(self, queue: Queue, other: Queue) -> None:
        for session in ("a", "b", "c"):
            queue.put(event(1, session))
        assert {taken(worker).event.session for worker in (queue, other, queue)} == {"a", "b", "c"}

    def test_the_platforms_order_counts_and_not_the_arrival(self, queue: Queue, other: Queue) -> None:
        for number in (3, 1, 2):
            queue.put(event(number))
        assert handle_all(other) == [event(1), event(2), event(3)]

    def test_two_events_of_the_same_order_are_both_handed_out(self, queue: Queue) -> None:
        first = event(1)
        second = Event("another id", "mail", "agent", first.session, first.sender, "mail", first.at, first.order)
        queue.put(first)
        queue.put(second)
        assert {handled.id for handled in handle_all(queue)} == {first.id, second.id}

    def test_agents_do_not_share_a_session_of_the_same_name(self, queue: Queue) -> None:
        first = event(1)
        queue.put(first)
        queue.put(Event(first.id, "message", "somebody", first.session, first.sender, "hello", first.at, first.order))
        assert {taken(queue).event.agent, taken(queue).event.agent} == {"agent", "somebody"}

    @pytest.mark.parametrize("session", ["telegram:-100:7", "a#b", "a/b%2F", "ready", "\n", "語\U0001f98a", "x" * 300])
    def test_odd_session_names_are_sessions_like_any_other(self, queue: Queue, session: str) -> None:
        queue.put(event(1, session))
        queue.put(event(1, session + "#"))
        assert {handled.session for handled in handle_all(queue)} == {session, session + "#"}

    def test_an_event_that_already_waits_is_the_same_event(self, queue: Queue, other: Queue) -> None:
        queue.put(event(1))
        other.put(event(1))
        assert handle_all(queue) == [event(1)]

    def test_an_event_that_is_delivered_again_while_it_is_worked_on_is_the_same_event(self, queue: Queue, other: Queue) -> None:
        queue.put(event(1))
        delivery = taken(queue)
        other.put(event(1))
        queue.done(delivery)
        assert handle_all(other) == []

    def test_an_event_that_comes_while_its_session_is_worked_on_is_handed_out_after(self, queue: Queue, other: Queue) -> None:
        queue.put(event(1))
        delivery = taken(queue)
        other.put(event(2))
        assert other.take(0) is None
        queue.done(delivery)
        assert handle_all(other) == [event(2)]

    def test_a_retried_event_waits_for_its_time_and_keeps_its_place(self, queue: Queue, other: Queue, clock: Clock) -> None:
        queue.put(event(1))
        queue.put(event(2))
        queue.retry(taken(queue), 30.0)
        clock.advance(29.0)
        assert queue.take(0) is None
        assert other.take(0) is None
        other.put(event(3))
        assert other.take(0) is None
        clock.advance(1.0)
        assert handle_all(other) == [event(1), event(2), event(3)]

    def test_a_retry_holds_up_no_other_session(self, queue: Queue, other: Queue) -> None:
        queue.put(event(1, "a"))
        queue.retry(taken(queue), 30.0)
        queue.put(event(1, "b"))
        assert handle_all(other) == [event(1, "b")]

    def test_a_retry_without_delay_comes_at_once(self, queue: Queue, other: Queue) -> None:
        queue.put(event(1))
        queue.retry(taken(queue), 0.0)
        assert taken(other).event == event(1)

    def test_an_older_event_that_arrives_late_goes_before_one_that_waits(self, queue: Queue, other: Queue, clock: Clock) -> None:
        queue.put(event(2))
        queue.retry(taken(queue), 30.0)
        other.put(event(1))
        assert handle_all(queue) == [event(1)]
        clock.advance(30.0)
        assert handle_all(other) == [event(2)]

    def test_an_older_event_that_arrives_before_the_retry_goes_before_it(self, queue: Queue, other: Queue) -> None:
        queue.put(event(2))
        delivery = taken(queue)
        other.put(event(1))
        queue.retry(delivery, 30.0)
        assert handle_all(queue) == [event(1)]

    def test_a_retried_event_that_is_put_again_still_waits_for_its_time(self, queue: Queue, other: Queue, clock: Clock) -> None:
        queue.put(event(1))
        queue.retry(taken(queue), 30.0)
        other.put(event(1))
        assert queue.take(0) is None
        clock.advance(30.0)
        assert handle_all(queue) == [event(1)]

    @pytest.mark.parametrize("delay", [float("nan"), float("inf")])
    def test_a_delay_that_is_no_number_of_seconds_is_refused_and_loses_nothing(self, queue: Queue, clock: Clock, delay: float) -> None:
        queue.put(event(1))
        delivery = taken(queue)
        with pytest.raises(UsageError):
            queue.retry(delivery, delay)
        queue.retry(delivery, 0.0)
        assert taken(queue).event == event(1)

    def test_an_event_whose_worker_is_gone_comes_again_after_the_lease(self, queue: Queue, other: Queue, clock: Clock) -> None:
        queue.put(event(1))
        taken(queue)
        clock.advance(LEASE - 1.0)
        assert other.take(0) is None
        clock.advance(1.0)
        assert taken(other).event == event(1)
        assert queue.take(0) is None

    def test_a_worker_that_is_late_with_done_frees_no_session_that_another_has(self, queue: Queue, other: Queue, clock: Clock) -> None:
        queue.put(event(1))
        queue.put(event(2))
        late = taken(queue)
        clock.advance(LEASE)
        current = taken(other)
        queue.done(late)
        assert queue.take(0) is None
        other.done(current)
        assert handle_all(queue) == [event(2)]

    def test_a_worker_that_is_late_with_retry_brings_back_nothing(self, queue: Queue, other: Queue, clock: Clock) -> None:
        queue.put(event(1))
        late = taken(queue)
        clock.advance(LEASE)
        other.done(taken(other))
        queue.retry(late, 0.0)
        queue.put(event(2))
        assert handle_all(queue) == [event(2)]

    def test_a_worker_that_is_late_with_retry_puts_off_nothing_that_another_has(self, queue: Queue, other: Queue, clock: Clock) -> None:
        queue.put(event(1))
        queue.put(event(2))
        late = taken(queue)
        clock.advance(LEASE)
        current = taken(other)
        queue.retry(late, 30.0)
        other.done(current)
        assert handle_all(other) == [event(2)]

    def test_done_said_twice_is_done(self, queue: Queue, other: Queue) -> None:
        queue.put(event(1))
        delivery = taken(queue)
        queue.done(delivery)
        queue.put(event(2))
        queue.done(delivery)
        assert handle_all(other) == [event(2)]

    def test_a_busy_session_starves_no_other(self, queue: Queue) -> None:
        for session in ("a", "b", "c", "d"):
            for number in range(5 if session == "b" else 1):
                queue.put(event(number, session))
        served = [handled.session for handled in handle_all(queue)]
        assert set(served[:4]) == {"a", "b", "c", "d"}
        assert served[4:] == ["b"] * 4

    def test_a_session_that_never_ends_starves_no_other(self, queue: Queue) -> None:
        queue.put(event(0, "b"))
        for session in ("a", "c"):
            queue.put(event(0, session))
        served = []
        for number in range(1, 4):
            delivery = taken(queue)
            served.append(delivery.event.session)
            queue.put(event(number, "b"))
            queue.done(delivery)
        assert set(served) == {"a", "b", "c"}

    def test_more_sessions_than_a_page_holds_are_all_served(self, queue: Queue, other: Queue) -> None:
        for number in range(230):
            queue.put(event(1, f"chat-{number}"))
        held = [taken(worker) for worker in (queue, other) for _ in range(115)]
        assert len({delivery.event.session for delivery in held}) == 230
        assert queue.take(0) is None

    def test_a_waiting_worker_is_woken_by_a_new_event(self, queue: Queue, other: Queue) -> None:
        found: list[Delivery | None] = []
        waiting = threading.Thread(target=lambda: found.append(queue.take(PATIENCE)))
        waiting.start()
        other.put(event(1))
        waiting.join()
        assert found
        assert found[0] is not None

    def test_no_event_is_forgotten_that_comes_while_the_last_one_ends(self, queue: Queue, other: Queue) -> None:
        handled = threading.Semaphore(0)

        def work(worker: Queue) -> None:
            while delivery := worker.take(PATIENCE):
                handled.release()  # the next event is put while this one is being ended
                worker.done(delivery)
                if delivery.event.text == "go home":
                    return

        def produce() -> None:
            for number in range(150):
                queue.put(event(number))
                assert handled.acquire(timeout=PATIENCE / 2), f"event {number} was forgotten"
            for session in ("a", "b"):
                queue.put(event(0, session, "go home"))

        together(produce, lambda: work(queue), lambda: work(other))

    def test_many_workers_handle_many_sessions_once_and_in_order(self, queue: Queue, other: Queue) -> None:
        sessions, each = 50, 3
        ledger = Ledger(sessions * each)

        def produce(first: int) -> None:
            for number in range(each):
                for session in range(first, sessions, 2):
                    (queue if first else other).put(event(number, f"chat-{session}"))

        workers = [lambda worker=worker: ledger.work(worker) for worker in (queue, queue, other, other)]
        together(lambda: produce(0), lambda: produce(1), *workers)
        assert ledger.handled == {f"chat-{session}": [0, 1, 2] for session in range(sessions)}
        assert ledger.overlaps == 0
        assert handle_all(queue) == []
