"""Drops, pastes and records files in a chat with Chromium, in the environment of
`scripts/tool browser`, and prints what was wrong as JSON. It is started by `test_ui.py`, with a
JSON object on stdin.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from chat_tabs import ChatTabs, is_over, read, wait
from driver import FLAGS, sign_in
from playwright.sync_api import Page, sync_playwright

DEVICE = "--use-fake-device-for-media-stream"
ALLOWED = "--use-fake-ui-for-media-stream"
PLACES = ("header", "#chats", "#scroll", "#rail", "#say")
"""Where a file can be dropped."""
COPY = """(async () => {
  const canvas = Object.assign(document.createElement("canvas"), {width: 40, height: 30});
  canvas.getContext("2d").fillRect(5, 5, 20, 20);
  const picture = await new Promise(resolve => canvas.toBlob(resolve, "image/png"));
  const words = KINDS.map(kind => [kind, new Blob(["three"], {type: kind})]);
  const all = {"image/png": picture, ...Object.fromEntries(words)};
  await navigator.clipboard.write([new ClipboardItem(all)]);
})()"""
"""A picture is copied, with words of each of the KINDS."""
KEEP_STREAM = """(() => {
  const devices = navigator.mediaDevices;
  const ask = devices.getUserMedia.bind(devices);
  devices.getUserMedia = async (wanted) => window.stream = await ask(wanted);
})()"""
"""The microphone is kept, so that it can be pulled out."""


def drop(tabs: ChatTabs, page: Page, place: str, *files: str) -> None:
    """Drag files from a desktop to a place in the page, and let go of them."""
    box = page.locator(place).bounding_box()
    assert box is not None, place
    at = {"x": box["x"] + min(box["width"], 300) / 2, "y": box["y"] + min(box["height"], 60) / 2}
    tools = tabs.context.new_cdp_session(page)
    data = {"items": [], "files": list(files), "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        tools.send("Input.dispatchDragEvent", {"type": kind, **at, "data": data})
        if kind == "dragOver":
            wait(lambda: page.locator("#say.drops").count())
    tools.detach()
    tabs.check(not page.locator("#say.drops").count(), f"the field is as before: {place}")


def drop_files(tabs: ChatTabs, page: Page, folder: Path) -> None:
    """Drop a picture wherever it can be dropped, a file that is too large, and send one."""
    picture, large = folder / "bär.png", folder / "large.bin"
    for place in PLACES:
        drop(tabs, page, place, str(picture))
        wait(lambda: page.locator("#attached li img").count())
        chip = read(page, "#attached li")
        tabs.check("bär.png" in chip and " B" in chip, f"a chip says name and size: {chip}")
        page.get_by_label("Take back bär.png").click()
        tabs.check(not page.locator("#attached li").count(), f"and goes again: {place}")
    drop(tabs, page, "#scroll", str(large), str(picture))
    wait(lambda: "large.bin has more than 20" in read(page, "#trouble"))
    tabs.check(page.locator("#attached li").count() == 1, "the other one is taken")
    page.keyboard.press("Enter")
    wait(lambda: page.locator(".own img").count() == 1 and is_over(page))
    tabs.check(page.locator("#trouble").is_hidden(), "what was wrong before is not said any more")
    tabs.check(not page.locator("#attached li").count(), "it is sent")
    shows = 'document.querySelector(".own img").decode().then(() => true)'
    tabs.check(tabs.evaluate(page, shows), "what was sent is shown")


def paste(tabs: ChatTabs, page: Page) -> None:
    """Paste a picture as a browser, a desktop and a sheet copy it: cells are words."""
    field, chips = page.locator("#text"), page.locator("#attached li")
    for kinds in ([], ["text/html"], ["text/plain"], ["text/html", "text/plain"]):
        tabs.evaluate(page, COPY.replace("KINDS", json.dumps(kinds)))
        field.focus()
        page.keyboard.press("Control+V")
        wait(lambda: field.input_value() or chips.count())
        is_sheet = len(kinds) == 2
        tabs.check(field.input_value() == ("three" if is_sheet else ""), f"the words of {kinds}")
        tabs.check(chips.count() == (not is_sheet), f"the picture of {kinds}")
        if chips.count():
            page.get_by_label("Take back image.png").click()
        field.fill("")


def record(tabs: ChatTabs, page: Page) -> None:
    """Record by two taps, by holding and by keys; Esc drops what was recorded."""
    voice, trouble = page.locator("#voice"), page.locator("#trouble")

    def begin(act: Callable[[], object]) -> None:
        act()
        wait(lambda: "Recording · 1 s" in read(page, "#trouble"))

    def send(act: Callable[[], object], own: int) -> None:
        act()
        wait(lambda: page.locator(".own").count() == own and is_over(page))
        wait(lambda: read(page, ".own").count("what was said") == own - 1)
        tabs.check(trouble.is_hidden(), "nothing is recorded any more")

    begin(voice.click)
    page.keyboard.press("Escape")
    wait(trouble.is_hidden)
    begin(voice.click)
    send(voice.click, 2)
    voice.hover()
    begin(page.mouse.down)
    send(page.mouse.up, 3)
    begin(lambda: voice.press("Enter"))
    send(lambda: voice.press("Space"), 4)
    # pulled out, it sends what it has heard, and the next tap records again
    tabs.evaluate(page, KEEP_STREAM)
    begin(voice.click)
    send(lambda: tabs.evaluate(page, "stream.getTracks().forEach((track) => track.stop())"), 5)
    begin(voice.click)
    page.keyboard.press("Escape")
    wait(trouble.is_hidden)
    tabs.check(not page.locator("#voice.records").count(), "the microphone is off")


def refuse(tabs: ChatTabs, page: Page) -> None:
    """Tap the microphone where nobody allows it."""
    voice = page.locator("#voice")
    for _ in range(2):
        voice.click()
        wait(lambda: "microphone cannot be used" in read(page, "#trouble"))
    tabs.check(not page.locator("#voice.records").count(), "nothing is recorded")


def open_tabs(browser: Any, told: Any, state: Any) -> ChatTabs:
    context = browser.new_context(storage_state=state, viewport={"width": 1280, "height": 800})
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    return ChatTabs(context, told["url"])


def main() -> None:
    """Do what people do with files, and print what was not as it should be."""
    told = json.load(sys.stdin)
    found: list[str] = []
    with sync_playwright() as playwright:

        def launch(*flags: str) -> Any:
            return playwright.chromium.launch(
                executable_path=told["chromium"], args=[*FLAGS, DEVICE, *flags], headless=True
            )

        browser = launch(ALLOWED)
        state = sign_in(browser, told["url"], told["code"])
        tabs = open_tabs(browser, told, state)
        page = tabs.open()
        drop_files(tabs, page, Path(told["folder"]))
        paste(tabs, page)
        record(tabs, page)
        found += [*tabs.found, *tabs.errors]
        browser.close()
        browser = launch()
        tabs = open_tabs(browser, told, state)
        refuse(tabs, tabs.open())
        found += [*tabs.found, *tabs.errors]
        browser.close()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
