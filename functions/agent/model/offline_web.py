"""Reads requests for pages and searches of the web in words, and tells what came back.

The offline model has this instead of understanding: it shows the beginning of a page, and the
results of a search, and sums up nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from functions.texts.en import Texts
from sigil.json_fields import as_mapping, as_sequence, as_string
from sigil.protocol import Json

SHOWN_CHARACTERS = 1_500
"""So much of a page's text is shown."""
_ADDRESS = r"(?:https?://|www\.)[^\s<>\"'`，。！？；、）】」]+"
_VERBS = (
    r"\b(?:read|open|visit|sum|summari[sz]e|browse|fetch|load|look|see|tell|what|says?|show|links?|part)\b"
    r"|\b(?:lies|lese|les|öffne|fasse?|zeige?|was|steht)\b|\b(?:lis|ouvre|résume|que dit)\b"
    r"|[读看开]|总结|阅读|链接|写了什么|说了什么"
)
_LINKS = r"\b(?:list|show|which|all|what|welche|alle|liste)\b.*\blinks\b|链接有|所有链接"
_NO_PAGE = (
    r"\bqr\b|二维码|\b(?:parse|encode|decode|escape|hash|md5|sha\d*|base64|query parameters?)\b"
    r"|\b(?:extract|regex|valid|domain|host|port|protocol|slug|shorten|count|how (?:many|long))\b"
    r"|域名|参数|`"
)
PAGE_TOPIC = (
    rf"^(?![\s\S]*(?:{_NO_PAGE}))(?:\W*{_ADDRESS}\W*$"
    rf"|(?=[\s\S]*{_ADDRESS})[\s\S]*(?:{_VERBS})"
    r"|.*\b(?:read|open|visit|summari[sz]e) (?:this|that|the) (?:link|(?:web ?)?(?:page|site))\b"
    r"|.*\b(?:lies|öffne) (?:diesen|den|diese|die) (?:link|(?:web|internet)?seite)\b"
    r"|.*(?:打开|看看|总结|读)(?:一下)?(?:这个|那个)?(?:链接|网页|网址))"
)
"""Words about a page and its address, but not about the address itself."""
SEARCH_TOPIC = (
    r"\b(?:search|look|find)\b.*\b(?:the web|online|(?:the )?internet)\b|^google\b|\bweb search\b"
    r"|\bwhat(?:'s| is) new (?:about|with|in|on)\b|\b(?:news|headlines) (?:about|on|of|from)\b"
    r"|\b(?:im|ins) (?:internet|netz|web)\b|^googel|\bneues (?:über|zu|von|bei)\b"
    r"|\b(?:nachrichten|neuigkeiten) (?:über|zu|von|aus)\b"
    r"|\bquoi de neuf\b|\bsur (?:internet|le web)\b|\bactualités sur\b"
    r"|\b(?:in|is|what's) the news\b|\bany news\b|\bheute neues\b|^nachrichten"
    r"|上网|网上|联网搜|搜索一下|百度一下|谷歌一下|(?:最新|最近)的?.{0,20}(?:新闻|消息)|新闻"
)
"""Words that ask for something from the web."""
_HEADLINES = (
    (r"what(?:'s| is) (?:new|in the news|the news)(?: today)?|any news(?: today)?", "news"),
    (r"was gibt(?:'s| es) (?:heute )?neues|nachrichten(?: von heute)?", "Nachrichten"),
    (r"quoi de neuf(?: dans l'actualité)?", "actualités"),
    (r"(?:今天|最近|现在)?有什么(?:大)?新闻|(?:今天|最近)的新闻", "新闻"),
)
"""Questions for the news of the day, about nothing in particular, and what to search for then."""
_NEWS = r"\bnews?\b|headlines|latest|neues|nachrichten|neuigkeiten|neuf|actualités|最新|最近|新闻"
_SUBJECTS = (
    r"^(?:please )?(?:search|look)(?: up)? (?:on )?(?:the web|online|(?:the )?internet)"
    r" (?:for|about) (.+)$",
    r"^(?:please )?(?:search|look up|find) (?:for )?(.+?) (?:on|in)(?: the)? (?:web|internet)$",
    r"^(?:please )?(?:search|look up|find) (?:for )?(.+?) online$",
    r"^(?:google|web search(?: for)?)[: ]+(.+)$",
    r"\bwhat(?:'s| is) new (?:about|with|in|on) (.+)$",
    r"\b(?:news|headlines) (?:about|on|of|from) (.+)$",
    r"\b(?:suche?|schau)(?: (?:bitte|mal))* (?:im|ins) (?:internet|netz|web) (?:nach )?(.+)$",
    r"^googel[en]*(?: (?:bitte|mal|nach))* (.+)$",
    r"\bneues (?:über|zu|von|bei) (.+)$",
    r"\b(?:nachrichten|neuigkeiten) (?:über|zu|von|aus) (.+)$",
    r"\bquoi de neuf (?:sur|à propos de|avec) (.+)$|\bactualités sur (.+)$",
    r"^(?:请|帮我)?(?:上网|在?网上|联网)?(?:搜索|搜|查|百度|谷歌)一?下?(?:网上)?(?:的)?(.+)$",
    r"^(.+?)有什么(?:新闻|最新消息|新消息|新进展)$",
)


def find_page(words: str) -> dict[str, Json] | None:
    """Return the arguments of a request to read a page; None without its address."""
    address = re.search(_ADDRESS, words, re.IGNORECASE)
    if address is None:
        return None
    arguments: dict[str, Json] = {"url": address[0].rstrip(".,;:!?)")}
    part = re.search(r"\b(?:part|teil|partie) (\d{1,3})\b|第\s*(\d{1,3})\s*部分", words, re.I)
    if part:
        arguments["part"] = max(int(part[1] or part[2]), 1)
    if re.search(_LINKS, words, re.IGNORECASE):
        arguments["links"] = True
    return arguments


def find_search(words: str) -> dict[str, Json] | None:
    """Return the arguments of a request to search the web; None without a subject."""
    asked = words.strip().rstrip("?？!！。. ")
    for pattern, query in _HEADLINES:
        if re.fullmatch(pattern, asked, re.IGNORECASE):
            return {"query": query, "recent": "day"}
    for pattern in _SUBJECTS:
        found = re.search(pattern, asked, re.IGNORECASE)
        subject = next(filter(None, found.groups()), "") if found else ""
        if subject:
            arguments: dict[str, Json] = {"query": subject.strip(" \"'“”")[:400]}
            if re.search(_NEWS, asked, re.IGNORECASE):
                arguments["recent"] = "month"
            return arguments
    return None


def describe_page(fields: Mapping[str, Json], texts: Texts) -> str:
    """Return a page's title, the beginning of its text, and where it came from."""
    lines = [as_string(fields.get("title")), _shorten(as_string(fields.get("text")))]
    for each in as_sequence(fields.get("links")):
        link = as_mapping(each)
        lines.append(f"- {as_string(link.get('text'))}: {as_string(link.get('url'))}")
    lines.append(as_string(fields.get("note")))
    source = texts.offline_page.format(
        url=fields.get("url"), part=fields.get("part"), parts=fields.get("parts")
    )
    return "\n\n".join(filter(None, (*lines, source)))


def describe_search(fields: Mapping[str, Json], texts: Texts) -> str:
    """Return the results of a search, one below the other, and what is to know about them."""
    lines = []
    for each in as_sequence(fields.get("results")):
        result = as_mapping(each)
        published = as_string(result.get("published")) if "published" in result else ""
        head = as_string(result.get("title"))
        lines.append(f"- {head} ({published})" if published else f"- {head}")
        lines.append(f"  {as_string(result.get('url'))}")
        if result.get("snippet"):
            lines.append(f"  {as_string(result.get('snippet'))}")
    found = "\n".join(lines) or texts.offline_nothing
    note = as_string(fields.get("note")) if "note" in fields else ""
    return f"{found}\n\n{note}" if note else found


def _shorten(text: str) -> str:
    """Return the beginning of a text, which ends with a paragraph, a line or a word."""
    if len(text) <= SHOWN_CHARACTERS:
        return text
    beginning = text[:SHOWN_CHARACTERS]
    for end in ("\n\n", "\n", " "):
        place = beginning.rfind(end)
        if place > SHOWN_CHARACTERS // 2:
            return f"{beginning[:place]} …"
    return f"{beginning} …"
