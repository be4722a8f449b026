"""`sigil mcp login` and `logout`, at the authorization server of the official SDK."""

from __future__ import annotations

import os
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from sigil.cli import main
from sigil.http import app
from tests.fakes.model import ScriptedModel, call, say
from tests.project.tree import ROOT
from tests.servers import certificates
from tests.servers.lambda_runtime import tool
from tests.servers.process import Process, free_port
from tests.sigil.cli.conftest import Sigil, place, run_sigil
from tests.sigil.serving import served
from tests.sigil.tool_importer import ToolImporter

__all__ = ["place", "run_sigil"]
SERVER = ROOT / "tests" / "servers" / "mcp_sign_in.py"


@dataclass(frozen=True)
class Mailbox:
    """The MCP server that wants a sign-in; `certificate` is what its clients trust."""

    origin: str
    certificate: Path

    @property
    def address(self) -> str:
        return f"{self.origin}/mcp"

    def control(self, **wanted: Any) -> dict[str, int]:
        """Say how it is to behave; what it was asked for so far."""
        with self.browser() as browser:
            return dict(browser.post(f"{self.origin}/control", json=wanted).json())

    def browser(self) -> httpx.Client:
        context = ssl.create_default_context(cafile=str(self.certificate))
        return httpx.Client(verify=context, follow_redirects=True, trust_env=False)

    def open(self, url: str) -> None:
        """What a person does who is signed in there: open the address, agree, come back."""
        with self.browser() as browser:
            browser.get(url)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mailbox]:
    folder = tmp_path_factory.mktemp("certificates")
    authority = certificates.authority(folder)
    authority.server("127.0.0.1")
    port = free_port()
    process = Process(
        [str(tool("mcp") / "python"), str(SERVER), str(port), str(folder / "127.0.0.1.pem")],
        {"PATH": os.defpath},
    )
    mailbox = Mailbox(f"https://127.0.0.1:{port}", authority.certificate)

    def listens() -> bool:
        try:
            mailbox.control()
        except httpx.TransportError:
            return False
        return True

    try:
        process.wait_until(listens)
        yield mailbox
    finally:
        process.stop()


@pytest.fixture
def mailbox(running: Mailbox) -> Mailbox:
    """The server, as it behaves when nothing is wrong."""
    running.control(seconds=3600, deny=False, issuer=running.origin)
    return running


@pytest.fixture
def sigil(run_sigil: Sigil, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch) -> Sigil:
    monkeypatch.setenv("SIGIL_LOOPBACK", "1")
    monkeypatch.setenv("SSL_CERT_FILE", str(mailbox.certificate))
    use_browser(monkeypatch, mailbox.open)
    return run_sigil


def use_browser(monkeypatch: pytest.MonkeyPatch, visit: Callable[[str], None]) -> None:
    """Let the person's browser do this with the address that it is given."""

    def start(url: str) -> bool:
        threading.Thread(target=visit, args=(url,), daemon=True).start()
        return True

    monkeypatch.setattr("webbrowser.open", start)


def stored(sigil: Sigil) -> list[dict[str, Any]]:
    return list(sigil("--json", "secret", "list").document["items"])


def told_of_sign_in(sigil: Sigil, *words: str) -> str:
    """What `sigil mcp list`, or another command, says of the only sign-in."""
    told = sigil("mcp", *(words or ("list",)))
    assert told.code == 0, told.err
    (line,) = [line for line in told.err.splitlines() if line.startswith("the sign-in of")]
    return line


def test_a_server_that_wants_a_sign_in_is_used_with_one(sigil: Sigil, mailbox: Mailbox) -> None:
    asked = sigil("mcp", "add", mailbox.address, "--name", "mail")
    assert asked.code == 5
    command = ("mcp", "login", "mail", mailbox.address)
    assert f"sigil {' '.join(command)}, then this again" in asked.err

    signed = sigil(*command)
    assert signed.code == 0, signed.err
    assert f"signed in at {mailbox.address} as mail\n" in signed.err
    (row,) = stored(sigil)
    assert (row["secret"], row["server"]) == ("MCP_MAIL", mailbox.address)
    assert told_of_sign_in(sigil) == (
        f"the sign-in of mail is used by no tool here: sigil mcp add {mailbox.address}"
    )

    added = sigil("mcp", "add", mailbox.address, "--name", "mail", "--grant")
    assert added.code == 0, added.err
    assert sigil("run", "mail-unread").out.strip() == '{"result":7}'
    pending = sigil("--json", "inspect", "mail-unread").document
    host = mailbox.origin.removeprefix("https://")
    assert pending["permissions"]["secrets"] == [f"MCP_MAIL@{host}"]
    assert told_of_sign_in(sigil) == "the sign-in of mail stands, and is renewed by itself"
    (listed,) = sigil("--json", "mcp", "list").document["items"]
    assert listed["sign_in"]["state"] == "stands"

    # The server takes the token back: the refresh token gives another one, once.
    before = mailbox.control(revoke=True)["refreshed"]
    assert sigil("run", "mail-unread").code == 0
    assert sigil("run", "mail-unread").code == 0
    assert mailbox.control()["refreshed"] == before + 1

    # Both are gone: the command that mends it is named, and it mends it.
    mailbox.control(revoke=True, forget=True)
    for _ in range(2):
        ended = sigil("run", "mail-unread")
        assert ended.code == 1
        assert f"the sign-in at {host} has ended: `sigil mcp login mail`" in ended.err
    assert mailbox.control()["refreshed"] == before + 1
    told = told_of_sign_in(sigil, "show", "mail")
    assert told.startswith("the sign-in of mail ended at 20")
    assert told.endswith(" UTC: sigil mcp login mail")
    assert sigil("mcp", "login", "mail").code == 0
    assert sigil("run", "mail-unread").code == 0

    assert sigil("mcp", "logout", "mail").code == 0
    assert stored(sigil) == []
    signed_out = sigil("run", "mail-unread")
    assert signed_out.code == 1
    assert "is not set: `sigil mcp login mail`" in signed_out.err
    assert told_of_sign_in(sigil) == "the sign-in of mail is missing: sigil mcp login mail"
    assert sigil("mcp", "logout", "mail").code == 3


def test_a_token_that_is_about_to_end_is_renewed_before_it_is_sent(
    sigil: Sigil, mailbox: Mailbox
) -> None:
    mailbox.control(seconds=1)
    assert sigil("mcp", "login", "mail", mailbox.address).code == 0
    before = mailbox.control(seconds=3600)["refreshed"]
    # of its second, the first half: the registry's clock is this machine's
    threading.Event().wait(0.6)
    added = sigil("mcp", "add", mailbox.address, "--name", "mail", "--grant")
    assert added.code == 0, added.err
    assert sigil("run", "mail-unread").code == 0
    assert mailbox.control()["refreshed"] == before + 1


def test_a_sign_in_without_a_browser_takes_the_address_at_which_another_one_ended(
    sigil: Sigil, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Person:
        """Types the address at which the browser of another machine ended."""

        def isatty(self) -> bool:
            return False

        def readline(self, most: int) -> str:
            with mailbox.browser() as browser:
                answer = browser.get(shown[0], follow_redirects=False)
            return f"{answer.headers['location']}\n"

    shown: list[str] = []
    monkeypatch.setattr("sigil.cli.printing.Printer.address", lambda _, text: shown.append(text))
    monkeypatch.setattr("sys.stdin", Person())
    assert main(["mcp", "login", "mail", mailbox.address, "--no-browser"]) == 0
    assert stored(sigil)[0]["server"] == mailbox.address


def test_a_registry_elsewhere_keeps_the_token_and_renews_it(
    sigil: Sigil, mailbox: Mailbox, importer: ToolImporter
) -> None:
    with served(app.build_registry_app(importer.registry, "admin-token-of-this-test")) as url:
        there = ("--url", url, "--token", "admin-token-of-this-test")
        signed = sigil(*there, "mcp", "login", "mail", mailbox.address)
        assert signed.code == 0, signed.err
        add = (*there, "mcp", "add", mailbox.address, "--name", "mail", "--grant")
        assert sigil(*add).code == 0
        mailbox.control(revoke=True)
        assert sigil(*there, "run", "mail-unread").out.strip() == '{"result":7}'
        assert sigil(*there, "mcp", "logout", "mail").code == 0
    assert stored(sigil) == []


def test_a_client_that_was_registered_by_hand_signs_in_with_its_secret_and_its_port(
    sigil: Sigil, mailbox: Mailbox
) -> None:
    port = free_port()
    client = {
        "client_id": "by-hand",
        "client_secret": "the-secret-of-this-client",
        "redirect_uris": [f"http://127.0.0.1:{port}/callback"],
        "token_endpoint_auth_method": "client_secret_basic",
    }
    before = mailbox.control(client=client)["registered"]
    command = ("mcp", "login", "mail", mailbox.address, "--client-id", "by-hand")
    refused = sigil(*command, "--port", str(port))
    assert refused.code == 5
    assert "nothing was stored; sigil mcp login mail" in refused.err
    elsewhere = sigil(
        *command, "--client-secret", "--issuer", "https://auth.example", stdin=b"the-secret\n"
    )
    assert (elsewhere.code, "says to sign in at" in elsewhere.err) == (5, True)
    signed = sigil(
        *command, "--client-secret", "--port", str(port), stdin=b"the-secret-of-this-client\n"
    )
    assert signed.code == 0, signed.err
    assert "the-secret-of-this-client" not in sigil("--json", "secret", "list").out
    assert mailbox.control()["registered"] == before


def test_a_sign_in_to_which_nobody_comes_ends_and_leaves_nothing(
    sigil: Sigil, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_browser(monkeypatch, lambda url: None)
    monkeypatch.setattr("sigil.cli.commands.mcp_login.PERSON_SECONDS", 0.2)
    ended = sigil("mcp", "login", "mail", mailbox.address)
    assert ended.code != 0
    assert "nobody signed in within" in ended.err
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ended = sigil("mcp", "login", "mail", mailbox.address, "--port", port)
        assert f"port {port} of 127.0.0.1 is in use" in ended.err
    assert stored(sigil) == []


def test_a_chat_calls_a_tool_behind_a_sign_in_and_renews_it(
    sigil: Sigil, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    from functions.cli import app as uncaged

    def ask(text: str) -> None:
        monkeypatch.setattr("sys.argv", ["uncaged", "chat", "--json", text])
        with pytest.raises(SystemExit) as ended:
            uncaged.main()
        assert not ended.value.code

    def read_result(body: dict[str, Any]) -> dict[str, Any]:
        (result,) = [each for each in body["messages"] if each["role"] == "tool"][-1:]
        return say(f"it says {result['content']}")

    assert sigil("mcp", "login", "mail", mailbox.address).code == 0
    assert sigil("mcp", "add", mailbox.address, "--name", "mail", "--grant").code == 0
    with ScriptedModel() as model:
        monkeypatch.setenv("UNCAGED_LLM_URL", model.url)
        monkeypatch.setenv("UNCAGED_LLM_KEY", "a-key")
        model.then(call(("sigil_query", {"query": "count the messages that nobody has read"})))
        model.then(call(("cap_mail_unread", {})), read_result)
        ask("how many?")
        before = mailbox.control(revoke=True)["refreshed"]
        model.then(call(("cap_mail_unread", {})), read_result)
        ask("and now?")
        answers = [each["content"] for each in model.chats[-1]["messages"][-1:]]
    assert mailbox.control()["refreshed"] == before + 1
    assert answers == ['{"ok":{"result":7}}']
    assert sigil("mcp", "list").err.startswith("the sign-in of mail stands")


def test_a_sign_in_that_was_left_half_way_is_begun_again_as_the_same_client(
    sigil: Sigil, mailbox: Mailbox, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    login = ("mcp", "login", "mail", mailbox.address)
    with monkeypatch.context() as away:
        use_browser(away, lambda url: None)
        away.setattr("sigil.cli.commands.mcp_login.PERSON_SECONDS", 0.05)
        before = mailbox.control()["registered"]
        assert sigil(*login).code != 0
        assert mailbox.control()["registered"] == before + 1
    assert stored(sigil) == []
    (left,) = (place.parent / "config" / "uncaged").iterdir()
    assert left.name == "mcp-clients.json"
    assert left.stat().st_mode & 0o77 == 0
    assert sigil(*login).code == 0
    assert mailbox.control()["registered"] == before + 1

    # To whom nobody comes back may have become a stranger: the next one begins anew.
    with monkeypatch.context() as away:
        use_browser(away, lambda url: None)
        away.setattr("sigil.cli.commands.mcp_login.PERSON_SECONDS", 0.05)
        assert sigil(*login).code != 0
    assert sigil(*login).code == 0
    assert mailbox.control()["registered"] == before + 2

    # The server forgot the client, and then the file is damaged: both times another one is made.
    assert mailbox.control(strangers=True)["registered"] == 0
    assert sigil(*login).code == 0
    assert mailbox.control()["registered"] == 1
    left.write_text("{")
    assert sigil(*login).code == 0
    assert mailbox.control()["registered"] == 2
    assert mailbox.address in sigil("mcp", "list").err


def test_two_sign_ins_at_once_both_end_well(
    sigil: Sigil, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    login = ("mcp", "login", "mail", mailbox.address)
    codes = []

    def visit(url: str) -> None:
        if not codes:
            codes.append(-1)
            codes.append(main(login))
        mailbox.open(url)

    use_browser(monkeypatch, visit)
    assert sigil(*login).code == 0
    assert codes == [-1, 0]
    assert sigil("mcp", "add", mailbox.address, "--name", "mail", "--grant").code == 0
    assert sigil("run", "mail-unread").out.strip() == '{"result":7}'


def test_what_strangers_bring_to_the_port_neither_ends_nor_delays_a_sign_in(
    sigil: Sigil, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    statuses = []
    held = []

    def visit(url: str) -> None:
        params = httpx.URL(url).params
        back = httpx.URL(params["redirect_uri"])
        held.append(socket.create_connection((back.host, back.port or 0)))
        state = params["state"]
        strange = (
            "code=stolen&state=another",
            "code=stolen",
            "error=access_denied",
            f"code=stolen&state={state}&state={state}",
            "&".join(f"a{number}=1" for number in range(200)),
            "state=%ff%fe",
            "",
        )
        for query in strange:
            answer = httpx.get(f"{back}?{query}", trust_env=False)
            statuses.append((answer.status_code, "stolen" in answer.text))
        statuses.append((httpx.get(f"{back}/more?state={state}").status_code, False))
        mailbox.open(url)

    use_browser(monkeypatch, visit)
    signed = sigil("mcp", "login", "mail", mailbox.address)
    assert signed.code == 0, signed.err
    assert statuses == [(400, False)] * 7 + [(404, False)]
    for each in held:
        each.close()


@pytest.mark.parametrize(
    ("behaviour", "said"),
    [
        ({"issuer": "https://evil.example"}, "is from https://evil.example, not from"),
        ({"deny": True}, "the sign-in was refused: access_denied: no !"),
    ],
)
def test_a_sign_in_that_goes_wrong_says_why_and_leaves_nothing(
    sigil: Sigil, mailbox: Mailbox, behaviour: dict[str, Any], said: str
) -> None:
    mailbox.control(**behaviour)
    ended = sigil("mcp", "login", "mail", mailbox.address)
    assert ended.code == 5
    assert said in ended.err
    assert "sigil mcp login mail" in ended.err
    assert stored(sigil) == []
