"""The declaration of a study: what its author writes in one pytest file."""

import ast
import inspect
import re
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from pytest_tokenbench.conditions.base import Condition
from pytest_tokenbench.corpus import manifest, sums, verify
from pytest_tokenbench.corpus.faults import CorpusError
from pytest_tokenbench.marker import ATTRIBUTE
from pytest_tokenbench.material import Find, Material
from pytest_tokenbench.quick import quick_look
from pytest_tokenbench.records import Decision
from pytest_tokenbench.settings import ALL_STUDIES

if TYPE_CHECKING:
    from pytest_tokenbench.results import Results

# As of questions' ids: both stand in test ids.
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_SIGNS = "letters of English, digits, '.', '_' and '-'"

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A named assertion over the results; the first paragraph of its docstring is its statement."""

    name: str
    function: "Callable[[Results], None]"

    @property
    def statement(self) -> str:
        """The hypothesis in words, on one line."""
        paragraph = (inspect.getdoc(self.function) or "").split("\n\n")[0]
        return " ".join(paragraph.split())


class Study:
    """One pre-registered experiment over documents.

    Args:
        name: Names the study in reports and run folders.
        questions: Path of the questions file, looked up from the study file's folder upwards to pytest's rootdir.
        corpus: Path of the corpus folder, looked up likewise.
        conditions: The ways of giving a document that are compared, in the order of the tables.
        baseline: Id of the condition that the others are compared with.
        opt_in: Whether `pytest` on a folder leaves the study out unless its file or --tokenbench-study names it.

    Declaring never raises: `faults` tells what is wrong, and pytest reports it as a usage error.
    """

    prompt = "answer"

    def __init__(
        self,
        name: str,
        *,
        questions: str,
        corpus: str,
        conditions: Sequence[Condition],
        baseline: str,
        opt_in: bool = False,
    ) -> None:
        self.name = name
        self.questions = questions
        self.corpus = corpus
        self.conditions = tuple(conditions)
        self.baseline = baseline
        self.opt_in = opt_in
        self.hypotheses: list[Hypothesis] = []
        self._functions: dict[str, None] = {}
        self._line = _author_line()

    def trials(self, function: Function) -> Function:
        """Decorates the test function that is run once per trial; it takes the fixture `trial`."""
        setattr(function, ATTRIBUTE, self)
        self._functions[function.__qualname__] = None
        return function

    def hypothesis(self, name: str) -> Callable[[Function], Function]:
        """Decorates a function of `results` that asserts one hypothesis; it runs when the last trial is in."""

        def register(function: Function) -> Function:
            self.hypotheses.append(Hypothesis(name, function))
            # A hypothesis named test_... must not be collected as a test of its own.
            function.__test__ = False  # type: ignore[attr-defined]
            return function

        return register

    @property
    def has_trials(self) -> bool:
        """Whether a test function runs its trials."""
        return bool(self._functions)

    def material(self, find: Find, *, quick: bool) -> Material:
        """Reads and checks what the study names; `find` looks up a path.

        Raises:
            CorpusError: The questions or the corpus cannot be used.
        """
        corpus, questions_file = find(self.corpus), find(self.questions)
        read = verify.read(corpus, questions_file)
        if read.unusable():
            raise CorpusError(read.unusable())
        documents, questions = read.manifest.documents, read.questions.items
        if quick:
            documents, questions = quick_look(documents, questions)
        return Material(
            documents,
            questions,
            self.conditions,
            paths=(questions_file, corpus),
            hashed={
                "questions": questions_file,
                "manifest": corpus / manifest.FILE,
                "sums": corpus / sums.FILE,
            },
            faults=read.faults,
        )

    def needs(self, material: Material, stage: int) -> Collection[str]:  # noqa: ARG002
        """The conditions whose trials must be in before the arms of a stage are decided. Here no arm waits."""
        return ()

    def decide(self, material: Material, results: "Results", stage: int) -> tuple[Decision, ...]:  # noqa: ARG002
        """What each arm of a stage is to do, after the trials of `needs`."""
        return ()

    def faults(self) -> list[str]:
        """Everything that is wrong with the declaration, a sentence each, with the line in the study file."""
        here = f"line {self._line}: study {self.name!r}"
        found = []
        if not (isinstance(self.name, str) and _ID.fullmatch(self.name)) or self.name == ALL_STUDIES:
            found.append(f"{here}: a study's name is made of {_SIGNS}, and is not {ALL_STUDIES!r}")
        if not self._functions:
            found.append(f"{here} has no test function; decorate one with @study.trials")
        if len(self._functions) > 1:
            found.append(f"{here} has the test functions {' and '.join(self._functions)}; a study has one")
        found += self.own_faults(here)
        names = [hypothesis.name for hypothesis in self.hypotheses]
        found += [f"{here} has several hypotheses {name!r}; give each its own name" for name in _twice(names)]
        return found + [fault for hypothesis in self.hypotheses for fault in _faults_of(hypothesis)]

    def own_faults(self, here: str) -> list[str]:
        """What is wrong with the conditions; sentences begin with `here`."""
        strangers = [one for one in self.conditions if not isinstance(one, Condition)]
        if strangers:
            return [
                f"{here} has {one!r} among its conditions, which is none; write as Chunks('B4', top=4)"
                for one in strangers
            ]
        known = [condition.id for condition in self.conditions]
        found = [
            f"{here}: condition {one.id}: {fault}" for one in self.conditions for fault in _miscounts(one)
        ]
        if not isinstance(self.opt_in, bool):
            found.append(f"{here} has opt_in={self.opt_in!r}; write True or False")
        found += [
            f"{here} has {known.count(name)} conditions {name!r}; give each its own id"
            for name in _twice(known)
        ]
        found += [
            f"{here} has a condition {name!r}; an id is made of {_SIGNS}"
            for name in known
            if not _ID.fullmatch(name)
        ]
        if not known:
            found.append(f"{here} has no condition")
        elif self.baseline not in known:
            found.append(
                f"{here} has the unknown baseline {self.baseline!r}; its conditions are {', '.join(known)}"
            )
        return found


def _author_line() -> int:
    """The line on which a study is declared, for messages; that of the caller outside of this package."""
    frame = sys._getframe(1)  # noqa: SLF001
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("pytest_tokenbench."):
        frame = frame.f_back
    return frame.f_lineno


def _faults_of(hypothesis: Hypothesis) -> list[str]:
    here = f"line {hypothesis.function.__code__.co_firstlineno}: hypothesis {hypothesis.name!r}"
    found = []
    if not _runs_when_called(hypothesis.function):
        found.append(
            f"{here} is asynchronous or yields, so that calling it does not run it; write a plain function"
        )
    elif not _takes_results(hypothesis.function):
        found.append(f"{here} must take one argument, the results")
    if not _asserts(hypothesis.function):
        found.append(f"{here} asserts nothing; state it with assert")
    if not hypothesis.statement:
        found.append(f"{here} has no docstring; say in it what is claimed")
    return found


def _runs_when_called(function: Callable[..., Any]) -> bool:
    return not (
        inspect.iscoroutinefunction(function)
        or inspect.isgeneratorfunction(function)
        or inspect.isasyncgenfunction(function)
    )


def _takes_results(function: Callable[..., Any]) -> bool:
    try:
        inspect.signature(function).bind(None)
    except TypeError:
        return False
    return True


def _miscounts(condition: Condition) -> list[str]:
    """What of the counts that a condition was made with is none."""
    counts: Mapping[str, object] = getattr(condition, "counts", {})
    return [
        f"{name} is {value!r}; it must be a whole number from 1 up"
        for name, value in counts.items()
        if isinstance(value, bool) or not isinstance(value, int) or value < 1
    ]


def _twice(names: Sequence[str]) -> list[str]:
    return sorted({name for name in names if names.count(name) > 1})


def _asserts(function: Callable[..., Any]) -> bool:
    try:
        source = inspect.getsource(function)
    except OSError:
        return True  # there is no source to look at
    # Not dedented, since a text over several lines may hold lines that begin at the margin.
    tree = ast.parse(f"if True:\n{source}" if source[0].isspace() else source)
    return any(
        isinstance(node, ast.Assert)
        or (isinstance(node, ast.Call) and "assert" in ast.unparse(node.func).rpartition(".")[2])
        for node in ast.walk(tree)
    )
