"""A portfolio problem file as numbers: offers of each site, sites of each job.

Each site is a problem of its own with a job that asks for nothing: its case has prices, power,
racks and companions. Each training job at each site is a problem of one job: its case says in which
ways it runs there. So every figure is that of the single-job planner. Sites, jobs and periods of
an instance count from 0.
"""

from __future__ import annotations

import datetime
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

from planner.case import resolve, with_companions
from planner.case.figures import max_units, support_span
from planner.case.items import BillItem, Offer, Storage, System
from planner.case.job import Way
from planner.case.model import Case, Companions
from planner.errors import Finding, InputError, did_you_mean
from planner.files import contents
from planner.inputs import Document, Inputs
from planner.loader import joined, read_document
from planner.loader.documents import validated
from planner.optimizer.useful_work import Team, UsefulWork
from planner.paths import DataPath, job_path, steps_of
from planner.portfolio.schema import (
    InferenceJob,
    MarketRule,
    Portfolio,
    PortfolioPlan,
    PortfolioSite,
    TrainingJob,
)
from planner.schema import CANONICAL
from planner.schema.catalog import Category, Item
from planner.schema.job import Checkpoint, Job
from planner.schema.problem import Budget, Objective, Problem, Quantity, Term
from planner.sizing.availability import waiting_share
from planner.units import HOURS_PER_YEAR

SECONDS_PER_YEAR = 3600.0 * HOURS_PER_YEAR
SPARES = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
"""Spare units of a job that are tried where their number is open."""
NEVER_WAITS = 1e-5
MOST_PLAN_BYTES = 50_000_000
OF_EVERY_JOB = (
    *("name", "catalogs", "prices", "consider", "storage", "network", "software", "extras"),
    *("spares", "currency", "exchange"),
)
"""Settings of a portfolio that are those of each of its problems."""
NOBODY = Job(name="none", checkpoint=Checkpoint.model_validate({"size": "1 GB"}))
"""A job that asks for nothing: what a site offers does not depend on who runs there."""


@dataclass(frozen=True, eq=False)
class Column:
    """A way in which a job can run: at a site, on a type of GPU system.

    ``name`` is that of its variables and rows, ``systems`` are those that an inference job takes.
    """

    name: str
    job: int
    site: int
    system: System
    systems: int = 0


@dataclass(frozen=True, eq=False, kw_only=True)
class TrainingColumn(Column):
    """A way in which a training job can run, with its useful work."""

    way: Way
    work: UsefulWork
    case: Case


@dataclass(frozen=True)
class Place:
    """A site in numbers: its case, whose offers are not owned, and its installed base."""

    name: str
    site: PortfolioSite
    inputs: Inputs
    case: Case
    owned: Mapping[str, int]
    tops: Mapping[str, int]

    @cached_property
    def items(self) -> Mapping[str, BillItem]:
        """Every item of a possible bill, by id."""
        return {item.id: item for item in self.case.bill_items()}

    @cached_property
    def offers(self) -> Mapping[str, Offer]:
        """GPU systems and storage, by id."""
        return {offer.id: offer for offer in self.case.offers()}

    def limit(self, field: str, period: int) -> float | None:
        """A limit of the site in a period, counted from 0."""
        site = self.site
        if field != "facility_power_kw":
            return self.case.limits[field]
        begun = [first for first in site.facility_power_from if first <= period + 1]
        kw = site.facility_power_from[max(begun)] if begun else site.facility_power_kw
        return site.left_at_meter_kw(kw)


@dataclass(frozen=True)
class Instance:
    """A portfolio in numbers; periods count from 0."""

    portfolio: Portfolio
    document: Document
    places: tuple[Place, ...]
    columns: tuple[Column, ...]
    settings: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def periods(self) -> range:
        """All periods."""
        return range(self.portfolio.periods.count)

    @property
    def years(self) -> float:
        """The length of a period, years."""
        return self.portfolio.periods.years

    @property
    def period_s(self) -> float:
        """The length of a period, s."""
        return self.years * SECONDS_PER_YEAR

    def discount(self, at_years: float) -> float:
        """The present value of a dollar paid at a time, years from the start."""
        return float((1.0 + self.portfolio.term.discount_rate) ** -at_years)

    def window(self, job: int) -> range:
        """The periods in which a job runs."""
        asked = self.portfolio.jobs[job]
        return range(asked.window.first - 1, self.portfolio.last_of(asked))

    def rule(self, place: Place, item_id: str) -> MarketRule:
        """The market rule of an item."""
        return self.portfolio.rule(item_id, place.inputs.item(item_id).category)

    def price_usd(self, place: Place, item_id: str, period: int) -> float:
        """The net price of a unit ordered in a period, USD to the cent."""
        price = place.items[item_id].unit_net_usd or 0.0
        trend = self.rule(place, item_id).price_trend
        change = float((1.0 + trend) ** (period * self.years))
        return place.inputs.problem.shown_in.rounded_usd(price * change) if trend else price

    def first_arrival(self, place: Place, item_id: str) -> int:
        """The first period in which a unit that is bought can be in use."""
        rule = self.rule(place, item_id)
        return rule.available_from - 1 + rule.lead

    def support_usd(self, place: Place, item_id: str, arrives: int) -> list[float]:
        """Support and subscription of a unit in each period, USD."""
        item = place.items[item_id]
        span = support_span(place.inputs.item(item_id), place.inputs)
        end = span[1] if span[1] < self.years * len(self.periods) else math.inf
        found = [0.0] * min(arrives, len(self.periods))
        for period in self.periods[arrives:]:
            age = (period - arrives) * self.years
            paid = max(0.0, min(age + self.years, end) - max(age, span[0]))
            subscription = item.subscription_usd_per_year * self.years
            found.append(item.support_usd_per_year * paid + subscription)
        return found

    def residual_share(self, place: Place, item_id: str, arrives: int) -> float:
        """The share of its price that a unit is worth at the end."""
        loss = self.rule(place, item_id).residual_loss
        if loss is None:
            return 0.0
        return float((1.0 - loss) ** ((len(self.periods) - arrives) * self.years))

    def start(self, period: int) -> str | None:
        """The day on which a period begins, None without a start."""
        first = self.portfolio.periods.start
        if first is None:
            return None
        day = datetime.date.fromisoformat(first)
        month = day.month - 1 + period * self.portfolio.periods.months
        year, month = day.year + month // 12, month % 12 + 1
        return datetime.date(year, month, min(day.day, 28)).isoformat()


# Reading the file


def load(path: Path, settings: tuple[str, ...] = (), scenario: str | None = None) -> Instance:
    """The instance of a portfolio problem file.

    Raises:
        InputError: something in it is wrong; file, line, cause and fix are told.
    """
    document = read_document(path, settings, scenario)
    data, lines = document.data, document.lines
    if "site" in data and "sites" not in data:
        data["sites"] = {"site": data.pop("site")}
        for each in [path for path in lines if path[:1] == ("site",)]:
            lines["sites", *each] = lines.pop(each)
    portfolio = validated(Portfolio, document)
    _check_jobs(portfolio, document)
    _check_items(portfolio, document)
    return instance_of(portfolio, document, settings)


def _error(document: Document, path: str, message: str, fix: str) -> InputError:
    file, line = document.place(steps_of(path))
    return InputError(Finding("portfolio", message, file, line, path, fix))


def _check_jobs(portfolio: Portfolio, document: Document) -> None:
    """Refuse jobs that contradict the file, and settings that portfolios do not have."""
    names = [job.name for job in portfolio.jobs]
    for number, job in enumerate(portfolio.jobs):
        path, first, last = f"jobs.{number}", job.window.first, portfolio.last_of(job)
        if names.count(job.name) > 1:
            message = f"two jobs are named '{job.name}'"
            raise _error(document, f"{path}.name", message, "give each job its own name")
        for name in set(job.sites or ()) - {*portfolio.sites}:
            fix = did_you_mean(name, list(portfolio.sites)) or ", ".join(portfolio.sites)
            raise _error(document, f"{path}.sites", f"no site '{name}'", fix)
        if first > last:
            message = f"the window begins in period {first} and ends in {last}"
            raise _error(document, f"{path}.window", message, "give from and to in that order")
        if isinstance(job, TrainingJob):
            if job.tokens is not None and not first <= (job.tokens.by or last) <= last:
                message = f"tokens by period {job.tokens.by}, but the job runs in {first} to {last}"
                raise _error(document, f"{path}.tokens.by", message, "give a period of its window")
            for key, wrong, message, fix in _refused(job):
                if wrong:
                    raise _error(document, f"{path}.{key}", f"job '{job.name}': {message}", fix)


def _check_items(portfolio: Portfolio, document: Document) -> None:
    """Refuse rules of items and of storage that are for one purchase."""
    for name, rule in portfolio.items.items():
        for key in rule.model_fields_set & {"fixed", "min", "installed", "retire", "required"}:
            fix = "name owned units by site (sites.NAME.owned), retirement under market"
            message = f"items.{name}.{key} is not for several sites or periods"
            raise _error(document, f"items.{name}.{key}", message, fix)
    storage = portfolio.storage
    wrong = {"rule": storage.rule != "demand", "tolerate_down": storage.tolerate_down > 0}
    for key in (name for name, refused in wrong.items() if refused):
        message = f"storage.{key} is not supported for several jobs, sites or periods"
        raise _error(document, f"storage.{key}", message, f"leave storage.{key} out")


def _refused(job: TrainingJob) -> Iterator[tuple[str, bool, str, str]]:
    """Yield settings that a portfolio does not have: path, whether set, reason and fix."""
    check, training, repair = job.checkpoint, job.training, job.repair
    local = check.mode != "async" or job.levels is not None
    slow, shrinks = check.drain_slowdown > 0, repair is not None and repair.when_short == "shrink"
    types, rate = job.gpus.max_types > 1, training.mfu is None and training.model is None
    sized, scale = job.parameters or training.active_parameters, training.scale
    concave = "useful work is not concave in the shares"
    fix = "use mode: async, no local level"
    yield "checkpoint.mode", local, f"with synchronous or two-level checkpoints {concave}", fix
    yield "checkpoint.drain_slowdown", slow, f"with it {concave}", "set drain_slowdown: 0"
    yield "repair.when_short", shrinks, "no running on with fewer replicas", "use wait"
    yield "power", job.power is not None, "jobs run at rated power", "leave power out"
    yield "dataset.tier", job.in_bulk, "no bulk tier", "hold the data set on flash"
    yield "gpus.max_types", types, "a job runs on one GPU type", "leave max_types out"
    fix = "give training: {mfu: 40 %} or {model: ...}"
    yield "training", rate, "work of several jobs is added in FLOP/s, which needs a rate", fix
    fix, dated = "give tokens: {count: 15 T, by: 6} in the job", training.tokens is not None
    yield "training.tokens", dated, "tokens in a portfolio have a date", fix
    fix, unsized = "give parameters: 70 B", job.tokens is not None and not sized
    yield "tokens", unsized, "tokens follow from the parameters", fix
    table = scale is not None and scale.table is not None
    yield "training.scale", table, "a table of scaling is not concave", "give an exponent"


# From the file to numbers


def instance_of(
    portfolio: Portfolio, document: Document, settings: tuple[str, ...] = ()
) -> Instance:
    """A portfolio as numbers.

    Raises:
        InputError: catalogs, prices or owned units do not fit.
    """
    owned = _owned(portfolio, document)
    places: list[Place] = []
    base: Inputs | None = None
    for name in portfolio.sites:
        problem = _problem(portfolio, name, NOBODY, owned[name])
        view = _view(document, name, None)
        base = _joined(problem, view, name, None, settings)
        places.append(_place(portfolio, document, name, base, owned[name]))
    assert base is not None
    _check_names(portfolio, document, base)
    columns = [*_columns(portfolio, document, places)]
    left_out = dict.fromkeys(
        f"{sku}: {why}" for place in places for sku, why in place.case.not_considered
    )
    return Instance(portfolio, document, tuple(places), tuple(columns), settings, (*left_out,))


def _check_names(portfolio: Portfolio, document: Document, inputs: Inputs) -> None:
    """Refuse items of the market and of inference that no catalog has."""
    ids = portfolio.market.keys() - {*get_args(Category)}
    named = [(f"market.{name}", name) for name in sorted(ids)]
    for number, job in enumerate(portfolio.jobs):
        if isinstance(job, InferenceJob):
            named += [(f"jobs.{number}.types", name) for name in job.types or ()]
            named += [(f"jobs.{number}.rates.{name}", name) for name in job.rates]
    for path, name in named:
        _known(document, path, name, inputs)


def _known(document: Document, path: str, name: str, inputs: Inputs) -> Item:
    """An item by its id, which must be in the catalogs."""
    if name not in inputs.by_id:
        fix = did_you_mean(name, list(inputs.by_id)) or "name an item of the catalogs"
        raise _error(document, path, f"no item '{name}' in the catalogs", fix)
    return inputs.by_id[name]


def _problem(
    portfolio: Portfolio,
    site_name: str,
    job: Job,
    owned: Mapping[str, int],
    *,
    goodput: bool = False,
) -> Problem:
    """The problem of one job at one site in one period."""
    site, term = portfolio.sites[site_name], portfolio.term
    powers = [site.facility_power_kw, *site.facility_power_from.values()]
    most_kw = max((kw for kw in powers if kw is not None), default=None)
    own = site.electricity_usd_per_kwh
    terms = {
        "years": portfolio.periods.years * portfolio.periods.count,
        "electricity": term.electricity_usd_per_kwh if own is None else own,
        "energy_basis": term.energy_basis,
    }
    rules = dict(portfolio.items)
    for name, count in owned.items():
        rules[name] = rules.get(name, Quantity()).model_copy(update={"installed": count})
    return Problem(
        site=site.model_copy(update={"facility_power_kw": most_kw}),
        budget=Budget(),
        term=Term.model_validate(terms, context=CANONICAL),
        items=rules,
        jobs=(job,),
        objective=Objective(maximize="goodput") if goodput else Objective(minimize="tco"),
        **{name: getattr(portfolio, name) for name in OF_EVERY_JOB},
    )


def _view(document: Document, site: str, job: int | None) -> Document:
    """The document as one of a single site and job: lines of its paths."""

    def paths(found: Mapping[DataPath, Any]) -> dict[DataPath, Any]:
        kept: dict[DataPath, Any] = {}
        for path, where in found.items():
            if path[:2] == ("sites", site):
                kept["site", *path[2:]] = where
            elif path[:2] == ("jobs", job):
                kept["jobs", 0, *path[2:]] = where
            elif path[:1] != ("jobs",):
                kept[path] = where
        return kept

    return replace(document, lines=paths(document.lines), origins=paths(document.origins))


def _joined(
    problem: Problem, view: Document, site: str, job: int | None, settings: tuple[str, ...]
) -> Inputs:
    """A problem with catalogs and prices; findings have the paths of the portfolio."""
    inputs, findings = joined(problem, view, settings)
    errors = []
    for finding in findings:
        path = finding.path or ""
        of_nobody = job is None and path.split(".")[0] in ("jobs", "objective", "targets")
        if finding.severity != "error" or finding.code == "unbounded" or of_nobody:
            continue
        if path.startswith("site"):
            path = path.replace("site", f"sites.{site}", 1)
        elif job is not None and path.startswith(job_path()):
            path = path.replace(job_path(), job_path(job=job), 1)
        errors.append(replace(finding, path=path))
    if errors:
        raise InputError(errors)
    return inputs


def _place(
    portfolio: Portfolio, document: Document, name: str, inputs: Inputs, owned: Mapping[str, int]
) -> Place:
    case = resolve(inputs)
    known = {offer.id: offer for offer in (*case.systems, *case.storage)}
    for sku in owned:
        item = _known(document, f"sites.{name}.owned", sku, inputs)
        if item.category in ("gpu_system", "storage") and sku not in known:
            why = dict(case.not_considered).get(sku, "not on offer")
            message = f"'{sku}' is owned but cannot be planned: {why}"
            raise _error(document, f"sites.{name}.owned", message, "add the figure in a catalog")
    bare = {
        sku: rule.model_copy(update={"installed": 0}) for sku, rule in inputs.problem.items.items()
    }
    free = replace(inputs, problem=inputs.problem.model_copy(update={"items": bare}))
    case = replace(
        case,
        systems=tuple(replace(each, installed=0) for each in case.systems),
        storage=tuple(_steady(each) for each in case.storage),
        unusable=(),
        companions=Companions(),
    )
    case = with_companions(free, _within_budget(portfolio, case, owned))
    case = replace(case, companions=case.companions_for(()))
    tops = {o.id: max(max_units(case, o), owned.get(o.id, 0)) for o in case.offers()}
    return Place(name, portfolio.sites[name], free, case, owned, tops)


def _steady(item: Storage) -> Storage:
    """Storage that is not owned and takes no bursts; jobs share its sustained bandwidth."""
    return replace(item, installed=0, burst_nameplate_gb_per_s=0.0, buffer_gb=0.0)


def _within_budget(portfolio: Portfolio, case: Case, owned: Mapping[str, int]) -> Case:
    """The case with offers bounded by owned units and those that the capital budget buys."""
    budget, count = portfolio.budget.capex, portfolio.periods.count
    most, given = budget.total_usd, budget.per_period_usd
    if most is None and given:
        most = math.fsum((*given, *given[-1:] * count)[:count])
    if most is None:
        return case

    def bounded(offer: Any, category: str) -> Any:
        trend = portfolio.rule(offer.id, category).price_trend
        lowest = (offer.unit_net_usd or 0.0) * min(
            1.0, (1.0 + trend) ** (portfolio.periods.years * count)
        )
        if lowest <= 0:
            return offer
        high = owned.get(offer.id, 0) + math.floor(most / lowest + 1e-6)
        return replace(offer, high=high if offer.high is None else min(high, offer.high))

    return replace(
        case,
        systems=tuple(bounded(each, "gpu_system") for each in case.systems),
        storage=tuple(bounded(each, "storage") for each in case.storage),
    )


def _columns(portfolio: Portfolio, document: Document, places: Sequence[Place]) -> Iterator[Column]:
    """Yield every way in which a job can run.

    Raises:
        InputError: a job can run nowhere.
    """
    for number, job in enumerate(portfolio.jobs):
        count = 0
        for at, place in enumerate(places):
            if job.sites is not None and place.name not in job.sites:
                continue
            if isinstance(job, TrainingJob):
                found = [*_training(portfolio, document, number, job, at, place)]
            else:
                found = [*_inference(number, job, at, place)]
            count += len(found)
            yield from found
        if not count and not job.optional:
            message = f"job '{job.name}' can run on no GPU system at any of its sites"
            fix = "see its memory, types and rates, and consider.gpu_systems"
            raise _error(document, f"jobs.{number}", message, fix)


def _training(
    portfolio: Portfolio, document: Document, number: int, job: TrainingJob, at: int, place: Place
) -> Iterator[Column]:
    problem = _problem(portfolio, place.name, job, place.owned, goodput=True)
    problem = problem.model_copy(update={"network": type(problem.network)(), "extras": {}})
    view = _view(document, place.name, number)
    case = resolve(_joined(problem, view, place.name, number, ()))
    steady = tuple(_steady(each) for each in case.storage)
    case = replace(case, storage=steady)
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


# What stands there before


def _owned(portfolio: Portfolio, document: Document) -> dict[str, Mapping[str, int]]:
    """The units that stand at each site before the first period.

    Raises:
        InputError: a plan file is not there, or not of these sites.
    """
    whole: Mapping[str, Mapping[str, int]] = {}
    if portfolio.owned is not None:
        whole = _left_by_plan(portfolio.owned, document, "owned")
        if [*whole] == [""] and len(portfolio.sites) == 1:
            whole = {next(iter(portfolio.sites)): whole[""]}
        if whole.keys() - portfolio.sites.keys():
            message = f"the plan '{portfolio.owned}' is of no site that the problem names"
            raise _error(document, "owned", message, "name it at a site: sites.NAME.owned")
    found: dict[str, Mapping[str, int]] = {}
    for name, site in portfolio.sites.items():
        given: Mapping[str, int] = {}
        if isinstance(site.owned, str):
            left = _left_by_plan(site.owned, document, f"sites.{name}.owned")
            given = left.get(name) or left.get("") or {}
        else:
            given = site.owned
        found[name] = Counter(whole.get(name, {})) + Counter(given)
    return found


def _left_by_plan(name: str, document: Document, path: str) -> Mapping[str, Mapping[str, int]]:
    """Units a plan leaves in place, by site; the site of a single-job plan has no name."""
    try:
        raw = contents(document.folder / name, most_bytes=MOST_PLAN_BYTES, what="plan")
        data = json.loads(raw)
        if data.get("kind") == "portfolio":
            return PortfolioPlan.model_validate(data).left()
        lines = [line for line in data["lines"] if line.get("parent") is None]
        return {"": {line["sku"]: int(line["quantity"]) for line in lines if line["quantity"]}}
    except (ValueError, KeyError, TypeError, AttributeError):
        message = f"'{name}' is no plan that planner wrote"
        raise _error(document, path, message, "give PROBLEM.plan.json") from None
