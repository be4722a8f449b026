"""The offline model is a deterministic planner, used when no language model is set.

Each of its answers is sent with a line that says so, which the history does not have.

It searches, picks by name, schema and examples, fills the arguments from the user's words, calls,
and answers from the result. Given JavaScript in a code fence it deploys it. It understands nothing;
everything around it is real.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime

import orjson

from functions.agent.conversation import tokens
from functions.agent.conversation.messages import (
    HEARTBEAT_TEXT,
    MAIL_ORIGIN,
    RUNTIME_MARK,
    SCHEDULED_NOTE,
    SEPARATOR,
    SILENT,
    ToolCall,
    Usage,
    read_own_words,
    remove_delimiters,
)
from functions.agent.conversation.prompt import (
    FunctionCall,
    FunctionDefinition,
    PromptMessage,
    ToolDefinition,
)
from functions.agent.conversation.toolset import DEPLOY, QUERY, is_capability
from functions.agent.model import (
    offline_arguments,
    offline_board,
    offline_corrections,
    offline_documents,
    offline_files,
    offline_follow_up,
    offline_knowledge,
    offline_memory,
    offline_schedules,
    offline_team,
)
from functions.agent.model.base import ModelReply, ModelRequest
from functions.agent.model.history import read_text
from functions.agent.model.offline_answers import answer_question, describe_result
from functions.agent.model.offline_library import LIBRARY_TOOLS, Reading, Request, read_request
from functions.agent.model.offline_talk import answer_talk
from functions.agent.offline_signature import NAME
from functions.channels.platforms import find_command_sign
from functions.texts.en import TEXTS as ENGLISH
from functions.texts.en import Texts
from functions.texts.languages import choose_texts, detect_language
from sigil.errors import one_line
from sigil.json_fields import as_mapping, as_sequence, as_string
from sigil.protocol import Json, tool_of

READ_CHARACTERS = 4_000
"""Of a longer message nothing is read. Its readers try many forms, and a text made for it would
keep them busy for hours.
"""
_MAKE = re.compile(
    r"\b(?:make|write|create|build|deploy|define)\s+(?:(?!of\b)[\w'-]+\s+){0,5}?capabilit(?:y|ies)\b"
    "|[\u505a\u5199\u521b\u9020\u90e8].{0,15}\u80fd\u529b",
    re.IGNORECASE,
)
"""Words that ask for a new capability; in Chinese, make, write, create or deploy before the word
for it.
"""
TRIES = 3
MOST_QUERIES = 3
LANGUAGE_MESSAGES = 5
"""So many of a person's newest messages may show their language."""
REMEMBER, RECALL, FORGET = map(tool_of, ("remember", "recall", "forget"))
_OF_RUNS = frozenset(map(tool_of, ("tell", "sleep", "next-behavior", "note-work")))
"""What behaviours pin for a run. Its answer is told anyway, and "tell me" would call the first."""
_MENTION = re.compile(r"^@\w+[\s,:]+|(?<!\s)\s+@\w+$", re.ASCII)
"""Whom a message of a group is for, before or after what is said; of many spaces it is tried at
the first alone.
"""
_STAMP = re.compile(r"(\d{4}-\d{2}-\d{2} \d{2}:\d{2})(?: ([A-Za-z][\w/+-]*))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class AnsweredCall:
    """One call of this turn and its answer: `ok` or `error` of its JSON."""

    name: str
    arguments: dict[str, Json]
    ok: Json = None
    error: dict[str, str] | None = None


class OfflineModel:
    """A model that plans without understanding; see the module.

    Its tokens cost nothing, so they count for no limit unless they are `limited`.
    """

    def __init__(self, *, limited: bool = False) -> None:
        self._limited = limited

    @property
    def name(self) -> str:
        return NAME

    @property
    def window(self) -> int:
        return 32_000

    def chat(self, request: ModelRequest) -> ModelReply:
        """See `Model.chat`; pictures are not looked at."""
        if any(isinstance(message["content"], list) for message in request.messages):
            messages: list[PromptMessage] = []
            for each in request.messages:
                messages.append({**each, "content": read_text(each)})
            request = replace(request, messages=messages)
        contents = (str(message.get("content") or "") for message in request.messages)
        prompt = round(sum(tokens.of_text(content) for content in contents))

        def count_usage(answer: str) -> Usage:
            usage = Usage(prompt, round(tokens.of_text(answer)), estimated=True)
            return usage if self._limited else replace(usage, saved=usage.total)

        document = offline_documents.answer_request(request)
        if isinstance(document, str):
            return ModelReply(document, usage=count_usage(document))
        if document is not None:
            usage = count_usage(document.arguments)
            return ModelReply(calls=(document,), usage=usage, finish="tool_calls")
        said, done = _read_turn(request.messages)
        plan = _make_plan(said, done, request.tools)
        if isinstance(plan, str):
            return ModelReply(text=plan, usage=count_usage(plan))
        name, arguments = plan
        call = ToolCall(f"call_{len(request.messages)}", name, orjson.dumps(arguments).decode())
        return ModelReply(calls=(call,), usage=count_usage(str(plan)), finish="tool_calls")


@dataclass(frozen=True, slots=True)
class _Said:
    """A person's words, the time and zone of their stamp, None and empty without one, and the texts
    in their language. `is_news` says that they are no person's, but mail, and `is_due` that their
    time has come: nobody has just written them. `kept` is what was remembered before in the
    history.
    """

    words: str
    is_news: bool = False
    is_due: bool = False
    now: datetime | None = None
    zone: str = ""
    texts: Texts = ENGLISH
    kept: Sequence[offline_corrections.Kept] = ()


Plan = str | tuple[str, dict[str, Json]]
"""An answer, or a tool and its arguments."""


def _make_plan(said: _Said, done: Sequence[AnsweredCall], tools: Sequence[ToolDefinition]) -> Plan:
    texts = said.texts
    if said.is_news or said.words.startswith(HEARTBEAT_TEXT):
        return SILENT  # nobody asks, and it cannot tell what matters
    if not tools:
        return _format_answer(done[-1], texts) if done else texts.offline_not_found
    spec = offline_arguments.find_deploy(said.words)
    if spec:
        return _plan_deploy(spec, done, texts)
    if len(said.words) > READ_CHARACTERS:
        return texts.offline_too_long.format(most=READ_CHARACTERS)
    if _MAKE.search(said.words):
        return texts.offline_how
    if said.is_due:
        return _plan_chore(said, done, tools)
    talk = "" if done else answer_talk(said.words, said.now, said.zone, texts)
    return talk or _plan_call(said, done, tools)


def _plan_chore(said: _Said, done: Sequence[AnsweredCall], tools: Sequence[ToolDefinition]) -> Plan:
    """Return the next step of work whose time has come.

    What no capability does is said as it stands: then a person knows that it is time for it.
    """
    if offline_schedules.find_wish(said.words, said.texts):
        return said.words
    plan = _plan_call(said, done, tools)
    is_done = any(call.name != QUERY and call.error is None for call in done)
    return said.words if isinstance(plan, str) and not is_done else plan


def _plan_deploy(spec: dict[str, Json], done: Sequence[AnsweredCall], texts: Texts) -> Plan:
    name = str(spec["name"])
    last = done[-1] if done else None
    if last is None:
        return QUERY, {"query": name.replace("-", " ")}
    if last.name == QUERY:
        items = as_sequence(as_mapping(last.ok).get("items"))
        if any(as_mapping(item).get("capability") == name for item in items):
            return texts.offline_exists.format(name=name, tool=tool_of(name))
        return DEPLOY, spec
    if last.error:
        return texts.offline_not_made.format(name=name, why=_describe_error(last, texts))
    created = as_mapping(last.ok)
    return texts.offline_made.format(name=name, tool=created["tool"], version=created["version"])


def _plan_call(said: _Said, done: Sequence[AnsweredCall], tools: Sequence[ToolDefinition]) -> Plan:
    """Return the call of a capability that fits the words, a search for one, or the answer."""
    texts = said.texts
    by_name = {tool["function"]["name"]: tool["function"] for tool in tools}
    queries = {as_string(call.arguments.get("query")) for call in done if call.name == QUERY}
    called = [call for call in done if call.name != QUERY]
    task = offline_board.find_wish(said.words)
    if task:
        planned = _plan_tasks(task, called, by_name, queries, texts)
        if planned:
            return planned
    wish = offline_schedules.find_wish(said.words, texts)
    if wish:
        planned = _plan_schedules(wish, said, called, by_name, queries)
        if planned:
            return planned
    team = offline_team.find_wish(said.words)
    if team:
        planned = _plan_team(team, called, by_name, queries, texts)
        if planned:
            return planned
    document = offline_knowledge.find_wish(said.words)
    if document:
        planned = _plan_knowledge(document, called, by_name, queries, texts)
        if planned:
            return planned
    file_wish = offline_files.find_wish(said.words)
    if file_wish:
        planned = _plan_files(file_wish, called, by_name, queries, texts)
        if planned:
            return planned
    if offline_memory.wants_all_forgotten(said.words):
        return texts.offline_forget_all
    if offline_memory.find_wish_to_forget(said.words):
        return _plan_forgetting(said, called, by_name, queries)
    note = offline_memory.find_note(said.words)
    if offline_memory.stands_in(note):
        return texts.offline_could_keep.format(words="…")
    if note and not called:
        if REMEMBER in by_name:
            return REMEMBER, offline_corrections.plan_keeping(note)
        if "remember" not in queries:
            return QUERY, {"query": "remember"}
    if called and called[-1].error is None:
        return _answer(said, called[-1])
    if called and (called[-1].error or {}).get("code") == "EPERM":
        # it was the right capability: another one would hide what an owner may do about it
        return _format_answer(called[-1], texts)
    readings: list[Reading] = []
    if not offline_follow_up.is_follow_up(said.words):
        readings = read_request(Request(said.words, said.now, said.zone))
    tried = {call.name for call in called}
    for reading in readings:
        usable = reading.tool not in tried and len(tried) < TRIES
        may_ask = (
            bool(queries) and reading.capability not in queries and len(queries) < MOST_QUERIES
        )
        if usable and may_ask and reading.arguments is not None and reading.tool not in by_name:
            return QUERY, {"query": reading.capability}
        if usable and _takes(by_name.get(reading.tool), reading.arguments):
            return reading.tool, reading.arguments or {}
    own = _plan_own(said.words, by_name, tried)
    if own:
        return own
    correction = offline_corrections.plan_correction(said.words, said.kept) if not called else None
    if correction and REMEMBER in by_name:
        return REMEMBER, correction
    if correction and "remember" not in queries:
        return QUERY, {"query": "remember"}
    if not queries:
        return QUERY, {"query": said.words[:200] or "help"}
    if called:
        return _format_answer(called[-1], texts)
    told = offline_memory.find_told([call.ok for call in done], said.words)
    if told:
        return _format_answer(AnsweredCall(RECALL, {}, ok={"items": told}), texts)
    for reading in readings:
        unknown = reading.tool not in by_name and reading.capability not in queries
        if unknown and len(queries) < MOST_QUERIES:
            return QUERY, {"query": reading.capability}
        if reading.tool in by_name and reading.unread and reading.example:
            return texts.offline_unread.format(words=reading.unread, example=reading.example)
        if reading.tool in by_name and reading.unread:
            return texts.offline_unread_words.format(words=reading.unread)
        if reading.tool in by_name and reading.arguments is None:
            return texts.offline_needs.format(
                capability=reading.capability, example=reading.example
            )
    return _ask_for_input(said, by_name) or _refuse(said)


def _refuse(said: _Said) -> str:
    """Return the sentence to somebody whose words no capability fits.

    Who writes in a language that is not known reads so in it, if it can be told.
    """
    doubted = offline_corrections.find_doubted(said.words, said.kept)
    if doubted:
        return said.texts.offline_is_over.format(words=doubted)
    if not detect_language(said.words):
        from functions.texts import abroad  # few ever need it

        sentence = abroad.find_sentence(said.words)
        if sentence or abroad.is_strange(said.words):
            return sentence or said.texts.offline_language
    told = offline_memory.find_statement(said.words)
    if told:
        return said.texts.offline_could_keep.format(words=told)
    if offline_memory.is_impossible(said.words):
        return said.texts.offline_cannot
    return said.texts.offline_not_found


def _takes(function: FunctionDefinition | None, arguments: dict[str, Json] | None) -> bool:
    """Return whether a tool's schema has these arguments and no other required one.

    A person's own capability can have a name of the library's.
    """
    if function is None or arguments is None:
        return False
    properties = as_mapping(function["parameters"].get("properties"))
    required = map(as_string, as_sequence(function["parameters"].get("required")))
    return arguments.keys() <= properties.keys() and all(name in arguments for name in required)


def _plan_own(
    words: str, by_name: Mapping[str, FunctionDefinition], tried: set[str]
) -> tuple[str, dict[str, Json]] | None:
    """Return the call of a capability that is not the library's; the words must name a part of it.

    The last that was paged in comes first. Where one is named wholly, the others are not meant.
    """
    own = [name for name in reversed([*by_name]) if _is_own(name)]
    named = [name for name in own if offline_arguments.is_named(words, by_name[name])]
    for name in named or own:
        if name in tried or len(tried) >= TRIES:
            continue
        if offline_arguments.is_mentioned(words, by_name[name]):
            arguments = offline_arguments.fill_arguments(words, by_name[name])
            if arguments is not None:
                return name, arguments
    return None


def _ask_for_input(said: _Said, by_name: Mapping[str, FunctionDefinition]) -> str:
    """Return what to ask for when a capability is named and its input is not; empty for none."""
    for name in reversed([*by_name]):
        if _is_own(name) and offline_arguments.is_mentioned(said.words, by_name[name]):
            known = by_name[name]
            parameters = ", ".join(as_mapping(known["parameters"].get("properties")))
            return said.texts.offline_needs_input.format(
                tool=name, description=known["description"], parameters=parameters
            )
    return ""


def _is_own(tool: str) -> bool:
    library = LIBRARY_TOOLS | offline_board.TOOLS | offline_files.TOOLS
    known = library | offline_team.TOOLS | offline_knowledge.TOOLS | _OF_RUNS
    return is_capability(tool) and tool not in known


def _answer(said: _Said, last: AnsweredCall) -> str:
    """Return the answer; of what was recalled only what the question is about."""
    if last.name != RECALL or last.error or not last.arguments:
        own = answer_question(said.words, last.name, last.arguments, last.ok, said.texts)
        return own or _format_answer(last, said.texts)
    items = offline_memory.leave_out_others(last.ok, said.words)
    if not items:
        return said.texts.offline_not_told
    return _format_answer(replace(last, ok={"items": items}), said.texts)


def _plan_forgetting(
    said: _Said,
    called: Sequence[AnsweredCall],
    by_name: Mapping[str, FunctionDefinition],
    queries: set[str],
) -> Plan:
    """Return the next step of forgetting: recall what is meant, then forget it by its id."""
    texts = said.texts
    about = offline_memory.find_wish_to_forget(said.words)
    last = called[-1] if called else None
    if last and last.error:
        return _format_answer(last, texts)
    if last and last.name == FORGET:
        forgotten = offline_memory.find_item(called[0].ok, about)[1]
        answer = texts.offline_forgotten_what.format(words=forgotten)
        line = as_string(as_mapping(last.ok).get("memory_still_says"))
        return f"{answer}\n{texts.still_in_memory.format(line=line)}" if line else answer
    if last is None:
        if RECALL in by_name:
            return RECALL, {"query": about}
        return texts.offline_not_found if "recall" in queries else (QUERY, {"query": "recall"})
    id, text = offline_memory.find_item(last.ok, about)
    if not text:
        return texts.offline_nothing_known
    if FORGET in by_name:
        return FORGET, {"id": id}
    return texts.offline_not_found if "forget" in queries else (QUERY, {"query": "forget"})


def _plan_knowledge(
    wish: offline_knowledge.Wish,
    called: Sequence[AnsweredCall],
    by_name: Mapping[str, FunctionDefinition],
    queries: set[str],
    texts: Texts,
) -> Plan:
    """Return the next step of what somebody wants of the knowledge base; empty when nothing can do
    it.
    """
    last = called[-1] if called else None
    if last and last.error:
        return _format_answer(last, texts)
    if last and last.name == tool_of(wish.tool):
        return describe_result(last.name, last.arguments, last.ok, texts)
    if wish.kind == "update":
        return texts.offline_kb_update
    if not wish.is_whole:
        return texts.kb_how if wish.kind == "search" else texts.offline_kb_how
    if tool_of(wish.tool) in by_name:
        return tool_of(wish.tool), wish.arguments
    return "" if wish.tool in queries else (QUERY, {"query": wish.tool})


def _plan_schedules(
    wish: offline_schedules.Wish,
    said: _Said,
    called: Sequence[AnsweredCall],
    by_name: Mapping[str, FunctionDefinition],
    queries: set[str],
) -> Plan:
    """Return the next step of what somebody wants of the schedules; empty when nothing can do it.

    What is to be cancelled is listed first, for people say which one it is in words.
    """
    texts = offline_schedules.choose_texts(wish, said.texts)
    last = called[-1] if called else None
    if last and last.error:
        # a time that may be two is a question, which is for the person as it stands
        code = last.error.get("code")
        if code == "EQUOTA" and wish.kind == "schedule":
            return texts.remind_full
        is_question = code in ("EASK", "EINVAL") and wish.kind == "schedule"
        return last.error.get("message", "") if is_question else _format_answer(last, texts)
    if last and last.name == tool_of(offline_schedules.SCHEDULE):
        return offline_schedules.describe_schedule(last.ok, texts)
    if last and last.name == tool_of(offline_schedules.CANCEL):
        done = as_mapping(last.ok)
        pattern = texts.wakeup_is_paused if wish.kind == "pause" else texts.wakeup_dropped
        return pattern.format(title=done.get("title"), number=done.get("number"))
    if last and wish.kind == "list":
        return offline_schedules.describe_list(last.ok, texts)
    arguments: dict[str, Json] = {}
    name = offline_schedules.LIST
    if wish.kind == "schedule":
        if not wish.when:
            return texts.when_no_time if wish.say else texts.remind_of_what
        if not wish.say:
            return offline_schedules.ask_back(wish, said.now, said.zone, texts)
        name = offline_schedules.SCHEDULE
        arguments = wish.arguments
    elif last:
        id, words = offline_schedules.choose_schedule(last.ok, wish.about)
        if not id:
            return f"{texts.offline_which}\n{words}" if words else texts.wakeups_none
        name = offline_schedules.CANCEL
        arguments = {"id": id, "pause": True} if wish.kind == "pause" else {"id": id}
    if tool_of(name) in by_name:
        return tool_of(name), arguments
    return "" if name in queries else (QUERY, {"query": name})


def _plan_files(
    wish: offline_files.FileWish,
    called: Sequence[AnsweredCall],
    by_name: Mapping[str, FunctionDefinition],
    queries: set[str],
    texts: Texts,
) -> Plan:
    """Return the next step of what somebody wants of the files; empty when nothing can do it."""
    if called:
        last = called[-1]
        if last.error:
            return _format_answer(last, texts)
        return offline_files.describe_answer(wish, last.ok, texts)
    if wish.kind == "save" and not wish.text:
        return texts.offline_save_what.format(path=wish.path or "notes.md")
    if wish.kind == "compare" and not wish.path:
        return texts.offline_which_file
    tool = tool_of(wish.service)
    if tool in by_name:
        return tool, wish.arguments
    return "" if wish.service in queries else (QUERY, {"query": wish.service})


def _plan_tasks(
    wish: offline_board.TaskWish,
    called: Sequence[AnsweredCall],
    by_name: Mapping[str, FunctionDefinition],
    queries: set[str],
    texts: Texts,
) -> Plan:
    """Return the next step of what somebody wants of the board; empty when nothing can do it."""
    if called:
        last = called[-1]
        if last.error:
            return _format_answer(last, texts)
        return offline_board.describe_answer(wish, last.ok, texts)
    if wish.is_after_another:
        return texts.offline_task_after
    if tool_of(wish.service) in by_name:
        return tool_of(wish.service), wish.arguments
    return "" if wish.service in queries else (QUERY, {"query": wish.service})


def _plan_team(
    wish: offline_team.TeamWish,
    called: Sequence[AnsweredCall],
    by_name: Mapping[str, FunctionDefinition],
    queries: set[str],
    texts: Texts,
) -> Plan:
    """Return the next step of what somebody wants of the team; empty when nothing can do it.

    Who is to be stopped and is no teammate may be another agent.
    """
    if called and called[-1].error:
        return _format_answer(called[-1], texts)
    answered = {call.name: call.ok for call in called}
    step = offline_team.plan_step(wish, answered, texts)
    if isinstance(step, str):
        return step
    service, arguments = step
    if tool_of(service) in by_name:
        return tool_of(service), arguments
    return "" if service in queries else (QUERY, {"query": service})


def _format_answer(last: AnsweredCall, texts: Texts) -> str:
    if last.error and last.error.get("code") == "EAPPROVAL":
        return texts.offline_waits
    if last.error:
        return texts.offline_failed.format(why=_describe_error(last, texts))
    return describe_result(last.name, last.arguments, last.ok, texts)


def _describe_error(last: AnsweredCall, texts: Texts) -> str:
    error = last.error or {}
    help = f" ({error['suggestion']})" if error.get("suggestion") else ""
    if help and texts.command_sign != ENGLISH.command_sign:
        from functions.texts.command_signs import write_commands

        help = write_commands(help, texts.command_sign)
    return one_line(f"{error.get('code', '')}: {error.get('message', '')}{help}")


def _read_turn(messages: Sequence[PromptMessage]) -> tuple[_Said, list[AnsweredCall]]:
    """Return what the user said last, and the calls answered since."""
    people = [
        place
        for place, message in enumerate(messages)
        if message["role"] == "user" and not str(message.get("content")).startswith(RUNTIME_MARK)
    ]
    start = people[-1] if people else 0
    written = [place for place in people if place == start or not _is_mail(messages[place])]
    newest = [_read_words(messages[place]) for place in reversed(written[-LANGUAGE_MESSAGES:])]
    head = str(messages[start].get("content") or "").partition("\n")[0] if messages else ""
    platform = next(iter(head.rstrip("]").split(SEPARATOR)[1:]), "")
    texts = choose_texts("", newest, "", find_command_sign(platform))
    stamp = _STAMP.search(head.partition(SEPARATOR)[0]) if head.startswith("[") else None
    is_mail = bool(messages) and _is_mail(messages[start])
    words = offline_follow_up.complete_request(newest[0], newest[1:]) if newest else ""
    is_due = platform.partition(" ")[0] == "wakeup"
    said = _Said(words, is_mail, is_due, texts=texts)
    if stamp:
        with suppress(ValueError):
            said = replace(said, now=datetime.fromisoformat(stamp[1]), zone=stamp[2] or "")
    before = people[-2] if len(people) > 1 else 0
    kept = [
        (call.ok, is_last)
        for part, is_last in ((messages[:before], False), (messages[before:start], True))
        for call in _read_calls(part, REMEMBER)
    ]
    said = replace(said, kept=offline_corrections.list_kept(kept))
    return said, _read_calls(messages[start:])


def _read_calls(messages: Sequence[PromptMessage], tool: str = "") -> list[AnsweredCall]:
    """Return the calls in some messages that have an answer there; those of one tool alone where it
    is given.
    """
    calls: dict[str, FunctionCall] = {}
    done = []
    for message in messages:
        for call in message.get("tool_calls") or ():
            if tool in ("", call["function"]["name"]):
                calls[call["id"]] = call["function"]
        if message["role"] != "tool" or message["tool_call_id"] not in calls:
            continue
        function = calls[message["tool_call_id"]]
        answer = as_string(message["content"])
        try:
            arguments = orjson.loads(function["arguments"])
            result = orjson.loads(answer.partition("\n")[0])
        except orjson.JSONDecodeError:
            done.append(AnsweredCall(function["name"], {}, ok=answer))
            continue
        done.append(
            AnsweredCall(function["name"], arguments, result.get("ok"), result.get("error"))
        )
    return done


def _is_mail(message: PromptMessage) -> bool:
    """Return whether a message holds what others say, and no person of the chat wrote it."""
    head = str(message.get("content") or "").partition("\n")[0]
    # behind the time stands a platform for what people write, and no platform is called so
    return head.rstrip("]").split(SEPARATOR)[1:2] == [MAIL_ORIGIN]


def _read_words(message: PromptMessage) -> str:
    """Return what a person wrote in a message; what it passes on where it has nothing else."""
    words = str(message.get("content") or "").partition("\n")[2]
    words = words.removesuffix(f"\n{SCHEDULED_NOTE}")
    own = read_own_words(words)
    said = (own if own.strip() else remove_delimiters(words)).strip()
    return _MENTION.sub("", said) or said
