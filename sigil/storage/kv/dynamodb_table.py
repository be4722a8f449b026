"""Create the table of a `DynamoKV`, for those who do not deploy `template.yaml`.

python -m sigil.storage.kv.dynamodb_table TABLE [ENDPOINT]
"""

from __future__ import annotations

import sys
import time
from contextlib import suppress

from sigil.errors import BackendError
from sigil.storage import aws

WAIT_SECONDS = 60.0
_KEYS = (("pk", "HASH"), ("sk", "RANGE"))


def create_table(table: str, endpoint: str = "") -> None:
    """Create `table` (on demand, items dropped by `expires`) and wait until it can be used.

    A table that exists stays as it is. `BackendError` when AWS refuses or needs more than a minute.
    """
    client = aws.client("dynamodb", endpoint=endpoint)
    with aws.explain_errors(f"table {table}"):
        # It exists, or another process is creating it.
        with suppress(client.exceptions.ResourceInUseException):
            client.create_table(
                TableName=table,
                BillingMode="PAY_PER_REQUEST",
                AttributeDefinitions=[
                    {"AttributeName": name, "AttributeType": "S"} for name, _ in _KEYS
                ],
                KeySchema=[{"AttributeName": name, "KeyType": kind} for name, kind in _KEYS],
            )
        deadline = time.monotonic() + WAIT_SECONDS
        while True:
            status = client.describe_table(TableName=table)["Table"]["TableStatus"]
            if status in ("ACTIVE", "UPDATING"):
                break
            if time.monotonic() > deadline:
                raise BackendError(
                    "EUNAVAILABLE",
                    f"table {table}: it is not active after {WAIT_SECONDS:g} s",
                    suggestion="try again",
                )
            time.sleep(0.5)
        lifetime = client.describe_time_to_live(TableName=table)["TimeToLiveDescription"]
        if lifetime["TimeToLiveStatus"] == "DISABLED":  # AWS refuses to enable it twice
            client.update_time_to_live(
                TableName=table,
                TimeToLiveSpecification={"Enabled": True, "AttributeName": "expires"},
            )


def main() -> None:
    """Run the command."""
    if len(sys.argv) not in (2, 3) or sys.argv[1].startswith("-"):
        raise SystemExit("usage: python -m sigil.storage.kv.dynamodb_table TABLE [ENDPOINT]")
    try:
        create_table(*sys.argv[1:])
    except BackendError as problem:
        raise SystemExit(f"error: {problem.message}\nhelp: {problem.suggestion}") from None


if __name__ == "__main__":
    main()
