"""The plain way to sweep: per scenario one MILP rebuilt in PuLP and solved by CBC, nothing kept.

Two of them. ``bare`` is the model of ``baseline.py``: systems, storage, racks, one fixed interval;
nothing of what comes with a purchase. ``whole`` is the integer program of planner itself: the same
bill with fabrics, racks, spares and CDUs, for peak PFLOP/s. Neither knows goodput or intervals,
proves anything about the rest, checks its plan or writes a table.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import floor
from pathlib import Path

import baseline
import pulp

from planner import api
from planner.case import resolve
from planner.inputs import changed
from planner.optimizer.program import Program
from planner.optimizer.useful_work import Team

CBC = pulp.PULP_CBC_CMD.pulp_cbc_path


@dataclass(frozen=True)
class Limits:
    """A scenario: power at the meter in kW, capex in millions of USD, racks."""

    power_kw: float
    capex_musd: float
    racks: int


def solved(problem: pulp.LpProblem, gap: float) -> None:
    problem.solve(pulp.COIN_CMD(path=CBC, msg=False, gapRel=gap))
    assert problem.status == pulp.LpStatusOptimal  # what has no plan takes no time


class Bare:
    """The model of ``baseline.py`` with its files read once."""

    def __init__(self, path: Path) -> None:
        self.problem = baseline.load(path)
        book = baseline.load(baseline.ROOT / "catalogs/prices/estimates_2026.yaml")
        self.items = []
        for name in self.problem["catalogs"]:
            self.items += baseline.load(baseline.ROOT / "catalogs" / f"{name}.yaml")["items"]
        self.prices = {item["id"]: baseline.listed_usd(item, book) for item in self.items}

    def solve(self, limits: Limits, gap: float) -> None:
        site, job = self.problem["site"], self.problem["jobs"][0]
        rack = site["rack"]
        height, rack_kw = baseline.value(rack["height"]), baseline.value(rack["power"])
        size_gb = 1008 * float(job["bytes_per_parameter"])
        model = pulp.LpProblem("plain", pulp.LpMaximize)
        flops, kw, usd, racks, read, write = [], [], [], [], [], []
        for item in self.items:
            price, draw = self.prices.get(item["id"]), _figure(item, "consumes", "it_power")
            units = _figure(item, "consumes", "rack_units")
            gives = _figure(item, "provides", "read")
            system = item["category"] == "gpu_system"
            if price is None or draw is None or units is None:
                continue
            if not system and gives is None:
                continue
            count = model.add_variable(item["id"], 0, None, pulp.LpInteger)
            if system:
                rate = _figure(item, "gpu", "bf16_dense")
                flops.append(_figure(item, "provides", "gpus") * rate / 1000 * count)
            else:
                read.append(0.8 * gives * count)
                write.append(0.8 * _figure(item, "provides", "write") * count)
            per_rack = max(1, floor(min(height / units, rack_kw / draw)))
            stands = model.add_variable(f"racks_{item['id']}", 0, None, pulp.LpInteger)
            model += per_rack * stands >= count
            racks.append(stands)
            kw.append(draw * count)
            usd.append(price / 1e6 * count)
        model += pulp.lpSum(flops)
        model += pulp.lpSum(kw) <= limits.power_kw / float(site["pue"])
        model += pulp.lpSum(racks) <= limits.racks
        model += pulp.lpSum(usd) <= limits.capex_musd
        model += pulp.lpSum(write) >= size_gb / (0.10 * 1800)
        model += pulp.lpSum(read) >= size_gb / 300
        solved(model, gap)


class Whole:
    """The linear part of planner's model with its files read once."""

    def __init__(self, path: Path) -> None:
        self.inputs = api.load(path)

    def solve(self, limits: Limits, gap: float) -> None:
        inputs = self.inputs
        for path, value in (
            ("site.facility_power", limits.power_kw),
            ("budget.capex", limits.capex_musd * 1e6),
            ("site.racks", limits.racks),
        ):
            inputs = changed(inputs, path, value)
        case = replace(resolve(inputs), objective="gpus")  # so that no goodput is modelled
        for system in case.systems:  # the program is of one type at a time
            made = Program(case, Team(((system, system.ways[0]),), case.job.modes[0]))
            made.problem += made.gpus
            solved(made.problem, gap)


def _figure(item: dict, group: str, name: str) -> float | None:
    return baseline.figure(item, group, name)
