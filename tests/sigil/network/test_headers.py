"""Header fields that a capability may send, and those that it may not."""

from __future__ import annotations

import pytest

from sigil.errors import Refused
from sigil.network.headers import check_outgoing
from tests.tables import each_row

REFUSED = """
X-HTTP-Method-Override X-HTTP-Method X-Method-Override X-Original-URL X-Rewrite-URL X-Original-URI True-Client-IP X-Client-IP X-Host
X-Forwarded X-Forwarded-Host X-Real-IP X-Accel-Redirect X-Envoy-Original-Path CF-Connecting-IP Forwarded Origin
transfer_encoding content_length x-forwarded_for X_HTTP_Method_Override x_original_url proxy_authorization x.forwarded.for x~real~ip
""".split()


@each_row("name", REFUSED)
def test_a_field_that_would_make_another_request_of_it_is_refused(name: str) -> None:
    with pytest.raises(Refused, match="EPERM"):
        check_outgoing([[name, "DELETE"]])


def test_fields_of_ones_own_pass() -> None:
    names = [
        "accept",
        "x-api-key",
        "x_custom",
        "x-amz-security-token",
        "if-none-match",
        "anthropic-version",
        "cf-access-client-id",
    ]
    assert [name for name, _ in check_outgoing([[name, "1"] for name in names])] == names


def test_what_asks_for_a_compressed_answer_is_left_out_however_it_is_spelt() -> None:
    assert check_outgoing([["Accept-Encoding", "gzip"], ["accept_encoding", "gzip"]]) == ()
