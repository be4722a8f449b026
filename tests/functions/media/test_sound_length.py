"""How long a sound says that it is."""

from __future__ import annotations

from functions.media.file_types import FileType, find_type
from functions.media.sound_length import measure_seconds
from functions.media.speech import SpeechClient
from tests.functions.media.sounds import (
    AAC,
    AMR,
    SILK,
    make_flac,
    make_m4a,
    make_mp3,
    make_ogg,
    make_vorbis,
    make_wav,
    make_webm,
)
from tests.tables import each_row


@each_row(
    ("body", "type", "seconds"),
    [
        (make_ogg(12.5), FileType.OGG, 12.5),
        (make_vorbis(3), FileType.OGG, 3),
        (make_wav(2), FileType.WAV, 2),
        (make_flac(61), FileType.FLAC, 61),
        (make_m4a(8), FileType.M4A, 8),
        (make_m4a(8, b"mp42"), FileType.MP4, 8),
        (make_mp3(4), FileType.MP3, 4),
        (make_webm(7), FileType.WEBM, 7),
        (make_webm(0), FileType.WEBM, 0),
        (AMR, FileType.AMR, 0),
        (SILK, FileType.SILK, 0),
        (AAC, FileType.AAC, 0),
    ],
)
def test_a_sound_is_known_by_its_content_with_its_length(
    body: bytes, type: FileType, seconds: float
) -> None:
    assert find_type(body) is type
    assert abs(measure_seconds(body, type) - seconds) < 0.05


@each_row(
    ("body", "type"),
    [
        (b"OggS", FileType.OGG),
        (b"OggS\0\0" + b"\xff" * 90, FileType.OGG),
        (make_ogg(5)[:40], FileType.OGG),
        (b"fLaC" + b"\xff" * 6, FileType.FLAC),
        (b"fLaC" + bytes(40), FileType.FLAC),
        (b"ID3\x04\0\0\x7f\x7f\x7f\x7f", FileType.MP3),
        (b"\xff\xfb\xf0\xff" + b"\xff" * 30, FileType.MP3),
        (b"\xff\xfb\0\0" + bytes(300), FileType.MP3),
        (b"\0\0\0\x10ftypM4A mvhd", FileType.M4A),
        (b"\0\0\0\x10ftypM4A mvhd" + b"\0" * 40, FileType.M4A),
        (b"RIFF\0\0\0\0WAVE", FileType.WAV),
        (b"RIFF\0\0\0\0WAVEfmt " + bytes(40), FileType.WAV),
        (b"\x1a\x45\xdf\xa3webm\x44\x89\x88\x7f\xf0\0\0\0\0\0\0", FileType.WEBM),
        (b"\x1a\x45\xdf\xa3webm\x44\x89\x88", FileType.WEBM),
    ],
)
def test_a_damaged_sound_has_no_length(body: bytes, type: FileType) -> None:
    assert find_type(body) is type
    assert measure_seconds(body, type) == 0.0


def test_a_container_that_may_have_a_video_is_heard_only_where_it_came_as_a_sound() -> None:
    client = SpeechClient("", "", "whisper-1")

    assert [client.hears(make_m4a(1, b"isom"), spoken=spoken) for spoken in (True, False)] == [
        True,
        False,
    ]
    assert client.hears(make_ogg(1), spoken=False)
