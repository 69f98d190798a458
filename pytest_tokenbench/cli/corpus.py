"""tokenbench corpus: documents and questions."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_tokenbench.cli.status import FAULT
from pytest_tokenbench.corpus import adding, entries, manifest, questions, verify
from pytest_tokenbench.corpus.faults import Fault, few
from pytest_tokenbench.corpus.questions import Sampling

if TYPE_CHECKING:
    from pytest_tokenbench.cli.status import Commands

_QUESTIONS = ("questions.json", "questions.jsonl", "questions.csv")


def add(commands: "Commands") -> None:
    """Adds the commands."""
    parser = commands.add_parser("corpus", help="check, draw from, add to and pin a corpus and its questions")
    group = parser.add_subparsers(required=True, metavar="COMMAND")
    verify_parser = group.add_parser("verify", help="check sums, schemas, words, gold strings and the draw")
    verify_parser.set_defaults(run_command=_verify)
    sample = group.add_parser("sample", help="repeat the random draw of paragraphs")
    sample.add_argument("--seed", type=int, help="seed of the draw (default: the recorded one)")
    sample.add_argument(
        "--per-document", type=int, help="paragraphs per document (default: as recorded, or 8)"
    )
    sample.add_argument(
        "--min-words", type=int, help="words a paragraph must have (default: as recorded, or 45)"
    )
    sample.set_defaults(run_command=_sample)
    pin = group.add_parser("pin", help="record the present words and hashes in manifest and SHA256SUMS")
    pin.set_defaults(run_command=_pin)
    adder = group.add_parser("add", help="convert documents to text, once, and record both")
    adder.add_argument(
        "originals", type=Path, nargs="+", metavar="FILE", help=".txt, .md, .pdf, .docx or .html"
    )
    adder.add_argument(
        "--licence", default=entries.NO_LICENCE, metavar="TEXT", help="what the manifest says of it"
    )
    adder.set_defaults(run_command=_add)
    for command in (verify_parser, sample, pin, adder):
        command.add_argument("--corpus", type=Path, default=Path("corpus"), metavar="DIR")
    for command in (verify_parser, sample, pin):
        command.add_argument(
            "--questions",
            type=Path,
            metavar="FILE",
            help=f"default: the first there of {', '.join(_QUESTIONS)}",
        )


def _questions(options: argparse.Namespace) -> Path:
    found = (Path(name) for name in _QUESTIONS if Path(name).exists())
    return options.questions or next(found, Path(_QUESTIONS[0]))


def _verify(options: argparse.Namespace) -> int:
    material = verify.read(options.corpus, _questions(options))
    unpinned = manifest.unpinned(options.corpus)
    faults = [fault for fault in material.faults if fault not in unpinned]
    if faults:
        print(*few(faults), sep="\n", file=sys.stderr)
        count = f"{len(faults):,} fault" + "s" * (len(faults) != 1)
        print(f"checked {material}: {count}", file=sys.stderr)
        return FAULT
    how = "; not pinned, which `tokenbench corpus pin` does" if unpinned else ""
    print(f"checked {material}: no fault{how}")
    listed = {one.file for one in material.manifest.documents}
    sentence = "is no document of this corpus; `tokenbench corpus add` makes it one"
    others = [
        Fault(f"{options.corpus.name}/{name}", "", sentence)
        for name in entries.passed_over(options.corpus, listed)
    ]
    print(*few(others), sep="\n", end="\n" if others else "")
    return 0


def _sample(options: argparse.Namespace) -> int:
    file = _questions(options)
    material = verify.read(options.corpus, file)
    recorded = material.questions.sampling
    if options.seed is None and recorded is None:
        print(f"{file.name}: records no draw; give --seed", file=sys.stderr)
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
    target = verify.pin(options.corpus, _questions(options))
    print(f"wrote {target}; check with: sha256sum -c {target} (from {options.corpus.resolve().parent})")
    return 0


def _add(options: argparse.Namespace) -> int:
    for added in adding.add(options.corpus, options.originals, licence=options.licence):
        entry = added.entry
        how = f", made by {entry['converted']['converter']}" if "converted" in entry else ""
        print(f"{entry['id']}: {options.corpus / entry['file']}, {entry['words']:,} words{how}")
        for note in added.notes:
            print(f"    {note}")
    print("read the texts, write questions on them, then run `tokenbench corpus pin`")
    return 0
