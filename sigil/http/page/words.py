"""The texts of the frame, in the languages that pages have."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

_TAG: Final = re.compile(r"([a-z]{2,3})(?:[-_][a-z0-9]{1,8})*\s*(?:;\s*q=([0-9.]{1,5}))?\s*")


@dataclass(frozen=True, slots=True)
class Words:
    """The texts of the frame in one language. Each is a sentence or a word as a page shows it."""

    skip: str = "Skip to the content"
    pages: str = "Pages"
    offline: str = "offline"
    halted: str = "halted"
    sign_out: str = "Sign out"
    sign_out_everywhere: str = "Sign out everywhere"
    sign_in: str = "Sign in"
    code: str = "Code, key or admin token"
    code_help: str = "`uncaged web` prints a code, and /web in your private chat with me sends one."
    code_life: str = "A code works once, within 10 minutes."
    problem: str = "That did not work"
    typed: str = "What you typed"
    back: str = "Back"
    as_json: str = "as JSON"
    nothing: str = "Nothing yet."
    signed_in_as: str = "signed in as"


ENGLISH: Final = Words()
WORDS: Final[Mapping[str, Words]] = {
    "en": ENGLISH,
    "de": Words(
        skip="Zum Inhalt springen",
        pages="Seiten",
        offline="offline",
        halted="angehalten",
        sign_out="Abmelden",
        sign_out_everywhere="Überall abmelden",
        sign_in="Anmelden",
        code="Code, Schlüssel oder Admin-Token",
        code_help=(
            "`uncaged web` zeigt einen Code, und /web in deinem privaten Chat mit mir schickt dir"
            " einen."
        ),
        code_life="Ein Code gilt einmal und zehn Minuten lang.",
        problem="Das hat nicht geklappt",
        typed="Was du geschrieben hast",
        back="Zurück",
        as_json="als JSON",
        nothing="Noch nichts.",
        signed_in_as="angemeldet als",
    ),
    "zh": Words(
        skip="跳到内容",
        pages="页面",
        offline="离线",
        halted="已停止",
        sign_out="退出",
        sign_out_everywhere="退出所有设备",
        sign_in="登录",
        code="登录码、密钥或管理员令牌",
        code_help="`uncaged web` 会显示登录码；在和我的私聊里发送 /web 也能收到。",
        code_life="登录码十分钟内有效，只能用一次。",
        problem="没有成功",
        typed="你输入的内容",
        back="返回",
        as_json="JSON",
        nothing="还没有内容。",
        signed_in_as="已登录：",
    ),
}


def choose_language(accepted: str, default: str = "en") -> str:
    """Return the code of the first language of a header `Accept-Language` that there are texts in,
    by the weights that a browser gives.
    """
    found: list[tuple[float, str]] = []
    for part in accepted.lower().split(",")[:20]:
        tag = _TAG.fullmatch(part.strip())
        if tag is None or tag[1] not in WORDS:
            continue
        try:
            weight = float(tag[2]) if tag[2] else 1.0
        except ValueError:
            continue
        found.append((-weight, tag[1]))
    # the order of equal weights is the browser's own
    return min(found, key=lambda each: each[0])[1] if found else default
