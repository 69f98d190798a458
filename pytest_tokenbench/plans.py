"""The plans of a session: gathers what they are made from, and prints them."""

import contextlib
import datetime as dt
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import pytest

from pytest_tokenbench import pace, planning, prices
from pytest_tokenbench.loading import Loaded
from pytest_tokenbench.models import counting
from pytest_tokenbench.models.base import ModelError
from pytest_tokenbench.reporting import plan as shown
from pytest_tokenbench.run_folder import RunError
from pytest_tokenbench.scheduling import TrialKey
from pytest_tokenbench.settings import Settings
from pytest_tokenbench.worker import Worker


def write(
    config: pytest.Config,
    settings: Settings,
    worker: Worker,
    selections: Sequence[tuple[Loaded, Collection[TrialKey]]],
) -> None:
    """Prints the plan of each study; asks no model, and writes nothing else.

    Raises:
        pytest.UsageError: The prices cannot be read, or the run that is gone on with not be.
    """
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    try:
        known = () if settings.prices is None else prices.read(settings.prices, dt.datetime.now(dt.UTC))
        with _tokenizer(settings, reporter) as tokenize:
            plans = [
                planning.build(
                    loaded,
                    selected,
                    settings,
                    done=worker.finished(loaded.study.name).keys(),
                    last=pace.last_run(settings, loaded.study.name, _host(worker)),
                    tokenize=tokenize,
                    prices=known,
                )
                for loaded, selected in selections
            ]
    except (prices.PriceError, RunError) as error:
        raise pytest.UsageError(str(error)) from error
    if reporter is None:
        return
    width = reporter._tw.fullwidth  # noqa: SLF001  # pytest has no public name for the terminal's width
    manner = [f"{settings.order} order"]
    manner += [f"{settings.repeats} repeats"] if settings.repeats > 1 else []
    manner += [f"shard {settings.shard}"] if settings.shard else []
    for plan in plans:
        reporter.section("tokenbench plan QUICK" if settings.quick else "tokenbench plan")
        lines = shown.lines(
            plan,
            model=f"{settings.model} ({settings.backend})",
            manner=", ".join(manner),
            root=config.rootpath,
            width=width,
        )
        for line, markup in lines:
            reporter.write_line(line, **markup)


@contextlib.contextmanager
def _tokenizer(settings: Settings, reporter: Any) -> Iterator[counting.Tokenize | None]:
    file = counting.file_at_hand(settings.model) if settings.backend == "embedded" else None
    if file is None:
        yield None
        return
    if reporter is not None:
        reporter.write_line(f"tokenbench: counting tokens with the tokenizer of {file.name}")
    with counting.tokenizer(file) as tokenize:
        yield tokenize


def _host(worker: Worker) -> str | None:
    """Where the trials would be asked, None where the address makes no sense: the run itself tells that."""
    try:
        return worker.model.host
    except ModelError:
        return None
