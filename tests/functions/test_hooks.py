"""What becomes of posts to hooks, and how hooks are shown, dropped and given new tokens."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from functions.agent.commands import control
from functions.cli.app import cli
from functions.hooks import NOBODY, Hook, Hooks
from functions.ingress.hook_endpoint import HookEndpoint, HookPost, Proof
from functions.personal_data import PersonalData
from functions.queues.dead_letters import scan_dead_letters
from sigil.errors import Refused, UsageError
from sigil.storage.kv import keys
from tests.fakes.model import ScriptedModel, say
from tests.functions.chats import Chats
from tests.functions.hook_fixture import BY, NOTE, add_hook
from tests.functions.people import GROUP, OWNER


@pytest.fixture
def chats(open_chats: Callable[..., Chats]) -> Chats:
    return open_chats(access="members")


def post(chats: Chats, hook: Hook, *texts: str) -> None:
    runtime = chats.runtime
    door = HookEndpoint(Hooks(runtime.stores.kv, "main"), runtime.queue.put, runtime.app.clock.now)
    for text in texts:
        door.accept(hook, HookPost(text))


def find(chats: Chats, name: str = "builds") -> Hook:
    found = Hooks(chats.runtime.stores.kv, "main").find(name)
    assert found
    return found


def tell(chats: Chats, text: str, **message: object) -> str:
    chats.write(len(chats.list_texts()) + 1, text, **message)  # type: ignore[arg-type]
    chats.work_off()
    return chats.list_texts()[-1]


def test_what_came_over_one_hook_is_looked_at_together_and_no_other_hooks(
    chats: Chats, model: ScriptedModel
) -> None:
    model.then(say("One to three."), say("[SILENT]"), say("A long one."))
    hook, _ = add_hook(chats.runtime)
    other, _ = add_hook(chats.runtime, "deploys", id="0123456789ac")
    post(chats, hook, "post-one", "post-two", "post-three")
    post(chats, other, "post-other")
    post(chats, hook, "x" * 60_000)
    chats.work_off()
    assert chats.list_texts() == ["One to three.", "A long one."]
    first, second, third = (str(body["messages"]).partition(NOTE)[2] for body in model.bodies)
    assert [f"post-{each}" in first for each in ("one", "two", "three", "other")] == [
        *[True] * 3,
        False,
    ]
    assert "post-other" in second
    assert "of 60,000 characters" in third
    assert (find(chats).runs, find(chats, "deploys").outcome) == (2, "silent")


def test_a_post_for_somebody_who_may_not_talk_any_more_is_kept_and_pauses_its_hook(
    chats: Chats, model: ScriptedModel
) -> None:
    hook, _ = add_hook(chats.runtime, by="telegram:999")
    post(chats, hook, "secret")
    chats.work_off()
    assert find(chats).paused == NOBODY
    assert model.bodies == []
    (letter,) = scan_dead_letters(chats.runtime.stores.kv)
    assert letter.event
    assert letter.event.text == "secret"


def test_what_comes_while_the_agent_is_halted_becomes_a_dead_letter(
    chats: Chats, model: ScriptedModel
) -> None:
    hook, _ = add_hook(chats.runtime)
    control.halt("", chats.runtime.app, BY)
    post(chats, hook, "one", "two")
    chats.work_off()
    letters = scan_dead_letters(chats.runtime.stores.kv)
    kept = [each.event.text for each in letters if each.event and each.event.kind == "mail"]
    assert sorted(kept) == ["one", "two"]
    assert model.bodies == []


def test_wrong_tokens_of_one_subscriber_count_together(
    chats: Chats, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("functions.ingress.hook_endpoint.TRIES", 2)
    door = HookEndpoint(
        Hooks(chats.runtime.stores.kv, "main"), chats.runtime.queue.put, lambda: 1e9
    )
    codes = []
    for number in range(3):
        with pytest.raises(Refused) as refused:
            door.admit("builds", Proof("wrong"), f"2001:db8::{number + 1}")
        codes.append(refused.value.code)
    assert codes == ["EAUTH", "EAUTH", "ERATE"]


def test_an_owner_sees_and_drops_hooks_in_a_private_chat_alone(
    chats: Chats, model: ScriptedModel
) -> None:
    assert "uncaged hook add" in tell(chats, "/hooks")
    model.then(say("A build failed."))
    hook, _ = add_hook(chats.runtime)
    post(chats, hook, "failed")
    chats.work_off()
    shown = tell(chats, "/hooks")
    assert shown.startswith(f"builds · → {BY} · {NOTE}")
    assert "said something" in shown
    assert tell(chats, "/hooks drop nothing").startswith("There is no hook nothing")
    assert tell(chats, "/hooks paint builds") == tell(chats, "/hooks what")
    entity = {"type": "bot_command", "offset": 0, "length": 16}
    shown = tell(chats, "/hooks@sigil_bot", chat=GROUP, entities=[entity])
    assert "private chat only" in shown
    chats.runtime.app.people.let_in("telegram:66", "member", "Bob", BY)
    assert "drop" not in tell(chats, "/hooks drop builds", sender=66)
    assert find(chats)
    assert tell(chats, "/hooks drop builds").startswith("Dropped: builds")
    assert "uncaged hook add" in tell(chats, "/hooks")


@pytest.mark.parametrize("is_dropped", [False, True])
def test_the_hooks_of_a_person_are_exported_and_erased_with_what_they_led_to(
    chats: Chats, model: ScriptedModel, is_dropped: bool
) -> None:
    model.then(say("[SILENT]"))
    kv = chats.runtime.stores.kv
    hook, _ = add_hook(chats.runtime, by=f"telegram:{OWNER}", session="")
    post(chats, hook, "secret-of-ada")
    chats.work_off()
    if is_dropped:
        assert Hooks(kv, "main").drop("builds")
    personal = PersonalData(chats.runtime.app, chats.runtime.stores.artifacts)
    person = personal.find(BY)
    exported = str(personal.export(person))
    assert "secret-of-ada" in exported
    assert hook.id in exported
    personal.erase(person)
    assert not list(Hooks(kv, "main").scan())
    session = keys.session_of("main", hook.own_session)
    assert chats.runtime.app.sessions.open(session).document.messages == ()


def test_names_that_are_taken_or_none_and_too_many_hooks_are_refused(chats: Chats) -> None:
    add_hook(chats.runtime)
    with pytest.raises(Refused, match="already"):
        add_hook(chats.runtime)
    for name in ("", "A", "a_b", "-a", "a\n", "a~b", "x" * 61):
        with pytest.raises(UsageError):
            add_hook(chats.runtime, name)
    with pytest.raises(UsageError, match="4,000"):
        add_hook(chats.runtime, "long", text="x" * 4_001)
    for number in range(63):
        add_hook(chats.runtime, f"a{number}")
    with pytest.raises(Refused, match="64 hooks"):
        add_hook(chats.runtime, "last")


def test_the_command_prints_a_token_once_and_never_again(
    chats: Chats, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("UNCAGED_DATA", str(tmp_path))

    def run(*arguments: str) -> tuple[int, str]:
        done = CliRunner().invoke(cli, ["hook", *arguments])
        return (done.exit_code, done.stdout if done.exception is None else str(done.exception))

    assert run("list", "--json") == (0, "[]\n")
    assert "nobody has written" in run("add", "builds", "--chat", "telegram:4711")[1]
    assert "nobody's id" in run("add", "builds", "--by", "Ada")[1]
    assert "but the page" in run("add", "builds", "--chat", "web:telegram:66:main")[1]
    assert run("list", "--json") == (0, "[]\n")
    token = run("add", "builds", "--chat", "http:admin:main", "--text", NOTE, "--by", BY)[1].strip()
    kv = chats.runtime.stores.kv
    door = HookEndpoint(Hooks(kv, "main"), chats.runtime.queue.put, chats.runtime.app.clock.now)
    assert door.admit("builds", Proof(token), "").by == BY
    (row,) = json.loads(run("list", "--json")[1])
    assert (row["name"], row["agent"], row["text"]) == ("builds", "main", NOTE)
    assert "digest" not in row
    assert token not in run("list")[1]
    fresh = json.loads(run("rotate", "builds", "--json")[1])["token"]
    with pytest.raises(Refused, match="missing or wrong"):
        door.admit("builds", Proof(token), "")
    assert door.admit("builds", Proof(fresh), "").name == "builds"
    assert run("drop", "builds") == (0, "dropped: builds\n")
    with pytest.raises(Refused, match="missing or wrong"):
        door.admit("builds", Proof(fresh), "")
    assert "there is no hook 'builds'" in run("drop", "builds")[1]
    assert "there is no hook 'builds'" in run("rotate", "builds")[1]
