"""The texts in English, which every other language falls back to.

A text in braces is filled in where it is used. A text that a language cannot say with one pattern
is a method.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import ClassVar, Final


class Texts:
    """All texts of the agent's own, in one language.

    `code` is the language's code (ISO 639), `name` what its speakers call it. A text is taken to be
    in this language by its `script`, the ranges of characters that only this language uses here, or
    by the `words` that nobody can do without, in short texts by the `greetings`.
    """

    code = "en"
    name = "English"
    script: ClassVar[tuple[tuple[str, str], ...]] = ()
    foreign_script: ClassVar[tuple[tuple[str, str], ...]] = ()
    """Characters that show that a text is in another language with the same script."""
    words: ClassVar[frozenset[str]] = frozenset(
        "the a an is are was were be i you he she it we they my your his her this that these those"
        " what when where who why how which do does did can could will would should have has had"
        " not no yes please and or but of to for from with in on at me about"
        " many much".split()
    )
    decimal_mark = "."
    command_sign = "/"
    """What stands before the name of a command where these texts are read."""
    greetings: ClassVar[frozenset[str]] = frozenset(
        "hello hi hey thanks thank ok okay bye good morning".split()
    )
    """Words that show a language where nothing else does."""

    # --- a first meeting, and help ---
    hello = (
        "Hello, I am {name}. Write me what you need, in your own words: I find the right tool, or"
        " make one, and remember what you tell me."
    )
    hello_without_making = (
        "Hello, I am {name}. Write me what you need, in your own words: I find the right tool for"
        " it, and remember what you tell me."
    )
    try_examples = "Try one of these:"
    examples: ClassVar[Mapping[str, str]] = {
        "unit-convert": "convert 10 km to miles",
        "date-math": "add 30 days to 2027-01-31",
        "encode": "encode hello world in base64",
    }
    """Capabilities of the library, and what to write for each of them."""
    more_help = "/help shows what else you can send."
    help_head = "Just write what you need. These commands help:"
    help_owner_head = "For you as my owner:"
    help_group = "In a group, mention me or reply to me, so that I know that you mean me."
    help_hints: ClassVar[Mapping[str, str]] = {
        "slack": "On Slack write `!` instead of `/`, as in `!status`, or `/uncaged status`.",
        "matrix": "On Matrix write `!` instead of `/`, as in `!status`.",
    }
    """How commands are written on a platform that keeps the slash for itself."""
    help_offline = (
        "Nobody has connected a language model yet, so I only understand plain requests. My owner"
        " can connect one: `uncaged setup model` (or `UNCAGED_LLM_URL`)."
    )
    help_no_deploy = "I use the tools that are there; I make no new ones here."
    meanings: ClassVar[Mapping[str, str]] = {
        "start": "says hello, with examples to try",
        "help": "shows what you can send",
        "new": "starts a new conversation; what I remember stays",
        "language": "shows or sets the language of my own messages",
        "timezone": "shows or sets the time zone of this chat",
        "remind": "reminds you at a time, such as tomorrow at nine call Bob",
        "snooze": "says the last reminder again later, such as in 10 minutes",
        "done": "ends the last reminder, so that it is not said again",
        "tasks": "shows the board of tasks; adds, ends, assigns or reopens one",
        "wakeups": "shows what I do here by myself and when; pauses, resumes or drops it",
        "quiet": "shows or sets the hours in which I say nothing here by myself",
        "heartbeat": "shows or sets how often I look by myself whether something is new",
        "files": "shows the files that I keep here; with a path one of them, or what changed in it",
        "hooks": "shows where programs hand me something; drops one of them",
        "tools": "shows the tools that I have at hand here",
        "listen": "shows whether I read along in a group; owners switch it on or off",
        "status": "shows how I am, and what I am doing",
        "usage": "shows how many tokens were used here, and what is left",
        "spent": "shows the tokens of the last days, and what they cost",
        "context": "shows what fills my window",
        "compact": "makes room: older messages go to the archive",
        "history": "shows the last messages of this conversation",
        "export": "gives you this conversation as a file",
        "model": "shows which model answers here, or chooses another of its endpoint",
        "btw": "answers a side question that leaves no trace",
        "whoami": "shows who you are to me, and what you may use today",
        "link": "lets your private chats with me share what I remember",
        "web": "sends you a code that opens my page in a browser",
        "unlink": "gives this chat a memory of its own again",
        "pair": "shows who may talk to me, lets somebody in, or takes them out",
        "soul": "shows who I am; owners change it with words",
        "policy": "shows what I may do, and changes it",
        "skills": "shows my skills, the rules that I follow for certain tasks; pins or removes one",
        "proposals": "shows what waits for your approval; takes an applied change back",
        "approve": "lets a proposal happen, or a teammate's plan",
        "deny": "lets a proposal or a plan not happen; words say why",
        "mem": "takes what was said here into memory, and your words with it",
        "recall": "shows what I remember here; with words, searches it and what was said",
        "forget": "takes one remembered thing away, by the id that /recall shows",
        "kb": "looks for the answer to a question in the knowledge base",
        "stop": "stops what I am doing",
        "halt": "halts me in every chat, or only here",
        "agents": "lists the agents below me, or stops, enables, disables or archives one",
        "agent": "shows which agent answers in this chat, or lets another one answer",
        "team": "shows the team and how far it has come, tells one something, or ends work",
        "inbox": "shows what teammates wrote to this chat",
        "unlock": "lets me go on after a halt",
    }
    arguments: ClassVar[Mapping[str, str]] = {}
    """What may follow a command, where that is said otherwise than in `COMMANDS`."""

    # --- commands in general ---
    with_space = "Write it as `/{name}`, with a space before what follows."
    without_space = "Write it as `/{name}`, without a space after the slash."
    unknown_command = "Unknown command /{name}.{hint} /help shows all commands."
    did_you_mean = " Did you mean /{name}?"
    takes_no_argument = "/{name} takes no argument. Send `/{name}` alone."
    owners_only = "Only my owner can do that."
    not_here = "In a group only my owner can do that."
    send_alone = "Send it alone, or with `here` for this chat."
    # --- a team ---
    task_done = "#{id} done by {owner}: {text}"
    task_done_by_nobody = "#{id} done: {text}"
    task_stuck = "#{id} is stuck: {text}"
    task_dropped = "#{id} was dropped: {text}"
    task_files = "Files: {files}"
    team_said = "{name}: {text}"
    team_mail = "{name} to {to}: {text}"
    team_since = "for {span}"
    team_leg = "leg {leg}"
    team_step = "last step {step}"
    team_thinks = "asks the model"
    team_at_work = "at work"
    team_elsewhere = "at work for another chat"
    team_progress_ended = "Team: nobody is at work any more."
    team_hears: ClassVar[Mapping[str, str]] = {
        "": (
            "I say here what comes of the work, what is asked, and how it goes. `/team mute` leaves"
            " out how it goes; `/team all` adds what teammates write to each other."
        ),
        "mute": (
            "I say here only what comes of the work and what is asked. `/team unmute` ends that."
        ),
        "all": (
            "I say here everything, also what teammates write to each other. `/team unmute` ends"
            " that."
        ),
    }
    team_stuck = "{name} is stuck: {why}"
    limits_reached: ClassVar[Mapping[str, str]] = {
        "steps": "it took {most:,} steps, and one piece of work may take no more (`UNCAGED_TICKS`)",
        "legs": "it was not done after {most:,} turns, and one piece of work may take no more",
        "seconds": "it took longer than {span}, and one turn may take no more",
        "workers": "it was handed on {most:,} times, and one turn may be no more",
        "chain": (
            "all that one cause sets off may use {most:,} tokens"
            " (`UNCAGED_CHAIN_TOKENS`), and this has used {spent:,}"
        ),
        "max_steps": "it reached `max_steps` ({most:,})",
        "max_tokens": "it reached `max_tokens` ({most:,})",
        "max_walltime": "it reached `max_walltime` ({most:,})",
    }
    """Why a piece of work ended before it was done, by the limit that it has reached."""
    own_limit = "I ended something that I did by myself: {why}."
    said_last = "So far: {text}"
    team_has_shut_down = "{name} has shut down."
    team_plan = (
        "{name} asks for approval of a plan (request_id={id}):\n{text}\n\n`/approve {id}` lets it"
        " go on, `/deny {id} WORDS` says why not. Until then {name} waits."
    )
    team_waits = "waits for an answer to its plan {id}"
    team_asks = "{name} asks ({id}): {text}\n\nReply to this, or send /team tell {name} WORDS."
    team_told = "{name} reads that now."
    team_told_halted = "I am halted; {name} reads that when I am unlocked."
    team_reads_nothing = "{name} has shut down and reads nothing. Ask me to spawn {name} again."
    team_not_for_guests = "Guests set nobody to work here."
    team_none = "No teammates."
    team_head = "Team: {name}"
    team_spawn_hint = "Ask for one, such as: spawn alice as a coder and let her find work herself."
    team_stopping = "{names} will shut down at once."
    team_stopped = "{names} had shut down, and nobody wakes them before you do: `/team wake NAME`."
    team_woken = "Woken: {names}."
    team_stopped_by_you = "stopped by you"
    team_stopped_by_person = "stopped by a person"
    team_goes_on = "They go on: {names}."
    team_waiting = "Tasks that wait: {count} ({tasks})."
    team_anybody = "anybody"
    limit_setting = "The setting is `{setting}`."
    team_unknown = "There is no teammate {name}."
    team_how = (
        "`/team NAME` says how far somebody has come, `/team tell NAME WORDS` tells one something."
        " `/team stop NAME` or `/team stop all` ends their work; `/team wake NAME` lets it go on."
        " `/team mute`, `/team unmute` and `/team all` say what I tell of them here."
    )
    offline_task_after = (
        "Shall it wait for another task? Then write `/tasks add SUBJECT after #1`. Nothing was"
        " added."
    )
    offline_team = (
        "Teammates, and several tasks at once, need a language model, and none is connected:"
        " `uncaged setup model` connects one. Without one, `/tasks add SUBJECT` puts one task on"
        " the board, and `/team` shows who is there."
    )
    inbox_none = "No new mail."
    agent_now = "In this chat {name} answers."
    agent_how = "These could, with `/agent NAME`: {names}."
    agent_none = "There is no other one: `uncaged agent create NAME` on the machine makes one."
    agent_set = "From now on {name} answers in this chat."
    agent_back = "`/agent {name}` brings me back."
    agent_unknown = "No agent {name} can answer here."
    agent_away = "(The agent {name} is switched off or gone, so I answer here instead.)"
    new_session = "New session started."
    stays_locked = " It stays locked. {notice}"

    # --- policy ---
    policy_denies = "My policy does not allow that: {rule}."
    policy_in_private = "I show and change my policy in a private chat alone."
    policy_meanwhile = "Somebody else changed the policy just now; it stays as they left it."
    policy_kept = "The policy stays as it is: {why}."
    policy_never_changed = "The policy was never changed."
    policy_changed = "Done: the policy is at version {version}. It counts from the next message on."
    policy_preset = "My policy is the preset `{name}`, with these rules before it:"
    policy_preset_alone = "My policy is the preset `{name}`, without rules of its own."
    policy_spending = "Caps: {payment} a payment, {day} a day, {task} a task."
    policy_how = (
        "`/policy deny guest call web-search` adds a rule, `/policy drop N` takes one out,"
        " `/policy preset careful` chooses another preset; `/policy history` and"
        " `/policy rollback N` show and bring back earlier ones."
    )
    proposal_waits = (
        "Waiting for my owner's approval: {acts}, with `{arguments}`. My owner can send `/approve"
        " {id}` or `/deny {id}` until {time}."
    )
    proposal_for_owner = (
        "{by} needs your approval in {session}: {acts}, with `{arguments}`. Send `/approve {id}` or"
        " `/deny {id}` until {time}."
    )
    grant_waits = (
        "Allow me to use `{name}`? It could then {reach}. My owner decides until {time}:"
        " `/approve {id}` is yes, `/deny {id}` is no."
    )
    grant_asked_before = "Another chat has asked first, and hears of it: ask me again after that."
    grant_for_owner = (
        "Allow me to use `{name}`? {by} needs it in {session}. It could then {reach}. Until {time},"
        " `/approve {id}` is yes, `/deny {id}` is no."
    )
    permission_meanings: ClassVar[Mapping[str, str]] = {
        "web": "search the web and read any public page (GET, HEAD)",
        "http": "send `{target}`",
        "secret": "use the secret `{target}`",
        "call": "call `{target}`",
    }
    """What may be done with a permission, by its kind."""
    button_yes = "Yes"
    button_no = "No"
    proposal_approved = "(Approved, proposal {id}: {acts}.)"
    proposal_denied = "My owner denied proposal {id}: {acts}. It is not done."
    proposal_lapsed = "Nobody decided on proposal {id} in a day: {acts}. It is not done."
    proposal_undone = (
        "Proposal {id} was approved, but could not be done: {acts}. Ask for it again if it is still"
        " wanted."
    )
    proposal_rolled_back = (
        "Proposal {id} was rolled back: {acts}. It is as it was before, as a version of its own."
    )
    proposal_more = "(There are {count:,} more characters, which `/proposals {id}` shows.)"
    proposals_none = "Nothing waits for your approval."
    proposal_line = "- {id}: {acts}, with `{arguments}`, for {by} in {session}, until {time}"
    proposals_how = (
        "`/approve ID` lets it happen, `/deny ID` does not. `/proposals rollback ID` takes back a"
        " change that was applied."
    )
    proposal_runs = "Approved: {acts}. It goes on in {session} now."
    proposal_dropped = "Denied: {acts}. It is not done."
    proposal_refused = "Nothing was changed: {why}."
    plan_line = "- {id}: plan of {name}, for {by} in {session}: {text}"
    plans_how = (
        "`/approve ID` lets a plan go on, `/deny ID WORDS` says why not; its teammate waits until"
        " then."
    )
    plan_approved = "Approved. {name} goes on with plan {id}."
    plan_rejected = "Denied. {name} reads that, and may hand in another plan than {id}."
    plan_problems: ClassVar[Mapping[str, str]] = {
        "unknown": "There is no plan {id}. `/proposals` shows those that wait.",
        "stranger": "Only my owner, or whoever wanted the work, answers the plan {id} of {name}.",
        "approved": "The plan {id} of {name} was approved already.",
        "rejected": "The plan {id} of {name} was denied already.",
        "replaced": "{name} has handed in another plan instead of {id}: {newer}.",
        "shut_down": "{name} has shut down, and with that the plan {id} has ended.",
        "disabled": "{name} is disabled, so nothing would come of the plan {id}. Enable it first.",
        "ended": "{name} does not wait for an answer to the plan {id} any more.",
        "halted": "I am halted, so nothing would come of the plan {id}. Send /unlock first.",
    }
    """Why a plan cannot be answered."""
    button_approve = "Approve {id}"
    button_deny = "Deny {id}"
    policy_closed = (
        "(I can only talk at the moment: {why}. `uncaged policy check` on my machine tells what is"
        " wrong with it.)"
    )

    # --- language ---
    language_now = "I write my own messages in {name}. I know: {known}."
    language_how = "`/language CODE` chooses one, `/language auto` follows the language you write."
    language_set = "From now on I write my own messages in {name}."
    language_auto = "From now on my own messages follow the language you write."
    language_unknown = "I do not know the language {name}. I know: {known}."

    # --- time zone ---
    zone_now = "The time zone of this chat is {zone} (UTC{offset}); it is {time} there."
    zone_kept = "What is scheduled here keeps its times in {zones}; `/wakeups` shows it."
    zone_of_settings = "This chat has no time zone of its own; I use {zone}, where it is {time}."
    zone_how = (
        "`/timezone CITY` sets it, such as `/timezone {city}`; `/timezone auto` takes it back."
    )
    zone_unknown = "I know no time zone{name}."
    zone_near = "Did you mean {zones}?"
    zone_name_city = "Name a city or a zone of the IANA database, such as `/timezone {city}`."
    zone_question = (
        "(I do not know your time zone and take times as UTC: `/timezone CITY` sets it, such as"
        " `/timezone {city}`.)"
    )
    zone_example = "Europe/London"
    """A zone in which many people speak the language."""
    time_words: ClassVar[str] = (
        r"\b(?:today|tonight|tomorrow|yesterday|next week|(?:on|next|by|until)"
        r" (?:mon|tues|wednes|thurs|fri|satur|sun)day|this (?:morning|afternoon|evening)|right now"
        r"|what(?:'s| is) the (?:time|date)|what (?:time|day|date) is|(?:at|by|until|before|after)"
        r" \d\d?(?::\d\d)?\s?(?:am|pm|o'clock)|\d\d?\s?(?:am|pm|o'clock)\b"
        r"|(?:at|by|until) \d\d?:\d\d)\b"
    )
    """A pattern of words that mean a day or a time where somebody is."""

    # --- tools, status, usage ---
    tools_always = "Always at hand: {names}."
    tools_here = "Found in this conversation:"
    tools_none = "No other tool was needed in this conversation yet; I look for one when it is."
    status_ready = "I am well, and ready for you."
    status_troubled = (
        "I am ready for you, but lately {failed} of {steps} steps went wrong: `/status all` says"
        " what."
    )
    status_weak = "I am ready for you, but too weak for work of my own: `/status all` says why."
    status_how = "`/status` says how I am, and `/status all` says it in detail."
    status_working = "I am working on a message right now."
    status_waiting = "I am waiting for the model, which does not answer at the moment."
    status_request = "Request {number} to the model has been under way for {seconds} s."
    status_calls = "At work for {seconds} s: {names}."
    status_task = "Task {id} has been at work for {seconds} s: {name}."
    hp_now = "HP for work of my own: {hp:,.0f} of {most:,.0f}."
    hp_full = "All are back at {time}."
    hp_ended = "I ended work of my own before it was done, for want of HP."
    hp_asleep = "That is too few: I do nothing by myself until about {time}."
    hp_damaged = "What I kept of them cannot be read, so I do nothing by myself until about {time}."
    hp_disabled = "I do nothing by myself until an owner writes `/agent enable`."
    hp_gone = (
        "{name} has used up all HP for work of its own, and does nothing by itself from now "
        "on. Chats go on, and nothing is lost. An owner lets it go on: `{enable}` here, "
        "or `uncaged agent enable {name}` on the machine."
    )
    hp_enabled = "{name} works by itself again, with {hp:,.0f} of {most:,.0f} HP."
    status_agent = "Agent {name} used {spent:,} of all tokens{limit}."
    status_model = "Model: {model}, with {share} of its window of {window:,} tokens in use."
    status_next = "Next here by myself: “{title}”, {time}."
    status_version = "Version {version}, running for {uptime}."
    status_version_only = "Version {version}."
    status_last_failures = "What went wrong last:"
    status_last_turn = "Last turn: {tokens}"
    usage_here = "In this chat: {tokens}"
    usage_all = (
        "In {period}: {own:,} tokens in this chat, {total:,}{limit} in all of them{unlocked}"
    )
    usage_total = "Tokens in {period}: {total:,}{limit}, {own:,} of them here{unlocked}"
    usage_own = "Tokens in {period}: {own:,} in this chat"
    usage_limit = " of {most:,}"
    usage_unlocked = "; {spent:,} of {most:,} are used since an unlock"
    usage_tokens = "{prompt:,} tokens of prompts{cached}, {completion:,} of answers"
    usage_cost = ", {cost}"
    usage_left = "Left: {left:,} tokens."
    usage_cached = " ({share} of them from the cache)"

    # --- what was spent ---
    chain_spent = (
        "I stop here (ELIMIT): everything that one cause sets off may use {most:,} tokens together,"
        " and this has used {spent:,}. The setting is `{setting}`."
    )
    spent_all = "Since {day}, in all chats: {used}"
    spent_here = "Since {day}, in this chat: {used}"
    spent_line = "- {what}: {used}"
    spent_tokens = "{tokens:,} tokens"
    spent_uncounted = " ({tokens:,} more do not count)"
    spent_cached = ", {share} of the prompts from the cache"
    spent_agents = "By agent:"
    spent_works = "By kind of work:"
    spent_chains = "The most that one cause set off, in all agents:"
    spent_chain = "{tokens:,} tokens in {events:,} events"
    spent_cause = "“{words}” ({event})"
    spent_nothing = "Since {day} no tokens were used."
    spent_how = "`/spent 30` shows the last 30 days, 90 at most."
    spent_kinds: ClassVar[Mapping[str, str]] = {
        "chat": "messages",
        "command": "commands",
        "memory": "memory",
        "wakeup": "wakeups",
        "mail": "mail",
        "task": "tasks",
    }

    # --- the model ---
    model_now = "The model here is `{name}`."
    model_how = (
        "`/model NAME` chooses another one of the same endpoint for this chat, `/model auto` goes"
        " back to the one of the settings."
    )
    model_only = "No other one can be chosen: no language model is connected."
    model_set = "`{name}` answers in this chat from now on."
    model_back = "The model of the settings, `{name}`, answers in this chat again."
    model_learnt = "Its endpoint has taught me this, which `/model reset` forgets:"
    model_forgot = "I have forgotten what its endpoint taught me: the settings count again."
    model_bad = "That is no name of a model: up to 100 characters without spaces."
    model_refused = "`{name}` does not answer ({why}), so nothing is changed."
    model_missing = "There is no model `{name}` at its endpoint, so nothing is changed."
    model_words = "Its endpoint says: {detail}"

    # --- the conversation itself ---
    context_head = "My window has {window:,} tokens; about {used:,} of them ({share}) are in use:"
    context_line = "- {part}: {count:,}"
    context_parts: ClassVar[Mapping[str, str]] = {
        "instructions": "who I am and what I follow",
        "memory": "what I remember",
        "tools": "tools",
        "people": "what was said to me",
        "answers": "what I said and called",
        "results": "what tools answered",
    }
    compact_nothing = "There is nothing to put away: this conversation has {count} messages."
    compacted = (
        "I put {count} older messages into the archive and kept {kept}. Nothing is lost: /recall"
        " WORDS finds what was said."
    )
    history_none = "Nothing was said in this conversation yet."
    history_how = "Send `/history`, or `/history N` for the last N messages, {most} at most."
    history_you = "you"
    export_cut = "(This export leaves out what was said before.)"
    btw_how = "Send `/btw` with a question: I answer it, and neither of us keeps it."

    # --- groups ---
    group_greeting = (
        "Hello, I am {name}. Here I answer whoever addresses me: {mention}reply to one of my"
        " messages, or send a command such as /help. What you say to each other I do not read."
    )
    group_mention = "write @{name} in your message, "
    group_by_name = "write my name with @ in your message, "
    group_only: ClassVar[Mapping[str, str]] = {
        "members": (
            " I only talk to people whom my owner has let in: write to me in a private chat first."
        ),
        "owners": " I only talk to my owner.",
    }
    """What the greeting ends with, by who may talk to the agent."""
    listen_begins = (
        "From now on I read along in this group. Whoever addresses me lets me see what was said"
        " since my last reply: up to {most} messages, of which I keep none for longer than a day."
        " An owner ends it with `/listen off`."
    )
    listen_hints: ClassVar[Mapping[str, str]] = {
        "telegram": (
            " Telegram shows me messages to others only when my privacy mode is off (@BotFather,"
            " `/setprivacy`), or when I am an administrator here."
        ),
    }
    """What an owner has to know beside that, by the platform."""
    listen_ends = (
        "I no longer read along in this group, and have deleted what I kept. I answer when I am"
        " addressed."
    )
    listen_is_on = "I read along in this group; an owner ends it with `/listen off`."
    listen_is_off = (
        "I do not read along in this group; an owner begins it with `/listen on`. I answer when I"
        " am addressed."
    )
    listen_private = "Here I read everything that you write. `/listen` is for groups."
    listen_impossible = (
        "I cannot read along where I run: my webhook keeps only messages to me. Whoever runs me can"
        " change that with `UNCAGED_LISTEN=yes`."
    )
    listen_how = "Send `/listen on` or `/listen off`."

    # --- files ---
    file_kinds: ClassVar[Mapping[str, str]] = {
        "photo": "photos",
        "voice": "voice messages",
        "video": "videos",
        "video_note": "video messages",
        "audio": "audio files",
        "animation": "animations",
        "document": "files",
        "story": "stories",
        "paid_media": "paid media",
        "game": "games",
        "invoice": "invoices",
        "": "messages of this kind",
    }
    """Files that nobody can open yet, by their kinds."""
    cannot_open = "I cannot open {kinds} yet. Please write what I should know."
    cannot_open_beside = "I cannot open {kinds} yet, so I answer what you wrote."
    file_problems: ClassVar[Mapping[str, str]] = {
        "empty": "{name} is empty. Please send it once more.",
        "too_large": "{name} is too large for me. Please send a smaller file, or a part of it.",
        "too_slow": "{name} takes too long to open. Please send a smaller file, or a part of it.",
        "encrypted": "{name} is protected by a password. Please send it without one.",
        "broken": "{name} is damaged or incomplete. Please send it once more.",
        "not_supported": (
            "I cannot open files like {name}. I open JPEG, PNG, WebP, GIF, PDF, docx, pptx, xlsx,"
            " xls, ods, HTML and plain text."
        ),
        "no_reader": "Here I open plain text alone, so I have not read {name}.",
        "too_many": "I open 6 files of a message. Please send {name} in another one.",
        "used_up": (
            "The 100 MB of files that may come into this chat in a day are used up, so I have not"
            " opened {name}. Please send it tomorrow."
        ),
        "members_alone": "I open files for members alone, so I have not opened {name}.",
        "not_fetched": "I could not fetch {name}. Please send it once more.",
        "no_such_page": "{name} has no such page.",
        "package_missing": (
            "I cannot open {name}: a package for it is not installed. My owner installs it with:"
            " {command}"
        ),
        "no_speech": (
            "I cannot hear {name}: nothing that turns speech into text is set up here. My owner"
            " sets it with UNCAGED_STT_URL. Please write what I should know."
        ),
        "speech_away": (
            "I could not hear {name}: what turns speech into text does not answer right now. Please"
            " send it once more later, or write what you said."
        ),
        "speech_key": (
            "I could not hear {name}: what turns speech into text does not take my key. My owner"
            " sets it with UNCAGED_STT_KEY. Please write what you said."
        ),
        "no_words": (
            "I heard no words in {name}. Please send it once more, or write what you said."
        ),
        "too_long": "{name} is longer than 10 minutes. Please send a shorter one.",
        "sound_type": (
            "I cannot hear {name}: it is a recording of the type {command}. I hear ogg, mp3, m4a,"
            " wav, webm and flac."
        ),
    }
    """Why a file is not opened, by the reason that whoever fetches, reads or hears it gives."""
    file_named = "“{name}”"
    file_unnamed = "this file"
    no_pictures = (
        "The model that I use takes no pictures, so I have not seen yours. /model shows others."
    )

    # --- the offline model ---
    offline_signature = (
        "— offline model (a planner, not a language model; uncaged setup model connects a real one)"
    )
    offline_what_i_do = (
        "I am the offline model: I understand plain requests to the standard library, and nothing"
        " else. For example:\n\n"
        "- convert 26.2 miles to km\n"
        "- what is 15% of 80\n"
        "- how many days are between 2024-03-01 and 2024-12-25\n"
        "- is 978-0-306-40615-7 a valid isbn\n"
        "- sort pear, apple, fig\n"
        "- make a qr code for https://example.com\n"
        "- remember that I prefer tea (then: what do I prefer?)\n"
        "- remind me tomorrow at nine to call Bob\n\n"
        "/help lists the commands. With a language model (UNCAGED_LLM_URL) you can talk to me about"
        " anything."
    )
    offline_talk: ClassVar[Mapping[str, str]] = {
        "hello": "Hello! What can I compute for you?",
        "morning": "Good morning! What can I compute for you?",
        "day": "Good day! What can I compute for you?",
        "evening": "Good evening! What can I compute for you?",
        "bye": "Goodbye!",
        "thanks": "You are welcome!",
        "how": "I am a small program and always fine. What can I compute for you?",
        "sad": "I am sorry to hear that. I am a small program and cannot do much about it.",
        "fine": "All right. Tell me when there is something to compute.",
    }
    """Answers to small talk."""
    offline_how = (
        "The offline model cannot write a capability, but you can: send a name and the JavaScript"
        " body in a code fence, for example\n\n````\nmake a capability reverse-text ```js\nreturn"
        " [...input.text].reverse().join('')\n```\n````"
    )
    offline_not_found = (
        "I do not understand this: I am only the offline model. Ask me “what can you do?” for"
        " examples. A language model (UNCAGED_LLM_URL) would understand more."
    )
    offline_cannot = (
        "I cannot do this: I am only the offline model. Ask me “what can you do?” for examples. A"
        " language model (UNCAGED_LLM_URL) would understand more."
    )
    offline_alarm = "It is time."
    offline_saved = "Saved as `{path}`, version {version} ({size} bytes)."
    offline_save_what = "What shall I save? Write “save as {path}: the text”."
    offline_which_file = "Which file? Write its name, such as `notes.md`."
    offline_part = "(This is the first of {parts} parts.)"
    offline_which = "Which one? Say its number."
    offline_too_long = (
        "I am only the offline model, and read up to {most:,} characters at a time. Send less, or"
        " use a language model (UNCAGED_LLM_URL)."
    )
    offline_needs = (
        "I need more for {capability}: write everything in one message, such as: {example}"
    )
    offline_unread = (
        "I do not know what “{words}” means there, so I do not guess. Write it like this: {example}"
    )
    offline_unread_words = "I do not know what “{words}” means there, so I do not guess."
    offline_base64 = "That is Base64. It says: {text}"
    offline_language = "I do not know this language. I know English, German and Chinese."
    offline_lone_number = (
        "What shall I do with {number}? Say it in one sentence, such as: {number} miles in km"
    )
    offline_needs_input = (
        "I found `{tool}` ({description}) but could not tell its input ({parameters}) from your"
        " words. Put the text in quotes."
    )
    offline_waits = "I can do that once my owner approves it."
    offline_failed = "That did not work: {why}"
    offline_exists = "There is a capability `{name}` already: `{tool}` is ready to use."
    offline_not_made = "I could not create `{name}`: {why}"
    offline_made = "Created `{name}` as `{tool}` (version {version}). Tell me what to do with it."
    offline_remembered = "Remembered: {words}"
    offline_over = "No longer true: {words}"
    offline_is_over = (
        "Does that change “{words}”?"
        " Then write “remember that …” with what is true now, or “forget {words}”."
    )
    offline_forgotten = "Forgotten."
    offline_forgotten_what = "Forgotten: {words}"
    offline_recalled = "This is what I remember:"
    offline_kb_added = "Added to the knowledge base: {title}, from {source}."
    offline_kb_known = "The knowledge base has that already: {title}, from {source}."
    offline_kb_update = (
        "My owner replaces a document on my machine: `uncaged kb list` shows the ids, and"
        " `uncaged kb update ID FILE` gives one a new text."
    )
    offline_kb_how = (
        "Write what it is called, where it is from, and the text, in one message: `add to the"
        " knowledge base: Refunds (source: the handbook): Goods can be returned for 30 days.`"
    )
    offline_nothing_known = "I remember nothing about this."
    offline_not_told = "I was not told that. Write “remember that …”, and I keep it."
    offline_could_keep = "Write “remember that {words}”, and I keep it."
    offline_forget_all = (
        "I forget one thing at a time: /recall lists what I remember, `/forget ID` removes it. My"
        " owner removes all that is kept of a person with `uncaged people erase`."
    )
    offline_weeks = "{weeks} weeks and {days} days"
    setup_first_message = "Hello! What can you do?"
    offline_page = "From {url}, part {part} of {parts}."
    offline_svg = "This is an SVG picture; a browser shows it, from a file that ends in .svg:"
    unit_names: ClassVar[Mapping[str, str]] = {
        "m": "metre|metres",
        "km": "kilometre|kilometres",
        "dm": "decimetre|decimetres",
        "cm": "centimetre|centimetres",
        "mm": "millimetre|millimetres",
        "µm": "micrometre|micrometres",
        "nm": "nanometre|nanometres",
        "in": "inch|inches",
        "ft": "foot|feet",
        "yd": "yard|yards",
        "mi": "mile|miles",
        "nmi": "nautical mile|nautical miles",
        "au": "astronomical unit|astronomical units",
        "ly": "light year|light years",
        "kg": "kilogram|kilograms",
        "g": "gram|grams",
        "mg": "milligram|milligrams",
        "µg": "microgram|micrograms",
        "t": "tonne|tonnes",
        "lb": "pound|pounds",
        "oz": "ounce|ounces",
        "st": "stone",
        "short ton": "short ton|short tons",
        "long ton": "long ton|long tons",
        "ct": "carat|carats",
        "C": "°C",
        "F": "°F",
        "K": "kelvin",
        "R": "degree Rankine|degrees Rankine",
        "L": "litre|litres",
        "mL": "millilitre|millilitres",
        "cL": "centilitre|centilitres",
        "dL": "decilitre|decilitres",
        "m3": "cubic metre|cubic metres",
        "cm3": "cubic centimetre|cubic centimetres",
        "in3": "cubic inch|cubic inches",
        "ft3": "cubic foot|cubic feet",
        "gal": "gallon|gallons",
        "qt": "quart|quarts",
        "pt": "pint|pints",
        "cup": "cup|cups",
        "fl oz": "fluid ounce|fluid ounces",
        "tbsp": "tablespoon|tablespoons",
        "tsp": "teaspoon|teaspoons",
        "imp gal": "imperial gallon|imperial gallons",
        "imp pt": "imperial pint|imperial pints",
        "bbl": "barrel|barrels",
        "m2": "square metre|square metres",
        "km2": "square kilometre|square kilometres",
        "cm2": "square centimetre|square centimetres",
        "mm2": "square millimetre|square millimetres",
        "ha": "hectare|hectares",
        "acre": "acre|acres",
        "ft2": "square foot|square feet",
        "in2": "square inch|square inches",
        "yd2": "square yard|square yards",
        "mi2": "square mile|square miles",
        "m/s": "metre per second|metres per second",
        "km/h": "kilometre per hour|kilometres per hour",
        "mph": "mile per hour|miles per hour",
        "ft/s": "foot per second|feet per second",
        "kn": "knot|knots",
        "km/s": "kilometre per second|kilometres per second",
        "speed of light": "times the speed of light",
        "s": "second|seconds",
        "ms": "millisecond|milliseconds",
        "µs": "microsecond|microseconds",
        "ns": "nanosecond|nanoseconds",
        "min": "minute|minutes",
        "h": "hour|hours",
        "d": "day|days",
        "week": "week|weeks",
        "fortnight": "fortnight|fortnights",
        "month": "month|months",
        "year": "year|years",
        "decade": "decade|decades",
        "century": "century|centuries",
        "B": "byte|bytes",
        "kB": "kilobyte|kilobytes",
        "MB": "megabyte|megabytes",
        "GB": "gigabyte|gigabytes",
        "TB": "terabyte|terabytes",
        "PB": "petabyte|petabytes",
        "KiB": "kibibyte|kibibytes",
        "MiB": "mebibyte|mebibytes",
        "GiB": "gibibyte|gibibytes",
        "TiB": "tebibyte|tebibytes",
        "PiB": "pebibyte|pebibytes",
        "bit": "bit|bits",
        "kbit": "kilobit|kilobits",
        "Mbit": "megabit|megabits",
        "Gbit": "gigabit|gigabits",
        "Tbit": "terabit|terabits",
        "Kibit": "kibibit|kibibits",
        "Mibit": "mebibit|mebibits",
        "Gibit": "gibibit|gibibits",
        "Pa": "pascal|pascals",
        "hPa": "hectopascal|hectopascals",
        "kPa": "kilopascal|kilopascals",
        "MPa": "megapascal|megapascals",
        "bar": "bar",
        "mbar": "millibar|millibars",
        "atm": "atmosphere|atmospheres",
        "psi": "pound per square inch|pounds per square inch",
        "mmHg": "millimetre of mercury|millimetres of mercury",
        "torr": "torr",
        "inHg": "inch of mercury|inches of mercury",
        "J": "joule|joules",
        "kJ": "kilojoule|kilojoules",
        "MJ": "megajoule|megajoules",
        "cal": "calorie|calories",
        "kcal": "kilocalorie|kilocalories",
        "Wh": "watt hour|watt hours",
        "kWh": "kilowatt hour|kilowatt hours",
        "MWh": "megawatt hour|megawatt hours",
        "BTU": "British thermal unit|British thermal units",
        "eV": "electronvolt|electronvolts",
        "ft-lb": "foot-pound|foot-pounds",
        "W": "watt|watts",
        "mW": "milliwatt|milliwatts",
        "kW": "kilowatt|kilowatts",
        "MW": "megawatt|megawatts",
        "GW": "gigawatt|gigawatts",
        "hp": "horsepower",
        "PS": "metric horsepower",
        "N": "newton|newtons",
        "kN": "kilonewton|kilonewtons",
        "lbf": "pound-force",
        "kgf": "kilogram-force",
        "dyn": "dyne|dynes",
        "Hz": "hertz",
        "kHz": "kilohertz",
        "MHz": "megahertz",
        "GHz": "gigahertz",
        "rpm": "revolution per minute|revolutions per minute",
        "km/L": "kilometre per litre|kilometres per litre",
        "L/100km": "litre per 100 km|litres per 100 km",
        "mpg": "mile per gallon|miles per gallon",
        "imp mpg": "mile per imperial gallon|miles per imperial gallon",
        "deg": "degree|degrees",
        "rad": "radian|radians",
        "mrad": "milliradian|milliradians",
        "grad": "gradian|gradians",
        "arcmin": "arc minute|arc minutes",
        "arcsec": "arc second|arc seconds",
        "turn": "turn|turns",
    }
    """Units by their symbols in the library: for one and for more, where they differ."""
    offline_valid = "Yes, {what} is valid."
    offline_invalid = "No, {what} is not valid: {why}."
    offline_wrong_form = "its form is wrong"
    offline_prime = "{number} is a prime number."
    offline_no_factors = "{number} is not a prime number, and has no prime factors."
    offline_factors = "{number} = {factors}. It is not a prime number."
    offline_if_no_holiday = "Yes, unless it is a holiday"
    offline_figures: ClassVar[Mapping[str, str]] = {"mean": "Mean", "median": "Median"}
    offline_judged = "{verdict}. {day}"
    offline_yes = "yes"
    offline_no = "no"
    offline_none = "none"
    offline_nothing = "(nothing)"
    offline_empty = "(an empty text)"

    # --- stop, halt, unlock ---
    nothing_runs = "Nothing is running."
    tasks_stopping = "I am stopping what runs as a task: {names}."
    task_stopped = "Task {id} ({name}) was stopped. Whether it took effect is not known."
    stop_waits = "I am waiting for a model that does not answer. I stop in a few seconds."
    stop_not_yours = "In a group only my owner can stop what somebody else asked for."
    halted = "Halted, in every chat. `/unlock` lets me go on."
    halted_agent = (
        "Halted: {name}, in every chat. `/unlock` lets it go on; `/halt all` halts me and"
        " all my agents."
    )
    halted_here = "Halted in this chat. `/unlock` lets me go on."
    unlocked = "Unlocked."
    stopped = "Stopped."
    told_to_stop = "The running turn was told to stop."

    # --- why I do not go on ---
    unlock = "My owner can unlock me: `/unlock` here, or `uncaged unlock` on my machine."
    your_unlock = "You can unlock me: `/unlock` here, or `uncaged unlock` on my machine."
    reasons: ClassVar[Mapping[str, str]] = {
        "frustration": "I failed five times in a row, so I stopped here.",
        "loop": (
            "I worked on this for as many steps as a task may take: it looks like an infinite loop."
            " Shall I go on, and how?"
        ),
        "cascade": "Eight of my last ten steps failed, so I have halted.",
        "fatal": "Something failed in a way that I cannot mend, so I have halted.",
        "budget": "My budget of tokens is used up, so I have stopped.",
        "agent-budget": "This agent's own budget of tokens is used up, so it has stopped.",
        "session-budget": "This chat's budget of tokens is used up, so I have stopped here.",
        "halted": "I was halted and do nothing until I am unlocked.",
        "damaged": "Something that I kept of this chat cannot be read, so it is locked.",
    }
    """What happened, by the keys of `REASONS`."""
    own_reasons: ClassVar[Mapping[str, str]] = {
        "frustration": (
            "Something that I did by myself failed five times in a row, so I ended it."
        ),
        "loop": (
            "Something that I did by myself took as many steps as a task may take: it looks like an"
            " infinite loop, so I ended it."
        ),
    }
    """What happened in work that nobody waits for, where that is said otherwise."""
    then: ClassVar[Mapping[str, str]] = {
        "frustration": "What should I do differently? Your answer lets me go on.",
    }
    """What follows, by the keys of `REASONS`."""
    budget_resets = "The budget starts again at {time}."
    nearly_used: ClassVar[Mapping[str, str]] = {
        "budget": (
            "({share} of my budget of tokens is used. It starts again at {time}; /usage shows what"
            " is left.)"
        ),
        "agent-budget": (
            "({share} of this agent's own budget of tokens is used. It starts again at {time};"
            " /usage shows what is left.)"
        ),
        "session-budget": (
            "({share} of this chat's budget of tokens is used. It starts again at {time}; /usage"
            " shows what is left.)"
        ),
    }
    """The sentence below an answer when a budget is nearly used."""
    not_a_guests = "It has to be the answer of my owner, or of somebody whom they let in."
    last_failed = "The last to fail was {tool}: {message}."
    failed_search = "a search for a capability"
    failed_deploy = "a capability that I tried to make"
    code_meanings: ClassVar[Mapping[str, str]] = {}
    """What the codes of failures mean, where that is said otherwise than in `CODES`."""
    failure_reasons: ClassVar[Mapping[str, str]] = {
        "taken": "a teammate has the task already",
        "role": "the task is for another role",
        "blocked": "the task waits for others, which are not done yet",
        "circle": "a task would wait for itself",
        "no-task": "there is no such task",
        "not-yours": "somebody else has the task",
        "stuck": "the task is stuck until somebody reopens it",
        "ended": "the task has ended already",
        "no-teammate": "there is no such teammate",
        "no-name": "no teammate can have that name",
        "no-request": "there is no such request",
        "plan": "nobody can answer that plan now, or not from here",
        "other-request": "the request is of another kind, or for somebody else",
        "at-work": "the agent is at work at the moment",
        "disabled": "the agent is disabled until an owner enables it",
        "removed": "an agent of that name is being removed",
        "name-taken": "another agent has that name",
        "personal": "a person keeps the task for themselves",
        "no-hp": "the agent has no HP left for work of its own",
        "stopped": "a person has stopped the teammate",
        "shut-down": "the teammate has shut down, and reads nothing",
        "lead-only": "only the lead of the team may do that",
        "root-only": "only the agent at the top makes and stops others",
        "owner-only": "only an owner may do that here",
        "private": "it holds something that may not leave its chat",
        "no-guests": "guests may not do that",
        "no-chat": "the work belongs to no chat",
        "other-chat": "that is no chat of the person whose work this is",
        "other-files": "the file is not among those that it may use",
        "no-file": "there is no such file",
        "no-version": "there is no such version of it",
        "own-work": "that is only there in work that I do by myself",
        "known-document": "the knowledge base has that document already",
        "behaviours": "no other behaviour may follow in this run",
        "run-ended": "the run has ended already",
        "turn": "one turn may not do so much",
        "chain": "what one cause sets off has used up its tokens",
        "mails": "an agent has sent as much mail as it may for one cause",
        "hops": "agents have set each other off too often for one cause",
        "no-room": "it found no free place in time, and never began",
        "policy": "a rule of my policy does not allow it",
        "not-granted": "no owner has allowed it so far",
    }
    """What has failed, by the reason of a failure whose code says too little or something else."""
    # --- schedules ---
    skills_none = (
        "I have no skills yet. A skill is a rule for a kind of task, written as a SKILL.md file:"
        " `uncaged skill add FOLDER` on my machine adds one."
    )
    skills_how = (
        "`/skills NAME` shows one, `/skills pin NAME` lets it hold in every chat,"
        " `/skills remove NAME` takes it away."
    )
    skills_private = "I show and change my skills in a private chat alone."
    skill_is_pinned = "always"
    skill_pinned = "`{name}` holds in every chat now, from its next message on."
    skill_unpinned = "`{name}` does not always hold any more; I find it when a task needs it."
    skill_removed = "`{name}` is gone. `/skills rollback {name} {version}` brings it back."
    skill_back = "`{name}` is as it was, as version {version}."
    skill_unknown = "There is no skill or version `{name}`; `/skills` shows what there is."
    hooks_none = "No program can hand me anything. `uncaged hook add NAME` on my machine lets one."
    hooks_how = "`/hooks drop NAME` takes one of them away."
    hooks_private = "I show hooks in a private chat only."
    hook_unknown = "There is no hook `{name}`; `/hooks` shows what there is."
    hook_dropped = "Dropped: `{name}`. Its token does not work any more."
    files_none = "There are no files here yet. Say “save this as notes.md”."
    files_line = "- `{path}` · {size} bytes · version {version} · {time}"
    files_more = "… and {count} more."
    files_how = (
        "`/files PATH` shows one of them, `/files diff PATH` what changed in it last, "
        "`/files history PATH` its versions."
    )
    files_same = "Version {first} and version {last} are the same."
    files_removed = "removed"
    text_cut = "… and {count:,} more characters."
    files_refused = "That does not work: {why}."
    tasks_none = "The board is empty. `/tasks add SUBJECT` puts a task on it."
    tasks_how = (
        "`/tasks add SUBJECT`, `done N`, `drop N`, `assign N NAME` and `reopen N` change the board;"
        " `/tasks N` shows one task, `/tasks all` lists those that have ended too."
    )
    tasks_more = "… and {count} more."
    task_after_unclear = (
        "Shall it wait for {tasks}? Then write `after {tasks}`. If a number belongs to the subject,"
        " put it into quotes. Nothing was added."
    )
    task_owner_unknown = (
        "There is no teammate {name}. Those that I know: {known}. Ask me to spawn {name} first, or"
        " name somebody else. Nothing was changed."
    )
    task_owner_alone = (
        "There is no teammate {name}, and no other one. Ask me to spawn {name} first, or leave the"
        " name out. Nothing was changed."
    )
    task_full = (
        "There is no room for more tasks. Whoever asked for one ends it with `/tasks done N` or"
        " `/tasks drop N`; owners end everybody's."
    )
    task_unknown = "{why}; `/tasks` shows what there is."
    task_refused = "That cannot be done: {why}."
    task_added = "Added #{id}: {subject}"
    task_is_done = "#{id} is done: {subject}"
    task_is_dropped = "#{id} is dropped: {subject}"
    task_is_open = "#{id} can be taken again: {subject}"
    task_assigned = "#{id} is for {owner}: {subject}"
    task_for_anybody = "#{id} is for anybody: {subject}"
    task_assign_how = "Say who does it: `/tasks assign N NAME`, or `nobody` for anybody."
    task_unchanged = "Nothing changed:\n{line}"
    task_frees = "Now {tasks} can be done."
    task_nobody = "Nobody is awake to do it; ask me to spawn a teammate."
    task_yours = "It stays yours; `/tasks assign {id} anybody` gives it to the team."
    task_blocked = "blocked by {tasks}"
    task_blocks = "Blocks {tasks}"
    task_priority = "priority {priority}"
    task_role = "role {role}"
    task_due = "due {time}"
    task_why = "Reason: {why}"
    wakeups_none = "Nothing is scheduled here."
    wakeups_how = (
        "`/wakeups pause N`, `resume N`, `now N` and `drop N` change one of them, by its number."
    )
    wakeup_of_agent = "{title} ({agent})"
    wakeups_all_how = (
        "`/wakeups drop ID` ends one of them, and `/wakeups` shows those of this chat."
    )
    wakeups_private = "I show what I do in all chats in an owner's private chat alone."
    wakeups_more = "… and {count} more, which `uncaged wake list` on my machine shows."
    wakeup_of_person = "`{id}` {title} · by `{by}` · `{session}`"
    wakeup_no_id = "There is no schedule `{id}`; `/wakeups all` shows all of them."
    wakeup_unknown = "Nothing here has the number {number}; `/wakeups` shows what there is."
    wakeup_runs = "“{title}” runs once now; its own times stay as they are."
    wakeup_dropped = "Dropped: “{title}”."
    wakeup_is_paused = "Paused: “{title}”. `/wakeups resume {number}` lets it go on."
    wakeup_is_over = "“{title}” has no more times."
    wakeup_resumed = "“{title}” goes on; it is due next at {time}."
    wakeup_due_since = "due since {time}; nothing runs here: `uncaged serve`"
    wakeup_next = "next {time}"
    wakeup_pause = "paused ({why})"
    wakeup_pauses: ClassVar[Mapping[str, str]] = {
        "paused": "by hand",
        "failures": "it failed again and again",
        "nobody may": "who wanted it may not talk to me any more",
    }
    wakeup_last = "last {time}: {outcome}"
    wakeup_outcomes: ClassVar[Mapping[str, str]] = {
        "said": "said something",
        "silent": "had nothing to say",
        "failed": "failed",
        "skipped": "left out",
        "held": "held back by the quiet hours",
    }
    wakeup_cost = "{tokens:,} tokens"
    wakeup_skipped = "left out {count}"
    wakeup_not_there = "missed {count}"
    quiet_none = "There are no quiet hours here."
    quiet_now = (
        "From {hours} ({zone}) I say nothing here by myself; what comes up then waits until they"
        " end."
    )
    quiet_how = "`/quiet 22:00-07:00` sets them, and `/quiet off` ends them."
    quiet_off = "There are no quiet hours here any more."
    quiet_over = "This came up in the quiet hours:"
    heartbeat_name = "heartbeat"
    heartbeat_off = "The heartbeat is off: I do not look by myself whether something is new."
    heartbeat_how = (
        "`/heartbeat 30m` lets me look every 30 minutes, from a minute (`1m`) to a day (`1d`);"
        " `/heartbeat off` ends it."
    )
    heartbeat_set = (
        "I look every {span} whether something is new for me, next at {time}, and tell you here"
        " what matters. A look that finds nothing costs nothing, and doubles the time to the next"
        " one, up to a day; a message or a mail sets it back. `/heartbeat off` ends it."
    )
    heartbeat_ended = "The heartbeat is off now."
    heartbeat_now = "I look every {span} whether something is new for me; next at {time}."
    heartbeat_paused = "I look every {span} whether something is new for me, but not now: {why}."
    heartbeat_elsewhere = "What matters is told in {chat}."
    heartbeat_cost = (
        "Looks that find nothing cost nothing; runs in the last 30 days: {runs:,}, with"
        " {tokens:,} tokens."
    )
    snooze_how = "`/snooze 10m` or `/snooze tomorrow at nine`, and `/snooze 3 1h` for number 3."
    snooze_none = "No reminder was said here that I could say again."
    snooze_set = "I will say “{text}” once more: {when}. `/done` takes it back."
    snooze_keeps = "Its own times stay."
    reminder_done = "Done: “{text}”."
    reminder_is_done = "“{text}” is done already."
    button_ten_minutes = "In 10 min"
    button_hour = "In 1 h"
    button_tomorrow = "Tomorrow"
    button_done = "Done"
    reminder_again = "It comes again at {time}; `/wakeups` ends it for good."
    wakeup_snoozed = "once more"
    remind_how = (
        "`/remind TIME TEXT`, such as `/remind tomorrow at nine call Bob` or"
        " `/remind every weekday at 8 take the pills`."
    )
    remind_of_what = "What shall I remind you of? `/remind tomorrow at nine call Bob` says both."
    remind_too_long = "A reminder has at most {most:,} characters."
    remind_full = (
        "There is no room for more schedules. `/wakeups` shows those of this chat, and"
        " `/wakeups drop N` makes room; owners end everybody's, with `/wakeups all`."
    )
    places_taken: ClassVar[Mapping[str, str]] = {
        "all": "All {most:,} places are taken.",
        "reserve": "Of {most:,} places {own:,} are taken, and the last {share:,} are for owners.",
        "person": "You have {own:,} of {most:,} places, and one person has at most {share:,}.",
        "guest": "You have {own:,} of {most:,} places, and one guest has at most {share:,}.",
        "guests": "Guests have {own:,} of {most:,} places, and together at most {share:,}.",
    }
    remind_over = "That time is over."
    remind_set = "I will say “{text}”: {when}. `/wakeups drop {number}` takes it back."
    remind_known = "I have that already, as number {number}: “{text}”, {when}."
    remind_at_terminal = (
        "(It comes while `uncaged serve` runs; what was due before comes when that starts.)"
    )
    wakeup_missed = (
        "(This was due at {time} as well, and {count} times in all while I was not running.)"
    )
    wakeup_late = "(This was due at {time}; I was not running then.)"
    wakeup_too_late = (
        "I was not running when this was due at {time}, so I leave it out: “{title}” (missed:"
        " {count})."
    )
    wakeup_paused = (
        "“{title}” has failed {count} times in a row, so I have paused it."
        " `/wakeups resume {number}` lets it go on."
    )

    missed_meanwhile = (
        "I do not work on the {count} messages that came meanwhile: send again later what still"
        " matters."
    )
    missed_before = (
        "I did not work on {messages} that came while I was stopped: send again what still matters."
    )

    # --- a turn that ends without the model's answer ---
    gave_up = (
        "Something went wrong while I worked on your last message, more than once, so I gave up on"
        " it. The next message starts afresh."
    )
    too_long = (
        "Your message does not fit into the model's window of {window:,} tokens. Please send it in"
        " parts, or a shorter one."
    )
    newer_version = (
        "A newer version of me keeps this chat, and I cannot read it. Nothing is lost: your message"
        " waits in the dead letters until my owner runs the newer version again."
    )
    lost_memory = (
        "I could not work on your last message: my memory of this chat cannot be read. My owner can"
        " see it in the dead letters."
    )
    agents_how = "`/agents stop NAME` stops one; enable, disable and archive do what they say."
    agents_unknown = "There is no agent `{name}`; `/agents` lists them."
    agents_changed = "`{name}` is {state} now."
    agents_refused = "`{name}` is {state}. What is possible from there: {steps}."
    agent_states: ClassVar[Mapping[str, str]] = {
        "running": "running",
        "enabled": "enabled",
        "disabled": "disabled",
        "archived": "archived",
        "purged": "being removed",
        "working": "working",
        "idle": "idle",
        "shutdown": "shutdown",
    }
    subagent_report = "`{name}` reports:\n{text}"
    subagent_stuck = "`{name}` is stuck: {why}. What it said last:"
    nothing_reported = "It has reported nothing."
    out_of_time = "I ran out of time on this. What was done so far is kept: ask me to go on."
    no_answer = "The model gave no answer to this. Please ask again, or say it in another way."
    cut_length = "(The answer was cut at the model's length limit.)"
    cut_filtered = "(The answer was cut by the filter of the model's provider.)"
    cut_refused = "(The model refused to answer this, or to go on.)"
    withheld_filtered = (
        "The filter of the model's provider kept back the answer to this. Please say it in another"
        " way."
    )
    withheld_refused = "The model refused to answer this. Please say it in another way."
    tool_failed = "(`{tool}` failed: {meaning}.)"
    could_not_answer = "I could not get an answer: {why}."
    model_failures: ClassVar[Mapping[str, str]] = {
        "key": (
            "the model does not accept my key. Trying again does not help until my owner has "
            "looked at it"
        ),
        "money": (
            "what was paid for the model is used up. Trying again does not help until my owner "
            "has looked at it"
        ),
        "rate": "the model takes no more requests for now",
        "window": (
            "this is too long for the model's window. Send /new to start afresh, or a shorter"
            " message"
        ),
        "refused": (
            "the model's provider refuses to answer this. Other words may help, trying again "
            "does not"
        ),
        "unreachable": "the model cannot be reached",
        "late": "the model did not answer in time",
        "empty": "the model sent no answer",
        "down": "the model is out of order for now",
        "other": (
            "the model does not take this request. Other words or /new may help, trying again "
            "does not; my owner can see why"
        ),
        "model": (
            "the model that I am to use is not there any more. Trying again does not help until "
            "my owner has chosen another"
        ),
    }
    """Why the model gave no answer, by the kinds of failures."""
    model_busy = "The model takes no more requests for now."
    model_away = "The model does not answer at the moment."
    work_waits = "What runs here by itself waits, and goes on as soon as the model answers."
    try_again_in = "Your message is kept, and I try again in {time}."
    please_try_in = "Please try again in {time}."
    please_try_soon = "Please try again in a moment."

    # --- what somebody may use in a day ---
    used_up = "You have used your {allowed} for today. {reset}"
    used_today = "Used today: {parts}. {reset}"
    used_part = "{used:,} of {most}"
    resets = "The count starts again at {time}, in {hours} h {minutes} min."

    # --- who may talk ---
    your_code = (
        "Your code is `{code}`; it is valid for {minutes} minutes. Give it to my owner, who sends"
        " me `/pair {code}`, or runs `uncaged channel pair {code}` on my machine. Your id here is"
        " `{id}`."
    )
    stranger = "I only talk to people whom my owner has let in. {your_code}"
    code_still_valid = (
        "Your code is still valid. Give it to my owner; in {minutes} minutes you can get a new one."
    )
    no_owner: ClassVar[Mapping[str, str]] = {
        "open": "I have no owner yet.",
        "members": "I only talk to people whom my owner has let in, and I have no owner yet.",
        "owners": "I only talk to my owner, and I have no owner yet.",
    }
    at_the_machine = (
        "If you run me: start `uncaged serve` in a terminal on my machine and send me the code that"
        " it prints there, or set `UNCAGED_OWNERS={id}` for me and start me again."
    )
    let_yourself_in = (
        "To talk to me without owning me, run `uncaged channel pair {code}` there; an owner would"
        " send me `/pair {code}`. That code is valid for {minutes} minutes."
    )
    owners_talk = "I only talk to my owner. Your id here is `{id}`."
    let_in = "My owner has let you in. Write what you need; /help shows what I can do."
    linked_in = (
        "You are the same person as `{who}` to me now. Write what you need; /help shows what I can"
        " do."
    )
    link_waits = (
        "{person} waits for my owner, who decides whether it is you. I tell you here. Without a"
        " word from them within {hours} hours it stays a stranger."
    )
    link_asked = (
        "{who} says that {person} is their own id on another platform. Linked to them, it may do"
        " what a member may: talk to me, within the one daily allowance of both. Ask them"
        " whether it is theirs. Then send me `/pair accept {id} as {first}`, or `/pair refuse {id}"
        " as {first}`. It waits for {hours} hours."
    )
    link_asked_head = "Waiting to be linked:"
    link_asked_line = (
        "- {person} to `{first}`, a member: `/pair accept {id} as {first}`, or `refuse`"
    )
    link_accepted = "{person} is the same as `{first}` to me now, and may do what a member may."
    link_refused = "My owner does not link {person} to `{first}`; it stays a stranger."
    link_confirm = (
        "{person} would be you, and so **my owner**: it could do all that you can, such as let in"
        " people, change me, and approve what I may do. Is that account yours, and did I give it"
        " that code in front of you? Then send me `/pair confirm {code}` within {minutes} minutes."
        " If somebody else asked you for this, do nothing."
    )
    now_owner = (
        "You are my owner now. /help shows what I can do, and /pair who else may talk to me."
    )
    now_member = "You are a member now, and not my owner any more. /help shows what I can do."
    wrong_code = "That is not the code. You have {tries} left."
    last_wrong_code = (
        "That is not the code, and it was your last try. `uncaged serve` prints a new one when it"
        " starts again."
    )
    no_tries_left = (
        "You have used up your tries. `uncaged serve` prints a new code when it starts again."
    )
    ask_privately = "Ask me that in a private chat: it names people."
    guest_again = "{person} is a guest again."
    linked_now = "{person} is you now, and may what you may. Its chats and its memory stay apart."
    may_talk_now = "{person} may talk to me now."
    you_are = "You are `{who}`: {role}{since}."
    you_are_unpaired = "You are `{who}` on {platform}, and not paired with me."
    since_day = ", let in on {day} by `{by}`"
    role_names: ClassVar[Mapping[str, str]] = {
        "owner": "owner",
        "member": "member",
        "guest": "guest",
    }
    this_chat = "This chat is `{session}`."
    waiting_head = "Waiting:"
    waiting_line = "- {person}, {minutes} minutes left"
    let_in_head = "Let in:"
    let_in_line = "- {person}, {role} since {day}, by `{by}`"
    same_line = "- {person}, the same as `{first}`, {role} since {day}"
    more_people = "- and {count:,} more: `uncaged channel pair --list`"
    settings_owners = "Owners by the settings: {owners}"
    nobody = "Nobody waits, and nobody was let in."
    pair_how = (
        "`/pair CODE` lets somebody in, `/pair CODE me` yourself from another platform, `/pair ID"
        " member` somebody by their id; `/pair remove ID` takes them out."
    )
    refused_because: ClassVar[Mapping[str, str]] = {}
    """Refusals of `/pair` by their codes, where they are said otherwise than by the refusal."""

    # --- the soul ---
    soul_updated = "Soul updated."
    soul_kept = "The soul is as it was."
    soul_never_changed = "The soul was never changed."
    soul_began = "- 0: as it was before anybody changed it"
    soul_which = "Say which version: `/soul rollback N`; `/soul history` shows them."
    soul_back = "The soul is as in version {version} again."
    soul_meanwhile = "Somebody else changed it meanwhile; send it again."
    soul_unfinished = "The model did not finish its answer."
    soul_none = "The model's answer was not a soul."
    soul_too_long = "The model wrote {count:,} characters; at most {most:,} are kept."
    version_line = "- {version}: {written} by {by}"
    version_size = " ({count:,} characters)"

    version_refused: ClassVar[Mapping[str, str]] = {}
    """Refusals of a way back by their codes, where they are said otherwise than by the refusal."""

    # --- memory ---
    mem_nothing_new = "There is nothing new here to make a note of."
    mem_triggered = "I have made a note of what was said here."
    noting = "remembering the older messages; Ctrl-C puts that off"
    while_away = "while you were away"
    unread_lost = "{count} older messages are gone: the last {most} are kept"
    mem_failed = "I could not make a note of it."
    thinking = "thinking …"
    words_were_draft = "the text above was only a draft"
    words_stop_here = "stopped here"
    mem_never = "Nothing was ever written into the memory of this chat."
    mem_back = (
        "The memory of this chat is as in version {version} again; `/mem history` shows all of"
        " them."
    )
    mem_kept = "The memory is as it was."
    mem_which = "Say which version: `/mem rollback N`; `/mem history` shows them."
    memory_refused = (
        "I kept what I remember of this chat: the model wrote my memory anew without {lost:,} of"
        " the {count:,} things in it, twice, so I only added what is new. `/mem history` shows how"
        " the memory changed, `/mem rollback N` takes a version back."
    )
    self_preferences = (
        "I wrote down how I am to behave in all chats, as version {version} of my document `self`."
        " `uncaged agent doc history self` shows it, `uncaged agent doc rollback self N` takes it"
        " back."
    )
    memory_shortened = (
        "What I remember of this chat was full, so the model wrote it shorter: {lost:,} of the"
        " {count:,} things in it are gone or changed. `/recall WORDS` finds them, `/mem history`"
        " shows how the memory changed, `/mem rollback N` takes a version back."
    )
    nothing_remembered = "Nothing is remembered of this chat yet."
    mem_takes = " /mem takes what was said here into memory."
    kb_how = "Send `/kb QUESTION`, and I look for the answer in the knowledge base."
    kb_nothing = "Nothing in the knowledge base answers that."
    kb_passage = "**{title}** ({place}):\n> {text}\n\nSource: {source}, {day}\n{added}"
    kb_added = "Added by `{by}`"
    kb_stated = "Author: {author} (stated by the owner `{by}`)"
    nothing_found = "I found nothing about that, neither in what I remember nor in what was said."
    forget_how = "Send `/forget ID`, with an id that /recall shows."
    nothing_with_id = "I remember nothing with this id here."
    forgotten = "Forgotten: {words}"
    still_in_memory = (
        "The memory of this chat still mentions it: “{line}”. `/mem` with your words can change"
        " that, and `uncaged agent doc edit memory --session CHAT` on my machine removes the line."
    )
    remembered_last = "Remembered last:"
    remembered = "Remembered:"
    said = "Said:"
    disputed = ", disputed"
    memory_over = " (no longer true since {day}: {words})"
    """Stands behind a line of the memory document: since when what it says is not true."""
    ended = ", until {day}"
    """Stands behind the source of a thing that was true until then."""

    # --- one memory for the private chats of a person ---
    link_private = "Send me that in a private chat: what I remember of you is not for a group."
    link_withdrawn = (
        "Others have seen that code here, so it is valid no longer. Send /link in your private"
        " chat with me for a new one, and the code in your other private chat."
    )
    link_code = (
        "Your code is `{code}`; it is valid for {minutes} minutes, and once. Send me `/link {code}`"
        " in your other private chat with me, on any platform. From then on both share what I"
        " remember: what you tell me to remember in one, I know in the other. What is said stays"
        " in its chat, and /unlink parts them again. Give the code to nobody else: they would read"
        " what I remember of you."
    )
    link_shared = "This chat shares its memory with {chats}."
    link_done = (
        "From now on this chat and {chats} share one memory: what I remember here, I know there,"
        " and the other way round. What is said stays in its chat. /recall shows the memory, and"
        " /unlink parts them again."
    )
    link_came = "{things} of this chat came along, and nothing was lost."
    link_told = (
        "From now on this chat shares its memory with {chat}: what I remember here, I know there,"
        " and the other way round. What is said stays in its chat. If that is not your chat:"
        " /forget what it should not know, and then send /unlink."
    )
    link_no_code = (
        "There is no such code, or not any more. Send /link in your other chat for a new one."
    )
    link_other_person = (
        "That code is from {chat}, which is another person to me. Whoever writes there would read"
        " all that I remember here, and change it. Is that chat yours? Then send me `/link {code}`"
        " within {minutes} minutes. If somebody else asked you for this, do nothing."
    )
    link_own_code = "That code is for another chat of yours: send it there."
    link_too_often = "That was too often. Please try again in an hour."
    link_taken = (
        "This chat shares its memory already. Send /link here, and the code in the other chat, or"
        " /unlink first."
    )
    link_too_many = "At most {most} chats share one memory."
    link_too_large = (
        "What I remember in both chats is too much for one memory. /forget what is not needed any"
        " more, and begin again with /link."
    )
    web_private = "Send me that in a private chat: whoever has the code is you on my page."
    web_for_members = "My page is for people whom my owner has let in."
    web_code = (
        "Your code is `{code}`; it is valid for {minutes} minutes, and once. Open my page in a"
        " browser and type it there: its address ends with `/ui`, and my owner knows it. Give the"
        " code to nobody else: they would be you there."
    )
    unlink_alone = "This chat shares its memory with no other one. /link changes that."
    unlink_done = (
        "This chat has a memory of its own again. What I remembered until now stays in both: here"
        " and in {chats}. What comes from now on stays where it is said."
    )
    unlink_told = (
        "{chat} shares the memory of this chat no more. What I remembered until now stays in both."
        " What comes from now on stays where it is said."
    )

    # --- what a platform does not take ---
    part_not_taken = (
        "(The chat platform did not take this part of my answer. Ask me to say it in another way.)"
    )
    no_file = (
        "(The answer goes on for {rest:,} more characters, and this chat takes no files from me."
        " Ask me for the rest of it, in parts.)"
    )
    draft_withdrawn = "(I withdrew what stood here while I was writing. It is no answer.)"
    no_picture = (
        "(A picture belongs here, and this chat takes no files from me. Ask me for it in a private"
        " chat.)"
    )
    no_file_here = (
        "(A file belongs here: {name}. This platform takes no files from me. Ask me what is in it.)"
    )
    file_is_gone = "(A file belonged here: {name}. It was kept for a week, and is gone by now.)"
    whole_answer = "The whole answer: {count:,} characters."
    invitation_declined = (
        "I was invited too often lately, or am in as many rooms as I may be. Please ask one of my"
        " owners to invite me."
    )
    encrypted_room = (
        "This room is encrypted, and I cannot read encrypted messages. I write nothing more here"
        " either, not even reminders that were meant for this room. Please invite me into a room"
        " without encryption: there I answer."
    )
    answered_too_fast = (
        "I have answered {count} messages in a row that each came within seconds of my answer. In"
        " case a program writes here, I leave this one unanswered, so that we do not go on for"
        " ever. If you are a person, write again in half a minute."
    )
    changed_too_late = (
        "I do not look again at a message that is changed later. Please send what is different as"
        " a new message."
    )

    # --- Discord's commands ---
    discord_ask = "Say something to the agent"
    discord_text = "What you say"
    discord_file = "A file that belongs to it"
    discord_words = "What stands behind the command"

    # --- times ---
    when_no_time = (
        "I see no time in that. Write it such as `tomorrow at nine call Bob` or"
        " `every weekday at 8 look at the news`."
    )
    when_past = "{words} is past. When shall it be?"
    when_past_at = "{time} is past. When shall it be?"
    when_two_readings = "Do you mean {first} or {second}?"
    when_no_such_date = "There is no such date: {words}. Write it such as `24 December at 18:00`."
    when_no_workdays = "I cannot count working days. Write it such as `on Monday at 9`."
    when_no_such_clock = "There is no such time of day: {words}. Write it such as `at 18:30`."
    when_too_often = "Once a minute is the most that I can do. Write it such as `every 5 minutes`."
    when_no_zone = "I know no time zone {words}. {hint}"
    when_zone_example = "Write it such as `Europe/Berlin` or `Tokyo time`."
    when_no_cron = (
        "{words} is no cron expression that ever comes. Its five fields are minute, hour, day,"
        " month and day of the week, such as `0 8 * * 1-5`."
    )
    when_which_clock = "At what time? Write it such as `today at 18:00`."
    when_which_times = (
        "At which times of the day? Write them such as `every day at 9:00 and 18:00`."
    )
    when_unread = (
        "I do not know what {words} means there. Write the time such as `tomorrow at 19:30` or"
        " `every Monday and Thursday at 9`."
    )
    when_unit = "Minutes, hours or days? Write it such as `in 10 minutes`."
    when_how_often = "How often? Write it such as `every hour` or `every day at 9`."
    when_which_start = "At what time on {day} shall it begin? Write it such as `from Monday at 8`."
    when_which_day = "On which day of the month? Write it such as `every January on the 1st at 9`."
    when_which_date = "On which date? Write it such as `every year on 14 February at 9`."
    when_too_many = "These are too many times for one reminder. Make several of them."
    when_no_end = "Until when? Write it such as `until Friday` or `until 24 December`."
    when_which_one = (
        "Which of them? Name one time, such as `tomorrow at 9`, or write"
        " `every Monday and Thursday at 9`."
    )
    when_no_exception = (
        "I know no exceptions. Name the days on which it comes, such as"
        " `every Monday to Thursday at 8`."
    )
    when_never = "Its end is before its first time, so it never comes. When shall it end?"
    when_no_calendar = (
        "I can repeat after minutes, hours, days and weeks, and after 1, 2, 3, 4, 6 or 12 months."
        " Which shall it be?"
    )
    weekday_names: ClassVar[Mapping[int, str]] = dict(
        enumerate(
            (*("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"),)
        )
    )
    list_mark = ", "
    when_at = "{day} at {clock} ({zone})"
    when_calendar = "{days} at {clocks} ({zone})"
    when_hours = "{days}, every hour from {first} to {last} ({zone})"
    when_span = "every {span} ({zone})"
    when_cron = "whenever {cron} says ({zone})"
    when_from = "{when}, from {start}"
    when_until = "{when}, until {end}"
    when_times = "{when}, {count} times"
    when_day = "every day"
    when_days = "every {count} days"
    when_workdays = "every Monday to Friday"
    when_weekdays = "every {names}"
    when_weeks = "every {count} weeks on {names}"
    when_month = "on day {days} of every month"
    when_months = "on day {days} of {months}"
    when_months_end = "on the last day of {months}"
    when_nth_months = "every {nth} {name} in {months}"
    when_in_months = "{days} in {months}"
    when_month_end = "on the last day of every month"
    when_nth = "on the {nth} {name} of every month"
    when_nth_names: ClassVar[Mapping[int, str]] = dict(
        enumerate(
            (
                "last",
                "first",
                "second",
                "third",
                "fourth",
                "fifth",
            )
        )
    )
    when_year = "every year on {date}"
    when_next = "Next: {times} ({zone})."

    def tell_time(self, now: datetime, zone: str) -> str:
        """Return `It is 14:05 (UTC), Monday, 3 May 2027.`, without a zone where none is known."""
        where = f" ({zone})" if zone else ""
        return f"It is {now:%H:%M}{where}, {_format_day(now)}."

    def tell_day(self, now: datetime) -> str:
        """Return `Today is Monday, 3 May 2027 (2027-05-03).`"""
        return f"Today is {_format_day(now)} ({now:%Y-%m-%d})."

    def tell_date(self, day: datetime) -> str:
        """Return `This is Monday, 3 May 2027 (2027-05-03).`"""
        return f"This is {_format_day(day)} ({day:%Y-%m-%d})."

    def format_day(self, day: date) -> str:
        """Return `Monday, 3 May 2027`."""
        return _format_day(day)

    def format_year_day(self, month: int, day: int) -> str:
        """Return the date of every year: `3 May`."""
        return f"{day} {date(2028, month, 1):%B}"

    def name_month(self, month: int) -> str:
        """Return the name of a month: `May`."""
        return f"{date(2028, month, 1):%B}"

    def format_exact_span(self, minutes: int) -> str:
        """Return a span without rounding: `minute`, `90 minutes`, `hour`, `2 hours`."""
        if minutes % 60:
            return f"{minutes} minutes" if minutes > 1 else "minute"
        return f"{minutes // 60} hours" if minutes > 60 else "hour"

    def join_words(self, words: Sequence[str]) -> str:
        """Return `photos and files`."""
        return " and ".join(words)

    def count_turns(self, count: int) -> str:
        """Return `1 turn` or `1,000 turns`."""
        return f"{count:,} turn" if count == 1 else f"{count:,} turns"

    def count_tokens(self, count: int) -> str:
        """Return `1 token` or `1,000 tokens`."""
        return f"{count:,} token" if count == 1 else f"{count:,} tokens"

    def count_things(self, count: int) -> str:
        """Return `1 thing` or `1,000 things`."""
        return "1 thing" if count == 1 else f"{count:,} things"

    def count_tries(self, count: int) -> str:
        """Return `1 try` or `3 tries`."""
        return "1 try" if count == 1 else f"{count} tries"

    def more_than(self, count: int) -> str:
        """Return `more than 200`."""
        return f"more than {count}"

    def count_messages(self, count: str) -> str:
        """Return `a message` for `1`, `3 messages` and `more than 200 messages`."""
        return "a message" if count == "1" else f"{count} messages"

    def format_span(self, seconds: float) -> str:
        """Return a time that passes, rounded: `5 seconds`, `2 minutes`, `an hour`, `3 days`."""
        if seconds < 50:
            return f"{max(round(seconds / 5) * 5, 5)} seconds"
        minutes = round(seconds / 60)
        if minutes < 60:
            return f"{minutes} minutes" if minutes > 1 else "a minute"
        hours = round(minutes / 60)
        if hours < 48:
            return f"{hours} hours" if hours > 1 else "an hour"
        return f"{round(hours / 24)} days"


SMALL_TALK_ABROAD: Final[Mapping[str, str]] = {
    "hello fr": "Bonjour ! Que puis-je calculer ?",
    "thanks fr": "De rien !",
    "hello es": "¡Hola! ¿Qué puedo calcular?",
    "thanks es": "¡De nada!",
}
"""Answers of `offline_talk` for people whose language has no file here."""


def _format_day(now: date) -> str:
    return f"{now:%A}, {now.day} {now:%B %Y}"


TEXTS = Texts()
