"""The capability that an operation becomes, in the flat form that a registry takes."""

from __future__ import annotations

from dataclasses import dataclass

from sigil.compile.openapi.document import ApiDocument, DocumentProblem
from sigil.compile.openapi.examples import ExampleBudget, write_tests
from sigil.compile.openapi.operations import Operation
from sigil.compile.openapi.requests import Request, plan_request
from sigil.compile.openapi.source_code import write_source
from sigil.manifest.model import MANIFEST_BYTES
from sigil.protocol import Json
from sigil.strict_json import canonical

TAG = "openapi"


@dataclass(frozen=True, slots=True)
class ImportedOperation:
    """An operation as a capability. `spec`: its flat form, empty when `problem` says why it can be
    none; `secrets`: the names of those that it needs.
    """

    operation: Operation
    spec: dict[str, Json]
    permissions: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    problem: str = ""


def import_operation(
    document: ApiDocument,
    operation: Operation,
    *,
    prefix: str,
    server: str = "",
    seconds: int = 30,
    budget: ExampleBudget,
) -> ImportedOperation:
    """Return the capability that sends an operation's request, or the reason why there is none."""
    try:
        request = plan_request(document, operation, prefix, server)
    except DocumentProblem as problem:
        return ImportedOperation(operation, {}, problem=str(problem))
    except RecursionError:
        return ImportedOperation(operation, {}, problem=f"{operation.place}: nested too deep")
    tests = write_tests(document, operation, request, budget)
    spec = _write_spec(document, operation, request, prefix=prefix, seconds=seconds, tests=tests)
    if len(canonical(spec)) > MANIFEST_BYTES:
        spec.pop("tests")
    secrets = tuple(f"secret:{name}@{request.host}" for name in request.secrets)
    return ImportedOperation(
        operation, spec, (f"http:{request.permission}", *secrets), request.secrets
    )


def _write_spec(
    document: ApiDocument,
    operation: Operation,
    request: Request,
    *,
    prefix: str,
    seconds: int,
    tests: list[Json],
) -> dict[str, Json]:
    does = operation.summary or operation.id or "Send a request"
    origin = f"({operation.title} of {document.title})"
    tags: list[Json] = [TAG, prefix, *(tag for tag in operation.tags if tag)]
    http: list[Json] = [request.permission]
    secrets: list[Json] = [f"{name}@{request.host}" for name in request.secrets]
    spec: dict[str, Json] = {
        "name": operation.capability,
        "description": f"{does} {origin[:180]}",
        "tags": tags,
        "schema": request.schema,
        "execute": write_source(operation, request, document.title),
        "permissions": {"http": http, "secrets": secrets},
        "limits": {"timeout_ms": seconds * 1000},
        "tests": tests,
    }
    if request.method in ("GET", "HEAD"):
        spec["idempotent"] = True
    return spec
