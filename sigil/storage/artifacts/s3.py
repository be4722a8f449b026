"""Artifacts in an S3 bucket."""

from __future__ import annotations

from typing import Any

from sigil.storage import aws
from sigil.storage.artifacts.base import artifact_name, require_name, verify_body

_THERE = ("PreconditionFailed", "412")
_UNDECIDED = ("ConditionalRequestConflict", "409")
_MISSING = ("NoSuchKey", "404")


class S3Artifacts:
    """One object a body, `PREFIX/ab/NAME`. It takes no more rights than s3:PutObject and
    s3:GetObject below the prefix.

    S3 checks the bytes on their way in, the name on their way out.
    """

    def __init__(self, bucket: str, prefix: str = "", *, endpoint: str = "") -> None:
        self._bucket, self._prefix, self._endpoint = bucket, prefix.strip("/"), endpoint

    def put(self, body: bytes) -> str:
        """Store the body and return its name."""
        name = artifact_name(body)
        _, refused = self._ask("put_object", Key=self._key(name), Body=body, IfNoneMatch="*")
        if (
            refused in _UNDECIDED
        ):  # another writer is at it and may yet fail; the bytes are the same
            self._ask("put_object", Key=self._key(name), Body=body)
        return name

    def get(self, name: str) -> bytes:
        """The body."""
        return verify_body(name, self._body(self._key(require_name(name))))

    def _body(self, key: str) -> bytes | None:
        """What lies under `key`. A body that breaks off is asked for again: the client repeats what
        comes before it, not the body.
        """
        from botocore.exceptions import BotoCoreError  # type: ignore[import-untyped]

        for left in reversed(range(aws.ATTEMPTS)):
            found, _ = self._ask("get_object", Key=key)
            try:
                return bytes(found["Body"].read()) if found else None
            except BotoCoreError as problem:
                if not left:
                    raise aws.failure(problem, f"bucket {self._bucket}") from None
        return None

    def _key(self, name: str) -> str:
        return "/".join(filter(None, (self._prefix, name[:2], name)))

    def _ask(self, operation: str, **parameters: Any) -> tuple[Any, str]:
        """The answer and no code, or None and the code of a refusal that is an answer too."""
        client = aws.client("s3", endpoint=self._endpoint)
        with aws.plainly(f"bucket {self._bucket}"):
            try:
                return getattr(client, operation)(Bucket=self._bucket, **parameters), ""
            except client.exceptions.ClientError as problem:
                code = aws.code_of(problem)
                if code in (*_THERE, *_UNDECIDED, *_MISSING):
                    return None, code
                raise
