"""What a function is sent away with: it stands alone, holds nothing that it does not need, and is
the same whenever it is made.
"""

from __future__ import annotations

import json
import marshal
import os
import subprocess
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from scripts.staging.contents import PYTHON, SERVICES, STAGES, TASK_ROOT, Stage
from scripts.staging.interpreter import find_interpreter
from scripts.staging.packages import Packages
from scripts.staging.stage import CompiledCode, make_stage
from sigil.compile.toolchain.c import BUILT
from sigil.sandbox.engine import ENGINE
from tests.deploy.template import handler_of
from tests.functions.alerts import Pager
from tests.functions.media.files import (
    make_pdf,
    make_picture,
    make_row,
    make_svg,
    make_xlsx,
    write_lines,
)
from tests.servers.lambda_runtime import ROOT
from tests.servers.ministack import Ministack, unique

pytestmark = pytest.mark.thorough
NAMES = [stage.name for stage in STAGES]
SANDBOXED = [stage.name for stage in STAGES if stage.runs]
MOST = 64_000_000
ROW = make_row(1, "rent", 900)
MAGIC = (3571).to_bytes(2, "little") + b"\r\n"
"""What byte code of Python 3.13 begins with."""
NO_LOOP = "There is no current event loop"
"""Mangum asks for one, and makes it where there is none."""


@pytest.fixture(scope="module")
def staged() -> Path:
    """The folder of all stages, made if anything in them has changed."""
    subprocess.run([ROOT / "scripts" / "package", "--lambda"], check=True, capture_output=True)
    return ROOT / "build" / "lambda"


def alone(folder: Path, program: str, environment: dict[str, str] | None = None) -> str:
    """What a program prints that finds nothing but Python's own library and the stage."""
    start = f"import sys; sys.path.insert(0, {str(folder)!r}); {program}"
    options = ["-I", "-S", "-B", "-W", "error", "-W", f"ignore:{NO_LOOP}:DeprecationWarning"]
    command = [*find_interpreter(), *options, "-c", start]
    done = subprocess.run(
        command, cwd="/", env=environment or {}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file())


def tree(folder: Path) -> str:
    """A digest over names and contents."""
    lines = (
        f"{path.relative_to(folder)} {sha256(path.read_bytes()).hexdigest()}\n"
        for path in files(folder)
    )
    return sha256("".join(lines).encode()).hexdigest()


@pytest.mark.parametrize("name", NAMES)
def test_a_door_opens_from_its_stage_alone(name: str, staged: Path) -> None:
    module = handler_of(name).removesuffix(".handler")
    said = alone(
        staged / name,
        f"import {module} as function; print(callable(function.handler), function.__file__)",
    )

    assert said == f"True {staged / name}/{module.replace('.', '/')}.py"


@pytest.mark.parametrize("name", SANDBOXED)
def test_where_capabilities_run_they_reach_the_web(name: str, staged: Path) -> None:
    reaches = (
        "from sigil.network.http_transport import GuardedTransport; from sigil.network.urls import Target;"
        " GuardedTransport().close()"
    )
    assert (
        alone(staged / name, f"{reaches}; print(Target.parse('https://bücher.example/').host)")
        == "xn--bcher-kva.example"
    )


def test_the_scheduler_tells_of_a_model_that_ended(staged: Path) -> None:
    program = (
        "import time; from functions import scheduler; from functions.settings import Settings;"
        " from sigil.storage.kv.memory import MemoryKV;"
        " print(scheduler.look_at_models(Settings.read(), MemoryKV(time.time), 1_795_000_000.0))"
    )
    with Pager() as pager:
        environment = {
            "UNCAGED_LLM_URL": "https://api.deepseek.com/v1",
            "UNCAGED_LLM_MODEL": "deepseek-chat",
            "UNCAGED_ALERTS": pager.url,
            "NO_PROXY": "127.0.0.1",
        }
        assert alone(staged / "scheduler", program, environment).splitlines()[-1] == "1"
        assert [alert["event"] for alert in pager.alerts] == ["MODEL_ENDS"]


def test_the_registry_describes_itself(staged: Path) -> None:
    shown = alone(
        staged / "registry",
        "from sigil.http import app, openapi; print(len(openapi.render_page(app.ROUTES, '1')[0]) >"
        " 50_000)",
    )
    assert shown == "True"


@pytest.mark.parametrize("name", NAMES)
def test_a_stage_is_small(name: str, staged: Path) -> None:
    assert sum(path.stat().st_size for path in files(staged / name)) < MOST


def test_the_function_that_opens_files_has_what_that_needs_and_nothing_else(staged: Path) -> None:
    media = staged / "media"
    there = {path.name for path in media.iterdir() if not path.name.endswith(".dist-info")}
    files_sent = {
        "read": {"%PDF": make_pdf([write_lines("a page")]), "xlsx": make_xlsx({"Costs": ROW})},
        "scale": {name: make_picture(name) for name in ("PNG", "JPEG", "WEBP", "GIF")},
        "look": {"%PDF": make_pdf([write_lines("a page")])},
        "draw": {"svg": make_svg().encode()},
    }
    orders = [
        {"verb": verb, "data": b64encode(body).decode()}
        for verb, bodies in files_sent.items()
        for body in bodies.values()
    ]
    program = (
        "from functions.media_function import handler; from functions.media.invocation import"
        f" decode_answer as read; print([read(handler(order, None))[0] for order in {orders!r}])"
    )

    assert sum(path.stat().st_size for path in files(media)) <= 40_000_000
    assert there & {"botocore", "boto3", "httpx", "wasmtime", "tests"} == set()
    assert not (staged / "worker" / "PIL").exists()
    said = alone(media, program)
    assert "problem" not in said.replace('"problem": null', "")
    assert said.count("image/jpeg") == 5


@pytest.mark.parametrize(
    ("name", "strange"),
    [
        (
            "webhook",
            {
                "wasmtime",
                "httpx",
                "httpcore",
                "redis",
                "jsonschema",
                "regex",
                "markdown_it",
                "boto3",
                "fastapi",
                "pydantic",
            },
        ),
        ("scheduler", {"wasmtime", "anyio", "redis", "jsonschema", "fastapi"}),
        (
            "admin",
            {
                *("wasmtime", "redis", "jsonschema", "regex"),
                *("uvicorn", "typer", "fastapi", "pydantic"),
            },
        ),
        ("registry", {"httpx", "redis", "markdown_it", "uvicorn", "typer"}),
        ("worker", {"fastapi", "starlette", "mangum", "redis", "uvicorn", "typer", "rich"}),
    ],
)
def test_a_stage_holds_no_package_that_the_function_does_not_use(
    name: str, strange: set[str], staged: Path
) -> None:
    there = {path.name for path in (staged / name).iterdir()}

    nowhere = {"websockets", "pytest", "hypothesis", "ziglang", "tests", "bin", "pip"}
    assert not there & {*strange, *nowhere}
    assert {"functions", "sigil", "botocore", "orjson"} <= there


@pytest.mark.parametrize(
    ("name", "client"),
    [
        ("webhook", "Botocore"),
        ("worker", "Boto3"),
        ("scheduler", "Boto3"),
        ("admin", "Boto3"),
        ("registry", "Boto3"),
    ],
)
def test_a_stage_speaks_to_aws_with_boto3_but_for_the_webhooks(
    name: str, client: str, staged: Path
) -> None:
    keys = {
        "AWS_ACCESS_KEY_ID": "a",
        "AWS_SECRET_ACCESS_KEY": "b",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    said = alone(
        staged / name,
        "from sigil.storage import aws; print(aws.client('sqs').meta.config.user_agent)",
        keys,
    )

    assert said.startswith(f"{client}/")


@pytest.mark.parametrize("name", NAMES)
def test_a_stage_holds_nothing_for_people_and_other_machines(name: str, staged: Path) -> None:
    kinds = {path.suffix for path in files(staged / name) if ".dist-info/" not in str(path)}
    rooms = {
        path.relative_to(staged / name).as_posix()
        for path in (staged / name).rglob("*")
        if path.is_dir()
    }

    assert not kinds & {".pyi", ".c", ".h", ".js", ".md", ".gz", ".sh", ".html"} - (
        {".js", ".c"} if name in SANDBOXED else {".js", ".html"} if name == "admin" else set()
    )
    assert not rooms & {
        "functions/cli",
        "sigil/cli",
        "sigil/sandbox/engine/prelude",
        "docs",
        "scripts",
    }
    assert bool({"sigil/sandbox/engine", "sigil/capabilities"} & rooms) == (name in SANDBOXED)


@pytest.mark.parametrize("name", NAMES)
def test_every_package_brings_its_licence_and_its_version(name: str, staged: Path) -> None:
    about = list((staged / name).glob("*.dist-info"))

    assert len(about) > 5
    assert not [one.name for one in about if not (one / "METADATA").is_file()]
    assert not [
        one.name for one in about if len(list(files(one))) == 1 and not _names_its_licence(one)
    ]
    assert {"LICENSE", "NOTICE"} == {
        path.name for path in (staged / name).glob("uncaged-*.dist-info/licenses/*")
    }


def _names_its_licence(about: Path) -> bool:
    return "License" in (about / "METADATA").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_all_code_is_compiled_for_the_runtime_and_never_looked_at_again(
    name: str, staged: Path
) -> None:
    sources = [path for path in files(staged / name) if path.suffix == ".py"]
    heads = {_head(path) for path in sources}

    assert len(sources) > (30 if name == "media" else 200)
    assert heads == {MAGIC + b"\1\0\0\0"}  # PEP 552: by the hash of the source, unchecked


def _head(path: Path) -> bytes:
    compiled = path.parent / "__pycache__" / f"{path.stem}.cpython-{PYTHON[0]}{PYTHON[1]}.pyc"
    return compiled.read_bytes()[:8]


def test_a_trace_names_the_place_where_the_function_runs(staged: Path) -> None:
    compiled = (
        staged
        / "webhook"
        / "functions"
        / "__pycache__"
        / f"webhook.cpython-{PYTHON[0]}{PYTHON[1]}.pyc"
    ).read_bytes()

    assert marshal.loads(compiled[16:]).co_filename == f"{TASK_ROOT}/functions/webhook.py"


def test_nothing_in_a_stage_tells_when_or_where_it_was_made(staged: Path) -> None:
    for name in NAMES:
        assert {int(path.stat().st_mtime) for path in files(staged / name)} == {315_619_200}
        assert {path.stat().st_mode & 0o777 for path in files(staged / name)} == {0o644}
        assert not [path for path in files(staged / name) if os.fsencode(ROOT) in path.read_bytes()]


def test_the_same_things_make_the_same_stage(staged: Path, tmp_path: Path) -> None:
    (worker,) = [stage for stage in STAGES if stage.name == "worker"]
    packages = Packages([worker], ROOT, tmp_path)
    compiled = CompiledCode(tmp_path)
    make_stage(worker, ROOT, tmp_path / "again", packages, compiled)

    assert tree(tmp_path / "again") == tree(staged / "worker")


def test_sam_build_takes_the_stage(staged: Path, tmp_path: Path) -> None:
    command = [
        "make",
        "--silent",
        "--makefile",
        ROOT / "scripts" / "staging" / "Makefile",
        "build-Scheduler",
    ]
    subprocess.run(
        command,
        cwd=tmp_path,
        env={**os.environ, "ARTIFACTS_DIR": str(tmp_path)},
        check=True,
        capture_output=True,
    )

    assert tree(tmp_path) == tree(staged / "scheduler")


def test_the_facts_about_a_stage_are_true(staged: Path) -> None:
    facts = json.loads((staged / "scheduler.json").read_text(encoding="utf-8"))

    assert facts["bytes"] == sum(path.stat().st_size for path in files(staged / "scheduler"))
    assert 0 < facts["zipped"] < facts["bytes"]


def test_botocore_knows_the_services_in_use_and_no_others(staged: Path) -> None:
    data = staged / "worker" / "botocore" / "data"

    assert {path.name for path in data.iterdir() if path.is_dir()} == set(SERVICES)
    assert sum(path.stat().st_size for path in files(data)) < 1_500_000


_ASK = """
from sigil.storage import aws
table = {"TableName": "NAME", "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
  "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]}
aws.client("dynamodb").create_table(**table)
aws.client("dynamodb").put_item(TableName="NAME", Item={"pk": {"S": "a"}, "value": {"B": b"x"}})
try:
    aws.client("dynamodb").put_item(TableName="NAME", Item={"pk": {"S": "a"}}, ConditionExpression="attribute_not_exists(pk)")
except aws.client("dynamodb").exceptions.ConditionalCheckFailedException:
    print("conflict")
queue = aws.client("sqs").create_queue(QueueName="NAME.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]
aws.client("sqs").send_message(QueueUrl=queue, MessageBody="b", MessageGroupId="g", MessageDeduplicationId="d")
print(aws.client("sqs").receive_message(QueueUrl=queue)["Messages"][0]["Body"])
aws.client("s3").create_bucket(Bucket="NAME")
aws.client("s3").put_object(Bucket="NAME", Key="k", Body=b"body", IfNoneMatch="*")
print(aws.client("s3").get_object(Bucket="NAME", Key="k")["Body"].read().decode())
from sigil.storage.artifacts.s3 import S3Artifacts
bodies = S3Artifacts("NAME")
bodies.delete(bodies.put(b"gone"))
aws.client("ssm").put_parameter(Name="/NAME", Value="parameter", Type="SecureString")
aws.client("secretsmanager").create_secret(Name="NAME", SecretString="secret")
from sigil.storage.setting_secrets import reveal
print(reveal("ssm:/NAME"), reveal("secretsmanager:NAME"))
print(aws.client("sts").get_caller_identity()["Account"])
from functions.alerts import SnsNotifier, halt_alert, send_alert
print(send_alert(halt_alert("main", "", 0.0), SnsNotifier(aws.client("sns").create_topic(Name="NAME")["TopicArn"])))
"""


def test_every_service_answers_through_what_is_left_of_botocore(
    staged: Path, ministack: Ministack
) -> None:
    program = f"exec({_ASK.replace('NAME', unique('stage'))!r})"

    said = alone(staged / "scheduler", program, ministack.environment)
    assert said.splitlines() == [
        "conflict",
        "b",
        "body",
        "parameter secret",
        "000000000000",
        "True",
    ]


@pytest.mark.parametrize("region", ["us-east-1", "eu-central-1", "cn-north-1"])
def test_the_services_are_found_in_every_part_of_aws(region: str, staged: Path) -> None:
    program = (
        "from sigil.storage import aws; print(*(aws.client(name).meta.endpoint_url for name in"
        f" {SERVICES!r}))"
    )
    environment = {
        "AWS_ACCESS_KEY_ID": "x",
        "AWS_SECRET_ACCESS_KEY": "y",
        "AWS_DEFAULT_REGION": region,
    }

    said = alone(staged / "worker", program, environment).split()
    assert len(said) == len(SERVICES)
    assert not (staged / "webhook" / "botocore" / "data" / "lambda").exists()
    assert all(region in place or "s3." in place or "sts." in place for place in said)
    assert all(
        place.endswith(".amazonaws.com.cn" if region.startswith("cn") else ".amazonaws.com")
        for place in said
    )


_ENCODE = """
import json
from functions.registry import handler
event = json.load(open(EVENT))
answer = handler(event, None)
print(answer["statusCode"], answer["body"])
"""


def test_the_engine_is_compiled_already_and_nothing_is_written_into_the_stage(
    staged: Path, tmp_path: Path
) -> None:
    event = ROOT / "tests" / "events" / "lambda" / "registry_run.json"
    before = tree(staged / "registry")
    environment = {
        "UNCAGED_DATA": str(tmp_path),
        "UNCAGED_STORE": "memory://",
        "UNCAGED_TOKEN": "a-token-of-the-tests",
    }

    said = alone(
        staged / "registry", f"exec({_ENCODE.replace('EVENT', repr(str(event)))!r})", environment
    )
    assert said == "200 aGVsbG8gd29ybGQ="
    assert not list(tmp_path.rglob("*.code")), "it was compiled once more"
    assert tree(staged / "registry") == before


@pytest.mark.parametrize("name", SANDBOXED)
def test_the_native_code_that_is_shipped_is_that_of_the_engine_and_the_librarys_modules(
    name: str, staged: Path
) -> None:
    shipped = (staged / name / "sigil" / "sandbox" / "shipped").iterdir()
    modules = (ENGINE, *BUILT.glob("*.wasm"))

    assert {code.name for code in shipped} == {
        f"{sha256(module.read_bytes()).hexdigest()}.code" for module in modules
    }


def test_a_stage_names_what_stays_at_home(staged: Path) -> None:
    for stage in STAGES:
        assert isinstance(stage, Stage)
        assert not [out for out in stage.left_out if (staged / stage.name / out).exists()]
        assert not [out for out in stage.left_out if not (ROOT / out).exists()], (
            "it is gone: take it off the list"
        )
