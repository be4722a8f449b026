"""The pictures of the documentation: `PICTURES=docs/pictures scripts/test ui -k documentation`."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from functions.wiring import AgentRuntime
from tests.fakes.model import ScriptedModel, call, results, say
from tests.fakes.server import Answer
from tests.functions.page.ui.test_ui import chromium, drive
from tests.functions.serving import serving
from tests.functions.test_live_turns import piece

__all__ = ["chromium"]
NAMES = ("chat", "chat-dark", "chat-phone", "run-dark")
WORDS = "plan the trip to Lisbon and add up what it costs us"
CHATS = {
    "c-1": "who of us is at the desk on Friday?",
    "c-2": "what did we decide about the shelf in the hall?",
    "c-3": "a reminder for the dentist, please",
    "c-4": "translate the note of the landlord",
}
SAID = """\
### Three days in Lisbon

The total is **€ 412.50** for two, which I computed from your figures; the exchange rate is \
today's. What I would do:

1. **Friday** – arrive at 11:40, leave the bags, walk through *Alfama* to the `Miradouro da Graça`.
2. **Saturday** – the tram to Belém before nine, then the river.
3. **Sunday** – the market, and the train at 17:05.

| | per person | for two |
|---|--:|--:|
| Flight | 96.00 | 192.00 |
| Hotel, two nights | 88.25 | 176.50 |
| Trains and trams | 22.00 | 44.00 |
| **Sum** | **206.25** | **412.50** |

To check it yourself:

```python
costs = {"flight": 96.00, "hotel": 88.25, "trams": 22.00}
print(sum(costs.values()) * 2)
```

See [the rates](https://rates.example/today).
"""
COLORS = 100
UNTIL = "the market"
pytestmark = pytest.mark.ui


@pytest.mark.skipif("not os.environ.get('PICTURES')", reason="PICTURES=FOLDER keeps them")
def test_the_documentation_has_its_pictures(
    runtime: Callable[..., AgentRuntime], chromium: str, model: ScriptedModel, tmp_path: Path
) -> None:
    """Of a chat whose first answer rests on a call that failed, and is checked."""

    def speak() -> Iterator[bytes]:
        for word in SAID.replace("\n", "\n\0").replace(" ", " \0").split("\0"):
            yield piece(word)
            time.sleep(0.01)  # an endpoint writes no faster
            if word.startswith("market"):
                time.sleep(2.0)  # a picture is taken
        yield b"data: [DONE]\n\n"

    def answer(body: dict[str, Any]) -> Answer | dict[str, Any]:
        asked = [each["content"] for each in body["messages"] if each["role"] == "user"]
        if not any(WORDS in str(each) for each in asked):
            return say("Gladly. Here is what I found.")
        time.sleep(0.3)  # as an endpoint does
        done = len(results(body))
        if done == 0:
            return call(
                ("sigil_query", {"query": "add up amounts of money"}),
                ("sigil_query", {"query": "day of the week of a date"}),
                text="I look for something that computes this.",
            )
        if done == 2:
            return call(("cap_currency_rates", {"expression": "2*(96+88.25+22)"}))
        if body["messages"][-1]["role"] == "tool":
            return say("The total is € 412.50 for two.")
        return Answer(200, speak())

    model.aside = say("nothing")
    model.then(*[answer] * 30)
    made = runtime(llm_url=model.url, library="builtin", rate=100_000)
    with serving(made) as server:
        drive(
            "pictures_driver.py",
            server,
            chromium,
            folder=str(tmp_path),
            words=WORDS,
            chats=CHATS,
            until=UNTIL,
        )
    folder = Path(os.environ["PICTURES"])
    for name in NAMES:
        reduce_picture(tmp_path / f"{name}.png", folder / f"{name}.png")


def reduce_picture(path: Path, to: Path) -> None:
    """Write a picture with the colours that it has most of, and with some that differ most: a rare
    one means something.
    """
    with Image.open(path) as picture:
        flat = picture.convert("RGB")
    counted = sorted(flat.getcolors(flat.width * flat.height) or (), reverse=True)
    kept = [color for _, color in counted[:COLORS]]
    rare = flat.quantize(COLORS, Image.Quantize.MAXCOVERAGE).convert("RGB").getcolors() or ()
    kept += [color for _, color in rare]
    # Pillow looks for the nearest one among shortened numbers, and misses white
    nearest = {color: kept.index(min(kept, key=partial(math.dist, color))) for _, color in counted}
    raw = flat.tobytes()
    points = zip(raw[::3], raw[1::3], raw[2::3], strict=True)
    small = Image.frombytes("P", flat.size, bytes(nearest[point] for point in points))
    small.putpalette([part for color in kept for part in color])
    small.save(to, optimize=True)
