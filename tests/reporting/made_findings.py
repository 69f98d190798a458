"""What an ablation found, made by hand in the shape that reports are given: five blocks, arms and a handful of trials."""

import hashlib
from dataclasses import replace

import made_runs
import scripted

from pytest_tokenbench.records import Evidence, Outcome, Question, Ruling, Scores, Status, Verdict
from pytest_tokenbench.reporting import document
from pytest_tokenbench.run_folder import Run

THRESHOLD = 0.05
NO_STRESS = {"unavailable": "the set has no stress cases"}
NO_STRESS_FOUND = {"stress_drop": NO_STRESS, "clears_stress": None, "stress_note": None}
QUICKLY = {"unavailable": "a quick look asks no such arm"}
NOTE = "a ceiling over every selector, which knows the answers; it is not available at serve time"


def figure(estimate, low=None, high=None, n=80, *, zero_width=False):
    return {"estimate": estimate, "low": low, "high": high, "n": n, "zero_width": zero_width}


def block(name, tokens, drop, verdict, **more):
    made = {
        "name": name,
        "parts": "whole",
        "tokens": figure(tokens, tokens - 10, tokens + 10),
        "share": tokens / 14_000,
        "drop": drop,
        "verdict": verdict,
        "reason": f"the reason of {name}",
        "n_to_decide": None,
        "stress_drop": figure(0.0, -0.1, 0.1, 20),
        "clears_stress": True,
        "stress_note": None,
        "reweighted_drop": drop,
        "reweighted_verdict": verdict,
        "reweighted_n_to_decide": None,
        "per_1000_tokens": figure(100_000 * drop["estimate"] / tokens, 1.0, 60.0),
        "prefill_saved": figure(0.42, 0.4, 0.44),
        "filler": {
            "drop": figure(0.03, 0.0, 0.06),
            "length": figure(0.01, -0.02, 0.04),
            "deviation": {"mean": 1.25, "largest": 4},
        },
        "units": [],
        "ranks": [],
        "not_decomposed": None,
        "units_stand_in": False,
    }
    return made | more


def unit(number, drop, verdict, **more):
    made = {"unit": number, "tokens": figure(800.0), "drop": drop, "verdict": verdict, "n_to_decide": None}
    return made | {"reason": f"the reason of {number}"} | STRESS | weighed(verdict) | more


def rank(to, drop, verdict, saved):
    made = {"to": to, "drop": drop, "verdict": verdict, "n_to_decide": None, "tokens_saved": saved}
    return made | {"reason": f"the reason of rank {to}"} | STRESS | weighed(verdict)


def weighed(verdict):
    """What comes out with production's shares: the same, with a drop that is told apart."""
    its = {"reweighted_drop": figure(0.0213, 0.0, 0.0413), "reweighted_verdict": verdict}
    return its | {"reweighted_n_to_decide": 700 if verdict == "undecided" else None}


def interaction(arm, lost, drop, excess, *, redundant):
    return {
        "arm": arm,
        "lost": lost,
        "drop": drop,
        "excess": excess,
        "redundant": redundant,
        "free_alone": True,
    }


STRESS = {"stress_drop": figure(0.0, -0.1, 0.1, 20), "clears_stress": True, "stress_note": None}
BLOCKS = [
    block(
        "system",
        900,
        figure(0.0625, 0.0125, 0.125),
        "undecided",
        n_to_decide=1240,
        reweighted_n_to_decide=990,
    ),
    block("policy", 300, figure(0.0, -0.045, 0.045, zero_width=True), "removable"),
    block(
        "examples",
        2100,
        figure(0.2, 0.125, 0.2875),
        "needed",
        parts="each",
        units=[
            unit(1, figure(0.15, 0.0875, 0.225), "needed"),
            unit(2, figure(-0.0125, -0.0375, 0.0), "removable"),
            unit(3, figure(0.0375, 0.0, 0.0875), "undecided", n_to_decide=310),
        ],
    ),
    block(
        "passages",
        9800,
        figure(0.55, 0.4375, 0.6625),
        "needed",
        parts="ranked",
        ranks=[
            rank(1, figure(0.175, 0.1, 0.2625), "needed", figure(7840.0)),
            rank(2, figure(0.0125, 0.0, 0.0375), "removable", figure(5880.0)),
        ],
    ),
    block(
        "tail",
        900,
        figure(0.0125, 0.0, 0.0375),
        "removable",
        stress_drop=figure(0.35, 0.15, 0.55, 20),
        clears_stress=False,
        reweighted_drop=figure(0.0921, 0.06, 0.125),
        reweighted_verdict="needed",
    ),
]
PUT_BACK = ["policy", "examples/2", "passages/3", "passages/4", "passages/5"]
NOT_TOGETHER = "does not hold: the composed arm came out undecided; its interval has the threshold in it"
COMPOSED = {
    "left_out": PUT_BACK,
    "kept_ranks": {"passages": 2},
    "verdict": "undecided",
    "reason": "its interval has the threshold in it",
    "n_to_decide": 260,
    "clears_stress": True,
    "stress_note": None,
    "holds": False,
    "note": NOT_TOGETHER,
    "caveat": None,
    "drop": figure(0.1, 0.0375, 0.175),
    "predicted": 0.0,
    "shortfall": figure(0.1, 0.0375, 0.175),
    "tokens_saved": figure(6880.0, 6800.0, 6950.0),
    "share_saved": 0.4914,
    "stress_drop": figure(0.05, 0.0, 0.15, 20),
    "reweighted_drop": figure(0.13, 0.06, 0.21),
    "reweighted_verdict": "needed",
    "reweighted_n_to_decide": None,
    "lost": [
        {"case": "s003", "slices": {"turn": "single_turn", "rule": "redundant"}},
        {"case": "s004", "slices": {"turn": "single_turn", "rule": "redundant"}},
    ],
    "lost_by_slice": {"turn": {"single_turn": 2}, "rule": {"redundant": 2}},
    "pairs": [
        {"blocks": ["policy", "examples"]}
        | interaction(
            "pair-policy-examples",
            ["s003", "s004"],
            figure(0.09, 0.03, 0.16),
            figure(0.1, 0.0375, 0.175),
            redundant=True,
        ),
        {"blocks": ["policy", "passages"]}
        | interaction(
            "pair-policy-passages",
            [],
            figure(0.0, -0.045, 0.045),
            figure(0.0, -0.045, 0.045),
            redundant=False,
        ),
    ],
    "within": [
        {"block": "passages"}
        | interaction(
            "part-passages", ["s004"], figure(0.06, 0.02, 0.11), figure(0.06, 0.02, 0.11), redundant=True
        )
    ],
}
SELECTOR = [
    {
        "arm": f"select-{score:g}",
        "score": score,
        "recovered": figure(recovered, recovered - 0.05, min(1.0, recovered + 0.05)),
        "drop": figure(lost, lost - 0.04, lost + 0.04),
        "saved_tokens": figure(saved),
        "stress_drop": figure(0.1, -0.05, 0.25, 20),
        "clears_stress": score < 12,
        "stress_note": None,
        "reweighted_drop": figure(1.5 * lost, 1.5 * lost - 0.05, 1.5 * lost + 0.05),
        "reweighted_verdict": "undecided",
        "reweighted_n_to_decide": 900,
    }
    for score, recovered, lost, saved in (
        (2.0, 0.3, 0.0, 2900),
        (6.0, 0.62, 0.025, 5900),
        (12.5, 0.96, 0.3, 9100),
    )
]
FOUND = {
    "cases": 80,
    "stress_cases": 20,
    "set": "support",
    "threshold": THRESHOLD,
    "stress_baseline": figure(0.85, 0.7, 1.0, 20),
    "production": {"turn": {"multi_turn": 0.23, "single_turn": 0.77}},
    "covers": 1.0,
    "churn_floor": figure(0.0125, 0.0, 0.0375),
    "refused": None,
    "blocks": BLOCKS,
    "composed": COMPOSED,
    "needed_fraction": figure(0.9143, 0.75, 0.9786)
    | {
        "needed_tokens": 12_800.0,
        "total_tokens": 14_000.0,
        "put_back": PUT_BACK,
        "put_back_note": NOT_TOGETHER,
        "caveat": None,
    },
    "oracle": {
        "oracle": True,
        "note": NOTE,
        "fraction": figure(0.3139, 0.295, 0.334),
        "tokens": 4394.0,
        "total_tokens": 14_000.0,
    },
    "selector": SELECTOR,
    "notes": ["follow-ups are 6% of the set and 23% of production"],
}
UNASKED = {"unavailable": "no trial of base was run"}
_NOTHING = {
    "tokens": UNASKED,
    "share": None,
    "drop": UNASKED,
    "verdict": "not measured",
    "reason": UNASKED["unavailable"],
    "stress_drop": UNASKED,
    "clears_stress": None,
    "stress_note": "it was not measured on all stress cases",
    "reweighted_drop": UNASKED,
    "reweighted_verdict": None,
    "per_1000_tokens": UNASKED,
    "prefill_saved": UNASKED,
    "filler": UNASKED,
}
_UNREWEIGHTED = {
    "reweighted_drop": {"unavailable": "the study gives no shares of production"},
    "reweighted_verdict": None,
}
QUICK = FOUND | {
    "cases": 6,
    "stress_cases": 0,
    "stress_baseline": NO_STRESS,
    "churn_floor": QUICKLY,
    "blocks": [
        one
        | {
            **NO_STRESS_FOUND,
            "filler": QUICKLY,
            "units": [],
            "ranks": [],
            "not_decomposed": None if one["parts"] == "whole" else "a quick look takes nothing apart",
        }
        for one in BLOCKS
    ],
    "composed": COMPOSED | {"left_out": ["policy"], "stress_drop": NO_STRESS, "pairs": [], "within": []},
    "selector": [],
    "notes": ["the churn floor was not measured: verdicts stand on the threshold alone"],
}
# Every kind of result that a study can come to.
KINDS = {
    "whole": FOUND,
    "quick": QUICK,
    "nothing measured": FOUND
    | {
        "stress_baseline": UNASKED,
        "churn_floor": UNASKED,
        "covers": None,
        "blocks": [block(one["name"], 1, figure(0.0), "removable") | _NOTHING for one in BLOCKS],
        "composed": UNASKED,
        "needed_fraction": UNASKED,
        "oracle": UNASKED,
        "selector": [
            one
            | dict.fromkeys(("recovered", "drop", "saved_tokens", "stress_drop", "reweighted_drop"), UNASKED)
            for one in SELECTOR
        ],
        "notes": [],
    },
    "refused": FOUND
    | {
        "refused": "the threshold of 5.0 points lies below the churn floor: 8.8% of the cases come out otherwise",
        "churn_floor": figure(0.0875, 0.025, 0.15),
        "blocks": [
            one
            | {
                "verdict": "refused",
                "reweighted_verdict": "refused",
                "units": [],
                "ranks": [],
                "not_decomposed": "the threshold is refused",
            }
            for one in BLOCKS
        ],
        "composed": {"unavailable": "composed was not asked: nothing came out removable"},
        "needed_fraction": {"unavailable": "the threshold is refused"},
        "oracle": {"unavailable": "the threshold is refused"},
    },
    "composed unavailable": FOUND
    | {"composed": {"unavailable": "composed was not asked: nothing came out removable"}},
    "no stress": FOUND
    | {
        "stress_cases": 0,
        "stress_baseline": NO_STRESS,
        "selector": [one | NO_STRESS_FOUND for one in SELECTOR],
        "blocks": [one | NO_STRESS_FOUND for one in BLOCKS],
        "composed": COMPOSED | NO_STRESS_FOUND,
    },
    "no production": FOUND
    | {
        "production": {},
        "covers": None,
        "blocks": [one | _UNREWEIGHTED for one in BLOCKS],
        "composed": COMPOSED | _UNREWEIGHTED,
    },
    "nothing lost": FOUND
    | {
        "composed": COMPOSED | {"lost": [], "lost_by_slice": {}, "pairs": [], "within": [], "predicted": None}
    },
}

CASES = tuple(
    Question(
        f"s{number:03}",
        f"s{number:03}",
        f"What is charged for number {number}?",
        (f"{number} crowns",),
        answerable=True,
        slices={
            "turn": "single_turn" if number < 5 else "multi_turn",
            "rule": "redundant" if number in (3, 4) else "plain",
        },
        stress=number == 6,
    )
    for number in range(1, 7)
)
ARMS = (
    "base",
    *(f"no-{one['name']}" for one in BLOCKS),
    "again",
    "examples-1",
    "passages-to-1",
    "composed",
    "pair-policy-examples",
    "part-passages",
)
WRONG = {"composed": ("s003", "s004"), "pair-policy-examples": ("s003", "s004"), "part-passages": ("s004",)}
NEEDLESS = "examples came out removable on this set: its units are not taken apart"
CONTEXT = "Charge what the list says.\n\nA passage on 3 crowns."


def trial(case, arm):
    right = case.id not in WRONG.get(arm, ())
    seen = made_runs.observation(case, arm, 14_000 if arm in ("base", "again") else 9_000)
    if arm == "examples-1":
        return replace(
            made_runs.errored(seen), status=Status.NOT_NEEDED, error_kind=None, error_message=NEEDLESS
        )
    return replace(
        seen,
        outcome=Outcome.CORRECT if right else Outcome.WRONG,
        answer=case.answers[0] if right else "I cannot tell.",
        scores=Scores(
            abstained=False, correct=right, f1=float(right), squad_f1=float(right), exact_match=right
        ),
        context_sha256=hashlib.sha256(CONTEXT.encode()).hexdigest(),
        units=("system/1", "passages/1"),
        preparation=None,
    )


def run(*prices, quick=False):
    """The run of the arms over six cases, of which the last is of the stress slice."""
    record = replace(
        made_runs.record(*prices),
        study="needed-context",
        study_file="test_needed_context.py",
        quick=quick,
        baseline="base",
        conditions=ARMS,
        questions=CASES,
        scheduled=len(ARMS) * len(CASES),
        recipes={},
        verdicts=(
            Verdict(
                "H1",
                "The composed arm loses less than 10 points.",
                Ruling.FAILED,
                "assert 0.175 < 0.1",
                (Evidence("drop under composed", 0.1, 0.0375, 0.175, 80),),
            ),
        ),
        model=scripted.INFO,
    )
    return Run(record, tuple(trial(case, arm) for case in CASES for arm in ARMS), ())


def built(kind="whole", made=None, *prices):
    """The results document of the run, with what was found of one kind."""
    quick = kind == "quick"
    return document.build(run(*prices, quick=quick)) | {"ablation": KINDS[kind] if made is None else made}


TEXTS = {hashlib.sha256(CONTEXT.encode()).hexdigest(): CONTEXT}
