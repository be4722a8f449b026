"""Profiles: registries by name, and who decides where a command goes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sigil.cli.destination import Destination, RegistryChoice, resolve_destination
from sigil.client.profiles import Profile, Profiles
from sigil.errors import UsageError
from sigil.settings import Settings
from tests.sigil.cli.conftest import REMOTE_TOKEN, CommandResult, Sigil

TOKEN = REMOTE_TOKEN.encode()


@pytest.fixture
def work(run_sigil: Sigil, remote_url: str) -> Callable[..., CommandResult]:
    """`sigil`, with a profile `work`."""
    assert run_sigil("login", "--profile", "work", "--url", remote_url, stdin=TOKEN).code == 0
    return run_sigil


def test_a_profile_leads_to_its_registry_with_its_token(work: Sigil, remote_url: str) -> None:
    assert work("whoami", "--json").document["at"] == "in this process, as its owner"
    assert (
        work("whoami", "--profile", "work", "--json").document["at"]
        == f"{remote_url} (profile work)"
    )
    assert work("list", "--profile", "work").code == 0
    assert work("list", "--url", remote_url).code == 4
    assert work("profiles", "use", "work").code == 0
    assert remote_url in work("whoami", "--json").document["at"]
    assert (
        work("whoami", "--profile", "here", "--json").document["at"]
        == "in this process, as its owner"
    )
    rows = {row["profile"]: row for row in work("profiles", "list", "--json").document["items"]}
    assert rows["work"] == {
        "profile": "work",
        "url": remote_url,
        "token": "kept",
        "usual": True,
        "now": True,
    }
    assert "*  work" in work("profiles", "list").out
    assert work("profiles", "use", "here").code == 0
    assert work("profiles", "list", "--json").document["now"]["url"] == ""


def test_a_profile_is_chosen_by_the_environment_too(
    work: Sigil, remote_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIGIL_PROFILE", "work")
    assert remote_url in work("whoami", "--json").document["at"]
    monkeypatch.setenv("SIGIL_PROFILE", "nobody")
    result = work("list", "--json")
    assert (result.code, result.error["suggestion"]) == (
        3,
        "create it: sigil login --profile nobody --url https://…",
    )


def test_a_wrong_token_makes_no_profile(run_sigil: Sigil, remote_url: str) -> None:
    assert run_sigil("login", "--profile", "work", "--url", remote_url, stdin=b"wrong").code == 4
    assert [
        row["profile"] for row in run_sigil("profiles", "list", "--json").document["items"]
    ] == ["here"]


def test_a_profile_may_say_where_its_token_is(
    run_sigil: Sigil, remote_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    login = ("login", "--profile", "ci", "--url", remote_url, "--token-from", "env:CI_TOKEN")
    assert run_sigil(*login).code == 2
    monkeypatch.setenv("CI_TOKEN", TOKEN.decode())
    assert run_sigil(*login).code == 0
    assert run_sigil("list", "--profile", "ci").code == 0
    kept = tmp_path / "config" / "uncaged"
    assert all(TOKEN not in path.read_bytes() for path in kept.iterdir())
    monkeypatch.delenv("CI_TOKEN")
    assert (
        run_sigil("list", "--profile", "ci", "--json").error["message"]
        == "the profile ci has no token: env:CI_TOKEN is empty"
    )
    assert run_sigil("login", "--url", remote_url, "--token-from", "env:CI_TOKEN").code == 2
    assert run_sigil("login", "--profile", "ci", "--token-from", "file:/etc/passwd").code == 2


def test_logout_and_remove_forget(work: Sigil, remote_url: str) -> None:
    assert work("logout", "--profile", "work", "--json").document == {
        "url": remote_url,
        "forgotten": True,
    }
    result = work("list", "--profile", "work", "--json")
    assert (result.code, result.error["code"]) == (4, "EAUTH")
    assert work("login", "--profile", "work", stdin=TOKEN).code == 0
    assert work("profiles", "use", "work").code == 0
    assert work("profiles", "remove", "work", "--json").document == {
        "removed": "work",
        "forgotten": True,
    }
    assert work("list").code == 0
    assert work("profiles", "remove", "work").code == 3
    assert work("profiles", "remove", "here").code == 2


@pytest.mark.parametrize("name", ["../up", "Ａ", "a b", "", "x" * 50, "a\n", "-x"])
def test_a_name_that_is_none_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError):
        Profiles(tmp_path / "profiles.toml").save(Profile(name, "http://127.0.0.1:1"))


def test_option_environment_profile_default_in_this_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("TOKEN_A", "a-token")
    profiles = Profiles(Settings().profiles)
    for name in ("a", "b"):
        profiles.save(Profile(name, f"http://127.0.0.1:1/{name}", "env:TOKEN_A"))
    profiles.use("b")
    environment = Settings(
        registry_url="http://127.0.0.1:1/env", registry_token="env-token", profile="b"
    )
    url = "http://127.0.0.1:1/"
    assert resolve_destination(RegistryChoice(url=f"{url}opt"), environment) == Destination(
        f"{url}opt", "env-token", "--url"
    )
    assert resolve_destination(
        RegistryChoice(url=f"{url}opt", token="t"), environment
    ) == Destination(f"{url}opt", "t", "--url")
    assert resolve_destination(RegistryChoice(profile="a"), environment) == Destination(
        f"{url}a", "a-token", "--profile", "a"
    )
    assert resolve_destination(RegistryChoice(profile="here"), environment).url == ""
    assert resolve_destination(RegistryChoice(), environment) == Destination(
        f"{url}env", "env-token", "SIGIL_URL"
    )
    assert resolve_destination(
        RegistryChoice(), Settings(profile="a", registry_token="t")
    ) == Destination(f"{url}a", "t", "SIGIL_PROFILE", "a")
    assert resolve_destination(RegistryChoice(), Settings()) == Destination(
        f"{url}b", "a-token", "sigil profiles use", "b"
    )
    profiles.use("here")
    assert resolve_destination(RegistryChoice(), Settings()) == Destination()
    with pytest.raises(UsageError, match="name two registries"):
        resolve_destination(RegistryChoice(url=f"{url}opt", profile="a"), environment)


@pytest.mark.parametrize(
    "line",
    [
        'SIGIL_PROFILE = "work"',
        'SIGIL_PROFILE = "work"\nUNCAGED_DATA = "mine"',
        'SIGIL_TOKEN = "mine"',
        'SIGIL_TOKEN = "mine"\nUNCAGED_DATA = "mine"',
        'SIGIL_URL = "http://127.0.0.1:9"',
    ],
)
def test_a_folder_that_somebody_else_filled_leads_nowhere(
    work: Sigil, place: Path, line: str
) -> None:
    assert work("profiles", "use", "work").code == 0
    (place / "uncaged.toml").write_text(line)
    result = work("list", "--json")
    assert (result.code, result.error["code"]) == (2, "ESETTING")


def test_such_a_folder_gets_no_token_of_a_profile(work: Sigil, place: Path) -> None:
    assert work("profiles", "use", "work").code == 0
    (place / "uncaged.toml").write_text(
        'SIGIL_URL = "http://127.0.0.1:9"\nUNCAGED_STORE = "sqlite:///mine.db"\n'
    )
    result = work("list", "--json")
    assert (result.code, result.error["message"]) == (4, "there is no token for http://127.0.0.1:9")


def test_a_file_that_others_write_or_that_is_damaged_is_not_believed(
    work: Sigil, tmp_path: Path
) -> None:
    path = tmp_path / "config" / "uncaged" / "profiles.toml"
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o666)
    assert work("list", "--profile", "work", "--json").error["suggestion"] == f"chmod 600 {path}"
    path.chmod(0o600)
    for text in (
        "nonsense",
        '[profile."../x"]\nurl = "http://a"',
        '[profile.a]\nurl = "file:///etc"',
        '[profile.a]\nurl="http://a"\ntoken="x"',
    ):
        path.write_text(text)
        assert work("list").code == 2


def test_a_token_goes_only_to_the_address_that_it_was_kept_for(work: Sigil, tmp_path: Path) -> None:
    path = tmp_path / "config" / "uncaged" / "profiles.toml"
    path.write_text('[profile.work]\nurl = "http://127.0.0.1:9"\n')
    assert work("list", "--profile", "work", "--json").error["code"] == "EAUTH"
