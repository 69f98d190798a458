"""Questions as JSON lines and as CSV, and texts without a manifest."""

import json
from pathlib import Path

import pytest

from pytest_tokenbench.cli import main
from pytest_tokenbench.corpus import questions, verify
from pytest_tokenbench.corpus.faults import CorpusError
from pytest_tokenbench.records import Question

EXPECTED = (
    Question(
        "brack-q01",
        "brack",
        "Who built it,\nand when?",
        ("Jonas Mereth & 1804",),
        answerable=True,
        paragraph=1,
        aliases=("J. Mereth", "Mereth"),
        slices={"kind": "who"},
    ),
    Question("orrin-q01", "orrin", 'How much "barley"?', ("1,470 tonnes", "barley"), answerable=True),
    Question("orrin-q02", "orrin", "Who sold it?", (), answerable=False, checked_terms=("sold", "sale")),
)
CSV = """id,document,question,answers,aliases,answerable,paragraph,checked_terms,slice:kind
brack-q01,brack,"Who built it,
and when?",Jonas Mereth & 1804,J. Mereth | Mereth,yes,1,,who
orrin-q01,orrin,"How much ""barley""?","1,470 tonnes | barley"

orrin-q02,orrin,Who sold it?,,,No,,sold|sale,
"""
LINES = [
    {
        "id": "brack-q01",
        "document": "brack",
        "question": "Who built it,\nand when?",
        "answers": ["Jonas Mereth & 1804"],
        "aliases": ["J. Mereth", "Mereth"],
        "answerable": True,
        "paragraph": 1,
        "slices": {"kind": "who"},
    },
    {
        "id": "orrin-q01",
        "document": "orrin",
        "question": 'How much "barley"?',
        "answers": ["1,470 tonnes", "barley"],
        "answerable": True,
    },
    {
        "id": "orrin-q02",
        "document": "orrin",
        "question": "Who sold it?",
        "answers": [],
        "answerable": False,
        "checked_terms": ["sold", "sale"],
    },
]


def read(path: Path) -> tuple[Question, ...]:
    found, faults = questions.load(path, path.name)
    assert faults == []
    return found.items


def told(path: Path) -> list[str]:
    """Every fault of a file, as its lines say it."""
    with pytest.raises(CorpusError) as caught:
        questions.load(path, path.name)
    return str(caught.value).split("\n")


@pytest.fixture
def csv(tmp_path: Path) -> Path:
    return tmp_path / "questions.csv"


@pytest.fixture
def jsonl(tmp_path: Path) -> Path:
    return tmp_path / "questions.jsonl"


def test_json_lines_are_the_questions_one_a_line(jsonl):
    jsonl.write_text("\n".join(map(json.dumps, LINES)) + "\n\n", encoding="utf-8")
    assert read(jsonl) == EXPECTED


def test_csv_is_the_same_questions(csv):
    csv.write_text(CSV, encoding="utf-8")
    assert read(csv) == EXPECTED


def test_csv_as_spreadsheets_write_it_has_a_mark_and_other_line_ends_and_delimiters(csv):
    text = "id;document;question;answers\nq1;kell;Who, and when?;Mereth | 1804\n"
    csv.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    assert read(csv) == (Question("q1", "kell", "Who, and when?", ("Mereth", "1804"), answerable=True),)
    csv.write_text(text.replace(";", "\t"), encoding="utf-8")
    assert read(csv)[0].answers == ("Mereth", "1804")


@pytest.mark.parametrize(
    ("row", "place", "sentence"),
    [
        ("q1,kell,Who?,Mereth,maybe,", 'line 3, column "answerable"', "must be yes or no, or empty, found 'maybe'"),
        ("q1,kell,Who?,Mereth,,-1", 'line 3, column "paragraph"', "must be a whole number from 0 up, or empty, found '-1'"),
        ("q1,kell,Who?,,yes,", 'line 3, column "answers"', "must not be empty"),
        ("q1,kell,Who?,Mereth,no,", 'line 3, column "answers"', 'must be empty here, found ["Mereth"]'),
        ("q1,kell,,Mereth,,", 'line 3, column "question"', "must not be empty"),
        ("a b,kell,Who?,Mereth,,", 'line 3, column "id"', "has a form that is not allowed"),
        (",kell,Who?,Mereth,,", 'line 3, column "id"', "has a form that is not allowed"),
        ("q1,kell,Who, where?,Mereth,,", "line 3", "has 7 cells for 6 columns; put a cell that has the delimiter in quotes"),
        ('q1,kell,"Who?,Mereth,,', "line 3", "is not valid CSV: unexpected end of data"),
        ('q1,kell,"Who"?,Mereth,,', "line 3", "is not valid CSV: "),
    ],
)  # fmt: skip
def test_a_fault_of_a_row_is_told_with_line_and_column(csv, row, place, sentence):
    header = "id,document,question,answers,answerable,paragraph\n"
    csv.write_text(f"{header}q0,kell,Who?,Mereth,yes,0\n{row}\n", encoding="utf-8")
    (line,) = told(csv)
    assert line.startswith(f"questions.csv: {place}: {sentence}")


def test_a_rows_line_is_that_where_it_begins(csv):
    header = "id,document,question,answers,answerable\n"
    csv.write_text(f'{header}q0,kell,"Who\nor\nwhat?",Mereth,\nq1,kell,Who?,,yes\n', encoding="utf-8")
    assert told(csv) == ['questions.csv: line 5, column "answers": must not be empty']


@pytest.mark.parametrize(
    ("header", "faults"),
    [
        ("id,document,answers", ['column "question": is missing']),
        ("id,document,question,answers,id", ['column "id": stands twice; keep one']),
        ("", [f'column "{name}": is missing' for name in ("id", "document", "question", "answers")]),
        (
            "id,document,question,answers,kind",
            [
                (
                    'column "kind": is unknown; known are id, document, question, answers, answerable, aliases, '
                    "paragraph, checked_terms, and slice:NAME"
                )
            ],
        ),
    ],
)
def test_a_fault_of_the_header_is_told_with_its_column(csv, header, faults):
    csv.write_text(f"{header}\nq1,kell,Who?,Mereth\n", encoding="utf-8")
    assert [line for line in told(csv) if "is unknown" not in line or len(faults) == 1] == [
        f"questions.csv: line 1, {fault}" for fault in faults
    ]


def test_every_fault_of_a_file_is_told_in_one_go(csv):
    csv.write_text("id,document,question,answers\nq 1,kell,Who?,x\nq2,kell,,x\n", encoding="utf-8")
    assert [line.split(": ")[1] for line in told(csv)] == ['line 2, column "id"', 'line 3, column "question"']


@pytest.mark.parametrize("name", ["questions.csv", "questions.jsonl"])
def test_a_file_without_a_question_says_so(tmp_path, name):
    path = tmp_path / name
    path.write_text("id,document,question,answers\n" if name.endswith("csv") else "\n", encoding="utf-8")
    assert told(path) == [f"{name}: has no question"]


@pytest.mark.parametrize(
    ("line", "place", "sentence"),
    [
        ('{"id": "a",}', "line 2, column 12", "is not valid JSON: "),
        ("[1]", "line 2", "is no question; each line is one JSON object"),
        ('{"id": "a", "id": "b"}', "line 2", 'the key "id" stands twice'),
        ('{"id": "a", "document": "k", "question": "?", "answers": "x", "answerable": true}', 'line 2, column "answers"', "must be a list"),
        ('{"id": "a", "document": "k", "question": "?", "answers": []}', "line 2", 'the key "answerable" is missing'),
    ],
)  # fmt: skip
def test_a_fault_of_a_json_line_is_told_with_its_place(jsonl, line, place, sentence):
    jsonl.write_text(f"{json.dumps(LINES[0])}\n{line}\n", encoding="utf-8")
    (found,) = told(jsonl)
    assert found.startswith(f"questions.jsonl: {place}: {sentence}")


def test_ids_that_stand_twice_are_told_as_of_json(csv):
    csv.write_text("id,document,question,answers\nq1,kell,Who?,x\nq1,kell,When?,x\n", encoding="utf-8")
    _, faults = questions.load(csv, csv.name)
    assert [str(fault) for fault in faults] == [
        'questions.csv: question "q1": the id stands 2 times; each must be unique'
    ]


class TestWithoutAManifest:
    @pytest.fixture(autouse=True)
    def _here(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        Path("corpus").mkdir()
        Path("corpus/kell.txt").write_text("Kell is a town with 214 ropes.\n", encoding="utf-8")
        Path("corpus/Tarn Mill.md").write_text("# Tarn\n\nThe mill ground barley.\n", encoding="utf-8")
        Path("corpus/README.md").write_text("About these.\n", encoding="utf-8")
        Path("questions.csv").write_text(
            "id,document,question,answers\nq1,kell,How many ropes?,214\nq2,tarn-mill,What?,barley\n",
            encoding="utf-8",
        )

    def test_the_texts_are_the_corpus_and_a_fault_that_forbids_nothing_says_what_to_run(self):
        material = verify.read(Path("corpus"), Path("questions.csv"))
        assert [(one.id, one.file, one.title) for one in material.manifest.documents] == [
            ("tarn-mill", "Tarn Mill.md", "Tarn Mill"),
            ("kell", "kell.txt", "kell"),
        ]
        assert material.unusable() == ()
        (fault,) = material.faults
        assert str(fault) == (
            "corpus/manifest.json: there is none; the texts are taken as they stand, "
            "and `tokenbench corpus pin` records them"
        )

    def test_pinning_makes_the_manifest_and_then_nothing_is_at_fault(self, capsys):
        assert main(["corpus", "pin"]) == 0
        capsys.readouterr()
        assert main(["corpus", "verify"]) == 0
        assert capsys.readouterr().out.startswith("checked 2 documents, 13 words, 2 questions (2 answerable")
        Path("corpus/kell.txt").write_text("Kell is a town with 214 old ropes.\n", encoding="utf-8")
        assert main(["corpus", "verify"]) == 2

    def test_texts_may_lie_in_articles(self):
        Path("corpus/articles").mkdir()
        Path("corpus/kell.txt").rename("corpus/articles/kell.txt")
        Path("corpus/Tarn Mill.md").rename("corpus/articles/tarn-mill.md")
        material = verify.read(Path("corpus"), Path("questions.csv"))
        assert [one.file for one in material.manifest.documents] == [
            "articles/kell.txt",
            "articles/tarn-mill.md",
        ]

    def test_a_file_that_is_no_text_is_not_passed_over(self, capsys):
        Path("corpus/handbook.pdf").write_bytes(b"%PDF-1.4")
        assert main(["corpus", "verify"]) == 2
        assert capsys.readouterr().err == (
            "corpus/manifest.json: there is none, and handbook.pdf is no text; "
            "run `tokenbench corpus add corpus/handbook.pdf`\n"
        )

    def test_a_folder_without_a_text_says_what_to_do(self, capsys):
        for path in Path("corpus").iterdir():
            path.unlink()
        assert main(["corpus", "verify"]) == 2
        assert capsys.readouterr().err == (
            "corpus/manifest.json: the file is missing, and so is any text; "
            "run `tokenbench corpus add FILE --corpus corpus`\n"
        )

    def test_a_folder_that_is_not_there_says_so(self, capsys):
        assert main(["corpus", "verify", "--corpus", "elsewhere"]) == 2
        assert "elsewhere/manifest.json: the file" in capsys.readouterr().err

    def test_pinning_without_questions_writes_nothing(self, capsys):
        Path("questions.csv").unlink()
        assert main(["corpus", "pin"]) == 2
        assert capsys.readouterr().err == "questions.json: the file is missing\n"
        assert not Path("corpus/manifest.json").exists()

    def test_a_link_in_the_place_of_the_manifest_is_refused(self, tmp_path, capsys):
        Path("corpus/manifest.json").symlink_to(tmp_path / "outside.json")
        assert main(["corpus", "pin"]) == 2
        assert not (tmp_path / "outside.json").exists()
        assert capsys.readouterr().err

    def test_two_texts_of_one_name_are_told(self, capsys):
        Path("corpus/Kell.md").write_text("Kell.\n", encoding="utf-8")
        assert main(["corpus", "verify"]) == 2
        assert 'the id "kell" stands 2 times; each must be unique' in capsys.readouterr().err
