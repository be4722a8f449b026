"""Store artifacts in an S3 bucket."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from uuid import uuid4

from sigil.errors import BackendError
from sigil.storage import aws
from sigil.storage.artifacts.base import artifact_name, require_name, verify_body

_EXISTS = ("PreconditionFailed", "412")
_UNDECIDED = ("ConditionalRequestConflict", "409")
_MISSING = ("NoSuchKey", "404")
LENT = "lent"
"""The folder of bodies that are lent; artifacts have folders of two digits."""
LENT_SECONDS = 60


class S3Artifacts:
    """Artifacts as one object each, `PREFIX/ab/NAME`.

    It needs no more rights than s3:PutObject and s3:GetObject below the prefix, and
    s3:DeleteObject where somebody is erased. S3 checks the bytes
    on their way in, the name on their way out.
    """

    def __init__(self, bucket: str, prefix: str = "", *, endpoint: str = "") -> None:
        self._bucket = bucket
        self._prefix = prefix.strip("/")
        self._endpoint = endpoint

    def put(self, body: bytes) -> str:
        """Store the body and return its name."""
        name = artifact_name(body)
        _, code = self._call("put_object", Key=self._key(name), Body=body, IfNoneMatch="*")
        if code in _UNDECIDED:
            # another writer is writing the same bytes now, and may yet fail
            self._call("put_object", Key=self._key(name), Body=body)
        return name

    def get(self, name: str) -> bytes:
        """Return the body.

        A body that breaks off is read again: the client itself repeats only what comes before it.
        """
        from botocore.exceptions import BotoCoreError  # type: ignore[import-untyped]

        key = self._key(require_name(name))
        body = None
        for attempt in range(1, aws.ATTEMPTS + 1):
            found, _ = self._call("get_object", Key=key)
            try:
                body = bytes(found["Body"].read()) if found else None
                break
            except BotoCoreError as problem:
                if attempt == aws.ATTEMPTS:
                    raise aws.make_backend_error(problem, f"bucket {self._bucket}") from None
        return verify_body(name, body)

    def delete(self, name: str) -> None:
        """Remove the body, which needs the right s3:DeleteObject."""
        self._call("delete_object", Key=self._key(require_name(name)))

    @contextmanager
    def lend(self, body: bytes) -> Iterator[str]:
        """Lend the body within the block: whoever has the address that it yields may fetch it, for
        at most `LENT_SECONDS` and with no right of their own.

        It is no artifact: it has an object of its own below `LENT`, which goes with the block, or,
        after a crash, by the rule of the bucket.
        """
        key = "/".join(filter(None, (self._prefix, LENT, uuid4().hex)))
        self._call("put_object", Key=key, Body=body)
        try:
            # buckets since 2020 take no older signature
            client = aws.client("s3", endpoint=self._endpoint, signature="s3v4")
            with aws.explain_errors(f"bucket {self._bucket}"):
                address = client.generate_presigned_url(
                    "get_object",
                    Params={"Bucket": self._bucket, "Key": key},
                    ExpiresIn=LENT_SECONDS,
                )
            yield address
        finally:
            with suppress(BackendError):
                self._call("delete_object", Key=key)

    def _key(self, name: str) -> str:
        return "/".join(filter(None, (self._prefix, name[:2], name)))

    def _call(self, operation: str, **parameters: Any) -> tuple[Any, str]:
        """Return the answer and no code, or None and the code of an expected refusal."""
        client = aws.client("s3", endpoint=self._endpoint)
        with aws.explain_errors(f"bucket {self._bucket}"):
            try:
                return getattr(client, operation)(Bucket=self._bucket, **parameters), ""
            except client.exceptions.ClientError as problem:
                code = aws.code_of(problem)
                if code in (*_EXISTS, *_UNDECIDED, *_MISSING):
                    return None, code
                raise
