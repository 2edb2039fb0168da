"""Studies made by hand: what screens, pages, charts and files of studies are tried with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from math import exp
from typing import Any

from planner.library import SweepTable
from planner.report.blocks import Chart
from planner.report.page import render_page as page
from planner.results import shown_study
from planner.schema.analysis import (
    CandidatePlan,
    Column,
    End,
    Frontier,
    FrontierPoint,
    Percentiles,
    Sweep,
    Swing,
    Tornado,
    Uncertain,
    UncertainInput,
)
from planner.schema.plan import Plan

COMMON: dict[str, Any] = {
    "problem": "10 MW training hall", "problem_file": "problems/10MW.yaml", "scenario": None,
    "overrides": (), "objective": "goodput", "sense": "maximize", "unit": "PFLOP/s",
    "gap_asked": 1e-3, "base": 4055.68, "base_bound": 4056.09,
}  # fmt: skip
HOSTILE = "a <b>\"R&D\"</b> </script><script>alert('1')</script> $x^2$ %{y} {0} & Söhne"
SYSTEM, STORE = "nvidia_gb200_nvl72", "wekapod_nitro_155"

Row = dict[str, Any]
Rows = dict[str, list[Any]]
Study = Sweep | Frontier | Tornado | Uncertain


def varied(path: str, label: str, unit: str = "") -> Column:
    """Return the column of an input."""
    return Column(name=path, label=label, unit=unit, kind="input", path=path)


POWER = varied("site.facility_power", "facility power", "kW")
FAILURES = varied("jobs.0.failures.per_gpu_day", "failures per GPU and day", "1/day")
BUDGET = varied("budget.capex", "capital budget", "USD")
RULE = varied("storage.rule", "what sizes storage")
ANSWERS = tuple(
    Column(name=name, label=label, unit=unit, kind=kind)
    for name, label, unit, kind in (
        ("status", "how it ended", "", "answer"), ("objective", "useful work", "PFLOP/s", "answer"),
        ("bound", "no plan passes", "PFLOP/s", "answer"), ("gap", "gap", "share", "answer"),
        ("certificate", "proven by", "", "answer"),
        (f"units.{SYSTEM}", "DGX GB200 NVL72", "units", "count"),
        (f"units.{STORE}", "WEKApod Nitro 155", "units", "count"),
        ("capex_usd", "capex", "USD", "total"), ("it_power_kw", "IT load", "kW", "total"),
        ("goodput", "goodput", "share", "job"), ("binding", "binding limits", "", "text"),
        ("reason", "why there is no plan", "", "text"),
    )
)  # fmt: skip


def answer(power_kw: float, failures: float = 2.6e-5) -> Row:
    """Return the columns after the inputs, by arithmetic that is only plausible."""
    systems = int((power_kw - 1000.0) // 150.0)
    if systems < 1:
        none = dict.fromkeys(column.name for column in ANSWERS)
        return none | {
            "status": "infeasible",
            "certificate": "search",
            "reason": "too little power",
        }
    goodput = exp(-((72 * systems * failures) ** 0.5) / 12.0)
    work = 72 * systems * goodput
    return {
        "status": "optimal", "objective": work, "bound": work * 1.0004, "gap": 4e-4,
        "certificate": "reuse" if systems % 3 else "search",
        f"units.{SYSTEM}": systems, f"units.{STORE}": 8 + systems // 12,
        "capex_usd": 3.4e6 * systems + 4.5e7, "it_power_kw": 120.0 * systems + 800.0,
        "goodput": goodput, "binding": "facility_power", "reason": None,
    }  # fmt: skip


def sweep(
    inputs: Sequence[Column], places: Sequence[Sequence[Any]], answers: Callable[..., Row] = answer
) -> tuple[Sweep, Rows]:
    """Return a sweep's record and columns: its inputs, their values and what answers these."""
    columns = (*inputs, *ANSWERS)
    rows = [
        {c.name: value for c, value in zip(inputs, place, strict=True)} | answers(*place)
        for place in places
    ]
    searched = sum(row["certificate"] == "search" for row in rows)
    study = Sweep(
        **COMMON, columns=columns, rows=len(rows), asked=len(rows), solved=searched,
        statuses=dict(Counter(row["status"] for row in rows)), reused=len(rows) - searched,
    )  # fmt: skip
    return study, {c.name: [row[c.name] for row in rows] for c in columns}


def power_sweep() -> tuple[Sweep, Rows]:
    """Return a sweep of one number whose first stretch has no plan."""
    return sweep((POWER,), [(500.0 + 100.0 * at,) for at in range(101)])


def grid_sweep(down: int = 12, across: int = 9) -> tuple[Sweep, Rows]:
    """Return a sweep over the grid of two numbers."""
    grid = [(1000.0 + 800.0 * at, 1e-5 * (1 + to)) for at in range(down) for to in range(across)]
    return sweep((POWER, FAILURES), grid)


def with_a_hole() -> tuple[Sweep, Rows]:
    """Return a sweep without a plan at its beginning and once in between."""
    places = [(500.0 + 250.0 * at,) for at in range(40)]
    return sweep((POWER,), places, lambda kw: answer(0.0 if 5200.0 < kw < 6100.0 else kw))


def storage_frontier() -> Frontier:
    """Return a goldilocks curve: a steep rise, an optimum, a long decline."""
    points = []
    for n in (1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 57, 97, 140, 193, 260, 372):
        y = 4130.0 * (1 - 0.42 / n**1.6) - 0.75 * n
        systems = round(y / 70)
        points.append(
            FrontierPoint(
                x=25.6 * n, y=y, bound=y * 1.0005, gap=5e-4, counts={SYSTEM: systems, STORE: n},
                gpus_in_use=72 * systems, capex_usd=3.4e6 * systems,
                facility_power_kw=150.0 * systems,
            )
        )  # fmt: skip
    return Frontier(
        **COMMON, status="optimal", x_name="storage", x_label="delivered write bandwidth",
        x_unit="GB/s", y_label="useful work", y_unit="PFLOP/s", points=tuple(points), knee=3,
        best=max(range(len(points)), key=lambda at: points[at].y),
    )  # fmt: skip


def _end(text: str, value: float | str, work: float | None) -> End:
    if work is None:
        why = "restore time 60 s cannot hold"
        return End(text=text, value=value, status="infeasible", reason=why)
    return End(text=text, value=value, status="optimal", objective=work, bound=work * 1.0002)


def tornado() -> Tornado:
    """Return a tornado with a swing to one side only, an idle one, and one without a plan."""
    swings = []
    for path, label, unit, base, *ends in (
        ("site.facility_power", "facility power", "kW", "10 MW",
         ("8 MW", 8000.0, 3218.4), ("12 MW", 12000.0, 4873.9)),
        ("budget.capex", "capital budget", "USD", "480 MUSD",
         ("200 MUSD", 2e8, 3401.2), ("600 MUSD", 6e8, 4055.68)),
        ("storage.rule", "what sizes storage", "", "demand",
         ("high", "high", 3851.0), ("light", "light", 3988.0)),
        ("site.racks", "rack positions", "", "260",
         ("200", 200.0, 4055.68), ("320", 320.0, 4055.68)),
        ("jobs.0.restore.max_time", "restore time", "s", "5 min",
         ("1 min", 60.0, None), ("15 min", 900.0, 4056.0)),
    ):  # fmt: skip
        low, high = (_end(*end) for end in ends)  # type: ignore[arg-type]
        works = [each.objective for each in (low, high) if each.objective is not None]
        width = max(works) - min(works) if len(works) == 2 else None
        swings.append(
            Swing(
                path=path, label=label, unit=unit, base_text=base, low=low, high=high, width=width
            )
        )
    return Tornado(**COMMON, status="optimal", swings=tuple(swings))


def _outcome(name: str, label: str, unit: str, middle: float, spread: float) -> Percentiles:
    steps = (-2.4, -1.6, -0.7, 0.0, 0.7, 1.6, 2.4)
    names = ("least", "p5", "p25", "p50", "p75", "p95", "most")
    made = {each: middle * (1 + spread * step) for each, step in zip(names, steps, strict=True)}
    return Percentiles(name=name, label=label, unit=unit, count=487, mean=middle, **made)


def uncertain() -> Uncertain:
    """Return an uncertainty study with everything in it."""
    inputs = (
        (FAILURES, "lognormal, median 2.6e-5, 90 % between 1.1e-5 and 6.1e-5"),
        (BUDGET, "uniform 3.1 MUSD to 4.2 MUSD"),
    )
    plans = (
        ("nominal", 58, 201, 0.74, 0.262, 1.0),
        ("plan 1", 54, 143, 0.98, 0.084, 1.0),
        ("plan 2", 51, 12, 1.0, 0.118, 0.153),
    )
    return Uncertain(
        **COMMON, status="optimal", seed=7, samples=512,
        statuses={"optimal": 487, "infeasible": 25}, largest_gap=9.3e-4, least_regret=2,
        inputs=tuple(
            UncertainInput(path=column.name, label=column.label, distribution=words)
            for column, words in inputs
        ),
        outcomes=(
            _outcome("objective", "objective", "PFLOP/s", 3990.0, 0.012),
            _outcome("capex_usd", "capex", "USD", 2.377e8, 0.06),
            _outcome("interval_s", "checkpoint interval", "s", 662.0, 0.19),
        ),
        candidates=tuple(
            CandidatePlan(name=name, counts={SYSTEM: n, STORE: 115 - n},
                          best_in=best_in, feasible=feasible, mean=70.0 * n,
                          mean_regret=mean, most_regret=most)
            for name, n, best_in, feasible, mean, most in plans
        ),
    )  # fmt: skip


FREE = {
    "problem", "problem_file", "scenario", "label", "path", "distribution", "text", "base_text",
    "reason", "x_label", "y_label", "message", "limit", "binding", "counts",
}  # fmt: skip
"""Fields that hold texts of users and catalogs, or words made of them."""


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
        "sweep": power_sweep()[0],
        "storage": storage_frontier(),
        "tornado": tornado(),
        "uncertain": uncertain(),
    }


# Charts and pages of them.


def all_kinds() -> list[tuple[Study, Rows | None]]:
    """Return a study of every kind with its rows, sweeps of every shape."""
    single = [(study, None) for study in (storage_frontier(), tornado(), uncertain())]
    nothing = sweep((POWER,), [(100.0,), (200.0,), (300.0,)])
    return [*single, power_sweep(), with_a_hole(), grid_sweep(), nothing]


def hostile() -> list[tuple[Study, Rows | None]]:
    """Return studies of every kind in which each name tries to be more than a name."""
    rules = sweep((RULE,), [(HOSTILE,), ("light",)], lambda rule: answer(9000.0 - len(rule)))
    studies = [(study, None) for study in (storage_frontier(), tornado(), uncertain())]
    return [(saying(study, HOSTILE), rows) for study, rows in (*studies, rules)]


def with_rows(study: Any, rows: Any) -> Any:
    """Return a study, of a sweep with its rows."""
    return study if rows is None else SweepTable(**dict(study), table=rows)


def charts(study: Any, rows: Any = None) -> tuple[Chart, ...]:
    """Return the charts of a study."""
    return shown_study(with_rows(study, rows)).charts


def report(title: str, plan: Plan | None, studies: Sequence[tuple[Any, Any]]) -> str:
    """Return the page of a plan and studies with their rows."""
    return page(title, plan, [shown_study(with_rows(*each)) for each in studies])
