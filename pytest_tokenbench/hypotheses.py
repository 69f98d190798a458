"""Running hypotheses over results: one verdict each, with the numbers behind it."""

import itertools
from dataclasses import dataclass

import pytest

from pytest_tokenbench.records import Ruling, Verdict
from pytest_tokenbench.results import Results, Unavailable
from pytest_tokenbench.run_folder import Run
from pytest_tokenbench.study import Hypothesis


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict, and the exception behind it where the hypothesis failed or broke."""

    verdict: Verdict
    exception: BaseException | None = None


def unavailable(hypothesis: Hypothesis, reason: str) -> Judgement:
    """The judgement of a hypothesis that a run cannot answer, for a reason that is no fault of it."""
    return Judgement(Verdict(hypothesis.name, hypothesis.statement, Ruling.UNAVAILABLE, reason))


def spoilt(hypothesis: Hypothesis, reason: str) -> Judgement:
    """The judgement of a hypothesis over a run that went wrong as a whole: an error, whatever its numbers say."""
    return Judgement(Verdict(hypothesis.name, hypothesis.statement, Ruling.ERROR, reason))


def standing(run: Run) -> tuple[Verdict, ...]:
    """The verdicts of a run as far as its ledger bears them out: those on trials that it has lost are not known."""
    judged, there = run.record.judged, len(run.observations)
    if judged is None or there >= judged:
        return run.record.verdicts
    reason = f"not known: the ledger lacks {judged - there:,} of the {judged:,} trials that it was judged on"
    return tuple(
        Verdict(verdict.hypothesis, verdict.statement, Ruling.UNAVAILABLE, reason)
        for verdict in run.record.verdicts
    )


def judge(hypothesis: Hypothesis, results: Results) -> Judgement:
    """Runs one hypothesis.

    Where trials are missing that it rests on, it runs once more for every way to count them, condition by condition
    all right or all wrong; if the rulings differ, the verdict is unavailable (protocol, Analysis). Counting can lead
    it to conditions that it did not come to before; those are counted both ways then too.
    """
    view = results.counting({})
    judgement = _run(hypothesis, view)
    missing: dict[str, dict[str, int]] = {}
    if judgement.verdict.ruling not in {Ruling.PASSED, Ruling.FAILED}:
        return judgement
    waiting = _ways(view, {}, missing)
    while waiting:
        counted = waiting.pop(0)
        view = results.counting(counted)
        other = _run(hypothesis, view).verdict
        ways = _ways(view, counted, missing)
        if other.ruling is not judgement.verdict.ruling:
            return Judgement(_undecided(judgement.verdict, other, counted, missing))
        waiting += ways
    return judgement


def _ways(
    view: Results, counted: dict[str, bool], missing: dict[str, dict[str, int]]
) -> list[dict[str, bool]]:
    """What is counted already, with every way to count the conditions that are in doubt beside.

    What was found to be missing of them goes to `missing`.
    """
    for condition in view.in_doubt:
        missing.setdefault(condition, {}).update(view.in_doubt[condition])
    doubtful = sorted(view.in_doubt)
    if not doubtful:
        return []
    ways = itertools.product((True, False), repeat=len(doubtful))
    return [counted | dict(zip(doubtful, way, strict=True)) for way in ways]


def _run(hypothesis: Hypothesis, results: Results) -> Judgement:
    exception: BaseException | None = None
    reason = ""
    try:
        hypothesis.function(results)
        ruling = Ruling.PASSED
    except (Unavailable, pytest.skip.Exception) as error:
        ruling, reason = Ruling.UNAVAILABLE, str(error)
    except (AssertionError, pytest.fail.Exception) as error:
        ruling, reason, exception = Ruling.FAILED, _first_line(error), error
    # One that leaves would take the reports of every other with it.
    except (Exception, SystemExit) as error:  # noqa: BLE001  # whatever the author's code raises is told as an error
        ruling, reason, exception = Ruling.ERROR, f"{type(error).__name__}: {_first_line(error)}", error
    verdict = Verdict(hypothesis.name, hypothesis.statement, ruling, reason, tuple(results.evidence))
    return Judgement(verdict, exception)


def _first_line(error: BaseException) -> str:
    return str(error).split("\n", maxsplit=1)[0]


def _undecided(
    verdict: Verdict, other: Verdict, counted: dict[str, bool], missing: dict[str, dict[str, int]]
) -> Verdict:
    ways = ", ".join(
        f"{sum(missing[condition].values())} missing of {condition} as {'right' if as_right else 'wrong'}"
        for condition, as_right in counted.items()
    )
    reason = f"{verdict.ruling} without the missing trials, but {other.ruling} counting {ways}"
    return Verdict(verdict.hypothesis, verdict.statement, Ruling.UNAVAILABLE, reason, verdict.evidence)
