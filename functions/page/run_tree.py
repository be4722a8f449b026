"""The tree of a run as rows of a page: what was done, when, for how long, and what came of it.

It is made of the very values that programs get of the run, so that both say the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal

from functions.agent.runs.run import RUNNING, SENT, WAITING
from functions.agent.session.document import LOST, describe_held
from functions.page.words.run_words import RunWords
from sigil.http.page import figures
from sigil.json_fields import as_mapping, as_number, as_sequence, as_string
from sigil.protocol import Json

Kind = Literal["run", "request", "call", "note"]
Row = Mapping[str, Json]
"""A run, or a step of one, as programs get it."""
PAGE: Final = 200
"""So many rows has a page of a tree."""
TEXTS_CHARACTERS: Final = 60_000
"""The texts of the calls of a page have about so many characters together."""
LEAST_CHARACTERS: Final = 160
SCALE: Final = 1_000
"""The width of a bar's picture."""
NARROWEST: Final = 3
BAD_OUTCOMES: Final = ("failed", "given-up")
_HIDDEN: Final = ("save",)
_ASKED_FOR: Final = ("call", "evict", "wait", "verified")


@dataclass(frozen=True, slots=True)
class Text:
    """A text below a row: its name, and what is shown of it, without `left_out` characters."""

    name: str
    text: str
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Node:
    """A row of a tree: a run, a request to the model, a call, or what else happened.

    `what` says it in a few words, `loads` are the tools that it paged in. It began `at`
    milliseconds after the tree did and took `ms`; None for what takes no time. `facts` and `texts`
    stand below it once it is opened. `run` is the id of the run that it belongs to, in which it is
    the `step` of that number (-1 for none); `is_child` says that it is a run with a page of its
    own.
    """

    kind: Kind
    depth: int
    name: str
    what: str = ""
    code: str = ""
    is_bad: bool = False
    is_running: bool = False
    loads: tuple[str, ...] = ()
    at: float = 0.0
    ms: float | None = None
    facts: tuple[tuple[str, str], ...] = ()
    texts: tuple[Text, ...] = ()
    run: str = ""
    step: int = -1
    is_child: bool = False


@dataclass(frozen=True, slots=True)
class Bar:
    """Where the bar of a row begins and how wide it is, of `SCALE`."""

    x: int
    width: int


def read_nodes(run: Row, words: RunWords) -> list[Node]:
    """Return all rows of a run and of those that it set off, in the order of time within each."""
    return list(_read_run(run, words, 0, as_number(run.get("began")), is_top=True))


def find_span(nodes: list[Node]) -> float:
    """Return how many milliseconds the bars of a tree stand for."""
    return max((node.at + (node.ms or 0.0) for node in nodes), default=0.0)


def make_bar(node: Node, span: float) -> Bar | None:
    """Return the bar of a row in a tree of so many milliseconds; None for what takes no time."""
    if node.ms is None:
        return None
    if span <= 0:
        return Bar(0, SCALE)
    x = min(max(round(node.at / span * SCALE), 0), SCALE - NARROWEST)
    width = max(round(node.ms / span * SCALE), NARROWEST)
    return Bar(x, min(width, SCALE - x))


def find_step(run: Row, number: int) -> Row:
    """Return a step of a run by its number, with nothing in it where there is none."""
    steps = as_sequence(run.get("steps"))
    return as_mapping(steps[number]) if 0 <= number < len(steps) else {}


def _read_run(
    run: Row, words: RunWords, depth: int, began: float, *, is_top: bool = False
) -> Iterator[Node]:
    """Yield the row of a run, those of its steps, its result, and those of its children."""
    at = max((as_number(run.get("began")) - began) * 1_000, 0.0)
    outcome = as_string(run.get("outcome"))
    is_running = outcome in (RUNNING, WAITING)
    name = as_string(run.get("agent"))
    behaviour = as_string(run.get("behaviour"))
    why = as_string(run.get("why"))
    what = f"{words.name_reason(as_string(run.get('reason')))} → {words.name_outcome(outcome)}"
    yield Node(
        "run",
        depth,
        f"{name} · {behaviour}" if behaviour else name,
        f"{what} ({why})" if why else what,
        is_bad=outcome in BAD_OUTCOMES,
        is_running=is_running,
        at=at,
        ms=as_number(run.get("seconds")) * 1_000,
        facts=() if is_top else tuple(_list_facts(run, words)),
        texts=tuple(Text(words.note, str(each)) for each in as_sequence(run.get("notes"))),
        run=as_string(run.get("id")),
        is_child=not is_top,
    )
    id = as_string(run.get("id"))
    room = _find_room(run)
    requests = 0
    for number, step in enumerate(as_sequence(run.get("steps"))):
        fields = as_mapping(step)
        kind = as_string(fields.get("kind"))
        if kind in _HIDDEN:
            continue
        requests += kind == "request"
        # what a request has asked for stands below it
        is_inside = requests > 0 and kind in _ASKED_FOR
        node = _read_step(fields, words, kind, requests, room)
        yield replace(
            node,
            depth=depth + (2 if is_inside else 1),
            at=at + as_number(fields.get("at")),
            run=id,
            step=number,
        )
    for child in as_sequence(run.get("children")):
        yield from _read_run(as_mapping(child), words, depth + 1, began)
    left_out = as_number(run.get("left_out"))
    if left_out:
        said = words.more_runs.format(count=figures.count(left_out))
        yield Node("note", depth + 1, words.left_out, said)


def _read_step(step: Row, words: RunWords, kind: str, requests: int, room: int) -> Node:
    """Return the row of a step, without its place."""
    state = as_string(step.get("state"))
    ms = as_number(step.get("ms")) if "ms" in step else None
    detail = _cut_texts([(words.failure, as_string(step.get("detail")))], room)
    if kind == "request":
        number = round(as_number(step.get("n"))) or requests
        return Node(
            "request",
            0,
            words.request.format(number=number),
            _describe_request(step, words),
            code=as_string(step.get("failure")),
            is_bad=state in ("failed", "timed-out"),
            is_running=state in (RUNNING, WAITING),
            ms=ms,
            facts=tuple(_list_facts_of_request(step, words)),
            texts=detail,
        )
    if kind == "call":
        error = as_string(step.get("error"))
        texts = [
            (words.arguments, as_string(step.get("arguments"))),
            (words.result, as_string(step.get("result"))),
        ]
        return Node(
            "call",
            0,
            as_string(step.get("name")),
            _describe_call(step, words),
            code=error,
            is_bad=bool(error),
            is_running=state in (RUNNING, WAITING),
            loads=tuple(_list_loads(step)),
            ms=ms,
            facts=tuple(_list_facts_of_call(step, words)),
            texts=_cut_texts(texts, room),
        )
    said = _describe_note(kind, step, words)
    is_bad = kind == "limit" or "failure" in step
    return Node("note", 0, words.name_step(kind), said, is_bad=is_bad, ms=ms, texts=detail)


def _describe_request(step: Row, words: RunWords) -> str:
    if as_string(step.get("state")) in (RUNNING, WAITING):
        return words.name_state(as_string(step.get("state")))
    finish = as_string(step.get("finish"))
    if finish == LOST:
        return words.lost
    if finish == "stopped":
        return words.name_state("cancelled")
    parts = [
        words.tokens.format(
            prompt=figures.count(step.get("prompt")),
            completion=figures.count(step.get("completion")),
        )
    ]
    if as_number(step.get("cached")):
        parts.append(words.cached_tokens.format(count=figures.count(step.get("cached"))))
    if "tools" in step:
        parts.append(words.tools.format(count=figures.count(step.get("tools"))))
    return " · ".join(parts)


def _describe_call(step: Row, words: RunWords) -> str:
    state = as_string(step.get("state"))
    if state in (RUNNING, WAITING):
        return words.name_state(state)
    parts = []
    if not step.get("error"):
        parts.append(words.characters.format(count=figures.count(step.get("size"))))
    for each in as_sequence(step.get("sent")):
        kind, to = [*map(str, as_sequence(each)), "", ""][:2]
        if kind in SENT:
            parts.append(words.sent.format(kind=words.name_sent(kind), to=figures.line(to, 60)))
    return " · ".join(parts)


def _list_loads(step: Row) -> Iterator[str]:
    for load in as_sequence(step.get("loads")):
        named = as_sequence(load)
        yield str(named[0]) if named else str(load)


def _describe_note(kind: str, step: Row, words: RunWords) -> str:
    if kind == "evict":
        said = words.evicted.format(count=figures.count(step.get("messages")))
        tools = ", ".join(str(tool) for tool in as_sequence(step.get("tools")))
        return f"{said}: {tools}" if tools else said
    if kind == "limit":
        spent = ""
        if "spent" in step:
            spent = f" ({figures.count(step['spent'])} / {figures.count(step.get('most'))})"
        return f"{step.get('limit')}: {step.get('end')}{spent}"
    if kind == "held":
        return describe_held(step)
    if kind == "left-out":
        return words.more_steps.format(count=figures.count(step.get("count")))
    if kind == "end":
        after = as_string(step.get("behaviour"))
        return words.goes_on.format(behaviour=after) if after else words.sleeps
    told = [str(step[name]) for name in ("name", "outcome", "reason", "by", "id") if step.get(name)]
    return figures.line(" · ".join(told))


def _list_facts(run: Row, words: RunWords) -> Iterator[tuple[str, str]]:
    usage = as_mapping(run.get("usage"))
    yield words.chat, as_string(run.get("session"))
    yield words.tokens_in, figures.count(usage.get("prompt"))
    yield words.tokens_out, figures.count(usage.get("completion"))
    yield words.requests, figures.count(run.get("requests"))
    yield words.calls, figures.count(run.get("calls"))
    if run.get("failed"):
        yield words.failed, figures.count(run.get("failed"))
    if run.get("model"):
        yield words.model, as_string(run.get("model"))


def _list_facts_of_request(step: Row, words: RunWords) -> Iterator[tuple[str, str]]:
    if step.get("model"):
        yield words.model, as_string(step.get("model"))
    if step.get("tool_tokens"):
        yield words.tools_tokens, figures.count(step.get("tool_tokens"))
    if step.get("finish"):
        yield words.finish, as_string(step.get("finish"))
    if step.get("tries"):
        yield words.tries, figures.count(step.get("tries"))
    if step.get("late"):
        yield words.late, as_string(step.get("late"))


def _list_facts_of_call(step: Row, words: RunWords) -> Iterator[tuple[str, str]]:
    if step.get("id"):
        yield words.call, as_string(step.get("id"))
    if step.get("seq"):
        yield words.message, figures.count(step.get("seq"))
    if step.get("error"):
        yield words.failure, as_string(step.get("error"))
    if step.get("fingerprint"):
        yield words.fingerprint, as_string(step.get("fingerprint"))


def _find_room(run: Row) -> int:
    """Return how many characters of each text of a run are shown."""
    count = 2 * sum(1 for step in as_sequence(run.get("steps")) if "result" in as_mapping(step))
    return max(min(TEXTS_CHARACTERS // max(count, 1), figures.SHOWN_CHARACTERS), LEAST_CHARACTERS)


def _cut_texts(texts: list[tuple[str, str]], room: int) -> tuple[Text, ...]:
    return tuple(
        Text(name, figures.clean(text, room), max(len(text) - room, 0))
        for name, text in texts
        if text
    )
