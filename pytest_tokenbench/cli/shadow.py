"""tokenbench shadow: what a run proposes to leave out, tried on real requests."""

import argparse
import contextlib
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_tokenbench.cli.status import FAULT
from pytest_tokenbench.settings import BACKENDS, TIMEOUT_S, settings_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_tokenbench.ablation.shadow import Shadow
    from pytest_tokenbench.cli.status import Commands
    from pytest_tokenbench.models.patient import Patient
    from pytest_tokenbench.run_folder import RunRecord
    from pytest_tokenbench.settings import Settings

_STEPS = 10


def add(commands: "Commands") -> None:
    """Adds the command."""
    shadow = commands.add_parser(
        "shadow", help="ask real requests with full and reduced prompts, and count the answers that change"
    )
    shadow.add_argument(
        "run", type=Path, metavar="RUN", help="folder of a run over blocks: reports/STUDY/TIME-MODEL"
    )
    shadow.add_argument(
        "requests",
        type=Path,
        metavar="REQUESTS",
        help='a JSON line each: {"id": ..., "question": ..., "slices": {...}, and by block its texts: "BLOCK": [...]}',
    )
    shadow.add_argument("--backend", choices=BACKENDS, help="default: the run's")
    shadow.add_argument("--model", metavar="NAME", help="default: the run's")
    shadow.add_argument(
        "--host", action="append", default=[], metavar="URL", help="default: the backend's; repeatable"
    )
    shadow.add_argument(
        "--into",
        type=Path,
        metavar="DIR",
        help="a new folder, or that of a comparison to go on with (default: RUN/shadow-TIME)",
    )
    shadow.add_argument(
        "--timeout",
        type=float,
        default=TIMEOUT_S,
        metavar="S",
        help=f"seconds that a prompt may take, all attempts together (default: {TIMEOUT_S:.0f})",
    )
    shadow.set_defaults(run_command=_shadow)


def _shadow(options: argparse.Namespace) -> int:
    from pytest_tokenbench import run_folder  # noqa: PLC0415  # for this command alone
    from pytest_tokenbench.ablation import requests, setup, shadow  # noqa: PLC0415
    from pytest_tokenbench.models import open_model  # noqa: PLC0415

    cut = setup.cut_of(run_folder.read(options.run), options.run)
    asked = requests.load(options.requests, cut.blocks)
    try:
        settings = _settings(options, cut.record)
    except ValueError as error:
        print(error, file=sys.stderr)
        return FAULT
    folder = options.into or shadow.new_folder(options.run)
    with contextlib.closing(open_model(settings, _say)) as model:
        kept = shadow.Shadow(folder, cut, asked, lambda: shadow.the_model(model))
        with contextlib.closing(kept):
            stopped = _ask(kept, model)
            _report(kept, len(asked.items))
    print(f"wrote {', '.join(str(folder / name) for name in (shadow.RESULTS, shadow.REPORT))}", flush=True)
    if stopped is not None:
        print(f"{stopped}; --into {folder} goes on", file=sys.stderr)
    return 0 if stopped is None else FAULT


def _settings(options: argparse.Namespace, record: "RunRecord") -> "Settings":
    """How to ask as the run did. Its host is not taken over: real requests go only where the user sends them.

    Raises:
        ValueError: What was given does not go together; the message is a sentence.
    """
    from pytest_tokenbench.run_folder import printable  # noqa: PLC0415
    from pytest_tokenbench.scheduling import Order  # noqa: PLC0415

    backend = options.backend or record.backend
    if backend not in BACKENDS:
        raise ValueError(
            f"{options.run}: has the unknown backend {printable(backend)}; name one with --backend"
        )
    if not options.timeout > 0:
        raise ValueError(f"--timeout: {options.timeout:g} is no number of seconds above 0")
    model = options.model or record.model.name
    made = settings_for(backend, model, options.host, options.run, options.timeout)
    shared = record.order == Order.SHARED
    return replace(made, quick=record.quick, order=Order.SHARED if shared else Order.COLD)


def _ask(kept: "Shadow", model: "Patient") -> str | None:
    """Asks what is left; why it ended before that, None if it did not."""
    from pytest_tokenbench.ablation.shadow import StoppedError  # noqa: PLC0415  # as above

    try:
        for line in _progress(kept, model):
            _say(line)
    except StoppedError as error:
        return str(error)
    except KeyboardInterrupt:
        return "interrupted"
    return None


def _progress(kept: "Shadow", model: "Patient") -> "Iterator[str]":
    """A line after each tenth of what is left to ask."""
    from pytest_tokenbench.ablation.changes import has_changed  # noqa: PLC0415  # as above

    total = len(kept.left)
    changed = 0
    for number, pair in enumerate(kept.ask(model), 1):
        changed += has_changed(pair)
        if number == total or number % -(-total // _STEPS) == 0:
            yield f"asked {number:,} of {total:,} requests both ways; {changed:,} answers changed"


def _report(kept: "Shadow", requests: int) -> None:
    from pytest_tokenbench.ablation import changes  # noqa: PLC0415  # as above
    from pytest_tokenbench.reporting import shadow as shown  # noqa: PLC0415

    made = changes.build(kept.setup, kept.pairs, requests)
    kept.write(shown.as_text(made), shown.markdown(made))
    for line, _ in shown.summary(made, shutil.get_terminal_size().columns):
        print(line)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
