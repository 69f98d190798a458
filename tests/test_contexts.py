"""The contexts of a run: built again as they were sent, each kept once, checked when they are read."""

import hashlib
from dataclasses import replace
from types import SimpleNamespace

import made_runs
import pytest

from pytest_tokenbench import contexts
from pytest_tokenbench.records import Context, Status
from pytest_tokenbench.run_folder import RunError

QUESTIONS = {question.id: question for question in made_runs.QUESTIONS}


class Whole:
    """Hands over the document, and before it what was prepared."""

    def __init__(self):
        self.asked = []

    def context(self, question, document, preparation):
        self.asked.append(question.id)
        prepared = "".join(preparation.units) if preparation else ""
        return Context(prepared + document.text, ())


class Broken:
    def context(self, *given):
        raise KeyError(*given)


def loaded(**conditions):
    documents = {name: SimpleNamespace(text=f"The {name}.") for name in ("mill", "quay")}
    return SimpleNamespace(questions=QUESTIONS, documents=documents, conditions=conditions)


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


def run(condition="A", prefix=""):
    """The made run's trials of one condition, as they were sent."""
    whole = made_runs.run()
    sent = tuple(
        replace(seen, context_sha256=sha256(f"{prefix}The {seen.document}."))
        for seen in whole.observations
        if seen.condition == condition
    )
    return replace(whole, observations=sent)


def test_a_context_that_trials_share_is_built_once():
    condition = Whole()
    found = contexts.rebuilt(loaded(A=condition), run())
    assert found == {sha256("The mill."): "The mill.", sha256("The quay."): "The quay."}
    assert condition.asked == ["mill-q1", "quay-q1"]


def test_a_context_is_built_from_the_preparation_that_its_trial_names():
    found = contexts.rebuilt(loaded(C=Whole()), run("C", "A summary."))
    assert sorted(found.values()) == ["A summary.The mill.", "A summary.The quay."]


def test_what_is_known_is_not_built_again():
    condition = Whole()
    assert contexts.rebuilt(loaded(A=condition), run(), {sha256("The mill.")}).keys() == {sha256("The quay.")}
    assert condition.asked == ["quay-q1"]


@pytest.mark.parametrize("condition", [Broken(), Whole()], ids=["breaks", "gives another text"])
def test_what_does_not_come_out_as_it_was_sent_is_left_out(condition):
    made = run()
    other = replace(made, observations=tuple(replace(o, context_sha256="0" * 64) for o in made.observations))
    assert contexts.rebuilt(loaded(A=condition), other) == {}


def test_a_condition_that_the_study_lost_and_a_trial_without_context_are_left_out():
    made = run()
    errored = tuple(replace(o, context_sha256=None, status=Status.ERROR) for o in made.observations)
    assert contexts.rebuilt(loaded(), made) == {}
    assert contexts.rebuilt(loaded(A=Whole()), replace(made, observations=errored)) == {}


def test_contexts_are_read_back_as_they_were_kept(tmp_path):
    text = 'two\nlines \u2028 and "quotes" </script>\n'
    contexts.write(tmp_path, {sha256(text): text, sha256(""): ""})
    assert contexts.read(tmp_path) == {sha256(text): text, sha256(""): ""}


def test_the_file_does_not_depend_on_the_order_of_the_trials(tmp_path):
    texts = {sha256(text): text for text in "abc"}
    contexts.write(tmp_path, texts)
    before = (tmp_path / contexts.FILE).read_bytes()
    contexts.write(tmp_path, dict(reversed(texts.items())))
    assert (tmp_path / contexts.FILE).read_bytes() == before


def test_a_folder_without_the_file_has_no_contexts(tmp_path):
    assert contexts.read(tmp_path) == {}


def test_a_text_that_is_not_the_one_of_its_sum_is_refused(tmp_path):
    contexts.write(tmp_path, {sha256("one"): "another"})
    with pytest.raises(RunError, match="line 1 is not the text that its sum is of"):
        contexts.read(tmp_path)


def test_keeping_adds_to_what_is_there(tmp_path):
    contexts.write(tmp_path, {sha256("earlier"): "earlier"})
    contexts.keep(tmp_path, loaded(A=Whole()), run())
    assert set(contexts.read(tmp_path).values()) == {"earlier", "The mill.", "The quay."}


def test_keeping_makes_a_damaged_file_again(tmp_path):
    (tmp_path / contexts.FILE).write_text("damaged\n")
    contexts.keep(tmp_path, loaded(A=Whole()), run())
    assert set(contexts.read(tmp_path).values()) == {"The mill.", "The quay."}


def test_keeping_writes_nothing_where_there_is_nothing(tmp_path):
    contexts.keep(tmp_path, loaded(), run())
    assert list(tmp_path.iterdir()) == []
