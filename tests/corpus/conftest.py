import json
from pathlib import Path
from typing import Any

import pytest

from pytest_tokenbench.cli import main

HARBOUR = (
    "Brack is a harbour of the Lene estuary, known for its two lights.\n\n"
    "== Lights ==\n\n"
    "The upper light was built by Jonas Mereth in 1804 and stands 31 metres above the quay. "
    "It was lit with oil until 1871.\n"
)
MILL = "The mill at Orrin ground 1,470 tonnes of barley in 1922, all except the seed corn.\n"


class Workspace:
    """A small sound corpus that a test then damages."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.corpus = folder / "corpus"
        self.questions = folder / "questions.json"
        self.manifest = self.corpus / "manifest.json"
        (self.corpus / "articles").mkdir(parents=True)
        self.article("brack").write_text(HARBOUR, encoding="utf-8")
        self.article("orrin").write_text(MILL, encoding="utf-8")
        self.write_manifest([self.entry("brack"), self.entry("orrin")])
        self.write_questions(
            [
                self.question("brack-q01", "brack", ["Jonas Mereth & 1804"], paragraph=1),
                self.question("orrin-q01", "orrin", ["1,470 tonnes"], paragraph=0),
                {
                    **self.question("orrin-q02", "orrin", [], paragraph=None),
                    "answerable": False,
                    "checked_terms": ["wheat"],
                },
            ]
        )
        assert self.run("pin") == 0

    def article(self, name: str) -> Path:
        return self.corpus / "articles" / f"{name}.txt"

    @staticmethod
    def entry(name: str) -> dict[str, Any]:
        return {
            "id": name,
            "title": name.title(),
            "file": f"articles/{name}.txt",
            "words": 1,
            "sha256": "0" * 64,
            "licence": "CC0-1.0",
            "source": {"kind": "original"},
        }

    @staticmethod
    def question(name: str, document: str, answers: list[str], paragraph: int | None) -> dict[str, Any]:
        return {
            "id": name,
            "document": document,
            "question": "Who, when or how much?",
            "answers": answers,
            "answerable": True,
            "paragraph": paragraph,
            "slices": {"kind": "who"},
        }

    def write_manifest(self, entries: list[dict[str, Any]]) -> None:
        self.manifest.write_text(json.dumps({"documents": entries}), encoding="utf-8")

    def write_questions(self, questions: Any) -> None:
        self.questions.write_text(json.dumps(questions, ensure_ascii=False), encoding="utf-8")

    def change_question(self, **changes: Any) -> None:
        questions = json.loads(self.questions.read_text(encoding="utf-8"))
        self.write_questions([{**questions[0], **changes}, *questions[1:]])

    def change_document(self, **changes: Any) -> None:
        entries = json.loads(self.manifest.read_text(encoding="utf-8"))["documents"]
        self.write_manifest([{**entries[0], **changes}, *entries[1:]])

    def run(self, *command: str) -> int:
        return main(["corpus", *command, "--corpus", str(self.corpus), "--questions", str(self.questions)])


@pytest.fixture
def workspace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Workspace:
    made = Workspace(tmp_path / "study")
    capsys.readouterr()
    return made
