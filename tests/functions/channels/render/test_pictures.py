"""SVG pictures leave as files, and only those that do nothing but draw."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from functions.channels.base import Busy, Reply
from functions.channels.render.pictures import PICTURES_MOST, take_pictures
from functions.channels.telegram.channel import Telegram
from functions.texts.en import TEXTS as ENGLISH
from tests.fakes.bot_api import BotApi
from tests.functions.channels.telegram.test_send import GROUP, send
from tests.tables import each_row

NAMESPACE = 'xmlns="http://www.w3.org/2000/svg"'
CIRCLE = f'<svg {NAMESPACE} viewBox="0 0 9 9"><circle r="4" fill="#0072B2"/></svg>'
LIBRARY = Path(__file__).parents[4] / "capabilities"


def drawn_by_the_library() -> list[str]:
    found = []
    for name in ("chart-svg", "qr-svg"):
        manifest = tomllib.loads((LIBRARY / name / "sigil.toml").read_text(encoding="utf-8"))
        for test in manifest["test"]:
            output = test.get("output")
            picture = output.get("svg") if isinstance(output, dict) else output
            if isinstance(picture, str):
                found.append(picture)
    return found


@each_row("picture", drawn_by_the_library())
def test_what_the_library_draws_is_a_picture(picture: str) -> None:
    assert take_pictures(f"here:\n```svg\n{picture}\n```") == ("here:", (f"{picture}\n",))


@pytest.mark.parametrize(
    "text",
    [
        f"before\n```svg\n{CIRCLE}\n```\nafter",
        f"before\n~~~~ xml\n{CIRCLE}\n~~~~\nafter",
        f"before\n{CIRCLE}\nafter",
        f'before\n<?xml version="1.0"?>\n{CIRCLE}\nafter',
        "before\n" + CIRCLE.replace("><", ">\n<").replace(f" {NAMESPACE}", "") + "\nafter",
    ],
)
def test_a_picture_is_a_whole_code_block_or_begins_at_a_lines_beginning(text: str) -> None:
    rest, (picture,) = take_pictures(text)
    assert rest == "before\nafter"
    assert NAMESPACE in picture
    assert picture.endswith("</svg>\n")


@each_row(
    "inside",
    [
        "<script>alert(1)</script>",
        '<g onload="alert(1)"/>',
        '<a href="javascript:alert(1)"><circle r="1"/></a>',
        '<use href="https://evil.example/x.svg#a"/>',
        '<use xmlns:x="http://www.w3.org/1999/xlink" x:href=" &#104;ttps://evil.example/#a"/>',
        '<image href="#a"/>',
        '<foreignObject><p xmlns="http://www.w3.org/1999/xhtml">x</p></foreignObject>',
        '<animate attributeName="href" to="javascript:alert(1)"/>',
        '<rect fill="url(https://evil.example/x)"/>',
        "<rect style=\"fill: url( 'https://evil.example/x')\"/>",
        '<rect style="background: image-set(&quot;https://evil.example&quot; 1x)"/>',
        "<style>@import 'https://evil.example/x.css';</style>",
        r"<style>rect { fill: u\72l(https://evil.example) }</style>",
        "<style><![CDATA[rect { background: src('https://evil.example') }]]></style>",
        r'<rect filter="\75 rl(https://evil.example/x.svg#f)"/>',
        "<rect cursor=\"image-set('https://evil.example/x.cur' 1x), auto\"/>",
        f"<style>{'a-' * 40_000}</style>",
        '<?xml-stylesheet href="https://evil.example/x.css"?>',
        '<g xml:base="https://evil.example/"/>',
        "<circle>",
        "&unknown;",
        f"<svg {NAMESPACE}/>",
    ],
)
def test_what_could_do_more_than_draw_stays_text(inside: str) -> None:
    text = f"```svg\n{CIRCLE.replace('<circle', f'{inside}<circle')}\n```"
    assert take_pictures(text) == (text, ())


@pytest.mark.parametrize(
    "before", ['<!DOCTYPE svg [<!ENTITY a "b">]>', '<?xml version="1.0" encoding="utf-7"?>']
)
def test_a_document_of_another_kind_stays_text(before: str) -> None:
    assert take_pictures(f"```svg\n{before}\n{CIRCLE}\n```")[1] == ()


@each_row(
    "text",
    [
        f"```js\nconst a = `\n{CIRCLE}\n`\n```",
        f"```html\n{CIRCLE}\n```",
        f"```svg\n{CIRCLE}",
        "<svg " * 5_000,
        "```svg\n<svg\n" * 5_000,
        f"see {CIRCLE} here",
        "<svgs>",
    ],
)
def test_everything_else_stays_as_it_is(text: str) -> None:
    assert take_pictures(text) == (text, ())


def test_a_style_that_only_draws_is_let_through() -> None:
    style = "<style>rect { fill: rgb(1 2 3); stroke: url(#g) }</style>"
    more = f'{style}<rect style="transform: rotate(3deg)" aria-label="Sales (2024) a@b"/>'
    assert take_pictures(CIRCLE.replace("<circle", f"{more}<circle"))[1]


def test_a_picture_is_sent_as_a_file_after_the_text(telegram: Telegram, bot_api: BotApi) -> None:
    assert send(telegram, f"It is here:\n\n```svg\n{CIRCLE}\n```\n\nEnjoy.") == [1]
    assert [message["text"] for message in bot_api.messages] == ["It is here:\n\nEnjoy."]
    (sent,) = bot_api.documents
    assert sent["document"] == {"name": "picture.svg", "content": f"{CIRCLE}\n"}


def test_pictures_alone_are_sent_each_once_and_go_on_where_they_stopped(
    telegram: Telegram, bot_api: BotApi
) -> None:
    text = "\n".join([CIRCLE] * (PICTURES_MOST + 1))
    assert send(telegram, text, GROUP, reply_to="7") == list(range(1, PICTURES_MOST + 1))
    assert len(bot_api.messages) == 1
    assert [document["document"]["name"] for document in bot_api.documents] == [
        "picture.svg",
        *(f"{number}-picture.svg" for number in range(2, PICTURES_MOST + 1)),
    ]
    bot_api.documents.clear()
    bot_api.fail(429, "slow down", method="sendDocument", parameters={"retry_after": 3})
    left: list[int] = []
    with pytest.raises(Busy):
        telegram.send(Reply(GROUP, text, start=2), left.append)
    assert left == []
    assert send(telegram, text, start=3) == [4]
    assert [document["document"]["name"] for document in bot_api.documents] == [
        "3-picture.svg",
        "4-picture.svg",
    ]


def test_a_picture_alone_points_at_what_it_answers(telegram: Telegram, bot_api: BotApi) -> None:
    send(telegram, CIRCLE, GROUP, reply_to="7")
    assert bot_api.documents[0]["reply_parameters"]["message_id"] == 7


def test_a_chat_that_takes_no_files_is_told_of_the_picture(
    telegram: Telegram, bot_api: BotApi
) -> None:
    bot_api.fail(400, "Bad Request: not enough rights to send documents", method="sendDocument")
    send(telegram, CIRCLE)
    assert [message["text"] for message in bot_api.messages] == [ENGLISH.no_picture]


def test_a_picture_follows_its_group_to_its_new_id(telegram: Telegram, bot_api: BotApi) -> None:
    bot_api.fail(
        400,
        "group chat was upgraded",
        method="sendDocument",
        parameters={"migrate_to_chat_id": -1009},
    )
    send(telegram, f"{CIRCLE}\n{CIRCLE}", GROUP)
    assert [document["chat_id"] for document in bot_api.documents] == [-1009, -1009]
