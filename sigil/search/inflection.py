"""Inflection finds the other forms of a German, French or Spanish word.

These are its endings, participles, umlauts that are written as two letters, and the parts of a
compound.

The index stems all words as English ones, for nobody says in which language an alias is. A query
says it by its grammar, so the forms of a word that the index does not have are looked up there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

SHORTEST_STEM: Final = 4
SHORTEST_COMPOUND: Final = 9
SHORTEST_PART: Final = 5
"""Letters of a word in a compound: shorter ones occur in too many by chance."""
_ENDINGS: Final = {
    "de": "e n en er es em s t st te ten et ern".split(),
    "fr": "e s es er ez ent ons ait ant ee ees is it ir x".split(),
    "es": "o a os as s es ar er ir an en do da".split(),
}
_PARTICIPLE: Final = re.compile("(ab|an|auf|aus|bei|ein|nach|um|vor|zu|zusammen|)(?:ge|zu)(.{3,})")
_TWO_LETTERS: Final = re.compile("ae|oe|ue")


def list_forms(word: str, language: str) -> list[str]:
    """Return the other forms that a word may have in a language, itself excepted."""
    endings = _ENDINGS.get(language)
    if endings is None or not word.isalpha():
        return []
    words = [word]
    if language == "de":
        words += _spell_umlauts(word)
        words += [
            "".join(participle.groups())
            for each in words
            if (participle := _PARTICIPLE.fullmatch(each))
        ]
    forms: dict[str, None] = {}
    for each in words:
        stems = [each, *(each.removesuffix(ending) for ending in endings if each.endswith(ending))]
        for stem in stems:
            if len(stem) >= SHORTEST_STEM:
                forms[stem] = None
                forms.update(dict.fromkeys(stem + ending for ending in endings))
    forms.pop(word, None)
    return list(forms)


def split_compound(word: str, is_known: Callable[[str], bool]) -> list[str]:
    """Return the longest known words that a German compound ends and begins with."""
    if len(word) < SHORTEST_COMPOUND or not word.isalpha():
        return []
    found: list[str] = []
    for start in range(SHORTEST_STEM, len(word) - SHORTEST_PART + 1):
        if is_known(word[start:]):
            found.append(word[start:])
            break
    for end in range(len(word) - SHORTEST_STEM, SHORTEST_PART - 1, -1):
        if is_known(word[:end]):
            found.append(word[:end])
            break
    return found


def _spell_umlauts(word: str) -> list[str]:
    """Return the word with umlauts as the index has them, without their dots: `wuerfel`."""
    plain = _TWO_LETTERS.sub(lambda match: match[0][0], word)
    return [plain] if plain != word else []
