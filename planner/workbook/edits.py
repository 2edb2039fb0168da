"""The edits of a workbook laid over its problem, and the plan that comes of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from planner.case import Case
from planner.case.model import Mode
from planner.case.ways import ways_in_plan
from planner.errors import Finding, InputError, VerificationError
from planner.inputs import Inputs, changed
from planner.limits import COUNTED_IN, named, path_of
from planner.optimizer.bill import bill
from planner.optimizer.objective import measure
from planner.optimizer.operate import Run, run_at
from planner.optimizer.optimise import Certificate
from planner.paths import job_path
from planner.plan import assemble
from planner.plan.ways import enlarged
from planner.schema.catalog import Figure, Item
from planner.schema.explanation import Edit
from planner.schema.job import FailureRate, FixedInterval
from planner.schema.operation import JobPlan
from planner.schema.plan import Plan
from planner.schema.prices import AS_LISTED, Discount, Price
from planner.schema.problem import (
    MOST_SPARES,
    Extra,
    Problem,
    Pue,
    Quantity,
)
from planner.verifier import Recheck, recheck

_MOST_YEARS = 50.0
"""Longer than any term."""
_TYPED: Mapping[str, Any] = {"date": "0000", "source": "workbook", "confidence": "low"}


class EditError(ValueError):
    """An edit that the problem has no room for; the text says what would be right."""


class NothingRunsError(ValueError):
    """The edited purchase cannot run the job at all; the text says why."""


@dataclass
class Draft:
    """The inputs with edits, and what the edited workbook decides itself.

    ``quantities`` are the units in place by catalog id, companions included, ``gpus`` those in use,
    None for as many as planned; ``hot`` systems of a type are not used by the job. ``spares`` are
    the cold spares that were typed in, ``own`` what was typed into each line of one's own.
    """

    inputs: Inputs
    plan: Plan
    quantities: dict[str, int]
    gpus: int | None = None
    interval_s: float = 0.0
    hot: dict[str, int] = field(default_factory=dict)
    spares: dict[str, int] = field(default_factory=dict)
    own: dict[int, dict[str, float | str | None]] = field(default_factory=dict)

    @property
    def problem(self) -> Problem:
        """The problem with the edits."""
        return self.inputs.problem

    @property
    def job(self) -> JobPlan:
        """The job of the solved plan."""
        return self.plan.jobs[0]

    def working(self, sku: str) -> int:
        """Units of an item in the cluster: all but owned ones that stay idle."""
        idle = next((line.idle for line in self.plan.lines if line.sku == sku and line.idle), 0)
        return max(0, self.quantities.get(sku, 0) - idle)

    def set(self, path: str, value: Any) -> None:
        """Put a value, in its canonical unit, in the problem's path."""
        self.inputs = changed(self.inputs, path, value)

    def change_problem(self, **changes: Any) -> None:
        """Replace fields of the problem."""
        self.inputs = replace(self.inputs, problem=self.problem.model_copy(update=changes))

    def change_job(self, **changes: Any) -> None:
        """Replace fields of the job."""
        self.change_problem(jobs=(self.problem.job.model_copy(update=changes),))

    def change_checkpoint(self, **changes: Any) -> None:
        """Replace fields of the job's checkpoint."""
        self.change_job(checkpoint=self.problem.job.checkpoint.model_copy(update=changes))

    def change_item(self, sku: str, **changes: Any) -> None:
        """Replace the rule of an item's count."""
        rule = self.problem.items.get(sku, Quantity()).model_copy(update=changes)
        self.change_problem(items={**self.problem.items, sku: rule})

    def set_price(self, sku: str, price: Price) -> None:
        """Set the price of an item."""
        self.inputs = replace(self.inputs, prices={**self.inputs.prices, sku: price})

    def set_discount(self, sku: str, share: float) -> None:
        """Set the discount of an item, whatever else applies to it."""
        others = tuple(each for each in self.inputs.discounts if each.item != sku)
        own = Discount.model_construct(discount=share, item=sku, vendor=None, category=None)
        self.inputs = replace(self.inputs, discounts=(*others, own))


def apply(
    name: str, inputs: Inputs, plan: Plan, edits: Sequence[Edit], quantities: Mapping[str, int]
) -> Draft:
    """The problem with the edits, and what the workbook decides.

    Args:
        name: the workbook, for messages.
        inputs: what the solved plan was made from.
        plan: the solved plan.
        edits: amounts in USD.
        quantities: the units in place as the edited workbook lists them, by catalog id.

    Raises:
        InputError: an edit does not fit the problem.
    """
    job = plan.jobs[0]
    draft = Draft(inputs, plan, dict(quantities), interval_s=job.interval_s)
    types = [line for line in plan.lines if line.parent is None and line.sku in job.gpu_types]
    draft.hot = {line.sku: line.working - job.systems_by_type.get(line.sku, 0) for line in types}
    steps: list[tuple[str, str, Callable[[], None]]] = [
        (f"{edit.sheet}!{edit.cell}", f"{edit.label}: ", partial(_apply, draft, edit))
        for edit in edits
    ]
    steps += [("Quote", "", partial(finish, draft)) for finish in (_finish_spares, _finish_own)]
    findings = []
    for place, label, step in steps:
        try:
            step()
        except EditError as error:
            findings.append(Finding("input-cell", f"{label}{error}", name, path=place))
    if findings:
        raise InputError(findings)
    return draft


def _apply(draft: Draft, edit: Edit) -> None:
    value = edit.after
    if edit.kind == "own_line":
        _, number, part = edit.key.split("|")
        draft.own.setdefault(int(number), {})[part] = value
        return
    assert not isinstance(value, str)
    if edit.kind == "limit":
        large = value is not None and edit.unit == "MW"
        _set_limit(draft, edit.key, 1000.0 * (value or 0.0) if large else value)
    elif value is None:
        raise EditError("is blank")
    elif edit.kind == "figure":
        _set_figure(draft, edit.key, value)
    elif edit.kind == "unit_list":
        draft.set_price(edit.key, _priced(draft.inputs.prices.get(edit.key), value))
    elif edit.kind == "discount":
        draft.set_discount(edit.key, value)
    elif edit.kind == "spares":
        draft.spares[edit.key] = round(value)
    else:
        draft.quantities[edit.key] = round(value)


def _priced(price: Price | None, list_usd: float) -> Price:
    """A price that was typed into the workbook; what comes with the price stays."""
    if price is None:
        return Price.model_construct(list_usd=list_usd, **_TYPED)
    cleared = {"low_usd": None, "high_usd": None, "parts": (), "note": None}
    return price.model_copy(update={"list_usd": list_usd, **_TYPED, **cleared})


def _set_limit(draft: Draft, name: str, value: float | None) -> None:
    """Set a limit of the problem, in the limit's unit; None removes it."""
    row = named(name)
    if not row.editable:
        raise EditError("this limit follows from a product or a rule and is no input")
    path, group, sku = path_of(name), *name.partition(".")[::2]
    if value is not None and row.file_unit in COUNTED_IN:
        value = round(value)
    draft.set(path, 1.0 if value is None and group == "split" else value)
    if name == "facility_power":  # what the feeds leave is the same limit
        draft.change_problem(site=draft.problem.site.model_copy(update={"feeds": None}))
    if value is None and row.name == "items.*.min":
        draft.set(path.removesuffix("min") + "required", False)
    price = draft.inputs.prices.get(sku)
    if value is None and group == "stock" and price is not None:
        draft.set_price(sku, price.model_copy(update={"stock": None}))


# What each figure of the sheets means in the problem.

_PATHS: dict[str, tuple[str, float]] = {
    "async_stall_s": (job_path("checkpoint.stall"), 1.0),
    "drain_slowdown": (job_path("checkpoint.drain_slowdown"), 1.0),
    "delivered_fraction_write": ("storage.delivered_fraction.write", 1.0),
    "delivered_fraction_read": ("storage.delivered_fraction.read", 1.0),
    "fill_limit": ("storage.fill_limit", 1.0),
    "mfu": (job_path("training.mfu"), 1.0),
    "tokens_trillion": (job_path("training.tokens"), 1e12),
    "active_parameters_billion": (job_path("training.active_parameters"), 1e9),
    "max_overlap": (job_path("checkpoint.max_overlap"), 1.0),
    "max_blocking": (job_path("checkpoint.max_blocking"), 1.0),
    "max_restore_s": (job_path("restore.max_time"), 1.0),
    "electricity_usd_per_kwh": ("term.electricity", 1.0),
    "years": ("term.years", 1.0),
    "discount_rate": ("term.discount_rate", 1.0),
    "colocation_usd_per_kw_month": ("term.colocation", 1.0),
}
"""By the key of the input: its path in the problem, and how many of its unit one is."""


def _set_figure(draft: Draft, key: str, value: float) -> None:
    if key.startswith("hot_spares."):
        draft.hot[key.removeprefix("hot_spares.")] = round(value)
        _hot_spares(draft)
    elif key in _PATHS:
        path, scale = _PATHS[key]
        draft.set(path, value * scale if scale != 1.0 else value)
    else:
        _SETTERS[key](draft, value)


def _hot_spares(draft: Draft) -> None:
    """Set the hot spares, where the problem gives their number."""
    asked, planned = draft.problem.job.repair, draft.job.repair
    if asked is None or planned is None or planned.decided or planned.in_rack:
        return
    if planned.unit == "system":
        draft.change_job(repair=asked.model_copy(update={"spares": sum(draft.hot.values())}))


def _checkpoint(draft: Draft, value: float) -> None:
    """Set the size; its bytes per parameter stay, from which the problem would derive it."""
    draft.change_checkpoint(size_gb=value)
    if draft.job.bytes_per_parameter is not None:
        draft.change_job(bytes_per_parameter=draft.job.bytes_per_parameter)


def _interval(draft: Draft, value: float) -> None:
    """Set the interval; where the problem does not leave it to the planner, in the problem too."""
    draft.interval_s = value
    if draft.problem.job.checkpoint.interval.policy != "optimal":
        fixed = FixedInterval.model_construct(policy="fixed", every_s=value)
        draft.change_checkpoint(interval=fixed)


def _failures(draft: Draft, value: float) -> None:
    shares = draft.problem.job.failure_shares
    draft.change_job(failures=FailureRate.model_construct(per_gpu_day=value, shares=shares))


def _restart(draft: Draft, value: float) -> None:
    """Set the restart from storage, where the problem has it."""
    remote = draft.problem.job.restart.remote_s is not None
    draft.set(job_path("restart.remote" if remote else "restore.restart"), value)


def _lost_time(draft: Draft, value: float) -> None:
    draft.change_job(lost_time=value)


def _repair(name: str, draft: Draft, value: float) -> None:
    """Set a figure of repairs; classes become one share and one time."""
    asked, stated = draft.problem.job.repair, draft.job.repair
    if asked is None or stated is None:
        return
    one: dict[str, Any] = {"share": stated.hardware_share, "time_s": stated.repair_s}
    if asked.share is not None:
        one = {"share": asked.share, "time_s": asked.time_s}
    draft.change_job(repair=asked.model_copy(update={**one, "classes": (), name: value}))


def _client(kind: str, draft: Draft, value: float) -> None:
    serving = draft.job.storage_families
    known = [each.client_factor for each in draft.inputs.families if each.id in serving]
    factors = [getattr(factor, kind).value for factor in known if factor is not None]
    draft.set(f"storage.client_limit.{kind}", value / min(factors, default=1.0))


def _tflops(draft: Draft, value: float) -> None:
    name = f"{draft.problem.job.training.precisions[0]}_dense"
    rate = Figure[float].model_construct(value=value, source="workbook", confidence="low")

    def rated(item: Item) -> Item:
        return item.model_copy(update={"gpu": item.gpu.model_copy(update={name: rate})})

    types = draft.job.gpu_types
    items = tuple(rated(item) if item.id in types else item for item in draft.inputs.items)
    draft.inputs = replace(draft.inputs, items=items)


def _pue(side: str, draft: Draft, value: float) -> None:
    site = draft.problem.site
    if isinstance(site.pue, Pue):
        draft.change_problem(
            site=site.model_copy(update={"pue": site.pue.model_copy(update={side: value})})
        )
    elif side == "liquid":
        raise EditError("the problem has one PUE")
    else:
        draft.change_problem(site=site.model_copy(update={"pue": value}))


_SETTERS: dict[str, Callable[[Draft, float], None]] = {
    "checkpoint_gb": _checkpoint,
    "interval_s": _interval,
    "failures_per_gpu_day": _failures,
    "restart_s": _restart,
    "lost_time": _lost_time,
    "hardware_share": partial(_repair, "share"),
    "swap_s": partial(_repair, "swap_s"),
    "client_write_gb_per_s": partial(_client, "write"),
    "client_read_gb_per_s": partial(_client, "read"),
    "tflops_per_gpu": _tflops,
    "pue": partial(_pue, "air"),
    "pue_liquid": partial(_pue, "liquid"),
}


def _finish_spares(draft: Draft) -> None:
    """Let the cold spares be the share of what is in place that comes to what was typed."""
    parts = {line.sku: line for line in draft.plan.lines if line.parent is None}
    for sku, count in draft.spares.items():
        whole = draft.working(sku)
        if parts[sku].quantity == 0:  # spare parts: a share of what is in the bundles
            whole = sum(
                part.quantity * draft.working(item.id)
                for item in draft.inputs.items
                for part in item.components
                if part.id == sku
            )
        if count and not whole:
            raise EditError(f"cold spares of {parts[sku].model}: nothing of it is in place")
        share = count / whole if whole else 0.0
        if share > MOST_SPARES:
            most = f"more than {MOST_SPARES:g} for each in place"
            raise EditError(f"cold spares of {parts[sku].model}: {most}")
        draft.change_item(sku, spares=share)


def _finish_own(draft: Draft) -> None:
    """Add the lines of one's own to the problem, as services that are counted once."""
    for number, parts in sorted(draft.own.items()):
        quantity, model, price = (parts.get(key) for key in ("quantity", "model", "unit_list"))
        if quantity == 0 or (price is None and quantity is None and parts.get("discount") is None):
            continue
        if model is None:
            raise EditError(f"own line {number}: it has no description; say what it is")
        if price is None:
            raise EditError(f"own line {number}: it has no price; give one, 0 for nothing")
        count = 1 if quantity is None else round(float(quantity))
        sku = f"own_line_{number}"
        item = Item(
            id=sku,
            vendor="not named",
            model=str(model),
            part_number=None,
            category="service",
            description="added to the bill",
        )
        draft.inputs = replace(draft.inputs, items=(*draft.inputs.items, item))
        draft.change_problem(extras={**draft.problem.extras, sku: Extra(count=count)})
        draft.set_price(sku, Price.model_construct(list_usd=float(price), **_TYPED))
        draft.change_item(sku, spares=0.0, support_level=AS_LISTED, support_years=_MOST_YEARS)
        draft.set_discount(sku, float(parts.get("discount") or 0.0))
        draft.quantities[sku] = count


# The plan that the edited workbook describes, computed and verified again.


def case_of(draft: Draft) -> Case:
    """The case of the edited inputs, with fabrics as large as the edited counts need."""
    # What comes too late may not be bought any more, yet the edited bill buys it: a broken limit.
    targets = draft.problem.targets.model_copy(update={"max_lead_time_days": None})
    inputs = replace(draft.inputs, problem=draft.problem.model_copy(update={"targets": targets}))
    chosen = (item.id for item in inputs.items if item.category in ("gpu_system", "storage"))
    return enlarged(inputs, {sku: draft.working(sku) for sku in chosen})


def evaluate(draft: Draft, case: Case) -> tuple[Plan, Recheck]:
    """The edited plan with the companions it needs, and which limits it breaks.

    Raises:
        NothingRunsError: without progress there is no plan to compute.
        VerificationError: a figure disagrees with its independent re-computation.
    """
    operation = _operation(case, draft)
    value = measure(case, case.objective)(operation)
    answer = Certificate("feasible", operation, value, None, None, 0, 0.0, False)
    made, gap = draft.plan.provenance, draft.plan.objective.gap_asked
    plan = assemble(draft.inputs, case, answer, solver=made.solver, gap=gap)
    plan = plan.model_copy(update={"provenance": made})
    found = recheck(draft.inputs, plan)
    if found.disagreements:
        raise VerificationError(found.disagreements)
    return plan, found


def _operation(case: Case, draft: Draft) -> Run:
    units = {offer.id: draft.working(offer.id) for offer in case.offers()}
    _check_units(case, units)
    ways, job = ways_in_plan(case, draft.plan), draft.job
    gpus = job.gpus_used if draft.gpus is None else draft.gpus
    used = _used(case, draft, units, gpus)
    running = case.in_use(used, ways)
    if gpus <= 0 or not running:
        raise NothingRunsError("no GPUs are in use")
    most = sum(way.most_gpus(used[system.id]) for system, way in running)
    if gpus > most:
        raise NothingRunsError(f"{gpus:,} GPUs in use, and the systems hold {most:,} of the job")
    every = 1 if job.local is None else job.local.every
    mode: Mode = "sync" if job.mode == "sync" else "async" if job.local is None else "local"
    repair = case.job.repair
    if repair is not None and repair.spares is not None and len(running) == 1:
        system, way = running[0]
        short = -repair.standing_by(way.spare_unit, units[system.id], gpus)
        if short > 0:
            asked = f"{repair.spares:,} hot spares are asked for"
            raise NothingRunsError(f"{asked}, and the GPUs in use leave {repair.spares - short:,}")
    operation = run_at(case, mode, units, used, gpus, draft.interval_s, ways, every)
    try:
        bill(case, units, ways)
    except ValueError as error:  # a fabric larger than three tiers can be
        raise NothingRunsError(str(error)) from None
    if operation is None:
        reason = "the job makes no progress: no storage bandwidth, or stalls fill the interval"
        raise NothingRunsError(reason)
    return operation


def _used(case: Case, draft: Draft, units: Mapping[str, int], gpus: int) -> dict[str, int]:
    """The systems in use by type."""
    types = [s for s in case.systems if s.id in draft.job.gpu_types and units[s.id]]
    if not types:
        raise NothingRunsError("no GPU system of a type that the job uses is left")
    if len(draft.job.gpu_types) == 1:
        way = types[0].way(ways_in_plan(case, draft.plan))
        return {types[0].id: max(0, way.systems_for(gpus))}
    used = {s.id: max(0, units[s.id] - draft.hot.get(s.id, 0)) for s in types}
    return {sku: count for sku, count in used.items() if count}


def _check_units(case: Case, units: Mapping[str, int]) -> None:
    """Raise where a count cannot be: outside known sizes, without a price, of no use."""
    for item in case.storage:
        count = units[item.id]
        if count and item.segments:
            low, high = item.segments[0].low, item.segments[-1].high
            if not low <= count <= high:
                known = f"the bandwidth of {item.id} is known for {low} to {high} units"
                raise NothingRunsError(f"{known}, not {count}")
    for offer in case.standing:
        if units[offer.id]:
            raise NothingRunsError(f"more of {offer.id} than is installed, and nothing may use it")
    for offer in case.offers():
        if offer.unit_net_usd is None and offer.purchased(units[offer.id]):
            lacks = f"the price of {offer.id} is not known and more of it is bought"
            raise NothingRunsError(f"{lacks}: fill in its price")
