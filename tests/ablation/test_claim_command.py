"""tokenbench claim: it prints what a run's folder supports, and says why that is less than all."""

import json

import made_ablation as made
import made_runs
import pytest

from pytest_tokenbench.cli import main
from pytest_tokenbench.reporting import document
from pytest_tokenbench.run_folder import Run

PLAN = made.ablation()
WHOLE = made.run(PLAN)
SCREENED = ("base", "no-system", "no-examples", "no-passages", "no-tail", "again")


@pytest.fixture
def asked(tmp_path, capsys):
    """Runs the command over a run with so much of its trials, and gives its status, its output and what it says."""

    def run(arms=None, **changes):
        trials = (*WHOLE.observations, *WHOLE.stress.observations)
        seen = [one for one in trials if arms is None or one.condition in arms]
        record = made.record(PLAN, ablation=PLAN, **changes)
        folder = made_runs.written(tmp_path, Run(record, tuple(seen), ()))
        return main(["claim", str(folder)]), *capsys.readouterr()

    return run


def test_prints_the_claims_of_a_whole_run_and_nothing_else(asked):
    status, out, err = asked()
    assert (status, err) == (0, "")
    assert [one["oracle"] for one in json.loads(out)] == [False, True]


def test_a_run_that_did_not_come_to_its_end_is_refused_with_that_reason(asked):
    status, out, err = asked(finished=None)
    assert (status, out) == (2, "")
    assert err.endswith("supports no claim: the run did not come to its end\n")


def test_a_run_of_the_screening_alone_that_ended_well_is_refused_for_want_of_the_composed_arm(asked):
    status, out, err = asked(SCREENED)
    assert (status, out) == (2, "")
    assert "supports no claim: " in err
    assert "composed" in err
    assert len(err.splitlines()) == 1


def test_what_else_a_run_would_claim_is_said_beside_what_it_does(asked, monkeypatch):
    build = document.build

    def without_oracle(run):
        made = build(run)
        made["ablation"]["oracle"] = {"unavailable": "no rank is\x1b[2J known"}
        return made

    monkeypatch.setattr(document, "build", without_oracle)
    status, out, err = asked()
    assert status == 0
    assert [one["oracle"] for one in json.loads(out)] == [False]
    assert err.endswith("supports no other claim: 'of the oracle: no rank is\\x1b[2J known'\n")
