import json
import os
import subprocess
from pathlib import Path

import pytest

from pytest_tokenbench.cli import main
from pytest_tokenbench.corpus import schema


def faults(workspace, capsys) -> list[str]:
    """The lines that `tokenbench corpus verify` prints, after the check that it ended with status 2."""
    assert workspace.run("verify") == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    *lines, summary = printed.err.strip().splitlines()
    assert "Traceback" not in printed.err
    return lines if summary.startswith("checked") else [*lines, summary]


def test_sound_material_says_what_was_checked(workspace, capsys):
    assert workspace.run("verify") == 0
    assert capsys.readouterr().out == (
        "checked 2 documents, 56 words, 3 questions (2 answerable, 1 unanswerable): no fault\n"
    )


def test_texts_beside_the_documents_are_named_and_no_fault(workspace, capsys):
    for name in ("new\x1b.md", "protocol-2024.txt", "README.txt", "notes.csv", ".hidden.txt"):
        (workspace.corpus / "articles" / name).write_text("A mill stood here.\n", encoding="utf-8")
    assert workspace.run("verify") == 0
    sentence = "is no document of this corpus; `tokenbench corpus add` makes it one"
    assert capsys.readouterr().out.splitlines()[1:] == [
        f"corpus/articles/new\\x1b.md: {sentence}",
        f"corpus/articles/protocol-2024.txt: {sentence}",
    ]


def test_shipped_material_is_sound_and_says_what_was_checked(repository, capsys, monkeypatch):
    monkeypatch.chdir(repository)
    assert main(["corpus", "verify"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("checked 10 documents, 6")
    assert "100 questions (80 answerable, 20 unanswerable): no fault" in out


def test_sha256sum_accepts_the_shipped_sums_from_the_repository_root(repository):
    done = subprocess.run(
        ["sha256sum", "-c", "corpus/SHA256SUMS"], cwd=repository, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(": OK") == 12


def test_sha256sum_accepts_the_sums_that_pin_writes(workspace):
    command = ["sha256sum", "-c", "corpus/SHA256SUMS"]
    assert subprocess.run(command, cwd=workspace.folder, capture_output=True, check=False).returncode == 0


def test_invalid_json_names_line_and_column(workspace, capsys):
    workspace.questions.write_text('[\n  {"id" "a"}\n]', encoding="utf-8")
    assert faults(workspace, capsys) == [
        "questions.json: line 2, column 9: is not valid JSON: Expecting ':' delimiter"
    ]


def test_half_a_character_is_told(workspace, capsys):
    workspace.questions.write_text('[{"id": "a", "question": "\\ud800 what"}]', encoding="utf-8")
    assert faults(workspace, capsys) == [
        "questions.json: has \\ud800, which is half a character; write the whole one"
    ]


def test_every_missing_key_is_named(workspace, capsys):
    workspace.write_manifest([{"id": "brack", "title": "Brack", "file": "articles/brack.txt"}])
    assert [line for line in faults(workspace, capsys) if "missing" in line] == [
        f'corpus/manifest.json: document "brack": the key "{key}" is missing'
        for key in ("words", "sha256", "licence", "source")
    ]


def test_pin_fills_in_words_and_hashes_that_are_not_there(workspace, capsys):
    bare = [workspace.entry("brack"), workspace.entry("orrin")]
    for entry in bare:
        del entry["words"], entry["sha256"]
    workspace.write_manifest(bare)
    assert workspace.run("pin") == 0
    assert workspace.run("verify") == 0
    assert "2 documents, 56 words" in capsys.readouterr().out


def test_faults_of_both_files_are_told_in_one_go(workspace, capsys):
    workspace.questions.write_text("[", encoding="utf-8")
    workspace.manifest.write_text("{", encoding="utf-8")
    found = faults(workspace, capsys)
    assert [line.split(":")[0] for line in found] == ["corpus/manifest.json", "questions.json"]


def test_key_that_stands_twice_is_a_fault(workspace, capsys):
    text = workspace.questions.read_text(encoding="utf-8")
    workspace.questions.write_text(
        text.replace('"answerable": true', '"answerable": true, "answerable": false', 1), encoding="utf-8"
    )
    assert faults(workspace, capsys) == [
        'questions.json: the key "answerable" stands twice in the object with id "brack-q01"; keep one'
    ]


@pytest.mark.parametrize("which", ["questions", "manifest"])
def test_byte_order_mark_is_named(workspace, capsys, which):
    path = getattr(workspace, which)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    (line, *_) = faults(workspace, capsys)
    assert line.endswith(f"{path.name}: starts with a byte-order mark; save it as UTF-8 without one")


def test_latin_1_bytes_are_named_with_their_line(workspace, capsys):
    workspace.article("brack").write_bytes("Brack.\n\nThe café at the quay.\n".encode("latin-1"))
    (line, *_) = faults(workspace, capsys)
    assert line == (
        "corpus/articles/brack.txt: line 3: byte 0xe9 is not UTF-8 (Latin-1 or Windows-1252?); "
        "save the file as UTF-8"
    )


def test_crlf_line_ends_are_named_with_their_line(workspace, capsys):
    path = workspace.article("brack")
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    (line, *_) = faults(workspace, capsys)
    assert line == "corpus/articles/brack.txt: line 1: has CR or CRLF line ends; convert them to LF"


def test_decomposed_text_is_named_with_its_line(workspace, capsys):
    workspace.article("brack").write_text("One.\n\nThe cafe\u0301.\n", encoding="utf-8")
    (line, *_) = faults(workspace, capsys)
    assert line == "corpus/articles/brack.txt: line 3: is not in Unicode NFC; normalise the file"


def test_unreadable_document_does_not_blame_its_questions(workspace, capsys):
    workspace.article("brack").write_bytes(b"\xff")
    assert not [line for line in faults(workspace, capsys) if "brack-q01" in line]


def test_duplicate_ids_are_named(workspace, capsys):
    workspace.change_question(id="orrin-q01")
    assert faults(workspace, capsys)[0] == (
        'questions.json: question "orrin-q01": the id stands 2 times; each must be unique'
    )


def test_fault_of_form_of_one_question_hides_no_fault_of_another(workspace, capsys):
    questions = json.loads(workspace.questions.read_text(encoding="utf-8"))
    workspace.write_questions(
        {"questions": [questions[0] | {"answers": "x"}, questions[1] | {"document": "brock"}, questions[2]]}
    )
    assert faults(workspace, capsys) == [
        'questions.json: question "brack-q01": key "answers" must be a list, found "x"',
        'questions.json: question "orrin-q01": names the unknown document "brock"; known are brack, orrin',
    ]


def test_fault_beside_the_questions_is_told_with_theirs(workspace, capsys):
    questions = json.loads(workspace.questions.read_text(encoding="utf-8"))
    workspace.write_questions({"sampling": {}, "questions": [questions[0] | {"answers": "x"}]})
    found = faults(workspace, capsys)
    assert 'questions.json: the key "seed" is missing in "sampling"' in found
    assert 'questions.json: question "brack-q01": key "answers" must be a list, found "x"' in found


def test_unknown_document_is_named_with_the_known_ones(workspace, capsys):
    workspace.change_question(document="brock")
    assert faults(workspace, capsys)[0] == (
        'questions.json: question "brack-q01": names the unknown document "brock"; known are brack, orrin'
    )


def test_gold_string_outside_its_paragraph_is_named(workspace, capsys):
    workspace.change_question(answers=["Jonas Mereth & 1805"])
    assert faults(workspace, capsys)[0] == (
        'questions.json: question "brack-q01": the gold string "1805" is not in paragraph 1; '
        'copy it from there, or move it to "aliases"'
    )


def test_gold_string_must_match_whole_tokens(workspace, capsys):
    workspace.change_question(answers=["180"])
    assert "not in paragraph 1" in faults(workspace, capsys)[0]


def test_gold_string_with_an_empty_part_is_named(workspace, capsys):
    workspace.change_question(answers=["Jonas Mereth &"])
    assert faults(workspace, capsys)[0] == (
        'questions.json: question "brack-q01": the gold string "Jonas Mereth &" has an empty part; '
        '"&" only separates two parts'
    )


def test_alias_need_not_stand_in_the_paragraph(workspace):
    workspace.change_question(aliases=["J. Mereth"])
    assert workspace.run("pin") == 0
    assert workspace.run("verify") == 0


def test_empty_answers_of_an_answerable_question_are_named(workspace, capsys):
    workspace.change_question(answers=[])
    assert faults(workspace, capsys) == [
        'questions.json: question "brack-q01": key "answers" must not be empty'
    ]


def test_every_schema_fault_of_a_file_is_told_in_one_go(workspace, capsys):
    workspace.write_questions(
        [
            {"id": "a b", "document": "brack", "question": "", "answers": "x", "answerable": "yes"},
            {"id": "c", "document": "brack", "answers": ["x"], "answer": 1},
        ]
    )
    found = faults(workspace, capsys)
    assert 'questions.json: question "a b": key "question" must not be empty' in found
    assert 'questions.json: question "a b": key "answers" must be a list, found "x"' in found
    assert 'questions.json: question "a b": key "answerable" must be true or false, found "yes"' in found
    assert 'questions.json: question "c": the key "question" is missing' in found
    assert len(found) == 6, "and nothing that follows from another"
    assert any('question "a b": key "id" has a form that is not allowed' in line for line in found)
    assert any('question "c": unknown key "answer"; known are id, document' in line for line in found)


def test_paragraph_out_of_range_is_named(workspace, capsys):
    workspace.change_question(paragraph=2)
    assert faults(workspace, capsys)[0] == (
        'questions.json: question "brack-q01": paragraph 2 is out of range; document "brack" has 0 to 1'
    )


def test_checked_term_that_does_stand_in_the_document_is_named(workspace, capsys):
    questions = json.loads(workspace.questions.read_text(encoding="utf-8"))
    questions[2]["checked_terms"] = ["wheat", "Barley"]
    workspace.write_questions(questions)
    assert faults(workspace, capsys)[0] == (
        'questions.json: question "orrin-q02": the checked term "Barley" does stand in document "orrin"'
    )


SECRET = "never to be read 4711"


@pytest.mark.parametrize(
    ("file", "sentence"),
    [
        ("/etc/hostname", "is absolute or no plain path"),
        ("../secret.txt", "climbs out of corpus/"),
        ("articles/../../secret.txt", "climbs out of corpus/"),
        ("..\\secret.txt", "is absolute or no plain path"),
        ("link.txt", "is a symbolic link out of corpus/"),
        ("linked/secret.txt", "is a symbolic link out of corpus/"),
        ("articles/gone.txt", "is missing from corpus/"),
        ("articles", "is not a regular file"),
    ],
)
def test_path_that_leads_out_of_the_corpus_is_refused_unread(workspace, capsys, monkeypatch, file, sentence):
    (workspace.folder / "secret.txt").write_text(SECRET, encoding="utf-8")
    (workspace.corpus / "link.txt").symlink_to(workspace.folder / "secret.txt")
    (workspace.corpus / "linked").symlink_to(workspace.folder)
    workspace.change_document(file=file)
    opened = []
    read = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: opened.append(path.resolve()) or read(path))
    found = faults(workspace, capsys)
    assert found[0].startswith('corpus/manifest.json: document "brack": ')
    assert sentence in found[0]
    allowed = {workspace.corpus.resolve(), workspace.questions.resolve()}
    assert all(path in allowed or path.is_relative_to(workspace.corpus.resolve()) for path in opened)


def test_manifest_that_is_a_link_out_of_the_corpus_is_refused(workspace, capsys):
    outside = workspace.folder / "manifest.json"
    workspace.manifest.rename(outside)
    workspace.manifest.symlink_to(outside)
    assert faults(workspace, capsys) == [
        'corpus/manifest.json: "manifest.json" is a symbolic link out of corpus/; copy the file inside'
    ]


def test_changed_document_is_named_by_manifest_and_sums(workspace, capsys):
    workspace.article("orrin").write_text("The mill ground 1,470 tonnes.\n", encoding="utf-8")
    found = faults(workspace, capsys)
    assert any(
        line.startswith('corpus/manifest.json: document "orrin": its file articles/orrin.txt has changed')
        for line in found
    )
    assert any("words is 16, its file has 5; run `tokenbench corpus pin`" in line for line in found)
    assert any(line.startswith("corpus/SHA256SUMS: corpus/articles/orrin.txt has changed") for line in found)


def test_changed_questions_are_named_by_the_sums(workspace, capsys):
    workspace.change_question(question="Who built it, and when?")
    (line,) = faults(workspace, capsys)
    assert line.startswith("corpus/SHA256SUMS: questions.json has changed: SHA-256 is ")


def test_faulty_sums_file_is_described_line_by_line(workspace, capsys):
    sums = workspace.corpus / "SHA256SUMS"
    lines = sums.read_text(encoding="utf-8").splitlines()
    sums.write_text(
        "\n".join(["nonsense", *lines[1:], "0" * 64 + "  ../../etc/passwd"]) + "\n", encoding="utf-8"
    )
    found = faults(workspace, capsys)
    assert (
        "corpus/SHA256SUMS: line 1: is not a checksum line (64 hexadecimal digits, two spaces, a path)"
        in found
    )
    assert (
        "corpus/SHA256SUMS: questions.json is not listed; run `tokenbench corpus pin` to record it" in found
    )
    assert (
        "corpus/SHA256SUMS: lists ../../etc/passwd, which is no file of this corpus; remove the line" in found
    )


def test_missing_sums_file_is_named(workspace, capsys):
    (workspace.corpus / "SHA256SUMS").unlink()
    assert faults(workspace, capsys) == [
        'corpus/SHA256SUMS: the file "SHA256SUMS" is missing from corpus/; run `tokenbench corpus pin` to make it'
    ]


@pytest.mark.parametrize("which", ["questions", "manifest"])
def test_missing_file_is_named(workspace, capsys, which):
    path = getattr(workspace, which)
    path.unlink()
    (line,) = faults(workspace, capsys)
    assert path.name in line
    assert "missing" in line


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_named_pipe_is_refused_without_hanging(workspace, capsys):
    workspace.questions.unlink()
    os.mkfifo(workspace.questions)
    assert faults(workspace, capsys) == ["questions.json: this is not a regular file"]


def test_document_not_ending_at_the_cut_is_named(workspace, capsys):
    value = json.loads(workspace.manifest.read_text(encoding="utf-8"))
    value["cut"] = {"max_words": 5, "rule": "first paragraph boundary after"}
    workspace.manifest.write_text(json.dumps(value), encoding="utf-8")
    found = faults(workspace, capsys)
    assert any(
        "brack.txt: does not end at the first paragraph boundary after 5 words" in line for line in found
    )
    assert not any("orrin.txt: does not end" in line for line in found)


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ({"kind": "wikipedia", "title": "Oslo"}, 'the key "revision" is missing in "source"'),
        ({"kind": "book"}, 'key "kind" must be "original" or "wikipedia", found "book"'),
        ({"kind": "original", "url": "https://example.org"}, 'unknown key "url"; known are kind'),
    ],
)
def test_source_must_be_one_of_the_tagged_kinds(workspace, capsys, source, sentence):
    workspace.change_document(source=source)
    assert f'corpus/manifest.json: document "brack": {sentence}' in faults(workspace, capsys)


def test_wikipedia_source_is_accepted(workspace):
    source = {
        "kind": "wikipedia",
        "title": "Oslo",
        "revision": 12,
        "url": "https://en.wikipedia.org/wiki/Oslo",
    }
    workspace.change_document(source=source)
    assert workspace.run("pin") == 0
    assert workspace.run("verify") == 0


def test_schema_beside_the_questions_is_the_one_that_is_checked(repository):
    beside = (repository / "questions.schema.json").read_text(encoding="utf-8")
    assert beside == schema.schema_text("questions.schema.json")
