"""Words of the life of people by their subjects, in English, German and Chinese.

Each paragraph is one subject. A German word is known in its inflected forms and its compounds as
well.
"""

from __future__ import annotations

from typing import Final

SUBJECTS: Final = """
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

name named called call names heißen heißt heisst hieß nenne genannt 名字 名叫 姓名 叫做

age old years year alter alt jahre 年龄 几岁 多大

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

city town country live lives reside stadt ort land wohnen wohnt lebt 城市 住在 国家

landlord owner rent flat apartment vermieter eigentümer gehört wohnung besitzer 房东 业主 租

rent pay monthly month apartment miete wohnung kostet mieten 房租 租金 租 房子

key keys spare lock schlüssel ersatzschlüssel zweitschlüssel 钥匙

neighbour neighbor nachbar nachbarin 邻居 隔壁

password login code pin combination passwort kennwort kombination zugang 密码 口令 暗号

wifi internet wlan network router online netz 无线 网络 上网 网密

garage door gate open tor garagentor 车库

parking park space car parken stellplatz parkplatz parkhaus parke 停车 车位 停在

car vehicle automobile registration plate drive auto wagen fahrzeug kennzeichen nummernschild
kfz pkw 汽车 车牌 牌照 车子 轿车

bike bicycle cycle fahrrad rad velo 自行车 单车

work works job employer company firm office profession occupation employed arbeit arbeite
arbeitet arbeitgeber firma beruf büro unternehmen 工作 公司 上班 单位 职业 职位 担任 做什

boss manager supervisor chief head chef chefin vorgesetzte vorgesetzter leiter 老板 领导 上司
经理 主管

colleague coworker team kollege kollegin 同事

salary earn earns wage income pay paid gehalt verdiene verdienst lohn einkommen 工资 薪水 收入
月薪

deadline due work project submit hand abgabe abgabetermin frist fällig fälligkeit projekt arbeit
截止 期限 最晚 到期 交稿 项目 工作

money save savings aside budget goal geld sparen sparziel ersparnisse zurücklegen 存款 存钱 储蓄

bank account konto 银行 账户

tax fiscal taxes steuer finanzamt steuernummer 税号 纳税

insurance policy cover insured versicherung police versichert versicherungsnummer 保险 保单 投保

number id digits nummer 号码 编号

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

hotel stay staying accommodation hostel inn unterkunft übernachte übernachten nächte gebucht
酒店 旅馆 宾馆 客栈 住哪 住宿

train railway rail station platform connection zug bahn bahnhof gleis 火车 高铁 车票 列车 动车
车厢

seat sit window aisle sitz sitzplatz platz fenster 座位 靠窗 坐

vacation holiday leave days off urlaub resturlaub freie frei urlaubstage 年假 假期 休假 放假

doctor gp physician practice surgery specialist arzt ärztin doktor hausarzt praxis 医生 大夫
看病 医院

dentist teeth tooth dental zahn zahnarzt zähne 牙医 看牙 牙齿

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

shoe shoes feet foot boots size schuh schuhe schuhgröße füße fuß 鞋 鞋码 鞋子 尺码

sport exercise run running jog gym fitness workout training train swim swimming yoga joggen
joggt laufen läuft schwimmen turnen studio 运动 锻炼 健身 跑步 游泳

school class pupil kindergarten lesson primary teacher schule unterricht klasse grundschule
lehrer lehrerin kita 学校 上学 小学 中学 幼儿 读书

university college study studied degree read graduate uni universität studium studiert
hochschule gelernt 大学 毕业 专业 学院

learn learning study studying course practise lerne lernt lernen übe üben kurs 学习 正在

language portuguese spanish english french german chinese japanese italian sprache portugiesisch
spanisch englisch französisch deutsch italienisch 外语 语言 英语 西班 法语 日语 德语

instrument music play piano guitar violin cello flute orchestra lesson musik klavier gitarre
geige spielt orchester klavierstunde 乐器 音乐 钢琴 吉他 古筝 小提 会弹 弹

book read reading novel buch lese liest roman lesen 书 看书 小说

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
费用 付钱 多少钱 花费

hobby hobbies spare interest interests freizeit interessen 爱好 兴趣

religion faith church mosque temple glaube kirche 宗教 信仰 教堂

band song singer music lied sänger 歌曲 歌手 乐队

game games play spiel spielen 游戏

size clothes shirt trousers dress kleidung hemd hose konfektion 衣服 尺码 裤子

hair haircut hairdresser barber friseur haare 头发 理发

email mail address mailadresse 邮箱 邮件

website url site link webseite internetseite 网站 网址

mother father law in-laws schwiegermutter schwiegervater schwiegereltern schwieger 婆婆 公公
岳母 岳父 丈母娘 丈人

sister brother law schwägerin schwager bruders frau brother's wife 嫂子 弟媳 弟妹 姐夫 妹夫 大嫂
哥的 弟的 老婆 我哥 我弟

grandfather grandad granddad grandpa gramps großvater opa opas 爷爷 外公 姥爷 祖父

grandmother grandma gran nan nana granny großmutter oma omi 奶奶 外婆 姥姥 祖母

grandson granddaughter grandchild grandchildren grandkids enkel enkelin enkelkind enkelkinder
孙子 孙女 外孙

uncle aunt auntie cousin cousins onkel tante vetter cousine 叔叔 舅舅 姑姑 姨妈 阿姨 伯伯 表哥
表姐 表弟 表妹 堂哥 堂弟 堂姐

godmother godfather godchild godson goddaughter taufpate patentante patenonkel patenkind taufe
干妈 干爹 干儿 教父

twins twin zwillinge zwilling 双胞 双胞胎

stepson stepdaughter stepfather stepmother stiefvater stiefmutter stiefsohn stieftochter 继父
继母 继子

girlfriend boyfriend partner freundin freund lebensgefährte partnerin 女友 男友 女朋 男朋 对象

bride groom bridesmaid stag hen bachelor bachelorette wedding junggesellenabschied
junggesellinnenabschied polterabend hochzeit trauzeuge trauzeugin braut bräutigam 单身派 婚前
伴娘 伴郎 新娘 新郎 婚礼 结婚

propose proposed proposal engaged engagement marry asked ring fiance fiancee verlobt verlobung
heiratsantrag antrag heiraten 求婚 求的婚 的婚 订婚 戒指

divorce divorced separated separation scheidung geschieden getrennt 离婚 分居

met meet know first kennengelernt kennen 认识 相识 初次

pregnant pregnancy baby due expecting schwanger schwangerschaft geburtstermin entbindung hebamme
midwife 怀孕 预产 预产期 宝宝 生孩

funeral grave cemetery death beerdigung grab friedhof verstorben 葬礼 墓地 去世 忌日 扫墓

baptism christening communion confirmation taufe kommunion konfirmation firmung 洗礼 满月

nickname pet name spitzname kosename genannt 小名 绰号 外号 昵称 乳名

surname maiden name nachname familienname mädchenname vorname geburtsname firstname 姓 姓什 娘家
全名

zodiac star sign sternzeichen 星座 属相 生肖 属什

party celebrate celebration celebrating feier feiern fest gefeiert 聚会 派对 庆祝 聚餐

invite invited guest guests visitor visitors host hosts eingeladen einladung gast gäste
gastgeber besuch 邀请 客人 请客 来宾 做客

visit visits visiting come comes stay besuch besucht kommt besuchen vorbei 来访 拜访 来看 探望
过来

specs spectacles glasses eyeglasses frames reading sunglasses brille sonnenbrille brillen 眼镜
墨镜 副眼

spare second extra another backup reserve other additional replacement ersatz zweite zweiter
zweites zweiten andere 备用 另一 第二 多余 备份

glove compartment glovebox handschuhfach 手套箱

find kept keep keeps stored storage left leave put placed located hidden hide stash stashed lie
lies stand stands sits where liegt lege legen gelegt steht stehen gestellt stellen aufbewahrt
aufbewahre versteckt versteck aufheben aufgehoben deponiert lagert lagern hingelegt hingestellt
hingetan räumen finde 放在 收在 藏在 存放 摆在 在哪 哪里 哪儿 位置

behind under inside top drawer cupboard cabinet closet wardrobe shelf bookcase box basement
cellar attic loft hinter unter schublade schrank kommode regal kiste karton keller dachboden
speicher schuppen 后面 下面 上面 里面 抽屉 柜子 衣柜 架子 盒子 箱子 地下室 阁楼 储藏

hall hallway corridor flur diele gang 走廊 过道 门厅

garden yard shed lawn mower hedge garten rasen rasenmäher hecke schuppen gartenhaus 花园 院子
草坪 割草

saving save savings piggy aside putting set spare sparen spart ansparen gespart zurücklege
zurücklegen beiseite rücklage sparschwein 攒钱 存钱 储蓄 积蓄 省钱 存款

buy bought purchase purchased shop shopping ordered order kaufen kauf kaufte gekauft besorgen
einkaufen einkauf einkaufsliste bestellt bestellen bestellung 购买 购物 采购 订购 下单 买了

want wants wish wishes wished wishlist would desire wunsch wünsche wünscht wunschliste gewünscht
想要 愿望 心愿 希望 想买

plan plans planning intend intends going planned vorhaben vorhat plant planen geplant möchte
打算 计划 准备 想要 安排

remind reminder remember forget reminded erinnern erinnerung erinnert vergessen 提醒 记得 别忘
忘记

boiler heater furnace heating service serviced maintenance technician heizung heizungswartung
therme kessel wartung heizkessel 锅炉 暖气 检修 维护 保养 热水器

maintain maintenance service serviced services inspection check looks after care repair fix
fixed wartung gewartet wartet inspektion kümmert kümmern pflegt prüfung überprüfung 检修 维护
保养 检查 年检 维修

repair repairs repaired fix fixed mend broken handyman workshop craftsman reparatur reparieren
repariert kaputt handwerker werkstatt 修理 维修 坏了 师傅 修车 报修 故障

electrician electric wiring fuse elektriker strom sicherung sicherungskasten stromausfall 电工
电路 保险丝 电闸 跳闸

builder painter carpenter locksmith cleaner cleaning lady maler tischler schreiner schlosser
schlüsseldienst putzfrau putzhilfe reinigungskraft putzt 木工 油漆工 锁匠 保洁 清洁 钟点工 家政

chimney sweep schornsteinfeger kaminkehrer 烟囱

caretaker janitor concierge property manager hausmeister hausverwaltung verwaltung 物业 管理员
门卫 保安

fennel celery mushroom mushrooms onion onions garlic olives tomato broccoli aubergine vegetable
vegetables herb veg fenchel sellerie pilze zwiebel zwiebeln knoblauch oliven gemüse rosenkohl
spinat 茴香 芹菜 蘑菇 洋葱 大蒜 香菜 蔬菜 青菜 哪种菜 菜

fish seafood shrimp prawn prawns shellfish lobster crab salmon fisch meeresfrüchte garnelen
krabben muscheln lachs 海鲜 鱼 螃蟹 贝类

nut nuts peanut peanuts almond hazelnut walnut nüsse nuss erdnuss erdnüsse haselnuss mandel
mandeln 花生 坚果 核桃 杏仁

gluten wheat coeliac celiac flour zöliakie weizen glutenfrei 麸质 小麦 面粉

allergic allergy allergies intolerant tolerate intolerance react reaction hay fever pollen
allergie allergisch verträgt vertrage vertragen unverträglich unverträglichkeit heuschnupfen
reagiere achten rücksicht gastgeber 过敏 不耐 花粉 忌口 不能吃 不能碰 注意

penicillin antibiotic antibiotics penizillin antibiotika 青霉素 抗生素 头孢

bee wasp sting insect biene wespe stich insekten 蜜蜂 黄蜂

avoid never must not cannot recipe hate dislike stand detest eat ingredient ingredients leave
out put rezept zutat zutaten weglassen nicht mag meiden verzichten 不吃 不能吃 不能放 忌口 不爱
不放 别放 讨厌 食谱 做菜

cook cooking cooks recipe dish meal kitchen kochen koche kocht rezept gericht gekocht 做菜 做饭
烹饪 菜谱 食谱 拿手 炒菜 下厨

breakfast lunch dinner supper snack brunch frühstück mittagessen abendessen abendbrot frühstücke
早餐 早饭 午餐 午饭 晚餐 晚饭 夜宵 宵夜

dessert sweet sweets cake chocolate ice cream candy pudding nachtisch süßes süßigkeiten
schokolade eis kuchen torte 甜点 甜品 蛋糕 巧克力 冰淇淋 糖果

pizza pasta noodles rice dumplings sushi curry soup nudeln reis suppe spaghetti 披萨 面条 米饭
饺子 火锅

fruit apple banana mango strawberries berries obst früchte apfel erdbeeren 水果 苹果 香蕉 草莓
芒果

spicy hot chili mild scharf schärfe würzig 吃辣 辣椒 微辣

egg eggs ei eier 鸡蛋

sugar sweetened sweetener zucker süß süßstoff 糖 加糖 放糖

coffee espresso cappuccino latte oat milk decaf kaffee milchkaffee hafermilch koffein 咖啡 拿铁
加糖

tea tee teesorte kräutertee 茶 茶叶 绿茶 红茶 喝茶

wine whisky whiskey gin beer cocktail alcohol wein rotwein weißwein schnaps bier 葡萄酒 威士忌
啤酒 白酒 红酒 喝酒

diet fasting calories keto low carb slimming diät fasten abnehmen kalorien 节食 减肥 断食 热量

give gave up quit stop stopped given no longer aufgehört abgewöhnt verzichte verzichtet
aufgegeben 戒了 不再 停止 放弃

library card borrow loan books book lend reader bücherei bibliothek büchereiausweis
bibliotheksausweis leihen ausleihen ausgeliehen 图书馆 图书 借书 借书证 书证 证号

lent lend borrowed borrow owe owes loaned verliehen geliehen ausgeliehen leihen schulde schuldet
borgen 借给 借了 欠 还钱 借走

card cards membership loyalty points karte karten kundenkarte mitgliedskarte mitgliedsnummer
bonuskarte 卡号 会员卡 会员号 积分

loan mortgage credit debt instalment installment repay kredit darlehen hypothek rate raten
schulden tilgung 贷款 房贷 车贷 还款 月供 按揭

iban account bank bic sort code konto kontonummer bankverbindung bankkonto girokonto 银行 账户
账号 银行卡 开户

credit debit card visa mastercard kreditkarte bankkarte girokarte 信用卡 银行卡 储蓄卡 额度

budget spend spending expenses allowance pocket money ausgaben haushaltsgeld taschengeld
monatlich 预算 开销 花销 零花 零花钱 支出

invest shares stocks fund pension retirement aktien fonds anlage rente altersvorsorge depot 股票
基金 投资 养老 退休 理财

bill bills invoice electricity gas power energy supplier utility rechnung strom stromanbieter
stromzähler zähler abschlag anbieter versorger 账单 电费 水费 煤气 燃气 缴费 电表 水表 户号

meter reading zähler zählerstand ablesen 读数 电表 抄表

accountant advisor adviser steuerberater steuerberaterin buchhalter 会计师

lawyer solicitor attorney notary anwalt anwältin rechtsanwalt notar 律师 公证

customer client kunde kundin kundennummer kunden 客户 客户号 顾客

contract cancel notice cancellation terminate kündigen kündigung kündigungsfrist gekündigt
vertrag 合同 解约 取消 退订 通知期

subscription subscribed streaming netflix spotify magazine newspaper abo abonnement abonniert
zeitung zeitschrift streamingdienst 订阅 会员 会员费 报纸 杂志 自动续费 续费

insurance insurer claim health liability car household versicherung krankenkasse
krankenversicherung haftpflicht hausrat versichert kasse versicherer 保险 保险公司 医保 理赔
社保 车险 投保

served serve navy army military soldier sailor job did work profession young marine matrose
soldat bundeswehr wehrdienst armee seemann beruf gedient 海员 当兵 军人 参军 部队 海军 服役 水手
当过 以前 职业 工作

profession job occupation trade career work works teacher nurse engineer did living beruf
arbeitet tätig ausbildung gelernt beruflich stelle 职业 工作 当过 干什么 干什 做什么 行业 从事

position role title promoted promotion post head leads manages lead stelle leitet leitung
beförderung befördert rolle posten chefin aufgestiegen 职位 升职 升任 升为 晋升 职务 岗位 主管
担任 提拔

team lead department division unit abteilung gruppe bereich 部门 团队 小组 科室

interview apply application hiring bewerbung vorstellungsgespräch bewerben beworben 面试 应聘
申请 求职 简历

colleague coworker desk office room kollege kollegin mitarbeiter büro zimmer 同事 办公室 工位

assistant secretary intern assistent assistentin sekretärin praktikant praktikantin azubi 助理
秘书 实习 实习生

shift hours working schedule overtime schicht arbeitszeit dienstplan überstunden feierabend
dienst 上班 下班 班次 值班 加班 夜班 早班

start started begin began since join joined first day anfang begonnen angefangen seit beginn
eingetreten 开始 入职 参加

meeting call standup weekly sync besprechung sitzung jour fixe termin 开会 会议 例会 周会 晨会

conference talk presentation speech lecture vortrag konferenz präsentation rede referat tagung
会议 演讲 报告 讲座 发言 大会

staff personnel employee number personalnummer mitarbeiternummer 工号 员工号 员工

retire retirement pension rente ruhestand pensioniert 退休 退休金

exam test driving licence license examination exams theory practical prüfung klausur
führerschein fahrprüfung führerscheinprüfung fahrschule führerscheinnummer theorieprüfung
abschlussprüfung 考试 驾照 驾驶 考驾照 驾校 测验 路考 科目 驾驶证

tyre tyres tire tires wheel wheels pressure air pump inflate psi bar reifen reifendruck luft
luftdruck rad räder pumpen winterreifen sommerreifen 轮胎 胎压 打气 气压 车轮 打多少气 多少气

fuel petrol gas diesel oil tank fill benzin tanken tankt sprit öl tankstelle 汽油 柴油 加油 机油
油箱

inspection mot tüv hauptuntersuchung service due garage werkstatt 年检 年审 验车 保养

licence license driving führerschein 驾照 驾驶证

mechanic garage workshop car mechaniker autowerkstatt kfz werkstatt 修车 汽修 修理厂 4s店

electric charge charging charger ladestation laden ladekarte wallbox aufladen 充电 充电桩 充电器

motorbike motorcycle scooter moped motorrad roller 摩托 摩托车 电动车 电瓶车

bike bicycle frame lock fahrrad schloss rahmennummer fahrradschloss rad 自行车 车锁 单车 车架

bus tram underground subway metro line ticket straßenbahn u-bahn ubahn buslinie haltestelle
linie monatskarte fahrkarte 公交 地铁 巴士 几路 公交卡

blood pressure reading measured measurement systolic surgery result results value blutdruck
messung gemessen wert werte messwert puls ergebnis 血压 量的 测的 测量 量过 读数 上次 脉搏

result results test outcome came befund ergebnis ergebnisse herausgekommen herauskam heraus 结果
检查 化验 报告

cholesterol sugar glucose hba1c blood value lab cholesterin blutzucker zuckerwert laborwerte
胆固醇 血糖 血脂 化验 指标

diabetes asthma condition illness disease diagnosis diagnosed chronic migraine krankheit
erkrankung diagnose leiden migräne 疾病 糖尿病 哮喘 偏头痛 诊断 慢性 毛病

vaccine vaccination vaccinated jab shot booster tetanus flu impfung geimpft impfen impfpass
grippe auffrischung 疫苗 接种 打针 打疫苗 破伤风 流感

operation surgery surgeon hospital operated knee hip operiert op krankenhaus klinik eingriff
手术 住院 医院 开刀

hospital clinic ward krankenhaus klinik station 医院 住院 病房 门诊

physio physiotherapy physiotherapist therapy therapist massage osteopath back physiotherapie
krankengymnastik therapeut therapeutin therapie rücken rückenschmerzen 理疗 按摩 康复 心理 治疗
背痛

eye optician optometrist ophthalmologist sight diopters prescription augenarzt optiker sehtest
dioptrien sehstärke 眼科 验光 度数 视力 近视

skin dermatologist cream haut hautarzt salbe creme 皮肤 皮肤科 药膏

vet veterinarian animal doctor tierarzt tierärztin tierarztpraxis 兽医 宠物医院

pediatrician paediatrician child doctor kinderarzt kinderärztin 儿科 小儿

gynecologist gynaecologist frauenarzt frauenärztin 妇科

pharmacy chemist prescription apotheke rezept 药店 药房 处方 处方药

tablets pills medicine dose dosage mg vitamin vitamins supplement inhaler insulin spray
ibuprofen aspirin tabletten dosis dosierung nehmen einnehmen einnahme vitamine spritze inhalator
tropfen medizin 药 剂量 吃药 服药 药片 维生素 胰岛素 几片 几粒

sleep bed asleep bedtime schlafen schlaf bett schlafenszeit einschlafen geht 睡觉 上床 就寝 入睡
失眠

pain hurt hurts injury injured knee back shoulder schmerz schmerzen weh verletzung verletzt knie
schulter 受伤 膝盖 肩膀

therapy counsellor psychologist psychologe psychologin therapie 心理 咨询

donor organ blood donate spende spender organspende blutspende 献血 捐献

period cycle periode zyklus regel 月经 例假 生理

recycling recycle bins bin bottles paper cardboard plastic waste rubbish trash garbage
collection collected altpapier papiertonne papiermüll biotonne biomüll gelbe tonne restmüll
wertstoff glas altglas sperrmüll pfand müll abholung abgeholt leerung 回收 可回收 垃圾 废品
垃圾分类 厨余 收垃圾 拿下楼 隔周

put out take rausstellen raus rausbringen hinausstellen kommt 拿下 倒掉

instrument play plays musical clarinet saxophone trumpet drums drum bass ukulele harmonica harp
trombone flute accordion klarinette bassklarinette saxophon trompete schlagzeug querflöte
blockflöte akkordeon harfe posaune musiziere kapelle 乐器 单簧管 小号 萨克斯 吉他 钢琴 二胡 琵琶
笛子 长笛 弹 乐队 演奏

choir sing singing chor singe singt gesang 合唱 唱歌 合唱团

music song songs band concert album artist musik musikrichtung lied konzert tickets karten hören
höre 音乐 演唱会 音乐会 听什么 门票

neighbour neighbours neighbor neighbors next door adjacent nachbar nachbarn nachbarin nebenan
nebenwohnung nachbars gegenüber 邻居 隔壁 楼上 楼下 对门

upstairs downstairs above below oben unten obergeschoss 楼上 楼下

dog dogs puppy barks hund hunde hündin vierbeiner 狗 狗狗 那只狗 小狗

breed race rasse sorte 品种 什么狗

food feed fed feeding brand dry wet futter füttern füttere gefüttert fressen frisst tierfutter
hundefutter katzenfutter 狗粮 猫粮 饲料 喂食

chip microchip chipnummer transponder 芯片

hamster rabbit bunny guinea pig parrot bird budgie fish aquarium turtle tortoise horse pony
kaninchen hase meerschweinchen papagei vogel wellensittich fische schildkröte pferd 兔子 仓鼠
鹦鹉 乌龟 金鱼 鱼缸

router modem internet box wifi wireless hub fritzbox internetbox wlanbox 路由器 路由 上网
网络 盒子 无线 宽带

broadband internet provider speed anbieter bandbreite breitband 宽带 运营商 网速

pin code passcode unlock alarm safe combination door entry gate locker alarmanlage tresor
schließfach türcode geheimzahl zahlenschloss entsperren spind 密码 门禁 报警 保险箱 保险柜 解锁
验证码 锁屏 储物柜

key keys car spare schlüssel autoschlüssel haustürschlüssel wohnungsschlüssel kellerschlüssel
briefkastenschlüssel 钥匙 车钥匙 家钥匙

doorbell bell buzzer ring name klingel klingelschild klingeln 门铃 门牌

mailbox letterbox post letter parcel package delivery postbox briefkasten paket päckchen
packstation lieferung geliefert zustellung 信箱 快递 包裹 邮箱 送货 快递柜 取件 取件码 邮局

paint painted painting colour color shade wall walls tone farbe farbton wandfarbe wand wände
gestrichen streichen anstrich lackiert küchenwand tapete 颜色 刷的 墙面 油漆 粉刷 色号 壁纸
乳胶漆

kitchen oven hob cooker stove fridge freezer dishwasher microwave kettle küche herd ofen
backofen kühlschrank gefrierschrank spülmaschine geschirrspüler mikrowelle wasserkocher 厨房
烤箱 冰箱 微波炉 洗碗机 水壶 电饭煲

vacuum hoover dryer iron appliance device staubsauger trockner bügeleisen gerät geräte
saugroboter 吸尘器 烘干机 熨斗 家电 电器 扫地机

living room sofa couch armchair wohnzimmer sessel 客厅 沙发

bedroom bed mattress pillow duvet schlafzimmer bett matratze kissen bettdecke 卧室 床垫 枕头
被子

bathroom shower toilet tub tap bad badezimmer dusche klo wanne wasserhahn 浴室 卫生间 厕所 淋浴
马桶

window windows curtain curtains blinds fenster vorhang vorhänge gardinen rollo 窗户 窗帘

lamp light bulb lights lampe licht glühbirne leuchtmittel 灯泡 灯光

drill tool tools hammer ladder toolbox bohrmaschine werkzeug leiter werkzeugkasten akkuschrauber
电钻 工具 锤子 梯子 工具箱

tent camping sleeping bag stove zelt campen schlafsack isomatte 帐篷 露营 睡袋

suitcase luggage baggage bag backpack rucksack koffer gepäck handgepäck tasche 行李 箱子 行李箱
背包

umbrella scarf gloves hat regenschirm schirm schal handschuhe mütze 雨伞 围巾 手套 帽子

wallet purse portemonnaie geldbeutel brieftasche geldbörse 钱包

torch flashlight batteries battery taschenlampe batterie batterien 手电 电池

documents certificate papers birth folder file zeugnis urkunde unterlagen dokumente ordner akte
geburtsurkunde 文件 证书 证明 材料 资料 户口本 出生证 合同

water main stopcock valve shutoff haupthahn absperrhahn wasser wasseruhr 水闸 总闸 阀门

square metres area size floor storey large quadratmeter wohnfläche fläche etage stock stockwerk
groß 面积 平米 平方 楼层 几楼

size sizes measurement dress shirt trousers jacket waist collar jeans coat größe größen
konfektionsgröße kleidergröße hosengröße kragenweite jacke mantel weite 尺码 尺寸 衣服 裤子 衬衫
外套 腰围 大衣 穿多大 多大号 几号 码数

ring finger size ringgröße 戒指 指围

hat head helmet size hutgröße kopfumfang helm 帽子 头围 头盔

bra underwear socks unterwäsche socken bh 内衣 袜子 内裤

perfume scent parfüm duft 香水 味道

watch jewellery jewelry necklace earrings uhr armbanduhr schmuck kette ohrringe 手表 首饰 项链
耳环

tattoo piercing tätowierung 纹身

eye colour augenfarbe haarfarbe 瞳色 发色

plant planted planting bulbs bulb seeds sow sown tulip tulips rose roses ground soil pflanzen
gepflanzt zwiebeln tulpe tulpen tulpenzwiebeln setzen säen samen beet einpflanzen rosen
blumenzwiebeln 种 种下 种植 郁金香 玫瑰 播种 种子

water watering waters gießen gieße gegossen wasser 浇水 浇花

tree trees cut prune fertilize baum bäume schneiden düngen dünger beschneiden 修剪 施肥

orchid cactus houseplant fern orchidee kaktus zimmerpflanze 兰花 仙人掌 绿植 多肉 盆栽

vegetable tomatoes cucumbers potatoes tomaten gurken kartoffeln 番茄 西红柿 黄瓜 土豆

flight fly flies airline airport gate departure depart takeoff boarding lands landing flug flüge
fluglinie fluggesellschaft flughafen abflug flugnummer fliegt fliege ankunft maschine 航班 飞机
起飞 航空 机场 登机 航班号 降落 航空公司 机票

frequent flyer miles loyalty vielflieger meilen bonus 常旅客 里程

train ticket coach carriage departs leaves zugfahrt fahrkarte abfahrt bahn wagen bahnfahrt 火车
高铁 动车 车厢 车次 发车 车票

reservation reserved confirmation reference buchung buchungsnummer reservierung reserviert
gebucht buchungscode 预订 订单 预定 订单号 确认号 订了

hotel hostel guesthouse airbnb lodging room stay pension ferienwohnung hotelzimmer unterkunft
übernachtung unterkommen 酒店 宾馆 民宿 住宿 房间 旅馆 住

holiday vacation trip destination going beach honeymoon urlaub reiseziel urlaubsziel ferien
flitterwochen strand hinfahren verreisen reise 度假 旅行 旅游 目的地 蜜月 假期 去哪

ferry cruise ship boat canoe kayak sailing fähre kreuzfahrt schiff boot kanu kajak segeln 渡轮
邮轮 游轮 皮划艇 帆船

visa vaccination entry border visum einreise 签证 入境

rental hire rent car mietwagen leihwagen autovermietung 租车 出租

weekend wochenende 周末

easter christmas new year eve halloween thanksgiving ostern weihnachten silvester neujahr
pfingsten 圣诞 新年 春节 过年 中秋 国庆 除夕 端午

morning afternoon evening night noon morgens nachmittags abends nachts mittags 早上 上午 下午
晚上 中午 夜里

hiking hike walk mountain climbing climb wandern wanderung bergsteigen klettern berg 爬山 登山
徒步 攀岩 远足

tennis badminton table ping pong squash basketball volleyball handball golf tischtennis 网球
羽毛球 乒乓球 篮球 排球 高尔夫 打球

ski skiing snowboard skating skifahren schlittschuh eislaufen 滑雪 滑冰 溜冰

swim swimming pool schwimmen schwimmbad schwimme freibad hallenbad 游泳 泳池

cycling marathon race triathlon half time personal best wettkampf lauf bestzeit rennen 马拉松
比赛 半马 成绩

dance dancing ballet salsa tanzen tanzkurs ballett tanzt 跳舞 舞蹈 芭蕾 广场舞

chess board cards bridge poker puzzle schach brettspiel karten skat 象棋 围棋 下棋 打牌 麻将
扑克 桌游

knit knitting sewing crochet pottery craft stricken strickt nähen häkeln töpfern basteln 编织
织毛衣 缝纫 手工 陶艺

paint painting draw drawing watercolour malen zeichnen malt aquarell malerei 画画 绘画 水彩 素描
书法

photo photography camera lens foto fotografie fotografieren kamera objektiv 摄影 拍照 相机 镜头

collect collects collecting collection stamps coins sammeln sammelt sammlung briefmarken münzen
收藏 收集 集邮 邮票

fishing hunting angeln angelt jagd 钓鱼 打猎

volunteer volunteering charity donate donation ehrenamt ehrenamtlich spenden spendet verein
freiwillig 志愿 义工 捐款 慈善

club association verein mitglied clubs 俱乐部 社团 协会

gym trainer coach fitnessstudio trainerin 健身房 教练 私教

hobby pastime free time weekend freizeit zeitvertreib 爱好 业余 空闲 消遣

film movie series show tv watch watching actor director serie fernsehserie sehe schaue schauen
schauspieler regisseur sendung 电影 电视剧 追剧 演员 导演 片子 节目 综艺

book author writer novel poem reading buch autor autorin schriftsteller lesen roman 书 作者 作家
小说 看书

game console playstation xbox switch videospiel konsole 游戏 游戏机 手游

podcast radio podcasts hören radiosender 播客 电台 广播

comic manga anime cartoon 漫画 动漫 动画

museum theatre theater opera exhibition ausstellung oper theaterstück 博物馆 剧院 歌剧 展览 话剧

gift present presents gave surprise birthday christmas geschenk geschenke geschenkidee schenken
geschenkt überraschung 礼物 送 送给 礼品 惊喜 送什么

recommended recommend suggestion tip empfohlen empfehlung empfehlen tipp 推荐 建议 介绍

phone mobile smartphone iphone android model handy handymodell 手机 机型 型号 苹果 华为

laptop computer screen monitor keyboard mouse tablet rechner bildschirm tastatur maus 电脑 屏幕
显示器 键盘 鼠标 平板

serial licence software version seriennummer lizenz lizenzschlüssel softwareversion 序列号 软件
版本 激活码 授权

user username account login anmeldename benutzername benutzer konto 用户名 账号 登录 账户 帐号

backup cloud drive disk nas sicherung festplatte datensicherung 备份 硬盘 云盘 网盘

tv television set fernseher 电视

sim puk mobile prepaid 手机卡 卡号

camera kamera fotoapparat 相机 摄像头

school teacher class headteacher form grade lehrerin lehrer klassenlehrer klassenlehrerin klasse
schulklasse rektor direktor 老师 班主任 班级 年级 学校 校长 几班

kindergarten nursery daycare crèche preschool childminder erzieherin erzieher kita tagesmutter
krippe kindergartengruppe 幼儿园 托儿所 保育 幼教

babysitter nanny au pair kindermädchen betreuung 保姆 带孩子 月嫂 看孩子

elternabend elternsprechtag 家长会 家长

homework grade grades report hausaufgaben note noten zeugnis 作业 成绩 分数 成绩单

graduate graduation degree thesis diploma abschluss abitur bachelor master doktorarbeit diplom
studienabschluss 毕业 学位 论文 文凭 学历 硕士 博士 本科

student matriculation matrikelnummer studentenausweis 学号 学生证 学生

language speak speaks fluent mother tongue spreche spricht sprachen muttersprache fließend 语言
会说 母语 方言 口语

religion believe faith catholic protestant muslim jewish buddhist christian pray konfession
glaube katholisch evangelisch muslimisch jüdisch gläubig gottesdienst 宗教 信仰 信教 佛教 基督教
伊斯兰 天主教

fast ramadan lent kosher halal fastenzeit koscher 斋月 清真 斋戒

home town hometown grew born from heimat heimatstadt heimatort aufgewachsen herkunft stamme
komme gebürtig 家乡 老家 故乡 长大 出生 哪里人 籍贯

moved move moving relocate umzug umziehen umgezogen ziehe einzug 搬家 搬到 入住

nationality citizen citizenship staatsangehörigkeit nationalität staatsbürgerschaft 国籍 公民
户籍 户口

street house number postcode zip postal hausnummer postleitzahl plz 邮编 门牌 门牌号 街道

floor apartment wohnung etage 楼层 单元 房号

deadline due submit hand in latest by abgabe spätestens frist stichtag einreichen abgeben 截止
最晚 最迟 期限 提交 到期 之前

appointment haircut hairdresser barber friseur friseurtermin frisörtermin 理发 剪头发 理发师
发型

meet meeting lunch coffee date verabredet treffe treffen 见面 约了 碰头 碰面

project working progress projekt vorhaben 项目 进展 课题

goal resolution target ziel vorsatz vorsätze 目标 决心 新年

dream dreams traum träume lebenstraum 梦想 理想

opinion think thinks believe meinung finde 觉得 认为 看法

afraid fear spiders heights dark scared angst spinnen höhenangst dunkelheit 害怕 蜘蛛 恐高 怕黑
怕什

secret surprise geheim geheimnis 秘密

quote motto saying spruch lebensmotto 座右铭 格言

lucky number glückszahl 幸运 幸运数

season favourite jahreszeit lieblingsjahreszeit 季节

animal favourite lieblingstier 动物

left right handed linkshänder rechtshänder 左撇子 右撇子

style decor furniture möbel einrichtung 家具 装修 风格

solar panels roof dach solaranlage photovoltaik 太阳能 屋顶

alarm smoke detector rauchmelder 烟雾 报警器

cleaning clean putzen sauber putztag 打扫 清洁 卫生

laundry wash dry cleaning wäsche reinigung wäscherei 洗衣 干洗 洗衣店

market supermarket bakery butcher shop markt supermarkt bäcker bäckerei metzger 超市 菜市场
面包店 商店 市场

wine cellar keller weinkeller 酒窖

ticket tickets concert match season eintrittskarte eintrittskarten dauerkarte karten 门票 球票
入场券

voucher coupon gift card gutschein gutscheincode rabatt 优惠券 代金券 购物卡

fine penalty parking ticket speeding strafe bußgeld knöllchen strafzettel 罚款 罚单 违章

police report stolen theft polizei diebstahl gestohlen anzeige 警察 报警 被偷

lost lose verloren verlor 丢了 弄丢

found finder gefunden 找到

landlord deposit kaution 押金 定金 保证金

share shared roommate flatmate housemate mitbewohner mitbewohnerin wg 室友 合租 同屋

pool sauna wellness therme 泳池 桑拿 温泉

coffee machine beans grinder kaffeemaschine bohnen kaffeebohnen mühle 咖啡机 咖啡豆

filter replace replaced change changed wechseln gewechselt ausgetauscht tauschen 更换 滤芯 换过
滤网

bulb socket type fassung 灯泡

allergic cat hair dust mites tierhaare staub hausstaub milben 尘螨 猫毛 灰尘

pillow sleep side schlafseite 枕头

tent pitch campsite campingplatz 露营 营地

uniform dress code kleiderordnung dresscode 着装 制服 校服

nurse krankenschwester pfleger 护士

midwife hebamme 助产

emergency hotline number notruf 急救 紧急电话

will testament inheritance erbe 遗嘱 遗产

trust deed notary grundbuch 房产 房产证 产权

pays paid owes rent halves split bezahlt geteilt 付款 分摊 平摊

tip currency exchange trinkgeld währung 小费 汇率 货币

time zone zeitzone 时区

sun cream sonnencreme 防晒

beard shave rasieren bart 胡子 剃须

contact lens contactlenses kontaktlinsen linsen 隐形眼镜 隐形

hearing aid ears hörgerät ohr ohren hno 助听器 耳朵 听力

braces retainer zahnspange 牙套 矫正

crown filling implant zahnfüllung krone 补牙 种牙

walking stick wheelchair rollstuhl gehhilfe 轮椅 拐杖

stroller pram car seat kinderwagen kindersitz 婴儿车 推车 安全座椅

nappy nappies diaper windel windeln 尿布 尿不湿 纸尿裤

toy teddy stuffed spielzeug kuscheltier 玩具 娃娃

lunchbox allergies snack pausenbrot 便当 午餐盒

club team plays position mannschaft 球队 位置

race number startnummer 号码布

band rehearsal practice probe proben 排练 练习

course lesson class evening kurs unterricht volkshochschule sprachkurs 课程 培训 上课

fortbildung weiterbildung schulung seminar workshop 培训 进修 研修

wine glass glasses gläser 杯子

zahnspange spange kieferorthopäde orthodontist braces 牙套

electricity power elektrizität strom stromanbieter energie 电力 供电

church pray service mass sunday kirche gottesdienst 教堂 礼拜

borrow owe owes owed lent repay pay back debt zurückgeben zurückzahlen schulde schuldet schulden
借钱 借了 欠 欠钱 还钱 还给

twins boys girls brothers zwillinge jungs jungen mädchen 双胞胎 男孩 女孩

treat treats treated behandelt behandlung 治 治疗 看病

animal animals vet tier tiere tierarzt tierärztin katze hund 宠物 动物 兽医 猫 狗

marathon race competition wettkampf lauf 比赛 马拉松 参赛

id documents passport visa papers 证件 护照 身份证

return home back flight rückflug heimflug heim zurück rückfahrt heimfahrt heimreise 回来 返程
回程 回家 返回

wish wishes wishlist want christmas wunsch wunschzettel wünscht 愿望 想要 礼物 圣诞
"""
