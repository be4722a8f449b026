"""`template.yaml` as data: its intrinsic functions in their long form, `{"Ref": …}`, `{"Fn::If":
[…]}`.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tests.servers.lambda_runtime import ROOT, tool

PATH = ROOT / "template.yaml"
_PARSE = (
    "import json, sys; from samcli.yamlhelper import yaml_parse;"
    " json.dump(yaml_parse(sys.stdin.read()), sys.stdout)"
)


@cache
def template() -> Mapping[str, Any]:
    """The whole template, read as SAM reads it."""
    python = tool("sam") / "python"
    done = subprocess.run(
        [python, "-c", _PARSE], input=PATH.read_bytes(), capture_output=True, check=True
    )
    return json.loads(done.stdout)


def resources(kind: str) -> dict[str, dict[str, Any]]:
    """The properties of the resources of a type, by name."""
    return {
        name: made.get("Properties", {})
        for name, made in template()["Resources"].items()
        if made["Type"] == kind
    }


def functions() -> dict[str, dict[str, Any]]:
    return resources("AWS::Serverless::Function")


def environment(function: str) -> dict[str, Any]:
    return functions()[function]["Environment"]["Variables"]


def allowed(function: str) -> Iterator[tuple[str, Any]]:
    """(action, resource) of everything that the function's role allows; what hangs on a condition
    counts as allowed.
    """
    for policy in resources("AWS::IAM::Role")[f"{function}Role"]["Policies"]:
        for statement in policy["PolicyDocument"]["Statement"]:
            told = statement["Fn::If"][1] if "Fn::If" in statement else statement
            assert told["Effect"] == "Allow"
            for action in [told["Action"]] if isinstance(told["Action"], str) else told["Action"]:
                places = told["Resource"]
                for place in places if isinstance(places, list) else [places]:
                    yield action, place


def accepts(parameter: str, value: str) -> bool:
    """Whether CloudFormation would take the value."""
    about = template()["Parameters"][parameter]
    if "AllowedValues" in about:
        return value in map(str, about["AllowedValues"])
    return re.fullmatch(about.get("AllowedPattern", ".*"), value) is not None


def handler_of(name: str) -> str:
    """The handler of a function, by its name in lower case."""
    (found,) = [made for each, made in functions().items() if each.lower() == name]
    return str(found["Handler"])


def routes(function: str) -> set[tuple[str, str]]:
    """(method, path) that the API sends to the function."""
    events = functions()[function]["Events"].values()
    return {
        (event["Properties"]["Method"], event["Properties"]["Path"])
        for event in events
        if event["Type"] == "HttpApi"
    }


def run(name: str, program: str, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A program of a tool, in an empty folder, without credentials."""
    words = [str(ROOT / "scripts" / "tool"), name, program, *arguments]
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(folder),
        "SAM_CLI_TELEMETRY": "0",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    return subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
