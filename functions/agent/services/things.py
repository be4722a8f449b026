"""`remember`, `recall` and `forget`: the things that the agent remembers, with where they are from.

A thing is a value under a key, a fact, or an event.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from functions.agent.conversation.messages import find_last_said, read_own_words
from functions.agent.memory.related_words import asks_about_oneself, is_question
from functions.agent.memory.thing import (
    FIELDS,
    USER,
    WHEN,
    Kind,
    Remembered,
    Thing,
    check_source,
    check_thing,
    fold,
    id_of,
    is_address,
    is_id,
)
from functions.agent.memory.things import Recalled, Things, sort_key
from functions.agent.sanitize import clean_text
from functions.agent.services.call_context import (
    Arguments,
    CallContext,
    read_flag,
    read_number,
    read_share,
    read_text,
)
from functions.time.time_zone import load_zone
from sigil.errors import UsageError, one_line
from sigil.protocol import Json

if TYPE_CHECKING:
    from functions.agent.memory.corrections import Correction, Said

SURE, HEARD = 1.0, 0.5
"""The confidence in what a person said here, and in what came from elsewhere; the model may give
less.
"""
SURER = (
    "the value under this key is surer and was not replaced; both are kept: ask the user which"
    " one is right"
)
"""The note to the model about a value that contradicts a surer one."""
NEAR = (
    "near is about something like it: it answers only where it says exactly what was asked; else"
    " this was never told"
)
"""The note to the model about an answer that has near things alone."""
ENDED = "this ended what was there before; if both hold, remember that again with replaces: none"
"""The note to the model about what a new thing ended."""
STANDS_TOO = "these stand beside it; if one is over, remember this again with replaces: its id"
"""The note to the model about other values of what one may have several of, or not."""
OVER = "no_longer_true"
"""The field with what was true once."""
ONE_THING = "give one of these: key and value; subject, predicate and object; type and payload"
USUAL, MOST = 8, 20
USES = 3
"""The best answers of a recall count as used, so many of them."""
ASKED_LEAST, QUESTION_LEAST, OWN_LEAST = 0.5, 0.18, 0.15
"""The score that the best thing needs, for things to be shown with a query for capabilities, with
one that is a question, and with one that is about the person who asks.
"""
OTHERS_CHARACTERS, OTHERS_SHARE = 6_000, 0.2
"""What else is remembered is listed in so many characters at most, and in so many for each token of
the model's window, which is about a twentieth of it.
"""
OTHER_CHARACTERS = 100
OTHERS_READ = 500
QUERY_CHARACTERS = 500
ABOUT_MOST = 200
"""At most so many things about one subject are read, the newest."""
AT_ONCE = 100
ONE_TARGET = "give one of these: id (recall tells it), key, or subject"
FIRST_SECOND, LAST_SECOND = -62_135_596_800.0, 253_402_300_799.0
"""The first and the last second that a calendar has, since 1970."""


def remember(context: CallContext, arguments: Arguments) -> Json:
    """Keep one thing, and say what it replaced or ended, or which surer one it contradicts.

    Raises `UsageError` EINVAL unless it says where it is from.
    """
    shared = read_flag(arguments, "shared")
    if shared:
        context.require_owner()
        arguments = {name: context.redact(value) for name, value in arguments.items()}
    thing = _parse_thing(context, arguments)
    if thing.source != USER and not is_address(thing.source):
        context.require_called(thing.source)
    # most turns remember nothing
    from functions.agent.memory.corrections import save_thing

    things = context.shared if shared else context.things
    app = context.app
    with app.helpers.lock:
        result = save_thing(
            things,
            thing,
            app.helpers.terms,
            replaces=read_text(arguments, "replaces"),
            read_said=partial(_read_said, context, shared=shared),
            now=app.clock.now(),
            holder=None if shared else context.find_holder_here(),
        )
        still = "" if shared else _correct_memory_document(context, result)
    saved = result.saved
    answer: dict[str, Json] = {
        "remembered": describe_thing(saved.thing, shared=shared),
        "new": saved.new,
    }
    if saved.before and saved.before.texts != saved.thing.texts:
        answer["replaced"] = describe_thing(saved.before, shared=shared)
    if result.ended:
        answer["ended"] = [describe_thing(each, shared=shared) for each in result.ended]
        answer["note"] = ENDED
    elif result.beside:
        answer["also_true"] = [describe_thing(each, shared=shared) for each in result.beside]
        answer["note"] = STANDS_TOO
    if saved.surer:
        surer = describe_thing(saved.surer, shared=shared)
        answer["conflict"] = {"stands": surer, "note": SURER}
    if still:
        answer["memory_still_says"] = still
    return answer


def _read_said(context: CallContext, *, shared: bool) -> Said:
    """Return the words of the person whose turn it is; none where the agent works by itself."""
    from functions.agent.memory.corrections import Said

    document = context.app.sessions.open(context.session).document
    message = None if context.work else find_last_said(document.messages)
    words = read_own_words(message.content) if message else ""
    since = document.turn.began if document.turn else context.app.clock.now()
    return Said(words, since, shared or context.private)


def _correct_memory_document(context: CallContext, correction: Correction) -> str:
    """Say in the chat's memory document what a correction ended, and no more what it restored.

    Returns a line that still says something else, empty when none does.
    """
    if not correction.ended and not correction.restored:
        return ""
    from functions.agent.memory.ended_lines import mark_ended_lines

    scope = context.memory or context.session
    return mark_ended_lines(context.app.documents, scope, correction, context.by, context.texts)


def recall(context: CallContext, arguments: Arguments) -> Json:
    """Return the best things first, each with its source and confidence.

    A surer value comes before those that dispute it. What ended is told only as that. Without key,
    subject and query the answer is what was written last. What only speaks of something like the
    query stands apart, as `near`. A query that finds nothing is answered with what else there is,
    shortly.
    """
    limit = read_number(arguments, "limit", USUAL, MOST)
    named = read_text(arguments, "kind")
    kind = next((known for known in FIELDS if known == named), None)
    if named and kind is None:
        raise UsageError("EINVAL", f"kind is one of {', '.join(FIELDS)}")
    own = _find_things(context.things, arguments, kind, limit)
    shared = _find_things(context.shared, arguments, kind, limit)
    found = [(each, False) for each in own] + [(each, True) for each in shared]
    found.sort(key=lambda pair: sort_key(pair[0]))
    ranked = bool(read_text(arguments, "query"))
    if any(read_text(arguments, name) for name in ("query", "key", "subject")):
        context.count_uses([pair for pair in found if not pair[0].thing.ended][:USES])
    items: list[Json] = []
    near: list[Json] = []
    over: list[Json] = []
    for each, is_shared in found[:limit]:
        score = each.score if ranked else None
        row = describe_found(each, shared=is_shared, score=score)
        if each.thing.ended:
            over.append(row)
        else:
            (near if each.near else items).append(row)
    answer: dict[str, Json] = {"items": items, "found": len(items)}
    if over:
        answer[OVER] = over
    if near:
        return {**answer, "near": near} if items else {**answer, "near": near, "note": NEAR}
    others = _list_others(context, ()) if ranked and not items else ""
    return {**answer, "also_remembered": others} if others else answer


def find_remembered(context: CallContext, query: str) -> Remembered:
    """Return the things that a query for capabilities asks for as well, the best first.

    They have to say enough of it: most queries ask for no thing. A question may ask for one in
    words that nothing leads from, so what else the chat remembers is listed for it too, shortly:
    the model knows more words than we do.
    """
    words = clean_text(query)[:QUERY_CHARACTERS]
    least = ASKED_LEAST
    if asks_about_oneself(words):
        least = OWN_LEAST
    elif is_question(words):
        least = QUESTION_LEAST
    found = [(each, False) for each in context.things.find(words, USUAL)]
    found += [(each, True) for each in context.shared.find(words, USUAL)]
    found = [pair for pair in found if not pair[0].thing.ended]
    found.sort(key=lambda pair: sort_key(pair[0]))
    if found and found[0][0].score < least:
        found = []
    context.count_uses(found[:1])
    found = found[:USUAL]
    things: list[dict[str, Json]] = []
    near: list[dict[str, Json]] = []
    for each, is_shared in found:
        (near if each.near else things).append(describe_found(each, shared=is_shared))
    asks_for_thing = asks_about_oneself(words) and not any(map(str.isdigit, words))
    if not asks_for_thing and not is_question(words):
        return Remembered(things, near)
    others = _list_others(context, {each.thing.id for each, _ in found})
    return Remembered(things, near, others, is_own=asks_for_thing)


def _list_others(context: CallContext, known: Collection[str]) -> str:
    """Return what else people told this chat, each in a few words, the newest first."""
    left = min(OTHERS_CHARACTERS, int(context.app.model.window * OTHERS_SHARE))
    listed: list[str] = []
    things = sorted(islice(context.things.scan(), OTHERS_READ), key=lambda thing: -thing.at)
    for thing in things:
        if thing.id in known or thing.disputed or thing.ended or thing.source != USER:
            continue
        line = one_line(thing.in_words, OTHER_CHARACTERS)
        left -= len(line) + 2
        if left < 0:
            break
        listed.append(line)
    return "; ".join(listed)


def forget(context: CallContext, arguments: Arguments) -> Json:
    """Forget one thing by its id or its key, or everything about a subject.

    Returns how many were forgotten, how many are left of what was meant, and a line of the chat's
    memory that still mentions it. What is not there is forgotten already.
    """
    shared = read_flag(arguments, "shared")
    if shared:
        context.require_owner()
    things = context.shared if shared else context.things
    ids = _list_ids_to_forget(things, arguments)
    with context.app.helpers.lock:
        gone = [thing for thing in map(things.drop, ids[:AT_ONCE]) if thing]
        still = context.forget_in_memory(gone) if gone and not shared else ""
    answer: dict[str, Json] = {"forgotten": len(gone), "left": len(ids[AT_ONCE:])}
    if still:
        answer["memory_still_says"] = still
    return answer


def format_time(at: float) -> str:
    """Return seconds since 1970 as `2026-11-22T01:30Z`."""
    seconds = min(max(at, FIRST_SECOND), LAST_SECOND)
    time = datetime(1970, 1, 1) + timedelta(seconds=seconds)
    return time.isoformat(timespec="minutes") + "Z"


def describe_thing(thing: Thing, *, shared: bool, score: float | None = None) -> dict[str, Json]:
    """Return a thing as the model reads it.

    What every chat recalls (`shared`) does not tell who wrote it. `score` is in 0…1, None where
    nothing was ranked. `disputed` marks a value where a surer one says something else, and `ended`
    is when something ceased to be true.
    """
    item: dict[str, Json] = {"id": thing.id}
    for name, value in thing.row().items():
        if value != "" and name != "instead" and not (shared and name == "by"):
            item[name] = value
    if thing.ended:
        item["ended"] = format_time(thing.ended)
    item[WHEN[thing.kind]] = format_time(thing.at)
    if shared:
        item["shared"] = True
    if thing.disputed:
        item["disputed"] = True
    if score is not None:
        item["score"] = score
    return item


def describe_found(found: Recalled, *, shared: bool, score: float | None = None) -> dict[str, Json]:
    """Return a thing as `describe_thing` does, with what was true before it, of what was found."""
    item = describe_thing(found.thing, shared=shared, score=score)
    if found.before:
        item[OVER] = [
            {"id": thing.id, "was": thing.in_words, "ended": format_time(thing.ended)}
            for thing in found.before
        ]
    return item


def _parse_thing(context: CallContext, arguments: Arguments) -> Thing:
    """Return the thing whose fields the arguments give; raise `UsageError` EINVAL otherwise."""
    kinds: list[Kind] = []
    for candidate, fields in FIELDS.items():
        if any(read_text(arguments, field) for field in fields):
            kinds.append(candidate)
    if len(kinds) != 1:
        raise UsageError("EINVAL", "it is not clear what to remember", suggestion=ONE_THING)
    kind = kinds[0]
    for field in FIELDS[kind]:
        if not read_text(arguments, field):
            raise UsageError("EINVAL", f"{field} is missing", suggestion=ONE_THING)
    source = check_source(read_text(arguments, "source"))
    texts = tuple(read_text(arguments, field) for field in FIELDS[kind])
    # what nobody says here is at most hearsay, however sure of it a page or another agent is
    most = SURE if source == USER and context.work is None else HEARD
    confidence = min(read_share(arguments, "confidence", most), most)
    when = read_text(arguments, "when")
    if when and kind != "event":
        raise UsageError(
            "EINVAL", "when belongs to an event", suggestion="say it in the text instead"
        )
    at = parse_time("when", when, context.zone) if when else context.app.clock.now()
    mark = context.call if kind == "event" else ""
    return check_thing(Thing(kind, texts, source, confidence, at, context.by, mark=mark))


def parse_time(name: str, text: str, zone: str) -> float:
    """Return the moment of a date or time, which is one in the chat's zone unless it says so."""
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=load_zone(zone))).timestamp()
    except (ValueError, OverflowError):
        hint = "write it as 2026-05-01 or 2026-05-01T18:30Z, or leave it out for now"
        raise UsageError("EINVAL", f"{name} is no date and no time", suggestion=hint) from None


def _find_things(
    things: Things, arguments: Arguments, kind: Kind | None, limit: int
) -> list[Recalled]:
    """Return the things under the key, with the words, about the subject, or written last."""
    key = clean_text(read_text(arguments, "key"))
    subject = clean_text(read_text(arguments, "subject"))
    words = clean_text(read_text(arguments, "query"))
    if key:
        if kind not in (None, "kv"):
            return []
        return things.replace_ended([Recalled(thing, 1.0) for thing in things.list_values(key)])
    if words:
        return things.find(words, limit, kind, subject)
    if subject:
        candidates = [things.get(id) for id in things.list_about(subject)[:ABOUT_MOST]]
        named = [each for each in candidates if each and fold(each.about) == fold(subject)]
    else:
        named = things.list_newest(limit)
    found = [Recalled(thing, 1.0) for thing in named if kind in (None, thing.kind)]
    return things.add_surer_values(things.replace_ended(found)[:limit])


def _list_ids_to_forget(things: Things, arguments: Arguments) -> list[str]:
    id = clean_text(read_text(arguments, "id"))
    key = clean_text(read_text(arguments, "key"))
    subject = clean_text(read_text(arguments, "subject"))
    if sum(map(bool, (id, key, subject))) != 1:
        raise UsageError("EINVAL", "it is not clear what to forget", suggestion=ONE_TARGET)
    if id and not is_id(id):
        raise UsageError("EINVAL", "id is 16 hexadecimal digits", suggestion="recall tells the ids")
    if id:
        return [id]
    if key:
        ids = [id_of("kv", key, ""), *(thing.id for thing in things.list_values(key))]
        return list(dict.fromkeys(ids))
    ids = []
    for each in things.list_about(subject):
        thing = things.get(each)
        if thing and fold(thing.about) == fold(subject):
            ids.append(each)
    return ids
