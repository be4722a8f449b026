"""What AWS's and others' linters say of the template, and that we read it as SAM does.

Each stands as long as the template and the tool are the same: the tools are big, and none of them
is installed for these tests until then.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.deploy.template import PATH, run, template

_PARSE = (
    "import json, sys; from samcli.yamlhelper import yaml_parse;"
    " json.dump(yaml_parse(open(sys.argv[1]).read()), sys.stdout)"
)
NOT_DONE = {
    "CKV_AWS_18": (
        "access logs of the bucket: only two functions of ours reach it, and their requests stand"
        " in their own logs"
    ),
    "CKV_AWS_21": "versions in the bucket: bodies are named by their digest and never overwritten",
    "CKV_AWS_26": (
        "a KMS key for the alarms: CloudWatch cannot write to a topic under the key that AWS gives,"
        " and they hold no texts"
    ),
    "CKV_AWS_27": "a KMS key for the queues: they are encrypted with SQS's own key",
    "CKV_AWS_115": (
        "reserved concurrency: a new account has ten executions and may reserve none; the queue's"
        " scaling bounds the worker"
    ),
    "CKV_AWS_116": (
        "a dead-letter queue of the functions: for asynchronous invocations; events come from a"
        " queue that has one"
    ),
    "CKV_AWS_117": (
        "a VPC: DynamoDB, S3, SQS and the model are reached over TLS, and a VPC would need a paid"
        " gateway for it"
    ),
    "CKV_AWS_119": "a KMS key of one's own for the table: it is encrypted with the account's key",
    "CKV_AWS_158": "a KMS key for the logs: they are encrypted, and hold ids and never texts",
    "CKV_AWS_173": (
        "a KMS key for environment variables: no secret is among them, only names of secrets"
    ),
}
"""What checkov wants and we do not do, with the reason."""


@pytest.mark.rests_on(
    "template.yaml", "tests/deploy/template.py", "scripts/tools/sam.txt", recorded=True
)
def test_cfn_lint_finds_nothing_wrong(tmp_path: Path) -> None:
    """`sam validate --lint` does the same: it reads the template as `template` does, and calls this
    linter.
    """
    done = run("sam", "cfn-lint", "--include-checks", "W", "--", str(PATH), folder=tmp_path)

    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.rests_on(
    "template.yaml", "tests/deploy/template.py", "scripts/tools/checkov.txt", recorded=True
)
def test_checkov_misses_only_what_was_decided_against(tmp_path: Path) -> None:
    done = run(
        "checkov",
        "checkov",
        "-f",
        str(PATH),
        "--framework",
        "cloudformation",
        "--skip-download",
        "-o",
        "json",
        folder=tmp_path,
    )
    results = json.loads(done.stdout)["results"]

    assert len(results["passed_checks"]) > 30
    assert {check["check_id"] for check in results["failed_checks"]} == set(NOT_DONE)


@pytest.mark.rests_on(
    "template.yaml", "tests/deploy/template.py", "scripts/tools/sam.txt", recorded=True
)
def test_the_template_is_read_as_sam_reads_it(tmp_path: Path) -> None:
    done = run("sam", "python", "-c", _PARSE, str(PATH), folder=tmp_path)

    assert json.loads(done.stdout) == template()
