"""The claims of a run: they say what it found with its caveats, fit their schema, and a run without its end has none."""

import json
from dataclasses import asdict, replace

import made_ablation as made
import pytest
from jsonschema import Draft202012Validator

from pytest_tokenbench.ablation import claim, oracle, report
from pytest_tokenbench.ablation.claim import claims, refusals
from pytest_tokenbench.ablation.claim_record import CaseSet, ClaimedModel
from pytest_tokenbench.records import ModelInfo

PLAN = made.ablation()
DOCUMENT = report.build(PLAN, made.run(PLAN))
RECORD = made.record(PLAN)
SCHEMA = Draft202012Validator(json.loads(claim.schema_text()))
NO_STRESS_CASES = {"stress_cases": 0, "stress_baseline": {"unavailable": "none"}}


def faults(*found):
    return [error.message for error in SCHEMA.iter_errors(json.loads(claim.as_text(found)))]


def with_block(name, **changes):
    """The document with a block that came out otherwise."""
    return {"blocks": [one | changes if one["name"] == name else one for one in DOCUMENT["blocks"]]}


def with_composed(**changes):
    return {"composed": DOCUMENT["composed"] | changes}


HOLDS = with_composed(
    holds=True,
    note=None,
    drop={"estimate": 0.0, "low": -0.05, "high": 0.08, "n": 40, "zero_width": False},
    reweighted_drop={"estimate": 0.01, "low": -0.05, "high": 0.09, "n": 40, "zero_width": False},
    reweighted_verdict="removable",
)
# Of 70 words examples and passages have 22 and 36.
WITHOUT_THE_REST = {
    "needed_fraction": {
        "estimate": 58 / 70,
        "low": 0.8,
        "high": 0.85,
        "n": 40,
        "needed_tokens": 58.0,
        "total_tokens": 70.0,
        "put_back": [],
    }
}


def test_a_run_s_claims_are_the_needed_fraction_and_the_oracle_s():
    needed, ceiling = claims(DOCUMENT, RECORD)
    # Of 70 words 22 + 36 stand in the two needed blocks; the other two can go alone and not together.
    assert (needed.value, needed.needed_tokens, needed.total_tokens) == (1, 70, 70)
    assert (needed.oracle, needed.oracle_note) == (False, None)
    assert (ceiling.value, ceiling.oracle) == (
        pytest.approx(DOCUMENT["oracle"]["fraction"]["estimate"]),
        True,
    )
    assert ceiling.oracle_note == oracle.NOTE
    assert "not available when a prompt is served" in ceiling.oracle_note
    for one in (needed, ceiling):
        assert one.low <= one.value <= one.high
        assert one.set == CaseSet("made", "ab" * 32)
        assert (one.cases, one.threshold, one.baseline, one.repeats, one.churn) == (40, 0.1, 1.0, 1, 0.0)
        assert one.model == ClaimedModel("scripted:1b", "sha256:abc")
        assert one.measured_at == "2026-11-30T06:00:00+00:00"
        assert (one.composition_checked, one.composition_holds) == (True, False)
        assert one.composition_note.startswith("does not hold: ")
        assert (one.composed.drop, one.composed.predicted) == (pytest.approx(0.25), 0)
        assert one.blocks.needed == ("examples", "passages")
        assert one.blocks.removable == ("system", "tail")
        assert {"system", "tail"} < set(one.blocks.put_back)


def test_the_words_of_the_needed_fraction_tell_why_each_block_counts():
    (needed, _) = claims(DOCUMENT, RECORD)
    assert needed.claim == (
        "Of the tokens of the prompt's blocks 100.0% count as needed. Leaving out any one of examples and passages costs "
        "10 points or more. Each of system, examples/1, examples/2, examples/4, what follows passages rank 2 and tail came out as costing "
        "less than 10 points, and counts as needed all the same, since it is not shown that all of them can go together."
    )


def test_what_counts_only_since_it_is_undecided_is_told_so():
    document = DOCUMENT | with_block("passages", verdict="undecided")
    (needed, _) = claims(document, RECORD)
    assert "Leaving out examples costs 10 points or more. " in needed.claim
    assert "Whether leaving out passages costs 10 points or more is undecided with 40 cases, " in needed.claim


def test_what_a_quick_look_leaves_out_and_is_undecided_is_not_said_to_have_come_out_removable():
    plan = made.ablation(quick=True)
    # Three of forty lost are less than the threshold of 10 points, and not by the whole interval.
    changed = {("no-system", case) for case in made.RANK_1[:3]}
    results = made.run(plan, cases=made.MAIN, changed=changed)
    (needed, ceiling) = claims(report.build(plan, results), replace(RECORD, quick=True))
    assert "system" in results.decisions["composed"].left_out
    assert (needed.blocks.undecided, needed.blocks.put_back) == (("system",), ("tail",))
    for one in (needed, ceiling):
        assert one.claim.startswith("A quick look, which settles nothing: ")
        assert "tail came out as costing less than 10 points, and counts as needed all the same" in one.claim
    assert "Whether leaving out system costs 10 points or more is undecided with 40 cases" in needed.claim


def test_what_can_go_together_does_not_count_and_is_told_so():
    (needed, ceiling) = claims(DOCUMENT | HOLDS | WITHOUT_THE_REST, RECORD)
    assert needed.claim.endswith(
        "82.9% count as needed. Leaving out any one of examples and passages costs 10 points or more. system and tail came "
        "out as costing less than 10 points, each alone and all together, and do not count."
    )
    assert (needed.composition_holds, needed.composition_note) == (True, None)
    assert faults(needed, ceiling) == []


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"clears_stress": False}, "it is not shown to clear the stress cases"),
        ({"clears_stress": None}, "it is not shown to clear the stress cases"),
        ({"reweighted_verdict": "needed"}, "it is or may be needed with production's shares"),
        ({"reweighted_verdict": "not measured"}, "it is or may be needed with production's shares"),
    ],
)
def test_a_block_that_does_not_count_and_is_not_to_be_cut_is_told_with_the_reason(changes, why):
    document = DOCUMENT | HOLDS | WITHOUT_THE_REST | with_block("tail", **changes)
    (needed, ceiling) = claims(document, RECORD)
    told = "tail came out as costing less than 10 points on the main cases, and is not to be cut, since"
    assert needed.claim.endswith(f" {told} {why}; this share is without it all the same.")
    assert ceiling.claim.endswith(f" {told} {why}.")
    assert "system came out as costing less than 10 points, and does not count." in needed.claim
    assert faults(needed, ceiling) == []


def test_they_fit_the_schema_with_nothing_beside_it():
    found = claims(DOCUMENT, RECORD)
    assert faults(*found) == []
    made_of = json.loads(claim.as_text(found))[0]
    assert set(made_of) == set(asdict(found[0])) == set(SCHEMA.schema["$defs"]["claim"]["properties"])
    assert [error.message for error in SCHEMA.iter_errors([made_of | {"more": 1}])] != []


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"finished": None}, "did not come to its end"),
        ({"shard": "1/2"}, "shard 1/2 is a part of the trials"),
        ({"spoilt": "the model changed"}, "the model changed"),
    ],
)
def test_a_run_that_is_not_whole_supports_no_claim(changes, told):
    record = replace(RECORD, **changes)
    assert claims(DOCUMENT, record) == []
    (reason,) = refusals(DOCUMENT, record)
    assert told in reason


def test_a_server_that_does_not_tell_a_digest_leaves_it_out():
    model = ModelInfo("openai", "reader", None, None)
    (found, _) = claims(DOCUMENT, replace(RECORD, model=model))
    assert found.model == ClaimedModel("reader", None)
    assert faults(found) == []


def test_without_a_composed_arm_the_reason_stands_in_its_place():
    every = [one | {"verdict": "needed"} for one in DOCUMENT["blocks"]]
    whole = {"needed_fraction": DOCUMENT["needed_fraction"] | {"put_back": []}, "blocks": every}
    unchecked = {"composed": {"unavailable": "nothing came out removable"}}
    (found, _) = claims(DOCUMENT | whole | unchecked, RECORD)
    assert not found.composition_checked
    assert found.composed is None
    assert found.composition_note == "not checked: nothing came out removable"
    assert found.stress.note == "not known: the composed arm was not measured"
    assert (found.production.drop, found.production.note) == (None, "the composed arm was not measured")
    assert faults(found) == []


def test_what_came_out_removable_and_was_not_left_out_together_is_not_claimed():
    unchecked = {"composed": {"unavailable": "composed was not asked"}}
    assert claims(DOCUMENT | unchecked, RECORD) == []
    (reason,) = refusals(DOCUMENT | unchecked, RECORD)
    assert "was not left out together, so that what is needed is not known" in reason


@pytest.mark.parametrize(
    ("lacking", "left", "told"),
    [
        ({"needed_fraction": {"unavailable": "no tail"}}, [], "no tail"),
        ({"baseline": {"unavailable": "no base"}}, [], "no base"),
        ({"oracle": {"unavailable": "no ranks"}}, [False], "of the oracle: no ranks"),
    ],
)
def test_what_was_not_measured_is_not_claimed_and_told(lacking, left, told):
    assert [one.oracle for one in claims(DOCUMENT | lacking, RECORD)] == left
    assert refusals(DOCUMENT | lacking, RECORD) == [told]


def test_a_run_whose_claims_are_all_there_has_no_refusal():
    assert refusals(DOCUMENT, RECORD) == []


def test_a_churn_that_was_not_measured_is_null():
    (found, _) = claims(DOCUMENT | {"churn_floor": {"unavailable": "quick"}}, RECORD)
    assert found.churn is None
    assert faults(found) == []


def test_rounding_does_not_carry_a_share_over_its_bounds():
    over = DOCUMENT["needed_fraction"] | dict.fromkeys(("estimate", "low", "high"), 1.0000000000000002)
    (found, _) = claims(DOCUMENT | {"needed_fraction": over}, RECORD)
    assert (found.value, found.low, found.high) == (1, 1, 1)


def test_a_share_of_tokens_that_is_none_is_refused_with_the_reason():
    over = DOCUMENT["needed_fraction"] | {"estimate": 1.2, "high": 1.3, "needed_tokens": 84.0}
    assert [one.oracle for one in claims(DOCUMENT | {"needed_fraction": over}, RECORD)] == [True]
    (reason,) = refusals(DOCUMENT | {"needed_fraction": over}, RECORD)
    assert "value is a share from 0 to 1" in reason


class TestStress:
    def told(self, changes, record=RECORD):
        found = claims(DOCUMENT | changes, record)
        assert faults(*found) == []
        stress = {one.stress for one in found}
        assert len(stress) == 1
        return stress.pop()

    def test_is_cleared_by_the_composed_arm_or_not(self):
        for clears in (True, False):
            told = self.told(with_composed(clears_stress=clears))
            assert (told.cases, told.baseline, told.clears, told.note) == (3, 1, clears, None)

    def test_is_said_to_have_no_cases(self):
        told = self.told(NO_STRESS_CASES)
        assert (told.cases, told.clears) == (0, None)
        assert told.note.startswith("the set has no stress cases")

    def test_is_said_to_be_left_out_by_a_quick_look_whatever_the_set_has(self):
        told = self.told(NO_STRESS_CASES, replace(RECORD, quick=True))
        assert told.note.startswith("a quick look asks no stress cases")

    def test_is_not_known_where_the_composed_arm_lacks_some(self):
        told = self.told(
            with_composed(clears_stress=None, stress_note="it was not measured on all stress cases")
        )
        assert told.note == "not known: it was not measured on all stress cases"


class TestProduction:
    def told(self, **changes):
        document = DOCUMENT | with_composed(**changes.pop("composed", {})) | changes
        (found, _) = claims(document, RECORD)
        assert faults(found) == []
        return found.production

    def test_has_the_composed_arm_s_drop_and_finding(self):
        drop = {"estimate": 0.5, "low": 0.4, "high": 0.6, "n": 40, "zero_width": False}
        told = self.told(composed={"reweighted_drop": drop, "reweighted_verdict": "needed"})
        assert (told.covers, told.drop, told.low, told.high) == (1, 0.5, 0.4, 0.6)
        assert (told.verdict, told.note) == ("needed", None)

    def test_of_no_shares_says_so(self):
        reason = {"unavailable": "none"}
        none = {"reweighted_drop": reason, "reweighted_verdict": None}
        told = self.told(covers=None, slices=[], composed=none)
        assert (told.covers, told.drop, told.verdict) == (None, None, None)
        assert told.note == "the study gives no shares of production"

    def test_that_cannot_be_told_says_why(self):
        none = {"reweighted_drop": {"unavailable": "no case of them"}, "reweighted_verdict": None}
        assert self.told(composed=none).note == "no case of them"

    def test_without_a_finding_for_want_of_trials_has_no_drop_either(self):
        drop = {"estimate": 0.5, "low": 0.4, "high": 0.6, "n": 40, "zero_width": False}
        told = self.told(composed={"reweighted_drop": drop, "reweighted_verdict": "not measured"})
        assert (told.drop, told.verdict) == (None, None)
        assert "trials that are missing" in told.note


class TestCoverageGap:
    def gap(self, *slices, cases=100, measured=100):
        told = [
            {"kind": "turn", "slice": name, "production": share, "cases": count}
            for name, share, count in slices
        ]
        return claim.coverage_gap({"slices": told, "cases": cases}, measured)

    def test_names_what_is_under_sampled(self):
        said = self.gap(("multi_turn", 0.23, 6), ("single_turn", 0.77, 94))
        assert "multi_turn is 6% of the cases and 23% of production" in said
        assert "single_turn" not in said

    def test_names_what_has_no_case(self):
        assert "multi_turn has no case and is 23% of production" in self.gap(
            ("multi_turn", 0.23, 0), ("single_turn", 0.77, 100)
        )

    def test_says_what_is_not_known_of_a_set_that_is_well_sampled(self):
        said = self.gap(("multi_turn", 0.23, 23), ("single_turn", 0.77, 77))
        assert said == "100 cases; nothing is known of what production asks beside these slices."

    def test_without_shares_says_that_they_are_not_given(self):
        assert "how far it stands for it is not known" in self.gap()

    def test_says_how_many_cases_the_value_rests_on_where_that_is_not_all(self):
        assert self.gap(measured=97).startswith("100 cases, of which the value rests on 97; ")
