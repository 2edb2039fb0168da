"""Storage rules side by side: the plan under each rule, mode, variant and vendor."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence

from planner.figures import FIGURES, capital
from planner.report.blocks import Block, Column, Facts, Heading, Table, Text, proof_block
from planner.report.charts.model import ROW_MIDDLE, Axis, Bars, Chart, Panel, Reference
from planner.report.charts.words import short
from planner.report.words import (
    duration,
    gap,
    millions,
    money,
    number,
    percent,
    signed,
    write_figure,
)
from planner.schema.analysis import (
    Bought,
    Outcome,
    RuleRow,
    RulesTable,
)

_GROUPS = {"rule": "rule", "mode": "mode", "variant": "file system", "vendor": "vendor"}
_LABEL, _REASON = 40, 70


def view(found: RulesTable) -> list[Block]:
    """Return a table of rules as blocks."""
    scenario = "" if found.scenario is None else f", scenario {found.scenario}"
    own = found.rows[0]
    blocks: list[Block] = [Heading(f"{found.problem}{scenario}  (storage by other rules)")]
    if own.outcome is None:
        blocks.append(Facts((("Required", f"no plan: {own.reason or 'none was found'}"),)))
    else:
        measure, plan = found.measure, own.outcome
        value = write_figure(plan.measured, "USD" if "USD" in measure.unit else "number")
        label = measure.label if "USD" in measure.unit else f"{measure.unit} of {measure.label}"
        cost = f", {money(plan.capex_usd)} of capex" if plan.capex_usd is not None else ""
        bought = ", ".join(f"{each.quantity:,} {each.model}" for each in plan.storage)
        blocks.append(Facts((("Required", f"{bought or 'no storage'}: {value} {label}{cost}"),)))
    return [
        *blocks,
        Text(found.argument, "Findings", points=True),
        _table(found),
        Text((_command(found),), "Command", detail=True),
        proof_block((_proven(found),)),
    ]


def _table(found: RulesTable) -> Table:
    rows = found.rows
    plans = [row.outcome for row in rows]
    measure = found.measure
    first = measure.label if measure.name != "useful_pflops" else FIGURES["useful_pflops"].label
    unit = "USD" if "USD" in measure.unit else "number"
    million = found.shown_in.large[1]

    def texts(write: Callable[[Outcome], str]) -> tuple[str, ...]:
        return tuple("" if plan is None else write(plan) for plan in plans)

    storage = tuple(
        f"no plan: {row.reason or 'none was found'}" if plan is None else _storage(plan.storage)
        for row, plan in zip(rows, plans, strict=True)
    )
    labels = tuple(f"{row.label}{' *' if row.own else ''}" for row in rows)
    columns = (
        Column("rule", labels, head=("",), words=True),
        Column("", tuple(_GROUPS.get(row.group, "") for row in rows), words=True, detail=True),
        Column("storage", storage, words=True, gives_way=True),
        Column("storage kW", texts(lambda p: number(p.storage_it_power_kw)),
               head=("storage", "kW"), spare=1),
        Column("IT kW", texts(lambda p: number(p.it_power_kw)), head=("IT", "kW"), detail=True),
        Column(f"capex, {million}", texts(lambda p: millions(p.capex_usd)),
               head=("capex", million)),
        Column("GPUs in use", texts(_gpus), head=("GPUs", "in use"), detail=True),
        Column(first, texts(lambda p: write_figure(p.measured, unit)),
               head=(first, measure.unit), detail=True),
        Column("against", texts(lambda p: signed(p.difference))),
        Column("days to train", texts(lambda p: "-" if p.days_to_train is None
                                      else number(p.days_to_train, 1)),
               head=("days to", "train"), detail=True),
        Column("interval", texts(lambda p: duration(p.interval_s)), detail=True),
        Column("goodput", texts(lambda p: percent(p.goodput, 2)), detail=True),
    )  # fmt: skip
    notes = ("* as the problem file asks",) if any(row.own for row in rows) else ()
    return Table("Plan by storage rule", columns, notes, rows="rules")


def _storage(bought: Sequence[Bought]) -> str:
    """Return the largest of several purchases, and the number of others."""
    if not bought:
        return "none"
    first = max(bought, key=lambda each: each.quantity)
    more = f", +{len(bought) - 1} more" if len(bought) > 1 else ""
    return f"{first.quantity:,} {first.model}{more}"


def _gpus(plan: Outcome) -> str:
    idle = "" if plan.gpus == plan.gpus_used else f" of {plan.gpus:,}"
    return f"{plan.gpus_used:,}{idle}"


def _proven(found: RulesTable) -> str:
    gaps = [row.outcome.gap for row in found.rows if row.outcome is not None]
    unknown = sum(share is None for share in gaps)
    most = max((share for share in gaps if share is not None), default=0.0)
    text = f"Every plan is proven within {'0.0001 %' if 0 < most < 1e-6 else gap(most)}."
    return f"{text} No bound for {unknown}." if unknown else text


def _command(found: RulesTable) -> str:
    """Return the command that solves a row in full."""
    row = next((row for row in found.rows if row.settings and not row.own), found.rows[0])
    scenario = [] if found.scenario is None else ["--scenario", found.scenario]
    settings = [part for text in (*found.overrides, *row.settings) for part in ("--set", text)]
    return shlex.join(["planner", "solve", found.problem_file, *scenario, *settings])


def charts(study: RulesTable) -> tuple[Chart, ...]:
    """Return bars of work and money against the required storage."""
    title = "Cost of each storage rule"
    if not any(row.outcome is not None for row in study.rows[1:]):
        return (Chart("rules", title, "No other rule has a plan."),)
    sense = 1.0 if study.measure.sense == "maximize" else -1.0
    own = study.rows[0].outcome
    base_usd = None if own is None else own.capex_usd

    def work(plan: Outcome) -> float | None:
        return None if plan.difference is None else 100.0 * plan.difference

    def cost(plan: Outcome) -> float | None:
        if plan.capex_usd is None or base_usd is None:
            return None
        return (plan.capex_usd - base_usd) / study.shown_in.large[0]

    panels = [_panel(study, study.measure.label, "%", sense, work)]
    if base_usd is not None:
        panels.append(_panel(study, "capex", study.shown_in.large[1], -1.0, cost))
    words = "Each bar is the best plan by another rule, against the plan for the required storage."
    return (Chart("rules", title, words, tuple(panels)),)


def _panel(
    study: RulesTable, label: str, unit: str, good: float, value: Callable[[Outcome], float | None]
) -> Panel:
    """Return the bars of one figure; ``good`` is the sign of a better value."""
    rows = study.rows[1:]
    layers = []
    for name, better in (("better", True), ("worse", False)):
        bars = [
            (at + ROW_MIDDLE, found, row)
            for at, row in enumerate(rows)
            if row.outcome is not None and (found := value(row.outcome)) is not None
            and (good * found >= 0) == better
        ]  # fmt: skip
        layers.append(
            Bars(
                name,
                tuple(at for at, *_ in bars),
                (0.0,) * len(bars),
                tuple(found for _, found, _ in bars),
                tuple(_hover(row) for *_, row in bars),
                tuple(_signed(found, unit) for _, found, _ in bars),
                "main" if better else "second",
                not better,
            )
        )
    names = tuple(
        short(row.label, _LABEL) if row.outcome is not None
        else short(f"{row.label}: no plan; {row.reason or 'none was found'}", _REASON)
        for row in rows
    )  # fmt: skip
    return Panel(
        Axis(f"{label} against required storage", unit), Axis(""), tuple(layers),
        references=(Reference("required storage", 0.0, False),), rows=names,
    )  # fmt: skip


def _signed(value: float, unit: str) -> str:
    digits = 3 if abs(value) < 0.1 else 2 if abs(value) < 9.995 else 1
    return "0" if not round(value, 4) else f"{value:+,.{digits}f} {unit}"


def _hover(row: RuleRow) -> str:
    assert row.outcome is not None
    bought = (*row.outcome.systems, *row.outcome.storage)
    units = ", ".join(f"{each.quantity:,} × {each.product}" for each in bought)
    return f"{capital(row.label)}: {short(row.asks, 80)}\n{units}"
