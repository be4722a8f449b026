"""`sigil_query` finds the right capabilities in the right order, and none where nothing fits."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sigil
from sigil.deploy.library import read_packages
from sigil.search import Index, IndexDocument, IndexHit, diversify
from sigil.search.postings import Posting, Postings
from sigil.search.ranking import WeightedTerm, rank, score_of
from tests.machine import times
from tests.selection import examples, in_full
from tests.sigil.asked import ANSWERED, UNANSWERED
from tests.tables import each_row


def document(
    name: str,
    description: str = "",
    aliases: tuple[str, ...] = (),
    examples: tuple[str, ...] = (),
    *,
    group: str = "",
    **parameters: str,
) -> IndexDocument:
    ref = f"{group}/{name}" if group else name
    return IndexDocument(
        name,
        description,
        ref,
        aliases=aliases,
        examples=examples,
        parameters=parameters,
        group=group,
    )


LIBRARY = (
    document(
        "encode",
        "Encode or decode text: base64, base64url, hex, url.",
        ("base64", "url escape"),
        ("encode hello world in base64",),
    ),
    document(
        "hash",
        "Digest of a text: md5, SHA-1, SHA-256, SHA-512, or an HMAC.",
        ("checksum",),
        ("md5 checksum of a string",),
    ),
    document(
        "json-query",
        "Pick values out of a JSON document by a path.",
        ("JSONPath", "jq"),
        ("names of all users from this JSON",),
    ),
    document(
        "text-stats",
        "Count characters, words and lines of a text.",
        ("word count",),
        ("how many words are in this text",),
    ),
    document(
        "date-math",
        "Add to dates, difference between two dates.",
        ("days between",),
        ("how many days until christmas",),
    ),
    document(
        "unit-convert",
        "Convert units of length, mass, temperature.",
        (),
        ("how many miles are 10 km", "celsius to fahrenheit"),
    ),
    document(
        "calculate",
        "Evaluate an arithmetic expression.",
        ("calculator",),
        ("what is 2 + 2",),
        expression="sum or square root",
    ),
    document(
        "regex-extract",
        "Find all matches of a regular expression in a text.",
        ("regex match",),
        ("email addresses in this text",),
    ),
    document("get-weather", "查询指定城市的天气预报和气温", ("天气预报",), ("北京明天会下雨吗",)),
    document("send-email", "给联系人发送电子邮件", ("发邮件",), ("给老板发一封邮件",)),
    document("qr-code", "生成二维码图片", ("二维码",), ("把网址变成二维码",)),
)


def filled(*documents: IndexDocument) -> Index:
    index = Index()
    for each in documents:
        index.add(each)
    return index


def found(index: Index, query: str, limit: int = 3) -> list[str]:
    return [hit.ref for hit in index.search(query, limit)]


@pytest.fixture(scope="module")
def library() -> Index:
    return filled(*LIBRARY)


@each_row(
    ("query", "name"),
    [
        ("encode hello world in base64", "encode"),
        ("please url-escape this string for me", "encode"),
        ("compute a checksum of my file", "hash"),
        ("sha512 of the text", "hash"),
        ("how many words does my essay have", "text-stats"),
        ("counting characters", "text-stats"),
        ("days between 2024-01-01 and 2025-06-30", "date-math"),
        ("convert 5 miles to kilometers", "unit-convert"),
        ("100 celsius in fahrenheit", "unit-convert"),
        ("square root of 81", "calculate"),
        ("extract email addresses", "regex-extract"),
        ("temprature convertion", "unit-convert"),
        ("上海今天的天气怎么样", "get-weather"),
        ("帮我给妈妈发封邮件", "send-email"),
        ("请把这个网址变成一个二维码", "qr-code"),
        ("天气", "get-weather"),
    ],
)
def test_a_request_in_users_words_finds_its_capability_first(
    library: Index, query: str, name: str
) -> None:
    assert found(library, query)[:1] == [name]


@each_row(
    "query",
    [
        "hello", "Hi there!", "how are you", "How are you today?", "thank you so much", "what can you do", "good morning", "tell me a joke",
        "book a flight to Tokyo", "play some music", "你好", "谢谢", "你是谁", "早上好", "最近怎么样", "讲个笑话", "", "   ", "?!", "😀",
    ],
)  # fmt: skip
def test_a_query_that_nothing_answers_finds_nothing(library: Index, query: str) -> None:
    assert library.search(query, 10) == []


def test_sha256_finds_nothing_where_nothing_hashes() -> None:
    assert Index().search("sha256", 3) == []
    assert filled(*(each for each in LIBRARY if each.name != "hash")).search("sha256", 3) == []


def test_an_emoji_is_a_word() -> None:
    face, rocket = "\U0001f600", "\U0001f680"
    index = filled(
        replace(document("smile", "Make a face."), tags=(face,)),
        replace(document("start", "Go."), tags=(rocket,)),
    )
    assert found(index, face) == ["smile"]
    assert found(index, f"{rocket}\U0001f3fd!") == ["start"]
    assert found(index, "\U0001f9a9") == []


def test_an_only_capability_is_found_by_one_of_its_words() -> None:
    assert found(filled(LIBRARY[5]), "celsius") == ["unit-convert"]


def test_a_common_word_alone_still_finds_what_has_it() -> None:
    index = filled(
        *(
            document(f"text-{name}", f"{name} a text")
            for name in ("trim", "wrap", "split", "reverse", "sort")
        )
    )
    assert len(found(index, "text", 5)) == 5


def test_weak_company_of_a_strong_answer_is_not_returned(library: Index) -> None:
    assert found(library, "extract matches of a regular expression from a text", 10) == [
        "regex-extract"
    ]


def test_a_long_payload_does_not_hide_the_capability_that_the_query_names(library: Index) -> None:
    payload = " ".join(
        f"zorblax{chr(97 + number % 26)}{chr(97 + number // 26)}" for number in range(150)
    )
    assert found(library, f"hash the following: {payload}") == ["hash"]


@each_row(
    "query",
    ["json-query", "JSON Query", "jsonQuery", "json_query", "  JSON-QUERY ", "cap_json_query"],
)
def test_a_name_however_it_is_written_comes_first_with_the_full_score(
    library: Index, query: str
) -> None:
    assert library.search(query, 3)[0] == IndexHit("json-query", 1.0)


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("jq", "json-query"),
        ("json path", "json-query"),
        ("Word-Count", "text-stats"),
        ("天气预报", "get-weather"),
    ],
)
def test_an_alias_comes_right_after_a_name(library: Index, query: str, name: str) -> None:
    assert library.search(query, 3)[0] == IndexHit(name, 0.99)


def test_an_alias_may_be_several_names() -> None:
    wordy = document("dice", "Throw.", ("coin toss; heads or tails；掷硬币",))
    index = filled(*LIBRARY, wordy)
    for query in ("coin toss", "heads or tails", "掷硬币"):
        assert [hit.score for hit in index.search(query, 1)] == [0.99]
        assert found(index, query) == ["dice"]


def test_a_name_of_common_words_alone_is_found_in_a_request() -> None:
    told = document("recall", "Recall a fact.", ("what did I tell you; do you still know",))
    index = filled(*LIBRARY, told)
    assert found(index, "what did I tell you about my car")[:1] == ["recall"]
    assert "recall" not in found(index, "I did tell my car what you want")


MEMORY = document(
    "keep", "Store a thing.", ("keep in mind; memorize; note; jot down; take note", "note down")
)


def test_what_a_request_begins_with_counts_more_than_what_follows() -> None:
    index = filled(*LIBRARY, MEMORY)
    assert found(index, "memorize grandma's blue porcelain teapot") == ["keep"]
    assert found(index, "grandma's blue porcelain teapot cannot memorize") == []


def test_nobody_has_to_know_what_a_request_quotes() -> None:
    index = filled(*LIBRARY, MEMORY)
    query = 'could you memorize "convert the weather to a random slug, today"'
    assert found(index, query)[:1] == ["keep"]


def test_exact_matches_pass_even_when_they_are_all_stop_words() -> None:
    index = filled(
        document("help", "Explains itself."), document("about", "About this registry.", ("help",))
    )
    assert index.search("help", 5) == [IndexHit("help", 1.0), IndexHit("about", 0.99)]


def test_a_name_weighs_more_than_a_description_and_that_more_than_a_parameter() -> None:
    named, described = (
        document("walrus-things", "Reads files."),
        document("read-things", "Reads walrus files."),
    )
    asking = document("parse-things", "Reads files.", walrus="what to read")
    assert found(filled(asking, described, named), "walrus", 5) == [
        "walrus-things",
        "read-things",
        "parse-things",
    ]


def test_what_is_written_in_one_word_or_two_is_the_same() -> None:
    index = filled(
        document("digest", "Makes a SHA-256 digest."),
        document("minify", "Minifies JavaScript."),
        document("paint"),
    )
    assert (
        found(index, "sha256") == found(index, "sha 256") == found(index, "SHA_256") == ["digest"]
    )
    assert found(index, "javascript") == found(index, "java script") == ["minify"]


def test_accents_and_invisible_characters_do_not_matter() -> None:
    index = filled(
        document("menu", "Le menu du café Île-de-France."), document("paint", "Paints walls.")
    )
    assert (
        found(index, "cafe ile")
        == found(index, "CAFÉ\u200b ÎLE")
        == found(index, "cafe\u0301 i\u0302le")
        == ["menu"]
    )


def test_scores_fall_from_one_to_zero_in_thousandths(library: Index) -> None:
    scores = [hit.score for hit in library.search("count words or convert text to base64", 10)]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1 and score == round(score, 3) for score in scores)


def test_equals_stand_in_the_order_of_their_names() -> None:
    twins = [
        replace(document(f"twin-{letter}", "Grows tomatoes."), ref=f"ref-{number}")
        for number, letter in enumerate("dcab")
    ]
    assert found(filled(*twins), "grow tomatoes", 3) == ["ref-2", "ref-3", "ref-1"]


@pytest.mark.parametrize("limit", [0, -1])
def test_no_room_for_results_gives_none(library: Index, limit: int) -> None:
    assert library.search("base64", limit) == []


def test_a_replaced_document_is_found_by_its_new_words_only() -> None:
    index = filled(document("paint", "Paints walls."))
    index.add(document("paint", "Grows tomatoes."))
    assert len(index) == 1
    assert found(index, "walls") == []
    assert found(index, "tomatoes") == ["paint"]
    index.add(replace(document("grow", "Grows pumpkins."), ref="paint"))
    assert len(index) == 1
    assert found(index, "paint") == found(index, "tomatoes") == []
    assert found(index, "pumpkins") == ["paint"]


def test_a_removed_document_is_gone_and_removing_it_again_does_nothing(library: Index) -> None:
    index = filled(*LIBRARY)
    index.remove("encode")
    index.remove("encode")
    assert len(index) == len(LIBRARY) - 1
    assert found(index, "base64") == []


def test_removing_the_last_holder_of_a_word_forgets_the_word() -> None:
    postings = Postings()
    postings.add(0, {"pumpkin": 1.0, "garden": 1.0})
    postings.add(1, {"garden": 1.0})
    assert [word for _, word in postings.similar_words("pumkin")] == ["pumpkin"]
    postings.remove(0, ("pumpkin", "garden"))
    assert postings.get("pumpkin") is None
    assert postings.similar_words("pumkin") == []
    assert postings.similar_words("gardens")


def test_groups_that_are_not_seen_change_neither_results_nor_scores() -> None:
    hidden = [
        document(f"base64-{number}", "base64 text encoder", ("base64",), group=f"secret{number}")
        for number in range(20)
    ]
    ours = [replace(each, ref=f"library/{each.name}", group="library") for each in LIBRARY[:6]]
    mine = [replace(each, ref=f"me/{each.name}", group="me") for each in LIBRARY[6:]]
    seen, alone = (
        filled(*hidden, *ours, *mine),
        filled(*(replace(each, group="") for each in (*ours, *mine))),
    )
    for query in ("encode in base64", "base64", "count words", "天气怎么样", "baes64 encoding"):
        assert seen.search(query, 10, within=("me", "library")) == alone.search(query, 10)
    assert seen.search("base64", 10, within=()) == []


def test_a_name_may_stand_in_several_groups() -> None:
    index = filled(
        document("paint", "Paints walls.", group="a"), document("paint", "Paints doors.", group="b")
    )
    assert found(index, "paint") == ["a/paint", "b/paint"]
    index.add(document("paint", "Paints fences.", group="b"))
    assert len(index) == 2
    index.remove("a/paint", "a")
    assert found(index, "paint") == ["b/paint"]


def test_a_reader_never_sees_a_document_between_two_versions() -> None:
    index, stop, seen = filled(*LIBRARY), threading.Event(), []

    def read() -> None:
        while not stop.is_set():
            seen.append(found(index, "grow tomatoes and pumpkins"))

    index.add(document("garden", "Grows tomatoes and pumpkins."))
    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for number in range(300):
        index.add(
            document(
                "garden", f"Grows pumpkins, grows tomatoes {number}.", ("gardening",) * (number % 2)
            )
        )
    stop.set()
    for reader in readers:
        reader.join()
    assert seen
    assert all(each == ["garden"] for each in seen)


QUERIES = (
    "encode text",
    "words in a text",
    "hash",
    "jq",
    "convert dates",
    "regullar expresion",
    "天气预报",
    "发邮件",
    "base64 text",
)
changes = st.lists(
    st.tuples(
        st.booleans(), st.sampled_from(range(len(LIBRARY))), st.sampled_from(range(len(LIBRARY)))
    ),
    max_size=40,
)


@settings(max_examples=times(30 if in_full() else 12), deadline=None)
@given(changes)
def test_adding_and_removing_in_any_order_ranks_like_a_fresh_index(
    steps: list[tuple[bool, int, int]],
) -> None:
    index, kept = Index(), {}
    for adding, which, text in steps:
        each = replace(LIBRARY[which], description=LIBRARY[text].description)
        if adding:
            index.add(each)
            kept[each.ref] = each
        else:
            index.remove(each.ref)
            kept.pop(each.ref, None)
    fresh = filled(*sorted(kept.values(), key=lambda each: each.name))
    assert len(index) == len(fresh) == len(kept)
    for query in QUERIES:
        assert index.search(query, 4) == fresh.search(query, 4)


texts = st.text(st.characters(codec=None, exclude_categories=()), max_size=60)


@settings(max_examples=times(75 if in_full() else 30), deadline=None)
@given(texts, texts, texts)
def test_no_text_breaks_the_index(name: str, description: str, query: str) -> None:
    index = filled(
        *LIBRARY,
        IndexDocument(
            name, description, "ref", tags=(query,), aliases=(query, ""), parameters={query: name}
        ),
    )
    hits = [*index.search(query, 3), *index.search(description, 3)]
    assert all(0 < hit.score <= 1 for hit in hits)
    index.remove("ref")
    assert "ref" not in found(index, query)


@pytest.mark.parametrize(
    "query",
    [
        "\ud800 \udfff", "\x00\x1b[31m", "a" * 1_000_000, "a-1" * 1_000, "\ufdfa" * 2_000, "e" + "\u0301" * 2_000, "天" * 5_000,
        "😀" * 3_000, "İstanbul ﬀ ß",
    ],
)  # fmt: skip
def test_hostile_queries_find_nothing_and_break_nothing(library: Index, query: str) -> None:
    assert library.search(query, 3) == []


def test_only_the_first_two_thousand_characters_of_a_query_are_read(library: Index) -> None:
    assert found(library, " " * 1_990 + " base64") == ["encode"]
    assert found(library, " " * 2_000 + " base64") == []


GARDEN = (
    document(
        "currency-rates",
        "Exchange rates between currencies.",
        ("exchange rate", "汇率", "货币换算"),
    ),
    document("sha-hash", "Hash text with SHA-256.", ("sha256", "哈希", "校验和")),
    document("qr-svg", "Make a QR code as SVG.", ("qr code", "二维码")),
    document("word-count", "Count the words of a text.", ("word count", "字数统计")),
    document("weather-now", "Current weather of a city.", ("weather", "天气预报")),
    document("csv-convert", "Convert CSV to JSON.", ("CSV转JSON", "表格转换")),
    document("text-wrap", "Wrap text to lines of a width.", ("自动换行",)),
)


@each_row(
    ("query", "name"),
    [
        ("今天美元的汇率是多少", "currency-rates"),
        ("帮我把这个网址做成二维码", "qr-svg"),
        ("天气预报", "weather-now"),
        ("这篇文章的字数统计", "word-count"),
        ("计算这个文件的哈希", "sha-hash"),
        ("把这个CSV转JSON", "csv-convert"),
        ("用 sha256 算一下校验和", "sha-hash"),
        ("ＣＳＶ 轉 ＪＳＯＮ", "csv-convert"),
        ("ＱＲ　ｃｏｄｅ", "qr-svg"),
        ("今天美元的匯率是多少", "currency-rates"),
        ("貨幣換算", "currency-rates"),
        ("請問明天的天氣預報", "weather-now"),
        ("幫我把這段文字自動換行", "text-wrap"),
        ("這篇文章的字數統計", "word-count"),
    ],
)
def test_chinese_finds_english_capabilities_by_their_aliases(query: str, name: str) -> None:
    assert found(filled(*GARDEN), query)[:1] == [name]


@pytest.mark.parametrize("query", ["讲个笑话", "講個笑話", "帮我订一张机票", "你叫什麼名字"])
def test_chinese_that_no_alias_answers_finds_nothing(query: str) -> None:
    assert found(filled(*GARDEN), query) == []


def test_what_the_query_says_in_so_many_words_comes_before_what_shares_more_of_them() -> None:
    format_, calculate = (
        document("format", "Format a percent.", ("format a percent",)),
        document("calc", "Sums.", ("percent of",)),
    )
    assert found(filled(*LIBRARY, format_, calculate), "the percent of them")[0] == "calc"


def test_who_tells_in_many_words_what_it_is_called_is_not_found_for_half_of_something_else() -> (
    None
):
    wordy = document(
        "validate-id", "Check whether an identifier is well formed: email address, UUID.",
        ("validate iban", "luhn check", "validate isbn", "validate email", "validate uuid", "check digit"),
    )  # fmt: skip
    index = filled(*LIBRARY, wordy)
    assert "validate-id" not in found(index, "generate a uuid") + found(
        index, "send an email to Bob"
    )
    assert (
        found(index, "validate this uuid")
        == found(index, "luhn-check 79927398713")[:1]
        == ["validate-id"]
    )


@pytest.fixture(scope="module")
def library_of_the_product() -> Index:
    index = Index()
    for package in read_packages(Path(sigil.__file__).parent.parent / "capabilities"):
        manifest = package.manifest
        parameters = {
            name: str(part.get("description", ""))
            for name, part in manifest.input.get("properties", {}).items()
        }
        texts = manifest.tags, manifest.aliases, manifest.examples
        index.add(
            IndexDocument(
                manifest.name, manifest.description, manifest.name, *texts, parameters=parameters
            )
        )
    return index


def test_the_library_answers_what_it_can_and_says_nothing_to_the_rest(
    library_of_the_product: Index,
) -> None:
    index = library_of_the_product
    answers = [(found(index, query), name) for query, name in ANSWERED if index.has(name, "")]
    right, first = (
        [name in names for names, name in answers],
        [names[:1] == [name] for names, name in answers],
    )
    silent = [not index.search(query, 3) for query in UNANSWERED]
    assert len(answers) >= 60
    assert sum(right) / len(right) >= 0.93
    assert sum(first) / len(first) >= 0.88
    assert sum(silent) / len(silent) >= 0.9


def rates(count: int) -> list[IndexDocument]:
    codes = [f"{first}{second}d" for first in "abcdefgh" for second in "uvwxyz"]
    return [
        document(f"currency-{code}", f"Convert an amount of money to the currency {code}.")
        for code in codes[:count]
    ]


def test_looking_around_shows_what_is_unlike_the_rest() -> None:
    index = filled(*rates(30), *LIBRARY)
    seen = [hit.ref for hit in diversify(index.find_candidates("", 20), 12)]
    assert {each.name for each in LIBRARY} <= set(seen)
    scores = [hit.score for hit in diversify(index.find_candidates("", 20), 20)]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] == 1.0
    assert scores[-1] < scores[5]
    assert diversify(index.find_candidates("", 20), 20) == diversify(
        filled(*LIBRARY, *rates(30)).find_candidates("", 20), 20
    )


def test_looking_around_for_something_keeps_to_it_and_does_not_repeat_itself() -> None:
    other = document(
        "exchange-history",
        "Which money a country had: a currency's history, with pictures of coins and notes.",
    )
    index = filled(*rates(30), other, *LIBRARY)
    plain = [hit.ref for hit in index.search("money of a currency", 5)]
    seen = [hit.ref for hit in diversify(index.find_candidates("money of a currency", 50), 3)]
    assert all(name.startswith("currency-") for name in plain)
    assert "exchange-history" in seen
    assert not {each.name for each in LIBRARY} & set(seen)


def test_there_is_something_to_look_at_in_a_large_index_too_and_nothing_in_an_empty_one() -> None:
    assert diversify(Index().find_candidates("", 20), 20) == []
    drawn = filled(
        *(document(f"n{number}", f"Number {number}.") for number in range(900))
    ).find_candidates("", 20)
    assert len(drawn) <= 450
    assert len(diversify(drawn, 20)) == 20


@settings(max_examples=times(20 if in_full() else 10), deadline=None)
@given(changes, changes, st.booleans())
def test_an_index_in_a_file_ranks_like_the_one_it_was_made_of(
    before: list[Any], after: list[Any], again: bool
) -> None:
    index = filled(*(replace(each, group="g") for each in LIBRARY[:4]))
    change(index, before)
    opened = Index()
    opened.open_file("g", index.write_file(index.copy_group("g"), {}))
    if again:
        opened.open_file("g", opened.write_file(opened.copy_group("g"), {}))
    for each in (index, opened):
        change(each, after)
    assert len(index) == len(opened)
    assert index.list_stamps("g") == opened.list_stamps("g")
    for query in QUERIES:
        assert index.search(query, 4) == opened.search(query, 4)
        assert index.find_candidates(query, 4) == opened.find_candidates(query, 4)


def change(index: Index, steps: list[tuple[bool, int, int]]) -> None:
    for number, (adding, which, text) in enumerate(steps):
        each = replace(
            LIBRARY[which],
            description=LIBRARY[text].description,
            group="g",
            stamp=number,
            until=float(text),
        )
        if adding:
            index.add(each)
        else:
            index.remove(each.ref, "g")


def test_when_documents_end_is_kept_in_a_file() -> None:
    index, opened = (
        filled(
            *(replace(each, group="g", until=float(number)) for number, each in enumerate(LIBRARY))
        ),
        Index(),
    )
    opened.open_file("g", index.write_file(index.copy_group("g"), {}))
    assert (
        sorted(opened.list_expired("g", 2.0))
        == sorted(index.list_expired("g", 2.0))
        == sorted(each.ref for each in LIBRARY[1:3])
    )
    opened.remove(LIBRARY[1].ref, "g")
    assert opened.list_expired("g", 2.0) == [LIBRARY[2].ref]


def test_a_text_that_is_no_unicode_is_in_no_file() -> None:
    index = filled(document("bad\ud800", "Grows tomatoes."))
    with pytest.raises(ValueError, match="surrogate"):
        index.write_file(index.copy_group(""), {})


strengths = st.lists(
    st.dictionaries(st.integers(0, 60), st.floats(0.125, 3, width=32), max_size=40),
    min_size=1,
    max_size=6,
)


@settings(max_examples=examples(75), deadline=None)
@given(
    strengths,
    st.lists(st.floats(0.1, 9), min_size=6, max_size=6),
    st.integers(1, 8),
    st.floats(0, 0.9),
)
def test_pruning_loses_none_of_the_best(
    postings: list[dict[int, float]], weights: list[float], count: int, share: float
) -> None:
    terms = [
        WeightedTerm(weight, str(place), _posting(each))
        for place, (weight, each) in enumerate(zip(weights, postings, strict=False))
    ]
    full = {number: score_of(terms, number) for each in postings for number in each}
    ranked = rank(terms, count, share)
    best = sorted(full.values(), reverse=True)[:count]
    assert all(full[number] == score for number, score in ranked.items())
    assert {
        number for number, score in full.items() if score >= best[-1] and score >= share * best[0]
    } <= ranked.keys()


def _posting(each: dict[int, float]) -> Posting:
    posting = Posting()
    for number, strength in sorted(each.items()):
        posting.append(number, strength)
    return posting


def test_a_typing_error_finds_what_the_library_calls_so(library_of_the_product: Index) -> None:
    index = library_of_the_product
    for query, name in (
        ("calcluate", "calculate"),
        ("calculte", "calculate"),
        ("unit conevrt", "unit-convert"),
        ("statistcs", "statistics"),
        ("weahter now", "weather-now"),
    ):
        assert name in found(index, query), query
    assert found(index, "the trail of a snail") == []
