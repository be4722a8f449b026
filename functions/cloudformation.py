"""CloudFormation's custom resource: it deploys the library when a stack is made or changed.

The library is there before the first call. CloudFormation waits for a document at an address of its
own: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/crpg-ref.html
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import orjson

from functions import log
from functions.settings import Settings
from sigil.errors import BackendError, SigilError, one_line
from sigil.json_fields import as_string
from sigil.protocol import Json
from sigil.wiring import local_registry, open_stores

NAME = "library"
"""The resource's name. Under another one CloudFormation would remove the old resource."""
PAUSES = (2.0, 5.0, 15.0, 30.0)
"""Seconds between tries: a new role's permissions take a while to hold everywhere in AWS."""
ANSWER_SECONDS = 20.0


def is_stack_event(event: Mapping[str, Json]) -> bool:
    """Return whether CloudFormation sent the event; no platform and no queue sends these fields."""
    return "RequestType" in event and "ResponseURL" in event


def answer_stack_event(event: Mapping[str, Json], stock: Callable[[], None]) -> dict[str, str]:
    """Deploy the library unless the stack is being deleted, and report the outcome.

    CloudFormation reads it at the event's `ResponseURL`; the same status is returned.
    """
    from urllib.request import Request, urlopen

    problem = "" if event["RequestType"] == "Delete" else _try_to_stock_library(stock)
    status = "FAILED" if problem else "SUCCESS"
    document = {
        "Status": status,
        "Reason": problem or "done",
        "PhysicalResourceId": NAME,
        **{name: event[name] for name in ("StackId", "RequestId", "LogicalResourceId")},
    }
    body = orjson.dumps(document)
    # the address is signed for a request without a media type
    request = Request(
        as_string(event["ResponseURL"]),
        body,
        {"Content-Type": "", "Content-Length": str(len(body))},
        method="PUT",
    )
    with urlopen(request, timeout=ANSWER_SECONDS):
        return {"status": status}


def stock_library() -> None:
    """Deploy the library of the settings.

    The second run finds nothing to do and records that, so that later starts are quick.
    """
    settings = Settings.read()
    stores = open_stores(settings)
    for _ in range(2):
        local_registry(settings, stores, lambda line: log.note("stocked", said=line)).close()


def _try_to_stock_library(stock: Callable[[], None]) -> str:
    """Deploy the library; return why that failed, an empty text when it did not."""
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
        except Exception as problem:  # noqa: BLE001  entry point: CloudFormation would wait for an hour
            log.failure("not stocked")
            return f"unexpected error: {type(problem).__name__}"
        else:
            return ""
    return ""
