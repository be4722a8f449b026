"""What every test may use: settings over an empty folder, a runtime with real stores and a real
sandbox, a scripted model.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from copy import copy
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from functions.settings import Settings
from functions.wiring import AgentRuntime, open_runtime
from sigil import wiring as sigil_wiring
from sigil.protocol import LIBRARY, Caller
from sigil.sandbox import runner_process
from sigil.sandbox.engine import ENGINE
from sigil.sandbox.pool import Sandbox
from sigil.sandbox.protocol import RunOrder, pack_run
from sigil.settings import Settings as SigilSettings
from tests.channel_settings import make_settings
from tests.fakes.bot_api import BotApi
from tests.fakes.clock import Clock
from tests.fakes.model import ScriptedModel
from tests.servers.ministack import aws_here, ministack
from tests.servers.programs import ProgramForker
from tests.sharing import share_characters, share_costly_values

if TYPE_CHECKING:
    from tests.functions.chats import Chats
    from tests.functions.people import Live


__all__ = ["aws_here", "ministack"]
pytest_plugins = [
    "tests.cpu_seconds",
    "tests.proofs",
    "tests.selection",
    "tests.spreading",
    "tests.temporary_folder",
    "tests.workers",
]
share_costly_values()
share_characters()

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    # a shell starts what runs in its background so, and every child would ignore Ctrl-C as well
    signal.signal(signal.SIGINT, signal.default_int_handler)

# the settings that a developer uses are not for tests, nor is what a build kept
os.environ["XDG_CONFIG_HOME"] = "/nonexistent"
os.environ["UNCAGED_BUILD_CACHE"] = "off"

# otherwise each of the thousand processes that the tests start compiles the product anew
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without looking for garbage, and leave what was collected and imported out of every
    later search for it.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
        gc.set_threshold(5_000, 20, 20)


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compiled code that all tests of this process share: compiling the engine takes a second."""
    return tmp_path_factory.getbasetemp().parent / "compiled"


@pytest.fixture(scope="session")
def forked() -> Iterator[ProgramForker]:
    """What forks the commands `uncaged` and `sigil`, one for all tests of this process."""
    with ProgramForker() as forker:
        yield forker


@pytest.fixture
def fork_commands(forked: ProgramForker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the commands that inherit this process's environment be forked."""
    for name, value in forked.environment.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    """A scripted model; give it replies with `then`."""
    with ScriptedModel() as server:
        yield server


@pytest.fixture
def bot() -> Iterator[BotApi]:
    """A Bot API that checks requests as Telegram does."""
    with BotApi() as api:
        yield api


@pytest.fixture
def clock() -> Clock:
    """A clock that stands until a test moves it."""
    return Clock()


@pytest.fixture(scope="module")
def sandbox(compiled: Path) -> Iterator[Sandbox]:
    """One sandbox for all tests of a file: what one test does to it must not show in the next."""
    opened = Sandbox(engine=ENGINE, cache=compiled, children=1)
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def stocks(tmp_path_factory: pytest.TempPathFactory, compiled: Path) -> Callable[[str], Stock]:
    """Returns a data folder whose store has the library of a folder, or `builtin`, for tests to
    copy: to deploy the standard one takes half a second, and the first search over it nearly as
    much.
    """
    compiled.mkdir(exist_ok=True)
    made: dict[str, Stock] = {}

    def stock(library: str) -> Stock:
        state = library if library == "builtin" else hash_library(Path(library))
        if state not in made:
            folder = tmp_path_factory.mktemp("stocked")
            (folder / "compiled").symlink_to(compiled, target_is_directory=True)
            for _ in range(2):  # the second start finds nothing to do, and notes that
                opened = open_runtime(Settings(data=str(folder), library=library, runners=1))
                if library == "builtin":
                    opened.app.registry.query("the index of the library", Caller(LIBRARY))
                opened.close()
            (folder / "compiled").unlink()
            made[state] = Stock(folder)
        return made[state]

    return stock


class Stock:
    """A data folder that is copied a thousand times: its artifacts, in whose files nobody writes,
    are linked, and its other files are read once.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        paths = sorted(path.relative_to(folder) for path in folder.rglob("*"))
        files = [path for path in paths if (folder / path).is_file()]
        self._folders = [path for path in paths if (folder / path).is_dir()]
        self._links = [path for path in files if path.parts[0] == "artifacts"]
        self._bodies = {
            path: (folder / path).read_bytes() for path in files if path.parts[0] != "artifacts"
        }

    def copy_to(self, other: Path) -> None:
        """Give another folder the same files."""
        for path in self._folders:
            os.makedirs(other / path, 0o700, exist_ok=True)
        for path in self._links:
            with suppress(FileExistsError):
                os.link(self.folder / path, other / path)
        for path, body in self._bodies.items():
            with open(
                os.open(other / path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb"
            ) as to:
                to.write(body)


def hash_library(folder: Path) -> str:
    """Return a name of all that a library has."""
    state = sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            state.update(f"\0{path.relative_to(folder)}\0{path.stat().st_size}\0".encode())
            state.update(path.read_bytes())
    return state.hexdigest()


@pytest.fixture(scope="session")
def stocked(stocks: Callable[[str], Stock]) -> Path:
    """A data folder whose store has the standard library, for tests to copy."""
    return stocks("builtin").folder


@pytest.fixture(scope="module")
def open_shared() -> Iterator[Callable[[SigilSettings], Sandbox]]:
    """Opens a sandbox, one for all commands and runtimes of a file that have the same settings of
    it: to start a runner takes longer than most of what it does. What closes it is the end of the
    file alone.
    """
    opened: dict[tuple[object, ...], Sandbox] = {}
    real = sigil_wiring.open_sandbox

    def open_sandbox(settings: SigilSettings) -> Sandbox:
        cache = sigil_wiring.cache_folder(settings)
        key = (settings.engine, cache and cache.resolve(), settings.runners, settings.sandbox)
        if key not in opened:
            opened[key] = real(settings)
            vars(opened[key])["close"] = lambda: None
        return opened[key]

    yield open_sandbox
    for sandbox in opened.values():
        Sandbox.close(sandbox)


@pytest.fixture
def own_sandbox() -> bool:
    """Whether the runtimes of a test have a sandbox of their own; a test that looks at its
    processes overrides it.
    """
    return False


@pytest.fixture
def runtime(
    tmp_path: Path, compiled: Path, own_sandbox: bool, request: pytest.FixtureRequest
) -> Iterator[Callable[..., AgentRuntime]]:
    """Opens runtimes over one data folder: `runtime(llm_url=…, library="none", …)`; a second call is a
    second process's view.
    """
    (tmp_path / "compiled").symlink_to(compiled, target_is_directory=True)
    compiled.mkdir(exist_ok=True)
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        if not own_sandbox:
            patch.setattr(sigil_wiring, "open_sandbox", request.getfixturevalue("open_shared"))

        def opened(**settings: object) -> AgentRuntime:
            library = str(settings.get("library", "none"))
            fresh = not (tmp_path / "uncaged.db").exists()
            if fresh and library != "none" and not {"store", "data"} & set(settings):
                if library == "builtin":
                    request.getfixturevalue("stocked")  # which all files share: it is none's cost
                stocks = request.getfixturevalue("stocks")
                stocks(library).copy_to(tmp_path)
            made = open_runtime(
                make_settings(
                    **{"data": str(tmp_path), "library": "none", "runners": 1, **settings}
                )
            )
            stack.callback(made.close)
            return made

        yield opened


@pytest.fixture
def home(runtime: Callable[..., AgentRuntime], model: ScriptedModel) -> AgentRuntime:
    """An agent over an empty folder, whose model is the scripted one."""
    return runtime(llm_url=model.url)


@pytest.fixture
def live(
    runtime: Callable[..., AgentRuntime], bot: BotApi, model: ScriptedModel
) -> Callable[..., AbstractContextManager[Live]]:
    """Serves an agent over the test's folder: `with live(guide="security") as agent:`; a second one
    is a process that starts cold.
    """
    # a server's packages take most of a second to import, and few tests need them
    from tests.functions.people import Live, platform
    from tests.functions.serving import serving

    @contextmanager
    def serve(**settings: object) -> Iterator[Live]:
        with serving(runtime(**{"llm_url": model.url, **platform(bot), **settings})) as server:
            yield Live(server, bot)

    return serve


@pytest.fixture
def open_chats(
    runtime: Callable[..., AgentRuntime], bot: BotApi, model: ScriptedModel
) -> Callable[..., Chats]:
    """Opens an agent over the test's folder whose events are worked off one by one:
    `open_chats(guide="security")`; everybody may talk to it.
    """
    from tests.functions.chats import Chats
    from tests.functions.people import platform

    def opened(**settings: object) -> Chats:
        return Chats(runtime(**{"llm_url": model.url, **platform(bot), **settings}), bot)

    return opened


@pytest.fixture
def chats(open_chats: Callable[..., Chats]) -> Chats:
    """An agent that everybody may talk to, whose events are worked off one by one."""
    return open_chats()


@pytest.fixture
def breached(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sandbox processes that ask for more than they were granted, as one would that a guest has
    broken out into.
    """

    def pack_with_too_many_grants(run: RunOrder) -> bytes:
        order = copy(run)
        order.grants = run.grants | {"kv"}
        return pack_run(order)

    monkeypatch.setattr(runner_process, "pack_run", pack_with_too_many_grants)
