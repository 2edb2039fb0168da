"""How many appliances meet a need, what they take, and how many GPUs their power would feed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby

from planner.case import Case, Storage
from planner.case.bandwidth import nameplate
from planner.case.figures import it_power_kw
from planner.inputs import Inputs
from planner.sizing.demand import appliances_needed
from planner.sizing_report.model import ApplianceRow, Cluster

ROUNDING = 1e-9


@dataclass(frozen=True)
class Need:
    """What storage must give: rated bandwidth (nameplate), delivered bandwidth for checkpoints, a
    restore and training data, room, writes."""

    rated_read_gb_per_s: float = 0.0
    rated_write_gb_per_s: float = 0.0
    restore_gb_per_s: float = 0.0
    data_gb_per_s: float = 0.0
    delivered_write_gb_per_s: float = 0.0
    usable_tb: float = 0.0
    write_tb_per_day: float = 0.0


@dataclass(frozen=True)
class NameplateDemand:
    """The same in nameplate figures, after the delivered fractions."""

    read_gb_per_s: float
    write_gb_per_s: float
    usable_tb: float
    endurance_tb_per_day: float


def appliance_rows(
    inputs: Inputs, case: Case, cluster: Cluster, need: Need
) -> tuple[ApplianceRow, ...]:
    """Return every storage item on offer with the units that meet a need, family by family.

    Items of one family are not mixed; the one with the least power is marked as its best.
    """

    def by_power(row: ApplianceRow) -> tuple[bool, float, float, str]:
        power = math.inf if row.it_power_kw is None else row.it_power_kw
        cost = math.inf if row.net_usd is None else row.net_usd
        return row.units is None, power, cost, row.item

    rows = [_row(inputs, case, cluster, item, need) for item in case.flash]
    marked: list[ApplianceRow] = []
    for _, family in groupby(sorted(rows, key=lambda row: row.family), lambda row: row.family):
        first, *others = sorted(family, key=by_power)
        marked += [replace(first, best_of_family=True), *others]
    return tuple(marked)


def _row(inputs: Inputs, case: Case, cluster: Cluster, item: Storage, need: Need) -> ApplianceRow:
    family = next(family for family in case.families if family.id == item.family)
    named = next(family for family in inputs.families if family.id == item.family)
    empty = ApplianceRow(
        item=item.id,
        name=name(inputs, item.id),
        family=item.family,
        family_name=f"{named.vendor} {named.name}",
        best_of_family=False,
        units=None,
        decided_by=None,
        it_power_kw=None,
        racks=None,
        net_usd=None,
        power_equivalent_gpus=None,
        whole_systems_gpus=None,
        reason=None,
    )
    reason = _clients_cannot(
        need,
        cluster.client_write_gb_per_s * family.write_factor,
        cluster.client_read_gb_per_s * family.read_factor,
        cluster.client_data_gb_per_s * family.read_factor,
    )
    if reason is not None:
        return replace(empty, reason=reason)
    tables = item.segments[-1].high if item.segments else None
    bounds = [bound for bound in (item.high, family.max_units, tables) if bound is not None]
    most = min(bounds, default=math.inf)
    read = max(need.restore_gb_per_s, need.data_gb_per_s)
    asked = NameplateDemand(
        max(need.rated_read_gb_per_s, read / case.delivered_read),
        max(need.rated_write_gb_per_s, need.delivered_write_gb_per_s / case.delivered_write),
        need.usable_tb,
        need.write_tb_per_day,
    )
    found = units_needed(item, asked)
    if found is None or found[0] > most:
        return replace(empty, reason=_too_few(most))
    units, decided_by = found
    each = it_power_kw(inputs.item(item.id), inputs)
    power = None if each is None else each * units
    feeds = None if power is None else _feeds(power, cluster)
    return replace(
        empty,
        units=units,
        decided_by=decided_by,
        it_power_kw=power,
        racks=item.rack_use.racks(units) if item.rack_use else None,
        net_usd=_net_usd(item, units),
        power_equivalent_gpus=feeds[0] if feeds else None,
        whole_systems_gpus=feeds[1] if feeds else None,
    )


def _clients_cannot(
    need: Need, write_gb_per_s: float, read_gb_per_s: float, data_gb_per_s: float
) -> str | None:
    """Return which need is beyond what the GPU systems can move, None where none is."""
    for verb, asked, most in (
        ("write", need.delivered_write_gb_per_s, write_gb_per_s),
        ("read", need.restore_gb_per_s, read_gb_per_s),
        ("read", need.data_gb_per_s, data_gb_per_s),
    ):
        if asked > most * (1 + ROUNDING):
            return f"the GPU systems {verb} at most {most:,.0f} GB/s"
    return None


def _too_few(most: float) -> str:
    if math.isinf(most):
        return "gives nothing of what is asked"
    return "one unit is not enough" if most == 1 else f"{most:,.0f} units are not enough"


def units_needed(item: Storage, asked: NameplateDemand) -> tuple[int, str] | None:
    """Return the fewest units of an item that give what is asked, and what decides them."""
    counts = list(_counts(item, asked))
    if any(count is None for _, count in counts):
        return None
    least = max(item.min_units, item.low, 1)
    if item.segments:
        least = max(least, item.segments[0].low)
    units, decided_by = max(
        ((count, label) for label, count in counts if count is not None), key=lambda pair: pair[0]
    )
    smallest = bool(item.segments) and units == least
    return (least, "minimum order") if units < least or smallest else (units, decided_by)


def _counts(item: Storage, asked: NameplateDemand) -> Iterator[tuple[str, int | None]]:
    """Yield per figure how many units it takes, the first named where several take as many."""
    yield "write", _bandwidth_units(item, 1, asked.write_gb_per_s)
    yield "read", _bandwidth_units(item, 0, asked.read_gb_per_s)
    yield "capacity", _units(asked.usable_tb, item.usable_tb)
    if item.endurance_tb_per_day is not None:
        yield "endurance", _units(asked.endurance_tb_per_day, item.endurance_tb_per_day)


def _units(asked: float, each: float) -> int | None:
    if asked == 0:
        return 0
    return appliances_needed(asked, each) if each > 0 else None


def _bandwidth_units(item: Storage, side: int, asked: float) -> int | None:
    if not item.segments:
        return _units(asked, nameplate(item, 1)[side])
    if asked == 0:
        return 0
    # A table need not rise throughout, so the last row that falls short counts.
    sizes = range(item.segments[0].low, item.segments[-1].high + 1)
    enough = [units for units in sizes if nameplate(item, units)[side] >= asked * (1 - ROUNDING)]
    if not enough:
        return None
    short = [units for units in sizes if units not in set(enough) and units < enough[-1]]
    return enough[0] if not short else max(short) + 1


def _net_usd(item: Storage, units: int) -> float | None:
    purchased = max(0, units - item.installed)
    if purchased == 0:
        return 0.0
    return None if item.unit_net_usd is None else item.unit_net_usd * purchased


def _feeds(power_kw: float, cluster: Cluster) -> tuple[int, int] | None:
    """Return the GPUs that power is worth: by their share of a system, and in whole systems."""
    if not cluster.system_it_power_kw:
        return None
    systems = power_kw / cluster.system_it_power_kw + ROUNDING
    return int(systems * cluster.gpus_per_system), int(systems) * cluster.gpus_per_system


def name(inputs: Inputs, sku: str) -> str:
    """Return vendor and model of an item."""
    item = inputs.item(sku)
    return f"{item.vendor} {item.model}"
