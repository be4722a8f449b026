"""crypto: digests and HMAC against Python's own, keys, and random values from the host."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.selection import examples
from tests.sigil.sandbox.engine.driver import failure, run

DIGESTS = {
    "MD5": "md5",
    "SHA-1": "sha1",
    "SHA-256": "sha256",
    "SHA-384": "sha384",
    "SHA-512": "sha512",
}

DIGEST = (
    "return new Uint8Array(await crypto.subtle.digest(input.name,"
    " Uint8Array.fromHex(input.data))).toHex()"
)
SIGN = """
    const secret = Uint8Array.fromHex(input.key);
    const key = await crypto.subtle.importKey("raw", secret, { name: "HMAC", hash: input.name }, false, ["sign", "verify"]);
    const data = Uint8Array.fromHex(input.data);
    const signature = await crypto.subtle.sign("HMAC", key, data);
    return [new Uint8Array(signature).toHex(), await crypto.subtle.verify("HMAC", key, signature, data)]
"""
# around the ends of blocks, where padding goes wrong
SIZES = st.sampled_from(
    [0, 1, 55, 56, 57, 63, 64, 65, 111, 112, 113, 119, 120, 127, 128, 129, 255, 256, 1000]
)
DATA = SIZES.flatmap(lambda size: st.binary(min_size=size, max_size=size))


def random(arg: dict[str, int]) -> str:
    return base64.b64encode((bytes(range(200, 256)) * 2000)[: arg["n"]]).decode()


@pytest.mark.parametrize("name", DIGESTS)
@given(data=DATA)
@settings(max_examples=examples(20), deadline=None)
def test_a_digest_is_what_python_computes(name: str, data: bytes) -> None:
    assert (
        run(DIGEST, {"name": name, "data": data.hex()})
        == hashlib.new(DIGESTS[name], data).hexdigest()
    )


@pytest.mark.parametrize("name", [name for name in DIGESTS if name != "MD5"])
@given(key=DATA.filter(bool), data=DATA)
@settings(max_examples=examples(20), deadline=None)
def test_an_hmac_is_what_python_computes_and_verifies(name: str, key: bytes, data: bytes) -> None:
    expected = hmac.new(key, data, DIGESTS[name]).hexdigest()
    assert run(SIGN, {"name": name, "key": key.hex(), "data": data.hex()}) == [expected, True]


def test_a_megabyte_is_digested() -> None:
    source = (
        "return new Uint8Array(await crypto.subtle.digest({ name: 'sha-256' }, new"
        " Uint8Array(1e6).fill(7))).toHex()"
    )
    assert run(source) == hashlib.sha256(b"\x07" * 1_000_000).hexdigest()


def test_a_view_is_digested_without_what_stands_around_it() -> None:
    source = (
        "const view = Uint8Array.of(9, 97, 98, 99, 9).subarray(1, 4); return"
        " crypto.subtle.digest('SHA-1', view)"
    )
    assert (
        run(
            f"const digest = await (async () => {{ {source} }})(); return new"
            " Uint8Array(digest).toHex()"
        )
        == hashlib.sha1(b"abc").hexdigest()
    )


def test_a_forged_signature_does_not_verify() -> None:
    source = SIGN.replace("signature, data)]", "Uint8Array.fromHex(input.forged), data)]")
    for forged in ("", "00" * 32, "00" * 31):
        assert (
            run(source, {"name": "SHA-256", "key": "01", "data": "02", "forged": forged})[1]
            is False
        )


def test_a_key_keeps_its_secret_and_its_usages() -> None:
    key = (
        "const key = await crypto.subtle.importKey('raw', Uint8Array.of(1), { name: 'HMAC', hash:"
        " 'SHA-256' }, false, ['verify']);"
    )
    assert run(f"{key} return [JSON.stringify(key), Object.keys(key).length]")[0].count("1") == 0
    assert failure(f"{key} return crypto.subtle.exportKey('raw', key)")[1].startswith(
        "InvalidAccessError"
    )
    assert failure(f"{key} return crypto.subtle.sign('HMAC', key, new Uint8Array())")[1].startswith(
        "InvalidAccessError"
    )
    assert failure("return crypto.subtle.sign('HMAC', {}, new Uint8Array())")[1].startswith(
        "TypeError"
    )


def test_a_key_goes_through_jwk() -> None:
    source = """
        const algorithm = { name: "HMAC", hash: "SHA-512" };
        const key = await crypto.subtle.importKey("raw", Uint8Array.of(251, 255, 1), algorithm, true, ["sign"]);
        const jwk = await crypto.subtle.exportKey("jwk", key);
        const again = await crypto.subtle.importKey("jwk", jwk, algorithm, true, ["sign"]);
        return [jwk.k, jwk.alg, new Uint8Array(await crypto.subtle.exportKey("raw", again))]
    """
    assert run(source) == ["-_8B", "HS512", [251, 255, 1]]


@pytest.mark.parametrize(
    "source",
    [
        "crypto.subtle.digest('SHA-3', new Uint8Array())",
        "crypto.subtle.importKey('spki', null, 'HMAC', true, ['sign'])",
    ],
)
def test_what_does_not_exist_says_what_does(source: str) -> None:
    code, message = failure(f"return {source}")
    assert code == "ETHROWN"
    assert "does not exist here: " in message


def test_random_values_come_from_the_host() -> None:
    source = (
        "return [crypto.randomUUID(), [...crypto.getRandomValues(new Uint8Array(3))],"
        " crypto.getRandomValues(new Uint32Array(0)).length]"
    )
    uuid, values, empty = run(source, random=random)
    assert re.fullmatch(
        r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", uuid
    )
    assert values == [200, 201, 202]
    assert empty == 0


def test_random_numbers_lie_between_0_and_1_and_differ() -> None:
    numbers = run("return Array.from({ length: 500 }, Math.random)", random=random)
    assert len(set(numbers)) == 500
    assert all(0 <= number < 1 for number in numbers)
    assert 0.4 < sum(numbers) / 500 < 0.6


def test_random_numbers_start_from_what_the_host_gives() -> None:
    assert run("return Math.random()", random=random) == run("return Math.random()", random=random)
    other = base64.b64encode(bytes(8)).decode()
    assert run("return Math.random()", random=lambda arg: other) != run(
        "return Math.random()", random=random
    )


@pytest.mark.parametrize(
    "source",
    [
        "crypto.getRandomValues(new Float64Array(1))",
        "crypto.getRandomValues(new Uint8Array(65537))",
    ],
)
def test_random_values_have_the_webs_limits(source: str) -> None:
    assert failure(source, random=random)[1].split(":")[0] in (
        "TypeMismatchError",
        "QuotaExceededError",
    )


def test_a_host_that_gives_too_few_random_bytes_is_noticed() -> None:
    assert failure("return crypto.randomUUID()", random=lambda arg: "AAAA") == (
        "EHOST",
        "the host gave too few random bytes",
    )
