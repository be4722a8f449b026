"""Addresses of the web: what can be read in two ways is refused, everything else has one form."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sigil.errors import SigilError, ToolError
from sigil.network.urls import Target
from tests.tables import each_row

SAME = [
    ("https://example.com", "https://example.com/"),
    ("HTTPS://Example.COM/a", "https://example.com/a"),
    ("https://example.com:443/a", "https://example.com/a"),
    ("https://example.com:8443/a", "https://example.com:8443/a"),
    ("https://example.com/a#part", "https://example.com/a"),
    ("https://example.com?x=1", "https://example.com/?x=1"),
    ("https://example.com/a/./b/../c", "https://example.com/a/c"),
    ("https://example.com/a/%2e%2E/b", "https://example.com/b"),
    ("https://example.com/a/..", "https://example.com/"),
    ("https://example.com/a/.", "https://example.com/a/"),
    ("https://example.com/../../x", "https://example.com/x"),
    ("https://example.com/a//b", "https://example.com/a//b"),
    ("https://example.com/a%2Fb", "https://example.com/a%2Fb"),
    ("https://example.com/a...b/..c", "https://example.com/a...b/..c"),
    ("https://bücher.example/ü?ü", "https://xn--bcher-kva.example/%C3%BC?%C3%BC"),
    ("https://EXAMPLE。com/", "https://example.com/"),
    ("https://[2606:4700:0:0::1111]/", "https://[2606:4700::1111]/"),
    ("http://127.0.0.1:80/", "http://127.0.0.1/"),
    ("https://a_b.example.com/", "https://a_b.example.com/"),
]
REFUSED = [
    "", "example.com", "//example.com/", "/x", "ftp://example.com/", "file:///etc/passwd", "data:text/plain,x", "https:example.com",
    "https:/example.com", "https:///x", "https://", "javascript:1", "gopher://example.com/",
    "https://user@example.com/", "https://user:word@example.com/", "https://example.com@evil.example/", "https://@example.com/",
    "https://example.com\\@evil.example/", "https://example.com\\evil", "https:\\\\example.com/", "https://exa mple.com/",
    "https://example.com/a b",
    " https://example.com/", "https://example.com/\n", "https://example.com/\r\nHost: x", "https://exam\tple.com/", "https://example.com/\x00",
    "https://example.com./", "https://.example.com/", "https://example..com/", "https://-example.com/", "https://exa%6dple.com/", "https://exam*ple.com/",
    "https://example.com:0/", "https://example.com:65536/", "https://example.com:-1/", "https://example.com:/", "https://example.com:8o/",
    "https://example.com:443:443/", "https://127.1/", "https://0x7f.0.0.1/", "https://2130706433/", "https://0177.0.0.1/", "https://1.2.3.4.5/",
    "https://0x7f000001/", "https://example.1/", "https://[::1/", "https://::1/", "https://[::1%25eth0]/", "https://[1.2.3.4]/", "https://[::g]/",
    "https://example.com/..%2fadmin", "https://example.com/a/..%5cb", "https://example.com/%252e%252e/b", "https://example.com/..;/b",
    "https://example.com/a/.%2e;x=1/b", "https://example.com/%00", "https://example.com/a%5cb", "https://example.com/%", "https://example.com/%zz",
    "https://ex\u2100ample.com/", "https://exam\u202eple.com/", "https://\ud800.com/", "https://" + "a" * 64 + ".com/",
    "https://a.com/" + "x" * 9000,
]  # fmt: skip


@each_row(("text", "plain"), SAME)
def test_every_way_to_write_an_address_ends_in_one(text: str, plain: str) -> None:
    assert Target.parse(text).url == plain
    assert Target.parse(plain).url == plain


@each_row("text", REFUSED)
def test_what_could_mean_two_things_is_refused(text: str) -> None:
    with pytest.raises(ToolError, match="EINVAL"):
        Target.parse(text)


@given(st.text(alphabet="ab.%2eEfF5cC/\\;:@?#[]0x1", max_size=30))
def test_a_path_that_is_accepted_stays_where_it_is(path: str) -> None:
    try:
        target = Target.parse(f"https://example.com/{path}")
    except SigilError:
        return
    assert target.host == "example.com"
    assert not {".", ".."} & set(target.path.split("/"))
    assert Target.parse(target.url) == target


@given(st.text(max_size=60))
def test_whatever_text_comes_it_is_a_target_or_refused(text: str) -> None:
    for start in ("", "https://", "https://example.com", "https://example.com/"):
        try:
            target = Target.parse(start + text)
        except SigilError as problem:
            assert problem.code == "EINVAL"  # noqa: PT017 - either outcome is right
        else:
            assert target.url.isascii()
            assert Target.parse(target.url) == target


@each_row(
    ("location", "url"),
    [
        ("/b", "https://example.com/b"),
        ("b", "https://example.com/x/b"),
        ("?q", "https://example.com/x/a?q"),
        ("//other.example/b", "https://other.example/b"),
        ("../../../b", "https://example.com/b"),
        ("HTTPS://Other.example", "https://other.example/"),
    ],
)
def test_a_redirect_is_read_from_where_it_was_sent(location: str, url: str) -> None:
    assert Target.parse("https://example.com/x/a?old").join(location).url == url


@each_row(
    "location",
    [
        "\\\\evil.example",
        "https://u@evil.example/",
        "file:///etc/passwd",
        "https://[",
        "http://127.1/",
        "/a\r\nb",
    ],
)
def test_a_redirect_to_nowhere_is_refused(location: str) -> None:
    with pytest.raises(ToolError, match="EINVAL"):
        Target.parse("https://example.com/x").join(location)
