"""What Slack accepts: the documented rules, read strictly
(https://docs.slack.dev/reference/methods/chat.postMessage, …/block-kit/blocks).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

TEXT_LIMIT = 40_000
BLOCKS_LIMIT = 13_200
STREAM_LIMIT = 12_000
AREAS = {"rich_text_section", "rich_text_preformatted", "rich_text_quote"}
LIST_FIELDS = {"type", "elements", "style", "indent", "offset"}
STYLES = {"bold", "italic", "strike", "code"}
CHANNEL = re.compile(r"[CDGZ][A-Z0-9]{8,}")
"""What `files.completeUploadExternal` takes; a person's id is none."""
LIVE = re.compile(r"<[@!#][^>]*>|<[^>]*\|[^>]*>")


def message_problem(text: object, blocks: object) -> str:
    """Slack's word for why it refuses the message, empty when it takes it."""
    if blocks in (None, []):
        if not isinstance(text, str) or not text.strip():
            return "no_text"
        return "msg_too_long" if len(text) > TEXT_LIMIT else ""
    if not isinstance(blocks, list) or len(blocks) > 50:
        return "invalid_blocks"
    if len(json.dumps(blocks, ensure_ascii=False)) > BLOCKS_LIMIT:
        return "msg_blocks_too_long"
    return "" if all(map(_is_block, blocks)) else "invalid_blocks"


def stream_problem(text: str) -> str:
    """Slack's word for why it refuses text for a stream, empty when it takes it."""
    if not text:
        return "no_text"
    return "msg_too_long" if len(text) > STREAM_LIMIT else ""


def list_pings(text: str, blocks: list[dict[str, Any]]) -> list[str]:
    """What Slack would read as a mention, a link or a call of a whole channel in a message."""
    found = LIVE.findall(text)
    for block in blocks:
        if block["type"] == "rich_text":
            for area in list_areas(block):
                found += [
                    str(run) for run in area["elements"] if run["type"] not in ("text", "link")
                ]
        elif block["type"] == "section" and block["text"]["type"] == "mrkdwn":
            found += LIVE.findall(block["text"]["text"])
    return found


def list_areas(block: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The areas of rich text, each item of a list as one."""
    for area in block["elements"]:
        yield from area["elements"] if area["type"] == "rich_text_list" else [area]


def read_blocks(blocks: list[dict[str, Any]]) -> str:
    """The text that people see of rich text, an area a line."""
    areas = [area for block in blocks if block["type"] == "rich_text" for area in list_areas(block)]
    return "\n".join("".join(run["text"] for run in area["elements"]) for area in areas)


def _is_block(block: Mapping[str, Any]) -> bool:
    match block.get("type"):
        case "rich_text":
            areas = block.get("elements")
            return set(block) == {"type", "elements"} and bool(areas) and all(map(_is_area, areas))
        case "actions":
            keys = block.get("elements")
            if not isinstance(keys, list) or not 1 <= len(keys) <= 25:
                return False
            names = {key.get("action_id") for key in keys}
            return len(names) == len(keys) and all(map(_is_button, keys))
        case "section":
            return _is_text(block.get("text"), 3_000)
    return False


def _is_area(area: Mapping[str, Any]) -> bool:
    runs = area.get("elements")
    if area.get("type") == "rich_text_list":
        return _is_list(area) and bool(runs) and all(map(_is_area, runs or ()))
    if area.get("type") not in AREAS or not isinstance(runs, list) or not runs:
        return False
    if area["type"] == "rich_text_preformatted":
        return all(run.get("type") in ("text", "link") and "style" not in run for run in runs)
    return all(map(_is_run, runs))


def _is_list(area: Mapping[str, Any]) -> bool:
    is_known = set(area) <= LIST_FIELDS and area.get("style") in ("bullet", "ordered")
    return is_known and 0 <= area.get("indent", 0) <= 8 and area.get("offset", 1) > 0


def _is_run(run: Mapping[str, Any]) -> bool:
    style = run.get("style", {"bold": True})
    is_style = (
        bool(style) and set(style) <= STYLES and all(value is True for value in style.values())
    )
    if not is_style or not isinstance(run.get("text"), str) or not run["text"]:
        return False
    if run.get("type") == "link":
        url = run.get("url", "")
        known = set(run) <= {"type", "url", "text", "style"}
        return known and url.startswith(("http://", "https://")) and len(url) <= 3_000
    return run.get("type") == "text" and set(run) <= {"type", "text", "style"}


def _is_button(key: Mapping[str, Any]) -> bool:
    return (
        key.get("type") == "button"
        and _is_text(key.get("text"), 75)
        and key["text"]["type"] == "plain_text"
        and 0 < len(key.get("value", "")) <= 2_000
        and 0 < len(key.get("action_id", "")) <= 255
    )


def _is_text(text: object, most: int) -> bool:
    if not isinstance(text, dict) or text.get("type") not in ("plain_text", "mrkdwn"):
        return False
    return isinstance(text.get("text"), str) and 0 < len(text["text"]) <= most
