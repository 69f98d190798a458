"""Production's shares of slices, where they call for what the set does without: no such cut is proposed, or holds."""

import made_ablation as made
import pytest

from pytest_tokenbench.ablation import composition, oracle, report, reweighting, setup, stages, together
from pytest_tokenbench.ablation.findings import Finding
from pytest_tokenbench.reporting import ablation, ablation_blocks
from pytest_tokenbench.results import Unavailable

# 69 single-turn cases and 8 follow-ups, which are half of production; three stress cases, none a follow-up.
SINGLE, FOLLOW_UPS, STRESS = 69, 8, 3
PRODUCTION = {"turn": {"multi_turn": 0.5, "single_turn": 0.5}}


def case(place):
    multi = SINGLE <= place < SINGLE + FOLLOW_UPS
    return made.replace(
        made.question("a00"),
        id=f"p{place:02}",
        slices={"turn": "multi_turn" if multi else "single_turn"},
        follow_up=multi,
        stress=place >= SINGLE + FOLLOW_UPS,
    )


CASES = [case(place) for place in range(SINGLE + FOLLOW_UPS + STRESS)]
SIZES = {
    "words": {one.id: made.WORDS for one in CASES},
    "scores": {one.id: {"passages": (10.0, 8.0, 3.0)} for one in CASES},
}


def plan_of(threshold=0.25, production=PRODUCTION, *, quick=False):
    return made.ablation(threshold=threshold, production=production, quick=quick, **SIZES)


PLAN = plan_of()
FOLLOWING = tuple(one.id for one in CASES if one.follow_up)


def told(wrong, plan=PLAN, asked=CASES):
    """Results in which `wrong` says by arm which cases come out wrong; without passages all do."""
    its = {"no-passages": [one.id for one in CASES]} | wrong
    return made.told(plan, asked, lambda one, arm: one.id not in its.get(arm.id, ()), sent)


def sent(_case, arm):
    """Tokens as words: a hundred, less those of what the arm leaves out."""
    words = made.WORDS[arm.blocks[0]] if arm.kind in {"without", "unit", "up_to"} else ()
    if arm.kind == "without":
        return 100 - sum(words)
    return 100 - (words[arm.unit - 1] if arm.kind == "unit" else sum(words[arm.unit :]) if words else 0)


class TestABlockThatProductionNeeds:
    RESULTS = told({"no-tail": FOLLOWING})
    FOUND = report.build(PLAN, RESULTS)

    def test_is_removable_on_the_set_and_half_of_production_is_lost_without_it(self):
        # 8 of 77 cases: 10 points. Half of production is follow-ups, and of these all are lost: 0.5 * 8/8 + 0.5 * 0/69.
        assert self.RESULTS.verdict("tail") == "removable"
        assert self.RESULTS.drop("tail").estimate == pytest.approx(8 / 77)
        assert self.RESULTS.reweighted_drop("tail").estimate == pytest.approx(0.5, rel=1e-12)
        assert self.RESULTS.clears_stress("no-tail") is True

    def test_is_not_proposed_to_be_cut(self):
        assert "tail" not in composition.proposal(self.RESULTS)
        assert "tail" not in stages.left_out(self.RESULTS)
        without = told({"no-tail": FOLLOWING}, plan_of(production={}))
        assert composition.proposal(without) == (*composition.proposal(self.RESULTS), "tail")

    def test_the_report_says_of_it_why(self):
        shown = ablation_blocks.section(self.FOUND, "").sentences
        told = [line for line in shown if line.startswith("tail: not cut")]
        assert len(told) == 1
        assert told[0].startswith(
            "tail: not cut, since with production's shares of slices it is needed (drop so 50.0"
        )
        assert sum(line.startswith("tail: ") and "production" in line for line in shown) == 1
        assert (
            "not counted in the needed fraction, which is of the main cases as they are, and yet not to be cut, since "
            "it is needed with production's shares: tail"
        ) in self.FOUND["notes"]

    def test_nor_is_a_unit(self):
        results = told({"no-passages-2": FOLLOWING})
        assert results.verdict("no-passages-2") == "removable"
        assert reweighting.ruled(results, "no-passages-2").finding is Finding.NEEDED
        found = report.build(PLAN, results)["blocks"][2]["units"]
        assert [unit["reweighted_verdict"] for unit in found] == ["removable", "needed", "removable"]
        assert [unit["reweighted_drop"]["estimate"] for unit in found] == pytest.approx([0, 0.5, 0])
        cut_alone = (
            composition.can_be_cut(results, "no-passages-1"),
            composition.can_be_cut(results, "no-passages-2"),
        )
        assert cut_alone == (True, False)

    def test_nor_in_a_quick_look(self):
        quick = plan_of(quick=True)
        asked = [one for one in CASES if not one.stress]
        assert "tail" not in composition.proposal(told({"no-tail": FOLLOWING}, quick, asked))
        assert "tail" in composition.proposal(told({}, quick, asked))

    def test_nor_where_missing_trials_could_make_it_needed(self):
        # Of the eight follow-ups four are not known: 0.5 * 4/8 in the worst case.
        unknown = FOLLOWING[:4]
        results = made.told(
            PLAN,
            CASES,
            lambda one, arm: None if arm.id == "no-tail" and one.id in unknown else arm.id != "no-passages",
        )
        found = reweighting.ruled(results, "no-tail")
        assert found.finding is Finding.NOT_MEASURED
        assert found.reason.startswith("trials are missing (4 of no-tail), with which it may be ")
        assert results.ruled("no-tail").finding is Finding.REMOVABLE
        assert not composition.can_be_cut(results, "no-tail")
        (told,) = [
            line
            for line in ablation_blocks.section(report.build(PLAN, results), "").sentences
            if line.startswith("tail: not cut")
        ]
        assert "trials are missing with which it may be needed" in told

    def test_where_nothing_else_could_go_that_is_the_reason(self):
        results = made.told(
            PLAN,
            CASES,
            lambda one, arm: (
                arm.kind in {"base", "again"} or (arm.id == "no-tail" and one.id not in FOLLOWING)
            ),
        )
        assert report.build(PLAN, results)["composed"] == {
            "unavailable": "no block and no unit came out removable and clear of the stress cases and is not needed with "
            "production's shares: there is nothing to leave out"
        }


class TestTheComposedArm:
    """System and tail say the same to follow-ups: free alone, and all of them are lost without both."""

    RESULTS = told({"composed": FOLLOWING, "pair-system-tail": FOLLOWING})
    FOUND = report.build(PLAN, RESULTS)

    def test_its_drop_by_hand(self):
        # Lost are 2 of 8 follow-ups and 3 of 69 others, each half of production.
        lost = (*FOLLOWING[:2], "p00", "p01", "p02")
        found = report.build(PLAN, told({"composed": lost}))["composed"]
        assert found["drop"]["estimate"] == pytest.approx(5 / 77)
        assert found["reweighted_drop"]["estimate"] == pytest.approx(0.5 * 2 / 8 + 0.5 * 3 / 69, rel=1e-12)
        assert found["reweighted_drop"]["n"] == 77

    def test_does_not_hold_where_production_needs_what_it_leaves_out(self):
        found = self.FOUND["composed"]
        assert (found["verdict"], found["clears_stress"]) == ("removable", True)
        assert (found["reweighted_verdict"], found["reweighted_n_to_decide"]) == ("needed", None)
        assert found["reweighted_drop"]["estimate"] == pytest.approx(0.5)
        assert found["holds"] is False
        assert found["note"].startswith(
            "does not hold: with production's shares the composed arm came out needed; its drop of 50.0 points"
        )
        assert self.FOUND["needed_fraction"]["put_back"] == found["left_out"]
        assert self.FOUND["needed_fraction"]["put_back_note"] == found["note"]

    def test_where_that_is_undecided_it_holds_with_a_caveat(self):
        made_of = report.build(PLAN, told({"composed": FOLLOWING[:3]}))
        found = made_of["composed"]
        assert (found["verdict"], found["reweighted_verdict"], found["holds"]) == (
            "removable",
            "undecided",
            True,
        )
        assert found["reweighted_n_to_decide"] > 77
        begins = "came out undecided at this number of cases with production's shares; its drop may lie on either side"
        assert found["caveat"].startswith(begins)
        assert made_of["needed_fraction"]["put_back"] == []
        shown = {one.name: one.sentences for one in ablation.sections({"ablation": made_of} | DOCUMENT)}
        assert shown["composed"][0].endswith(
            " with production's shares of slices; that forbids nothing, and it is not shown to be free there"
        )
        assert f"; note: what it does without {begins}" in shown["fractions"][0]
        (warning,) = setup._failures(told({"composed": FOLLOWING[:3]}), "composed")
        assert warning.startswith(f"in the run this cut {begins}")

    def test_a_few_follow_ups_of_many_cases_do_not_keep_every_cut_from_holding(self):
        # Five of eighty cases know 12 points at best of what follow-ups would lose: no threshold of 5 is reached below that.
        asked = [
            made.replace(
                made.question("a00"),
                id=f"w{place:02}",
                slices={"turn": "multi_turn" if place < 5 else "single_turn"},
            )
            for place in range(80)
        ]
        shares = {"turn": {"multi_turn": 0.23, "single_turn": 0.77}}
        plan = made.ablation(
            threshold=0.05, production=shares, words={one.id: made.WORDS for one in asked}, scores={}
        )
        results = made.told(
            plan, asked, lambda _case, arm: not (arm.blocks == ("passages",) and arm.kind == "without"), sent
        )
        whole = together.of(results)
        assert (whole.holds, whole.put_back) == (True, ())
        assert results.needed_fraction().estimate == pytest.approx(36 / 70)
        assert results.composition_holds() is True

    def test_nor_where_missing_trials_could_make_it_needed(self):
        # Of eight follow-ups four are not known in the composed arm.
        unknown = FOLLOWING[:4]
        results = made.told(
            PLAN,
            CASES,
            lambda one, arm: None if arm.id == "composed" and one.id in unknown else arm.id != "no-passages",
        )
        found = together.of(results)
        assert (found.ruled.finding, found.holds) == (Finding.REMOVABLE, False)
        assert found.note.startswith(
            "does not hold: with production's shares the composed arm has no finding, since trials are missing"
        )
        with pytest.raises(
            Unavailable, match="can go together is not known: does not hold: with production's"
        ):
            results.composition_holds()

    def test_nor_where_the_set_has_no_case_of_production_s_slices(self):
        plan = plan_of(production={"turn": {"nightly": 1.0}})
        found = together.of(told({}, plan))
        assert found.holds is False
        assert found.note == (
            "does not hold: with production's shares the composed arm has no finding: no case of production's slices was "
            "measured under composed"
        )

    def test_holds_where_it_is_removable_there_too(self):
        # Eight follow-ups without a loss still allow 37 of 100, and half of that is 18 points.
        found = report.build(PLAN, told({}))["composed"]
        assert (found["reweighted_verdict"], found["holds"], found["note"]) == ("removable", True, None)

    def test_the_report_has_a_row_and_a_word_on_it(self):
        (section,) = [
            one for one in ablation.sections({"ablation": self.FOUND} | DOCUMENT) if one.name == "composed"
        ]
        rows = dict(section.table.rows)
        assert rows["with production's shares"].startswith("50.0 [")
        assert section.sentences[0] == (
            "together: removable on this set; clears the stress slice; needed with production's shares of slices"
        )

    def test_without_shares_it_has_neither(self):
        plan = plan_of(production={})
        made_of = report.build(plan, told({"composed": FOLLOWING}, plan))
        assert made_of["composed"]["holds"] is True
        assert made_of["composed"]["reweighted_verdict"] is None
        (section,) = [
            one for one in ablation.sections({"ablation": made_of} | DOCUMENT) if one.name == "composed"
        ]
        assert "with production's shares" not in dict(section.table.rows)
        assert not any("production" in sentence for sentence in section.sentences)

    def test_a_shadow_comparison_warns_of_it(self):
        (warning,) = setup._failures(self.RESULTS, "composed")
        assert warning.startswith(
            "in the run this cut, with production's shares, came out needed; its drop of 50.0 points"
        )
        assert list(setup._failures(told({}), "composed")) == []


class TestTheOracleSTail:
    """Eight follow-ups of 77 cases; tails of 5 words, of 70 in all, as in every case."""

    def tail(self, results):
        keeps = oracle.kept(results)["tail"]
        return [one.id for one, its in zip(results.questions, keeps.any(axis=1), strict=True) if its]

    def test_counts_in_every_follow_up_where_the_block_counts(self):
        results = told({"no-tail": [one.id for one in CASES]})
        assert results.verdict("tail") == "needed"
        assert self.tail(results) == list(FOLLOWING)

    def test_counts_in_those_that_a_cut_that_holds_gets_wrong(self):
        # Two follow-ups of eight are lost without it, 12.5 points with production's shares, far below the threshold of 60.
        plan = plan_of(0.6)
        results = told({"no-tail": FOLLOWING[:2], "composed": FOLLOWING[:2]}, plan)
        assert together.of(results).holds is True
        assert "tail" in together.of(results).left_out
        assert self.tail(results) == list(FOLLOWING[:2])
        assert (
            "not counted in the needed fraction, and counted by the oracle in follow-ups that are not known to be right "
            "without: tail in 2 cases"
        ) in report.build(plan, results)["notes"]

    def test_counts_in_none_that_are_right_without_it(self):
        results = told({})
        assert together.of(results).holds is True
        assert self.tail(results) == []

    def test_counts_in_all_of_them_where_the_cut_does_not_hold(self):
        results = told({"composed": FOLLOWING})
        assert self.tail(results) == list(FOLLOWING)

    def test_counts_in_all_of_them_where_it_is_not_cut(self):
        assert self.tail(told({"no-tail": FOLLOWING})) == list(FOLLOWING)

    def test_counts_in_one_that_was_not_measured_in_the_cut(self):
        plan = plan_of(0.6)
        results = made.told(
            plan,
            CASES,
            lambda one, arm: (
                None if arm.id == "composed" and one.id == FOLLOWING[0] else arm.id != "no-passages"
            ),
        )
        assert together.of(results).holds is True
        assert self.tail(results) == [FOLLOWING[0]]

    def test_its_tokens_by_hand(self):
        # Of 77 cases two follow-ups have their tail of 5 words, and all their first passage of 10: 780 of 77 * 70 words.
        results = told({"no-tail": FOLLOWING[:2], "composed": FOLLOWING[:2]}, plan_of(0.6))
        needed, total = oracle.by_oracle(results).means()
        assert total == pytest.approx(70)
        assert needed == pytest.approx((77 * 10 + 2 * 5) / 77)


DOCUMENT = {
    "baseline": "base",
    "conditions": {"base": {"measures": {"accuracy": {"unavailable": "-"}, "input_tokens": {}}}},
}
