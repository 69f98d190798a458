"""Real requests asked with full and reduced prompts: what is read, asked, kept and counted."""

import json
import math
from dataclasses import replace

import made_runs
import pytest
import scripted

from pytest_tokenbench import prompting
from pytest_tokenbench.ablation import changes, requests, setup, shadow
from pytest_tokenbench.ablation.design import Ablation, ArmKind, ArmPlan, BlockPlan, Parts, arms
from pytest_tokenbench.ablation.prompts import document_of
from pytest_tokenbench.corpus.faults import CorpusError
from pytest_tokenbench.locking import Lock
from pytest_tokenbench.models.base import UnreachableError, WindowExceededError
from pytest_tokenbench.records import Block, Decision, Question, Unit
from pytest_tokenbench.reporting import shadow as shown
from pytest_tokenbench.run_folder import Run, RunError

BLOCKS = ("system", "examples", "tail")
PLAN = Ablation(
    cases="desk",
    sha256="0" * 64,
    threshold=0.05,
    blocks=tuple(map(BlockPlan, BLOCKS)),
    arms=(ArmPlan("base", ArmKind.BASE), ArmPlan("composed", ArmKind.COMPOSED)),
)
DECIDED = Decision("composed", left_out=("tail", "examples/2"))
INFO = replace(scripted.INFO, options={"temperature": 0})


def run(*decisions, **changed):
    record = replace(
        made_runs.record(), ablation=PLAN, baseline="base", conditions=("base", "composed"), model=INFO
    )
    return Run(replace(record, **changed), (), (), decisions=decisions or (DECIDED,))


class Reader(scripted.ScriptedModel):
    """Answers with what `read` makes of a prompt, or raises it; a prompt has as many tokens as words."""

    def __init__(self, read, **given):
        super().__init__(**given)
        self.read = read

    def generate(self, prompt, *, max_tokens, timeout=None):
        said = self.read(prompt)
        self.replies = [
            scripted.reply(said, input_tokens=len(prompt.split())) if isinstance(said, str) else said
        ]
        return super().generate(prompt, max_tokens=max_tokens, timeout=timeout)


def entry(name, **more):
    made = {"id": name, "question": f"What of {name}?", "slices": {"turn": "single"}}
    return made | {"system": ["Rules."], "examples": ["First.", "Second."], "tail": ["Earlier."]} | more


def written(tmp_path, *entries):
    file = tmp_path / "requests.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in entries), encoding="utf-8")
    return file


@pytest.fixture
def cut(tmp_path):
    return setup.cut_of(run(), tmp_path / "a-run")


@pytest.fixture
def compare(tmp_path, cut):
    """Asks requests of a reader in a folder: the results document, and the model that was asked."""

    def compare(read, *entries, folder="into", info=INFO, at_most=None):
        asked = requests.load(written(tmp_path, *entries), BLOCKS)
        model = Reader(read, info=info)
        patient = scripted.patient(model)
        kept = shadow.Shadow(tmp_path / folder, cut, asked, lambda: shadow.the_model(patient))
        try:
            for number, _ in enumerate(kept.ask(patient), 1):
                if number == at_most:
                    break
            return changes.build(kept.setup, kept.pairs, len(entries)), model
        finally:
            kept.close()

    return compare


def is_full(prompt):
    return "Second." in prompt


def either(full, reduced):
    return lambda prompt: full if is_full(prompt) else reduced


class TestRun:
    def test_over_documents_is_refused(self, tmp_path):
        with pytest.raises(
            RunError, match=r"is a run of made, a study over documents; name one of a study over blocks"
        ):
            setup.cut_of(made_runs.run(), tmp_path)

    def test_whose_composed_arm_was_not_decided_is_refused(self, tmp_path):
        with pytest.raises(RunError, match=r"what to leave out together was not decided; go on with the run"):
            setup.cut_of(run(Decision("filler-system")), tmp_path)

    def test_whose_composed_arm_was_needless_is_refused_with_the_reason(self, tmp_path):
        needless = Decision("composed", needless="nothing came out removable\x1b[2J")
        with pytest.raises(RunError, match=r"leaves out nothing: 'nothing came out removable\\x1b\[2J'"):
            setup.cut_of(run(needless), tmp_path)

    def test_that_leaves_out_what_is_no_block_is_refused(self, tmp_path):
        with pytest.raises(
            RunError, match=r"decisions\.jsonl: is damaged \(the composed arm leaves out notes/1"
        ):
            setup.cut_of(run(Decision("composed", left_out=("tail", "notes/1"))), tmp_path)
        with pytest.raises(RunError, match=r"is damaged \(the composed arm leaves out examples/two, which"):
            setup.cut_of(run(Decision("composed", left_out=("examples/two",))), tmp_path)


class TestWhatFollowsARank:
    """A set with five passages at most, and a request with ten."""

    BLOCKS = (BlockPlan("system"), BlockPlan("passages", Parts.RANKED))
    PLAN = replace(PLAN, blocks=BLOCKS, arms=arms(BLOCKS, {"system": 1, "passages": 5}))
    REQUEST = document_of(
        "live", (Block("passages", tuple(Unit(f"P{place}") for place in range(1, 11))),), "requests.jsonl"
    )

    def kept(self, tmp_path, *left_out):
        cut = setup.cut_of(run(Decision("composed", left_out=left_out), ablation=self.PLAN), tmp_path)
        question = Question("live", "live", "What?", (), answerable=False)
        units = cut.reduced.context(question, self.REQUEST, None).units
        return cut.left_out, [int(name.rpartition("/")[2]) for name in units]

    def test_goes_whole_however_many_passages_a_request_has(self, tmp_path):
        left_out, kept = self.kept(tmp_path, "system", "passages/3", "passages/4", "passages/5")
        assert left_out == ("system", "what follows passages rank 2")
        assert kept == [1, 2]

    def test_goes_beside_single_ranks_before_it(self, tmp_path):
        left_out, kept = self.kept(tmp_path, "passages/2", "passages/4", "passages/5")
        assert left_out == ("passages/2", "what follows passages rank 3")
        assert kept == [1, 3]

    def test_stays_where_single_ranks_are_left_out_that_are_not_the_last(self, tmp_path):
        left_out, kept = self.kept(tmp_path, "passages/2", "passages/3")
        assert left_out == ("passages/2", "passages/3")
        assert kept == [1, 4, 5, 6, 7, 8, 9, 10]


class TestRequests:
    @pytest.mark.parametrize(
        ("line", "told"),
        [
            (
                "{not json",
                "line 2: column 2: is not valid JSON: Expecting property name enclosed in double quotes",
            ),
            ("[1]", "line 2: is no request; each line is one JSON object"),
            (entry("b", question=" "), 'line 2: key "question" must be a string that is not empty'),
            (entry("b", id=7), 'line 2: key "id" must be a string that is not empty'),
            (entry("b", tail="Earlier."), 'line 2: key "tail" must be a list of strings that are not empty'),
            (entry("b", tail=[""]), 'line 2: key "tail" must be a list of strings that are not empty'),
            (entry("b", slices={"turn": 1}), 'line 2: key "slices" must be an object of strings'),
            (
                entry("b", notes=["x"]),
                'line 2: key "notes" is unknown; the blocks of the study are system, examples, tail',
            ),
            (entry("a"), 'line 2: key "id": "a" stands in line 1 already; each must be unique'),
            (
                {key: value for key, value in entry("b").items() if key != "tail"},
                'line 2: key "tail" is missing',
            ),
            ({key: value for key, value in entry("b").items() if key != "id"}, 'line 2: key "id" is missing'),
            (entry("b\x1b[2J", x=1), 'line 2: key "x" is unknown'),
            ('{"id": ' + "9" * 5000 + "}", "line 2: is not valid JSON: Exceeds the limit"),
            ('{"id": "b", "id": "c"}', 'line 2: the key "id" stands twice'),
        ],
        ids=lambda one: one[:40] if isinstance(one, str) else "",
    )
    def test_bad_line_is_told_with_its_line_and_key(self, tmp_path, line, told):
        file = written(tmp_path, entry("a"))
        text = line if isinstance(line, str) else json.dumps(line)
        file.write_text(file.read_text() + text + "\n")

        with pytest.raises(CorpusError) as error:
            requests.load(file, BLOCKS)

        assert str(error.value).startswith(f"requests.jsonl: {told}")
        assert "\n" not in str(error.value)
        assert str(error.value).isprintable()

    def test_bytes_that_are_not_utf_8_are_told_with_their_line(self, tmp_path):
        file = tmp_path / "requests.jsonl"
        file.write_bytes(b'\n{"id": "\xe9"}\n')
        with pytest.raises(CorpusError, match=r"requests\.jsonl: line 2: byte 0xe9 is not UTF-8"):
            requests.load(file, BLOCKS)

    @pytest.mark.parametrize("raw", [b"", b"\n \n"])
    def test_file_without_a_request_is_refused(self, tmp_path, raw):
        file = tmp_path / "requests.jsonl"
        file.write_bytes(raw)
        with pytest.raises(CorpusError, match=r"has no request; write one JSON object a line"):
            requests.load(file, BLOCKS)

    def test_of_many_faults_twenty_are_told(self, tmp_path):
        file = written(tmp_path, *({"id": str(number), "question": "?"} for number in range(100)))
        with pytest.raises(CorpusError) as error:
            requests.load(file, BLOCKS)
        *_, last = lines = str(error.value).splitlines()
        assert len(lines) == 21
        assert last == "and 280 more"

    def test_texts_are_taken_as_they_are(self, tmp_path):
        odd = "e\u0301\r\n$context $$ \u4f60"
        file = written(tmp_path, entry("a", system=[odd], tail=[]))
        file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes().replace(b"\n", b"\r\n"))
        (found,) = requests.load(file, BLOCKS).items
        assert [[unit.text for unit in block.units] for block in found.document.blocks] == [
            [odd],
            ["First.", "Second."],
            [],
        ]


class TestPrompts:
    def test_reduced_prompt_is_the_full_one_without_what_the_run_left_out(self, compare):
        _, model = compare(either("yes", "yes"), entry("a", question="Why $5?"))
        template = prompting.template("blocks")
        assert model.prompts == [
            template.replace("$context", context).replace("$question", "Why $5?")
            for context in ("Rules.\n\nFirst.\n\nSecond.\n\nEarlier.", "Rules.\n\nFirst.")
        ]
        assert model.limits == [64, 64]

    def test_nothing_that_is_kept_says_which_answer_is_right(self, compare, tmp_path):
        compare(either("yes", "no"), entry("a"))
        (line,) = (tmp_path / "into" / "pairs.jsonl").read_text().splitlines()
        kept = json.loads(line)
        assert [kept[side]["answer"] for side in ("full", "reduced")] == ["yes", "no"]
        assert [kept[side][key] for side in ("full", "reduced") for key in ("scores", "outcome")] == [
            None
        ] * 4

    def test_texts_of_requests_are_written_nowhere(self, compare, tmp_path):
        compare(either("yes", "no"), entry("a", tail=["My account is 4711."]))
        for file in (tmp_path / "into").iterdir():
            assert "4711" not in file.read_text()


class TestCounts:
    @pytest.mark.parametrize(
        ("full", "reduced", "changed", "changed_bytes"),
        [
            ("42 crowns", "42 crowns", 0, 0),
            ("42 Crowns.", "42 crowns", 0, 1),
            ("1,470 tonnes", "1470 tonnes", 0, 1),
            ("42 crowns", "43 crowns", 1, 1),
            ("", "not stated", 1, 1),
        ],
    )
    def test_changed_beyond_what_scoring_passes_over(self, compare, full, reduced, changed, changed_bytes):
        made, _ = compare(either(full, reduced), entry("a"))
        assert made["changed"]["requests"] == changed
        assert made["changed_bytes"]["requests"] == changed_bytes
        assert [one["answers"] for one in made["changes"]] == [[full, reduced]] * changed

    def test_over_the_window_and_errors_are_counted_apart(self, compare):
        def read(prompt):
            if "big" in prompt and is_full(prompt):
                return WindowExceededError(9000, 4096)
            if "gone" in prompt and not is_full(prompt):
                return UnreachableError("nothing answers")
            return "full" if is_full(prompt) else "reduced"

        made, _ = compare(read, entry("big"), entry("gone"), entry("fine"))

        assert made["compared"] == made["changed"]["requests"] == 1
        assert made["over_window"] == {"requests": 1, "full": 1, "reduced": 0}
        assert made["errors"] == {"requests": 1, "kinds": {"unreachable": 1}}
        assert [one["request"] for one in made["changes"]] == ["fine"]
        assert made["slices"]["turn"]["single"]["requests"] == 1

    def test_without_any_answer_there_is_no_share(self, compare):
        made, _ = compare(lambda _: WindowExceededError(9000, 4096), entry("a"))
        assert made["changed"]["share"] == {"unavailable": "no request was answered both ways"}
        assert "unavailable" in made["tokens"]["saved"]
        assert "0 full" not in shown.markdown(made)

    def test_tokens_are_those_that_were_counted(self, compare):
        made, model = compare(either("yes", "yes"), entry("a"), entry("b", tail=["One two three."]))
        words = [len(prompt.split()) for prompt in model.prompts]
        full, reduced = words[0::2], words[1::2]
        assert made["tokens"]["sums"] == {"full": sum(full), "reduced": sum(reduced)}
        assert made["tokens"]["full"]["estimate"] == sum(full) / 2
        assert made["tokens"]["saved"]["estimate"] == pytest.approx(1 - sum(reduced) / sum(full))

    def test_interval_is_that_of_a_binomial_share(self, compare):
        entries = [entry(f"r{number:02}", slices={"turn": "ab"[number % 4 == 0]}) for number in range(40)]

        def read(prompt):
            name = prompt.rpartition("What of ")[2]
            return "same" if is_full(prompt) or int(name[1:3]) >= 12 else "other"

        made, _ = compare(read, *entries)

        share = made["changed"]["share"]
        assert share["estimate"] == 12 / 40
        assert share["low"] == pytest.approx(binomial_quantile(40, 0.3, 0.025) / 40, abs=1 / 40)
        assert share["high"] == pytest.approx(binomial_quantile(40, 0.3, 0.975) / 40, abs=1 / 40)
        by_turn = {value: (its["changed"], its["requests"]) for value, its in made["slices"]["turn"].items()}
        assert by_turn == {"a": (9, 30), "b": (3, 10)}

    def test_where_nothing_changed_the_interval_is_what_so_many_still_allow(self, compare):
        made, _ = compare(either("yes", "yes"), *(entry(f"r{number}") for number in range(10)))
        share = made["changed"]["share"]
        assert (share["estimate"], share["low"], share["zero_width"]) == (0, 0, True)
        # None of 10: the share with which that has a chance of 2.5%.
        assert (1 - share["high"]) ** 10 == pytest.approx(0.025)

    def test_requests_that_have_nothing_of_what_is_left_out_show_what_the_model_varies_by_itself(
        self, compare
    ):
        answers = iter(["one", "two", "three", "three"])
        bare = {"examples": ["First."], "tail": []}
        made, _ = compare(lambda _: next(answers), entry("a", **bare), entry("b", **bare))
        assert made["same_prompt"] == {"requests": 2, "changed": 1}
        assert "1 of these answers changed, which is what the model varies by itself" in shown.markdown(made)


def binomial_quantile(n, share, probability):
    """The smallest count that as much or less than has this probability, by adding up."""
    total = 0.0
    for count in range(n + 1):
        total += math.comb(n, count) * share**count * (1 - share) ** (n - count)
        if total >= probability:
            return count
    return n


class TestGoingOn:
    ENTRIES = tuple(entry(f"r{number}") for number in range(6))

    def test_only_what_is_left_is_asked_and_it_comes_to_the_same(self, compare):
        whole, _ = compare(either("yes", "no"), *self.ENTRIES, folder="whole")
        _, first = compare(either("yes", "no"), *self.ENTRIES, at_most=2)

        made, second = compare(either("yes", "no"), *self.ENTRIES)

        assert (len(first.prompts), len(second.prompts)) == (4, 8)
        assert len(made.pop("resumed")) == 1
        whole.pop("resumed")
        made["started"] = whole["started"]
        assert made == whole

    def test_with_nothing_left_no_model_is_asked(self, compare):
        whole, _ = compare(either("yes", "no"), *self.ENTRIES)
        again, model = compare(None, *self.ENTRIES)
        assert again == whole
        assert (model.described, model.prompts) == (0, [])

    def test_pair_that_was_cut_short_is_asked_again(self, compare, tmp_path):
        compare(either("yes", "no"), *self.ENTRIES)
        ledger = tmp_path / "into" / "pairs.jsonl"
        ledger.write_bytes(ledger.read_bytes()[:-20])

        made, model = compare(either("yes", "no"), *self.ENTRIES)

        assert len(model.prompts) == 2
        assert made["compared"] == 6
        assert len(ledger.read_bytes().splitlines()) == 6
        assert (tmp_path / "into" / "pairs.jsonl.torn").exists()

    def test_what_came_to_an_error_is_asked_again(self, compare):
        first, _ = compare(lambda _: UnreachableError("nothing answers"), entry("a"))
        again, _ = compare(either("yes", "no"), entry("a"))
        assert (first["errors"]["requests"], first["compared"]) == (1, 0)
        assert (again["errors"]["requests"], again["compared"]) == (0, 1)

    def test_with_other_requests_is_refused(self, compare):
        compare(either("yes", "no"), entry("a"))
        with pytest.raises(RunError, match=r"compares other requests .* name a new folder with --into"):
            compare(either("yes", "no"), entry("b"))

    def test_with_another_model_is_refused(self, compare):
        compare(either("yes", "no"), *self.ENTRIES, at_most=1)
        with pytest.raises(RunError, match=r"the model's digest \(sha256:abc then, sha256:def now\)"):
            compare(either("yes", "no"), *self.ENTRIES, info=replace(INFO, digest="sha256:def"))

    def test_with_another_cut_is_refused(self, compare, tmp_path):
        compare(either("yes", "no"), entry("a"))
        other = setup.cut_of(run(replace(DECIDED, left_out=("tail",))), tmp_path / "a-run")
        asked = requests.load(tmp_path / "requests.jsonl", BLOCKS)
        with pytest.raises(RunError, match=r"what is left out \(tail, examples/2 then, tail now\)"):
            shadow.Shadow(tmp_path / "into", other, asked, lambda: INFO)

    def test_server_that_was_updated_meanwhile_is_told(self, compare):
        compare(either("yes", "no"), *self.ENTRIES, at_most=1)
        made, _ = compare(either("yes", "no"), *self.ENTRIES, info=replace(INFO, server_version="2"))
        assert "the server's version changed after the comparison began (none, later 2)" in made["warnings"]

    def test_folder_of_something_else_is_refused_and_left_alone(self, compare, tmp_path):
        other = tmp_path / "into" / "notes.txt"
        other.parent.mkdir()
        other.write_text("mine")
        with pytest.raises(RunError, match=r"holds no comparison \(setup\.json is missing\)"):
            compare(either("yes", "no"), entry("a"))
        assert [one.name for one in other.parent.iterdir()] == ["notes.txt"]

    def test_folder_that_another_process_writes_is_refused(self, compare, tmp_path):
        (tmp_path / "into").mkdir()
        lock = Lock(tmp_path / "into")
        with pytest.raises(RunError, match=r"is writing this comparison; wait until it ends"):
            compare(either("yes", "no"), entry("a"))
        lock.release()
        compare(either("yes", "no"), entry("a"))

    def test_pair_of_another_request_is_refused(self, compare, tmp_path):
        compare(either("yes", "no"), entry("a"))
        ledger = tmp_path / "into" / "pairs.jsonl"
        ledger.write_text(ledger.read_text().replace('"request":"a"', '"request":"z\\u001b"'))
        with pytest.raises(
            RunError, match=r"line 1 is of a request that is not in requests\.jsonl \('z\\x1b'\)"
        ):
            compare(either("yes", "no"), entry("a"))

    @pytest.mark.parametrize("text", ["{", "[]", '{"format": 1}', '{"format": 9}'])
    def test_damaged_setup_is_refused(self, compare, tmp_path, text):
        compare(either("yes", "no"), entry("a"))
        (tmp_path / "into" / "setup.json").write_text(text)
        with pytest.raises(RunError, match=r"setup\.json: (is damaged|has format 9)"):
            compare(either("yes", "no"), entry("a"))

    def test_link_in_the_folder_is_not_followed(self, compare, tmp_path):
        compare(either("yes", "no"), *self.ENTRIES, at_most=1)
        ledger = tmp_path / "into" / "pairs.jsonl"
        elsewhere = tmp_path / "elsewhere"
        ledger.rename(elsewhere)
        before = elsewhere.read_bytes()
        ledger.symlink_to(elsewhere)
        with pytest.raises(OSError, match="symbolic link"):
            compare(either("yes", "no"), *self.ENTRIES)
        assert elsewhere.read_bytes() == before


def test_model_that_cannot_be_had_leaves_no_folder(cut, tmp_path):
    asked = requests.load(written(tmp_path, entry("a")), BLOCKS)

    def describe():
        raise UnreachableError("nothing answers")

    with pytest.raises(UnreachableError):
        shadow.Shadow(tmp_path / "into", cut, asked, describe)
    assert not (tmp_path / "into").exists()


def test_five_requests_in_a_row_that_come_to_nothing_end_it_with_what_is_kept(cut, tmp_path):
    asked = requests.load(written(tmp_path, *(entry(f"r{number}") for number in range(9))), BLOCKS)
    model = scripted.patient(Reader(lambda prompt: UnreachableError("gone") if "r0" not in prompt else "yes"))
    kept = shadow.Shadow(tmp_path / "into", cut, asked, lambda: INFO)
    with pytest.raises(
        shadow.StoppedError, match=r"5 requests in a row came to nothing, the last with unreachable: gone"
    ):
        list(kept.ask(model))
    made = changes.build(kept.setup, kept.pairs, 9)
    kept.close()
    assert (made["compared"], made["errors"]["requests"], made["not_asked"]) == (1, 5, 3)
    assert "3 requests not asked yet" in shown.markdown(made)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (
            {"model": replace(INFO, digest="sha256:old")},
            "the model's digest is not the run's: sha256:old there, sha256:abc",
        ),
        ({"model": replace(INFO, window=8192)}, "the window is not the run's: 8192 there, 4096 here"),
        ({"nonce": True}, "--tokenbench-nonce is not the run's: on there, off here"),
        ({"quick": True}, "the run was a quick look, so that what it left out is no finding"),
        ({"finished": None}, "the run did not come to its end"),
        (
            {"hashes": {"prompt blocks": "f" * 64}},
            "the prompt blocks is not the run's: sha256 ffffffffffff... there",
        ),
    ],
    ids=lambda one: "-".join(one) if isinstance(one, dict) else "",
)
def test_what_is_not_as_it_was_in_the_run_is_told_in_words(tmp_path, changed, told):
    usual = {"hashes": {"prompt blocks": setup.prompting.sha256("blocks")}}
    alike = run(**usual)
    asked = requests.load(written(tmp_path, entry("a")), BLOCKS)

    def warnings(one):
        return setup.setup_of(setup.cut_of(one, tmp_path), asked, INFO).warnings

    added = [one for one in warnings(run(**(usual | changed))) if one not in warnings(alike)]
    assert len(added) == 1
    assert added[0].startswith(told)


@pytest.mark.parametrize(
    ("lost", "told"),
    [
        (
            30,
            [
                "in the run this cut did not come out removable but needed: left out together, it lost 50.0 points"
            ],
        ),
        (
            3,
            [
                "in the run this cut did not come out removable but undecided: left out together, it lost 5.0 points"
            ],
        ),
        (0, []),
    ],
    ids=["needed", "undecided", "removable"],
)
def test_cut_that_failed_in_its_run_is_warned_of(tmp_path, lost, told):
    questions = tuple(
        made_runs.Question(f"s{place}", f"s{place}", "What?", ("x",), answerable=True) for place in range(60)
    )
    seen = [
        (place, made_runs.observation(question, arm, 100))
        for place, question in enumerate(questions)
        for arm in ("base", "composed")
    ]
    trials = tuple(
        replace(one, outcome="wrong", scores=replace(one.scores, correct=False))
        if one.condition == "composed" and place < lost
        else one
        for place, one in seen
    )
    threshold = replace(PLAN, threshold=0.1)
    made = replace(run(questions=questions, ablation=threshold, hashes={}), observations=trials)
    asked = requests.load(written(tmp_path, entry("a")), BLOCKS)

    warnings = setup.setup_of(setup.cut_of(made, tmp_path), asked, INFO).warnings

    found = [one for one in warnings if "this cut" in one]
    assert len(found) == len(told)
    assert all(one.startswith(said) for one, said in zip(found, told, strict=True))


class TestReports:
    EVIL = "\x1b[2J\x07\u202e\n# head <script> | [x](y)"

    @pytest.fixture
    def made(self, compare):
        names = [f"{self.EVIL} {number}" for number in range(30)]
        entries = [
            entry(name, slices={f"kind {self.EVIL}": f"value {name} {'long ' * 30}"}) for name in names
        ]
        return compare(either(f"{self.EVIL} yes " + "very " * 40, "no"), *entries)[0]

    def test_terminal_has_eighty_columns_and_no_control_character(self, made):
        lines = [line for line, _ in shown.summary(made, 80)]
        assert max(map(len, lines)) <= 80
        assert all(line.isprintable() for line in lines)
        assert "and 10 more, which shadow.md has" in lines

    def test_markdown_has_every_change_and_no_markup_from_outside(self, made):
        text = shown.markdown(made)
        assert text.count(" -> ") == 30
        assert "\x1b" not in text
        assert "\n# head" not in text
        assert "<script>" not in text.replace("\\<script\\>", "")

    def test_both_say_that_no_claim_is_made_on_which_answer_is_right(self, made):
        sentence = "no claim is made on which answer is right"
        assert sentence in shown.markdown(made)
        assert sentence in " ".join(" ".join(line.split()) for line, _ in shown.summary(made, 80))

    def test_results_are_json_with_everything_that_was_told(self, made):
        assert json.loads(shown.as_text(made)) == made


def test_folder_of_its_own_is_new_each_time(tmp_path):
    first = shadow.new_folder(tmp_path)
    first.mkdir()
    second = shadow.new_folder(tmp_path)
    assert first.parent == second.parent == tmp_path
    assert first != second
    assert first.name.startswith("shadow-20")
