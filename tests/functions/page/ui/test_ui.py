"""Every page in Chromium: `scripts/test ui`, or the part `ui` of scripts/check-all.

Wide and narrow, light and dark: no failure of axe (WCAG 2.2 AA and best practices), no error on the
console, nothing sideways, no request to anybody else. At 200 %, with forced colours and without
motion; with the keys alone; without JavaScript; and all of it once more with what breaks pages in
every field.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from functions.agent.access.web_codes import WebCodes
from functions.agent.workspace.received import OPENED_BYTES
from functions.wiring import AgentRuntime
from tests.fakes.model import ScriptedModel, say
from tests.fakes.server import Answer
from tests.fakes.speech import KEY, SpeechEndpoint
from tests.functions.page.browsing import Browser
from tests.functions.page.ui.visits import fill, list_visits
from tests.functions.serving import Served, serving
from tests.functions.test_live_turns import piece
from tests.machine import until, within
from tests.pictures import make_png
from tests.servers.proxy import PASS, REFUSE, Proxy

ROOT = Path(__file__).parents[4]
WIDTHS = (1280, 390, 320)
SCHEMES = ("light", "dark")
KINDS = {
    "at 200 %": {"viewport": {"width": 640, "height": 400}, "device_scale_factor": 2},
    "forced colours": {"forced_colors": "active", "viewport": {"width": 390, "height": 800}},
    "without motion": {"reduced_motion": "reduce", "viewport": {"width": 1280, "height": 800}},
}
pytestmark = pytest.mark.ui


def find_chromium() -> str:
    """Return the path of Chromium; empty where there is none."""
    chosen = os.environ.get("CHROMIUM")
    return chosen or shutil.which("chromium") or shutil.which("google-chrome") or ""


@pytest.fixture(scope="session")
def chromium() -> str:
    found = find_chromium()
    if not found:
        pytest.fail(
            "there is no Chromium: apt-get install chromium, or CHROMIUM=/path/to/chrome", False
        )
    return found


def run(*words: str, given: str = "") -> str:
    done = subprocess.run(
        words,
        cwd=ROOT,
        input=given,
        capture_output=True,
        text=True,
        timeout=within(560),
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4_000:]
    return done.stdout.strip()


def drive(name: str, server: Served, chromium: str, url: str = "", **told: object) -> object:
    """Return what a driver found over a server, at another `url` where that is given."""
    app = server.runtime.app
    codes = WebCodes(app.kv, "main", app.clock.now)
    code = codes.make("terminal:local", "owner")
    given = {"url": url or server.url, "code": code, "chromium": chromium, **told}
    python = f"{run('scripts/tool', 'browser')}/python"
    return json.loads(run(python, str(Path(__file__).with_name(name)), given=json.dumps(given)))


@pytest.mark.parametrize("words", ["plain", "hostile"])
def test_every_page_is_right_for_everybody(
    runtime: Callable[..., AgentRuntime], chromium: str, words: str
) -> None:
    axe = f"{run('scripts/npm')}/node_modules/axe-core/axe.min.js"
    pictures = os.environ.get("PICTURES", "") if words == "plain" else ""
    if pictures:
        Path(pictures).mkdir(parents=True, exist_ok=True)
    made = runtime(library="builtin", rate=100_000)
    with serving(made) as server, Browser(server.url) as browser:
        fill(server, hostile=words == "hostile")
        browser.sign_in()
        found = drive(
            "driver.py",
            server,
            chromium,
            visits=list_visits(browser),
            axe=axe,
            pictures=pictures,
            widths=WIDTHS,
            schemes=SCHEMES,
            kinds=KINDS,
        )
    assert not found, json.dumps(found, indent=1, ensure_ascii=False)


def test_a_chat_does_what_its_keys_say(
    runtime: Callable[..., AgentRuntime], chromium: str, model: ScriptedModel
) -> None:
    """Over a server whose model writes word by word until it is stopped."""

    def speak() -> Iterator[bytes]:
        for _ in range(200):
            yield piece("a word and ")
            time.sleep(0.05)  # an endpoint writes no faster

    model.then(Answer(200, speak()), say("It is done."), say("done"))
    with serving(runtime(llm_url=model.url, rate=100_000)) as server:
        found = drive("chat_driver.py", server, chromium, stop=within(0.6))
    assert found == []


def test_files_are_dropped_pasted_and_recorded(
    runtime: Callable[..., AgentRuntime], chromium: str, model: ScriptedModel, tmp_path: Path
) -> None:
    """A voice message is heard by an endpoint, which gets it as the browser recorded it."""
    (tmp_path / "bär.png").write_bytes(make_png())
    with open(tmp_path / "large.bin", "wb") as file:
        file.truncate(OPENED_BYTES + 1)
    with SpeechEndpoint() as speech:
        speech.said = "what was said"
        made = runtime(llm_url=model.url, rate=100_000, stt_url=speech.address, stt_key=KEY)
        with serving(made) as server:
            found = drive("files_driver.py", server, chromium, folder=str(tmp_path))
        heard = [form["file"] for form in speech.forms]
        sizes = [len(request.body) for request in speech.requests]
    assert found == []
    assert heard == ["voice.webm"] * 4
    assert min(sizes) > 2_000, sizes


def test_a_page_that_comes_back_shows_what_a_new_one_does(
    runtime: Callable[..., AgentRuntime], chromium: str, model: ScriptedModel
) -> None:
    """It was in the background, its phone slept while the network forgot its connections, and each
    connection was cut in the middle of an answer.
    """

    def forget() -> Iterator[bytes]:
        yield piece("one word ")
        time.sleep(0.3)  # the message that asked was taken
        proxy.mute_all()
        yield piece("and others.")
        yield b"data: [DONE]\n\n"

    def lose() -> Iterator[bytes]:
        for _ in range(10):
            yield piece("a word before the cut, ")
            time.sleep(0.05)  # an endpoint writes no faster
        proxy.mode = REFUSE
        yield piece("\n\nand after the cut. ")
        time.sleep(1.0)  # nobody can connect
        known = proxy.connections
        proxy.mode = PASS
        until(lambda: proxy.connections >= known + 3, seconds=10)
        for _ in range(40):
            yield piece("and more ")
            time.sleep(0.05)  # the pages are looked at
        yield piece("\n\nIt is whole.")
        yield b"data: [DONE]\n\n"

    def answer(body: dict[str, Any]) -> Answer | dict[str, Any]:
        asked = str(body["messages"][-1]["content"])
        if "while it sleeps" in asked:
            return Answer(200, forget())
        return Answer(200, lose()) if "be cut off" in asked else say("done")

    model.aside = say("nothing")
    model.then(*[answer] * 20)
    made = runtime(llm_url=model.url, rate=100_000)
    with serving(made) as server, Proxy(server.url.removeprefix("http://")) as proxy:
        found = drive("return_driver.py", server, chromium, f"http://{proxy.address}")
    assert found == []


def test_the_script_is_right_by_its_types() -> None:
    """What its comments say of its values is checked as strictly as TypeScript can."""
    node = run("scripts/tool", "node")
    compiler = f"{run('scripts/npm')}/node_modules/.bin/tsc"
    flags = "--noEmit --allowJs --checkJs --strict --noUncheckedIndexedAccess --target es2023 --lib es2023,dom,dom.iterable --module esnext"
    done = subprocess.run(
        [compiler, *flags.split(), "functions/page/static/page.js"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=within(60),
        check=False,
        env={**os.environ, "PATH": f"{node}:{os.environ['PATH']}"},
    )
    assert done.stdout == ""
    assert done.returncode == 0
