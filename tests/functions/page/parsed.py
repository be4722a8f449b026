"""A page as a parser reads it: its elements, its texts, and what must be in none."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = frozenset(("meta", "link", "input", "br", "hr", "img", "col"))
HOSTILE = (
    "<script>alert(1)</script>",
    "</textarea></title></svg><img src=x onerror=alert(1)>",
    '" onfocus="alert(1)" autofocus x="',
    "javascript:alert(1)",
    "//evil.example/x",
    "{{ 7 * 7 }}{% raw %}",
    "\u202egpj.exe\u2066\x00\x07\ud800",
    "a\u0301" * 400,
    "../../etc/passwd?x=1#y&amp;z",
    "w" * 5_000,
)
"""What strangers and models write where a page shows it."""


@dataclass
class Element:
    """One element, with its attributes and all text in it."""

    tag: str
    attributes: dict[str, str]
    text: str = ""

    @property
    def classes(self) -> list[str]:
        return self.attributes.get("class", "").split()


@dataclass
class Parsed(HTMLParser):
    """A parsed page. Reading it fails for elements that do not close in order."""

    html: str
    elements: list[Element] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._open: list[Element] = []
        self.feed(self.html)
        self.close()
        assert not self._open, [each.tag for each in self._open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        assert len(attrs) == len(element.attributes), f"an attribute twice: {attrs}"
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(Element(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self._open, f"</{tag}> closes nothing"
        assert self._open[-1].tag == tag, f"</{tag}> closes <{self._open[-1].tag}>"
        self._open.pop()

    def handle_data(self, data: str) -> None:
        for each in self._open:
            each.text += data

    def find_all(self, tag: str = "", kind: str = "") -> list[Element]:
        """Return the elements with this tag and this class, in order."""
        return [
            each
            for each in self.elements
            if tag in ("", each.tag) and (not kind or kind in each.classes)
        ]

    @property
    def text(self) -> str:
        """All text of the content, with one space between words."""
        [main] = self.find_all("main")
        return " ".join(main.text.split())

    def facts(self) -> dict[str, str]:
        """The names and values of the facts above everything else."""
        names = [each.text for each in self.find_all("dt")]
        values = [" ".join(each.text.split()) for each in self.find_all("dd")]
        return dict(zip(names, values, strict=True))

    def require_harmless(self) -> None:
        """Fail for anything that a browser would run, load from elsewhere, or style by itself."""
        for each in self.elements:
            assert each.tag not in ("iframe", "object", "embed", "base", "style"), each
            if each.tag == "script":
                assert each.attributes["src"].startswith("/ui/static/"), each
                assert not each.text.strip(), each
            for name, value in each.attributes.items():
                assert not name.startswith("on"), each
                assert name != "style", each
                if name in ("href", "src", "action", "formaction"):
                    is_ours = value.startswith(("/ui", "#")) and not value.startswith("//")
                    assert is_ours or value.startswith("data:image/"), each
