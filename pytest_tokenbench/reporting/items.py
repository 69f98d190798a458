"""What pytest shows of trials and hypotheses: letters, words, JUnit properties, test reports."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import pytest
from _pytest._code.code import ExceptionChainRepr
from _pytest.junitxml import xml_key

from pytest_tokenbench.active import ActiveRun
from pytest_tokenbench.hypotheses import Judgement
from pytest_tokenbench.records import Observation, Outcome, Ruling, Status
from pytest_tokenbench.reporting import course, wording
from pytest_tokenbench.run_folder import RunRecord

Teststatus = tuple[str, str, tuple[str, dict[str, bool]]]

_STATUS: dict[str, tuple[str, str, dict[str, bool]]] = {
    Outcome.CORRECT: (".", "CORRECT", {"green": True}),
    Outcome.WRONG: ("w", "WRONG ANSWER", {"yellow": True}),
    Outcome.ABSTAINED: ("a", "ABSTAINED", {"green": True}),
    Outcome.MADE_UP: ("m", "MADE UP", {"yellow": True}),
    Status.OVER_WINDOW: ("o", "OVER WINDOW", {"purple": True}),
    Status.CONSTRUCTION_FAILED: ("c", "CONSTRUCTION FAILED", {"purple": True}),
    Status.ERROR: ("E", "ERROR", {"red": True}),
    Status.NOT_NEEDED: ("n", "NOT NEEDED", {"cyan": True}),
}
_ITEM_OUTCOMES: dict[str, str] = {
    Status.OVER_WINDOW: "skipped",
    Status.CONSTRUCTION_FAILED: "skipped",
    Status.ERROR: "failed",
    Status.NOT_NEEDED: "skipped",
}
_REUSED = "r"
_PACKAGE = Path(__file__).resolve().parents[1]
LEGEND = "letters: . correct, w wrong, a abstained, m made up, o over window, c construction failed, E error, r reused"


def left_out(studies: Mapping[str, str]) -> str:
    """Which studies, each in its file, were collected and not run, and how to run them."""
    names = ", ".join(f"{name} ({file})" for name, file in sorted(studies.items()))
    return f"tokenbench: left out: {names}; run with --tokenbench-study NAME or all, or name the file"


def legend(record: RunRecord) -> str:
    """What the letters of a run's progress line stand for."""
    return LEGEND if record.ablation is None else f"{LEGEND}, n not needed"


def teststatus(result: str, outcome: str, *, reused: bool) -> Teststatus | None:
    """Category, letter and `-v` word of a trial whose item ended as `outcome` ("passed", "skipped", "failed").

    One that was `reused` from an earlier session has a letter of its own, and its result in the word.
    None where the test function came to another end than its trial, by an assert of its own: that is pytest's to show.
    """
    if outcome != _ITEM_OUTCOMES.get(result, "passed"):
        return None
    letter, word, markup = _STATUS[result]
    if reused:
        letter, word, markup = _REUSED, f"REUSED, {word}", {"cyan": True}
    return outcome, letter, (word, markup)


def result_of(observation: Observation) -> str:
    """The outcome of an `ok` trial, else its status."""
    return str(observation.outcome or observation.status)


def properties(observation: Observation, *, reused: bool = False, repeats: int = 1) -> list[tuple[str, str]]:
    """The JUnit properties of a trial. What is not known is left out, never 0, and so is what is as usual."""
    scores, tries = observation.scores, course.tries(observation)
    values: dict[str, Any] = {
        "condition": observation.condition,
        "question": observation.question,
        "document": observation.document,
        # Counted from 1, as in the test id.
        "repeat": observation.repeat + 1 if repeats > 1 else None,
        "status": str(observation.status),
        "input_tokens": observation.input_tokens,
        "cached_tokens": observation.cached_tokens,
        "output_tokens": observation.output_tokens,
        "correct": scores.correct if scores else None,
        "abstained": scores.abstained if scores else None,
        "made_up": scores.made_up if scores else None,
        "remark": observation.remark,
        "attempts": tries if tries > 1 else None,
        "reused": reused or None,
    }
    return [(name, _plain(value)) for name, value in values.items() if value is not None]


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def make_plain(report: pytest.TestReport) -> None:
    """Takes control characters out of what a failed test shows: an assert on an answer shows it as the model wrote it."""
    report.sections = [(name, wording.plain(text)) for name, text in report.sections]
    if isinstance(report.longrepr, str):
        report.longrepr = wording.plain(report.longrepr)
    elif isinstance(report.longrepr, tuple):
        file, line, reason = report.longrepr
        report.longrepr = (file, line, wording.plain(reason))
    elif isinstance(report.longrepr, ExceptionChainRepr):
        for traceback, crash, _ in report.longrepr.chain:
            for entry in traceback.reprentries:
                entry.lines = [wording.plain(line) for line in entry.lines]
            if crash is not None:
                crash.message = wording.plain(crash.message)


def suite_properties(record: RunRecord) -> list[tuple[str, str]]:
    """The JUnit properties of the whole suite; what is not known is left out."""
    values = {
        "study": record.study,
        "quick": _plain(record.quick),
        "order": record.order,
        "nonce": _plain(record.nonce),
        "repeats": record.repeats,
        "shard": record.shard,
        "model": record.model.name,
        "model_digest": record.model.digest,
        "server_version": record.model.server_version,
        "commit": record.commit,
        "registration": record.registration,
    }
    return [(f"tokenbench.{name}", str(value)) for name, value in values.items() if value is not None]


def add_suite_properties(config: pytest.Config, record: RunRecord) -> None:
    """Puts the suite's properties into the JUnit file, if one is written.

    pytest offers them to test functions only, as a fixture; a hypothesis has none, so the writer is asked itself.
    """
    writer = config.stash.get(xml_key, None)
    if writer is not None:
        for name, value in suite_properties(record):
            writer.add_global_property(name, wording.plain(value))


def hypothesis_reports(run: ActiveRun, judgement: Judgement, *, strict: bool) -> Iterator[pytest.TestReport]:
    """The test reports of one hypothesis, as pytest makes them for a test of its own.

    One whose function broke is reported as an error (of the setup, the only errors that pytest knows), not a failure.
    """
    verdict = judgement.verdict
    hypothesis = next(one for one in run.loaded.study.hypotheses if one.name == verdict.hypothesis)
    code = hypothesis.function.__code__
    name = wording.one_line(verdict.hypothesis)
    node = f"{run.record.study_file}::{name}"
    location = (run.record.study_file, code.co_firstlineno - 1, name)
    outcome, detail = _outcome(judgement, code.co_filename, code.co_firstlineno, strict=strict)
    shown = [("ruling", str(verdict.ruling)), ("statement", verdict.statement)]
    for entry in verdict.evidence:
        shown += [(f"{entry.measure}: estimate", repr(entry.estimate)), (f"{entry.measure}: n", str(entry.n))]
        if entry.low is not None and entry.high is not None:
            shown.append((f"{entry.measure}: interval", f"[{entry.low!r}, {entry.high!r}]"))
    phases: list[Literal["setup", "call", "teardown"]] = ["setup", "call", "teardown"]
    if verdict.ruling is Ruling.ERROR:
        phases.remove("call")
    for when in phases:
        told = when == phases[-2]
        numbers = "\n".join(map(_shown, verdict.evidence)) if told and detail else ""
        report = pytest.TestReport(
            nodeid=node,
            location=location,
            keywords={name: 1},
            outcome=outcome if told else "passed",
            longrepr=detail if told else None,
            when=when,
            sections=[("tokenbench", numbers)] if numbers else [],
            user_properties=shown if when == "teardown" else [],
        )
        make_plain(report)
        yield report


def _shown(entry: Any) -> str:
    return wording.evidence(
        {
            "measure": entry.measure,
            "estimate": entry.estimate,
            "low": entry.low,
            "high": entry.high,
            "n": entry.n,
        }
    )


def _outcome(judgement: Judgement, file: str, line: int, *, strict: bool) -> tuple[Any, Any]:
    verdict = judgement.verdict
    if verdict.ruling is Ruling.PASSED:
        return "passed", None
    if verdict.ruling is Ruling.UNAVAILABLE:
        reason = f"unavailable: {verdict.reason}"
        return ("failed", reason) if strict else ("skipped", (file, line, f"Skipped: {reason}"))
    if judgement.exception is None:
        return "failed", verdict.reason
    info = pytest.ExceptionInfo.from_exception(judgement.exception)
    # The author's frames are of interest, neither those that called them nor those in here that they called.
    cut = info.traceback.cut(path=file)
    info.traceback = cut.filter(lambda entry: not Path(entry.path).is_relative_to(_PACKAGE)) or cut
    return "failed", info.getrepr(style="long")
