"""Whether a text that follows a failure asks about it, in whatever language it is written. Pure.

A text that is nothing but a question claims nothing, so it is taken for one about the failure
unless it offers more. One that says something first may claim what is not so: it has to admit the
failure, or to name it in its question. When in doubt it does not ask: then the answer is verified,
which costs a request, where a claim that is believed costs a person's trust.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

_SENTENCE = re.compile(r".+?(?:[.!?;…]++(?=[\s\"'”’»)\]*_`~]|$)|[。！？…؟۔।॥։።፧;\n]+|$)", re.DOTALL)
_CLAUSES = re.compile(r"[,，、،:：;；](?=\s|[^\x00-\x7f])|\s[-–—]\s|—")
_CHARACTERS = 2_000
"""So many of a text, its last ones, are looked at sentence by sentence: a model may write anything.
"""
_GREEK = re.compile(r"[\u0370-\u03ff\u1f00-\u1fff]")
_PARTICLES = ("吗", "嗎", "呢", "么", "か", "かな", "ไหม", "มั้ย", "หรือไม่", "หรือเปล่า", "ບໍ", "လား")
"""How a question ends in scripts that are often written without a mark for it."""
_OFFERS = (
    *(
        "anything else",
        "something else",
        "anything more",
        "what else",
        "else can i",
        "can i help",
        "help you",
        "assist you",
    ),
    *(
        "还有什么",
        "还有其他",
        "还有别的",
        "还需要",
        "其他问题",
        "帮您",
        "帮你",
        "還有",
        "還需要",
        "其他問題",
        "幫您",
        "幫你",
    ),
    *(
        "algo más",
        "otra cosa",
        "ayudarte",
        "ayudarle",
        "algo mais",
        "mais alguma",
        "ajudar",
        "autre chose",
        "vous aider",
        "t'aider",
    ),
    *(
        "sonst noch",
        "noch etwas",
        "noch was",
        "helfen",
        "altro",
        "aiutar",
        "nog iets",
        "verder nog",
        "anders nog",
        "helpen",
    ),
    *(
        "что-нибудь ещё",
        "что-нибудь еще",
        "что-то ещё",
        "что-то еще",
        "чем ещё",
        "чем еще",
        "помочь",
        "щось ще",
        "ще щось",
        "допомогти",
    ),
    *(
        "coś jeszcze",
        "jeszcze coś",
        "pomóc",
        "başka bir",
        "yardımcı",
        "شيء آخر",
        "أمر آخر",
        "مساعد",
        "أساعد",
        "چیز دیگر",
        "کمک",
    ),
    *(
        "עוד משהו",
        "לעזור",
        "और कुछ",
        "कुछ और",
        "मदद",
        "他に",
        "ほかに",
        "手伝",
        "다른",
        "더 필요",
        "도와",
        "gì khác",
        "gì nữa",
        "giúp",
    ),
    *(
        "อะไรอีก",
        "ช่วย",
        "ada lagi",
        "yang lain",
        "bantu",
        "κάτι άλλο",
        "βοηθήσω",
        "något annat",
        "något mer",
        "noe annet",
        "andet",
    ),
)
"""What stands in the questions that politeness asks after anything."""
_ADMISSIONS = (
    *(
        "could not",
        "couldn't",
        "couldn’t",
        "cannot",
        "can't",
        "can’t",
        "unable",
        "failed",
        "not found",
        "didn't work",
        "didn’t work",
    ),
    *(
        "did not work",
        "denied",
        "not allowed",
        "失败",
        "失敗",
        "无法",
        "無法",
        "没能",
        "沒能",
        "不存在",
        "找不到",
        "出错",
        "出錯",
        "错误",
    ),
    *(
        "no pude",
        "no puedo",
        "no se pudo",
        "no encontr",
        "falló",
        "não consegui",
        "não pude",
        "não foi possível",
        "falhou",
    ),
    *(
        "pas pu",
        "impossible",
        "échou",
        "introuvable",
        "konnte nicht",
        "kann nicht",
        "nicht gefunden",
        "fehlgeschlagen",
        "nicht möglich",
    ),
    *(
        "non sono riuscit",
        "non ho potuto",
        "impossibile",
        "non trovo",
        "niet gelukt",
        "kon niet",
        "mislukt",
        "niet gevonden",
    ),
    *(
        "не удалось",
        "не могу",
        "не смог",
        "не найден",
        "не вдалося",
        "не знайдено",
        "nie udało",
        "nie mogę",
        "nie znaleziono",
    ),
    *(
        "başarısız",
        "yapamadım",
        "bulunamadı",
        "لم أتمكن",
        "لم أستطع",
        "تعذر",
        "فشل",
        "لم أجد",
        "نتوانستم",
        "לא הצלחתי",
        "נכשל",
    ),
    *(
        "नहीं कर",
        "नहीं मिल",
        "विफल",
        "できません",
        "失敗",
        "見つかりません",
        "못했",
        "실패",
        "수 없",
        "không thể",
        "thất bại",
        "ไม่สามารถ",
    ),
    *(
        "ล้มเหลว",
        "ไม่พบ",
        "tidak dapat",
        "tidak bisa",
        "gagal",
        "δεν μπόρεσα",
        "απέτυχε",
        "kunde inte",
        "misslyckades",
        "kunne ikke",
    ),
)
"""How a person is told that something came to nothing."""


def asks_about_failure(text: str, names: Iterable[str]) -> bool:
    """Whether a text ends with a question about the failure before it. `names`: the tool that
    failed, and its error's code.
    """
    sentences = [
        part.strip()
        for part in _SENTENCE.findall(text[-_CHARACTERS:])
        if any(map(str.isalnum, part))
    ]
    if not sentences or not _is_question(sentences[-1]):
        return False
    question, said = sentences[-1].casefold(), text.casefold()
    if any(offer in question for offer in _OFFERS):
        return False
    if (
        len(sentences) == 1
        and len(text) <= _CHARACTERS
        and not _CLAUSES.search(question.rstrip(";"))
    ):
        return True
    return any(admission in said for admission in _ADMISSIONS) or any(
        name.casefold() in question for name in names if name
    )


def _is_question(sentence: str) -> bool:
    """Whether a sentence asks: a mark of any script says so, or the word that it ends with."""
    if any(
        _is_mark(character) and not _goes_on(sentence, place)
        for place, character in enumerate(sentence)
    ):
        return True
    words = sentence.rstrip("。.!！ \n*_`~")
    return words.endswith(_PARTICLES) or (words.endswith(";") and bool(_GREEK.search(words)))


def _goes_on(sentence: str, place: int) -> bool:
    """Whether a Latin question mark stands within an address."""
    return sentence[place] == "?" and sentence[place + 1 : place + 2].isalnum()


@lru_cache(maxsize=1024)
def _is_mark(character: str) -> bool:
    name = unicodedata.name(character, "")
    return "QUESTION MARK" in name or "INTERROBANG" in name
