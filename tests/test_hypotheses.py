"""Verdicts: passed, failed, unavailable and error; what missing trials do to them; the evidence behind them."""

import math
from dataclasses import replace

import made_runs
import pytest
import scripted

from pytest_tokenbench import statistics
from pytest_tokenbench.hypotheses import judge, spoilt, standing, unavailable
from pytest_tokenbench.records import Bound, Evidence, Ruling, Status, Verdict, decode, encode
from pytest_tokenbench.results import Results
from pytest_tokenbench.study import Hypothesis


def hypothesis(function):
    return Hypothesis("H", function)


def made(**conditions):
    """Results of conditions given as words: + right, - wrong, x an error, . not run."""
    length = max(map(len, conditions.values()))
    questions = [scripted.question(f"q{i}") for i in range(length)]
    trials = [
        scripted.observation(
            question, name, right=sign == "+", status=Status.ERROR if sign == "x" else Status.OK
        )
        for name, signs in conditions.items()
        for question, sign in zip(questions, signs, strict=True)
        if sign != "."
    ]
    return Results(questions, list(conditions), next(iter(conditions)), trials)


class TestStanding:
    """What is told of verdicts when the ledger that they rest on is read again."""

    @staticmethod
    def read(judged, there):
        run = made_runs.run()
        return replace(run, record=replace(run.record, judged=judged), observations=run.observations[:there])

    @pytest.mark.parametrize(("judged", "there"), [(8, 8), (7, 8), (None, 8), (None, 3)])
    def test_verdicts_stand_as_given_where_no_trial_is_known_to_be_lost(self, judged, there):
        assert standing(self.read(judged, there)) == made_runs.record().verdicts

    @pytest.mark.parametrize(("there", "lacks"), [(7, "1"), (2, "6"), (0, "8")])
    def test_verdicts_on_trials_that_are_lost_are_not_known(self, there, lacks):
        (verdict,) = standing(self.read(8, there))
        assert verdict.ruling is Ruling.UNAVAILABLE
        assert verdict.reason == f"not known: the ledger lacks {lacks} of the 8 trials that it was judged on"
        assert verdict.evidence == ()
        assert (verdict.hypothesis, verdict.statement) == ("H1", "C costs less.")


class TestRulings:
    def test_a_claim_that_holds_has_passed(self):
        def claim(results):
            """D is right as often as A."""
            assert results.estimate("accuracy", "D").estimate >= results.estimate("accuracy", "A").estimate

        judgement = judge(hypothesis(claim), made(A="++-", D="+-+"))
        assert judgement.verdict.ruling is Ruling.PASSED
        assert judgement.verdict.hypothesis == "H"
        assert judgement.verdict.statement == "D is right as often as A."
        assert judgement.verdict.reason == ""
        assert judgement.exception is None

    def test_a_claim_that_does_not_hold_has_failed_with_its_reason_and_exception(self):
        def claim(results):
            value = results.estimate("accuracy", "A").estimate
            assert value > 0.9, f"only {value}\nsecond line"

        judgement = judge(hypothesis(claim), made(A="++--"))
        assert judgement.verdict.ruling is Ruling.FAILED
        assert judgement.verdict.reason == "only 0.5"
        assert isinstance(judgement.exception, AssertionError)

    def test_a_claim_on_what_was_not_measured_is_unavailable(self):
        def claim(results):
            assert results.estimate("accuracy", "D").estimate > 0

        judgement = judge(hypothesis(claim), made(A="++", D=".."))
        assert judgement.verdict.ruling is Ruling.UNAVAILABLE
        assert judgement.verdict.reason == "condition D was not measured"
        assert judgement.exception is None

    @pytest.mark.parametrize("sign", ["+", "-"])
    def test_asking_for_an_interval_that_is_not_there_is_unavailable_and_never_passes(self, sign):
        def claim(results):
            assert results.estimate("accuracy", "A").low > -1

        assert judge(hypothesis(claim), made(A=sign)).verdict.ruling is Ruling.UNAVAILABLE

    def test_a_hypothesis_that_leaves_python_is_an_error(self):
        def claim(results):  # noqa: ARG001
            raise SystemExit(3)

        verdict = judge(hypothesis(claim), made(A="+")).verdict
        assert (verdict.ruling, verdict.reason) == (Ruling.ERROR, "SystemExit: 3")

    def test_any_other_exception_is_an_error_and_no_failed_claim(self):
        def claim(results):
            assert results.estimate("acuracy", "A").estimate > 0

        judgement = judge(hypothesis(claim), made(A="++"))
        assert judgement.verdict.ruling is Ruling.ERROR
        assert judgement.verdict.reason.startswith("ValueError: there is no measure 'acuracy'")
        assert isinstance(judgement.exception, ValueError)

    def test_pytest_fail_and_pytest_skip_are_rulings_too(self):
        def fails(results):  # noqa: ARG001
            pytest.fail("as the author says")

        def skips(results):  # noqa: ARG001
            pytest.skip("not on this machine")

        failed, skipped = (judge(hypothesis(one), made(A="+")).verdict for one in (fails, skips))
        assert (failed.ruling, failed.reason) == (Ruling.FAILED, "as the author says")
        assert (skipped.ruling, skipped.reason) == (Ruling.UNAVAILABLE, "not on this machine")

    def test_an_interrupt_is_not_a_ruling(self):
        def claim(results):  # noqa: ARG001
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            judge(hypothesis(claim), made(A="+"))


class TestMissing:
    @staticmethod
    def claim(results):
        assert results.estimate("accuracy", "D").estimate >= 0.5

    @pytest.mark.parametrize("signs", ["++-x", "++x-", "++xx"])
    def test_a_verdict_that_no_way_of_counting_changes_stands(self, signs):
        # At worst 2 of 4.
        assert judge(hypothesis(self.claim), made(A="++++", D=signs)).verdict.ruling is Ruling.PASSED

    def test_a_failure_that_no_way_of_counting_changes_stands(self):
        # At best 1 of 4.
        judgement = judge(hypothesis(self.claim), made(A="++++", D="---x"))
        assert judgement.verdict.ruling is Ruling.FAILED
        assert isinstance(judgement.exception, AssertionError)

    def test_a_pass_that_counting_them_wrong_would_undo_is_unavailable_and_says_why(self):
        judgement = judge(hypothesis(self.claim), made(A="++++", D="+-.x"))
        assert judgement.verdict.ruling is Ruling.UNAVAILABLE
        assert (
            judgement.verdict.reason
            == "passed without the missing trials, but failed counting 2 missing of D as wrong"
        )
        assert judgement.exception is None

    def test_a_failure_that_counting_them_right_would_undo_is_unavailable_and_says_why(self):
        judgement = judge(hypothesis(self.claim), made(A="++++", D="+--x"))
        assert judgement.verdict.ruling is Ruling.UNAVAILABLE
        assert (
            judgement.verdict.reason
            == "failed without the missing trials, but passed counting 1 missing of D as right"
        )

    def test_an_interval_that_a_claim_rests_on_is_counted_both_ways(self):
        def claim(results):
            assert results.difference("accuracy", "D", versus="A").low > -0.05

        whole = made(A="+" * 40, D="+" * 40)
        assert judge(hypothesis(claim), whole).verdict.ruling is Ruling.PASSED
        lost = made(A="+" * 40, D="+" * 37 + "xxx")
        verdict = judge(hypothesis(claim), lost).verdict
        assert verdict.ruling is Ruling.UNAVAILABLE
        assert "3 missing of D as wrong" in verdict.reason

    def test_conditions_are_counted_against_each_other(self):
        def claim(results):
            assert results.estimate("accuracy", "D").estimate >= results.estimate("accuracy", "A").estimate

        # Both counted right or both wrong it holds; A right and D wrong it does not.
        verdict = judge(hypothesis(claim), made(A="++-x", D="++-x")).verdict
        assert verdict.ruling is Ruling.UNAVAILABLE
        assert "1 missing of A as right" in verdict.reason
        assert "1 missing of D as wrong" in verdict.reason

    def test_a_condition_that_a_claim_comes_to_only_when_another_is_counted_is_counted_too(self):
        def claim(results):
            assert results.estimate("accuracy", "A").estimate > 0.6
            assert results.estimate("accuracy", "D").estimate > 0.6

        # It stops at A, 1 of 2. With A's missing two right, D decides: 1 of 2, and 3 of 4 counted right.
        verdict = judge(hypothesis(claim), made(A="+-xx", D="+-xx")).verdict
        assert verdict.ruling is Ruling.UNAVAILABLE
        assert "2 missing of A as right" in verdict.reason
        assert "2 missing of D as right" in verdict.reason

    def test_missing_trials_of_a_condition_that_a_claim_does_not_ask_for_do_not_matter(self):
        assert judge(hypothesis(self.claim), made(A="xxxx", D="++-+")).verdict.ruling is Ruling.PASSED

    def test_missing_trials_of_questions_outside_the_measure_do_not_matter(self):
        def claim(results):
            assert results.estimate("made_up", "A").estimate < 1

        asked = [scripted.question("q1"), scripted.unanswerable("q2")]
        trials = [
            scripted.observation(asked[0], "A", status=Status.ERROR),
            scripted.observation(asked[1], "A", right=True),
        ]
        verdict = judge(hypothesis(claim), Results(asked, ["A"], "A", trials)).verdict
        assert verdict.ruling is Ruling.PASSED

    @pytest.mark.parametrize(
        ("measures", "count"), [(("accuracy",), 1), (("made_up",), 3), (("accuracy", "made_up"), 4)]
    )
    def test_missing_trials_are_counted_of_the_measures_that_are_asked_for(self, measures, count):
        def claim(results):
            # As they are, each is 1 or 0; with the missing ones counted wrong it is not.
            for measure in measures:
                assert results.estimate(measure, "A").estimate in {0.0, 1.0}

        asked = [scripted.question("q1"), scripted.question("q2")]
        asked += [scripted.unanswerable(f"u{place}") for place in range(4)]
        trials = [
            scripted.observation(
                question, "A", right=True, status=Status.OK if question.id in {"q1", "u0"} else Status.ERROR
            )
            for question in asked
        ]
        verdict = judge(hypothesis(claim), Results(asked, ["A"], "A", trials)).verdict
        assert verdict.ruling is Ruling.UNAVAILABLE
        told = f"passed without the missing trials, but failed counting {count} missing of A as wrong"
        assert verdict.reason == told

    def test_tokens_with_a_missing_trial_are_unavailable(self):
        def claim(results):
            assert results.reduction("input_tokens", "D", versus="A").estimate > -9

        verdict = judge(hypothesis(claim), made(A="++", D="+x")).verdict
        assert verdict.ruling is Ruling.UNAVAILABLE
        assert verdict.reason == "input_tokens of D is missing for 1 of 2 questions"

    def test_many_conditions_in_doubt_are_drawn_once_for_each_way_to_count_one(self, monkeypatch):
        drawn = []
        draw = statistics.bootstrap_means
        monkeypatch.setattr(
            statistics, "bootstrap_means", lambda columns: drawn.append(columns.shape[1]) or draw(columns)
        )
        names = [f"C{i}" for i in range(8)]

        def claim(results):
            for name in names:
                assert results.estimate("accuracy", name).high > 0.01

        signs = dict.fromkeys(names, ("+-+-+" * 20)[:-1] + "x")
        assert judge(hypothesis(claim), made(**signs)).verdict.ruling is Ruling.PASSED
        # 256 ways to count, but only two of each condition.
        assert 0 < sum(drawn) <= 2 * len(names) + 1

    @pytest.mark.parametrize(
        ("signs", "ruling", "reason"),
        [
            # The questions come to 1, 1/2 and at worst 0: half of 3. Then to 1/2, 1/2 and 0 at worst.
            (("++", "+-", "x"), Ruling.PASSED, ""),
            (
                ("+x", "+-", "x"),
                Ruling.UNAVAILABLE,
                "passed without the missing trials, but failed counting 3 missing of D as wrong",
            ),
        ],
    )
    def test_missing_repeats_are_counted_and_not_their_questions(self, signs, ruling, reason):
        questions = [scripted.question(f"q{i}") for i in range(3)]
        trials = [
            scripted.observation(
                question,
                "D",
                right=sign == "+",
                status=Status.ERROR if sign == "x" else Status.OK,
                repeat=repeat,
            )
            for question, its in zip(questions, signs, strict=True)
            for repeat, sign in enumerate(its)
        ]
        verdict = judge(hypothesis(self.claim), Results(questions, ["D"], "D", trials, 2)).verdict
        assert (verdict.ruling, verdict.reason) == (ruling, reason)


@pytest.mark.parametrize(("give", "ruling"), [(spoilt, Ruling.ERROR), (unavailable, Ruling.UNAVAILABLE)])
def test_a_ruling_for_the_whole_run_never_asks_the_claim(give, ruling):
    def claim(results):
        """It holds."""
        raise AssertionError(results)

    judgement = give(hypothesis(claim), "the model changed")
    verdict = judgement.verdict
    assert (verdict.hypothesis, verdict.statement) == ("H", "It holds.")
    assert (verdict.ruling, verdict.reason, verdict.evidence) == (ruling, "the model changed", ())
    assert judgement.exception is None


class TestEvidence:
    def test_is_what_the_claim_asked_for_once_and_without_the_counting(self):
        def claim(results):
            assert results.estimate("accuracy", "D").estimate >= results.estimate("accuracy", "A").estimate

        results = made(A="+---", D="+++x")
        verdict = judge(hypothesis(claim), results).verdict
        assert verdict.ruling is Ruling.PASSED
        assert [(one.measure, one.estimate, one.n) for one in verdict.evidence] == [
            ("accuracy of D", 1.0, 3),
            ("accuracy of A", 0.25, 4),
        ]
        assert results.evidence == []

    def test_of_an_undecided_claim_is_that_without_the_missing_trials(self):
        verdict = judge(hypothesis(TestMissing.claim), made(A="++++", D="+-xx")).verdict
        assert verdict.ruling is Ruling.UNAVAILABLE
        assert [(one.measure, one.estimate, one.n) for one in verdict.evidence] == [("accuracy of D", 0.5, 2)]

    def test_of_a_failure_is_what_was_asked_before_it(self):
        def claim(results):
            assert results.estimate("accuracy", "A").estimate > 2
            assert results.estimate("accuracy", "D").estimate > 2

        verdict = judge(hypothesis(claim), made(A="+", D="+")).verdict
        assert verdict.evidence == (
            Evidence("accuracy of A", 1.0, None, None, 1, (Bound("estimate", ">", 2.0),)),
        )

    @pytest.mark.parametrize(
        ("claim", "bound"),
        [
            (lambda figure: figure.estimate >= 0.25, Bound("estimate", ">=", 0.25)),
            (lambda figure: figure.low > -0.05, Bound("low", ">", -0.05)),
            (lambda figure: 2 > figure.high, Bound("high", "<", 2.0)),  # noqa: SIM300  # either way round
            (lambda figure: 1 >= figure.low, Bound("low", "<=", 1.0)),  # noqa: SIM300
        ],
    )
    def test_tells_what_a_number_was_compared_with(self, claim, bound):
        def claimed(results):
            assert claim(results.estimate("accuracy", "A"))

        (evidence,) = judge(hypothesis(claimed), made(A="+-", D="+-")).verdict.evidence
        assert evidence.bounds == (bound,)

    @pytest.mark.parametrize("other", [math.inf, -math.inf, math.nan, 10**400, 1e200])
    def test_leaves_out_what_no_record_could_hold(self, other):
        def claimed(results):
            assert results.estimate("accuracy", "A").estimate != other
            assert (results.estimate("accuracy", "A").estimate <= other) in {True, False}

        verdict = judge(hypothesis(claimed), made(A="+-", D="+-")).verdict
        assert verdict.ruling is Ruling.PASSED
        assert all(one.bounds == () for one in verdict.evidence)
        assert decode(encode(verdict), Verdict) == verdict

    def test_judging_twice_gives_the_same(self):
        results = made(A="+-+x", D="++-x")
        first, second = (judge(hypothesis(TestMissing.claim), results).verdict for _ in range(2))
        assert first == second
