"""The plain way to sweep: per scenario one MILP rebuilt in PuLP and solved by CBC, nothing kept.

Three of them. ``bare`` is the model of ``baseline.py``: systems, storage, racks, one fixed
interval; nothing of what comes with a purchase. ``mutated`` is the same model built once and kept
in HiGHS, of which only right-hand sides change. ``whole`` is the integer program of planner itself:
the same bill with fabrics, racks, spares and CDUs, for peak PFLOP/s. None knows goodput or
intervals, proves anything about the rest, checks its plan or writes a table.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from math import floor
from pathlib import Path

import baseline
import highspy
import pulp

from planner.case import resolve
from planner.inputs import changed
from planner.loader import load
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
        solved(self.model(limits), gap)

    def model(self, limits: Limits) -> pulp.LpProblem:
        site, job = self.problem["site"], self.problem["jobs"][0]
        rack = site["rack"]
        height, rack_kw = baseline.value(rack["height"]), baseline.value(rack["power"])
        size_gb = baseline.value(job["parameters"]) * baseline.BYTES_PER_PARAMETER / 1e9
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
        model += pulp.lpSum(kw) <= limits.power_kw / float(site["pue"]), "power"
        model += pulp.lpSum(racks) <= limits.racks, "racks"
        model += pulp.lpSum(usd) <= limits.capex_musd, "capex"
        model += pulp.lpSum(write) >= size_gb / (0.10 * 1800)
        model += pulp.lpSum(read) >= size_gb / 300
        return model


class Mutated(Bare):
    """The same model once in HiGHS, whose right-hand sides are changed for each scenario."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        with tempfile.TemporaryDirectory() as folder:
            file = str(Path(folder) / "bare.lp")
            self.model(Limits(10_000.0, 480.0, 260)).writeLP(file)
            self.highs = highspy.Highs()
            self.highs.silent()
            self.highs.readModel(file)
        self.pue = float(self.problem["site"]["pue"])
        self.rows = [self.highs.getRowByName(name)[1] for name in ("power", "racks", "capex")]

    def solve(self, limits: Limits, gap: float) -> None:
        most = (limits.power_kw / self.pue, float(limits.racks), limits.capex_musd)
        for row, value in zip(self.rows, most, strict=True):
            self.highs.changeRowBounds(row, -highspy.kHighsInf, value)
        self.highs.setOptionValue("mip_rel_gap", gap)
        self.highs.run()
        assert self.highs.getModelStatus() == highspy.HighsModelStatus.kOptimal


class Whole:
    """The linear part of planner's model with its files read once."""

    def __init__(self, path: Path) -> None:
        self.inputs = load(path)

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
