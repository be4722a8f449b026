"""Markdown in the page: what people read of it, and that nothing else gets in."""

from __future__ import annotations

import random

import pytest

from functions.page.markdown import GrowingText, draw_blocks, render
from tests.functions.page.hostile import HOSTILE, DrawnText

SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="4" height="4"><rect width="4" height="4"/></svg>'
ANSWER = f"""# Three days

The total is **€ 412.50** for *two*, at https://rates.example/today.
It is ~~less~~ more.

1. **Friday** – arrive
2. Saturday
   - the tram
   - `Belém`

3. Sunday

| | per person | for two |
|---|--:|:-:|
| Flight | 96.00 | 192.00 |
| a | b | c | d |

> to check it
> yourself:

```python
costs = {{"flight": 96.00}}

print(costs)
```

- [x] done
- [ ] open

---

```svg
{SVG}
```

See [the rates](https://rates.example/x?a=1&b=2), ![a chart](https://charts.example/y.png) and
[mail](mailto:ada@example.com). 你好，**注意：**请看 https://例子.example/路。

10. a
  - b

```
a fence that does not end
"""


def draw(text: str) -> DrawnText:
    return DrawnText(str(render(text)))


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("one\ntwo", "<p>one<br>\ntwo</p>"),
        ("# big\n\n#### small", '<h3 class="h1">big</h3>\n<h3 class="h4">small</h3>'),
        ("|a|\n|-:|\n|1|", '<td class="right">1</td>'),
        ("4. four\n5. five", '<ol start="4">'),
        ("- [x] done", "<li>☑ done</li>"),
        ("```py\nx < 1\n```", "<figcaption>py</figcaption>"),
        ("```py\nx < 1\n```", "<code>x &lt; 1\n</code>"),
        ("[the rates](https://r.example/x)", '</a> <span class="host">r.example</span>'),
        ("https://r.example/x.", 'rel="noopener noreferrer nofollow">https://r.example/x</a>.'),
        ("[x](javascript:alert(1))", "[x](javascript:alert(1))"),
        ("[x](/ui/people)", "x (/ui/people)"),
        ("[https://paypal.com](https://pal.com)", '</a> <span class="host">pal.com</span>'),
        ("[r.example/?b.example](https://b.example)", '</a> <span class="host">b.example</span>'),
        ("[r.example:80/x](https://r.example:80/y)", ">r.example:80/x</a></p>"),
        ("![chart](https://r.example/y.png)", '>chart</a> <span class="host">r.example</span>'),
        ("<b>x</b>", "&lt;b&gt;x&lt;/b&gt;"),
        (SVG, '<figure class="picture"><img src="data:image/svg+xml;base64,'),
        (f"```svg\n{SVG}\n```", "<details><summary>SVG</summary><pre><code>&lt;svg"),
    ],
)
def test_people_read_what_was_written(text: str, html: str) -> None:
    assert html in str(render(text))


@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_but_words_gets_into_the_page(name: str) -> None:
    drawn = draw(HOSTILE[name])
    assert drawn.faults == []
    assert not [link for link in drawn.links if "@evil" in link]


@pytest.mark.parametrize("name", HOSTILE)
def test_nor_does_it_word_by_word(name: str) -> None:
    text = HOSTILE[name][:2_000]
    growing = GrowingText()
    for begin in range(0, len(text), 61):
        growing.add(text[begin : begin + 61])
        assert DrawnText("".join(growing.draw())).faults == []


@pytest.mark.parametrize("seed", range(8))
def test_a_text_that_has_grown_is_drawn_as_the_whole(seed: int) -> None:
    picked = random.Random(seed)
    paragraphs = ANSWER.split("\n\n")
    text = "\n\n".join(picked.sample(paragraphs, len(paragraphs)) if seed else paragraphs)
    growing = GrowingText()
    place = 0
    while place < len(text):
        end = place + picked.randint(1, 40)
        growing.add(text[place:end])
        before = growing.blocks[: growing.settled]
        growing.draw()
        assert growing.blocks[: len(before)] == before, "what is settled stays"
        place = end

    assert growing.draw() == draw_blocks(text)


def test_most_of_a_long_answer_is_drawn_once() -> None:
    growing = GrowingText()
    for _ in range(50):
        growing.add("A paragraph of some words.\n\n")
        growing.draw()

    assert growing.settled >= 48
    assert growing.open_size < 100
