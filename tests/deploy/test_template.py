"""The template means what it should: our rules about secrets, rights, queues and logs."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

from functions.scheduler import TICK_SECONDS
from functions.settings import Settings
from scripts.staging.contents import PYTHON, STAGES
from sigil.settings import installed_version
from sigil.storage.kv import keys
from tests.deploy.template import (
    accepts,
    allowed,
    environment,
    functions,
    resources,
    routes,
    template,
)
from tests.tables import each_row

CHANNELS = "arn:${AWS::Partition}:ssm:${AWS::Region}:${AWS::AccountId}:parameter${ChannelSecrets}"
"""The place of the settings of channels."""
SECRETS = {facts.name for facts in Settings.list_facts({}) if facts.secret}
PLAIN = (
    "123456789:AAF-a_bot_token_as_telegram_makes_it",
    "sk-0123456789abcdef",
    "swordfish",
    "ssm",
    "ssm:",
    "ssm:/a b",
    "ssm:/a\n",
    "x ssm:/a",
)
NAMED = (
    "ssm:/uncaged/telegram-token",
    "secretsmanager:uncaged/telegram",
    "secretsmanager:uncaged#token",
)


def test_every_function_is_a_door_with_a_stage() -> None:
    assert {name.lower() for name in functions()} == {stage.name for stage in STAGES}
    for name, made in functions().items():
        module, _, attribute = made["Handler"].rpartition(".")
        # some are opened while they are imported, which no other program may cause
        assert module.removesuffix("_function") == f"functions.{name.lower()}"
        assert callable(getattr(import_module(module), attribute))


def test_the_library_is_stocked_whenever_it_or_the_program_is_another() -> None:
    (asked,) = resources("Custom::Library").values()

    assert asked["ServiceToken"] == {"Fn::GetAtt": ["Worker", "Arn"]}
    assert asked["Library"] == {"Ref": "Library"}
    assert asked["Version"] == installed_version()
    assert asked["ServiceTimeout"] > functions()["Worker"]["Timeout"]


def test_the_runtime_is_the_one_that_stages_are_compiled_for() -> None:
    common = template()["Globals"]["Function"]

    assert common["Runtime"] == f"python{PYTHON[0]}.{PYTHON[1]}"
    assert common["Architectures"] == ["x86_64"]


@pytest.mark.parametrize("function", [*functions()])
def test_every_variable_is_a_setting(function: str) -> None:
    assert set(environment(function)) <= {facts.name for facts in Settings.list_facts({})}


def test_the_settings_of_an_agent_can_be_chosen() -> None:
    wanted = {
        "UNCAGED_LLM_URL",
        "UNCAGED_LLM_KEY",
        "UNCAGED_LLM_MODEL",
        "UNCAGED_LLM_WINDOW",
        "UNCAGED_LLM_PRICES",
        "UNCAGED_LIBRARY",
        "UNCAGED_TOKEN",
    }
    wanted |= {f"UNCAGED_LLM_FALLBACK_{part}" for part in ("URL", "KEY", "MODEL", "WINDOW")}
    wanted |= {f"UNCAGED_STT_{part}" for part in ("URL", "KEY", "MODEL", "PRICE")}
    wanted |= {
        "UNCAGED_OWNERS",
        "UNCAGED_ACCESS",
        "UNCAGED_DEPLOY",
        "UNCAGED_AGENT",
        "UNCAGED_TURN_SECONDS",
        "UNCAGED_WEB_TEXTS",
    }
    wanted |= {
        "UNCAGED_GUIDE",
        "UNCAGED_CONTEXT",
        "UNCAGED_TOKENS_PER_DAY",
        "UNCAGED_TOKENS_PERIOD",
        "UNCAGED_SESSION_TOKENS",
        "UNCAGED_CHAIN_TOKENS",
        "UNCAGED_TIMEZONE",
    }
    wanted |= {"UNCAGED_TICKS", "UNCAGED_HP", "UNCAGED_RUN_DAYS", "UNCAGED_ALERTS"}
    wanted |= {"UNCAGED_CHANNELS", "UNCAGED_CHANNEL_SECRETS"}
    wanted |= {
        "TELEGRAM_TOKEN",
        "TELEGRAM_SECRET",
        "TELEGRAM_API",
        "TELEGRAM_BOT",
        "TELEGRAM_USERNAME",
    }
    chosen = {
        name
        for function in functions()
        for name, value in environment(function).items()
        if "Ref" in value
    }

    assert wanted <= chosen


def test_defaults_are_the_settings_own() -> None:
    known = {facts.name: facts.default for facts in Settings.list_facts({})}
    own = {"UNCAGED_TOKEN", "UNCAGED_OWNERS", "UNCAGED_CHANNELS", "UNCAGED_CHANNEL_SECRETS"}
    for function in functions():
        for name, value in environment(function).items():
            if name not in own and "Ref" in value:
                default = template()["Parameters"][value["Ref"]]["Default"]
                assert known[name] in (default, {"no": False}.get(default, default)), name


def test_a_plain_secret_is_refused() -> None:
    given = {
        value["Ref"]
        for function in functions()
        for name, value in environment(function).items()
        if name in SECRETS
    }

    keys = {"LlmKey", "LlmFallbackKey", "SttKey"}
    assert given == {"TelegramToken", "TelegramSecret", "AdminToken", *keys}
    for parameter in given:
        assert not [value for value in PLAIN if accepts(parameter, value)]
        assert [value for value in NAMED if accepts(parameter, value)] == list(NAMED)


def test_a_bot_without_what_its_webhook_needs_is_refused() -> None:
    rule = template()["Rules"]["Telegram"]
    missing = [
        {"Fn::Not": [{"Fn::Equals": [{"Ref": name}, ""]}]}
        for name in ("TelegramBot", "TelegramSecret")
    ]

    assert rule["RuleCondition"] == {"Fn::Not": [{"Fn::Equals": [{"Ref": "TelegramToken"}, ""]}]}
    assert [assertion["Assert"] for assertion in rule["Assertions"]] == missing


@each_row(
    ("parameter", "value", "taken"),
    [
        ("Owners", "telegram:123,slack:U1", True),
        ("Owners", "telegram:123, slack:U1", False),
        ("Owners", "123", False),
        ("Channels", "slack,telegram-shop", True),
        ("Channels", "slack, telegram", False),
        ("Channels", "Slack", False),
        ("ChannelSecrets", "/uncaged/channels", True),
        ("ChannelSecrets", "uncaged", False),
        ("ChannelSecrets", "/uncaged/", False),
        ("Access", "everybody", False),
        ("TelegramBot", "123456:AAF", False),
        ("LlmUrl", "https://models.example/v1", True),
        ("LlmUrl", "models.example", False),
        ("Alerts", "", True),
        ("Alerts", "https://alerts.example/hook", True),
        ("Alerts", "http://alerts.example/hook", False),
        ("Alerts", "sns:arn:aws:sns:eu-central-1:123456789012:alerts", True),
        ("Alerts", "arn:aws:sns:eu-central-1:123456789012:alerts", False),
        ("Guide", "stern", False),
        ("Context", "summary", True),
        ("AgentName", "two-words", True),
        ("AgentName", "Two Words", False),
    ],
)
def test_a_wrong_value_is_refused_before_anything_is_made(
    parameter: str, value: str, taken: bool
) -> None:
    assert accepts(parameter, value) is taken


def test_no_parameter_brings_a_secret_along() -> None:
    assert not [name for name, about in template()["Parameters"].items() if about.get("NoEcho")]
    assert not accepts("AdminToken", "")


def test_the_webhook_can_send_and_read_its_secret_and_hooks_and_nothing_else() -> None:
    assert {action for action, _ in allowed("Webhook")} == {
        "logs:CreateLogStream",
        "logs:PutLogEvents",
        "sqs:SendMessage",
        "dynamodb:GetItem",
        "ssm:GetParameter",
        "ssm:GetParameters",
        "secretsmanager:GetSecretValue",
        "kms:Decrypt",
    }
    where = dict(allowed("Webhook"))
    channels = [place for action, place in allowed("Webhook") if action == "ssm:GetParameters"]
    assert channels == [{"Fn::Sub": f"{CHANNELS}/*/{path}"} for path in ("verify/*", "about")]
    assert all(
        _mentions(where[action], {"TelegramSecret"})
        for action in ("ssm:GetParameter", "secretsmanager:GetSecretValue")
    )
    assert "TELEGRAM_TOKEN" not in environment("Webhook")
    policies = resources("AWS::IAM::Role")["WebhookRole"]["Policies"]
    (reads,) = (
        each
        for policy in policies
        for each in policy["PolicyDocument"]["Statement"]
        if "dynamodb:GetItem" in str(each)
    )
    keys_read = reads["Condition"]["ForAllValues:StringEquals"]["dynamodb:LeadingKeys"]
    assert keys_read == [{"Fn::Sub": f"{keys.hook('', '').partition}${{AgentName}}"}]


@pytest.mark.parametrize(
    ("function", "services"),
    [
        ("Webhook", {"logs", "sqs", "dynamodb", "ssm", "secretsmanager", "kms"}),
        (
            "Worker",
            {"logs", "sqs", "dynamodb", "s3", "ssm", "secretsmanager", "kms", "sns", "lambda"},
        ),
        ("Media", {"logs"}),
        ("Scheduler", {"logs", "dynamodb", "s3", "sns", "sqs"}),
        ("Admin", {"logs", "dynamodb", "s3", "sqs", "ssm", "secretsmanager", "kms", "sns"}),
        ("Registry", {"logs", "dynamodb", "s3", "ssm", "secretsmanager", "kms"}),
    ],
)
def test_a_function_may_do_named_things_to_named_things(function: str, services: set[str]) -> None:
    rights = list(allowed(function))
    below = {"${Artifacts.Arn}/artifacts/*"}
    if function == "Webhook":
        below |= {f"{CHANNELS}/*/verify/*", f"{CHANNELS}/*/about"}
    if function == "Worker":
        below.add(f"{CHANNELS}/*")

    assert {action.partition(":")[0] for action, _ in rights} == services
    assert not [action for action, _ in rights if "*" in action]
    assert not [where for _, where in rights if not isinstance(where, dict)]
    assert not [
        where
        for _, where in rights
        if "*" in str(where) and where not in ({"Fn::Sub": name} for name in below)
    ]


RIGHTS: dict[str, set[str]] = {
    "Webhook": {"sqs:SendMessage Events", "sqs:SendMessage Work"},
    "Worker": {
        "sqs:SendMessage Events",
        "sqs:ReceiveMessage Events",
        "sqs:SendMessage Work",
        "sqs:ReceiveMessage Work",
        "dynamodb:PutItem Store",
        "s3:PutObject Artifacts",
        "lambda:InvokeFunction Media",
    },
    "Media": set(),
    "Scheduler": {"sqs:SendMessage Events", "sqs:SendMessage Work", "dynamodb:PutItem Store"},
    "Admin": {
        "sqs:SendMessage Events",
        "sqs:SendMessage Work",
        "dynamodb:PutItem Store",
        "s3:PutObject Artifacts",
    },
    "Registry": {"dynamodb:PutItem Store", "s3:PutObject Artifacts"},
}
"""Who may put something where, and take it: what the deployed roles allow, test_stack.py asks."""


@pytest.mark.parametrize("function", RIGHTS)
def test_a_function_puts_and_takes_where_its_work_is(function: str) -> None:
    told = {action: action for right in RIGHTS["Worker"] for action in [right.split()[0]]}
    whole = ("Events", "Work", "Store", "Media")
    places = {str({"Fn::GetAtt": [name, "Arn"]}): name for name in whole} | {
        str({"Fn::Sub": "${Artifacts.Arn}/artifacts/*"}): "Artifacts"
    }

    assert {
        f"{action} {places[str(where)]}" for action, where in allowed(function) if action in told
    } == RIGHTS[function]


@pytest.mark.parametrize("function", [*functions()])
def test_a_function_reads_the_secrets_that_it_is_told_of(function: str) -> None:
    told = {value["Ref"] for name, value in environment(function).items() if name in SECRETS}
    read = [
        where
        for action, where in allowed(function)
        if action in ("ssm:GetParameter", "secretsmanager:GetSecretValue")
    ]

    assert len(read) == 2 * len(told)
    assert all(_mentions(where, told) for where in read)


def test_the_guides_and_strategies_to_choose_from_are_the_ones_that_come_along() -> None:
    from functions.agent.conversation.compaction import BUILTIN
    from functions.agent.safety import guides

    assert template()["Parameters"]["Guide"]["AllowedValues"] == [*guides.BUILTIN]
    assert template()["Parameters"]["Context"]["AllowedValues"] == [*BUILTIN]


def test_alerts_may_be_published_to_the_topic_that_was_given_and_to_no_other() -> None:
    alerting = ("Worker", "Scheduler", "Admin")
    for function in alerting:
        given = [part["Fn::If"] for part in _statements(function) if "sns:Publish" in str(part)]
        assert [(condition, about["Action"]) for condition, about, _ in given] == [
            ("AlertsToTopic", "sns:Publish")
        ]
        assert _mentions(dict(allowed(function))["sns:Publish"], {"Alerts"})
    assert not [
        function
        for function in functions()
        if function not in alerting and "sns:Publish" in dict(allowed(function))
    ]


def _statements(function: str) -> list[dict[str, Any]]:
    policies = resources("AWS::IAM::Role")[f"{function}Role"]["Policies"]
    return [part for policy in policies for part in policy["PolicyDocument"]["Statement"]]


def _mentions(value: Any, parameters: set[str]) -> bool:
    """Whether the only parameters that it refers to are these."""
    found = set()
    stack = [value]
    while stack:
        part = stack.pop()
        if isinstance(part, dict):
            found |= {part["Ref"]} if "Ref" in part else set()
            stack += part.values()
        elif isinstance(part, list):
            stack += part
    return bool(found) and found <= parameters


@pytest.mark.parametrize(
    ("name", "lane", "most"),
    [("Events", "Queue", "MaxConcurrency"), ("Work", "WorkQueue", "BackgroundConcurrency")],
)
def test_a_queue_hands_out_one_event_at_a_time_and_waits_longer_than_the_worker_works(
    name: str, lane: str, most: str
) -> None:
    queue, worker = resources("AWS::SQS::Queue")[name], functions()["Worker"]
    source = worker["Events"][lane]["Properties"]

    assert queue["FifoQueue"] is True
    assert queue["VisibilityTimeout"] == worker["Timeout"] + 30
    assert source["Queue"] == {"Fn::GetAtt": [name, "Arn"]}
    assert source["BatchSize"] == 1
    assert source["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert source["ScalingConfig"] == {"MaximumConcurrency": {"Ref": most}}


def test_who_enqueues_background_work_knows_its_queue_and_may_send_to_it() -> None:
    for function in ("Webhook", "Worker", "Scheduler", "Admin"):
        assert environment(function)["UNCAGED_WORK_QUEUE"] == {"Fn::Sub": "sqs://${Work}"}
        targets = [where for action, where in allowed(function) if action == "sqs:SendMessage"]
        assert targets == [{"Fn::GetAtt": [name, "Arn"]} for name in ("Events", "Work")]


def test_a_day_is_the_same_for_all_that_count_by_days() -> None:
    for function in ("Worker", "Scheduler", "Admin"):
        assert environment(function)["UNCAGED_TIMEZONE"] == {"Ref": "Timezone"}


def test_events_that_come_back_forever_end_in_a_queue_that_keeps_their_order() -> None:
    queues = resources("AWS::SQS::Queue")

    for name in ("Events", "Work"):
        assert queues[name]["RedrivePolicy"] == {
            "deadLetterTargetArn": {"Fn::GetAtt": ["Stray", "Arn"]},
            "maxReceiveCount": 1000,
        }
    assert queues["Stray"]["FifoQueue"] is True
    assert queues["Stray"]["MessageRetentionPeriod"] > queues["Events"]["MessageRetentionPeriod"]


def test_the_worker_outlives_two_turns() -> None:
    assert (
        functions()["Worker"]["Timeout"] > 2 * template()["Parameters"]["TurnSeconds"]["MaxValue"]
    )


def test_what_is_due_waits_for_the_next_minute_at_most() -> None:
    scheduler = functions()["Scheduler"]
    ticks = [event["Properties"]["Schedule"] for event in scheduler["Events"].values()]
    assert ticks == ["rate(1 minute)"]
    assert scheduler["Timeout"] < TICK_SECONDS == 60.0


def test_the_table_is_the_one_that_the_store_makes() -> None:
    from sigil.storage.kv.dynamodb_table import _KEYS

    table = resources("AWS::DynamoDB::Table")["Store"]
    assert table["KeySchema"] == [{"AttributeName": name, "KeyType": kind} for name, kind in _KEYS]
    assert table["AttributeDefinitions"] == [
        {"AttributeName": name, "AttributeType": "S"} for name, _ in _KEYS
    ]
    assert table["TimeToLiveSpecification"] == {"AttributeName": "expires", "Enabled": True}
    assert table["BillingMode"] == "PAY_PER_REQUEST"
    assert table["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}


def test_what_opens_files_has_a_child_with_half_its_memory_and_time_to_spare() -> None:
    from functions.media.lambda_reader import INVOKE_SECONDS
    from functions.media.limits import CHILD_BYTES, CHILD_SECONDS

    media = functions()["Media"]
    assert environment("Worker")["UNCAGED_MEDIA"] == {"Fn::Sub": "lambda:${Media}"}
    assert media["MemorySize"] * 1_000_000 >= 2 * CHILD_BYTES
    assert 2 * CHILD_SECONDS < media["Timeout"] < INVOKE_SECONDS
    rules = resources("AWS::S3::Bucket")["Artifacts"]["LifecycleConfiguration"]["Rules"]
    assert [rule["ExpirationInDays"] for rule in rules if rule.get("Prefix") == "artifacts/lent/"]


def test_what_people_said_survives_the_stack() -> None:
    for name in ("Store", "Artifacts"):
        assert (
            template()["Resources"][name]["DeletionPolicy"]
            == template()["Resources"][name]["UpdateReplacePolicy"]
            == "Retain"
        )


@pytest.mark.parametrize("function", [*functions()])
def test_every_function_has_a_log_that_ends(function: str) -> None:
    name = functions()[function]["LoggingConfig"]["LogGroup"]["Ref"]

    assert resources("AWS::Logs::LogGroup")[name]["RetentionInDays"] == {"Ref": "LogRetentionDays"}
    assert [where for action, where in allowed(function) if action == "logs:PutLogEvents"] == [
        {"Fn::GetAtt": [name, "Arn"]}
    ]


def test_somebody_is_told_of_errors_dead_letters_and_waiting() -> None:
    alarms = resources("AWS::CloudWatch::Alarm").values()
    watched = {
        (alarm["MetricName"], str(alarm.get("Dimensions", [{}])[0].get("Value")))
        for alarm in alarms
    }

    assert {("Errors", str({"Ref": function})) for function in functions()} <= watched
    assert (
        "ApproximateNumberOfMessagesVisible",
        str({"Fn::GetAtt": ["Stray", "QueueName"]}),
    ) in watched
    for queue in ("Events", "Work"):
        waiting = ("ApproximateAgeOfOldestMessage", str({"Fn::GetAtt": [queue, "QueueName"]}))
        assert waiting in watched
    assert {"DeadLetters"} <= {name for name, _ in watched}
    assert all(alarm["AlarmActions"] == [{"Ref": "Alarms"}] for alarm in alarms)


def test_the_api_knows_every_route_of_its_doors_and_no_other() -> None:
    from functions.admin import build_routes as admin
    from functions.webhook import build_routes
    from sigil.http.app import build_router as registry

    ours = _served(registry(None, "")) - {("GET", "/health")}  # type: ignore[arg-type]
    webhook = build_routes(lambda: None)  # type: ignore[arg-type,return-value]
    posts = {
        (method, path) for method, path in _served(webhook) if not path.startswith("/webhook/")
    }
    assert routes("Webhook") == posts | {("ANY", "/webhook/{proxy+}")}
    pages = {("ANY", "/ui"), ("ANY", "/ui/{proxy+}")}
    assert routes("Admin") == _served(admin(lambda: None)) | pages  # type: ignore[arg-type,return-value]
    assert routes("Registry") == ours


def _served(routes: Any) -> set[tuple[str, str]]:
    return {
        (method, route.path.replace(":path}", "+}"))
        for route in getattr(routes, "routes", routes)
        for method in route.methods - {"HEAD"}
    }
