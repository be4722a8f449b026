"""What breaks pages that do not escape, cut or wrap, in every field that a stranger or a model
writes.
"""

from __future__ import annotations

HOSTILE: tuple[str, ...] = (
    "<script>document.title='broken'</script>",
    "</textarea></pre></code></div></main><h1>out</h1>",
    '"><img src=x onerror="document.title=\'broken\'">',
    "' onmouseover='document.title=1' x='",
    "<svg xmlns='http://www.w3.org/2000/svg' onload='document.title=1'><script>1</script>"
    "<foreignObject><iframe src='https://evil.example/'/></foreignObject></svg>",
    "![x](https://evil.example/x.png) [y](javascript:document.title=1) [z](//evil.example/)",
    "<a href='data:text/html,<script>1</script>'>x</a> <base href='https://evil.example/'>",
    "<style>*{display:none}</style><link rel=stylesheet href=https://evil.example/x.css>",
    "<meta http-equiv=refresh content='0;url=https://evil.example/'>",
    "| a | b |\n|:-:|--:|\n| x | y |\n",
    "> " * 300 + "deep",
    "".join(f"{'  ' * depth}- x\n" for depth in range(300)),
    "```js\nlet x = 1; // a fence that nobody closes",
    "x" + "\u0301" * 3_000,
    "\u202edrowkcab \u2066\u2067 \u200b\ufeff",
    "a\x00b\x07c\x1b[31m",
    "\ud800 alone".encode("utf-16", "surrogatepass").decode("utf-16", "replace"),
    "W" * 20_000,
    "&lt;b&gt; &amp;amp; &#x3c;script&#x3e;",
    "{{ 7 * 7 }} {% raw %} ${7*7} #{7*7}",
    "../../etc/passwd ..\\..\\x %2e%2e%2f",
    "javascript:alert(1)",
    "😀" * 500,
    "漢" * 500,
)
