"""What an ablation found of its blocks and of what they are made of, as tables and sentences."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pytest_tokenbench.ablation.claim_words import standing_in
from pytest_tokenbench.reporting import ablation_words as words
from pytest_tokenbench.reporting import wording
from pytest_tokenbench.reporting.sections import Section, Table

Json = Mapping[str, Any]


_FILLER = (
    "filler: neutral text of equal length in its place, whose drop is the content's, while the rest of the drop is by "
    "length"
)


def section(made: Json, base: str) -> Section:
    """Each block with its tokens, its drop and its verdict; `base` says what the whole prompt comes to."""
    rows = tuple(
        (
            block["name"],
            wording.tokens(block["tokens"]),
            words.share(block["share"]),
            words.drop(block["drop"]),
            words.verdict(block),
        )
        for block in made["blocks"]
    )
    headings = ("block", "tokens", "share", "drop, points [95%]", "verdict")
    table = Table(headings, rows, words=("verdict",), dropped=("share", "tokens"))
    return Section("blocks", "", table, (base, _rule(made), *_of_blocks(made)))


def _rule(made: Json) -> str:
    asked = words.points(made["threshold"])
    rule = (
        f"needed: leaving it out loses {asked} points or more, by its whole interval; removable on this set: less, by "
        "its whole interval; a block's tokens have no say in it"
    )
    decides = any(block["n_to_decide"] for block in made["blocks"])
    return rule + ("; (n=...) is how many cases would decide" if decides else "")


def _of_blocks(made: Json) -> Iterator[str]:
    """What the table does not say of a block: why there is no verdict, and where another one would be right."""
    if not made["refused"]:
        yield from _without_verdict([(block["name"], block) for block in made["blocks"]])
    yield from _open_on_stress([(block["name"], block) for block in made["blocks"]])
    for block in made["blocks"]:
        yield from _unclear(block["name"], block)
        if block["verdict"] == "removable" and block["clears_stress"]:
            yield f"{block['name']}: clears the stress slice (drop there {words.drop(block['stress_drop'])})"
        if block["reweighted_verdict"] not in (None, block["verdict"]) and not _is_kept_for_production(block):
            drop = words.drop(block["reweighted_drop"])
            told = words.reweighted_verdict(block)
            yield f"{block['name']}: {told} with production's shares of slices (drop {drop})"
    # A drop that is not known at all is told by its verdict.
    tokens = [(block["name"], block["tokens"]) for block in made["blocks"] if "estimate" in block["drop"]]
    yield from words.absent("tokens", tokens)


def _without_verdict(its: Sequence[tuple[str, Json]]) -> Iterator[str]:
    """Why there is no verdict, a sentence for each reason."""
    reasons: dict[str, list[str]] = {}
    for name, made in its:
        if made["reason"] and made["verdict"] in ("refused", "not measured"):
            reasons.setdefault(f"{made['verdict']}: {wording.one_line(made['reason'])}", []).append(name)
    yield from (f"{words.listed(names)} {reason}" for reason, names in reasons.items())


def _open_on_stress(its: Sequence[tuple[str, Json]]) -> Iterator[str]:
    """What is removable and not cut since the stress cases do not tell, a sentence for each reason."""
    reasons: dict[str, list[str]] = {}
    for name, made in its:
        if made["verdict"] == "removable" and made["stress_note"]:
            reasons.setdefault(wording.one_line(made["stress_note"]), []).append(name)
    for reason, names in reasons.items():
        yield f"{words.listed(names)}: not cut, since not known to clear the stress slice: {reason}"


def _unclear(name: str, made: Json) -> Iterator[str]:
    """Why something that is removable is not cut all the same."""
    if made["verdict"] == "removable" and made["clears_stress"] is False:
        drop = words.drop(made["stress_drop"])
        yield f"{name}: not cut, since it does not clear the stress slice (drop there {drop})"
    if _is_kept_for_production(made):
        drop = words.drop(made["reweighted_drop"])
        told = (
            "it is needed"
            if made["reweighted_verdict"] == "needed"
            else "trials are missing with which it may be needed"
        )
        yield f"{name}: not cut, since with production's shares of slices {told} (drop so {drop})"


def _is_kept_for_production(made: Json) -> bool:
    return made["verdict"] == "removable" and made["reweighted_verdict"] in ("needed", "not measured")


def elsewhere(made: Json) -> Section:
    """The drop of each block on the stress slice, in production, by token, and with its length kept."""
    rows, fillers = [], []
    for block in made["blocks"]:
        filler = block["filler"]
        rows.append(
            (
                block["name"],
                words.drop(block["stress_drop"]),
                words.drop(block["reweighted_drop"]),
                words.reweighted_verdict(block) or words.NONE,
                words.number(block["per_1000_tokens"]),
                words.drop(filler.get("drop", {})),
                words.drop(filler.get("length", {})),
                words.seconds(block["prefill_saved"]),
            )
        )
        fillers.append((block["name"], filler.get("drop", filler)))
    headings = (
        "block",
        "stress drop",
        "re-weighted drop",
        "re-weighted",
        "points per 1,000",
        "filler drop",
        "by length",
        "prefill saved",
    )
    sentences = [
        f"re-weighted: with production's shares of slices; points per 1,000: what 1,000 of its tokens give; {_FILLER}"
    ]
    for what, key in (
        ("stress drop", "stress_drop"),
        ("re-weighted drop", "reweighted_drop"),
        ("points per 1,000 tokens", "per_1000_tokens"),
        ("prefill saved", "prefill_saved"),
    ):
        sentences += words.absent(what, [(block["name"], block[key]) for block in made["blocks"]])
    sentences += words.absent("filler", fillers)
    sentences += _deviations(made)
    table = Table(headings, tuple(rows), ("re-weighted",), ("prefill saved", "by length", "points per 1,000"))
    return Section(
        "elsewhere", "the same blocks elsewhere, and by token", table, tuple(sentences), is_wide=True
    )


def _deviations(made: Json) -> list[str]:
    """How near the fillers came to the length of what they stand for."""
    found = [(block["name"], block["filler"].get("deviation")) for block in made["blocks"]]
    told = [f"{name} {off['mean']:,.1f}, {off['largest']:,.0f}" for name, off in found if off is not None]
    return (
        [f"a filler's prompts are off the base's by tokens (mean, most): {'; '.join(told)}"] if told else []
    )


def taken_apart(block: Json) -> Iterator[Section]:
    """One level down: what a block's units are each needed for, and where its ranks can end."""
    name = block["name"]
    if block["units"]:
        units = [(f"{name}/{unit['unit']}", unit["tokens"], unit) for unit in block["units"]]
        headings = ("left out", "tokens", "verdict")
        made = _parts(f"units-{name}", f"{name}, one unit at a time left out", headings, units)
        told = (standing_in(name),) if block["units_stand_in"] else ()
        yield replace(made, sentences=(*made.sentences, *told))
    if block["ranks"]:
        ranks = [(f"{name} to {rank['to']}", rank["tokens_saved"], rank) for rank in block["ranks"]]
        headings = ("kept", "tokens saved", "verdict of the rest")
        yield _parts(f"ranks-{name}", f"{name}, nothing after a rank", headings, ranks)


def left_whole(made: Json) -> Iterator[Section]:
    """Why blocks that have parts were not taken apart."""
    told = tuple(
        f"{block['name']} not taken apart: {block['not_decomposed']}"
        for block in made["blocks"]
        if block["not_decomposed"] and block["parts"] != "whole"
    )
    if told and not made["refused"]:
        yield Section("whole", "", sentences=told)


def _parts(
    name: str, title: str, headings: tuple[str, str, str], its: Sequence[tuple[str, Json, Json]]
) -> Section:
    beside = words.beside([found for _, _, found in its])
    rows = tuple(
        (
            part,
            wording.tokens(tokens),
            words.drop(found["drop"]),
            words.verdict(found),
            *(words.drop(found[key]) for key in beside.values()),
        )
        for part, tokens, found in its
    )
    first, second, third = headings
    table = Table(
        (first, second, "drop, points [95%]", third, *beside),
        rows,
        words=(third,),
        dropped=(*reversed(beside), second),
    )
    named = [(part, found) for part, _, found in its]
    sentences = [*_without_verdict(named), *_open_on_stress(named)]
    sentences += words.absent("tokens", [(part, tokens) for part, tokens, _ in its])
    for part, _, found in its:
        sentences += _unclear(part, found)
    return Section(name, title, table, tuple(sentences))
