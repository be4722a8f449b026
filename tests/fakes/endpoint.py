"""A model endpoint that validates its requests as a family of real ones does, and answers from a
script in that family's form.
"""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any

from tests.fakes import endpoint_answers, endpoint_rules, messages_api, responses_api
from tests.fakes.endpoint_rules import DIALECTS, Dialect, Refusal
from tests.fakes.endpoint_steps import Asked, Counts, Step, call, say
from tests.fakes.server import Answer, Recorded, RecordingServer, json_answer

Reply = Step | Answer | Callable[[Asked], "Step | Answer"]
RULES: Mapping[str, ModuleType] = {
    "completions": endpoint_rules,
    "responses": responses_api,
    "messages": messages_api,
}
"""The module of each API that judges and reads its requests, by the end of its path."""
CACHED_LEAST = 1024
"""A prompt of fewer tokens is not cached by its prefix."""
REMEMBERED = call(
    (
        "save_memory",
        {"history_entry": "[2026-01-01 00:00] They talked.", "memory_update": "# Memory"},
    )
)
"""What memory is answered."""


class ModelEndpoint(RecordingServer):
    """Serves the model of one dialect, or of several ones as a gateway does.

    Each accepted request for an answer in a chat is answered with the next step of the script, and
    after the last one with `say("done")`. A step that calls tools is passed over where none may be
    called. What is asked beside the chats takes no step.
    """

    def __init__(self, *dialects: str | Dialect, script: Iterable[Reply] = ()) -> None:
        super().__init__()
        rows = [DIALECTS[each] if isinstance(each, str) else each for each in dialects]
        self._dialects = {row.model: row for row in rows or [DIALECTS["openai"]]}
        self._script = list(script)
        self._lock = threading.Lock()
        self._prompts: defaultdict[str, list[str]] = defaultdict(list)
        self._cache = messages_api.PromptCache()
        self.accepted: list[Asked] = []
        """The requests that were taken, in order."""
        self.refused: list[Refusal] = []
        """Why the others were not."""
        self.before: Callable[[Recorded], Answer | None] = lambda request: None
        """Answers a request in place of the rules, None to let them judge it."""
        self.always_streams = False
        """Whether it streams also where that was not asked for, as some proxies do."""

    def then(self, *replies: Reply) -> None:
        """Go on with these."""
        with self._lock:
            self._script.extend(replies)

    def start_over(self, *replies: Reply) -> None:
        """Answer with these, and with nothing that is left of the script."""
        with self._lock:
            self._script[:] = replies

    @property
    def model(self) -> str:
        """The name of the first model."""
        return next(iter(self._dialects))

    @property
    def posts(self) -> list[Recorded]:
        """The requests to a model, taken or not, in order."""
        return [request for request in self.requests if request.method == "POST"]

    @property
    def chats(self) -> list[Asked]:
        """Those that were taken and asked for an answer in a chat."""
        return [asked for asked in self.accepted if asked.is_chat]

    def answer(self, request: Recorded) -> Answer:
        given = self.before(request)
        if given is not None:
            return given
        path = request.path.partition("?")[0].rstrip("/")
        if request.method == "GET":
            return self._list_models(path)
        api = path.rpartition("/")[2]
        try:
            body = request.json()
        except ValueError:
            body = None
        if not isinstance(body, dict):
            return json_answer({"error": {"message": "We could not parse the JSON body."}}, 400)
        model = body.get("model")
        dialect = self._dialects.get(str(model)) or next(iter(self._dialects.values()))
        with self._lock:
            refusal = self._judge(api, body, request.headers, dialect)
            if refusal:
                self.refused.append(refusal)
                writes = messages_api if api == "messages" else endpoint_answers
                return json_answer(writes.format_refusal(dialect, refusal), refusal.status)
            asked: Asked = RULES[api].read_asked(body)
            self.accepted.append(asked)
            number = len(self.accepted)
            counts = self._count(api, asked)
            reply = self._choose_reply(asked)
        made = reply(asked) if callable(reply) else reply
        if isinstance(made, Answer):
            return made
        return self._write(api, dialect, asked, made, number, counts)

    def _judge(
        self, api: str, body: Mapping[str, Any], headers: Mapping[str, str], dialect: Dialect
    ) -> Refusal | None:
        if api not in dialect.apis:
            return Refusal("Not Found", 404)
        if body.get("model") not in self._dialects:
            return Refusal(
                f"The model `{body.get('model')}` does not exist or you do not have access to it.",
                404,
                code="model_not_found",
            )
        refusal: Refusal | None = RULES[api].judge(body, headers, dialect)
        return refusal

    def _list_models(self, path: str) -> Answer:
        if not path.endswith("/models"):
            return json_answer({"error": {"message": "Not Found"}}, 404)
        rows = [
            {"id": name, "object": "model", "owned_by": dialect.family}
            for name, dialect in self._dialects.items()
        ]
        return json_answer({"object": "list", "data": rows})

    def _choose_reply(self, asked: Asked) -> Reply:
        """Return the next step of the script, or what a side request is answered."""
        if not asked.is_chat:
            if "save_memory" in asked.tools:
                return REMEMBERED
            return call((asked.forced or asked.tools[0], {})) if asked.tools else say("yes")
        while self._script and not asked.may_call and _calls_tools(self._script[0]):
            self._script.pop(0)
        return self._script.pop(0) if self._script else say("done")

    def _count(self, api: str, asked: Asked) -> Counts:
        """Return the tokens of a prompt, and how many of them were there before."""
        if api == "messages":
            return self._cache.count(asked.body)
        said = asked.body.get("messages") or asked.body.get("input")
        prompt = json.dumps([asked.body.get("tools"), asked.body.get("instructions"), said])
        earlier = self._prompts[asked.model]
        shared = max([0, *(count_shared(prompt, each) for each in earlier)]) // 4
        earlier[:] = [*earlier[-3:], prompt]
        return Counts(len(prompt) // 4, shared if shared >= CACHED_LEAST else 0)

    def _write(
        self, api: str, dialect: Dialect, asked: Asked, step: Step, number: int, counts: Counts
    ) -> Answer:
        if api == "completions":
            whole = endpoint_answers.write_answer(dialect, asked.model, step, number, counts)
            events = endpoint_answers.stream_answer
        else:
            module = RULES[api]
            whole = module.write_answer(dialect, asked.body, step, number, counts)
            events = module.stream_answer
        if asked.body.get("stream") or self.always_streams:
            chunks = _in_chunks("".join(events(dialect, whole)).encode())
            return Answer(200, chunks, {"content-type": "text/event-stream"})
        body = json.dumps(whole, ensure_ascii=False).encode()
        if "blank_lines" in dialect.odd:
            body = b"\n\n\n" + body  # DeepSeek sends empty lines while a request waits
        return Answer(200, body, {"content-type": "application/json"})


def count_shared(one: str, other: str) -> int:
    """Return how many characters two texts have in common from their beginning."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _calls_tools(reply: Reply) -> bool:
    return isinstance(reply, Step) and bool(reply.calls)


def _in_chunks(stream: bytes, size: int = 701) -> Iterator[bytes]:
    """Yield a stream in pieces that end anywhere, also inside a character."""
    for start in range(0, len(stream), size):
        yield stream[start : start + size]
