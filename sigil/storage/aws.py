"""Make boto3's clients when they are first used, and put their failures in plain words."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from sigil.errors import BackendError, one_line

if TYPE_CHECKING:
    from botocore.exceptions import BotoCoreError, ClientError  # type: ignore[import-untyped]

CONNECT_SECONDS = 2.0
READ_SECONDS = 5.0
ATTEMPTS = 3
"""A request is repeated when it was throttled, reset, unanswered or met a 5xx, with a growing
random pause, for about 18 s at most. A writer must recognise its own write, because the first
attempt may have been stored (conditional writes carry a token).
"""
CONNECTIONS = 64
"""Connections that are kept for reuse; a thread beyond them opens one of its own."""

_LOCK = threading.Lock()  # botocore's sessions make one client at a time

_REGION = ("no region is set", "set AWS_DEFAULT_REGION, or region in ~/.aws/config")
_ADDRESS = (
    "its region or endpoint is not valid",
    "check AWS_DEFAULT_REGION, AWS_ENDPOINT_URL and the endpoint in the settings",
)
_CREDENTIALS = (
    "no credentials were found",
    (
        "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or AWS_PROFILE, or run where a role gives"
        " them"
    ),
)
_EXPIRED = (
    "the credentials have expired",
    "sign in again (aws sso login), or renew AWS_SESSION_TOKEN",
)
_INVALID = (
    "the credentials are not accepted",
    "check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and this machine's clock",
)
_DENIED = ("access is denied", "allow it in the policy of the role or user that this runs as")
_THROTTLED = (
    "too many requests at once",
    "try again in a moment; raise the quota or the table's capacity when this lasts",
)
_UNREACHABLE = ("it cannot be reached", "check the network, the region and the endpoint")
_SILENT = ("it does not answer in time", "check the network and the endpoint, or try again")
_BROKEN = ("it failed on its own side", "try again in a moment")

_MEANINGS: tuple[tuple[str, tuple[str, str]], ...] = (
    ("ExpiredToken ExpiredTokenException RequestExpired TokenRefreshRequired", _EXPIRED),
    (
        (
            "UnrecognizedClientException InvalidClientTokenId InvalidAccessKeyId"
            " InvalidSignatureException SignatureDoesNotMatch IncompleteSignature"
            " MissingAuthenticationToken MissingAuthenticationTokenException RequestTimeTooSkewed"
            " AuthFailure"
        ),
        _INVALID,
    ),
    (
        (
            "AccessDenied AccessDeniedException UnauthorizedOperation OptInRequired"
            " KMSAccessDeniedException 403"
        ),
        _DENIED,
    ),
    (
        (
            "Throttling ThrottlingException ThrottledException RequestThrottled"
            " RequestThrottledException RequestLimitExceeded ProvisionedThroughputExceededException"
            " TooManyRequestsException LimitExceededException KmsThrottled SlowDown 429"
        ),
        _THROTTLED,
    ),
    (
        (
            "InternalServerError InternalError InternalFailure InternalServiceError"
            " ServiceUnavailable 500 502 503 504"
        ),
        _BROKEN,
    ),
)
_CODES = {code: meaning for codes, meaning in _MEANINGS for code in codes.split()}
"""The meanings of the codes of all services,
https://docs.aws.amazon.com/awssupport/latest/APIReference/CommonErrors.html, and of those that are
used here.
"""

_MISSING = {
    "ResourceNotFoundException": "it does not exist here",
    "NoSuchBucket": "it does not exist",
    "QueueDoesNotExist": "it does not exist here",
    "AWS.SimpleQueueService.NonExistentQueue": "it does not exist here",
    "ParameterNotFound": "it does not exist here",
}
_MISSING_HELP = "check its name, the account and the region, or create it"


def client(
    service: str, *, endpoint: str = "", read_seconds: float = 0.0, signature: str = ""
) -> Any:
    """Return the process's client of a service (`dynamodb`, `sqs`, …), which is safe for threads.

    `endpoint` replaces AWS's own (default: the environment's AWS_ENDPOINT_URL, or AWS).
    `read_seconds` bounds the wait for an answer (default: `READ_SECONDS`): a long poll needs more.
    `signature` is a version that the service would not take by itself, such as `s3v4`.
    `BackendError` when region or credentials are missing; the search for credentials ends after 2
    s.
    """
    with _LOCK, explain_errors(service):
        seconds = read_seconds or READ_SECONDS
        return _make_client(service, endpoint, seconds, signature, os.getpid())


@contextmanager
def explain_errors(what: str) -> Iterator[None]:
    """Turn botocore's exceptions within the block into `BackendError` in plain words.

    `what` names the thing that is used, as `table sessions`.
    """
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except (BotoCoreError, ClientError) as problem:
        raise make_backend_error(problem, what) from None


def make_backend_error(problem: BotoCoreError | ClientError, what: str) -> BackendError:
    """Return an exception of botocore in plain words; of the service's own text only codes are
    kept.
    """
    if not getattr(problem, "response", None):
        reason, suggestion = _explain_client_failure(type(problem))
        return _make_unusable(what, reason, suggestion)
    code = code_of(problem)
    if code in _MISSING:
        return _make_unusable(what, _MISSING[code], _MISSING_HELP)
    reason, suggestion = _CODES.get(code, (f"refused with {one_line(code, 80)}", ""))
    if reason == _DENIED[0]:
        reason = f"{reason} ({problem.operation_name})"
    return _make_unusable(what, reason, suggestion)


def code_of(problem: ClientError) -> str:
    """Return the service's code of a refusal, as `ConditionalCheckFailedException`; a status such
    as `503` where it gave none.
    """
    code = problem.response.get("Error", {}).get("Code")
    status = problem.response.get("ResponseMetadata", {}).get("HTTPStatusCode", "")
    return str(code or status)


def _make_unusable(what: str, reason: str, suggestion: str) -> BackendError:
    return BackendError("EUNAVAILABLE", f"{what}: {reason}", source="aws", suggestion=suggestion)


def _explain_client_failure(kind: type[Exception]) -> tuple[str, str]:
    from botocore import exceptions as known  # type: ignore[import-untyped]

    table: tuple[tuple[tuple[type[Exception], ...], tuple[str, str]], ...] = (
        ((known.NoRegionError,), _REGION),
        ((known.InvalidRegionError, known.EndpointProviderError), _ADDRESS),
        (
            (
                known.NoCredentialsError,
                known.PartialCredentialsError,
                known.CredentialRetrievalError,
                known.ProfileNotFound,
            ),
            _CREDENTIALS,
        ),
        ((known.SSOError, known.TokenRetrievalError), _EXPIRED),
        ((known.ReadTimeoutError, known.ConnectTimeoutError), _SILENT),
        ((known.HTTPClientError, known.ConnectionError), _UNREACHABLE),
    )
    for kinds, words in table:
        if issubclass(kind, kinds):
            return words
    return f"the client failed ({kind.__name__})", "check the AWS configuration of this process"


class _Session(NamedTuple):
    """A session of botocore, which finds region and credentials, and the function that makes its
    clients.
    """

    core: Any
    make: Callable[..., Any]


@cache
def _open_session(process: int) -> _Session:
    """Return the session of a process: connections do not survive a fork.

    Clients are boto3's. The webhook's package comes without boto3 and has them of botocore, below
    boto3: it sends to one queue and has a cold start to keep short
    (docs/decisions/0005-boto3-but-for-the-webhook.md).
    """
    import botocore.session  # type: ignore[import-untyped]

    core = botocore.session.Session()
    try:
        from boto3.session import Session  # type: ignore[import-untyped]
    except ModuleNotFoundError:
        return _Session(core, core.create_client)
    return _Session(core, Session(botocore_session=core).client)


@cache
def _make_client(
    service: str, endpoint: str, read_seconds: float, signature: str, process: int
) -> Any:
    from botocore.config import Config  # type: ignore[import-untyped]
    from botocore.exceptions import NoCredentialsError, NoRegionError

    session = _open_session(process)
    if not session.core.get_config_variable("region"):
        raise NoRegionError
    if session.core.get_credentials() is None:  # not kept: the next call looks again
        raise NoCredentialsError
    config = Config(
        connect_timeout=CONNECT_SECONDS,
        read_timeout=read_seconds,
        retries={"mode": "standard", "total_max_attempts": ATTEMPTS},
        max_pool_connections=CONNECTIONS,
        tcp_keepalive=True,
        signature_version=signature or None,
    )
    try:
        new_client = session.make(service, endpoint_url=endpoint or None, config=config)
    except ValueError:
        raise _make_unusable(service, *_ADDRESS) from None
    events = new_client.meta.events
    events.register_last("before-call", _drop_expect_header)
    events.register("before-parse", _discard_incomplete_answer)
    events.register("needs-retry", _pause_before_retry)
    events.register("after-call", _require_answer)
    return new_client


def _drop_expect_header(params: dict[str, Any], **_: object) -> None:
    """Send a body, which is small, without asking first (`Expect: 100-continue`).

    botocore never returns when a connection ends within the answer to that.
    """
    params["headers"].pop("Expect", None)


def _discard_incomplete_answer(
    response_dict: dict[str, Any], operation_model: Any, **_: object
) -> None:
    """Turn an answer that is not whole into a 500, which is repeated."""
    if not _is_whole(
        response_dict["status_code"],
        response_dict["headers"],
        lambda: response_dict["body"],
        operation_model,
    ):
        response_dict.update(status_code=500, body=b"")


def _pause_before_retry(
    response: tuple[Any, Any] | None, attempts: int, operation: Any, **_: object
) -> float | None:
    """Return the pause before the next attempt, in seconds; None when there is none."""
    if response and attempts < ATTEMPTS and not _is_answer(response[0], operation):
        return 0.05 * attempts
    return None


def _require_answer(http_response: Any, model: Any, **_: object) -> None:
    if not _is_answer(http_response, model):
        raise _make_unusable(
            "the answer of the endpoint", "it is not AWS's, or it is cut short", _ADDRESS[1]
        )


def _is_answer(response: Any, operation: Any) -> bool:
    return _is_whole(response.status_code, response.headers, lambda: response.content, operation)


def _is_whole(
    status: int, headers: Mapping[str, str], body: Callable[[], bytes], operation: Any
) -> bool:
    """Tell if AWS gave this answer, and all of it.

    botocore takes an answer that was cut short, and the page of a portal or a proxy, for an empty
    answer: as if nothing were stored. AWS numbers its requests in every answer and says how long a
    body is; a streamed one is counted where it is read.
    """
    if status >= 500:
        return True
    if not any(name in headers for name in ("x-amzn-requestid", "x-amz-request-id")):
        return False
    if (
        status == 204
        or operation.has_streaming_output
        or operation.http.get("method") == "HEAD"
        or "transfer-encoding" in headers
    ):
        return True
    return headers.get("content-length") == str(len(body()))
