"""A picture that a server's tool returns reaches who called: over HTTP, over MCP, and nobody else."""

from __future__ import annotations

import base64
import json
import ssl
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from sigil.access.tokens import TokenRequest
from sigil.client.registry import RemoteRegistry
from sigil.errors import BackendError, UsageError
from sigil.http import app
from sigil.mcp.tools import Toolbox
from sigil.network.http_transport import GuardedTransport
from sigil.protocol import Caller
from sigil.run.live_services import LiveServices
from sigil.run.mcp_client import media
from tests.fakes.mcp import FakeMcp
from tests.pictures import as_image, make_png
from tests.servers.certificates import Authority
from tests.sigil.serving import served
from tests.sigil.tool_importer import OWNER, ToolImporter

TOKEN = "admin-token-of-this-test"
CHAT = Caller("main", "telegram:1")
PNG = make_png()
LINE = f"[picture.png, image/png, {len(PNG)} bytes: kept as a file]"


@pytest.fixture
def drawing(importer: ToolImporter, fake: FakeMcp) -> ToolImporter:
    """A server whose tool draws."""
    importer.import_tools({"name": "art", "url": fake.address})
    fake.does["greet"] = lambda given: {"content": [as_image(PNG)]}
    return importer


@pytest.fixture
def address(drawing: ToolImporter) -> Iterator[str]:
    with served(app.build_registry_app(drawing.registry, TOKEN)) as url:
        yield url


def test_over_http_a_file_has_an_address_that_only_its_caller_can_read(
    drawing: ToolImporter, address: str
) -> None:
    keys = drawing.registry.keys
    tokens = [keys.create(TokenRequest("invoke", name), OWNER)["token"] for name in ("a", "b")]
    first, second = ({"authorization": f"Bearer {token}"} for token in tokens)
    ran = httpx.post(f"{address}/run/art-greet", json={"name": "x"}, headers=first)
    assert ran.text == LINE
    (url,) = ran.headers["x-sigil-files"].split(", ")
    assert url.startswith(f"{address}/_api/files/")
    got = httpx.get(url, headers=first)
    assert got.content == PNG
    assert got.headers["content-type"] == "image/png"
    assert got.headers["content-disposition"].startswith("attachment; filename=")
    assert got.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in got.headers["content-security-policy"]
    assert httpx.get(url, headers=second).status_code == 404
    assert httpx.get(url, headers={"authorization": f"Bearer {TOKEN}"}).status_code == 404
    assert httpx.get(url).status_code == 401
    assert httpx.get(f"{address}/_api/files/..%2f..%2fx", headers=first).status_code == 404


def test_a_registry_elsewhere_tells_of_the_files_of_a_chat_and_gives_them(
    address: str,
) -> None:
    remote = RemoteRegistry(address, TOKEN)
    ran = remote.run("art-greet", {"name": "x"}, CHAT)
    (file,) = ran.files
    assert (file.name, file.type, file.size) == ("picture.png", "image/png", len(PNG))
    assert remote.read_file(file.id, CHAT) == PNG
    with pytest.raises(UsageError, match="no such file"):
        remote.read_file(file.id, Caller("main", "telegram:2"))
    remote.close()


def test_over_mcp_a_picture_is_a_part_of_the_result(drawing: ToolImporter, fake: FakeMcp) -> None:
    pdf = base64.b64encode(b"%PDF-1.7\n").decode()
    resource = {"uri": "file:///a/report.pdf", "mimeType": "text/html", "blob": pdf}
    parts = [as_image(PNG, "image/gif"), {"type": "resource", "resource": resource}]
    fake.does["greet"] = lambda given: {"content": parts}
    result = Toolbox(drawing.registry, OWNER).call("sigil_run", {"capability": "art-greet"})
    text, image, file = result["content"]
    assert text["text"].splitlines()[0] == LINE
    assert image == as_image(PNG)
    assert file["resource"] == {
        "uri": "file:///report.pdf",
        "mimeType": "application/pdf",
        "blob": pdf,
    }


def test_values_and_a_picture_come_together(drawing: ToolImporter, fake: FakeMcp) -> None:
    structured = {"content": [as_image(PNG)], "structuredContent": {"drawn": 1}}
    fake.does["greet"] = lambda given: structured
    ran = drawing.registry.run("art-greet", {}, CHAT)
    assert json.loads(ran.output) == {"drawn": 1}
    assert [file.size for file in ran.files] == [len(PNG)]


def test_what_must_not_or_cannot_be_kept_is_left_out_and_the_call_succeeds(
    drawing: ToolImporter, fake: FakeMcp, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.does["greet"] = lambda given: {"content": [as_image(PNG)] * 10}
    ran = drawing.registry.run("art-greet", {}, CHAT)
    assert len(ran.files) == 8
    assert json.loads(ran.output).count("left out, a call may leave 8 files") == 2

    fake.does["greet"] = lambda given: {"content": [as_image(PNG)], "isError": True}
    with pytest.raises(Exception, match="left out, no files are kept here"):
        drawing.registry.run("art-greet", {}, CHAT)

    def fail(self: LiveServices, *given: Any) -> None:
        raise BackendError("EUNAVAILABLE", "the bucket is away")

    fake.does["greet"] = lambda given: {"content": [as_image(PNG)]}
    monkeypatch.setattr(LiveServices, "keep_file", fail)
    ran = drawing.registry.run("art-greet", {}, CHAT)
    assert "left out, it cannot be kept now: the bucket is away" in json.loads(ran.output)
    assert ran.files == ()


def test_a_secret_in_a_picture_goes_nowhere(
    open_importer: Callable[..., ToolImporter], trust: Authority
) -> None:
    context = ssl.create_default_context(cafile=str(trust.certificate))
    importer = open_importer(web=lambda: GuardedTransport(loopback=True, context=context))
    importer.registry.secrets.set("KEY", "hidden-value-of-the-key", OWNER)
    header = {"authorization": "Bearer {{KEY}}"}
    with FakeMcp(trust.server("127.0.0.1")) as fake:
        importer.import_tools({"name": "art", "url": fake.address, "headers": header})
        told = make_png("hidden-value-of-the-key")
        fake.does["greet"] = lambda given: {"content": [as_image(told)]}
        ran = importer.registry.run("art-greet", {}, OWNER)
    assert ran.files == ()
    assert "image/png: left out, " in json.loads(ran.output)


def test_the_largest_picture_that_is_kept_comes_whole(drawing: ToolImporter, fake: FakeMcp) -> None:
    large = PNG + b"\x00" * (media.FILE_BYTES - len(PNG))
    fake.does["greet"] = lambda given: {"content": [as_image(large)]}
    (file,) = drawing.registry.run("art-greet", {}, CHAT).files
    assert drawing.registry.read_file(file.id, CHAT) == large
