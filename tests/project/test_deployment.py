"""What deploys the product, held against it: the image and its health check, and the settings that
compose file, unit and page name.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib

import pytest

from functions.channels.platforms import open_channels
from functions.settings import Settings
from tests.fakes.server import Answer, Recorded, RecordingServer
from tests.functions.channels.test_isolated_channels import OWN
from tests.machine import within
from tests.project.tree import ROOT

NAMES = {facts.name for facts in Settings.list_facts({})}
DOCUMENT = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
IMAGE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
COMPOSE = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")


class HealthServer(RecordingServer):
    """A server whose /health answers with `status`."""

    status = 200

    def answer(self, request: Recorded) -> Answer:
        return Answer(self.status if request.path == "/health" else 404)


def unit() -> str:
    """The systemd unit of the page."""
    found = re.search(r"```ini\n(\[Unit\].*?)```", DOCUMENT, re.DOTALL)
    assert found
    return found[1]


def health(address: str) -> int:
    """The exit code of the image's health check, asked at `address` instead of its own."""
    written = re.search(r"^HEALTHCHECK .*? CMD (\[.*?\])$", IMAGE.replace("\\\n", ""), re.MULTILINE)
    assert written
    _, flags, option, program = ast.literal_eval(written[1])
    host, port = address.removeprefix("http://").split(":")
    assert "'127.0.0.1', 8000" in program
    asked = program.replace("'127.0.0.1', 8000", f"'{host}', {port}")
    return subprocess.run(
        [sys.executable, flags, option, asked], capture_output=True, timeout=within(30), check=False
    ).returncode


def test_the_image_is_healthy_only_while_the_server_says_so() -> None:
    with HealthServer() as server:
        assert health(server.url) == 0
        server.status = 503
        assert health(server.url) == 1
        gone = server.url
    assert health(gone) == 1


@pytest.mark.parametrize(("poll", "flags"), [("", []), ("1", ["--poll"])])
def test_the_compose_file_serves_as_the_image_does_and_polls_where_it_is_told(
    poll: str, flags: list[str]
) -> None:
    written = re.search(r"^    command: (serve .*)$", COMPOSE, re.MULTILINE)
    served = re.search(r"^CMD (\[.*\])$", IMAGE, re.MULTILINE)
    assert written
    assert served
    # a shell replaces ${NAME:+text} as compose does
    shown = subprocess.run(
        ["bash", "-c", f"echo {written[1]}"], env={"POLL": poll}, capture_output=True, check=True
    ).stdout.decode()
    assert shown.split() == [*ast.literal_eval(served[1]), *flags]


def test_the_image_gets_a_finished_wheel_or_all_that_it_is_made_from_and_nothing_else() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    hook = project["tool"]["hatch"]["build"]["hooks"]["custom"]["path"]
    about = [project["project"]["readme"], *project["project"]["license-files"]]
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()

    assert "*" in lines
    assert {line[1:] for line in lines if line.startswith("!")} == {
        *wheel["packages"],
        *wheel["force-include"],
        *about,
        hook,
        "pyproject.toml",
        "uv.lock",
        "dist/*.whl",
    }


def test_the_image_installs_with_the_same_uv_as_the_scripts() -> None:
    pinned = re.search(
        r"^UV=(\S+)$", (ROOT / "scripts" / "install").read_text(encoding="utf-8"), re.MULTILINE
    )

    assert pinned
    assert f"uv=={pinned[1]}" in IMAGE


def test_the_image_runs_as_a_user_without_a_name_to_guess_and_is_told_to_end() -> None:
    assert re.search(r"^USER [1-9]\d+:[1-9]\d+$", IMAGE, re.MULTILINE)
    assert re.search(r"^STOPSIGNAL SIGTERM$", IMAGE, re.MULTILINE)
    assert IMAGE.count("FROM python:3.13-slim-trixie") == 2


@pytest.mark.parametrize(
    "text", [IMAGE, COMPOSE, DOCUMENT, unit()], ids=["Dockerfile", "compose", "page", "unit"]
)
def test_every_setting_that_a_deployment_names_exists(text: str) -> None:
    assert not set(re.findall(r"\b(?:UNCAGED|SIGIL|TELEGRAM)_[A-Z_]+\b", text)) - NAMES


def test_nothing_ends_a_server_before_its_turns_have_ended() -> None:
    from functions.cli.commands.serve import GRACE_SECONDS
    from functions.local import DRAIN_SECONDS

    given = [
        int(found[1])
        for found in (
            re.search(r"TimeoutStopSec=(\d+)", unit()),
            re.search(r"stop_grace_period: (\d+)s #", COMPOSE),
        )
        if found is not None
    ]

    assert len(given) == 2
    assert min(given) > DRAIN_SECONDS + GRACE_SECONDS


def test_a_proxy_of_the_page_passes_what_the_server_takes() -> None:
    from functions.local import WAIT_SECONDS
    from sigil.http.routes import BUNDLE_BYTES

    settings = Settings(declared=OWN)
    most = {name: each.body_most for name, each in open_channels(settings.channels).items()}
    limits = [
        int(each) for each in re.findall(r"(?:max_size|max_body_size) (\d+)(?:MiB|m\b)", DOCUMENT)
    ]
    assert len(limits) == 2
    assert min(limits) << 20 > max(most.values())
    table = DOCUMENT.partition("\n| bodies | ")[2].partition("\n")[0]
    told = {int(number) << 20 for number in re.findall(r"(\d+) MiB", table)}
    assert told == set(most.values())
    waits = [int(each) for each in re.findall(r"proxy_read_timeout (\d+)s", DOCUMENT)]
    assert min(waits) > WAIT_SECONDS
    assert f"`/chat` within {WAIT_SECONDS:.0f} s" in DOCUMENT
    hosting = (ROOT / "docs" / "self-hosting.md").read_text(encoding="utf-8")
    assert f"bodies of up to {BUNDLE_BYTES >> 20} MiB" in hosting


def test_the_store_of_the_compose_file_keeps_what_is_written() -> None:
    for words in ("--appendonly yes", "--maxmemory-policy noeviction"):
        assert words in COMPOSE
    for words in ("appendonly yes", "maxmemory-policy noeviction"):
        assert words in DOCUMENT


def test_the_costs_of_the_page_follow_from_its_units_and_prices() -> None:
    rounds, calls, kilobytes, seconds, gigabytes = 2, 1, 10, 6, 1
    assert "With *k* = 2, *c* = 1, *S* = 10, *t* = 6 s and *M* = 1 GB" in DOCUMENT
    time = (gigabytes * seconds + 0.03) * 0.0000166667
    writes = (3 + rounds + calls) * kilobytes + 3 + calls
    reads = 2 * kilobytes / 4 + 18 + 10 * rounds
    table = writes * 0.625e-6 + reads * 0.125e-6
    rest = 1e-6 + 2 * 0.2e-6 + 3 * 0.5e-6 + 4e-6 * 0.5
    for messages in (1_000, 10_000, 100_000):
        parts = [messages * part for part in (time, table, rest)]
        cells = [f"${part:.2f}" if part >= 0.01 else "< $0.01" for part in (*parts, sum(parts))]
        assert f"| {messages:,} | {' | '.join(cells)} |" in DOCUMENT, cells
