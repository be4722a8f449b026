"""What strangers and models could write to get more into the page than words, and what holds the
page to: no tag, attribute or address that it does not make itself.
"""

from __future__ import annotations

from html.parser import HTMLParser

HOSTILE: dict[str, str] = {
    "a script": "<script>alert(1)</script>",
    "a script within words": "hello <script src=//evil.example></script> world",
    "closing tags": "</p></div></article></main></body></html>",
    "the end of a field": "</textarea><script>alert(1)</script>",
    "an event attribute": '<img src=x onerror="alert(1)"> **<b onclick=alert(1)>x</b>**',
    "an SVG with a script": '```svg\n<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>\n```',
    "an SVG with another document": '<svg xmlns="http://www.w3.org/2000/svg"><foreignObject><body xmlns="http://www.w3.org/1999/xhtml"><script>1</script></body></foreignObject></svg>',
    "an SVG that loads": '<svg xmlns="http://www.w3.org/2000/svg"><image href="https://evil.example/x.png"/></svg>',
    "a javascript link": "[click](javascript:alert(1)) <javascript:alert(1)> [x](JaVaScRiPt:alert(1))",
    "a data link": "[click](data:text/html;base64,PHNjcmlwdD4=) ![x](data:image/svg+xml,<svg/onload=alert(1)>)",
    "a link without a scheme": "[click](//evil.example/x) [up](/ui/people) [here](#top) [q](?a=1)",
    "a picture from elsewhere": "![track](https://evil.example/pixel.gif) [![x](https://evil.example/y.png)](https://good.example)",
    "a link with a name and a password": "[bank](https://bank.example@evil.example/) https://bank.example@evil.example/",
    "a link that breaks out": '[x](https://good.example/"onmouseover="alert(1)) <https://a.example/"><script>1</script>>',
    "a table with sides": "|a|b|c|\n|:-|:-:|-:|\n|1|2|3|\n|<b>|`|`|x|",
    "deep lists": "\n".join("  " * depth + "- x" for depth in range(1_000)),
    "deep quotes": ">" * 1_000 + " x",
    "many marks": "a" + "\u0301" * 10_000,
    "another direction": "\u202egnp.exe\u202c \u2066x\u2069 \u200f",
    "a NUL": "a\x00b\x01c\x1b[31md\x7f",
    "a lone surrogate": "a\ud800b\udfffc",
    "a long line": "x" * 120_000,
    "a fence that does not end": "```python\n<script>alert(1)</script>\n" + "y\n" * 50,
    "a fence with a name that breaks out": '```"><script>alert(1)</script>\nx\n```\n~~~ x" onload="1\ny\n~~~',
    "names of files": "[../../etc/passwd](../../etc/passwd) [x](file:///etc/passwd)",
    "entities": "&lt;script&gt; &#60;script&#62; &amp;lt;img&amp;gt; [x](&#106;avascript:alert(1))",
    "HTML comments": "<!-- --><![CDATA[ <script> ]]><?php ?>",
    "marks of many kinds": "*_~`[(![<" * 400,
    "a template": "{{ 7*7 }} {% raw %} ${alert(1)}",
}

TAGS = frozenset(
    "p br h3 ul ol li blockquote pre code strong em s a table thead tbody tr th td hr div figure"
    " figcaption img details summary span".split()
)
ATTRIBUTES = {
    "a": {"href", "rel"},
    "p": {"class"},
    "h3": {"class"},
    "th": {"class"},
    "td": {"class"},
    "ol": {"start"},
    "li": {"value"},
    "div": {"class", "tabindex"},
    "pre": {"tabindex"},
    "figure": {"class"},
    "span": {"class"},
    "img": {"src", "alt"},
}
VOID = frozenset({"br", "hr", "img"})


class DrawnText(HTMLParser):
    """Reads drawn Markdown, and notes what must not be in it."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.words = ""
        self.links: list[str] = []
        self.faults: list[str] = []
        self._open: list[str] = []
        self.feed(html)
        self.close()
        self.faults += [f"<{tag}> is not closed" for tag in self._open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in TAGS:
            self.faults.append(f"<{tag}>")
        for name, value in attrs:
            if name not in ATTRIBUTES.get(tag, ()):
                self.faults.append(f"<{tag} {name}={value!r}>")
        given = dict(attrs)
        if tag == "a":
            address = given.get("href") or ""
            self.links.append(address)
            if not address.lower().startswith(("http://", "https://", "mailto:")):
                self.faults.append(f"a link to {address!r}")
            if "noopener" not in (given.get("rel") or ""):
                self.faults.append("a link without rel")
        if tag == "img" and not (given.get("src") or "").startswith("data:image/svg+xml;base64,"):
            self.faults.append(f"a picture of {given.get('src')!r}")
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open.pop() != tag:
            self.faults.append(f"</{tag}> closes nothing")

    def handle_data(self, data: str) -> None:
        self.words += data

    def handle_comment(self, data: str) -> None:
        self.faults.append("a comment")

    def handle_decl(self, decl: str) -> None:
        self.faults.append("a declaration")

    def handle_pi(self, data: str) -> None:
        self.faults.append("an instruction")
