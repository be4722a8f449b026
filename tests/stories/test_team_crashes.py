"""A team is killed at every point of its work: each task is done once, and its chat hears of it once.

Teammates claim tasks, work on them and report; servers are killed with `kill -9` meanwhile.
"""

from __future__ import annotations

import re
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

import pytest

from functions.agent.agents.record import AgentRecord, add_agent, change_state
from functions.agent.conversation.messages import read_inbox
from functions.agent.mailbox import Mail, Mailbox
from functions.agent.posts import Post
from functions.agent.team.board import Board, NewTask
from functions.agent.team.leg import OWN_MAIN
from functions.agent.team.member import Member, Members
from functions.agent.team.tick import tick_team
from functions.agent.team.waking import make_events, wake_members
from functions.queues.base import Queue
from functions.wiring import open_queue
from tests.channel_settings import make_settings
from tests.fakes.model import call
from tests.machine import times, until, within
from tests.selection import in_full, thorough
from tests.stories.backends import open_stores_of
from tests.stories.system import OWNER, Gate, System

OpenSystem = Callable[..., AbstractContextManager[System]]
HOME = f"telegram:{OWNER}"
NAMES = ("alice", "bob")
TASKS = 3
SENDERS = 10
KILLED_EACH = 50
AT_ONCE = 6
MAIL = re.compile(r"mail \d-\d{3}\.")
COUNTS = re.compile(
    r"(write (head|board|board-done|member|inbox)|delete (inbox|board)) \d+ (before|after)"
    r"|send 1 (before|after)|message 1 received|model request \d+ (before|after)"
)
TELLING = (
    "write board 2 after",
    "write member 3 after",
    "write board 4 after",
    "send 1 before",
)
"""The points of the suite, at which a claim, a task or a report could be lost."""


def put_team(system: System, tasks: int = TASKS) -> None:
    """Let two teammates be idle and tasks be there, the last of which waits for the first."""
    now = time.time()
    for name in NAMES:
        record = AgentRecord("teammate", "enabled", now, HOME, role="coder", home=HOME)
        add_agent(system.store, "main", name, record)
        idle = Member("idle", now, stay=True, role="coder", call="test")
        Members(system.store, "main").change(name, lambda _, idle=idle: (idle, None))  # type: ignore[misc]
    board = Board(system.store, "main", time.time)
    for number in range(tasks):
        blockers = (1,) if 0 < number == tasks - 1 else ()
        board.add(NewTask(subject=f"part {number + 1}", by=HOME, home=HOME, blocked_by=blockers))
    wake_team(system)


def wake_team(system: System) -> None:
    """Wake whoever may do what is on the board, as whoever adds a task does."""
    now = time.time()
    with open_work_queue(system) as queue:
        posts = wake_members(system.store, "main", now, 60.0).posts
        for event in make_events(posts, HOME, now, f"test-{now}"):
            queue.put(event)


@contextmanager
def open_work_queue(system: System) -> Iterator[Queue]:
    with open_stores_of(system.settings) as stores:
        queue = open_queue(make_settings(**system.settings), stores).work
        assert queue is not None
        yield queue


def list_reports(system: System) -> list[str]:
    """Return the tasks that the chat's history has a report of, in order."""
    said = [row for each in system.document().messages for row in read_inbox(each)]
    return [text.partition(" ")[0] for _, text in said if text.startswith("#")]


def is_finished(system: System, tasks: int = TASKS) -> bool:
    if len(system.platform.messages) < tasks:
        return False
    members = [member.status for _, member in Members(system.store, "main").scan()]
    return (
        not Board(system.store, "main", time.time).has_open()
        and members == ["idle", "idle"]
        and system.is_idle(claims=False)
    )


def find_problems(system: System) -> list[str]:
    """Return what is not as it has to be when a team has done all of its tasks."""
    problems = []
    reports = Counter(list_reports(system))
    if reports != Counter(f"#{number + 1}" for number in range(TASKS)):
        problems.append(f"reports: {reports}")
    board = Board(system.store, "main", time.time)
    for task in board.list_ended():
        runs = [run.outcome for run in task.runs]
        if task.status != "completed" or runs.count("completed") != 1 or task.claim:
            problems.append(f"#{task.id} is {task.status} after {runs}")
    if len(board.list_ended()) != TASKS:
        problems.append(f"{len(board.list_ended())} tasks have ended")
    sent = Counter(text.partition(" ")[0] for text in system.platform.texts)
    # a part that left and was not marked before the crash leaves once more
    if set(sent) != set(reports) or sum(sent.values()) > TASKS + 1:
        problems.append(f"sent: {sent}")
    document = system.document()
    if document.posts or document.outbox or system.dead_letters():
        problems.append("something is left")
    return problems


def play(open_system: OpenSystem, point: str, *, beside: bool = False) -> list[str]:
    """Kill a server at a point, and return what is wrong when another one has finished the work;
    `beside` lets both run from the beginning.
    """
    with open_system(lease=within(1.0)) as system:
        try:
            victim = system.start(point)
            if beside:
                system.start(point)
            put_team(system)
            # where two claim at once, a point may be left out
            until(
                lambda: system.fired() or is_finished(system), f"a server gets to {point}, or ends"
            )
            if system.fired() and not beside:
                system.forker.ended(victim)
                system.start()
            until(partial(is_finished, system), "all tasks are done")
            return [f"{point}: {problem}" for problem in find_problems(system)]
        except AssertionError as problem:
            return [f"{point}: {problem}"]


def list_points(open_system: OpenSystem) -> list[str]:
    """Return the points that a run passes in which nobody is killed."""
    with open_system(lease=60.0) as system:
        put_team(system)
        system.start()
        until(partial(is_finished, system), "all tasks are done")
        assert not find_problems(system)
        return list(dict.fromkeys(filter(COUNTS.fullmatch, system.notes("journal"))))


@pytest.mark.parametrize("open_system", ["sqlite", *thorough("redis", "dynamodb")], indirect=True)
def test_each_task_is_done_and_told_once_wherever_the_server_is_killed(
    open_system: OpenSystem,
) -> None:
    rows = list_points(open_system) if in_full() else TELLING
    with ThreadPoolExecutor(AT_ONCE) as players:
        broken = [each for row in players.map(partial(play, open_system), rows) for each in row]
    assert not broken, "\n".join(broken)


@pytest.mark.parametrize("open_system", ["sqlite", *thorough("redis", "dynamodb")], indirect=True)
def test_when_one_of_two_servers_is_killed_the_other_finishes_the_board(
    open_system: OpenSystem,
) -> None:
    assert play(open_system, "write board 2 after", beside=True) == []


@pytest.mark.parametrize("open_system", ["sqlite", *thorough("redis", "dynamodb")], indirect=True)
@pytest.mark.parametrize("is_killed", [False, True], ids=["lives", "is killed"])
def test_the_task_of_a_teammate_that_is_disabled_while_it_works_is_done_by_another_one(
    open_system: OpenSystem, is_killed: bool
) -> None:
    with open_system(lease=within(1.0)) as system:
        gate = Gate(system.model)

        def search_late(_: object) -> dict[str, Any]:
            gate.wait()
            return call(("sigil_query", {"query": "anything"}))

        system.model.then(search_late)
        server = system.start()
        put_team(system, tasks=1)
        until(lambda: system.model.bodies, "one of them is at work")
        board = Board(system.store, "main", time.time)
        owner = board.read(1).owner
        other = next(name for name in NAMES if name != owner)
        change_state(system.store, "main", owner, "disabled", time.time())
        if is_killed:
            server.signal(signal.SIGKILL)
            system.forker.ended(server)
            system.start()
            until(partial(system.is_idle, claims=False), "what it worked on is given up")
            with open_work_queue(system) as queue:
                for minute in (1, 2):
                    now = time.time() + 60 * minute
                    tick_team(system.store, queue.put, "main", now, idle=60.0, note=lambda *_: None)
        gate.open()
        until(lambda: not board.has_open(), "the other one has done it")
        runs = [(run.owner, run.outcome) for run in board.read(1).runs]
        assert runs == [(owner, "released"), (other, "completed")]

        # who is back is woken again, and who is away takes no task from it
        until(partial(is_finished, system, 1), "both are idle")
        change_state(system.store, "main", owner, "enabled", time.time())
        change_state(system.store, "main", other, "disabled", time.time())
        board.add(NewTask(subject="one more", by=HOME, home=HOME))
        wake_team(system)
        until(lambda: not board.has_open(), "who is back has done it")
        assert board.read(2).runs[0].owner == owner


@pytest.mark.parametrize("open_system", ["sqlite", *thorough("redis", "dynamodb")], indirect=True)
def test_mail_is_read_once_in_the_order_of_its_sender_though_its_reader_is_killed(
    open_system: OpenSystem,
) -> None:
    """A server is killed after each fifty mails, while its agent reads. A turn that three kills in
    a row have hit is given up; the mail that it had shown has been read.
    """
    mails = times(100)
    with open_system(lease=within(1.0)) as system:
        put_team(system, tasks=0)
        box = Mailbox(system.store, "main.alice")
        server = system.start()
        with open_work_queue(system) as queue:
            for number in range(mails):
                sender, count = number % SENDERS, number // SENDERS
                text = f"mail {sender}-{count:03d}."
                now = time.time()
                box.deliver(Mail(f"{number:04d}", f"s{sender}", text, now))
                post = Post("mail", "main.alice", OWN_MAIN)
                (event,) = make_events((post,), HOME, now, f"mail-{number}")
                queue.put(event)
                if number % KILLED_EACH == KILLED_EACH - 1:
                    asked = len(system.model.bodies)
                    until(
                        lambda asked=asked: len(system.model.bodies) > asked or not box.read()[0],  # type: ignore[misc]
                        "it reads",
                    )
                    server.signal(signal.SIGKILL)
                    system.forker.ended(server)
                    server = system.start()
        until(partial(system.is_idle, claims=False), "all of it is read", seconds=mails)
        assert box.read()[0] == []
        shown: dict[str, None] = {}
        for body in system.model.bodies:
            inboxes = [str(each["content"]) for each in body["messages"] if each["role"] == "user"]
            found = MAIL.findall("\n".join(inboxes))
            assert len(found) == len(set(found)), "a mail is twice in one request"
            shown.update(dict.fromkeys(found))
        assert len(shown) == mails
        for sender in range(SENDERS):
            own = [text for text in shown if text.startswith(f"mail {sender}-")]
            assert own == sorted(own)
