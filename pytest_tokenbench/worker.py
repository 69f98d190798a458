"""The side of a session that runs trials: one process, one model, opened when the first trial needs it."""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from pytest_tokenbench import preparation, resume, run_folder, trial
from pytest_tokenbench.conditions.base import Staged
from pytest_tokenbench.deciding import Board
from pytest_tokenbench.loading import Loaded, load
from pytest_tokenbench.models import open_model
from pytest_tokenbench.models.base import ModelError, UnpreparedError
from pytest_tokenbench.models.patient import Patient
from pytest_tokenbench.preparation import Recipe, Store
from pytest_tokenbench.records import Document, ModelInfo, Observation, Preparation
from pytest_tokenbench.run_folder import Run
from pytest_tokenbench.scheduling import TrialKey
from pytest_tokenbench.settings import Settings
from pytest_tokenbench.study import Study

NONCE_BYTES = 4


class Worker:
    """Loads studies and runs their trials in this process.

    `earlier` has, by study, the run folder whose finished trials are taken over instead of being asked; on the `board`
    stands what was decided.
    """

    def __init__(
        self,
        settings: Settings,
        root: Path,
        name: str,
        say: Callable[[str], None],
        earlier: Mapping[str, Path],
        *,
        board: Board,
    ) -> None:
        self.settings = settings
        self.board = board
        self.name = name
        self._root = root
        self._say = say
        self._earlier = earlier
        self._loaded: dict[int, Loaded] = {}
        self._prepared: dict[str, Preparation] = {}
        self._earlier_runs: dict[str, _TakenOver] = {}

    def load(self, study: Study, file: Path) -> Loaded:
        """The study's material, read once.

        Raises:
            StudyError: See `loading.load`.
        """
        if id(study) not in self._loaded:
            self._loaded[id(study)] = load(study, file, self._root, self.settings)
        return self._loaded[id(study)]

    @cached_property
    def model(self) -> Patient:
        """The model, opened on first use."""
        return open_model(self.settings, self._say)

    @cached_property
    def info(self) -> ModelInfo:
        """What the model says of itself.

        Raises:
            ModelError: The model cannot be had.
        """
        return self.model.describe()

    def finished(self, study: str) -> Mapping[TrialKey, Observation]:
        """The trials of a study that need not be asked again.

        Raises:
            RunError: The folder of the run that is gone on with cannot be read.
        """
        return self._taken_over(study).trials

    def take_over(self, study: str, run: Run) -> Mapping[TrialKey, Observation]:
        """As `finished`, from a run that has been read already."""
        self._earlier_runs[study] = _TakenOver.of(run)
        return self.finished(study)

    def _taken_over(self, study: str) -> "_TakenOver":
        if study not in self._earlier_runs:
            folder = self._earlier.get(study)
            self._earlier_runs[study] = (
                _TakenOver() if folder is None else _TakenOver.of(run_folder.read(folder))
            )
        return self._earlier_runs[study]

    def ask(self, loaded: Loaded, key: TrialKey) -> Observation:
        """Runs one trial.

        Raises:
            UndecidedError: Its arm waits for trials that this session does not bring.
        """
        question = loaded.questions[key.question]
        case = trial.Case(
            study=loaded.study.name,
            question=question,
            document=loaded.documents[question.document],
            condition=loaded.conditions[key.condition],
            reader=self.settings.model,
            host=self.model.host,
            worker=self.name,
            prompt=loaded.study.prompt,
            repeat=key.repeat,
            nonce=secrets.token_hex(NONCE_BYTES) if self.settings.nonce else None,
        )
        if isinstance(case.condition, Staged) and case.condition.stage:
            arm = case.condition.decided(self.board.decision(case.study, case.condition.id))
            reason = arm.needless(question.id)
            if reason is not None:
                return trial.needless(case, reason)
            case = replace(case, condition=arm)
        recipe = case.condition.recipe()
        try:
            self.info  # noqa: B018  # a model that cannot be had is told before its preparations are looked for
            if recipe is not None:
                case = replace(case, preparation=self._preparation(case.study, recipe, case.document))
        except ModelError as error:
            was_asked = not isinstance(error, UnpreparedError)
            return trial.failed(case, error, self.model.attempts if was_asked else ())
        return trial.observe(case, self.model)

    def preparation_key(self, recipe: Recipe, document: Document) -> str:
        """The key of a document's preparation with this session's model and options.

        Raises:
            ModelError: The model cannot be had.
        """
        return preparation.key(recipe, document, self.info, self.settings.preparation_tokens)

    def _preparation(self, study: str, recipe: Recipe, document: Document) -> Preparation:
        key = self.preparation_key(recipe, document)
        if key not in self._prepared:
            found = self._taken_over(study).preparations.get(key) or Store(self.settings.preparations).get(
                key
            )
            if found is None:
                raise UnpreparedError(f"the {recipe.name} of {document.id} was not built before the trials")
            self._prepared[key] = found
        return self._prepared[key]

    def close(self) -> None:
        """Gives the model back, if it was opened."""
        if "model" in self.__dict__:
            self.model.close()
            del self.__dict__["model"]


@dataclass(frozen=True, slots=True)
class _TakenOver:
    """What an earlier session of a run came to.

    Its preparations are used from there: the store is no place for what a run folder of somebody else may hold.
    """

    trials: Mapping[TrialKey, Observation] = field(default_factory=dict)
    preparations: Mapping[str, Preparation] = field(default_factory=dict)

    @classmethod
    def of(cls, run: Run) -> "_TakenOver":
        return cls(
            resume.finished(run),
            {made.key: made for made in run.preparations if resume.is_final(made)},
        )
