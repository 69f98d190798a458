"""What an ablation found as text: whole at two widths, what is missing, what a quick look leaves out, Markdown."""

import re
from dataclasses import replace

import made_findings
import made_runs
import pytest

from pytest_tokenbench.reporting import ablation, document, markdown, sections, terminal, wording
from pytest_tokenbench.reporting import ablation_words as words

NARROW = """\
needed-context: 80 cases and 20 of the stress slice, scripted:1b (scripted),
    cold order

block       tokens    share    drop, points [95%]  verdict
--------  --------  -------  --------------------  -----------------------------
system         900       6%       6.2 [1.2, 12.5]  undecided at this n (n=1,240)
policy         300       2%      0.0 [-4.5, 4.5]!  removable on this set
examples     2,100      15%     20.0 [12.5, 28.7]  needed
passages     9,800      70%     55.0 [43.8, 66.2]  needed
tail           900       6%        1.2 [0.0, 3.8]  removable on this set
with every block: 100% [100, 100]! right, 14,000 tokens a prompt; of the stress
    slice 85% [70, 100]
needed: leaving it out loses 5.0 points or more, by its whole interval;
    removable on this set: less, by its whole interval; a block's tokens have no
    say in it; (n=...) is how many cases would decide
policy: clears the stress slice (drop there 0.0 [-10.0, 10.0])
tail: not cut, since it does not clear the stress slice (drop there 35.0 [15.0,
    55.0])
tail: not cut, since with production's shares of slices it is needed (drop so
    9.2 [6.0, 12.5])

examples, one unit at a time left out
left out      tokens    drop, points [95%]  verdict
----------  --------  --------------------  ---------------------------
examples/1       800      15.0 [8.8, 22.5]  needed
examples/2       800      -1.2 [-3.8, 0.0]  removable on this set
examples/3       800        3.8 [0.0, 8.8]  undecided at this n (n=310)

passages, nothing after a rank
kept             tokens saved    drop, points [95%]  verdict of the rest
-------------  --------------  --------------------  ---------------------
passages to 1           7,840     17.5 [10.0, 26.2]  needed
passages to 2           5,880        1.2 [0.0, 3.8]  removable on this set

left out together: policy, examples/2, passages/3-5
composed arm                drop, points [95%]
------------------------  --------------------
measured                      10.0 [3.8, 17.5]
with production's shares      13.0 [6.0, 21.0]
sum of single drops                        0.0
shortfall                     10.0 [3.8, 17.5]
on the stress slice            5.0 [0.0, 15.0]
together: undecided at this n (n=260); clears the stress slice; needed with
    production's shares of slices
saves 6,880 tokens a case, 49% of the blocks' tokens
2 cases lost that no part left out alone loses: s003, s004
lost by slice: turn: single_turn 2; rule: redundant 2
redundant: policy and examples; either alone is free, both together lose s003,
    s004
redundant within passages: its units left out together lose s004

needed fraction: 91.4% [75.0, 97.9], 12,800 of 14,000 tokens; a block that is
    undecided counts as needed, and so does what came out removable alone and
    yet is not shown to go together (policy, examples/2, passages/3-5): does not
    hold: the composed arm came out undecided; its interval has the threshold in
    it
oracle fraction: 31.4% [29.5, 33.4], 4,394 of 14,000 tokens (oracle: a ceiling
    over every selector, which knows the answers; it is not available at serve
    time)

a selector that could ship: passages by retrieval score
score kept      tokens saved    of oracle's saving    points lost [95%]
------------  --------------  --------------------  -------------------
2 or more              2,900    30.0% [25.0, 35.0]      0.0 [-4.0, 4.0]
6 or more              5,900    62.0% [57.0, 67.0]      2.5 [-1.5, 6.5]
12.5 or more           9,100   96.0% [91.0, 100.0]    30.0 [26.0, 34.0]
2, 6 or more: clears the stress slice
12.5 or more: does not clear the stress slice

churn floor: 1.2% [0.0, 3.8] of cases differ when the base is asked again; the
    threshold is 5.0 points
production: turn: multi_turn 23%, single_turn 77%; the set has cases for 100% of
    it
note: follow-ups are 6% of the set and 23% of production
"""
# What a terminal of 140 columns shows besides.
ELSEWHERE = """\
the same blocks elsewhere, and by token
block           stress drop    re-weighted drop  re-weighted                    points per 1,000     filler drop        by length
--------  -----------------  ------------------  ---------------------------  ------------------  --------------  ---------------
system    0.0 [-10.0, 10.0]     6.2 [1.2, 12.5]  undecided at this n (n=990)     6.9 [1.0, 60.0]  3.0 [0.0, 6.0]  1.0 [-2.0, 4.0]
policy    0.0 [-10.0, 10.0]    0.0 [-4.5, 4.5]!  removable                       0.0 [1.0, 60.0]  3.0 [0.0, 6.0]  1.0 [-2.0, 4.0]
examples  0.0 [-10.0, 10.0]   20.0 [12.5, 28.7]  needed                          9.5 [1.0, 60.0]  3.0 [0.0, 6.0]  1.0 [-2.0, 4.0]
passages  0.0 [-10.0, 10.0]   55.0 [43.8, 66.2]  needed                          5.6 [1.0, 60.0]  3.0 [0.0, 6.0]  1.0 [-2.0, 4.0]
tail      35.0 [15.0, 55.0]     9.2 [6.0, 12.5]  needed                          1.4 [1.0, 60.0]  3.0 [0.0, 6.0]  1.0 [-2.0, 4.0]
re-weighted: with production's shares of slices; points per 1,000: what 1,000 of its tokens give; filler: neutral text of equal length in
    its place, whose drop is the content's, while the rest of the drop is by length
a filler's prompts are off the base's by tokens (mean, most): system 1.2, 4; policy 1.2, 4; examples 1.2, 4; passages 1.2, 4; tail 1.2, 4
"""
QUICK = """\
needed-context: 6 cases, scripted:1b (scripted), cold order
QUICK look: few cases, nothing but each block and then all removable ones left
    out; not the study, its verdicts prove nothing

block       tokens    share    drop, points [95%]  verdict
--------  --------  -------  --------------------  -----------------------------
system         900       6%       6.2 [1.2, 12.5]  undecided at this n (n=1,240)
policy         300       2%      0.0 [-4.5, 4.5]!  removable on this set
examples     2,100      15%     20.0 [12.5, 28.7]  needed
passages     9,800      70%     55.0 [43.8, 66.2]  needed
tail           900       6%        1.2 [0.0, 3.8]  removable on this set
with every block: 100% [100, 100]! right, 14,000 tokens a prompt
needed: leaving it out loses 5.0 points or more, by its whole interval;
    removable on this set: less, by its whole interval; a block's tokens have no
    say in it; (n=...) is how many cases would decide
tail: not cut, since with production's shares of slices it is needed (drop so
    9.2 [6.0, 12.5])

examples not taken apart: a quick look takes nothing apart
passages not taken apart: a quick look takes nothing apart
"""
KINDS = pytest.mark.parametrize("kind", made_findings.KINDS)


def lines(made, width):
    return [line for line, _ in terminal.summary(made, width)]


def until_the_hypotheses(made, width):
    shown = lines(made, width)
    return "\n".join(shown[: next(place for place, line in enumerate(shown) if line.startswith("H1"))])


def unwrapped(made):
    """All that a terminal shows, each sentence on one line."""
    return lines(made, 10_000)


def report(made, quick=False):
    return markdown.render(made, made_findings.run(quick=quick).record)


def with_block(**changes):
    """What was found, with the first block changed."""
    first, *rest = made_findings.BLOCKS
    return made_findings.built(made=made_findings.FOUND | {"blocks": [first | changes, *rest]})


class TestTerminal:
    def test_80_columns(self):
        assert until_the_hypotheses(made_findings.built(), 80) == NARROW

    def test_140_columns_have_room_for_the_blocks_elsewhere(self):
        shown = until_the_hypotheses(made_findings.built(), 140)
        assert ELSEWHERE in shown
        assert all(len(line) <= 140 for line in shown.splitlines())
        assert "the same blocks elsewhere" not in until_the_hypotheses(made_findings.built(), 119)

    def test_a_quick_look_says_so_before_its_numbers(self):
        assert until_the_hypotheses(made_findings.built("quick"), 80).startswith(QUICK)
        assert wording.QUICK_NOTICE not in unwrapped(made_findings.built("quick"))

    @KINDS
    @pytest.mark.parametrize("width", [80, 140])
    def test_nothing_is_wider_than_the_terminal(self, kind, width):
        assert max(map(len, lines(made_findings.built(kind), width))) <= width

    @KINDS
    def test_no_value_is_shown_that_is_none_or_no_number(self, kind):
        text = "\n".join([*unwrapped(made_findings.built(kind)), report(made_findings.built(kind))])
        assert not re.search(r"\b(None|NaN|nan|inf|Infinity)\b", text)

    def test_the_hypotheses_come_last_as_usual(self):
        shown = unwrapped(made_findings.built())
        assert shown.index("H1 failed: The composed arm loses less than 10 points.") > shown.index(
            "note: follow-ups are 6% of the set and 23% of production"
        )
        assert "    drop under composed = 0.1 [0.0375, 0.175], n=80" in shown

    def test_the_table_of_arms_is_not_shown(self):
        assert not any(line.startswith("no-system ") for line in lines(made_findings.built(), 140))

    @pytest.mark.parametrize(
        ("cases", "stress", "told"),
        [
            (80, 20, "80 cases and 20 of the stress slice"),
            (1, 0, "1 case"),
            (1200, 1000, "1,200 cases and 1,000 of the stress slice"),
        ],
    )
    def test_cases_are_counted_and_not_documents(self, cases, stress, told):
        made = made_findings.built(made=made_findings.FOUND | {"cases": cases, "stress_cases": stress})
        assert unwrapped(made)[0] == f"needed-context: {told}, scripted:1b (scripted), cold order"

    @pytest.mark.parametrize("sign", ["\x1b", "\x07", "\u202e", "\r"])
    def test_control_characters_do_not_reach_the_terminal(self, sign):
        evil = f"a{sign}[31mb"
        found = made_findings.FOUND | {
            "blocks": [one | {"name": evil, "reason": evil} for one in made_findings.BLOCKS],
            "notes": [evil],
            "refused": evil,
            "composed": {"unavailable": evil},
            "oracle": {"unavailable": evil},
        }
        for width in (80, 140):
            assert not any(sign in line for line in lines(made_findings.built(made=found), width))


class TestVerdicts:
    def test_undecided_comes_with_the_n_that_would_decide(self):
        assert words.verdict({"verdict": "undecided", "n_to_decide": 310}) == "undecided at this n (n=310)"

    def test_without_an_interval_no_number_is_told(self):
        alone = {"verdict": "undecided", "n_to_decide": None, "drop": made_findings.figure(0.0, n=1)}
        assert words.verdict(alone) == "undecided (no interval)"
        weighed = made_findings.BLOCKS[0] | {
            "reweighted_drop": made_findings.figure(0.05),
            "reweighted_verdict": "undecided",
            "reweighted_n_to_decide": None,
        }
        assert words.reweighted_verdict(weighed) == "undecided (no interval)"

    def test_where_no_n_would_decide_that_is_told(self):
        assert (
            words.verdict({"verdict": "undecided", "n_to_decide": None})
            == "undecided at this n (no n decides)"
        )

    def test_a_refused_threshold_is_told_first_with_its_reason_and_once(self):
        shown = unwrapped(made_findings.built("refused"))
        told = "the threshold of 5.0 points lies below the churn floor: 8.8% of the cases come out otherwise"
        assert shown[1] == f"refused: {told}"
        assert sum(told in line for line in shown) == 1

    def test_blocks_that_were_not_measured_say_why_once(self):
        shown = unwrapped(made_findings.built("nothing measured"))
        names = "system, policy, examples, passages, tail"
        assert f"{names} not measured: no trial of base was run" in shown

    def test_a_verdict_that_holds_in_production_too_is_not_told_twice(self):
        assert not any(
            "with production's shares of slices (drop" in line
            for line in unwrapped(made_findings.built("no production"))
        )
        told = "system: undecided at this n (n=990) with production's shares of slices (drop 4.0 [1.0, 7.0])"
        made = with_block(verdict="needed", reweighted_drop=made_findings.figure(0.04, 0.01, 0.07))
        assert told in unwrapped(made)

    def test_removable_is_not_said_of_this_set_where_another_is_meant(self):
        made = with_block(verdict="needed", reweighted_verdict="removable")
        assert any(line.startswith("system: removable with production's") for line in unwrapped(made))

    def test_tokens_that_are_not_known_are_a_dash_and_a_sentence(self):
        made = with_block(tokens={"unavailable": "the server tells no counts"}, share=None)
        assert "tokens not known of system: the server tells no counts" in unwrapped(made)
        assert re.search(r"^system +- +- +6\.2", "\n".join(lines(made, 80)), re.MULTILINE)


class TestComposed:
    def test_where_it_was_not_asked_the_reason_is_told(self):
        told = "composed arm: composed was not asked: nothing came out removable"
        assert told in unwrapped(made_findings.built("composed unavailable"))

    @pytest.mark.parametrize(
        ("changes", "told"),
        [
            (
                {"verdict": "removable"},
                "removable on this set; clears the stress slice; needed with production's shares of slices",
            ),
            (
                {"verdict": "removable", "clears_stress": False, "reweighted_verdict": "removable"},
                "removable on this set; does not clear the stress slice; removable with production's shares of slices",
            ),
            (
                {
                    "verdict": "removable",
                    "clears_stress": None,
                    "reweighted_verdict": "undecided",
                    "reweighted_n_to_decide": 410,
                },
                "removable on this set; undecided at this n (n=410) with production's shares of slices",
            ),
            ({"verdict": "needed", "clears_stress": None, "reweighted_verdict": None}, "needed"),
        ],
    )
    def test_what_came_out_of_all_together_is_told_with_how_it_does_under_stress(self, changes, told):
        composed = made_findings.COMPOSED | changes
        made = made_findings.built(made=made_findings.FOUND | {"composed": composed})
        assert f"together: {told}" in unwrapped(made)

    @pytest.mark.parametrize(
        ("clears", "note", "told"),
        [
            (None, "few are right", "; not known to clear the stress slice: few are right; needed with"),
            (None, None, "; needed with"),
            (False, None, "; does not clear the stress slice; needed with"),
        ],
    )
    def test_why_it_is_not_known_to_clear_the_stress_slice_is_told(self, clears, note, told):
        composed = made_findings.COMPOSED | {"clears_stress": clears, "stress_note": note}
        shown = unwrapped(made_findings.built(made=made_findings.FOUND | {"composed": composed}))
        (line,) = [one for one in shown if one.startswith("together: ")]
        assert line.startswith(f"together: undecided at this n (n=260){told}")

    def test_where_nothing_is_lost_that_is_told(self):
        shown = unwrapped(made_findings.built("nothing lost"))
        assert "no case is lost that its parts left out alone do not lose" in shown
        assert not any("redundant" in line for line in shown)

    def test_a_loss_that_no_pair_explains_is_told_as_such(self):
        pairs = [one | {"lost": [], "redundant": False} for one in made_findings.COMPOSED["pairs"]]
        assert not any("within noise" in line for line in unwrapped(made_findings.built()))
        composed = made_findings.COMPOSED | {"pairs": pairs, "within": []}
        made = made_findings.built(made=made_findings.FOUND | {"composed": composed})
        assert "no two of its parts alone explain them" in unwrapped(made)

    def test_lost_cases_that_are_within_noise_are_told_in_one_line_and_not_as_redundant(self):
        pairs = [one | {"lost": ["s003"], "redundant": False} for one in made_findings.COMPOSED["pairs"]]
        within = [one | {"redundant": False} for one in made_findings.COMPOSED["within"]]
        composed = made_findings.COMPOSED | {"pairs": pairs, "within": within}
        shown = unwrapped(made_findings.built(made=made_findings.FOUND | {"composed": composed}))
        assert (
            "within noise, and not told to be redundant: lost without both of policy and examples: s003; policy and "
            "passages: s003; units of passages: s004"
        ) in shown
        assert not any(line.startswith("redundant") for line in shown)

    def test_either_alone_is_said_to_be_free_only_where_it_is(self):
        pairs = [one | {"free_alone": False} for one in made_findings.COMPOSED["pairs"]]
        composed = made_findings.COMPOSED | {"pairs": pairs}
        shown = unwrapped(made_findings.built(made=made_findings.FOUND | {"composed": composed}))
        assert (
            "redundant: policy and examples; neither alone loses these cases, both together do: s003, s004"
            in shown
        )

    @pytest.mark.parametrize(("predicted", "is_told"), [(-0.55, True), (-0.0004, False), (0.1, False)])
    def test_single_drops_that_sum_up_to_a_gain_are_told_to_be_one(self, predicted, is_told):
        composed = made_findings.COMPOSED | {"predicted": predicted}
        shown = unwrapped(made_findings.built(made=made_findings.FOUND | {"composed": composed}))
        told = (
            "the single drops sum up to a gain, which is noise or a real help: of the shortfall so much is no loss, and "
            "what the cut loses is measured"
        )
        assert (told in shown) is is_told

    def test_a_drop_with_production_s_shares_that_is_not_known_says_why(self):
        changes = {"reweighted_drop": {"unavailable": "no case of them"}, "reweighted_verdict": None}
        composed = made_findings.COMPOSED | changes
        shown = unwrapped(made_findings.built(made=made_findings.FOUND | {"composed": composed}))
        assert "drop with production's shares not known: no case of them" in shown

    def test_a_quick_look_says_that_interactions_were_not_measured(self):
        assert "which of its parts interact was not measured" in unwrapped(made_findings.built("quick"))

    def test_many_lost_cases_are_named_as_far_as_can_be_read(self):
        assert words.listed([f"s{number}" for number in range(15)]).endswith("s10, s11 and 3 more")
        assert words.listed(["a", "b"]) == "a, b"

    @pytest.mark.parametrize(
        ("names", "told"),
        [
            (["tail"], "tail"),
            (["examples/1", "examples/2", "examples/3"], "examples/1-3"),
            (["tail", "examples/1", "examples/3", "passages/4"], "tail, examples/1, examples/3, passages/4"),
            (["a/1", "b/2"], "a/1, b/2"),
            (["a", "a/b/1", "a/b/2"], "a, a/b/1-2"),
        ],
    )
    def test_units_in_a_row_are_told_as_a_range(self, names, told):
        assert words.left_out(names) == told


class TestFractions:
    def test_where_all_of_it_can_go_together_nothing_is_said_to_be_put_back(self):
        fraction = made_findings.FOUND["needed_fraction"] | {"put_back": [], "put_back_note": None}
        made = made_findings.built(made=made_findings.FOUND | {"needed_fraction": fraction})
        told = "needed fraction: 91.4% [75.0, 97.9], 12,800 of 14,000 tokens; a block that is undecided counts as needed"
        assert told in unwrapped(made)

    @KINDS
    def test_the_oracle_never_comes_without_its_caveat(self, kind):
        (told,) = [
            line for line in unwrapped(made_findings.built(kind)) if line.startswith("oracle fraction")
        ]
        known = "unavailable" not in made_findings.KINDS[kind]["oracle"]
        assert (made_findings.NOTE in told) == known
        assert ("not known, since" in told) != known

    def test_a_churn_floor_that_was_not_measured_says_why(self):
        (told,) = [line for line in unwrapped(made_findings.built("quick")) if line.startswith("churn floor")]
        assert (
            told
            == "churn floor: not measured, since a quick look asks no such arm; the threshold is 5.0 points"
        )

    def test_how_much_of_production_has_cases_is_told(self):
        made = made_findings.built(made=made_findings.FOUND | {"covers": 0.77})
        told = "production: turn: multi_turn 23%, single_turn 77%; the set has cases for 77% of it"
        assert told in unwrapped(made)

    def test_without_shares_of_production_that_is_told(self):
        told = "production: no shares of slices were given, so nothing is re-weighted"
        assert told in unwrapped(made_findings.built("no production"))


class TestBesideADrop:
    def test_units_ranks_and_scores_have_their_drop_with_production_s_shares(self):
        text = "\n".join(lines(made_findings.built(), 140))
        assert re.search(r"^examples/1 .* 0\.0 \[-10\.0, 10\.0\] +2\.1 \[0\.0, 4\.1\]$", text, re.MULTILINE)
        assert re.search(r"^passages to 1 .* 2\.1 \[0\.0, 4\.1\]$", text, re.MULTILINE)
        assert re.search(r"^6 or more .* 10\.0 \[-5\.0, 25\.0\] +3\.8 \[-1\.2, 8\.8\]$", text, re.MULTILINE)

    def test_they_have_no_column_of_it_without_shares(self):
        found = made_findings.KINDS["no production"]
        none = {"reweighted_drop": {"unavailable": "none"}, "reweighted_verdict": None}
        blocks = [
            one | {key: [its | none for its in one[key]] for key in ("units", "ranks")}
            for one in found["blocks"]
        ]
        swept = [one | none for one in found["selector"]]
        made = made_findings.built(made=found | {"blocks": blocks, "selector": swept})
        heads = [one for one in lines(made, 140) if one.startswith(("left out  ", "kept  ", "score kept  "))]
        assert len(heads) == 3
        assert all("stress drop" in one and "re-weighted" not in one for one in heads)

    def test_a_unit_without_a_verdict_says_why(self):
        *rest, last = made_findings.BLOCKS[2]["units"]
        block = made_findings.BLOCKS[2] | {"units": [*rest, last | {"verdict": "not measured"}]}
        made = made_findings.built(made=made_findings.FOUND | {"blocks": [block]})
        assert "examples/3 not measured: the reason of 3" in unwrapped(made)


class TestFigures:
    def test_a_drop_has_a_minus_where_it_is_a_gain_and_no_plus(self):
        assert words.drop(made_findings.figure(0.125, -0.0004, 0.25)) == "12.5 [0.0, 25.0]"
        assert words.drop(made_findings.figure(-0.01, -0.02, 0.0)) == "-1.0 [-2.0, 0.0]"

    def test_what_did_not_vary_is_marked_and_what_has_no_interval_says_so(self):
        flat = made_findings.figure(0.0, -0.045, 0.045, zero_width=True)
        assert words.drop(flat) == "0.0 [-4.5, 4.5]!"
        assert words.percent(made_findings.figure(0.5)) == "50.0% [no interval]"

    def test_the_mark_is_explained_once_where_it_is_shown_and_only_there(self):
        def explained(made):
            return sum(line.startswith("note: ! marks what did not vary") for line in unwrapped(made))

        assert explained(made_findings.built()) == 1
        varied = [
            one | {key: made_findings.figure(0.01, 0.0, 0.02) for key in ("drop", "reweighted_drop")}
            for one in made_findings.BLOCKS
        ]
        made = made_findings.built(made=made_findings.FOUND | {"blocks": varied})
        # The base of these six cases is always right.
        assert explained(made) == 1
        for its in made["conditions"].values():
            for figure in (its["measures"]["accuracy"], *its.get("differences", {}).values()):
                figure |= {"zero_width": False, "low": 0.9}
        assert explained(made) == 0

    def test_reasons_are_told_once_each_with_the_names_that_they_hold_for(self):
        known, one, other = (
            made_findings.figure(0.1),
            {"unavailable": "no such arm"},
            {"unavailable": "cut\nshort"},
        )
        assert words.absent("drop", [("a", known), ("b", one), ("c", other), ("d", one)]) == [
            "drop not known of b, d: no such arm",
            "drop not known of c: cut short",
        ]
        assert words.absent("drop", [("a", one), ("b", one)]) == ["drop not known: no such arm"]


class TestNotes:
    def test_a_trial_that_was_not_needed_is_not_missing(self):
        notes = wording.notes(made_findings.built())
        assert "not asked, since earlier trials made that needless: examples-1" in notes
        assert not any("missing" in note for note in notes)

    def test_an_arm_that_was_not_asked_has_no_line_of_figures(self):
        names = [
            line.split("|")[1].strip() for line in report(made_findings.built()).splitlines() if "|" in line
        ]
        assert "passages-to-1" in names
        assert "examples-1" not in names

    def test_a_trial_that_failed_is(self):
        run = made_findings.run()
        first, *rest = run.observations
        run = replace(run, observations=(made_runs.errored(first), *rest))
        made = document.build(run) | {"ablation": made_findings.FOUND}
        assert "base: 1 trial missing (1 error)" in wording.notes(made)

    def test_arms_are_named_as_far_as_can_be_read(self):
        (told,) = [note for note in wording.notes(made_findings.built()) if note.startswith("prefill")]
        assert told.endswith("again, passages-to-1 and 3 more")

    def test_costs_are_those_of_the_base_and_of_the_composed_arm(self):
        shown = lines(made_findings.built("whole", None, made_runs.BY_HAND), 80)
        start = next(place for place, line in enumerate(shown) if line.startswith("Cost per 1,000"))
        named = [
            line.split("  ")[0] for line in shown[start:] if re.match(r"[a-z]+(, cached)?  +[\d-]", line)
        ]
        assert named == ["base", "base, cached", "composed"]


class TestMarkdown:
    def test_it_holds_what_the_terminal_shows_and_the_arms(self):
        text = report(made_findings.built())
        assert text.startswith(
            "# needed-context: scripted:1b\n\n80 cases and 20 of the stress slice, cold order.\n"
        )
        assert re.search(
            r"^\| system +\| +900 \| +6% \| +6\.2 \[1\.2, 12\.5\] \| undecided at this n \(n=1,240\) +\|$",
            text,
            re.MULTILINE,
        )
        assert "## Left out together: policy, examples/2, passages/3-5\n" in text
        assert re.search(r"^\| shortfall +\| +10\.0 \[3\.8, 17\.5\] \|$", text, re.MULTILINE)
        assert re.search(r"^\| pair-policy-examples +\|", text[text.index("## Arms") :], re.MULTILINE)
        order = [
            text.index(part)
            for part in ("| system", "oracle fraction", "## Arms", "## Hypotheses", "## What was run")
        ]
        assert order == sorted(order)

    def test_columns_that_no_arm_has_are_left_out(self):
        text = report(made_findings.built())
        assert not any(heading in text for heading in ("made up", "prepared/doc", "pays from", "abstained"))

    def test_a_quick_look_says_so_in_its_title_and_its_notice(self):
        text = report(made_findings.built("quick"), quick=True)
        assert text.startswith("# needed-context (QUICK): ")
        assert "**QUICK look: few cases" in text

    def test_a_block_whose_name_has_a_bar_breaks_no_table(self):
        found = made_findings.FOUND | {"blocks": [one | {"name": "a|*b*"} for one in made_findings.BLOCKS]}
        text = ablation.markdown(made_findings.built(made=found), markdown.escape)
        assert "a|" not in text
        for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
            bars = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
            assert len(bars) == 1


def test_columns_of_words_are_on_the_left_and_a_table_that_is_too_wide_loses_columns_first():
    table = sections.Table(
        ("block", "tokens", "verdict"),
        (("a", "900", "needed"), ("b", "2,400", "no")),
        ("verdict",),
        ("tokens",),
    )
    assert table.fitted(80).splitlines()[-1] == "b           2,400  no"
    assert table.fitted(20).splitlines()[-1] == "b        no"
