"""A portfolio problem file as numbers: offers of each site, sites of each job.

Each site is a problem of its own with a job that asks for nothing: its case has prices, power,
racks and companions. Each training job at each site is a problem of one job: its case says in which
ways it runs there. So every figure is that of the single-job planner.
"""

from __future__ import annotations

import datetime
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Annotated, TypeVar, get_args

from pydantic import BaseModel, Field, TypeAdapter

from planner.case import resolve, with_companions
from planner.case.figures import max_units
from planner.case.items import Storage, System
from planner.case.job import Way
from planner.case.model import Case, Companions, Quantity, Size, Steps
from planner.errors import Finding, InputError, NoSystemError, did_you_mean
from planner.files import contents
from planner.inputs import NOTHING_ASKED, Document, Inputs
from planner.loader import joined, read_document
from planner.loader.checks import check_problem
from planner.loader.documents import validated
from planner.optimizer.useful_work import Team, UsefulWork
from planner.paths import steps_of
from planner.portfolio.instance import Column, Instance, Place, TrainingColumn, layers
from planner.portfolio.schema import InferenceJob, Portfolio, PortfolioPlan, TrainingJob
from planner.schema import CANONICAL
from planner.schema.catalog import Category
from planner.schema.job import Checkpoint, Job
from planner.schema.problem import Network, Objective, Problem, Term
from planner.sizing.availability import waiting_share

SPARES = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
"""Spare units of a job that are tried where their number is open."""
NEVER_WAITS = 1e-5
OfferT = TypeVar("OfferT", System, Storage)
MOST_PLAN_BYTES = 50_000_000
OF_EVERY_JOB = (
    *("name", "catalogs", "prices", "consider", "storage", "network", "software", "extras"),
    *("spares", "currency", "exchange"),
)
"""Settings of a portfolio that are those of each of its problems."""
LAYERS = ("below", "below.links", "above", "above.links")
"""Outputs of a fabric: kind and links of each of its layers."""
OF_SITE = ("network", "storage")
"""Those that a site may have of its own."""
NOBODY = Job(name="none", checkpoint=Checkpoint.model_validate({"size": "1 GB"}))
"""A job that asks for nothing: what a site offers does not depend on who runs there."""


# Reading the file


def load(path: Path, settings: tuple[str, ...] = (), scenario: str | None = None) -> Instance:
    """The instance of a portfolio problem file.

    Raises:
        InputError: something in it is wrong; file, line, cause and fix are told.
    """
    document = read_document(path, settings, scenario)
    data, marks = document.data, document.marks
    if "site" in data and "sites" not in data:
        data["sites"] = {"site": data.pop("site")}
        for each in [path for path in marks if path[:1] == ("site",)]:
            marks["sites", *each] = marks.pop(each)
    portfolio = validated(Portfolio, document)
    _refuse(document, chain(_check_jobs(portfolio), _check_whole(portfolio)))
    owned = _owned(portfolio, document)
    problems = {name: _problem(portfolio, name, units) for name, units in owned.items()}
    base, _ = joined(next(iter(problems.values())), document, settings)
    _refuse(document, _check_items(portfolio, owned, base))
    sites = {name: _fitting(base, problem, name) for name, problem in problems.items()}
    places = [_place(portfolio, document, *each, owned[each[0]]) for each in sites.items()]
    columns, left_out = list[Column](), dict[str, None]()
    for number in range(len(portfolio.jobs)):
        columns += _columns(portfolio, document, number, places)
    for place in places:
        left_out |= {f"{sku}: {why}": None for sku, why in place.case.not_considered}
    read = settings, scenario, tuple(left_out)
    return Instance(portfolio, document, tuple(places), tuple(columns), *read)


Checked = tuple[str, bool, str, str]
"""A path in the file, whether it is wrong, the cause and the fix."""


def _refuse(document: Document, rows: Iterable[Checked]) -> None:
    """Raise an error with the file and line of everything that is wrong.

    Raises:
        InputError: something is.
    """
    found = [
        Finding("portfolio", message, *document.place(steps_of(path)), path, fix)
        for path, wrong, message, fix in rows
        if wrong
    ]
    if found:
        raise InputError(found)


def _check_jobs(portfolio: Portfolio) -> Iterator[Checked]:
    """Yield what jobs contradict in the file, and settings that portfolios do not have."""
    names, sites = [job.name for job in portfolio.jobs], [*portfolio.sites]
    for number, job in enumerate(portfolio.jobs):
        path, count = f"jobs.{number}", portfolio.periods.count
        first, last = job.window.first, job.window.last or count
        text = f"two jobs are named '{job.name}'"
        yield f"{path}.name", names.index(job.name) != number, text, "give each job its own name"
        for name in sorted({*(job.sites or ())} - {*sites}):
            fix = did_you_mean(name, sites) or f"known: {', '.join(sites)}"
            yield f"{path}.sites", True, f"no site '{name}'", fix
        text = f"the window begins in period {first} and ends in {last}, of {count}"
        fix = "give from and to in that order, within periods.count"
        yield f"{path}.window", not first <= last <= count, text, fix
        if isinstance(job, TrainingJob):
            by = job.tokens.by if job.tokens else None
            text = f"tokens by period {by}, but the job runs in {first} to {last}"
            fix = "give a period of its window"
            yield f"{path}.tokens.by", by is not None and not first <= by <= last, text, fix
            for key, wrong, reason, fix in _check_settings(job):
                yield f"{path}.{key}", wrong, f"job '{job.name}': {reason}", fix


def _check_settings(job: TrainingJob) -> Iterator[Checked]:
    """Yield settings of a job that a portfolio does not have."""
    check, training, repair, gpus = job.checkpoint, job.training, job.repair, job.gpus
    local, rate = check.mode != "async" or job.levels is not None, training.mfu or training.model
    sized = job.parameters or training.active_parameters or job.tokens is None
    table = training.scale is not None and training.scale.table is not None
    shrinks = repair is not None and repair.when_short == "shrink"
    concave = "useful work is not concave in the shares"
    text = f"with synchronous or two-level checkpoints {concave}"
    yield "checkpoint.mode", local, text, "use mode: async, no local level"
    text, slow = f"with it {concave}", check.drain_slowdown > 0
    yield "checkpoint.drain_slowdown", slow, text, "set drain_slowdown: 0"
    yield "repair.when_short", shrinks, "no running on with fewer replicas", "use wait"
    yield "power", job.power is not None, "jobs run at rated power", "leave power out"
    yield "dataset.tier", job.in_bulk, "no bulk tier", "hold the data set on flash"
    text = "a job runs on one GPU type"
    yield "gpus.max_types", gpus.max_types > 1, text, "leave max_types out"
    text = "work of several jobs is added in FLOP/s, which needs a rate"
    yield "training", not rate, text, "give training: {mfu: 40 %} or {model: ...}"
    text, fix = "tokens in a portfolio have a date", "give tokens: {count: 15 T, by: 6} in the job"
    yield "training.tokens", training.tokens is not None, text, fix
    yield "tokens", not sized, "tokens follow from the parameters", "give parameters: 70 B"
    yield "training.scale", table, "a table of scaling is not concave", "give an exponent"


def _check_whole(portfolio: Portfolio) -> Iterator[Checked]:
    """Yield rules of items and storage that are for one purchase, and periods beyond the last."""
    stores, periods = {"storage": portfolio.storage}, portfolio.periods
    for name, rule in portfolio.items.items():
        for key in sorted(rule.model_fields_set & {"fixed", "min", "installed", "retire"}):
            text = f"items.{name}.{key} is not for several sites or periods"
            fix = "name owned units by site (sites.NAME.owned), retirement under market"
            yield f"items.{name}.{key}", True, text, fix
    for name, site in portfolio.sites.items():
        if site.storage is not None:
            stores[f"sites.{name}.storage"] = site.storage
        for period in site.facility_power_from:
            text = f"period {period} of {periods.count}"
            path, fix = f"sites.{name}.facility_power_from.{period}", "name a period of the problem"
            yield path, period > periods.count, text, fix
    for path, storage in stores.items():
        wrong = {"rule": storage.rule != "demand", "tolerate_down": storage.tolerate_down > 0}
        for key, refused in wrong.items():
            text = f"{path}.{key} is not supported for several jobs, sites or periods"
            yield f"{path}.{key}", refused, text, f"leave {path}.{key} out"
    given, path = len(portfolio.budget.capex.per_period_usd), "budget.capex.per_period"
    text, fix = f"{given} budgets for {periods.count} periods", "give at most one for each period"
    yield path, given > periods.count, text, fix
    ends = int(periods.start[:4]) + portfolio.years if periods.start else 0
    text = f"no calendar goes on from {periods.start}"
    yield "periods.start", ends >= datetime.MAXYEAR, text, "begin earlier"


def _check_items(
    portfolio: Portfolio, owned: Mapping[str, Mapping[str, int]], inputs: Inputs
) -> Iterator[Checked]:
    """Yield items of the market, of sites and of inference that no catalog has."""
    named = [(f"market.{name}", name) for name in portfolio.market.keys() - get_args(Category)]
    named += [(f"sites.{site}.owned", name) for site, units in owned.items() for name in units]
    for number, job in enumerate(portfolio.jobs):
        if isinstance(job, InferenceJob):
            named += [(f"jobs.{number}.types", name) for name in job.types or ()]
            named += [(f"jobs.{number}.rates.{name}", name) for name in job.rates]
    for path, name in sorted(named):
        fix = did_you_mean(name, list(inputs.by_id)) or "name an item of the catalogs"
        yield path, name not in inputs.by_id, f"no item '{name}' in the catalogs", fix
    links, units = "only links of switches are laid anew", "only GPU systems and storage retire"
    for name, rule in portfolio.market.items():
        kind, path = inputs.item(name).category if name in inputs.by_id else name, f"market.{name}"
        yield f"{path}.rewiring", rule.rewiring_usd > 0 and kind != "switch", links, "leave it out"
        stays = kind in get_args(Category) and kind not in ("gpu_system", "storage")
        yield f"{path}.retire", rule.retire and stays, units, "leave it out"


# What stands there before


class _Line(BaseModel):
    """A line of the plan of one job, as far as it counts units in place."""

    sku: str
    quantity: Annotated[int, Field(ge=0, le=10_000_000)]
    parent: str | None = None


class _SinglePlan(BaseModel):
    lines: tuple[_Line, ...]


_EARLIER: TypeAdapter[PortfolioPlan | _SinglePlan] = TypeAdapter(PortfolioPlan | _SinglePlan)


def _owned(portfolio: Portfolio, document: Document) -> dict[str, Counter[str]]:
    """The units that stand at each site before the first period.

    Raises:
        InputError: the plan file is not there, no plan, or not of these sites.
    """
    units, name = {site: Counter(p.owned) for site, p in portfolio.sites.items()}, portfolio.owned
    if name is None:
        return units
    plan, fix = None, "give PROBLEM.plan.json"
    try:
        raw = contents(document.folder / name, most_bytes=MOST_PLAN_BYTES, what="plan")
        plan = _EARLIER.validate_json(raw)
    except InputError as error:
        texts = [f"{finding.file}: {finding.message}" for finding in error.findings]
        _refuse(document, [("owned", True, text, fix) for text in texts])
    except ValueError:
        _refuse(document, [("owned", True, f"'{name}' is no plan that planner wrote", fix)])
    left = plan.left() if isinstance(plan, PortfolioPlan) else {}
    if isinstance(plan, _SinglePlan) and len(units) == 1:
        counts = Counter[str]()
        for line in plan.lines:
            counts[line.sku] += line.quantity if line.parent is None else 0
        left = {site: +counts for site in units}
    if not left or left.keys() - units.keys():
        message = f"the plan '{name}' is of no site that the problem names"
        _refuse(document, [("owned", True, message, "name its sites alike")])
    for site, counted in left.items():
        units[site].update(counted)
    return units


# From the file to numbers


def _problem(
    portfolio: Portfolio, site_name: str, owned: Mapping[str, int], job: Job = NOBODY
) -> Problem:
    """The problem of one job at one site in one period; a training job has its fabrics apart."""
    site, term = portfolio.sites[site_name], portfolio.term
    powers = [site.facility_power_kw, *site.facility_power_from.values()]
    own, rules = site.electricity_usd_per_kwh, dict(portfolio.items)
    terms = {
        "years": portfolio.years,
        "electricity": term.electricity_usd_per_kwh if own is None else own,
        "energy_basis": term.energy_basis,
    }
    for name, count in owned.items():
        rules[name] = rules.get(name, NOTHING_ASKED).model_copy(update={"installed": count})
    fields = {name: getattr(portfolio, name) for name in OF_EVERY_JOB}
    fields |= {name: each for name in OF_SITE if (each := getattr(site, name)) is not None}
    if job is not NOBODY:
        fields |= {"network": Network(), "extras": {}}
    most_kw = max((kw for kw in powers if kw is not None), default=None)
    return Problem(
        site=site.model_copy(update={"facility_power_kw": most_kw}),
        term=Term.model_validate(terms, context=CANONICAL),
        items=rules,
        jobs=(job,),
        objective=Objective(minimize="tco") if job is NOBODY else Objective(maximize="goodput"),
        **fields,
    )


def _fitting(
    base: Inputs, problem: Problem, site: str, job: int | None = None, *, bounded: bool = True
) -> Inputs:
    """Inputs with another problem; findings have the paths of the portfolio.

    Args:
        bounded: whether something over all sites bounds the work.

    Raises:
        InputError: catalogs or prices do not fit, or nothing bounds the work.
    """
    inputs, errors, document = replace(base, problem=problem), list[Finding](), base.document
    assert document is not None
    for finding in check_problem(inputs):
        kind, dot, rest = (finding.path or "").partition(".")
        of_nobody = job is None and kind in ("jobs", "objective", "targets")
        held = bounded and finding.code == "unbounded"
        if finding.severity != "error" or held or of_nobody:
            continue
        if kind == "site":
            kind = f"sites.{site}"
        elif kind in OF_SITE and getattr(problem.site, kind) is not None:
            kind = f"sites.{site}.{kind}"
        elif kind == "jobs":
            kind, rest = f"jobs.{job}", rest.partition(".")[2]
        path = f"{kind}{dot}{rest}".removesuffix(".")
        file, line = document.place(steps_of(path))
        errors.append(replace(finding, path=path, file=file, line=line))
    if errors:
        raise InputError(errors)
    return inputs


def _place(
    portfolio: Portfolio, document: Document, name: str, inputs: Inputs, owned: Mapping[str, int]
) -> Place:
    """A site in numbers, without its owned units.

    Raises:
        InputError: owned units cannot be planned.
    """
    case, rules, market = resolve(inputs), inputs.problem.items, portfolio.rule
    known, why = {each.id for each in (*case.systems, *case.storage)}, dict(case.not_considered)
    decided = [sku for sku in owned if inputs.item(sku).category in ("gpu_system", "storage")]
    path, fix = f"sites.{name}.owned", "let it in, or add the figure in a catalog"
    text = "'{}' is owned but cannot be planned: {}"
    unfit = [(sku, why.get(sku, "not on offer")) for sku in decided if sku not in known]
    _refuse(document, [(path, True, text.format(*each), fix) for each in unfit])
    years, most_usd = portfolio.years, portfolio.most_capex_usd

    def on_offer(offer: OfferT) -> OfferT:
        """No more of an offer, of which none are owned, than owned units and the budget allow."""
        trend = market(offer.id, inputs.item(offer.id).category).price_trend
        cheapest = (offer.unit_net_usd or 0.0) * min(1.0, (1.0 + trend) ** years)
        high = math.inf if offer.high is None else offer.high
        if most_usd is not None and cheapest > 0.0:
            high = min(high, owned.get(offer.id, 0) + math.floor(most_usd / cheapest + 1e-6))
        return replace(offer, installed=0, high=None if math.isinf(high) else int(high))

    case = replace(
        case,
        systems=tuple(on_offer(each) for each in case.systems),
        storage=tuple(on_offer(each) for each in _steady(case)),
        unusable=(),
        companions=Companions(),
    )
    bare = {sku: rule.model_copy(update={"installed": 0}) for sku, rule in rules.items()}
    free = replace(inputs, problem=inputs.problem.model_copy(update={"items": bare}))
    case = with_companions(free, case)
    case = _with_layers(portfolio, replace(case, companions=case.companions_for(())))
    tops = {o.id: max(max_units(case, o), owned.get(o.id, 0)) for o in case.offers()}
    return Place(name, portfolio.sites[name], free, case, owned, tops)


def _steady(case: Case) -> tuple[Storage, ...]:
    """Storage without bursts: jobs share its sustained bandwidth."""
    steady = (replace(s, burst_nameplate_gb_per_s=0.0, buffer_gb=0.0) for s in case.storage)
    return tuple(steady)


def _with_layers(portfolio: Portfolio, case: Case) -> Case:
    """The case with the layers of fabrics as counts, where it costs to lay them anew."""
    fabrics = {each.prefix: each for each in case.companions.fabrics}

    def counted(steps: Quantity) -> Quantity:
        fabric = fabrics.get(steps.name)
        if fabric is None or not isinstance(steps, Steps):
            return steps
        if not portfolio.rule(fabric.switch, "switch").rewiring_usd:
            return steps
        sizes = [
            Size(size.capacity, (*size.outputs, *chain(*each)))
            for size, each in zip(steps.sizes, layers(fabric), strict=True)
        ]
        names = (f"{steps.name}.{layer}" for layer in LAYERS)
        return replace(steps, sizes=tuple(sizes), outputs=(*steps.outputs, *names))

    quantities = tuple(map(counted, case.companions.quantities))
    return replace(case, companions=replace(case.companions, quantities=quantities))


def _columns(
    portfolio: Portfolio, document: Document, number: int, places: Sequence[Place]
) -> list[Column]:
    """Every way in which a job can run.

    Raises:
        NoSystemError: it can run nowhere.
    """
    job, found = portfolio.jobs[number], list[Column]()
    for at, place in enumerate(places):
        if job.sites is not None and place.name not in job.sites:
            continue
        if isinstance(job, TrainingJob):
            found += _training(portfolio, number, job, at, place)
        else:
            found += _inference(number, job, at, place)
    if not found and not job.optional:
        message = f"job '{job.name}' can run on no GPU system at any of its sites"
        fix = "see consider.gpu_systems, power and budget; of inference memory, types and rates"
        path = f"jobs.{number}"
        raise NoSystemError(
            Finding("portfolio", message, *document.place(steps_of(path)), path, fix)
        )
    return found


def _training(
    portfolio: Portfolio, number: int, job: TrainingJob, at: int, place: Place
) -> Iterator[Column]:
    problem = _problem(portfolio, place.name, place.owned, job)
    tco, bounded = portfolio.budget.tco_usd, portfolio.objective.minimize is not None
    bounded = bounded or (portfolio.most_capex_usd, tco) != (None, None)
    case = resolve(_fitting(place.inputs, problem, place.name, number, bounded=bounded))
    case = replace(case, storage=_steady(case))
    for system in case.systems:
        on_offer = place.offers.get(system.id)
        if not isinstance(on_offer, System):
            continue
        for way in system.ways:
            most = float(place.tops[system.id] * way.usable_gpus)
            for spares in _spares(case, way, most):
                team = Team(((system, way),), "async", spares=spares, spares_counted=spares)
                work = UsefulWork(case, team)
                low, high = work.gpus_range
                if work.concave and low <= min(high, most):
                    name = f"{number}.{at}.{way.id}" + (f".{spares}" if spares else "")
                    yield TrainingColumn(name, number, at, on_offer, way=way, work=work, case=case)


def _spares(case: Case, way: Way, gpus: float) -> tuple[int, ...]:
    """The numbers of spare units that a plan may choose from; one where it is given."""
    repair = case.job.repair
    if repair is None or way.spare_unit.in_rack:
        return (0,)
    if repair.spares is not None:
        return (repair.spares,)
    found = []
    for spares in SPARES:
        found.append(spares)
        if waiting_share(spares, repair.load(way.failures_per_gpu_day, gpus)) < NEVER_WAITS:
            break
    return tuple(found)


def _inference(number: int, job: InferenceJob, at: int, place: Place) -> Iterator[Column]:
    for system in place.case.systems:
        item = place.inputs.item(system.id)
        if job.types is not None and system.id not in job.types:
            continue
        if job.tokens_per_s is not None:
            rate = job.rates.get(system.id)
            if rate is None:
                continue
            gpus = job.tokens_per_s / rate.per_gpu
        else:
            memory = item.gpu.memory.value if item.gpu.memory else 0.0
            if job.min_memory_gb is not None and memory < job.min_memory_gb:
                continue
            gpus = float(job.gpus or 0)
        systems = math.ceil(gpus / system.gpus - 1e-9)
        if systems <= place.tops[system.id]:
            yield Column(f"{number}.{at}.{system.id}", number, at, system, systems)
