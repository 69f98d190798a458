"""A small study in a project of its own, a stub server that reads for it, and real pytest runs on both."""

import contextlib
import io
import itertools
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from junitparser import xunit2
from stub_ollama import Request, StubOllama

from pytest_tokenbench.cli import main

MODEL = "smollm2:135m"
ARTICLES = {
    "kell": (
        "Kell is a harbour town known for its two lights and for its rope walk.\n\n"
        "== Lights ==\n\n"
        "The upper light of Kell was built by Jonas Mereth in 1804. It stands 31 metres above the quay. "
        "The lower light of Kell was lit with oil until 1871.\n\n"
        "== Trade ==\n\n"
        "The rope walk of Kell employed 214 people in 1850. Its owner was the Dunmore family.\n"
    ),
    "orrin": (
        "The mill at Orrin ground 1,470 tonnes of barley in 1922. It had four pairs of stones.\n\n"
        "The miller of Orrin was Ada Finch. She sold the mill in 1931 to a brewer from Tarn.\n"
    ),
}
QUESTIONS: list[dict[str, Any]] = [
    {"id": "kell-q01", "question": "Who built the upper light?", "answers": ["Jonas Mereth"], "paragraph": 1},
    {
        "id": "kell-q02",
        "question": "How many people did the rope walk employ?",
        "answers": ["214"],
        "paragraph": 2,
    },
    {"id": "kell-q03", "question": "What was the mayor of Kell called?", "answers": []},
    {
        "id": "orrin-q01",
        "question": "How much barley was ground?",
        "answers": ["1,470 tonnes"],
        "paragraph": 0,
    },
    {"id": "orrin-q02", "question": "Who was the miller?", "answers": ["Ada Finch"], "paragraph": 1},
    {"id": "orrin-q03", "question": "How many horses did the mill have?", "answers": []},
]
STUDY = '''\
"""What the tests run."""

from pytest_tokenbench import Study
from pytest_tokenbench.conditions import Chunks, Croutons, FullText, Summary

study = Study(
    "small",
    questions="questions.json",
    corpus="corpus",
    conditions=[
        FullText("A"),
        Chunks("B2", top=1, words=20),
        Summary("C", max_words=30),
        Croutons("D10", top=1),
        Croutons("D25", top=3),
        Croutons("Dall"),
    ],
    baseline="A",
)


@study.trials
def test_small(trial):
    trial.ask()
'''
PASSING = '''

@study.hypothesis("H1")
def h1(results):
    """D25 uses at least 10% fewer input tokens per question than A."""
    assert results.reduction("input_tokens", "D25", versus="A").estimate >= 0.10


@study.hypothesis("H3")
def h3(results):
    """D25 makes up answers on unanswerable questions no more often than B2."""
    assert results.estimate("made_up", "D25").estimate <= results.estimate("made_up", "B2").estimate
'''
FAILING = '''

@study.hypothesis("H2")
def h2(results):
    """C is as accurate
    as A.

    Only the first paragraph is the statement.
    """
    difference = results.difference("accuracy", "C", versus="A")
    assert difference.estimate >= 0, "a summary loses too much"
'''
COLD = '''

@study.hypothesis("H4")
def h4(results):
    """D25 is read faster than A."""
    assert results.difference("prefill_s", "D25", versus="A").high < 0
'''
BROKEN = '''

@study.hypothesis("H5")
def h5(results):
    """This one has a mistake in it."""
    assert results.estimate("accuracy", "D25").estimate / 0 > 1
'''
EVERY = STUDY + PASSING + FAILING + COLD + BROKEN
IDS = ["A", "B2", "C", "D10", "D25", "Dall"]


class Reader:
    """Answers right if and only if the gold string stands in the prompt, and abstains otherwise.

    Rewrites a text into its sentences, and summarises it by the first sentence. `says` has other replies for prompts
    in which all words of a key stand.
    """

    def __init__(self, says: Mapping[tuple[str, ...], str] | None = None) -> None:
        self.says = dict(says or {})
        self._golds = {one["question"]: one["answers"] for one in QUESTIONS}

    def __call__(self, prompt: str) -> str:
        for words, reply in self.says.items():
            if all(word in prompt for word in words):
                return reply
        text = re.split(r"\n\n(?:Rewrite the text|Write a summary)", prompt.removeprefix("Text:\n"))[0]
        sentences = re.findall(r"[A-Z][^.]*\.", text)
        if "\n\nRewrite the text above" in prompt:
            return "\n".join(sentences)
        if "\n\nWrite a summary" in prompt:
            return sentences[0]
        context, _, question = prompt.rpartition("\n\nQuestion: ")
        golds = self._golds[question]
        return golds[0] if golds and golds[0] in context else "not stated"


class Server(StubOllama):
    """The stub with a reader; `breaks` are words of prompts at which the model dies, `uncounted` hides all counts."""

    def __init__(
        self, reader: Callable[[str], str] | None = None, *, breaks: tuple[str, ...] = (), **given: Any
    ) -> None:
        given.setdefault("faults", ())
        super().__init__(answer=reader or Reader(), **given)
        self.breaks = breaks

    def reply(self, request: Request) -> tuple[int, Any, str | None]:
        made = super().reply(request)
        messages = request.body.get("messages")
        if self.breaks and messages and all(word in messages[-1]["content"] for word in self.breaks):
            return 500, {"error": "model runner has unexpectedly stopped"}, None
        return made

    @property
    def preparations(self) -> int:
        """How many chats asked for a summary or croutons."""
        return sum(chat["messages"][-1]["content"].startswith("Text:\n") for chat in self.chats)


class Ran:
    """What a pytest run left behind: exit status, output, and in the project's folder all else."""

    def __init__(self, status: int, text: str, path: Path) -> None:
        self.status = status
        self.text = text
        self.path = path
        self.lines = text.splitlines()

    def has(self, *patterns: str) -> None:
        """Asserts that lines match these patterns, in this order."""
        pytest.LineMatcher(self.lines).fnmatch_lines(list(patterns))

    def lacks(self, *patterns: str) -> None:
        """Asserts that no line matches any of these patterns."""
        for pattern in patterns:
            pytest.LineMatcher(self.lines).no_fnmatch_line(pattern)

    def count(self, text: str) -> int:
        """How often a text stands in the output, whatever line breaks and indents lie in it."""
        return " ".join(self.text.split()).count(" ".join(text.split()))

    def letters(self) -> str:
        """The letters of the progress lines, as they came."""
        found = [re.match(r"(?:\S+\.py )?([.\w]+) *(?:\[ *\d+%\])?$", line) for line in self.lines]
        return "".join(match[1] for match in found if match)

    @property
    def narrow(self) -> list[str]:
        """All lines but pytest's own on the JUnit file, which is as long as its path."""
        return [line for line in self.lines if "- generated xml file: " not in line]

    @property
    def summary(self) -> list[str]:
        """The lines of the plugin's own section."""
        lines = self.narrow
        start = next(
            place for place, line in enumerate(lines) if re.match(r"=+ tokenbench( QUICK)? =+$", line)
        )
        return list(itertools.takewhile(lambda line: not re.match("[-=]{10}", line), lines[start + 1 :]))

    @property
    def folders(self) -> list[Path]:
        """Every run folder of the project, oldest first."""
        return sorted(self.path.glob("reports/*/*"))

    @property
    def folder(self) -> Path:
        """The only run folder, or else the newest."""
        return self.folders[-1]

    def file(self, name: str) -> Any:
        """What a file of the run folder holds: JSON, a list of JSON lines, or else text."""
        text = (self.folder / name).read_text(encoding="utf-8")
        if name.endswith(".jsonl"):
            return [json.loads(line) for line in text.split("\n") if line]
        return json.loads(text) if name.endswith(".json") else text

    @property
    def observations(self) -> dict[str, Any]:
        """The observations of the run folder by condition and question."""
        return {f"{one['condition']}-{one['question']}": one for one in self.file("observations.jsonl")}

    @property
    def verdicts(self) -> dict[str, str]:
        """The rulings in run.json."""
        return {one["hypothesis"]: one["ruling"] for one in self.file("run.json")["verdicts"]}

    @property
    def junit(self) -> xunit2.JUnitXml:
        """The JUnit file; of junitparser's two flavours the one that reads properties of testcases, too."""
        return xunit2.JUnitXml.fromfile(str(self.path / "junit.xml"))

    @property
    def cases(self) -> dict[str, xunit2.TestCase]:
        """The testcases of the JUnit file by name."""
        return {case.name: case for suite in self.junit for case in suite}


class Project:
    """A folder with a pinned corpus, questions and a study, as a user has it.

    Projects that share the folder `compiled` spare each other's runs the compiling of every module.
    """

    def __init__(
        self, path: Path, *, study: str = STUDY, ini: str = "", compiled: Path | None = None
    ) -> None:
        self.path = path
        self._compiled = compiled or path.parent / "compiled"
        self.write(
            "pytest.ini", "[pytest]\n" + ("" if "tokenbench_html" in ini else "tokenbench_html = off\n") + ini
        )
        for name, text in ARTICLES.items():
            self.write(f"corpus/articles/{name}.txt", text)
        self.write("corpus/manifest.json", json.dumps({"documents": [_entry(name) for name in ARTICLES]}))
        self.write_questions(QUESTIONS)
        self.write("test_small.py", study)
        self.pin()

    def write(self, name: str, text: str) -> Path:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def write_questions(self, questions: list[dict[str, Any]]) -> None:
        self.write("questions.json", json.dumps([_question(one) for one in questions], ensure_ascii=False))

    def pin(self) -> None:
        where = ["--corpus", str(self.path / "corpus"), "--questions", str(self.path / "questions.json")]
        with contextlib.redirect_stdout(io.StringIO()):
            assert main(["corpus", "pin", *where]) == 0

    def start(
        self, *arguments: str, server: StubOllama | None = None, columns: int = 80, **environment: str
    ) -> subprocess.Popen[str]:
        """Starts pytest in the project, in a terminal of `columns` columns, with the stub's model where one is given.

        Of the development environment's other plugins only xdist is there: each costs every run up to a second.
        """
        model = [f"--tokenbench-model={MODEL}"] if server else []
        quiet = [f"-pno:{name}" for name in ("cacheprovider", "hypothesispytest", "anyio")]
        return subprocess.Popen(
            [sys.executable, "-m", "pytest", *quiet, "--junitxml=junit.xml", *model, *arguments],
            cwd=self.path,
            env=self._environment(server, columns) | environment,
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
        )

    def run(
        self, *arguments: str, server: StubOllama | None = None, columns: int = 80, **environment: str
    ) -> Ran:
        """Runs pytest in the project to its end; see `start`."""
        return self.ended(self.start(*arguments, server=server, columns=columns, **environment))

    def ended(self, process: subprocess.Popen[str]) -> Ran:
        """Waits for a run's end."""
        text, _ = process.communicate(timeout=120)
        sys.stdout.write(text)
        return Ran(process.returncode, text, self.path)

    def _environment(self, server: StubOllama | None, columns: int) -> dict[str, str]:
        """The environment, without what would change a run's looks or place: pytest's own, CI's, colours, git's."""
        strange = re.compile(r"PYTEST|OLLAMA|^CI$|^BUILD_NUMBER$|COLOR|^COV|^GIT_")
        kept = {name: value for name, value in os.environ.items() if not strange.search(name)}
        kept |= {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(self._compiled)}
        kept |= {
            "TOKENBENCH_BACKOFF": "0.01",
            "COLUMNS": str(columns),
            "GIT_CEILING_DIRECTORIES": str(self.path.parent),
        }
        return kept | ({"OLLAMA_HOST": server.url} if server else {})


def _entry(name: str) -> dict[str, Any]:
    return {
        "id": name,
        "title": name.title(),
        "file": f"articles/{name}.txt",
        "words": 1,
        "sha256": "0" * 64,
        "licence": "CC0-1.0",
        "source": {"kind": "original"},
    }


def _question(one: dict[str, Any]) -> dict[str, Any]:
    return {"document": one["id"].partition("-")[0], "answerable": bool(one["answers"])} | one
