"""The contract tests what every queue must do. A back-end's test module inherits `QueueContract`
and gives it `queue`, `other` and `control`.
"""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from functions.events import Event
from functions.queues.base import Delivery, Queue
from functions.worker import TRIES_MOST
from sigil.errors import UsageError
from tests.functions.queues.workers import (
    LEASE,
    PATIENCE,
    Ledger,
    event,
    handle_all,
    taken,
    together,
)
from tests.sigil.storage.kv.model import Clock


class QueueContract:
    """Needs fixtures `queue: Queue`, `other: Queue`, the same queue as another worker sees it, and
    `control: Queue`, its side for control events, whose leases last `lease` s and are renewed for
    `hold` s. `clock.advance` lets time pass for them. The numbers are what a server that is asked
    over a wire may make smaller.
    """

    lease = LEASE
    hold = LEASE * 2
    delay = 30.0
    many = 230
    rounds = 150
    sessions = 50

    def test_an_event_is_handed_out_as_it_was_put(self, queue: Queue, other: Queue) -> None:
        sent = Event(
            **{
                name: getattr(event(1), name)
                for name in ("id", "kind", "agent", "session", "sender", "text", "at", "order")
            },
            attachments=({"kind": "photo", "size": 3},),
            reply_to="7",
            addressed=("bot",),
        )
        queue.put(sent)
        assert taken(other).event == sent

    def test_an_empty_queue_hands_out_nothing(self, queue: Queue) -> None:
        assert queue.take(0) is None
        assert queue.take(0.01) is None

    def test_a_handled_event_never_comes_again(
        self, queue: Queue, other: Queue, clock: Clock
    ) -> None:
        queue.put(event(1))
        queue.done(taken(queue))
        clock.advance(self.lease)
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

    def test_events_that_are_put_together_come_once_each_and_in_order(
        self, queue: Queue, other: Queue
    ) -> None:
        sent = [event(number, session) for number in range(1, 8) for session in ("a", "b")]
        queue.put_all(sent)
        queue.put_all(sent)  # a platform sends all of it again
        handled = handle_all(other)
        assert len(handled) == len(sent)
        for session in ("a", "b"):
            ours = [each for each in sent if each.session == sent[session == "b"].session]
            assert [each for each in handled if each.session == ours[0].session] == ours
        queue.put_all([])

    def test_two_events_of_the_same_order_are_both_handed_out(self, queue: Queue) -> None:
        first = event(1)
        second = Event(
            "another id", "mail", "main", first.session, first.sender, "mail", first.at, first.order
        )
        queue.put(first)
        queue.put(second)
        assert {handled.id for handled in handle_all(queue)} == {first.id, second.id}

    def test_agents_do_not_share_a_session_of_the_same_name(self, queue: Queue) -> None:
        first = event(1)
        queue.put(first)
        queue.put(
            Event(
                first.id,
                "message",
                "somebody",
                first.session,
                first.sender,
                "hello",
                first.at,
                first.order,
            )
        )
        assert {taken(queue).event.agent, taken(queue).event.agent} == {"main", "somebody"}

    @pytest.mark.parametrize(
        "session", ["telegram:-100:7", "a#b", "a/b%2F", "ready", "\n", "語\U0001f98a", "x" * 300]
    )
    def test_odd_session_names_are_sessions_like_any_other(
        self, queue: Queue, session: str
    ) -> None:
        queue.put(event(1, session))
        queue.put(event(1, session + "#"))
        assert {handled.session for handled in handle_all(queue)} == {session, session + "#"}

    def test_an_event_that_already_waits_is_the_same_event(
        self, queue: Queue, other: Queue
    ) -> None:
        queue.put(event(1))
        other.put(event(1))
        assert handle_all(queue) == [event(1)]

    def test_an_event_that_is_delivered_again_while_it_is_worked_on_is_the_same_event(
        self, queue: Queue, other: Queue
    ) -> None:
        queue.put(event(1))
        delivery = taken(queue)
        other.put(event(1))
        queue.done(delivery)
        assert handle_all(other) == []

    def test_an_event_that_comes_while_its_session_is_worked_on_is_handed_out_after(
        self, queue: Queue, other: Queue
    ) -> None:
        queue.put(event(1))
        delivery = taken(queue)
        other.put(event(2))
        assert other.take(0) is None
        queue.done(delivery)
        assert handle_all(other) == [event(2)]

    def test_what_was_answered_with_an_event_ends_with_it_or_comes_again_and_no_other_ends(
        self, queue: Queue, other: Queue
    ) -> None:
        for number in (1, 2, 3, 4):
            queue.put(event(number))
        queue.done(taken(queue), (event(2), event(3)))
        left = handle_all(other)
        assert left[-1] == event(4)
        assert [each for each in (event(2), event(3)) if each in left] == left[:-1]

    def test_a_retried_event_waits_for_its_time_and_keeps_its_place(
        self, queue: Queue, other: Queue, clock: Clock
    ) -> None:
        queue.put(event(1))
        queue.put(event(2))
        queue.retry(taken(queue), self.delay)
        clock.advance(self.delay / 2)
        assert queue.take(0) is None
        assert other.take(0) is None
        other.put(event(3))
        assert other.take(0) is None
        clock.advance(self.delay / 2)
        assert handle_all(other) == [event(1), event(2), event(3)]

    def test_a_retry_holds_up_no_other_session(self, queue: Queue, other: Queue) -> None:
        queue.put(event(1, "a"))
        queue.retry(taken(queue), self.delay)
        queue.put(event(1, "b"))
        assert handle_all(other) == [event(1, "b")]

    def test_a_retry_without_delay_comes_at_once(self, queue: Queue, other: Queue) -> None:
        queue.put(event(1))
        queue.retry(taken(queue), 0.0)
        assert taken(other).event == event(1)

    def test_a_retried_event_that_is_put_again_still_waits_for_its_time(
        self, queue: Queue, other: Queue, clock: Clock
    ) -> None:
        queue.put(event(1))
        queue.retry(taken(queue), self.delay)
        other.put(event(1))
        assert queue.take(0) is None
        clock.advance(self.delay)
        assert handle_all(queue) == [event(1)]

    @pytest.mark.parametrize("delay", [float("nan"), float("inf")])
    def test_a_delay_that_is_no_number_of_seconds_is_refused_and_loses_nothing(
        self, queue: Queue, clock: Clock, delay: float
    ) -> None:
        queue.put(event(1))
        delivery = taken(queue)
        with pytest.raises(UsageError):
            queue.retry(delivery, delay)
        queue.retry(delivery, 0.0)
        assert taken(queue).event == event(1)

    def test_an_event_whose_worker_is_gone_comes_again_after_the_lease(
        self, queue: Queue, other: Queue, clock: Clock
    ) -> None:
        queue.put(event(1))
        taken(queue)
        clock.advance(self.lease / 2)
        assert other.take(0) is None
        clock.advance(self.lease / 2)
        again = taken(other)
        assert again.event == event(1)
        assert again.tries == 1
        assert queue.take(0) is None

    def test_a_worker_that_is_late_with_done_frees_no_session_that_another_has(
        self, queue: Queue, other: Queue, clock: Clock
    ) -> None:
        queue.put(event(1))
        queue.put(event(2))
        late = taken(queue)
        clock.advance(self.lease)
        current = taken(other)
        queue.done(late)
        assert queue.take(0) is None
        other.done(current)
        assert handle_all(queue) == [event(2)]

    def test_a_worker_that_is_late_with_retry_brings_back_nothing(
        self, queue: Queue, other: Queue, clock: Clock
    ) -> None:
        queue.put(event(1))
        late = taken(queue)
        clock.advance(self.lease)
        other.done(taken(other))
        queue.retry(late, 0.0)
        queue.put(event(2))
        assert handle_all(queue) == [event(2)]

    def test_a_worker_that_is_late_with_retry_puts_off_nothing_that_another_has(
        self, queue: Queue, other: Queue, clock: Clock
    ) -> None:
        queue.put(event(1))
        queue.put(event(2))
        late = taken(queue)
        clock.advance(self.lease)
        current = taken(other)
        queue.retry(late, self.delay)
        other.done(current)
        assert handle_all(other) == [event(2)]

    def test_done_said_twice_is_done(self, queue: Queue, other: Queue) -> None:
        queue.put(event(1))
        delivery = taken(queue)
        queue.done(delivery)
        queue.put(event(2))
        queue.done(delivery)
        assert handle_all(other) == [event(2)]

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

    def test_many_sessions_are_all_served(self, queue: Queue, other: Queue) -> None:
        for number in range(self.many):
            queue.put(event(1, f"chat-{number}"))
        held = [taken(worker) for worker in (queue, other) for _ in range(self.many // 2)]
        assert len({delivery.event.session for delivery in held}) == self.many
        assert queue.take(0) is None

    def test_a_waiting_worker_is_woken_by_a_new_event(self, queue: Queue, other: Queue) -> None:
        found: list[Delivery | None] = []
        waiting = threading.Thread(target=lambda: found.append(queue.take(PATIENCE)))
        waiting.start()
        other.put(event(1))
        waiting.join()
        assert found
        assert found[0] is not None

    def test_no_event_is_forgotten_that_comes_while_the_last_one_ends(
        self, queue: Queue, other: Queue
    ) -> None:
        handled = threading.Semaphore(0)

        def work(worker: Queue) -> None:
            while delivery := worker.take(PATIENCE):
                handled.release()  # the next event is put while this one is being ended
                worker.done(delivery)
                if delivery.event.text == "go home":
                    return

        def produce() -> None:
            for number in range(self.rounds):
                queue.put(event(number))
                assert handled.acquire(timeout=PATIENCE / 2), f"event {number} was forgotten"
            for session in ("a", "b"):
                queue.put(event(0, session, "go home"))

        together(produce, lambda: work(queue), lambda: work(other))

    def test_many_workers_handle_many_sessions_once_and_in_order(
        self, queue: Queue, other: Queue
    ) -> None:
        sessions, each = self.sessions, 3
        ledger = Ledger(sessions * each)

        def produce(first: int) -> None:
            for number in range(each):
                for session in range(first, sessions, 2):
                    (queue if first else other).put(event(number, f"chat-{session}"))

        workers = [
            lambda worker=worker: ledger.work(worker) for worker in (queue, queue, other, other)
        ]
        together(lambda: produce(0), lambda: produce(1), *workers)
        assert ledger.handled == {f"chat-{session}": [0, 1, 2] for session in range(sessions)}
        assert ledger.overlaps == 0
        assert handle_all(queue) == []

    def test_an_event_that_is_kept_by_its_worker_is_nobody_elses(
        self, queue: Queue, other: Queue, clock: Clock
    ) -> None:
        queue.put(event(1))
        delivery = taken(queue)
        for _ in range(3):
            clock.advance(self.lease / 2)
            queue.renew()
        assert other.take(0) is None
        queue.done(delivery)
        queue.renew()
        assert other.take(0) is None

    def test_an_event_is_kept_no_longer_than_a_worker_may_hold_it(
        self, queue: Queue, other: Queue, clock: Clock
    ) -> None:
        queue.put(event(1))
        taken(queue)
        for _ in range(round(2 * self.hold / self.lease) + 2):
            queue.renew()
            clock.advance(self.lease / 2)
        assert taken(other).event == event(1)

    def test_what_was_given_back_is_kept_no_longer(self, queue: Queue, other: Queue) -> None:
        queue.put(event(1))
        queue.retry(taken(queue), 0.0)
        queue.renew()
        assert taken(other).event == event(1)

    def test_waits_on_purpose_bring_no_event_near_to_being_given_up(
        self, queue: Queue, other: Queue
    ) -> None:
        queue.put(event(1))
        for worker in (queue, other) * (TRIES_MOST // 2 + 2):
            delivery = taken(worker)
            assert delivery.tries < TRIES_MOST
            worker.retry(delivery, 0.0)

    def test_an_event_that_nobody_answers_for_holds_up_no_other_session(
        self, queue: Queue, other: Queue
    ) -> None:
        queue.put(event(1, "poisoned"))
        queue.put(event(2, "poisoned"))
        assert taken(queue).event.session == "poisoned"
        queue.put(event(1, "b"))
        assert handle_all(other) == [event(1, "b")]

    def test_a_continuation_comes_after_its_event(self, queue: Queue, other: Queue) -> None:
        queue.put(event(1))
        delivery = taken(queue)
        more = replace(event(1), id="continues", kind="continue", order=delivery.event.order + "~")
        queue.put(more)
        assert other.take(0) is None
        queue.done(delivery)
        assert handle_all(other) == [more]

    def test_control_events_wait_behind_nothing_and_are_handed_out_apart(
        self, queue: Queue, control: Queue
    ) -> None:
        for number in (1, 2):
            queue.put(event(number))
        queue.put(event(3, text="/stop"))
        busy = taken(queue)
        assert queue.take(0) is None
        delivery = taken(control)
        assert delivery.event.text == "/stop"
        assert control.take(0) is None
        control.done(delivery)
        assert control.take(0) is None
        queue.done(busy)
        assert handle_all(queue) == [event(2)]

    def test_a_worker_for_control_hears_of_a_control_event_while_the_others_are_busy(
        self, queue: Queue, control: Queue
    ) -> None:
        queue.put(event(1))
        taken(queue)
        found: list[Delivery | None] = []
        waiting = threading.Thread(target=lambda: found.append(control.take(PATIENCE)))
        waiting.start()
        queue.put(event(2, text="/stop"))
        waiting.join()
        assert found[0] is not None
