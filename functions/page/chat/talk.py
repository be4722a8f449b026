"""The talk of a chat as people read it, made of the messages of its history and of its archive.

A history keeps its first message when it is shortened, so what has left the model's window stands
between messages that have not. A call is one line, whose place and number never change: while it
runs, and for ever after.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

import orjson

from functions.agent.context import VERIFY
from functions.agent.conversation.messages import (
    MAIL_ORIGIN,
    RUNTIME_ORIGIN,
    SCHEDULED_KINDS,
    SCHEDULED_NOTE,
    SEPARATOR,
    Message,
    read_inbox,
    read_own_words,
    sender_name,
)
from functions.agent.conversation.toolset import QUERY, in_scope
from functions.agent.runs.run import Run
from functions.agent.session.document import Document
from functions.agent.session.store import Sessions
from functions.agent.turn import pictures
from sigil.json_fields import as_mapping
from sigil.protocol import KeptFile, Offer

SHOWN_MOST: Final = 60
"""So many messages are shown at first, and with each look at earlier ones."""
CHUNK_MOST: Final = 200
"""An archived chunk has about so many messages at most."""
TEXT_CHARACTERS: Final = 2_000
"""So much of a call's arguments and of its result is shown; the run has the rest."""
LINE_CHARACTERS: Final = 160
_SECONDS: Final = 0.002
"""The end of a run and its answer have the same time, but for rounding."""
_FILE: Final = re.compile(r"\[([^\[\]:]{1,40}): (?:unnamed|\"([^\[\]\"]*)\")([^\[\]]*)\]")
_CODE: Final = re.compile(r"[A-Z0-9_]{1,24}")
_KEPT: Final = re.compile(r", kept as (.+?)(?:, version \d+)?(?: \(\d+ pages\))?: read-file[^:]*")

Kind = Literal["own", "answer", "call", "note", "said"]
State = Literal["running", "done", "failed", "stopped"]


@dataclass(frozen=True, slots=True)
class ShownCall:
    """A call as its line shows it. `name` is the tool's, `loads` are the tools that it paged in.
    `ms` is 0 where nobody knows how long it took, and `progress` what it tells while it runs.
    """

    name: str
    arguments: str
    result: str = ""
    state: State = "running"
    error: str = ""
    loads: tuple[str, ...] = ()
    ms: float = 0.0
    progress: str = ""

    @property
    def line(self) -> str:
        """Return the arguments on one line, cut."""
        return " ".join(self.arguments.split())[:LINE_CHARACTERS]


@dataclass(frozen=True, slots=True)
class ShownFile:
    """A file of a message. `id` is that of a kept one of an answer, and `path` where it stands
    among the chat's own; of the two one is empty, or both where nobody could open it.
    """

    name: str
    kind: str
    id: str = ""
    path: str = ""
    size: int = 0

    @property
    def is_picture(self) -> bool:
        """Return whether a browser shows it as a picture."""
        return self.kind.startswith("image/")


@dataclass(frozen=True, slots=True)
class Said:
    """Something that stands in the talk.

    `id` is its own for good, and `seq` the number of its message: 0 for the answer to a command,
    which is no part of the history. `who` is named where somebody else than the chat's person wrote
    it. `is_gone`: it has left the model's window. `is_draft`: another answer took its place when it
    was checked; `is_aside`: it was said beside calls, or below an answer. `run` is the one that
    ended with this answer.
    """

    id: str
    kind: Kind
    seq: int
    text: str
    at: float
    who: str = ""
    call: ShownCall | None = None
    files: tuple[ShownFile, ...] = ()
    is_gone: bool = False
    is_draft: bool = False
    is_aside: bool = False
    run: Run | None = None


@dataclass(frozen=True, slots=True)
class Talk:
    """The last part of a chat's talk, or an earlier one.

    `first` is the number of its first message, and `has_earlier` says that there are some before.
    What stands before `window` and is gone has left with the tools in `left`.
    """

    items: tuple[Said, ...] = ()
    first: int = 0
    has_earlier: bool = False
    left: tuple[Offer, ...] = ()
    messages: tuple[Message, ...] = field(default=(), repr=False)


def load_talk(
    sessions: Sessions,
    key: str,
    document: Document,
    *,
    runs: Sequence[Run] = (),
    redact: Callable[[str], str] = str,
    before: int = 0,
    progress: Mapping[str, str] | None = None,
) -> Talk:
    """Return the talk of a session (S of the keys): its last messages, or the last of those
    `before` a number. `runs` are its last ones. `progress` has what calls tell while they run, by
    their tools. `redact` takes secrets out of what is shown.
    """
    end = before or document.next_seq
    start = max(end - SHOWN_MOST - CHUNK_MOST, 0)
    found: dict[int, Message] = {}
    resident = {message.seq for message in document.messages}
    is_archived = not document.messages or document.next_seq - 1 > len(document.messages)
    if is_archived:
        for _, chunk in sessions.scan_archive(key, start, end):
            found.update((message.seq, message) for message in chunk)
    found.update((message.seq, message) for message in document.messages)
    every = [found[seq] for seq in sorted(found) if seq < end]
    shown = _cut_beginning(every)
    left = in_scope(message for message in every if message.seq not in resident)
    names = {offer.tool for offer in in_scope(document.messages)}
    first = shown[0].seq if shown else 0
    items = read_talk(shown, resident, runs, redact, progress)
    has_earlier = len(shown) < len(every) or (start > 0 and bool(shown))
    gone = tuple(offer for offer in left if offer.tool not in names)
    return Talk(tuple(items), first, has_earlier, gone, tuple(shown))


def _cut_beginning(messages: Sequence[Message]) -> Sequence[Message]:
    """Return the last messages, with what begins the turn of the first of them where that is not
    far.
    """
    place = max(len(messages) - SHOWN_MOST, 0)
    if not place:
        return messages
    for earlier in range(place, max(place - SHOWN_MOST // 3, -1), -1):
        if messages[earlier].role == "user":
            return messages[earlier:]
    while place < len(messages) and messages[place].role == "tool":
        place += 1
    return messages[place:]


def read_talk(
    messages: Sequence[Message],
    resident: Iterable[int],
    runs: Sequence[Run] = (),
    redact: Callable[[str], str] = str,
    progress: Mapping[str, str] | None = None,
) -> list[Said]:
    """Return what people read of these messages; those that are `resident`, by their numbers, are
    in the model's window.
    """
    window = frozenset(resident)
    told = progress or {}
    items: list[Said] = []
    turn: list[Message] = []
    for place, message in enumerate(messages):
        if message.role == "user" and message.origin != RUNTIME_ORIGIN:
            turn = []
        turn.append(message)
        after = messages[place + 1] if place + 1 < len(messages) else None
        if message.role == "user":
            items += _read_user(message, redact)
        elif message.role == "assistant":
            items += _read_assistant(message, after, turn, runs, redact)
            results = _find_results(messages, place)
            steps = _list_steps(message, runs)
            for number, call in enumerate(message.calls):
                answer = results.get(call.id)
                made = _read_call(call.name, call.arguments, answer, redact)
                if answer is not None:
                    made = _add_step(made, steps.get((call.id, answer.seq), {}))
                elif call.name in told:
                    made = replace(made, progress=redact(told[call.name]))
                id = f"c{message.seq}-{number}"
                items.append(Said(id, "call", message.seq, "", message.at, call=made))
    return [item if item.seq in window else replace(item, is_gone=True) for item in items]


def _read_user(message: Message, redact: Callable[[str], str]) -> list[Said]:
    """Return what a message is to people that the model did not write: somebody's words, or a note
    of the runtime's.
    """
    id, seq, at = f"m{message.seq}", message.seq, message.at
    if message.origin == MAIL_ORIGIN:
        return [
            Said(f"{id}-{number}", "said", seq, redact(text), at, who=who)
            for number, (who, text) in enumerate(read_inbox(message))
        ]
    if message.origin == RUNTIME_ORIGIN:
        if message.content == VERIFY:  # the draft before it says so
            return []
        return [Said(id, "note", seq, redact(message.content), at)]
    if message.origin in SCHEDULED_KINDS:
        text = message.content.removesuffix(SCHEDULED_NOTE).rstrip()
        return [Said(id, "note", seq, redact(text), at, who=message.origin)]
    words = read_own_words(message.content)
    files = tuple(_read_files(message, words))
    who = ""
    if SEPARATOR in message.origin or " " in message.origin:
        who = sender_name(message.origin) or message.origin.partition(" ")[0]
    return [Said(id, "own", seq, redact(words), at, who=who, files=files)]


def _read_files(message: Message, words: str) -> Iterable[ShownFile]:
    """Yield the files of a person's message, as the lines below their words name them."""
    lines = message.content.split("\n")
    count = len(lines) - len(words.split("\n")) if words else len(lines)
    types = {file.id: file.type for file in message.files}
    for line in lines[-count:] if count > 0 else ():
        found = _FILE.fullmatch(line)
        if not found:
            continue
        kept = _KEPT.fullmatch(found[3])
        path = kept[1] if kept else ""
        yield ShownFile(found[2] or found[1], types.get(path, found[1]), path=path)


def _read_assistant(
    message: Message,
    after: Message | None,
    turn: Sequence[Message],
    runs: Sequence[Run],
    redact: Callable[[str], str],
) -> list[Said]:
    """Return the text of a message of the model; none where it only makes calls."""
    is_draft = after is not None and (after.origin, after.content) == (RUNTIME_ORIGIN, VERIFY)
    is_last = not message.calls and not is_draft
    text = redact(message.content)
    files: tuple[ShownFile, ...] = ()
    if is_last:
        text = redact(pictures.add_picture(text, turn)) if len(turn) > 1 else text
        files = tuple(_show_file(file) for file in pictures.collect_files(turn))
    if not text.strip() and not files:
        return []
    run = find_run(runs, message.at) if is_last else None
    id = f"m{message.seq}"
    said = Said(id, "answer", message.seq, text, message.at, files=files, run=run)
    return [replace(said, is_draft=is_draft, is_aside=bool(message.calls))]


def _show_file(file: KeptFile) -> ShownFile:
    return ShownFile(file.name, file.type, id=file.id, size=file.size)


def find_run(runs: Sequence[Run], at: float) -> Run | None:
    """Return the run that ended with what was said at a time (seconds since 1970)."""
    return next((run for run in runs if abs(run.began + run.seconds - at) <= _SECONDS), None)


def _find_results(messages: Sequence[Message], place: int) -> dict[str, Message]:
    """Return the results of the calls of the message at a place, by the ids of the calls."""
    results: dict[str, Message] = {}
    for message in messages[place + 1 :]:
        if message.role != "tool":
            break
        results.setdefault(message.call_id, message)
    return results


def _list_steps(
    message: Message, runs: Sequence[Run]
) -> dict[tuple[str, int], Mapping[str, object]]:
    """Return the steps of the calls of a message, by the id of the call and the number of its
    result: ids come again in other turns.
    """
    if not message.calls:
        return {}
    for run in runs:
        if run.began <= message.at <= run.began + run.seconds + _SECONDS:
            return {
                (str(step.get("id")), int(str(step.get("seq") or 0))): step
                for step in run.steps
                if step["kind"] == "call" and "id" in step
            }
    return {}


def _read_call(
    name: str, arguments: str, answer: Message | None, redact: Callable[[str], str]
) -> ShownCall:
    shown = _cut(redact(arguments))
    if answer is None:
        return ShownCall(name, shown)
    error = _read_error(answer.content)
    loads = tuple(offer.tool for offer in answer.loads)
    state: State = "failed" if error else "done"
    if error in ("ESTOPPED", "EINTERRUPTED"):
        state = "stopped"
    return ShownCall(name, shown, _cut(redact(answer.content)), state, error, loads)


def _read_error(content: str) -> str:
    """Return the code of a result that says that its call failed; empty for any other one."""
    if not content.startswith('{"error"'):
        return ""
    try:
        failure = as_mapping(as_mapping(orjson.loads(content.partition("\n")[0])).get("error"))
    except (orjson.JSONDecodeError, TypeError):
        return "EFAILED"
    code = str(failure.get("code") or "")
    return code if _CODE.fullmatch(code) else "EFAILED"


def _add_step(call: ShownCall, step: Mapping[str, object]) -> ShownCall:
    """Return a call with what its run knows of it: how long it took, and how it failed."""
    ms = step.get("ms")
    error = str(step.get("error") or "") or call.error
    return replace(call, ms=float(ms) if isinstance(ms, int | float) else 0.0, error=error)


def read_query(arguments: str) -> str:
    """Return what a call of `sigil_query` with these arguments looked for."""
    try:
        return str(as_mapping(orjson.loads(arguments)).get("query") or "")
    except (orjson.JSONDecodeError, TypeError):
        return ""


def find_origins(messages: Sequence[Message]) -> dict[str, str]:
    """Return by which words each tool was found that these messages bring, by its name; empty words
    where nobody looked for it.
    """
    queries = {
        (message.seq, call.id): read_query(call.arguments)
        for message in messages
        for call in message.calls
        if call.name == QUERY
    }
    origins: dict[str, str] = {}
    asked = 0
    for message in messages:
        if message.calls:
            asked = message.seq
        for offer in message.loads:
            origins[offer.tool] = queries.get((asked, message.call_id), "")
    return origins


def _cut(text: str) -> str:
    more = len(text) - TEXT_CHARACTERS
    return text if more <= 0 else f"{text[:TEXT_CHARACTERS]}\n[… {more:,} more characters …]"
