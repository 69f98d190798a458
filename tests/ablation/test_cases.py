"""Reading the cases of an ablation, and what is refused."""

import copy
import hashlib
import json

import pytest

from pytest_tokenbench.ablation.arms import Arm
from pytest_tokenbench.ablation.cases import PACKAGE, SCHEMA, load
from pytest_tokenbench.ablation.design import ArmKind, ArmPlan
from pytest_tokenbench.corpus import schema
from pytest_tokenbench.corpus.faults import CorpusError
from pytest_tokenbench.records import Block, Unit

SOUND = {
    "name": "desk",
    "blocks": ["system", "examples", "passages", "tail"],
    "shared": {
        "system": ["Fees are shown in crowns."],
        "examples": ["Q: hours?\nA: 9 to 5", "Q: fee?\nA: none"],
    },
    "passages": {
        "kb-1": "A late parcel costs 42 crowns.",
        "kb-2": "The shift lead signs for it.",
        "kb-3": "Parcels wait for 10 days.",
    },
    "cases": [
        {
            "id": "s1",
            "question": "What does a late parcel cost, and who signs?",
            "answers": ["42 crowns & shift lead"],
            "aliases": ["CR 42 & lead"],
            "slices": {"category": "billing", "turn": "single_turn"},
            "passages": [{"id": "kb-1", "score": 11.5}, {"id": "kb-2", "score": 8}],
            "gold_rank": 1,
            "tail": ["Customer: good morning"],
        },
        {
            "id": "s2",
            "question": "And how long will it wait?",
            "answers": ["10 days"],
            "examples": ["Q: where?\nA: at the desk"],
            "passages": [{"id": "kb-3", "score": 2.25}],
            "tail": ["Customer: my parcel came.", "Agent: it is here."],
            "follow_up": True,
            "stress": True,
        },
    ],
}


def cases(tmp_path, value):
    path = tmp_path / "cases.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    return load(path, "data/cases.json")


def changed(**keys):
    """The sound file with some keys of its first case changed; None takes one out."""
    value = copy.deepcopy(SOUND)
    value["cases"][0] |= keys
    value["cases"][0] = {key: given for key, given in value["cases"][0].items() if given is not ...}
    return value


def told(tmp_path, value):
    """Every fault of a file as it is told, whether found by the schema or later."""
    try:
        return [str(fault) for fault in cases(tmp_path, value).faults]
    except CorpusError as error:
        return [str(fault) for fault in error.faults]


def test_a_sound_file_has_no_faults_and_its_sum(tmp_path):
    read = cases(tmp_path, SOUND)
    assert read.faults == ()
    assert (read.name, read.blocks) == ("desk", ("system", "examples", "passages", "tail"))
    assert read.sha256 == hashlib.sha256((tmp_path / "cases.json").read_bytes()).hexdigest()


def test_a_case_becomes_a_question_with_all_that_is_told_of_it(tmp_path):
    first, second = cases(tmp_path, SOUND).questions
    assert (first.id, first.document, first.question) == ("s1", "s1", SOUND["cases"][0]["question"])
    assert (first.answers, first.aliases) == (("42 crowns & shift lead",), ("CR 42 & lead",))
    assert first.slices == {"category": "billing", "turn": "single_turn"}
    assert (first.answerable, first.gold_rank, first.follow_up, first.stress) == (True, 1, False, False)
    assert (second.gold_rank, second.follow_up, second.stress) == (None, True, True)
    assert second.slices == {}


def test_the_blocks_of_a_case_are_its_own_before_the_shared_in_the_files_order(tmp_path):
    first, second = cases(tmp_path, SOUND).documents
    assert first.blocks == (
        Block("system", (Unit("Fees are shown in crowns."),)),
        Block("examples", (Unit("Q: hours?\nA: 9 to 5"), Unit("Q: fee?\nA: none"))),
        Block(
            "passages",
            (Unit("A late parcel costs 42 crowns.", 11.5), Unit("The shift lead signs for it.", 8.0)),
        ),
        Block("tail", (Unit("Customer: good morning"),)),
    )
    assert second.blocks[1] == Block("examples", (Unit("Q: where?\nA: at the desk"),))


def test_a_cases_document_is_its_base_context(tmp_path):
    read = cases(tmp_path, SOUND)
    base = Arm(ArmPlan("base", ArmKind.BASE))
    for question, document in zip(read.questions, read.documents, strict=True):
        assert document.id == question.id
        assert document.text == base.context(question, document, None).text
        assert document.words == len(document.text.split())
        assert document.sha256 == hashlib.sha256(document.text.encode()).hexdigest()
        assert document.file == "data/cases.json"
    assert read.documents[0].text == (
        "Fees are shown in crowns.\n\nQ: hours?\nA: 9 to 5\n\nQ: fee?\nA: none\n\n"
        "A late parcel costs 42 crowns.\n\nThe shift lead signs for it.\n\nCustomer: good morning"
    )


def test_units_words_and_scores_are_counted_by_block(tmp_path):
    read = cases(tmp_path, SOUND)
    assert read.units == {"system": 1, "examples": 2, "passages": 2, "tail": 2}
    assert read.words == {
        "s1": {"system": (5,), "examples": (6, 4), "passages": (6, 6), "tail": (3,)},
        "s2": {"system": (5,), "examples": (6,), "passages": (5,), "tail": (4, 4)},
    }
    assert read.scores == {"s1": {"passages": (11.5, 8.0)}, "s2": {"passages": (2.25,)}}


FAULTS = {
    "unknown passage": (
        {"passages": [{"id": "kb-1", "score": 3}, {"id": "kb-9", "score": 2}]},
        # Its text is missing from the case, so the second gold part is too.
        [
            'case "s1": the block "passages" names the unknown passage "kb-9"; add it to "passages"',
            (
                'case "s1": the gold string "shift lead" is in no block of the case; copy it from one, '
                'or move it to "aliases"'
            ),
        ],
    ),
    "passage twice": (
        {
            "passages": [
                {"id": "kb-1", "score": 3},
                {"id": "kb-2", "score": 2},
                {"id": "kb-1", "score": 2},
            ]
        },
        ['case "s1": the block "passages" has the passage "kb-1" 2 times; keep one'],
    ),
    "scores ascend": (
        {"passages": [{"id": "kb-1", "score": 8}, {"id": "kb-2", "score": 8.5}]},
        [
            (
                'case "s1": the scores of the block "passages" do not descend (8, 8.5); '
                "put the passages in rank order"
            )
        ],
    ),
    "score of infinity": (
        {"passages": [{"id": "kb-1", "score": float("inf")}, {"id": "kb-2", "score": 8}]},
        ['case "s1": the block "passages" has a score that is no finite number'],
    ),
    "texts among passages": (
        {"passages": [{"id": "kb-1", "score": 8}, "The shift lead signs."], "gold_rank": None},
        [
            (
                'case "s1": the block "passages" has texts among its retrieved passages; '
                "make them all the one or the other"
            )
        ],
    ),
    "block without text": (
        {"tail": ...},
        ['case "s1": the block "tail" has no text; give the case one, or all cases in "shared"'],
    ),
    "empty unit": (
        {"tail": [" \n"]},
        ['case "s1": the block "tail" has an empty unit; leave it out'],
    ),
    "unknown key": (
        {"tails": ["Customer: hello"]},
        [
            (
                'case "s1": unknown key "tails"; known are id, question, answers, aliases, slices, gold_rank, '
                "follow_up, stress, system, examples, passages, tail"
            )
        ],
    ),
    "id twice": ({"id": "s2"}, ['case "s2": the id stands 2 times; each must be unique']),
    "rank beyond the last": (
        {"gold_rank": 3},
        ['case "s1": gold_rank 3 is out of range; the block "passages" has ranks 1 to 2'],
    ),
    "rank of a passage that does not hold it": (
        {"answers": ["42 crowns & 9 to 5"], "gold_rank": 2, "aliases": []},
        [
            (
                'case "s1": the passage at gold_rank 2 holds no part of a gold string; '
                "give the one that does, or null"
            )
        ],
    ),
    "rank without retrieved passages": (
        {"passages": ["A late parcel costs 42 crowns.", "The shift lead signs."]},
        ['case "s1": gold_rank 1 needs one block of retrieved passages, and the case has none; make it null'],
    ),
    "gold in no block": (
        {"answers": ["42 crowns & night guard"]},
        [
            (
                'case "s1": the gold string "night guard" is in no block of the case; copy it from one, '
                'or move it to "aliases"'
            )
        ],
    ),
    "gold in the question": (
        {"question": "Does the shift lead sign, and at what cost?", "aliases": []},
        [
            'case "s1": the gold string "shift lead" stands in the question; an answer could repeat it from there'
        ],
    ),
    "alias in the question": (
        {"question": "Who pays CR 42?"},
        ['case "s1": the gold string "CR 42" stands in the question; an answer could repeat it from there'],
    ),
    "gold with an empty part": (
        {"answers": ["42 crowns & "]},
        ['case "s1": the gold string "42 crowns & " has an empty part; "&" only separates two parts'],
    ),
    "mistyped key of another kind": (
        {"folow_up": True},
        [
            (
                'case "s1": unknown key "folow_up"; known are id, question, answers, aliases, slices, gold_rank, '
                "follow_up, stress, system, examples, passages, tail"
            )
        ],
    ),
    "rank of 1.0": (
        {"gold_rank": 1.0},
        ['case "s1": key "gold_rank" must be a whole number or null, found 1.0'],
    ),
    "rank of 0": ({"gold_rank": 0}, ['case "s1": key "gold_rank": 0 is less than the minimum of 1']),
    "score in words": (
        {"passages": [{"id": "kb-1", "score": "high"}]},
        ['case "s1": key "score" must be a number, found "high"'],
    ),
    "passage without score": (
        {"passages": [{"id": "kb-1"}]},
        ['case "s1": the key "score" is missing'],
    ),
    "unit of a wrong kind": ({"tail": [7]}, ['case "s1": key "tail" must be a string or an object, found 7']),
    "block that is no list": (
        {"tail": "Customer: hello"},
        ['case "s1": key "tail" must be a list, found "Customer: hello"'],
    ),
    "no units": ({"tail": []}, ['case "s1": key "tail" must not be empty']),
    "no answers": ({"answers": []}, ['case "s1": key "answers" must not be empty']),
    "no question": ({"question": ...}, ['case "s1": the key "question" is missing']),
}


@pytest.mark.parametrize(("keys", "sentences"), FAULTS.values(), ids=FAULTS)
def test_what_is_wrong_with_a_case_is_told_once_and_nothing_else(tmp_path, keys, sentences):
    assert told(tmp_path, changed(**keys)) == [f"data/cases.json: {sentence}" for sentence in sentences]


def test_equal_scores_are_in_rank_order(tmp_path):
    assert told(tmp_path, changed(passages=[{"id": "kb-1", "score": 8}, {"id": "kb-2", "score": 8}])) == []


def test_a_gold_part_may_stand_in_any_block_of_the_case(tmp_path):
    assert told(tmp_path, changed(answers=["42 crowns & good morning"])) == []


def test_an_alias_need_not_stand_in_a_block(tmp_path):
    assert told(tmp_path, changed(aliases=["forty-two & the lead"])) == []


def many(number, **more):
    """A sound file of so many cases that differ in what they ask."""
    case = SOUND["cases"][0] | more
    entries = [case | {"id": f"m{place}", "question": f"Question {place}?"} for place in range(number)]
    return SOUND | {
        "cases": [{key: its for key, its in entry.items() if its is not ...} for entry in entries]
    }


def test_what_is_wrong_with_shared_units_is_told_once_and_not_for_each_case(tmp_path):
    empty = many(102) | {"shared": SOUND["shared"] | {"system": ["Fees are shown in crowns.", " "]}}
    assert told(tmp_path, empty) == [
        'data/cases.json: key "shared": the block "system" has an empty unit; leave it out'
    ]
    lacking = many(102) | {"shared": {"system": SOUND["shared"]["system"]}}
    assert told(tmp_path, lacking) == [
        'data/cases.json: key "shared": lacks the block "examples", and no case gives its own; give it a text'
    ]


@pytest.mark.parametrize(
    "more", [{"answers": ["never written"]}, {"answers": []}], ids=["found", "by schema"]
)
def test_twenty_faults_are_told_and_how_many_more_there_are(tmp_path, more):
    found = told(tmp_path, many(102, **(more | {"aliases": [], "gold_rank": None})))
    assert len(found) == 21
    assert found[-1] == "and 82 more"


def test_case_that_asks_what_another_asks_is_told_however_it_is_spaced(tmp_path):
    value = many(3)
    value["cases"][2]["question"] = " question  0?"
    assert told(tmp_path, value) == [
        'data/cases.json: case "m2": asks what the case "m0" asks, which would count twice; keep one, or ask otherwise'
    ]


def test_follow_ups_may_ask_alike_after_other_words_and_not_after_the_same(tmp_path):
    value = copy.deepcopy(SOUND)
    again = value["cases"][1] | {"id": "s3"}
    assert told(tmp_path, value | {"cases": [*value["cases"], again]}) == [
        'data/cases.json: case "s3": asks what the case "s2" asks, which would count twice; keep one, or ask otherwise'
    ]
    other = again | {"tail": ["Customer: my letter came."]}
    assert told(tmp_path, value | {"cases": [*value["cases"], other]}) == []


WHOLE = {
    "block twice": (
        {"blocks": ["system", "examples", "passages", "tail", "tail"]},
        'key "blocks": the block "tail" stands 2 times; keep one',
    ),
    "unknown shared block": (
        {"shared": SOUND["shared"] | {"sytsem": ["x"]}},
        'key "shared": names the unknown block "sytsem"; known are system, examples, passages, tail',
    ),
    "empty passage": (
        {"passages": SOUND["passages"] | {"kb-4": "\n"}},
        'key "passages": the passage "kb-4" has no text',
    ),
    "stress cases alone": (
        {"cases": [case | {"stress": True} for case in SOUND["cases"]]},
        'key "cases": every case is a stress case; verdicts need cases that are none',
    ),
    "no cases": ({"cases": []}, 'key "cases" must not be empty'),
    "name with a slash": (
        {"name": "a/b"},
        'key "name" has a form that is not allowed (^[A-Za-z0-9][A-Za-z0-9_.-]*$(?!\\n)), found "a/b"',
    ),
    "unknown key": (
        {"version": 1},
        'unknown key "version"; known are name, blocks, shared, passages, cases',
    ),
}


@pytest.mark.parametrize(("keys", "sentence"), WHOLE.values(), ids=WHOLE)
def test_what_is_wrong_with_the_file_as_a_whole_is_told_once(tmp_path, keys, sentence):
    (found,) = told(tmp_path, SOUND | keys)
    assert found.removeprefix("data/cases.json: ").removeprefix("it: ") == sentence


def test_a_block_cannot_be_called_like_a_key_of_cases(tmp_path):
    found = told(tmp_path, SOUND | {"blocks": ["answers", *SOUND["blocks"]]})
    assert (
        'data/cases.json: key "blocks": a block cannot be called "answers", '
        "which is a key of every case; rename it"
    ) in found


def test_every_fault_is_told_in_one_go(tmp_path):
    value = changed(gold_rank=9, tail=["\t"])
    value["cases"][1]["answers"] = ["eleven days"]
    places = [line.split(": ")[1] for line in told(tmp_path, value)]
    assert places == ['case "s1"', 'case "s1"', 'case "s2"']


def test_a_file_that_is_missing_or_no_json_is_told_by_the_name_it_was_given(tmp_path):
    with pytest.raises(CorpusError, match=r"^data/cases\.json: the file is missing$"):
        load(tmp_path / "cases.json", "data/cases.json")
    (tmp_path / "cases.json").write_text("{", encoding="utf-8")
    with pytest.raises(CorpusError, match=r"^data/cases\.json: line 1, column 2: is not valid JSON"):
        load(tmp_path / "cases.json", "data/cases.json")


def test_the_schema_is_one_of_the_dialect_that_it_names():
    schema.Draft202012Validator.check_schema(json.loads(schema.schema_text(SCHEMA, PACKAGE)))
