"""Conditions D10, D25 and Dall: what is read out of a reply, and what is given to a question."""

import pytest
import scripted
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_tokenbench import scoring
from pytest_tokenbench.conditions import Croutons
from pytest_tokenbench.conditions.croutons import numbers, parse_facts
from pytest_tokenbench.models.base import UnreachableError
from pytest_tokenbench.preparation import ConstructionError


class TestParsing:
    @pytest.mark.parametrize(
        "line",
        [
            "The mill is old.",
            "- The mill is old.",
            "* The mill is old.",
            "+ The mill is old.",
            "\u2022 The mill is old.",
            "\u2013 The mill is old.",
            "1. The mill is old.",
            "12) The mill is old.",
            "(3) The mill is old.",
            "[4] The mill is old.",
            "5: The mill is old.",
            "  7.  The mill is old.  ",
            "**The mill is old.**",
            "*The mill is old.*",
            "- **The mill** is old.",
            "- 1. The mill is old.",
            "**1.** The mill is old.",
            "## The mill is old.",
            "The mill is old.\r",
        ],
    )
    def test_bullets_numbering_and_bold_marks_go(self, line):
        assert parse_facts(line) == (["The mill is old."], False)

    @pytest.mark.parametrize(
        "line",
        [
            "1901 was the year of the flood.",
            "1,470 people lived there.",
            "3.5 m is the height of the wall.",
            "-5 degrees was the lowest reading.",
            "2nd Street leads to the mill.",
            "(The mill is old.)",
            "The ratio is 3:1.",
            "A 4-3 vote decided it.",
        ],
    )
    def test_a_fact_that_begins_like_a_bullet_but_is_none_stays(self, line):
        assert parse_facts(line) == ([line], False)

    def test_an_announcing_line_goes(self):
        reply = "Here are the atomic facts:\n\n1. The mill is old.\n**Dates:**\n2. It closed in 1931."
        assert parse_facts(reply) == (["The mill is old.", "It closed in 1931."], False)

    def test_empty_lines_rulers_and_lone_bullets_go(self):
        assert parse_facts("\n---\n- \n  \n***\n\u2022\n```\n1.\n[2]\n") == ([], False)

    def test_a_mark_on_its_own_is_no_sentence(self):
        assert parse_facts("... The mill is old.") == (["The mill is old."], False)

    def test_exact_repeats_go_and_the_first_stays_in_its_place(self):
        reply = "- The mill is old.\n- It is red.\n2. The mill is old.\n- the mill is old."
        assert parse_facts(reply) == (["The mill is old.", "It is red.", "the mill is old."], False)

    def test_prose_is_split_into_sentences_and_said_to_be_recovered(self):
        reply = "The mill is old. It was built in 1901. Mr. Rolle owned it."
        assert parse_facts(reply) == (
            ["The mill is old.", "It was built in 1901.", "Mr. Rolle owned it."],
            True,
        )

    def test_one_line_of_prose_among_facts_is_enough(self):
        assert parse_facts("- The mill is old.\n- It is red. It is tall.") == (
            ["The mill is old.", "It is red.", "It is tall."],
            True,
        )

    @pytest.mark.parametrize(
        "fact",
        [
            "Dr. J. R. Smith and Mrs. Jones bought No. 4 from St. Mary approx. 3.5 years later.",
            "The U.S. Navy left on Jan. 5, 1946.",
            "Mt. Arrow is 1,470 m high.",
            'The sign read "Stop!" in red.',
        ],
    )
    def test_a_fact_with_abbreviations_is_not_split(self, fact):
        assert parse_facts(f"- {fact}") == ([fact], False)

    @pytest.mark.parametrize("reply", ["", " \n\n", "---", "Here are the facts:"])
    def test_a_reply_without_a_fact_has_none(self, reply):
        assert parse_facts(reply) == ([], False)

    @settings(max_examples=100, deadline=None)
    @given(st.text(alphabet="aB1. -*\u2022:\n()[]!\u2028\x0b", max_size=60))
    def test_facts_are_distinct_and_made_of_what_the_reply_says(self, reply):
        facts, _ = parse_facts(reply)
        assert len(set(facts)) == len(facts)
        for fact in facts:
            assert scoring.tokens(fact)
            assert fact == fact.strip()
            assert "".join(fact.split()) in "".join(reply.replace("**", "").split())


class TestNumbers:
    @pytest.mark.parametrize(
        ("text", "found"),
        [
            ("1,470 people, then 1470.", ["1470", "1470"]),
            ("From 1910\u20131920, in the 1960s and the 20th year.", ["1910", "1920", "1960s", "20th"]),
            ("3.5 m at -5 degrees, 12% and $7", ["3.5", "-5", "12", "7"]),
            ("twelve mills", []),
        ],
    )
    def test_are_compared_whatever_separates_their_thousands(self, text, found):
        assert numbers(text) == found


def paragraph(first, words=60):
    return " ".join([first, *["word"] * (words - len(first.split()))]) + "."


# Two sections of 60 words: 1,470 and 1901 stand in the first, 12 in the second.
TEXT = f"{paragraph('In 1901 there were 1,470 mills')}\n\n{paragraph('Then 12 were left')}\n"


def write(*replies):
    encoder = scripted.encoder(*replies)
    recipe = Croutons("Dall", section_words=60, max_tokens=50).recipe()
    return recipe.write(scripted.document(TEXT), encoder), encoder.model


class TestWriting:
    def test_each_section_is_rewritten_once_and_its_facts_come_in_document_order(self):
        written, model = write("- Mills were many.\n- It was 1901.", "- Twelve were left.")
        assert written.units == ("Mills were many.", "It was 1901.", "Twelve were left.")
        assert written.flags == ()
        assert written.cut_sections == ()
        assert [
            prompt.removeprefix("Text:\n").split("\n\nRewrite")[0] for prompt in model.prompts
        ] == TEXT.strip().split("\n\n")
        assert model.limits == [50, 50]

    def test_a_number_as_written_or_without_its_comma_is_faithful(self):
        written, _ = write("There were 1,470 mills.\nThere were 1470 of them.", "In 12 places.")
        assert (written.numbers, written.unfaithful_numbers) == (3, 0)

    def test_a_number_that_its_section_does_not_hold_is_counted_and_kept(self):
        # 1901 stands in the first section, and does not help the second; 1,471 stands nowhere.
        written, _ = write("There were 1,471 mills in 1901.", "In 1901 there were 12.")
        assert (written.numbers, written.unfaithful_numbers) == (4, 2)
        assert written.units == ("There were 1,471 mills in 1901.", "In 1901 there were 12.")

    def test_a_fact_of_two_sections_is_kept_and_counted_once(self):
        written, _ = write("Rolle built it in 1901.", "Rolle built it in 1901.\nIt had 12 floors.")
        assert written.units == ("Rolle built it in 1901.", "It had 12 floors.")
        assert (written.numbers, written.unfaithful_numbers) == (2, 0)

    def test_a_section_whose_reply_was_cut_is_named(self):
        written, _ = write("Mills were many.", scripted.reply("Twelve were", stop="length"))
        assert written.cut_sections == (1,)
        assert written.flags == ("cut",)
        assert written.units == ("Mills were many.", "Twelve were")

    def test_prose_in_any_section_marks_the_preparation_as_recovered(self):
        written, _ = write("Mills were many. They were red.", "Twelve were left.")
        assert written.flags == ("recovered",)

    def test_one_empty_reply_leaves_the_other_sections_facts(self):
        written, _ = write("", "Twelve were left.")
        assert written.units == ("Twelve were left.",)

    def test_nothing_but_empty_replies_is_a_failed_construction_that_names_the_document(self):
        with pytest.raises(ConstructionError, match="no fact about mill"):
            write("", "Here are the facts:\n\n---")

    def test_a_section_that_cannot_be_asked_ends_it(self):
        with pytest.raises(UnreachableError):
            write("Mills were many.", UnreachableError("gone"))

    def test_the_options_are_those_of_the_condition(self):
        recipe = Croutons("D", top=3, section_words=60, max_tokens=50).recipe()
        assert recipe.options() == {"section_words": 60, "max_tokens": 50}

    def test_a_section_has_about_700_words_unless_told_otherwise(self):
        encoder = scripted.encoder("One.", "Two.")
        text = "\n\n".join(paragraph(f"P{i}", 175) for i in range(8))
        Croutons("D10", top=10).recipe().write(scripted.document(text), encoder)
        assert [prompt.split("\n\nRewrite")[0].count("\n\n") for prompt in encoder.model.prompts] == [3, 3]


FACTS = tuple(
    f"Fact {i} is about {topic}." for i, topic in enumerate(["sheep", "a mill", "hills", "mill mills"])
)
MADE = scripted.preparation(*FACTS, *(f"Plain statement number {i} here." for i in range(4, 40)))
ASKED = scripted.question(text="Which mill?")


def context(top):
    return Croutons("D", top=top).context(ASKED, scripted.document("unused"), MADE)


class TestContext:
    def test_the_best_come_in_rank_order_one_a_line(self):
        # Both hold "mill" once in 5 tokens; equal, so in document order. The others do not.
        assert context(3).units == ("crouton-1", "crouton-3", "crouton-0")
        assert context(3).text == f"{FACTS[1]}\n{FACTS[3]}\n{FACTS[0]}"

    def test_the_top_ten_begin_the_top_25(self):
        ten, twenty_five = context(10), context(25)
        assert len(ten.units) == 10
        assert len(twenty_five.units) == 25
        assert twenty_five.units[:10] == ten.units
        assert twenty_five.text.startswith(ten.text + "\n")

    def test_all_come_in_document_order(self):
        assert context(None).units == tuple(f"crouton-{i}" for i in range(40))
        assert context(None).text == "\n".join(MADE.units)

    def test_fewer_than_asked_for_are_all_given_best_first(self):
        few = scripted.preparation("Sheep graze here.", "A mill stands.", "Hills are high.")
        given = Croutons("D10", top=10).context(ASKED, scripted.document("unused"), few)
        assert given.units == ("crouton-1", "crouton-0", "crouton-2")

    def test_without_its_preparation_there_is_none(self):
        with pytest.raises(ValueError, match="condition D10 needs its preparation"):
            Croutons("D10", top=10).context(ASKED, scripted.document("unused"), None)

    def test_ranked_ones_of_a_recipe_are_a_family_and_all_of_them_another(self):
        assert Croutons("D10", top=10).family == Croutons("D25", top=25).family
        assert Croutons("D10", top=10).family != Croutons("Dall").family
        assert Croutons("D10", top=10).family != Croutons("D10", top=10, section_words=60).family


class TestEstimates:
    def test_ranked_ones_have_about_a_dozen_words_each(self):
        text = scripted.document("word " * 3000)
        assert Croutons("D10", top=10).words(text) == 120
        assert Croutons("D25", top=25).words(text) == 300

    def test_all_of_them_are_shorter_than_the_document_and_no_less_than_some(self):
        for words in (10, 100, 3000):
            text = scripted.document("word " * words)
            assert Croutons("D25", top=25).words(text) <= Croutons("Dall").words(text) < words

    def test_only_all_of_them_serve_every_question(self):
        assert Croutons("Dall").shared
        assert not Croutons("D25", top=25).shared
