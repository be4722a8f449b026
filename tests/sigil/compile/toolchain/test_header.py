"""`sigil.h` has words to compare with, characters, small letters and numbers with a point, beyond texts
and whole numbers.
"""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import sigil
from sigil.compile.toolchain import c
from sigil.sandbox.pool import Sandbox
from sigil.sandbox.program import Program

ROOT = Path(sigil.__file__).parents[1]
SOURCE = b"""#include "sigil.h"
#include <math.h>

int answer(void)
{
    sigil_points text = sigil_get_points("text");
    double numbers[] = {0.1 + 0.2, -0.0, 1e300, NAN, INFINITY, 1.0 / 3};
    sigil_put(sigil_is("kind", "one") ? "[1," : sigil_is("kind", "") ? "[0," : "[2,");
    sigil_lower(text);
    sigil_put("[");
    for (size_t i = 0; i < text.size; i++) { if (i) sigil_put(","); sigil_put_integer(text.at[i]); }
    sigil_put("]");
    for (int i = 0; i < 6; i++) { sigil_put(","); sigil_put_number(numbers[i], 12); }
    sigil_put("]");
    return 0;
}
"""


def test_the_header_compares_takes_characters_and_writes_numbers(sandbox: Sandbox) -> None:
    wasm = c.compile_source(SOURCE, "test", ROOT / "build" / "c").wasm
    program = Program(sha256(wasm).hexdigest(), "sigil", lambda: wasm)

    def answer(**value: object) -> object:
        return json.loads(
            sandbox.run(program, json.dumps(value, ensure_ascii=False).encode()).output
        )

    numbers = [0.3, 0, 1e300, None, None, 0.333333333333]
    assert answer(kind="one", text="AÉßЖΩ编👍\u0000") == [
        1,
        [*map(ord, "aéßжω编👍\u0000")],
        *numbers,
    ]
    assert answer(kind="", text="") == [0, [], *numbers]
    assert answer(kind="ones") == [2, [], *numbers]
    assert answer(kind=1, text=5) == [2, [], *numbers]
