"""Languages that the agent's texts are not in: how they are told, and one sentence in each.

The offline model knows no word of them. Whoever asks in one of them learns in it what is known.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

_WORD: Final = re.compile(r"(?<!\w)[^\W\d_]+(?!\w)")
READ_CHARACTERS: Final = 2_000
MANY_WORDS: Final = 3
FEWEST_WORDS: Final = 2
"""Grammar words that show a language which is written with the letters of others."""


@dataclass(frozen=True, slots=True)
class _Language:
    """A language: characters that only it has, or words that nobody does without; its sentence."""

    sentence: str
    characters: str = ""
    words: frozenset[str] = frozenset()


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LANGUAGES: Final[Mapping[str, _Language]] = {
    "ja": _Language(
        "日本語はわかりません。英語、ドイツ語、中国語ならわかります。", "\u3041-\u309f\u30a1-\u30fa"
    ),
    "ko": _Language("한국어는 모릅니다. 영어, 독일어, 중국어를 압니다.", "\uac00-\ud7a3"),
    "ru": _Language(
        "Я не понимаю по-русски. Я понимаю английский, немецкий и китайский.", "\u0400-\u04ff"
    ),
    "ar": _Language("لا أفهم العربية. أفهم الإنجليزية والألمانية والصينية.", "\u0600-\u06ff"),
    "he": _Language("אני לא מבין עברית. אני מבין אנגלית, גרמנית וסינית.", "\u0590-\u05ff"),
    "el": _Language(
        "Δεν καταλαβαίνω ελληνικά. Καταλαβαίνω αγγλικά, γερμανικά και κινεζικά.", "\u0370-\u03ff"
    ),
    "th": _Language("ฉันไม่เข้าใจภาษาไทย ฉันเข้าใจภาษาอังกฤษ เยอรมัน และจีน", "\u0e00-\u0e7f"),
    "hi": _Language("मैं हिंदी नहीं समझता। मैं अंग्रेज़ी, जर्मन और चीनी समझता हूँ।", "\u0900-\u097f"),
    "fr": _Language(
        "Je ne comprends pas le français. Je comprends l'anglais, l'allemand et le chinois.",
        words=_words(
            "le la les des du est sont et je tu il elle nous vous mon ma mes ce cette que qui quel"
            " quelle combien comment pourquoi où dans avec pour sur pas ne au aux un une font fait"
            " fois jours jour quelle heure plus moins peux peut avez suis bonjour merci"
        ),
    ),
    "es": _Language(
        "No entiendo el español. Entiendo inglés, alemán y chino.",
        words=_words(
            "el la los las un una es son y de del que qué cuál cuánto cuántos cuántas cuántas cómo"
            " dónde por para con mi mis hay está estoy hoy día días faltan cuanto cuantos"
            " hora tengo puedes veces más menos hola gracias quiero"
        ),
    ),
    "it": _Language(
        "Non capisco l'italiano. Capisco l'inglese, il tedesco e il cinese.",
        words=_words(
            "il lo gli un una è sono e di del della che quanto quanti quante quale come dove per"
            " con mio mia oggi giorno giorni fa fanno più meno volte ora ciao grazie puoi"
        ),
    ),
    "pt": _Language(
        "Não entendo português. Entendo inglês, alemão e chinês.",
        words=_words(
            "o os um uma é são e do da dos das que quanto quantos quantas qual como onde por para"
            " com meu minha hoje dia dias vezes mais menos não você olá obrigado faltam"
        ),
    ),
    "nl": _Language(
        "Ik begrijp geen Nederlands. Ik begrijp Engels, Duits en Chinees.",
        words=_words(
            "de het een is zijn en van dat die hoeveel hoe wat waar wanneer ik jij mijn met voor op"
            " niet keer meer dag dagen uur kun je bedankt hallo welke"
        ),
    ),
    "pl": _Language(
        "Nie rozumiem po polsku. Rozumiem angielski, niemiecki i chiński.",
        words=_words(
            "i w na jest są nie to ile jak gdzie kiedy co czy mój moja dla z do razy plus minus dni"
            " dzień godzina proszę dziękuję cześć się"
        ),
    ),
    "tr": _Language(
        "Türkçe bilmiyorum. İngilizce, Almanca ve Çince biliyorum.",
        words=_words(
            "ve bir bu ne kaç nasıl nerede için ile mi mı mu mü var yok gün saat bugün ben sen"
            " benim kadar çok merhaba teşekkürler kaldı artı eksi kere"
        ),
    ),
}


def find_sentence(text: str) -> str:
    """Return the sentence in the language of a text; empty where its language cannot be told."""
    text = text[:READ_CHARACTERS]
    for language in _LANGUAGES.values():
        if language.characters and _is_mostly(text, language.characters):
            return language.sentence
    words = set(_WORD.findall(text.casefold()))
    best = ""
    most = FEWEST_WORDS - 1
    for code, language in _LANGUAGES.items():
        hits = sum(word in language.words for word in words)
        if hits > most:
            best = code
            most = hits
    return _LANGUAGES[best].sentence if best else ""


def is_strange(text: str) -> bool:
    """Return whether a text is in no script that is known here, or in words with letters that
    neither English nor German has.
    """
    text = text[:READ_CHARACTERS]
    foreign = re.search("[\u00c0-\u024f\u1e00-\u1eff]", re.sub("[ÄÖÜäöüßéÉ]", "", text))
    in_words = len(_WORD.findall(text)) >= MANY_WORDS and foreign is not None
    return in_words or _is_mostly(text, "^A-Za-z\u00aa-\u024f\u1e00-\u1eff\u3400-\u9fff")


def _is_mostly(text: str, characters: str) -> bool:
    """Return whether at least a third of a text's letters are of these; Japanese has others too."""
    letters = "".join(each for each in text if each.isalpha())
    return bool(letters) and len(re.findall(f"[{characters}]", letters)) * 3 >= len(letters)
