"""The `tokenbench` command: one file a group of subcommands, each with its options beside what it does.

What only some commands need, numpy and pytest above all, is imported in those.
"""

import argparse
import sys
from collections.abc import Sequence

from pytest_tokenbench.cli import corpus, runs, setting_up, shadow
from pytest_tokenbench.cli.status import FAULT
from pytest_tokenbench.corpus.faults import CorpusError
from pytest_tokenbench.models.base import ModelError
from pytest_tokenbench.run_folder import RunError


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
        prog="tokenbench", description="Beside the pytest plugin: corpora, runs, and what they need."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    setting_up.add(commands)
    corpus.add(commands)
    runs.add(commands)
    shadow.add(commands)
    return parser
