"""Files in the answers of servers are known by their bytes alone."""

from __future__ import annotations

import base64
import io
import wave
from typing import Any

import pytest

from sigil.run.mcp_client import media
from tests.pictures import make_png
from tests.tables import each_row


def make_wave() -> bytes:
    body = io.BytesIO()
    with wave.open(body, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(1)
        sound.setframerate(8000)
        sound.writeframes(b"\x80" * 8)
    return body.getvalue()


KEPT = {
    "image/png": (make_png(), "picture.png"),
    "image/jpeg": (b"\xff\xd8\xff\xe0\x00\x10JFIF\x00", "picture.jpg"),
    "image/gif": (b"GIF89a\x01\x00\x01\x00", "picture.gif"),
    "image/webp": (b"RIFF\x24\x00\x00\x00WEBPVP8 ", "picture.webp"),
    "audio/wav": (make_wave(), "picture.wav"),
    "audio/mpeg": (b"ID3\x04\x00\x00\x00", "picture.mp3"),
    "audio/ogg": (b"OggS\x00\x02", "picture.ogg"),
    "audio/flac": (b"fLaC\x00\x00\x00\x22", "picture.flac"),
    "application/pdf": (b"%PDF-1.7\n", "picture.pdf"),
}


@each_row("type", KEPT)
def test_a_file_has_the_type_of_its_bytes(type: str) -> None:
    body, name = KEPT[type]
    file = media.read_file(base64.b64encode(body).decode(), "picture", None)
    assert (file.name, file.type, file.body) == (name, type, body)


@each_row(
    ("uri", "name"),
    [
        ("file:///srv/ada/chart.v2.png", "chart.v2.png"),
        ("https://example.com/a/report.exe?x=1", "report.png"),
        ("file:///..%2f..%2fetc%2fpasswd", "etc-passwd.png"),
        ("file:///%E5%9B%BE%20%E8%A1%A8.png", "图-表.png"),
        ("x:" + "a" * 300, "a" * 60 + ".png"),
        ("file:///\u202egnp.exe", "gnp.png"),
        ("http://[", "picture.png"),
        ("file:///.bashrc", "bashrc.png"),
        (7, "picture.png"),
    ],
)
def test_a_name_is_of_its_address_and_cannot_leave_a_folder(uri: Any, name: str) -> None:
    data = base64.b64encode(make_png()).decode()
    assert media.read_file(data, "picture", uri).name == name


@each_row(
    ("data", "why"),
    [
        (None, "holds no data"),
        ("", "holds no data"),
        (["AAAA"], "holds no data"),
        ("A A*A", "not base64"),
        ("ä", "not base64"),
        ("AAAA", "none of the types"),
        (base64.b64encode(b"<svg onload='x'/>").decode(), "none of the types"),
        (base64.b64encode(b"<html>").decode(), "none of the types"),
        (base64.b64encode(b"PK\x03\x04").decode(), "none of the types"),
        (base64.b64encode(make_png() + b"\x00" * media.FILE_BYTES).decode(), "more than"),
        ("A" * (2 * media.FILE_BYTES), "more than"),
    ],
)
def test_other_data_is_no_file(data: Any, why: str) -> None:
    with pytest.raises(media.UnusableFileError, match=why):
        media.read_file(data, "picture", None)
