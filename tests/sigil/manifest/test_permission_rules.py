"""Permissions as rules."""

from __future__ import annotations

import pytest

from sigil.errors import UsageError
from sigil.manifest.permission_rules import parse_call_rule, parse_http_rule, parse_secret_rule
from sigil.network.urls import Target
from tests.tables import each_row

ALLOWED = [
    ("GET api.example.com/v1/", "GET", "https://api.example.com/v1/x"),
    ("GET api.example.com/v1/", "GET", "https://API.example.com:443/v1/?q=1"),
    ("GET api.example.com/v1", "GET", "https://api.example.com/v1"),
    ("GET api.example.com/v1", "GET", "https://api.example.com/v1/x"),
    ("GET api.example.com", "GET", "https://api.example.com/anything"),
    ("GET,POST api.example.com/", "POST", "https://api.example.com/"),
    ("* api.example.com/", "DELETE", "https://api.example.com/x"),
    ("GET api.example.com:8443/", "GET", "https://api.example.com:8443/"),
    ("GET [2606:4700::1111]/", "GET", "https://[2606:4700:0::1111]/x"),
    ("GET 127.0.0.1:8080/", "GET", "http://127.0.0.1:8080/x"),
    ("GET xn--bcher-kva.example/", "GET", "https://bücher.example/"),
]
DENIED = [
    ("GET api.example.com/v1/", "POST", "https://api.example.com/v1/x"),
    ("GET api.example.com/v1/", "HEAD", "https://api.example.com/v1/x"),
    ("GET api.example.com/v1/", "GET", "https://api.example.com/v1"),
    ("GET api.example.com/v1", "GET", "https://api.example.com/v10"),
    ("GET api.example.com/v1/", "GET", "https://api.example.com/v1/../v2/x"),
    ("GET api.example.com/v1/", "GET", "https://api.example.com/v1/%2e%2e/v2"),
    ("GET api.example.com/v1/", "GET", "https://api.example.com/V1/x"),
    ("GET api.example.com/", "GET", "https://api.example.com.evil.example/"),
    ("GET api.example.com/", "GET", "https://evil.example/api.example.com/"),
    ("GET api.example.com/", "GET", "https://example.com/"),
    ("GET example.com/", "GET", "https://api.example.com/"),
    ("GET api.example.com/", "GET", "https://api.example.com:8443/"),
    ("GET api.example.com:8443/", "GET", "https://api.example.com/"),
    ("GET api.example.com:443/", "GET", "http://api.example.com/"),
    ("GET api.example.com:80/", "GET", "https://api.example.com/"),
]


@each_row(("rule", "method", "url"), ALLOWED)
def test_a_rule_covers_what_it_says(rule: str, method: str, url: str) -> None:
    assert parse_http_rule(rule).allows(method, Target.parse(url))


@each_row(("rule", "method", "url"), DENIED)
def test_a_rule_covers_nothing_else(rule: str, method: str, url: str) -> None:
    assert not parse_http_rule(rule).allows(method, Target.parse(url))


@each_row(
    "text",
    [
        "", "GET", "api.example.com", "get api.example.com/", "FETCH api.example.com/", "CONNECT api.example.com/", "GET  api.example.com/",
        "GET *.example.com/", "GET */", "GET https://api.example.com/", "GET user@api.example.com/", "GET api.example.com/../x",
        "GET api.example.com/a/./b", "GET api.example.com/?q", "GET api.example.com/#x", "GET api.example.com:0/", "GET 127.1/",
        "GET api.example.com/%2e", "GET,GET,x api.example.com/", "GET api.example.com/ x", "GET api.example.com/\n",
    ],
)  # fmt: skip
def test_a_rule_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="EMANIFEST"):
        parse_http_rule(text)


@each_row(
    ("place", "plain"),
    [
        ("\u0430pi.github.com", "xn--pi-6kc.github.com"), ("api.github.com\u3002evil.example", "api.github.com.evil.example"),
        ("api.github.com\uff61evil.example", "api.github.com.evil.example"), ("\uff47ithub.com", "github.com"),
        ("api\u00ad.github.com", "api.github.com"), ("github.com\u01c0x.example", "github.xn--comx-2kb.example"),
        ("API.GitHub.com", "api.github.com"), ("bücher.example:8443", "xn--bcher-kva.example:8443"),
        ("api.example.com:0443", "api.example.com:443"), ("[2606:4700:0::1111]", "[2606:4700::1111]"),
    ],
)  # fmt: skip
def test_a_host_is_written_as_it_is_asked_for(place: str, plain: str) -> None:
    for read, text in ((parse_http_rule, f"GET {place}/"), (parse_secret_rule, f"KEY@{place}")):
        with pytest.raises(UsageError, match="EMANIFEST") as caught:
            read(text)
        assert caught.value.suggestion == f"write the host as {plain}: that is where it goes"


def test_a_secret_goes_to_its_host_over_tls_alone() -> None:
    rule = parse_secret_rule("API_KEY@api.example.com")
    assert (rule.name, rule.fits(Target.parse("https://api.example.com/x"))) == ("API_KEY", True)
    others = [
        "http://api.example.com/",
        "https://api.example.com:8443/",
        "https://example.com/",
        "https://api.example.com.evil.example/",
    ]
    assert not [url for url in others if rule.fits(Target.parse(url))]


@each_row(
    "text",
    [
        "",
        "KEY",
        "KEY@",
        "@host.example",
        "key@host.example",
        "KEY@*.example",
        "KEY@host.example/x",
        "K-Y@host.example",
        "1K@host",
    ],
)
def test_a_secret_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="EMANIFEST"):
        parse_secret_rule(text)


def test_a_call_names_a_capability_of_ones_own_or_another_namespaces() -> None:
    digest = "sha256:" + "a" * 64
    assert parse_call_rule("hash").full_name == "hash"
    assert parse_call_rule(f"alice/hash@{digest}").full_name == "alice/hash"
    assert parse_call_rule(f"alice/hash@{digest}").digest == digest


@each_row(
    "text", ["", "Hash", "a/b/c", "a/", "/a", "hash@1", "hash@sha256:x", "a_b", "~x/a", "main~tg/a"]
)
def test_a_call_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="EMANIFEST"):
        parse_call_rule(text)
