"""The capabilities that sort, replace and divide, against Python's own lists, expressions and
addresses.
"""

from __future__ import annotations

import ipaddress
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from sigil.protocol import Json
from tests.capabilities.conftest import Library
from tests.selection import examples
from tests.tables import each_row

quick = settings(max_examples=examples(30), deadline=None)
words = st.text("abAB12 é中", max_size=6)

# ---- sort-list


@quick
@given(items=st.lists(words | st.integers(-99, 99), max_size=15), down=st.booleans())
def test_a_list_is_sorted_as_python_does(library: Library, items: list[Json], down: bool) -> None:
    numbers, texts = (
        sorted((one for one in items if isinstance(one, kind)), reverse=down) for kind in (int, str)
    )
    present, empty = [one for one in texts if one], [one for one in texts if not one]
    told = library(
        "sort-list", items=items, natural=False, order="descending" if down else "ascending"
    )
    assert told == {
        "items": [*(present + numbers if down else numbers + present), *empty],
        "count": len(items),
    }


@quick
@given(items=st.lists(st.integers(0, 10**30), max_size=12), zeros=st.integers(0, 3))
def test_digits_in_texts_count_as_numbers(library: Library, items: list[int], zeros: int) -> None:
    named = [f"file{'0' * zeros}{one}.txt" for one in items]
    assert library("sort-list", items=named)["items"] == [
        f"file{'0' * zeros}{one}.txt" for one in sorted(items)
    ]


@quick
@given(rows=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 99)), max_size=12))
def test_equal_elements_keep_their_order_and_of_doubles_the_first_stays(
    library: Library, rows: list[tuple[int, int]]
) -> None:
    items: list[Json] = [{"k": {"n": key}, "v": value} for key, value in rows]
    assert library("sort-list", items=items, by="k.n")["items"] == sorted(
        items, key=lambda one: one["k"]["n"]
    )
    first = {key: one for (key, _), one in reversed(list(zip(rows, items, strict=True)))}
    single = library("sort-list", items=items, by="k.n", unique=True)
    assert (single["items"], single["doubles"]) == (
        [first[key] for key in sorted(first)],
        len(rows) - len(first),
    )


@quick
@given(left=st.lists(words, max_size=8), right=st.lists(words, max_size=8))
def test_two_lists_are_compared_as_sets(
    library: Library, left: list[str], right: list[str]
) -> None:
    def told(how: str) -> Json:
        return library("sort-list", items=left, combine=how, **{"with": right}, order="keep")[
            "items"
        ]

    assert told("union") == list(dict.fromkeys([*left, *right]))
    assert told("intersection") == [one for one in dict.fromkeys(left) if one in right]
    assert told("difference") == [one for one in dict.fromkeys(left) if one not in right]


# ---- text-replace


@quick
@given(
    text=st.text("ab.$\\ (é", max_size=30),
    find=st.text("ab.$\\ (", min_size=1, max_size=2),
    new=st.text("$&1\\n<a>", max_size=6),
)
def test_plain_text_is_replaced_sign_by_sign(
    library: Library, text: str, find: str, new: str
) -> None:
    assert library("text-replace", text=text, find=find, replace=new) == {
        "text": text.replace(find, new),
        "count": text.count(find),
    }


@quick
@given(
    text=st.text("ab1 中", max_size=30),
    pattern=st.sampled_from([r"\d+", "(a)(b)", "(?P<x>a|1)", "a*b", "中"]),
    most=st.integers(1, 3),
)
def test_expressions_are_replaced_as_python_does(
    library: Library, text: str, pattern: str, most: int
) -> None:
    expected, count = re.subn(pattern, lambda match: f"[{match[0]}]", text, count=most)
    assert library(
        "text-replace", text=text, find=pattern, replace="[$&]", regex=True, most=most
    ) == {"text": expected, "count": count}


def test_groups_are_put_where_they_are_named_and_what_they_hold_is_not_read_again(
    library: Library,
) -> None:
    told = library(
        "text-replace",
        text="$1=$2",
        find=r"(\$\d)=(?<b>\$\d)",
        replace="$<b>=$1 $3 $$ $0",
        regex=True,
    )
    assert told["text"] == "$2=$1 $3 $ $0"


def test_a_replacement_that_runs_away_is_stopped(library: Library) -> None:
    text = "a" * 60 + "!"
    assert library.is_stopped("text-replace", text=text, find="(a+)+$", replace="", regex=True)


# ---- ip-subnet

addresses = st.ip_addresses()


@quick
@given(address=addresses, data=st.data())
def test_a_network_is_what_python_says(
    library: Library, address: ipaddress.IPv4Address | ipaddress.IPv6Address, data: st.DataObject
) -> None:
    prefix = data.draw(st.integers(0, address.max_prefixlen))
    net = ipaddress.ip_network((address, prefix), strict=False)
    told = library(
        "ip-subnet",
        address=f"{data.draw(st.sampled_from([address.exploded, address.compressed]))}/{prefix}",
    )
    assert (told["address"], told["network"], int(told["addresses"])) == (
        address.compressed,
        str(net),
        net.num_addresses,
    )
    if address.version == 4:
        assert (told["netmask"], told["wildcard"]) == (str(net.netmask), str(net.hostmask))
    split = data.draw(st.integers(prefix, min(prefix + 4, address.max_prefixlen)))
    parts = library("ip-subnet", address=str(net), split=split, contains=str(address))
    assert (parts["subnets"], parts["contains"]) == (
        [str(one) for one in net.subnets(new_prefix=split)],
        True,
    )


@quick
@given(text=st.text("0123456789.:/afx ", min_size=1, max_size=20))
def test_an_address_is_one_where_python_says_so(library: Library, text: str) -> None:
    code = library.code_of("ip-subnet", address=text)
    try:
        ipaddress.ip_address(text)
    except ValueError:
        assert code == "EINVAL" or "/" in text or " " in text
    else:
        assert code == ""


@each_row(
    ("address", "kind"),
    [
        ("10.1.2.3", "private"),
        ("172.32.0.1", "public"),
        ("127.0.0.53", "loopback"),
        ("169.254.1.1", "link-local"),
        ("fe80::1", "link-local"),
        ("::1", "loopback"),
    ],
)
def test_special_addresses_are_named(library: Library, address: str, kind: str) -> None:
    assert library("ip-subnet", address=address)["kind"] == kind
