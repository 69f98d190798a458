"""tokenbench init, doctor and models: what a first run needs."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_tokenbench.cli.status import DIFFERENCE, FAULT
from pytest_tokenbench.settings import BACKENDS, DEFAULT_MODELS, settings_for

if TYPE_CHECKING:
    from pytest_tokenbench.cli.status import Commands


def add(commands: "Commands") -> None:
    """Adds the commands."""
    init = commands.add_parser("init", help="write a small working study to begin from")
    init.add_argument("folder", type=Path, metavar="DIR", help="a new or an empty folder")
    init.set_defaults(run_command=_init)
    doctor = commands.add_parser("doctor", help="tell whether this machine and the model are fit for a run")
    doctor.add_argument("--backend", choices=BACKENDS, default=BACKENDS[0], help=f"default: {BACKENDS[0]}")
    doctor.add_argument(
        "--model",
        metavar="NAME",
        help=f"default: {', '.join(f'{model} ({backend})' for backend, model in DEFAULT_MODELS.items())}",
    )
    doctor.add_argument("--host", action="append", default=[], metavar="URL", help="repeatable")
    doctor.add_argument(
        "--timeout", type=float, default=300.0, metavar="S", help="seconds an answer may take (default: 300)"
    )
    doctor.add_argument("--reports", type=Path, default=Path("reports"), metavar="DIR")
    doctor.set_defaults(run_command=_doctor)
    models = commands.add_parser("models", help="embedded models")
    group = models.add_subparsers(required=True, metavar="COMMAND")
    pull = group.add_parser("pull", help="download an embedded model ahead of its first run")
    pull.add_argument("name", metavar="NAME", help="name of the model, as smollm2-135m")
    pull.set_defaults(run_command=_pull_model)


def _init(options: argparse.Namespace) -> int:
    from pytest_tokenbench import starting  # noqa: PLC0415  # for this command alone

    try:
        written = starting.begin(options.folder)
    except starting.StartingError as error:
        print(error, file=sys.stderr)
        return FAULT
    print(f"wrote a study of two documents and six questions into {options.folder}:")
    for path in written:
        print(f"    {path}")
    print("run it (the first time, a model of 93 MB is downloaded):")
    print(f"    {starting.command(options.folder)}")
    return 0


def _doctor(options: argparse.Namespace) -> int:
    from pytest_tokenbench import doctor  # noqa: PLC0415  # for this command alone

    try:
        settings = settings_for(
            options.backend, options.model, options.host, options.reports, options.timeout
        )
    except ValueError as error:
        print(error, file=sys.stderr)
        return FAULT
    faults = 0
    for finding in doctor.examine(settings, _say):
        print(finding, flush=True)
        faults += finding.level is doctor.Level.FAULT
    return DIFFERENCE if faults else 0


def _pull_model(options: argparse.Namespace) -> int:
    from pytest_tokenbench.models import weights, widening  # noqa: PLC0415  # for this command alone

    print(widening.widened(weights.pull(options.name, say=_say), say=_say))
    return 0


def _say(line: str) -> None:
    print(line, file=sys.stderr)
