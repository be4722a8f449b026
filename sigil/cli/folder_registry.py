"""The capabilities that a folder's tests may call: from this process's registry, else from the
folders beside it, else from the library.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from sigil.compile.compiler import build
from sigil.deploy.golden_tests import FixtureWeb, TestServices
from sigil.manifest import permissions
from sigil.manifest.package import read_folder
from sigil.manifest.permission_rules import CallRule
from sigil.protocol import LIBRARY, viewed
from sigil.run.host_calls.context import Part
from sigil.run.live_services import LazyNetwork, LiveServices, to_the_web
from sigil.sandbox.program import Program

if TYPE_CHECKING:
    from sigil.manifest.model import Manifest
    from sigil.sandbox.pool import Sandbox
    from sigil.settings import Settings


@dataclass(frozen=True, slots=True)
class FolderRehearsal(TestServices):
    """Test services that also find capabilities that are not deployed yet. `folders`: by namespace,
    the folder whose folders are capabilities.
    """

    sandbox: Sandbox | None = None
    folders: Mapping[str, Path] = field(default_factory=dict)
    built: dict[tuple[str, str], Part | None] = field(default_factory=dict)

    def find(self, rule: CallRule, view: str, over: Part | None = None) -> Part | None:
        found = TestServices.find(self, rule, view, over)
        if found or rule.namespace:
            return found
        for namespace in viewed(view).sees:
            if (
                over
                and over.identity == (namespace, rule.name)
                and rule.digest in ("", over.digest)
            ):
                return over
            part = self._in(namespace, rule.name)
            if part and rule.digest in ("", part.digest):
                return part
        return None

    def _in(self, namespace: str, name: str) -> Part | None:
        place = (namespace, name)
        if place not in self.built:
            self.built[place] = self._made(namespace, name)
        return self.built[place]

    def _made(self, namespace: str, name: str) -> Part | None:
        folder = self.folders.get(namespace)
        if self.sandbox is None or folder is None or not (folder / name / "sigil.toml").is_file():
            return None
        package = read_folder(folder / name)
        if package.manifest.name != name:
            return None
        permissions.require_valid_permissions(package.manifest)
        made = build(package, self.sandbox)
        return Part(
            namespace,
            package.manifest,
            package.digest,
            Program(made.digest, made.kind, lambda: made.wasm),
        )


def open_rehearsal(
    settings: Settings, sandbox: Sandbox, folder: Path, manifest: Manifest
) -> FolderRehearsal:
    """Return the services for the tests of the capability in `folder`. No store is opened for one
    that calls nothing.
    """
    from sigil.wiring import library_folder

    web = FixtureWeb((), settings.loopback)
    if not permissions.declared_calls(manifest):
        return FolderRehearsal(web)
    library = library_folder(settings)
    folders = {settings.agent: folder.resolve().parent, **({LIBRARY: library} if library else {})}
    return FolderRehearsal(web, _open_local_services(settings), sandbox=sandbox, folders=folders)


def _open_local_services(settings: Settings) -> LiveServices | None:
    """Return what is deployed in this process's registry; None for a registry elsewhere, where
    nothing can be run from here.
    """
    if settings.registry_url:
        return None
    from sigil.access.grants import GrantStore
    from sigil.access.secret_store import SecretStore
    from sigil.catalog.catalog import Catalog
    from sigil.wiring import open_stores

    stores = open_stores(settings)
    kv, way = stores.kv, LazyNetwork(to_the_web)
    return LiveServices(kv, Catalog(kv), stores.artifacts, GrantStore(kv), SecretStore(kv), way)
