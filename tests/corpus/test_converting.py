"""Documents in other forms: each is made by hand here, byte by byte, and its text is known."""

import contextlib
import json
import logging
import sys
import zipfile
from hashlib import sha256
from io import BytesIO
from pathlib import Path

import pypdf
import pytest

from pytest_tokenbench.cli import main
from pytest_tokenbench.corpus import converting, passages

HTML = """<!DOCTYPE html><html><head><title>Not text</title><style>p {color: red}</style></head><body>
<nav><a href="/">Home</a></nav>
<main><h1>Brack</h1>Loose words
  over two lines.
<p>Brack is a <b>har</b>bour&nbsp;of the <a href="x">Lene</a> estuary.<br>It has two lights.</p>
<h3>Trade</h3><script>alert("never")</script><!-- nor this -->
<ul><li>ropes</li><li><p>salt fish</p></li></ul>
<div><div>Deep <span>inside</span>.</div></div>
<table><tr><th>year</th><th>boats</th></tr><tr><td>1850</td><td>214</td></tr></table></main>
<footer>Imprint</footer></body></html>"""
OF_HTML = """== Brack ==

Loose words over two lines.

Brack is a harbour of the Lene estuary. It has two lights.

=== Trade ===

- ropes
- salt fish

Deep inside.

year | boats
1850 | 214
"""


def pdf(*pages: list[str]) -> bytes:
    """A PDF with these lines on its pages, in Helvetica."""
    fonts = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", "", fonts]
    kids = []
    for lines in pages:
        shown = " ".join(f"({line}) Tj 0 -14 Td" for line in lines)
        stream = f"BT /F1 10 Tf 50 780 Td {shown} ET"
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
        kids.append(f"{len(objects) + 1} 0 R")
        objects.append(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R >> >> "
            f"/Contents {len(objects)} 0 R >>"
        )
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>"
    made, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(made))
        made += f"{number} 0 obj\n{content}\nendobj\n".encode("latin-1")
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    end = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer\n"
    end += f"<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(made)}\n%%EOF\n"
    return made + end.encode()


def docx(*paragraphs: tuple[str, str]) -> bytes:
    """A Word document of paragraphs, each with its style, "" for none."""
    space = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    body = "".join(
        f'<w:p><w:pPr><w:pStyle w:val="{style}"/></w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>'
        if style
        else f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"
        for style, text in paragraphs
    )
    styles = (
        '<w:style w:type="paragraph" w:styleId="Heading1"><w:name w:val="heading 1"/></w:style>'
        '<w:style w:type="paragraph" w:styleId="Heading2"><w:name w:val="heading 2"/></w:style>'
    )
    relations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Default Extension="xml" ContentType="application/xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" '
        f'Type="{relations}/officeDocument" Target="word/document.xml"/></Relationships>',
        "word/document.xml": f"<w:document {space}><w:body>{body}</w:body></w:document>",
        "word/styles.xml": f"<w:styles {space}>{styles}</w:styles>",
        "word/_rels/document.xml.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" '
        f'Type="{relations}/styles" Target="styles.xml"/></Relationships>',
    }
    made = BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return made.getvalue()


PAGES = (
    [
        "The mill at Orrin ground 1,470 tonnes of barley in 1922, all except what",
        "the farmers kept for seed. Its stones were dressed by an itin-",
        "erant mason.",
        "The miller was Ada Finch, who had come to the valley from Tarn as a girl and",
    ],
    ["never left it again, not even for the funeral of the brother whom she had", "brought up."],
)
OF_PAGES = """The mill at Orrin ground 1,470 tonnes of barley in 1922, all except what the farmers kept for seed. Its stones \
were dressed by an itinerant mason.

The miller was Ada Finch, who had come to the valley from Tarn as a girl and never left it again, not even for the \
funeral of the brother whom she had brought up.
"""
WORD = (
    ("Heading1", "Brack"),
    ("", "Brack is a caf\u0065\u0301 town."),
    ("Heading2", "Trade"),
    ("", "It sold 214 ropes."),
)
OF_WORD = "== Brack ==\n\nBrack is a caf\u00e9 town.\n\n== Trade ==\n\nIt sold 214 ropes.\n"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)


def entry(name: str) -> dict:
    documents = json.loads(Path("corpus/manifest.json").read_text(encoding="utf-8"))["documents"]
    return next(one for one in documents if one["id"] == name)


def told(capsys, *files: str) -> list[str]:
    """What `corpus add` says of these files, after the check that it ended with status 2."""
    assert main(["corpus", "add", *files]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    return err.splitlines()


@pytest.mark.parametrize(
    ("name", "raw", "text", "converter"),
    [
        ("brack.html", HTML.encode(), OF_HTML, "beautifulsoup4"),
        ("brack.HTM", HTML.encode(), OF_HTML, "beautifulsoup4"),
        ("brack.docx", docx(*WORD), OF_WORD, "mammoth"),
        ("brack.pdf", pdf(*PAGES), OF_PAGES, "pypdf"),
        (
            "brack.txt",
            b"\xef\xbb\xbfOne.\r\n\r\nThe cafe\xcc\x81.\r\n",
            "One.\n\nThe caf\u00e9.\n",
            "pytest-tokenbench",
        ),
    ],
)
def test_a_document_is_converted_once_and_its_text_and_origin_are_pinned(capsys, name, raw, text, converter):
    Path(name).write_bytes(raw)

    assert main(["corpus", "add", name]) == 0

    assert Path("corpus/articles/brack.txt").read_bytes() == text.encode()
    found = entry("brack")
    assert found["file"] == "articles/brack.txt"
    assert found["sha256"] == sha256(text.encode()).hexdigest()
    assert found["words"] == len(text.split())
    assert found["converted"]["file"] == name
    assert found["converted"]["sha256"] == sha256(raw).hexdigest()
    assert found["converted"]["converter"].startswith(f"{converter} ")
    assert any(character.isdigit() for character in found["converted"]["converter"])
    assert f"{len(text.split())} words, made by {converter} " in capsys.readouterr().out


@pytest.mark.parametrize(("name", "kept"), [("kell.txt", "kell.txt"), ("kell.md", "kell.md")])
def test_clean_text_is_taken_as_it_stands(name, kept):
    Path(name).write_text("# Kell\n\nKell is a town.\n", encoding="utf-8")
    assert main(["corpus", "add", name, "--licence", "CC0-1.0"]) == 0
    assert Path(f"corpus/articles/{kept}").read_text(encoding="utf-8") == "# Kell\n\nKell is a town.\n"
    assert "converted" not in entry("kell")
    assert entry("kell")["licence"] == "CC0-1.0"


def test_a_heading_of_markdown_is_no_paragraph():
    text = "# Kell\n\nKell is a town.\n\n### Its trade\n\nRopes.\n\n#tag\n\n# a\nb\n"
    assert passages.paragraphs(text) == ["Kell is a town.", "Ropes.", "#tag", "# a\nb"]


def test_a_text_in_the_corpus_stays_where_it_is():
    Path("corpus").mkdir()
    Path("corpus/kell.txt").write_text("Kell is a town.\n", encoding="utf-8")
    assert main(["corpus", "add", "corpus/kell.txt"]) == 0
    assert entry("kell")["file"] == "kell.txt"
    assert not Path("corpus/articles").exists()


def test_texts_that_had_no_manifest_are_recorded_beside_the_new_document():
    Path("corpus").mkdir()
    Path("corpus/kell.txt").write_text("Kell is a town.\n", encoding="utf-8")
    Path("corpus/brack.docx").write_bytes(docx(*WORD))
    assert main(["corpus", "add", "corpus/brack.docx"]) == 0
    assert entry("kell")["file"] == "kell.txt"
    assert entry("brack")["converted"]["file"] == "brack.docx", "its path in the corpus"


def test_what_stood_in_the_manifest_stays(workspace, tmp_path):
    more = tmp_path / "Kell Town (2).txt"
    more.write_text("Kell is a town.\n", encoding="utf-8")
    before = json.loads(workspace.manifest.read_text(encoding="utf-8"))["documents"]
    assert main(["corpus", "add", str(more), "--corpus", str(workspace.corpus)]) == 0
    after = json.loads(workspace.manifest.read_text(encoding="utf-8"))["documents"]
    assert after[:-1] == before
    assert after[-1]["id"] == "kell-town-2"
    assert workspace.run("pin") == 0
    assert workspace.run("verify") == 0


def test_an_original_in_the_corpus_that_changed_is_a_fault_and_one_elsewhere_is_no_matter(capsys):
    Path("corpus").mkdir()
    Path("corpus/brack.html").write_text(HTML, encoding="utf-8")
    Path("quay.html").write_text("<p>The quay is 31 metres long.</p>", encoding="utf-8")
    assert main(["corpus", "add", "corpus/brack.html", "quay.html"]) == 0
    question = {
        "id": "q",
        "document": "quay",
        "question": "How long?",
        "answers": ["31 metres"],
        "answerable": True,
    }
    Path("questions.json").write_text(json.dumps([question]), encoding="utf-8")
    assert main(["corpus", "pin"]) == 0
    assert main(["corpus", "verify"]) == 0
    capsys.readouterr()

    Path("quay.html").unlink()
    Path("corpus/brack.html").write_text(HTML + "<p>More.</p>", encoding="utf-8")

    assert main(["corpus", "verify"]) == 2
    assert capsys.readouterr().err.splitlines()[0] == (
        'corpus/manifest.json: document "brack": its text was made from another brack.html than this; '
        "convert it anew, or restore it"
    )


@pytest.mark.parametrize(
    ("name", "raw", "sentence"),
    [
        (
            "a.odt",
            b"x",
            "a file that ends in '.odt' cannot be converted; known are .txt, .md, .pdf, .docx, .html, .htm",
        ),
        ("a.pdf", b"%PDF-1.4 and nothing else", "cannot be converted ("),
        ("a.docx", b"PK and nothing else", "cannot be converted ("),
        ("a.pdf", pdf([]), "has no text; of a scan, recognise the characters first"),
        ("a.html", b"<script>x</script>", "has no text"),
        ("a.html", b"<div>" * 20_000, "cannot be converted ("),
        ("a.txt", "café".encode("latin-1"), "line 1: byte 0xe9 is not UTF-8"),
        ("a.txt", b"", "has no text"),
    ],
)
def test_what_cannot_be_converted_is_one_sentence_and_nothing_is_written(capsys, name, raw, sentence):
    Path(name).write_bytes(raw)
    Path("good.txt").write_text("Kell is a town.\n", encoding="utf-8")
    (line,) = told(capsys, "good.txt", name)
    assert line.startswith(f"{name}: ")
    assert sentence in line
    assert not Path("corpus").exists()


@pytest.mark.parametrize(
    ("raw", "status"),
    [(pdf(*PAGES)[:-200], 2), (pdf(*PAGES).replace(b"startxref\n", b"startxref\n1"), 0)],
)
def test_of_a_damaged_pdf_its_converter_tells_nothing_of_its_own(capsys, caplog, raw, status):
    with caplog.at_level(logging.DEBUG):
        with contextlib.suppress(Exception):
            pypdf.PdfReader(BytesIO(raw))
        assert caplog.records, "the means of this test: alone it tells"
        caplog.clear()
        Path("a.pdf").write_bytes(raw)
        assert main(["corpus", "add", "a.pdf"]) == status
    assert not caplog.records
    assert capsys.readouterr().err.count("\n") == status // 2


def test_a_missing_file_is_one_sentence(capsys):
    assert told(capsys, "gone.pdf") == ["gone.pdf: the file is missing"]


def test_two_documents_of_one_name_are_refused(capsys):
    Path("kell.txt").write_text("Kell is a town.\n", encoding="utf-8")
    Path("Kell.md").write_text("Kell is a town.\n", encoding="utf-8")
    assert told(capsys, "kell.txt", "Kell.md") == [
        'Kell.md: the corpus has a document "kell" already; rename this file, or take that one out'
    ]


def test_a_file_that_stands_in_the_way_is_not_written_over(capsys):
    Path("corpus/articles").mkdir(parents=True)
    Path("corpus/manifest.json").write_text('{"documents": []}', encoding="utf-8")
    Path("corpus/articles/kell.txt").write_text("Mine.\n", encoding="utf-8")
    Path("kell.txt").write_text("Kell is a town.\n", encoding="utf-8")
    assert main(["corpus", "add", "kell.txt"]) == 2
    assert Path("corpus/articles/kell.txt").read_text(encoding="utf-8") == "Mine.\n"
    assert capsys.readouterr().err


@pytest.mark.parametrize(("name", "module"), [("a.pdf", "pypdf"), ("a.docx", "mammoth"), ("a.html", "bs4")])
def test_without_its_converter_a_kind_says_what_to_install(capsys, monkeypatch, name, module):
    Path(name).write_bytes(docx(*WORD) if name == "a.docx" else b"x")
    monkeypatch.setitem(sys.modules, module, None)
    (line,) = told(capsys, name)
    assert line == f"{name}: needs {module}; run `pip install 'pytest-tokenbench[documents]'`"


def test_pages_without_text_are_named(tmp_path):
    file = tmp_path / "a.pdf"
    file.write_bytes(pdf(["One line of text."], [], ["Another one."]))
    assert converting.convert(file).notes[0] == "no text on page 2"


@pytest.mark.parametrize(
    ("html", "text"),
    [
        (
            "<ul><li>Ropes<ul><li>of hemp</li><li>of wire<ol><li>thin</li></ol></li></ul></li><li>Sails</li></ul>",
            "- Ropes\n- of hemp\n- of wire\n- thin\n- Sails",
        ),
        ("<ul><li>Ropes</li><ul><li>of hemp</li></ul><li>Sails</li></ul>", "- Ropes\n- of hemp\n- Sails"),
        ("<ul><li>Ropes<div><ul><li>of hemp</li></ul></div></li></ul>", "- Ropes\n- of hemp"),
        ("<ol><li>Ropes<li>Sails<li>Oil</ol>", "- Ropes\n- Sails\n- Oil"),
        ("<ul><li><p>Ropes</p><p>and sails</p></li></ul>", "- Ropes and sails"),
        (
            "<table><tr><td>1850<table><tr><td>ropes</td><td>214</td></tr></table></td><td>boats</td></tr></table>",
            "1850 ropes 214 | boats",
        ),
        ("<table><tr><td>1850<td>214<tr><td>1871<td>209</table>", "1850 | 214\n1871 | 209"),
        (
            "<table><tr><td>in <b>18</b>50<br>or so</td><td><ul><li>a</li><li>b</li></ul></td></tr></table>",
            "in 1850 or so | a b",
        ),
        ("<p><b>Finch<br>Street</b> and <i>J<b>ona</b>s</i></p>", "Finch Street and Jonas"),
        ("<h2>The<br>upper <i>li</i>ght</h2><p>It is lit.</p>", "== The upper light ==\n\nIt is lit."),
        ("<p>31 m<sup>2</sup> of sail<!-- no text --></p>", "31 m2 of sail"),
    ],
)
def test_each_word_of_html_stands_once_and_apart_from_the_next(html, text):
    Path("a.html").write_text(f"<html><body>{html}</body></html>", encoding="utf-8")
    assert converting.convert(Path("a.html")).text == f"{text}\n"


@pytest.mark.parametrize("has_texts", [True, False])
def test_nothing_is_written_where_a_link_in_the_corpus_leads_out_of_it(capsys, has_texts):
    outside = Path("outside")
    outside.mkdir()
    Path("corpus").mkdir()
    if has_texts:
        Path("corpus/kell.txt").write_text("Kell is a town.\n", encoding="utf-8")
        assert main(["corpus", "add", "corpus/kell.txt"]) == 0
        capsys.readouterr()
    Path("corpus/articles").symlink_to(outside.resolve())
    Path("brack.html").write_text(HTML, encoding="utf-8")
    before = sorted(Path().rglob("*"))

    assert told(capsys, "brack.html") == [
        "brack.html: corpus/articles is a symbolic link out of corpus/; put the folder itself there"
    ]

    assert sorted(Path().rglob("*")) == before
    assert list(outside.iterdir()) == []


def test_a_link_that_stays_in_the_corpus_is_followed():
    Path("corpus/texts").mkdir(parents=True)
    Path("corpus/articles").symlink_to("texts")
    Path("brack.html").write_text(HTML, encoding="utf-8")

    assert main(["corpus", "add", "brack.html"]) == 0

    assert Path("corpus/texts/brack.txt").read_text(encoding="utf-8") == OF_HTML
