"""A German, French or Spanish word is found in its other forms."""

from __future__ import annotations

from sigil.search import Index, IndexDocument
from sigil.search.inflection import list_forms, split_compound
from tests.tables import each_row

NAMES = {
    "dice": "Würfel; würfeln",
    "chart": "Balken",
    "easter": "Ostern",
    "rates": "umrechnen",
    "trim": "couper",
    "drop": "oublier",
}


@each_row(
    ("word", "language", "form"),
    [
        ("gewurfelt", "de", "wurfeln"),
        ("wuerfel", "de", "wurfel"),
        ("umgerechnet", "de", "umrechnen"),
        ("umzurechnen", "de", "umrechnen"),
        ("coupez", "fr", "couper"),
        ("oubliez", "fr", "oublier"),
        ("olvides", "es", "olvidar"),
    ],
)
def test_a_word_has_its_other_forms(word: str, language: str, form: str) -> None:
    assert form in list_forms(word, language)


def test_a_word_of_another_language_has_none() -> None:
    assert list_forms("running", "") == []


def test_a_compound_is_taken_apart_at_words_that_are_known() -> None:
    known = {"oster", "sonntag", "tag"}
    assert split_compound("ostersonntag", known.__contains__) == ["sonntag", "oster"]
    assert split_compound("regal", known.__contains__) == []


@each_row(
    ("query", "name"),
    [
        ("kannst du das auswürfeln", "dice"),
        ("ich habe zweimal gewürfelt", "dice"),
        ("zeig mir das als Balkendiagramme", "chart"),
        ("wann ist das Osterfest", "easter"),
        ("wie viel ist das umgerechnet", "rates"),
        ("coupez le texte", "trim"),
        ("tu oublies ce que je te dis", "drop"),
    ],
)
def test_a_request_finds_what_is_called_by_another_form(query: str, name: str) -> None:
    index = Index()
    for each, aliases in NAMES.items():
        index.add(IndexDocument(each, f"The {each} of it.", each, aliases=(aliases,)))
    assert [hit.ref for hit in index.search(query, 1)] == [name]
