"""/heartbeat from outside: what it answers, and that looks which find nothing change no chat."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from functions.agent.mailbox import Mail, Mailbox
from functions.agent.schedules.schedule import HEARTBEAT
from functions.agent.schedules.tick import restore_marks, wake_agents
from functions.personal_data import PersonalData
from functions.wiring import AgentRuntime
from sigil.storage.kv import keys
from sigil.storage.kv.update import scan_all
from tests.fakes.bot_api import BotApi
from tests.fakes.model import ScriptedModel, say
from tests.functions.agent.commands.test_wakeups import tell
from tests.functions.chats import Chats
from tests.functions.people import GUEST, OWNER, platform

CHAT = keys.session_of("main", f"telegram:{OWNER}")
OWN = keys.session_of("main", "own:main")
YEAR = 365 * 86_400.0


def look(chats: Chats) -> float:
    """Let the next look come, work on all that comes of it, and return its time."""
    runtime = chats.runtime
    found = runtime.app.schedules.find_heartbeat()
    assert found
    wake_agents(runtime.stores.kv, runtime.queue.put, "main", found.due + 0.001)
    chats.work_off()
    return found.due


def read_sessions(chats: Chats) -> list[bytes]:
    kv = chats.runtime.stores.kv
    return [item.value for each in (CHAT, OWN) for _, item in scan_all(kv, f"session#{each}")]


def test_a_sleep_by_a_clock_that_was_a_year_ahead_ends_with_the_wrong_clock(chats: Chats) -> None:
    tell(chats, "/heartbeat 30m")
    schedules = chats.runtime.app.schedules
    kv = chats.runtime.stores.kv
    now = chats.runtime.app.clock.now()
    schedules.sleep_until(now + 7_200.0, now)
    assert restore_marks(kv, ["main"], now) == 0
    schedules.sleep_until(now + YEAR + 7_200.0, now + YEAR)
    assert restore_marks(kv, ["main"], now) == 1
    found = schedules.find_heartbeat()
    assert found
    assert found.due == now + 1_800.0


def test_an_owner_sets_it_reads_what_it_costs_and_ends_it(
    chats: Chats, model: ScriptedModel
) -> None:
    assert tell(chats, "/heartbeat").startswith("The heartbeat is off")
    assert "from a minute" in tell(chats, "/heartbeat soon")
    assert chats.runtime.app.schedules.find_heartbeat() is None
    said = tell(chats, "/heartbeat 30m")
    assert said.startswith("I look every 30 minutes whether something is new for me, next at ")
    assert " UTC, and tell you here" in said
    assert "runs in the last 30 days: 0" in tell(chats, "/heartbeat")
    assert tell(chats, "/wakeups").startswith("1. heartbeat\n  next ")
    assert tell(chats, "/heartbeat 2h").startswith("I look every 2 hours")
    assert len(chats.runtime.app.schedules.list_of_chat()) == 1
    assert tell(chats, "/heartbeat off") == "The heartbeat is off now."
    assert tell(chats, "/heartbeat off").startswith("The heartbeat is off: ")
    assert tell(chats, "/wakeups").startswith("Nothing is scheduled here.")
    assert not model.requests


def test_nobody_else_sees_or_changes_it(chats: Chats) -> None:
    group = {"chat": {"id": -5, "type": "supergroup", "title": "Trip"}}
    chats.write(1, "/heartbeat 1m", GUEST, **group)
    chats.work_off()
    assert chats.runtime.app.schedules.find_heartbeat() is None


def test_forty_looks_that_find_nothing_leave_every_session_byte_for_byte(
    chats: Chats, model: ScriptedModel
) -> None:
    tell(chats, "/heartbeat 1m")
    before = read_sessions(chats)
    times = [look(chats) for _ in range(40)]
    assert read_sessions(chats) == before
    delays = [later - earlier for earlier, later in pairwise(times)]
    assert [round(each) for each in delays[:11]] == [
        *(60 * 2**number for number in range(1, 11)),
        86_400,
    ]
    assert not model.requests


def test_mail_lets_it_run_and_what_matters_is_told_where_it_was_set(
    chats: Chats, model: ScriptedModel
) -> None:
    tell(chats, "/heartbeat 30m")
    look(chats)
    kv = chats.runtime.stores.kv
    Mailbox(kv, "main").deliver(Mail("1", "hook shop", "order 7 came in", 1.0))
    model.then(say("Order 7 has come in."))
    look(chats)
    (request,) = model.requests
    asked = str(request.json()["messages"])
    assert "order 7 came in" in asked
    assert "this is your heartbeat" in asked
    assert "/heartbeat" not in asked  # nothing of the chat
    assert chats.list_texts()[-1] == "Order 7 has come in."
    found = chats.runtime.app.schedules.find_heartbeat()
    assert found
    assert (found.runs, found.delay, found.running) == (1, 1800.0, "")
    (run,) = chats.runtime.app.schedules.list_runs(HEARTBEAT)
    assert run.outcome == "said"
    assert run.tokens > 0
    look(chats)
    assert len(model.requests) == 1
    assert f"runs in the last 30 days: 1, with {run.tokens:,} tokens" in tell(chats, "/heartbeat")


def test_a_message_lets_a_heartbeat_that_looks_rarely_look_soon(
    chats: Chats, model: ScriptedModel
) -> None:
    tell(chats, "/heartbeat 1m")
    due = max(look(chats) for _ in range(6))
    runtime = chats.runtime
    model.then(say("Hello."))
    chats.write(50, "hello")
    chats.work_off()
    runtime.inputs.tell_heartbeats(runtime.stores.kv, due + 100.0)
    found = runtime.app.schedules.find_heartbeat()
    assert found
    assert found.due == due + 160.0


def test_many_runs_before_it_make_the_next_one_no_dearer(
    chats: Chats, model: ScriptedModel
) -> None:
    tell(chats, "/heartbeat 1h")
    kv = chats.runtime.stores.kv
    for number in range(12):
        Mailbox(kv, "main").deliver(Mail(f"{number}", "hook shop", "order " * 200, 1.0 + number))
        model.then(say("[SILENT]"))
        look(chats)
    size = len(str(model.requests[-1].json()["messages"]))
    assert len(model.requests) == 12
    assert size < 15_000, size


def test_the_work_of_a_heartbeat_does_not_belong_to_whoever_set_it(
    chats: Chats, model: ScriptedModel
) -> None:
    tell(chats, "/heartbeat 30m")
    runtime = chats.runtime
    Mailbox(runtime.stores.kv, "main").deliver(Mail("1", "Bob", "for nobody else", 1.0))
    model.then(say("[SILENT]"))
    look(chats)
    personal = PersonalData(runtime.app, runtime.stores.artifacts)
    found = personal.find(f"telegram:{OWNER}")
    exported = str(personal.export(found))
    assert "this is your heartbeat" in exported  # the record itself
    assert "for nobody else" not in exported
    personal.erase(found)
    assert runtime.app.schedules.find_heartbeat() is None
    assert "for nobody else" in str(runtime.app.sessions.open(OWN).document.messages)


def test_without_a_language_model_it_says_nothing(
    runtime: Callable[..., AgentRuntime], bot: BotApi
) -> None:
    chats = Chats(runtime(**platform(bot)), bot)
    said = tell(chats, "/heartbeat 30m")
    Mailbox(chats.runtime.stores.kv, "main").deliver(Mail("1", "Bob", "hello", 1.0))
    look(chats)
    assert chats.list_texts() == [said]
    (run,) = chats.runtime.app.schedules.list_runs(HEARTBEAT)
    assert run.outcome == "silent"
