"""`sigil deploy`: deploy a folder, a folder of folders, or a capability given in one line; with
--dry-run only show what would change.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NotRequired, TypedDict

import typer

from sigil.cli.commands.deploy_inline import NO_INLINE, InlineCapability
from sigil.cli.options import spread_options
from sigil.cli.shell import (
    Interrupted,
    OpenRegistry,
    Shell,
    confirm,
    get_shell,
    unsure_message,
)
from sigil.cli.source_folder import MANIFEST, deploy_package, locate_errors, read_package
from sigil.cli.times import format_count, format_time
from sigil.errors import Refused, SigilError, UsageError, one_line

if TYPE_CHECKING:
    from sigil.deploy.golden_tests import GoldenTestResult
    from sigil.manifest.model import Manifest
    from sigil.manifest.package import Package
    from sigil.protocol import Deployed, ExampleRun, Json
    from sigil.rows import DetailRow, ExampleRow, FieldChangeRow, GoldenTestCounts

EXAMPLES = """\
sigil deploy greet
sigil deploy greet --dry-run
sigil deploy --name shout --execute 'return input.text.toUpperCase()'"""
NO_SCHEMA = (
    "no --schema: nothing tells a model which input it takes, so that it may be called with none;"
    """ such as --schema '{"type": "object", "properties": {"text": {"type": "string"}},"""
    """ "required": ["text"]}'"""
)
FOLDERS_MOST = 500
EXAMPLE_CHARACTERS = 200
UNSURE_DEPLOY = unsure_message("sigil list")
_COMPARED_FIELDS = (
    "description",
    "lifetime",
    "ttl",
    "tags",
    "aliases",
    "examples",
    "public",
    "idempotent",
    "requires",
    "members",
    "limits",
    "permissions",
)
"""The fields of a manifest that a registry shows, so that they can be compared."""


@dataclass(frozen=True, slots=True)
class DeployOptions:
    """The options of `sigil deploy` that hold for a folder as for one line."""

    dry_run: bool
    replace: bool


class ActiveVersionRow(TypedDict):
    """The version that a deploy would replace or hide."""

    version: int
    digest: str
    namespace: str


class DeployPreviewRow(TypedDict):
    """The effect that a deploy would have.

    `stands`: the version that is active now; `asks`: the permissions that an owner would have to
    grant.
    """

    capability: str
    digest: str
    stands: ActiveVersionRow | None
    same: bool
    changes: list[FieldChangeRow]
    tests: GoldenTestCounts
    asks: list[str]
    dry_run: bool
    example: NotRequired[ExampleRow]


@spread_options
def deploy(
    context: typer.Context,
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="FOLDER",
            help="A folder with a sigil.toml, or of such folders (default: the current one).",
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Check and test it here, and show what would change."),
    ] = False,
    replace: Annotated[
        bool,
        typer.Option(
            "--replace",
            help="Deploy it also where it hides the library's capability of its name.",
        ),
    ] = False,
    inline: InlineCapability = NO_INLINE,
) -> None:
    """Check, test and activate a capability.

    It comes from a folder with a sigil.toml, or in one line with --execute. From a folder of such
    folders all are deployed; those that others call come first.
    """
    from sigil.manifest.package import flat_spec

    shell = get_shell(context)
    options = DeployOptions(dry_run, replace)
    if inline != NO_INLINE:
        if folder:
            raise UsageError("EUSAGE", "give a folder or options, not both")
        if inline.execute is None:
            raise UsageError(
                "EUSAGE",
                "--execute is missing",
                suggestion="add --execute, or change the folder's sigil.toml and deploy that",
            )
        spec = inline.flat_spec()
        _require_ephemeral_for_ttl(spec, "--ttl", "--type ephemeral")
        for permission, host in inline.list_bare_hosts():
            _confirm_bare_host(shell, permission, host)
        _deploy_or_preview(shell, spec, None, options)
        if "schema" not in spec and "input." in str(spec["execute"]):
            shell.printer.note(NO_SCHEMA)
        return
    place = folder or Path()
    folders = _find_folders(place)
    if folders:
        _deploy_all(shell, folders, options)
        return
    spec = flat_spec(read_package(place, has_code=False))
    _require_ephemeral_for_ttl(spec, "ttl", 'lifetime = "ephemeral"')
    _deploy_or_preview(shell, spec, place, options)


def _confirm_bare_host(shell: Shell, permission: str, host: str) -> None:
    """Ask a person whether a host without a dot is meant; `UsageError` where nobody can answer."""
    shown = one_line(host, 60)
    if shell.printer.json or not sys.stdin.isatty():
        raise UsageError(
            "EUSAGE",
            f"--permission {one_line(permission, 120)!r}: the host {shown} has no dot",
            suggestion=f"write the whole host, such as {shown}.example.com; a host of your own"
            f" network has its port, such as {shown}:443",
        )
    confirm(shell, f"The host {shown} has no dot. Is it a host of your own network?", "deployed")


def _require_ephemeral_for_ttl(spec: Mapping[str, Json], ttl: str, ephemeral: str) -> None:
    """Refuse a time to live that does nothing; `ttl` and `ephemeral` are the words to write."""
    if spec.get("ttl") is not None and spec.get("type") != "ephemeral":
        raise UsageError(
            "EUSAGE",
            f"{ttl} does nothing without {ephemeral}",
            suggestion=f"add {ephemeral}, or leave out {ttl}",
        )


def _deploy_or_preview(
    shell: Shell, spec: dict[str, Json], folder: Path | None, options: DeployOptions
) -> None:
    from sigil.manifest.package import parse_flat

    if options.dry_run:
        print_preview(shell, preview_deploy(shell, parse_flat(spec), folder))
        return
    deployed = _deploy_spec(shell, spec, folder, replace=options.replace)
    if shell.printer.json:
        shell.printer.document(deploy_row(deployed))


def _deploy_all(shell: Shell, folders: list[Path], options: DeployOptions) -> None:
    """Deploy every folder in turn, one that others call before them. The first failure ends it, and
    what was deployed by then is reported.
    """
    from sigil.manifest.package import flat_spec
    from sigil.run.dependencies import order_callees_first

    rows: list[Mapping[str, object]] = []
    folder = folders[0]
    try:
        packages: dict[str, tuple[Package, Path]] = {}
        for folder in folders:
            package = read_package(folder, has_code=False)
            packages[package.manifest.name] = (package, folder)
        order = order_callees_first(
            {name: package.manifest for name, (package, _) in packages.items()}
        )
        for name in order:
            package, folder = packages[name]
            if options.dry_run:
                preview = preview_deploy(shell, package, folder)
                rows.append(preview)
                if not shell.printer.json:
                    print_preview(shell, preview)
            else:
                deployed = _deploy_spec(shell, flat_spec(package), folder, replace=options.replace)
                rows.append(deploy_row(deployed))
    except SigilError as problem:
        problem.source = problem.source or folder.name
        raise
    finally:
        if shell.printer.json:
            shell.printer.document({"items": rows})
        elif len(rows) < len(folders):
            done = "checked" if options.dry_run else "deployed"
            shell.printer.note(f"{done} {len(rows)} of {len(folders)}; the rest was not tried")


def _find_folders(folder: Path) -> list[Path]:
    """Return the folders in `folder` that hold a capability each; none when it is one itself."""
    if (folder / MANIFEST).exists():
        return []
    found = sorted(path.parent for path in folder.glob(f"*/{MANIFEST}"))
    if len(found) > FOLDERS_MOST:
        raise UsageError(
            "ETOOBIG",
            f"{folder} holds {len(found):,} capabilities; at most {FOLDERS_MOST} are deployed at"
            " once",
        )
    return found


def _deploy_spec(
    shell: Shell, spec: dict[str, Json], folder: Path | None, *, replace: bool
) -> Deployed:
    """Deploy, and ask at a terminal before the library's capability of the name is hidden."""
    name = str(spec.get("name") or "it")

    def deploy_once(opened: OpenRegistry, *, replace: bool) -> Deployed:
        with shell.printer.progress(f"deploying {name}"):
            return deploy_package(
                shell,
                lambda: opened.registry.deploy(spec, opened.caller, replace=replace),
                spec,
                folder,
            )

    try:
        with shell.open_registry() as opened:
            try:
                deployed = deploy_once(opened, replace=replace)
            except Refused as problem:
                if problem.code != "EEXIST" or replace or not sys.stdin.isatty():
                    raise
                confirm(shell, f"{name}: {problem.message}. Deploy it all the same?", "deployed")
                deployed = deploy_once(opened, replace=True)
            if not shell.printer.json:
                report_deploy(shell, opened, deployed)
                hidden = describe_hidden(opened, deployed.offer.name) if deployed.created else ""
                if hidden:
                    shell.printer.note(hidden)
    except KeyboardInterrupt:
        raise Interrupted(describe_interrupted_deploy(shell, spec)) from None
    return deployed


def describe_interrupted_deploy(shell: Shell, spec: dict[str, Json]) -> str:
    """Return a line that says what became of a deploy that Ctrl-C interrupted."""
    from sigil.manifest.package import parse_flat

    try:
        package = parse_flat(spec)
        ref = f"{package.manifest.name}@{find_deploy_digest(shell, package)}"
        with shell.open_registry() as opened:
            row = opened.registry.inspect(ref, opened.caller)
    except SigilError as problem:
        if problem.code != "ENOENT":
            return UNSURE_DEPLOY
        if not shell.is_remote():
            return "interrupted; nothing was deployed"
        return (
            "interrupted; nothing was deployed yet; the registry may still be at work,"
            f" `sigil versions {package.manifest.name}` shows it"
        )
    except KeyboardInterrupt:
        return UNSURE_DEPLOY
    state = "runs" if row.get("active", True) else "was deployed, and does not run"
    return f"interrupted; {row['capability']}@{row['version']} {state}"


def describe_hidden(opened: OpenRegistry, name: str) -> str:
    """Return a line that says that a capability hides the library's, empty when it does not."""
    from sigil.protocol import LIBRARY

    try:
        opened.registry.inspect(f"{LIBRARY}/{name}", opened.caller)
    except SigilError:
        return ""
    return f"it hides the library's own {name} now (`sigil remove {name}` shows that again)"


def report_deploy(
    shell: Shell, opened: OpenRegistry, deployed: Deployed, *, tested: bool = True
) -> None:
    """Print what a deploy made. `tested`: its tests ran for this deploy."""
    printer = shell.printer
    offer = deployed.offer
    if printer.json:
        printer.document(deploy_row(deployed))
        return
    printer.line(f"{offer.name}@{offer.version} {offer.digest}")
    if not deployed.created:
        printer.note("this very digest was deployed already")
    elif tested:
        printer.note(_describe_passed(deployed.passed))
    if deployed.example:
        from sigil.protocol import example_row

        printer.note(_describe_example(example_row(deployed.example)))
    if deployed.expires_at is not None:
        printer.note(f"ephemeral: this version ends at {format_time(deployed.expires_at)}")
    for permission in deployed.pending:
        printer.note(f"waits for an owner: {permission}")
    if not deployed.pending:
        return
    try:
        holder = opened.registry.keys.whoami(opened.caller)
    except SigilError:
        return
    # only an admin token is an owner's; another token has a namespace of its own
    command = f"sigil grant {offer.name}"
    if holder.get("kind") == "admin":
        printer.note(f"grant it: {command}")
    else:
        printer.note(f"an owner grants it: {command} --namespace {holder.get('namespace')}")


def deploy_row(deployed: Deployed) -> dict[str, object]:
    """Return a deploy as the JSON row for programs."""
    from sigil.protocol import deployed_row

    row = {**deployed_row(deployed, ""), "created": deployed.created}
    row.pop("url", None)
    return row


def _describe_passed(tests: int) -> str:
    return f"{format_count(tests, 'test')} passed" if tests else "there are no tests"


def _describe_example(example: ExampleRow) -> str:
    """Return the line about the run of an example, with its input and what came of it."""
    from sigil.strict_json import dumps

    given = one_line(dumps(example["input"]).decode(), EXAMPLE_CHARACTERS)
    if "problem" in example:
        return f"the example {given} failed: {example['problem']}"
    output = one_line(dumps(example.get("output")).decode(), EXAMPLE_CHARACTERS)
    return f"the example {given} gave {output}"


def preview_deploy(shell: Shell, package: Package, folder: Path | None) -> DeployPreviewRow:
    """Test a package here and compare it with what is deployed.

    `Refused` where a deploy would be.
    """
    from sigil.cli.commands.test import compile_package, open_bench, test_program
    from sigil.deploy.example_run import run_example
    from sigil.manifest import permissions
    from sigil.manifest.languages import BUNDLE
    from sigil.protocol import example_row

    manifest = package.manifest
    permissions.require_valid_permissions(manifest)
    results: list[GoldenTestResult] = []
    example: ExampleRun | None = None
    if manifest.lang != BUNDLE:
        place = folder or Path(manifest.name)
        with locate_errors(folder), compile_package(shell, package) as (sandbox, program):
            bench = open_bench(shell.read_settings(), sandbox, package, place)
            results = test_program(bench, shell, package, program)
            example = run_example(bench, manifest, program)
    for result in results:
        if result.problem:
            raise Refused(
                "ETESTS",
                f"test {result.number} failed: {result.problem}",
                source=manifest.name,
                suggestion="`sigil test` runs them all",
            )
    active = _inspect_active(shell, manifest.name)
    digest = find_deploy_digest(shell, package)
    row: DeployPreviewRow = {
        "capability": manifest.name,
        "digest": digest,
        "stands": None,
        "same": False,
        "changes": [],
        "tests": {"passed": len(results), "failed": 0},
        "asks": list(permissions.requested_permissions(manifest)),
        "dry_run": True,
    }
    if example:
        row["example"] = example_row(example)
    if active:
        row["stands"] = {
            "version": active["version"],
            "digest": active["digest"],
            "namespace": active["namespace"],
        }
        row["same"] = active["digest"] == digest
        row["changes"] = compare_manifest(active, manifest)
    return row


def compare_manifest(active: DetailRow, manifest: Manifest) -> list[FieldChangeRow]:
    """Return the manifest fields, of those that a registry shows, that a deploy would change."""
    old: Mapping[str, object] = active
    new = manifest.model_dump(mode="json")
    rows: list[FieldChangeRow] = [
        {"field": name, "old": old[name], "new": new[name]}
        for name in _COMPARED_FIELDS
        if name in old and old[name] != new.get(name)
    ]
    if active.get("schema") not in (None, new["input"]):
        rows.append({"field": "schema", "old": active["schema"], "new": new["input"]})
    return rows


def print_preview(shell: Shell, row: DeployPreviewRow) -> None:
    """Print what a deploy would do."""
    from sigil.cli.details import describe_changes

    printer = shell.printer
    if printer.json:
        printer.document(row)
        return
    printer.line(f"{row['capability']} {row['digest']}")
    for line in describe_changes(row["changes"]):
        printer.line(line)
    printer.note(_describe_passed(row["tests"]["passed"]))
    if "example" in row:
        printer.note(_describe_example(row["example"]))
    for text in row["asks"]:
        printer.note(f"asks an owner for: {text}")
    active = row["stands"]
    if not active:
        outcome = "it would be new"
    elif active["namespace"] == "library":
        outcome = f"it would hide the library's own {row['capability']}@{active['version']}"
    elif row["same"]:
        outcome = f"{row['capability']}@{active['version']} is the very same"
    else:
        outcome = f"it would replace {row['capability']}@{active['version']}"
    printer.note(f"{outcome}; nothing was deployed")


def find_deploy_digest(shell: Shell, package: Package) -> str:
    """Return the digest that a deploy would give: it covers the versions of the capabilities that
    are called, as they are now.
    """
    from sigil.catalog.deployments import pinned_digest
    from sigil.manifest import permissions
    from sigil.manifest.permission_rules import parse_call_rule

    pins: dict[str, str] = {}
    for call in permissions.declared_calls(package.manifest):
        digest = parse_call_rule(call).digest
        if not digest:
            active = _inspect_active(shell, call)
            digest = str(active["digest"]) if active else ""
        pins[call] = digest
    return pinned_digest(package.digest, pins)


def _inspect_active(shell: Shell, name: str) -> DetailRow | None:
    with shell.open_registry() as opened:
        try:
            return opened.registry.inspect(name, opened.caller)
        except UsageError as problem:
            if problem.code != "ENOENT":
                raise
            return None
