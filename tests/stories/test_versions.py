"""Two versions on one store, side by side and one after the other: nobody is locked out and nothing
is lost.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Self

import orjson
import pytest

from functions import wiring
from functions.agent.conversation.messages import ToolCall, Usage
from functions.agent.model.base import ModelReply, ModelRequest
from functions.events import Event, Sender, order_of
from functions.queues import dead_letters
from functions.settings import Settings
from functions.wiring import AgentRuntime, open_runtime
from functions.worker import process
from sigil.sandbox import engine
from sigil.storage.kv import Key, keys
from sigil.wiring import Stores, open_stores
from tests.functions.queues.workers import process_all
from tests.machine import times, within
from tests.servers.programs import ProgramForker, command_of
from tests.sigil.stores import Place, place, pytest_generate_tests
from tests.stories.newer import FIELD, Newer, Recorded, read

__all__ = ["place", "pytest_generate_tests"]
CAPABILITIES = Path(__file__).parents[2] / "capabilities"
TURNS = {"memory": 210, "sqlite": 105, "redis": 42, "dynamodb": 18}
"""Turns on each store. Every kind of text has had its turn after 105."""
EVERY = {"memory": 1, "sqlite": 1, "redis": 12, "dynamodb": 12}
"""After so many turns everything that is stored is compared: each look is a request for every key.
"""
MESSAGE = "message"
"""Where a message stands: it moves from a session's document to its archive, and stays."""
CHATS = ("telegram:1", "telegram:2", "telegram:-3")
HELLO = Event(
    "e1",
    "message",
    "main",
    CHATS[0],
    Sender("telegram:1"),
    "hello",
    1.0,
    order_of(1.0, 1),
    private=True,
)
REPLACED = ("claim", "cooldown", "ready", "snapshot", "session#", "stocked")
"""Leases, marks of an index and pointers are written as a whole by whoever has them next; sessions
are looked at more closely below.
"""


class Talker:
    """A model that queries, calls, fails, deploys, remembers and talks in turn."""

    name, window = "talker", 16_000

    def chat(self, request: ModelRequest) -> ModelReply:
        last = request.messages[-1]
        said = [message["content"] for message in request.messages if message["role"] == "user"][-1]
        usage = Usage(50, 10)
        tools = [tool["function"]["name"] for tool in request.tools]
        if "save_memory" in tools:
            told = (
                '{"history_entry": "[2026-11-23 01:00] They talked.", "memory_update": "They talk'
                ' about numbers."}'
            )
            return ModelReply("", (ToolCall("m", "save_memory", told),), usage, "tool_calls")
        if last["role"] == "tool" or not tools:
            return ModelReply("all right, I have done that now", (), usage)
        number = int("".join(filter(str.isdigit, said[-12:])) or 0)
        calls = {
            0: ToolCall("q", "sigil_query", '{"query": "encode base64"}'),
            1: ToolCall("c", "cap_encode", '{"text": "hello", "format": "base64"}'),
            2: ToolCall("f", "cap_encode", '{"text": "hello", "format": "rot13"}'),
            3: ToolCall("d", "sigil_deploy", _capability(number)),
            4: ToolCall("r", "sigil_query", '{"query": "remember something for later"}'),
            5: ToolCall(
                "k",
                "cap_remember",
                f'{{"key": "n{number}", "value": "{number}", "source": "user"}}',
            ),
        }
        call = calls.get(number % 8)
        return (
            ModelReply("", (call,), usage, "tool_calls")
            if call
            else ModelReply("as you say, all of it", (), usage)
        )


def _capability(number: int) -> str:
    name = f"made-{'abcdefgh'[number // 8 % 8]}"
    return (
        f'{{"name": "{name}", "description": "Adds.", "schema": {{"type": "object"}}, "execute":'
        f' "return {number}"}}'
    )


@pytest.fixture
def runtimes(
    place: Place, tmp_path: Path, compiled: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., tuple[AgentRuntime, AgentRuntime, set[Key]]]]:
    """Opens this version and a newer one over one store, and the keys that either writes."""
    compiled.mkdir(exist_ok=True)
    (tmp_path / "compiled").symlink_to(compiled, target_is_directory=True)
    library = tmp_path / "library"
    library.mkdir()
    for name in ("encode", "remember", "recall"):
        (library / name).symlink_to(CAPABILITIES / name, target_is_directory=True)
    known: set[Key] = set()
    with ExitStack() as stack:

        def opened() -> tuple[AgentRuntime, AgentRuntime, set[Key]]:
            settings = Settings(
                data=str(tmp_path),
                library=str(library),
                runners=1,
                access="open",
                store=place.url or "memory://",
                deploy="members",
            )
            stores = (
                Stores(place.open(), open_stores(settings).artifacts) if not place.url else None
            )
            made = []
            for kind in (Recorded, Newer):

                def opened_stores(settings: Settings, kind: type[Recorded] = kind) -> Stores:
                    found = stores or open_stores(settings)
                    return replace(found, kv=kind(found.kv, known))

                monkeypatch.setattr(wiring, "open_stores", opened_stores)
                runtime = open_runtime(settings)
                stack.callback(runtime.close)
                made.append(replace(runtime, app=replace(runtime.app, model=Talker())))
            return made[0], made[1], known

        yield opened


def say(runtime: AgentRuntime, number: int, text: str) -> None:
    """Put a message into the queue, and have this runtime take it to its end."""
    chat = CHATS[number % len(CHATS)]
    at = 1_800_000_000.0 + number
    event = Event(
        f"telegram:1:{number}",
        "message",
        "main",
        chat,
        Sender("telegram:1"),
        text,
        at,
        order_of(at, number),
        private=True,
    )
    runtime.queue.put(event)
    process_all(runtime)


def text_of(number: int) -> str:
    words = {20: "/mem", 41: "/soul be calm", 62: "/status", 83: "/unlock", 104: "/recall n5"}
    return words.get(number % 105, f"please do number {number}")


def tokens(runtime: AgentRuntime, known: set[Key]) -> dict[tuple[str, ...], str]:
    """The fields of a newer version in the store, by where they stand."""
    found: dict[tuple[str, ...], str] = {}
    for key in known:
        item = runtime.stores.kv.get(key)
        value = read(item.value) if item else None
        if isinstance(value, dict) and FIELD in value and not key.partition.startswith(REPLACED):
            found[key] = value[FIELD]
        if isinstance(value, dict) and key.sort == "head" and key.partition.startswith("session#"):
            found |= _of_head(key, value)
        if isinstance(value, list) and key.sort.startswith("archive#"):
            found |= _of_messages(key, value)
    return found


def _of_head(key: Key, head: dict[str, Any]) -> dict[tuple[str, ...], str]:
    parts = {
        "": head,
        "usage": head["usage"],
        "safety": head["safety"],
        "counters": head["safety"]["counters"],
    }
    found = {(*key, name): part[FIELD] for name, part in parts.items() if FIELD in part}
    return found | _of_messages(key, head["messages"])


def _of_messages(key: Key, messages: list[dict[str, Any]]) -> dict[tuple[str, ...], str]:
    found = {}
    for message in messages:
        parts = [message, *message["calls"], *message["loads"]]
        for number, part in enumerate(parts):
            if FIELD in part:
                found[(MESSAGE, key.partition, str(message["seq"]), str(number))] = part[FIELD]
    return found


def test_no_field_of_a_newer_version_is_lost_and_no_chat_is_locked(
    runtimes: Callable[..., tuple[AgentRuntime, AgentRuntime, set[Key]]],
    request: pytest.FixtureRequest,
) -> None:
    this, newer, known = runtimes()
    store = request.node.callspec.params["place"]
    turns = times(TURNS[store])
    before: dict[tuple[str, ...], str] = {}
    for number in range(turns):
        if number // 3 % 2:
            say(newer, number, text_of(number))
            continue
        looks = number // 3 % EVERY[store] == 0 or number == turns - 1
        before = tokens(this, known) if EVERY[store] == 1 else before
        say(this, number, text_of(number))
        if not looks:
            continue
        after = tokens(this, known)
        missing = before.keys() - after.keys()
        gone = {
            place
            for place in missing
            if place[0] == MESSAGE or this.stores.kv.get(Key(*place[:2])) is not None
        }

        assert not gone, f"after turn {number}"
        assert not {
            place: before[place]
            for place in before.keys() & after.keys()
            if before[place] != after[place]
        }
        before = after

    assert not list(dead_letters.scan_dead_letters(this.stores.kv))
    for chat in CHATS:
        document = this.app.sessions.open(keys.session_of("main", chat)).document
        assert document.safety.reason == ""
        assert document.messages


def test_a_chat_that_a_newer_version_keeps_is_left_as_it_is_and_its_people_are_told(
    tmp_path: Path, compiled: Path
) -> None:
    compiled.mkdir(exist_ok=True)
    (tmp_path / "compiled").symlink_to(compiled, target_is_directory=True)
    runtime = open_runtime(Settings(data=str(tmp_path), library="none", access="open"))
    kv, head = runtime.stores.kv, keys.session_head(keys.session_of("main", CHATS[0]))
    kept = orjson.dumps({"format": 2, "messages": {"kept": "in another way"}})
    kv.put(head, kept)
    runtime.queue.put(HELLO)
    delivery = runtime.queue.take(0.0)
    assert delivery is not None

    process(replace(delivery, tries=0), runtime)
    waits = [letter.reason for letter in dead_letters.scan_dead_letters(kv)]
    process(replace(delivery, tries=10), runtime)

    (letter,) = dead_letters.scan_dead_letters(kv)
    assert not waits
    assert "format 2" in letter.reason
    assert letter.event == HELLO
    assert kv.get(head).value == kept
    assert "newer version" in runtime.replies.get(keys.session_of("main", CHATS[0]), "e1")["reply"]
    runtime.close()


def test_an_event_of_a_newer_version_waits_in_the_dead_letters_until_a_version_knows_it(
    tmp_path: Path,
) -> None:
    runtime = open_runtime(Settings(data=str(tmp_path), library="none", access="open"))
    kv = runtime.stores.kv
    runtime.queue.put(HELLO)
    session = keys.session_of("main", CHATS[0])
    ((sort, item),) = kv.scan(keys.inbox_event(session, "").partition)
    written = orjson.loads(item.value)
    kv.put(
        keys.inbox_event(session, sort),
        orjson.dumps({**written, "event": {**written["event"], "kind": "forecast"}}),
    )

    assert runtime.queue.take(0.0) is None
    (letter,) = dead_letters.scan_dead_letters(kv)
    item = kv.get(keys.dead_letter(letter.id))
    assert item is not None
    record = orjson.loads(item.value)
    upgraded = base64.b64encode(
        base64.b64decode(record["raw"]).replace(b'"forecast"', b'"message"')
    ).decode()
    kv.put(keys.dead_letter(letter.id), orjson.dumps({**record, "raw": upgraded}))
    (again,) = dead_letters.scan_dead_letters(kv)

    assert letter.event is None
    assert "forecast" in letter.reason
    assert again.event == HELLO
    runtime.close()


OLD = Path(__file__).parents[1] / "data" / "uncaged-0.1.0.tar.xz"
"""The sources of version 0.1.0, with six capabilities of its library."""
DAY_ONE = (
    "encode hello world in base64",
    "/soul be dry",
    "/mem remember: closed on Mondays",
    "please remember that my cat is called Tom",
)
LATER = (
    "encode hello world in base64",
    "please remember that my dog is called Rex",
    "/soul be kind",
    "/mem remember: open on Sundays",
)


@pytest.fixture(scope="module")
def first_version(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Version 0.1.0, unpacked; the engine and the stemmer are those that are installed here."""
    folder = tmp_path_factory.mktemp("first-version")
    with tarfile.open(OLD) as archive:
        archive.extractall(folder, filter="data")
    for name in ("engine.wasm", "engine.json"):
        shutil.copy(Path(engine.__file__).with_name(name), folder / "sigil" / "engine")
    # it had another package for the same stems, which nothing else needs any more
    package = folder / "snowballstemmer"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "english_stemmer.py").write_text(
        "from Stemmer import Stemmer\n\ndef EnglishStemmer():\n    return Stemmer('english')\n"
    )
    return folder


IN_TURN = """
import importlib
import json
import os
import sys

importlib.import_module("functions.local")
for order in sys.stdin:
    commands, lines = json.loads(order)
    with open("said", "wb") as said:
        said.write("".join(f"{line}\\n" for line in lines).encode())
    printed = []
    for name, *arguments in commands:
        program = importlib.import_module(f"{name}.cli")
        process = os.fork()
        if not process:
            os.dup2(os.open("said", os.O_RDONLY), 0)
            os.dup2(os.open("printed", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), 1)
            sys.stdin = open(0, closefd=False)
            sys.argv = ["uncaged", *arguments]
            program.main()
            sys.exit()
        if os.waitpid(process, 0)[1]:
            sys.exit(f"{name} {arguments} has failed")
        with open("printed", encoding="utf-8") as file:
            printed.append(file.read())
    print(json.dumps(printed), flush=True)
"""
"""A program that runs commands one after the other, each in a process of its own, and imports a
version once for all of them. It reads a line of JSON, `[[[module, argument …] …], [line …]]`, and
prints one of what each command has printed; every command reads the lines.
"""


class FirstVersion:
    """Runs commands of the version at `root` over the data. A context manager."""

    def __init__(self, root: Path, data: Path) -> None:
        self._program = subprocess.Popen(
            [sys.executable, "-P", "-c", IN_TURN],
            env=make_environment(root, data),
            cwd=root,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, *commands: tuple[str, ...], lines: Sequence[str] = ()) -> list[str]:
        """Return what each of the commands prints; each reads the lines."""
        assert self._program.stdin is not None
        assert self._program.stdout is not None
        self._program.stdin.write(json.dumps([commands, lines]) + "\n")
        self._program.stdin.flush()
        printed: list[str] = json.loads(self._program.stdout.readline())
        return printed

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._program.communicate(timeout=within(120))


def run_forked(
    root: Path,
    data: Path,
    forked: Mapping[str, str],
    command: str,
    *arguments: str,
    lines: Sequence[str] = (),
) -> str:
    """What a command of this version prints; with the variables `forked`, which are a
    `ProgramForker`'s, it is forked.
    """
    return run_words([*command_of(f"{command}.cli"), *arguments], root, data, lines, forked)


def run_words(
    words: Sequence[str], root: Path, data: Path, lines: Sequence[str], forked: Mapping[str, str]
) -> str:
    """What a program prints that runs over the data with the code at `root`."""
    done = subprocess.run(
        words,
        input="\n".join(lines) + "\n",
        env={**make_environment(root, data), **forked},
        cwd=root,
        capture_output=True,
        text=True,
        timeout=within(120),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def make_environment(root: Path, data: Path) -> dict[str, str]:
    """Return the environment of a program that runs over the data with the code at `root`."""
    ours = ("UNCAGED_", "SIGIL_")
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith(ours)},
        "PYTHONPATH": str(root),
        "UNCAGED_DATA": str(data),
        "UNCAGED_LIBRARY": str(root / "capabilities"),
    }


def test_a_store_of_version_0_1_0_opens_here_and_opens_there_again(
    first_version: Path, tmp_path: Path, forked: ProgramForker
) -> None:
    here = Path(__file__).parents[2]
    run_here = partial(run_forked, here, tmp_path, forked.environment)
    looks = (
        ("functions", "agent", "status", "--json"),
        ("functions", "inbox", "dead", "--json"),
        ("functions", "agent", "doc", "list", "--json"),
    )
    deploy = ("deploy", "--name", "louder", "--execute", "return input.text.toUpperCase()")

    with FirstVersion(first_version, tmp_path) as there:
        first, _ = there.run(("functions", "chat"), ("sigil", *deploy), lines=DAY_ONE)
        # a backup of it is restored in its place, by the version that has backups
        file = tmp_path / "backup.zip"
        run_here("functions", "backup", str(file))
        run_here("functions", "restore", str(file), "--replace")
        second = run_here("functions", "chat", lines=[*LATER, "/recall cat"])
        run_here(
            "sigil",
            "deploy",
            "--name",
            "louder",
            "--execute",
            "return input.text.toUpperCase() + '!'",
        )
        third, louder, *seen_there = there.run(
            ("functions", "chat"),
            ("sigil", "run", "louder", '{"text": "hi"}'),
            *looks,
            lines=[*DAY_ONE, "/recall dog"],
        )

    for said, also in ((first, "Tom"), (second, "Tom"), (third, "Rex")):
        assert "aGVsbG8gd29ybGQ=" in said
        assert "Soul updated." in said
        assert also in said
    assert louder.strip().strip('"') == "HI!"
    for status, dead, documents in (seen_there, [run_here(*look) for look in looks]):
        assert json.loads(status)["state"] == "WAITING_FOR_EVENT"
        assert json.loads(dead) == []
        assert {row["name"]: row["version"] for row in json.loads(documents)}["soul"] >= 2
