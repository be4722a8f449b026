"""A person is erased while the agent is at work for them: nothing of them comes back."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from hashlib import sha256
from typing import Any

import pytest

from functions.agent.ledger.entry import Entry, hash_name
from functions.agent.management import ledger
from functions.personal_data import PersonalData
from sigil.errors import BackendError
from sigil.storage.kv import keys
from sigil.storage.kv.base import list_partitions
from sigil.storage.kv.update import scan_all
from tests.fakes.model import ScriptedModel, call, say
from tests.functions.people import GROUP, GUEST, OWNER, Live
from tests.machine import until, within

Open = Callable[..., AbstractContextManager[Live]]
S = keys.session_of("main", f"telegram:{GUEST}")


def dump(agent: Live) -> dict[tuple[str, str], bytes]:
    kv = agent.server.runtime.app.kv
    return {
        (partition, sort): item.value
        for partition in list_partitions(kv)
        for sort, item in scan_all(kv, partition)
    }


def erase(agent: Live, seconds: float = 60.0, **hooks: Any) -> bool:
    """Erase the guest; return whether a turn was still running at the end."""
    runtime = agent.server.runtime
    watch = hooks.get("watch", lambda text: None)
    data = PersonalData(runtime.app, runtime.stores.artifacts, watch, patience=within(seconds))
    return data.erase(data.find(f"telegram:{GUEST}")).running


def _list_named(agent: Live) -> set[tuple[str, str]]:
    """Return the keys of the store that name the guest's chat."""
    return {key for key in dump(agent) if f"telegram:{GUEST}" in "".join(key)}


def _find_in_ledger(agent: Live, *names: str) -> list[str]:
    """Return the hashes of these names that the ledger has, by any salt that the store has."""
    app = agent.server.runtime.app
    stored = dump(agent)
    salts = {""}
    for partition, sort in stored:
        if partition.startswith("session#") and sort == "head":
            with suppress(BackendError):
                salts.add(
                    app.sessions.open(partition.removeprefix("session#")).document.ledger.salt
                )
    hashes = [hash_name(name, salt) for name in names for salt in salts]
    hashes += [sha256(name.encode()).hexdigest()[:16] for name in names]
    rows = b"".join(value for key, value in stored.items() if key[0].startswith("ledger#"))
    return [each for each in hashes if each.encode() in rows]


@pytest.mark.parametrize("goes_on", ["with a call", "with an answer"])
def test_a_turn_that_runs_meanwhile_and_messages_behind_it_leave_nothing(
    live: Open, model: ScriptedModel, goes_on: str
) -> None:
    started = threading.Event()
    go = threading.Event()

    def answer(body: dict[str, Any]) -> dict[str, Any]:
        started.set()
        go.wait(within(30))
        if goes_on == "with an answer":
            return say("you said petunia")
        fact = {"subject": "Eve", "predicate": "likes", "object": "petunia", "source": "user"}
        return call(("cap_remember", fact))

    def watch(text: str) -> None:
        if text.startswith("waiting"):
            go.set()

    with live(library="builtin", lease=5.0) as agent:
        model.then(call(("sigil_query", {"query": "remember this"})), answer)
        agent.write("please remember that I like petunia", GUEST)
        assert started.wait(within(30))
        agent.write("and petunia seeds", GUEST)
        assert not erase(agent, watch=watch)
        stored = dump(agent)
        assert not [key for key, value in stored.items() if b"petunia" in value]
        # a worker that looks whether something waits has claimed the session for that moment
        until(lambda: _list_named(agent) == {keys.session_head(S)}, "only the session is named")
        assert not [text for text in agent.list_texts(GUEST) if "petunia" in text]

        model.then(say("hello"))
        assert agent.ask("hi", GUEST, date=int(time.time()) + 1) == "hello"
        assert "petunia" not in str(model.bodies[-1])


def test_in_a_group_only_the_words_of_the_person_go(live: Open, model: ScriptedModel) -> None:
    entity = {"type": "mention", "offset": 0, "length": len("@Sigil_Bot")}
    quoted = {
        "message_id": 5,
        "text": "petunia in the quote",
        "from": {"id": GUEST, "is_bot": False, "first_name": "Eve"},
        "chat": GROUP,
        "date": 1,
    }
    with live() as agent:
        listen = [{"type": "bot_command", "offset": 0, "length": len("/listen@Sigil_Bot")}]
        agent.ask("/listen@Sigil_Bot on", chat=GROUP, entities=listen)
        agent.write("petunia, said to others", GUEST, chat=GROUP)
        agent.ask("@Sigil_Bot what grows here?", chat=GROUP, entities=[entity])
        agent.ask("@Sigil_Bot petunia?", GUEST, chat=GROUP, entities=[entity])
        agent.ask(
            "@Sigil_Bot she means roses", chat=GROUP, entities=[entity], reply_to_message=quoted
        )
        assert str(model.bodies[-1]).count("petunia") == 3
        erase(agent)
        agent.ask("@Sigil_Bot and tulips?", chat=GROUP, entities=[entity])
        assert "petunia" not in str(model.bodies[-1])
        for words in ("what grows here?", "she means roses", "and tulips?"):
            assert words in str(model.bodies[-1])
        assert not [key for key, value in dump(agent).items() if b"petunia" in value]


def test_nobody_can_find_out_by_trying_ids_whom_the_entries_of_the_ledger_named(
    live: Open,
) -> None:
    entity = {"type": "mention", "offset": 0, "length": len("@Sigil_Bot")}
    who = f"telegram:{GUEST}"
    with live() as agent:
        app = agent.server.runtime.app
        agent.ask("hello", GUEST)
        agent.ask("hello")
        agent.ask("@Sigil_Bot hello", GUEST, chat=GROUP, entities=[entity])
        decided = Entry("proposal", {"acts": [f"say {who}", "call pay"]}, names=(who,))
        ledger.add_entries(app, [decided], "terminal:local")
        assert len(_find_in_ledger(agent, who)) == 3

        erase(agent)
        assert _find_in_ledger(agent, who) == []
        agent.ask("@Sigil_Bot hello again", chat=GROUP, entities=[entity])
        checked = ledger.verify(app, "main")
        rows = list(ledger.scan_entries(app, "main", 0.0))
    assert (checked.problem, checked.chains, checked.entries) == ("", 4, len(rows))
    # whoever was not erased is still shown where nobody else's name had to go
    assert sum(row["by"] == f"telegram:{OWNER}" for row in rows) == 2
    assert not [row for row in rows if "pay" in str(row) and who in str(row)]
