"""`uncaged channel pair`, and the first owner's code of `uncaged serve`: real processes, a real
terminal.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from functions.texts.en import TEXTS as ENGLISH
from functions.wiring import AgentRuntime
from tests.fakes.bot_api import BotApi
from tests.functions.agent.access.people import code_of, say
from tests.functions.agent.talk import event
from tests.functions.people import SECRET, update
from tests.machine import within
from tests.servers.programs import ProgramForker, command_of
from tests.terminal import Terminal

COMMAND = command_of("functions.cli")
STRANGER = "telegram:66"
Open = Callable[..., AgentRuntime]


@pytest.fixture
def environment(tmp_path: Path, bot: BotApi, forked: ProgramForker) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    telegram = {"TELEGRAM_TOKEN": bot.token, "TELEGRAM_SECRET": SECRET, "TELEGRAM_API": bot.url}
    mine = {
        "UNCAGED_DATA": str(tmp_path),
        "UNCAGED_LIBRARY": "none",
        "SIGIL_RUNNERS": "1",
        "PYTHONPATH": os.getcwd(),
        "NO_COLOR": "1",
    }
    return {**kept, **mine, **telegram, **forked.environment}


def uncaged(
    environment: dict[str, str], *arguments: str, **more: str
) -> subprocess.CompletedProcess[str]:
    given = {**environment, **more}
    return subprocess.run(
        [*COMMAND, *arguments],
        env=given,
        capture_output=True,
        text=True,
        timeout=within(60),
        stdin=subprocess.DEVNULL,
        check=False,
    )


def test_at_the_machine_somebody_is_let_in_and_told(
    runtime: Open, environment: dict[str, str], bot: BotApi
) -> None:
    home = runtime()
    done = uncaged(environment, "channel", "pair", code_of(home))

    assert done.returncode == 0, done.stderr
    assert done.stdout == "telegram:66 (Ada) may talk to it now, and was notified\n"
    assert [(message["chat_id"], message["text"]) for message in bot.messages] == [
        (66, ENGLISH.let_in)
    ]
    assert "offline" in say(home, STRANGER, "hi")[0]


def test_at_the_machine_somebody_gets_another_role_and_is_told(
    runtime: Open, environment: dict[str, str], bot: BotApi
) -> None:
    home = runtime()
    home.app.people.let_in(STRANGER, "member", "Ada", "test")
    asked = uncaged(environment, "people", "role", STRANGER, "owner")
    assert (asked.returncode, "--yes" in asked.stderr) == (2, True)
    done = uncaged(environment, "people", "role", STRANGER, "owner", "--yes", "--json")
    assert json.loads(done.stdout) == {"person": STRANGER, "role": "owner", "told": True}
    assert bot.messages[-1]["text"] == ENGLISH.now_owner
    done = uncaged(environment, "people", "role", STRANGER, "member", "--yes")
    assert done.returncode == 5
    assert "the last owner" in done.stderr
    assert len(bot.messages) == 1


def test_without_the_platforms_settings_they_are_let_in_all_the_same(
    runtime: Open, environment: dict[str, str]
) -> None:
    done = uncaged(
        environment,
        "channel",
        "pair",
        code_of(runtime()),
        "--json",
        TELEGRAM_TOKEN="",
        TELEGRAM_SECRET="",
        TELEGRAM_API="",
    )
    assert json.loads(done.stdout) == {"paired": STRANGER, "name": "Ada", "told": False}


def test_who_waits_and_who_is_in_is_listed_and_one_is_taken_out(
    runtime: Open, environment: dict[str, str]
) -> None:
    home = runtime()
    assert "nobody waits" in uncaged(environment, "channel", "pair", "--list").stderr
    uncaged(environment, "channel", "pair", code_of(home, "telegram:67"))
    code = code_of(home, name="Mum\x1b[2J\u202e")

    listed = uncaged(environment, "channel", "pair", "--list", UNCAGED_OWNERS="telegram:1")
    known = json.loads(
        uncaged(
            environment, "channel", "pair", "--list", "--json", UNCAGED_OWNERS="telegram:1"
        ).stdout
    )
    assert not {"\x1b", "\u202e"} & set(listed.stdout)
    assert all(
        who in listed.stdout
        for who in ("telegram:1 ", "telegram:66", "telegram:67", "terminal:local")
    )
    assert code not in listed.stdout + str(known)
    assert [row["id"] for row in known["waiting"]] == [STRANGER]
    assert 590 < known["waiting"][0]["left"] <= 600
    assert [(row["id"], row["role"], row["by"]) for row in known["people"]] == [
        ("telegram:67", "member", "terminal:local")
    ]
    assert known["owners"] == ["telegram:1"]

    assert json.loads(
        uncaged(environment, "channel", "pair", "--remove", "telegram:67", "--json").stdout
    ) == {"removed": "telegram:67"}
    assert "I only talk to people" in say(home, "telegram:67", "hi")[0]


def test_what_is_wrong_is_said_with_a_code_of_its_own(
    runtime: Open, environment: dict[str, str]
) -> None:
    used = code_of(runtime())
    uncaged(environment, "channel", "pair", used)
    for words, number, said in (
        (["0000-0000"], 3, "no such code is open"),
        (["hello"], 2, "that is no code"),
        ([used], 6, "that code was used: it let telegram:66 in"),
        (["--remove", "telegram:9"], 3, "was not let in"),
        (["--remove", "nobody"], 2, "nobody's id"),
        ([], 2, "one of CODE, --id ID, --list and --remove ID is needed"),
        ([used, "--list"], 2, "one of CODE"),
    ):
        done = uncaged(environment, "channel", "pair", *words)
        assert (done.returncode, done.stdout) == (number, ""), words
        assert said in done.stderr
        assert "\nhelp: " in done.stderr


def test_in_the_terminals_own_chat_the_stranger_is_told_in_theirs(
    runtime: Open, environment: dict[str, str], bot: BotApi
) -> None:
    home = runtime()
    done = uncaged(environment, "chat", "--quiet", f"/pair {code_of(home)}")
    assert done.stdout == "`telegram:66` (`Ada`) may talk to me now.\n"
    assert [message["chat_id"] for message in bot.messages] == [66]


def test_the_first_owner_pairs_with_what_the_terminal_shows(
    environment: dict[str, str], tmp_path: Path, compiled: Path, bot: BotApi
) -> None:
    (tmp_path / "compiled").symlink_to(compiled, target_is_directory=True)
    compiled.mkdir(exist_ok=True)
    serve = [*COMMAND, "serve", "--port", "0"]
    screen = Terminal(serve, environment)
    try:
        shown = screen.wait_for_match(r"owner +nobody yet.*\n")
        code = re.search(r"`/pair ([0-9A-Z]{4}(?:-[0-9A-Z]{4}){2})`", shown)
        address = re.search(r"listens on (\S+)\n", shown)
        assert code
        assert address
        post(address[1], update(1, f"/pair {code[1]}", sender=5))
        with bot.changed:
            assert bot.changed.wait_for(lambda: len(bot.messages) >= 1, 20)
        screen.wait_for_match('"step":"done"')
        screen.process.send_signal(signal.SIGTERM)
        assert screen.wait_for_end().count(code[1]) == 1
    finally:
        screen.close()
    assert (bot.messages[0]["chat_id"], bot.messages[0]["text"]) == (
        5,
        ENGLISH.now_owner.replace("`", ""),
    )

    again = Terminal(serve, environment)
    try:
        shown = again.wait_for_match(r"code +\S+ opens it, once, in the next 10 minutes\n")
        assert re.search(r"token +\S+\n", shown)
        page = re.search(r"page +(http://localhost:[0-9]+/ui)\n", shown)
        told = re.search(r"code +((?:[0-9A-Z]{4}-){2}[0-9A-Z]{4}) ", shown)
        assert page
        assert told
        ours = {"sec-fetch-site": "same-origin"}
        signed = httpx.post(f"{page[1]}/login", data={"code": told[1]}, headers=ours)
        assert (signed.status_code, signed.headers["location"]) == (303, "/ui")
        again.process.send_signal(signal.SIGTERM)
        again.wait_for_end()
    finally:
        again.close()
    assert "owner  " not in again.shown
    assert "telegram:5" in uncaged(environment, "channel", "pair", "--list").stdout


def test_without_a_terminal_no_code_is_printed(
    environment: dict[str, str], tmp_path: Path, compiled: Path
) -> None:
    (tmp_path / "compiled").symlink_to(compiled, target_is_directory=True)
    compiled.mkdir(exist_ok=True)
    process = subprocess.Popen(
        [*COMMAND, "serve", "--port", "0"], env=environment, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    said = ""
    while "owner  " not in said:
        line = process.stderr.readline()
        assert line, said
        said += line
    process.send_signal(signal.SIGTERM)
    said += process.communicate(timeout=within(30))[1]
    assert "/pair" not in said
    assert "UNCAGED_OWNERS" in said


def post(address: str, body: dict[str, Any]) -> None:
    headers = {"x-telegram-bot-api-secret-token": SECRET}
    assert (
        httpx.post(
            f"{address}/webhook/telegram", json=body, headers=headers, timeout=within(20)
        ).status_code
        == 200
    )


def test_at_the_machine_an_owners_other_id_is_asked_for_once_more(
    runtime: Open, environment: dict[str, str]
) -> None:
    home = runtime(owners=("telegram:1",))
    given = {**environment, "UNCAGED_OWNERS": "telegram:1", "TELEGRAM_TOKEN": ""}
    for answer, role in (("n", "guest"), ("y", "owner")):
        code = code_of(home, "slack:T1.U1")
        screen = Terminal([*COMMAND, "channel", "pair", code, "--same-as", "telegram:1"], given)
        try:
            screen.wait_for_match(r"Make slack:T1\.U1 \(Ada\) an owner, .* as telegram:1\? \[y/N\]")
            screen.type(f"{answer}\n")
            screen.wait_for_end()
        finally:
            screen.close()
        asked = event("hi", session="slack:T1.U1", sender="slack:T1.U1")
        assert home.app.people.find_role(asked) == role
