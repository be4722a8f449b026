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
    one_moment: str = "One moment …"
    pages: str = "Pages"
    offline: str = "offline"
    halted: str = "halted"
    sign_out: str = "Sign out"
    sign_out_everywhere: str = "Sign out everywhere"
    sign_in: str = "Sign in"
    code: str = "Code, key or admin token"
    code_help: str = "`uncaged web` prints a code, and /web in your private chat with me sends one."
    code_life: str = "A code works once, within 10 minutes."
    code_used: str = "That code was used already. Get a new one."
    code_old: str = "That code is too old. Get a new one."
    code_unknown: str = "There is no such code: look at it once more, or get a new one."
    key_unknown: str = "That key or token is not known: it is mistyped, was revoked or has ended."
    tries: str = "Too many tries from here. Wait a minute."
    person_gone: str = "Whoever that code is for may not talk to me any more."
    account: str = "Account"
    role: str = "Role"
    owner: str = "owner"
    member: str = "member"
    reader: str = "reader: numbers without texts"
    sign_ins: str = "Sign-ins"
    this_one: str = "this one"
    way: str = "With"
    way_code: str = "a code"
    way_token: str = "the admin token"
    way_key: str = "an access key"
    since: str = "Since"
    last_seen: str = "Last seen"
    ends: str = "A sign-in ends after 12 hours without use, and after 30 days."
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
        one_moment="Einen Moment …",
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
        code_used="Dieser Code wurde schon benutzt. Hol dir einen neuen.",
        code_old="Dieser Code ist zu alt. Hol dir einen neuen.",
        code_unknown="Diesen Code gibt es nicht: Sieh noch einmal nach, oder hol dir einen neuen.",
        key_unknown=(
            "Dieser Schlüssel ist unbekannt: Er ist vertippt, wurde zurückgezogen oder ist"
            " abgelaufen."
        ),
        tries="Zu viele Versuche von hier. Warte eine Minute.",
        person_gone="Wem dieser Code gehört, darf nicht mehr mit mir reden.",
        account="Konto",
        role="Rolle",
        owner="Besitzer",
        member="Mitglied",
        reader="Leser: Zahlen ohne Texte",
        sign_ins="Anmeldungen",
        this_one="diese",
        way="Mit",
        way_code="einem Code",
        way_token="dem Admin-Token",
        way_key="einem Zugriffsschlüssel",
        since="Seit",
        last_seen="Zuletzt",
        ends="Eine Anmeldung endet nach 12 Stunden ohne Nutzung, und nach 30 Tagen.",
        problem="Das hat nicht geklappt",
        typed="Was du geschrieben hast",
        back="Zurück",
        as_json="als JSON",
        nothing="Noch nichts.",
        signed_in_as="angemeldet als",
    ),
    "zh": Words(
        skip="跳到内容",
        one_moment="请稍等……",
        pages="页面",
        offline="离线",
        halted="已停止",
        sign_out="退出",
        sign_out_everywhere="退出所有设备",
        sign_in="登录",
        code="登录码、密钥或管理员令牌",
        code_help="`uncaged web` 会显示登录码；在和我的私聊里发送 /web 也能收到。",
        code_life="登录码十分钟内有效，只能用一次。",
        code_used="这个登录码已经用过了，请再要一个。",
        code_old="这个登录码已经过期，请再要一个。",
        code_unknown="没有这个登录码：请再核对一遍，或者再要一个。",
        key_unknown="不认识这个密钥：可能输错了、已撤销或已过期。",
        tries="这里尝试的次数太多，请等一分钟。",
        person_gone="这个登录码的主人已经不能和我说话了。",
        account="账户",
        role="角色",
        owner="主人",
        member="成员",
        reader="读者：只看数字，不看内容",
        sign_ins="登录记录",
        this_one="当前",
        way="方式",
        way_code="登录码",
        way_token="管理员令牌",
        way_key="访问密钥",
        since="开始",
        last_seen="最近使用",
        ends="十二小时不用，或满三十天，登录就会结束。",
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
