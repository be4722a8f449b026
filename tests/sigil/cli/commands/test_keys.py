"""`login`, `logout`, `whoami`, `keys`, `audit`, `logs` and `status`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from sigil import wiring
from sigil.access.tokens import new_token
from sigil.cli.commands.keys import parse_duration
from sigil.client.credentials import Credentials, normalize_address
from sigil.errors import UsageError
from sigil.http import app as sigil_http
from sigil.settings import Settings
from sigil.storage.kv import keys
from sigil.storage.kv.sqlite import SqliteKV
from tests.sigil.cli.conftest import Sigil
from tests.sigil.serving import served

ADMIN = "the-admin-token-there"


@pytest.fixture
def elsewhere(place: Path, compiled: Path, tmp_path: Path) -> Iterator[str]:
    """A registry behind HTTP."""
    data = tmp_path / "elsewhere"
    data.mkdir()
    (data / "compiled").symlink_to(compiled, target_is_directory=True)
    settings = Settings(data=str(data), library="none", runners=1)
    registry = wiring.local_registry(settings, wiring.open_stores(settings))
    with served(sigil_http.build_registry_app(registry, ADMIN)) as url:
        yield url
    registry.close()


def kept(tmp_path: Path) -> Path:
    return tmp_path / "config" / "uncaged" / "credentials.toml"


def test_a_key_made_here_works_there_until_it_is_revoked(run_sigil: Sigil, elsewhere: str) -> None:
    there = ("--url", elsewhere, "--token", ADMIN)
    made = run_sigil(
        "keys", "create", "--kind", "deploy", "--name", "ci", "--expires", "30d", "--json", *there
    ).document
    assert (made["kind"], made["namespace"], made["scopes"]) == (
        "deploy",
        "main",
        ["deploy:main/*", "run:*"],
    )
    assert round(made["expires"] - made["created"]) == 30 * 86_400
    with_key = ("--url", elsewhere, "--token", made["token"])
    assert run_sigil("deploy", "--name", "one", "--execute", "return 1;", *with_key).code == 0
    assert run_sigil("run", "one", *with_key).out == "1\n"
    assert run_sigil("keys", "list", *with_key).code == 5
    listed = run_sigil("keys", "list", *there)
    assert made["id"] in listed.out
    assert made["token"] not in listed.out
    assert run_sigil("whoami", *with_key).out.startswith(
        f"deploy token {made['id']} (ci), namespace main: deploy:main/* run:*; ends 2"
    )
    assert run_sigil("keys", "revoke", made["id"], "--json", *there).document == {
        "revoked": made["id"]
    }
    assert run_sigil("run", "one", *with_key).code == 4
    assert run_sigil("keys", "revoke", made["id"], *there).code == 3


def test_a_key_is_printed_once_and_alone(run_sigil: Sigil) -> None:
    ended = run_sigil("keys", "create", "--scope", "run:alice/*", "--scope", "run:library/*")
    assert ended.out.startswith("sgl_")
    assert len(ended.out.strip()) == 42
    assert "namespace alice: run:alice/* run:library/*; never ends" in ended.err
    assert run_sigil("keys", "create", "--scope", "fly:*").code == 2
    assert run_sigil("keys", "create", "--kind", "admin").code == 2
    assert run_sigil("keys", "create", "--expires", "soon").code == 2


def test_login_keeps_a_token_for_one_address_alone(
    run_sigil: Sigil, elsewhere: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = run_sigil("login", "--url", elsewhere, stdin=f"{ADMIN}\n".encode())
    assert said.out == "admin token, namespace main: everything; never ends\n"
    assert f"with --url {elsewhere}, or once SIGIL_URL is set to it" in said.err
    path = kept(tmp_path)
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert tomllib.loads(path.read_text()) == {elsewhere: {"token": ADMIN}}
    assert run_sigil("list", "--url", elsewhere).code == 0
    monkeypatch.setenv("SIGIL_URL", elsewhere + "/")
    assert run_sigil("list").code == 0
    assert run_sigil("list", "--url", elsewhere.replace("127.0.0.1", "localhost")).code == 4
    assert run_sigil("list", "--url", elsewhere + "/below").code == 4
    monkeypatch.setenv("SIGIL_TOKEN", "another")
    assert run_sigil("list").code == 4
    monkeypatch.delenv("SIGIL_TOKEN")
    assert run_sigil("logout", "--json").document == {"url": elsewhere + "/", "forgotten": True}
    assert run_sigil("logout", "--json").document == {"url": elsewhere + "/", "forgotten": False}
    assert run_sigil("list").code == 4
    assert ADMIN not in path.read_text()


def test_a_token_that_is_not_good_is_not_kept(
    run_sigil: Sigil, elsewhere: str, tmp_path: Path
) -> None:
    assert run_sigil("login", "--url", elsewhere, stdin=b"wrong").code == 4
    assert run_sigil("login", "--url", elsewhere, stdin=new_token().encode()).code == 4
    mistyped = run_sigil("login", "--url", "http://127.0.0.1:9", stdin=new_token()[:-1].encode())
    assert mistyped.code == 4
    assert "mistyped" in mistyped.err
    assert run_sigil("login", "--url", elsewhere, stdin=b"").code == 2
    assert run_sigil("login", stdin=ADMIN.encode()).code == 2
    assert not kept(tmp_path).exists()


def test_credentials_that_others_can_read_are_not_used(
    run_sigil: Sigil, elsewhere: str, tmp_path: Path
) -> None:
    run_sigil("login", "--url", elsewhere, stdin=ADMIN.encode())
    kept(tmp_path).chmod(0o644)
    ended = run_sigil("list", "--url", elsewhere)
    assert ended.code == 2
    assert "chmod 600" in ended.err
    kept(tmp_path).chmod(0o600)
    kept(tmp_path).write_text("no toml [")
    assert run_sigil("list", "--url", elsewhere).code == 2
    assert run_sigil("list").code == 0


def test_one_address_is_one_address(tmp_path: Path) -> None:
    same = [
        "https://Sigil.example.com",
        "https://sigil.example.com/",
        "HTTPS://sigil.example.com:443",
    ]
    others = [
        "http://sigil.example.com",
        "https://sigil.example.com:8443",
        "https://sigil.example.com/a",
        "https://example.com",
    ]
    assert {normalize_address(url) for url in same} == {"https://sigil.example.com"}
    assert not {normalize_address(url) for url in others} & {"https://sigil.example.com"}
    credentials = Credentials(tmp_path / "below" / "credentials.toml")
    credentials.save(same[0], "one")
    credentials.save(others[0], "two")
    assert [credentials.find_token(url) for url in (*same, *others)] == ["one"] * 3 + [
        "two",
        "",
        "",
        "",
    ]
    for url in ("ftp://x", "https://user@x", "https://x:port", "https://x:99999", "x"):
        with pytest.raises(UsageError):
            normalize_address(url)


@pytest.mark.parametrize(
    ("span", "seconds"),
    [
        ("", None),
        ("30s", 30),
        ("12h", 43_200),
        ("30d", 2_592_000),
        ("6w", 3_628_800),
        ("1y", 31_536_000),
    ],
)
def test_a_span_of_time_is_a_number_and_a_letter(span: str, seconds: float | None) -> None:
    assert parse_duration(span) == seconds


@pytest.mark.parametrize(
    "span", ["30", "d", "0d", "-1d", "1.5h", "1d1h", "٣d", "1D", "9999999d", "1d\n"]
)
def test_other_spans_are_refused(span: str) -> None:
    with pytest.raises(UsageError):
        parse_duration(span)


def test_the_audit_says_when_a_key_ends_as_it_says_every_time(run_sigil: Sigil) -> None:
    assert run_sigil("keys", "create", "--expires", "30d").code == 0
    assert re.search(r"expires=\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", run_sigil("audit").out)


def test_the_audit_tells_and_proves_what_was_done(shout: Sigil, tmp_path: Path) -> None:
    shout("remove", "shout", "--yes")
    rows = shout("audit", "--json").document["items"]
    assert [row["action"] for row in rows] == ["deploy", "remove"]
    assert [line.split()[5] for line in shout("audit").out.splitlines()[1:]] == ["deploy", "remove"]
    assert [
        row["number"] for row in shout("logs", "shout", "--limit", "1", "--json").document["items"]
    ] == [2]
    assert shout("logs", "nothing", "--json").error["code"] == "ENOENT"
    assert shout("logs", "nothing").code == 3
    assert (
        shout("audit", "--verify").out
        == f"main: 2 entries hold; the last one is {rows[-1]['hash']}\n"
    )
    store = SqliteKV(tmp_path / "data" / "uncaged.db")
    store.delete(keys.audit_entry("main", 1))
    store.close()
    broken = shout("audit", "--verify")
    assert (broken.code, broken.out) == (1, "")
    assert "entry 1 is missing" in broken.err
    assert shout("audit", "--verify", "--json").document["ok"] is False


def test_status_shows_how_everything_does(shout: Sigil) -> None:
    shout("run", "shout", "-a", "text=a")
    row = shout("status", "--json").document
    assert row["items"][0]["capability"] == "shout"
    assert row["items"][0]["calls"] == 1
    assert row["store"]["read_ms"] >= 0
    shown = shout("status").out
    assert "store read ms" in shown
    assert "shout" in shown


def test_in_this_process_one_is_the_owner(run_sigil: Sigil) -> None:
    assert run_sigil("whoami", "--json").document["kind"] == "admin"
    assert run_sigil("whoami").out == "owner, namespace main: everything; never ends\n"


def test_whoami_without_an_address_opens_no_store_and_names_the_addresses_that_are_known(
    run_sigil: Sigil, elsewhere: str, place: Path
) -> None:
    run_sigil("login", "--url", elsewhere, stdin=ADMIN.encode())
    assert f"a token is kept for {elsewhere}: add --url" in run_sigil("whoami").err
    assert not (place.parent / "data" / "uncaged.db").exists()


def test_logout_forgets_also_what_a_damaged_or_readable_file_kept(
    run_sigil: Sigil, elsewhere: str, tmp_path: Path
) -> None:
    run_sigil("login", "--url", elsewhere, stdin=ADMIN.encode())
    kept(tmp_path).chmod(0o644)
    assert "logged out" in run_sigil("logout", "--url", elsewhere).err
    assert ADMIN not in kept(tmp_path).read_text()
    run_sigil("login", "--url", elsewhere, stdin=ADMIN.encode())
    kept(tmp_path).write_text(f"[{ADMIN}")
    ended = run_sigil("logout", "--url", elsewhere)
    assert (ended.code, "was damaged; it was removed" in ended.err, kept(tmp_path).exists()) == (
        0,
        True,
        False,
    )
    assert run_sigil("login", "--url", elsewhere, stdin=ADMIN.encode()).code == 0


def test_credentials_that_cannot_be_written_are_told_as_any_file_is(
    run_sigil: Sigil, elsewhere: str, tmp_path: Path
) -> None:
    kept(tmp_path).parent.parent.mkdir()
    kept(tmp_path).parent.symlink_to(tmp_path / "nowhere" / "at" / "all")
    assert (
        run_sigil("--json", "login", "--url", elsewhere, stdin=ADMIN.encode()).error["code"]
        == "EWRITE"
    )
