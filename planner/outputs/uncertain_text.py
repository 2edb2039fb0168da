"""An uncertainty study in words: inputs, outcomes, broken limits, candidates, indices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner.outputs.blocks import (
    EVERYWHERE,
    PAGE,
    SCREEN,
    Block,
    Column,
    FirstScreen,
    Heading,
    Table,
    Text,
)
from planner.outputs.sensitivity_words import (
    amount,
    ended,
    goal,
    named,
    scenarios,
    units,
)
from planner.outputs.words import (
    counted,
    fitted,
    gap,
    listed,
    number,
    percent,
    plain,
    results,
    scale,
    titled,
)
from planner.schema.sensitivity import CandidatePlan, Percentiles, Uncertain, UncertainInput

METHODS = {"lhs": "Latin hypercube", "sobol": "Sobol sequence"}
"""What the ways to draw are called."""


def describe_draw(study: Uncertain) -> str:
    """Return how the scenarios were drawn."""
    method = METHODS[study.method]
    return f"{counted(study.samples, 'sample')}, {method}, seed {study.seed}"


def findings(study: Uncertain) -> list[str]:
    """Return what the study shows, a sentence each."""
    count = sum(study.statuses.values())
    texts = [f"{scenarios(count)}: {ended(study.statuses)}."] if count else []
    main = objective(study)
    if main is not None:
        written = results([main.p5, main.p50, main.p95], main.unit)
        texts.append(
            f"Best plans: {goal(study)} of {written.with_unit(main.p50)} or less in half of the "
            f"scenarios that have one, between {written.text(main.p5)} and "
            f"{written.with_unit(main.p95)} in nine of ten."
        )
    return [
        *texts,
        *_most_broken(study),
        *_choices(study),
        *([proof(study)] if proof(study) else []),
    ]


def objective(study: Uncertain) -> Percentiles | None:
    """Return the distribution of the objective, None where it was not drawn."""
    return next((each for each in study.outcomes if each.name == "objective"), None)


def _most_broken(study: Uncertain) -> list[str]:
    """Return which limit the nominal plan breaks most often."""
    most = max(study.breaks, key=lambda each: each.share, default=None)
    if most is None:
        return []
    if not most.breaks:
        return ["Bought as it is, the nominal plan breaks no limit in any scenario."]
    return [
        f"Bought as it is, the nominal plan most often breaks {most.label}: in "
        f"{percent(most.share)} of the scenarios ({most.breaks:,})."
    ]


def _choices(study: Uncertain) -> list[str]:
    """Return the candidates with least regret and the best worst case."""
    texts = []
    if study.least_regret is not None:
        each = study.candidates[study.least_regret]
        texts.append(
            f"Least regret: {called(study, each)}, never more than "
            f"{percent(each.most_regret, 2)} behind the best plan of a scenario, "
            f"{percent(each.mean_regret, 2)} on average."
        )
    if study.best_worst_case is not None:
        each = study.candidates[study.best_worst_case]
        worst = "" if each.worst is None else f", {amount(study, each.worst)} in the worst"
        best = f"Best worst case: {called(study, each)}"
        texts.append(f"{best}, within every limit in all scenarios{worst}.")
    return texts


def called(study: Uncertain, candidate: CandidatePlan) -> str:
    """Return a candidate's name with what it buys."""
    return f"{candidate.name} ({units(candidate.counts, study.products)})"


def outcomes(study: Uncertain) -> list[tuple[str, Sequence[Percentiles]]]:
    """Return the distributions to show, each with its title, the objective by its name."""
    named = [
        ("The best plan of each scenario: so many of them stay below", study.outcomes),
        (
            "The nominal plan, bought as it is, whatever limits it breaks: so many stay below",
            study.nominal_outcomes,
        ),
    ]
    return [
        (title, [_called(study, each) for each in several]) for title, several in named if several
    ]


def _called(study: Uncertain, each: Percentiles) -> Percentiles:
    return each.model_copy(update={"label": goal(study)}) if each.name == "objective" else each


def proof(study: Uncertain) -> str:
    """Return how far the scenarios' plans are proven; empty where none has a bound."""
    if study.largest_gap is None:
        return ""
    return f"Every scenario's plan is within {gap(study.largest_gap)} of its bound."


def marks(study: Uncertain, place: int) -> str:
    """Return what sets a candidate apart."""
    each = study.candidates[place]
    names = [
        ("nominal", each.nominal and each.name != "nominal"),
        ("least regret", study.least_regret == place),
        ("best worst case", study.best_worst_case == place),
    ]
    return ", ".join(name for name, holds in names if holds)


_PERCENTILES = {
    "least": "least",
    "p5": "5 %",
    "p25": "25 %",
    "p50": "50 %",
    "p75": "75 %",
    "p95": "95 %",
    "most": "most",
    "mean": "mean",
}
_SHOWN = ("p5", "p25", "p50", "p75", "p95", "mean")
"""Those of them that the screen has room for."""

_LABEL = 34
_BAR = 20


def view(study: Uncertain) -> list[Block]:
    """Return what an uncertainty study says."""
    return [
        Heading(_heading(study)),
        Text((study.message or "",)),
        Text(tuple(findings(study))),
        _inputs(study.inputs),
        *(_outcomes(title, several) for title, several in outcomes(study)),
        _breaks(study),
        _candidates(study),
        *_indices(study),
    ]


_FIRST_OUTCOMES = ("objective", "goodput", "capex_usd", "tco_usd", "days_to_train")
_MOST_DRAWN, _MOST_BROKEN, _MOST_EXPLAIN = 5, 3, 3


def first(study: Uncertain) -> FirstScreen:
    """Return what one page says: what may come, what the plan breaks, what is regretted least."""
    main = objective(study)
    if main is None:
        return FirstScreen(entire=True)
    written = results([main.p5, main.p50, main.p95], main.unit)
    broken = sorted((each for each in study.breaks if each.breaks), key=lambda each: -each.share)
    breaks = [f"{each.label} in {percent(each.share)}" for each in broken[:_MOST_BROKEN]]
    regret = None if study.least_regret is None else study.candidates[study.least_regret]
    worst = None if study.best_worst_case is None else study.candidates[study.best_worst_case]
    ranked = sorted(study.indices, key=lambda each: -each.total)[:_MOST_EXPLAIN]
    drawn = [each.label for each in study.inputs]
    left = len(drawn) - _MOST_DRAWN
    drawn = drawn[:_MOST_DRAWN] + ([f"{left} more"] if left > 0 else [])
    answer = [
        ("Drawn", f"{listed(drawn)}; {scenarios(sum(study.statuses.values()))}: "
         f"{ended(study.statuses)}"),
        ("Best plans", f"{goal(study)} {written.with_unit(main.p50)} in the middle, between "
         f"{written.text(main.p5)} and {written.with_unit(main.p95)} in nine of ten"),
        ("This plan", f"bought as it is it breaks {listed(breaks)} of the scenarios" if breaks
         else "bought as it is it breaks no limit in any scenario" if study.breaks else ""),
        ("Regret", "" if regret is None else f"least with {called(study, regret)}: at most "
         f"{percent(regret.most_regret, 2)} behind the best of a scenario, "
         f"{percent(regret.mean_regret, 2)} on average"),
        ("Safest", "" if worst is None or worst is regret else
         f"{called(study, worst)} keeps every limit in all scenarios"),
        ("Why", f"the spread comes of {listed([each.label for each in ranked])}" if ranked else ""),
    ]  # fmt: skip
    shown = [each for each in study.outcomes if each.name in _FIRST_OUTCOMES]
    inputs = counted(len(study.inputs), "input")
    return FirstScreen(
        _heading(study),
        tuple(answer),
        below=(_spread(study, [_called(study, each) for each in shown]),),
        notes=() if ranked or not study.indices_note else (study.indices_note,),
        proof=(proof(study),) if proof(study) else (),
        full=f"how {inputs} were drawn, every outcome, limits that break, the candidates",
    )


def _spread(study: Uncertain, several: Sequence[Percentiles]) -> Table:
    """Return how far the main figures of the scenarios' best plans are apart."""
    scales = [results([each.p5, each.p50, each.p95], each.unit) for each in several]
    labels = [titled(each.label, each_.unit) for each, each_ in zip(several, scales, strict=True)]
    return Table(
        "Best plan of each scenario: so many stay below",
        (
            Column("", tuple(labels), words=True, gives_way=True),
            *(
                Column(head, tuple(each_.text(getattr(each, name))
                                   for each, each_ in zip(several, scales, strict=True)))
                for name, head in (("p5", "5 %"), ("p50", "50 %"), ("p95", "95 %"))
            ),
        ),
    )  # fmt: skip


def _heading(study: Uncertain) -> str:
    return f"{named(study)}  (uncertain inputs: {describe_draw(study)})"


def _inputs(inputs: Sequence[UncertainInput]) -> Table:
    """Return what was drawn of each input, and of which distribution."""
    written = [scale((each.low, each.median, each.high), each.unit) for each in inputs]
    titles = _titled([each.label for each in inputs], [one.unit for one in written])
    columns = [
        Column("input", tuple(each.label for each in inputs), texts=titles, head=("",), words=True),
        Column("distribution", tuple(each.distribution for each in inputs), words=True, under=True),
    ]
    for name in ("low", "median", "high"):
        values = [getattr(each, name) for each in inputs]
        pairs = list(zip(written, inputs, values, strict=True))
        shown = tuple(_drawn_value(each, value) for _, each, value in pairs)
        columns.append(Column(name, shown, texts=tuple(one.text(v) for one, _, v in pairs)))
    return Table("Not known exactly", tuple(columns))


def _titled(labels: Sequence[str], units: Sequence[str]) -> tuple[str, ...]:
    return tuple(
        titled(fitted(label, _LABEL), unit) for label, unit in zip(labels, units, strict=True)
    )


def _drawn_value(each: UncertainInput, value: float) -> str:
    """Return a value that was drawn, with its unit."""
    if each.unit == "choice":
        return f"choice {plain(value)}"
    return results([value], each.unit).with_unit(value)


def _outcomes(title: str, several: Sequence[Percentiles]) -> Table:
    """Return the percentiles of every outcome, in the unit that suits it."""
    steps = [tuple(getattr(each, step) for step in _PERCENTILES) for each in several]
    on_screen = [tuple(getattr(each, step) for step in _SHOWN) for each in several]
    scales = [results(values, each.unit) for values, each in zip(on_screen, several, strict=True)]
    columns = [
        Column(
            "outcome",
            tuple(each.label for each in several),
            texts=_titled([each.label for each in several], [one.unit for one in scales]),
            head=("",),
            words=True,
            gives_way=True,
        ),
        Column("unit", tuple(one.unit for one in scales), words=True, on=PAGE),
    ]
    whole = [results(values, each.unit) for values, each in zip(steps, several, strict=True)]
    for step, label in _PERCENTILES.items():
        values = [getattr(each, step) for each in several]
        columns.append(
            Column(
                label,
                tuple(one.text(value) for one, value in zip(whole, values, strict=True)),
                texts=tuple(one.text(value) for one, value in zip(scales, values, strict=True)),
                on=EVERYWHERE if step in _SHOWN else PAGE,
            )
        )
    counts = tuple(each.count for each in several)
    columns.append(
        Column("scenarios", counts, texts=tuple(f"{each:,}" for each in counts), head=("of",))
    )
    return Table(title, tuple(columns))


def _breaks(study: Uncertain) -> Table:
    ranked = sorted(study.breaks, key=lambda each: -each.share)
    labels = [each.label for each in ranked]
    worst = tuple("-" if each.worst is None else percent(each.worst) for each in ranked)
    columns = (
        Column(
            "limit",
            tuple(labels),
            texts=tuple(fitted(label, 48) for label in labels),
            head=("",),
            words=True,
        ),
        Column("breaks", tuple(each.breaks for each in ranked)),
        Column(
            "share",
            _shares([each.share for each in ranked]),
        ),
        Column("passed by at worst", worst),
    )
    title = "Limits that the nominal plan breaks where inputs turn out so"
    return Table(title, columns)


def _shares(values: Sequence[float], digits: int = 1) -> tuple[str, ...]:
    return tuple(percent(value, digits) for value in values)


def _candidates(study: Uncertain) -> Table:
    plans = study.candidates
    worth = results([v for each in plans for v in (each.mean, each.worst)], study.unit)
    names = [each.name for each in plans]
    means = tuple(worth.text(each.mean) for each in plans)
    worsts = tuple(worth.text(each.worst) for each in plans)
    whole = tuple(
        "breaks a limit" if each.worst is None else worth.text(each.worst) for each in plans
    )
    unit = f", {worth.unit}" if worth.unit else ""
    columns = (
        Column(
            "plan",
            tuple(names),
            texts=tuple(fitted(name, 24) for name in names),
            head=("",),
            words=True,
        ),
        Column("best in", tuple(f"{each.best_in:,}" for each in plans), head=("best", "in")),
        Column(
            "within limits", _shares([each.feasible for each in plans]), head=("within", "limits")
        ),
        Column(f"mean {goal(study)}{unit}", means, head=("mean", worth.unit)),
        Column(f"worst {goal(study)}{unit}", whole, texts=worsts, head=("worst", worth.unit)),
        Column("mean regret", _shares([p.mean_regret for p in plans], 2), head=("mean", "regret")),
        Column("most regret", _shares([p.most_regret for p in plans], 2), head=("most", "regret")),
        Column(
            "",
            tuple(marks(study, place) for place in range(len(plans))),
            words=True,
            gives_way=True,
        ),
        Column(
            "buys",
            tuple(units(each.counts, study.products, len(each.counts)) for each in plans),
            words=True,
            on=PAGE,
        ),
    )
    bought = tuple(f"{each.name}: {units(each.counts, study.products, 6)}" for each in plans)
    title = "Plans kept as they are in every scenario"
    return Table(title, columns, items=bought)


def _indices(study: Uncertain) -> Iterator[Block]:
    """Yield what share of the variance each input explains, and a bar of the whole of it."""
    ranked = sorted(study.indices, key=lambda each: -each.total)
    note = study.indices_note
    if not ranked:
        yield Text((note,), "What explains the spread")
        return
    labels = [each.label for each in ranked]
    columns = (
        Column(
            "input",
            tuple(labels),
            texts=tuple(fitted(label, 40) for label in labels),
            head=("",),
            words=True,
        ),
        Column("alone", tuple(number(each.first, 3) for each in ranked)),
        Column("±", tuple(f"± {number(e.first_confidence, 3)}" for e in ranked), head=("",)),
        Column("in all", tuple(number(each.total, 3) for each in ranked)),
        Column("±", tuple(f"± {number(e.total_confidence, 3)}" for e in ranked), head=("",)),
        Column(
            "",
            tuple("#" * max(0, min(_BAR, round(_BAR * each.total))) for each in ranked),
            words=True,
            on=SCREEN,
        ),
    )
    title = "What explains the spread: share of the variance, with its 95 % confidence"
    yield Table(title, columns, (note,))
