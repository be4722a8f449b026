"""What the tests of a folder may call: what stands in this process's registry, else the folders
beside it, else the library's.
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
class Beside(TestServices):
    """Facilities that find a capability that does not stand yet. `folders`: where a namespace's own
    are, each in a folder of its name.
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


def beside(settings: Settings, sandbox: Sandbox, folder: Path, manifest: Manifest) -> Beside:
    """What the tests of the capability in `folder` stand on. No store is opened for one that calls
    nothing.
    """
    from sigil.wiring import library_folder

    web = FixtureWeb((), settings.loopback)
    if not permissions.declared_calls(manifest):
        return Beside(web)
    library = library_folder(settings)
    folders = {settings.agent: folder.resolve().parent, **({LIBRARY: library} if library else {})}
    return Beside(web, _standing(settings), sandbox=sandbox, folders=folders)


def _standing(settings: Settings) -> LiveServices | None:
    """What is deployed in this process's registry; nothing can be run here of a registry
    elsewhere.
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
