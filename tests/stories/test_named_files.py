"""An answer names files, and each stands where it is named: kept ones of the chat, and those of the
workspace. Nobody names another chat's.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

import httpx
import pytest

from functions.agent.session.document import Outgoing
from functions.agent.workspace.files import Writer
from functions.channels.base import Reply
from functions.channels.slack.channel import Slack
from functions.channels.telegram.channel import Telegram
from functions.events import Button
from functions.file_links import FileLinks
from functions.reply_sender import send_outbox
from functions.sent_parts import SentParts
from functions.wiring import AgentRuntime
from sigil.errors import UsageError
from sigil.protocol import Caller
from sigil.registry import LocalRegistry
from sigil.storage.evolve import evolve
from sigil.storage.kept_files import FileContent, KeptFiles
from sigil.storage.kv import keys
from sigil.wiring import LazyRegistry
from tests.fakes import github as github_fake
from tests.fakes import line as line_fake
from tests.fakes.bot_api import BotApi
from tests.fakes.discord import DiscordServer, open_discord
from tests.fakes.github import GitHubServer
from tests.fakes.line import LineServer
from tests.fakes.mcp import FakeMcp
from tests.fakes.model import ScriptedModel, call, say
from tests.fakes.slack import SlackWorkspace
from tests.functions.people import GUEST
from tests.functions.serving import Served, serving
from tests.machine import within
from tests.pictures import as_image, make_png
from tests.sigil.tool_importer import ToolImporter

PNG = make_png()
QUERY = call(("sigil_query", {"query": "greet somebody"}))


def import_art(runtime: AgentRuntime, fake: FakeMcp, *bodies: bytes) -> None:
    """Let a tool return pictures."""
    registry = runtime.app.registry
    if isinstance(registry, LazyRegistry):
        registry = registry._opener()
    assert isinstance(registry, LocalRegistry)
    ToolImporter(registry).import_tools({"name": "art", "url": fake.address})
    fake.does["greet"] = lambda given: {"content": [as_image(body) for body in bodies]}


def drawing(write: Callable[[list[str]], str], seen: list[str] | None = None) -> list[Any]:
    """A model that calls the tool and then writes an answer with the ids that it was told."""

    def answer(body: dict[str, Any]) -> dict[str, Any]:
        found = re.findall(r'"id":"(f[0-9a-f]{5})"', str(body["messages"][-1]["content"]))
        if seen is not None:
            seen.extend(found)
        return say(write(found))

    return [QUERY, call(("cap_art_greet", {"name": "Ada"})), answer]


def test_a_picture_stands_where_the_answer_names_it_over_http_and_no_other_chat_names_it(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel
) -> None:
    seen: list[str] = []
    opened = runtime(llm_url=model.url, loopback=True)
    with FakeMcp() as fake, serving(opened) as server:
        import_art(opened, fake, PNG, make_png("two"))
        text = "Before.\n\n![Sales]({0})\n\nAfter, see [the table]({0}) and ![no](file:f00000)."

        def write(ids: list[str]) -> str:
            return text.format(f"file:{ids[1]}")

        model.then(*drawing(write, seen))
        answer = server.post("/chat", json={"session": "a", "text": "draw"}).json()
        second, first = answer["files"]
        assert answer["reply"] == text.format(second["url"])
        assert server.client.get(second["url"]).content == make_png("two")
        assert server.client.get(first["url"]).content == PNG

        # in a later turn, and in another chat
        model.then(say(f"![again](file:{seen[0]})"), say(f"![mine](file:{seen[0]})"))
        again = server.post("/chat", json={"session": "a", "text": "again"}).json()
        assert again["reply"] == f"![again]({first['url']})"
        assert [file["id"] for file in again["files"]] == [first["id"]]
        other = server.post("/chat", json={"session": "b", "text": "show a's"}).json()
        assert other["reply"] == f"![mine](file:{seen[0]})"
        assert "files" not in other


WORDLESS = {
    "![ ](<file:{0}>)": "![ ]({url})",
    "[](<file:{0}>)": "[picture.png]({url})",
    "[![a](file:{0})](file:{0})": "![a]({url}) [a]({url})",
    "[](<file:none.md>)": "none.md",
    f"{' '.join(f'[a](file:{number}.md)' for number in range(40))} [b](file:{{0}})": "[b]({url})",
}
"""What a model writes of a picture alone, and what a reader gets."""


def test_an_answer_without_words_is_the_file_that_it_names(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel
) -> None:
    opened = runtime(llm_url=model.url, loopback=True)
    with FakeMcp() as fake, serving(opened) as server:
        import_art(opened, fake, PNG)
        for written, read in WORDLESS.items():
            model.then(*drawing(lambda ids: written.format(*ids)))  # noqa: B023
            answer = server.post("/chat", json={"session": "a", "text": "draw"}).json()
            [file] = answer["files"]
            assert answer["reply"].endswith(read.format(**file))


def test_a_picture_that_is_too_wide_for_telegram_is_a_document(
    live: Callable[..., Any], model: ScriptedModel
) -> None:
    wide = PNG[:16] + (9_999).to_bytes(4, "big") + (600).to_bytes(4, "big") + PNG[24:]
    with FakeMcp() as fake, live(library="none", loopback=True) as agent:
        import_art(agent.server.runtime, fake, PNG, wide)
        model.then(
            *drawing(
                lambda ids: f"One.\n![a](file:{ids[0]})\nTwo [wide](file:{ids[1]}) here.\n\nThree."
            )
        )
        agent.write("draw", GUEST)
        agent.until(lambda: bool(agent.bot.messages) and agent.bot.messages[-1]["text"] == "Three.")
        texts = [each["text"] for each in agent.bot.messages]
        assert texts == ["One.", "Two wide here.", "Three."]
        assert [len(agent.bot.photos), len(agent.bot.documents)] == [1, 1], "it is too wide"


SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><path d="M0 0h9v9z"/></svg>'


def test_files_of_the_workspace_and_the_drawing_itself_go_out(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel
) -> None:
    opened = runtime(llm_url=model.url)
    deploy_drawing(opened, SVG)
    chat = keys.session_of("main", "http:admin:a")
    own, other = keys.escape("main"), keys.session_of("main", "http:admin:b")
    writer = Writer("http:admin")
    opened.app.open_workspace(own).write("reports/Bericht für Q3.md", b"# Q3", writer)
    opened.app.open_workspace(own).write("reports/lie.png", b"no picture", writer)
    opened.app.open_workspace(chat).write("received/cat.png", PNG, writer)
    opened.app.open_workspace(other).write("received/theirs.txt", b"secret", writer)
    names = ["reports/Bericht für Q3.md", "reports/lie.png", "received/cat.png"]
    closed = ["received/theirs.txt", "../etc/passwd", "reports/none.md", "/etc/passwd"]
    lines = [f"[{name}](file:{name})" for name in (*names, *closed, "picture.svg")]
    model.then(
        call(("sigil_query", {"query": "draw"})),
        call(("cap_draw", {})),
        say("\n\n".join([*lines, "```\n![x](file:reports/lie.png)\n```"])),
    )
    with serving(opened) as server:
        answer = server.post("/chat", json={"session": "a", "text": "show"}).json()
        files = answer["files"]
        read = [server.client.get(file["url"]).content for file in files]
    assert [(file["name"], file["type"]) for file in files] == [
        ("Bericht-für-Q3.md", "text/markdown"),
        ("lie.png", "application/octet-stream"),
        ("cat.png", "image/png"),
        ("picture.svg", "image/svg+xml"),
    ]
    assert read == [b"# Q3", b"no picture", PNG, SVG.encode()]
    for name in closed:
        assert f"[{name}](file:{name})" in answer["reply"]
    assert "```\n![x](file:reports/lie.png)\n```" in answer["reply"]
    assert "hands it out as SVG" in str(model.bodies[-1])
    assert "file:" not in str(model.bodies[0]["messages"])


PUBLIC = "https://agent.example.org/bot"


def name_all(*ids: str) -> list[Any]:
    """A model that names a picture, a picture in a line, and not the third."""
    return drawing(
        lambda ids: f"One.\n\n![a](file:{ids[0]})\n\nSee [it](file:{ids[1]}) there.", list(ids)
    )


def test_line_and_github_get_links_that_open_one_file_for_a_week(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel
) -> None:
    bodies = [PNG, b"%PDF-1.7 x", make_png("three")]
    with FakeMcp() as fake, LineServer() as line, GitHubServer() as github:
        platforms = {
            "line_api": line.url,
            "line_token": line_fake.TOKEN,
            "line_secret": line_fake.SECRET,
            "github_api": github.url,
            "github_token": github_fake.TOKEN,
            "github_secret": github_fake.SECRET,
            "github_repositories": github_fake.REPOSITORY,
        }
        opened = runtime(
            llm_url=model.url, loopback=True, access="open", public_url=PUBLIC, **platforms
        )
        with serving(opened) as server:
            import_art(opened, fake, *bodies)
            model.then(*name_all())
            post_to_line(server, 1)
            first, picture, second, other = wait_for(line.changed, lambda: line.messages, 4)
            assert (first["text"], first["by"]) == ("One.", "reply")
            assert [picture["type"], other["type"]] == ["image", "image"]
            said = re.fullmatch(rf"See it \(({PUBLIC}/\S+\.pdf)\) there\.", second["text"])
            assert said
            link, document, third = picture["originalContentUrl"], said[1], other["previewImageUrl"]
            check_links(server, opened, {link: PNG, document: bodies[1], third: bodies[2]})

            model.then(*name_all())
            request = github_fake.deliver(
                "issue_comment", github_fake.make_comment(1, f"@{github_fake.BOT} draw")
            )
            assert post(server, "/webhook/github", request) == 200
            [comment] = wait_for(github.changed, github.texts, 1)
            assert re.fullmatch(
                rf"One\.\n\n!\[a\]\({PUBLIC}/\S+\.png\)\n\nSee \[it\]\({PUBLIC}/\S+\.pdf\) there\."
                rf"\n\n!\[picture\S*\.png\]\({PUBLIC}/\S+\.png\)",
                comment,
            )

        closed = runtime(llm_url=model.url, loopback=True, access="open", **platforms)
        with serving(closed) as server:
            model.then(*name_all())
            post_to_line(server, 2)
            *_, text, note = wait_for(line.changed, lambda: line.messages, 6)
            assert text["text"] == "One.\n\na\n\nSee it there."
            assert note["text"].count("A file belongs here") == 3


def deploy_drawing(runtime: AgentRuntime, drawing: str) -> None:
    """Let a capability draw."""
    spec = {"name": "draw", "description": "draw", "execute": f"return '{drawing}'"}
    spec |= {"schema": {"type": "object", "properties": {}}}
    runtime.app.registry.deploy(spec, Caller("main"))


def test_drawings_and_the_files_of_a_table_have_addresses_on_line_and_github(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel
) -> None:
    with FakeMcp() as fake, LineServer() as line, GitHubServer() as github:
        opened = runtime(
            llm_url=model.url,
            loopback=True,
            access="open",
            public_url=PUBLIC,
            line_api=line.url,
            line_token=line_fake.TOKEN,
            line_secret=line_fake.SECRET,
            github_api=github.url,
            github_token=github_fake.TOKEN,
            github_secret=github_fake.SECRET,
            github_repositories=github_fake.REPOSITORY,
        )
        with serving(opened) as server:
            import_art(opened, fake, PNG)
            model.then(*drawing(lambda ids: f"| a |\n|---|\n| [b](file:{ids[0]}) |"))
            post_to_line(server, 1)
            table, note = wait_for(line.changed, lambda: line.messages, 2)
            assert table["text"] == "a\n• b"
            assert re.fullmatch(rf"picture\.png: {PUBLIC}/\S+\.png", note["text"])

            deploy_drawing(opened, SVG)
            script = [call(("sigil_query", {"query": "draw"})), call(("cap_draw", {})), say("So.")]
            model.then(*script)
            post_to_line(server, 2)
            *_, words, picture = wait_for(line.changed, lambda: line.messages, 4)
            assert (words["text"], picture["type"]) == ("So.", "image")
            link = picture["originalContentUrl"].removeprefix(PUBLIC)
            assert server.client.get(link).content.startswith(b"\x89PNG")

        kept = len(list_kept(opened))
        session = "github:octocat.hello.world.7"
        put_into_outbox(Outgoing("github:1", session, f"So.\n\n```svg\n{SVG}\n```"), opened)
        key = keys.session_of("main", session)
        for lives in (0, 99):
            channel = Mortal(opened.channels["github"], lives)
            process = replace(opened, channels={"github": channel}, sent_parts=SentParts())
            with suppress(Killed):
                send_outbox(opened.app.sessions.open(key), process)
        [comment] = github.texts()
        assert re.fullmatch(rf"So\.\n\n!\[picture\.png\]\({PUBLIC}/\S+\.png\)", comment)
        assert len(list_kept(opened)) == kept + 1


def put_into_outbox(reply: Outgoing, runtime: AgentRuntime) -> None:
    """Let a reply be the next one that leaves."""
    opened = runtime.app.sessions.open(keys.session_of("main", reply.session))
    runtime.app.sessions.save(opened, evolve(opened.document, outbox=(reply,)))


def list_kept(runtime: AgentRuntime) -> list[str]:
    """The files that are kept for all chats, by their marks."""
    return [sort for sort, _ in runtime.app.kv.scan(keys.file_mark(0, "").partition)]


def check_links(server: Served, opened: AgentRuntime, links: dict[str, bytes]) -> None:
    """Read what the links open, without a sign-in, and see that nothing else does."""
    paths = {link.removeprefix(PUBLIC): body for link, body in links.items()}
    with httpx.Client(base_url=server.url) as stranger:
        for path, body in paths.items():
            answer = stranger.get(path)
            assert answer.content == body
            is_picture = body.startswith(b"\x89PNG")
            type = "image/png" if is_picture else "application/pdf"
            shown = "inline" if is_picture else "attachment"
            assert answer.headers["content-type"] == type
            assert answer.headers["content-disposition"].startswith(shown)
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert "sandbox" in answer.headers["content-security-policy"]
        first, second, *_ = paths
        _, _, token, name = first.split("/")
        other = second.rpartition("/")[2]
        changed = ("B" if token[60] != "B" else "A").join((token[:60], token[61:]))
        for path in (
            f"/shared-files/{token}/{other}",
            f"/shared-files/{changed}/{name}",
            f"/shared-files/{token[:-2]}AA/{name}",
            f"/shared-files/{token}A/{name}",
            f"/shared-files/{token[:20]}/{name}",
            f"/shared-files/{token}",
            "/shared-files/",
            f"/shared-files/{token}/%2e%2e",
        ):
            assert stranger.get(path).status_code == 404, path
        later = FileLinks(opened.app.kv, opened.app.artifacts, lambda: time.time() + 8 * 86_400)
        with pytest.raises(UsageError):
            later.read(token, name)
        files = KeptFiles(opened.app.kv, opened.app.artifacts)
        chat = keys.session_of("main", f"line:{line_fake.PERSON}")
        for key, item in opened.app.kv.scan(keys.chat_file(chat, "").partition):
            files.remove(keys.chat_file(chat, key), item.value)
        assert [stranger.get(path).status_code for path in paths] == [404] * 3


def post(server: Served, path: str, request: Any) -> int:
    return server.post(path, content=request.body, headers=dict(request.headers)).status_code


def post_to_line(server: Served, number: int) -> None:
    request = line_fake.sign(line_fake.make_body(line_fake.make_message(number, "draw")))
    assert post(server, "/webhook/line", request) == 200


def wait_for(changed: Any, read: Callable[[], list[Any]], count: int) -> list[Any]:
    with changed:
        assert changed.wait_for(lambda: len(read()) >= count, within(20)), read()
    return [*read()]


class Killed(BaseException):
    """A process ends here."""


class Mortal:
    """A channel whose process ends once so many parts of answers have left and were noted, or as
    the next piece begins.
    """

    def __init__(self, channel: Any, lives: float) -> None:
        self._channel = channel
        self._lives = lives

    def __getattr__(self, name: str) -> Any:
        return getattr(self._channel, name)

    def _live(self) -> None:
        self._lives -= 1
        if self._lives < 0:
            raise Killed

    def send(self, reply: Reply, sent: Callable[[int], None]) -> None:
        self._live()

        def note(parts: int) -> None:
            sent(parts)
            self._live()

        self._channel.send(reply, note)


def list_telegram(bot: BotApi) -> list[str]:
    kinds = {"sendMessage": "text", "sendPhoto": "photo", "sendDocument": "document"}
    sent = [kinds.get(request.path.rpartition("/")[2], "") for request in bot.requests]
    pointing = [b"reply_parameters" in request.body for request in bot.requests]
    assert pointing == [True] + [False] * (len(pointing) - 1)
    return [kind for kind in sent if kind]


def list_slack(workspace: SlackWorkspace) -> list[str]:
    kinds = {"chat.postMessage": "text", "files.completeUploadExternal": "file"}
    sent = [kinds.get(request.path.rpartition("/")[2], "") for request in workspace.requests]
    return [kind for kind in sent if kind]


def list_discord(server: DiscordServer) -> list[str]:
    pointing = [message["reply"] is not None for message in server.posted]
    assert pointing == [True] + [False] * (len(pointing) - 1)
    return ["file" if message.get("attachments") else "text" for message in server.posted]


ORDER = ["text", "photo", "text", "document", "text"]
PLATFORMS_OF_PIECES: list[tuple[str, str, str, Any, Any, list[str]]] = [
    ("telegram", "telegram:-100777", "5", BotApi, list_telegram, ORDER),
    (
        "slack",
        "slack:C0CHAN001",
        "",
        SlackWorkspace,
        list_slack,
        ["file" if kind in ("photo", "document") else kind for kind in ORDER],
    ),
    (
        "discord",
        "discord:7",
        "77",
        DiscordServer,
        list_discord,
        ["file" if kind in ("photo", "document") else kind for kind in ORDER],
    ),
]


def open_channel(name: str, fake: Any) -> Any:
    if name == "telegram":
        return Telegram(fake.token, "secret", api=fake.url)
    if name == "slack":
        return Slack(fake.token, "8" * 32, fake.api)
    return open_discord(fake)


@pytest.mark.parametrize(("name", "session", "to", "fake", "read", "expected"), PLATFORMS_OF_PIECES)
def test_pieces_leave_in_order_and_once_whenever_a_process_ends(
    runtime: Callable[..., AgentRuntime],
    name: str,
    session: str,
    to: str,
    fake: Any,
    read: Callable[[Any], list[str]],
    expected: list[str],
) -> None:
    for lives in range(6):
        opened = runtime()
        app = opened.app
        caller = app.make_caller(session)
        keeper = KeptFiles(app.kv, app.artifacts)
        picture = keeper.keep(FileContent("a.png", "image/png", PNG), caller)
        paper = keeper.keep(FileContent("b.pdf", "application/pdf", b"%PDF-1.7"), caller)
        text = f"One\n![a](file:{picture.id})\nTwo [b](file:{paper.id}).\n\nThree"
        buttons = (Button("Yes", "/yes"),)
        reply = Outgoing(
            f"{name}:{lives}", session, text, to, files=(picture, paper), buttons=buttons
        )
        key = keys.session_of("main", session)
        put_into_outbox(reply, opened)
        with fake() as server:
            channel = open_channel(name, server)
            for left in (lives, 99):
                process = replace(
                    opened, channels={name: Mortal(channel, left)}, sent_parts=SentParts()
                )
                with suppress(Killed):
                    send_outbox(app.sessions.open(key), process)
            channel.close()
            assert read(server) == expected, lives
            bodies = unquote(str([request.body for request in server.requests]))
            assert bodies.count("/yes") == 1
        assert not app.sessions.open(key).document.outbox
