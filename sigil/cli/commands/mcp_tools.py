"""The tools of one MCP server in a registry: added, compared with what the server offers now,
granted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from sigil.cli.details import describe_changes
from sigil.cli.shell import OpenRegistry
from sigil.errors import Refused, SigilError, UsageError
from sigil.protocol import Json, is_name
from sigil.run.mcp_client import document

TAG = "mcp"
_HEADER = re.compile(r"([A-Za-z0-9-]+):\s*(.+)", re.ASCII)
_SECRET = re.compile(r"secret:([A-Z][A-Z0-9_]{0,62})", re.ASCII)
_PLAIN = ("www", "mcp", "api")
_RUNNERS = (
    "npx",
    "uvx",
    "uv",
    "bunx",
    "pipx",
    "python",
    "python3",
    "node",
    "deno",
    "docker",
    "env",
    "sh",
    "bash",
)


@dataclass(frozen=True, slots=True)
class ToolState:
    """The outcome for one tool. `state`: added, changed, unchanged, removed, new, granted;
    `problem`: why it cannot be a capability; `digest`: the version whose permissions are in
    `waits`.
    """

    tool: str
    capability: str
    state: str
    problem: str = ""
    waits: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    digest: str = ""

    @property
    def said(self) -> str:
        """Return the state in words."""
        if self.problem:
            return f"left out: {self.problem}"
        return f"{self.state}, waits for a grant" if self.waits else self.state

    @property
    def row(self) -> dict[str, Json]:
        """Return the row for programs."""
        told = {
            "tool": self.tool,
            "capability": self.capability,
            "state": "left out" if self.problem else self.state,
        }
        return {
            **told,
            "problem": self.problem,
            "waits": list(self.waits),
            "changes": list(self.changes),
        }


class ServerTools:
    """The tools of one server in one registry. `seconds`: how long a call may take."""

    def __init__(self, opened: OpenRegistry, server: dict[str, Json], seconds: int) -> None:
        self._registry = opened.registry
        self._caller = opened.caller
        self._read = document.parse_server(server)
        self._seconds = seconds
        self.server = self._read.row

    def add(self, only: Sequence[str] = ()) -> list[ToolState]:
        """Add the tools; those that cannot be capabilities are returned with the reason."""
        standing = self._standing()
        if any(document.read(row["source"]).server != self._read for row in standing.values()):
            message = "another server of this name stands already"
            raise UsageError(
                "EUSAGE",
                message,
                source=self._read.name,
                suggestion=f"sigil mcp remove {self._read.name}, or choose a --name",
            )
        return [self._brought(row, standing.get(row["tool"])) for row in self._told(only)]

    def standing(self) -> list[ToolState]:
        """Return the tools that are deployed, as they are."""
        rows = self._standing().items()
        return [
            ToolState(
                tool,
                row["capability"],
                "unchanged",
                waits=tuple(row["pending"]),
                digest=row["digest"],
            )
            for tool, row in rows
        ]

    def refresh(self, *, new: bool, dry_run: bool) -> list[ToolState]:
        """Compare with what the server offers now and, unless it is a `dry_run`, deploy that: a
        changed tool waits for a grant again.
        """
        standing, told = self._standing(), {row["tool"]: row for row in self._told(())}
        lines = []
        for tool in sorted({*standing, *told}):
            old, row = standing.get(tool), told.get(tool)
            if row is None and old is not None:
                lines.append(self._gone(tool, old, dry_run=dry_run))
            elif row is not None and (dry_run or (old is None and not new)):
                lines.append(self._compared(row, old))
            elif row is not None:
                lines.append(self._brought(row, old))
        return lines

    def grant(self, lines: Iterable[ToolState]) -> list[ToolState]:
        """Grant what waits and return the new states. `Conflict` when a tool has changed since its
        state was read.
        """
        return [self._granted(line) if line.waits else line for line in lines]

    def _told(self, only: Sequence[str]) -> list[dict[str, Json]]:
        tools = self._registry.importing.tools(self._read.row, self._caller, only)
        return [dict(tool) for tool in tools]

    def _standing(self) -> dict[str, dict[str, Json]]:
        """Return the inspections of its capabilities, by tool."""
        rows = _inspect_tools(self._registry, self._caller)
        return {read.tool: row for row, read in rows if read.server.name == self._read.name}

    def _brought(self, row: dict[str, Json], old: dict[str, Json] | None) -> ToolState:
        line = self._compared(row, old)
        if line.problem or line.state == "unchanged":
            return line
        try:
            self._demand_free(row["capability"], old)
            done = self._registry.deploy(self._spec(row), self._caller)
        except SigilError as problem:
            return replace(line, problem=problem.message)
        return replace(
            line,
            state="added" if old is None else "changed",
            waits=done.pending,
            digest=done.offer.digest,
        )

    def _compared(self, row: dict[str, Json], old: dict[str, Json] | None) -> ToolState:
        line = ToolState(row["tool"], row["capability"], "new", row["problem"])
        if row["problem"] or old is None:
            return line
        fields = [
            {"field": field, "old": old[field], "new": row[field]}
            for field in ("description", "schema")
            if old[field] != row[field]
        ]
        if old["limits"]["timeout_ms"] != self._seconds * 1000:
            fields.append(
                {
                    "field": "seconds",
                    "old": old["limits"]["timeout_ms"] // 1000,
                    "new": self._seconds,
                }
            )
        state = "changed" if fields else "unchanged"
        waits = () if fields else tuple(old["pending"])
        return replace(
            line,
            state=state,
            waits=waits,
            changes=tuple(describe_changes(fields)),
            digest=old["digest"],
        )

    def _gone(self, tool: str, old: dict[str, Json], *, dry_run: bool) -> ToolState:
        if not dry_run:
            self._registry.remove(old["capability"], self._caller)
        return ToolState(
            tool,
            old["capability"],
            "gone" if dry_run else "removed",
            changes=("the server no longer has it",),
        )

    def _granted(self, line: ToolState) -> ToolState:
        granted = self._registry.granting.grant(line.capability, self._caller, line.digest)
        missing = tuple(
            f"the secret {name} is not set: sigil secret set {name}"
            for name in granted["secrets_missing"]
        )
        return replace(line, state="granted", waits=(), changes=(*line.changes, *missing))

    def _demand_free(self, name: str, old: dict[str, Json] | None) -> None:
        """Refuse a name that another capability has here, the library's included."""
        if old is not None:
            return
        try:
            row = self._registry.inspect(name, self._caller)
        except UsageError:
            return
        raise Refused(
            "EEXIST", f"there is a capability {row['capability']} already: choose another --name"
        )

    def _spec(self, row: dict[str, Json]) -> dict[str, Json]:
        server = self._read
        return {
            "name": row["capability"],
            "description": row["description"],
            "schema": row["schema"],
            "tags": [TAG, server.name],
            "lang": "mcp",
            "code": document.ServerToolDocument(server, row["tool"]).code.decode(),
            "permissions": {
                "http": list(server.http),
                "secrets": list(server.secrets),
                **({"mcp": list(server.mcp)} if server.mcp else {}),
            },
            "limits": {"timeout_ms": self._seconds * 1000},
        }


def find_servers(opened: OpenRegistry) -> list[dict[str, Any]]:
    """Return the servers whose tools are deployed: name, address, tools, those that wait for a
    grant, and the server itself.
    """
    found: dict[str, dict[str, Any]] = {}
    for row, read in _inspect_tools(opened.registry, opened.caller):
        where = (
            read.server.url
            if isinstance(read.server, document.WebAddress)
            else read.server.mcp[0].partition(" ")[2]
        )
        fresh = {"name": read.server.name, "where": where, "server": read.server.row, "seconds": 0}
        fresh |= {"tools": [], "waiting": [], "others": []}
        told = found.setdefault(read.server.name, fresh)
        told["tools"].append(row["capability"])
        told["others"] += [row["capability"]] if read.server.row != told["server"] else []
        told["waiting"] += [row["capability"]] if row["pending"] else []
        told["seconds"] = row["limits"]["timeout_ms"] // 1000
    return [found[name] for name in sorted(found)]


def parse_server(
    place: Sequence[str], name: str, headers: Iterable[str], env: Iterable[str]
) -> dict[str, Json]:
    """Return the server that a command line describes; `UsageError` when it describes none."""
    if len(place) == 1 and re.match(r"https?://", place[0]):
        pairs = [_parse_header(text) for text in headers]
        _require_empty(env, "--env", "an address")
        row: dict[str, Json] = {"url": place[0], **({"headers": dict(pairs)} if pairs else {})}
        return {"name": _require_name(name or _host_name(place[0])), **row}
    _require_empty(headers, "--header", "a command")
    pairs = [(key, value) for key, _, value in (text.partition("=") for text in env)]
    row = {"command": list(place), **({"env": dict(pairs)} if pairs else {})}
    return {"name": _require_name(name or _command_name(place)), **row}


def _inspect_tools(
    registry: Any, caller: Any
) -> list[tuple[dict[str, Json], document.ServerToolDocument]]:
    """Return every tool of a server in the caller's own namespace, with its document."""
    found = []
    for row in registry.list(caller):
        if row["namespace"] == caller.namespace and TAG in row["tags"]:
            detail = registry.inspect(row["capability"], caller)
            if detail.get("kind") == "mcp":
                found.append((detail, document.read(detail["source"])))
    return found


def _parse_header(text: str) -> tuple[str, str]:
    found = _HEADER.fullmatch(text)
    if found is None:
        raise UsageError(
            "EUSAGE",
            f"--header {text!r} is no header",
            suggestion="--header 'Authorization: Bearer secret:NAME'",
        )
    return found[1].lower(), _SECRET.sub(r"{{\1}}", found[2])


def _require_empty(given: Iterable[str], option: str, what: str) -> None:
    if any(given):
        raise UsageError(
            "EUSAGE",
            f"{option} is nothing for {what}",
            suggestion="--header goes with an address, --env with a command",
        )


def _host_name(url: str) -> str:
    """`https://mcp.linear.app/mcp` is `linear`; of an address in numbers nothing can be made."""
    labels = [
        label for label in (urlsplit(url).hostname or "").split(".")[:-1] if label not in _PLAIN
    ]
    return labels[-1] if labels and not labels[-1].isdigit() else ""


def _command_name(words: Sequence[str]) -> str:
    """`npx -y @scope/server-files /srv` is `files`: the first word that is not what starts it,
    without its path and what all are called.
    """
    for word in words:
        plain = re.sub(r"@[0-9][^/]*$", "", word).rstrip("/").rpartition("/")[2].lower()
        plain = re.sub(r"\.(py|js|ts|mjs)$", "", plain)
        if (
            not word.startswith("-")
            and plain not in _RUNNERS
            and plain not in ("run", "exec", "x", "-m")
        ):
            parts = [
                part for part in re.split(r"[^a-z0-9]+", plain) if part not in ("mcp", "server", "")
            ]
            return "-".join(parts)
    return ""


def _require_name(name: str) -> str:
    if not is_name(name):
        raise UsageError(
            "EUSAGE",
            "what shall the server be called?",
            suggestion="add --name NAME: lower-case words joined by hyphens",
        )
    return name
