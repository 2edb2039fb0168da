"""Figures that the file shows, against the re-computation: was it recalculated after the edit?"""

from __future__ import annotations

import math

from openpyxl.workbook import Workbook

from planner.audit.draft import Draft
from planner.audit.reader import Opened
from planner.schema.audit import Stale
from planner.schema.plan import Plan

_OF_JOB = {
    "gpus_in_use": "gpus_used",
    "stall_s": "stall_s",
    "drain_s": "drain_s",
    "overlap": "overlap",
    "restore_s": "restore_s",
    "mtti_s": "mtti_s",
    "goodput": "goodput",
    "useful_gpus": "useful_gpus",
    "useful_pflops": "useful_pflops",
    "days_to_train": "days_to_train",
    "capacity_needed_tb": "capacity_needed_tb",
}
_OF_TOTALS = (
    "racks",
    "it_power_kw",
    "facility_power_kw",
    "usable_tb",
    "support_usd_per_year",
    "subscriptions_usd_per_year",
    "energy_usd_per_year",
    "opex_usd_per_year",
    "capex_usd",
    "tco_usd",
)
_CLOSE = 1e-9


def stale(opened: Opened, written: Workbook, draft: Draft, edited: Plan) -> tuple[Stale, ...]:
    """Return the figures that the file shows otherwise than they are.

    A file that holds no values (some tools drop them) shows none. Totals are compared only where
    the workbook lists what the edited cluster needs, spares (which stay as solved there) included.

    Args:
        opened: the workbook.
        written: the same as planner writes it, whose names say where the figures are.
        draft: its quantities.
        edited: the plan as re-computed.
    """
    job = edited.jobs[0].model_dump()
    expected = {name: job[field] for name, field in _OF_JOB.items()}
    needed = {line.sku: line.quantity for line in edited.lines if line.parent is None}
    listed = {sku: count for sku, count in draft.quantities.items() if count}
    spares = {line.sku: line.spares for line in edited.lines if line.parent is None}
    solved = {line.sku: line.spares for line in draft.plan.lines if line.sku in spares}
    if edited.totals is not None and needed == listed and spares == solved:
        totals = edited.totals.model_dump()
        expected |= {name: totals[name] for name in _OF_TOTALS}
    found = []
    for name, computed in expected.items():
        shown = _shown(opened, written, name)
        if shown is None or computed is None:
            continue
        if not math.isclose(shown, computed, rel_tol=_CLOSE, abs_tol=1e-12):
            found.append(Stale(name=name, shown=shown, computed=computed))
    return tuple(found)


def _shown(opened: Opened, written: Workbook, name: str) -> float | None:
    defined = written.defined_names.get(name)
    if defined is None:
        return None
    sheet, cell = next(iter(defined.destinations))
    value = opened.shown.value(sheet, cell.replace("$", ""))
    return float(value) if isinstance(value, (int, float)) else None
