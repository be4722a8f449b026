"""Reads in a person's words what was remembered wrong, or is otherwise now.

Only what follows something that was remembered can correct it. Where the words do not say what is
true instead, they are kept as they are: what they correct is not told as true any more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from functions.agent.model.offline_memory import list_telling
from sigil.json_fields import as_mapping, as_sequence, as_string
from sigil.protocol import Json

CORRECTION_CHARACTERS = 200
_PARTS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?P<subject>I|(?:\S+ ){0,5}?\S+)\s+(?P<predicate>(?:is|are|am) (?:called|named)"
        r"|lives? in|works? (?:at|for)|drives?|is (?:kept )?(?:in|under)|is)\s+(?P<object>\S.*)",
        r"(?P<subject>ich|(?:\S+ ){0,5}?\S+)\s+(?P<predicate>hei(?:ß|ss)[te]|wohnt? in|lebt? in"
        r"|arbeitet? bei|fahre|fährt|steht i[nm]|liegt i[nm]|ist)\s+(?P<object>\S.*)",
        r"(?P<subject>[^\s,，]{1,12}?)(?P<predicate>叫做?|住在|是)\s*(?P<object>\S.*)",
        r"(?P<subject>[^\s,，我]{1,12}?)(?P<predicate>在)(?P<object>\S.*)",
    )
)
"""Sentences that say what somebody has one of at a time."""
_LEAD = re.compile(
    r"^(?:(?:oops|sorry|no|nope|nah|wait|actually|correction|wrong|nein|nee?|warte|moment|ups"
    r"|quatsch|falsch|korrektur|stimmt nicht(?: mehr)?)\b[\s,.:;!]*"
    r"|(?:不对|等等|说错了|记错了|打错了|更正一下|更正|其实)[\s,，。:：!！]*)+",
    re.IGNORECASE,
)
_NOW = re.compile(
    # tried at the first of many spaces alone: at each of them, it would read all the others
    r"(?<!\s)\s*\b(?:now|these days|instead|actually|jetzt|inzwischen|meinte ich|ich meinte)\b"
    r"|现在",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[,;，；。]\s*|\.\s+|\s+(?:but|sondern|aber)\s+|\s(?=[\u3400-\u9fff])")
_PRONOUN = re.compile(
    r"(?:his|her|its|their|sein|ihr) name|he|she|it|they|er|sie|es|[他她它](?:的?名字)?",
    re.IGNORECASE,
)
_BARE = re.compile(
    r"(?:it['’]?s|it is|it was(?: right)?|that['’]?s|es ist|er ist|es war(?: doch)?(?: richtig)?"
    r"|der|die|das|am|是|本来是对的)[\s:：,，]*(\S.*)",
    re.IGNORECASE,
)
_POLITE = re.compile(
    r"(?:thanks?|thank you|danke|problem|worries|need|matter|no|nein|nope)\b.*"
    r"|(?:谢谢|不用|没事).*|",
    re.IGNORECASE,
)
"""What people say with a no that corrects nothing."""
_BARE_WORDS = 4
SHARED_LEAST = 2
_UNSPACED = re.compile("[\u3400-\u9fff]")
_ARTICLES = frozenset(
    "ein eine einen einem einer der die das den dem ich mein meine now jetzt".split()
)
_OWN = frozenset(("我的", "现在", "在在"))


@dataclass(frozen=True, slots=True)
class Kept:
    """A thing that a call of `remember` kept, as its result has it. `is_last` says that the message
    before the one that is answered asked for it.
    """

    row: Mapping[str, Json]
    is_last: bool = False

    @property
    def id(self) -> str:
        """Return its id."""
        return as_string(self.row.get("id"))


def split_fact(sentence: str) -> dict[str, Json] | None:
    """Return the subject, predicate and object of a sentence that says what somebody has one of at
    a time; None for any other.
    """
    from functions.agent.memory.corrections import find_slot
    from functions.agent.memory.thing import Thing

    plain = sentence.strip().rstrip(".!。！").strip()
    for pattern in _PARTS:
        found = pattern.fullmatch(plain)
        if not found or len(plain) > CORRECTION_CHARACTERS:
            continue
        parts = {name: found[name].strip() for name in ("subject", "predicate", "object")}
        slot = find_slot(Thing("fact", tuple(parts.values()), "user", 1.0, 0.0))
        if slot and slot.arity == "one":
            return {**parts}
    return None


def write_sentence(parts: Mapping[str, Json]) -> str:
    """Return the sentence that `split_fact` has split."""
    texts = [as_string(parts.get(name)) for name in ("subject", "predicate", "object")]
    if re.search("[\u3400-\u9fff]", texts[1]):
        return "".join(texts)
    return " ".join(texts)


def plan_keeping(note: str) -> dict[str, Json]:
    """Return the arguments with which a note is remembered: as a fact where it is one."""
    return {**(split_fact(note) or {"type": "note", "payload": note}), "source": "user"}


def list_kept(results: Iterable[tuple[Json, bool]]) -> list[Kept]:
    """Return what calls of `remember` kept and still holds, the newest first.

    Each result comes with whether it is of the last message.
    """
    kept: dict[str, Kept] = {}
    for result, is_last in results:
        answer = as_mapping(result)
        for each in as_sequence(answer.get("ended")):
            kept.pop(as_string(as_mapping(each).get("id")), None)
        thing = Kept(as_mapping(answer.get("remembered")), is_last)
        kept.pop(thing.id, None)
        kept[thing.id] = thing
    return list(reversed([thing for thing in kept.values() if thing.id]))


def plan_correction(words: str, kept: Sequence[Kept]) -> dict[str, Json] | None:
    """Return the arguments with which a correction of something kept is remembered; None for words
    that surely correct nothing of it.
    """
    plain, rest, cue = _read_correction(words)
    if not kept or not cue:
        return None
    for each in kept:
        parts = _rewrite(each.row, rest)
        if parts or _is_meant(each, plain, cue):
            fact = parts or {"type": "note", "payload": plain}
            return {**fact, "source": "user", "replaces": each.id}
    return None


def find_doubted(words: str, kept: Sequence[Kept]) -> str:
    """Return what was kept and words may correct, which has to be asked; empty for nothing."""
    from functions.agent.memory.corrections import read_cue

    plain, _, cue = _read_correction(words)
    if read_cue(plain) == "adds" or not _is_told(plain):
        return ""
    said = _list_words(plain)
    for each in kept:
        known = _list_words(_write_row(each.row))
        shared = len(said & known)
        may_change = each.is_last or shared > 0
        # without a word that says so, it has to be about the same
        says_other = shared >= SHARED_LEAST and shared * 3 >= len(known)
        if may_change if cue else says_other:
            return _write_row(each.row)
    return ""


def _is_told(words: str) -> bool:
    """Return whether words are one short statement."""
    return len(words) <= CORRECTION_CHARACTERS and not re.search(r"[?？\n]", words)


def _read_correction(words: str) -> tuple[str, str, str]:
    """Return the words, what they say beside that it is otherwise, and in which way they say so;
    that is empty where they correct nothing.
    """
    from functions.agent.memory.corrections import read_cue

    plain = words.strip().rstrip(".!。！")
    rest = _NOW.sub("", _LEAD.sub("", plain)).strip()
    cue = read_cue(plain)
    if not _is_told(plain) or cue not in ("changes", "ends", "corrects") or _POLITE.fullmatch(rest):
        return plain, rest, ""
    return plain, rest, cue


def _is_meant(kept: Kept, words: str, cue: str) -> bool:
    """Return whether words that correct something surely mean this."""
    from functions.agent.memory.corrections import find_slot, split_words
    from functions.agent.memory.thing import Thing

    if kept.is_last and cue == "corrects":
        return True
    fact = _read_fact(kept.row)
    if fact:
        texts = tuple(map(as_string, fact.values()))
        slot = find_slot(Thing("fact", texts, "user", 1.0, 0.0))
        said = {word for word, _ in split_words(words)}
        if slot and slot.words <= said:
            return True
        return cue != "changes" and not _list_words(texts[-1]).isdisjoint(_list_words(words))
    telling = _list_words(_write_row(kept.row))
    return len(telling & _list_words(words)) * 2 >= len(telling)


def _list_words(text: str) -> set[str]:
    """Return the telling words of a text; where no spaces are written, each pair of characters."""
    found: set[str] = set()
    for word in list_telling(text) - _ARTICLES:
        if _UNSPACED.search(word):
            found |= {word[place : place + 2] for place in range(len(word) - 1)} - _OWN
        else:
            found.add(word)
    return found


def _read_fact(row: Mapping[str, Json]) -> dict[str, Json] | None:
    """Return what was kept as a fact; None where it is none."""
    if "predicate" in row:
        return {name: row[name] for name in ("subject", "predicate", "object")}
    return split_fact(as_string(row.get("payload")))


def _write_row(row: Mapping[str, Json]) -> str:
    """Return what was kept as a sentence."""
    return write_sentence(row) if "predicate" in row else as_string(row.get("payload"))


def _rewrite(row: Mapping[str, Json], rest: str) -> dict[str, Json] | None:
    """Return the fact that a correction says in the place of what is kept; None for none."""
    before = _read_fact(row)
    if before is None:
        return None
    for clause in (rest, *reversed(_CLAUSE.split(rest))):
        said = split_fact(clause)
        if said and _PRONOUN.fullmatch(as_string(said["subject"])):
            return _make_parts(before, as_string(said["object"]))
        if said and _is_about_same(said, before):
            return said
    bare = _BARE.fullmatch(rest)
    value = bare[1] if bare else re.split(r"[:：]\s*", rest)[-1]
    is_alike = _find_shape(value) == _find_shape(as_string(before["object"]))
    if (bare or is_alike) and len(value.split()) <= _BARE_WORDS:
        return _make_parts(before, value)
    return None


def _find_shape(text: str) -> str:
    """Return a text with the same digit for each: another number has the same shape."""
    return re.sub(r"\d", "0", text)


def _make_parts(before: Mapping[str, Json], value: str) -> dict[str, Json]:
    return {"subject": before["subject"], "predicate": before["predicate"], "object": value}


def correct_note(notes: Sequence[str], words: str) -> tuple[int, str] | None:
    """Return the position of the note that words correct, and the sentence in its place; None for
    words that correct none.
    """
    kept = [
        Kept({"id": str(place), "payload": note}, is_last=place == len(notes) - 1)
        for place, note in enumerate(notes)
    ]
    planned = plan_correction(words, kept[::-1])
    if planned is None:
        return None
    sentence = write_sentence(planned) if "predicate" in planned else str(planned["payload"])
    return int(as_string(planned["replaces"])), sentence


def is_same_attribute(one: str, other: str) -> bool:
    """Return whether two notes say of the same what there is one of at a time."""
    first, second = split_fact(one), split_fact(other)
    return first is not None and second is not None and _is_about_same(first, second)


def _is_about_same(one: Mapping[str, Json], other: Mapping[str, Json]) -> bool:
    """Return whether two facts give a value of the same."""
    from functions.agent.memory.corrections import find_slot
    from functions.agent.memory.thing import Thing

    slots = []
    for fact in (one, other):
        texts = [as_string(fact[name]) for name in ("subject", "predicate", "object")]
        slots.append(find_slot(Thing("fact", tuple(texts), "user", 1.0, 0.0)))
    first, second = slots
    return first is not None and second is not None and first.words == second.words
