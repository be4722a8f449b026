"""The address at which functions of AWS Lambda are invoked, in front of functions that run under the
real runtime interface.

https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html. It refuses what AWS refuses: an
unknown function, and more than 6 MB in an invocation or in its answer.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Mapping

from tests.fakes.server import Answer, Recorded, RecordingServer
from tests.servers.lambda_runtime import LambdaFunction

MAX_BYTES = 6_291_456
_PATH = re.compile(r"/2015-03-31/functions/([^/]+)/invocations")


class LambdaInvocations(RecordingServer):
    """`with LambdaInvocations({"media": function}) as door: door.url`."""

    def __init__(self, functions: Mapping[str, LambdaFunction]) -> None:
        super().__init__()
        self._functions = functions

    def answer(self, request: Recorded) -> Answer:
        named = _PATH.fullmatch(request.path)
        function = self._functions.get(named[1]) if named else None
        if function is None:
            return _refuse(404, "ResourceNotFoundException")
        if len(request.body) > MAX_BYTES:
            return _refuse(413, "RequestTooLargeException")
        done = function.invoke(request.json())
        body = json.dumps(done.payload).encode()
        headers = {"x-amzn-requestid": str(uuid.uuid4())}
        if len(body) > MAX_BYTES:
            failed = {"errorType": "Function.ResponseSizeTooLarge"}
            body = json.dumps(failed).encode()
        if len(body) > MAX_BYTES or done.failed:
            headers["x-amz-function-error"] = "Unhandled"
        return Answer(200, body, headers)


def _refuse(status: int, code: str) -> Answer:
    headers = {"x-amzn-requestid": str(uuid.uuid4()), "x-amzn-errortype": code}
    return Answer(status, json.dumps({"Message": code}).encode(), headers)
