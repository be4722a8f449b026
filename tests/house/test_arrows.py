"""Imports point one way: from the doors down, never back and never sideways between rooms that do not know each other."""

from __future__ import annotations

from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter

from tests.house.tree import arrows, modules

SIGIL = (
    (
        "http",
        "mcp",
        "cli",
        "routes",
        "route",
        "openapi",
        "fronts",
        "verbs",
        "desk",
        "pages",
        "asks",
        "bodies",
        "serving",
        "connections",
        "requestlog",
        "checkup",
        "incoming",
        "numbered",
        "fresh",
        "shapes",
        "rows",
    ),
    ("wiring",),
    ("library", "registry", "client", "later", "remote", "line", "answers", "credentials", "profiles"),
    (
        "finder",
        "following",
        "sources",
        "snapshots",
        "golden",
        "execution",
        "composition",
        "granting",
        "importing",
        "rehearsal",
        "facilities",
        "deploying",
        "moving",
        "versions",
        "report",
        "books",
        "blame",
        "health",
        "quotas",
        "bundle",
        "differences",
    ),
    ("compile", "toolchain", "sandbox", "search", "permissions", "secretbook", "grants", "services"),
    (
        "catalog",
        "deployments",
        "records",
        "schema",
        "legible",
        "coercion",
        "manifest",
        "package",
        "wording",
        "wire",
        "statistics",
        "lifetimes",
        "sweeping",
        "blueprint",
        "cooldown",
        "heads",
        "audit",
        "tokens",
        "rates",
        "tenants",
        "gate",
        "scopes",
        "keeper",
        "keyring",
        "places",
        "public",
        "marks",
        "remains",
        "changes",
    ),
    (
        "protocol",
        "parameters",
        "kv",
        "artifacts",
        "secrets",
        "aws",
        "strict",
        "toml",
        "errors",
        "settings",
        "statuses",
        "exits",
        "version",
        "engine",
        "files",
        "plain",
        "langs",
        "statics",
        "jsonrpc",
        "revisions",
        "stored",
    ),
)
"""Sigil's rooms in layers: a room may import its own layer and those below, without a cycle."""

DOORS = ("webhook", "worker", "stack", "scheduler", "registry", "local", "override", "cli")
ROOMS = ("channels", "agent", "queues")
COMMON = ("events", "settings", "clock", "log", "letters", "transport", "connection")
"""`alerts` is for the doors and the wiring alone: a turn is done when they ring."""
FUNCTIONS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(DOORS, (*DOORS, "wiring", "turnlock", "alarm", "alerts", *ROOMS, *COMMON)),
    "wiring": ("alerts", "turnlock", *ROOMS, *COMMON),
    "alarm": ("wiring", "alerts", "agent"),
    "alerts": ("log", "connection"),
    "connection": ("transport",),
    **dict.fromkeys(ROOMS, COMMON),
    "letters": ("events", "log"),
    "log": ("events",),
    **dict.fromkeys(("events", "settings", "clock", "transport", "turnlock"), ()),
}
"""The agent's rooms, and which rooms each may import: `channels`, `agent` and `queues` do not know each other."""

ACROSS: Mapping[str, tuple[str, ...] | None] = {
    **dict.fromkeys((*DOORS, "wiring")),
    **dict.fromkeys((*ROOMS, "events", "letters", "transport"), ("protocol", "kv", "errors", "strict", "statics", "stored")),
    "agent": ("protocol", "kv", "errors", "strict", "statics", "stored", "parameters"),
    "queues": ("protocol", "kv", "errors", "strict", "aws", "stored"),
    "alarm": ("kv", "errors"),
    "alerts": ("errors", "aws"),
    "settings": ("settings", "errors"),
}
"""From the agent's house into Sigil's: the rooms that each room may see; None for all, nothing for those that are not named."""


def room(module: str) -> tuple[str, str]:
    """The house and the room of a module; a package's own `__init__` is the empty room."""
    house, _, rest = module.partition(".")
    return house, rest.partition(".")[0]


def allowed(source: str, target: str) -> bool:
    (house, here), (other, there) = room(source), room(target)
    if (house, here) == (other, there):
        return True
    if house == other:
        return there in FUNCTIONS.get(here, ()) if house == "functions" else _layer(there) >= _layer(here)
    seen = ACROSS.get(here, ())
    return house == "functions" and (seen is None or there in seen)


def _layer(name: str) -> int:
    # the package itself (for files beside the code) is below everything; a room without a place is reported by its own test
    return next((number for number, layer in enumerate(SIGIL) if name in layer), len(SIGIL))


def test_every_room_has_its_place() -> None:
    known = {"sigil": {name for layer in SIGIL for name in layer}, "functions": set(FUNCTIONS)}
    placed = {(house, name) for house, names in known.items() for name in (*names, "")}
    strangers = {module for module in modules() if room(module) not in placed}

    assert not strangers, "say in tests/house/test_arrows.py what these may import"


def test_arrows_point_one_way() -> None:
    wrong = sorted(f"{source} → {target}" for source, targets in arrows().items() for target in targets if not allowed(source, target))

    assert not wrong


def test_no_module_imports_itself_in_a_circle() -> None:
    try:
        tuple(TopologicalSorter(arrows()).static_order())
    except CycleError as circle:
        raise AssertionError(" → ".join(circle.args[1])) from None


def test_the_rules_tell_a_wrong_arrow_from_a_right_one() -> None:
    assert allowed("functions.worker", "functions.agent.turn")
    assert allowed("functions.agent.loop", "sigil.protocol")
    assert allowed("sigil.registry", "sigil.sandbox.pool")
    assert not allowed("functions.agent.loop", "sigil.sandbox.pool")
    assert not allowed("functions.agent.loop", "functions.channels.base")
    assert not allowed("functions.agent.loop", "functions.wiring")
    assert not allowed("sigil.sandbox.pool", "sigil.registry")
    assert not allowed("sigil.kv.sqlite", "functions.events")
