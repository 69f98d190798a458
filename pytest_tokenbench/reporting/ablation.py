"""What an ablation found, as the tables and sentences that every report shows in this order."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pytest_tokenbench.reporting import ablation_blocks as blocks
from pytest_tokenbench.reporting import ablation_words as words
from pytest_tokenbench.reporting import wording
from pytest_tokenbench.reporting.sections import Section, Table

Json = Mapping[str, Any]


def sections(document: Json) -> list[Section]:
    """Everything that was found, most important first."""
    made = document["ablation"]
    return [
        blocks.section(made, base(document)),
        blocks.elsewhere(made),
        *(section for block in made["blocks"] for section in blocks.taken_apart(block)),
        *blocks.left_whole(made),
        _composed(made),
        Section("fractions", "", sentences=(needed_fraction(made), oracle(made))),
        _selector(made),
        Section("doubts", "", sentences=(churn_floor(made), production(made), *map(_note, made["notes"]))),
    ]


def markdown(document: Json, escape: Callable[[str], str]) -> str:
    """The sections as Markdown."""
    parts = []
    for section in sections(document):
        parts += [f"## {escape(section.title[:1].upper() + section.title[1:])}"] if section.title else []
        parts += [section.table.markdown(escape)] if section.table else []
        listed = "\n".join(f"- {escape(sentence)}" for sentence in section.sentences)
        parts += [listed] if listed else []
    return "\n\n".join(parts)


def few_costs(document: Json) -> Json:
    """The document with the costs of the base and of the composed arm alone, where there is a price."""
    if "costs" not in document or "ablation" not in document:
        return document
    kept = (document["baseline"], "composed")
    entries = [
        {**entry, "conditions": {name: its for name, its in entry["conditions"].items() if name in kept}}
        for entry in document["costs"]
    ]
    return {**document, "costs": entries}


def _composed(made: Json) -> Section:
    composed = made["composed"]
    if "unavailable" in composed:
        return Section(
            "composed", "", sentences=(f"composed arm: {wording.one_line(composed['unavailable'])}",)
        )
    title = f"left out together: {words.left_out(composed['left_out'])}"
    predicted = composed["predicted"]
    rows = [
        ("measured", words.drop(composed["drop"])),
        *_with_shares(composed),
        ("sum of single drops", words.NONE if predicted is None else words.points(predicted)),
        ("shortfall", words.drop(composed["shortfall"])),
        ("on the stress slice", words.drop(composed["stress_drop"])),
    ]
    sentences = [_finding(composed), _saving(composed)]
    for what, key in (("drop", "drop"), ("shortfall", "shortfall"), ("stress drop", "stress_drop")):
        sentences += words.absent(what, [("", composed[key])])
    if made["production"]:
        sentences += words.absent("drop with production's shares", [("", composed["reweighted_drop"])])
    sentences += [*_gain(composed), *_interaction(composed)]
    return Section(
        "composed", title, Table(("composed arm", "drop, points [95%]"), tuple(rows)), tuple(sentences)
    )


def _with_shares(composed: Json) -> Iterator[tuple[str, str]]:
    if "estimate" in composed["reweighted_drop"]:
        yield "with production's shares", words.drop(composed["reweighted_drop"])


def _finding(composed: Json) -> str:
    """What came out of leaving all of it out together: here, on the stress slice and with production's shares."""
    told = f"together: {words.verdict(composed)}{words.stress(composed)}{words.in_production(composed)}"
    undecided = "; that forbids nothing, and it is not shown to be free there" if composed["caveat"] else ""
    return f"{told}{undecided}"


def _gain(composed: Json) -> Iterator[str]:
    """That single drops which sum up to a gain are no loss that the shortfall makes up for."""
    predicted = composed["predicted"]
    if predicted is not None and words.points(predicted).startswith("-"):
        yield (
            "the single drops sum up to a gain, which is noise or a real help: of the shortfall so much is no loss, and "
            "what the cut loses is measured"
        )


def _saving(composed: Json) -> str:
    saved = composed["tokens_saved"]
    if "estimate" not in saved:
        return f"tokens saved not known: {wording.one_line(saved['unavailable'])}"
    share = words.share(composed["share_saved"])
    return f"saves {saved['estimate']:,.0f} tokens a case, {share} of the blocks' tokens"


def _interaction(composed: Json) -> Iterator[str]:
    """Where the composed arm falls short of its parts: the cases lost, their slices, and what is redundant there."""
    lost = [one["case"] for one in composed["lost"]]
    if not lost:
        yield "no case is lost that its parts left out alone do not lose"
        return
    yield f"{words.many(len(lost), 'case')} lost that no part left out alone loses: {words.listed(lost)}"
    if composed["lost_by_slice"]:
        yield f"lost by slice: {words.slices(composed['lost_by_slice'])}"
    found = [(" and ".join(pair["blocks"]), pair) for pair in composed["pairs"]]
    found += [(f"units of {part['block']}", part) for part in composed["within"]]
    for pair in composed["pairs"]:
        if pair["redundant"]:
            yield _redundant(pair)
    for part in composed["within"]:
        if part["redundant"]:
            yield f"redundant within {part['block']}: its units left out together lose {words.listed(part['lost'])}"
    noise = [(name, one["lost"]) for name, one in found if one["lost"] and not one["redundant"]]
    if noise:
        told = "; ".join(f"{name}: {words.listed(cases)}" for name, cases in noise)
        yield f"within noise, and not told to be redundant: lost without both of {told}"
    elif not any(one["redundant"] for _, one in found):
        yield (
            "no two of its parts alone explain them"
            if found
            else "which of its parts interact was not measured"
        )


def _redundant(pair: Json) -> str:
    first, second = pair["blocks"]
    cases = words.listed(pair["lost"])
    if pair["free_alone"]:
        return f"redundant: {first} and {second}; either alone is free, both together lose {cases}"
    return f"redundant: {first} and {second}; neither alone loses these cases, both together do: {cases}"


def base(document: Json) -> str:
    """What the prompt with every block comes to, in a sentence."""
    measures = document["conditions"][document["baseline"]]["measures"]
    accuracy, tokens = measures["accuracy"], measures["input_tokens"]
    if "estimate" not in accuracy:
        return f"with every block: not measured, since {wording.one_line(accuracy['unavailable'])}"
    counted = f", {wording.tokens(tokens)} tokens a prompt" if "estimate" in tokens else ""
    stress = document["ablation"]["stress_baseline"]
    its = f"; of the stress slice {wording.share(stress, interval=True)}" if "estimate" in stress else ""
    return f"with every block: {wording.share(accuracy, interval=True)} right{counted}{its}"


def needed_fraction(made: Json) -> str:
    """The needed fraction in a sentence."""
    its = made["needed_fraction"]
    if "estimate" not in its:
        return f"needed fraction: not known, since {wording.one_line(its['unavailable'])}"
    counted = f"{its['needed_tokens']:,.0f} of {its['total_tokens']:,.0f} tokens"
    told = f"needed fraction: {words.percent(its)}, {counted}; a block that is undecided counts as needed"
    if its["caveat"]:
        told += f"; note: what it does without {wording.one_line(its['caveat'])}"
    back = its["put_back"]
    if not back:
        return told
    reason = wording.one_line(its["put_back_note"])
    return f"{told}, and so does what came out removable alone and yet is not shown to go together ({words.left_out(back)}): {reason}"


def oracle(made: Json) -> str:
    """The oracle fraction, never without the sentence that says what it is."""
    its = made["oracle"]
    if "unavailable" in its:
        caveat = f" (oracle: {its['note']})" if "note" in its else ""
        return f"oracle fraction: not known, since {wording.one_line(its['unavailable'])}{caveat}"
    counted = f"{its['tokens']:,.0f} of {its['total_tokens']:,.0f} tokens"
    return f"oracle fraction: {words.percent(its['fraction'])}, {counted} (oracle: {its['note']})"


def _selector(made: Json) -> Section:
    swept = made["selector"]
    if not swept:
        return Section("selector", "", sentences=("selector: no retrieval score was swept",))
    beside = words.beside(swept)
    rows = tuple(
        (
            f"{one['score']:g} or more",
            wording.tokens(one["saved_tokens"]),
            words.percent(one["recovered"]),
            words.drop(one["drop"]),
            *(words.drop(one[key]) for key in beside.values()),
        )
        for one in swept
    )
    headings = ("score kept", "tokens saved", "of oracle's saving", "points lost [95%]", *beside)
    sentences = words.absent(
        "share of the oracle's saving", [(f"{one['score']:g}", one["recovered"]) for one in swept]
    )
    sentences += words.absent("accuracy lost", [(f"{one['score']:g}", one["drop"]) for one in swept])
    sentences += _clearing(swept)
    table = Table(headings, rows, dropped=(*reversed(beside), "tokens saved"))
    return Section(
        "selector", "a selector that could ship: passages by retrieval score", table, tuple(sentences)
    )


def _clearing(swept: Sequence[Json]) -> Iterator[str]:
    """Which scores clear the stress slice."""
    found: dict[str, list[str]] = {}
    for one in swept:
        told = words.stress(one).removeprefix("; ")
        if told and "estimate" in one["drop"]:
            found.setdefault(told, []).append(f"{one['score']:g}")
    yield from (f"{words.listed(scores)} or more: {told}" for told, scores in found.items())


def churn_floor(made: Json) -> str:
    """How often the base disagrees with itself, beside the threshold."""
    its = made["churn_floor"]
    asked = words.points(made["threshold"])
    if "estimate" not in its:
        return f"churn floor: not measured, since {wording.one_line(its['unavailable'])}; the threshold is {asked} points"
    return f"churn floor: {words.percent(its)} of cases differ when the base is asked again; the threshold is {asked} points"


def production(made: Json) -> str:
    """Production's shares of slices, and how much of them the set has cases for."""
    if not made["production"]:
        return "production: no shares of slices were given, so nothing is re-weighted"
    told = "; ".join(
        f"{kind}: " + ", ".join(f"{name} {words.share(share)}" for name, share in shares.items())
        for kind, shares in made["production"].items()
    )
    covers = made["covers"]
    return f"production: {told}" + (
        "" if covers is None else f"; the set has cases for {words.share(covers)} of it"
    )


def _note(note: str) -> str:
    return f"note: {wording.one_line(note)}"
