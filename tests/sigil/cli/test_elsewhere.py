"""A registry elsewhere that does not let one in, does not speak as it should, or wants a pause."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sigil import wiring
from sigil.access.authentication import Authenticator
from sigil.access.tokens import TokenRequest
from sigil.cli.printing import Printer
from sigil.cli.shell import Shell
from sigil.cli.source_folder import retry_when_limited
from sigil.client.registry import RemoteRegistry
from sigil.errors import Refused
from sigil.http.app import build_app
from sigil.protocol import Caller, Deployed
from sigil.settings import Settings
from tests.fakes.server import Answer, Recorded, RecordingServer
from tests.servers.certificates import authority
from tests.sigil.cli.conftest import Sigil
from tests.sigil.conftest import Scripted
from tests.sigil.serving import served


class Saying(RecordingServer):
    """Answers with these answers, one after the other, the last one again and again."""

    def __init__(self, *answers: Answer) -> None:
        super().__init__()
        self.answers = [*answers]

    def answer(self, request: Recorded) -> Answer:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def failed(status: int, code: str, **headers: str) -> Answer:
    fields = {
        "source": "http",
        "code": code,
        "message": "no",
        "suggestion": "send `Authorization: Bearer TOKEN`",
    }
    return Answer(
        status,
        json.dumps({"error": fields}).encode(),
        {"content-type": "application/json", **headers},
    )


@pytest.mark.parametrize("command", ["list", "whoami"])
def test_without_a_token_the_way_to_one_is_told(run_sigil: Sigil, command: str) -> None:
    ended = run_sigil(command, "--url", "http://127.0.0.1:9/there/")
    assert ended.code == 4
    assert ended.err.startswith("error: there is no token for http://127.0.0.1:9/there (EAUTH)\n")
    assert "`sigil login --url http://127.0.0.1:9/there`" in ended.err


def test_a_wrong_token_is_told_in_words_for_this_command(run_sigil: Sigil) -> None:
    with Saying(failed(401, "EAUTH")) as server:
        ended = run_sigil("list", "--url", server.url, "--token", "wrong")
    assert ended.code == 4
    assert f"`sigil login --url {server.url}`" in ended.err
    assert "Authorization" not in ended.err


def test_a_certificate_that_is_not_trusted_is_told_as_that(
    run_sigil: Sigil, tmp_path: Path
) -> None:
    with Scripted(authority(tmp_path / "authority").server("127.0.0.1")) as server:
        ended = run_sigil("list", "--url", server.url, "--token", "x")
    assert ended.code == 7
    assert f"{server.url} shows a certificate that is not trusted: " in ended.err
    assert "SSL_CERT_FILE" in ended.err


def test_the_wrong_kind_of_address_is_told_as_that(run_sigil: Sigil, tmp_path: Path) -> None:
    with Scripted() as server:
        ended = run_sigil("list", "--url", server.url.replace("http:", "https:"), "--token", "x")
    assert (ended.code, "does not speak TLS" in ended.err, "begins with http:" in ended.err) == (
        7,
        True,
        True,
    )
    with Scripted(authority(tmp_path / "authority").server("127.0.0.1")) as server:
        ended = run_sigil("list", "--url", server.url.replace("https:", "http:"), "--token", "x")
    assert (ended.code, "begins with http:" in ended.err) == (7, True)


def test_what_is_not_there_is_not_blamed_on_a_setting_that_nobody_made(run_sigil: Sigil) -> None:
    ended = run_sigil("list", "--url", "http://127.0.0.1:9", "--token", "x")
    assert (ended.code, "SIGIL_URL" in ended.err) == (7, False)
    ended = run_sigil("list", "--url", "http://nowhere.invalid", "--token", "x")
    assert (ended.code, "has a name that nobody knows" in ended.err) == (7, True)


DEPLOYED = {
    "capability": "one",
    "version": 1,
    "digest": "sha256:" + "0" * 64,
    "description": "One.",
    "schema": {"type": "object"},
    "pure": True,
    "tests": {"passed": 0},
    "pending": [],
}


def deployed(*answers: Answer, quiet: bool = False) -> Deployed:
    with Saying(*answers) as server:
        registry = RemoteRegistry(server.url, "token")
        try:
            return retry_when_limited(
                Shell(Printer(quiet=quiet)),
                lambda: registry.deploy({"execute": "return 1"}, Caller("main")),
            )
        finally:
            registry.close()


def test_a_deploy_that_comes_too_early_waits_for_its_turn_and_says_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    early, made = (
        failed(429, "ERATE", **{"retry-after": "1"}),
        Answer(201, json.dumps(DEPLOYED).encode()),
    )
    assert deployed(early, made).offer.name == "one"
    assert capsys.readouterr().err == "no: trying again in 1 s\n"
    assert deployed(early, made, quiet=True).created
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("status", "code", "wait"), [(429, "ERATE", "3600"), (403, "EQUOTA", "1"), (403, "EPERM", "")]
)
def test_nobody_waits_for_what_comes_too_late_or_never(status: int, code: str, wait: str) -> None:
    with pytest.raises(Refused, match=code):
        deployed(
            failed(status, code, **({"retry-after": wait} if wait else {})),
            Answer(201, json.dumps(DEPLOYED).encode()),
        )


def test_two_deploys_in_a_row_both_take_place(
    run_sigil: Sigil, place: Path, tmp_path: Path, compiled: Path
) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "compiled").symlink_to(compiled, target_is_directory=True)
    settings = Settings(
        data=str(tmp_path / "there"), library="none", runners=1, deploy_cooldown=1.0
    )
    registry = wiring.local_registry(settings, wiring.open_stores(settings))
    token = str(
        registry.keys.create(
            TokenRequest("deploy", "ci", ("deploy:main/*",), "main", None),
            Caller("main", owner=True),
        )["token"]
    )
    with served(
        build_app(lambda: registry, Authenticator("admin", lambda: registry.keys, rate=600))
    ) as url:
        for number in (1, 2):
            ended = run_sigil(
                "deploy", "--execute", f"return {number}", "--url", url, "--token", token
            )
            assert ended.code == 0, ended.err
    registry.close()
    assert ended.err.startswith("deploys follow each other too fast: trying again in 1 s\n")
