"""`sigil whoami`: whose token is used."""

from __future__ import annotations

from pathlib import Path

from tests.sigil.cli.conftest import REMOTE_TOKEN, Sigil


def test_in_this_process_one_is_the_owner(run_sigil: Sigil) -> None:
    assert run_sigil("whoami", "--json").document["kind"] == "admin"
    assert run_sigil("whoami").out == "owner, namespace main: everything; never ends\n"


def test_whoami_without_an_address_opens_no_store_and_names_the_addresses_that_are_known(
    run_sigil: Sigil, remote_url: str, place: Path
) -> None:
    run_sigil("login", "--url", remote_url, stdin=REMOTE_TOKEN.encode())
    assert f"a token is kept for {remote_url}: add --url" in run_sigil("whoami").err
    assert not (place.parent / "data" / "uncaged.db").exists()
