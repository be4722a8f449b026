"""Sixty phrases as a stranger may write them, with the times that they mean.

They were written before the grammar, which was not made to fit them. Each is read on Wednesday,
2026-11-25 at 14:20, the English ones in Europe/Berlin and the Chinese ones in Asia/Shanghai.

A phrase stands with its first times, parted by commas, `~` between the bounds of a time that is not
told exactly, and `...` after the third of more. `?` stands for one question back. The last column is
the text that remains.
"""

# fmt: off
ENGLISH = [
    ("ping me in 45 mins about the laundry", "11-25 15:05", "the laundry"),
    ("wake me up tomorrow at 6:30am", "11-26 06:30", "wake me up"),
    ("Submit the tax form next Tuesday at 10", "12-01 10:00", "Submit the tax form"),
    (
        "every morning at 7:15 take vitamins",
        "11-26 07:15, 11-27 07:15, 11-28 07:15 ...",
        "take vitamins",
    ),
    (
        "remind me to water the plants every three days at 6pm",
        "11-25 18:00, 11-28 18:00, 12-01 18:00 ...",
        "water the plants",
    ),
    ("dentist on January 8th at quarter past ten", "2027-01-08 10:15", "dentist"),
    ("in half an hour check the oven", "11-25 14:50", "check the oven"),
    ("check the oven in 1h30", "11-25 15:50", "check the oven"),
    ("mondays and thursdays at 19:00 gym", "11-26 19:00, 11-30 19:00, 12-03 19:00 ...", "gym"),
    (
        "pay rent on the last day of every month at noon",
        "11-30 12:00, 12-31 12:00, 2027-01-31 12:00 ...",
        "pay rent",
    ),
    ("this evening take out the trash", "11-25 18:00~11-25 21:00", "take out the trash"),
    ("the day after tomorrow at 4 p.m. call the plumber", "11-27 16:00", "call the plumber"),
    (
        "every hour between 9 and 17 on weekdays stretch",
        "11-25 15:00, 11-25 16:00, 11-25 17:00 ...",
        "stretch",
    ),
    ("three weeks from now book flights", "12-16 14:20", "book flights"),
    ("Dec 1st, 9:00 team offsite", "12-01 09:00", "team offsite"),
    ("call mum on sunday afternoon", "11-29 12:00~11-29 17:00", "call mum"),
    ("twice a day drink water", "?", ""),
    ("remind me yesterday to buy milk", "?", ""),
    (
        "every year on 14 february at 8am flowers",
        "2027-02-14 08:00, 2028-02-14 08:00, 2029-02-14 08:00 ...",
        "flowers",
    ),
    (
        "first monday of the month at 10:30 team review",
        "12-07 10:30, 2027-01-04 10:30, 2027-02-01 10:30 ...",
        "team review",
    ),
    ("at 23:45 today turn off the heater", "11-25 23:45", "turn off the heater"),
    (
        "every 90 minutes until 8pm stand up",
        "11-25 15:50, 11-25 17:20, 11-25 18:50 ...",
        "stand up",
    ),
    ("remind me in 10 to flip the steak", "?", ""),
    ("12/24/2026 6pm wrap presents", "12-24 18:00", "wrap presents"),
    ("03/04/2027 at noon call the bank", "?", ""),
    (
        "on weekends at 10am call grandma",
        "11-28 10:00, 11-29 10:00, 12-05 10:00 ...",
        "call grandma",
    ),
    ("noon tomorrow lunch with Sam", "11-26 12:00", "lunch with Sam"),
    ("Every second Wednesday at 16:00 retro", "11-25 16:00, 12-09 16:00, 12-23 16:00 ...", "retro"),
    ("in 2 days at 08:00 renew passport", "11-27 08:00", "renew passport"),
    (
        "quarterly on the 1st at 9am file VAT",
        "2027-01-01 09:00, 2027-04-01 09:00, 2027-07-01 09:00 ...",
        "file VAT",
    ),
]
CHINESE = [
    ("十分钟后提醒我关火", "11-25 14:30", "关火"),
    ("半小时后叫我", "11-25 14:50", "叫我"),
    ("后天下午两点一刻开会", "11-27 14:15", "开会"),
    ("下周三上午十点半交周报", "12-02 10:30", "交周报"),
    ("每天早上七点提醒我吃药", "11-26 07:00, 11-27 07:00, 11-28 07:00 ...", "吃药"),
    ("每周二和周四晚上七点健身", "11-26 19:00, 12-01 19:00, 12-03 19:00 ...", "健身"),
    (
        "每个月15号中午十二点还信用卡",
        "12-15 12:00, 2027-01-15 12:00, 2027-02-15 12:00 ...",
        "还信用卡",
    ),
    ("12月31号晚上11点50倒数", "12-31 23:50", "倒数"),
    ("每个周末上午十点给奶奶打电话", "11-28 10:00, 11-29 10:00, 12-05 10:00 ...", "给奶奶打电话"),
    ("提醒我明晚八点看球赛", "11-26 20:00", "看球赛"),
    ("两个小时后提醒我收衣服", "11-25 16:20", "收衣服"),
    ("每隔两小时喝水", "11-25 16:20, 11-25 18:20, 11-25 20:20 ...", "喝水"),
    ("工作日下午五点半打卡下班", "11-25 17:30, 11-26 17:30, 11-27 17:30 ...", "打卡下班"),
    ("大后天中午和小王吃饭", "11-28 12:00", "和小王吃饭"),
    ("明年三月八号早上九点送花", "2027-03-08 09:00", "送花"),
    (
        "每年10月1日零点祝我生日快乐",
        "2027-10-01 00:00, 2028-10-01 00:00, 2029-10-01 00:00 ...",
        "祝我生日快乐",
    ),
    ("今天夜里十一点半关空调", "11-25 23:30", "关空调"),
    ("三天后上午9:00取快递", "11-28 09:00", "取快递"),
    ("昨天下午三点提醒我开会", "?", ""),
    ("这周日晚上九点倒垃圾", "11-29 21:00", "倒垃圾"),
    ("每两天晚上八点浇花", "11-25 20:00, 11-27 20:00, 11-29 20:00 ...", "浇花"),
    ("每月最后一天下午六点交房租", "11-30 18:00, 12-31 18:00, 2027-01-31 18:00 ...", "交房租"),
    ("凌晨两点半起床看流星雨", "11-26 02:30", "起床看流星雨"),
    ("下个月五号上午十点体检", "12-05 10:00", "体检"),
    ("一刻钟后出门", "11-25 14:35", "出门"),
    (
        "每三十分钟提醒我站起来走走，到下午六点为止",
        "11-25 14:50, 11-25 15:20, 11-25 15:50 ...",
        "站起来走走",
    ),
    ("2027年2月6日晚上七点半吃年夜饭", "2027-02-06 19:30", "吃年夜饭"),
    ("过四十五分钟提醒我接孩子", "11-25 15:05", "接孩子"),
    ("每天早上八点半和晚上九点半量血压", "11-25 21:30, 11-26 08:30, 11-26 21:30 ...", "量血压"),
    ("二月三十号提醒我", "?", ""),
]
