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

import pytest

from functions.agent.access.web_codes import WebCodes
from functions.wiring import AgentRuntime
from tests.fakes.model import ScriptedModel, say
from tests.fakes.server import Answer
from tests.functions.page.browsing import Browser
from tests.functions.page.ui.visits import fill, list_visits
from tests.functions.serving import serving
from tests.functions.test_live_turns import piece
from tests.machine import within

ROOT = Path(__file__).parents[4]
WIDTHS = (1280, 390, 320)
SCHEMES = ("light", "dark")
KINDS = {
    "at 200 %": {"viewport": {"width": 640, "height": 400}, "device_scale_factor": 2},
    "forced colours": {"forced_colors": "active", "viewport": {"width": 390, "height": 800}},
    "without motion": {"reduced_motion": "reduce", "viewport": {"width": 1280, "height": 800}},
}
pytestmark = pytest.mark.ui


@pytest.fixture(scope="session")
def chromium() -> str:
    found = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
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


@pytest.mark.parametrize("words", ["plain", "hostile"])
def test_every_page_is_right_for_everybody(
    runtime: Callable[..., AgentRuntime], chromium: str, words: str
) -> None:
    python = f"{run('scripts/tool', 'browser')}/python"
    axe = f"{run('scripts/npm')}/node_modules/axe-core/axe.min.js"
    pictures = os.environ.get("PICTURES", "") if words == "plain" else ""
    if pictures:
        Path(pictures).mkdir(parents=True, exist_ok=True)
    made = runtime(library="builtin", rate=100_000)
    with serving(made) as server, Browser(server.url) as browser:
        fill(server, hostile=words == "hostile")
        browser.sign_in()
        codes = WebCodes(made.stores.kv, "main", made.app.clock.now)
        told = {
            "url": server.url,
            "code": codes.make("terminal:local", "owner"),
            "visits": list_visits(browser),
            "axe": axe,
            "chromium": chromium,
            "pictures": pictures,
            "widths": WIDTHS,
            "schemes": SCHEMES,
            "kinds": KINDS,
        }
        found = json.loads(
            run(python, str(Path(__file__).with_name("driver.py")), given=json.dumps(told))
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
    python = f"{run('scripts/tool', 'browser')}/python"
    made = runtime(llm_url=model.url, rate=100_000)
    with serving(made) as server:
        codes = WebCodes(made.stores.kv, "main", made.app.clock.now)
        told = {
            "url": server.url,
            "code": codes.make("terminal:local", "owner"),
            "chromium": chromium,
            "stop": within(0.6),
        }
        driver = Path(__file__).with_name("chat_driver.py")
        found = json.loads(run(python, str(driver), given=json.dumps(told)))
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
