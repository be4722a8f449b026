"""What the families of chat-completions endpoints take, read strictly, and what they say of a
request that they refuse.

A family is what answers at an address: `DIALECTS` has a row for each, with its rules in the order
in which it looks. The rules of the other two APIs stand in `responses_api` and `messages_api`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

from tests.fakes.endpoint_steps import Asked, is_signed, text_of
from tests.fakes.schema_rules import refusal_of

Body = Mapping[str, Any]
Message = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is refused, in a family's words.

    `loc` is the place of a field that is not taken. `window` are the tokens of the request and the
    most that fit.
    """

    message: str
    status: int = 400
    code: str | None = None
    param: str | None = None
    kind: str = "invalid_request_error"
    loc: tuple[str | int, ...] = ()
    window: tuple[int, int] | None = None


Refusals = Iterator[Refusal]
Rule = Callable[[Body, "Dialect"], Refusals]


@dataclass(frozen=True)
class Dialect:
    """A family of endpoints, as it is played.

    `family` chooses its words and the form of its errors. `schemas` names the rules of its tools'
    schemas. `fields` are taken in messages beside the standard ones, and `parameters` in requests.
    `efforts` are the values that `reasoning_effort` may have, None where it is not looked at.
    `thoughts` says where a thought comes out, and `odd` what is unusual about its streams. `apis`
    are the last parts of the paths that it serves. `thinks` says whether its model reasons, and
    `window` is the most tokens that a prompt may have, 0 for no limit.
    """

    name: str
    model: str
    family: str
    rules: tuple[Rule, ...]
    schemas: str = ""
    fields: frozenset[str] = frozenset()
    parameters: frozenset[str] = frozenset()
    efforts: tuple[str, ...] | None = None
    thoughts: str = ""
    odd: frozenset[str] = frozenset()
    usage: str = "openai"
    ids: str = "call_{digits:.24}"
    finish: str = "tool_calls"
    apis: frozenset[str] = frozenset({"completions"})
    thinks: bool = True
    window: int = 0


STANDARD: Mapping[str, frozenset[str]] = {
    "system": frozenset({"role", "content", "name"}),
    "developer": frozenset({"role", "content", "name"}),
    "user": frozenset({"role", "content", "name"}),
    "assistant": frozenset(
        {"role", "content", "name", "tool_calls", "refusal", "audio", "function_call"}
    ),
    "tool": frozenset({"role", "content", "name", "tool_call_id"}),
}
"""The fields of the messages of each role."""
CALL_FIELDS = frozenset({"id", "type", "function", "index"})
PARAMETERS = frozenset(
    "model messages tools tool_choice parallel_tool_calls stream stream_options temperature top_p"
    " max_tokens max_completion_tokens reasoning_effort response_format stop seed n user metadata"
    " store presence_penalty frequency_penalty logit_bias logprobs top_logprobs service_tier"
    " prompt_cache_key prompt_cache_retention safety_identifier verbosity modalities audio"
    " prediction functions function_call web_search_options".split()
)
"""The parameters of chat completions as OpenAI has them."""
SAMPLING = ("temperature", "top_p", "presence_penalty", "frequency_penalty", "stop", "max_tokens")
TOOLS_MOST = 128
FOREIGN_SIGNATURE = "skip_thought_signature_validator"
"""What Gemini takes in place of a signature, for calls that another model made."""

_ASSISTANT_UNANSWERED = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each"
    " 'tool_call_id'."
)
WORDS: Mapping[str, Mapping[str, str]] = {
    "unanswered": {
        "": _ASSISTANT_UNANSWERED
        + " The following tool_call_ids did not have response messages: {id}",
        "deepseek": _ASSISTANT_UNANSWERED
        + " (insufficient tool messages following tool_calls message)",
        "mistral": "Not the same number of function calls and responses",
        "gemini": "Please ensure that the number of function response parts is equal to the number"
        " of function call parts of the function call turn.",
        "minimax": "invalid params, tool call result does not follow tool call (2013)",
        "anthropic": "messages.{place}: `tool_use` ids were found without `tool_result` blocks"
        " immediately after: {id}. Each `tool_use` block must have a corresponding `tool_result`"
        " block in the next message.",
    },
    "unasked": {
        "": "Invalid parameter: messages with role 'tool' must be a response to a preceeding"
        " message with 'tool_calls'.",
        "mistral": "Unexpected tool call id {id} in tool results",
        "gemini": "Please ensure that function response turn comes immediately after a function"
        " call turn.",
        "minimax": "invalid params, tool result's tool id({id}) not found (2013)",
        "anthropic": "messages.{place}.content.0: unexpected `tool_use_id` found in `tool_result`"
        " blocks: {id}. Each `tool_result` block must have a corresponding `tool_use` block in the"
        " previous message.",
    },
    "arguments": {
        "": "Invalid 'messages[{place}].tool_calls': the arguments of {id} are not a JSON object.",
        "minimax": "invalid params, invalid function arguments json string, tool_call_id: {id}"
        " (2013)",
        "vllm": "Expecting value: line 1 column 1 (char 0)",
        "llamacpp": "Failed to parse tool call arguments as JSON",
    },
    "thought": {
        "": "The `reasoning_content` in the thinking mode must be passed back to the API.",
        "kimi": "thinking is enabled but reasoning_content is missing in assistant tool call"
        " message at index {place}",
    },
    "forced": {
        "": "Thinking mode does not support this tool_choice",
        "kimi": "tool_choice 'specified' is incompatible with thinking enabled",
        "qwen": "<400> InternalError.Algo.InvalidParameter: The tool_choice parameter does not"
        " support being set to required or object in thinking mode",
    },
    "system": {
        "": "System message must be at the beginning.",
        "minimax": "invalid params, chat content has invalid message role: system (2013)",
    },
    "field": {
        "": "Unknown parameter: '{field}'.",
        "groq": "'messages.{place}' : for 'role:{role}' the following must be satisfied"
        "[('messages.{place}' : property '{field}' is unsupported)]",
        "mistral": "Extra inputs are not permitted",
    },
    "parameter": {
        "": "Unrecognized request argument supplied: {field}",
        "groq": "property '{field}' is unsupported",
        "mistral": "Extra inputs are not permitted",
    },
    "effort": {
        "": "Unsupported value: 'reasoning_effort' does not support '{effort}' with this model."
        " Supported values are: {efforts}.",
        "groq": "`reasoning_effort` must be one of {efforts}",
        "mistral": "Input should be {efforts}",
    },
    "duplicate": {
        "": "Tool names must be unique.",
        "gemini": "Duplicate function declaration found: {name}",
        "anthropic": "tools: Tool names must be unique.",
        "kimi": "function name {name} is duplicated",
    },
    "window": {
        "": "This model's maximum context length is {most} tokens. However, your messages resulted"
        " in {size} tokens. Please reduce the length of the messages.",
        "gemini": "The input token count ({size}) exceeds the maximum number of tokens allowed"
        " ({most}).",
        "anthropic": "prompt is too long: {size} tokens > {most} maximum",
        "mistral": "Prompt contains {size} tokens and 0 draft tokens, too large for model with"
        " {most} maximum context length",
        "minimax": "invalid params, context window exceeds limit (2013)",
        "qwen": "<400> InternalError.Algo.InvalidParameter: Range of input length should be"
        " [1, {most}]",
        "kimi": "Invalid request: Your request exceeded model token limit: {most} (requested:"
        " {size})",
        "xai": "This model's maximum prompt length is {most} but the request contains {size}"
        " tokens.",
        "llamacpp": "the request exceeds the available context size, try increasing it",
    },
}
"""What is said, by the family that has words of its own."""


def words(what: str, dialect: Dialect, **values: object) -> str:
    """Return a family's words for one kind of refusal."""
    table = WORDS[what]
    return table.get(dialect.family, table[""]).format(**values)


def judge(body: Body, headers: Mapping[str, str], dialect: Dialect) -> Refusal | None:
    """Return the first refusal of a request for a chat completion, None when it is taken."""
    if not isinstance(body.get("model"), str):
        return Refusal("you must provide a model parameter", param="model")
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return Refusal("'messages' must be a non-empty array", param="messages")
    for place, message in enumerate(messages):
        role = message.get("role") if isinstance(message, dict) else None
        if role not in STANDARD or (role == "developer" and dialect.family != "openai"):
            return Refusal(f"Invalid value: '{role}'.", param=f"messages[{place}].role")
    found = (refusal for rule in dialect.rules for refusal in rule(body, dialect))
    return next(found, None)


def read_asked(body: Body) -> Asked:
    """Return a request for a chat completion as a script reads it."""
    messages = body["messages"]
    choice = body.get("tool_choice")
    return Asked(
        body["model"],
        text_of(messages[0].get("content")) if messages[0]["role"] == "system" else "",
        tuple(text_of(each.get("content")) for each in messages if each["role"] == "user"),
        tuple(text_of(each.get("content")) for each in messages if each["role"] == "tool"),
        tuple(function["name"] for _, function in _functions(body)),
        choice["function"]["name"] if isinstance(choice, dict) else "",
        body,
    )


def _functions(body: Body) -> Iterator[tuple[int, Body]]:
    for place, tool in enumerate(body.get("tools") or ()):
        yield place, tool.get("function") or {}


def _calling(body: Body) -> Iterator[tuple[int, Message]]:
    """Yield the messages that call tools, with their places."""
    for place, message in enumerate(body["messages"]):
        if message["role"] == "assistant" and message.get("tool_calls"):
            yield place, message


def _calling_in_turn(body: Body) -> Iterator[tuple[int, Message]]:
    """Yield those since the newest message of a user."""
    asked = [place for place, each in enumerate(body["messages"]) if each["role"] == "user"]
    newest = asked[-1] if asked else 0
    return ((place, message) for place, message in _calling(body) if place > newest)


def _ids(body: Body) -> Iterator[tuple[str, object]]:
    """Yield the ids of calls and results, with their places."""
    for place, message in enumerate(body["messages"]):
        for number, called in enumerate(message.get("tool_calls") or ()):
            yield f"messages[{place}].tool_calls[{number}].id", called.get("id")
        if message["role"] == "tool":
            yield f"messages[{place}].tool_call_id", message.get("tool_call_id")


def fields_of(value: object) -> Mapping[str, Any]:
    """Return an object's fields, none of what is no object."""
    return value if isinstance(value, Mapping) else {}


def is_object(text: object) -> bool:
    """Return whether a text is a JSON object."""
    try:
        return isinstance(json.loads(str(text)), dict)
    except ValueError:
        return False


# --- tools ---


def check_names(body: Body, dialect: Dialect, pattern: str = r"[a-zA-Z0-9_-]{1,64}") -> Refusals:
    tools = body.get("tools") or ()
    if len(tools) > TOOLS_MOST:
        yield Refusal(
            f"Invalid 'tools': array too long. Expected an array with maximum length {TOOLS_MOST},"
            f" but got an array with length {len(tools)} instead.",
            code="array_above_max_length",
            param="tools",
        )
    named = [
        (f"tools[{place}].function.name", each.get("name")) for place, each in _functions(body)
    ]
    for place, message in _calling(body):
        for number, called in enumerate(message["tool_calls"]):
            at = f"messages[{place}].tool_calls[{number}].function.name"
            named.append((at, called["function"].get("name")))
    for at, name in named:
        if not isinstance(name, str) or not re.fullmatch(pattern, name):
            yield Refusal(
                f"Invalid '{at}': string does not match pattern. Expected a string that matches the"
                " pattern '^[a-zA-Z0-9_-]+$'.",
                code="invalid_value",
                param=at,
            )
    yield from check_duplicates([str(each.get("name")) for _, each in _functions(body)], dialect)


def check_duplicates(names: Sequence[str], dialect: Dialect) -> Refusals:
    """Yield a refusal for each name that two tools have."""
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield Refusal(words("duplicate", dialect, name=name))


def check_names_begin_with_a_letter(body: Body, dialect: Dialect) -> Refusals:
    return check_names(body, dialect, r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}")


def check_schemas(body: Body, dialect: Dialect) -> Refusals:
    for place, function in _functions(body):
        name = str(function.get("name"))
        schema = function.get("parameters")
        said = judge_schema(dialect.schemas, name, json.dumps(schema, sort_keys=True))
        if said:
            said = said.replace("declarations[0]", f"declarations[{place}]")
            said = said.replace("tools.0.", f"tools.{place}.")
            yield Refusal(
                said,
                code="invalid_function_parameters",
                param=f"tools[{place}].function.parameters",
            )


@lru_cache(maxsize=8192)
def judge_schema(schemas: str, name: str, text: str) -> str | None:
    """Return what the rules of a family say of a tool's schema, which is JSON; None when they take
    it.
    """
    return refusal_of(schemas, name, json.loads(text) or {})


def check_strict(body: Body, dialect: Dialect) -> Refusals:
    """Yield a refusal for a function that is `strict` and whose schema is not."""
    for place, function in _functions(body):
        if function.get("strict"):
            said = find_not_strict(function.get("parameters") or {})
            if said:
                yield Refusal(
                    f"Invalid schema for function '{function.get('name')}': {said}",
                    code="invalid_function_parameters",
                    param=f"tools[{place}].function.parameters",
                )


def find_not_strict(schema: object, at: tuple[str, ...] = ()) -> str:
    """Return why a schema is not taken with `strict`, empty when it is."""
    if not isinstance(schema, dict):
        return ""
    properties = schema.get("properties") or {}
    if schema.get("type") == "object":
        if schema.get("additionalProperties") is not False:
            return f"In context={at}, 'additionalProperties' is required to be supplied and to be false."
        missing = sorted(properties.keys() - set(schema.get("required") or ()))
        if missing:
            return (
                f"In context={at}, 'required' is required to be supplied and to be an array"
                f" including every key in properties. Missing '{missing[0]}'."
            )
    inner = [(("properties", name), part) for name, part in properties.items()]
    inner.append((("items",), schema.get("items")))
    said = (find_not_strict(part, (*at, *step)) for step, part in inner)
    return next(filter(None, said), "")


def check_descriptions(body: Body, dialect: Dialect) -> Refusals:
    for place, function in _functions(body):
        length = len(function.get("description") or "")
        if length > 1024:
            at = f"tools[{place}].function.description"
            yield Refusal(
                f"Invalid '{at}': string too long. Expected a string with maximum length 1024, but"
                f" got a string with length {length} instead.",
                code="string_above_max_length",
                param=at,
            )


def check_tools_not_empty(body: Body, dialect: Dialect) -> Refusals:
    if body.get("tools") == []:
        yield Refusal("Extra inputs are not permitted", 422, loc=("body", "tools"))


def check_tools_with_calls(body: Body, dialect: Dialect) -> Refusals:
    if not body.get("tools") and any(_calling(body)):
        yield Refusal(
            "litellm.UnsupportedParamsError: Anthropic doesn't support tool calling without"
            " `tools=` param specified. Pass `modify_params=True` to add a dummy tool."
        )


# --- messages ---


def check_pairs(body: Body, dialect: Dialect) -> Refusals:
    """Yield a refusal where a call has no result right behind its message, or a result no call."""
    waiting: list[object] = []
    for place, message in enumerate([*body["messages"], {"role": "end"}]):
        if message["role"] == "tool":
            id = message.get("tool_call_id")
            if id not in waiting:
                yield Refusal(
                    words("unasked", dialect, id=id, place=place),
                    param=f"messages.[{place}].role",
                )
            else:
                waiting.remove(id)
            continue
        if waiting:
            yield Refusal(
                words("unanswered", dialect, id=waiting[0], place=place - 1),
                param=f"messages.[{place}].role",
                code="3230" if dialect.family == "mistral" else None,
            )
        waiting = [called.get("id") for called in message.get("tool_calls") or ()]
        if len(set(waiting)) < len(waiting):
            yield Refusal(f"Duplicate value for 'tool_call_id' of {waiting[0]}")


def check_arguments(body: Body, dialect: Dialect) -> Refusals:
    for place, message in _calling(body):
        for called in message["tool_calls"]:
            if not is_object(called["function"].get("arguments")):
                yield Refusal(words("arguments", dialect, id=called.get("id"), place=place))


def check_fields(body: Body, dialect: Dialect) -> Refusals:
    """Yield a refusal for each field of a message that is not a standard one, nor the family's."""
    status = 422 if dialect.family == "mistral" else 400
    for place, message in enumerate(body["messages"]):
        role = message["role"]
        unknown = sorted(message.keys() - STANDARD[role] - dialect.fields)
        for called in message.get("tool_calls") or ():
            unknown += sorted(called.keys() - CALL_FIELDS - dialect.fields)
        for field in unknown:
            yield Refusal(
                words("field", dialect, place=place, role=role, field=field),
                status,
                param=f"messages[{place}].{field}",
                loc=("body", "messages", place, role, field),
            )


def check_contents(body: Body, dialect: Dialect) -> Refusals:
    """Yield a refusal for each message without a content that needs one."""
    for place, message in enumerate(body["messages"]):
        if message.get("content") is None and not message.get("tool_calls"):
            yield Refusal(
                "Invalid value for 'content': expected a string, got null.",
                param=f"messages.[{place}].content",
            )


def check_no_null(body: Body, dialect: Dialect) -> Refusals:
    for message in body["messages"]:
        if not isinstance(message.get("content"), (str, list)):
            yield Refusal("invalid message content type: <nil>")


def check_not_empty(body: Body, dialect: Dialect) -> Refusals:
    for place, message in enumerate(body["messages"]):
        is_spoken = message["role"] in ("user", "assistant") and not message.get("tool_calls")
        if is_spoken and isinstance(message.get("content"), str) and not message["content"].strip():
            yield Refusal(
                f"messages.{place}: all messages must have non-empty content except for the"
                " optional final assistant message"
            )


def check_texts_alone(body: Body, dialect: Dialect) -> Refusals:
    for place, message in enumerate(body["messages"]):
        parts = message.get("content")
        for part in parts if isinstance(parts, list) else ():
            if part.get("type") != "text":
                yield Refusal(
                    "Failed to deserialize the JSON body into the target type:"
                    f" messages[{place}]: unknown variant `{part.get('type')}`, expected `text`"
                )


def check_short_ids(body: Body, dialect: Dialect) -> Refusals:
    for at, id in _ids(body):
        if not isinstance(id, str) or len(id) > 40:
            yield Refusal(
                f"Invalid '{at}': string too long. Expected a string with maximum length 40, but"
                f" got a string with length {len(str(id))} instead.",
                code="string_above_max_length",
                param=at,
            )


def check_nine_characters(body: Body, dialect: Dialect) -> Refusals:
    for _, id in _ids(body):
        if not re.fullmatch(r"[a-zA-Z0-9]{9}", str(id)):
            yield Refusal(
                f"Tool call id was {id} but must be a-z, A-Z, 0-9, with a length of 9.",
                kind="invalid_function_call",
                code="3280",
            )


def check_word_ids(body: Body, dialect: Dialect) -> Refusals:
    for at, id in _ids(body):
        if not re.fullmatch(r"[a-zA-Z0-9_-]+", str(id)):
            yield Refusal(f"{at}: String should match pattern '^[a-zA-Z0-9_-]+$'")


def check_system_first(body: Body, dialect: Dialect) -> Refusals:
    if any(message["role"] == "system" for message in body["messages"][1:]):
        yield Refusal(words("system", dialect))


def check_user_is_there(body: Body, dialect: Dialect) -> Refusals:
    if all(message["role"] != "user" for message in body["messages"]):
        if dialect.family == "glm":
            yield Refusal(
                "The messages parameter is illegal. Please check the documentation.", code="1214"
            )
        else:
            yield Refusal("No user query found in messages.")


def check_order(body: Body, dialect: Dialect) -> Refusals:
    """Yield a refusal where a user speaks right behind a tool, or the assistant comes last."""
    roles = [message["role"] for message in body["messages"]]
    for before, role in pairwise(roles):
        if before == "tool" and role in ("user", "system"):
            yield Refusal(
                f"Unexpected role '{role}' after role 'tool'",
                kind="invalid_request_message_order",
                code="3230",
            )
    if roles[-1] not in ("user", "tool"):
        yield Refusal(
            "Expected last role User or Tool (or Assistant with prefix True) for serving but got"
            f" {roles[-1]}",
            kind="invalid_request_message_order",
            code="3230",
        )


def check_alternation(body: Body, dialect: Dialect) -> Refusals:
    """Yield a refusal where two messages of one side follow each other, as old templates do."""
    said = [
        message["role"]
        for message in body["messages"]
        if message["role"] in ("user", "assistant") and not message.get("tool_calls")
    ]
    if any(role != ("user", "assistant")[number % 2] for number, role in enumerate(said)):
        yield Refusal(
            "After the optional system message, conversation roles must alternate"
            " user/assistant/user/assistant/..."
        )


# --- thoughts ---


def check_signatures(body: Body, dialect: Dialect) -> Refusals:
    """Yield a refusal for a step of this turn whose first call has no signature of Gemini's."""
    for place, message in _calling_in_turn(body):
        first = message["tool_calls"][0]
        google = fields_of(fields_of(first.get("extra_content")).get("google"))
        signature = google.get("thought_signature")
        if signature is None:
            yield Refusal(
                "Function call is missing a thought_signature in functionCall parts. This is"
                " required for tools to work correctly, and missing thought_signature may lead to"
                " degraded model performance. Additional data, function call"
                f" `default_api:{first['function']['name']}` , position {place}."
            )
        elif signature != FOREIGN_SIGNATURE and not is_signed("gemini", signature):
            yield Refusal("Thought signature is not valid.")


def check_details(body: Body, dialect: Dialect) -> Refusals:
    """Yield a refusal for a step of this turn without the details that OpenRouter gave."""
    for _, message in _calling_in_turn(body):
        details = message.get("reasoning_details")
        parts = [*map(fields_of, details)] if isinstance(details, list) else []
        if not any(is_signed("openrouter", part.get("data")) for part in parts):
            yield Refusal(
                "Gemini models require OpenRouter reasoning details to be preserved in each"
                " request. Upstream error: Function call is missing a thought_signature in"
                " functionCall parts."
            )


def check_reasoning_back(body: Body, dialect: Dialect) -> Refusals:
    """Yield a refusal for a message with calls and without its reasoning; an empty one counts."""
    for place, message in _calling(body):
        if dialect.thinks and not isinstance(message.get("reasoning_content"), str):
            yield Refusal(words("thought", dialect, place=place))


# --- parameters ---


def check_parameters(body: Body, dialect: Dialect) -> Refusals:
    for field in sorted(body.keys() - PARAMETERS - dialect.parameters):
        yield Refusal(
            words("parameter", dialect, field=field),
            422 if dialect.family == "mistral" else 400,
            param=field,
            loc=("body", field),
        )


def check_effort(body: Body, dialect: Dialect) -> Refusals:
    effort = body.get("reasoning_effort")
    if effort is not None and dialect.efforts is not None and effort not in dialect.efforts:
        efforts = ", ".join(map(repr, dialect.efforts)) or "none at all"
        yield Refusal(
            words("effort", dialect, effort=effort, efforts=efforts),
            422 if dialect.family == "mistral" else 400,
            code="unsupported_value",
            param="reasoning_effort",
            loc=("body", "reasoning_effort"),
        )


def check_effort_beside_tools(body: Body, dialect: Dialect) -> Refusals:
    """Yield a refusal for tools with a model that reasons, which only Responses takes."""
    effort = body.get("reasoning_effort")
    if not body.get("tools") or (effort == "none" and "none" in (dialect.efforts or ())):
        return
    yield Refusal(
        f"Function tools with reasoning_effort are not supported for {body['model']} in"
        " /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to"
        " 'none'.",
        param="reasoning_effort",
    )


def check_responses_alone(body: Body, dialect: Dialect) -> Refusals:
    if body.get("tools"):
        yield Refusal(
            f"Function tools are not supported for {body['model']} in /v1/chat/completions. Tool"
            " calling requires the Responses API: use /v1/responses.",
            param="tools",
        )


def check_sampling(body: Body, dialect: Dialect) -> Refusals:
    for name in SAMPLING:
        if body.get(name) not in (None, 1):
            yield Refusal(
                f"Unsupported parameter: '{name}' is not supported with this model.",
                code="unsupported_parameter",
                param=name,
            )


def check_penalties(body: Body, dialect: Dialect) -> Refusals:
    for name in ("presence_penalty", "frequency_penalty", "stop"):
        if body.get(name) is not None:
            yield Refusal(f"Argument not supported on this model: {name}")


def check_temperature(body: Body, dialect: Dialect) -> Refusals:
    if body.get("temperature") not in (None, 1):
        yield Refusal("invalid temperature: only 1 is allowed for this model")
    if body.get("thinking") and body.get("reasoning_effort"):
        yield Refusal("thinking and reasoning_effort cannot be used together")


def check_not_forced(body: Body, dialect: Dialect) -> Refusals:
    if dialect.thinks and body.get("tool_choice") not in (None, "auto", "none"):
        yield Refusal(words("forced", dialect))


def check_automatic_choice(body: Body, dialect: Dialect) -> Refusals:
    if body.get("tool_choice") not in (None, "auto"):
        yield Refusal("tool_choice only supports auto", code="1210")


def check_choice_is_text(body: Body, dialect: Dialect) -> Refusals:
    if isinstance(body.get("tool_choice"), dict):
        yield Refusal(
            "Invalid tool_choice type: 'object'. Supported string values: none, auto, required"
        )


def check_choice_has_tools(body: Body, dialect: Dialect) -> Refusals:
    if body.get("tool_choice") and not body.get("tools"):
        yield Refusal("When using `tool_choice`, `tools` must be set.")


def check_stream(body: Body, dialect: Dialect) -> Refusals:
    """Yield a refusal for a request that thinks and does not stream."""
    thinks = dialect.thinks and body.get("enable_thinking") is not False
    if thinks and not body.get("stream"):
        yield Refusal(
            "parameter.enable_thinking must be set to false for non-streaming calls",
            code="invalid_parameter_error",
        )


def check_window(body: Body, dialect: Dialect) -> Refusals:
    size = len(json.dumps([body["messages"], body.get("tools")], ensure_ascii=False)) // 4
    if 0 < dialect.window < size:
        yield Refusal(
            words("window", dialect, size=size, most=dialect.window),
            code="context_length_exceeded",
            window=(size, dialect.window),
        )


_TOOLS: tuple[Rule, ...] = (check_names, check_pairs, check_arguments, check_window)
_OPENAI: tuple[Rule, ...] = (
    *_TOOLS,
    check_parameters,
    check_effort,
    check_contents,
    check_short_ids,
    check_schemas,
    check_strict,
)
_TEMPLATE: tuple[Rule, ...] = (check_pairs, check_arguments, check_window)
_GEMINI: tuple[Rule, ...] = (
    check_names_begin_with_a_letter,
    check_pairs,
    check_arguments,
    check_schemas,
    check_signatures,
    check_window,
)
_LLAMACPP: tuple[Rule, ...] = (*_TEMPLATE, check_system_first, check_schemas)
REASONING = frozenset({"reasoning_content"})
_ALL_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh")
_LAST = frozenset({"usage_last"})
_RESPONSES = frozenset({"completions", "responses"})

_ROWS = (
    Dialect(
        "openai",
        "gpt-5-mini",
        "openai",
        (*_OPENAI, check_sampling),
        "openai",
        efforts=("minimal", "low", "medium", "high"),
        odd=_LAST,
        apis=_RESPONSES,
    ),
    Dialect(
        "openai-6",
        "gpt-6.1-terra",
        "openai",
        (*_OPENAI, check_sampling, check_effort_beside_tools),
        "openai",
        efforts=_ALL_EFFORTS,
        odd=_LAST,
        apis=_RESPONSES,
    ),
    Dialect(
        "openai-responses",
        "gpt-6.1-sol",
        "openai",
        (*_OPENAI, check_sampling, check_responses_alone),
        "openai",
        efforts=_ALL_EFFORTS[2:],
        odd=_LAST,
        apis=_RESPONSES,
    ),
    Dialect(
        "azure",
        "gpt-4.1",
        "azure",
        (*_OPENAI, check_descriptions),
        "azure",
        efforts=(),
        odd=_LAST | {"filter_first"},
    ),
    Dialect(
        "gemini",
        "gemini-3.8-flash",
        "gemini",
        _GEMINI,
        "gemini",
        thoughts="extra_content",
        odd=frozenset({"no_index", "whole"}),
        ids="function-call-{digits:.19}",
        finish="stop",
    ),
    Dialect(
        "gemini-native",
        "gemini-3.5-flash-lite",
        "gemini",
        _GEMINI,
        "gemini_native",
        thoughts="extra_content",
        odd=frozenset({"no_index", "whole"}),
        ids="function-call-{digits:.19}",
        finish="stop",
    ),
    Dialect(
        "anthropic",
        "claude-sonnet-5",
        "anthropic",
        (*_TOOLS, check_schemas, check_word_ids, check_not_empty),
        "anthropic",
        odd=_LAST,
        ids="toolu_{digits:.24}",
        apis=frozenset({"completions", "messages"}),
    ),
    Dialect(
        "deepseek",
        "deepseek-v4-flash",
        "deepseek",
        (*_TOOLS, check_texts_alone, check_reasoning_back, check_not_forced),
        fields=REASONING,
        thoughts="reasoning_content",
        odd=_LAST | {"blank_lines"},
        usage="deepseek",
        ids="call_00_{digits:.20}",
    ),
    Dialect(
        "kimi",
        "kimi-k2.6",
        "kimi",
        (
            check_names_begin_with_a_letter,
            check_pairs,
            check_arguments,
            check_schemas,
            check_reasoning_back,
            check_not_forced,
            check_temperature,
            check_window,
        ),
        "kimi",
        fields=REASONING,
        thoughts="reasoning_content",
        odd=frozenset({"usage_in_choice"}),
        ids="functions.{name}:{number}",
    ),
    Dialect(
        "qwen",
        "qwen3-235b-a22b-thinking-2507",
        "qwen",
        (*_TOOLS, check_stream, check_not_forced),
        thoughts="reasoning_content",
        odd=_LAST | {"empty_names"},
    ),
    Dialect(
        "glm",
        "glm-5.2",
        "glm",
        (*_TOOLS, check_user_is_there, check_automatic_choice),
        fields=REASONING,
        thoughts="reasoning_content",
        odd=_LAST,
        ids="call_{digits:.19}",
    ),
    Dialect(
        "minimax",
        "MiniMax-M3",
        "minimax",
        (*_TOOLS, check_schemas, check_system_first),
        "minimax",
        thoughts="think_tags",
        odd=_LAST,
        ids="call_function_{digits:.12}_1",
    ),
    Dialect(
        "mistral",
        "mistral-medium-3.5",
        "mistral",
        (
            *_TOOLS,
            check_parameters,
            check_effort,
            check_fields,
            check_nine_characters,
            check_order,
            check_tools_not_empty,
        ),
        parameters=frozenset({"random_seed", "safe_prompt", "prompt_mode", "guardrails"}),
        efforts=("high", "none"),
        thoughts="blocks",
        odd=_LAST | {"whole"},
        ids="{digits:.9}",
    ),
    Dialect(
        "groq",
        "openai/gpt-oss-120b",
        "groq",
        (*_TOOLS, check_parameters, check_effort, check_fields),
        fields=frozenset({"reasoning"}),
        parameters=frozenset({"reasoning_format", "include_reasoning"}),
        efforts=("low", "medium", "high"),
        thoughts="reasoning",
        odd=frozenset({"whole", "x_groq"}),
        ids="fc_{digits:.32}",
    ),
    Dialect(
        "xai",
        "grok-4.5",
        "xai",
        (*_TOOLS, check_penalties),
        thoughts="reasoning_content",
        odd=_LAST | {"whole"},
        ids="call_{digits:.8}",
    ),
    Dialect(
        "openrouter",
        "google/gemini-3.8-flash",
        "openrouter",
        (*_TOOLS, check_details),
        fields=frozenset({"reasoning", "reasoning_details"}),
        thoughts="reasoning_details",
        odd=_LAST | {"comments"},
        usage="openrouter",
        ids="tool_{number}_{name}_{digits:.20}",
    ),
    Dialect(
        "bedrock",
        "openai.gpt-oss-120b-1:0",
        "bedrock",
        _TOOLS,
        thoughts="reasoning_tags",
        ids="chatcmpl-tool-{digits}",
    ),
    Dialect(
        "ollama",
        "qwen3:8b",
        "ollama",
        (check_pairs, check_no_null),
        thoughts="reasoning",
        odd=frozenset({"same_index"}),
        ids="call_{digits:.8}",
    ),
    Dialect(
        "vllm",
        "Qwen/Qwen3-32B",
        "vllm",
        (*_TEMPLATE, check_system_first, check_user_is_there, check_choice_has_tools),
        thoughts="closing_tag",
        odd=_LAST,
        ids="chatcmpl-tool-{digits}",
    ),
    Dialect(
        "vllm-gemma",
        "google/gemma-3-27b-it",
        "vllm",
        (*_TEMPLATE, check_system_first, check_alternation, check_choice_has_tools),
        odd=_LAST,
        ids="chatcmpl-tool-{digits}",
    ),
    Dialect(
        "sglang",
        "deepseek-ai/DeepSeek-V3.1",
        "vllm",
        _TEMPLATE,
        thoughts="reasoning_content",
        odd=_LAST,
    ),
    Dialect(
        "llamacpp",
        "qwen3-14b-q4_k_m.gguf",
        "llamacpp",
        _LLAMACPP,
        "llamacpp",
        thoughts="reasoning_content",
        odd=_LAST,
        ids="{digits:.32}",
    ),
    Dialect(
        "llamacpp-old",
        "qwen3-4b-q4_k_m.gguf",
        "llamacpp",
        _LLAMACPP,
        "llamacpp_old",
        thoughts="reasoning_content",
        odd=_LAST,
        ids="{digits:.32}",
    ),
    Dialect(
        "lmstudio",
        "qwen3-8b",
        "lmstudio",
        (check_pairs, check_no_null, check_choice_is_text, check_window),
        thoughts="closing_tag",
        odd=frozenset({"same_index"}),
        ids="{digits:.9}",
    ),
    Dialect(
        "litellm",
        "claude-sonnet",
        "litellm",
        (*_TOOLS, check_tools_with_calls),
        fields=REASONING,
        thoughts="reasoning_content",
        odd=_LAST,
        ids="toolu_{digits:.24}",
    ),
)
DIALECTS: Mapping[str, Dialect] = {row.name: row for row in _ROWS}
