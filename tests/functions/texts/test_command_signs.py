"""Every text of ours names commands as they are typed where it is read."""

from __future__ import annotations

import inspect
import re

from functions.agent.commands.table import ALIASES, COMMANDS
from functions.channels.platforms import PLATFORMS, find_command_sign
from functions.texts.command_signs import write_commands
from functions.texts.en import Texts
from functions.texts.languages import list_codes, load_texts
from tests.functions.texts.test_languages import patterns
from tests.tables import each_row

NAMES = "|".join((*COMMANDS, *ALIASES))
SLASHED = re.compile(rf"/(?:\{{|(?:{NAMES})(?![a-z/]))")
"""A slash that could be that of a command. `km/h` and `/setprivacy` have none."""
ROWS = [
    (about.platform, code)
    for about in PLATFORMS.values()
    if about.command_sign != "/"
    for code in list_codes()
]


@each_row("platform, code", ROWS)
def test_no_text_has_a_slash_where_none_can_be_typed(platform: str, code: str) -> None:
    sign = find_command_sign(f"{platform}-shop:5")
    typed = load_texts(code, sign)
    plain = dict(patterns(load_texts(code)))
    assert typed.code == code
    changed = 0
    for place, text in patterns(typed):
        assert not SLASHED.search(re.sub(r"/uncaged |https?:\S+|\{used:,\} / ", "", text)), place
        count = len(SLASHED.findall(plain[place]))
        # nothing else is touched
        assert text.count(sign) == plain[place].count(sign) + count, place
        assert len(text) == len(plain[place]) + count * (len(sign) - 1), place
        changed += bool(count)
    assert changed > 90
    for name, method in vars(Texts).items():
        if inspect.isfunction(method):
            assert not SLASHED.search(inspect.getsource(method)), name


def test_where_a_slash_is_typed_the_texts_are_the_same_ones() -> None:
    assert all(
        load_texts(code, find_command_sign(chat)) is load_texts(code)
        for code in list_codes()
        for chat in ("telegram:5", "http:web", "terminal:default", "")
    )


def test_paths_addresses_and_names_of_no_command_stay() -> None:
    kept = "/usr/bin/help, ~/new, https://e.org/help, km/new, /newer, /help/me, //stop, a:/new"
    assert write_commands(kept, "!") == kept
    assert write_commands("`/help`, (/new) 发送/help查看 /{name}.", "!") == (
        "`!help`, (!new) 发送!help查看 !{name}."
    )
