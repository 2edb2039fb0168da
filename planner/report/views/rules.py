"""Storage rules side by side: the plan under each rule, mode, variant and vendor."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence

from planner.figures import FIGURES, capital
from planner.report.blocks import (
    Block,
    Column,
    Facts,
    Heading,
    Table,
    Text,
    figures,
    proof_block,
    words,
)
from planner.report.charts.model import ROW_MIDDLE, Axis, Bars, Chart, Panel, Reference, proven
from planner.report.words import duration, millions, money, named, percent, short, signed, valued
from planner.schema.analysis import (
    Bought,
    Outcome,
    RuleRow,
    RulesTable,
)

_GROUPS = {"rule": "rule", "mode": "mode", "variant": "file system", "vendor": "vendor"}
_LABEL, _REASON = 40, 70


def view(found: RulesTable) -> list[Block]:
    """A table of rules as blocks."""
    own, measure = found.rows[0], found.measure
    text = f"no plan: {own.reason or 'none was found'}"
    if (plan := own.outcome) is not None:
        bought = ", ".join(f"{each.quantity:,} {each.model}" for each in plan.storage)
        cost = f", {money(plan.capex_usd)} of capex" if plan.capex_usd is not None else ""
        value = f"{valued(plan.measured or 0.0, measure.unit)} of {measure.label}"
        text = f"{bought or 'no storage'}: {value}{cost}"
    return [
        Heading(f"{named(found)}  (storage by other rules)"),
        Facts((("Required", text),)),
        _table(found),
        Text((_command(found),), "Command", detail=True),
        proof_block((proven([row.outcome.gap for row in found.rows if row.outcome]),)),
    ]


def _table(found: RulesTable) -> Table:
    rows = found.rows
    plans = [row.outcome for row in rows]
    million = found.shown_in.large[1]

    def column(label: str, write: Callable[[Outcome], str], *, detail: bool = False) -> Column:
        return figures(label, plans, write, detail=detail)

    storage = (
        f"no plan: {row.reason or 'none was found'}" if p is None else _storage(p.storage)
        for row, p in zip(rows, plans, strict=True)
    )
    columns = (
        words("", (f"{row.label}{' *' if row.own else ''}" for row in rows)),
        words("kind", (_GROUPS.get(row.group, "") for row in rows), detail=True),
        words("storage", storage),
        column("against", lambda p: signed(p.difference)),
        column(f"capex, {million}", lambda p: millions(p.capex_usd)),
        column("storage kW", lambda p: valued(p.storage_it_power_kw or 0.0, "")),
        column("GPUs in use", lambda p: f"{p.gpus_used:,}", detail=True),
        column(
            FIGURES["useful_pflops"].label if found.measure.name == "useful_pflops"
            else found.measure.label,
            lambda p: valued(p.measured or 0.0, found.measure.unit),
            detail=True,
        ),
        column(
            "days to train",
            lambda p: "-" if p.days_to_train is None else f"{p.days_to_train:,.1f}",
            detail=True,
        ),
        column("interval", lambda p: duration(p.interval_s), detail=True),
        column("goodput", lambda p: percent(p.goodput, 2), detail=True),
    )  # fmt: skip
    notes = ("* as the problem file requires",) if any(row.own for row in rows) else ()
    return Table("Plan by storage rule", columns, notes, rows="rules")


def _storage(bought: Sequence[Bought]) -> str:
    """The largest of several purchases, and the number of others."""
    if not bought:
        return "none"
    first = max(bought, key=lambda each: each.quantity)
    more = f", +{len(bought) - 1} more" if len(bought) > 1 else ""
    return f"{first.quantity:,} {first.model}{more}"


def _command(found: RulesTable) -> str:
    """The command that solves a row in full."""
    row = next((row for row in found.rows if row.settings and not row.own), found.rows[0])
    scenario = [] if found.scenario is None else ["--scenario", found.scenario]
    settings = [part for text in (*found.overrides, *row.settings) for part in ("--set", text)]
    return shlex.join(["planner", "solve", found.problem_file, *scenario, *settings])


def charts(study: RulesTable) -> tuple[Chart, ...]:
    """Bars of work and money against the required storage."""
    title = "Cost of each storage rule"
    if not any(row.outcome is not None for row in study.rows[1:]):
        return (Chart("rules", title, "No other rule has a plan."),)
    sense = 1.0 if study.measure.sense == "maximize" else -1.0
    own = study.rows[0].outcome
    base_usd = None if own is None else own.capex_usd
    size, million = study.shown_in.large

    def cost(plan: Outcome) -> float | None:
        if plan.capex_usd is None or base_usd is None:
            return None
        return float((plan.capex_usd - base_usd) / size)

    def work(plan: Outcome) -> float | None:
        return None if plan.difference is None else 100.0 * plan.difference

    panels = [_panel(study, study.measure.label, "%", sense, work)]
    if base_usd is not None:
        panels.append(_panel(study, "capex", million, -1.0, cost))
    text = "Each bar is the best plan by another rule, against the plan for the required storage."
    return (Chart("rules", title, text, tuple(panels)),)


def _panel(
    study: RulesTable, label: str, unit: str, good: float, value: Callable[[Outcome], float | None]
) -> Panel:
    """The bars of one figure; ``good`` is the sign of a better value."""
    rows = study.rows[1:]
    known = [(at, row, value(row.outcome)) for at, row in enumerate(rows) if row.outcome]
    layers = []
    for name, better in (("better", True), ("worse", False)):
        bars = [(at, row, v) for at, row, v in known if v is not None and (good * v >= 0) == better]
        layers.append(
            Bars(
                name,
                tuple(at + ROW_MIDDLE for at, *_ in bars),
                (0.0,) * len(bars),
                tuple(found for *_, found in bars),
                tuple(_hover(row) for _, row, _ in bars),
                tuple(_signed(found, unit) for *_, found in bars),
                "main" if better else "second",
                not better,
            )
        )
    names = tuple(
        short(row.label, _LABEL)
        if row.outcome
        else short(f"{row.label}: no plan; {row.reason or 'none was found'}", _REASON)
        for row in rows
    )
    axis = Axis(f"{label} against required storage", unit)
    reference = Reference("required storage", 0.0, False)
    return Panel(axis, Axis(""), (*layers, reference), rows=names)


def _signed(value: float, unit: str) -> str:
    digits = 3 if abs(value) < 0.1 else 2 if abs(value) < 9.995 else 1
    return "0" if not round(value, 4) else f"{value:+,.{digits}f} {unit}"


def _hover(row: RuleRow) -> str:
    assert row.outcome is not None
    bought = (*row.outcome.systems, *row.outcome.storage)
    units = ", ".join(f"{each.quantity:,} × {each.product}" for each in bought)
    return f"{capital(row.label)}: {short(row.asks, 80)}\n{units}"
