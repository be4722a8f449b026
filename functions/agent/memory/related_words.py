"""Words that are about the same thing, in English, German and Chinese, so that a question in other
words finds what was remembered: "my spouse" finds "wife".

Only the life of people is covered: family, food, health, home, work, money, travel, time. Each
paragraph below is one subject. A German word is known in its compounds as well.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from functions.agent.memory.helpers import Terms

_SUBJECTS: Final = """
wife spouse husband partner married marry marriage wedding anniversary fiancee frau ehefrau
gattin mann ehemann gatte verheiratet hochzeit hochzeitstag heirat ehe 妻子 老婆 太太 媳妇 丈夫
老公 爱人 结婚 婚礼 纪念

birthday born birth birthplace birthdate geburtstag geboren geburt geburtsort 生日 出生 诞生
老家 籍贯

mother mum mom mama mummy mutter mutti 妈妈 母亲 妈

father dad daddy papa vater vati 爸爸 父亲 爸

parents eltern mother father mutter vater 父母 爸爸 妈妈

son boy nephew sohn junge bub neffe 儿子 男孩 侄子

daughter girl niece tochter mädchen nichte 女儿 闺女 女孩 侄女

child children kid kids baby son daughter kind kinder nachwuchs sohn tochter 孩子 小孩 宝宝 儿子
女儿

brother sister sibling siblings bruder schwester geschwister schwager schwägerin 哥哥 弟弟 姐姐
妹妹 兄弟 姐妹

grandmother grandma granny grandfather grandpa grandparents oma opa großmutter grossmutter
großvater großeltern 奶奶 爷爷 外婆 外公 祖母 祖父

brother law sister husband wife schwager schwiegermutter 姐夫 嫂子 妹夫

friend mate buddy pal closest freund freundin kumpel 朋友 好友 闺蜜 哥们 关系

name named called call names heißen heißt heisst hieß nenne genannt 名字 名叫 姓名 叫做 叫

age old years year alter alt jahre 年龄 岁 几岁 多大

cat kitten kitty tabby katze kater kätzchen 猫 猫咪 小猫

dog puppy hound walk hund welpe gassi 狗 小狗 遛狗 散步

pet animal haustier tier cat dog katze hund 宠物 猫 狗

afraid scared fear scares frightened phobia angst fürchte fürchtet furcht 害怕 怕 恐惧 担心

fly flying plane flight airplane airport flug flugzeug fliegen flugangst 飞机 乘机 坐飞 航班
飞行

eat food meal diet allergic allergy allergies intolerant intolerance vegetarian vegan essen isst
ernährung allergie allergisch unverträglich vegetarier vegetarisch 吃 食物 过敏 饮食 忌口 素食
吃素

meat steak vegetarian vegan fleisch vegetarier vegetarisch wurst 肉 吃素 素食

milk lactose dairy cheese intolerant milch laktose käse 牛奶 奶 乳糖 奶制 喝奶

drink drinks beverage tea coffee juice water alcohol beer wine getränk trinken trinkt tee kaffee
saft wasser alkohol bier wein 喝 饮料 茶 咖啡 酒 啤酒 红酒

alcohol beer wine drink sober drunk alkohol bier wein trinken 酒 啤酒 白酒 红酒

herb spice vegetable coriander cilantro kraut gewürz gemüse koriander 香菜 菜 蔬菜

bread bake baking sourdough cake brot backen backt kuchen sauerteig 面包 烘焙 蛋糕

restaurant dinner lunch cafe place lokal gaststätte abendessen 餐厅 饭店 饭馆

like likes love loves prefer prefers favourite favorite best enjoy fond mag gern gerne liebling
lieblings liebsten bevorzuge schmeckt 喜欢 最爱 偏爱 爱好 喜爱 钟爱

dislike hate hates stand avoid detest cannot mag hasse nicht keinen schmeckt 讨厌 不爱 不喜 不吃
厌恶

colour color shade farbe farben 颜色 色

home house live lives address street flat apartment reside residence wohne wohnt wohnung wohnen
haus adresse anschrift zuhause lebe lebt leben straße strasse 住 家庭 住址 地址 住在 住房 房子
家里

city town country live lives reside stadt ort land wohnen wohnt lebt 城市 城 住在 国家

landlord owner rent flat apartment vermieter eigentümer gehört wohnung besitzer 房东 业主 租

rent pay monthly month apartment miete wohnung kostet mieten 房租 租金 租 房子

key keys spare lock schlüssel ersatzschlüssel zweitschlüssel 钥匙

neighbour neighbor nachbar nachbarin 邻居 隔壁

password login code pin combination passwort kennwort kombination zugang 密码 口令 暗号

wifi internet wlan network router online netz 无线 网络 上网 网密

garage door gate open tor garagentor 车库

parking park space car parken stellplatz parkplatz parkhaus parke 停车 车位 停在

car vehicle automobile registration plate drive auto wagen fahrzeug kennzeichen nummernschild
kfz pkw 汽车 车牌 牌照 车子 轿车 车

bike bicycle cycle fahrrad rad velo 自行车 单车

work works job employer company firm office profession occupation employed arbeit arbeite
arbeitet arbeitgeber firma beruf büro unternehmen 工作 公司 上班 单位 职业 职位 担任 做什

boss manager supervisor chief head chef chefin vorgesetzte vorgesetzter leiter 老板 领导 上司
经理 主管

colleague coworker team kollege kollegin 同事

salary earn earns wage income pay paid gehalt verdiene verdienst lohn einkommen 工资 薪水 收入
挣 月薪 赚

deadline due work project submit hand abgabe abgabetermin frist fällig fälligkeit projekt arbeit
截止 期限 最晚 到期 交稿 项目 工作

money save savings aside budget goal geld sparen sparziel ersparnisse zurücklegen 存款 攒 存钱
钱 储蓄

bank account konto 银行 账户

tax fiscal taxes steuer finanzamt steuernummer 税 税号 纳税

insurance policy cover insured versicherung police versichert versicherungsnummer 保险 保单 投保

number id digits nummer 号码 编号 号

phone telephone mobile call dial reach contact ring cell number telefon telefonnummer handy
anrufen erreiche erreichen rufe ruf mobilfunk 电话 手机 打电 联系 拨打 话费 打给

contract plan tariff subscription membership vertrag tarif abo mitgliedschaft 合同 套餐 会员

expire expires end ends until valid validity renew renewal run ablauf abläuft läuft ab endet
gültig verlängern aus 到期 过期 结束 有效 续期 截止

warranty guarantee guaranteed garantie gewährleistung 保修 质保

passport id travel papers visa document reisepass pass ausweis papiere personalausweis 护照 证件
身份 签证

travel trip journey holiday vacation visit go tour reise reisen urlaub fahre fahren ferien
ausflug 旅游 旅行 出差 去玩 度假 游玩 出游 哪儿

autumn fall september october november herbst oktober 秋天 秋季 九月 十月

summer june july august sommer juni juli 夏天 夏季 六月 七月 八月

winter december january february dezember januar februar 冬天 冬季 十二月 一月 二月

spring march april may frühling frühjahr märz 春天 春季 三月 四月 五月

hotel stay staying booked accommodation hostel inn unterkunft übernachte übernachten nächte
gebucht 酒店 旅馆 宾馆 客栈 住哪 住宿

train railway rail station platform connection zug bahn bahnhof gleis 火车 高铁 车票 列车 动车
车厢

seat sit window aisle sitz sitzplatz platz fenster 座位 靠窗 坐

vacation holiday leave days off urlaub resturlaub freie frei urlaubstage 年假 假期 休假 放假

doctor gp physician practice surgery specialist arzt ärztin doktor hausarzt praxis 医生 大夫
看病 医院

dentist teeth tooth dental zahn zahnarzt zähne 牙医 牙 看牙 牙齿

medicine pill pills tablet tablets medication drug takes swallow dose tabletten tablette
medikament medikamente pille nimmt arznei 药 吃药 药片 药物

blood group type blut blutgruppe 血型 血

bone broke broken fracture fractured wrist arm leg ankle knochen gebrochen bruch knochenbruch
handgelenk 骨折 骨头 摔断

glasses spectacles eyes eyesight lenses brille augen sehstärke lesebrille kontaktlinsen 眼镜
近视 度数 眼睛

smoke smoking cigarette cigarettes quit tobacco rauchen zigaretten raucht nichtraucher 抽烟 戒烟
吸烟 香烟 烟

weight weigh kilo kilos kg pounds gewicht wiege wiegen abnehmen 体重 公斤 多重 减肥

height tall cm größe groß gross 身高 多高 厘米

shoe shoes feet foot boots size schuh schuhe schuhgröße füße fuß 鞋 鞋码 鞋子 脚 尺码

sport exercise run running jog gym fitness workout training train swim swimming yoga joggen
joggt laufen läuft schwimmen turnen studio 运动 锻炼 健身 跑步 游泳

school class pupil kindergarten lesson primary teacher schule unterricht klasse grundschule
lehrer lehrerin kita 学校 上学 小学 中学 幼儿 读书

university college study studied degree read graduate uni universität studium studiert
hochschule gelernt 大学 毕业 专业 学院

learn learning study studying course practise lerne lernt lernen übe üben kurs 学习 正在 学

language portuguese spanish english french german chinese japanese italian sprache portugiesisch
spanisch englisch französisch deutsch italienisch 外语 语言 英语 西班 法语 日语 德语

instrument music play piano guitar violin cello flute orchestra lesson musik klavier gitarre
geige spielt orchester klavierstunde 乐器 音乐 钢琴 吉他 古筝 小提 会弹 弹

book read reading novel buch lese liest roman lesen 书 看书 小说 读

film movie cinema kino 电影 片子 影片

football soccer club team fan supports supporter fußball fussball verein fußballverein daumen
球队 足球 粉丝 球迷 支持

vote election elections poll polls ward district wahl wählen wahlkreis 投票 选举 选区

gift present give bought geschenk schenke schenken 礼物 送 礼品

appointment meeting talk meet date termin treffen verabredung besprechung 预约 会议 约会 见面

time clock hour when uhr uhrzeit 时间 几点 点钟

wake get up morning alarm rise aufstehen steht auf wecker klingelt weckt aufwache 起床 起来 闹钟

rubbish garbage trash bin waste collected müll abfall müllabfuhr tonne 垃圾 收垃 倒垃

plant plants grow garden balcony flower flowers tomatoes pflanze pflanzen garten balkon blumen
植物 花园 阳台 种

heating radiator temperature degrees warm cold heizung temperatur grad 暖气 温度 空调

washing machine washer laundry waschmaschine wäsche 洗衣 洗衣机

computer laptop notebook pc machine rechner 电脑 笔记 笔记本

printer print drucker drucke drucken 打印 打印机

brand model make marke modell 牌子 品牌 型号

plumber pipe pipes leak leaking leaky water klempner installateur rohr rohrbruch wasserhahn 水管
管道 漏水 修水

emergency accident urgent contact notfall unfall 紧急 出事 意外 急救

tuesday wednesday thursday friday monday saturday sunday day days weekday week dienstag
dienstags mittwoch mittwochs donnerstag freitag freitags montag montags samstag sonntag tag
tagen wochentag 周一 周二 周三 周四 周五 周六 周日 星期 每周 哪天

cost costs price pay pays fee pounds euros dollars kosten preis bezahle zahle kostet euro 价格
费用 付钱 多少钱 元 付 花费

hobby hobbies spare interest interests freizeit interessen 爱好 兴趣

religion faith church mosque temple glaube kirche 宗教 信仰 教堂

band song singer music lied sänger 歌曲 歌手 乐队 歌

game games play spiel spielen 游戏 玩

size clothes shirt trousers dress kleidung hemd hose konfektion 衣服 尺码 码 裤子

hair haircut hairdresser barber friseur haare 头发 理发

email mail address mailadresse 邮箱 邮件

website url site link webseite internetseite 网站 网址
"""
_COMPOUND_CHARACTERS: Final = 8
"""A word of so many letters may be a German compound."""
_PART_CHARACTERS: Final = 4
_REST_CHARACTERS: Final = 3
_FIRST_CHARACTERS: Final = 6
_UNSPACED: Final = re.compile("[\u3040-\u30ff\u3400-\u9fff]")
_QUESTION: Final = re.compile(
    r"[?？]\s*$|^(?:when|what|who|whose|whom|where|which|how|wann|was|wer|wen|wem|wo|wie|welche\w?)\b"
    r"|什么|哪|谁|几|多少|吗",
    re.IGNORECASE,
)
_ONESELF: Final = re.compile(
    r"\b(?:i|i'm|i've|my|mine|our|ours|we|ich|wir|mein\w{0,2}|unser\w{0,2}|user|nutzer)\b"
    r"|(?<![帮给为替教让诉])我|用户",
    re.IGNORECASE,
)
"""A word for the person who asks, but not as the one for whom something is to be done."""

_QUESTION_WORDS: Final = """
say said tell told remember remind recall mention mentioned know name still again wann was wie
wo wer wen wem welche welcher welches welchen welchem wohin woher wovor warum viel viele ist
sind war bin hat habe haben hatte muss darf soll kann will wird mein meine meiner meines meinen
meinem ich mir mich du dein der die das den dem des ein eine einen einem und oder im in am an
auf zu zum zur von vom bei mit für gegen über nicht kein keine keinen nutzer user noch gerade
seit bis es gesagt sagte erzählt heißt heißen named called 叫 名字 叫什 名叫 用户 我的 我是 我要
我能 我家 我不 是哪 是什 哪 哪里 哪儿 哪个 哪种 多少 几 不 能 可 以 给 到 来 做 得 会 还 上 下
最
"""
"""Words that questions and notes are full of, beside the stop words of the search."""


def is_spaced(text: str) -> bool:
    """Return whether a text is in a script that writes spaces between words."""
    return _UNSPACED.search(text) is None


def is_question(text: str) -> bool:
    """Return whether a text asks something of the people's world: it has no number to work with."""
    return _QUESTION.search(text) is not None and not any(map(str.isdigit, text))


def asks_about_oneself(text: str) -> bool:
    """Return whether a question is about the person who asks it, or theirs."""
    return _ONESELF.search(text) is not None


@lru_cache(maxsize=8)
def load_related_words(terms: Terms) -> RelatedWords:
    """Return the related words as terms; they are made once."""
    return RelatedWords(terms)


class RelatedWords:
    """The related words by their terms."""

    def __init__(self, terms: Terms) -> None:
        related: dict[str, set[str]] = defaultdict(set)
        for line in _SUBJECTS.split("\n\n"):
            subject = {term for word in line.split() for term in _longest_terms(word, terms)}
            for term in subject:
                related[term] |= subject - {term}
        self._related: Mapping[str, frozenset[str]] = {
            term: frozenset(others) for term, others in related.items()
        }
        self._weak = frozenset(
            term for word in _QUESTION_WORDS.split() for term in _longest_terms(word, terms)
        )
        self._parts = frozenset(
            term for term in self._related if term.isascii() and len(term) >= _PART_CHARACTERS
        )

    def list_related(self, term: str) -> frozenset[str]:
        """Return the terms that are about the same thing as one term."""
        found = self._related.get(term)
        if found is not None:
            return found
        parts = self.split_compound(term)
        return parts.union(*(self._related[part] for part in parts))

    def split_compound(self, term: str) -> frozenset[str]:
        """Return the known words that a term is made of, as German compounds are.

        The last part says what it is. A first part alone counts where it is long: `kilometres` are
        no `kilo`.
        """
        if len(term) < _COMPOUND_CHARACTERS or term in self._related or not term.isalpha():
            return frozenset()
        if not term.isascii():
            return frozenset()
        sizes = range(len(term) - _REST_CHARACTERS, _PART_CHARACTERS - 1, -1)
        first = next((term[:size] for size in sizes if term[:size] in self._parts), "")
        last = next((term[-size:] for size in sizes if term[-size:] in self._parts), "")
        if not last and len(first) < _FIRST_CHARACTERS:
            return frozenset()
        return frozenset(part for part in (first, last) if part)

    def is_weak(self, term: str) -> bool:
        """Return whether a term says little about what a question is about."""
        return term in self._weak


def _longest_terms(word: str, terms: Terms) -> list[str]:
    """Return the terms of a word, without single characters where there are pairs of them."""
    found = list(terms(word))
    longest = max(map(len, found), default=0)
    if word.isascii():
        return found
    return [term for term in found if len(term) == longest or len(term) > 2]
