"""`uncaged channel` against a Bot API that validates like Telegram: in this process, and once as the
installed command.
"""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from functions.agent.access.members import People
from functions.agent.access.roles import Rules
from functions.channels.telegram.webhook_setup import UPDATES
from functions.cli import main
from functions.settings import Settings
from functions.texts.languages import list_codes, load_texts
from sigil.wiring import open_stores
from tests.fakes.bot_api import TOKEN, BotApi
from tests.fakes.discord import DiscordServer
from tests.fakes.server import Answer
from tests.machine import within

COMMAND = str(Path(sys.executable).parent / "uncaged")
SECRET = "hush-hush_42"
URL = "https://bot.example.com"

Run = subprocess.CompletedProcess[str]


@pytest.fixture
def telegram() -> Iterator[BotApi]:
    with BotApi() as api:
        yield api


def build_environment(telegram: BotApi | None, **more: str) -> dict[str, str]:
    given = (
        {"TELEGRAM_API": telegram.url, "TELEGRAM_TOKEN": TOKEN, "TELEGRAM_SECRET": SECRET}
        if telegram
        else {}
    )
    return {
        "PATH": os.environ["PATH"],
        "HOME": "/nonexistent",
        "NO_COLOR": "1",
        **given,
        **more,
    }


def uncaged(telegram: BotApi | None, *arguments: str, folder: Path = Path("/"), **more: str) -> Run:
    """Run the command in this process: a process of its own takes ten times as long."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    environment = build_environment(telegram, **more)
    with (
        patch.dict(os.environ, environment, clear=True),
        patch("sys.argv", ["uncaged", *arguments]),
        chdir(folder),
        redirect_stdout(out),
        redirect_stderr(err),
        pytest.raises(SystemExit) as ended,
    ):
        main()
    code = ended.value.code
    assert isinstance(code, int)
    written = [stream.buffer.getvalue().decode() for stream in (out, err)]  # type: ignore[attr-defined]
    return Run(arguments, code, *written)


def test_the_installed_command_says_the_same(telegram: BotApi) -> None:
    arguments = ("channel", "set", "telegram", "--url", URL, "--json")
    done = subprocess.run(
        [COMMAND, *arguments],
        env=build_environment(telegram),
        cwd="/",
        capture_output=True,
        text=True,
        timeout=within(60),
        stdin=subprocess.DEVNULL,
        check=False,
    )
    here = uncaged(telegram, *arguments)

    assert (done.returncode, done.stdout, done.stderr) == (0, here.stdout, here.stderr)


def document(done: Run) -> Any:
    assert not done.stderr, done.stderr
    return json.loads(done.stdout)


def test_a_webhook_is_set_with_the_secret_and_only_the_updates_that_are_read(
    telegram: BotApi,
) -> None:
    done = uncaged(telegram, "channel", "set", "telegram", "--url", URL)

    assert done.returncode == 0, done.stderr
    assert telegram.calls("setWebhook") == [
        {
            "url": f"{URL}/webhook/telegram",
            "secret_token": SECRET,
            "allowed_updates": list(UPDATES),
            "drop_pending_updates": False,
        }
    ]
    menus = telegram.calls("setMyCommands")
    assert [menu.get("language_code", "en") for menu in menus] == sorted([*list_codes()] * 2)
    for menu in menus:
        assert all(
            re.fullmatch(r"[a-z0-9_]{1,32}", row["command"]) and 1 <= len(row["description"]) <= 256
            for row in menu["commands"]
        )
    for menu in menus:
        texts = load_texts(menu.get("language_code", "en"))
        assert menu["commands"][0]["description"] == texts.meanings["start"]
    assert f"telegram: {URL}/webhook/telegram\n" in done.stdout
    assert re.search(r"waiting +0\n", done.stdout)
    assert SECRET not in done.stdout + done.stderr
    assert TOKEN not in done.stdout + done.stderr


def test_the_menus_are_by_role_and_by_what_is_set_up(telegram: BotApi, tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'menus.db'}"
    people = People(open_stores(Settings(store=store)).kv, "main", Rules(), time.time)
    people.let_in("telegram:43", "owner", "Bob", "terminal:local")
    people.let_in("telegram:44", "member", "Eve", "terminal:local")
    telegram.unknown_chats.add(42)  # an owner of the settings who has not written to the bot yet
    given = {"UNCAGED_OWNERS": "telegram:42,slack:U1", "UNCAGED_STORE": store}

    def set_menus(**more: str) -> dict[str, set[str]]:
        """Set them, and return the commands in each by its scope."""
        before = len(telegram.calls("setMyCommands"))
        done = uncaged(telegram, "channel", "set", "telegram", "--url", URL, **given, **more)
        assert done.returncode == 0, done.stderr
        return {
            json.dumps(menu.get("scope")): {row["command"] for row in menu["commands"]}
            for menu in telegram.calls("setMyCommands")[before:]
            if "language_code" not in menu
        }

    menus = set_menus()
    owners = [f'{{"type": "chat", "chat_id": {owner}}}' for owner in (42, 43)]
    everybody = menus["null"]
    groups = menus['{"type": "all_group_chats"}']
    assert list(menus) == ["null", '{"type": "all_group_chats"}', *owners]
    assert not {"halt", "unlock", "pair", "listen", "model", "btw"} & everybody
    assert "listen" in groups
    assert not {"new", "export", "halt", "pair"} & groups
    owned = {"agent", "agents", "approve", "deny", "halt", "heartbeat", "hooks", "pair"}
    owned |= {"policy", "proposals", "skills", "unlock"}
    assert [menus[owner] for owner in owners] == [everybody | owned] * 2

    menus = set_menus(UNCAGED_LLM_KEY="k")
    assert menus["null"] == everybody | {"btw"}
    assert "model" in menus[owners[0]]


@pytest.mark.parametrize(
    ("given", "set_to", "noted"),
    [
        (f"{URL}/", f"{URL}/webhook/telegram", False),
        ("HTTPS://bot.example.com", f"{URL}/webhook/telegram", False),
        (f"{URL}:8443", f"{URL}:8443/webhook/telegram", False),
        (f"{URL}/stage/webhook/telegram", f"{URL}/stage/webhook/telegram", False),
        (f"{URL}/elsewhere", f"{URL}/elsewhere", True),
    ],
)
def test_an_address_without_a_path_gets_the_door_and_another_path_is_kept(
    telegram: BotApi, given: str, set_to: str, noted: bool
) -> None:
    done = uncaged(telegram, "channel", "set", "telegram", "--url", given)

    assert done.returncode == 0, done.stderr
    assert telegram.webhook["url"] == set_to
    assert ("/webhook/telegram" in done.stderr) is noted


def test_connections_and_dropping_reach_telegram_and_json_tells_what_it_says(
    telegram: BotApi,
) -> None:
    telegram.deliver({"update_id": 1})
    done = uncaged(
        telegram,
        "channel",
        "set",
        "telegram",
        "--url",
        URL,
        "--max-connections",
        "7",
        "--drop-pending",
        "--json",
    )

    assert (telegram.webhook["max_connections"], telegram.webhook["drop_pending_updates"]) == (
        7,
        True,
    )
    said = document(done)
    assert (said["url"], said["pending"], said["connections"], said["updates"]) == (
        f"{URL}/webhook/telegram",
        0,
        7,
        ["message", "edited_message", "callback_query"],
    )
    assert said["works"] is True


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://bot.example.com", "https://"),
        ("bot.example.com", "needs a host"),
        ("https://", "needs a host"),
        ("https://bot.example.com:8000", "443, 80, 88, 8443"),
        ("https://bot.example.com:99999", "cannot be read"),
        ("https://[::1", "cannot be read"),
        ("https://me:secret@bot.example.com", "no user name"),
        ("https://bücher.example", "ASCII"),
        ("https://bot.example.com/a b", "ASCII"),
        ("https://bot.example.com/\n", "ASCII"),
    ],
)
def test_an_address_that_cannot_be_right_is_told_before_telegram_is_asked(
    telegram: BotApi, url: str, said: str
) -> None:
    done = uncaged(telegram, "channel", "set", "telegram", "--url", url)

    assert done.returncode == 2
    assert said in done.stderr
    assert "help: " in done.stderr
    assert telegram.requests == []


@pytest.mark.parametrize(
    ("url", "helps"),
    [
        ("https://nowhere.invalid", "DNS entry"),
        ("https://127.0.0.1", "a private one"),
        ("https://10.0.0.1:8443", "a private one"),
    ],
)
def test_what_telegram_refuses_is_told_in_its_words_with_what_helps(
    telegram: BotApi, url: str, helps: str
) -> None:
    done = uncaged(telegram, "channel", "set", "telegram", "--url", url)

    assert done.returncode == 5
    assert "bad webhook" in done.stderr
    assert helps in done.stderr


@pytest.mark.parametrize(
    ("more", "code", "said"),
    [
        ({"TELEGRAM_TOKEN": ""}, 2, ("TELEGRAM_TOKEN is not set", "@BotFather")),
        (
            {"TELEGRAM_SECRET": ""},
            2,
            ("TELEGRAM_SECRET is not set", "uncaged channel set telegram --make-secret"),
        ),
        ({"TELEGRAM_SECRET": "with space"}, 2, ("TELEGRAM_SECRET has to be", "--make-secret")),
        ({"TELEGRAM_SECRET": "x" * 257}, 2, ("TELEGRAM_SECRET has to be", "--make-secret")),
        ({"TELEGRAM_TOKEN": "1:wrong"}, 7, ("401", "check the bot token")),
        ({"TELEGRAM_API": "http://127.0.0.1:9"}, 7, ("did not answer",)),
    ],
)
def test_what_is_missing_or_wrong_is_a_sentence_that_says_what_to_do(
    telegram: BotApi, more: dict[str, str], code: int, said: tuple[str, ...]
) -> None:
    done = uncaged(telegram, "channel", "set", "telegram", "--url", URL, **more)

    assert done.returncode == code
    assert [words for words in said if words not in done.stderr] == []
    assert telegram.webhook == {}
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("set", "gopher", "--url", URL),
        ("status", "gopher"),
        ("unset", "gopher"),
        ("set", "gopher", "--make-secret"),
    ],
)
def test_an_unknown_platform_is_not_found(telegram: BotApi, arguments: tuple[str, ...]) -> None:
    done = uncaged(telegram, "channel", *arguments)

    assert done.returncode == 3
    assert "one of telegram" in done.stderr


def test_without_an_address_nothing_is_set(telegram: BotApi) -> None:
    assert uncaged(telegram, "channel", "set", "telegram").returncode == 2
    assert (
        uncaged(
            telegram, "channel", "set", "telegram", "--url", URL, "--max-connections", "101"
        ).returncode
        == 2
    )
    assert telegram.requests == []


def test_a_new_secret_is_printed_and_nothing_is_set(telegram: BotApi) -> None:
    made = [uncaged(None, "channel", "set", "telegram", "--make-secret") for _ in range(2)]
    both = uncaged(telegram, "channel", "set", "telegram", "--make-secret", "--url", URL)

    assert all(re.fullmatch(r"[A-Za-z0-9_-]{43}\n", done.stdout) for done in made)
    assert made[0].stdout != made[1].stdout
    assert (
        document(uncaged(None, "channel", "set", "telegram", "--make-secret", "--json"))["setting"]
        == "TELEGRAM_SECRET"
    )
    assert both.returncode == 2
    assert telegram.requests == []
    assert (
        uncaged(
            telegram,
            "channel",
            "set",
            "telegram",
            "--url",
            URL,
            TELEGRAM_SECRET=made[0].stdout.strip(),
        ).returncode
        == 0
    )


def test_the_status_names_the_bot_and_what_waits(telegram: BotApi) -> None:
    telegram.webhook = {"url": f"{URL}/webhook/telegram", "allowed_updates": ["message"]}
    telegram.delivery = {"ip_address": "192.0.2.7"}
    plain, machine = (
        uncaged(telegram, "channel", "status", "telegram"),
        uncaged(telegram, "channel", "status", "telegram", "--json"),
    )

    assert plain.returncode == 0, plain.stderr
    assert plain.stdout.startswith(
        f"telegram @{telegram.username.lower()}: {URL}/webhook/telegram\n"
    )
    assert (document(machine)["bot"], document(machine)["address"]) == (
        telegram.username.lower(),
        "192.0.2.7",
    )
    # a webhook that an older version has set
    assert "unheard     edited_message callback_query: set the webhook again" in plain.stdout


@pytest.mark.parametrize(
    ("error", "helps"),
    [
        ("Wrong response from the webhook: 401 Unauthorized", "another TELEGRAM_SECRET"),
        ("Wrong response from the webhook: 404 Not Found", "/webhook/telegram"),
        ("Wrong response from the webhook: 502 Bad Gateway", "log"),
        ("Connection refused", "is the server running"),
        ("Connection timed out", "is the server running"),
        ("SSL error {error:0A000086:SSL routines::certificate verify failed}", "whole chain"),
        ("something that nobody \x1b[31mforesaw\u202e", ""),
    ],
)
def test_deliveries_that_fail_are_told_with_what_helps(
    telegram: BotApi, error: str, helps: str
) -> None:
    telegram.webhook = {"url": f"{URL}/webhook/telegram"}
    telegram.deliver({"update_id": 1})
    telegram.delivery = {"last_error_message": error, "last_error_date": 1_700_000_000}
    done = uncaged(telegram, "channel", "status", "telegram")

    assert done.returncode == 1
    assert re.search(r"waiting +1\n", done.stdout)
    assert "2023-11-14 22:13:20 UTC" in done.stdout
    assert helps in done.stdout
    assert ("help" in done.stdout) is bool(helps)
    assert "\x1b" not in done.stdout
    assert "\u202e" not in done.stdout


def test_no_webhook_is_a_status_of_its_own(telegram: BotApi) -> None:
    done = uncaged(telegram, "channel", "status", "telegram", "--json", TELEGRAM_SECRET="")

    assert done.returncode == 1
    assert (document(done)["url"], document(done)["works"]) == ("", False)
    assert "no webhook is set" in uncaged(telegram, "channel", "status", "telegram").stdout


@pytest.mark.parametrize(
    "odd",
    [
        b"",
        b"[]",
        (
            b'{"ok": true, "result": {"url": 7, "pending_update_count": "many", "allowed_updates":'
            b" {}}}"
        ),
    ],
)
def test_an_odd_answer_is_no_crash(telegram: BotApi, odd: bytes) -> None:
    telegram.reply(Answer(200, odd), method="getWebhookInfo")
    done = uncaged(telegram, "channel", "status", "telegram")

    assert done.returncode in (1, 7)
    assert "Traceback" not in done.stderr
    assert "EBUG" not in done.stderr


def test_a_webhook_is_taken_away(telegram: BotApi) -> None:
    telegram.webhook = {"url": f"{URL}/webhook/telegram"}
    telegram.deliver({"update_id": 1})
    kept = uncaged(telegram, "channel", "unset", "telegram", TELEGRAM_SECRET="")

    assert kept.returncode == 0, kept.stderr
    assert telegram.webhook == {}
    assert len(telegram.updates) == 1
    assert (
        document(uncaged(telegram, "channel", "unset", "telegram", "--drop-pending", "--json"))[
            "pending"
        ]
        == 0
    )
    assert telegram.updates == []


def test_the_platforms_are_listed_with_what_is_missing(telegram: BotApi, tmp_path: Path) -> None:
    ready = document(uncaged(telegram, "channel", "list", "--json"))
    half = uncaged(telegram, "channel", "list", TELEGRAM_SECRET="")
    none = document(uncaged(None, "channel", "list", "--json"))
    (tmp_path / "uncaged.toml").write_text(
        f'UNCAGED_DATA = "here"\nTELEGRAM_TOKEN = "{TOKEN}"\nTELEGRAM_SECRET = "{SECRET}"\n',
        encoding="ascii",
    )
    written = document(uncaged(None, "channel", "list", "--json", folder=tmp_path))

    assert [(row["platform"], row["state"], row["missing"]) for row in ready[:1]] == [
        ("telegram", "ready", [])
    ]
    assert "its webhook is refused" in half.stdout
    assert "TELEGRAM_SECRET" in half.stdout
    assert (none[0]["state"], none[0]["set"], none[0]["missing"]) == (
        "not set",
        [],
        ["TELEGRAM_TOKEN", "TELEGRAM_SECRET"],
    )
    polled = {row["platform"]: row["polled_with"] for row in none}
    assert polled["slack"] == ["SLACK_TOKEN", "SLACK_APP_TOKEN"]
    assert polled["line"] == []
    assert written[0]["state"] == "ready"
    assert SECRET not in half.stdout + json.dumps(ready) + json.dumps(written)
    assert telegram.requests == []


@pytest.fixture
def discord() -> Iterator[DiscordServer]:
    with DiscordServer() as server:
        yield server


def test_discord_gets_the_address_and_every_command(discord: DiscordServer) -> None:
    given = {"DISCORD_API": discord.url, "DISCORD_TOKEN": discord.token}
    key = {"DISCORD_PUBLIC_KEY": discord.public_key}
    rows = document(uncaged(None, "channel", "list", "--json", **given))
    assert [row["state"] for row in rows if row["platform"] == "discord"] == [
        "for `uncaged serve --poll`: its webhook is refused"
    ]
    missing = uncaged(None, "channel", "set", "discord", "--url", URL, **given)
    assert missing.returncode == 2
    assert "General Information, Public Key" in missing.stderr
    nothing = uncaged(None, "channel", "status", "discord", **given)
    assert nothing.returncode == 1
    done = uncaged(None, "channel", "set", "discord", "--url", URL, **given, **key)
    assert done.stdout.splitlines()[0] == f"discord: {URL}/webhook/discord"
    assert discord.endpoint == f"{URL}/webhook/discord"
    names = {command["name"] for command in discord.commands}
    assert {"ask", "pair", "halt", "unlock", "new"} <= names
    status = document(uncaged(None, "channel", "status", "discord", "--json", **given))
    assert (status["bot"], status["url"], status["works"]) == ("sigil", discord.endpoint, True)
    assert uncaged(None, "channel", "unset", "discord", **given).returncode == 0
    assert discord.endpoint == ""
    for wrong in (("--make-secret",), ("--url", URL, "--drop-pending")):
        refused = uncaged(None, "channel", "set", "discord", *wrong, **given, **key)
        assert refused.returncode == 2


def test_a_second_bot_is_set_up_by_its_own_name_and_settings(telegram: BotApi) -> None:
    named = {"UNCAGED_CHANNELS": "telegram-shop", "TELEGRAM_SHOP_API": telegram.url}
    unknown = uncaged(None, "channel", "status", "telegram-shop")
    missing = uncaged(None, "channel", "set", "telegram-shop", "--url", URL, **named)
    token = {"TELEGRAM_SHOP_TOKEN": TOKEN}
    secret = uncaged(None, "channel", "set", "telegram-shop", "--url", URL, **named, **token)
    given = {**named, **token, "TELEGRAM_SHOP_SECRET": SECRET}
    done = uncaged(None, "channel", "set", "telegram-shop", "--url", URL, **given)
    telegram.delivery.update(last_error_message="401 Unauthorized", last_error_date=1)
    shown = uncaged(None, "channel", "status", "telegram-shop", **given)
    rows = document(uncaged(None, "channel", "list", "--json", **given))

    assert (unknown.returncode, missing.returncode, secret.returncode) == (3, 2, 2)
    assert "UNCAGED_CHANNELS=telegram-shop" in unknown.stderr
    assert "TELEGRAM_SHOP_TOKEN is not set" in missing.stderr
    assert 'export TELEGRAM_SHOP_SECRET="$(uncaged channel set telegram-shop' in secret.stderr
    assert done.stdout.splitlines()[0] == f"telegram-shop: {URL}/webhook/telegram-shop"
    assert telegram.webhook["url"] == f"{URL}/webhook/telegram-shop"
    assert "TELEGRAM_SHOP_SECRET" in shown.stdout
    assert [(row["platform"], row["state"]) for row in rows[:2]] == [
        ("telegram", "not set"),
        ("telegram-shop", "ready"),
    ]
    assert rows[1]["path"] == "/webhook/telegram-shop"
    assert uncaged(None, "channel", "unset", "telegram-shop", **given).returncode == 0
    assert telegram.webhook.get("url", "") == ""


def test_the_steps_for_a_second_app_name_its_own_settings() -> None:
    named = {"UNCAGED_CHANNELS": "slack-shop"}
    done = uncaged(None, "channel", "set", "slack-shop", "--url", URL, **named)

    assert done.returncode == 0
    assert "SLACK_SHOP_TOKEN" in done.stderr
    assert "SLACK_TOKEN" not in done.stderr
    assert f"{URL}/webhook/slack-shop" in done.stdout
