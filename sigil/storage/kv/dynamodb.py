"""Keep the store in a DynamoDB table: for functions on AWS, which share no disk."""

from __future__ import annotations

import math
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypedDict

from sigil.errors import BackendError, Conflict, UsageError
from sigil.storage import aws
from sigil.storage.kv.base import ABSENT, Expect, Item, Key, ScannedItem
from sigil.storage.kv.encoding import (
    PARTITION_LIMIT,
    SORT_LIMIT,
    encode_key,
    encode_text,
    expiry_time,
    new_version,
)

ITEM_BYTES = 400 * 1024
"""The most of an item, its attributes' names counted:
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
"""
UNIT_BYTES = 1024
PAGE = 100
"""Items that a scan reads with a request at least, once its first request met expired ones."""

PAUSES = (0.05, 0.2, 0.8)
"""Seconds before the items are read again that an answer left out."""

_OVERHEAD_BYTES = len("pkskversion") + 32
_LIFETIME_BYTES = len("untilexpires") + 2 * 21  # a number takes at most 21 bytes
_LATEST = 1e15  # seconds; a table's numbers end before Python's do

_NAMES = {"#pk": "pk", "#version": "version", "#until": "until"}
_IF_ABSENT = "attribute_not_exists(#pk) OR #until <= :now"
_IF_VERSION = "#version = :expect AND (attribute_not_exists(#until) OR #until > :now)"
_OR_OURS = " OR #version = :mine"  # a repeated request meets what its first attempt stored


class _Attribute(TypedDict, total=False):
    """A value in an item, under the letter of its type: text, a number as text, or bytes."""

    S: str
    N: str
    B: bytes


_Row = Mapping[str, _Attribute]


class DynamoKV:
    """A `KV` in one table with the string keys `pk` and `sk`, made by `template.yaml` or
    `sigil.storage.kv.dynamodb_table`.

    No request is sent before the first verb. Every read is consistent. A write that the client
    repeats because its reply was lost succeeds when its own item is stored; when another write has
    replaced it meanwhile, it is a `Conflict`. A repeated delete of a version that finds nothing
    succeeds, even if another writer deleted it in between. An item expires by `until` (exact, by
    `clock`, seconds since the epoch); the table's TTL drops it later by `expires` (whole seconds).
    A value that has more than 400 KB with its key, compressed if that helps, is `UsageError`
    ETOOBIG; `BackendError` when AWS cannot be used.
    """

    def __init__(
        self, table: str, *, endpoint: str = "", clock: Callable[[], float] = time.time
    ) -> None:
        self._table = table
        self._endpoint = endpoint
        self._clock = clock

    def get(self, key: Key) -> Item | None:
        """Return the item, None when there is none."""
        encode_key(key)
        found = self._call("get_item", Key=_encode_dynamo_key(key), ConsistentRead=True)
        return self._decode_live(found.get("Item", {}))

    def get_many(self, keys: Sequence[Key]) -> list[Item | None]:
        """Return the item of each key, or None; those that AWS leaves out are read again."""
        for key in keys:
            encode_key(key)
        found: dict[Key, Item | None] = dict.fromkeys(keys)
        unread = [_encode_dynamo_key(key) for key in found]
        for pause in (*PAUSES, None):
            if not unread:
                break
            request = {self._table: {"Keys": unread, "ConsistentRead": True}}
            answer = self._call("batch_get_item", RequestItems=request)
            for row in answer.get("Responses", {}).get(self._table, ()):
                found[Key(row["pk"]["S"], row["sk"]["S"])] = self._decode_live(row)
            unread = answer.get("UnprocessedKeys", {}).get(self._table, {}).get("Keys", [])
            if unread and pause is None:
                raise BackendError("EBUSY", f"table {self._table}: it is busy", source="aws")
            if unread and pause is not None:
                time.sleep(pause)
        return [found[key] for key in keys]

    def put(
        self, key: Key, value: bytes, *, expect: Expect = None, ttl: float | None = None
    ) -> str:
        """Write the whole item and return its new version; `Conflict` when `expect` does not
        hold.
        """
        now = self._clock()
        version = new_version()
        item = _encode_item(key, value, version, expiry_time(ttl, now))
        self._call("put_item", Item=item, **_write_condition(expect, now, mine=version))
        return version

    def require_fitting(self, key: Key, value: bytes) -> None:
        """Raise `UsageError` ETOOBIG for an item that is too large, also when compressed."""
        if len(value) > ITEM_BYTES // 2:
            _encode_item(key, value, "", math.inf)

    def delete(self, key: Key, *, expect: Expect = None) -> None:
        """Remove the item; `Conflict` when `expect` does not hold."""
        encode_key(key)
        if expect is ABSENT:
            if self.get(key) is not None:
                raise Conflict
            return
        condition = _write_condition(expect, self._clock())
        self._call("delete_item", Key=_encode_dynamo_key(key), **condition)

    def scan(
        self, partition: str, prefix: str = "", after: str = "", limit: int = 100
    ) -> list[tuple[str, Item]]:
        """Return at most `limit` live items in the order of their sort keys."""
        lowest = encode_text(prefix)
        start = encode_text(after)
        fits = 0 < len(encode_text(partition)) <= PARTITION_LIMIT and len(lowest) <= SORT_LIMIT
        is_past = start > lowest and not start.startswith(lowest)
        if not fits or is_past or limit <= 0:
            return []
        query = _make_query(partition, prefix, after if start.startswith(lowest) else "")
        found: list[tuple[str, Item]] = []
        for row in self._query_rows(query, limit):
            item = self._decode_live(row)
            if item and encode_text(row["sk"]["S"]) > start:
                found.append((row["sk"]["S"], item))
            if len(found) == limit:
                break
        return found

    def list_partitions(self, prefix: str = "") -> Iterator[str]:
        """Yield the names of the partitions that begin with `prefix`; it reads the whole table."""
        request: dict[str, Any] = {
            "ProjectionExpression": "pk",
            "ConsistentRead": True,
        }
        if prefix:
            request["FilterExpression"] = "begins_with(pk, :prefix)"
            request["ExpressionAttributeValues"] = {":prefix": {"S": prefix}}
        known: set[str] = set()
        for row in self._scan_rows(request):
            name = row["pk"]["S"]
            if name not in known:
                known.add(name)
                yield name

    def scan_everything(self) -> Iterator[ScannedItem]:
        """Yield every live item, with one request for each MiB of the table."""
        now = self._clock()
        for row in self._scan_rows({"ConsistentRead": True}):
            item, until = self._decode_row(row)
            if until > now:
                key = Key(row["pk"]["S"], row["sk"]["S"])
                yield ScannedItem(key, item.value, None if until == math.inf else until)

    def _scan_rows(self, request: Mapping[str, Any]) -> Iterator[_Row]:
        start: Mapping[str, Any] = {}
        while True:
            page = self._call("scan", **request, **start)
            yield from page["Items"]
            if not page.get("LastEvaluatedKey"):
                return
            start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}

    def _query_rows(self, query: Mapping[str, object], limit: int) -> Iterator[_Row]:
        page = self._call("query", **query, Limit=limit)
        yield from page["Items"]
        while page.get("LastEvaluatedKey"):
            following = {**query, "ExclusiveStartKey": page["LastEvaluatedKey"]}
            page = self._call("query", **following, Limit=max(limit, PAGE))
            yield from page["Items"]

    def _decode_live(self, row: _Row) -> Item | None:
        """Return the item of a row, None when there is no row or the item has expired."""
        if not row:
            return None
        item, until = self._decode_row(row)
        return item if until > self._clock() else None

    def _decode_row(self, row: _Row) -> tuple[Item, float]:
        """Return the item of a row and when it ends, which may be never (`inf`)."""
        try:
            if "packed" in row:
                value = zlib.decompress(row["packed"]["B"])
            else:
                value = row["value"]["B"]
            item = Item(value, row["version"]["S"])
            until = float(row["until"]["N"]) if "until" in row else math.inf
        except (KeyError, ValueError, zlib.error):
            raise BackendError(
                "EUNAVAILABLE",
                f"table {self._table}: it holds an item of another program",
                source="aws",
            ) from None
        return item, until

    def _call(self, operation: str, **parameters: object) -> Mapping[str, Any]:
        """Return the answer of AWS; boto3 does not describe it."""
        client = aws.client("dynamodb", endpoint=self._endpoint)
        from botocore.exceptions import BotoCoreError, ClientError  # type: ignore[import-untyped]

        try:
            table = {} if "RequestItems" in parameters else {"TableName": self._table}
            answer: Mapping[str, Any] = getattr(client, operation)(**table, **parameters)
        except ClientError as problem:
            code = aws.code_of(problem)
            if code == "ConditionalCheckFailedException":
                # A delete that was sent again and finds nothing any more was done the first time.
                metadata = problem.response.get("ResponseMetadata", {})
                is_repeated = metadata.get("RetryAttempts", 0) > 0
                if operation == "delete_item" and is_repeated and not problem.response.get("Item"):
                    return {}
                raise Conflict from None
            refusal = problem
        except BotoCoreError as problem:
            raise aws.make_backend_error(problem, f"table {self._table}") from None
        else:
            return answer
        failure = aws.make_backend_error(refusal, f"table {self._table}")
        if code == "ResourceNotFoundException":
            failure.suggestion = (
                "deploy template.yaml or run python -m sigil.storage.kv.dynamodb_table NAME; check"
                " region and account"
            )
        if code == "ValidationException":
            failure.suggestion = (
                "check the table's name, and that its keys are pk and sk, both strings"
            )
        raise failure


def _encode_dynamo_key(key: Key) -> _Row:
    return {"pk": {"S": key.partition}, "sk": {"S": key.sort}}


def _encode_item(key: Key, value: bytes, version: str, until: float | None) -> _Row:
    """Return the attributes of an item; `UsageError` ETOOBIG when DynamoDB takes none so large.

    The value is compressed where that saves write units, of which AWS counts one for each KiB
    begun.
    """
    attribute = "value"
    stored = bytes(value)
    if len(value) > UNIT_BYTES:
        packed = zlib.compress(value, 1)
        if len(packed) + UNIT_BYTES // 2 < len(value):
            attribute = "packed"
            stored = packed
    size = sum(map(len, encode_key(key))) + _OVERHEAD_BYTES + len(attribute) + len(stored)
    if until is not None:
        size += _LIFETIME_BYTES
    if size > ITEM_BYTES:
        raise UsageError(
            "ETOOBIG",
            f"the item has {size:,} bytes with its key, a DynamoDB item takes {ITEM_BYTES:,}",
        )
    item: dict[str, _Attribute] = {
        **_encode_dynamo_key(key),
        attribute: {"B": stored},
        "version": {"S": version},
    }
    if until is not None:
        bounded = min(max(until, 0.0), _LATEST)
        item["until"] = {"N": repr(bounded)}
        item["expires"] = {"N": str(math.ceil(bounded))}
    return item


def _write_condition(expect: Expect, now: float, mine: str = "") -> Mapping[str, object]:
    """Return the condition of a write; `mine` is the version being written, empty for a delete."""
    if expect is None:
        return {}
    values: dict[str, _Attribute] = {":now": {"N": repr(now)}}
    if expect is ABSENT:
        text = _IF_ABSENT
    else:
        text = f"({_IF_VERSION})"
        values[":expect"] = {"S": expect}
    if mine:
        text += _OR_OURS
        values[":mine"] = {"S": mine}
    return {
        "ConditionExpression": text,
        "ExpressionAttributeNames": {
            short: name for short, name in _NAMES.items() if short in text
        },
        "ExpressionAttributeValues": values,
        "ReturnValuesOnConditionCheckFailure": "NONE" if mine else "ALL_OLD",
    }


def _make_query(partition: str, prefix: str, after: str) -> Mapping[str, object]:
    """Return the query for the items that start with `prefix`, from `after` on, which starts with
    it too or is empty.
    """
    condition = "pk = :pk"
    values: dict[str, _Attribute] = {":pk": {"S": partition}}
    if prefix:
        condition += " AND begins_with(sk, :prefix)"
        values[":prefix"] = {"S": prefix}
    query: dict[str, object] = {
        "KeyConditionExpression": condition,
        "ExpressionAttributeValues": values,
        "ConsistentRead": True,
    }
    if after:
        first = after.encode()[:SORT_LIMIT].decode(errors="ignore")
        query["ExclusiveStartKey"] = {"pk": {"S": partition}, "sk": {"S": first}}
    return query
