"""tokenbench report, merge and compare: what came out of runs."""

import argparse
import shutil
import subprocess
import sys
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_tokenbench.cli.status import DIFFERENCE, FAULT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_tokenbench.cli.status import Commands
    from pytest_tokenbench.comparison import Json
    from pytest_tokenbench.gates import Gate
    from pytest_tokenbench.merging import Joined
    from pytest_tokenbench.run_folder import Run

_FOLDER = "reports/STUDY/TIME-MODEL"


def add(commands: "Commands") -> None:
    """Adds the commands."""
    report = commands.add_parser(
        "report", help="recompute what came out of a run from its ledger, and show it"
    )
    report.add_argument("run", type=Path, metavar="RUN", help=f"folder of the run: {_FOLDER}")
    report.add_argument("--open", action="store_true", help="show report.html in the browser")
    report.set_defaults(run_command=_report)
    claim = commands.add_parser(
        "claim", help="print the claim records of a run over blocks, with all their caveats, as JSON"
    )
    claim.add_argument("run", type=Path, metavar="RUN", help=f"folder of the run: {_FOLDER}")
    claim.set_defaults(run_command=_claim)
    merge = commands.add_parser("merge", help="join the shards of a run, or what else was run in parts")
    merge.add_argument("runs", type=Path, nargs="+", metavar="RUN", help=f"folders of the runs: {_FOLDER}")
    merge.add_argument(
        "--into",
        type=Path,
        default=Path("reports"),
        metavar="DIR",
        help="reports folder in which the joined run gets a folder of its own (default: reports)",
    )
    merge.add_argument(
        "--study",
        type=Path,
        metavar="FILE",
        help="study file that judges the joined run (default: the one that the runs tell of, unless it stands beside them)",
    )
    merge.set_defaults(run_command=_merge)
    compare = commands.add_parser("compare", help="show what changed from one run to another")
    compare.add_argument("first", type=Path, metavar="RUN_A", help=f"folder of the first run: {_FOLDER}")
    compare.add_argument("second", type=Path, metavar="RUN_B", help="folder of the second")
    form = compare.add_mutually_exclusive_group()
    form.add_argument("--markdown", action="store_true", help="as Markdown, with everything")
    form.add_argument("--json", action="store_true", help="as JSON")
    compare.add_argument(
        "--html", type=Path, metavar="FILE", help="also write a page with everything into FILE"
    )
    compare.add_argument(
        "--fail",
        action="append",
        default=[],
        metavar="GATE",
        help="exit status 1 where the second run lost more, beyond noise: accuracy:D25:3 is 3 points (repeatable)",
    )
    compare.set_defaults(run_command=_compare)


def _report(options: argparse.Namespace) -> int:
    from pytest_tokenbench import run_folder  # noqa: PLC0415  # as in `_show`
    from pytest_tokenbench.ablation import claim  # noqa: PLC0415
    from pytest_tokenbench.reporting import files  # noqa: PLC0415

    _show(options.run, run_folder.read_measured(options.run))
    written = [options.run / name for name in (run_folder.RESULTS, run_folder.REPORT, files.PAGE)]
    if (options.run / claim.FILE).is_file():
        written.insert(2, options.run / claim.FILE)
    print(f"rewrote {', '.join(map(str, written[:-1]))} and {written[-1]}")
    if options.open:
        webbrowser.open(written[-1].absolute().as_uri())
    return 0


def _show(folder: Path, run: "Run") -> None:
    """Writes the reports of a run and prints its tables."""
    # These import pytest and numpy, which the other commands can do without.
    from pytest_tokenbench.reporting import document, files, terminal  # noqa: PLC0415

    made = document.build(run)
    files.write_reports(folder, made, run.record)
    files.write_page(folder, made, run)
    for line, _ in terminal.summary(made, shutil.get_terminal_size().columns):
        print(line)


def _claim(options: argparse.Namespace) -> int:
    from pytest_tokenbench import run_folder  # noqa: PLC0415  # as in `_show`
    from pytest_tokenbench.ablation import claim  # noqa: PLC0415
    from pytest_tokenbench.reporting import document  # noqa: PLC0415

    run = run_folder.read_measured(options.run)
    made = document.build(run)
    if "ablation" not in made:
        raise run_folder.RunError(f"{options.run}: is no run over blocks, and only those make claims")
    found = claim.claims(made["ablation"], run.record)
    refused = run_folder.printable("; ".join(claim.refusals(made["ablation"], run.record)))
    if not found:
        raise run_folder.RunError(f"{options.run}: supports no claim: {refused}")
    print(claim.as_text(found), end="")
    if refused:
        print(f"{options.run}: supports no other claim: {refused}", file=sys.stderr)
    return 0


def _merge(options: argparse.Namespace) -> int:
    from pytest_tokenbench import contexts, merging, run_folder  # noqa: PLC0415  # for this command alone

    if len(options.runs) == 1:
        raise merging.MergeError(f"{options.runs[0]} is one run; name at least two")
    joined = merging.join({str(folder): run_folder.read(folder) for folder in options.runs})
    record = joined.run.record
    if options.study is not None:
        file: Path | None = merging.named_study_file(record, options.study)
    else:
        file = merging.study_file(record, Path.cwd(), [*options.runs, options.into])
    folder = merging.write(options.into, joined.run)
    contexts.write(folder, {name: text for one in options.runs for name, text in contexts.read(one).items()})
    print(
        f"merged {len(options.runs)} runs, {len(joined.run.observations):,} trials, into {folder}", flush=True
    )
    if file is not None and not joined.missing:
        pytest = [sys.executable, "-m", "pytest", *merging.judging(folder, joined, file)]
        status = subprocess.run(pytest, check=False).returncode  # noqa: S603  # this Python, without a shell
        _say_what_waits(folder, joined)
        return status if status in {0, 1} else FAULT
    _show(folder, joined.run)
    _say_what_waits(folder, joined)
    resume = f"pytest --tokenbench-resume={folder}, with the options of these runs,"
    if joined.missing:
        print(
            f"no verdicts, missing: {', '.join(map(run_folder.printable, joined.missing))}; {resume} asks them and gives the verdicts",
            file=sys.stderr,
        )
        return DIFFERENCE
    name = run_folder.printable(record.study_file)
    reason = f"{name} does not stand in {Path.cwd()} or above it as it was in these runs, and apart from them"
    print(f"no verdicts: {reason}; name it with --study, or {resume} gives them", file=sys.stderr)
    return FAULT


def _say_what_waits(folder: Path, joined: "Joined") -> None:
    """Tells how later arms are asked: a shard cannot decide them, and the whole has not asked them yet."""
    from pytest_tokenbench.run_folder import printable  # noqa: PLC0415  # as above

    if joined.waiting:
        count = len(joined.waiting)
        resume = f"pytest {printable(joined.run.record.study_file)} --tokenbench-resume={folder}"
        print(
            f"{resume}, with the options of these runs, goes on with the {count:,} arms that wait for these trials"
        )


def _compare(options: argparse.Namespace) -> int:
    from pytest_tokenbench import comparison, run_folder  # noqa: PLC0415  # for this command alone
    from pytest_tokenbench.gates import Gate  # noqa: PLC0415
    from pytest_tokenbench.reporting import comparison as shown  # noqa: PLC0415

    try:
        gates = [Gate.parse(given) for given in options.fail]
    except ValueError as error:
        print(f"--fail: {error}", file=sys.stderr)
        return FAULT
    folders = options.first, options.second
    first, second = map(run_folder.read_measured, folders)
    made = comparison.build(first, second, (str(options.first), str(options.second)))
    if options.json:
        print(shown.as_text(made), end="")
    elif options.markdown:
        print(shown.markdown(made, gates), end="")
    else:
        for line, _ in shown.summary(made, shutil.get_terminal_size().columns, gates):
            print(line)
    failures = shown.failures(made, gates)
    if failures:
        sys.stdout.flush()
        print(*failures, sep="\n", file=sys.stderr)
    if options.html is not None:
        _write_page(options.html, made, gates)
        if not (options.json or options.markdown):
            print(f"wrote {options.html}")
    return DIFFERENCE if failures else 0


def _write_page(file: Path, made: "Json", gates: "Sequence[Gate]") -> None:
    """Writes the page of a comparison. What has the file's name must be a file, as /dev/stdout is not."""
    from pytest_tokenbench.reporting import files  # noqa: PLC0415  # as above
    from pytest_tokenbench.run_folder import RunError  # noqa: PLC0415

    if file.is_symlink() or (file.exists() and not file.is_file()):
        raise RunError(f"{file}: cannot be written (it is no regular file)")
    try:
        files.write_comparison(file, made, gates)
    except OSError as error:
        raise RunError(f"{file}: cannot be written ({error.strerror or error})") from error
