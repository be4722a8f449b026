"""What a service makes happen leaves its turn once, as a reply does."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from functions import worker
from functions.agent.posts import (
    DATA_BYTES,
    POSTS_MOST,
    Post,
    PostAllowance,
    ServiceAnswer,
    make_post_id,
    stamp_posts,
)
from functions.agent.services import table
from functions.agent.services.call_context import Arguments, CallContext
from functions.agent.session.document import Document, decode_document, encode_document
from functions.agent.session.overflow import LIMIT, OverflowStore
from functions.events import HOPS_MOST, TEXT_LIMIT, Event, Sender, order_of
from functions.queues.dead_letters import scan_dead_letters
from functions.wiring import AgentRuntime
from sigil.errors import BackendError, ToolError
from sigil.storage.artifacts import MemoryArtifacts
from tests.fakes.bot_api import BotApi
from tests.fakes.model import ScriptedModel, call, say
from tests.functions.chats import Chats
from tests.functions.people import OWNER, platform
from tests.library import add_service

NAME = "ring-later"
HOME = f"telegram:{OWNER}"


def ring(context: CallContext, arguments: Arguments) -> ServiceAnswer:
    """Say two things in the owner's chat, a little later."""
    context.posts.take(2)
    texts = (f"{context.call} one", f"{context.call} two")
    return ServiceAnswer("set", tuple(Post("say", "main", HOME, text) for text in texts))


@pytest.fixture
def chats(
    runtime: Callable[..., AgentRuntime],
    bot: BotApi,
    model: ScriptedModel,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Chats:
    monkeypatch.setitem(table.SERVICES, NAME, ring)  # type: ignore[arg-type]
    library = add_service(tmp_path / "services", NAME, "Ring a bell later.", "ring the bell later")
    settings = {"llm_url": model.url, "library": str(library), **platform(bot)}
    return Chats(runtime(**settings), bot)


SEARCH = call(("sigil_query", {"query": "ring the bell later"}))
RING = call(("cap_ring_later", {}))


def test_calls_post_in_order_and_calls_of_later_rounds_are_others(
    chats: Chats, model: ScriptedModel
) -> None:
    both = call(("cap_ring_later", {}), ("cap_ring_later", {}))
    model.then(SEARCH, both, RING, say("done"))
    chats.write(1, "ring")
    chats.work_off()
    first, *rung = chats.list_texts()
    assert first == "done"
    places = ["4:0", "4:1", "7:0"]
    assert rung == [f"telegram:4242:42:1:{at} {name}" for at in places for name in ("one", "two")]
    assert not chats.document().posts


def test_what_the_queue_does_not_take_is_put_again_and_arrives_once(
    chats: Chats, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    model.then(SEARCH, RING, say("done"))
    monkeypatch.setattr(worker, "RETRY_SECONDS", 0.0)
    put = chats.runtime.queue.put
    heard: list[str] = []

    def put_moodily(event: Event) -> None:
        if event.kind == "say":
            heard.append(event.id)
            # the second of them at the checkpoint, then the first after the turn
            if len(heard) in (2, 3):
                raise BackendError("EUNAVAILABLE", "the queue is away")
        put(event)

    monkeypatch.setattr(chats.runtime.queue, "put", put_moodily)
    chats.write(1, "ring")
    chats.work_off()
    place = "telegram:4242:42:1:4:0"
    one, two = (make_post_id("say", "telegram:4242:42:1", f"4:0:{number}") for number in (0, 1))
    assert heard == [one, two, one, one, two]
    assert chats.list_texts() == ["done", f"{place} one", f"{place} two"]
    assert not chats.document().posts
    assert len(model.bodies) == 3


def test_a_turn_posts_so_much_and_no_more(chats: Chats, model: ScriptedModel) -> None:
    most = POSTS_MOST // 2
    model.then(SEARCH, *[call(*[("cap_ring_later", {})] * 6)] * 4, say("done"))
    chats.write(1, "ring")
    chats.work_off()
    assert len(chats.list_texts()) == 1 + 2 * most
    results = [each["content"] for each in model.bodies[-1]["messages"] if each["role"] == "tool"]
    refused = [content for content in results if '"ELIMIT"' in content]
    assert len(refused) == 4 * 6 - most


def test_a_chain_that_is_as_long_as_it_may_be_sets_off_no_other_agent() -> None:
    last = PostAllowance(POSTS_MOST, "main.alice", HOPS_MOST)
    with pytest.raises(ToolError, match="agents have set each other off 16 times"):
        last.take(1, to="main.bob")
    assert last.refused == {"chain-hops"}
    # what is said, and its own work, go on
    last.take(POSTS_MOST - 1)
    last.take(1, to="main.alice")
    PostAllowance(POSTS_MOST, "main.alice", HOPS_MOST - 1).take(1, to="main.bob")


def test_ids_of_long_chains_stay_short() -> None:
    long = make_post_id("task", "telegram:1:" + "9" * 200, "3:0:0")
    assert long == make_post_id("task", "telegram:1:" + "9" * 200, "3:0:0")
    assert len(long) < 64
    assert long != make_post_id("task", "telegram:1:" + "8" * 200, "3:0:0")


def test_what_a_post_sets_off_knows_where_it_came_from(
    chats: Chats, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    model.then(SEARCH, RING, say("done"))
    seen: list[Event] = []
    put = chats.runtime.queue.put
    chats.write(1, "ring")
    monkeypatch.setattr(chats.runtime.queue, "put", lambda event: put(seen.append(event) or event))
    chats.work_off()
    posted = next(event for event in seen if event.kind == "say")
    assert (posted.cause, posted.root, posted.hops) == (
        "telegram:4242:42:1",
        "telegram:4242:42:1",
        0,
    )
    assert (posted.by, posted.sender.id) == (HOME, "agent:main")
    assert not list(scan_dead_letters(chats.runtime.stores.kv))


@pytest.mark.parametrize(
    "fields",
    [
        {"text": "x" * (TEXT_LIMIT + 1)},
        {"data": {"x": "y" * DATA_BYTES}},
        {"session": "telegram:" + "4" * 10_000},
        {"text": "\ud800"},
    ],
)
def test_what_a_queue_may_refuse_is_refused_to_the_service_that_posts_it(
    fields: dict[str, Any],
) -> None:
    with pytest.raises(ToolError):
        Post(**{"kind": "say", "agent": "main", "session": HOME, **fields})


def test_long_posts_leave_their_document_as_long_replies_do() -> None:
    event = Event("e", "message", "main", HOME, Sender(HOME), "", 1.0, order_of(1.0, 1))
    noise = [random.Random(at).randbytes(TEXT_LIMIT // 2).hex() for at in range(POSTS_MOST)]
    posts = stamp_posts([Post("say", "main", HOME, text) for text in noise], event, "1:0", 1.0)
    overflow = OverflowStore(MemoryArtifacts())
    stored = encode_document(Document(posts=posts), overflow)
    assert len(stored) < LIMIT
    assert decode_document(stored, overflow).posts == posts
