"""Reads a QR code without errors from its modules, by ISO/IEC 18004: what the encoder wrote, in the
opposite order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

ALPHANUMERIC = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:"
MASKS: tuple[Callable[[int, int], int], ...] = (
    lambda x, y: (x + y) % 2,
    lambda x, y: y % 2,
    lambda x, y: x % 3,
    lambda x, y: (x + y) % 3,
    lambda x, y: (x // 3 + y // 2) % 2,
    lambda x, y: x * y % 2 + x * y % 3,
    lambda x, y: (x * y % 2 + x * y % 3) % 2,
    lambda x, y: ((x + y) % 2 + x * y % 3) % 2,
)
FINDER = ["1111111", "1000001", "1011101", "1011101", "1011101", "1000001", "1111111"]
Modules = Sequence[Sequence[bool]]


def format_of(modules: Modules) -> tuple[str, int]:
    """The level and the mask; both copies of the format have to say the same, and to be a word of
    its code.
    """
    size = len(modules)
    near = [(8, i) for i in (0, 1, 2, 3, 4, 5, 7, 8)] + [(i, 8) for i in (7, 5, 4, 3, 2, 1, 0)]
    far = [(size - 1 - i, 8) for i in range(8)] + [(8, size - 7 + i) for i in range(7)]
    first, second = (
        sum(modules[y][x] << i for i, (x, y) in enumerate(places)) for places in (near, far)
    )
    assert first == second
    word = first ^ 0b101010000010010
    rest = word
    for bit in range(14, 9, -1):
        rest ^= 0b10100110111 << (bit - 10) if rest >> bit & 1 else 0
    assert rest == 0
    return "MLHQ"[word >> 13], word >> 10 & 7


def _fixed(version: int, marks: Sequence[int]) -> set[tuple[int, int]]:
    size = version * 4 + 17
    ends = (6, size - 7)
    places = {(x, y) for x in range(9) for y in range(9)}
    places |= {(x, y) for x in range(size - 8, size) for y in range(9)} | {
        (x, y) for x in range(9) for y in range(size - 8, size)
    }
    places |= {(6, i) for i in range(size)} | {(i, 6) for i in range(size)}
    for x in marks:
        for y in marks:
            if not (x in ends and y in ends and (x, y) != (size - 7, size - 7)):
                places |= {(x + i, y + j) for i in range(-2, 3) for j in range(-2, 3)}
    if version > 6:
        places |= {(x, y) for x in range(6) for y in range(size - 11, size)} | {
            (y, x) for x in range(6) for y in range(size - 11, size)
        }
    return places


def codewords(modules: Modules, marks: Sequence[int]) -> bytes:
    """All codewords as they were placed; `marks` are the coordinates of the alignment patterns,
    from the standard's annex E.
    """
    size = len(modules)
    fixed, mask = _fixed((size - 17) // 4, marks), MASKS[format_of(modules)[1]]
    for left, top in ((0, 0), (size - 7, 0), (0, size - 7)):
        assert [
            "".join(str(int(modules[top + y][left + x])) for x in range(7)) for y in range(7)
        ] == FINDER
    bits = "".join(
        str(int(modules[y][x] ^ (mask(x, y) == 0))) for x, y in _way(size) if (x, y) not in fixed
    )
    return bytes(int(bits[i : i + 8], 2) for i in range(0, len(bits) - 7, 8))


def _way(size: int) -> Iterator[tuple[int, int]]:
    columns = [x for x in range(size - 1, 0, -1) if x != 6]
    for turn, right in enumerate(range(0, len(columns), 2)):
        rows = range(size) if turn % 2 else range(size - 1, -1, -1)
        yield from ((x, y) for y in rows for x in [*columns, 0][right : right + 2])


def blocks(words: bytes, count: int, check: int) -> list[bytes]:
    """The blocks, each with its `check` bytes of error correction behind it."""
    data = len(words) - count * check
    short, longer = divmod(data, count)
    parts = [bytearray() for _ in range(count)]
    turns = (
        [block for _ in range(short) for block in range(count)]
        + list(range(count - longer, count))
        + list(range(count)) * check
    )
    for block, word in zip(turns, words, strict=True):
        parts[block].append(word)
    return [bytes(part) for part in parts]


def is_word(block: bytes, check: int) -> bool:
    """Return whether the block's polynomial has all of the code's roots: then nothing in it is wrong."""
    exp = [1]
    while len(exp) < 255:
        exp.append(exp[-1] << 1 ^ (0x11D if exp[-1] & 0x80 else 0))
    log = {value: i for i, value in enumerate(exp)}
    for root in range(check):
        value = 0
        for byte in block:
            value = byte ^ (exp[(log[value] + root) % 255] if value else 0)
        if value:
            return False
    return True


def text_of(data: bytes, version: int) -> str:
    """The one segment's text; what stands behind it has to be the terminator and the pad bytes."""
    bits = "".join(f"{byte:08b}" for byte in data)
    at = 0

    def take(size: int) -> int:
        nonlocal at
        at += size
        return int(bits[at - size : at], 2)

    mode, wide = take(4), (version > 9) + (version > 26)
    count = take({1: (10, 12, 14), 2: (9, 11, 13), 4: (8, 16, 16)}[mode][wide])
    if mode == 4:
        text = bytes(take(8) for _ in range(count)).decode()
    elif mode == 2:
        pairs = [divmod(take(11), 45) for _ in range(count // 2)]
        text = "".join(ALPHANUMERIC[i] for pair in pairs for i in pair) + (
            ALPHANUMERIC[take(6)] if count % 2 else ""
        )
    else:
        runs = [3] * (count // 3) + ([count % 3] if count % 3 else [])
        text = "".join(f"{take((0, 4, 7, 10)[run]):0{run}d}" for run in runs)
    behind = bits[at : at + 4]
    start = -(-(at + len(behind)) // 8)
    assert "1" not in bits[at : start * 8]
    assert data[start:] == (b"\xec\x11" * len(data))[: len(data) - start]
    return text
