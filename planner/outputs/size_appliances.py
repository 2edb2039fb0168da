"""The part of the screen of `planner size` that counts appliances."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from planner.outputs.size_text import block, narrowed, table, wrapped
from planner.outputs.words import INDENT, money, number
from planner.sizing_report.model import ApplianceRow, RuleRow, SizeReport

GROUPS = {
    "demand_law": "The job's own law (delivered bandwidth)",
    "ddn_per_gpu": "Vendor rules: DDN, per GPU (nameplate bandwidth)",
    "nvidia_superpod_h100": "Vendor rules: NVIDIA SuperPOD, per 256 GPUs (nameplate bandwidth)",
    "custom": "The problem's own rule (nameplate bandwidth)",
}


def appliance_blocks(report: SizeReport) -> Iterator[str]:
    """Yield what the rules take in appliances, a block per family of rules."""
    if not any(rule.appliances for rule in report.rules):
        return
    yield _intro(report)
    for group, members in groupby(report.rules, lambda rule: rule.group):
        yield "\n".join([GROUPS[group], *_appliance_lines(list(members))])


def _appliance_lines(rules: list[RuleRow]) -> list[str]:
    rows = [["rule", "units", "appliance", "kW", "racks", "net price", "feeds GPUs", "set by"]]
    below: dict[int, list[str]] = {}
    for rule in rules:
        label = rule.rule[:20]
        best = [row for row in rule.appliances if row.best_of_family]
        fitting = [row for row in best if row.units is not None]
        for index, row in enumerate(fitting):
            rows.append([label if index == 0 else "", *_appliance_cells(row)])
        if not fitting:
            rows.append([label, "-", "none", "", "", "", "", ""])
        below[len(rows) - 1] = _failing([row for row in best if row.units is None])
    lines = table(narrowed(rows, 2), (0, 2, 7))
    return [line for index, row in enumerate(lines) for line in (row, *below.get(index, []))]


def _failing(rows: list[ApplianceRow]) -> list[str]:
    if not rows:
        return []
    text = "cannot: " + ", ".join(f"{row.family_name} ({row.reason})" for row in rows)
    margin = INDENT * 3
    return wrapped(text, margin, margin)


def _intro(report: SizeReport) -> str:
    held = report.cluster
    each = held.system_it_power_kw
    power = "not known" if each is None else f"{each:g} kW per {held.gpus_per_system}"
    return block(
        "What that takes in appliances",
        "The item of each storage family that draws least, alone. Capacity and the limit on "
        "restore hold under every rule; 'set by' names what decides the number, 'feeds GPUs' how "
        f"many GPUs the same power would feed ({held.name}, {power}).",
    )


def _appliance_cells(row: ApplianceRow) -> list[str]:
    gpus = "" if row.power_equivalent_gpus is None else f"{row.power_equivalent_gpus:,}"
    racks = "" if row.racks is None else f"{row.racks:,}"
    return [
        number(row.units), row.name, number(row.it_power_kw, 1), racks, money(row.net_usd),
        gpus, row.decided_by or "",
    ]  # fmt: skip
