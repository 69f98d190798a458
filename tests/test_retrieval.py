"""BM25 by hand, ties, what nothing is known of, and what rank-bm25 does with terms of many passages."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_tokenbench.retrieval import Index, tokens

PASSAGES = ["red mill", "Red, red river bridge.", "old bridge", "old stone house here", "green lamp"]


class TestTokens:
    def test_are_words_and_numbers_in_lower_case_without_punctuation(self):
        assert tokens("The Mill's 2nd wheel -- 12.5 m!") == [
            "the",
            "mill",
            "s",
            "2",
            "nd",
            "wheel",
            "12.5",
            "m",
        ]

    def test_a_number_with_separators_is_one(self):
        assert tokens("1,470 and 1470, 3.5.") == ["1,470", "and", "1470", "3.5"]

    def test_letters_of_any_script_count(self):
        assert tokens("\u00c9lan Stra\u00dfe \u041c\u0418\u0420") == [
            "\u00e9lan",
            "stra\u00dfe",
            "\u043c\u0438\u0440",
        ]


class TestByHand:
    """Five passages of 2, 4, 2, 4 and 2 tokens: mean length 2.8.

    A term in n of N = 5 passages has idf = ln((N - n + 0.5) / (n + 0.5)): n = 1: ln 3 = 1.098612; n = 2: ln 1.4 =
    0.336472. A term that stands f times in a passage of length L adds

        idf * f * 2.5 / (f + 1.5 * (0.25 + 0.75 * L / 2.8)).

    The bracket is 0.785714 for L = 2 (times 1.5: 1.178571) and 1.321429 for L = 4 (times 1.5: 1.982143).
    """

    @pytest.mark.parametrize(
        ("query", "scores"),
        [
            # red: 0.336472 * 1 * 2.5 / 2.178571 and 0.336472 * 2 * 2.5 / 3.982143.
            ("red", [0.386116, 0.422477, 0, 0, 0]),
            # bridge: 0.336472 * 2.5 / 2.982143 = 0.282073 and 0.386116; red as above.
            ("Red bridge?", [0.386116, 0.704550, 0.386116, 0, 0]),
            # stone: 1.098612 * 2.5 / 2.982143.
            ("stone", [0, 0, 0, 0.920992, 0]),
            # A word asked for twice counts twice.
            ("stone, stone", [0, 0, 0, 1.841984, 0]),
        ],
    )
    def test_the_scores_are_those_of_okapi_with_k1_of_1_5_and_b_of_0_75(self, query, scores):
        found = Index(PASSAGES)._ranker.get_scores(tokens(query))
        assert list(found) == pytest.approx(scores, abs=2e-6)

    @pytest.mark.parametrize(
        ("query", "ranking"),
        [
            ("red", [1, 0, 2, 3, 4]),
            ("Red bridge?", [1, 0, 2, 3, 4]),  # 0 and 2 are equal
            ("lamp stone", [4, 3, 0, 1, 2]),  # in the shorter one it weighs more
            ("old", [2, 3, 0, 1, 4]),
        ],
    )
    def test_passages_come_by_falling_score_and_ties_in_document_order(self, query, ranking):
        assert Index(PASSAGES).rank(query) == ranking

    def test_top_takes_the_first_of_the_ranking(self):
        assert Index(PASSAGES).top("red", 2) == [1, 0]

    def test_top_takes_all_where_there_are_fewer(self):
        assert Index(PASSAGES).top("lamp stone", 99) == [4, 3, 0, 1, 2]


class TestNothingToGoBy:
    @pytest.mark.parametrize("query", ["", "?!", "submarine", "1471"])
    def test_a_query_without_a_known_term_gives_document_order(self, query):
        assert Index(PASSAGES).rank(query) == [0, 1, 2, 3, 4]

    @pytest.mark.parametrize("passages", [[], [""], ["", "--", "\n"]])
    def test_passages_without_a_token_give_document_order(self, passages):
        assert Index(passages).rank("mill") == list(range(len(passages)))

    def test_an_empty_passage_among_others_comes_after_those_that_match(self):
        assert Index(["", "a lamp", "the red mill", "stone"]).rank("mill") == [2, 0, 1, 3]


class TestFrequentTerms:
    """The plain idf is negative for a term of more than half the passages, and 0 for one of exactly half.

    rank-bm25 puts a quarter of the mean idf of all terms in the place of a negative one. A document of few passages
    that are alike can have a negative mean; we take the amount then, so that a match never counts against a passage.
    """

    def test_a_term_of_most_passages_counts_for_little_but_not_against_them(self):
        passages = ["stone wall", "mill wheel", "mill race", "mill pond", "mill dam", "green lamp"]
        index = Index(passages)
        # ln(5.5 / 1.5) = 1.299283 for each of the 8 terms of one passage; ln(2.5 / 4.5) = -0.587787 for mill.
        # A quarter of the mean of these nine: (8 * 1.299283 - 0.587787) / 9 / 4 = 0.272402.
        assert index._ranker.idf["mill"] == pytest.approx(0.272402, abs=2e-6)
        assert index.rank("mill") == [1, 2, 3, 4, 0, 5]
        assert index.rank("mill pond")[0] == 3
        assert index.rank("mill wall")[0] == 0

    def test_a_term_of_exactly_half_the_passages_counts_for_nothing(self):
        # A known weakness of the formula, kept as it is: with two passages no term of only one of them has weight.
        assert Index(["the wall", "the mill"]).rank("mill") == [0, 1]
        assert Index(["stone wall", "green lamp", "old mill", "red mill"]).rank("mill") == [0, 1, 2, 3]

    def test_with_a_negative_mean_a_passage_that_matches_more_still_comes_first(self):
        # In two of three passages, and ln(1.5 / 2.5) = -0.510826 for "the" and "dog" alike: rank-bm25 alone puts the
        # passage without a dog first.
        assert Index(["the cat sat", "the dog ran", "the dog dog"]).rank("dog") == [2, 1, 0]

    @settings(max_examples=100, deadline=None)
    @given(st.lists(st.lists(st.sampled_from("abcd"), min_size=3, max_size=3), min_size=1, max_size=7))
    def test_a_term_brings_the_passages_that_hold_it_forward_or_counts_for_nothing(self, words):
        matching = ["a" in passage for passage in words]
        ranking = Index([" ".join(passage) for passage in words]).rank("a")
        in_front = [matching[place] for place in ranking] == sorted(matching, reverse=True)
        in_document_order = ranking == list(range(len(words)))
        # Nothing: in exactly half the passages, or where the mean idf is 0.
        assert in_front or in_document_order
