"""A claim's record: one that lacks a caveat, or whose caveats contradict its numbers, cannot be made nor fits the schema."""

import json
import math
import random
from dataclasses import asdict, is_dataclass, replace

import made_ablation as made
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from pytest_tokenbench.ablation import claim, oracle, report
from pytest_tokenbench.ablation.claim import claims, refusals
from pytest_tokenbench.ablation.claim_record import (
    CaseSet,
    Claim,
    ClaimedModel,
    Composed,
    Production,
    Stress,
)
from pytest_tokenbench.ablation.claim_words import BESIDE_SLICES, NO_SHARES, NO_STRESS, QUICK_STRESS, Blocks

SCHEMA = Draft202012Validator(json.loads(claim.schema_text()))
BLOCKS = Blocks(("passages",), (), ("system", "tail"), (), ("tail",), ())
PLAIN = Claim(
    claim="Of the tokens of the prompt's blocks 50.0% count as needed. Leaving out passages costs 15 points or more. system "
    "came out as costing less than 15 points, and does not count. tail came out as costing less than 15 points on the main "
    "cases, and is not to be cut, since it is not shown to clear the stress cases; this share is without it all the same.",
    value=0.5,
    low=0.4,
    high=0.6,
    needed_tokens=50.0,
    total_tokens=100.0,
    blocks=BLOCKS,
    set=CaseSet("made", "ab" * 32),
    cases=40,
    threshold=0.15,
    baseline=0.9,
    repeats=1,
    churn=0.0,
    model=ClaimedModel("scripted:1b", None),
    measured_at="2026-11-30T06:00:00+00:00",
    oracle=False,
    oracle_note=None,
    composition_checked=True,
    composition_holds=True,
    composition_note=None,
    composed=Composed(0.05, 0.0, 0.1, 0.0),
    stress=Stress(22, 0.8, clears=True, note=None),
    production=Production(1.0, 0.06, 0.0, 0.12, "removable", None),
    notes=(),
    coverage_gap=f"40 cases; {BESIDE_SLICES}.",
    quick=False,
)
NO_ROOM = (
    "with every block 8.0% of the cases are right: no block can lose more than 8.0 points, so that "
    '"removable" says little'
)
OPEN = (
    "what can go together is undecided with production's shares of slices: these do not forbid it, and are not shown to "
    "allow it"
)
STANDING_IN = (
    "the units of passages came out removable one by one and none is cut by itself: they stand in for one another, since to leave out "
    "all of them is to leave out passages, which is needed"
)
WITHOUT_ROOM = {"baseline": 0.08, "threshold": 0.05, "composed": Composed(0.01, 0.0, 0.04, 0.0)}
WITHOUT_ROOM |= {"production": Production(1.0, 0.01, 0.0, 0.04, "removable", None)}
UNDECIDED_THERE = {"production": Production(1.0, 0.06, 0.0, 0.2, "undecided", None)}
STANDS_IN = {"blocks": replace(BLOCKS, stand_in=("passages",))}
NOTHING_SHOWN = (
    "not known: with every block 12.0% of the stress cases are right, so that no block can cost the threshold of 15.0 "
    "points there"
)
NOT_HOLDING = {
    "composition_holds": False,
    "composition_note": "does not hold: it came out needed",
    "composed": Composed(0.5, 0.4, 0.6, 0.0),
    "value": 1.0,
    "low": 1.0,
    "high": 1.0,
    "needed_tokens": 100.0,
    "blocks": replace(BLOCKS, put_back=("system", "tail", "passages/3"), fails_stress=()),
}
NEEDED = {
    "blocks": Blocks(("passages",), ("system",), (), (), (), ()),
    "value": 1.0,
    "low": 1.0,
    "high": 1.0,
    "needed_tokens": 100.0,
    "composition_checked": False,
    "composition_holds": None,
    "composition_note": "not checked: there is nothing to leave out",
    "composed": None,
    "stress": Stress(22, 0.8, None, "not known: the composed arm was not measured"),
    "production": Production(1.0, None, None, None, None, "the composed arm was not measured"),
}
NO_PRODUCTION = Production(None, None, None, None, None, "the study gives no shares of production")


def worded(**changes):
    """The plain claim with other numbers, and with the words that follow from these."""
    with pytest.raises(ValueError, match="says in words what its numbers say") as told:
        replace(PLAIN, **changes, claim="-")
    words = str(told.value).partition("which is ")[2].rpartition(", and not ")[0]
    return replace(PLAIN, **changes, claim=words[1:-1].replace("\\'", "'"))


def as_json(**changes):
    """The plain claim's JSON with changes that may contradict it."""
    plain = {name: asdict(one) if is_dataclass(one) else one for name, one in changes.items()}
    return json.loads(json.dumps(asdict(PLAIN) | plain))


def fit_the_schema(found):
    return SCHEMA.is_valid(json.loads(claim.as_text(found)))


def of(part, **changes):
    return {part: replace(getattr(PLAIN, part), **changes)}


# What contradicts itself, the sentence, and whether a schema can tell.
CONTRADICTIONS = [
    # What is said in words.
    ({"claim": "Only 5% of tokens are needed"}, "says in words what its numbers say", True),
    ({"claim": PLAIN.claim.replace("50.0%", "5.0%")}, "says in words what its numbers say", False),
    ({"claim": ""}, "needs its claim in words", True),
    ({"coverage_gap": ""}, "needs its coverage_gap in words", True),
    ({"coverage_gap": "."}, "tells the cases and what the set does not cover", True),
    ({"coverage_gap": "40 cases; all is covered."}, "tells the cases and what the set does not", True),
    ({"coverage_gap": f"40 cases; {NO_SHARES}."}, "contradicts its cases or what is known", True),
    ({"coverage_gap": f"30 cases; {BESIDE_SLICES}."}, "contradicts its cases", False),
    ({"measured_at": ""}, "needs its measured_at in words", True),
    ({"measured_at": "today"}, "as ISO 8601 writes it", True),
    ({"measured_at": "2026-11-30T06:00:00"}, "with its zone", True),
    (of("set", name=""), "needs its set in words", True),
    (of("set", sha256=""), "needs its set's sum in words", True),
    (of("set", sha256="abab"), "64 hexadecimal digits", True),
    (of("model", name=""), "needs its model in words", True),
    (of("model", digest=" "), "is words or None", True),
    # The oracle.
    ({"oracle": True}, "carries the note that it is a ceiling", True),
    ({"oracle": True, "oracle_note": "  "}, "is words or None", True),
    ({"oracle": True, "oracle_note": "x"}, "the note of an oracle's claim is .a ceiling", True),
    ({"oracle_note": oracle.NOTE}, "no other claim does", True),
    ({"oracle": True, "oracle_note": oracle.NOTE}, "says in words what its numbers say", True),
    # Numbers outside what they can be.
    ({"value": 2.0, "needed_tokens": 200.0}, "value is a share from 0 to 1", True),
    ({"value": -1.0, "needed_tokens": -100.0}, "value is a share from 0 to 1", True),
    ({"value": math.nan}, "value is a share from 0 to 1", False),
    ({"threshold": 0.0}, "threshold lies above 0", True),
    ({"threshold": 1.0, "baseline": 1.0}, "threshold lies above 0 and below 1", True),
    ({"threshold": 7.0}, "threshold is a share", True),
    ({"threshold": math.nan}, "threshold is a share", False),
    ({"baseline": 2.0}, "baseline is a share", True),
    ({"churn": 3.0}, "churn is a share", True),
    ({"low": -0.1}, "interval of a claim's value lies from 0 to 1", True),
    ({"high": 1.1}, "interval of a claim's value lies from 0 to 1", True),
    ({"needed_tokens": math.inf}, "tokens are numbers", False),
    ({"cases": 0}, "rests on cases", True),
    ({"repeats": 0}, "on repeats", True),
    ({"total_tokens": 0.0}, "on tokens", True),
    (of("composed", drop=2.0), "composed drop lies from -1 to 1", True),
    (of("composed", high=1.5), "interval of a claim's composed drop lies", True),
    (of("composed", predicted=math.nan), "sum of a claim's single drops", False),
    (of("stress", cases=-1), "has stress cases or none", True),
    (of("production", covers=1.5), "covers of production is a share", True),
    (of("production", drop=-2.0), "drop with production's shares lies from -1 to 1", True),
    # Of another kind.
    ({"value": "much"}, "value is a share", True),
    ({"quick": "no"}, "quick is true or false, and not 'no'", True),
    ({"oracle": 0}, "oracle is true or false", True),
    ({"composition_checked": 1}, "composition_checked is true or false", True),
    ({"composition_holds": "yes"}, "composition_holds is true, false or None", True),
    ({"cases": 40.5}, "cases is a whole number", True),
    ({"repeats": True}, "repeats is a whole number", True),
    ({"threshold": True}, "threshold is a share", True),
    ({"baseline": None}, "baseline is a share", True),
    ({"composed": 0.05}, "composed is a Composed or None", True),
    ({"stress": None}, "stress is a Stress", True),
    (of("stress", clears=1), "stress.clears is true, false or None", True),
    (of("blocks", needed=("passages", "")), "blocks.needed is a tuple of names", True),
    (of("composed", low="x"), "interval of a claim's composed drop lies", True),
    # Numbers against each other.
    ({"value": 0.45}, "its needed tokens over its total tokens", False),
    ({"low": 0.9, "high": 0.1}, "value lies in its interval", False),
    ({"low": 0.55}, "value lies in its interval", False),
    ({"high": 0.45}, "value lies in its interval", False),
    ({"low": None}, "both ends or none", True),
    ({"churn": 0.2}, "here are none: the threshold of 15.0 points lies below the churn floor", False),
    ({"baseline": 0.15}, "here are none: with every block 15.0%", False),
    ({"threshold": 0.95}, "here are none: with every block 90.0%", False),
    (of("composed", drop=0.12), "composed drop lies in its interval", False),
    (of("composed", high=None), "both ends or none", True),
    # The blocks.
    (of("blocks", needed=(), removable=(), fails_stress=()), "names its blocks", True),
    (of("blocks", undecided=("passages",)), "each once as needed, undecided or removable", False),
    (of("blocks", fails_production=("passages",)), "not to be cut all the same came out", False),
    (of("blocks", put_back=("passages",)), "no whole block of it needed or undecided", True),
    (of("blocks", put_back=("system",)), "nothing is put back where leaving out together holds", True),
    (of("blocks", removable=("system",)), "what a claim says is not to be cut", False),
    (
        of("blocks", needed=(), removable=("passages", "system", "tail")),
        "value is 0 where no block counts",
        False,
    ),
    (
        {**NEEDED, "value": 0.5, "low": 0.4, "high": 0.6, "needed_tokens": 50.0},
        "value is 1 where every block counts",
        False,
    ),
    ({**NEEDED, "blocks": BLOCKS}, "was not left out together, so that what is needed is not known", False),
    ({**NOT_HOLDING, "blocks": BLOCKS}, "counts as needed where leaving it out together", False),
    # The composed arm.
    ({"composed": None}, "if and only if the composed arm's result is there", True),
    ({"composition_checked": False}, "was not left out together", True),
    ({**NEEDED, "composition_checked": True}, "if and only if the composed arm's result is there", True),
    (
        {**NEEDED, "composition_holds": False, "composition_note": "does not hold: no"},
        "only where it is",
        True,
    ),
    ({"composition_note": "does not hold: it fails"}, "and no other claim does", True),
    ({**NOT_HOLDING, "composition_note": None}, "does not hold says why", True),
    ({**NOT_HOLDING, "composition_note": "."}, "begins so", True),
    ({**NEEDED, "composition_note": "does not hold: no"}, "begins so", True),
    ({"composed": Composed(0.5, 0.4, 0.6, 0.0)}, "holds only where the composed drop's whole", False),
    ({"composed": Composed(0.1, 0.0, 0.2, 0.0)}, "holds only where the composed drop's whole", False),
    ({"composed": Composed(0.1, None, None, 0.0)}, "holds only where the composed drop's whole", True),
    (of("stress", clears=False), "the stress cases are cleared", True),
    ({"stress": Stress(22, 0.8, None, "not known: some are missing")}, "the stress cases are cleared", True),
    ({"production": Production(1.0, 0.5, 0.4, 0.6, "needed", None)}, "production's shares do not", True),
    ({**NOT_HOLDING, "composed": PLAIN.composed}, "a composition holds where", False),
    # What is to be told beside it.
    ({"notes": ("all is well",)}, "notes are those that its numbers call for, which are ()", False),
    ({**UNDECIDED_THERE, "notes": ()}, "notes are those that its numbers call for", True),
    ({**STANDS_IN, "notes": ()}, "notes are those that its numbers call for", True),
    ({"notes": (OPEN,)}, "notes are those that its numbers call for", True),
    (of("blocks", stand_in=("tail",)), "whose units stand in for one another is needed", False),
    # The stress slice.
    (of("stress", baseline=None), "only where a loss could show on them: not measured", True),
    (of("stress", baseline=0.12), "only where a loss could show on them: with every block 12.0%", False),
    (of("stress", baseline=1.2), "is a share from 0 to 1 or None", True),
    ({**NEEDED, "stress": Stress(0, 0.5, None, NO_STRESS)}, "accuracy on stress cases takes some", True),
    (
        {
            **NOT_HOLDING,
            "composed": PLAIN.composed,
            "stress": Stress(22, 0.12, None, "not known: it was not measured on all stress cases"),
        },
        "says why its stress cases show nothing",
        False,
    ),
    (
        {**of("blocks", fails_stress=()), "stress": Stress(0, None, clears=True, note=None)},
        "only where there are some",
        True,
    ),
    ({"stress": Stress(22, 0.8, clears=True, note="not known: why")}, "and only then", True),
    ({**NEEDED, "stress": Stress(22, 0.8, None, None)}, "says why it is not known", True),
    (
        {**NEEDED, "stress": Stress(22, 0.8, clears=True, note=None)},
        "and the composed arm was measured",
        True,
    ),
    ({**NEEDED, "stress": Stress(22, 0.8, None, NO_STRESS)}, "begins 'not known: '", True),
    ({**NEEDED, "stress": Stress(0, None, None, QUICK_STRESS)}, "'the set has no stress cases", True),
    (
        {**NEEDED, "quick": True, "stress": Stress(0, None, None, NO_STRESS)},
        "'a quick look asks no stress cases",
        True,
    ),
    ({"quick": True}, "a quick look has none", True),
    ({"stress": Stress(0, None, None, NO_STRESS)}, "fails the stress cases only where there are some", True),
    # Production.
    (
        {"production": replace(PLAIN.production, verdict="needed")},
        "production's shares do not forbid it",
        True,
    ),
    ({**NOT_HOLDING, **of("production", verdict="needed")}, "follows from the drop's interval", False),
    ({"production": replace(PLAIN.production, note="none")}, "no note says why there is none", True),
    ({"production": replace(PLAIN.production, drop=None)}, "there is a note, and no interval", True),
    ({"production": replace(PLAIN.production, high=0.05)}, "lies in its interval", False),
    ({**NEEDED, "production": PLAIN.production}, "takes shares and a composed arm", True),
    ({"production": NO_PRODUCTION}, "contradicts its cases or what is known", True),
    (
        {
            **of("blocks", fails_production=("tail",)),
            "production": NO_PRODUCTION,
            "coverage_gap": f"40 cases; {NO_SHARES}.",
        },
        "fails with production's shares only where",
        True,
    ),
]
IDS = [f"{place}-{message[:30]}" for place, (_, message, _) in enumerate(CONTRADICTIONS)]


@pytest.mark.parametrize(("changes", "message", "_in_schema"), CONTRADICTIONS, ids=IDS)
def test_a_claim_that_lacks_or_contradicts_a_caveat_cannot_be_made(changes, message, _in_schema):
    with pytest.raises(ValueError, match=message):
        replace(PLAIN, **changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [(changes, message) for changes, message, in_schema in CONTRADICTIONS if in_schema],
    ids=[name for name, (_, _, in_schema) in zip(IDS, CONTRADICTIONS, strict=True) if in_schema],
)
def test_nor_does_it_fit_the_schema_where_that_can_tell(changes, message):
    assert SCHEMA.is_valid([as_json()])
    assert not SCHEMA.is_valid([as_json(**changes)]), message


@pytest.mark.parametrize(
    ("changes", "noted"),
    [
        (WITHOUT_ROOM, (NO_ROOM,)),
        (UNDECIDED_THERE, (OPEN,)),
        (STANDS_IN, (STANDING_IN,)),
        (WITHOUT_ROOM | UNDECIDED_THERE | STANDS_IN, (NO_ROOM, OPEN, STANDING_IN)),
        (NOT_HOLDING | UNDECIDED_THERE, ()),
    ],
    ids=["no room", "undecided in production", "units that stand in", "all of them", "none"],
)
def test_what_is_to_be_told_with_a_claim_cannot_be_left_out(changes, noted):
    told = worded(**changes, notes=noted)
    assert fit_the_schema([told])
    for some in [noted[1:], noted[:-1], (*noted, "and more")] if noted else [("more",)]:
        with pytest.raises(ValueError, match="notes are those that its numbers call for"):
            replace(told, notes=some)


def test_stress_cases_of_which_too_few_are_right_say_so_in_the_claim():
    told = worded(
        **NOT_HOLDING | {"composed": PLAIN.composed, "stress": Stress(22, 0.12, None, NOTHING_SHOWN)}
    )
    assert fit_the_schema([told])


@pytest.mark.parametrize("changes", [NOT_HOLDING, NEEDED], ids=["does not hold", "not checked"])
def test_what_the_contradictions_are_made_of_is_sound(changes):
    assert fit_the_schema([worded(**changes)])


@pytest.mark.parametrize("name", sorted(asdict(PLAIN)))
def test_no_field_can_be_left_out(name):
    kept = {key: value for key, value in as_json().items() if key != name}
    assert not SCHEMA.is_valid([kept])


@pytest.mark.parametrize(
    ("part", "name"),
    [
        (part, name)
        for part in ("blocks", "set", "model", "composed", "stress", "production")
        for name in asdict(PLAIN)[part]
    ],
)
def test_nor_one_of_a_part(part, name):
    content = as_json()
    del content[part][name]
    assert not SCHEMA.is_valid([content])


def test_the_words_of_one_block_that_is_put_back_are_of_one():
    alone = worded(**NOT_HOLDING | {"blocks": Blocks(("passages",), (), ("tail",), ("tail",), (), ())})
    assert alone.claim.endswith(
        "tail came out as costing less than 15 points, and counts as needed all the same, since it is not shown that it can go."
    )


def test_an_oracle_s_words_do_not_tell_what_the_needed_fraction_counts():
    its = worded(oracle=True, oracle_note=oracle.NOTE)
    assert its.claim.startswith("An oracle that knows each case would send 50.0% of the tokens")
    assert "Leaving out passages" not in its.claim
    assert "this share" not in its.claim
    assert "tail came out as costing less than 15 points on the main cases, and is not to be cut" in its.claim


def _figure(estimate, low, high, n):
    return {"estimate": estimate, "low": low, "high": high, "n": n, "zero_width": low == high}


@st.composite
def drops(draw, n):
    """A figure of a drop, with its interval or without."""
    low, estimate, high = sorted(draw(st.floats(-1, 1)) for _ in range(3))
    return _figure(estimate, *draw(st.sampled_from([(low, high), (None, None)])), n)


def found_on(drop, threshold):
    if drop["low"] is None or drop["low"] < threshold <= drop["high"]:
        return "undecided"
    return "needed" if drop["low"] >= threshold else "removable"


@st.composite
def ablations(draw):
    """That part of a results document as it may be, by the rules that stand in the docs, and whether it is a quick look."""
    quick, n = draw(st.booleans()), draw(st.integers(1, 500))
    stress, has_shares = 0 if quick else draw(st.integers(0, 30)), draw(st.booleans())
    threshold = draw(st.floats(0.01, 0.9))
    names = draw(st.lists(st.text(min_size=1).filter(str.strip), min_size=1, max_size=5, unique=True))
    verdicts = st.sampled_from(["needed", "undecided", "removable"])
    blocks = [
        {
            "name": name,
            "verdict": draw(verdicts),
            "clears_stress": draw(st.sampled_from([True, False, None])) if stress else None,
            "reweighted_verdict": draw(verdicts) if has_shares else None,
            "units_stand_in": False,
        }
        for name in names
    ]
    tokens = {name: draw(st.integers(1, 9_000)) for name in names}
    cut = [
        one["name"]
        for one in blocks
        if one["verdict"] == "removable"
        and (not stress or one["clears_stress"])
        and one["reweighted_verdict"] != "needed"
    ]
    ranked = [one["name"] for one in blocks if one["verdict"] == "needed" and draw(st.booleans())]
    cut += [f"{name}/{number}" for name in ranked for number in (2, 3)]
    for one in blocks:
        one["units_stand_in"] = one["verdict"] == "needed" and draw(st.booleans())
    composed, holds = {"unavailable": "nothing came out removable"}, None
    if cut:
        drop, again = draw(drops(n)), draw(drops(n))
        clears = draw(st.booleans()) if stress else None
        holds = found_on(drop, threshold) == "removable" and (not stress or clears)
        holds = holds and (not has_shares or found_on(again, threshold) != "needed")
        composed = {
            "drop": drop,
            "predicted": draw(st.floats(-3, 3)),
            "clears_stress": clears,
            "stress_note": None,
            "kept_ranks": dict.fromkeys(ranked, 1),
            "holds": holds,
            "note": None if holds else "does not hold: it is told why",
            "reweighted_drop": again if has_shares else {"unavailable": "the study gives no shares"},
            "reweighted_verdict": found_on(again, threshold) if has_shares else None,
        }
    back = [] if holds else cut
    counts = {one["name"] for one in blocks if one["verdict"] != "removable" or one["name"] in back}
    needed, total = sum(tokens[name] for name in counts), sum(tokens.values())
    sent = needed * draw(st.floats(0, 1))
    return {
        "cases": n + draw(st.integers(0, 9)),
        "stress_cases": stress,
        "set": "made",
        "sha256": "ab" * 32,
        "threshold": threshold,
        "baseline": _figure(draw(st.floats(threshold + 1e-6, 1)), 0.0, 1.0, n),
        "stress_baseline": {"estimate": draw(st.floats(threshold + 1e-6, 1))}
        if stress
        else {"unavailable": "none"},
        "covers": draw(st.floats(0, 1)) if has_shares else None,
        "slices": [{"slice": "long", "production": 0.5, "cases": draw(st.integers(0, n))}] * has_shares,
        "churn_floor": draw(
            st.one_of(
                st.just({"unavailable": "not asked"}),
                st.floats(0, threshold).map(lambda share: {"estimate": share}),
            )
        ),
        "blocks": blocks,
        "composed": composed,
        "needed_fraction": _figure(needed / total, needed / total, needed / total, n)
        | {"needed_tokens": float(needed), "total_tokens": float(total), "put_back": back},
        "oracle": {
            "note": oracle.NOTE,
            "fraction": _figure(sent / total, 0.0, 1.0, n),
            "tokens": sent,
            "total_tokens": float(total),
        },
    }, quick


@settings(max_examples=100, deadline=None)
@given(ablations())
def test_what_consistent_results_come_to_is_claimed_and_fits_the_schema(results):
    ablation, quick = results
    record = replace(made.record(made.ablation()), quick=quick)
    found = claims(ablation, record)
    assert refusals(ablation, record) == []
    assert [one.oracle for one in found] == [False, True]
    assert fit_the_schema(found)


@settings(max_examples=6, deadline=None)
@given(
    st.booleans(),
    st.sampled_from([{}, {"turn": {"multi_turn": 0.5, "single_turn": 0.5}}]),
    st.sampled_from([1, 2, 3]),
    st.sampled_from([(), ("no-tail",), ("composed", "again")]),
    st.integers(0, 1_000),
)
def test_what_made_up_runs_come_to_is_claimed_or_refused_for_what_was_not_measured(
    quick, production, until, hurt, seed
):
    plan = made.ablation(quick=quick, production=production)
    cases = made.MAIN if quick else made.MAIN + made.STRESS
    chance = random.Random(seed)
    rates = {arm.id: chance.choice([0, 0, 0.1, 0.5]) for arm in plan.arms}
    changed = {(arm, case) for arm, rate in rates.items() for case in cases if chance.random() < rate}
    broken = {(arm, case) for arm in hurt for case in cases if chance.random() < 0.1}
    results = made.run(plan, cases=cases, changed=changed, broken=broken, until=until)
    ablation = report.build(plan, results)
    record = replace(made.record(plan), quick=quick)
    assert fit_the_schema(claims(ablation, record))
    assert not [reason for reason in refusals(ablation, record) if "contradict" in reason]
