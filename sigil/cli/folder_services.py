"""The services of a folder's tests: the capabilities that they may call come from this process's
registry, else from the folders beside it, else from the library.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from sigil.compile.compiler import build
from sigil.deploy.golden_tests import FixtureWeb, GoldenTestServices
from sigil.manifest import permissions
from sigil.manifest.package import read_folder
from sigil.manifest.permission_rules import CallRule
from sigil.protocol import LIBRARY, caller_within
from sigil.run.host_calls.context import Runnable
from sigil.run.live_services import LazyNetwork, LiveServices, open_network
from sigil.sandbox.program import Program

if TYPE_CHECKING:
    from sigil.manifest.model import Manifest
    from sigil.sandbox.pool import Sandbox
    from sigil.settings import Settings


@dataclass(frozen=True, slots=True)
class FolderTestServices(GoldenTestServices):
    """Test services that also find capabilities that are not deployed yet. `folders`: by namespace,
    the folder whose folders are capabilities.
    """

    sandbox: Sandbox | None = None
    folders: Mapping[str, Path] = field(default_factory=dict)
    built: dict[tuple[str, str], Runnable | None] = field(default_factory=dict)

    def find_version(
        self, rule: CallRule, view: str, over: Runnable | None = None
    ) -> Runnable | None:
        """Return the capability that a call means: the deployed one, else one in a folder; None
        when there is neither.
        """
        deployed = GoldenTestServices.find_version(self, rule, view, over)
        if deployed or rule.namespace:
            return deployed
        for namespace in caller_within(view).sees:
            identity = (namespace, rule.name)
            if over and over.identity == identity and rule.digest in ("", over.digest):
                return over
            if identity not in self.built:
                self.built[identity] = self._build_part(namespace, rule.name)
            part = self.built[identity]
            if part and rule.digest in ("", part.digest):
                return part
        return None

    def _build_part(self, namespace: str, name: str) -> Runnable | None:
        folder = self.folders.get(namespace)
        if self.sandbox is None or folder is None or not (folder / name / "sigil.toml").is_file():
            return None
        package = read_folder(folder / name)
        if package.manifest.name != name:
            return None
        permissions.require_valid_permissions(package.manifest)
        built = build(package, self.sandbox)
        program = Program(built.digest, built.kind, lambda: built.wasm)
        return Runnable(namespace, package.manifest, package.digest, program)


def open_folder_services(
    settings: Settings, sandbox: Sandbox, folder: Path, manifest: Manifest
) -> FolderTestServices:
    """Return the services for the tests of the capability in `folder`. No store is opened for one
    that calls nothing.
    """
    from sigil.access.grants import GrantStore
    from sigil.access.secret_store import SecretStore
    from sigil.catalog.catalog import Catalog
    from sigil.wiring import library_folder, open_stores

    web = FixtureWeb((), settings.loopback)
    if not permissions.declared_calls(manifest):
        return FolderTestServices(web)
    folders = {settings.agent: folder.resolve().parent}
    library = library_folder(settings)
    if library:
        folders[LIBRARY] = library
    deployed = None
    if not settings.registry_url:  # a remote registry's capabilities cannot be run from here
        stores = open_stores(settings)
        kv = stores.kv
        deployed = LiveServices(
            kv,
            Catalog(kv),
            stores.artifacts,
            GrantStore(kv),
            SecretStore(kv),
            LazyNetwork(open_network),
        )
    return FolderTestServices(web, deployed, sandbox=sandbox, folders=folders)
