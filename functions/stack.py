"""Answers CloudFormation, which asks when a stack is made, changed or removed: the library stands
before anybody's call.

It asks as for a custom resource, and waits for a document at an address of its own:
https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/crpg-ref.html
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import orjson

from functions import log
from functions.settings import Settings
from sigil.errors import BackendError, SigilError, one_line
from sigil.wiring import local_registry, open_stores

NAME = "library"
"""The same for ever: another one would have CloudFormation remove the old."""
PAUSES = (2.0, 5.0, 15.0, 30.0)
"""Seconds between tries: what a role may do is not known everywhere at once."""
ANSWER_SECONDS = 20.0


def is_asked(event: Mapping[str, Any]) -> bool:
    """Whether CloudFormation asks. No platform and no queue has a word in these fields."""
    return "RequestType" in event and "ResponseURL" in event


def answer(event: Mapping[str, Any], stock: Callable[[], None]) -> dict[str, str]:
    """Have the library stocked, unless the stack goes, and tell CloudFormation how that ended."""
    from urllib.request import Request, urlopen

    problem = "" if event["RequestType"] == "Delete" else _stocked(stock)
    document = {
        "Status": "FAILED" if problem else "SUCCESS",
        "Reason": problem or "done",
        "PhysicalResourceId": NAME,
        **{name: event[name] for name in ("StackId", "RequestId", "LogicalResourceId")},
    }
    body = orjson.dumps(document)
    # the address is signed for a request without a media type
    request = Request(
        event["ResponseURL"],
        body,
        {"Content-Type": "", "Content-Length": str(len(body))},
        method="PUT",
    )
    with urlopen(request, timeout=ANSWER_SECONDS):
        return {"status": document["Status"]}


def stock_library() -> None:
    """Deploy the library of the settings. The second time finds nothing to do and says so, for the
    starts that follow.
    """
    settings = Settings.read()
    stores = open_stores(settings)
    for _ in range(2):
        local_registry(settings, stores, lambda line: log.note("stocked", said=line)).close()


def _stocked(stock: Callable[[], None]) -> str:
    """Why the library could not be stocked; empty when it was."""
    for pause in (*PAUSES, None):
        try:
            stock()
        except BackendError as problem:
            log.note("not stocked", code=problem.code, message=problem.message)
            if pause is None:
                return one_line(problem.message)
            time.sleep(pause)
        except SigilError as problem:
            log.note("not stocked", code=problem.code, message=problem.message)
            return one_line(problem.message)
        except Exception as problem:  # noqa: BLE001  a door: CloudFormation would wait for an hour
            log.failure("not stocked")
            return f"a mistake of ours: {type(problem).__name__}"
        else:
            return ""
    return ""
