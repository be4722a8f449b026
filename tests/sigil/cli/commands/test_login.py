"""`sigil login` and `logout`: tokens are stored for one address, and forgotten."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from sigil.access.tokens import new_token
from sigil.client.credentials import Credentials, normalize_address
from sigil.errors import UsageError
from tests.sigil.cli.conftest import REMOTE_TOKEN, Sigil


def credentials_path(tmp_path: Path) -> Path:
    return tmp_path / "config" / "uncaged" / "credentials.toml"


def test_login_keeps_a_token_for_one_address_alone(
    run_sigil: Sigil, remote_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = run_sigil("login", "--url", remote_url, stdin=f"{REMOTE_TOKEN}\n".encode())
    assert said.out == "admin token, namespace main: everything; never ends\n"
    assert f"with --url {remote_url}, or once SIGIL_URL is set to it" in said.err
    path = credentials_path(tmp_path)
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert tomllib.loads(path.read_text()) == {remote_url: {"token": REMOTE_TOKEN}}
    assert run_sigil("list", "--url", remote_url).code == 0
    monkeypatch.setenv("SIGIL_URL", remote_url + "/")
    assert run_sigil("list").code == 0
    assert run_sigil("list", "--url", remote_url.replace("127.0.0.1", "localhost")).code == 4
    assert run_sigil("list", "--url", remote_url + "/below").code == 4
    monkeypatch.setenv("SIGIL_TOKEN", "another")
    assert run_sigil("list").code == 4
    monkeypatch.delenv("SIGIL_TOKEN")
    assert run_sigil("logout", "--json").document == {"url": remote_url + "/", "forgotten": True}
    assert run_sigil("logout", "--json").document == {"url": remote_url + "/", "forgotten": False}
    assert run_sigil("list").code == 4
    assert REMOTE_TOKEN not in path.read_text()


def test_a_token_that_is_not_good_is_not_kept(
    run_sigil: Sigil, remote_url: str, tmp_path: Path
) -> None:
    assert run_sigil("login", "--url", remote_url, stdin=b"wrong").code == 4
    assert run_sigil("login", "--url", remote_url, stdin=new_token().encode()).code == 4
    mistyped = run_sigil("login", "--url", "http://127.0.0.1:9", stdin=new_token()[:-1].encode())
    assert mistyped.code == 4
    assert "mistyped" in mistyped.err
    assert run_sigil("login", "--url", remote_url, stdin=b"").code == 2
    assert run_sigil("login", stdin=REMOTE_TOKEN.encode()).code == 2
    assert not credentials_path(tmp_path).exists()


def test_credentials_that_others_can_read_are_not_used(
    run_sigil: Sigil, remote_url: str, tmp_path: Path
) -> None:
    run_sigil("login", "--url", remote_url, stdin=REMOTE_TOKEN.encode())
    credentials_path(tmp_path).chmod(0o644)
    result = run_sigil("list", "--url", remote_url)
    assert result.code == 2
    assert "chmod 600" in result.err
    credentials_path(tmp_path).chmod(0o600)
    credentials_path(tmp_path).write_text("no toml [")
    assert run_sigil("list", "--url", remote_url).code == 2
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


def test_logout_forgets_also_what_a_damaged_or_readable_file_kept(
    run_sigil: Sigil, remote_url: str, tmp_path: Path
) -> None:
    run_sigil("login", "--url", remote_url, stdin=REMOTE_TOKEN.encode())
    credentials_path(tmp_path).chmod(0o644)
    assert "logged out" in run_sigil("logout", "--url", remote_url).err
    assert REMOTE_TOKEN not in credentials_path(tmp_path).read_text()
    run_sigil("login", "--url", remote_url, stdin=REMOTE_TOKEN.encode())
    credentials_path(tmp_path).write_text(f"[{REMOTE_TOKEN}")
    result = run_sigil("logout", "--url", remote_url)
    assert (
        result.code,
        "was damaged; it was removed" in result.err,
        credentials_path(tmp_path).exists(),
    ) == (
        0,
        True,
        False,
    )
    assert run_sigil("login", "--url", remote_url, stdin=REMOTE_TOKEN.encode()).code == 0


def test_credentials_that_cannot_be_written_are_told_as_any_file_is(
    run_sigil: Sigil, remote_url: str, tmp_path: Path
) -> None:
    credentials_path(tmp_path).parent.parent.mkdir()
    credentials_path(tmp_path).parent.symlink_to(tmp_path / "nowhere" / "at" / "all")
    assert (
        run_sigil("--json", "login", "--url", remote_url, stdin=REMOTE_TOKEN.encode()).error["code"]
        == "EWRITE"
    )
