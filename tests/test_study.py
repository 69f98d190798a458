"""What can be wrong with a study's declaration, and which questions a quick look keeps."""

from dataclasses import replace

import pytest
import scripted

from pytest_tokenbench import Study
from pytest_tokenbench.conditions import Chunks, Croutons, FullText, Summary
from pytest_tokenbench.corpus.passages import paragraphs
from pytest_tokenbench.marker import ATTRIBUTE
from pytest_tokenbench.quick import quick_look


def declared(*conditions, baseline="A"):
    made = Study("made", questions="q.json", corpus="corpus", conditions=conditions, baseline=baseline)
    made.trials(lambda trial: trial.ask())
    return made


def study_with(function, name="H1"):
    made = declared(FullText("A"))
    made.hypothesis(name)(function)
    return made


class TestFaults:
    def test_a_sound_study_has_none(self):
        def claim(results):
            """A is right."""
            assert results.estimate("accuracy", "A").estimate == 1

        assert study_with(claim).faults() == []

    @pytest.mark.parametrize("name", ["", "a/b", "../a", "a,b", "all", ".a", "a b", "a\n", None, 3])
    def test_a_name_that_could_not_stand_in_an_option_or_name_a_folder(self, name):
        made = declared(FullText("A"))
        made.name = name
        (fault,) = made.faults()
        assert fault.endswith(
            f"study {name!r}: a study's name is made of letters of English, digits, '.', '_' and '-', and is not 'all'"
        )

    @pytest.mark.parametrize("name", ["protocol", "needed-context", "v2.1_b", "7"])
    def test_a_name_that_can(self, name):
        made = declared(FullText("A"))
        made.name = name
        assert made.faults() == []

    def test_two_conditions_of_one_id(self):
        (fault,) = declared(FullText("A"), Chunks("A", top=2)).faults()
        assert fault.endswith("study 'made' has 2 conditions 'A'; give each its own id")

    def test_an_unknown_baseline_tells_the_known_ones(self):
        (fault,) = declared(FullText("A"), Chunks("B2", top=2), baseline="Z").faults()
        assert fault.endswith("study 'made' has the unknown baseline 'Z'; its conditions are A, B2")

    def test_opt_in_that_is_neither_true_nor_false(self):
        made = declared(FullText("A"))
        made.opt_in = "no"
        (fault,) = made.faults()
        assert fault.endswith("has opt_in='no'; write True or False")

    def test_no_condition(self):
        (fault,) = declared().faults()
        assert fault.endswith("study 'made' has no condition")

    def test_a_fault_names_the_line_of_the_declaration(self):
        line = declared.__code__.co_firstlineno + 1
        assert declared().faults()[0].startswith(f"line {line}: ")

    def test_no_test_function(self):
        made = Study("made", questions="q.json", corpus="corpus", conditions=[FullText("A")], baseline="A")
        (fault,) = made.faults()
        assert fault.endswith("study 'made' has no test function; decorate one with @study.trials")

    def test_what_is_no_condition(self):
        (fault,) = declared(FullText("A"), "B4").faults()
        assert fault.endswith("has 'B4' among its conditions, which is none; write as Chunks('B4', top=4)")

    @pytest.mark.parametrize(
        ("condition", "says"),
        [
            (Chunks("B4", top="four"), "condition B4: top is 'four'; it must be a whole number from 1 up"),
            (Chunks("B4", top=0), "condition B4: top is 0; it must be a whole number from 1 up"),
            (Chunks("B4", top=4, words=-1), "condition B4: words is -1; it must be a whole number from 1 up"),
            (Chunks("B4", top=True), "condition B4: top is True; it must be a whole number from 1 up"),
            (
                Summary("C", max_words=0.5),
                "condition C: max_words is 0.5; it must be a whole number from 1 up",
            ),
            (Croutons("D", top=0), "condition D: top is 0; it must be a whole number from 1 up"),
        ],
    )
    def test_a_count_that_is_none(self, condition, says):
        (fault,) = declared(FullText("A"), condition).faults()
        assert fault.endswith(says)

    def test_croutons_without_a_limit_are_sound(self):
        assert declared(FullText("A"), Croutons("Dall")).faults() == []

    def test_a_hypothesis_that_takes_no_results(self):
        def claim():
            """A is right."""
            assert True

        (fault,) = study_with(claim).faults()
        assert fault.endswith("hypothesis 'H1' must take one argument, the results")

    def test_two_hypotheses_of_one_name(self):
        made = declared(FullText("A"))
        for _ in range(2):

            @made.hypothesis("H1")
            def claim(results):
                """A is right."""
                assert results

        (fault,) = made.faults()
        assert fault.endswith("study 'made' has several hypotheses 'H1'; give each its own name")

    def test_a_hypothesis_without_an_assert_names_its_line(self):
        def claim(results):
            """A is right; assert it."""
            return results.estimate("accuracy", "A").estimate == 1  # assert

        line = claim.__code__.co_firstlineno
        assert study_with(claim).faults() == [
            f"line {line}: hypothesis 'H1' asserts nothing; state it with assert"
        ]

    def test_a_hypothesis_without_a_docstring(self):
        def claim(results):
            assert results

        (fault,) = study_with(claim).faults()
        assert fault.endswith("hypothesis 'H1' has no docstring; say in it what is claimed")

    def test_asserting_through_a_helper_counts(self):
        def claim(results):
            """A is right."""
            results.testing.assert_allclose(1, 1)

        assert study_with(claim).faults() == []

    def test_an_assert_in_an_inner_block_counts(self):
        def claim(results):
            """A is right."""
            for one in results:
                if one:
                    assert one

        assert study_with(claim).faults() == []

    @pytest.mark.parametrize("kind", ["async def", "async yields", "yields"])
    def test_a_hypothesis_that_calling_does_not_run_would_pass_whatever_it_claims(self, kind):
        async def asynchronous(results):
            """A is right."""
            assert results is None

        async def both(results):
            """A is right."""
            assert results is None
            yield

        def yields(results):
            """A is right."""
            assert results is None
            yield

        function = {"async def": asynchronous, "async yields": both, "yields": yields}[kind]
        (fault,) = study_with(function).faults()
        assert "calling it does not run it; write a plain function" in fault

    def test_a_text_that_begins_at_the_margin_is_no_obstacle(self):
        def claim(results):
            """A is right."""
            text = """
an answer
"""
            assert results == text

        assert study_with(claim).faults() == []

    def test_a_hypothesis_whose_source_cannot_be_had_is_taken_on_trust(self):
        names = {}
        exec('def claim(results):\n    """A is right."""\n    assert results', names)
        assert study_with(names["claim"]).faults() == []

    def test_all_faults_are_told_at_once(self):
        made = declared(FullText("A"), FullText("A"), baseline="Z")
        made.hypothesis("H1")(lambda results: results)
        assert len(made.faults()) == 4


class TestDeclaring:
    def test_the_statement_is_the_first_paragraph_of_the_docstring_on_one_line(self):
        def claim(results):
            assert results

        claim.__doc__ = "D uses fewer tokens\n    than A.\n\n    More words.\n    "

        assert study_with(claim).hypotheses[0].statement == "D uses fewer tokens than A."

    def test_a_hypothesis_named_like_a_test_is_not_collected_as_one(self):
        def test_claim(results):
            assert results

        study_with(test_claim)
        assert test_claim.__test__ is False

    def test_decorators_give_back_the_function_itself(self):
        def function():
            assert True

        made = declared(FullText("A"))
        assert made.hypothesis("H1")(function) is function
        assert made.trials(function) is function
        assert getattr(function, ATTRIBUTE) is made


def words(count):
    return " ".join(["word"] * (count - 1)) + " end."


# Seven paragraphs of 400 words: the cut is after the third. The answer 1901 stands in the fourth.
LONG = "\n\n".join([words(400)] * 3 + ["Built in 1901. " + words(397)] + [words(400)] * 3) + "\n"


class TestQuickLook:
    def documents(self, count):
        return [scripted.document(LONG, name=f"d{i}", sha256="0" * 64) for i in range(count)]

    def asked(self, **changes):
        return replace(scripted.question("d0-q1", document="d0"), **changes)

    def test_keeps_the_first_four_documents_cut_at_the_first_paragraph_after_1200_words(self):
        documents, _ = quick_look(self.documents(6), [])
        assert [one.id for one in documents] == ["d0", "d1", "d2", "d3"]
        for one in documents:
            assert len(paragraphs(one.text)) == 3
            assert one.words == 1200
            assert one.sha256 != "0" * 64

    @pytest.mark.parametrize(("paragraph", "kept"), [(0, True), (2, True), (3, False), (6, False)])
    def test_keeps_a_question_whose_paragraph_lies_inside_the_cut(self, paragraph, kept):
        _, questions = quick_look(self.documents(1), [self.asked(paragraph=paragraph)])
        assert bool(questions) is kept

    @pytest.mark.parametrize(
        ("answers", "kept"), [(("1901",), False), (("end",), True), (("word & 1901",), False)]
    )
    def test_without_a_paragraph_keeps_a_question_whose_answer_stands_inside_the_cut(self, answers, kept):
        _, questions = quick_look(self.documents(1), [self.asked(paragraph=None, answers=answers)])
        assert bool(questions) is kept

    def test_keeps_unanswerable_questions_of_the_documents_it_keeps(self):
        asked = [scripted.unanswerable(f"d{i}-q9", document=f"d{i}") for i in range(6)]
        _, questions = quick_look(self.documents(6), asked)
        assert [one.id for one in questions] == ["d0-q9", "d1-q9", "d2-q9", "d3-q9"]
