"""Words by which facts name what they say of somebody, in English, German and Chinese.

Each paragraph has the words for one thing, and the first of them stands for all. `ONE` has what
somebody has one of at a time: a new value ends the old one. `MANY` has what one may have several
of. `OTHER` has words for the same person or thing that say neither.
"""

from __future__ import annotations

from typing import Final

ONE: Final = """
name, is called, called, named, is named, goes by, heißt, heiße, heisst, wird genannt, 名字, 名叫,
叫做, 姓名, 叫, 名

first name, given name, vorname

surname, last name, family name, nachname, familienname, 姓氏, 姓

nickname, spitzname, 昵称, 小名, 外号

birthday, bday, birth date, birthdate, date of birth, born on, born, geburtstag, geburtsdatum,
geboren am, geboren, 生日, 出生日期

birthplace, place of birth, born in, geburtsort, geboren in, 出生地, 出生在

age, years old, old, alter, jahre alt, alt, 年龄, 岁数

live, lives in, lives at, live in, live at, living in, lives, resides in, residence,
place of residence, wohnt in, wohne in, wohnt, wohne, lebt in, lebe in, lebt, wohnort,
wohnhaft in, 住在, 居住在, 居住地, 住

address, home address, postal address, adresse, anschrift, 地址, 住址

work at, works at, works for, work for, working at, employed at, employed by, employer, workplace,
company, arbeitet bei, arbeite bei, arbeitet für, arbeitgeber, firma, 工作单位, 公司, 单位,
就职于, 任职于, 在职于, 上班

job, works as, job title, profession, occupation, arbeitet als, arbeite als, beruf, 职业, 职位

boss, manager, supervisor, chef, chefin, vorgesetzter, vorgesetzte, 老板, 上司, 领导

phone number, phone, telephone, telephone number, telefonnummer, telefon, 电话号码, 电话

mobile, mobile number, mobile phone number, mobile phone, cell, cell number, cell phone number,
handynummer, handynr, mobilnummer, 手机号码, 手机号

email, email address, e mail, e mail address, e mail adresse, mailadresse, 邮箱地址, 电子邮箱,
邮箱

password, passcode, passwort, kennwort, 密码, 口令

school, attends, goes to school at, schule, geht auf die schule, 学校, 就读于

class, grade, klasse, schulklasse, 年级, 班级

wife, ehefrau, frau, 妻子, 老婆, 太太

husband, ehemann, mann, 丈夫, 老公

partner, spouse, married to, is married to, partnerin, verheiratet mit, 配偶, 爱人

mother, mom, mum, mama, mutter, 妈妈, 母亲, 妈

father, dad, papa, vater, 爸爸, 父亲, 爸

doctor, gp, physician, arzt, ärztin, hausarzt, hausärztin, 家庭医生, 医生, 大夫

dentist, zahnarzt, zahnärztin, 牙医

vet, veterinarian, tierarzt, tierärztin, 兽医

anniversary, wedding anniversary, wedding day, hochzeitstag, 结婚纪念日

height, tall, größe, groß, körpergröße, 身高

weight, weighs, gewicht, wiegt, wiege, 体重

place, location, located in, located at, is located in, is located at, is in, is kept in, kept in,
kept at, is kept under, kept under, is under, stored in, is stored in, lies in, lies on,
lies under, steht in, steht im, liegt in, liegt im, liegt auf, liegt unter, liegt bei, steht auf,
befindet sich in, ist in, ist im, ort, standort, 位置, 地点, 放在, 在

room, meeting room, raum, zimmer, 房间, 会议室

day, weekday, takes place on, tag, wochentag, findet statt am, 星期

time, starts at, uhrzeit, beginnt um, 时间

date, datum, 日期

deadline, due, due date, is due on, frist, abgabetermin, fällig am, 截止日期, 截止

car, drives, drive, auto, wagen, fährt, fahre, 汽车, 座驾, 车, 开

time zone, timezone, zeitzone, 时区

status, marital status, familienstand, 婚姻状况

native language, mother tongue, muttersprache, 母语
"""

MANY: Final = """
like, likes, enjoys, enjoy, loves, love, is fond of, fond of, is interested in, interested in,
mag, mögen, liebt, liebe, mag gern, interessiert sich für, 喜欢, 喜爱, 热爱, 感兴趣, 爱

dislike, dislikes, hates, hate, does not like, doesn't like, mag nicht, mag kein, mag keine,
hasst, hasse, 不喜欢, 讨厌

hobby, interest, 爱好, 兴趣

speak, speaks, speaks language, language, spricht, spreche, sprache, 会说, 会讲, 语言, 说, 讲

know, knows, can, is able to, kennt, kann, 认识, 知道, 会, 能

has, have, owns, own, possesses, hat, habe, besitzt, 拥有, 有

play, plays, spielt, spiele, 玩, 打, 踢, 弹

eat, eats, isst, esse, frisst, 吃

drink, drinks, trinkt, trinke, 喝

allergy, is allergic to, allergic to, allergic, allergisch gegen, ist allergisch gegen, allergie,
过敏

visited, has visited, been to, has been to, went to, travelled to, besucht, war in, 去过, 到过,
来过

wants, want, wants to, wish, plans, plan, plans to, goal, needs, need, needs to, möchte, will,
plant, braucht, ziel, wunsch, 想要, 需要, 打算, 计划, 目标, 想

bought, kauft, kaufte, 买了, 买过

read, liest, las, 读过, 看过

met, saw, wrote, made, found, won, lost, tried, uses, use, nutzt, benutzt, verwendet, lernt,
sammelt, trägt, hört, schaut, kocht, 用过, 学过, 见过

sister, schwester, 姐姐, 妹妹, 姐妹

brother, bruder, 哥哥, 弟弟, 兄弟

sibling, geschwister

son, sohn, 儿子

daughter, tochter, 女儿

child, kid, kind, kinder, children, 孩子, 小孩

cousin, cousine, 表哥, 表姐, 堂哥

aunt, tante, 阿姨, 姑姑

uncle, onkel, 叔叔, 舅舅

friend, freund, freundin, 朋友

colleague, coworker, kollege, kollegin, 同事

neighbour, neighbor, nachbar, nachbarin, 邻居

pet, haustier, 宠物

dog, hund, 狗

cat, katze, 猫

skill, fähigkeit, 技能

medicine, medication, medikament, 药

symptom, illness, krankheit, 症状

project, projekt, 项目

is, are, am, is a, is an, ist, ist ein, ist eine, bin, 是
"""

OTHER: Final = """
favourite, favorite, fav, fave, favourites, preferred, likes most, likes best, lieblings, liebste,
liebster, liebstes, bevorzugt, 最喜欢, 最爱

colour, color, farbe, 颜色

food, dish, meal, essen, gericht, 食物, 菜

drink of choice, beverage, getränk, 饮料

wifi, wi fi, wlan, wireless, 无线网, 无线

key, schlüssel, 钥匙

meeting, besprechung, treffen, 会议

grandmother, grandma, oma, großmutter, 奶奶, 外婆

grandfather, grandpa, opa, großvater, 爷爷, 外公

laptop, notebook, 笔记本电脑

computer, rechner, 电脑

office, büro, 办公室
"""

SPEAKING: Final = frozenset(
    """
the a an of my mine our ours i me myself we us user users person speaker human der die das des dem
den von mein meine meiner meinem meinen unser unsere ich mir mich wir uns nutzer nutzers benutzer
benutzers sprecher
""".split()
)
"""A subject of these words alone is the person who speaks."""

OWN: Final = SPEAKING | frozenset(
    """
his her their its ein eine einer eines sein seine ihr ihre new current currently now neu neue neuer
neues aktuell aktuelle aktueller jetzt has have hat habe is are am ist bin sind to in at for with
and und
""".split()
)
"""Words that say nothing of what is meant: whose it is, that it holds now, and grammar."""

OWN_UNSPACED: Final = tuple("我们的 用户的 我的 本人 用户 我们 我 现在 目前 新的 新".split())
"""The same in Chinese."""

SPEAKERS: Final = tuple("user,the user,the person,i,me,nutzer,der nutzer,ich,用户,我".split(","))
"""The subjects by which the person is meant who speaks."""

PREPOSITIONS: Final = frozenset(
    """
in at to of on for with about from by into after against als an auf aus bei für gegen mit nach um
von vor zu über
""".split()
)
"""A predicate that ends so is a verb or an adjective, and no attribute."""
