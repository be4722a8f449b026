"""The `uncaged` command as a person meets it: real processes, a real terminal, real signals."""

from __future__ import annotations

import json
import re
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest

from functions.agent.conversation.messages import Message
from functions.agent.session.document import Document
from functions.agent.session.store import Sessions
from functions.settings import Settings
from sigil.settings import installed_version
from sigil.wiring import open_stores
from tests.fakes.model import ScriptedModel, call, say
from tests.functions.agent.memory.memories import saves
from tests.functions.cli.programs import COMMAND, served, terminal, uncaged
from tests.functions.page.browsing import OURS, Browser
from tests.machine import within


def test_one_question_is_answered_on_stdout_and_what_happened_is_shown_on_stderr(
    stocked_environment: dict[str, str],
) -> None:
    done = uncaged(stocked_environment, "chat", "encode hello world in base64")

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("aGVsbG8gd29ybGQ=\n")
    assert "offline model" in done.stderr
    for shown in (
        "sigil_query",
        "found encode",
        "cap_encode paged in",
        '"aGVsbG8gd29ybGQ="',
        "of 32,000 tokens",
    ):
        assert shown in done.stderr


def test_the_command_is_the_same_when_it_is_forked(
    unforked: dict[str, str], environment: dict[str, str]
) -> None:
    alone, forked = (uncaged(given, "chat", "--nonsense") for given in (unforked, environment))

    assert (alone.returncode, alone.stdout, alone.stderr) == (
        forked.returncode,
        forked.stdout,
        forked.stderr,
    )


def test_a_capability_that_is_sent_as_source_is_created_and_used(
    environment: dict[str, str],
) -> None:
    source = "return [...input.text].reverse().join('')"
    made = uncaged(
        environment,
        "chat",
        "--quiet",
        f"make a capability reverse-text\n```js\n{source}\n```",
        UNCAGED_LIBRARY="none",
    )
    used = uncaged(environment, "chat", "--quiet", "reverse hello world", UNCAGED_LIBRARY="none")

    assert "Created `reverse-text`" in made.stdout
    assert used.stdout.startswith("dlrow olleh\n")


def test_the_conversation_goes_on_in_the_next_process(stocked_environment: dict[str, str]) -> None:
    uncaged(stocked_environment, "chat", "encode hello world in base64")

    again = uncaged(stocked_environment, "chat", "--quiet", "/tools")
    other = uncaged(stocked_environment, "chat", "--quiet", "--session", "other", "/tools")

    assert "cap_encode" in again.stdout
    assert "Example:" not in again.stdout
    assert again.stderr == ""
    assert "No other tool was needed" in other.stdout


def test_the_terminal_says_once_that_no_language_model_answers(
    stocked_environment: dict[str, str],
) -> None:
    signature = "— offline model"
    quiet = uncaged(stocked_environment, "chat", "--quiet", "--session", "q", "1 + 1")
    first = uncaged(stocked_environment, "chat", "1 + 1")
    second = uncaged(stocked_environment, "chat", "1 + 2")
    history = uncaged(stocked_environment, "chat", "-q", "/history")

    assert (quiet.stdout, quiet.stderr) == ("2\n", "")
    assert first.stdout == "2\n"
    assert first.stderr.count(signature) == 1
    assert (second.stdout, second.stderr.count(signature)) == ("3\n", 0)
    assert signature not in history.stdout


def test_json_is_one_document(stocked_environment: dict[str, str]) -> None:
    done = uncaged(stocked_environment, "chat", "--json", "encode hello world in base64")

    answer = json.loads(done.stdout)
    assert answer["reply"] == "aGVsbG8gd29ybGQ="
    assert (answer["rounds"], answer["tools"], answer["resident"]) == (
        3,
        ["sigil_query", "cap_encode"],
        ["cap_encode"],
    )


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"UNCAGED_ACCESS": "everyone"}, "open, members, owners"),
        ({"UNCAGED_STORE": "mysql://x"}, "sqlite:///path"),
        ({"UNCAGED_LLM_WINDOW": "big"}, "a whole number"),
        ({"UNCAGED_LIBRARY": "/nowhere/at/all"}, "builtin, none, or a folder"),
        ({"UNCAGED_DATA": "/proc/nowhere"}, "UNCAGED_DATA"),
    ],
)
def test_a_wrong_setting_is_a_sentence_that_says_what_to_do(
    environment: dict[str, str], settings: dict[str, str], said: str
) -> None:
    done = uncaged(environment, "chat", "hi", **settings)

    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_platform_that_is_badly_set_keeps_nobody_from_a_chat(environment: dict[str, str]) -> None:
    more = {"TELEGRAM_TOKEN": "nonsense", "UNCAGED_LIBRARY": "none"}
    done = uncaged(environment, "chat", "hi", **more)

    assert (done.returncode, done.stdout.count("\n")) == (0, 1)
    assert "warning: telegram is not served: TELEGRAM_TOKEN is not of the form" in done.stderr


def test_a_turn_that_fails_exits_with_1_and_says_so_in_json(
    stocked_environment: dict[str, str],
) -> None:
    done = uncaged(
        stocked_environment,
        "chat",
        "--json",
        "hi",
        UNCAGED_LLM_URL="http://127.0.0.1:9",
        UNCAGED_TURN_SECONDS="3",
    )

    assert done.returncode == 1
    assert json.loads(done.stdout)["failed"] is True


def test_bytes_that_are_no_text_are_answered_all_the_same(
    stocked_environment: dict[str, str],
) -> None:
    done = subprocess.run(
        [*COMMAND, "chat", "--json"],
        env=stocked_environment,
        input=b"encode \xff in base64\n/help\n",
        capture_output=True,
        timeout=within(60),
        check=False,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]

    assert done.returncode == 0, done.stderr
    assert len(answers) == 2
    assert "/new" in answers[1]["reply"]


def test_a_message_that_cannot_fit_is_told(
    stocked_environment: dict[str, str], model: ScriptedModel
) -> None:
    done = uncaged(
        stocked_environment,
        "chat",
        "-q",
        "word " * 10_000,
        UNCAGED_LLM_URL=model.url,
        UNCAGED_LLM_WINDOW="4000",
    )

    assert "does not fit" in done.stdout
    assert not model.bodies


def test_a_second_terminal_waits_for_the_turn_of_the_first(
    stocked_environment: dict[str, str], model: ScriptedModel
) -> None:
    go = threading.Event()

    def slow(body: dict[str, Any]) -> dict[str, Any]:
        go.wait(within(20))
        return say("first")

    model.then(slow, say("second"))
    more = {"UNCAGED_LLM_URL": model.url}
    first = subprocess.Popen(
        [*COMMAND, "chat", "-q", "one"],
        env={**stocked_environment, **more},
        stdout=subprocess.PIPE,
        text=True,
    )
    model.wait_for(1, 30)
    second = subprocess.Popen(
        [*COMMAND, "chat", "-q", "two"],
        env={**stocked_environment, **more},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert second.stderr is not None
    assert "another turn is under way" in second.stderr.readline()
    go.set()

    assert [process.communicate(timeout=within(30))[0] for process in (first, second)] == [
        "first\n",
        "second\n",
    ]


@pytest.mark.parametrize(
    ("command", "answer", "ending"),
    [
        ("/stop", "The running turn was told to stop.", "Stopped"),
        ("/halt here", "Halted in this chat", "alted"),
    ],
)
def test_what_a_second_terminal_stops_or_halts_waits_for_no_turn_of_the_first(
    command: str,
    answer: str,
    ending: str,
    stocked_environment: dict[str, str],
    model: ScriptedModel,
) -> None:
    go = threading.Event()

    def slow(body: dict[str, Any]) -> dict[str, Any]:
        go.wait(within(20))
        return call("sigil_query", {"query": "anything"})

    model.then(slow, say("too late"))
    more = {"UNCAGED_LLM_URL": model.url}
    first = subprocess.Popen(
        [*COMMAND, "chat", "-q", "one"],
        env={**stocked_environment, **more},
        stdout=subprocess.PIPE,
        text=True,
    )
    model.wait_for(1, 30)
    second = uncaged(stocked_environment, "chat", "-q", command, **more)
    go.set()

    assert second.stdout.startswith(answer)
    assert second.stderr == ""
    assert ending in first.communicate(timeout=within(30))[0]
    assert len(model.bodies) == 1


def test_the_answer_does_not_wait_for_what_memory_hears_of_and_ctrl_c_puts_that_off(
    environment: dict[str, str], model: ScriptedModel, tmp_path: Path
) -> None:
    store = f"sqlite:///{tmp_path / 'chat.db'}"
    said = [Message("user", f"line {number}", at=1e9) for number in range(1, 42)]
    sessions = Sessions(open_stores(Settings(store=store)).kv)
    sessions.save(sessions.open("main#terminal:main"), Document().add(*said))
    more = {"UNCAGED_LLM_URL": model.url, "UNCAGED_STORE": store, "UNCAGED_LIBRARY": "none"}
    go = threading.Event()

    def slow(body: dict[str, Any]) -> dict[str, Any]:
        go.wait(within(60))
        return saves()

    model.then(say("one"), slow)
    with subprocess.Popen(
        [*COMMAND, "chat", "-q", "hi"],
        env={**environment, **more},
        stdout=subprocess.PIPE,
        text=True,
    ) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "one\n"
        model.wait_for(2, 30)
        first.send_signal(signal.SIGINT)
        assert first.wait(within(30)) == 0
    go.set()

    model.then(say("two"), saves())
    assert uncaged(environment, "chat", "-q", "hi", **more).stdout == "two\n"
    shown = uncaged(
        environment, "agent", "doc", "show", "memory", "--session", "terminal:main", **more
    )
    assert "The user is called Ada." in shown.stdout


@pytest.mark.parametrize("session", ["../x y", "a/b", "-x"])
def test_a_session_has_a_plain_name(environment: dict[str, str], session: str) -> None:
    assert uncaged(environment, "chat", f"--session={session}", "hi").returncode == 2


def test_doctor_asks_the_model(stocked_environment: dict[str, str]) -> None:
    done = uncaged(stocked_environment, "doctor", UNCAGED_LLM_URL="http://127.0.0.1:9")

    assert done.returncode == 1
    assert "cannot be reached" in done.stdout


def test_doctor_lists_every_setting_and_finds_what_is_wrong(
    stocked_environment: dict[str, str],
) -> None:
    well = uncaged(stocked_environment, "doctor", "--verbose")
    ill = uncaged(
        stocked_environment,
        "doctor",
        "--json",
        UNCAGED_STORE="redis://127.0.0.1",
        TELEGRAM_TOKEN="4:secret-token",
    )

    assert well.returncode == 0, well.stdout
    assert "UNCAGED_LLM_URL" in well.stdout
    assert ill.returncode == 1
    assert "secret-token" not in ill.stdout
    assert (
        next(check for check in json.loads(ill.stdout)["checks"] if check["name"] == "store")[
            "state"
        ]
        == "fail"
    )


def test_the_version_is_told_in_two_ways(environment: dict[str, str]) -> None:
    told = uncaged(environment, "version")
    assert (told.returncode, told.stdout) == (0, f"uncaged {installed_version()}\n")
    assert uncaged(environment, "--version").stdout == told.stdout


@pytest.mark.parametrize(
    ("redirected", "unbuffered"),
    [
        (">/dev/full", ""),
        (">&-", ""),
        pytest.param(">/dev/full", "1", marks=pytest.mark.thorough),
    ],
)
def test_output_that_cannot_be_written_is_said_in_one_line(
    environment: dict[str, str], redirected: str, unbuffered: str
) -> None:
    line = f"{' '.join(COMMAND)} version {redirected}"
    given = {**environment, "PYTHONUNBUFFERED": unbuffered}
    if unbuffered:  # Python itself reads this at its start
        del given["TESTS_FORKER"]
    done = subprocess.run(
        line, shell=True, env=given, stderr=subprocess.PIPE, text=True, check=False
    )
    assert done.returncode == 1
    assert re.fullmatch(r"error: cannot write the output: [^\n]+ \(EWRITE\)\n", done.stderr)


def test_ctrl_c_while_the_command_is_imported_is_silent(unforked: dict[str, str]) -> None:
    interrupted = (
        "sys.meta_path.insert(0, type('Finder', (), {'find_spec': lambda *_: (_ for _ in"
        " ()).throw(KeyboardInterrupt)})())"
    )
    script = f"import sys; import functions.cli as door; {interrupted}; door.main()"
    done = subprocess.run(
        [sys.executable, "-c", script], env=unforked, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


def test_lines_stay_lines(stocked_environment: dict[str, str], model: ScriptedModel) -> None:
    with terminal(stocked_environment, UNCAGED_LLM_URL=model.url) as screen:
        screen.wait_for_match("› ")
        screen.type("/status all\n")
        shown = screen.wait_for_match("of them here(?s:.*)› ")
    assert "tools: sigil_query" not in shown
    assert re.search(
        r"I am well, and ready for you\. *\nModel: [^\n]*\n.*\nTokens in ", shown, re.S
    )


def test_a_terminal_shows_html_and_numbers_as_written_and_takes_several_lines_as_one_message(
    stocked_environment: dict[str, str], model: ScriptedModel
) -> None:
    written = "Use vector<int> and <b>x</b>.\n\n1. tea\nhot\n\n4. milk\n\n"
    model.then(say(f"{written}<details>\nall of it\n</details>"), say("two"))
    with terminal(stocked_environment, UNCAGED_LLM_URL=model.url) as screen:
        screen.wait_for_match("› ")
        screen.type("how?\nsee ```cpp\n")
        shown = screen.wait_for_match("(?s)</details>.*› .*… ")
        assert "Use vector<int> and <b>x</b>." in shown
        assert "<details>" in shown
        assert re.search(r"\n *1 tea(?s:.*)\n *4 milk", shown)
        screen.type("int a;\n```\n")
        screen.wait_for_match("two.*(?s:.*)› ")
        screen.type("\x1b[200~one\ntwo\x1b[201~\n")
        screen.wait_for_match("done")
    said = [str(body["messages"][-1]["content"]).partition("\n")[2] for body in model.chats]
    assert said == ["how?", "see ```cpp\nint a;\n```", "one\ntwo"]


@pytest.mark.parametrize("word", ["exit", "/quit"])
def test_a_word_that_people_know_leaves_as_well(
    word: str, stocked_environment: dict[str, str]
) -> None:
    with terminal(stocked_environment) as screen:
        screen.wait_for_match("› ")
        screen.type(f"{word}\n")
        screen.wait_for_end()
        assert screen.process.returncode == 0


def test_ctrl_c_stops_the_turn_and_ctrl_d_leaves(
    stocked_environment: dict[str, str], model: ScriptedModel
) -> None:
    def slow(body: dict[str, Any]) -> dict[str, Any]:
        model.closing.wait(30)
        return say("too late")

    model.then(slow, say("here I am"))
    with terminal(stocked_environment, UNCAGED_LLM_URL=model.url) as screen:
        screen.wait_for_match("› ")
        screen.type("think for long\n")
        model.wait_for(1)
        screen.process.send_signal(signal.SIGINT)
        screen.wait_for_match("Stopped")
        screen.wait_for_match("› ")
        screen.type("are you there?\n")
        screen.wait_for_match("here I am")
        screen.wait_for_match("› ")
        screen.interrupt_until("Ctrl-D leaves")
        screen.wait_for_match("› ")
        screen.leave()
        assert screen.process.returncode == 0
    roles = [message["role"] for message in model.bodies[1]["messages"]]
    assert roles == ["system", "user", "assistant", "user"]


def test_serve_answers_and_ends_gracefully_when_it_is_told_to(
    environment: dict[str, str], tmp_path: Path, model: ScriptedModel
) -> None:
    started, told = threading.Event(), threading.Event()

    def slow(body: dict[str, Any]) -> dict[str, Any]:
        started.set()
        told.wait(within(20))
        return say("finished in peace")

    more = {"UNCAGED_LLM_URL": model.url, "UNCAGED_LIBRARY": "none"}
    with served(environment, **more) as (process, address):
        token = (tmp_path / "token").read_text()
        assert stat.S_IMODE((tmp_path / "token").stat().st_mode) == 0o600
        assert httpx.get(f"{address}/health").json()["ok"] is True
        with Browser(address) as browser:  # its page has the checks of the doctor
            browser.sign_in(token)
            checked = browser.post(
                "/settings/checks", headers={**OURS, "accept": "application/json"}
            ).json()["checks"]
            assert {"store", "model", "page"} <= {each["name"] for each in checked}
        model.then(slow)
        answers: list[httpx.Response] = []
        asked = threading.Thread(
            target=lambda: answers.append(
                httpx.post(
                    f"{address}/chat",
                    json={"text": "hi"},
                    headers={"authorization": f"Bearer {token}"},
                    timeout=within(20),
                )
            )
        )
        asked.start()
        assert started.wait(within(20))
        process.send_signal(signal.SIGTERM)
        told.set()
        assert process.wait(within(20)) == 0
        asked.join()
    assert answers[0].json()["reply"] == "finished in peace"


def test_a_port_that_is_taken_is_said(environment: dict[str, str]) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = uncaged(environment, "serve", "--port", str(taken.getsockname()[1]))
    assert done.returncode == 7
    assert "cannot listen" in done.stderr


@pytest.mark.parametrize(
    "arguments", [["nonsense"], ["chat", "--nonsense"], ["serve", "--port", "99999"]]
)
def test_wrong_usage_exits_with_2(environment: dict[str, str], arguments: list[str]) -> None:
    done = uncaged(environment, *arguments)
    assert done.returncode == 2
    error, help = done.stderr.splitlines()
    assert error.startswith("error: ")
    assert error.endswith(" (EUSAGE)")
    assert help.startswith("help: uncaged")


def test_errors_have_the_same_shape_as_those_of_sigil(environment: dict[str, str]) -> None:
    done = uncaged(environment, "trace", "nothing", "--json")
    assert done.returncode == 3
    assert json.loads(done.stderr)["error"]["code"] == "ENOENT"
    assert (
        json.loads(uncaged(environment, "chat", "--json", "--nonsense").stderr)["error"]["code"]
        == "EUSAGE"
    )
    plain = uncaged(environment, "trace", "nothing")
    assert plain.stderr.startswith("error: nothing: no trace of this event (ENOENT)\nhelp: ")


def test_help_is_plain_text(environment: dict[str, str]) -> None:
    for words in (["--help"], ["inbox", "--help"], ["channel", "set", "--help"]):
        shown = uncaged(environment, *words).stdout
        assert shown.lstrip().startswith("Usage: uncaged")
        assert "─" not in shown
        assert "│" not in shown


def test_what_is_said_in_a_pipe_is_one_line_however_long(
    stocked_environment: dict[str, str],
) -> None:
    text = f"encode {'a long text ' * 20}in base64"
    said = uncaged(stocked_environment, "chat", text).stderr.splitlines()
    assert [
        line
        for line in said
        if line.startswith("tools: sigil_query") and line.endswith("of 32,000 tokens")
    ]
    assert [line for line in said if line.lstrip().startswith("→ cap_encode") and len(line) > 150]


def test_serve_logs_runs_deploys_and_refusals_without_their_content(
    environment: dict[str, str], tmp_path: Path
) -> None:
    words = [*COMMAND, "serve", "--port", "0"]
    process = subprocess.Popen(
        words, env={**environment, "UNCAGED_LIBRARY": "none"}, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    said = ""
    while not (match := re.search(r"listens on (\S+)\n", said)):
        line = process.stderr.readline()
        assert line, said
        said += line
    token = {"authorization": f"Bearer {(tmp_path / 'token').read_text()}"}
    body = {
        "name": "tells",
        "execute": "throw Object.assign(new Error(input.text), {code: 'EMY' + input.text})",
    }
    with httpx.Client(base_url=match[1], headers=token) as http:
        digest = http.post("/_api/deploy", json=body).json()["digest"]
        http.post("/_api/deploy", json={"name": "fine", "execute": "return input.text"})
        http.get("/run/fine", params={"text": "hush"})
        http.post("/run/tells", json={"text": "hush"})
        http.get("/run/no name%0Ahush")
        http.get("/_api/list")
        http.delete("/_api/remove", params={"name": "fine"})
        http.get("/run/hush", headers={"authorization": "Bearer hush"})
    process.send_signal(signal.SIGTERM)
    rest = process.communicate(timeout=within(30))[1]

    lines = [json.loads(line) for line in rest.splitlines() if line.startswith("{")]
    assert [(line["step"], line["status"]) for line in lines] == [
        *(
            ("deploy", 201),
            ("deploy", 201),
            ("run", 200),
            ("run", 424),
            ("run", 404),
            ("remove", 200),
            ("turned away", 401),
        )
    ]
    assert (lines[0]["capability"], lines[0]["version"], lines[0]["digest"], lines[0]["token"]) == (
        "tells",
        1,
        digest,
        "admin",
    )
    assert (lines[2]["capability"], lines[2]["version"]) == ("fine", "1")
    assert len({line["request"] for line in lines}) == len(lines)
    assert lines[5]["capability"] == "fine"
    assert (lines[6]["code"], lines[6]["address"]) == ("EAUTH", "127.0.0.1")
    assert "hush" not in rest


ENCODE = "encode hello world in base64"


def test_the_first_chat_after_an_installation_compiles_nothing(
    unforked: dict[str, str], tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    said = uncaged({**unforked, "UNCAGED_CACHE": str(cache)}, "chat", ENCODE)

    assert said.stdout.startswith("aGVsbG8gd29ybGQ=")
    assert "compiling" not in said.stderr
    assert list(cache.glob("*.code")) == []


def test_an_engine_that_was_not_compiled_yet_is_compiled_before_anybody_waits_for_an_answer(
    stocked_environment: dict[str, str], tmp_path: Path
) -> None:
    from sigil.sandbox.engine import ENGINE

    another = tmp_path / "engine.wasm"
    another.write_bytes(ENGINE.read_bytes() + b"\0\2\1x")  # with a section that says nothing
    chat = [
        uncaged(
            {
                **stocked_environment,
                "SIGIL_ENGINE": str(another),
                "UNCAGED_CACHE": str(tmp_path / "cache"),
            },
            "chat",
            ENCODE,
        )
        for _ in range(2)
    ]

    first, again = (each.stderr.splitlines() for each in chat)
    assert first.index("compiling the JavaScript engine, once") < first.index(
        '  → sigil_query {"query":"encode hello world in base64"}'
    )
    assert not [line for line in again if "compiling" in line]
    assert all(each.stdout.startswith("aGVsbG8gd29ybGQ=") for each in chat)


def test_a_server_has_compiled_its_engine_before_it_answers(
    environment: dict[str, str], tmp_path: Path
) -> None:
    another = tmp_path / "engine.wasm"
    another.write_bytes(b"\0asm\1\0\0\0")  # the smallest module: to compile it takes no second
    cache = tmp_path / "cache"
    with served(
        environment, SIGIL_ENGINE=str(another), UNCAGED_LIBRARY="none", UNCAGED_CACHE=str(cache)
    ):
        assert len(list(cache.glob("*.code"))) == 1


def test_a_server_without_a_sound_engine_starts_all_the_same(
    environment: dict[str, str], tmp_path: Path
) -> None:
    broken = tmp_path / "engine.wasm"
    broken.write_bytes(b"no engine")
    with served(environment, SIGIL_ENGINE=str(broken), UNCAGED_LIBRARY="none") as (_, address):
        assert httpx.get(f"{address}/health").json()["ok"] is True
