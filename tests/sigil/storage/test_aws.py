"""Clients of AWS: made once and late, bounded in time, their failures in plain words."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sigil.errors import BackendError
from sigil.storage import aws
from tests.fakes.aws import Moody
from tests.fakes.server import Answer, Recorded, RecordingServer
from tests.machine import within
from tests.servers.ministack import Ministack
from tests.servers.process import free_port
from tests.servers.proxy import HANG, Proxy
from tests.threads import in_parallel

ROOT = Path(__file__).parents[3]
VARIABLES = (
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_DEFAULT_REGION",
    "AWS_PROFILE",
    "AWS_ENDPOINT_URL",
    "AWS_SESSION_TOKEN",
)


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An environment that knows nothing of AWS."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.fixture
def fresh() -> Iterator[None]:
    """A process that has asked for nothing yet."""
    forget()
    yield
    forget()


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "example")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits that are short, attempts as many as ever."""
    monkeypatch.setattr(aws, "READ_SECONDS", 0.2)
    monkeypatch.setattr(
        "botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0.01
    )


def forget() -> None:
    aws._open_session.cache_clear()
    aws._make_client.cache_clear()


def told(endpoint: str = "") -> BackendError:
    """What a person is told who asks for an item."""
    with pytest.raises(BackendError) as caught, aws.explain_errors("table things"):
        aws.client("dynamodb", endpoint=endpoint).get_item(
            TableName="things", Key={"pk": {"S": "x"}}
        )
    problem = caught.value
    assert problem.code == "EUNAVAILABLE"
    assert "\n" not in problem.message
    return problem


def test_without_a_region_one_is_asked_for(monkeypatch: pytest.MonkeyPatch, keys: None) -> None:
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    problem = told()
    assert problem.message == "dynamodb: no region is set"
    assert "AWS_DEFAULT_REGION" in problem.suggestion


def test_without_credentials_the_ways_to_give_them_are_named(
    fresh: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    assert "no credentials" in told().message
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "alone")
    assert "no credentials" in told().message


def test_credentials_that_come_later_are_found(
    fresh: None, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    assert "no credentials" in told().message
    request.getfixturevalue("keys")
    assert aws.client("dynamodb") is aws.client("dynamodb")


def test_an_unknown_profile_is_said_to_have_no_credentials(
    fresh: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    assert "no credentials" in told().message


def test_a_silent_metadata_service_holds_nobody_up(
    fresh: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "false")
        monkeypatch.setenv(
            "AWS_EC2_METADATA_SERVICE_ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}"
        )
        monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
        started = time.monotonic()
        assert "no credentials" in told().message
        # botocore's own limit is one second a request, of which it sends a few
        assert time.monotonic() - started < within(10)


@pytest.mark.parametrize(
    ("region", "endpoint"), [("eu west", ""), ("eu-west-1", "nonsense"), ("eu-west-1", "http://")]
)
def test_a_region_or_endpoint_that_is_none_is_named(
    region: str, endpoint: str, monkeypatch: pytest.MonkeyPatch, keys: None
) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", region)
    assert "region or endpoint is not valid" in told(endpoint).message


def test_nobody_at_the_endpoint_is_told(keys: None, impatient: None) -> None:
    assert told(f"http://127.0.0.1:{free_port()}").message == "table things: it cannot be reached"


def test_a_server_that_never_answers_is_given_up_after_three_attempts(
    keys: None, impatient: None, ministack: Ministack
) -> None:
    with Proxy(f"127.0.0.1:{ministack.port}") as proxy:
        proxy.mode = HANG
        assert told(f"http://{proxy.address}").message == "table things: it does not answer in time"
        assert proxy.hits == aws.ATTEMPTS


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("ExpiredTokenException", "the credentials have expired"),
        ("UnrecognizedClientException", "the credentials are not accepted"),
        ("InvalidSignatureException", "the credentials are not accepted"),
        ("AccessDeniedException", "access is denied (GetItem)"),
        ("ResourceNotFoundException", "it does not exist here"),
        ("SomethingElse\u202e\u2028", "refused with SomethingElse"),
    ],
)
def test_a_refusal_is_said_in_plain_words_once(code: str, words: str, keys: None) -> None:
    with Moody(code) as server:
        problem = told(server.url)
        assert problem.message == f"table things: {words}"
        assert "sk-hidden" not in str(problem.as_dict())
        assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("code", "status", "words"),
    [
        ("ThrottlingException", 400, "too many requests at once"),
        ("ProvisionedThroughputExceededException", 400, "too many requests at once"),
        ("RequestLimitExceeded", 400, "too many requests at once"),
        ("InternalServerError", 500, "it failed on its own side"),
        ("", 503, "it failed on its own side"),
    ],
)
def test_what_may_pass_is_tried_three_times(
    code: str, status: int, words: str, keys: None, impatient: None
) -> None:
    with Moody(code, status=status) as server:
        assert told(server.url).message == f"table things: {words}"
        assert len(server.requests) == aws.ATTEMPTS


@pytest.mark.parametrize("status", [200, 302, 404])
@pytest.mark.parametrize(
    "body", [b"<html>Sign in to the network</html>", b"", b"{}", b"[]", b"null"]
)
def test_the_page_of_a_stranger_is_no_empty_answer(body: bytes, status: int, keys: None) -> None:
    class Portal(RecordingServer):
        def answer(self, request: Recorded) -> Answer:
            return Answer(status, body)

    with Portal() as server:
        assert (
            told(server.url).message
            == "the answer of the endpoint: it is not AWS's, or it is cut short"
        )
        assert len(server.requests) == aws.ATTEMPTS


@pytest.mark.parametrize("end", ["", "\r\n", "\r\n\r\n", '\r\n\r\n{"Item"'])
@pytest.mark.parametrize(
    "head",
    [
        "x-amzn-requestid: 1",
        "x-amzn-requestid: 1\r\ncontent-length: 9",
        "transfer-encoding: chunked",
    ],
)
def test_an_answer_that_breaks_off_is_no_empty_answer(
    head: str, end: str, keys: None, impatient: None
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            for _ in range(aws.ATTEMPTS):
                connection, _ = server.accept()
                with connection:
                    connection.recv(65536)
                    connection.sendall(f"HTTP/1.1 200 OK\r\n{head}{end}".encode())

        thread = threading.Thread(target=serve)
        thread.start()
        message = told(f"http://127.0.0.1:{server.getsockname()[1]}").message
        assert "cut short" in message or "cannot be reached" in message
        thread.join()


def test_requests_to_aws_are_boto3s(fresh: None, keys: None) -> None:
    with RecordingServer() as server:
        told(server.url)
        agents = {request.headers["user-agent"].partition("/")[0] for request in server.requests}
    assert agents == {"Boto3"}


def test_threads_share_one_client(fresh: None, keys: None) -> None:
    clients = in_parallel(8, lambda _: aws.client("dynamodb"))
    assert len(set(map(id, clients))) == 1
    assert clients[0].meta.region_name == "eu-west-1"


def test_a_forked_process_has_connections_of_its_own(
    fresh: None, monkeypatch: pytest.MonkeyPatch, keys: None
) -> None:
    before = aws.client("dynamodb")
    monkeypatch.setattr("sigil.storage.aws.os.getpid", lambda: -1)
    assert aws.client("dynamodb") is not before


def test_nothing_of_botocore_is_loaded_before_the_first_use() -> None:
    modules = "sigil.storage.setting_secrets, sigil.storage.kv.dynamodb, sigil.storage.artifacts.s3"
    program = f"import sys, {modules}; print(*{{'botocore', 'boto3'}} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []
