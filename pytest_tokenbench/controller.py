"""The side of a session that keeps the ledger: checks, preflight, preparations, results, verdicts."""

import datetime as dt
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from pytest_tokenbench import machine, preparation, prices, prompting, registration, run_folder, trial
from pytest_tokenbench.corpus import files, manifest, sums
from pytest_tokenbench.hypotheses import Judgement, judge
from pytest_tokenbench.ledger import Ledger
from pytest_tokenbench.loading import Loaded
from pytest_tokenbench.models.base import ModelError, UnreachableError
from pytest_tokenbench.preparation import Recipe, Store
from pytest_tokenbench.prices import Price, PriceError
from pytest_tokenbench.records import Observation, Preparation, Ruling, Verdict
from pytest_tokenbench.reporting import document, markdown
from pytest_tokenbench.run_folder import Run, RunRecord
from pytest_tokenbench.scheduling import TrialKey
from pytest_tokenbench.settings import Settings
from pytest_tokenbench.worker import Worker

UNFINISHED = "the run did not come to its end"


class StartError(Exception):
    """The session cannot begin; the message tells the user why and what to do."""


@dataclass(slots=True)
class ActiveRun:
    """One study's run while it goes on."""

    loaded: Loaded
    selected: frozenset[TrialKey]
    folder: Path
    record: RunRecord
    ledger: Ledger
    observations: dict[tuple[str, str, int], Observation] = field(default_factory=dict)
    preparations: list[Preparation] = field(default_factory=list)

    def as_run(self) -> Run:
        """The run as it would be read back from its folder."""
        return Run(self.record, tuple(self.observations.values()), tuple(self.preparations))


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came out of one study's run: the results document and the judgements behind it."""

    run: ActiveRun
    judgements: tuple[Judgement, ...]
    document: document.Json


class Controller:
    """Starts the runs of a session, receives their observations and closes them."""

    def __init__(self, settings: Settings, root: Path, worker: Worker, say: Callable[[str], None]) -> None:
        self.settings = settings
        self._root = root
        self._worker = worker
        self._say = say
        self._runs: dict[str, ActiveRun] = {}
        self._prices: tuple[Price, ...] = ()

    def start(self, selections: Iterable[tuple[Loaded, frozenset[TrialKey]]]) -> list[ActiveRun]:
        """Preflight, run folders and preparations for the selected trials. Returns the runs that were begun.

        Raises:
            StartError: The model or the prices cannot be had, or the reports folder not be written; nothing has been
                run then.
        """
        chosen = list(selections)
        names = [loaded.study.name for loaded, _ in chosen]
        for name in {name for name in names if names.count(name) > 1}:
            raise StartError(f"several studies of this session are named {name!r}; give each its own name")
        try:
            if self.settings.prices is not None:
                self._prices = prices.read(self.settings.prices, dt.datetime.now(dt.UTC))
            self._worker.info  # noqa: B018  # asks the server now, before anything is written
        except UnreachableError as error:
            raise StartError(f"{error}; --tokenbench-backend embedded needs no server") from error
        except (PriceError, ModelError) as error:
            raise StartError(str(error)) from error
        for loaded, selected in chosen:
            try:
                self._open(loaded, selected)
                self._prepare(self._runs[loaded.study.name])
            except OSError as error:
                raise StartError(
                    f"{error.filename or self.settings.reports}: cannot be written ({error.strerror})"
                ) from error
        return list(self._runs.values())

    def _open(self, loaded: Loaded, selected: frozenset[TrialKey]) -> None:
        record = self._record(loaded, len(selected))
        folder = run_folder.create(self.settings.reports, record)
        self._runs[loaded.study.name] = ActiveRun(
            loaded=loaded,
            selected=selected,
            folder=folder,
            record=record,
            ledger=Ledger(folder / run_folder.OBSERVATIONS),
        )

    def _record(self, loaded: Loaded, scheduled: int) -> RunRecord:
        registered = registration.check(
            [loaded.questions_file, loaded.corpus, loaded.file], self._root, loaded.faults
        )
        recipes = {condition.id: condition.recipe() for condition in loaded.study.conditions}
        prompts = {
            trial.PROMPT,
            *(prompt for recipe in recipes.values() if recipe for prompt in recipe.prompts),
        }
        return RunRecord(
            format=run_folder.FORMAT,
            study=loaded.study.name,
            study_file=_shown(loaded.file, self._root),
            started=_now(),
            quick=self.settings.quick,
            order=str(self.settings.order),
            backend=self.settings.backend,
            baseline=loaded.study.baseline,
            conditions=tuple(condition.id for condition in loaded.study.conditions),
            questions=tuple(loaded.questions.values()),
            scheduled=scheduled,
            model=self._worker.info,
            hashes=self._hashes(loaded)
            | {f"prompt {name}": prompting.sha256(name) for name in sorted(prompts)},
            registration=registered.sentence,
            registered=tuple(
                {"path": one.path, "commit": one.commit, "committed": one.committed, "clean": one.clean}
                for one in registered.paths
            ),
            commit=registered.head,
            machine=machine.describe(),
            recipes={name: recipe.name for name, recipe in recipes.items() if recipe},
            recipe_options={name: recipe.options() for name, recipe in recipes.items() if recipe},
            prices=self._prices,
        )

    @staticmethod
    def _hashes(loaded: Loaded) -> dict[str, str]:
        paths = {
            "questions": loaded.questions_file,
            "manifest": loaded.corpus / manifest.FILE,
            "sums": loaded.corpus / sums.FILE,
            "study": loaded.file,
        }
        return {name: files.sha256(path.read_bytes()) for name, path in paths.items() if path.is_file()}

    def _prepare(self, run: ActiveRun) -> None:
        """Builds or fetches what the selected trials need, each once, and records it with its cost."""
        ledger = Ledger(run.folder / run_folder.PREPARATIONS)
        needed = self._needed(run)
        if needed:
            self._say(f"{len(needed)} preparations (summaries, croutons) come before the trials")
        for number, (recipe, document_id) in enumerate(needed, 1):
            made, reused = self._preparation(run, recipe, document_id)
            run.preparations.append(made)
            ledger.append(made)
            if not reused:
                cost = "" if made.output_tokens is None else f", {made.output_tokens:,} tokens written"
                state = f"failed: {made.failure}" if made.failure else f"{made.seconds:.1f} s{cost}"
                self._say(f"prepared {number}/{len(needed)}, {recipe.name} of {document_id}: {state}")
        ledger.close()

    def _needed(self, run: ActiveRun) -> list[tuple[Recipe, str]]:
        loaded = run.loaded
        selected = (key for key in loaded.trials if key in run.selected)
        # A condition and a document come in many trials, and a key takes hashing.
        pairs = dict.fromkeys((key.condition, loaded.questions[key.question].document) for key in selected)
        found: dict[tuple[str, str], Recipe] = {}
        for condition, document_id in pairs:
            recipe = loaded.conditions[condition].recipe()
            if recipe is not None:
                key = self._worker.preparation_key(recipe, loaded.documents[document_id])
                found.setdefault((key, document_id), recipe)
        return [(recipe, document_id) for (_, document_id), recipe in found.items()]

    def _preparation(self, run: ActiveRun, recipe: Recipe, document_id: str) -> tuple[Preparation, bool]:
        store = Store(self.settings.preparations)
        source = run.loaded.documents[document_id]
        found = store.get(self._worker.preparation_key(recipe, source))
        if found is not None and found.failure is None:
            # Built from the same text, perhaps for a document of another name.
            return replace(found, document=document_id), True
        made = preparation.build(
            recipe, source, self._worker.model, self._worker.info, self.settings.preparation_tokens
        )
        store.put(made)
        return made, False

    def receive(self, observation: Observation) -> None:
        """Puts one observation on disk.

        Raises:
            OSError: It cannot be written.
        """
        run = self._runs[observation.study]
        run.ledger.append(observation)
        run.observations[observation.key] = observation

    def finish(self, *, interrupted: bool) -> list[Outcome]:
        """Judges the hypotheses and writes what came out. Called once, when the last trial is in.

        A run that was interrupted is not judged: the trials that it lacks would be those that came late in its order.
        """
        outcomes = [self._close(run, interrupted=interrupted) for run in self._runs.values()]
        self._runs.clear()
        return outcomes

    def _close(self, run: ActiveRun, *, interrupted: bool) -> Outcome:
        run.ledger.close()
        results = document.results_of(run.as_run())
        judgements = tuple(
            Judgement(Verdict(hypothesis.name, hypothesis.statement, Ruling.UNAVAILABLE, UNFINISHED))
            if interrupted
            else judge(hypothesis, results)
            for hypothesis in run.loaded.study.hypotheses
        )
        run.record = replace(
            run.record,
            finished=None if interrupted else _now(),
            verdicts=tuple(judgement.verdict for judgement in judgements),
        )
        run_folder.write_record(run.folder, run.record)
        made = document.build(run.as_run())
        write_reports(run.folder, made, run.record)
        return Outcome(run, judgements, made)


def write_reports(folder: Path, made: document.Json, record: RunRecord) -> None:
    """Writes results.json and report.md into a run folder."""
    run_folder.write(folder / run_folder.RESULTS, document.as_text(made))
    run_folder.write(folder / run_folder.REPORT, markdown.render(made, record))


def _shown(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.name


def _now() -> str:
    return dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
