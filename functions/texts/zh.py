"""The texts in Chinese."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import ClassVar

from functions.texts.en import Texts


class Chinese(Texts):
    """See `Texts`."""

    code = "zh"
    name = "中文"
    script = (("\u3400", "\u4dbf"), ("\u4e00", "\u9fff"))
    foreign_script = (("\u3040", "\u30ff"), ("\uac00", "\ud7af"))
    words: ClassVar[frozenset[str]] = frozenset()
    greetings: ClassVar[frozenset[str]] = frozenset()

    hello = (
        "你好，我是 {name}。想做什么，直接说就行："
        "我会找到合适的工具，没有就做一个，也会记住你告诉我的事。"
    )
    hello_without_making = (
        "你好，我是 {name}。想做什么，直接说就行：我会找到合适的工具，也会记住你告诉我的事。"
    )
    try_examples = "可以试试："
    examples: ClassVar[Mapping[str, str]] = {
        "unit-convert": "把 10 公里换算成英里",
        "date-math": "2027年1月1日到2027年12月25日有多少天",
        "encode": "帮我把 hello world 编码成 base64",
    }
    more_help = "发送 /help 看看还能做什么。"
    help_head = "直接写你的需要就行。这些命令也有用："
    help_owner_head = "你是我的主人，还可以用："
    help_group = "在群里请 @我 或回复我的消息，我才知道你在和我说话。"
    help_hints: ClassVar[Mapping[str, str]] = {
        "slack": "在 Slack 里请用 `!` 代替 `/`，例如 `!status`，或者写 `/uncaged status`。",
        "matrix": "在 Matrix 上请用 `!` 代替 `/`，例如 `!status`。",
    }
    help_offline = (
        "目前还没有接上语言模型，我只能听懂简单的请求。我的主人可以用 `uncaged setup model`"
        "（或 `UNCAGED_LLM_URL`）接上一个。"
    )
    help_no_deploy = "我只用已有的工具，在这里不做新的。"
    meanings: ClassVar[Mapping[str, str]] = {
        "start": "打个招呼，给几个例子",
        "help": "看看可以发什么",
        "new": "开始新的对话；我记住的事还在",
        "language": "查看或设置我自己消息的语言",
        "timezone": "查看或设置这个聊天的时区",
        "remind": "到时间提醒你，例如 明天上午九点给鲍勃打电话",
        "snooze": "过一会儿再说一次最近的提醒，例如10分钟后",
        "done": "结束最近的提醒，不再说",
        "tasks": "查看任务看板；添加、完成、分配或重新打开任务",
        "wakeups": "看看我在这里会自己做什么、什么时候做；可以暂停、继续或删除",
        "quiet": "看看或设置我在这里不主动说话的时段",
        "heartbeat": "看看或设置我多久自己查看一次有没有新情况",
        "files": "列出我在这里保存的文件；加上路径显示其中一个，或显示它改了什么",
        "hooks": "看看哪些程序可以给我送东西；可以删除",
        "tools": "看看我手边有哪些工具",
        "listen": "看看我在群里是否旁听；主人可以开关",
        "status": "看看我的状态，正在做什么",
        "usage": "看看这里用了多少 token，还剩多少",
        "spent": "看看最近几天用了多少 token、花了多少钱",
        "context": "看看上下文窗口里都有什么",
        "compact": "腾出空间：把较早的消息归档",
        "history": "看看这次对话最近的消息",
        "export": "把这次对话导出成一个文件",
        "model": "看看这里由哪个模型回答，或换成同一端点的另一个",
        "btw": "顺便问一句，不留痕迹",
        "whoami": "看看你是谁，今天还能用多少",
        "link": "让你和我的几个私聊共用一份记忆",
        "web": "发一个登录码，用来在浏览器里打开我的页面",
        "unlink": "让这个聊天重新有自己的记忆",
        "pair": "看看谁可以和我说话，让人进来或请人离开",
        "soul": "看看我的灵魂；主人写一句话就能改",
        "policy": "查看和修改我可以做什么",
        "skills": "显示我的技能，也就是做某类事情的规则；可以固定或删除",
        "proposals": "显示等你批准的事，撤回已生效的改动",
        "approve": "同意一个提案，或队友的计划",
        "deny": "拒绝一个提案或计划，可以写明原因",
        "mem": "把这里说过的记下来，你附上的话也一起记",
        "recall": "看看我在这里记住了什么；加上关键词就搜索",
        "kb": "在知识库里查一个问题的答案",
        "forget": "忘掉一件事，用 /recall 里的编号",
        "stop": "停下我正在做的事",
        "halt": "让我在所有聊天里停下，或只在这里",
        "agents": "列出下属的智能体，或停止、启用、停用、归档一个",
        "agent": "显示这个聊天由哪个智能体回答，或换一个来回答",
        "team": "显示团队及其进展，给队友带话，或结束工作",
        "inbox": "显示队友写给这个聊天的邮件",
        "unlock": "停下之后，让我继续",
    }
    arguments: ClassVar[Mapping[str, str]] = {
        "start": "[任意词]",
        "language": "[语言 | auto]",
        "timezone": "[城市 | auto]",
        "tasks": "[N | all | add 内容 | done N | drop N | assign N 名字 | reopen N]",
        "wakeups": "[pause | resume | now | drop N]",
        "hooks": "[drop NAME]",
        "status": "[all]",
        "files": "[路径 | diff 路径 | history 路径]",
        "remind": "时间 内容",
        "snooze": "[N] [时间]",
        "done": "[N]",
        "spent": "[N]",
        "quiet": "[22:00-07:00 | off]",
        "heartbeat": "[30m | off]",
        "listen": "[on | off]",
        "history": "[N]",
        "model": "[名称 | auto | reset]",
        "btw": "问题",
        "link": "[码]",
        "pair": "[码 [me] | 编号 member | remove 编号]",
        "soul": "[一句话 | history | rollback N]",
        "policy": "[规则 | drop N | preset 名称 | history | rollback N]",
        "skills": "[NAME | pin NAME | unpin NAME | remove NAME | rollback NAME N]",
        "proposals": "[ID | rollback ID]",
        "approve": "ID [说明]",
        "deny": "ID [说明]",
        "mem": "[要记的话 | history | rollback N]",
        "recall": "[关键词]",
        "kb": "问题",
        "forget": "编号",
        "agent": "[名称 | enable]",
        "team": (
            "[名称 | tell 名称 内容 | stop 名称 | stop all | wake 名称 | wake all | mute | unmute"
            " | all]"
        ),
        "agents": "[stop | enable | disable | archive 名称]",
        "halt": "[here]",
        "unlock": "[here]",
    }

    with_space = "请写成 `/{name}`，后面的内容前加一个空格。"
    without_space = "请写成 `/{name}`，斜杠后面不要空格。"
    unknown_command = "没有 /{name} 这个命令。{hint}/help 会列出所有命令。"
    did_you_mean = "你是想用 /{name} 吗？"
    takes_no_argument = "/{name} 后面不用写别的，单独发送 `/{name}` 就行。"
    owners_only = "只有我的主人可以这样做。"
    not_here = "在群里只有我的主人可以这样做。"
    send_alone = "请单独发送，或加上 `here` 只管这个聊天。"
    # --- 团队 ---
    task_done = "#{id} 由 {owner} 完成：{text}"
    task_done_by_nobody = "#{id} 完成：{text}"
    task_stuck = "#{id} 卡住了：{text}"
    task_dropped = "#{id} 已放弃：{text}"
    task_files = "文件：{files}"
    team_said = "{name}：{text}"
    team_mail = "{name} 致 {to}：{text}"
    team_since = "已{span}"
    team_leg = "第 {leg} 段"
    team_step = "最近一步 {step}"
    team_thinks = "正在询问模型"
    team_at_work = "在干活"
    team_elsewhere = "在为另一个聊天干活"
    team_progress_ended = "团队：已没有人在干活。"
    team_hears: ClassVar[Mapping[str, str]] = {
        "": (
            "我在这里说明结果、提问和进展。`/team mute` 不再说进展；`/team all` 还会说出队友之间"
            "写的内容。"
        ),
        "mute": "我在这里只说结果和提问。用 `/team unmute` 恢复。",
        "all": "我在这里说出一切，包括队友之间写的内容。用 `/team unmute` 恢复。",
    }
    team_stuck = "{name} 卡住了：{why}"
    limits_reached: ClassVar[Mapping[str, str]] = {
        "steps": "已经用了 {most:,} 步，一项工作最多只能用这么多（`UNCAGED_TICKS`）",
        "legs": "做了 {most:,} 轮还没完成，一项工作最多只能做这么多轮",
        "seconds": "用时超过了{span}，一轮最多只能用这么久",
        "workers": "已经转交了 {most:,} 次，一轮最多只能转交这么多次",
        "chain": (
            "同一个起因引发的全部工作最多可用 {most:,} 个 token（`UNCAGED_CHAIN_TOKENS`），"
            "已经用了 {spent:,} 个"
        ),
        "max_steps": "达到了 `max_steps`（{most:,}）",
        "max_tokens": "达到了 `max_tokens`（{most:,}）",
        "max_walltime": "达到了 `max_walltime`（{most:,}）",
    }
    own_limit = "我结束了一件自己在做的事：{why}。"
    said_last = "目前的结果：{text}"
    team_has_shut_down = "{name} 已关机。"
    team_plan = (
        "{name} 请求批准一个计划 (request_id={id})：\n{text}\n\n`/approve {id}` 表示同意，"
        "`/deny {id} 原因` 表示不同意。在此之前 {name} 会等着。"
    )
    team_waits = "在等对计划 {id} 的答复"
    team_asks = "{name} 提问 ({id})：{text}\n\n请回复这条消息，或发送 /team tell {name} 内容。"
    team_told = "{name} 现在就会看到。"
    team_told_halted = "我已被叫停；解锁之后 {name} 就会看到。"
    team_reads_nothing = "{name} 已关机，看不到消息。可以让我再派一次 {name}。"
    team_not_for_guests = "访客不能在这里给人派活。"
    team_none = "没有队友。"
    team_head = "团队：{name}"
    team_spawn_hint = "可以这样说：派一个程序员 alice，让她自己找活干。"
    team_stopping = "{names} 马上关机。"
    team_stopped = "{names} 已经关机；在你发送 `/team wake 名称` 之前，谁也不会叫醒他们。"
    team_woken = "已叫醒：{names}。"
    team_stopped_by_you = "被你停下"
    team_stopped_by_person = "被人停下"
    team_goes_on = "继续工作：{names}。"
    team_waiting = "等待的任务：{count} 个（{tasks}）。"
    team_anybody = "任何人"
    limit_setting = "相应的设置是 `{setting}`。"
    team_unknown = "没有队友 {name}。"
    team_how = (
        "用 `/team 名称` 查看某人的进展，用 `/team tell 名称 内容` 给队友带话，"
        "用 `/team stop 名称` 或 `/team stop all` 结束他们的工作，用 `/team wake 名称` 让他们继续，"
        "用 `/team mute`、`/team unmute` 和 `/team all` 决定我在这里说什么。"
    )
    offline_task_after = (
        "要等另一个任务做完吗？请这样写：`/tasks add 内容 #1之后`。什么也没有添加。"
    )
    offline_team = (
        "派队友、一次添加几个任务都要靠语言模型，而现在没有接上：运行 `uncaged setup model`"
        " 接上一个。没有模型时，`/tasks add 内容` 添加一个任务，`/team` 看看有谁。"
    )
    inbox_none = "没有新邮件。"
    agent_now = "这个聊天由 {name} 回答。"
    agent_how = "用 `/agent 名称` 可以换成：{names}。"
    agent_none = "没有别的智能体：在机器上运行 `uncaged agent create 名称` 可以新建一个。"
    agent_set = "从现在起，这个聊天由 {name} 回答。"
    agent_back = "发送 `/agent {name}` 让我回来。"
    agent_unknown = "没有能在这里回答的智能体 {name}。"
    agent_away = "（智能体 {name} 已停用或已不存在，所以这里由我来回答。）"
    new_session = "新的对话开始了。"
    stays_locked = "不过我仍被锁定。{notice}"

    policy_denies = "我的策略不允许这样做：{rule}。"
    policy_in_private = "我的策略只在私聊里查看和修改。"
    policy_meanwhile = "刚才有人改了策略，它保持那个人改后的样子。"
    policy_kept = "策略没有变：{why}。"
    policy_never_changed = "策略从来没有改过。"
    policy_changed = "好了：策略现在是第 {version} 版，从下一条消息起生效。"
    policy_preset = "我的策略是预设 `{name}`，在它之前先看这些规则："
    policy_preset_alone = "我的策略是预设 `{name}`，没有另外的规则。"
    policy_spending = "上限：每笔 {payment}，每天 {day}，每个任务 {task}。"
    policy_how = (
        "`/policy deny guest call web-search` 加一条规则，`/policy drop N` 去掉一条，"
        "`/policy preset careful` 换一个预设；`/policy history` 和 `/policy rollback N`"
        " 查看和恢复以前的版本。"
    )
    proposal_waits = (
        "等待我的主人批准：{acts}，参数是 `{arguments}`。主人可以在 {time} 之前发送 `/approve {id}`"
        " 或 `/deny {id}`。"
    )
    proposal_for_owner = (
        "{by} 在 {session} 里需要你的批准：{acts}，参数是 `{arguments}`。请在 {time} 之前发送"
        " `/approve {id}` 或 `/deny {id}`。"
    )
    grant_waits = (
        "可以让我使用 `{name}` 吗？它就可以{reach}。由我的主人在 {time} 之前决定："
        "`/approve {id}` 表示可以，`/deny {id}` 表示不可以。"
    )
    grant_asked_before = "另一个聊天先问了，结果会发到那里：之后请再问我一次。"
    grant_for_owner = (
        "可以让我使用 `{name}` 吗？{by} 在 {session} 里需要它。它就可以{reach}。在 {time} 之前，"
        "`/approve {id}` 表示可以，`/deny {id}` 表示不可以。"
    )
    permission_meanings: ClassVar[Mapping[str, str]] = {
        "web": "搜索网络并读取任何公开网页（GET、HEAD）",
        "http": "发送 `{target}`",
        "secret": "使用密钥 `{target}`",
        "call": "调用 `{target}`",
    }
    button_yes = "可以"
    button_no = "不可以"
    proposal_approved = "（已批准，提案 {id}：{acts}。）"
    proposal_denied = "我的主人拒绝了提案 {id}：{acts}。这件事不做了。"
    proposal_lapsed = "一天之内没有人决定提案 {id}：{acts}。这件事不做了。"
    proposal_undone = "提案 {id} 已批准，但没能执行：{acts}。如果还需要，请再提一次。"
    proposal_rolled_back = "提案 {id} 已撤回：{acts}。内容已恢复原样，并记为一个新版本。"
    proposal_more = "（还有 {count:,} 个字符，`/proposals {id}` 会全部显示。）"
    proposals_none = "没有等你批准的事。"
    proposal_line = "- {id}：{acts}，参数是 `{arguments}`，为 {by}，在 {session}，到 {time} 为止"
    proposals_how = (
        "`/approve ID` 表示同意，`/deny ID` 表示不同意。`/proposals rollback ID` 撤回已生效的改动。"
    )
    proposal_runs = "已批准：{acts}。现在在 {session} 继续。"
    proposal_dropped = "已拒绝：{acts}。这件事不做了。"
    proposal_refused = "没有任何变化：{why}。"
    plan_line = "- {id}：{name} 的计划，为 {by}，在 {session}：{text}"
    plans_how = "`/approve ID` 表示同意一个计划，`/deny ID 原因` 表示不同意；在此之前队友会等着。"
    plan_approved = "已同意。{name} 按计划 {id} 继续。"
    plan_rejected = "已拒绝。{name} 会看到，可以另交一个计划来代替 {id}。"
    plan_problems: ClassVar[Mapping[str, str]] = {
        "unknown": "没有计划 {id}。`/proposals` 显示在等答复的计划。",
        "stranger": "只有我的主人或要求这项工作的人可以答复 {name} 的计划 {id}。",
        "approved": "{name} 的计划 {id} 已经同意过了。",
        "rejected": "{name} 的计划 {id} 已经拒绝过了。",
        "replaced": "{name} 已另交计划 {newer} 来代替 {id}。",
        "shut_down": "{name} 已关机，计划 {id} 随之作废。",
        "disabled": "{name} 已停用，答复计划 {id} 不会有结果。请先启用它。",
        "ended": "{name} 不再等对计划 {id} 的答复。",
        "halted": "我已被叫停，答复计划 {id} 不会有结果。请先发送 /unlock。",
    }
    button_approve = "同意 {id}"
    button_deny = "拒绝 {id}"
    policy_closed = (
        "（我现在只能聊天：{why}。在我的机器上运行 `uncaged policy check` 可以看到原因。）"
    )

    language_now = "我自己的消息用{name}。我会：{known}。"
    language_how = "`/language 语言` 选择一种，`/language auto` 跟随你写的语言。"
    language_set = "从现在起，我自己的消息用{name}。"
    language_auto = "从现在起，我自己的消息跟随你写的语言。"
    language_unknown = "我不会这种语言：{name}。我会：{known}。"

    zone_now = "这个聊天的时区是 {zone}（UTC{offset}），那里现在是 {time}。"
    zone_kept = "这里已经安排好的仍按 {zones} 的时间；`/wakeups` 可以查看。"
    zone_of_settings = "这个聊天没有自己的时区；我用 {zone}，那里现在是 {time}。"
    zone_how = "`/timezone 城市` 设置时区，例如 `/timezone {city}`；`/timezone auto` 取消。"
    zone_unknown = "没有这个时区{name}。"
    zone_near = "你是指 {zones} 吗？"
    zone_name_city = "请写城市或 IANA 时区名，例如 `/timezone {city}`。"
    zone_question = (
        "（我还不知道你的时区，时间按 UTC 算。"
        "`/timezone 城市` 就能设置，例如 `/timezone {city}`。）"
    )
    zone_example = "Asia/Shanghai"
    time_words: ClassVar[str] = (
        "今天|下周|(?:周|星期|礼拜)[一二三四五六日天]|今晚|今早|今夜|明天|明早|明晚|后天|昨天|昨晚|前天|几点|现在时间|几号|星期几"
        "|[上下]午\\s*[0-9一二三四五六七八九十]|[0-9一二三四五六七八九十]\\s*点(?:[钟半整]|[0-9]|$|[^心])"
    )

    tools_always = "一直在手边：{names}。"
    tools_here = "这次对话里找到的："
    tools_none = "这次对话还没用到别的工具；需要时我会去找。"
    status_ready = "一切正常，随时可以开始。"
    status_troubled = (
        "随时可以开始，不过最近 {steps} 步里有 {failed} 步没成功：`/status all` 会说明。"
    )
    status_weak = "随时可以开始，不过现在没有力气自己做事：`/status all` 会说明。"
    status_how = "`/status` 说我现在怎么样，`/status all` 说得更详细。"
    status_working = "我正在处理一条消息。"
    status_waiting = "模型暂时没有回应，我在等它。"
    status_request = "第 {number} 次请求模型已进行 {seconds} 秒。"
    status_calls = "已运行 {seconds} 秒：{names}。"
    status_task = "任务 {id} 已运行 {seconds} 秒：{name}。"
    hp_now = "自主工作的体力（HP）：{hp:,.0f}，上限 {most:,.0f}。"
    hp_full = "{time} 全部恢复。"
    hp_ended = "体力（HP）不足，我的自主工作没有做完就停下了。"
    hp_asleep = "体力不足：大约在 {time} 之前我不会自主做事。"
    hp_damaged = "体力的记录无法读取：大约在 {time} 之前我不会自主做事。"
    hp_disabled = "在所有者发送 `/agent enable` 之前，我不会自主做事。"
    hp_gone = (
        "{name} 自主工作的体力（HP）已经用完，从现在起不再自主做事。聊天照常，什"
        "么都没有丢失。所有者可以让它继续：在这里发送 `{enable}`，或"
        "在机器上运行 `uncaged agent enable {name}`。"
    )
    hp_enabled = "{name} 又可以自主工作了，体力（HP）{hp:,.0f}，上限 {most:,.0f}。"
    status_agent = "其中智能体 {name} 用了 {spent:,} token{limit}。"
    status_model = "模型：{model}，窗口 {window:,} token，已用 {share}。"
    status_next = "接下来我会在这里自己做：“{title}”，{time}。"
    status_version = "版本 {version}，已运行 {uptime}。"
    status_version_only = "版本 {version}。"
    status_last_failures = "最近没成功的："
    status_last_turn = "上一轮：{tokens}"
    usage_here = "这个聊天：{tokens}"
    usage_all = "{period}：这个聊天用了 {own:,} token，全部聊天共 {total:,}{limit}{unlocked}"
    usage_total = "{period} 的 token：{total:,}{limit}，其中这里 {own:,}{unlocked}"
    usage_own = "{period} 的 token：这个聊天 {own:,}"
    usage_limit = "（上限 {most:,}）"
    usage_unlocked = "；解锁之后计入 {spent:,}，上限 {most:,}"
    usage_tokens = "输入 {prompt:,} token{cached}，输出 {completion:,}"
    usage_cost = "，{cost}"
    usage_left = "还剩 {left:,} token。"
    usage_cached = "（其中 {share} 来自缓存）"
    chain_spent = (
        "我在这里停下（ELIMIT）：由同一件事引发的所有工作一共最多使用 {most:,} token，"
        "这一次已经用了 {spent:,}。对应的设置是 `{setting}`。"
    )
    spent_all = "自 {day} 起，所有聊天：{used}"
    spent_here = "自 {day} 起，这个聊天：{used}"
    spent_line = "- {what}：{used}"
    spent_tokens = "{tokens:,} token"
    spent_uncounted = "（另有 {tokens:,} 不计入）"
    spent_cached = "，输入的 {share} 来自缓存"
    spent_agents = "按智能体："
    spent_works = "按工作种类："
    spent_chains = "由同一件事引发的最大用量，所有智能体合计："
    spent_chain = "{tokens:,} token，{events:,} 个事件"
    spent_cause = "“{words}”（{event}）"
    spent_nothing = "自 {day} 起没有用过 token。"
    spent_how = "`/spent 30` 查看最近 30 天，最多 90 天。"
    spent_kinds: ClassVar[Mapping[str, str]] = {
        "chat": "消息",
        "command": "命令",
        "memory": "记忆",
        "wakeup": "唤醒",
        "mail": "邮件",
        "task": "任务",
    }

    model_now = "这里的模型是 `{name}`。"
    model_how = "`/model 名称` 为这个聊天换同一端点的另一个模型，`/model auto` 回到设置里的模型。"
    model_only = "不能换别的：还没有接上语言模型。"
    model_set = "从现在起，这个聊天由 `{name}` 回答。"
    model_back = "这个聊天又由设置里的模型 `{name}` 回答了。"
    model_learnt = "我从它的端点学到了这些（`/model reset` 会忘掉）："
    model_forgot = "从它的端点学到的已经忘掉：又按设置来。"
    model_bad = "这不是模型的名称：最多 100 个字符，不含空格。"
    model_refused = "`{name}` 没有回答（{why}），所以什么都没有改。"
    model_missing = "端点没有模型 `{name}`，所以什么都没有改。"
    model_words = "端点说：{detail}"

    context_head = "我的窗口有 {window:,} token，大约用了 {used:,}（{share}）："
    context_line = "- {part}：{count:,}"
    context_parts: ClassVar[Mapping[str, str]] = {
        "instructions": "我是谁、按什么做事",
        "memory": "我记住的",
        "tools": "工具",
        "people": "对我说的话",
        "answers": "我说的话和工具调用",
        "results": "工具返回的结果",
    }
    compact_nothing = "没有可以归档的：这次对话有 {count} 条消息。"
    compacted = (
        "我把 {count} 条较早的消息归档了，留下 {kept} 条。什么都没有丢：`/recall 关键词` 可以找到。"
    )
    history_none = "这次对话还没有说过什么。"
    history_how = "发送 `/history`，或 `/history N` 看最近 N 条，最多 {most} 条。"
    history_you = "你"
    export_cut = "（更早的内容没有导出。）"
    btw_how = "发送 `/btw` 加一个问题：我会回答，但问题和回答都不留在对话里。"

    group_greeting = (
        "大家好，我是 {name}。在这里，谁叫我我就回答谁：{mention}回复我的消息，"
        "或者发送 /help 这样的命令。你们之间说的话我不看。"
    )
    group_mention = "在消息里写 @{name}，"
    group_by_name = "在消息里用 @ 写我的名字，"
    group_only: ClassVar[Mapping[str, str]] = {
        "members": "我只和我的主人放行的人说话：请先私聊我。",
        "owners": "我只和我的主人说话。",
    }
    listen_begins = (
        "从现在起我在这个群里旁听。谁叫我，我就能看到我上次回复之后大家说了什么：最多 {most} 条，"
        "每条最多保留一天。主人可以用 `/listen off` 结束。"
    )
    listen_hints: ClassVar[Mapping[str, str]] = {
        "telegram": (
            "只有关掉我的隐私模式（@BotFather，`/setprivacy`），或者我是这里的管理员，"
            "Telegram 才会让我看到大家之间的消息。"
        ),
    }
    listen_ends = "我不再在这个群里旁听，留下的也都删了。叫我的时候我会回答。"
    listen_is_on = "我在这个群里旁听；主人可以用 `/listen off` 结束。"
    listen_is_off = "我不在这个群里旁听；主人可以用 `/listen on` 开始。叫我的时候我会回答。"
    listen_private = "在这里你写的我都看。`/listen` 是给群用的。"
    listen_impossible = (
        "在我运行的地方没法旁听：我的入口只接收发给我的消息。"
        "运行我的人可以用 `UNCAGED_LISTEN=yes` 改变这一点。"
    )
    listen_how = "请发送 `/listen on` 或 `/listen off`。"

    file_kinds: ClassVar[Mapping[str, str]] = {
        "photo": "图片",
        "voice": "语音",
        "video": "视频",
        "video_note": "视频消息",
        "audio": "音频",
        "animation": "动图",
        "document": "文件",
        "story": "动态",
        "paid_media": "付费内容",
        "game": "游戏",
        "invoice": "账单",
        "": "这种消息",
    }
    cannot_open = "我还打不开{kinds}。想让我知道什么，请写下来。"
    cannot_open_beside = "我还打不开{kinds}，只回答你写的内容。"
    file_problems: ClassVar[Mapping[str, str]] = {
        "empty": "{name} 是空的，请再发一次。",
        "too_large": "{name} 太大了，请发小一点的文件，或者只发一部分。",
        "too_slow": "打开 {name} 花的时间太长，请发小一点的文件，或者只发一部分。",
        "encrypted": "{name} 有密码保护，请发一份没有密码的。",
        "broken": "{name} 已损坏或不完整，请再发一次。",
        "not_supported": (
            "{name} 这类文件我打不开。我能打开 JPEG、PNG、WebP、GIF、PDF、docx、pptx、xlsx、xls、"
            "ods、HTML 和纯文本。"
        ),
        "no_reader": "我在这里只能打开纯文本，所以没有读{name}。",
        "too_many": "一条消息我最多打开 6 个文件，请把{name}放在另一条消息里发。",
        "used_up": (
            "这个聊天每天最多接收 100 MB 文件，今天的已经用完，所以我没有打开 {name}。请明天再发。"
        ),
        "members_alone": "我只为成员打开文件，所以没有打开{name}。",
        "not_fetched": "我没能取到{name}，请再发一次。",
        "no_such_page": "{name} 没有这一页。",
        "package_missing": "我打不开 {name}：缺少所需的软件包。请我的主人用这条命令安装：{command}",
        "no_speech": (
            "我听不了 {name}：这里没有设置语音转文字的服务。请我的主人用 UNCAGED_STT_URL"
            " 设置，也请把要说的话写给我。"
        ),
        "speech_away": (
            "我没能听 {name}：语音转文字的服务现在没有回应。请过一会儿再发，或者把你说的话写下来。"
        ),
        "speech_key": (
            "我没能听 {name}：语音转文字的服务不接受我的密钥。请我的主人用 UNCAGED_STT_KEY"
            " 设置，也请把你说的话写下来。"
        ),
        "no_words": "我在 {name} 里没听到话。请再发一次，或者把你说的话写下来。",
        "too_long": "{name} 超过 10 分钟了，请发短一点的。",
        "sound_type": (
            "我听不了 {name}：它是 {command} 格式的录音。我能听 ogg、mp3、m4a、wav、webm 和 flac。"
        ),
    }
    file_named = "“{name}”"
    file_unnamed = "这个文件"
    no_pictures = "我用的模型不接受图片，所以没看到你发的。/model 列出其他模型。"

    offline_signature = (
        "— 离线模型（只按固定规则办事，不是语言模型；用 uncaged setup model 接上真正的模型）"
    )
    offline_what_i_do = (
        "我是离线模型：我只懂标准库里的简单请求，比如：\n\n"
        "- 把 10 公里换算成英里\n"
        "- 25 * 16 等于多少\n"
        "- 2024年1月1日到2024年12月25日有多少天\n"
        "- 统计字数：你好，世界\n"
        "- 记住我喜欢喝茶\n"
        "- 明天上午九点提醒我给鲍勃打电话\n\n"
        "/help 列出所有命令。接上语言模型（UNCAGED_LLM_URL）后，什么都可以聊。"
    )
    offline_talk: ClassVar[Mapping[str, str]] = {
        "hello": "你好！要我算点什么吗？",
        "morning": "早上好！要我算点什么吗？",
        "day": "你好！要我算点什么吗？",
        "evening": "晚上好！要我算点什么吗？",
        "bye": "再见！",
        "thanks": "不客气！",
        "how": "我是个小程序，一直都好。要我算点什么吗？",
        "sad": "听到这个我很难过。我只是个小程序，帮不上什么忙。",
        "fine": "好的。有要算的就告诉我。",
    }
    offline_how = (
        "离线模型不会写新能力，但你可以：发一个名字，再把 JavaScript 写在代码框里，例如\n\n"
        "````\n做一个能力 reverse-text ```js\nreturn [...input.text].reverse().join('')\n```\n````"
    )
    offline_not_found = (
        "这个我不懂：我只是离线模型。问我“你能做什么？”看看例子。"
        "接上语言模型（UNCAGED_LLM_URL）能懂得更多。"
    )
    offline_cannot = (
        "这个我做不到：我只是离线模型。问我“你能做什么？”看看例子。"
        "接上语言模型（UNCAGED_LLM_URL）能懂得更多。"
    )
    offline_alarm = "时间到了。"
    offline_saved = "已存为 `{path}`，第 {version} 版（{size} 字节）。"
    offline_save_what = "要保存什么？请写“保存为 {path}：内容”。"
    offline_which_file = "哪个文件？请写上它的名字，例如 `notes.md`。"
    offline_part = "（这是 {parts} 部分中的第一部分。）"
    offline_which = "哪一个？说一下编号。"
    offline_too_long = (
        "我只是离线模型，一次最多读 {most:,} 个字符。请发短一点，"
        "或者接上语言模型（UNCAGED_LLM_URL）。"
    )
    offline_needs = "{capability} 还缺内容：请在一条消息里写全，例如：{example}"
    offline_unread = "我不知道这里的“{words}”是什么意思，所以不乱猜。请这样写：{example}"
    offline_unread_words = "我不知道这里的“{words}”是什么意思，所以不乱猜。"
    offline_base64 = "这是 Base64，内容是：{text}"
    offline_language = "我不懂这种语言。我懂中文、英文和德文。"
    offline_lone_number = "{number} 要怎么处理？请用一句话说，例如：{number}公里等于多少英里"
    offline_needs_input = (
        "我找到了 `{tool}`（{description}），但看不出它要的内容（{parameters}）。"
        "请把文字放在引号里。"
    )
    offline_waits = "等我的主人批准了，我就能做。"
    offline_failed = "没有成功：{why}"
    offline_exists = "已经有 `{name}` 这个能力了：`{tool}` 可以直接用。"
    offline_not_made = "没能做成 `{name}`：{why}"
    offline_made = "做好了 `{name}`（第 {version} 版），工具叫 `{tool}`。告诉我用它做什么。"
    offline_remembered = "记住了：{words}"
    offline_over = "不再成立：{words}"
    offline_is_over = "这是要改“{words}”吗？请写“记住……”告诉我现在的情况，或者写“忘记{words}”。"
    offline_forgotten = "忘掉了。"
    offline_forgotten_what = "忘掉了：{words}"
    offline_kb_added = "已加入知识库：{title}，来源：{source}。"
    offline_kb_known = "知识库里已经有了：{title}，来源：{source}。"
    offline_kb_update = (
        "这要由主人在我的机器上做：`uncaged kb list` 列出编号，"
        "`uncaged kb update 编号 文件` 换上新的内容。"
    )
    offline_kb_how = (
        "请在一条消息里写明名称、来源和正文："
        "`加入知识库：退货规定（来源：员工手册）：商品三十天内可以退货。`"
    )
    offline_recalled = "我记得这些："
    offline_nothing_known = "关于这个我什么都不记得。"
    offline_not_told = "这个你没有告诉过我。写“记住……”，我就记下来。"
    offline_could_keep = "写“记住{words}”，我就记下来。"
    offline_forget_all = (
        "我一次只忘一件事：/recall 列出我记得的，`/forget ID` 删掉一件。"
        "要删掉一个人的全部内容，我的主人可以用 `uncaged people erase`。"
    )
    offline_weeks = "{weeks} 周零 {days} 天"
    setup_first_message = "你好！你能做什么？"
    offline_page = "来自 {url}，第 {part} 部分，共 {parts} 部分。"
    offline_svg = "这是一张 SVG 图片；存成 .svg 结尾的文件，用浏览器就能看："
    unit_names: ClassVar[Mapping[str, str]] = {
        "m": "米",
        "km": "公里",
        "dm": "分米",
        "cm": "厘米",
        "mm": "毫米",
        "µm": "微米",
        "nm": "纳米",
        "in": "英寸",
        "ft": "英尺",
        "yd": "码",
        "mi": "英里",
        "nmi": "海里",
        "au": "天文单位",
        "ly": "光年",
        "kg": "公斤",
        "g": "克",
        "mg": "毫克",
        "µg": "微克",
        "t": "吨",
        "lb": "磅",
        "oz": "盎司",
        "st": "英石",
        "short ton": "短吨",
        "long ton": "长吨",
        "ct": "克拉",
        "C": "摄氏度",
        "F": "华氏度",
        "K": "开尔文",
        "R": "兰氏度",
        "L": "升",
        "mL": "毫升",
        "cL": "厘升",
        "dL": "分升",
        "m3": "立方米",
        "cm3": "立方厘米",
        "in3": "立方英寸",
        "ft3": "立方英尺",
        "gal": "加仑",
        "qt": "夸脱",
        "pt": "品脱",
        "cup": "杯",
        "fl oz": "液量盎司",
        "tbsp": "汤匙",
        "tsp": "茶匙",
        "imp gal": "英制加仑",
        "imp pt": "英制品脱",
        "bbl": "桶",
        "m2": "平方米",
        "km2": "平方公里",
        "cm2": "平方厘米",
        "mm2": "平方毫米",
        "ha": "公顷",
        "acre": "英亩",
        "ft2": "平方英尺",
        "in2": "平方英寸",
        "yd2": "平方码",
        "mi2": "平方英里",
        "m/s": "米每秒",
        "km/h": "公里每小时",
        "mph": "英里每小时",
        "ft/s": "英尺每秒",
        "kn": "节",
        "km/s": "公里每秒",
        "speed of light": "倍光速",
        "s": "秒",
        "ms": "毫秒",
        "µs": "微秒",
        "ns": "纳秒",
        "min": "分钟",
        "h": "小时",
        "d": "天",
        "week": "周",
        "fortnight": "两周",
        "month": "个月",
        "year": "年",
        "decade": "十年",
        "century": "世纪",
        "B": "字节",
        "kB": "千字节",
        "MB": "兆字节",
        "GB": "吉字节",
        "TB": "太字节",
        "PB": "拍字节",
        "KiB": "KiB",
        "MiB": "MiB",
        "GiB": "GiB",
        "TiB": "TiB",
        "PiB": "PiB",
        "bit": "比特",
        "kbit": "千比特",
        "Mbit": "兆比特",
        "Gbit": "吉比特",
        "Tbit": "太比特",
        "Kibit": "Kibit",
        "Mibit": "Mibit",
        "Gibit": "Gibit",
        "Pa": "帕",
        "hPa": "百帕",
        "kPa": "千帕",
        "MPa": "兆帕",
        "bar": "巴",
        "mbar": "毫巴",
        "atm": "大气压",
        "psi": "磅每平方英寸",
        "mmHg": "毫米汞柱",
        "torr": "托",
        "inHg": "英寸汞柱",
        "J": "焦耳",
        "kJ": "千焦",
        "MJ": "兆焦",
        "cal": "卡路里",
        "kcal": "大卡",
        "Wh": "瓦时",
        "kWh": "千瓦时",
        "MWh": "兆瓦时",
        "BTU": "英热单位",
        "eV": "电子伏",
        "ft-lb": "英尺磅",
        "W": "瓦",
        "mW": "毫瓦",
        "kW": "千瓦",
        "MW": "兆瓦",
        "GW": "吉瓦",
        "hp": "马力",
        "PS": "公制马力",
        "N": "牛顿",
        "kN": "千牛",
        "lbf": "磅力",
        "kgf": "公斤力",
        "dyn": "达因",
        "Hz": "赫兹",
        "kHz": "千赫",
        "MHz": "兆赫",
        "GHz": "吉赫",
        "rpm": "转每分钟",
        "km/L": "公里每升",
        "L/100km": "升每百公里",
        "mpg": "英里每加仑",
        "imp mpg": "英里每英制加仑",
        "deg": "度",
        "rad": "弧度",
        "mrad": "毫弧度",
        "grad": "百分度",
        "arcmin": "角分",
        "arcsec": "角秒",
        "turn": "圈",
    }
    offline_valid = "是的，{what} 有效。"
    offline_invalid = "不，{what} 无效：{why}。"
    offline_wrong_form = "格式不对"
    offline_prime = "{number} 是质数。"
    offline_no_factors = "{number} 不是质数，也没有质因数。"
    offline_factors = "{number} = {factors}，不是质数。"
    offline_if_no_holiday = "是，除非放假"
    offline_figures: ClassVar[Mapping[str, str]] = {"mean": "平均数", "median": "中位数"}
    offline_judged = "{verdict}，{day}"
    offline_yes = "是"
    offline_no = "否"
    offline_none = "无"
    offline_nothing = "（没有）"
    offline_empty = "（空文本）"

    nothing_runs = "现在没有在做的事。"
    tasks_stopping = "正在停止作为任务运行的调用：{names}。"
    task_stopped = "任务 {id}（{name}）已停止，不知道它是否已经生效。"
    stop_waits = "我在等一个没有回应的模型，几秒钟内就会停下。"
    stop_not_yours = "在群里，别人让我做的事只有我的主人可以叫停。"
    halted = "已在所有聊天里停下。发送 `/unlock` 让我继续。"
    halted_agent = (
        "{name} 已在所有聊天里停下。发送 `/unlock` 让它继续；`/halt all` 让我和所有智能体都停下。"
    )
    halted_here = "已在这个聊天里停下。发送 `/unlock` 让我继续。"
    unlocked = "已解锁。"
    stopped = "已停下。"
    told_to_stop = "已叫停正在做的事。"

    unlock = "我的主人可以解锁：在这里发送 `/unlock`，或在我的机器上运行 `uncaged unlock`。"
    your_unlock = "你可以解锁：在这里发送 `/unlock`，或在我的机器上运行 `uncaged unlock`。"
    reasons: ClassVar[Mapping[str, str]] = {
        "frustration": "我连续失败了五次，所以先停在这里。",
        "loop": "这件事我做的步数已到上限，看起来是个死循环。要继续吗？怎么继续？",
        "cascade": "最近十步里有八步失败，所以我停下了。",
        "fatal": "出了我自己修不好的问题，所以我停下了。",
        "budget": "我的 token 预算用完了，所以停下了。",
        "agent-budget": "这个智能体自己的 token 预算用完了，所以它停下了。",
        "session-budget": "这个聊天的 token 预算用完了，所以我在这里停下了。",
        "halted": "我被叫停了，解锁之前什么也不做。",
        "damaged": "我为这个聊天保存的内容有一部分读不出来，所以先锁上了。",
    }
    own_reasons: ClassVar[Mapping[str, str]] = {
        "frustration": "我自己做的一件事连续失败了五次，所以我结束了它。",
        "loop": "我自己做的一件事步数已到上限，看起来是个死循环，所以我结束了它。",
    }
    then: ClassVar[Mapping[str, str]] = {
        "frustration": "我该换个什么做法？你一回答我就继续。",
    }
    budget_resets = "预算在 {time} 重新开始。"
    nearly_used: ClassVar[Mapping[str, str]] = {
        "budget": "（我的 token 预算已用 {share}，{time} 重新开始；/usage 可以看还剩多少。）",
        "agent-budget": (
            "（这个智能体自己的 token 预算已用 {share}，{time} 重新开始；/usage 可以看还剩多少。）"
        ),
        "session-budget": (
            "（这个聊天的 token 预算已用 {share}，{time} 重新开始；/usage 可以看还剩多少。）"
        ),
    }
    not_a_guests = "需要我的主人，或主人允许的人来回答。"
    last_failed = "最后没成功的是{tool}：{message}。"
    failed_search = "一次能力搜索"
    failed_deploy = "我想做的一个能力"
    code_meanings: ClassVar[Mapping[str, str]] = {
        "EPERM": "这是不允许的",
        "EAPPROVAL": "要先由主人批准",
        "EASK": "要先由用户说清楚",
        "EAUTH": "缺少令牌，或令牌不对",
        "EACCES": "对方拒绝访问",
        "ENOENT": "要找的东西不存在",
        "EEXIST": "这个名字已经有人用了",
        "EINVAL": "输入不合适",
        "EJSON": "参数不是 JSON 对象",
        "ENOTOOL": "没有提供过这个名字的工具",
        "ENOTRESIDENT": "它存在，但要先重新找到",
        "ENAME": "不是能力的名字",
        "EMANIFEST": "能力对自己的说明有误",
        "ESCHEMA": "没有端点会接受这个 schema",
        "EMODULE": "代码无法编译，或不允许运行",
        "ETESTS": "部署时的测试没有通过",
        "EREQUIRES": "它要调用的能力不存在",
        "ECYCLE": "能力之间会循环调用",
        "ETOOBIG": "超过了大小的上限",
        "EQUOTA": "没有位置或空间了",
        "ELIMIT": "调用、输出或层数超过了一次运行的上限",
        "ETIMEDOUT": "用时超过了上限",
        "ESTACK": "递归没有尽头",
        "ETRAP": "模块自己停止了",
        "ETHROWN": "代码抛出了错误，但没有给出错误码",
        "EOUTPUT": "输出无效",
        "ENOSYS": "沙箱里没有这个功能",
        "EPENDING": "有一个永远不会完成的 promise",
        "EGUEST": "能力说它失败了",
        "EREMOTE": "远程工具说它失败了",
        "ENOMEM": "用的内存超过了上限",
        "ENET": "连不上服务器",
        "ERATE": "太频繁了，过一会儿就好",
        "EBUSY": "正在被占用",
        "ECONFLICT": "别处先改过了",
        "EDEGRADED": "连续失败，暂时停用",
        "EUNAVAILABLE": "存储、注册表或沙箱暂时不可用",
        "EDAMAGED": "保存的内容读不出来",
        "EINTERNAL": "运行环境自己出错了",
        "EINTERRUPTED": "被崩溃或叫停打断，不知道有没有生效",
        "EHOSTMEM": "机器本身的内存用完了",
        "EBREACH": "沙箱进程做了任何能力都不该做到的事",
        "ESTOPPED": "还没开始就被叫停了",
        "": "能力自己的错误码",
    }
    failure_reasons: ClassVar[Mapping[str, str]] = {
        "taken": "这个任务已经有队友在做",
        "role": "这个任务要由别的角色来做",
        "blocked": "这个任务在等别的任务先完成",
        "circle": "任务会变成等待它自己",
        "no-task": "没有这个任务",
        "not-yours": "这个任务是别人的",
        "stuck": "这个任务卡住了，要有人重新打开",
        "ended": "这个任务已经结束",
        "no-teammate": "没有这个队友",
        "no-name": "队友不能叫这个名字",
        "no-request": "没有这个请求",
        "plan": "这个计划现在不能答复，或者不能从这里答复",
        "other-request": "这个请求是另一种，或是给别人的",
        "at-work": "这个智能体正在工作",
        "disabled": "这个智能体已停用，要由主人启用",
        "removed": "这个名字的智能体正在被移除",
        "name-taken": "这个名字已经有别的智能体用了",
        "personal": "这个任务是某人自己的",
        "no-hp": "这个智能体已经没有 HP 自己干活",
        "stopped": "有人让这个队友停下了",
        "shut-down": "这个队友已经停下，不再看消息",
        "lead-only": "只有带队的才能这样做",
        "root-only": "只有最上层的智能体才能创建和停止别的智能体",
        "owner-only": "在这里只有主人才能这样做",
        "private": "里面有不能离开这个聊天的内容",
        "no-guests": "访客不能这样做",
        "no-chat": "这项工作不属于任何聊天",
        "other-chat": "这不是该用户的聊天",
        "other-files": "这个文件不在可用的范围里",
        "no-file": "没有这个文件",
        "no-version": "没有这个版本",
        "own-work": "只有我自己在做的工作里才有这个",
        "known-document": "知识库里已经有这份文档",
        "behaviours": "这一轮里不能再接别的行为",
        "run-ended": "这一轮已经结束",
        "turn": "一轮里不能做这么多",
        "chain": "同一个起因引发的工作已经用完了它的 token",
        "mails": "同一个起因里，一个智能体发的消息已经到了上限",
        "hops": "同一个起因里，智能体互相触发的次数太多了",
        "no-room": "没有等到空位，一直没有开始",
        "policy": "我的规则不允许",
        "not-granted": "还没有主人允许",
    }
    # --- schedules ---
    skills_none = (
        "我还没有技能。技能是做某类事情的规则，写成 SKILL.md 文件："
        "在我的机器上用 `uncaged skill add 文件夹` 添加。"
    )
    skills_how = (
        "`/skills NAME` 查看一个，`/skills pin NAME` 让它在每个聊天里都有效，"
        "`/skills remove NAME` 删除它。"
    )
    skills_private = "技能只在私聊里显示和修改。"
    skill_is_pinned = "始终有效"
    skill_pinned = "`{name}` 从下一条消息起在每个聊天里都有效。"
    skill_unpinned = "`{name}` 不再始终有效；需要时我会找到它。"
    skill_removed = "`{name}` 已删除。`/skills rollback {name} {version}` 可以恢复。"
    skill_back = "`{name}` 已恢复，现在是第 {version} 版。"
    skill_unknown = "没有技能或版本 `{name}`；`/skills` 列出全部。"
    hooks_none = "没有程序可以给我送东西。在我的机器上用 `uncaged hook add NAME` 添加。"
    hooks_how = "`/hooks drop NAME` 删除其中一个。"
    hooks_private = "钩子只在私聊里显示。"
    hook_unknown = "没有钩子 `{name}`；`/hooks` 列出全部。"
    hook_dropped = "已删除：`{name}`。它的令牌不再有效。"
    files_none = "这里还没有文件。可以说“把这个存成 notes.md”。"
    files_line = "- `{path}` · {size} 字节 · 第 {version} 版 · {time}"
    files_more = "……还有 {count} 个。"
    files_how = (
        "`/files 路径` 显示其中一个，`/files diff 路径` 显示它最近改了什么，"
        "`/files history 路径` 显示它的各个版本。"
    )
    files_same = "第 {first} 版和第 {last} 版一样。"
    files_removed = "已删除"
    text_cut = "……还有 {count:,} 个字符。"
    files_refused = "这样不行：{why}。"
    tasks_none = "看板上没有任务。`/tasks add 内容` 可以添加一个。"
    tasks_how = (
        "`/tasks add 内容`、`done N`、`drop N`、`assign N 名字`、`reopen N` 可以修改看板；"
        "`/tasks N` 查看一个任务，`/tasks all` 连同已结束的任务一起列出。"
    )
    tasks_more = "……还有 {count} 个。"
    task_after_unclear = (
        "要等 {tasks} 完成吗？那就写 `在{tasks}之后`。如果数字属于标题，请加上引号。"
        "没有添加任何任务。"
    )
    task_owner_unknown = (
        "没有名叫 {name} 的队友。我认识的有：{known}。请先让我创建 {name}，或者换一个名字。"
        "没有任何改动。"
    )
    task_owner_alone = (
        "没有名叫 {name} 的队友，现在一个队友也没有。请先让我创建 {name}，或者去掉名字。"
        "没有任何改动。"
    )
    task_full = (
        "没有位置再放任务了。谁要的任务，谁用 `/tasks done N` 或 `/tasks drop N` 结束；"
        "主人可以结束所有人的任务。"
    )
    task_unknown = "{why}；`/tasks` 可以查看全部。"
    task_refused = "做不到：{why}。"
    task_added = "已添加 #{id}：{subject}"
    task_is_done = "#{id} 已完成：{subject}"
    task_is_dropped = "#{id} 已取消：{subject}"
    task_is_open = "#{id} 又可以做了：{subject}"
    task_assigned = "#{id} 交给 {owner}：{subject}"
    task_for_anybody = "#{id} 谁都可以做：{subject}"
    task_assign_how = "请说明交给谁：`/tasks assign N 名字`，或 `无人` 表示谁都可以。"
    task_unchanged = "没有变化：\n{line}"
    task_frees = "现在可以做 {tasks} 了。"
    task_nobody = "现在没有队友在线；可以让我叫一个来。"
    task_yours = "它归你自己；`/tasks assign {id} anybody` 把它交给团队。"
    task_blocked = "在等 {tasks}"
    task_blocks = "{tasks} 在等它"
    task_priority = "优先级 {priority}"
    task_role = "角色 {role}"
    task_due = "截止 {time}"
    task_why = "原因：{why}"
    wakeups_none = "这里没有任何安排。"
    wakeups_how = (
        "`/wakeups pause N`、`resume N`、`now N`、`drop N` 按编号暂停、继续、立刻做、删除。"
    )
    wakeup_of_agent = "{title}（{agent}）"
    wakeups_all_how = "`/wakeups drop ID` 删除其中一个，`/wakeups` 列出这个聊天的安排。"
    wakeups_private = "所有聊天的安排，我只在主人的私聊里显示。"
    wakeups_more = "……还有 {count} 个，在我的机器上用 `uncaged wake list` 查看。"
    wakeup_of_person = "`{id}` {title} · `{by}` · `{session}`"
    wakeup_no_id = "没有安排 `{id}`；`/wakeups all` 列出全部。"
    wakeup_unknown = "这里没有编号 {number}；`/wakeups` 列出全部。"
    wakeup_runs = "“{title}”现在做一次；原来的时间不变。"
    wakeup_dropped = "已删除：“{title}”。"
    wakeup_is_paused = "已暂停：“{title}”。`/wakeups resume {number}` 让它继续。"
    wakeup_is_over = "“{title}”没有下一次了。"
    wakeup_resumed = "“{title}”继续；下一次是 {time}。"
    wakeup_due_since = "{time} 就该做了；这里没有程序在运行：`uncaged serve`"
    wakeup_next = "下一次 {time}"
    wakeup_pause = "已暂停（{why}）"
    wakeup_pauses: ClassVar[Mapping[str, str]] = {
        "paused": "有人暂停的",
        "failures": "一再失败",
        "nobody may": "安排它的人不能再和我说话",
    }
    wakeup_last = "上一次 {time}：{outcome}"
    wakeup_outcomes: ClassVar[Mapping[str, str]] = {
        "said": "说了话",
        "silent": "没有要说的",
        "failed": "失败",
        "skipped": "没有做",
        "held": "安静时段里没有说",
    }
    wakeup_cost = "{tokens:,} token"
    wakeup_skipped = "跳过 {count} 次"
    wakeup_not_there = "错过 {count} 次"
    quiet_none = "这里没有设置安静时段。"
    quiet_now = "{hours}（{zone}）我不在这里主动说话；这期间的事等结束后一起说。"
    quiet_how = "`/quiet 22:00-07:00` 设置，`/quiet off` 取消。"
    quiet_off = "这里不再有安静时段。"
    quiet_over = "安静时段里有这些事："
    heartbeat_name = "心跳"
    heartbeat_off = "心跳已关闭：我不会自己查看有没有新情况。"
    heartbeat_how = (
        "`/heartbeat 30m` 让我每30分钟查看一次，最短一分钟（`1m`），最长一天（`1d`）；"
        "`/heartbeat off` 关闭。"
    )
    heartbeat_set = (
        "我每{span}查看一次有没有新情况，下一次在 {time}，要紧的事在这里告诉你。"
        "没有新情况时不花任何费用，并且下一次间隔加倍，最长一天；有消息或来信时恢复原来的间隔。"
        "`/heartbeat off` 关闭。"
    )
    heartbeat_ended = "心跳现在关闭了。"
    heartbeat_now = "我每{span}查看一次有没有新情况；下一次在 {time}。"
    heartbeat_paused = "我每{span}查看一次有没有新情况，但现在暂停：{why}。"
    heartbeat_elsewhere = "要紧的事在 {chat} 告诉。"
    heartbeat_cost = "没有新情况时不花费用；最近30天运行 {runs:,} 次，共 {tokens:,} 个 token。"
    snooze_how = "`/snooze 10分钟` 或 `/snooze 明天上午九点`；`/snooze 3 1小时` 用于编号 3。"
    snooze_none = "这里还没有说过可以再说一次的提醒。"
    snooze_set = "到时我再说一次“{text}”：{when}。`/done` 可以取消。"
    snooze_keeps = "它原来的时间不变。"
    reminder_done = "完成：“{text}”。"
    reminder_is_done = "“{text}”已经完成了。"
    button_ten_minutes = "10 分钟后"
    button_hour = "1 小时后"
    button_tomorrow = "明天"
    button_done = "完成"
    reminder_again = "下一次是 {time}；`/wakeups` 可以让它不再来。"
    wakeup_snoozed = "再说一次"
    remind_how = (
        "`/remind 时间 内容`，例如 `/remind 明天上午九点给鲍勃打电话`，"
        "或 `/remind 每个工作日早上八点吃药`。"
    )
    remind_of_what = "要提醒你什么？例如 `/remind 明天上午九点给鲍勃打电话`。"
    remind_too_long = "一条提醒最多 {most:,} 个字符。"
    remind_full = (
        "没有位置再放安排了。`/wakeups` 列出这个聊天的安排，`/wakeups drop N` 可以腾出位置；"
        "主人用 `/wakeups all` 可以结束所有人的安排。"
    )
    places_taken: ClassVar[Mapping[str, str]] = {
        "all": "{most} 个位置都用完了。",
        "reserve": "{most} 个位置已用 {own} 个，最后 {share} 个只给主人。",
        "person": "{most} 个位置里你有 {own} 个，每个人最多 {share} 个。",
        "guest": "{most} 个位置里你有 {own} 个，每位客人最多 {share} 个。",
        "guests": "{most} 个位置里客人有 {own} 个，所有客人一共最多 {share} 个。",
    }
    remind_over = "那个时间已经过了。"
    remind_set = "到时我会说“{text}”：{when}。`/wakeups drop {number}` 可以取消。"
    remind_known = "已经有了，编号 {number}：“{text}”，{when}。"
    remind_at_terminal = "（`uncaged serve` 运行时才会提醒；之前到时间的，等它启动后再说。）"
    wakeup_missed = "（{time} 就该做了；我没有运行的时候一共错过了 {count} 次。）"
    wakeup_late = "（本该在 {time}，那时我没有运行。）"
    wakeup_too_late = (
        "该在 {time} 做的时候我没有运行，所以这次不做了：“{title}”（错过 {count} 次）。"
    )
    wakeup_paused = (
        "“{title}”连续失败了 {count} 次，我把它暂停了。`/wakeups resume {number}` 让它继续。"
    )

    missed_meanwhile = "这期间来的 {count} 条消息我没有处理：还有用的请稍后再发一次。"
    missed_before = "停下期间来的 {messages}我没有处理：还有用的请再发一次。"

    gave_up = "处理你上一条消息时不止一次出了问题，我只好放弃它。下一条消息会重新开始。"
    too_long = "你的消息放不进模型 {window:,} token 的窗口。请分几次发，或发短一点。"
    newer_version = (
        "这个聊天由更新的版本保存，我读不了。什么都没有丢：你的消息在死信里等着，"
        "直到我的主人再次运行更新的版本。"
    )
    lost_memory = "你上一条消息我没能处理：我对这个聊天的记录读不出来。我的主人可以在死信里看到它。"
    agents_how = "`/agents stop 名称` 停掉一个；enable 启用，disable 停用，archive 归档。"
    agents_unknown = "没有名为 `{name}` 的智能体；`/agents` 列出全部。"
    agents_changed = "`{name}` 现在{state}。"
    agents_refused = "`{name}` {state}。接下来可以：{steps}。"
    agent_states: ClassVar[Mapping[str, str]] = {
        "running": "运行中",
        "enabled": "已启用",
        "disabled": "已停用",
        "archived": "已归档",
        "purged": "正在清除",
        "working": "正在工作",
        "idle": "空闲",
        "shutdown": "已关机",
    }
    subagent_report = "`{name}` 报告：\n{text}"
    subagent_stuck = "`{name}` 卡住了：{why}。它最后说的是："
    nothing_reported = "它什么都没有报告。"
    out_of_time = "这件事的时间用完了。已经做的都保留着：让我继续就行。"
    no_answer = "模型没有给出回答。请再问一次，或换个说法。"
    cut_length = "（回答到了模型的长度上限，被截断了。）"
    cut_filtered = "（回答被模型提供方的过滤器截断了。）"
    cut_refused = "（模型拒绝回答，或拒绝继续。）"
    withheld_filtered = "模型提供方的过滤器扣下了这个回答。请换个说法。"
    withheld_refused = "模型拒绝回答这个。请换个说法。"
    tool_failed = "（`{tool}` 没有成功：{meaning}。）"
    could_not_answer = "我没能得到回答：{why}。"
    model_failures: ClassVar[Mapping[str, str]] = {
        "key": "模型不接受我的密钥。在我的主人处理之前，再试也没有用",
        "money": "模型账户的余额用完了。在我的主人处理之前，再试也没有用",
        "rate": "模型暂时不再接受请求",
        "window": "内容超出了模型的窗口。发送 /new 重新开始，或发短一点",
        "refused": "模型的提供方拒绝回答这个。换个说法也许可以，原样再试没有用",
        "unreachable": "连不上模型",
        "late": "模型没有及时回答",
        "empty": "模型没有给出回答",
        "down": "模型暂时出了故障",
        "other": (
            "模型不接受这个请求。换个说法或发送 /new 也许可以，原样再试没有用；我的主人可以看到原因"
        ),
        "model": "我要用的模型已经不存在了。在我的主人选择另一个之前，再试也没有用",
    }
    model_busy = "模型暂时不再接受请求。"
    model_away = "模型暂时没有回应。"
    work_waits = "这里自己在做的事先等着，模型一有回应就接着做。"
    try_again_in = "你的消息我留着，{time}后再试。"
    please_try_in = "请{time}后再试。"
    please_try_soon = "请稍后再试。"

    used_up = "你今天的 {allowed}已经用完。{reset}"
    used_today = "今天已用：{parts}。{reset}"
    used_part = "{used:,} / {most}"
    resets = "{time} 重新计算，还有 {hours} 小时 {minutes} 分钟。"

    your_code = (
        "你的配对码是 `{code}`，{minutes} 分钟内有效。把它交给我的主人：主人给我发"
        " `/pair {code}`，或在我的机器上运行 `uncaged channel pair {code}`。你在这里的编号是"
        " `{id}`。"
    )
    stranger = "我只和我的主人允许的人说话。{your_code}"
    code_still_valid = "你的配对码仍然有效。请交给我的主人；{minutes} 分钟后可以得到新的。"
    no_owner: ClassVar[Mapping[str, str]] = {
        "open": "我还没有主人。",
        "members": "我只和主人允许的人说话，而我还没有主人。",
        "owners": "我只和我的主人说话，而我还没有主人。",
    }
    at_the_machine = (
        "如果是你在运行我：在我的机器上打开终端，运行 `uncaged serve`，把它显示的码"
        "发给我；或设置 `UNCAGED_OWNERS={id}` 再重新启动我。"
    )
    let_yourself_in = (
        "只想和我说话、不做主人的话，在那里运行 `uncaged channel pair {code}`；"
        "有主人时由主人发 `/pair {code}`。这个码 {minutes} 分钟内有效。"
    )
    owners_talk = "我只和我的主人说话。你在这里的编号是 `{id}`。"
    let_in = "我的主人已允许你和我说话。想做什么直接说；/help 会告诉你我能做什么。"
    linked_in = "对我来说，你现在和 `{who}` 是同一个人。想做什么直接说；/help 会告诉你我能做什么。"
    link_waits = (
        "{person} 在等我的主人决定那是不是你，结果我会在这里告诉你。"
        "{hours} 小时内没有答复，就仍然是陌生人。"
    )
    link_asked = (
        "{who} 说 {person} 是自己在另一个平台上的编号。关联之后，它可以做成员能做的事：和我说话，"
        "两个编号共用每天的额度。请先向本人确认，再发 `/pair accept {id} as {first}` 或"
        " `/pair refuse {id} as {first}`。{hours} 小时内有效。"
    )
    link_asked_head = "等待关联："
    link_asked_line = "- {person} 关联到成员 `{first}`：`/pair accept {id} as {first}` 或 `refuse`"
    link_accepted = "对我来说，{person} 现在和 `{first}` 是同一个人，可以做成员能做的事。"
    link_refused = "我的主人没有把 {person} 关联到 `{first}`；它仍然是陌生人。"
    link_confirm = (
        "{person} 会成为你，也就是**我的主人**：它可以做你能做的一切，"
        "例如让人进来、修改我、批准我要做的事。"
        "那个账号是你的吗？这个码是我当着你的面给它的吗？是的话，请在 {minutes} 分钟内发"
        " `/pair confirm {code}`。如果是别人让你这么做，就什么都不要发。"
    )
    now_owner = "你现在是我的主人了。/help 看看我能做什么，/pair 看看还有谁可以和我说话。"
    now_member = "你现在是成员，不再是我的主人了。/help 看看我能做什么。"
    wrong_code = "码不对。你还有 {tries}机会。"
    last_wrong_code = "码不对，而且这是最后一次机会。`uncaged serve` 重新启动时会显示新的码。"
    no_tries_left = "机会已经用完了。`uncaged serve` 重新启动时会显示新的码。"
    ask_privately = "请在私聊里问我：这会提到别人的名字。"
    guest_again = "{person} 又是访客了。"
    linked_now = "{person} 现在就是你，权限和你一样。聊天和记忆仍然分开。"
    may_talk_now = "{person} 现在可以和我说话了。"
    you_are = "你是 `{who}`：{role}{since}。"
    you_are_unpaired = "你是 {platform} 上的 `{who}`，还没有和我配对。"
    since_day = "，{day} 由 `{by}` 允许"
    role_names: ClassVar[Mapping[str, str]] = {"owner": "主人", "member": "成员", "guest": "访客"}
    this_chat = "这个聊天是 `{session}`。"
    waiting_head = "在等待："
    waiting_line = "- {person}，还剩 {minutes} 分钟"
    let_in_head = "已允许："
    let_in_line = "- {person}，{role}，自 {day}，由 `{by}`"
    same_line = "- {person}，与 `{first}` 是同一个人，{role}，自 {day}"
    more_people = "- 还有 {count:,} 人：`uncaged channel pair --list`"
    settings_owners = "设置里的主人：{owners}"
    nobody = "没有人在等待，也还没有允许过谁。"
    pair_how = (
        "`/pair 码` 让人进来，`/pair 码 me` 让另一个平台上的你自己进来，"
        "`/pair 编号 member` 按编号让人进来；`/pair remove 编号` 请人离开。"
    )
    refused_because: ClassVar[Mapping[str, str]] = {
        "EINVAL": "这个不行：码由字母和数字组成，例如 4F7K-9QXZ；编号形如 telegram:123。",
        "ENOENT": "没有找到：这个码没有开放或已过期，或这个编号没有被允许过。请再看一遍。",
        "ELIMIT": "人数已满，先用 `/pair remove 编号` 请人离开。",
        "ELAST": "这是最后一位主人：请先让别人成为主人。",
        "ECONFLICT": "这个码已经用过了。请对方再写一次，会得到新的码。",
    }

    soul_updated = "灵魂已更新。"
    soul_kept = "灵魂保持原样。"
    soul_never_changed = "灵魂从未改过。"
    soul_began = "- 0：任何人改动之前的样子"
    soul_which = "请说明版本：`/soul rollback N`；`/soul history` 会列出来。"
    soul_back = "灵魂又回到第 {version} 版了。"
    soul_meanwhile = "这期间别人改过了，请再发一次。"
    soul_unfinished = "模型没有说完。"
    soul_none = "模型的回答不是灵魂。"
    soul_too_long = "模型写了 {count:,} 个字符，最多保留 {most:,} 个。"
    version_line = "- {version}：{written}，{by}"
    version_size = "（{count:,} 个字符）"

    version_refused: ClassVar[Mapping[str, str]] = {
        "ENOENT": "没有这个版本。",
        "EINVAL": "没有这个版本。",
        "EDAMAGED": "这个版本读不出来；请选另一个。",
        "ETOOBIG": "这个版本太长了；请选另一个。",
    }

    mem_nothing_new = "没有新的消息可以记。"
    mem_triggered = "已经记下来了。"
    noting = "正在把较早的消息记下来；按 Ctrl-C 可以推迟"
    while_away = "离开期间的消息"
    unread_lost = "更早的 {count} 条消息已不在：只保留最近 {most} 条"
    thinking = "正在思考……"
    words_were_draft = "上面的文字只是草稿"
    words_stop_here = "到此停止"
    mem_failed = "这次没能记下来。"
    mem_never = "这个聊天还没有写过记忆。"
    mem_back = "这个聊天的记忆又回到第 {version} 版了；`/mem history` 会列出所有版本。"
    mem_kept = "记忆保持原样。"
    mem_which = "请说明版本：`/mem rollback N`；`/mem history` 会列出来。"
    memory_refused = (
        "我保住了对这个聊天的记忆：模型两次重写时都漏掉了 {count:,} 件事里的 {lost:,} 件，"
        "所以我只加上了新的。`/mem history` 看变化，`/mem rollback N` 回到旧版本。"
    )
    self_preferences = (
        "我记下了在所有聊天里该怎么做，是我的文档 `self` 的第 {version} 版。"
        "`uncaged agent doc history self` 查看，`uncaged agent doc rollback self N` 撤回。"
    )
    memory_shortened = (
        "我对这个聊天的记忆满了，模型把它写短了：{count:,} 件事里有 {lost:,} 件没了或变了。"
        "`/recall 关键词` 可以找到它们，`/mem history` 看变化，`/mem rollback N` 回到旧版本。"
    )
    nothing_remembered = "这个聊天还没有记住什么。"
    mem_takes = " 用 /mem 把这里说过的记下来。"
    kb_how = "发送 `/kb 问题`，我在知识库里找答案。"
    kb_nothing = "知识库里没有这方面的内容。"
    kb_passage = "**{title}**（{place}）：\n> {text}\n\n来源：{source}，{day}\n{added}"
    kb_added = "由 `{by}` 加入"
    kb_stated = "作者：{author}（由主人 `{by}` 注明）"
    nothing_found = "没有找到：我记住的和这里说过的都没有。"
    forget_how = "请发送 `/forget 编号`，编号在 /recall 里。"
    nothing_with_id = "这里没有这个编号的记忆。"
    forgotten = "已忘掉：{words}"
    still_in_memory = (
        "这个聊天的记忆里还提到它：“{line}”。用 `/mem` 加上你的话可以改，在我的机器上运行"
        " `uncaged agent doc edit memory --session CHAT` 可以删掉这一行。"
    )
    remembered_last = "最近记住的："
    remembered = "记住的："
    said = "说过的："
    disputed = "，有争议"
    memory_over = "（{day} 起不再成立：{words}）"
    ended = "，{day} 起不再成立"

    link_private = "请在私聊里发给我：我对你的记忆不属于群。"
    link_withdrawn = (
        "这个码在这里被别人看到了，所以已经作废。请在你和我的私聊里发送 /link 要一个新的，"
        "再把它发到你的另一个私聊。"
    )
    link_code = (
        "你的码是 `{code}`，{minutes} 分钟内有效，只能用一次。请在你和我的另一个私聊里（任何平台）"
        "发送 `/link {code}`。之后两边共用我的记忆：你在一边让我记住的，另一边我也知道。"
        "说过的话留在各自的聊天里，/unlink 可以分开。不要把码给别人：别人会看到我对你的记忆。"
    )
    link_shared = "这个聊天和 {chats} 共用记忆。"
    link_done = (
        "从现在起，这个聊天和 {chats} 共用一份记忆：这里记住的那边也知道，反过来也一样。"
        "说过的话留在各自的聊天里。/recall 看记忆，/unlink 分开。"
    )
    link_came = "这里的 {things}一起带过去了，什么也没有丢。"
    link_told = (
        "从现在起，这个聊天和 {chat} 共用一份记忆：这里记住的那边也知道，反过来也一样。"
        "说过的话留在各自的聊天里。如果那不是你的聊天：请先用 /forget 去掉它不该知道的，"
        "再发送 /unlink。"
    )
    link_no_code = "没有这个码，或者它已经失效了。请在另一个聊天里发送 /link 要一个新的。"
    link_other_person = (
        "这个码来自 {chat}，对我来说那是另一个人。"
        "在那里说话的人会看到我在这里记住的一切，也能改动。"
        "那个聊天是你的吗？是的话，请在 {minutes} 分钟内发 `/link {code}`。"
        "如果是别人让你这么做，就什么都不要发。"
    )
    link_own_code = "这个码是给你的另一个聊天用的：请在那里发送。"
    link_too_often = "次数太多了，请一小时后再试。"
    link_taken = "这个聊天已经共用记忆了。请在这里发送 /link，把码发到另一个聊天；或者先 /unlink。"
    link_too_many = "最多 {most} 个聊天共用一份记忆。"
    link_too_large = "两个聊天的记忆合在一起太多了。请先 /forget 不再需要的，再用 /link 重新开始。"
    web_private = "请在私聊里发这个：谁有登录码，谁在我的页面上就是你。"
    web_for_members = "我的页面只给主人允许的人用。"
    web_code = (
        "你的登录码是 `{code}`，{minutes} 分钟内有效，只能用一次。请在浏览器里打开我的页面（地址以"
        " `/ui` 结尾，我的主人知道），在那里输入。不要把码给别人：别人在那里就成了你。"
    )
    unlink_alone = "这个聊天没有和别的聊天共用记忆。/link 可以共用。"
    unlink_done = (
        "这个聊天重新有自己的记忆了。到现在为止记住的两边都保留：这里和 {chats}。"
        "以后的留在说的那一边。"
    )
    unlink_told = (
        "{chat} 不再共用这个聊天的记忆了。到现在为止记住的两边都保留。以后的留在说的那一边。"
    )

    part_not_taken = "（聊天平台没有接受我回答的这一部分。请让我换个说法。）"
    no_file = "（回答后面还有 {rest:,} 个字符，而这个聊天不收我的文件。请让我分几次发。）"
    draft_withdrawn = "（我写到一半的内容已撤回，这里不是回答。）"
    no_picture = "（这里本来有一张图片，但这个聊天不收我的文件。请私聊我要。）"
    no_file_here = "（这里本来有一个文件：{name}。这个平台不收我的文件。可以问我里面写了什么。）"
    file_is_gone = "（这里本来有一个文件：{name}。文件只保留一周，现在已经没有了。）"
    whole_answer = "完整的回答：{count:,} 个字符。"
    invitation_declined = (
        "最近邀请我的次数太多，或者我所在的房间已经达到上限。请让我的所有者邀请我。"
    )
    encrypted_room = (
        "这个房间是加密的，我读不了加密的消息，也不会再在这里写任何内容，包括原定发到这里的提醒。"
        "请邀请我进入一个没有加密的房间，我会在那里回答。"
    )
    answered_too_fast = (
        "我已经连续回答了 {count} 条消息，每条都是在我回答后几秒内发来的。"
        "如果对方是程序，我们会没完没了地互相回复，所以这一条我先不回答。"
        "如果你是真人，请过半分钟再发一次。"
    )
    changed_too_late = "之后再改动的消息，我不会重新看一遍。请把改动的内容作为新消息发给我。"

    # --- Discord's commands ---
    discord_ask = "对智能体说话"
    discord_text = "你要说的话"
    discord_file = "附带的文件"
    discord_words = "命令后面的内容"

    when_no_time = (
        "我没看出时间。可以这样写：`明天上午九点给鲍勃打电话`，或 `工作日早上八点看新闻`。"
    )
    when_past = "{words}已经过去了。要改到什么时候？"
    when_past_at = "{time} 已经过去了。要改到什么时候？"
    when_two_readings = "你是指 {first}，还是 {second}？"
    when_no_such_date = "没有这个日期：{words}。可以这样写：`12月24日下午六点`。"
    when_no_workdays = "我不会数工作日。可以这样写：`周一上午九点`。"
    when_no_such_clock = "没有这个时刻：{words}。可以这样写：`下午六点半`。"
    when_too_often = "最多每分钟一次。可以这样写：`每5分钟`。"
    when_no_zone = "我不认识时区 {words}。{hint}"
    when_zone_example = "可以这样写：`Europe/Berlin` 或 `东京时间`。"
    when_no_cron = (
        "{words} 不是会到来的 cron 表达式。五个字段是分、时、日、月、星期，例如 `0 8 * * 1-5`。"
    )
    when_which_clock = "几点？可以这样写：`今天下午六点`。"
    when_which_times = "一天中的哪些时间？可以这样写：`每天上午9点和下午6点`。"
    when_unread = "我不明白其中的 {words}。可以这样写时间：`明天19:30`，或 `每周一和周四上午九点`。"
    when_unit = "是分钟、小时还是天？可以这样写：`10分钟后`。"
    when_how_often = "多久一次？可以这样写：`每小时` 或 `每天上午9点`。"
    when_which_start = "{day} 几点开始？可以这样写：`从下周一上午八点开始`。"
    when_which_day = "哪一天？可以这样写：`每年一月的1号上午九点`。"
    when_which_date = "是哪一天？可以这样写：`每年2月14日上午九点`。"
    when_too_many = "一个提醒装不下这么多时间。请分成几个提醒。"
    when_no_end = "到什么时候结束？可以这样写：`直到周五` 或 `直到12月24日`。"
    when_which_one = "是哪一个？请只写一个时间，例如 `明天上午九点`，或写 `每周一和周四上午九点`。"
    when_no_exception = "我不会排除某些天。请写出要来的日子，例如 `每周一到周四早上八点`。"
    when_never = "结束时间早于第一次，所以永远不会到来。要到什么时候结束？"
    when_no_calendar = (
        "我可以按分钟、小时、天、周重复，也可以每 1、2、3、4、6 或 12 个月重复。要哪一种？"
    )
    weekday_names: ClassVar[Mapping[int, str]] = dict(
        enumerate((*("星期日", "星期一", "星期二", "星期三", "星期四", "星期五", "星期六"),))
    )
    list_mark = "、"
    when_at = "{day} {clock}（{zone}）"
    when_calendar = "{days} {clocks}（{zone}）"
    when_hours = "{days} {first} 到 {last} 每小时（{zone}）"
    when_span = "每{span}（{zone}）"
    when_cron = "按 {cron}（{zone}）"
    when_from = "从 {start} 起，{when}"
    when_until = "{when}，到 {end} 为止"
    when_times = "{when}，共 {count} 次"
    when_day = "每天"
    when_days = "每 {count} 天"
    when_workdays = "每周一到周五"
    when_weekdays = "每{names}"
    when_weeks = "每 {count} 周{names}"
    when_month = "每月 {days} 日"
    when_months = "{months}的{days}日"
    when_months_end = "{months}的最后一天"
    when_nth_months = "{months}每月{nth}个{name}"
    when_in_months = "{months}的{days}"
    when_month_end = "每月最后一天"
    when_nth = "每月{nth}个{name}"
    when_nth_names: ClassVar[Mapping[int, str]] = dict(
        enumerate(("最后一", "第一", "第二", "第三", "第四", "第五"))
    )
    when_year = "每年{date}"
    when_next = "接下来：{times}（{zone}）。"

    def tell_time(self, now: datetime, zone: str) -> str:
        """See `Texts`."""
        where = f"（{zone}）" if zone else ""
        return f"现在是 {now:%H:%M}{where}，{_format_day(now)}。"

    def tell_day(self, now: datetime) -> str:
        """See `Texts`."""
        return f"今天是 {_format_day(now)}（{now:%Y-%m-%d}）。"

    def tell_date(self, day: datetime) -> str:
        """See `Texts`."""
        return f"那天是 {_format_day(day)}（{day:%Y-%m-%d}）。"

    def format_day(self, day: date) -> str:
        return _format_day(day)

    def format_year_day(self, month: int, day: int) -> str:
        return f"{month}月{day}日"

    def name_month(self, month: int) -> str:
        return f"{month}月"

    def format_exact_span(self, minutes: int) -> str:
        if minutes % 60:
            return f" {minutes} 分钟" if minutes > 1 else "分钟"
        return f" {minutes // 60} 小时" if minutes > 60 else "小时"

    def join_words(self, words: Sequence[str]) -> str:
        """See `Texts`."""
        return "和".join(filter(None, ("、".join(words[:-1]), *words[-1:])))

    def count_turns(self, count: int) -> str:
        return f"{count:,} 轮"

    def count_tokens(self, count: int) -> str:
        return f"{count:,} 个 token "

    def count_things(self, count: int) -> str:
        return f"{count:,} 条记忆"

    def count_tries(self, count: int) -> str:
        return f"{count} 次"

    def more_than(self, count: int) -> str:
        return f"超过 {count} "

    def count_messages(self, count: str) -> str:
        return f"{count} 条消息"

    def format_span(self, seconds: float) -> str:
        if seconds < 50:
            return f" {max(round(seconds / 5) * 5, 5)} 秒"
        minutes = round(seconds / 60)
        if minutes < 60:
            return f" {max(minutes, 1)} 分钟"
        hours = round(minutes / 60)
        if hours < 48:
            return f" {max(hours, 1)} 小时"
        return f" {round(hours / 24)} 天"


def _format_day(now: date) -> str:
    return f"{now.year}年{now.month}月{now.day}日，星期{'一二三四五六日'[now.weekday()]}"


TEXTS = Chinese()
