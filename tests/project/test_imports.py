"""Imports point one way: from the entry points down, with no circle of files and none of
folders.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter

from tests.project.tree import arrows, modules

SIGIL = (
    ("cli",),
    ("wiring",),
    ("http", "client", "later"),
    ("registry", "admin_protocol"),
    ("deploy",),
    ("compile",),
    ("run",),
    ("search", "access"),
    ("catalog",),
    ("sandbox",),
    ("manifest",),
    ("network", "mcp", "builtin_tools"),
    ("tool_schemas",),
    ("settings",),
    ("storage",),
    ("protocol", "rows", "json_fields", "strict_json", "lenient_json", "running_call", "errors"),
)
"""Sigil's packages and modules in layers: each may import its own layer and those below."""

ENTRY_POINTS = (
    "webhook",
    "webhook_function",
    "worker",
    "cloudformation",
    "scheduler",
    "registry",
    "local",
    "admin",
    "cli",
)
PACKAGES = ("channels", "agent", "queues")
COMMON = (
    "events",
    "overheard",
    "hooks",
    "settings",
    "time",
    "log",
    "plugins",
    "http_connection",
    "texts",
    "prices",
    "known_models",
    "model_list",
)
FUNCTIONS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ENTRY_POINTS,
        (
            *ENTRY_POINTS,
            "ingress",
            "wiring",
            "reply_sender",
            "progress_message",
            "drafts",
            "message_changes",
            "message_files",
            "file_links",
            "chat_form",
            "status_alerts",
            "alerts",
            "model_ends",
            "personal_data",
            "agent_data",
            "all_tools",
            "turns_in_progress",
            "live_turns",
            "shared_words",
            "metrics",
            "page",
            "backup",
            "base_path",
            *PACKAGES,
            *COMMON,
        ),
    ),
    "page": (
        "live_turns",
        "shared_words",
        "turns_in_progress",
        "message_files",
        "personal_data",
        "agent_data",
        "all_tools",
        "alerts",
        "base_path",
        "backup",
        "metrics",
        *PACKAGES,
        *COMMON,
    ),
    "backup": ("agent", "queues", *COMMON),
    "personal_data": ("agent", *COMMON),
    "agent_data": ("agent", *COMMON),
    "all_tools": ("agent",),
    "turns_in_progress": ("agent", "queues", *COMMON),
    "live_turns": ("agent", *COMMON),
    "shared_words": ("agent", *COMMON),
    "metrics": ("agent", "queues", *COMMON),
    "ingress": ("wiring", *PACKAGES, *COMMON),
    "wiring": (
        "alerts",
        "media",
        "metrics",
        "sent_parts",
        "skill_ranking",
        "turns_in_progress",
        *PACKAGES,
        *COMMON,
    ),
    "skill_ranking": ("agent",),
    "reply_sender": (
        "wiring",
        "status_alerts",
        "sent_parts",
        "file_links",
        *PACKAGES,
        *COMMON,
    ),
    "file_links": (),
    "progress_message": ("wiring", *PACKAGES, *COMMON),
    "drafts": ("wiring", *PACKAGES, *COMMON),
    "message_files": ("agent", "channels", *COMMON),
    "chat_form": ("message_files", "agent", *COMMON),
    "message_changes": ("wiring", "reply_sender", *PACKAGES, *COMMON),
    "status_alerts": ("wiring", "alerts", "agent"),
    "alerts": ("log", "http_connection"),
    "model_ends": ("agent", "alerts", "known_models", "model_list", "settings"),
    "model_list": ("http_connection", "settings"),
    "known_models": ("prices",),
    "media": ("channels", "http_connection"),
    "media_function": ("media",),
    "channels": COMMON,
    "queues": COMMON,
    "agent": (*COMMON, "queues", "channels"),
    "log": ("events",),
    "overheard": ("events",),
    "hooks": ("events",),
    "settings": ("channels", "prices", "time", "texts"),
    **dict.fromkeys(
        (
            "base_path",
            "events",
            "prices",
            "sent_parts",
            "time",
            "plugins",
            "http_connection",
            "texts",
        ),
        (),
    ),
}
"""What each package and module of the agent may import. `alerts` is for the entry points and the
wiring alone: a turn is done when they are sent.
"""

SEEN_BY_AGENT = ("functions.queues.dead_letters", "functions.channels.platforms")
"""What the agent may see of the queues, and of the channels: which platforms there are."""

ACROSS: Mapping[str, tuple[str, ...] | None] = {
    **dict.fromkeys(
        (
            *ENTRY_POINTS,
            "page",
            "ingress",
            "wiring",
            "metrics",
            "personal_data",
            "backup",
            "skill_ranking",
        )
    ),
    "agent_data": ("storage", "errors"),
    "all_tools": ("catalog", "protocol", "storage", "errors"),
    **dict.fromkeys(
        ("channels", "queues", "events", "overheard", "hooks"),
        ("protocol", "storage", "errors", "strict_json", "json_fields", "builtin_tools"),
    ),
    # a policy names hosts in the one spelling that grants have
    "agent": (
        "protocol",
        "storage",
        "errors",
        "strict_json",
        "json_fields",
        "builtin_tools",
        "tool_schemas",
        "network",
        "running_call",
    ),
    # it starts its child as runners are started, and invokes the function that does so on AWS
    "media": ("errors", "sandbox", "storage"),
    "media_function": ("errors",),
    "plugins": ("errors",),
    "time": ("errors", "storage"),
    "reply_sender": ("protocol", "storage", "errors"),
    "progress_message": ("storage", "errors"),
    "drafts": ("errors",),
    "message_files": ("storage", "errors"),
    "file_links": ("errors", "protocol", "run", "storage"),
    "chat_form": ("errors", "http"),
    "message_changes": ("storage", "errors", "json_fields"),
    "status_alerts": ("storage", "errors"),
    "turns_in_progress": ("storage", "errors"),
    "live_turns": ("protocol", "errors"),
    "shared_words": ("storage", "errors"),
    "alerts": ("errors", "storage"),
    "model_ends": ("storage",),
    "model_list": ("json_fields", "protocol", "storage"),
    "settings": ("settings", "errors"),
}
"""What each of them may import of Sigil: None for all, nothing for those that are not named."""


def split(module: str) -> tuple[str, str]:
    """The distribution's package of a module, and the part of it that the module belongs to.

    A package's own `__init__` belongs to the part with the empty name.
    """
    package, _, rest = module.partition(".")
    return package, rest.partition(".")[0]


def allowed(source: str, target: str) -> bool:
    (package, part), (other, imported) = split(source), split(target)
    if (package, part) == (other, imported):
        return True
    if package == other == "sigil":
        return layer(imported) >= layer(part)
    if package == other:
        return imported in FUNCTIONS.get(part, ()) and (
            imported not in ("channels", "queues") or part != "agent" or target in SEEN_BY_AGENT
        )
    seen = ACROSS.get(part, ())
    return package == "functions" and (seen is None or imported in seen)


def layer(name: str) -> int:
    """The layer of a part of Sigil. The package itself, for files beside the code, is below
    everything.
    """
    return next((number for number, names in enumerate(SIGIL) if name in names), len(SIGIL))


def circles(graph: Mapping[str, set[str]]) -> Iterator[str]:
    try:
        tuple(TopologicalSorter(graph).static_order())
    except CycleError as circle:
        yield " → ".join(circle.args[1])


def test_every_part_has_its_place() -> None:
    known = {"sigil": {name for names in SIGIL for name in names}, "functions": set(FUNCTIONS)}
    placed = {(package, name) for package, names in known.items() for name in (*names, "")}

    assert not {module for module in modules() if split(module) not in placed}, (
        "say in this file what these may import"
    )


def test_imports_point_one_way() -> None:
    assert not sorted(
        f"{source} → {target}"
        for source, targets in arrows().items()
        for target in targets
        if not allowed(source, target)
    )


def test_no_module_imports_itself_in_a_circle() -> None:
    assert not list(circles({source: set(targets) for source, targets in arrows().items()}))


def test_no_folder_imports_itself_in_a_circle() -> None:
    inside: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for source, targets in arrows().items():
        for target in targets:
            parts, others = source.split("."), target.split(".")
            depth = next(
                (
                    number
                    for number, (one, other) in enumerate(zip(parts, others, strict=False))
                    if one != other
                ),
                0,
            )
            if depth:
                inside[".".join(parts[:depth])][parts[depth]].add(others[depth])

    assert not [
        f"{folder}: {circle}" for folder, graph in inside.items() for circle in circles(graph)
    ]


def test_only_the_child_that_opens_files_imports_what_parses_them() -> None:
    child = "functions.media.child."
    parser = re.compile(
        r"^\s*(?:import|from) (?:PIL|pypdfium2|python_calamine|resvg_py|charset_normalizer)\b", re.M
    )
    importing = {name for name, module in modules().items() if parser.search(module.source)}

    assert importing
    assert not [name for name in importing if not name.startswith(child)]
    assert not [
        f"{source} → {target}"
        for source, targets in arrows().items()
        for target in targets
        if target.startswith(child) and not source.startswith(child)
    ]


def test_the_rules_tell_a_wrong_arrow_from_a_right_one() -> None:
    assert allowed("functions.worker", "functions.agent.turn.turn")
    assert allowed("functions.agent.turn.loop", "sigil.protocol")
    assert allowed("sigil.registry", "sigil.sandbox.pool")
    assert not allowed("functions.agent.turn.loop", "sigil.sandbox.pool")
    assert not allowed("functions.agent.turn.loop", "functions.channels.base")
    assert not allowed("functions.agent.turn.loop", "functions.queues.base")
    assert not allowed("functions.agent.turn.loop", "functions.wiring")
    assert not allowed("sigil.sandbox.pool", "sigil.registry")
    assert not allowed("sigil.storage.kv.sqlite", "functions.events")
