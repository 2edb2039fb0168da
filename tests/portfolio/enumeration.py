# ruff: noqa: E501, C901
"""Random small portfolios, and their optimum by enumeration: shares nothing with the planner.

All counts of all items by site and period, all places of all jobs, all systems in use; intervals
and shares by golden section.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterator
from functools import cache
from random import Random
from typing import Any, NamedTuple

from tests.portfolio.small import CITED, YEAR, Gpu, Store, files, training

GOLDEN = (math.sqrt(5) - 1) / 2
ETA = 0.8
LENGTH_H = 8760 / 4


def golden(of: Callable[[float], float], low: float, high: float, steps: int = 70) -> float:
    """Return the greatest value of a function with one peak."""
    if high <= low:
        return of(low)
    for _ in range(steps):
        a, b = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        low, high = (a, high) if of(a) < of(b) else (low, b)
        if high - low < 1e-12 * max(1.0, high):
            break
    return max(of(low), of(high), of((low + high) / 2))


class Wants(NamedTuple):
    """A job: checkpoint in GB, stall and restart in s, weight, floor or tokens, places, window."""

    size: float
    stall: float
    restart: float
    weight: float
    sites: tuple[int, ...]
    window: tuple[int, int]
    floor: float
    tokens: float


class Case(NamedTuple):
    """A random portfolio."""

    seed: int
    goal: str
    gpus: tuple[Gpu, ...]
    stores: tuple[Store, ...]
    jobs: tuple[Wants, ...]
    power: tuple[tuple[float, ...], ...]
    periods: int
    budget: float | None
    by_period: tuple[float, ...]
    trend: float
    rate: float
    available: tuple[int, ...]
    lead: tuple[int, ...]
    owned: tuple[tuple[int, ...], ...]
    clients: float
    residual: float | None
    together: bool
    every: int
    retires: tuple[bool, ...]
    resale: float
    boxes: int
    support: tuple[float, float, float]
    wired: bool
    switches: bool
    rewiring: float

    @property
    def items(self) -> tuple[Any, ...]:
        """GPU systems, then storage."""
        return (*self.gpus, *self.stores)


BOX_KW, BOX_MUSD = 0.7, 0.03
SWITCH_KW, SWITCH_MUSD = 0.2, 0.004
SWITCHES = (0, 1, 6, 10, 12)
"""Switches of 8 ports for so many systems of 8 ports in 2 rails: 1; 4, 6, 8 leaves with spines."""
SPINES, LINKS = (0, 0, 2, 4, 4), (0, 8, 16, 24, 32)


def random_case(seed: int) -> Case:
    """Return the portfolio of a seed."""
    r = Random(seed)
    sites, periods = r.choice(((1, 1), (1, 2), (2, 1), (1, 2), (2, 2), (1, 3)))
    small = sites * periods >= 3
    u = r.uniform
    gpus = tuple(
        Gpu(f"g{n}", u(0.8, 2.5), u(2e-6, 9e-6), u(8, 15), 8, u(0.25, 0.6), 2)
        for n in range(1 if small and r.random() < 0.5 else 2)
    )
    stores = tuple(
        Store(f"s{n}", u(20, 60), u(40, 120), u(1, 3), 2, u(0.1, 0.3), 2, f"f{n}")
        for n in range(1 if small or r.random() < 0.6 else 2)
    )
    goal = r.choice(("goodput", "goodput", "fairness", "tco", "cost"))
    least = goal in ("tco", "cost")
    jobs = []
    for _ in range(r.choice((1, 2, 2))):
        first = r.randint(1, periods)
        window = (first, r.randint(first, periods))
        where = tuple(range(sites)) if r.random() < 0.7 else (r.randrange(sites),)
        tokens = least and r.random() < 0.4
        work = r.uniform(4, 16)
        floor = work if least and not tokens else 0.0
        total = work * (window[1] - window[0] + 1) if tokens else 0.0
        sizes = u(200, 3000), u(1, 8), u(60, 400), r.choice((1.0, 1.5, 2.0))
        jobs.append(Wants(*sizes, where, window, floor, total))
    count = len(gpus) + len(stores)
    power = []
    for _ in range(sites):
        first_kw = r.uniform(25, 90)
        power.append(tuple(first_kw * (1 + 0.5 * p) for p in range(periods)))
    owns = r.random() < 0.5
    limited = not least or r.random() < 0.4
    budget = r.uniform(1.0, 3.5) if limited and r.random() < 0.8 else None
    each = (
        tuple(r.uniform(0.5, 2.0) for _ in range(periods)) if limited and r.random() < 0.4 else ()
    )
    return Case(
        seed, goal, gpus, stores, tuple(jobs), tuple(power), periods, budget, each,
        r.choice((0.0, -0.2, -0.35, 0.1)), r.choice((0.0, 0.08)),
        tuple(r.choice((1, 1, 1, 2)) if periods > 1 else 1 for _ in range(count)),
        tuple(r.choice((0, 0, 1)) if periods > 1 else 0 for _ in range(count)),
        tuple(tuple(r.choice((0, 0, 1)) if owns else 0 for _ in range(count)) for _ in range(sites)),
        r.choice((15.0, 40.0)), r.choice((None, None, 0.5)), r.random() < 0.3 and not any(job.tokens for job in jobs), r.choice((0, 1, 2)),
        few((owns and r.random() < 0.5,) * count, periods), r.choice((0.0, 0.3)), r.choice((0, 1)) if owns else 0,
        (0.0, 0.0, 0.0), False, False, 0.0,
    )  # fmt: skip


def few(retires: tuple[bool, ...], periods: int) -> tuple[bool, ...]:
    """Return which items may be retired, so few that all histories can be counted."""
    several = periods == 3 and len(retires) > 2
    return (retires[0], *(False for _ in retires[1:])) if several else retires


def with_more(case: Case) -> Case:
    """Add support, retirement of what is bought, and a fabric that costs to lay anew."""
    r, count = Random(f"more {case.seed}"), len(case.items)
    retires = case.retires if r.random() < 0.3 else few((True,) * count, case.periods)
    support = r.choice((0.0, 0.1, 0.2)), r.choice((0.0, 30_000.0)), r.choice((0.0, 0.25, 0.4))
    wired, jobs = r.random() < 0.5, list(case.jobs)
    for number, job in enumerate(jobs):
        first, last = job.window
        if r.random() < 0.6:  # what it ran on is idle afterwards
            tokens = job.tokens / (last - first + 1)
            jobs[number] = job._replace(window=(first, first), tokens=tokens)
    return case._replace(
        goal="tco" if case.goal == "cost" and r.random() < 0.7 else case.goal, jobs=tuple(jobs),
        retires=retires, resale=r.choice((0.0, 0.3, 0.6, 0.8)), support=support, wired=wired,
        by_period=() if wired else case.by_period, switches=r.random() < 0.7,
        rewiring=r.choice((0.0, 500.0, 3000.0)),
    )  # fmt: skip


def problem_files(case: Case) -> dict[str, str]:
    """Return the portfolio as files."""
    jobs = []
    for number, job in enumerate(case.jobs):
        asked = training(f"j{number}", job.size, job.stall, job.restart, weight=job.weight)
        asked["sites"] = [f"p{a}" for a in job.sites]
        asked["window"] = {"from": job.window[0], "to": job.window[1]}
        if job.floor:
            asked["min_useful_pflops"] = job.floor
        if job.tokens:
            asked["parameters"] = "1 B"
            asked["tokens"] = {"count": job.tokens * 1e15 * LENGTH_H * 3600 / 6e9}
        jobs.append(asked)
    market = {}
    for k, item in enumerate(case.items):
        market[item.name] = {
            "price_trend": case.trend,
            "available_from": case.available[k],
            "lead": case.lead[k],
            "retire": case.retires[k],
            "resale": case.resale,
        }
        if case.residual is not None:
            market[item.name]["residual_loss"] = case.residual
    sites = {}
    for a, power in enumerate(case.power):
        owned = {i.name: n for i, n in zip(case.items, case.owned[a], strict=True) if n}
        if case.boxes and case.every:
            owned["box"] = case.boxes
        if count := owned_switches(case, a):
            owned["w"] = count
        sites[f"p{a}"] = {
            "facility_power": f"{power[0]} kW",
            "pue": 1.25,
            "owned": owned,
            "facility_power_from": {str(p + 1): f"{kw} kW" for p, kw in enumerate(power)},
        }
    sense = "minimize" if case.goal in ("tco", "cost") else "maximize"
    objective = {sense: case.goal, "indifference": 0}
    capex = {"per_period": [f"{each} MUSD" for each in case.by_period]}
    capex |= {"total": f"{case.budget} MUSD"} if case.budget else {}
    more: dict[str, Any] = {
        "sites": sites, "periods": {"count": case.periods}, "jobs": jobs, "market": market, "objective": objective,
        "restores": "together" if case.together else "alone",
        "term": {"electricity": f"{0.08 * YEAR} USD/kWh", "discount_rate": case.rate},
        "storage": {"delivered_fraction": {"read": ETA, "write": ETA}, "endurance": "off",
                    "client_limit": {"write": f"{case.clients} GB/s", "read": f"{case.clients} GB/s"}},
    }  # fmt: skip
    more["budget"] = {"capex": capex}
    if case.every:
        more["extras"] = {"box": {"per": "gpu_system", "every": case.every}}
    if case.wired:
        more["network"] = {"compute": {"switches": ["w"]}}
        market["switch"] = {"rewiring": f"{case.rewiring} USD"}
    found = with_support(files(case.gpus, case.stores, more), case.support)
    found = with_switch(found) if case.wired else found
    return with_box(found) if case.every else found


def with_support(found: dict[str, str], support: tuple[float, float, float]) -> dict[str, str]:
    """Add support of GPU systems, a share of their price, and of storage, an amount."""
    book = json.loads(found["book.yaml"])
    for name, price in book["prices"].items():
        price["support_per_year"] = (
            f"{100 * support[0]} %" if name.startswith("g") else f"{support[1]} USD"
        )
        price["support_included_years"] = support[2]
    return {**found, "book.yaml": json.dumps(book)}


def with_item(
    found: dict[str, str], name: str, category: str, kw: float, musd: float, **more: Any
) -> dict[str, str]:
    """Add an item to catalog and prices."""
    catalog, book = json.loads(found["own.yaml"]), json.loads(found["book.yaml"])
    item = {"id": name, "vendor": "V", "model": name, "category": category, **more}
    item["consumes"] = {"it_power": {"value": f"{kw} kW", **CITED}}
    catalog["items"].append(item)
    book["prices"][name] = {"list": f"{musd} MUSD", "date": "2026-01", **CITED}
    return {**found, "own.yaml": json.dumps(catalog), "book.yaml": json.dumps(book)}


def with_switch(found: dict[str, str]) -> dict[str, str]:
    """Add a switch of 8 ports, and as many ports in two rails to each GPU system."""
    catalog, port = json.loads(found["own.yaml"]), {"count": 8, "speed": "400 Gb/s"}
    for item in catalog["items"]:
        if item["category"] == "gpu_system":
            item["ports"] = {"compute": {**port, "rails": 2, **CITED}}
    switch = {"protocol": "infiniband", "ports": [port], **CITED}
    found = {**found, "own.yaml": json.dumps(catalog)}
    return with_item(found, "w", "switch", SWITCH_KW, SWITCH_MUSD, switch=switch)


def with_box(found: dict[str, str]) -> dict[str, str]:
    """Add a management server."""
    return with_item(found, "box", "management", BOX_KW, BOX_MUSD)


# Useful work

Split = tuple[tuple[int, int, int], ...]
"""Jobs at a site in a period with their types and systems in use."""


@cache
def work(case: Case, job: int, gpu: int, systems: int, write: float, read: float) -> float:
    """Return useful PFLOP/s of a job on at most so many systems; -inf where it may not run."""
    j, g, best = case.jobs[job], case.gpus[gpu], -math.inf
    for v in range(1, systems + 1):
        n, drain, restore = 8.0 * v, j.size / write, j.size / read
        m = 1 / (g.per_gpu_s * n)
        low = max(30.0, drain / 0.1, j.stall + drain)
        if low > 3600 * (1 + 1e-12) or restore > 300 * (1 + 1e-12):
            continue

        def kept(
            interval: float, n: float = n, m: float = m, lost: float = drain + restore
        ) -> float:
            z, used = interval / m, 1 - j.stall / interval
            return n * used * math.exp(-(j.restart + lost) / m) * z / math.expm1(z)

        best = max(best, golden(kept, min(low, 3600.0), 3600.0) * g.pflops)
    return best


def least(case: Case, job: int) -> float:
    """Return the least write share."""
    j = case.jobs[job]
    return max(j.size / 360.0, j.size / (3600.0 - j.stall))


def shares(
    case: Case, jobs: Split, units: tuple[int, ...], merge: Callable[[list[float]], float]
) -> float:
    """Return the best merged work over shares of write bandwidth (and of reads, if together)."""
    all_write, all_read = delivered(case, units)
    tops = [case.clients * v for _, _, v in jobs]

    def with_reads(writes: list[float]) -> float:
        def of(reads: list[float]) -> float:
            each = [
                work(case, j, g, v, w, r) if w > 0 and r > 0 else -math.inf
                for (j, g, v), w, r in zip(jobs, writes, reads, strict=True)
            ]
            return -math.inf if -math.inf in each else merge(each)

        if not case.together or len(jobs) == 1:
            return of([min(top, all_read) for top in tops])
        low = case.jobs[jobs[0][0]].size / 300.0
        high = min(tops[0], all_read - case.jobs[jobs[1][0]].size / 300.0)
        if high < low * (1 - 1e-12):
            return -math.inf
        return golden(lambda r: of([r, min(tops[1], all_read - r)]), low, max(low, high), 40)

    if len(jobs) == 1:
        return with_reads([min(tops[0], all_write)])
    low, high = least(case, jobs[0][0]), min(tops[0], all_write - least(case, jobs[1][0]))
    if high < low * (1 - 1e-12):
        return -math.inf
    return golden(lambda b: with_reads([b, min(tops[1], all_write - b)]), low, max(low, high), 55)


# Enumeration


class History(NamedTuple):
    """Units of an item at a site by period; its money: capex by period, the rest of the TCO."""

    units: tuple[int, ...]
    capex: tuple[float, ...]
    later: float


def histories(case: Case, site: int, k: int) -> Iterator[History]:
    """Yield everything that can be bought and retired of an item at a site over time."""
    first, periods = case.available[k] - 1 + case.lead[k], range(case.periods)
    most, owned = max(2, case.owned[site][k]), case.owned[site][k]
    for new in itertools.product(range(most + 1), repeat=case.periods):
        if any(new[:first]):
            continue
        cohorts = [(-1, owned), *enumerate(new)]
        leaving = [leaves(case, k, since, count) for since, count in cohorts]
        for ends in itertools.product(*leaving):
            stands = [
                (since, end) for (since, _), each in zip(cohorts, ends, strict=True) for end in each
            ]
            units = tuple(sum(since <= p < end for since, end in stands) for p in periods)
            if max(units) <= most:
                yield paid(case, k, units, new, stands)


def leaves(case: Case, k: int, since: int, count: int) -> list[tuple[int, ...]]:
    """Return when units can be retired: multisets of periods, the last for never."""
    ends = range(since + 1, case.periods + 1) if case.retires[k] else (case.periods,)
    return list(itertools.combinations_with_replacement(ends, count))


def paid(
    case: Case, k: int, units: tuple[int, ...], new: tuple[int, ...], stands: list[tuple[int, int]]
) -> History:
    item, capex, later = case.items[k], [0.0] * case.periods, 0.0
    share, usd, included = case.support
    for p, count in enumerate(new):
        capex[max(p - case.lead[k], 0)] += count * price(case, item.musd, p - case.lead[k])
    for since, end in stands:
        if end < case.periods:
            later -= case.resale * price(case, item.musd, end) * disc(case, end / 4)
        if since < 0:
            continue
        each = price(case, item.musd, since - case.lead[k])
        if end == case.periods and case.residual is not None:
            left = (1 - case.residual) ** ((case.periods - since) / 4)
            later -= each * left * disc(case, case.periods / 4)
        yearly = share * each if k < len(case.gpus) else usd / 1e6
        for p in range(since, end):
            age = (p - since) / 4
            later += yearly * max(0.0, age + 0.25 - max(age, included)) * disc(case, p / 4)
    return History(units, tuple(capex), later)


class Bought(NamedTuple):
    """What stands at a site by period, and its money: capex by period, TCO."""

    units: tuple[tuple[int, ...], ...]
    capex: tuple[float, ...]
    tco: float


def owned_switches(case: Case, site: int) -> int:
    systems = sum(case.owned[site][: len(case.gpus)])
    return SWITCHES[systems] if case.wired and case.switches else 0


def laid_anew(case: Case, site: int, systems: list[int]) -> list[float]:
    """Return what rewiring costs in each period, MUSD."""
    before = sum(case.owned[site][: len(case.gpus)]) if owned_switches(case, site) else 0
    found = []
    for now in systems:
        changed = case.wired and before and now and SPINES[before] != SPINES[now]
        found.append(LINKS[before] * case.rewiring / 1e6 if changed else 0.0)
        before = now
    return found


def price(case: Case, musd: float, period: int) -> float:
    return round(musd * 1e6 * (1 + case.trend) ** (period / 4), 2) / 1e6


def disc(case: Case, years: float) -> float:
    return float((1 + case.rate) ** -years)


def of_site(case: Case, site: int) -> list[Bought]:
    """Return all that can stand at a site over time within its power."""
    found = []
    every = [list(histories(case, site, k)) for k in range(len(case.items))]
    for chosen in itertools.product(*every):
        units = tuple(tuple(each.units[p] for each in chosen) for p in range(case.periods))
        stored = zip(*units, strict=True) if units else ()
        if sum(any(counts) for counts in list(stored)[len(case.gpus) :]) > 1:  # one family
            continue
        systems = [sum(u[: len(case.gpus)]) for u in units]
        need = [-(-n // case.every) if case.every else 0 for n in systems]
        switches = [SWITCHES[n] if case.wired else 0 for n in systems]
        kw = [
            1.25
            * (
                sum(i.kw * n for i, n in zip(case.items, u, strict=True))
                + BOX_KW * b
                + SWITCH_KW * w
            )
            for u, b, w in zip(units, need, switches, strict=True)
        ]
        if any(kw[p] > case.power[site][p] * (1 + 1e-9) for p in range(case.periods)):
            continue
        fabric, held_before = laid_anew(case, site, systems), owned_switches(case, site)
        for p, count in enumerate(switches):
            fabric[p] += max(0, count - held_before) * SWITCH_MUSD
            held_before = max(held_before, count)
        for held in holdings(case, need):
            found.append(money(case, chosen, units, held, kw, fabric))
    return found


def holdings(case: Case, need: list[int]) -> Iterator[list[int]]:
    """Yield what is held of boxes over time: never less than needed, bought early or in time."""
    if not case.every:
        yield [0] * case.periods
        return
    top = max(case.boxes, *need)
    for held in itertools.product(range(case.boxes, top + 1), repeat=case.periods):
        if tuple(sorted(held)) == held and all(h >= n for h, n in zip(held, need, strict=True)):
            yield list(held)


def money(
    case: Case, chosen: Any, units: Any, held: list[int], kw: list[float], fabric: list[float]
) -> Bought:
    capex = [fabric[p] + math.fsum(each.capex[p] for each in chosen) for p in range(case.periods)]
    tco = math.fsum(each.later for each in chosen)
    for p in range(case.periods):
        new = held[p] - (held[p - 1] if p else case.boxes if case.every else 0)
        capex[p] += new * BOX_MUSD
    for p in range(case.periods):
        energy = kw[p] * 0.08 * YEAR * LENGTH_H / 1e6
        tco += (capex[p] + energy) * disc(case, p / 4)
    return Bought(units, tuple(capex), tco)


def placements(case: Case) -> Iterator[tuple[tuple[int, int], ...]]:
    """Yield (site, type) of each job."""
    yield from itertools.product(
        *([(a, g) for a in job.sites for g in range(len(case.gpus))] for job in case.jobs)
    )


def splits(case: Case, here: list[tuple[int, int]], units: tuple[int, ...]) -> Iterator[Split]:
    """Yield systems in use of the jobs at a site: all of a type, divided where two share it."""
    for systems in itertools.product(*(range(1, units[g] + 1) for _, g in here)):
        used = [
            sum(v for v, (_, g) in zip(systems, here, strict=True) if g == t)
            for t in range(len(case.gpus))
        ]
        if all(used[t] <= units[t] for t in range(len(case.gpus))):
            yield tuple((j, g, v) for (j, g), v in zip(here, systems, strict=True))


def best(case: Case) -> float | None:
    """Return the optimum, None where there is no plan."""
    sites = [of_site(case, a) for a in range(len(case.power))]
    found: float | None = None
    better = min if case.goal in ("tco", "cost") else max
    scored: dict[Any, float] = {}

    def score(place: Any, a: int, p: int, units: tuple[int, ...]) -> float:
        """Return the merged work of the jobs at a site in a period."""
        key = at_site(case, place, a, p), a, units
        if key not in scored:
            scored[key] = _score(case, list(key[0]), units)
        return scored[key]

    plans = sorted(itertools.product(*sites), key=lambda plan: sum(spent(case, s) for s in plan))
    for place in placements(case):
        for plan in plans:
            cost = sum(spent(case, s) for s in plan)
            if found is not None and better is min and cost >= found - 1e-12:
                break
            if not affordable(case, plan):
                continue
            scores = [
                score(place, a, p, s.units[p])
                for a, s in enumerate(plan)
                for p in range(case.periods)
            ]
            if -math.inf in scores:
                continue
            if better is min:
                if min(scores) >= 1 - 1e-9 and tokens_met(case, place, plan):
                    found = cost
                continue
            total = sum(scores) / case.periods if case.goal == "goodput" else min(scores)
            found = total if found is None else max(found, total)
    return found


def spent(case: Case, bought: Bought) -> float:
    return sum(bought.capex) if case.goal == "cost" else bought.tco


def affordable(case: Case, plan: tuple[Bought, ...]) -> bool:
    each = [sum(s.capex[p] for s in plan) for p in range(case.periods)]
    if case.by_period and any(
        each[p] > case.by_period[p] * (1 + 1e-9) for p in range(case.periods)
    ):
        return False
    return case.budget is None or sum(each) <= case.budget * (1 + 1e-9)


def at_site(case: Case, place: Any, site: int, p: int) -> tuple[tuple[int, int], ...]:
    """Return the jobs that run at a site in a period, with their GPU types."""
    windows = [job.window for job in case.jobs]
    here = [(j, g) for j, (at, g) in enumerate(place) if at == site]
    return tuple((j, g) for j, g in here if windows[j][0] <= p + 1 <= windows[j][1])


def delivered(case: Case, units: tuple[int, ...]) -> tuple[float, float]:
    side = list(zip(case.stores, units[len(case.gpus) :], strict=True))
    return ETA * sum(s.write * n for s, n in side), ETA * sum(s.read * n for s, n in side)


def _score(case: Case, here: list[tuple[int, int]], units: tuple[int, ...]) -> float:
    if not here:
        return math.inf if case.goal != "goodput" else 0.0
    if delivered(case, units)[0] <= 0:
        return -math.inf

    def merge(values: list[float]) -> float:
        jobs = [case.jobs[j] for j, _ in here]
        if case.goal == "goodput":
            return sum(j.weight * v for j, v in zip(jobs, values, strict=True))
        if case.goal == "fairness":
            return min(v / j.weight for j, v in zip(jobs, values, strict=True))
        return min((v / j.floor if j.floor else 1e9) for j, v in zip(jobs, values, strict=True))

    return max(
        (shares(case, split, units, merge) for split in splits(case, here, units)),
        default=-math.inf,
    )


def tokens_met(case: Case, place: Any, plan: tuple[Bought, ...]) -> bool:
    """Return whether tokens are met; shares of two jobs at one site over time by their multiplier."""
    asked = [j for j, job in enumerate(case.jobs) if job.tokens]
    if not asked:
        return True

    def done(weights: tuple[float, ...]) -> tuple[float, ...]:
        """Return work of each job over its window where shares do most weighted work."""
        total = [0.0] * len(case.jobs)
        for a, site in enumerate(plan):
            for p in range(case.periods):
                here = at_site(case, place, a, p)
                values = weighted(case, here, site.units[p], weights)
                for (j, _), value in zip(here, values, strict=True):
                    total[j] += value
        return tuple(total)

    best_slack = -math.inf
    for n in range(41) if len(case.jobs) == 2 else (20,):
        t = n / 40
        weights = (t, 1 - t) if len(case.jobs) == 2 else (1.0,)
        total = done(weights)
        best_slack = max(best_slack, min(total[j] / case.jobs[j].tokens for j in asked))
    return best_slack >= 1 - 1e-9


def weighted(
    case: Case,
    here: tuple[tuple[int, int], ...],
    units: tuple[int, ...],
    weights: tuple[float, ...],
) -> list[float]:
    """Return the work of each job where the weighted sum is greatest and floors hold."""
    top: tuple[float, list[float]] = (-math.inf, [0.0] * len(here))

    def merge(values: list[float]) -> float:
        nonlocal top
        for value, (j, _) in zip(values, here, strict=True):
            if case.jobs[j].floor and value < case.jobs[j].floor * (1 - 1e-9):
                return -1e6 + value
        total = sum(weights[j] * value for value, (j, _) in zip(values, here, strict=True))
        if total > top[0]:
            top = total, values
        return total

    if here:
        for split in splits(case, list(here), units):
            shares(case, split, units, merge)
    return top[1]
