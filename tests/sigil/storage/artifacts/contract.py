"""What every place for artifacts must do. A test module inherits `ArtifactsContract` and gives it
`artifacts` and a way to spoil them.
"""

from __future__ import annotations

import os

import pytest

from sigil.errors import BackendError
from sigil.storage.artifacts import Artifacts, artifact_name
from tests.threads import in_parallel

SIZES = [0, 1, 255 * 1024, 256 * 1024, 256 * 1024 + 1, 512 * 1024, 1_200_000]
LARGE = os.urandom(600_000)


class ArtifactsContract:
    """Needs the fixture `artifacts`; `spoil` replaces the body that is stored under a name by other
    bytes.
    """

    def spoil(self, artifacts: Artifacts, name: str, body: bytes) -> None:
        raise NotImplementedError

    def test_a_body_comes_back_under_its_hash(self, artifacts: Artifacts) -> None:
        for size in SIZES:
            body = os.urandom(size)
            name = artifacts.put(body)
            assert name == artifact_name(body)
            assert artifacts.get(name) == body

    def test_storing_it_again_changes_nothing(self, artifacts: Artifacts) -> None:
        assert artifacts.put(LARGE) == artifacts.put(LARGE)
        assert artifacts.get(artifact_name(LARGE)) == LARGE

    def test_many_may_store_one_body_at_once(self, artifacts: Artifacts) -> None:
        assert in_parallel(6, lambda _: artifacts.put(LARGE)) == [artifact_name(LARGE)] * 6
        assert artifacts.get(artifact_name(LARGE)) == LARGE

    def test_bodies_do_not_mix(self, artifacts: Artifacts) -> None:
        bodies = [LARGE[:number] for number in (100, 270_000, 300_000)]
        names = in_parallel(3, lambda number: artifacts.put(bodies[number]))
        assert [artifacts.get(name) for name in names] == bodies

    def test_what_is_not_there_is_said_to_be_missing(self, artifacts: Artifacts) -> None:
        with pytest.raises(BackendError, match=f"artifact {'ab' * 6} is missing") as caught:
            artifacts.get("ab" * 32)
        assert caught.value.suggestion

    def test_what_can_be_no_name_is_missing_too(self, artifacts: Artifacts) -> None:
        short, line = "ab" * 31, f"{'ab' * 32}\n"
        for name in ("", "../../etc/passwd", "AB" * 32, short, line, "٠" * 64, "/etc/passwd"):
            with pytest.raises(BackendError, match="is missing"):
                artifacts.get(name)

    def test_a_removed_body_is_missing_until_it_is_stored_again(self, artifacts: Artifacts) -> None:
        other = artifacts.put(LARGE)
        for size in SIZES:
            body = os.urandom(size)
            name = artifacts.put(body)
            for _ in range(2):
                artifacts.delete(name)
                with pytest.raises(BackendError, match="is missing"):
                    artifacts.get(name)
            assert artifacts.get(other) == LARGE
            assert artifacts.get(artifacts.put(body)) == body

    def test_a_body_that_changed_is_not_given_out(self, artifacts: Artifacts) -> None:
        name = artifacts.put(LARGE)
        for body in (b"", b"other", LARGE[:-1], LARGE + b"x"):
            self.spoil(artifacts, name, body)
            with pytest.raises(BackendError, match=f"artifact {name[:12]} is damaged"):
                artifacts.get(name)
