"""These damages can befall what is stored of a chat's safety: each is no state that anybody ever
wrote.
"""

from __future__ import annotations

import copy
from typing import Any, Final

GONE: Final = object()
ONE: Final = {"fingerprint": "x", "result": "", "failed": True}
FACT: Final = {
    "source": "t",
    "fingerprint": "x",
    "code": "E",
    "message": "",
    "target": "",
    "result": "",
    "ran": True,
}
DAMAGES: Final[dict[str, Any]] = {
    f"{path} {number}".strip(): (path.strip(), value)
    for path, values in {
        "": (None, [], "x", 3, {}),
        "reason": ("unknown", None, [], 0, GONE),
        "since": ("x", -1.0, None, True, 1e300),
        "heard": ("x", -1.0, None, True, 1e300),
        "period": (3, None),
        "task": (3, None),
        "spent": (-1, 1.5, "3", True),
        "free": (-1, None),
        "ticks": (-1, 0.5, True, "many"),
        "told": (1, None),
        "counters": (None, [], {}, 3, GONE),
        "counters.consecutive": (-1, "3", None, True, 2.5, GONE),
        "counters.window": (
            None,
            "?",
            {},
            3,
            [3],
            [{}],
            [{**ONE, "failed": "no"}],
            [{**ONE, "fingerprint": 3}],
            [ONE] * 11,
            GONE,
        ),
        "counters.beside": (None, "?", [3], [[3]], [["x"]] * 11),
        "counters.failures": (None, "?", {}, [{}], [FACT] * 11, GONE),
        "counters.failures ": (
            [{**FACT, "code": 3}],
            [{**FACT, "ran": 1}],
            [{**FACT, "result": None}],
        ),
    }.items()
    for number, value in enumerate(values)
}
"""By name: the field, and what stands in it."""


def damaged(safety: dict[str, Any], name: str) -> Any:
    """The same with one field spoiled."""
    path, value = DAMAGES[name]
    if not path:
        return value
    whole = copy.deepcopy(safety)
    *outer, last = path.split(".")
    place = whole[outer[0]] if outer else whole
    if value is GONE:
        del place[last]
    else:
        place[last] = value
    return whole
