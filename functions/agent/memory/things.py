"""The things that one chat, or an agent in all its chats, remembers.

They are stored by their id, and found again by key, by what they are about, and by their words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from heapq import nlargest
from math import exp2, log
from operator import itemgetter
from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Meta

from functions.agent.memory.answer_shapes import measure_fit
from functions.agent.memory.helpers import Terms
from functions.agent.memory.postings import BUCKETS, StoredPostings
from functions.agent.memory.related_words import RelatedWords, is_spaced, load_related_words
from functions.agent.memory.thing import (
    NAME_CHARACTERS,
    Kind,
    Thing,
    check_source,
    decode_thing,
    encode_thing,
    fold,
    id_of,
    is_same_text,
    keep_surer_source,
    outranks,
)
from sigil.errors import BackendError, Conflict, Refused
from sigil.storage.kv import ABSENT, KV, Item, keys
from sigil.storage.kv.base import KEYS_MOST, get_many
from sigil.storage.kv.update import scan_all, update
from sigil.storage.stored import Shape, Stored, dumps, later

if TYPE_CHECKING:
    from functions.agent.shares import Holder

THINGS_MOST: Final = 20_000
CHARACTERS_MOST: Final = 2_000_000
"""The room for things of one chat, and for an agent's shared things."""
FREED: Final = "`/forget ID` takes one away, in a group where an owner sends it"
"""Who makes room for a thing, and how."""
RECENT: Final = 50
USED: Final = 50
"""So many of the things that are recalled are known as such."""
HALF_LIFE: Final = 30 * 86_400.0
"""After so many seconds a recall counts half."""
ENOUGH: Final = 256
"""When rarer words have found so many candidates, commoner ones only order them."""
READ: Final = 24
"""The things themselves are read of so many candidates, the best ones."""
CLOSE: Final = 0.25
"""A thing that scores less than this part of the best one is no answer."""
RACES: Final = 20
CORRECTIONS: Final = 5
"""So many corrections of corrections are followed from what was first said to what holds."""
MANY: Final = 100
"""So many events are written with one change of the index."""
ABOUT: Final = "@"
"""The term that leads to the things about something begins like this; no word is spelt so."""
FAINT: Final = 0.3
"""The weight of a single character, where a script writes no spaces: its pairs say more."""
WEAK: Final = 0.3
"""The weight of a word that questions are full of."""
BESIDE: Final = 0.4
"""How much a thing scores that has only weak words of a question with others."""
UNKNOWN: Final = 0.7
"""The weight of a word that nothing remembered has."""
KNOWN: Final = 1.0
"""The weight of a word of a subject of which nothing is remembered."""
KNOWN_PAIR: Final = 0.8
"""The same of a pair of characters, which may be of two words."""
RELATED: Final = 0.6
"""The weight of a word of the same subject in the place of the question's own."""
OTHER_SCRIPT: Final = 0.7
"""How much a thing scores that is written in another script than the question."""
QUESTION_TERMS: Final = 40
"""A text of more terms is no question: its words are looked for as they are."""
SURE: Final = 0.4
"""The share of a score that hangs on the confidence."""
COVERED: Final = 0.65
"""The share of a question's words, by their weight, that an answer says or speaks of in others.

Measured on the sets of `test_other_words.py`: from .6 to .8 little changes.
"""
STRONG: Final = 1.5
"""The weight of a word of what a thing is about."""


UNREADABLE: Final = Thing("fact", ("something", "that cannot", "be read"), "", 0.0, 0.0)
"""Stands for a forgotten thing that was damaged."""


@dataclass(frozen=True, slots=True)
class ThingUse(Stored):
    """The use of a thing: every recall counts one, and half of that after `HALF_LIFE`.

    `weight` is the sum at the time `at`, in seconds since 1970.
    """

    id: str
    weight: float
    at: float

    def measure_at(self, at: float) -> float:
        """Return the weight at another time."""
        return self.weight * exp2(min((self.at - at) / HALF_LIFE, 0.0))


@dataclass(frozen=True, slots=True)
class ThingsCount(Stored):
    """The number of things and of their characters, and the ids written last, the newest first.

    `used` are the things that are recalled, the most used first.
    """

    count: Annotated[int, Meta(ge=0)] = 0
    characters: Annotated[int, Meta(ge=0)] = 0
    recent: tuple[str, ...] = ()
    used: tuple[ThingUse, ...] = later(())


_COUNT: Final = Shape[ThingsCount](ThingsCount, required=("count", "characters", "recent"))


@dataclass(frozen=True, slots=True)
class Recalled:
    """A thing that was found; `score` in 0…1.

    It is only `near` when it leaves too much of the question open to be the answer. `before` are
    the things that were found and that it ended.
    """

    thing: Thing
    score: float
    near: bool = False
    before: tuple[Thing, ...] = ()


@dataclass(frozen=True, slots=True)
class QuestionTerm:
    """A term of a question, the things that have it, and those that only have a related term.

    The weights are what each of them scores with it; `most` is what the best answer scores.
    """

    term: str
    related: frozenset[str]
    ids: tuple[int, ...]
    related_ids: tuple[int, ...]
    weight: float
    related_weight: float
    most: float
    is_weak: bool

    @property
    def is_telling(self) -> bool:
        """Return whether the term is no grammar, and no single character of a longer word."""
        return not self.is_weak and (len(self.term) > 1 or self.term.isascii())


@dataclass(frozen=True, slots=True)
class SavedThing:
    """A thing as it was written, and the one that it replaced.

    `before` is None when the thing is `new`, or when the one before could not be read. `surer` is
    the surer value under the same key, which it did not replace and is kept beside.
    """

    thing: Thing
    before: Thing | None = None
    new: bool = True
    surer: Thing | None = None


class Things:
    """The things of one scope, a session's S or an `escape`d agent.

    `terms` returns the terms of a text.
    """

    def __init__(self, kv: KV, scope: str, terms: Terms) -> None:
        self._kv = kv
        self._scope = scope
        self._terms = terms
        self._index = StoredPostings(kv, partial(keys.thing_index, scope), self._scan_terms)

    def save(self, thing: Thing, holder: Holder | None = None) -> SavedThing:
        """Write a thing over the one that it is, if that is there already.

        A thing that says the same as a surer one stays as sure, with its source. A value that
        contradicts a surer one under its key is kept beside that one, once a source. The `holder`
        takes room that others use as well; None where the memory is one person's. Raises
        `PlacesTaken` when there is no room, `UsageError` EINVAL when the thing has no source.
        """
        check_source(thing.source)
        for _ in range(RACES):
            surer = self._find_surer_value(thing)
            placed = replace(thing, mark=thing.source) if surer else thing
            item = self._kv.get(keys.thing(self._scope, placed.id))
            before = self.read_item(placed.id, item)
            if surer is None and before and _is_weaker_value(placed, before):
                continue  # somebody was faster, and surer
            after = placed
            old_terms: frozenset[str] = frozenset()
            growth = placed.size
            if before:
                after = replace(keep_surer_source(placed, before), _rest=before._rest)
                old_terms = self._list_index_terms(before)
                growth = after.size - before.size
            self._require_room(growth, holder, new=item is None)
            new_terms = self._list_index_terms(after)
            # The index comes first: what a crash leaves there leads to nothing.
            self._index.add(int(placed.id, 16), new_terms - old_terms)
            key = keys.thing(self._scope, placed.id)
            try:
                self._kv.put(key, encode_thing(after), expect=item.version if item else ABSENT)
            except Conflict:
                continue
            self._index.drop(int(placed.id, 16), old_terms - new_terms)
            self._add_to_count(0 if item else 1, growth, placed.id, is_recent=not after.ended)
            if before and after.kind == "kv" and not surer:
                # those that say the same now, or whose source says what this one says, dispute it
                # no longer
                for other in self.list_values(after.about)[1:]:
                    if other.source == thing.source or is_same_text(other, after):
                        self.drop(other.id)
            return SavedThing(after, before, new=item is None, surer=surer)
        raise Conflict("this thing is being written by others")

    def end(self, ids: Collection[str], instead: str, at: float) -> list[Thing]:
        """Note that things hold no longer since another one does, and return those that held.

        What somebody changes at the same moment stays as they leave it.
        """
        ended: list[Thing] = []
        for id in ids:
            key = keys.thing(self._scope, id)
            item = self._kv.get(key)
            thing = self.read_item(id, item)
            if item is None or thing is None or thing.ended:
                continue
            after = replace(thing, ended=at, instead=instead)
            with suppress(Conflict):
                self._kv.put(key, encode_thing(after), expect=item.version)
                ended.append(after)
        self._drop_from_newest({thing.id for thing in ended})
        return ended

    def _drop_from_newest(self, ids: Collection[str]) -> None:
        """Take things out of the newest and the most used: those are for what holds."""

        def decide(value: bytes | None) -> tuple[bytes | None, None]:
            count = self._decode_count(value)
            recent = tuple(id for id in count.recent if id not in ids)
            used = tuple(use for use in count.used if use.id not in ids)
            return dumps(replace(count, recent=recent, used=used)), None

        if ids:
            with suppress(Conflict):
                update(self._kv, keys.thing_totals(self._scope), decide)

    def list_with_terms(
        self,
        groups: Sequence[Collection[frozenset[str]]],
        subjects: Collection[str],
        limit: int,
    ) -> list[Thing]:
        """Return the things that have all terms of one set of each group, ended ones too.

        Those about one of the subjects come first, then the newest. A group with an empty set
        excludes nothing; where all have one, only what is about the subjects is found.
        """
        telling = [group for group in groups if all(group)]
        about = {_about_term(subject) for subject in subjects}
        wanted = {term for group in telling for terms in group for term in terms}
        lists = self._index.find(wanted | about)
        first = [id for term in about for id in reversed(lists.get(term, ()))]
        matching = [
            {
                id
                for terms in group
                for id in set.intersection(*(set(lists.get(term, ())) for term in terms))
            }
            for group in telling
        ]
        if matching:
            smallest = set.intersection(*matching)
            newest = {id: None for term in wanted for id in reversed(lists.get(term, ()))}
            first = [id for id in (*first, *newest) if id in smallest]
        ids = list(dict.fromkeys(first))[:limit]
        found: list[Thing] = []
        for start in range(0, len(ids), KEYS_MOST):
            found += self._get_all([f"{id:016x}" for id in ids[start : start + KEYS_MOST]])
        return sorted(found, key=lambda thing: -thing.changed_at)

    def add_events(self, events: Sequence[Thing]) -> None:
        """Write many events, the oldest first; those that are there already stay as they are.

        `Refused` EQUOTA before anything is written when there is no room for all of them.
        """
        count = self._read_count()
        size = sum(event.size for event in events)
        if count.count + len(events) > THINGS_MOST or count.characters + size > CHARACTERS_MOST:
            raise make_quota_error(count)
        for start in range(0, len(events), MANY):
            part = {event.id: event for event in events[start : start + MANY]}
            places = [keys.thing(self._scope, id) for id in part]
            stored = get_many(self._kv, places)
            new = [part[key.sort] for key, item in zip(places, stored, strict=True) if item is None]
            # as in `save`, the index comes first
            self._index.add_many({int(each.id, 16): self._list_index_terms(each) for each in new})
            for event in new:
                check_source(event.source)
                with suppress(Conflict):
                    key = keys.thing(self._scope, event.id)
                    self._kv.put(key, encode_thing(event), expect=ABSENT)
            self._count_events(new)

    def _count_events(self, events: Sequence[Thing]) -> None:
        def decide(value: bytes | None) -> tuple[bytes, None]:
            count = self._decode_count(value)
            newest = tuple(event.id for event in reversed(events))
            after = replace(
                count,
                count=count.count + len(events),
                characters=count.characters + sum(event.size for event in events),
                recent=(*newest, *count.recent)[:RECENT],
            )
            return dumps(after), None

        if events:
            with suppress(Conflict):
                update(self._kv, keys.thing_totals(self._scope), decide)

    def _find_surer_value(self, thing: Thing) -> Thing | None:
        """Return the value under a thing's key that it contradicts and may not replace."""
        if thing.kind != "kv":
            return None
        value = self.get_value(thing.about)
        return value if value and _is_weaker_value(thing, value) else None

    def drop(self, id: str) -> Thing | None:
        """Forget a thing and return it; None when there was none."""
        item = self._kv.get(keys.thing(self._scope, id))
        if item is None:
            return None
        thing = self.read_item(id, item)
        self._kv.delete(keys.thing(self._scope, id), expect=item.version)
        if thing:
            self._index.drop(int(id, 16), self._list_index_terms(thing))
        self._add_to_count(-1, -thing.size if thing else 0, id)
        return thing or UNREADABLE

    def get(self, id: str) -> Thing | None:
        """Return the thing of this id; None when there is none, or it is damaged."""
        return self.read_item(id, self._kv.get(keys.thing(self._scope, id)))

    def get_value(self, key: str) -> Thing | None:
        """Return the value under a key, in whatever letters."""
        return self.get(id_of("kv", key, ""))

    def list_values(self, key: str) -> list[Thing]:
        """Return the value under a key, and behind it those that other sources give.

        Of those the newest comes first.
        """
        value = self.get_value(key)
        values = [value] if value else []
        for id in self.list_about(key):
            thing = self.get(id)
            if thing and thing.disputed and fold(thing.about) == fold(key):
                values.append(thing)
        return values

    def add_surer_values(self, found: list[Recalled]) -> list[Recalled]:
        """Return what was found, and with each disputed value the surer one, scored alike."""
        best = {each.thing.id: each for each in found}
        for each in found:
            value = self._find_disputed(each.thing)
            if value and not value.ended:
                known = best.get(value.id)
                before = known.before if known else ()
                score = max(each.score, known.score) if known else each.score
                best[value.id] = Recalled(value, score, each.near, before)
        return sorted(best.values(), key=sort_key)

    def _find_disputed(self, thing: Thing) -> Thing | None:
        """Return the surer thing that one disputes; None for one that disputes nothing."""
        if not thing.disputed:
            return None
        return self.get_value(thing.about) if thing.kind == "kv" else self.get(thing.instead)

    def replace_ended(self, found: Sequence[Recalled]) -> list[Recalled]:
        """Return what was found, with what holds in the place of what ended.

        An ended thing for which nothing holds instead stays, behind all others.
        """
        known = {each.thing.id: each.thing for each in found}
        read = set(known)
        for _ in range(CORRECTIONS):
            wanted = {thing.instead for thing in known.values() if thing.ended and thing.instead}
            known |= {thing.id: thing for thing in self._get_all(sorted(wanted - read))}
            read |= wanted
        best: dict[str, Recalled] = {}
        for each in found:
            thing: Thing | None = each.thing
            for _ in range(len(known)):
                if thing is None or not thing.ended:
                    break
                thing = known.get(thing.instead)
            if thing is None or thing.ended:
                best[each.thing.id] = each
                continue
            same = best.get(thing.id, Recalled(thing, 0.0, near=True))
            before = same.before if thing is each.thing else (*same.before, each.thing)
            score = max(each.score, same.score)
            best[thing.id] = Recalled(thing, score, each.near and same.near, before)
        return sorted(best.values(), key=sort_key)

    def list_about(self, subject: str) -> tuple[str, ...]:
        """Return the ids of the things about a subject, the newest first."""
        term = _about_term(subject)
        ids = self._index.find((term,)).get(term, ())
        return tuple(f"{id:016x}" for id in reversed(ids))

    def list_newest(self, limit: int) -> list[Thing]:
        """Return the things written last, the newest first."""
        return self._get_all(self._read_count().recent[:limit])

    def list_outline(self, totals: Item | None, used: int, most: int) -> tuple[str, ...]:
        """Return the ids of at most `most` things, at most `used` of them by how often they are
        recalled, the others by when they were written.

        `totals` was just read at the key of the scope's totals.
        """
        count = self._decode_count(totals.value if totals else None)
        ids = [use.id for use in count.used[:used]]
        return tuple(dict.fromkeys((*ids, *count.recent)))[:most]

    def count_uses(self, ids: Collection[str], now: float) -> None:
        """Note that these things were recalled. After too many lost races nothing is noted."""

        def decide(value: bytes | None) -> tuple[bytes | None, None]:
            count = self._decode_count(value)
            weights = {use.id: use.measure_at(now) for use in count.used}
            for id in ids:
                weights[id] = weights.get(id, 0.0) + 1.0
            ranked = sorted(weights.items(), key=lambda pair: -pair[1])[:USED]
            used = tuple(ThingUse(id, round(weight, 3), now) for id, weight in ranked)
            return dumps(replace(count, used=used)), None

        if ids:
            with suppress(Conflict):
                update(self._kv, keys.thing_totals(self._scope), decide)

    def list_uses(self) -> tuple[ThingUse, ...]:
        """Return which things were recalled, the most used first."""
        return self._read_count().used

    def add_uses(self, uses: Iterable[ThingUse]) -> None:
        """Note the recalls of things of which none are known here."""
        found = tuple(uses)

        def decide(value: bytes | None) -> tuple[bytes | None, None]:
            count = self._decode_count(value)
            known = {use.id for use in count.used}
            used = (*count.used, *(use for use in found if use.id not in known))[:USED]
            return dumps(replace(count, used=used)), None

        if found:
            update(self._kv, keys.thing_totals(self._scope), decide)

    @staticmethod
    def read_item(id: str, item: Item | None) -> Thing | None:
        """Return the stored thing; None when there is none, or it is damaged."""
        try:
            return decode_thing(id, item.value) if item else None
        except BackendError:
            return None

    def find(
        self, words: str, limit: int, kind: Kind | None = None, subject: str = ""
    ) -> list[Recalled]:
        """Return the things that say these words or speak of the same in others, the best first.

        Among equals the newest comes first.
        """
        related = load_related_words(self._terms)
        terms = self._terms(words)
        others = _list_related(terms, related)
        lists = self._index.find({*terms, *(other for group in others.values() for other in group)})
        total = self._read_count().count + 1
        question = [_weigh_term(term, others[term], lists, total, related) for term in terms]
        within = {int(id, 16) for id in self.list_about(subject)} if subject else None
        ranked = nlargest(READ, _score_candidates(question, within).items(), key=itemgetter(1))
        found: list[Recalled] = []
        for thing in self._get_all([f"{id:016x}" for id, _ in ranked]):
            if kind in (None, thing.kind):
                fit = measure_fit(words, thing.in_words)
                points, covered = self._score_thing(thing, question)
                score = points * fit
                if is_spaced(thing.in_words) != is_spaced(words):
                    score *= OTHER_SCRIPT
                near = covered < COVERED or fit < 1
                found.append(Recalled(thing, round(score, 3), near))
        found = self.replace_ended(found)
        highest = max((each.score for each in found), default=0.0)
        close = [each for each in found if each.score and each.score >= highest * CLOSE]
        return self.add_surer_values(close[:limit])[:limit]

    def scan(self) -> Iterator[Thing]:
        """Yield every thing, by its id, without damaged ones."""
        for id, item in scan_all(self._kv, keys.thing(self._scope, "").partition, page=500):
            thing = self.read_item(id, item)
            if thing:
                yield thing

    def join(self, other: Things, origin: str) -> tuple[int, Sequence[Thing]]:
        """Take over the things of another scope, and return how many are new here, and all of them
        as they are there.

        Where both have another value under a key, the one that outranks the other counts, of equals
        the newer one; the other is kept beside it, and `origin` tells it apart. Doing it again
        changes nothing. Raises `Refused` EQUOTA, and changes nothing, when there is no room for
        all.
        """
        theirs = sorted(other.scan(), key=lambda thing: thing.at)
        known = self._read_known(theirs)
        placed: list[Thing] = []
        for thing in theirs:
            placed += _settle(thing, known.get(thing.id), origin)
        known |= self._read_known(placed)
        fresh = [thing for thing in placed if thing.id not in known]
        count = self._read_count()
        characters = sum(thing.size for thing in fresh)
        if (
            count.count + len(fresh) > THINGS_MOST
            or count.characters + characters > CHARACTERS_MOST
        ):
            raise Refused("EQUOTA", "both memories together are too large for one")
        # The index comes first: what a crash leaves there leads to nothing.
        self._index.add_many({int(one.id, 16): self._list_index_terms(one) for one in placed})
        for thing in placed:
            self._place(thing)
        self._add_joined(other, len(fresh), characters)
        return sum(thing.mark == "" or thing.kind == "event" for thing in fresh), theirs

    def forget_joined(self, things: Sequence[Thing]) -> None:
        """Forget things that another scope has taken over, unless they were changed since."""
        for thing in things:
            key = keys.thing(self._scope, thing.id)
            item = self._kv.get(key)
            if item and self.read_item(thing.id, item) == thing:
                with suppress(Conflict):
                    self._kv.delete(key, expect=item.version)
        if not self._kv.scan(keys.thing(self._scope, "").partition, limit=1):
            for bucket in range(BUCKETS):
                self._kv.delete(keys.thing_index(self._scope, bucket))
            self._kv.delete(keys.thing_totals(self._scope))

    def _read_known(self, things: Sequence[Thing]) -> dict[str, Thing]:
        """Return those of the things that are here already, as they are here, by their ids."""
        known: dict[str, Thing] = {}
        ids = [thing.id for thing in things]
        for start in range(0, len(ids), KEYS_MOST):
            batch = ids[start : start + KEYS_MOST]
            known |= {thing.id: thing for thing in self._get_all(batch)}
        return known

    def _place(self, thing: Thing) -> None:
        """Write a thing, unless the one that is here by now has to stay."""

        def decide(value: bytes | None) -> tuple[bytes | None, None]:
            before = None
            if value is not None:
                with suppress(BackendError):
                    before = decode_thing(thing.id, value)
            stands = _settle(thing, before, "")[0]
            return (None if stands == before else encode_thing(stands)), None

        update(self._kv, keys.thing(self._scope, thing.id), decide)

    def _add_joined(self, other: Things, things: int, characters: int) -> None:
        """Add to the count what came from another scope, in the order of time."""
        theirs = other._read_count()

        def decide(value: bytes | None) -> tuple[bytes, None]:
            count = self._decode_count(value)
            ids = list(dict.fromkeys((*count.recent, *theirs.recent)))
            known = sorted(self._get_all(ids), key=lambda thing: -thing.at)
            uses = {use.id: use for use in theirs.used} | {use.id: use for use in count.used}
            latest = max((use.at for use in uses.values()), default=0.0)
            used = sorted(uses.values(), key=lambda use: -use.measure_at(latest))
            after = replace(
                count,
                count=count.count + things,
                characters=count.characters + characters,
                recent=tuple(thing.id for thing in known if not thing.ended)[:RECENT],
                used=tuple(used[:USED]),
            )
            return dumps(after), None

        update(self._kv, keys.thing_totals(self._scope), decide)

    def _get_all(self, ids: Sequence[str]) -> list[Thing]:
        """Return the things of these ids, in order, without those that are gone or damaged."""
        items = get_many(self._kv, [keys.thing(self._scope, id) for id in ids]) if ids else []
        things = [self.read_item(id, item) for id, item in zip(ids, items, strict=True)]
        return [thing for thing in things if thing]

    def _score_thing(self, thing: Thing, question: Sequence[QuestionTerm]) -> tuple[float, float]:
        """Return the score of a thing, and the share of the question's telling words that it
        covers.
        """
        named = 2 if thing.kind == "fact" else 1
        about = self._list_terms(thing.texts[:named])
        others = self._list_terms(thing.texts[named:])
        score = 0.0
        telling = 0.0
        covered = 0.0
        says_it = all(term.is_weak for term in question)
        for term in question:
            points = 0.0
            if term.term in about:
                points = term.weight * STRONG
            elif term.term in others:
                points = term.weight
            elif term.related & about:
                points = term.related_weight * STRONG
            elif term.related & others:
                points = term.related_weight
            score += points
            if term.is_telling:
                telling += term.most
                covered += term.most if points > 0 else 0.0
            says_it = says_it or (points > 0 and not term.is_weak)
        if not says_it:
            score *= BESIDE
        best = sum(term.most for term in question) * STRONG or 1.0
        share = covered / telling if telling else 1.0
        return score / best * (1 - SURE + SURE * thing.confidence), share

    def _list_terms(self, texts: Iterable[str]) -> frozenset[str]:
        """Return the terms of the texts, and the known words that their compounds are made of."""
        found = {term for text in texts for term in self._terms(text)}
        related = load_related_words(self._terms)
        return frozenset(found.union(*map(related.list_parts, found)))

    def _list_index_terms(self, thing: Thing) -> frozenset[str]:
        return self._list_terms(thing.texts) | {_about_term(thing.about)}

    def _read_count(self) -> ThingsCount:
        item = self._kv.get(keys.thing_totals(self._scope))
        return self._decode_count(item.value if item else None)

    def _decode_count(self, value: bytes | None) -> ThingsCount:
        """Return the stored count; when it is damaged, all things are counted."""
        if value is None:
            return ThingsCount()
        try:
            return _COUNT.read(value)
        except ValueError:
            things = sorted(self.scan(), key=lambda thing: -thing.at)
            recent = tuple(thing.id for thing in things if not thing.ended)[:RECENT]
            return ThingsCount(len(things), sum(thing.size for thing in things), recent)

    def _scan_terms(self) -> Iterator[tuple[int, frozenset[str]]]:
        for thing in sorted(self.scan(), key=lambda thing: thing.at):
            yield int(thing.id, 16), self._list_index_terms(thing)

    def _require_room(self, growth: int, holder: Holder | None, *, new: bool) -> None:
        """Raise `PlacesTaken` where there is no room for a thing, or for so many more characters.

        Only for somebody whose share may be used up the things are read.
        """
        from functions.agent.shares import Places, may_exceed, require_place

        count = self._read_count()
        places = Places("things", THINGS_MOST, FREED)
        room = Places("characters of things", CHARACTERS_MOST, FREED)
        things = Counter({"": count.count})
        characters = Counter({"": count.characters})
        if may_exceed(places, count.count + new, holder) or may_exceed(
            room, count.characters + growth, holder
        ):
            things.clear()
            characters.clear()
            for each in self.scan():
                things[each.by] += 1
                characters[each.by] += each.size
        if new:
            require_place(places, things, holder)
        if growth > 0:
            require_place(room, characters, holder, growth)

    def _add_to_count(
        self, things: int, characters: int, id: str, *, is_recent: bool = True
    ) -> None:
        """Add to the count. After too many lost races it stays as it is: it is an estimate."""

        def decide(value: bytes | None) -> tuple[bytes, None]:
            count = self._decode_count(value)
            recent = tuple(each for each in count.recent if each != id)
            used = count.used
            if things >= 0:
                recent = (id, *recent)[:RECENT] if is_recent else recent
            else:
                used = tuple(use for use in used if use.id != id)
            after = replace(
                count,
                count=max(count.count + things, 0),
                characters=max(count.characters + characters, 0),
                recent=recent,
                used=used,
            )
            return dumps(after), None

        with suppress(Conflict):
            update(self._kv, keys.thing_totals(self._scope), decide)


def make_quota_error(count: ThingsCount) -> Refused:
    """Return the error of a scope without room."""
    message = (
        f"{count.count:,} things with {count.characters:,} characters are remembered here,"
        " and there is no room for more"
    )
    return Refused("EQUOTA", message, suggestion="forget what is not needed any more")


def sort_key(found: Recalled) -> tuple[bool, float, bool, float]:
    """Return the key of the order of answers.

    What ended comes last. The best come first, among equals those that nobody disputes, then the
    newest.
    """
    thing = found.thing
    return (thing.ended > 0, -found.score, thing.disputed, -thing.at)


def _settle(thing: Thing, before: Thing | None, origin: str) -> list[Thing]:
    """Return the thing that is kept when another scope's comes to this one's of the same id.

    Of two values of one key the other one follows, as what disputes it.
    """
    if before is None:
        return [thing]
    newer, older = (thing, before) if thing.changed_at > before.changed_at else (before, thing)
    if thing.kind != "kv" or is_same_text(thing, before):
        return [replace(keep_surer_source(newer, older), _rest=before._rest)]
    stands, loses = (newer, older) if outranks(newer, older) else (older, newer)
    return [stands, replace(loses, mark=f"{loses.mark or loses.source} {origin}".strip())]


def _is_weaker_value(thing: Thing, before: Thing) -> bool:
    """Return whether it is another value under the same key, and not sure enough to replace it."""
    contradicts = thing.kind == "kv" and not thing.mark and not is_same_text(thing, before)
    contradicts = contradicts and not before.ended
    return contradicts and not outranks(thing, before)


def _list_related(terms: Collection[str], related: RelatedWords) -> Mapping[str, frozenset[str]]:
    """Return the related terms of each term; those of a long text are not looked for."""
    if len(terms) > QUESTION_TERMS:
        return dict.fromkeys(terms, frozenset())
    return {term: related.list_related(term) for term in terms}


def _weigh_term(
    term: str,
    others: frozenset[str],
    lists: Mapping[str, tuple[int, ...]],
    total: int,
    related: RelatedWords,
) -> QuestionTerm:
    """Return a term of a question with what it counts among `total` things: the rarer, the more."""
    ids = lists.get(term, ())
    found = {id for other in others for id in lists.get(other, ())}
    found.difference_update(ids)
    is_unspaced = not term.isascii()
    is_weak = related.is_weak(term) or term.isdigit()
    share = 1.0
    if is_unspaced and len(term) == 1:
        share = FAINT
    elif is_weak:
        share = WEAK
    elif not ids and not found:
        # a pair of characters is mostly of two words; a word that nothing has says something
        share = KNOWN if related.knows(term) else UNKNOWN
        if is_unspaced:
            share = KNOWN_PAIR if related.knows(term) else 0.0
    weight = share * log(1 + total / max(len(ids), 1)) if ids or not found else 0.0
    of_related = share * log(1 + total / len(found)) if found else 0.0
    most = max(weight, of_related)
    return QuestionTerm(
        term, others, ids, tuple(found), weight, RELATED * of_related, most, is_weak
    )


def _score_candidates(
    question: Sequence[QuestionTerm], within: set[int] | None
) -> dict[int, float]:
    """Return for each id the sum of the weights of its terms; the rarest terms come first."""
    lists = [(term.ids, term.weight) for term in question if term.ids]
    lists += [(term.related_ids, term.related_weight) for term in question if term.related_ids]
    scores: dict[int, float] = {}
    for found, weight in sorted(lists, key=lambda pair: len(pair[0])):
        ids: Iterable[int] = reversed(found)
        if within is not None:
            ids = [id for id in ids if id in within]
        if len(scores) >= ENOUGH:
            ids = scores.keys() & set(ids)
        for id in ids:
            scores[id] = scores.get(id, 0.0) + weight
    return scores


def _about_term(text: str) -> str:
    return ABOUT + fold(text)[:NAME_CHARACTERS]
