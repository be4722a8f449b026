"""`create-subagent`, `list-agents` and `stop-agent`: agents below the root that do one task each.

A subagent reaches the capabilities of its bundle and the files of its scope, and ends at its
limits. What comes of its task is said in the chat in which it was made.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from functions.agent.agents.bundle import resolve_bundle, shorten_names
from functions.agent.agents.lifecycle import create_agent, read_work, scan_live, stop_agent
from functions.agent.agents.record import (
    PROMPT_CHARACTERS,
    AgentRecord,
    TaskLimits,
    join_name,
    make_did,
    read_agent,
    require_new_name,
)
from functions.agent.posts import Post, ServiceAnswer
from functions.agent.services.call_context import Arguments, CallContext, read_flag, read_text
from functions.agent.workspace.path import parse_path, require_writable
from sigil.errors import Refused, UsageError, one_line
from sigil.protocol import Json

CREATE, LIST, STOP = "create-subagent", "list-agents", "stop-agent"
OWN_FILES: Final = "own"
"""The scope of a subagent that has files of its own, and sees no others."""
ROLE_CHARACTERS: Final = 200
LEAST: Final = 1
LIMITS: Final[Mapping[str, int]] = {
    "max_steps": 200,
    "max_tokens": 5_000_000,
    "max_walltime": 86_400,
}
"""The limits that a subagent must have, and the most of each: requests, tokens, seconds."""
TASK_TEXT: Final = """\
You are {name}, a subagent of {root}. {did}
Role: {role}

Your task:
{task}

You have {steps:,} requests, {tokens:,} tokens and {seconds:,} seconds for it. {files} Nobody
answers a question. Your last answer is your report: it is said in the chat that asked, so it says
what came of the task, what was checked, and which files you wrote."""


def name_agent(arguments: Arguments) -> str:
    """Return the name of the agent that a call is about, as rules name it."""
    return read_text(arguments, "name")


def create_subagent(context: CallContext, arguments: Arguments) -> ServiceAnswer:
    """Make a subagent and give it its task; `UsageError` EINVAL unless it has every limit."""
    app = context.app
    _require_root(context)
    name = read_text(arguments, "name")
    require_new_name(app.root, name)
    role = one_line(read_text(arguments, "role"), ROLE_CHARACTERS)
    if not role:
        raise UsageError("EINVAL", "role says in a few words what the subagent is")
    task = context.gate.redact(read_text(arguments, "task"))[:PROMPT_CHARACTERS]
    limits = _read_limits(arguments)
    files = _read_scope(arguments)
    full = join_name(app.root, name)
    record = AgentRecord(
        "subagent",
        "enabled",
        app.clock.now(),
        context.by,
        role=role,
        prompt=task,
        bundle=_read_bundle(context, full, arguments.get("bundle")),
        task=limits,
        files=files,
        home=context.home,
        temporary=not read_flag(arguments, "keep"),
        working=True,
        key=context.call,
    )
    context.posts.take_agent()
    context.posts.take(1, to=full)
    holder = context.find_holder()
    made = create_agent(app.kv, app.root, name, record, most=app.agents_most, holder=holder)
    scope = f"Your files are those below {files}." if files else "You have files of your own alone."
    text = TASK_TEXT.format(
        name=name,
        root=app.root,
        did=make_did(app.root, name),
        role=role,
        task=task or role,
        steps=limits.steps,
        tokens=limits.tokens,
        seconds=limits.seconds,
        files=scope,
    )
    data: dict[str, Json] = {
        "home": context.home,
        "from": f"subagent {name}",
        "generation": made.generation,
        "leg": 1,
    }
    session = f"own:t-{made.generation}"
    post = Post("task", full, session, text, f"{full}#{made.generation}", data)
    answer: dict[str, Json] = {
        "name": name,
        "did": make_did(app.root, name),
        "state": "working",
        "bundle": list(shorten_names(made.bundle)),
        "note": "its report is said in this chat when it ends; go on without it",
    }
    return ServiceAnswer(answer, (post,))


def list_agents(context: CallContext, arguments: Arguments) -> Json:
    """Return the agents below the root that are not archived, and what each is doing."""
    app = context.app
    _require_root(context)
    items: list[Json] = []
    for name, record in scan_live(app.kv, app.root):
        row: dict[str, Json] = {"name": name, "kind": record.kind, "state": read_work(record)}
        if record.role:
            row["role"] = record.role
        items.append(row)
    return {"items": items}


def stop_subagent(context: CallContext, arguments: Arguments) -> Json:
    """Stop an agent: a subagent that is not kept ends, every other one is disabled.

    What it is doing ends before its next step. Only an owner, in a private chat, stops what is no
    subagent.
    """
    app = context.app
    _require_root(context)
    name = read_text(arguments, "name")
    record = read_agent(app.kv, app.root, name)
    if record.kind != "subagent":
        context.require_owner()
    stopped = stop_agent(app.kv, app.root, name, app.clock.now())
    return {"name": name, "state": stopped.state}


def _require_root(context: CallContext) -> None:
    if not context.app.is_root:
        raise Refused(
            "EPERM",
            "an agent below the root makes and stops no other agents",
            suggestion="do it yourself, or say in your report what another one is needed for",
            reason="root-only",
        )


def _read_limits(arguments: Arguments) -> TaskLimits:
    """Return the limits; `UsageError` EINVAL names the one that is missing or none."""
    found = {}
    for name, most in LIMITS.items():
        value = arguments.get(name)
        if not isinstance(value, int) or isinstance(value, bool) or not LEAST <= value <= most:
            raise UsageError(
                "EINVAL",
                f"{name} is a whole number from {LEAST} to {most:,}",
                suggestion=f"a subagent needs each of {', '.join(LIMITS)}",
            )
        found[name] = value
    return TaskLimits(found["max_steps"], found["max_tokens"], found["max_walltime"])


def _read_scope(arguments: Arguments) -> str:
    """Return the folder of its parent's files that a subagent uses, such as `drafts/`; empty for
    files of its own.
    """
    scope = read_text(arguments, "fs_scope")
    if not scope:
        raise UsageError(
            "EINVAL", "fs_scope is missing", suggestion=f"{OWN_FILES}, or a folder such as drafts/"
        )
    if scope == OWN_FILES:
        return ""
    return f"{require_writable(parse_path(scope.removesuffix('/')))}/"


def _read_bundle(context: CallContext, full: str, names: Json) -> tuple[str, ...]:
    if not isinstance(names, list) or not names:
        raise UsageError("EINVAL", "bundle has the names of the capabilities that it may call")
    if not all(isinstance(name, str) for name in names):
        raise UsageError("EINVAL", "bundle is a list of names")
    return resolve_bundle(context.app.registry, full, map(str, names), context.gate.require)
