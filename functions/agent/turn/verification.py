"""An answer that rests on a failure is verified, once a turn, and what that changed is measured.

Whether a text asks about the failure, in whatever language it is written, decides: who asks claims
nothing. A text that is nothing but a question is taken for one about the failure unless it offers
more. One that says something first may claim what is not so: it has to admit the failure, or to
name it in its question. When in doubt it does not ask: then the answer is verified, which costs a
request, where a claim that is believed costs a person's trust. A time that may be two is no failure
to tell of: the call brought a question, and whoever passes it on has done what it asks for.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final

import orjson

from functions.agent.conversation.messages import Message
from functions.agent.conversation.toolset import is_capability
from functions.agent.model.base import ModelReply
from functions.agent.safety.failure_codes import CODES, describe_failure
from functions.agent.session.document import Turn
from functions.texts.en import TEXTS as ENGLISH
from functions.texts.en import Texts
from sigil.protocol import Json, capability_of

ASKS: Final = "EASK"
"""The code of a call that brought a question to the person."""
_SENTENCE = re.compile(r".+?(?:[.!?;…]++(?=[\s\"'”’»)\]*_`~]|$)|[。！？…؟۔।॥։።፧;\n]+|$)", re.DOTALL)
_CLAUSES = re.compile(r"[,，、،:：;；](?=\s|[^\x00-\x7f])|\s[-–—]\s|—")
_CHARACTERS = 2_000
"""Only the last characters of a text are examined sentence by sentence: it may have any length."""
_GREEK = re.compile(r"[\u0370-\u03ff\u1f00-\u1fff]")
_PARTICLES = ("吗", "嗎", "呢", "么", "か", "かな", "ไหม", "มั้ย", "หรือไม่", "หรือเปล่า", "ບໍ", "လား")
"""How a question ends in scripts that are often written without a mark for it."""
_POLITE_OFFERS: Final = tuple(
    (
        "anything else, something else, anything more, what else, else can i, can i help, "
        "help you, assist you, 还有什么, 还有其他, 还有别的, 还需要, 其他问题, 帮您, 帮你, "
        "還有, 還需要, 其他問題, 幫您, 幫你, algo más, otra cosa, ayudarte, ayudarle, "
        "algo mais, mais alguma, ajudar, autre chose, vous aider, t'aider, sonst noch, "
        "noch etwas, noch was, helfen, altro, aiutar, nog iets, verder nog, anders nog, "
        "helpen, что-нибудь ещё, что-нибудь еще, что-то ещё, что-то еще, чем ещё, чем еще, "
        "помочь, щось ще, ще щось, допомогти, coś jeszcze, jeszcze coś, pomóc, başka bir, "
        "yardımcı, شيء آخر, أمر آخر, مساعد, أساعد, چیز دیگر, کمک, עוד משהו, לעזור, और कुछ, "
        "कुछ और, मदद, 他に, ほかに, 手伝, 다른, 더 필요, 도와, gì khác, gì nữa, giúp, อะไรอีก, "
        "ช่วย, ada lagi, yang lain, bantu, κάτι άλλο, βοηθήσω, något annat, något mer, "
        "noe annet, andet"
    ).split(", ")
)
"""Phrases of the questions that politeness asks after anything."""
_ADMISSIONS: Final = tuple(
    (
        "could not, couldn't, couldn’t, cannot, can't, can’t, unable, failed, not found, "
        "didn't work, didn’t work, did not work, denied, not allowed, 失败, 失敗, 无法, 無法, "
        "没能, 沒能, 不存在, 找不到, 出错, 出錯, 错误, no pude, no puedo, no se pudo, "
        "no encontr, falló, não consegui, não pude, não foi possível, falhou, pas pu, "
        "impossible, échou, introuvable, konnte nicht, kann nicht, nicht gefunden, "
        "fehlgeschlagen, nicht möglich, non sono riuscit, non ho potuto, impossibile, "
        "non trovo, niet gelukt, kon niet, mislukt, niet gevonden, не удалось, не могу, "
        "не смог, не найден, не вдалося, не знайдено, nie udało, nie mogę, nie znaleziono, "
        "başarısız, yapamadım, bulunamadı, لم أتمكن, لم أستطع, تعذر, فشل, لم أجد, نتوانستم, "
        "לא הצלחתי, נכשל, नहीं कर, नहीं मिल, विफल, できません, 失敗, 見つかりません, 못했, "
        "실패, 수 없, không thể, thất bại, ไม่สามารถ, ล้มเหลว, ไม่พบ, tidak dapat, tidak bisa, "
        "gagal, δεν μπόρεσα, απέτυχε, kunde inte, misslyckades, kunne ikke"
    ).split(", ")
)
"""Phrases that tell a person that something has failed."""


def needs_verification(turn: Turn, reply: ModelReply, messages: Sequence[Message]) -> bool:
    """Return whether a reply claims to be an answer though the turn's last call failed.

    `messages` are the history before the reply. False once the turn has verified an answer. A reply
    that was refused, or cut off by a filter, claims nothing.
    """
    if reply.finish not in ("stop", "length") or reply.calls or not reply.text:
        return False
    rows = [row for row in turn.trace if row["kind"] in ("call", "verify")]
    if not rows or any(row["kind"] == "verify" for row in rows):
        return False
    last = rows[-1]
    if last["error"] == ASKS:
        question = _find_error(messages)
        passed_on = bool(question) and question in reply.text
        return not (passed_on or _find_last_question(reply.text))
    if not last.get("fingerprint"):
        return False
    names = (_tool_name(last), str(last["name"]), str(last["error"]))
    return not asks_about_failure(reply.text, names)


def describe_unmended_failure(turn: Turn, texts: Texts = ENGLISH) -> str:
    """Return the line about a failure that a verification left as it was, empty without one.

    It names the tool and what the code means. It repeats nothing of what the tool said, for that
    could be anybody's words.
    """
    if find_outcome(turn) != "unchanged":
        return ""
    last = [row for row in turn.trace if row["kind"] == "call"][-1]
    error = str(last["error"])
    reason = str(last.get("reason", ""))
    meaning = describe_failure(error if error in CODES else "EGUEST", reason, texts)
    return texts.tool_failed.format(tool=_tool_name(last), meaning=meaning)


def find_outcome(turn: Turn) -> str:
    """Return what became of the failure since the verification, empty when there was none.

    `mended`, `changed` (something else failed) or `unchanged`.
    """
    kinds = [row["kind"] for row in turn.trace]
    if "verify" not in kinds:
        return ""
    verified_at = kinds.index("verify")
    before = [row for row in turn.trace[:verified_at] if row["kind"] == "call"]
    after = [row for row in turn.trace[verified_at:] if row["kind"] == "call"]
    if not after:
        return "unchanged"
    first = before[-1]
    last = after[-1]
    if not last.get("fingerprint") and last["error"] != ASKS:
        return "mended"
    same = all(first.get(field) == last.get(field) for field in ("fingerprint", "error"))
    return "unchanged" if same else "changed"


def _tool_name(row: Mapping[str, Json]) -> str:
    """Return the name that people know the tool of a call by."""
    tool = str(row["name"])
    return (capability_of(tool) if is_capability(tool) else None) or tool


def asks_about_failure(text: str, names: Iterable[str]) -> bool:
    """Return whether a text ends with a question about the failure before it.

    `names` are the tool that failed and its error's code.
    """
    question = _find_last_question(text)
    if not question:
        return False
    only_a_question = len(_split_sentences(text)) == 1 and len(text) <= _CHARACTERS
    if only_a_question and not _CLAUSES.search(question.rstrip(";")):
        return True
    whole = text.casefold()
    if any(admission in whole for admission in _ADMISSIONS):
        return True
    return any(name.casefold() in question for name in names if name)


def _find_error(messages: Sequence[Message]) -> str:
    """Return what the last call of a history said that failed."""
    result = next((each.content for each in reversed(messages) if each.role == "tool"), "{}")
    try:
        return str(orjson.loads(result.partition("\n")[0])["error"]["message"])
    except (orjson.JSONDecodeError, LookupError, TypeError):
        return ""


def _split_sentences(text: str) -> list[str]:
    parts = _SENTENCE.findall(text[-_CHARACTERS:])
    return [part.strip() for part in parts if any(map(str.isalnum, part))]


def _find_last_question(text: str) -> str:
    """Return the question that a text ends with, in lower case; empty for none but a polite one."""
    sentences = _split_sentences(text)
    if not sentences or not _is_question(sentences[-1]):
        return ""
    question = sentences[-1].casefold()
    return "" if any(offer in question for offer in _POLITE_OFFERS) else question


def _is_question(sentence: str) -> bool:
    """Return whether a sentence asks, by a mark of any script or by the word that it ends with."""
    for position, character in enumerate(sentence):
        # a Latin question mark before a letter or digit is part of an address
        in_address = character == "?" and sentence[position + 1 : position + 2].isalnum()
        if _is_question_mark(character) and not in_address:
            return True
    words = sentence.rstrip("。.!！ \n*_`~")
    return words.endswith(_PARTICLES) or (words.endswith(";") and bool(_GREEK.search(words)))


@lru_cache(maxsize=1024)
def _is_question_mark(character: str) -> bool:
    name = unicodedata.name(character, "")
    return "QUESTION MARK" in name or "INTERROBANG" in name
