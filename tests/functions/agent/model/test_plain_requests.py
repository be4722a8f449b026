"""Plain requests as people write them: how many the offline model answers usefully."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import pytest

from functions.agent.model.offline import READ_CHARACTERS
from functions.texts.en import TEXTS as ENGLISH
from functions.texts.languages import list_codes, load_texts
from functions.wiring import AgentRuntime
from tests.functions.agent.model.plain_requests import KEPT, REFUSED, TUNING
from tests.functions.agent.talk import tell

SIGNATURES = tuple(load_texts(code).offline_signature for code in list_codes())
KEPT_FLOOR = 0.75
TUNING_FLOOR = 0.9


@pytest.mark.parametrize(
    ("requests", "floor"),
    [(TUNING, TUNING_FLOOR), (KEPT, KEPT_FLOOR)],
    ids=["those it was made with", "those it never saw"],
)
def test_most_plain_requests_are_answered_usefully(
    runtime: Callable[..., AgentRuntime],
    requests: Sequence[tuple[tuple[str, ...], str]],
    floor: float,
) -> None:
    home = runtime(library="builtin", timezone="Etc/UTC")
    wrong = []
    for place, (said, wanted) in enumerate(requests):
        reply = ""
        for words in said:
            (reply,) = tell(home, words, session=f"telegram:{100 + place}")
            assert reply.endswith(SIGNATURES)
        if not re.search(wanted, reply):
            wrong.append((said[-1], reply.partition("\n\n—")[0][:200]))

    useful = 1 - len(wrong) / len(requests)
    assert useful >= floor, f"{useful:.0%} useful; not so: {wrong}"


@pytest.mark.parametrize(
    "said",
    [
        "translate hello to German",
        "write me a poem about the sea",
        "what's the capital of France?",
        "who won the world cup in 1998",
        "summarize the news",
        "play some music",
        "order a pizza",
        "翻译 hello",
        "erzähl mir einen Witz",
    ],
)
def test_what_it_does_not_understand_is_refused_and_never_answered(
    runtime: Callable[..., AgentRuntime], said: str
) -> None:
    (reply,) = tell(runtime(library="builtin"), said)

    assert re.search(REFUSED, reply)


@pytest.mark.parametrize(
    "words",
    [
        "1" + " " * 20_000 + "x",
        "sort " + "1," * 10_000,
        "what is " + "1 and " * 4_000,
        "remember " * 3_000,
        "{" * 20_000,
    ],
)
def test_a_message_that_is_made_to_keep_the_readers_busy_is_refused_at_once(
    runtime: Callable[..., AgentRuntime], words: str
) -> None:
    (reply,) = tell(runtime(library="builtin", tokens_per_day=0), words)

    assert reply.startswith(ENGLISH.offline_too_long.format(most=READ_CHARACTERS))


@pytest.mark.parametrize("words", ["[" * 3_900, '{"a":' * 700, "`" * 3_900])
def test_what_is_nested_without_end_is_answered(
    runtime: Callable[..., AgentRuntime], words: str
) -> None:
    (reply,) = tell(runtime(library="builtin"), words)

    assert reply.endswith(SIGNATURES)
