"""Secrets that a setting only names."""

from __future__ import annotations

import json

import pytest

from sigil.errors import BackendError, UsageError
from sigil.storage import aws
from sigil.storage.setting_secrets import KEEP_SECONDS, SecretReferences, reveal
from tests.servers.ministack import Ministack, unique
from tests.servers.process import free_port
from tests.sigil.storage.kv.model import Clock
from tests.tables import each_row
from tests.threads import in_parallel


def parameter(value: str) -> str:
    name = f"/{unique('uncaged')}/token"
    aws.client("ssm").put_parameter(Name=name, Value=value, Type="SecureString", Overwrite=True)
    return name


def secret(value: str | bytes) -> str:
    name = unique("uncaged/secret")
    aws.client("secretsmanager").create_secret(
        Name=name, **{"SecretString" if isinstance(value, str) else "SecretBinary": value}
    )
    return name


@each_row(
    "value",
    ["", "plain", "123:AAE", "ssmx:y", "SSM:x", "https://example.com", "arn:aws:ssm:x", ":ssm:x"],
)
def test_what_names_no_secret_is_itself(value: str) -> None:
    assert reveal(value) == value


def test_a_parameter_is_read_decrypted(aws_here: Ministack) -> None:
    assert reveal(f"ssm:{parameter('123:hidden')}") == "123:hidden"


def test_a_secret_is_read_whole_or_by_one_of_its_fields(aws_here: Ministack) -> None:
    assert reveal(f"secretsmanager:{secret('hidden')}") == "hidden"
    name = secret(json.dumps({"token": "hidden", "number": 1}))
    assert reveal(f"secretsmanager:{name}#token") == "hidden"
    assert json.loads(reveal(f"secretsmanager:{name}"))["number"] == 1


def test_a_secret_is_read_once_in_five_minutes(aws_here: Ministack) -> None:
    clock = Clock()
    secrets, name = SecretReferences(clock), parameter("old")
    assert secrets.reveal(f"ssm:{name}") == "old"
    aws.client("ssm").put_parameter(Name=name, Value="new", Type="SecureString", Overwrite=True)
    clock.advance(KEEP_SECONDS - 1)
    assert secrets.reveal(f"ssm:{name}") == "old"
    clock.advance(1)
    assert in_parallel(4, lambda _: secrets.reveal(f"ssm:{name}")) == ["new"] * 4


def test_what_failed_is_asked_again(aws_here: Ministack) -> None:
    secrets, name = SecretReferences(), f"/{unique('late')}"
    with pytest.raises(BackendError):
        secrets.reveal(f"ssm:{name}")
    aws.client("ssm").put_parameter(Name=name, Value="here", Type="SecureString")
    assert secrets.reveal(f"ssm:{name}") == "here"


@pytest.mark.parametrize("kind", ["ssm", "secretsmanager"])
def test_a_secret_that_is_not_there_is_named(kind: str, aws_here: Ministack) -> None:
    with pytest.raises(BackendError, match=r"nobody: it does not exist here"):
        reveal(f"{kind}:nobody")
    with pytest.raises(UsageError):
        reveal(f"{kind}:")


@pytest.mark.parametrize(
    "value",
    [
        "hidden",
        '"hidden"',
        '["hidden"]',
        '{"other": "hidden"}',
        '{"token": 7}',
        "[" * 100_000 + "hidden",
        b"hidden",
    ],
)
def test_a_secret_of_the_wrong_form_is_named_and_not_shown(
    value: str | bytes, aws_here: Ministack
) -> None:
    name = secret(value)
    with pytest.raises(BackendError) as caught:
        reveal(f"secretsmanager:{name}#token")
    assert name in caught.value.message
    assert "hidden" not in str(caught.value.as_dict())


def test_an_aws_that_cannot_be_reached_names_the_secret(
    aws_here: Ministack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{free_port()}")
    aws._make_client.cache_clear()
    monkeypatch.setattr(
        "botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0.01
    )
    with pytest.raises(BackendError, match="parameter /x: it cannot be reached"):
        reveal("ssm:/x")
