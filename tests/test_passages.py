"""Sentences, chunks and sections: nothing is lost, cuts fall where they may, odd documents come through."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_tokenbench.corpus import passages

quick = settings(max_examples=50, deadline=None)


def sentence(words, first="Word"):
    """A sentence of so many words."""
    return " ".join([first, *["word"] * (words - 1)]) + "."


class TestSentences:
    @pytest.mark.parametrize(
        ("paragraph", "expected"),
        [
            ("One came. Two left.", ["One came.", "Two left."]),
            ("Did it? Yes! It did\u2026 Truly.", ["Did it?", "Yes!", "It did\u2026", "Truly."]),
            ('He said "Stop." Then he left.', ['He said "Stop."', "Then he left."]),
            (
                "\u201cGo.\u201d The end. \u2018Stay.\u2019 She left.",
                ["\u201cGo.\u201d", "The end.", "\u2018Stay.\u2019", "She left."],
            ),
            ("(It fell.) 12 men came.", ["(It fell.)", "12 men came."]),
            ("\u00c9douard came. \u00c9lan was gone.", ["\u00c9douard came.", "\u00c9lan was gone."]),
            (
                "It weighs 3.5 kg. It cost 1,470 marks. 4.25 is more.",
                ["It weighs 3.5 kg.", "It cost 1,470 marks.", "4.25 is more."],
            ),
        ],
    )
    def test_a_sentence_ends_at_a_mark_before_a_capital_a_digit_or_a_quote(self, paragraph, expected):
        assert passages.sentences(paragraph) == expected

    @pytest.mark.parametrize(
        "whole",
        [
            "Dr. Smith met Mrs. Jones.",
            "The bridge opened c. 1850 near St. Mary.",
            "See Fig. 3 and No. 4 in vol. 2.",
            "J. R. Smith and J.R. Brown were partners.",
            "The U.S. Army built it.",
            "It fell on Jan. 5 and again on Sept. 12.",
            "They climbed Mt. Arrow with Capt. Rolle.",
            "It holds e.g. Roman coins, i.e. Denarii, vs. Greek ones.",
            "He wrote pp. 12 to 14, b. 1801, d. 1870.",
            "It reached 3.5 m and version 2.0 of the plan.",
            "the mill stopped. and began again",
        ],
    )
    def test_abbreviations_initials_and_decimals_do_not_end_a_sentence(self, whole):
        assert passages.sentences(whole) == [whole]

    def test_the_word_i_ends_a_sentence_though_it_is_one_capital(self):
        assert passages.sentences("So said I. Then he left.") == ["So said I.", "Then he left."]

    def test_white_space_alone_is_no_sentence(self):
        assert passages.sentences(" \n\t ") == []

    @quick
    @given(st.text(alphabet="aB1.!? \n\"'()\u2026\u201d\u6f22", max_size=60))
    def test_no_character_is_lost_added_or_moved(self, paragraph):
        found = passages.sentences(paragraph)
        assert "".join("".join(found).split()) == "".join(paragraph.split())
        assert all(one == one.strip() and one for one in found)

    @pytest.mark.parametrize(
        ("paragraph", "count"),
        [
            pytest.param("\u6f22" * 30_000 + "! A", 2, id="one word of 30,000 signs"),
            pytest.param("Saying no. 5 again. " * 20_000, 20_000, id="400,000 signs"),
            pytest.param("Mr. " * 40_000 + "X", 1, id="abbreviations only"),
        ],
    )
    def test_the_longest_paragraphs_are_cut_where_short_ones_are(self, paragraph, count):
        found = passages.sentences(paragraph)
        assert len(found) == count
        assert "".join("".join(found).split()) == "".join(paragraph.split())


@st.composite
def documents(draw):
    """Sections of paragraphs of sentences, each sentence known by its first word, with or without a heading first."""
    number = iter(range(10**6))
    lengths = st.lists(st.lists(st.integers(1, 20), min_size=1, max_size=12), max_size=4)
    sections = [
        [[sentence(words, f"S{next(number)}") for words in paragraph] for paragraph in section]
        for section in draw(st.lists(lengths, min_size=1, max_size=6))
    ]
    blocks = []
    for place, section in enumerate(sections):
        if place or draw(st.booleans()):
            blocks.append(f"== Section {place} ==")
        blocks.extend(" ".join(paragraph) for paragraph in section)
    return "\n\n".join(blocks) + "\n", [
        [one for paragraph in section for one in paragraph] for section in sections
    ]


class TestChunks:
    @quick
    @given(documents(), st.sampled_from([40, 100, 200]))
    def test_joined_they_are_all_sentences_in_order_without_overlap(self, made, words):
        text, sections = made
        everything = [one for section in sections for one in section]
        assert " ".join(passages.chunks(text, words)) == " ".join(everything)

    @quick
    @given(documents(), st.sampled_from([40, 100, 200]))
    def test_each_holds_whole_sentences(self, made, words):
        text, sections = made
        known = {one for section in sections for one in section}
        for chunk in passages.chunks(text, words):
            assert set(passages.sentences(chunk)) <= known

    @quick
    @given(documents(), st.sampled_from([40, 100, 200]))
    def test_a_heading_is_crossed_only_beside_a_tiny_section(self, made, words):
        text, sections = made
        # Sections without a sentence have nothing that could be on either side.
        sections = [section for section in sections if section]
        home = {one: place for place, section in enumerate(sections) for one in section}
        size = [sum(len(one.split()) for one in section) for section in sections]
        for chunk in passages.chunks(text, words):
            homes = sorted({home[one] for one in passages.sentences(chunk)})
            for left, right in pairwise(homes):
                assert min(size[left], size[right]) < words / 4

    @quick
    @given(documents())
    def test_none_is_over_a_third_longer_than_asked_beyond_its_last_sentence(self, made):
        # A section of T words in k chunks, k nearest to T / 200: at worst T = 266 in one. Sentences have 20 words.
        assert all(len(chunk.split()) <= 200 * 4 / 3 + 20 for chunk in passages.chunks(made[0], 200))

    @pytest.mark.parametrize(
        ("total", "count"),
        # One chunk of T misses 200 by T - 200, two by 200 - T / 2: equal at 266.7. Two and three: equal at 480.
        [(50, 1), (260, 1), (270, 2), (296, 2), (470, 2), (490, 3), (600, 3), (2000, 10)],
    )
    def test_a_section_becomes_as_many_as_bring_them_nearest_to_the_length_asked_for(self, total, count):
        made = passages.chunks(" ".join([sentence(10)] * (total // 10)), 200)
        assert len(made) == count

    def test_a_section_of_450_words_becomes_two_of_about_equal_length(self):
        made = passages.chunks(" ".join([sentence(10)] * 45), 200)
        assert [len(chunk.split()) for chunk in made] == [220, 230]

    def test_a_tiny_section_joins_the_next_and_the_last_one_joins_the_one_before(self):
        tiny, big, last = sentence(30, "Tiny"), " ".join([sentence(20, "Big")] * 10), sentence(49, "Last")
        text = f"== T ==\n\n{tiny}\n\n== B ==\n\n{big}\n\n== L ==\n\n{last}\n"
        (chunk,) = passages.chunks(text, 250)
        assert chunk == f"{tiny} {big} {last}"

    def test_a_section_of_a_quarter_of_the_length_stays_alone(self):
        first, second = sentence(50, "First"), sentence(50, "Second")
        text = f"{first}\n\n== Next ==\n\n{second}\n"
        assert passages.chunks(text, 200) == [first, second]

    def test_a_chunk_does_cross_paragraphs(self):
        assert passages.chunks("One came.\n\nTwo left.\n", 200) == ["One came. Two left."]

    @pytest.mark.parametrize("text", ["", "\n\n", "== Only ==\n", "== A ==\n\n== B ==\n"])
    def test_without_a_sentence_there_is_none(self, text):
        assert passages.chunks(text, 200) == []

    def test_a_giant_sentence_is_not_cut(self):
        giant = sentence(5000)
        assert passages.chunks(giant, 200) == [giant]

    def test_a_giant_sentence_leaves_its_neighbours_whole(self):
        giant = sentence(900, "Giant")
        made = passages.chunks(f"{sentence(10, 'First')} {giant} {sentence(10, 'Last')}", 200)
        assert " ".join(made) == f"{sentence(10, 'First')} {giant} {sentence(10, 'Last')}"
        assert all(made)

    def test_text_without_spaces_is_kept_whole_by_section(self):
        one, two = "\u6a4b\u306f\u53e4\u3044\u3002" * 300, "\u6c34\u8eca\u5c0f\u5c4b\u3002" * 300
        assert passages.chunks(f"{one}\n\n{two}\n", 200) == [f"{one} {two}"]

    def test_the_shipped_articles_come_in_chunks_near_200_words(self, repository):
        for path in sorted((repository / "corpus" / "articles").glob("*.txt")):
            sizes = [len(chunk.split()) for chunk in passages.chunks(path.read_text(encoding="utf-8"), 200)]
            assert min(sizes) >= 120
            assert max(sizes) <= 280
            assert 28 <= len(sizes) <= 36


class TestSections:
    @quick
    @given(documents(), st.sampled_from([40, 200, 700]))
    def test_joined_they_are_all_blocks_in_order(self, made, words):
        assert "\n\n".join(passages.sections(made[0], words)) == "\n\n".join(passages.blocks(made[0]))

    @quick
    @given(documents(), st.sampled_from([40, 200, 700]))
    def test_none_ends_in_a_heading_but_the_last(self, made, words):
        for section in passages.sections(made[0], words)[:-1]:
            assert not passages.is_heading(passages.blocks(section)[-1])

    def test_six_equal_paragraphs_of_350_words_become_three(self):
        paragraphs = [sentence(350, f"P{place}") for place in range(6)]
        made = passages.sections("\n\n".join(paragraphs), 700)
        assert made == ["\n\n".join(paragraphs[i : i + 2]) for i in (0, 2, 4)]

    def test_a_heading_goes_with_the_paragraph_after_it(self):
        first, second = sentence(700, "First"), sentence(700, "Second")
        made = passages.sections(f"== A ==\n\n{first}\n\n== B ==\n\n=== C ===\n\n{second}\n", 700)
        assert made == [f"== A ==\n\n{first}", f"== B ==\n\n=== C ===\n\n{second}"]

    def test_a_heading_at_the_end_of_the_document_stays(self):
        assert passages.sections("One came.\n\n== End ==\n", 700) == ["One came.\n\n== End =="]

    @pytest.mark.parametrize(("text", "expected"), [("", []), ("== A ==\n", ["== A =="])])
    def test_without_a_paragraph_there_is_only_what_there_is(self, text, expected):
        assert passages.sections(text, 700) == expected

    def test_a_single_long_paragraph_is_not_cut(self):
        assert passages.sections(sentence(3000), 700) == [sentence(3000)]

    def test_the_shipped_articles_come_in_nine_sections_near_700_words(self, repository):
        for path in sorted((repository / "corpus" / "articles").glob("*.txt")):
            sizes = [len(one.split()) for one in passages.sections(path.read_text(encoding="utf-8"), 700)]
            assert len(sizes) == 9
            assert all(550 <= size <= 800 for size in sizes)
