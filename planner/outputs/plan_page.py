"""A plan on a page: its answer, its figures and bill, and bars."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from planner.currency import bare
from planner.figures import FIGURES, OBJECTIVES, capital, objective_label
from planner.outputs.audience import HIDDEN_OBJECTIVE
from planner.outputs.charts.words import gap, short
from planner.outputs.parts import (
    Bar,
    PageColumn,
    Part,
    bars,
    figures,
    plain_table,
    text_part,
    tiles,
    words,
)
from planner.outputs.scope import binding_limits, decided_lines, own_lines
from planner.outputs.sensitivity_words import STATUS
from planner.outputs.views.alternatives import bought_text
from planner.outputs.views.plan import figure_text, reached, standing_idle, used_share
from planner.outputs.views.plan import question_text as asked_in_words
from planner.outputs.views.storage_options import decided, needed, units
from planner.outputs.words import (
    about,
    amount_of,
    duration,
    given_away,
    listed,
    money,
    next_step,
    number,
    percent,
    product,
    quantity,
    size,
    so_many,
)
from planner.schema.comparison import RulesTable
from planner.schema.plan import JobPlan, LimitReport, Plan, StepNeed, Totals
from planner.schema.sensitivity import Study

AnyStudy = Study | RulesTable


def facts_of_plan(plan: Plan) -> Iterator[tuple[str, str]]:
    """Yield the problem of a plan, its objective, and what was laid over the file."""
    made = plan.provenance
    yield "Problem", plan.problem + _file(made.problem_file)
    if plan.description:
        yield "About", plan.description
    yield from _laid_over(made.scenario, made.overrides)
    goal, money = plan.objective, plan.shown_in
    if goal.name != HIDDEN_OBJECTIVE:
        yield "Objective", _goal(goal.name, goal.sense, goal.gap_asked)
    if money.source:  # outside nobody is told whose rate it is
        yield "Currency", money.rate_text()


def facts_of_study(study: AnyStudy) -> Iterator[tuple[str, str]]:
    """Yield the same of a study."""
    yield "Problem", study.problem + _file(study.problem_file)
    yield from _laid_over(study.scenario, study.overrides)
    if not isinstance(study, RulesTable):
        yield "Objective", _goal(study.objective, study.sense, study.gap_asked)


def _file(name: str) -> str:
    return f" ({name})" if name else ""


def _laid_over(scenario: str | None, overrides: Sequence[str]) -> Iterator[tuple[str, str]]:
    if scenario is not None:
        yield "Scenario", scenario
    if overrides:
        yield "Changed", ", ".join(overrides)


def _goal(name: str, sense: str, gap_asked: float) -> str:
    proven = f", proven to {gap(gap_asked)}" if gap_asked else ""  # no proof is told outside
    return f"{sense} {objective_label(name)}{proven}"


def answer(plan: Plan) -> list[Part]:
    """Return the plan in a sentence, its figures, and its limits."""
    totals = plan.totals
    if totals is None or not plan.jobs:
        return [text_part(capital(plan.message or STATUS[plan.status]), "note")]
    job = plan.jobs[0]
    binding = [limit.label for limit in binding_limits(plan) if not limit.exact]
    idle = standing_idle(plan)
    step = plan.next_step
    better = next_step(plan, step) if step is not None and step.needs else ""
    asked_for = asked_in_words(plan, job) if plan.objective.name != HIDDEN_OBJECTIVE else ""
    return [
        text_part(f"Objective: {asked_for}." if asked_for else "", "muted"),
        text_part(_sentence(plan, totals, job), "answer"),
        text_part(f"{idle}." if idle else ""),
        text_part(_proof(plan), "muted"),
        tiles(_tiles(plan, job)),
        bars("Limits", _holding(binding), _limits(plan)),
        text_part(f"Next step: {better}." if better else ""),
    ]


def _holding(binding: Sequence[str]) -> str:
    if not binding:
        return "No limit binds."
    return f"{capital(listed(binding))} {'binds' if len(binding) == 1 else 'bind'}."


_MOST_NAMED = 4


def _sentence(plan: Plan, totals: Totals, job: JobPlan) -> str:
    """Purchase, work, power and money in a sentence."""
    named = [so_many(line.working, product(line)) for line in decided_lines(plan)]
    more = len(named) - _MOST_NAMED
    sentence = listed([*named[:_MOST_NAMED], *([f"{more} more"] if more > 0 else [])])
    sentence += f": {job.gpus_used:,} GPUs in use"
    if job.useful_pflops is not None:
        sentence += f" that do {about(job.useful_pflops)} PFLOP/s of useful training work"
    else:
        sentence += f" equivalent to {job.useful_gpus:,.0f} at 100 % goodput"
    kw = totals.it_power_kw
    if kw is not None:
        sentence += f", on {number(kw / 1000, 2)} MW" if kw >= 1000 else f", on {number(kw)} kW"
        sentence += " of IT load"
    return sentence + (f", for {money(totals.capex_usd)}." if totals.capex_usd else ".")


def shares(plan: Plan) -> list[Part]:
    """Operation of the jobs; shares of money, power and time."""
    assert plan.totals is not None
    capex, power = plan.totals.capex_by_section_usd, _power_kw(plan)
    found = [
        text_part(
            f"{capital(job.name)}: a checkpoint of {size(job.checkpoint_gb)} every "
            f"{duration(job.interval_s)}, an interruption every {duration(job.mtti_s)}; goodput "
            f"{percent(job.goodput, 2)}."
        )
        for job in plan.jobs
    ]
    found.append(bars("Capex by section", "", _parts(capex, money)))
    found.append(bars("IT load by section", "", _parts(power, lambda kw: f"{number(kw, 1)} kW")))
    for job in plan.jobs:
        title = f"Time of {job.name}"
        under = f"{percent(job.goodput, 2)} is progress; the rest, minutes of a day:"
        found.append(bars(title, under, _losses(job)))
    return [each for each in found if each.get("bars", True)]


def storage(plan: Plan) -> list[Part]:
    """Return the storage alternatives, what each costs, and whose quote decides."""
    found = plan.storage_options
    if found is None:
        return []
    options = found.options
    columns = [
        words("storage", [units(option) for option in options]),
        *(
            figures(name, [getattr(option, f"{name}_usd") for option in options], "USD")
            for name in ("low", "list", "high")
        ),
    ]
    sentence = f"{capital(needed(plan, found))}. {capital(decided(plan, found))}."
    return [text_part(sentence), plain_table("Storage alternatives", columns)]


def side_by_side(plans: Sequence[tuple[str, Plan]]) -> Part:
    """Return the figures of several plans in a table, a column for each.

    Args:
        plans: by their names.
    """
    columns = [_figures(plan) for _, plan in plans]
    rows = list(dict.fromkeys(name for column in columns for name in column))
    return plain_table(
        "Figures",
        [
            words("figure", [capital(row) for row in rows]),
            *(
                PageColumn(name, tuple(column.get(row, "") for row in rows))
                for (name, _), column in zip(plans, columns, strict=True)
            ),
        ],
    )


def _figures(plan: Plan) -> dict[str, str]:
    """The figures for plans side by side."""
    goal = plan.objective
    found = {"problem": plan.problem, "status": STATUS[plan.status]}
    if goal.name != HIDDEN_OBJECTIVE and goal.value is not None:
        name = f"{goal.sense} {objective_label(goal.name)}"
        found[name] = f"{amount_of(goal.name, goal.value)} (gap {gap(goal.gap)})"
    if plan.totals is None or not plan.jobs:
        return found
    job = plan.jobs[0]
    found["buys"] = bought_text(plan)
    tiles = ((value, name.partition(" (")[0]) for value, name in _tiles(plan, job))
    found |= {name: value for value, name in tiles}
    binding = [limit.label for limit in binding_limits(plan) if not limit.exact]
    return found | {
        FIGURES["interval_s"].label: duration(job.interval_s),
        "what holds it": listed(binding) or "no limit",
    }


def _proof(plan: Plan) -> str:
    """Bound, value and near-optimal loss in a sentence."""
    goal = plan.objective
    if goal.name == HIDDEN_OBJECTIVE or goal.value is None or goal.bound is None:
        return ""
    better = "more" if goal.sense == "maximize" else "less"
    sentence = f"No plan within these limits has {better} than {amount_of(goal.name, goal.bound)}"
    away = given_away(plan)
    if away is None:
        return f"{sentence}; this one has {amount_of(goal.name, goal.value)} (gap {gap(goal.gap)})."
    away = away.partition("; `")[0].partition(" (policy")[0]  # how to ask otherwise
    return f"{sentence}; this one has {amount_of(goal.name, goal.value)}: {away}."


_GOALS = {"maximize": " (maximised)", "minimize": " (minimised)"}
TILES = 9
_FIGURES = (
    "useful_pflops", "gpus_used", "goodput", "capex_usd", "tco_usd", "it_power_kw",
    "facility_power_kw", "racks", "delivered_write_gb_per_s", "interval_s", "days_to_train",
    "usable_tb", "restore_s", "useful_gpus",
)  # fmt: skip


def _tiles(plan: Plan, job: JobPlan) -> Iterator[tuple[str, str]]:
    """Yield nine figures that a plan is known by, as its workbook has them, each with its label.

    What is maximised or minimised comes first; then work, money, and the site.
    """
    goal = OBJECTIVES.get(plan.objective.name)
    first = "" if goal is None else goal.figure.name
    known = [
        (name, figure_text(name, value))
        for name in dict.fromkeys((first, *_FIGURES))
        if (value := getattr(job, name, None) or getattr(plan.totals, name, None)) is not None
    ]
    for name, figure in known[:TILES]:
        yield figure, FIGURES[name].label + (_GOALS[plan.objective.sense] if name == first else "")


def bill(plan: Plan) -> list[Part]:
    """Return the whole bill, with its sums; money has no column where the edition shows none."""
    lines = own_lines(plan)
    columns = [
        (words("item", [product(line) for line in lines]), "Total"),
        (words("part number, else id", [line.part_number or line.sku for line in lines]), ""),
        (words("section", [line.section for line in lines]), ""),
        (PageColumn("quantity", tuple(f"{line.quantity:,}" for line in lines)), ""),
    ]
    if any(line.unit_net_usd is not None for line in lines):
        code = plan.shown_in.code
        columns.append((PageColumn("bought", tuple(f"{line.purchased:,}" for line in lines)), ""))
        if any(line.unit_list_usd not in (None, line.unit_net_usd) for line in lines):
            columns.append(
                (PageColumn(f"unit list, {code}", tuple(_usd(x.unit_list_usd) for x in lines)), "")
            )
        if any(line.discount for line in lines):
            shares = tuple(percent(line.discount) if line.discount else "" for line in lines)
            columns.append((PageColumn("discount", shares), ""))
        columns += [
            (PageColumn(f"unit net, {code}", tuple(_usd(line.unit_net_usd) for line in lines)), ""),
            _summed(f"net, {code}", [line.extended_net_usd for line in lines], _usd),
        ]
    columns.append(_summed(FIGURES["it_power_kw"].title, [line.it_power_kw for line in lines], _kw))
    texts = [(product(line), note) for line in lines for note in line.public_notes]
    notes = [*plan.public_notes, *(f"{named}: {note}" for named, note in texts)]
    heads, totals = zip(*columns, strict=True)
    return [plain_table("Bill", heads, totals, notes=notes)]


def _summed(
    head: str, values: Sequence[float | None], said: Callable[[float | None], str]
) -> tuple[PageColumn, str]:
    """Return a column with its sum, which says so where a line's figure is not known."""
    known = [value for value in values if value is not None]
    total = said(math.fsum(known)) + (", known part" if len(known) < len(values) else "")
    return PageColumn(head, tuple(said(value) for value in values)), total


def _usd(usd: float | None) -> str:
    return bare(usd, None)


def _kw(kw: float | None) -> str:
    return "not known" if kw is None else f"{kw:,.2f}"


_LABEL = 60
_MOST_LIMITS = 12
_MINUTES_PER_DAY = 1440


def _limits(plan: Plan) -> list[Bar]:
    """Binding limits, then the nearest; without those that fix a count."""
    needs = {} if plan.next_step is None else {need.name: need for need in plan.next_step.needs}
    bars = [
        Bar(_label(limit.label), used_share(limit), _of(limit, needs.get(limit.name)),
            limit.binding)
        for limit in plan.limits
        if not limit.exact
    ]  # fmt: skip
    return sorted(bars, key=lambda bar: (not bar.full, -bar.share))[:_MOST_LIMITS]


def _label(text: str) -> str:
    return capital(short(text, _LABEL))


def _of(limit: LimitReport, need: StepNeed | None) -> str:
    used = reached(limit) + (" (binding)" if limit.binding else "")
    return used if need is None else f"{used}; {quantity(need.value, need.unit)} for the next step"


def _parts(amounts: dict[str, float], said: Callable[[float], str]) -> list[Bar]:
    whole = sum(amounts.values())
    if whole <= 0:
        return []
    ranked = sorted(amounts.items(), key=lambda pair: -pair[1])
    return [
        Bar(name, value / whole, f"{said(value)}, {percent(value / whole)}")
        for name, value in ranked
        if value > 0
    ]


def _power_kw(plan: Plan) -> dict[str, float]:
    found: dict[str, float] = {}
    for line in own_lines(plan):
        found[line.section] = found.get(line.section, 0.0) + (line.it_power_kw or 0.0)
    return found


def _losses(job: JobPlan) -> list[Bar]:
    lost = job.losses
    most = max(lost.values())
    if most <= 0:
        return []
    return [
        Bar(
            _label(FIGURES[f"loss.{name}"].label),
            share / most,
            f"{share * _MINUTES_PER_DAY:,.1f} min, {percent(share, 2)}",
        )
        for name, share in sorted(lost.items(), key=lambda pair: -pair[1])
    ]
