"""The examples of the API's description, played: each is sent to a live registry that began empty,
in the order of the file.

`PYTHONPATH=. python -m tests.sigil.http.openapi.story` writes the answers that the description
shows anew.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import httpx
import orjson

import sigil
from sigil.access.authentication import Authenticator
from sigil.http.app import build_app
from sigil.http.openapi.examples import FILE, Example, load_examples
from sigil.registry import LocalRegistry, RegistryRules
from sigil.sandbox.pool import Sandbox
from sigil.storage.artifacts import MemoryArtifacts
from sigil.storage.kv.memory import MemoryKV
from tests.sigil.serving import served

ADMIN = "the-admin-token-of-the-examples"
NOW = 1_790_000_000.0
ADDRESS = "https://sigil.example.com/"
CHANGING = (
    "mean_ms",
    "ms",
    "p95_ms",
    "id",
    "key",
    "token",
    "hash",
    "previous",
    "tip",
    "sandbox",
    "store",
    "last_use",
)
"""Fields whose values differ from one play to the next."""
SHUFFLED = ("GET /_api/keys",)
"""Routes that list what has random ids, so that another row may come first."""
ENGINE = Path(sigil.__file__).parent / "sandbox" / "engine" / "engine.wasm"


@dataclass(frozen=True, slots=True)
class Played:
    """An example and what was answered to it."""

    example: Example
    response: httpx.Response


@contextmanager
def stage(
    compiled: Path, rate: float = 600.0
) -> Iterator[tuple[str, dict[str, str], LocalRegistry]]:
    """A live server over an empty registry: its address, a token of each kind, and the registry."""
    clock: Callable[[], float] = lambda: NOW  # noqa: E731
    sandbox = Sandbox(engine=ENGINE, cache=compiled, children=1)
    registry = LocalRegistry(
        MemoryKV(), MemoryArtifacts(), sandbox, clock, rules=RegistryRules(pause=0)
    )
    try:
        with served(
            build_app(lambda: registry, Authenticator(ADMIN, lambda: registry.keys, "main", rate))
        ) as url:
            tokens = {"": "", "admin": ADMIN}
            for kind in ("deploy", "invoke"):
                made = httpx.post(
                    f"{url}/_api/keys",
                    json={"kind": kind},
                    headers={"Authorization": f"Bearer {ADMIN}"},
                )
                tokens[kind] = made.json()["token"]
            yield url, tokens, registry
    finally:
        registry.close()


def play(
    url: str, tokens: dict[str, str], story: tuple[Example, ...] = load_examples()
) -> Iterator[Played]:
    """Send every example, one after the other."""
    exported = b""
    with httpx.Client(base_url=url, timeout=60) as client:
        for example in story:
            response = client.send(request(client, example, tokens, exported))
            if example.route == "POST /_api/export":
                exported = response.content
            yield Played(example, response)


def request(
    client: httpx.Client, example: Example, tokens: dict[str, str], exported: bytes
) -> httpx.Request:
    """The request that an example means."""
    method, _, path = example.route.partition(" ")
    headers = {
        **example.headers,
        **({"Authorization": f"Bearer {tokens[example.token]}"} if example.token else {}),
    }
    where = path.replace("{ref:path}", "{ref}").replace("{ref}", example.ref)
    if example.route == "POST /_api/import":
        headers["Content-Type"] = "application/zip"
        return client.build_request(
            method, where, params=example.query, headers=headers, content=exported
        )
    json = {} if example.body is None else {"json": example.body}
    return client.build_request(method, where, params=example.query, headers=headers, **json)


def answered(played: Played, url: str) -> Any:
    """What the description shows of an answer: JSON, a text, or nothing of a file and of the
    description itself.
    """
    kind = played.response.headers["content-type"].partition(";")[0]
    if kind == "application/zip" or played.example.route.startswith(
        ("GET /_api/openapi", "GET /_api/docs")
    ):
        return None
    text = re.sub(
        r"sgl_\w{38}", f"sgl_{'x' * 38}", played.response.text.replace(f"{url}/", ADDRESS)
    )
    return orjson.loads(text) if kind == "application/json" else text


def steady(value: Any) -> Any:
    """The same without what differs from one play to the next."""
    if isinstance(value, list):
        return [steady(each) for each in value]
    if isinstance(value, dict):
        return {
            name: "…" if name in CHANGING or _release(name, inner) else steady(inner)
            for name, inner in value.items()
        }
    return value


def _release(name: str, value: Any) -> bool:
    """Whether it is the version of the product, and not of a capability."""
    return name == "version" and isinstance(value, str)


def main() -> None:
    """Write the file anew."""
    with tempfile.TemporaryDirectory() as folder, stage(Path(folder)) as (url, tokens, _):
        rows = [
            _row(replace(each.example, answer=answered(each, url))) for each in play(url, tokens)
        ]
    FILE.write_bytes(b"[\n" + b",\n".join(orjson.dumps(row) for row in rows) + b"\n]\n")


def _row(example: Example) -> dict[str, Any]:
    """As the file has it: without what is as it is anyway."""
    plain = Example("", "", "", 0)
    needed = ("route", "name", "title", "status")
    kept = [
        part.name
        for part in fields(Example)
        if part.name in needed or getattr(example, part.name) != getattr(plain, part.name)
    ]
    return {name: value for name, value in asdict(example).items() if name in kept}


if __name__ == "__main__":
    main()
