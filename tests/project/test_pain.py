"""The page about failures holds what the code says, and its package is a real one."""

from __future__ import annotations

import json
import logging
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from functions import log, worker
from functions.agent.conversation.compaction import BUILTIN as STRATEGIES
from functions.agent.conversation.messages import ToolCall
from functions.agent.safety import round_reaction as repeated
from functions.agent.safety.call_facts import make_fact
from functions.agent.safety.failure_codes import CODES, OTHER, Code
from functions.agent.safety.guides import ALERT, BUILTIN, REPEATS
from functions.agent.safety.ladder import CASCADE, FRUSTRATED, REPEATED, WINDOW
from functions.agent.safety.status import REASONS
from functions.wiring import AgentRuntime
from tests.fakes.model import ScriptedModel, call, offered, results, say
from tests.functions.agent.talk import event
from tests.functions.alerts import Pager, pager
from tests.functions.serving import serving
from tests.project.test_transcripts import SECONDS, run, surroundings
from tests.project.transcripts import File, Step, steps
from tests.project.tree import ROOT
from tests.servers.programs import ProgramForker

__all__ = ["pager"]
PAGE = (ROOT / "docs" / "pain.md").read_text(encoding="utf-8")
CHAT = "telegram:42"
CONVERSATION = "printf 'message\\n%.0s' {1..8} | uncaged chat --quiet"


def table(heading: str) -> list[list[str]]:
    """The cells of the page's table under these headings, without its head."""
    rows = PAGE.partition(f"{heading}\n")[2].splitlines()[1:]
    end = next(number for number, row in enumerate(rows) if not row.startswith("|"))
    return [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows[:end]]


def blocks() -> list[dict[str, Any]]:
    """The page's blocks of JSON, but for the one with words left out."""
    found = re.findall(r"^```json\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return [json.loads(text) for text in found if "…" not in text]


def indented(text: str) -> str:
    return "\n".join(f"    {line}" if line else "" for line in text.split("\n"))


def told(name: str, code: Code) -> list[str]:
    return [name, code.phrase, code.meaning, code.kind, "yes" if code.counts else "no"]


def test_the_table_of_codes_is_the_tables_own() -> None:
    wanted = [*(told(f"`{name}`", code) for name, code in CODES.items()), told("any other", OTHER)]

    assert table("| code | phrase | meaning | kind | counts |") == wanted, "\n".join(
        f"| {' | '.join(row)} |" for row in wanted
    )


def test_every_reason_stands_there_with_its_state_its_sentence_and_what_helps() -> None:
    rows = table("| reason | state | event | what people read | what helps |")

    assert [row[:4] for row in rows] == [
        [f"`{name}`", f"`{why.state}`", why.event, why.text] for name, why in REASONS.items()
    ]
    assert all(row[4] for row in rows)


def test_the_guides_say_what_the_page_says() -> None:
    refused = make_fact(ToolCall("1", "fs.read", "{}"), "EPERM", "", "")
    rows = {
        name.strip("`"): says.strip("`")
        for name, _, says in table("| guide | for | what it says of `EPERM` |")
    }

    assert [*rows] == [*BUILTIN]
    assert {
        name: BUILTIN[name].interpret_pain(refused) for name in ("security", "learner", "debugger")
    }.items() <= rows.items()
    assert f"\n{indented(BUILTIN['default'].interpret_pain(refused))}\n" in PAGE
    assert f"\n{indented(BUILTIN['default'].brief(refused))}\n" in PAGE
    assert [
        name.strip("`")
        for name, _, _ in table("| strategy | what stays | in the place of what leaves |")
    ] == [*STRATEGIES]


def test_the_ladders_numbers_and_words_are_the_pages() -> None:
    assert REPEATED == 3  # "for the third time"
    for words in (
        f"{FRUSTRATED} failures in a row",
        f"{CASCADE} failures among the last {WINDOW} operations",
        ALERT,
        REPEATS.format(count=REPEATED),
    ):
        assert f"{words}" in PAGE


def test_what_is_told_of_repeated_calls_is_what_the_page_says() -> None:
    names = {"names": "text, times"}
    failed = {"before": "tests 2, 3", "now": "test 2"}

    assert [says.strip("`") for _, says in table("| when | what stands below the result |")] == [
        f"{repeated.SAME_FAILURE} {repeated.CHANGE_ARGUMENTS.format(**names)}",
        f"{repeated.SAME_RESULT} {repeated.USE_OR_CHANGE.format(**names)}",
        repeated.OTHER_RESULT,
        f"{repeated.SAME_RESULT} {repeated.SEARCH_OTHERWISE}",
        repeated.SAME_CODE_FAILED.format(**failed),
        repeated.SAME_CODE_UNTESTED.format(before="test 2"),
    ]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that the page's package is installed in: its wheel, unpacked, as an installer does
    it.
    """
    source, place = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("site")
    for file in steps(PAGE):
        if isinstance(file, File):
            (source / file.path).write_text(file.text, encoding="utf-8")
    build = [
        sys.executable,
        "-m",
        "hatchling",
        "build",
        "--target",
        "wheel",
        "--directory",
        str(source),
    ]
    subprocess.run(build, cwd=source, check=True, capture_output=True, timeout=SECONDS)
    (wheel,) = source.glob("*.whl")
    with ZipFile(wheel) as packed:
        packed.extractall(place)
    return place


@pytest.fixture
def shell(
    installed: Path, tmp_path: Path, model: ScriptedModel, forked: ProgramForker, compiled: Path
) -> Callable[..., str]:
    """Runs a command where that package is installed; what both of its streams say."""
    environment = surroundings(tmp_path, forked, compiled)

    def run_installed(command: str, **settings: str) -> str:
        around = {
            **environment,
            "PYTHONPATH": str(installed),
            "UNCAGED_LLM_URL": model.url,
            "UNCAGED_LIBRARY": "none",
            **settings,
        }
        return run(command, tmp_path, around)

    return run_installed


def test_an_unknown_name_is_refused_as_the_page_shows(shell: Callable[..., str]) -> None:
    shown = [step for step in steps(PAGE) if isinstance(step, Step)]

    assert len(shown) == 2
    for step in shown:
        output = shell(step.command)
        assert step.is_said_by(output), output


def test_the_pages_guide_is_found_and_speaks(
    shell: Callable[..., str], model: ScriptedModel
) -> None:
    model.then(call(("no_such_tool", {})), say("What shall I do?"))

    assert shell("uncaged chat --quiet go", UNCAGED_GUIDE="coach") == "What shall I do?\n"
    fact, _, meaning = results(model.bodies[1])[0].partition("\n")
    assert json.loads(fact)["error"]["code"] == "ENOTOOL"
    assert meaning == "ENOTOOL (No Such Tool). What would you check first? Check that, then decide."
    assert "no_such_tool: ENOTOOL (No Such Tool)\n[" in shell(
        "uncaged agent status", UNCAGED_GUIDE="coach"
    )


def test_the_pages_strategy_is_found_and_forgets(
    shell: Callable[..., str], model: ScriptedModel
) -> None:
    assert shell(CONVERSATION, UNCAGED_CONTEXT="short").split() == ["done"] * 8

    # what left the history goes to memory afterwards, in a request of its own
    turns = [body for body in model.bodies if offered(body) != ["save_memory"]]
    said = [message["content"] for message in turns[-1]["messages"]]
    assert said[-2] == "[runtime]\n7 earlier messages are in the archive."
    assert len(said) == 1 + 7 + 2


def test_alerts_and_status_have_the_shape_of_the_page(
    runtime: Callable[..., AgentRuntime],
    model: ScriptedModel,
    pager: Pager,
    caplog: pytest.LogCaptureFixture,
) -> None:
    home = runtime(llm_url=model.url, alerts=pager.url)
    model.then(*[call(("no_such_tool", {"n": number})) for number in range(CASCADE)])
    with caplog.at_level(logging.INFO, log.NAME):
        for text in ("go", "again"):
            home.queue.put(event(text, CHAT))
            delivery = home.queue.take(0)
            assert delivery
            worker.process(delivery, home)
    with serving(home) as server:
        status = server.client.get("/status", params={"session": CHAT}).json()
        assert server.post("/halt", json={"session": CHAT}).json() == {"halted": CHAT}
        assert server.post("/unlock").json() == {"unlocked": "*"}
        assert server.post("/halt", json={"session": "everybody"}).status_code == 400

    shown, alert = blocks()
    assert alert | {"at": 0} == pager.requests[0].json() | {"at": 0}
    (line,) = (
        json.loads(log._JsonFormatter().format(record))
        for record in caplog.records[:-1]
        if record.message == "alert"
    )
    assert line | {"at": ""} == logged() | {"at": ""}
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["at"])
    assert [*status] == [*shown]
    assert status["failures"][0] == shown["failures"][0]
    different = ("period", "spent", "total", "own", "left", "failures", "usage", "last")
    assert {name: status[name] for name in status if name not in different} == {
        name: shown[name] for name in shown if name not in different
    }


def logged() -> dict[str, Any]:
    """The page's line of the log."""
    found = re.search(r'^    (\{"at".*\})$', PAGE, re.MULTILINE)
    assert found
    made = json.loads(found[1])
    assert isinstance(made, dict)
    return made
