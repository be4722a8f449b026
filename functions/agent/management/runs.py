"""What programs ask about runs over HTTP: pages of them, and one with all that it set off."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from functions.agent.app import App
from functions.agent.conversation.messages import Message
from functions.agent.runs.result import summarize
from functions.agent.runs.run import LOOKED_MOST, Run, Step, scan_runs
from functions.agent.runs.tree import build_tree, describe_tree, find_run, list_agents
from functions.agent.session.store import Sessions
from sigil.errors import BackendError, UsageError, one_line
from sigil.json_fields import as_integer
from sigil.storage.kv import keys

PAGE: Final = 50
TEXT_CHARACTERS: Final = 16_000
FILTERS: Final = ("session", "outcome", "reason")
KNOWN: Final = frozenset((*FILTERS, "after", "limit"))
_LIMIT: Final = re.compile(r"[1-9][0-9]{0,2}", re.ASCII)
_ID: Final = re.compile(r"[0-9]{13}~.{1,500}", re.DOTALL)


def list_runs(
    app: App, agent: str, query: Mapping[str, str], running: Sequence[Run] = ()
) -> dict[str, object]:
    """Return a page of an agent's runs, the newest first, without their steps: those that the
    parameters of a request ask for. `next` is where the following page begins.

    The first page begins with those that are `running`.

    `UsageError` EINVAL for parameters that name no page.
    """
    limit = query.get("limit", str(PAGE))
    after = query.get("after", "")
    if not set(query) <= KNOWN:
        raise _refuse(f"ask by {', '.join(sorted(KNOWN))}")
    if not _LIMIT.fullmatch(limit) or int(limit) > PAGE:
        raise _refuse(f"limit is a number from 1 to {PAGE}")
    if after and not _ID.fullmatch(after):
        raise _refuse("after is the id of a run, such as `next` of the page before")
    wanted = {name: query[name] for name in FILTERS if name in query}
    items: list[dict[str, object]] = []
    last = ""

    def add(run: Run) -> None:
        if all(getattr(run, name) == value for name, value in wanted.items()):
            items.append(summarize(run))

    for run in running:
        if run.agent == agent and not after:
            add(run)
    most = len(items) + int(limit)
    for looked, run in enumerate(scan_runs(app.kv, agent, after), 1):
        last = run.id
        add(run)
        if len(items) == most or looked == LOOKED_MOST:
            break
    else:
        last = ""
    return {"items": items, **({"next": last} if last else {})}


def show_run(
    app: App, name: str, *, with_texts: bool, running: Run | None = None
) -> dict[str, object]:
    """Return a run of any agent by its id or its event, with those that it set off; `with_texts`
    with the arguments and the results of its calls as well, as far as the chat still has them.

    `running` is what it has done so far, if it is in progress. `UsageError` ENOENT when there is
    none.
    """
    agents = list_agents(app.kv, app.root)
    run = running or find_run(app.kv, agents, name)
    if run is None:
        raise UsageError("ENOENT", "there is no such run", source=one_line(name, 80))
    if with_texts:
        run = replace(run, steps=add_texts(app.sessions, run))
    return describe_tree(build_tree(app.kv, agents, run))


def add_texts(sessions: Sessions, run: Run) -> tuple[Step, ...]:
    """Return the steps of a run, each call with its `arguments` and its `result`."""
    numbers = [as_integer(step.get("seq"), 1) or 0 for step in run.steps]
    messages = _load_messages(sessions, keys.session_of(run.agent, run.session), numbers)
    arguments = {call.id: call.arguments for message in messages for call in message.calls}
    results = {message.seq: message for message in messages}
    steps: list[Step] = []
    for step, number in zip(run.steps, numbers, strict=True):
        answer = results.get(number)
        texts = {}
        if number and answer and answer.call_id == step.get("id"):
            texts["arguments"] = _cut(arguments.get(answer.call_id, ""))
            texts["result"] = _cut(answer.content)
        steps.append({**step, **texts})
    return tuple(steps)


def _load_messages(sessions: Sessions, key: str, numbers: Sequence[int]) -> list[Message]:
    """Return the messages of a turn with these numbers, and those around them."""
    first = min(filter(None, numbers), default=0)
    if not first:
        return []
    try:
        messages = list(sessions.open(key).document.messages)
        if not messages or messages[0].seq >= first:
            last_before: tuple[Message, ...] = ()
            for begin, chunk in sessions.scan_archive(key, 0, max(numbers) + 1):
                if begin < first:
                    last_before = chunk
                else:
                    messages.extend(chunk)
            messages.extend(last_before)
    except BackendError:  # a damaged chat has no texts; the run is there all the same
        return []
    # ids of calls come again in other turns: what is far from these numbers is not theirs
    low = first - len(numbers) - 1
    return [each for each in messages if low <= each.seq <= max(numbers)]


def _cut(text: str) -> str:
    more = len(text) - TEXT_CHARACTERS
    return text if more <= 0 else f"{text[:TEXT_CHARACTERS]}\n[… {more:,} more characters …]"


def _refuse(message: str) -> UsageError:
    return UsageError("EINVAL", message, source="http")
