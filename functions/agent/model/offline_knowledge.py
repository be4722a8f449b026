"""Reads what a person's words ask of the knowledge base: to look something up, to add to it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from functions.agent.knowledge.search import INGEST, SEARCH, UPDATE, describe_author, make_excerpt
from functions.agent.model.offline_talk import strip_opening
from functions.texts.en import Texts
from sigil.json_fields import as_mapping, as_sequence, as_string
from sigil.protocol import Json, tool_of

TOOLS: Final = frozenset(map(tool_of, (SEARCH, INGEST, UPDATE)))
SHOWN: Final = 3
EXCERPT_CHARACTERS: Final = 600
DAY: Final = len("2026-11-22")
_BASE: Final = (
    r"(?:the |our |my |your )?(?:company |employee |staff )?(?:knowledge ?base|handbook|manual"
    r"|documents|collection of documents|policies)"
)
_BASE_DE: Final = (
    r"(?:der |die |das |dem |den |unsere[rnm]? |im )?(?:wissensdatenbank|handbuch"
    r"|mitarbeiterhandbuch|dokumenten?|unterlagen)"
)
_BASE_ZH: Final = r"(?:我们的|公司的?)?(?:知识库|资料库|员工手册|手册|规章制度|内部资料|文档)"
_TO_ADD: Final = re.compile(
    r"(?:please )?(?:add|put|take|save|store|ingest)\b[^:\n]{0,60}?\b(?:to|into|in)"
    r" (?:the |our |my |your )?knowledge ?base(?P<en>\s*[:：].*)?[\s.!]*"
    r"|(?:bitte )?(?:nimm|füge?|schreibe?|lege?|speichere?)\b[^:\n]{0,60}?\bwissensdatenbank"
    r"(?: auf| hinzu| ein| ab)?(?P<de>\s*[:：].*)?[\s.!]*"
    r"|(?:请|帮我|请帮我)?(?:把[^:：\n]{0,20})?(?:加入|加到|添加到|添加进|收进|收录到|存入|存进|放进|放到)"
    r"(?:我们的)?知识库(?:里|中)?(?P<zh>\s*[:：].*)?[\s。！]*",
    re.IGNORECASE | re.DOTALL,
)
_DOCUMENT: Final = re.compile(
    r"\s*[:：]\s*(?P<title>[^\n()（）]{1,200}?)\s*"
    r"[(（]\s*(?:source|quelle|from|aus|来源|出处)\s*[:：]?\s*(?P<source>[^()（）\n]{1,500}?)\s*[)）]"
    r"\s*[:：]\s*(?P<text>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
_TO_UPDATE: Final = re.compile(
    r"(?:please )?(?:update|correct|change|replace)\b.{0,80}\bknowledge ?base[\s.!]*"
    r"|(?:bitte )?(?:aktualisiere?|korrigiere?|ändere?)\b.{0,80}\bwissensdatenbank[\s.!]*"
    r"|(?:请|帮我|请帮我)?(?:更新|修改|改正|更正)(?:一下)?知识库.{0,40}",
    re.IGNORECASE,
)
_TO_SEARCH: Final = tuple(
    re.compile(pattern, re.IGNORECASE | re.DOTALL)
    for pattern in (
        rf"(?:please )?(?:search|query|look in|look through|check) {_BASE}"
        r"(?:\s*[:：]\s*|\s+for\s+|\s*$)(?P<what>.*)",
        r"(?:please )?(?:look up|look|find|search(?: for)?|check)\s+(?P<what>.+?)"
        rf" (?:up )?in {_BASE}",
        rf"what (?:does|do) {_BASE} say(?: about| on)?(?P<what>.*)",
        rf"what(?:'s| is) in {_BASE} (?:about|on) (?P<what>.+)",
        rf"(?:according to|by) {_BASE}\s*[,:：]?\s*(?P<what>.+)",
        rf"(?P<what>.+?),? according to {_BASE}",
        rf"was (?:steht|sagt) (?:in )?{_BASE_DE}(?: (?:zu|über|zum|zur))?(?P<what>.*)",
        rf"(?:bitte )?(?:suche?|schlage?)(?P<what>.+?) in {_BASE_DE}(?: nach)?",
        rf"(?:bitte )?(?:durchsuche?) {_BASE_DE}(?: nach)?\s*[:：]?(?P<what>.*)",
        r"(?:请|帮我|请帮我)?(?:在|从|到)?"
        rf"{_BASE_ZH}(?:里|中|里面)?(?:搜索|搜一下|查询|查找|查一下|查一查|查|找一下|找|检索)"
        r"\s*[:：]?(?P<what>.*)",
        rf"(?:请|帮我|请帮我)?(?:搜索|查询|检索|查|查一下){_BASE_ZH}(?:里|中)?的?\s*[:：]?(?P<what>.*)",
        rf"{_BASE_ZH}(?:里|中|里面|上)?(?:是|关于|对)?(?P<before>.*?)(?:是)?怎么(?:说|写|规定)的?(?P<what>.*)",
        rf"(?:按照?|根据){_BASE_ZH}(?:的规定)?\s*[,，]?\s*(?P<what>.+)",
    )
)


@dataclass(frozen=True, slots=True)
class Wish:
    """What somebody wants of the knowledge base: a `search` for the question, to `add` a document,
    or an `update`. What they left out is empty.
    """

    kind: Literal["search", "add", "update"]
    question: str = ""
    title: str = ""
    source: str = ""
    text: str = ""

    @property
    def tool(self) -> str:
        """Return the capability that does it."""
        return SEARCH if self.kind == "search" else INGEST

    @property
    def arguments(self) -> dict[str, Json]:
        """Return the arguments of its call."""
        if self.kind == "search":
            return {"query": self.question, "topk": SHOWN}
        return {"text": self.text, "title": self.title, "source": self.source}

    @property
    def is_whole(self) -> bool:
        """Return whether nothing is left out."""
        return bool(self.question) or bool(self.title and self.source and self.text)


def find_wish(words: str) -> Wish | None:
    """Return what somebody wants of the knowledge base; None for nothing."""
    plain = strip_opening(words).strip()
    adding = _TO_ADD.fullmatch(plain)
    if adding:
        told = next(filter(None, adding.groupdict().values()), "")
        document = _DOCUMENT.fullmatch(told)
        if document is None:
            return Wish("add")
        return Wish(
            "add", title=document["title"], source=document["source"], text=document["text"]
        )
    if "\n" in plain:
        return None
    if _TO_UPDATE.fullmatch(plain):
        return Wish("update")
    bare = plain.rstrip(" .?!。？！")
    for pattern in _TO_SEARCH:
        found = pattern.fullmatch(bare)
        if found:
            parts = [found[name] or "" for name in ("before", "what") if name in found.groupdict()]
            return Wish("search", question=" ".join(parts).strip(" ,，:：")[:500])
    return None


def describe_found(result: Json, texts: Texts) -> str:
    """Return the passages that a search found, each with its source."""
    passages = []
    for row in as_sequence(as_mapping(result).get("results"))[:SHOWN]:
        fields = as_mapping(row)
        by = as_string(fields.get("added_by"))
        stated = as_string(fields.get("author")) if "author_stated_by" in fields else ""
        passages.append(
            texts.kb_passage.format(
                title=as_string(fields.get("title")),
                place=as_string(fields.get("place")),
                text=make_excerpt(as_string(fields.get("text")), EXCERPT_CHARACTERS),
                source=as_string(fields.get("source")),
                day=as_string(fields.get("time"))[:DAY],
                added=describe_author(by, stated, texts),
            )
        )
    return "\n\n".join(passages) or texts.kb_nothing


def describe_added(result: Json, texts: Texts) -> str:
    """Return the sentence that a document was added, or was there already."""
    fields = as_mapping(result)
    pattern = texts.offline_kb_added if fields.get("changed") else texts.offline_kb_known
    return pattern.format(title=fields.get("title"), source=fields.get("source"))
