"""Behaviours say how an agent goes about its own work: prompt, tools, limits, what comes next."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import orjson
import pytest

from functions.agent.access.links import LinkedChat
from functions.agent.agents.record import AgentRecord, add_agent
from functions.agent.behaviours.built_in import BUILT_IN
from functions.agent.consolidation import OWNERS_WISHES, PROMPT
from functions.agent.conversation.messages import SCHEDULED_NOTE
from functions.agent.conversation.toolset import in_scope
from functions.agent.ledger.ledger import Ledger
from functions.agent.policy.document import open_versions, write_policy
from functions.agent.policy.rules import FIRST_TEXT
from functions.agent.posts import Post, ServiceAnswer
from functions.agent.runs.result import describe
from functions.agent.runs.run import format_run, load_run
from functions.agent.runs.tree import build_tree, format_tree
from functions.agent.schedules.schedule import HEARTBEAT, Schedule, make_event
from functions.agent.schedules.when import When
from functions.agent.services import table
from functions.agent.services.call_context import Arguments, CallContext
from functions.queues.dead_letters import scan_dead_letters
from functions.time.time_zone import to_local
from sigil.errors import UsageError
from sigil.protocol import Caller
from sigil.storage.kv import keys
from tests.fakes.model import ScriptedModel, call, say
from tests.fakes.server import Answer
from tests.functions.agent.own_work import BY, own, run, work
from tests.functions.chats import Chats
from tests.functions.people import OWNER

SLEEP = call(("cap_sleep", {}))


def write(chats: Chats, name: str, text: str) -> None:
    documents = chats.runtime.app.documents
    documents.write(documents.agent, f"behaviour/{name}", text, by="test")


def deploy(chats: Chats, name: str) -> None:
    """Deploy a capability of the agent's, as a person does."""
    spec = {
        "name": name,
        "description": f"{name} a number",
        "schema": {"type": "object", "properties": {}},
        "execute": "return 'done'",
    }
    chats.runtime.app.registry.deploy(spec, Caller("main"))


def hop(name: str) -> Any:
    return call(("cap_next_behavior", {"name": name}))


def tools_of(body: Any) -> list[str]:
    return [tool["function"]["name"] for tool in body.get("tools", ())]


def results(body: Any) -> list[str]:
    return [each["content"] for each in body["messages"] if each["role"] == "tool"]


def steps(chats: Chats, event: str = "wakeup:1") -> Sequence[dict[str, Any]]:
    found = load_run(chats.runtime.stores.kv, "main", event)
    assert found
    return list(found.steps)  # type: ignore[arg-type]


def test_a_run_begins_with_its_behaviour_and_its_tools_and_reads_them_in_order(
    chats: Chats, model: ScriptedModel
) -> None:
    documents = chats.runtime.app.documents
    documents.write(documents.agent, "role", "You help Ada.", by="test")
    documents.write(documents.agent, "self", "I am careful.", by="test")
    session = keys.session_of("main", "own:main")
    documents.write(documents.agent, "memory", "Ada has a cat.", by="test")
    documents.write(session, "memory", "The bank writes on Mondays.", by="test")
    searching = call(("sigil_query", {"query": "mail"}))
    model.then(searching, say("[SILENT]"), say("[SILENT]"))
    run(chats, work(1), work(2, text="look again"))
    first, step, again = model.bodies
    static = ["sigil_query", "sigil_deploy"]
    assert tools_of(first) == [*static, "cap_sleep", "cap_next_behavior", "cap_tell"]
    whole = "\n".join(message["content"] for message in first["messages"])
    parts = [
        "You help Ada.",
        "I am careful.",
        "<<ENVIRONMENT>>",
        "<<BEHAVIOUR>>",
        BUILT_IN["on_wakeup"],
        "look at the mail",
        "Ada has a cat.",
        "The bank writes on Mondays.",
    ]
    places = [whole.index(part) for part in parts]
    assert places == sorted(places)
    briefing, asked, remembered = first["messages"][1:]
    assert remembered["content"].startswith("[runtime]\n<<MEMORY>>\n")
    assert step["messages"][:4] == first["messages"]
    assert [message["role"] for message in step["messages"][4:]] == ["assistant", "tool"]
    assert briefing["content"].startswith("[runtime]\n<<ENVIRONMENT>>\n20")
    assert asked["content"].endswith(f"look at the mail\n{SCHEDULED_NOTE}")
    # what is remembered moves on with each run, and is kept in none
    assert again["messages"][:3] == first["messages"][:3]
    assert again["messages"][-1] == remembered
    assert [message["content"] for message in again["messages"]].count(remembered["content"]) == 1
    assert tools_of(again) == tools_of(first)
    assert steps(chats)[0] == {"kind": "behaviour", "name": "on_wakeup", "pins": 3}


def test_the_tools_of_a_behaviour_are_a_function_of_the_history(
    chats: Chats, model: ScriptedModel
) -> None:
    model.then(say("[SILENT]"))
    run(chats, work(1))
    messages = own(chats).messages
    assert [offer.tool for offer in in_scope(messages)] == [
        "cap_sleep",
        "cap_next_behavior",
        "cap_tell",
    ]
    # what compaction evicts is gone, and the next briefing brings it back
    opened = chats.runtime.app.sessions.open(keys.session_of("main", "own:main"))
    chats.runtime.app.sessions.save(opened, replace(opened.document, messages=()))
    assert in_scope(own(chats).messages) == ()
    model.then(say("[SILENT]"))
    run(chats, work(2))
    assert tools_of(model.bodies[1]) == tools_of(model.bodies[0])


def test_no_search_finds_what_is_pinned_only_and_no_chat_can_call_it(
    chats: Chats, model: ScriptedModel
) -> None:
    searches = call(
        *(
            ("sigil_query", {"query": words})
            for words in (
                "sleep",
                "next-behavior",
                "tell",
                "note-work",
                "propose-change",
                "review-runs",
            )
        )
    )
    model.then(searches, SLEEP, say("no"), say("no"))
    chats.write(1, "sleep now")
    chats.work_off()
    assert len(chats.list_texts()) == 1
    pinned = {f"cap_{name}" for name in ("sleep", "tell", "next_behavior", "note_work")}
    pinned |= {"cap_propose_change", "cap_read_current", "cap_review_runs"}
    assert not pinned & {*tools_of(model.bodies[2])}
    assert "ENOTOOL" in results(model.bodies[2])[-1]


def test_sleep_ends_a_run_without_a_word_or_another_request(
    chats: Chats, model: ScriptedModel
) -> None:
    model.then(SLEEP)
    run(chats, work(1))
    assert len(model.bodies) == 1
    assert chats.list_texts() == []
    end, save = steps(chats)[-2:]
    assert end == {"kind": "end", "behaviour": ""}
    assert save["kind"] == "save"
    assert [message.content for message in own(chats).messages][-1] == "[SILENT]"
    model.then(say("there is mail"))
    run(chats, work(2))
    assert chats.list_texts() == ["there is mail"]


def test_a_run_of_the_heartbeat_moves_its_next_look(chats: Chats, model: ScriptedModel) -> None:
    def sleep(until: str) -> Any:
        return call(("cap_sleep", {"until": until}))

    chats.write(1, "/heartbeat 30m")
    chats.work_off()
    schedules = chats.runtime.app.schedules
    data = {"home": BY, "wakeup": HEARTBEAT, "owner": "main", "due": 0.0}
    before = schedules.find_heartbeat()
    assert before
    model.then(sleep("in 2 hours"))
    run(chats, work(1))  # no run of it
    assert schedules.find_heartbeat() == before
    model.then(sleep("every day at 9"), sleep("in 8 days"), sleep("in 2 hours"))
    run(chats, work(2, data=data))
    assert all("EINVAL" in result for result in results(model.bodies[-1])[-2:])
    asleep = schedules.find_heartbeat()
    assert asleep
    assert asleep.due == pytest.approx(chats.runtime.app.clock.now() + 7_200, abs=60)
    app = chats.runtime.app
    policy = 'format = 1\nrules = ["deny own-work schedule"]'
    write_policy(open_versions(app.kv, "main", app.clock.now), policy, by="x")
    model.then(sleep("in 3 hours"), call(("cap_sleep", {})))
    run(chats, work(3, data=data))
    assert "deny own-work schedule" in results(model.bodies[-1])[-1]
    awake = schedules.find_heartbeat()
    assert awake
    assert awake.due == asleep.due


def test_the_next_behaviour_goes_on_in_the_same_session_with_its_own_tools(
    chats: Chats, model: ScriptedModel
) -> None:
    deploy(chats, "double")
    write(chats, "rates", '+++\npins = ["double"]\n+++\nCompare with yesterday.')
    model.then(hop("rates"), say("The euro fell."))
    run(chats, work(1))
    first, second = model.bodies
    assert tools_of(second)[2:] == [*tools_of(first)[2:], "cap_double"]
    assert "Compare with yesterday." in second["messages"][-2]["content"]
    assert second["messages"][-1]["content"].endswith(f"look at the mail\n{SCHEDULED_NOTE}")
    assert second["messages"][: len(first["messages"])] == first["messages"]
    assert chats.list_texts() == ["The euro fell."]


def test_a_run_has_at_most_three_hops_and_stays_where_the_next_is_unknown(
    chats: Chats, model: ScriptedModel
) -> None:
    for name in ("one", "two", "three", "four"):
        write(chats, name, f"This is {name}.")
    hops = [hop(name) for name in ("one", "two", "three", "four")]
    model.then(hop("nowhere"), *hops, say("at the end"))
    run(chats, work(1))
    assert len(model.bodies) == 6
    assert model.bodies[5]["tool_choice"] == "none"
    assert "all steps" in model.bodies[5]["messages"][-1]["content"]
    unknown = orjson.loads(results(model.bodies[1])[-1].partition("\n")[0])["error"]
    assert (unknown["code"], unknown["source"]) == ("ENOENT", "next-behavior")
    assert "on_self_improve" in unknown["suggestion"]
    assert "four" in unknown["suggestion"]
    assert "ELIMIT" in results(model.bodies[5])[-1]
    assert "This is three." in model.bodies[5]["messages"][-5]["content"]
    assert len(chats.list_texts()) == 1
    assert not list(scan_dead_letters(chats.runtime.stores.kv))


def test_the_first_end_of_a_step_counts(chats: Chats, model: ScriptedModel) -> None:
    model.then(call(("cap_sleep", {}), ("cap_next_behavior", {"name": "on_self_improve"})))
    run(chats, work(1))
    assert len(model.bodies) == 1
    model.then(say("fine"))
    run(chats, work(2))
    assert "ended the run already" in results(model.bodies[1])[1]


def test_a_behaviour_that_names_the_next_one_is_followed_by_it(
    chats: Chats, model: ScriptedModel
) -> None:
    write(chats, "on_wakeup", '+++\nnext = "tidy"\n+++\nLook at the mail.')
    write(chats, "tidy", '+++\nnext = "on_wakeup"\nlimits = { hops = 1 }\n+++\nPut it in order.')
    model.then(say("There was a letter."), say("[SILENT]"))
    run(chats, work(1))
    assert len(model.bodies) == 2
    assert chats.list_texts() == ["There was a letter."]
    model.then(SLEEP)  # who ends the run ends it
    run(chats, work(2))
    assert len(model.bodies) == 3


def test_tell_says_something_at_once_and_only_to_its_own_people(
    chats: Chats, model: ScriptedModel
) -> None:
    both = call(
        ("cap_tell", {"text": "I have begun."}),
        ("cap_tell", {"text": "secret", "to": "telegram:999"}),
    )
    model.then(both, say("I am done."), say("I am done."))
    run(chats, work(1))
    told, done = chats.list_texts()
    assert told == "I have begun."
    assert done.startswith("I am done.")
    told, refused = results(model.bodies[1])
    assert told == f'{{"ok":"it is said in {BY}"}}'
    assert "EPERM" in refused
    model.then(call(("cap_tell", {"text": "hello"})), say("[SILENT]"))
    run(chats, work(2, data={}))
    assert "ENOENT" in results(model.bodies[-1])[-1]


def test_what_a_run_notes_of_its_work_is_in_its_record_and_nowhere_else(
    chats: Chats, model: ScriptedModel
) -> None:
    long = call(("cap_note_work", {"text": "x" * 401}), ("cap_note_work", {"text": " \n"}))
    noted = call(*(("cap_note_work", {"text": f"Did part {n},\nas asked."}) for n in (1, 2)))
    third, fourth = (call(("cap_note_work", {"text": f"Did part {n}."})) for n in (3, 4))
    model.then(long, noted, third, fourth, SLEEP)
    run(chats, work(1, data={"behaviour": "on_self_improve"}))
    refused = results(model.bodies[1]) + results(model.bodies[4])[-1:]
    codes = [orjson.loads(each.splitlines()[0])["error"]["code"] for each in refused]
    assert codes == ["EINVAL", "EINVAL", "ELIMIT"]
    found = load_run(chats.runtime.stores.kv, "main", "wakeup:1")
    assert found
    wanted = ["Did part 1, as asked.", "Did part 2, as asked.", "Did part 3."]
    assert describe(found)["notes"] == found.notes == tuple(wanted)
    assert [line for line in format_run(found) if "noted:" in line] == [
        f"  noted: {text}" for text in wanted
    ]
    assert found.calls == 7
    assert "Did part" not in str(found.steps)
    assert chats.list_texts() == []
    ledger = [dict(row) for _, row in Ledger(chats.runtime.stores.kv, "main").scan()]
    assert "Did part" not in str(ledger)


def test_the_tree_of_a_run_shows_what_it_sent_and_whom_it_set_to_work(
    chats: Chats, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    kv = chats.runtime.stores.kv
    add_agent(kv, "main", "alice", AgentRecord("agent", "enabled", 1.0, "terminal:local"))

    def hand_out(context: CallContext, _: Arguments) -> ServiceAnswer:
        context.posts.take(1)
        return ServiceAnswer("handed out", (Post("task", "main.alice", "own:main", "count"),))

    monkeypatch.setitem(table.SERVICES, "note-work", hand_out)  # type: ignore[arg-type]
    both = call(("cap_tell", {"text": "I begin."}), ("cap_note_work", {"text": "hens"}))
    model.then(both, say("I am done."), say("42 hens"))
    run(chats, work(1, data={"home": BY, "behaviour": "on_self_improve"}))
    found = load_run(kv, "main", "wakeup:1")
    assert found
    lines = format_tree(build_tree(kv, ["main", "main.alice"], found))
    shown = [re.sub(r"[0-9][0-9,.]*", "N", line) for line in lines]
    assert shown == [
        "wakeup:N  own:main",
        "  wakeup: said",
        "  N requests, N + N tokens, N s, N messages, N bytes",
        "  ├ behaviour on_self_improve, N pins",
        "  ├ round N: request N ms, N + N tokens, N tools, tool_calls",
        "  │   · save",
        "  │   ├ cap_tell N ms, N characters, → a message to telegram",
        "  │   ├ cap_note_work N ms, N characters, → work for main.alice",
        "  │   · save",
        "  ├ round N: request N ms, N + N tokens, N tools, stop",
        "  └ say:wakeup:N:N:N:N  telegram:N",
        "      say: said",
        "      N requests, N + N tokens, N s, N messages, N bytes",
        "  └ say:wakeup:N:end:N  telegram:N",
        "      say: said",
        "      N requests, N + N tokens, N s, N messages, N bytes",
        "  └ task:wakeup:N:N:N:N  own:main",
        "      task: silent",
        "      N requests, N + N tokens, N s, N messages, N bytes",
        "      ├ behaviour on_wakeup, N pins",
        "      ├ round N: request N ms, N + N tokens, N tools, stop",
    ]
    assert "I begin." not in str(lines)


def test_tell_reaches_the_chats_that_the_person_has_linked_and_no_others(
    chats: Chats, model: ScriptedModel
) -> None:
    app = chats.runtime.app
    model.then(say("hello"))
    chats.write(1, "hello")
    chats.work_off()
    home = app.sessions.open(keys.session_of("main", BY))
    scope = "main#memory~1"
    app.sessions.save(home, replace(home.document, memory=scope))
    app.links.join(scope, LinkedChat("telegram:77", BY, "Ada", app.clock.now()))
    others = ("own:main", "http:admin:main", "telegram:-100", "telegram:78", " telegram:77 x")
    told = [("cap_tell", {"text": "psst", "to": to}) for to in ("telegram:77", *others)]
    model.then(call(*told), say("[SILENT]"), say("[SILENT]"))
    run(chats, work(1))
    answers = results(model.bodies[2])
    assert ["EPERM" in answer for answer in answers] == [False, *[True] * len(others)]
    psst = [each["chat_id"] for each in chats.bot.messages if each["text"] == "psst"]
    assert psst == [77]
    assert {each["chat_id"] for each in chats.bot.messages} == {OWNER, 77}


def test_the_policy_decides_where_it_may_be_said(chats: Chats, model: ScriptedModel) -> None:
    versions = open_versions(chats.runtime.app.kv, "main", chats.runtime.app.clock.now)
    text = FIRST_TEXT.replace("rules = [", 'rules = ["deny own-work say *"')
    write_policy(versions, text, by="test")
    model.then(call(("cap_tell", {"text": "psst"})), say("[SILENT]"), say("[SILENT]"))
    run(chats, work(1))
    assert "psst" not in "".join(chats.list_texts())
    assert "EPERM" in results(model.bodies[1])[0]


def test_quiet_hours_hold_back_what_is_told(chats: Chats, model: ScriptedModel) -> None:
    now = chats.runtime.app.clock.now()
    begin, end = (f"{to_local(now + hours * 3_600, 'UTC'):%H:%M}" for hours in (-2, 2))
    chats.write(1, f"/quiet {begin}-{end}")
    chats.work_off()
    before = chats.list_texts()
    model.then(call(("cap_tell", {"text": "I have begun."})), SLEEP)
    run(chats, work(1))
    assert chats.list_texts() == before
    assert chats.document().held == ("I have begun.",)


@pytest.mark.parametrize(("most", "requests"), [(1, 1), (3, 3), (8, 7)])
def test_a_run_that_always_wants_more_ends_at_its_limit_and_its_trace_says_why(
    chats: Chats, model: ScriptedModel, most: int, requests: int
) -> None:
    write(chats, "on_wakeup", f"+++\nlimits = {{ requests = {most} }}\n+++\nLook.")
    searching = call(("sigil_query", {"query": "anything"}))
    model.then(*[searching] * (requests - 1), say("so far so good"))
    run(chats, work(1))
    assert len(model.bodies) == requests
    assert model.bodies[-1]["tool_choice"] == "none"
    assert "all steps" in model.bodies[-1]["messages"][-1]["content"]
    assert {"kind": "limit", "limit": "requests", "end": "sleep"} in steps(chats)
    assert chats.list_texts() == ["so far so good"]


def test_a_run_that_takes_too_long_is_stopped_and_says_so(
    open_chats: Callable[..., Chats], model: ScriptedModel
) -> None:
    chats = open_chats(turn_seconds=1e-6)
    run(chats, work(1))
    assert model.bodies == []
    assert {"kind": "limit", "limit": "seconds", "end": "safe_stop", "most": 1e-6} in steps(chats)
    found = load_run(chats.runtime.stores.kv, "main", "wakeup:1")
    assert found
    assert (found.outcome, found.why) == ("stopped", "seconds")
    assert len(chats.list_texts()) == 1


def test_a_failure_is_not_tried_again_inside_a_behaviour(
    chats: Chats, model: ScriptedModel
) -> None:
    model.then(Answer(401))
    run(chats, work(1))
    assert len(model.bodies) == 1
    assert steps(chats)[-1]["finish"] == "error"


def test_what_cannot_be_pinned_is_left_out_and_said_in_the_trace(
    chats: Chats, model: ScriptedModel
) -> None:
    deploy(chats, "double")
    deploy(chats, "triple")
    chats.runtime.app.registry.yank("triple@1", Caller("main", owner=True))  # type: ignore[attr-defined]
    pins = ["double", "nothing-such", "sleep", "triple"]
    write(chats, "on_wakeup", f"+++\npins = {pins}\n+++\nCount.")
    model.then(say("[SILENT]"))
    run(chats, work(1))
    assert tools_of(model.bodies[0])[2:] == ["cap_double", "cap_sleep"]
    assert steps(chats)[0]["left_out"] == ["nothing-such", "triple"]


def test_a_pinned_bundle_brings_its_members_and_a_pinned_member_comes_alone(
    open_chats: Callable[..., Chats], model: ScriptedModel
) -> None:
    chats = open_chats(library="builtin")
    write(chats, "whole", '+++\npins = ["schedule"]\n+++\nLook.')
    write(chats, "part", '+++\npins = ["list-wakeups"]\n+++\nLook.')
    model.then(say("[SILENT]"), say("[SILENT]"))
    run(chats, work(1, data={"behaviour": "part"}))
    run(chats, work(2, data={"behaviour": "whole"}, session="own:other"))
    part, whole = (tools_of(body)[2:] for body in model.bodies)
    assert part == ["cap_list_wakeups"]
    assert sorted(whole) == ["cap_cancel_wakeup", "cap_list_wakeups", "cap_schedule_wakeup"]


def test_the_offline_model_does_what_a_run_is_about(open_chats: Callable[..., Chats]) -> None:
    chats = open_chats(llm_url="", library="builtin")
    run(chats, work(1, text="tell me the result of 6*7"))  # which does not mean the tool `tell`
    run(chats, work(2, text="calculate 6*7"))
    told, said = chats.list_texts()
    assert "42" in said
    assert told == said


@pytest.mark.parametrize(
    "text", ["look at the news", "remind me tomorrow at nine to call Bob", "thanks"]
)
def test_what_the_offline_model_cannot_do_at_its_time_is_said_as_it_stands(
    open_chats: Callable[..., Chats], text: str
) -> None:
    chats = open_chats(llm_url="", library="builtin")
    run(chats, work(1, text=text))
    (said,) = chats.list_texts()
    assert said.startswith(text)
    assert not [*chats.runtime.app.schedules.scan()]


def test_a_schedule_runs_its_behaviour_with_its_model_and_counts_the_whole_chain(
    chats: Chats, model: ScriptedModel
) -> None:
    write(chats, "rates", '+++\nmodel = "small"\n+++\nLook at the rates.')
    write(chats, "later", '+++\nmodel = "other"\n+++\nSay it.')
    app = chats.runtime.app
    now = app.clock.now()

    def wake(text: str, **fields: Any) -> Schedule:
        when = When(kind="at", at=now + 60, zone="UTC")
        wanted = Schedule(id="", when=when, session=BY, by=BY, since=now, text=text, **fields)
        made, _ = app.schedules.add(wanted)
        run(chats, make_event(made, "main", "1", now))
        found = app.schedules.find(made.id)
        assert found
        return found

    model.then(hop("later"), say("The euro fell."))
    ran = wake("rates", behaviour="rates")
    assert [body["model"] for body in model.bodies] == ["small", "other"]
    assert "Look at the rates." in model.bodies[0]["messages"][1]["content"]
    assert ran.last
    assert ran.last.outcome == "said"
    assert ran.last.event == f"wakeup:main:{ran.id}:1"
    assert ran.last.tokens > 0
    spent = ran.last.tokens
    model.then(say("[SILENT]"))
    ran = wake("rates again", behaviour="rates", model="chosen")
    assert model.bodies[-1]["model"] == "chosen"
    assert ran.last
    assert 0 < ran.last.tokens < spent


def test_a_run_tells_programs_its_result(chats: Chats, model: ScriptedModel) -> None:
    def result(event: str) -> Any:
        found = load_run(chats.runtime.stores.kv, "main", event)
        assert found
        return describe(found)["result"]

    model.then(call(("cap_tell", {"text": ""}), ("cap_next_behavior", {"name": "on_wakeup"})))
    model.then(SLEEP, Answer(401))
    run(chats, work(1))
    run(chats, work(2))
    first = result("wakeup:1")
    assert first["result"] == "OK"
    calls = [(each["name"], each["error"]) for each in first["actions"]]
    assert calls == [("cap_tell", "EINVAL"), ("cap_next_behavior", "")]
    usage = first["token_usage"]
    assert usage["total"] == usage["prompt"] + usage["completion"] > 0
    assert (first["next_behavior"], first["is_sleep"]) == ("on_wakeup", False)
    assert (first["track"]["model"], first["track"]["errors"]) == ("qwen-plus", ["EINVAL"])
    assert first["output"] == {"outcome": "silent", "files": 0}
    failed = result("wakeup:2")
    assert failed["result"] == {"Error": "key"}
    assert (failed["next_behavior"], failed["is_sleep"]) == (None, False)


def test_a_behaviour_that_is_gone_is_replaced_by_on_wakeup(
    chats: Chats, model: ScriptedModel
) -> None:
    model.then(say("[SILENT]"))
    run(chats, work(1, data={"home": BY, "behaviour": "gone"}))
    assert BUILT_IN["on_wakeup"] in model.bodies[0]["messages"][1]["content"]
    assert steps(chats)[0]["missing"] == "gone"


@pytest.mark.parametrize("name", BUILT_IN)
def test_each_built_in_behaviour_can_be_invoked(
    chats: Chats, model: ScriptedModel, name: str
) -> None:
    model.then(say("[SILENT]"))
    run(chats, work(1, data={"behaviour": name}))
    assert BUILT_IN[name] in model.bodies[0]["messages"][1]["content"]


def test_a_chat_reads_on_msg_only_once_somebody_has_written_it(
    chats: Chats, model: ScriptedModel
) -> None:
    model.then(say("one"), say("two"), say("three"))
    chats.write(1, "hello")
    chats.work_off()
    write(chats, "on_msg", "Answer in rhymes.")
    chats.write(2, "hello again")
    chats.work_off()
    write(chats, "on_msg", "")
    chats.write(3, "and again")
    chats.work_off()
    plain, rhymed, last = (body["messages"][0]["content"] for body in model.bodies)
    segment = "<<BEHAVIOUR>>\n## Behaviour\n\nAnswer in rhymes.\n<</BEHAVIOUR>>"
    assert "BEHAVIOUR" not in plain
    assert segment in rhymed
    assert rhymed.replace(f"{segment}\n", "").replace(f"\n{segment}", "") == plain
    assert last == plain


def test_on_compact_memory_steers_what_memory_keeps_once_somebody_has_written_it(
    chats: Chats, model: ScriptedModel
) -> None:
    def remember() -> str:
        """Return the instructions for one consolidation."""
        number = len(model.bodies)
        chats.write(number, "we fly to Rome")
        chats.write(number + 1_000, "/mem")
        chats.work_off()
        return str(model.bodies[-1]["messages"][0]["content"])

    plain = remember()
    assert plain == PROMPT
    write(chats, "on_compact_memory", "Keep every flight.")
    assert remember() == (
        f"{PROMPT}\n{OWNERS_WISHES}\n<<BEHAVIOUR>>\nKeep every flight.\n<</BEHAVIOUR>>"
    )


def test_on_compact_memory_begins_with_the_list_of_tasks(
    open_chats: Callable[..., Chats], model: ScriptedModel
) -> None:
    chats = open_chats(library="builtin")
    app = chats.runtime.app
    now = app.clock.now()
    when = When(kind="every", every=3600.0, zone="UTC")
    wanted = Schedule(
        id="", when=when, session=BY, by=BY, since=now, text="go", behaviour="on_compact_memory"
    )
    made, _ = app.schedules.add(wanted)
    model.then(SLEEP)
    run(chats, make_event(made, "main", "now-1", now))
    assert "(cap_list_tasks)" in str(model.bodies[0]["messages"])
    assert "cap_list_tasks" in tools_of(model.bodies[0])


def test_only_what_can_be_read_is_written(chats: Chats) -> None:
    with pytest.raises(UsageError, match="no end"):
        write(chats, "on_wakeup", "+++\nnext = 'x'")
    for name in ("On_wakeup", "../x", "a#b", "x" * 41, ""):
        with pytest.raises(UsageError, match="no document"):
            write(chats, name, "text")
    with pytest.raises(UsageError, match="characters"):
        write(chats, "long", "x" * 8_001)


def test_a_run_between_the_legs_of_another_takes_nothing_from_it(
    chats: Chats, model: ScriptedModel
) -> None:
    write(chats, "rates", "Look at the rates.")
    deploy(chats, "double")
    write(chats, "later", '+++\npins = ["double"]\n+++\nSay it.')
    app = chats.runtime.app
    now = app.clock.now()
    when = When(kind="every", every=3600.0, zone="UTC")
    wanted = Schedule(id="", when=when, session=BY, by=BY, since=now, text="go", behaviour="rates")
    made, _ = app.schedules.add(wanted)
    events = [make_event(made, "main", f"now-{each}", now - 3 + each) for each in (1, 2)]
    note = " ".join(["1.0873"] * 900)
    steps = (call(("sigil_query", {"query": note[:200]}), text=note), hop("later"))
    model.then(*steps, say("[SILENT]"), say("The euro fell."))
    run(chats, *events)
    between, last = ([each["content"] for each in body["messages"]] for body in model.bodies[2:])
    assert "Look at the rates." in between[-2]
    assert "Say it." in last[-2]
    assert note in last
    runs = {each.event[-1]: each for each in app.schedules.list_runs(made.id)}
    assert (runs["1"].outcome, runs["2"].outcome) == ("said", "silent")
    assert runs["1"].tokens > runs["2"].tokens > 0
    model.then(say("[SILENT]"))  # what comes after the run begins light again
    run(chats, make_event(made, "main", "now-3", now))
    assert note not in [each["content"] for each in model.bodies[-1]["messages"]]


def test_what_compaction_evicts_of_a_bundle_and_of_pins_comes_back(
    open_chats: Callable[..., Chats], model: ScriptedModel
) -> None:
    chats = open_chats(library="builtin", llm_window=16_000)
    members = ["cap_cancel_wakeup", "cap_list_wakeups", "cap_schedule_wakeup"]
    search = call(("sigil_query", {"query": "remind me"}))
    model.aside = say("nothing")

    def tell(number: int, text: str) -> list[str]:
        chats.write(number, text)
        chats.work_off()
        asked = [body for body in model.bodies if b"sigil_query" in orjson.dumps(body.get("tools"))]
        return [each for each in tools_of(asked[-1]) if each in members]

    model.then(search, say("When?"))
    assert sorted(tell(1, "remind me of something")) == members
    for number in range(2, 10):
        model.then(say("I see."))
        there = tell(number, "tea " * 1_500)
    assert there == []
    model.then(search, say("When?"))
    assert sorted(tell(10, "remind me of something")) == members

    write(chats, "on_wakeup", '+++\npins = ["schedule"]\n+++\nLook.')
    for number in (1, 2, 3):
        model.then(say("coffee " * 2_000))
        run(chats, work(number))
        assert sorted(set(tools_of(model.bodies[-1])) & set(members)) == members
    briefed = [each for each in own(chats).messages if each.loads]
    assert len(briefed) < 3
