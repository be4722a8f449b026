"""Subagents: the model makes one for a task, and it ends with a report in the chat that asked."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import orjson
import pytest

from functions import worker
from functions.agent.agents.lifecycle import stop_agent
from functions.agent.agents.record import AgentRecord, add_agent, read_agent
from functions.agent.memory.documents import Documents
from functions.agent.policy.document import NAME as POLICY
from functions.agent.policy.document import open_versions
from functions.agent.runs.run import scan_runs
from functions.events import Event, Sender
from functions.time.clock import Clock
from functions.wiring import AgentRuntime
from sigil.protocol import Caller, Json
from sigil.registry import LocalRegistry
from sigil.storage.kv import keys
from tests.fakes.bot_api import BotApi
from tests.fakes.mcp import FakeMcp
from tests.fakes.model import ScriptedModel, call, offered, results, say
from tests.fakes.server import Answer
from tests.functions.agent.agents.test_agents import list_reasons, list_texts, message
from tests.functions.model_steps import find
from tests.functions.people import GUEST, platform
from tests.machine import within
from tests.sigil.tool_importer import ToolImporter

FOUND = call(("sigil_query", {"query": "create a subagent for translations"}))
ASKED: dict[str, Any] = {
    "name": "legal",
    "role": "reads contracts",
    "task": "list the terms",
    "bundle": ["write-file", "read-file"],
    "max_steps": 4,
    "max_tokens": 100_000,
    "max_walltime": 600,
    "fs_scope": "drafts/",
}


@pytest.fixture
def home(runtime: Callable[..., AgentRuntime], bot: BotApi, model: ScriptedModel) -> AgentRuntime:
    return runtime(llm_url=model.url, library="builtin", **platform(bot))


def settle(home: AgentRuntime, *events: Event) -> None:
    """Put the events and work until nothing waits."""
    for each in events:
        home.queue.put(each)
    queues = [queue for queue in (home.control, home.queue, home.work) if queue]
    busy = True
    while busy:
        busy = False
        for queue in queues:
            while delivery := queue.take(0.0):
                busy = True
                worker.process(delivery, replace(home, queue=queue))


def create(**changed: Any) -> dict[str, Any]:
    arguments = {name: value for name, value in {**ASKED, **changed}.items() if value is not None}
    return call(("cap_create_subagent", arguments))


def read_result(model: ScriptedModel, number: int) -> dict[str, Any]:
    """Return the last result that the request of this number has of a call."""
    return parse(results(model.bodies[number])[-1])


def parse(result: str) -> dict[str, Any]:
    """Return a result, without what stands below that of a call that failed."""
    found: dict[str, Any] = orjson.loads(result.split("\n", 1)[0])
    return found


def test_a_subagent_does_its_task_with_its_bundle_and_its_report_arrives_by_itself(
    home: AgentRuntime, bot: BotApi, model: ScriptedModel
) -> None:
    write = ("cap_write_file", {"path": "drafts/terms.md", "content": "Net 30."})
    model.then(FOUND, create(), say("it is on its way"))
    model.then(call(write), say("The terms are in drafts/terms.md."))
    settle(home, message("let a specialist read the contract"))
    made = read_result(model, 2)["ok"]
    assert (made["did"], made["state"]) == ("did:uncaged:main.legal", "working")
    assert made["bundle"] == ["write-file", "read-file"]
    briefed = str(model.bodies[3])
    assert "You are legal, a subagent of main." in briefed
    assert "list the terms" in briefed
    own = {"cap_write_file", "cap_read_file"}
    for body in model.bodies[3:5]:
        assert set(offered(body)) == {*own, "sigil_query", "sigil_deploy"}
    texts = list_texts(bot)
    assert texts[0].startswith("it is on its way")
    assert texts[-1] == "legal reports:\nThe terms are in drafts/terms.md."
    # it is what its parent's files have, and the next turn of the chat knows of it
    files = home.app.open_workspace("main")
    assert files.read("drafts/terms.md").require_text() == "Net 30."
    record = read_agent(home.stores.kv, "main", "legal")
    assert (record.state, record.working, record.parent) == ("archived", False, "")
    model.then(say("yes"))
    settle(home, message("is it done?"))
    assert "The terms are in drafts/terms.md." in str(model.bodies[-1])


@pytest.mark.parametrize(
    "missing", ["max_steps", "max_tokens", "max_walltime", "fs_scope", "bundle"]
)
def test_a_subagent_without_one_of_its_limits_is_not_made(
    home: AgentRuntime, model: ScriptedModel, missing: str
) -> None:
    model.then(FOUND, create(**{missing: None}), say("no"))
    settle(home, message("delegate it"))
    assert missing in str(read_result(model, 2)["error"])
    assert home.stores.kv.get(keys.agent_record("main", "legal")) is None


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"bundle": ["nothing-such"]}, "ENOENT"),
        ({"bundle": []}, "bundle"),
        ({"fs_scope": "../x"}, "EINVAL"),
        ({"fs_scope": "a/%2e%2e/b"}, "EINVAL"),
        ({"fs_scope": "received/"}, "EINVAL"),
        ({"fs_scope": "/"}, "EINVAL"),
        ({"fs_scope": "."}, "EINVAL"),
        ({"fs_scope": "/etc/"}, "EINVAL"),
        ({"fs_scope": "drafts//x"}, "EINVAL"),
        ({"fs_scope": "drafts/../.."}, "EINVAL"),
        ({"fs_scope": "drafts\\..\\x"}, "EINVAL"),
        ({"fs_scope": "drafts/\u2024\u2024/"}, "EINVAL"),
        ({"fs_scope": "ＲＥＣＥＩＶＥＤ/"}, "EINVAL"),
        ({"fs_scope": " "}, "fs_scope is missing"),
        ({"name": "main"}, "EINVAL"),
        ({"name": "a.b"}, "EINVAL"),
        ({"max_steps": 0}, "max_steps"),
    ],
)
def test_what_can_be_no_subagent_is_refused(
    home: AgentRuntime, model: ScriptedModel, changed: dict[str, Any], why: str
) -> None:
    model.then(FOUND, create(**changed), say("no"))
    settle(home, message("delegate it"))
    assert why in str(read_result(model, 2)["error"])
    assert not home.stores.kv.scan(keys.agent_record("main", "").partition)


def test_a_call_outside_of_the_bundle_is_neither_found_nor_run(
    home: AgentRuntime, bot: BotApi, model: ScriptedModel
) -> None:
    model.then(FOUND, create(max_steps=9), say("made"))
    model.then(
        call(("sigil_query", {"query": "roll dice, random numbers"})),
        call(("cap_calculate", {"expression": "6*7"})),
        call(("cap_create_subagent", {**ASKED, "name": "deeper"})),
        call(
            ("sigil_deploy", {"name": "x", "description": "x", "execute": "return 1", "schema": {}})
        ),
        say("nothing worked"),
        say("nothing worked"),
    )
    settle(home, message("delegate it"))
    child = model.bodies[3:]
    assert "random-values" not in str(results(child[1]))
    for number in (2, 3, 4):
        found = results(child[number])[-1]
        assert '"error"' in found, found
    assert all("cap_calculate" not in offered(body) for body in child)
    assert home.stores.kv.get(keys.agent_record("main", "deeper")) is None
    assert not home.stores.kv.scan(keys.capability("main", "").partition)


def test_a_child_makes_no_child_and_guests_make_none(
    home: AgentRuntime, bot: BotApi, model: ScriptedModel
) -> None:
    kv = home.stores.kv
    add_agent(kv, "main", "alice", AgentRecord("agent", "enabled", 1.0, "terminal:local"))
    settle(home, message("/agent alice"))
    model.then(FOUND, create(), say("no"))
    settle(home, message("delegate it"))
    assert "makes and stops no other agents" in str(read_result(model, 2)["error"])
    assert kv.get(keys.agent_record("main", "legal")) is None


def test_guests_have_no_subagents_by_the_policy_that_ships(
    runtime: Callable[..., AgentRuntime], bot: BotApi, model: ScriptedModel
) -> None:
    home = runtime(llm_url=model.url, library="builtin", **{**platform(bot), "access": "open"})
    model.then(FOUND, create(), say("no"))
    settle(home, message("delegate it", GUEST))
    error = read_result(model, 2)["error"]
    assert (error["code"], "subagent legal" in error["message"]) == ("EPERM", True)


STEPS = [
    call(("cap_read_file", {"path": f"drafts/{n}.md"}), text=f"looking at {n}") for n in range(9)
]


def test_the_last_request_of_a_subagent_asks_for_its_report(
    home: AgentRuntime, bot: BotApi, model: ScriptedModel
) -> None:
    model.then(FOUND, create(max_steps=3), say("made"))
    model.then(call(("sigil_query", {"query": "read a file"})), STEPS[0], say("I read one of nine"))
    settle(home, message("delegate it"))
    assert len(model.bodies) == 6
    assert model.bodies[-1]["tool_choice"] == "none"
    assert list_texts(bot)[-1] == (
        "legal is stuck: it reached max_steps (3). What it said last:\nI read one of nine"
    )


def test_a_task_goes_on_for_more_than_one_turn_and_its_limits_hold_for_all_of_them(
    home: AgentRuntime, bot: BotApi, model: ScriptedModel
) -> None:
    model.then(FOUND, create(max_steps=9), say("made"))
    writes = [("cap_write_file", {"path": f"drafts/{n}.md", "content": "x"}) for n in range(7)]
    model.then(call(("sigil_query", {"query": "write a file"})))
    model.then(*map(call, writes), say("seven of nine"))
    settle(home, message("delegate it"))
    assert len(model.bodies) == 12
    assert model.bodies[-1]["tool_choice"] == "none"
    said = [text for text in list_texts(bot) if "legal" in text]
    assert said == ["legal is stuck: it reached max_steps (9). What it said last:\nseven of nine"]
    assert read_agent(home.stores.kv, "main", "legal").state == "archived"


def test_tokens_and_time_end_a_task_with_what_was_said_last(
    home: AgentRuntime, bot: BotApi, model: ScriptedModel
) -> None:
    usage = {"usage": {"prompt_tokens": 900, "completion_tokens": 100}}
    model.then(FOUND, create(max_tokens=1_500, max_steps=50), say("made"))
    model.then(
        {**call(("sigil_query", {"query": "read a file"})), **usage},
        {**STEPS[1], **usage},
    )
    settle(home, message("delegate it"))
    assert len(model.bodies) == 5
    assert "max_tokens (1,500)" in list_texts(bot)[-1]
    assert list_texts(bot)[-1].endswith("looking at 1")

    late: list[float] = []

    def wait(body: dict[str, Any]) -> dict[str, Any]:
        late.append(700.0)
        return STEPS[2]

    clock = Clock(now=lambda: time.time() + sum(late))
    aged = replace(home, app=replace(home.app, clock=clock))
    model.then(FOUND, create(name="slow"), say("made"))
    model.then(wait, say("x"))
    settle(aged, message("delegate it again"))
    assert "slow is stuck: it reached max_walltime (600)" in list_texts(bot)[-1]
    assert list_reasons(home) == []


def test_a_model_that_hangs_until_a_task_is_out_of_time_is_told_as_that_limit(
    home: AgentRuntime, bot: BotApi, model: ScriptedModel
) -> None:
    passed: list[float] = []

    def hang(body: dict[str, Any]) -> Answer:
        passed.append(200.0)
        return Answer(503, b"", {"retry-after": "0"})

    clock = Clock(lambda: time.time() + sum(passed), lambda: time.monotonic() + sum(passed))
    aged = replace(home, app=replace(home.app, clock=clock))
    model.then(FOUND, create(max_steps=9), say("made"), STEPS[0], hang, hang, hang, say("late"))
    settle(aged, message("delegate it"))
    assert list_texts(bot)[-1] == (
        "legal is stuck: it reached max_walltime (600). What it said last:\nlooking at 0"
    )
    run = next(scan_runs(home.stores.kv, "main.legal"))
    step = run.steps[-1]
    assert (step["limit"], step["end"]) == ("max_walltime", "safe_stop")
    assert (run.outcome, run.why) == ("stopped", "max_walltime")


def test_a_turn_makes_eight_subagents_and_a_name_is_taken_while_it_works(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    kv = home.stores.kv
    many = [("cap_create_subagent", {**ASKED, "name": f"a{n}"}) for n in range(9)]
    model.then(
        FOUND, call(*many), call(("cap_create_subagent", {**ASKED, "name": "a1"})), say("ok")
    )
    home.queue.put(message("delegate all"))
    delivery = home.queue.take(0.0)
    assert delivery
    worker.process(delivery, home)
    told = [parse(each) for each in results(model.bodies[2])[-9:]]
    assert sorted("ok" in each for each in told) == [False] + [True] * 8
    refused = next(each["error"] for each in told if "error" in each)
    assert "at most 8 agents" in refused["message"]
    assert len(kv.scan(keys.agent_record("main", "").partition)) == 8


def test_stopping_a_subagent_ends_it_inside_a_turn(
    home: AgentRuntime, bot: BotApi, model: ScriptedModel
) -> None:
    kv = home.stores.kv

    def stop(body: dict[str, Any]) -> dict[str, Any]:
        settle_command(home, "/agents stop legal")
        return STEPS[0]

    model.then(FOUND, create(max_steps=9), say("made"), stop, say("never asked"))
    settle(home, message("delegate it"))
    assert len(model.bodies) == 4
    assert read_agent(kv, "main", "legal").state == "archived"
    assert list_texts(bot)[-1].startswith("legal reports:\n")


def settle_command(home: AgentRuntime, text: str) -> None:
    home.queue.put(message(text))
    delivery = home.queue.take(0.0)
    assert delivery
    worker.process(delivery, home)


def test_a_kept_subagent_takes_another_task_in_a_history_of_its_own(
    home: AgentRuntime, bot: BotApi, model: ScriptedModel
) -> None:
    kv = home.stores.kv
    model.then(FOUND, create(keep=True), say("made"), say("the first report"))
    settle(home, message("delegate it"))
    first = read_agent(kv, "main", "legal")
    assert (first.state, first.working) == ("enabled", False)
    model.then(create(keep=True, task="and now the rest"), say("made"), say("the second report"))
    settle(home, message("again"))
    again = read_agent(kv, "main", "legal")
    assert again.generation > first.generation
    assert "the first report" not in str(model.bodies[-1])
    assert list_texts(bot)[-1] == "legal reports:\nthe second report"
    model.then(call(("cap_list_agents", {})), say("one"))
    settle(home, message("which agents are there?"))
    (row,) = parse(results(model.bodies[-1])[-1])["ok"]["items"]
    assert row == {"name": "legal", "kind": "subagent", "state": "idle", "role": "reads contracts"}


@pytest.mark.parametrize(
    "path",
    [
        "secret.md", "../secret.md", "drafts/../secret.md", "drafts/%2e%2e/secret.md", "/secret.md",
        "drafts\\..\\secret.md", "drafts", "draftsX/a.md", "drafts/./../secret.md", "received/a.md",
        "cafe\u0301/a.md", "drafts/\u2024\u2024/secret.md", "ｄｒａｆｔｓ/../secret.md",
    ],
)  # fmt: skip
def test_a_subagent_reads_nothing_beside_its_files(
    home: AgentRuntime, model: ScriptedModel, path: str
) -> None:
    from functions.agent.workspace.files import Writer

    home.app.open_workspace("main").write("secret.md", b"hush", Writer("terminal:local", "", ""))
    model.then(FOUND, create(max_steps=9), say("made"))
    model.then(call(("sigil_query", {"query": "read a file"})))
    model.then(call(("cap_read_file", {"path": path})), say("no"), say("no"))
    settle(home, message("delegate it"))
    assert '"error"' in results(model.bodies[5])[-1]
    assert "hush" not in str(model.bodies[3:])


def test_a_subagent_changes_and_lists_nothing_beside_its_files(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    from functions.agent.workspace.files import Writer

    files = home.app.open_workspace("main")
    beside = ("secret.md", "draftsman/a.md", "drafts.md", "my/drafts/a.md")
    for path in (*beside, "drafts/own.md", "drafts/as well.md"):
        files.write(path, b"hush", Writer("terminal:local", "", ""))
    model.then(FOUND, create(bundle=["files"], max_steps=9), say("made"))
    model.then(call(("sigil_query", {"query": "read, write, edit, list and compare files"})))
    change = {"old_text": "hush", "new_text": "loud"}
    calls = [
        each
        for path in beside
        for each in (
            ("cap_write_file", {"path": path, "content": "loud"}),
            ("cap_edit_file", {"path": path, **change}),
            ("cap_diff_file", {"path": path}),
        )
    ]
    lists = [("cap_list_files", {"prefix": prefix}) for prefix in ("", "my/", "drafts", "../")]
    model.then(call(*calls), call(*lists), say("no"))
    settle(home, message("delegate it"))
    found = [results(body) for body in model.bodies[4:]]
    assert ["is not below drafts/" in each for each in found[1][-12:]] == [True] * 12
    listed = [parse(each) for each in found[2][-4:]]
    own = ["drafts/as well.md", "drafts/own.md"]
    paths = [[row["path"] for row in each["ok"]["items"]] for each in listed]
    assert paths == [own, [], own, []]
    assert "hush" not in str(found)
    assert all(files.read(path).require_text() == "hush" for path in beside)


def test_a_subagent_deploys_no_way_out_of_its_bundle(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    code = "return await env.call('calculate', {expression: '6*7'})"
    way_out = {
        "name": "way-out",
        "description": "Computes an expression.",
        "execute": code,
        "schema": {"type": "object"},
        "permissions": {"call": ["calculate"]},
    }
    model.then(FOUND, create(bundle=["sigil_deploy", "read-file"], max_steps=9), say("made"))
    model.then(call(("sigil_deploy", way_out)), call(("cap_way_out", {})), say("no"), say("no"))
    settle(home, message("delegate it"))
    told = [parse(each) for each in results(model.bodies[5])[-2:]]
    assert ["error" in each for each in told] == [True, True], told
    assert "outside the scopes" in told[0]["error"]["message"]
    assert "cap_way_out" not in offered(model.bodies[-1])


@pytest.mark.parametrize(
    ("rule", "bundle", "act"),
    [
        ("deny owner call calculate", ["calculate"], "call calculate"),
        ("deny owner call calculate", ["read-file", "library/calculate"], "call calculate"),
        ("deny owner call read-file", ["files"], "call read-file"),
    ],
)
def test_nobody_hands_on_what_the_policy_does_not_let_them_do(
    home: AgentRuntime, model: ScriptedModel, rule: str, bundle: list[str], act: str
) -> None:
    text = f"format = 1\npreset = 'standard'\nrules = [{rule!r}]"
    home.app.policy_versions.write("main", POLICY, text, by="terminal:local")
    teammate = {"name": "ann", "role": "coder", "prompt": "Work.", "bundle": bundle}
    model.then(call(("sigil_query", {"query": "create a subagent, spawn a teammate"})))
    model.then(call(("sigil_query", {"query": "spawn a teammate"})))
    model.then(call(("cap_spawn_teammate", teammate)), create(bundle=bundle), say("no"))
    settle(home, message("delegate it"))
    for refused in results(model.bodies[4])[-2:]:
        error = parse(refused)["error"]
        assert (error["code"], act in error["message"]) == ("EPERM", True), error
    assert not home.stores.kv.scan(keys.agent_record("main", "").partition)


def test_a_subagent_pays_nobody_whatever_the_policy_says(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    app = home.app
    allowed = 'format = 1\nrules = ["allow everybody spend acme"]\n[spending]\npayment = 5\nday = 5\ntask = 5\n'
    app.policy_versions.write("main", POLICY, allowed, by="terminal:local")
    child = replace(app, name="main.legal", record=AgentRecord("subagent", "enabled", 1.0, "x"))
    gate = child.make_gate(child.load_policies(), "owner", private=True)
    assert (
        app.make_gate(app.load_policies(), "owner", private=True).decide("spend", "acme").effect
        == "allow"
    )
    decision = gate.decide("spend", "acme")
    assert (decision.effect, decision.rule) == ("deny", "a subagent has no wallet")


def test_a_caller_of_a_subagent_reaches_its_bundle_alone(home: AgentRuntime) -> None:
    record = AgentRecord("subagent", "enabled", 1.0, "x", bundle=("library/read-file",))
    child = replace(home.app, name="main.legal", record=record)
    caller = child.make_caller("own:t-1")
    assert caller == Caller(
        "main", "own:t-1#main.legal", author="model", only=("library/read-file",)
    )
    found = home.app.registry.query("calculate a number", caller, limit=5).hits
    assert [hit.offer.name for hit in found] in ([], ["read-file"])


def test_nothing_outside_can_name_a_sender_of_a_subagent(home: AgentRuntime) -> None:
    forged = replace(
        message("do it"), agent="main.ghost", kind="task", session="own:t-1", sender=Sender("x:1")
    )
    settle(home, forged)
    assert list_reasons(home) == ["there is no agent 'main.ghost' here"]


def test_owners_alone_see_and_change_agents_in_a_chat(
    runtime: Callable[..., AgentRuntime], bot: BotApi, model: ScriptedModel
) -> None:
    home = runtime(llm_url=model.url, **{**platform(bot), "access": "open"})
    kv = home.stores.kv
    add_agent(kv, "main", "alice", AgentRecord("agent", "enabled", 1.0, "terminal:local"))
    home.app.people.let_in("telegram:7", "member", "Ann", "terminal:local")
    states = []
    for step in ("", "disable", "enable", "stop", "enable", "archive", "enable"):
        before = read_agent(kv, "main", "alice").state
        for other in (7, GUEST):
            settle(home, message(f"/agents {step} alice" if step else "/agents", other))
            assert list_texts(bot, other)[-1] == "Only my owner can do that."
            assert read_agent(kv, "main", "alice").state == before
        settle(home, message(f"/agents {step} alice" if step else "/agents"))
        states.append(read_agent(kv, "main", "alice").state)
    assert states == [
        "enabled", "disabled", "enabled", "disabled", "enabled", "archived", "archived",
    ]  # fmt: skip
    told = list_texts(bot)
    assert told[0].startswith("alice (enabled)")
    assert "archived" in told[-1]
    assert model.bodies == []


def test_an_agent_reads_nothing_that_another_one_keeps_in_the_same_chat(
    runtime: Callable[..., AgentRuntime], home: AgentRuntime, bot: BotApi, model: ScriptedModel
) -> None:
    kv = home.stores.kv
    for name in ("alice", "bob"):
        add_agent(kv, "main", name, AgentRecord("agent", "enabled", 1.0, "terminal:local"))
    documents = Documents(kv, "main.bob", time.time)
    rule = 'format = 1\npreset = "standard"\nrules = ["deny everybody call hush"]\n'
    documents.write(documents.agent, "role", "hush is what you work on", by="terminal:local")
    policies = open_versions(kv, "main.bob", time.time)
    policies.write("main.bob", POLICY, rule, by="terminal:local")
    wanted = (
        "remember",
        "recall",
        "search-history",
        "write a file",
        "kb-ingest",
        "kb-search",
        "read-policy",
    )
    look = call(*[("sigil_query", {"query": each}) for each in wanted])
    source = {"source": "user"}
    keep = call(
        ("cap_remember", {"key": "word", "value": "hush", **source}),
        ("cap_write_file", {"path": "secret.md", "content": "hush"}),
        ("cap_kb_ingest", {"title": "the word", "text": "hush is the word", **source}),
    )
    read = call(
        ("cap_recall", {"query": "word"}),
        ("cap_recall", {"key": "word"}),
        ("cap_search_history", {"query": "the word is"}),
        ("cap_read_file", {"path": "secret.md"}),
        ("cap_list_files", {}),
        ("cap_kb_search", {"query": "which is the word"}),
        ("cap_diff_file", {"path": "secret.md"}),
        ("cap_read_policy", {}),
    )
    for name in ("main", "bob"):
        model.then(look, keep, say("kept"), look, read, say("read"))
        settle(home, message(f"/agent {name}"), message("the word is hush: keep it"))
        # the agent itself finds all of it
        settle(home, message("what is the word?"))
        own = results(model.bodies[-1])[-8:]
        found = ["hush" in each or "secret.md" in each for each in own]
        assert found == [True] * 7 + [name == "bob"], own
    other = runtime(llm_url=model.url, library="builtin", agent="other", **platform(bot))
    for asked, words in ((home, ("/agent alice", "what is the word?")), (other, ("which word?",))):
        model.then(look, read, say("nothing"))
        settle(asked, *map(message, words))
        assert len(results(model.bodies[-1])) == len(wanted) + 8
        assert "hush" not in str(model.bodies[-3:])
        answers = results(model.bodies[-1])[-8:]
        assert "ENOENT" in answers[3]
        assert parse(answers[4])["ok"]["items"] == []


def test_stopping_an_agent_cuts_off_the_call_that_runs(
    runtime: Callable[..., AgentRuntime], bot: BotApi, model: ScriptedModel
) -> None:
    home = runtime(llm_url=model.url, library="builtin", loopback=True, **platform(bot))
    with FakeMcp() as fake:
        server: dict[str, Json] = {"name": "billing", "url": fake.address}
        registry = home.app.registry
        assert isinstance(registry, LocalRegistry)
        ToolImporter(registry).import_tools(server, timeout=30_000)
        stopped = threading.Event()

        def greet(given: dict[str, Any]) -> str:
            stop_agent(home.stores.kv, "main", "legal", time.time())
            assert stopped.wait(within(20)), "the turn waited for the call"
            return "the late answer"

        fake.does["greet"] = greet
        model.then(FOUND, create(bundle=["billing-greet"], max_steps=9), say("made"))
        model.then(find("billing-greet"), call(("cap_billing_greet", {"name": "Ada"})))
        settle(home, message("delegate it"))
        stopped.set()
    assert len(model.bodies) == 5
    assert read_agent(home.stores.kv, "main", "legal").state == "archived"
    assert list_texts(bot)[-1].startswith("legal ")
    assert "late answer" not in str(list_texts(bot))
