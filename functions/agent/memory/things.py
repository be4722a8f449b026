"""What is remembered of one chat, or of an agent: things by their id, found again by key, by what
they are about, and by their words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from heapq import nlargest
from math import log
from typing import Annotated, Final

from msgspec import Meta

from functions.agent.helpers import Terms
from functions.agent.memory.postings import Postings
from functions.agent.memory.thing import (
    NAME_CHARACTERS,
    Kind,
    Thing,
    checked_source,
    decoded,
    encoded,
    folded,
    id_of,
    outranks,
    same_words,
    surer,
)
from sigil.errors import BackendError, Conflict, Refused
from sigil.storage.kv import ABSENT, KV, Item, keys
from sigil.storage.stored import Shape, Stored, dumps

THINGS_MOST: Final = 20_000
CHARACTERS_MOST: Final = 2_000_000
"""Of one chat, and of an agent's shared things."""
RECENT: Final = 50
ENOUGH: Final = 256
"""So many candidates that rarer words found; commoner ones only order them."""
READ: Final = 24
"""Of so many candidates, the best ones, the things themselves are read."""
CLOSE: Final = 0.25
"""What fits less than this part of the best one is no answer."""
RACES: Final = 20
ABOUT: Final = "@"
"""How the term begins that leads to what is about something; no word is spelt so."""
FAINT: Final = 0.3
"""What a single character counts, where a script writes no spaces: its pairs say more."""
SURE: Final = 0.4
"""How much of a score hangs on the confidence."""
STRONG: Final = 1.5
"""What a word counts that stands in what a thing is about."""


UNREADABLE: Final = Thing("fact", ("something", "that cannot", "be read"), "", 0.0, 0.0)
"""What was forgotten when nobody can say what it was."""


@dataclass(frozen=True, slots=True)
class Tally(Stored):
    """How much there is, and the ids of what was written last, the newest first."""

    count: Annotated[int, Meta(ge=0)] = 0
    characters: Annotated[int, Meta(ge=0)] = 0
    recent: tuple[str, ...] = ()


_TALLY: Final = Shape[Tally](Tally, required=("count", "characters", "recent"))


@dataclass(frozen=True, slots=True)
class Recalled:
    """A thing that was found; `score` in 0…1."""

    thing: Thing
    score: float


@dataclass(frozen=True, slots=True)
class Kept:
    """What is remembered now, and what stood there `before`: None when it is `new`, or when that
    could not be read.

    `stands`: the surer value under the same key that it did not replace, and is kept beside.
    """

    thing: Thing
    before: Thing | None = None
    new: bool = True
    stands: Thing | None = None


class Things:
    """The things of one scope: a session's S, or an `escape`d agent. `terms`: see `Aids`."""

    def __init__(self, kv: KV, scope: str, terms: Terms) -> None:
        self._kv = kv
        self._scope = scope
        self._terms = terms
        self._index = Postings(kv, scope, self._indexed)

    def keep(self, thing: Thing) -> Kept:
        """Write it over what was the same thing. `Refused` EQUOTA when there is no room,
        `UsageError` EINVAL when it has no source.

        What says the same as a surer one stays as sure, and its source with it. A value that says
        something else than a surer one under its key is kept beside that one, once a source. The
        index is written first: what a crash leaves there leads to nothing.
        """
        checked_source(thing.source)
        for _ in range(RACES):
            stands = self._surer_value(thing)
            placed = replace(thing, mark=thing.source) if stands else thing
            item = self._kv.get(keys.thing(self._scope, placed.id))
            before = _read(placed.id, item)
            if (
                stands is None
                and before
                and _contradicts(placed, before)
                and not outranks(placed, before)
            ):
                continue  # somebody was faster, and surer
            after = replace(surer(placed, before), _rest=before._rest) if before else placed
            more = after.size - (before.size if before else 0)
            self._demand_room(more, new=item is None)
            terms, old = (
                self._all_terms(after),
                self._all_terms(before) if before else frozenset[str](),
            )
            self._index.add(int(placed.id, 16), terms - old)
            try:
                self._kv.put(
                    keys.thing(self._scope, placed.id),
                    encoded(after),
                    expect=item.version if item else ABSENT,
                )
            except Conflict:
                continue
            self._index.drop(int(placed.id, 16), old - terms)
            self._count(0 if item else 1, more, placed.id)
            if before and after.kind == "kv" and not stands:
                self._settle(after, thing.source)
            return Kept(after, before, new=item is None, stands=stands)
        raise Conflict("this thing is being written by others")

    def _surer_value(self, thing: Thing) -> Thing | None:
        """The value under a thing's key that says something else and that it may not replace."""
        before = self.under(thing.about) if thing.kind == "kv" else None
        return (
            before
            if before and _contradicts(thing, before) and not outranks(thing, before)
            else None
        )

    def _settle(self, value: Thing, source: str) -> None:
        """Drop what disputed a value and does so no more: it says the same now, or its source says
        something else.
        """
        for other in self.values(value.about)[1:]:
            if other.source == source or same_words(other, value):
                self.drop(other.id)

    def drop(self, id: str) -> Thing | None:
        """Forget it, its words with it; what it was, None when there was none."""
        item = self._kv.get(keys.thing(self._scope, id))
        if item is None:
            return None
        thing = _read(id, item)
        self._kv.delete(keys.thing(self._scope, id), expect=item.version)
        if thing:
            self._index.drop(int(id, 16), self._all_terms(thing))
        self._count(-1, -thing.size if thing else 0, id)
        return thing or UNREADABLE

    def get(self, id: str) -> Thing | None:
        """The thing of this id."""
        return _read(id, self._kv.get(keys.thing(self._scope, id)))

    def under(self, key: str) -> Thing | None:
        """The value under a key, in whatever letters."""
        return self.get(id_of("kv", key, ""))

    def values(self, key: str) -> list[Thing]:
        """The value under a key, and behind it those that other sources say it is, the newest
        first.
        """
        found = [self.get(id) for id in self.about(key)]
        others = [
            thing
            for thing in found
            if thing and thing.disputed and folded(thing.about) == folded(key)
        ]
        value = self.under(key)
        return [value, *others] if value else others

    def with_surer(self, found: list[Recalled]) -> list[Recalled]:
        """What was found, and with each disputed value the surer one, which is as good an
        answer.
        """
        best = {each.thing.id: each for each in found}
        for each in found:
            value = self.under(each.thing.about) if each.thing.disputed else None
            if value:
                known = best.get(value.id)
                best[value.id] = Recalled(value, max(each.score, known.score if known else 0.0))
        return sorted(best.values(), key=answer_order)

    def about(self, subject: str) -> tuple[str, ...]:
        """The ids of what is about it, the newest first."""
        term = _about(subject)
        return tuple(f"{id:016x}" for id in reversed(self._index.of((term,)).get(term, ())))

    def newest(self, limit: int) -> list[Thing]:
        """What was written last, the newest first."""
        return [thing for id in self._tally()[0].recent[:limit] if (thing := self.get(id))]

    def find(
        self, words: str, limit: int, kind: Kind | None = None, subject: str = ""
    ) -> list[Recalled]:
        """What says these words, the best first; the newest first among equals."""
        wanted = {
            term: FAINT if len(term) == 1 and not term.isascii() else 1.0
            for term in self._terms(words)
        }
        lists = self._index.of(wanted)
        there = self._tally()[0].count + 1
        weights = {
            term: weight * log(1 + there / max(len(lists.get(term, ())), 1))
            for term, weight in wanted.items()
        }
        within = {int(id, 16) for id in self.about(subject)} if subject else None
        scores = _scores(lists, weights, within)
        best = nlargest(READ, scores, key=scores.__getitem__)
        things = (thing for id in best if (thing := self.get(f"{id:016x}")))
        found = [
            Recalled(thing, self._score(thing, weights))
            for thing in things
            if kind in (None, thing.kind)
        ]
        found.sort(key=answer_order)
        near = [each for each in found if each.score and each.score >= found[0].score * CLOSE][
            :limit
        ]
        return self.with_surer(near)[:limit]

    def all(self) -> Iterator[Thing]:
        """Every thing, by its id."""
        partition, after = keys.thing(self._scope, "").partition, ""
        while page := self._kv.scan(partition, after=after, limit=500):
            yield from (thing for id, item in page if (thing := _read(id, item)))
            after = page[-1][0]

    def _score(self, thing: Thing, weights: Mapping[str, float]) -> float:
        about, others = self._terms(thing.about), self._words(thing.texts[1:])
        met = sum(
            weight * (STRONG if term in about else term in others)
            for term, weight in weights.items()
        )
        best = sum(weights.values()) * STRONG or 1.0
        return round(met / best * (1 - SURE + SURE * thing.confidence), 3)

    def _words(self, texts: Iterable[str]) -> frozenset[str]:
        return frozenset(term for text in texts for term in self._terms(text))

    def _all_terms(self, thing: Thing) -> frozenset[str]:
        return self._words(thing.texts) | {_about(thing.about)}

    def _tally(self) -> tuple[Tally, str]:
        item = self._kv.get(keys.things(self._scope))
        try:
            tally = _TALLY.read(item.value) if item else Tally()
        except ValueError:
            tally = self._counted()
        return tally, item.version if item else ""

    def _counted(self) -> Tally:
        things = sorted(self.all(), key=lambda thing: -thing.at)
        return Tally(
            len(things),
            sum(thing.size for thing in things),
            tuple(thing.id for thing in things[:RECENT]),
        )

    def _indexed(self) -> Iterator[tuple[int, frozenset[str]]]:
        return (
            (int(thing.id, 16), self._all_terms(thing))
            for thing in sorted(self.all(), key=lambda thing: thing.at)
        )

    def _demand_room(self, more: int, *, new: bool) -> None:
        tally = self._tally()[0]
        if (new and tally.count >= THINGS_MOST) or (
            more > 0 and tally.characters + more > CHARACTERS_MOST
        ):
            message = (
                f"{tally.count:,} things with {tally.characters:,} characters are remembered here,"
                " and there is no room for more"
            )
            raise Refused("EQUOTA", message, suggestion="forget what is not needed any more")

    def _count(self, things: int, characters: int, id: str) -> None:
        for _ in range(RACES):
            tally, version = self._tally()
            others = tuple(each for each in tally.recent if each != id)
            recent = others if things < 0 else (id, *others)[:RECENT]
            after = replace(
                tally,
                count=max(tally.count + things, 0),
                characters=max(tally.characters + characters, 0),
                recent=recent,
            )
            try:
                self._kv.put(keys.things(self._scope), dumps(after), expect=version or ABSENT)
            except Conflict:
                continue
            return


def answer_order(found: Recalled) -> tuple[float, bool, float]:
    """The order of answers: the best first, among equals what nobody disputes, then the newest."""
    return (-found.score, found.thing.disputed, -found.thing.at)


def _contradicts(thing: Thing, before: Thing) -> bool:
    """Whether it is another value under the same key."""
    return thing.kind == "kv" and not thing.mark and not same_words(thing, before)


def _scores(
    lists: Mapping[str, tuple[int, ...]], weights: Mapping[str, float], within: set[int] | None
) -> dict[int, float]:
    """Id → what the terms that lead to it count together; the rarest terms first."""
    scores: dict[int, float] = {}
    for term in sorted(lists, key=lambda term: len(lists[term])):
        ids: Iterable[int] = reversed(lists[term])
        if within is not None:
            ids = [id for id in ids if id in within]
        if len(scores) >= ENOUGH:
            ids = scores.keys() & set(ids)
        weight = weights[term]
        for id in ids:
            scores[id] = scores.get(id, 0.0) + weight
    return scores


def _about(text: str) -> str:
    return ABOUT + folded(text)[:NAME_CHARACTERS]


def _read(id: str, item: Item | None) -> Thing | None:
    """None of what is not there, or damaged."""
    try:
        return decoded(id, item.value) if item else None
    except BackendError:
        return None
