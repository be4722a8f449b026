"""Measures the CPU of a cold start before any request: each function out of its package, with its
clients, beside the libraries that it is built on.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from scripts.benchmarks.rows import Row

ROOT: Final = Path(__file__).parents[2]
STAGES: Final = ROOT / "build" / "lambda"
RUNS: Final = 9
_ENVIRONMENT: Final = {
    "AWS_ACCESS_KEY_ID": "none",
    "AWS_SECRET_ACCESS_KEY": "none",
    "AWS_DEFAULT_REGION": "us-east-1",
    "TELEGRAM_TOKEN": "1:none",
    "UNCAGED_QUEUE": "sqs://https://sqs.us-east-1.amazonaws.com/000000000000/none.fifo",
    "UNCAGED_DATA": "/nonexistent",
    "UNCAGED_STORE": "dynamodb://none",
    "UNCAGED_ARTIFACTS": "s3://none/artifacts",
    "UNCAGED_LLM_URL": "http://127.0.0.1:9/v1",
}
_CLIENT: Final = "import botocore.session; botocore.session.Session().create_client('{}')"
_ROUTES: Final = "import functions.webhook"
_ROUTES_FLOOR: Final = "import starlette.applications"
_WEBHOOK: Final = "import functions.webhook_function"
_WEBHOOK_FLOOR: Final = f"import starlette.applications, mangum; {_CLIENT.format('sqs')}"
_ADMIN: Final = (
    "import functions.admin; from sigil.storage import aws; aws.client('dynamodb');"
    " functions.admin.wiring.open_control_app(functions.admin.Settings.read(),"
    " functions.admin.open_stores(functions.admin.Settings.read()))"
)
_ADMIN_FLOOR: Final = f"import starlette.applications, mangum; {_CLIENT.format('dynamodb')}"
_WORKER: Final = (
    "import functions.worker; from sigil.storage import aws; aws.client('dynamodb'); from functions"
    " import wiring; settings = functions.worker.Settings.read(); wiring.open_model(settings);"
    " wiring.open_channels(settings.channels); from sigil.sandbox.pool import Sandbox; from pathlib import"
    " Path; Sandbox(engine=Path('/'), cache=None)"
)
_WORKER_FLOOR: Final = (
    f"import wasmtime; sys.path[0] = stage; import httpx; {_CLIENT.format('dynamodb')}"
)
"""The bindings of wasmtime are not in the stage: they come from this environment."""


def run(data: Path | None) -> Iterator[Row]:
    """Measure in milliseconds of CPU, the median of nine runs, with ours and the floor in turns and
    byte code shipped on both sides.
    """
    subprocess.run(
        [ROOT / "scripts" / "package", "--lambda"], check=True, stdout=subprocess.DEVNULL
    )
    routes, floor = _measure_pair("webhook", _ROUTES, _ROUTES_FLOOR)
    yield Row(
        "webhook: its routes (floor: starlette.applications)",
        routes,
        "ms",
        floor=floor,
        ratio_target=1.3,
    )
    webhook, floor = _measure_pair("webhook", _WEBHOOK, _WEBHOOK_FLOOR)
    yield Row(
        "webhook: all of its start (floor: starlette, mangum, SQS)",
        webhook,
        "ms",
        floor=floor,
        ratio_target=1.3,
    )
    admin, floor = _measure_pair("admin", _ADMIN, _ADMIN_FLOOR)
    yield Row(
        "admin: function, store, agent (starlette, mangum, DynamoDB)",
        admin,
        "ms",
        floor=floor,
        ratio_target=1.5,
    )
    worker, floor = _measure_pair("worker", _WORKER, _WORKER_FLOOR)
    yield Row(
        "worker: function, store, model (httpx, DynamoDB, wasmtime)",
        worker,
        "ms",
        floor=floor,
        ratio_target=1.3,
    )
    whole, floor = _measure_pair(
        "worker",
        f"{_WORKER}; import sigil.registry",
        f"{_WORKER_FLOOR}; import pydantic, jsonschema, regex",
    )
    yield Row("worker, registry too (… pydantic, jsonschema, regex)", whole, "ms", floor=floor)


def _measure_pair(stage: str, ours: str, floor: str) -> tuple[float, float]:
    """Return the milliseconds of both programs, which take turns."""
    our_times, floor_times = [], []
    for _ in range(RUNS):
        our_times.append(_run_program(stage, ours))
        floor_times.append(_run_program(stage, floor))
    return statistics.median(our_times), statistics.median(floor_times)


def _run_program(stage: str, program: str) -> float:
    """Run a program in a fresh interpreter; return the milliseconds of CPU that it reports."""
    folder = str(STAGES / stage)
    first = folder
    if program.startswith("import wasmtime"):
        bindings = find_spec("wasmtime")
        first = str(Path(str(bindings and bindings.origin)).parents[1])
    start = (
        f"import sys, time; stage = {folder!r}; sys.path.insert(0, {first!r}); started ="
        " time.process_time()"
    )
    command = [
        sys.executable,
        "-I",
        "-S",
        "-B",
        "-c",
        f"{start}; {program}; print(time.process_time() - started)",
    ]
    done = subprocess.run(command, env=_ENVIRONMENT, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1]) * 1e3
