"""`template.yaml` as data: its intrinsic functions in their long form, `{"Ref": …}`, `{"Fn::If":
[…]}`.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.servers.lambda_runtime import ROOT

PATH = ROOT / "template.yaml"
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Reader(_Loader):  # type: ignore[misc]
    """Reads `!Name value` as CloudFormation does: as `{"Fn::Name": value}`."""


def _read_function(reader: Any, name: str, node: yaml.Node) -> dict[str, Any]:
    if isinstance(node, yaml.ScalarNode):
        value = reader.construct_scalar(node)
        value = value.split(".", 1) if name == "GetAtt" else value
    elif isinstance(node, yaml.SequenceNode):
        value = reader.construct_sequence(node, deep=True)
    else:
        value = reader.construct_mapping(node, deep=True)
    return {name if name in ("Ref", "Condition") else f"Fn::{name}": value}


_Reader.add_multi_constructor("!", _read_function)
# a date is a string there
_Reader.add_constructor("tag:yaml.org,2002:timestamp", lambda reader, node: node.value)


@cache
def template() -> Mapping[str, Any]:
    """The whole template, read as SAM reads it: test_linters.py compares the two."""
    return yaml.load(PATH.read_text(encoding="utf-8"), _Reader)


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
    return functions()[function].get("Environment", {}).get("Variables", {})


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
    events = functions()[function].get("Events", {}).values()
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
