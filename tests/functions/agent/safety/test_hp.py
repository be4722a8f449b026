"""HP bound what an agent does by itself: its own work costs them, sleep brings them back."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import orjson
import pytest

from functions import worker
from functions.agent.agents.record import AgentRecord, add_agent
from functions.agent.consolidation import consolidate_owed
from functions.agent.conversation.messages import Message
from functions.agent.mailbox import Mail, Mailbox
from functions.agent.runs.run import Run, scan_runs
from functions.agent.safety.hp import (
    HpLimits,
    HpRecord,
    enable_work,
    load_account,
    note_asleep,
    pay_beside,
    pay_turn,
    read_account,
    settle_clock,
)
from functions.ingress.hook_endpoint import HookPost, make_event
from sigil.storage.kv import KV, keys
from sigil.storage.kv.memory import MemoryKV
from sigil.storage.stored import dumps
from tests.fakes.model import ScriptedModel, call, completion
from tests.functions.agent.own_work import BY, run, work
from tests.functions.chats import Chats
from tests.functions.hook_fixture import add_hook
from tests.sigil.stores import Place, place, pytest_generate_tests

__all__ = ["place", "pytest_generate_tests"]

ORIGINAL = {"hp": 10_000, "hp_floor": 1, "hp_per_token": 1.0, "hp_per_action": 10.0}
YEAR = 365 * 86_400.0
NOW = 1_800_000_000.0
LIMITS = HpLimits(10_000, 100, 1.0, 10.0)


def usage(tokens: int) -> dict[str, int]:
    """The usage of a completion that used so many tokens."""
    return {"prompt_tokens": tokens - 10, "completion_tokens": 10}


def answer(text: str, tokens: int) -> dict[str, Any]:
    """A completion that used so many tokens."""
    return completion({"role": "assistant", "content": text}, "stop", usage=usage(tokens))


def search(tokens: int) -> dict[str, Any]:
    """A completion that asks for one action, and used so many tokens."""
    return {**call(("sigil_query", {"query": "anything"})), "usage": usage(tokens)}


@pytest.fixture
def kv() -> KV:
    return MemoryKV()


def stored(chats: Chats) -> HpRecord:
    return chats.runtime.app.load_hp().record


def store(chats: Chats, record: HpRecord | bytes) -> None:
    value = record if isinstance(record, bytes) else dumps(record)
    chats.runtime.stores.kv.put(keys.hp("main"), value)


def ask_status(chats: Chats, number: int) -> str:
    """Write /status, and return the answer."""
    chats.write(number, "/status all")
    side = chats.runtime.control
    assert side
    delivery = side.take(0.0)
    assert delivery
    worker.process(delivery, replace(chats.runtime, queue=side))
    return chats.list_texts()[-1]


def scan_own(chats: Chats) -> list[Run]:
    """Return the runs of the agent's own work, the newest first."""
    runs = scan_runs(chats.runtime.stores.kv, "main")
    return [each for each in runs if each.session.startswith("own:")]


def last_run(chats: Chats) -> Any:
    """Return the newest run of the agent's own."""
    return scan_own(chats)[0]


def test_a_hundred_tokens_and_an_action_cost_a_hundred_and_ten_of_the_original_hp(
    open_chats: Callable[..., Chats], model: ScriptedModel
) -> None:
    chats = open_chats(**ORIGINAL)
    model.then(search(60), answer("done", 40))
    run(chats, work(1))
    assert stored(chats).hp == 10_000 - 110
    chats.write(1, "hello")
    chats.work_off()
    assert stored(chats).hp == 10_000 - 110
    shown = ask_status(chats, 2)
    assert "of 10,000. All are back at " in shown
    assert " UTC" in shown


def test_an_agent_without_hp_is_disabled_keeps_all_and_works_again_when_enabled(
    open_chats: Callable[..., Chats], model: ScriptedModel
) -> None:
    chats = open_chats(tokens_per_day=0)
    app = chats.runtime.app
    app.documents.write(app.documents.agent, "soul", "You are kind.", by=BY)
    before = app.documents.read(app.documents.agent, "soul")
    model.then(answer("I read it all.", 2_000_000))
    run(chats, work(1))
    gone = chats.list_texts()[-1]
    assert "used up all HP" in gone
    assert "/agent enable here" in gone
    count = len(model.bodies)
    run(chats, work(2), work(3))
    assert len(model.bodies) == count
    assert (last_run(chats).outcome, last_run(chats).why) == ("skipped", "disabled (hp)")
    assert chats.list_texts()[-1] == gone
    assert len(chats.list_texts()) == 2
    assert app.documents.read(app.documents.agent, "soul") == before
    model.then(answer("Hello!", 100))
    chats.write(1, "hello")
    chats.work_off()
    assert chats.list_texts()[-1] == "Hello!"
    assert "until an owner writes /agent enable" in ask_status(chats, 2)
    chats.write(3, "/agent enable")
    chats.work_off()
    assert chats.list_texts()[-1] == "main works by itself again, with 11,000 of 100,000 HP."
    model.then(answer("Here I am.", 1_000))
    run(chats, work(4))
    assert chats.list_texts()[-1] == "Here I am."
    assert not stored(chats).disabled


def test_a_run_sleeps_before_it_crosses_the_floor(
    open_chats: Callable[..., Chats], model: ScriptedModel
) -> None:
    chats = open_chats()
    store(chats, HpRecord(2_500.0, time.time()))
    model.then(search(9_000), search(5_000))
    run(chats, work(1))
    assert len(model.bodies) == 2
    assert 1_000 <= stored(chats).hp < 1_200
    steps = [step for step in last_run(chats).steps if step["kind"] == "limit"]
    assert [(step["limit"], step["end"]) for step in steps] == [("hp", "sleep")]
    assert last_run(chats).outcome == "said"
    run(chats, work(2))
    assert len(model.bodies) == 2
    assert (last_run(chats).outcome, last_run(chats).why) == ("skipped", "hp")
    (told,) = chats.list_texts()
    assert told.startswith("I ended work of my own before it was done, for want of HP. HP for work")
    store(chats, replace(stored(chats), at=time.time() - 3_600))
    model.then(answer("rested", 100), search(32_000))
    run(chats, work(3))
    assert chats.list_texts() == [told, "rested"]
    # near the floor it is told once, and again when half of the HP had come back
    run(chats, work(4))
    assert (last_run(chats).steps[-1]["limit"], len(chats.list_texts())) == ("hp", 2)
    store(chats, replace(stored(chats), hp=60_000.0, at=time.time()))
    model.then(search(585_000))
    run(chats, work(5))
    assert len(chats.list_texts()) == 3
    assert chats.list_texts()[-1].startswith("I ended work of my own")


def test_that_a_run_does_not_begin_for_want_of_hp_is_told_once(
    open_chats: Callable[..., Chats], model: ScriptedModel
) -> None:
    chats = open_chats()
    store(chats, HpRecord(1_100.0, time.time()))
    run(chats, work(1), work(2))
    (told,) = chats.list_texts()
    assert told.startswith("HP for work of my own: 1,10")
    assert "I do nothing by myself until about" in told
    assert not model.bodies


def test_an_agent_that_was_enabled_with_the_original_numbers_works_before_it_sleeps(
    open_chats: Callable[..., Chats], model: ScriptedModel
) -> None:
    chats = open_chats(**ORIGINAL)
    store(chats, HpRecord(0.0, time.time(), disabled=True))
    chats.write(1, "/agent enable")
    chats.work_off()
    assert chats.list_texts()[-1] == "main works by itself again, with 10,000 of 10,000 HP."
    model.then(search(2_500), search(2_600), answer("All is well.", 2_700))
    run(chats, work(1))
    assert chats.list_texts()[-1] == "All is well."
    assert stored(chats).hp == pytest.approx(10_000 - 7_820, abs=60)


def test_mail_waits_for_hp_and_a_task_is_a_dead_letter(
    open_chats: Callable[..., Chats], model: ScriptedModel
) -> None:
    chats = open_chats()
    kv = chats.runtime.stores.kv
    store(chats, HpRecord(0.0, time.time(), disabled=True))
    mailbox = Mailbox(kv, "main")
    mailbox.deliver(Mail("1", "alice", "the bank has written", time.time()))
    run(chats, work(1, kind="mail"), work(2, kind="task"))
    assert not model.bodies
    assert len(mailbox.read(())[0]) == 1
    assert [each.key.sort for each in scan(kv, "dead")] == ["wakeup:2"]
    enable_work(kv, "main", chats.runtime.app.hp, time.time())
    run(chats, work(3))
    assert b"the bank has written" in orjson.dumps(model.bodies)


def test_what_comes_over_a_hook_costs_hp_and_is_a_dead_letter_without_them(
    open_chats: Callable[..., Chats], model: ScriptedModel
) -> None:
    chats = open_chats(**ORIGINAL)
    kv = chats.runtime.stores.kv
    hook, _ = add_hook(chats.runtime)
    model.then(answer("The build failed.", 400))
    run(chats, make_event(hook, HookPost("build 7 failed", "check_run", "1"), time.time()))
    assert chats.list_texts() == ["The build failed."]
    assert stored(chats).hp == 10_000 - 400
    store(chats, HpRecord(0.0, time.time(), disabled=True))
    posted = make_event(hook, HookPost("build 8 failed", "check_run", "2"), time.time())
    run(chats, posted)
    assert [each.key.sort for each in scan(kv, "dead")] == [keys.escape(posted.id)]
    assert len(model.bodies) == 1


def test_each_behaviour_of_a_chain_pays_and_the_last_of_them_sleeps_at_the_floor(
    open_chats: Callable[..., Chats], model: ScriptedModel
) -> None:
    chats = open_chats(**ORIGINAL)
    hop = {**call(("cap_next_behavior", {"name": "on_self_improve"})), "usage": usage(1_000)}
    model.then(hop, search(3_000), answer("improved", 500))
    run(chats, work(1))
    assert stored(chats).hp == pytest.approx(10_000 - 1_010 - 3_010 - 500, abs=60)
    back = {**call(("cap_next_behavior", {"name": "on_wakeup"})), "usage": usage(2_000)}
    model.then(hop, back)
    store(chats, HpRecord(4_000.0, time.time()))
    run(chats, work(2))
    # the second begins with 2,990 HP, and the third has too few left for a request
    assert [each.outcome for each in scan_own(chats)[:3]] == ["skipped", "silent", "silent"]
    assert stored(chats).hp == pytest.approx(4_000 - 1_010 - 2_010, abs=60)


def test_an_agent_below_the_root_has_hp_of_its_own(
    open_chats: Callable[..., Chats], model: ScriptedModel
) -> None:
    chats = open_chats(tokens_per_day=0)
    kv = chats.runtime.stores.kv
    add_agent(kv, "main", "alice", AgentRecord("agent", "enabled", 1.0, "terminal:local"))
    model.then(answer("I read it all.", 2_000_000), answer("So did I.", 1_000))
    run(chats, work(1, agent="main.alice"))
    run(chats, work(2))
    alice = load_account(kv, "main.alice", chats.runtime.app.hp, time.time())
    assert alice.record.disabled
    assert stored(chats).hp == 100_000 - 100
    texts = chats.list_texts()
    assert any("alice has used up all HP" in text for text in texts)
    assert "So did I." in texts
    run(chats, work(3, agent="main.alice"), work(4))
    assert len(model.bodies) == 3


def test_what_memory_asks_about_the_agents_own_work_costs_hp_and_disables_nobody(
    open_chats: Callable[..., Chats], model: ScriptedModel
) -> None:
    chats = open_chats(llm_window=4_000)
    app = chats.runtime.app
    model.aside = answer("nothing to keep", 30_000)
    for session in ("own:main", BY):
        said = [
            Message("user" if number % 2 else "assistant", f"line {number} " * 40, at=1e9)
            for number in range(60)
        ]
        opened = app.sessions.open(keys.session_of("main", session))
        document = opened.document.add(*said)
        side = app.sessions.save(opened, document)
        app.sessions.archive(side.key, side.document.messages[:40])
        app.sessions.save(
            side,
            replace(side.document, messages=side.document.messages[40:], unheard=(1,), owed=60),
        )
    consolidate_owed(keys.session_of("main", BY), app)
    assert app.kv.get(keys.hp("main")) is None
    consolidate_owed(keys.session_of("main", "own:main"), app)
    asked = len(model.bodies) // 2
    assert asked
    assert stored(chats).hp == 100_000 - asked * 3_000
    store(chats, HpRecord(1_200.0, time.time()))
    pay_beside(app.kv, "main", app.hp, 3_000.0, time.time())
    assert stored(chats).hp == 1_000
    assert not stored(chats).disabled


def scan(kv: KV, partition: str) -> Any:
    from sigil.storage.kv.base import scan_everything

    return [each for each in scan_everything(kv) if each.key.partition == partition]


def test_a_damaged_record_counts_as_at_the_floor_and_is_told_once(
    open_chats: Callable[..., Chats], model: ScriptedModel
) -> None:
    chats = open_chats()
    store(chats, b"{")
    run(chats, work(1))
    assert not model.bodies
    assert last_run(chats).why == "damaged hp"
    assert "cannot be read" in chats.list_texts()[-1]
    run(chats, work(2))
    assert len(chats.list_texts()) == 1
    assert last_run(chats).why == "hp"


def test_without_a_bound_nothing_is_written(
    open_chats: Callable[..., Chats], model: ScriptedModel
) -> None:
    chats = open_chats(hp=0, tokens_per_day=0)
    model.then(answer("done", 5_000_000))
    run(chats, work(1), work(2))
    assert chats.runtime.stores.kv.get(keys.hp("main")) is None
    assert len(model.bodies) == 2


@pytest.mark.parametrize(
    ("record", "passed", "hp"),
    [
        (HpRecord(5_000, NOW), 60, 5_060),
        (HpRecord(5_000, NOW), YEAR, 10_000),
        (HpRecord(5_000, NOW), -YEAR, 5_000),
        (HpRecord(9_999, NOW), 0.5, 9_999.5),
        (HpRecord(0, NOW, disabled=True), YEAR, 0),
    ],
)
def test_sleep_brings_hp_back_and_no_clock_takes_them(
    record: HpRecord, passed: float, hp: float
) -> None:
    assert record.count_at(NOW + passed, LIMITS) == hp


def test_a_clock_that_was_set_back_costs_no_year_of_sleep(kv: KV) -> None:
    kv.put(keys.hp("main"), dumps(HpRecord(50, NOW + YEAR)))
    assert load_account(kv, "main", LIMITS, NOW).find_stop(NOW) == "hp"
    settle_clock(kv, "main", LIMITS, NOW)
    assert load_account(kv, "main", LIMITS, NOW).find_stop(NOW + 60) == ""


def test_every_damaged_byte_reads_as_a_record_or_as_at_the_floor() -> None:
    from sigil.storage.kv import Item

    value = dumps(HpRecord(5_000, NOW, "0123456789abcdef", 12.5))
    for at in range(len(value)):
        for byte in (0, 0x22, 0x2D, 0x39, 0x7D, 0xFF):
            changed = value[:at] + bytes([byte]) + value[at + 1 :]
            account = read_account(Item(changed, "1"), LIMITS, NOW)
            assert 0 <= account.record.count_at(NOW, LIMITS) <= LIMITS.most
            if account.is_damaged:
                assert account.record.hp == LIMITS.floor
                assert account.find_stop(NOW + YEAR) == "damaged hp"
    for value in (b"", b"null", b"[]", b'{"hp":1e999,"at":0}', b'{"hp":-1,"at":0}', b'{"at":0}'):
        assert read_account(Item(value, "1"), LIMITS, NOW).is_damaged


def test_a_turn_that_closes_again_after_a_crash_pays_the_rest_alone(kv: KV) -> None:
    kv.put(keys.hp("main"), dumps(HpRecord(5_000, NOW)))
    for cost, left in ((100, 4_900), (100, 4_900), (150, 4_850)):
        record = pay_turn(kv, "main", LIMITS, event="e", cost=cost, began=NOW, now=NOW + 9)
        assert record.hp == left
    assert pay_turn(kv, "main", LIMITS, event="f", cost=9, began=NOW + 10, now=NOW + 10).hp == 4_842


def test_only_the_turn_that_fell_asleep_tells_it_also_when_it_closes_again(kv: KV) -> None:
    kv.put(keys.hp("main"), dumps(HpRecord(4_000, NOW)))

    def fall_asleep(event: str, now: float) -> bool:
        record = pay_turn(
            kv, "main", LIMITS, event=event, cost=1_900, began=now, now=now, falls_asleep=True
        )
        return record.is_told_by(event)

    assert [fall_asleep(event, NOW) for event in ("e", "e", "f")] == [True, True, False]
    assert not note_asleep(kv, "main", LIMITS, "g", NOW)
    # half of them have come back
    assert fall_asleep("h", NOW + 5_000)
    assert [note_asleep(kv, "main", LIMITS, event, NOW + 5_001) for event in "hi"] == [True, False]


@pytest.mark.parametrize("place", ["sqlite", "redis", "dynamodb"], indirect=True)
def test_two_processes_that_pay_at_once_lose_nothing(place: Place) -> None:
    place.open().put(keys.hp("main"), dumps(HpRecord(5_000, NOW)))
    fork = multiprocessing.get_context("fork")
    payers = [fork.Process(target=pay_often, args=(place, name)) for name in "ab"]
    for each in payers:
        each.start()
    for each in payers:
        each.join()
    assert [each.exitcode for each in payers] == [0, 0]
    assert load_account(place.open(), "main", LIMITS, NOW).record.hp == 5_000 - 2 * 50 * 7


def pay_often(place: Place, name: str) -> None:
    kv = place.open()
    for number in range(50):
        event = f"{name}{number}"
        pay_turn(kv, "main", LIMITS, event=event, cost=7, began=NOW, now=NOW)


def test_an_agent_that_has_hp_stays_as_it_is_when_it_is_enabled(kv: KV) -> None:
    kv.put(keys.hp("main"), dumps(HpRecord(5_000, NOW)))
    assert enable_work(kv, "main", LIMITS, NOW) == 5_000
    kv.put(keys.hp("main"), dumps(HpRecord(0, NOW, disabled=True)))
    assert enable_work(kv, "main", LIMITS, NOW) == 10_000
    kv.put(keys.hp("main"), dumps(HpRecord(0, NOW, disabled=True)))
    assert enable_work(kv, "main", HpLimits(), NOW) == 11_000
