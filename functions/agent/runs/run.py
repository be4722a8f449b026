"""A run is what a turn did: its requests with their tokens, its calls with their sizes, its saves.

There is one row for each turn, the newest first, without any text of a chat, but with what the
agent noted of its own work. What a model's endpoint said about a failure is in it, because people
are told less: only owners read it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import orjson

from functions.agent.conversation.messages import Count, Number, Usage
from functions.agent.posts import REFUSED
from functions.agent.runs.call_progress import read_row
from functions.agent.runs.event_chain import SETTING
from functions.agent.session.document import LOST, NOTE_STEP, Turn, describe_held, name_run
from functions.agent.session.store import SessionHandle
from sigil.json_fields import as_number, as_sequence
from sigil.protocol import Json
from sigil.running_call import format_progress
from sigil.storage.kv import KV, Item, Key, keys
from sigil.storage.kv.base import get_many
from sigil.storage.kv.update import scan_all
from sigil.storage.stored import Shape, Stored, dumps

STEPS_BYTES: Final = 2_304
"""About so many bytes of steps does a row have; what is between its first and its last is left out
beyond that.
"""
DETAIL_CHARACTERS: Final = 300
LOOKED_MOST: Final = 5_000
"""A run that is only known by its event is looked for among so many of the newest."""
PAGE: Final = 200
LEFT_OUT: Final = "left-out"
REASONS: Final = ("joined", "refused", "control", "command")
"""The steps that say why a turn of a message asked no model."""
SENT: Final = {"say": "a message to", "mail": "mail to", "task": "work for"}
"""What people read of a post, by its kind. A behaviour that goes on has a step of its own."""
RUNNING: Final = "running"
WAITING: Final = "waiting"
"""The outcomes of a run that is not over, and the states of what is at work in it."""
Step = Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Run(Stored):
    """What a turn did, or what one has done so far that is in progress.

    `reason` says why there was a turn: the kind of its event, or what else a message was (a
    `command`, a stranger's that was `refused`, …). `outcome` is `said`, `silent`, `failed`,
    `stopped`, `skipped` or `given-up`, and `why` says more of the last four, and of what quiet
    hours hold back, which is `silent`; or it is `running` or `waiting` while the turn is in
    progress, which is not written down here. `by` is the person on
    whose behalf it was, with their `role`. `cause` is the event that made this one, `root` the
    first of them, `hops` how many there were. `task` is the piece of work that it belongs to.
    `files` counts what it sent, and `posts` the events that it posted (None: nobody counted them).
    `notes` are the agent's own words about what it did. `began` is in seconds since 1970, and each
    step's `at` in milliseconds after it.
    """

    event: str
    session: str
    agent: str
    kind: str
    reason: str
    outcome: str
    began: Number
    seconds: Number = 0.0
    why: str = ""
    by: str = ""
    role: str = ""
    model: str = ""
    requests: Count = 0
    usage: Usage = Usage()
    calls: Count = 0
    failed: Count = 0
    files: Count = 0
    messages: Count = 0
    bytes: Count = 0
    cause: str = ""
    root: str = ""
    hops: Count = 0
    task: str = ""
    behaviour: str = ""
    steps: tuple[Step, ...] = ()
    notes: tuple[str, ...] = ()
    posts: Count | None = None

    @property
    def id(self) -> str:
        """Return its name, by which it is found at once: `INV~EVENT`."""
        return name_run(self.event, self.began)

    @property
    def is_running(self) -> bool:
        """Return whether its turn is not closed."""
        return self.outcome in (RUNNING, WAITING)

    @property
    def first(self) -> str:
        """Return the first event of the chain that it belongs to."""
        return self.root or self.event


RUN: Final = Shape[Run](Run)


def save_run(kv: KV, run: Run, days: float) -> None:
    """Write down a run, for so many days."""
    kv.put(_key(run.agent, run.id), dumps(run), ttl=days * 86_400)


def make_run(turn: Turn, closed: SessionHandle, now: float, role: str, model: str) -> Run:
    """Return the run of a turn that was just closed, with the `role` of the person on whose behalf
    it was and the name of the agent's `model`; `now` is in seconds since 1970.
    """
    event = turn.event
    document = closed.document
    said = [reply for reply in document.outbox if reply.event == event.id]
    left = [post for post in document.posts if post.cause == event.id]
    told = [post for post in left if post.kind == "say"]
    outcome, why = _find_outcome(turn, document.safety.reason, said=bool(said or told))
    used = turn.model or document.model or model
    reasons = [str(step["kind"]) for step in turn.trace if step["kind"] in REASONS]
    notes = [step for step in turn.trace if step["kind"] == NOTE_STEP]
    steps = [step for step in turn.trace if step["kind"] != NOTE_STEP]
    return Run(
        event=event.id,
        session=event.session,
        agent=keys.unescape(closed.key.partition("#")[0]),
        kind=event.kind,
        reason=reasons[0] if reasons else event.kind,
        outcome=outcome,
        began=turn.began,
        seconds=round(max(now - turn.began, 0.0), 3),
        why=why,
        by=event.behalf,
        role=role,
        model=used if turn.next_request > 1 else "",
        requests=turn.rounds,
        usage=turn.usage,
        calls=len(turn.tools),
        failed=turn.count_failed_calls(),
        files=sum(len(reply.files) for reply in said),
        messages=len(document.messages),
        bytes=closed.size,
        cause=event.cause,
        root=event.root,
        hops=event.hops,
        task=turn.task,
        behaviour=turn.behaviour,
        steps=shorten_steps(_leave_out_model(steps, used), turn.began),
        notes=tuple(str(note.get("text")) for note in notes),
        # those of its calls may have left its session already
        posts=max(turn.posted, len(left)),
    )


def _leave_out_model(steps: Sequence[Step], model: str) -> list[Step]:
    """Return the steps without the model of those requests that asked the run's own."""
    return [
        {name: value for name, value in step.items() if (name, value) != ("model", model)}
        for step in steps
    ]


def find_state(step: Step) -> str:
    """Return the state of a request to the model or of a call: `waiting`, `running`, `done`,
    `failed`, `cancelled` or `timed-out`; empty for any other step.
    """
    if "state" in step:
        return str(step["state"])
    if step["kind"] == "request":
        finish = step.get("finish")
        if finish == "error":
            return "timed-out" if step.get("failure") == "late" else "failed"
        return {"stopped": "cancelled", LOST: "failed"}.get(str(finish), "done")
    if step["kind"] == "call":
        if step.get("stopped"):
            return "cancelled"
        error = str(step.get("error", ""))
        ended = {"": "done", "ETIMEDOUT": "timed-out", "ESTOPPED": "cancelled"}
        return ended.get(error, "failed")
    return ""


def _find_outcome(turn: Turn, stopped: str, *, said: bool) -> tuple[str, str]:
    """Return how a turn ended, and why; `stopped` is why its session may not go on."""
    by_kind = {step["kind"]: step for step in turn.trace}
    if "skip" in by_kind:
        return "skipped", str(by_kind["skip"].get("reason", ""))
    if "given-up" in by_kind:
        return "given-up", ""
    if turn.failed:
        last = turn.trace[-1]
        is_over = last.get("late") == "turn"
        return ("stopped", "seconds") if is_over else ("failed", str(last.get("failure", "")))
    if turn.is_cut_short:
        return "stopped", str(turn.trace[-1]["limit"])
    if "stop" in by_kind:
        return "stopped", "told"
    if stopped:
        return "stopped", stopped
    if turn.held_back:
        return "silent", turn.held_back
    return ("said" if said else "silent"), ""


def shorten_steps(steps: Sequence[Step], began: float) -> tuple[Step, ...]:
    """Return the steps of a row: in few bytes, the first ones and the last."""
    kept = [_tidy_step(step, began) for step in steps]
    if len(orjson.dumps(kept)) <= STEPS_BYTES:
        return tuple(kept)
    kept = [step for step in kept if step["kind"] != "save"]
    sizes = [len(orjson.dumps(step)) + 1 for step in kept]
    if sum(sizes) <= STEPS_BYTES:
        return tuple(kept)
    size = sizes[-1] + 60
    count = 0
    for each in sizes[:-1]:
        size += each
        if size > STEPS_BYTES:
            break
        count += 1
    left_out: Step = {"kind": LEFT_OUT, "count": len(kept) - 1 - count}
    return (*kept[:count], left_out, kept[-1])


def _tidy_step(step: Step, began: float) -> Step:
    detail = step.get("detail")
    if isinstance(detail, str) and len(detail) > DETAIL_CHARACTERS:
        step = {**step, "detail": f"{detail[:DETAIL_CHARACTERS]}…"}
    if step["kind"] == "wait":
        # the turn has to know when that was; a row says how long after its beginning
        step = {**step, "at": max(round((as_number(step.get("at")) - began) * 1000), 0)}
    return step


def load_run(kv: KV, agent: str, name: str) -> Run | None:
    """Return a run by its id or by its event, None when there is none.

    By its event it is looked for among the newest `LOOKED_MOST`.
    """
    inverse, mark, _ = name.partition("~")
    if mark and inverse.isdecimal():
        item = kv.get(_key(agent, name))
        return read_run(item) if item else None
    wanted = keys.escape(name)
    for looked, (sort, item) in enumerate(_scan(kv, agent)):
        if sort.partition("#")[2] == wanted:
            return read_run(item)
        if looked >= LOOKED_MOST:
            break
    return None


def scan_runs(kv: KV, agent: str, after: str = "") -> Iterator[Run]:
    """Yield the runs of an agent, the newest first; those behind the one with the id `after`."""
    for _, item in _scan(kv, agent, _key(agent, after).sort if after else ""):
        run = read_run(item)
        if run:
            yield run


def find_last_end(kv: KV, agent: str) -> float:
    """Return when the last run of an agent ended (seconds since 1970), 0.0 where none is known."""
    last = next(scan_runs(kv, agent), None)
    return last.began + last.seconds if last else 0.0


def load_runs(kv: KV, names: Sequence[tuple[str, str]]) -> list[Run]:
    """Return runs by their agents and ids, those that are there and can be read."""
    items = get_many(kv, [_key(agent, name) for agent, name in names])
    return [run for item in items if item and (run := read_run(item))]


def read_run(item: Item) -> Run | None:
    """Return the run in an item, None for one that cannot be read."""
    try:
        return RUN.read(item.value)
    except ValueError:
        return None


def _scan(kv: KV, agent: str, after: str = "") -> Iterator[tuple[str, Item]]:
    partition = keys.run(agent, "", "").partition
    return scan_all(kv, partition, after=after, page=PAGE)


def _key(agent: str, name: str) -> Key:
    inverse, _, event = name.partition("~")
    return keys.run(agent, inverse, event)


def format_run(run: Run) -> list[str]:
    """Return the run as lines: each round with its request, its calls and its saves."""
    usage = run.usage
    cached = _format_cached(usage.cached, usage.prompt)
    lines = [
        f"{run.event}  {run.session}",
        (
            f"  {run.requests} requests, {usage.prompt:,}{cached} + {usage.completion:,} tokens,"
            f" {run.seconds:.3f} s, {run.messages} messages, {run.bytes:,} bytes"
        ),
        *(f"  noted: {note}" for note in run.notes),
    ]
    number = 0
    for step in run.steps:
        if step["kind"] == "request":
            number += 1
        lines.append(format_step(step, number))
    return lines


def format_step(step: Step, number: int) -> str:
    """Return the line of a step; `number` is that of its round."""
    match step["kind"]:
        case "request":
            return f"  ├ round {number}: request {_format_request(step)}"
        case "call" if "state" in step:
            return f"  │   ├ {step['name']} {format_at_work(step)}"
        case "call":
            outcome = step["error"] or f"{step['size']:,} characters"
            if step.get("fingerprint"):
                outcome = f"{outcome} [{step['fingerprint']}]"
            loads = [str(as_sequence(load)[0]) for load in as_sequence(step.get("loads"))]
            loaded = "".join(f", + {tool}" for tool in loads)
            return f"  │   ├ {step['name']} {step['ms']} ms, {outcome}{loaded}{_format_sent(step)}"
        case "evict":
            tools = ", ".join(str(tool) for tool in as_sequence(step.get("tools")))
            gone = f": {tools}" if tools else ""
            return f"  │   · evicted {step['messages']} messages{gone}"
        case "aside":
            return f"  │   · a request beside the conversation{_format_failure(step)}"
        case "verified":
            return f"  │   · verified: {step['outcome']}"
        case "stop":
            by = f" by {step['by']}" if step.get("by") else ""
            return f"  │   · stopped{by}"
        case "skip":
            return f"  │   · skipped: {step['reason']}"
        case "held":
            return f"  │   · held back: {describe_held(step)}"
        case "command":
            return f"  │   · command: {step['name']}"
        case "behaviour":
            return f"  ├ behaviour {step['name']}, {step['pins']} pins{_format_left_out(step)}"
        case "end":
            after = f"goes on with {step['behaviour']}" if step["behaviour"] else "sleeps"
            return f"  │   · {after}"
        case "limit":
            return f"  │   · {_format_limit(step)}"
        case "left-out":
            return f"  │   · {step['count']} more steps"
        case kind:
            return f"  │   · {kind}"


def _format_limit(step: Step) -> str:
    """Return which limit a turn has met, and what that did to it."""
    if step["end"] == REFUSED:
        return f"the limit of {step['limit']}: it may set off no other agent"
    spent = ""
    if "spent" in step:
        spent = f" ({step['spent']:,} of {step['most']:,} tokens, {SETTING})"
    return f"the limit of {step['limit']} ends it: {step['end']}{spent}"


def _format_sent(step: Step) -> str:
    """Return what a call sent to chats and other agents."""
    sent = []
    for each in as_sequence(step.get("sent")):
        kind, to = map(str, as_sequence(each))
        if kind in SENT:
            sent.append(f", → {SENT[kind]} {to}")
    return "".join(sent)


def _format_request(step: Step) -> str:
    """Return what a request cost and how it ended, or since when it is at work."""
    if "state" in step:
        return format_at_work(step)
    if step["finish"] == LOST:
        return "lost in a crash"
    ms = f"{step['ms']} ms"
    model = f" by {step['model']}" if step.get("model") else ""
    if step["finish"] == "stopped":
        return f"{ms}{model}, cancelled"
    cached = _format_cached(as_number(step.get("cached")), as_number(step["prompt"]))
    spent = f"{step['prompt']:,}{cached} + {step['completion']:,} tokens"
    late = f", late for the {step['late']}" if step.get("late") else ""
    return (
        f"{ms}{model}, {spent}, {step['tools']} tools, {step['finish']}{late}"
        f"{_format_failure(step)}"
    )


def _format_cached(cached: float, prompt: float) -> str:
    """Return how much of a prompt came from the provider's cache; empty where nothing did."""
    return f" ({cached:,} cached, {cached / prompt:.0%})" if cached and prompt else ""


def format_at_work(step: Step) -> str:
    """Return the state of what is at work, for how long it has been, and how far it has come."""
    told = read_row(step.get("progress"))
    progress = f", {format_progress(told)}" if told else ""
    return f"{step['state']} for {as_number(step['ms']) / 1000:.1f} s{progress}"


def _format_left_out(step: Step) -> str:
    """Return which pins of a behaviour were left out, and which behaviour was not there."""
    names = as_sequence(step.get("left_out"))
    left_out = f", without {', '.join(map(str, names))}" if names else ""
    return f"{left_out}, in place of {step['missing']}" if step.get("missing") else left_out


def _format_failure(step: Step) -> str:
    """Return why tries to reach the model failed, in its endpoint's words."""
    tries = f", {step['tries']} failed" if step.get("tries") else ""
    return f"{tries} ({step['failure']}: {step['detail']})" if step.get("failure") else tries
