"""The `tokenbench` command."""

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from pytest_tokenbench.corpus import questions, verify
from pytest_tokenbench.corpus.faults import CorpusError
from pytest_tokenbench.corpus.questions import Sampling
from pytest_tokenbench.models.base import ModelError
from pytest_tokenbench.run_folder import RunError

FAULT = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command. Returns the exit status: 0 done, 1 a difference, 2 faulty input."""
    options = _parser().parse_args(arguments)
    try:
        status: int = options.run_command(options)
    except (CorpusError, RunError, ModelError) as error:
        print(error, file=sys.stderr)
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
    # These import pytest and numpy, which the other commands can do without.
    from pytest_tokenbench import controller, run_folder  # noqa: PLC0415
    from pytest_tokenbench.reporting import document, terminal  # noqa: PLC0415

    folder: Path = options.run
    try:
        run = run_folder.read(folder)
        made = document.build(run)
        controller.write_reports(folder, made, run.record)
    except OSError as error:
        print(f"{error.filename or folder}: {error.strerror}", file=sys.stderr)
        return FAULT
    for line, _ in terminal.summary(made, shutil.get_terminal_size().columns):
        print(line)
    print(f"rewrote {folder / run_folder.RESULTS} and {folder / run_folder.REPORT}")
    return 0


def _pull_model(options: argparse.Namespace) -> int:
    from pytest_tokenbench.models import weights, widening  # noqa: PLC0415  # for this command alone

    def say(line: str) -> None:
        print(line, file=sys.stderr)

    print(widening.widened(weights.pull(options.name, say=say), say=say))
    return 0


if __name__ == "__main__":
    sys.exit(main())
