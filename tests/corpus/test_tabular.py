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
    try:
        found, faults = questions.load(path, path.name)
    except CorpusError as error:
        return str(error).split("\n")
    return list(map(str, (*found.malformed, *faults)))


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
        ('{"id": "a", "document": "k", "answers": []}', "line 2", 'the key "question" is missing'),
        ('{"id": "a", "document": "k", "question": "?", "answers": [], "answerable": null}', 'line 2, column "answerable"', "must be true or false, found null"),
        ('{"id": "a", "document": "k", "question": "?", "answers": ["x"], "answerable": "no"}', 'line 2, column "answerable"', 'must be true or false, found "no"'),
        ('{"id": "a", "document": "k", "question": "?", "answers": [], "aliases": ["x"]}', 'line 2, column "aliases"', "must be empty here"),
    ],
)  # fmt: skip
def test_a_fault_of_a_json_line_is_told_with_its_place(jsonl, line, place, sentence):
    jsonl.write_text(f"{json.dumps(LINES[0])}\n{line}\n", encoding="utf-8")
    (found,) = told(jsonl)
    assert found.startswith(f"questions.jsonl: {place}: {sentence}")


@pytest.mark.parametrize(
    ("ids", "lines"), [(["q1", "q1"], "lines 2 and 3"), (["q1", "q2", "q1", "q1"], "lines 2, 4 and 5")]
)
def test_an_id_that_stands_more_than_once_is_told_with_all_its_lines(csv, ids, lines):
    rows = "".join(f"{name},kell,Who?,x\n" for name in ids)
    csv.write_text(f"id,document,question,answers\n{rows}", encoding="utf-8")
    assert told(csv) == [
        f'questions.csv: {lines}, question "q1": the id stands {ids.count("q1")} times; each must be unique'
    ]


@pytest.mark.parametrize("name", ["questions.csv", "questions.jsonl", "questions.json"])
def test_a_question_that_does_not_say_so_is_answerable_where_it_has_answers(tmp_path, name):
    path = tmp_path / name
    entries = [
        {"id": "q1", "document": "kell", "question": "Who?", "answers": ["Mereth"]},
        {"id": "q2", "document": "kell", "question": "When?", "answers": []},
    ]
    path.write_text(
        {
            ".csv": "id,document,question,answers\nq1,kell,Who?,Mereth\nq2,kell,When?,\n",
            ".jsonl": "\n".join(map(json.dumps, entries)),
            ".json": json.dumps(entries),
        }[path.suffix],
        encoding="utf-8",
    )
    assert [one.answerable for one in read(path)] == [True, False]


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

    def test_a_fault_of_a_question_has_its_line_and_one_of_form_hides_no_other(self, capsys):
        Path("questions.csv").write_text(
            "id,document,question,answers,answerable\n"
            "q1,kell,How many ropes?,214,maybe\n"
            "q2,kel,How many?,214,\n"
            "q3,kell,How many?,215,\n"
            'q2,kell,"How\nmany?",214,\n',
            encoding="utf-8",
        )
        assert main(["corpus", "verify"]) == 2
        assert capsys.readouterr().err.splitlines() == [
            "questions.csv: line 2, column \"answerable\": must be yes or no, or empty, found 'maybe'",
            'questions.csv: lines 3 and 5, question "q2": the id stands 2 times; each must be unique',
            'questions.csv: line 3, question "q2": names the unknown document "kel"; known are tarn-mill, kell',
            (
                'questions.csv: line 4, question "q3": the gold string "215" is not in document "kell"; '
                'copy it from there, or move it to "aliases"'
            ),
        ]

    def test_of_json_lines_too_what_can_be_told_is_told_with_its_line(self, capsys):
        Path("questions.csv").unlink()
        Path("questions.jsonl").write_text(
            '{"id": "q1", "document": "kell", "question": "Who?", "answers": ["215"]}\n\n{"id": "q1"\n',
            encoding="utf-8",
        )
        assert main(["corpus", "verify"]) == 2
        parse, gold = capsys.readouterr().err.splitlines()
        assert parse.startswith("questions.jsonl: line 3, column ")
        assert gold.startswith('questions.jsonl: line 1, question "q1": the gold string "215" is not in')

    def test_what_stands_before_broken_csv_is_told_too(self, capsys):
        Path("questions.csv").write_text(
            'id,document,question,answers\nq1,kell,Who?,215\nq2,kell,"Who?,214\n', encoding="utf-8"
        )
        assert main(["corpus", "verify"]) == 2
        broken, gold = capsys.readouterr().err.splitlines()
        assert broken == "questions.csv: line 3: is not valid CSV: unexpected end of data"
        assert gold.startswith('questions.csv: line 2, question "q1": the gold string "215"')

    @pytest.mark.parametrize(("answers", "form"), [("215", "yes"), ("214", "maybe")])
    def test_more_faults_than_can_be_read_are_counted(self, capsys, answers, form):
        rows = "".join(f"q{number},kell,Who?,{answers},{form}\n" for number in range(1_023))
        Path("questions.csv").write_text(f"id,document,question,answers,answerable\n{rows}", encoding="utf-8")
        assert main(["corpus", "verify"]) == 2
        lines = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("checked")]
        assert lines[0].startswith("questions.csv: line 2")
        assert lines[19].startswith("questions.csv: line 21")
        assert lines[20:] == ["and 1,003 more"]
        with pytest.raises(CorpusError) as caught:
            raise CorpusError(verify.read(Path("corpus"), Path("questions.csv")).unusable())
        assert str(caught.value).split("\n") == lines

    def test_texts_that_are_not_pinned_are_no_fault_and_one_fault_is_one(self, capsys):
        assert main(["corpus", "verify"]) == 0
        out, err = capsys.readouterr()
        assert out.endswith(
            "(2 answerable, 0 unanswerable): no fault; not pinned, which `tokenbench corpus pin` does\n"
        )
        assert not err
        questions_file = Path("questions.csv")
        questions_file.write_text(
            questions_file.read_text(encoding="utf-8").replace("214", "215"), encoding="utf-8"
        )
        assert main(["corpus", "verify"]) == 2
        *faults, summary = capsys.readouterr().err.splitlines()
        assert len(faults) == 1
        assert summary.endswith("(2 answerable, 0 unanswerable): 1 fault")

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
