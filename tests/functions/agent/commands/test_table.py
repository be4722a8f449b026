"""Slash commands from outside: what is one, who may, and that none of them reaches the model or the
history.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from functions.agent.commands.table import COMMANDS
from functions.wiring import AgentRuntime
from sigil.storage.kv import keys
from tests.fakes.model import ScriptedModel, call, say
from tests.functions.agent.talk import event, run_event, tell

SESSION = keys.session_of("main", "telegram:7")
Open = Callable[..., AgentRuntime]


@pytest.fixture
def home(runtime: Open, model: ScriptedModel) -> AgentRuntime:
    return runtime(llm_url=model.url, owners=("telegram:1",), access="open")


@pytest.mark.parametrize("text", ["/help", "/HELP", "  /help  ", "/help@some_bot", "/Help\n"])
def test_a_command_is_known_however_it_is_written(
    home: AgentRuntime, model: ScriptedModel, text: str
) -> None:
    said = tell(home, text)[0]

    assert all(f"/{name}" in said for name in COMMANDS if name != "listen")
    assert not model.bodies


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("/memory x", "/mem"),
        ("/souls", "/soul"),
        ("/halp", "/help"),
        ("/xyzzy", ""),
        ("/newfoo", "/new"),
        ("/memo x", "/mem"),
    ],
)
def test_what_is_no_command_is_said_to_be_none_with_the_nearest(
    home: AgentRuntime, model: ScriptedModel, text: str, near: str
) -> None:
    said = tell(home, text)[0]

    assert said.startswith(f"Unknown command {text.split(maxsplit=1)[0]}.")
    assert (f"Did you mean {near}?" in said) if near else "mean" not in said
    assert not model.bodies


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("/mem\u6211\u662fAI\u52a9\u624b", "mem"),
        ("/MEM\uff1a\u6211\u662f\u5c0f\u660e", "mem"),
        ("/mem, my name is Ada", "mem"),
        ("/mem@some_bot: my name is Ada", "mem"),
        ("/mem@\u673a\u5668\u4eba my name is Ada", "mem"),
        ("/mem. My name is Ada.", "mem"),
        ("/soul: be dry", "soul"),
        ("\uff0fmem my name is Ada", "mem"),
        ("/help!", "help"),
    ],
)
def test_a_command_without_a_space_behind_it_is_neither_done_nor_pretended_by_the_model(
    home: AgentRuntime, model: ScriptedModel, text: str, name: str
) -> None:
    assert tell(home, text) == [f"Write it as `/{name}`, with a space before what follows."]
    assert not model.bodies


@pytest.mark.parametrize("before", ["/mem\u3000", "/mem\xa0", "\u200b/mem ", "\ufeff/mem "])
def test_every_space_is_one_and_nothing_unseen_hides_a_command(
    home: AgentRuntime, model: ScriptedModel, before: str
) -> None:
    tell(home, f"{before}my name is Ada")

    assert "USER: my name is Ada\n" in model.bodies[0]["messages"][1]["content"]
    assert [message["role"] for message in model.bodies[0]["messages"]] == ["system", "user"]


@pytest.mark.parametrize(
    ("text", "near"), [("/\u041cEM x", " Did you mean /mem?"), ("/\u5e2e\u52a9", "")]
)
def test_a_name_in_other_letters_is_an_unknown_command(
    home: AgentRuntime, model: ScriptedModel, text: str, near: str
) -> None:
    name = text.partition(" ")[0].lower()

    assert tell(home, text) == [f"Unknown command {name}.{near} /help shows all commands."]
    assert not model.bodies


def test_words_after_a_command_that_takes_none_are_refused(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    tell(home, "hello")
    assert tell(home, "/new foo") == ["/new takes no argument. Send `/new` alone."]
    assert len(home.app.sessions.open(SESSION).document.messages) == 2


@pytest.mark.parametrize(
    "text",
    [
        "/etc/passwd holds what?",
        "/usr/bin/env is missing",
        "/mem.py fails",
        "/mem/x",
        "/tmp, /var and /etc",
        "what is /help?",
        "1 / 2",
    ],
)
def test_other_slashes_are_words(home: AgentRuntime, model: ScriptedModel, text: str) -> None:
    assert tell(home, text) == ["done"]


def test_a_command_leaves_no_trace_in_the_history(home: AgentRuntime, model: ScriptedModel) -> None:
    for text in ("/help", "/status", "/usage", "/whoami", "/tools", "/nothing", "/soul"):
        tell(home, text)
    tell(home, "hello")

    assert [message["role"] for message in model.bodies[0]["messages"]] == ["system", "user"]
    assert "/whoami" not in str(model.bodies[0])


def test_everybody_learns_who_they_are(home: AgentRuntime) -> None:
    assert tell(home, "/whoami", sender="telegram:1") == [
        "You are `telegram:1`: owner.\nThis chat is `telegram:7`."
    ]
    assert tell(home, "/whoami", sender="telegram:9")[0].startswith("You are `telegram:9`: guest.")


def test_in_a_group_only_an_owner_begins_anew(home: AgentRuntime, model: ScriptedModel) -> None:
    tell(home, "hello", private=False)

    home.app.people.let_in("telegram:10", "member", "Bob", "telegram:1")
    for other in ("telegram:9", "telegram:10"):
        assert tell(home, "/new", sender=other, private=False) == [
            "In a group only my owner can do that."
        ]
    assert home.app.sessions.open(SESSION).document.messages
    assert tell(home, "/new", sender="telegram:1", private=False) == ["New session started."]
    assert not home.app.sessions.open(SESSION).document.messages
    tell(home, "hello", sender="telegram:9")
    assert tell(home, "/new", sender="telegram:9") == ["New session started."]


def test_the_tokens_of_a_chat_are_told(home: AgentRuntime, model: ScriptedModel) -> None:
    tell(home, "hello")

    here, everywhere, left = tell(home, "/usage")[0].split("\n")
    usage = home.app.sessions.open(SESSION).document.usage
    assert here.startswith(
        f"In this chat: {usage.prompt:,} tokens of prompts (0% of them from the cache),"
        f" {usage.completion:,} of answers"
    )
    assert (
        f"{usage.total:,} tokens in this chat, {usage.total:,} of 1,500,000 in all of them"
        in everywhere
    )
    assert left.startswith(f"Left: {1_500_000 - usage.total:,} tokens. ")


def test_status_tells_what_the_last_turn_cost_and_what_of_it_the_cache_held(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    tell(home, "hello")
    cold = {"usage": {"prompt_tokens": 1_000, "completion_tokens": 30}}
    warm = {
        "usage": {
            "prompt_tokens": 3_000,
            "completion_tokens": 40,
            "prompt_tokens_details": {"cached_tokens": 1_000},
        }
    }
    model.then(call(("sigil_query", {"query": "tea"})) | cold, say("There is none.") | warm)
    tell(home, "is there tea?")

    for _ in range(2):  # /status itself is no turn
        assert (
            "\nLast turn: 4,000 tokens of prompts (25% of them from the cache), 70 of answers"
            in tell(home, "/status all")[0]
        )


def test_guests_hear_of_their_own_chat_alone_what_was_used(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel
) -> None:
    home = runtime(llm_url=model.url, access="open", guest_tokens=0)
    tell(home, "hello")
    for text in ("/status all", "/usage"):
        assert "of 1,500,000" in tell(home, text)[0]
        (said,) = tell(home, text, session="telegram:9", sender="telegram:9")
        assert re.search(r"^Tokens in \S+: 0 in this chat$", said, re.MULTILINE)
        assert "1,500,000" not in said


@pytest.mark.parametrize("name", ["/reset", "/clear", "/RESET@some_bot"])
def test_names_from_elsewhere_begin_anew(
    home: AgentRuntime, model: ScriptedModel, name: str
) -> None:
    tell(home, "hello")
    assert tell(home, name) == ["New session started."]
    assert not home.app.sessions.open(SESSION).document.messages


@pytest.mark.parametrize("text", ["/ mem I like tea", "/ HELP", "\uff0f new", "/ reset"])
def test_a_space_after_the_slash_is_told(
    home: AgentRuntime, model: ScriptedModel, text: str
) -> None:
    name = text.split()[1].lower()

    assert tell(home, text) == [f"Write it as `/{name}`, without a space after the slash."]
    assert not model.bodies


def test_help_shows_what_its_reader_can_use(home: AgentRuntime) -> None:
    home.app.people.let_in("telegram:10", "member", "Bob", "telegram:1")
    owner = tell(home, "/help", sender="telegram:1")[0]
    member = tell(home, "/help", sender="telegram:10", session="telegram:10")[0]
    in_group = tell(home, "/help", sender="telegram:10", private=False)[0]

    assert all(f"- /{name}" in owner for name in COMMANDS if name != "listen")
    assert "- /listen" in tell(home, "/help", sender="telegram:1", private=False)[0]
    assert "- /listen" in in_group
    assert not any(f"- /{name}" in member for name in ("pair", "halt", "unlock"))
    assert "- /new" in member
    assert not any(f"- /{name}" in in_group for name in ("new", "forget", "compact", "halt"))
    assert "mention me" in in_group
    assert "mention me" not in member


def test_help_and_start_say_when_no_language_model_is_connected(
    runtime: Callable[..., AgentRuntime], home: AgentRuntime
) -> None:
    offline = runtime()

    for text in ("/help", "/start"):
        assert "UNCAGED_LLM_URL" in tell(offline, text)[0]
        assert "UNCAGED_LLM_URL" not in tell(home, text)[0]
    for name in ("model", "btw"):
        assert f"- /{name}" in tell(home, "/help")[0]
        assert f"- /{name}" not in tell(offline, "/help")[0]


def test_start_offers_no_example_that_would_not_work(home: AgentRuntime) -> None:
    said = tell(home, "/start")[0]

    assert said.startswith("Hello, I am main.")
    assert "Try" not in said


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_three_examples_of_start_work_with_the_library(
    runtime: Callable[..., AgentRuntime], language: str
) -> None:
    home = runtime(library="builtin")
    tell(home, f"/language {language}")
    lines = tell(home, "/start")[0].split("\n")
    examples = [line.removeprefix("- ") for line in lines if line.startswith("- ")]

    assert len(examples) == 3
    for number, example in enumerate(examples):
        closed = run_event(home, event(example, session=f"telegram:{50 + number}"))
        assert any(tool.startswith("cap_") for tool in closed.document.outbox[-1].tools), example


def test_status_says_in_a_sentence_how_it_is(home: AgentRuntime, model: ScriptedModel) -> None:
    first, second, third, *_ = tell(home, "/status all")[0].split("\n")

    assert [first] == tell(home, "/status") == ["I am well, and ready for you."]
    assert re.fullmatch(r"Model: \S+, with \d+% of its window of [\d,]+ tokens in use\.", second)
    assert re.fullmatch(r"Version \S+, running for \d+ seconds\.", third)
    tell(home, "/halt", sender="telegram:1")
    assert tell(home, "/status")[0].startswith("I was halted and do nothing until I am unlocked.")
