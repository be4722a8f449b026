"""The tools of one MCP server in a registry: added, compared with what the server offers now,
granted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, TypedDict

from sigil.access.sign_in import how_to_set
from sigil.cli.details import describe_changes
from sigil.cli.shell import OpenRegistry
from sigil.errors import Refused, SigilError, UsageError
from sigil.manifest.languages import BACKGROUND
from sigil.mcp.hints import describe_hints, find_hints, is_repeatable
from sigil.run.mcp_client import document

if TYPE_CHECKING:
    from sigil.admin_protocol import AdminRegistry
    from sigil.protocol import Caller
    from sigil.rows import DetailRow, FieldChangeRow, ServerToolRow
    from sigil.run.mcp_client.document import McpServerRow, ServerToolDocument

TAG = "mcp"
BACKGROUND_CHANGES: Final = {
    True: "its calls run as tasks from now on",
    False: "its calls no longer run as tasks",
}
_COMPARED_FIELDS: Final[tuple[Literal["description", "schema"], ...]] = ("description", "schema")


class ToolStateRow(TypedDict):
    """The outcome for one tool, for programs."""

    tool: str
    capability: str
    state: str
    problem: str
    waits: list[str]
    changes: list[str]
    hints: list[str]


class DeployedServerRow(TypedDict):
    """A server whose tools are deployed: its address, its tools, those that wait for a grant, those
    of another server with this name, the server itself, and the seconds of a call. `hints`: what
    it says of its tools' effects, and of how many it says so.
    """

    name: str
    where: str
    server: McpServerRow
    seconds: int
    tools: list[str]
    waiting: list[str]
    others: list[str]
    hints: dict[str, int]


@dataclass(frozen=True, slots=True)
class ToolState:
    """The outcome for one tool. `state`: added, changed, unchanged, removed, gone, new or granted;
    `problem`: why it cannot be a capability; `digest`: the version whose permissions are in
    `waits`; `hints`: what the server says of its effects.
    """

    tool: str
    capability: str
    state: str
    problem: str = ""
    waits: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    digest: str = ""
    hints: tuple[str, ...] = ()

    def describe(self) -> str:
        """Return the state in words."""
        if self.problem:
            return f"left out: {self.problem}"
        return f"{self.state}, waits for a grant" if self.waits else self.state

    def to_row(self) -> ToolStateRow:
        """Return the row for programs."""
        return {
            "tool": self.tool,
            "capability": self.capability,
            "state": "left out" if self.problem else self.state,
            "problem": self.problem,
            "waits": list(self.waits),
            "changes": list(self.changes),
            "hints": list(self.hints),
        }


class ServerTools:
    """The tools of one server in one registry.

    `seconds`: how long a call may take. `background`: whether calls may outlive the turns that make
    them; None leaves each tool as it is.
    """

    def __init__(
        self,
        opened: OpenRegistry,
        server: McpServerRow,
        seconds: int,
        *,
        background: bool | None = None,
    ) -> None:
        self._registry = opened.registry
        self._caller = opened.caller
        self._server = document.parse_server(server)
        self.seconds = seconds
        self._background = background
        self.server = self._server.row

    def list_deployed(self) -> list[ToolState]:
        """Return the tools that are deployed, as they are."""
        return [
            ToolState(
                tool,
                row["capability"],
                "unchanged",
                waits=tuple(row["pending"]),
                digest=row["digest"],
                hints=tuple(find_hints(row["tags"])),
            )
            for tool, row in self._inspect_deployed().items()
        ]

    def add(self, only: Sequence[str] = ()) -> list[ToolState]:
        """Deploy the server's tools, or those in `only`; the ones that cannot be capabilities are
        returned with the reason. `UsageError` when another server has this name.
        """
        deployed = self._inspect_deployed()
        name = self._server.name
        if not all(self._is_same_place(row) for row in deployed.values()):
            raise UsageError(
                "EUSAGE",
                "another server has this name already",
                source=name,
                suggestion=f"sigil mcp remove {name}, or choose a --name",
            )
        offered = self._fetch_offered(only)
        return [self._deploy_tool(row, deployed.get(tool)) for tool, row in offered.items()]

    def refresh(self, *, new: bool, dry_run: bool) -> list[ToolState]:
        """Compare the tools with what the server offers now and, unless it is a `dry_run`, deploy
        that: a changed tool waits for a grant again, one that is gone is removed. `new`: also
        deploy tools that were not there before.
        """
        deployed = self._inspect_deployed()
        offered = self._fetch_offered(())
        states = []
        for tool in sorted({*deployed, *offered}):
            old, row = deployed.get(tool), offered.get(tool)
            if row is None and old is not None:
                if not dry_run:
                    self._registry.remove(old["capability"], self._caller)
                states.append(
                    ToolState(
                        tool,
                        old["capability"],
                        "gone" if dry_run else "removed",
                        changes=("the server no longer has it",),
                    )
                )
            elif row is not None and (dry_run or (old is None and not new)):
                states.append(self._compare_tool(row, old))
            elif row is not None:
                states.append(self._deploy_tool(row, old))
        return states

    def grant(self, states: Iterable[ToolState]) -> list[ToolState]:
        """Grant what waits and return the new states. `Conflict` when a tool has changed since its
        state was read.
        """
        granted = []
        for state in states:
            if not state.waits:
                granted.append(state)
                continue
            row = self._registry.granting.grant(state.capability, self._caller, state.digest)
            missing = [
                f"the secret {name} is not set: {how_to_set(name)}"
                for name in row["secrets_missing"]
            ]
            granted.append(
                replace(state, state="granted", waits=(), changes=(*state.changes, *missing))
            )
        return granted

    def _inspect_deployed(self) -> dict[str, DetailRow]:
        """Return the inspections of the server's capabilities, by tool."""
        return {
            source.tool: row
            for row, source in _inspect_tools(self._registry, self._caller)
            if source.server.name == self._server.name
        }

    def _fetch_offered(self, only: Sequence[str]) -> dict[str, ServerToolRow]:
        """Return the tools that the server offers now, or those in `only`, by name."""
        rows = self._registry.importing.tools(self._server.row, self._caller, only)
        return {row["tool"]: row for row in rows}

    def _deploy_tool(self, row: ServerToolRow, old: DetailRow | None) -> ToolState:
        state = self._compare_tool(row, old)
        if state.problem or state.state == "unchanged":
            return state
        try:
            if old is None:
                self._require_free(row["capability"])
            deployed = self._registry.deploy(self._make_spec(row, old), self._caller)
        except SigilError as problem:
            return replace(state, problem=problem.message)
        return replace(
            state,
            state="added" if old is None else "changed",
            waits=deployed.pending,
            digest=deployed.offer.digest,
        )

    def _compare_tool(self, row: ServerToolRow, old: DetailRow | None) -> ToolState:
        """Return the state of a tool that the server offers, before anything is deployed."""
        hints = find_hints(row.get("hints", ()))
        state = ToolState(row["tool"], row["capability"], "new", row["problem"], hints=tuple(hints))
        if row["problem"] or old is None:
            return state
        changes: list[FieldChangeRow] = [
            {"field": field, "old": old[field], "new": row[field]}
            for field in _COMPARED_FIELDS
            if old[field] != row[field]
        ]
        seconds = old["limits"]["timeout_ms"] / 1000
        if seconds != self.seconds:
            changes.append({"field": "seconds", "old": int(seconds), "new": self.seconds})
        texts = tuple(describe_changes(changes))
        known = find_hints(old["tags"])
        if set(known) != set(hints):
            said, says = describe_hints(known), describe_hints(hints)
            texts += (f"the server says that it {says}; before, that it {said}",)
        is_background = BACKGROUND in old["tags"]
        if self._background not in (None, is_background):
            texts += (BACKGROUND_CHANGES[not is_background],)
        if _read_source(old).server != self._server:
            texts += ("it is asked with the sign-in from now on",)
        return replace(
            state,
            state="changed" if texts else "unchanged",
            waits=() if texts else tuple(old["pending"]),
            changes=texts,
            digest=old["digest"],
        )

    def _is_same_place(self, row: DetailRow) -> bool:
        """Return whether a tool is of this server, as it was before somebody signed in perhaps."""
        known = _read_source(row).server
        if known == self._server or not isinstance(known, document.WebAddress):
            return known == self._server
        header = ("authorization", document.make_sign_in_header(known.name))
        headers = tuple(sorted((*known.headers, header)))
        return replace(known, headers=headers) == self._server

    def _require_free(self, name: str) -> None:
        """Refuse a name that another capability has here, the library's included."""
        try:
            row = self._registry.inspect(name, self._caller)
        except UsageError:
            return
        raise Refused(
            "EEXIST", f"there is a capability {row['capability']} already: choose another --name"
        )

    def _make_spec(self, row: ServerToolRow, old: DetailRow | None) -> dict[str, object]:
        """Return the flat form of the capability that calls a tool."""
        server = self._server
        permissions = {"http": list(server.http), "secrets": list(server.secrets)}
        if server.mcp:
            permissions["mcp"] = list(server.mcp)
        tags = [TAG, server.name, *find_hints(row.get("hints", ()))]
        is_background = self._background
        if is_background is None:
            is_background = old is not None and BACKGROUND in old["tags"]
        if is_background:
            tags.append(BACKGROUND)
        return {
            "name": row["capability"],
            "description": row["description"],
            "schema": row["schema"],
            "tags": tags,
            "idempotent": is_repeatable(row.get("hints", ())),
            "lang": "mcp",
            "code": document.ServerToolDocument(server, row["tool"]).code.decode(),
            "permissions": permissions,
            "limits": {"timeout_ms": self.seconds * 1000},
        }


def find_servers(opened: OpenRegistry) -> list[DeployedServerRow]:
    """Return the servers whose tools are deployed, by name."""
    servers: dict[str, DeployedServerRow] = {}
    for row, source in _inspect_tools(opened.registry, opened.caller):
        found = source.server
        if found.name not in servers:
            servers[found.name] = {
                "name": found.name,
                "where": (
                    found.url
                    if isinstance(found, document.WebAddress)
                    else found.mcp[0].partition(" ")[2]
                ),
                "server": found.row,
                "seconds": 0,
                "tools": [],
                "waiting": [],
                "others": [],
                "hints": {},
            }
        server = servers[found.name]
        server["tools"].append(row["capability"])
        if found.row != server["server"]:
            server["others"].append(row["capability"])
        for hint in find_hints(row["tags"]):
            server["hints"][hint] = server["hints"].get(hint, 0) + 1
        if row["pending"]:
            server["waiting"].append(row["capability"])
        server["seconds"] = row["limits"]["timeout_ms"] // 1000
    return [servers[name] for name in sorted(servers)]


def _inspect_tools(
    registry: AdminRegistry, caller: Caller
) -> Iterator[tuple[DetailRow, ServerToolDocument]]:
    """Yield every tool of a server in the caller's own namespace, with its document."""
    for row in registry.list(caller):
        if row["namespace"] == caller.namespace and TAG in row["tags"]:
            detail = registry.inspect(row["capability"], caller)
            if detail.get("kind") == "mcp":
                yield detail, _read_source(detail)


def _read_source(row: DetailRow) -> ServerToolDocument:
    """Return the document of a capability of kind `mcp`, which is its source."""
    return document.read_document(row["source"] or "")
