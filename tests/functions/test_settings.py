"""Settings from the environment and from `uncaged.toml`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from functions.agent.access.roles import PERSON
from functions.settings import Settings
from sigil.errors import UsageError
from sigil.settings import Settings as SigilSettings
from sigil.settings import describe_settings, find_unknown_variables
from tests.tables import each_row


def test_the_environment_wins_over_the_file_and_the_file_over_the_default(tmp_path: Path) -> None:
    (tmp_path / "uncaged.toml").write_text(
        'UNCAGED_OWNERS = ["telegram:1", "slack:U2"]\nUNCAGED_LLM_MODEL = "a"\nUNCAGED_WORKERS ='
        ' 3\nUNCAGED_DATA = "x"\n'
    )

    read = Settings.read({"UNCAGED_LLM_MODEL": "b"}, tmp_path)

    assert (read.owners, read.llm_model, read.workers, read.access) == (
        ("telegram:1", "slack:U2"),
        "b",
        3,
        "members",
    )


@pytest.mark.parametrize(
    ("address", "secret"),
    [
        ("SIGIL_URL", "SIGIL_TOKEN"),
        ("UNCAGED_LLM_URL", "UNCAGED_LLM_KEY"),
        ("TELEGRAM_API", "TELEGRAM_TOKEN"),
        ("TELEGRAM_API", "TELEGRAM_SECRET"),
    ],
)
def test_a_file_cannot_name_the_address_that_a_secret_of_the_environment_is_sent_to(
    tmp_path: Path, address: str, secret: str
) -> None:
    (tmp_path / "uncaged.toml").write_text(
        f'{address} = "http://127.0.0.1:9"\nUNCAGED_DATA = "here"\n'
    )

    with pytest.raises(UsageError, match="set both in the same place") as caught:
        Settings.read({secret: "4:secret"}, tmp_path)
    assert "4:secret" not in str(caught.value)
    assert Settings.read({}, tmp_path)
    assert Settings.read({secret: "4:secret", address: "http://127.0.0.1:8"}, tmp_path)


RULES = {
    "UNCAGED_LIBRARY": "x",
    "UNCAGED_TOKEN": "x",
    "UNCAGED_AGENT": "x",
    "UNCAGED_OWNERS": "telegram:1",
    "UNCAGED_ACCESS": "open",
    "UNCAGED_DEPLOY": "none",
    "UNCAGED_QUEUE": "sqs://https://sqs.eu-central-1.amazonaws.com/1/q.fifo",
    "UNCAGED_ARTIFACTS": "x",
    "UNCAGED_LLM_URL": "http://127.0.0.1:9",
    "UNCAGED_TOKENS_PER_DAY": "0",
    "UNCAGED_TOKENS_PERIOD": "60",
    "UNCAGED_SESSION_TOKENS": "0",
    "UNCAGED_TICKS": "0",
    "UNCAGED_CHAIN_TOKENS": "0",
    "UNCAGED_AGENTS_MOST": "0",
    "UNCAGED_ALERTS": "https://alerts.example",
    "TELEGRAM_SECRET": "x",
    "SIGIL_ENGINE": "x",
    "SIGIL_URL": "http://127.0.0.1:9",
}


@pytest.mark.parametrize("rule", RULES)
def test_a_file_changes_who_may_do_what_only_in_a_store_of_its_own(
    tmp_path: Path, rule: str
) -> None:
    def file(text: str) -> None:
        (tmp_path / "uncaged.toml").write_text(f'{rule} = "{RULES[rule]}"\n{text}')

    file("")
    with pytest.raises(UsageError, match=rule):
        Settings.read({}, tmp_path)
    file('UNCAGED_DATA = "here"\n')
    assert Settings.read({}, tmp_path)
    file('UNCAGED_STORE = "sqlite:///here/there.db"\n')
    assert Settings.read({}, tmp_path)


@pytest.mark.parametrize(
    "outer",
    [
        {"UNCAGED_STORE": "dynamodb://prod"},
        {"UNCAGED_STORE": "dynamodb://prod", "UNCAGED_DATA": "mine"},
    ],
)
def test_a_folder_in_the_file_is_no_store_of_its_own_where_the_environment_names_the_store(
    tmp_path: Path, outer: dict[str, str]
) -> None:
    for text in ('UNCAGED_DATA = "here"\n', 'UNCAGED_STORE = "sqlite:///here/there.db"\n'):
        (tmp_path / "uncaged.toml").write_text(f'UNCAGED_OWNERS = "telegram:666"\n{text}')
        with pytest.raises(UsageError, match="UNCAGED_"):
            Settings.read(outer, tmp_path)
    (tmp_path / "uncaged.toml").write_text('UNCAGED_DATA = "here"\n')
    if "UNCAGED_DATA" not in outer:
        with pytest.raises(UsageError, match="UNCAGED_DATA"):
            Settings.read(outer, tmp_path)


@pytest.mark.parametrize(
    "line",
    [
        'UNCAGED_STORE = "dynamodb://t?endpoint=http://127.0.0.1:9"',
        'UNCAGED_ARTIFACTS = "s3://b/p?endpoint=http://127.0.0.1:9"',
        'UNCAGED_QUEUE = "sqs://http://127.0.0.1:9/1/q.fifo"',
        'UNCAGED_QUEUE = "sqs://https://sqs.eu-central-1.amazonaws.com.example.org/1/q.fifo"',
        'UNCAGED_WORK_QUEUE = "sqs://http://127.0.0.1:9/1/q.fifo"',
        'UNCAGED_CACHE = "here"',
    ],
)
def test_a_file_sends_no_signed_request_elsewhere_and_brings_no_code(
    tmp_path: Path, line: str
) -> None:
    (tmp_path / "uncaged.toml").write_text(f'UNCAGED_DATA = "here"\n{line}\n')

    with pytest.raises(UsageError, match=line.partition(" ")[0]):
        Settings.read({}, tmp_path)


@pytest.mark.parametrize("name", ["SIGIL_PROGRAMS", "SIGIL_LOOPBACK"])
@pytest.mark.parametrize(
    "store", ["", 'UNCAGED_DATA = "here"\n', 'UNCAGED_STORE = "sqlite:///here/there.db"\n']
)
def test_a_file_never_opens_the_machine(tmp_path: Path, name: str, store: str) -> None:
    for value in ('"yes"', "true", "1"):
        (tmp_path / "uncaged.toml").write_text(f"{store}{name} = {value}\n")
        with pytest.raises(UsageError, match=f"sets {name}, which no file may set"):
            Settings.read({}, tmp_path)
        with pytest.raises(UsageError, match=f"sets {name}, which no file may set"):
            Settings.read({name: "no"}, tmp_path)


@pytest.mark.parametrize(
    "line", ['UNCAGED_DATA = "here"', 'UNCAGED_STORE = "sqlite:///here/there.db"']
)
def test_of_a_store_that_came_with_a_folder_no_program_is_started_unless_the_environment_says_so(
    tmp_path: Path, line: str
) -> None:
    (tmp_path / "uncaged.toml").write_text(line)

    assert not Settings.read({}, tmp_path).programs
    assert Settings.read({"SIGIL_PROGRAMS": "yes"}, tmp_path).programs
    assert Settings.read({}, tmp_path / "nowhere").programs


def test_code_that_came_along_with_a_folder_is_not_run(tmp_path: Path) -> None:
    (tmp_path / "uncaged.toml").write_text('UNCAGED_DATA = "here"\n')

    assert "here" not in Settings.read({}, tmp_path).cache
    assert Settings.read({"UNCAGED_CACHE": "mine"}, tmp_path).cache == "mine"
    assert Settings.read({"UNCAGED_DATA": "mine"}, tmp_path).cache == ""


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("UNCAGED_OWNERS", "whatever"),
        ("UNCAGED_LLM_WINDOW", "-5"),
        ("UNCAGED_WORKERS", "0"),
        ("UNCAGED_BACKGROUND_WORKERS", "0"),
        ("UNCAGED_CATCH_UP_HOURS", "0"),
        ("UNCAGED_WORK_QUEUE", "sqs://https://sqs.eu-central-1.amazonaws.com/1/work.fifo"),
        ("UNCAGED_LLM_URL", "nonsense"),
        ("UNCAGED_STT_URL", "nonsense"),
        ("UNCAGED_STT_PRICE", "-1"),
        ("UNCAGED_TURN_SECONDS", "0"),
    ],
)
def test_a_value_that_cannot_be_meant_is_refused(tmp_path: Path, name: str, value: str) -> None:
    with pytest.raises(UsageError, match=name):
        Settings.read({name: value}, tmp_path)


def test_a_password_in_an_address_is_not_shown() -> None:
    for odd in ("pw", "p/w", "p w", "p@w", "p:w"):
        rows = {
            name: value
            for name, value, _ in describe_settings(Settings(store=f"redis://:{odd}@127.0.0.1/0"))
        }
        assert "p" not in rows["UNCAGED_STORE"].partition("://")[2]


@pytest.mark.parametrize("value", ["ssm:/prod/password", "secretsmanager:prod#password"])
def test_a_file_cannot_fetch_a_secret_with_the_persons_own_credentials(
    tmp_path: Path, value: str
) -> None:
    (tmp_path / "uncaged.toml").write_text(
        f'TELEGRAM_TOKEN = "{value}"\nTELEGRAM_API = "http://127.0.0.1:9"\n'
    )

    with pytest.raises(UsageError, match="TELEGRAM_TOKEN"):
        Settings.read({}, tmp_path)
    (tmp_path / "uncaged.toml").unlink()
    assert Settings.read({"TELEGRAM_TOKEN": value}, tmp_path).declared == {"TELEGRAM_TOKEN": value}


def test_a_broken_file_and_a_wrong_value_say_what_to_write(tmp_path: Path) -> None:
    (tmp_path / "uncaged.toml").write_text("not toml")
    with pytest.raises(UsageError, match=r"uncaged\.toml"):
        Settings.read({}, tmp_path)
    with pytest.raises(UsageError, match="UNCAGED_WORKERS='many' is not a whole number"):
        Settings.read({"UNCAGED_WORKERS": "many"}, tmp_path / "nowhere")


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "{a = " * 3_000 + "1" + "}" * 3_000,
        "a = " + "[" * 3_000,
        ".".join(["a"] * 3_000) + " = 1",
        "a = 0x" + "f" * 5_000,
        "[a]\nb = 1",
        "a = [[1]]",
        "# " + "x" * (1 << 20),
    ],
    ids=["tables", "lists", "parts", "digits", "section", "list", "size"],
)
def test_a_file_that_is_made_to_hurt_is_told_as_wrong(tmp_path: Path, text: str) -> None:
    (tmp_path / "uncaged.toml").write_text(text)

    with pytest.raises(UsageError, match=r"ESETTING: uncaged\.toml: "):
        Settings.read({}, tmp_path)


def test_a_pipe_or_a_device_is_no_file_of_settings(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "uncaged.toml")
    with pytest.raises(UsageError, match="it is not a regular file"):
        Settings.read({}, tmp_path)
    (tmp_path / "uncaged.toml").unlink()
    (tmp_path / "uncaged.toml").symlink_to("/dev/null")
    with pytest.raises(UsageError, match="it is not a regular file"):
        Settings.read({}, tmp_path)


def test_a_key_alone_means_dashscope_and_neither_means_the_offline_model() -> None:
    assert Settings(llm_key="sk").endpoint == "https://dashscope.aliyuncs.com/compatible-mode/v1"
    assert Settings(llm_key="sk", llm_url="http://127.0.0.1").endpoint == "http://127.0.0.1"
    assert Settings().endpoint == ""
    assert Settings().llm_model.startswith("qwen")


def test_secrets_are_described_but_never_shown() -> None:
    rows = {
        name: value
        for name, value, _ in describe_settings(Settings(llm_key="sk-secret", token="t-secret"))
    }
    assert (rows["UNCAGED_LLM_KEY"], rows["UNCAGED_TOKEN"], rows["TELEGRAM_TOKEN"]) == (
        "set",
        "set",
        "",
    )


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf"])
def test_a_lease_is_a_time(tmp_path: Path, seconds: str) -> None:
    with pytest.raises(UsageError, match="UNCAGED_LEASE"):
        Settings.read({"UNCAGED_LEASE": seconds}, tmp_path)


@pytest.mark.parametrize("name", ["UNCAGED_CALL_SECONDS", "UNCAGED_TURN_SECONDS", "UNCAGED_LEASE"])
def test_no_time_is_longer_than_can_be_waited(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=name):
        Settings.read({name: "1e10"}, tmp_path)


@each_row(
    "who",
    [
        "telegram:@ada",
        "telegram:ada",
        "telegram:042",
        "telegram:42 ",
        "telegram:４２",
        "telegram:-100",
        "telegram-work:ada",
        "-work:42",
        "slack:ü",
        "42",
    ],
)
def test_an_owner_who_can_be_nobody_is_refused(who: str) -> None:
    with pytest.raises(UsageError, match="is not a user id"):
        Settings(owners=(who,))


@pytest.mark.parametrize("who", ["telegram-work:42", "slack:T1.U1", "slack-team2:T1.U1"])
def test_an_owner_may_be_of_one_of_several_bots_of_a_platform(who: str) -> None:
    assert Settings(owners=(who,)).owners == (who,)
    assert PERSON.fullmatch(who)


@pytest.mark.parametrize(
    ("line", "told", "meant"),
    [
        ('UNCAGED_LLM_MODLE = "a"', "UNCAGED_LLM_MODLE", "UNCAGED_LLM_MODEL"),
        ('uncaged_workers = "3"', "uncaged_workers", "UNCAGED_WORKERS"),
        ('llm_url = "http://127.0.0.1:9"', "llm_url", "UNCAGED_LLM_URL"),
        ('TELEGRAM_BOT_TOKEN = "4:secret"', "TELEGRAM_BOT_TOKEN", "TELEGRAM_TOKEN"),
        ('SIGIL_RUNNER = ""', "SIGIL_RUNNER", "SIGIL_RUNNERS"),
        ("colour = 1", "colour", "--verbose"),
        ('UNCAGED_STOER = "a"\nWORKERS = 2', "UNCAGED_STOER and WORKERS", "UNCAGED_WORKERS"),
    ],
)
def test_a_line_of_the_file_that_is_no_setting_is_an_error_that_names_the_one_that_was_meant(
    tmp_path: Path, line: str, told: str, meant: str
) -> None:
    (tmp_path / "uncaged.toml").write_text(f'UNCAGED_DATA = "here"\n{line}\n')

    with pytest.raises(UsageError, match=f"sets {told}, which (is|are) no setting") as caught:
        Settings.read({}, tmp_path)
    assert meant in caught.value.suggestion
    assert "secret" not in f"{caught.value}{caught.value.suggestion}"


def test_the_registry_reads_a_file_with_the_agents_settings_and_finds_its_own_misspelt_ones(
    tmp_path: Path,
) -> None:
    shared = {facts.name for facts in SigilSettings.list_facts({})}
    for facts in Settings.list_facts({}):
        name = facts.name
        if name not in shared and not facts.outside:
            (tmp_path / "uncaged.toml").write_text(
                f'UNCAGED_DATA = "here"\n{name} = "{RULES.get(name, "")}"\n'
            )
            assert SigilSettings.read({}, tmp_path)
            assert not find_unknown_variables(SigilSettings(), {name: "1"})
    (tmp_path / "uncaged.toml").write_text('UNCAGED_DTA = "here"\n')
    with pytest.raises(UsageError, match="UNCAGED_DTA"):
        SigilSettings.read({}, tmp_path)


def test_variables_that_look_like_settings_are_found_and_those_of_other_programs_are_not() -> None:
    def find(*names: str) -> dict[str, str]:
        unknown = find_unknown_variables(Settings(), dict.fromkeys(names, "x"))
        return {one.name: one.meant for one in unknown}

    assert find(
        "UNCAGED_LLM_MODLE",
        "UNGAGED_LLM_KEY",
        "UNCAGED_COLOUR_SCHEME",
        "SIGIL_TOKENS",
        "TELEGRAM_BOT_TOKEN",
    ) == {
        "UNCAGED_LLM_MODLE": "UNCAGED_LLM_MODEL",
        "UNGAGED_LLM_KEY": "UNCAGED_LLM_KEY",
        "UNCAGED_COLOUR_SCHEME": "",
        "SIGIL_TOKENS": "SIGIL_TOKEN",
        "TELEGRAM_BOT_TOKEN": "TELEGRAM_TOKEN",
    }
    assert not find("UNCAGED_LLM_MODEL", "SIGIL_HOME", "TELEGRAM_CHAT", "SIGNAL_URL", "PATH")
    # both are there: the other one is another program's
    assert not find("TELEGRAM_BOT_TOKEN", "TELEGRAM_TOKEN")


def test_the_queue_for_background_work_is_another_one_than_that_of_chats(tmp_path: Path) -> None:
    same = "sqs://https://sqs.eu-central-1.amazonaws.com/1/q.fifo"
    with pytest.raises(UsageError, match="UNCAGED_WORK_QUEUE and UNCAGED_QUEUE name the same"):
        Settings.read({"UNCAGED_QUEUE": same, "UNCAGED_WORK_QUEUE": same}, tmp_path)
