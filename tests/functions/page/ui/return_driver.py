"""Leaves a chat in Chromium and comes back to it, in the environment of `scripts/tool browser`, and
prints what was not as it should be as JSON. It is started by `test_ui.py`, with a JSON object on
stdin.
"""

from __future__ import annotations

import json
import sys
from typing import Any
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from chat_tabs import CHAT, ChatTabs, is_over, read, wait
from driver import FLAGS, sign_in
from playwright.sync_api import Page, sync_playwright

HIDES = """(() => {
  let hidden = false, passed = 0;
  const now = Date.now, later = window.setTimeout;
  Object.defineProperty(document, "hidden", {get: () => hidden});
  Object.defineProperty(document, "visibilityState", {get: () => hidden ? "hidden" : "visible"});
  Date.now = () => now.call(Date) + passed;
  // a page in the background has its timers, and a phone that sleeps has none
  window.setTimeout = (act, wait, ...rest) =>
    later(act, wait === 20_000 ? IS_ASLEEP ? 1e9 : 100 : wait, ...rest);
  window.hide = (is, seconds = 0) => {
    hidden = is;
    passed += seconds * 1_000;
    document.dispatchEvent(new Event("visibilitychange"));
  };
})()"""
"""The page is told that it is hidden: every tab of playwright's is visible."""
SHOWN = """["talk", "rail", "line", "chats"].map(id => {
  const part = document.getElementById(id).cloneNode(true);
  for (const row of part.querySelectorAll(".fresh")) row.classList.remove("fresh");
  return part.innerHTML.replaceAll(' class=""', "").replaceAll(/\\s*([<>])\\s*/g, "$1");
}).join("\\n") + document.title"""
STREAMS = "navigator.locks.query().then(all => all.held.length)"
FOCUS = "[document.activeElement.id, document.activeElement.selectionStart].join()"


def send(tabs: ChatTabs, words: str) -> None:
    """Send a message as another program would, and wait until it is answered."""
    cookies = [f"{each['name']}={each['value']}" for each in tabs.context.cookies()]
    headers = {
        "cookie": "; ".join(cookies),
        "sec-fetch-site": "same-origin",
        "accept": "application/json",
    }

    def ask(path: str = "", body: bytes | None = None) -> Any:
        request = Request(f"{tabs.url}/ui/chat/{CHAT}{path}", body, headers)
        with urlopen(request, timeout=5) as answer:
            return json.load(answer)

    def is_answered() -> bool:
        try:
            return not ask("/state")["busy"]
        except OSError:  # this one was forgotten
            return False

    ask("", urlencode({"text": words}).encode())
    wait(is_answered)


def compare(tabs: ChatTabs, pages: list[Page], when: str) -> None:
    """Compare pages with one that is opened now."""
    fresh = tabs.open()
    for number, page in enumerate(pages, 1):
        try:
            wait(lambda: tabs.evaluate(page, SHOWN) == tabs.evaluate(fresh, SHOWN), 10)  # noqa: B023
        except AssertionError:
            ours, theirs = tabs.evaluate(page, SHOWN), tabs.evaluate(fresh, SHOWN)
            at = next((n for n, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b), 0)
            seen = f"{ours[at - 60 : at + 200]!r}, not {theirs[at - 60 : at + 200]!r}"
            tabs.check(False, f"{when}, tab {number} shows {seen}")
    fresh.close()


def sleep(tabs: ChatTabs, words: str, *, is_asleep: bool) -> None:
    """Go away with half a sentence written, and come back when something has been said."""
    page = tabs.open(HIDES.replace("IS_ASLEEP", str(is_asleep).lower()))
    wait(lambda: tabs.evaluate(page, STREAMS))
    page.locator("#text").press_sequentially("half a sentence")
    page.keyboard.press("ArrowLeft")
    tabs.evaluate(page, "hide(true)")
    if not is_asleep:
        wait(lambda: not tabs.evaluate(page, STREAMS))
    send(tabs, words)
    tabs.check(words not in read(page, "#talk") or is_asleep, "a hidden page has no stream")
    tabs.evaluate(page, "hide(false, 300)")
    compare(tabs, [page], f"after {words!r}")
    tabs.check(page.locator("#text").input_value() == "half a sentence", "what was typed is there")
    tabs.check(tabs.evaluate(page, FOCUS) == "text,14", "and the focus is where it was")
    page.locator("#text").fill("")
    page.close()


def cut(tabs: ChatTabs) -> None:
    """Lose every connection while an answer is written, with three tabs and a reload."""
    pages = [tabs.open() for _ in range(3)]
    first = pages[0]
    field = first.locator("#text")
    field.fill("be cut off")
    first.keyboard.press("Enter")
    field.press_sequentially("and then")
    wait(lambda: "Connecting again" in read(first, "#trouble"))
    wait(lambda: "after the cut" in read(first, "#words"))
    pages[1].reload()
    for page in pages:
        wait(lambda: "after the cut" in read(page, "#words") or is_over(page))  # noqa: B023
        tabs.check(page.locator("#trouble").is_hidden(), "it is connected again")
        wait(lambda: "It is whole." in read(page, ".answer .body"))  # noqa: B023
    compare(tabs, pages, "after a cut")
    tabs.check(field.input_value() == "and then", "what was typed meanwhile is there")
    tabs.check(tabs.evaluate(first, FOCUS) == "text,8", "and has the focus")


def main() -> None:
    """Go away and come back, and print what was not as it should be."""
    told = json.load(sys.stdin)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=told["chromium"], args=FLAGS, headless=True
        )
        state = sign_in(browser, told["url"], told["code"])
        context = browser.new_context(storage_state=state, viewport={"width": 1280, "height": 800})
        tabs = ChatTabs(context, told["url"])
        send(tabs, "before")
        sleep(tabs, "in the background", is_asleep=False)
        sleep(tabs, "while it sleeps", is_asleep=True)
        errors = [*tabs.errors]
        cut(tabs)  # of which the console tells
        browser.close()
    print(json.dumps([*tabs.found, *errors]))


if __name__ == "__main__":
    main()
