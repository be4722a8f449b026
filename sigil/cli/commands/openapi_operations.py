"""The operations of one API in a registry: compared with what is deployed, deployed, granted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypedDict

from sigil.cli.details import describe_changes
from sigil.cli.shell import OpenRegistry, Shell
from sigil.cli.source_folder import deploy_package
from sigil.errors import SigilError, UsageError

if TYPE_CHECKING:
    from sigil.compile.openapi.capability import ImportedOperation
    from sigil.protocol import Deployed, Json
    from sigil.rows import DetailRow


class OperationStateRow(TypedDict):
    """The outcome for one operation, for programs."""

    operation: str
    capability: str
    state: str
    problem: str
    tests: int
    permissions: list[str]
    waits: list[str]
    changes: list[str]


@dataclass(frozen=True, slots=True)
class OperationState:
    """The outcome for one operation. `state`: new, added, changed, unchanged or granted; `problem`:
    why it is left out; `digest`: the version whose permissions are in `waits`.
    """

    imported: ImportedOperation
    state: str
    problem: str = ""
    waits: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    digest: str = ""

    @property
    def capability(self) -> str:
        return self.imported.operation.capability

    def describe(self) -> str:
        """Return the state in words."""
        if self.problem:
            return f"left out: {self.problem}"
        return f"{self.state}, waits for a grant" if self.waits else self.state

    def to_row(self) -> OperationStateRow:
        """Return the row for programs."""
        tests = self.imported.spec.get("tests")
        return {
            "operation": self.imported.operation.title,
            "capability": self.capability,
            "state": "left out" if self.problem else self.state,
            "problem": self.problem,
            "tests": len(tests) if isinstance(tests, list) else 0,
            "permissions": list(self.imported.permissions),
            "waits": list(self.waits),
            "changes": list(self.changes),
        }


class ApiOperations:
    """The operations of one API in one registry; `prefix` begins their names."""

    def __init__(self, shell: Shell, opened: OpenRegistry, prefix: str) -> None:
        self._shell = shell
        self._registry = opened.registry
        self._caller = opened.caller
        self._prefix = prefix

    def compare(self, imported: ImportedOperation) -> OperationState:
        """Return the state of an operation before anything is deployed."""
        from sigil.catalog.deployments import pinned_digest
        from sigil.cli.commands.deploy import compare_manifest
        from sigil.manifest.package import parse_flat
        from sigil.manifest.permissions import require_valid_permissions

        state = OperationState(imported, "new", imported.problem)
        if state.problem:
            return state
        try:
            package = parse_flat(imported.spec)
            require_valid_permissions(package.manifest)
        except UsageError as problem:
            return replace(state, problem=problem.message)
        active = self._inspect(state.capability)
        if active is None:
            return state
        if active["namespace"] != self._caller.namespace or not self._is_ours(active):
            taken = "the name is taken by another capability: choose another --name"
            return replace(state, problem=taken)
        if active["digest"] == pinned_digest(package.digest, {}):
            waits = tuple(active["pending"])
            return replace(state, state="unchanged", waits=waits, digest=active["digest"])
        changes = describe_changes(compare_manifest(active, package.manifest))
        return replace(state, state="changed", changes=tuple(changes))

    def deploy(self, state: OperationState) -> OperationState:
        """Deploy an operation that is new or changed, and return its state."""
        if state.problem or state.state == "unchanged":
            return state
        spec = state.imported.spec
        try:
            deployed = self._deploy_spec(spec)
        except SigilError as problem:
            if problem.code != "ETESTS":
                return replace(state, problem=problem.message)
            # an example of the document may be wrong: the operation is not worse for it
            try:
                deployed = self._deploy_spec({**spec, "tests": []})
            except SigilError as second:
                return replace(state, problem=second.message)
            lost = f"its example is not kept as a test: {problem.message}"
            state = replace(state, changes=(*state.changes, lost))
        return replace(
            state,
            state="added" if state.state == "new" else "changed",
            waits=deployed.pending,
            digest=deployed.offer.digest,
        )

    def grant(self, state: OperationState) -> OperationState:
        """Grant what waits; `Conflict` when the capability has changed since."""
        if not state.waits:
            return state
        self._registry.granting.grant(state.capability, self._caller, state.digest)
        return replace(state, state="granted", waits=())

    def find_missing_secrets(self, states: Sequence[OperationState]) -> list[str]:
        """Return the secrets that the operations need and that are not set."""
        needed = {name for state in states if not state.problem for name in state.imported.secrets}
        if not needed:
            return []
        try:
            known = {row["secret"] for row in self._registry.secrets.rows(self._caller)}
        except SigilError:
            known = set()  # the token may not list them
        return sorted(needed - known)

    def _deploy_spec(self, spec: dict[str, Json]) -> Deployed:
        return deploy_package(self._shell, lambda: self._registry.deploy(spec, self._caller), spec)

    def _inspect(self, name: str) -> DetailRow | None:
        try:
            return self._registry.inspect(name, self._caller)
        except UsageError as problem:
            if problem.code != "ENOENT":
                raise
            return None

    def _is_ours(self, row: DetailRow) -> bool:
        from sigil.compile.openapi.capability import TAG

        return row["tags"][:2] == [TAG, self._prefix]
