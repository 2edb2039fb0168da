"""The picture of rules: what each way to size the storage costs against what the job needs."""

from __future__ import annotations

from collections.abc import Callable

from planner.figures import capital
from planner.outputs.charts.model import ROW_MIDDLE, Axis, Bars, Chart, Layer, Panel, Reference
from planner.outputs.charts.words import (
    amount,
    counted_lines,
    gap,
    short,
)
from planner.outputs.words import percent
from planner.schema.comparison import RuleRow, RulesTable

_LABEL, _REASON = 40, 70
_THICKNESS = 0.34
_FIRST = 2
"""Sentences of the argument that are told first."""


def charts(study: RulesTable) -> tuple[Chart, ...]:
    """Return the chart of a table of rules: work, and money where it is known."""
    text = " ".join(
        (
            "The same problem, its storage chosen in other ways: each bar is the best plan there "
            "against the plan for what the job needs.",
            *study.argument[_FIRST:],
        )
    )
    kept = [row for row in study.rows[1:] if row.outcome is not None]
    if not kept:
        return (Chart("rules", heading(study), "No other way to choose the storage has a plan."),)
    sense = 1.0 if study.measure.sense == "maximize" else -1.0
    panels = [_panel(study, study.measure.label, "%", sense, _work)]
    if _spent(study.rows[0]) is not None:
        panels.append(_panel(study, "capex", study.shown_in.large[1], -1.0, _money(study)))
    return (Chart("rules", heading(study), text, tuple(panels)),)


def heading(study: RulesTable) -> str:
    """Return the title of a table of rules."""
    return "What each rule would cost"


def _work(row: RuleRow) -> float | None:
    share = None if row.outcome is None else row.outcome.difference
    return None if share is None else 100.0 * share


def _spent(row: RuleRow) -> float | None:
    return None if row.outcome is None else row.outcome.capex_usd


def _money(study: RulesTable) -> Callable[[RuleRow], float | None]:
    first = _spent(study.rows[0]) or 0.0

    def more(row: RuleRow) -> float | None:
        spent = _spent(row)
        return None if spent is None else (spent - first) / study.shown_in.large[0]

    return more


def _panel(
    study: RulesTable, label: str, unit: str, good: float, value: Callable[[RuleRow], float | None]
) -> Panel:
    """Return the bars of one figure; ``good`` is the sign of what is better."""
    rows = study.rows[1:]
    layers: list[Layer] = []
    for name, better in (("better than what the job needs", True), ("worse", False)):
        bars = [
            (place + ROW_MIDDLE, found, row)
            for place, row in enumerate(rows)
            if (found := value(row)) is not None and (good * found >= 0) == better
        ]
        layers.append(
            Bars(
                name,
                tuple(place for place, _, _ in bars),
                (0.0,) * len(bars),
                tuple(found for _, found, _ in bars),
                tuple(_hover(study, row) for _, _, row in bars),
                tuple(_signed(found, unit) for _, found, _ in bars),
                "main" if better else "second",
                not better,
                _THICKNESS,
            )
        )
    return Panel(
        Axis(f"{label} against what the job needs", unit),
        Axis(""),
        tuple(layers),
        references=(Reference("what the job needs", 0.0, False),),
        rows=tuple(_row(row) for row in rows),
    )


def _signed(value: float, unit: str) -> str:
    digits = 3 if abs(value) < 0.1 else 2 if abs(value) < 9.995 else 1
    return "0" if not round(value, 4) else f"{value:+,.{digits}f} {unit}"


def _row(row: RuleRow) -> str:
    if row.outcome is not None:
        return short(row.label, _LABEL)
    return short(f"{row.label}: no plan; {row.reason or 'none was found'}", _REASON)


def _hover(study: RulesTable, row: RuleRow) -> str:
    found = row.outcome
    assert found is not None
    bought = {each.product: each.quantity for each in (*found.systems, *found.storage)}
    lines = [f"{capital(row.label)}: {short(row.asks, 80)}", *counted_lines(bought)]
    if found.measured is not None:
        lines.append(f"{study.measure.label}: {amount(found.measured, study.measure.unit)}")
    lines.append(f"{found.gpus_used:,} GPUs in use, goodput {percent(found.goodput, 2)}")
    if found.capex_usd is not None:
        lines.append(f"capex {amount(found.capex_usd, 'USD')}")
    lines.append(f"proven within {gap(found.gap)}")
    return "\n".join(lines)
