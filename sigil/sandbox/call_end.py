"""How a call ends without an answer of the guest's."""

from __future__ import annotations


class Stopped(Exception):
    """The call was stopped. `code` and `message` are our own words."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message
