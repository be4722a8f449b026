"""An AWS that says what a test wants: refusals by code, then nothing but empty answers."""

from __future__ import annotations

from dataclasses import replace

from tests.fakes.server import Answer, Recorded, RecordingServer, json_answer

HIDDEN = "sk-hidden arn:aws:iam::1:user/x"


class Moody(RecordingServer):
    """Refuses the first `times` requests with `code`, in JSON as DynamoDB or, to what is no POST,
    in XML as S3; `url` is the endpoint.
    """

    def __init__(self, code: str, times: int = 1_000_000, status: int = 400) -> None:
        super().__init__()
        self.code, self.times, self.status = code, times, status

    def answer(self, request: Recorded) -> Answer:
        if len(self.requests) > self.times:
            made = json_answer({}) if request.method == "POST" else Answer()
        elif request.method == "POST":
            made = json_answer(
                {"__type": f"com.amazonaws.example#{self.code}", "message": HIDDEN}, self.status
            )
        else:
            made = Answer(
                self.status,
                f"<Error><Code>{self.code}</Code><Message>{HIDDEN}</Message></Error>".encode(),
            )
        return replace(made, headers={"x-amzn-requestid": str(len(self.requests))})
