"""`SpeechClient` lets an endpoint turn speech into text: `POST …/audio/transcriptions`, as OpenAI,
Groq and local servers of whisper take it.

Nothing of a sound is decoded here, and its words are data: whoever uses them sanitizes them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import httpx
import orjson

from functions.http_connection import TROUBLES, HttpAnswer, HttpConnections
from functions.media.file_types import (
    CLOSED_SOUNDS,
    PERHAPS_SOUNDS,
    SOUNDS,
    FileType,
    find_type,
)
from functions.media.results import Reason
from functions.media.sound_length import measure_seconds
from sigil.errors import ToolError, UsageError

PATH: Final = "/audio/transcriptions"
MAX_BYTES: Final = 25_000_000
MAX_SECONDS: Final = 600.0
"""A longer sound is not sent."""
SECONDS: Final = 60.0
"""A sound is answered within so many seconds, both tries together."""
PAUSE_SECONDS: Final = 1.0
"""The pause before the second try."""
TRIES: Final = 2
ANSWER_BYTES: Final = 1 << 20
TEXT_CHARACTERS: Final = 20_000
"""Nobody says more in ten minutes."""
UNKNOWN_BYTES: Final = 4_000
"""A sound that does not tell its length is counted as a second for so many bytes."""
ABSENT_SECONDS: Final = 3_600.0
"""An endpoint that turns no speech into text is not asked again for so long."""
_MOVED: Final = 300


class Unheard(StrEnum):
    """Why a sound is not heard, beside what holds for all files (`Reason`). The set is closed:
    there is a sentence for each of them.
    """

    NO_SPEECH = "no_speech"
    AWAY = "speech_away"
    KEY = "speech_key"
    NO_WORDS = "no_words"
    TOO_LONG = "too_long"
    TYPE = "sound_type"


@dataclass(frozen=True, slots=True)
class Transcript:
    """What was said in a sound: its words, its length in seconds (0 where it tells none), and what
    it cost in the currency of the prices.
    """

    text: str
    seconds: float
    cost: float


class SpeechClient:
    """Asks the endpoint at `url`; empty for none. A minute of speech costs `price`.

    A sound that is not heard is a `ToolError` EFILE whose `reason` is one of the texts'
    `file_problems`. It may be used from several threads. `UsageError` ESETTING for an address that
    is none.
    """

    def __init__(
        self,
        url: str,
        key: str,
        model: str,
        price: float = 0.0,
        *,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._connections: HttpConnections | None = None
        self._url = f"{url.rstrip('/')}{PATH}"
        if url:
            try:
                self._connections = HttpConnections(self._url)
            except ValueError:
                raise UsageError(
                    "ESETTING",
                    f"UNCAGED_STT_URL={url!r:.100} is not a web address",
                    suggestion="it begins with http:// or https://",
                ) from None
        self._key = key
        self._model = model
        self._price = price
        self._pause = pause
        self._absent_until = 0.0

    @property
    def is_open(self) -> bool:
        """Return whether there is an endpoint that may hear something."""
        return self._connections is not None and time.monotonic() >= self._absent_until

    def hears(self, data: bytes, *, spoken: bool) -> bool:
        """Return whether a file is a sound; `spoken`: it came as one, so that it is no video."""
        type = find_type(data)
        return type in SOUNDS | CLOSED_SOUNDS or (spoken and type in PERHAPS_SOUNDS)

    def measure(self, data: bytes) -> float:
        """Return the length of a sound in seconds; 0 where it tells none."""
        type = find_type(data)
        return measure_seconds(data, type) if type else 0.0

    def transcribe(self, data: bytes, language: str = "") -> Transcript:
        """Return what is said in a sound. `language` is its ISO 639-1 code, empty where nobody
        knows.
        """
        type = find_type(data)
        if type is None or type in CLOSED_SOUNDS:
            raise _make_problem(Unheard.TYPE, type.value.upper() if type else "")
        if len(data) > MAX_BYTES:
            raise _make_problem(Reason.TOO_LARGE)
        seconds = measure_seconds(data, type)
        if seconds > MAX_SECONDS:
            raise _make_problem(Unheard.TOO_LONG)
        if self._connections is None or not self.is_open:
            raise _make_problem(Unheard.NO_SPEECH)
        answer = self._ask(self._connections, data, type, language)
        text = _read_text(answer)
        if not text.strip():
            raise _make_problem(Unheard.NO_WORDS)
        billed = seconds or len(data) / UNKNOWN_BYTES
        return Transcript(text, seconds, billed * self._price / 60)

    def close(self) -> None:
        """Close the connections."""
        if self._connections:
            self._connections.close()

    def _ask(
        self, connections: HttpConnections, data: bytes, type: FileType, language: str
    ) -> HttpAnswer:
        """Return the answer to a sound, that of a second try where the first one met trouble."""
        fields = {"model": self._model, "response_format": "json"}
        if language:
            fields["language"] = language
        # endpoints go by the name's ending; how its sender called it is nobody's concern
        form = httpx.Request(
            "POST", self._url, data=fields, files={"file": (f"voice.{type.value}", data)}
        )
        body = form.read()
        headers = {"content-type": form.headers["content-type"], "accept-encoding": "identity"}
        if self._key:
            headers["authorization"] = f"Bearer {self._key}"
        deadline = time.monotonic() + SECONDS
        for number in range(1, TRIES + 1):
            is_last = number == TRIES
            try:
                answer = connections.post(body, headers, ANSWER_BYTES, deadline, lambda: False)
            except TROUBLES:
                if is_last or time.monotonic() + PAUSE_SECONDS >= deadline:
                    raise _make_problem(Unheard.AWAY) from None
            else:
                if is_last or not (answer.status == 429 or answer.status >= 500):
                    self._require_heard(answer)
                    return answer
            self._pause(PAUSE_SECONDS)
        raise AssertionError("the last try returns or raises")

    def _require_heard(self, answer: HttpAnswer) -> None:
        """Raise `ToolError` for an answer that says that nothing was heard."""
        if answer.status in (404, 405, 501):
            self._absent_until = time.monotonic() + ABSENT_SECONDS
            raise _make_problem(Unheard.NO_SPEECH)
        reason = _REASONS.get(answer.status)
        if reason or answer.status >= _MOVED:
            raise _make_problem(reason or Unheard.AWAY)


_REASONS: Final[Mapping[int, Reason | Unheard]] = {
    400: Reason.BROKEN,
    401: Unheard.KEY,
    403: Unheard.KEY,
    413: Reason.TOO_LARGE,
    415: Reason.BROKEN,
    422: Reason.BROKEN,
}


def _read_text(answer: HttpAnswer) -> str:
    """Return the text in an answer; `ToolError` for anything else."""
    try:
        found = orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        found = None
    text = found.get("text") if isinstance(found, dict) else None
    if not isinstance(text, str) or len(text) > TEXT_CHARACTERS:
        raise _make_problem(Unheard.AWAY)
    return text


def _make_problem(reason: Reason | Unheard, type: str = "") -> ToolError:
    """Return the error with this reason; `type` names the type that no endpoint takes."""
    return ToolError("EFILE", "the sound is not heard", suggestion=type, reason=reason.value)
