"""What reports show of an ablation: every figure where it was measured, and else the reason."""

import json

import made_ablation as made
import pytest

from pytest_tokenbench.ablation import report
from pytest_tokenbench.records import Status
from pytest_tokenbench.reporting import document
from pytest_tokenbench.run_folder import Run

PLAN = made.ablation()
WHOLE = report.build(PLAN, made.run(PLAN))
QUICK = report.build(made.ablation(quick=True), made.run(made.ablation(quick=True), cases=made.MAIN))


def block(document, name):
    return next(one for one in document["blocks"] if one["name"] == name)


def test_it_is_plain_json_and_the_same_each_time():
    again = report.build(PLAN, made.run(PLAN))
    assert json.dumps(again, allow_nan=False) == json.dumps(WHOLE, allow_nan=False)


def test_it_begins_with_the_set_and_the_threshold():
    assert (WHOLE["cases"], WHOLE["stress_cases"], WHOLE["set"], WHOLE["threshold"]) == (40, 3, "made", 0.1)
    assert WHOLE["baseline"]["estimate"] == 1
    assert WHOLE["covers"] == pytest.approx(1)
    assert WHOLE["slices"] == [
        {"kind": "turn", "slice": "multi_turn", "production": 0.23, "cases": 4},
        {"kind": "turn", "slice": "single_turn", "production": 0.77, "cases": 36},
    ]
    assert WHOLE["refused"] is None


class TestBlocks:
    def test_tokens_and_shares_stand_beside_the_drop(self):
        # Of 70 words: system 7, examples 22, passages 36, tail 5.
        found = {one["name"]: (one["tokens"]["estimate"], one["share"]) for one in WHOLE["blocks"]}
        assert found == {
            "system": (7, pytest.approx(7 / 70)),
            "examples": (22, pytest.approx(22 / 70)),
            "passages": (36, pytest.approx(36 / 70)),
            "tail": (5, pytest.approx(5 / 70)),
        }

    def test_verdict_reason_and_stress(self):
        found = block(WHOLE, "passages")
        assert (found["verdict"], found["n_to_decide"]) == ("needed", None)
        assert found["reason"].startswith("its drop of 75.0 points")
        assert (found["stress_drop"]["estimate"], found["clears_stress"]) == (1, False)
        assert block(WHOLE, "tail")["clears_stress"] is True

    def test_seconds_saved_are_of_cold_prompts(self):
        # The reader takes 10 ms for each token, all cold.
        assert block(WHOLE, "passages")["prefill_saved"]["estimate"] == pytest.approx(0.36)

    def test_re_weighted_beside_as_measured(self):
        # The four follow-ups are 4 of 40 cases and 23% of production; no block alone is missed there.
        found = block(WHOLE, "examples")
        # Within the 36 others 24 need an example.
        assert found["reweighted_drop"]["estimate"] == pytest.approx(0.77 * 24 / 36)
        assert found["reweighted_verdict"] == "needed"

    def test_a_filler_tells_content_from_length(self):
        # The reader does not mind length: what goes with the content is the whole drop, and the length is worth none.
        found = block(WHOLE, "passages")["filler"]
        assert found["drop"]["estimate"] == pytest.approx(30 / 40)
        assert found["length"]["estimate"] == 0
        # A filler leaves room for the blank line before it, which this reader does not count.
        assert found["deviation"] == {"mean": 1, "largest": 1}

    def test_units_of_a_needed_block(self):
        found = block(WHOLE, "examples")
        assert found["not_decomposed"] is None
        assert [unit["verdict"] for unit in found["units"]] == [
            "removable",
            "removable",
            "needed",
            "removable",
        ]
        assert [unit["tokens"]["estimate"] for unit in found["units"]] == pytest.approx([4, 4, 6, 8])
        assert found["units"][2]["drop"]["estimate"] == pytest.approx(18 / 40)

    def test_ranks_of_a_needed_block(self):
        found = block(WHOLE, "passages")["ranks"]
        assert [(rank["to"], rank["verdict"]) for rank in found] == [(1, "needed"), (2, "removable")]
        assert [rank["tokens_saved"]["estimate"] for rank in found] == [26, 14]

    def test_why_a_block_was_not_taken_apart(self):
        assert block(WHOLE, "system")["not_decomposed"] == "it is declared as one piece"
        assert block(QUICK, "examples")["not_decomposed"] == "this run does not take blocks apart"
        removable = made.told(PLAN, [made.question(case) for case in made.MAIN], stage_0(lambda _arm: True))
        assert block(report.build(PLAN, removable), "examples")["not_decomposed"] == (
            "examples came out removable on this set: its units are not taken apart"
        )


class TestComposed:
    def test_beside_the_sum_of_the_single_drops_with_what_was_lost(self):
        found = WHOLE["composed"]
        assert found["left_out"][0] == "system"
        assert (found["drop"]["estimate"], found["predicted"]) == (pytest.approx(0.25), 0)
        assert found["shortfall"]["estimate"] == pytest.approx(0.25)
        # Left out: system 7, examples 4 + 4 + 8, passage 14, tail 5.
        assert found["tokens_saved"]["estimate"] == 42
        assert found["share_saved"] == pytest.approx(42 / 70)
        assert found["stress_drop"]["estimate"] == 0
        assert [one["case"] for one in found["lost"]] == list(made.RULES + made.EXAMPLES)
        assert found["lost_by_slice"] == {
            "family": {"e": 6, "r": 4},
            "turn": {"multi_turn": 4, "single_turn": 6},
        }

    def test_with_pairs_and_blocks_that_are_redundant(self):
        found = WHOLE["composed"]
        (pair,) = [pair for pair in found["pairs"] if pair["redundant"]]
        assert (pair["blocks"], pair["lost"]) == (["system", "tail"], list(made.RULES))
        assert (pair["drop"]["estimate"], pair["excess"]["estimate"]) == pytest.approx((4 / 40, 4 / 40))
        assert pair["free_alone"] is True
        assert pair["arm"] == "pair-system-tail"
        (part,) = found["within"]
        assert part["arm"] == "part-examples"
        assert (part["block"], part["lost"], part["redundant"]) == ("examples", list(made.EXAMPLES), True)
        assert (part["drop"]["estimate"], part["excess"]["estimate"]) == pytest.approx((6 / 40, 6 / 40))

    def test_has_a_finding_of_its_own(self):
        found = WHOLE["composed"]
        assert (found["verdict"], found["clears_stress"], found["holds"]) == ("needed", True, False)
        assert found["reason"].startswith("its drop of 25.0 points")
        assert found["note"] == f"does not hold: the composed arm came out needed; {found['reason']}"

    def test_a_composed_arm_that_loses_stress_cases_does_not_hold(self):
        asked = [made.question(case) for case in made.MAIN + made.STRESS]
        results = made.told(
            PLAN,
            asked,
            lambda case, arm: arm.id != "no-passages" and not (case.stress and arm.id == "composed"),
        )
        found = report.build(PLAN, results)
        assert (found["composed"]["verdict"], found["composed"]["holds"]) == ("removable", False)
        assert found["composed"]["note"] == "does not hold: the composed arm does not clear the stress cases"
        assert found["needed_fraction"]["put_back"] == found["composed"]["left_out"]

    def test_one_that_holds_puts_nothing_back(self):
        asked = [made.question(case) for case in made.MAIN + made.STRESS]
        plan = made.ablation(production={})
        found = report.build(plan, made.told(plan, asked, lambda _case, arm: arm.id != "no-passages"))
        assert (found["composed"]["holds"], found["composed"]["note"]) == (True, None)
        assert found["needed_fraction"].get("put_back", []) == []

    @pytest.mark.parametrize(
        ("asked", "named"),
        [
            ({"base", "no-system"}, "no-examples, no-passages, no-tail"),
            ({"no-system"}, "base, no-examples, no-passages, no-tail"),
            (set(), "base, no-system, no-examples, no-passages, no-tail"),
        ],
    )
    def test_where_trials_are_missing_it_says_of_which_arms(self, asked, named):
        main = [made.question(case) for case in made.MAIN]
        partly = made.told(PLAN, main, lambda _case, arm: (arm.id in asked and arm.id != "no-system") or None)
        some = made.told(PLAN, main, lambda _case, arm: True if arm.id in asked else None)
        assert "nothing to leave out" not in str(report.build(PLAN, partly)["composed"])
        if asked != {"base", "no-system"}:
            assert report.build(PLAN, some)["composed"] == {
                "unavailable": f"what is removable is not known: trials of {named} are missing"
            }

    def test_where_it_was_not_asked_the_reason_is_told(self):
        none = made.told(
            PLAN,
            [made.question(case) for case in made.MAIN],
            lambda _case, arm: None if arm.stage > 1 else arm.kind in {"base", "again"},
        )
        assert report.build(PLAN, none)["composed"] == {
            "unavailable": "no block and no unit came out removable: there is nothing to leave out"
        }


class TestFractions:
    def test_with_their_tokens(self):
        found = WHOLE["needed_fraction"]
        # The other 12 words, of system and tail, came out removable alone and are missed together.
        assert (found["needed_tokens"], found["total_tokens"]) == (70, 70)
        assert found["estimate"] == 1
        assert found["put_back"] == WHOLE["composed"]["left_out"]
        assert found["put_back_note"] == WHOLE["composed"]["note"]

    def test_the_oracle_s_never_stands_without_its_caveat(self):
        found = WHOLE["oracle"]
        assert found["oracle"] is True
        assert "ceiling over every selector" in found["note"]
        assert found["fraction"]["estimate"] == pytest.approx(found["tokens"] / found["total_tokens"])

    def test_a_selector_with_what_it_recovers_saves_and_loses(self):
        five, nine = WHOLE["selector"]
        assert (five["arm"], five["score"]) == ("select-5", 5.0)
        assert five["recovered"]["estimate"] == pytest.approx(560 / 996)
        assert (five["saved_tokens"]["estimate"], nine["saved_tokens"]["estimate"]) == (14, 26)
        assert nine["drop"]["estimate"] == pytest.approx(12 / 40)


class TestQuick:
    def test_has_blocks_fractions_and_the_composed_arm(self):
        assert [one["verdict"] for one in QUICK["blocks"]] == ["removable", "needed", "needed", "removable"]
        assert "estimate" in QUICK["needed_fraction"]
        assert "fraction" in QUICK["oracle"]
        (pair,) = QUICK["composed"]["pairs"]
        # Two parts make up the composed arm, and no other was asked.
        assert pair["arm"] == "composed"
        assert (pair["blocks"], pair["lost"], pair["redundant"]) == (
            ["system", "tail"],
            list(made.RULES),
            True,
        )

    def test_composes_what_lost_less_than_the_threshold_in_cases_too_few_for_a_finding(self):
        few = made.MAIN[:6]
        plan = made.ablation(quick=True)
        document = report.build(plan, made.run(plan, cases=few))
        kept = [one for one in document["blocks"] if one["drop"]["estimate"] < plan.threshold]
        assert {one["verdict"] for one in kept} == {"undecided"}
        assert document["composed"]["left_out"] == [one["name"] for one in kept] != []
        # Each is undecided and counts as that: none is put back as something that came out removable.
        assert document["needed_fraction"]["put_back"] == []
        assert document["needed_fraction"]["put_back_note"] is None
        assert document["needed_fraction"]["estimate"] == 1
        assert not any(pair["free_alone"] for pair in document["composed"]["pairs"])

    def test_says_what_it_has_not(self):
        assert "unavailable" in QUICK["churn_floor"]
        assert block(QUICK, "tail")["filler"] == {
            "unavailable": "this run has no arm of the kind filler of tail"
        }
        assert block(QUICK, "tail")["clears_stress"] is None
        assert QUICK["selector"] == []
        assert any("lost less than the threshold in these few cases" in note for note in QUICK["notes"])
        # It leaves them out whether the set has any or not.
        assert "a quick look asks no stress cases, so that nothing was cleared on them" in QUICK["notes"]
        assert block(QUICK, "tail")["stress_drop"] == {"unavailable": "a quick look asks no stress cases"}


class TestWhereTrialsLack:
    def test_a_block_without_trials_is_not_measured_and_names_the_reason(self):
        broken = [("no-tail", case) for case in made.MAIN + made.STRESS]
        document = report.build(PLAN, made.run(broken=broken))
        found = block(document, "tail")
        assert found["verdict"] == "not measured"
        assert found["reason"] == "condition no-tail has no measured trial (40 error)"
        assert found["drop"] == {"unavailable": found["reason"]}
        assert found["share"] is None
        for name in ("needed_fraction", "oracle"):
            assert "estimate" not in document[name]
            assert "no-tail" in document[name]["unavailable"]

    def test_a_refused_threshold_refuses_every_block(self):
        document = report.build(PLAN, made.run(changed=[("again", case) for case in made.MAIN[:5]]))
        assert {one["verdict"] for one in document["blocks"]} == {"refused"}
        assert "lies below the churn floor: 12.5%" in document["refused"]
        assert document["composed"] == {"unavailable": f"nothing came out removable: {document['refused']}"}

    def test_nothing_measured_at_all_is_a_document_too(self):
        document = report.build(PLAN, made.told(PLAN, [made.question("a00")], lambda *_: None))
        assert {one["verdict"] for one in document["blocks"]} == {"not measured"}
        json.dumps(document, allow_nan=False)

    def test_shares_without_cases_are_told(self):
        plan = made.ablation(production={"turn": {"multi_turn": 0.23, "nightly": 0.77}})
        document = report.build(plan, made.run(plan, until=0))
        assert document["covers"] == pytest.approx(0.23)
        assert "production's shares are covered to 23%: there is no case of nightly" in document["notes"]


def stage_0(is_right):
    return lambda _case, arm: None if arm.stage else is_right(arm)


def test_how_a_run_went_is_told_of_the_stress_slice_too():
    case = made.STRESS[0]
    seen = [
        made.observation(case, "base"),
        made.observation(case, "no-tail", Status.ERROR),
        made.observation(made.MAIN[0], "base"),
    ]
    resumed = ("2026-11-30T06:00:00+00:00",)
    course = document.build(Run(made.record(PLAN, ablation=PLAN, resumed=resumed), tuple(seen), ()))["course"]
    assert course["resumed"] == [{"time": resumed[0], "reused": 2}]
    assert {arm: [one["trials"] for one in its] for arm, its in course["errors"].items()} == {"no-tail": [1]}
