"""Material from somebody else: it reads and writes nothing outside its folder, and steers no terminal."""

import json

import pytest

CONTROL = "\x1b]0;owned\x07\x9b31m\u202e"
FORBIDDEN = set(CONTROL) - set("]0;owned31m")


def told(workspace, capsys, command: str = "verify") -> str:
    assert workspace.run(command) == 2
    printed = capsys.readouterr()
    assert not printed.out
    return printed.err


def test_sums_that_are_a_link_out_of_the_corpus_forbid_a_run(workspace, capsys, tmp_path):
    outside = tmp_path / "outside.txt"
    outside.write_text("mine\n", encoding="utf-8")
    sums = workspace.corpus / "SHA256SUMS"
    sums.unlink()
    sums.symlink_to(outside)

    found = told(workspace, capsys)

    assert found.startswith(
        'corpus/SHA256SUMS: "SHA256SUMS" is a symbolic link out of corpus/; copy the file inside\n'
    )
    assert "mine" not in found


@pytest.mark.parametrize("is_there", [True, False])
def test_pinning_writes_through_no_link(workspace, tmp_path, is_there):
    outside = tmp_path / "outside.txt"
    if is_there:
        outside.write_text("mine\n", encoding="utf-8")
    sums = workspace.corpus / "SHA256SUMS"
    was = sums.read_bytes()
    sums.unlink()
    sums.symlink_to(outside)

    assert workspace.run("pin") == 0

    assert sums.read_bytes() == was
    assert not sums.is_symlink()
    assert outside.exists() == is_there
    assert not is_there or outside.read_text(encoding="utf-8") == "mine\n"


def test_pinning_changes_no_file_that_shares_the_manifests_bytes(workspace, tmp_path):
    outside = tmp_path / "outside.json"
    outside.hardlink_to(workspace.manifest)
    before = outside.read_bytes()
    workspace.article("orrin").write_text("The mill at Orrin ground 1,470 tonnes.\n", encoding="utf-8")

    assert workspace.run("pin") == 0

    assert outside.read_bytes() == before
    assert workspace.manifest.read_bytes() != before


@pytest.mark.parametrize("file", ["../secret.txt", "/etc/hostname", "a/../../secret.txt", "..\\secret.txt"])
def test_pinning_reads_nothing_outside(workspace, capsys, file):
    (workspace.folder / "secret.txt").write_text("secret\n", encoding="utf-8")
    workspace.change_document(file=file)
    before = workspace.manifest.read_bytes()

    assert "secret\n" not in told(workspace, capsys, "pin")

    assert workspace.manifest.read_bytes() == before


@pytest.mark.parametrize("name", ["a/b", "../a", "/a", "a b", "a\n", "a\x1b[31m", ".", "", "a\u202e", "é"])
@pytest.mark.parametrize("kind", ["question", "document"])
def test_ids_that_could_be_paths_or_steer_a_terminal_are_refused(workspace, capsys, kind, name):
    (workspace.change_question if kind == "question" else workspace.change_document)(id=name)

    assert 'key "id" has a form that is not allowed' in told(workspace, capsys)


def strange_key(workspace) -> None:
    workspace.change_question(**{CONTROL: 1})


def strange_key_twice(workspace) -> None:
    name = json.dumps(CONTROL)
    workspace.questions.write_text(f"[{{{name}: 1, {name}: 2}}]", encoding="utf-8")


def strange_answer(workspace) -> None:
    workspace.change_question(answers=[CONTROL])


def strange_document(workspace) -> None:
    workspace.change_question(document=CONTROL)


def strange_file(workspace) -> None:
    workspace.change_document(file=CONTROL)


def strange_sums(workspace) -> None:
    sums = workspace.corpus / "SHA256SUMS"
    sums.write_text(sums.read_text(encoding="utf-8") + "0" * 64 + f"  {CONTROL}\n", encoding="utf-8")


@pytest.mark.parametrize(
    "spoil",
    [strange_key, strange_key_twice, strange_answer, strange_document, strange_file, strange_sums],
)
def test_no_fault_hands_control_characters_to_the_terminal(workspace, capsys, spoil):
    spoil(workspace)

    found = told(workspace, capsys)

    assert not FORBIDDEN & set(found)
    assert "owned" in found


@pytest.mark.parametrize(
    ("file", "reason"),
    [("a\0b.txt", "embedded null byte"), ("a" * 300 + ".txt", "File name too long"), ("loop.txt", "")],
    ids=["null", "long", "loop"],
)
@pytest.mark.parametrize("command", ["verify", "pin"])
def test_a_path_that_can_lead_to_no_file_is_one_sentence(workspace, capsys, file, reason, command):
    (workspace.corpus / "loop.txt").symlink_to("loop.txt")
    workspace.change_document(file=file)

    found = told(workspace, capsys, command)

    (line,) = [line for line in found.splitlines() if 'document "brack"' in line]
    assert line.startswith('corpus/manifest.json: document "brack": ')
    assert reason in line
    assert line.isprintable()


def test_an_original_that_can_be_no_file_is_one_sentence(workspace, capsys):
    made_from = {"file": "a" * 300 + ".pdf", "sha256": "0" * 64, "converter": "by hand"}
    workspace.change_document(converted=made_from)

    (line,) = [line for line in told(workspace, capsys).splitlines() if "leads to no file" in line]

    assert line.startswith('corpus/manifest.json: document "brack": ')


def change_cut(workspace) -> None:
    value = json.loads(workspace.manifest.read_text(encoding="utf-8"))
    workspace.manifest.write_text(json.dumps(value | {"cut": {"rule": "x", "max_words": 20.0}}))


def change_sampling(workspace, **changes) -> None:
    record = {"seed": 1, "per_document": 1, "min_words": 1, "drawn": {"brack": [0]}} | changes
    items = json.loads(workspace.questions.read_text(encoding="utf-8"))
    workspace.write_questions({"sampling": record, "questions": items})


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            lambda one: one.change_question(paragraph=1.0),
            'key "paragraph" must be a whole number or null, found 1.0',
        ),
        (change_cut, 'key "max_words" must be a whole number, found 20.0'),
        (lambda one: change_sampling(one, seed=1.0), 'key "seed" must be a whole number, found 1.0'),
        (lambda one: change_sampling(one, per_document=1.0), 'key "per_document" must be a whole number'),
        (lambda one: change_sampling(one, min_words=1.0), 'key "min_words" must be a whole number'),
        (lambda one: change_sampling(one, drawn={"brack": [0.0]}), "must be a whole number, found 0.0"),
        (lambda one: one.change_document(words=20.0), 'key "words" must be a whole number, found 20.0'),
    ],
)
def test_a_number_with_a_point_is_no_whole_number(workspace, capsys, change, says):
    change(workspace)

    assert says in told(workspace, capsys)
