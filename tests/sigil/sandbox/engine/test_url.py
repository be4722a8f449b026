"""URL and URLSearchParams, after the URL standard."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, urlencode

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.selection import examples
from tests.sigil.sandbox.engine.driver import evaluate, failure, run
from tests.tables import each_row

ABSOLUTE = {
    "http://EXAMPLE.com:80": "http://example.com/",
    "https://u:p@h:8443/a?b#c": "https://u:p@h:8443/a?b#c",
    "  ht\ntp:/\\x\\y ": "http://x/y",
    "http://a/%2e%2E/./b/..": "http://a/",
    "http://a/b;c?d='": "http://a/b;c?d=%27",
    "http://münchen.de/ä?ö#ü": "http://xn--mnchen-3ya.de/%C3%A4?%C3%B6#%C3%BC",
    "http://日本。jp": "http://xn--wgv71a.jp/",
    "http://ex%41mple": "http://example/",
    "http://0x7f.1": "http://127.0.0.1/",
    "http://4294967295": "http://255.255.255.255/",
    "http://[::FFFF:1.2.3.4]": "http://[::ffff:102:304]/",
    "http://[1:0:0:2:0:0:0:3]": "http://[1:0:0:2::3]/",
    "http://a@b@c": "http://a%40b@c/",
    "file:///C|/x/../..": "file:///C:/",
    "file://localhost/x": "file:///x",
    "foo:bar baz?q r": "foo:bar baz?q%20r",
    "foo://h/a/../b": "foo://h/b",
    "foo:/.//p": "foo:/.//p",
    "wss://h:443/": "wss://h/",
    "data:text/plain,hi there": "data:text/plain,hi there",
}
RELATIVE = {
    ("../c?d=e f#g h", "http://h/a/b/x?q"): "http://h/a/c?d=e%20f#g%20h",
    ("//x/y", "https://h/a"): "https://x/y",
    ("?q", "http://h/a/b?c#d"): "http://h/a/b?q",
    ("#f", "http://h/a?b"): "http://h/a?b#f",
    ("", "http://h/a?b#c"): "http://h/a?b",
    ("http:x", "http://h/a/b"): "http://h/a/x",
    ("#f", "mailto:a@b"): "mailto:a@b#f",
    ("x", "file:///C:/a/b"): "file:///C:/a/x",
    ("/x", "file:///C:/a/b"): "file:///C:/x",
    ("..", "foo://h/a/b/c"): "foo://h/a/",
}
INVALID = (
    *(
        "",
        "nope",
        "/x",
        "http://",
        "http://u@",
        "http://a b",
        "http://h:65536",
        "http://h:x",
        "http://1.2.3.256",
        "http://4294967296",
    ),
    *(
        "http://[1::2::3]",
        "http://[::1",
        "http://a%00b",
        "http://%zz",
        "foo://a b",
        "http://\ufffd",
    ),
)
SETTERS = {
    ("http://u:p@h:81/p?q#f", "protocol = 'https'"): "https://u:p@h:81/p?q#f",
    ("http://h/p", "protocol = 'foo'"): "http://h/p",
    ("http://h/p", "host = 'a:82/zz'"): "http://a:82/p",
    ("http://h:81/p", "hostname = '[::1]'"): "http://[::1]:81/p",
    ("http://h:81/p", "hostname = 'a:82'"): "http://h:81/p",
    ("http://h/p", "hostname = ''"): "http://h/p",
    ("http://h:5/p", "port = '80'"): "http://h/p",
    ("http://h:5/p", "port = '9x'"): "http://h:9/p",
    ("http://h:5/p", "port = 70000"): "http://h:5/p",
    ("http://h/p", "pathname = 'a b/../c?d#e'"): "http://h/c%3Fd%23e",
    ("mailto:a@b", "pathname = 'x'"): "mailto:a@b",
    ("http://h/p", "search = 'a b\\'c#d'"): "http://h/p?a%20b%27c%23d",
    ("http://h/p?x", "search = ''"): "http://h/p",
    ("http://h/p", "hash = '#a b`<>'"): "http://h/p#a%20b%60%3C%3E",
    ("http://h/p", "username = 'a:b@c'"): "http://a%3Ab%40c@h/p",
    ("http://h/p", "password = 'd/e?'"): "http://:d%2Fe%3F@h/p",
    ("file:///p", "port = 8"): "file:///p",
    ("http://h/?a=1", "searchParams.append('é', 'ü +&=')"): "http://h/?a=1&%C3%A9=%C3%BC+%2B%26%3D",
    ("http://h/?a=1", "searchParams.delete('a')"): "http://h/",
}


def test_absolute_urls_are_normalised() -> None:
    assert (
        dict(
            zip(
                ABSOLUTE,
                run("return input.map(text => new URL(text).href)", list(ABSOLUTE)),
                strict=True,
            )
        )
        == ABSOLUTE
    )


def test_what_was_normalised_stays_as_it_is() -> None:
    hrefs = [*ABSOLUTE.values(), *RELATIVE.values()]
    assert run("return input.map(text => new URL(text).href)", hrefs) == hrefs


def test_relative_urls_are_resolved() -> None:
    assert run(
        "return input.map(([text, base]) => new URL(text, base).href)", list(RELATIVE)
    ) == list(RELATIVE.values())


def test_invalid_urls_are_refused() -> None:
    assert (
        run("return input.filter(text => URL.canParse(text) || URL.parse(text))", list(INVALID))
        == []
    )
    assert failure("new URL('no\\nsuch')") == (
        "ETHROWN",
        'TypeError: Invalid URL: "no\\nsuch" (line 1)',
    )


@each_row(("url", "change"), SETTERS)
def test_setters_change_their_part_alone(url: str, change: str) -> None:
    assert run(f"const url = new URL(input); url.{change}; return url", url) == SETTERS[url, change]


def test_the_parts_of_a_url_are_told() -> None:
    names = "href origin protocol username password host hostname port pathname search hash".split()
    parts = run(
        "const url = new URL('https://u:p@h.de:81/a/b?c=d#e'); return input.map(name => url[name])",
        names,
    )
    expected = [
        "https://u:p@h.de:81/a/b?c=d#e",
        "https://h.de:81",
        "https:",
        "u",
        "p",
        "h.de:81",
        "h.de",
        "81",
        "/a/b",
        "?c=d",
        "#e",
    ]
    assert parts == expected
    assert evaluate("[new URL('file:///x').origin, new URL('blob:https://a/b').origin]") == [
        "null",
        "https://a",
    ]


@given(st.text(st.characters(min_codepoint=1, exclude_categories=["Cs"]), max_size=20))
@settings(max_examples=examples(30), deadline=None)
def test_no_text_breaks_the_parser(text: str) -> None:
    source = """
        const stable = text => { const { href } = new URL(text, "http://h/a/b"); return new URL(href).href === href };
        return input.filter(text => URL.canParse(text, "http://h/a/b")).every(stable);
    """
    assert run(
        source,
        [text, f"http:{text}", f"http://{text}", f"foo://{text}", f"file:{text}", f"?{text}"],
    )


# what Python's own form encoding leaves as it is differs in "~" and "*" only
@given(
    st.lists(
        st.tuples(
            st.text(
                st.characters(exclude_categories=["Cs"]).filter(lambda c: c not in "~*"), max_size=8
            ),
            st.text("aä &=+%;,", max_size=8),
        ),
        max_size=5,
    )
)
@settings(max_examples=examples(20), deadline=None)
def test_parameters_are_encoded_as_forms_are(pairs: list[tuple[str, str]]) -> None:
    text, read = run(
        "const text = new URLSearchParams(input).toString(); return [text, [...new"
        " URLSearchParams(text)]]",
        pairs,
    )
    assert text == urlencode(pairs)
    assert [tuple(pair) for pair in read] == pairs
    assert parse_qsl(text, keep_blank_values=True) == pairs


@each_row(
    ("expression", "expected"),
    [
        (
            "[...new URLSearchParams('?a=1&a=2&b=%20+%zz%41&=&c&&d=e=f')]",
            [["a", "1"], ["a", "2"], ["b", "  %zzA"], ["", ""], ["c", ""], ["d", "e=f"]],
        ),
        ("`${new URLSearchParams({ a: 1, b: null })}`", "a=1&b=null"),
        ("`${new URLSearchParams(new Map([['x', 'y']]))}`", "x=y"),
        ("(p => { p.sort(); return `${p}` })(new URLSearchParams('c=1&a=2&c=0'))", "a=2&c=1&c=0"),
        (
            (
                "(p => { p.set('a', 9); p.set('z', 8); return [`${p}`, p.size, p.has('a', '1')]"
                " })(new URLSearchParams('a=1&b=2&a=3'))"
            ),
            ["a=9&b=2&z=8", 3, False],
        ),
        (
            (
                "(p => { p.delete('a', '3'); return [p.getAll('a'), p.get('b')] })(new"
                " URLSearchParams('a=1&a=3'))"
            ),
            [["1"], None],
        ),
    ],
)
def test_parameters_are_read_and_changed(expression: str, expected: Any) -> None:
    assert evaluate(expression) == expected
