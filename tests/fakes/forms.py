"""The parts of a form that a client uploads to a fake."""

from __future__ import annotations

import re
from dataclasses import dataclass
from email import message_from_bytes
from email.message import Message

from tests.fakes.server import Recorded


@dataclass(frozen=True, slots=True)
class FormPart:
    """A part of a form; `name` is that of its file, empty when it is none."""

    content: bytes
    name: str = ""


def read_form(request: Recorded) -> dict[str, FormPart]:
    """The parts of a form by the names of their fields."""
    kind = request.headers["content-type"]
    form = message_from_bytes(f"content-type: {kind}\r\n\r\n".encode() + request.body)
    parts = {}
    # the standard library reads names of ASCII alone
    named = re.findall(rb'name="([^"\r\n]*)"; filename="([^"\r\n]*)"', request.body)
    names = {field.decode(): name.decode() for field, name in named}
    for part in form.get_payload():
        assert isinstance(part, Message)
        field = part.get_param("name", header="content-disposition")
        content = part.get_payload(decode=True)
        assert isinstance(field, str)
        assert isinstance(content, bytes)
        parts[field] = FormPart(content, names.get(field, ""))
    return parts
