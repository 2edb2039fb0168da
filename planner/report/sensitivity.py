"""Frontier, tornado and uncertainty analysis: a few facts, one table of plans, one chart each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from planner.figures import FIGURES, capital
from planner.report import formats as fmt
from planner.report.blocks import (
    ROW_MIDDLE,
    Axis,
    Bars,
    Block,
    Chart,
    Facts,
    Heading,
    Layer,
    Line,
    Mark,
    Panel,
    Reference,
    Table,
    Text,
    Tone,
    figures,
    proof_block,
    sized_axis,
    widest_gap_text,
    words,
)
from planner.schema.analysis import (
    PLANNED,
    CandidatePlan,
    End,
    Frontier,
    Swing,
    Tornado,
    Uncertain,
)

# Frontier: the best work for each amount of storage, money or power; its knee


def frontier(study: Frontier) -> list[Block]:
    """A frontier as blocks."""
    title = Heading(f"{fmt.study_name(study)}  (frontier: {study.y_label} against {study.x_label})")
    if not study.points:
        return [title, Text((study.message or "no plan",))]
    proof = f"Each point is the best plan for its {study.x_label}."
    gaps = widest_gap_text([point.gap for point in study.points])
    best, knee = _point_text(study, study.best), _point_text(study, study.knee)
    return [
        title,
        Facts((("Best", best), ("Knee", knee), ("", study.message or ""))),
        _points(study),
        proof_block((proof, gaps, fmt.unchanged_objective(study))),
    ]


def _point_text(study: Frontier, place: int | None) -> str:
    if place is None:
        return ""
    point = study.points[place]
    work = fmt.result_scale([each.y for each in study.points], study.y_unit).with_unit(point.y)
    at = fmt.result_scale([each.x for each in study.points], study.x_unit).with_unit(point.x)
    share = ""
    if study.best not in (None, place) and (best := study.points[study.best or 0].y):
        share = f", {fmt.percent(point.y / best)} of the best"
    bought = fmt.purchase_text(point.counts, study.products)
    return f"{at} of {study.x_label}: {work}{share}, {bought}"


def _points(study: Frontier) -> Table:
    points = study.points
    names = {study.knee: "knee", study.best: "best"}
    if study.knee == study.best:
        names[study.best] = "best, knee"
    power = (point.facility_power_kw for point in points)
    beside = {
        "cost": figures("capex", (point.capex_usd for point in points), "USD"),
        "power": figures(FIGURES["facility_power_kw"].title, power, 0, detail=True),
    }
    columns = (
        words("", (names.get(at, "") for at in range(len(points)))),
        figures(study.x_label, (point.x for point in points), study.x_unit),
        figures(study.y_label, (point.y for point in points), study.y_unit),
        figures("bound", (point.bound for point in points), study.y_unit, detail=True),
        figures(FIGURES["gpus_used"].label, (each.gpus_in_use for each in points), 0, detail=True),
        *(column for name, column in beside.items() if name != study.x_name),
        words("buys", (fmt.purchase_text(point.counts, study.products) for point in points)),
    )
    kept = tuple(at for at in (study.knee, study.best) if at is not None)
    return Table(_title(study), columns, most=40, first=6, kept=kept, rows="points")


def _title(study: Frontier) -> str:
    return f"{capital(study.y_label)} against {study.x_label}"


def frontier_charts(study: Frontier) -> tuple[Chart, ...]:
    """The curve with its knee and the best plan."""
    points, title = study.points, _title(study)
    if not points:
        return (Chart("frontier", title, study.message or "No plan."),)
    log = study.x_name == "storage" and min(point.x for point in points) > 0
    across, wide = sized_axis(study.x_label, (p.x for p in points), study.x_unit, log=log)
    up, high = sized_axis(study.y_label, (p.y for p in points), study.y_unit)
    xs = tuple(point.x / wide for point in points)
    ys = tuple(point.y / high for point in points)
    marks = [("Knee", study.knee), ("Best", study.best)]
    if study.best == study.knee:
        marks = [("Best and knee", study.best)]
    layers: list[Layer] = [Line(f"best {study.y_label}", xs, ys, style="o-")]
    for name, at in marks:
        if at is not None:
            text = f"{name}: {fmt.quantity(points[at].y, study.y_unit)}"
            layers.append(Mark(text, xs[at], ys[at], "diamond" if name == "Knee" else "star"))
    text = f"{fmt.count_noun(len(points), 'plan')}, each the best for its {study.x_label}. "
    text += widest_gap_text([point.gap for point in points])
    return (Chart("frontier", title, text, Panel(across, up, tuple(layers))),)


# Tornado: each input at its low and its high end, the widest swing first.

_FIRST, _MOST_BARS, _APART = 12, 20, 0.17


def tornado(study: Tornado) -> list[Block]:
    """A tornado as blocks."""
    title = Heading(f"{fmt.study_name(study)}  (inputs one at a time, from low to high)")
    if not study.swings:
        return [title, Text((study.message or "no input was changed",))]
    moving = [swing for swing in study.swings if _moves(study, swing)]
    still = [swing.label for swing in study.swings if swing not in moving]
    ends = [(swing, end) for swing in study.swings for end in (swing.low, swing.high)]
    without = tuple(
        f"{swing.label} {end.text}: {end.reason or fmt.STATUS_WORDS[end.status]}"
        for swing, end in ends
        if end.status not in PLANNED
    )
    statuses = {name: sum(end.status == name for _, end in ends) for name in fmt.STATUS_WORDS}
    first = moving[0] if moving else study.swings[0]
    shown, write = _changes(study)
    largest = ", ".join(
        f"at {end.text} {write(end)} {shown.unit if end.objective is not None else ''}".rstrip()
        for end in (first.low, first.high)
    )
    facts = (
        ("Largest", f"{first.label}: {largest}" if moving else "no input changes the plan"),
        ("Now", fmt.base_objective(study) or "no plan"),
        ("No effect", fmt.list_first(still, 6)),
        ("", study.message or ""),
    )
    text = f"Each end is a plan of its own, proven within {fmt.gap(study.gap_asked)}: "
    return [
        title,
        Facts(facts),
        _swings(study, [*moving, *(each for each in study.swings if each not in moving)]),
        Text(without, "No plan", points=True, most=8, first=3),
        proof_block((fmt.unchanged_objective(study), f"{text}{fmt.count_statuses(statuses)}.")),
    ]


def _moves(study: Tornado, swing: Swing) -> bool:
    """True if an input changes the objective at an end, or leaves no plan there."""
    ends = (swing.low.objective, swing.high.objective)
    return None in ends or ends != (study.base, study.base)


def _changes(study: Tornado) -> tuple[fmt.Scale, Callable[[End], str]]:
    """The scale of changes, and the text at an end: without a base the objective itself."""
    ends = [end.objective for swing in study.swings for end in (swing.low, swing.high)]
    shown = fmt.result_scale([e - (study.base or 0.0) for e in ends if e is not None], study.unit)
    sign = "" if study.base is None else "+"

    def write(end: End) -> str:
        if end.objective is None:
            return fmt.STATUS_WORDS[end.status]
        change = end.objective - (study.base or 0.0)
        return shown.text(change, sign) if change else "="

    return shown, write


def _swings(study: Tornado, swings: Sequence[Swing]) -> Table:
    shown, write = _changes(study)
    columns = (
        words("input", (swing.label for swing in swings)),
        words("path", (swing.path for swing in swings), detail=True),
        figures("now", (swing.base_text for swing in swings), str, detail=True),
        figures("low", (swing.low.text for swing in swings), str),
        figures("at low", (write(swing.low) for swing in swings), str),
        figures("high", (swing.high.text for swing in swings), str),
        figures("at high", (write(swing.high) for swing in swings), str),
    )
    title = f"{'Change of ' if study.base is not None else ''}{fmt.goal(study)}"
    return Table(fmt.column_head(title, shown.unit), columns, first=_FIRST, rows="inputs")


def tornado_charts(study: Tornado) -> tuple[Chart, ...]:
    """Bars from the low to the high end of each input."""
    title = f"Change of {fmt.goal(study)} by input"
    moving = [swing for swing in study.swings if _moves(study, swing)][:_MOST_BARS]
    if study.base is None or not moving:
        return (Chart("tornado", title, study.message or "No input changes the plan."),)
    ends = [end.objective for swing in moving for end in (swing.low, swing.high)]
    axis, size = sized_axis(fmt.goal(study), [study.base, *ends], study.unit)
    base = study.base / size
    sides: tuple[tuple[str, Tone], ...] = (("low", "main"), ("high", "second"))
    layers: list[Layer] = []
    for side, tone in sides:
        rows = [
            (row + ROW_MIDDLE + _offset(study, swing, side), swing, getattr(swing, side))
            for row, swing in enumerate(moving)
            if getattr(swing, side).objective is not None
        ]
        layers.append(
            Bars(
                f"input at its {side} end",
                tuple(row for row, *_ in rows),
                (base,) * len(rows),
                tuple(end.objective / size for *_, end in rows),
                tuple(fmt.one_line(end.text, 24) for *_, end in rows),
                tone,
                side == "high",
            )
        )
    layers.append(Reference(f"now: {fmt.objective_amount(study, study.base)}", base, False))
    panel = Panel(axis, Axis(""), tuple(layers), rows=tuple(map(_row_name, moving)))
    text = f"{fmt.count_noun(len(study.swings), 'input')} changed one at a time, "
    text += f"{len(moving)} drawn; beside each bar its value there."
    return (Chart("tornado", title, text, panel),)


def _offset(study: Tornado, swing: Swing, side: str) -> float:
    """The shift of a bar beside another on the same side; a bar of no length has words there."""
    low, high, base = swing.low.objective, swing.high.objective, study.base or 0.0
    if low is None or high is None or min(low, high) < base <= max(low, high):
        return 0.0
    return -_APART if side == "low" else _APART


def _row_name(swing: Swing) -> str:
    """The input with its present value, and the ends without a plan."""
    ends = {"low": swing.low, "high": swing.high}
    without = [
        f"{side}: {fmt.STATUS_WORDS[end.status]}"
        for side, end in ends.items()
        if end.objective is None
    ]
    now = f"{fmt.one_line(swing.label, 44)}, now {fmt.one_line(swing.base_text, 24)}"
    return "; ".join([now, *without])


# Uncertain inputs: outcomes, candidate plans.

_SHARES = {f"p{share}": f"{share} %" for share in (5, 25, 50, 75, 95)}
_PERCENTILES = {"least": "least", **_SHARES, "most": "most", "mean": "mean"}
_ON_FIRST = ("p5", "p50", "p95")
_MAIN = ("objective", "goodput", "capex_usd", "tco_usd", "days_to_train")


def uncertain(study: Uncertain) -> list[Block]:
    """An uncertainty analysis as blocks."""
    draw = f"{fmt.count_noun(study.samples, 'sample')}, seed {study.seed}"
    title = Heading(f"{fmt.study_name(study)}  (uncertain inputs: {draw})")
    if not (study.outcomes or study.candidates):
        return [title, Text((study.message or "no scenario has a plan",))]
    proof = f"Every plan is within {fmt.gap(study.largest_gap)} of its bound."
    return [
        title,
        Facts(tuple(_facts(study))),
        _outcomes(study),
        _candidates(study),
        _inputs(study),
        proof_block((proof if study.largest_gap is not None else "",)),
    ]


def _facts(study: Uncertain) -> Iterator[tuple[str, str]]:
    main = next((each for each in study.outcomes if each.name == "objective"), None)
    if main is not None:
        written = fmt.result_scale([main.p5, main.p50, main.p95], main.unit)
        text = f"{fmt.goal(study)} {written.with_unit(main.p50)} (median), {written.text(main.p5)}"
        yield "Best plans", f"{text} to {written.with_unit(main.p95)} in 90 % of scenarios"
    if study.least_regret is not None:
        regret = study.candidates[study.least_regret]
        text = f"least for {regret.name} ({fmt.purchase_text(regret.counts, study.products)}): "
        text += f"{fmt.percent(regret.mean_regret, 2)} on average, "
        worst = f"{fmt.percent(regret.most_regret, 2)} at most"
        if regret.feasible < 1.0:
            worst = f"a limit breaks in {fmt.percent(1.0 - regret.feasible)} of scenarios"
        yield "Regret", text + worst
    count = fmt.count_noun(sum(study.statuses.values()), "scenario")
    drawn = fmt.list_first([each.label for each in study.inputs], 6)
    yield "Drawn", f"{drawn}; {count}: {fmt.count_statuses(study.statuses)}"
    yield "", study.message or ""


def _outcomes(study: Uncertain) -> Table:
    """Percentiles of the outcomes; main ones first."""
    rows = sorted(study.outcomes, key=lambda each: each.name not in _MAIN)
    scales = [
        fmt.result_scale([getattr(each, step) for step in _PERCENTILES], each.unit) for each in rows
    ]
    pairs = list(zip(rows, scales, strict=True))
    columns = [words("outcome", (fmt.column_head(each.label, s.unit) for each, s in pairs))]
    for step, label in _PERCENTILES.items():
        texts = (s.text(getattr(each, step)) for each, s in pairs)
        columns.append(figures(label, texts, str, detail=step not in _ON_FIRST))
    main = sum(each.name in _MAIN for each in rows)
    title = "Best plan of each scenario, percentiles"
    return Table(title, tuple(columns), first=max(1, main), rows="outcomes")


def _candidates(study: Uncertain) -> Table:
    rows = study.candidates
    least = None if study.least_regret is None else rows[study.least_regret]

    def name(each: CandidatePlan) -> str:
        return each.name + (" (least regret)" if each is least else "")

    columns = (
        words("plan", map(name, rows)),
        figures("best in", (each.best_in for each in rows), 0),
        figures("within limits", (each.feasible for each in rows), fmt.percent),
        figures("mean", (each.mean for each in rows), study.unit),
        figures("mean regret", (p.mean_regret for p in rows), lambda share: fmt.percent(share, 2)),
        figures("worst regret", (p.most_regret for p in rows), lambda share: fmt.percent(share, 2)),
        words("buys", (fmt.purchase_text(p.counts, study.products) for p in rows)),
    )
    return Table("Candidate plans, each kept in every scenario", columns, detail=True)


def _inputs(study: Uncertain) -> Table:
    columns = (
        words("input", (each.label for each in study.inputs)),
        words("drawn from", (each.distribution for each in study.inputs)),
    )
    return Table("Uncertain inputs", columns, detail=True)
