"""A plan on a page: the blocks of its screen, shares of money, power and time, the whole bill."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from planner.currency import bare
from planner.figures import FIGURES, OBJECTIVES, capital, objective_label
from planner.report.audience import HIDDEN_OBJECTIVE
from planner.report.blocks import Bar, Bars, Block, Column, Facts, Table, Text, Tiles
from planner.report.charts.words import gap
from planner.report.scope import binding_limits, decided_lines, own_lines
from planner.report.sensitivity_words import STATUS
from planner.report.views import storage_options
from planner.report.views.alternatives import bought_text
from planner.report.views.plan import answer_lines, limit_bars, tiles
from planner.report.words import (
    about,
    amount_of,
    duration,
    given_away,
    listed,
    money,
    percent,
    power,
    product,
    proof,
    so_many,
)
from planner.schema.analysis import RulesTable, Study
from planner.schema.operation import JobPlan
from planner.schema.plan import Plan, Totals

AnyStudy = Study | RulesTable
_TILES, _MOST_LIMITS, _MOST_NAMED = 9, 12, 4
_MINUTES_PER_DAY = 1440


def sections(plan: Plan) -> Iterator[tuple[str, str, list[Block]]]:
    """Place, title and blocks of each part: the answer first, the bill and the problem last."""
    totals = plan.totals
    if totals is None or not plan.jobs:
        text = capital(plan.message or STATUS[plan.status])
        yield "answer", "The plan", [Text((text,), style="note")]
    else:
        yield "answer", "The plan", _answer(plan, totals)
        yield "shares", "Money, power and time", _shares(plan, totals)
        if plan.storage_options is not None:
            (block,) = storage_options.blocks(plan)
            yield "storage", "Storage alternatives", [replace(block, title="")]
        yield "bill", "Bill of materials", [_bill(plan)]
    yield "asked", "Problem", [Facts(tuple(_facts_of_plan(plan)))]


def _answer(plan: Plan, totals: Totals) -> list[Block]:
    job = plan.jobs[0]
    goal = plan.objective
    shown = goal.name != HIDDEN_OBJECTIVE and goal.value is not None and goal.bound is not None
    rows = [
        *answer_lines(plan, totals, job),
        ("Tolerance", given_away(plan) or ""),
        ("Proof", proof(goal) if shown else ""),
    ]
    return [
        Text((_sentence(plan, totals, job),), style="answer"),
        Tiles(tuple(tiles(totals, job, _TILES))),
        Facts(tuple(rows)),
        limit_bars(plan, _MOST_LIMITS),
    ]


def _sentence(plan: Plan, totals: Totals, job: JobPlan) -> str:
    """Purchase, work, power and money in a sentence."""
    named = [so_many(line.working, product(line)) for line in decided_lines(plan)]
    more = len(named) - _MOST_NAMED
    text = listed([*named[:_MOST_NAMED], *([f"{more} more"] if more > 0 else [])])
    text += f": {job.gpus_used:,} GPUs in use"
    if job.useful_pflops is not None:
        text += f", {about(job.useful_pflops)} PFLOP/s of useful training work"
    else:
        text += f", {job.useful_gpus:,.0f} effective GPUs"
    text += f", {power(round(totals.it_power_kw))} of IT load" if totals.it_power_kw else ""
    return text + (f", for {money(totals.capex_usd)}." if totals.capex_usd else ".")


def _shares(plan: Plan, totals: Totals) -> list[Block]:
    kw: dict[str, float] = {}
    for line in own_lines(plan):
        kw[line.section] = kw.get(line.section, 0.0) + (line.it_power_kw or 0.0)
    found: list[Block] = [
        Bars("Capex by section", _by_section(totals.capex_by_section_usd, money)),
        Bars("IT load by section", _by_section(kw, power)),
    ]
    for job in plan.jobs:
        under = f"Goodput {percent(job.goodput, 2)}, an interruption every "
        under += f"{duration(job.mtti_s)}; minutes of a day lost to:"
        found.append(Bars(f"Lost time of {job.name or 'the job'}", _losses(job), under))
    return found


def _by_section(amounts: dict[str, float], write: Callable[[float], str]) -> tuple[Bar, ...]:
    whole = sum(amounts.values())
    ranked = sorted(amounts.items(), key=lambda pair: -pair[1])
    return tuple(
        Bar(name, value / whole, f"{write(value)}, {percent(value / whole)}")
        for name, value in ranked
        if value > 0
    )


def _losses(job: JobPlan) -> tuple[Bar, ...]:
    ranked = sorted(job.losses.items(), key=lambda pair: -pair[1])
    most = ranked[0][1] if ranked else 0.0
    return tuple(
        Bar(
            capital(FIGURES[f"loss.{name}"].label),
            share / most,
            f"{share * _MINUTES_PER_DAY:,.1f} min, {percent(share, 2)}",
        )
        for name, share in ranked
        if most > 0
    )


def _bill(plan: Plan) -> Table:
    """Every line, with sums; money has no column where the edition shows none."""
    lines, code = own_lines(plan), plan.shown_in.code

    def words(head: str, texts: Sequence[str], foot: str = "") -> Column:
        return Column(head, tuple(texts), words=True, foot=foot)

    def each(head: str, texts: Sequence[str], foot: str = "") -> Column:
        return Column(head, tuple(texts), foot=foot)

    columns = [
        words("item", [product(line) for line in lines], "Total"),
        words("part number, else id", [line.part_number or line.sku for line in lines]),
        words("section", [line.section for line in lines]),
        each("quantity", [f"{line.quantity:,}" for line in lines]),
    ]
    if any(line.unit_net_usd is not None for line in lines):
        columns.append(each("bought", [f"{line.purchased:,}" for line in lines]))
        if any(line.unit_list_usd not in (None, line.unit_net_usd) for line in lines):
            columns.append(each(f"unit list, {code}", [_paid(x.unit_list_usd) for x in lines]))
        if any(line.discount for line in lines):
            shares = [percent(line.discount) if line.discount else "" for line in lines]
            columns.append(each("discount", shares))
        columns.append(each(f"unit net, {code}", [_paid(line.unit_net_usd) for line in lines]))
        nets = [line.extended_net_usd for line in lines]
        columns.append(each(f"net, {code}", [*map(_paid, nets)], _total(nets, _paid)))
    kws = [line.it_power_kw for line in lines]
    columns.append(each(FIGURES["it_power_kw"].title, [*map(_kw, kws)], _total(kws, _kw)))
    notes = [f"{product(line)}: {note}" for line in lines for note in line.public_notes]
    return Table("Bill", tuple(columns), notes=(*plan.public_notes, *notes), whole=True)


def _total(values: Sequence[float | None], write: Callable[[float | None], str]) -> str:
    known = [value for value in values if value is not None]
    return write(math.fsum(known)) + (", known part" if len(known) < len(values) else "")


def _paid(amount: float | None) -> str:
    return bare(amount, None)


def _kw(kw: float | None) -> str:
    return "not known" if kw is None else f"{kw:,.2f}"


def side_by_side(plans: Sequence[tuple[str, Plan]]) -> Table:
    """The figures of several plans, a column for each, by name."""
    figures = [_figures(plan) for _, plan in plans]
    rows = list(dict.fromkeys(name for each in figures for name in each))
    columns = (
        Column(name, tuple(each.get(row, "") for row in rows))
        for (name, _), each in zip(plans, figures, strict=True)
    )
    labels = Column("figure", tuple(map(capital, rows)), words=True)
    return Table("Figures", (labels, *columns), whole=True)


def _figures(plan: Plan) -> dict[str, str]:
    goal = plan.objective
    found = {"problem": plan.problem, "status": STATUS[plan.status]}
    if goal.name != HIDDEN_OBJECTIVE and goal.value is not None:
        name = f"{goal.sense} {objective_label(goal.name)}"
        found[name] = f"{amount_of(goal.name, goal.value)} (gap {gap(goal.gap)})"
    if plan.totals is None or not plan.jobs:
        return found
    goal_figure = OBJECTIVES[goal.name].figure.label if goal.name in OBJECTIVES else ""
    shown = tiles(plan.totals, plan.jobs[0], _TILES)
    found |= {"purchase": bought_text(plan)}
    found |= {label: value for value, label in shown if label != goal_figure}
    binding = [limit.label for limit in binding_limits(plan) if not limit.exact]
    return found | {"binding limits": listed(binding) or "none"}


def _facts_of_plan(plan: Plan) -> Iterator[tuple[str, str]]:
    made = plan.provenance
    yield "Problem", plan.problem + (f" ({made.problem_file})" if made.problem_file else "")
    yield "About", plan.description or ""
    yield "Scenario", made.scenario or ""
    yield "Changed", ", ".join(made.overrides)
    if plan.objective.gap_asked:  # no proof is told outside
        yield "Gap asked", gap(plan.objective.gap_asked)
    if plan.shown_in.source:  # outside nobody is told whose rate it is
        yield "Currency", plan.shown_in.rate_text()


def facts_of_study(study: AnyStudy) -> Iterator[tuple[str, str]]:
    """The problem of a study, its scenario and changes, and its objective."""
    yield "Problem", study.problem + (f" ({study.problem_file})" if study.problem_file else "")
    yield "Scenario", study.scenario or ""
    yield "Changed", ", ".join(study.overrides)
    if not isinstance(study, RulesTable):
        proven = f", proven to {gap(study.gap_asked)}" if study.gap_asked else ""
        yield "Objective", f"{study.sense} {objective_label(study.objective)}{proven}"
