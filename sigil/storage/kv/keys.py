"""Every key of the store, in one place. Parts that come from outside are escaped, so no part can
reach into another's.
"""

from __future__ import annotations

from hashlib import sha256
from urllib.parse import quote, unquote

from sigil.storage.kv.base import Key

SEEN_TTL = 8 * 86400.0
"""Seconds for which a handled event is remembered: beyond the longest redelivery of any platform
(WhatsApp: 7 days).
"""


def escape(part: str) -> str:
    """`part` with everything but letters, digits and `-_.~:@+=` percent-encoded; lone surrogates
    become `?`.
    """
    return quote(part, safe=":@+=", errors="replace")


def unescape(part: str) -> str:
    """What `escape` was given."""
    return unquote(part)


def session_of(agent: str, session: str) -> str:
    """The S of the keys below: `AGENT#SESSION`."""
    return f"{escape(agent)}#{escape(session)}"


def control_of(session: str) -> str:
    """The group of a session's control events: no escaped part holds a `!`, so no session can be
    named like one.
    """
    return f"{session}!"


def inquiries_of(session: str) -> str:
    """The group of a session's inquiries, handed out as control events are; an answer that cannot
    be sent holds up no `/stop`.
    """
    return control_of(f"{session}?")


def lock(session: str) -> Key:
    """What an owner said about a session, or about a whole agent (an `escape`d name): halt,
    unlock.
    """
    return Key("lock", session)


def usage(agent: str, period: str, session: str) -> Key:
    """The tokens that a session spent in a period: an absolute value, one writer."""
    return Key(f"usage#{escape(agent)}", f"{period}#{session}")


def usage_total(agent: str, period: str) -> Key:
    """The tokens that all sessions of an agent spent in a period, as a running total."""
    return Key("usage-total", f"{escape(agent)}#{period}")


def person(agent: str, who: str) -> Key:
    """Somebody whom an owner of an agent let in, by their id."""
    return Key(f"person#{escape(agent)}", escape(who))


def waiting(agent: str, session: str, who: str) -> Key:
    """Somebody who was told a code in a chat, and which code; the codes of a chat begin alike."""
    return Key(f"waiting#{escape(agent)}", f"{escape(session)}#{escape(who)}")


def first_owner(agent: str) -> Key:
    """The code that makes somebody an agent's first owner."""
    return Key("first-owner", escape(agent))


def first_owner_tries(agent: str, who: str) -> Key:
    """How often somebody tried the code that makes the first owner."""
    return Key(f"first-owner-tries#{escape(agent)}", escape(who))


def allowance(agent: str, day: str, who: str) -> Key:
    """What somebody used in a day."""
    return Key(f"allowance#{escape(agent)}", f"{day}#{escape(who)}")


def doc(scope: str, name: str) -> Key:
    """A document as it stands, of an agent (an `escape`d name) or of a session (S)."""
    return Key(f"doc#{scope}", name)


def doc_version(scope: str, name: str, version: int) -> Key:
    """What a document was."""
    return Key(f"doc-version#{scope}", f"{name}#{version:08d}")


def entry(session: str, sequence: int) -> Key:
    """An entry of a session's HISTORY, by the first message that it tells of."""
    return Key(f"history#{session}", f"{sequence:012d}")


def left(session: str, sequence: int) -> Key:
    """What left a chat's memory when it followed the entry of HISTORY that begins with this
    message.
    """
    return Key(f"left#{session}", f"{sequence:012d}")


def thing(scope: str, id: str) -> Key:
    """Something that is remembered, of an agent (an `escape`d name) or of a session (S)."""
    return Key(f"thing#{scope}", id)


def things(scope: str) -> Key:
    """How much is remembered there."""
    return Key("things", scope)


def thing_index(scope: str, bucket: int) -> Key:
    """Which things some of their terms stand in."""
    return Key(f"thing-index#{scope}", f"{bucket:03d}")


def alerted(agent: str, period: str) -> Key:
    """That whoever watches an agent knows that a period's budget is used up."""
    return Key("alerted", f"{escape(agent)}#{period}")


def model_alerted(agent: str, kind: str) -> Key:
    """That whoever watches an agent was told lately that its model fails in this way."""
    return Key("alerted", f"{escape(agent)}#model#{escape(kind)}")


def window(endpoint: str, model: str, tokens: int) -> Key:
    """How many tokens a model takes in truth, for which somebody set so many; an address may hold a
    password, so its hash names it.
    """
    named = "\n".join((endpoint, model, str(tokens)))
    return Key("window", sha256(named.encode(errors="replace")).hexdigest()[:32])


def mark(session: str) -> Key:
    """What a control event says to the turn in progress."""
    return Key(f"session#{session}", "mark")


def missed(session: str) -> Key:
    """The messages that a locked session did not work on, and whether somebody was told of them."""
    return Key(f"session#{session}", "missed")


def head(session: str) -> Key:
    """The session document."""
    return Key(f"session#{session}", "head")


def native_calls(session: str) -> Key:
    """That the model has made native tool calls in a session which its history does not show any
    more.
    """
    return Key("native-calls", session)


def aside(session: str, digest: str) -> Key:
    """A session document that could not be read, by its hash."""
    return Key(f"aside#{session}", digest)


def archive(session: str, sequence: int) -> Key:
    """Messages that compaction dropped, named by the sequence number of the first."""
    return Key(f"session#{session}", f"archive#{sequence:012d}")


def inbox(session: str, order: str) -> Key:
    """A waiting event; `order` sorts by the platform's own time and update id."""
    return Key(f"inbox#{session}", order)


READY, READY_CONTROL = "ready", "ready!"
"""The partitions of the index of sessions that have waiting events, and of those that have control
events.
"""


def ready(session: str) -> Key:
    """A session's mark in the index of those that have waiting events; control groups have an index
    of their own.
    """
    return Key(READY_CONTROL if session.endswith("!") else READY, session)


def claim(session: str) -> Key:
    """The lease of the worker that handles the session's events; it saves work, the session's
    version is the fence.
    """
    return Key("claim", session)


def seen(session: str, event: str) -> Key:
    """A handled event."""
    return Key(f"seen#{session}", escape(event))


def inquiry(session: str, event: str) -> Key:
    """The answer to an inquiry while it is being sent, and that it was."""
    return Key(f"inquiry#{session}", escape(event))


def dead(event: str) -> Key:
    """An event that was given up."""
    return Key("dead", escape(event))


def tries(message: str) -> Key:
    """How often a message of another queue came to nothing."""
    return Key("tries", escape(message))


def reply(session: str, event: str) -> Key:
    """What an event was answered, for callers that wait or poll (HTTP, the terminal)."""
    return Key(f"reply#{session}", escape(event))


def trace(event: str) -> Key:
    """What a handled event did, step by step, without its texts."""
    return Key("trace", escape(event))


def capability(namespace: str, name: str) -> Key:
    """A capability's head: its active version's record."""
    return Key(f"capability#{escape(namespace)}", name)


def version(namespace: str, name: str, number: int) -> Key:
    """One version of a capability, never overwritten."""
    return Key(f"version#{escape(namespace)}", f"{name}#{number:08d}")


def digest(namespace: str, name: str, digest: str) -> Key:
    """Which version a digest is."""
    return Key(f"digest#{escape(namespace)}", f"{name}#{digest}")


def deployment(namespace: str, name: str, digest: str) -> Key:
    """Which versions a version calls, and whether an owner deployed it; never overwritten."""
    return Key(f"deployment#{escape(namespace)}", f"{name}#{digest}")


def dependent(digest: str, namespace: str, name: str, caller: str) -> Key:
    """That the version `caller` of NAMESPACE/NAME calls the one with this digest."""
    return Key(f"dependent#{digest}", f"{escape(namespace)}#{name}#{caller}")


def callers_pinned(namespace: str) -> Key:
    """Up to which change of a namespace each of its versions has a record of what it calls.

    A release before 0.2.0 writes none, and may go on to work on the store.
    """
    return Key("callers-pinned", escape(namespace))


def generation(namespace: str) -> Key:
    """The log of a namespace's last changes: its version is another one with every change to the
    namespace's capabilities.
    """
    return Key("generation", escape(namespace))


def changes(namespace: str, epoch: str, number: int) -> Key:
    """A page of that log's older changes, named by the number of the first; never overwritten with
    anything else.
    """
    return Key(f"changes#{escape(namespace)}", f"{escape(epoch)}#{number:012d}")


def snapshot(namespace: str, kind: str = "") -> Key:
    """Which artifact holds a namespace's search index of this kind, and since when."""
    return Key("snapshot", f"{escape(namespace)}#{escape(kind)}")


def audit(namespace: str, number: int) -> Key:
    """An entry of a namespace's audit, never overwritten."""
    return Key(f"audit#{escape(namespace)}", f"{number:012d}")


def audit_tip(namespace: str) -> Key:
    """Where the last writer of a namespace's audit left it; an entry beyond it may stand."""
    return Key("audit-tip", escape(namespace))


def token(digest: str) -> Key:
    """An access token's record, named by its SHA-256."""
    return Key("token", digest)


def token_use(digest: str) -> Key:
    """When an access token was last used; apart, so that a use never brings a revoked token
    back.
    """
    return Key("token-use", digest)


EVERYWHERE = "*"
"""Where the generation of all public capabilities stands: no namespace is called so."""


def public(namespace: str, name: str) -> Key:
    """The mark of a capability that every namespace may run."""
    return Key("public", f"{escape(namespace)}#{name}")


def expiry(at: float, namespace: str, name: str) -> Key:
    """The mark of a capability whose time runs out, in the order of that time."""
    return Key("expiry", f"{int(at):012d}#{escape(namespace)}#{name}")


def health(namespace: str, name: str, digest: str) -> Key:
    """How often a version failed in a row, and until when it rests; absent when it is well."""
    return Key(f"health#{escape(namespace)}", f"{name}#{digest}")


def use(namespace: str, name: str, writer: str) -> Key:
    """How often a capability was called: absolute values, one writer a key; the writer `all` holds
    what was summed up.
    """
    return Key(f"use#{escape(namespace)}", f"{name}#{writer}")


def stocked() -> Key:
    """What the library was made of when a start found nothing to do, and the state of its namespace
    then.
    """
    return Key("stocked", "library")


def room(namespace: str) -> Key:
    """Who takes room in a namespace at this moment."""
    return Key("room", escape(namespace))


def cooldown(who: str) -> Key:
    """When somebody may deploy again."""
    return Key("cooldown", escape(who))


def daily(task: str) -> Key:
    """When a task of once a day was last begun."""
    return Key("daily", task)


def artifact(name: str) -> Key:
    """A body that the store keeps itself: how many chunks follow, and its first bytes."""
    return Key(f"artifact#{name}", "index")


def artifact_chunk(name: str, number: int) -> Key:
    """A later part of such a body."""
    return Key(f"artifact#{name}", f"chunk#{number:08d}")


def grants(namespace: str, home: str, name: str) -> Key:
    """What was granted to the capability NAMESPACE/NAME, version by version, by the owners of
    `home`.
    """
    return Key(f"grant#{escape(home)}", f"{_other(namespace, home)}#{name}")


def secret(namespace: str, name: str) -> Key:
    """A secret's value, or where it is kept."""
    return Key(f"secret#{escape(namespace)}", name)


def stored(home: str, namespace: str, name: str, key: str) -> Key:
    """What the capability NAMESPACE/NAME stored when it ran for `home`."""
    return Key(f"stored#{escape(home)}#{_other(namespace, home)}#{name}", key)


def stored_usage(home: str, namespace: str, name: str) -> Key:
    """How many keys and bytes that is."""
    return Key("stored", f"{escape(home)}#{_other(namespace, home)}#{name}")


def _other(namespace: str, home: str) -> str:
    """The namespace when it is not `home` itself: a chat's name, which may be long, stands in a key
    once.
    """
    return "" if namespace == home else escape(namespace)


def probe() -> Key:
    """What a doctor writes to see whether the store takes it."""
    return Key("doctor", "probe")
