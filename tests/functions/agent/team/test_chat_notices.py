"""A chat hears of its team what it wants to: results and questions, all that is written, and how far
the work has come.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from functions.agent.team.chat_notices import read_team_chat
from tests.fakes.model import call, say
from tests.functions.agent.team.crew import HOME, Body, Crew, TeamModel, ask, contents, spawned
from tests.functions.people import GROUP, GUEST, OWNER

RING = ("alice", "bob", "carol")


def pass_on(name: str) -> Callable[[Body], dict[str, Any]]:
    """Play a teammate that passes on what it gets, one hop less, and says that it did."""
    following = RING[(RING.index(name) + 1) % len(RING)]

    def play(body: Body) -> dict[str, Any]:
        last = contents(body)[-1]
        hops = re.search(r'"content":"hop (\d+)"', last)
        if hops and int(hops[1]):
            mail = {"to": following, "content": f"hop {int(hops[1]) - 1}"}
            return call(("cap_send_message", mail))
        return say("[SILENT]" if "hop" not in "".join(contents(body)) else f"{name} passed it on")

    return play


def open_ring(crew: Crew, model: TeamModel) -> None:
    model.plans |= {name: pass_on(name) for name in RING}
    spawned(crew, *RING)


def send_round(crew: Crew) -> list[str]:
    """Let bob hear of alice, and so on, and return what is said in the chat."""
    before = len(crew.chats.list_texts())
    ask(crew, ("cap_send_message", {"to": "alice", "content": "hop 3"}))
    return crew.chats.list_texts()[before:]


def test_what_teammates_answer_each_other_is_not_said_in_the_chat(
    crew: Crew, model: TeamModel
) -> None:
    open_ring(crew, model)
    said = send_round(crew)
    assert said == ["well", "alice: alice passed it on"]
    assert sum("hop 0" in text for body in model.of("alice") for text in contents(body)[-1:]) == 1


def test_a_chat_that_wants_everything_hears_what_teammates_write_and_answer(
    crew: Crew, model: TeamModel
) -> None:
    open_ring(crew, model)
    [said] = crew.write("/team all")
    assert said.startswith("I say here everything")
    heard = send_round(crew)
    assert sorted(heard) == [
        "alice to bob: hop 2",
        "alice: alice passed it on",
        "alice: alice passed it on",
        "bob to carol: hop 1",
        "bob: bob passed it on",
        "carol to alice: hop 0",
        "carol: carol passed it on",
        "well",
    ]
    assert "/team unmute" in crew.write("/team")[0]
    assert crew.write("/team unmute")[0].startswith("I say here what comes of the work")


def test_a_mode_is_that_of_its_chat_and_in_a_group_owners_set_it(
    crew: Crew, model: TeamModel
) -> None:
    spawned(crew, "alice")
    crew.write("/team mute")
    words = "/team@Sigil_Bot all"
    command = {"type": "bot_command", "offset": 0, "length": len("/team@Sigil_Bot")}
    for number, sender in ((91, GUEST), (92, OWNER)):
        crew.chats.write(number, words, sender=sender, chat=GROUP, entities=[command])
        crew.chats.work_off()
    kv = crew.runtime.stores.kv
    assert read_team_chat(kv, "main", HOME).mode == "mute"
    assert read_team_chat(kv, "main", "telegram:-100").mode == "all"
    refused, kept = crew.chats.list_texts()[-2:]
    assert "I say here everything" not in refused
    assert "I say here everything" in kept
