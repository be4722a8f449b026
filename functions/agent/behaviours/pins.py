"""Pins are the tools that a behaviour's work begins with, without a search.

Seven services are there for pins alone: they stand in no registry, so no search finds them, and
they do nothing in a chat.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Final

from functions.agent.behaviours.behaviour import (
    NAME_CHARACTERS,
    NOTE,
    PROPOSE,
    READ_CURRENT,
    REVIEW,
)
from functions.agent.conversation import tokens
from sigil.errors import BackendError, UsageError
from sigil.protocol import Caller, Hit, Json, Offer, Registry, SearchesMany
from sigil.strict_json import canonical

SLEEP: Final = "sleep"
NEXT_BEHAVIOR: Final = "next-behavior"
TELL: Final = "tell"
IDLE: Final = "idle"
SHUTDOWN_RESPONSE: Final = "shutdown-response"
SELF: Final = "self"
"""The document in which an agent says who it is."""
TELL_CHARACTERS: Final = 8_000
NOTE_CHARACTERS: Final = 400
CHANGE_CHARACTERS: Final = 12_000
REVIEW_DAYS_MOST: Final = 30
_TARGET: Final[Mapping[str, Json]] = {
    "type": "string",
    "maxLength": 80,
    "description": "self, behaviour/NAME, skill/NAME, schedule/ID or capability/NAME",
}


def _offer_service(
    name: str, description: str, properties: Mapping[str, Json], required: Sequence[str]
) -> Offer:
    schema: dict[str, Json] = {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }
    digest = sha256(canonical([name, description, schema])).hexdigest()
    # running one again after a crash posts the same events under the same ids
    return Offer(name, 1, f"sha256:{digest}", description, schema, pure=True, kind="host")


PINNED_ONLY: Final[Mapping[str, Offer]] = {
    offer.name: offer
    for offer in (
        _offer_service(
            SLEEP,
            "End this run now and say nothing more. What somebody should know is said before, with"
            " tell, or answered in place of this call.",
            {
                "until": {
                    "type": "string",
                    "maxLength": 100,
                    "description": "For a heartbeat: when it looks next, such as tomorrow at 9:00",
                }
            },
            (),
        ),
        _offer_service(
            NEXT_BEHAVIOR,
            "End this behaviour and go on with another one, which begins with its own instructions"
            " and tools and reads what was done here.",
            {
                "name": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": NAME_CHARACTERS,
                    "description": "Its name, such as on_self_improve",
                }
            },
            ("name",),
        ),
        _offer_service(
            TELL,
            "Say something at once in the chat that this work belongs to, and go on working.",
            {
                "text": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": TELL_CHARACTERS,
                    "description": "What is said, in the language of its people",
                },
                "to": {
                    "type": "string",
                    "maxLength": 256,
                    "description": "Another chat of the same person, such as telegram:42",
                },
            },
            ("text",),
        ),
        _offer_service(
            IDLE,
            "Signal that you have no more work. Enters idle polling phase.",
            {},
            (),
        ),
        _offer_service(
            SHUTDOWN_RESPONSE,
            "Answer a shutdown_request of your inbox: approve it and shut down, or say why you must"
            " go on.",
            {
                "request_id": {"type": "string", "minLength": 8, "maxLength": 8},
                "approve": {"type": "boolean"},
                "reason": {"type": "string", "maxLength": NOTE_CHARACTERS},
            },
            ("request_id", "approve"),
        ),
        _offer_service(
            NOTE,
            "Note in the worklog what you did in this run and why, for those who look after you."
            " Nobody hears of it.",
            {
                "text": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": NOTE_CHARACTERS,
                    "description": "One sentence or two",
                }
            },
            ("text",),
        ),
        _offer_service(
            PROPOSE,
            "Propose another text for a part of yourself: who you are, a behaviour, a skill, a"
            " schedule or a capability. An owner reads what would change, and decides.",
            {
                "target": _TARGET,
                "base": {
                    "type": "integer",
                    "minimum": 0,
                    "description": "The version that the text was made from, 0 when there is none:"
                    " read-current says it",
                },
                "text": {
                    "type": "string",
                    "maxLength": CHANGE_CHARACTERS,
                    "description": "The whole text as it should be, with what stays; empty takes a"
                    " behaviour or a skill away",
                },
                **{
                    name: {"type": "string", "minLength": 1, "maxLength": 200}
                    for name in ("goal", "risk", "benefit")
                },
            },
            ("target", "base", "text", "goal", "risk", "benefit"),
        ),
        _offer_service(
            READ_CURRENT,
            "Read a part of yourself as it is now, with its version, before you propose a change of"
            " it. Without a target: what there is.",
            {"target": _TARGET},
            (),
        ),
        _offer_service(
            REVIEW,
            "Look at your own runs of the last days: what failed, which calls failed how often, and"
            " what you noted.",
            {
                "days": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": REVIEW_DAYS_MOST,
                    "description": "7 when it is left out",
                }
            },
            (),
        ),
    )
}


def find_pins(
    names: Sequence[str], registry: Registry, caller: Caller, room: float
) -> tuple[tuple[Offer, ...], tuple[str, ...]]:
    """Return the offers of what is pinned, and the names of what is left out.

    Left out is what does not exist, was withdrawn or cannot be reached, and what does not fit into
    `room` estimated tokens.
    """
    offers: list[Offer] = []
    left_out = []
    known = _search_at_once(names, registry, caller)
    for name in names:
        if any(offer.name == name for offer in offers):
            continue  # a bundle has brought it
        found = known[name] if name in known else _find_offers(name, registry, caller)
        size = tokens.of_offers(found)
        if not found or size > room:
            left_out.append(name)
            continue
        room -= size
        offers.extend(found)
    return tuple(offers), tuple(left_out)


def _search_at_once(
    names: Sequence[str], registry: Registry, caller: Caller
) -> Mapping[str, tuple[Offer, ...]]:
    """Return the offers of each of these capabilities where the registry finds all of them at once;
    otherwise nothing.
    """
    searched = [name for name in names if name not in PINNED_ONLY]
    if len(searched) < 2 or not isinstance(registry, SearchesMany):
        return {}
    try:
        answers = registry.query_each(searched, caller)
    except (BackendError, UsageError):
        return {}
    hits = zip(searched, answers, strict=True)
    return {name: pick_offers(name, answer.hits) for name, answer in hits}


def _find_offers(name: str, registry: Registry, caller: Caller) -> tuple[Offer, ...]:
    if name in PINNED_ONLY:
        return (PINNED_ONLY[name],)
    try:
        # who is named stands first, whatever else is like it
        hits = registry.query(name, caller).hits
    except (BackendError, UsageError):
        return ()
    return pick_offers(name, hits)


def pick_offers(name: str, hits: Iterable[Hit]) -> tuple[Offer, ...]:
    """Return the offers of a capability that is among these hits, of a bundle those of all its
    members; nothing when it is not there.
    """
    for hit in hits:
        if hit.offer.name == name:
            return hit.loads
        for offer in hit.loads:
            if offer.name == name:
                return (offer,)
    return ()
