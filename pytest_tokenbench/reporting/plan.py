"""What `--tokenbench-plan` prints: a plan as lines for a terminal."""

from pathlib import Path

from pytest_tokenbench.claims import Claim, PowerPlan
from pytest_tokenbench.places import below
from pytest_tokenbench.planning import Count, Plan, PreparationPlan
from pytest_tokenbench.prices import Price
from pytest_tokenbench.progress import duration
from pytest_tokenbench.reporting import tables, wording
from pytest_tokenbench.reporting.terminal import wrapped
from pytest_tokenbench.results import Unavailable

Line = tuple[str, dict[str, bool]]

_SURE = 0.995


def lines(plan: Plan, *, model: str, manner: str, root: Path, width: int) -> list[Line]:
    """The lines of a plan in order, each with its markup for pytest's terminal writer."""
    asked = (
        _many(plan.questions, "case")
        if plan.documents is None
        else f"{_many(plan.documents, 'document')}, {_many(plan.questions, 'question')}"
    )
    heading = f"{plan.study}: {asked}, {model}, {manner}"
    made: list[Line] = [(part, {"bold": True}) for part in wrapped(heading, width)]
    blocks = [
        _trials(plan, width),
        _preparations(plan, width),
        _foreseen(plan, root, width),
        *(_power(one, plan.discordance, width) for one in plan.powers),
        _unplanned(plan, width),
    ]
    for block in blocks:
        if block:
            made += [("", {}), *((line, {}) for line in block)]
    return made


def _trials(plan: Plan, width: int) -> list[str]:
    if not plan.trials:
        return wrapped("No trial is left to run." if plan.reused else "No trial is selected.", width)
    rows = [
        [
            wording.one_line(name),
            f"{made.trials:,}",
            _tokens(Count(round(made.prompts.tokens / made.trials), made.prompts.is_exact)),
            _tokens(made.prompts),
            _tokens(made.distinct),
        ]
        for name, made in plan.conditions.items()
    ]
    every = list(plan.conditions.values())
    prompts, distinct = (
        sum((getattr(made, what) for made in every), Count(0, is_exact=True))
        for what in ("prompts", "distinct")
    )
    rows.append(["in all", f"{plan.trials:,}", "", _tokens(prompts), _tokens(distinct)])
    headings = ["", "trials", "tokens/q", "prompt tokens", "distinct"]
    found = tables.fitted(headings, rows, ("tokens/q", "distinct"), width).splitlines()
    note = "distinct: what prompts begin with in common counts once, for the first condition that has it"
    found += wrapped(note, width)
    exact = [count.is_exact for made in every for count in (made.prompts, made.distinct)]
    if not all(exact):
        rest = "; the other numbers are counted by the model's tokenizer" if any(exact) else ""
        found += wrapped(f"~ is an estimate, from words{rest}", width)
    if plan.waiting:
        found += wrapped(
            f"counted as if all were asked: {_many(len(plan.waiting), 'arm')} of later stages, of which earlier trials will "
            "make many needless",
            width,
        )
    if plan.reused:
        found += wrapped(
            f"{_many(plan.reused, 'trial')} more are there already from the run gone on with", width
        )
    return found


def _preparations(plan: Plan, width: int) -> list[str]:
    if not plan.preparations:
        return []
    rows = [
        [
            wording.one_line(one.recipe),
            str(one.documents),
            str(one.documents - one.kept) if one.kept or plan.speed else f"up to {one.documents}",
            f"{one.calls:,}",
            _tokens(one.read),
            _written(one),
        ]
        for one in plan.preparations
    ]
    headings = ["preparations", "documents", "to build", "calls", "tokens read", "tokens written"]
    return tables.fitted(headings, rows, ("calls", "documents"), width).splitlines()


def _written(one: PreparationPlan) -> str:
    return f"at most {one.written:,}" if one.is_limit else _tokens(Count(one.written))


def _foreseen(plan: Plan, root: Path, width: int) -> list[str]:
    """Time and money."""
    if not plan.trials:
        return []
    found = wrapped(_time(plan, root), width)
    for price in plan.prices:
        found += wrapped(_cost(plan, price), width)
    return found


def _time(plan: Plan, root: Path) -> str:
    speed, trials = plan.speed, plan.trial_seconds
    if speed is None or trials is None:
        return "expected time: not known, since no run of this study with this model on this host is there to go by"
    folder = below(speed.folder, root) or speed.folder
    source = f"as fast as {wording.one_line(str(folder))}, which read {speed.rate:,.0f} tokens a second"
    if speed.workers > 1:
        source += f" in each of {speed.workers} workers"
    built = plan.preparation_seconds
    if built is None:
        unknown = "how long the preparations take is not known"
        return f"expected time: about {duration(trials)} for the trials, {source}; {unknown}"
    parts = f" ({duration(built)} for the preparations)" if built else ""
    return f"expected time: about {duration(built + trials)}{parts}, {source}"


def _cost(plan: Plan, price: Price) -> str:
    try:
        trials, built, is_most = plan.cost(price)
    except Unavailable as reason:
        return wording.one_line(f"expected cost, {price.name}: not told, since {reason}")
    most = "at most " if is_most else "about "
    parts = f": {_money(trials)} for the trials, {_money(built)} for the preparations" if built else ""
    cost = f"{most}{_money(trials + built)} {price.currency}{parts}, without prompt caching"
    return wording.one_line(f"expected cost, {price.name}: {cost}")


def _money(amount: float) -> str:
    return f"{amount:,.2f}" if amount >= 1 or not amount else f"{amount:.3g}"


def _power(one: PowerPlan, discordance: float, width: int) -> list[str]:
    claim = one.claim
    found = wrapped(
        f"{claim.hypothesis}: {_claimed(claim)}; the chance that it passes if there is no difference, "
        f"and {100 * discordance:.3g}% of the pairs differ all the same:",
        width,
    )
    each = one.questions / one.documents
    questions = _many(one.questions, "question")
    rows = [[f"{questions} (its verdict)", _chance(one.chance), _many(one.needed, "question")]]
    for correlation, chance, needed in one.clustered:
        documents = f"{_many(one.documents, 'document')}, correlation {correlation:g}"
        enough = (
            "not reached"
            if needed is None
            else f"{_many(needed, 'document')}, {_many(round(needed * each), 'question')}"
        )
        rows.append([documents, _chance(chance) if one.documents > 1 else "no interval", enough])
    found += tables.fitted(["unit", "chance", "80% needs"], rows, (), width).splitlines()
    if one.measured is not None:
        found += wrapped(f"in the last run {100 * one.measured:.3g}% of these pairs differed", width)
    return found


def _claimed(claim: Claim) -> str:
    end = "below +" if claim.is_upper else "above -"
    return wording.one_line(
        f"{claim.measure} of {claim.condition} less {claim.versus}, interval {end}{100 * claim.margin:.4g} points"
    )


def _chance(chance: float) -> str:
    return "over 99%" if chance > _SURE else f"{100 * chance:.0f}%"


def _unplanned(plan: Plan, width: int) -> list[str]:
    return [
        line
        for name, why in plan.unplanned.items()
        for line in wrapped(wording.one_line(f"{name}: no power is told, since {why}"), width)
    ]


def _tokens(count: Count) -> str:
    return f"{'' if count.is_exact else '~'}{count.tokens:,}"


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}" + "s" * (count != 1)
