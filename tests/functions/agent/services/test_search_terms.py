"""The fast test of a query's terms finds what making all of a text's terms would find."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from functions.agent.services.search_terms import SearchTerms
from sigil.search.words import Tokenizer, normalize_phrase
from tests.selection import examples

PARTS = [
    *"café cafés Straße naïve “the hotel” hotels’ don’t dying die skies sky happy happier 🎂 👍🏽".split(),
    *"酒店 海边的 海邊 烏龍茶 ｃａｆｅ ﬁne".split(),
    *"カタカナ ｶﾀｶﾅ が 한국어 ไทย Привет SHA-256 JavaScript x² ① ℃ øre ties tie".split(),
    *"2024 4711 a c5 … — -- \n _under_score ー 々 〇 İstanbul हिन्दी ខ្មែរ € ‼ ₨ 🅰 🇩🇪 ∬ ª 。"
    " 「酒」 ～".split(),
    *("e\u0301lan", "élan", "zero\u200bwidth", "soft\u00adhyphen", "\u202ehotel", "か\u3099"),
]
WORDS = Tokenizer()


def terms(text: str) -> frozenset[str]:
    return WORDS.content_terms(normalize_phrase(text))


@settings(max_examples=examples(300), deadline=None)
@given(
    st.lists(st.sampled_from(PARTS), min_size=1, max_size=4).map(" ".join),
    st.sampled_from(["", " ", "，"]),
    st.lists(st.sampled_from(PARTS), max_size=8),
)
def test_the_short_way_says_the_same(query: str, between: str, parts: list[str]) -> None:
    text, wanted = between.join(parts), SearchTerms(query, terms)

    has = wanted.find_in(text)

    assert {term for term, bit in wanted.bits.items() if has & bit} == wanted.bits.keys() & terms(
        text
    )
