"""A registry over HTTP answers the same verbs as the one in this process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import httpx
import pytest

from sigil.catalog.health import FAILURES
from sigil.client.registry import RemoteRegistry
from sigil.errors import Refused, SigilError, UsageError
from sigil.http import app
from sigil.registry import LocalRegistry
from tests.sigil.registries import PERSON, WAYS, spec
from tests.sigil.serving import served

TOKEN = "a-token-of-the-admin"


@pytest.fixture
def address(registry: LocalRegistry) -> Iterator[str]:
    with served(app.build_registry_app(registry, TOKEN)) as url:
        yield url


@pytest.fixture
def remote(address: str) -> Iterator[RemoteRegistry]:
    with closing(RemoteRegistry(address, TOKEN)) as made:
        yield made


def test_every_verb_of_versions_works_from_afar(
    remote: RemoteRegistry, registry: LocalRegistry
) -> None:
    digests = [
        remote.deploy(spec(execute=f"return '{word}'"), PERSON).offer.digest
        for word in ("one", "two")
    ]

    assert remote.versions("shout", PERSON) == registry.versions("shout", PERSON)
    assert remote.history("shout", PERSON) == registry.history("shout", PERSON)
    assert remote.diff("shout", PERSON) == registry.diff("shout", PERSON)
    assert remote.rollback("shout", PERSON)["changed"] is True
    assert remote.rollback("shout", PERSON)["changed"] is False
    assert remote.yank("shout@1", PERSON)["yanked"] is True
    assert remote.yank("shout@1", PERSON, undo=True)["yanked"] is False
    body = remote.export(["shout"], PERSON)
    assert body == registry.export(["shout"], PERSON)
    remote.remove("shout", PERSON)
    (done,) = remote.import_bundle(body, PERSON)
    assert (done.created, done.offer.digest, done.offer.version) == (True, digests[0], 3)
    with pytest.raises(UsageError, match="ENOENT"):
        remote.rollback("shout", PERSON, 1)
    with pytest.raises(UsageError):
        remote.import_bundle(body[:-5], PERSON)
    with pytest.raises(UsageError, match="ENOENT"):
        remote.publish("shout-too", PERSON)


def test_a_degraded_capability_says_when_to_come_back(remote: RemoteRegistry, address: str) -> None:
    remote.deploy(spec("ways", WAYS), PERSON)
    for _ in range(FAILURES):
        with pytest.raises(SigilError, match="ETHROWN"):
            remote.run("ways", {"way": "throw"}, PERSON)

    answer = httpx.get(
        f"{address}/run/ways", headers={"Authorization": f"Bearer {TOKEN}"}, trust_env=False
    )
    assert answer.status_code == 503
    assert 0 < int(answer.headers["retry-after"]) <= 31
    assert answer.json()["error"]["code"] == "EDEGRADED"
    with pytest.raises(Refused, match="EDEGRADED"):
        remote.run("ways", {}, PERSON)


def test_the_log_of_a_failed_run_reaches_the_admin(remote: RemoteRegistry) -> None:
    remote.deploy(
        spec(
            "talks",
            "console.log('so far'); throw new Error('a mistake')",
            permissions={"log": True},
        ),
        PERSON,
    )
    with pytest.raises(SigilError) as caught:
        remote.run("talks", {}, PERSON)
    assert [line for line in caught.value.logs if "so far" in line]
