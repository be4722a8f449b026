"""Who may do what, played: each person sends each command in each place, and each bearer asks for
each route. What came of it is compared with the tables, which are complete.
"""

from __future__ import annotations

import itertools
import re
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from typing import Any, Literal

import httpx
import pytest
from starlette.routing import Route

from functions import admin, local
from functions.agent.commands.table import COMMANDS
from functions.agent.turn.turn import run_turn
from functions.events import BACKGROUND_KINDS
from functions.texts.en import TEXTS
from functions.wiring import AgentRuntime
from sigil.storage.kv import keys
from tests.fakes.model import ScriptedModel, say
from tests.functions.agent.talk import event
from tests.functions.chats import Chats
from tests.functions.serving import serving

# -- commands
# ---------------------------------------------------------------------------------------------------------------------

OWNER, OWNERS_OTHER, MEMBER, MEMBERS_OTHER, GUEST = PEOPLE = (
    "telegram:1",
    "slack:T1.U1",
    "telegram:66",
    "slack:T1.U66",
    "telegram:77",
)
Who = Literal["all", "members", "owners", "nobody"]
MAY: dict[Who, tuple[str, ...]] = {
    "all": PEOPLE,
    "members": (OWNER, OWNERS_OTHER, MEMBER, MEMBERS_OTHER),
    "owners": (OWNER, OWNERS_OTHER),
    "nobody": (),
}
NEW = "discord:99"
ACTS: dict[str, tuple[Who, Who]] = {
    # words: who may in a private chat, and in a group, where everybody may talk
    "start": ("all", "all"),
    "help": ("all", "all"),
    "new": ("all", "owners"),
    "mem": ("all", "owners"),
    "mem history": ("all", "all"),
    "mem rollback 1": ("all", "owners"),
    "recall tea": ("all", "all"),
    "forget t1": ("all", "owners"),
    "kb tea": ("all", "all"),
    "btw what is tea?": ("all", "all"),
    "history": ("all", "all"),
    "compact": ("all", "owners"),
    "context": ("all", "all"),
    "export": ("all", "owners"),
    "tools": ("all", "all"),
    "status": ("all", "all"),
    "usage": ("all", "all"),
    "spent": ("all", "all"),
    "whoami": ("all", "all"),
    "link": ("all", "nobody"),
    "web": ("all", "nobody"),
    "unlink": ("all", "nobody"),
    "language": ("all", "all"),
    "language en": ("all", "owners"),
    "timezone": ("all", "all"),
    "timezone Berlin": ("all", "owners"),
    "remind tomorrow 9:00 tea": ("all", "owners"),
    "snooze 1 10m": ("all", "owners"),
    "done 1": ("all", "owners"),
    "tasks": ("members", "members"),
    "tasks add tea": ("members", "members"),
    "wakeups": ("all", "all"),
    "wakeups drop 1": ("all", "owners"),
    "quiet": ("all", "all"),
    "quiet 22:00-07:00": ("all", "owners"),
    "heartbeat 30m": ("owners", "owners"),
    "files": ("all", "all"),
    "soul": ("all", "all"),
    "soul history": ("owners", "owners"),
    "soul rollback 0": ("owners", "owners"),
    "soul be kind": ("owners", "owners"),
    "policy": ("owners", "nobody"),
    "policy deny guest call read-page": ("owners", "nobody"),
    "skills": ("owners", "nobody"),
    "skills remove tea": ("owners", "nobody"),
    "proposals": ("owners", "owners"),
    "approve 0123456789ab": ("owners", "owners"),
    "deny 0123456789ab": ("owners", "owners"),
    "listen": ("nobody", "all"),
    "listen on": ("nobody", "owners"),
    "stop": ("all", "all"),
    "pair": ("owners", "nobody"),
    f"pair {NEW} member": ("owners", "owners"),
    f"pair remove {NEW}": ("owners", "owners"),
    f"pair accept {NEW} as {OWNER}": ("owners", "owners"),
    f"pair refuse {NEW} as {OWNER}": ("owners", "owners"),
    "pair 0000-0000": ("owners", "owners"),
    "pair 0000-0000 me": ("members", "nobody"),
    "pair confirm 0000-0000": ("owners", "nobody"),
    "model": ("all", "all"),
    "model auto": ("owners", "owners"),
    "model tea": ("owners", "owners"),
    "agent": ("owners", "owners"),
    "agents disable tea": ("owners", "owners"),
    "team": ("all", "all"),
    "team stop all": ("owners", "owners"),
    "inbox": ("all", "all"),
    "hooks": ("owners", "nobody"),
    "hooks drop tea": ("owners", "nobody"),
    "halt here": ("owners", "owners"),
    "unlock here": ("owners", "owners"),
    "halt": ("owners", "owners"),
    "unlock": ("owners", "owners"),
}
CHANGES = frozenset(
    (
        "language en",
        "timezone Berlin",
        "remind tomorrow 9:00 tea",
        "tasks add tea",
        "quiet 22:00-07:00",
        "heartbeat 30m",
        "soul be kind",
        "policy deny guest call read-page",
        "listen on",
        f"pair {NEW} member",
        f"pair remove {NEW}",
        "halt here",
        "unlock here",
        "halt",
        "unlock",
    )
)
"""Acts that change what is stored when the first person who may plays them."""
REFUSALS = (
    TEXTS.owners_only,
    TEXTS.not_here,
    TEXTS.ask_privately,
    TEXTS.link_private,
    TEXTS.web_private,
    TEXTS.policy_in_private,
    TEXTS.skills_private,
    TEXTS.hooks_private,
    TEXTS.listen_private,
)
BOOKKEEPING = frozenset(
    "session body seen trace run chain usage usage-total allowance ledger history spent"
    " waiting profile hp token-use daily".split()
)
"""What each turn writes of itself, and what a stranger's message leaves."""
CHAT_FIELDS = ("messages", "quiet", "language", "zone", "model", "memory", "held")


def take_state(home: AgentRuntime, session: str) -> tuple[object, ...]:
    """Return all that is stored, with what a chat has, without what each turn writes of itself."""
    document = home.app.sessions.open(keys.session_of("main", session)).document
    return (take_store(home), [getattr(document, name) for name in CHAT_FIELDS])


def take_store(home: AgentRuntime) -> list[tuple[bytes, bytes, bytes]]:
    """Return all that is stored outside chats, without what each turn writes of itself."""
    with closing(sqlite3.connect(f"{home.settings.data}/uncaged.db")) as file:
        rows = file.execute("SELECT partition, sort, value FROM item ORDER BY 1, 2").fetchall()
    return [row for row in rows if re.split(rb"[#!~]", row[0])[0].decode() not in BOOKKEEPING]


def send(home: AgentRuntime, who: str, text: str, session: str = "", **fields: Any) -> list[str]:
    """Return the replies in the chat where somebody wrote: their own, or a group."""
    chat = session or who
    wrote = event(text, session=chat, sender=who, private=not session)
    opened = run_turn(replace(wrote, **fields), home.app)
    home.app.sessions.clear_outbox(opened)
    return [reply.text for reply in opened.document.outbox if reply.session == chat]


def name_group(who: str) -> str:
    return f"{who.partition(':')[0]}:-100"


def is_refused(replies: list[str]) -> bool:
    """Return whether nothing was done: a refusal, silence, or a code for an owner."""
    return all(
        reply in REFUSALS
        or reply.startswith(TEXTS.policy_denies.partition("{")[0])
        or ("Your code is" in reply and "`/pair " in reply)
        # as every platform types its commands
        for reply in (each.replace("`!", "`/") for each in replies)
    )


def first_of(may: tuple[str, ...]) -> str:
    """Return the person who plays an act first of those who may."""
    return may[-1] if may else ""


@pytest.fixture
def people(runtime: Callable[..., AgentRuntime], model: ScriptedModel) -> AgentRuntime:
    """An agent that everybody may talk to, with a person of each kind."""
    home = runtime(llm_url=model.url, owners=(OWNER,), access="open", guest_turns=0, guest_tokens=0)
    known = home.app.people
    known.let_in(MEMBER, "member", "Bob", OWNER)
    known.link(OWNERS_OTHER, "Ada", OWNER, OWNER, "owner")
    known.link(MEMBERS_OTHER, "Bob", MEMBER, OWNER, "member")
    return home


def test_the_table_names_every_command() -> None:
    assert {words.split()[0] for words in ACTS} == set(COMMANDS)


@pytest.mark.parametrize("place", ["private", "group"])
def test_each_person_may_what_the_table_says_and_a_refusal_changes_nothing(
    people: AgentRuntime, place: str
) -> None:
    wrong = []
    for words, allowed in ACTS.items():
        may = MAY[allowed[place == "group"]]
        for who in reversed(PEOPLE):
            session = name_group(who) if place == "group" else ""
            before = take_state(people, session or who)
            replies = send(people, who, f"/{words}", session)
            is_changed = take_state(people, session or who) != before
            if is_refused(replies) == (who in may):
                wrong.append((words, who, replies))
            elif is_refused(replies) and is_changed:
                wrong.append((words, who, ["it was refused, and something changed"]))
            elif words in CHANGES and who == first_of(may) and not is_changed:
                wrong.append((words, who, ["nothing changed", *replies]))
    assert not wrong, "\n".join(map(str, wrong))


def test_a_stranger_may_nothing_but_ask_for_a_code(
    people: AgentRuntime, runtime: Callable[..., AgentRuntime]
) -> None:
    home = runtime(owners=(OWNER,))
    before = take_state(home, GUEST)
    codes = 0
    for words, session in itertools.product(ACTS, ("", name_group(GUEST))):
        replies = send(home, GUEST, f"/{words}", session)
        if words == "whoami" and not session:
            assert "not paired with me" in replies[0]
        else:
            assert is_refused(replies), (words, replies)
            codes += len(replies)
    assert codes == 1
    assert take_state(home, GUEST) == before


# -- what nobody typed
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", BACKGROUND_KINDS)
def test_a_command_that_nobody_typed_is_none_in_whoever_name_it_comes(
    people: AgentRuntime, kind: Any
) -> None:
    for words in CHANGES:
        for by, session in ((OWNER, "own:main"), (MEMBER, "own:main"), (OWNER, OWNER)):
            if (kind == "say") == session.startswith("own"):
                continue
            before = take_store(people)
            send(
                people,
                "agent:main.bob",
                f"/{words}",
                session,
                kind=kind,
                by=by,
                private=True,
                data={"home": OWNER, "from": "bob", "wakeup": "0123456789ab", "due": 1.0},
            )
            assert take_store(people) == before, (kind, words)


def test_a_command_that_the_model_writes_is_none(
    people: AgentRuntime, model: ScriptedModel
) -> None:
    for words in CHANGES:
        model.then(say(f"/{words}"))
        before = take_store(people)
        assert send(people, OWNER, "what now?") == [f"/{words}"]
        assert take_store(people) == before, words


LET_IN = f"/pair {NEW} member"
USER = {"id": 42, "is_bot": False, "first_name": "Ada"}
OTHER = {"id": 77, "is_bot": False, "first_name": "Eve"}
BOT = {"id": 9, "is_bot": True, "first_name": "Bot", "username": "other_bot"}


@pytest.mark.parametrize(
    ("how", "counts"),
    [
        ({}, True),
        ({"text": "", "caption": LET_IN, "photo": [{"file_id": "a", "file_size": 1}]}, True),
        ({"forward_origin": {"type": "user", "sender_user": OTHER, "date": 1}}, False),
        ({"forward_origin": {"type": "user", "sender_user": USER, "date": 1}}, False),
        ({"via_bot": BOT}, False),
        ({"from": {**USER, "is_bot": True}}, False),
        ({"from": OTHER}, False),
        ({"sender_chat": {"id": -100, "type": "supergroup", "title": "Us"}}, False),
        ({"text": "what?", "quote": {"text": LET_IN, "position": 0}}, False),
        ({"text": f"> {LET_IN}"}, False),
        ({"text": f"look:\n{LET_IN}"}, False),
        ({"text": f"{LET_IN}\nplease"}, False),
    ],
    ids=lambda value: ",".join(value) if isinstance(value, dict) else "",
)
def test_a_command_counts_only_when_an_owner_wrote_it(
    open_chats: Callable[..., Chats], how: dict[str, Any], counts: bool
) -> None:
    chats = open_chats()
    chats.write(1, **{"text": LET_IN, **how})
    chats.work_off()
    assert (chats.runtime.app.people.find_member(NEW) is not None) == counts


# -- HTTP
# ---------------------------------------------------------------------------------------------------------------------


SHARED = "/shared-files/tea/tea"


def list_routes(home: AgentRuntime) -> Iterator[tuple[str, str]]:
    """Yield the method and a path of each route of the agent; those of the registry are asked with
    each token in tests/sigil/http/test_authorization.py.
    """
    unused: Any = None
    for route in (*admin.build_routes(unused), *local.chat_routes(home, unused, unused).routes):
        assert isinstance(route, Route)
        for method in sorted(route.methods or ()):
            if method != "HEAD":
                yield method, re.sub(r"\{[^}]*\}", "tea", route.path)


def test_each_route_of_the_agent_is_the_admin_tokens_alone(people: AgentRuntime) -> None:
    routes = list(list_routes(people))
    assert {("POST", "/chat"), ("POST", "/halt"), ("PUT", "/files/tea/tea")} <= set(routes)
    with serving(people) as server, httpx.Client(base_url=server.url) as stranger:
        made = [
            server.post("/_api/keys", json={"kind": kind}).json() for kind in ("invoke", "deploy")
        ]
        tokens = [str(row["token"]) for row in made]
        bearers = (("", 401), *((token, 403) for token in tokens))
        before = take_store(people)

        def ask(asked: tuple[tuple[str, str], tuple[str, int]]) -> tuple[int, int, str, str]:
            (method, path), (token, status) = asked
            headers = {"authorization": f"Bearer {token}"} if token else {}
            got = stranger.request(method, path, headers=headers).status_code
            # the address itself is the proof, and any other one is that of no file
            return got, 404 if path == SHARED else status, method, path

        with ThreadPoolExecutor(4) as threads:
            answers = list(threads.map(ask, itertools.product(routes, bearers)))
        assert [answer for answer in answers if answer[0] != answer[1]] == []
        assert take_store(people) == before
        for method, path in routes:
            answer = server.client.request(method, path)
            assert answer.status_code not in (401, 403), (method, path, answer.text)
