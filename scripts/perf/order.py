"""A study on the embedded model in cold and in shared order: tokens prefilled and time, side by side.

Run: python scripts/perf/order.py [--full] [--conditions A,B2,B4] [-k EXPRESSION]
     python scripts/perf/order.py RUN_FOLDER...      (runs of the shipped protocol that there are)

It is a quick look at the shipped corpus, or with `--full` all of it; `-k` is pytest's and selects trials.

Prefilled is what the run says: input less cached tokens. It stands beside the tokens of the distinct prefixes of the
prompts, which a cache of any size would have to read once, and beside what a cache of the last prompt alone would
read in that order. Both are counted from the prompts: each is made anew from its question and document, checked
against its recorded hash, and tokenized by an engine that has read none of them. Time is that from the first trial's
start to the last one's end, so without preparations.
"""

import argparse
import hashlib
import json
import math
import runpy
import shutil
import tempfile
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Any

import xllamacpp
from workbench import REPOSITORY, only_run, span, timed_pytest

from pytest_tokenbench import prompting, run_folder
from pytest_tokenbench.corpus import verify
from pytest_tokenbench.models import weights
from pytest_tokenbench.quick import quick_look
from pytest_tokenbench.records import Status
from pytest_tokenbench.run_folder import Run

Tokens = Sequence[int]
STUDY = REPOSITORY / "benchmarks" / "test_protocol.py"
CONDITIONS = {one.id: one for one in runpy.run_path(str(STUDY))["study"].conditions}


@contextmanager
def tokenizer() -> Iterator[Callable[[str], Tokens]]:
    """Gives the token ids of a prompt in the default model's chat template."""
    chosen = xllamacpp.CommonParams()
    chosen.verbosity = -1
    chosen.model.path = str(weights.locate(weights.DEFAULT))
    chosen.n_ctx, chosen.n_parallel = 256, 1
    chosen.hostnames, chosen.port = ["127.0.0.1"], 0
    chosen.ui = False
    server = xllamacpp.Server(chosen)

    def ask(path: str, body: dict[str, Any]) -> Any:
        request = urllib.request.Request(
            server.listening_address + path, json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request) as reply:
            return json.load(reply)

    def tokenize(prompt: str) -> Tokens:
        text = ask("/apply-template", {"messages": [{"role": "user", "content": prompt}]})["prompt"]
        told = ask("/tokenize", {"content": text, "add_special": True, "parse_special": True})
        return tuple(told["tokens"])

    yield tokenize


def prompts_of(run: Run) -> Iterable[str]:
    """The prompts of a run of the shipped study in the order they were asked, made anew."""
    material = verify.read(REPOSITORY / "corpus", REPOSITORY / "questions.json")
    documents, questions = material.manifest.documents, material.questions.items
    if run.record.quick:
        documents, questions = quick_look(documents, questions)
    texts, asked = {one.id: one for one in documents}, {one.id: one for one in questions}
    prepared = {(one.key, one.document): one for one in run.preparations}
    for seen in run.observations:
        question, made = asked[seen.question], prepared.get((seen.preparation or "", seen.document))
        context = CONDITIONS[seen.condition].context(question, texts[seen.document], made)
        prompt = prompting.fill("answer", context=context.text, question=question.question)
        if hashlib.sha256(prompt.encode()).hexdigest() != seen.prompt_sha256:
            raise SystemExit(f"{seen.key}: the prompt is not the one that was asked")
        yield prompt


def common(one: Tokens, other: Tokens) -> int:
    """How many tokens both begin with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def distinct(prompts: Iterable[Tokens]) -> int:
    """How many different beginnings the prompts have, counting every length: sorted, those alike are neighbours."""
    return sum(len(prompt) - common(before, prompt) for before, prompt in pairwise([(), *sorted(prompts)]))


def one_slot(prompts: Iterable[Tokens]) -> int:
    """What is read if only the prompt before is remembered; of each prompt at least the last token is."""
    return sum(len(one) - min(common(before, one), len(one) - 1) for before, one in pairwise([(), *prompts]))


def describe(run: Run, tokenize: Callable[[str], Tokens]) -> None:
    """Prints one line."""
    seen = run.observations
    if any(one.status is not Status.OK for one in seen):
        raise SystemExit("some trials did not end well; their tokens are not known")
    prompts = [tokenize(prompt) for prompt in prompts_of(run)]
    if [len(prompt) for prompt in prompts] != [one.input_tokens for one in seen]:
        raise SystemExit("the prompts have other token counts than the run says")
    prefilled = sum((one.input_tokens or 0) - (one.cached_tokens or 0) for one in seen)
    fewest = distinct(prompts)
    seconds = math.fsum(one.prefill_s or 0.0 for one in seen)
    print(
        f"{run.record.order:8}{len(seen):7,}{sum(map(len, prompts)):11,}{prefilled:11,}{one_slot(prompts):10,}{fewest:10,}"
        f"{prefilled / fewest:8.3f}{seconds:11.1f}{span(seen):9.1f}",
        flush=True,
    )


def measured(folder: Path, order: str, options: Sequence[str]) -> Run:
    """A run in its own process."""
    reports = folder / order
    timed_pytest(
        folder,
        "--tokenbench-backend=embedded",
        f"--tokenbench-order={order}",
        f"--tokenbench-reports={reports}",
        *options,
    )
    return only_run(reports)


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("runs", nargs="*", type=Path)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--conditions", default="A,B2,B4")
    parser.add_argument("-k", dest="only", default="")
    given = parser.parse_args()
    print(
        f"{'order':8}{'trials':>7}{'input':>11}{'prefilled':>11}{'one slot':>10}{'distinct':>10}"
        f"{'ratio':>8}{'prefill s':>11}{'time s':>9}"
    )
    with tempfile.TemporaryDirectory() as name, tokenizer() as tokenize:
        for path in given.runs:
            describe(run_folder.read(path), tokenize)
        if given.runs:
            return
        folder = Path(name)
        without_hypotheses = STUDY.read_text(encoding="utf-8").partition("@study.hypothesis")[0]
        shutil.copytree(REPOSITORY / "corpus", folder / "corpus")
        shutil.copy(REPOSITORY / "questions.json", folder)
        (folder / STUDY.name).write_text(without_hypotheses, encoding="utf-8")
        (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        options = ["-k", given.only, "--tokenbench-conditions", given.conditions] + ["--tokenbench-quick"] * (
            not given.full
        )
        for order in ("cold", "shared"):
            describe(measured(folder, order, options), tokenize)


if __name__ == "__main__":
    main()
