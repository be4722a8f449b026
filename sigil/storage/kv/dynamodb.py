"""The store in a DynamoDB table: for functions on AWS, where no disk is shared."""

from __future__ import annotations

import math
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from sigil.errors import BackendError, Conflict, UsageError
from sigil.storage import aws
from sigil.storage.kv.base import ABSENT, Expect, Item, Key
from sigil.storage.kv.encoding import (
    PARTITION_LIMIT,
    SORT_LIMIT,
    encoded,
    expiry,
    new_version,
    text_bytes,
)

ITEM_BYTES = 400 * 1024
"""An item's limit, its attributes' names counted:
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
"""
UNIT_BYTES = 1024
PAGE = 100
"""Items that a scan looks at with a request once the first request, which asks for what is wanted,
met expired ones.
"""

PAUSES = (0.05, 0.2, 0.8)
"""Seconds before those items are asked for again that an answer left out."""

_OVERHEAD = len("pkskversion") + 32
_LIFETIME = len("untilexpires") + 2 * 21  # a number takes at most 21 bytes
_LATEST = 1e15  # seconds; a table's numbers end before Python's do

_NAMES = {"#pk": "pk", "#version": "version", "#until": "until"}
_GONE = "attribute_not_exists(#pk) OR #until <= :now"
_THERE = "#version = :expect AND (attribute_not_exists(#until) OR #until > :now)"
_OURS = " OR #version = :mine"  # a repeated request meets what its first attempt stored


class DynamoKV:
    """A `KV` in one table with the string keys `pk` and `sk`, made by `template.yaml` or
    `sigil.storage.kv.dynamodb_table`.

    Nothing is asked of AWS before the first verb. Every read is consistent. A write that the client
    repeats because its reply was lost succeeds when it is the one that stands there; when another
    write has replaced it meanwhile, it is a `Conflict`. A repeated delete of a version that finds
    nothing is done: should somebody else have deleted it between, both are told so. An item expires
    by `until` (exact, by `clock`, seconds since the epoch); the table's TTL drops it later by
    `expires` (whole seconds). A value that passes 400 KB with its key, compressed if that helps, is
    `UsageError` ETOOBIG; AWS that cannot be used is `BackendError`.
    """

    def __init__(
        self, table: str, *, endpoint: str = "", clock: Callable[[], float] = time.time
    ) -> None:
        self._table, self._endpoint, self._clock = table, endpoint, clock

    def get(self, key: Key) -> Item | None:
        """The item, or None."""
        encoded(key)
        found = self._ask("get_item", Key=_key(key), ConsistentRead=True)
        return self._live(found.get("Item", {}))

    def get_many(self, keys: Sequence[Key]) -> list[Item | None]:
        """Return the item of each key, or None; what AWS leaves out of an answer is asked again."""
        for key in keys:
            encoded(key)
        found: dict[Key, Item | None] = dict.fromkeys(keys)
        wanted = [_key(key) for key in found]
        for pause in (*PAUSES, None):
            if not wanted:
                break
            request = {self._table: {"Keys": wanted, "ConsistentRead": True}}
            answer = self._ask("batch_get_item", RequestItems=request)
            for row in answer.get("Responses", {}).get(self._table, ()):
                found[Key(row["pk"]["S"], row["sk"]["S"])] = self._live(row)
            wanted = answer.get("UnprocessedKeys", {}).get(self._table, {}).get("Keys", [])
            if wanted and pause is None:
                raise BackendError("EBUSY", f"table {self._table}: it is busy", source="aws")
            if wanted and pause is not None:
                time.sleep(pause)
        return [found[key] for key in keys]

    def put(
        self, key: Key, value: bytes, *, expect: Expect = None, ttl: float | None = None
    ) -> str:
        """Write the whole item and return its new version; `Conflict` when `expect` does not
        hold.
        """
        now, version = self._clock(), new_version()
        until = expiry(ttl, now)
        body = _packed(value)
        _check_size(key, body, until)
        item = {**_key(key), **body, "version": {"S": version}, **_lifetime(until)}
        self._ask("put_item", Item=item, **_condition(expect, now, mine=version))
        return version

    def delete(self, key: Key, *, expect: Expect = None) -> None:
        """Remove the item; `Conflict` when `expect` does not hold."""
        encoded(key)
        if expect is ABSENT:
            if self.get(key) is not None:
                raise Conflict
            return
        self._ask("delete_item", Key=_key(key), **_condition(expect, self._clock()))

    def scan(
        self, partition: str, prefix: str = "", after: str = "", limit: int = 100
    ) -> list[tuple[str, Item]]:
        """At most `limit` live items in the order of their sort keys."""
        lowest, start = text_bytes(prefix), text_bytes(after)
        nowhere = not 0 < len(text_bytes(partition)) <= PARTITION_LIMIT or len(lowest) > SORT_LIMIT
        if nowhere or limit <= 0 or (start > lowest and not start.startswith(lowest)):
            return []
        query = _query(partition, prefix, after if start.startswith(lowest) else "")
        found: list[tuple[str, Item]] = []
        for row in self._rows(query, limit):
            item = self._live(row)
            if item and text_bytes(row["sk"]["S"]) > start:
                found.append((row["sk"]["S"], item))
            if len(found) == limit:
                break
        return found

    def _rows(self, query: dict[str, Any], limit: int) -> Iterator[Mapping[str, Any]]:
        page: Mapping[str, Any] = self._ask("query", **query, Limit=limit)
        yield from page["Items"]
        while page.get("LastEvaluatedKey"):
            page = self._ask(
                "query",
                **{**query, "ExclusiveStartKey": page["LastEvaluatedKey"]},
                Limit=max(limit, PAGE),
            )
            yield from page["Items"]

    def _live(self, row: Mapping[str, Any]) -> Item | None:
        if not row:
            return None
        try:
            item = Item(
                zlib.decompress(row["packed"]["B"]) if "packed" in row else row["value"]["B"],
                row["version"]["S"],
            )
            until = float(row["until"]["N"]) if "until" in row else math.inf
        except (KeyError, ValueError, zlib.error):
            raise BackendError(
                "EUNAVAILABLE",
                f"table {self._table}: it holds an item of somebody else",
                source="aws",
            ) from None
        return item if until > self._clock() else None

    def _ask(self, operation: str, **parameters: Any) -> Mapping[str, Any]:
        client = aws.client("dynamodb", endpoint=self._endpoint)
        from botocore.exceptions import BotoCoreError, ClientError  # type: ignore[import-untyped]

        try:
            table = {} if "RequestItems" in parameters else {"TableName": self._table}
            answer: Mapping[str, Any] = getattr(client, operation)(**table, **parameters)
        except ClientError as problem:
            if _is_done(operation, problem.response):
                return {}
            raise self._refusal(problem) from None
        except BotoCoreError as problem:
            raise aws.failure(problem, f"table {self._table}") from None
        return answer

    def _refusal(self, problem: Any) -> BackendError:
        code = aws.code_of(problem)
        if code == "ConditionalCheckFailedException":
            return Conflict()
        failure = aws.failure(problem, f"table {self._table}")
        if code == "ResourceNotFoundException":
            failure.suggestion = (
                "deploy template.yaml or run python -m sigil.storage.kv.dynamodb_table NAME; check"
                " region and account"
            )
        if code == "ValidationException":
            failure.suggestion = (
                "check the table's name, and that its keys are pk and sk, both strings"
            )
        return failure


def _key(key: Key) -> dict[str, Any]:
    return {"pk": {"S": key.partition}, "sk": {"S": key.sort}}


def _lifetime(until: float | None) -> dict[str, Any]:
    if until is None:
        return {}
    until = min(max(until, 0.0), _LATEST)
    return {"until": {"N": repr(until)}, "expires": {"N": str(math.ceil(until))}}


def _packed(value: bytes) -> dict[str, Any]:
    """The attribute that holds a value: compressed where that saves write units, of which AWS
    counts one a KiB begun.
    """
    small = zlib.compress(value, 1) if len(value) > UNIT_BYTES else value
    return (
        {"packed": {"B": small}}
        if len(small) + UNIT_BYTES // 2 < len(value)
        else {"value": {"B": bytes(value)}}
    )


def _check_size(key: Key, body: Mapping[str, Any], until: float | None) -> None:
    stored = sum(len(name) + len(attribute["B"]) for name, attribute in body.items())
    size = sum(map(len, encoded(key))) + stored + _OVERHEAD + (0 if until is None else _LIFETIME)
    if size > ITEM_BYTES:
        raise UsageError(
            "ETOOBIG",
            f"the item has {size:,} bytes with its key, a DynamoDB item takes {ITEM_BYTES:,}",
        )


def _condition(expect: Expect, now: float, mine: str = "") -> dict[str, Any]:
    """What has to hold at the write; `mine` is the version being written, empty for a delete."""
    if expect is None:
        return {}
    text, values = (_GONE, {}) if expect is ABSENT else (f"({_THERE})", {":expect": {"S": expect}})
    if mine:
        text, values = text + _OURS, {**values, ":mine": {"S": mine}}
    return {
        "ConditionExpression": text,
        "ExpressionAttributeNames": {
            short: name for short, name in _NAMES.items() if short in text
        },
        "ExpressionAttributeValues": {**values, ":now": {"N": repr(now)}},
        "ReturnValuesOnConditionCheckFailure": "NONE" if mine else "ALL_OLD",
    }


def _is_done(operation: str, response: Mapping[str, Any]) -> bool:
    """Whether a refused request is a delete that was sent again and finds nothing any more."""
    repeated = response.get("ResponseMetadata", {}).get("RetryAttempts", 0) > 0
    refused = response.get("Error", {}).get("Code") == "ConditionalCheckFailedException"
    return operation == "delete_item" and refused and repeated and not response.get("Item")


def _query(partition: str, prefix: str, after: str) -> dict[str, Any]:
    """A query for what starts with `prefix`, from `after` on, which starts with it too or is
    empty.
    """
    query: dict[str, Any] = {
        "KeyConditionExpression": "pk = :pk",
        "ExpressionAttributeValues": {":pk": {"S": partition}},
        "ConsistentRead": True,
    }
    if prefix:
        query["KeyConditionExpression"] += " AND begins_with(sk, :prefix)"
        query["ExpressionAttributeValues"][":prefix"] = {"S": prefix}
    if after:
        first = after.encode()[:SORT_LIMIT].decode(errors="ignore")
        query["ExclusiveStartKey"] = {"pk": {"S": partition}, "sk": {"S": first}}
    return query
