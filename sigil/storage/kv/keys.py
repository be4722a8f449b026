"""Name every key of the store, in one place.

A function returns the key of the item that its docstring names. Parts that come from outside are
escaped, so that no part can reach into another's.
"""

from __future__ import annotations

import re
from hashlib import sha256
from urllib.parse import quote, unquote

from sigil.storage.kv.base import Key

SEEN_TTL = 8 * 86400.0
"""Seconds for which a handled event is remembered: beyond the longest redelivery of any platform
(WhatsApp: 7 days).
"""

TEAM = "?team"
"""How the scope of a team ends."""
_IS_ESCAPED = re.compile(r"[A-Za-z0-9_.~:@+=-]*").fullmatch
"""Matches a part in which nothing has to be escaped, as in most."""


def escape(part: str) -> str:
    """Return `part` with everything but letters, digits and `-_.~:@+=` percent-encoded; a lone
    surrogate becomes `?`.
    """
    if _IS_ESCAPED(part):
        return part
    return quote(part, safe=":@+=", errors="replace")


def unescape(part: str) -> str:
    """Return the text that `escape` was given."""
    return unquote(part)


def session_of(agent: str, session: str) -> str:
    """Return the S of the keys below: `AGENT#SESSION`."""
    return f"{escape(agent)}#{escape(session)}"


def root_of(agent: str) -> str:
    """Return the name of the agent of the settings above an agent: what is before the dot."""
    return agent.partition(".")[0]


def belongs_to(root: str, whom: str) -> bool:
    """Return whether a session (S) or an agent (an `escape`d name) is a root's or is below it."""
    return root_of(whom.partition("#")[0].removesuffix(TEAM)) == escape(root)


def join_session(session: str, agent: str) -> str:
    """Return the session of a caller who speaks for an agent below the root in one of its chats."""
    return f"{session}#{agent}"


def session_of_caller(namespace: str, session: str) -> str:
    """Return the S of a caller's session, that of an agent below the root if it names one."""
    chat, _, agent = session.rpartition("#")
    if chat and agent != namespace and root_of(agent) == namespace:
        return session_of(agent, chat)
    return session_of(namespace, session)


def agent_record(root: str, name: str) -> Key:
    """The record of an agent below a root, by its short name."""
    return Key(f"agent#{escape(root)}", escape(name))


def agent_seats(root: str) -> Key:
    """The names of the agents below a root that are just being made."""
    return Key("agent-seats", escape(root))


def chat_binding(root: str, session: str) -> Key:
    """The agent that answers in a chat of the root, where that is not the root itself."""
    return Key(f"binding#{escape(root)}", escape(session))


def is_own_work(session: str) -> bool:
    """Return whether a session (S) is one in which the agent works by itself."""
    return session.partition("#")[2].startswith("own:")


def control_of(session: str) -> str:
    """Return the group of a session's control events.

    No escaped part holds a `!`, so no session can be named like one.
    """
    return f"{session}!"


def inquiries_of(session: str) -> str:
    """Return the group of a session's inquiries, which are handed out as control events are.

    An answer that cannot be sent holds up no `/stop`.
    """
    return control_of(f"{session}?")


def updates_of(agent: str, platform: str, bot: str) -> str:
    """Return the group whose lease says which process polls a bot.

    No escaped part holds a `!`, so no session can be named like one.
    """
    return f"{session_of(agent, f'{platform}:{bot}')}!updates"


def listener_state(agent: str, platform: str, bot: str) -> Key:
    """Where the listener of a bot left off, so that the next process goes on there."""
    return Key("listener", session_of(agent, f"{platform}:{bot}"))


def memory_of(session: str) -> str:
    """Return the group of a session's consolidations, which run beside its turns.

    What they spend is written down under the same name. No escaped part holds a `?`.
    """
    return f"{session}?memory"


def own_work_of(agent: str) -> str:
    """Return the group of all events of the sessions in which an agent works by itself.

    No session is called `own` alone, and no escaped part holds a `?`.
    """
    return f"{session_of(agent, 'own')}?work"


def owner_lock(session: str) -> Key:
    """The last word of an owner about a session or a whole agent (an `escape`d name): halt or
    unlock.
    """
    return Key("lock", session)


def session_usage(agent: str, period: str, session: str) -> Key:
    """What a session (S) spent in a period, and when it was last at work: one writer."""
    return Key(f"usage#{escape(agent)}", f"{period}~{session}")


def bare_session_usage(agent: str, period: str, session: str) -> Key:
    """The tokens that a session spent in a period as version 0.1.0 writes them; without a session
    those that an unlock took off.
    """
    return Key(f"usage#{escape(agent)}", f"{period}#{session}")


def split_usage(sort: str) -> tuple[str, str]:
    """Return the period and the session of the sort key of either."""
    period = re.split("[#~]", sort, maxsplit=1)[0]
    return period, sort[len(period) + 1 :]


def usage_total(agent: str, period: str) -> Key:
    """The tokens that all sessions of an agent spent in a period, as a running total."""
    return Key("usage-total", f"{escape(agent)}#{period}")


def person(agent: str, who: str) -> Key:
    """A person whom an owner of an agent let in, by their id."""
    return Key(f"person#{escape(agent)}", escape(who))


def private_chat(agent: str, chat: str) -> Key:
    """What is known of a chat of an agent whose name does not tell whose private chat it is."""
    return Key(f"private-chat#{escape(agent)}", escape(chat))


def known_person(agent: str, who: str) -> Key:
    """What a platform told of a person who wrote to an agent or was named there, by their id."""
    return Key(f"profile#{escape(agent)}", escape(who))


def invitations(agent: str, channel: str) -> Key:
    """The invitations of strangers that a channel has taken lately."""
    return Key("invitations", f"{escape(agent)}#{channel}")


def pairing_request(agent: str, session: str, who: str) -> Key:
    """A person who got a pairing code in a chat, and the code; the keys of a chat begin alike."""
    return Key(f"waiting#{escape(agent)}", f"{escape(session)}#{escape(who)}")


def link_request(agent: str, first: str, who: str) -> Key:
    """A wish to link an id to a person's first one; those of a person begin alike."""
    return Key(f"link-request#{escape(agent)}", f"{escape(first)}#{escape(who)}")


def first_owner(agent: str) -> Key:
    """The code that makes a person an agent's first owner."""
    return Key("first-owner", escape(agent))


def first_owner_tries(agent: str, who: str) -> Key:
    """The count of a person's tries of the code that makes the first owner."""
    return Key(f"first-owner-tries#{escape(agent)}", escape(who))


def link_code(agent: str, digest: str) -> Key:
    """The offer to share the memory of a private chat, by the SHA-256 of its code."""
    return Key(f"link-code#{escape(agent)}", digest)


def link_tries(agent: str, who: str) -> Key:
    """The codes that a person offered and tried lately, to share the memory of a chat."""
    return Key(f"link-tries#{escape(agent)}", escape(who))


def memory_link(scope: str) -> Key:
    """The chats that share the memory of this scope, a name below the S of one of them."""
    return Key("memory-link", scope)


def daily_allowance(agent: str, day: str, who: str) -> Key:
    """The tokens and turns that a person used in a day."""
    return Key(f"allowance#{escape(agent)}", f"{day}#{escape(who)}")


def received_bytes(session: str, day: str) -> Key:
    """The bytes of files that members sent into a session (S) on a day."""
    return Key(f"received#{session}", day)


def document(scope: str, name: str) -> Key:
    """The current text of a document, of an agent (an `escape`d name) or of a session (S)."""
    return Key(f"doc#{scope}", name)


def document_version(scope: str, name: str, version: int) -> Key:
    """An older version of a document."""
    return Key(f"doc-version#{scope}", f"{name}#{version:08d}")


def skill_file(scope: str, digest: str) -> Key:
    """A file that a version of one of an agent's skills has beside its text, by its SHA-256."""
    return Key(f"skill-file#{scope}", digest)


def skill_catalog(scope: str) -> Key:
    """What a search reads of all skills of an agent."""
    return Key("skills", scope)


def skill_head(scope: str) -> Key:
    """How many skills an agent has, and the texts of those that are pinned."""
    return Key("skill-head", scope)


def history_entry(session: str, sequence: int) -> Key:
    """An entry of a session's HISTORY, by the first message that it covers."""
    return Key(f"history#{session}", f"{sequence:012d}")


def forgotten_memory(session: str, sequence: int) -> Key:
    """The lines that left a chat's memory when it followed the entry of HISTORY that begins with
    this message.
    """
    return Key(f"left#{session}", f"{sequence:012d}")


def thing(scope: str, id: str) -> Key:
    """A thing that is remembered, of an agent (an `escape`d name) or of a session (S)."""
    return Key(f"thing#{scope}", id)


def thing_totals(scope: str) -> Key:
    """The count and size of all that is remembered there."""
    return Key("things", scope)


def thing_index(scope: str, bucket: int) -> Key:
    """The terms of a bucket, and the things that each of them occurs in."""
    return Key(f"thing-index#{scope}", f"{bucket:03d}")


def team_of(root: str) -> str:
    """Return the scope that a root and all agents below it share.

    No escaped part holds a `?`, so no agent can be named like one.
    """
    return f"{escape(root)}{TEAM}"


def knowledge_document(scope: str, id: str) -> Key:
    """A document of the knowledge base of an agent (an `escape`d name) or of a team."""
    return Key(f"kb#{scope}", id)


def knowledge_totals(scope: str) -> Key:
    """The size of a knowledge base, and what is being written or removed there."""
    return Key(f"kb#{scope}", "totals")


def knowledge_chunks(scope: str, serial: int, part: int) -> Key:
    """A part of the chunks of one version of a document."""
    return Key(f"kb-chunk#{scope}", f"{serial:010d}#{part:05d}")


def knowledge_version(scope: str, id: str, version: int) -> Key:
    """The record of an earlier version of a document."""
    return Key(f"kb-version#{scope}", f"{id}#{version:09d}")


def knowledge_index(scope: str, bucket: int) -> Key:
    """The terms of a bucket, and the chunks that each of them occurs in."""
    return Key(f"kb-index#{scope}", f"{bucket:04d}")


def budget_alert(agent: str, period: str) -> Key:
    """The mark that an alert was sent: a period's budget is used up."""
    return Key("alerted", f"{escape(agent)}#{period}")


def unanswered_alert(agent: str, event: str, channel: str) -> Key:
    """The mark that an alert was sent lately: a channel does not take a message."""
    return Key("alerted", f"{escape(agent)}#{event}#{escape(channel)}")


def model_alert(agent: str, kind: str) -> Key:
    """The mark that an alert was sent lately: an agent's model fails in this way."""
    return Key("alerted", f"{escape(agent)}#model#{escape(kind)}")


def weather(agent: str) -> Key:
    """What the machine of an agent's owner told of the weather."""
    return Key("weather", escape(agent))


def context_window(endpoint: str, model: str, tokens: int) -> Key:
    """The tokens that a model really takes when its setting says `tokens`.

    An address may hold a password, so its hash names it.
    """
    identity = "\n".join((endpoint, model, str(tokens)))
    return Key("window", sha256(identity.encode(errors="replace")).hexdigest()[:32])


def dialect(endpoint: str, model: str) -> Key:
    """How an endpoint wants the requests to a model; for the hash see `context_window`."""
    identity = "\n".join((endpoint, model))
    return Key("dialect", sha256(identity.encode(errors="replace")).hexdigest()[:32])


def control_mark(session: str) -> Key:
    """The instruction of a control event to the turn in progress."""
    return Key(f"session#{session}", "mark")


def call_progress(session: str) -> Key:
    """How far the calls of the turn in progress say that they have come, where they take long."""
    return Key(f"session#{session}", "progress")


def background_calls(session: str) -> Key:
    """The calls that outlive the turns of a session and have not come to their end."""
    return Key(f"session#{session}", "background-calls")


def missed_messages(session: str) -> Key:
    """The messages that a locked session did not work on, and whether a notice of them was sent."""
    return Key(f"session#{session}", "missed")


def zone_asked(session: str) -> Key:
    """The mark that a chat was told how to set its time zone."""
    return Key(f"session#{session}", "zone-asked")


def edit_told(session: str) -> Key:
    """The mark that a chat was told lately that what changes later is not looked at again."""
    return Key(f"session#{session}", "edit-told")


def outage_told(session: str) -> Key:
    """The mark that a chat was told that a model is away which works for it by itself."""
    return Key(f"session#{session}", "outage-told")


def listening(session: str) -> Key:
    """The mark that an owner lets the agent read along in a group."""
    return Key("listening", session)


def overheard_message(session: str, slot: int) -> Key:
    """A message of a group to somebody else, in one of a few places that are used in turn."""
    return Key(f"overheard#{session}", f"{slot:03d}")


def sent_message(session: str, id: str) -> Key:
    """A message of the agent in a group, by the id that the platform has given it."""
    return Key(f"sent#{session}", escape(id))


def encrypted_chat(session: str) -> Key:
    """The mark of a chat in which what is said is encrypted."""
    return Key("encrypted", session)


def shown_draft(session: str) -> Key:
    """The draft that a chat shows of an answer which is still being written."""
    return Key("draft", session)


def watched_chat(session: str) -> Key:
    """The mark that somebody looks at a chat on a page, with the name of the page's process."""
    return Key("watched", session)


def shared_words(session: str) -> Key:
    """The words so far of an answer that is being written, for a page in another process."""
    return Key("live", session)


def session_head(session: str) -> Key:
    """The session document."""
    return Key(f"session#{session}", "head")


def memory_progress(session: str) -> Key:
    """The outcome of consolidations beside a session's turns, until its next turn adopts it."""
    return Key(f"session#{session}", "memory")


def begun_requests(session: str) -> Key:
    """The requests to the model that no saved turn of a session tells of; those of memory are under
    the name of its group.
    """
    return Key("begun", session)


def native_calls(session: str) -> Key:
    """The mark that the model has made native tool calls in a session whose history does not show
    them any more.
    """
    return Key("native-calls", session)


def unreadable_session(session: str, digest: str) -> Key:
    """A session document that could not be read, by its hash."""
    return Key(f"aside#{session}", digest)


def archive_chunk(session: str, sequence: int) -> Key:
    """Messages that compaction dropped, named by the sequence number of the first."""
    return Key(f"session#{session}", f"archive#{sequence:012d}")


def workspace_file(scope: str, folded: str) -> Key:
    """The head of a file of an agent (an `escape`d name) or of a chat (S), by what its path has in
    common with all that look the same.
    """
    return Key(f"workspace#{scope}", escape(folded))


def workspace_version(scope: str, folded: str, number: int) -> Key:
    """One version of such a file, never overwritten."""
    return Key(f"workspace-version#{scope}", f"{escape(folded)}#{number:08d}")


def workspace_record(scope: str) -> Key:
    """The mark that an agent or a chat has files, with what people changed of them lately."""
    return Key("workspaces", scope)


def mail(scope: str, at: float, id: str) -> Key:
    """A mail that was not read yet, to an agent (an `escape`d name) or to a chat (S); they sort by
    the time at which they were sent (seconds since the epoch).
    """
    return Key(f"mail#{scope}", f"{min(max(int(at * 1000), 0), 10**15 - 1):015d}#{escape(id)}")


def wakeup(agent: str, id: str) -> Key:
    """A schedule of an agent: when it is woken, for what, and how that went."""
    return Key(f"wakeup#{escape(agent)}", escape(id))


def wakeup_run(agent: str, id: str, due: float) -> Key:
    """What became of a run of a schedule, by the time at which it was due (seconds since 1970)."""
    return Key(f"wakeup-run#{escape(agent)}", f"{escape(id)}#{_milliseconds(due)}")


def due_wakeup(root: str, due: float, agent: str, id: str) -> Key:
    """The mark of the next time of a schedule of the root's or of an agent below it, in the order
    of these times (seconds since 1970).
    """
    return Key(f"due#{escape(root)}", f"{_milliseconds(due)}#{escape(agent)}#{escape(id)}")


def task(root: str, number: int) -> Key:
    """A task on the board of a root; they sort by number."""
    return Key(f"board#{escape(root)}", f"{number:08d}")


def ended_task(root: str, number: int) -> Key:
    """A task that was done or dropped; those of the highest numbers sort first."""
    return Key(f"board-done#{escape(root)}", f"{10**8 - 1 - number:08d}")


def board_counter(root: str) -> Key:
    """The number of the next task on the board of a root."""
    return Key("board-counter", escape(root))


def hp(agent: str) -> Key:
    """The HP of an agent, which bound what it does by itself."""
    return Key("hp", escape(agent))


def hook(root: str, name: str) -> Key:
    """A hook of the root's or of an agent below it, by its name; that of a dropped one has its id
    behind a `~`.
    """
    return Key(f"hook#{escape(root)}", escape(name))


def _milliseconds(at: float) -> str:
    return f"{min(max(round(at * 1000), 0), 10**15 - 1):015d}"


def team_member(root: str, name: str) -> Key:
    """What changes of a teammate of the root's, by its short name: if it is at work or idle."""
    return Key(f"member#{escape(root)}", escape(name))


def team_chat(session: str) -> Key:
    """What a chat (S) hears of the team, and the message there that shows how its work goes."""
    return Key("team-chat", session)


def team_request(root: str, id: str) -> Key:
    """A request between members of the root's team: to shut down, or to approve a plan."""
    return Key(f"team-request#{escape(root)}", escape(id))


def proposal(root: str, id: str) -> Key:
    """A thing that the root or an agent below it wants to do, and that an owner decides on."""
    return Key(f"proposal#{escape(root)}", escape(id))


def spending(root: str, day: str) -> Key:
    """The payments that a root and the agents below it have booked in a day."""
    return Key(f"spend#{escape(root)}", day)


def open_proposals(agent: str) -> Key:
    """The ids of an agent's proposals that wait for an owner."""
    return Key("proposals-open", escape(agent))


def unsettled_proposal(root: str, id: str) -> Key:
    """The mark of a proposal of the root's or of an agent below it that has not come to its end."""
    return Key(f"proposal-unsettled#{escape(root)}", escape(id))


def inbox_event(session: str, order: str) -> Key:
    """A waiting event; `order` sorts by the platform's own time and update id."""
    return Key(f"inbox#{session}", order)


READY, READY_CONTROL, READY_WORK = "ready", "ready!", "ready~work"
"""The partitions of the index of groups that have waiting events: of chats, of control events and
inquiries, and of background work.
"""
READY_INDEXES = (READY, READY_CONTROL, READY_WORK)


def ready_session(group: str) -> Key:
    """A group's mark in the index of those that have waiting events."""
    if group.endswith("!"):
        return Key(READY_CONTROL, group)
    return Key(READY_WORK if "?" in group else READY, group)


def session_claim(session: str) -> Key:
    """The lease of the worker that handles the session's events; it saves work, the session's
    version is the fence.
    """
    return Key("claim", session)


def seen_event(session: str, event: str) -> Key:
    """The mark of a handled event."""
    return Key(f"seen#{session}", escape(event))


def inquiry_answer(session: str, event: str) -> Key:
    """The answer to an inquiry while it is being sent, and the mark that it was."""
    return Key(f"inquiry#{session}", escape(event))


def dead_letter(event: str) -> Key:
    """An event that was given up."""
    return Key("dead", escape(event))


def delivery_tries(message: str) -> Key:
    """The count of failed deliveries of a message of another queue."""
    return Key("tries", escape(message))


def event_reply(session: str, event: str) -> Key:
    """The reply to an event, for callers that wait or poll (HTTP, the terminal)."""
    return Key(f"reply#{session}", escape(event))


def unread_reply(session: str, name: str) -> Key:
    """A reply to a session that nobody has read yet; names sort by the time of sending."""
    return Key(f"unread#{session}", name)


def event_trace(event: str) -> Key:
    """The steps of a handled event as version 0.1.0 writes them; they end by themselves."""
    return Key("trace", escape(event))


def run(agent: str, inverse: str, event: str) -> Key:
    """What the turn of an event did; `inverse` counts down, so that the newest is first."""
    return Key(f"run#{escape(agent)}", f"{inverse}#{escape(event)}" if inverse else "")


def event_chain(root: str, event: str) -> Key:
    """What an event has set off, in the root and in the agents below it: their runs and tokens."""
    return Key(f"chain#{escape(root)}", escape(event))


def spent(agent: str, day: str, name: str) -> Key:
    """What a kind of work in a chat cost in a day; without a name the mark that the day's sums are
    whole.
    """
    return Key(f"spent#{escape(agent)}", f"{day}#{name}")


def ledger_entries(agent: str, chain: str, number: int) -> Key:
    """Entries of an agent's ledger, by chain and number of the first; never overwritten."""
    return Key(f"ledger#{escape(agent)}", f"{chain}#{number:012d}")


def capability(namespace: str, name: str) -> Key:
    """A capability's head: its active version's record."""
    return Key(f"capability#{escape(namespace)}", name)


def version(namespace: str, name: str, number: int) -> Key:
    """One version of a capability, never overwritten."""
    return Key(f"version#{escape(namespace)}", f"{name}#{number:08d}")


def version_of_digest(namespace: str, name: str, digest: str) -> Key:
    """The version that has a digest."""
    return Key(f"digest#{escape(namespace)}", f"{name}#{digest}")


def deployment(namespace: str, name: str, digest: str) -> Key:
    """The versions that a version calls, and if an owner deployed it; never overwritten."""
    return Key(f"deployment#{escape(namespace)}", f"{name}#{digest}")


def dependent(digest: str, namespace: str, name: str, caller: str) -> Key:
    """The mark that the version `caller` of NAMESPACE/NAME calls the one with this digest."""
    return Key(f"dependent#{digest}", f"{escape(namespace)}#{name}#{caller}")


def callers_pinned(namespace: str) -> Key:
    """The change of a namespace up to which each of its versions has a record of what it calls.

    A release before 0.2.0 writes none, and may go on to work on the store.
    """
    return Key("callers-pinned", escape(namespace))


def generation(namespace: str) -> Key:
    """The log of a namespace's last changes: its version is another one with every change to the
    namespace's capabilities.
    """
    return Key("generation", escape(namespace))


def changes_page(namespace: str, epoch: str, number: int) -> Key:
    """A page of that log's older changes, named by the number of the first; never overwritten with
    anything else.
    """
    return Key(f"changes#{escape(namespace)}", f"{escape(epoch)}#{number:012d}")


def snapshot(namespace: str, kind: str = "") -> Key:
    """The artifact that holds a namespace's search index of this kind, and its age."""
    return Key("snapshot", f"{escape(namespace)}#{escape(kind)}")


def audit_entry(namespace: str, number: int) -> Key:
    """An entry of a namespace's audit, never overwritten."""
    return Key(f"audit#{escape(namespace)}", f"{number:012d}")


def audit_tip(namespace: str) -> Key:
    """The number of the last entry of a namespace's audit that its last writer knew; there may be
    later ones.
    """
    return Key("audit-tip", escape(namespace))


def token(digest: str) -> Key:
    """An access token's record, named by its SHA-256."""
    return Key("token", digest)


def token_use(digest: str) -> Key:
    """The time when an access token was last used; apart, so that a use never brings a revoked
    token back.
    """
    return Key("token-use", digest)


def web_login(agent: str, digest: str) -> Key:
    """A sign-in to an agent's pages, named by the SHA-256 of the token in the cookie."""
    return Key(f"web-login#{escape(agent)}", digest)


def web_seen(agent: str, who: str) -> Key:
    """When a person last looked at each chat on an agent's pages."""
    return Key(f"web-seen#{escape(agent)}", escape(who))


def web_code(agent: str, digest: str) -> Key:
    """A code that signs in to an agent's pages, named by its SHA-256."""
    return Key(f"web-code#{escape(agent)}", digest)


EVERYWHERE = "*"
"""The namespace of the generation of all public capabilities: no real one has this name."""


def public_mark(namespace: str, name: str) -> Key:
    """The mark of a capability that every namespace may run."""
    return Key("public", f"{escape(namespace)}#{name}")


def expiry_mark(at: float, namespace: str, name: str) -> Key:
    """The mark of a capability whose time runs out, in the order of that time."""
    return Key("expiry", f"{int(at):012d}#{escape(namespace)}#{name}")


def health(namespace: str, name: str, digest: str) -> Key:
    """A version's failures in a row, and until when it rests; absent when it is well."""
    return Key(f"health#{escape(namespace)}", f"{name}#{digest}")


def call_counts(namespace: str, name: str, writer: str) -> Key:
    """The calls of a capability: absolute values, one writer a key.

    The writer `all` holds the sum of those that ended.
    """
    return Key(f"use#{escape(namespace)}", f"{name}#{writer}")


def library_state() -> Key:
    """The library's contents and the state of its namespace when a start found nothing to do."""
    return Key("stocked", "library")


def quota_claims(namespace: str) -> Key:
    """The deploys that claim space in a namespace at this moment."""
    return Key("room", escape(namespace))


def deploy_cooldown(who: str) -> Key:
    """The time from which a caller may deploy again."""
    return Key("cooldown", escape(who))


def web_requests(agent: str, day: str) -> Key:
    """The count of the requests to any public page that an agent's capabilities sent in a day."""
    return Key("web-requests", f"{escape(agent)}#{day}")


def daily_task(task: str) -> Key:
    """The time when a task of once a day was last begun."""
    return Key("daily", task)


def artifact(name: str) -> Key:
    """A body that the store keeps itself: how many chunks follow, and its first bytes."""
    return Key(f"artifact#{name}", "index")


def artifact_chunk(name: str, number: int) -> Key:
    """A later part of such a body."""
    return Key(f"artifact#{name}", f"chunk#{number:08d}")


def chat_file(session: str, id: str) -> Key:
    """A file that a tool returned in a chat (S)."""
    return Key(f"file#{session}", id)


def token_file(namespace: str, token: str, id: str) -> Key:
    """A file that a tool returned outside of chats, to a token or, without one, at a shell."""
    return Key(f"token-file#{escape(namespace)}#{escape(token)}", id)


def file_bytes(namespace: str, day: str) -> Key:
    """The bytes of the files that were kept for a namespace in a day."""
    return Key("file-bytes", f"{escape(namespace)}#{day}")


def file_mark(due: float, id: str) -> Key:
    """The body of a file that a tool returned, in the order of the time when it is removed."""
    return Key("file-due", f"{int(due):012d}#{id}")


def file_link_key() -> Key:
    """The key by which the addresses of shared files are signed."""
    return Key("file-link", "key")


def grants(namespace: str, home: str, name: str) -> Key:
    """The grants to the capability NAMESPACE/NAME, version by version, by the owners of `home`."""
    return Key(f"grant#{escape(home)}", f"{_owner_part(namespace, home)}#{name}")


def secret(namespace: str, name: str) -> Key:
    """A secret's value, or where it is kept."""
    return Key(f"secret#{escape(namespace)}", name)


def stored_value(home: str, namespace: str, name: str, key: str) -> Key:
    """A value that the capability NAMESPACE/NAME stored when it ran for `home`."""
    return Key(f"stored#{escape(home)}#{_owner_part(namespace, home)}#{name}", key)


def stored_usage(home: str, namespace: str, name: str) -> Key:
    """The count of those keys and of their bytes."""
    return Key("stored", f"{escape(home)}#{_owner_part(namespace, home)}#{name}")


def _owner_part(namespace: str, home: str) -> str:
    """Return the namespace, empty when it is `home` itself: a chat's name, which may be long, is in
    a key once.
    """
    return "" if namespace == home else escape(namespace)


def last_backup() -> Key:
    """The time of the last backup of the store, and the name of its file."""
    return Key("backup", "last")


def restoring() -> Key:
    """The mark of a restoration that has begun and not ended: the digest of the backup."""
    return Key("restoring", "backup")


def doctor_probe() -> Key:
    """The item that a doctor writes to see if the store takes it."""
    return Key("doctor", "probe")


SESSION_PARTITIONS = frozenset(
    (
        "session",
        "inbox",
        "mail",
        "seen",
        "reply",
        "unread",
        "inquiry",
        "aside",
        "history",
        "left",
        "overheard",
        "sent",
        "file",
        "received",
        "workspace",
        "workspace-version",
    )
)
SESSION_ITEMS = frozenset(
    "ready ready! ready~work claim listening encrypted draft watched live native-calls begun"
    " workspaces team-chat".split()
)
MEMORY_PARTITIONS = frozenset(("doc", "doc-version", "thing", "thing-index"))
MEMORY_ITEMS = frozenset(("things", "memory-link"))
PERSON_PARTITIONS = frozenset(
    (
        "person",
        "profile",
        "waiting",
        "first-owner-tries",
        "allowance",
        "link-tries",
        "link-code",
        "link-request",
        "private-chat",
        "web-login",
        "web-code",
        "web-seen",
    )
)
PERSONAL_OTHERS = frozenset(
    (
        "usage dead trace run chain spent stored binding wakeup wakeup-run hook proposal"
        " kb kb-chunk kb-version kb-index board board-done"
    ).split()
)
PERSONAL = (
    SESSION_PARTITIONS
    | SESSION_ITEMS
    | MEMORY_PARTITIONS
    | MEMORY_ITEMS
    | PERSON_PARTITIONS
    | PERSONAL_OTHERS
)
"""The first parts of all partitions that concern single persons, by what names them: a session in
the partition or in the sort key, a memory there, a person's id, or something else. Who exports or
erases a person looks through them.
"""
IMPERSONAL = frozenset(
    "lock usage-total first-owner alerted window dialect tries capability version digest deployment"
    " dependent callers-pinned generation changes snapshot audit audit-tip token token-use public"
    " expiry health use stocked room cooldown web-requests daily artifact grant secret"
    " doctor weather backup restoring token-file file-due file-bytes file-link agent due ledger"
    " proposals-open proposal-unsettled board-counter spend hp skills skill-head skill-file"
    " member team-request agent-seats listener invitations".split()
)
"""The first parts of all others: policy, skills, capabilities and what is known of them, and the
audit.
"""


AGENT_PARTITIONS = (
    SESSION_PARTITIONS
    | MEMORY_PARTITIONS
    | frozenset(
        "run spent wakeup wakeup-run skill-file kb kb-chunk kb-version kb-index capability version"
        " digest deployment changes health use grant secret stored".split()
    )
)
"""The first parts of the partitions that are named by an agent, one of its sessions, or the
namespace in which a session deploys.
"""
AGENT_ITEMS = (
    SESSION_ITEMS
    | MEMORY_ITEMS
    | frozenset(
        "lock hp skills skill-head proposals-open due usage-total alerted stored generation"
        " callers-pinned snapshot expiry public room file-bytes dependent cooldown".split()
    )
)
"""The first parts of the partitions of several agents whose sort keys name one of them."""
AGENT_CONTENT = frozenset("agent binding dead hook member proposal proposal-unsettled".split())
"""Those whose items tell whose they are by what is in them, or by their name below the root."""
NOT_OF_AGENTS = PERSON_PARTITIONS | frozenset(
    "usage chain ledger spend audit audit-tip trace first-owner window dialect tries token"
    " token-use stocked web-requests daily artifact doctor weather backup restoring token-file"
    " file-due file-link board board-done board-counter team-request agent-seats listener"
    " invitations".split()
)
"""All others: they stay when an agent is purged. Those that name it are the books of the root: its
ledger, what its work counted for the budget, payments and deploys.
"""


def names_agent(part: str, agent: str) -> bool:
    """Return whether a part of a key, between two `#`, is an agent's name, begins one of its
    groups, or is the namespace in which one of its sessions deploys.
    """
    name = escape(agent)
    if part == name or part.startswith(f"{name}?"):
        return True
    return part.startswith(f"{escape(root_of(agent))}~") and part.endswith(escape(f"#{agent}"))


def is_partition_of(partition: str, agent: str) -> bool:
    """Return whether all items of a partition are those of an agent below a root."""
    kind, _, rest = partition.partition("#")
    return kind in AGENT_PARTITIONS and names_agent(rest.partition("#")[0], agent)


def is_item_of(key: Key, agent: str) -> bool:
    """Return whether the sort key of an item of several agents' names this agent below a root."""
    kind = key.partition.partition("#")[0]
    return kind in AGENT_ITEMS and any(names_agent(part, agent) for part in key.sort.split("#"))


def list_groups(session: str) -> tuple[str, ...]:
    """Return the groups of a session's events; the first is that of its turns.

    An agent's own work is the last group of the session `own`, in whose name nothing else is kept.
    """
    groups = (session, control_of(session), inquiries_of(session), memory_of(session))
    agent, _, name = session.partition("#")
    return (*groups, own_work_of(unescape(agent))) if name == "own" else groups


def session_of_group(group: str) -> str:
    """Return the session (S) whose events are in a group."""
    return group.partition("?")[0].rstrip("!")


def list_session_partitions(session: str) -> list[str]:
    """Return the partitions of a session (S), those of all groups of its events."""
    groups = list_groups(session)
    return [f"{kind}#{group}" for kind in sorted(SESSION_PARTITIONS) for group in groups]


def list_session_items(session: str) -> list[Key]:
    """Return the items that a session (S) may have in partitions of all sessions."""
    groups = list_groups(session)
    return [Key(kind, group) for kind in sorted(SESSION_ITEMS) for group in groups]


def list_memory_partitions(scope: str) -> list[str]:
    """Return the partitions of the memory of a scope."""
    return [f"{kind}#{scope}" for kind in sorted(MEMORY_PARTITIONS)]


def list_knowledge_partitions(scope: str) -> list[str]:
    """Return the partitions of the knowledge base of a scope."""
    return [f"{kind}#{scope}" for kind in ("kb", "kb-chunk", "kb-version", "kb-index")]


def list_memory_items(scope: str) -> list[Key]:
    """Return the items that a memory may have in partitions of all memories.

    That which tells whose memory it is comes last.
    """
    return [thing_totals(scope), memory_link(scope)]


def stored_home(home: str) -> Key:
    """Return the partition of all counts of stored values, and how those of `home` begin."""
    return Key("stored", f"{escape(home)}#")


def stored_partition(owner: str) -> str:
    """Return the partition of the values that are counted under this sort key."""
    return f"stored#{owner}"


def read_agent(partition: str) -> str:
    """Return the agent (an `escape`d name) whose mailbox, schedules or knowledge a partition has,
    empty for all others.
    """
    kind, _, rest = partition.partition("#")
    kinds = ("mail", "wakeup", "wakeup-run", "proposal", "kb")
    return rest if kind in kinds and "#" not in rest and "?" not in rest else ""


def read_scope(partition: str) -> str:
    """Return the session (S) or the memory's scope that a partition belongs to, empty for none."""
    kind, _, rest = partition.partition("#")
    if kind not in SESSION_PARTITIONS | MEMORY_PARTITIONS or "#" not in rest:
        return ""
    return session_of_group(rest)
