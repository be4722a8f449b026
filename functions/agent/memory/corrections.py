"""Corrections tell which remembered things a new one ends: what somebody had before is over.

Two things are about the same when the words of their subject and predicate are, in whatever order
and language, without words that only say whose it is. Whether both can hold is told by the
predicate, and by what the person said: "my other sister" adds one, "no, his name is Max" does not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Final, Literal

from functions.agent.memory.helpers import Terms
from functions.agent.memory.predicates import (
    MANY,
    ONE,
    OTHER,
    OWN,
    OWN_UNSPACED,
    PREPOSITIONS,
    SPEAKERS,
    SPEAKING,
)
from functions.agent.memory.thing import USER, Thing, fold, is_id, outranks
from functions.agent.memory.things import SavedThing, Things

if TYPE_CHECKING:
    from functions.agent.shares import Holder

Arity = Literal["one", "many", "unclear"]
"""How many values can hold together; `unclear` for what reads like a verb that is not known."""
Cue = Literal["", "adds", "changes", "ends", "corrects"]
"""What the words of a person say of what was there before: nothing; that there is one more; that
something is otherwise now; that something is over; that it was wrong.
"""
KNOWN_MOST: Final = 100
"""So many things about the same are read, the newest."""
BOTH: Final = frozenset(("none", "nothing", "no", "null", "keins", "nichts", "无", "没有"))
"""A model says so that a new thing replaces nothing."""
_UNSPACED: Final = re.compile("[\u3040-\u30ff\u3400-\u9fff]+")
_WORD: Final = re.compile("[\u3040-\u30ff\u3400-\u9fff]+|[^\\W_\u3040-\u30ff\u3400-\u9fff]+")
_CAMEL: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
_POSSESSIVE: Final = re.compile(r"['’]s\b")
_FAVOURITE: Final = re.compile(r"lieblings(?=\w{3})")
_PHRASE_WORDS: Final = 5
_LONGEST_UNSPACED: Final = 6
_COPULA: Final = "is"
_FAVOURITES: Final = "favourite"

_CUES: Final[Sequence[tuple[Cue, str]]] = (
    (
        "adds",
        r"\b(?:my|our|the) other\b|\b(?:a|the|my|our) (?:second|third)\b|\bone more\b"
        r"|\bbesides\b|\bin addition\b|\badditional"
        r"|\bmein(?:e|en|em|er)? (?:andere|zweite|dritte|weitere)\w*\b|\bnoch eine?n?\b"
        r"|\bweitere[rsn]?\b|\bzusätzlich\b|\baußerdem\b"
        r"|还有|另外|另一|第[二三]|除了",
    ),
    (
        "corrects",
        r"^\W*(?:no|nope|nah|wrong)\b(?! (?:one|problem|idea|doubt|matter|worries))"
        r"|\b(?:wait|sorry|oops|actually),? no\b|\bcorrection\b|\bmistake\b|\btypo\b|\bI meant\b"
        r"|\bwas wrong\b|\bisn['’]?t right\b|\bis not right\b|\bmisspoke\b"
        r"|^\W*(?:nein|nee?|quatsch|falsch)\b|\bfalsch\b|\bmeinte ich\b|\bich meinte\b"
        r"|\bstimmt (?:so )?nicht\b|\bvertippt\b|\bverschrieben\b|\bversprochen habe ich mich\b"
        r"|\bkorrektur\b|\birrtum\b"
        r"|不对|说错|打错|写错|记错|搞错|弄错|错了|更正|纠正|应该是|不是.{0,20}[,， ]?是",
    ),
    (
        "ends",
        r"\bno longer\b|\bany ?more\b|\binstead\b|\brather than\b|\breplaced\b|\bswitched\b"
        r"|\bquit\b|\bsold\b|\bgave up\b|\bstopped\b|\bgot rid of\b|\bbroke up\b|\bleft\b"
        r"|\bnicht mehr\b|\bkeine?n? .{0,40}mehr\b|\b(?:an)?statt\b|\bstattdessen\b"
        r"|\bnur noch\b|\bgekündigt\b|\bverkauft\b|\baufgehört\b|\bist weg\b|\bgewechselt\b"
        r"|不再|不.{0,6}了|换成|换了|改成|改为|而不是|卖了|走了|戒了|离职|辞职|跳槽",
    ),
    (
        "changes",
        r"\bnow\b|\bnowadays\b|\bthese days\b|\bchanged\b|\bmoved\b|\bused to\b|\brenamed\b"
        r"|\bbecame\b|\bfrom now on\b|\bnew\b|^\W*(?:sorry|oops|wait|actually)\b"
        r"|\bjetzt\b|\bnun\b|\binzwischen\b|\bmittlerweile\b|\bgeändert\b|\bumgezogen\b"
        r"|\bverlegt\b|\bkünftig\b|\bab sofort\b|\bneue?[rsn]?\b|^\W*(?:warte|moment|ups)\b"
        r"|现在|如今|目前|改|换|搬|变成|新的?|已经|等等|其实",
    ),
    (
        "adds",
        r"\balso\b|\btoo\b|\bas well\b|\banother\b|^\W*and\b|\bboth\b"
        r"|\bauch\b|\bnoch\b|^\W*und\b|\bbeide\b|也|^\W*还|都",
    ),
)
"""The words that tell, those first that say more."""
_CORRECTING: Final = ("changes", "ends", "corrects")


@dataclass(frozen=True, slots=True)
class Slot:
    """What a thing gives a value of, as the words that name it, and how many values it has.

    `written` has each of the words as they were written, and in all other ways that are known.
    """

    words: frozenset[str]
    arity: Arity
    written: Mapping[str, frozenset[str]]


@dataclass(frozen=True, slots=True)
class _Vocabulary:
    """The word that stands for each known one, all that one stands for, and how many values each
    has.
    """

    first: Mapping[str, str]
    forms: Mapping[str, frozenset[str]]
    arity: Mapping[str, Arity]


@cache
def _load_vocabulary() -> _Vocabulary:
    first: dict[str, str] = {}
    forms: dict[str, frozenset[str]] = {}
    arity: dict[str, Arity] = {}
    kinds: Sequence[tuple[Arity | None, str]] = (("one", ONE), ("many", MANY), (None, OTHER))
    for kind, text in kinds:
        for paragraph in text.split("\n\n"):
            words = [fold(word) for word in paragraph.split(",")]
            forms[words[0]] = frozenset(words)
            for word in words:
                first.setdefault(word, words[0])
            if kind:
                arity[words[0]] = kind
    return _Vocabulary(first, forms, arity)


def find_slot(thing: Thing) -> Slot | None:
    """Return what a thing gives a value of; None for an event, which only happens, and where no
    word tells it.
    """
    if thing.kind == "event":
        return None
    subject = split_words(thing.texts[0])
    if thing.kind == "kv":
        slot = _make_slot((), subject, thing.texts[0])
    else:
        slot = _make_slot(subject, split_words(thing.texts[1]), thing.texts[1])
    return slot if slot.words else None


def _make_slot(
    subject: Sequence[tuple[str, str]], predicate: Sequence[tuple[str, str]], text: str
) -> Slot:
    known = _load_vocabulary()
    arity = _find_arity([first for first, _ in predicate], text)
    if [first for first, _ in predicate] == [_COPULA]:
        # the subject names the attribute: "my boss is Karen"
        named = [first for first, _ in subject]
        arity = "one" if _has_one(named) else "many"
        predicate = () if arity == "one" else predicate
    written: dict[str, frozenset[str]] = {}
    for first, word in (*subject, *predicate):
        forms = written.get(first, known.forms.get(first, frozenset((first,))))
        written[first] = forms | {word}
    return Slot(frozenset(written), arity, written)


def _has_one(words: Iterable[str]) -> bool:
    arity = _load_vocabulary().arity
    return any(arity.get(word) == "one" or word == _FAVOURITES for word in words)


def _find_arity(words: Sequence[str], text: str) -> Arity:
    """Return how many values a predicate has together.

    A noun names what there is one of, its plural what there are several of. What an unknown verb
    says is unclear.
    """
    known = _load_vocabulary()
    plain = re.findall(r"[^\W\d_]+", text.casefold())
    if not plain:
        return "one"
    if _is_plural(plain):
        return "many"
    if _has_one(words):
        return "one"
    if any(known.arity.get(word) == "many" for word in words):
        return "many"
    if _UNSPACED.search(text):
        is_verb = re.search(r"[过了]$|^(?:想|会|能|要|可以)", text.strip()) is not None
        return "unclear" if is_verb else "one"
    last = plain[-1]
    is_verb = plain[0].endswith(("ing", "ed")) or last in PREPOSITIONS
    is_verb = is_verb or any(
        word.endswith("s") and not word.endswith(("ss", "us", "is", "'s")) and word not in OWN
        for word in (plain[0], last)
    )
    return "unclear" if is_verb else "one"


def _is_plural(words: Sequence[str]) -> bool:
    """Return whether the last of the words is the plural of a known one, as in "phone numbers"."""
    known = _load_vocabulary().first
    last = words[-1]
    if not last.endswith("s") or last in known:
        return False
    single = f"{last[:-3]}y" if last.endswith("ies") else last[:-1]
    return any(" ".join((*words[start:-1], single)) in known for start in range(len(words)))


def split_words(text: str) -> list[tuple[str, str]]:
    """Return the words that a text is about, each as the one that stands for it and as written.

    The person who speaks is no word: nothing is left of "the user". Of a predicate of grammar
    alone, such as "is", that is left.
    """
    plain = _FAVOURITE.sub("lieblings ", _POSSESSIVE.sub("", fold(_CAMEL.sub(" ", text))))
    words = _WORD.findall(plain)
    known = _load_vocabulary()
    found: list[tuple[str, str]] = []
    dropped: list[str] = []
    place = 0
    while place < len(words):
        phrase = _find_phrase(words[place : place + _PHRASE_WORDS])
        word = words[place]
        if phrase:
            found.append((known.first[phrase], phrase))
            place += phrase.count(" ")
        elif _UNSPACED.fullmatch(word):
            found += _split_unspaced(word)
        elif word in OWN:
            dropped.append(word)
        else:
            found.append((word, word))
        place += 1
    grammar = [word for word in dropped if word not in SPEAKING]
    if not found and grammar:
        word = " ".join(grammar)
        if PREPOSITIONS.isdisjoint(grammar):
            word = next((each for each in grammar if each in known.first), word)
        found.append((known.first.get(word, word), word))
    return found


def _find_phrase(words: Sequence[str]) -> str:
    """Return the longest known phrase at the beginning of words; empty for none."""
    known = _load_vocabulary().first
    for size in range(len(words), 0, -1):
        phrase = " ".join(words[:size])
        if phrase in known and not (size == 1 and phrase in OWN):
            return phrase
    return ""


def _split_unspaced(text: str) -> list[tuple[str, str]]:
    """Return the known words of a text without spaces, and what is left between them."""
    known = _load_vocabulary()
    found: list[tuple[str, str]] = []
    for part in text.split("的"):
        piece = _strip_own(part)
        rest = ""
        place = 0
        while place < len(piece):
            sizes = range(min(_LONGEST_UNSPACED, len(piece) - place), 1, -1)
            size = next((size for size in sizes if piece[place : place + size] in known.first), 0)
            if size:
                found += _name_rest(rest)
                rest = ""
                word = piece[place : place + size]
                found.append((known.first[word], word))
                place += size
            else:
                rest += piece[place]
                place += 1
        found += _name_rest(rest)
    return found


def _strip_own(piece: str) -> str:
    """Return a text without spaces without whose it is, and without its copula."""
    known = _load_vocabulary().first
    for own in OWN_UNSPACED:
        if piece.startswith(own) and piece not in known:
            piece = piece.removeprefix(own)
    return piece.rstrip("是为") if len(piece) > 1 else piece


def _name_rest(rest: str) -> list[tuple[str, str]]:
    """Return what is no known word; a single character is one only where it stands alone."""
    return [(_load_vocabulary().first.get(rest, rest), rest)] if rest else []


def names_speaker(subject: str) -> bool:
    """Return whether a subject is the person who speaks."""
    return not split_words(subject)


def read_cue(words: str) -> Cue:
    """Return what a person's words say of what was there before."""
    return next((cue for cue, pattern in _CUES if re.search(pattern, words, re.IGNORECASE)), "")


def list_known(things: Things, thing: Thing, slot: Slot, terms: Terms) -> list[Thing]:
    """Return what is remembered of the same, ended things too, the newest first."""
    groups = [
        {_longest_terms(form, terms) for form in slot.written[word]} for word in sorted(slot.words)
    ]
    about: Collection[str] = {thing.about}
    if names_speaker(thing.about):
        about = {thing.about, *SPEAKERS}
    found = things.list_with_terms(groups, about, KNOWN_MOST)
    return [other for other in found if _is_about(other, slot)]


def _is_about(other: Thing, slot: Slot) -> bool:
    known = find_slot(other)
    return known is not None and known.words == slot.words


def _longest_terms(form: str, terms: Terms) -> frozenset[str]:
    """Return the terms of a form, without single characters where there are pairs of them."""
    found = terms(form)
    if form.isascii():
        return frozenset(found)
    longest = max(map(len, found), default=0)
    return frozenset(term for term in found if len(term) == longest)


@dataclass(frozen=True, slots=True)
class Said:
    """The words of the person in whose turn something is remembered.

    `since` is when that turn began: what one message says together holds together. `is_alone` says
    that nobody else tells this memory anything.
    """

    words: str = ""
    since: float = 0.0
    is_alone: bool = True


@dataclass(frozen=True, slots=True)
class Correction:
    """What became of a thing that was remembered: as it was saved, the things that it ended, and
    those of the same that hold beside it though that may be wrong.
    """

    saved: SavedThing
    ended: Sequence[Thing] = ()
    beside: Sequence[Thing] = ()

    @property
    def restored(self) -> Thing | None:
        """Return the thing when it had ended, and is true again."""
        before = self.saved.before
        return self.saved.thing if before and before.ended else None


def save_thing(
    things: Things,
    thing: Thing,
    terms: Terms,
    *,
    replaces: str,
    read_said: Callable[[], Said],
    now: float,
    holder: Holder | None = None,
) -> Correction:
    """Write a thing, and end those that do not hold beside it.

    `replaces` is what the model says that it replaces: an id, a value, `none`, or nothing. Only
    where it says nothing, and there are other values, the person's words are read. What is less
    sure, or no person's word, ends nothing that a person said: it is kept as disputed. Raises as
    `Things.save`.
    """
    slot = find_slot(thing)
    known = list_known(things, thing, slot, terms) if slot else []
    same = next((each for each in known if _is_same_fact(each, thing)), None)
    if same:
        thing = replace(thing, texts=(*same.texts[:2], thing.texts[2]))
    value = fold(thing.texts[-1])
    others = []
    for each in known:
        is_other = each.id != thing.id and fold(each.texts[-1]) != value
        if is_other and not each.ended and not each.disputed:
            others.append(each)
    over: Sequence[Thing] = ()
    beside: Sequence[Thing] = ()
    if fold(replaces) not in BOTH:
        over = _find_replaced(things, others, thing, replaces) if replaces else ()
        if slot and others and not over:
            over, beside = _judge_others(thing, slot, others, read_said())
    surer = next((each for each in over if not _may_end(thing, each)), None)
    if surer is None and same and same.ended and not _may_end(thing, same):
        surer = same
    if surer:
        over = ()
        if thing.kind == "fact":
            thing = replace(thing, mark=thing.source, instead=surer.id)
    saved = things.save(thing, holder)
    ended = [] if saved.surer else things.end([each.id for each in over], saved.thing.id, now)
    _drop_settled_disputes(things, known, saved.thing)
    return Correction(replace(saved, surer=saved.surer or surer), ended, beside)


def _is_same_fact(known: Thing, thing: Thing) -> bool:
    """Return whether both are facts that say the same of the same, in whatever words."""
    is_fact = known.kind == thing.kind == "fact" and not known.disputed
    return is_fact and fold(known.texts[-1]) == fold(thing.texts[-1])


def _may_end(thing: Thing, before: Thing) -> bool:
    """Return whether a thing is sure enough to end another one."""
    if before.source == USER and thing.source != USER:
        return False
    return outranks(thing, before)


def _find_replaced(
    things: Things, others: Sequence[Thing], thing: Thing, replaces: str
) -> Sequence[Thing]:
    """Return what a model says that a thing replaces: one by its id, or others by their value."""
    if is_id(replaces):
        named = things.get(replaces)
        is_other = named is not None and named.id != thing.id and not named.ended
        return (named,) if named and is_other else ()
    wanted = fold(replaces)
    exact = [other for other in others if fold(other.texts[-1]) == wanted]
    return exact or [other for other in others if _says(fold(other.in_words), wanted)]


def _judge_others(
    thing: Thing, slot: Slot, others: Sequence[Thing], said: Said
) -> tuple[Sequence[Thing], Sequence[Thing]]:
    """Return those of the other values that a new one ends, and those that may hold or not."""
    words = said.words if thing.source == USER else ""
    cue = read_cue(words)
    earlier = []
    for other in others:
        is_own = other.by == thing.by or said.is_alone
        # others of a group have a dog as well: what one says of theirs corrects nobody
        is_meant = is_own or (cue in _CORRECTING and not names_speaker(thing.about))
        if other.at <= said.since and is_meant:
            earlier.append(other)
    over = choose_ended(slot, earlier, words)
    if slot.arity == "many" or cue == "adds":
        return over, ()
    return over, [other for other in others if other not in over]


def _drop_settled_disputes(things: Things, known: Sequence[Thing], saved: Thing) -> None:
    """Forget disputed facts that say now what holds, and what a source said before."""
    for other in known:
        if other.kind != "fact" or not other.disputed or other.id == saved.id:
            continue
        agrees = not saved.disputed and fold(other.texts[-1]) == fold(saved.texts[-1])
        if agrees or other.source == saved.source:
            things.drop(other.id)


def choose_ended(slot: Slot, others: Sequence[Thing], words: str) -> list[Thing]:
    """Return which of the other values do not hold beside a new one, by the person's words."""
    cue = read_cue(words)
    if slot.arity == "one":
        return [] if cue == "adds" else list(others)
    if slot.arity == "unclear":
        return list(others) if cue in _CORRECTING else []
    if cue not in ("ends", "corrects"):
        return []
    said = fold(words)
    named = [other for other in others if _says(said, fold(other.texts[-1]))]
    return named or (list(others) if len(others) == 1 else [])


def _says(words: str, text: str) -> bool:
    """Return whether words have a text in them, as whole words."""
    if _UNSPACED.search(text):
        return text in words
    return re.search(rf"(?<!\w){re.escape(text)}(?!\w)", words) is not None


def mentions(line: str, thing: Thing) -> bool:
    """Return whether a line says a thing among others, in whatever words."""
    text = fold(thing.texts[-1])
    slot = find_slot(thing)
    if not _says(fold(line), text):
        return False
    if slot is None:
        return True
    said = {word for word, _ in split_words(line)}
    named = {word for word, _ in split_words(thing.about)}
    return slot.words <= said or (bool(named) and named <= said)
