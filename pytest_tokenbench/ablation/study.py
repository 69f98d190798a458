"""The declaration of an ablation: which blocks prompts are made of, and from which drop on one is needed."""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_tokenbench.ablation import cases as cases_file
from pytest_tokenbench.ablation import stages
from pytest_tokenbench.ablation.arms import Arm
from pytest_tokenbench.ablation.cases import Cases
from pytest_tokenbench.ablation.design import Ablation, ArmKind, BlockPlan, Parts, arms
from pytest_tokenbench.ablation.results import AblationResults
from pytest_tokenbench.corpus.faults import CorpusError, Fault
from pytest_tokenbench.material import Find, Material
from pytest_tokenbench.records import Decision, Question
from pytest_tokenbench.study import Study

if TYPE_CHECKING:
    from pytest_tokenbench.results import Results

BASELINE = "base"
_DECIDING = {ArmKind.BASE, ArmKind.AGAIN, ArmKind.WITHOUT, ArmKind.UNIT, ArmKind.UP_TO, ArmKind.COMPOSED}
_QUICK_PER_SLICE = 1
_SHARES = "{'turn': {'multi_turn': 0.23, 'single_turn': 0.77}}"
_PARTS = ", ".join(repr(str(parts)) for parts in Parts)


@dataclass(frozen=True, slots=True)
class Block:
    """One block of the prompts, as the study declares it.

    `parts` says how it is taken apart when it is needed: "whole" not at all, "each" one unit at a time, "ranked" also
    everything after a rank. With `follow_ups_only` the oracle needs it in follow-ups alone.
    """

    name: str
    parts: str = "whole"
    follow_ups_only: bool = False


class NeededContext(Study):
    """What share of a prompt's tokens the model needs, by leaving blocks out and asking again.

    Args:
        name: Names the study in reports and run folders.
        cases: Path of the cases file, looked up from the study file's folder upwards to pytest's rootdir.
        blocks: The blocks of every prompt, as in the cases file and in its order.
        threshold: A block is needed if accuracy drops by at least this share without it (0.05 for 5 points).
        production: By kind of slice the shares that its slices have where the prompts are used, as
            `{"turn": {"multi_turn": 0.23, "single_turn": 0.77}}`.
        selector: Retrieval scores: for each, an arm keeps the passages that have at least so much.
        opt_in: Whether `pytest` on a folder leaves the study out unless its file or --tokenbench-study names it.

    Declaring never raises: `faults` tells what is wrong, and pytest reports it as a usage error.
    """

    prompt = "blocks"

    def __init__(
        self,
        name: str,
        *,
        cases: str,
        blocks: Sequence[Block],
        threshold: float,
        production: Mapping[str, Mapping[str, float]] | None = None,
        selector: Sequence[float] = (),
        opt_in: bool = True,
    ) -> None:
        super().__init__(name, questions=cases, corpus="", conditions=(), baseline=BASELINE, opt_in=opt_in)
        # What is no list is kept as it was given, for `own_faults`.
        self.blocks = tuple(blocks) if _is_list(blocks) else blocks
        self.threshold = threshold
        self.production = production or {}
        self.selector = tuple(selector) if _is_list(selector) else selector

    def own_faults(self, here: str) -> list[str]:
        """What is wrong with the declaration; sentences begin with `here`."""
        found = [*self._block_faults(here), *self._score_faults(here)]
        if not isinstance(self.questions, str) or not self.questions:
            found.append(
                f"{here} has the cases {self.questions!r}; give the path of their file, as 'data/cases.json'"
            )
        if not isinstance(self.opt_in, bool):
            found.append(f"{here} has opt_in={self.opt_in!r}; write True or False")
        if not _is_number(self.threshold) or not 0 < self.threshold < 1:
            found.append(
                f"{here} has the threshold {self.threshold!r}; give the share of accuracy that counts as a drop, "
                "above 0 and below 1, as 0.05 for 5 points"
            )
        return found + [f"{here}: production: {fault}" for fault in self._share_faults()]

    def _block_faults(self, here: str) -> Iterator[str]:
        if not _is_list(self.blocks):
            yield f"{here} has the blocks {self.blocks!r}; give a list of them, as [Block('system'), Block('tail')]"
            return
        if not self.blocks:
            yield f"{here} has no block"
        for one in self.blocks:
            if not isinstance(one, Block):
                yield f"{here} has {one!r} among its blocks, which is none; write as Block('system')"
            elif not isinstance(one.name, str):
                yield f"{here} has a block called {one.name!r}; a name is a text, as in Block('system')"
            else:
                if not isinstance(one.parts, str) or one.parts not in set(Parts):
                    yield f"{here}: block {one.name!r} has the parts {one.parts!r}; there are {_PARTS}"
                if not isinstance(one.follow_ups_only, bool):
                    yield f"{here}: block {one.name!r} has follow_ups_only={one.follow_ups_only!r}; write True or False"

    def _score_faults(self, here: str) -> Iterator[str]:
        if not _is_list(self.selector):
            yield f"{here} selects from {self.selector!r}; give a list of scores, as [4, 8]"
            return
        for score in self.selector:
            if not _is_number(score):
                yield f"{here} selects from the score {score!r}, which is no number"

    def _share_faults(self) -> list[str]:
        if isinstance(self.production, Mapping) and any(map(_is_number, self.production.values())):
            missing = f"the kind of slice is missing in {self.production!r}; put it around the shares"
            return [f"{missing}, as {_SHARES}"]
        if not isinstance(self.production, Mapping) or len(self.production) > 1:
            return [f"give the shares of one kind of slice, as {_SHARES}"]
        found = []
        for kind, shares in self.production.items():
            values = list(shares.values()) if isinstance(shares, Mapping) else []
            if not values or not all(_is_number(share) and share >= 0 for share in values):
                found.append(f"{kind!r} has {shares!r}; give each slice a share, as {{'multi_turn': 0.23}}")
            elif not math.isclose(math.fsum(values), 1, abs_tol=1e-6):
                found.append(f"the shares of {kind!r} add up to {math.fsum(values):g} and not to 1")
        return found

    def material(self, find: Find, *, quick: bool) -> Material:
        """Reads and checks the cases.

        Raises:
            CorpusError: They cannot be used, or are not made of the blocks declared.
        """
        path = find(self.questions)
        read = cases_file.load(path, path.name)
        faults = [*self._misfits(read, path.name), *read.faults]
        if faults:
            raise CorpusError(faults)
        questions = _quick_look(read.questions) if quick else read.questions
        kept = {question.id for question in questions}
        documents = tuple(document for document in read.documents if document.id in kept)
        plan = Ablation(
            cases=read.name,
            sha256=read.sha256,
            threshold=float(self.threshold),
            blocks=tuple(
                BlockPlan(block.name, Parts(block.parts), block.follow_ups_only) for block in self.blocks
            ),
            arms=(),
            production={kind: dict(shares) for kind, shares in self.production.items()},
            words={name: words for name, words in read.words.items() if name in kept},
            scores={name: scores for name, scores in read.scores.items() if name in kept},
            quick=quick,
            support={name: units for name, units in read.support.items() if name in kept},
        )
        scored = {block for its in read.scores.values() for block in its}
        try:
            made = arms(plan.blocks, read.units, self.selector, quick=quick, scored=scored)
            plan = replace(plan, arms=made)
        except ValueError as error:
            raise CorpusError([Fault(path.name, "", str(error))]) from error
        return Material(
            documents,
            questions,
            conditions=tuple(map(Arm, plan.arms)),
            paths=(path,),
            hashed={"cases": path},
            together={question.id: read.name for question in questions},
            ablation=plan,
        )

    def _misfits(self, read: Cases, shown: str) -> list[Fault]:
        """What the study says of its cases and is not so."""
        found = []
        declared = tuple(block.name for block in self.blocks)
        if declared != read.blocks:
            sentence = (
                f"has the blocks {', '.join(read.blocks)}, and study {self.name!r} declares "
                f"{', '.join(declared)}; they must be the same, in the same order"
            )
            found.append(Fault(shown, 'key "blocks"', sentence))
        for kind in self.production:
            if not any(kind in question.slices for question in read.questions):
                known = ", ".join(sorted({name for one in read.questions for name in one.slices})) or "none"
                sentence = f"no case has a slice of the kind {kind!r}, whose shares the study gives; there are {known}"
                found.append(Fault(shown, "", sentence))
        return found

    def needs(self, material: Material, stage: int) -> Collection[str]:
        """The arms that the decisions of a stage are made from."""
        plan = material.ablation
        # Fillers and selectors decide nothing.
        return [arm.id for arm in plan.arms if arm.stage < stage and arm.kind in _DECIDING] if plan else ()

    def decide(self, material: Material, results: "Results", stage: int) -> tuple[Decision, ...]:
        """What each arm of a stage leaves out, or why it is not asked."""
        if material.ablation is None or not isinstance(results, AblationResults):
            raise TypeError("an ablation is decided from its own results")
        return stages.decide(material.ablation, results, stage)


def _is_list(value: object) -> bool:
    """Whether it holds one thing after another, as a text or a mapping is not meant to."""
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _quick_look(questions: Sequence[Question]) -> tuple[Question, ...]:
    """The first main case of each slice, kind by kind, in the file's order; the first one where there are none."""
    main = [question for question in questions if not question.stress]
    slices = dict.fromkeys(pair for question in main for pair in question.slices.items())
    kept = {
        question.id
        for kind, name in slices
        for question in [one for one in main if one.slices.get(kind) == name][:_QUICK_PER_SLICE]
    }
    return tuple(one for one in main if one.id in kept) if kept else tuple(main[:_QUICK_PER_SLICE])
