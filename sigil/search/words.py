"""Text becomes search terms: stems of words, and single characters and pairs of them where a script
writes no spaces.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final, cast

from Stemmer import Stemmer

from sigil.search.shapes import drop_payloads, find_shapes

_STOP_WORDS: Final = """
    a an the this that these those here there and or but if then else than so of at by for with
    about to from up down in out on off over under into onto as is am are was were be been being
    do does did doing done have has had having can could will would shall should may might must
    not no nor too very just also only any some all each both few more most other such same own i
    me my mine myself we us our ours you your yours he him his she her it its they them their what
    which who whom whose when where why how s t d ll m o re ve don please tell want need help give
    let like know get find show use looking provide hello hi hey thanks thank sorry ok okay yes
    bye good great nice today gonna wanna gimme lemme gotta pls plz im ive dont cant u ur btw
    的 了 吗 呢 吧 啊 呀 我 你 您 他 她 它 们 是 在 有 和 与 就 都 也 很 请 帮 要 想 把 被 给 这
    那 个 么 怎 谁 哪 谢 咋 啥 呗 嘛 哦 啦 今天 现在 一个 麻烦 给我 你好 您好 你们 我们 他们
    谢谢 什么 怎么 怎样 请问 请帮 帮我 一下 我想
    我要 想要 可以 这个 那个 再见 是谁
"""
STOP_WORDS: Final = frozenset(_STOP_WORDS.split())
"""Words that carry nothing in a query: grammar, courtesy and greetings. Documents keep them."""

_OTHER_STOP_WORDS: Final = {
    "de": """
        der die das den dem des ein eine einen einem einer eines und oder aber ist sind war waren
        bin bist hat habe haben hast wird werden wurde kann kannst konnen soll will wollen mochte
        ich du er sie es wir ihr mir mich dir dich uns euch sein seine mein meine meinen meinem
        meiner dein deine deinen dieser diese dieses diesen diesem wie was wer wo wann welche
        welcher welches welchen viel viele von vom zu zum zur in im ins mit auf aus bei bis fur
        uber unter nach vor an am als so nicht kein keine mach mache machen gib gibt zeig zeige
        bitte danke hallo heute jetzt
        brauche brauch hol sag schreib schreibe dass wenn dann um man noch auch nur sehr etwas
        mal nen ne nem ner grad gerade da hier doch nochmal hab hatte haette hattest ware gern
        gerne ob kommt geht gehts steht wirds draus damit davon dafur drin rein raus bei durch ja
        nein denn also eigentlich ungefahr etwa circa ca lass ihr ihre ihren unser unsere welchem
        wieviel wieviele jeder jede jedes mochten wurdest haben sag sagst gemacht machst kriegt
        krieg bekomme muss musst sollte solltest danach dabei schon immer wieder hin her los bald
    """,
    "fr": """
        le la les un une des du de et ou mais est sont etait etre ai as avons avez ont a au aux je
        tu il elle on nous vous ils elles me moi te toi se mon ma mes ton ta tes son sa ses ce cet
        cette ces que qui quoi quel quelle quels quelles quand comment combien dans sur sous avec
        pour par en entre ne pas y si s l d j n m t c qu fais fait font faut donne dis peux peut
        veux bonjour merci ca cela cb svp stp plait voudrais aimerais faudrait faut besoin donner
        mettre mets faire fais truc trucs genre juste ici deja aussi tout toute tous toutes bien
        tres leur notre votre cette celui celle ceux ont eu ete suis es sera serait aller vais va
        vas peu peut pouvez pourrais pourrait dire dit dis moi lui donc alors voici voila
        ci dois doit merci salut
    """,
    "es": """
        el la los las un una unos unas y o pero es son era ser estar esta este esto estos estas he
        ha han hay yo tu me mi mis te ti su sus nos que quien cual cuando como cuanto cuantos
        cuanta cuantas donde de del al a en con por para sin sobre entre no se lo le haz dame
        hola gracias
    """,
}
OTHER_STOP_WORDS: Final = {
    language: frozenset(words.split()) for language, words in _OTHER_STOP_WORDS.items()
}
"""The same in other languages, without accents. They count only where the text is in theirs: `die`
and `war` are English words.
"""
_TELLING: Final = {
    "de": frozenset(
        "der das den dem ein eine einen und ist sind ich mir mich wie wer wann welche welcher"
        " welches viel viele von zu zum mit aus fur uber nach bitte dieser diese diesen diesem"
        " wenn dass zwischen hab habe nen mein meine meinen auf wo wieviel wieviele kannst"
        " hatte ins vom bei nicht gib mach mal brauche hier heute morgen".split()
    ),
    "fr": frozenset(
        "le les un une des du et est sont je tu nous vous mon ma ces cette ce que qui quel quelle"
        " quand comment combien dans avec pour par entre ca cb svp stp fait au aux sur mes moi"
        " sans chaque de la en il elle ai avoir faut c".split()
    ),
    "es": frozenset(
        "el los las una son mi mis que cual cuando como cuanto cuantos del con por para"
        " esta este de la en".split()
    ),
}
"""Those of them that hardly any other language of these has."""
_ALL_TELLING: Final = frozenset[str]().union(*_TELLING.values())


_TRADITIONAL: Final = (
    "萬與專業東絲兩嚴喪個豐臨為麗舉義烏樂喬習鄉書買亂爭於虧雲亞產畝親億僅從侖倉儀們價眾優會傘偉傳傷倫偽體餘傭債傾償儲兒黨蘭關興養獸內岡冊寫軍農馮沖決況凍淨涼減"
    "幾鳳憑凱擊鑿劃劉則剛創刪別製劑動務勝勞勢勳匯區醫華協單賣盧衛卻廠廳歷厲壓厭廁廂縣參雙發變敘葉號嘆嗎聽啟吳嘗員問響園圍國圖圓聖場壞塊堅壇墳墜壘報聲殼壺處備複夠頭誇夾奪奮"
    "獎婦媽嬰孫學寧寶實寵審憲宮寬賓對尋導將爾塵層屬歲島嶺幣帥師帳帶幫幹並廣莊慶庫應廟廢開異棄張彌彎彈強歸當錄徹徑後憶憂懷態總戀惡惱惲悅懸驚懇慣戰戲戶執擴掃揚擾撫拋擔擬擁擇掛揮損換據擺搖攝攤"
    "數齋斷無舊時曠曆顯曉晝暫術機殺雜權條來極構樞標棧棟樹樣檔橋檢櫃樓歐歡歸殘毀畢氣漢湯溝沒滅災燈爐點煉燒熱愛爺牆狀獨獄獎獲環現瑪畫暢療瘋癢皺盤監蓋盡睜瞭矯礦碼確礎禮禪離種積稱穩穀窮竊競筆築簡簽"
    "類糧紅級紀約紋納純紙紐線組細終絡給絕統經結綠維網緊緒續繼編緣縮縱總績織繪繳罰羅職聯肅腦腳臉臟艦藝節範蘇藍蘋藥虛蟲補裝裡製複見規視覺覽觀訂計訊討訓託記訪設許訴診註證評詞試詩話該詳語誤說請諸課調談論講謝譯識護讀讓豬貓貝負財貨質購費貴資賞賽趙趕跡踐車軌軟軸較載輕輛輪輯輸轉辦邊達過運還這進遠違連遲選遺遞郵鄰釋針鈕鋼錢錯鍵鏈鏡鐘鐵鑰長門閉開間閱隊陽陰陣階際陸險隨隱雖難雲電霧靜項順須預領頻題額顏願類顯風飛飯飲館馬駕驗髮魚鳥鹽麥黃黑齊齒龍"
    "擷斂颱檯註匹鏽鬱裏衝淚準濟濕溫溼滾滿漸潔澤濾瀏灣誌週遊籤帖複繫劃盪捨迴託佈彙傑嚐噹塗壟"
)
_SIMPLIFIED: Final = (
    "万与专业东丝两严丧个丰临为丽举义乌乐乔习乡书买乱争于亏云亚产亩亲亿仅从仑仓仪们价众优会伞伟传伤伦伪体余佣债倾偿储儿党兰关兴养兽内冈册写军农冯冲决况冻净凉减"
    "几凤凭凯击凿划刘则刚创删别制剂动务胜劳势勋汇区医华协单卖卢卫却厂厅历厉压厌厕厢县参双发变叙叶号叹吗听启吴尝员问响园围国图圆圣场坏块坚坛坟坠垒报声壳壶处备复够头夸夹夺奋"
    "奖妇妈婴孙学宁宝实宠审宪宫宽宾对寻导将尔尘层属岁岛岭币帅师帐带帮干并广庄庆库应庙废开异弃张弥弯弹强归当录彻径后忆忧怀态总恋恶恼恽悦悬惊恳惯战戏户执扩扫扬扰抚抛担拟拥择挂挥损换据摆摇摄摊"
    "数斋断无旧时旷历显晓昼暂术机杀杂权条来极构枢标栈栋树样档桥检柜楼欧欢归残毁毕气汉汤沟没灭灾灯炉点炼烧热爱爷墙状独狱奖获环现玛画畅疗疯痒皱盘监盖尽睁了矫矿码确础礼禅离种积称稳谷穷窃竞笔筑简签"
    "类粮红级纪约纹纳纯纸纽线组细终络给绝统经结绿维网紧绪续继编缘缩纵总绩织绘缴罚罗职联肃脑脚脸脏舰艺节范苏蓝苹药虚虫补装里制复见规视觉览观订计讯讨训托记访设许诉诊注证评词试诗话该详语误说请诸课调谈论讲谢译识护读让猪猫贝负财货质购费贵资赏赛赵赶迹践车轨软轴较载轻辆轮辑输转办边达过运还这进远违连迟选遗递邮邻释针钮钢钱错键链镜钟铁钥长门闭开间阅队阳阴阵阶际陆险随隐虽难云电雾静项顺须预领频题额颜愿类显风飞饭饮馆马驾验发鱼鸟盐麦黄黑齐齿龙"
    "撷敛台台注匹锈郁里冲泪准济湿温湿滚满渐洁泽滤浏湾志周游签帖复系划荡舍回托布汇杰尝当涂垄"
)
SIMPLER: Final = {
    ord(old): new for old, new in zip(_TRADITIONAL, _SIMPLIFIED, strict=True) if old != new
}
"""Traditional character → simplified: those that people ask with most; aliases are written in the
latter.
"""


QUERY_LIMIT: Final = 2_000
"""Characters of a query that are read."""
WORD_LIMIT: Final = 40
SWAPPED_LETTERS_MINIMUM: Final = 4
"""Letters of a stem from which on two of them may have changed places."""
KEPT_ENDING: Final = "at"
"""What the stem of `calcluate` keeps of it, and that of `calculate` does not."""
PHRASE_LIMIT: Final = 80
STEMS_REMEMBERED: Final = 32_768
PHRASES_REMEMBERED: Final = 16_384
"""So many phrases keep their terms: those aliases that queries met last."""
JOIN_LIMIT: Final = 16
SPANNED_WORDS: Final = 40
"""Words of a phrase whose spans are looked at."""
SPAN_WORDS: Final = 5
TELLING_SPAN: Final = 3
"""Words from which on even stop words in a row may be a name: `I told you`."""
SPAN_CHARACTERS: Final = 8
SHAPE_WEIGHT: Final = 2.5
"""The weight of a shape in a query: it says without a word what is asked for."""
FAINT_WEIGHT: Final = 0.5
"""The weight of a number, or of one character of a pair, in a query: they are mostly payload or
chance.
"""
FILLERS: Final = frozenset("many much long far big old tall high often".split())
"""Words that say little, but may belong to what something is called: how many words, how far."""
FILLER_WEIGHT: Final = 0.5

# kana, Han, Hangul, and Thai to Khmer, which write no spaces between words either
UNSPACED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30fa\u30fc-\u30ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"
)
# each a word of its own; without the tones of skin, which only colour the one before
EMOJI: Final = "\u2600-\u27bf\U0001f300-\U0001f3fa\U0001f400-\U0001faff"
# Indic vowel signs are no letters to `re`, but belong to their words
WORD: Final = re.compile(f"[{UNSPACED}]+|[{EMOJI}]|(?:[^\\W_{UNSPACED}]|[\u0900-\u0dff])+")
ASCII_WORD: Final = re.compile("[a-z0-9]+")
IS_UNSPACED: Final = re.compile(f"[{UNSPACED}]").match
CAMEL: Final = re.compile("(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
NUMBERED: Final = re.compile(r"(?<![^\W_])([A-Za-z]+)[-_]([0-9]{1,16})(?![^\W_])")
# accents, and what is not seen: soft hyphen, zero-width and bidirectional marks, byte order mark
IGNORED: Final = dict.fromkeys(
    [
        *range(0x300, 0x370),
        0xAD,
        *range(0x200B, 0x2010),
        *range(0x202A, 0x202F),
        *range(0x2060, 0x2070),
        0xFEFF,
    ]
)


def make_stemmer() -> Callable[[str], str]:
    """Return a function from a casefolded English word to its stem (Snowball's Porter 2).

    It remembers the words that it saw last, and is safe to share between threads.
    """
    stemmer = Stemmer("english", 0)
    lock = threading.Lock()

    @lru_cache(maxsize=STEMS_REMEMBERED)
    def stem(word: str) -> str:
        # a stemmer keeps the word that it works on in itself
        with lock:
            return cast("str", stemmer.stemWord(word))

    return stem


@dataclass(frozen=True, slots=True)
class QueryTerms:
    """The terms of a query with the weight of each, those that count only if some document has
    them, and those that nobody has to have; the language that its grammar words are of, where they
    are German, French or Spanish.
    """

    weights: dict[str, float]
    optional: frozenset[str]
    payload: frozenset[str] = frozenset()
    language: str = ""


class Tokenizer:
    """Makes search terms of text. It holds nothing but remembered stems and is safe to share
    between threads.
    """

    def __init__(self) -> None:
        self._stem: Callable[[str], str] = make_stemmer()
        self._stop_words = STOP_WORDS | {self._stem(word) for word in STOP_WORDS}
        self._stop_words_of = {
            language: words | {self._stem(word) for word in words}
            for language, words in OTHER_STOP_WORDS.items()
        }
        self._fillers = {self._stem(word) for word in FILLERS}
        self._remembered = lru_cache(maxsize=PHRASES_REMEMBERED)(self._content_terms)

    def terms(self, text: str) -> list[str]:
        """Return every term of a document's text, in order, as often as it occurs there."""
        plain, joined = self._split_terms(normalize_spelling(text))
        return plain + joined

    def is_stop_word(self, term: str) -> bool:
        """Return whether no query looks for a term, in whatever language it is."""
        return term in self._stop_words

    def query_terms(self, text: str) -> QueryTerms:
        """Return the terms of a query without its stop words; its first `QUERY_LIMIT` characters
        are read.

        What is in quotes, and what is plainly payload, counts only where a document has it.
        """
        folded = normalize_spelling(text[:QUERY_LIMIT])[:QUERY_LIMIT]
        plain, joined = self._split_terms(folded)
        language = detect_language(folded)
        stop_words = self._stop_words | self._stop_words_of.get(language, frozenset())
        asked = drop_payloads(folded)
        wanted: set[str] = set(plain)
        if asked != folded:
            wanted = set(self._split_terms(asked)[0])
        paired: set[str] = set()
        crossing: set[str] = set()
        for term in plain:
            if len(term) == 2 and IS_UNSPACED(term):
                paired.update(term)
                if not stop_words.isdisjoint(term):
                    crossing.add(term)
        weights: dict[str, float] = {}
        optional = set(joined).difference(plain)
        payload: set[str] = set()
        for term in plain + joined:
            if term in stop_words:
                continue
            if term in self._fillers:
                weights[term] = FILLER_WEIGHT
                optional.add(term)
            elif (
                term in paired
                or term in crossing
                or term.isdigit()
                or not (term in wanted or term in optional)
            ):
                weights[term] = FAINT_WEIGHT
            else:
                weights[term] = 1.0
            if term.isdigit() or not (term in wanted or term in optional):
                payload.add(term)
            if term not in wanted or term.isdigit():
                optional.add(term)
        for shape in find_shapes(folded):
            weights[shape] = SHAPE_WEIGHT
            optional.add(shape)
        return QueryTerms(weights, frozenset(optional), frozenset(payload), language)

    def content_terms(self, phrase: str, language: str = "") -> frozenset[str]:
        """Return the terms of a phrase without its stop words, and without those of `language`;
        those of short phrases are remembered.
        """
        read = self._remembered if len(phrase) <= PHRASE_LIMIT else self._content_terms
        terms = read(phrase)
        return terms - self._stop_words_of[language] if language else terms

    def _content_terms(self, phrase: str) -> frozenset[str]:
        terms = frozenset(self._stem_words(phrase))
        other = self._stop_words_of.get(detect_language(phrase), frozenset())
        return terms - self._stop_words - other

    def _split_terms(self, text: str) -> tuple[list[str], list[str]]:
        """Return the terms as they are written, and those that only people who write in one word
        would look for: `sha256` for SHA-256, `javascript` for JavaScript.
        """
        spaced = CAMEL.sub(" ", text)
        joined: list[str] = []
        if "-" in text or "_" in text:
            for word, number in NUMBERED.findall(text):
                if len(word) <= JOIN_LIMIT:
                    joined.append(word + number)
        if len(spaced) > len(text):
            for word in WORD.findall(text):
                if len(word) <= JOIN_LIMIT and len(CAMEL.findall(word)) == 1:
                    joined.append(word)
        return self._stem_words(spaced.casefold()), [self._stem(word.casefold()) for word in joined]

    def _stem_words(self, text: str) -> list[str]:
        stem = self._stem
        if text.isascii():
            return [stem(word[:WORD_LIMIT]) for word in ASCII_WORD.findall(text)]
        terms: list[str] = []
        for word in WORD.findall(text):
            if IS_UNSPACED(word):
                terms.extend(word)
                terms.extend(first + second for first, second in pairwise(word))
            else:
                terms.append(stem(word[:WORD_LIMIT]))
        return terms


def detect_language(text: str) -> str:
    """Return the language, beside English and Chinese, that a text's grammar words are of: `de`,
    `fr`, `es`, or nothing.
    """
    words = _ALL_TELLING.intersection(ASCII_WORD.findall(text.casefold()))
    if not words:
        return ""
    counts = {language: len(words & telling) for language, telling in _TELLING.items()}
    return max(counts, key=counts.__getitem__)


def normalize_spelling(text: str) -> str:
    """Return the text in one spelling (NFKC), without accents and invisible characters, Chinese
    simplified; letters keep their case.
    """
    if text.isascii():
        return text
    plain = unicodedata.normalize("NFKD", text).translate(IGNORED)
    return unicodedata.normalize("NFKC", plain).translate(SIMPLER)


def swap_letters(stem: str) -> list[str]:
    """Return a stem with each two letters beside each other swapped, its first one excepted, and
    that without the ending which a wrong word keeps; a short one has none.

    To stem each swapped word anew took half of a query's time.
    """
    if len(stem) < SWAPPED_LETTERS_MINIMUM or not stem.isalpha():
        return []
    swapped = [
        stem[:at] + stem[at + 1] + stem[at] + stem[at + 2 :]
        for at in range(1, len(stem) - 1)
        if stem[at] != stem[at + 1]
    ]
    if stem.endswith(KEPT_ENDING):
        swapped += [word.removesuffix(KEPT_ENDING) for word in swapped]
    return swapped


def normalize_phrase(text: str) -> str:
    """Return the words of a text, casefolded, with single spaces between them; empty without a
    letter or digit.
    """
    return " ".join(WORD.findall(normalize_spelling(text).casefold()))


def list_spans(text: str, stop: Set[str]) -> Iterator[str]:
    """Yield the parts of a phrase that could be the name of something: a few words in a row, not
    all of them stop words, or characters where no spaces are written. Only the first words of a
    long phrase are read.
    """
    words = text.split()[:SPANNED_WORDS]
    for start, word in enumerate(words):
        if IS_UNSPACED(word):
            for place in range(len(word[:SPANNED_WORDS]) - 1):
                for size in range(2, min(SPAN_CHARACTERS, len(word) - place) + 1):
                    yield word[place : place + size]
        for end in range(start + 1, min(start + SPAN_WORDS, len(words)) + 1):
            if end - start >= TELLING_SPAN or not stop >= set(words[start:end]):
                yield " ".join(words[start:end])


def contains_phrase(text: str, part: str) -> bool:
    """Return whether a phrase holds another one whole; very short ones occur in too many by
    chance and do not count.
    """
    if IS_UNSPACED(part):
        return len(part) > 1 and part in text
    return len(part) > 2 and f" {part} " in f" {text} "
