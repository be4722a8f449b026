"""The template deployed: SAM builds and deploys it as it does on AWS, to an emulated AWS that runs
its functions.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sigil.storage import aws
from tests.deploy.requests import BOT, SECRET, TOKEN
from tests.servers.lambda_runtime import ROOT, tool
from tests.servers.ministack import REGION, Ministack, unique

_ACCOUNT = "000000000000"


@dataclass(frozen=True, slots=True)
class Stack:
    """A deployed template: its outputs, and where its API is."""

    name: str
    outputs: Mapping[str, str]
    url: str

    def idle(self) -> bool:
        """Whether no event waits or is worked on."""
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        waiting = 0
        for queue in ("QueueUrl", "WorkQueueUrl"):
            asked = aws.client("sqs").get_queue_attributes(
                QueueUrl=self.outputs[queue], AttributeNames=names
            )
            waiting += sum(int(asked["Attributes"][name]) for name in names)
        return waiting == 0

    def may(self, function: str, action: str, name: str) -> bool:
        """Whether the role of a function allows an action on the queue, table or bucket of this
        logical name.
        """
        path = f"{REGION}:{_ACCOUNT}"
        known = {
            "Events": f"arn:aws:sqs:{path}:{{}}",
            "Work": f"arn:aws:sqs:{path}:{{}}",
            "Store": f"arn:aws:dynamodb:{path}:table/{{}}",
            "Artifacts": "arn:aws:s3:::{}/artifacts/x",
            "Media": f"arn:aws:lambda:{path}:function:{{}}",
        }
        target = known[name].format(resource(self.name, name).rpartition("/")[2])
        role = resource(self.name, f"{function}Role")
        asked = aws.client("iam").simulate_principal_policy(
            PolicySourceArn=f"arn:aws:iam::{_ACCOUNT}:role/{role}",
            ActionNames=[action],
            ResourceArns=[target],
        )
        return str(asked["EvaluationResults"][0]["EvalDecision"]) == "allowed"


def deploy(server: Ministack, folder: Path, **parameters: str) -> Stack:
    """`sam build` and `sam deploy`, with secrets in parameters of SSM; this process's environment
    points at the server.
    """
    name, secrets = unique("uncaged"), unique("/uncaged")
    for secret, value in (("bot", f"{BOT}:a-token"), ("secret", SECRET), ("token", TOKEN)):
        aws.client("ssm").put_parameter(
            Name=f"{secrets}/{secret}", Value=value, Type="SecureString"
        )
    own = {
        "TelegramBot": BOT,
        "TelegramToken": f"ssm:{secrets}/bot",
        "TelegramSecret": f"ssm:{secrets}/secret",
    }
    given = {**own, "AdminToken": f"ssm:{secrets}/token", **parameters}
    template = _built(server, folder, given)
    sam(
        server,
        folder,
        *_DEPLOY,
        "--template",
        template,
        "--stack-name",
        name,
        "--parameter-overrides",
        *_overrides(given),
    )
    described = aws.client("cloudformation").describe_stacks(StackName=name)["Stacks"][0]
    outputs = {output["OutputKey"]: output["OutputValue"] for output in described["Outputs"]}
    return Stack(name, outputs, _routed(server, name))


_KIND = re.compile(
    r"- Fn::Select:\s+- 0\s+- Fn::Split:\s+- ':'\s+- Ref: (\w+)(\s+- (?:ssm|secretsmanager|sns)\s)"
)
_SOME_PARAMETERS = re.compile(
    r"arn:\$\{AWS::Partition\}:ssm:\$\{AWS::Region\}:\$\{AWS::AccountId\}"
    r":parameter\$\{ChannelSecrets\}\S*"
)
_DEPLOY = (
    "deploy",
    "--resolve-s3",
    "--capabilities",
    "CAPABILITY_IAM",
    "--no-confirm-changeset",
    "--no-progressbar",
)


def _overrides(parameters: Mapping[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in parameters.items()]


def _built(server: Ministack, folder: Path, parameters: Mapping[str, str]) -> Path:
    """The built template, for this machine: what Lambda calls /tmp is a folder of the test, and
    requests travel without TLS.

    ministack knows no `Fn::Split` in a condition: there the parameters' values stand already. It
    asks for the right to read every parameter where several are read at once.
    """
    sam(
        server,
        folder,
        "build",
        "--build-dir",
        folder / "build",
        "--template",
        ROOT / "template.yaml",
    )
    built = folder / "build" / "template.yaml"
    text = _KIND.sub(
        lambda found: f"- {_kind(parameters.get(found[1], ''))}{found[2]}",
        built.read_text(encoding="utf-8"),
    )
    text, found = _SOME_PARAMETERS.subn("'*'", text)
    assert found == len(("verify", "about", "all"))
    for there, here in (
        ("/tmp/uncaged", f"{folder}/tmp"),
        ("aws:SecureTransport: 'false'", "aws:SecureTransport: 'none'"),
    ):
        assert there in text
        text = text.replace(there, here)
    built.write_text(text, encoding="utf-8")
    return built


def _kind(secret: str) -> str:
    """Where a secret is, as a condition of the template reads it."""
    return secret.partition(":")[0] or "nowhere"


def sam(server: Ministack, folder: Path, *arguments: str | Path) -> str:
    """What SAM prints; it sees this server and nothing of the machine's own settings. It zips without
    compressing: nobody waits for this upload, and to compress the packages takes five seconds.
    """
    uncompressed = folder / "uncompressed"
    uncompressed.mkdir(exist_ok=True)
    (uncompressed / "sitecustomize.py").write_text("import zlib\nzlib.Z_DEFAULT_COMPRESSION = 0\n")
    environment = {
        **server.environment,
        "PATH": f"{tool('sam')}:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "SAM_CLI_TELEMETRY": "0",
        "PYTHONPATH": str(uncompressed),
    }
    done = subprocess.run(
        [tool("sam") / "sam", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def resource(stack: str, name: str) -> str:
    """The physical id of a resource of the stack."""
    asked = aws.client("cloudformation").describe_stack_resource(
        StackName=stack, LogicalResourceId=name
    )
    return str(asked["StackResourceDetail"]["PhysicalResourceId"])


def _routed(server: Ministack, stack: str) -> str:
    """The address of the stack's API.

    SAM writes an HTTP API's routes into its OpenAPI body, which AWS reads and ministack does not:
    here they are made one by one, from the same body.
    """
    api, gateway = resource(stack, "Api"), aws.client("apigatewayv2")
    for route, function in _routes(stack):
        made = gateway.create_integration(
            ApiId=api,
            IntegrationType="AWS_PROXY",
            PayloadFormatVersion="2.0",
            IntegrationUri=resource(stack, function),
        )
        gateway.create_route(
            ApiId=api, RouteKey=route, Target=f"integrations/{made['IntegrationId']}"
        )
    return f"{server.url}/_aws/execute-api/{api}"


_ANY_METHOD = "x-amazon-apigateway-any-method"


def _routes(stack: str) -> Iterator[tuple[str, str]]:
    """The routes of the deployed API and the function behind each."""
    template: Any = aws.client("cloudformation").get_template(
        StackName=stack, TemplateStage="Processed"
    )["TemplateBody"]
    for path, methods in template["Resources"]["Api"]["Properties"]["Body"]["paths"].items():
        for method, operation in methods.items():
            function = re.search(
                r"\$\{(\w+)\.Arn\}", str(operation["x-amazon-apigateway-integration"]["uri"])
            )
            assert function, operation
            verb = "ANY" if method == _ANY_METHOD else method.upper()
            yield f"{verb} {path}", function[1]
