"""Files are opened as a chat will open them: bytes go in, a picture, a document or a reason comes
out.
"""

from __future__ import annotations

import io
import json
import re
import tomllib
import zlib
from base64 import b64encode
from collections.abc import Callable

import pytest
from PIL import Image

from functions.agent.memory.helpers import NO_READER
from functions.agent.workspace.received import MEMBERS_ALONE, NOT_FETCHED, TOO_MANY, USED_UP
from functions.media.child import scaling
from functions.media.file_reader import FileReader
from functions.media.invocation import encode_answer
from functions.media.lambda_reader import LambdaFileReader
from functions.media.protocol import Unreadable
from functions.media.results import INSTALL, Heading, Page, Picture, Reason, UnreadableFile
from functions.media.speech import Unheard
from functions.texts.languages import list_codes, load_texts
from sigil.storage import aws
from tests.fakes.server import Answer, Recorded, RecordingServer
from tests.functions.media.files import (
    PICTURE,
    make_pdf,
    make_picture,
    make_row,
    make_svg,
    make_xlsx,
    write_lines,
)
from tests.project.tree import ROOT
from tests.tables import each_row


@pytest.fixture(scope="module")
def reader() -> FileReader:
    return FileReader()


def view(picture: Picture) -> Image.Image:
    image = Image.open(io.BytesIO(picture.data))
    assert image.size == (picture.width, picture.height)
    return image


def is_near(color: object, red: int, green: int, blue: int) -> bool:
    assert isinstance(color, tuple)
    return all(abs(one - other) < 12 for one, other in zip(color, (red, green, blue), strict=True))


def test_a_photo_is_upright_small_and_without_what_the_camera_wrote(reader: FileReader) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was turned
    exif[0x010F] = "Maker"
    exif[0x8825] = {1: "N"}  # where it was
    photo = make_picture("JPEG", (1_600, 1_064), exif=exif, comment=b"secret")

    picture = reader.scale(photo)

    assert (picture.type, picture.width, picture.height) == ("image/jpeg", 1_043, 1_568)
    image = view(picture)
    assert is_near(image.getpixel((1_000, 10)), 0, 0, 255)
    assert is_near(image.getpixel((10, 10)), 255, 0, 0)
    assert not image.getexif()
    assert b"secret" not in picture.data
    assert b"Maker" not in picture.data


def test_a_picture_fits_a_terminal_as_a_png_and_in_sixels(reader: FileReader) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was turned
    photo = make_picture("JPEG", (400, 200), exif=exif, comment=b"secret")

    png = reader.fit(photo, 300, 100)
    sixels = reader.fit(photo, 300, 100, sixel=True)

    image = Image.open(io.BytesIO(png))
    assert (image.format, image.size) == ("PNG", (50, 100))
    assert b"secret" not in png
    assert sixels.startswith(b'"1;1;50;100#')
    # 17 bands, in each of which red, blue or both are drawn from the left
    assert sixels.count(b"-") == 17
    assert re.search(rb"#\d+;2;9\d;\d;\d", sixels)
    assert reader.fit(make_picture("PNG", (30, 20)), 300, 100) != b""


@each_row(
    ("format", "mode", "options"),
    [
        ("PNG", "RGBA", {}),
        ("PNG", "P", {}),
        ("PNG", "RGB", {"save_all": True}),
        ("GIF", "P", {}),
        ("GIF", "RGB", {"save_all": True, "append_images": [Image.new("RGB", (60, 40))]}),
        ("WEBP", "RGB", {"lossless": True}),
        ("JPEG", "CMYK", {}),
        ("MPO", "RGB", {"save_all": True, "append_images": [Image.new("RGB", (60, 40))]}),
    ],
)
def test_every_kind_of_picture_is_drawn_in_its_colors(
    format: str, mode: str, options: dict[str, object]
) -> None:
    data = make_picture(format, mode=mode, **options)
    head, body = scaling.run({"type": format.replace("MPO", "JPEG")}, data)
    image = view(Picture(body, **head))  # type: ignore[arg-type]
    assert image.size == (60, 40)
    assert is_near(image.getpixel((5, 5)), 0, 0, 254)
    assert is_near(image.getpixel((50, 30)), 254, 0, 0)


def test_what_is_transparent_becomes_white() -> None:
    out = io.BytesIO()
    Image.new("RGBA", (9, 9), (0, 0, 0, 0)).save(out, "PNG")
    _, body = scaling.run({"type": "png"}, out.getvalue())
    assert Image.open(io.BytesIO(body)).getpixel((4, 4)) == (255, 255, 255)


def test_a_picture_of_another_type_than_it_was_taken_for_is_broken() -> None:
    with pytest.raises(Unreadable, match="broken"):
        scaling.run({"type": "png"}, make_picture("GIF"))


def test_a_document_is_read_by_pages(reader: FileReader) -> None:
    data = make_pdf(
        [write_lines("Invoice", "84 euros, to be paid"), PICTURE], "The invoice", [("Sum", 1)]
    )
    document = reader.read(data, 1, 2)

    assert (document.type, document.title, document.page_count) == ("pdf", "The invoice", 2)
    assert document.outline == (Heading("Sum", 1),)
    assert document.pages == (Page(1, "Invoice\n84 euros, to be paid"), Page(2, "", is_scan=True))


@each_row(
    ("encoding", "text"),
    [
        ("gb18030", "姓名,金额\n张三,100\n李四,200"),
        ("cp1252", "Name;Straße;Betrag\nMüller;Hauptstraße 5;12,50 €"),
        ("big5", "姓名,金額\n張三,100"),
        ("shift_jis", "名前,金額\n山田,100\nカタカナ,3"),
    ],
)
def test_a_table_in_an_older_encoding_is_read_and_the_encoding_named(
    reader: FileReader, encoding: str, text: str
) -> None:
    document = reader.read(text.encode(encoding))

    assert (document.type, document.pages[0].text) == ("text", text)
    assert f"it was read as {encoding}" in document.notes[0]


def test_a_page_that_has_no_text_can_be_looked_at(reader: FileReader) -> None:
    picture = reader.look(make_pdf(["1 0 0 rg 0 0 100 100 re f"]))
    assert (picture.width, picture.height) == (1_568, 784)
    image = view(picture)
    assert is_near(image.getpixel((100, 400)), 255, 0, 0)
    assert is_near(image.getpixel((1_500, 400)), 255, 255, 255)


def test_a_workbook_is_opened_by_its_contents(reader: FileReader) -> None:
    document = reader.read(make_xlsx({"Q1": make_row(1, "Sum", 84.0)}))
    assert (document.type, document.pages[0].text) == ("xlsx", "## Sheet Q1\nSum\t84")


def test_a_drawing_has_its_words_and_tells_what_it_has_no_letters_for(reader: FileReader) -> None:
    words = '<title>\u0e02</title><text x="20" y="60" font-family="Arial" font-size="40">{}</text>'
    picture = reader.draw(make_svg(words.format("Größe 5 € \u0e01")))
    image = view(picture)

    assert (picture.type, picture.width, picture.height) == ("image/png", 400, 200)
    assert picture.undrawn == "\u0e01"
    assert sum(image.convert("L").histogram()[:128]) > 2_000  # dark pixels
    assert image.convert("RGB").getpixel((399, 199)) == (255, 255, 255)


@each_row(
    ("open", "reason"),
    [
        (lambda reader: reader.scale(b""), Reason.EMPTY),
        (lambda reader: reader.draw("  "), Reason.EMPTY),
        (lambda reader: reader.scale(make_pdf([""])), Reason.NOT_SUPPORTED),
        (lambda reader: reader.read(make_picture("PNG")), Reason.NOT_SUPPORTED),
        (lambda reader: reader.look(b"words"), Reason.NOT_SUPPORTED),
        (lambda reader: reader.read(bytes(20_000_001)), Reason.TOO_LARGE),
        (lambda reader: reader.read(b"words", 0), Reason.NO_SUCH_PAGE),
        (lambda reader: reader.read(b"words", 1, 0), Reason.NO_SUCH_PAGE),
        (lambda reader: reader.look(make_picture("PNG"), 2), Reason.NO_SUCH_PAGE),
        (lambda reader: reader.draw("<svg><script/></svg>"), Reason.NOT_SUPPORTED),
    ],
)
def test_what_needs_no_child_to_be_refused_starts_none(
    reader: FileReader, open: Callable[[FileReader], object], reason: Reason
) -> None:
    with pytest.raises(UnreadableFile) as caught:
        open(reader)
    assert caught.value.reason == reason
    assert caught.value.suggestion


def test_without_the_package_the_reason_says_what_installs_it(
    reader: FileReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("functions.media.child_process.find_spec", lambda name: None)
    with pytest.raises(UnreadableFile) as caught:
        reader.scale(make_picture("PNG"))
    assert (caught.value.reason, caught.value.suggestion) == (Reason.PACKAGE_MISSING, INSTALL)


def test_there_is_a_sentence_for_every_reason_in_every_language() -> None:
    for code in list_codes():
        sentences = load_texts(code).file_problems
        own = {NO_READER, MEMBERS_ALONE, NOT_FETCHED, TOO_MANY, USED_UP}
        assert sentences.keys() == {*Reason, *Unheard, *own}
        assert all(
            "a.pdf" in sentence.format(name="a.pdf", command=INSTALL)
            for sentence in sentences.values()
        )


def test_the_install_command_names_the_versions_of_the_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extra = project["optional-dependencies"]["media"]
    assert f"pip install --only-binary=:all: {' '.join(extra)}" == INSTALL


class Rubbish(RecordingServer):
    """The address of a function of AWS Lambda that answers whatever it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.body = b""

    def answer(self, request: Recorded) -> Answer:
        return Answer(200, self.body, {"x-amzn-requestid": "1"})


PAGE = {"number": 1, "text": "a\x1b[2J\u202eb"}
DOCUMENT = {"type": "exe", "title": "t\x07\nu", "page_count": 1, "outline": [], "pages": [PAGE]}
NO_ANSWERS: list[dict[str, object]] = [
    {},
    {"document": {**DOCUMENT, "pages": []}},
    {"document": {**DOCUMENT, "pages": [{**PAGE, "number": 7}]}},
    {"document": {**DOCUMENT, "pages": "x"}},
    {"problem": "made up"},
    {"problem": "broken", "help": "h\x1b[2J\n" * 1_000},
]


def test_what_a_function_says_that_opens_files_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION"):
        monkeypatch.setenv(name, "eu-central-1")
    pdf = make_pdf([write_lines("x")])
    with Rubbish() as function:
        monkeypatch.setenv("AWS_ENDPOINT_URL_LAMBDA", function.url)
        aws._make_client.cache_clear()
        reader = LambdaFileReader("media")
        function.body = json.dumps(encode_answer({"document": DOCUMENT})).encode()
        document = reader.read(pdf)
        assert (document.type, document.title, document.pages[0].text) == ("pdf", "t u", "a[2Jb")

        frames = [json.dumps(encode_answer(head)).encode() for head in NO_ANSWERS]
        picture = encode_answer({"picture": {"type": "image/png", "width": 1, "height": 1}}, b"no")
        bomb = {"answer": b64encode(zlib.compress(bytes(30_000_000))).decode()}
        odd: list[object] = [
            None,
            [],
            {"answer": 7},
            {"answer": "é"},
            {"answer": ""},
            picture,
            bomb,
        ]
        for body in (*frames, *(json.dumps(each).encode() for each in odd), b"", b"\xff", b"{"):
            function.body = body
            for open_it in (reader.read, reader.look):
                with pytest.raises(UnreadableFile) as caught:
                    open_it(pdf)
                assert caught.value.suggestion.isprintable()
    aws._make_client.cache_clear()
