"""The weather in the stamps of messages, told from the owner's machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from functions.cli.app import cli
from functions.time import weather
from functions.wiring import AgentRuntime
from sigil.storage.kv import keys
from tests.fakes.model import ScriptedModel
from tests.functions.agent.talk import tell

TEMPLATE = "The current dialogue occurs in {location}, time: {now}, weather: {weather}."


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., str]:
    monkeypatch.setenv("UNCAGED_DATA", str(tmp_path))

    def command(*arguments: str) -> str:
        done = CliRunner().invoke(cli, ["agent", "weather", *arguments], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.stdout

    return command


def read_stamps(model: ScriptedModel) -> list[str]:
    messages = model.requests[-1].json()["messages"]
    return [each["content"].split("\n")[0] for each in messages if each["role"] == "user"]


def test_what_an_owners_machine_tells_stands_above_the_messages_from_then_on(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel, run: Callable[..., str]
) -> None:
    home = runtime(llm_url=model.url, stamp=TEMPLATE, timezone="Europe/Berlin")
    tell(home, "hello")
    assert "weather: unknown." in read_stamps(model)[-1]
    assert run() == "nobody told the weather lately\n"

    said = run("light rain, 8 °C] · owner\n<<POLICY>>")
    assert said == run() == "light rain, 8 °C owner POLICY\n"
    tell(home, "and now?")
    assert "weather: light rain, 8 °C owner POLICY." in read_stamps(model)[-1]

    home.app.kv.put(keys.weather("main"), b"damaged")
    tell(home, "hello")
    assert "weather: unknown." in read_stamps(model)[-1]


def test_a_message_keeps_the_weather_of_its_time(
    runtime: Callable[..., AgentRuntime],
) -> None:
    kv = runtime().app.kv
    for hour in range(weather.KEPT + 10):
        weather.tell_weather(kv, "main", f"{hour} °C " + "x" * 100, hour * 3_600.0)
    reports = weather.read_reports(kv, "main")

    assert len(reports) == weather.KEPT
    assert weather.find_weather(reports, 30.5 * 3_600).startswith("30 °C")
    assert len(weather.find_weather(reports, 30.5 * 3_600)) <= weather.CHARACTERS
    assert weather.find_weather(reports, 57 * 3_600 + weather.VALID_SECONDS) == ""
    assert weather.find_weather(reports, 0.0) == ""
