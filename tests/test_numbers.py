"""Numbers in a run folder that cannot be: refused where they stand in one sentence; any others can be reckoned with."""

import json
import warnings
from dataclasses import replace

import made_runs
import pytest

from pytest_tokenbench import run_folder
from pytest_tokenbench.ablation.design import Ablation, ArmKind, ArmPlan, BlockPlan
from pytest_tokenbench.cli import main
from pytest_tokenbench.prices import HIGHEST, Price
from pytest_tokenbench.records import (
    LONGEST_S,
    MOST_COUNT,
    Attempt,
    Bound,
    Decision,
    Evidence,
    Ruling,
    Verdict,
    encode,
)
from pytest_tokenbench.run_folder import RunError

ABSURD = [-1, -(10**400), 10**16, 10**400, 1e308, -1e308]
IDS = ["-1", "-1e400", "1e16", "1e400", "1e308 as float", "-1e308 as float"]

PUBLISHED = Price("shop", "USD", 1.0, 0.5, 2.0, source="a list", cache_write=1.25, base_up_to=200_000)
EVIDENCE = Evidence("accuracy", 0.5, 0.4, 0.6, 4, (Bound("low", ">", 0.3),))
PLAN = Ablation(
    cases="made",
    sha256="ab" * 32,
    threshold=0.1,
    blocks=(BlockPlan("passages"),),
    arms=(ArmPlan("base", ArmKind.BASE), ArmPlan("no-1", ArmKind.UNIT, ("passages",), unit=1, score=2.0)),
    production={"turn": {"single": 1.0}},
    words={"mill-q1": {"passages": (3,)}},
    scores={"mill-q1": {"passages": (2.5,)}},
)


def observation():
    """With every number that one can have."""
    (one, *_) = made_runs.observations()
    seconds = dict.fromkeys(("prefill_s", "decode_s", "load_s", "total_s", "wall_s"), 0.5)
    return replace(
        one, cached_tokens=0, context_words=90, attempts=(Attempt("busy", "m", "h", 1.5),), **seconds
    )


def preparation():
    return replace(made_runs.PREPARATIONS[0], cut_sections=(1,))


def record():
    made = made_runs.record(made_runs.BY_HAND, PUBLISHED)
    first, *others = made.questions
    return replace(
        made,
        questions=(replace(first, paragraph=3, gold_rank=1), *others),
        verdicts=(Verdict("H1", "C costs less.", Ruling.PASSED, evidence=(EVIDENCE,)),),
        model=replace(made.model, trained_window=8192),
        hosts=(made.model,),
        ablation=PLAN,
    )


def numbers(value, path=()):
    """Where a number stands."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in items:
        if isinstance(one, int | float) and not isinstance(one, bool):
            yield (*path, key)
        yield from numbers(one, (*path, key))


def with_number(made, path, number):
    value = json.loads(encode(made))
    place = value
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = number
    return json.dumps(value)


def paths(made):
    return list(numbers(json.loads(encode(made))))


LINES = {
    "observations.jsonl": observation(),
    "preparations.jsonl": preparation(),
    "decisions.jsonl": Decision("filler-tail", lengths={"mill-q1": 12}),
}


@pytest.fixture
def folder(tmp_path):
    return made_runs.folder(tmp_path / "reports")


@pytest.mark.parametrize("number", ABSURD, ids=IDS)
@pytest.mark.parametrize(
    ("name", "path"),
    [
        pytest.param(name, path, id=f"{name}-{'.'.join(map(str, path))}")
        for name, made in LINES.items()
        for path in paths(made)
    ],
)
def test_a_number_of_a_ledger_that_cannot_be_is_refused_with_file_line_and_field(folder, name, path, number):
    whole = encode(LINES[name]).decode()
    (folder / name).write_text(f"{whole}\n{whole}\n{with_number(LINES[name], path, number)}\n{whole}\n")

    with pytest.raises(RunError) as refused:
        run_folder.read(folder)

    assert str(refused.value).startswith(f"{folder}: {name}, line 3: ")
    assert "\n" not in str(refused.value)
    assert "$." + path[0] in str(refused.value)


def test_the_lines_of_these_tests_have_every_number_that_a_record_can_have():
    found = {name: {path[0] for path in paths(made)} for name, made in LINES.items()}

    assert {
        field for field in found["observations.jsonl"] if field.endswith(("_s", "_tokens", "_words"))
    } == {
        field
        for field in LINES["observations.jsonl"].__slots__
        if field.endswith(("_s", "_tokens", "_words"))
    }
    assert {"repeat", "scores", "attempts"} <= found["observations.jsonl"]
    assert {"calls", "seconds", "numbers", "input_tokens", "cut_sections"} <= found["preparations.jsonl"]


# What may be less than nothing in a run's record, and what is compared before anything is reckoned with it.
SIGNED = {"estimate", "low", "high", "value"}


@pytest.mark.parametrize("number", ABSURD, ids=IDS)
@pytest.mark.parametrize(
    "path", [pytest.param(path, id=".".join(map(str, path))) for path in paths(record())]
)
def test_a_number_of_a_run_s_record_that_cannot_be_is_refused_with_the_file_and_the_field(
    folder, path, number
):
    may_be = abs(number) < 1e100 and (path[-1] in SIGNED or ("ablation" in path and abs(number) == 1))
    if may_be:
        number = 1e308
    (folder / "run.json").write_text(with_number(record(), path, number))

    with pytest.raises(RunError) as refused:
        run_folder.read(folder)

    assert str(refused.value).startswith(f"{folder / 'run.json'}: ")
    assert "\n" not in str(refused.value)
    assert path == ("format",) or str(path[0]) in str(refused.value)


def test_the_record_of_these_tests_is_read_as_it_stands(folder):
    run_folder.write_record(folder, record())

    assert run_folder.read_record(folder) == record()
    assert {"prices", "questions", "ablation", "verdicts", "model", "scheduled"} <= {
        path[0] for path in paths(record())
    }


def test_options_may_have_any_number(folder):
    options = {"A": {"seed": 2**64, "scale": -1e300}}
    run_folder.write_record(folder, replace(made_runs.record(), condition_options=options))

    assert run_folder.read_record(folder).condition_options == options


@pytest.mark.parametrize("other", [0, 1, MOST_COUNT])
def test_a_run_of_the_largest_numbers_that_can_be_is_reported(tmp_path, capsys, other):
    most = {"input_tokens": MOST_COUNT, "output_tokens": MOST_COUNT, "cached_tokens": 0}
    most |= dict.fromkeys(("prefill_s", "decode_s", "load_s", "total_s", "wall_s"), LONGEST_S)
    least = {"input_tokens": other, "output_tokens": other}
    seen = tuple(
        replace(one, **(most if one.condition == "A" or one.question == "mill-q1" else least))
        for one in made_runs.observations()
    )
    built = tuple(
        replace(one, input_tokens=MOST_COUNT, output_tokens=MOST_COUNT, seconds=LONGEST_S)
        for one in made_runs.PREPARATIONS
    )
    price = Price("dear", "EUR", HIGHEST, HIGHEST, HIGHEST)
    made = replace(made_runs.run(price), observations=seen, preparations=built)
    folder = made_runs.written(tmp_path / "reports", made)

    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        assert main(["report", str(folder)]) == 0

    assert "rewrote" in capsys.readouterr().out
    text = (folder / "results.json").read_text()
    assert "Infinity" not in text
    assert "NaN" not in text
    figures = json.loads(text)["conditions"]["A"]["measures"]
    assert (figures["input_tokens"]["estimate"], figures["total_s"]["estimate"]) == (MOST_COUNT, LONGEST_S)


@pytest.mark.parametrize(
    ("name", "was", "is_now"),
    [
        ("observations.jsonl", '"total_s":null', '"total_s":1e308'),
        ("observations.jsonl", '"input_tokens":', f'"input_tokens":{10**400}'),
        ("preparations.jsonl", '"seconds":', f'"seconds":{10**300}'),
    ],
)
def test_reporting_such_a_run_is_one_sentence_with_file_and_line(folder, capsys, name, was, is_now):
    text = (folder / name).read_text()
    assert text.count(was) > 1
    (folder / name).write_text(text.replace(was, is_now))

    assert main(["report", str(folder)]) == 2

    out, err = capsys.readouterr()
    assert err.startswith(f"{folder}: {name}, line 1: ")
    assert err.count("\n") == 1
    assert not out


@pytest.mark.parametrize("character", ["\u2028", "\u2029", "\x85", "\x1b", "\u202e"])
@pytest.mark.parametrize("name", ["observations.jsonl", "run.json"])
def test_what_could_steer_a_terminal_stands_in_no_sentence_on_damage(folder, name, character):
    path = folder / name
    was, status = ('"status":"ok"', '"status":"%s"') if name != "run.json" else ('"ruling": "passed"',) * 2
    status = status.replace("passed", "%s") % json.dumps(f"a{character}b")[1:-1]
    text = path.read_text()
    assert was in text
    path.write_text(text.replace(was, status))

    with pytest.raises(RunError) as refused:
        run_folder.read(folder)

    assert str(refused.value).isprintable()
    assert "Invalid enum value" in str(refused.value)
