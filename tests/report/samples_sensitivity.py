"""Sensitivity studies made by hand: what the texts and sheets of studies are tried with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import exp
from typing import Any

from planner.schema.analysis import (
    CandidatePlan,
    Column,
    End,
    Frontier,
    FrontierPoint,
    Index,
    Percentiles,
    Sweep,
    Swing,
    Tornado,
    Uncertain,
    UncertainInput,
)

COMMON: dict[str, Any] = {
    "problem": "10 MW training hall", "problem_file": "problems/10MW.yaml", "scenario": None,
    "overrides": (), "objective": "goodput", "sense": "maximize", "unit": "PFLOP/s",
    "gap_asked": 1e-3, "base": 4055.68, "base_bound": 4056.09,
}  # fmt: skip
POWER = Column(name="site.facility_power", label="facility power", unit="kW", kind="input",
               path="site.facility_power")  # fmt: skip
FAILURES = Column(name="jobs.0.failures.per_gpu_day", label="failures per GPU and day",
                  unit="1/day", kind="input", path="jobs.0.failures.per_gpu_day")  # fmt: skip
BUDGET = Column(name="budget.capex", label="capital budget", unit="USD", kind="input",
                path="budget.capex")  # fmt: skip
RULE = Column(name="storage.rule", label="what sizes storage", kind="input", path="storage.rule")
ANSWERS = (
    Column(name="status", label="how it ended", kind="answer"),
    Column(name="objective", label="useful work", unit="PFLOP/s", kind="answer"),
    Column(name="bound", label="no plan passes", unit="PFLOP/s", kind="answer"),
    Column(name="gap", label="gap", unit="share", kind="answer"),
    Column(name="certificate", label="proven by", kind="answer"),
    Column(name="units.nvidia_gb200_nvl72", label="DGX GB200 NVL72", unit="units", kind="count"),
    Column(name="units.wekapod_nitro_155", label="WEKApod Nitro 155", unit="units", kind="count"),
    Column(name="capex_usd", label="capex", unit="USD", kind="total"),
    Column(name="it_power_kw", label="IT load", unit="kW", kind="total"),
    Column(name="gpus_in_use", label="GPUs in use", unit="GPUs", kind="job"),
    Column(name="interval_s", label="checkpoint interval", unit="s", kind="job"),
    Column(name="goodput", label="goodput", unit="share", kind="job"),
    Column(name="days_to_train", label="days to train", unit="days", kind="job"),
    Column(name="binding", label="binding limits", kind="text"),
    Column(name="reason", label="why there is no plan", kind="text"),
)
NO_ROOM = "facility power 1,000 kW holds no GPU system beside what the network needs"

Row = dict[str, Any]


def answer(power_kw: float, failures: float = 2.6e-5) -> Row:
    """Return the columns after the inputs, by arithmetic that is only plausible."""
    systems = int((power_kw - 1000.0) // 150.0)
    if systems < 1:
        none = dict.fromkeys(column.name for column in ANSWERS)
        return {**none, "status": "infeasible", "certificate": "search", "reason": NO_ROOM}
    gpus = 72 * systems
    goodput = exp(-((gpus * failures) ** 0.5) / 12.0)
    work = gpus * goodput
    return {
        "status": "optimal", "objective": work, "bound": work * 1.0004, "gap": 4e-4,
        "certificate": "reuse" if systems % 3 else "search",
        "units.nvidia_gb200_nvl72": systems, "units.wekapod_nitro_155": 8 + systems // 12,
        "capex_usd": 3.4e6 * systems + 4.5e7, "it_power_kw": 120.0 * systems + 800.0,
        "gpus_in_use": gpus, "interval_s": 10_000.0 / systems**0.5, "goodput": goodput,
        "days_to_train": 1_050_000.0 / work, "binding": "facility_power", "reason": None,
    }  # fmt: skip


def sweep(
    inputs: Sequence[Column], places: Sequence[Sequence[Any]], answers: Callable[..., Row]
) -> tuple[Sweep, dict[str, list[Any]]]:
    """Return a sweep's record and columns.

    Args:
        inputs: what is varied.
        places: the values of the inputs, scenario by scenario.
        answers: gives the other columns for the values of a scenario.
    """
    columns = (*inputs, *ANSWERS)
    rows = [
        {c.name: value for c, value in zip(inputs, place, strict=True)} | answers(*place)
        for place in places
    ]
    statuses: dict[str, int] = {}
    for row in rows:
        statuses[row["status"]] = statuses.get(row["status"], 0) + 1
    searched = sum(row["certificate"] == "search" for row in rows)
    study = Sweep(
        **COMMON, columns=columns, rows=len(rows), asked=len(rows), statuses=statuses,
        solved=searched, reused=len(rows) - searched,
    )  # fmt: skip
    return study, {c.name: [row[c.name] for row in rows] for c in columns}


def power_sweep(count: int = 101) -> tuple[Sweep, dict[str, list[Any]]]:
    """Return a sweep of one numeric input whose first stretch has no plan."""
    step = 10_000.0 / (count - 1)
    return sweep((POWER,), [(500.0 + step * at,) for at in range(count)], answer)


def grid_sweep(down: int = 12, across: int = 9) -> tuple[Sweep, dict[str, list[Any]]]:
    """Return a sweep of two numeric inputs, the grid of their values."""
    places = [
        (1000.0 + 800.0 * at, 1e-5 * (1 + other)) for at in range(down) for other in range(across)
    ]
    return sweep((POWER, FAILURES), places, answer)


def rule_sweep(rules: Sequence[str] = ("demand", "light", "medium", "high")) -> tuple[Any, Any]:
    """Return a sweep of one input that is a choice."""
    return sweep((RULE,), [(rule,) for rule in rules], lambda rule: answer(9000.0 - 30 * len(rule)))


def point(x: float, y: float, **more: Any) -> FrontierPoint:
    """Return a point of a frontier."""
    systems = max(1, round(y / 70))
    fields: dict[str, Any] = {
        "x": x, "y": y, "bound": y * 1.0005, "gap": 5e-4,
        "counts": {"nvidia_gb200_nvl72": systems, "wekapod_nitro_155": max(1, round(x / 25.6))},
        "gpus_in_use": 72 * systems, "goodput": 0.97,
        "capex_usd": 3.4e6 * systems, "facility_power_kw": 150.0 * systems,
        "binding": ("facility_power", "capex"),
    }  # fmt: skip
    return FrontierPoint(**(fields | more))


def storage_frontier() -> Frontier:
    """Return a goldilocks curve: a steep rise, an optimum, a long decline."""
    appliances = (1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 57, 97, 140, 193, 260, 372)
    points = [point(25.6 * n, 4130.0 * (1 - 0.42 / n**1.6) - 0.75 * n) for n in appliances]
    best = max(range(len(points)), key=lambda at: points[at].y)
    return Frontier(
        **COMMON, status="optimal", x_name="storage", x_label="delivered write bandwidth",
        x_unit="GB/s", y_label="useful work", y_unit="PFLOP/s", points=tuple(points), knee=3,
        best=best,
    )  # fmt: skip


def cost_frontier() -> Frontier:
    """Return a frontier of useful work over capex."""
    points = [
        point(
            c * 1e6,
            4055.0 * (1 - exp(-c / 90.0)),
            capex_usd=c * 1e6,
            counts={"nvidia_gb200_nvl72": round(c / 4), "wekapod_nitro_155": 8},
        )
        for c in (20, 40, 60, 80, 100, 120, 140, 160, 180, 200, 237.7)
    ]
    return Frontier(
        **COMMON, status="optimal", x_name="cost", x_label="capex", x_unit="USD",
        y_label="useful work", y_unit="PFLOP/s", points=tuple(points), knee=5, best=10,
    )  # fmt: skip


def end(text: str, value: float | str, objective: float | None, **more: Any) -> End:
    """Return an end of a swing."""
    fields: dict[str, Any] = {
        "status": "infeasible" if objective is None else "optimal", "objective": objective,
        "bound": None if objective is None else objective * 1.0002,
        "counts": {} if objective is None else {"nvidia_gb200_nvl72": round(objective / 70),
                                                "wekapod_nitro_155": 8},
    }  # fmt: skip
    return End(text=text, value=value, **(fields | more))


def swing(path: str, label: str, unit: str, base: str, low: End, high: End) -> Swing:
    """Return a swing with its width."""
    width = None
    if low.objective is not None and high.objective is not None:
        width = abs(high.objective - low.objective)
    return Swing(
        path=path, label=label, unit=unit, base_text=base, low=low, high=high, width=width,
    )  # fmt: skip


def tornado() -> Tornado:
    """Return a tornado with a swing to one side only, an idle one, and one without a plan."""
    return Tornado(
        **COMMON,
        status="optimal",
        swings=(
            swing("site.facility_power", "facility power", "kW", "10 MW",
                  end("8 MW", 8000.0, 3218.4), end("12 MW", 12000.0, 4873.9)),
            swing("jobs.0.training.mfu", "MFU", "share", "40 %",
                  end("35 %", 0.35, 3548.72), end("45 %", 0.45, 4562.64)),
            swing("budget.capex", "capital budget", "USD", "480 MUSD",
                  end("200 MUSD", 2e8, 3401.2), end("600 MUSD", 6e8, 4055.68)),
            swing("jobs.0.failures.per_gpu_day", "failures per GPU and day", "1/day", "0.000026",
                  end("0.00001", 1e-5, 4098.1), end("0.00005", 5e-5, 3991.3)),
            swing("storage.rule", "what sizes storage", "", "demand",
                  end("high", "high", 3851.0), end("light", "light", 3988.0)),
            swing("site.racks", "rack positions", "", "260",
                  end("200", 200.0, 4055.68), end("320", 320.0, 4055.68)),
            swing("jobs.0.restore.max_time", "restore time", "s", "5 min",
                  end("1 min", 60.0, None, reason="client read limit per GPU system 3.1 GB/s and "
                      "restore time 60 s cannot hold together"), end("15 min", 900.0, 4056.0)),
        ),
    )  # fmt: skip


def outcome(name: str, label: str, unit: str, middle: float, spread: float) -> Percentiles:
    """Return an outcome that spreads by a share of its middle."""
    steps = (-2.4, -1.6, -0.7, 0.0, 0.7, 1.6, 2.4)
    least, p5, p25, p50, p75, p95, most = (middle * (1 + spread * step) for step in steps)
    return Percentiles(
        name=name, label=label, unit=unit, count=487, mean=middle, p5=p5, p25=p25, p50=p50,
        p75=p75, p95=p95, least=least, most=most,
    )  # fmt: skip


def uncertain() -> Uncertain:
    """Return an uncertainty study with everything in it."""
    return Uncertain(
        **COMMON,
        status="optimal", seed=7, samples=512,
        statuses={"optimal": 487, "infeasible": 25},
        inputs=(
            UncertainInput(path="jobs.0.failures.per_gpu_day", label="failures per GPU and day",
                           unit="1/day", distribution="lognormal, median 2.6e-5, 90 % between "
                           "1.1e-5 and 6.1e-5", low=8.2e-6, median=2.6e-5, high=9.4e-5),
            UncertainInput(path="storage.delivered_fraction.write",
                           label="delivered share of write bandwidth", unit="share",
                           distribution="triangular 16 % to 90 %, most likely 40 %",
                           low=0.17, median=0.47, high=0.88),
            UncertainInput(path="prices.nvidia_gb200_nvl72.list", label="price of DGX GB200 NVL72",
                           unit="USD", distribution="uniform 3.1 MUSD to 4.2 MUSD",
                           low=3.11e6, median=3.65e6, high=4.19e6),
        ),
        outcomes=(
            outcome("objective", "objective", "PFLOP/s", 3990.0, 0.012),
            outcome("capex_usd", "capex", "USD", 2.377e8, 0.06),
            outcome("interval_s", "checkpoint interval", "s", 662.0, 0.19),
            outcome("gpus_in_use", "GPUs in use", "GPUs", 4150.0, 0.008),
        ),
        largest_gap=9.3e-4,
        candidates=(
            CandidatePlan(name="nominal", nominal=True,
                          counts={"nvidia_gb200_nvl72": 58, "wekapod_nitro_155": 57},
                          best_in=201, feasible=0.74, mean=3988.2, worst=None,
                          mean_regret=0.262, most_regret=1.0),
            CandidatePlan(name="plan 1", counts={"nvidia_gb200_nvl72": 54, "wekapod_nitro_155": 64},
                          nominal=False, best_in=143, feasible=0.98, mean=3720.6, worst=None,
                          mean_regret=0.084, most_regret=1.0),
            CandidatePlan(name="plan 2", counts={"nvidia_gb200_nvl72": 51, "wekapod_nitro_155": 72},
                          nominal=False, best_in=12, feasible=1.0, mean=3519.9, worst=3466.3,
                          mean_regret=0.118, most_regret=0.153),
        ),
        least_regret=2,
        indices=(
            Index(path="jobs.0.failures.per_gpu_day", label="failures per GPU and day",
                  first=0.61, total=0.68),
            Index(path="storage.delivered_fraction.write",
                  label="delivered share of write bandwidth", first=0.11,
                  total=0.19),
            Index(path="prices.nvidia_gb200_nvl72.list", label="price of DGX GB200 NVL72",
                  first=0.18, total=0.21),
        ),
        indices_note="of the scenarios that have a plan; 25 of 512 have none",
    )  # fmt: skip


FREE = {
    "problem", "problem_file", "scenario", "label", "path", "distribution", "text", "base_text",
    "reason", "x_label", "y_label", "message", "indices_note",
    "limit", "binding", "counts",
}  # fmt: skip
"""Fields that hold texts of users and catalogs, or words made of them."""

Study = Sweep | Frontier | Tornado | Uncertain


def saying(study: Any, text: str) -> Any:
    """Return a study in which every free text is ``text``."""

    def changed(value: Any, free: bool) -> Any:
        if isinstance(value, dict):
            if free:
                return {f"{text}{place}": count for place, count in enumerate(value.values())}
            return {key: changed(each, key in FREE) for key, each in value.items()}
        if isinstance(value, (list, tuple)):
            return [changed(each, free) for each in value]
        return text if free and isinstance(value, str) else value

    return type(study).model_validate(changed(study.model_dump(), free=False))


def everything() -> dict[str, Study]:
    """Return a study of every kind."""
    return {
        "sweep": power_sweep()[0], "storage": storage_frontier(), "cost": cost_frontier(),
        "tornado": tornado(), "uncertain": uncertain(),
    }  # fmt: skip
