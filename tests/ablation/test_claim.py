"""The claim record: it says what a run found with its caveats, fits its schema, and cannot be made without them."""

import json
from dataclasses import asdict, replace

import made_ablation as made
import pytest
from jsonschema import Draft202012Validator

from pytest_tokenbench.ablation import claim, oracle, report
from pytest_tokenbench.ablation.claim import CaseSet, Claim, ClaimedModel, Composed, claims
from pytest_tokenbench.records import ModelInfo

PLAN = made.ablation()
DOCUMENT = report.build(PLAN, made.run(PLAN))
RECORD = made.record(PLAN)
SCHEMA = Draft202012Validator(json.loads(claim.schema_text()))
PLAIN = Claim(
    claim="So much is needed.",
    value=0.5,
    low=0.4,
    high=0.6,
    needed_tokens=50.0,
    total_tokens=100.0,
    set=CaseSet("made", "ab" * 32),
    cases=40,
    threshold=0.05,
    baseline=0.9,
    repeats=1,
    churn=0.0,
    model=ClaimedModel("scripted:1b", None),
    measured_at="2026-11-30T06:00:00+00:00",
    oracle=False,
    oracle_note=None,
    composition_checked=True,
    composition_holds=True,
    composition_note=None,
    coverage_gap="Forty cases; nothing is known of others.",
    composed=Composed(0.1, 0.0, 0.2, 0.0),
    quick=False,
)


def faults(*found):
    return [error.message for error in SCHEMA.iter_errors(json.loads(claim.as_text(found)))]


def test_a_run_s_claims_are_the_needed_fraction_and_the_oracle_s():
    needed, ceiling = claims(DOCUMENT, RECORD)
    # Of 70 words 22 + 36 stand in the two needed blocks; the other two can go alone and not together.
    assert (needed.value, needed.needed_tokens, needed.total_tokens) == (1, 70, 70)
    assert (needed.oracle, needed.oracle_note) == (False, None)
    assert (ceiling.value, ceiling.oracle) == (pytest.approx((984 + 40 * 16) / 2_800), True)
    assert ceiling.oracle_note == oracle.NOTE
    assert "not available when a prompt is served" in ceiling.oracle_note
    for one in (needed, ceiling):
        assert one.low <= one.value <= one.high
        assert one.set == CaseSet("made", "ab" * 32)
        assert (one.cases, one.threshold, one.baseline, one.repeats, one.churn) == (40, 0.1, 1.0, 1, 0.0)
        assert one.model == ClaimedModel("scripted:1b", "sha256:abc")
        assert one.measured_at == "2026-11-30T06:00:00+00:00"
        assert (one.composition_checked, one.composition_holds) == (True, False)
        assert one.composition_note.startswith(
            "does not hold: the composed arm came out needed; its drop of 25.0"
        )
        assert one.claim.endswith(
            "What came out removable one by one (system, examples/1, examples/2, examples/4, passages/3, tail) counts as "
            "needed, since leaving all of it out together does not hold."
        )
        assert (one.composed.drop, one.composed.predicted) == (pytest.approx(0.25), 0)
    assert needed.claim.startswith(
        "Of the tokens of the prompt's blocks 100.0% stand in blocks that are needed"
    )


def test_they_fit_the_schema_with_nothing_beside_it():
    found = claims(DOCUMENT, RECORD)
    assert faults(*found, PLAIN) == []
    made_of = asdict(found[0])
    assert set(made_of) == set(SCHEMA.schema["$defs"]["claim"]["properties"])
    assert [error.message for error in SCHEMA.iter_errors([made_of | {"more": 1}])] != []


def test_a_run_that_did_not_end_is_measured_at_its_start_and_a_quick_look_says_so():
    (found, _) = claims(DOCUMENT, replace(RECORD, finished=None, quick=True))
    assert (found.measured_at, found.quick) == (RECORD.started, True)


def test_a_server_that_does_not_tell_a_digest_leaves_it_out():
    model = ModelInfo("openai", "reader", None, None)
    (found, _) = claims(DOCUMENT, replace(RECORD, model=model))
    assert found.model == ClaimedModel("reader", None)
    assert faults(found) == []


def test_without_a_composed_arm_the_reason_stands_in_its_place():
    unchecked = DOCUMENT | {"composed": {"unavailable": "nothing came out removable"}}
    (found, _) = claims(unchecked, RECORD)
    assert not found.composition_checked
    assert found.composed is None
    assert found.composition_note == "not checked: nothing came out removable"
    assert faults(found) == []


@pytest.mark.parametrize(
    ("lacking", "left"),
    [
        ({"needed_fraction": {"unavailable": "tail"}}, [True]),
        ({"oracle": {"unavailable": "tail"}}, [False]),
        ({"baseline": {"unavailable": "none"}}, []),
    ],
)
def test_what_was_not_measured_is_not_claimed(lacking, left):
    assert [one.oracle for one in claims(DOCUMENT | lacking, RECORD)] == left


def test_a_churn_that_was_not_measured_is_null():
    (found, _) = claims(DOCUMENT | {"churn_floor": {"unavailable": "quick"}}, RECORD)
    assert found.churn is None
    assert faults(found) == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"oracle": True}, "carries the note that it is a ceiling"),
        ({"oracle": True, "oracle_note": "  "}, "carries the note that it is a ceiling"),
        ({"oracle_note": "a ceiling"}, "no other claim does"),
        ({"coverage_gap": ""}, "needs its coverage_gap in words"),
        ({"coverage_gap": " \n"}, "needs its coverage_gap in words"),
        ({"claim": ""}, "needs its claim in words"),
        ({"measured_at": ""}, "needs its measured_at in words"),
        ({"set": CaseSet("", "ab")}, "needs its set in words"),
        ({"set": CaseSet("made", "")}, "needs its set's sum in words"),
        ({"model": ClaimedModel("", None)}, "needs its model in words"),
        ({"composed": None}, "if and only if the composed arm's result is there"),
        ({"composition_checked": False}, "if and only if the composed arm's result is there"),
        ({"composition_checked": False, "composed": None}, "known only where it is checked"),
        (
            {"composition_checked": False, "composed": None, "composition_holds": None},
            "does not hold says why",
        ),
        ({"composition_holds": False}, "does not hold says why"),
        ({"composition_holds": None, "composition_note": " "}, "does not hold says why"),
        ({"composition_note": "it fails"}, "does not hold says why, and no other claim does"),
        ({"cases": 0}, "rests on cases"),
        ({"repeats": 0}, "on repeats"),
        ({"total_tokens": 0.0}, "on tokens"),
        ({"value": 0.4}, "its needed tokens over its total tokens"),
    ],
)
def test_a_claim_without_a_caveat_cannot_be_made(changes, message):
    with pytest.raises(ValueError, match=message):
        replace(PLAIN, **changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"oracle": True},
        {"oracle_note": "a ceiling"},
        {"coverage_gap": ""},
        {"composed": None},
        {"composition_checked": False},
        {"composition_note": "why"},
        {"composition_holds": False},
        {"composition_holds": None},
        {"composition_checked": False, "composed": None, "composition_note": "why"},
        {"cases": 0},
        {"total_tokens": 0},
        {"oracle": "yes"},
        {"threshold": 5},
        {"set": {"name": "made"}},
    ],
)
def test_nor_does_it_fit_the_schema(changes):
    assert SCHEMA.is_valid([asdict(PLAIN)])
    assert not SCHEMA.is_valid([asdict(PLAIN) | changes])


@pytest.mark.parametrize("name", sorted(asdict(PLAIN)))
def test_no_field_can_be_left_out(name):
    kept = {key: value for key, value in asdict(PLAIN).items() if key != name}
    assert not SCHEMA.is_valid([kept])


class TestCoverageGap:
    def gap(self, *slices, cases=100):
        told = [
            {"kind": "turn", "slice": name, "production": share, "cases": count}
            for name, share, count in slices
        ]
        return claim.coverage_gap({"slices": told, "cases": cases})

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
