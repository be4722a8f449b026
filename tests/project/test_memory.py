"""The page about memory shows what was really said, kept and read, and holds the numbers that the
code has.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from functions.agent import context
from functions.agent.commands.soul import LEAST
from functions.agent.consolidation import AIM, ENTRY_CHARACTERS, FULL, SHORTER, TRIES
from functions.agent.conversation.compaction import MOST
from functions.agent.eviction import ENOUGH
from functions.agent.memory.documents import CAPS, OF_CHATS, Doc
from functions.agent.memory.things import CHARACTERS_MOST, THINGS_MOST
from functions.agent.services.things import HEARD, SURE
from tests.fakes.model import ScriptedModel, call, say
from tests.project.test_transcripts import SECONDS, surroundings
from tests.project.transcripts import File, Step, steps
from tests.project.tree import ROOT
from tests.servers.programs import ProgramForker
from tests.tables import each_row

PAGE = (ROOT / "docs" / "memory.md").read_text(encoding="utf-8")
OFFLINE = "\n## Without a language model\n"
READ = re.compile(r"^```text\n(.*?)\n```$", re.MULTILINE | re.DOTALL)
SHARE = re.compile(r"may fill (\d+)% of the window")
SOUL = """\
# Soul

## Personality
Dry, and fond of tea.

## Values
Accuracy before speed. Saying plainly what is not known.

## Communication Style
Brief and concrete, in the user's language."""
FACT = {"subject": "Ada", "predicate": "is allergic to", "object": "nuts", "source": "user"}
ENTRY = (
    "[2026-11-22 09:30] Ada said that she is allergic to nuts; it was remembered as a fact. The"
    " shop is closed on Mondays."
)
MEMORY = (
    "# Memory\n\n- Ada works in the shop and is allergic to nuts.\n- The shop is closed on Mondays."
)
SCRIPT = (
    say(SOUL),
    call(("sigil_query", {"query": "remember this"})),
    call(("cap_remember", FACT)),
    say("I will."),
    call(("save_memory", {"history_entry": ENTRY, "memory_update": MEMORY})),
    call(("sigil_query", {"query": "what do you remember, what was said"})),
    call(
        ("cap_recall", {"query": "Ada allergic"}),
        ("cap_search_history", {"query": "closed Mondays"}),
    ),
    say("Nuts; and it is closed on Mondays."),
)


def follow(page: str, folder: Path, environment: Mapping[str, str], address: str) -> None:
    """Write the files of a page and run its commands, with the model at `address`."""
    around = {**environment, **({"UNCAGED_LLM_URL": address} if address else {})}
    for step in steps(page):
        if isinstance(step, File):
            (folder / step.path).write_text(step.text, encoding="utf-8")
            continue
        done = subprocess.run(
            ["bash", "-c", step.command],
            cwd=folder,
            env=around,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
        output = (done.stdout + done.stderr).decode()
        assert step.is_said_by(output), f"$ {step.command}\n{output}\nthe page has:\n{step.said}"


@pytest.fixture
def environment(
    tmp_path: Path, forked: ProgramForker, compiled: Path, stocked: Path
) -> dict[str, str]:
    return surroundings(tmp_path, forked, compiled, stocked)


def test_what_is_kept_comes_back_as_the_page_shows(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    with ScriptedModel(SCRIPT) as model:
        follow(PAGE.partition(OFFLINE)[0], tmp_path, environment, model.url)
        read = [str(message["content"]) for body in model.bodies for message in body["messages"]]

    assert len(model.bodies) == len(SCRIPT)
    shown = [Step("", text) for text in READ.findall(PAGE)]
    assert len(shown) == 2
    assert not [step.said for step in shown if not any(step.is_said_by(text) for text in read)]


def test_without_a_language_model_it_does_what_the_page_shows(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    offline = PAGE.partition(OFFLINE)[2]
    assert sum(isinstance(step, Step) for step in steps(offline)) == 5
    follow(offline, tmp_path, environment, "")


def test_the_table_of_documents_is_in_the_order_of_the_prompt_with_the_caps() -> None:
    rows = re.findall(r"^\| `(\w+)` \| [^|]+ \| ([^|]+) \| ([\d,]+) \|$", PAGE, re.MULTILINE)

    assert {name: int(cap.replace(",", "")) for name, _, cap in rows} == CAPS
    assert [name for name, _, _ in rows] == [*CAPS]
    assert all(f"`{name}`" in PAGE.partition("## Documents")[0] for name in OF_CHATS)


def test_documents_are_cut_in_the_order_that_the_page_says() -> None:
    order = re.search(r"`\[TRUNCATED\]`,\s+in\s+this\s+order:\s+((?:`\w+`(?:,\s+)?)+)", PAGE)
    share = SHARE.search(PAGE)
    assert order
    assert share
    assert int(share[1]) == round(context.PREAMBLE_SHARE * 100)

    docs = tuple(Doc("main", name, 1, f"{name} " * 1_000) for name in CAPS)
    whole = context.build_preamble("main", docs).tokens
    names = re.findall(r"`(\w+)`", order[1])
    cuts = []
    for room in (*range(int(whole) - 100, 0, -500), 0):
        cut = cut_of(context.build_preamble("main", docs, room))
        if cut not in cuts:
            cuts.append(cut)
    assert cuts == [{*names[:count]} for count in range(1, len(CAPS) + 1)]


def cut_of(made: context.Preamble) -> set[str]:
    """The segments that are marked as cut."""
    return {name for name, text in made.segments if context.TRUNCATED in text}


@each_row(
    "sentence",
    [
        f"has fewer than {LEAST} characters",
        f"put away at least {ENOUGH} messages",
        f"when there are more than {MOST},",
        f"{THINGS_MOST:,} things with {CHARACTERS_MOST:,} characters",
        (
            f"should have at most {AIM:,} characters; over {CAPS['memory']:,} the model is asked to"
            f" shorten it to {SHORTER:,}"
        ),
        f"Only a memory that had more than {FULL:,} before may lose up to three fourths",
        f"An entry has at most {ENTRY_CHARACTERS:,} characters",
        f"confidence is {SURE:g} for what a person said and {HEARD:g} otherwise",
    ],
)
def test_the_page_has_the_codes_numbers(sentence: str) -> None:
    assert sentence in " ".join(PAGE.split())


SERVICES = ("remember", "recall", "forget", "search-history")


def test_the_page_names_every_service_of_memory() -> None:
    assert not [name for name in SERVICES if f"`{name}`" not in PAGE]
    assert TRIES == 3
    assert "three times by `/mem`" in PAGE
