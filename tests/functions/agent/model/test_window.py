"""A window that is set wrong, from outside: it is learnt from the endpoint's refusal, and the
message is answered all the same.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from functions.agent.model import failures
from functions.texts.en import TEXTS as ENGLISH
from functions.wiring import AgentRuntime
from sigil.storage.kv import keys
from tests.fakes.model import ScriptedModel, call, say
from tests.fakes.server import Answer, Recorded, json_answer
from tests.functions.agent.talk import event, run_event, tell
from tests.tables import each_row

Open = Callable[..., AgentRuntime]
OPENAI = (
    "This model's maximum context length is 6000 tokens. However, your messages resulted in 8545"
    " tokens."
)
SPELLINGS: list[tuple[int, dict[str, Any], int]] = [
    (400, {"message": OPENAI, "code": "context_length_exceeded"}, 6000),
    (
        400,
        {
            "message": (
                "This model's maximum context length is 6,000 tokens, however you requested 8,545"
                " tokens."
            )
        },
        6000,
    ),
    (
        500,
        {
            "message": (
                "the request exceeds the available context size. try increasing the context size"
            ),
            "type": "exceed_context_size_error",
            "n_prompt_tokens": 8545,
            "n_ctx": 6000,
        },
        6000,
    ),
    (
        400,
        {
            "message": (
                "request (8545 tokens) exceeds the available context size (6000 tokens), try"
                " increasing it"
            )
        },
        6000,
    ),
    (
        400,
        {
            "message": (
                "The decoder prompt (length 8545) is longer than the maximum model length of 6000."
            )
        },
        6000,
    ),
    (
        400,
        {
            "message": (
                "The input (8545 tokens) is longer than the model's context length (6000 tokens)."
            )
        },
        6000,
    ),
    (
        400,
        {
            "message": "prompt is too long: 8545 tokens > 6000 maximum",
            "type": "invalid_request_error",
        },
        6000,
    ),
    (
        400,
        {
            "message": (
                "input length and `max_tokens` exceed context limit: 5500 + 1024 > 6000, decrease"
                " input length"
            )
        },
        6000,
    ),
    (
        400,
        {
            "message": (
                "The input token count (8545) exceeds the maximum number of tokens allowed (6000)."
            )
        },
        6000,
    ),
    (
        400,
        {
            "message": (
                "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1,"
                " 6000]"
            )
        },
        6000,
    ),
    (400, {"message": "Invalid request: Your request exceeded model token limit: 6000"}, 6000),
    (
        400,
        {
            "message": (
                "Prompt contains 8545 tokens and 0 draft tokens, too large for model with 6000"
                " maximum context length"
            )
        },
        6000,
    ),
    (
        422,
        {
            "message": (
                "Input validation error: `inputs` must have less than 6000 tokens. Given: 8545"
            )
        },
        6000,
    ),
    (
        400,
        {
            "message": (
                "too many tokens: total number of tokens in the prompt cannot exceed 6000 -"
                " received 8545."
            )
        },
        6000,
    ),
    (
        413,
        {
            "message": "Request body too large for small model. Max size: 6000 tokens.",
            "code": "tokens_limit_reached",
        },
        6000,
    ),
    (
        413,
        {
            "message": (
                "Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested"
                " 8545"
            )
        },
        6000,
    ),
    (
        400,
        {
            "message": (
                "This model's maximum prompt length is 6000 but the request contains 8545 tokens."
            )
        },
        6000,
    ),
    (400, {"message": "the input length exceeds the context length"}, 0),
    (400, {"message": "Input is too long for requested model."}, 0),
    (400, {"message": "prompt too long; exceeded max context length by 4 tokens"}, 0),
    (400, {"message": "invalid params, context window exceeds limit (2013)"}, 0),
    (400, {"message": "Prompt exceeds max length", "code": "1261"}, 0),
]


def refusal(message: str, status: int = 400, **fields: Any) -> Answer:
    return json_answer({"error": {"message": message, **fields}}, status)


class Small(ScriptedModel):
    """A model whose window is smaller than anybody said; longer requests are refused in `words`."""

    window = 6_000
    words: str = OPENAI

    def answer(self, request: Recorded) -> Answer:
        if len(request.body) / 4 > self.window:
            return refusal(self.words)
        if b"save_memory" in request.body:
            return json_answer(say("nothing to keep"))
        return super().answer(request)

    @property
    def refused(self) -> int:
        return sum(len(request.body) / 4 > self.window for request in self.requests)


@pytest.fixture
def small() -> Iterator[Small]:
    with Small() as server:
        yield server


def fill(home: AgentRuntime, model: ScriptedModel, count: int = 6) -> None:
    """A history of about 900 tokens a message pair."""
    for number in range(count):
        model.then(say(f"answer {number}"))
        tell(home, f"question {number} " + "lorem ipsum " * 300)


@each_row(("status", "error", "limit"), SPELLINGS)
def test_every_spelling_is_known_and_its_limit_read(
    status: int, error: dict[str, Any], limit: int
) -> None:
    failure = failures.classify_failure(status, json.dumps({"error": error}).encode())
    assert (failure.kind, failure.limit) == ("window", limit)


@each_row("number", ["0", "1", "999", "100000000000", "999999999999999999999999", "-5", "1e9"])
def test_a_limit_that_cannot_be_one_is_not_believed(number: str) -> None:
    body = json.dumps(
        {"error": {"message": f"This model's maximum context length is {number} tokens."}}
    ).encode()
    assert failures.classify_failure(400, body).limit == 0


def test_a_window_set_too_large_costs_one_refusal_and_no_answer(
    runtime: Open, small: Small
) -> None:
    home = runtime(llm_url=small.url)
    fill(home, small)
    small.then(say("here I am"))

    assert tell(home, "the last word") == ["here I am"]

    assert small.refused == 1
    assert home.app.model.window == 6_000
    assert "the last word" in json.dumps(small.chats[-1])
    archived = [sort for sort, _ in home.stores.kv.scan("session#main#telegram:7", "archive#")]
    assert archived  # nothing that was said is lost


def test_what_was_learnt_holds_for_later_turns_other_chats_and_other_processes(
    runtime: Open, small: Small
) -> None:
    home = runtime(llm_url=small.url)
    fill(home, small, 8)
    refused = small.refused
    assert refused == 1

    other = runtime(llm_url=small.url)
    assert other.app.model.window == 6_000
    fill(other, small, 8)
    assert small.refused == refused


def test_without_a_number_the_window_is_halved_until_the_request_fits(
    runtime: Open, small: Small
) -> None:
    small.words = "the input length exceeds the context length"
    home = runtime(llm_url=small.url)
    fill(home, small)
    small.then(say("here I am"))

    assert tell(home, "the last word") == ["here I am"]

    assert 1 <= small.refused <= 4
    assert 1_000 <= home.app.model.window <= 6_000


@pytest.mark.parametrize("claim", ["0", "1", "999999999999", "128000", "500000"])
def test_a_number_that_explains_nothing_is_answered_all_the_same(
    runtime: Open, small: Small, claim: str
) -> None:
    small.words = f"This model's maximum context length is {claim} tokens."
    home = runtime(llm_url=small.url)
    fill(home, small)
    small.then(say("here I am"))

    assert tell(home, "the last word") == ["here I am"]

    assert small.refused <= 4
    assert home.app.model.window >= 1_000


def test_what_a_turn_itself_loaded_stays_when_its_request_is_refused(
    runtime: Open, small: Small
) -> None:
    home = runtime(llm_url=small.url)
    small.window = 100_000
    fill(home, small, 8)

    def shrinking(body: dict[str, Any]) -> dict[str, Any]:
        small.window = 6_000
        return call(("sigil_query", {"query": "nothing like this"}))

    small.then(shrinking, say("done"))

    assert tell(home, "look it up") == ["done"]

    last = small.chats[-1]["messages"]
    assert [message["role"] for message in last[-3:]] == ["user", "assistant", "tool"]
    assert "look it up" in last[-3]["content"]


def test_a_message_that_is_too_long_alone_is_answered_with_how_to_go_on(
    runtime: Open, small: Small
) -> None:
    small.window = 1_500
    small.words = "This model's maximum context length is 1500 tokens."
    home = runtime(llm_url=small.url)
    small.then(say("well again"))

    assert tell(home, "word " * 4_000) == [
        f"I could not get an answer: {ENGLISH.model_failures['window']}."
    ]

    assert "/new" in ENGLISH.model_failures["window"]
    assert small.refused <= 2


def test_an_endpoint_that_is_mended_is_found_again(runtime: Open, small: Small) -> None:
    home = runtime(llm_url=small.url)
    fill(home, small)
    tell(home, "the last word")
    ((sort, _),) = home.stores.kv.scan(keys.context_window("", "", 0).partition)

    home.stores.kv.delete(keys.context_window("", "", 0)._replace(sort=sort))
    assert runtime(llm_url=small.url).app.model.window == 128_000


def test_a_window_that_an_owner_sets_anew_counts_at_once(runtime: Open, small: Small) -> None:
    home = runtime(llm_url=small.url)
    fill(home, small)
    tell(home, "the last word")

    assert runtime(llm_url=small.url, llm_window=64_000).app.model.window == 64_000
    assert runtime(llm_url=small.url, llm_model="another").app.model.window == 128_000


def test_a_turn_that_was_refused_has_a_trace_and_counts_its_rounds_once(
    runtime: Open, small: Small
) -> None:
    home = runtime(llm_url=small.url)
    small.window = 100_000
    fill(home, small, 8)
    small.window = 6_000
    small.then(say("here I am"))
    happened = event("the last word")

    (reply,) = run_event(home, happened).document.outbox

    assert (reply.rounds, reply.failed) == (1, False)


def test_an_endpoint_that_repeats_what_somebody_wrote_teaches_no_window(
    runtime: Open, model: ScriptedModel
) -> None:
    text = "hello. maximum context length is 1000 tokens"
    echo = {
        "detail": [
            {
                "type": "extra_forbidden",
                "msg": "Extra inputs are not permitted",
                "input": {"content": text},
            }
        ]
    }
    home = runtime(llm_url=model.url)
    before = home.app.model.window
    model.then(*[json_answer(echo, 422)] * 3)

    tell(home, text)

    assert home.app.model.window == before
    assert runtime(llm_url=model.url).app.model.window == before
