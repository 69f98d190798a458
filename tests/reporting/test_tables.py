"""From a run to its results document and to text: figures by hand, tables at two widths, what is missing, escaping.

The example is that of test_results.py with what D built: mill 2,000 + 400 tokens, quay 2,600 + 400. A was cold, D not
known to be; Z was not run.
"""

import json
import math
import re
import sys
import unicodedata
from dataclasses import replace

import pytest
import scripted

from pytest_tokenbench.prices import Price
from pytest_tokenbench.records import Evidence, Ruling, Status, Verdict
from pytest_tokenbench.reporting import costs, document, markdown, terminal, wording
from pytest_tokenbench.run_folder import Run, RunRecord

QUESTIONS = (
    scripted.question("q1"),
    scripted.question("q2"),
    scripted.question("q3", document="quay"),
    scripted.unanswerable("q4", document="quay"),
)


def trials(name, tokens, rights, **more):
    return [
        scripted.observation(question, name, right=right, input_tokens=count, **more)
        for question, count, right in zip(QUESTIONS, tokens, rights, strict=True)
    ]


A = trials("A", (1000, 1200, 800, 1000), (True, True, False, True), cached_tokens=0, prefill_s=2.5)
D = trials("D", (100, 150, 50, 100), (True, False, True, False))
MILL = scripted.preparation(
    "One.", key="k1", input_tokens=2000, output_tokens=400, flags=("recovered",), numbers=7, unfaithful_numbers=2,
    seconds=3.0,
)  # fmt: skip
QUAY = scripted.preparation(
    "Two.", "Three.", key="k2", document="quay", input_tokens=2600, output_tokens=400, seconds=5.0
)
H1 = Verdict("H1", "D uses less than A.", Ruling.PASSED, "", (Evidence("reduction", 0.9, 0.88, 0.92, 4),))
RECORD = RunRecord(
    format=1,
    study="made",
    study_file="test_made.py",
    started="2026-11-30T05:00:00+00:00",
    quick=False,
    order="cold",
    backend="ollama",
    baseline="A",
    conditions=("A", "D", "Z"),
    questions=QUESTIONS,
    scheduled=8,
    model=scripted.INFO,
    hashes={"questions": "abc"},
    registration="pre-registered: last change committed 2026-11-01",
    registered=(),
    commit="c0ffee",
    machine={"cpu": "a cpu"},
    recipes={"D": "croutons"},
    finished="2026-11-30T06:00:00+00:00",
    verdicts=(H1,),
)


def built(observations=(*A, *D), preparations=(MILL, QUAY), **changes):
    return document.build(Run(replace(RECORD, **changes), tuple(observations), tuple(preparations)))


def lines(made, width):
    return [line for line, _ in terminal.summary(made, width)]


class TestDocument:
    def test_preparation_is_a_mean_over_documents_and_over_a_documents_questions(self):
        # (2400 + 3000) / 2 = 2700; four questions on two documents: 2700 / 2 = 1350; (3 + 5) / 2 = 4 s.
        made = built()["conditions"]["D"]["preparation"]
        assert made["tokens_per_document"]["estimate"] == 2700
        assert made["tokens_per_question"]["estimate"] == 1350
        assert made["seconds_per_document"] == 4
        assert (made["numbers"], made["unfaithful_numbers"]) == (7, 2)
        assert made["units"] == {"mill": 1, "quay": 2}
        assert made["flags"] == {"mill": ["recovered"]}

    def test_the_break_even_is_the_first_number_of_questions_that_costs_less(self):
        # A question saves 900 tokens: after 3 the 2,700 are even, the 4th pays.
        made = built()["conditions"]["D"]["break_even"]
        assert made["questions_per_document"] == 4
        assert made["tokens_saved_per_question"] == 900

    def test_a_condition_that_saves_nothing_never_breaks_even(self):
        dear = trials("D", (1000, 1200, 800, 1000), (True,) * 4)
        assert "never" in built((*A, *dear))["conditions"]["D"]["break_even"]

    def test_a_preparation_of_unknown_cost_is_unknown_and_not_0(self):
        made = built(preparations=(MILL, replace(QUAY, input_tokens=None)))["conditions"]["D"]
        unknown = {"unavailable": "the preparation of quay has no token counts"}
        assert made["preparation"]["tokens_per_document"] == unknown
        assert made["preparation"]["tokens_per_question"] == unknown
        assert made["break_even"] == unknown

    def test_a_failed_preparation_is_named_and_not_in_the_mean(self):
        failed = replace(QUAY, units=(), failure="the server fell")
        made = built(preparations=(MILL, failed))["conditions"]["D"]["preparation"]
        assert made["failed"] == {"quay": "the server fell"}
        assert made["tokens_per_document"]["estimate"] == 2400
        assert made["documents"] == 2

    def test_two_recipes_of_one_name_are_told_apart_by_their_options(self):
        short = replace(MILL, recipe="summary", options={"max_words": 300}, output_tokens=300, flags=("cut",))
        long = replace(MILL, recipe="summary", options={"max_words": 600}, output_tokens=600)
        changes = {
            "recipes": {"D": "summary", "Z": "summary"},
            "recipe_options": {"D": {"max_words": 300}, "Z": {"max_words": 600}},
        }
        made = built(preparations=(short, long), **changes)
        costs = {name: made["conditions"][name]["preparation"]["tokens_per_document"] for name in "DZ"}
        assert {name: made["estimate"] for name, made in costs.items()} == {"D": 2300, "Z": 2600}
        notes = wording.notes(made)
        assert "summary (D): cut at its token limit for 1 of 1 documents" in notes
        assert "summary (Z): recovered from prose for 1 of 1 documents" in notes

    def test_differences_come_with_the_sensitivity_figures(self):
        made = built()["conditions"]["D"]["differences"]["accuracy"]
        assert (made["estimate"], made["n"]) == (0, 3)
        assert made["discordance"] == pytest.approx(2 / 3)
        assert made["by_document"]["estimate"] == pytest.approx(0.25)
        assert made["by_document"]["n"] == 2

    def test_bounds_stand_beside_a_measure_with_missing_trials_only(self):
        lost = replace(D[0], status=Status.ERROR, scores=None, outcome=None, input_tokens=None)
        made = built((*A, lost, *D[1:]))["conditions"]
        assert made["D"]["measures"]["accuracy"]["bounds"] == pytest.approx([1 / 3, 2 / 3])
        assert made["D"]["missing"] == {"q1": "error"}
        assert "bounds" not in made["A"]["measures"]["accuracy"]
        assert "bounds" not in made["D"]["measures"]["made_up"]
        # Shown with what there is: (150 + 50 + 100) / 3.
        assert made["D"]["measures"]["input_tokens"]["estimate"] == 100
        assert made["D"]["measures"]["input_tokens"]["n"] == 3

    def test_what_was_not_measured_says_why(self):
        made = built()["conditions"]
        assert made["Z"]["measures"]["accuracy"] == {"unavailable": "condition Z was not measured"}
        assert made["Z"]["reduction"] == {"unavailable": "condition Z was not measured"}
        assert made["D"]["measures"]["prefill_s"] == {
            "unavailable": "no trial of condition D is known to be cold",
            "trials": {"cold": 0, "warm": 0, "not_told": 4},
        }
        assert "reduction" not in made["A"]

    def test_the_same_run_gives_the_same_text_which_is_json_without_nan(self):
        text = document.as_text(built())
        assert text == document.as_text(built())
        json.loads(text, parse_constant=pytest.fail)

    def test_a_run_without_a_trial_has_a_document_too(self):
        made = built((), ())
        assert json.loads(document.as_text(made))["conditions"]["A"]["missing"]["q1"] == "not run"


WIDE = """\
      tokens/q    less than A    accuracy [95%]          points from A    abstained    made up       prefill    prepared/doc    pays from
--  ----------  -------------  ----------------  ---------------------  -----------  ---------  ------------  --------------  -----------
A        1,000       baseline      67% [0, 100]               baseline         100%         0%        2.50 s               0     baseline
D          100          90.0%      67% [0, 100]  +0.0 [-100.0, +100.0]           0%       100%  not verified           2,700            4
Z            -              -                 -                      -            -          -             -               0            -
"""
NARROW = """\
made: 2 documents, 4 questions, scripted:1b (scripted), cold order

      tokens/q    less than A    accuracy [95%]          points from A
--  ----------  -------------  ----------------  ---------------------
A        1,000       baseline      67% [0, 100]               baseline
D          100          90.0%      67% [0, 100]  +0.0 [-100.0, +100.0]
Z            -              -                 -                      -

H1 passed: D uses less than A.
    reduction = 0.9 [0.88, 0.92], n=4

note: pre-registered: last change committed 2026-11-01
note: not measured: Z
note: nearly every unanswerable question got a made-up answer under D: that
    another condition makes up no more of them shows nothing
note: prefill not verified cold and not shown: D
note: croutons: recovered from prose for 1 of 2 documents
note: croutons: 2 of 7 numbers do not stand in the source
"""


class TestTerminal:
    def test_at_140_columns_the_table_has_every_column(self):
        assert terminal.table(built(), 140) == WIDE.rstrip("\n")

    def test_at_80_columns_the_summary_has_fewer_and_fits(self):
        made = lines(built(), 80)
        assert made == NARROW.splitlines()
        assert max(map(len, made)) <= 80

    @pytest.mark.parametrize("width", [60, 80, 100, 120, 140])
    @pytest.mark.parametrize("repeats", [1, 3])
    def test_a_table_of_the_protocols_size_fits(self, width, repeats):
        made = built(repeats=repeats)
        for name in ("B2", "B4", "C", "D10", "D25", "Dall"):
            made["conditions"][name] = made["conditions"]["D"]
        assert max(map(len, lines(made, width))) <= width

    @pytest.mark.parametrize("width", [60, 80])
    def test_a_long_name_is_cut_to_what_fits(self, width):
        long = "the-whole-document-with-its-headings-and-footnotes-and-all"
        made = built((*A, *(replace(one, condition=long) for one in D)), conditions=("A", long), recipes={})
        shown = terminal.table(made, width).splitlines()
        assert max(map(len, shown)) <= width
        assert shown[3].startswith("the-wh")
        assert "…" in shown[3].split()[0]
        assert long in terminal.table(made, 200)

    @pytest.mark.parametrize("width", [40, 60, 80])
    def test_so_is_one_in_a_table_of_costs(self, width):
        long = "the-whole-document-with-its-headings-and-footnotes-and-all"
        dear = Price("by hand", "EUR", input=1e9, cached_input=None, output=1e9)
        made = built(
            (*A, *(replace(one, condition=long) for one in D)),
            conditions=("A", long),
            recipes={},
            prices=(dear,),
        )
        shown = costs.table(made["costs"][0], "A", width).splitlines()
        assert max(map(len, shown)) <= width
        assert "together" in shown[0]
        assert ("…" in shown[-1]) == (width < 80)

    def test_neither_none_nor_nan_is_ever_shown(self):
        for observations, preparations in (
            ((*A, *D), (MILL, QUAY)),
            ((), ()),
            (A, ()),
            (D, (MILL,)),
            (A[:1], ()),
        ):
            made = built(observations, preparations)
            silent = replace(RECORD, model=replace(scripted.INFO, digest=None, window=None))
            text = "\n".join([*lines(made, 80), *lines(made, 140), markdown.render(made, silent)])
            assert "None" not in text
            assert "nan" not in text.casefold().split()
            assert "inf" not in text.casefold().split()

    def test_a_quick_look_says_so_first_and_once(self):
        made = lines(built(quick=True), 140)
        assert made[1].startswith("QUICK look")
        assert sum("QUICK" in line for line in made) == 1

    def test_a_verdict_that_is_not_a_pass_comes_with_its_reason(self):
        verdicts = (
            Verdict("H1", "It holds.", Ruling.UNAVAILABLE, "condition D was not measured"),
            Verdict("H2", "It holds.", Ruling.ERROR, "ValueError: no"),
        )
        made = lines(built(verdicts=verdicts), 140)
        assert "H1 unavailable (condition D was not measured): It holds." in made
        assert "H2 error (ValueError: no): It holds." in made

    @pytest.mark.parametrize("sign", ["\x1b", "\x07", "\x9b", "\u202e", "\r"])
    def test_control_characters_from_outside_do_not_reach_the_terminal(self, sign):
        evil = f"a{sign}[31mb"
        made = built(
            study=evil,
            model=replace(scripted.INFO, name=evil, backend=evil),
            registration=evil,
            conditions=("A", "D", evil),
            preparations=(replace(MILL, document=evil, failure=evil), QUAY),
            verdicts=(Verdict(evil, evil, Ruling.UNAVAILABLE, evil, (Evidence(evil, 1.0, None, None, 1),)),),
        )
        for width in (80, 140):
            assert not any(sign in line for line in lines(made, width))
        assert sign not in markdown.render(made, RECORD)


class TestPrefill:
    @staticmethod
    def shown(cached, seconds=2.0, **changes):
        trials = [
            replace(one, input_tokens=1000, cached_tokens=count, prefill_s=seconds)
            for one, count in zip(D, cached, strict=True)
        ]
        made = built((*A, *trials), conditions=("A", "D"), **changes)
        return wording.prefill(made["conditions"]["D"]), [
            note for note in wording.notes(made) if "prefill" in note
        ]

    def test_the_cell_itself_says_that_it_is_not_verified(self):
        assert self.shown((None,) * 4) == (
            "not verified",
            ["prefill not verified cold and not shown: D"],
        )

    def test_one_unknown_count_is_enough_for_that_where_none_is_cold(self):
        assert self.shown((900, None, 900, 900))[0] == "not verified"

    def test_a_part_of_the_prompts_comes_with_its_n(self):
        assert self.shown((0, 0, 900, 900)) == (
            "2.00 s (n=2)",
            ["prefill from questions known to be cold only: D 2 of 4"],
        )
        assert self.shown((0, 0, 0, None))[0] == "2.00 s (n=3)"
        assert self.shown((0, 0, 0, 0)) == ("2.00 s", [])

    def test_in_shared_order_the_note_says_that_it_is_the_first_of_each_group(self):
        assert self.shown((0, 900, 0, 900), order="shared") == (
            "2.00 s (n=2)",
            ["shared order, prefill from the first of each group only: D 2 of 4"],
        )

    def test_where_all_came_from_a_cache_none_was_cold(self):
        assert self.shown((900,) * 4) == (
            "none cold",
            ["prefill not shown, since a cache had a part of the prompts: D"],
        )

    def test_where_cold_prompts_were_not_timed_it_was_not_told(self):
        assert self.shown((0,) * 4, seconds=None) == ("-", ["prefill not told: D"])

    def test_a_nonce_is_told(self):
        made = built(nonce=True)
        note = "a nonce began every prompt, so that none could find its beginning in a cache; it changes the prompt"
        assert note in wording.notes(made)
        assert wording.manner(made) == "cold order, with nonces"


class TestWording:
    def test_a_difference_that_rounds_to_0_has_no_minus(self):
        figure = {"estimate": -1e-17, "low": -0.0004, "high": 0.0004, "n": 9, "zero_width": False}
        assert wording.points(figure) == "+0.0 [+0.0, +0.0]"

    def test_an_interval_of_zero_width_is_marked_and_one_that_is_not_there_is_told(self):
        figure = {"estimate": 1.0, "low": 1.0, "high": 1.0, "n": 9, "zero_width": True}
        assert wording.share(figure, interval=True) == "100% [100, 100]!"
        figure = {"estimate": 1.0, "low": None, "high": None, "n": 1, "zero_width": False}
        assert wording.share(figure, interval=True) == "100% [no interval]"

    def test_large_numbers_behind_a_verdict_are_written_as_people_write_them(self):
        entry = {"measure": "input_tokens of A", "estimate": 12345.6, "low": 999.94, "high": 23456.7, "n": 80}
        assert wording.evidence(entry) == "input_tokens of A = 12,346 [999.9, 23,457], n=80"

    def test_an_interval_of_zero_width_is_explained_whichever_measure_has_it(self):
        told = "! marks an interval of zero width: nothing varied in this sample, which is not certainty"
        made = built()
        assert told not in wording.notes(made)
        for measure in ("accuracy", "made_up", "f1"):
            again = json.loads(json.dumps(made))
            figure = again["conditions"]["D"]["differences"][measure]
            figure |= {"estimate": 0.5, "low": 0.5, "high": 0.5, "zero_width": True}
            assert told in wording.notes(again)
        again = json.loads(json.dumps(made))
        again["conditions"]["D"]["preparation"]["tokens_per_document"]["zero_width"] = True
        assert told in wording.notes(again)

    @pytest.mark.parametrize("show", [wording.tokens, wording.share, wording.reduction, wording.points])
    def test_a_missing_figure_is_a_dash(self, show):
        assert show({"unavailable": "not measured"}) == "-"

    def test_without_a_preparation_a_condition_pays_from_the_first_question_where_it_saves_at_all(self):
        def shown(tokens):
            made = built((*A, *trials("D", tokens, (True,) * 4)), (), recipes={})
            return wording.break_even(made["conditions"]["D"])

        assert shown((999, 1199, 799, 999)) == "1"
        assert shown((1000, 1200, 800, 1000)) == "never"
        assert shown((2000, 1200, 800, 1000)) == "never"
        assert wording.break_even(built()["conditions"]["A"]) == "baseline"
        assert wording.break_even(built()["conditions"]["Z"]) == "-"


class TestNotes:
    def test_a_sound_run_has_only_its_registration(self):
        # D as it is, but for its made-up answer.
        cold = [replace(one, condition="D", cached_tokens=0, prefill_s=1.0) for one in (*D[:3], A[3])]
        sound = replace(MILL, flags=(), unfaithful_numbers=0)
        made = built((*A, *cold), (sound, QUAY), conditions=("A", "D"))
        assert wording.notes(made) == ["pre-registered: last change committed 2026-11-01"]

    def test_a_baseline_that_is_hardly_ever_right_is_told_since_then_nothing_can_be_lost(self):
        never = trials("A", (1000, 1200, 800, 1000), (False, False, False, True))
        (told,) = (note for note in wording.notes(built((*never, *D))) if "right on" in note)
        assert told.startswith("A is right on 0% of the questions: no condition can lose more points")
        assert not [note for note in wording.notes(built((*A, *D))) if "right on" in note]

    def test_conditions_under_which_all_is_made_up_are_told_since_then_none_can_make_up_more(self):
        both = (*trials("A", (1000, 1200, 800, 1000), (True, True, True, False)), *D)
        (told,) = (note for note in wording.notes(built(both)) if "made-up" in note)
        assert told.startswith("nearly every unanswerable question got a made-up answer under A, D:")
        kept = (*A, *(replace(one, condition="D") for one in A))
        assert not [note for note in wording.notes(built(kept)) if "made-up" in note]

    def test_large_counts_of_numbers_can_be_read(self):
        many = replace(MILL, numbers=3116, unfaithful_numbers=1177)
        told = "croutons: 1,177 of 3,116 numbers do not stand in the source"
        assert told in wording.notes(built((*A, *D), (many, QUAY), conditions=("A", "D")))

    def test_missing_trials_are_counted_by_reason(self):
        ended = {"scores": None, "outcome": None, "input_tokens": None}
        observations = [
            *A,
            replace(D[0], status=Status.OVER_WINDOW, **ended),
            replace(D[1], status=Status.CONSTRUCTION_FAILED, **ended),
            D[2],
        ]
        notes = wording.notes(built(observations))
        assert "D: 3 trials missing (1 construction failed, 1 not run, 1 over window)" in notes

    def test_an_unfinished_run_says_so(self):
        assert "this run did not come to its end" in wording.notes(built(finished=None))

    def test_prefill_from_a_part_of_the_trials_says_from_how_many(self):
        warm = [replace(A[0], cached_tokens=900), *A[1:]]
        assert "prefill from questions known to be cold only: A 3 of 4" in wording.notes(built((*warm, *D)))

    def test_a_failed_preparation_is_named_with_its_reason(self):
        failed = replace(QUAY, units=(), failure="the server fell")
        assert "croutons of quay failed: the server fell" in wording.notes(built(preparations=(MILL, failed)))

    @pytest.mark.parametrize(
        ("flag", "words"),
        [
            ("over_budget", "over its word budget"),
            ("cut", "cut at its token limit"),
            ("recovered", "recovered from prose"),
        ],
    )
    def test_what_was_out_of_the_ordinary_is_counted_over_documents(self, flag, words):
        made = built(preparations=(replace(MILL, flags=(flag,)), replace(QUAY, flags=(flag,))))
        assert f"croutons: {words} for 2 of 2 documents" in wording.notes(made)

    def test_the_mark_of_zero_width_is_explained_where_it_is_shown_and_only_there(self):
        explanation = (
            "! marks an interval of zero width: nothing varied in this sample, which is not certainty"
        )
        right = trials("A", (1000,) * 4, (True,) * 4)
        shown, unmarked = built((*right, *D)), built()
        assert explanation in wording.notes(shown)
        assert any("!" in line for line in terminal.table(shown, 80).splitlines())
        assert explanation not in wording.notes(unmarked)
        certain = Verdict("H1", "It holds.", Ruling.PASSED, "", (Evidence("x", 1.0, 1.0, 1.0, 4),))
        assert explanation in wording.notes(built(verdicts=(certain,)))


class TestTextFromOutside:
    def test_whatever_ends_a_line_but_a_line_feed_and_whatever_turns_a_text_is_taken_out(self):
        everything = [chr(number) for number in range(sys.maxunicode + 1)]
        ends = {one for one in everything if len(f"a{one}b".splitlines()) > 1} - {"\n"}
        controls = {one for one in everything if unicodedata.category(one) == "Cc"} - {"\n", "\t"}
        turns = {one for one in everything if unicodedata.bidirectional(one) in TURNS}
        turns |= {unicodedata.lookup(name) for name in MARKS}
        assert {"\r", "\x0b", "\x1c", "\x85", "\u2028", "\u2029"} <= ends
        assert len(turns) == 12
        for one in ends | controls | turns:
            assert wording.plain(f"a{one}b") == "a\ufffdb", ascii(one)
            assert wording.one_line(f"a{one}b") == "a\ufffdb", ascii(one)

    @pytest.mark.parametrize("text", ["a\nb\tc", "Brücke, 東京, שלום, \U0001f426", "e\u0301\u00a0\u2026"])
    def test_all_else_is_shown_as_it_is(self, text):
        assert wording.plain(text) == text


# What Unicode calls these: embeddings, overrides and isolates with their ends; and the marks among Bidi_Control.
TURNS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
MARKS = ("ARABIC LETTER MARK", "LEFT-TO-RIGHT MARK", "RIGHT-TO-LEFT MARK")


class TestMarkdown:
    @pytest.mark.parametrize(
        ("text", "escaped"),
        [
            ("a_b*c", r"a\_b\*c"),
            ("<b>&lt;", r"\<b\>\&lt;"),
            ("[x](y) `z` | # ~", r"\[x\](y) \`z\` \| \# \~"),
            ("a\\b", r"a\\b"),
            ("one\n- two\n\n# three", r"one - two \# three"),
            ("a\x1bb", "a\ufffdb"),
        ],
    )
    def test_text_from_outside_is_shown_as_it_is_written_on_one_line(self, text, escaped):
        assert markdown.escape(text) == escaped

    def test_a_condition_whose_name_has_a_bar_breaks_no_table(self):
        price = Price("by hand", "EUR", input=1.0, cached_input=0.5, output=1.0)
        made = built(
            [replace(one, condition="A|1") for one in A],
            conditions=("A|1", "D"),
            baseline="A|1",
            recipes={},
            prices=(price,),
        )
        found = [line for line in markdown.render(made, RECORD).splitlines() if line.startswith("|")]
        bars = [len(re.findall(r"(?<!\\)\|", line)) for line in found]
        # The table has nine figures beside the name, that of costs three.
        assert bars == [11] * 4 + [5] * 5
        assert all(line.count("A\\|1") in (0, 1) for line in found[1:])

    def test_what_is_not_told_of_the_model_is_said_so(self):
        record = replace(
            RECORD, model=replace(scripted.INFO, digest=None, window=None, host="http://a"), hosts=()
        )
        text = markdown.render(built(), record)
        assert "- model: scripted:1b (digest not told)\n" in text
        assert "- window: not told\n" in text
        assert "- hosts: http://a\n" in text

    def test_every_host_is_listed(self):
        hosts = tuple(replace(scripted.INFO, host=name) for name in ("http://a", "http://b\x1b"))
        text = markdown.render(built(), replace(RECORD, hosts=hosts))
        assert "- hosts: http://a, http://b\ufffd\n" in text

    def test_the_report_holds_the_table_the_hypotheses_the_notes_and_what_was_run(self):
        text = markdown.render(built(), RECORD)
        assert text.startswith(
            "# made: scripted:1b\n\n2 documents, 4 questions (3 answerable), cold order.\n"
        )
        assert "| D  |        100 |         90.0% |     67% [0, 100] | +0.0 [-100.0, +100.0] |" in text
        assert "- **H1 passed**: D uses less than A.\n  - reduction = 0.9 \\[0.88, 0.92\\], n=4\n" in text
        assert "- not measured: Z\n" in text
        assert "- commit: c0ffee\n" in text
        assert "- window: 4,096 tokens\n" in text
        assert text.endswith("\n")
        assert not text.endswith("\n\n")

    def test_a_quick_look_says_so_in_its_title(self):
        quick = replace(RECORD, quick=True)
        assert markdown.render(built(quick=True), quick).startswith("# made (QUICK): ")

    def test_what_is_not_known_of_the_model_is_left_out(self):
        text = markdown.render(built(), RECORD)
        assert "quantization" not in text


def test_shares_in_the_document_are_finite_numbers_between_0_and_1():
    for made in built()["conditions"].values():
        for name in ("accuracy", "abstention", "made_up"):
            if "estimate" in made["measures"][name]:
                assert math.isfinite(made["measures"][name]["estimate"])
                assert 0 <= made["measures"][name]["estimate"] <= 1
