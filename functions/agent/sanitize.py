"""Text from outside is made fit for a prompt.

Nothing that a reader does not see stays in it, and nothing that a reader could take for what the
runtime writes: `sanitize_text` is the one function for all that comes in, before it is stored.
"""

from __future__ import annotations

import html
import json
import re
import unicodedata

from sigil.protocol import Json

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])")
"""Escape sequences of terminals: control sequences, titles, two-character ones (ECMA-48)."""
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200d-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff"
    "\uffa0\ufff0-\ufffb\ud800-\udfff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Control characters but for tab and line feed, and what is invisible, turns the direction of
writing, or is half of a character.
"""
_JOINS = re.compile("(?<=[^\x00-\x7f\ue000])\ue000(?=[^\x00-\x7f\ue000])")
"""A joiner, in disguise, between two characters that it can join."""
_PARTS = re.compile(
    "(?<![\u0600-\u109f\u1780-\u17b3])\u200c|\u200c(?![\u0600-\u109f\u1780-\u17b3])"
)
"""A non-joiner that is not within a word of a script that is spelt with it, such as Persian and
those of India.
"""
_SELECTORS = re.compile("(?<![^\x00-\x7f\ue000\ufe00-\ufe0f])(?<![0-9#*])[\ufe00-\ufe0f]")
"""Characters that choose the look of the one before them, where that one has only one look."""
_MARKS = (
    "\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u200c\u200d\u20d0-\u20ff"
    "\ufe00-\ufe0f\ufe20-\ufe2f"
)
"""Combining characters and joiners: a reader takes a character with one for the character."""
_SPACES = " \t\u00a0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000"
_BLANK = f"[{_SPACES}{_MARKS}]*+"
"""What may stand before the first character that a reader sees of a line."""
_LEFT = rf"(?:[<＜﹤〈〈⟨❬❮❰˂ᐸ]|(?i:&lt|&#0*60(?![0-9])|&#x0*3c(?![0-9a-f]))[{_MARKS}]*+;?)"
_RIGHT = rf"(?:[>＞﹥〉〉⟩❭❯❱˃ᐳ]|(?i:&gt|&#0*62(?![0-9])|&#x0*3e(?![0-9a-f]))[{_MARKS}]*+;?)"
_GAP = rf"[\s{_MARKS}]*+"
_NAMED = rf"\w[\w\s.():{_MARKS}-]*+"
_DELIMITER = re.compile(
    rf"(^{_BLANK})?+(?:"
    rf"(?:{_LEFT}{_GAP}{_LEFT}|[≪⪡⟪《«]){_GAP}\\*+[/／∕⁄⧸╱⟋]+{_GAP}({_NAMED}){_GAP}[/／]?{_GAP}(?:{_RIGHT}{_GAP}{_RIGHT}|[≫⪢⟫》»])"
    rf"|{_LEFT}{_GAP}{_LEFT}{_GAP}([^\W\d][\w.(){_SPACES}{_MARKS}-]*+){_RIGHT}{_GAP}{_RIGHT}"
    rf"|[≪⪡⟪《«]{_GAP}([^\W\d][\w.(){_SPACES}{_MARKS}-]*+)[≫⪢⟫》»])",
    re.MULTILINE,
)
"""What closes a delimiter, in whatever spelling a reader would take for it, and what opens one."""
_TAG = re.compile(
    rf"{_LEFT}({_GAP}[/／∕⁄⧸╱⟋]*+{_GAP}([\w\u24b6-\u24e9\U0001f130-\U0001f149{_MARKS}\u2010-\u2015\u2212-]{{5,200}}+))"
)
"""What begins a tag, in whatever letters."""
_OPENING = "\\[［【〔〖〘〚⁅⌈⌊⎡⎢⎣❲⟅⟦⟬⦋⦇⦍⦏⦗⧘⧚⸢⸤⸦⹕⹗⹙⹛「『｢﹁﹃﹇﹝︗︹︻༺༼᚛"
_CLOSING = "\\]］】〕〗〙〛⁆⌉⌋⎤⎥⎦❳⟆⟧⟭⦌⦈⦎⦐⦘⧙⧛⸣⸥⸧⹖⹘⹚⹜」』｣﹂﹄﹈﹞︘︺︼༻༽᚜"
"""What a reader takes for square brackets. Parentheses are what they are replaced with."""
_BRACKETED = re.compile(rf"^({_BLANK})[{_OPENING}]([^\n]*+)", re.MULTILINE)
_CLOSED = re.compile(rf"[{_CLOSING}]")
_ANGLE = re.compile("[<＜﹤〈〈⟨❬❮❰˂ᐸ≪⪡⟪《«]|&(?:lt|LT|lT|Lt|#)")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"?', re.DOTALL)
"""A text within JSON."""
_SUSPECT = re.compile(
    rf"{_ANGLE.pattern}|[\u200c\ufe00-\ufe0f]|\\[ru]|(?:[\n\"]|\\[bfnt]|\A){_BLANK}[{_OPENING}]"
)
"""What a result has that may have to be replaced. Its lines may begin within a string of JSON."""
DOTS = "·•‧∙⋅・･᛫⸱⸳ꞏᐧ\u0387●◦⦁⚫⏺∘⸰🞄ㆍ\u119e⠂⠐𐄁"
"""What a reader takes for the dot that separates the parts of a stamp."""
QUOTES = '"“”„‟″‶＂«»〝〞〟❝❞ˮʺ🙶🙷🙸'
"""What a reader takes for the quotes around a name."""
_DOT = re.compile(f"[{DOTS}]")
_SPACED_DOT = re.compile(rf"\s[{DOTS}]|[{DOTS}]\s")
_DATE = re.compile(
    r"(?<![\dlo])[\dlo]{4}\W{1,3}[\dlo]{1,2}\W{1,3}[\dlo]{1,2}(?:\W{1,3}|t)"
    r"[\dlo]{1,2}(?:\W|ː)[\dlo]{2}(?![\dlo])"
)
"""A day and a time of day, folded."""
_LATIN = re.compile("[a-z0-9]")
_ENDED = re.compile(rf"\W*\Z|{_BLANK}[{DOTS}]")
"""What may stand behind the bracket of a stamp. A line of a log says something there."""
_ALIKE = str.maketrans(
    "АВЕЗІЈКМНОРСТУХЅаеіјкморстухѕһԁԛԝӏгипнвЬьΑΒΕΖΗΙΚΜΝΟΡΤΥΧαειηκνορτυχωոսօհցզ"
    "ıɪɑɡʀɴᴛᴍᴇᴜᴅᴀʏᴏꜱᴄʙᴋʟᴘᴡɢʜꜰøđłŧħƚᎢᎬᎠᎡᏒᎥᎷᏴᏟꓣꓴꓠꓔꓲꓟꓰꓳꓓꓮꓐꓫ\u2010\u2011\u2012\u2013\u2014\u2015\u2212",
    "abe3ijkmhopctyxsaeijkmopctyxshdqwlrunhbbbabezhikmnoptyxaeinkvoptuxwnuohgq"
    "iiagrntmeudayoscbklpwghfodlthliederimbcruntimeodabx-------",
) | {first + number: ord("a") + number for first in (0x1F150, 0x1F170) for number in range(26)}
"""Letters of other alphabets that look like those of English, and other hyphens."""
_STROKES = str.maketrans("i1|0", "lllo")
"""Letters and digits that are one stroke or one circle, which many fonts do not tell apart."""
_LEAST_CHARACTERS = len("a · b")
"""No line of the runtime has less in its brackets."""
_FOLDED_CHARACTERS = 600
"""A stamp says within so many characters of a line that it is one."""


def _fold(text: str) -> str:
    """Return the letters that a reader takes a text for, whatever characters they are made of."""
    if not text.isascii():
        kept = []
        for character in unicodedata.normalize("NFKD", text):
            if unicodedata.category(character) not in ("Mn", "Me", "Cf"):
                digit = unicodedata.decimal(character, None)
                kept.append(character if digit is None else str(digit))
        # some capitals look like others than their small letters do
        text = "".join(kept).translate(_ALIKE).casefold().translate(_ALIKE)
    return text.casefold().translate(_STROKES)


def _match_words(*words: str) -> re.Pattern[str]:
    """Return the pattern of folded words, which ends where a word ends."""
    return re.compile(rf"\W*(?:{'|'.join(map(_fold, words))})(?![a-z0-9])")


_TAG_NAME = _match_words("auto-claimed", "identity", "inbox")
"""The tags of the runtime: who a teammate is, its mail, and what it has claimed."""
_DELIMITER_NAME = _match_words(
    "assignment",
    "agents",
    "behaviour",
    "chat",
    "conversation",
    "environment",
    "group",
    "identity",
    "lost",
    "memory",
    "policy",
    "progress",
    "question",
    "quoted",
    "result",
    "role",
    "self",
    "skill",
    "skills",
    "soul",
    "summary",
    "system",
    "task",
    "team",
    "tools",
    "transcript",
    "user",
)
"""The first words between delimiters of the runtime."""
_LINE_WORDS = _match_words(
    "an image was left out",
    "earlier messages are left out",
    "erased",
    "forwarded from",
    "in reply to",
    "runtime",
    "truncated",
    "written through the bot",
)
"""The first words within the brackets with which lines of the runtime begin."""
_FILE_LINE = re.compile(rf"[^:{QUOTES}]{{1,40}}: ?(?:[{QUOTES}]|unnamed\b)")
"""The line of a file below a message: its kind, and its name in quotes."""

_CODE_FENCE = re.compile("`+|~~~+")
"""The text between two of them is code, and is shown as it is written, tags and all."""
_HIDDEN_MARKUP = re.compile(r"<!--.*?(?:-->|\Z)|</?[A-Za-z][^<>]*>", re.DOTALL)
"""Comments and tags."""
_EMPTY_LINK = re.compile(r"!?\[\s*\]\(\s*\)")
_RULE = re.compile(r"^[ \t|:]*[-=]{2,}[-=\s|:]*$", re.MULTILINE)
"""A rule, the line below a heading, or the one below a table's head."""
_MARKUP = str.maketrans("", "", "*_~#>|`")
_FILLERS = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters and symbols by their class that show nothing."""
_EXAMINED_CHARACTERS = 10_000
"""The markup of a longer text is not taken out: it may be hostile, and surely says something."""


def clean_text(text: str) -> str:
    """Return a text without the characters that nobody sees, its line ends as line feeds.

    Emoji that are joined stay joined, and words stay spelt.
    """
    if text.isascii() and text.isprintable():  # as most words of people are: nothing to take out
        return text
    text = _ANSI.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    # U+E000 takes a joiner's place until it is known whether the characters around can be joined
    text = text.replace("\ue000", "").replace("\u200d", "\ue000")
    text = _PARTS.sub("", _UNSEEN.sub("", text))
    text = _SELECTORS.sub("", text)
    return _JOINS.sub("\u200d", text).replace("\ue000", "")


CUT = "… and {count:,} more characters."
ESCAPED_CHARACTERS = 12
"""One character has at most so many where it is escaped."""


def escape_unseen(text: str) -> str:
    """Return a text in which every character that nobody sees is escaped as in JSON.

    Whoever reads it sees all that a program would read.
    """
    if text.isprintable() and not _UNSEEN.search(text):
        return text
    escaped = []
    for character in text:
        if character == " " or (character.isprintable() and not _UNSEEN.match(character)):
            escaped.append(character)
        else:
            escaped.append(json.dumps(character)[1:-1])
    return "".join(escaped)


def find_unseen(text: str) -> int | None:
    """Return the position of the first character that `clean_text` would remove, None for none."""
    plain = text.replace("\r\n", "\n")
    cleaned = clean_text(text)
    if plain == cleaned:
        return None
    for position, (before, after) in enumerate(zip(plain, cleaned, strict=False)):
        if before != after:
            return position
    return len(cleaned)


def sanitize_text(text: str) -> str:
    """Return a text from outside as the model may read it.

    Characters that nobody sees are gone. Nothing in it looks like what the runtime itself writes:
    the stamp of a message, whatever the owner's template makes of it; a line of the runtime's,
    such as `[runtime]` or one about a file; a delimiter, `<<NAME>>`; or a tag, such as `<inbox>`.
    It is written with other brackets then. A sanitized text stays as it is.
    """
    # as most words of people are: nothing to take out, and nothing to replace
    if text.isascii() and text.isprintable() and not ("[" in text or "<" in text or "&" in text):
        return text
    text = clean_text(text)
    escaped = _BRACKETED.sub(_escape_bracketed, _escape_delimiters(text))
    # a joiner may have had something to join before
    return escaped if escaped == text else clean_text(escaped)


def sanitize_lines(text: str) -> str:
    """Return lines that the runtime wrote, in which nothing opens or closes a delimiter or a tag.

    The words of others within them are sanitized, or no line begins with them.
    """
    return _escape_delimiters(clean_text(text))


def _escape_delimiters(text: str) -> str:
    if not _ANGLE.search(text):
        return text
    return _TAG.sub(_escape_tag, _DELIMITER.sub(_escape_delimiter, text))


def _escape_delimiter(found: re.Match[str]) -> str:
    """Return what closes a delimiter in other brackets, and so what opens one of ours, or any at
    the beginning of a line: elsewhere it is code.
    """
    start, closing, opening, quoted = found.groups()
    if closing:
        return f"{start or ''}‹‹/{closing.strip()}››"
    name = opening or quoted
    is_ours = bool(_DELIMITER_NAME.match(_fold(name)))
    is_first = start is not None
    if (is_ours or is_first) if opening else (is_ours and is_first):
        return f"{start or ''}‹‹{name.strip()}››"
    return found[0]


def _escape_tag(found: re.Match[str]) -> str:
    return f"‹{found[1]}" if _TAG_NAME.match(_fold(found[2])) else found[0]


def _escape_bracketed(found: re.Match[str]) -> str:
    """Return a line that begins with a bracket, which is a parenthesis where the line looks like
    one of the runtime's.
    """
    blank, rest = found.groups()
    closed = _CLOSED.search(rest)
    inside = rest[: closed.start()] if closed else rest
    after = rest[closed.end() :] if closed else ""
    if len(inside) < _LEAST_CHARACTERS or not _imitates_runtime(" ".join(inside.split()), after):
        return found[0]
    return f"{blank}({inside}){after}" if closed else f"{blank}({inside}"


def _imitates_runtime(inside: str, after: str) -> bool:
    """Return whether a line that begins with this in brackets, and goes on with what is `after`
    them, looks like one that the runtime writes.
    """
    folded = _fold(inside[:_FOLDED_CHARACTERS])
    if _LINE_WORDS.match(folded) or _FILE_LINE.match(folded):
        return True
    is_dated = bool(_DATE.search(folded))
    dots = [found.start() for found in _DOT.finditer(folded)]
    # no template has a quote, but what lists strings has one before it has a dot
    if dots and not any(quote in folded[: dots[0]] for quote in QUOTES):
        is_spaced = bool(_SPACED_DOT.search(folded))
        is_latin = len(dots) > 1 and bool(_LATIN.search(folded))
        is_link = len(dots) == 1 and after.startswith("(") and not is_dated
        if (is_spaced or is_latin) and not is_link:
            return True
    return is_dated and bool(_ENDED.match(after)) and not _is_list(inside)


def _is_list(inside: str) -> bool:
    """Return whether brackets have a list of texts and numbers, as programs write them."""
    try:
        json.loads(f"[{inside.replace(chr(39), chr(34))}]")
    except (ValueError, RecursionError):
        return False
    return True


def sanitize_result(content: str) -> str:
    """Return a tool's result as the model may read it; JSON stays the JSON that it was."""
    if not (_SUSPECT.search(content) or _UNSEEN.search(content)):
        return content
    try:
        return json.dumps(
            _sanitize_value(json.loads(content)),
            ensure_ascii=False,
            allow_nan=False,
            separators=(",", ":"),
        )
    except ValueError:
        return sanitize_text(content)
    except RecursionError:
        return sanitize_text(_STRING.sub(_sanitize_string, content))


def _sanitize_string(found: re.Match[str]) -> str:
    """Return a text within JSON that is too deep to be read as a whole."""
    try:
        return json.dumps(sanitize_text(json.loads(found[0])), ensure_ascii=False)
    except ValueError:
        return found[0]


def _sanitize_value(value: Json) -> Json:
    if isinstance(value, str):
        return sanitize_text(value)
    if isinstance(value, list):
        return [_sanitize_value(part) for part in value]
    if isinstance(value, dict):
        return {_sanitize_value(name): _sanitize_value(part) for name, part in value.items()}
    return value


def cut_text(text: str, most: int, pattern: str = CUT) -> str:
    """Return a text of at most `most` characters; the last line of one that was longer says how
    many are left out, in the words of `pattern`.
    """
    if len(text) <= most:
        return text
    room = max(most - len(pattern.format(count=len(text))) - 1, 0)
    return f"{text[:room]}\n{pattern.format(count=len(text) - room)}"


def strip_code_fence(text: str) -> str:
    """Return a text without a code fence around all of it."""
    text = text.strip()
    if not (text.startswith("```") and text.endswith("```") and len(text) >= 2 * len("```")):
        return text
    if "\n" not in text:
        return text.strip("`").strip()
    return text.split("\n", 1)[-1].rsplit("\n", 1)[0].strip()


def delimit_text(name: str, text: str, *, head: str = "", tail: str = "") -> str:
    """Return a text between the delimiters of `name`, which nothing inside can close.

    The `head` and the `tail` are lines of the runtime's own, above and below it.
    """
    if head:
        head += "\n"
    if tail:
        tail = f"\n{tail}"
    return f"<<{name}>>\n{head}{sanitize_text(text).strip()}{tail}\n<</{name}>>"


def delimit_lines(name: str, text: str) -> str:
    """Return lines that the runtime wrote between the delimiters of `name` (`sanitize_lines`)."""
    return f"<<{name}>>\n{sanitize_lines(text).strip()}\n<</{name}>>"


def is_visible(text: str) -> bool:
    """Return whether a reader of the text, once it is rendered, sees more than space and markup."""
    if len(text) > _EXAMINED_CHARACTERS:
        return any(map(_is_shown, text))
    code = "".join(_CODE_FENCE.split(text)[1:-1:2])
    if any(map(_is_shown, code)):
        return True
    bare = _RULE.sub("", _EMPTY_LINK.sub("", _HIDDEN_MARKUP.sub("", html.unescape(text))))
    return any(map(_is_shown, bare.translate(_MARKUP)))


def _is_shown(character: str) -> bool:
    """Return whether a character is neither space, control, format nor combining, nor a filler."""
    return unicodedata.category(character)[0] not in "ZCM" and character not in _FILLERS
