"""Requests of strangers to the offline model: each is answered rightly, or asked about.

What it did not read of a request may change the answer, so it never leaves it out without a word.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path

from functions.agent.conversation.prompt import FunctionDefinition
from functions.agent.model.offline_arguments import fill_arguments
from functions.texts.languages import list_codes, load_texts
from functions.wiring import AgentRuntime
from sigil.search.small_talk import is_small_talk
from tests.capabilities import trial_bundles
from tests.functions.agent.talk import event, run_event, tell
from tests.selection import sample

REQUESTS = Path(__file__).parents[3] / "data" / "offline_requests.tsv"
BENCHMARKS = Path(__file__).parents[4] / "scripts" / "benchmarks" / "requests"
ASKED = (
    r"^(?:I do not |I need more|I cannot|That did not work|Das verstehe ich nicht|Für \S+ fehlt"
    r"|Was „|这个我不懂|我不知道|\S+ 还缺|没有成功)"
)
SMALL_TALK = """
    hi|how was your day|thanks a lot|12|you're the best|nice one|k|yo|got it|see you tomorrow
    wie war dein tag|danke dir|was geht|ok passt|bist der beste|schönes wochenende|tut mir leid
    你好|最近怎么样|收到👌|辛苦了|你真棒|哈哈哈|吃了吗|不好意思|666|😂😂
"""

ASKED_AGAIN = (
    ("remember that my dog is called Rex", "what did I tell you my dog is called", "Rex"),
    ("", "do you know the name of my dog", "Rex"),
    ("remember that the wifi password is tulip42", "whats our wifi password", "tulip42"),
    ("remember that I park on level three", "on which level do I park", "level three"),
    ("merk dir: meine Schwester wohnt in Köln", "wo wohnt nochmal meine Schwester", "Köln"),
    ("merk dir: dienstags spiele ich Tennis", "an welchem Tag spiele ich Tennis", "dienstags"),
    ("记住我的猫叫咪咪", "我家猫叫啥", "咪咪"),
    ("记住我女儿对花生过敏", "我女儿对什么过敏来着", "花生"),
)


def test_what_was_remembered_is_found_by_the_words_of_people(
    runtime: Callable[..., AgentRuntime],
) -> None:
    home = runtime(library="builtin", tokens_per_day=0)
    wrong = []
    for told, asked, wanted in ASKED_AGAIN:
        if told:
            tell(home, told)
        reply = tell(home, asked)[0]
        if wanted not in reply:
            wrong.append((asked, reply[:120]))

    assert not wrong


def test_a_request_is_answered_rightly_or_asked_about(
    runtime: Callable[..., AgentRuntime],
) -> None:
    home = runtime(library="builtin", timezone="Etc/UTC", tokens_per_day=0)
    with REQUESTS.open(encoding="utf-8") as lines:
        rows = [*csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)]
    wrong = []
    for place, row in enumerate(sample(rows, len(rows) // 2)):
        session = f"telegram:{2_000 + place}"
        if row["before"]:
            tell(home, row["before"], session=session)
        reply = tell(home, row["request"], session=session)[0]
        answer = re.split(r"\n\n[—(（]", reply)[0]
        if not re.search(ASKED if row["answer"] == "?" else row["answer"], answer):
            wrong.append((row["request"], answer[:160]))

    assert not wrong, "\n".join(map(str, wrong))


def test_small_talk_pages_in_no_tool_and_is_answered(runtime: Callable[..., AgentRuntime]) -> None:
    home = runtime(library="builtin", tokens_per_day=0)
    refusals = tuple(load_texts(code).offline_not_found for code in list_codes())
    wrong = []
    for place, said in enumerate(re.split(r"[|\n]", SMALL_TALK.strip())):
        words = said.strip()
        closed = run_event(home, event(words, session=f"telegram:{3_000 + place}"))
        reply = closed.document.outbox[0].text
        loads = [message.loads for message in closed.document.messages if message.loads]
        if loads or reply.startswith(refusals) or (not is_small_talk(words) and words != "😂😂"):
            wrong.append((words, reply[:80], loads))

    assert not wrong, "\n".join(map(str, wrong))


def test_no_request_for_a_tool_is_small_talk() -> None:
    requests = []
    for path in sorted(BENCHMARKS.glob("**/*.jsonl")):
        requests += [json.loads(line)["query"] for line in path.read_text("utf-8").splitlines()]
    for name in (trial_bundles.TUNING, trial_bundles.KEPT, trial_bundles.UNSEEN):
        requests += [request.text for request in trial_bundles.read_requests(name)]

    assert len(requests) > 500
    assert not [words for words in requests if is_small_talk(words)]
    assert not is_small_talk("good " * 11 + "x")  # all ways to cut it are not tried


def test_a_number_that_no_parameter_takes_leaves_a_capability_uncalled() -> None:
    number = {"type": "number"}
    properties = {"distance": number, "litres": number}
    trip = FunctionDefinition(
        name="cap_fuel_cost",
        description="",
        parameters={
            "type": "object",
            "properties": properties,
            "required": [*properties],
        },
    )

    assert fill_arguments("fuel cost of 300 with 7", trip) == {"distance": 300, "litres": 7}
    named = fill_arguments("fuel cost: litres 7, distance 300", trip)
    assert named == {"distance": 300, "litres": 7}
    assert fill_arguments("fuel cost of 300", trip) is None
    assert fill_arguments("fuel cost of 300 with 7 at 1.79", trip) is None
