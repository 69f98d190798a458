"""An ablation made by hand, and a reader that is right if and only if what a case needs stands in what an arm sends.

Forty main cases in four blocks, threshold 10 points (which 36 cases without any drop are enough for):

| cases   | need                                  | so that                                     |
| a00-a17 | the passage at rank 1, and example 3  | both blocks are needed                      |
| a18-a29 | the passage at rank 2                 | nothing may be cut after rank 1             |
| r0-r3   | a rule that system and tail both state | neither block alone is missed, both are     |
| e0-e5   | what examples 1 and 2 both show       | neither example alone is missed, both are   |

Nobody needs example 4 and the passage at rank 3.
"""

import re
from dataclasses import replace

from pytest_tokenbench.ablation import stages
from pytest_tokenbench.ablation.arms import Arm
from pytest_tokenbench.ablation.design import Ablation, BlockPlan, Parts, arms
from pytest_tokenbench.ablation.results import AblationResults
from pytest_tokenbench.records import (
    Block,
    Document,
    ModelInfo,
    Observation,
    OriginalSource,
    Outcome,
    Question,
    Scores,
    Status,
    Unit,
)
from pytest_tokenbench.run_folder import FORMAT, RunRecord

BLOCKS = (
    BlockPlan("system"),
    BlockPlan("examples", Parts.EACH),
    BlockPlan("passages", Parts.RANKED),
    BlockPlan("tail", follow_ups_only=True),
)
UNITS = {"system": 1, "examples": 4, "passages": 3, "tail": 1}
SELECTOR = (5.0, 9.0)
FRAME = 30
RANK_1 = tuple(f"a{place:02}" for place in range(18))
RANK_2 = tuple(f"a{place:02}" for place in range(18, 30))
RULES = tuple(f"r{place}" for place in range(4))
EXAMPLES = tuple(f"e{place}" for place in range(6))
MAIN = RANK_1 + RANK_2 + RULES + EXAMPLES
STRESS = ("s0", "s1", "s2")
WORDS = {"system": (7,), "examples": (4, 4, 6, 8), "passages": (10, 12, 14), "tail": (5,)}
# By case what must stand in the prompt: of each group one unit is enough.
NEEDS = {
    **{case: [{"passages/1"}, {"examples/3"}] for case in RANK_1},
    **{case: [{"passages/2"}] for case in RANK_2},
    **{case: [{"system/1", "tail/1"}] for case in RULES},
    **{case: [{"examples/1", "examples/2"}] for case in EXAMPLES},
    **{case: [{"passages/1"}] for case in STRESS},
}


def text(block, number, words):
    """A unit's text: its own name, filled up to so many words."""
    return " ".join([f"{block}/{number}", *["word"] * (words - 1)])


def documents(scores=(10.0, 8.0, 3.0)):
    return {
        case: Document(
            id=case,
            title=case,
            file="cases.json",
            words=sum(map(sum, WORDS.values())),
            sha256="0" * 64,
            licence="CC0",
            source=OriginalSource(),
            blocks=tuple(
                Block(
                    name,
                    tuple(
                        Unit(text(name, number, words), scores[number - 1] if name == "passages" else None)
                        for number, words in enumerate(its, 1)
                    ),
                )
                for name, its in WORDS.items()
            ),
        )
        for case in MAIN + STRESS
    }


def question(case):
    rank = 1 if case in RANK_1 + STRESS else 2 if case in RANK_2 else None
    return Question(
        case,
        case,
        "What is right?",
        ("this",),
        answerable=True,
        slices={"turn": "multi_turn" if case in RULES else "single_turn", "family": case[0]},
        gold_rank=rank,
        follow_up=case in RULES,
        stress=case in STRESS,
    )


def ablation(*, quick=False, **changes):
    known = {
        "cases": "made",
        "sha256": "ab" * 32,
        "threshold": 0.1,
        "blocks": BLOCKS,
        "arms": arms(BLOCKS, UNITS, () if quick else SELECTOR, quick=quick),
        "production": {"turn": {"multi_turn": 0.23, "single_turn": 0.77}},
        "words": dict.fromkeys(MAIN + STRESS, WORDS),
        "scores": {case: {"passages": (10.0, 8.0, 3.0)} for case in MAIN + STRESS},
        "quick": quick,
    }
    return Ablation(**(known | changes))


def observation(case, arm, status=Status.OK, *, right=True, tokens=100, repeat=0, prefill=None):
    is_ok = status is Status.OK
    return Observation(
        study="made",
        question=case,
        document=case,
        condition=arm,
        reader="scripted:1b",
        repeat=repeat,
        status=status,
        started="2026-11-30T05:00:00.000+00:00",
        host="here",
        worker="main",
        outcome=(Outcome.CORRECT if right else Outcome.WRONG) if is_ok else None,
        input_tokens=tokens if is_ok else None,
        cached_tokens=0 if is_ok else None,
        output_tokens=3 if is_ok else None,
        prefill_s=prefill,
        scores=Scores(abstained=False, correct=right, f1=float(right), squad_f1=0.0, exact_match=right)
        if is_ok
        else None,
    )


def is_right(case, sent):
    """Whether of each group that the case needs a unit stands in the text."""
    return all(any(name in sent.split() for name in group) for group in NEEDS[case])


def run(plan=None, *, cases=MAIN + STRESS, changed=(), broken=(), repeats=1, until=3):
    """The results of asking every arm, stage by stage, as a run does.

    `changed` are (arm, case) that come out the other way, `broken` those that end in an error.
    """
    plan = plan or ablation()
    asked, papers = [question(case) for case in cases], documents()
    seen, decisions = [], []
    for stage in range(until + 1):
        so_far = AblationResults.of(plan, asked, seen, repeats)
        made = {one.arm: one for one in stages.decide(plan, so_far, stage)}
        decisions += made.values()
        for declared in (arm for arm in plan.arms if arm.stage == stage):
            arm = Arm(declared)
            arm = arm.decided(made[arm.id]) if arm.id in made else arm
            for case in asked:
                seen += _trials(arm, case, papers[case.id], changed=changed, broken=broken, repeats=repeats)
    return AblationResults.of(plan, asked, seen, repeats, decisions)


def _trials(arm, case, paper, *, changed, broken, repeats):
    for repeat in range(repeats):
        if arm.needless(case.id) is not None:
            yield observation(case.id, arm.id, Status.NOT_NEEDED, repeat=repeat)
        elif (arm.id, case.id) in broken:
            yield observation(case.id, arm.id, Status.ERROR, repeat=repeat)
        else:
            sent = arm.context(case, paper, None).text
            right = is_right(case.id, sent) is not ((arm.id, case.id) in changed)
            tokens = FRAME + len(re.findall(r"[\w/-]+|[^\w\s]", sent))
            yield observation(
                case.id, arm.id, right=right, tokens=tokens, repeat=repeat, prefill=tokens / 100
            )


def told(plan, asked, right, tokens=lambda _case, _arm: 100, repeats=1):
    """Results of the arms of the plan with what two functions of case and arm say; None is an arm that was not run."""
    seen = [
        observation(case.id, arm.id, right=came, tokens=tokens(case, arm), repeat=repeat)
        for case in asked
        for arm in plan.arms
        for repeat in range(repeats)
        if (came := right(case, arm)) is not None
    ]
    return AblationResults.of(plan, asked, seen, repeats)


def record(plan, **changes):
    """The record of a run of the plan."""
    known = {
        "format": FORMAT,
        "study": "made",
        "study_file": "test_made.py",
        "started": "2026-11-30T05:00:00+00:00",
        "quick": False,
        "order": "cold",
        "backend": "scripted",
        "baseline": "base",
        "conditions": tuple(arm.id for arm in plan.arms),
        "questions": tuple(map(question, MAIN + STRESS)),
        "scheduled": 1,
        "model": ModelInfo("scripted", "scripted:1b", "sha256:abc", 4096),
        "hashes": {},
        "registration": "not registered",
        "registered": (),
        "commit": None,
        "machine": {},
        "finished": "2026-11-30T06:00:00+00:00",
    }
    return RunRecord(**(known | changes))


def replace_rank(case, rank):
    """The case with its answer at another rank, None for one that no passage answers."""
    return replace(case, gold_rank=rank)


def replace_block(plan, name, **changes):
    """The ablation with one block declared otherwise."""
    return replace(
        plan, blocks=tuple(replace(one, **changes) if one.name == name else one for one in plan.blocks)
    )
