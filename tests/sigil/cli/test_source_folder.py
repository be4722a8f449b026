"""Deploying again after the pause that a registry asks for."""

from __future__ import annotations

import json
import re
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
from tests.fakes.server import Answer, ScriptedServer
from tests.sigil.cli.conftest import Sigil, error_answer
from tests.sigil.serving import served

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


def deploy_with_retries(*answers: Answer, quiet: bool = False) -> Deployed:
    with ScriptedServer(*answers) as server:
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
    early, accepted = (
        error_answer(429, "ERATE", **{"retry-after": "1"}),
        Answer(201, json.dumps(DEPLOYED).encode()),
    )
    assert deploy_with_retries(early, accepted).offer.name == "one"
    assert capsys.readouterr().err == "no: trying again in 1 s\n"
    assert deploy_with_retries(early, accepted, quiet=True).created
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("status", "code", "wait"), [(429, "ERATE", "3600"), (403, "EQUOTA", "1"), (403, "EPERM", "")]
)
def test_nobody_waits_for_what_comes_too_late_or_never(status: int, code: str, wait: str) -> None:
    with pytest.raises(Refused, match=code):
        deploy_with_retries(
            error_answer(status, code, **({"retry-after": wait} if wait else {})),
            Answer(201, json.dumps(DEPLOYED).encode()),
        )


def test_two_deploys_in_a_row_both_take_place(
    run_sigil: Sigil, place: Path, tmp_path: Path, compiled: Path
) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "compiled").symlink_to(compiled, target_is_directory=True)
    settings = Settings(
        data=str(tmp_path / "there"), library="none", runners=1, deploy_cooldown=3.0
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
            result = run_sigil(
                "deploy", "--execute", f"return {number}", "--url", url, "--token", token
            )
            assert result.code == 0, result.err
    registry.close()
    assert re.match("deploys follow each other too fast: trying again in [123] s\n", result.err)


@pytest.mark.parametrize(
    ("line", "pointed"),
    [
        ("  return a +* input.text;", "  return a +* input.text;\n            ^\n"),
        ("\treturn a +* 1; // \x1b[2Jé", "  return a +* 1; //  [2Jé\n            ^\n"),
        (
            f"/*{'x' * 200}*/ return a +* 1; //{'y' * 200}",
            f"  {'x' * 25}*/ return a +* 1; //{'y' * 31}\n  {' ' * 38}^\n",
        ),
    ],
)
def test_an_error_of_the_source_points_at_its_place(
    run_sigil: Sigil, place: Path, line: str, pointed: str
) -> None:
    assert run_sigil("init", "greet", "--lang", "ts").code == 0
    (place / "greet" / "main.ts").write_text(f"const a: number = 1;\n{line}\n")
    assert pointed in run_sigil("check", "greet").err
    assert run_sigil("check", "greet", "--json").error["code"] == "EMODULE"


def test_an_argument_that_was_written_as_an_option_is_explained(run_sigil: Sigil) -> None:
    told = run_sigil("run", "shout", "--urls", "hi")
    assert told.code == 2
    assert "write -a urls=…" in told.err
