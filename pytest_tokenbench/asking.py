"""What a study's test function is given: one trial, to be asked."""

import pytest

from pytest_tokenbench.deciding import UndecidedError
from pytest_tokenbench.loading import Loaded
from pytest_tokenbench.records import Observation, Status
from pytest_tokenbench.scheduling import TrialKey
from pytest_tokenbench.worker import Worker


class Trial:
    """What the fixture `trial` is: one question under one condition, to be asked once."""

    def __init__(self, worker: Worker, loaded: Loaded, key: TrialKey) -> None:
        self._worker = worker
        self._loaded = loaded
        self.key = key
        self.question = loaded.questions[key.question]
        self.document = loaded.documents[self.question.document]
        self.observation: Observation | None = None
        self.is_reused = False

    def ask(self) -> Observation:
        """Asks the model and returns what was measured.

        A trial whose prompt does not fit the window, or whose preparation failed, skips the test; trouble with the
        model fails it. Each is recorded. A trial that an unfinished run has already is taken from there.
        """
        if self.observation is None:
            known = self._worker.finished(self._loaded.study.name).get(self.key)
            self.is_reused = known is not None
            try:
                self.observation = known or self._worker.ask(self._loaded, self.key)
            except UndecidedError as reason:
                pytest.skip(f"not asked: {reason}")
        seen = self.observation
        if seen.status is Status.ERROR:
            pytest.fail(f"{seen.error_kind}: {seen.error_message}", pytrace=False)
        if seen.status is not Status.OK:
            pytest.skip(f"{seen.status.replace('_', ' ')}: {seen.error_message}")
        return seen
