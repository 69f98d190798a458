"""The support desk's cases are what their README says: counts, places of the gold strings, ranks and scores."""

import json
import math
from collections import Counter
from itertools import chain, combinations
from pathlib import Path
from statistics import fmean

import pytest

from pytest_tokenbench import retrieval
from pytest_tokenbench.scoring import contains, contains_any, parts, tokens

DATA = Path(__file__).parent.parent / "benchmarks" / "data"
SET = json.loads((DATA / "support.json").read_text("utf-8"))
CASES = SET["cases"]
MAIN = [case for case in CASES if not case["stress"]]
STRESS = [case for case in CASES if case["stress"]]
CATEGORIES = ("billing", "delivery", "repair", "account")


def shaped(*shapes):
    """The cases of these shapes, as parameters named by their ids."""
    return [pytest.param(case, id=case["id"]) for case in CASES if case["slices"]["shape"] in shapes]


every_case = pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in CASES])


def units(case):
    """The prompt of a case: its units by block and 1-based place."""
    found = {}
    for block in SET["blocks"]:
        texts = case[block] if block in case else SET["shared"][block]
        for place, text in enumerate(texts, 1):
            found[block, place] = SET["passages"][text["id"]] if block == "passages" else text
    return found


def golds(case):
    return [*case["answers"], *case["aliases"]]


def without(case, *places):
    """What is left of a prompt when the units at these places are taken out."""
    return "\n\n".join(text for place, text in units(case).items() if place not in places)


def words(text):
    return len(text.split())


def by_slice(cases, name):
    return Counter(case["slices"][name] for case in cases)


class TestCounts:
    def test_eighty_main_cases_in_four_categories_of_twenty(self):
        assert by_slice(MAIN, "category") == dict.fromkeys(CATEGORIES, 20)

    def test_ids_count_through_and_name_the_stress_cases(self):
        assert [case["id"] for case in MAIN] == [f"s{n:03d}" for n in range(1, 81)]
        assert [case["id"] for case in STRESS] == [f"x{n:03d}" for n in range(1, 23)]

    def test_one_main_case_in_sixteen_is_a_follow_up(self):
        assert by_slice(MAIN, "turn") == {"single_turn": 75, "multi_turn": 5}

    def test_follow_ups_and_they_alone_are_of_several_turns(self):
        for case in CASES:
            slices = case["slices"]
            assert case["follow_up"] == (slices["turn"] == "multi_turn") == (slices["shape"] == "follow_up")

    def test_main_shapes(self):
        assert by_slice(MAIN, "shape") == {"plain": 65, "redundant": 10, "follow_up": 5}

    def test_stress_cases_have_the_shapes_that_the_main_ones_lack(self):
        assert by_slice(STRESS, "shape") == {"follow_up": 8, "locale": 7, "exception": 7}
        assert by_slice(STRESS, "category") == {"billing": 6, "delivery": 5, "repair": 7, "account": 4}

    def test_about_a_quarter_asks_for_two_facts(self):
        def two_facts(cases):
            return sum(len(parts(case["answers"][0])) == 2 for case in cases)

        assert (two_facts(MAIN), two_facts(STRESS)) == (19, 3)

    def test_gold_ranks_of_the_main_cases_spread(self):
        ranks = Counter(case["gold_rank"] for case in MAIN)
        assert ranks == {None: 15, 1: 51, 2: 9, 3: 3, 4: 1, 5: 1}
        shares = [100 * n / 65 for n in (ranks[1], ranks[2], ranks[3], ranks[4] + ranks[5])]
        assert [round(share) for share in shares] == [78, 14, 5, 3]

    def test_blocks_units_and_shared_texts(self):
        assert SET["name"] == "support"
        assert SET["blocks"] == ["system", "examples", "passages", "tail"]
        assert {block: len(texts) for block, texts in SET["shared"].items()} == {"system": 1, "examples": 12}
        assert all(len(case["passages"]) == 5 and len(case["tail"]) == 1 for case in CASES)
        assert len(SET["passages"]) == 66

    def test_all_texts_are_different(self):
        for texts in (
            [case["question"].casefold() for case in CASES],
            list(SET["passages"].values()),
            SET["shared"]["examples"],
            [case["tail"][0] for case in CASES if case["follow_up"]],
        ):
            assert len(set(texts)) == len(texts)

    def test_no_two_questions_share_most_of_their_words(self):
        for one, other in combinations(CASES, 2):
            a, b = set(tokens(one["question"])), set(tokens(other["question"]))
            assert len(a & b) / len(a | b) < 0.5, (one["id"], other["id"])


class TestGolds:
    @every_case
    def test_a_case_has_an_answer_of_one_or_two_short_facts(self, case):
        assert len(case["answers"]) == 1
        facts = parts(case["answers"][0])
        assert 1 <= len(facts) <= 2
        assert all(1 <= len(tokens(fact)) <= 3 for fact in facts)

    @every_case
    def test_no_gold_string_stands_in_the_question(self, case):
        assert not contains_any(case["question"], golds(case))

    @every_case
    def test_aliases_are_different_and_say_more_than_the_answer(self, case):
        assert len(set(golds(case))) == len(golds(case))
        assert not any(contains(alias, case["answers"][0]) for alias in case["aliases"])

    @pytest.mark.parametrize("case", shaped("plain", "locale", "exception"))
    def test_the_passage_at_the_gold_rank_alone_holds_the_answer(self, case):
        place = ("passages", case["gold_rank"])
        assert contains_any(units(case)[place], case["answers"])
        assert not contains_any(without(case, place), golds(case))

    @pytest.mark.parametrize("case", shaped("follow_up"))
    def test_the_tail_of_a_follow_up_alone_holds_the_answer(self, case):
        assert case["gold_rank"] is None
        assert contains_any(units(case)["tail", 1], case["answers"])
        assert not contains_any(without(case, ("tail", 1)), golds(case))

    @pytest.mark.parametrize("case", shaped("follow_up"))
    def test_the_tail_of_a_follow_up_serves_no_other_case(self, case):
        assert [other["id"] for other in CASES if other["tail"] == case["tail"]] == [case["id"]]


class TestRedundantCases:
    @pytest.mark.parametrize("case", shaped("redundant"))
    def test_system_block_and_one_example_each_hold_the_rule_and_nothing_else_does(self, case):
        holders = [place for place, text in units(case).items() if contains_any(text, golds(case))]
        assert [block for block, _ in holders] == ["system", "examples"]
        assert all(contains_any(units(case)[place], case["answers"]) for place in holders)
        assert not contains_any(without(case, *holders), golds(case))

    @pytest.mark.parametrize("case", shaped("redundant"))
    def test_no_passage_of_the_knowledge_base_holds_the_rule(self, case):
        assert case["gold_rank"] is None
        assert not contains_any("\n\n".join(SET["passages"].values()), golds(case))

    def test_five_rules_decide_two_cases_each(self):
        rules = Counter(case["answers"][0] for case in CASES if case["slices"]["shape"] == "redundant")
        assert rules == dict.fromkeys(("shift lead", "Ferrel Desk", "35 dren", "Amber 7", "9 weeks"), 2)


class TestRetrieval:
    ids = tuple(SET["passages"])
    index = retrieval.Index(list(SET["passages"].values()))

    @every_case
    def test_passages_are_the_five_that_the_index_ranks_highest(self, case):
        found = [self.ids[place] for place in self.index.top(case["question"], 5)]
        assert [passage["id"] for passage in case["passages"]] == found

    @every_case
    def test_scores_are_those_of_the_bm25_formula(self, case):
        scores = bm25(case["question"])
        for passage in case["passages"]:
            assert passage["score"] == pytest.approx(scores[passage["id"]], abs=0.00501)
            assert round(passage["score"], 2) == passage["score"]

    @every_case
    def test_scores_fall(self, case):
        scores = [passage["score"] for passage in case["passages"]]
        assert scores == sorted(scores, reverse=True)
        assert scores[-1] > 0


def bm25(question):
    """Okapi BM25 with k1 1.5 and b 0.75; a term of more than half the passages weighs a quarter of the mean."""
    asked = retrieval.tokens(question)
    return {name: sum(weigh(term, counts) for term in asked) for name, counts in COUNTS.items()}


COUNTS = {name: Counter(retrieval.tokens(text)) for name, text in SET["passages"].items()}
HOLDERS = Counter(chain.from_iterable(COUNTS.values()))
IDF = {term: math.log((len(COUNTS) - held + 0.5) / (held + 0.5)) for term, held in HOLDERS.items()}
COMMON = abs(fmean(IDF.values())) / 4
MEAN_LENGTH = fmean(counts.total() for counts in COUNTS.values())


def weigh(term, counts):
    idf = IDF.get(term, 0.0)
    length = 0.25 + 0.75 * counts.total() / MEAN_LENGTH
    return (idf if idf >= 0 else COMMON) * 2.5 * counts[term] / (counts[term] + 1.5 * length)


class TestLengths:
    def test_a_passage_has_35_to_60_words(self):
        assert all(35 <= words(text) <= 60 for text in SET["passages"].values())

    def test_the_system_block_has_150_to_220_words(self):
        assert 150 <= words(SET["shared"]["system"][0]) <= 220

    def test_an_example_has_25_to_45_words(self):
        assert all(25 <= words(text) <= 45 for text in SET["shared"]["examples"])

    @every_case
    def test_a_question_has_12_to_30_words_and_a_tail_25_to_60(self, case):
        assert 12 <= words(case["question"]) <= 30
        assert 25 <= words(case["tail"][0]) <= 60

    @every_case
    def test_a_prompt_has_750_to_1000_words(self, case):
        assert 750 <= words(without(case)) <= 1000

    def test_texts_are_ascii_so_that_every_tokenizer_treats_them_alike(self):
        assert json.dumps(SET, ensure_ascii=False).isascii()


class TestReadme:
    def test_licence_and_counts_are_said(self):
        said = " ".join((DATA / "README.md").read_text("utf-8").split())
        assert "CC BY-SA 4.0" in said
        assert f"holds {len(CASES)} questions" in said
        assert f"knowledge base of {len(SET['passages'])}" in said

    def test_words_of_the_blocks_are_said(self):
        said = (DATA / "README.md").read_text("utf-8")
        for block in SET["blocks"]:
            mean = fmean(
                sum(words(text) for (name, _), text in units(case).items() if name == block) for case in CASES
            )
            (row,) = [line for line in said.splitlines() if line.startswith(f"| `{block}` |")]
            assert row.split("|")[3].strip() == str(round(mean))
