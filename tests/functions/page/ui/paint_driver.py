"""Opens pages with Chromium, in the environment of `scripts/tool browser`, and prints for each after
how many milliseconds it was painted and how many of processor time that took, as JSON. It is started
by `scripts/bench page`, with a JSON object on stdin.

`whole` are pages of which the last part must be there, `slow` is one that is opened over a slow
line.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from driver import FLAGS, sign_in
from playwright.sync_api import BrowserContext, Page, sync_playwright

LATENCY_MS = 300
BYTES_A_SECOND = 50_000
NOTE_PAINT = """addEventListener("load", () =>
  requestAnimationFrame(() => requestAnimationFrame(() => { window.wholeAt = performance.now(); })))"""
WHOLE_AT = "window.wholeAt"
FIRST_AT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"


def time_page(
    context: BrowserContext, url: str, moment: str, *, is_slow: bool = False
) -> tuple[float, float]:
    """Open a page in a tab of its own; return the milliseconds to a moment, which an expression
    tells once it is over, and those of processor time of the tab.
    """
    page = context.new_page()
    tools = context.new_cdp_session(page)
    tools.send("Performance.enable", {"timeDomain": "threadTicks"})
    if is_slow:
        tools.send("Network.enable")
        line = {"downloadThroughput": BYTES_A_SECOND, "uploadThroughput": BYTES_A_SECOND}
        tools.send(
            "Network.emulateNetworkConditions", {"offline": False, "latency": LATENCY_MS, **line}
        )
    page.add_init_script(NOTE_PAINT)
    page.goto(url, wait_until="load")
    took = read_moment(page, tools, moment)
    metrics = tools.send("Performance.getMetrics")["metrics"]
    work = next(each["value"] for each in metrics if each["name"] == "TaskDuration")
    page.close()
    return took, work * 1e3


def read_moment(page: Page, tools: Any, moment: str) -> float:
    for _ in range(400):
        answer = tools.send("Runtime.evaluate", {"expression": moment})
        found = answer["result"].get("value")
        if found:
            return float(found)
        page.wait_for_timeout(25)
    raise RuntimeError(f"{page.url} was not painted")


def main() -> None:
    """Measure each page several times, and print the least."""
    told = json.load(sys.stdin)
    url, runs = told["url"], told["runs"]
    found: dict[str, tuple[float, ...]] = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=told["chromium"], args=FLAGS, headless=True
        )
        state = sign_in(browser, url, told["code"])
        size: Any = {"width": 1280, "height": 800}

        def open_context() -> BrowserContext:
            return browser.new_context(storage_state=state, viewport=size)

        context = open_context()
        for name, path in told["whole"].items():
            time_page(context, url + path, WHOLE_AT)  # what it shares with others is kept
            times = [time_page(context, url + path, WHOLE_AT) for _ in range(runs)]
            found[name] = tuple(map(min, zip(*times, strict=True)))
        context.close()
        slow: dict[str, list[tuple[float, float]]] = {"cold": [], "warm": []}
        for _ in range(runs):
            context = open_context()
            for times in slow.values():
                times.append(time_page(context, url + told["slow"], FIRST_AT, is_slow=True))
            context.close()
        found |= {name: tuple(map(min, zip(*times, strict=True))) for name, times in slow.items()}
        browser.close()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
