"""Goes through the pages with Chromium, in the environment of `scripts/tool browser`, and prints
what it found as JSON. It is started by `test_ui.py`, with a JSON object on stdin.

Expressions are evaluated over the protocol of the developer tools: the pages' own policy refuses
the `eval` by which playwright would do it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
FOCUS = """(() => {
  const element = document.activeElement;
  const frames = [element, element.parentElement, element.closest('form')].filter(Boolean);
  const marks = e => (s => s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) > 0
    || e !== element && s.boxShadow !== 'none')(getComputedStyle(e));
  return {name: element.tagName, text: (element.textContent || element.id).trim().slice(0, 40),
    seen: frames.some(marks),
    top: element.getBoundingClientRect().top, here: element === document.body};
})()"""


class Looker:
    """A page of a browser, and what went wrong in it."""

    def __init__(self, page: Page, url: str, axe: str) -> None:
        self.page = page
        self.url = url
        self.axe = axe
        self.errors: list[str] = []
        self.foreign: list[str] = []
        self.tools = page.context.new_cdp_session(page)
        page.on("console", self._note_message)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: self._note_request(request.url))
        page.on("dialog", lambda dialog: (self.errors.append("dialog"), dialog.dismiss()))

    def _note_message(self, message: Any) -> None:
        is_status = message.text.startswith("Failed to load resource") and "404" in message.text
        if message.type == "error" and not (
            is_status and "no-such-page" in message.location["url"]
        ):
            self.errors.append(message.text[:200])

    def _note_request(self, url: str) -> None:
        if not url.startswith((self.url, "data:", "blob:")):
            self.foreign.append(url[:200])

    def evaluate(self, expression: str) -> Any:
        answer = self.tools.send(
            "Runtime.evaluate",
            {"expression": expression, "awaitPromise": True, "returnByValue": True},
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(json.dumps(answer["exceptionDetails"])[:500])
        return answer["result"].get("value")

    def open(self, path: str) -> None:
        self.page.goto(f"{self.url}/ui{path}", wait_until="load")

    def look(self, path: str, *, with_axe: bool = True) -> list[str]:
        """Open a page, and return what is wrong with it."""
        self.errors.clear()
        self.foreign.clear()
        self.open(path)
        found = [f"console: {each}" for each in self.errors]
        found += [f"foreign request: {each}" for each in self.foreign]
        over = self.evaluate("document.documentElement.scrollWidth - innerWidth")
        if over > 0:
            found.append(f"{over} pixels sideways: {self.evaluate(WIDE)}")
        if self.evaluate("document.title").startswith("broken"):
            found.append("a script of the content has run")
        if with_axe:
            self.evaluate(self.axe)
            broken = self.evaluate(
                f"axe.run(document, {{runOnly: {json.dumps(TAGS)}}}).then(r => r.violations.map("
                "v => v.id + ': ' + v.nodes.slice(0, 3).map(n => n.html.slice(0, 120)).join(' | ')))"
            )
            found += [f"axe: {each}" for each in broken]
        return found


WIDE = """[...document.querySelectorAll('main *, header *')].filter(
  e => e.getBoundingClientRect().right > innerWidth + 1).slice(0, 3).map(
  e => e.outerHTML.slice(0, 100)).join(' | ')"""


def sign_in(browser: Browser, url: str, code: str) -> Any:
    """Sign in with the keys alone, and return what the browser keeps of it."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{url}/ui")
    page.locator("#field-code:focus").wait_for()  # by itself
    page.keyboard.type(code)
    page.keyboard.press("Enter")
    page.wait_for_url(lambda there: not there.endswith("/login"))
    state = context.storage_state()
    context.close()
    return state


def walk_by_keys(looker: Looker, path: str) -> list[str]:
    """Go through everything that takes the focus, and return what cannot be seen or left."""
    looker.open(path)
    found = []
    looker.evaluate("document.querySelector('a').focus({focusVisible: true})")
    first = looker.evaluate(FOCUS)  # where a field has the focus first, this is before it
    for _ in range(400):  # a chat of hostile words has some two hundred buttons and links
        looker.page.keyboard.press("Tab")
        focus = looker.evaluate(FOCUS)
        if focus["here"]:
            break  # it has left the page
        if not focus["seen"]:
            found.append(f"no outline: {focus['name']} {focus['text']}")
    else:
        found.append("the keys do not get through the page")
    if first.get("name") != "A" or first.get("top", -1) < 0:
        found.append(f"the first thing is no visible way to the content: {first}")
    return found


@contextmanager
def opened(browser: Browser, state: Any, **options: Any) -> Iterator[BrowserContext]:
    context = browser.new_context(storage_state=state, **options)
    try:
        yield context
    finally:
        context.close()


def main() -> None:
    """Read what to visit, go there, and print what is wrong, by what was done."""
    told = json.load(sys.stdin)
    url, visits = told["url"], told["visits"]
    axe = Path(told["axe"]).read_text(encoding="utf-8")
    pictures = Path(told["pictures"]) if told["pictures"] else None
    found: dict[str, list[str]] = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=told["chromium"], args=FLAGS, headless=True
        )
        state = sign_in(browser, url, told["code"])
        for scheme in told["schemes"]:
            for width in told["widths"]:
                size = {"width": width, "height": 800}
                with opened(
                    browser, state, viewport=size, color_scheme=scheme, has_touch=width < 600
                ) as context:
                    looker = Looker(context.new_page(), url, axe)
                    for path in visits:
                        name = f"{path or '/'} {width} {scheme}"
                        found[name] = looker.look(path)
                        if pictures:
                            file = f"{path.strip('/').replace('/', '-') or 'first'}-{width}-{scheme}.png"
                            looker.page.screenshot(path=pictures / file[-200:], full_page=False)
        for name, options in told["kinds"].items():
            with opened(browser, state, **options) as context:
                looker = Looker(context.new_page(), url, axe)
                for path in visits:
                    found[f"{path or '/'} {name}"] = looker.look(path, with_axe=False)
        with opened(browser, state) as context:
            page = context.new_page()
            page.set_content(f"<a href='{url}/ui/account?x=1'>there</a>")  # another site's
            page.locator("a").click()
            page.wait_for_url(f"{url}/ui/account?x=1")
            page.locator("main table").wait_for()
            found["/account by a link from elsewhere"] = []
        with opened(browser, None, viewport={"width": 390, "height": 800}) as context:
            looker = Looker(context.new_page(), url, axe)
            found["/login signed out"] = looker.look("/login")
            if pictures:
                looker.page.screenshot(path=pictures / "sign-in-390-light.png")
        with opened(browser, state) as context:
            looker = Looker(context.new_page(), url, axe)
            for path in visits:
                found[f"{path or '/'} by keys"] = walk_by_keys(looker, path)
        with opened(browser, state, java_script_enabled=False) as context:
            page = context.new_page()
            for path in visits:
                page.goto(f"{url}/ui{path}")
                is_empty = len(page.locator("main").inner_text().strip()) < 2
                found[f"{path or '/'} without a script"] = ["it is empty"] if is_empty else []
        browser.close()
    print(json.dumps({name: problems for name, problems in found.items() if problems}))
    print(len(found), file=sys.stderr)


if __name__ == "__main__":
    main()
