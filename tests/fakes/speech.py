"""An endpoint that turns speech into text, and refuses what the real ones refuse."""

from __future__ import annotations

import json
from typing import Final

from tests.fakes.forms import read_form
from tests.fakes.server import Answer, Recorded, RecordingServer, json_answer

KEY: Final = "speech-key-of-the-tests"
MAX_BYTES: Final = 25 << 20
ENDINGS: Final = frozenset("flac m4a mp3 mp4 mpeg mpga oga ogg wav webm".split())
FORMATS: Final = frozenset(("json", "text", "srt", "verbose_json", "vtt"))
FIELDS: Final = frozenset(
    ("file", "model", "language", "prompt", "response_format", "temperature", "stream")
)
SIGNATURES: Final = (
    (0, b"OggS", ("ogg", "oga")),
    (0, b"fLaC", ("flac",)),
    (0, b"ID3", ("mp3", "mpga", "mpeg")),
    (0, b"\xff\xfb", ("mp3", "mpga", "mpeg")),
    (0, b"RIFF", ("wav",)),
    (0, b"\x1a\x45\xdf\xa3", ("webm",)),
    (4, b"ftyp", ("m4a", "mp4")),
)


class SpeechEndpoint(RecordingServer):
    """It hears `said` in every file; the answers in `next` come first, one for each request."""

    def __init__(self) -> None:
        super().__init__()
        self.said = "hello from the tests"
        self.next: list[Answer] = []

    @property
    def address(self) -> str:
        """What stands in `UNCAGED_STT_URL`."""
        return f"{self.url}/v1"

    @property
    def forms(self) -> list[dict[str, str]]:
        """The fields of the requests, without their files, each with the file's name."""
        return [
            {name: part.name or part.content.decode() for name, part in read_form(each).items()}
            for each in self.requests
        ]

    def answer(self, request: Recorded) -> Answer:
        if self.next:
            return self.next.pop(0)
        problem = _find_problem(request)
        if problem:
            status, message = problem
            return json_answer({"error": {"message": message, "type": "invalid_request"}}, status)
        return Answer(200, json.dumps({"text": self.said}).encode(), _JSON)


_JSON: Final = {"content-type": "application/json"}


def _find_problem(request: Recorded) -> tuple[int, str] | None:
    """Why a request is refused, in the order in which the real ones look."""
    if (request.method, request.path) != ("POST", "/v1/audio/transcriptions"):
        return 404, "Not Found"
    if request.headers.get("authorization") != f"Bearer {KEY}":
        return 401, "Incorrect API key provided"
    if len(request.body) > MAX_BYTES:
        return 413, "Maximum content size limit exceeded"
    if not request.headers.get("content-type", "").startswith("multipart/form-data; boundary="):
        return 400, "Could not parse multipart form"
    form = read_form(request)
    if form.keys() - FIELDS:
        return 400, f"Unrecognized request argument supplied: {min(form.keys() - FIELDS)}"
    file = form.get("file")
    if file is None or not file.name:
        return 400, "'file' is a required property"
    if not form.get("model") or not form["model"].content:
        return 400, "you must provide a model parameter"
    if "response_format" in form and form["response_format"].content.decode() not in FORMATS:
        return 400, "Unsupported response_format"
    language = form.get("language")
    if language is not None and len(language.content) != 2:
        return 400, "Language parameter must be specified in ISO-639-1 format"
    ending = file.name.rpartition(".")[2]
    fits = [
        place
        for place, signature, endings in SIGNATURES
        if ending in endings and file.content.startswith(signature, place)
    ]
    if ending not in ENDINGS or not fits:
        return 400, "Invalid file format."
    return None
