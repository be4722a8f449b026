"""The registry in this process: query, inspect, deploy and run, and all that its owners need."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from sigil.access.grant_admin import GrantAdmin
from sigil.access.grants import GrantStore, home_of
from sigil.access.secret_store import SecretStore
from sigil.access.token_admin import AuditReader, TokenAdmin
from sigil.access.tokens import Tokens
from sigil.catalog import usage, views
from sigil.catalog.audit import Audit
from sigil.catalog.catalog import Catalog, Head, Record
from sigil.catalog.health import CircuitBreaker
from sigil.catalog.owner import has_access_token, require_owner_or_deployer
from sigil.catalog.public import foreign_offer
from sigil.catalog.quotas import QuotaReservations, Quotas, usage_of
from sigil.catalog.usage import RunNote, UsageStatistics
from sigil.catalog.versions import VersionAdmin
from sigil.deploy.deployer import Deployer
from sigil.deploy.transfer import Transfer
from sigil.errors import Refused, SigilError, UsageError, one_line
from sigil.manifest.languages import BINARY
from sigil.manifest.package import Package, parse_flat
from sigil.manifest.permissions import ungranted_permissions
from sigil.protocol import LIBRARY, Caller, Deployed, Found, Glimpse, Json, Ran, Ref, is_name
from sigil.run.executor import Executor
from sigil.run.host_calls.web_requests import REQUESTS_PER_DAY
from sigil.run.live_services import LazyNetwork, LiveServices, WebTransport, open_network
from sigil.run.mcp_client.discovery import ServerToolLister
from sigil.run.mcp_client.servers import Servers
from sigil.run.older_callers import OlderCallers
from sigil.run.recorder import CallRecorder
from sigil.sandbox.pool import Sandbox
from sigil.search import Encoder
from sigil.search.catalog_search import CatalogSearch
from sigil.storage.artifacts import Artifacts
from sigil.storage.kv import KV

if TYPE_CHECKING:
    from sigil.rows import (
        ActivationRow,
        ChangedVersionRow,
        DetailRow,
        ListRow,
        RunRow,
        SandboxStatusRow,
        StatusRow,
        VersionDiffRow,
        VersionRow,
    )

QUERY_CHARACTERS = 2_000
QUERY_MOST = 50


@dataclass(frozen=True, slots=True)
class RegistryRules:
    """The rules of a registry: how much a namespace may hold (`quotas`), the seconds between two
    deploys of one token (`pause`), the encoder of a query's meaning (None: words decide), and how
    many pages an agent's capabilities may ask for in a day by `permissions.web`.
    """

    quotas: Quotas = Quotas()
    pause: float = 5.0
    encoder: Encoder | None = None
    web_requests_per_day: int = REQUESTS_PER_DAY


DEFAULT = RegistryRules()


class LocalRegistry:
    """Sigil over a store and a sandbox."""

    def __init__(
        self,
        kv: KV,
        artifacts: Artifacts,
        sandbox: Sandbox,
        clock: Callable[[], float] = time.time,
        *,
        rules: RegistryRules = DEFAULT,
        web: Callable[[], WebTransport] = open_network,
        servers: Servers | None = None,
    ) -> None:
        self._kv = kv
        self._catalog = Catalog(kv, clock)
        self._artifacts = artifacts
        self._sandbox = sandbox
        self._clock = clock
        self._rules = rules
        self._search = CatalogSearch(kv, artifacts, clock, encoder=rules.encoder)
        self._breaker = CircuitBreaker(kv, clock)
        self._statistics = UsageStatistics(kv, clock)
        self._audit = Audit(kv, clock)
        self.keys = TokenAdmin(Tokens(kv, clock), self._audit)
        self.log = AuditReader(self._audit)
        self._versions = VersionAdmin(kv, artifacts, self._breaker, clock)
        self._servers = servers or Servers()
        self._grant_store = GrantStore(kv, clock, self._servers.end_revoked)
        self.secrets = SecretStore(kv, clock, self._audit.note)
        self._live_services = LiveServices(
            kv,
            self._catalog,
            artifacts,
            self._grant_store,
            self.secrets,
            LazyNetwork(web),
            clock,
            rules.web_requests_per_day,
        )
        pins_of = self._live_services.load_record_pins
        self.granting = GrantAdmin(
            self._catalog, self._grant_store, self.secrets, self._audit.note, pins_of
        )
        recorder = CallRecorder(
            self._breaker, self._statistics, self._catalog, self._versions, self._audit
        )
        self.importing = ServerToolLister(
            self._servers, self._live_services.sign_ins, self._live_services.network
        )
        self._execution = Executor(sandbox, self._live_services, recorder, self._servers)
        reservations = QuotaReservations(kv, self._catalog, rules.quotas, clock)
        self._older_callers = OlderCallers(kv, self._catalog, pins_of)
        self._deployer = Deployer(
            kv,
            sandbox,
            self._live_services,
            clock,
            reservations=reservations,
            pause=rules.pause,
            older_callers=self._older_callers,
        )
        self._transfer = Transfer(kv, artifacts, self._deployer, clock, reservations=reservations)

    def query(self, text: str, caller: Caller, *, limit: int = 3) -> Found:
        """See `Registry.query`. `limit` is at most 50, the text at most 2,000 characters."""
        return self._search.find(text[:QUERY_CHARACTERS], caller, min(max(limit, 1), QUERY_MOST))

    def query_each(self, texts: Sequence[str], caller: Caller, *, limit: int = 3) -> list[Found]:
        """See `SearchesMany.query_each`; each text is as for `query`."""
        texts = [text[:QUERY_CHARACTERS] for text in texts]
        return self._search.find_each(texts, caller, min(max(limit, 1), QUERY_MOST))

    def explore(self, text: str, caller: Caller, *, limit: int = 20) -> tuple[Glimpse, ...]:
        """See `CapabilityAdmin.explore`.

        `limit` is at most 50, the text at most 2,000 characters.
        """
        return self._search.explore(text[:QUERY_CHARACTERS], caller, min(max(limit, 1), QUERY_MOST))

    def inspect(self, ref: str, caller: Caller) -> DetailRow:
        """See `Registry.inspect`: manifest, version, digest, author, times, use, health, pending
        permissions and the source.
        """
        record = self._catalog.resolve(Ref.parse(ref), caller)
        use = self._statistics.read_counts(record.namespace, record.name)
        head = self._catalog.load_head(record.namespace, record.name)
        health = self._breaker.read_health(record, caller.namespace)
        listed = views.list_row(head, record, health, use, self._clock())
        pins = self._live_services.list_pin_rows(record)
        body = self._artifacts.get(record.source)
        source = None if record.manifest.lang in BINARY else body.decode("utf-8", "replace")
        pending = self._pending_permissions(record, caller)
        runs = self._list_runs(use.runs, record, head, caller)
        everything = views.detail_row(listed, record, pending, pins, source, runs=runs)
        if record.namespace in caller.sees:
            return everything
        offer = foreign_offer(record)
        interface = views.interface_row(everything)
        interface["capability"] = offer.name
        interface["tool"] = offer.tool
        return cast("DetailRow", interface)  # who may only run it sees no more

    def _list_runs(
        self, runs: Sequence[RunNote], record: Record, head: Head | None, caller: Caller
    ) -> list[RunRow] | None:
        """Return the last runs, None for who does not see them.

        An owner sees all. Who deployed with a token sees those of their own versions outside of
        chats.
        """
        if caller.owner:
            return views.run_rows(runs, record, caller)
        if record.namespace != caller.namespace or not self._is_own(record, caller):
            return None
        own = {record.version}
        if head and runs:
            versions = self._catalog.list_versions(head)
            own |= {each.version for each in versions if self._is_own(each, caller)}
        rows = views.run_rows(runs, record, caller)
        return [row for row in rows if row["version"] in own and not row["chat"]]

    def _is_own(self, record: Record, caller: Caller) -> bool:
        """Return whether the caller's token, or one with the same deployer, deployed a version."""
        place = (record.namespace, record.name, record.digest)
        return caller.deployer != "" and (
            self._catalog.deployments.find_deployer(*place) == caller.deployer
        )

    def deploy(
        self, spec: Mapping[str, Json], caller: Caller, *, replace: bool = False
    ) -> Deployed:
        """See `Registry.deploy`. The same digest again is no second deploy."""
        try:
            package = parse_flat(spec)
        except SigilError as problem:
            name = spec.get("name")
            if not problem.source and isinstance(name, str):
                problem.source = one_line(name, 60)
            problem.source = problem.source or "deploy"
            raise
        return self.deploy_package(package, caller, replace=replace)

    def deploy_package(
        self, package: Package, caller: Caller, *, replace: bool = False
    ) -> Deployed:
        """Check, test and activate a package; nothing is stored unless all of it holds."""
        linked = self._deployer.link(package, caller)
        same = self._deployer.find_same(linked, caller)
        if same:
            renewed = self._catalog.renew(same, caller)
            return self._make_deployed(
                renewed, caller, created=False, passed=len(renewed.manifest.tests)
            )
        record, passed, example = self._deployer.deploy(linked, caller, replace=replace)
        deployed = self._make_deployed(record, caller, created=True, passed=passed)
        return dataclasses.replace(deployed, example=example)

    def run(self, ref: str, arguments: Mapping[str, Json], caller: Caller) -> Ran:
        """See `Registry.run`. `Refused` EDEGRADED while the version rests after failures of its
        own.
        """
        record = self._catalog.resolve(Ref.parse(ref), caller)
        sees_logs = record.namespace in caller.sees  # a capability's logs are its owner's
        try:
            outcome = self._execution.run(
                self._live_services.make_runnable(record), arguments, caller
            )
        except SigilError as problem:
            if not sees_logs:
                problem.logs = ()
            raise
        logs = outcome.logs if sees_logs else ()
        return Ran(
            outcome.output,
            record.version,
            record.digest,
            outcome.duration_ms,
            outcome.cold,
            logs,
            outcome.files,
        )

    def read_file(self, id: str, caller: Caller) -> bytes:
        """See `Registry.read_file`."""
        return self._live_services.files.read(id, caller).body

    def list(self, caller: Caller) -> Iterator[ListRow]:
        """Yield one row for each name that the caller sees, nearest namespace first."""
        listed: set[str] = set()
        for namespace in caller.sees:
            uses = self._statistics.read_all_counts(namespace)
            for head in self._catalog.list_heads(namespace):
                record = head.record
                if (
                    record.name not in listed
                    and self._catalog.is_running(head)
                    and caller.reaches(namespace, record.name)
                ):
                    listed.add(record.name)
                    health = self._breaker.read_health(record, caller.namespace)
                    use = uses.get(record.name)
                    yield views.list_row(head, record, health, use, self._clock())

    def status(self, caller: Caller) -> StatusRow:
        """Return what the caller's own namespace holds, what it may hold, and how each of its
        capabilities does.
        """
        namespace = caller.target
        uses = self._statistics.read_all_counts(namespace)
        heads = [
            head
            for head in self._catalog.list_heads(namespace)
            if self._catalog.is_alive(head.record)
        ]
        now = self._clock()
        items = [
            views.status_row(
                head, self._breaker.read_health(head.record), uses.get(head.record.name), now
            )
            for head in heads
        ]
        now_used = usage_of(heads)
        sandbox = {"path": self._sandbox.describe(), **self._sandbox.stats()}
        started = time.perf_counter()
        self._catalog.read_generation(namespace)
        read_ms = round((time.perf_counter() - started) * 1000, 3)
        return {
            "namespace": namespace,
            "capabilities": now_used.capabilities,
            "bytes": now_used.bytes,
            "ephemeral": now_used.ephemeral,
            "limits": views.quota_row(self._rules.quotas, namespace),
            "sandbox": cast("SandboxStatusRow", sandbox),
            "store": {"read_ms": read_ms},
            "items": items,
        }

    def count_runners(self) -> Mapping[str, int]:
        """Return the counts of the sandbox's children, as `Sandbox.stats` has them."""
        return self._sandbox.stats()

    def remove(self, name: str, caller: Caller) -> None:
        """Remove a capability of the caller's own namespace, resident or not.

        With an access token, only one of which its deployer made every version.
        """
        if not is_name(name):
            raise UsageError("ENAME", "not a capability's name", source=name)
        head = self._catalog.load_head(caller.target, name)
        if head is None or head.removed:
            if self._catalog.load_active(LIBRARY, name):
                raise Refused(
                    "EPERM",
                    "the standard library cannot be removed",
                    source=name,
                    suggestion="deploy your own under this name instead",
                )
            raise UsageError(
                "ENOENT",
                "no such capability",
                source=name,
                suggestion="`sigil list` shows what there is",
            )
        if has_access_token(caller):
            versions = (head.record, *self._catalog.list_versions(head))
            require_owner_or_deployer(caller, versions, self._catalog.deployments, "removes it")
        self._older_callers.record_callers(caller.target)
        stores = self._catalog.list_stores(head)
        self._catalog.remove(head)
        self._grant_store.revoke(caller.target, name)
        part = self._live_services.make_runnable(head.record)
        home = home_of(caller.target, caller)
        for store in stores:
            part = dataclasses.replace(part, store=store)
            self._live_services.open_store(part, home).clear()
        usage.forget_counts(self._kv, head.record.namespace, head.record.name)
        self._audit.note(
            caller.target,
            "remove",
            caller=caller,
            name=name,
            version=head.record.version,
            digest=head.record.digest,
        )

    def remove_others(self, names: set[str], caller: Caller) -> Sequence[str]:
        """Remove the capabilities of the caller's namespace that have other names, and return the
        names of those.
        """
        gone = [
            head.record.name
            for head in self._catalog.list_heads(caller.target)
            if head.record.name not in names
        ]
        for name in gone:
            self.remove(name, caller)
        return gone

    def versions(self, name: str, caller: Caller) -> Sequence[VersionRow]:
        """See `VersionAdmin.list_versions`."""
        return self._versions.list_versions(name, caller)

    def history(self, name: str, caller: Caller) -> Sequence[ActivationRow]:
        """See `VersionAdmin.list_activations`."""
        return self._versions.list_activations(name, caller)

    def diff(
        self, name: str, caller: Caller, older: int | None = None, newer: int | None = None
    ) -> VersionDiffRow:
        """See `VersionAdmin.diff`."""
        return self._versions.diff(name, caller, older, newer)

    def rollback(self, name: str, caller: Caller, version: int | None = None) -> ChangedVersionRow:
        """See `VersionAdmin.rollback`."""
        self._older_callers.record_callers(caller.target)
        return self._versions.rollback(name, caller, version)

    def yank(self, ref: str, caller: Caller, *, undo: bool = False) -> ChangedVersionRow:
        """See `VersionAdmin.yank`."""
        self._older_callers.record_callers(caller.target)
        return self._versions.yank(ref, caller, undo=undo)

    def publish(
        self, name: str, caller: Caller, *, session: str = "", replace: bool = False
    ) -> Deployed:
        """See `Transfer.publish`."""
        self._older_callers.record_callers(caller.namespace)
        record, created = self._transfer.publish(name, caller, session=session, replace=replace)
        return self._make_deployed(record, caller, created=created, passed=0)

    def export(self, refs: Sequence[str], caller: Caller) -> bytes:
        """See `Transfer.export`."""
        return self._transfer.export(refs, caller)

    def import_bundle(
        self, body: bytes, caller: Caller, *, public: bool = False, replace: bool = False
    ) -> Sequence[Deployed]:
        """See `Transfer.import_bundle`."""
        self._older_callers.record_callers(caller.target)
        done = self._transfer.import_bundle(body, caller, public=public, replace=replace)
        return [
            self._make_deployed(record, caller, created=created, passed=0)
            for record, created in done
        ]

    def warm(self, progress: Callable[[str], None]) -> None:
        """See `Sandbox.warm`."""
        self._sandbox.warm(progress)

    def close(self) -> None:
        """Write the statistics and end the sandbox's children."""
        self._statistics.flush()
        self._search.close()
        self._live_services.renewals.close()
        self._live_services.network.close()
        self._servers.close()
        self._sandbox.close()

    def _pending_permissions(self, record: Record, caller: Caller) -> tuple[str, ...]:
        return ungranted_permissions(
            record.manifest,
            self._grant_store.granted_permissions(record, home_of(record.namespace, caller)),
        )

    def _make_deployed(
        self, record: Record, caller: Caller, *, created: bool, passed: int
    ) -> Deployed:
        return Deployed(
            record.offer,
            created,
            passed,
            self._pending_permissions(record, caller),
            record.expires_at,
        )
