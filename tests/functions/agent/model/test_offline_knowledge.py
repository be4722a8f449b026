"""Without a language model, plain words in English, Chinese and German look something up in the
knowledge base and add to it.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from functions.agent.model.offline_knowledge import Wish, find_wish
from functions.wiring import AgentRuntime
from tests.functions.agent.talk import tell
from tests.tables import each_row

OWNER = {"session": "telegram:1", "sender": "telegram:1"}


@each_row(
    ("words", "question"),
    [
        ("search the knowledge base for the refund period", "the refund period"),
        ("please look up vacation days in our handbook", "vacation days"),
        ("What does our handbook say about vacation?", "vacation"),
        ("what is in the manual about cleaning?", "cleaning"),
        ("according to the handbook, how long is the warranty?", "how long is the warranty"),
        ("how long is the warranty according to our policies", "how long is the warranty"),
        ("was steht im Handbuch über Urlaub?", "Urlaub"),
        ("durchsuche die Wissensdatenbank nach Urlaub", "Urlaub"),
        ("在知识库里搜索退款期限", "退款期限"),
        ("帮我在员工手册里查一下年假", "年假"),
        ("员工手册里年假是怎么规定的？", "年假"),
        ("按照我们的手册，年假有几天", "年假有几天"),
        ("搜索知识库：年假", "年假"),
        ("search the knowledge base", ""),
    ],
)
def test_a_question_to_the_knowledge_base_is_read(words: str, question: str) -> None:
    assert find_wish(words) == Wish("search", question=question)


@pytest.mark.parametrize(
    "words",
    [
        "add to the knowledge base: Tea (source: a book): Brew it at 70 degrees.",
        "Please put this into our knowledge base: Tea (from a book): Brew it at 70 degrees.",
        "帮我把这个加入知识库：Tea（来源：a book）：Brew it at 70 degrees.",
        "bitte nimm in die Wissensdatenbank auf: Tea (Quelle: a book): Brew it at 70 degrees.",
    ],
)
def test_a_document_to_add_is_read(words: str) -> None:
    assert find_wish(words) == Wish(
        "add", title="Tea", source="a book", text="Brew it at 70 degrees."
    )


@each_row(
    "words",
    [
        "what is the capital of France",
        "read https://example.com/handbook",
        "remember that the handbook is red",
        "what did I tell you about the manual",
        "search the web for knowledge bases",
        "记住我的手册是红色的",
    ],
)
def test_other_wishes_are_none_of_the_knowledge_base(words: str) -> None:
    assert find_wish(words) is None


def test_what_is_added_in_plain_words_is_found_in_plain_words_with_its_source(
    runtime: Callable[..., AgentRuntime],
) -> None:
    home = runtime(library="builtin", owners=("telegram:1",), tokens_per_day=0)
    (said,) = tell(
        home,
        "add to the knowledge base: Tea (source: a book): Green tea is brewed at 70 degrees.",
        **OWNER,
    )
    assert said.startswith("Added to the knowledge base: Tea, from a book.")
    (found,) = tell(home, "what does the knowledge base say about green tea?", **OWNER)
    assert "70 degrees" in found
    assert "Source: a book" in found
    (said,) = tell(home, "加入知识库：退货（来源：员工手册）：商品在三十天内可以退货。", **OWNER)
    assert said.startswith("已加入知识库：退货，来源：员工手册。")
    (found,) = tell(home, "在知识库里查一下退货", **OWNER)
    assert "三十天内可以退货" in found
    assert "来源：员工手册" in found
    (said,) = tell(home, "加入知识库：退货（来源：员工手册）：商品在三十天内可以退货。", **OWNER)
    assert said.startswith("知识库里已经有了")
    (nothing,) = tell(home, "在知识库里查一下火星", **OWNER)
    assert nothing.startswith("知识库里没有这方面的内容")
    assert home.app.open_knowledge("agent").find("green tea", 1)[0].record.by == "telegram:1"


def test_without_a_source_it_says_how_and_keeps_nothing(
    runtime: Callable[..., AgentRuntime],
) -> None:
    home = runtime(library="builtin", owners=("telegram:1",), tokens_per_day=0)
    (said,) = tell(home, "add to the knowledge base: Tea is brewed at 70 degrees.", **OWNER)
    assert said.startswith("Write what it is called, where it is from")
    assert list(home.app.open_knowledge("agent").scan()) == []
