"""How each platform tells of files that people send: a sample for its fake of `updates`, by the name
under which the fake has the file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

Sample = dict[str, Any]


@dataclass(frozen=True, slots=True)
class FileSamples:
    """The samples of one platform. `name_file` makes the name of a file of a number; `album` may be
    one message, or several.
    """

    name_file: Callable[[int], str]
    photo: Callable[[str], Sample]
    voice: Callable[[str], Sample]
    document: Callable[[str, str], Sample]
    album: Callable[[Sequence[str]], list[Sample]]


def _telegram(content: Mapping[str, Any]) -> Sample:
    return {"message": {**content}}


def _telegram_photo(file: str) -> list[dict[str, Any]]:
    return [{"file_id": file, "file_unique_id": file, "width": 60, "height": 40}]


def _telegram_document(file: str, name: str) -> Sample:
    about = {"file_id": file, "file_unique_id": file, "file_name": name, "mime_type": "x/y"}
    return _telegram({"document": about})


_TELEGRAM = FileSamples(
    lambda number: f"file{number}",
    lambda file: _telegram({"photo": _telegram_photo(file)}),
    lambda file: _telegram({"voice": {"file_id": file, "file_unique_id": file, "duration": 12}}),
    _telegram_document,
    lambda files: [
        _telegram({"photo": _telegram_photo(file), "media_group_id": files[0]}) for file in files
    ],
)


def _slack(*files: dict[str, Any]) -> Sample:
    return {"event": {"type": "message", "subtype": "file_share", "files": [*files]}}


_SLACK = FileSamples(
    lambda number: f"F0SENT{number}",
    lambda file: _slack({"id": file, "mimetype": "image/png", "name": "a.png"}),
    lambda file: _slack({"id": file, "mimetype": "audio/mp4", "subtype": "slack_audio"}),
    lambda file, name: _slack({"id": file, "mimetype": "application/pdf", "name": name}),
    lambda files: [_slack(*({"id": file, "mimetype": "image/png"} for file in files))],
)


def _discord(*files: dict[str, Any], **fields: Any) -> Sample:
    return {"t": "MESSAGE_CREATE", "d": {**fields, "attachments": [*files]}}


def _discord_file(file: str, type: str, **more: Any) -> dict[str, Any]:
    return {"url": f"https://cdn.discordapp.com/{file}", "content_type": type, **more}


_DISCORD = FileSamples(
    lambda number: f"attachments/1/2/{number}.bin",
    lambda file: _discord(_discord_file(file, "image/png")),
    lambda file: _discord(_discord_file(file, "audio/ogg", waveform="x"), flags=8192),
    lambda file, name: _discord(_discord_file(file, "application/pdf", filename=name)),
    lambda files: [_discord(*(_discord_file(file, "image/png") for file in files))],
)


def _feishu(type: str, content: dict[str, Any]) -> Sample:
    return {"message": {"message_type": type, "content": content}}


_FEISHU = FileSamples(
    lambda number: f"file_v3_{number}",
    lambda file: _feishu("image", {"image_key": file}),
    lambda file: _feishu("audio", {"file_key": file, "duration": 12_000}),
    lambda file, name: _feishu("file", {"file_key": file, "file_name": name}),
    lambda files: [
        _feishu("post", {"content": [[{"tag": "img", "image_key": file}] for file in files]})
    ],
)


def _line(type: str, file: str, **fields: Any) -> Sample:
    return {"type": "message", "message": {"type": type, "id": file, **fields}}


_OWN = {"contentProvider": {"type": "line"}}
_LINE = FileSamples(
    lambda number: str(700_000 + number),
    lambda file: _line("image", file, **_OWN),
    lambda file: _line("audio", file, duration=12_000, **_OWN),
    lambda file, name: _line("file", file, fileName=name, fileSize=8),
    lambda files: [
        _line("image", file, **_OWN, imageSet={"id": "E005", "index": number, "total": len(files)})
        for number, file in enumerate(files, 1)
    ],
)


def _whatsapp(type: str, **content: Any) -> Sample:
    return {"message": {"type": type, type: content}}


_WHATSAPP = FileSamples(
    lambda number: str(65_000_000 + number),
    lambda file: _whatsapp("image", id=file, mime_type="image/jpeg"),
    lambda file: _whatsapp("audio", id=file, mime_type="audio/ogg; codecs=opus", voice=True),
    lambda file, name: _whatsapp("document", id=file, filename=name, mime_type="x/y"),
    lambda files: [_whatsapp("image", id=file, mime_type="image/jpeg") for file in files],
)


def _dingtalk(type: str, **content: Any) -> Sample:
    return {"message": {"msgtype": type, "content": content}}


_DINGTALK = FileSamples(
    lambda number: f"mIofN{number}",
    lambda file: _dingtalk("picture", downloadCode=file, pictureDownloadCode=file),
    lambda file: _dingtalk("audio", downloadCode=file, duration=12_000),
    lambda file, name: _dingtalk("file", downloadCode=file, fileName=name),
    lambda files: [
        _dingtalk(
            "richText", richText=[{"type": "picture", "downloadCode": file} for file in files]
        )
    ],
)
_WECOM = FileSamples(
    lambda number: f"media{number}",
    lambda file: {"MsgType": "image", "MediaId": file},
    lambda file: {"MsgType": "voice", "MediaId": file, "Format": "amr"},
    lambda file, name: {"MsgType": "file", "MediaId": file, "FileName": name},
    lambda files: [{"MsgType": "image", "MediaId": file} for file in files],
)


def _matrix(type: str, file: str, name: str, **fields: Any) -> Sample:
    content = {"msgtype": type, "body": name, "url": file, **fields}
    return {"type": "m.room.message", "content": content}


_MATRIX = FileSamples(
    lambda number: f"mxc://example.org/sent{number}",
    lambda file: _matrix("m.image", file, "a.jpg"),
    lambda file: _matrix("m.audio", file, "a.ogg", **{"org.matrix.msc3245.voice": {}}),
    lambda file, name: _matrix("m.file", file, name),
    lambda files: [_matrix("m.image", file, "a.jpg") for file in files],
)

SAMPLES: Final[Mapping[str, FileSamples]] = {
    "telegram": _TELEGRAM,
    "slack": _SLACK,
    "feishu": _FEISHU,
    "whatsapp": _WHATSAPP,
    "line": _LINE,
    "dingtalk": _DINGTALK,
    "wecom": _WECOM,
    "matrix": _MATRIX,
    "discord": _DISCORD,
}
"""All platforms but GitHub, which tells of no files."""
