"""`scripts/bootstrap` as a person runs it: the whole dialogue with a model that reads what it is
sent, and what becomes of bad ones.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from functions.wiring import AgentRuntime
from scripts.bootstrapping import verdicts
from scripts.bootstrapping.facts import TurnFacts, Worklog
from scripts.bootstrapping.play import ask, play
from scripts.bootstrapping.report import format_table
from scripts.bootstrapping.requests import REQUESTS, Request
from scripts.bootstrapping.verdicts import RequestResult
from sigil.protocol import Caller
from tests.fakes.author import Author, Habit
from tests.fakes.model import call, offered, results
from tests.fakes.server import Answer, Recorded, json_answer
from tests.fakes.skills import skill_for
from tests.machine import within
from tests.servers.programs import ProgramForker, command_of

COMMAND = command_of("scripts.bootstrapping")
KEY = "sk-a-secret-of-ours"
ROMAN, LUHN = REQUESTS[:2]


@pytest.fixture
def unforked(tmp_path: Path, compiled: Path) -> dict[str, str]:
    """The environment of a command that Python starts itself."""
    compiled.mkdir(exist_ok=True)
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    ours = {
        "UNCAGED_DATA": str(tmp_path / "own"),
        "UNCAGED_CACHE": str(compiled),
        "SIGIL_RUNNERS": "1",
    }
    return {
        **kept,
        **ours,
        "PYTHONPATH": os.getcwd(),
        "UNCAGED_LLM_KEY": KEY,
        "UNCAGED_LLM_MODEL": "scripted",
    }


@pytest.fixture
def environment(unforked: dict[str, str], forked: ProgramForker) -> dict[str, str]:
    """As `unforked`, for a command that is forked."""
    return {**unforked, **forked.environment}


def bootstrap(
    environment: dict[str, str], *arguments: str, **more: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments],
        env={**environment, **more},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=within(60),
        stdin=subprocess.DEVNULL,
        check=False,
    )


class Grumpy(Author):
    """Gives the same answer to everything from its `patience`th request on."""

    def __init__(self, answer: Answer, patience: int = 0) -> None:
        super().__init__()
        self._answer, self._patience = answer, patience

    def answer(self, request: Recorded) -> Answer:
        return self._answer if len(self.requests) > self._patience else super().answer(request)


def test_twenty_things_that_nobody_can_do_are_written_used_and_the_next_time_only_found(
    unforked: dict[str, str],
) -> None:
    with Author() as model:
        done = bootstrap(unforked, "--json", UNCAGED_LLM_URL=model.url)
        bodies = model.bodies

    report = json.loads(done.stdout)
    assert done.returncode == 0, (report["summary"], done.stderr)
    assert [row["name"] for row in report["requests"]] == [request.name for request in REQUESTS]
    assert len(REQUESTS) == 20
    for row, request in zip(report["requests"], REQUESTS, strict=True):
        assert not request.again.answer.is_in_text(row["first"]["reply"])
        assert not request.first.answer.is_in_text(row["again"]["reply"])
        first, again = row["first"], row["again"]
        assert (
            first["searched"],
            first["written"],
            len(first["deployed"]),
            first["right"],
            first["computed"],
        ) == (1, 1, 1, True, True)
        assert first["tests"] >= 1
        assert (
            again["searched"],
            again["written"],
            again["deployed"],
            again["right"],
            again["computed"],
        ) == (1, 0, [], True, True)
        assert first["deployed"][0] in again["found"]
        assert (
            again["called"] == first["called"] == ["cap_" + first["deployed"][0].replace("-", "_")]
        )
        assert first["worklog"]["rounds"] == 4
        assert again["worklog"]["rounds"] == 3
    assert report["summary"]["complete"] == 20
    assert report["summary"]["tokens"] > 100_000
    assert offered(bodies[0]) == ["sigil_query", "sigil_deploy"]
    assert results(bodies[1])[0].startswith('{"ok":{"items":[],"total":0,"next":"nothing fits')
    assert not (Path(unforked["UNCAGED_DATA"]) / "uncaged.db").exists()


def test_the_report_fits_a_hundred_columns_and_progress_goes_to_stderr(
    environment: dict[str, str],
) -> None:
    with Author("clumsy") as model:
        done = bootstrap(environment, "--limit", "3", UNCAGED_LLM_URL=model.url)

    assert done.returncode == 0, done.stderr
    table, legend, sums = done.stdout.rstrip("\n").split("\n\n")
    above, header, *rows = table.splitlines()
    assert "first" in above
    assert "again" in above
    assert header.split()[:7] == [
        "request",
        "search",
        "wrote",
        "tests",
        "deployed",
        "called",
        "right",
    ]
    assert [row.split()[:8] for row in rows] == [
        [name, "✓", "2", "2", "✗1", "✓", "✓", "✓"] for name in ("roman", "luhn", "leap-years")
    ]
    assert max(map(len, done.stdout.splitlines())) <= 100
    assert "wrote" in legend
    assert sums.startswith("3 of 3 complete with scripted; ")
    assert (
        "first: 3 searched, 3 written, 3 tested, 3 deployed, 3 called, 3 right\nagain: 3 found and"
        " nothing new, 3 right" in sums
    )
    assert (
        "first: searched 1x, found nothing · wrote 2x, deployed roman-numerals, tests passed: 2 ·"
        in done.stderr
    )
    assert (
        "again: searched 1x, found roman-numerals · called cap_roman_numerals · right · 3 rounds"
        in done.stderr
    )


def test_named_requests_are_played_again_and_again_over_an_empty_registry(
    environment: dict[str, str],
) -> None:
    with Author() as model:
        done = bootstrap(
            environment,
            "--only",
            "luhn",
            "--only",
            "csv",
            "--repeat",
            "2",
            "--markdown",
            UNCAGED_LLM_URL=model.url,
        )

    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("|")]
    assert [line.split(" | ")[0] for line in lines[2:]] == [
        "| luhn 1",
        "| csv 1",
        "| luhn 2",
        "| csv 2",
    ]
    assert len({line.count("|") for line in lines}) == 1
    assert "4 of 4 complete" in done.stdout


def test_fewer_complete_requests_are_enough_when_one_says_so(environment: dict[str, str]) -> None:
    with Author("narrow") as model:
        done = bootstrap(
            environment, "--only", "roman", "--at-least", "0", UNCAGED_LLM_URL=model.url
        )

    assert done.returncode == 0
    assert (
        "roman: first: no capability gave back the true answer, its reply does not say the true"
        " answer; again: " in done.stdout
    )
    assert "0 of 1 complete" in done.stdout


def test_what_was_made_is_kept_in_a_folder_that_is_named_and_new(
    environment: dict[str, str], tmp_path: Path
) -> None:
    kept = tmp_path / "kept"
    with Author() as model:
        done = bootstrap(
            environment, "--only", "roman", "--store", str(kept), UNCAGED_LLM_URL=model.url
        )
        again = bootstrap(
            environment, "--only", "roman", "--store", str(kept), UNCAGED_LLM_URL=model.url
        )

    assert done.returncode == 0, done.stdout
    listed = subprocess.run(
        [*command_of("sigil.cli"), "run", "roman-numerals", '{"number": 1994}'],
        env={**environment, "UNCAGED_DATA": str(kept), "UNCAGED_LIBRARY": "none"},
        capture_output=True,
        text=True,
        timeout=within(60),
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert "MCMXCIV" in listed.stdout, listed.stderr
    assert again.returncode == 2
    assert "is not empty" in again.stderr


@pytest.mark.parametrize("extra", [(), ("--json",)])
def test_without_a_language_model_it_says_what_to_set(
    environment: dict[str, str], extra: tuple[str, ...]
) -> None:
    done = bootstrap(
        {name: value for name, value in environment.items() if name != "UNCAGED_LLM_KEY"}, *extra
    )

    assert done.returncode == 2
    assert done.stdout == ""
    assert "no language model is set" in done.stderr
    assert "UNCAGED_LLM_URL" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            json_answer({"error": {"message": f"wrong key {KEY}"}}, 401),
            "the model answered 401: wrong key ***",
        ),
        (
            Answer(429, b'{"error": {"message": "slow down"}}', {"retry-after": "0"}),
            "the model answered 429: slow down",
        ),
        (Answer(200, b"<html>hello</html>"), "the model sent no answer"),
        (
            json_answer({"choices": [{"message": {"content": 7, "tool_calls": "no"}}]}),
            "its reply does not say the true answer",
        ),
        (Answer(cut=True), "the model cannot be reached"),
    ],
    ids=["401", "429", "page", "garbage", "cut"],
)
def test_an_endpoint_that_fails_is_a_line_in_the_report(
    environment: dict[str, str], answer: Answer, said: str
) -> None:
    with Grumpy(answer) as model:
        done = bootstrap(environment, "--limit", "1", UNCAGED_LLM_URL=model.url)

    assert done.returncode == 1
    line = next(line for line in done.stdout.splitlines() if line.startswith("roman: first: "))
    assert said in line
    assert "0 of 1 complete" in done.stdout
    assert "Traceback" not in done.stderr
    assert KEY not in done.stdout + done.stderr


def test_an_endpoint_that_fails_in_the_middle_spoils_its_own_row_alone(
    environment: dict[str, str],
) -> None:
    refusal = json_answer({"error": {"message": "no such model"}}, 404)

    class Moody(Author):
        def answer(self, request: Recorded) -> Answer:
            return refusal if b"Luhn" in request.body else super().answer(request)

    with Moody() as model:
        done = bootstrap(environment, "--limit", "3", "--at-least", "2", UNCAGED_LLM_URL=model.url)

    assert done.returncode == 0, done.stdout + done.stderr
    assert (
        "luhn: first: I could not get an answer: the model answered 404: no such model."
        in done.stdout
    )
    assert "2 of 3 complete" in done.stdout


@contextmanager
def running(
    environment: dict[str, str], *arguments: str, **more: str
) -> Iterator[subprocess.Popen[bytes]]:
    """The command in a process group of its own, as a terminal has it."""
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(
        [*COMMAND, *arguments], env={**environment, **more}, start_new_session=True, **pipes
    ) as process:  # type: ignore[call-overload]
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


def test_ctrl_c_shows_what_was_done_so_far(environment: dict[str, str]) -> None:
    with (
        Grumpy(Answer(hang=True), patience=8) as model,
        running(environment, UNCAGED_LLM_URL=model.url) as process,
    ):
        model.wait_for(9, timeout=within(30))
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=within(30))

    assert process.returncode == 130, err
    assert "1 of 1 complete" in out.decode()
    assert "roman" in out.decode()
    assert b"interrupted: 1 of 20 requests were asked to their end" in err
    assert b"Traceback" not in err


@pytest.fixture
def played(runtime: Callable[..., AgentRuntime]) -> Callable[[Author, Request], Any]:
    """Plays a request with a model, over one registry."""
    return lambda model, request: play(runtime(llm_url=model.url), request)


@pytest.mark.parametrize(
    ("habits", "refused", "rounds"),
    [
        (["clumsy"], ("ETESTS",), 5),
        (["sloppy"], ("EMODULE",), 5),
        (["sloppy", "clumsy", "careless"], ("EMODULE", "ETESTS"), 7),
    ],
    ids=["tests", "syntax", "everything"],
)
def test_a_model_that_errs_mends_it_by_what_it_is_told_within_a_turn(
    played: Callable[[Author, Request], Any],
    habits: list[Habit],
    refused: tuple[str, ...],
    rounds: int,
) -> None:
    with Author(*habits) as model:
        row = played(model, LUHN)

    assert row.complete, row.misses
    assert (row.first.refused, row.first.worklog.rounds) == (refused, rounds)


def test_wrong_arguments_are_told_and_mended(played: Callable[[Author, Request], Any]) -> None:
    with Author("careless") as model:
        row = played(model, ROMAN)

    assert row.complete, row.misses
    assert row.first.failed == row.again.failed == ("EINVAL",)


@pytest.mark.parametrize(
    ("habit", "misses"),
    [
        (
            "boaster",
            (
                (
                    "first: it did not search, it wrote nothing, its reply does not say the true"
                    " answer"
                ),
                "again: not asked, since there was nothing to find",
            ),
        ),
        (
            "hasty",
            (
                "first: it did not search",
                "again: it did not search, it wrote another one instead of using what is there",
            ),
        ),
        ("bare", ("first: it deployed without tests",)),
        (
            "narrow",
            tuple(
                f"{turn}: no capability gave back the true answer, its reply does not say the true"
                " answer"
                for turn in ("first", "again")
            ),
        ),
        (
            "stubborn",
            (
                (
                    "first: nothing became active (ETESTS, ETESTS, ETESTS, ETESTS, ETESTS), its"
                    " reply does not say the true answer"
                ),
                "again: not asked, since there was nothing to find",
            ),
        ),
    ],
)
def test_a_model_with_bad_habits_is_told_apart(
    played: Callable[[Author, Request], Any], habit: Habit, misses: tuple[str, ...]
) -> None:
    with Author(habit) as model:
        row = played(model, ROMAN)

    assert row.misses == misses


def test_a_right_answer_out_of_its_own_head_does_not_count(
    played: Callable[[Author, Request], Any],
) -> None:
    with Author("boaster") as model:
        row = played(model, LUHN)

    assert row.first.right
    assert "its answer is right, but out of its own head" in row.misses[0]


def test_a_name_that_is_taken_costs_one_round(runtime: Callable[..., AgentRuntime]) -> None:
    with Author("copycat", taken="numerals") as model:
        home = runtime(llm_url=model.url)
        spec = {"name": "numerals", "description": "Something else.", "execute": "return 1"}
        home.app.registry.deploy(spec, Caller(home.app.name, owner=True))
        first = ask(home, "terminal:first", ROMAN.first)

    assert (first.refused, first.deployed, first.right) == (
        ("EEXIST",),
        ("roman-numerals-own",),
        True,
    )
    assert (
        "find it with sigil_query and use it as it is, or choose another name"
        in results(model.bodies[2])[-1]
    )


def test_a_call_beside_its_own_deploy_is_refused_and_works_in_the_next_round(
    runtime: Callable[..., AgentRuntime],
) -> None:
    skill = skill_for(ROMAN.first.text)
    with Author() as model:
        called = call(("sigil_deploy", skill.spec), ("cap_roman_numerals", {"number": 1994}))
        model.then(call(("sigil_query", {"query": "roman"})), called)
        first = ask(runtime(llm_url=model.url), "terminal:first", ROMAN.first)

    assert first.right
    assert first.failed in {("ENOTOOL",), ("ENOTRESIDENT",)}
    assert first.worklog.rounds == 4


def test_numbers_of_a_slow_and_wordy_model_fit_the_table_too() -> None:
    half = TurnFacts(
        1,
        (),
        (),
        5,
        ("ETESTS",) * 4,
        12,
        ("a",),
        ("cap_a",),
        (),
        True,
        True,
        Worklog(7, 123_456, 119.9),
    )
    rows = [RequestResult(f"{request.name} 10", half, half) for request in REQUESTS]

    assert max(map(len, format_table(rows).splitlines())) <= 100
    assert format_table([]).splitlines()[-1].startswith("request")


def test_a_reader_who_leaves_early_is_no_failure_with_a_traceback(
    environment: dict[str, str],
) -> None:
    with (
        Grumpy(json_answer({}, 401)) as model,
        running(environment, "--limit", "1", UNCAGED_LLM_URL=model.url) as process,
    ):
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        said = process.stderr.read()
        process.wait(within(30))

    assert process.returncode == 1
    assert b"Traceback" not in said


def test_more_deploys_in_a_chat_than_its_pause_allows_end_in_a_sentence_and_go_on_later(
    runtime: Callable[..., AgentRuntime],
) -> None:
    with Author() as model:
        home = runtime(llm_url=model.url, deploy_cooldown=600.0)
        halves = [ask(home, "terminal:one-chat", request.first) for request in REQUESTS[:7]]
        later = ask(home, "terminal:another-chat", REQUESTS[6].first)

    assert [half.right for half in halves] == [True] * 5 + [False] * 2
    assert "ERATE" in halves[-1].refused
    waits = "I have to wait a little before I can write another one. Please ask me again."
    assert halves[-1].reply == f"{waits}\n\n(`sigil_deploy` failed: too often; a pause helps.)"
    assert later.right


def test_the_author_calls_no_tool_that_it_is_not_offered(
    runtime: Callable[..., AgentRuntime],
) -> None:
    with Author() as model:
        play(runtime(llm_url=model.url), ROMAN)
        body = model.bodies[2]
        body["tools"] = [
            tool for tool in body["tools"] if not tool["function"]["name"].startswith("cap_")
        ]
        without = json.loads(
            model.answer(Recorded("POST", "/", {}, json.dumps(body).encode())).body
        )  # type: ignore[arg-type]

    assert without["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "sigil_deploy"


def test_the_page_names_every_option_and_every_way_to_miss(environment: dict[str, str]) -> None:
    page = (Path(__file__).parents[2] / "docs" / "bootstrapping.md").read_text(encoding="utf-8")
    options = bootstrap(environment, "--help").stdout
    told = (
        *(f"`{option}" for option in re.findall(r"^  (--[a-z-]+)", options, re.MULTILINE)),
        *(
            line.format("…")
            for line in re.findall(
                r'yield "([^"]+)"', Path(verdicts.__file__).read_text(encoding="utf-8")
            )
        ),
        verdicts.UNASKED,
    )

    assert len(told) > 12
    assert not [text for text in told if text not in page]
