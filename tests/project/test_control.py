"""The page about the loop shows what was really said: to the person, and to the model."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from functions.agent.session.store import Sessions
from functions.settings import Settings
from sigil.storage.kv import keys
from sigil.wiring import open_stores
from tests.fakes.model import ScriptedModel, call, say
from tests.project.test_transcripts import SECONDS, surroundings
from tests.project.transcripts import Step, steps
from tests.project.tree import ROOT
from tests.servers.programs import ProgramForker

PAGE = (ROOT / "docs" / "control.md").read_text(encoding="utf-8")
READ = re.compile(r"^```text\n(.*?)\n```$", re.MULTILINE | re.DOTALL)
CLAIM = "It is 12 °C in Kyiv."
TRUTH = "I could not look it up: an owner has to run `sigil grant weather-now` first."


def weather(place: str) -> dict[str, object]:
    return call(("cap_weather_now", {"place": place}))


SCRIPT = (
    call(("sigil_query", {"query": "the weather now"})),
    *map(weather, ("Kyiv", "Kyiv", "Kyiv", "Kiev", "Kyjiw")),
    *map(weather, ("50.45, 30.52", "50.4, 30.5", "50, 30")),
    weather("Kyiv, Ukraine"),
    say(CLAIM),
    say(TRUTH),
)


def last_event(folder: Path) -> str:
    """The id of the last message of the terminal's chat."""
    stores = open_stores(Settings(data=str(folder / "data")))
    return (
        Sessions(stores.kv, stores.artifacts)
        .open(keys.session_of("main", "terminal:main"))
        .document.seen[-1]
    )


def test_a_failure_goes_the_way_that_its_page_shows(
    tmp_path: Path, forked: ProgramForker, compiled: Path
) -> None:
    with ScriptedModel(SCRIPT) as model:
        around = surroundings(tmp_path, forked, compiled)
        around["UNCAGED_LLM_URL"] = model.url
        for step in steps(PAGE):
            assert isinstance(step, Step)
            command = (
                step.command.replace("EVENT", last_event(tmp_path))
                if "EVENT" in step.command
                else step.command
            )
            done = subprocess.run(
                ["bash", "-c", command],
                cwd=tmp_path,
                env=around,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=SECONDS,
                check=False,
            )
            output = (done.stdout + done.stderr).decode()
            assert step.is_said_by(output), (
                f"$ {step.command}\n{output}\nthe page has:\n{step.said}"
            )
        read = [message["content"] for body in model.bodies for message in body["messages"]]

    assert len(model.bodies) == len(SCRIPT)
    shown = READ.findall(PAGE)
    assert len(shown) == 3
    assert not [text for text in shown if text not in read]
    assert all(body["messages"][0]["role"] == "system" for body in model.bodies)
    assert CLAIM in PAGE
