"""Reads a page as a browser does, and tells what should not be there."""

from __future__ import annotations

from html.parser import HTMLParser

KNOWN = frozenset(
    "html head meta title link script body a header svg path circle rect g line polyline text nav ul ol li div"
    " span form button main h1 h2 h3 h4 p dl dt dd table caption thead tbody tr th td input textarea"
    " select option optgroup label fieldset legend details summary code pre small strong em time"
    " figure figcaption img section article aside footer b i s del blockquote hr br kbd mark progress meter"
    " datalist output audio template".split()
)
VOID = frozenset("meta link input img hr br path circle rect line polyline".split())


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.faults: list[str] = []
        self.ids: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in KNOWN:
            self.faults.append(f"an element {tag}")
        values = dict(attrs)
        if tag == "script" and not (values.get("src") or "").startswith("/"):
            self.faults.append("a script that is no file of ours")
        if tag == "meta" and "http-equiv" in values:
            self.faults.append("a meta that acts")
        for name, value in attrs:
            if name.startswith("on") or name == "style":
                self.faults.append(f"an attribute {name}")
            if name in ("src", "action", "formaction", "poster", "background") and not (
                (value or "").startswith(("/", "data:image/"))
                and not (value or "").startswith("//")
            ):
                self.faults.append(f"{name} leads to {value}")
            if name == "href" and (value or "").split(":")[0] in ("javascript", "data", "vbscript"):
                self.faults.append(f"href leads to {value}")
            if name == "id" and value:
                if value in self.ids:
                    self.faults.append(f"the id {value} twice")
                self.ids.add(value)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> closes nothing")


def list_faults(text: str) -> list[str]:
    """Return what is wrong with a page's markup: elements, attributes and addresses that no
    template of ours writes, ids that are there twice, and what is not closed.
    """
    reader = _Reader()
    reader.feed(text)
    reader.close()
    return [*reader.faults, *(f"<{tag}> is not closed" for tag in reader.open)]
