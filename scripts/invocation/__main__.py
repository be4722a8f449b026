"""Calls the functions of the template as Lambda does, without Docker (`scripts/invoke`): their
packages, their version of Python and AWS's emulator of the runtime interface, beside an emulated
AWS and an emulated Telegram. All of it is on this machine's own address, and ends with the command.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from scripts.invocation.calls import CALLS, Call, find_faults
from scripts.staging.contents import StagingError
from tests.deploy.template import functions

if TYPE_CHECKING:
    from tests.deploy.runtime import Deployment
    from tests.servers.lambda_runtime import Invoked

ROOT = Path(__file__).parents[2]


def main() -> int:
    """Run the command; return 0, 1 when a function fails or answers otherwise than expected, 2 for
    a command that cannot be, 130 after Ctrl-C.
    """
    parser = argparse.ArgumentParser(
        prog="scripts/invoke",
        description="Call a function of the template as Lambda does, without Docker, and print what"
        " it returns. Without arguments, call all of them with events of tests/events/lambda, and"
        " fail when an answer is not as expected.",
        epilog="The first run takes some minutes: it packages the functions, and installs the"
        " emulators.",
    )
    parser.add_argument("function", nargs="?", help=", ".join(functions()))
    parser.add_argument("event", nargs="?", type=Path, help="a JSON file, as for sam local invoke")
    given = parser.parse_args()
    if given.function and not given.event:
        parser.error("a function needs an event: scripts/invoke FUNCTION EVENT.json")
    names = {name.lower(): name for name in functions()}
    if given.function and given.function.lower() not in names:
        _fail(f"there is no function {given.function}", f"one of: {', '.join(names.values())}")
    event = _read_event(given.event) if given.event else None
    try:
        _prepare()
        with ExitStack() as stack:
            deployment = _deploy(stack)
            if given.function:
                return _call_one(deployment, given.function.lower(), event)
            return _call_all(deployment)
    except StagingError as problem:
        _fail(problem.args[0], problem.args[1], code=1)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


def _read_event(path: Path) -> object:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as problem:
        _fail(f"{path} cannot be read: {problem.strerror}", "name a JSON file")
    except (ValueError, RecursionError) as problem:
        _fail(f"{path} is not JSON: {problem}", "write the event as tests/events/lambda has them")


def _prepare() -> None:
    """Package the functions and install the emulators, unless they are there."""
    commands = (("tool", "sam"), ("tool", "ministack"), ("package", "--lambda"))
    for script, argument in commands:
        command = (ROOT / "scripts" / script, argument)
        done = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
        if done.returncode:
            sys.exit(done.returncode)  # it has said why


def _deploy(stack: ExitStack) -> Deployment:
    """Start what the functions talk to, until `stack` ends."""
    # what is wrong with the command is said before any of this is loaded
    from tests.deploy.runtime import Deployment, Packages, cloud
    from tests.servers.ministack import Ministack

    server = stack.enter_context(Ministack())
    os.environ.update(server.environment)
    os.environ["CHECK_ALL"] = "1"  # AWS's own emulator, and the packages as they are deployed
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="invoke-")))
    deployment = Deployment(folder, cloud(server), Packages(folder, folder / "compiled"), stack)
    stack.enter_context(deployment.platform)
    return deployment


def _call(deployment: Deployment, function: str, event: object) -> Invoked:
    (timeout,) = [made["Timeout"] for name, made in functions().items() if name.lower() == function]
    return deployment.function(function, timeout).invoke(event)


def _call_one(deployment: Deployment, function: str, event: object) -> int:
    """Print what a function returns for an event; its log and what the platform got go to standard
    error.
    """
    done = _call(deployment, function, event)
    print(deployment.function(function).said(), end="", file=sys.stderr)
    for text in deployment.texts():
        print(f"the platform got: {text}", file=sys.stderr)
    print(json.dumps(done.payload))
    return 1 if done.failed else 0


def _call_all(deployment: Deployment) -> int:
    """Make the calls that try every function, and print a line about each."""
    from scripts.invocation.reminder import add_reminder

    table = deployment.store["UNCAGED_STORE"].removeprefix("dynamodb://")
    add_reminder(table, deployment.store["AWS_ENDPOINT_URL"])
    wrong = []
    for call in CALLS:
        if not _is_as_expected(deployment, call):
            wrong.append(call.event)
    faults = find_faults(wrong, deployment.texts())
    if faults:
        print(f"error: not as expected: {faults}", file=sys.stderr)
        return 1
    print(f"all {len(CALLS)} answers are as expected, and the platform got the reply")
    return 0


def _is_as_expected(deployment: Deployment, call: Call) -> bool:
    function = call.function.lower()
    done = _call(deployment, function, json.loads(call.path.read_bytes()))
    print(call.describe(done.payload, done.seconds), flush=True)
    if call.accepts(done.payload):
        return True
    print(deployment.function(function).said(), end="", file=sys.stderr)
    return False


def _fail(problem: str, help: str, code: int = 2) -> NoReturn:
    print(f"error: {problem}\nhelp: {help}", file=sys.stderr)
    sys.exit(code)


if __name__ == "__main__":
    sys.exit(main())
